# SPDX-License-Identifier: BSD-3-Clause
"""Durations as the user writes and reads them."""

from __future__ import annotations

import re

from suite.command_error import CommandError

_PATTERN = re.compile(r"([0-9]{1,7}(?:\.[0-9]{1,6})?)(s|m|h)?")
_SECONDS = {None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_MAX_S = 7 * 24 * 3600.0


def parse(text: str, name: str = "--budget") -> float:
    """Seconds in "90", "90s", "2m" or "1h"; anything else is a CommandError."""
    match = _PATTERN.fullmatch(text)
    if not match:
        raise CommandError(f"{name} '{text}' is not a duration such as 90, 90s, 2m or 1h")
    seconds = float(match[1]) * _SECONDS[match[2]]
    if not 0 < seconds <= _MAX_S:
        raise CommandError(f"{name} '{text}' is not above 0 and up to 7 days")
    return seconds


def show(seconds: float) -> str:
    """A duration for people: "4.2 s", "2 min 05 s"."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def about(seconds: float) -> str:
    """A duration that is an estimate: "25 s", "2 min 05 s"."""
    return f"{round(seconds)} s" if seconds < 100 else show(seconds)


def option(seconds: float) -> str:
    """A duration as the programs' --budget takes it."""
    return f"{seconds:.3f}s"
