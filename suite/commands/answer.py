# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands about signatures take, and the files that they write."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Callable

from reports.judge.compare import provenance
from reports.records.files import write_whole
from reports.records.jsonl import real_in
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
    except OSError as why:
        say(f"{command}: cannot write {path}: {why.strerror}")
        return False


def write_page(path: Path, render: Callable[[], str], command: str, what: str) -> bool:
    """True unless the page cannot be written, after a message. Without jinja2 there is no page, and the
    answer stands."""
    try:
        text = render()
    except MissingDependency as why:
        say(f"{command}: {why}; all but the page is complete")
        return True
    if not write(path, text, command):
        return False
    say(f"full {what}: {path}")
    return True
