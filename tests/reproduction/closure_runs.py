# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a machine and of its model for closure.py, and what they say."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Iterable, NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin")
# No fit reads these programs.
UNSEEN = ("overlap/", "collectives/device_")
# Not of a device, or of ranks, which a simulated device has not.
_NO_DEVICE = ("topology/", "collectives/allreduce", "collectives/allgather", "collectives/reduce_scatter")
_NO_DEVICE += ("collectives/pairs",)

CASES = 16  # of a program that no fit reads, spread over all
SAMPLES = "6"  # the fewest that give an interval; times of a model repeat

Where = tuple[str, str, str, str]  # program, case, variant, quantity


class Value(NamedTuple):
    value: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


class Headline(NamedTuple):
    name: str
    program: str
    unit: str
    value: Value
    where: Optional[Where]  # of the value among all; None: it is of no single one


class Side(NamedTuple):
    """Results of a run: its headline numbers by name, the reasons of those that it lacks, and all valid
    values."""

    devices: int
    truth: dict  # the keys of a simulated machine
    headlines: dict[str, Headline]
    missing: dict[str, str]
    values: dict[Where, Value]

    def over(self, other: "Side") -> "Side":
        """The values of both; of those that both have, these."""
        return Side(self.devices, self.truth, self.headlines, self.missing, {**other.values, **self.values})


def unseen(program: str) -> bool:
    return program.startswith(UNSEEN)


def _number(word: str, other: float) -> float:
    return float(word) if word else other


def _values(path: Path) -> dict[Where, Value]:
    found = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["valid"] == "yes" and row["value"] and row["modelled"] == "no":
                value = float(row["value"])
                ends = _number(row["ci_low"], value), _number(row["ci_high"], value)
                found[row["program"], row["case"], row["variant"], row["quantity"]] = Value(value, *ends)
    return found


def _derived(records: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Quantity and variant of each headline number, by program and name."""
    found = {}
    with records.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            for own in row.get("primary", ()):
                found[row["program"], own["metric"]] = (own["derived"], own["variant"] or "")
    return found


def read(folder: Path) -> Side:
    """A run, or the cases of one, after its report was made."""
    signature = json.loads((folder / "signature.json").read_text(encoding="utf-8"))
    values, of = _values(folder / "metrics.csv"), _derived(folder / "records.jsonl")
    headlines = {}
    for name, own in signature["metrics"].items():
        program, _, metric = name.rpartition("/")
        if not own.get("primary") or program.startswith(_NO_DEVICE):
            continue
        quantity, variant = of.get((program, metric), ("", ""))
        where = (program, own["key"], variant, quantity)
        ends = (own["value"] if own[end] is None else own[end] for end in ("ci_low", "ci_high"))
        value = Value(own["value"], *ends)
        headlines[name] = Headline(name, program, own["unit"], value, where if where in values else None)
    missing = {
        f"{own['program']}/{own['metric']}": own["reason"]
        for own in signature["primary_missing"]
        if own["cause"] != "not_supported"
    }
    first = next(iter(signature["devices"].values()))
    truth = (first.get("model") or {}).get("keys", {})
    return Side(len(signature["devices"]), truth, headlines, missing, values)


def _told(command: list[str], cwd: Path, good: tuple[int, ...]) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode not in good:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-800:]}")


def run_signature(spec: str, out: Path, cwd: Path, more: Iterable[str]) -> None:
    """`./gpusig run`."""
    words = [str(ROOT / "gpusig"), "run", "--device", spec, "--out", str(out), *more]
    _told(words, cwd, (0, 3))


def case_runs(records: Path, spec: str, out: Path, cwd: Path, headlines: Iterable[Headline]) -> None:
    """Cases of a run on another device, into a folder of which a report is made: those of the headline numbers,
    and of programs that no fit reads as many others."""
    found: dict[str, dict[str, dict]] = {}
    wanted = {(own.program, own.where[1]) for own in headlines if own.where}
    with records.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["kind"] == "case" and row["status"] == "ok" and not row["program"].startswith(_NO_DEVICE):
                if unseen(row["program"]) or (row["program"], row["key"]) in wanted:
                    found.setdefault(row["program"], {})[row["key"]] = row["case"]
    out.mkdir(parents=True)
    for program, every in found.items():
        step = max(1, -(-len(every) // CASES))
        some = set(list(every)[::step])
        cases = {key: case for key, case in every.items() if key in some or (program, key) in wanted}
        keys = out / "keys"
        keys.write_text("".join(f"{key}\n" for key in cases), encoding="utf-8")
        words = [str(BIN / program), "--device", spec, "--cases", str(keys)]
        words += ["--min-samples", SAMPLES, "--max-samples", SAMPLES, "--out", str(out / "records.jsonl")]
        for axis in next(iter(cases.values())):
            words += [f"--{axis}", ",".join(dict.fromkeys(str(case[axis]) for case in cases.values()))]
        _told(words, cwd, (0, 3, 77))
    report(out)


def report(folder: Path) -> None:
    """`./gpusig report`, which makes the signature."""
    _told([str(ROOT / "gpusig"), "report", str(folder)], folder, (0, 3))
