# SPDX-License-Identifier: BSD-3-Clause
"""Hand a question about signatures over to reports/, which reads them and answers. Nothing is measured."""
from __future__ import annotations

import sys
from pathlib import Path

from suite import report
from suite.command_error import CommandError

# What each says where it is given nothing; its options are in reports/.
COMMANDS = {"compare": "compare needs two sides: ./gpusig compare BEFORE AFTER",
            "export": "export needs a format and a run: ./gpusig export --to prometheus SIGNATURE",
            "fleet": "fleet needs the folder that holds a folder a node: ./gpusig fleet DIR",
            "scorecard": "scorecard needs two machines or more: ./gpusig scorecard A B [C...]"}


def command(name: str, cwd: Path, arguments: list[str]) -> int:
    """`./gpusig compare BEFORE AFTER ...` and its kin; paths in it are the user's, and relative to `cwd`."""
    if not arguments:
        raise CommandError(COMMANDS[name])
    return report.pass_on([sys.executable, "-m", "reports", name, "--cwd", str(cwd), *arguments])
