# SPDX-License-Identifier: BSD-3-Clause
"""Uncertainty of the curves that advice is made of: what noisy and contended points add to the expected
error."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reports.records.jsonl import Json, is_number

SOURCES = (
    "gemm/efficiency/flop_rate",
    "gemm/split/flop_rate",
    "micro/copy_path/bandwidth",
    "micro/copy_path/both_ways_time_ratio",
    "micro/copy_contention/CIL",
    "micro/launch/time",
    "micro/launch/stream_hop_time",
    "micro/memory/bandwidth",
)


@dataclass(frozen=True)
class Uncertainty:
    """`share`: the mean over all values of half the interval of a graded one, relative, at most 1; of others
    0, because the score of the advice has their noise in it already."""

    values: int
    graded: int
    share: float

    @property
    def note(self) -> str:
        return (
            "%d of the %d values behind this are noisy or contended: half of their intervals, averaged over "
            "all values, is %.2g %%, by which the expected error is larger"
            % (self.graded, self.values, 100 * self.share)
        )


def _half_width(metric: Json) -> float:
    """Relative, at most 1; 1 too where it is unknown."""
    value, low, high = metric["value"], metric["ci_low"], metric["ci_high"]
    if not (is_number(low) and is_number(high) and value):
        return 1.0
    return min(1.0, abs(high - low) / 2 / abs(value))


def uncertainty(signature: Json) -> Uncertainty:
    known = [m for name, m in signature["metrics"].items() if name.partition("{")[0] in SOURCES]
    metrics = [m for m in known if not m["primary"]]
    graded = [_half_width(m) for m in metrics if m.get("grade")]
    return Uncertainty(len(metrics), len(graded), math.fsum(graded) / max(1, len(metrics)))
