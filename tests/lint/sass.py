# SPDX-License-Identifier: BSD-3-Clause
"""Checks the machine code of the loops of device/gpu/kernels/kernels.cu: nvcc compiles, nvdisasm lists the
machine code.

sass.py [--nvcc NVCC] [--list KERNEL] [ARCHITECTURE...] prints "  SASS  ..." for each check that passes and
"skip: ..." for what cannot be checked here; it prints errors on stderr and ends with exit code 1. It looks
for nvdisasm as $NVDISASM, in PATH, in $CUDA_HOME/bin, in the Python package nvidia-cuda-nvdisasm, and in
build/tools, where setup.sh puts that package. NVRTC uses the same assembler, but may generate other code.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = "device/gpu/kernels/kernels.cu"
LIST = "device/kernels.h"
ARCHITECTURES = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_103", "sm_120")
# Instructions that count the rounds of a loop.
COUNTING = (
    r"VIADD|U?IADD3?(\.X|\.64)?|IMAD\.(X|IADD|MOV\.U32)|U?ISETP\.[\w.]+|U?PLOP3\.LUT|U?MOV(\.64)?|BRA(\.U)?"
)
WAITING = COUNTING + "|NOP"
# The uniform datapath computes the descriptor of shared memory again in each round; and wgmma needs waits.
DESCRIBING = WAITING + r"|S2UR|U(LEA|LOP3\.LUT|SHF\.R\.U(32\.HI|64)|PRMT)|WARPGROUP\.(ARRIVE|DEPBAR\.LE)"
# The compiler loads constants with an idle pipe.
CONSTANT = r"HFMA2(\.MMA)? R\d+, -RZ, RZ, "


@dataclass(frozen=True)
class Loop:
    """A rule for the innermost loop of a kernel that has the most `work` instructions: at least min_work of
    them, and at most max_others other instructions, all of which match `others`. `work` and `others` are
    patterns of whole opcodes. The rule applies to architectures from `since` to below `before`, as numbers,
    or to those that `only` names."""

    kernel: str
    work: str
    min_work: int
    max_others: int
    others: str = COUNTING
    since: int = 0
    before: int = 1000
    only: tuple[str, ...] = ()

    def applies(self, arch: str) -> bool:
        return arch in self.only if self.only else self.since <= int(re.sub(r"\D", "", arch)) < self.before


@dataclass(frozen=True)
class Registers:
    kernel: str
    max_registers: int


LOOPS = (
    Loop("chase", r"LDG\.E\.64(\.SYS)?", min_work=16, max_others=8),
    Loop("fma_f32", r"FFMA", min_work=128, max_others=8),
    # sm_103 has few f64 units; the assembler inserts NOP to wait for them.
    Loop("fma_f64", r"DFMA|NOP", min_work=128, max_others=8),
    # The assembler inserts NOP between f8 instructions, and between all matrix instructions on sm_120.
    Loop("mma_f16", r"HMMA\.16816\.F32", min_work=32, max_others=36, others=WAITING, since=80),
    Loop("mma_bf16", r"HMMA\.16816\.F32\.BF16", min_work=32, max_others=36, others=WAITING, since=80),
    Loop("mma_tf32", r"HMMA\.1688\.F32\.TF32", min_work=32, max_others=36, others=WAITING, since=80),
    Loop(
        "mma_f8",
        r"QMMA\.16832\.F32\.E4M3\.E4M3",
        min_work=32,
        max_others=36,
        others=WAITING,
        only=("sm_89", "sm_120"),
    ),
    Loop(
        "mma_i8",
        r"IMMA\.16832\.S8\.S8",
        min_work=32,
        max_others=36,
        others=WAITING,
        only=("sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"),
    ),
    # As of f64, sm_103 has few units of i8.
    Loop("mma_i8", r"IMMA\.16832\.S8\.S8", min_work=32, max_others=132, others=WAITING, only=("sm_103",)),
    Loop(
        "wgmma_f16", r"HGMMA\.64x256x16\.F32", min_work=8, max_others=34, others=DESCRIBING, only=("sm_90a",)
    ),
    Loop(
        "wgmma_bf16",
        r"HGMMA\.64x256x16\.F32\.BF16",
        min_work=8,
        max_others=34,
        others=DESCRIBING,
        only=("sm_90a",),
    ),
    Loop(
        "wgmma_tf32",
        r"HGMMA\.64x256x8\.F32\.TF32",
        min_work=8,
        max_others=34,
        others=DESCRIBING,
        only=("sm_90a",),
    ),
    Loop(
        "wgmma_f8",
        r"QGMMA\.64x256x32\.F32\.E4M3\.E4M3",
        min_work=8,
        max_others=34,
        others=DESCRIBING,
        only=("sm_90a",),
    ),
    Loop(
        "wgmma_i8",
        r"IGMMA\.64x256x32\.S8\.S8",
        min_work=8,
        max_others=34,
        others=DESCRIBING,
        only=("sm_90a",),
    ),
)
# Two blocks of 256 threads share 65536.
REGISTERS = (
    Registers("gemm_f32", 128),
    Registers("gemm_f64", 128),
    Registers("gemm_adding_f32", 128),
    Registers("gemm_adding_f64", 128),
    # Three blocks.
    Registers("gemm_textbook_32", 80),
    Registers("gemm_textbook_64", 80),
)


@dataclass(frozen=True)
class Instruction:
    opcode: str
    text: str
    target: str  # label of a branch, or ""


@dataclass(frozen=True)
class Kernel:
    code: list[Instruction]
    labels: dict[str, int]  # index of the instruction that follows

    def innermost_loops(self) -> list[list[Instruction]]:
        spans = [
            (self.labels[one.target], end)
            for end, one in enumerate(self.code)
            if self.labels.get(one.target, end) < end
        ]
        inner = [
            (begin, end)
            for begin, end in spans
            if not any((b, e) != (begin, end) and begin <= b and e <= end for b, e in spans)
        ]
        return [self.code[begin : end + 1] for begin, end in inner]


def listed_kernels() -> list[str]:
    """Kernels of DEV_KERNELS that no device may lack."""
    rows = re.findall(r"^\tKERNEL\((\w+), (\w+),", (ROOT / LIST).read_text(encoding="utf-8"), re.M)
    if not rows:
        raise ValueError(f"{LIST}: no kernel is listed")
    return [name for name, trait in rows if trait != "MATRIX_UNITS"]


def parse(listing: str) -> dict[str, Kernel]:
    """nvdisasm -c: a section .text.NAME for each kernel, with labels and /*address*/ instruction ; lines."""
    kernels: dict[str, Kernel] = {}
    kernel = None
    for line in listing.splitlines():
        if section := re.match(r"\.text\.gpusig_(\w+):", line):
            kernel = kernels.setdefault(section[1], Kernel([], {}))
        elif kernel and (label := re.match(r"(\.L_\w+):", line)):
            kernel.labels[label[1]] = len(kernel.code)
        elif kernel and (
            found := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+\{?\s*(?:@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);", line)
        ):
            text = f"{found[1]}{found[2]}".strip()
            target = re.search(r"^BRA.*`\((\.L_\w+)\)", text)
            kernel.code.append(
                Instruction(
                    "MOV" if re.match(CONSTANT, text) else found[1], text, target[1] if target else ""
                )
            )
    return kernels


def check_loop(rule: Loop, kernel: Kernel | None) -> str:
    """The error, or ""."""
    if not kernel:
        return "no such kernel"
    loops = kernel.innermost_loops()
    count = [sum(bool(re.fullmatch(rule.work, one.opcode)) for one in loop) for loop in loops]
    if not loops or max(count) < rule.min_work:
        return f"no loop has {rule.min_work} of {rule.work}: {count or 'no loop'}"
    best = loops[count.index(max(count))]
    others = [one for one in best if not re.fullmatch(rule.work, one.opcode)]
    foreign = [one.text for one in others if not re.fullmatch(rule.others, one.opcode)]
    if foreign:
        return f"the loop holds {'; '.join(foreign[:5])}"
    if len(others) > rule.max_others:
        return (
            f"the loop has {max(count)} of {rule.work} and {len(others)} others, more than "
            f"{rule.max_others}: "
            f"{'; '.join(one.text for one in others[:8])}"
        )
    return ""


def check_resources(said: str) -> tuple[dict[str, int], list[str]]:
    """Registers by kernel, and the kernels that spill, from the output of ptxas -v."""
    registers: dict[str, int] = {}
    spills: list[str] = []
    name = ""
    for line in said.splitlines():
        if found := re.search(r"Compiling entry function 'gpusig_(\w+)'", line):
            name = found[1]
        elif found := re.search(r"(\d+) bytes spill stores", line):
            spills += [name] if int(found[1]) else []
        elif found := re.search(r"Used (\d+) registers", line):
            registers[name] = int(found[1])
    return registers, spills


def find_nvdisasm() -> str | None:
    package = importlib.util.find_spec("nvidia")
    folders = [Path(where) for where in (package.submodule_search_locations or [])] if package else []
    folders += (ROOT / "build/tools").glob("*/nvidia")
    found = [
        os.environ.get("NVDISASM"),
        shutil.which("nvdisasm"),
        *(
            str(Path(os.environ.get(name, "/usr/local/cuda")) / "bin/nvdisasm")
            for name in ("CUDA_HOME", "CUDA_PATH")
        ),
        *(str(path) for folder in folders for path in sorted(folder.glob("*/bin/nvdisasm"), reverse=True)),
    ]
    return next((path for path in found if path and os.access(path, os.X_OK)), None)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def knows(nvcc: str, known: list[str], arch: str) -> bool:
    """nvcc does not list architecture-specific targets ("sm_90a")."""
    if arch[-1:] != "a":
        return arch in known
    return arch[:-1] in known and run(nvcc, "--dryrun", "-cubin", f"-arch={arch}", SOURCE).returncode == 0


def compiled(nvcc: str, arch: str, image: str) -> str:
    """The output of ptxas -v; a compilation error raises OSError."""
    made = run(nvcc, "-cubin", f"-arch={arch}", "-I.", "-Xptxas", "-v", "-o", image, SOURCE)
    if made.returncode:
        raise OSError(f"{arch}: {made.stderr.strip()}")
    return made.stderr + made.stdout


def check(nvcc: str, nvdisasm: str | None, arch: str, image: str) -> list[str]:
    """Prints the checks that pass, returns the errors."""
    registers, spills = check_resources(compiled(nvcc, arch, image))
    answers = [
        (
            f"{len(registers)} kernels without spills",
            f"{', '.join(spills)}: spills" if spills or not registers else "",
        )
    ]
    answers += [("", f"{name}: no such kernel") for name in listed_kernels() if name not in registers]
    for rule in REGISTERS:
        used = registers.get(rule.kernel, 1000)
        said = f"{rule.kernel}: {used} registers"
        answers.append((said, said if used > rule.max_registers else ""))
    if nvdisasm:
        listed = run(nvdisasm, "-c", image)
        kernels = parse(listed.stdout)
        if listed.returncode:
            print(f"skip: loops for {arch} ({listed.stderr.strip()})")
        for rule in LOOPS if not listed.returncode else ():
            if rule.applies(arch):
                wrong = check_loop(rule, kernels.get(rule.kernel))
                answers.append(
                    (f"{rule.kernel}: a loop of {rule.work}", f"{rule.kernel}: {wrong}" if wrong else "")
                )
    for good, wrong in answers:
        if not wrong:
            print(f"  SASS  {arch} {good}")
    return [f"{arch} {wrong}" for _, wrong in answers if wrong]


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--nvcc", default="nvcc")
    options.add_argument("--list", metavar="KERNEL", help="print a kernel's innermost loops instead")
    options.add_argument("architectures", nargs="*", default=ARCHITECTURES)
    asked = options.parse_args()
    if not shutil.which(asked.nvcc):
        print(f"skip: the machine code of NVIDIA's kernels (no {asked.nvcc})")
        return 0
    known = run(asked.nvcc, "--list-gpu-code").stdout.split()
    nvdisasm = find_nvdisasm()
    if not nvdisasm:
        print("skip: the loops of NVIDIA's kernels (no nvdisasm)")
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        image = str(Path(folder) / "kernels.cubin")
        for arch in asked.architectures:
            if not knows(asked.nvcc, known, arch):
                print(f"skip: kernels for {arch} ({asked.nvcc} does not know it)")
            elif asked.list and nvdisasm:
                compiled(asked.nvcc, arch, image)
                for loop in parse(run(nvdisasm, "-c", image).stdout)[asked.list].innermost_loops():
                    print(f"{arch} {asked.list}", *(f"\t{one.text}" for one in loop), sep="\n")
            else:
                wrong += check(asked.nvcc, nvdisasm, arch, image)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
