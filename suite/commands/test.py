# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig test: build the variants and run the tests that this machine can run."""

from __future__ import annotations

import argparse
import re

from suite.command_error import OK, CommandError
from suite.commands import Place, options
from suite.setup.building import HOME
from suite.testing import checks, one_program


def _minutes(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text) or not float(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of minutes")
    return float(text)


def _level(given: argparse.Namespace) -> str:
    return "lab" if given.lab else "all" if given.all else "quick"


def _check_test_options(given: argparse.Namespace) -> None:
    more = given.only or given.all or given.lab or given.stages
    if given.program is not None and more:
        raise CommandError("--program runs stages of its own: leave out --only, --all, --lab and --stages")
    if given.attack is not None and (more or given.program is not None):
        raise CommandError(
            "--attack runs nothing else: leave out --only, --all, --lab, --stages and --program"
        )
    if given.program is not None:
        one_program.stages_of(HOME, given.program)
    checks.chosen(given.only, _level(given))


def command(words: list[str], place: Place) -> int:
    given = options.parse("test", words, {"--attack": _minutes})
    if given.names:
        raise CommandError(f"unknown word '{given.names[0]}'; see ./gpusig help test")
    _check_test_options(given)
    if place.check_only:
        return OK
    if given.stages:
        print(checks.list_stages())
        return OK
    if given.attack is not None:
        return checks.attack(HOME, given.attack)
    return checks.command(HOME, given.only, _level(given), given.program)
