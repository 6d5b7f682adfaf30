# SPDX-License-Identifier: BSD-3-Clause
"""The bounds of tests that count, against the binomial distribution in exact arithmetic."""

import itertools
import math
import unittest
from fractions import Fraction
from unittest import mock

from tests import level


def more_than(count: int, trials: int, rate: Fraction) -> Fraction:
    return sum(
        math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(count + 1, trials + 1)
    )


class Bounds(unittest.TestCase):
    def test_a_false_alarm_has_the_chance_and_one_less_would_have_more(self) -> None:
        cases = itertools.product((1e-6, 0.025), (1, 5, 12, 40), (0.01, 0.05, 0.85, 0.99))
        for chance, trials, rate in cases:
            with mock.patch.object(level, "CHANCE", chance):
                bounds = level.most(trials, rate), trials - level.least(trials, 1 - rate)
            for most in bounds:
                self.assertLessEqual(more_than(most, trials, Fraction(rate)), chance, (trials, rate))
                self.assertGreater(more_than(most - 1, trials, Fraction(rate)), chance, (trials, rate))


if __name__ == "__main__":
    unittest.main()
