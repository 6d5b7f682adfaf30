# SPDX-License-Identifier: BSD-3-Clause
"""Measured rates and latencies of each level of memory.

A rate or latency of a level is the median over footprints that it alone serves: more than 4/3 of the levels
before it together and at most 3/4 of itself; memory from 4 last-level caches on. Between levels a real cache
serves a mix, of which no key can be read. The programs move so much a launch that its start is less than a
hundredth of it."""

from __future__ import annotations

import statistics
from typing import NamedTuple, Optional

from reports.model.measured import Measured
from reports.records.fits import LineFit, fit_line
from reports.records.jsonl import is_number
from reports.records.quantity import size

MEMORY, LATENCY, COPY = "micro/memory", "micro/latency", "micro/copy_path/bandwidth"
AT_LEAST = "at least: "  # begins the source of what something else limited, too
_MOST_UNITS = 1024  # of a model
BELOW, ABOVE, BEYOND = 3 / 4, 4 / 3, 4


class Level(NamedTuple):
    """One level, as it was measured."""

    value: float  # byte/s, or s
    error: float  # relative: median distance from it
    source: str


class Levels(NamedTuple):
    """Bytes of the caches that the device reports or a cliff shows; 0: none, or not known."""

    units: int
    l1: float  # of a unit
    least_l1: float  # where shared memory has its part of it
    part_of_l2: float  # a unit's
    l2: float  # of l2_units units
    l2_units: int
    last: float

    def before_last(self, least: bool) -> float:
        """All caches before the last together."""
        return self.units * max(self.least_l1 if least else self.l1, self.part_of_l2)


def copy_line(measured: Measured, variant: str) -> Optional[LineFit]:
    """Seconds of a local copy over its bytes: by one block the rate of a block, after a launch's start."""
    points = measured.curve(COPY, "size", direction="local", variant=variant)
    return fit_line([(size, size / v.value) for size, v in points if v.value > 0])


class Curves:
    """Values by footprint without `start`, the seconds in which a launch moves nothing yet, where the
    signature tells how much a launch does."""

    def __init__(self, measured: Measured, start: float = 0.0) -> None:
        self.measured, self.start = measured, start

    def rate(self, variant: str, low: float, high: float, *ops: str, again: bool = False) -> Optional[Level]:
        """`again`: the first pass fills the level that is meant, and does not count."""
        name = MEMORY + "/bandwidth"
        points = []
        for op in ops:
            for x, v in self.measured.curve(name, "footprint", variant=variant, op=op):
                passes = self.measured.fact(v, "passes")
                seconds = passes * x / v.value - self.start if v.value > 0 else 0.0
                if low < x <= high:
                    moved = (passes - 1 if again and passes > 1 else passes) * x
                    points.append((x, moved / seconds if seconds > 0 else v.value))
        return _level(points, "%s: %s, %s" % (name, variant, ", ".join(ops)))

    def latency(self, low: float, high: float) -> Optional[Level]:
        name = LATENCY + "/latency"
        points = []
        for x, v in self.measured.curve(name, "footprint", variant="chase"):
            steps = self.measured.fact(v, "steps")
            if low < x <= high:
                points.append((x, v.value - (self.start / steps if steps else 0.0)))
        return _level(points, name)

    def headline(self, name: str) -> Optional[Level]:
        value = self.measured.one(name)
        return Level(value.value, value.error, name) if value and value.value > 0 else None


def _level(points: list[tuple[float, float]], source: str) -> Optional[Level]:
    values = [value for _, value in points if value > 0]
    if not values:
        return None
    middle = statistics.median(values)
    at = ", of %s" % range_of([x for x, _ in points])
    return Level(middle, statistics.median(abs(v / middle - 1) for v in values), source + at)


def range_of(sizes: list[float]) -> str:
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


def _second_level(part: float, cliffs: list[tuple[float, float]], units: int) -> tuple[float, int]:
    """Bytes of an L2, and units that share it: a cliff of one unit's latency is behind all of its parts."""
    for low, high in [(part, part + 1)] if units == 1 else cliffs:
        counts = [
            n for n in range(1, min(units, _MOST_UNITS) + 1) if low < (part + 1) * n and part * n < high
        ]
        if part and counts:
            count = next((n for n in counts if units % n == 0), counts[0])
            return max(low, part * count), count
    return 0.0, 0


def levels_of(measured: Measured) -> Levels:
    units = int(measured.attribute("units") or 1)
    l1, last = measured.attribute("l1_bytes") or 0.0, measured.attribute("llc_bytes") or 0.0
    if not last:
        last = max((low for low, _ in _cliffs(measured, MEMORY, "regular")), default=0.0)
    shared = measured.attribute("shared_per_unit_bytes") or 0.0
    least = l1 if has_carveout(measured) is False else max(0.0, l1 - shared)
    part = measured.attribute("l2_bytes") or 0.0
    between = [c for c in _cliffs(measured, LATENCY, "chase") if max(l1, part) <= c[0] and l1 < c[0] < last]
    return Levels(units, l1, least, part, *_second_level(part, between, units), last)


def has_carveout(measured: Measured) -> Optional[bool]:
    """None where the signature does not have the device's capabilities."""
    capabilities = measured.device.get("capabilities")
    return "carveout" in capabilities if isinstance(capabilities, list) else None
