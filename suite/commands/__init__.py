# SPDX-License-Identifier: BSD-3-Clause
"""Commands of ./gpusig, a module each: the options, what is computed and printed, and the exit code.

Each has command(words, place). suite/help/COMMAND.txt is its manual, and the list of its options.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from suite.setup import building


@dataclass(frozen=True)
class Place:
    """The folder in which a command was given, and the programs it uses. `bin_dir`: those built for it; None:
    those of GPUSIG_BIN, else the last that were built. With `check_only` the options are checked and nothing
    else is done."""

    cwd: Path
    bin_dir: Path | None = None
    check_only: bool = False

    def programs(self) -> Path:
        return Path(os.environ.get("GPUSIG_BIN") or self.bin_dir or building.link()).absolute()

    def sources(self) -> Path | None:
        """The folder that the programs were built from; None where GPUSIG_BIN names others."""
        return None if os.environ.get("GPUSIG_BIN") else building.HOME
