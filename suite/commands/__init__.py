# SPDX-License-Identifier: BSD-3-Clause
"""Commands of ./gpusig, a module each: its options, what it asks of whom, what it prints, its exit code.

Each has command(words, place). suite/help/COMMAND.txt is its manual, and the list of its options.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from suite.setup import building


@dataclass(frozen=True)
class Place:
    """Where a command was given. `bin_dir`: the programs built for it; None: those of GPUSIG_BIN, else the
    last that were built. With `check_only` its options are checked, and nothing else is done."""

    cwd: Path
    bin_dir: Path | None = None
    check_only: bool = False

    def programs(self) -> Path:
        return Path(os.environ.get("GPUSIG_BIN") or self.bin_dir or building.link())

    def sources(self) -> Path | None:
        """Where the programs were built from; None: GPUSIG_BIN names others."""
        return None if os.environ.get("GPUSIG_BIN") else building.HOME

    def offer_library(self) -> None:
        """What answers advise lies with the programs that were built for it (reports/advice/library.py)."""
        if self.bin_dir is not None:
            os.environ["GPUSIG_BIN"] = str(self.bin_dir)
