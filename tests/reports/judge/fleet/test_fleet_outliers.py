# SPDX-License-Identifier: BSD-3-Clause
"""The statistics of a fleet against slow and plain ways to the same numbers, and against fleets that are
drawn here."""

from __future__ import annotations

import math
import random
import unittest
from statistics import NormalDist
from typing import List, Tuple

from reports.judge.statistics import quantile
from reports.judge.fleet import outliers

_NORMAL = NormalDist()


def plain_others(values: List[float], place: int) -> Tuple[float, float]:
    rest = values[:place] + values[place + 1 :]
    centre = quantile(rest, 0.5)
    of = outliers.share(len(rest))
    return centre, quantile([abs(v - centre) for v in rest], of) / _NORMAL.inv_cdf((1 + of) / 2)


class Others(unittest.TestCase):
    def test_each_value_is_left_out_of_its_own_others(self) -> None:
        draw = random.Random(1)
        for count in (4, 5, 6, 7, 12, 33, 34):
            for kind in range(12):  # with ties, and all equal
                values = [(draw.gauss(0, 1), float(draw.randrange(3)), 2.0)[kind % 3] for _ in range(count)]
                for place, others in enumerate(outliers.others_of(values)):
                    centre, spread = plain_others(values, place)
                    self.assertAlmostEqual(others.centre, centre, 12)
                    self.assertAlmostEqual(others.spread, spread, 12)
                    self.assertEqual(others.count, count - 1)

    def test_a_value_far_away_changes_nothing_of_what_it_is_held_against(self) -> None:
        values = [0.1, -0.3, 0.2, 0.05, -0.1]
        near, far = (outliers.others_of([*values, last])[-1] for last in (1.0, 1e9))
        self.assertEqual(near, far)

    def test_in_a_large_fleet_the_spread_is_the_mad(self) -> None:
        draw = random.Random(2)
        values = [draw.gauss(5, 3) for _ in range(4001)]
        centre = quantile(values, 0.5)
        mad = quantile([abs(v - centre) for v in values], 0.5) / _NORMAL.inv_cdf(0.75)
        self.assertAlmostEqual(outliers.others_of(values)[0].spread / mad, 1, delta=0.03)

    def test_three_values_are_too_few(self) -> None:
        self.assertRaises(ValueError, outliers.others_of, [1.0, 2.0, 3.0])


class Reference(unittest.TestCase):
    def test_student_as_scipy_has_it(self) -> None:
        try:
            from scipy import stats
        except ImportError:
            self.skipTest("skipped: no scipy")
        draw = random.Random(3)
        for _ in range(500):
            freedom, t = math.exp(draw.uniform(0, 7)), draw.choice((-1, 1)) * math.exp(draw.uniform(-5, 6))
            expected = float(stats.t.sf(t, freedom))
            self.assertLess(
                abs(outliers.student_tail(t, freedom) - expected), 1e-8 * expected + 1e-290, (t, freedom)
            )

    def test_student_of_one_and_two_degrees(self) -> None:
        for t in (0.0, 0.5, 3.0, 100.0):
            self.assertAlmostEqual(outliers.student_tail(t, 1), 0.5 - math.atan(t) / math.pi, 12)
            self.assertAlmostEqual(outliers.student_tail(t, 2), 0.5 - t / 2 / math.sqrt(2 + t * t), 12)

    def test_how_rare_a_distance_is_in_fleets_drawn_here(self) -> None:
        """Given the others, the chance of a normal node to be that far from them is known, so few fleets show
        small chances."""
        for count, fleets, ps in (
            (3, 40000, (1e-2, 2e-3)),
            (4, 30000, (1e-2, 2e-3)),
            (7, 15000, (1e-2, 1e-3)),
            (12, 8000, (1e-2, 1e-3)),
            (31, 4000, (1e-2, 1e-3, 1e-4)),
            (100, 1500, (1e-3, 1e-5)),
        ):
            draw, centre_and_spread = random.Random(count), []
            for _ in range(fleets):
                values = [draw.gauss(0, 1) for _ in range(count)]
                centre, spread = plain_others([*values, 0.0], count)
                centre_and_spread.append((centre, spread))
            for p in ps:
                z = outliers.critical(p, count)
                drawn = (
                    sum(0.5 * math.erfc((m + z * s) / math.sqrt(2)) for m, s in centre_and_spread) / fleets
                )
                self.assertTrue(0.75 < drawn / p < 1.25, (count, p, drawn))

    def test_critical_and_tail_are_inverse_and_fewer_others_have_the_longer_tail(self) -> None:
        for p in (0.2, 1e-3, 1e-7):
            limits = [outliers.critical(p, count) for count in (3, 5, 9, 17, 40, 1000)]
            self.assertEqual(limits, sorted(limits, reverse=True))
            self.assertGreater(limits[-1], _NORMAL.inv_cdf(1 - p))
            self.assertAlmostEqual(outliers.tail(limits[2], 9) / p, 1, 9)


class Many(unittest.TestCase):
    def test_the_p_of_a_node_is_that_of_simes(self) -> None:
        self.assertAlmostEqual(outliers.simes([0.01, 0.5, 1.0, 1.0]), 0.04)
        self.assertAlmostEqual(outliers.simes([0.01, 0.012, 1.0, 1.0]), 0.024)
        self.assertEqual(outliers.simes([]), 1.0)

    def test_a_node_is_called_where_one_of_its_metrics_is(self) -> None:
        draw = random.Random(4)
        for _ in range(300):
            ps = [[10 ** draw.uniform(-5, 0) for _ in range(5)] for _ in range(draw.randrange(1, 9))]
            nodes, (metrics,) = outliers.selected([ps], 0.05)
            self.assertEqual([p <= 0.05 for p in nodes], [min(own) <= 0.05 for own in metrics], ps)

    def test_a_node_that_is_slow_in_everything_makes_no_other_suspect(self) -> None:
        """Flat over nodes and metrics its 40 small p would raise the limit of all others forty times."""
        quiet = [[0.0012] + [1.0] * 39] + [[1.0] * 40 for _ in range(30)]
        nodes, _ = outliers.selected([[*quiet, [1e-9] * 40]], 0.05)
        self.assertLessEqual(nodes[-1], 0.05)
        self.assertGreater(nodes[0], 0.05)

    def test_each_kind_of_test_has_the_rate_for_itself(self) -> None:
        singles = [[1.0] * 40 for _ in range(10)]
        together = [[1.0] * 4, *[[1.0] * 3 + [1e-4]], *[[1.0] * 4] * 8]
        nodes, (of_singles, of_families) = outliers.selected([singles, together], 0.05)
        self.assertEqual([place for place, p in enumerate(nodes) if p <= 0.05], [1])
        self.assertAlmostEqual(nodes[1], 1e-4 * 4 * 10)
        self.assertEqual([min(of_singles[1]), of_families[1][3]], [1.0, 1e-4 * 4 * 10])


if __name__ == "__main__":
    unittest.main()
