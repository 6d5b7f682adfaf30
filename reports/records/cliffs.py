# SPDX-License-Identifier: BSD-3-Clause
"""Cliffs of curves: places where the rate falls, or its seconds grow, by a quarter or more at once.

Which curves may have some, a program states (struct bench_cliff of bench/bench.h). It adds cases until the
place is known to 5 % (bench/cases/cliffs.h)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import median, median_high, median_low
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from reports.records.curves import Curve, Point, by, fixed_text, point_of
from reports.records.jsonl import Json
from reports.records.metrics import metric, metric_name
from reports.records.quantity import axis_value, human, listing, spell
from reports.records.records import CliffAxis, Group, Scalar

CLIFF = "_cliff"  # ends the name of the metric
FALL = 1.25  # the least growth of the cost, seconds or 1 / the rate
_WITHIN = 2.0  # from the last point before to the first one after; what takes longer is a slope
_ALL, _CORE = 0.97, 0.8  # of a fall: levels are outside; the narrowest part with so much is where
_ALIKE, _WIDE = 1.05, 1.1  # values as near as this over places as far apart: a level between two falls
_LEVEL = 3  # points, whose median is the level before or after
_BETTER = math.sqrt(FALL)  # what gets better by so much is another level
_SURE = 2  # points after it at least: one slow value is none
_NOISE = 4.0  # a fall is as many standard deviations of what neighbours scatter, at least
_CAPACITY = "footprint"  # the axis of caches: no cache that has ended holds more of a larger one
_LEAST = 4  # points of a curve in which "none" says something
_IN_A_CLAUSE = 4  # cliffs
_KNOWN = 1.15  # from end to end of an interval: one place says enough
_OF_CAPACITY = 1.5  # a cliff at a cache's capacity within this factor is the cache's

FORMULA = (
    "where the cost (seconds, or 1 / rate) passes the geometric mean of the values before and after, on a "
    "straight line of logarithms between its neighbours; the interval is from the last point before to the "
    "first one after"
)


@dataclass(frozen=True)
class Cliff:
    at: float
    low: float
    high: float
    before: float  # the curve's values
    after: float
    points: int  # that the levels are of


def _is_place(fixed: Mapping[str, Scalar], cliff: CliffAxis) -> bool:
    return all(fixed.get(name) == value for name, value in cliff.where.items())


def _curves_of_words(group: Group, cliff: CliffAxis) -> List[Curve]:
    """Over the number in "n1024" and the like."""
    found: Dict[str, Curve] = {}
    for case in group.cases.values():
        word = re.fullmatch(r"n([0-9]{1,9})", str(case.axes.get(cliff.axis)))
        fixed = {name: value for name, value in case.axes.items() if name != cliff.axis}
        for derived in case.derived if word and _is_place(fixed, cliff) else ():
            if (derived.name, derived.variant) == (cliff.derived, cliff.variant):
                names = (derived.name, cliff.variant, fixed, cliff.axis, "", derived.unit, derived.formula)
                curve = found.setdefault(fixed_text(fixed), Curve(*names))
                curve.points.append(point_of(case, derived, float(word.group(1))))
    for curve in found.values():
        curve.points.sort(key=lambda p: p.x)
    return list(found.values())


def look_for(group: Group, curves: Sequence[Curve]) -> List[Curve]:
    """Finds those of the curves on which the program looks for some; returns these curves."""
    cliff = group.run.cliff
    if cliff is None:
        return []
    what = (cliff.axis, cliff.derived, cliff.variant)
    own = [c for c in curves if (c.axis, c.derived, c.variant) == what and _is_place(c.fixed, cliff)]
    own = own or _curves_of_words(group, cliff)
    for curve in own:
        curve.cliffs = find(curve, cliff.better)
    return own


def was_looked_for(group: Group, curves: Sequence[Curve]) -> bool:
    """True if a curve has enough values that a cliff would have been found."""
    return any(sum(map(_is_sure, c.valid)) >= _LEAST for c in look_for(group, curves))


def _value(cost: float, better: str) -> float:
    """The value of a cost, and the cost of a value."""
    return cost if better == "lower" else 1 / cost


def _is_sure(point: Point) -> bool:
    """False if the interval is as wide as the least fall, of which it then says nothing."""
    if point.ci_low is None or point.ci_high is None:
        return True
    return point.ci_high - point.ci_low <= 2 * (FALL - 1) * point.value


def _apart(a: Point, b: Point) -> bool:
    """True if their intervals keep them apart."""
    ends = [
        (p.value if p.ci_low is None else p.ci_low, p.value if p.ci_high is None else p.ci_high)
        for p in (a, b)
    ]
    return ends[0][0] > ends[1][1] or ends[1][0] > ends[0][1]


@dataclass(frozen=True)
class _Fall:
    """Indexes of points: all of it is from `begin` to `end`, nearly all of it from `last` to `first`."""

    begin: int
    last: int
    first: int
    end: int


def _growths(
    cost: Sequence[float], x: Sequence[float], first: int, last: int
) -> Dict[Tuple[int, int], float]:
    """The logarithm of the growth of the cost from one point to another, within an octave and where it does
    not get better on the way."""
    found = {}
    for i in range(first, last):
        most = cost[i]
        for j in range(i + 1, last + 1):
            most = max(most, cost[j])
            if x[j] > _WITHIN * x[i] or cost[j] * _BETTER < most:
                break
            found[i, j] = math.log(cost[j] / cost[i])
    return found


def _plateau(cost: Sequence[float], x: Sequence[float], begin: int, end: int) -> Optional[Tuple[int, int]]:
    """The widest level on the way of a fall that has a fall on both sides."""
    found = [
        (a, b)
        for a in range(begin + 1, end)
        for b in range(a + 1, end)
        if x[b] >= _WIDE * x[a]
        and max(cost[a : b + 1]) <= _ALIKE * min(cost[a : b + 1])
        and min(cost[a] / cost[begin], cost[end] / cost[b]) >= FALL
    ]
    return max(found, key=lambda p: x[p[1]] / x[p[0]], default=None)


def _falls(cost: Sequence[float], points: Sequence[Point], first: int, last: int) -> List[_Fall]:
    """Between these two points: the largest growth, or two with a level between, and those on both sides."""
    x = [p.x for p in points]
    growth = _growths(cost, x, first, last)
    most = max(growth.values(), default=0.0)
    if most < math.log(FALL):
        return []

    def narrowest(share: float) -> Tuple[int, int]:
        pairs = [p for p in growth if growth[p] >= share * most]
        return min(pairs, key=lambda p: x[p[1]] / x[p[0]])

    begin, end = narrowest(_ALL)
    plateau = _plateau(cost, x, begin, end)
    if plateau:
        return _falls(cost, points, first, plateau[0]) + _falls(cost, points, plateau[1], last)
    inside = [p for p in growth if begin <= p[0] and p[1] <= end and growth[p] >= _CORE * most]
    core = min(inside, key=lambda p: x[p[1]] / x[p[0]])
    here = [_Fall(begin, *core, end)] if _apart(points[core[0]], points[core[1]]) else []
    return _falls(cost, points, first, begin) + here + _falls(cost, points, end, last)


def _crossing(cost: Sequence[float], points: Sequence[Point], fall: _Fall) -> float:
    middle = math.sqrt(cost[fall.begin] * cost[fall.end])
    i = next(i for i in range(fall.begin, fall.end) if cost[i] <= middle <= cost[i + 1])
    part = math.log(middle / cost[i]) / math.log(cost[i + 1] / cost[i])
    return points[i].x * (points[i + 1].x / points[i].x) ** part


def _scatter(cost: Sequence[float]) -> float:
    """The scatter of logarithms: how far a point lies off its neighbours, which steps and slopes hardly
    change. Intervals do not tell, as they are of one case each."""
    logs = [math.log(c) for c in cost]
    off = [abs(a - 2 * b + c) for a, b, c in zip(logs, logs[1:], logs[2:])]
    return 1.4826 * median(off) / math.sqrt(6) if off else 0.0


def find(curve: Curve, better: str) -> List[Cliff]:
    """The cliffs of a curve, in the order of the axis."""
    points = [p for p in curve.valid if p.value > 0 and p.x > 0 and _is_sure(p)]
    cost = [_value(p.value, better) for p in points]
    falls = _falls(cost, points, 0, len(points) - 1)
    grown = max(FALL, math.exp(_NOISE * _scatter(cost)))
    found = []
    for n, fall in enumerate(falls):
        least = falls[n - 1].end if n else 0
        most = falls[n + 1].begin if n + 1 < len(falls) else len(points) - 1
        before = cost[max(least, fall.begin - _LEVEL + 1) : fall.begin + 1]
        after = cost[fall.end : min(most, fall.end + _LEVEL - 1) + 1]
        # The one of two that speaks against a fall.
        if len(after) < _SURE or median_low(after) < grown * median_high(before):
            continue
        middle = math.sqrt(cost[fall.begin] * cost[fall.end])
        if curve.axis == _CAPACITY and sorted(cost[fall.end :])[_SURE - 1] < middle:
            continue
        place = _crossing(cost, points, fall), points[fall.last].x, points[fall.first].x
        levels = points[fall.begin].value, points[fall.end].value
        found.append(Cliff(*place, *levels, len(before) + len(after)))
    return found


# ------------------------------------------------------------------ what is said of them


def _at(x: float, unit: str) -> str:
    return axis_value(x, unit) if unit else "%d³" % x


def _subject(fixed: Mapping[str, Scalar], derived: str, falls: bool) -> str:
    words = [str(v) for v in fixed.values() if isinstance(v, str)]
    return " ".join([*words, spell(derived), "falls" if falls else "rises"])


def text_of(cliff: Cliff, curve: Curve) -> str:
    """ "read bandwidth falls from 17 TB/s to 5.3 TB/s between 244 MiB and 262 MiB"."""
    return "%s from %s to %s between %s and %s" % (
        _subject(curve.fixed, curve.derived, cliff.after < cliff.before),
        human(cliff.before, curve.unit),
        human(cliff.after, curve.unit),
        _at(cliff.low, curve.axis_unit),
        _at(cliff.high, curve.axis_unit),
    )


def _names(found: Sequence[Cliff], device: Mapping[str, object]) -> List[str]:
    """The name of each cliff of a curve: the cache that ends nearest, of a unit, of all units or of the
    device, if no other cliff is nearer to it, or else a number."""
    units, stated = device.get("units") or 1, []
    for name, key in (("L1", "l1_bytes"), ("L2", "l2_bytes"), ("LLC", "llc_bytes")):
        one = float(device.get(key) or 0)
        stated += [(name, one)] if name == "LLC" else [(name, one), (name, one * units)]
    offs = [
        (abs(math.log(cliff.at / capacity)), i, name)
        for i, cliff in enumerate(found)
        for name, capacity in stated
        if capacity
    ]
    names: Dict[int, str] = {}
    for off, i, name in sorted(offs):
        if off <= math.log(_OF_CAPACITY) and i not in names and name not in names.values():
            names[i] = name
    return [names.get(i, str(i + 1)) for i in range(len(found))]


_OF_THE_CURVE = ("variant", "derived", "axis", "axis_unit", "unit")
_OF_THE_CLIFF = ("at", "low", "high", "before", "after", "points")


def results_of(group: Group, curves: Sequence[Curve]) -> List[Json]:
    """The cliffs as a signature has them; `name` tells those of a curve apart: a cache's, or else a
    number."""
    device = group.run.devices[0] if group.run.devices else {}
    found = []
    for curve in curves:
        for name, cliff in zip(_names(curve.cliffs, device), curve.cliffs):
            found.append(
                {
                    "where": dict(curve.fixed),
                    **{part: getattr(curve, part) for part in _OF_THE_CURVE},
                    "name": name,
                    **{part: getattr(cliff, part) for part in _OF_THE_CLIFF},
                    "text": text_of(cliff, curve),
                    "formula": FORMULA,
                }
            )
    return found


def depth(cliff: Json) -> float:
    return abs(math.log(cliff["after"] / cliff["before"]))


def by_curve(found: Sequence[Json]) -> List[List[Json]]:
    return list(by(found, lambda cliff: fixed_text(cliff["where"])).values())


def clause(found: Sequence[Json]) -> str:
    """The deepest of a curve: "read bandwidth falls from 31 TB/s to 9.8 TB/s at 33 MiB and to 3.3 TB/s at 50
    MiB". Where the place is not known so well, or it takes a while, "between 244 MiB and 290 MiB"."""
    steps: List[str] = []
    level = 0.0
    for cliff in sorted(sorted(found, key=depth)[-_IN_A_CLAUSE:], key=lambda each: each["at"]):
        low, at, high = (_at(cliff[end], cliff["axis_unit"]) for end in ("low", "at", "high"))
        known = cliff["high"] <= _KNOWN * cliff["low"]
        goes_on = level / _BETTER <= cliff["before"] <= level * _BETTER
        start = "" if goes_on else "from %s " % human(cliff["before"], cliff["unit"])
        where = "at " + at if known else "between %s and %s" % (low, high)
        steps.append("%sto %s %s" % (start, human(cliff["after"], cliff["unit"]), where))
        level = cliff["after"]
    first = found[0]
    falls = first["after"] < first["before"]
    return "%s %s" % (_subject(first["where"], first["derived"], falls), listing(steps))


def sentence(found: Sequence[Json]) -> str:
    """A part of a summary, with a space before it; empty where there are none."""
    text = listing([clause(of_curve) for of_curve in by_curve(found)])
    return " %s." % (text[:1].upper() + text[1:]) if text else ""


def metrics(group: Group, found: Sequence[Json], suffix: str) -> Dict[str, Json]:
    """The places, which are neither better nor worse: where a cache ends is as it is."""
    entries = {}
    for cliff in found:
        quantity = cliff["derived"] + CLIFF
        labels: Dict[str, Scalar] = dict(cliff["where"], variant=cliff["variant"], cliff=cliff["name"])
        entries[metric_name(group.program, quantity, labels, suffix)] = metric(
            group,
            cliff["at"],
            cliff["axis_unit"],
            cliff["formula"],
            ci_low=cliff["low"],
            ci_high=cliff["high"],
            n=cliff["points"],
            quantity=quantity,
        )
    return entries
