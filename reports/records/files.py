# SPDX-License-Identifier: BSD-3-Clause
"""Write a file whole or not at all."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

from reports.records.jsonl import Json


def as_json(found: Json) -> str:
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_whole(path: Path, text: str) -> None:
    """Write the file in one step: a reader never sees half of it, and a link of its name is replaced, not
    followed. A folder, a pipe, a device or a name in /dev is not replaced but an OSError."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_file() or path.parent.resolve() == Path("/dev"):
        raise FileExistsError(errno.EEXIST, "it is not a regular file")
    fresh = path.with_name(".%s.%d" % (path.name, os.getpid()))
    fresh.unlink(missing_ok=True)  # of a process that was killed
    try:
        with open(fresh, "x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.replace(fresh, path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
