# SPDX-License-Identifier: BSD-3-Clause
"""Start the tools of `./gpusig test`: with a limit, with the output kept in build/test-logs."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable, Iterator, TypeVar

from suite.testing.outcome import Outcome

QUICK, ALL, LAB = LEVELS = ("quick", "all", "lab")
_LIMIT_S = 1800.0  # for a tool that hangs: far above what any takes on a busy machine
# Python keeps compiled modules, whatever the caller prefers: tests start our modules some thousand times.
_KEEPS_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Output:
    """Output and exit code of a tool; 124 where it was stopped at its limit."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.text.strip().splitlines()[-lines:])


class Stopped(Exception):
    """Raised instead of starting another tool after stop()."""


@dataclass(frozen=True)
class Spent:
    """Time of one tool with its children: wall seconds and core seconds."""

    name: str
    wall_s: float
    cpu_s: float


class Slots:
    """Limits how many tools run at a time. The waiting tool of the lowest rank starts next."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: list[tuple[int, int]] = []
        self._numbers = itertools.count()
        self._change = threading.Condition()

    @contextlib.contextmanager
    def taken(self, rank: int) -> Iterator[None]:
        with self._change:
            mine = (rank, next(self._numbers))
            heapq.heappush(self._waiting, mine)
            self._change.wait_for(lambda: self._free > 0 and self._waiting[0] == mine)
            heapq.heappop(self._waiting)
            self._free -= 1
            self._change.notify_all()
        try:
            yield
        finally:
            with self._change:
                self._free += 1
                self._change.notify_all()


@dataclass(frozen=True)
class Tools:
    """Folders, limits and running processes of the tests: `jobs` at a time, output in `logs`, at one of
    LEVELS."""

    home: Path
    logs: Path
    jobs: int
    running: set[int] = field(default_factory=set)
    slots: Slots = field(default_factory=lambda: Slots(1))
    rank: int = 0  # of the stage: the order of STAGES
    spent: list[Spent] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    level: str = QUICK
    folders: dict[tuple[str, ...], str] = field(default_factory=dict)  # where make builds, by its arguments

    def stop(self) -> None:
        """Kill the running tools with their process groups, and start no more."""
        self.ended.set()
        for child in list(self.running):
            _kill_group(child)

    def start(self, log: str, command: list[str], limit_s: float = _LIMIT_S, **environment: str) -> Output:
        with self.slots.taken(self.rank), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            if self.ended.is_set():
                raise Stopped(log)
            begun = time.monotonic()
            with _own_tmpdir() as folder:
                code, cpu_s = self._run(
                    command, limit_s, {"TMPDIR": folder, **_KEEPS_BYTECODE, **environment}, out, err
                )
            if self.ended.is_set():  # it was killed by stop()
                raise Stopped(log)
            self.spent.append(Spent(log, time.monotonic() - begun, cpu_s))
            stdout, stderr = _text(out), _text(err)
        if code == 124:
            stderr += f"\nstopped after {limit_s:.0f} s"
        (self.logs / f"{log.replace('/', '-')}.log").write_text(
            f"{' '.join(command)}\n{stdout}{stderr}", encoding="utf-8"
        )
        return Output(code, stdout, stderr)

    def _run(
        self, command: list[str], limit_s: float, environment: dict[str, str], out, err
    ) -> tuple[int, float]:
        """The exit code, 124 at the limit, and core seconds."""
        child = subprocess.Popen(
            command,
            cwd=self.home,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        self.running.add(child.pid)
        late = threading.Event()
        timer = threading.Timer(limit_s, lambda: (late.set(), _kill_group(child.pid)))
        timer.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            _kill_group(child.pid)
            raise
        finally:
            timer.cancel()
            self.running.discard(child.pid)
        child.returncode = os.waitstatus_to_exitcode(status)
        return 124 if late.is_set() else child.returncode, used.ru_utime + used.ru_stime

    def has(self, *names: str) -> bool:
        return all(shutil.which(name) for name in names)

    def each(self, items: Iterable[_Item], test: Callable[[_Item], Outcome], more: int = 0) -> Outcome:
        """The sum of a test over items; `jobs` + `more` run at a time."""
        total = Outcome()
        with ThreadPoolExecutor(self.jobs + more) as pool:
            for outcome in pool.map(test, items):
                total += outcome
        return total

    def sources(self, *globs: str) -> list[str]:
        """Files that match, by name; nothing that was built."""
        found = (path for glob in globs for path in self.home.glob(glob) if path.is_file())
        names = sorted({path.relative_to(self.home).as_posix() for path in found})
        return [name for name in names if not re.match(r"(build|bin|\.git|gpusig-results[^/]*)/", name)]


@contextlib.contextmanager
def _own_tmpdir() -> Iterator[str]:
    """A folder for temporary files of one tool, gone afterwards. Jobs of Open MPI that start and end at the
    same time in one folder remove its folders from under each other."""
    folder = tempfile.mkdtemp(prefix="gpusig-test.")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _kill_group(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def _text(file) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def python() -> str:
    return sys.executable
