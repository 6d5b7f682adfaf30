# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig compare: has anything changed between two sides of several runs? Since when is something different
in the runs of many nights? How far do equal runs differ, and what would more of them find?"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Callable, Dict, List, Tuple

from reports.judge.compare import comparison, history, junit, nodes, page, sides, verdict
from reports.judge.compare.numbers import BadNumbers
from reports.records.files import as_json
from reports.records.jsonl import Json, clean
from suite.command_error import BAD, INCONCLUSIVE, OK
from suite.commands import Place, options
from suite.commands.answer import effect, factor, show, write
from suite.saying import say

Formats = Dict[str, Callable[[Json], str]]
FORMATS: Formats = {"table": page.table, "junit": junit.junit, "json": as_json}
_BETWEEN = "vs"
_PAGE, _NOISE = "compare.html", "noise.json"


def parse(words: List[str]) -> argparse.Namespace:
    types = {
        "--factor": factor,
        "--effect": effect,
        "--repeats": options.whole("a number of runs", 2, verdict.MAX_REPEATS),
        "--format": options.one_of(*FORMATS),
    }
    given = options.parse("compare", words, types)
    given.format, given.effect = given.format or "table", given.effect or verdict.Settings.least_effect
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
    from reports.judge.compare import noise  # only here: two sides alone are answered without it

    path, name = given.cwd / given.noise, clean(given.noise)
    known, chance_evidence = noise.known(path, name)
    return replace(
        settings,
        noise=noise.read(path, name, repeats),
        noise_file=clean(Path(given.noise).name),
        known=known,
        chance_evidence=chance_evidence,
    )


def between(given: argparse.Namespace) -> Json:
    """The comparison of two sides."""
    before, after = (sides.read(given.cwd, names) for names in _two_sides(given.names))
    if len(given.names) == 2:  # of one folder
        before = history.before(before, after)
    sides.check([before, after], given.nodes)
    if given.nodes:
        before, after = nodes.of_nodes(before), nodes.of_nodes(after)
        nodes.check(before, after)
    settings = _settings(given, min(len(before.runs), len(after.runs)))
    before = before if given.nodes else history.baseline(before, after, settings)
    return comparison.compare(before, after, settings)


def changes_in(given: argparse.Namespace) -> int:
    """Exit code of judging one folder, whose runs are a history."""
    from reports.judge.compare import changes, history_page

    formats: Formats = {"table": history_page.table, "json": as_json}
    pool = sides.read(given.cwd, given.names)
    if len(pool.runs) < 2:
        if pool.runs[0].name != pool.name:
            raise BadNumbers(
                "compare: %s is a history of one run; two or more tell" % pool.name, INCONCLUSIVE
            )
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
    found = changes.judge(pool, _settings(given, 0))
    shown = show(given, formats[given.format](found), partial(history_page.render, found), _PAGE, "history")
    return int(found["outcome"]["exit"]) if shown else BAD


def calibrate(given: argparse.Namespace) -> int:
    from reports.judge.compare import noise

    if not given.names:
        raise BadNumbers("compare --aa needs the folders of equal runs: ./gpusig compare --aa DIR...")
    pool = sides.read(given.cwd, given.names)
    sides.check([pool])
    found = noise.calibrate(pool, _settings(given, 0), given.repeats)
    print(noise.table(found) if given.format == "table" else as_json(found), end="")
    path = given.cwd / (given.out or _NOISE)
    if not write(path, as_json(found), "compare"):
        return BAD
    say(f"noise floor: {path}; use it with: ./gpusig compare BEFORE AFTER --noise {path}")
    return OK


def planned(given: argparse.Namespace) -> int:
    from reports.judge.compare import noise, plan

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


def command(words: List[str], place: Place) -> int:
    given = parse(words)
    if place.check_only:
        return OK
    given.cwd = place.cwd
    if given.plan or given.aa:
        return (planned if given.plan else calibrate)(given)
    if not given.names:
        raise BadNumbers("compare needs two sides: ./gpusig compare BEFORE AFTER")
    if len(given.names) == 1:
        return changes_in(given)
    found = between(given)
    shown = show(given, FORMATS[given.format](found), partial(page.render, found), _PAGE, "comparison")
    return int(found["outcome"]["exit"]) if shown else BAD
