# SPDX-License-Identifier: BSD-3-Clause
"""Contents of the last-level cache: llc_tracked, llc_writes, engine_cache (device/sim/machine/cache.c CACHE).

micro/reduce decides: 16 pieces of a chunk are copied, by the units or an engine, to a buffer that they share,
and each is added to its part of a local chunk there. A piece fits the cache where all chunks together do not.
So the time of a chunk tells whether what was not used for long passes memory (tracked), and whether what an
engine wrote is in the cache after. The nearer of two laws holds if it is off by less than half of what is
between them."""

from __future__ import annotations

import math
from typing import Iterator, NamedTuple, Optional, Union

from reports.model.key import Key, Missing
from reports.model.levels import BELOW, COPY, MEMORY, Curves, copy_line
from reports.model.measured import Measured
from reports.records.fits import LineFit

Found = Iterator[Union[Key, Missing]]
REDUCE = "micro/reduce/bandwidth"
_KEYS = ("llc_tracked", "llc_writes", "engine_cache")
_PIECES = 16
_DIFFERS = 1.05  # times that differ by less are not told apart
_ALIKE = 1.1


class Machine(NamedTuple):
    """Seconds of a byte, and of a launch."""

    memory: float
    cache: float
    launch: float
    bytes: float  # of the cache

    def kernel(self, piece: float, arrays: int, cold: int) -> float:
        """Seconds of a kernel that reads or writes `arrays`, of which `cold` pass memory."""
        return self.launch + piece * max(arrays * self.cache, cold * self.memory)


class Vote(NamedTuple):
    second: bool  # the second of two laws is nearer
    apart: float  # times that the laws differ by
    off: float  # relative: of what is measured, from the nearer one
    slower: bool  # what is measured takes longer than both say

    def is_clear(self) -> bool:
        return self.apart > _DIFFERS and 2 * math.log(1 + self.off) < math.log(self.apart)


def _vote(seconds: float, first: float, second: float) -> Vote:
    far = [abs(math.log(seconds / law)) for law in (first, second)]
    apart = math.exp(abs(math.log(first / second)))
    return Vote(far[1] < far[0], apart, math.exp(min(far)) - 1, seconds > max(first, second))


def _decided(votes: list[Vote]) -> Optional[Vote]:
    """The clearest; None where none is, or they contradict each other."""
    clear = [v for v in votes if v.is_clear()]
    return max(clear, key=lambda v: v.apart) if len({v.second for v in clear}) == 1 else None


def _chunks(curves: Curves, machine: Machine, variant: str) -> Iterator[tuple[float, float]]:
    """Bytes and seconds of local chunks of which the cache holds three pieces, but not three chunks."""
    for size, value in curves.measured.curve(REDUCE, "size", direction="local", variant=variant):
        if value.value > 0 and 3 * size / _PIECES <= machine.bytes < 3 * size:
            yield size, size / value.value


def _tracked(curves: Curves, machine: Machine, writes_through: bool) -> Optional[Vote]:
    """Always warm, against: what arrives, the local chunk and the result pass memory once each, the buffer
    only if writes pass it at once."""
    votes = []
    for size, seconds in _chunks(curves, machine, "kernel_staged_16"):
        piece = size / _PIECES
        warm = machine.kernel(piece, 2, 0) + machine.kernel(piece, 3, 0)
        cold = machine.kernel(piece, 2, 1 + writes_through) + machine.kernel(piece, 3, 2)
        votes.append(_vote(seconds, _PIECES * warm, _PIECES * cold))
    # A real cache holds less than its size: it is not warm where even cold data would take less time.
    slower = [v for v in votes if v.apart > _DIFFERS and v.second and v.slower]
    return _decided(votes) or max(slower, key=lambda v: v.apart, default=None)


def _through(curves: Curves, machine: Machine, engine: LineFit) -> Optional[Vote]:
    """The added piece passes memory, against: it is in the cache, where the engine's copy left it."""
    votes = []
    for size, seconds in _chunks(curves, machine, "engine_staged_16"):
        piece = size / _PIECES
        copy = engine.alpha_s + piece / engine.bandwidth
        laws = [_PIECES * (copy + machine.kernel(piece, 3, cold)) for cold in (3, 2)]
        votes.append(_vote(seconds, laws[0], laws[1]))
    return _decided(votes)


def _small_engine_copies(curves: Curves, machine: Machine) -> Optional[bool]:
    """True if an engine copies what fits in the cache faster than memory takes it."""
    points = curves.measured.curve(COPY, "size", direction="local", variant="engine")
    fits = [v.value for size, v in points if 2 * size <= machine.bytes]
    return max(fits) * 2 * machine.memory > _ALIKE if fits else None


def _writes(curves: Curves, machine: Machine) -> Key | Missing:
    name = "llc_writes"
    inside = curves.rate("regular", 0, BELOW * machine.bytes, "write")
    outside = curves.rate("regular", 4 * machine.bytes * (1 - 1e-9), math.inf, "write")
    if not inside or not outside:
        return Missing((name,), "%s has no writes of less than the cache and of more" % MEMORY)
    if machine.memory < _ALIKE * machine.cache:
        return Missing((name,), "the cache is as fast as memory")
    faster = inside.value > _ALIKE * outside.value
    source = "%s: %.3g times as fast as beyond the cache" % (inside.source, inside.value / outside.value)
    return Key(name, "back" if faster else "through", source)


def _engine(curves: Curves, machine: Machine) -> Key | Missing:
    name = "engine_cache"
    if _small_engine_copies(curves, machine):
        return Key(name, "through", "%s: engine, faster than memory in sizes that fit in the cache" % COPY)
    line = copy_line(curves.measured, "engine")
    vote = _through(curves, machine, line) if line else None
    if not vote:
        return Missing((name,), "%s does not tell whether what an engine wrote is in the cache" % REDUCE)
    return Key(name, "through" if vote.second else "bypass", "%s: engine_staged_16" % REDUCE, vote.off)


def keys(measured: Measured, found: dict) -> Found:
    names = ("memory_bandwidth", "llc_bandwidth", "llc_bytes")
    curves = Curves(measured)
    block = copy_line(measured, "kernel_1")
    if found.get("llc_bytes") == 0:
        yield Missing(_KEYS, "there is no cache")
        return
    if not all(name in found for name in names) or not block:
        yield Missing(_KEYS, "they need its rates, and local copies by one block (micro/copy_path)")
        return
    memory, cache, last = (float(found[name]) for name in names)
    machine = Machine(1 / memory, 1 / cache, max(0.0, block.alpha_s), last)
    writes = _writes(curves, machine)
    tracked = _tracked(curves, machine, isinstance(writes, Key) and writes.value == "through")
    if tracked:
        yield Key("llc_tracked", int(tracked.second), "%s: kernel_staged_16" % REDUCE, tracked.off)
    else:
        yield Missing(
            ("llc_tracked",), "%s does not tell whether what was not used for long is cold" % REDUCE
        )
    if tracked and not tracked.second:
        yield Missing(("llc_writes", "engine_cache"), "where a cache is always warm they have no effect")
        return
    yield writes
    yield _engine(curves, machine)
