# SPDX-License-Identifier: BSD-3-Clause
"""Limits on how much worse a number of a healthy node may look, so that at most 1 % of preflights call such a
node bad.

A number is called bad where each of TRIES tries, in processes of their own, is worse than the reference by
more than k standard deviations of a run. The tries are independent, but they share the reference, which is
the median of few runs, and the standard deviation, which is an estimate. So the probability that a healthy
number is called bad is

    p(k) = E over q, e of Q(k q - e) ** TRIES,   q^2 ~ chi^2 / degrees,   e ~ N(0, variance of the reference)

with Q the normal tail. k solves p(k) = 1 - (1 - RATE) ** (1 / numbers): exact for independent numbers, and
for the family it can only be less where they move together. What it assumes is normal logarithms;
docs/method/verdicts.md says what happens without.
"""

from __future__ import annotations

import math
from functools import lru_cache

from reports.records.spread import variance_of_median

RATE = 0.01  # of healthy nodes that are called bad
TRIES = 2
KNOWN = 1000  # degrees of a standard deviation that is taken as it is
_STEPS = 48
_LARGEST = 200.0  # a k beyond which nobody looks


def _tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def _weighted(low: float, high: float, log_density: list[float]) -> list[tuple[float, float]]:
    """Points with weights that add up to 1."""
    largest = max(log_density)
    weights = [math.exp(value - largest) for value in log_density]
    total = sum(weights)
    step = (high - low) / len(weights)
    return [(low + (i + 0.5) * step, weight / total) for i, weight in enumerate(weights)]


@lru_cache(maxsize=64)
def _points(runs: int, degrees: int) -> tuple[tuple[float, float, float], ...]:
    """q, e and the weight of both."""
    sigma = math.sqrt(variance_of_median(runs))
    width = 5 / math.sqrt(2 * degrees)
    low, high = max(0.0, 1 - width), 1 + width
    middle = [low + (i + 0.5) * (high - low) / _STEPS for i in range(_STEPS)]
    scales = _weighted(low, high, [(degrees - 1) * math.log(q) - degrees * q * q / 2 for q in middle])
    ends = 5 * sigma
    errors = _weighted(-ends, ends, [-((((i + 0.5) / _STEPS * 2 - 1) * 5) ** 2) / 2 for i in range(_STEPS)])
    return tuple((q, e, a * b) for q, a in scales for e, b in errors if a * b > 1e-12)


def false_alarm(k: float, runs: int, degrees: int) -> float:
    """The probability that a healthy number is called bad."""
    return sum(weight * _tail(k * q - e) ** TRIES for q, e, weight in _points(runs, degrees))


@lru_cache(maxsize=256)
def factor(numbers: int, runs: int, degrees: int) -> float:
    """k, for so many numbers of a preflight."""
    allowed = 1 - (1 - RATE) ** (1 / max(1, numbers))
    low, high = 0.0, _LARGEST
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if false_alarm(middle, runs, degrees) > allowed else (low, middle)
    return high
