# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig predict: what would a change of this machine bring for a program?"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shlex
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Callable

from reports.predict import page
from reports.predict.answer import Question, answer
from reports.predict.change import alternatives, parse_sweep
from reports.predict.machine import SIM, Machine, measured, simulated
from reports.predict.simulation import OWN, Simulation
from reports.records.files import as_json
from reports.records.jsonl import Json, clean
from suite.command_error import BAD, CANNOT_RUN, OK, CommandError
from suite.commands import Place, options
from suite.commands.answer import show

FORMATS: dict[str, Callable[[Json], str]] = {"table": page.table, "json": as_json}
_PAGE = "predict.html"
_USAGE = "./gpusig predict SIGNATURE [--set KEY=2x] PROGRAM [ITS OPTIONS]"


def _own_words(words: list[str]) -> tuple[list[str], list[str]]:
    """The words of predict, and PROGRAM with all that follows: those are the program's."""
    valued = {name for option in options.options_of("predict") if option.has_value for name in option.names}
    names, place = 0, 0
    while place < len(words):
        word = words[place]
        if word in valued:
            place += 2
            continue
        names += not word.startswith("-")
        if names == 2:
            return words[:place], words[place:]
        place += 1
    return words, []


def parse(words: list[str]) -> argparse.Namespace:
    own, rest = _own_words(words)
    given = options.parse("predict", own, {"--format": options.one_of(*FORMATS)})
    given.line = shlex.join(["./gpusig", "predict", *words])
    given.format = given.format or "table"
    if not given.names or not rest:
        raise CommandError("predict needs %s: %s" % ("a PROGRAM" if given.names else "a SIGNATURE", _USAGE))
    if not given.names[0]:
        raise CommandError("predict: an empty name is not a signature")
    given.machine, given.program, given.options = given.names[0], rest[0], rest[1:]
    for word in given.options:
        if word.partition("=")[0] in ("--set", "--sweep", "--tornado", "--html", "--no-install"):
            raise CommandError("predict: %s stands before the PROGRAM" % word.partition("=")[0])
        if word.partition("=")[0] in OWN:
            raise CommandError("predict gives %s to a program itself" % word.partition("=")[0])
    given.changes = alternatives(given.set)
    given.swept = parse_sweep(given.sweep) if given.sweep is not None else None
    return given


def _program(folder: Path, name: str) -> Path:
    """The program of this name, FOLDER/NAME as in ./gpusig list."""
    path = folder / name
    known = sorted(
        f"{p.parent.name}/{p.name}" for p in folder.glob("*/*") if p.is_file() and os.access(p, os.X_OK)
    )
    if not known:
        raise CommandError(f"no programs in {folder}: build them with make", CANNOT_RUN)
    if name not in known:
        near = [one for one in known if one.endswith("/" + name)] or difflib.get_close_matches(name, known, 3)
        hint = "perhaps " + ", ".join(near) if near else "./gpusig list has all"
        raise CommandError(f"predict: unknown program '{clean(name)[:60]}'; {hint}")
    if "mpi" in _needs(path):
        raise CommandError(
            f"predict: {name} measures ranks of MPI, which no model of a device predicts", CANNOT_RUN
        )
    return path


def _needs(program: Path) -> list[str]:
    """Empty where the program does not say; then it will say why it does not run."""
    try:
        said = subprocess.run(
            [program, "--about"], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        return [str(word) for word in json.loads(said.stdout)["needs"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _machine(given: argparse.Namespace, folder: Path) -> Machine:
    if given.machine.startswith(SIM):
        return simulated(given.machine)
    return measured(given.cwd / given.machine, given.machine, folder)


def command(words: list[str], place: Place) -> int:
    given = parse(words)
    if place.check_only:
        return OK
    given.cwd = place.cwd
    program = _program(place.programs(), given.program)
    try:
        with tempfile.TemporaryDirectory(prefix="gpusig-predict-") as folder:
            machine = _machine(given, Path(folder))
            simulation = Simulation(program, given.program, given.options, machine, given.cwd)
            question = Question(given.changes, given.swept, given.tornado)
            found = answer(simulation, machine, question, given.options)
    except OSError as why:
        raise CommandError(f"predict: cannot write {why.filename or 'a file'}: {why.strerror}", BAD) from None
    shown = show(given, FORMATS[given.format](found), partial(page.render, found), _PAGE, "prediction")
    return int(found["exit"]) if shown else BAD
