# SPDX-License-Identifier: BSD-3-Clause
"""Predictors of the fastest schedule, which tests/peers/advice_score.py compares. Each takes a scenario, of
whose times it knows only which schedules are possible, and names one of them, or none where it has no answer.
"""

from __future__ import annotations

import itertools
import math
from typing import Callable, NamedTuple, Optional, Sequence

from advice_scenarios import Key, Scenario, Times

from reports.advice.library import Adviser
from reports.advice.machine import machine_of
from reports.records.jsonl import Json

Rival = Callable[[Scenario], Optional[str]]
SERIAL = "serial"
FINER = ["uniform-fused-1d", "hetero-fused-1d", "hetero-unfused-1d", "uniform-fused-2d"]
SCHEDULES = [SERIAL, "shard", *FINER]
_BYTES = {"f32": 4, "bf16": 2}


def always(schedule: str) -> Rival:
    """Serial where the schedule is impossible."""
    return lambda s: schedule if schedule in s.times else SERIAL


class Rule(NamedTuple):
    """FiCCO's static heuristic (arXiv 2512.10236) chooses among its four schedules by the op-to-byte ratio of
    the GEMM, its traffic, and M against K. The paper's thresholds are not public to us: these are ours."""

    k_over_m: float  # from here on the columns are cut
    low_ratio: float  # up to here, in flop/byte, or to `low_traffic` elements: the largest pieces
    low_traffic: float
    high_ratio: float  # from here on and from `high_traffic` elements on: the smallest pieces
    high_traffic: float

    def pick(self, s: Scenario) -> str:
        m, n, k = s.key.shape
        traffic = m * k + k * n + m * n
        ratio = 2 * m * n * k / (_BYTES[s.key.type] * traffic)
        if k >= self.k_over_m * m and "uniform-fused-2d" in s.times:
            found = "uniform-fused-2d"
        elif ratio <= self.low_ratio or traffic <= self.low_traffic:
            found = "uniform-fused-1d"
        elif ratio >= self.high_ratio and traffic >= self.high_traffic:
            found = "hetero-unfused-1d"
        else:
            found = "hetero-fused-1d"
        return found if found in s.times else SERIAL


def fitted_rule(scenarios: Sequence[Scenario]) -> Rule:
    """The thresholds that are good most often in these, and of several those that lose least, by the mean of
    the logarithms of time over the fastest."""
    ratios, traffics = (0.0, 100.0, 300.0, 1000.0, 3000.0), (0.0, 1e6, 1e7, 5e7)
    grid = itertools.product(
        (0.03, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 1e9),
        ratios,
        traffics,
        (300.0, 1000.0, 3000.0, 1e9),
        (0.0, 1e7, 5e7, 2e8),
    )
    known = [(s, {name: (-s.is_good(name), math.log1p(s.loss(name))) for name in s.times}) for s in scenarios]

    def lost(rule: Rule) -> tuple[int, float]:
        found = [verdicts[rule.pick(s)] for s, verdicts in known]
        return sum(bad for bad, _ in found), math.fsum(loss for _, loss in found)

    return min(itertools.starmap(Rule, grid), key=lost)


def adviser(signature: Json, blocks: Optional[int]) -> Rival:
    """./gpusig advise. To it an uneven all-to-all is an even one: it does not know the sizes."""
    library = {
        method: Adviser(machine_of(signature, blocks if method == "kernel" else None))
        for method in ("engine", "kernel")
    }

    def pick(s: Scenario) -> Optional[str]:
        key = s.key
        op = key.op[: -len("-uneven")] if key.op.endswith("-uneven") else key.op
        try:
            advice = library[key.copy_method].ask(*key.shape, s.devices, op, key.type, key.copy_method)
        except ValueError:
            return None
        return next((c["schedule"] for c in advice["candidates"] if c["schedule"] in s.times), None)

    return pick


def simulated(times: dict[Key, Times]) -> Rival:
    """The fastest on a model."""

    def pick(s: Scenario) -> Optional[str]:
        own = {name: t.seconds for name, t in times.get(s.key, {}).items() if name in s.times}
        return min(own, key=lambda name: own[name]) if own else None

    return pick
