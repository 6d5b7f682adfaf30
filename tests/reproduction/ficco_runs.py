# SPDX-License-Identifier: BSD-3-Clause
"""Programs on simulated machines for docs/reproduction/ficco.md: what ran, what it said, and what it cost."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin")
MODELS = ROOT / "device" / "sim" / "models"
RANKS = 8
MESH, SWITCH = f"sim:mi300x:0-{RANKS - 1}", f"sim:h100:0-{RANKS - 1}"
ONE_RUN = ("--min-samples", "1", "--max-samples", "1", "--warm-up", "0")
_TIME = shutil.which("time", path="/usr/bin")
_GOOD = (0, 3)  # 3: the program ran, and nothing of it is valid

# M, N, K as public code of the authors has them. The programs know the same names; Case.check_shape() compares.
SHAPES = {"g1": (16384, 16384, 131072), "g2": (131072, 16384, 16384), "g3": (53248, 16384, 131072), "g4": (16384, 53248, 16384),
          "g5": (8192, 8192, 262144), "g6": (262144, 8192, 8192), "g7": (28672, 8192, 262144), "g8": (262144, 28672, 8192),
          "g9": (196608, 18432, 16384), "g10": (196608, 106496, 16384), "g11": (1048576, 10240, 8192),
          "g12": (1048576, 57344, 8192), "g13": (1607680, 57344, 8192), "g14": (147456, 28672, 4096),
          "g15": (327680, 28672, 4096), "g16": (229376, 28672, 4096)}


@dataclass(frozen=True)
class Case:
    """A case record; `id` is the shape's name, also where the command line gives its sides."""
    id: str
    axes: dict
    reason: str  # why it did not run; "": it did
    times: dict[str, float]  # variant -> median seconds
    derived: dict[tuple[str, str | None], float]  # name, variant
    facts: dict

    def value(self, name: str, variant: str | None = None) -> float:
        return self.derived[name, variant]

    def check_shape(self) -> None:
        sides = tuple(self.facts[s] for s in "mnk")
        if self.id in SHAPES and self.axes["shape"] == self.id and self.axes["mflop"] == 0 and sides != SHAPES[self.id]:
            raise ValueError(f"{self.id} is {SHAPES[self.id]} here and {sides} in the programs")


@dataclass(frozen=True)
class Run:
    cases: list[Case]
    wall_s: float
    cpu_s: float | None  # None: /usr/bin/time is not there
    peak_bytes: int | None
    records: Path


def case_of(record: dict, names: dict[str, str]) -> Case:
    shape = record["case"].get("shape", "")
    case = Case(names.get(shape, shape), record["case"], "" if record["status"] == "ok" else record["reason"],
                {v["name"]: v["median_s"] for v in record["variants"]},
                {(d["name"], d["variant"]): d["value"] for d in record["derived"] if d["value"] is not None}, record["facts"])
    if not case.reason and all(side in case.facts for side in "mnk"):
        case.check_shape()
    return case


def cases_of(lines: Iterable[str], names: dict[str, str] | None = None) -> list[Case]:
    """`names`: shape on the command line -> its name."""
    records = (json.loads(line) for line in lines)
    return [case_of(r, names or {}) for r in records if r["kind"] == "case"]


def run(keep: Path, name: str, program: str, options: Iterable[str], names: dict[str, str] | None = None) -> Run:
    """Keeps the records in keep/ficco/NAME.jsonl."""
    path, cost = keep / "ficco" / f"{name}.jsonl", keep / "ficco" / "cost"
    path.parent.mkdir(parents=True, exist_ok=True)
    # A child of Python has Python's memory as its peak.
    watch = [_TIME, "-f", "%M %U %S", "-o", str(cost)] if _TIME else []
    begin = time.monotonic()
    with path.open("w", encoding="utf-8") as out:
        done = subprocess.run([*watch, str(BIN / program), *options, "--format", "json"], stdin=subprocess.DEVNULL, stdout=out,
                              check=False)
    wall_s = time.monotonic() - begin
    if done.returncode not in _GOOD:
        sys.exit(f"ficco.py: {program} {' '.join(options)}: exit {done.returncode}")
    with path.open(encoding="utf-8") as lines:
        cases = cases_of(lines, names)
    print(f"{name}: {sum(not c.reason for c in cases)} of {len(cases)} cases ran, {wall_s:.1f} s", flush=True)
    peak_kib, user_s, system_s = map(float, cost.read_text().split()[-3:]) if watch else (None, None, None)
    cost.unlink(missing_ok=True)
    return Run(cases, wall_s, user_s + system_s if watch else None, int(peak_kib) * 1024 if watch else None, path)


def ficco(keep: Path, name: str, device: str, op: str, kind: str, shapes: dict[str, str], *more: str) -> Run:
    """overlap/ficco on full sizes; `shapes`: name -> how the command line says it."""
    options = ["--device", device, "--op", op, "--type", kind, "--shape", ",".join(shapes.values()), "--mflop", "0", *more]
    return run(keep, name, "overlap/ficco", options, {word: shape for shape, word in shapes.items()})


def sides(m: int, n: int, k: int) -> str:
    return f"{m}x{n}x{k}"


def as_named() -> dict[str, str]:
    return {name: name for name in SHAPES}


def sharded(op: str) -> dict[str, str]:
    """Weights divided among the ranks: the columns of B, or its rows where partial sums are added afterwards."""
    return {name: sides(m, n, k // RANKS) if op == "gemm-rs" else sides(m, n // RANKS, k) for name, (m, n, k) in SHAPES.items()}


def rows_per_rank() -> dict[str, str]:
    return {name: sides(m * RANKS, n, k) for name, (m, n, k) in SHAPES.items()}


def cited(model: str, papers: Iterable[str]) -> list[tuple[str, str]]:
    """Keys of a model's text whose comment names one of the papers, with that comment."""
    found, above = [], []
    for line in model.splitlines():
        if line.startswith("#") or not line:
            above = [*above, line.lstrip("# ")] if line else []
            continue
        words, _, comment = line.partition("#")
        said = comment.strip() or " ".join(above)
        if any(paper in said for paper in papers):
            found.append((words.partition("=")[0].strip(), said))
        above = []
    return found
