# SPDX-License-Identifier: BSD-3-Clause
"""Rank of several machines, where the error of some is not known. docs/method/verdicts.md, "Which machine is
better?".
"""

from __future__ import annotations

from typing import Callable, Collection, Mapping, NamedTuple, Sequence

LEAST_EFFECT = 0.02
FAR = 2.0  # times as good: more than any error that nobody knows may explain
BEST, EQUAL, OPEN, UNRANKED = "best", "equal", "not told apart", "not ranked"
NO_MATTER = (1 / (1 + LEAST_EFFECT), 1 + LEAST_EFFECT)  # ratios that are as good as 1
Pair = tuple[str, str]


class Ratio(NamedTuple):
    """Ratio of two machines, above 1 if the first is better, whatever the direction. Without ends its error
    is not known. `p`: of Welch's test, of numbers."""

    value: float
    low: float | None
    high: float | None
    p: float | None = None


class Rank(NamedTuple):
    """`best`: no other is better. `unranked`: their error is not known, and they are not far behind.
    `behind`: another is better. Where an unranked one may lead, nobody is best, and who is not behind it is
    in none of them."""

    best: list[str]
    unranked: list[str]
    behind: list[str]
    verdict: str


def _within(ratio: Ratio) -> bool:
    return None not in (ratio.low, ratio.high) and NO_MATTER[0] <= ratio.low and ratio.high <= NO_MATTER[1]  # type: ignore[operator]


def is_ahead(ratio: Ratio) -> bool:
    """By its whole interval, and where there is none by a value that is far ahead."""
    return ratio.value > FAR if ratio.low is None else ratio.low > NO_MATTER[1]


def rank(
    names: Sequence[str],
    unknown: Collection[str],
    ratios: Mapping[Pair, Ratio],
    ahead_of: Callable[[Pair], bool],
) -> Rank:
    """Rank two machines or more; `unknown` are those without an error. One of them that may lead leaves open
    who is best."""
    lost = {pair[1] for pair in ratios if ahead_of(pair)}
    ahead, behind = [name for name in sorted(names) if name not in lost], sorted(lost)
    if len(ahead) == 1:
        return Rank(ahead, [], behind, BEST)
    unranked = [name for name in ahead if name in unknown]
    best = [name for name in ahead if name not in unknown]
    if any(all(ratios[name, other].value > 1 for other in best) for name in unranked):
        return Rank([], unranked, behind, UNRANKED)
    if len(best) == 1:
        return Rank(best, unranked, behind, BEST)
    alike = all(_within(ratios[one, other]) for one in best for other in best if one != other)
    return Rank(best, unranked, behind, EQUAL if alike else OPEN)
