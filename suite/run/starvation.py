# SPDX-License-Identifier: BSD-3-Clause
"""The share of a program's time in which others had the processors: other processes, the hypervisor, or the
CPU quota of a control group.

The kernel counts how long each thread waited for a processor (schedstat). Threads of one program wait for
each other, too, so all of them together lost at most what the program did not use of its processors. Time
that the hypervisor took is divided among programs by the time they ran. A program that hangs in a wait
neither uses a processor nor waits for one, so it is not starved, whoever runs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Session:
    """The processes of a session so far: CPU time, and the time that threads waited for a processor, in s."""

    own_s: float = 0.0
    waited_s: float = 0.0  # the sum over the threads
    longest_s: float = 0.0  # of the thread that waited longest


@dataclass(frozen=True)
class Cores:
    """The cores that we may use: their number, and the seconds that they were busy or stolen by other virtual
    machines."""

    count: int
    busy_s: float = 0.0
    stolen_s: float = 0.0


def share_of_others(session: int, before: Cores, elapsed_s: float) -> float:
    """Share of the session's time so far in which others had the cores, 0..1; `before` is of_cores() at its
    start."""
    return share(of_session(session), before, of_cores(), elapsed_s)


def share(program: Session, before: Cores, now: Cores, elapsed_s: float) -> float:
    """Share of time that was lost to others, 0..1: of the longest wait of a thread in the elapsed time, or of
    all waits in the core time wanted (at least one core's), whichever is larger."""
    if elapsed_s <= 0.0:
        return 0.0
    unused_s = max(0.0, elapsed_s * now.count - program.own_s)
    ran_s = max(program.own_s, now.busy_s - before.busy_s)
    stolen_s = (now.stolen_s - before.stolen_s) * program.own_s / ran_s if ran_s else 0.0
    lost_s = min(program.waited_s, unused_s) + max(0.0, stolen_s)
    longest_s = min(program.longest_s, unused_s)
    return min(1.0, max(longest_s / elapsed_s, lost_s / max(program.own_s + lost_s, elapsed_s)))


def of_session(session: int, proc: Path = Path("/proc")) -> Session:
    """The times of a session; 0 for anything that the kernel does not count."""
    own_s, waited = 0.0, []
    for folder in proc.glob("[0-9]*"):
        try:
            # The name, in parentheses, may hold anything; behind it are fields 3 and on of proc(5).
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) != session:
                continue
            own_s += sum(map(int, fields[11:15])) * _TICK_S  # of children that ended, too
            for path in folder.glob("task/*/schedstat"):
                waited.append(int(path.read_text().split()[1]) / 1e9)
        except (OSError, ValueError, IndexError):
            continue  # it ended
    return Session(own_s, sum(waited), max(waited, default=0.0))


def of_cores(proc: Path = Path("/proc")) -> Cores:
    allowed = os.sched_getaffinity(0)
    busy = stolen = 0
    try:
        for line in (proc / "stat").read_text().splitlines():
            name, *columns = line.split()
            if name[:3] == "cpu" and name[3:].isdigit() and int(name[3:]) in allowed:
                user, nice, system, _, _, irq, softirq, steal = map(int, columns[:8])
                busy, stolen = busy + user + nice + system + irq + softirq, stolen + steal
    except (OSError, ValueError):
        pass
    return Cores(len(allowed), busy * _TICK_S, stolen * _TICK_S)
