# SPDX-License-Identifier: BSD-3-Clause
"""The time of a copy as a line over its size: a fixed part, and the bytes at a rate."""

from __future__ import annotations

import statistics
from typing import NamedTuple, Optional, Sequence

from reports.model.measured import Measured
from reports.records.fits import fit_line

HOME = ("up", "down", "local")  # without a peer
BANDWIDTH = "micro/copy_path/bandwidth"
_PIECES = {"engine": 1, "engine_split_4": 4, "engine_split_16": 16}
_STRAIGHT = 0.25  # residuals above it: not a line


class Line(NamedTuple):
    """The time of a copy over its size: alpha_ns + bytes / rate."""

    alpha_ns: float
    rate: float  # byte/s
    error: float  # median of the relative residuals, or the interval of the values if that is more
    sizes: int

    def ns(self, size: float) -> float:
        return self.alpha_ns + size / self.rate * 1e9

    def words(self) -> str:
        return "a line over %d sizes" % self.sizes if self.sizes > 1 else "of one size"


def line(points: Sequence[tuple[float, float, float]]) -> Optional[Line]:
    """A line through bytes, ns and the relative error of each. Where times are no straight line, or less than
    nothing would remain without bytes, the largest size has the rate and the smallest the rest."""
    points = sorted(p for p in points if p[0] > 0 and p[1] > 0)
    if not points:
        return None
    fitted = fit_line([(x, t * 1e-9) for x, t, _ in points])
    if fitted and fitted.alpha_s >= 0 and fitted.max_residual <= _STRAIGHT:
        alpha, rate = fitted.alpha_s * 1e9, fitted.bandwidth
    else:
        (x0, t0, _), (x1, t1, _) = points[0], points[-1]
        slope = (t1 - t0) / (x1 - x0) if t1 > t0 else t1 / x1
        alpha = max(0.0, t0 - slope * x0) if len(points) > 1 else 0.0
        rate = x1 / (t1 - alpha) * 1e9
    residuals = [abs((alpha + x / rate * 1e9) / t - 1) for x, t, _ in points]
    own = statistics.median(e for _, _, e in points)
    return Line(alpha, rate, max(own, statistics.median(residuals)), len({x for x, _, _ in points}))


def copy_line(measured: Measured, variant: str, direction: str) -> Optional[Line]:
    """The line of a variant of micro/copy_path, whose `up` is host to device. That of `engine` is of pieces
    of a copy, too, each of which is a copy to the engine."""
    points = []
    for name, pieces in _PIECES.items() if variant == "engine" else ((variant, 1),):
        curve = measured.curve(BANDWIDTH, "size", variant=name, direction=direction)
        points += [(x / pieces, x / pieces / v.value * 1e9, v.error) for x, v in curve if v.value > 0]
    return line(points)
