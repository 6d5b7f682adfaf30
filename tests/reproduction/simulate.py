# SPDX-License-Identifier: BSD-3-Clause
"""Times of collectives/allreduce on simulated tori. Results are kept in a folder, because a simulation takes
minutes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from suite.run import simgrid

TORUS = ROOT / "bin" / "topology" / "torus"
PROGRAM = ROOT / "build" / "smpi" / "collectives" / "allreduce"
LIMIT_S = 3600
# Ranks share their vectors, because no data is checked.
_LARGE = ["--cfg=smpi/shared-malloc:global", "--cfg=smpi/auto-shared-malloc-thresh:65536"]
# No data is touched. One run is enough, because virtual time has no noise.
_DRY = ["--check", "off", "--min-samples", "1", "--max-samples", "1", "--warm-up", "0", "--format", "json"]
_DRY_EXIT = 3  # nothing was verified


def command(shape: str, algorithm: str, sizes: list[int], folder: Path) -> list[str]:
    block = f"--cfg=smpi/shared-malloc-blocksize:{max(1 << 25, max(sizes))}"
    words = [*simgrid.launcher(shape, *simgrid.emit(TORUS, shape, folder)), *_LARGE, block, str(PROGRAM)]
    return [
        *words,
        "--shape",
        shape,
        "--ports",
        "all",
        "--algorithm",
        algorithm,
        "--size",
        ",".join(map(str, sizes)),
        *_DRY,
    ]


def simulate(shape: str, algorithm: str, sizes: list[int]) -> dict:
    """{"seconds": {size: s}, "wall_s", "anonymous_bytes"}."""
    with tempfile.TemporaryDirectory() as folder:
        words = command(shape, algorithm, sizes, Path(folder))
        begin = time.monotonic()
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        watch = _Watch(child.pid)
        out, err = child.communicate(timeout=LIMIT_S)
        peak = watch.stop()
    if child.returncode not in (0, _DRY_EXIT):
        raise RuntimeError(f"{' '.join(words)}: exit {child.returncode}: {err.strip()[-400:]}")
    found = simgrid.times(out)
    return {
        "seconds": {str(size): found[algorithm, size] for size in sizes},
        "wall_s": time.monotonic() - begin,
        "anonymous_bytes": peak,
    }


def kept(folder: Path, shape: str, algorithm: str, sizes: list[int]) -> dict:
    """simulate(), or its result from an earlier call in the folder."""
    path = folder / f"{shape}-{algorithm}-{sizes[0]}-{sizes[-1]}.json"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(simulate(shape, algorithm, sizes)) + "\n", encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


class _Watch:
    """Peak anonymous memory of a process and its children. Pages of files are not counted: they are the
    shared vectors."""

    def __init__(self, pid: int) -> None:
        self._pid, self._peak, self._over = pid, 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        self._over.set()
        self._thread.join()
        return self._peak

    def _look(self) -> None:
        while not self._over.wait(0.2):
            self._peak = max(self._peak, sum(map(_anonymous, _family(self._pid))))


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        children = []
    return [pid, *(p for child in children for p in _family(int(child)))]


def _anonymous(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")), 0)
