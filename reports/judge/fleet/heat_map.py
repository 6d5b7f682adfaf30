# SPDX-License-Identifier: BSD-3-Clause
"""Nodes by metrics, each cell coloured by its z; and of a large fleet a strip with a square a node.

Colour never stands alone: a cell that stands out has its z in it, and one in which a node is an outlier is
framed.
"""

from __future__ import annotations

from typing import Sequence

from reports.judge.fleet.fleet import FAST, MISSING, OFF, OK, UNKNOWN
from reports.page.blocks import Cell
from reports.records.jsonl import Json
from reports.page.svg import Canvas

MAX_ROWS = 120  # above it only nodes that are not as the others have a row
_LIMITS = (2.0, 3.5, 6.0)  # of |z|: pale, middle, strong
_SIDE, _GAP, _PER_LINE = 10, 2, 60
_ORDER = {OFF: 0, FAST: 1, UNKNOWN: 2, OK: 3, MISSING: 4}


def level(z: float | None, worse: bool) -> str:
    """The class of a cell: w1 to w3 worse, b1 to b3 better, none near the others."""
    if z is None:
        return "none"
    reached = sum(abs(z) >= limit for limit in _LIMITS)
    return "%s%d" % ("w" if worse else "b", reached) if reached else ""


def _cell(z: float | None, reason: str, called: bool) -> Cell:
    if z is None:
        return Cell("·", css="none", title=reason)
    css = level(z, z > 0)
    text = ("%.0f" % abs(z) if abs(z) < 100 else ">99") if css else ""
    return Cell(text, css=css + " called" * called)


def _cells(node: Json, names: Sequence[str], shown: Sequence[int]) -> list[Cell]:
    called = {call["metric"] for key in ("off", "fast") for call in node[key]}
    families = [call for key in ("off_families", "fast_families") for call in node[key]]
    called |= {name for call in families for name in call["metrics"]}
    reasons = {own["metric"]: own["reason"] for own in node["lacks"]}
    return [_cell(node["z"][at], reasons.get(names[at], ""), names[at] in called) for at in shown]


def rows_of(fleet: Json, kind: int) -> tuple[list[str], list[tuple[Json, list[Cell]]], int]:
    """Labels of the metrics that are judged, nodes with their cells, the worst first, and how many nodes have
    no row."""
    metrics = fleet["kinds"][kind]["metrics"]
    shown = [at for at, metric in enumerate(metrics) if not metric["reason"]]
    names = [metric["name"] for metric in metrics]
    nodes = [node for node in fleet["nodes"] if node["kind"] == kind]
    nodes.sort(key=lambda node: _ORDER[node["state"]])  # and in each state by name, as they come
    kept = nodes if len(nodes) <= MAX_ROWS else [node for node in nodes if node["state"] != OK][:MAX_ROWS]
    rows = [(node, _cells(node, names, shown)) for node in kept]
    return [metrics[at]["label"] for at in shown], rows, len(nodes) - len(kept)


def farthest(node: Json) -> float | None:
    """The largest z of worse, or of better where that is farther away."""
    known = [z for z in node["z"] if z is not None]
    return max(known, key=abs) if known else None


def strip(fleet: Json, kind: int) -> str:
    """A square a node in the order of names, coloured as its farthest cell; framed if it is an outlier. Among
    fifty metrics every node deviates a little in one, so what is pale in the map is not coloured."""
    nodes = [node for node in fleet["nodes"] if node["kind"] == kind]
    lines = (len(nodes) + _PER_LINE - 1) // _PER_LINE
    step = _SIDE + _GAP
    off = sum(node["state"] == OFF for node in nodes)
    title = "%d nodes in the order of their names, %d of them outliers" % (len(nodes), off)
    canvas = Canvas(min(len(nodes), _PER_LINE) * step, lines * step, title)
    for place, node in enumerate(nodes):
        z = farthest(node)
        is_near = z is not None and abs(z) < _LIMITS[1]
        css = "cell " + ("near" if is_near else level(z, z is not None and z > 0))
        css += " called" if node["state"] == OFF else ""
        title = "%s: %s" % (node["name"], "no value" if z is None else "z %.1f" % z)
        x, y = place % _PER_LINE * step + 1, place // _PER_LINE * step + 1
        canvas.rect(x, y, _SIDE, _SIDE, css, title, 1.5)
    return canvas.render()
