# SPDX-License-Identifier: BSD-3-Clause
"""Variances of many numbers of few values each: how alike they are is estimated, and each is drawn towards
the others as much as that says.

True variances are taken to follow a scaled inverse chi-square distribution, whose degrees of freedom and
scale come from the observed ones: the variance of log s^2 beyond what sampling explains gives the degrees,
its mean the scale. Numbers that have hardly anything in common give few degrees, and each keeps its own.

Smyth, Stat. Appl. Genet. Mol. Biol. 3 (2004), article 3: the method of moments on log s^2, and the moderated
t statistic.
"""

from __future__ import annotations

import math
from typing import Iterable, NamedTuple, Optional, Sequence, Tuple

_LEAST = 3  # variances, of which a prior is estimated
_STEPS = 50


class Variance(NamedTuple):
    """The variance of the logarithm of a number, from values of so many degrees of freedom."""

    variance: float
    degrees: float


def variance_of(values: Sequence[float]) -> Variance:
    """The variance of two values or more; no degrees of fewer."""
    count = len(values)
    if count < 2:
        return Variance(0.0, 0.0)
    mean = math.fsum(values) / count
    return Variance(math.fsum((v - mean) ** 2 for v in values) / (count - 1), count - 1.0)


def pooled(found: Iterable[Variance]) -> Variance:
    """The variance of one number, from several groups of values, each around its own mean."""
    known = [one for one in found if one.degrees > 0]
    degrees = math.fsum(one.degrees for one in known)
    return Variance(math.fsum(v * d for v, d in known) / degrees if degrees else 0.0, degrees)


def _digamma(x: float) -> float:
    found = 0.0
    while x < 10:
        found, x = found - 1 / x, x + 1
    square = 1 / (x * x)
    return found + math.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square / 252))


def _polygamma(x: float) -> Tuple[float, float]:
    """Trigamma and its derivative."""
    first = second = 0.0
    while x < 10:
        first, second, x = first + 1 / x**2, second - 2 / x**3, x + 1
    y = 1 / (x * x)
    return (
        first + 1 / x + y / 2 + y / x * (1 / 6 - y * (1 / 30 - y / 42)),
        second - y - y / x - y * y * (1 / 2 - y * (1 / 6 - y / 6)),
    )


def _inverse_trigamma(value: float) -> float:
    """Newton's method on 1 / trigamma, which is convex: it converges from 1/2 + 1 / value."""
    x = 0.5 + 1 / value
    for _ in range(_STEPS):
        trigamma, slope = _polygamma(x)
        step = trigamma * (1 - trigamma / value) / slope
        x += step
        if -step < 1e-10 * x:
            break
    return x


def prior_of(found: Iterable[Variance]) -> Optional[Variance]:
    """The scale that variances have in common, and for how many degrees of freedom it counts: never more than
    they have all together, as it is no better known than that. Variances of 0 say nothing: those values did
    not move at all. None where too few are left."""
    known = [one for one in found if one.variance > 0 and one.degrees > 0]
    if len(known) < _LEAST:
        return None
    logs = [math.log(v) - _digamma(d / 2) + math.log(d / 2) for v, d in known]
    mean = math.fsum(logs) / len(logs)
    beyond = math.fsum((e - mean) ** 2 for e in logs) / (len(logs) - 1) - math.fsum(
        _polygamma(d / 2)[0] for _, d in known
    ) / len(known)
    most = math.fsum(d for _, d in known)
    degrees = 2 * _inverse_trigamma(beyond) if beyond > 0 else most
    scale = _digamma(degrees / 2) - math.log(degrees / 2) if beyond > 0 else 0.0
    return Variance(math.exp(mean + scale), min(degrees, most))


def moderated(own: Variance, prior: Optional[Variance]) -> Variance:
    """The number's own variance with what others say of it; the own one without a prior."""
    return pooled([own, prior]) if prior is not None else own
