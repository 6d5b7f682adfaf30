# SPDX-License-Identifier: BSD-3-Clause
"""What the commands about signatures have in common: how options are read, and how an answer becomes a
file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Callable, NoReturn

from reports.judge.compare import provenance
from reports.judge.compare.numbers import BadNumbers
from reports.records.files import write_whole
from reports.records.jsonl import Json, clean, real_in
from reports.page.template import MissingDependency


class Parser(argparse.ArgumentParser):
    """Of "gpusig COMMAND". Wrong options are BadNumbers, a line that names the command and its help."""

    def __init__(self, command: str) -> None:
        super().__init__(prog="gpusig " + command, add_help=False, allow_abbrev=False)
        self._command = command

    def error(self, message: str) -> NoReturn:
        raise BadNumbers(
            "%s: %s; see ./gpusig help %s" % (self._command, clean(message)[:300], self._command)
        )


def effect(text: str) -> float:
    """ "2%" or "0.02"."""
    number = real_in(text[:-1] if text.endswith("%") else text)
    number = number / 100 if number is not None and text.endswith("%") else number
    if number is None or not 0 < number < 1:
        raise argparse.ArgumentTypeError(
            "'%s' is not an effect between 0 and 1, such as 2%% or 0.02" % text[:40]
        )
    return number


def factor(text: str) -> str:
    if text not in provenance.KINDS:
        raise argparse.ArgumentTypeError(
            "unknown factor '%s'; factors: %s" % (text[:40], " ".join(provenance.KINDS))
        )
    return text


def as_json(found: Json) -> str:
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write(path: Path, text: str, command: str) -> bool:
    """False after a message where it cannot be written."""
    try:
        write_whole(path, text)
        return True
    except OSError as why:
        print("gpusig: %s: cannot write %s: %s" % (command, path, why.strerror), file=sys.stderr)
        return False


def write_page(path: Path, render: Callable[[], str], command: str, what: str) -> bool:
    """False after a message where it cannot be written. Without jinja2 the answer is the same, without a
    page."""
    try:
        text = render()
    except MissingDependency as why:
        print("gpusig: %s: %s; everything else is as it is" % (command, why), file=sys.stderr)
        return True
    if not write(path, text, command):
        return False
    print("gpusig: full %s: %s" % (what, path), file=sys.stderr)
    return True
