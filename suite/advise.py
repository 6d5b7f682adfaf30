# SPDX-License-Identifier: BSD-3-Clause
"""Hand a question over to reports/, which reads the signatures and asks the library."""
from __future__ import annotations

import sys
from pathlib import Path

from suite import report


def command(cwd: Path, arguments: list[str], check_only: bool = False) -> int:
    """`./gpusig advise SIGNATURE... OPTION...`; signatures are relative to `cwd`. With `check_only` the options alone are
    checked."""
    words = [word for word in arguments if word != "--no-install"]
    command_of_reports = "check-advise" if check_only else "advise"
    return report.pass_on([sys.executable, "-m", "reports", command_of_reports, "--cwd", str(cwd), *words])
