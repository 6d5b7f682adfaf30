# SPDX-License-Identifier: BSD-3-Clause
"""The statistics of a comparison: the shift of one side against the other, its p, and many tests at once.

No distribution of the values is assumed. A side has few values, one a run, so the Mann-Whitney test is exact
up to EXACT values a side, with ties too; beyond that it is the normal approximation. Swapping the sides gives
the same p and the negated shift, to the bit: whatever could round is computed in integers that are the same
for both orders.

Mann and Whitney, Ann. Math. Stat. 18 (1947); Hodges and Lehmann, Ann. Math. Stat. 34 (1963); Benjamini and
Hochberg, J. R. Stat. Soc. B 57 (1995); Clopper and Pearson, Biometrika 26 (1934).
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Sequence

EXACT = 20  # values on the larger side, up to which the Mann-Whitney distribution is exact
_BITS = 64  # of one count; C(2 * EXACT, EXACT) has 38


def _check_values(*sides: Sequence[float]) -> None:
    if not all(len(side) for side in sides):
        raise ValueError("a side has no values")
    if not all(math.isfinite(v) for side in sides for v in side):
        raise ValueError("a value is not finite")


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError("the confidence is not between 0 and 1")


@lru_cache(maxsize=256)
def _counts(n_a: int, ties: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers of choices of n_a values with a doubled U of at most 0, 1, 2, ...; the last counts all choices.

    `ties` has the sizes of the groups of equal values in ascending order. Doubled midranks, counted from 0,
    are integers. The counts of choices of k values by doubled rank sum are one long integer, _BITS for each
    sum: adding a value shifts and adds.
    """
    choices = [1] + [0] * n_a
    place = 0
    for size in ties:
        shift_by = _BITS * (2 * place + size - 1)
        for _ in range(size):
            for k in range(n_a, 0, -1):
                choices[k] += choices[k - 1] << shift_by
        place += size
    sums = 2 * n_a * (place - n_a) + 1
    by_u = choices[n_a] >> _BITS * n_a * (n_a - 1)
    return tuple(accumulate(struct.unpack("<%dQ" % sums, by_u.to_bytes(_BITS // 8 * sums, "little"))))


def _normal_p(n_a: int, n_b: int, ties: Sequence[int], twice_u: int) -> float:
    """With the correction for ties and for continuity."""
    n = n_a + n_b
    variance = n_a * n_b * (n**3 - sum(size**3 for size in ties)) / (12 * n * (n - 1))
    distance = (abs(twice_u - n_a * n_b) - 1) / 2
    return math.erfc(distance / math.sqrt(2 * variance)) if distance > 0 else 1.0


def _p(n_a: int, n_b: int, ties: tuple[int, ...], twice_u: int) -> float:
    if max(n_a, n_b) > EXACT:
        return _normal_p(n_a, n_b, ties, twice_u)
    counts = _counts(n_a, ties)
    total = counts[-1]
    upper = total - counts[twice_u - 1] if twice_u else total
    return min(1.0, 2 * min(counts[twice_u], upper) / total)


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """The two-sided p that a and b come from one distribution: twice the smaller tail of U, at most 1.

    Exact for up to EXACT values a side: among all ways to deal the values out to the two sides, equal values
    with their midrank. With more on either side it is the normal approximation, corrected for ties and
    continuity. 1 where all values are equal.
    """
    _check_values(a, b)
    if len(a) > len(b):
        a, b = b, a
    pooled = sorted([*a, *b])
    if len(set(pooled)) == len(pooled):
        ties = (1,) * len(pooled)
    else:
        ties = tuple(len(list(group)) for _, group in groupby(pooled))
    n_a = len(a)
    twice_u = sum(bisect_left(pooled, v) + bisect_right(pooled, v) for v in a) - n_a * n_a
    return _p(n_a, len(b), ties, twice_u)


def least_p(n_a: int, n_b: int) -> float:
    """The smallest p that mann_whitney gives for these sizes without ties: that of two sides which do not
    overlap."""
    if min(n_a, n_b) < 1:
        raise ValueError("a side has no values")
    return _p(min(n_a, n_b), max(n_a, n_b), (1,) * (n_a + n_b), 0)


@lru_cache(maxsize=256)
def _rank_of_end(n_a: int, n_b: int, confidence: float) -> int:
    """The rank, from 1, of the difference that bounds the interval from below: how many values of U are
    rejected at that end. 0: none is. The division rounds once, so a confidence that sizes reach exactly, such
    as 0.9 for 3 and 3, is reached."""
    ties = (1,) * (n_a + n_b)
    if max(n_a, n_b) > EXACT:
        return sum(1 - _normal_p(n_a, n_b, ties, 2 * u) >= confidence for u in range(n_a * n_b // 2 + 1))
    counts = _counts(n_a, ties)
    return sum((counts[-1] - 2 * count) / counts[-1] >= confidence for count in counts[::2])


def shift(
    a: Sequence[float], b: Sequence[float], confidence: float = 0.95
) -> tuple[float, float | None, float | None]:
    """Shift of b above a: the Hodges-Lehmann estimate, the median of all b[j] - a[i], and the interval of all
    shifts that mann_whitney does not reject if there are no ties.

    The interval is distribution-free and closed, with at least this confidence; ties only raise it. More than
    EXACT values on either side: the normal approximation. Both ends are None, unbounded, where so few values
    cannot reach the confidence.
    """
    _check_values(a, b)
    _check_confidence(confidence)
    differences = sorted([after - before for before in a for after in b])
    n = len(differences)
    estimate = (differences[(n - 1) // 2] + differences[n // 2]) / 2
    if not math.isfinite(estimate) or not math.isfinite(differences[-1] - differences[0]):
        raise ValueError("the differences are too large")
    rank = _rank_of_end(min(len(a), len(b)), max(len(a), len(b)), confidence)
    if not rank:
        return estimate + 0.0, None, None
    return estimate + 0.0, differences[rank - 1] + 0.0, differences[n - rank] + 0.0  # + 0.0: 0 has no sign


def adjusted(ps: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg: rejecting where these are at most q keeps the expected share of false ones among
    the rejected at q."""
    if not all(0 <= p <= 1 for p in ps):
        raise ValueError("a p is not between 0 and 1")
    found = [1.0] * len(ps)
    least = 1.0
    for rank, index in sorted(enumerate(sorted(range(len(ps)), key=ps.__getitem__), 1), reverse=True):
        least = min(least, ps[index] * (len(ps) / rank))  # at the last rank the quotient is 1, and p exact
        found[index] = least
    return found


def _upper_tail(k: int, n: int, share: float, log_choices: float) -> float:
    """The probability of k or more of n, for 0 < share < k / n: there the terms fall, and the sum ends where
    they vanish."""
    term = math.exp(log_choices + k * math.log(share) + (n - k) * math.log1p(-share))
    total = 0.0
    while term > total * 1e-18:
        total += term
        term *= (n - k) / (k + 1) * (share / (1 - share))
        k += 1
    return total


def _lower_limit(k: int, n: int, tail: float) -> float:
    """The share at which k or more of n have the probability `tail`, less than 1/2: at k / n it is more than
    that."""
    if not k:
        return 0.0
    log_choices = math.log(math.comb(n, k))
    low, high = 0.0, k / n
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _upper_tail(k, n, middle, log_choices) < tail else (low, middle)
    return high


def binomial_interval(k: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's interval for the probability of what happened k times in n; it has at least this
    confidence."""
    if not 0 <= k <= n:
        raise ValueError("%d of %d is not possible" % (k, n))
    _check_confidence(confidence)
    tail = (1 - confidence) / 2
    return _lower_limit(k, n, tail), 1 - _lower_limit(n - k, n, tail)


def quantile(values: Sequence[float], share: float) -> float:
    """Linear between order statistics: the least value at share 0, the largest at 1 (type 7 of Hyndman and
    Fan)."""
    _check_values(values)
    if not 0 <= share <= 1:
        raise ValueError("the share is not between 0 and 1")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return min(high, low + (high - low) * (place - math.floor(place)))
