# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig preflight: is this node fit for the next job?"""

from __future__ import annotations

import argparse

from reports.judge.preflight.answer import FORMATS
from suite import duration
from suite.command_error import OK, CommandError
from suite.commands import Place, options
from suite.commands.answer import factor
from suite.run import devices, libraries, processor
from suite.run.preflight import BUDGET_S, MAX_BUDGET_S, MIN_BUDGET_S, Options, preflight


def parse(words: list[str], place: Place) -> tuple[argparse.Namespace, Options]:
    types = {
        "--expect": options.whole("a number of devices", 1, 999),
        "--factor": factor,
        "--format": options.one_of(*FORMATS),
    }
    given = options.parse("preflight", words, types)
    if given.names:
        raise CommandError(f"unknown word '{given.names[0]}'; see ./gpusig help preflight")
    budget_s = BUDGET_S if given.budget is None else duration.parse(given.budget)
    if not MIN_BUDGET_S <= budget_s <= MAX_BUDGET_S:
        raise CommandError(
            f"--budget is the time for all of it, {duration.about(MIN_BUDGET_S)} to "
            f"{duration.show(MAX_BUDGET_S)}"
        )
    for name in ("reference", "noise", "device"):
        if getattr(given, name) == "":
            raise CommandError(f"--{name} is empty")
    device = devices.of_user(given.device, place.cwd)
    asked = Options(given.reference, given.noise, device, given.expect, budget_s, given.factor, place.cwd)
    return given, asked


def command(words: list[str], place: Place) -> int:
    given, asked = parse(words, place)
    if place.check_only:
        return OK
    libraries.offer()
    processor.offer()
    found = preflight(asked, place.programs())
    print(FORMATS[given.format or "text"](found, quiet=given.quiet, verbose=given.verbose), end="")
    return int(found["exit"])
