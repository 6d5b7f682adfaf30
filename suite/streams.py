# SPDX-License-Identifier: BSD-3-Clause
"""Output that outlives its terminal: a run goes on where nobody can read what it says."""

from __future__ import annotations

import io
import os
import sys

from suite.command_error import BAD, CommandError


class _Dropping(io.FileIO):
    """Drops what cannot be written because the terminal was closed, or the reader of the pipe ended."""

    def write(self, data) -> int:  # type: ignore[no-untyped-def]
        try:
            return super().write(data) or len(data)
        except OSError:
            return len(data)


class _Refusing(io.FileIO):
    """Raises CommandError at the first write that fails, and drops what comes later."""

    _lost = False

    def write(self, data) -> int:  # type: ignore[no-untyped-def]
        if self._lost:
            return len(data)
        try:
            return super().write(data) or len(data)
        except OSError as error:
            self._lost = True
            raise CommandError(f"write to stdout: {error.strerror}", BAD) from error


def open_closed() -> None:
    """Open descriptors 0 to 2 where they are closed, so that no other file gets their numbers and is written
    into."""
    while True:
        handle = os.open(os.devnull, os.O_RDONLY)  # so that writing to it stays an error
        if handle > 2:
            return os.close(handle)
        os.set_inheritable(handle, True)


def refuse_unwritable() -> None:
    """Make stdout raise CommandError where it cannot be written, and stderr drop its text."""
    sys.stdout = _stream(_Refusing(1, "w", closefd=False), sys.stdout)
    sys.stderr = _stream(_Dropping(2, "w", closefd=False), sys.stderr)


def drop_unwritable() -> None:
    """Make stdout drop what cannot be written, too."""
    sys.stdout = _stream(_Dropping(1, "w", closefd=False), sys.stdout)


def _stream(raw: io.FileIO, before) -> io.TextIOWrapper:  # type: ignore[no-untyped-def]
    """A text stream in the encoding of `before`, which is None where the stream was closed when Python
    started."""
    buffered = io.BufferedWriter(raw)
    encoding = before.encoding if before else "utf-8"
    return io.TextIOWrapper(buffered, encoding=encoding, errors="backslashreplace", line_buffering=True)
