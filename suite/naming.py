# SPDX-License-Identifier: BSD-3-Clause
"""Names of folders that differ between nodes and processes: %h and %p in --out, and the folder without
--out."""

from __future__ import annotations

import hashlib
import os
import re
from datetime import datetime
from pathlib import Path

from suite.command_error import CommandError

_NOT_SAFE = re.compile(r"[^A-Za-z0-9._-]")
_MAX_NAME = 63  # of a label of the domain name system
_DIGITS = 8


def node() -> str:
    """What Slurm calls this node, else its host name up to the first dot."""
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]


def safe(name: str) -> str:
    """The name as one part of a path that no shell and no command takes for anything else. Where that is not
    the name itself, a hash of the name is added, so that different nodes keep different folders."""
    plain = _NOT_SAFE.sub("_", name).lstrip(".-")[:_MAX_NAME]
    if plain == name and plain:
        return plain
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
    return f"{plain[: _MAX_NAME - _DIGITS - 1] or 'node'}-{digest}"


def expand(text: str, option: str) -> str:
    """%h is the node, %p the process, %% a percent sign."""

    def of(found: "re.Match[str]") -> str:
        letter = found[1]
        if letter not in ("h", "p", "%"):
            raise CommandError(
                f"{option} '{text}': unknown '%{letter}'; %h is the node, %p the process, %% a percent sign"
            )
        return {"h": safe(node()), "p": str(os.getpid()), "%": "%"}[letter]

    return re.sub("%(.?)", of, text, flags=re.DOTALL)


def unexpanded(path: Path) -> str:
    """The path as --out and --resume take it."""
    return str(path).replace("%", "%%")


def of_a_new_run(kind: str) -> str:
    """Of a run without --out: no two runs have the same, at whatever time they start and on whatever
    nodes."""
    return f"{kind}-{safe(node())}-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}"
