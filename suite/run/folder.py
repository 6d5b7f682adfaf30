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
)


def _files(folder: Path) -> Iterator[Path]:
    """What is there, or may be."""
    yield from (folder / name for name in _NAMES)
    try:
        yield from list((folder / _LOGS).iterdir())
    except OSError:
        pass


def refuse_links(folder: Path) -> None:
    """Refuse what a run would write through to somewhere else. The folder itself may be a link."""
    for path in _files(folder):
        refuse_link(path)


def refuse_others(folder: Path) -> None:
    """Refuse to go on with what another user left, or may have changed: it decides what is started, and with
    what. Files in kernels/ are not looked at, as programs use only those of their user that nobody
    else may write (device/gpu/kernel_cache.h). Where the folder holds several runs, their folders, A and B
    included, are refused by suite/run/repeats.py."""
    for path in (folder, *_files(folder)):
        try:
            found = path.stat()
        except OSError:
            continue
        if found.st_uid != os.geteuid():
            raise CommandError(
                f"{path} belongs to {_user(found.st_uid)}: only the user of a run goes on with it"
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
    """What a run writes, nobody else may write."""
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
    """An opener for open(): it follows no link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
