# SPDX-License-Identifier: BSD-3-Clause
"""python -m suite [--cwd DIR] [--bin DIR] [--check-options] COMMAND ...; ./gpusig help has the words for
users."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from suite import saying, streams
from suite.commands import reading
from suite.command_error import CommandError


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m suite", add_help=False, allow_abbrev=False)
    parser.add_argument("--cwd", type=Path, default=Path.cwd())
    parser.add_argument("--bin", type=Path)  # of suite/setup/building.py
    parser.add_argument("--check-options", action="store_true")
    parser.add_argument("words", nargs=argparse.PARSER)
    given = parser.parse_args(arguments)
    command, *words = given.words
    if command in reading.COMMANDS:
        return reading.command(command, given.cwd, words, given.bin, given.check_options)
    from suite.commands import command_line  # only here: reading does not wait for it

    return command_line.main(given)


if __name__ == "__main__":
    streams.open_closed()
    streams.refuse_unwritable()
    try:
        sys.exit(main(sys.argv[1:]))
    except CommandError as error:
        saying.say(str(error))
        sys.exit(error.code)
    except KeyboardInterrupt:
        sys.exit(130)
