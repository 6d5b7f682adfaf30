# SPDX-License-Identifier: BSD-3-Clause
"""How good is the advice on shapes that nobody has seen? Prints the score that a run's report would.

    advice_score.py --device host:0,1 --seed 7             seven minutes, on an idle machine
    advice_score.py --device sim:0-3 --mflop 10:200 --op ag-gemm,gemm-rs --shapes 16
    advice_score.py --device sim:tests/peers/models/narrow_memory.model:0-3 ... --max-samples 10

On the simulated device ag-gemm and a2a-gemm move the same bytes at the same time: they are one scenario, so
ask for one of them. Its time is virtual and exact, so a busy machine changes nothing, and a few samples tell
the jitter.

The curves are those of ./gpusig run; then overlap/ficco measures every schedule of shapes drawn from the
seed, sides log-uniform, and ./gpusig report holds the advice against them. Take a new seed after every change
of advise/, or the shapes are seen.
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

from reports.record_file import read
from reports.signature import build

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


def shapes(count: int, seed: int, least: float, most: float) -> list[str]:
    """Of which the product has between `least` and `most` million flops."""
    draw, found = random.Random(seed), []
    while len(found) < count:
        m, n, k = (
            STEP * round(math.exp(draw.uniform(math.log(low), math.log(high))) / STEP)
            for low, high in SIDES.values()
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
    parser.add_argument("--out", help="a new folder; default: one in the temporary folder")
    o = parser.parse_args()
    low, high = (float(x) for x in o.mflop.split(":"))
    folder = o.out or os.path.join(tempfile.mkdtemp(prefix="advice-"), "run")
    drawn = shapes(o.shapes, o.seed, low, high)
    only = [word for name in CURVES for word in ("--only", name)]
    run(
        [
            "./gpusig",
            "run",
            "--device",
            o.device,
            "--budget",
            f"{o.curves:g}s",
            "--seed",
            str(o.seed),
            "--out",
            folder,
            *only,
        ],
        (0, 3),
    )
    cases = 2 * len(drawn) * len(o.op.split(","))
    run(
        [
            "bin/overlap/ficco",
            "--device",
            o.device,
            "--shape",
            ",".join(drawn),
            "--op",
            o.op,
            "--type",
            o.type,
            "--copy-method",
            "engine,kernel",
            "--budget",
            f"{o.each * cases:g}s",
            "--seed",
            str(o.seed),
            "--out",
            folder + "/records.jsonl",
            *(["--max-samples", str(o.max_samples)] if o.max_samples else []),
        ],
        (0, 3),
    )
    run(["./gpusig", "report", folder], (0, 3))
    signature = build(read(Path(folder) / "records.jsonl")).json  # the file has no scenarios
    show(signature["programs"]["overlap/ficco"]["results"]["advice"])
    print("in", folder)


if __name__ == "__main__":
    main()
