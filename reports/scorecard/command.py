# SPDX-License-Identifier: BSD-3-Clause
"""python -m reports scorecard MACHINE... [OPTION]...   which machine is better, at what, and for which work?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence

from reports.compare.numbers import BadNumbers
from reports.files import write_whole
from reports.jsonl import Json, clean
from reports.report import MissingDependency
from reports.scorecard import machines, metrics, page, price, table, workload, workload_file
from reports.scorecard.card import Question, card

BAD, USAGE = 1, 2
FORMATS: Dict[str, Callable[[Json], str]] = {
    "table": table.table, "json": lambda found: json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"}
_PAGE = "scorecard.html"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadNumbers("scorecard: %s; see ./gpusig help scorecard" % clean(message)[:300])


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="gpusig scorecard", add_help=False, allow_abbrev=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cwd", type=Path, default=Path.cwd())
    parser.add_argument("--workload")
    parser.add_argument("--price")
    parser.add_argument("--base")
    parser.add_argument("--format", choices=sorted(FORMATS), default="table")
    parser.add_argument("--html")
    given = parser.parse_intermixed_args(list(arguments))
    if len(given.names) < 2:
        raise BadNumbers("scorecard needs two machines or more: ./gpusig scorecard A B [C...]")
    if "" in given.names:
        raise BadNumbers("scorecard: an empty name is no machine")
    return given


def _base(given: argparse.Namespace, names: Sequence[str]) -> Optional[str]:
    if given.base is not None and given.base not in names:
        raise BadNumbers("scorecard: --base '%s' is none of the machines: %s" % (clean(given.base)[:60], ", ".join(names)))
    return given.base


def _check(machine: machines.Machine) -> None:
    """BadNumbers where a signature is not what its schema says, before it stands next to others."""
    try:
        rows = metrics.rows_of([machine])
        card([machine], rows, Question())
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as why:
        raise BadNumbers("scorecard: %s: signature.json is malformed: %s %s" % (
            machine.name, type(why).__name__, clean(str(why))[:80])) from None


def build(given: argparse.Namespace) -> Json:
    items = None if given.workload is None else workload_file.read(given.cwd / given.workload, clean(given.workload))
    found = machines.read(given.cwd, given.names)
    for machine in found:
        _check(machine)
    base = _base(given, [machine.name for machine in found])
    rows = metrics.rows_of(found)
    metrics.judge(rows[0])
    mix = None if items is None else workload.mix_of(found, items)
    prices = None
    if given.price is not None:
        prices = price.of(found, given.cwd / given.price, clean(given.price), rows[0], mix)
    names = [Path(clean(path or "")).name for path in (given.workload, given.price)]
    return card(found, rows, Question(base, mix, names[0], prices, names[1]))


def _write_page(given: argparse.Namespace, found: Json) -> bool:
    """False after a message where it cannot be written. Without jinja2 the answer is the same, without a page."""
    path = given.cwd / (given.html or _PAGE)
    try:
        write_whole(path, page.render(found))
    except MissingDependency as why:
        print("gpusig: scorecard: %s; everything else is as it is" % why, file=sys.stderr)
    except OSError as why:
        print("gpusig: scorecard: cannot write %s: %s" % (path, why.strerror), file=sys.stderr)
        return False
    else:
        print("gpusig: full scorecard: %s" % path, file=sys.stderr)
    return True


def main(arguments: List[str]) -> int:
    try:
        given: Any = parse(arguments)
        found = build(given)
    except BadNumbers as why:
        print("gpusig: %s" % why, file=sys.stderr)
        return USAGE
    print(FORMATS[given.format](found), end="")
    written = given.html == "" or _write_page(given, found)
    return found["exit"] if written else BAD
