# SPDX-License-Identifier: BSD-3-Clause
"""Schedules of GEMMs with their communication on the model of a signature: overlap/ficco runs on it in
virtual time, and its times are the predictions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ContextManager, Mapping, NamedTuple, Optional, Sequence

from reports.model import text
from reports.model.fit import NoModel
from reports.predict import check
from reports.predict.answer import lacking, made_up
from reports.predict.change import AS_IT_IS, Change
from reports.predict.correction import Corrections, exchange_of
from reports.predict.machine import Machine, of_signature
from reports.predict.search import Doubts, doubts, few_cases
from reports.predict.simulation import Failed, Simulated, Simulation
from reports.records.jsonl import BadRecord, Json, Refused, is_number
from reports.records.quantity import plural, ratio_text
from reports.records.records import axes_in
from reports.signature import signature_file

PROGRAM, GEMM = check.SCORED, "gemm/efficiency"
GEMM_ALONE, COMMUNICATION, SERIAL = "gemm", "communication", "serial"
TRACKED = "llc_tracked"  # key: a piece of B is in the cache only if something brought it there
WARM, COLD = "warm", "cold"
_ANY_MEMORY = "memory_bytes=1000000000000000"  # for all sets of cold operands: a model keeps no data
ROWS, COLUMNS = "rows", "columns"  # of C, that a schedule cuts
BAD, CANNOT = 1, 77

Sides = tuple[int, int, int]


class Way(NamedTuple):
    schedule: str
    copy_method: str
    cut: str = ROWS


Times = dict[Way, float]


class AdviseError(Refused):
    """A question about advice that cannot be answered."""


class NoAnswer(AdviseError):
    """A signature lacks what the question needs; others may have it."""

    def __init__(self, text: str, more: Sequence[str] = ()) -> None:
        super().__init__(text, CANNOT, more)


class Work(NamedTuple):
    """A GEMM with its communication, of any sides. `operands`: warm, or cold as weights are that are used
    once a step."""

    op: str
    type: str
    devices: int
    operands: str = WARM


class Need(NamedTuple):
    """A key of the model that nothing gave, and whose change chooses another schedule."""

    key: str
    change: str
    reason: str


class Predicted(NamedTuple):
    """`times` are corrected. `gemm_s`, `comm_s`: the whole GEMM, and the whole exchange by the faster copy
    method, alone, on the model."""

    times: Times
    gemm_s: float
    comm_s: float
    needs: tuple[Need, ...]


def trusting(path: Path) -> ContextManager[None]:
    return signature_file.trusting(str(path), AdviseError, BAD)


def read_signature(path: Path) -> Json:
    """The signature in a file, or in the folder of a run."""
    path = path / signature_file.NAME if path.is_dir() else path
    try:
        return signature_file.read(path)
    except OSError as why:
        raise AdviseError("%s: %s" % (path, why.strerror)) from None
    except BadRecord as why:
        raise AdviseError("%s: %s" % (path, why), BAD) from None


def text_of(sides: Sides) -> str:
    return "%dx%dx%d" % sides


def _gemms(shapes: Sequence[Sides], kind: str) -> list[str]:
    """Options that name GEMMs, each once."""
    return ["--type", kind, "--mflop", "0", "--shape", ",".join(map(text_of, dict.fromkeys(shapes)))]


def _exchanges(shapes: Sequence[Sides], work: Work) -> list[str]:
    """Options of the program: what is asked, and every cut that the operation has."""
    cuts = [ROWS, COLUMNS] if exchange_of(work.op) == "after" else [ROWS]
    named = ["--op", work.op, "--cut", ",".join(cuts), "--operands", work.operands]
    return [*named, *_gemms(shapes, work.type)]


def _by_sides(
    found: Simulated, corrections: Corrections = Corrections([])
) -> tuple[dict[Sides, Times], dict[Sides, str]]:
    """Times, and reasons of cases without, by the sides of their GEMM."""
    times: dict[Sides, Times] = {}
    reasons: dict[Sides, str] = {}
    for key, case in found.cases.items():
        axes, case_times = axes_in(key), corrections.corrected(key, case.times)
        m, n, k = (int(side) for side in axes["shape"].split("x"))
        own = times.setdefault((m, n, k), {})
        cut = axes.get("cut", ROWS)
        own.update({Way(name, axes.get("copy-method", ""), cut): s for name, s in case_times.items()})
        for way in [way for way in own if way.schedule == SERIAL and way.cut == COLUMNS]:
            if way._replace(cut=ROWS) in own:
                del own[way]  # it cuts no GEMM
        if case.reason and (cut == COLUMNS or (m, n, k) not in reasons):
            reasons[m, n, k] = case.reason  # that of rows says to cut columns
    return times, reasons


def _checked(folder: Path, model: Path) -> dict[str, Json]:
    """The errors of the model of a run by program, as the run found them (reports/predict/check.py)."""
    try:
        found = check.kept(folder, model)
    except Refused:
        return {}
    rows = found["programs"] if found else []
    return {row["program"]: row for row in rows if row.get("times")}


class Adviser:
    """The model of one signature, which was read from a file or the folder of a run; the model's file is
    written to `folder`. NoAnswer where the signature has too little for a model."""

    def __init__(self, signature: Json, path: Path, programs: Path, folder: Path) -> None:
        file = path / signature_file.NAME if path.is_dir() else path
        self.signature, self.folder = signature, folder
        self._programs = programs
        self.measured_devices = len(signature["devices"])
        try:
            self._machine = of_signature(signature, file, folder)
        except NoModel as why:
            raise NoAnswer(str(why)) from None
        self.checked = _checked(file.parent, folder / text.NAME)
        self.corrections = Corrections(self.checked.get(PROGRAM, {}).get("corrections", []))
        self._keys_error = 0.0

    def expected_error(self, program: str = PROGRAM) -> float:
        """Relative, of a time as it is told: the median that the run found in cases of the program that no
        fit reads. Of a run that found none, what the errors of fitted keys make of the times asked last: a
        lower limit."""
        row = self.checked.get(program)
        if row is None:
            return self._keys_error
        corrected = row.get("corrected")
        return float(row["median"] if corrected is None else corrected)

    def ratio_error(self) -> float:
        """The same of ratios between schedules of the same work, on which choices depend."""
        between = self.checked.get(PROGRAM, {}).get("between")
        return float(between) if is_number(between) else self.expected_error()

    def gemm_error(self, kind: str) -> float:
        """The same of a GEMM alone: the residual of the fit to those of its type."""
        error = self._machine.fitted.errors.get("flops_" + kind) if self._machine.fitted else None
        return max(error or 0.0, self._keys_error)

    def _machine_of(self, devices: int, operands: str) -> Machine:
        more = ["devices=%d" % devices] * (devices > self.measured_devices)
        more += [_ANY_MEMORY] * (operands == COLD)
        last = "0" if devices == 1 else "0-%d" % (devices - 1)
        spec = self._machine.spec + "?" * bool(more) + ",".join(more)
        return self._machine._replace(spec=spec, devices=last)

    def run(
        self,
        program: str,
        devices: int,
        options: Sequence[str],
        references: bool = False,
        operands: str = WARM,
    ) -> tuple[Simulation, Simulated]:
        """A program on the model of so many devices, which has memory for its `operands`. AdviseError for
        options that it refuses, NoAnswer where the model cannot run it."""
        path = (self._programs / program).absolute()
        if not path.is_file():
            raise AdviseError("no advice: %s is not built; build it with make" % program, CANNOT)
        simulation = Simulation(
            path, program, options, self._machine_of(devices, operands), self.folder, references=references
        )
        found = simulation.together([AS_IT_IS])[0]
        if isinstance(found, Failed):
            if found.code == 2:
                raise AdviseError(str(found))
            raise self._no_answer(str(found), devices)
        simulation.keys = found.keys
        return simulation, found

    def _run(
        self, work: Work, options: Sequence[str], references: bool = False
    ) -> tuple[Simulation, Simulated]:
        return self.run(PROGRAM, work.devices, options, references, work.operands)

    def _no_answer(self, why: str, devices: int) -> NoAnswer:
        few = ", and measured %s" % plural(self.measured_devices, "device")
        more = few if self.measured_devices < devices else ""
        return NoAnswer("%s%s%s" % (why, lacking(self._machine, why), more))

    def _doubts(self, simulation: Simulation, base: Simulated) -> Doubts:
        """NoAnswer where the times depend so much on keys that nobody measured that they would be made up."""
        fitted = self._machine.fitted
        with few_cases(simulation, base) as few:
            found = doubts(simulation, few, fitted.errors if fitted else {})
        worst = made_up(found)
        if worst:
            raise NoAnswer(
                "too little was measured: the times depend on %s" % "; ".join(map(self._reason_of, worst))
            )
        self._keys_error = math.hypot(*(abs(math.log(one.ratio or 1.0)) for one in found.unsure))
        return found

    def _reason_of(self, keys: str) -> str:
        """The keys, or several as search.doubts() joins them, each with the reason why it has no value."""
        reasons: Mapping[str, str] = self._machine.fitted.missing if self._machine.fitted else {}
        return " and ".join(
            "%s (%s)" % (key, reasons[key]) if key in reasons else key for key in keys.split(" and ")
        )

    def _needs(
        self, simulation: Simulation, matter: Doubts, base: dict[Sides, Times]
    ) -> dict[Sides, list[Need]]:
        """The keys without a measurement that choose another schedule, by more than ratios are off."""
        found: dict[Sides, list[Need]] = {}
        changes = [(one.name, one.change) for one in matter.matter]
        if self._machine.fitted and TRACKED in self._machine.fitted.missing:
            changes.append((TRACKED, Change(TRACKED, (TRACKED + "=1",))))
        runs = simulation.together([change for _, change in changes])
        for (name, change), run in zip(changes, runs):
            changed = {} if isinstance(run, Failed) else _by_sides(run, self.corrections)[0]
            for sides, times in base.items():
                after = changed.get(sides, {})
                pick = min(times, key=lambda way: times[way])
                if pick in after and after[pick] > min(after.values()) * (1 + self.ratio_error()):
                    reason = self._reason_of(name)
                    found.setdefault(sides, []).append(Need(name, change.text, reason))
        return found

    def predict(self, shapes: Sequence[Sides], work: Work) -> dict[Sides, Predicted]:
        """Every schedule by every copy method, of all shapes in one process. NoAnswer where one has none."""
        options = _exchanges(shapes, work)
        simulation, base = self._run(work, options)
        times, reasons = _by_sides(base, self.corrections)
        for sides in shapes:
            if not times.get(sides):
                raise self._no_answer(reasons.get(sides, "no case fits the question"), work.devices)
        found = self._doubts(simulation, base)
        alone = ("--schedule", ",".join((SERIAL, GEMM_ALONE, COMMUNICATION)))
        parts, _ = _by_sides(self._run(work, [*options, *alone], True)[1])
        needs = self._needs(simulation, found, times)
        return {
            sides: Predicted(
                times[sides],
                min(s for way, s in parts[sides].items() if way.schedule == GEMM_ALONE),
                min(s for way, s in parts[sides].items() if way.schedule == COMMUNICATION),
                tuple(needs.get(sides, ())),
            )
            for sides in shapes
        }

    def times(self, shapes: Sequence[Sides], work: Work) -> dict[Sides, Times]:
        """The same without what is known of its error; empty where a shape is impossible."""
        options = _exchanges(shapes, work)
        return _by_sides(self._run(work, options)[1], self.corrections)[0]

    def gemm(self, shapes: Sequence[Sides], kind: str) -> dict[Sides, float]:
        """Seconds of GEMMs without communication, on one device."""
        options = [*_gemms(shapes, kind), "--variant", GEMM_ALONE]
        simulation, base = self.run(GEMM, 1, options)
        times, reasons = _by_sides(base)
        for sides in shapes:
            if not times.get(sides):
                raise self._no_answer(reasons.get(sides, "no case fits the question"), 1)
        self._doubts(simulation, base)
        return {sides: times[sides][Way(GEMM_ALONE, "")] for sides in shapes}


def corrected_by(adviser: Adviser, op: str) -> Optional[str]:
    """A remark where what the run measured corrects predictions."""
    if adviser.corrections.empty:
        return None
    low, high = map(ratio_text, adviser.corrections.range_of(op))
    told = "predictions are the model's times %s to %s, as the run measured each schedule %s the GEMM"
    return told % (low, high, "that sends C after" if exchange_of(op) == "after" else "that sends A before")


def measured_with(adviser: Adviser, devices: int) -> Optional[str]:
    """A remark where the question has more devices than were measured."""
    if devices <= adviser.measured_devices:
        return None
    return "%d devices were measured; the others are taken to be like them" % adviser.measured_devices
