# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of devices in micro/peer_matrix: what a copy from one to the other takes besides its bytes, and the
rate of its bytes.

A copy to a peer takes what one at home does, the latency of the way, and its bytes. The latency of the first
pair is what programs that copy both ways show; that of the others is how much longer their round trips are.
"""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple, Optional

from reports.model.copy_lines import BANDWIDTH, HOME, Line, copy_line, line
from reports.model.measured import Measured
from reports.records.jsonl import Json

Ends = tuple[int, int]
FIRST = (0, 1)  # micro/copy_path's and micro/copy_command's peer
ROUND_TRIP = 4096  # bytes
VARIANTS = {"engine": "engine", "kernel": "kernel_nt"}  # here, and alike in micro/copy_path
# Ways of micro/copy_command that don't wait for calls of the host meanwhile.
_COMMANDS = ("each", "batch", "prelaunched")


class Estimate(NamedTuple):
    value: float
    half: float  # of its interval


class Matrix(NamedTuple):
    """Values by ordered pair, and the usual relative half of their intervals."""

    values: dict[Ends, float]
    error: float


def fitted(measured: Measured) -> Json:
    return measured.results("micro/peer_matrix").get("fitted") or {}


def matrix(measured: Measured, variant: str, quantity: str) -> Matrix:
    for found in fitted(measured).get("matrices", ()):
        if (found["variant"], found["quantity"]) == (variant, quantity):
            rows = enumerate(found["rows"])
            values = {(i, j): float(v) for i, row in rows for j, v in enumerate(row) if v and v > 0}
            return Matrix(values, float(found["error"]))
    return Matrix({}, 0.0)


# ------------------------------------------------------------------ latency of the first pair


def _together(estimates: list[Estimate]) -> Optional[Estimate]:
    """Their mean, by weight of their intervals; the half is at least half of what they differ."""
    if not estimates:
        return None
    exact = [e for e in estimates if e.half <= 0]
    if exact:
        value, half = statistics.median(e.value for e in exact), 0.0
        return Estimate(value, half)
    weights = [1 / e.half**2 for e in estimates]
    value = math.fsum(w * e.value for w, e in zip(weights, estimates)) / math.fsum(weights)
    return Estimate(value, 1 / math.sqrt(math.fsum(weights)))


def _more_than_at_home(peer: Line, home: list[Line]) -> Estimate:
    usual = sorted(home, key=lambda found: found.alpha_ns)[len(home) // 2]
    half = math.hypot(peer.error * peer.alpha_ns, usual.error * usual.alpha_ns)
    return Estimate(peer.alpha_ns - usual.alpha_ns, half)


def _command_line(measured: Measured, variant: str, direction: str) -> Optional[Line]:
    curve = measured.curve("micro/copy_command/copy_time", "size", variant=variant, direction=direction)
    small = [(x, v) for x, v in curve if x <= 4 << 20]  # all of 16 copies
    return line([(x, v.value * 1e9, v.error) for x, v in small]) if len(small) > 1 else None


def _by_round_trip(measured: Measured) -> Optional[Estimate]:
    trips, rates = matrix(measured, "engine_round_trip", "time"), matrix(measured, "engine", "bandwidth")
    home = []
    for direction in HOME:
        trip = measured.one(BANDWIDTH, variant="engine_round_trip", direction=direction, size=ROUND_TRIP)
        of_bytes = copy_line(measured, "engine", direction)
        if trip and of_bytes:
            ns = ROUND_TRIP / trip.value * 1e9
            home.append((ns - ROUND_TRIP / of_bytes.rate * 1e9, trip.error * ns))
    if not home or FIRST not in trips.values or FIRST not in rates.values:
        return None
    trip_ns = trips.values[FIRST] * 1e9
    usual_ns, usual_half = sorted(home)[len(home) // 2]
    own_ns = trip_ns - ROUND_TRIP / rates.values[FIRST] * 1e9
    return Estimate(own_ns - usual_ns, math.hypot(usual_half, trips.error * trip_ns))


def first_latency(measured: Measured) -> Optional[Estimate]:
    """ns that a copy by an engine takes more to the first pair's peer than at home."""
    estimates = [_by_round_trip(measured)]
    peer, home = copy_line(measured, "engine", "peer"), [copy_line(measured, "engine", d) for d in HOME]
    known = [found for found in home if found and found.sizes > 1]
    if peer and known and peer.sizes > 1:
        estimates.append(_more_than_at_home(peer, known))
    for variant in _COMMANDS:
        peer = _command_line(measured, variant, "peer")
        home = [_command_line(measured, variant, direction) for direction in HOME]
        known = [found for found in home if found]
        if peer and known:
            estimates.append(_more_than_at_home(peer, known))
    return _together([e for e in estimates if e])


# ------------------------------------------------------------------ all pairs


def later(measured: Measured) -> dict[Ends, float]:
    """ns by pair that its latency is longer than the first one's."""
    trips, rates = matrix(measured, "engine_round_trip", "time"), matrix(measured, "engine", "bandwidth")
    ns = {
        ends: (trip - ROUND_TRIP / rates.values[ends]) * 1e9
        for ends, trip in trips.values.items()
        if ends in rates.values
    }
    return {ends: own - ns[FIRST] for ends, own in ns.items()} if FIRST in ns else {}


def fixed_ns(measured: Measured, variant: str, latency: Optional[Estimate]) -> float:
    """The time of a copy of the first pair without its bytes, by engine or kernel; 0 where unknown."""
    alike = VARIANTS[variant]
    peer = copy_line(measured, alike, "peer")
    if peer and peer.sizes > 1:
        return peer.alpha_ns
    home = [copy_line(measured, alike, direction) for direction in HOME]
    known = [found.alpha_ns for found in home if found and found.sizes > 1]
    return statistics.median(known) + (max(0.0, latency.value) if latency else 0.0) if known else 0.0


def rate_of_bytes(rate: float, size: float, fixed: float) -> float:
    """The rate of a copy without the fixed part of its time, unless that is most of it."""
    all_ns = size / rate * 1e9
    return size / (all_ns - fixed) * 1e9 if fixed < all_ns / 2 else rate
