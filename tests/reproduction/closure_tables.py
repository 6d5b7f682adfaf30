# SPDX-License-Identifier: BSD-3-Clause
"""A machine and its model compared, for closure.py: headline numbers, values of programs that no fit reads, and
which of several ways to do the same work is the fastest."""

from __future__ import annotations

import fnmatch
import statistics
from typing import Iterator, NamedTuple, Optional

from closure_runs import Side, Value, unseen

BARS = {"builtin": 0.05, "forms": 0.05, "host": 0.10}
UNSEEN_BAR = 0.15
TIE = 0.02
KEY_BAR = 0.05
# Keys that change no time of a program that runs, or none of one that a GPU has.
_NO_TIME = (
    "data",
    "seed",
    "link ",
    "max_queued",
    "outlier_factor",
    "clock_hz",
    "host_memory_bytes",
    "numa_nodes",
)
# Values of the default model that most machines share.
DEFAULTS = {
    "engine_order": "ready_first",
    "memory_policy": "fair",
    "memory_threshold": 1,
    "memory_starvation": 0.02,
    "add_cost": 1,
    "gemm_read_share": 1,
    "priorities": 3,
    "llc_writes": "back",
    "engine_cache": "bypass",
    "event_ns": 100,
    "value_ns": 200,
    "batch_copy_ns": 500,
    "host_clock_ns": 20,
    "link_latency_ns": 1000,
}
# Variants that do the same work, by program; what is timed besides is a part of it.
_WHOLE = {
    "overlap/pair": ("serial", "gemm_first", "transfer_first"),
    "overlap/ficco": ("*",),
    "overlap/trigger": (
        "whole_then_send",
        "whole_tiled_then_send",
        "split",
        "triggered",
        "triggered_staggered",
    )
    + ("remote_store",),
    "overlap/shaping": ("serial", "overlap", "priority", "shaped", "shaped_priority"),
    "overlap/collective": ("engine", "kernel", "library"),
    "overlap/units": ("serial", "concurrent", "reserved"),
    "overlap/out_of_core": ("serial", "pipelined"),
    "collectives/device_*": ("*",),
}


class Row(NamedTuple):
    """One headline number of both."""

    name: str
    program: str
    unit: str
    before: Value
    after: Optional[float]  # None: the model has none, and `why` says why
    why: str = ""

    @property
    def off(self) -> float:
        """Relative; of 0 it is 0 or infinite."""
        if self.after == self.before.value:
            return 0.0
        return self.after / self.before.value - 1 if self.before.value else float("inf")

    def within(self, bar: float) -> bool:
        return self.after is not None and abs(self.off) <= bar

    def in_interval(self) -> bool:
        """The machine's own runs may differ by as much."""
        return self.after is not None and self.before.holds(self.after)


class Choice(NamedTuple):
    """One case: the fastest way on the machine, and the one that the model says is."""

    program: str
    case: str
    fastest: str
    chosen: str
    loss: float  # the chosen way's time on the machine / that of the fastest - 1
    tie: bool  # the two ways' intervals there overlap

    @property
    def good(self) -> bool:
        return self.loss <= TIE or self.tie


def rows(before: Side, after: Side) -> list[Row]:
    found = []
    for name, own in sorted(before.headlines.items()):
        of_case = after.values.get(own.where) if own.where else None
        named = after.headlines.get(name)
        value = of_case or (named.value if named else None)
        why = "" if value else after.missing.get(name, "the model's run does not have it")
        found.append(Row(name, own.program, own.unit, own.value, value.value if value else None, why))
    return found


def times(before: Side, after: Side) -> dict[str, list[float]]:
    """Errors of the times of all cases that both have, by program that no fit reads."""
    found: dict[str, list[float]] = {}
    for where, value in before.values.items():
        other = after.values.get(where)
        if unseen(where[0]) and where[3] == "time" and other and value.value:
            found.setdefault(where[0], []).append(other.value / value.value - 1)
    return found


def _does_the_whole(program: str, variant: str) -> bool:
    patterns = (own for name, own in _WHOLE.items() if fnmatch.fnmatchcase(program, name))
    return any(fnmatch.fnmatchcase(variant, pattern) for own in patterns for pattern in own)


def choices(before: Side, after: Side) -> list[Choice]:
    """Choices of every case with two ways or more that both sides have."""
    cases: dict[tuple[str, str], dict[str, tuple[Value, float]]] = {}
    for where, value in before.values.items():
        program, case, variant, quantity = where
        if quantity == "time" and where in after.values and _does_the_whole(program, variant):
            cases.setdefault((program, case), {})[variant] = (value, after.values[where].value)
    found = []
    for (program, case), ways in cases.items():
        if len(ways) < 2:
            continue
        fastest = min(ways, key=lambda way: ways[way][0].value)
        chosen = min(ways, key=lambda way: ways[way][1])
        best, own = ways[fastest][0], ways[chosen][0]
        found.append(Choice(program, case, fastest, chosen, own.value / best.value - 1, own.low <= best.high))
    return found


def median(errors: list[float]) -> Optional[float]:
    return statistics.median(map(abs, errors)) if errors else None


def percent(value: Optional[float]) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if abs(value) < 10 else f"{value + 1:.3g} times"


def signed(value: float) -> str:
    return f"{100 * value:+.1f} %" if abs(value) < 10 else f"{value + 1:.3g} times"


def keys(truth: dict, model: str) -> Iterator[tuple[str, object, Optional[str]]]:
    """Keys of a simulated machine that matter: the name, the value, and that of the fitted model, None where that
    has none of its own."""
    fitted = {}
    for line in model.splitlines():
        name, sign, value = line.partition("#")[0].partition("=")
        if sign:
            fitted[name.strip()] = value.strip()
    for name, value in truth.items():
        if name in fitted or (value != DEFAULTS.get(name, 0) and not name.startswith(_NO_TIME)):
            yield name, value, fitted.get(name)


def same_key(truth: object, fitted: Optional[str]) -> bool:
    try:
        return fitted is not None and abs(float(fitted) - float(truth)) <= KEY_BAR * abs(float(truth))
    except (TypeError, ValueError):
        return fitted == truth


def misses(found: list[Row], bar: float) -> Iterator[Row]:
    return (row for row in found if not row.within(bar))


def one_line(pair) -> str:
    """For who waits."""
    if pair.after is None:
        return f"{pair.machine.name}: no model: {pair.why}"
    found, chosen = rows(pair.before, pair.after), choices(pair.before, pair.after)
    all_times = [error for own in times(pair.before, pair.after).values() for error in own]
    return (
        f"{pair.machine.name}: {sum(r.within(0.05) for r in found)} of {len(found)} within 5 %, times of unseen "
        f"programs {percent(median(all_times))}, {sum(c.good for c in chosen)} of {len(chosen)} winners"
    )
