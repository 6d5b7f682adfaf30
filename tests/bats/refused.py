# SPDX-License-Identifier: BSD-3-Clause
"""refused.py FOLDER <TABLE: what ./gpusig refuses in this folder, all of it in one process. A line of the
table is CODE|WORDS|TEXT: these words end with this code (or one of "2,77"), with nothing on stdout, one line
on stderr that contains the text, and the folder as it was, but for locks, which are held until the process
ends.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from suite import __main__ as driver
from suite.run import libraries, programs


def answer(words: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = driver.main(words)
        except SystemExit as error:
            code = error.code
    return code, out.getvalue(), err.getvalue()


def content(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.lstat().st_size) for path in folder.rglob("*") if path.name != "lock")


libraries.offer = lambda: None  # looked for with another Python
programs._ask = functools.cache(programs._ask)  # their descriptions stay as they are
os.chdir(ROOT)
here = Path(sys.argv[1])
before, count = content(here), 0
for line in sys.stdin:
    codes, words, text = line.rstrip("\n").split("|", 2)
    code, out, err = answer(["--cwd", str(here), *shlex.split(words)])
    print(f"# {words}\n{code}: {err}{out}")
    fits = err.startswith("gpusig: ") and text in err and err.count("\n") == 1
    if str(code) not in codes.split(",") or out or not fits:
        sys.exit(f"expected {codes} and '{text}'")
    count += 1
written = sorted(set(content(here)) ^ set(before))
sys.exit(f"written: {written}" if written else not count)
