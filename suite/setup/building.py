# SPDX-License-Identifier: BSD-3-Clause
"""python -m suite.setup.building [advice]: build the programs with short output, and print their folder; with
`advice`, of them those that advise simulates.

Nodes that share a checkout start in the same second. One of them builds; the others wait for it, ask make
whether anything is left to do, and go on. The kernel takes the lock back from a process that ends, and on NFS
it reaches other nodes. The output of make is in make.log.

The folder is that of this machine's compiler, flags and findings, not the link `bin`, which another kind of
node may turn to its own build while we measure.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from reports.records import damaged, jsonl
from suite import naming
from suite.command_error import BAD, CANNOT_RUN, CommandError
from suite.saying import say

HOME = Path(__file__).resolve().parents[2]
_MAKE = ("make", "-C", str(HOME), "--no-print-directory")
# Errors of flock on file systems without locks, or without their lock manager.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
_LOOKS = 50
_BETWEEN_LOOKS_S = 0.02


def folder() -> Path:
    """The folder of all builds."""
    chosen = os.environ.get("GPUSIG_BUILD")
    return Path(chosen) if chosen else HOME / "build"


def link() -> Path:
    """The link to the programs that were built last."""
    return folder() / "bin" if os.environ.get("GPUSIG_BUILD") else HOME / "bin"


def programs(advice: bool = False) -> Path:
    """Build what is not built, or of it what advise simulates, and give the folder of the programs."""
    why_not = _why_not()
    if why_not:
        if not link().is_dir():
            raise CommandError(f"nothing is built, and it cannot be built here: {why_not}", CANNOT_RUN)
        say("using the programs as they were built")
        return link().resolve()
    goal, asked = ("advice", "advice") if advice else ("all", "built")
    with Lock() as lock:
        if not lock.try_alone() and lock.after_others() and _is_built(asked):
            return _folder_of_programs()
        lock.be_alone()
        if not link().is_dir() and not _is_built(asked):
            say(f"building, with {_jobs()} jobs")
        _build(goal)
        return _folder_of_programs()


def _why_not() -> str:
    """The reason why nothing can be built here, or ""."""
    for command in ("make", *shlex.split(os.environ.get("CC") or "cc")[:1]):
        if shutil.which(command) is None:
            return f"{command} is not installed"
    chosen = os.environ.get("GPUSIG_BUILD")
    if chosen and len(chosen.split()) != 1:
        raise CommandError(f"GPUSIG_BUILD is '{chosen}': make builds in no folder with a space in its name")
    why = ""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        if not os.access(folder(), os.W_OK | os.X_OK) or not chosen and not os.access(HOME, os.W_OK):
            why = f"{folder() if chosen else HOME} cannot be written"
    except OSError as error:
        why = f"{folder()}: {error.strerror}"
    return f"{why}; GPUSIG_BUILD=DIR is another folder to build in" if why else ""


class Lock:
    """Lock on the folder of builds: exclusive to build, shared to look."""

    def __init__(self) -> None:
        self._path = folder() / "lock"
        self._said = False

    def __enter__(self) -> "Lock":
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise CommandError(f"cannot write {self._path}: {error.strerror}", BAD) from error
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def try_alone(self) -> bool:
        taken = self._take(fcntl.LOCK_EX | fcntl.LOCK_NB)
        if taken:
            self._name_owner()
        return taken

    def be_alone(self) -> None:
        if not self.try_alone():
            self._wait(fcntl.LOCK_EX)
            self._name_owner()

    def after_others(self) -> bool:
        """Wait for one that builds; others may look at the same time."""
        if not self._take(fcntl.LOCK_SH | fcntl.LOCK_NB):
            self._wait(fcntl.LOCK_SH)
        return True

    def _take(self, kind: int) -> bool:
        try:
            fcntl.flock(self._handle, kind)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            if error.errno not in _NO_LOCKS:
                raise CommandError(f"cannot lock {self._path}: {error.strerror}", BAD) from error
            say(
                f"{self._path}: no locks on this file system; nodes that start together each build, which is "
                f"safe but slow"
            )
        return True

    def _wait(self, kind: int) -> None:
        if not self._said:
            say(f"waiting for {self._owner()}, which builds in {folder()}")
        self._said = True
        self._take(kind)

    def _owner(self) -> str:
        """Only words for people: the lock is the kernel's. One that just took it writes its name next."""
        for _ in range(_LOOKS):
            try:
                owner = jsonl.parse_line(os.pread(self._handle, 4096, 0))
                host = naming.safe(damaged.text(owner["host"], "host"))
                return f"process {damaged.whole(owner['process'], 'process')} of {host}"
            except (OSError, ValueError, KeyError, TypeError):
                time.sleep(_BETWEEN_LOOKS_S)
        return "another process"

    def _name_owner(self) -> None:
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, json.dumps({"host": naming.node(), "process": os.getpid()}).encode(), 0)
        except OSError:
            pass


def make(*goals: str, limit_s: float | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*_MAKE, *goals],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        check=False,
    )


def _is_built(goal: str) -> bool:
    return make("-q", "ONLY_ASK=1", goal).returncode == 0


def _folder_of_programs() -> Path:
    asked = make("-s", "where")
    if asked.returncode != 0:
        raise CommandError(f"make where failed: {' '.join(asked.stderr.split())[:300]}", BAD)
    return HOME / asked.stdout.strip() / "bin"


def _jobs() -> int:
    return len(os.sched_getaffinity(0))


def _build(goal: str) -> None:
    log = folder() / "make.log"
    try:
        with open(log, "w", encoding="utf-8") as out:
            made = subprocess.run(
                [*_MAKE, f"-j{_jobs()}", goal], stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
            )
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise CommandError(f"cannot write {log}: {error.strerror}", BAD) from error
    if made.returncode != 0:
        say(f"the build failed; the end of {log}:")
        print(*lines[-30:], sep="\n", file=sys.stderr)
        sys.exit(BAD)
    for line in lines:
        if line.startswith("skip: "):
            say(line)


if __name__ == "__main__":
    try:
        print(programs(sys.argv[1:] == ["advice"]))
    except CommandError as error:
        say(str(error))
        sys.exit(error.code)
    except KeyboardInterrupt:
        sys.exit(130)
