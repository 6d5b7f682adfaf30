# SPDX-License-Identifier: BSD-3-Clause
"""Bars of what is compared in one case, with lines across them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

from reports.records.quantity import digits, tag
from reports.page.svg import Canvas, Scale, text_width

_ROW, _WIDTH = 20.0, 190.0


@dataclass(frozen=True)
class ChartBar:
    """`note` is its tooltip."""

    name: str
    value: float
    valid: bool = True
    graded: bool = False
    low: Optional[float] = None
    high: Optional[float] = None
    note: str = ""


@dataclass(frozen=True)
class Across:
    """A line across all bars; several are in ascending order. A name that is too near to the one before it is
    left out."""

    value: float
    name: str
    css: str


def label_of(what: str, bars: Sequence[Tuple[str, str]]) -> str:
    """Every bar and line with its value, as far as a label goes."""
    return "%s: %s" % (what, "; ".join("%s %s" % bar for bar in bars))


def draw_bars(title: str, what: str, bars: Sequence[ChartBar], full: float, lines: Sequence[Across]) -> str:
    """One bar for each name, from 0; `full` is as long as there is space for. `what` the values are, for the
    label."""
    values = [(bar.name, digits(bar.value) + tag(bar.valid, bar.graded)) for bar in bars]
    label = label_of(
        "%s: %s" % (title, what), values + [(a.name, digits(a.value)) for a in lines if a.css != "bound"]
    )
    left = max(text_width(bar.name) for bar in bars) + 10
    canvas = Canvas(left + _WIDTH + 46, 40 + _ROW * len(bars), label)
    scale = Scale(0.0, full, left, left + _WIDTH, False)
    bottom = 24 + _ROW * len(bars)
    canvas.text(0, 12, title, "name")
    for i, bar in enumerate(bars):
        top = 22 + _ROW * i
        canvas.text(left - 6, top + 13, bar.name, "tick", "end")
        length = scale(max(0.0, bar.value)) - left
        canvas.rect(left, top + 3, length, _ROW - 6, "bar" if bar.valid else "track", bar.note)
        if bar.valid and bar.low is not None and bar.high is not None:
            low, high = (scale(min(full, end)) for end in (bar.low, bar.high))
            canvas.line(low, top + _ROW / 2, high, top + _ROW / 2, "whisker ink")
        canvas.text(left + _WIDTH + 6, top + 13, digits(bar.value) + tag(bar.valid, bar.graded), "tick")
    taken = 0.0  # up to here names stand
    for across in lines:
        x = scale(across.value)
        canvas.line(x, 20, x, bottom, across.css)
        if x > taken:
            canvas.text(x, bottom + 12, across.name, "tick", "middle")
            taken = x + text_width(across.name)
    return canvas.render()
