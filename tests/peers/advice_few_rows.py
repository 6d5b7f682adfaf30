# SPDX-License-Identifier: BSD-3-Clause
"""Score of ./gpusig advise for few rows: how often is its way the best, on the built-in machines?

    advice_few_rows.py --keep DIR

Scenarios are gemm-rs and gemm-ar in bf16 of the layers after which a step of inference with tensor
parallelism adds up sums, K divided among the devices, with 1 to 64 rows, with warm operands and with cold
ones, as weights are in each step. A run of ./gpusig on the machine, without overlap/*, gives the signature;
the truth is what overlap/ficco takes on the machine itself, for both cuts. Good: a fastest way, or at most
2 % slower. Printed as Markdown. --keep has the signatures, and what is there is not run again."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(HOME)]

from reports.advice.ask import (
    COLD,
    COLUMNS,
    PROGRAM,
    ROWS,
    SERIAL,
    WARM,
    Adviser,
    Sides,
    Times,
    Way,
    Work,
    read_signature,
)

MACHINES = {"h100": 4, "a100": 4, "mi300x": 8}
OPS = ("gemm-rs", "gemm-ar")
ROW_COUNTS = (1, 2, 4, 8, 16, 32, 64)
# N and whole K of the output of attention and of the second matrix of the MLP: Llama 3 8B, 70B, 405B.
LAYERS = ((4096, 4096), (4096, 14336), (8192, 8192), (8192, 28672), (16384, 16384), (16384, 53248))
GOOD = 1.02
# More memory than a machine has, for as many sets of cold operands as a schedule of many parts takes.
EXACT = ["--min-samples", "1", "--max-samples", "1", "--warm-up", "1", "--no-references"]
LARGE = "memory_bytes=1000000000000000"


class Row(NamedTuple):
    way: Way  # advised
    told: float  # seconds
    truth: Times

    @property
    def best(self) -> float:
        return min(self.truth.values())

    def loss(self, way: Way) -> float:
        return self.truth[way] / self.best - 1

    def is_good(self, way: Way) -> bool:
        return way in self.truth and self.truth[way] <= GOOD * self.best


def signature_of(machine: str, folder: Path) -> Path:
    if not (folder / "signature.json").exists():
        only = [word for name in ("micro/*", "gemm/*", "collectives/*") for word in ("--only", name)]
        device = "sim:%s:0-%d" % (machine, MACHINES[machine] - 1)
        words = ["./gpusig", "run", "--device", device, *only, "--out", str(folder)]
        subprocess.run(words, cwd=HOME, check=True, stdout=subprocess.DEVNULL)
    return folder


def truth_of(machine: str, work: Work, shapes: list[Sides]) -> dict[Sides, Times]:
    """Seconds of every schedule on the machine itself."""
    words = [str(HOME / "bin" / PROGRAM), "--device", "sim:%s?%s:0-%d" % (machine, LARGE, work.devices - 1)]
    words += ["--op", work.op, "--type", work.type, "--cut", "%s,%s" % (ROWS, COLUMNS), "--mflop", "0"]
    words += ["--shape", ",".join("%dx%dx%d" % sides for sides in shapes), "--operands", work.operands]
    out = subprocess.run([*words, *EXACT, "--format", "json"], check=True, capture_output=True).stdout
    found: dict[Sides, Times] = {}
    for record in map(json.loads, out.splitlines()):
        if record["kind"] == "case" and record["status"] == "ok":
            case = record["case"]
            m, n, k = (int(side) for side in case["shape"].split("x"))
            times = {
                Way(v["name"], case["copy-method"], case["cut"]): v["median_s"] for v in record["variants"]
            }
            found.setdefault((m, n, k), {}).update(times)
    return found


def rows_of(machine: str, folder: Path) -> dict[str, list[Row]]:
    """By operands."""
    found: dict[str, list[Row]] = {WARM: [], COLD: []}
    path, devices = signature_of(machine, folder / machine), MACHINES[machine]
    adviser = Adviser(read_signature(path), path, HOME / "bin", folder)
    shapes = [(m, n, k // devices) for n, k in LAYERS for m in ROW_COUNTS]
    for operands, rows in found.items():
        for work in (Work(op, "bf16", devices, operands) for op in OPS):
            told, truth = adviser.times(shapes, work), truth_of(machine, work, shapes)
            for sides in shapes:
                way = min(told[sides], key=lambda way: told[sides][way])
                rows.append(Row(way, told[sides][way], truth[sides]))
    return found


def line_of(machine: str, operands: str, rows: list[Row]) -> list[str]:
    good = sum(row.is_good(row.way) for row in rows)
    constant = sum(any(row.is_good(way) for way in row.truth if way.schedule == SERIAL) for row in rows)
    off = sorted(abs(row.told / row.truth[row.way] - 1) for row in rows)
    # The best schedule of several parts by rows, over the best by columns.
    parts = [row for row in rows if any(w.cut == ROWS and w.schedule != SERIAL for w in row.truth)]
    gains = [
        min(s for w, s in row.truth.items() if w.cut == ROWS and w.schedule != SERIAL)
        / min(s for w, s in row.truth.items() if w.cut == COLUMNS and w.schedule != SERIAL)
        for row in parts
    ]
    return [
        machine,
        str(MACHINES[machine]),
        operands,
        "%d of %d" % (good, len(rows)),
        "%.1f %%" % (100 * max(row.loss(row.way) for row in rows)),
        "%d" % constant,
        "%d" % sum(row.way.schedule != SERIAL for row in rows),
        "%.1f %%, %.1f %%" % (100 * off[len(off) // 2], 100 * off[-1]),
        "%.2f to %.2f" % (min(gains), max(gains)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, required=True)
    folder = parser.parse_args().keep.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    head = ["machine", "devices", "operands", "good", "most lost", "good: always serial", "advised parts"]
    head += ["error of its time: median, most", "best of parts, rows / columns"]
    lines = [head, ["---"] * len(head)]
    for machine in MACHINES:
        lines += [line_of(machine, *found) for found in rows_of(machine, folder).items()]
    print("\n".join("| %s |" % " | ".join(line) for line in lines))


if __name__ == "__main__":
    main()
