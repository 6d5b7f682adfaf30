# SPDX-License-Identifier: BSD-3-Clause
"""Sides of which one has fewer than EXACT runs, where ranks alone would find nothing.

The change of a metric is the difference of the means of its logarithms (or of its values). Its variance is
that of both sides around their own means, with what a noise file knows, moderated by the variances of all
metrics (reports/records/moderated.py); Student's t gives interval and p. One run against many is a prediction
interval. That p believes in normal values. What does not is the chance: the share of all ways to deal the
runs out to two sides that give as much evidence, over all metrics. Runs are dealt out whole, so that it holds
for any noise, also where all metrics of a run move together, as long as runs are exchangeable.

Welch's and Student's t with pooled variances: Smyth, Stat. Appl. Genet. Mol. Biol. 3 (2004), article 3.
Evidence from many truncated p: Zaykin et al., Genet. Epidemiol. 22 (2002); by relabelling: Westfall and
Young, Resampling-Based Multiple Testing (1993).
"""

from __future__ import annotations

import math
import random
from itertools import accumulate, combinations
from typing import Iterator, NamedTuple, Optional, Sequence

from reports.records import student
from reports.records.moderated import Variance, moderated, pooled, prior_of, variance_of

EXACT = 8  # runs a side, from which ranks decide alone
SEES_DRIFT = 5  # runs of a side, from which a drift is seen
KNOWS_LEVELS = 12  # equal runs, of which levels would be seen
_LEFT, _LEFT_LESS = 0.3, 2.2  # of the variance, less 2.2 / n: what two levels leave; normal values leave 0.36
_DEALS = 99  # drawn, where there are more ways
_SAME = 1 - 1e-9  # as much, but for rounding
POWER_Z = 1.2816  # standard normal, 90 %
_RARE, _RAREST = 1e-2, 1e-5  # p between which a metric is evidence

NOTHING = Variance(0.0, 0.0)  # is known
Values = Sequence[Optional[float]]  # of a metric, a run each, on the scale of its change


class Metric(NamedTuple):
    """Values of a metric. `known`, `levels`: its variance, and whether it comes in levels, from other runs.
    `least`: the least effect that matters, on the scale of the values."""

    before: Values
    after: Values
    known: Variance = NOTHING
    levels: bool | None = None
    least: float = 0.0


class Found(NamedTuple):
    """Change of a metric by the moderated t. `deviation`: of one run from another."""

    change: float
    error: float
    degrees: float
    deviation: float

    def half(self, confidence: float) -> float:
        return student.quantile(confidence, self.degrees) * self.error

    @property
    def t(self) -> float:
        if not self.error:
            return math.copysign(math.inf, self.change) if self.change else 0.0
        return self.change / self.error

    @property
    def p(self) -> float:
        return student.two_sided_p(self.t, self.degrees)


def least_known(runs: int, rate: float) -> int:
    """Equal runs that a noise file needs to judge so many runs a side: enough to see levels, and for one run
    a side so many that it is the most extreme of all at most at this rate."""
    return max(KNOWS_LEVELS, math.ceil(2 / rate) - 2 if runs == 1 else 0)


def is_few(before: int, after: int) -> bool:
    """True if a t judges instead of ranks: it follows from the numbers of runs, never from values."""
    return min(before, after) < EXACT


def has_levels(values: Sequence[float], least: float = 0.0) -> bool | None:
    """True if two groups of two or more, further apart than `least`, leave little of the variance; of normal
    values in 3 of 100 cases at most. None: too few to say."""
    count = len(values)
    if count < KNOWS_LEVELS:
        return None
    mean = math.fsum(values) / count
    ordered = sorted(value - mean for value in values)
    whole = math.fsum(value * value for value in ordered)
    sums = list(accumulate(ordered))
    # the groups' means are sums[k] / k and -sums[k] / (count - k): what they explain is largest at the cut
    explained, cut = max((sums[k - 1] ** 2 * (1 / k + 1 / (count - k)), k) for k in range(2, count - 1))
    apart = -sums[cut - 1] * (1 / cut + 1 / (count - cut))
    return apart > least and whole - explained < (_LEFT - _LEFT_LESS / count) * whole


def levels_of(metric: Metric) -> bool | None:
    """True if either side, or what is known, has levels."""
    sides = [has_levels(_present(side), metric.least) for side in (metric.before, metric.after)]
    told = [one for one in (*sides, metric.levels) if one is not None]
    return any(told) if told else None


# ------------------------------------------------------------------ the moderated t


def _present(values: Values) -> list[float]:
    return [value for value in values if value is not None]


def _own(metric: Metric) -> Variance:
    sides = (variance_of(_present(side)) for side in (metric.before, metric.after))
    return pooled([*sides, metric.known])


def change_of(metric: Metric) -> float | None:
    """Difference of the means; None if a side has no value."""
    sides = [_present(side) for side in (metric.before, metric.after)]
    before, after = (math.fsum(side) / len(side) if side else None for side in sides)
    return None if before is None or after is None else after - before


def tested(metrics: Sequence[Metric]) -> list[Found | None]:
    """Changes of the metrics; None if a side has no value, or nothing tells how much the metric moves."""
    variances = [_own(metric) for metric in metrics]
    prior = prior_of(variances)
    found: list[Found | None] = []
    for metric, own in zip(metrics, variances):
        change, variance = change_of(metric), moderated(own, prior)
        if change is None or not variance.degrees:
            found.append(None)
            continue
        counts = [len(_present(side)) for side in (metric.before, metric.after)]
        error = math.sqrt(variance.variance * sum(1 / count for count in counts))
        found.append(Found(change, error, variance.degrees, math.sqrt(variance.variance)))
    return found


def evidence(metrics: Sequence[Metric]) -> float:
    """Evidence that anything changed: how far the p of metrics without levels are below 1 %, in logarithms.
    Each counts down to 1e-5 only, so that one outlier is not more than two or three metrics that moved."""
    rare = [(metric, one.p) for metric, one in zip(metrics, tested(metrics)) if one and one.p < _RARE]
    ps = [p for metric, p in rare if not levels_of(metric)]
    return math.fsum(math.log(_RARE / max(p, _RAREST)) for p in ps)


def finds(known: Variance, count: int, confidence: float, least: float) -> float:
    """Change that so many runs a side find in 9 of 10 comparisons, by the known variance of equal runs:
    beyond the least effect, and with a p below 1 - `confidence`."""
    error = math.sqrt(known.variance * 2 / count)
    strict = student.quantile(confidence, known.degrees + 2 * count - 2) * error
    return max(least, strict) + POWER_Z * error


# ------------------------------------------------------------------ the chance


def deals(before: int, after: int) -> int:
    """Number of ways to deal the runs out; swapping sides of one size is none of its own."""
    return math.comb(before + after, after) // (2 if before == after else 1)


def _dealt(before: int, after: int) -> Iterator[tuple[int, ...]]:
    """Runs that are after, in all ways but that of the comparison, or in some ways, the same ones each time.
    If the sides have one size, each of those comes with its swap, so that swapped sides give the same."""
    whole, own, is_even = before + after, tuple(range(before, before + after)), before == after
    if deals(before, after) > _DEALS + 1:
        draw = random.Random(before * 1000 + after)
        for _ in range(_DEALS // 2 if is_even else _DEALS):
            chosen = draw.sample(range(whole), after)
            yield tuple(chosen)
            if is_even:
                yield tuple((place + before) % whole for place in chosen)
        return
    for drawn in combinations(range(whole), after):
        if drawn != own and not (is_even and 0 in drawn):
            yield drawn


def _ordered(metrics: Sequence[Metric], before: int, after: int) -> list[list[float | None]]:
    """The values of each metric, those of the larger side first, the runs of a side by their values: neither
    the order of runs nor that of sides counts."""
    sides = [
        [one.before or (None,) * before for one in metrics],
        [one.after or (None,) * after for one in metrics],
    ]
    runs = []
    for side in sorted(sides, key=lambda own: -len(own[0])):
        runs += sorted(zip(*side), key=lambda run: [math.inf if v is None else v for v in run])
    return [list(values) for values in zip(*runs)]


def dealt_evidence(metrics: Sequence[Metric], before: int, after: int) -> list[float]:
    """Evidence of each way to deal the runs out, without the comparison's own."""
    values, found = _ordered(metrics, before, after), []
    for chosen in _dealt(max(before, after), min(before, after)):
        rest = sorted(set(range(before + after)) - set(chosen))
        sides = [([own[i] for i in rest], [own[i] for i in chosen]) for own in values]
        dealt = [one._replace(before=then, after=now) for one, (then, now) in zip(metrics, sides)]
        found.append(evidence(dealt))
    return found


def chance_of(own: float, others: Sequence[float]) -> float:
    """Chance of as much evidence, if nothing changed: the share of the deals, and of this one."""
    return (1 + sum(other >= own * _SAME for other in others)) / (1 + len(others))
