# SPDX-License-Identifier: BSD-3-Clause
"""python3 -m tests.attack [KIND...] [--seed S] [--count N] [--minutes M]: N attempts of each kind from seed S
on, or as many as begin within M minutes. Failures are printed as they are found, the counts at the end. Exit:
0 all held, 1 something failed."""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from tests.attack.kinds import KINDS
from tests.attack.workplace import HOME, Workplace, alone

Task = tuple[str, int]


@dataclass(frozen=True)
class Shop:
    """Folder that all attempts use, with the programs and a completed run."""

    folder: Path

    @property
    def programs(self) -> Path:
        return self.folder / "bin"

    def prepare(self, built: Path) -> None:
        for name in alone(built):
            (self.programs / name).parent.mkdir(parents=True, exist_ok=True)
            (self.programs / name).symlink_to(built / name)
        place = Workplace(self.folder, self.programs)
        only = ["--only", "micro/latency", "--only", "micro/priority"]
        ran = place.run(place.driver("run", "--device", "sim", *only, "--out", "completed"))
        if ran.code not in (0, 3):
            sys.exit(ran.says("no run to begin with"))


def attempt(shop: Shop, kind: str, seed: int) -> str | None:
    """The failure of one attempt; nothing that it started or mounted is left."""
    folder = Path(tempfile.mkdtemp(prefix=f"{kind}-{seed}-", dir=shop.folder))
    place = Workplace(folder, shop.programs, shop.folder / "completed")
    try:
        return KINDS[kind].attempt(random.Random(f"{kind} {seed}"), place)
    except Exception:  # an attempt that is itself wrong must not pass for one that held
        return f"the attempt broke:\n{traceback.format_exc(limit=-3)}"
    finally:
        place.kill_all()
        remove(folder / "disk")
        remove(folder)


def remove(folder: Path) -> None:
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", folder], check=False)
    shutil.rmtree(folder, ignore_errors=True)


def tried(tasks: Iterator[Task], shop: Shop, jobs: int) -> Iterator[tuple[Task, str | None]]:
    """Attempts with their failures as they end, `jobs` at a time."""
    ignore = (signal.SIGINT, signal.SIG_IGN)  # of the terminal: then the attempts that run end first
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), signal.signal, ignore) as pool:
        running: dict[Future[str | None], Task] = {}
        for task in itertools.chain(tasks, [None]):
            if task is not None:
                running[pool.submit(attempt, shop, *task)] = task
            while running and (task is None or len(running) >= jobs):
                for ended in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(ended), ended.result()


def tasks_of(given: argparse.Namespace) -> Iterator[Task]:
    kinds = given.kinds or list(KINDS)
    if given.minutes is None:
        for kind in kinds:
            count = given.count or (KINDS[kind].count if given.seed is None else 1)
            yield from ((kind, (given.seed or 1) + number) for number in range(count))
        return
    until = time.monotonic() + 60 * given.minutes
    for seed in itertools.count(int(time.time()) if given.seed is None else given.seed):
        for kind in kinds:
            if time.monotonic() >= until:
                return
            yield kind, seed


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tests.attack", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    for name, what in (("--seed", int), ("--count", int), ("--minutes", float)):
        parser.add_argument(name, type=what)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args(words)
    unknown = [kind for kind in given.kinds if kind not in KINDS]
    if unknown:
        parser.error(f"unknown kind '{unknown[0]}'; kinds: {', '.join(KINDS)}")
    counts, failures = Counter(), Counter()
    with tempfile.TemporaryDirectory(prefix="gpusig-attack.") as folder:
        shop = Shop(Path(folder).resolve())
        shop.prepare(Path(os.environ.get("GPUSIG_BIN", HOME / "bin")).resolve())
        try:
            for (kind, seed), failure in tried(tasks_of(given), shop, given.jobs):
                counts[kind] += 1
                if failure:
                    failures[kind] += 1
                    print(f"failed: {again(kind, seed)}\n  " + failure.replace("\n", "\n  "), flush=True)
        except KeyboardInterrupt:
            pass  # the counts up to now
    for kind in counts:
        print(
            f"{kind:12} {counts[kind]} tried, {counts[kind] - failures[kind]} held, {failures[kind]} failed"
        )
    return 1 if failures or not counts else 0


def again(kind: str, seed: int) -> str:
    return shlex.join(["python3", "-m", "tests.attack", kind, "--seed", str(seed)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
