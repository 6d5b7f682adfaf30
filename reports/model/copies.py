# SPDX-License-Identifier: BSD-3-Clause
"""Copies by engines: what one costs besides its bytes, how fast an engine is, and the link to the host.

The time of a copy behind others in its stream is a line over its size (device/sim/device/engine.c: COST), so
copy_ns is the line's time without bytes, and its rate the least of what a copy passes: engine, link, memory.
An engine's own rate shows where a kernel copies the same faster; elsewhere the fastest copy is what it can at
least, and no copy was limited by it.
"""

from __future__ import annotations

import statistics
from typing import Iterator, Optional

from reports.model.copy_lines import BANDWIDTH, HOME, Line, copy_line, line
from reports.model.key import Key, Missing
from reports.model.measured import Measured, Value
from reports.model.pairs import first_latency, fitted, fixed_ns, matrix, rate_of_bytes

FASTER = 1.03  # a kernel that is so much faster was not limited by the engine's limit
_MOST = 16  # copies of a batch
_KERNELS = ("kernel_nt", "kernel")


def _kernel_rate(measured: Measured, direction: str) -> float:
    """The rate of the largest size alone: smaller ones may come from caches."""
    rates = [0.0]
    for variant in _KERNELS:
        curve = measured.curve(BANDWIDTH, "size", variant=variant, direction=direction)
        rates += [v.value for _, v in curve[-1:]]
    return max(rates)


# ------------------------------------------------------------------ what a copy costs


def _copy_ns(lines: dict[str, Line]) -> Iterator[Key | Missing]:
    """The median of copies whose alpha has no latency of a peer."""
    own = [found for direction, found in lines.items() if direction in HOME and found.sizes > 1]
    if not own:
        why = "micro/copy_path has no copies by an engine of two sizes or more"
        yield Missing(("copy_ns",), why)
        return
    alphas = [found.alpha_ns for found in own]
    value = statistics.median(alphas)
    spread = (max(alphas) - min(alphas)) / 2 / value if value else 0.0
    error = max(spread, statistics.median(found.error for found in own))
    names = ", ".join(d for d in lines if d in HOME)
    source = "micro/copy_path engine: time without bytes, median of %s; %s" % (names, own[0].words())
    yield Key("copy_ns", value, source, error)


def _copies_of(size: float) -> int:
    """That micro/copy_command sends at once."""
    return max(2, min(_MOST, int((64 << 20) // size)))


def _commands(measured: Measured, variant: str, direction: str) -> dict[float, Value]:
    """Time of a copy by size, of those sizes of which 16 are sent at once."""
    curve = measured.curve("micro/copy_command/copy_time", "size", variant=variant, direction=direction)
    return {size: value for size, value in curve if _copies_of(size) == _MOST}


def _batch_ns(
    measured: Measured, direction: str, single: Line, longer_than_ns: float
) -> Optional[tuple[float, float]]:
    """The time of each further copy of a batch without its bytes, and how sure: all of the batch less one
    copy that is called and waited for alone, which has all that a batch has but its further copies."""
    each, batches = (_commands(measured, variant, direction) for variant in ("each", "batch"))
    points = [
        (size, (_MOST * batch.value - each[size].value) / (_MOST - 1) * 1e9, batch.error)
        for size, batch in batches.items()
        if size in each and single.ns(size) > longer_than_ns
    ]
    further = line(points)
    if further is None:
        return None
    if further.sizes == 1:
        size, ns, error = points[0]
        return max(0.0, ns - size / single.rate * 1e9), error
    return further.alpha_ns, further.error


def _batch_copy_ns(measured: Measured, lines: dict[str, Line], found: dict) -> Iterator[Key | Missing]:
    """Fitted to copies that end after the host has called to wait for them: a shorter one takes two calls."""
    trips = [v.value * 1e9 for d in lines for v in _commands(measured, "each", d).values()]
    call_ns = float(found.get("host_call_ns") or min(trips, default=0.0) / 2)
    every = {d: _batch_ns(measured, d, single, call_ns) for d, single in lines.items() if d in HOME}
    known = {direction: estimate for direction, estimate in every.items() if estimate}
    if not known:
        yield Missing(("batch_copy_ns",), "micro/copy_command has no batches here")
        return
    value = statistics.median(ns for ns, _ in known.values())
    error = statistics.median(error for _, error in known.values())
    source = "micro/copy_command %s: (all of a batch - one copy) / the others, without bytes"
    yield Key("batch_copy_ns", value, source % ", ".join(known), error)


# ------------------------------------------------------------------ rates


def _between_devices(measured: Measured) -> float:
    """The fastest pair by an engine; 0 where there is none."""
    size, rates = fitted(measured).get("size_byte"), matrix(measured, "engine", "bandwidth").values
    if not size or not rates:
        return 0.0
    fixed = fixed_ns(measured, "engine", first_latency(measured))
    return rate_of_bytes(statistics.median_high(rates.values()), float(size), fixed)


def _engine_bandwidth(measured: Measured, lines: dict[str, Line]) -> Iterator[Key | Missing]:
    pair = _between_devices(measured)
    most = max([found.rate for found in lines.values()], default=0.0)
    fastest = [direction for direction, found in lines.items() if FASTER * found.rate >= most]
    limited = [d for d in fastest if _kernel_rate(measured, d) >= FASTER * lines[d].rate]
    at_least = "at least: no copy was slower by an engine than by a kernel; "
    if pair > FASTER * most:
        error = matrix(measured, "engine", "bandwidth").error
        yield Key("engine_bandwidth", pair, at_least + "micro/peer_matrix engine", error)
    elif lines:
        found = lines[(limited or fastest)[0]]
        source = "micro/copy_path engine %s, %s" % ((limited or fastest)[0], found.words())
        yield Key("engine_bandwidth", found.rate, ("" if limited else at_least) + source, found.error)
    else:
        yield Missing(("engine_bandwidth",), "micro/copy_path has no copies by an engine")


def _link_of_nodes(measured: Measured, name: str, direction: str) -> Iterator[Key | Missing]:
    """The fastest copy between a device and a node of the host, with what it costs besides its bytes, for
    where micro/copy_path has none."""
    by_method = (measured.results("micro/peer_matrix").get("fitted") or {}).get("host") or {}
    rates = [
        float(rate)
        for method in ("engine", "kernel")
        for route, rate in by_method.get(method, {}).items()
        if route.startswith("numa") == (direction == "up")
    ]
    if rates:
        yield Key(name, max(rates), "at least: micro/peer_matrix, copies of one size %s" % direction)
    else:
        yield Missing((name,), "micro/copy_path has no copies %s" % direction)


def _link(measured: Measured, name: str, direction: str) -> Iterator[Key | Missing]:
    lines = [copy_line(measured, variant, direction) for variant in ("engine", *_KERNELS)]
    known = [found for found in lines if found]
    if not known:
        yield from _link_of_nodes(measured, name, direction)
        return
    best = max(known, key=lambda found: found.rate)
    by = ("engine", *_KERNELS)[lines.index(best)]
    yield Key(name, best.rate, "micro/copy_path %s %s, %s" % (by, direction, best.words()), best.error)


def keys(measured: Measured, found: dict) -> Iterator[Key | Missing]:
    every = {d: copy_line(measured, "engine", d) for d in (*HOME, "peer")}
    lines = {direction: own for direction, own in every.items() if own}
    yield from _copy_ns(lines)
    yield from _batch_copy_ns(measured, lines, found)
    yield from _engine_bandwidth(measured, lines)
    # Up of the program is to the device, which reads; up of the model is what the device writes.
    yield from _link(measured, "link_down_bandwidth", "up")
    yield from _link(measured, "link_up_bandwidth", "down")
    yield Missing(("link_latency_ns",), "no program chases pointers in the host's memory from a device")
