# SPDX-License-Identifier: BSD-3-Clause
"""Runs of machines whose truth is known, without files: metrics of any spread, an offset that all metrics of
a run share, and outliers."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Dict, List, Mapping, Optional, Sequence

from reports.judge.compare.comparison import compare
from reports.judge.compare.numbers import Number, RunNumbers
from reports.judge.compare.sides import Side
from reports.judge.compare.verdict import Settings
from reports.records.jsonl import Json

METRICS = 40


def name_of(metric: int) -> str:
    return "folder/program/metric_%d" % metric


class Machine:
    """Metric m has the value truth[m], in each run off by an offset of its own (`sigma`) and one of the run
    (`shared`)."""

    def __init__(
        self,
        seed: int,
        sigma: float = 0.01,
        shared: float = 0.01,
        metrics: int = METRICS,
        outliers: float = 0.0,
    ) -> None:
        self.draw = random.Random(seed)
        self.sigma, self.shared, self.outliers = sigma, shared, outliers
        self.truth = [math.exp(self.draw.uniform(-20, 28)) for _ in range(metrics)]
        self.count = 0

    def run(self, slower: Mapping[int, float] = {}, names: Optional[Sequence[str]] = None) -> RunNumbers:
        """`slower`: metric -> how many times as slow it is. Metrics with an odd number are times, the others
        rates."""
        self.count += 1
        offset = self.draw.gauss(0, self.shared)
        numbers: Dict[str, Number] = {}
        for metric, truth in enumerate(self.truth):
            factor = math.exp(offset + self.draw.gauss(0, self.sigma)) * slower.get(metric, 1.0)
            factor *= 3.0 if self.draw.random() < self.outliers else 1.0
            is_time = metric % 2 == 1
            numbers[names[metric] if names else name_of(metric)] = Number(
                truth * factor if is_time else truth / factor,
                "s" if is_time else "byte/s",
                "lower" if is_time else "higher",
            )
        return RunNumbers(
            "run-%d" % self.count, "test", numbers, "run %d of %r" % (self.count, self.truth[:1])
        )

    def runs(self, count: int, slower: Mapping[int, float] = {}) -> List[RunNumbers]:
        return [self.run(slower) for _ in range(count)]


def judged(
    before: Sequence[RunNumbers], after: Sequence[RunNumbers], settings: Settings = Settings()
) -> Json:
    return compare(Side("before", list(before)), Side("after", list(after)), settings)


def verdicts(comparison: Json) -> Dict[str, str]:
    return {row["name"]: row["verdict"] for row in comparison["metrics"]}


def with_number(run: RunNumbers, name: str, **changes: object) -> RunNumbers:
    return replace(run, numbers={**run.numbers, name: replace(run.numbers[name], **changes)})
