# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of a simulated fleet whose truth is known: equal ones, but for what nodes differ by, and ones with a
mechanism slow.

Each node is a whole `./gpusig run --headline` in its own processes, on a model of its own: every mechanism of
its device is faster or slower by a draw that stays with the node (SPREAD), every program by one of its own,
and every operation has jitter. Nodes that are there already are kept.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SPREAD = 0.005  # standard deviation of a mechanism from node to node
MODEL = """like = default
llc_bytes = 2M
open_sigma = 0.003
jitter_sigma = 0.01
block_jitter_sigma = 0.02
drift_per_s = 0.01
outlier_probability = 0.002
outlier_factor = 5
"""
MECHANISMS = ("fma_f32", "fma_f64", "gemm", "read", "write", "triad", "triad_nt", "copy", "chase", "engine")
SLOW, FACTOR = ("gemm", "read", "chase"), 1.05
# The quick ones, which together have a number of every mechanism that is slow in some pool.
PROGRAMS = (
    "gemm/efficiency",
    "micro/contention",
    "micro/latency",
    "micro/launch",
    "micro/memory",
    "micro/occupancy",
    "overlap/pair",
)
_BUDGET_S = 15


class Fleet(NamedTuple):
    """`seed` goes into every draw; no `programs` are all that have a headline number."""

    seed: str
    model: str
    spread: float
    slow: tuple[str, ...]
    programs: tuple[str, ...] = ()


MANY = Fleet("", MODEL, SPREAD, SLOW, PROGRAMS)
# Every number of these together varies by about 0.5 % from node to node: mechanism, program and jitter.
RACK = Fleet(
    "rack of eight ",
    """like = h100
open_sigma = 0.003
jitter_sigma = 0.005
outlier_probability = 0.002
outlier_factor = 3
""",
    0.0035,
    ("gemm", "engine"),
)


def model_of(fleet: Fleet, pool: str, number: int) -> str:
    """The device of a node: the same each time."""
    draw = random.Random(f"{fleet.seed}{pool} {number}")
    lines = [fleet.model, f"seed = {draw.randrange(1 << 32)}\n"]
    for mechanism in MECHANISMS:
        factor = math.exp(draw.gauss(0, fleet.spread)) * (FACTOR if mechanism == pool else 1.0)
        lines.append(f"slow_down = {mechanism} {factor:.6f}\n")
    return "".join(lines)


def _measure(fleet: Fleet, folder: Path, pool: str, number: int) -> str:
    """One node; an empty text, or what went wrong."""
    place = folder / pool / f"node{number:03d}"
    if (place / "signature.json").is_file():
        return ""
    work = folder / "models" / f"{pool}-{number}"
    work.mkdir(parents=True, exist_ok=True)
    (work / "m.model").write_text(model_of(fleet, pool, number), encoding="ascii")
    only = [word for name in fleet.programs for word in ("--only", name)]
    words = [
        sys.executable,
        "-m",
        "suite",
        "--cwd",
        str(work),
        "run",
        "--headline",
        "--device",
        f"sim:{work}/m.model",
        "--seed",
        str(number),
        "--budget",
        f"{_BUDGET_S}s",
        "--out",
        str(place.absolute()),
        *only,
    ]
    done = subprocess.run(
        words,
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return (
        ""
        if (place / "signature.json").is_file()
        else f"{place}: exit {done.returncode}\n{done.stderr[-500:]}"
    )


def make(fleet: Fleet, folder: Path, equal: int, slow: int, jobs: int) -> list[str]:
    """All nodes that are missing; what went wrong. In virtual time runs at once do not disturb each other."""
    folder = folder.absolute()
    todo = [("equal", number) for number in range(1, equal + 1)]
    todo += [(pool, number) for number in range(1, slow + 1) for pool in fleet.slow]
    with ThreadPoolExecutor(jobs) as threads:
        return [words for words in threads.map(lambda one: _measure(fleet, folder, *one), todo) if words]


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: fleet_pools.py FOLDER EQUAL SLOW JOBS")
    wrong = make(MANY, Path(sys.argv[1]), *(int(word) for word in sys.argv[2:]))
    sys.exit("\n".join(wrong[:5]) if wrong else 0)
