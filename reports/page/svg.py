# SPDX-License-Identifier: BSD-3-Clause
"""A few shapes as inline SVG. Colours are classes, so that the page's style decides them, by day and by
night."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any, List, Sequence, Tuple

from reports.records.quantity import scale_of

LONGEST_TEXT = 300  # characters of a name, a tooltip or a label
GLYPH, WIDE_GLYPH = 6.4, 7.5  # widths at 11 px in the widest of the fonts that a browser may take


def text_width(text: str) -> float:
    return sum(WIDE_GLYPH if c.isupper() or c.isdigit() or c in "_×mw" else GLYPH for c in text)


def shorten(text: str, width: float) -> str:
    text = text[:LONGEST_TEXT]
    if text_width(text) <= width:
        return text
    while len(text) > 2 and text_width(text) + GLYPH > width:
        text = text[:-1]
    return text + "…"


def _n(value: float) -> str:
    return ("%.1f" % value).rstrip("0").rstrip(".") if value else "0"


def markup(svg: str) -> Any:
    """Our own SVG, in which every text went through escape() already, for a template."""
    from markupsafe import Markup

    return Markup(svg)


class Canvas:
    """Shapes in drawing order. Every text passes through escape(). A drawing none of whose shapes has a
    tooltip shows its label as one."""

    def __init__(self, width: float, height: float, label: str) -> None:
        self.width, self.height, self.label = width, height, label
        self._parts: List[str] = []
        self._lines = ""  # the class of the lines that the last part is made of, if it is lines

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """Lines of one class that follow each other are one path."""
        x1, y1, x2, y2 = _n(x1), _n(y1), _n(x2), _n(y2)
        step = "M%s %s%s" % (x1, y1, "V" + y2 if x1 == x2 else "H" + x2 if y1 == y2 else "L%s %s" % (x2, y2))
        start, end = '<path class="%s" d="' % css, '"/>'
        if self._lines == css:
            self._parts[-1] = self._parts[-1][: -len(end)] + step + end
        else:
            self._add(start + step + end)
        self._lines = css

    def _add(self, part: str) -> None:
        self._parts.append(part)
        self._lines = ""

    def path(self, points: Sequence[Tuple[float, float]], css: str, closed: bool = False) -> None:
        if len(points) > 1:
            steps = "L".join("%s %s" % (_n(x), _n(y)) for x, y in points)
            self._add('<path class="%s" d="M%s%s"/>' % (css, steps, "Z" if closed else ""))

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        css: str,
        title: str = "",
        radius: float = 0,
        opacity: float = 1,
    ) -> None:
        place = css, _n(x), _n(y), _n(max(0, width)), _n(max(0, height))
        shape = '<rect class="%s" x="%s" y="%s" width="%s" height="%s"' % place
        shape += ' rx="%s"' % _n(radius) if radius else ""
        shape += ' fill-opacity="%.2f"' % opacity if opacity < 1 else ""
        self._add(shape + (">%s</rect>" % _title(title) if title else "/>"))

    def dot(self, x: float, y: float, css: str, title: str = "", radius: float = 2.6) -> None:
        shape = '<circle class="%s" cx="%s" cy="%s" r="%s"' % (css, _n(x), _n(y), _n(radius))
        self._add(shape + (">%s</circle>" % _title(title) if title else "/>"))

    def text(self, x: float, y: float, text: str, css: str = "", anchor: str = "start") -> None:
        attributes = ' class="%s"' % css if css else ""
        attributes += ' text-anchor="%s"' % anchor if anchor != "start" else ""
        self._add('<text%s x="%s" y="%s">%s</text>' % (attributes, _n(x), _n(y), html.escape(brief(text))))

    def render(self) -> str:
        size, shapes = (_n(self.width), _n(self.height)), "".join(self._parts)
        label = html.escape(brief(self.label), quote=True)
        shapes = shapes if "<title>" in shapes else _title(self.label) + shapes
        start = '<svg viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s">'
        return start % (*size, *size, label) + shapes + "</svg>"


def first_short(texts: Sequence[str]) -> str:
    """The first that a label has space for, else the last, which is cut."""
    return next((text for text in texts if len(text) <= LONGEST_TEXT), texts[-1])


def brief(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"


def _title(text: str) -> str:
    return "<title>%s</title>" % html.escape(brief(text))


# ------------------------------------------------------------------ axes


@dataclass(frozen=True)
class Scale:
    """Data to pixels, straight or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def __call__(self, value: float) -> float:
        if self.log:
            share = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def spread(values: Sequence[float], log: bool) -> Tuple[float, float]:
    """A range that holds all values and is never empty."""
    values = [v for v in values if v > 0] if log else list(values)
    if not values:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = min(values), max(values)
    if log:
        return (low, high) if high > low * 1.001 else (low / 2, high * 2)
    return (low, high) if high > low else (low, low + (abs(low) or 1.0))


def _nice(step: float) -> float:
    power = 10 ** math.floor(math.log10(step))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if step <= m * power * 1.0001)


def linear_ticks(low: float, high: float, max_ticks: int = 5) -> List[float]:
    step = _nice((high - low) / max_ticks)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, first + 2 * max_ticks + 2) if i * step <= high * (1 + 1e-9)]


def log_ticks(low: float, high: float, base: int, max_ticks: int) -> List[float]:
    first = math.ceil(math.log(low, base) - 1e-9)
    last = math.floor(math.log(high, base) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / max_ticks))
    ticks = [float(base) ** i for i in range(first, last + 1, stride)]
    if len(ticks) < 4 and base == 10:
        ticks = [
            m * 10.0**i for i in range(first - 1, last + 1) for m in (1, 2, 5) if low <= m * 10.0**i <= high
        ]
    return ticks


def tick_text(value: float, unit: str, factor: float = 1.0) -> str:
    if unit == "byte":
        scaled, name = scale_of(value, "byte")
        return "%g %s" % (round(value / scaled, 2), name)
    scaled, name = scale_of(value, unit)
    if name:
        return "%g %s" % (round(value / scaled, 3), name)
    return "{:,g}".format(round(value / factor, 10))
