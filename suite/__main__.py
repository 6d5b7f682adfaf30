# SPDX-License-Identifier: BSD-3-Clause
"""python -m suite [--cwd DIR] [--bin DIR] [--check-options] COMMAND ...; ./gpusig help has the words for
users."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from reports.records.jsonl import Refused, clean
from suite import saying, streams
from suite.command_error import CommandError
from suite.commands import Place


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m suite", add_help=False, allow_abbrev=False)
    parser.add_argument("--cwd", type=Path, default=Path.cwd())
    parser.add_argument("--bin", type=Path)  # of suite/setup/building.py
    parser.add_argument("--check-options", action="store_true")
    parser.add_argument("words", nargs=argparse.PARSER)
    given = parser.parse_args(arguments)
    command, *words = given.words
    try:
        module = importlib.import_module(f"suite.commands.{command}")  # the others are not loaded
        return module.command(words, Place(given.cwd, given.bin, given.check_options))
    except Refused as why:
        for line in why.lines:
            saying.say(clean(line))
        return why.code
    except CommandError as error:
        saying.say(str(error))
        return error.code


if __name__ == "__main__":
    streams.open_closed()
    streams.refuse_unwritable()
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
