# SPDX-License-Identifier: BSD-3-Clause
"""Pools of runs on a simulated device whose truth is known: equal ones, and ones with a mechanism slowed
down.

Each run is a whole `./gpusig run --headline` in its own processes, on a model file of its own: the seed of
the model is that of the run, so that every run has another offset (open_sigma) and other jitter. Runs that
are there already are kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Noise of the order of a well-kept GPU node: 1 % between processes, 1 % per operation, a drift, and rare
# outliers.
NOISY = """like = default
llc_bytes = 2M
open_sigma = 0.01
jitter_sigma = 0.01
block_jitter_sigma = 0.02
drift_per_s = 0.01
outlier_probability = 0.002
outlier_factor = 5
"""
QUIET = "like = quiet\nllc_bytes = 2M\n"
BUDGET_S = 30
# All that touch neither MPI nor several devices, but for the two whose samples take longest to simulate.
PROGRAMS = (
    "gemm/*",
    "micro/contention",
    "micro/copy_contention",
    "micro/copy_path",
    "micro/latency",
    "micro/launch",
    "micro/memory",
    "micro/occupancy",
    "micro/priority",
    "overlap/ficco",
    "overlap/out_of_core",
    "overlap/pair",
    "overlap/trigger",
)
FACTORS = (1.05, 1.10)
MECHANISMS = ("gemm", "engine")


def name_of(mechanism: str, factor: float) -> str:
    return f"{mechanism}-{factor:.2f}"


def wanted(equal: int, slow: int) -> list[tuple[str, str, int]]:
    """Pool, model, number of runs. The truth has no noise."""
    pools = [("equal", NOISY, equal), ("truth", QUIET, 1)]
    for mechanism in MECHANISMS:
        for factor in FACTORS:
            line = f"slow_down = {mechanism} {factor}\n"
            pools.append((name_of(mechanism, factor), NOISY + line, slow))
        pools.append((f"truth-{mechanism}", QUIET + f"slow_down = {mechanism} {FACTORS[0]}\n", 1))
    return pools


def measure(folder: Path, pool: str, model: str, number: int) -> str:
    """One run; an empty text, or what went wrong."""
    place = folder / pool / f"run-{number}"
    if (place / "signature.json").is_file():
        return ""
    work = folder / "models" / f"{pool}-{number}"
    work.mkdir(parents=True, exist_ok=True)
    seed = number + 1000 * (1 + sum(map(ord, pool)))
    (work / "m.model").write_text(f"{model}seed = {seed}\n", encoding="ascii")
    only = [word for glob in PROGRAMS for word in ("--only", glob)]
    words = [
        sys.executable,
        "-m",
        "suite",
        "--cwd",
        str(work),
        "run",
        "--headline",
        "--device",
        "sim:./m.model",
        "--seed",
        str(seed),
        "--budget",
        f"{BUDGET_S}s",
        "--out",
        str(place),
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


def make(folder: Path, equal: int, slow: int, jobs: int) -> list[str]:
    """All runs that are missing; what went wrong. In virtual time runs at once do not disturb each other."""
    todo = [
        (pool, model, number) for pool, model, count in wanted(equal, slow) for number in range(1, count + 1)
    ]
    with ThreadPoolExecutor(jobs) as pool_of_threads:
        return [words for words in pool_of_threads.map(lambda one: measure(folder, *one), todo) if words]
