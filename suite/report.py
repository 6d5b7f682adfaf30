# SPDX-License-Identifier: BSD-3-Clause
"""Hand the records over to reports/, which makes signature and report of them."""
from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from suite.refusal import BAD, CANNOT_RUN, INCONCLUSIVE, OK, USAGE, Refusal

_HOME = Path(__file__).resolve().parent.parent


def missing_modules() -> list[str]:
    """The Python modules of level "report" in packages.txt that this interpreter lacks."""
    text = (_HOME / "suite" / "packages.txt").read_text(encoding="utf-8")
    rows = [line.split() for line in text.splitlines() if line.startswith("report")]
    modules = [row[1].partition(":")[2] for row in rows]
    return [module for module in modules if importlib.util.find_spec(module) is None]


def build(folder: Path, more: list[str]) -> int:
    """Build signature and report in the folder; the exit code of reports. Refused where it cannot run."""
    missing = missing_modules()
    if missing:
        raise Refusal(
            f"no signature and no report: Python has no {', '.join(missing)}; "
            f"when it has, or on another machine: ./gpusig report {folder}",
            CANNOT_RUN,
        )
    if importlib.util.find_spec("reports") is None or importlib.util.find_spec("reports.__main__") is None:
        raise Refusal("no signature and no report: this copy has no reports/", CANNOT_RUN)
    # A user's ^C reaches the report as well: it is of our group.
    code = subprocess.run(
        [sys.executable, "-m", "reports", "build", str(folder), *more], cwd=_HOME, check=False
    ).returncode
    return code if code in (OK, BAD, USAGE, INCONCLUSIVE, CANNOT_RUN) else BAD


def command(cwd: Path, arguments: list[str]) -> int:
    """`./gpusig report DIR [OPTIONS]`."""
    if not arguments or arguments[0].startswith("-"):
        raise Refusal("report needs the folder of a run: ./gpusig report DIR")
    folder = cwd / arguments[0]
    if not (folder / "records.jsonl").is_file():
        raise Refusal(f"{arguments[0]} holds no records.jsonl")
    return build(folder, arguments[1:])
