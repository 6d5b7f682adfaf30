# SPDX-License-Identifier: BSD-3-Clause
"""Programs on simulated machines for documents in docs/reproduction: what ran, what it said, and what it
cost."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin")
MODELS = ROOT / "device" / "sim" / "model" / "machines"
ONE_RUN = ("--min-samples", "1", "--max-samples", "1", "--warm-up", "0")
_TIME = shutil.which("time", path="/usr/bin")
_GOOD = (0, 3)  # 3: the program ran, and nothing of it is valid


@dataclass(frozen=True)
class Case:
    """A case record; `id` is the shape's name, also where the command line gives its sides, or empty."""

    id: str
    axes: dict
    reason: str  # why it did not run; "": it did
    times: dict[str, float]  # variant -> median seconds
    derived: dict[tuple[str, str | None], float]  # name, variant
    facts: dict
    mechanism: dict[str, bool] = field(default_factory=dict)  # name -> observed

    def value(self, name: str, variant: str | None = None) -> float:
        return self.derived[name, variant]


@dataclass(frozen=True)
class Run:
    cases: list[Case]
    wall_s: float
    cpu_s: float | None  # None: /usr/bin/time is not there
    peak_bytes: int | None
    records: Path


def case_of(record: dict, names: dict[str, str]) -> Case:
    shape = record["case"].get("shape", "")
    return Case(
        names.get(shape, shape),
        record["case"],
        "" if record["status"] == "ok" else record["reason"],
        {v["name"]: v["median_s"] for v in record["variants"]},
        {(d["name"], d["variant"]): d["value"] for d in record["derived"] if d["value"] is not None},
        record["facts"],
        {m["name"]: m["observed"] for m in record.get("mechanism", [])},
    )


def cases_of(lines: Iterable[str], names: dict[str, str] | None = None) -> list[Case]:
    """`names`: shape on the command line -> its name."""
    records = (json.loads(line) for line in lines)
    return [case_of(r, names or {}) for r in records if r["kind"] == "case"]


def run(path: Path, program: str, options: Iterable[str], names: dict[str, str] | None = None) -> Run:
    """Keeps the records in the file."""
    cost = path.parent / "cost"
    path.parent.mkdir(parents=True, exist_ok=True)
    # A child of Python has Python's memory as its peak.
    watch = [_TIME, "-f", "%M %U %S", "-o", str(cost)] if _TIME else []
    begin = time.monotonic()
    with path.open("w", encoding="utf-8") as out:
        done = subprocess.run(
            [*watch, str(BIN / program), *options, "--format", "json"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            check=False,
        )
    wall_s = time.monotonic() - begin
    if done.returncode not in _GOOD:
        sys.exit(f"{program} {' '.join(options)}: exit {done.returncode}")
    with path.open(encoding="utf-8") as lines:
        cases = cases_of(lines, names)
    print(
        f"{path.stem}: {sum(not c.reason for c in cases)} of {len(cases)} cases ran, {wall_s:.1f} s",
        flush=True,
    )
    peak_kib, user_s, system_s = map(float, cost.read_text().split()[-3:]) if watch else (None, None, None)
    cost.unlink(missing_ok=True)
    return Run(
        cases, wall_s, user_s + system_s if watch else None, int(peak_kib) * 1024 if watch else None, path
    )


def write_document(name: str, program: str, written: Callable[[Path], Iterable[str]]) -> int:
    """The main() of NAME.py, which needs one program: docs/reproduction/NAME.md; `written` gets the folder
    for records."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "reproduction" / f"{name}.md")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "reproduction")
    given = parser.parse_args()
    if not (BIN / program).is_file():
        print(f"{name}.py: bin/{program} is not built: make", file=sys.stderr)
        return 77
    lines = list(written(given.keep))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"wrote {given.out}, {sum(line.startswith('|') and '**miss**' in line for line in lines)} misses")
    return 0
