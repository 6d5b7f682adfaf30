# SPDX-License-Identifier: BSD-3-Clause
"""Invariants of programs and driver, whatever is done to them. Each function returns None, or what is
violated."""

from __future__ import annotations

import functools
import json
import time
from pathlib import Path

from reports.records.validate import schema

from tests.attack.workplace import HANGS_S, Ran, Workplace, given

DOCUMENTED = (0, 1, 2, 3, 77)
_MAX_LINES = 25  # of an error
_CRASHES = ("Traceback (most recent call last)", "Sanitizer", "runtime error:", "Segmentation fault")


def ended(ran: Ran, *signals: int) -> str | None:
    """With a documented exit code, or as one of the signals that it was sent."""
    if ran.hung:
        return ran.says("hung")
    for word in _CRASHES:
        if word in ran.out + ran.err:
            return ran.says(f"says '{word}'")
    if ran.code not in (*DOCUMENTED, *(-signum for signum in signals), *(128 + signum for signum in signals)):
        return ran.says("ended by a signal" if ran.code < 0 else "not a documented exit code")
    return None


def brief(ran: Ran) -> str | None:
    """A usage error is one line on stderr; another one a few."""
    lines = ran.err.splitlines()
    if ran.code == 2 and (len(lines) != 1 or ran.out):
        return ran.says(f"a usage error of {len(lines)} lines and {len(ran.out)} characters of output")
    if ran.code not in (0, 2, 3) and not 0 < len(lines) <= _MAX_LINES:
        return ran.says(f"an error of {len(lines)} lines")
    return None


def rows(path: Path) -> list[dict]:
    """The whole lines; none where there is no file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def whole(path: Path, cut: bool = False) -> str | None:
    """Lines of a record file are records; with `cut` the last one may lack its end."""
    content = path.read_bytes() if path.is_file() else b""
    if not cut and content and not content.endswith(b"\n"):
        return f"{path.name}: an incomplete last line: ...{content[-80:]!r}"
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        try:
            misfit = next(validator().iter_errors(json.loads(line)), None)
        except ValueError as error:
            return f"{path.name}, line {number} is no record: {error}: {line[:80]!r}"
        if misfit:
            return f"{path.name}, line {number}: {misfit.json_path}: {misfit.message[:200]}"
    return None


@functools.lru_cache(maxsize=None)
def validator():
    import jsonschema  # only here: __main__ says it when there is none

    return jsonschema.Draft7Validator(schema("record"))


def complete(records: Path, wanted: dict[str, tuple[str, ...]]) -> str | None:
    """Every case of the programs is done once, but for repeats."""
    done: dict[tuple[str, str], int] = {}
    second_tries = set()
    for row in rows(records):
        if row["kind"] == "run" and "--cases" in row["argv"]:
            second_tries.add(row["run"])
        if row["kind"] == "case" and row["status"] in ("ok", "skipped") and row["run"] not in second_tries:
            done[row["program"], row["key"]] = done.get((row["program"], row["key"]), 0) + 1
    for program, keys in wanted.items():
        for key in keys:
            if done.get((program, key), 0) != 1:
                return f"{program} {key} was measured {done.get((program, key), 0)} times"
    return None


def nothing_left(place: Workplace) -> str | None:
    """No program measures any more, and what else was started ends."""
    until = time.monotonic() + HANGS_S
    while left := place.left():
        words = [command(pid) for pid in left]
        if time.monotonic() > until or any(" --out " in word for word in words):
            return f"left over: {', '.join(words)}"
        time.sleep(0.05)
    return None


def command(pid: int) -> str:
    try:
        return given(Path(f"/proc/{pid}"), "cmdline").replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
