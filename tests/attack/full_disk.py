# SPDX-License-Identifier: BSD-3-Clause
"""A disk or a limit of a file's size that is reached anywhere. What is written is whole, one line says why it
ends, and with more space the run goes on."""

from __future__ import annotations

import functools
import resource
import signal
import subprocess
import tempfile
from pathlib import Path
from random import Random

from tests.attack import judge, kills
from tests.attack.workplace import FEW, How, Ran, Workplace, keys, simulated

_REASONS = ("No space left on device", "File too large")
_ENOUGH = "64m"


def attempt(chance: Random, place: Workplace) -> str | None:
    disk = place.folder / "disk"
    disk.mkdir()
    if chance.random() < 0.5 and can_mount():
        limit = f"size={4 * int(2 ** chance.uniform(0, 8))}k"
        limit = chance.choice((limit, limit, f"nr_inodes={chance.randint(2, 16)},size={_ENOUGH}"))
        subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "tmpfs", disk], check=True)
        how = How()
    else:
        how = How(
            limits={resource.RLIMIT_FSIZE: int(2 ** chance.uniform(12, 19))},
            ignored=chance.choice(((), (signal.SIGXFSZ,))),
        )
    subject = chance.choice((_of_run, _of_program, _of_program))
    return subject(chance, place, how)


@functools.lru_cache(maxsize=None)
def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        mounted = (
            subprocess.run(
                ["mount", "-t", "tmpfs", "tmpfs", folder], check=False, capture_output=True
            ).returncode
            == 0
        )
        if mounted:
            subprocess.run(["umount", folder], check=True)
    return mounted


def _give_space(disk: Path) -> None:
    if disk.is_mount():
        subprocess.run(["mount", "-o", f"remount,size={_ENOUGH},nr_inodes=0", disk], check=True)


def _may_be_cut(how: How) -> tuple[int, ...]:
    """The signal that may end a process at its limit, which then leaves the line that it was writing."""
    return (signal.SIGXFSZ,) if how.limits and not how.ignored else ()


def _said(ran: Ran) -> str | None:
    """Complaint unless exactly one line says why the command ended."""
    lines = [line for line in ran.err.splitlines() if any(reason in line for reason in _REASONS)]
    if ran.code == 1 and len(lines) != 1:
        return ran.says(f"{len(lines)} lines say that the disk is full")
    return None


def _of_run(chance: Random, place: Workplace, how: How) -> str | None:
    chosen = chance.sample(kills.DRIVEN, chance.choice((1, 2)))
    only = [word for name in chosen for word in ("--only", name)]
    records = place.folder / "disk" / "run" / "records.jsonl"
    ran = place.run(
        place.driver("run", "--device", "sim", "--budget", "10m", *only, "--out", "disk/run"), how
    )
    problem = judge.ended(ran) or judge.brief(ran) or judge.whole(records) or judge.nothing_left(place)
    if not problem and ran.code not in (0, 1, 3):
        problem = ran.says("a full disk is 1")
    _give_space(place.folder / "disk")
    return problem or kills.resumed(
        place, "disk/run", only, {name: keys(place.programs / name, "sim") for name in chosen}
    )


def _of_program(chance: Random, place: Workplace, how: How) -> str | None:
    name = chance.choice(kills.PROGRAMS)
    device = simulated(place.programs / name)
    records = place.folder / "disk" / "records.jsonl"
    signals = _may_be_cut(how)
    words = [
        *FEW,
        "--out",
        str(records),
        *chance.choice(([], ["--progress", str(records.with_name("progress"))])),
    ]
    ran = place.run(place.program(name, device, *words), how)
    problem = judge.ended(ran, *signals) or judge.whole(records, cut=bool(signals)) or _said(ran)
    if not problem and ran.code not in (0, 1, 3, *(-signum for signum in signals)):
        problem = ran.says("a full disk is 1")
    _give_space(place.folder / "disk")
    return problem or kills.goes_on(place, name, device, records, place.folder / "done")
