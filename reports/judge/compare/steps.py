# SPDX-License-Identifier: BSD-3-Clause
"""Steps in series of one value a night: the nights from which a number has another level, and which numbers
step in one night."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from itertools import count
from statistics import median
from typing import Mapping, NamedTuple, Sequence

from reports.judge.compare import splits
from reports.judge.compare.rank_sums import twice_ranks, two_sided_p
from reports.judge.compare.splits import LEAST, LONGEST, Split
from reports.judge.statistics import adjusted

_CHANCE = 0.01  # p of a cut at its place, above which it is none


class Series(NamedTuple):
    """A number's values, one a night in the order of time, None where it has none; on the scale on which
    levels are compared. A step of less than `least` does not matter."""

    values: Sequence[float | None]
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
    """Steps of one night, by number."""

    at: int
    steps: dict[str, Step]


class _Levels:
    """Nights of a number that have a value, and the places among them where levels begin."""

    def __init__(self, series: Series, found: Sequence[Split]) -> None:
        self.nights = [night for night, value in enumerate(series.values) if value is not None]
        self.values = [value for value in series.values if value is not None]
        self.cuts = {cut: split for split in found for cut in split.cuts}
        self._least = series.least
        self._move()
        while weak := self._weak():
            del self.cuts[weak]
            self._move()

    def _weak(self) -> int:
        """The cut that is least one, where one is none; else 0. The end of a level may be an accident at the
        edge."""
        chance = max(self.cuts, key=self._own_p, default=0)
        if chance and self._own_p(chance) >= _CHANCE:
            return chance
        small = min(self.cuts, key=self._size, default=0)
        return small if small and self._size(small) < self._least else 0

    def _own_p(self, cut: int) -> float:
        """Between its two levels alone, at this place."""
        return self._p_at(cut, *self.ends(cut))

    def _p_at(self, cut: int, first: int, end: int) -> float:
        inside = sum(twice_ranks(self.values[first:end])[cut - first :])
        return two_sided_p(end - cut, cut - first, inside - (end - cut) * (end - cut + 1))

    def ends(self, cut: int) -> tuple[int, int]:
        """The nights of the levels on both sides."""
        cuts = [0, *sorted(self.cuts), len(self.values)]
        place = cuts.index(cut)
        return cuts[place - 1], cuts[place + 1]

    def _move(self) -> None:
        """Each to where it is likeliest: ranks tell that there is a step better than where."""
        for cut in sorted(self.cuts):
            first, end = self.ends(cut)
            own = self.values[first:end]
            costs = splits.costs(own, cut - first, self._least)
            best = min(costs, key=lambda place: (costs[place], abs(first + place - cut)))
            self.cuts[first + best] = self.cuts.pop(cut)

    def level(self, first: int, end: int) -> float:
        return median(self.values[first:end])

    def _size(self, cut: int) -> float:
        first, end = self.ends(cut)
        return abs(self.level(cut, end) - self.level(first, cut))

    def split_at(self, night: int) -> Split:
        """There alone, with its p; without a cut where that is too near to a step that is known."""
        cut = bisect_left(self.nights, night)
        cuts = [0, *sorted(self.cuts), len(self.values)]
        first, end = (cuts[bisect_left(cuts, cut) - 1], cuts[bisect_left(cuts, cut)]) if cut else (0, 0)
        if cut in self.cuts or cut - first < LEAST or end - cut < LEAST:
            return Split((), 1.0)
        return Split((cut,), self._p_at(cut, first, end))

    def matters(self, cut: int) -> bool:
        return self._size(cut) >= self._least

    def add(self, cut: int, p: float) -> bool:
        """False where that step does not matter."""
        self.cuts[cut] = Split((cut,), p)
        if self.matters(cut):
            return True
        del self.cuts[cut]
        return False

    def step(self, cut: int) -> Step:
        first, end = self.ends(cut)
        now = self.level(max(self.cuts), len(self.values))
        return Step(self.nights[cut], self.cuts[cut].p, self.level(first, cut), self.level(cut, end), now)

    def sharpness(self, cut: int) -> float:
        """The step against what the values are off their levels."""
        first, end = self.ends(cut)
        cost = splits.costs(self.values[first:end], cut - first, self._least)[cut - first]
        return self._size(cut) * (end - first) / cost if cost else math.inf

    def may_be_at(self, cut: int, night: int) -> bool:
        """True if its values hardly speak against this night."""
        first, end = self.ends(cut)
        other, values = bisect_left(self.nights, night) - first, self.values[first:end]
        if not LEAST <= other <= end - first - LEAST:
            return False
        return abs(first + other - cut) <= 1 or other in splits.likely(values, cut - first, self._least)


def _joined(levels: Mapping[str, _Levels], left: list[tuple[str, int]], night: int) -> dict[str, int]:
    """The cuts that may be of this night; they are taken out of `left`."""
    found: dict[str, int] = {}
    for name, cut in list(left):
        if name not in found and levels[name].may_be_at(cut, night):
            found[name] = cut
            left.remove((name, cut))
    return found


def _standing(
    levels: Mapping[str, _Levels], groups: Sequence[dict[str, int]], rate: float
) -> list[dict[str, int]]:
    """Those whose numbers tell their night by themselves, whatever others tell other nights, and the other
    ends of levels that begin or end with one. The cuts of the others are taken out of `levels`."""

    def stands(splits: Sequence[Split]) -> bool:
        return any(p < rate * (place + 1) for place, p in enumerate(sorted(split.alone for split in splits)))

    told = [{(name, levels[name].cuts[cut]) for name, cut in group.items()} for group in groups]
    known = {one for group in told if stands([split for _, split in group]) for one in group}
    for group, own in zip(groups, told):
        for name, cut in group.items() if not own & known else ():
            del levels[name].cuts[cut]
    return [group for group, own in zip(groups, told) if own & known]


def _also(levels: Mapping[str, _Levels], others: Sequence[str], night: int, rate: float) -> dict[str, int]:
    """Numbers that would not tell by themselves, and step in a night that others have told."""
    tried = [(name, levels[name].split_at(night)) for name in others]
    known = [(name, split) for name, split in tried if split.cuts]
    ps = adjusted([split.p for _, split in known])
    return {
        name: split.cuts[0]
        for (name, split), p in zip(known, ps)
        if p < rate and levels[name].add(split.cuts[0], p)
    }


def events(series: Mapping[str, Series], rate: float) -> list[Event]:
    """In the order of time. Numbers that step at about the same night step in the one that most of them
    tell."""
    found = splits.of(
        {name: [v for v in own.values if v is not None] for name, own in series.items()},
        {name: own.least for name, own in series.items()},
        rate,
    )
    levels = {name: _Levels(own, found.get(name, ())) for name, own in series.items()}
    left = [(name, cut) for name, own in levels.items() for cut in own.cuts]
    left.sort(key=lambda one: -levels[one[0]].sharpness(one[1]))
    groups: list[dict[str, int]] = []
    while left:
        groups.append(_joined(levels, left, levels[left[0][0]].nights[left[0][1]]))
    told: dict[int, dict[str, int]] = {}
    for group in _standing(levels, groups, rate):
        night = Counter(levels[name].nights[cut] for name, cut in group.items()).most_common(1)[0][0]
        told.setdefault(night, {}).update(group)
    known = {name for group in told.values() for name in group}
    for night, group in told.items():
        others = [name for name in series if name not in known]
        group.update(_also(levels, others, night, rate / 2 / len(told)))
    result = []
    for night, group in sorted(told.items()):
        own = {name: levels[name].step(cut) for name, cut in group.items() if levels[name].matters(cut)}
        result += [Event(night, own)] * bool(own)
    return result


# ------------------------------------------------------------------ levels that ended


def spells(levels: Sequence[tuple[int, float]], least: float) -> dict[int, int]:
    """Begin -> end of levels that were shorter than the one before and went back to it. Such an end is no
    step of its own."""
    found: dict[int, int] = {}
    past: list[tuple[int, float]] = []
    for night, level in levels:
        for place in range(len(past) - 1, 0, -1):
            (since, before), (began, _) = past[place - 1 : place + 1]
            if abs(level - before) < least and night - began < min(LONGEST + 1, began - since):
                found.update({first: night for first, _ in past[place:]})
                del past[place:]
                break
        else:
            past.append((night, level))
    return found


# ------------------------------------------------------------------ nights that a step takes


def least_after(nights: int, numbers: int, rate: float) -> int | None:
    """Nights after which a number that steps alone is seen, if its levels do not overlap; None if these
    are too few."""
    least, after = rate / (2 * max(1, nights - 2 * LEAST + 1) * numbers), range(LEAST, nights - LEAST + 1)
    return next((n for n in after if two_sided_p(n, nights - n, 0) < least), None)


def least_nights(numbers: int, rate: float) -> int:
    """Nights of a history in which a number that steps alone can be seen."""
    return next(nights for nights in count(2 * LEAST) if least_after(nights, numbers, rate) is not None)
