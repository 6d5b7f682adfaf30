# SPDX-License-Identifier: BSD-3-Clause
"""Places of the cores, told by core-to-core latencies: a hypervisor moves them, and launches, small copies
and collectives of a virtual machine follow (docs/method/statistics.md, "Where the cores are")."""

from __future__ import annotations

from statistics import median
from typing import Iterable, List, Optional, Sequence

from reports.records.quantity import listing

LEVEL = 1.3  # CORE_LATENCY_LEVEL of lib/core_latency.h


def levels_of(latencies: Iterable[float]) -> List[List[float]]:
    """Latencies in groups, the least first: a gap of more than LEVEL parts two of them."""
    levels: List[List[float]] = []
    for latency in sorted(latencies):
        if levels and latency <= LEVEL * levels[-1][-1]:
            levels[-1].append(latency)
        else:
            levels.append([latency])
    return levels


def usual(latencies: Sequence[float]) -> Optional[float]:
    """The median of the level that most of them are of; None where there are none."""
    return median(max(levels_of(latencies), key=len)) if latencies else None


def is_at(latency: Optional[float], level: Optional[float]) -> bool:
    """True if a latency is at a level, or either is unknown."""
    return latency is None or level is None or max(latency, level) <= LEVEL * min(latency, level)


def in_words(levels: Iterable[float]) -> str:
    """ "32 and 48 ns"."""
    return "%s ns" % listing(["%.0f" % (1e9 * level) for level in levels])
