# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of simulated machines whose keys are known, as a fit reads them."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Sequence, Tuple, Union

import workplace

import synthetic
from reports.model.key import Key, Missing
from reports.model.measured import Measured
from reports.records.record_file import read
from reports.signature.signature import build

BIN = Path(os.environ.get("GPUSIG_BIN") or workplace.ROOT / "bin")
WITHIN = 0.03
# Those that most parts of a model are fitted to.
PROGRAMS = (
    "micro/launch",
    "micro/memory",
    "micro/latency",
    "micro/copy_path",
    "micro/occupancy",
    "micro/peer_matrix",
)
Found = Dict[str, Union[int, float, str]]
Part = Callable[[Measured, Found], Iterator[Union[Key, Missing]]]
# Times alone, and gigabytes.
LARGE = "like = quiet\ndata = none\nmemory_bytes = 64G\nhost_memory_bytes = 64G\n"


def measured(model: str, devices: Union[int, str], programs: Sequence[str], *options: str) -> Measured:
    """`model`: text of a file, or the name of one that is built in; `options` of every program. `devices`: a
    number, or which."""
    with tempfile.TemporaryDirectory() as folder:
        name = model
        if "\n" in model:
            name = folder + "/machine.model"
            Path(name).write_text(model, encoding="utf-8")
        device = "sim:%s%s" % (name, ":" + (devices if isinstance(devices, str) else "0-%d" % (devices - 1)))
        text = ""
        for program in programs:
            words = [str(BIN / program), "--device", device, "--format", "json", *options]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
            if done.returncode not in (0, 3):
                raise AssertionError("%s: %s" % (program, done.stderr.decode()))
            text += done.stdout.decode()
        return Measured(json.loads(build(read(synthetic.store(Path(folder), text))).text()))


def keys_of(of: Measured, *parts: Part, **known: float) -> Tuple[Dict[str, Key], Dict[str, str]]:
    """The keys of these parts and the reasons of those that are missing, by name. `known`: keys of others."""
    keys: Dict[str, Key] = {}
    reasons: Dict[str, str] = {}
    for part in parts:
        for found in part(of, {**known, **{name: key.value for name, key in keys.items()}}):
            if isinstance(found, Key):
                assert found.name not in keys, found.name
                keys[found.name] = found
            else:
                reasons.update(dict.fromkeys(found.names, found.reason))
    return keys, reasons


def far_off(keys: Dict[str, Key], truth: Dict[str, float]) -> List[str]:
    """Those that are not within 3 % of the truth, or are missing."""
    wrong = []
    for name, value in truth.items():
        found = float(keys[name].value) if name in keys else None
        if found is None or abs(found - value) > WITHIN * abs(value):
            wrong.append("%s is %s, not %.6g" % (name, found, value))
    return wrong
