# SPDX-License-Identifier: BSD-3-Clause
"""Start the tools of `./gpusig test`: with a limit, with the output kept in build/test-logs."""
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable, TypeVar

from suite.outcome import Outcome

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Output:
    """What a tool printed and how it ended. A tool that was stopped at its limit has code 124."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.text.strip().splitlines()[-lines:])


@dataclass(frozen=True)
class Tools:
    """Where tests run, how many at a time, and where their output goes."""

    home: Path
    logs: Path
    jobs: int
    running: set[int] = field(default_factory=set)

    def stop(self) -> None:
        """End what is running; each was started as a group of its own."""
        for child in list(self.running):
            try:
                os.killpg(child, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def start(self, log: str, command: list[str], limit_s: float = 300, **environment: str) -> Output:
        child = subprocess.Popen(
            command,
            cwd=self.home,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
            errors="replace",
        )
        self.running.add(child.pid)
        try:
            out, err = child.communicate(timeout=limit_s)
            code = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            code, err = 124, f"{err}\nstopped after {limit_s:.0f} s"
        finally:
            self.running.discard(child.pid)
        (self.logs / f"{log.replace('/', '-')}.log").write_text(f"{' '.join(command)}\n{out}{err}", encoding="utf-8")
        return Output(code, out, err)

    def has(self, *names: str) -> bool:
        return all(shutil.which(name) for name in names)

    def each(self, items: Iterable[_Item], test: Callable[[_Item], Outcome], more: int = 0) -> Outcome:
        """The sum of a test over items, as many at a time as there are jobs, and so many more."""
        total = Outcome()
        with ThreadPoolExecutor(self.jobs + more) as pool:
            try:
                for outcome in pool.map(test, items):
                    total += outcome
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                self.stop()
                raise
        return total

    def sources(self, *globs: str) -> list[str]:
        """Files that match, by name; nothing that was built."""
        found = (path for glob in globs for path in self.home.glob(glob) if path.is_file())
        names = sorted({path.relative_to(self.home).as_posix() for path in found})
        return [name for name in names if not re.match(r"(build|bin|\.git|gpusig-results[^/]*)/", name)]


def python() -> str:
    return sys.executable
