# SPDX-License-Identifier: BSD-3-Clause
"""Cases of records.jsonl as the definitions read them, and statistics by docs/method/statistics.md.
Nothing here is shared with reports/ or with the programs."""

from __future__ import annotations

import json
import math
from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence

GRADES = ("noisy", "contended")  # flags that leave a value valid


class Summary(NamedTuple):
    """A value and its 95 % interval; `rounds`: of how many rounds it is the median, None where it is of
    none."""

    value: Optional[float]
    low: Optional[float] = None
    high: Optional[float] = None
    rounds: Optional[int] = None


def median(sorted_: Sequence[float]) -> float:
    middle = len(sorted_) // 2
    return sorted_[middle] if len(sorted_) % 2 else (sorted_[middle - 1] + sorted_[middle]) / 2


def quantile(sorted_: Sequence[float], p: float) -> float:
    """Between the two nearest order statistics: Hyndman and Fan's type 7."""
    at = (len(sorted_) - 1) * p
    below = min(int(at), len(sorted_) - 1)
    above = min(below + 1, len(sorted_) - 1)
    return sorted_[below] + (at - below) * (sorted_[above] - sorted_[below])


def low_rank(n: int) -> Optional[int]:
    """The largest l, from 0, for which the l-th smallest and l-th largest of n hold the median with 95 %, in
    whole numbers."""
    best, tail = None, 0
    for rank in range(n // 2):
        tail += math.comb(n, rank)
        if 20 * 2 * tail > 2**n:  # two tails over 5 %
            break
        best = rank
    return best


def summarise(values: Sequence[float]) -> Summary:
    ordered = sorted(values)
    if not ordered:
        return Summary(None)
    rank = low_rank(len(ordered))
    if rank is None:
        return Summary(median(ordered), rounds=len(ordered))
    return Summary(median(ordered), ordered[rank], ordered[-1 - rank], len(ordered))


def lag1(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    off = [v - mean for v in values]
    square = math.fsum(o * o for o in off)
    return math.fsum(a * b for a, b in zip(off, off[1:])) / square if len(values) >= 3 and square > 0 else 0.0


def drift(values: Sequence[float]) -> float:
    """Theil-Sen slope from the first to the last, over the median."""
    n = len(values)
    if n < 3:
        return 0.0
    slopes = sorted((values[j] - values[i]) / (j - i) for i in range(n) for j in range(i + 1, n))
    return median(slopes) * (n - 1) / median(sorted(values))


class Case:
    """A case that ran. `samples`: variant -> round -> seconds, as far as the record kept them."""

    def __init__(self, run: dict, record: dict) -> None:
        self.record, self.run = record, run
        self.program = record["program"].partition("@")[0]
        self.key, self.axes, self.facts = record["key"], record["case"], record["facts"]
        self.device = (run["device"] or [{}])[0]
        self.devices = len(run["device"])
        self.variants = {v["name"]: v for v in record["variants"]}
        self.samples = {name: dict(zip(v["round"], v["samples_s"])) for name, v in self.variants.items()}
        self.thinned = {name for name, v in self.variants.items() if v["n"] != len(v["samples_s"])}

    def model(self, variant: str, what: str) -> Optional[float]:
        return self.variants[variant]["model"].get(what) if variant in self.variants else None

    def median(self, variant: str) -> float:
        kept = self.samples.get(variant)
        return median(sorted(kept.values())) if kept else math.nan

    def best(self, variant: str) -> float:
        return min(self.samples[variant].values()) if self.samples.get(variant) else math.nan

    def derived(self, name: str, variant: Optional[str]) -> Optional[dict]:
        return next(
            (d for d in self.record["derived"] if d["name"] == name and d["variant"] == variant), None
        )

    def flagged(self, variant: Optional[str]) -> bool:
        """True if an invalidating flag concerns the variant, or (None) the whole case, and not one of its
        quantities alone."""
        flags = [f for f in self.record["validity"]["flags"] if f["flag"] not in GRADES]
        return any(f["variant"] == variant and f.get("quantity") is None for f in flags)

    def noise(self, variant: str, least: float = 0.02) -> float:
        """Distance of the median sample from the best one, relative."""
        return max(least, self.median(variant) / self.best(variant) - 1)

    def each_round(self, formula: Callable[[dict], float]) -> Summary:
        """Summary of the rounds with a finite result; a KeyError of the formula is a variant that did not
        run."""
        rounds: List[float] = []
        for number in sorted(set().union(*self.samples.values())):
            value = formula({name: kept[number] for name, kept in self.samples.items() if number in kept})
            if math.isfinite(value):
                rounds.append(value)
        return summarise(rounds)


def cases_of(lines: Sequence[str]) -> Iterator[Case]:
    runs: dict = {}
    for record in map(json.loads, filter(str.strip, lines)):
        if record["kind"] == "run":
            runs[record["run"], record["program"]] = record
        elif record["kind"] == "case" and record["status"] == "ok":
            yield Case(runs[record["run"], record["program"]], record)
