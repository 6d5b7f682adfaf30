# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig fleet: outliers among machines that should be alike, and why."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence

from reports.judge.compare import noise
from reports.judge.compare.numbers import BadNumbers
from reports.judge.compare.verdict import Settings, refuse_unmatched
from reports.judge.fleet import between, hostlist, nodes, page
from reports.judge.fleet.fleet import EXITS, INCONCLUSIVE, MOST_NAME, OFF, Asked, assess
from reports.judge.fleet.nodes import MOST_NAMED
from reports.records.files import as_json
from reports.records.jsonl import Json, clean, open_regular
from reports.records.quantity import listing
from suite.command_error import BAD, OK
from suite.commands import Place, options
from suite.commands.answer import effect, show
from suite.saying import say

FORMATS: Dict[str, Callable[[Json], str]] = {
    "table": page.table,
    "nodes": page.names,
    "exclude": page.option,
    "json": as_json,
}
_PAGE = "fleet.html"
_MOST_BYTES = 4 << 20  # of a file of names


def parse(words: List[str]) -> argparse.Namespace:
    types = {"--effect": effect, "--format": options.one_of(*FORMATS)}
    given = options.parse("fleet", words, types)
    given.format, given.effect = given.format or "table", given.effect or Settings.least_effect
    if not given.names:
        raise BadNumbers("fleet needs the folder that holds a folder a node: ./gpusig fleet DIR")
    return given


def _names_in(path: Path, name: str) -> List[str]:
    """The nodes in a file that has a name or a list of names on each line; # begins a comment."""
    try:
        with open_regular(path) as stream:
            lines = stream.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError as why:
        raise BadNumbers("fleet: --expect %s: %s" % (name, why.strerror)) from None
    found: List[str] = []
    for line in lines:
        text = line.partition("#")[0].strip()
        found += hostlist.expand(text) if text else []
    return found


def _expected(given: argparse.Namespace) -> Optional[List[str]]:
    """The nodes of --expect, each a list of nodes or the name of a file of them; None without it."""
    if not given.expect:
        return None
    found: List[str] = []
    for text in given.expect:
        name = clean(text)[:200]
        try:
            is_file = (given.cwd / text).is_file()
        except (OSError, ValueError):
            is_file = False
        try:
            found += _names_in(given.cwd / text, name) if is_file else hostlist.expand(text)
        except hostlist.BadHostlist as why:
            raise BadNumbers("fleet: --expect '%s': %s" % (name, why)) from None
    if not found:
        raise BadNumbers("fleet: --expect %s has no name" % clean(given.expect[0])[:200])
    return list(dict.fromkeys(found))


def _settings(given: argparse.Namespace, read: Sequence[nodes.Node]) -> Settings:
    plain = Settings(least_effect=given.effect, only=tuple(given.only))
    refuse_unmatched([run for node in read for run in node.runs], plain)
    if given.noise is None:
        return plain
    runs = min((len(node.runs) for node in read if node.runs), default=1)
    floor = noise.read(given.cwd / given.noise, clean(given.noise), runs)
    return replace(plain, noise=floor, noise_file=clean(Path(given.noise).name))


def _warn(found: Json, form: str) -> None:
    """Say on stderr what a list of names cannot show: outliers that are not in it, and a doubtful result."""
    left_out = [
        node["name"] for node in found["nodes"] if node["state"] == OFF and not hostlist.is_name(node["name"])
    ]
    if form == "exclude" and left_out:
        said = listing(["'%s'" % clean(name)[:MOST_NAME] for name in left_out], MOST_NAMED)
        say(f"fleet: outliers that are not left out, as Slurm takes no such names: {said}")
    if found["outcome"]["exit"] == EXITS[INCONCLUSIVE]:
        say(f"fleet: {clean(found['outcome']['sentence'])}")


def command(words: List[str], place: Place) -> int:
    given = parse(words)
    if place.check_only:
        return OK
    given.cwd = place.cwd
    expected = _expected(given)
    read = nodes.read(given.cwd, given.names)
    network = next(filter(None, (between.read(given.cwd / name) for name in given.names)), None)
    asked = Asked(
        listing([clean(name) for name in given.names], 2), expected, datetime.now(timezone.utc), network
    )
    found = assess(read, asked, _settings(given, read))
    if given.format in ("nodes", "exclude"):
        _warn(found, given.format)
    shown = show(given, FORMATS[given.format](found), partial(page.render, found), _PAGE, "report")
    return int(found["outcome"]["exit"]) if shown else BAD
