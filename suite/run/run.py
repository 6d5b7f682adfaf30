# SPDX-License-Identifier: BSD-3-Clause
"""`./gpusig run`: every program in its share of the time, then the report."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Iterator

from suite import duration, naming
from suite.run import (
    command,
    devices,
    launch,
    one_machine,
    passes,
    plan,
    programs,
    progress,
    report,
    resume,
    simgrid,
    starting,
)
from suite.command_error import BAD, CANNOT_RUN, INCONCLUSIVE, OK, USAGE, CommandError
from suite.run.folder import WHOLE, create, refuse_links, refuse_others
from suite.run.programs import Program
from suite.run.records import CannotWrite, RecordFile
from suite.run.resume import Options
from suite.saying import count, say

DEFAULT_BUDGET_S = 120.0
HEADLINE_BUDGET_S = 48.0  # with --headline
DEFAULT_SEED = 1
DEFAULT_NICE = -20  # of what is timed on hardware, where it is permitted
_KERNEL_CACHE = "GPUSIG_KERNEL_CACHE"


def run(options: Options, bin_dir: Path, sources: Path | None, cwd: Path) -> int:
    found = find(bin_dir, sources)
    folder, new = _folder(options, cwd)
    if new:
        decided, chosen = decide(options, found)
        create(folder)
    lock = resume.Lock(folder)
    if new:
        refuse_used(folder)  # by a run that ended meanwhile
    else:
        decided = resume.load(folder / "plan.json")
        if decided.setting:
            raise CommandError(
                f"{folder} is a run of ab, with {shlex.quote(decided.setting)} in front of every program: "
                "resume the folder of all its runs"
            )
        resume.agree(decided, options)
        chosen = kept(found, decided)
    return Run(folder, decided, lock, chosen, options.strict).go(None if new else options)


def find(bin_dir: Path, sources: Path | None) -> list[Program]:
    found = programs.find(bin_dir)
    if sources is not None:
        found += programs.unbuilt(sources, found)
        found += simgrid.offered(found)
    return found


def decide(options: Options, found: list[Program]) -> tuple[resume.Plan, list[Program]]:
    """The decisions of a new run, and its programs. Nothing is written yet."""
    chosen = programs.select(found, options.only)
    device, why = devices.choose(options.device, programs.backends(_one_built(chosen)))
    if options.device is not None:
        _check_opens(options.device, [program for program in chosen if not program.unbuilt])
    seed = DEFAULT_SEED if options.seed is None else options.seed
    budget_s = (
        options.soak_s or options.budget_s or (HEADLINE_BUDGET_S if options.headline else DEFAULT_BUDGET_S)
    )
    decided = resume.Plan(
        device,
        why,
        seed,
        options.full,
        options.only,
        budget_s,
        options.shapes,
        _nice(options.nice, device),
        options.soak_s is not None,
        headline=options.headline,
        types=options.types,
    )
    chosen = kept(found, decided)
    if options.shapes and not any(program.gemm_shapes for program in chosen):
        raise CommandError("no program of this run takes --shape")
    _check_types(decided, chosen)
    return decided, chosen


def kept(found: list[Program], decided: resume.Plan) -> list[Program]:
    """The programs of a run with these decisions."""
    chosen = devices.kept(simgrid.kept(programs.select(found, decided.only), decided.device), decided.device)
    if not decided.headline:
        return chosen
    heads = [program for program in chosen if program.primary or program.error or program.unbuilt]
    if not heads:
        raise CommandError(f"{chosen[0].name} has no headline number: leave out --headline")
    return heads


def _program_s(decided: resume.Plan) -> float:
    return plan.HEADLINE_MIN_S if decided.headline else plan.MIN_S


def least_s(decided: resume.Plan, todo: list[Program], opening_s: float = 0.0) -> float:
    """Estimated seconds of these programs, however short the budget is."""
    able = [program for program in todo if not command.lacks(program, decided.device)]
    simulated = devices.count(decided.device) if devices.is_virtual(decided.device) else 0
    return plan.least_s(len(able), opening_s, _program_s(decided), simulated)


def _nice(asked: int | None, device: str) -> int | None:
    """Priority of the programs; None: the driver's, as for simulated devices, where nothing is timed. At the
    highest one other work on the machine disturbs them least."""
    if asked == os.getpriority(os.PRIO_PROCESS, 0) or (asked is None and devices.is_virtual(device)):
        return None
    nice = launch.permitted_nice(DEFAULT_NICE if asked is None else asked)
    if nice is None and asked is not None:
        raise CommandError(f"--nice {asked} is not permitted to this user", CANNOT_RUN)
    return nice


def say_device(decided: resume.Plan, more: str) -> None:
    """Say the device, why no other one, and that other work waits where root runs in a container, as there it
    is hardly anybody's choice."""
    why, *others = decided.why.split("; ")
    for line in (f"device {decided.device} ({why}), {more}", *others):
        say(line)
    if decided.nice is not None and decided.nice < 0 and launch.is_root_in_container():
        say(
            f"root in a container: other work here waits while programs run with nice {decided.nice}; "
            f"--nice 0 shares the cores"
        )


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


def _check_types(decided: resume.Plan, chosen: list[Program]) -> None:
    """Report a type that the device lacks once, before anything is written."""
    taking = [program for program in chosen if program.gemm_types]
    if decided.types and not taking:
        raise CommandError("no program of this run takes --type")
    able = [program for program in taking if not command.lacks(program, decided.device)]
    known = one_machine.gemm_types(able[0], decided.device) if decided.types and able else decided.types
    lacking = [word for word in decided.types if word not in known]
    if lacking:
        raise CommandError(
            f"--type {','.join(lacking)}: the GEMMs of {decided.device} are of "
            f"{', '.join(known) or 'no type'}"
        )


def _naming(device: str, words: str) -> str:
    return words if f"'{device}'" in words else f"--device '{device}': {words}"


def _folder(options: Options, cwd: Path) -> tuple[Path, bool]:
    """The folder of this run, and whether it is a new run."""
    if options.resume is not None:
        folder = cwd / options.resume
        if not folder.is_dir():
            raise CommandError(f"--resume '{options.resume}' is not a folder")
        refuse_links(folder)
        refuse_others(folder)
        return folder, False
    folder = new_folder(options, cwd)
    refuse_links(folder)
    resume.refuse_in_use(folder)
    refuse_used(folder)
    return folder, True


def refuse_used(folder: Path) -> None:
    for name in ("records.jsonl", "plan.json", WHOLE):
        if os.path.lexists(folder / name):
            raise CommandError(
                f"{folder} already holds a run; go on with it: --resume {naming.unexpanded(folder)}"
            )


def new_folder(options: Options, cwd: Path, name: str = "gpusig-results") -> Path:
    return cwd / (options.out or naming.of_a_new_run(name))


def how_to_go_on(folder: Path, *words: str) -> str:
    """The command that resumes the folder; `words` are the settings of ab."""
    return " ".join(
        (
            f"./gpusig {'ab' if words else 'run'} --resume {naming.unexpanded(folder)}",
            *map(shlex.quote, words),
        )
    )


@dataclass(frozen=True)
class Part:
    """Place of a run in a series. The run itself prints only what goes wrong, and the series is resumed."""

    name: str  # of this one: "run-3"
    place: str  # among all: "3/8"
    whole: Path
    go_on: str  # the command that resumes the whole


class Run:
    """One start of the driver in a folder."""

    def __init__(
        self,
        folder: Path,
        decided: resume.Plan,
        lock: resume.Lock,
        chosen: list[Program],
        strict: bool,
        part: Part | None = None,
    ) -> None:
        self.folder = folder
        self.part = part
        self.plan = decided
        self.lock = lock
        self.chosen = chosen
        self.strict = strict
        self.record_file = RecordFile(folder / "records.jsonl")
        settings = command.Settings(
            decided.device,
            decided.seed,
            decided.full,
            tuple(decided.shapes),
            self.record_file.path,
            decided.nice,
            decided.soak,
            decided.headline,
            decided.setting,
            tuple(decided.types),
        )
        self.stop = launch.StopSignals()
        self.starter = starting.Starter(
            folder, self.record_file, settings, self.stop, lock.handle, lock.note_child
        )
        self.started: dict[str, dict] = {}  # program -> outcome, of this start of the driver
        self.disk_error = ""

    def go(self, resumed: Options | None) -> int:
        with self.stop:
            code = self._measure_and_report(resumed)
        if self.stop.signum:
            self.stop.die()
        return code

    def _measure_and_report(self, resumed: Options | None) -> int:
        begun = time.monotonic()
        try:
            cut = self.record_file.truncate_partial()
            if cut:
                say(
                    f"cut off an incomplete last record of {cut} bytes; it is kept in "
                    f"{self.record_file.path.stem}.cut"
                )
            self.record_file.update()
            total_s, todo = self._todo(resumed)
            if todo:
                if resumed is not None and self.part is None:
                    one_machine.refuse_another(self.record_file.path, self.plan.device, self.chosen)
                grace_s = plan.VIRTUAL_GRACE_S if devices.is_virtual(self.plan.device) else plan.GRACE_S
                with _kept_kernels(self.folder / "kernels"):
                    budget = plan.Budget(total_s, time.monotonic(), self._opening_s(todo), grace_s)
                    self._announce(budget, todo)
                    self._measure(todo, budget)
        except CannotWrite as error:
            self.disk_error = str(error)
        self._summary(time.monotonic() - begun)
        return self._judge(self._report())

    def _todo(self, resumed: Options | None) -> tuple[float, list[Program]]:
        """Seconds to measure for, and the programs. A resumed run has the rest of its budget, or a new
        --budget."""
        if resumed is None:
            return self.plan.budget_s, self.chosen
        if self.plan.soak:
            left_s = self.plan.budget_s - self._spent_s()
            return left_s, self._none_left() if left_s <= 0 else self.chosen
        todo = plan.pending(self.chosen, self.record_file, resumed.budget_s is not None, self.plan.headline)
        left_s = max(self.plan.budget_s - self._spent_s(), plan.MIN_S * len(todo))
        missed = sum(self.record_file.of(p.name).out_of_budget for p in self.chosen if p not in todo)
        todo = todo or self._none_left()
        if missed:
            say(
                f"{count(missed, 'case')} did not fit into the time budget; --resume with --budget measures "
                f"them"
            )
        return resumed.budget_s or left_s, todo

    def _none_left(self) -> list[Program]:
        say(f"nothing left to measure in {self.folder}")
        return []

    def _spent_s(self) -> float:
        """Seconds of earlier starts. The plan lacks the program during which the driver was killed; the sum
        over its cases has it, but in simulated time on a simulated device."""
        planned_s = sum(outcome["elapsed_s"] for outcome in self.plan.outcomes.values())
        return (
            planned_s
            if devices.is_virtual(self.plan.device)
            else max(planned_s, plan.spent_s(self.record_file))
        )

    def _announce(self, budget: plan.Budget, todo: list[Program]) -> None:
        if self.part:
            return self.plan.save(self.folder / "plan.json")
        nice = "" if self.plan.nice is None else f", nice {self.plan.nice}"
        say_device(self.plan, f"seed {self.plan.seed}{nice}")
        what = f"{'soaking' if self.plan.soak else 'measuring'} {count(len(todo), 'program')}"
        say(f"{what} for {duration.show(budget.total_s)}, into {self.folder}")
        needed_s = least_s(self.plan, todo, budget.opening_s)
        if budget.total_s < needed_s:
            whole = duration.about(needed_s + plan.REPORT_S)
            say(f"every program gets at least {_program_s(self.plan):g} s: this takes about {whole}")
        self.plan.save(self.folder / "plan.json")

    def _measure(self, todo: list[Program], budget: plan.Budget) -> None:
        total_s = max(budget.total_s, least_s(self.plan, todo, budget.opening_s))
        shown = progress.choose(total_s, self.starter.progress, f"{self.part.place} " if self.part else None)
        device, full = self.plan.device, self.plan.full
        for program in (p for p in todo if command.lacks(p, self.plan.device)):
            self._start(passes.Start(program, 0.0), 0.0, budget, shown)
        todo = [program for program in todo if not command.lacks(program, self.plan.device)]
        try:
            made = passes.soak if self.plan.soak else passes.headline if self.plan.headline else passes.passes
            keys_of = partial(programs.keys, device=device, full=full)
            is_virtual = devices.is_virtual(device)
            c = passes.Conditions(todo, self.record_file, self._gave_up, budget, is_virtual, keys_of)
            for one in made(c):
                shown.begin_pass(one.name, len(one.starts))
                for number, start in enumerate(one.starts):
                    left_s = one.until - time.monotonic()
                    shared_s = plan.share_s([s.weight for s in one.starts[number:]], left_s)
                    budget_s = min(start.max_s, shared_s if start.fixed_s is None else start.fixed_s)
                    is_over = left_s <= 0 and start.program.name in self.started
                    if not self._gave_up(start.program) and not is_over:
                        self._start(start, budget_s, budget, shown)
                    if self.stop.signum:
                        return self._not_started(todo)
        finally:
            shown.close()

    def _start(
        self, start: passes.Start, budget_s: float, budget: plan.Budget, shown: progress.Progress
    ) -> None:
        name = start.program.name
        shown.begin(name, start.program.question, budget_s)
        outcome = self.starter.start(start, budget_s, budget, shown.tick)
        self.plan.outcomes[name] = starting.with_earlier(
            outcome, self.plan.outcomes.get(name), self.plan.soak
        )
        self.started[name] = outcome
        shown.end(name, _line(outcome), outcome["status"] == "failed")
        self.plan.save(self.folder / "plan.json")
        if starting.NO_SPACE in outcome["reason"]:
            raise CannotWrite(outcome["reason"])

    def _gave_up(self, program: Program) -> bool:
        """True if the program is not started again. A soak goes on with one that failed, to count its
        failures."""
        return self.started.get(program.name, {}).get("status") in (
            "skipped",
            *(() if self.plan.soak else ("failed",)),
        )

    def _opening_s(self, todo: list[Program]) -> float:
        """Seconds that a program takes to start and to open the device."""
        begun = time.monotonic()
        first = next((p for p in todo if not command.lacks(p, self.plan.device) and not p.needs), None)
        if first is not None:
            programs.try_device(first, self.plan.device)
        return time.monotonic() - begun

    def _not_started(self, todo: list[Program]) -> None:
        for program in todo:
            if program.name not in self.started and not self.record_file.of(program.name).starts:
                self.starter.end_for(
                    program, "", "skipped", CANNOT_RUN, "the run was stopped before its turn", 0.0
                )

    def _summary(self, elapsed_s: float) -> None:
        outcomes = self.plan.outcomes
        counts = {
            status: sum(o["status"] == status for o in outcomes.values())
            for status in ("ok", "invalid", "interrupted", "skipped", "failed")
        }
        cases = sum(len(h.done) for h in self.record_file.programs.values())
        words = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
        name = f"{self.part.name}: " if self.part else ""
        say(
            f"{name}{count(cases, 'case')} in {duration.show(elapsed_s)}; programs: {words or 'none started'}"
        )
        starved, told = self._starved(), ("failed",) if self.part else ("skipped", "failed")
        for program, outcome in outcomes.items():
            if outcome["status"] in told or program in starved:
                say(f"{name}{outcome['status']} {program}: {outcome['reason']}")
        if self.plan.soak:
            say(self._soaked())
        if self.record_file.unreadable:
            say(
                f"{count(self.record_file.unreadable, 'line')} of {self.record_file.path} ignored: no records"
            )
        go_on = self.part.go_on if self.part else how_to_go_on(self.folder)
        if self.stop.signum:
            say(f"stopped by {signal.Signals(self.stop.signum).name}; go on with: {go_on}")
        if starved:
            say(f"on a quieter machine, go on with: {go_on}")
        if self.disk_error:
            say(f"{self.disk_error}; what was written is complete")
            say(f"when it can be written, go on with: {go_on}")

    def _starved(self) -> list[str]:
        """Programs that were stopped, though nobody stopped the run, because others had the cores."""
        if self.stop.signum:
            return []
        return [name for name, outcome in self.started.items() if outcome["status"] == "interrupted"]

    def _soaked(self) -> str:
        statuses = self.record_file.programs
        timed, checked = (sum(getattr(s, name) for s in statuses.values()) for name in ("timed", "checked"))
        wrong = [f"{name} {s.wrong} of {s.checked}" for name, s in statuses.items() if s.wrong]
        return (
            f"soak: {checked} of {timed} timed executions were checked; wrong: {', '.join(wrong) or 'none'}"
        )

    def _report(self) -> int:
        if self.disk_error:
            for name in report.FILES:
                report.discard(self.folder / name)
            return BAD
        if not self.record_file.programs:
            return INCONCLUSIVE
        try:
            # A second SIGINT, or one after what stopped the run, does not wait for the report.
            patience = self.stop.interrupts + (not self.stop.signum)
            alone = not (self.part or self.plan.soak or self.stop.signum)
            code = report.build(
                self.folder,
                self.strict,
                lambda: self.stop.interrupts > patience,
                shown=not self.part,
                programs=self.chosen[0].path.parents[1].absolute() if alone else None,
            )
        except CommandError as error:
            say(str(error))
            return error.code
        if code != USAGE and not self.part and (self.folder / report.PAGE).is_file():
            say(f"full report: {self.folder / report.PAGE}")
            if code == OK and not self.plan.soak:
                say(f"next to known machines: ./gpusig scorecard {self.folder}")
        return code

    def _judge(self, reported: int) -> int:
        """1 when a program failed or gave a wrong result, or a file of the report could not be written; 3
        when nothing valid was measured, in a soak when nothing was checked, when others had the cores until a
        program's time was over, or with --strict when the verdict of the report is doubtful. A page that is
        missing for want of a Python package was reported already and does not count."""
        if self.disk_error or any(o["status"] == "failed" for o in self.plan.outcomes.values()):
            return BAD
        if reported in (BAD, USAGE):
            return BAD
        statuses = self.record_file.programs.values()
        if self.plan.soak and any(program_status.wrong for program_status in statuses):
            return BAD
        if self._starved() or not any(
            program_status.checked if self.plan.soak else program_status.valid for program_status in statuses
        ):
            return INCONCLUSIVE
        return INCONCLUSIVE if self.strict and reported == INCONCLUSIVE else OK


@contextmanager
def _kept_kernels(folder: Path) -> Iterator[None]:
    """Environment in which programs share compiled kernels in the run's folder, unless the user names
    another."""
    if os.environ.get(_KERNEL_CACHE):
        yield
        return
    os.environ[_KERNEL_CACHE] = str(folder.resolve())
    try:
        yield
    finally:
        del os.environ[_KERNEL_CACHE]
        shutil.rmtree(folder, ignore_errors=True)


def _line(outcome: dict) -> str:
    missed = f", {outcome['out_of_budget']} out of budget" if outcome.get("out_of_budget") else ""
    took = f"{count(outcome['cases'], 'case')}{missed} in {duration.show(outcome['elapsed_s'])}"
    reason = f": {outcome['reason']}" if outcome["reason"] else ""
    return f"{outcome['status']}, {took}{reason}" if outcome["status"] != "skipped" else f"skipped{reason}"
