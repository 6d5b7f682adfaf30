# SPDX-License-Identifier: BSD-3-Clause
"""The folder of one attempt, and the processes that it starts. Each has the folder's name in its environment,
so that those that are left over are found, whoever their parent is."""

from __future__ import annotations

import functools
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).resolve().parents[2]
HANGS_S = 300.0  # far above what any attempt takes on a busy machine
FEW = ["--min-samples", "6", "--max-samples", "6"]
_MARK = "GPUSIG_ATTACK"
_MAX_BYTES = 6 << 30  # so that no process takes all of the machine's memory
_EXITING, _OF_THE_KERNEL = 0x4, 0x200000  # of the flags in /proc/PID/stat


@dataclass(frozen=True)
class How:
    """Conditions under which a process is started. A stream, by its descriptor, is "closed", "full"
    (/dev/full), "broken" (a pipe without a reader) or "brief" (a pipe whose reader leaves after some bytes);
    limits are those of setrlimit(), which bounds memory in any case."""

    streams: dict[int, str] = field(default_factory=dict)
    limits: dict[int, int] = field(default_factory=dict)
    ignored: tuple[int, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    patience_s: float | None = None  # then it gets SIGINT


@dataclass(frozen=True)
class Ran:
    """End of a command: its exit code, negative where a signal ended it, and its output."""

    command: list[str]
    code: int
    out: str = ""
    err: str = ""
    hung: bool = False
    interrupted: bool = False  # at the end of the patience

    def says(self, what: str) -> str:
        last = "\n".join((self.out[-400:] + self.err[-800:]).splitlines()[-8:])
        return f"{what}: exit {self.code} of {shlex.join(self.command)}\n{last}"


class Started:
    """A running command, in a session of its own."""

    def __init__(
        self, command: list[str], child: subprocess.Popen, files: dict[int, Path], place: "Workplace"
    ) -> None:
        self.child = child
        self._command, self._files, self._place = command, files, place

    def wait(self, patience_s: float | None = None) -> Ran:
        interrupted = hung = False
        try:
            self.child.wait(HANGS_S if patience_s is None else patience_s)
        except subprocess.TimeoutExpired:
            hung = patience_s is None
            interrupted = not hung
        if interrupted:
            self.child.send_signal(signal.SIGINT)
            hung = self.wait().hung
        if hung:
            self._place.kill_all()
        texts = [self._files[fd].read_text("utf-8", "replace") if fd in self._files else "" for fd in (1, 2)]
        return Ran(self._command, self.child.wait(), *texts, hung, interrupted)


class Workplace:
    """Folder in which an attempt writes, the programs that it attacks, and a completed run to copy from."""

    def __init__(self, folder: Path, programs: Path, completed: Path | None = None) -> None:
        self.folder, self.programs, self.completed = folder, programs, completed
        self._count = 0

    def start(self, command: list[str], how: How = How()) -> Started:
        self._count += 1
        files: dict[int, Path] = {}
        opened = {
            fd: self._open(fd, how.streams.get(fd, "file" if fd else "null"), files) for fd in (0, 1, 2)
        }
        child = subprocess.Popen(
            command,
            cwd=HOME if command[0] == sys.executable else self.folder,
            stdin=opened[0],
            stdout=opened[1],
            stderr=opened[2],
            env=self.environment(how.environment),
            start_new_session=True,
            preexec_fn=functools.partial(_confine, how),
        )
        for handle in opened.values():
            os.close(handle)
        return Started(command, child, files, self)

    def run(self, command: list[str], how: How = How()) -> Ran:
        return self.start(command, how).wait(how.patience_s)

    def driver(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "suite", "--cwd", str(self.folder), *words]

    def program(self, name: str, device: str, *words: str) -> list[str]:
        return [str(self.programs / name), "--device", device, *words]

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("GPUSIG_", "FAKE_"))
        }
        return {
            **kept,
            "GPUSIG_NO_INSTALL": "1",
            "GPUSIG_NICE": str(os.getpriority(os.PRIO_PROCESS, 0)),
            "GPUSIG_BIN": str(self.programs),
            "TMPDIR": str(self.folder),
            _MARK: str(self.folder),
            **more,
        }

    def left(self) -> list[int]:
        """Processes of this attempt that are neither gone nor dying."""
        mark = f"{_MARK}={self.folder}".encode()
        return [
            int(name)
            for name in os.listdir("/proc")
            if name.isdigit() and _is_marked(Path("/proc", name), mark)
        ]

    def kill_all(self) -> None:
        while left := self.left():
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def _open(self, fd: int, kind: str, files: dict[int, Path]) -> int:
        if kind in ("null", "closed"):
            return os.open(os.devnull, os.O_RDWR)
        if kind == "full":
            return os.open("/dev/full", os.O_RDWR)
        if kind == "file":
            files[fd] = self.folder / f"said.{self._count}.{fd}"
            return os.open(files[fd], os.O_RDWR | os.O_CREAT, 0o666)
        reads, writes = os.pipe()
        if kind == "brief":
            subprocess.Popen(["head", "-c", "100"], stdin=reads, stdout=subprocess.DEVNULL)
        ours, other = (reads, writes) if fd == 0 else (writes, reads)
        os.close(other)
        return ours


def _confine(how: How) -> None:
    """In the new process, before it becomes the command."""
    for signum in (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
    ):  # we may be under nohup, or in the background
        signal.signal(signum, signal.SIG_DFL)
    for signum in how.ignored:
        signal.signal(signum, signal.SIG_IGN)
    for limit, value in {resource.RLIMIT_AS: _MAX_BYTES, **how.limits}.items():
        resource.setrlimit(limit, (value, value))
    for fd, kind in how.streams.items():
        if kind == "closed":
            os.close(fd)


def given(process: Path, what: str) -> bytes:
    """The "environ" or "cmdline" of a process. Both are empty while it becomes another program, so it is
    asked again."""
    while not (text := (process / what).read_bytes()):
        state = _state(process)
        if state.flags & (_EXITING | _OF_THE_KERNEL) or state.has_code and not state.has_environment:
            break
        time.sleep(0.001)
    return text


class _State(NamedTuple):
    flags: int
    has_code: bool  # the last that it gets when it becomes a program
    has_environment: bool


def _state(process: Path) -> _State:
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return _State(int(fields[6]), fields[23] != "0", fields[47] != fields[48])


def _is_marked(process: Path, mark: bytes) -> bool:
    try:
        if mark not in given(process, "environ").split(b"\0"):
            return False
        flags = _state(process).flags
        pending = re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", (process / "status").read_text(), re.MULTILINE)
    except OSError:
        return False
    return not flags & _EXITING and not any(int(mask, 16) >> (signal.SIGKILL - 1) & 1 for mask in pending)


@functools.lru_cache(maxsize=None)
def about(program: Path) -> dict:
    return json.loads(subprocess.run([program, "--about"], capture_output=True, check=True).stdout)


@functools.lru_cache(maxsize=None)
def keys(program: Path, device: str) -> tuple[str, ...]:
    """Keys of all cases that a program has on a device."""
    listed = subprocess.run(
        [program, "--device", device, "--list"], capture_output=True, check=True, text=True
    )
    return tuple(listed.stdout.splitlines())


@functools.lru_cache(maxsize=None)
def alone(programs: Path) -> tuple[str, ...]:
    """Names of the programs that are no MPI jobs."""
    found = sorted(path for path in programs.glob("*/*") if os.access(path, os.X_OK) and path.suffix == "")
    return tuple(f"{path.parent.name}/{path.name}" for path in found if b"MPI_Init" not in path.read_bytes())


def simulated(program: Path) -> str:
    """The simulated device with as many devices as the program needs."""
    return "sim:0,1" if about(program)["min_devices"] > 1 else "sim"
