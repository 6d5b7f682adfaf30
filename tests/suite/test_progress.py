# SPDX-License-Identifier: BSD-3-Clause
"""Lines that a run prints as it proceeds."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from suite.run import progress

try:
    import rich.console
except ImportError:
    rich = None


class Watched(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.file = Path(holder.name) / "progress.json"

    def says(self, **now):
        self.file.write_text(json.dumps({"number": 3, "of": 40, "key": "op=read", "last": None, **now}))

    def test_half_an_object_is_nothing(self):
        for text in ("", "{", '{"number": 3', "[]", "3", '{"key": "x"}'):
            self.file.write_text(text)
            self.assertEqual(progress.read(self.file), {})
        self.says()
        self.assertEqual(progress.read(self.file)["number"], 3)

    def test_lines_where_there_is_no_terminal(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            shown = progress.choose(10.0, self.file)
            for name in ("headline", "curves"):
                shown.begin_pass(name, 12)
                shown.begin("a/b", "what is it?", 2.0)
                shown.tick()
                shown.end("a/b", "ok, 2 cases in 1.0 s", False)
            shown.close()
        self.assertEqual(
            said.getvalue().splitlines(),
            [
                "[headline  1/12] a/b (2.0 s)",
                "    what is it?",
                "    ok, 2 cases in 1.0 s",
                "[curves  1/12] a/b (2.0 s)",
                "    ok, 2 cases in 1.0 s",
            ],
        )

    def test_of_a_part_only_what_fails(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            shown = progress.choose(10.0, self.file, "3/8 ")
            shown.begin_pass("headline", 2)
            for name, bad in (("a/b", False), ("a/c", True)):
                shown.begin(name, "what is it?", 2.0)
                shown.tick()
                shown.end(name, "ended", bad)
            shown.close()
        self.assertEqual(said.getvalue().splitlines(), ["a/c: ended"])

    @unittest.skipIf(rich is None, "needs the Python package rich")
    def test_on_a_terminal_the_case_and_the_last_headline_number(self):
        out = io.StringIO()
        shown = progress.Live(10.0, self.file, rich.console.Console(file=out, force_terminal=True, width=80))
        shown.begin_pass("curves", 12)
        shown.begin("a/b", "what is it?", 2.0)
        self.assertIn("curves  1/12", out.getvalue())
        self.assertIn("left", out.getvalue())
        self.says(last={"metric": "read_bandwidth", "text": "31 GB/s"})
        shown.tick()
        self.assertIn("a/b 3/40 op=read   read bandwidth 31 GB/s", out.getvalue())
        self.says(key="k" * 300)
        out.truncate(0)
        shown.tick()
        self.assertNotIn("k" * 80, out.getvalue())
        shown.end("a/b", "failed", True)
        out.truncate(0)
        shown.begin("a/c", "", 2.0)
        self.assertNotIn("kkk", out.getvalue())
        self.assertIn("a/c   read bandwidth 31 GB/s", out.getvalue())
        shown.close()


if __name__ == "__main__":
    unittest.main()
