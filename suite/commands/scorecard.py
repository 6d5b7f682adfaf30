# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig scorecard: which machine is better, at what, and for which work?"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence

from reports.judge.compare.numbers import BadNumbers
from reports.records.files import as_json
from reports.records.jsonl import Json, clean
from reports.judge.scorecard import known, machines, metrics, page, price, workload, workload_file
from reports.judge.scorecard.card import Question, card
from reports.judge.scorecard.questions import votes
from reports.signature.signature_file import trusting
from suite.command_error import BAD, OK
from suite.commands import Place, options
from suite.commands.answer import show

FORMATS: Dict[str, Callable[[Json], str]] = {"table": page.table, "json": as_json}
_PAGE = "scorecard.html"


def parse(words: List[str]) -> argparse.Namespace:
    given = options.parse("scorecard", words, {"--format": options.one_of(*FORMATS)})
    given.format = given.format or "table"
    if not given.names:
        raise BadNumbers("scorecard needs a machine: ./gpusig scorecard A [B...]")
    if "" in given.names:
        raise BadNumbers("scorecard: an empty name is not a machine")
    return given


def _base(given: argparse.Namespace, found: Sequence[machines.Machine]) -> Optional[str]:
    """The name of the machine of --base, which is given by its name or as its folder was."""
    names = [machine.name for machine in found]
    base = {machine.side.name: machine.name for machine in found}.get(given.base, given.base)
    if base is not None and base not in names:
        raise BadNumbers(
            "scorecard: --base '%s' is none of the machines: %s" % (clean(base)[:60], ", ".join(names))
        )
    return base


def _check(machine: machines.Machine) -> None:
    """Raise BadNumbers where a signature does not follow its schema, before it is compared with others."""
    with trusting("scorecard: %s: signature.json" % machine.name, BadNumbers):
        card([machine], metrics.rows_of([machine]), Question())


def _machines(given: argparse.Namespace) -> List[machines.Machine]:
    """The machines that are named; one alone is joined by the known ones of its kind."""
    found = machines.read(given.cwd, given.names, known.read)
    for machine in found:
        _check(machine)
    if len(found) > 1:
        return found
    others = known.of_its_sort(found[0])
    if not others:
        raise BadNumbers("scorecard needs two machines: no known one is of the kind of %s" % found[0].name)
    return found + others


def build(given: argparse.Namespace, programs: Path) -> Json:
    items = (
        None
        if given.workload is None
        else workload_file.read(given.cwd / given.workload, clean(given.workload))
    )
    found = _machines(given)
    alone = found[0].name if len(given.names) == 1 else ""
    base = _base(given, found) or alone or None
    rows = metrics.rows_of(found, alone)
    metrics.judge(rows[0])
    mix = None if items is None else workload.mix_of(found, items, programs)
    prices = None
    if given.price is not None:
        asked = [vote.row for vote in votes(rows[0])]
        prices = price.of(found, given.cwd / given.price, clean(given.price), asked, mix)
    names = [Path(clean(path or "")).name for path in (given.workload, given.price)]
    wanted = {} if mix is None or items is None else workload.wanted(found, items, mix)
    return card(found, rows, Question(base, mix, names[0], prices, names[1], wanted))


def command(words: List[str], place: Place) -> int:
    given = parse(words)
    if place.check_only:
        return OK
    given.cwd = place.cwd
    if given.names == [machines.KNOWN]:
        print(known.table(), end="")
        return OK
    found = build(given, place.programs())
    shown = show(given, FORMATS[given.format](found), partial(page.render, found), _PAGE, "scorecard")
    return int(found["exit"]) if shown else BAD
