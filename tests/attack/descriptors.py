# SPDX-License-Identifier: BSD-3-Clause
"""Standard streams that are closed, full, or read by nobody. Records are whole, nothing hangs, and lost
output is no success."""

from __future__ import annotations

import shutil
import signal
from random import Random

from tests.attack import judge, kills
from tests.attack.workplace import FEW, How, Ran, Workplace, keys, simulated

_PIPES = ("broken", "brief")
_KINDS = ("file", "file", "closed", "full", *_PIPES)


def attempt(chance: Random, place: Workplace) -> str | None:
    streams = {
        0: chance.choice(("null", "null", "closed", "full", "broken")),
        1: chance.choice(_KINDS),
        2: chance.choice(_KINDS),
    }
    subject = chance.choice((_of_run, _of_program, _of_program, _of_reader))
    return subject(chance, place, How(streams=streams))


def _signals(how: How) -> tuple[int, ...]:
    return (signal.SIGPIPE,) if set(how.streams.values()) & set(_PIPES) else ()


def _is_lost(ran: Ran, how: How) -> str | None:
    """Complaint if a command claims success although its output on stdout is lost."""
    if ran.code == 0 and how.streams[1] in ("closed", "full", "broken"):
        return ran.says(f"success, though stdout is {how.streams[1]}")
    return None


def _shown(problem: str | None, how: How) -> str | None:
    return f"streams {how.streams}: {problem}" if problem else None


def _of_run(chance: Random, place: Workplace, how: How) -> str | None:
    name = chance.choice(kills.DRIVEN)
    records = place.folder / "run" / "records.jsonl"
    ran = place.run(
        place.driver("run", "--device", "sim", "--budget", "10m", "--only", name, "--out", "run"), how
    )
    problem = judge.ended(ran, *_signals(how)) or judge.whole(records) or judge.nothing_left(place)
    wanted = {name: keys(place.programs / name, "sim")}
    if not problem and ran.code in (0, 3):
        problem = judge.complete(records, wanted)
    return _shown(problem or kills.resumed(place, "run", ["--only", name], wanted), how)


def _of_program(chance: Random, place: Workplace, how: How) -> str | None:
    name = chance.choice(kills.PROGRAMS)
    device = simulated(place.programs / name)
    records = place.folder / "records.jsonl"
    form = chance.choice(([], ["--format", "json"]))
    ran = place.run(place.program(name, device, *FEW, *form, "--out", str(records)), how)
    problem = (
        judge.ended(ran, *_signals(how))
        or judge.nothing_left(place)
        or judge.whole(records)
        or _is_lost(ran, how)
    )
    return _shown(problem or kills.goes_on(place, name, device, records, place.folder / "done"), how)


def _of_reader(chance: Random, place: Workplace, how: How) -> str | None:
    """Commands that print what there is."""
    shutil.copytree(place.completed, place.folder / "run")
    commands = [
        place.driver("report", "run"),
        place.driver("list"),
        place.driver("list", "--markdown"),
        place.driver("advise", "run", *"--m 512 --n 512 --k 512 --devices 2 --op ag-gemm --type f32".split()),
    ]
    commands += [
        place.program("micro/memory", "sim", word)
        for word in ("--list", "--help", "--about", "--devices", "--version")
    ]
    ran = place.run(chance.choice(commands), how)
    return _shown(judge.ended(ran, *_signals(how)) or _is_lost(ran, how), how)
