# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a virtual machine are compared where its cores were in one place, metric by metric: what several
cores do together takes several times as long in another (docs/method/verdicts.md)."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import Sequence

from reports.judge.compare.numbers import Number, RunNumbers
from reports.records.placement import in_words, is_at, levels_of
from reports.records.quantity import plural

Runs = list[RunNumbers]


def _latencies(runs: Sequence[RunNumbers], name: str) -> list[float]:
    """Latencies from core to core during the values of this number."""
    numbers = [run.numbers[name] for run in runs if name in run.numbers]
    return [n.core_latency_s for n in numbers if n.value is not None and n.core_latency_s is not None]


def _common_place(before: Sequence[float], after: Sequence[float], levels: Sequence[float]) -> float:
    """The level at which the side that has fewer values has most; of several the one with most values."""

    def values_at(level: float) -> tuple[int, int]:
        counts = [sum(is_at(value, level) for value in side) for side in (before, after)]
        return min(counts), sum(counts)

    return max(levels, key=values_at)


def _at(runs: Sequence[RunNumbers], places: dict[str, float], levels: Sequence[float]) -> Runs:
    def at_place(name: str, number: Number) -> Number:
        here = number.value is None or is_at(number.core_latency_s, places.get(name))
        if here or number.core_latency_s is None:
            return number
        level = min(levels, key=lambda one: abs(math.log(one / number.core_latency_s)))
        return replace(number, value=None, reason="its cores were at %s" % in_words([level]), elsewhere=True)

    return [
        replace(run, numbers={name: at_place(name, number) for name, number in run.numbers.items()})
        for run in runs
    ]


def of_one_place(
    before: Sequence[RunNumbers], after: Sequence[RunNumbers]
) -> tuple[Sequence[RunNumbers], Sequence[RunNumbers], list[str]]:
    """Both sides without values of other places than most have, and what to tell the reader; as they were
    where the cores stayed."""
    names = dict.fromkeys(name for run in before for name in run.numbers)
    pooled = {name: (_latencies(before, name), _latencies(after, name)) for name in names}
    found = levels_of([value for sides in pooled.values() for side in sides for value in side])
    levels = [median(level) for level in found]
    if len(levels) < 2:
        return before, after, []
    places = {name: _common_place(*sides, levels) for name, sides in pooled.items() if any(sides)}
    then, now = _at(before, places, levels), _at(after, places, levels)
    left = sum(number.elsewhere for run in [*then, *now] for number in run.numbers.values())
    said = (
        "The cores of this machine were in %s, %s from core to core; each number is compared within one, "
        "and %s of others %s left out."
    ) % (plural(len(levels), "place"), in_words(levels), plural(left, "value"), "is" if left == 1 else "are")
    return then, now, [said]
