# SPDX-License-Identifier: BSD-3-Clause
"""`./gpusig test`: all stages, one line each, and the sum of all tests as the last line."""
from __future__ import annotations

import fnmatch
import os
import time
from pathlib import Path

from suite import duration
from suite.outcome import Outcome, failed
from suite.refusal import BAD, CANNOT_RUN, OK, Refusal
from suite.stages import STAGES
from suite.tooling import Tools

_MOST_WORDS = 25


def command(home: Path, only: list[str], list_stages: bool) -> int:
    if list_stages:
        print("\n".join(STAGES))
        return OK
    names = [name for name in STAGES if not only or any(fnmatch.fnmatchcase(name, glob) for glob in only)]
    if not names:
        raise Refusal(f"--only '{' '.join(only)}' matches no stage; there are: {', '.join(STAGES)}")
    logs = home / "build" / "test-logs"
    logs.mkdir(parents=True, exist_ok=True)
    tools = Tools(home, logs, len(os.sched_getaffinity(0)))
    total, begun = Outcome(), time.monotonic()
    try:
        for name in names:
            total += _stage(name, tools)
    finally:
        tools.stop()
    print(f"in {duration.show(time.monotonic() - begun)}; what the tools said is in {logs}")
    print(total, flush=True)
    if total.failures:
        return BAD
    return OK if total.passed else CANNOT_RUN


def _stage(name: str, tools: Tools) -> Outcome:
    begun = time.monotonic()
    try:
        outcome = STAGES[name](tools)
    except OSError as error:
        outcome = failed(f"{name}: {error}")
    mark = "FAIL" if outcome.failures else "ok" if outcome.passed else "skip"
    print(f"{mark:4}  {name:20}  {outcome!s:36}  {duration.show(time.monotonic() - begun)}", flush=True)
    for words in outcome.failures:
        _indented("failed: ", words)
    for words in dict.fromkeys(outcome.skips):
        _indented("skipped: ", words)
    return outcome


def _indented(mark: str, words: str) -> None:
    lines = words.splitlines()
    if len(lines) > _MOST_WORDS:
        lines = [*lines[:_MOST_WORDS], "..."]
    print(f"      {mark}" + "\n        ".join(lines), flush=True)
