# SPDX-License-Identifier: BSD-3-Clause
"""Error of a fitted model in what it was not made of: programs that no fit reads, in the cases that were
measured, on the machine and on its model.

A way is right if it is a fastest one: of the ways to do the same work that were measured, the one that the
model takes for the fastest is at most 2 % slower than the fastest, or their intervals overlap.
"""

from __future__ import annotations

import csv
import hashlib
import statistics
import tempfile
from pathlib import Path
from typing import NamedTuple, Optional, Sequence

from reports.model.measured import QUANTITIES, SAMPLED
from reports.predict.change import AS_IT_IS
from reports.predict.machine import Machine, measured, times_in_csv
from reports.predict.outcome import outcomes
from reports.predict.simulation import Failed, Simulated, Simulation
from reports.model.text import NAME as MODEL
from reports.records.csv_files import METRICS
from reports.records.jsonl import BadRecord, Json, Refused, clean, is_number, is_version, read_object, real_in
from reports.records.quantity import percent, plural

NAME = "prediction.json"  # in the folder of a run
SCHEMA, VERSION = "gpusig.prediction", "1.0.0"
UNSEEN = ("overlap/", "collectives/device_")
MOST_CASES = 40  # of a program, spread over all
TIE = 0.02


class Interval(NamedTuple):
    value: float
    low: float
    high: float


Case = dict[str, Interval]  # by variant, seconds


def unseen(program: str) -> bool:
    return program.startswith(UNSEEN) and program not in QUANTITIES and program not in SAMPLED


def measured_times(metrics: Path) -> dict[str, dict[str, Case]]:
    """Valid times of metrics.csv by program and case, of the programs that no fit reads; raises as
    times_in_csv()."""
    found: dict[str, dict[str, Case]] = {}
    for row, value in times_in_csv(metrics):
        if value > 0 and unseen(row["program"]) and row["modelled"] != "yes":
            low, high = (real_in(row[end]) or value for end in ("ci_low", "ci_high"))
            cases = found.setdefault(row["program"], {})
            cases.setdefault(row["case"], {})[row["variant"]] = Interval(value, low, high)
    return found


def _some(cases: dict[str, Case]) -> dict[str, Case]:
    """At most MOST_CASES, evenly spread in their order."""
    keys = list(cases)
    step = max(1, -(-len(keys) // MOST_CASES))
    return {key: cases[key] for key in keys[::step]}


def _options(keys: Sequence[str]) -> list[str]:
    """Options that have these cases among theirs: every value of each axis."""
    values: dict[str, dict[str, None]] = {}
    for key in keys:
        for axis, sign, value in (word.partition("=") for word in key.split()):
            if sign:
                values.setdefault(axis, {})[value] = None
    return [word for axis, of in values.items() for word in ("--" + axis, ",".join(of))]


# ------------------------------------------------------------------ one program


def _ways(simulated: Simulated, cases: dict[str, Case]) -> list[Json]:
    """For each work with several ways that both have: the fastest, the chosen one, and what that loses."""
    found = []
    for outcome in outcomes(simulated):
        own = {v: t for v, t in cases[outcome.key].items() if v in outcome.variants}
        model = {v: t for v, t in simulated.cases[outcome.key].times.items() if v in own}
        if len(model) < 2:
            continue
        fastest, chosen = min(model, key=lambda v: own[v].value), min(model, key=lambda v: model[v])
        loss = own[chosen].value / own[fastest].value - 1
        right = loss <= TIE or own[chosen].low <= own[fastest].high
        found.append({"fastest": fastest, "chosen": chosen, "loss": loss, "right": right})
    return found


def _constant(simulated: Simulated, cases: dict[str, Case]) -> Optional[tuple[str, int]]:
    """The best constant choice, known afterwards: a way that all works have, and how often it is right."""
    rights: dict[str, int] = {}
    works = [o for o in outcomes(simulated) if len(set(o.variants) & set(cases[o.key])) > 1]
    for name in set.intersection(*(set(o.variants) & set(cases[o.key]) for o in works)) if works else ():
        rights[name] = 0
        for outcome in works:
            own = {v: t for v, t in cases[outcome.key].items() if v in outcome.variants}
            best = min(own.values())
            rights[name] += own[name].value <= best.value * (1 + TIE) or own[name].low <= best.high
    return max(rights.items(), key=lambda one: (one[1], one[0]), default=None)


def _compared(simulated: Simulated, cases: dict[str, Case]) -> Json:
    simulated.cases = {key: case for key, case in simulated.cases.items() if key in cases}
    off = [
        abs(seconds / cases[key][variant].value - 1)
        for key, case in simulated.cases.items()
        for variant, seconds in case.times.items()
        if variant in cases[key]
    ]
    ways, constant = _ways(simulated, cases), _constant(simulated, cases)
    return {
        "cases": sum(bool(case.times) for case in simulated.cases.values()),
        "times": len(off),
        "median": statistics.median(off) if off else None,
        "most": max(off) if off else None,
        "choices": len(ways),
        "right": sum(way["right"] for way in ways),
        "mean_loss": statistics.fmean(way["loss"] for way in ways) if ways else None,
        "constant": constant[0] if constant else "",
        "constant_right": constant[1] if constant else None,
    }


def _program(path: Path, name: str, cases: dict[str, Case], machine: Machine, folder: Path) -> Json:
    own = _some(cases)
    keys = folder / name.replace("/", "-")
    keys.write_text("".join(key + "\n" for key in own), encoding="utf-8")
    simulation = Simulation(path, name, _options(list(own)), machine, folder)
    found = simulation.together([AS_IT_IS], str(keys))[0]
    if isinstance(found, Failed):
        return {"program": name, "reason": str(found)}
    return {"program": name, "reason": "", **_compared(found, own)}


# ------------------------------------------------------------------ all


def _sentence(rows: Sequence[Json]) -> str:
    """The error of the model, each program as much; "" where nothing could be compared."""
    known = [row for row in rows if row.get("times")]
    if not known:
        return ""
    text = "The model of this machine gives the times of %s, of which it was not made, to %s (median)"
    text %= plural(len(known), "program"), percent(statistics.median(row["median"] for row in known))
    right, choices = (sum(row[name] for row in known) for name in ("right", "choices"))
    return text + (", and a fastest way in %d of %d choices." % (right, choices) if choices else ".")


def _hash(model: Path) -> str:
    return hashlib.sha256(model.read_bytes()).hexdigest()


def check(run: Path, programs: Path) -> Json:
    """Simulates the programs of a run that no fit reads. The folder has signature.json, machine.model and
    metrics.csv; Refused or OSError where one of them is not there, or is none."""
    try:
        times = measured_times(run / METRICS)
    except (csv.Error, KeyError, UnicodeDecodeError) as why:
        raise Refused("%s: %s" % (METRICS, clean(str(why))), 1) from None
    model, text = _hash(run / MODEL), (run / MODEL).read_text(encoding="utf-8", errors="replace")
    with tempfile.TemporaryDirectory(prefix="gpusig-check-") as made:
        folder, machine = Path(made), measured(run, run.name, Path(made), text)
        here = sorted((name, cases) for name, cases in times.items() if (programs / name).is_file())
        rows = [_program(programs / name, name, cases, machine, folder) for name, cases in here]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "model": model,
        "programs": rows,
        "sentence": _sentence(rows),
    }


def _is_row(row: object) -> bool:
    if not (isinstance(row, dict) and isinstance(row.get("program"), str)):
        return False
    if not isinstance(row.get("reason"), str) or row["reason"]:
        return isinstance(row.get("reason"), str)
    needed = ["cases", "times", "choices", "right"]
    needed += ["median", "most"] * bool(row.get("times")) + ["mean_loss"] * bool(row.get("choices"))
    needed += ["constant_right"] * bool(row.get("constant"))
    return isinstance(row.get("constant"), str) and all(is_number(row.get(name)) for name in needed)


def kept(run: Path) -> Optional[Json]:
    """The answer of an earlier check(), if it was of the same model. Refused where it is none that check()
    gives."""
    try:
        found = read_object(run / NAME)
        if found.get("schema") != SCHEMA or found.get("model") != _hash(run / MODEL):
            return None
    except (OSError, BadRecord):
        return None
    rows = found.get("programs")
    if not is_version(found.get("version"), 1):
        raise Refused("%s is of version %s" % (NAME, clean(str(found.get("version")))[:40]), 1)
    if not (isinstance(rows, list) and all(map(_is_row, rows)) and isinstance(found.get("sentence"), str)):
        raise Refused("%s is malformed" % NAME, 1)
    return found
