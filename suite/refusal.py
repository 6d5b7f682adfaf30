# SPDX-License-Identifier: BSD-3-Clause
"""What ends a command early: one line for the user and an exit code."""
from __future__ import annotations

OK, BAD, USAGE, INCONCLUSIVE, CANNOT_RUN = 0, 1, 2, 3, 77


class Refusal(Exception):
    """Raised by the one who knows the reason, printed once by the command line."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code
