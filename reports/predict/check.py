# SPDX-License-Identifier: BSD-3-Clause
"""Error of a fitted model in what it was not made of: programs that no fit reads, in the cases that were
measured, on the machine and on its model.

A way is right if it is a fastest one: of the ways to do the same work that were measured, the one that the
model takes for the fastest is at most 2 % slower than the fastest, or its interval reaches that of the
fastest. Work of which every way is right is no choice: it is undecided, and counted apart. Choices between
schedules are made by corrected times, as ./gpusig advise makes them (reports/predict/correction.py), here by
what other shapes than that of the choice tell.
"""

from __future__ import annotations

import csv
import hashlib
import math
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Optional, Sequence

from reports.model.measured import QUANTITIES, SAMPLED
from reports.predict.change import AS_IT_IS
from reports.predict.correction import Corrections, Off, is_ratio, made_of
from reports.predict.machine import Machine, measured, times_in_csv
from reports.predict.outcome import outcomes
from reports.predict.simulation import Failed, Simulated, Simulation
from reports.predict.skill import Pair, difference, sentence, wilson
from reports.model.text import NAME as MODEL
from reports.records.csv_files import METRICS
from reports.records.jsonl import BadRecord, Json, Refused, clean, is_number, is_version, read_object, real_in
from reports.records.quantity import percent, plural
from reports.records.records import axes_in

NAME = "prediction.json"  # in the folder of a run
SCHEMA, VERSION = "gpusig.prediction", "1.2.0"
UNSEEN = ("overlap/", "collectives/device_")
SCORED = "overlap/ficco"  # whose choices ./gpusig advise tells, and which have a sentence
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
    """At most MOST_CASES, spread over their order; not every second one, as axes alternate."""
    keys, count = list(cases), min(len(cases), MOST_CASES)
    return {key: cases[key] for key in (keys[i * len(keys) // count] for i in range(count))}


def _options(keys: Sequence[str]) -> list[str]:
    """Options that have these cases among theirs: every value of each axis."""
    values: dict[str, dict[str, None]] = {}
    for key in keys:
        for axis, value in axes_in(key).items():
            values.setdefault(axis, {})[value] = None
    return [word for axis, of in values.items() for word in ("--" + axis, ",".join(of))]


# ------------------------------------------------------------------ one program


def _shape(key: str) -> str:
    """Work of one shape is alike, whatever is done with it."""
    return axes_in(key).get("shape", key)


class _Work(NamedTuple):
    """Work of one case, and the ways to do it that machine and model have, the first first."""

    key: str
    own: Case
    model: dict[str, float]  # seconds

    @property
    def fastest(self) -> Interval:
        return min(self.own.values())

    @property
    def chosen(self) -> str:
        return min(self.model, key=lambda way: self.model[way])

    def loss(self, way: str) -> float:
        return self.own[way].value / self.fastest.value - 1

    def right(self, way: str) -> bool:
        return self.loss(way) <= TIE or self.own[way].low <= self.fastest.high

    @property
    def decided(self) -> bool:
        return not all(map(self.right, self.own))

    def off(self) -> list[float]:
        """Errors of the ratios of the other ways to the chosen one, which decide a choice."""
        way = self.chosen
        own, model = self.own[way].value, self.model[way]
        return [
            abs(math.log(seconds / model * own / self.own[other].value))
            for other, seconds in self.model.items()
            if other != way
        ]


def _works(simulated: Simulated, cases: dict[str, Case]) -> list[_Work]:
    """Those with several ways."""
    found = []
    for outcome in outcomes(simulated):
        times = simulated.cases[outcome.key].times
        own = {way: t for way, t in cases[outcome.key].items() if way in outcome.variants}
        if len(own) > 1:
            found.append(_Work(outcome.key, own, {way: times[way] for way in own}))
    return found


def _constants(choices: Sequence[_Work]) -> dict[str, list[bool]]:
    """Verdicts of each constant choice; the first way takes its place where it is impossible."""
    names = sorted({way for work in choices for way in work.own})
    return {
        name: [work.right(name if name in work.own else next(iter(work.own))) for work in choices]
        for name in names
    }


def _mean(found: Sequence[float]) -> Optional[float]:
    return statistics.fmean(found) if found else None


def _choices(works: Sequence[_Work]) -> Json:
    choices = [work for work in works if work.decided]
    rights = [work.right(work.chosen) for work in choices]
    losses = [work.loss(work.chosen) for work in choices]
    constant, best = max(_constants(choices).items(), key=lambda one: (sum(one[1]), one[0]), default=("", []))
    pairs = [Pair(_shape(work.key), ours, other) for work, ours, other in zip(choices, rights, best)]
    ratios = [off for work in works for off in work.off()]
    return {
        "between": statistics.median(ratios) if ratios else None,
        "undecided": len(works) - len(choices),
        "choices": len(choices),
        "right": sum(rights),
        "right_ci": list(wilson(sum(rights), len(choices)) or ()) or None,
        "mean_loss": _mean(losses),
        "mean_loss_when_wrong": _mean([loss for loss, right in zip(losses, rights) if not right]),
        "constant": constant,
        "constant_right": sum(best) if constant else None,
        "over_constant": difference(pairs) if pairs else None,
    }


def _off(simulated: Simulated, cases: dict[str, Case]) -> list[Off]:
    return [
        Off(key, variant, cases[key][variant].value / seconds)
        for key, case in simulated.cases.items()
        for variant, seconds in case.times.items()
        if variant in cases[key]
    ]


def _errors(off: Sequence[Off]) -> list[float]:
    return [abs(1 / one.ratio - 1) for one in off]


def _corrected(simulated: Simulated, off: Sequence[Off]) -> Simulated:
    """Each case by the corrections of other shapes, as one of a shape that was not measured."""
    of_others = {
        shape: Corrections(made_of([one for one in off if _shape(one.key) != shape]))
        for shape in set(map(_shape, simulated.cases))
    }
    cases = {
        key: replace(case, times=of_others[_shape(key)].corrected(key, case.times))
        for key, case in simulated.cases.items()
    }
    return replace(simulated, cases=cases)


def _compared(simulated: Simulated, cases: dict[str, Case], correct: bool = False) -> Json:
    """`correct`: by what other shapes tell of each schedule."""
    simulated.cases = {key: case for key, case in simulated.cases.items() if key in cases}
    off = _off(simulated, cases)
    errors, corrections = _errors(off), made_of(off) if correct else []
    chosen_by = _corrected(simulated, off) if corrections else simulated
    return {
        "cases": sum(bool(case.times) for case in simulated.cases.values()),
        "times": len(off),
        "median": statistics.median(errors) if off else None,
        "most": max(errors) if off else None,
        "corrections": corrections,
        "corrected": statistics.median(_errors(_off(chosen_by, cases))) if corrections else None,
        **_choices(_works(chosen_by, cases)),
    }


def _program(path: Path, name: str, cases: dict[str, Case], machine: Machine, folder: Path) -> Json:
    own = _some(cases)
    keys = folder / name.replace("/", "-")
    keys.write_text("".join(key + "\n" for key in own), encoding="utf-8")
    simulation = Simulation(path, name, _options(list(own)), machine, folder)
    found = simulation.together([AS_IT_IS], str(keys))[0]
    if isinstance(found, Failed):
        return {"program": name, "reason": str(found)}
    return {"program": name, "reason": "", **_compared(found, own, name == SCORED)}


# ------------------------------------------------------------------ all


def _sentence(rows: Sequence[Json]) -> str:
    """The error of the model, each program as much, and how often it chooses a fastest schedule; "" where
    nothing could be compared."""
    known = [row for row in rows if row.get("times")]
    if not known:
        return ""
    text = "The model of this machine gives the times of %s, of which it was not made, to %s (median)"
    text %= plural(len(known), "program"), percent(statistics.median(row["median"] for row in known))
    right, choices = (sum(row[name] for row in known) for name in ("right", "choices"))
    text += ", and a fastest way in %d of %d choices." % (right, choices) if choices else "."
    for row in known:
        if row["program"] == SCORED and sentence(row):
            text += " %s %s." % ("Corrected:" if row["corrections"] else "It chooses", sentence(row))
    return text


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
    needed += ["median", "most"] * bool(row.get("times"))
    needed += ["mean_loss", "constant_right"] * bool(row.get("choices"))
    if not (isinstance(row.get("constant"), str) and all(is_number(row.get(name)) for name in needed)):
        return False
    # Keys that version 1.0 does not have, and from "corrected" on 1.1.
    later = [row.get(name) for name in ("undecided", "between", "mean_loss_when_wrong", "corrected")]
    if not all(value is None or is_number(value) for value in later):
        return False
    if not all(map(_is_correction, row.get("corrections", []))):
        return False
    interval, over = row.get("right_ci"), row.get("over_constant")
    return (interval is None or _is_interval(interval)) and (over is None or _is_skill(over))


def _is_correction(found: object) -> bool:
    return (
        isinstance(found, dict)
        and all(isinstance(found.get(name), str) for name in ("exchange", "copy_method", "schedule"))
        and is_number(found.get("ratio"))
        and is_ratio(found["ratio"])
    )


def _is_interval(found: object) -> bool:
    return isinstance(found, list) and len(found) == 2 and all(map(is_number, found))


def _is_skill(found: object) -> bool:
    return (
        isinstance(found, dict)
        and _is_interval(found.get("ci"))
        and all(is_number(found.get(name)) for name in ("value", "p"))
    )


def kept(run: Path, model: Optional[Path] = None) -> Optional[Json]:
    """The answer of an earlier check(), if it was of the same model, that of the run or another file. Refused
    where it is none that check() gives."""
    try:
        found = read_object(run / NAME)
        if found.get("schema") != SCHEMA or found.get("model") != _hash(model or run / MODEL):
            return None
    except (OSError, BadRecord):
        return None
    rows = found.get("programs")
    if not is_version(found.get("version"), 1):
        raise Refused("%s is of version %s" % (NAME, clean(str(found.get("version")))[:40]), 1)
    if not (isinstance(rows, list) and all(map(_is_row, rows)) and isinstance(found.get("sentence"), str)):
        raise Refused("%s is malformed" % NAME, 1)
    return found
