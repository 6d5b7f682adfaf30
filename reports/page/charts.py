# SPDX-License-Identifier: BSD-3-Clause
"""Curves with their intervals, and a heat map: what the sections draw."""

from __future__ import annotations

import dataclasses
import math
import statistics
from dataclasses import dataclass, field
from typing import Callable, List, Optional, Sequence, Tuple, Union

from reports.records.quantity import (
    axis_value,
    digits,
    human,
    human_interval,
    listing,
    percent,
    plural,
    scale_of,
    tag,
)
from reports.page.svg import Canvas, Scale, linear_ticks, log_ticks, shorten, spread, text_width, tick_text

COLOURS = 7
_GEOMETRIC = 8  # sizes and times that differ by this factor stand on a logarithmic axis
_NAME = 60  # characters of a name in a label
PALEST, WARMEST = 0.06, 0.5  # opacity of a cell; above 0.53 its number is hard to read by night


@dataclass(frozen=True)
class Mark:
    x: float
    y: float
    low: Optional[float] = None
    high: Optional[float] = None
    valid: bool = True
    note: str = ""
    graded: bool = False  # noisy or contended

    @property
    def ends(self) -> Tuple[float, ...]:
        """Values that an axis must cover. The interval of a graded value is cut at half and twice the value,
        for one point would flatten all others; that of an invalid one is not drawn."""
        if not self.valid or self.low is None or self.high is None:
            return (self.y,)
        if self.graded:
            half, twice = sorted((self.y / 2, 2 * self.y))
            return self.y, max(self.low, half), min(self.high, twice)
        return self.y, self.low, self.high


@dataclass
class Series:
    name: str
    marks: List[Mark]
    colour: int = 0
    dashed: bool = False
    step: bool = False
    under: bool = False  # a broad pale line that another may lie on: what was expected
    quiet: bool = False  # no name at its end: its solid twin has one
    falls: Sequence[Tuple[float, float, str]] = ()  # from where to where, and what a cliff is


@dataclass
class LineChart:
    """One panel. `across` and `up` are (value, label) of reference lines; ranges given from outside are
    shared."""

    title: str
    x_name: str
    x_unit: str
    y_unit: str
    series: List[Series]
    across: List[Tuple[float, str]] = field(default_factory=list)
    up: List[Tuple[float, str]] = field(default_factory=list)
    x_log: bool = True
    y_log: bool = False
    width: float = 340
    height: float = 230
    y_range: Optional[Tuple[float, float]] = None
    x_range: Optional[Tuple[float, float]] = None
    y_name: str = ""

    def values(self) -> List[float]:
        """Values that the axis must cover."""
        return [v for s in self.series for m in s.marks for v in m.ends] + [value for value, _ in self.across]

    def xs(self) -> List[float]:
        return [m.x for s in self.series for m in s.marks]


def share_ranges(charts: Sequence[LineChart], zero: bool = True) -> None:
    """The same axes on all panels, logarithmic where a linear axis would hide the small values."""
    values = [v for c in charts for v in c.values()]
    xs = [x for c in charts for x in c.xs()]
    middle = [m.y for c in charts for s in c.series for m in s.marks]
    positive = [v for v in middle if v > 0]
    most = _GEOMETRIC if {c.y_unit for c in charts} == {"s"} else 30
    y_log = bool(positive) and len(positive) == len(middle) and max(positive) > most * min(positive)
    x_log = bool(xs) and min(xs) > 0 and max(xs) >= _GEOMETRIC * min(xs)
    if y_log:  # an interval may reach down to 0; it is cut so that it does not stretch the axis
        low, high = spread(
            [min(positive) / 1.3, max(positive) * 1.3] + [v for v in values if v > max(positive)], True
        )
    else:
        low, high = spread(values, False)
        low, high = (
            (min(0.0, low), high * 1.06)
            if zero and high > 0
            else (low - 0.06 * (high - low), high + 0.06 * (high - low))
        )
    for chart in charts:
        chart.y_log, chart.y_range, chart.x_log = y_log, (low, high), x_log
        chart.x_range = spread(xs, x_log)


def _apart(wanted: List[float], gap: float, top: float, bottom: float) -> List[float]:
    """Label positions near the wanted ones and at least `gap` from each other."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = list(wanted)
    last = top - gap
    for i in order:
        last = placed[i] = max(placed[i], last + gap)
    excess = last - bottom
    if excess > 0:
        limit = bottom
        for i in reversed(order):
            placed[i] = min(placed[i], limit)
            limit = placed[i] - gap
    return placed


def _own_units(chart: LineChart, log: bool) -> bool:
    """True if each tick has its own unit, as where values differ by orders of magnitude."""
    return log and bool(scale_of(1.0, chart.y_unit)[1])


def _draw_frame(canvas: Canvas, chart: LineChart, x: Scale, y: Scale) -> None:
    factor, unit = scale_of(max(abs(x.start and y.low), abs(y.high)), chart.y_unit)
    ticks = log_ticks(y.low, y.high, 10, 6) if y.log else linear_ticks(y.low, y.high)
    own_units = _own_units(chart, y.log)
    for tick in ticks:
        canvas.line(x.start, y(tick), x.end, y(tick), "grid")
    for tick in ticks:
        label = tick_text(tick, chart.y_unit if own_units else "", factor)
        canvas.text(x.start - 6, y(tick) + 3.5, label, "tick", "end")
    shown = "" if own_units else unit
    canvas.text(0, 12, chart.title, "panel")
    canvas.text(0, 27, ", ".join(t for t in (chart.y_name, shown) if t), "tick")
    if x.log and chart.x_unit == "byte":
        ticks = log_ticks(x.low, x.high, 2, max(2, int((x.end - x.start) / 52)))
    elif x.log:
        ticks = log_ticks(x.low, x.high, 2, 6) if x.high <= 4096 else log_ticks(x.low, x.high, 10, 6)
    else:
        ticks = linear_ticks(x.low, x.high, 4 if chart.x_unit == "byte" else 5)
    if chart.x_unit == "byte" and not x.log:
        ticks = _byte_ticks(x.low, x.high)
    canvas.line(x.start, y.start, x.end, y.start, "axis")
    for tick in ticks:
        canvas.line(x(tick), y.start, x(tick), y.start + 4, "axis")
    for tick in ticks:
        canvas.text(x(tick), y.start + 16, tick_text(tick, chart.x_unit), "tick", "middle")
    canvas.text(x.end, y.start + 31, chart.x_name, "tick", "end")


def _byte_ticks(low: float, high: float) -> List[float]:
    """Multiples of a power of two, so that labels stay short."""
    step = 2.0 ** math.ceil(math.log2(max((high - low) / 4, 1)))
    return [i * step for i in range(math.ceil(low / step), int(high / step) + 1)]


def _steps(points: List[Tuple[float, float]]) -> List[Tuple[float, float]]:
    stairs = points[:1]
    for (_, before), (x, after) in zip(points, points[1:]):
        stairs += [(x, before), (x, after)]
    return stairs


def _inside(series: Series, x: Scale, y: Scale) -> List[Mark]:
    """The marks that the axes can hold."""
    return [m for m in series.marks if not (x.log and m.x <= 0) and not (y.log and m.y <= 0)]


def _draw_series(canvas: Canvas, chart: LineChart, series: Series, x: Scale, y: Scale) -> None:
    colour = series.colour % COLOURS
    inside = _inside(series, x, y)
    good = [m for m in inside if m.valid]

    def up(value: float) -> float:
        return y(min(max(value, y.low), y.high))

    band = [m for m in good if m.low is not None and m.high is not None]
    if len(band) > 1 and not series.step:
        edge = [(x(m.x), up(m.high)) for m in band] + [(x(m.x), up(m.low)) for m in reversed(band)]
        canvas.path(edge, "band f%d" % colour, closed=True)
    for low, high, text in series.falls:
        canvas.rect(x(low), y.end, max(x(high) - x(low), 2.0), y.start - y.end, "fall f%d" % colour, text)
    points = [(x(m.x), up(m.y)) for m in good]
    look = " dash" if series.dashed else " under" if series.under else ""
    canvas.path(_steps(points) if series.step else points, "curve s%d%s" % (colour, look))
    bare = series.dashed or series.under
    for mark in [] if bare else band:
        canvas.line(x(mark.x), up(mark.low), x(mark.x), up(mark.high), "whisker s%d" % colour)
    for mark in inside:
        interval = human_interval(mark.low, mark.high, mark.y, chart.y_unit)
        title = "%s, %s: %s%s%s" % (
            series.name,
            axis_value(mark.x, chart.x_unit),
            human(mark.y, chart.y_unit),
            " (%s)" % interval if interval else "",
            "; " + mark.note if mark.note else "",
        )
        look = "bare" if bare else "graded f%d" % colour if mark.graded else "f%d" % colour
        canvas.dot(x(mark.x), up(mark.y), "dot " + (look if mark.valid else "hollow s%d" % colour), title)


def _draw_names(canvas: Canvas, chart: LineChart, x: Scale, y: Scale, label_width: float) -> None:
    named = [(s, [m for m in s.marks if m.valid] or s.marks) for s in chart.series if s.marks and not s.quiet]
    wanted = [y(min(max(marks[-1].y, y.low), y.high)) + 3.5 for _, marks in named]
    for (series, _), place in zip(named, _apart(wanted, 13, y.end + 6, y.start + 3)):
        canvas.text(
            x.end + 7, place, shorten(series.name, label_width - 7), "name f%d" % (series.colour % COLOURS)
        )


def label_of(chart: LineChart, x: Scale, y: Scale) -> str:
    """Quantity, axis, names and ranges of a chart; the table below it has each value."""
    marks = [m for series in chart.series for m in _inside(series, x, y) if m.valid]

    def at(value: float) -> str:
        return axis_value(value, chart.x_unit) if chart.x_unit in ("", "byte") else human(value, chart.x_unit)

    names = listing([name[:_NAME] for name in dict.fromkeys(s.name for s in chart.series) if name], 6)
    what = ": ".join(t[:_NAME] for t in (chart.title, chart.y_name) if t)
    head = "%s over %s" % (what or "values", chart.x_name[:_NAME] or "x")
    if not marks:
        return "%s, no valid points%s" % (head, ": " + names if names else "")
    return "%s from %s to %s%s; values from %s to %s" % (
        head,
        at(min(m.x for m in marks)),
        at(max(m.x for m in marks)),
        ": " + names if names else "",
        human(min(m.y for m in marks), chart.y_unit),
        human(max(m.y for m in marks), chart.y_unit),
    )


def draw_lines(chart: LineChart) -> str:
    label_width = min(
        124.0, max(24.0, max([text_width(s.name) for s in chart.series if not s.quiet] or [0.0]) + 12)
    )
    y_low, y_high = chart.y_range or spread(chart.values(), chart.y_log)
    x_low, x_high = chart.x_range or spread(chart.xs(), chart.x_log)
    left = 58 if _own_units(chart, chart.y_log) else 46
    x = Scale(x_low, x_high, left, chart.width - label_width, chart.x_log)
    y = Scale(y_low, y_high, chart.height - 38, 38, chart.y_log)
    canvas = Canvas(chart.width, chart.height, label_of(chart, x, y))
    _draw_frame(canvas, chart, x, y)
    for value, label in chart.up:
        if x.low < value < x.high:
            canvas.line(x(value), y.start, x(value), y.end, "reference")
            canvas.text(x(value) + 3, y.end + 3, label, "tick")
    for value, label in chart.across:
        if y.low <= value <= y.high:
            canvas.line(x.start, y(value), x.end, y(value), "reference")
            canvas.text(x.end - 2, y(value) - 4, label, "tick", "end")
    for series in chart.series:
        _draw_series(canvas, chart, series, x, y)
    _draw_names(canvas, chart, x, y, label_width)
    return canvas.render()


# pixels of a chart where 1, 2 and more stand on a page's width; 4 are two rows of 2
_SIZES = ((920, 280), (568, 250), (372, 230))


def drawn_to_width(chart: LineChart, count: int) -> str:
    """One of `count` charts that stand together."""
    width, height = _SIZES[{1: 0, 2: 1, 4: 1}.get(count, 2)]
    return draw_lines(dataclasses.replace(chart, width=width, height=height))


# ------------------------------------------------------------------ heat map


@dataclass(frozen=True)
class Cell:
    value: Optional[float]
    valid: bool = True
    note: str = ""
    graded: bool = False  # noisy or contended


def draw_heat(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Optional[Cell]]],
    row_title: str,
    column_title: str,
    heat: Optional[Callable[[float], float]] = None,
    what: str = "",
) -> str:
    """Warm above 1, cool below, by the ratio; or as `heat` says, from 1 (warm) to -1. The number stands in
    every cell. A column's name may have two lines. `what` the numbers are, for the label."""
    lines = [name.split("\n") for name in columns]
    side, tall = max([84.0] + [text_width(line) + 10 for name in lines for line in name]), 40.0
    left = max([text_width(r) for r in rows] + [text_width(row_title)]) + 14
    known = [c.value for row in cells for c in row if c and c.valid and c.value is not None]
    label = "%s, %s (%s) by %s (%s): %s" % (
        what or "numbers",
        plural(len(rows), "row"),
        row_title[:_NAME],
        plural(len(columns), "column"),
        column_title[:_NAME],
        "from %s to %s" % (digits(min(known)), digits(max(known))) if known else "no valid value",
    )
    canvas = Canvas(left + side * len(columns) + 2, 46 + tall * len(rows), label)
    canvas.text(left, 12, column_title, "tick")
    canvas.text(0, 34, row_title, "tick")
    values = [c.value for row in cells for c in row if c and c.value is not None and c.valid and c.value > 0]
    max_log = max([abs(math.log(v)) for v in values] + [math.log(1.25)])
    for j, name in enumerate(lines):
        for k, line in enumerate(name):
            canvas.text(left + side * (j + 0.5), 34 - 11 * (len(name) - 1 - k), line, "name", "middle")
    for i, name in enumerate(rows):
        top = 42 + tall * i
        canvas.text(left - 8, top + tall / 2 + 4, name, "name", "end")
        for j, cell in enumerate(cells[i]):
            x = left + side * j
            if cell is None or cell.value is None:
                why = cell.note if cell else "not measured"
                canvas.rect(x + 1, top + 1, side - 2, tall - 2, "cell empty", why)
                canvas.text(x + side / 2, top + tall / 2 + 4, "–", "tick", "middle")
                continue
            warm = math.log(cell.value) / max_log if cell.value > 0 else 0.0
            warm = heat(cell.value) if heat else warm
            css = "cell empty" if not cell.valid else "cell hot" if warm >= 0 else "cell cold"
            opacity = PALEST + (WARMEST - PALEST) * min(1.0, abs(warm))
            canvas.rect(x + 1, top + 1, side - 2, tall - 2, css, cell.note, opacity=opacity)
            number, look = (
                digits(cell.value) + tag(cell.valid, cell.graded),
                "cellvalue" if cell.valid else "tick",
            )
            canvas.text(x + side / 2, top + tall / 2 + 4, number, look, "middle")
    return canvas.render()


# ------------------------------------------------------------------ word-sized


def draw_share(
    value: float, low: Optional[float], high: Optional[float], bound: Union[str, bool], width: float = 200
) -> str:
    """A horizontal bar of `value` on 0..1 (a little more fits) with its interval, and a mark at 1 if that is
    a bound, or its name."""
    full = bound if isinstance(bound, str) and bound else "a full bar"
    label = "%s of %s" % (percent(value), full)
    if low is not None and high is not None:
        label += ", 95 %% interval %s to %s" % (percent(low), percent(high))
    canvas = Canvas(width, 16, label)
    scale = Scale(0, 1.0, 0.5, width - 9, False)

    def at(share: float) -> float:
        return scale(min(max(share, 0.0), 1.04))

    canvas.rect(scale.start, 4, scale.end - scale.start, 8, "track", radius=1)
    canvas.rect(scale.start, 4, at(value) - scale.start, 8, "bar", radius=1)
    if low is not None and high is not None:
        canvas.line(at(low), 8, at(high), 8, "whisker ink")
        canvas.line(at(low), 5, at(low), 11, "whisker ink")
        canvas.line(at(high), 5, at(high), 11, "whisker ink")
    if bound:
        canvas.line(scale.end, 1, scale.end, 15, "bound")
    return canvas.render()


def draw_histogram(
    values: Sequence[float], title: str, levels: Sequence[float], unit: str, bars: int = 40
) -> str:
    """Numbers of values, with a line at each level. Values above the 99th percentile are counted in
    the last bar."""
    ordered = sorted(values)
    end = max(ordered[min(len(ordered) - 1, math.ceil(0.99 * len(ordered)))], *levels)
    low, high = spread([ordered[0], end], False)
    counts = [0] * bars
    for value in ordered:
        counts[min(bars - 1, int(bars * (value - low) / (high - low)))] += 1
    factor, shown = scale_of(statistics.median(levels), unit)
    told = listing([human(level, unit) for level in levels])
    canvas = Canvas(372, 130, "%s: %s at %s" % (title[:_NAME], plural(len(values), "value"), told))
    canvas.text(0, 12, shorten(title, 372), "panel")
    x, y = Scale(low, high, 6, 366, False), Scale(0, max(counts), 104, 30, False)
    width = (x.end - x.start) / bars
    for i, count in enumerate(counts):
        if count:
            note = "from %s: %s" % (human(low + i * (high - low) / bars, unit), plural(count, "value"))
            canvas.rect(x.start + i * width, y(count), width - 0.5, y.start - y(count), "bar", note)
    canvas.line(x.start, y.start, x.end, y.start, "axis")
    for level in levels:
        canvas.line(x(level), y.start, x(level), y.end, "reference")
    for tick in linear_ticks(low / factor, high / factor, 5):
        canvas.text(x(tick * factor), y.start + 14, tick_text(tick, ""), "tick", "middle")
    canvas.text(x.end, 28, shown, "tick", "end")
    return canvas.render()


def draw_spark(samples: Sequence[float], width: float = 96, height: float = 16, unit: str = "s") -> str:
    """The samples in time order, around their median: drift, bursts and two modes show."""
    if len(samples) < 2:
        return ""
    middle = statistics.median(samples)
    label = "%s in time order, %s to %s, median %s" % (
        plural(len(samples), "sample"),
        *(human(value, unit) for value in (min(samples), max(samples), middle)),
    )
    canvas = Canvas(width, height, label)
    low, high = spread(samples, False)
    x = Scale(0, len(samples) - 1, 1, width - 1, False)
    y = Scale(low, high, height - 2, 2, False)
    canvas.line(0, y(middle), width, y(middle), "grid")
    canvas.path([(x(i), y(v)) for i, v in enumerate(samples)], "spark")
    return canvas.render()
