# SPDX-License-Identifier: BSD-3-Clause
"""Score of the advice on shapes that nobody has seen, printed as a run's report would.

    advice_score.py --device host:0,1 --seed 7             seven minutes, on an idle machine
    advice_score.py --device sim:0-3 --mflop 10:200 --op ag-gemm,gemm-rs --shapes 16
    advice_score.py --device sim:tests/peers/models/narrow_memory.model:0-3 ... --max-samples 10
    advice_score.py --machines 1,2,3,4,5,6 --type f32,bf16 --op ag-gemm,gemm-rs --max-samples 10

On the simulated device ag-gemm and a2a-gemm move the same bytes at the same time: they are one scenario, so
ask for one of them. Its time is virtual and exact, so a busy machine changes nothing, and a few samples tell
the jitter.

The curves are those of ./gpusig run; then overlap/ficco measures every schedule of shapes drawn from the
seed, sides log-uniform, and ./gpusig report holds the advice against them. Take a new seed after every change
of advise/, or the shapes are seen.

With --machines every seed draws a machine of its own (drawn_machine.py) and its shapes, of GPUs' size. The
bar: where the advice says that it is decided, the advised schedule is not over 5 % slower than what the best
constant choice for that machine takes there. --without leaves the curves of a program, or those of its cases
with some words, out of what the advice is made of.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(HOME))

from drawn_machine import model

from reports.records.record_file import read
from reports.signature.signature import build

CURVES = (
    "gemm/*",
    "micro/copy_path",
    "micro/copy_contention",
    "micro/launch",
    "micro/memory",
    "micro/occupancy",
    "micro/priority",
    "collectives/device_allreduce",
)
SIDES = {"m": (256, 4096), "n": (32, 1024), "k": (64, 4096)}
STEP = 32  # every schedule cuts these, on up to four devices
GPU_SIDES, GPU_STEP = {"m": (512, 16384), "n": (256, 8192), "k": (256, 8192)}, 256
WORSE = 0.05  # than the best constant choice


def shapes(
    count: int,
    seed: int,
    least: float,
    most: float,
    sides: dict[str, tuple[int, int]] = SIDES,
    step: int = STEP,
) -> list[str]:
    """Shapes MxNxK whose GEMM has between `least` and `most` million flops."""
    draw, found = random.Random(seed), []
    while len(found) < count:
        m, n, k = (
            step * round(math.exp(draw.uniform(math.log(low), math.log(high))) / step)
            for low, high in sides.values()
        )
        if least <= 2e-6 * m * n * k <= most:
            found.append(f"{m}x{n}x{k}")
    return found


def run(command: list[str], good: tuple[int, ...]) -> None:
    print("+", " ".join(command), flush=True)
    done = subprocess.run(command, cwd=HOME, check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in good:
        sys.exit(f"advice_score: exit {done.returncode}")


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def show(score: dict) -> None:
    if score.get("hit_rate") is None:
        sys.exit(
            f"no score: {score.get('reason')}; undecided {score.get('undecided')}, skipped "
            f"{score.get('skipped')}"
        )
    for s in score["table"]:
        verdict = "undecided" if not s["decided"] else "hit" if s["hit"] else "near" if s["good"] else "MISS"
        verdict += "" if s["told"] else ", not told"
        shape = f"{s['m']}x{s['n']}x{s['k']}"
        print(
            f"{s['op']:9} {shape:14} {s['copy_method']:6} {s['pick']:18} {s['best']:18} "
            f"{percent(s['loss']):>8}  {verdict}"
        )
    print(f"hits {rate(score, 'hit')}; within 2 % of the fastest {rate(score, 'good')}; unseen scenarios")
    print(
        f"mean loss when wrong {percent(score['mean_loss_when_wrong'])}, over all "
        f"{percent(score['mean_loss'])}"
    )
    print(
        f"undecided {score['undecided']}, skipped {score['skipped']}; half of all predictions within "
        f"{percent(score['median_error'])}"
    )
    for a in score["always"]:
        print(
            f"always {a['schedule']:18} hits {a['hits']:3}, within 2 % {a['good']:3} of {a['scenarios']}, "
            f"mean loss when wrong "
            f"{percent(a['mean_loss_when_wrong'])}"
        )
    gain = score["over_constant"]
    if gain:
        low, high = (percent(x) for x in gain["ci"])
        print(
            f"within 2 %: advice - always {gain['schedule']} = {percent(gain['value'])}, 95 %: {low} to "
            f"{high} (bootstrap of "
            f"{gain['shapes']} shapes); {gain['better']} better, {gain['worse']} worse, exact McNemar p = "
            f"{gain['p']:.2g}"
        )


def rate(score: dict, what: str) -> str:
    low, high = (percent(x) for x in score[what + "_rate_ci"])
    count = score["hits" if what == "hit" else "good"]
    return f"{count} of {score['scenarios']} ({percent(score[what + '_rate'])}, 95 %: {low} to {high})"


def took(scenario: dict, schedule: str) -> float:
    """Seconds of the schedule, of serial where it is impossible."""
    times = {s["schedule"]: s["measured_s"] for s in scenario["schedules"]}
    return times.get(schedule, times.get("serial", math.inf))


def best_constant(table: list[dict]) -> str:
    """The schedule that loses least in all scenarios of a machine, by the mean of the logarithms."""
    names = sorted({s["schedule"] for scenario in table for s in scenario["schedules"]})
    return min(names, key=lambda name: sum(math.log(took(s, name)) for s in table))


def against_constant(table: list[dict], name: str) -> dict:
    """Score of the advice of one machine against the bar, the best constant choice."""
    constant = best_constant(table)
    told = [s for s in table if s["told"]]
    worse = [(took(s, s["pick"]) / took(s, constant) - 1, s) for s in table]
    broken = [(loss, s) for loss, s in worse if loss > WORSE]
    for loss, s in broken:
        print(
            f"  {percent(loss)} slower than always {constant}: {s['op']} {s['m']}x{s['n']}x{s['k']} "
            f"{s['type']} by {s['copy_method']}: {s['pick']}; "
            f"{' '.join(['DECIDED' if s['told'] else 'called undecided', *s['needs']])}"
        )
    return {
        "machine": name,
        "scenarios": len(table),
        "told": len(told),
        "told_good": sum(s["good"] for s in told),
        "good": sum(s["good"] for s in table),
        "constant": constant,
        "constant_good": sum(took(s, constant) <= 1.02 * took(s, s["best"]) for s in table),
        "worse": len(broken),
        "worse_told": sum(s["told"] for _, s in broken),
        "max_loss_told": max([s["loss"] for s in told], default=0.0),
    }


def score_of(folder: str, without: list[str]) -> dict:
    """By the curves of a run but those `without`: "micro/copy_contention exchange"."""
    records = Path(folder) / "records.jsonl"
    if without:
        left_out = [words.split() for words in without]
        lines = records.read_text().splitlines(keepends=True)
        records = Path(folder) / "fewer.jsonl"
        records.write_text(
            "".join(line for line in lines if not any(all(w in line for w in words) for words in left_out))
        )
    signature = build(read(records)).json  # the file has no scenarios
    return signature["programs"]["overlap/ficco"]["results"]["advice"]


def machines(o: argparse.Namespace) -> int:
    """Every drawn machine: its curves, its schedules, and the bar."""
    rows = []
    for seed in (int(word) for word in o.machines.split(",")):
        folder = Path(o.out or tempfile.mkdtemp(prefix="advice-")) / f"machine-{seed}"
        text, devices = model(seed)
        device = f"sim:{folder}.model:0-{devices - 1}"
        if not (folder / "records.jsonl").exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            Path(f"{folder}.model").write_text(text)
            measure(o, device, str(folder), seed, shapes(o.shapes, seed, 1, 1e9, GPU_SIDES, GPU_STEP))
        table = [s for s in score_of(str(folder), o.without)["table"] if s["unseen"]]
        rows.append(against_constant(table, f"{seed}, {devices} devices"))
    rows.append({"machine": "all", **{key: sum(row[key] for row in rows) for key in COUNTS}})
    rows[-1]["max_loss_told"] = max(row["max_loss_told"] for row in rows[:-1])
    for row in rows:
        print(
            f"{row['machine']}: {row['scenarios']} scenarios, {row['told']} called decided, of which "
            f"{row['told_good']} good; of all {row['good']} good, always {row.get('constant', 'the best')} "
            f"{row['constant_good']}; over 5 % slower than that: {row['worse']}, of which called decided "
            f"{row['worse_told']}; most lost where decided {percent(row['max_loss_told'])}"
        )
    return int(rows[-1]["worse_told"] > 0)


COUNTS = ("scenarios", "told", "told_good", "good", "constant_good", "worse", "worse_told")


def measure(o: argparse.Namespace, device: str, folder: str, seed: int, drawn: list[str]) -> None:
    """The curves, then every schedule of these shapes."""
    only = [word for name in CURVES for word in ("--only", name)]
    budget = ["--budget", f"{o.curves:g}s", "--seed", str(seed)]
    run(["./gpusig", "run", "--device", device, *budget, "--out", folder, *only], (0, 3))
    cases = 2 * len(drawn) * len(o.op.split(",")) * len(o.type.split(","))
    words = ["--device", device, "--shape", ",".join(drawn), "--op", o.op, "--type", o.type]
    words += ["--copy-method", "engine,kernel", "--budget", f"{o.each * cases:g}s", "--seed", str(seed)]
    if o.max_samples:
        words += ["--max-samples", str(o.max_samples), "--min-samples", str(min(10, o.max_samples))]
    run(["bin/overlap/ficco", *words, "--out", folder + "/records.jsonl"], (0, 3))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="host:0,1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shapes", type=int, default=12)
    parser.add_argument("--mflop", default="20:600", help="smallest and largest")
    parser.add_argument("--type", default="f32")
    parser.add_argument("--op", default="ag-gemm,gemm-rs,a2a-gemm")
    parser.add_argument("--curves", type=float, default=150, help="seconds for the curves")
    parser.add_argument("--each", type=float, default=4, help="seconds for a scenario")
    parser.add_argument(
        "--max-samples", type=int, help="of every schedule; default: as many as the time takes"
    )
    parser.add_argument("--machines", help="seeds of machines to draw, in place of a device")
    parser.add_argument("--without", action="append", default=[], help="a program, and words of its cases")
    parser.add_argument("--out", help="a new folder; default: one in the temporary folder")
    o = parser.parse_args()
    if o.machines:
        sys.exit(machines(o))
    low, high = (float(x) for x in o.mflop.split(":"))
    folder = o.out or os.path.join(tempfile.mkdtemp(prefix="advice-"), "run")
    measure(o, o.device, folder, o.seed, shapes(o.shapes, o.seed, low, high))
    run(["./gpusig", "report", folder], (0, 3))
    show(score_of(folder, o.without))
    print("in", folder)


if __name__ == "__main__":
    main()
