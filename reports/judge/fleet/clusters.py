# SPDX-License-Identifier: BSD-3-Clause
"""Two groups of nodes: where many are slow, they make the spread that one node is held against, and none
stands out.

Sorted values are cut at their largest gap that leaves a quarter of the nodes on each side, and are two groups
where the gap is more than the least effect and Student's t between the groups is so large that it would be
rare, had the best of all ways to part the nodes been tried. Which group is right, no number here says.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

_SHARE, _FEWEST = 4, 2  # a group is a quarter of the nodes, and two; fewer are for outliers.py


class Cut(NamedTuple):
    """Places of the values above the gap, and how far the medians are apart."""

    above: tuple[int, ...]
    distance: float


def _log_tail(t: float, freedom: int) -> float:
    """An upper bound of the logarithm of the two-sided p of Student's t, from that of the incomplete beta
    function: x^a / (a B(a, 1/2) sqrt(1 - x)), with a = freedom / 2 and x = freedom / (freedom + t²). The p
    itself is too small for a number where nodes are many."""
    a, x = freedom / 2, freedom / (freedom + t * t)
    log_beta = math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5)
    return a * math.log(x) - math.log(a) - log_beta - math.log1p(-x) / 2


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _squares(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values)


def cut_of(values: Sequence[float], least_gap: float, least_spread: float, rate: float) -> Cut | None:
    """None where the values are not two groups. `rate`: of equal nodes with normal values that are said to be
    two, at most: there are 2^(n - 1) ways to part n nodes."""
    count = len(values)
    fewest = max(_FEWEST, count // _SHARE)
    if count < 2 * fewest:
        return None
    order = sorted(range(count), key=lambda place: values[place])
    ordered = [values[place] for place in order]
    at = max(range(fewest, count - fewest + 1), key=lambda place: ordered[place] - ordered[place - 1])
    if ordered[at] - ordered[at - 1] <= least_gap:
        return None
    below, above, freedom = ordered[:at], ordered[at:], count - 2
    spread = max(math.sqrt((_squares(below) + _squares(above)) / freedom), least_spread)
    distance = sum(above) / len(above) - sum(below) / len(below)
    t = distance / spread / math.sqrt(1 / len(above) + 1 / len(below))
    if _log_tail(t, freedom) + (count - 1) * math.log(2) > math.log(rate):
        return None
    return Cut(tuple(sorted(order[at:])), _middle(above) - _middle(below))
