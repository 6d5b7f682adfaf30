# SPDX-License-Identifier: BSD-3-Clause
"""The files of a run in its folder, which others may have prepared: a link planted there leads no output
elsewhere."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from suite import report
from suite.command_error import BAD, CommandError

WHOLE = "repeats.json"  # of a folder that holds several runs
_LOGS = "logs"
_NAMES = (
    WHOLE,
    f"{WHOLE}.new",
    "records.jsonl",
    "records.cut",
    "plan.json",
    "plan.json.new",
    "lock",
    _LOGS,
    "kernels",
    *report.FILES,
)


def refuse_links(folder: Path) -> None:
    """Refuse what a run would write through to somewhere else. The folder itself may be a link."""
    for name in _NAMES:
        refuse_link(folder / name)
    try:
        inside = list((folder / _LOGS).iterdir())
    except OSError:
        return
    for path in inside:
        refuse_link(path)


def refuse_link(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise CommandError(
            f"{path} is a {'link' if stat.S_ISLNK(mode) else 'special file'}; a run writes to its own files "
            f"only"
        )


def create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot make the folder {folder}: {error.strerror}", BAD) from error


def open_own(path: str | Path, flags: int) -> int:
    """An opener for open(): it follows no link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
