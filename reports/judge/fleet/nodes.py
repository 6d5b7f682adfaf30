# SPDX-License-Identifier: BSD-3-Clause
"""From the folders that the user names to nodes, each with its runs or with the reason why it has none.

A folder of a fleet holds a folder a node, or a signature file a node. A node is one run, or run-1 to run-N of
--repeats. One that can't be read is named and the others go on: a fleet of a thousand always has one.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Sequence

from reports.judge.compare import gpusig
from reports.judge.compare.numbers import BadNumbers, RunNumbers
from reports.judge.compare.provenance import HOSTNAME
from reports.judge.compare.sides import SIGNATURE, Place, holds_run, named, natural, read_each, runs_under
from reports.judge.compare.sides import visible
from reports.judge.fleet import between
from reports.records.jsonl import BadRecord, clean, read_object
from reports.records.moment import moment
from reports.records.quantity import listing, plural

MAX_NODES = 20000
MOST_NAMED = 4
_DAY, _SLACK = timedelta(days=1), timedelta(minutes=10)
_RUN = "run-"
_AT_ONCE = 64  # nodes; starting processes takes longer than reading fewer
_MAX_PROCESSES = 8  # each takes 80 MiB
_MAX_RUNS = 1000  # of a node
_FINISHED = ("ok", "skipped")


@dataclass
class Node:
    """`unread`: why it has no runs. `notes`: what else is to be known of it."""

    name: str
    path: str
    runs: list[RunNumbers] = field(default_factory=list)
    unread: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def hostname(self) -> str:
        return self.runs[0].provenance.get(HOSTNAME, "") if self.runs else ""

    @property
    def kind(self) -> str:
        """Nodes of different kinds are not compared with each other."""
        return self.runs[0].kind


# ------------------------------------------------------------------ one node


def _unfinished(folder: Path) -> str:
    """The programs of a run that did not end as they should, by its plan."""
    try:
        outcomes = read_object(folder / "plan.json").get("outcomes")
    except (OSError, BadRecord):
        return ""
    if not isinstance(outcomes, dict):
        return ""
    bad = [
        "%s %s" % (clean(name)[:60], str(own.get("status"))[:20])
        for name, own in outcomes.items()
        if isinstance(own, dict) and own.get("status") not in _FINISHED
    ]
    if not bad:
        return ""
    return "%s not finished: %s" % (plural(len(bad), "program is", "programs are"), listing(sorted(bad), 3))


def _half_written(folder: Path) -> str:
    """The reason for which a folder with parts of a run has no signature."""
    if not (folder / "records.jsonl").is_file():
        return "the run ended before anything was measured"
    unfinished = _unfinished(folder)
    return (
        "records and no signature.json, so the run did not end%s; from what there is: ./gpusig report %s"
        % (" (%s)" % unfinished if unfinished else "", clean(str(folder)))
    )


def _read_run(node: Node, path: Path, name: str) -> RunNumbers:
    if not path.is_file():
        raise BadNumbers("%s: %s" % (name, _half_written(path.parent)))
    run = gpusig.read(path, name, values=False)
    unfinished = _unfinished(path.parent)
    node.notes += [unfinished] * bool(unfinished)
    return run


def _runs_of(folder: Path, name: str) -> list[Place]:
    """The run of a folder, or if it is none, those that --repeats wrote: others with runs are nodes."""
    return [
        place
        for place in runs_under(folder, name)
        if place.signature.parent == folder or place.signature.parent.name.startswith(_RUN)
    ]


def _read_runs(node: Node, path: Path) -> None:
    is_run = holds_run(path)
    places = _runs_of(path, node.path)[:_MAX_RUNS]
    for run, why in read_each(places, lambda *place: _read_run(node, *place)):
        if run:
            node.runs.append(run)
        elif is_run:
            raise BadNumbers(why)
        else:
            node.notes.append("left out: %s" % why)
    if not node.runs:
        raise BadNumbers("; ".join(node.notes) or "no run in it")


def read_node(path: Path, given: str) -> Node:
    """Never fails: a node without a run says why."""
    name = path.parent.name if path.name == SIGNATURE else path.stem if path.is_file() else path.name
    node = Node(clean(name)[:200], given)
    try:
        if path.is_file():
            node.runs.append(gpusig.read(path, given, values=False))
        else:
            _read_runs(node, path)
    except BadNumbers as why:
        node.unread = str(why)[len(given) + 2 :] if str(why).startswith(given + ": ") else str(why)
    except OSError as why:
        node.unread = str(why.strerror)
    return node


# ------------------------------------------------------------------ all nodes


def _holds_node(path: Path) -> bool:
    return (path / "repeats.json").is_file() or bool(_runs_of(path, ""))


def _is_file_of_node(path: Path) -> bool:
    return path.is_file() and path.suffix == ".json"


def _places(cwd: Path, given: str) -> list[tuple[Path, str]]:
    """The nodes of what the user named: path, and its name in messages."""
    with named(cwd, given) as (path, name):
        if path.is_file() or _holds_node(path):
            return [(path.resolve() if path.name in ("", ".", "..") else path, name)]
        inside = visible(path)
        folders = [one for one in inside if one.is_dir() and not between.holds_only_pairs(one)]
        found = folders or [one for one in inside if _is_file_of_node(one)]
    if not found:
        raise BadNumbers("fleet: %s holds no nodes: folders with a run each, or signature files" % name)
    return [(one, "%s/%s" % (name, clean(one.name))) for one in found]


def _read_all(places: Sequence[tuple[Path, str]]) -> list[Node]:
    """On several cores where there are many. Where that can't be, as without semaphores or where a process is
    killed, on one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(places) < _AT_ONCE or cores < 2:
        return [read_node(*place) for place in places]
    try:
        with ProcessPoolExecutor(min(cores, _MAX_PROCESSES)) as pool:
            return list(pool.map(read_node, *zip(*places), chunksize=8))
    except (OSError, ImportError, BrokenProcessPool):
        return [read_node(*place) for place in places]


def _name_apart(nodes: Sequence[Node]) -> None:
    """Folders of one name in several fleets, or signature.json in run-1 of several nodes, keep their paths as
    names."""
    count: dict[str, int] = {}
    for node in nodes:
        count[node.name] = count.get(node.name, 0) + 1
    for node in nodes:
        if count[node.name] > 1:
            node.name = node.path[:200]


def _count_once(nodes: Sequence[Node]) -> None:
    """A measurement that is in two folders says nothing about the second node. What is simulated with one
    seed is the same."""
    seen: dict[str, str] = {}
    for node in nodes:
        for run in list(node.runs):
            if run.simulated or not run.identity:
                continue
            if run.identity in seen and seen[run.identity] != node.name:
                node.runs.remove(run)
                node.notes.append("holds the same measurement as %s, which counts there" % seen[run.identity])
            seen.setdefault(run.identity, node.name)
        if not node.runs and not node.unread:
            node.unread = "; ".join(node.notes)


def read(cwd: Path, names: Sequence[str]) -> list[Node]:
    """Every node in the order of the names. BadNumbers where a name is no folder or file."""
    places: dict[str, tuple[Path, str]] = {}
    for given in names:
        for path, name in _places(cwd, given):
            places.setdefault(os.path.abspath(path), (path, name))
    if len(places) > MAX_NODES:
        raise BadNumbers("fleet: %d nodes are more than %d" % (len(places), MAX_NODES))
    nodes = _read_all(list(places.values()))
    _name_apart(nodes)
    nodes.sort(key=lambda node: natural(node.name))
    _count_once(nodes)
    return nodes


def first_of(node: Node) -> str | None:
    """Start of its first run; None where nothing says so, as of a simulated device."""
    return min((run.started for run in node.runs if run.started), default=None)


# ------------------------------------------------------------------ what the reader should know of them


def _time_of(started: str | None) -> datetime | None:
    found = moment(started or "")
    return found.replace(tzinfo=timezone.utc) if found and not found.tzinfo else found


def clock_notes(nodes: Sequence[Node], now: datetime | None) -> list[str]:
    known = [(when, node.name) for node in nodes for when in [_time_of(first_of(node))] if when]
    if not known:
        return []
    found = []
    ahead = [name for when, name in known if now and when > now + _SLACK]
    if ahead:
        found.append(
            "%s in the future by the clock here: %s."
            % (plural(len(ahead), "node started", "nodes started"), listing(ahead, MOST_NAMED))
        )
    known.sort()
    (first, first_name), (last, last_name) = known[0], known[-1]
    if last - first > _DAY:
        middle = known[len(known) // 2][0]
        far = [name for when, name in known if abs(when - middle) > _DAY]
        found.append(
            "The runs began over %.1f days, from %s (%s) to %s (%s); %s more than a day from most: %s."
            % (
                (last - first) / _DAY,
                first.isoformat()[:16],
                first_name,
                last.isoformat()[:16],
                last_name,
                plural(len(far), "node is", "nodes are"),
                listing(far, MOST_NAMED),
            )
        )
    return found


def machine_notes(nodes: Sequence[Node]) -> list[str]:
    """Several folders of one machine. Simulated devices are all on one."""
    owners: dict[str, list[str]] = {}
    for node in nodes:
        if node.hostname and not node.runs[0].simulated:
            owners.setdefault(node.hostname, []).append(node.name)
    return [
        "%s are of the same machine by its host name, %s." % (listing(names, MOST_NAMED), host)
        for host, names in owners.items()
        if len(names) > 1
    ]
