# SPDX-License-Identifier: BSD-3-Clause
"""The Mann-Whitney test for nights that are split at many places: from sums of ranks, exact also for a few
nights among hundreds."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Sequence

_EXACT = 50_000  # operations to count how many choices have a rank sum; with more the tail is the normal one


@lru_cache(maxsize=1024)
def _counts(few: int, many: int) -> tuple[int, ...]:
    """Numbers of choices of `few` nights with a U of at most 0, 1, 2, ...: Gaussian binomial coefficients."""
    counts = [1] + [0] * (few * many)
    for size in range(1, few + 1):
        for u in range(few * many, many + size - 1, -1):
            counts[u] -= counts[u - many - size]
        for u in range(size, few * many + 1):
            counts[u] += counts[u - size]
    return tuple(accumulate(counts))


@lru_cache(maxsize=1 << 16)
def two_sided_p(inside: int, outside: int, twice_u: int) -> float:
    """Two-sided, of values without ties; ties make it larger than it need be."""
    few, many = sorted((inside, outside))
    u = (min(twice_u, 2 * few * many - twice_u) + 1) // 2
    if few * few * many > _EXACT:
        distance = few * many / 2 - u - 0.5
        variance = few * many * (few + many + 1) / 12
        return math.erfc(distance / math.sqrt(2 * variance)) if distance > 0 else 1.0
    counts = _counts(few, many)
    return min(1.0, 2 * counts[u] / counts[-1])


def twice_ranks(values: Sequence[float]) -> list[int]:
    ordered = sorted(values)
    return [bisect_left(ordered, v) + bisect_right(ordered, v) + 1 for v in values]
