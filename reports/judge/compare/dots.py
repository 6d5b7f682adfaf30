# SPDX-License-Identifier: BSD-3-Clause
"""Drawings of a row of the page: every run as a dot, before above after, and the interval of the change on
such an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reports.judge.compare.numbers import DIFFERENCE
from reports.judge.compare.wording import SIDES, change_format, difference_text, effect_text, present
from reports.judge.compare.wording import verdict_text
from reports.records.jsonl import Json
from reports.records.quantity import human, plural
from reports.page.svg import Canvas, Scale

_HEIGHT, _AXIS = 46, 32
_ROWS = (9, 23)  # y of the dots of each side
_JITTER = (0, -2.6, 2.6)  # dots at the same place stay apart
_LEFT, _RIGHT = 42, 40  # for the name of the side, and for how many runs have a value
_WIDTH, _INTERVAL_WIDTH = 282, 190


@dataclass(frozen=True)
class Axis:
    """Relative to the median before; by subtraction where the change is a difference or that median has no
    ratio."""

    base: float
    relative: bool
    reach: float  # both ways

    def place(self, value: float) -> float:
        return value / self.base - 1 if self.relative else value - self.base

    def change(self, value: float) -> float:
        return value - 1 if self.relative else value

    def band(self, least: float) -> tuple[float, float]:
        """Ends of the least effect. That of a ratio is shorter below, as a slowdown and the speedup that
        undoes it count alike."""
        return (1 / (1 + least) - 1 if self.relative else -least), least


def _round_up(value: float) -> float:
    """The next of 1, 2 or 5 times a power of ten, so that few axes differ."""
    if not value:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((m * power for m in (1, 2, 5) if value <= m * power * 1.0001), 10 * power)


def axis_of(row: Json) -> Axis | None:
    """None where there is nothing to draw."""
    medians = [row[side]["median"] for side in SIDES if row[side]["median"] is not None]
    if not medians:
        return None
    plain = Axis(medians[0], row["scale"] != DIFFERENCE and medians[0] > 0, 1.0)
    values = [v for side in SIDES for v in (*row[side]["values"], row[side]["median"])]
    ends = [plain.place(v) for v in values if v is not None]
    if _has_interval(row, plain):
        ends += [plain.change(v) for v in row["change"].values() if v is not None]
        ends.append(1.25 * row["least_effect"])
    return Axis(plain.base, plain.relative, _round_up(max(map(abs, ends))))


def _has_interval(row: Json, axis: Axis) -> bool:
    return row["change"] is not None and axis.relative == (row["scale"] != DIFFERENCE)


def _tick(value: float, axis: Axis, unit: str) -> str:
    text = "%g %%" % round(100 * value, 6) if axis.relative else difference_text(value, unit)
    return "+" + text if value > 0 else text


def _draw_axis(canvas: Canvas, axis: Axis, x: Scale, unit: str) -> None:
    canvas.line(x.start, _AXIS, x.end, _AXIS, "axis")
    for value, anchor in ((x.low, "start"), (0.0, "middle"), (x.high, "end")):
        canvas.line(x(value), _AXIS, x(value), _AXIS + 3, "axis")
        canvas.text(x(value), _HEIGHT - 2, _tick(value, axis, unit) if value else "0", "tick", anchor)


def _scale(axis: Axis, start: float, end: float) -> Scale:
    """A rate or a time has no values below -100 %."""
    return Scale(-min(axis.reach, 1.0) if axis.relative else -axis.reach, axis.reach, start, end, False)


def _ends_text(row: Json) -> str:
    """ "4.1 to 5.9 % lower", or "0.6 % lower to 0.3 % higher"."""
    number, unit = change_format(row)
    ends = [None if row["change"][end] is None else number(row["change"][end]) for end in ("low", "high")]
    if unit == " times" or None in ends:
        return " to ".join(end or "unbounded" for end in ends) + unit
    said = [_direction(end) for end in ends]
    sizes = [end.lstrip("+-") for end in ends]
    if said[0] == said[1]:
        return "%s to %s%s %s" % (*(sizes if said[0] == "higher" else reversed(sizes)), unit, said[0])
    return " to ".join("%s%s %s" % (size, unit, way) for size, way in zip(sizes, said))


def _direction(number: str) -> str:
    return "lower" if number.startswith("-") else "higher"


def sentence_of(row: Json) -> str:
    """ "8 runs before, median 440 GFLOP/s; 8 after, median 418 GFLOP/s, 5.0 % lower, interval 4.1 to 5.9 %
    lower"."""
    parts = []
    for side in SIDES:
        held, all_runs = present(row[side]), len(row[side]["values"])
        runs = plural(held, "run") if side == SIDES[0] else "%d" % held
        runs += " of %d" % all_runs if held < all_runs else ""
        median = human(row[side]["median"], row["unit"])
        parts.append("%s %s, median %s" % (runs, side, median) if held else "no value %s" % side)
    text = "; ".join(parts)
    if row["change"] is None:
        return text + "; change unknown"
    number, unit = change_format(row)
    value = number(row["change"]["value"])
    said = value + unit if unit == " times" else "%s%s %s" % (value.lstrip("+-"), unit, _direction(value))
    return "%s, %s, interval %s" % (text, said, _ends_text(row))


def draw_runs(row: Json, axis: Axis, names: tuple[list[str], list[str]]) -> str:
    canvas = Canvas(_WIDTH, _HEIGHT, sentence_of(row))
    x = _scale(axis, _LEFT, _WIDTH - _RIGHT)
    canvas.line(x(0.0), 1, x(0.0), _AXIS, "grid")
    for place, side in enumerate(SIDES):
        y, colour, values = _ROWS[place], "f%d" % place, row[side]["values"]
        canvas.text(0, y + 3.5, side, "tick")
        held = present(row[side])
        for i, value in enumerate(values):
            if value is not None:
                name = names[place][i] if i < len(names[place]) else side
                title = "%s: %s" % (name, human(value, row["unit"]))
                canvas.dot(x(axis.place(value)), y + _JITTER[i % len(_JITTER)], "run " + colour, title, 2.8)
        if row[side]["median"] is not None:
            at = x(axis.place(row[side]["median"]))
            canvas.line(at, y - 7, at, y + 7, "median s%d" % place)
        count, look = "n = %d" % held, "tick"
        if held < len(values):
            count, look = "%d of %d" % (held, len(values)), "lost"
        canvas.text(_WIDTH, y + 3.5, count, look, "end")
    _draw_axis(canvas, axis, x, row["unit"])
    return canvas.render()


def draw_interval(row: Json, axis: Axis) -> str:
    """Empty where there is no change, or where it is on another scale than the runs."""
    if not _has_interval(row, axis):
        return ""
    change = row["change"]
    label = "Change with its interval, %s; band of the least effect, ±%s; %s" % (
        _ends_text(row),
        effect_text(row["least_effect"], row),
        verdict_text(row),
    )
    canvas = Canvas(_INTERVAL_WIDTH, _HEIGHT, label)
    x = _scale(axis, 8, _INTERVAL_WIDTH - 8)
    y, (left, right) = 16, (x(max(x.low, min(end, x.high))) for end in axis.band(row["least_effect"]))
    canvas.rect(left, 2, right - left, _AXIS - 2, "least")
    canvas.line(x(0.0), 2, x(0.0), _AXIS, "zero")
    look = "v-%s" % (row["verdict"] or "none").replace(" ", "-")
    css = "interval " + look
    low, high = (
        limit if change[end] is None else max(axis.change(change[end]), x.low)
        for end, limit in (("low", x.low), ("high", x.high))
    )
    canvas.line(x(low), y, x(high), y, css)
    for end, at, way in (("low", x(low), 1), ("high", x(high), -1)):
        if change[end] is None:  # an arrow: it goes on
            canvas.path([(at + 5 * way, y - 4), (at, y), (at + 5 * way, y + 4)], css)
        else:
            canvas.line(at, y - 4, at, y + 4, css)
    canvas.dot(x(max(axis.change(change["value"]), x.low)), y, "estimate " + look, "", 3.4)
    _draw_axis(canvas, axis, x, row["unit"])
    return canvas.render()
