# SPDX-License-Identifier: BSD-3-Clause
"""A simulated machine that was measured, and the adviser on it. Its keys are known, so the programs on it
tell what is true."""

from __future__ import annotations

import atexit
import functools
import json
import tempfile
import unittest
from pathlib import Path
from typing import Callable, Dict, List, Optional

import workplace  # noqa: F401  the root on the path

from reports.advice.ask import Adviser
from reports.model import text
from reports.records.jsonl import Json

from tests.reports.model.simulated import BIN, PROGRAMS, measured

BUILT = (BIN / "overlap" / "ficco").is_file()
NEEDED = (*PROGRAMS, "micro/reduce", "gemm/efficiency")
DEVICES = 4
# As a GPU of a node, but for the numbers, which are in no proportion to those of any model that is built in.
MODEL = """like = h100
data = none
devices = 4
units = 96
memory_bandwidth = 2.1e12
llc_bandwidth = 5.3e12
peer_bandwidth = 61e9
engine_bandwidth = 140e9
flops_bf16 = 3.1e14
flops_f32 = 4.7e13
launch_ns = 2900
copy_ns = 4300
"""


@functools.lru_cache(maxsize=None)
def _signature() -> str:
    return json.dumps(measured(MODEL, DEVICES, NEEDED).signature)


def signature(change: Optional[Callable[[Json], None]] = None) -> Json:
    """That of the machine, after a change."""
    found: Json = json.loads(_signature())
    if change:
        change(found)
    return found


def without(*programs: str) -> Callable[[Json], None]:
    """A change: these did not run."""

    def change(found: Json) -> None:
        for program in programs:
            found["programs"].pop(program)
            for name in [name for name in found["metrics"] if name.startswith(program + "/")]:
                found["metrics"].pop(name)

    return change


def stored(found: Json, folder: Path) -> Path:
    """The folder with the signature, and its model as a run has it."""
    (folder / "signature.json").write_text(json.dumps(found), encoding="utf-8")
    (folder / text.NAME).write_text(text.of(found, "a machine"), encoding="utf-8")
    return folder


@functools.lru_cache(maxsize=None)
def run() -> Path:
    """The folder of the machine's run, which all tests read."""
    holder = tempfile.TemporaryDirectory()
    atexit.register(holder.cleanup)
    return stored(signature(), Path(holder.name))


def measured_schedules(question: Json, times_s: Dict[str, List[float]]) -> Callable[[Json], None]:
    """A change: overlap/ficco measured these schedules by engine; seconds and their interval."""

    def change(found: Json) -> None:
        row = {**question, "copy_method": "engine", "times_s": times_s}
        section = {"curves": [], "results": {"schedules": [row]}, "facts": {}}
        found["programs"]["overlap/ficco"] = section

    return change


def adviser(test: unittest.TestCase) -> Adviser:
    """One on the machine's run, for as long as a test lasts."""
    made = tempfile.TemporaryDirectory()
    test.addCleanup(made.cleanup)
    return Adviser(signature(), run(), BIN, Path(made.name))
