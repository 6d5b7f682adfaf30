# SPDX-License-Identifier: BSD-3-Clause
"""Student's t distribution, for what is told apart from a spread that few values have given.

The tail is the regularised incomplete beta function, by the continued fraction of Abramowitz and Stegun,
26.5.8.
"""

from __future__ import annotations

import math
from functools import lru_cache

_STEPS, _PRECISION, _TINY = 500, 1e-15, 1e-300


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Lentz's method."""
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), _TINY)
    found = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + term * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + term / c
            c = c if abs(c) > _TINY else _TINY
            found *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return found


def _incomplete_beta(x: float, y: float, a: float, b: float) -> float:
    """y is 1 - x, given because the difference would lose its digits."""
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(a * math.log(x) + b * math.log(y) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(x, a, b) / a
    return 1 - front * _continued_fraction(y, b, a) / b


def two_sided_p(t: float, degrees: float) -> float:
    """The probability of a value at least so far from 0."""
    if degrees <= 0 or math.isnan(t):
        raise ValueError("no t distribution of %g with %g degrees of freedom" % (t, degrees))
    if math.isinf(t):
        return 0.0
    whole = degrees + t * t
    return _incomplete_beta(degrees / whole, t * t / whole, degrees / 2, 0.5)


@lru_cache(maxsize=4096)
def quantile(confidence: float, degrees: float) -> float:
    """The bound that a value stays within, both ways, with this probability."""
    if not 0 < confidence < 1:
        raise ValueError("the confidence is not between 0 and 1")
    # Newton's method: p falls and is convex, so that it comes from below and stops where it no longer rises.
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    before, t = -1.0, 0.0
    while t > before:
        density = scale * math.exp(-(degrees + 1) / 2 * math.log1p(t * t / degrees))
        before, t = t, t + (two_sided_p(t, degrees) - (1 - confidence)) / (2 * density)
    return before
