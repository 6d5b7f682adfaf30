# SPDX-License-Identifier: BSD-3-Clause
"""Distances of processors, from the latency of their pairs, as topology/node has them.

The latencies in order are cut wherever the next is more than LEVEL times as long: each part is a level, such
as siblings, a complex of cores that share a cache, a socket. Processors that pairs of a level or a nearer one
connect are a group. Where not all pairs of each group are so near, as of a mesh, or while a hypervisor moved
processors, the level has no groups."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import accumulate, groupby
from statistics import median
from typing import Dict, List, Mapping, Optional, Sequence, Set, Tuple

from reports.records import placement
from reports.page.charts import PALEST, WARMEST, Cell, draw_heat
from reports.records.curves import why_invalid
from reports.records.jsonl import Json
from reports.records.placement import LEVEL
from reports.records.quantity import digits, human, human_interval, listing, plural, scale_of
from reports.records.records import Case, Derived
from reports.signature.section import Figure, Panels, table
from reports.page.svg import Canvas, text_width

MOST, MOST_LEVELS = 64, 8  # processors that are measured; levels that are told apart
NUMBERED = 12  # processors; of more the drawing has colours alone
SIDE, EVERY = 10.0, 8  # of a cell there, and how many rows have a name
NAMED = 8  # groups of a level
_PAIR = re.compile(r"core_latency ([0-9]{1,6})-([0-9]{1,6})\Z")

Pair = Tuple[int, int]
Pairs = Mapping[Pair, Derived]


@dataclass(frozen=True)
class Level:
    low: float
    middle: float
    high: float
    pairs: int
    groups: Tuple[Tuple[int, ...], ...]  # of two or more


def pairs_of(case: Case) -> Dict[Pair, Derived]:
    found = {}
    for derived in case.derived:
        match = _PAIR.match(derived.name)
        if match and derived.value and derived.value > 0 and not why_invalid(case, derived):
            found[int(match[1]), int(match[2])] = derived
    return found if len(processors_of(found)) <= MOST else {}


def processors_of(pairs: Pairs) -> List[int]:
    return sorted({end for pair in pairs for end in pair})


def _groups(near: Sequence[Pair]) -> Tuple[Tuple[int, ...], ...]:
    of: Dict[int, Set[int]] = {}
    for a, b in near:
        whole = of.get(a, {a}) | of.get(b, {b})
        of.update(dict.fromkeys(whole, whole))
    groups = sorted({tuple(sorted(group)) for group in of.values()})
    return tuple(groups) if len(near) == sum(math.comb(len(group), 2) for group in groups) else ()


def levels_of(pairs: Pairs) -> List[Level]:
    ordered = sorted(pairs, key=lambda pair: pairs[pair].value or 0.0)
    apart = placement.levels_of(pairs[pair].value or 0.0 for pair in ordered)
    found = apart[: MOST_LEVELS - 1]
    if apart[MOST_LEVELS - 1 :]:
        found.append([value for level in apart[MOST_LEVELS - 1 :] for value in level])
    ends = accumulate(map(len, found))
    return [
        Level(level[0], median(level), level[-1], len(level), _groups(ordered[:end]))
        for level, end in zip(found, ends)
    ]


def moved(pairs: Pairs) -> int:
    """Pairs of which one visit was at another level than another."""
    return sum(d.extremes is not None and d.extremes[1] > LEVEL * d.extremes[0] for d in pairs.values())


def ranges(numbers: Sequence[int]) -> str:
    """Ranges as the kernel lists them: "0-7,64-71"."""
    parts: List[List[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join("%d" % low if low == high else "%d-%d" % (low, high) for low, high in parts)


# ------------------------------------------------------------------ in words


def _groups_text(groups: Sequence[Sequence[int]]) -> str:
    """ "8 groups of 8", "2 groups of 2 to 6"."""
    sizes = sorted(map(len, groups))
    size = "%d" % sizes[0] if sizes[0] == sizes[-1] else "%d to %d" % (sizes[0], sizes[-1])
    return "%s of %s" % (plural(len(groups), "group"), size)


def _named(groups: Sequence[Sequence[int]], processors: int) -> str:
    if not groups:
        return "–"
    if len(groups[0]) == processors:
        return "all"
    more = len(groups) - NAMED
    named = [*map(ranges, groups[:NAMED]), *(["%d more" % more] if more > 0 else [])]
    return "%s: %s" % (_groups_text(groups), "; ".join(named))


def _span(low: float, high: float) -> str:
    """ "25 to 27 ns"."""
    factor, unit = scale_of(high, "s")
    ends = dict.fromkeys((digits(low / factor), digits(high / factor)))
    return "%s %s" % (" to ".join(ends), unit)


def sentence(pairs: Pairs, virtual: bool) -> str:
    """A sentence on the matrix; empty without one."""
    levels, count, parts = levels_of(pairs), len(processors_of(pairs)), []
    if not levels:
        return ""
    for level in levels[:-1]:
        alone = "in %s" % plural(level.pairs, "pair")
        where = "within %s" % _groups_text(level.groups) if level.groups else alone
        parts.append("%s %s" % (human(level.middle, "s"), where))
    parts.append(human(levels[-1].middle, "s") + (" elsewhere" if parts else ""))
    takes = listing(parts, MOST_LEVELS)
    text = "From one of %d processors to another, a cache line takes %s." % (count, takes)
    apart, of = moved(pairs), plural(len(pairs), "pair")
    if apart:
        text += " Of %s, %d changed by more than %g times while they were measured." % (of, apart, LEVEL)
    return text + (" A virtual machine's processors may be moved at any time." if virtual else "")


def results(pairs: Pairs) -> Json:
    return {
        "processors": ranges(processors_of(pairs)),
        "levels": [
            {
                "low": level.low,
                "median": level.middle,
                "high": level.high,
                "pairs": level.pairs,
                "groups": [ranges(group) for group in level.groups],
            }
            for level in levels_of(pairs)
        ],
        "changed": moved(pairs),
        "rule": "a level ends where the next latency is more than %g times as long; its groups are "
        "processors of which every two are that near; changed: pairs whose visits differ by as much" % LEVEL,
    }


# ------------------------------------------------------------------ drawing


def _value(pairs: Pairs, a: int, b: int) -> float:
    """0 where it is unknown."""
    derived = pairs.get((min(a, b), max(a, b)))
    return derived.value or 0.0 if derived else 0.0


def _with_numbers(pairs: Pairs, processors: Sequence[int], least: float, most: float) -> str:
    def cell(a: int, b: int) -> Cell:
        d = pairs.get((min(a, b), max(a, b)))
        if d is None or d.value is None:
            return Cell(None, note="" if a == b else "not measured")
        visits = human_interval(*(d.extremes or (None, None)), d.value, d.unit)
        return Cell(1e9 * d.value, note=human(d.value, d.unit) + (", visits %s" % visits if visits else ""))

    names = [str(p) for p in processors]
    return draw_heat(
        names,
        names,
        [[cell(a, b) for b in processors] for a in processors],
        "processor",
        "latency from core to core, ns",
        heat=lambda value: _warmth(1e-9 * value, least, most),
        what="latency",
    )


def _warmth(value: float, least: float, most: float) -> float:
    return math.log(value / least) / math.log(max(most / least, LEVEL))


def _in_colours(pairs: Pairs, processors: Sequence[int], levels: Sequence[Level]) -> str:
    """Neighbours in a row that are of one level are one rectangle."""
    left, top = text_width(str(processors[-1])) + 10, 40.0
    label = "latency of %s of %s, from %s to %s" % (
        plural(len(pairs), "pair"),
        plural(len(processors), "processor"),
        human(levels[0].low, "s"),
        human(levels[-1].high, "s"),
    )
    side = SIDE * len(processors)
    canvas = Canvas(left + max(side, 200.0) + 2, top + side + 2, label)
    canvas.text(left, 12, "latency from core to core, by processor", "tick")

    def level_of(a: int, b: int) -> Optional[int]:
        value = _value(pairs, a, b)
        return next((k for k, level in enumerate(levels) if value <= level.high), None) if value else None

    for i in range(0, len(processors), EVERY):
        canvas.text(left + SIDE * i, top - 6, str(processors[i]), "name")
        canvas.text(left - 6, top + SIDE * i + 9, str(processors[i]), "name", "end")
    for i, a in enumerate(processors):
        for number, run in groupby(enumerate(processors), lambda at: level_of(a, at[1])):
            places, others = zip(*run)
            if number is None:
                continue
            values = [_value(pairs, a, b) for b in others]
            canvas.rect(
                left + SIDE * places[0],
                top + SIDE * i,
                SIDE * len(places),
                SIDE,
                "cell hot",
                "%d with %s: %s" % (a, ranges(others), _span(min(values), max(values))),
                opacity=PALEST
                + (WARMEST - PALEST) * _warmth(levels[number].middle, levels[0].middle, levels[-1].middle),
            )
    return canvas.render()


def figures(pairs: Pairs, missing: str) -> List[Figure]:
    levels, processors = levels_of(pairs), processors_of(pairs)
    if not levels:
        return []
    if len(processors) <= NUMBERED:
        drawn = _with_numbers(pairs, processors, levels[0].low, levels[-1].high)
    else:
        drawn = _in_colours(pairs, processors, levels)
    caption = (
        "How long a cache line takes from one processor to another: half of a round trip, each pair alone. "
        "Warm colours: farther apart."
    )
    if missing:
        caption += " Not measured: %s." % missing
    rows = [
        {
            "latency": _span(level.low, level.high),
            "pairs": "%d" % level.pairs,
            "processors of which every two are as near or nearer": _named(level.groups, len(processors)),
        }
        for level in levels
    ]
    rule = "A level ends where the next latency is more than %g times as long." % LEVEL
    shown = table(rows, rule, prose=True) if len(levels) > 1 else []
    return [Panels([drawn], caption, wide=True), *shown]
