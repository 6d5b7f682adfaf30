# SPDX-License-Identifier: BSD-3-Clause
"""Levels of a series of one value a night, and the nights between which it is split.

A number's nights are split where the rank sums of the two parts differ most, or of some nights and of those
before and after them, for a level that ended again. The p of a split is that of Mann and Whitney, times the
number of places where it could have been: exact for few nights on one side, whatever the distribution of the
values, and also where they come in levels from night to night. Half of the rate is for each of the two kinds.
Benjamini and Hochberg over all numbers decide which are split; their parts are searched again, all of them
together.

Pettitt, Appl. Statist. 28 (1979); Olshen, Venkatraman, Lucito and Wigler, Biostatistics 5 (2004), for levels
that end; Vostrikova, Soviet Math. Dokl. 24 (1981), for splitting again.
"""

from __future__ import annotations

import math
from itertools import accumulate
from statistics import median
from typing import Iterator, Mapping, NamedTuple, Sequence

from reports.judge.compare.rank_sums import twice_ranks, two_sided_p
from reports.judge.statistics import adjusted

LEAST = 3  # nights of a level; fewer may be an accident
LONGEST = 30  # nights of a level that ended, as those that last longer are found by two splits
_UNSURE = 3.0  # times the mean distance of a value from its level
_FAR = 4.0  # times the median distance, which is 2.7 standard deviations of normal noise


class Split(NamedTuple):
    """The nights at which parts begin, one or two, and the p of that, for all the places it might have; and
    `alone`, for all numbers it might have, too."""

    cuts: tuple[int, ...]
    p: float
    alone: float = 1.0


def _places(nights: int, both_ends: bool) -> Iterator[tuple[int, int]]:
    """First and end of the nights that are held against the others."""
    if not both_ends:
        yield from ((first, nights) for first in range(LEAST, nights - LEAST + 1))
        return
    for first in range(LEAST, nights - 2 * LEAST + 1):
        for end in range(first + LEAST, min(first + LONGEST, nights - LEAST) + 1):
            yield first, end


def _best(values: Sequence[float]) -> Split:
    nights = len(values)
    sums = [0, *accumulate(twice_ranks(values))]
    best = Split((), 1.0)
    for both_ends in (False, True):
        places = list(_places(nights, both_ends))
        for first, end in places:
            inside = end - first
            p = two_sided_p(inside, nights - inside, sums[end] - sums[first] - inside * (inside + 1))
            if 2 * len(places) * p < best.p:
                best = Split((first, end) if both_ends else (first,), 2 * len(places) * p)
    return best


def _distances(values: Sequence[float], cut: int) -> list[float]:
    """Distances of all values from the medians of their parts."""
    return [abs(v - median(part)) for part in (values[:cut], values[cut:]) for v in part]


def _cost(values: Sequence[float], cut: int, most: float) -> float:
    """The likeliest cut has the least sum of distances. None counts for more than `most`: the largest are of
    accidents, of which two in three nights would be a level."""
    return math.fsum(min(distance, most) for distance in _distances(values, cut))


def costs(values: Sequence[float], cut: int, least: float) -> dict[int, float]:
    """Cost of each place where a cut found at `cut` may be. Levels less than `least` apart are one."""
    most = max(_FAR * median(_distances(values, cut)), least)
    return {place: _cost(values, place, most) for place in range(LEAST, len(values) - LEAST + 1)}


def likely(values: Sequence[float], cut: int, least: float) -> list[int]:
    """The likeliest place, and those that are hardly less likely."""
    found = costs(values, cut, least)
    places = sorted(found, key=lambda place: found[place])
    most = found[places[0]] * (1 + _UNSURE / len(values))
    return [place for place in places if found[place] <= most]


def _placed(values: Sequence[float], split: Split, least: float) -> Split:
    """A single cut where it leaves most to be split. Of three levels one after the other both ends of the
    middle one are as likely as all nights in between, and only from there the other end is found."""
    if len(split.cuts) != 1:
        return split
    places = likely(values, split.cuts[0], least)
    if len(places) > 1:
        places.sort(key=lambda cut: min(_best(values[:cut]).p, _best(values[cut:]).p))
    return Split((places[0],), split.p)


def of(
    series: Mapping[str, Sequence[float]], least: Mapping[str, float], rate: float
) -> dict[str, list[Split]]:
    """Splits of each number that has some, each with its p among all numbers. Of equal nights at most a share
    `rate` of all histories has any."""
    found: dict[str, list[Split]] = {}
    todo = [(name, 0, len(values)) for name, values in series.items()]
    while todo:
        splits = [_best(series[name][first:end]) for name, first, end in todo]
        parts = []
        for (name, first, end), split, p in zip(todo, splits, adjusted([s.p for s in splits])):
            if split.cuts and p < rate:
                placed = _placed(series[name][first:end], split, least[name])
                cuts = [first + cut for cut in placed.cuts]
                found.setdefault(name, []).append(Split(tuple(cuts), p, len(todo) * split.p))
                ends = [first, *cuts, end]
                parts += [(name, one, other) for one, other in zip(ends, ends[1:])]
        todo = [part for part in parts if part[2] - part[1] >= 2 * LEAST]
    return found
