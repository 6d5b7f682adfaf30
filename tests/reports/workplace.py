# SPDX-License-Identifier: BSD-3-Clause
"""A scratch folder for a test, and the package under test on the path."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import io
import re
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Tuple

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
for own in ("method", "reports"):
    if str(ROOT / "tests" / own) not in sys.path:
        sys.path.insert(0, str(ROOT / "tests" / own))

import synthetic
from suite import __main__ as driver
from suite.commands.report import build_folder
from reports.records.record_file import read
from reports.records.records import Records
from reports.records.validate import validate_file
from reports.signature.signature import Signature, build


HAVE_JINJA2 = importlib.util.find_spec("jinja2") is not None


@functools.lru_cache(maxsize=None)
def example() -> Tuple[Path, Tuple[int, str, str]]:
    """A run of every program and its page, in a folder that all tests read, and what building it said."""
    holder = tempfile.TemporaryDirectory()
    atexit.register(holder.cleanup)
    folder = Path(holder.name)
    synthetic.store(folder, synthetic.everything())
    return folder, run_command("build", str(folder))


def run_command(*arguments: str) -> Tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, or of `build DIR` and `validate FILE`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if arguments[0] == "build":  # as the child of ./gpusig report does
            code = build_folder(Path(arguments[1]), "--strict" in arguments)
        elif arguments[0] == "validate":  # as python -m reports.records.validate does
            code = validate_file(Path(arguments[1]))
        else:
            code = driver.main(list(arguments))
    return code, out.getvalue(), err.getvalue()


class Scratch(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def records(self, text: str) -> Records:
        return read(synthetic.store(self.folder, text))

    def signature(self, text: str) -> Signature:
        return build(self.records(text))

    def run_build(self, text: str) -> Tuple[int, str, str]:
        """Exit code, stdout and stderr of `build`."""
        synthetic.store(self.folder, text)
        return self.run_command("build", str(self.folder))

    def example(self) -> Tuple[int, str, str]:
        """As run_build(everything()), once for all tests: they only read in this folder."""
        self.folder, said = example()
        return said

    run_command = staticmethod(run_command)

    def page(self) -> str:
        return (self.folder / "report.html").read_text(encoding="utf-8")

    def plain_page(self) -> str:
        """Without links to words, and with ordinary spaces."""
        return re.sub(r'<a class="term"[^>]*>([^<]*)</a>', r"\1", self.page()).replace(
            "\N{NO-BREAK SPACE}", " "
        )

    @staticmethod
    def first_screen(page: str) -> str:
        return page.split('<nav id="contents"')[0]
