# SPDX-License-Identifier: BSD-3-Clause
"""Hand a comparison over to reports/, which reads both sides and judges."""
from __future__ import annotations

import sys
from pathlib import Path

from suite import report
from suite.command_error import CommandError


def command(cwd: Path, arguments: list[str]) -> int:
    """`./gpusig compare BEFORE AFTER ...`; paths in it are the user's, and relative to `cwd`."""
    if not arguments:
        raise CommandError("compare needs two sides: ./gpusig compare BEFORE AFTER")
    return report.pass_on([sys.executable, "-m", "reports", "compare", "--cwd", str(cwd), *arguments])
