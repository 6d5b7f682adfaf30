# SPDX-License-Identifier: BSD-3-Clause
"""Options of a command, read from its help text: suite/help/COMMAND.txt is the only list of them.

A line "  --name, -n VALUE  text" declares an option: without VALUE it is a switch, and with "may be repeated"
in its text a list. The command's module checks its values.
"""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, NoReturn

from reports.records.jsonl import clean, whole_in
from suite.command_error import CommandError

_HELP = Path(__file__).resolve().parents[1] / "help"
_OPTION = re.compile(r"(--[a-z-]+)(?:, (-[a-z]))?(?: ([A-Za-z][A-Za-z,]*))?")
_OF_ALL = ("--no-install",)  # read by ./gpusig itself


class Option(NamedTuple):
    names: list[str]
    has_value: bool
    repeated: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        name = self.prog
        raise CommandError(f"{name}: {clean(message)[:300]}; see ./gpusig help {name}")


def options_of(command: str) -> Iterator[Option]:
    """Options in the order of the help text; several may stand in one line, as --m M --n N --k K."""
    text = (_HELP / f"{command}.txt").read_text(encoding="utf-8")
    for head, rest in re.findall(r"^  (--.*)\n((?:   .*\n)*)", text, re.M):
        declared, _, first = head.partition("  ")
        repeated = "may be repeated" in " ".join(f"{first} {rest}".split())
        for name, short, value in _OPTION.findall(declared):
            yield Option([name, short] if short else [name], bool(value), repeated)


def parse(
    command: str,
    words: list[str],
    types: dict[str, Callable[[str], Any]],
    more: str = "",
    without: tuple[str, ...] = (),
) -> argparse.Namespace:
    """Values by the names of the options, None for an option that is not given ([] for a list, False for a
    switch), `names`, all other words, and `command` and `line`, the whole command line. `types`: functions
    that make a value of a text, or raise argparse.ArgumentTypeError. `more`: another command whose options
    are taken as well, except those in `without`. Wrong options are a CommandError."""
    parser = _Parser(prog=command, add_help=False, allow_abbrev=False)
    parser.add_argument("names", nargs="*")
    found = {option.names[0]: option for name in (more, command) if name for option in options_of(name)}
    for name in _OF_ALL:
        found.setdefault(name, Option([name], False, False))
    for name, option in found.items():
        if name in without:
            continue
        if not option.has_value:
            parser.add_argument(*option.names, action="store_true")
        elif option.repeated:
            parser.add_argument(*option.names, action="append", type=types.get(name, str), default=[])
        else:
            parser.add_argument(*option.names, type=types.get(name, str))
    given, unknown = parser.parse_known_intermixed_args(words)
    if unknown:
        raise CommandError(f"unknown option '{clean(unknown[0])[:80]}'; see ./gpusig help {command}")
    given.command, given.line = command, shlex.join(["./gpusig", command, *words])
    return given


def whole(what: str, least: int, most: int) -> Callable[[str], int]:
    """Type of an option that takes a whole number; `what` it is, for the message."""
    end = str(most) if most < 1 << 31 else f"2^{most.bit_length()} - 1"

    def check(text: str) -> int:
        number = whole_in(text.removeprefix("-"))
        number = -number if number is not None and text.startswith("-") else number
        if number is None or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"'{text[:40]}' is not {what} from {least} to {end}")
        return number

    return check


def one_of(*words: str) -> Callable[[str], str]:
    """Type of an option that takes one of these words."""

    def check(text: str) -> str:
        if text not in words:
            raise argparse.ArgumentTypeError(f"'{text[:40]}' is none of {', '.join(words)}")
        return text

    return check
