# SPDX-License-Identifier: BSD-3-Clause
"""Percentiles of single operations, and whether their times have two levels.

A sample of a variant is the mean of many iterations, in which a slow operation does not show. Programs time
up to 1000 operations, each alone, of what takes microseconds: `singles_s` of a record. Percentiles are of
these alone, with the interval of the order statistics, which holds for any distribution.

Two levels: the times, parted at one place into groups of a tenth or more, leave a gap that is wider than
either group. A group is as wide as the middle four fifths of it, and the gap lies between these, so that
stragglers fill none. A gap below a twentieth of the median or below GRAINS of the clock's ticks is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import List, Optional, Sequence, Tuple

from reports.page.charts import draw_histogram
from reports.records.jsonl import Json
from reports.records.quantity import human, in_brackets, percent, plural
from reports.records.records import Case, Variant
from reports.signature.section import Figure, Panels, Section, table

LEAST = {0.95: 20, 0.99: 100}  # operations, so that one or more lie beyond the percentile
LEVELS_LEAST = 200  # operations, before two levels are told: with fewer, a long tail looks like one
_PART = 0.1  # of all, in the smaller group; and of a group, beyond either end of its width
_GAP = 0.05  # of the median
GRAINS = 4
_NAMED = 8  # rows


@dataclass(frozen=True)
class Level:
    value: float
    share: float


@dataclass(frozen=True)
class Percentile:
    """`high` is None where too few operations bound it from above."""

    value: float
    low: float
    high: Optional[float]


def _binomial(n: int, p: float) -> List[float]:
    """P(at most k of n) for each k."""
    sums, total = [], 0.0
    for k in range(n + 1):
        logs = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        total += math.exp(logs + k * math.log(p) + (n - k) * math.log1p(-p))
        sums.append(total)
    return sums


def percentile(times: Sequence[float], p: float) -> Optional[Percentile]:
    """A percentile of the times; None of too few."""
    n = len(times)
    if n < LEAST[p]:
        return None
    ordered, below = sorted(times), _binomial(n, p)
    low = max((k for k in range(n) if k == 0 or below[k - 1] <= 0.025), default=0)
    high = next((k for k in range(n) if below[k] >= 0.975), None)
    value = ordered[max(0, math.ceil(p * n - 1e-9) - 1)]
    return Percentile(value, ordered[low], None if high is None else ordered[high])


def levels(times: Sequence[float]) -> List[Level]:
    """Two where the times have two, else none."""
    n, ordered = len(times), sorted(times)
    if n < LEVELS_LEAST:
        return []
    ticks = [b - a for a, b in zip(ordered, ordered[1:]) if b > a]
    least = max(_GAP * median(ordered), GRAINS * min(ticks, default=0.0))

    def inner(first: int, end: int) -> Tuple[float, float]:
        cut = int(_PART * (end - first))
        return ordered[first + cut], ordered[end - 1 - cut]

    best, place = 1.0, 0
    for i in range(math.ceil(_PART * n), n - math.ceil(_PART * n) + 1):
        lower, upper = inner(0, i), inner(i, n)
        gap = upper[0] - lower[1]
        width = max(lower[1] - lower[0], upper[1] - upper[0])
        if gap > least and gap > best * width:
            best, place = (gap / width, i) if width else (math.inf, i)
    parts = (ordered[:place], ordered[place:]) if place else ()
    return [Level(median(part), len(part) / n) for part in parts]


# ------------------------------------------------------------------ of a section


def tail_of(variant: Variant, key: str) -> Json:
    """Median, percentiles and levels of a variant that was timed; no p95 or p99 of too few."""
    times = variant.singles_s
    found: Json = {"variant": variant.name, "key": key, "n": len(times), "median": median(times)}
    for name, p in (("p95", 0.95), ("p99", 0.99)):
        at = percentile(times, p)
        if at:
            found.update({name: at.value, name + "_low": at.low, name + "_high": at.high})
    return dict(found, levels=[{"value": one.value, "share": one.share} for one in levels(times)])


def _timed(section: Section) -> List[Tuple[Case, Variant]]:
    return [(c, v) for c in section.group.cases.values() if c.valid for v in c.variants if v.singles_s]


def tails_of(section: Section) -> List[Json]:
    """The tail of each variant whose single operations were timed."""
    return [tail_of(variant, case.key) for case, variant in _timed(section)]


def _cell(tail: Json, name: str, p: float) -> str:
    if name not in tail:
        return "not enough samples: %d of %d" % (tail["n"], LEAST[p])
    held = in_brackets(tail[name + "_low"], tail[name + "_high"], tail[name], "s")
    return human(tail[name], "s") + (held or " (no upper end)")


def _levels_text(tail: Json) -> str:
    found = tail["levels"]
    return " and ".join("%s (%s)" % (human(one["value"], "s"), percent(one["share"])) for one in found)


def _named(tail: Json) -> str:
    return " ".join(t for t in (tail["variant"].replace("_", " "), tail["key"]) if t)


def figures(section: Section) -> List[Figure]:
    found = tails_of(section)
    rows = [
        {
            "one operation": _named(tail),
            "n": str(tail["n"]),
            "median": human(tail["median"], "s"),
            "p95": _cell(tail, "p95", 0.95),
            "p99": _cell(tail, "p99", 0.99),
            "levels": _levels_text(tail) or "one",
        }
        for tail in found
    ]
    caption = (
        "Single operations, each timed alone after the end of the one before, clock readings included; in "
        "brackets the 95 % interval."
    )
    drawn = [
        draw_histogram(variant.singles_s, _named(tail), [one["value"] for one in tail["levels"]], "s")
        for tail, (_, variant) in zip(found, _timed(section))
        if tail["levels"]
    ]
    text = "Single operations whose times have two levels. The last bar includes all slower ones."
    return table(rows, caption, 1, True) + ([Panels(drawn[:_NAMED], text)] if drawn else [])


def sentence_of(section: Section) -> str:
    """The operations that have two levels, for the section's sentence; empty if none has."""
    two = [tail for tail in tails_of(section) if tail["levels"]]
    if not two:
        return ""
    more = " and %s" % plural(len(two) - 1, "other operation") if len(two) > 1 else ""
    return " Two levels: a single %s takes %s%s." % (_named(two[0]), _levels_text(two[0]), more)
