# SPDX-License-Identifier: BSD-3-Clause
"""Hand the records over to reports/, which makes signature and report of them."""
from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from suite.command_error import BAD, CANNOT_RUN, INCONCLUSIVE, OK, USAGE, CommandError

_HOME = Path(__file__).resolve().parent.parent


def build(folder: Path, strict: bool) -> int:
    """Build signature and report in the folder; the exit code of reports, which is 77 where only the page is missing."""
    if importlib.util.find_spec("reports") is None or importlib.util.find_spec("reports.__main__") is None:
        raise CommandError("no signature and no report: this copy has no reports/", CANNOT_RUN)
    # A user's ^C reaches the report as well: it is of our group.
    code = subprocess.run(
        [sys.executable, "-m", "reports", "build", str(folder), *(["--strict"] if strict else [])], cwd=_HOME, check=False
    ).returncode
    return code if code in (OK, BAD, USAGE, INCONCLUSIVE, CANNOT_RUN) else BAD


def command(cwd: Path, arguments: list[str]) -> int:
    """`./gpusig report DIR [--strict]`."""
    strict = "--strict" in arguments
    arguments = [word for word in arguments if word != "--strict"]
    if not arguments or arguments[0].startswith("-"):
        raise CommandError("report needs the folder of a run: ./gpusig report DIR")
    if len(arguments) > 1:
        raise CommandError(f"report takes one folder, not also '{arguments[1]}'")
    folder = cwd / arguments[0]
    if not (folder / "records.jsonl").is_file():
        raise CommandError(f"{arguments[0]} holds no records.jsonl")
    return build(folder, strict)
