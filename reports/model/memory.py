# SPDX-License-Identifier: BSD-3-Clause
"""Keys of memory and its caches (device/sim/machine: traffic.c FLOWS, kernels.c LEVELS, cache.c CACHE).

A level's rate and latency are from footprints that it alone serves: more than 4/3 of the levels before it
together and at most 3/4 of itself, memory from 4 last-level caches on. Between levels a real cache serves a
mix, of which no key can be read."""

from __future__ import annotations

import statistics
from typing import Iterator, NamedTuple, Optional

from reports.model.key import Key, Missing
from reports.model.line_fit import Line, Point, line, slope
from reports.model.measured import Measured, Value

MEMORY, LATENCY, COPY = "micro/memory", "micro/latency", "micro/copy_path"
_BELOW, _ABOVE, _BEYOND = 3 / 4, 4 / 3, 4
_ARRAYS = {"read": 1, "write": 1, "copy": 2, "triad": 3}
_NS = 1e9


class Caches(NamedTuple):
    """Bytes of all first- and second-level caches together, and of the last; 0: none, or not known."""

    first: float  # with the largest first-level cache
    first_least: float  # with the smallest
    second: float
    last: float


class Curve(NamedTuple):
    """One point of the curve over footprints."""

    footprint: float
    op: str
    point: Point


def _times(measured: Measured, program: str, rate: str, variant: str) -> list[tuple[Value, Optional[Value]]]:
    """Values of `rate` with the time of a launch of the same case, where the signature has it."""
    times = {v.name.partition("{")[2]: v for v in measured.all(program + "/time", variant=variant)}
    found = measured.all("%s/%s" % (program, rate), variant=variant)
    return [(v, times.get(v.name.partition("{")[2])) for v in found]


def _footprint(value: Value) -> float:
    word = value.where.get("footprint", "")
    return float(word) if word.isdecimal() else 0.0


def bandwidths(measured: Measured, variant: str) -> list[Curve]:
    """Bytes and seconds of launches; of one second where the signature has no times."""
    return [
        Curve(
            _footprint(v),
            v.where.get("op", ""),
            Point(v.value * t.value, t.value) if t else Point(v.value, 1.0),
        )
        for v, t in _times(measured, MEMORY, "bandwidth", variant)
        if v.value > 0 and _footprint(v) > 0
    ]


def latencies(measured: Measured, variant: str) -> list[Curve]:
    """Steps and seconds of launches; one step where the signature has no times."""
    return [
        Curve(_footprint(v), "", Point(t.value / v.value, t.value) if t else Point(1.0, v.value))
        for v, t in _times(measured, LATENCY, "latency", variant)
        if v.value > 0 and _footprint(v) > 0
    ]


def within(curve: list[Curve], low: float, high: float, *ops: str) -> list[Curve]:
    return [p for p in curve if low < p.footprint <= high and (not ops or p.op in ops)]


def _again(curve: list[Curve]) -> list[Point]:
    """What repetitions after the first read: the first fills the cache."""
    return [
        Point(p.point.amount - p.footprint, p.point.seconds)
        for p in curve
        if p.point.amount > 1.5 * p.footprint
    ]


def _points(curve: list[Curve]) -> list[Point]:
    return [p.point for p in curve]


def _of(found: Optional[Line]) -> str:
    return "" if not found or found.start == 0 else ", without %.2g us of a launch" % (found.start * 1e6)


# ------------------------------------------------------------------ memory and the last level


def memory_line(measured: Measured, last: float) -> Optional[Line]:
    """Seconds of a byte of own memory, and of a launch. Ordinary writes are left out: what a cache reads
    before them is not counted."""
    low = _BEYOND * last * (1 - 1e-9)
    points = _points(within(bandwidths(measured, "regular"), low, float("inf"), "read"))
    points += _points(
        within(bandwidths(measured, "nontemporal"), low, float("inf"), "write", "copy", "triad")
    )
    headline = measured.one(MEMORY + "/memory_read_bandwidth")
    if not points and headline and headline.value > 0:
        points = [Point(headline.value, 1.0)]
    return line(points)


def last_level_line(measured: Measured, caches: Caches, start: float) -> Optional[Line]:
    """With the smallest first-level cache, where a unit divides memory."""
    for variant, before in (("regular_min_l1", caches.first_least), ("regular", caches.first)):
        low = _ABOVE * max(before, caches.second)
        curve = bandwidths(measured, variant)
        found = within(curve, low, _BELOW * caches.last, "read")
        # Between levels so close to each other nothing is left; writes pass those before the last.
        found = found or within(curve, 0, _BELOW * caches.last, "write")
        if found:
            return slope(_points(found), start)
    headline = measured.one(MEMORY + "/llc_read_bandwidth")
    return slope([Point(headline.value, 1.0)]) if headline and headline.value > 0 else None


def _rate(name: str, found: Line, units: float, source: str) -> Key:
    return Key(name, 1 / found.slope / units, source + _of(found), found.error)


def _memory(measured: Measured, caches: Caches, start: Optional[Line]) -> Iterator[Key | Missing]:
    if start:
        yield _rate(
            "memory_bandwidth",
            start,
            1,
            "%s/bandwidth: reads and nontemporal writes, copies and triads of at least %d last-level caches"
            % (MEMORY, _BEYOND),
        )
    else:
        yield Missing(
            ("memory_bandwidth",),
            "no footprint of at least %d last-level caches was measured; %s measures it" % (_BEYOND, MEMORY),
        )
    last = last_level_line(measured, caches, start.start if start else 0.0) if caches.last else None
    if last:
        source = "%s/bandwidth: reads of less than the last-level cache and more than those before" % MEMORY
        yield _rate("llc_bandwidth", last, 1, source)
    else:
        yield Missing(("llc_bandwidth",), "no footprint that only the last-level cache holds was measured")


# ------------------------------------------------------------------ latencies


def latency_line(measured: Measured, low: float, high: float, start: float) -> Optional[Line]:
    found = within(latencies(measured, "chase"), low, high)
    return slope(_points(found), start if all(p.point.amount > 1 for p in found) else 0.0)


def _latency(name: str, measured: Measured, low: float, high: float, start: float) -> Key | Missing:
    found = latency_line(measured, low, high, start)
    if not found and name == "memory_latency_ns":
        headline = measured.one(LATENCY + "/memory_latency")
        found = slope([Point(1.0, headline.value)]) if headline and headline.value > 0 else None
    if not found:
        return Missing((name,), "%s has no footprint that this level alone serves" % LATENCY)
    return Key(name, found.slope * _NS, "%s/latency" % LATENCY + _of(found), found.error)


# ------------------------------------------------------------------ levels before the last


def _divided(measured: Measured, bytes_: float) -> Optional[bool]:
    """True where a launch that does not ask for cache finds less of it."""
    if "carveout" not in (measured.device.get("capabilities") or []):
        return False
    least = {p.footprint: p.point for p in latencies(measured, "chase_min_l1")}
    pairs = [
        least[p.footprint].seconds / least[p.footprint].amount / (p.point.seconds / p.point.amount)
        for p in latencies(measured, "chase")
        if p.footprint in least and p.footprint <= bytes_
    ]
    return max(pairs) > _ABOVE if pairs else None


def _first_level(measured: Measured, caches: Caches, bytes_: float, start: float) -> Iterator[Key | Missing]:
    units = measured.attribute("units") or 1
    read = within(bandwidths(measured, "regular"), 0, _BELOW * caches.first, "read")
    rate = slope(_again(read) or _points(read), start if _again(read) else 0.0)
    latency = _latency("l1_latency_ns", measured, 0, _BELOW * bytes_, start)
    divided = _divided(measured, bytes_)
    names = ("l1_bytes", "l1_bandwidth", "l1_latency_ns", "l1_divided")
    if not rate or isinstance(latency, Missing) or divided is None:
        without = [
            what
            for what, lacks in (
                ("its bandwidth (%s)" % MEMORY, not rate),
                ("its latency (%s)" % LATENCY, isinstance(latency, Missing)),
                ("its share of shared memory (%s, variant chase_min_l1)" % LATENCY, divided is None),
            )
            if lacks
        ]
        yield Missing(
            names, "a model has all or none of them, and %s was not measured" % " and ".join(without)
        )
        return
    yield Key("l1_bytes", int(bytes_), "reported by the device")
    yield _rate(
        "l1_bandwidth", rate, units, "%s/bandwidth: reads that the first level holds, a unit" % MEMORY
    )
    yield latency
    yield Key("l1_divided", int(divided), "%s/latency: whether chase_min_l1 finds less of it" % LATENCY)


def keys(measured: Measured, found: dict) -> Iterator[Key | Missing]:
    units = measured.attribute("units") or 1
    last = measured.attribute("llc_bytes") or 0.0
    first, second = measured.attribute("l1_bytes") or 0.0, measured.attribute("l2_bytes") or 0.0
    shared = measured.attribute("shared_per_unit_bytes") or 0.0
    least = max(0.0, first - shared) if "carveout" in (measured.device.get("capabilities") or []) else first
    caches = Caches(units * first, units * least, 0.0, last)
    start = memory_line(measured, last)
    yield from _memory(measured, caches, start)
    launch = start.start if start else 0.0
    yield _latency("memory_latency_ns", measured, _BEYOND * last * (1 - 1e-9), float("inf"), launch)
    yield _latency("llc_latency_ns", measured, _ABOVE * max(first, second), _BELOW * last, launch)
    if first:
        yield from _first_level(measured, caches, first, launch)
