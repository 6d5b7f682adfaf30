# SPDX-License-Identifier: BSD-3-Clause
"""What launches, blocks, events and calls of the host cost: the inverse of COST in device/sim/device/engine.c
and of TIME in device/sim/device/calls.h.

With H = host_call_ns, S = host_sync_ns, C = host_clock_ns, L = launch_ns, B = block_ns, E = event_ns,
V = value_ns, and n operations in a sample, micro/launch and micro/occupancy measure there

    enqueue            H + C / n
    sync_idle          H + S + C / n
    event_round_trip   2 H + S + C / n
    trigger            H + max(H, V) + S + C
    round_trip         H + max(H, L + B) + S + C / n
    back_to_back       L + B + E / n
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
from reports.model.waves import LOAD, load_of

_NS = 1e9
_MOST_NS = 1e12  # that a model accepts
_LAUNCH, _TIME = "micro/launch", "micro/launch/time"
_SAME = 0.02  # calls that cost the same differ by less
_ENDS = 0.01  # of a clock's reading, at least, in a difference that tells what it takes
_RESOLVED = 0.25  # a block's cost that is known worse is none


class _Device(NamedTuple):
    """Of a kernel in a full queue, and of a record between two kernels, ns."""

    kernel: float
    error: float
    event: Optional[float]
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
        return _Device(interval, again.error, None, 0.0)
    wait = median(_ns(v) for v in waits)
    event = (wait - interval) / (1 - part)
    kernel = interval - max(event, 0.0) * part
    off = wait * median(v.error for v in waits) + interval * again.error
    return _Device(kernel, again.error, event, off / event if event > 0 else 0.0)


def _launch_and_block(measured: Measured, device: _Device) -> Iterator[Key | Missing]:
    both = "device time from kernel to kernel in a full queue, micro/launch: back_to_back"
    load = load_of(measured, device.kernel, device.event or 0.0)
    if load and 0 <= load.block_ns < device.kernel and load.block_error <= _RESOLVED:
        block = load.block_ns
        of_load = "micro/occupancy: %s by residents of a unit, less the work of its waves" % LOAD
        yield Key("block_ns", block, of_load, load.block_error)
        off = device.error * device.kernel + load.block_error * block
        yield Key("launch_ns", device.kernel - block, both + ", less block_ns", off / (device.kernel - block))
        return
    yield Key("launch_ns", device.kernel, both + "; with the start of a block", device.error)
    yield Key("block_ns", 0, "in launch_ns: what micro/occupancy measured doesn't tell them apart")


def _events(device: _Device) -> Key | Missing:
    if device.event is None:
        why = "micro/occupancy measured no wait of a block on an idle device, which has a record before it"
        return _missing("event_ns", why)
    if device.event <= 0:
        return _missing("event_ns", "a kernel behind a record took no longer than one in a full queue")
    how = "micro/occupancy: idle_wait, which has a record and a kernel, less that of a kernel"
    return Key("event_ns", device.event, how, device.event_error)


# ------------------------------------------------------------------ on the host


class _Host(NamedTuple):
    """Calls of the host, ns. `clock` is None where it isn't told from what else differs between calls."""

    call: float
    error: float
    clock: Optional[float]
    value: Optional[float]


def _host(measured: Measured) -> Optional[_Host]:
    enqueue, sync, event, trigger = (
        measured.one(_TIME, variant=name) for name in ("enqueue", "sync_idle", "event_round_trip", "trigger")
    )
    if enqueue is None:
        return None
    plain = _Host(_ns(enqueue), enqueue.error, None, None)
    if not (sync and event and trigger) or not all(v.iterations for v in (enqueue, sync, event)):
        return plain
    # Where all calls cost the same, what these three leave is C of their samples' ends.
    ends = _per_sample(enqueue) + _per_sample(sync) - _per_sample(event)
    left = _ns(enqueue) + _ns(sync) - _ns(event)
    clock = (_ns(trigger) - _ns(event)) / (1 - _per_sample(event)) if event.iterations != 1 else 0.0
    if clock >= 1 and abs(left - clock * ends) <= _digits(event):
        return _Host(_ns(enqueue) - clock * _per_sample(enqueue), enqueue.error, clock, None)
    clock = left / ends if ends > _ENDS else 0.0
    if clock < 1 or abs(left) > _SAME * _ns(enqueue):
        return plain
    call = _ns(enqueue) - clock * _per_sample(enqueue)
    value = call + _ns(trigger) - _ns(event) - clock * (1 - _per_sample(event))
    return _Host(call, enqueue.error, clock, value if value > call else None)


def _digits(value: Value) -> float:
    """How far three times that are like this one and written with six digits may be off together."""
    return 3e-5 * _ns(value)


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


def _on_host(measured: Measured, device: Optional[_Device]) -> Iterator[Key | Missing]:
    host = _host(measured)
    if host is None:
        names = ("host_call_ns", "host_sync_ns", "host_clock_ns", "value_ns")
        yield Missing(names, "micro/launch measured no enqueueing")
        return
    yield Key("host_call_ns", host.call, "micro/launch: enqueue, the call that launches a kernel", host.error)
    yield _sync(measured, host, device)
    if host.clock is not None:
        yield Key(
            "host_clock_ns", host.clock, "micro/launch: what trigger takes beyond event_round_trip", 0.01
        )
    else:
        yield _missing(
            "host_clock_ns", "reads of the clock are not told from what else differs between calls"
        )
    if host.value is not None:
        yield Key("value_ns", host.value, "micro/launch: trigger, less its calls", 0.05)
    else:
        why = "nothing that was measured waits for a value alone; micro/launch: trigger hides it behind calls"
        yield _missing("value_ns", why)


def _clock_rate(measured: Measured) -> Key | Missing:
    rate = measured.attribute("clock_hz")
    if rate is None:
        return _missing("clock_hz", "the clock's rate is not in this signature")
    return Key("clock_hz", rate, "counted by the device within one kernel, median of the cases", None)


def _accepted(found: Key | Missing) -> Key | Missing:
    if isinstance(found, Key) and found.name.endswith("_ns") and not 0 <= float(found.value) <= _MOST_NS:
        return _missing(
            found.name, "%.3g ns, which no model accepts: %s" % (float(found.value), found.source)
        )
    return found


def keys(measured: Measured, _found: dict) -> Iterator[Key | Missing]:
    device = _device(measured)
    if device is None:
        yield Missing(
            ("launch_ns", "block_ns", "event_ns"), "micro/launch measured no kernels in a full queue"
        )
    else:
        yield from map(_accepted, _launch_and_block(measured, device))
        yield _accepted(_events(device))
    yield from map(_accepted, _on_host(measured, device))
    yield _clock_rate(measured)
