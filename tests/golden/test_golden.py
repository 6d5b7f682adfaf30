# SPDX-License-Identifier: BSD-3-Clause
"""The programs on the simulated device say what they said before. A wanted change is taken over by
tests/golden/update, and then shows in the diff of the commit that makes it."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import golden

SHOWN = 8


@unittest.skipUnless(golden.programs(), f"no programs in {golden.BIN}")
class Golden(unittest.TestCase):
    def test_every_program_says_what_it_said(self) -> None:
        compared = 0
        for name in golden.programs():
            with self.subTest(program=name):
                self.assertTrue(
                    golden.golden_of(name).is_file(), "no golden file: run tests/golden/update %s" % name
                )
                expected = golden.golden_of(name).read_text(encoding="utf-8").splitlines()
                try:
                    found = golden.reduced(golden.records(name))
                except golden.Unable:
                    continue
                told = golden.differences(expected, found)
                more = ["and %d lines more" % (len(told) - SHOWN)] if len(told) > SHOWN else []
                advice = "if this is wanted: tests/golden/update %s" % name
                compared += 1
                if told:
                    self.fail("\n".join(["%d lines differ" % len(told), *told[:SHOWN], *more, advice]))
        self.assertGreater(compared, 0)

    @unittest.skipUnless("micro/memory" in golden.programs(), "micro/memory is not built")
    def test_another_model_is_noticed(self) -> None:
        name = "micro/memory"
        expected = golden.golden_of(name).read_text(encoding="utf-8").splitlines()
        found = golden.reduced(golden.records(name, "--device", "sim:quiet"))
        self.assertNotEqual(golden.differences(expected, found), [])


class Comparison(unittest.TestCase):
    def test_values_may_differ_beyond_three_digits_and_words_not_at_all(self) -> None:
        kept = "  value bandwidth kernel_4 1.23e+11 valid"
        for found in ("1.23456789012e+11", "1.2251e+11", "1.235e+11"):
            self.assertTrue(golden.same(kept, kept.replace("1.23e+11", found)), found)
        for found in ("1.2361e+11", "1.22e+11", "1.23e+10", "-1.23e+11", "-"):
            self.assertFalse(golden.same(kept, kept.replace("1.23e+11", found)), found)
        self.assertTrue(golden.same("  value x - 0 valid", "  value x - 0 valid"))
        self.assertFalse(golden.same(kept, kept.replace("kernel_4", "kernel_8")))
        self.assertFalse(golden.same(kept, kept.replace("valid", "invalid")))
        self.assertEqual(golden.rounded("  value bandwidth kernel_4 1.23456e+11 valid"), kept)

    def test_axes_and_keys_are_exact(self) -> None:
        self.assertFalse(golden.same("case size=4096 ok ok", "case size=4097 ok ok"))
        self.assertFalse(golden.same("axis size byte 65536", "axis size byte 65537"))
        self.assertEqual(golden.rounded("case size=65536 ok ok"), "case size=65536 ok ok")

    def test_a_missing_and_an_added_line_are_differences(self) -> None:
        lines = ["program a/b", "case x=1 ok", "  derived y - - 1 valid"]
        self.assertEqual(golden.differences(lines, lines), [])
        self.assertEqual(len(golden.differences(lines, lines[:-1])), 1)
        self.assertIn("case x=1", golden.differences(lines[:-1], lines)[0])


if __name__ == "__main__":
    unittest.main()
