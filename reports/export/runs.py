# SPDX-License-Identifier: BSD-3-Clause
"""Runs as other tools take them: node and device, when, each headline number with its interval, and what is
missing or wrong.

A folder is one run (it has a signature.json) or holds the folders of several, such as those of ./gpusig run
--repeats.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple, Sequence

from reports.judge.compare import gpusig
from reports.judge.compare.numbers import BadNumbers, Failed
from reports.judge.compare.sides import MAX_RUNS, SIGNATURE, Place, named, read_each, runs_under
from reports.judge.compare.verdict import matches
from reports.records.groups import grouped
from reports.records.jsonl import Json, clean, is_number
from reports.signature.kind import kind_of
from reports.signature.machine import main_device, main_devices, name_of, verdict
from reports.records.moment import moment
from reports.records.quantity import plural
from reports.signature.signature import Signature
from reports.signature.signature_file import trusting
from reports.records.spread import shown_interval

UNKNOWN = "unknown"


class Value(NamedTuple):
    """A headline number. `low` and `high` are the interval of another run of this machine where `of_runs`,
    else of the median alone; None where there is none."""

    name: str  # in the signature
    program: str
    metric: str  # in its program
    device: str
    condition: str
    value: float
    unit: str
    better: str | None
    low: float | None
    high: float | None
    of_runs: bool
    n: int
    grade: str
    grade_reason: str


class Missing(NamedTuple):
    name: str
    program: str
    metric: str
    device: str
    cause: str  # one of reports/records/causes.py
    reason: str


@dataclass(frozen=True)
class Run:
    """One run. `signature` has everything else."""

    name: str  # as the user calls it
    node: str
    device: str
    model: str  # the device's own name
    kind: str
    simulated: bool
    started: datetime | None  # in UTC
    values: tuple[Value, ...]
    missing: tuple[Missing, ...]
    doubtful: bool
    verdict: str  # the report's last sentence, without the share of invalid values
    signature: Json
    failed: tuple[Failed, ...]

    @property
    def wrong_results(self) -> int:
        """Cases, with a headline number or without one."""
        return sum(own.count for own in self.failed if own.is_wrong)

    @property
    def machine(self) -> tuple[str, str, str, bool]:
        """The same for all runs of a series."""
        devices = plural(len(main_devices(self.signature)), "device")
        return self.node, devices, self.kind, self.simulated

    @property
    def driver(self) -> str:
        return clean(str(main_device(self.signature).get("driver") or ""))[:200]

    def field(self, name: str) -> str:
        """A field of the provenance; empty where it is not known."""
        value = self.signature["provenance"]["fields"].get(name)
        return "" if value is None else clean(str(value))[:200]


def moment_of(text: str) -> datetime | None:
    """In UTC; None where the time zone is not known, too."""
    found = moment(text)
    try:
        return found.astimezone(timezone.utc) if found and found.tzinfo else None
    except OverflowError:
        return None


def _value(name: str, entry: Json) -> Value:
    number = gpusig.number_of(name, entry)
    low, high = shown_interval(entry)
    for end in (low, high):
        if end is not None and not is_number(end):
            raise ValueError("%s has an interval that is not a number" % name)
    n = entry["n"]
    count = n if isinstance(n, int) else 0
    place = str(entry["program"]), name.rpartition("/")[2].partition("@")[0], str(entry["device"])
    value = number.condition, float(number.value or 0.0), number.unit, number.better
    grade = str(entry.get("grade") or ""), str(entry.get("grade_reason") or "")
    return Value(name, *place, *value, low, high, "run_low" in entry, count, *grade)


def _missing(signature: Json, entry: Json) -> Missing:
    texts = (str(entry[key]) for key in ("program", "metric", "device", "cause", "reason"))
    return Missing(gpusig.name_of_missing(signature, entry), *texts)


def _start(signature: Json, plan: Json) -> datetime | None:
    """Start of the first program, or where that has no clock, as simulated ones, of the driver's plan."""
    starts = [moment_of(str(run.get("started") or "")) for run in signature["runs"]]
    return min((start for start in starts if start), default=moment_of(str(plan.get("created") or "")))


def _run(signature: Json, name: str, plan: Json) -> Run:
    whole = Signature(signature)
    values = tuple(_value(key, entry) for _, rows in grouped(whole.primary) for key, entry in rows)
    # A signature has few of the valid values and groups the invalid ones, so their share is not known here.
    said = verdict(replace(whole, json=dict(signature, invalid=[])))
    node = signature["provenance"]["fields"].get("hostname")
    return Run(
        name,
        clean(str(node))[:200] if node else UNKNOWN,
        str(signature["device"]),
        name_of(signature),
        kind_of(signature),
        signature["simulated"] is True,
        _start(signature, plan),
        values,
        tuple(_missing(signature, entry) for entry in signature["primary_missing"]),
        said.doubtful,
        said.text,
        signature,
        gpusig.failed_of(signature),
    )


def read(path: Path, name: str) -> Run:
    """The run of a signature.json. BadNumbers where it is none, or malformed."""
    with trusting("%s: signature.json" % name, BadNumbers):
        plan = gpusig.read_plan(path.parent) if path.name == SIGNATURE else {}
        return _run(gpusig.read_signature(path, name), name, plan)


def collect(cwd: Path, names: Sequence[str]) -> tuple[list[Run], list[str]]:
    """All runs, and why others are left out. BadNumbers where a name is wrong, or nothing can be read."""
    places: list[Place] = []
    for given in names:
        with named(cwd, given) as (path, name):
            own = runs_under(path, name) if path.is_dir() else [Place(path, name)]
        if not own:
            raise BadNumbers("%s holds no run: neither signature.json, nor folders with one" % name)
        places += own
    if len(places) > MAX_RUNS:
        raise BadNumbers("%d runs, more than %d" % (len(places), MAX_RUNS))
    found, left_out = [], []
    for run, why in read_each(places, read):
        if run:
            found.append(run)
        else:
            left_out.append(why)
    if not found:
        several = "no run can be used: " * (len(left_out) > 1)
        raise BadNumbers(several + "; ".join(left_out[:3]))
    return found, left_out


def chosen(run: Run, only: Sequence[str]) -> Run:
    """With the metrics that match, all without a pattern."""
    if not only:
        return run
    return replace(
        run,
        values=tuple(value for value in run.values if matches(value.name, only)),
        missing=tuple(missing for missing in run.missing if matches(missing.name, only)),
    )


def of_one_machine(runs: Sequence[Run], what: str) -> list[Run]:
    """In the order of their starts. BadNumbers where they are no series of one machine."""
    machines: dict[tuple[Any, ...], str] = {}
    for run in runs:
        machines.setdefault(run.machine, run.name)
    if len(machines) > 1:
        (one, first), (other, second) = list(machines.items())[:2]
        differs = next("%s and %s" % (a, b) for a, b in zip(one, other) if a != b)
        raise BadNumbers(
            "%s is of one node and kind of device, but %s and %s differ: %s" % (what, first, second, differs)
        )
    unknown = [run.name for run in runs if run.started is None]
    if unknown and len(runs) > 1:
        raise BadNumbers(
            "%s: no record says when it was measured, so it has no place in a series" % unknown[0]
        )
    return sorted(runs, key=lambda run: run.started.timestamp() if run.started else 0.0)
