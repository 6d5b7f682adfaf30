# SPDX-License-Identifier: BSD-3-Clause
"""The options of the commands that measure, list or test, and what each starts."""

from __future__ import annotations

import argparse
import itertools
import os
import re
from pathlib import Path
from typing import NoReturn

from suite import duration, naming, streams
from suite.run import (
    ab,
    devices,
    history,
    libraries,
    listing,
    mpi,
    preflight,
    processor,
    repeats,
    resume,
    run,
)
from suite.setup import building
from suite.command_error import CommandError
from suite.run.folder import keep_to_own_user

_HOME = Path(__file__).resolve().parents[2]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(
            f"{message}; see ./gpusig help {self.prog.removeprefix('gpusig').strip()}".rstrip()
        )


def _parser() -> _Parser:
    main = _Parser(prog="gpusig", add_help=False, allow_abbrev=False)
    commands = main.add_subparsers(dest="command", required=True, parser_class=_Parser)
    plain = {"add_help": False, "allow_abbrev": False}

    running = commands.add_parser("run", **plain)
    _add_run_options(running)
    running.add_argument("--soak", type=str)
    running.add_argument("--strict", action="store_true")
    running.add_argument("--history", type=_history)

    trying = commands.add_parser("ab", **plain)
    trying.add_argument("settings", nargs="*")
    _add_run_options(trying)
    preflight.add_options(commands.add_parser("preflight", **plain))
    testing = commands.add_parser("test", **plain)
    testing.add_argument("--only", action="append", default=[])
    testing.add_argument("--stages", action="store_true")
    testing.add_argument("--all", action="store_true")
    testing.add_argument("--lab", action="store_true")
    testing.add_argument("--program")
    testing.add_argument("--attack", type=_minutes)

    listed = commands.add_parser("list", **plain)
    listed.add_argument("programs", nargs="*")
    listed.add_argument("--markdown", action="store_true")
    listed.add_argument("--verbose", "-v", action="store_true")
    for command in commands.choices.values():
        command.add_argument("--no-install", action="store_true")
    return main


def _add_run_options(running: argparse.ArgumentParser) -> None:
    running.add_argument("--device")
    running.add_argument("--budget", type=str)
    running.add_argument("--only", action="append", default=[])
    running.add_argument("--out", type=_out)
    running.add_argument("--resume", type=_resume)
    running.add_argument("--seed", type=_seed)
    running.add_argument("--full", action="store_true")
    running.add_argument("--shape", action="append", type=_shape, default=[])
    running.add_argument("--type", dest="types", action="append", type=_types, default=[])
    running.add_argument("--nice", type=_nice, default=os.environ.get("GPUSIG_NICE"))
    running.add_argument("--headline", action="store_true")
    running.add_argument("--repeats", type=_repeats)


def _out(text: str, option: str = "--out") -> Path:
    if not text:
        raise CommandError(f"{option}: an empty name is no folder")
    return Path(naming.expand(text, option))


def _resume(text: str) -> Path:
    return _out(text, "--resume")


def _history(text: str) -> Path:
    return _out(text, "--history")


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > resume.MAX_SEED:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 to 2^64 - 1")
    return int(text)


def _repeats(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 4 or not 1 <= int(text) <= repeats.MAX_REPEATS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of runs from 1 to {repeats.MAX_REPEATS}")
    return int(text)


def _nice(text: str) -> int:
    number = text.removeprefix("-")
    if not number.isascii() or not number.isdigit() or len(number) > 2 or not -20 <= int(text) <= 19:
        raise argparse.ArgumentTypeError(f"'{text}' is not a priority from -20 to 19")
    return int(text)


def _minutes(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text) or not float(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of minutes")
    return float(text)


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
        raise argparse.ArgumentTypeError(f"'{text}' is no list of types, such as bf16,f32")
    return words


def _run_options(given: argparse.Namespace) -> run.Options:
    if given.out is not None and given.resume is not None:
        raise CommandError("--out begins a new run and --resume goes on with one: give one of them")
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
    return run.Options(
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
        list(dict.fromkeys(itertools.chain(*given.types))),
        nights,
    )


def _level(given: argparse.Namespace) -> str:
    return "lab" if given.lab else "all" if given.all else "quick"


def _check_test_options(given: argparse.Namespace) -> None:
    from suite.testing import checks, one_program  # only here: measuring does not wait for them

    more = given.only or given.all or given.lab or given.stages
    if given.program is not None and more:
        raise CommandError("--program runs stages of its own: leave out --only, --all, --lab and --stages")
    if given.attack is not None and (more or given.program is not None):
        raise CommandError(
            "--attack runs nothing else: leave out --only, --all, --lab, --stages and --program"
        )
    if given.program is not None:
        one_program.stages_of(_HOME, given.program)
    checks.chosen(given.only, _level(given))


def _parse(front: argparse.Namespace) -> argparse.Namespace:
    given, unknown = _parser().parse_known_args(front.words, front)
    if unknown:
        what = "option" if unknown[0].startswith("-") else "word"
        raise CommandError(f"unknown {what} '{unknown[0]}'; see ./gpusig help {given.command}")
    return given


def _measure(given: argparse.Namespace, bin_dir: Path, sources: Path | None) -> int:
    streams.drop_unwritable()
    options = _run_options(given)
    settings = ab.settings(given.settings, options) if given.command == "ab" else repeats.NO_SETTING
    if given.check_options:
        return 0
    libraries.offer()
    processor.offer()
    mpi.leave_outer_job()
    keep_to_own_user()
    if given.command == "ab":
        return ab.run(options, settings, bin_dir, sources, given.cwd)
    resumed = options.resume and given.cwd / options.resume
    if options.repeats is not None or repeats.holds(resumed):
        return repeats.run(options, settings, bin_dir, sources, resumed or run.new_folder(options, given.cwd))
    if options.history is not None:
        return history.run(options, bin_dir, sources, given.cwd / options.history)
    return run.run(options, bin_dir, sources, given.cwd)


def main(front: argparse.Namespace) -> int:
    """Of the options in front of the command, and its words."""
    given = _parse(front)
    chosen_bin = os.environ.get("GPUSIG_BIN")
    bin_dir = Path(chosen_bin or given.bin or building.link())
    sources = None if chosen_bin else _HOME  # other programs are not built from these sources
    if given.command in ("run", "ab"):
        return _measure(given, bin_dir, sources)
    if given.command == "preflight":
        asked = preflight.options(given)
        if given.check_options:
            return 0
        libraries.offer()
        processor.offer()
        return preflight.command(asked, bin_dir)
    if given.command == "test":
        _check_test_options(given)
    if given.command == "list":
        listing.check(sources, given.programs)
    if given.check_options:
        return 0
    if given.command == "list":
        return listing.command(bin_dir, sources, given.programs, given.markdown, given.verbose)
    from suite.testing import checks  # only here: measuring does not wait for it

    if given.stages:
        print(checks.list_stages())
        return 0
    if given.attack is not None:
        return checks.attack(_HOME, given.attack)
    return checks.command(_HOME, given.only, _level(given), given.program)
