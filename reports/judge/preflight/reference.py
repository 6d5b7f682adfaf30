# SPDX-License-Identifier: BSD-3-Clause
"""Expectations of a node: from a signature, the runs of a folder, or the noise floor of many.

Of several runs a number is their median and every other thing what most of them have, so that the folder of a
fleet is the fleet's majority. How much a number moves from run to run comes from the noise floor, else from
the runs, else from the repeats of a single run; where none of these tells it is assumed, and the answer
says so.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Iterable, Mapping, Sequence

from reports.judge.compare import gpusig, noise, sides, verdict
from reports.judge.compare.gpusig import SOURCE
from reports.judge.compare.numbers import RATIO, BadNumbers, RunNumbers, refuse_wrong_results
from reports.records.jsonl import Json, clean, is_number
from reports.signature.kind import kinds_of_devices
from reports.signature.machine import main_devices, name_of
from reports.records.moderated import Variance
from reports.judge.preflight.threshold import KNOWN
from reports.signature.signature_file import trusting
from reports.records.spread import Tried, deviation_of, own_variance, spread_of, variance_for

ASSUMED = 0.05  # standard deviation from run to run if unknown: above that of a shared virtual machine
FROM_NOISE, FROM_RUNS, FROM_TRIES = "noise floor", "runs of the reference", "repeats within the reference"
FROM_SAMPLES, FROM_NOWHERE = "samples of the simulated reference", "assumed"
_Z = 1.96
_OF_NOISE = 4  # degrees of freedom of a floor of few runs
_NODE = "topology/node"


@dataclass(frozen=True)
class Expected:
    """A number and how a run of a healthy node scatters around it. `deviation`, `effect` and `worst` are of
    logarithms."""

    value: float
    unit: str
    better: str  # "higher", "lower"
    runs: int  # that the value is the median of
    deviation: float
    degrees: int  # of the deviation
    source: str  # of the deviation
    effect: float = 0.0  # least effect that matters, of the noise floor
    worst: float = 0.0  # how much worse than the value the worst run of the reference is
    label: str = ""
    case: str = ""  # what the number holds for; empty where that is not known, as of a noise floor


@dataclass
class Reference:
    """`provenance`, `device` and `links` are empty where a noise floor is all there is."""

    name: str
    spec: str = ""  # of --device
    simulated: bool = False
    runs: int = 0
    expected: dict[str, Expected] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)  # numbers without a value -> reason
    hosts: list[str] = field(default_factory=list)
    machine: str = ""
    provenance: dict[str, str] = field(default_factory=dict)  # what most runs have
    devices: list[Json] = field(default_factory=list)  # of a run with the usual number of them
    links: Mapping[str, Any] = field(default_factory=dict)  # facts of topology/node of the same run
    memory_bytes: float = 0.0  # of the host
    free_bytes: dict[int, float] = field(default_factory=dict)  # by device: may be allocated, at the median
    notes: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)  # of the devices


def program_of(metric: str) -> str:
    return "/".join(metric.split("/")[:2])


def links_of_node(signature: Json) -> Json:
    """The facts of topology/node; empty where it did not run."""
    for name, section in signature["programs"].items():
        if name.partition("@")[0] == _NODE:
            return next(iter(section["results"]["facts"].values()), {})
    return {}


# ------------------------------------------------------------------ how much numbers move


def _usual(values: Iterable[Any]) -> Any:
    """The most common value; of several that are equally frequent the first."""
    counted = Counter(values)
    return counted.most_common(1)[0][0] if counted else None


def _of(variance: Variance, source: str) -> dict[str, Any]:
    degrees = max(1, min(KNOWN, math.floor(variance.degrees)))
    return {"deviation": math.sqrt(variance.variance), "degrees": degrees, "source": source}


def _careful(name: str, tried: Tried, spread: Json | None) -> Variance:
    """At least the number's own variance: of few runs of few numbers the common one is uncertain, too."""
    known = variance_for(name, tried, spread)
    return known._replace(variance=max(known.variance, own_variance(name, tried).variance))


def _of_one(name: str, entry: Json, simulated: bool) -> dict[str, Any]:
    """Deviation of a number that the reference has once: from its tries, else from its samples."""
    variance = deviation_of(entry, name) if "unit" in entry else None
    if variance is not None:
        return _of(variance, FROM_TRIES)
    low, high, value = entry.get("ci_low"), entry.get("ci_high"), abs(entry["value"])
    if simulated:
        half = (high - low) / 2 / value if is_number(low) and is_number(high) else 0.0
        return {"deviation": half / _Z, "degrees": KNOWN, "source": FROM_SAMPLES}
    return {"deviation": ASSUMED, "degrees": KNOWN, "source": FROM_NOWHERE}


def expected_of(runs: Sequence[RunNumbers], signatures: Sequence[Json]) -> dict[str, Expected]:
    """Expectations of the numbers that are judged; `signatures` are those of the runs, for numbers that a
    single run has."""
    values: dict[str, list[float]] = {}
    units: dict[str, str] = {}
    for run in runs:
        for name, number in run.numbers.items():
            if number.judged and number.scale == RATIO and (number.value or 0) > 0 and number.better:
                values.setdefault(name, []).append(number.value)
                units[name] = number.unit
    found: dict[str, Expected] = {}
    tried = {name: Tried(units[name], own) for name, own in values.items()}
    spread = spread_of(tried)
    for name, own in values.items():
        if verdict.differs(runs, name):
            continue
        present = [run.numbers[name] for run in runs if name in run.numbers]
        number = next(one for one in present if one.value is not None)
        if len(own) > 1:
            how: Json = _of(_careful(name, tried[name], spread), FROM_RUNS)
        else:
            entries = [s["metrics"][name] for s in signatures if name in s["metrics"]]
            how = _of_one(name, entries[0] if entries else {"value": own[0]}, runs[0].simulated)
        usual, worst = median(own), min(own) if number.better == "higher" else max(own)
        how.update(worst=abs(math.log(worst / usual)), label=number.label, case=number.case)
        found[name] = Expected(usual, number.unit, str(number.better), len(own), **how)
    return found


def _of_noise(entry: Json, where: str) -> Expected | None:
    """A file of before version 1.1 has no deviation of single runs: there it is from the floor of the fewest
    runs a side, floor = z s sqrt(2 / n)."""
    floors = {int(n): own for n, own in entry["by_repeats"].items() if is_number(own["floor"])}
    value, better = entry["median"], entry["better"]
    is_ratio = entry["scale"] == RATIO and better in ("higher", "lower")
    if not floors or not is_ratio or not is_number(value) or value <= 0:
        return None
    count = min(floors)
    if not 1 <= count <= 1000 or not 0 <= floors[count]["floor"] < 1e6:
        raise BadNumbers("%s is malformed: a floor of %s runs" % (where, count))
    effect = floors[count]["effect"]
    deviation: float = math.log1p(floors[count]["floor"]) / _Z / math.sqrt(2 / count)
    degrees = max(_OF_NOISE, int(entry["runs"]) // 2)
    if is_number(entry.get("deviation")) and is_number(entry.get("degrees")) and entry["degrees"] > 0:
        deviation, degrees = float(entry["deviation"]), int(entry["degrees"])
    known = (
        float(value),
        str(entry["unit"]),
        better,
        max(1, int(entry["runs"])),
        deviation,
        degrees,
        FROM_NOISE,
    )
    least = math.log1p(effect) if is_number(effect) else 0.0
    return Expected(*known, least, label=clean(str(entry["label"])))


def noise_of(path: Path, name: str) -> Reference:
    found = noise.load(path, name)
    with trusting(name, BadNumbers):
        read = {str(entry["name"]): _of_noise(entry, name) for entry in found["metrics"]}
        spec, machine = str(found["device"]).rpartition(": ")[0], clean(str(found["machine"]))
        expected = {k: e for k, e in read.items() if e}
        is_simulated = spec.startswith("sim")
        return Reference(name, spec, is_simulated, int(found["runs"]), expected, machine=machine)


# ------------------------------------------------------------------ signatures


def _signature(cwd: Path, run: RunNumbers) -> Json:
    path = cwd / run.name
    return gpusig.read_signature(path / sides.SIGNATURE if path.is_dir() else path, run.name)


def _checked(side: sides.Side) -> None:
    tools, kinds = {run.source for run in side.runs}, {run.kind for run in side.runs}
    for what, found in (("tool", tools), ("kind of device", kinds)):
        if len(found) > 1:
            named = ", ".join(sorted(found)[:4])
            raise BadNumbers("%s mixes runs of more than one %s: %s" % (side.name, what, named))
    if side.runs[0].source != SOURCE:
        raise BadNumbers("%s is of %s; a reference is a run of gpusig" % (side.name, side.runs[0].source))
    refuse_wrong_results(side.runs)


def signature_of(cwd: Path, given: str) -> Reference:
    """A signature.json, the folder of a run, or a folder of runs, which may be of several nodes."""
    side = sides.read(cwd, [given])
    _checked(side)
    runs, signatures = side.runs, [_signature(cwd, run) for run in side.runs]
    fields = dict.fromkeys(name for run in runs for name in run.provenance)
    counts = [len(main_devices(s)) for s in signatures]
    typical = signatures[counts.index(_usual(counts))]
    free: dict[int, list[float]] = {}
    for signature in signatures:
        for place, device in enumerate(main_devices(signature).values()):
            if is_number(device.get("memory_bytes")) and device["memory_bytes"] > 0:
                free.setdefault(place, []).append(float(device["memory_bytes"]))
    memory = [s["provenance"]["fields"].get("memory_bytes") for s in signatures]
    expected = expected_of(runs, signatures)
    return Reference(
        side.name,
        typical["device"],
        runs[0].simulated,
        len(runs),
        expected,
        {
            name: n.reason or verdict.differs(runs, name)
            for run in runs
            for name, n in run.numbers.items()
            if n.judged and name not in expected
        },
        sorted({str(s["provenance"]["fields"].get("hostname") or "") for s in signatures} - {""}),
        name_of(typical),
        {name: _usual(run.provenance.get(name, "") for run in runs) for name in fields},
        list(main_devices(typical).values()),
        links_of_node(typical),
        median([float(m) for m in memory if is_number(m)] or [0.0]),
        {place: median(own) for place, own in free.items()},
        ["%s left out" % text for text in side.left_out[:4]],
        kinds_of_devices(typical),
    )


def read(cwd: Path, given: str | None, noise_file: str | None) -> Reference | None:
    """None where neither is given. BadNumbers says what cannot be used."""
    if given is None:
        return noise_of(cwd / noise_file, clean(noise_file)) if noise_file is not None else None
    with trusting(clean(given), BadNumbers):
        found = signature_of(cwd, given)
    if noise_file is None:
        return found
    floor = noise_of(cwd / noise_file, clean(noise_file))
    if floor.simulated != found.simulated:
        raise BadNumbers("%s is of another kind of device than %s" % (floor.name, found.name))
    for name, one in found.expected.items():
        if name in floor.expected:
            own = floor.expected[name]
            known = {key: getattr(own, key) for key in ("deviation", "degrees", "source", "effect")}
            found.expected[name] = replace(one, **known)
    return found
