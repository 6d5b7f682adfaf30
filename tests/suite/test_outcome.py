# SPDX-License-Identifier: BSD-3-Clause
"""Counting tests: a stream that ends early, a skip, a failure with its words."""

import unittest

from suite.testing.outcome import Outcome, of_tap, of_unittest


class Tap(unittest.TestCase):
    def counts(self, text, code=0):
        outcome = of_tap("x", text, code)
        return outcome.passed, len(outcome.failures), len(outcome.skips)

    def test_plan_first_and_plan_last(self):
        self.assertEqual(self.counts("1..2\nok 1 a\nok 2 b\n"), (2, 0, 0))
        self.assertEqual(self.counts("ok 1 a\nok 2 b\n1..2\n"), (2, 0, 0))

    def test_failures_carry_their_words(self):
        outcome = of_tap("x", "1..2\nnot ok 1 a\n# why\n# more\nok 2 b\n# no\n", 1)
        self.assertEqual(outcome.failures, ["x: a\nwhy\nmore"])
        outcome = of_tap("x", "# no\nok 1 a\n# why\n# more\nnot ok 2 b\nnot ok 3 c\n1..3\n", 1)
        self.assertEqual(outcome.failures, ["x: b\nwhy\nmore", "x: c"])

    def test_skips_have_reasons_in_both_spellings(self):
        outcome = of_tap("x", "1..2\nok 1 a # skip no gpu\nok 2 b # SKIP one device\n", 0)
        self.assertEqual(outcome.skips, ["x: a: no gpu", "x: b: one device"])
        self.assertEqual(outcome.passed, 0)

    def test_an_early_end_is_a_failure(self):
        self.assertEqual(self.counts("1..3\nok 1 a\n", 139), (1, 1, 0))
        self.assertEqual(self.counts("ok 1 a\n", 139), (1, 1, 0))
        self.assertEqual(self.counts("", 1), (0, 1, 0))

    def test_a_bad_exit_without_a_failed_test_is_a_failure(self):
        self.assertEqual(self.counts("1..1\nok 1 a\n", 1), (1, 1, 0))

    def test_an_empty_plan_is_a_skip(self):
        self.assertEqual(self.counts("1..0 # SKIP no device\n"), (0, 0, 1))


class Unittest(unittest.TestCase):
    TEXT = (
        "test_a (m.C) ... ok\ntest_b (m.C) ... skipped 'no browser'\ntest_c (m.C) ... FAIL\n\n"
        "======\nFAIL: test_c (m.C)\n------\nTraceback\n\nRan 3 tests in 0.1s\n\nFAILED (failures=1, "
        "skipped=1)\n"
    )

    def test_counts(self):
        outcome = of_unittest("x", self.TEXT, 1)
        self.assertEqual(str(outcome), "1 passed, 1 failed, 1 skipped")

    def test_no_test_or_no_count_is_a_failure(self):
        self.assertEqual(len(of_unittest("x", "\nRan 0 tests in 0.0s\n\nOK\n", 0).failures), 1)
        self.assertEqual(len(of_unittest("x", "Segmentation fault", -11).failures), 1)

    def test_sums(self):
        total = Outcome(1, ["a"], ["b"])
        total += Outcome(2, ["c"], [])
        self.assertEqual(str(total), "3 passed, 2 failed, 1 skipped")


if __name__ == "__main__":
    unittest.main()
