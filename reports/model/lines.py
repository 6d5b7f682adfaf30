# SPDX-License-Identifier: BSD-3-Clause
"""Times over numbers, such as bytes, as a line, by least squares of relative errors."""

from __future__ import annotations

import statistics
from typing import NamedTuple, Optional, Sequence

Points = Sequence[tuple[float, float]]  # a number, seconds


class Line(NamedTuple):
    start: float  # seconds of 0
    slope: float  # seconds of one
    error: float  # relative: median distance of the points from the line


def line_of(points: Points) -> Optional[Line]:
    """None if there are fewer than two numbers, or they take less time the more they are."""
    if len({n for n, _ in points}) < 2 or min(t for _, t in points) <= 0:
        return None
    nn, n1, ones, nt, t1 = (
        sum(f(n / t, 1 / t) for n, t in points)
        for f in (
            lambda n, one: n * n,
            lambda n, one: n * one,
            lambda n, one: one * one,
            lambda n, one: n,
            lambda n, one: one,
        )
    )
    slope = (nt * ones - t1 * n1) / (nn * ones - n1 * n1)
    start = (t1 - slope * n1) / ones
    if slope <= 0:
        return None
    return Line(start, slope, statistics.median(abs((start + slope * n) / t - 1) for n, t in points))
