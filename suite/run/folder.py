# SPDX-License-Identifier: BSD-3-Clause
"""The files of a run in its folder, which others may have prepared: a link planted there leads no output
elsewhere, and a run goes on only with what its own user left."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import Iterator

from suite.run import report
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
    report.PREDICTION,
)


def _files(folder: Path) -> Iterator[Path]:
    """Files that a run writes, whether they exist or not, and its logs."""
    yield from (folder / name for name in _NAMES)
    try:
        yield from list((folder / _LOGS).iterdir())
    except OSError:
        pass


def refuse_links(folder: Path) -> None:
    """Refuse links through which a run would write somewhere else. The folder itself may be a link."""
    for path in _files(folder):
        refuse_link(path)


def refuse_others(folder: Path) -> None:
    """Refuse files of another user, and files that others may write: a run that goes on starts what they
    name. Files in kernels/ are left to the programs, which load only those of their own user
    (device/gpu/kernel_cache.h), and the folders of several runs to suite/run/repeats.py."""
    for path in (folder, *_files(folder)):
        try:
            found = path.stat()
        except OSError:
            continue
        if found.st_uid != os.geteuid():
            raise CommandError(
                f"{path} belongs to {_user(found.st_uid)}: only the user of a run may resume it"
            )
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise CommandError(
                f"{path} may be written by others: look through it, then chmod -R go-w {folder}"
            )


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def keep_to_own_user() -> None:
    """Take from group and others the right to write what this process creates."""
    os.umask(os.umask(0o077) | 0o022)


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
    """Opener for open() that follows no link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
