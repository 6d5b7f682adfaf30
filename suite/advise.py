# SPDX-License-Identifier: BSD-3-Clause
"""Hand a question over to reports/, which reads the signature and asks the library."""
from __future__ import annotations

import sys
from pathlib import Path

from suite import report
from suite.command_error import CommandError


def command(cwd: Path, arguments: list[str]) -> int:
    """`./gpusig advise SIGNATURE ...`."""
    words = [word for word in arguments if word != "--no-install"]
    if not words or words[0].startswith("-"):
        raise CommandError("advise needs a signature: ./gpusig advise SIGNATURE --m M --n N --k K --devices G --op OP "
                           "--type TYPE")
    return report.pass_on([sys.executable, "-m", "reports", "advise", str(cwd / words[0]), *words[1:]])
