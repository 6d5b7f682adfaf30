# SPDX-License-Identifier: BSD-3-Clause
"""The interval of a ratio as a small drawing: the reference is the line, the band is the least effect that
matters."""

from __future__ import annotations

import math

from reports.records.jsonl import Json
from reports.judge.scorecard.ranking import NO_MATTER
from reports.page.svg import Canvas, Scale

_WIDTH, _HEIGHT, _EDGE = 200, 18, 8
_REACHES = (1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)


def reach_of(ratios: list[Json | None]) -> float:
    """Reach of the axis of a row, both ways, as a factor."""
    ends = [
        end
        for ratio in ratios
        if ratio
        for end in (ratio["value"], ratio["low"], ratio["high"])
        if end is not None
    ]
    most = max([max(end, 1 / end) for end in ends if end > 0] + [1.0])
    return next((reach for reach in _REACHES if most <= reach), _REACHES[-1])


def draw(ratio: Json, reach: float, label: str, css: str) -> str:
    """`css`: the class of the machine's verdict."""
    far = math.log(reach)
    x = Scale(-far, far, _EDGE, _WIDTH - _EDGE, False)

    def at(value: float) -> float:
        return x(max(-far, min(math.log(max(value, 1e-300)), far)))

    canvas = Canvas(_WIDTH, _HEIGHT, label)
    low, high = NO_MATTER
    canvas.rect(at(low), 1, at(high) - at(low), _HEIGHT - 2, "least")
    canvas.line(x(0.0), 1, x(0.0), _HEIGHT - 1, "zero")
    y = _HEIGHT / 2
    if ratio["low"] is not None and ratio["high"] is not None:
        canvas.line(at(ratio["low"]), y, at(ratio["high"]), y, "interval " + css)
    canvas.dot(at(ratio["value"]), y, "estimate " + css, "", 3.4)
    return canvas.render()
