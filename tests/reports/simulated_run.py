# SPDX-License-Identifier: BSD-3-Clause
"""Signatures of simulated machines, whose keys are known, from runs of the programs in bin/.

With `data = none` in its model a machine takes the same times and much less time."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Tuple

import workplace

from reports.records.jsonl import Json

BIN = Path(os.environ.get("GPUSIG_BIN") or workplace.ROOT / "bin")
BUILT = (BIN / "micro" / "launch").exists()
# Options by program, for few cases.
OPTIONS = {
    "micro/contention": ("--pair", "engine+kernel,memory+engine"),
    "micro/copy_path": ("--path", "engine", "--size", "4K,64K,1M,4M,16M"),
    "micro/latency": ("--footprint", "4K,64K,1M,16M,64M"),
}


def run(program: str, device: str, records: Path) -> None:
    """One more program's records of a device. CalledProcessError with what it said where it fails."""
    command = [str(BIN / program), "--device", device, "--budget", "20", "--seed", "1", "--out", str(records)]
    subprocess.run(
        [*command, *OPTIONS.get(program, ())], check=True, capture_output=True, text=True, timeout=300
    )


@functools.lru_cache(maxsize=None)
def signature(device: str, programs: Tuple[str, ...]) -> Json:
    """The signature of a device by these programs, as its file has it. To read only: tests share it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program in programs:
            run(program, device, folder / "records.jsonl")
        code, _, said = workplace.run_command("build", str(folder))
        assert code == 0, said
        found: Json = json.loads((folder / "signature.json").read_text(encoding="utf-8"))
    return found


def truth(found: Json) -> Json:
    """The keys of its first device."""
    keys: Json = next(iter(found["devices"].values()))["model"]["keys"]
    return keys
