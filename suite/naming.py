# SPDX-License-Identifier: BSD-3-Clause
"""Names of folders that differ between nodes and processes: %h and %p in --out, and the default of --out."""

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
    """Slurm's name of this node, else the host name up to the first dot."""
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]


def safe(name: str) -> str:
    """The name as one part of a path that no shell or command misreads. A name that is changed for that gets
    a hash of itself, so that different nodes keep different folders."""
    plain = _NOT_SAFE.sub("_", name).lstrip(".-")[:_MAX_NAME]
    if plain == name and plain:
        return plain
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
    return f"{plain[: _MAX_NAME - _DIGITS - 1] or 'node'}-{digest}"


def expand(text: str, option: str) -> str:
    """Replace %h by the node, %p by the process and %% by a percent sign. Anything else is a CommandError."""

    def of(found: "re.Match[str]") -> str:
        letter = found[1]
        if letter not in ("h", "p", "%"):
            raise CommandError(
                f"{option} '{text}': unknown '%{letter}'; %h is the node, %p the process, %% a percent sign"
            )
        return {"h": safe(node()), "p": str(os.getpid()), "%": "%"}[letter]

    return re.sub("%(.?)", of, text, flags=re.DOTALL)


def unexpanded(path: Path) -> str:
    """The path with its percent signs doubled, as --out and --resume take it."""
    return str(path).replace("%", "%%")


def of_a_new_run(kind: str) -> str:
    """Name of the folder of a run without --out. No two runs have the same, whatever their nodes and starting
    times."""
    return f"{kind}-{safe(node())}-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}"
