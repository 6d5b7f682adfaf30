# SPDX-License-Identifier: BSD-3-Clause
"""Commands that only read: their questions go to reports/, which answers. Nothing is built and nothing
measured, and what only measuring needs is not loaded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from suite.run import report
from suite.command_error import OK, CommandError

# What each says where it is given nothing, unless it has words of its own; its options are in reports/.
COMMANDS = {
    "advise": "",
    "compare": "compare needs two sides: ./gpusig compare BEFORE AFTER",
    "export": "export needs a format and a run: ./gpusig export --to prometheus SIGNATURE",
    "fleet": "fleet needs the folder that holds a folder a node: ./gpusig fleet DIR",
    "report": "",
    "scorecard": "scorecard needs a machine: ./gpusig scorecard A [B...]",
}


def command(
    name: str, cwd: Path, words: list[str], bin_dir: Path | None = None, check_only: bool = False
) -> int:
    """`./gpusig compare BEFORE AFTER ...` and its kin; paths in it are the user's, and relative to `cwd`.
    With `check_only` the options of advise are checked, and those of the others when they are run."""
    if check_only and name != "advise":
        return OK
    words = [word for word in words if word != "--no-install"]
    if not words and COMMANDS[name]:
        raise CommandError(COMMANDS[name])
    if name == "report":
        return report.command(cwd, words)
    if bin_dir is not None:
        os.environ["GPUSIG_BIN"] = str(bin_dir)  # with the library that answers advise
    asked = "check-advise" if check_only else name
    return report.pass_on([sys.executable, "-m", "reports", asked, "--cwd", str(cwd), *words])
