# SPDX-License-Identifier: BSD-3-Clause
"""Output that outlives its terminal: a run goes on where nobody can read what it says."""
from __future__ import annotations

import io
import os
import sys


class _Dropping(io.FileIO):
    """Drops what cannot be written: the terminal was closed, or who read the pipe ended."""

    def write(self, data) -> int:  # type: ignore[no-untyped-def]
        try:
            return super().write(data) or len(data)
        except OSError:
            return len(data)


def open_closed() -> None:
    """Open descriptors 0 to 2 where they are closed, or the next files would be taken for them and written into."""
    while True:
        handle = os.open(os.devnull, os.O_RDWR)
        if handle > 2:
            return os.close(handle)
        os.set_inheritable(handle, True)


def drop_unwritable() -> None:
    """stdout and stderr drop what cannot be written from now on."""
    sys.stdout = _stream(1, sys.stdout)
    sys.stderr = _stream(2, sys.stderr)


def _stream(handle: int, before) -> io.TextIOWrapper:  # type: ignore[no-untyped-def]
    """Python has None for a stream that was closed when it began."""
    raw = io.BufferedWriter(_Dropping(handle, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding=before.encoding if before else "utf-8", errors="backslashreplace", line_buffering=True)
