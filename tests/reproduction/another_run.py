# SPDX-License-Identifier: BSD-3-Clause
"""Does the interval of another run hold another run? From folders of equal runs:

    python3 tests/reproduction/another_run.py [--tries K] FOLDER_OR_CSV...

Each folder holds runs of one machine, or is one run; a CSV file has the columns run, metric, unit and value.
With --tries, for simulated runs and for files, which have one try of each number, K runs at a time are the
tries of one. Of every two runs the interval that one states is held
against the value of the other. `needed` is 1.96 sqrt(2) standard deviations between the runs:
what an interval of 95 % is wide where the deviation is known. Quiet numbers have a deviation below 5 %, loud
ones above 15 %.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Dict, List, NamedTuple, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from reports.records.spread import Tried, add_run_intervals, is_difference

QUIET, LOUD = 0.05, 0.15


class Number(NamedTuple):
    deviation: float  # between runs, relative
    covered: float  # share of pairs
    half: float  # median of the runs, relative
    pairs: int


def runs_of_csv(path: Path) -> List[dict]:
    runs: Dict[str, dict] = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            entry = {"value": float(row["value"]), "unit": row["unit"], "primary": True, "ci_low": None}
            runs.setdefault(row["run"], {"metrics": {}})["metrics"][row["metric"]] = entry
    return list(runs.values())


def signatures(folder: Path) -> List[dict]:
    if folder.suffix == ".csv":
        return runs_of_csv(folder)
    paths = [folder / "signature.json", *sorted(folder.glob("*/signature.json"))]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]


def tried_of(entries: Sequence[dict]) -> Tried:
    halves = [
        (e["ci_high"] - e["ci_low"]) / 2 / e["value"] for e in entries if e["ci_low"] and e["value"] > 0
    ]
    return Tried(entries[0]["unit"], [e["value"] for e in entries], median(halves) if halves else None)


def grouped(runs: Sequence[dict], tries: int) -> List[dict]:
    """So many runs at a time as one, whose tries they are."""
    found = []
    for first in range(0, len(runs) - tries + 1, tries):
        own = [
            {n: e for n, e in run["metrics"].items() if e["primary"]} for run in runs[first : first + tries]
        ]
        tried = {name: tried_of([one[name] for one in own if name in one]) for name in own[0]}
        entries = {name: dict(own[0][name], value=median(tried[name].values)) for name in own[0]}
        add_run_intervals(entries, tried)
        found.append({"metrics": entries})
    return found


def of_number(name: str, entries: Sequence[dict]) -> "Number | None":
    """None where it is no ratio, or a run has no interval for it."""
    entries = [e for e in entries if "run_low" in e and e["value"] > 0]
    if len(entries) < 3 or is_difference(name, entries[0]["unit"]):
        return None
    pairs = [(a, b) for a in entries for b in entries if a is not b]
    return Number(
        stdev(math.log(e["value"]) for e in entries),
        fmean(a["run_low"] <= b["value"] <= a["run_high"] for a, b in pairs),
        median((e["run_high"] - e["run_low"]) / 2 / e["value"] for e in entries),
        len(pairs),
    )


def numbers(runs: Sequence[dict]) -> Dict[str, Number]:
    entries: Dict[str, List[dict]] = {}
    for run in runs:
        for name, entry in run["metrics"].items():
            if entry["primary"]:
                entries.setdefault(name, []).append(entry)
    found = {name: of_number(name, own) for name, own in entries.items()}
    return {name: number for name, number in found.items() if number}


def line(title: str, own: Sequence[Tuple[str, Number]]) -> str:
    if not own:
        return "%-18s none" % title
    pairs = sum(n.pairs for _, n in own)
    covered = sum(n.covered * n.pairs for _, n in own) / pairs
    times = [n.half / (1.96 * math.sqrt(2) * n.deviation) for _, n in own if n.deviation > 0]
    worst = min(own, key=lambda one: one[1].covered)
    wanted = fmean(1.96 * math.sqrt(2) * n.deviation for _, n in own)
    return (
        "%-18s %3d numbers, %.1f %% covered; half width %.1f %%, needed %.1f %%, %.2f times; of a number at the "
        "median %.2f times; worst %.0f %% (%s)"
    ) % (
        title,
        len(own),
        100 * covered,
        100 * fmean(n.half for _, n in own),
        100 * wanted,
        fmean(n.half for _, n in own) / wanted if wanted else math.nan,
        median(times) if times else math.nan,
        100 * worst[1].covered,
        worst[0],
    )


def main(arguments: Sequence[str]) -> None:
    tries, folders = (int(arguments[1]), arguments[2:]) if arguments[:1] == ["--tries"] else (0, arguments)
    runs = [run for folder in folders for run in signatures(Path(folder))]
    runs = grouped(runs, tries) if tries else runs
    found = sorted(numbers(runs).items())
    print("%d runs" % len(runs))
    print(line("all", found))
    print(line("quiet (under 5 %)", [(n, one) for n, one in found if one.deviation < QUIET]))
    print(line("between", [(n, one) for n, one in found if QUIET <= one.deviation <= LOUD]))
    print(line("loud (over 15 %)", [(n, one) for n, one in found if one.deviation > LOUD]))


if __name__ == "__main__":
    main(sys.argv[1:])
