# SPDX-License-Identifier: BSD-3-Clause
"""`./gpusig test`: one line for each stage as it ends, the slowest tools, and the sum of all tests as the
last line."""

from __future__ import annotations

import dataclasses
import fnmatch
import os
import subprocess
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from suite import duration
from suite.testing import one_program
from suite.command_error import BAD, CANNOT_RUN, OK, CommandError
from suite.testing.outcome import Outcome, failed, skipped
from suite.testing.stages import STAGES, Stage
from suite.testing.tooling import LAB, QUICK, Slots, Spent, Tools

_MAX_LINES = 25
_MAX_SLOWEST = 10


def command(home: Path, only: list[str], level: str, program: str | None) -> int:
    stages = one_program.stages_of(home, program) if program is not None else chosen(only, level)
    logs = home / "build" / "test-logs"
    logs.mkdir(parents=True, exist_ok=True)
    cores = len(os.sched_getaffinity(0))
    # Command-line tests wait nearly as long as they compute: two tools more than there are cores.
    tools = Tools(home, logs, cores, slots=Slots(cores + 2), level=level)
    begun = time.monotonic()
    if level != QUICK:
        os.environ["GPUSIG_TEST_ALL"] = "1"  # tests/bats/helpers.bash, tests/level.py
    if level == LAB:
        os.environ["GPUSIG_TEST_LAB"] = "1"
    try:
        total = run(stages, tools)
    finally:
        tools.stop()
    _show_slowest(tools.spent)
    print(f"in {duration.show(time.monotonic() - begun)}; output of the tools: {logs}")
    print(total, flush=True)
    if total.failures:
        return BAD
    return OK if total.passed else CANNOT_RUN


def attack(home: Path, minutes: float) -> int:
    """Build, and run tests/attack for so long with seeds of its own; it prints failures as they are found."""
    built = command(home, ["build programs"], QUICK, None)
    if built != OK:
        return built
    found = subprocess.run(
        ["sh", "suite/setup/find_python.sh", "jsonschema"],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode != 0:
        raise CommandError("no Python with jsonschema, which --attack needs", CANNOT_RUN)
    command_line = [found.stdout.strip(), "-m", "tests.attack", "--minutes", str(minutes)]
    return subprocess.run(command_line, cwd=home, check=False).returncode


def chosen(only: list[str], level: str) -> dict[str, Stage]:
    """Stages of a level, or those that match, of any level; in order, with the builds they need."""
    if not only:
        return {name: stage for name, stage in STAGES.items() if level in stage.levels}
    names = {name for name in STAGES if any(fnmatch.fnmatchcase(name, glob) for glob in only)}
    if not names:
        raise CommandError(f"--only '{' '.join(only)}' matches no stage; stages: {', '.join(STAGES)}")
    for name in reversed(STAGES):
        names.update(STAGES[name].needs if name in names else ())
    return {name: stage for name, stage in STAGES.items() if name in names}


def list_stages() -> str:
    return "\n".join(f"{name:28}  {' '.join(stage.levels)}" for name, stage in STAGES.items())


def run(stages: dict[str, Stage], tools: Tools) -> Outcome:
    """Run stages concurrently, each after those it names."""
    total = Outcome()
    begun: dict[str, Future[Outcome]] = {}
    with ThreadPoolExecutor(max(1, len(stages))) as pool:
        try:
            for rank, (name, stage) in enumerate(stages.items()):
                before = {other: begun[other] for other in (*stage.needs, *stage.after) if other in begun}
                begun[name] = pool.submit(_stage, name, stage, dataclasses.replace(tools, rank=rank), before)
            for future in begun.values():
                total += future.result()
        except BaseException:
            tools.stop()
            raise
    return total


def _stage(name: str, stage: Stage, tools: Tools, before: dict[str, Future[Outcome]]) -> Outcome:
    ended = {other: future.result() for other, future in before.items()}
    bad = [other for other in stage.needs if other in ended and not ended[other].passed]
    begun, cpu_s = time.monotonic(), 0.0
    if bad:
        outcome = skipped(f"{name}: {bad[0]} did not pass")
    else:
        mine = dataclasses.replace(tools, spent=[])
        try:
            outcome = stage.run(mine)
        except OSError as error:
            outcome = failed(f"{name}: {error}")
        tools.spent.extend(mine.spent)
        cpu_s = sum(item.cpu_s for item in mine.spent)
    _print_stage(name, outcome, f"{duration.show(time.monotonic() - begun)}, {cpu_s:.1f} s of cores")
    return outcome


def _print_stage(name: str, outcome: Outcome, took: str) -> None:
    mark = "FAIL" if outcome.failures else "ok" if outcome.passed else "skip"
    lines = [f"{mark:4}  {name:28}  {outcome!s:36}  {took}"]
    for words in outcome.failures:
        lines += _indented("failed: ", words)
    for words in dict.fromkeys(outcome.skips):
        lines += _indented("skipped: ", words)
    print("\n".join(lines), flush=True)


def _indented(mark: str, words: str) -> list[str]:
    lines = words.splitlines()
    if len(lines) > _MAX_LINES:
        lines = [*lines[:_MAX_LINES], "..."]
    return [f"      {mark}" + "\n        ".join(lines)]


def _show_slowest(spent: list[Spent]) -> None:
    slowest = sorted(spent, key=lambda item: item.wall_s, reverse=True)[:_MAX_SLOWEST]
    if slowest:
        print("slowest (wall seconds, core seconds):")
    for item in slowest:
        print(f"  {item.wall_s:7.1f} {item.cpu_s:7.1f}  {item.name}")
