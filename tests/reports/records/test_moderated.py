# SPDX-License-Identifier: BSD-3-Clause
"""Variances of many numbers: what they have in common is found again in drawn ones."""

from __future__ import annotations

import math
import random
import unittest
from typing import List

from reports.records.moderated import Variance, moderated, pooled, prior_of, variance_of


def drawn(seed: int, count: int, degrees: float, scale: float, common: float) -> List[Variance]:
    """Estimated variances with `degrees` each; the true ones have `common` degrees around `scale`."""
    draw, found = random.Random(seed), []
    for _ in range(count):
        true = scale * common / (2 * draw.gammavariate(common / 2, 1)) if common else scale
        found.append(Variance(true * 2 * draw.gammavariate(degrees / 2, 1) / degrees, degrees))
    return found


class Moderated(unittest.TestCase):
    def test_what_drawn_variances_have_in_common_is_found(self) -> None:
        for common, scale, degrees in ((2.0, 1.0, 3.0), (4.0, 1e-4, 3.0), (8.0, 25.0, 7.0)):
            found = prior_of(drawn(1, 4000, degrees, scale, common))
            assert found is not None
            self.assertAlmostEqual(found.degrees / common, 1, delta=0.25)
            self.assertAlmostEqual(found.variance / scale, 1, delta=0.1)

    def test_equal_variances_are_shared_and_known_no_better_than_by_all_values(self) -> None:
        found = prior_of(drawn(2, 50, 3.0, 2.0, 0.0))
        assert found is not None
        self.assertGreater(found.degrees, 20)
        self.assertLessEqual(found.degrees, 150)
        self.assertAlmostEqual(found.variance, 2.0, delta=0.4)

    def test_numbers_with_nothing_in_common_keep_their_own(self) -> None:
        found = prior_of([Variance(10.0**power, 3.0) for power in range(-8, 3)])
        assert found is not None
        self.assertLess(found.degrees, 0.5)
        own = moderated(Variance(1e-8, 3.0), found)
        self.assertLess(own.degrees, 3.5)

    def test_a_number_without_values_has_the_prior_and_one_without_a_prior_its_own(self) -> None:
        self.assertEqual(moderated(variance_of([1.0]), Variance(4.0, 2.5)), Variance(4.0, 2.5))
        self.assertEqual(moderated(Variance(3.0, 2.0), None), Variance(3.0, 2.0))

    def test_values_that_never_move_and_too_few_say_nothing(self) -> None:
        self.assertIsNone(prior_of([Variance(0.0, 3.0)] * 9 + [Variance(1.0, 3.0)] * 2))

    def test_groups_are_pooled_around_their_own_means(self) -> None:
        found = pooled([variance_of([1.0, 3.0]), variance_of([10.0, 11.0, 12.0]), variance_of([7.0])])
        self.assertAlmostEqual(found.variance, (2.0 + 2.0) / 3)
        self.assertEqual(found.degrees, 3)
        self.assertTrue(math.isfinite(pooled([]).variance))


if __name__ == "__main__":
    unittest.main()
