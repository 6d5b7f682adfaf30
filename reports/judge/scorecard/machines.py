# SPDX-License-Identifier: BSD-3-Clause
"""From what the user names to machines: their runs, what they are, and what each of their numbers is known to
be.

A machine is a folder of runs, of one run, or a signature.json, as a side of compare is; NAME=PATH gives it a
name. known:NAME is one of those that ship with gpusig (known.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Callable, NamedTuple, Sequence

from reports.records import spread
from reports.advice.comparison import labels
from reports.judge.compare import gpusig, sides, verdict
from reports.judge.compare.numbers import RATIO, BadNumbers, Number, RunNumbers
from reports.records.jsonl import Json, clean, is_number
from reports.signature.kind import family_of
from reports.signature.machine import main_devices
from reports.records.quantity import plural
from reports.signature.signature_file import trusting
from reports.records.student import quantile

CONFIDENCE = 0.95
KNOWN = "known:"  # in front of a machine's name
MAX_MACHINES = 26
_NAME = 60  # characters
_NORMAL = 1.96  # standard errors in half of a 95 % interval
_MANY = 1e6  # degrees of freedom of what is not estimated from few runs
ONE_RUN = "one run without repeats does not show what another run would give"


class Held(NamedTuple):
    """A number of a machine, by its runs: a value with its interval, or the reason why there is none.
    `center` and `error` are on the scale that machines are compared on, logarithms or the value itself;
    without `error` nothing can be told apart."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    center: float = 0.0
    error: float | None = None
    degrees: float = _MANY
    runs: int = 0
    reason: str = ""


@dataclass
class Machine:
    """`kind`: "host", "sim", or "gpu". `run_spread`: how much numbers move from run to run, of
    spread.spread_of(), where it is known. `known`: where a machine of reports/known is from; empty of the
    user's own."""

    name: str
    side: sides.Side
    signatures: list[Json]
    paths: list[Path]  # of the signatures
    kind: str
    devices: int
    simulated: bool
    run_spread: Json | None
    known: str = ""

    @property
    def runs(self) -> list[RunNumbers]:
        return self.side.runs


# ------------------------------------------------------------------ reading


def _split(cwd: Path, given: str) -> tuple[str, str]:
    """(name or "", path); a path may have a = in it."""
    name, equals, path = given.partition("=")
    if not equals or "/" in name or not name.strip() or not path or (cwd / given).exists():
        return "", given
    return clean(name).strip(), path


def named(cwd: Path, given: Sequence[str]) -> list[tuple[str, str]]:
    """(name, path) of each; BadNumbers where two have the same name."""
    split = [_split(cwd, text) for text in given]
    found = [(own or label, path) for (own, path), label in zip(split, labels([path for _, path in split]))]
    for name, path in found:
        if sum(other == name for other, _ in found) > 1:
            known = name[:_NAME], clean(path)
            raise BadNumbers("scorecard: two machines are called '%s'; name them: OTHER=%s" % known)
        if len(name) > _NAME and any(own == name for own, _ in split):
            raise BadNumbers("scorecard: the name '%s…' has more than %d characters" % (name[:20], _NAME))
    return [(name if len(name) <= _NAME else "…" + name[1 - _NAME :], path) for name, path in found]


def _signature(cwd: Path, run: RunNumbers) -> tuple[Json, Path]:
    path = cwd / run.name
    path = path / sides.SIGNATURE if path.is_dir() else path
    return gpusig.read_signature(path, run.name), path


def devices_of(signature: Json) -> int:
    return max(1, len(main_devices(signature)))


def _spread(runs: Sequence[RunNumbers], signatures: Sequence[Json]) -> Json | None:
    """Spread of several runs from their values, as that of one run is from its tries."""
    values: dict[str, spread.Tried] = {}
    for run in runs if len(runs) > 1 else ():
        for name, number in run.numbers.items():
            if number.judged and number.value is not None:
                before = values[name].values if name in values else ()
                values[name] = spread.Tried(number.unit, [*before, number.value])
    return spread.spread_of(values) or signatures[0]["run_spread"]


def machine_of(
    name: str, side: sides.Side, signatures: list[Json], paths: list[Path], run_spread: Json | None
) -> Machine:
    """The machine that the first signature describes. MALFORMED where that is no signature."""
    first = signatures[0]
    about = family_of(first), devices_of(first), first["simulated"] is True
    return Machine(name, side, signatures, paths, *about, run_spread)


def _machine(cwd: Path, name: str, path: str) -> Machine:
    side = sides.read(cwd, [path])
    if any(run.source != "gpusig" for run in side.runs):
        raise BadNumbers(
            "scorecard: %s is not a run of gpusig; outputs of other tools go to ./gpusig compare" % side.name
        )
    sides.check([side])
    signatures, paths = (list(part) for part in zip(*(_signature(cwd, run) for run in side.runs)))
    with trusting("scorecard: %s: signature.json" % side.name, BadNumbers):
        return machine_of(name, side, signatures, paths, _spread(side.runs, signatures))


def read(cwd: Path, given: Sequence[str], known: Callable[[str], Machine]) -> list[Machine]:
    """`known` reads the machine of a name behind KNOWN. BadNumbers names what cannot be read, or cannot stand
    next to the others."""
    if len(given) > MAX_MACHINES:
        raise BadNumbers("scorecard: %d machines are too many, at most %d" % (len(given), MAX_MACHINES))
    found = [
        replace(known(path[len(KNOWN) :]), name=name) if path.startswith(KNOWN) else _machine(cwd, name, path)
        for name, path in named(cwd, given)
    ]
    for machine in found[1:]:
        if machine.simulated != found[0].simulated:
            both = found[0].name, machine.name
            raise BadNumbers(
                "scorecard: a simulated and a measured machine cannot be compared: %s and %s" % both
            )
    return found


# ------------------------------------------------------------------ what a number is known to be


def number_of(machine: Machine, name: str) -> Number | None:
    return verdict.number_of(machine.runs, name) if any(name in run.numbers for run in machine.runs) else None


def _on_scale(value: float, scale: str) -> float:
    return math.log(value) if scale == RATIO else value


def shown(place: float, scale: str) -> float:
    return math.exp(max(-690.0, min(place, 690.0))) if scale == RATIO else place


def _half(entry: Json, ends: tuple[str, str], scale: str) -> float | None:
    """The longer half of an interval, on the scale; None where it has no ends there."""
    low, value, high = (entry.get(key) for key in (ends[0], "value", ends[1]))
    if not all(is_number(v) for v in (low, value, high)) or scale == RATIO and min(low, value, high) <= 0:
        return None
    places = [_on_scale(float(v), scale) for v in (low, value, high)]
    return max(abs(places[1] - places[0]), abs(places[2] - places[1]))


def _of_one(name: str, entry: Json, scale: str, simulated: bool) -> Held:
    """The interval is that of another run, where the run's tries tell it. A model in virtual time has no
    processes that differ: there it is that of the samples."""
    value, variance = float(entry["value"]), spread.deviation_of(entry, name) if "unit" in entry else None
    ends = ("ci_low", "ci_high") if variance is None else ("run_low", "run_high")
    half = _half(entry, ends, scale)
    if variance is not None:
        degrees, error = variance.degrees, math.sqrt(variance.variance)
    else:
        degrees, error = _MANY, half / _NORMAL if simulated and half is not None else None
    low, high = (float(entry[end]) if is_number(entry.get(end)) else None for end in ends)
    reason = "" if error is not None else ONE_RUN
    return Held(value, low, high, _on_scale(value, scale), error, degrees, 1, reason)


def _of_several(
    name: str, values: Sequence[float], entries: Sequence[Json], scale: str, known: Json | None
) -> Held:
    """Their mean on the scale. Its error is from these runs, with what all numbers of the machine say of how
    much one moves, and at least that which the samples of a run have."""
    places = [_on_scale(value, scale) for value in values]
    count, center = len(places), fmean(places)
    unit = next((str(entry["unit"]) for entry in entries), "")
    own, degrees = spread.variance_for(name, spread.Tried(unit, values), known)
    found = (_half(entry, ("ci_low", "ci_high"), scale) for entry in entries)
    halves = [half for half in found if half is not None]
    error = math.sqrt(max(own, (median(halves) / _NORMAL) ** 2 if halves else 0.0) / count)
    half = quantile(CONFIDENCE, degrees) * error
    value, low, high = (shown(place, scale) for place in (center, center - half, center + half))
    return Held(value, low, high, center, error, degrees, count)


def held(machine: Machine, name: str) -> Held:
    """A headline number of the machine."""
    numbers = [run.numbers.get(name) for run in machine.runs]
    present = [
        (number, signature["metrics"].get(name))
        for number, signature in zip(numbers, machine.signatures)
        if number is not None and number.value is not None
    ]
    reasons = list(dict.fromkeys(number.reason for number in numbers if number is not None and number.reason))
    if len(numbers) == 1:  # one contended try is no value of a single run
        present = [(number, entry) for number, entry in present if entry is not None]
        reasons = reasons or ["only one contended try"]
    if len(present) < (1 - verdict.MOST_MISSING) * len(numbers):
        lost = len(numbers) - len(present)
        known = reasons and any(number is not None for number in numbers)
        why = reasons[0] if known else "not measured"
        if lost < len(numbers):
            why = "%d of %s without a value: %s" % (lost, plural(len(numbers), "run"), why)
        return Held(reason=why)
    scale = present[0][0].scale
    values = [float(number.value) for number, _ in present if number.value is not None]
    if scale == RATIO and min(values) <= 0:
        return Held(reason="a value that is not above 0 has no ratio")
    if len(values) == 1:
        entry = present[0][1] or {"value": values[0]}
        return _of_one(name, entry, scale, machine.simulated)
    entries = [entry for _, entry in present if entry is not None]
    return _of_several(name, values, entries, scale, machine.run_spread)
