# SPDX-License-Identifier: BSD-3-Clause
"""Programs on simulated machines for docs/reproduction/ficco.md, with shapes that are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable

import program_runs
from program_runs import Case, Run

RANKS = 8
MESH, SWITCH = f"sim:mi300x:0-{RANKS - 1}", f"sim:h100:0-{RANKS - 1}"

# M, N, K as public code of the authors has them. The programs know the same names; Case.check_shape()
# compares.
SHAPES = {
    "g1": (16384, 16384, 131072),
    "g2": (131072, 16384, 16384),
    "g3": (53248, 16384, 131072),
    "g4": (16384, 53248, 16384),
    "g5": (8192, 8192, 262144),
    "g6": (262144, 8192, 8192),
    "g7": (28672, 8192, 262144),
    "g8": (262144, 28672, 8192),
    "g9": (196608, 18432, 16384),
    "g10": (196608, 106496, 16384),
    "g11": (1048576, 10240, 8192),
    "g12": (1048576, 57344, 8192),
    "g13": (1607680, 57344, 8192),
    "g14": (147456, 28672, 4096),
    "g15": (327680, 28672, 4096),
    "g16": (229376, 28672, 4096),
}


def check_shape(case: Case) -> None:
    if case.reason or not all(side in case.facts for side in "mnk"):
        return
    sides_found = tuple(case.facts[s] for s in "mnk")
    if (
        case.id in SHAPES
        and case.axes["shape"] == case.id
        and case.axes["mflop"] == 0
        and sides_found != SHAPES[case.id]
    ):
        raise ValueError(f"{case.id} is {SHAPES[case.id]} here and {sides_found} in the programs")


def cases_of(lines: Iterable[str], names: dict[str, str] | None = None) -> list[Case]:
    """program_runs.cases_of(), of the shapes that are meant."""
    cases = program_runs.cases_of(lines, names)
    for case in cases:
        check_shape(case)
    return cases


def run(
    keep: Path, name: str, program: str, options: Iterable[str], names: dict[str, str] | None = None
) -> Run:
    """Keeps the records in keep/ficco/NAME.jsonl."""
    found = program_runs.run(keep / "ficco" / f"{name}.jsonl", program, options, names)
    for case in found.cases:
        check_shape(case)
    return found


def ficco(keep: Path, name: str, device: str, op: str, kind: str, shapes: dict[str, str], *more: str) -> Run:
    """overlap/ficco on full sizes; `shapes`: name -> how the command line says it."""
    options = [
        "--device",
        device,
        "--op",
        op,
        "--type",
        kind,
        "--shape",
        ",".join(shapes.values()),
        "--mflop",
        "0",
        *more,
    ]
    return run(keep, name, "overlap/ficco", options, {word: shape for shape, word in shapes.items()})


def sides(m: int, n: int, k: int) -> str:
    return f"{m}x{n}x{k}"


def as_named() -> dict[str, str]:
    return {name: name for name in SHAPES}


def sharded(op: str) -> dict[str, str]:
    """Weights divided among the ranks: the columns of B, or its rows where partial sums are added
    afterwards."""
    return {
        name: sides(m, n, k // RANKS) if op == "gemm-rs" else sides(m, n // RANKS, k)
        for name, (m, n, k) in SHAPES.items()
    }


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
