# SPDX-License-Identifier: BSD-3-Clause
"""The devices of a node with what joins them: memory nodes above, the links between devices and to switches
below."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Dict, List, Mapping, Tuple

from reports.signature.links import Link, Links, between
from reports.records.quantity import listing, plural
from reports.page.svg import Canvas, first_short, shorten, text_width

MAX_DEVICES = 16
MAX_PAIRS = 28  # brackets, one below the other
BOX, GAP, LINE, PAD = 24.0, 30.0, 15.0, 8.0
MAX_WIDTH = 1080.0


def _brief(links: List[Link]) -> str:
    """Links without the rate, which the table has."""
    return "; ".join(link.text.split(", ")[0] for link in links)


class _Drawing:
    def __init__(self, found: Links, nodes: Mapping[int, int]) -> None:
        self.found, self.nodes = found, nodes
        self.devices = sorted(found.devices, key=lambda d: (nodes.get(d, 1 << 30), d))
        labels = [link.text for link in found.links] + [found.name(d) for d in self.devices]
        widest = max(text_width(text) for text in labels) + 2 * PAD + GAP
        self.column = min(max(widest, 110.0), MAX_WIDTH / len(self.devices))
        self.pairs = [(a, b) for a, b in combinations(self.devices, 2) if self._direct(a, b)]
        self.possible = math.comb(len(self.devices), 2)
        hosts = [self.lines(self.to_host(d)) for d in self.devices]
        self.top = BOX + GAP + LINE * max([1, *map(len, hosts)])  # of the devices

    def _direct(self, one: int, other: int) -> List[Link]:
        return [link for link in self.found.of(one) if link.to == "device_%d" % other]

    def to_host(self, device: int) -> str:
        return "; ".join(link.text for link in self.found.of(device) if link.to == "host")

    def lines(self, text: str) -> List[str]:
        """Lines as wide as a column; one ends before a word."""
        lines: List[str] = []
        for word in text.split(" "):
            longer = " ".join(lines[-1:] + [word])
            if lines and text_width(longer) <= self.column - PAD:
                lines[-1] = longer
            else:
                lines.append(word)
        return lines if text else []

    def to_switch(self) -> Dict[int, Link]:
        return {link.device: link for link in self.found.links if link.to == "switch"}

    def centre(self, device: int) -> float:
        return 1 + self.column * (self.devices.index(device) + 0.5)

    def text(self, canvas: Canvas, x: float, y: float, text: str, css: str) -> None:
        canvas.text(x, y, shorten(text, self.column - PAD), css, "middle")

    def hosts(self, canvas: Canvas) -> None:
        """A box a memory node, above its devices."""
        for node in dict.fromkeys(self.nodes.get(d) for d in self.devices):
            own = [d for d in self.devices if self.nodes.get(d) == node]
            half = self.column / 2 - PAD / 2
            left, right = self.centre(own[0]) - half, self.centre(own[-1]) + half
            canvas.rect(left, 1, right - left, BOX, "box tint", radius=3)
            label = "host" if node is None else "NUMA node %d" % node
            canvas.text((left + right) / 2, 17, shorten(label, right - left), "name", "middle")

    def way(
        self, canvas: Canvas, device: int, top: float, bottom: float, text: str, css: str = "tick"
    ) -> None:
        """A line with a label in its middle."""
        x, middle = self.centre(device), (top + bottom) / 2
        lines = self.lines(text)
        gap = LINE * len(lines) / 2
        canvas.line(x, top, x, middle - gap, "axis")
        canvas.line(x, middle + gap, x, bottom, "axis")
        for i, line in enumerate(lines):
            self.text(canvas, x, middle - gap + LINE * i + 11.5, line, css)

    def device(self, canvas: Canvas, device: int) -> None:
        x = self.centre(device)
        host = [link for link in self.found.of(device) if link.to == "host"]
        css = "hot" if any(link.is_below("lanes") for link in host) else "tick"
        self.way(canvas, device, 1 + BOX, self.top, self.to_host(device), css)
        width = self.column - GAP
        canvas.rect(x - width / 2, self.top, width, BOX, "box", radius=3)
        canvas.text(x, self.top + 16, shorten(self.found.name(device), width), "name", "middle")

    def bar(self, canvas: Canvas, y: float, joined: Mapping[int, str], label: str) -> float:
        """One box that all of them lead to."""
        top = y + GAP + LINE * max([1, *(len(self.lines(text)) for text in joined.values())])
        for device, text in joined.items():
            self.way(canvas, device, self.top + BOX, top, text)
        left, right = min(self.centre(d) for d in joined), max(self.centre(d) for d in joined)
        half = self.column / 2 - PAD / 2
        canvas.rect(left - half, top, right - left + 2 * half, BOX, "box tint", radius=3)
        canvas.text((left + right) / 2, top + 16, shorten(label, right - left + 2 * half), "name", "middle")
        return top + BOX

    def contact(self, device: int, pair: Tuple[int, int]) -> float:
        """The brackets of a device leave it at different places."""
        own = [p for p in self.pairs[:MAX_PAIRS] if device in p]
        return self.centre(device) + (self.column - GAP) * ((own.index(pair) + 1) / (len(own) + 1) - 0.5)

    def bracket(self, canvas: Canvas, y: float, pair: Tuple[int, int]) -> float:
        left, right = sorted(self.contact(d, pair) for d in pair)
        level = y + LINE + 4
        canvas.path(
            [(left, self.top + BOX), (left, level), (right, level), (right, self.top + BOX)], "curve axis"
        )
        label = shorten(_brief(self._direct(*pair)), max(right - left - PAD, self.column))
        canvas.text((left + right) / 2, level - 3, label, "tick", "middle")
        return level

    def label(self) -> str:
        """The devices by what leads to the host, then to a switch, then from one to another."""
        ways: Dict[str, List[str]] = {}
        for device in self.devices:
            node = self.nodes.get(device)
            place = "the host" if node is None else "NUMA node %d" % node
            way = self.to_host(device) or "an unknown link"
            ways.setdefault("%s by %s" % (place, way), []).append(self.found.name(device))
        for device, link in self.to_switch().items():
            ways.setdefault("a switch by %s" % _brief([link]), []).append(self.found.name(device))
        for way in dict.fromkeys(_brief(self._direct(*pair)) for pair in self.pairs):
            joined = [pair for pair in self.pairs if _brief(self._direct(*pair)) == way]
            every = len(joined) > 1 and len(joined) == self.possible
            names = ["%s–%s" % (self.found.name(one), self.found.name(other)) for one, other in joined]
            ways["each other by %s" % way] = ["every pair"] if every else names
        head = "%s and what joins them" % plural(len(self.devices), "device")
        return first_short(
            [
                "%s: %s"
                % (head, "; ".join("%s to %s" % (listing(names, most), way) for way, names in ways.items()))
                for most in (8, 4, 2)
            ]
            + [head]
        )

    def draw(self, canvas: Canvas) -> float:
        """All of it; the height that it takes."""
        self.hosts(canvas)
        for device in self.devices:
            self.device(canvas, device)
        y = self.top + BOX
        switched = self.to_switch()
        if switched:
            y = self.bar(canvas, y, {d: _brief([link]) for d, link in switched.items()}, "switch")
        labels = {between(self.found, *pair) for pair in self.pairs}
        if len(self.pairs) > 3 and len(labels) == 1 and len(self.pairs) == self.possible:
            y = self.bar(canvas, y, dict.fromkeys(self.devices, ""), "every pair: %s" % labels.pop())
        else:
            for pair in self.pairs[:MAX_PAIRS]:
                y = self.bracket(canvas, y, pair)
        return y + PAD


def draw_links(found: Links, nodes: Mapping[int, int]) -> str:
    """The drawing as SVG, with the memory node of each device if it is known; empty if there is no device, or
    too many to draw."""
    if not 0 < len(found.devices) <= MAX_DEVICES:
        return ""
    drawing = _Drawing(found, nodes)
    height = drawing.draw(Canvas(0, 0, ""))
    canvas = Canvas(drawing.column * len(drawing.devices) + 2, height, drawing.label())
    drawing.draw(canvas)
    return canvas.render()
