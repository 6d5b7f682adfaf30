# SPDX-License-Identifier: BSD-3-Clause
"""How much headline numbers move from one process to the next, and so what another run of the same machine
would give.

Samples of one process share its memory layout and its minute, so the interval of their median says little
about another run. Second tries run in new processes, minutes later. Their differences, over all headline
numbers, give the spread; a number's own tries count with it, as one more observation among PRIOR that all
numbers share.
"""

from __future__ import annotations

import math
from statistics import median
from typing import Dict, Mapping, Optional, Sequence, Tuple

from reports.jsonl import Json
from reports.quantity import percent
from reports.student import quantile

PRIOR = 4  # observations that the spread of all numbers counts for
_REPEATS = 1e-3  # of the value: in virtual time, a narrower interval is rounding
LEAST = 8  # headline numbers with several tries, before a spread is stated
_OF_A_MEDIAN = 0.6745 * math.sqrt(
    2
)  # the median difference of two normal values over their standard deviation


def _relative_variance(values: Sequence[float]) -> Optional[float]:
    """None where the values have no scale, as around 0."""
    mean = sum(values) / len(values)
    if not mean or min(values) < 0 < max(values):
        return None
    return sum((v - mean) ** 2 for v in values) / (len(values) - 1) / mean**2


def spread_of(tries: Mapping[str, Sequence[float]]) -> Optional[Json]:
    """Of the values of all tries of each headline number: the relative standard deviation from process to
    process."""
    found = [
        abs(values[-1] - values[0]) / abs((values[-1] + values[0]) / 2)
        for values in tries.values()
        if len(values) > 1 and _relative_variance(values) is not None
    ]
    return {"relative": median(found) / _OF_A_MEDIAN, "metrics": len(found)} if len(found) >= LEAST else None


def variance_of(values: Sequence[float], relative: float) -> Tuple[float, int]:
    """Relative, of one number whose tries or runs these are, with the spread of all numbers; and its degrees
    of freedom."""
    own = _relative_variance(values) if len(values) > 1 else None
    degrees = PRIOR + (len(values) - 1 if own is not None else 0)
    return (PRIOR * relative**2 + (own or 0.0) * (degrees - PRIOR)) / degrees, degrees


def of_another_run(
    value: float, interval: Tuple[Optional[float], Optional[float]], values: Sequence[float], spread: Json
) -> Tuple[float, float]:
    """Where another run's value lies, with at least 95 %: the difference of two values has twice their
    variance. Holds the interval."""
    variance, degrees = variance_of(values, spread["relative"])
    half = quantile(0.95, degrees) * math.sqrt(2 * variance) * abs(value)
    ends = [end for end in interval if end is not None] + [value - half, value + half]
    return min(ends), max(ends)


def add_run_intervals(entries: Dict[str, Json], tries: Mapping[str, Sequence[float]]) -> Optional[Json]:
    """Give each headline number `run_low` and `run_high` where there is a spread, and return that."""
    spread = spread_of(tries)
    for name, entry in entries.items() if spread else ():
        interval = entry["ci_low"], entry["ci_high"]
        entry["run_low"], entry["run_high"] = of_another_run(
            entry["value"], interval, tries.get(name, ()), spread
        )
    return spread


def shown_interval(entry: Json) -> Tuple[Optional[float], Optional[float]]:
    """The interval that page and terminal show of a headline number: what another run would give, where that
    is known."""
    return entry.get("run_low", entry["ci_low"]), entry.get("run_high", entry["ci_high"])


def told(low: Optional[float], high: Optional[float], value: float, virtual: bool) -> bool:
    """True if an interval says anything: times of a model repeat, so that no width is no certainty."""
    return not virtual or low is None or high is None or high - low > _REPEATS * abs(value)


def told_interval(entry: Json, virtual: bool) -> Tuple[Optional[float], Optional[float]]:
    """The shown interval of a headline number, if it says anything."""
    low, high = shown_interval(entry)
    return (low, high) if told(low, high, entry["value"], virtual) else (None, None)


def sentence_of(spread: Optional[Json]) -> str:
    """What the intervals of the headline numbers are."""
    if not spread:
        return "95 % confidence interval of the median; no distribution assumed."
    return (
        "95 %% interval of what another run of this machine would give: the interval of the median, widened "
        "by how much the "
        "headline numbers move between processes (standard deviation %s, from second tries)."
        % percent(spread["relative"])
    )
