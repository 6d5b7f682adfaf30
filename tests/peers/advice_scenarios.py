# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios for predictors of schedules: shapes drawn from a seed, and how long overlap/ficco takes for each
schedule of them, on the machine itself or on a model of it.

On a simulated machine times are virtual and, without jitter, exact: one sample after a warm-up is the time.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(HOME), str(HOME / "tests" / "reproduction")]

from program_runs import run

from reports.records.record_file import read
from reports.signature.sections.ficco import valid_schedules

GATHERS = ("ag-gemm", "a2a-gemm", "a2a-gemm-uneven")
SUMS = ("gemm-rs", "gemm-ar")
EXACT = ("--min-samples", "1", "--max-samples", "1", "--warm-up", "1")
GOOD_LOSS = 0.02
_DIGITS = 6  # in which times are equal


class Size(NamedTuple):
    """Limits of GEMMs: least and most of each side, what all sides are multiples of, and million flops."""

    m: tuple[int, int]
    n: tuple[int, int]
    k: tuple[int, int]
    step: int
    mflop: tuple[float, float]


GPU = Size((512, 16384), (256, 8192), (256, 8192), 256, (1, 1e9))
HOST = Size((256, 4096), (32, 1024), (64, 4096), 32, (20, 600))


class Shape(NamedTuple):
    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


class Time(NamedTuple):
    seconds: float
    low: float  # 95 % interval of the median; of exact times the time itself
    high: float


Times = dict[str, Time]  # by variant of overlap/ficco


class Key(NamedTuple):
    op: str
    type: str
    copy_method: str
    shape: Shape


@dataclass
class Scenario:
    """`times`: of the possible schedules on the machine itself. `draw`: which drawn shape; the scenarios of
    one are alike. `picks`: the schedule that each rival chooses."""

    machine: str
    devices: int
    key: Key
    draw: int
    sharded: bool
    times: Times
    picks: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        return min(self.times, key=lambda name: self.times[name].seconds)

    def loss(self, schedule: str) -> float:
        """Share of the time of the fastest that this schedule loses."""
        return self.times[schedule].seconds / self.times[self.best].seconds - 1

    def is_hit(self, schedule: str) -> bool:
        return self.times[schedule].low <= self.times[self.best].high

    def is_good(self, schedule: str) -> bool:
        return self.is_hit(schedule) or self.loss(schedule) <= GOOD_LOSS

    @property
    def decided(self) -> bool:
        """Not any choice is good."""
        return not all(map(self.is_good, self.times))


def drawn(count: int, seed: int, size: Size) -> list[Shape]:
    """Sides are log-uniform."""
    draw, found = random.Random(seed), []
    while len(found) < count:
        shape = Shape(
            *(
                size.step * round(math.exp(draw.uniform(math.log(low), math.log(high))) / size.step)
                for low, high in (size.m, size.n, size.k)
            )
        )
        if min(shape) > 0 and size.mflop[0] <= 2e-6 * math.prod(shape) <= size.mflop[1]:
            found.append(shape)
    return found


def divided(shape: Shape, op: str, devices: int) -> Shape:
    """With weights divided among the devices: columns of B, and of a GEMM before a sum, its rows."""
    return shape._replace(k=shape.k // devices) if op in SUMS else shape._replace(n=shape.n // devices)


class Work(NamedTuple):
    """Questions about a machine: every other drawn shape has divided weights."""

    shapes: list[Shape]
    devices: int
    types: tuple[str, ...]
    gathers: tuple[str, ...] = GATHERS

    def shape(self, op: str, draw: int) -> Shape:
        return divided(self.shapes[draw], op, self.devices) if draw % 2 else self.shapes[draw]

    def types_of(self, ops: tuple[str, ...]) -> tuple[str, ...]:
        """The kernel that adds has one."""
        return ("f32",) if ops == SUMS else self.types

    def cases(self, ops: tuple[str, ...]) -> int:
        return 2 * len(ops) * len(self.types_of(ops)) * len(self.shapes)

    def options(self, ops: tuple[str, ...]) -> list[str]:
        shapes = dict.fromkeys(str(self.shape(ops[0], draw)) for draw in range(len(self.shapes)))
        words = ["--op", ",".join(ops), "--type", ",".join(self.types_of(ops)), "--shape", ",".join(shapes)]
        return [*words, "--copy-method", "engine,kernel"]


class Measured(NamedTuple):
    times: dict[Key, Times]
    cpu_s: float


def _time(variant, exact: bool) -> Time:
    if exact or variant.ci_low_s is None or variant.ci_high_s is None:
        return Time(variant.median_s, variant.median_s, variant.median_s)
    return Time(variant.median_s, variant.ci_low_s, variant.ci_high_s)


def measured(
    path: Path, device: str, work: Work, ops: tuple[str, ...], seed: int, each_s: float | None
) -> Measured:
    """All schedules of the work by overlap/ficco, and their parts, of so many seconds a scenario; None:
    exact. What the file holds is not run again."""
    cpu_s, exact = 0.0, each_s is None
    if not path.exists():
        budget = ("--budget", f"{each_s * work.cases(ops):g}s") if each_s else EXACT
        words = ["--device", device, *work.options(ops), *budget, "--seed", str(seed)]
        unfinished = path.with_suffix("") / path.name  # next to others' that run meanwhile
        cpu_s = run(unfinished, "overlap/ficco", words).cpu_s or 0.0
        unfinished.rename(path)
        unfinished.parent.rmdir()
    found = {}
    for case in read(path).cases():
        if case.status != "ok":
            continue
        axes, facts = case.axes, case.facts
        shape = Shape(*(int(facts[side]) for side in "mnk"))
        key = Key(str(axes["op"]), str(axes["type"]), str(axes["copy-method"]), shape)
        names = [v.name for v in case.variants]
        found[key] = {n: _time(v, exact) for n, v in valid_schedules(case, names).items()}
    return Measured(found, cpu_s)


def scenarios_of(name: str, work: Work, times: dict[Key, Times], schedules: list[str]) -> list[Scenario]:
    """Independent ones: those of a draw whose times are equal are one, such as an all-gather and an
    all-to-all that move the same bytes at the same time."""
    found: list[Scenario] = []
    for draw in range(len(work.shapes)):
        seen = set()
        for key, variants in times.items():
            own = {s: variants[s] for s in schedules if s in variants}
            same = tuple(f"{t.seconds:.{_DIGITS}g}" for t in own.values())
            comparable = len(own) > 1 and schedules[0] in own  # others fall back on that
            if key.shape != work.shape(key.op, draw) or not comparable or same in seen:
                continue
            seen.add(same)
            found.append(Scenario(name, work.devices, key, draw, draw % 2 == 1, own))
    return found
