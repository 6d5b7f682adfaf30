# SPDX-License-Identifier: BSD-3-Clause
"""Costs of launches, blocks, events and calls of the host: the inverse of COST in device/sim/device/engine.c
and of TIME in device/sim/device/calls.h.

With H = host_call_ns, S = host_sync_ns, C = host_clock_ns, L = launch_ns, B = block_ns, E = event_ns,
V = value_ns, and n operations in a sample, micro/launch and micro/occupancy measure there

    enqueue            H + C / n
    sync_idle          H + S + C / n
    event_round_trip   2 H + S + C / n
    trigger            H + max(H, V) + S + C
    round_trip         H + max(H, L + B) + S + C / n
    back_to_back       L + B + E / n
    waves              L + 16 B + E / n
    behind_value       V + L + B + E / n
    idle_wait          L + B + E
    load               L + the sum over its waves of (B + the work of a wave) + E / n

On a real machine a launch, a record and a wait are calls of different costs. There H is that of a launch, and
S is what a launch and the wait for it take besides, because those are the calls that overlap is made of.
"""

from __future__ import annotations

from statistics import median
from typing import Iterator, NamedTuple, Optional

from reports.model.key import Key, Missing
from reports.model.measured import Measured, Value
from reports.model.waves import LOAD, Start, load_of

_NS = 1e9
_TIME = "micro/launch/time"
_RESOLVED = 0.25  # a difference that is known worse is none
_DIGITS = 3e-5  # how far three times that are written with six digits may be off together
_WAVES = 16  # of micro/launch: waves


class _Device(NamedTuple):
    """The time of a kernel of one block in a full queue, and that of a record, ns; 0 if it isn't known."""

    kernel: float
    error: float
    event: float
    event_error: float


def _ns(value: Value) -> float:
    return value.value * _NS


def _per_sample(value: Optional[Value]) -> float:
    """1 / n; 0 if n isn't known: what a sample has besides its operations is then taken for theirs."""
    return 1.0 / value.iterations if value and value.iterations else 0.0


def _missing(name: str, why: str) -> Missing:
    return Missing((name,), why)


# ------------------------------------------------------------------ on the device


def _device(measured: Measured) -> Optional[_Device]:
    again = measured.one(_TIME, variant="back_to_back")
    if again is None:
        return None
    waits = measured.all("micro/occupancy/time", variant="idle_wait")
    part, interval = _per_sample(again), _ns(again)
    if not waits or part >= 1:
        return _Device(interval, again.error, 0.0, 0.0)
    wait = median(_ns(v) for v in waits)
    event = max(0.0, (wait - interval) / (1 - part))
    off = wait * median(v.error for v in waits) + interval * again.error
    return _Device(interval - event * part, again.error, event, off / event if event else 0.0)


def _beyond(measured: Measured, device: _Device, variant: str, times: int) -> Optional[tuple[float, float]]:
    """The time of one of so many things that a variant has besides a kernel of one block, ns, and its
    relative error; None if it isn't told."""
    value = measured.one(_TIME, variant=variant)
    if value is None:
        return None
    more = _ns(value) - device.event * _per_sample(value) - device.kernel
    off = _ns(value) * value.error + device.kernel * device.error
    return (more / times, off / more) if more > 0 and off <= _RESOLVED * more else None


def _block(measured: Measured, device: _Device) -> Optional[Key]:
    more = _beyond(measured, device, "waves", _WAVES - 1)
    if more:
        return Key("block_ns", more[0], "micro/launch: waves, 15 of blocks behind the first", more[1])
    load = load_of(measured, Start(device.kernel, device.event))
    if load is None or load.block_error > _RESOLVED:
        return None
    how = "micro/occupancy: %s by residents of a unit, less the work of its waves" % LOAD
    return Key("block_ns", load.block_ns, how, load.block_error)


def _launch_and_block(measured: Measured, device: _Device) -> Iterator[Key | Missing]:
    both = "micro/launch: back_to_back, device time from kernel to kernel in a full queue"
    block = _block(measured, device)
    if block and float(block.value) < device.kernel:
        rest, off = device.kernel - float(block.value), float(block.value) * (block.error or 0.0)
        yield block
        yield Key("launch_ns", rest, both + ", less block_ns", (device.error * device.kernel + off) / rest)
        return
    yield Key("launch_ns", device.kernel, both + "; with the start of a block", device.error)
    yield Key("block_ns", 0, "in launch_ns: what was measured doesn't tell them apart")


def _events(device: _Device) -> Key | Missing:
    if device.event <= 0:
        why = "micro/occupancy: a kernel between records (idle_wait) took no longer than one in a full queue"
        return _missing("event_ns", why + ", or was not measured")
    how = "micro/occupancy: idle_wait, a record and a kernel, less that kernel"
    return Key("event_ns", device.event, how, device.event_error)


def _value(measured: Measured, device: _Device) -> Key | Missing:
    more = _beyond(measured, device, "behind_value", 1)
    if more is None:
        why = "micro/launch: behind_value was not measured, or doesn't tell a wait for a value from none"
        return _missing("value_ns", why)
    return Key("value_ns", more[0], "micro/launch: behind_value, less a kernel without a wait", more[1])


# ------------------------------------------------------------------ on the host


class _Host(NamedTuple):
    """Calls of the host, ns. `clock` is None where it isn't told from what else differs between calls."""

    call: float
    error: float
    clock: Optional[float]


def _host(measured: Measured, value_ns: float) -> Optional[_Host]:
    enqueue, sync, event, trigger = (
        measured.one(_TIME, variant=name) for name in ("enqueue", "sync_idle", "event_round_trip", "trigger")
    )
    if enqueue is None:
        return None
    plain = _Host(_ns(enqueue), enqueue.error, None)
    known = enqueue, sync, event
    if not trigger or not all(v and v.iterations for v in known) or event.iterations == 1:
        return plain
    hidden = max(0.0, value_ns - _ns(enqueue))
    clock = (_ns(trigger) - hidden - _ns(event)) / (1 - _per_sample(event))
    # If all calls cost the same, these three leave C of their samples' ends.
    left = _ns(enqueue) + _ns(sync) - _ns(event)
    left -= clock * (_per_sample(enqueue) + _per_sample(sync) - _per_sample(event))
    if clock < 1 or abs(left) > _DIGITS * _ns(event):
        return plain
    return plain._replace(call=_ns(enqueue) - clock * _per_sample(enqueue), clock=clock)


def _sync(measured: Measured, host: _Host, device: Optional[_Device]) -> Key | Missing:
    trip = measured.one(_TIME, variant="round_trip")
    if trip is None or device is None:
        return _missing("host_sync_ns", "micro/launch measured no round trip of a kernel, or no interval")
    clock = (host.clock or 0.0) * _per_sample(trip)
    waits = _ns(trip) - host.call - max(host.call, device.kernel) - clock
    if waits < 0:
        why = "a launch and the wait for it took less than the call and the kernel by themselves"
        return _missing("host_sync_ns", why)
    off = _ns(trip) * trip.error + host.call * host.error + device.kernel * device.error
    how = "micro/launch: round_trip, less its launch and its kernel"
    return Key("host_sync_ns", waits, how, off / waits if waits else None)


def _on_host(measured: Measured, device: Optional[_Device], value_ns: float) -> Iterator[Key | Missing]:
    host = _host(measured, value_ns)
    if host is None:
        names = ("host_call_ns", "host_sync_ns", "host_clock_ns")
        yield Missing(names, "micro/launch measured no enqueueing")
        return
    yield Key("host_call_ns", host.call, "micro/launch: enqueue, the call that launches a kernel", host.error)
    yield _sync(measured, host, device)
    if host.clock is not None:
        yield Key("host_clock_ns", host.clock, "micro/launch: trigger, less event_round_trip", 0.05)
    else:
        yield _missing("host_clock_ns", "reads of the clock are not told from other differences of calls")


def _clock_rate(measured: Measured) -> Key | Missing:
    rate = measured.signature.get("clock_hz")
    if not rate:
        return _missing("clock_hz", "the device's clock can't be read, or its rate is not in this signature")
    return Key("clock_hz", rate, "the device's clock after each case, median")


def keys(measured: Measured, _found: dict) -> Iterator[Key | Missing]:
    device, value_ns = _device(measured), 0.0
    if device is None:
        names = ("launch_ns", "block_ns", "event_ns", "value_ns")
        yield Missing(names, "micro/launch measured no kernels in a full queue")
    else:
        value = _value(measured, device)
        value_ns = float(value.value) if isinstance(value, Key) else 0.0
        yield from _launch_and_block(measured, device)
        yield _events(device)
        yield value
    yield from _on_host(measured, device, value_ns)
    yield _clock_rate(measured)
