# SPDX-License-Identifier: BSD-3-Clause
"""Start programs for a preflight: nothing waits longer than it says, and nothing is left behind.

What a program writes goes into memory that has no name, so there is no file to remove, whatever ends us. A
program is killed with us by the kernel. One that sleeps in a driver cannot be killed: it is not waited for.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field

from suite.run import launch

_KILLED_S = 0.5  # a process that can be killed is gone by then
_LOOK_S = 0.01
_PR_SET_PDEATHSIG = 1


class Hidden:
    """A file without a name, which other processes open by `path` while they have it."""

    def __init__(self, name: str) -> None:
        self.handle = os.memfd_create(name, 0)
        self.path = f"/proc/self/fd/{self.handle}"

    def read(self) -> bytes:
        return os.pread(self.handle, os.fstat(self.handle).st_size, 0)

    def write(self, content: bytes) -> "Hidden":
        """Append the content."""
        while content:
            content = content[os.pwrite(self.handle, content, os.fstat(self.handle).st_size) :]
        return self

    def close(self) -> None:
        os.close(self.handle)


@dataclass
class Ended:
    """The end of a command. `code` is None where it had to be stopped, negative where a signal ended it."""

    words: list[str]
    code: int | None = None
    out: bytes = b""
    err: str = ""
    elapsed_s: float = 0.0
    is_left: bool = False  # it could not be killed

    @property
    def last_words(self) -> str:
        lines = [line for line in self.err.splitlines() if line.strip()]
        spoken = [line for line in lines if line.startswith("gpusig: ")] or lines
        return spoken[-1].removeprefix("gpusig: ")[:200] if spoken else ""


@dataclass
class _Running:
    child: subprocess.Popen
    out: Hidden
    err: Hidden
    ended: Ended


@dataclass
class Children:
    """Commands that were started and have not ended, so that a stop can reach them all."""

    running: list[_Running] = field(default_factory=list)

    def together(
        self, commands: list[list[str]], limit_s: float, given: tuple[Hidden, ...] = ()
    ) -> list[Ended]:
        """Run the commands at once, each for at most `limit_s`. They may read the `given` files."""
        begun = time.monotonic()
        started = [self._start(words, given) for words in commands]
        while self.running and time.monotonic() < begun + limit_s:
            self._collect(begun)
            time.sleep(_LOOK_S)
        self.kill()
        self._collect(begun)
        for one in self.running:
            one.ended.is_left, one.ended.elapsed_s = True, time.monotonic() - begun
            self._read(one)
        self.running = []
        return [one.ended for one in started]

    def one(self, words: list[str], limit_s: float, given: tuple[Hidden, ...] = ()) -> Ended:
        return self.together([words], limit_s, given)[0]

    def kill(self) -> None:
        """Kill all, and wait a moment for those that can be killed."""
        until = time.monotonic() + _KILLED_S
        for one in self.running:
            launch.signal_group(one.child.pid, signal.SIGKILL)
        while any(one.child.poll() is None for one in self.running) and time.monotonic() < until:
            time.sleep(_LOOK_S)

    def _start(self, words: list[str], given: tuple[Hidden, ...]) -> _Running:
        out, err = Hidden("out"), Hidden("err")
        try:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out.handle,
                stderr=err.handle,
                start_new_session=True,
                pass_fds=[one.handle for one in given],
                preexec_fn=_die_with_parent,
            )
        except OSError as error:
            return _Running(
                None, out, err, Ended(words, 126, b"", f"gpusig: cannot be started: {error.strerror}")
            )
        one = _Running(child, out, err, Ended(words))
        self.running.append(one)
        return one

    def _collect(self, begun: float) -> None:
        for one in [one for one in self.running if one.child.poll() is not None]:
            # SIGKILL is our signal to stop; any other one is a crash.
            launch.signal_group(one.child.pid, signal.SIGKILL)  # whatever it started
            one.ended.code = None if one.child.returncode == -signal.SIGKILL else one.child.returncode
            one.ended.elapsed_s = time.monotonic() - begun
            self._read(one)
            self.running.remove(one)

    @staticmethod
    def _read(one: _Running) -> None:
        one.ended.out, one.ended.err = one.out.read(), one.err.read().decode("utf-8", "replace")
        one.out.close()
        one.err.close()


_libc = ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
