# SPDX-License-Identifier: BSD-3-Clause
"""Predictors of the fastest schedule, which tests/peers/advice_score.py compares. Each takes a scenario, of
whose times it knows only which schedules are possible, and names one of them, or none where it has no answer.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from pathlib import Path
from typing import Callable, NamedTuple, Optional, Sequence

from advice_scenarios import HOME, SUMS, Key, Scenario, Times, Work

from reports.advice.ask import ROWS, Adviser
from reports.advice.ask import Work as Asked
from reports.advice.grid import Grid, text, times_at, values_of

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


def _asked(work: Work) -> list[Asked]:
    return [
        Asked(op, kind, work.devices)
        for ops in (work.gathers, SUMS)
        for op in ops
        for kind in work.types_of(ops)
    ]


def advised(adviser: Adviser, work: Work) -> Rival:
    """./gpusig advise, all shapes of an operation at once."""
    known = {}
    for asked in _asked(work):
        shapes = list(dict.fromkeys(tuple(work.shape(asked.op, d)) for d in range(len(work.shapes))))
        known[asked.op, asked.type] = adviser.times(shapes, asked)

    def pick(s: Scenario) -> Optional[str]:
        times = known.get((s.key.op, s.key.type), {}).get(tuple(s.key.shape), {})
        own = {
            way.schedule: t
            for way, t in times.items()
            if (way.copy_method, way.cut) == (s.key.copy_method, ROWS)
        }
        return min(own, key=lambda name: own[name], default=None)

    return pick


class _Way(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("schedule", "copy_method", "cut")]


class _Table:
    """A table as advise/advise.h reads it."""

    def __init__(self, path: Path) -> None:
        self._lib = ctypes.CDLL(str(HOME / "bin" / "libgpusig_advise.so"))
        self._lib.advise_ways.restype = ctypes.POINTER(_Way)
        self._table = ctypes.c_void_p()
        if self._lib.advise_read(str(path).encode(), ctypes.byref(self._table)) != 0:
            raise ValueError(path)

    def fastest(self, key: Key, devices: int) -> Optional[str]:
        grid, count = ctypes.c_void_p(), ctypes.c_uint()
        names = key.op.encode(), key.type.encode(), devices
        if self._lib.advise_find(self._table, *names, ctypes.byref(grid)) != 0:
            return None
        ways = self._lib.advise_ways(grid, ctypes.byref(count))
        seconds = (ctypes.c_double * count.value)()
        if self._lib.advise_seconds(grid, *map(ctypes.c_double, key.shape), seconds) != 0:
            return None
        own = {
            ways[i].schedule.decode(): seconds[i]
            for i in range(count.value)
            if (ways[i].copy_method.decode(), ways[i].cut) == (key.copy_method, b"rows")
            and not math.isnan(seconds[i])
        }
        return min(own, key=lambda name: own[name], default=None)


def tabled(adviser: Adviser, work: Work, folder: Path) -> Rival:
    """A table for each layer, whose N and K are known: four points an octave of M."""
    folder.mkdir(exist_ok=True)
    m = values_of("%d:%d" % (min(s.m for s in work.shapes) // 2, max(s.m for s in work.shapes) * 2))
    tables: dict[tuple[int, int, str, str], _Table] = {}

    def made(key: Key) -> _Table:
        _, n, k = key.shape
        path = folder / f"{n}-{k}-{key.op}-{key.type}.advice"
        if not path.exists():
            asked = Asked(key.op, key.type, work.devices)
            grid = Grid(m, (n,), (k,))
            times = {asked: times_at(adviser, grid, asked)}
            path.write_text(text(adviser, grid, times), encoding="utf-8")
        return tables.setdefault((n, k, key.op, key.type), _Table(path))

    return lambda s: made(s.key).fastest(s.key, s.devices)


def simulated(times: dict[Key, Times]) -> Rival:
    """The fastest on a model."""

    def pick(s: Scenario) -> Optional[str]:
        own = {name: t.seconds for name, t in times.get(s.key, {}).items() if name in s.times}
        return min(own, key=lambda name: own[name]) if own else None

    return pick
