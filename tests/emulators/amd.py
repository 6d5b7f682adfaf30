# SPDX-License-Identifier: BSD-3-Clause
"""Runs our kernels, as compiled for AMD's devices, on tinygrad's emulator of instructions, which is in
test/mockgpu/amd of its repository: $TINYGRAD is a checkout. amd.py FILE.hsaco... prints TAP, a line for every
kernel of every file. Only kernels of which the emulator is known to lack an instruction are skipped."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Callable

import answers
import numpy as np
from answers import TICK_NS, array

sys.path.insert(0, os.environ.get("TINYGRAD", ""))
try:
    from test.mockgpu.amd import emu
except (ImportError, SyntaxError) as lacking:
    print(f"TINYGRAD names no checkout of tinygrad that this Python can use: {lacking}")
    sys.exit(77)

_HIDDEN_BYTES = 256  # of arguments that the compiler adds


def words(at: int, count: int) -> ctypes.Array:
    return (ctypes.c_uint32 * count).from_address(at)


# ------------------------------------------------------------------ what the emulator lacks


def leave_as_is(inst, sgpr, vgpr, lanes) -> None:
    """There are no caches to write back or to invalidate."""


def read_timer(inst, sgpr, vgpr, lanes) -> None:
    at = getattr(inst, "sdata", None) or inst.sdst
    ticks = time.monotonic_ns() // TICK_NS
    sgpr[at.offset], sgpr[at.offset + 1] = ticks & 0xFFFFFFFF, ticks >> 32


def read_cycles(inst, sgpr, vgpr, lanes) -> None:
    """s_getreg of the clock of a gfx11 or gfx12; the latter has its upper half in register 30."""
    register, first, bits = inst.simm16 & 63, inst.simm16 >> 6 & 31, (inst.simm16 >> 11 & 31) + 1
    cycles = time.monotonic_ns() >> (32 if register == 30 else 0)
    sgpr[inst.sdst.offset] = cycles >> first & ((1 << bits) - 1)


def compare_and_swap(inst, sgpr, vgpr, lanes) -> None:
    """The emulator takes 0 for most of the value that is expected, and returns nothing on gfx12: loops end
    never, or at once."""
    size = 2 if re.search(r"X2|B64", inst.op.name) else 1
    gfx12 = hasattr(inst, "ioffset")
    address, data, offset = (
        (inst.vaddr, inst.vsrc, inst.ioffset) if gfx12 else (inst.addr, inst.data, inst.offset)
    )
    if offset >= 1 << (23 if gfx12 else 12):
        raise NotImplementedError(f"{inst.op.name} with a negative offset")

    def read(register, part: int, lane: int) -> int:
        return vgpr[(register.offset - 256 + part) * lanes + lane]

    exec_mask = sgpr[126] | (sgpr[127] << 32 if lanes == 64 else 0)
    for lane in (lane for lane in range(lanes) if exec_mask >> lane & 1):
        base = sgpr[inst.saddr.offset], sgpr[inst.saddr.offset + 1]
        at = offset + read(address, 0, lane)
        at += (base[0] | base[1] << 32) if inst.saddr.offset < 124 else read(address, 1, lane) << 32
        memory = words(at, size)
        old, new = list(memory), [read(data, part, lane) for part in range(2 * size)]
        if old == new[size:]:
            memory[:] = new[:size]
        for part in range(size):
            vgpr[(inst.vdst.offset - 256 + part) * lanes + lane] = old[part]


def refuse(inst, sgpr, vgpr, lanes) -> None:
    raise NotImplementedError(
        f"the emulator has not this instruction for these types: it reads {inst.op.name}"
    )


# It takes xf32, gfx90a's bf16 and i8 for what other devices have at that place, and f8 of gfx12 for f16.
_ADDED: tuple[tuple[str, Callable], ...] = (
    (r"BUFFER_(WB|INV)\w*|GLOBAL_(WB|INV)\w*", leave_as_is),
    (r"S_MEM(REAL)?TIME|S_SENDMSG_RTN_B64", read_timer),
    (r"S_GETREG_B32", read_cycles),
    (r"GLOBAL_ATOMIC_CMPSWAP\w*", compare_and_swap),
    (r"V_MFMA_\w+_XF32|V_MFMA_F32_16X16X32_F16|V_SMFMAC_\w+|V_WMMA_\w+_FP8", refuse),
)


def find_added(pc: int, arch: str) -> tuple[Callable, object] | None:
    """The instruction there, where it is one of the above. Some that control caches have no name in the
    emulator; our kernels use no others of their format."""
    code = bytes((ctypes.c_char * 16).from_address(pc).raw)
    if arch != "rdna4" and struct.unpack_from("<I", code)[0] >> 26 == 0x38:
        return leave_as_is, SimpleNamespace(size=lambda: 8)
    try:
        inst = emu.decode_inst(code, arch)
    except ValueError as unknown:
        raise NotImplementedError(str(unknown)) from unknown
    name = emu._op_name(inst)
    return next(((run, inst) for names, run in _ADDED if re.fullmatch(names, name)), None)


def reads_shared(pc: int, arch: str, decode):
    """The emulator reads shared memory for lanes that are off, too, wherever their address is: here it is 0
    meanwhile."""
    (program, runtime), inst = decode(pc, arch)
    lanes, buffers = emu._wave_size(arch), program.arg.globals
    if not re.match(r"DS_(READ|LOAD)", emu._op_name(inst)):
        return (program, runtime), inst

    def step(*given) -> None:
        exec_lo, exec_hi = words(given[buffers.index(0)].value, emu.SGPR_COUNT)[126:128]
        on = exec_lo | exec_hi << 32
        addresses = words(given[buffers.index(1)].value + 4 * lanes * (inst.addr.offset - 256), lanes)
        kept = list(addresses)
        addresses[:] = [at if on >> lane & 1 else 0 for lane, at in enumerate(kept)]
        runtime.fxn(*given)
        for lane, at in enumerate(kept):
            if not on >> lane & 1:
                addresses[lane] = at

    return (program, SimpleNamespace(fxn=step)), inst


def decode_with_added(pc: int, arch: str, decode=emu._decode_at):
    """As _decode_at() of the emulator: what runs, with the buffers that it takes, and the instruction."""
    found = find_added(pc, arch)
    if not found:
        return reads_shared(pc, arch, decode)
    run, inst = found
    lanes = emu._wave_size(arch)

    def step(sgpr, vgpr) -> None:
        scalar = words(sgpr.value, emu.SGPR_COUNT)
        run(inst, scalar, words(vgpr.value, 256 * lanes), lanes)
        after = (scalar[emu.PC_LO_IDX] | scalar[emu.PC_HI_IDX] << 32) + inst.size()
        scalar[emu.PC_LO_IDX], scalar[emu.PC_HI_IDX] = after & 0xFFFFFFFF, after >> 32

    return (SimpleNamespace(arg=SimpleNamespace(globals=[0, 1])), SimpleNamespace(fxn=step)), inst


emu._decode_at = decode_with_added


def render_with_casts(uops, render=emu.Device["CPU"].renderer.render) -> str:
    """For MFMA of i8 it stores vectors of signed integers as unsigned ones, which is no C."""
    return re.sub(r"(\*\(\(unsigned_int(\d+)\*\).*? = )\(int\2\)\{", r"\1(unsigned_int\2){", render(uops))


emu.Device["CPU"].renderer.render = render_with_casts

# ------------------------------------------------------------------ code objects


class Code:
    """A code object in memory, and where its kernels' descriptors are: "User Guide for AMDGPU Backend"."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        self.is_v5 = data[8] >= 3
        program, section = struct.unpack_from("<QQ", data, 32)
        programs, _, sections = struct.unpack_from("<HHH", data, 56)
        parts = [struct.unpack_from("<IIQQQQQQ", data, program + 56 * i) for i in range(programs)]
        loads = [part for part in parts if part[0] == 1]
        self.memory = array(np.zeros(max(part[3] + part[6] for part in loads)), np.uint8)
        for _, _, offset, at, _, size, _, _ in loads:
            self.memory[at : at + size] = np.frombuffer(data, np.uint8, size, offset)
        heads = [struct.unpack_from("<IIQQQQII", data, section + 64 * i) for i in range(sections)]
        symbols = next(head for head in heads if head[1] == 11)
        self.kernels = {}
        for at in range(symbols[4], symbols[4] + symbols[5], 24):
            name, value = struct.unpack_from("<I4xQ", data, at)
            start = heads[symbols[6]][4] + name
            text = data[start : data.index(b"\0", start)].decode()
            if text.startswith("gpusig_") and text.endswith(".kd"):
                self.kernels[text[7:-3]] = self.memory.ctypes.data + value
        self.arch = re.search(rb"amdgcn-amd-amdhsa--(gfx\w+)", data)[1].decode()
        self.family = {"gfx9": "cdna", "gfx11": "rdna3", "gfx12": "rdna4"}[self.arch[: len(self.arch) - 2]]

    def launch(self, name: str, grid: int, threads: int, *arguments) -> None:
        """Arguments are arrays, numbers of NumPy's types, and bytes of a structure that is aligned to 8."""
        packed = b""
        for value in arguments:
            raw = np.uint64(value.ctypes.data) if isinstance(value, np.ndarray) else value
            raw = raw if isinstance(raw, bytes) else raw.tobytes()
            packed += bytes(-len(packed) % min(len(raw), 8)) + raw
        packed += bytes(-len(packed) % 8)
        if self.is_v5:
            packed += struct.pack("<IIIHHH", grid, 1, 1, threads, 1, 1)
        segment = array(np.frombuffer(packed.ljust(len(packed) + _HIDDEN_BYTES, b"\0"), np.uint8), np.uint8)
        at = self.kernels[name]
        descriptor = ctypes.string_at(at, 64)
        shared, private = struct.unpack_from("<II", descriptor)
        entry = struct.unpack_from("<q", descriptor, 16)[0]
        rsrc2, properties = struct.unpack_from("<IH", descriptor, 52)
        size = threads, 1, 1, 0, grid * threads, 1, 1, private, shared
        packet = struct.pack("<HHHHHHIIIIIQQQQ", 2, 1, *size, at, segment.ctypes.data, 0, 0)
        dispatch = array(np.frombuffer(packet, np.uint8), np.uint8)
        # The scalar registers that a kernel asks for: private buffer, dispatch, queue, arguments, and what
        # is of no use here.
        asked = (
            (4, 0),
            (2, dispatch.ctypes.data),
            (2, 0),
            (2, segment.ctypes.data),
            (2, 0),
            (2, 0),
            (1, private),
        )
        scalars = [
            value >> 32 * part & 0xFFFFFFFF
            for bit, (count, value) in enumerate(asked)
            for part in range(count if properties >> bit & 1 else 0)
        ]
        rsrc2 |= (shared + 511) // 512 << 15
        start = at + entry, 0, grid, 1, 1, threads, 1, 1, segment.ctypes.data
        emu.run_asm(*start, rsrc2, private, self.family, scalars)


# ------------------------------------------------------------------ all kernels


_NOT_EMULATED = {
    ("gfx90a", "attention_bf16"),
    ("gfx90a", "attention_f32"),
    ("gfx90a", "mma_bf16"),
    ("gfx90a", "mma_i8"),
    ("gfx942", "mma_tf32"),
    ("gfx1201", "mma_f8"),
}


def try_kernel(code: Code, name: str) -> tuple[str, str]:
    """ "ok" or "not ok", and why. Whatever else the emulator raises is a failure: of a kernel, or its own."""
    if name not in answers.OF:
        return "not ok", "tests/emulators/answers.py has no answer"
    try:
        answers.OF[name](code, name)
    except AssertionError as wrong:
        return "not ok", str(wrong)
    except Exception as broken:
        if isinstance(broken, NotImplementedError) and (code.arch, name) in _NOT_EMULATED:
            return "ok", f"# SKIP {broken}"
        return "not ok", f"{type(broken).__name__}: {broken}"
    return "ok", ""


def main() -> int:
    number, good = 0, True
    for path in sys.argv[1:]:
        code = Code(Path(path))
        if not code.kernels:
            number, good = number + 1, False
            print(f"not ok {number} {code.arch} has kernels", flush=True)
        for name in sorted(code.kernels):
            number += 1
            verdict, why = try_kernel(code, name)
            if verdict != "ok":
                good = False
                print(f"# {why}")
                why = ""
            print(f"{verdict} {number} {code.arch} {name} {why}".rstrip(), flush=True)
    print(f"1..{number}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
