# SPDX-License-Identifier: BSD-3-Clause
"""Compares "Resource-aware overlap" (arXiv 2606.09200) with simulated devices: writes
docs/reproduction/shaping.md.

shaping.py [--out FILE] [--keep DIR]

Needs bin/overlap/shaping and bin/micro/occupancy. Their records are kept in DIR (build/reproduction), and
measured again when the program or its options change.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent))

import shaping_rows as found
import shaping_tables as tables
from program_runs import BIN, write_document
from shaping_rows import A_BLOCK_A_TILE, GRIDS, LAST, MIB, SCENARIOS, TILES, Row
from shaping_tables import CLAIM, ITERATIONS, MACHINES, RESIDENTS

MESSAGE = 896 * MIB


# ------------------------------------------------------------------ running


def records(program: str, name: str, options: list[str], keep: Path) -> list[dict[str, Any]]:
    """The cases that the program writes. What is kept has a name by the program's bytes and its options."""
    binary = BIN / program
    digest = hashlib.sha256(binary.read_bytes() + "\0".join(options).encode()).hexdigest()[:16]
    file = keep / f"shaping-{name}-{digest}.jsonl"
    if not file.is_file():
        print(f"shaping.py: {name}", file=sys.stderr)
        done = subprocess.run(
            [str(binary), *options, "--format", "json"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{program} {' '.join(options)}: exit {done.returncode}\n{done.stderr[-500:]}")
        keep.mkdir(parents=True, exist_ok=True)
        for old in keep.glob(f"shaping-{name}-{'[0-9a-f]' * 16}.jsonl"):
            old.unlink()
        part = file.with_suffix(".part")
        part.write_text(done.stdout, encoding="utf-8")
        part.replace(file)
    return [r for r in map(json.loads, file.read_text(encoding="utf-8").splitlines()) if r["kind"] == "case"]


class Runs:
    """All that is simulated."""

    def __init__(self, keep: Path) -> None:
        self._keep = keep

    def cases(
        self,
        machine: str,
        name: str,
        change: str = "",
        *,
        scenario: str = "cb-ar",
        tile: str = ",".join(TILES),
        grid: str,
        iterations: int,
        message: int = MESSAGE,
    ) -> list[Row]:
        short, devices = MACHINES[machine]
        # Without noise all samples are alike, but an interval needs six.
        options = [
            "--device",
            f"sim:{short}{change}:0-{devices - 1}",
            "--scenario",
            scenario,
            "--tile",
            tile,
            "--grid",
            grid,
            "--shared",
            CLAIM,
            "--iterations",
            str(iterations),
            "--mflop",
            "0",
            "--message",
            str(message),
            "--min-samples",
            "6",
            "--max-samples",
            "6",
            "--warm-up",
            "0",
            "--budget",
            "60m",
        ]
        return [
            found.row_of(r, machine)
            for r in records("overlap/shaping", f"{short}-{name}", options, self._keep)
        ]

    def sweep(self) -> list[Row]:
        """Virtual time is not disturbed by other work, so all cores are used."""
        grids = ",".join(map(str, (*GRIDS, A_BLOCK_A_TILE)))
        each = [(machine, count) for machine in MACHINES for count in ITERATIONS]

        def of(one: tuple[str, int]) -> list[Row]:
            return self.cases(
                one[0], str(one[1]), scenario=",".join(SCENARIOS), grid=grids, iterations=one[1]
            )

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return [row for rows in pool.map(of, each) for row in rows]

    def residents(self, machine: str) -> dict[int, int]:
        """By bytes that a block claims, where neither slots nor registers limit them."""
        short = MACHINES[machine][0]
        options = [
            "--device",
            f"sim:{short}?slots_per_unit=32,registers_per_unit_bytes=0",
            "--shared",
            "8K,16K,32K",
        ]
        cases = records("micro/occupancy", f"{short}-residents", options, self._keep)
        values = {case["case"]["shared"]: {d["name"]: d["value"] for d in case["derived"]} for case in cases}
        return {shared: int(of["residents_per_unit"]) for shared, of in values.items()}


def equal_parts(runs: Runs, rows: list[Row]) -> list[Row]:
    """Messages that take as long as the GEMM. Both grow with the size, so one step of a proportion is near
    enough."""
    equal = []
    for grid in (128, 512, LAST):
        row = tables.row_at(
            [r for r in rows if (r.machine, r.scenario) == ("A40", "cb-ar")], "64x64x64", grid
        )
        message = int(MESSAGE * row.gemm_s / row.comm_s) >> 20 << 20
        for count in ITERATIONS:
            equal += runs.cases(
                "A40",
                f"equal-{grid}-{count}",
                tile="64x64x64",
                grid=str(grid),
                iterations=count,
                message=message,
            )
    return equal


def two_byte_residents(runs: Runs) -> list[Row]:
    rows: list[Row] = []
    for at, machine in enumerate(MACHINES):
        # As many f32 tiles are resident as two-byte ones in the paper.
        wanted = {found.tile_bytes(tile, 4): paper[at] for tile, element, paper in RESIDENTS if element == 2}
        pool = found.pool_for(wanted, tables.model(machine)["shared_reserved_bytes"])
        rows += runs.cases(
            machine, "two-bytes", f"?shared_per_unit_bytes={pool}", grid="512,1024", iterations=ITERATIONS[-1]
        )
    return rows


def written(runs: Runs) -> Iterator[str]:
    rows, last = runs.sweep(), ITERATIONS[-1]
    free = runs.cases(
        "A40", "registers", "?registers_per_unit_bytes=0", tile="64x64x32", grid="512,1024", iterations=last
    )
    wide = runs.cases("A40", "cache", "?llc_bandwidth=10x", tile="64x64x64", grid="512,1024", iterations=last)
    slow = runs.cases("MI250X", "share", "?block_share=0.25", grid="256,512,1024", iterations=last)
    noisy, quiet = (
        runs.cases("A40", name, change, scenario="mb-a2a", tile="64x64x32", grid="512", iterations=3)[0]
        for name, change in (("jitter", "?block_jitter_sigma=0.001"), ("still", ""))
    )
    yield tables.words.HEAD
    yield from tables.residents({machine: runs.residents(machine) for machine in MACHINES}, rows)
    yield from tables.grids(rows)
    yield from tables.shape(rows)
    yield from tables.headline(rows, equal_parts(runs, rows))
    yield from tables.high_counts(rows, slow)
    yield from tables.two_bytes(two_byte_residents(runs))
    yield from tables.tiles(rows)
    yield from tables.bounds(rows, noisy, quiet)
    yield from tables.other_reasons(rows, free, wide)


if __name__ == "__main__":
    sys.exit(write_document("shaping", "overlap/shaping", lambda keep: written(Runs(keep))))
