# SPDX-License-Identifier: BSD-3-Clause
"""python -m reports compare BEFORE AFTER [OPTION]...   has anything changed between two sides of several
runs? compare BEFORE... vs AFTER...                several folders a side
compare HISTORY                              since when is something different, in runs of many nights?
compare --aa FOLDER...                       the noise floor of equal runs, into noise.json
compare --plan FOLDER... | --plan --noise FILE    what so many runs a side would find
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from reports.judge.command_line import Parser, as_json, effect, factor, write, write_page
from reports.judge.compare import (
    changes,
    comparison,
    history,
    history_page,
    junit,
    nodes,
    noise,
    page,
    plan,
    sides,
    verdict,
)
from reports.judge.compare.numbers import BadNumbers
from reports.records.jsonl import Json, clean, whole_in

OK, BAD, USAGE = 0, 1, 2
Render = Callable[[Json], str]
Formats = Dict[str, Render]
FORMATS: Formats = {"table": page.table, "junit": junit.junit, "json": as_json}
_OF_A_HISTORY: Formats = {"table": history_page.table, "json": as_json}
_BETWEEN = "vs"
_PAGE, _NOISE = "compare.html", "noise.json"


def _repeats(text: str) -> int:
    number = whole_in(text)
    if number is None or not 2 <= number <= verdict.MAX_REPEATS:
        raise argparse.ArgumentTypeError(
            "'%s' is not a number of runs from 2 to %d" % (text[:40], verdict.MAX_REPEATS)
        )
    return number


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser("compare")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cwd", type=Path, default=Path.cwd())
    parser.add_argument("--factor", action="append", type=factor, default=[])
    parser.add_argument("--control", action="append", default=[])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--effect", type=effect, default=verdict.Settings.least_effect)
    parser.add_argument("--noise")
    parser.add_argument("--nodes", action="store_true")
    parser.add_argument("--aa", action="store_true")
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--repeats", type=_repeats)
    parser.add_argument("--format", choices=sorted(FORMATS), default="table")
    parser.add_argument("--html")
    parser.add_argument("--out")
    given = parser.parse_intermixed_args(list(arguments))
    only_of_aa = [
        name for name, value in (("--repeats", given.repeats), ("--out", given.out)) if value is not None
    ]
    if not given.aa and only_of_aa:
        raise BadNumbers("compare: %s goes with --aa" % only_of_aa[0])
    if given.aa and (
        given.noise is not None
        or given.html is not None
        or given.factor
        or given.nodes
        or given.format == "junit"
    ):
        raise BadNumbers(
            "compare: --aa compares equal runs: leave out --noise, --html, --factor, --nodes and --format "
            "junit"
        )
    of_sides = given.html is not None or given.nodes or given.factor or given.control
    if given.plan and (given.aa or of_sides or given.format != "table"):
        raise BadNumbers(
            "compare: --plan compares nothing: leave out --aa, --html, --nodes, --factor, --control and "
            "--format"
        )
    return given


def _two_sides(names: List[str]) -> Tuple[List[str], List[str]]:
    if _BETWEEN in names:
        place = names.index(_BETWEEN)
        before, after = names[:place], names[place + 1 :]
    else:
        before, after = names[:1], names[1:]
        if len(names) > 2:
            raise BadNumbers("compare: %d folders; several a side are: BEFORE... vs AFTER..." % len(names))
    if not before or not after or _BETWEEN in after:
        raise BadNumbers("compare needs two sides: ./gpusig compare BEFORE AFTER")
    return before, after


def _settings(given: argparse.Namespace, repeats: int) -> verdict.Settings:
    settings = verdict.Settings(
        least_effect=given.effect,
        factors=tuple(dict.fromkeys(given.factor)),
        controls=tuple(given.control),
        only=tuple(given.only),
        by_node=given.nodes,
    )
    if given.noise is None:
        return settings
    path, name = given.cwd / given.noise, clean(given.noise)
    known, chance_evidence = noise.known(path, name)
    return replace(
        settings,
        noise=noise.read(path, name, repeats),
        noise_file=clean(Path(given.noise).name),
        known=known,
        chance_evidence=chance_evidence,
    )


def compare(given: argparse.Namespace) -> int:
    before, after = (sides.read(given.cwd, names) for names in _two_sides(given.names))
    if len(given.names) == 2:  # of one folder
        before = history.before(before, after)
    sides.check([before, after], given.nodes)
    if given.nodes:
        before, after = nodes.of_nodes(before), nodes.of_nodes(after)
        nodes.check(before, after)
    settings = _settings(given, min(len(before.runs), len(after.runs)))
    before = before if given.nodes else history.baseline(before, after, settings)
    found = comparison.compare(before, after, settings)
    return _answer(given, found, FORMATS, page.render, "comparison")


def _answer(given: argparse.Namespace, found: Json, formats: Formats, render: Render, what: str) -> int:
    print(formats[given.format](found), end="")
    path = given.cwd / (given.html or _PAGE)
    written = given.html == "" or write_page(path, lambda: render(found), "compare", what)
    return int(found["outcome"]["exit"]) if written else BAD


def changes_in(given: argparse.Namespace) -> int:
    """Of one folder: its runs are a history."""
    pool = sides.read(given.cwd, given.names)
    if len(pool.runs) < 2:
        raise BadNumbers("compare needs two sides, or a history: ./gpusig compare BEFORE AFTER")
    for option, value in (
        ("--factor", given.factor),
        ("--control", given.control),
        ("--noise", given.noise),
        ("--nodes", given.nodes),
        ("--format junit", given.format == "junit"),
    ):
        if value:
            raise BadNumbers("compare: %s goes with two sides" % option)
    sides.check([pool])
    return _answer(
        given, changes.judge(pool, _settings(given, 0)), _OF_A_HISTORY, history_page.render, "history"
    )


def calibrate(given: argparse.Namespace) -> int:
    if not given.names:
        raise BadNumbers("compare --aa needs the folders of equal runs: ./gpusig compare --aa DIR...")
    pool = sides.read(given.cwd, given.names)
    sides.check([pool])
    found = noise.calibrate(pool, _settings(given, 0), given.repeats)
    print(noise.table(found) if given.format == "table" else as_json(found), end="")
    path = given.cwd / (given.out or _NOISE)
    if not write(path, as_json(found), "compare"):
        return BAD
    print(
        "gpusig: noise floor: %s; use it with: ./gpusig compare BEFORE AFTER --noise %s" % (path, path),
        file=sys.stderr,
    )
    return OK


def planned(given: argparse.Namespace) -> int:
    if (given.noise is None) == (not given.names):
        raise BadNumbers(
            "compare --plan needs equal runs, ./gpusig compare --plan DIR..., or --noise FILE, not both"
        )
    settings = _settings(given, 0)
    if given.noise is not None:
        where = clean(given.noise)
        metrics = plan.of_noise(noise.load(given.cwd / given.noise, where), where, given.only)
    else:
        pool = sides.read(given.cwd, given.names)
        sides.check([pool])
        where, metrics = pool.name, plan.of_runs(pool.runs, settings)
    print(plan.table(where, metrics, settings), end="")
    return OK


def main(arguments: List[str]) -> int:
    try:
        given: Any = parse(arguments)
        if given.plan or given.aa:
            return (planned if given.plan else calibrate)(given)
        return changes_in(given) if len(given.names) == 1 else compare(given)
    except BadNumbers as why:
        print("gpusig: %s" % why, file=sys.stderr)
        return USAGE
