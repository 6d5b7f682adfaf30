# SPDX-License-Identifier: BSD-3-Clause
"""Start one program: its command line and files, what it left in the records, and the outcome."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Callable

from suite import duration
from suite.run import command, launch, simgrid
from suite.command_error import CANNOT_RUN, INCONCLUSIVE, OK, CommandError
from suite.run.folder import open_own
from suite.run.passes import Start
from suite.run.plan import Budget
from suite.run.programs import Program
from suite.run.records import CannotWrite, ProgramStatus, RecordFile

NO_SPACE = os.strerror(errno.ENOSPC)
# The share of a program's time in which others had the processors. It is a least one: threads that spin while
# their like waits are not counted. Below this it explains no limit, which is many times what was planned.
_STARVED_ABOVE = 0.1


class Starter:
    """Starts programs of one run, one at a time."""

    def __init__(
        self,
        folder: Path,
        records: RecordFile,
        settings: command.Settings,
        stop: launch.StopSignals,
        lock: int,
        note_child: Callable[[int | None], None],
    ) -> None:
        self._folder = folder
        self._records = records
        self._settings = settings
        self._stop = stop
        self._lock = lock
        self._note_child = note_child
        self.progress = folder / "logs" / "progress.json"  # of the program that runs

    def start(self, start: Start, budget_s: float, budget: Budget, tick: Callable[[], None]) -> dict:
        """The outcome; the end record where the program could not write it is written here."""
        program = start.program
        lacks = command.lacks(program, self._settings.device)
        if lacks:
            return self._never_began(program, "skipped", CANNOT_RUN, lacks, budget_s)
        program_status = self._records.of(program.name)
        starts, cases = program_status.starts, len(program_status.done)
        log, words = self._file(program, "log"), [""]
        try:
            words = self._prepare(start, budget_s, program_status)
            limit_s = (
                simgrid.LIMIT_S
                if simgrid.NEEDS in program.needs
                else budget.limit(budget_s, time.monotonic())
            )
            ended = launch.launch(
                words,
                log,
                limit_s,
                self._stop,
                self._lock,
                self._note_child,
                tick,
                launch.nice_of(self._settings.nice, program.times),
                command.split_setting(self._settings.setting)[0],
            )
        except CommandError as error:
            return self._never_began(program, "skipped", error.code, str(error), budget_s)
        except OSError as error:
            if error.filename == words[0]:
                return self._never_began(
                    program, "failed", 126, f"cannot be started: {error.strerror}", budget_s
                )
            raise CannotWrite(f"cannot run {program.name} in {self._folder}: {error.strerror}") from error
        is_full = (
            shutil.disk_usage(self._folder).free == 0
        )  # before what was cut off is taken out, which makes space
        self._records.truncate_partial()
        self._records.update()
        status, reason = _what_happened(program.name, ended, log, bool(self._stop.signum), limit_s)
        if status == "invalid" and program_status.valid:
            status, reason = "ok", ""  # of an earlier pass
        elif status == "invalid":
            flags = ", ".join(flag for flag, _ in program_status.flags.most_common(3))
            reason = f"no case is valid: {flags}" if flags else reason
        if status == "failed" and is_full and NO_SPACE not in reason:
            reason = f"{reason}: {NO_SPACE}"
        code = ended.code if ended.code >= 0 else 128 - ended.code
        began = program_status.starts > starts
        # A program that was stopped at its limit reports "interrupted", but the user did not interrupt it.
        if ended.overran or (status in ("failed", "skipped") and (not began or not program_status.ended)):
            run = program_status.last_run if began else ""
            said = status if began or status == "failed" else "skipped"
            self.end_for(program, run, said, code, reason, ended.elapsed_s)
        outcome = _outcome(status, code, reason, len(program_status.done) - cases, ended.elapsed_s, budget_s)
        return {**outcome, "out_of_budget": program_status.out_of_budget}

    def _prepare(self, start: Start, budget_s: float, program_status: ProgramStatus) -> list[str]:
        """Write what the program reads, and return its command line."""
        log, chosen = (
            self._file(start.program, "log"),
            self._file(start.program, "cases" if start.cases else "done"),
        )
        log.parent.mkdir(exist_ok=True)
        with open(chosen, "w", encoding="utf-8", opener=open_own) as out:
            out.writelines(f"{key}\n" for key in start.cases or map(program_status.line, program_status.done))
        self.progress.unlink(missing_ok=True)
        how = command.How(chosen, bool(start.cases), start.headline, start.needed, start.quick, self.progress)
        return command.build(start.program, self._settings, budget_s, how)

    def _file(self, program: Program, suffix: str) -> Path:
        return self._folder / "logs" / f"{program.name.replace('/', '-')}.{suffix}"

    def _never_began(self, program: Program, status: str, code: int, reason: str, budget_s: float) -> dict:
        self.end_for(program, "", status, code, reason, 0.0)
        return _outcome(status, code, reason, 0, 0.0, budget_s)

    def end_for(
        self, program: Program, run: str, status: str, code: int, reason: str, elapsed_s: float
    ) -> None:
        """Write the end record that the program could not write itself, so that the records are complete."""
        statuses = [case.status for case in self._records.of(program.name).cases.values()]
        cases = {word: statuses.count(word) for word in ("ok", "failed", "skipped")}
        cases.update(total=len(statuses), already_done=0, out_of_budget=0)
        self._records.append(
            {
                "kind": "end",
                "run": run or f"none-{os.getpid()}-{int(time.time())}",
                "program": program.name,
                "status": status,
                "exit": code,
                "cases": cases,
                "reason": reason,
                "elapsed_s": round(elapsed_s, 3),
                "by": "driver",
            }
        )
        self._records.update()


def _outcome(status: str, code: int, reason: str, cases: int, elapsed_s: float, budget_s: float) -> dict:
    return {
        "status": status,
        "exit": code,
        "reason": reason,
        "cases": cases,
        "elapsed_s": round(elapsed_s, 3),
        "budget_s": round(budget_s, 3),
    }


def with_earlier(outcome: dict, earlier: dict | None, keeps_failure: bool) -> dict:
    """The outcome of a program that was started before in this run: the latest status, or that it ever
    failed, and the sums."""
    if earlier is None:
        return outcome
    sums = {name: round(outcome[name] + earlier[name], 3) for name in ("cases", "elapsed_s", "budget_s")}
    return {**(earlier if keeps_failure and earlier["status"] == "failed" else outcome), **sums}


def _what_happened(
    name: str, ended: launch.Ended, log: Path, stopped: bool, limit_s: float
) -> tuple[str, str]:
    """A status, and a reason unless it is ok."""
    if ended.overran and ended.others > _STARVED_ABOVE:
        return (
            "interrupted",
            f"did not get the processor: others had it for {100 * ended.others:.0f} % of its time",
        )
    if ended.overran:
        return "failed", f"time limit: stopped after {duration.show(limit_s)}"
    if stopped and ended.code != OK:
        return "interrupted", "the run was stopped"
    if ended.code < 0:
        return "failed", f"ended by signal {-ended.code} ({signal.strsignal(-ended.code) or 'unknown'})"
    status = {OK: "ok", INCONCLUSIVE: "invalid", CANNOT_RUN: "skipped"}.get(ended.code, "failed")
    if status == "ok":
        return status, ""
    return status, _last_words(name, log) or f"exit {ended.code}, no message"


def _last_words(name: str, log: Path) -> str:
    """The last line of stderr that makes sense alone, without the program's prefixes."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    spoken = [line for line in lines if line.startswith("gpusig: ")] or lines  # a crash speaks otherwise
    return spoken[-1].removeprefix("gpusig: ").removeprefix(f"{name}: ")[:300] if spoken else ""
