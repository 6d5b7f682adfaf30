# SPDX-License-Identifier: BSD-3-Clause
"""Messages: wrapped on a terminal, a line each where another program reads them."""

import contextlib
import io
import unittest

from suite import saying


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def said(stream, *words):
    with contextlib.redirect_stderr(stream):
        saying.show(*words)
    return stream.getvalue().splitlines()


class Saying(unittest.TestCase):
    LONG = "skipped " + " ".join(["a reason that nobody wants to read twice"] * 4)

    def test_a_terminal_gets_lines_of_80_columns_that_lose_no_word(self):
        lines = said(_Terminal(), self.LONG, "    ")
        self.assertGreater(len(lines), 1)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(" ".join(line.strip() for line in lines), self.LONG)
        self.assertTrue(lines[0].startswith("    skipped") and lines[1].startswith("        "))

    def test_a_path_is_not_broken(self):
        path = "/" + "long-folder/" * 9
        self.assertIn(path, " ".join(said(_Terminal(), f"into {path}")).split())

    def test_elsewhere_a_message_is_a_line(self):
        self.assertEqual(said(io.StringIO(), self.LONG, "    "), ["    " + self.LONG])

    def test_a_message_of_gpusig_says_so(self):
        stream = io.StringIO()
        with contextlib.redirect_stderr(stream):
            saying.say("done")
        self.assertEqual(stream.getvalue(), "gpusig: done\n")

    def test_one_is_no_plural(self):
        self.assertEqual([saying.count(n, "run") for n in (0, 1, 2)], ["0 runs", "1 run", "2 runs"])


if __name__ == "__main__":
    unittest.main()
