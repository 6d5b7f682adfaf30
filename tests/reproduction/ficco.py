# SPDX-License-Identifier: BSD-3-Clause
"""Compares FiCCO (arXiv 2512.10236), ConCCL and DMA-Latte with simulated machines: writes
docs/reproduction/ficco.md.

ficco.py [--out FILE] [--keep DIR] [--only links]

Everything is simulated anew, which takes some minutes; the records are kept in DIR/ficco
(build/reproduction).
--only links writes the first section alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent))

import conccl
import ficco_tables as tables
from ficco_runs import MESH, RANKS, SHAPES, SWITCH, as_named, cited, ficco, rows_per_rank, run, sharded, sides
from program_runs import BIN, MODELS, ONE_RUN, ROOT, Run
from torus_model import MIB, table, verdict

BOTH = ("--copy-method", "engine,kernel")
OPERATORS = (("ag-gemm", "bf16"), ("a2a-gemm", "bf16"), ("gemm-rs", "bf16"))
LINK_SHAPES = ("g1", "g2", "g5", "g6", "g14")
SCALES = (2, 4, 8, 16, 32, 64)
SCALED_SCHEDULES = "serial,hetero-fused-1d"
CURVES = ("micro/*", "gemm/*")
PAPERS = ("2512.10236", "2412.14335", "2511.06605")
Named = dict[str, Run]

# ------------------------------------------------------------------ sections


def links(keep: Path) -> Iterator[str]:
    shapes = {name: name for name in LINK_SHAPES}
    more = (*BOTH, "--schedule", "shard,uniform-fused-1d,uniform-fused-2d", *ONE_RUN)
    found = [
        ficco(keep, f"links-{name}", device, "ag-gemm", "bf16", shapes, *more).cases
        for name, device in (("mesh", MESH), ("switch", SWITCH))
    ]
    yield from tables.links(*found, RANKS - 1)


def full_sizes(keep: Path) -> tuple[Named, Named]:
    """As the shapes are, and with weights divided among the ranks."""
    plain = {op: ficco(keep, f"plain-{op}", MESH, op, kind, as_named(), *BOTH) for op, kind in OPERATORS}
    divided = {
        op: ficco(keep, f"sharded-{op}", MESH, op, kind, sharded(op), *BOTH)
        for op, kind in OPERATORS
        if op != "a2a-gemm"
    }
    return plain, divided


def schedules(keep: Path, plain: Named, divided: Named) -> Iterator[str]:
    gather, scatter = plain["ag-gemm"].cases, plain["gemm-rs"].cases
    constant, other = tables.time_constant(gather, "n"), tables.time_constant(scatter, "k")
    yield from [
        "## Schedules",
        "",
        "g1 to g16 at full size, 8 devices of mi300x, engines; S is over serial. The paper gives no speedup "
        "of a shape, "
        "so the target of a row is its claim: schedules with finer pieces beat serial and shard-level "
        "overlap. "
        "`!`: above "
        "the ideal, see gemm-rs. The shapes are those of public code (ROCm/iris). The schedules' names and "
        "steps are "
        "this project's definition (overlap/ficco/decomposition.h).",
        "",
    ]
    yield from tables.schedules(
        "ag-gemm, bf16",
        "All-gather of A, then a GEMM of all M rows, N columns and K on every device.",
        gather,
    )
    yield from tables.same_work(gather, plain["a2a-gemm"].cases)
    yield from tables.schedules(
        "gemm-rs, bf16",
        "GEMM of all of C, then reduce-scatter of bf16, whose additions are a kernel. uniform-fused-2d is not "
        "defined for it. t_c has transfers and then additions; finer pieces overlap these, too, so that "
        "S may exceed the ideal (!) where communication is the longer side.",
        scatter,
    )
    yield from [
        "Finer pieces lose mostly in the GEMMs of the model: whole tiles on 304 units, in "
        "waves, none split "
        "along K, so pieces of few tiles leave units idle. A library that chooses other tiles for smaller "
        "GEMMs loses less.",
        "",
        "### Another interpretation: weights sharded",
        "",
        f"On this machine t_c / t_g is {constant:.0f} / N for ag-gemm (M and K cancel) and {other:.0f} / K "
        f"for gemm-rs: "
        "7 links of 64 GB/s against what the model's GEMM reaches. With all of N on every device little is "
        "exposed. "
        "Tensor parallelism divides the weights: N / 8 columns of B a device (gemm-rs: K / 8 rows), which "
        "multiplies t_c "
        "/ t_g by 8. Which reading is the paper's is not known, nor whether M is of all ranks; this one is "
        "shown because "
        "the plain one leaves less to hide than the paper says. It is an interpretation, not a fit: the "
        "machine was not changed.",
        "",
    ]
    yield from tables.schedules("ag-gemm, bf16, N / 8", "", divided["ag-gemm"].cases)
    yield from tables.schedules("gemm-rs, bf16, K / 8", "", divided["gemm-rs"].cases)
    yield from [
        "### Another interpretation: M per rank",
        "",
        "Public code has M as the rows of one rank, which makes 8 M in all. Both times grow by the same "
        "factor, so the ideals stay.",
        "",
    ]
    more = ficco(keep, "rows-per-rank", MESH, "ag-gemm", "bf16", rows_per_rank(), "--copy-method", "engine")
    yield from tables.per_rank(gather, more.cases)
    yield from [
        "### The largest numbers",
        "",
        "Target: S - 1 within 10 % of the paper's. Without speedups above their ideal.",
        "",
    ]
    readings = (("plain", plain), ("weights sharded", divided))
    yield from tables.extremes(
        [(f"{op}, {name}", runs[op].cases) for name, runs in readings for op in ("ag-gemm", "gemm-rs")]
    )


def contention(plain: Named, divided: Named) -> Iterator[str]:
    blocks = next(
        c.facts["copy_blocks"]
        for c in plain["ag-gemm"].cases
        if c.axes["copy-method"] == "kernel" and not c.reason
    )
    yield from [
        "## Contention: engines against kernels",
        "",
        "CIL of the parts of uniform-fused-1d: time of the same pieces concurrent with the other side, over "
        "time alone. The "
        "paper moves communication to DMA engines to keep contention low, and its own formula and values are "
        "not public "
        f"to us. A copy kernel has {blocks} blocks here, an eighth of those that keep the device busy. Target: "
        f"by engine "
        "neither side slower than by kernel, and one faster. If the GEMM is not slowed at all by kernel "
        "copies, these have waited until its blocks were placed. In gemm-rs the additions are a kernel by "
        "either method, "
        "and wait for "
        "the GEMM's blocks: that is what communication by engine loses there.",
        "",
    ]
    for op in ("ag-gemm", "gemm-rs"):
        readings = [("plain", plain[op].cases), ("weights sharded", divided[op].cases)]
        yield from tables.contention(op, readings, "uniform-fused-1d")


def curves(keep: Path) -> str:
    """Text of the records that a model is fitted to; "" with a line of output where `./gpusig run` fails."""
    folder = keep / "ficco" / f"curves-{os.getpid()}"
    begin = time.monotonic()
    only = [word for name in CURVES for word in ("--only", name)]
    command = [
        str(ROOT / "gpusig"),
        "run",
        "--device",
        MESH,
        "--budget",
        "2m",
        "--seed",
        "1",
        "--out",
        str(folder),
        *only,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    records = folder / "records.jsonl"
    if done.returncode not in (0, 3) or not records.is_file():
        print(f"curves: ./gpusig run: exit {done.returncode}: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return ""
    text = records.read_text(encoding="utf-8")
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    print(f"curves: {text.count(chr(10))} records, {time.monotonic() - begin:.1f} s", flush=True)
    return text


def chosen(keep: Path, name: str, text: str, runs: Named) -> dict:
    """The score of a model, fitted to the curves, in these cases: a row of prediction.json."""
    if not text:
        return {"reason": "no curves: ./gpusig run failed"}
    folder = keep / "ficco" / f"choices-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    own = [run.records.read_text(encoding="utf-8") for op, run in runs.items() if op != "a2a-gemm"]
    (folder / "records.jsonl").write_text("".join([text, *own]), encoding="utf-8")
    begin = time.monotonic()
    words = [sys.executable, "-m", "suite.commands.report", str(folder.absolute()), str(BIN.absolute())]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if not (folder / "prediction.json").is_file():
        return {"reason": f"no prediction: {done.stderr.strip()[-200:]}"}
    rows = json.loads((folder / "prediction.json").read_text(encoding="utf-8"))["programs"]
    row = next((row for row in rows if row["program"] == "overlap/ficco"), {"reason": "not measured"})
    print(f"choices-{name}: {row.get('choices', 0)} choices, {time.monotonic() - begin:.1f} s", flush=True)
    return row


def choices(keep: Path, plain: Named, divided: Named) -> Iterator[str]:
    text, rows, scores = curves(keep), [], {}
    for name, runs in (("plain", plain), ("weights sharded", divided)):
        score = scores[name] = chosen(keep, name.split()[-1], text, runs)
        rows.append(tables.choice_row(f"fitted model, {name}", score))
        cases = [c for op, found in runs.items() if op != "a2a-gemm" for c in found.cases]
        rows.append(tables.choice_row(f"M against K, {name}", tables.rule_score(cases)))
        if score.get("constant"):
            always = {"choices": score["choices"], "right": score["constant_right"]}
            rows.append(tables.choice_row(f"always {score['constant']}, {name}", always, judged=False))
    yield from tables.choices(rows, scores)


def concurrent(keep: Path) -> Iterator[str]:
    shapes = ",".join((*conccl.COMPUTE_BOUND, conccl.MEMORY_BOUND))
    common = ("--type", "bf16", "--mflop", "2000000")
    cases, fewer = [], []
    for transfer, kernel in (("all-gather", "kernel:32"), ("all-to-all", "kernel:64")):
        found = run(
            keep,
            f"pair-{transfer}",
            "overlap/pair",
            (
                "--device",
                MESH,
                "--shape",
                shapes,
                "--transfer",
                transfer,
                "--copy-method",
                f"engine,{kernel}",
                "--size",
                "0.5x,1x,2x",
                *common,
            ),
        ).cases
        cases += found
        sizes = [
            c.facts["transfer_bytes"]
            for c in found
            if c.id == conccl.MEMORY_BOUND and c.axes["copy-method"] == "engine"
        ]
        device = f"sim:mi300x?units={conccl.UNITS - 8}:0-{RANKS - 1}"
        fewer += run(
            keep,
            f"pair-{transfer}-fewer-units",
            "overlap/pair",
            (
                "--device",
                device,
                "--shape",
                conccl.MEMORY_BOUND,
                "--transfer",
                transfer,
                "--copy-method",
                "engine",
                "--size",
                ",".join(map(str, sizes)),
                *common,
            ),
        ).cases
    yield from conccl.overlap(cases, fewer)
    yield from fewer_units(keep)
    blocks = ",".join(f"kernel:{n}" for n in (7, 14, 28, 32, 56, 64, 112, 224, 304))
    yield from conccl.alone(
        run(
            keep,
            "pair-alone",
            "overlap/pair",
            (
                "--device",
                MESH,
                "--shape",
                "n8192",
                "--mflop",
                "0",
                "--type",
                "bf16",
                "--transfer",
                "all-gather,all-to-all",
                "--copy-method",
                f"engine,{blocks}",
                "--size",
                "256K,1M,8M,32M,512M",
                "--variant",
                "transfer_alone",
                *ONE_RUN,
            ),
        ).cases
    )


def fewer_units(keep: Path) -> Iterator[str]:
    times = {}
    for units in (conccl.UNITS, *(conccl.UNITS - n for n in (8, *conccl.PAPER_SLOWER))):
        cases = run(
            keep,
            f"gemm-{units}-units",
            "gemm/efficiency",
            (
                "--device",
                f"sim:mi300x?units={units}",
                "--type",
                "bf16",
                "--shape",
                ",".join((*SHAPES, conccl.MEMORY_BOUND)),
                "--mflop",
                "0",
                "--variant",
                "gemm",
            ),
        ).cases
        times[units] = {c.id: c.times["gemm"] for c in cases if not c.reason}
    bound = tuple(times[units].pop(conccl.MEMORY_BOUND) for units in times)
    yield from conccl.gemm_units(times, (bound[0], bound[1]))


def copies(keep: Path) -> Iterator[str]:
    sizes = ",".join(
        str(size) for size in (conccl.LEAST_COPY, *conccl.PAPER_OUTSIDE) if size >= conccl.LEAST_COPY
    )
    found = run(
        keep,
        "copies",
        "micro/copy_path",
        (
            "--device",
            "sim:mi300x:0,1",
            "--direction",
            "peer",
            "--size",
            sizes,
            "--path",
            "engine,engine_round_trip",
        ),
    )
    shapes = {}
    for size in conccl.ONE_ENGINE:
        rows = min(1024, size // 128)
        shapes[str(size)] = sides(rows, 64, size // rows // 2)
    more = ("--copy-method", "engine", "--schedule", "serial,shard", *ONE_RUN)
    gathers = ficco(keep, "one-engine", MESH, "ag-gemm", "bf16", shapes, *more)
    yield from conccl.copies(found.cases, gathers.cases)


# ------------------------------------------------------------------ what it costs


def cost_row(what: str, run_: Run, bar_s: float | None, more: str = "") -> list[str]:
    """The times are this machine's; `more`: what a run has."""
    return [
        what,
        more,
        f"{run_.wall_s:.2f} s",
        "" if run_.cpu_s is None else f"{run_.cpu_s:.2f} s",
        "" if run_.peak_bytes is None else f"{run_.peak_bytes / MIB:.0f} MiB",
        "" if bar_s is None else f"{bar_s:g} s",
        "" if bar_s is None else verdict(run_.wall_s <= bar_s),
    ]


def whole(runs: list[Run]) -> Run:
    """One after the other."""
    cpu_s, peaks = (
        [r.cpu_s for r in runs if r.cpu_s is not None],
        [r.peak_bytes for r in runs if r.peak_bytes is not None],
    )
    return Run(
        [c for r in runs for c in r.cases],
        sum(r.wall_s for r in runs),
        sum(cpu_s) if cpu_s else None,
        max(peaks, default=None),
        runs[0].records,
    )


def pieces(devices: int, schedule: str) -> str:
    """Number of transfers and GEMMs of all devices in one run."""
    peers = devices - 1
    fine = schedule not in ("serial", "shard")
    gemms = {"serial": 1, "hetero-fused-1d": devices + 1, "hetero-unfused-1d": devices * peers + 1}.get(
        schedule, devices
    )
    return f"{devices * peers * (devices if fine else 1)} transfers, {devices * gemms} GEMMs"


def costs(keep: Path, plain: Named) -> Iterator[str]:
    cases = [c for r in plain.values() for c in r.cases]
    text = f"{len(cases)} cases, {sum(bool(c.reason) for c in cases)} of them skipped"
    rows = [
        cost_row(
            "16 shapes x 6 schedules x 2 copy methods x 3 operators, 8 devices",
            whole(list(plain.values())),
            300,
            text,
        )
    ]
    for devices in SCALES:
        found = scaled(keep, devices, SCALED_SCHEDULES)
        rows.append(
            cost_row(
                f"{devices} devices, g2: serial and hetero-fused-1d",
                found,
                60 if devices == SCALES[-1] else None,
                pieces(devices, "hetero-fused-1d"),
            )
        )
    rows.append(
        cost_row(
            f"{SCALES[-1]} devices, g2: all six schedules",
            scaled(keep, SCALES[-1], ""),
            None,
            pieces(SCALES[-1], "hetero-unfused-1d"),
        )
    )
    for schedule in tables.SCHEDULES:
        rows.append(
            cost_row(f"8 devices, g2: {schedule}", scaled(keep, 8, schedule), None, pieces(8, schedule))
        )
    yield from [
        "## Cost of the simulation",
        "",
        f"Wall time and peak memory of overlap/ficco, which uses one core, on a machine of {os.cpu_count()} "
        f"cores, once; "
        "other work may have run, too. The first row has ten samples of every schedule and of its parts "
        "(GEMMs alone, transfers alone, both concurrently), as the tables above need. The others are ag-gemm "
        "by "
        "engine with "
        f"`{' '.join(ONE_RUN)}`, which is one sample of each, and with more than 8 devices a hypothetical mesh "
        "(`sim:mi300x?devices=64:0-63`). Targets: 5 minutes, and 64 devices in a minute, of wall time.",
        "",
    ]
    yield from table(
        ["what", "one run of the finest has", "wall", "CPU", "peak memory", "target", "reached"], rows
    )


def scaled(keep: Path, devices: int, schedule: str) -> Run:
    chosen = ("--schedule", schedule) if schedule else ()
    name, device = (
        f"devices-{devices}-{schedule.replace(',', '-') or 'all'}",
        f"sim:mi300x?devices={devices}:0-{devices - 1}",
    )
    return ficco(
        keep, name, device, "ag-gemm", "bf16", {"g2": "g2"}, "--copy-method", "engine", *chosen, *ONE_RUN
    )


# ------------------------------------------------------------------ the file

HEAD = """# FiCCO, ConCCL and DMA-Latte on simulated machines

FiCCO (arXiv 2512.10236), ConCCL (arXiv 2412.14335) and DMA-Latte (arXiv 2511.06605) report measurements on 8 MI300X. Here the
suite's own programs run at the papers' sizes on the simulated machines mi300x (a mesh) and h100 (a switch). Written by

```sh
make reproduction
```

(tests/reproduction/ficco.py; some minutes). One row by hand:

```sh
bin/overlap/ficco --device sim:mi300x:0-7 --shape g1 --mflop 0 --type bf16 --op ag-gemm --copy-method engine,kernel
```

**Nothing here is a measurement of a real machine.** It shows what follows from data sheets and a discrete-event
model (device/sim/README.md), and where that differs from measurements. Every constant of the models is from a data sheet, a public benchmark
or assumed, with its source in device/sim/model/machines, and nothing was fitted to a result of these papers. Constants that cite one of
the papers, and could be suspected:

"""

TAIL = """
`gemm_efficiency` is measured, too, by another source: the best rate of any shape over the peak. Numbers of the papers are from
what is public; where a paper gives none, the text says what the target is instead. "reached" says whether the result meets the target;
a **miss** is reported as such. The targets are this project's.
"""


def suspects() -> Iterator[str]:
    rows = [
        [name, f"`{key}`", said]
        for name in ("mi300x", "h100")
        for key, said in cited((MODELS / f"{name}.model").read_text(encoding="utf-8"), PAPERS)
    ]
    yield from table(["model", "constant", "where it is from"], rows)[:-1]


def sections(keep: Path) -> Iterator[str]:
    yield from links(keep)
    plain, divided = full_sizes(keep)
    yield from schedules(keep, plain, divided)
    yield from contention(plain, divided)
    yield from choices(keep, plain, divided)
    yield from concurrent(keep)
    yield from copies(keep)
    yield from costs(keep, plain)


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "reproduction" / "ficco.md")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "reproduction")
    parser.add_argument("--only", choices=["links"])
    given = parser.parse_args()
    if not (BIN / "overlap" / "ficco").is_file():
        print(f"ficco.py: {BIN / 'overlap' / 'ficco'} is not built: make", file=sys.stderr)
        return 77
    lines = [
        HEAD.rstrip() + "\n",
        *suspects(),
        TAIL,
        *(links(given.keep) if given.only else sections(given.keep)),
    ]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    misses = sum(line.count("**miss**") for line in lines if line.startswith("|"))
    print(f"wrote {given.out}, {misses} misses")
    return 0


if __name__ == "__main__":
    sys.exit(main())
