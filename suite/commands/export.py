# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig export: headline numbers in the formats of other tools."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple, Union

from reports.judge.compare.numbers import BadNumbers, wrong_results
from reports.export import astra_sim, gbench, junit, prometheus, reframe, runs, series
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
# Formats of several files: their texts by name.
FOLDERS: Dict[str, Callable[[Sequence[runs.Run]], Tuple[Dict[str, str], List[str]]]] = {
    "astra-sim": astra_sim.export
}


def parse(words: List[str]) -> argparse.Namespace:
    given = options.parse("export", words, {})
    if given.to not in FORMATS and given.to not in FOLDERS:
        what = "needs --to FORMAT" if given.to is None else "unknown format '%s'" % clean(given.to)[:40]
        raise BadNumbers("export: %s; formats: %s" % (what, " ".join([*FORMATS, *FOLDERS])))
    if not given.names:
        raise BadNumbers("export needs a run: ./gpusig export --to %s SIGNATURE" % given.to)
    if given.out == "":
        raise BadNumbers("export: an empty name is not a file")
    if given.to in FOLDERS and (given.out is None or given.only):
        what = "has no --only" if given.only else "is several files, so it needs --out FOLDER"
        raise BadNumbers("export: %s %s" % (given.to, what))
    return given


def _say(text: str) -> None:
    say(f"export: {text}")


def _converted(
    name: str, found: Sequence[runs.Run], only: bool
) -> Tuple[Union[str, Dict[str, str]], List[str]]:
    with trusting("export: a signature", BadNumbers):
        return FOLDERS[name](found) if name in FOLDERS else FORMATS[name](found, only)


def _write_all(folder: Path, texts: Dict[str, str]) -> bool:
    with contextlib.suppress(OSError):  # that the first file will tell
        folder.mkdir(exist_ok=True)
    return all(write(folder / name, text, "export") for name, text in texts.items())


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
    if isinstance(text, dict):
        return OK if _write_all(given.cwd / given.out, text) else BAD
    if given.out is None:
        print(text, end="")
        return OK
    return OK if write(given.cwd / given.out, text, "export") else BAD
