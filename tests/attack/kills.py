# SPDX-License-Identifier: BSD-3-Clause
"""A run or a program gets a signal at any moment. What it had measured is kept, and the rest can be measured
afterwards."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

from tests.attack import judge
from tests.attack.workplace import FEW, HANGS_S, Ran, Started, Workplace, keys, simulated

DRIVEN = (
    "micro/latency",
    "micro/launch",
    "micro/occupancy",
    "micro/priority",
)  # what a run measures within a second
PROGRAMS = (
    *DRIVEN,
    "collectives/device_allreduce",
    "micro/contention",
    "micro/memory",
    "micro/peer_matrix",
    "micro/reduce",
)
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LONGEST_S = 1.5  # to the first signal
_BUDGET = ["--budget", "10m"]  # what is simulated ends by itself


def attempt(chance: Random, place: Workplace) -> str | None:
    return _of_run(chance, place) if chance.random() < 0.6 else _of_program(chance, place)


def _of_run(chance: Random, place: Workplace) -> str | None:
    chosen = chance.sample(DRIVEN, chance.choice((1, 1, 2)))
    only = [word for name in chosen for word in ("--only", name)]
    records = place.folder / "run" / "records.jsonl"
    started = place.start(place.driver("run", "--device", "sim", *_BUDGET, *only, "--out", "run"))
    sent = _strike(
        chance, place, started, records, chance.choice(("driver", "driver", "program", "group", "all"))
    )
    ran = started.wait()
    begun = records.with_name("plan.json").exists()
    problem = (
        None if not begun and signal.SIGINT in sent else judge.ended(ran, *sent)
    )  # Python itself begins until then
    if problem or ran.hung:
        return problem
    if signal.SIGKILL not in sent:  # else a program goes on, and the driver that resumes stops it
        problem = judge.nothing_left(place)
    if not place.left():
        problem = problem or judge.whole(records, cut=signal.SIGKILL in sent or signal.SIGHUP in sent)
    return problem or resumed(
        place, "run", only, {name: keys(place.programs / name, "sim") for name in chosen}
    )


def resumed(place: Workplace, folder: str, only: list[str], wanted: dict[str, tuple[str, ...]]) -> str | None:
    """Going on with a run, or beginning it where it had not begun, measures what is missing and leaves
    nothing behind."""
    records = place.folder / folder / "records.jsonl"
    has_begun = records.with_name("plan.json").exists()
    words = ["--resume", folder] if has_begun else ["--device", "sim", *only, "--out", folder]
    ran = place.run(place.driver("run", *_BUDGET, *words))
    if ran.hung or ran.code not in (0, 3):
        return ran.says("does not go on")
    problem = (
        judge.ended(ran)
        or judge.whole(records)
        or judge.complete(records, wanted)
        or judge.nothing_left(place)
    )
    if not problem and not records.with_name("signature.json").is_file():
        return ran.says("no signature.json")
    return problem


def _of_program(chance: Random, place: Workplace) -> str | None:
    name = chance.choice(PROGRAMS)
    device = simulated(place.programs / name)
    records, done = place.folder / "records.jsonl", place.folder / "done"
    words = [*FEW, "--out", str(records), *chance.choice(([], ["--format", "json"]))]
    started = place.start(place.program(name, device, *words))
    sent = _strike(chance, place, started, records, "driver")
    ran = started.wait()
    problem = (
        judge.ended(ran, *sent)
        or judge.nothing_left(place)
        or judge.whole(records, cut=signal.SIGKILL in sent)
    )
    return problem or _end_is_written(ran, records) or goes_on(place, name, device, records, done)


def _end_is_written(ran: Ran, records: Path) -> str | None:
    """By a program that was asked to end."""
    kinds = [row["kind"] for row in judge.rows(records)]
    if ran.code not in (-signal.SIGKILL, -signal.SIGHUP) and "run" in kinds and kinds[-1] != "end":
        return ran.says("a run without its end record")
    return None


def goes_on(place: Workplace, name: str, device: str, records: Path, done: Path) -> str | None:
    """With --done a program measures the cases that are missing."""
    content = records.read_bytes() if records.is_file() else b""
    records.write_bytes(content[: content.rfind(b"\n") + 1])  # as the driver does
    cases = [
        row for row in judge.rows(records) if row["kind"] == "case" and row["status"] in ("ok", "skipped")
    ]
    done.write_text("".join(f"{row['key']}\n" for row in cases), encoding="utf-8")
    ran = place.run(place.program(name, device, *FEW, "--done", str(done), "--out", str(records)))
    if ran.code not in (0, 3):
        return ran.says("does not go on")
    wanted = {name: keys(place.programs / name, device)}
    return (
        judge.ended(ran)
        or judge.whole(records)
        or judge.complete(records, wanted)
        or judge.nothing_left(place)
    )


def _strike(chance: Random, place: Workplace, started: Started, records: Path, target: str) -> list[int]:
    """Send one signal or two at a moment that is a time or a number of records; those that a whole process
    got."""
    lines, first_s = chance.choice((None, None, 1, 2, 4)), chance.uniform(0, _LONGEST_S)
    signals = [chance.choice(SIGNALS) for _ in range(chance.choice((1, 1, 1, 2)))]
    between_s = chance.uniform(0, 0.2)
    until = time.monotonic() + (first_s if lines is None else HANGS_S)
    while time.monotonic() < until and started.child.poll() is None and not _has_lines(records, lines):
        time.sleep(0.002)
    if lines is not None:
        time.sleep(first_s / 30)
    for signum in signals:
        _send(place, started, target, signum)
        time.sleep(between_s)
    return signals


def _has_lines(records: Path, lines: int | None) -> bool:
    return lines is not None and records.is_file() and records.read_bytes().count(b"\n") >= lines


def _send(place: Workplace, started: Started, target: str, signum: int) -> None:
    """To the driver, to what it started, to the driver's process group, or to all."""
    if target == "group":
        pids = [-started.child.pid]
    elif target == "driver":
        pids = [started.child.pid]
    else:
        pids = [pid for pid in place.left() if target == "all" or pid != started.child.pid]
    for pid in pids if started.child.poll() is None else []:
        try:
            os.kill(pid, signum)
        except ProcessLookupError:
            pass
