# SPDX-License-Identifier: BSD-3-Clause
"""Keys of memory and its caches: rates and latencies (device/sim/machine: traffic.c FLOWS, kernels.c LEVELS).
Of which footprints they are: reports/model/levels.py."""

from __future__ import annotations

import math
import statistics
from typing import Iterator, Optional, Union

from reports.model.key import Key, Missing
from reports.model.levels import ABOVE, AT_LEAST, BELOW, BEYOND, COPY, LATENCY, MEMORY
from reports.model.levels import Curves, Level, Levels, copy_line, has_carveout, levels_of, range_of
from reports.model.measured import Measured
from reports.model.unit_rate import is_bound, unit_rate

Found = Iterator[Union[Key, Missing]]
_UNITS_LIMIT = 0.97  # of what all of them read
_NO_CACHE_UP_TO, _ALIKE = 16 << 20, 1.1
_MEMORY_FROM = "footprints of at least %d last-level caches" % BEYOND


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
    """Reads; where a unit divides memory, with the smallest first-level cache."""
    high = BELOW * levels.last
    for variant, least in (("regular_min_l1", True), ("regular", False)):
        found = curves.rate(variant, ABOVE * levels.before_last(least), high, "read")
        if found:
            return found
    # All caches before the last one together hold as much; but writes pass them.
    found = curves.rate("regular", 0, high, "write")
    read = levels.last > 2 * ABOVE * levels.before_last(True)  # the headline is of half of the last
    return found or (curves.headline(MEMORY + "/llc_read_bandwidth") if read else None)


def _copied(curves: Curves, levels: Levels) -> Optional[Level]:
    """The largest local copy that passes caches by, where no kernel read so much."""
    points = curves.measured.curve(COPY, "size", direction="local", variant="kernel_nt")
    if not points or 2 * points[-1][0] < BEYOND * levels.last:
        return None
    size, value = points[-1]
    seconds = size / value.value - curves.start if value.value > 0 else 0.0
    source = "%s: kernel_nt, of %s" % (COPY, range_of([size]))
    return Level(2 * size / seconds, value.error, source) if seconds > 0 else None


def _largest(curves: Curves) -> Optional[Level]:
    points = curves.measured.curve(MEMORY + "/bandwidth", "footprint", variant="regular", op="read")
    if not points:
        return None
    x, value = points[-1]
    return Level(
        value.value,
        value.error,
        "at most: %s/bandwidth: read of %s, the largest that was measured, not beyond the cache"
        % (MEMORY, range_of([x])),
    )


def _llc_bytes(curves: Curves, levels: Levels) -> Key | Missing:
    flat = curves.latency(0, math.inf)
    points = curves.measured.curve(LATENCY + "/latency", "footprint", variant="chase")
    if levels.last:
        reported = curves.measured.attribute("llc_bytes") is not None
        source = "reported by the device" if reported else "%s/bandwidth: the last cliff" % MEMORY
        return Key("llc_bytes", int(levels.last), source)
    values = [value.value for _, value in points]
    if flat and points[-1][0] >= _NO_CACHE_UP_TO and max(values) < _ALIKE * min(values):
        return Key("llc_bytes", 0, "no level in %s" % flat.source, flat.error)
    return Missing(("llc_bytes",), "the device does not report it, and %s found no cliff" % MEMORY)


def _rates(curves: Curves, levels: Levels, share: object) -> Found:
    memory = memory_rate(curves, levels) or _copied(curves, levels) or _largest(curves)
    last = last_rate(curves, levels) if levels.last else None
    if memory:
        yield _key("memory_bandwidth", memory)
    else:
        yield Missing(("memory_bandwidth",), "%s has no %s" % (MEMORY, _MEMORY_FROM))
    unit = unit_rate(curves, levels, last.value if last else 0.0, share)
    yield unit
    if not last:
        why = "%s has no footprints that it alone holds" % MEMORY if levels.last else "there is no cache"
        yield Missing(("llc_bandwidth",), why)
    elif (
        isinstance(unit, Key)
        and not is_bound(unit)
        and last.value > _UNITS_LIMIT * levels.units * float(unit.value)
    ):
        yield _key("llc_bandwidth", last._replace(source=AT_LEAST + "the units limit it: " + last.source))
    else:
        yield _key("llc_bandwidth", last)


def _last_latencies(curves: Curves, levels: Levels) -> Found:
    memory = curves.latency(BEYOND * levels.last * (1 - 1e-9), math.inf)
    memory = memory or curves.headline(LATENCY + "/memory_latency")
    # One unit uses no more than all that there are, if its part is not known.
    l2 = levels.l2 or levels.units * levels.part_of_l2
    last = curves.latency(ABOVE * max(levels.l1, l2), BELOW * levels.last)
    for name, level, where in (
        ("memory_latency_ns", memory, _MEMORY_FROM),
        ("llc_latency_ns", last, "footprints that the last-level cache alone holds"),
    ):
        yield _key(name, level, 1e9) if level else Missing((name,), "%s has no %s" % (LATENCY, where))


# ------------------------------------------------------------------ levels before the last


def _is_divided(curves: Curves, levels: Levels) -> Optional[bool]:
    """True where a launch that does not ask for cache finds less of it."""
    if has_carveout(curves.measured) is False:
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
    rate = curves.rate("regular", 0, BELOW * levels.units * levels.l1, "read", again=True)
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


def start_of(measured: Measured, found: dict) -> float:
    """Seconds in which a launch moves nothing yet."""
    block = copy_line(measured, "kernel_1")
    if block:
        return max(0.0, block.alpha_s)
    return (found.get("launch_ns", 0) + found.get("block_ns", 0)) / 1e9


def keys(measured: Measured, found: dict) -> Found:
    curves, levels = Curves(measured, start_of(measured, found)), levels_of(measured)
    yield _llc_bytes(curves, levels)
    yield from _rates(curves, levels, found.get("block_share"))
    yield from _last_latencies(curves, levels)
    yield from _first_level(curves, levels)
    yield from _second_level_keys(curves, levels)
