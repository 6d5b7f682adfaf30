# SPDX-License-Identifier: BSD-3-Clause
"""brought.py COMMAND...: real tools for tests, on PATH or in build/tools, where suite/setup/setup.sh puts
what it does not install.

Prints the variables with which they all run, a line each, or says what is missing and ends with 1.
"""

from __future__ import annotations

import os
import shutil
import sys
import unittest
from pathlib import Path
from typing import Dict, List

TOOLS = Path(__file__).resolve().parent.parent / "build/tools"
_BINARIES = ("usr/bin", "usr/sbin", "bin")
_LIBRARIES = ("usr/lib", "usr/lib/*-linux-*", "usr/lib/*-linux-*/slurm-wlm")


def _folder(command: str) -> Path:
    """Folder in build/tools of the package that has the command. unittest.SkipTest if there is none."""
    for folder in sorted(path for path in TOOLS.glob("*") if path.is_dir()):
        if any(os.access(folder / place / command, os.X_OK) for place in _BINARIES):
            return folder
    raise unittest.SkipTest("no %s; sh suite/setup/setup.sh lab brings it" % command)


def environment(*commands: str) -> Dict[str, str]:
    """PATH, LD_LIBRARY_PATH and PYTHONPATH with which these commands run; unittest.SkipTest where one is not
    here."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    folders = list(
        dict.fromkeys(_folder(command) for command in commands if not shutil.which(command, path=path))
    )
    modules = [str(folder) for folder in folders if (folder / "bin").is_dir()]  # of pip --target
    binaries = [str(folder / place) for folder in folders for place in _BINARIES if (folder / place).is_dir()]
    libraries = [str(path) for folder in folders for place in _LIBRARIES for path in folder.glob(place)]
    found = {"PATH": _front(binaries, path)}
    for name, front in (("LD_LIBRARY_PATH", libraries), ("PYTHONPATH", modules)):
        if front:
            found[name] = _front(front, os.environ.get(name, ""))
    return found


def _front(first: List[str], rest: str) -> str:
    return ":".join(first + [rest] * bool(rest))


if __name__ == "__main__":
    try:
        print("\n".join("%s=%s" % item for item in environment(*sys.argv[1:]).items()))
    except unittest.SkipTest as why:
        sys.exit(str(why))
