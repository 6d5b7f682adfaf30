# SPDX-License-Identifier: BSD-3-Clause
"""The record file of a run: read it, cut off an incomplete last line, append a record when a program cannot.

docs/RECORDS.md describes the lines. Programs append them; a line without its newline was cut off.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from reports.records import damaged, jsonl
from suite.command_error import BAD, CommandError
from suite.run.folder import open_own

SCHEMA, VERSION = "gpusig.record", "1.7.0"
DONE = ("ok", "skipped")
_BLOCK = 1 << 20


class CannotWrite(Exception):
    """The records cannot be written: no space, or the folder became read-only."""


@dataclass
class EndStatus:
    """The status with which a start ended, and its counts of cases."""

    status: str
    total: int
    out_of_budget: int


@dataclass
class CaseStatus:
    """The latest status of a case, and how often it was measured."""

    status: str
    elapsed_s: float
    tries: int = 0  # that were ok
    measured: int = 0  # whatever came out
    headline: bool = False  # it holds a headline number
    headline_graded: bool = False  # one that is noisy or contended
    headline_contended: bool = False
    graded: bool = False  # some number of it is
    too_few: bool = False  # samples, which are the same in number for all its variants
    of_curve: tuple[float, float] | None = None  # the interval of its value on the curve with cliffs


@dataclass
class ProgramStatus:
    """The state of one program, from its records."""

    cases: dict[str, CaseStatus] = field(default_factory=dict)
    valid: set[str] = field(default_factory=set)
    flags: Counter[str] = field(default_factory=Counter)
    cases_s: float = 0.0
    measured: int = 0  # cases, each as often as it was
    timed: int = 0  # executions
    checked: int = 0  # of these
    wrong: int = 0  # cases, each as often as its result was; the first wrong one ends a case
    starts: int = 0
    last_run: str = ""
    primary: list[dict] = field(default_factory=list)  # of the last start
    cliff: dict = field(default_factory=dict)  # as well: the curve that may have cliffs
    is_second_try: bool = False  # the last start, of chosen cases
    ended: bool = False  # the last start
    end: EndStatus | None = None  # of the last start that was no repeat

    @property
    def done(self) -> list[str]:
        """Keys of the cases that need no repetition."""
        return [key for key, case in self.cases.items() if case.status in DONE]

    def line(self, key: str) -> str:
        """A case for --done, with its place on the curve that may have cliffs."""
        of_curve = self.cases[key].of_curve
        return f"{key}\t{of_curve[0]!r} {of_curve[1]!r}" if of_curve else key

    @property
    def failed(self) -> int:
        return sum(case.status == "failed" for case in self.cases.values())

    @property
    def out_of_budget(self) -> int:
        """Cases that did not fit into the time of the last start."""
        return self.end.out_of_budget if self.end else 0

    @property
    def left(self) -> int:
        """Cases that were not measured yet."""
        return self.end.total - len(self.done) if self.end else 0

    @property
    def finished(self) -> bool:
        """True if no case needs a repetition, and all that is left did not fit into the time."""
        return self.completed and self.end.total <= len(self.done) + self.out_of_budget

    @property
    def completed(self) -> bool:
        """True if the last start measured all its cases that fitted into the time."""
        return self.end is not None and self.end.status in ("ok", "invalid") and not self.failed


class RecordFile:
    """The record file, read once and then only its new lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.programs: dict[str, ProgramStatus] = {}
        self.unreadable = 0
        self._offset = 0

    def of(self, program: str) -> ProgramStatus:
        return self.programs.setdefault(program, ProgramStatus())

    def truncate_partial(self) -> int:
        """Cut off an incomplete last line, keep it in a file next to the records, and return its length in
        bytes."""
        if not self.path.is_file():
            return 0
        try:
            with open(self.path, "r+b", opener=open_own) as records:
                whole = _end_of_last_line(records)
                cut_bytes = records.seek(0, os.SEEK_END) - whole
                if cut_bytes:
                    records.seek(whole)
                    _keep(self.path.with_suffix(".cut"), records)
                    records.truncate(whole)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        return cut_bytes

    def update(self) -> None:
        """Read the complete lines that are new."""
        try:
            with open(self.path, "rb", opener=open_own) as records:
                records.seek(self._offset)
                for _, line in jsonl.read_lines(records):
                    if isinstance(line, jsonl.CutOff):
                        break
                    self._offset = records.tell()
                    self._enter(line)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CommandError(f"cannot read {self.path}: {error.strerror}", BAD) from error

    def append(self, record: dict) -> None:
        """Write one record as a whole line, or not at all."""
        line = (json.dumps({"schema": SCHEMA, "version": VERSION, **record}, allow_nan=False) + "\n").encode()
        try:
            handle = open_own(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                if os.write(handle, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(handle)
        except OSError as error:
            self.truncate_partial()
            raise _cannot_write(self.path, error) from error

    def _enter(self, line: bytes | jsonl.BadRecord) -> None:
        """Enter one record. A damaged one changes nothing."""
        try:
            if isinstance(line, jsonl.BadRecord):
                raise line
            record = jsonl.parse_line(line)
            name = damaged.text(record["program"], "program")
            program_status = self.programs.get(name, ProgramStatus())
            {"run": _enter_start, "case": _enter_case, "end": _enter_end}[record["kind"]](
                program_status, record
            )
            self.programs[name] = program_status
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.unreadable += 1


def _enter_start(program_status: ProgramStatus, record: dict) -> None:
    run = damaged.text(record["run"], "run")
    primary = [
        dict(p, where=damaged.typed(p.get("where") or {}, dict, "where")) for p in record.get("primary") or []
    ]
    is_second_try = "--cases" in (record.get("argv") or [])
    program_status.starts += 1
    program_status.last_run = run
    program_status.primary = primary
    program_status.cliff = damaged.typed(record.get("cliff") or {}, dict, "cliff")
    program_status.is_second_try = is_second_try
    program_status.ended = False
    if not is_second_try:
        program_status.end = None


def _enter_case(program_status: ProgramStatus, record: dict) -> None:
    key, status = damaged.text(record["key"], "key"), damaged.text(record["status"], "status")
    elapsed_s = float(damaged.number(record.get("elapsed_s") or 0.0, "elapsed_s"))
    validity = record.get("validity") or {}
    # A flag counts once a case, however many variants have it.
    flags = {damaged.text(flag["flag"], "flag") for flag in validity.get("flags", [])}
    numbers = [d for d in record.get("derived") or [] if isinstance(d, dict)]
    graded = {(d.get("name"), d.get("variant")): d["grades"] for d in numbers if d.get("grades")}
    check = damaged.typed(record.get("check", {}), dict, "check")
    timed, checked = (damaged.whole(check.get(name, 0), name) for name in ("timed", "checked"))
    axes = damaged.typed(record.get("case") or {}, dict, "case")
    heads = [
        p
        for p in program_status.primary
        if all(axes.get(name) == value for name, value in p["where"].items())
    ]
    of_heads = [graded.get((p.get("derived"), p.get("variant")), ()) for p in heads]
    before = program_status.cases.get(key)
    program_status.cases_s += elapsed_s
    program_status.measured += 1
    program_status.timed += timed
    program_status.checked += checked
    program_status.wrong += check.get("status") == "failed"
    tries, measured = (before.tries, before.measured) if before else (0, 0)
    program_status.cases[key] = CaseStatus(
        status,
        elapsed_s,
        tries + (status == "ok"),
        measured + 1,
        bool(heads),
        any(of_heads),
        any("contended" in grades for grades in of_heads),
        bool(graded),
        "few_samples" in flags,
        _of_curve(program_status.cliff, numbers),
    )
    # A flag may concern one variant alone; the other numbers of the case stay valid.
    if status == "ok" and (validity.get("valid", True) or any(d.get("valid") is True for d in numbers)):
        program_status.valid.add(key)
    program_status.flags.update(flags)


def _of_curve(cliff: dict, numbers: list[dict]) -> tuple[float, float] | None:
    """The interval of the case's value for bench/cases/cliffs.h; None where it has no such value."""
    wanted = (cliff.get("derived"), cliff.get("variant"))
    for number in numbers:
        if (number.get("name"), number.get("variant")) == wanted and number.get("valid") is True:
            value, low, high = (number.get(name) for name in ("value", "ci_low", "ci_high"))
            return float(value if low is None else low), float(value if high is None else high)
    return None


def _enter_end(program_status: ProgramStatus, record: dict) -> None:
    cases = damaged.typed(record.get("cases", {}), dict, "cases")
    total, out_of_budget = (damaged.whole(cases.get(name) or 0, name) for name in ("total", "out_of_budget"))
    end = EndStatus(damaged.text(record["status"], "status"), total, out_of_budget)
    program_status.ended = True
    # A repeat leaves out what is not tried again, so its end does not say whether the program is
    # finished.
    if not program_status.is_second_try or end.status == "failed":
        program_status.end = end


def _end_of_last_line(records: BinaryIO) -> int:
    position = records.seek(0, os.SEEK_END)
    while position > 0:
        start = max(0, position - _BLOCK)
        records.seek(start)
        newline = records.read(position - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        position = start
    return 0


def _keep(path: Path, records: BinaryIO) -> None:
    # The cut piece is for reference only; a failure to write it is ignored.
    try:
        with open(path, "ab", opener=open_own) as kept:
            shutil.copyfileobj(records, kept, _BLOCK)
            kept.write(b"\n")
    except OSError:
        pass


def _cannot_write(path: Path, error: OSError) -> CannotWrite:
    return CannotWrite(f"cannot write {path}: {error.strerror}")
