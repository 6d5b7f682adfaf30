# SPDX-License-Identifier: BSD-3-Clause
"""Checks the assembly of the loops of kernels.cu for AMD devices. isa.py FILE.s... reads the output of clang
-S, one file per architecture. It prints "  ISA  ..." for each check that passes, and errors on stderr with
exit code 1."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sass import Instruction, Kernel, Loop, check_loop, listed_kernels

COUNTING = r"s_(add|addc|sub|subb|and|cmpk?|cbranch)_\w+|s_(waitcnt|wait_\w+|nop|delay_alu)|v_cmp_\w+"
# Scalar loads (s_load) use another cache and are no work of `chase`.
LOOPS = (
    Loop("mma_f16", r"v_mfma_f32_32x32x8_f16", min_work=16, max_others=6, only=("gfx942",), others=COUNTING),
    Loop(
        "mma_bf16", r"v_mfma_f32_32x32x8_bf16", min_work=16, max_others=6, only=("gfx942",), others=COUNTING
    ),
    Loop(
        "mma_tf32", r"v_mfma_f32_32x32x4_xf32", min_work=16, max_others=6, only=("gfx942",), others=COUNTING
    ),
    Loop(
        "mma_f8", r"v_mfma_f32_32x32x16_fp8_fp8", min_work=16, max_others=6, only=("gfx942",), others=COUNTING
    ),
    Loop("mma_i8", r"v_mfma_i32_32x32x16_i8", min_work=16, max_others=6, only=("gfx942",), others=COUNTING),
    Loop(
        "mma_f16",
        r"v_wmma_f32_16x16x16_f16",
        min_work=32,
        max_others=6,
        only=("gfx1100", "gfx1201"),
        others=COUNTING,
    ),
    Loop(
        "mma_bf16",
        r"v_wmma_f32_16x16x16_bf16",
        min_work=32,
        max_others=6,
        only=("gfx1100", "gfx1201"),
        others=COUNTING,
    ),
    Loop(
        "mma_f8",
        r"v_wmma_f32_16x16x16_fp8_fp8",
        min_work=64,
        max_others=6,
        only=("gfx1201",),
        others=COUNTING,
    ),
    Loop(
        "mma_i8",
        r"v_wmma_i32_16x16x16_iu8",
        min_work=64,
        max_others=6,
        only=("gfx1100", "gfx1201"),
        others=COUNTING,
    ),
    Loop("chase", r"global_load_(dwordx2|b64)", min_work=16, max_others=24, others=COUNTING),
)


def parse(listing: str) -> dict[str, Kernel]:
    """A label gpusig_NAME: for each kernel, .LBB labels, and tab-led instructions, until .Lfunc_end."""
    kernels: dict[str, Kernel] = {}
    kernel = None
    for line in listing.splitlines():
        line = line.partition(";")[0].rstrip()
        if begin := re.fullmatch(r"gpusig_(\w+):", line):
            kernel = kernels.setdefault(begin[1], Kernel([], {}))
        elif line.startswith(".Lfunc_end"):
            kernel = None
        elif kernel and (label := re.fullmatch(r"(\.LBB\w+):", line)):
            kernel.labels[label[1]] = len(kernel.code)
        elif kernel and (found := re.fullmatch(r"\s+([a-z]\w+)(\s.*)?", line)):
            target = re.search(r"(\.LBB\w+)", found[2] or "")
            kernel.code.append(Instruction(found[1], line.strip(), target[1] if target else ""))
    return kernels


def main() -> int:
    wrong = []
    for name in sys.argv[1:]:
        kernels = parse(Path(name).read_text(encoding="utf-8"))
        wrong += [f"{name}: {kernel}: no such kernel" for kernel in listed_kernels() if kernel not in kernels]
        for rule in (one for one in LOOPS if not one.only or Path(name).stem.rpartition("-")[2] in one.only):
            said = check_loop(rule, kernels.get(rule.kernel))
            if said:
                wrong.append(f"{name}: {rule.kernel}: {said}")
            else:
                print(f"  ISA   {Path(name).stem} {rule.kernel}: a loop of {rule.work}")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
