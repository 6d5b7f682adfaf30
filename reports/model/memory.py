# SPDX-License-Identifier: BSD-3-Clause
"""Keys of memory and its caches (device/sim/machine: traffic.c FLOWS, kernels.c LEVELS, cache.c CACHE).

A rate or latency of a level is the median over footprints that it alone serves: more than 4/3 of the levels
before it together and at most 3/4 of itself; memory from 4 last-level caches on. Between levels a real cache
serves a mix, of which no key can be read. The programs move so much a launch that its start is less than a
hundredth of it."""

from __future__ import annotations

import math
import statistics
from typing import Iterator, NamedTuple, Optional, Union

from reports.model.key import Key, Missing
from reports.model.measured import Measured
from reports.records.jsonl import is_number
from reports.records.quantity import size

Found = Iterator[Union[Key, Missing]]
MEMORY, LATENCY = "micro/memory", "micro/latency"
BELOW, ABOVE, BEYOND = 3 / 4, 4 / 3, 4
_MEMORY_FROM = "footprints of at least %d last-level caches" % BEYOND


class Level(NamedTuple):
    """What is measured of one level."""

    value: float  # byte/s, or s
    error: float  # relative: median distance from it
    source: str


class Levels(NamedTuple):
    """Bytes of the caches that the device reports or a cliff shows; 0: none, or not known."""

    units: int
    l1: float  # of a unit
    least_l1: float  # where shared memory has its part of it
    l2: float  # of l2_units units
    l2_units: int
    last: float

    def before_last(self, least: bool) -> float:
        """All caches before the last together."""
        of_l2 = self.units / self.l2_units * self.l2 if self.l2_units else 0.0
        return max(self.units * (self.least_l1 if least else self.l1), of_l2)


class Curves:
    """Values by footprint, and by operation."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured

    def rate(self, variant: str, low: float, high: float, *ops: str) -> Optional[Level]:
        name = MEMORY + "/bandwidth"
        points = [
            (x, v.value)
            for op in ops
            for x, v in self.measured.curve(name, "footprint", variant=variant, op=op)
            if low < x <= high
        ]
        return _level(points, "%s: %s, %s" % (name, variant, ", ".join(ops)))

    def latency(self, low: float, high: float) -> Optional[Level]:
        name = LATENCY + "/latency"
        points = [
            (x, v.value)
            for x, v in self.measured.curve(name, "footprint", variant="chase")
            if low < x <= high
        ]
        return _level(points, name)

    def headline(self, name: str) -> Optional[Level]:
        value = self.measured.one(name)
        return Level(value.value, value.error, name) if value and value.value > 0 else None


def _level(points: list[tuple[float, float]], source: str) -> Optional[Level]:
    values = [value for _, value in points if value > 0]
    if not values:
        return None
    middle = statistics.median(values)
    at = ", of %s" % _range([x for x, _ in points])
    return Level(middle, statistics.median(abs(v / middle - 1) for v in values), source + at)


def _range(sizes: list[float]) -> str:
    return " to ".join(dict.fromkeys((size(min(sizes)), size(max(sizes)))))


def _cliffs(measured: Measured, program: str, variant: str) -> list[tuple[float, float]]:
    """The last point before and the first after each cliff, of reads or loads."""
    cliffs = measured.results(program).get("cliffs")
    return [
        (float(c["low"]), float(c["high"]))
        for c in (cliffs if isinstance(cliffs, list) else [])
        if c.get("variant") == variant
        and c.get("where", {}).get("op", "read") == "read"
        and is_number(c.get("low"))
        and is_number(c.get("high"))
    ]


def _second_level(measured: Measured, l1: float, last: float, units: int) -> tuple[float, int]:
    """Bytes of an L2 and the units that share it. The driver tells a unit's part; how large the whole is, one
    unit's latency shows."""
    part = measured.attribute("l2_bytes") or 0.0
    if part and units == 1:
        return part, 1
    between = [c for c in _cliffs(measured, LATENCY, "chase") if l1 < c[0] and c[1] < last and c[0] >= part]
    if not part or not between:
        return 0.0, 0
    low, high = min(between)
    # The most units that the interval allows: caches have round sizes, which are measured themselves.
    counts = [n for n in range(1, units + 1) if low <= part * n * (1 + 1 / part) and part * n < high]
    whole = [n for n in counts if units % n == 0] or counts
    return (
        (low if abs(low - part * whole[0]) <= whole[0] else part * whole[0], whole[0]) if whole else (0.0, 0)
    )


def levels_of(measured: Measured) -> Levels:
    units = int(measured.attribute("units") or 1)
    l1, last = measured.attribute("l1_bytes") or 0.0, measured.attribute("llc_bytes") or 0.0
    if not last:
        last = max((low for low, _ in _cliffs(measured, MEMORY, "regular")), default=0.0)
    shared = measured.attribute("shared_per_unit_bytes") or 0.0
    least = max(0.0, l1 - shared) if _has_carveout(measured) else l1
    return Levels(units, l1, least, *_second_level(measured, l1, last, units), last)


def _has_carveout(measured: Measured) -> bool:
    return "carveout" in (measured.device.get("capabilities") or ())


def _key(name: str, level: Level, factor: float = 1.0) -> Key:
    return Key(name, level.value * factor, level.source, level.error)


# ------------------------------------------------------------------ memory and the last level


def memory_rate(curves: Curves, levels: Levels) -> Optional[Level]:
    """Reads, and writes that pass caches by: before an ordinary write a cache may read the line."""
    low = BEYOND * levels.last * (1 - 1e-9)
    found = [curves.rate("regular", low, math.inf, "read")]
    found.append(curves.rate("nontemporal", low, math.inf, "write", "copy", "triad"))
    rates = [f for f in found if f]
    if not rates:
        return curves.headline(MEMORY + "/memory_read_bandwidth")
    middle = statistics.median(f.value for f in rates)
    apart = max(abs(f.value / middle - 1) for f in rates)
    return Level(middle, max(apart, *(f.error for f in rates)), "; ".join(f.source for f in rates))


def last_rate(curves: Curves, levels: Levels) -> Optional[Level]:
    """Where a unit divides memory, with the smallest first-level cache."""
    high = BELOW * levels.last
    for variant, least in (("regular_min_l1", True), ("regular", False)):
        found = curves.rate(variant, ABOVE * levels.before_last(least), high, "read")
        if found:
            return found
    # All caches before the last one hold as much as that; but writes pass them.
    return curves.rate("regular", 0, high, "write") or curves.headline(MEMORY + "/llc_read_bandwidth")


def _largest(curves: Curves) -> Optional[Level]:
    points = curves.measured.curve(MEMORY + "/bandwidth", "footprint", variant="regular", op="read")
    if not points:
        return None
    x, value = points[-1]
    return Level(
        value.value,
        value.error,
        "at most: %s/bandwidth: read of %s, the largest that was measured, not beyond the cache"
        % (MEMORY, _range([x])),
    )


def _rates(curves: Curves, levels: Levels) -> Found:
    if levels.last:
        reported = curves.measured.attribute("llc_bytes") is not None
        yield Key(
            "llc_bytes",
            int(levels.last),
            "reported by the device" if reported else "%s/bandwidth: the last cliff" % MEMORY,
        )
    else:
        yield Missing(("llc_bytes",), "the device does not report it, and %s found no cliff" % MEMORY)
    memory, last = memory_rate(curves, levels) or _largest(curves), last_rate(curves, levels)
    for name, level, where in (
        ("memory_bandwidth", memory, _MEMORY_FROM),
        ("llc_bandwidth", last, "footprints that the last-level cache alone holds"),
    ):
        yield _key(name, level) if level else Missing((name,), "%s has no %s" % (MEMORY, where))


def _last_latencies(curves: Curves, levels: Levels) -> Found:
    memory = curves.latency(BEYOND * levels.last * (1 - 1e-9), math.inf)
    memory = memory or curves.headline(LATENCY + "/memory_latency")
    last = curves.latency(ABOVE * max(levels.l1, levels.l2), BELOW * levels.last)
    for name, level, where in (
        ("memory_latency_ns", memory, _MEMORY_FROM),
        ("llc_latency_ns", last, "footprints that the last-level cache alone holds"),
    ):
        yield _key(name, level, 1e9) if level else Missing((name,), "%s has no %s" % (LATENCY, where))


# ------------------------------------------------------------------ levels before the last


def _is_divided(curves: Curves, levels: Levels) -> Optional[bool]:
    """True where a launch that does not ask for cache finds less of it."""
    if not _has_carveout(curves.measured):
        return False
    name = LATENCY + "/latency"
    whole = dict(curves.measured.curve(name, "footprint", variant="chase"))
    ratios = [
        value.value / whole[x].value
        for x, value in curves.measured.curve(name, "footprint", variant="chase_min_l1")
        if x in whole and x <= levels.l1 and whole[x].value > 0
    ]
    return max(ratios) > ABOVE if len(ratios) > 1 else None


def _first_level(curves: Curves, levels: Levels) -> Found:
    """A model has all keys of a level or none."""
    names = ("l1_bytes", "l1_bandwidth", "l1_latency_ns", "l1_divided")
    rate = curves.rate("regular", 0, BELOW * levels.units * levels.l1, "read")
    rate = rate or curves.headline(MEMORY + "/l1_read_bandwidth")
    latency = curves.latency(0, BELOW * levels.l1) or curves.headline(LATENCY + "/load_latency_4k")
    divided = _is_divided(curves, levels)
    if not levels.l1:
        yield Missing(names, "the device reports none")
    elif not rate or not latency:
        which = "bandwidth (%s)" % MEMORY if not rate else "latency (%s)" % LATENCY
        yield Missing(names, "a model has all or none of them, and its %s was not measured" % which)
    else:
        yield Key("l1_bytes", int(levels.l1), "reported by the device")
        yield _key("l1_bandwidth", rate, 1 / levels.units)
        yield _key("l1_latency_ns", latency, 1e9)
        if divided is None:
            yield Missing(("l1_divided",), "%s has no curve of chase_min_l1" % LATENCY)
        else:
            yield Key("l1_divided", int(divided), "%s/latency: what chase_min_l1 finds" % LATENCY)


def _second_level_keys(curves: Curves, levels: Levels) -> Found:
    names = ("l2_bytes", "l2_units", "l2_latency_ns")
    latency = curves.latency(ABOVE * levels.l1, BELOW * levels.l2)
    if not curves.measured.attribute("l2_bytes"):
        yield Missing(names, "the device reports none")
    elif not levels.l2:
        yield Missing(names, "%s found no cliff of it, which tells how many units share it" % LATENCY)
    elif not latency:
        yield Missing(names, "%s has no footprint that it alone holds" % LATENCY)
    else:
        source = "reported by the device, and the cliff of %s/latency" % LATENCY
        yield Key("l2_bytes", int(levels.l2), source)
        yield Key("l2_units", levels.l2_units, source)
        yield _key("l2_latency_ns", latency, 1e9)


def keys(measured: Measured, _found: dict) -> Found:
    curves, levels = Curves(measured), levels_of(measured)
    yield from _rates(curves, levels)
    yield from _last_latencies(curves, levels)
    yield from _first_level(curves, levels)
    yield from _second_level_keys(curves, levels)
