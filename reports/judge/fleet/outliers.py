# SPDX-License-Identifier: BSD-3-Clause
"""The statistics of a fleet: how far each value lies from all others, in units of their spread, and how rare
that is.

Each value is held against the others alone, so that it can't hide in a spread that it makes itself. Their
centre is the median, and their spread a quantile of the absolute deviations from it: of many others the half,
which makes it the MAD, of few a larger one (share()). Two of three values are close to each other by chance,
so the MAD of three says next to nothing, and a node of a fleet of four would have to deviate by thousands of
true spreads.

How rare a distance is follows from Student's distribution with degrees of freedom and a factor that were
fitted to simulated fleets of each size (_FITTED), since a spread of few values is itself uncertain.

Rousseeuw and Croux, J. Am. Stat. Assoc. 88 (1993), of the MAD; Simes, Biometrika 73 (1986); Benjamini and
Hochberg, J. R. Stat. Soc. B 57 (1995); Benjamini and Bogomolov, J. R. Stat. Soc. B 76 (2014), of tests within
what was selected.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import lru_cache
from statistics import NormalDist, median
from typing import NamedTuple, Sequence

from reports.judge.statistics import adjusted, quantile
from reports.records.student import two_sided_p

MIN_OTHERS = 3  # fewer have no spread worth the name
_NORMAL = NormalDist()
# Number of others -> degrees of freedom, factor on the distance. Fitted to 20 000 to 1 000 000 simulated
# fleets of normal values each, at p = 0.01 to 0.00001, and within 7 % of their p there:
# tests/reports/judge/fleet/test_fleet_outliers.py tries it on others.
_FITTED = {
    3: (1.98, 0.728),
    4: (3.03, 0.675),
    5: (2.96, 0.753),
    6: (3.98, 0.781),
    7: (4.47, 0.816),
    8: (4.74, 0.838),
    9: (5.71, 0.853),
    10: (5.62, 0.864),
    11: (6.58, 0.881),
    12: (6.79, 0.885),
    13: (7.24, 0.908),
    14: (8.09, 0.899),
    15: (8.08, 0.915),
    16: (9.05, 0.913),
    20: (10.61, 0.936),
    24: (12.41, 0.943),
    32: (16.01, 0.958),
    48: (22.23, 0.975),
    64: (28.92, 0.984),
    96: (40.57, 0.990),
    128: (54.76, 0.992),
    256: (105.54, 0.996),
    512: (199.36, 0.998),
}
_SIZES = sorted(_FITTED)


class Others(NamedTuple):
    """Centre and spread of all values but one."""

    centre: float
    spread: float  # as a standard deviation, if they are normal
    count: int


def share(count: int) -> float:
    """The quantile of the absolute deviations of so many values that is their spread."""
    return 0.5 + 0.5 / math.sqrt(count)


def unit_of(quantile: float) -> float:
    """This quantile of the absolute deviations of standard normal values."""
    return _NORMAL.inv_cdf((1 + quantile) / 2)


def spread_of(values: Sequence[float]) -> float:
    """The spread of all values, computed as that of the others of one."""
    middle, of = median(values), share(len(values))
    return quantile([abs(v - middle) for v in values], of) / unit_of(of)


def _without(ordered: Sequence[float], place: int, rank: int) -> float:
    """The value of this rank, from 0, among all but the one at `place`."""
    return ordered[rank if rank < place else rank + 1]


def _quantile_without(ordered: Sequence[float], place: int, of: float) -> float:
    """As statistics.quantile()."""
    last = len(ordered) - 2
    at = of * last
    low, high = (_without(ordered, place, rank) for rank in (math.floor(at), min(math.ceil(at), last)))
    return low + (high - low) * (at - math.floor(at))


def others_of(values: Sequence[float]) -> list[Others]:
    """The others of each value. All in the time of a few sorts: the others have few different medians."""
    count = len(values) - 1
    if count < MIN_OTHERS:
        raise ValueError("%d values have too few others" % len(values))
    ordered, of = sorted(values), share(count)
    unit = unit_of(of)
    deviations: dict[float, list[float]] = {}
    found = []
    for value in values:
        centre = _quantile_without(ordered, bisect_left(ordered, value), 0.5)
        if centre not in deviations:
            deviations[centre] = sorted(abs(v - centre) for v in values)
        own = deviations[centre]
        found.append(
            Others(centre, _quantile_without(own, bisect_left(own, abs(value - centre)), of) / unit, count)
        )
    return found


# ------------------------------------------------------------------ how rare a distance is


def student_tail(t: float, freedom: float) -> float:
    """The probability that a value of Student's distribution is above t."""
    half = two_sided_p(t, freedom) / 2
    return half if t >= 0 else 1 - half


@lru_cache(maxsize=None)
def _student_of(others: int) -> tuple[float, float]:
    """Degrees of freedom and factor, between two sizes in proportion to 1 / size; of infinitely many others
    they are normal."""
    place = bisect_right(_SIZES, others)
    small, (freedom, factor) = _SIZES[place - 1], _FITTED[_SIZES[place - 1]]
    of_large, large_freedom, large_factor = (
        (1 / _SIZES[place], *_FITTED[_SIZES[place]]) if place < len(_SIZES) else (0.0, math.inf, 1.0)
    )
    share = (1 / small - 1 / others) / (1 / small - of_large)
    return 1 / ((1 - share) / freedom + share / large_freedom), factor + share * (large_factor - factor)


def tail(z: float, others: int) -> float:
    """The probability that a node like so many others lies above them by at least z of their spreads."""
    freedom, factor = _student_of(others)
    return student_tail(factor * z, freedom)


@lru_cache(maxsize=None)
def critical(p: float, others: int) -> float:
    """The z that has this tail."""
    low, high = 0.0, 1.0
    while tail(high, others) > p and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, others) > p else (low, middle)
    return high


# ------------------------------------------------------------------ many nodes with many metrics


def simes(ps: Sequence[float]) -> float:
    """One p of a node from those of its metrics: that it is an outlier in none of them."""
    return min(adjusted(ps), default=1.0)


def selected(
    kinds: Sequence[Sequence[Sequence[float]]], rate: float
) -> tuple[list[float], list[list[list[float]]]]:
    """From p by kind of test, node and test: adjusted p of every node, and of every test among those of its
    kind of its node. The p of a node is the least of its kinds': each kind takes the rate for itself.

    A node is called an outlier where its p is at most `rate`, and a test of it where its p is, too. Nodes are
    what is acted on, so the expected share of false ones is kept among nodes: one that is slow in everything
    makes no other more suspect. Within a node that was called, the rate is the smaller the fewer nodes
    were."""
    of_nodes = adjusted([min(map(simes, own)) for own in zip(*kinds)])
    called = sum(p <= rate for p in of_nodes)
    factor = len(of_nodes) / max(1, called)
    return of_nodes, [[[min(1.0, p * factor) for p in adjusted(ps)] for ps in nodes] for nodes in kinds]
