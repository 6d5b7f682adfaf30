# SPDX-License-Identifier: BSD-3-Clause
"""Our programs and their peers on this machine, in alternating launches; prints the ratios as a table.

    make peers                              everything, about ten minutes on an idle machine
    peers.py --only memory --rounds 9       part of it

A row compares one number of ours with the best of its peers. Every round launches ours and all peers of the
row once, in random order; the ratio is formed inside the round. Printed: the median ratio over the rounds
with its order-statistic interval (95 % needs 6 rounds). A peer that is not installed is a row that says so.
Exit 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

SECONDS = 0.4  # of one launch, about


class Missing(Exception):
    pass


@dataclass(frozen=True)
class Launch:
    """A command and how to read its rate from stdout: more is better."""

    name: str
    command: tuple[str, ...]
    rate: Callable[[str], float]
    environment: dict[str, str] = field(default_factory=dict)

    def run(self) -> float:
        if not shutil.which(self.command[0]):
            raise Missing(f"{Path(self.command[0]).name} is not here")
        done = subprocess.run(
            self.command,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, **self.environment},
        )
        if done.returncode not in (0, 1, 3):  # 3: a noisy number is still a number
            raise Missing(f"{' '.join(self.command)}: exit {done.returncode}: {done.stderr.strip()[-200:]}")
        return self.rate(done.stdout)


@dataclass(frozen=True)
class Row:
    name: str
    bar: float
    ours: Launch
    peers: tuple[Launch, ...]


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """Median and the shortest order-statistic interval that covers it with 95 %; the range where there are
    too few."""
    ordered, n = sorted(values), len(values)
    low = 0
    while low + 1 < n / 2 and 1 - 2 * sum(math.comb(n, i) for i in range(low + 2)) / 2**n >= 0.95:
        low += 1
    return statistics.median(ordered), ordered[low], ordered[n - 1 - low]


# ------------------------------------------------------------------ how rates are read


def record_rate(derived: str, variant: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        for line in text.splitlines():
            record = json.loads(line)
            if record["kind"] == "case":
                for quantity in record.get("derived", []):
                    if (quantity["name"], quantity["variant"]) == (derived, variant):
                        return float(quantity["value"])
        raise Missing(f"no {derived} of {variant} in the records")

    return read


def pattern_rate(pattern: str, scale: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        found = re.search(pattern, text)
        if not found:
            raise Missing(f"its output has no {pattern}")
        return float(found[1]) * scale

    return read


# ------------------------------------------------------------------ the rows


@dataclass(frozen=True)
class Machine:
    bin: Path
    helpers: Path
    llc_bytes: int
    l2_bytes: int
    units: int
    blas: str


def probe(binaries: Path, helpers: Path) -> Machine:
    text = subprocess.run(
        [
            binaries / "gemm/efficiency",
            "--device",
            "host",
            "--budget",
            "0.2s",
            "--shape",
            "n64",
            "--type",
            "f32",
            "--format",
            "json",
        ],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    device = json.loads(text.splitlines()[0])["device"][0]
    return Machine(
        binaries, helpers, device["llc_bytes"], device["l2_bytes"], device["units"], device["blas"]
    )


LIKWID = {  # op, stores -> kernels of likwid-bench that name the same bytes
    ("read", "regular"): "load load_avx load_avx512",
    ("write", "regular"): "store store_avx store_avx512",
    ("write", "nontemporal"): "store_mem_avx store_mem_avx512",
    ("copy", "regular"): "copy copy_avx copy_avx512",
    ("copy", "nontemporal"): "copy_mem_avx copy_mem_avx512",
    ("triad", "regular"): "stream_avx_fma stream_avx512 stream_avx512_fma",
    ("triad", "nontemporal"): "stream_mem_avx stream_mem_avx512 stream_mem_avx_fma",
}


def runnable(kernel: str) -> bool:
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return not ("avx512" in kernel and "avx512f" not in flags or "avx" in kernel and " avx " not in flags)


def memory_rows(m: Machine) -> list[Row]:
    rows = []
    footprints = {"half of the L2 caches": m.l2_bytes * m.units // 2, "4 LLC": 4 * m.llc_bytes}
    for place, footprint in footprints.items():
        for (op, stores), kernels in LIKWID.items():
            size = footprint // (24 * 4096) * (24 * 4096)
            passes = max(3, int(SECONDS * 20e9 / size))
            ours = Launch(
                "micro/memory",
                (
                    str(m.bin / "micro/memory"),
                    "--device",
                    "host",
                    "--op",
                    op,
                    "--stores",
                    stores,
                    "--footprint",
                    str(size),
                    "--budget",
                    f"{SECONDS}s",
                    "--format",
                    "json",
                ),
                record_rate("bandwidth", stores),
            )
            peers = tuple(
                Launch(
                    k,
                    ("likwid-bench", "-t", k, "-w", f"S0:{size}B:{m.units}", "-i", str(passes)),
                    pattern_rate(r"MByte/s:\s+([\d.]+)", 1e6),
                )
                for k in kernels.split()
                if runnable(k)
            )
            rows.append(Row(f"memory: {op}, {stores}, {place}", 0.95, ours, peers))
    return rows


def gemm_rows(m: Machine) -> list[Row]:
    library, kernels = m.blas.split()[0], m.blas.split()[-1]
    if library != "OpenBLAS":
        print(f"gemm: the backend chose {m.blas}; the peer is OpenBLAS, left out", file=sys.stderr)
        return []
    rows = []
    for kind in ("f32", "f64"):
        for side in (1024, 2048, 4096):
            ours = Launch(
                "gemm/efficiency",
                (
                    str(m.bin / "gemm/efficiency"),
                    "--device",
                    "host",
                    "--type",
                    kind,
                    "--shape",
                    f"n{side}",
                    "--variant",
                    "gemm",
                    "--budget",
                    f"{3 * SECONDS}s",
                    "--format",
                    "json",
                ),
                record_rate("flop_rate", "gemm"),
            )
            peer = Launch(
                f"OpenBLAS {kernels}, {m.units} threads",
                (str(m.helpers / "gemm_direct"), kind, str(side), str(m.units), str(2 * SECONDS)),
                lambda text: float(json.loads(text)["flop_rate"]),
                {"OPENBLAS_CORETYPE": kernels},
            )
            rows.append(Row(f"gemm: {kind}, n = {side}", 0.95, ours, (peer,)))
    return rows


def copy_rows(m: Machine) -> list[Row]:
    mib = 4 * m.llc_bytes >> 20
    ours = Launch(
        "micro/copy_path",
        (
            str(m.bin / "micro/copy_path"),
            "--device",
            "host",
            "--direction",
            "local",
            "--path",
            "engine",
            "--size",
            f"{mib}M",
            "--budget",
            f"{SECONDS}s",
            "--format",
            "json",
        ),
        record_rate("bandwidth", "engine"),
    )
    mbw = Launch(
        "mbw -t0 (memcpy)",
        ("mbw", "-t0", "-n", "10", str(mib)),
        pattern_rate(r"AVG.*Copy:\s+([\d.]+) MiB/s", 2**20),
    )
    perf = Launch(
        "perf bench mem memcpy",
        ("perf", "bench", "mem", "memcpy", "-s", f"{mib}MB", "-l", "10", "-f", "default"),
        pattern_rate(r"([\d.]+) GB/sec", 2**30),
    )
    return [Row(f"copy: one engine, {mib} MiB", 0.95, ours, (mbw, perf))]


# ------------------------------------------------------------------ allreduce: both inside one job

TUNED = {"rd-l": 3, "ring": 4, "rabenseifner": 6}  # Open MPI's coll_tuned_allreduce_algorithm
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
}
TIME_BAR, WORST_BAR = 1.05, 1.25


def time_ratios(m: Machine, algorithm: str, ranks: int) -> dict[int, float]:
    """size -> our time over the library's, which runs the same algorithm, in interleaved blocks of one
    job."""
    environment = {
        **os.environ,
        **MPI_ENVIRONMENT,
        "OMPI_MCA_coll_tuned_allreduce_algorithm": str(TUNED[algorithm]),
    }
    command = [
        "mpirun",
        "-n",
        str(ranks),
        str(m.bin / "collectives/allreduce"),
        "--algorithm",
        f"{algorithm},library",
        "--size",
        "32:32M:x8",
        "--budget",
        "6s",
        "--format",
        "json",
    ]
    text = subprocess.run(command, capture_output=True, text=True, env=environment, check=False).stdout
    found = {}
    for record in map(json.loads, text.splitlines()):
        for quantity in record.get("derived", []):
            if quantity["name"] == "library_time_ratio" and quantity["value"]:
                found[int(record["case"]["size"])] = float(quantity["value"])
    return found


def allreduce(m: Machine, rounds: int) -> bool:
    if not shutil.which("mpirun") or not (m.bin / "collectives/allreduce").exists():
        print("\nallreduce: no MPI here")
        return True
    good = True
    print(
        "\n| allreduce, 2 ranks, time / Open MPI's own | "
        + " | ".join(
            f"{size >> 10}K" if size >= 1024 else str(size) for size in (32 << 3 * i for i in range(7))
        )
        + " | median | worst |\n|---|"
        + "---|" * 9
    )
    for algorithm in TUNED:
        launches = [time_ratios(m, algorithm, 2) for _ in range(rounds)]
        sizes = sorted(set().union(*launches))
        middle = {size: statistics.median(r[size] for r in launches if size in r) for size in sizes}
        overall, worst = statistics.median(middle.values()), max(middle.values())
        reached = overall <= TIME_BAR and worst <= WORST_BAR
        good &= reached
        print(
            f"| {algorithm} | "
            + " | ".join(f"{middle[s]:.3f}" for s in sizes)
            + f" | {overall:.3f} | {worst:.3f}{'' if reached else ' MISSED'} |",
            flush=True,
        )
    return good


INSTRUCTIONS_BAR = 1.1


def outside_progress(counted: Path) -> int:
    text = subprocess.run(
        ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(counted)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    total = re.search(r"^\s*([\d,]+) .*PROGRAM TOTALS", text, re.M)
    waiting = re.search(r"^\s*([\d,]+) .*:opal_progress ", text, re.M)
    if not total or not waiting:
        raise Missing("callgrind saw no progress loop: not Open MPI?")
    return int(total[1].replace(",", "")) - int(waiting[1].replace(",", ""))


def instructions(m: Machine, algorithm: str, ranks: int, size: int, ours: bool) -> int:
    """Instructions of one rank in 21 runs, by callgrind: the least of all ranks. Outside the library's
    progress loop, where ranks wait."""
    function = "exchange_run" if ours else "run_library"
    # A launch whose leader ends with 3 (flagged: more ranks than cores) must not kill ranks that still write
    # their counts.
    environment = {
        **os.environ,
        **MPI_ENVIRONMENT,
        "OMPI_MCA_coll_tuned_allreduce_algorithm": str(TUNED[algorithm]),
        "OMPI_MCA_orte_abort_on_non_zero_status": "0",
        "LD_BIND_NOW": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "mpirun",
            "-n",
            str(ranks),
            "valgrind",
            "-q",
            "--tool=callgrind",
            f"--callgrind-out-file={folder}/%p",
            "--collect-atstart=no",
            f"--toggle-collect={function}",
            str(m.bin / "collectives/allreduce"),
            "--algorithm",
            algorithm if ours else "library",
            "--size",
            str(size),
            "--min-samples",
            "20",
            "--max-samples",
            "20",
            "--warm-up",
            "0",
            "--check",
            "off",
            "--budget",
            "0.1s",
        ]
        subprocess.run(command, capture_output=True, env=environment, check=False)
        counts = [outside_progress(path) for path in Path(folder).iterdir()]
    if len(counts) != ranks:
        raise Missing(f"callgrind counted {len(counts)} of {ranks} ranks")
    return min(counts)


def allreduce_instructions(m: Machine) -> bool:
    if not shutil.which("valgrind") or not shutil.which("mpirun"):
        print("\nallreduce, instructions: no valgrind or no MPI here")
        return True
    good = True
    print("\n| allreduce, instructions a rank | ours | Open MPI's | ratio |\n|---|---|---|---|")
    for ranks in (4, 8):
        for algorithm in TUNED:
            for size in (1024, 65536, 1 << 20):
                ours, theirs = (
                    min(instructions(m, algorithm, ranks, size, side) for _ in range(2))
                    for side in (True, False)
                )
                good &= ours / theirs <= INSTRUCTIONS_BAR
                print(
                    f"| {algorithm}, {ranks} ranks, {size} bytes | {ours} | {theirs} | {ours / theirs:.3f}"
                    f"{'' if ours / theirs <= INSTRUCTIONS_BAR else ' MISSED'} |",
                    flush=True,
                )
    return good


GROUPS: dict[str, Callable[[Machine], list[Row]]] = {
    "memory": memory_rows,
    "copy": copy_rows,
    "gemm": gemm_rows,
}


# ------------------------------------------------------------------ running and printing


def compare(row: Row, rounds: int, order: random.Random) -> dict[str, object]:
    rates: dict[str, list[float]] = {launch.name: [] for launch in (row.ours, *row.peers)}
    for _ in range(rounds):
        launches = [row.ours, *row.peers]
        order.shuffle(launches)
        for launch in launches:
            rates[launch.name].append(launch.run())
    ours = rates.pop(row.ours.name)
    best = max(rates, key=lambda name: statistics.median(rates[name]))
    ratio, low, high = median_interval([a / b for a, b in zip(ours, rates[best])])
    return {
        "row": row.name,
        "ours": statistics.median(ours),
        "peer": best,
        "theirs": statistics.median(rates[best]),
        "ratio": ratio,
        "low": low,
        "high": high,
        "rounds": rounds,
        "bar": row.bar,
        "reached": ratio >= row.bar,
    }


def harness(m: Machine) -> bool:
    added = json.loads(
        subprocess.run([m.helpers / "empty_body"], capture_output=True, text=True, check=True).stdout
    )
    print(
        f"\nharness: {1e9 * added['calibrated_s']:.2f} ns added per iteration of an empty body in calibrated "
        f"samples, "
        f"{1e9 * added['single_s']:.0f} ns in samples of one iteration (bar: 100 ns)"
    )
    good = max(added.values()) < 100e-9
    for device in ("host", "host:0,1"):
        edge = json.loads(
            subprocess.run(
                [m.helpers / "graph_edges", device], capture_output=True, text=True, check=True
            ).stdout
        )
        print(
            f"harness: {1e9 * edge['enqueue_s']:.0f} ns to enqueue an edge of a graph of empty operations on "
            f"{device}, "
            f"{1e9 * edge['run_s']:.0f} ns to run it (bar: 2000 ns)"
        )
        good &= max(edge["enqueue_s"], edge["run_s"]) < 2e-6
    for device in ("sim", "host"):
        done = subprocess.run(
            [m.helpers.parent / "unit/bench_aa", device], capture_output=True, text=True, check=False
        )
        found = re.search(r"# (.*) trials", done.stdout)
        print(f"harness: A/A on {found[0][2:] if found else device + ': ' + done.stdout.strip()} (bar: 186)")
        good &= done.returncode == 0
    return good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--helpers", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", choices=[*GROUPS, "harness", "allreduce", "instructions"], action="append")
    parser.add_argument("--row", default="", help="only rows whose name has this word in it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the comparisons here as well")
    o = parser.parse_args()
    machine, order, results, good = probe(o.bin, o.helpers), random.Random(o.seed), [], True
    print("| what | ours | peer | theirs | ratio | 95 % interval | bar |\n|---|---|---|---|---|---|---|")
    for group, make in GROUPS.items():
        for row in make(machine) if not o.only or group in o.only else []:
            if o.row not in row.name:
                continue
            try:
                r = compare(row, o.rounds, order)
            except Missing as why:
                print(f"| {row.name} | | {why} | | | | {row.bar} |", flush=True)
                continue
            results.append(r)
            good &= bool(r["reached"])
            print(
                f"| {row.name} | {r['ours']:.4g} | {r['peer']} | {r['theirs']:.4g} | {r['ratio']:.3f} | "
                f"{r['low']:.3f} .. {r['high']:.3f} | {row.bar}{'' if r['reached'] else ' MISSED'} |",
                flush=True,
            )
    if not o.only or "harness" in o.only:
        good &= harness(machine)
    if not o.only or "allreduce" in o.only:
        good &= allreduce(machine, o.rounds)
    if not o.only or "instructions" in o.only:
        good &= allreduce_instructions(machine)
    if o.json:
        o.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
