# SPDX-License-Identifier: BSD-3-Clause
"""Times over amounts as lines, by least squares of relative errors."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple, Optional, Sequence


class Point(NamedTuple):
    amount: float  # such as bytes
    seconds: float


class Line(NamedTuple):
    start: float  # seconds at amount 0
    slope: float  # seconds of one
    error: float  # relative: median distance of the points from the line


def _line(points: Sequence[Point], start: float) -> Line:
    squares = sum((p.amount / p.seconds) ** 2 for p in points)
    slope = sum(p.amount * (p.seconds - start) / p.seconds**2 for p in points) / squares
    return Line(
        start, slope, statistics.median(abs(start + slope * p.amount - p.seconds) / p.seconds for p in points)
    )


def slope(points: Sequence[Point], start: float = 0.0) -> Optional[Line]:
    """The line that begins at `start`; None without points, or where `start` is longer than they take."""
    given = [p for p in points if p.seconds > start and p.amount > 0]
    return _line(given, start) if given and len(given) == len(points) else None


def line(points: Sequence[Point]) -> Optional[Line]:
    """Begins at 0 or later: where noise may be all of its start, which is less than twice the standard error
    of it, at 0."""
    if len({p.amount for p in points}) < 3:
        return slope(points)
    weights = [(p.amount / p.seconds, 1 / p.seconds) for p in points]
    nn, n1, ones = (sum(w[i] * w[j] for w in weights) for i, j in ((0, 0), (0, 1), (1, 1)))
    left = ones - n1 * n1 / nn
    if left <= 1e-12 * ones:
        return slope(points)
    start = (sum(w[1] for w in weights) - n1 * sum(w[0] for w in weights) / nn) / left
    found = _line(points, start)
    rest = [(start + found.slope * p.amount - p.seconds) / p.seconds for p in points]
    error = math.sqrt(sum(r * r for r in rest) / (len(points) - 2) / left)
    return found if start > 2 * error and found.slope > 0 else slope(points)
