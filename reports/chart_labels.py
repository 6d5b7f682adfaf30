# SPDX-License-Identifier: BSD-3-Clause
"""What a chart shows, as a sentence for those who cannot see it: from the data, with the numbers that the eye would take."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple, Union

from reports.quantity import axis_value, digits, human, listing, percent, plural

LONGEST = 300  # characters, as of any text of a drawing
MAX_CURVES = 4  # that are described one by one
SAME = 0.05  # a difference up to this share is none
_LONGEST_TITLE, _LONGEST_NAME = 70, 40
_GRADED = "noisy or contended"

# What one curve does, and what several do.
_COURSES = {"rise": ("rises", "rise"), "fall": ("falls", "fall"), "peak": ("peaks in between", "peak in between"),
            "dip": ("dips in between", "dip in between"), "same": ("stays about the same", "stay about the same"),
            "vary": ("varies", "vary"), "point": ("has one point", "have one point")}


@dataclass(frozen=True)
class Line:
    """The valid points of a curve, by x. `aside`: broken or pale, for it is expected and not measured."""

    name: str
    points: Sequence[Tuple[float, float]]
    aside: bool = False


@dataclass(frozen=True)
class Axes:
    """What is drawn over what; a chart whose title says what is on y has no `y`."""

    title: str
    y: str
    y_unit: str
    x: str
    x_unit: str

    def at(self, x: float) -> str:
        return axis_value(x, self.x_unit) if self.x_unit in ("", "byte") else human(x, self.x_unit)

    def value(self, y: float) -> str:
        return human(y, self.y_unit)

    @property
    def head(self) -> str:
        title, y, x = (cut(text, _LONGEST_TITLE) for text in (self.title, self.y, self.x))
        return "%s over %s" % (": ".join(t for t in (title, y) if t) or "values", x or "x")


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most - 1] + "…"


def first_short(texts: Sequence[str]) -> str:
    """The first that is short enough, else the last, which the drawing cuts."""
    return next((text for text in texts if len(text) <= LONGEST), texts[-1])


def share_text(value: float) -> str:
    return percent(value)[:-2]


# ------------------------------------------------------------------ curves


def _is_above(one: float, other: float, values: Sequence[float]) -> bool:
    """By a difference that counts: against the smaller one, and where the values reach 0 against the largest of them."""
    scale = abs(other) if min(values) > 0 else max(map(abs, values))
    return one > other + SAME * scale


def shape(values: Sequence[float]) -> str:
    """A key of _COURSES."""
    first, last, low, high = values[0], values[-1], min(values), max(values)
    if len(values) == 1:
        return "point"
    if not _is_above(high, low, values):
        return "same"
    peaks, dips = _is_above(high, max(first, last), values), _is_above(min(first, last), low, values)
    if peaks != dips:
        return "peak" if peaks else "dip"
    if _is_above(max(first, last), min(first, last), values) and not peaks:
        return "rise" if last > first else "fall"
    return "vary"


def _is_steady(values: Sequence[float], way: str) -> bool:
    """Of a curve that rises or falls: no step in the other direction that counts."""
    ordered = list(values) if way == "rise" else list(reversed(values))
    return not any(_is_above(a, b, values) for a, b in zip(ordered, ordered[1:]))


def _course(line: Line, axes: Axes, with_ends: bool) -> str:
    """"falls from 361 GB/s at 48 KiB to 31.0 GB/s at 512 MiB"; where all curves have the same ends, these are said before."""
    values, way = [y for _, y in line.points], shape([y for _, y in line.points])
    (low_x, low), (high_x, high) = (pick(line.points, key=lambda p: p[1]) for pick in (min, max))
    first, last = ("%s%s" % (axes.value(y), " at %s" % axes.at(x) if with_ends else "") for x, y in
                   (line.points[0], line.points[-1]))
    if way == "point":
        return "is %s" % first
    if way == "same":
        return "stays about %s (within 5 %%)" % axes.value(statistics.median(values))
    if way == "peak":
        return "rises from %s to %s at %s, then falls to %s" % (first, axes.value(high), axes.at(high_x), last)
    if way == "dip":
        return "falls from %s to %s at %s, then rises to %s" % (first, axes.value(low), axes.at(low_x), last)
    if way == "vary":
        return "varies between %s at %s and %s at %s" % (axes.value(low), axes.at(low_x), axes.value(high), axes.at(high_x))
    return "%ss from %s to %s%s" % (way, first, last, "" if _is_steady(values, way) else ", not steadily")


def _common_ends(lines: Sequence[Line]) -> Optional[Tuple[float, float]]:
    ends = {(line.points[0][0], line.points[-1][0]) for line in lines}
    return ends.pop() if len(ends) == 1 else None


def _span(ends: Optional[Tuple[float, float]], axes: Axes) -> str:
    if ends is None:
        return ""
    return " at %s" % axes.at(ends[0]) if ends[0] == ends[1] else " from %s to %s" % tuple(map(axes.at, ends))


def _one_by_one(head: str, lines: Sequence[Line], axes: Axes) -> str:
    ends = _common_ends(lines)
    said = [" ".join((cut(line.name, _LONGEST_NAME) or "it", _course(line, axes, ends is None))) for line in lines]
    return "%s%s, %s: %s" % (head, _span(ends, axes), plural(len(lines), "curve"), "; ".join(said))


def _all_at_once(head: str, lines: Sequence[Line], axes: Axes, names: int) -> str:
    """How many do what, and the range of all."""
    courses = Counter(shape([y for _, y in line.points]) for line in lines)
    courses_text = ", ".join("%s %s" % ("all" if count == len(lines) else count, _COURSES[way][count > 1])
                             for way, count in courses.items())
    marks = [(y, line.name, x) for line in lines for x, y in line.points]
    ends = ["%s (%s)" % (axes.value(y), " at ".join(t for t in (cut(name, _LONGEST_NAME), axes.at(x)) if t))
            for y, name, x in (min(marks), max(marks))]
    named = listing([cut(line.name, _LONGEST_NAME) for line in lines], names) if names else ""
    return "%s%s, %s%s: %s; from %s to %s" % (head, _span(_common_ends(lines), axes), plural(len(lines), "curve"),
                                              " (%s)" % named if named else "", courses_text, *ends)


def of_curves(axes: Axes, lines: Sequence[Line], invalid: int = 0, graded: int = 0, dotted: Sequence[str] = ()) -> str:
    """`dotted`: what reference lines stand for. What is too long is left out, beginning with these."""
    lines = [line for line in lines if line.points]
    wrong = "; %s invalid" % plural(invalid, "point") if invalid else ""
    pale = "; %d %s" % (graded, _GRADED) if graded else ""
    marked = "; dotted: %s" % ", ".join(dotted) if dotted else ""
    if not lines:
        return "%s: no %spoints%s" % (axes.head, "valid " if invalid else "", wrong)
    texts: List[str] = []
    solid = [line for line in lines if not line.aside] or lines
    for own in (lines, solid):
        if len(own) <= MAX_CURVES:
            others = [cut(line.name, _LONGEST_NAME) for line in lines if line not in own]
            text = _one_by_one(axes.head, own, axes) + ("; broken or pale: %s" % listing(others) if others else "") + wrong
            texts += [text + pale + marked, text + pale, text]
    texts += [_all_at_once(axes.head, lines, axes, names) + wrong + pale for names in (8, 3)]
    return first_short(texts + [_all_at_once(axes.head, lines, axes, 0) + wrong])


# ------------------------------------------------------------------ cells


@dataclass(frozen=True)
class Place:
    """A cell: where it is, and its value, of which an empty one has none."""

    row: str
    column: str
    value: Optional[float]
    valid: bool = True
    graded: bool = False


def of_cells(what: str, titles: Tuple[str, str], size: Tuple[int, int], places: Sequence[Place]) -> str:
    """The smallest and the largest valid value with their places, and how many cells are empty."""
    known = [p for p in places if p.value is not None]
    good = [p for p in known if p.valid]
    ends = [pick(good, key=lambda p: p.value) for pick in (min, max)] if good else []
    words = ("smallest", "largest") if len(good) > 1 else ("only value",)
    said = ["%s %s (%s, %s)" % (word, digits(p.value), cut(p.row, _LONGEST_NAME), cut(p.column.replace("\n", " "), _LONGEST_NAME))
            for word, p in zip(words, ends)]
    counts = {"empty": len(places) - len(known), "invalid": len(known) - len(good), _GRADED: sum(p.graded for p in good)}
    sides = ["%s%s" % (plural(count, noun), " (%s)" % cut(title, _LONGEST_NAME) if title else "")
             for count, noun, title in zip(size, ("row", "column"), titles)]
    return "%s%s by %s: %s; %s" % (cut(what, _LONGEST_TITLE) + ", " if what else "", *sides, ", ".join(said) or "no valid value",
                                   ", ".join([plural(len(places), "cell")] + ["%d %s" % (n, w) for w, n in counts.items() if n]))


# ------------------------------------------------------------------ bars and small drawings


def of_share(value: float, low: Optional[float], high: Optional[float], bound: Union[str, bool]) -> str:
    """"88 % of the measured peak, 95 % interval 70 to 106 %"; `bound` is the name of a full bar, where the caller has one."""
    full = "the %s" % cut(bound, _LONGEST_TITLE) if isinstance(bound, str) and bound else "a full bar"
    text = "%s of %s" % (percent(value), full)
    return text if low is None or high is None else "%s, 95 %% interval %s to %s %%" % (text, share_text(low), share_text(high))


def of_samples(samples: Sequence[float], unit: str) -> str:
    return "%s in time order: median %s, from %s to %s; the first %s, the last %s" % (
        plural(len(samples), "sample"), *(human(v, unit) for v in (
            statistics.median(samples), min(samples), max(samples), samples[0], samples[-1])))


def of_bars(title: str, what: str, bars: Dict[str, float], invalid: int, lines: Dict[str, float]) -> str:
    """The valid bars of a chart, longest first; `lines` are drawn across them."""
    order = sorted(bars, key=lambda name: -bars[name])
    said = ["%s %s" % (cut(name, _LONGEST_NAME), digits(bars[name])) for name in order]
    head = "%s, %s" % (": ".join(t for t in (cut(title, _LONGEST_TITLE), what) if t), plural(len(bars), "bar"))
    end = "".join("; %s %s" % (name, digits(value)) for name, value in lines.items())
    end += "; %s invalid" % plural(invalid, "bar") if invalid else ""
    if not order:
        return "%s%s" % (head, end)
    return first_short(["%s: %s%s" % (head, ", ".join(said), end),
                        "%s: from %s to %s%s" % (head, said[0], said[-1], end)])
