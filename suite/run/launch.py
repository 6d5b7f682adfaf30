# SPDX-License-Identifier: BSD-3-Clause
"""Start one program and wait for it: with a limit, in its own process group, without using the processor."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from suite.run import starvation
from suite.run.folder import open_own

_STOP_GRACE_S = 5.0
_PATIENCE = 4.0  # times its limit that a starved program may take
_MARKS_OF_CONTAINERS = ("/.dockerenv", "/run/.containerenv")
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Ended:
    """The end of a program. `code` is negative when a signal ended it."""

    code: int
    elapsed_s: float
    overran: bool
    others: float = 0.0  # of one that overran: the share of its time in which others had the processors


class StopSignals:
    """SIGINT, SIGTERM and SIGHUP set a number and wake the waiting driver. A terminal that is closed sends
    SIGHUP twice, so only a repeated SIGINT is a user who does not want to wait."""

    def __init__(self) -> None:
        self.signum = 0
        self.interrupts = 0
        self.wake, self._wake_in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        signal.set_wakeup_fd(self._wake_in, warn_on_full_buffer=False)
        for signum in _STOPPING:
            # A signal that nohup ignores stays ignored.
            if signal.getsignal(signum) is not signal.SIG_IGN:
                self._before[signum] = signal.signal(signum, self._arrive)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        os.close(self.wake)
        os.close(self._wake_in)

    def _arrive(self, signum: int, _frame: object) -> None:
        self.signum = self.signum or signum
        self.interrupts += signum == signal.SIGINT

    def die(self) -> None:
        """End as the signal would have ended us, so that a calling shell sees it."""
        signal.signal(self.signum, signal.SIG_DFL)
        os.kill(os.getpid(), self.signum)


def launch(
    command: list[str],
    log: Path,
    limit_s: float,
    stop: StopSignals,
    lock: int,
    started: Callable[[int | None], None],
    tick: Callable[[], None],
    nice: int | None = None,
    environment: dict[str, str] | None = None,
) -> Ended:
    """Run a program with its output in `log`. When we are asked to stop, or at the limit, it gets SIGINT, and
    five seconds later its whole group gets SIGKILL. The limit does not count the time in which others had the
    processors, as far as the whole is no longer than four limits. `lock` is inherited; `started` is told the
    process; `tick` is called about once a second. `nice` is the priority of the program and all that it
    starts; `environment` is added to ours."""
    begin, cores = time.monotonic(), starvation.of_cores()
    with open(log, "wb", opener=open_own) as out:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            pass_fds=(lock,),
            env={**os.environ, **environment} if environment else None,
            preexec_fn=None if nice is None else lambda: _take_priority(nice),
        )
    started(child.pid)
    overran, others = False, 0.0
    kill_at = None
    deadline = begin + limit_s
    with _Watch(child.pid, stop.wake) as watch:
        while not watch.ended():
            now = time.monotonic()
            if kill_at is None and now >= deadline:
                others = starvation.share_of_others(child.pid, cores, now - begin)
                deadline = begin + min(limit_s + others * (now - begin), _PATIENCE * limit_s)
            if kill_at is None and (stop.signum or now >= deadline):
                overran = not stop.signum
                signal_group(child.pid, signal.SIGINT)
                kill_at = now + _STOP_GRACE_S
            if kill_at is not None and (now >= kill_at or stop.interrupts > 1):
                overran = overran or not stop.signum
                signal_group(child.pid, signal.SIGKILL)
            tick()
            until = kill_at if kill_at is not None else deadline
            watch.sleep(min(1.0, max(0.02, until - time.monotonic())))
    # The leader is not reaped yet, so its process id is not reused.
    signal_group(child.pid, signal.SIGKILL)
    code = child.wait()
    started(None)
    return Ended(code, time.monotonic() - begin, overran, others if overran else 0.0)


def _take_priority(nice: int) -> None:
    """Set the priority of this process and all that it starts. Where Linux schedules by session (autogroup),
    a process's priority counts only within its session, so that the session's is set as well."""
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write(str(nice))
    except OSError:
        pass  # it does not, or this user may not


def nice_of(nice: int | None, times: bool) -> int | None:
    """Priority of one program. A program that times nothing never gets a higher one than the driver."""
    return nice if times or nice is None else max(nice, os.getpriority(os.PRIO_PROCESS, 0))


def is_root_in_container() -> bool:
    """True if root, and Docker or Podman left a file, Podman, LXC or systemd-nspawn set a variable, or the
    control group of process 1 is named after a container (version 1 of control groups only)."""
    if os.geteuid() != 0:
        return False
    if os.environ.get("container") or any(map(os.path.exists, _MARKS_OF_CONTAINERS)):
        return True
    try:
        groups = Path("/proc/1/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(word in groups for word in ("docker", "kubepods", "/lxc"))


def permitted_nice(wanted: int) -> int | None:
    """The wanted priority if this user may set it and does not have it yet; else None, the driver's own."""
    now = os.getpriority(os.PRIO_PROCESS, 0)
    # A child tries it, as the driver could not lower its own priority and raise it again.
    probe = "import os, sys; os.setpriority(os.PRIO_PROCESS, 0, int(sys.argv[1]))"
    if (
        wanted != now
        and subprocess.run(
            [sys.executable, "-I", "-S", "-c", probe, str(wanted)], check=False, stderr=subprocess.DEVNULL
        ).returncode
        == 0
    ):
        return wanted
    return None


class _Watch:
    """Sleeps until the process ends, a signal arrives or the time is over."""

    def __init__(self, pid: int, wake: int) -> None:
        self._pid = pid
        self._wake = wake
        self._poll = select.poll()
        self._poll.register(wake, select.POLLIN)
        try:
            self._pidfd = os.pidfd_open(pid)
            self._poll.register(self._pidfd, select.POLLIN)
        except (AttributeError, OSError):
            self._pidfd = -1  # an old kernel: look ten times a second

    def __enter__(self) -> "_Watch":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)

    def ended(self) -> bool:
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def sleep(self, seconds: float) -> None:
        if self._pidfd < 0:
            seconds = min(seconds, 0.1)
        for handle, _ in self._poll.poll(seconds * 1000):
            if handle == self._wake:
                os.read(self._wake, 4096)


def signal_group(group: int, signum: int) -> None:
    try:
        os.killpg(group, signum)
    except (ProcessLookupError, PermissionError):
        pass
