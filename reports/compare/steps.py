# SPDX-License-Identifier: BSD-3-Clause
"""Steps in series of one value a night: the nights from which a number has another level.

A number's nights are split where the rank sums of the two parts differ most, or of some nights and of those
before and after them, for a level that ended again. The p of a split is that of Mann and Whitney, times the
number of places where it could have been: exact for few nights on one side, whatever the distribution of the
values, and also where they come in levels from night to night. Half of the rate is for each of the two kinds.
Benjamini and Hochberg over all numbers decide which are split; their parts are searched again.

Pettitt, Appl. Statist. 28 (1979); Olshen, Venkatraman, Lucito and Wigler, Biostatistics 5 (2004), for levels
that end; Vostrikova, Soviet Math. Dokl. 24 (1981), for splitting again.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from itertools import accumulate, count
from statistics import median
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from reports.compare.rank_sums import twice_ranks, two_sided_p
from reports.compare.statistics import adjusted

LEAST = 3  # nights of a level; fewer may be an accident
_LONGEST = 30  # nights of a level that ended, as those that last longer are found by two splits
_UNSURE = 3.0  # times the mean distance of a value from its level
_CHANCE = 0.01  # p of a cut at its place, above which it is none
_FAR = 4.0  # times the median distance, which is 2.7 standard deviations of normal noise


class Split(NamedTuple):
    """The nights at which parts begin, one or two, and the p of that, for all the places it might have."""

    cuts: Tuple[int, ...]
    p: float


def _places(nights: int, both_ends: bool) -> Iterator[Tuple[int, int]]:
    """First and end of the nights that are held against the others."""
    if not both_ends:
        yield from ((first, nights) for first in range(LEAST, nights - LEAST + 1))
        return
    for first in range(LEAST, nights - 2 * LEAST + 1):
        for end in range(first + LEAST, min(first + _LONGEST, nights - LEAST) + 1):
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


def _splits(series: Mapping[str, Sequence[float]], rate: float) -> Dict[str, List[Split]]:
    """Of each number that has some, each with its p among all numbers. Of equal nights at most a share `rate`
    of all histories has any."""
    found: Dict[str, List[Split]] = {}
    todo = [(name, 0, len(values)) for name, values in series.items()]
    while todo:
        splits = [_best(series[name][first:end]) for name, first, end in todo]
        unasked = [1.0] * max(0, len(series) - len(todo))  # of parts there is no reason to look at
        parts = []
        for (name, first, end), split, p in zip(todo, splits, adjusted([s.p for s in splits] + unasked)):
            if split.cuts and p < rate:
                cuts = [first + cut for cut in split.cuts]
                found.setdefault(name, []).append(Split(tuple(cuts), p))
                ends = [first, *cuts, end]
                parts += [(name, one, other) for one, other in zip(ends, ends[1:])]
        todo = [part for part in parts if part[2] - part[1] >= 2 * LEAST]
    return found


# ------------------------------------------------------------------ which night


class Series(NamedTuple):
    """A number's values, one a night in the order of time, None where it has none; on the scale on which
    levels are compared. A step of less than `least` does not matter."""

    values: Sequence[Optional[float]]
    least: float


class Step(NamedTuple):
    """`at`: the first night of the new level. Levels are medians: before and after, and after the last step.
    `p` is adjusted over all numbers."""

    at: int
    p: float
    before: float
    after: float
    now: float


class Event(NamedTuple):
    """What steps in one night."""

    at: int
    steps: Dict[str, Step]


def _distances(values: Sequence[float], cut: int) -> List[float]:
    """Of all values from the medians of their parts."""
    return [abs(v - median(part)) for part in (values[:cut], values[cut:]) for v in part]


def _cost(values: Sequence[float], cut: int, most: float) -> float:
    """The likeliest cut has the least sum of distances. None counts for more than `most`: the largest are of
    accidents, of which two in three nights would be a level."""
    return math.fsum(min(distance, most) for distance in _distances(values, cut))


class _Levels:
    """Of one number: its nights that have a value, and where among them levels begin."""

    def __init__(self, series: Series, splits: Sequence[Split]) -> None:
        self.nights = [night for night, value in enumerate(series.values) if value is not None]
        self.values = [value for value in series.values if value is not None]
        self.ps = {cut: split.p for split in splits for cut in split.cuts}
        self._least = series.least
        self._move()
        while weak := self._weak():
            del self.ps[weak]
            self._move()

    def _weak(self) -> int:
        """The cut that is least one, where one is none; else 0. The end of a level may be an accident at the
        edge."""
        chance = max(self.ps, key=self._own_p, default=0)
        if chance and self._own_p(chance) >= _CHANCE:
            return chance
        small = min(self.ps, key=self._size, default=0)
        return small if small and self._size(small) < self._least else 0

    def _own_p(self, cut: int) -> float:
        """Between its two levels alone, at this place."""
        return self._p_at(cut, *self.ends(cut))

    def _p_at(self, cut: int, first: int, end: int) -> float:
        inside = sum(twice_ranks(self.values[first:end])[cut - first :])
        return two_sided_p(end - cut, cut - first, inside - (end - cut) * (end - cut + 1))

    def ends(self, cut: int) -> Tuple[int, int]:
        """The nights of the levels on both sides."""
        cuts = [0, *sorted(self.ps), len(self.values)]
        place = cuts.index(cut)
        return cuts[place - 1], cuts[place + 1]

    def _move(self) -> None:
        """Each to where it is likeliest: ranks tell that there is a step better than where."""
        for cut in sorted(self.ps):
            first, end = self.ends(cut)
            own = self.values[first:end]
            costs = {
                first + place: _cost(own, place, self._most(cut))
                for place in range(LEAST, len(own) - LEAST + 1)
            }
            best = min(costs, key=lambda place: (costs[place], abs(place - cut)))
            self.ps[best] = self.ps.pop(cut)

    def _most(self, cut: int) -> float:
        first, end = self.ends(cut)
        return _FAR * median(_distances(self.values[first:end], cut - first))

    def level(self, first: int, end: int) -> float:
        return median(self.values[first:end])

    def _size(self, cut: int) -> float:
        first, end = self.ends(cut)
        return abs(self.level(cut, end) - self.level(first, cut))

    def split_at(self, night: int) -> Split:
        """There alone, with its p; without a cut where that is too near to a step that is known."""
        cut = bisect_left(self.nights, night)
        cuts = [0, *sorted(self.ps), len(self.values)]
        first, end = (cuts[bisect_left(cuts, cut) - 1], cuts[bisect_left(cuts, cut)]) if cut else (0, 0)
        if cut in self.ps or cut - first < LEAST or end - cut < LEAST:
            return Split((), 1.0)
        return Split((cut,), self._p_at(cut, first, end))

    def add(self, cut: int, p: float) -> bool:
        """False where that step does not matter."""
        self.ps[cut] = p
        matters = self._size(cut) >= self._least
        if not matters:
            del self.ps[cut]
        return matters

    def step(self, cut: int) -> Step:
        first, end = self.ends(cut)
        now = self.level(max(self.ps), len(self.values))
        return Step(self.nights[cut], self.ps[cut], self.level(first, cut), self.level(cut, end), now)

    def sharpness(self, cut: int) -> float:
        """The step against what the values are off their levels."""
        first, end = self.ends(cut)
        cost = _cost(self.values[first:end], cut - first, self._most(cut))
        return self._size(cut) * (end - first) / cost if cost else math.inf

    def may_be_at(self, cut: int, night: int) -> bool:
        """Whether its values hardly speak against this night."""
        first, end = self.ends(cut)
        other = bisect_left(self.nights, night)
        if not first + LEAST <= other <= end - LEAST:
            return False
        own, most = self.values[first:end], self._most(cut)
        least = _cost(own, cut - first, most)
        return abs(other - cut) <= 1 or _cost(own, other - first, most) - least <= _UNSURE * least / len(own)


def _joined(levels: Mapping[str, _Levels], left: List[Tuple[str, int]], night: int) -> Dict[str, Step]:
    """The steps that may be of this night; they are taken out of `left`."""
    found: Dict[str, Step] = {}
    for name, cut in list(left):
        if name not in found and levels[name].may_be_at(cut, night):
            found[name] = levels[name].step(cut)
            left.remove((name, cut))
    return found


def _also(levels: Mapping[str, _Levels], others: Sequence[str], night: int, rate: float) -> Dict[str, Step]:
    """Numbers that would not tell by themselves, and step in a night that others have told."""
    tried = [(name, levels[name].split_at(night)) for name in others]
    known = [(name, split) for name, split in tried if split.cuts]
    found: Dict[str, Step] = {}
    for (name, split), p in zip(known, adjusted([split.p for _, split in known])):
        if p < rate and levels[name].add(split.cuts[0], p):
            found[name] = levels[name].step(split.cuts[0])
    return found


def events(series: Mapping[str, Series], rate: float) -> List[Event]:
    """In the order of time. Numbers that step at about the same night step in the one that most of them
    tell."""
    found = _splits({name: [v for v in own.values if v is not None] for name, own in series.items()}, rate)
    levels = {name: _Levels(own, found.get(name, ())) for name, own in series.items()}
    left = [(name, cut) for name, own in levels.items() for cut in own.ps]
    left.sort(key=lambda one: -levels[one[0]].sharpness(one[1]))
    result: List[Event] = []
    while left:
        night = levels[left[0][0]].nights[left[0][1]]
        joined = _joined(levels, left, night)
        night = Counter(step.at for step in joined.values()).most_common(1)[0][0]
        told = {name for name, _ in left}
        others = [name for name in series if name not in joined and name not in told]
        joined.update(_also(levels, others, night, rate))
        result.append(Event(night, joined))
    return sorted(result, key=lambda event: event.at)


# ------------------------------------------------------------------ which ended


def spells(levels: Sequence[Tuple[int, float]], least: float) -> Dict[int, int]:
    """From when to when: levels that were shorter than the one before and ended with that one. Such an end is
    no step of its own."""
    found: Dict[int, int] = {}
    past: List[Tuple[int, float]] = []
    for night, level in levels:
        for place in range(len(past) - 1, 0, -1):
            (since, before), (began, _) = past[place - 1 : place + 1]
            if abs(level - before) < least and night - began < min(_LONGEST + 1, began - since):
                found.update({first: night for first, _ in past[place:]})
                del past[place:]
                break
        else:
            past.append((night, level))
    return found


# ------------------------------------------------------------------ what can be seen


def least_after(nights: int, numbers: int, rate: float) -> Optional[int]:
    """After so many nights a number that steps alone is seen, if its levels do not overlap; None where so few
    nights show none."""
    places = max(1, nights - 2 * LEAST + 1)
    found = (
        n
        for n in range(LEAST, nights - LEAST + 1)
        if 2 * places * numbers * two_sided_p(n, nights - n, 0) < rate
    )
    return next(found, None)


def least_nights(numbers: int, rate: float) -> int:
    """Of a history in which a number that steps alone can be seen."""
    return next(nights for nights in count(2 * LEAST) if least_after(nights, numbers, rate) is not None)
