# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA's libraries in Python's packages, where PyTorch's wheels put them: on many machines they are the
only ones."""

from __future__ import annotations

import os
import shutil
import subprocess

_USERS, _OURS = "GPUSIG_LIBRARIES", "GPUSIG_PYTHON_LIBRARIES"  # device/gpu/dynlib.h
_FOLDERS = """import glob, nvidia
print(*(f for path in nvidia.__path__ for f in sorted(glob.glob(path + '/*/lib'))), sep='\\n')"""
_LIMIT_S = 10


def offer() -> None:
    """Add the library folders of the user's Python, not of ours, as the last that programs search, unless the
    user names others."""
    python = shutil.which("python3")
    if _USERS in os.environ or _OURS in os.environ or python is None:
        return
    try:
        said = subprocess.run(
            [python, "-c", _FOLDERS], capture_output=True, text=True, check=False, timeout=_LIMIT_S
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return
    folders = [folder for folder in said.splitlines() if ":" not in folder]
    if folders:
        os.environ[_OURS] = ":".join(folders)
