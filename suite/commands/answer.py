# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands about signatures take, and the files that they write."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Callable

from reports.judge.compare import provenance
from reports.records.files import write_whole
from reports.records.jsonl import clean, real_in
from reports.page.template import MissingDependency
from suite.saying import say


def effect(text: str) -> float:
    """An effect between 0 and 1, given as "2%" or "0.02"."""
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


def write(path: Path, text: str, command: str) -> bool:
    """True if the file was written; otherwise say why not."""
    try:
        write_whole(path, text)
        return True
    except (OSError, ValueError) as why:
        reason = getattr(why, "strerror", None) or "no name of a file"
        say(f"{command}: cannot write {clean(str(path))}: {reason}")
        return False


def show(given: argparse.Namespace, text: str, page: Callable[[str], str], name: str, what: str) -> bool:
    """Print an answer, and write its page, which holds the command line, to --html or else to a file of this
    name. False where it cannot be written, after a message. Without jinja2 there is no page, and the answer
    stands."""
    print(text, end="")
    if given.html == "":
        return True
    path = given.cwd / (given.html or name)
    try:
        html = page(clean(given.line))
    except MissingDependency as why:
        say(f"{given.command}: {why}; all but the page is complete")
        return True
    if not write(path, html, given.command):
        return False
    say(f"full {what}: {path}")
    return True
