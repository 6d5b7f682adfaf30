# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig run: measure everything that this machine can do, and build the report. ./gpusig ab takes its
options as well."""

from __future__ import annotations

import argparse
import itertools
import os
from functools import partial
from pathlib import Path

from reports.records.jsonl import Refused
from suite import duration, naming, streams
from suite.command_error import OK, CommandError
from suite.commands import Place, compare, options
from suite.run import devices, history, libraries, mpi, processor, repeats, resume, run
from suite.run.folder import keep_to_own_user
from suite.saying import count, say


def _folder(text: str, option: str) -> Path:
    if not text:
        raise CommandError(f"{option}: an empty name is not a folder")
    return Path(naming.expand(text, option))


def _shape(text: str) -> str:
    sides = text.split("x")
    if len(sides) != 3 or not all(
        side.isascii() and side.isdigit() and 0 < int(side) <= 1 << 24 for side in sides
    ):
        raise argparse.ArgumentTypeError(f"'{text}' is not MxNxK, three numbers from 1 to 2^24")
    return "x".join(str(int(side)) for side in sides)


def _types(text: str) -> list[str]:
    words = text.split(",")
    if not all(word.isascii() and word.isalnum() for word in words):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of types, such as bf16,f32")
    return words


_nice = options.whole("a priority", -20, 19)
_TYPES = {
    **{name: partial(_folder, option=name) for name in ("--out", "--resume", "--history")},
    "--seed": options.whole("a whole number", 0, resume.MAX_SEED),
    "--repeats": options.whole("a number of runs", 1, repeats.MAX_REPEATS),
    "--nice": _nice,
    "--shape": _shape,
    "--type": _types,
}


def parse(command: str, words: list[str], place: Place) -> tuple[argparse.Namespace, resume.Options]:
    """Options of run, or those of them that ab takes."""
    if command == "run":
        given = options.parse("run", words, _TYPES)
        if given.names:
            raise CommandError(f"unknown word '{given.names[0]}'; see ./gpusig help run")
    else:
        given = options.parse(command, words, _TYPES, "run", ("--soak", "--strict", "--history"))
    if given.nice is None and "GPUSIG_NICE" in os.environ:
        try:
            given.nice = _nice(os.environ["GPUSIG_NICE"])
        except argparse.ArgumentTypeError as why:
            raise CommandError(f"GPUSIG_NICE: {why}") from None
    given.cwd = place.cwd
    return given, _run_options(given)


def _run_options(given: argparse.Namespace) -> resume.Options:
    if given.out is not None and given.resume is not None:
        raise CommandError("--out begins a new run and --resume continues one: give one of them")
    soak, strict = getattr(given, "soak", None), getattr(given, "strict", False)
    if soak is not None and given.budget is not None:
        raise CommandError("--soak is the time to measure for, too: leave out --budget")
    if soak is not None and (given.headline or given.repeats is not None):
        raise CommandError(
            "--soak looks for wrong results, not for numbers: leave out --headline and --repeats"
        )
    nights = getattr(given, "history", None)
    for option, value in (("--out", given.out), ("--resume", given.resume), ("--repeats", given.repeats)):
        if nights is not None and value is not None:
            raise CommandError(f"--history adds one run to a folder: leave out {option}")
    if nights is not None and soak is not None:
        raise CommandError("--soak looks for wrong results, not for numbers: leave out --history")
    budget_s = None if given.budget is None else duration.parse(given.budget)
    soak_s = None if soak is None else duration.parse(soak, "--soak")
    device = devices.of_user(given.device, given.cwd)
    return resume.Options(
        device,
        budget_s,
        soak_s,
        given.only,
        given.out,
        given.resume,
        given.seed,
        given.full,
        list(dict.fromkeys(given.shape)),
        strict,
        given.nice,
        given.headline,
        given.repeats,
        list(dict.fromkeys(itertools.chain(*given.type))),
        nights,
    )


def prepare() -> None:
    """Set up the environment that the programs inherit."""
    libraries.offer()
    processor.offer()
    mpi.leave_outer_job()
    keep_to_own_user()


def command(words: list[str], place: Place) -> int:
    streams.drop_unwritable()
    given, asked = parse("run", words, place)
    if place.check_only:
        return OK
    prepare()
    resumed = asked.resume and place.cwd / asked.resume
    bin_dir, sources = place.programs(), place.sources()
    if asked.repeats is not None or repeats.holds(resumed):
        folder = resumed or run.new_folder(asked, place.cwd)
        return repeats.run(asked, repeats.NO_SETTING, bin_dir, sources, folder)
    if asked.history is not None:
        code, night = history.run(asked, bin_dir, sources, place.cwd / asked.history)
        _compare(night)
        return code
    return run.run(asked, bin_dir, sources, place.cwd)


def _compare(night: Path) -> None:
    """Say how the numbers of a night compare with those of the nights before."""
    if not (night / history.SIGNATURE).is_file():
        return  # the run has said why
    if not history.others(night.parent, night):
        return say(f"{night.name} is the first run in {night.parent}: later ones are compared with it")
    given = compare.parse([".", night.name])
    given.cwd = night.parent
    try:
        found = compare.between(given)
    except Refused as why:
        return say(str(why))
    before, sentence = found["before"]["runs"], found["outcome"]["sentence"]
    say(f"{night.name} against {count(len(before), 'run')} before it: {sentence}")
