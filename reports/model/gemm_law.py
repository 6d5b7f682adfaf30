# SPDX-License-Identifier: BSD-3-Clause
"""The time of a GEMM in the simulator: TILES and WAVES (device/sim/machine/gemm.c), RESIDENCE (units.c) and
what its traffic passes (traffic.c, cache.c), for one GEMM after another on an idle device."""

from __future__ import annotations

import math
from typing import NamedTuple

ELEMENT_BYTES = {"f32": 4, "f64": 8, "tf32": 4, "f16": 2, "bf16": 2, "f8": 1}
_RESULT_BYTES = {**ELEMENT_BYTES, "f8": 2}


class Shape(NamedTuple):
    m: int
    n: int
    k: int
    type: str
    adds: bool = False  # to C

    def operands(self) -> tuple[float, float, float]:
        """Bytes of A, B and C."""
        size = ELEMENT_BYTES[self.type]
        return (
            float(size * self.m * self.k),
            float(size * self.k * self.n),
            float(_RESULT_BYTES[self.type] * self.m * self.n),
        )


class Part(NamedTuple):
    """Equal GEMMs of one measurement, which run one after another."""

    times: int
    shape: Shape
    span_bytes: float  # of its operands, with the gaps between rows
    c_span_bytes: float  # the same of C
    missing_bytes: float = 0.0  # that are in no cache, although all fit


class Machine(NamedTuple):
    """Keys of a model that other parts fit. A rate that nobody knows limits nothing (inf), a cost is 0."""

    units: int
    slots: int
    launch_ns: float
    block_ns: float
    host_call_ns: float
    unit_bandwidth: float
    llc_bandwidth: float
    memory_bandwidth: float
    llc_bytes: float
    llc_tracked: bool
    llc_through: bool  # and it writes through
    block_share: float


class Tiling(NamedTuple):
    """The library: its tiles, what they claim, and what they cost whatever their size."""

    rows: int
    columns: int
    least: int  # gemm_tile_min
    claims: int  # blocks of which shared memory holds one unit's
    register_bytes: int  # of a unit; 0: they limit nothing
    block_register_bytes: int = 0
    start_ns: float = 0.0  # gemm_ns
    tile_ns: float = 0.0  # gemm_block_ns
    traffic_share: float = 1.0

    def claim(self, type_: str, rows: int, columns: int) -> int:
        return self.block_register_bytes + rows * columns * (8 if type_ == "f64" else 4)

    def residents(self, type_: str, rows: int, columns: int, slots: int) -> int:
        fit = min(slots, self.claims)
        if self.register_bytes:
            fit = min(fit, self.register_bytes // self.claim(type_, rows, columns))
        return max(fit, 1)

    def tile_of(self, s: Shape, units: int) -> tuple[int, int, int]:
        """Rows and columns of the tiles of a GEMM, and how many they are."""
        rows, columns = self.rows, self.columns
        while True:
            tiles = -(-s.m // rows) * -(-s.n // columns)
            too_many_registers = (
                self.register_bytes > 0 and self.claim(s.type, rows, columns) > self.register_bytes
            )
            too_few = self.least > 0 and tiles < units and max(rows, columns) >= 2 * self.least
            if not (too_many_registers or too_few) or rows * columns == 1:
                return rows, columns, tiles
            rows_idle, columns_idle = rows > s.m and rows > 1, columns > s.n and columns > 1
            if rows_idle or (not columns_idle and rows >= columns):
                rows //= 2
            else:
                columns //= 2


class Wave(NamedTuple):
    """So many times: the start of a block, then the longer of `other_ns` and the time of `flop` on a unit."""

    times: int
    block_ns: float
    flop: float
    other_ns: float


def _passes(s: Shape, tile: tuple[int, int, int], blocks: int, machine: Machine) -> tuple[float, float]:
    """Passes of A and B through memory, where the operands do not fit into the cache."""
    rows, columns, _ = tile
    a, b, _ = s.operands()
    down, across = -(-s.m // rows), -(-s.n // columns)
    sm = min(math.isqrt(blocks), down)
    sn = min(blocks // sm, across)
    sm = min(blocks // sn, down)
    most = machine.llc_bytes / 2
    return (
        -(-s.n // (sn * columns)) if a / s.m * min(sm * rows, s.m) > most else 1,
        -(-s.m // (sm * rows)) if b > most else 1,
    )


def memory_bytes(part: Part, tile: tuple[int, int, int], blocks: int, machine: Machine) -> float:
    """Traffic between the cache and memory. What is dirty in a cache counts with the gaps between rows."""
    a, b, c = part.shape.operands()
    if part.span_bytes <= machine.llc_bytes:
        return part.missing_bytes + (c if machine.llc_tracked and machine.llc_through else 0)
    of_a, of_b = _passes(part.shape, tile, blocks, machine) if machine.llc_tracked else (1, 1)
    written = part.c_span_bytes if machine.llc_tracked and not machine.llc_through else c
    return a * of_a + b * of_b + (c if part.shape.adds else 0) + written


def waves(part: Part, tiling: Tiling, machine: Machine) -> list[Wave]:
    """Whole waves, and what is left."""
    s = part.shape
    rows, columns, tiles = tile = tiling.tile_of(s, machine.units)
    at_once = machine.units * tiling.residents(s.type, rows, columns, machine.slots)
    refill = memory_bytes(part, tile, min(at_once, tiles), machine) / tiles
    c_bytes = rows * columns * _RESULT_BYTES[s.type] * (2 if s.adds else 1)
    volume = tiling.traffic_share * ((rows + columns) * s.k * ELEMENT_BYTES[s.type] + c_bytes)
    flop = 2.0 * rows * columns * s.k

    def wave(times: int, blocks: int) -> Wave:
        on_a_unit = max(-(-blocks // machine.units), 1 / machine.block_share)
        other_s = max(
            on_a_unit * volume / machine.unit_bandwidth,
            blocks * volume / machine.llc_bandwidth,
            blocks * refill / machine.memory_bandwidth,
        )
        return Wave(times, machine.block_ns + tiling.tile_ns, on_a_unit * flop, 1e9 * other_s)

    whole, left = divmod(tiles, at_once)
    return ([wave(whole, at_once)] if whole else []) + ([wave(1, left)] if left else [])


def gemm_ns(found: list[Wave], flops: float, tiling: Tiling, machine: Machine) -> float:
    """`flops`: of a unit, what GEMMs of this type reach."""
    ns = machine.launch_ns + tiling.start_ns
    for times, block_ns, flop, other_ns in found:
        compute_ns = 1e9 * flop / flops
        ns += times * (block_ns + (compute_ns if compute_ns > other_ns else other_ns))
    return max(ns, machine.host_call_ns)
