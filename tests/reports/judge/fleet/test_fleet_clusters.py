# SPDX-License-Identifier: BSD-3-Clause
"""Two groups in sorted values: what is said of equal values, and of two that are apart."""

from __future__ import annotations

import math
import random
import unittest

import fleets
import workplace  # noqa: F401

from reports.judge.fleet import clusters
from reports.records.student import two_sided_p
from tests import level

LEAST, RATE = 0.02, 0.05


class Cuts(unittest.TestCase):
    def test_the_tail_is_never_below_the_true_one_and_near_it(self) -> None:
        for freedom in (2, 6, 10, 30, 126):
            for t in (3.0, 8.0, 15.0):
                p = two_sided_p(t, freedom)
                if p < 1e-250:
                    continue
                bound = clusters._log_tail(t, freedom)
                self.assertGreaterEqual(bound, math.log(p) - 1e-6, (freedom, t))
                self.assertLess(bound, math.log(p) + 1.0, (freedom, t))

    def test_two_groups_are_found_where_they_are_apart(self) -> None:
        draw = random.Random(1)
        for count, above in ((4, 2), (8, 3), (12, 5), (17, 9), (64, 30), (2000, 900)):
            values = [draw.gauss(0, 0.002) + (0.7 if place < above else 0) for place in range(count)]
            found = clusters.cut_of(values, LEAST, 0.001, RATE)
            self.assertIsNotNone(found, count)
            if found:
                self.assertEqual(found.above, tuple(range(above)))
                self.assertAlmostEqual(found.distance, 0.7, delta=0.01)

    def test_fewer_than_a_quarter_and_less_than_matters_are_no_group(self) -> None:
        self.assertIsNone(clusters.cut_of([0.0] * 10 + [0.7] * 2, LEAST, 0.001, RATE))
        self.assertIsNone(clusters.cut_of([0.0] * 6 + [0.015] * 6, LEAST, 0.00001, RATE))
        self.assertIsNone(clusters.cut_of([0.0, 0.7, 0.0], LEAST, 0.001, RATE))

    def test_equal_nodes_are_seldom_two_groups(self) -> None:
        """Two groups are found in one number at most at the rate, whatever its spread, also with heavy
        tails."""
        draw, trials = random.Random(2), level.seeds(300, 1000, 10000)
        for count in (4, 5, 8, 12, 32):
            for tail in (fleets.normal, fleets.student(5)):
                found = sum(
                    clusters.cut_of([tail(draw) for _ in range(count)], 0.0, 0.0, RATE) is not None
                    for _ in range(trials)
                )
                self.assertLessEqual(found, level.most(trials, RATE), (count, tail))


if __name__ == "__main__":
    unittest.main()
