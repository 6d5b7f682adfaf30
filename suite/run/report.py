# SPDX-License-Identifier: BSD-3-Clause
"""Have signature and report made of the records, in a child that hostile records may end."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Callable

from suite.command_error import BAD, CANNOT_RUN, INCONCLUSIVE, OK, USAGE
from suite.saying import say

PAGE = "report.html"
FILES = ("signature.json", "machine.model", "metrics.csv", "timings.csv", PAGE)
PREDICTION = "prediction.json"  # of which only a run, that has the programs, makes a new one
_LOOK_S = 0.5
_HOME = Path(__file__).resolve().parents[2]


def build(
    folder: Path,
    strict: bool,
    gave_up: Callable[[], bool] = lambda: False,
    shown: bool = True,
    programs: Path | None = None,
) -> int:
    """Build signature and report in the folder, and return the exit code of suite/commands/report.py: 77
    where only the page is missing. A file that was not written again belongs to earlier records: it is
    deleted, or named where it cannot be, or where these records give none in its place (2)."""
    before = {name: _version(folder / name) for name in FILES}
    words = [str(folder), *["--strict"] * strict, *[str(programs)] * (programs is not None)]
    code = _pass_on([sys.executable, "-m", "suite.commands.report", *words], gave_up, shown)
    for name in FILES:
        if before[name] is not None and before[name] == _version(folder / name):
            discard(folder / name, code != USAGE)
    return code if code in (OK, BAD, USAGE, INCONCLUSIVE, CANNOT_RUN) else BAD


def _pass_on(words: list[str], gave_up: Callable[[], bool], shown: bool) -> int:
    """Run a command and return its exit code; its output goes through our streams, which may be closed, and
    unless `shown` stdout is dropped. A session of its own keeps the terminal's signals from it; a SIGINT sent
    to every process is for the driver to answer."""
    with subprocess.Popen(
        words,
        cwd=_HOME,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONIOENCODING": "utf-8:replace"},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    ) as child:
        said = None
        try:
            while said is None:
                said = _said(child)
                if gave_up():
                    _kill(child)
        except BaseException:
            _kill(child)
            raise
    for stream, text in zip((sys.stdout, sys.stderr), (said[0] if shown else "", said[1])):
        print(text, end="", file=stream, flush=True)
    return child.returncode


def _kill(child: subprocess.Popen[str]) -> None:
    """With the programs that it simulates, which are of its session."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)


def _said(child: subprocess.Popen[str]) -> tuple[str, str] | None:
    try:
        return child.communicate(timeout=_LOOK_S)
    except subprocess.TimeoutExpired:
        return None


def _version(path: Path) -> tuple[int, int] | None:
    """Inode and time of the file, which change when it is replaced; None without a file."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return None if stat.S_ISDIR(found.st_mode) else (found.st_ino, found.st_mtime_ns)


def discard(path: Path, delete: bool = True) -> None:
    """Delete a file of earlier records, or say that it is one, so that nobody takes it for these records'."""
    try:
        if delete:
            return path.unlink(missing_ok=True)
        why = "it is kept"
    except OSError as error:
        why = f"it cannot be deleted: {error.strerror}"
    if _version(path):
        say(f"{path} is of earlier records; {why}")
