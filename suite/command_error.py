# SPDX-License-Identifier: BSD-3-Clause
"""An error that ends a command: one line for the user and an exit code."""

from __future__ import annotations

OK, BAD, USAGE, INCONCLUSIVE, CANNOT_RUN = 0, 1, 2, 3, 77


class CommandError(Exception):
    """Raised where the reason is known, printed once by the command line."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code
