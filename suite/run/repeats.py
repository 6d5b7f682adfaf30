# SPDX-License-Identifier: BSD-3-Clause
"""`./gpusig run --repeats N` and `./gpusig ab A B`: equal runs of one folder, one after another, for
`./gpusig compare`.

FOLDER/repeats.json holds what was decided and which runs are done. Each run has a folder as any run has:
FOLDER/run-1, or FOLDER/A/run-1 of a setting. Run k starts the programs in an order of its own and has the
seed of the folder plus k - 1, in every folder alike: two sides see the same data. Two settings are measured A
B B A, so that a drift hits both alike. Where the device is a GPU, each run has a control next to it,
FOLDER/run-1/control: rates of the host that no GPU's driver touches.
"""

from __future__ import annotations

import os
import random
import shlex
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from reports.records import damaged, jsonl
from suite import duration
from suite.run import one_machine, resume
from suite.command_error import BAD, INCONCLUSIVE, OK, CommandError
from suite.run.folder import WHOLE, create, open_own, refuse_link, refuse_links, refuse_others
from suite.run.programs import Program
from suite.run.records import CannotWrite
from suite.run.resume import Options
from suite.run.run import (
    Part,
    Run,
    decide,
    find,
    how_to_go_on,
    kept,
    least_s,
    refuse_used,
    say_device,
)
from suite.saying import count, say

_SCHEMA, _VERSION = "gpusig.repeats", "1.0.0"
MAX_REPEATS = 1000
NO_SETTING = {"": ""}  # of run --repeats
_CONTROL, _CONTROL_S = "control", 4.0
_CONTROL_PROGRAMS = ["gemm/efficiency", "micro/memory"]


@dataclass
class Series:
    """The decisions about a folder of runs. `settings`: for each side, the words in front of every program; a
    single side has no name."""

    repeats: int
    settings: dict[str, str]
    plan: resume.Plan
    done: list[str]

    def names(self) -> list[tuple[str, str, int]]:
        """Side, folder and number of every run, in the order of time."""
        sides = list(self.settings)
        return [
            (side, f"{side}/run-{number}" if side else f"run-{number}", number)
            for number in range(1, self.repeats + 1)
            for side in (sides if number % 2 else sides[::-1])
        ]

    def plan_of(self, side: str, number: int) -> resume.Plan:
        created = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return replace(
            self.plan,
            seed=(self.plan.seed + number - 1) & resume.MAX_SEED,
            setting=self.settings[side],
            created=created,
            outcomes={},
        )

    def save(self, folder: Path) -> None:
        resume.write_json(folder / WHOLE, {"schema": _SCHEMA, "version": _VERSION, **asdict(self)})


def load(folder: Path) -> Series:
    path = folder / WHOLE
    try:
        with open(path, "rb", opener=open_own) as stream:
            data = jsonl.parse_line(stream.read(jsonl.MAX_LINE_BYTES))
        resume.check_version(data, _SCHEMA)
        settings = {
            damaged.text(side, "side"): damaged.text(words, "setting")
            for side, words in damaged.typed(data["settings"], dict, "settings").items()
        }
        if list(settings) != ["A", "B"] and settings != NO_SETTING:
            raise ValueError("its sides are not those of run --repeats or ab")
        return Series(
            damaged.whole(data["repeats"], "repeats", 1, MAX_REPEATS),
            settings,
            resume.plan_from(damaged.typed(data["plan"], dict, "plan")),
            damaged.texts(data["done"], "done"),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandError(
            f"{path} cannot be read as the plan of several runs: {resume.why_unreadable(error)}", BAD
        ) from error


def holds(folder: Path | None) -> bool:
    return folder is not None and os.path.lexists(folder / WHOLE)


def run(options: Options, settings: dict[str, str], bin_dir: Path, sources: Path | None, folder: Path) -> int:
    """Measure all runs of a new folder, or with --resume those that are not done; the worst of their exit
    codes."""
    found = find(bin_dir, sources)
    refuse_links(folder)
    if options.resume is None:
        _refuse_used(folder)
        decided, _ = decide(options, found)
        series = Series(options.repeats or 0, settings, decided, [])
        create(folder)
    else:
        refuse_others(folder)
        series = load(folder)
        _refuse_others(folder, series)
        _agree(series, options)
        _agree_settings(series, settings, folder)
    lock = resume.Lock(folder)
    try:
        series.save(folder)
        return _go(series, folder, found, options.strict)
    except CannotWrite as error:
        say(str(error))
        return BAD
    finally:
        os.close(lock.handle)


def _refuse_used(folder: Path) -> None:
    resume.refuse_in_use(folder)
    refuse_used(folder)
    for name in ("run-1", "A", "B"):
        if os.path.lexists(folder / name):
            raise CommandError(f"{folder / name} is there already; runs go into a new folder")


def _agree(series: Series, options: Options) -> None:
    if options.repeats not in (None, series.repeats):
        raise CommandError(
            f"--repeats {options.repeats} contradicts the runs that are resumed, which are {series.repeats}"
        )
    if options.budget_s not in (None, series.plan.budget_s):
        each = duration.show(series.plan.budget_s)
        raise CommandError(f"--budget contradicts the runs that are resumed, which have {each} each")
    resume.agree(series.plan, options)


def _refuse_others(folder: Path, series: Series) -> None:
    """Refuse links and other users' files in the folders of all runs, before any goes on."""
    for _, name, _ in series.names():
        for place in ((folder / name).parent, folder / name, folder / name / _CONTROL):
            refuse_link(place)
            refuse_others(place)


def _agree_settings(series: Series, given: dict[str, str], folder: Path) -> None:
    """Refuse settings other than the folder's. A setting is a command, which is run because the user gives
    it, never because a file does."""
    if given == series.settings:
        return
    if series.settings == NO_SETTING:
        raise CommandError(f"{folder} holds equal runs; go on with: {how_to_go_on(folder)}")
    how = how_to_go_on(folder, *series.settings.values())
    raise CommandError(f"the settings of {folder} are to be given again, if they are yours: {how}")


def _go(series: Series, folder: Path, found: list[Program], strict: bool) -> int:
    plan = series.plan
    names, chosen = series.names(), kept(found, plan)
    controls = _controls(plan, found)
    each_s = max(plan.budget_s, least_s(plan, chosen)) + (_CONTROL_S if controls else 0.0)
    todo = [name for name in names if name[1] not in series.done]
    say_device(plan, count(len(chosen), "program"))
    say(f"measuring {count(len(todo), 'run')} of about {duration.about(each_s)} each, into {folder}")
    for side, setting in series.settings.items():
        if side:
            say(f"setting {side}: {setting or 'none'}")
    go_on = how_to_go_on(folder, *(series.settings.values() if series.settings != NO_SETTING else ()))
    if todo:
        begun = [folder / name / "records.jsonl" for _, name, _ in names]
        first = next((records for records in begun if records.is_file()), begun[0])
        one_machine.refuse_another(first, plan.device, chosen)
    worst = OK
    for place, (side, name, number) in enumerate(names, 1):
        if name in series.done:
            continue
        part = Part(name, f"{place}/{len(names)}", folder, go_on)
        own = series.plan_of(side, number)
        ordered = random.Random(f"{plan.seed} {number}").sample(chosen, len(chosen))
        code, whole = _one(folder / name, own, ordered, strict, part)
        if whole and controls:
            control = replace(
                own,
                device="host",
                why="control",
                only=_CONTROL_PROGRAMS,
                shapes=[],
                types=[],
                full=False,
                budget_s=_CONTROL_S,
                headline=True,
            )
            other, whole = _one(
                folder / name / _CONTROL, control, controls, strict, replace(part, name=f"{name}/{_CONTROL}")
            )
            code = _worse(code, other)
        worst = _worse(worst, code)
        if not whole:
            return BAD
        series.done.append(name)
        series.save(folder)
    _say_skipped(folder / names[-1][1])
    if series.settings == NO_SETTING:
        where = shlex.quote(str(folder))
        say(
            f"next: ./gpusig compare {where} OTHER for what differs, or "
            f"./gpusig scorecard {where} OTHER for which is better"
        )
    return worst


def _controls(plan: resume.Plan, found: list[Program]) -> list[Program]:
    """Programs of the control on the host; none where the device is the host itself, or simulated."""
    if plan.device.partition(":")[0] in ("host", "sim"):
        return []
    try:
        return kept(found, replace(plan, device="host", only=_CONTROL_PROGRAMS, headline=True))
    except CommandError:
        return []  # a folder of other programs


def _one(folder: Path, own: resume.Plan, chosen: list[Program], strict: bool, part: Part) -> tuple[int, bool]:
    """Exit code of one run, and whether it was completed. Does not return where a signal ended it."""
    for place in {folder.parent, folder} - {part.whole}:
        refuse_link(place)
    refuse_links(folder)
    begun = (folder / "plan.json").is_file()
    create(folder)
    lock = resume.Lock(folder)
    try:
        if begun:  # with the setting of the command line, which is that of the whole
            own = replace(resume.load(folder / "plan.json"), setting=own.setting)
        one = Run(folder, own, lock, chosen, strict, part)
        code = one.go(_AS_IT_IS if begun else None)
    finally:
        os.close(lock.handle)
    return code, not one.disk_error


_AS_IT_IS = Options(
    None, None, None, [], None, None, None, False, [], False, None
)  # of a run that is resumed


def _worse(one: int, other: int) -> int:
    return next((code for code in (BAD, INCONCLUSIVE) if code in (one, other)), OK)


def _say_skipped(folder: Path) -> None:
    """Name the programs that the last run skipped. Other runs skipped them, too, or said what failed."""
    for program, outcome in resume.load(folder / "plan.json").outcomes.items():
        if outcome["status"] == "skipped":
            say(f"skipped {program}: {outcome['reason']}")
