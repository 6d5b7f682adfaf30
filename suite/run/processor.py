# SPDX-License-Identifier: BSD-3-Clause
"""The processor's name, where /proc/cpuinfo has numbers and lscpu knows what they are called."""

from __future__ import annotations

import os
import subprocess

_NAME = "GPUSIG_CPU_NAME"  # lib/provenance.c
_LIMIT_S = 10


def names_in(said: str) -> list[str]:
    """Processor names in lscpu's output, each once, in its order."""
    lines = (line.partition(":") for line in said.splitlines())
    names = [value.strip() for key, _, value in lines if key.strip() == "Model name"]
    return list(dict.fromkeys(name for name in names if name not in ("", "-")))


def offer() -> None:
    """Give the programs the processor's name to record. On x86 the kernel has it."""
    if _NAME in os.environ or os.uname().machine in ("x86_64", "i686"):
        return
    try:
        said = subprocess.run(
            ["lscpu"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
            env={**os.environ, "LC_ALL": "C"},
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return
    names = names_in(said)
    if names:
        os.environ[_NAME] = "/".join(names)
