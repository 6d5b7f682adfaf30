# SPDX-License-Identifier: BSD-3-Clause
"""Bars of several parts, in groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from reports.page.bar_chart import label_of
from reports.records.quantity import digits, human, scale_of
from reports.page.svg import Canvas, Scale, linear_ticks, shorten, text_width, tick_text

_ROW, _WIDTH = 20.0, 190.0
_LONGEST_NAME = 150.0  # px
_GROUP = 16.0  # above the bars of a group
_KEY = 15.0  # a line of the key


@dataclass(frozen=True)
class Part:
    """Meaning of a segment; parts of one colour differ in their shade."""

    name: str
    colour: int
    opacity: float = 1.0


@dataclass(frozen=True)
class Stack:
    """One bar: a value for each part, none below 0."""

    group: str  # bars of one group stand together
    name: str
    values: Sequence[float]


def _draw_key(canvas: Canvas, parts: Sequence[Part], top: float) -> None:
    """Two parts a line."""
    for i, part in enumerate(parts):
        x, y = canvas.width / 2 * (i % 2), top + _KEY * (i // 2)
        canvas.rect(x, y, 9, 9, "f%d" % part.colour, "", opacity=part.opacity)
        canvas.text(x + 14, y + 9, shorten(part.name, canvas.width / 2 - 18), "tick")


def _draw_stack(
    canvas: Canvas, stack: Stack, parts: Sequence[Part], unit: str, scale: Scale, top: float
) -> None:
    done = 0.0
    for part, value in zip(parts, stack.values):
        note = "%s, %s: %s %s" % (stack.group, stack.name, part.name, human(value, unit))
        left, width = scale(done), scale(done + value) - scale(done)
        canvas.rect(left, top + 2, width, _ROW - 6, "f%d" % part.colour, note, opacity=part.opacity)
        done += value


def draw_stacks(title: str, parts: Sequence[Part], stacks: Sequence[Stack], unit: str, full: float) -> str:
    """`full` is the value that the axis ends at. Bars of one group follow each other in `stacks`."""
    factor, shown = scale_of(full, unit)
    totals = [("%s, %s" % (s.group, s.name), digits(sum(s.values) / factor)) for s in stacks]
    label = label_of("%s: %s" % (title, shown), totals)
    groups = list(dict.fromkeys(stack.group for stack in stacks))
    left = min(_LONGEST_NAME, max(text_width(stack.name) for stack in stacks) + 10)
    head = 26 + _KEY * ((len(parts) + 1) // 2)
    bottom = head + _GROUP * len(groups) + _ROW * len(stacks)
    canvas = Canvas(left + _WIDTH + 70, bottom + 36, label)
    scale = Scale(0.0, full, left, left + _WIDTH, False)
    canvas.text(0, 12, shorten(title, canvas.width), "panel")
    _draw_key(canvas, parts, 22)
    for tick in linear_ticks(0.0, full / factor):
        canvas.line(scale(tick * factor), head, scale(tick * factor), bottom, "grid")
        canvas.text(scale(tick * factor), bottom + 14, tick_text(tick, ""), "tick", "middle")
    canvas.text(left + _WIDTH, bottom + 28, shown, "tick", "end")
    top, group = head, ""
    for stack in stacks:
        if stack.group != group:
            group, top = stack.group, top + _GROUP
            canvas.text(0, top - 3, shorten(group, canvas.width), "name")
        canvas.text(left - 6, top + 12, shorten(stack.name, left - 6), "tick", "end")
        _draw_stack(canvas, stack, parts, unit, scale, top)
        canvas.text(scale(sum(stack.values)) + 6, top + 12, human(sum(stack.values), unit), "tick")
        top += _ROW
    return canvas.render()
