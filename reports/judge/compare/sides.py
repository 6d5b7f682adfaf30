# SPDX-License-Identifier: BSD-3-Clause
"""The runs of a side, from the folders and files that the user names.

A folder is one run (it has a signature.json), a folder of runs (its folders are runs), or a folder of other
tools' files, one a run. A file is a signature or another tool's output.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence, TypeVar

from reports.judge.compare import foreign, gpusig
from reports.judge.compare.numbers import BadNumbers, RunNumbers, place_of
from reports.judge.compare.provenance import DEVICES, HOSTNAME
from reports.records.jsonl import BadRecord, clean, read_object
from reports.records.quantity import listing, plural

SIGNATURE = "signature.json"
_OF_A_RUN = (SIGNATURE, "records.jsonl", "plan.json")
_WHOLE = "repeats.json"  # of suite/run/repeats.py: which runs are done
MAX_RUNS = 1000  # of a side
_MACHINE = "machine"
# Folders of a history: the second in which a run began, and "-2" of another run of that second.
NIGHT = re.compile("[0-9]{8}T[0-9]{6}Z(-[0-9]+)?")
_Run = TypeVar("_Run")


@dataclass
class Side:
    """Runs of a side. `left_out`: reasons why others are incomplete or cannot be read. `notes`: sentences
    about the runs."""

    name: str
    runs: list[RunNumbers]
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def natural(name: str) -> tuple[object, ...]:
    """Key that sorts run-2 before run-10."""
    return tuple(
        (0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part)
        for part in re.split(r"([0-9]{1,18})", name)
    )


def visible(folder: Path) -> list[Path]:
    paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return sorted(paths, key=lambda path: natural(path.name))


def holds_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _OF_A_RUN)


def runs_done(folder: Path) -> dict[str, bool]:
    """Name of a run in this folder -> whether it is complete; empty if no plan of repeats says so."""
    for whole, prefix in ((folder, ""), (folder.parent, folder.name + "/")):
        try:
            plan = read_object(whole / _WHOLE)
        except (OSError, BadRecord):
            continue
        done, count = plan.get("done"), plan.get("repeats")
        if isinstance(done, list) and isinstance(count, int) and 0 < count <= MAX_RUNS:
            return {"run-%d" % k: "%srun-%d" % (prefix, k) in done for k in range(1, count + 1)}
    return {}


class Place(NamedTuple):
    """Place of a run; `unread` is the reason why it does not count, empty if it does."""

    signature: Path
    name: str
    unread: str = ""


def runs_under(folder: Path, name: str) -> list[Place]:
    """The run that a folder is, or those in it."""
    if holds_run(folder):
        return [Place(folder / SIGNATURE, name)]
    done, found = runs_done(folder), []
    for path in visible(folder):
        shown = "%s/%s" % (name, clean(path.name))
        try:
            if not path.is_dir():
                continue
            if holds_run(path):
                unread = "" if done.get(path.name, _is_whole(path)) else "%s is not complete" % shown
            elif NIGHT.fullmatch(path.name):
                unread = "%s holds no run" % shown
            else:
                continue
        except OSError as why:
            unread = "%s: %s" % (shown, why.strerror)
        found.append(Place(path / SIGNATURE, shown, unread))
    return found


def read_each(
    places: Iterable[Place], read: Callable[[Path, str], _Run]
) -> Iterator[tuple[_Run | None, str]]:
    """Each run as `read` returns it, or None and the reason why it cannot be used."""
    for place in places:
        try:
            if place.unread:
                raise BadNumbers(place.unread)
            yield read(place.signature, place.name), ""
        except BadNumbers as why:
            yield None, str(why)


def _is_whole(folder: Path) -> bool:
    """False if the driver measured it and was stopped meanwhile."""
    outcomes = gpusig.read_plan(folder).get("outcomes")
    if not isinstance(outcomes, dict):
        return True
    states = [own.get("status") for own in outcomes.values() if isinstance(own, dict)]
    return "interrupted" not in states and (folder / SIGNATURE).is_file()


@contextmanager
def named(cwd: Path, given: str) -> Iterator[tuple[Path, str]]:
    """The path of what the user named, and its name in messages. BadNumbers if it is not there or cannot be
    read."""
    if not given:
        raise BadNumbers("an empty name is no run")
    name = clean(given).rstrip("/") or "/"
    try:
        if not (cwd / given).exists():
            raise BadNumbers("%s is not there" % name)
        yield cwd / given, name
    except BadNumbers:
        raise
    except OSError as why:
        raise BadNumbers("%s: %s" % (name, why.strerror)) from None
    except ValueError:
        raise BadNumbers("%s is not the name of a file" % name) from None  # a zero byte in it


def _of_folder(folder: Path, name: str, side: Side) -> None:
    places = runs_under(folder, name)
    for run, why in read_each(places, gpusig.read):
        if run:
            side.runs.append(run)
        elif places[0].signature.parent == folder:  # it was named itself
            raise BadNumbers(why)
        else:
            side.left_out.append(why)
    inside = visible(folder)
    if not places and {"A", "B"} <= {path.name for path in inside if path.is_dir()}:
        raise BadNumbers("%s holds both sides: ./gpusig compare %s/A %s/B" % (name, name, name))
    if places or runs_done(folder):
        return
    files = [path for path in inside if path.is_file() and path.name not in (_WHOLE, "lock")]
    if not files:
        said = "neither signature.json, nor folders with one, nor files of another tool"
        raise BadNumbers("%s holds no run: %s" % (name, said))
    side.runs += [_foreign(path, "%s/%s" % (name, clean(path.name))) for path in files[: MAX_RUNS + 1]]


def _of_file(path: Path, name: str) -> RunNumbers:
    if path.name == SIGNATURE:
        return gpusig.read(path, name)
    try:
        if gpusig.is_signature(read_object(path)):
            return gpusig.read(path, name)
    except (OSError, BadRecord):
        pass  # no JSON, or of another kind: its reader says what is wrong
    return _foreign(path, name)


def _foreign(path: Path, name: str) -> RunNumbers:
    """Files of equal content may be of two runs: few numbers with few digits repeat."""
    return replace(foreign.read(path, name), identity="", place=place_of(path))


def read(cwd: Path, names: Sequence[str]) -> Side:
    """The runs of a side. BadNumbers names what cannot be read."""
    side = Side(listing([clean(name) for name in names], 2), [])
    for given in names:
        with named(cwd, given) as (path, name):
            if path.is_dir():
                _of_folder(path, name, side)
            else:
                side.runs.append(_of_file(path, name))
    if len(side.runs) > MAX_RUNS:
        raise BadNumbers("%s has more than %d runs" % (side.name, MAX_RUNS))
    if not side.runs:
        raise BadNumbers("; ".join([side.name + " has no complete run", *side.left_out[:3]]))
    return side


def traits_of(run: RunNumbers) -> dict[str, str]:
    """Traits that runs of one side have in common, as far as they are known."""
    return {
        "tool": run.source,
        "kind of device": run.kind,
        "number of devices": run.provenance.get(DEVICES, ""),
        _MACHINE: run.provenance.get(HOSTNAME, ""),
    }


def check(compared: Sequence[Side], by_node: bool = False) -> None:
    """BadNumbers if the sides, or the runs of one, cannot be compared at all. `by_node`: a side may have
    several machines."""
    for side in compared:
        traits = [traits_of(run) for run in side.runs]
        for what in traits[0]:
            found = {own[what] for own in traits} - {""}
            if len(found) > 1 and not (by_node and what == _MACHINE):
                said = "%s mixes runs of more than one %s: %s"
                raise BadNumbers(said % (side.name, what, listing(sorted(found))))
        if len({run.simulated for run in side.runs}) > 1:
            raise BadNumbers("%s mixes simulated and measured runs" % side.name)
    for side in compared[1:]:
        _check_alike(compared[0].runs[0], side.runs[0])
    every = [run for side in compared for run in side.runs]
    _check_once(every, "place")
    # what is simulated with the same seed has one identity, whatever was changed
    for runs in [side.runs for side in compared] if every[0].simulated else [every]:
        _check_once(runs, "identity")


def _check_alike(then: RunNumbers, now: RunNumbers) -> None:
    counts = [run.provenance.get(DEVICES, "") for run in (then, now)]
    for what, alike, sides in (
        ("numbers of different tools", then.source == now.source, [then.source, now.source]),
        ("a simulated and a measured machine", then.simulated == now.simulated, [then.name, now.name]),
        ("different kinds of device", then.kind == now.kind, [then.device, now.device]),
        ("different numbers of devices", counts[0] == counts[1], counts),
    ):
        if not alike:
            raise BadNumbers("%s cannot be compared: %s and %s" % (what, *sides))


def _check_once(runs: Sequence[RunNumbers], by: str) -> None:
    """BadNumbers if a run is there twice, which would make any difference certain."""
    seen: dict[str, str] = {}
    for run in runs:
        known = getattr(run, by)
        if known and known in seen:
            raise BadNumbers("%s and %s are the same run; each counts once" % (seen[known], run.name))
        seen[known] = run.name


def notes_on(*sides: Side) -> list[str]:
    """Sentences about the runs, and about those left out."""
    left_out = [text for side in sides for text in side.left_out]
    said = "%s left out: %s." % (plural(len(left_out), "run is", "runs are"), listing(left_out))
    return [*(text for side in sides for text in side.notes), *[said] * bool(left_out)]
