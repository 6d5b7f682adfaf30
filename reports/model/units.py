# SPDX-License-Identifier: BSD-3-Clause
"""Units as blocks find them, what the device can't do, and the share of memory of an engine's copy.

In the model a full memory gives each block the same, and the copy of an engine engine_weight times as much
(SHARING, device/sim/time/share.c). A kernel that fills the device has `blocks` = units / block_share blocks,
at most units * slots_per_unit. Concurrent with it an engine gets engine_weight / (engine_weight + blocks) of
memory, unless its own rate is less.
"""

from __future__ import annotations

import math
from statistics import median
from typing import Iterator, NamedTuple, Optional

from reports.model.key import Key, Missing
from reports.model.measured import Measured
from reports.model.waves import LOAD, Start, load_of, residents_of

# SIM_CAN_LACK of device/sim/model/reading.h without those that a key turns on.
_CAN_LACK = (
    "gemm",
    "gemm_tiled",
    "copy_engine",
    "priority",
    "wait_value",
    "peer",
    "occupancy",
    "clock_rate",
    "unit_mask",
    "copy_batch",
)
_EFFECT_BELOW = 0.8  # as in micro/priority.c
_SLOWED = 1.05  # an engine that loses less is slowed by chance
_EVENTS = 8  # DEPTH_EVENTS of micro/launch/depth.h
_LEAST_LOST = 0.005  # of a kernel's rate
_AS_MUCH = 0.3  # of a part of memory: by so much two measurements of it may differ
_NEAR = 0.02  # of a number of blocks that keep a unit busy
_GRAINS_ALIKE = 4  # times the least; more tell nothing
_GRANULARITIES = tuple(1 << i for i in range(17))


def _lacks(measured: Measured) -> Iterator[Key]:
    has = measured.device.get("capabilities") or []
    lacks = [name for name in _CAN_LACK if name not in has]
    if lacks:
        yield Key("lacks", " ".join(lacks), "reported by the device")


def _priorities(measured: Measured) -> Key | Missing:
    if "priority" not in (measured.device.get("capabilities") or []):
        return Key("priorities", 1, "reported by the device")
    ratios = measured.all("micro/priority/wait_ratio", variant="high")
    if not ratios:
        return Missing(("priorities",), "micro/priority measured no wait of a block of high priority")
    ratio = median(v.value for v in ratios)
    how = "micro/priority: a block of the highest priority waits %.3g times as long as an equal one" % ratio
    return Key("priorities", 3 if ratio < _EFFECT_BELOW else 1, how)


# ------------------------------------------------------------------ residents


def _granularity(measured: Measured) -> Key | Missing:
    """The claims of micro/occupancy are the largest of which so many blocks fit."""
    name, per_unit = "shared_granularity_bytes", measured.attribute("shared_per_unit_bytes")
    reported = measured.attribute(name)
    if reported:
        return Key(name, int(reported), "reported by the device")
    resident, most = residents_of(measured), measured.attribute("shared_per_block_bytes")
    reserved = int(measured.attribute("shared_reserved_bytes") or 0)
    slots = max(resident.values(), default=0)
    limited = [(c + reserved, r) for c, r in resident.items() if c and r < slots and c != most]
    fits = [g for g in _GRANULARITIES if per_unit and all(per_unit // r // g * g == c for c, r in limited)]
    if len(limited) < 2 or not fits:
        return Missing((name,), "micro/occupancy saw too few claims that limit residents, or none of a grain")
    how = "micro/occupancy: the largest claims of which so many blocks fit"
    if len(fits) == 1:
        return Key(name, fits[0], how)
    if fits[-1] > _GRAINS_ALIKE * fits[0]:
        why = "micro/occupancy: its claims fit grains of %d to %d bytes alike" % (fits[0], fits[-1])
        return Missing((name,), why)
    return Key(name, fits[0], "%s; up to %d fit as well" % (how, fits[-1]), fits[-1] / fits[0] - 1)


def _slots(measured: Measured) -> Iterator[Key]:
    resident = residents_of(measured).get(0)
    if measured.attribute("slots_per_unit") is None and resident:
        yield Key("slots_per_unit", resident, "micro/occupancy: blocks seen resident on a unit")


def _registers() -> Missing:
    names = ("registers_per_unit_bytes", "block_register_bytes")
    return Missing(names, "the device reports none of them, and they limited no program of the suite")


def _queue(measured: Measured) -> Key | Missing:
    call = measured.one("micro/launch/time", variant="enqueue")
    queued = measured.fact(call, "launches_queued_max") if call else 0.0
    if not queued:
        return Missing(("max_queued",), "micro/launch did not say how many launches a stream takes")
    how = "micro/launch: launches that a stream took before a call waited, and events behind them; no less"
    return Key("max_queued", int(queued) + _EVENTS, how)


def _counted(measured: Measured, enough: float) -> float:
    """The blocks that keep a unit busy. Programs count them in whole ones, as the device reports of all its
    units, so a hair more than a whole number would be one more."""
    whole = max(1.0, round(enough))
    if abs(enough - whole) > _NEAR * whole:
        return enough
    busy = (measured.attribute("busy_blocks") or 0) / (measured.attribute("units") or 1)
    return max(enough, whole * (1 + 1e-4)) if busy == whole + 1 else whole


def _block_share(measured: Measured, found: dict) -> Key | Missing:
    """From the load of micro/occupancy."""
    launch, block, event = (float(found.get(name) or 0.0) for name in ("launch_ns", "block_ns", "event_ns"))
    load = load_of(measured, Start(launch + block, event, block or None))
    if load is None:
        why = "micro/occupancy measured %s with too few numbers of resident blocks" % LOAD
        return Missing(("block_share",), why)
    how = "micro/occupancy: the rate of %s by resident blocks of a unit" % LOAD
    if load.fewest > 1 and load.enough <= load.fewest * (1 + _NEAR):
        why = "micro/occupancy: %d blocks use all of a unit, and fewer were not measured" % load.fewest
        return Missing(("block_share",), why)
    return Key("block_share", 1 / _counted(measured, load.enough), how, load.residual)


# ------------------------------------------------------------------ engines and kernels


def _busy_per_unit(measured: Measured, found: dict) -> Optional[float]:
    """Blocks of a kernel that fills the device, in the model."""
    slots, share = measured.attribute("slots_per_unit"), found.get("block_share")
    return min(slots, math.ceil(1 / float(share) - 1e-6)) if slots and share else None


def _losses(measured: Measured) -> tuple[list[float], list[float]]:
    """CIL of engine copies within the device with kernels that memory limits, and of those kernels."""
    engine, kernel = [], []
    for pair in ("engine+kernel", "memory+engine"):
        ours, theirs = ("x_with_y", "y_with_x") if pair.startswith("engine") else ("y_with_x", "x_with_y")
        engine += [v.value for v in measured.all("micro/contention/CIL", variant=ours, pair=pair)]
        kernel += [v.value for v in measured.all("micro/contention/CIL", variant=theirs, pair=pair)]
    return engine, kernel


class _Copy(NamedTuple):
    """An engine's copy within the device as micro/contention makes it, alone."""

    size: float
    seconds: float
    start: float  # of these before bytes move: a small copy's


def _copy(measured: Measured) -> Optional[_Copy]:
    copies = measured.curve("micro/copy_path/bandwidth", "size", variant="engine", direction="local")
    times = [(size, size / v.value) for size, v in copies if v.value > 0]
    # As in micro/contention/workload.c: the last-level cache, or a part of memory.
    size = min(measured.attribute("llc_bytes") or 64 << 20, (measured.attribute("memory_bytes") or 0) / 16)
    if len(times) < 2 or not times[0][0] < size <= times[-1][0]:
        return None
    (x0, t0), (x1, t1) = next((a, b) for a, b in zip(times, times[1:]) if b[0] >= size)
    return _Copy(size, t0 + (t1 - t0) * (size - x0) / (x1 - x0), times[0][1])


def _taken(measured: Measured, loss: float, lost: float) -> Optional[float]:
    """The part of memory that an engine's copy takes of a kernel while it moves bytes, of how many times as
    long the copy and the kernel take. None if the copy's rate is of another part."""
    copy, memory = _copy(measured), measured.one("micro/memory/memory_read_bandwidth")
    if copy is None:
        return 1 - 1 / lost
    # The first part of a copy isn't slowed, and slows nothing.
    moving = 1 - copy.start / (loss * copy.seconds)
    taken = (1 - 1 / lost) / moving
    rate = 2 * copy.size / (moving * loss * copy.seconds)  # it reads and writes
    same = memory is None or abs(rate / memory.value / taken - 1) <= _AS_MUCH
    return taken if same and taken < 1 else None


def _engine_weight(measured: Measured, found: dict) -> Key | Missing:
    name, per_unit = "engine_weight", _busy_per_unit(measured, found)
    engine, kernel = _losses(measured)
    if not engine or not kernel:
        why = "micro/contention measured no engine copy within the device concurrent with a kernel"
        return Missing((name,), why)
    if per_unit is None:
        return Missing((name,), "block_share, and so how many blocks an engine shares with, is not known")
    loss, lost = median(engine), median(kernel)
    if lost < 1 + _LEAST_LOST:
        return Missing((name,), "micro/contention: an engine's copy slows no kernel, so nothing is shared")
    taken = _taken(measured, loss, lost)
    if taken is None:
        why = "micro/contention: kernels lose another part of memory than an engine's copy takes"
        return Missing((name, "queue_wait_ns_per_kib"), why)
    units, slots = measured.attribute("units") or 0, measured.attribute("slots_per_unit") or 0
    if loss < _SLOWED:
        how = "micro/contention: kernels slow no engine; the least with which none in all slots would"
        return Key(name, units * slots * taken / (1 - taken), how)
    how = "micro/contention: what a kernel loses to an engine's copy that it slows"
    return Key(name, units * per_unit * taken / (1 - taken), how, abs(max(kernel) - min(kernel)) / (lost - 1))


def keys(measured: Measured, found: dict) -> Iterator[Key | Missing]:
    yield from _lacks(measured)
    yield _priorities(measured)
    yield from _slots(measured)
    yield _granularity(measured)
    yield _registers()
    yield _queue(measured)
    share = _block_share(measured, found)
    yield share
    if isinstance(share, Key):
        found = {**found, share.name: share.value}
    yield _engine_weight(measured, found)
