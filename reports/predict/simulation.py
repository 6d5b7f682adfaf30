# SPDX-License-Identifier: BSD-3-Clause
"""A program on models: each distinct change is run once, as many at a time as there are cores.

Virtual time without noise repeats exactly, so one sample is enough.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional, Sequence

from reports.predict.change import AS_IT_IS, Change, refuse
from reports.predict.machine import Machine
from reports.predict.keys import DEVICES, NOT_PREDICTED, QUIET
from reports.records.jsonl import Json, Refused, clean, is_number

_ONE_SAMPLE = ("--min-samples", "1", "--max-samples", "1", "--warm-up", "0", "--budget", "1h")
# Options that a prediction gives itself.
OWN = (
    "--device",
    "--format",
    "--out",
    "--done",
    "--progress",
    "--min-samples",
    "--max-samples",
    "--no-references",
    "--warm-up",
    "--budget",
    "--cases",
    "--goal",
    "--check",
    "--verbose",
    "-v",
    "--list",
    "--about",
    "--devices",
    "--version",
    "--help",
    "-h",
)
_HARMLESS = ("unverified",)  # flags that say nothing of a time: models keep no data
MOST_DEVICES = 64
_OF_SPEC = re.compile(r"^sim: [^?]*\?[^:]*: ")  # what it refuses is said anyway

Work = tuple[Optional[float], Optional[float]]  # bytes and flops


@dataclass
class Case:
    times: dict[str, float] = field(default_factory=dict)  # by variant, seconds
    work: dict[str, Work] = field(default_factory=dict)
    reason: str = ""  # why it has no times
    chooses: bool = False  # its program names the best of its variants


@dataclass
class Simulated:
    keys: Json  # of its model
    references: frozenset[str]  # variants that bound the others
    cases: dict[str, Case]


class Failed(Exception):
    """A program that gave no records; the text is its own, without its name."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def _seconds(value: object) -> Optional[float]:
    return float(value) if is_number(value) and value > 0 else None  # type: ignore[arg-type, operator]


def _chooses(record: Json) -> bool:
    """True where a case says which of its variants is the best, as best_schedules or best_time."""
    names = [*record["facts"], *(derived["name"] for derived in record["derived"])]
    return any(name.startswith("best_") for name in names)


def _case(record: Json) -> Case:
    if record["status"] != "ok":
        return Case(reason=str(record.get("reason") or record["status"]))
    flags = [flag for flag in record["validity"]["flags"] if flag["flag"] not in _HARMLESS]
    of_all = [flag["reason"] for flag in flags if flag["variant"] is None and flag["quantity"] is None]
    if of_all:
        return Case(reason=str(of_all[0]))
    bad = {flag["variant"] for flag in flags if flag["quantity"] in (None, "time")}
    found = Case(chooses=_chooses(record))
    for variant in record["variants"]:
        name, seconds, model = variant["name"], _seconds(variant["median_s"]), variant.get("model") or {}
        if seconds is not None and name not in bad:
            found.times[name] = seconds
            found.work[name] = (model.get("bytes"), model.get("flops"))
    if not found.times:
        found.reason = str(flags[0]["reason"]) if flags else "none of its variants has a time"
    return found


class Simulation:
    """The program runs in the folder `cwd`, where its options and the machine's model name files, without the
    variants that others are compared with unless `references`."""

    def __init__(
        self,
        program: Path,
        name: str,
        options: Sequence[str],
        machine: Machine,
        cwd: Path,
        references: bool = False,
    ) -> None:
        self._program, self.name, self._options = program, name, list(options)
        self._machine, self._cwd = machine, cwd
        self._fixed = _ONE_SAMPLE if references else (*_ONE_SAMPLE, "--no-references")
        self.keys: Json = {}  # of the model as it is, once that ran
        self._found: dict[tuple[str, str], Simulated | Failed] = {}

    def spec(self, change: Change) -> str:
        name, _, own = self._machine.spec.partition("?")
        devices, count = self._machine.devices, change.value(DEVICES)
        if count is not None:
            if not re.fullmatch("[0-9]{1,3}", count) or not 1 <= int(count) <= MOST_DEVICES:
                raise refuse("devices=%s is not a number from 1 to %d" % (clean(count)[:20], MOST_DEVICES))
            devices = "0" if count == "1" else "0-%d" % (int(count) - 1)
        kept = self._kept(own, change)
        parts = [
            self._absolute(part) if part.partition("=")[0] in self._own(own) else part
            for part in change.parts
        ]
        return "sim:%s?%s:%s" % (name, ",".join([*kept, QUIET, *parts]), devices)

    @staticmethod
    def _own(text: str) -> dict[str, str]:
        """Changes that the spec of the machine has itself, by their keys."""
        parts = re.split("[,&]", text) if text else []
        return {part.partition("=")[0].strip(): part for part in parts}

    def _kept(self, own: str, change: Change) -> list[str]:
        """Those of them that are not changed again: a spec has a key once."""
        again = (*change.names(), *NOT_PREDICTED)
        return [part for name, part in self._own(own).items() if name not in again]

    def _absolute(self, part: str) -> str:
        """A factor is one of the machine's value."""
        name, _, value = part.partition("=")
        base = self.keys.get(name)
        if value.endswith("x") and is_number(base):
            try:
                return "%s=%.15g" % (name, base * float(value[:-1]))
            except ValueError:
                return part
        return part

    def run(self, change: Change, only: str = "") -> Simulated:
        """`only`: a file with the keys of cases. Failed where the program refuses."""
        found = self.together([change], only)[0]
        if isinstance(found, Failed):
            raise found
        return found

    def together(self, changes: Sequence[Change], only: str = "") -> list[Simulated | Failed]:
        """One answer for each change, in their order."""
        specs = [(self.spec(change), only) for change in changes]
        missing = [spec for spec in dict.fromkeys(specs) if spec not in self._found]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for spec, found in zip(missing, pool.map(lambda spec: self._start(*spec), missing)):
                self._found[spec] = found
        return [self._found[spec] for spec in specs]

    def _start(self, spec: str, only: str) -> Simulated | Failed:
        command = [str(self._program), "--device", spec, "--format", "json", *self._fixed, *self._options]
        try:
            done = subprocess.run(
                command + ["--cases", only] * bool(only),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                cwd=self._cwd,
            )
        except OSError as error:
            return Failed("cannot be started: %s" % error.strerror, 77)
        records = self._records(done.stdout)
        if records is None or done.returncode not in (0, 1, 3) or done.returncode == 1 and not records.cases:
            return Failed(self._said(done.stderr, spec) or "exit code %d" % done.returncode, done.returncode)
        return records

    def _said(self, stderr: str, spec: str) -> str:
        lines = [line for line in stderr.splitlines() if line.strip()]
        said = lines[-1] if lines else ""
        said = said.removeprefix("gpusig: ").removeprefix(self.name + ": ")
        said = _OF_SPEC.sub("", said.replace(spec, "the model"))
        if self._machine.fitted is not None:  # nobody knows the file
            said = said.replace(self._machine.spec, "the model of the signature")
        return clean(said)[:300]

    @staticmethod
    def _records(text: str) -> Optional[Simulated]:
        found: Optional[Simulated] = None
        try:
            for line in text.splitlines():
                record = json.loads(line)
                if record["kind"] == "run":
                    devices = record["device"]
                    keys = devices[0]["model"]["keys"] if devices else {}
                    found = Simulated(keys, frozenset(record.get("references") or ()), {})
                elif record["kind"] == "case" and found:
                    found.cases[record["key"]] = _case(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        return found


def base_of(simulation: Simulation, hint: Callable[[str], str]) -> Simulated:
    """The program on the model as it is. Refused where there is nothing to predict, with what it says
    and a `hint` on that."""
    found = simulation.together([AS_IT_IS])[0]
    if isinstance(found, Failed):
        code = found.code if found.code in (1, 2, 77) else 1
        raise Refused(
            "predict: %s: %s%s" % (simulation.name, found, hint(str(found)) if code != 2 else ""), code
        )
    if not found.keys:
        raise Refused("predict: %s uses no device, so no model predicts it" % simulation.name, 77)
    if not any(case.times for case in found.cases.values()):
        reasons = [case.reason for case in found.cases.values() if case.reason]
        why = clean(reasons[0])[:200] if reasons else "no case fits the options"
        raise Refused("predict: %s: nothing to predict: %s%s" % (simulation.name, why, hint(why)), 3)
    simulation.keys = found.keys
    return found
