# SPDX-License-Identifier: BSD-3-Clause
"""Drift of numbers within a side: its runs are not alike then, and a difference between sides that were
measured one after the other may be more of the drift.

The sum over metrics and sides of squared rank correlations with the order in time, against such sums of
random orders. An order is the same for all metrics of a side, which may move together. Sides measured in
turn, as `ab` does, meet a drift alike; of fewer than 5 runs no order is rare enough.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from operator import mul
from typing import Sequence

from reports.judge.compare import few
from reports.judge.compare.numbers import RATIO, RunNumbers, order_of
from reports.judge.compare.rank_sums import twice_ranks
from reports.judge.compare.verdict import Row

RATE = 0.01
_ORDERS = 499
_PLACES = ("before", "after")

Places = tuple[int, ...]
Line = tuple[Places, list[float]]  # of a metric on a side: runs with a value, and their centred ranks, norm 1


@dataclass(frozen=True)
class Drift:
    """Drift of a side. `per_run`: the move of the metrics that drift most, from run to run, as a ratio."""

    p: float
    side: str
    per_run: float


def is_in_turn(before: Sequence[RunNumbers], after: Sequence[RunNumbers]) -> bool:
    """True if the sides overlap in time."""
    then, now = ([run.started for run in side] for side in (before, after))
    return max(then) >= min(now) and max(now) >= min(then)


def _line(values: few.Values) -> Line | None:
    """None if nothing moves, or there are too few."""
    places = tuple(place for place, value in enumerate(values) if value is not None)
    ranks = twice_ranks([value for value in values if value is not None])
    mean = len(places) + 1
    norm = math.sqrt(sum((rank - mean) ** 2 for rank in ranks))
    if len(places) < few.SEES_DRIFT or not norm:
        return None
    return places, [(rank - mean) / norm for rank in ranks]


def _squared(lines: Sequence[Line], order: Sequence[int]) -> float:
    """The sum of squared correlations of ranks with the order, each over the runs that have a value."""
    total, centred = 0.0, {}
    for places, ranks in lines:
        if places not in centred:
            own = [order[place] for place in places]
            mean = sum(own) / len(own)
            norm = math.sqrt(sum((place - mean) ** 2 for place in own))
            centred[places] = [(place - mean) / norm for place in own]
        total += sum(map(mul, centred[places], ranks)) ** 2
    return total


def _slope(values: few.Values) -> float:
    """Slope from run to run, by least squares."""
    present = [(place, value) for place, value in enumerate(values) if value is not None]
    mean = sum(place for place, _ in present) / len(present)
    return sum((place - mean) * value for place, value in present) / sum((p - mean) ** 2 for p, _ in present)


Valued = list[tuple[Row, few.Values]]  # of a side, in the order of time


def _by_side(rows: Sequence[Row], sides: Sequence[Sequence[RunNumbers]]) -> list[Valued]:
    valid, orders = [row for row in rows if not row.invalid], [order_of(runs) for runs in sides]
    return [
        [(row, [row.places[place][i] for i in order]) for row in valid] for place, order in enumerate(orders)
    ]


def drift_of(rows: Sequence[Row], before: Sequence[RunNumbers], after: Sequence[RunNumbers]) -> Drift | None:
    """None if nothing drifts, or if that is unknown: no start times, sides measured in turn, or too few
    runs."""
    timed = all(run.started for run in [*before, *after])
    return within(rows, (before, after)) if timed and not is_in_turn(before, after) else None


def within(rows: Sequence[Row], sides: Sequence[Sequence[RunNumbers]]) -> Drift | None:
    """Drift within sides whose runs have start times."""
    valued = _by_side(rows, sides)
    lines = [[line for line in (_line(values) for _, values in side) if line] for side in valued]
    draw, excess, above = random.Random(1), [0.0, 0.0], 0
    own = [_squared(of, range(len(runs))) for of, runs in zip(lines, sides)]
    if not any(lines):
        return None
    for _ in range(_ORDERS):
        drawn = []
        for place, of in enumerate(lines):
            order = draw.sample(range(len(sides[place])), len(sides[place]))
            drawn.append(_squared(of, order))
            excess[place] += own[place] - drawn[place]
        above += sum(drawn) >= sum(own)
    p = (1 + above) / (1 + _ORDERS)
    if p >= RATE:
        return None
    place = excess.index(max(excess))
    return Drift(p, _PLACES[place], _per_run(valued[place]))


def _per_run(valued: Valued) -> float:
    """The least drift among the tenth of the ratios that drift most."""
    slopes = sorted(
        abs(_slope(values)) for row, values in valued if row.number.scale == RATIO and _line(values)
    )
    return math.expm1(slopes[-1 - len(slopes) // 10]) if slopes else 0.0
