# SPDX-License-Identifier: BSD-3-Clause
"""`./gpusig run`: every program in its share of the time, then the report."""
from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Iterator

from suite import command, devices, duration, launch, plan, programs, progress, report, resume, simgrid
from suite.command_error import BAD, CANNOT_RUN, INCONCLUSIVE, OK, USAGE, CommandError
from suite.programs import Program
from suite.records import DiskFull, RecordFile

DEFAULT_BUDGET_S = 120.0
DEFAULT_SEED = 1
_NO_SPACE = os.strerror(28)
_KERNEL_CACHE = "GPUSIG_KERNEL_CACHE"


@dataclass(frozen=True)
class Options:
    """The options of `run` as given; None is not given."""

    device: str | None
    budget_s: float | None
    only: list[str]
    out: Path | None
    resume: Path | None
    seed: int | None
    full: bool
    shapes: list[str]
    strict: bool


def say(line: str) -> None:
    print(f"gpusig: {line}", file=sys.stderr, flush=True)


def run(options: Options, bin_dir: Path, sources: Path | None, cwd: Path) -> int:
    found = programs.find(bin_dir)
    if sources is not None:
        found += programs.unbuilt(sources, found)
        found += simgrid.offered(found)
    folder, new = _folder(options, cwd)
    if new:
        chosen = programs.select(found, options.only)
        device, why = devices.choose(options.device, programs.backends(_one_built(chosen)))
        if options.device is not None:
            _check_opens(options.device, [program for program in chosen if not program.unbuilt])
        chosen = devices.kept(simgrid.kept(chosen, device), device)
        if options.shapes and not any(program.gemm_shapes for program in chosen):
            raise CommandError("no program of this run takes --shape")
        _create(folder)
    lock = resume.Lock(folder)
    if new:
        budget_s = options.budget_s or DEFAULT_BUDGET_S
        seed = DEFAULT_SEED if options.seed is None else options.seed
        decided = resume.Plan(device, why, seed, options.full, options.only, budget_s, options.shapes)
    else:
        decided = resume.load(folder / "plan.json")
        resume.agree(decided, options.device, options.seed, options.full, options.only, options.shapes)
        chosen = devices.kept(simgrid.kept(programs.select(found, decided.only), decided.device), decided.device)
    return _Run(folder, decided, lock, chosen, options.strict).go(None if new else options)


def _one_built(chosen: list[Program]) -> Program:
    built = next((program for program in chosen if not program.unbuilt), None)
    if built is None:
        raise CommandError(f"{chosen[0].name} is {chosen[0].unbuilt}", CANNOT_RUN)
    return built


def _check_opens(device: str, chosen: list[Program]) -> None:
    """Report a device that no program accepts once, before anything is written."""
    refused = ""
    for program in chosen:
        code, words = programs.try_device(program, device)
        if code == USAGE:
            raise CommandError(_naming(device, words))
        if code != CANNOT_RUN:
            return
        refused = refused or words
    raise CommandError(_naming(device, refused), CANNOT_RUN)


def _naming(device: str, words: str) -> str:
    return words if f"'{device}'" in words else f"--device '{device}': {words}"


def _folder(options: Options, cwd: Path) -> tuple[Path, bool]:
    """The folder of this run, and whether it is a new run."""
    if options.resume is not None:
        folder = cwd / options.resume
        if not folder.is_dir():
            raise CommandError(f"--resume '{options.resume}' is not a folder")
        return folder, False
    folder = cwd / (options.out or f"gpusig-results-{datetime.now():%Y%m%d-%H%M%S}")
    for name in ("records.jsonl", "plan.json"):
        if (folder / name).exists():
            raise CommandError(f"{folder} already holds a run; go on with it: --resume {folder}")
    return folder, True


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot make the folder {folder}: {error.strerror}", BAD) from error


class _Run:
    """One start of the driver in a folder."""

    def __init__(self, folder: Path, decided: resume.Plan, lock: resume.Lock, chosen: list[Program], strict: bool) -> None:
        self.folder = folder
        self.plan = decided
        self.lock = lock
        self.chosen = chosen
        self.strict = strict
        self.record_file = RecordFile(folder / "records.jsonl")
        self.settings = command.Settings(decided.device, decided.seed, decided.full, tuple(decided.shapes), self.record_file.path)
        self.stop = launch.StopSignals()
        self.disk_error = ""

    def go(self, resumed: Options | None) -> int:
        begun = time.monotonic()
        try:
            cut = self.record_file.truncate_partial()
            if cut:
                say(f"cut off an incomplete last record of {cut} bytes; it is kept in {self.record_file.path.stem}.cut")
            self.record_file.update()
            total_s, todo = self._todo(resumed)
            with self.stop:
                if todo:
                    self._announce(total_s, todo)
                    with _kept_kernels(self.folder / "kernels"):
                        self._measure(todo, self._budget(total_s, begun, todo))
        except DiskFull as error:
            self.disk_error = str(error)
        self._summary(time.monotonic() - begun)
        code = self._judge(self._report())
        if self.stop.signum:
            self.stop.die()
        return code

    def _todo(self, resumed: Options | None) -> tuple[float, list[Program]]:
        """Seconds to measure for, and the programs. A resumed run has the rest of its budget; a new --budget replaces it."""
        if resumed is None:
            return self.plan.budget_s, self.chosen
        todo = plan.pending(self.chosen, self.record_file, include_out_of_budget=resumed.budget_s is not None)
        left_s = max(self.plan.budget_s - plan.spent_s(self.record_file), plan.MIN_S * len(todo))
        missed = sum(self.record_file.of(p.name).out_of_budget for p in self.chosen if p not in todo)
        if not todo:
            say(f"nothing left to measure in {self.folder}")
        if missed:
            say(f"{_count(missed, 'case')} did not fit into the time budget; --resume with --budget measures them")
        return resumed.budget_s or left_s, todo

    def _budget(self, total_s: float, begun: float, todo: list[Program]) -> plan.Budget:
        shares = sum(program.share for program in todo if not command.lacks(program))
        return plan.Budget(total_s, begun, shares or 1.0, devices.is_virtual(self.plan.device))

    def _announce(self, total_s: float, todo: list[Program]) -> None:
        say(f"device {self.plan.device} ({self.plan.why}), seed {self.plan.seed}")
        say(f"{_count(len(todo), 'program')}, {duration.show(total_s)}, into {self.folder}")
        if total_s < plan.MIN_S * len(todo):
            say(f"every program gets at least {plan.MIN_S:.0f} s, so this takes longer than --budget")
        self.plan.save(self.folder / "plan.json")

    def _measure(self, todo: list[Program], budget: plan.Budget) -> None:
        shown = progress.choose(budget.total_s)
        todo = sorted(todo, key=lambda program: not command.lacks(program))  # programs that cannot run first: they use no time
        try:
            for number, program in enumerate(todo, 1):
                budget_s = budget.for_next(todo[number - 1 :], time.monotonic())
                shown.begin(number, len(todo), program.name, program.question, budget_s)
                outcome = self._one(program, budget_s, budget, shown)
                self.plan.outcomes[program.name] = outcome
                shown.end(program.name, _line(outcome), outcome["status"] == "failed")
                self.plan.save(self.folder / "plan.json")
                if _NO_SPACE in outcome["reason"]:
                    raise DiskFull(outcome["reason"])
                if self.stop.signum:
                    for late in todo[number:]:
                        self._end_for(late, "", "skipped", CANNOT_RUN, "the run was stopped before its turn", 0.0)
                    break
        finally:
            shown.close()

    def _one(self, program: Program, budget_s: float, budget: plan.Budget, shown: progress.Progress) -> dict:
        """Start one program and return its outcome; write the end record where the program could not."""
        lacks = command.lacks(program)
        if lacks:
            self._end_for(program, "", "skipped", CANNOT_RUN, lacks, 0.0)
            return _outcome("skipped", CANNOT_RUN, lacks, 0, 0.0, budget_s)
        program_status = self.record_file.of(program.name)
        starts, cases = program_status.starts, len(program_status.done)
        log, done = self._work_file(program, "log"), self._work_file(program, "done")
        words = [""]
        try:
            log.parent.mkdir(exist_ok=True)
            done.write_text("".join(f"{key}\n" for key in program_status.done), encoding="utf-8")
            words = command.build(program, self.settings, budget_s, done)
            limit_s = simgrid.LIMIT_S if simgrid.NEEDS in program.needs else budget.limit(budget_s, time.monotonic())
            ended = launch.launch(words, log, limit_s, self.stop, self.lock.handle, self.lock.note_child, shown.tick)
        except CommandError as error:
            self._end_for(program, "", "skipped", error.code, str(error), 0.0)
            return _outcome("skipped", error.code, str(error), 0, 0.0, budget_s)
        except OSError as error:
            if error.filename == words[0]:
                self._end_for(program, "", "failed", 126, f"cannot be started: {error.strerror}", 0.0)
                return _outcome("failed", 126, f"cannot be started: {error.strerror}", 0, 0.0, budget_s)
            raise DiskFull(f"cannot run {program.name} in {self.folder}: {error.strerror}") from error
        self.record_file.truncate_partial()
        self.record_file.update()
        status, reason = _what_happened(program.name, ended, log, bool(self.stop.signum), limit_s)
        if status == "invalid":
            flags = ", ".join(flag for flag, _ in program_status.flags.most_common(3))
            reason = f"no case is valid: {flags}" if flags else reason
        code = ended.code if ended.code >= 0 else 128 - ended.code
        # A program that was stopped at its limit reports "interrupted", but the user did not interrupt it.
        if status in ("failed", "skipped") and (program_status.starts == starts or program_status.end is None or ended.overran):
            begun = program_status.last_run if program_status.starts > starts else ""
            self._end_for(program, begun, status, code, reason, ended.elapsed_s)
        outcome = _outcome(status, code, reason, len(program_status.done) - cases, ended.elapsed_s, budget_s)
        return {**outcome, "out_of_budget": program_status.out_of_budget}

    def _work_file(self, program: Program, suffix: str) -> Path:
        return self.folder / "logs" / f"{program.name.replace('/', '-')}.{suffix}"

    def _end_for(self, program: Program, run: str, status: str, code: int, reason: str, elapsed_s: float) -> None:
        """Write the end record that the program could not write itself, so that the records are complete."""
        program_status = self.record_file.of(program.name)
        statuses = list(program_status.case_status.values())
        cases = {word: statuses.count(word) for word in ("ok", "failed", "skipped")}
        cases.update(total=len(statuses), already_done=0, out_of_budget=0)
        self.record_file.append(
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
        self.record_file.update()

    def _summary(self, elapsed_s: float) -> None:
        outcomes = self.plan.outcomes
        counts = {
            status: sum(o["status"] == status for o in outcomes.values())
            for status in ("ok", "invalid", "interrupted", "skipped", "failed")
        }
        cases = sum(len(h.done) for h in self.record_file.programs.values())
        words = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        say(f"{_count(cases, 'case')} in {duration.show(elapsed_s)}; programs: {words or 'none started'}")
        for name, outcome in outcomes.items():
            if outcome["status"] in ("skipped", "failed"):
                say(f"{outcome['status']} {name}: {outcome['reason']}")
        if self.record_file.unreadable:
            say(f"{self.record_file.unreadable} lines of {self.record_file.path} are not records and were ignored")
        if self.stop.signum:
            say(f"stopped by {signal.Signals(self.stop.signum).name}; go on with: ./gpusig run --resume {self.folder}")
        if self.disk_error:
            say(f"{self.disk_error}; what was written is complete")
            say(f"when there is space, go on with: ./gpusig run --resume {self.folder}")

    def _report(self) -> int:
        if self.disk_error:
            return BAD
        if not self.record_file.programs:
            return INCONCLUSIVE
        try:
            code = report.build(self.folder, self.strict)
        except CommandError as error:
            say(str(error))
            return error.code
        if (self.folder / "report.html").exists():
            say(f"full report: {self.folder / 'report.html'}")
        return code

    def _judge(self, reported: int) -> int:
        """1 when a program failed or gave a wrong result; 3 when nothing valid was measured, or with --strict when the
        verdict of the report is doubtful. A missing HTML page was reported already and does not count."""
        if self.disk_error or any(o["status"] == "failed" for o in self.plan.outcomes.values()):
            return BAD
        if not any(program_status.valid for program_status in self.record_file.programs.values()):
            return INCONCLUSIVE
        return reported if reported == BAD or self.strict and reported == INCONCLUSIVE else OK


@contextmanager
def _kept_kernels(folder: Path) -> Iterator[None]:
    """Programs share compiled kernels in a folder of this run, unless the user names another one."""
    if os.environ.get(_KERNEL_CACHE):
        yield
        return
    os.environ[_KERNEL_CACHE] = str(folder.resolve())
    try:
        yield
    finally:
        del os.environ[_KERNEL_CACHE]
        shutil.rmtree(folder, ignore_errors=True)


def _outcome(status: str, code: int, reason: str, cases: int, elapsed_s: float, budget_s: float) -> dict:
    return {
        "status": status,
        "exit": code,
        "reason": reason,
        "cases": cases,
        "elapsed_s": round(elapsed_s, 3),
        "budget_s": round(budget_s, 3),
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _line(outcome: dict) -> str:
    missed = f", {outcome['out_of_budget']} out of budget" if outcome.get("out_of_budget") else ""
    took = f"{_count(outcome['cases'], 'case')}{missed} in {duration.show(outcome['elapsed_s'])}"
    reason = f": {outcome['reason']}" if outcome["reason"] else ""
    return f"{outcome['status']}, {took}{reason}" if outcome["status"] != "skipped" else f"skipped{reason}"


def _what_happened(name: str, ended: launch.Ended, log: Path, stopped: bool, limit_s: float) -> tuple[str, str]:
    """A status, and a reason unless it is ok."""
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
    """The last line that speaks for itself, without the program's prefixes."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    spoken = [line for line in lines if line.startswith("gpusig: ")] or lines  # a crash speaks otherwise
    return spoken[-1].removeprefix("gpusig: ").removeprefix(f"{name}: ")[:300] if spoken else ""
