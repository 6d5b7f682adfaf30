# SPDX-License-Identifier: BSD-3-Clause
"""Shares of choices that are right, against that of the best constant choice, which is known only
afterwards."""

from __future__ import annotations

import math
import random
import statistics
from typing import Hashable, NamedTuple, Optional, Sequence

from reports.records.jsonl import Json
from reports.records.quantity import percent

_RESAMPLES = 10000
_Z = 1.959964


class Pair(NamedTuple):
    """Verdicts of a choice, and of the constant one in its place; those of one shape are alike."""

    shape: Hashable
    ours: bool
    constant: bool


def wilson(right: int, of: int) -> Optional[tuple[float, float]]:
    """95 % interval of a share."""
    if of == 0:
        return None
    share, square = right / of, _Z * _Z
    half = _Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    middle = share + square / (2 * of)
    return max(0.0, (middle - half) / (1 + square / of)), min(1.0, (middle + half) / (1 + square / of))


def mcnemar(better: int, worse: int) -> float:
    """Two-sided exact p of so many differences in either direction, by the binomial distribution with 1/2."""
    n = better + worse
    tail = sum(math.comb(n, i) for i in range(min(better, worse) + 1)) / 2.0**n
    return min(1.0, 2.0 * tail)


def difference(pairs: Sequence[Pair]) -> Json:
    """The share that is right minus that of the constant choice (`value`), with a 95 % interval (`ci`) of
    10000 resamples of whole shapes, percentiles; how many are right of ours alone (`better`) and of the
    constant alone (`worse`), and McNemar's `p`. At least one pair."""
    by_shape: dict[Hashable, list[int]] = {}
    for pair in pairs:
        by_shape.setdefault(pair.shape, []).append(int(pair.ours) - int(pair.constant))
    groups = [(sum(own), len(own)) for own in by_shape.values()]
    draw, means = random.Random(1), []
    for _ in range(_RESAMPLES):
        drawn = draw.choices(groups, k=len(groups))
        means.append(sum(d for d, _ in drawn) / sum(n for _, n in drawn))
    means.sort()
    all_of = [d for own in by_shape.values() for d in own]
    better, worse = all_of.count(1), all_of.count(-1)
    return {
        "value": statistics.fmean(all_of),
        "shapes": len(groups),
        "ci": [means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]],
        "better": better,
        "worse": worse,
        "p": mcnemar(better, worse),
    }


def sentence(row: Json) -> str:
    """Words on a row of prediction.json: "a fastest way in 26 of 30 unseen cases of overlap/ficco (87 %,
    95 %: 70 % to 95 %), always serial in 12; difference 47 %, 95 %: 29 % to 64 %, p 0.0004"; "" without
    choices."""
    if not row.get("right_ci"):
        return ""
    low, high = map(percent, row["right_ci"])
    text = "a fastest way in %d of %d unseen cases of %s" % (row["right"], row["choices"], row["program"])
    text += " (%s, 95 %%: %s to %s)" % (percent(row["right"] / row["choices"]), low, high)
    over = row.get("over_constant")
    if over:
        text += ", always %s in %d" % (row["constant"], row["constant_right"])
        text += "; difference %s, 95 %%: %s to %s, p %.2g" % (
            *map(percent, (over["value"], *over["ci"])),
            over["p"],
        )
    return text
