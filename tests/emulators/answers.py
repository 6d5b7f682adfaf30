# SPDX-License-Identifier: BSD-3-Clause
"""Known answers of every kernel of device/gpu/kernels/kernels.cu, for amd.py: OF[name](code, name) launches a
kernel with code.launch() and raises AssertionError unless memory holds what it should."""

from __future__ import annotations

import struct
import threading
import time
from typing import Callable

import numpy as np

TICK_NS = 10  # the timer that amd.py gives kernels; tick 0 is 0 ns of the host's clock
_TIMED = struct.pack("<QQdQI4x", 0, 0, TICK_NS, 0, 0)
_WAIT_NS = 10**7
_PATIENCE_NS = 10**11

U32, U64, F32, F64 = np.uint32, np.uint64, np.float32, np.float64
OF: dict[str, Callable] = {}
_in_use: list = []  # memory that kernels know by address


def array(values, dtype) -> np.ndarray:
    """A copy at a multiple of 256 bytes, which is kept."""
    values = np.asarray(values, dtype)
    whole = np.zeros(values.nbytes + 256, np.uint8)
    start = -whole.ctypes.data % 256
    placed = whole[start : start + values.nbytes].view(dtype).reshape(values.shape)
    placed[...] = values
    _in_use.append(placed)
    return placed


def integers(shape, dtype, seed: int = 1) -> np.ndarray:
    """Small, so that sums of products are exact in any order."""
    return array(np.random.default_rng(seed).integers(-8, 8, shape), dtype)


def guarded(count: int, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Memory for a result, and the same with 64 numbers more, which must stay 77."""
    whole = array(np.full(count + 64, 77), dtype)
    return whole[:count], whole


def expect(got, wanted, within: float = 0) -> None:
    got, wanted = np.asarray(got), np.asarray(wanted)
    right = np.isclose(got, wanted, rtol=within, atol=0, equal_nan=True)
    assert right.all(), f"{got[~right][:4]} and not {wanted[~right][:4]} in {(~right).sum()} places"


def expect_guarded(whole, wanted, within: float = 0) -> None:
    expect(whole, np.append(wanted, np.full(64, 77)), within)


def answer(*names: str):
    def keep(check: Callable) -> Callable:
        OF.update(dict.fromkeys(names, check))
        return check

    return keep


# ------------------------------------------------------------------ kernels of memory

# A round of the grid, 8 vectors of 16 bytes a thread, and a part of one.
GRID, THREADS, BYTES = 2, 64, 16384 + 1280


@answer("empty")
def check_empty(code, name: str) -> None:
    code.launch(name, 3, 256)


@answer("read")
def check_read(code, name: str) -> None:
    numbers, sink = integers(BYTES // 4, U32), array([100], U32)
    code.launch(name, GRID, THREADS, numbers, U64(BYTES), U32(3), sink)
    expect(sink, [(100 + int(numbers.sum(dtype=U64))) % 2**32])


@answer("write", "write_nt")
def check_write(code, name: str) -> None:
    to, whole = guarded(BYTES // 4, U32)
    code.launch(name, GRID, THREADS, to, U64(BYTES), U32(2), U32(0x12345678))
    expect_guarded(whole, np.full(len(to), 0x12345678))


@answer("copy", "copy_nt")
def check_copy(code, name: str) -> None:
    numbers, (to, whole) = integers(BYTES // 4, U32), guarded(BYTES // 4, U32)
    code.launch(name, GRID, THREADS, to, numbers, U64(BYTES), U32(2))
    expect_guarded(whole, numbers)


@answer("copy_once", "copy_once_nt")
def check_copy_once(code, name: str) -> None:
    numbers, (to, whole) = integers(BYTES // 4, U32), guarded(BYTES // 4, U32)
    code.launch(name, GRID, THREADS, to, numbers, U64(BYTES))
    expect_guarded(whole, numbers)


@answer("triad", "triad_nt")
def check_triad(code, name: str) -> None:
    b, c, (a, whole) = integers(BYTES // 4, F32), integers(BYTES // 4, F32, 2), guarded(BYTES // 4, F32)
    code.launch(name, GRID, THREADS, a, b, c, U64(BYTES), U32(2), F32(1.75))
    expect_guarded(whole, b + F32(1.75) * c)


@answer("triad_once", "triad_once_nt")
def check_triad_once(code, name: str) -> None:
    b, c, (a, whole) = integers(BYTES // 4, F32), integers(BYTES // 4, F32, 2), guarded(BYTES // 4, F32)
    code.launch(name, GRID, THREADS, a, b, c, U64(BYTES), F32(1.75))
    expect_guarded(whole, b + F32(1.75) * c)


@answer("reduce_add")
def check_reduce_add(code, name: str) -> None:
    a, b = integers(BYTES // 4, F32), integers(BYTES // 4, F32, 2)
    wanted = a + 3 * b
    code.launch(name, GRID, THREADS, a, b, U64(BYTES), U32(3))
    expect(a, wanted)


def bf16(numbers):
    """The upper halves of numbers that bf16 has."""
    return array(np.asarray(numbers, F32).view(U32) >> 16, np.uint16)


@answer("attention_f32", "attention_bf16")
def check_attention(code, name: str) -> None:
    """Two heads. Without a mask: five rows, of which four are a group; a step of keys and a part of one. Then
    queries of two rows, whose mask is in the last step, and rows that see nothing of the second part."""
    for rows, keys, queries in ((5, 70, 1), (6, 70, 3), (6, 6, 6)):
        attend(code, name, rows, keys, queries)


def attend(code, name: str, rows: int, keys: int, queries: int) -> None:
    heads, parts = 2, 2
    q, k, v = (integers((heads, n, 128), F32, n) / F32(16) for n in (rows, keys, keys + 1))
    v = v[:, :keys]
    part, whole = guarded(heads * rows * parts * 132, F32)
    stored = bf16 if name.endswith("bf16") else lambda numbers: array(numbers, F32)
    memory = [stored(x) for x in (q, k, v)]
    sizes = [U64(memory[1].nbytes), U32(heads * rows), U32(parts), U32(heads), U32(queries)]
    code.launch(name, 2, 256, part, *memory, *sizes)
    expect(whole[len(part) :], np.full(64, 77))
    for head, row, number in np.ndindex(heads, rows, parts):
        seen = keys - queries + row * queries // rows + 1
        of = slice(keys * number // parts, min(seen, keys * (number + 1) // parts))
        scores = k[head, of].astype(F64) @ q[head, row].astype(F64) / np.log(2) / np.sqrt(128)
        got = part.reshape(heads, rows, parts, 132)[head, row, number].astype(F64)
        weights = np.exp2(scores - got[128])
        assert np.abs(got[:128] - weights @ v[head, of]).max() <= 1e-4 * weights.sum(), (head, row, number)
        expect(got[128:130], [scores.max() if len(scores) else got[128], weights.sum()], 1e-4)


@answer("attention_merge")
def check_attention_merge(code, name: str) -> None:
    rows, parts = 3, 2
    part = integers((rows, parts, 132), F32)
    part[:, :, 129] = 9
    weights = np.exp2(part[:, :, 128])
    wanted = (part[:, :, :128] * weights[:, :, None]).sum(1) / (9 * weights.sum(1))[:, None]
    out, whole = guarded(rows * 128, F32)
    code.launch(name, 2, 64, out, part, U32(rows), U32(parts))
    assert np.abs(out - wanted.ravel()).max() < 1e-4
    expect(whole[len(out) :], np.full(64, 77))


@answer("softmax_f32", "softmax_bf16")
def check_softmax(code, name: str) -> None:
    """Two heads of 16 queries of two rows."""
    numbers = integers((64, 70), F32) / F32(2)
    seen = np.arange(70) < 55 + np.arange(64)[:, None] // 2 % 16
    wanted = np.exp(numbers) * seen / (np.exp(numbers) * seen).sum(1)[:, None]
    narrow = name.endswith("bf16")
    x = bf16(numbers) if narrow else numbers
    code.launch(name, 3, 64, x, U64(x.nbytes), U32(70), U32(2), U32(16))
    got = (x.astype(U32) << 16).view(F32) if narrow else x
    expect(got, wanted, 0.004 if narrow else 1e-4)


@answer("reduce_add_bf16")
def check_reduce_add_bf16(code, name: str) -> None:
    """Integers around 256, from where on bf16 has the even ones alone."""

    def rounded(sums):
        return np.where(sums < 256, sums, 2 * np.rint(sums / 2)).astype(F32)

    def codes(numbers):
        return array(numbers.view(U32) >> 16, np.uint16)

    a, b = rounded(integers(BYTES // 2, F32) + 253), integers(BYTES // 2, F32, 2)
    to = codes(a)
    code.launch(name, GRID, THREADS, to, codes(b), U64(BYTES), U32(2))
    expect(to, codes(rounded(rounded(a + b) + b)))


@answer("chase")
def check_chase(code, name: str) -> None:
    ring, out = array(np.zeros(64), U64), array([0], U64)
    order = np.random.default_rng(3).permutation(64)
    ring[order] = ring.ctypes.data + 8 * np.roll(order, -1)
    code.launch(name, 2, 64, ring[order[0] :], U64(512), U64(37), out)
    expect(out - U64(ring.ctypes.data), [8 * order[37]])


# ------------------------------------------------------------------ kernels that compute


@answer("fma_f32", "fma_f64")
def check_fma(code, name: str) -> None:
    """9 steps for each of the 16 chains of thread 0: 8 in the unrolled loop."""
    out, whole = guarded(GRID, F32 if name == "fma_f32" else F64)
    x = np.arange(16, dtype=F64)
    for _ in range(9):
        x = x * 0.9990234375 + 0.0009765625
    code.launch(name, GRID, 256, out, U64(9 * 4096))
    expect_guarded(whole, np.full(GRID, x.sum()), 1e-6)


@answer("gemm_f32", "gemm_f64", "gemm_textbook_32", "gemm_textbook_64", "gemm_adding_f32", "gemm_adding_f64")
def check_gemm(code, name: str) -> None:
    """Two tiles, with rows of C that are multiples of 16 bytes and with others. A NaN and a -0 in C are
    added to, too: what compares them as numbers would not end."""
    real, textbook = F64 if name.endswith("f64") else F32, "textbook" in name
    tile, keeps = 64 if textbook or real is F64 else 128, 1 if "adding" in name else 3
    for m, n, k in ((tile + 2, 33, 17), (7, tile + 4, 8)):
        a, b, (c, whole) = integers((m, k), real), integers((k, n), real), guarded(m * n, real)
        c[:] = integers(m * n, real, 2)
        c[:2] = np.nan, -0.0
        wanted = 2 * (a @ b).ravel() + keeps * c
        done = array([7, 7], U32)
        sizes = (U32(number) for number in (m, n, k, k, n, n))
        code.launch(name, 1 if textbook else 2, 256, a, b, c, *sizes, real(2), real(3), done, U32(tile))
        expect_guarded(whole, wanted)
        expect(done, [7 + min(m, tile) * n, 7 + max(m - tile, 0) * n])


@answer("mma_f16", "mma_bf16", "mma_tf32", "mma_f8", "mma_i8")
def check_mma(code, name: str) -> None:
    """The emulator reads f8 with OCP's bias, with which a number of gfx942 is twice as large."""
    out, whole = guarded(1, U32)
    code.launch(name, 1, 128, out, U64(2**27))
    expect_guarded(whole, [2**27 // 16 * (4 if (code.arch, name) == ("gfx942", "mma_f8") else 1)])


# ------------------------------------------------------------------ kernels that wait and stamp


def expect_since(since_ns: int, stamps) -> None:
    """Times of the host's clock, from since_ns on until now."""
    assert all(since_ns - TICK_NS <= ns <= time.monotonic_ns() for ns in stamps), (since_ns, stamps)


@answer("stamp")
def check_stamp(code, name: str) -> None:
    at, before = array([0, 0, 0], U64), time.monotonic_ns()
    code.launch(name, 3, 64, at, _TIMED)
    expect_since(before, at.tolist())


@answer("blocking_kernel")
def check_blocking_kernel(code, name: str) -> None:
    for flag, late in ((1, 0), (0, 2)):
        arrived, at, before = array([0, 0], U32), array([0, 0], U64), time.monotonic_ns()
        code.launch(name, 2, 64, array([flag], U32), arrived, at, U64(_WAIT_NS), _TIMED)
        expect(arrived, [2, late])
        expect_since(before, at.tolist())


@answer("signal")
def check_signal(code, name: str) -> None:
    flags = array([5, 5, 5], U32)
    code.launch(name, 2, 64, flags[1:], U32(0xF0000001))
    expect(flags, [5, 0xF0000001, 5])


@answer("await")
def check_await(code, name: str) -> None:
    for value, late in ((7, 100), (8, 103)):
        timed_out = array([100], U32)
        code.launch(name, 3, 64, array([7], U32), U32(value), timed_out, U64(_WAIT_NS), _TIMED)
        expect(timed_out, [late])


@answer("clock_sync")
def check_clock_sync(code, name: str) -> None:
    asks, answers, seen, asked_ns = array([0], U32), array([0], U32), array([0] * 3, U64), []

    def ask() -> None:
        for number in range(1, len(seen) + 1):
            asked_ns.append(time.monotonic_ns())
            asks[0] = number
            while answers[0] < number and time.monotonic_ns() - asked_ns[-1] < _PATIENCE_NS:
                time.sleep(0)

    host = threading.Thread(target=ask, daemon=True)  # it outlives a launch that raises
    host.start()
    code.launch(name, 1, 32, asks, answers, seen, U32(len(seen)), U64(_PATIENCE_NS // TICK_NS))
    host.join()
    expect(answers, [len(seen)])
    for since_ns, tick in zip(asked_ns, seen.tolist()):
        expect_since(since_ns, [tick * TICK_NS])


@answer("clock_sample")
def check_clock_sample(code, name: str) -> None:
    out = array([0, 0], U64)
    code.launch(name, 1, 32, out, U64(_WAIT_NS // TICK_NS))
    assert out[1] >= _WAIT_NS // TICK_NS and out[0] > 0, out


@answer("timer_step")
def check_timer_step(code, name: str) -> None:
    out = array([0], U64)
    code.launch(name, 1, 32, out)
    assert out[0] > 0, out
