# SPDX-License-Identifier: BSD-3-Clause
"""Blocks as micro/occupancy measures them: a load of equal blocks, of which fewer reside on a unit the more
shared memory each claims.

A unit runs N blocks of the load, r at once, so in waves of r and a last one of the rest. A wave of k blocks
takes block_ns + b * max(k, 1 / block_share), where b is the work of a block with a unit of its own: of fewer
blocks than 1 / block_share none can use more (device/sim/machine/traffic.h, RESIDENCE in units.c). With what
a launch costs known, b, block_ns and block_share are fitted by least squares over r.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Optional, Sequence

from reports.model.measured import Measured

LOAD = "load"
# From micro/occupancy.c: blocks of the load for each slot, and the operations of one of them.
_WAVES, _BLOCK_FLOPS = 3, 2.0 * 1024 * 4096
_LEAST = 3  # numbers of residents
_STEPS = 400


class Start(NamedTuple):
    """The time of a launch with its first block, of a record, and of a block if that is known, ns."""

    kernel: float
    event: float
    block: Optional[float] = None


class Load(NamedTuple):
    block_ns: float
    block_error: float  # relative standard error; infinite if unknown
    enough: float  # blocks that use all of a unit: 1 / block_share
    fewest: int  # residents that were measured
    residual: float  # relative, the median


class _Point(NamedTuple):
    residents: int
    ns: float  # without launch and record
    error: float  # ns


def residents_of(measured: Measured) -> dict[int, int]:
    """Blocks that were seen resident on a unit, by the shared memory that each claimed."""
    steps = measured.results("micro/occupancy").get("steps") or []
    return {int(s["shared_byte"]): round(s["residents"]) for s in steps if s["residents"] >= 1}


def _points(measured: Measured, start: Start) -> tuple[int, list[_Point]]:
    """Blocks of a unit, and the time by residents: the median of the claims that leave so many."""
    slots, resident = measured.attribute("slots_per_unit"), residents_of(measured)
    if not slots:
        return 0, []
    by_residents: dict[int, list[_Point]] = {}
    units_work = _WAVES * slots * (measured.attribute("units") or 0) * _BLOCK_FLOPS
    for claim, value in measured.curve("micro/occupancy/flop_rate", "shared", variant=LOAD):
        r = resident.get(int(claim))
        if not r or value.value <= 0:
            continue
        ns = 1e9 * units_work / value.value
        rest = ns - start.kernel - (start.event / value.iterations if value.iterations else 0.0)
        by_residents.setdefault(r, []).append(_Point(r, rest, max(value.error, 5e-7) * ns))
    best = [sorted(same, key=lambda p: p.ns)[len(same) // 2] for _, same in sorted(by_residents.items())]
    return int(_WAVES * slots), best


def _waves(blocks: int, residents: int, enough: float) -> tuple[int, float]:
    """Their number, and their work in that of a block with a unit of its own."""
    whole, rest = divmod(blocks, residents)
    work = whole * max(residents, enough) + (max(rest, enough) if rest else 0.0)
    return whole + (rest > 0), work


class _Fit(NamedTuple):
    squares: float  # weighted
    block_ns: float
    work_ns: float
    block_variance: float


def _solve(blocks: int, points: Sequence[_Point], enough: float, block_ns: Optional[float]) -> Optional[_Fit]:
    """ns = (waves - 1) * block_ns + work * b, the first block_ns being in the launch's; block_ns >= 0."""
    rows = [(*_waves(blocks, p.residents, enough), p.ns, 1 / p.error**2) for p in points]
    xx = math.fsum(w * (x - 1) ** 2 for x, _, _, w in rows)
    xy = math.fsum(w * (x - 1) * y for x, y, _, w in rows)
    yy = math.fsum(w * y * y for _, y, _, w in rows)
    xt = math.fsum(w * (x - 1) * t for x, _, t, w in rows)
    yt = math.fsum(w * y * t for _, y, t, w in rows)
    scale = xx * yy - xy * xy
    if scale <= 1e-9 * xx * yy:
        return None
    block, variance = (xt * yy - yt * xy) / scale, yy / scale
    block = max(block, 0.0) if block_ns is None else block_ns
    work = (yt - block * xy) / yy
    squares = math.fsum(w * (t - (x - 1) * block - y * work) ** 2 for x, y, t, w in rows)
    return _Fit(squares, block, work, variance)


def _best(blocks: int, points: Sequence[_Point], block_ns: Optional[float]) -> Optional[tuple[float, _Fit]]:
    """The best 1 / block_share of 1 to the most residents: of a grid, and then between its neighbours."""
    most = float(points[-1].residents)
    low, high, found = 1.0, most, None
    for _ in range(4):
        step = (high - low) / _STEPS
        tried = [(low + i * step) for i in range(_STEPS + 1)]
        fits = [
            (fit.squares, enough, fit)
            for enough in tried
            if (fit := _solve(blocks, points, enough, block_ns))
        ]
        if not fits:
            return found
        squares, enough, fit = min(fits, key=lambda one: one[:2])
        found = (enough, fit)
        low, high = max(1.0, enough - step), min(most, enough + step)
        if high <= low:
            break
    return found


def load_of(measured: Measured, start: Start) -> Optional[Load]:
    """The load of a device that starts work so. None if too few numbers of residents were measured."""
    blocks, points = _points(measured, start)
    if len(points) < _LEAST:
        return None
    found = _best(blocks, points, start.block)
    if found is None:
        return None
    enough, fit = found
    off = sorted(abs(p.ns - _value(blocks, p, enough, fit)) / p.ns for p in points)
    # If points miss by more than their intervals say, so does what is fitted to them.
    free = max(1, len(points) - 3)
    deviation = math.sqrt(fit.block_variance * max(1.0, fit.squares / free))
    error = deviation / fit.block_ns if fit.block_ns > 0 else math.inf
    return Load(fit.block_ns, error, enough, points[0].residents, off[len(off) // 2])


def _value(blocks: int, point: _Point, enough: float, fit: _Fit) -> float:
    waves, work = _waves(blocks, point.residents, enough)
    return (waves - 1) * fit.block_ns + work * fit.work_ns
