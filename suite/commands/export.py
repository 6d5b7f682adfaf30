# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig export: headline numbers in the formats of other tools."""

from __future__ import annotations

import argparse
from typing import Callable, Dict, List, Sequence, Tuple

from reports.judge.compare.numbers import BadNumbers, wrong_results
from reports.export import gbench, junit, prometheus, reframe, runs, series
from reports.records.jsonl import clean
from reports.signature.signature_file import trusting
from suite.command_error import BAD, OK
from suite.commands import Place, options
from suite.commands.answer import write
from suite.saying import say

FORMATS: Dict[str, Callable[[Sequence[runs.Run], bool], Tuple[str, List[str]]]] = {
    "prometheus": lambda found, _: prometheus.export(found),
    "junit": lambda found, _: junit.export(found),
    "gbench": lambda found, _: gbench.export(found),
    "csv": series.export,
    "reframe": lambda found, _: reframe.export(found),
}


def parse(words: List[str]) -> argparse.Namespace:
    given = options.parse("export", words, {})
    if given.to not in FORMATS:
        what = "needs --to FORMAT" if given.to is None else "unknown format '%s'" % clean(given.to)[:40]
        raise BadNumbers("export: %s; formats: %s" % (what, " ".join(FORMATS)))
    if not given.names:
        raise BadNumbers("export needs a run: ./gpusig export --to %s SIGNATURE" % given.to)
    if given.out == "":
        raise BadNumbers("export: an empty name is not a file")
    return given


def _say(text: str) -> None:
    say(f"export: {text}")


def _converted(name: str, found: Sequence[runs.Run], only: bool) -> Tuple[str, List[str]]:
    with trusting("export: a signature", BadNumbers):
        return FORMATS[name](found, only)


def command(words: List[str], place: Place) -> int:
    given = parse(words)
    if place.check_only:
        return OK
    given.cwd = place.cwd
    found, left_out = runs.collect(given.cwd, given.names)
    found = [runs.chosen(run, given.only) for run in found]
    for reason in left_out:
        _say("left out: %s" % reason)
    for said in filter(None, (wrong_results(run.name, run.failed) for run in found)):
        _say(said)
    if given.only and not any(run.values or run.missing for run in found):
        raise BadNumbers(
            "export: no headline number matches %s"
            % " or ".join(clean(pattern)[:80] for pattern in given.only)
        )
    text, notes = _converted(given.to, found, bool(given.only))
    for note in notes:
        _say(note)
    if given.out is None:
        print(text, end="")
        return OK
    return OK if write(given.cwd / given.out, text, "export") else BAD
