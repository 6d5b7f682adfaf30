# SPDX-License-Identifier: BSD-3-Clause
"""The statistics of a comparison against scipy, statsmodels, numpy, enumeration and simulation, and against
answers by hand."""

from __future__ import annotations

import math
import random
import unittest
from functools import lru_cache
from itertools import combinations
from typing import List, Tuple

from reports.judge.statistics import adjusted, binomial_interval, least_p, mann_whitney, quantile, shift
from tests import level

try:
    import numpy
    from scipy import stats
except ImportError:
    stats = None
try:
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.proportion import proportion_confint
except ImportError:
    multipletests = None

INPUTS = level.seeds(100, 150, 1000)
with_scipy = unittest.skipUnless(stats, "no scipy to compare with")
with_statsmodels = unittest.skipUnless(multipletests, "no statsmodels to compare with")
# By values a side: the largest U that is rejected at one end of the 95 % interval, and how many choices have
# it or less.
REJECTED = {4: (0, 1), 5: (2, 4), 8: (13, 321), 10: (23, 3996)}
Sides = Tuple[List[float], List[float]]


def distinct(random_: random.Random, most: int = 12, least: int = 1) -> Sides:
    """Two sides of integers without ties, the second shifted by something in every other input."""
    n_a, n_b = random_.randint(least, most), random_.randint(least, most)
    values = random_.sample(range(1 << 20), n_a + n_b)
    moved = random_.choice((0, 1 << 21)) + random_.randrange(1 << 19) * 2
    a, b = (
        [2 * v for v in values[:n_a]],
        [2 * v + 1 + moved for v in values[n_a:]],
    )  # even and odd: no ties after the move
    return a, b


def tied(random_: random.Random, most: int = 12, least: int = 1) -> Sides:
    levels = random_.randint(1, 6)
    a = [random_.randrange(levels) for _ in range(random_.randint(least, most))]
    return a, [random_.randrange(levels) + random_.randrange(2) for _ in range(random_.randint(least, most))]


@lru_cache(maxsize=None)
def deals(n_a: int, n: int) -> "numpy.ndarray":
    return numpy.array(list(combinations(range(n), n_a)))


def enumerated_p(a: List[float], b: List[float]) -> float:
    """Among all ways to deal the values out: how many have a rank sum as small, or as large, as that of a."""
    ranks = stats.rankdata([*a, *b])
    sums = ranks[deals(len(a), len(ranks))].sum(axis=1)
    seen = ranks[: len(a)].sum()
    return min(1, 2 * min((sums <= seen + 1e-9).mean(), (sums >= seen - 1e-9).mean()))


class MannWhitney(unittest.TestCase):
    def near(self, found: float, expected: float, of: object) -> None:
        self.assertTrue(
            math.isclose(found, expected, rel_tol=1e-10), "%r: %r is not %r" % (of, found, expected)
        )

    def test_known_answers(self) -> None:
        self.assertEqual(mann_whitney([1, 2, 3, 4], [5, 6, 7, 8]), 2 / 70)
        self.assertEqual(mann_whitney([1, 2, 3, 5], [4, 6, 7, 8]), 4 / 70)
        self.assertEqual(mann_whitney([1, 3], [2, 4]), 4 / 6)
        self.assertEqual(
            mann_whitney([1, 1, 1], [1, 2, 2]), 8 / 20
        )  # 4 of 20 choices are three of the four 1
        self.assertEqual(mann_whitney([7] * 5, [7] * 9), 1)
        self.assertEqual(mann_whitney([7] * 25, [7] * 3), 1)
        self.assertEqual(mann_whitney([1], [2]), 1)

    def test_the_least_p_is_that_of_sides_that_do_not_overlap(self) -> None:
        for n_a, n_b in ((1, 1), (3, 3), (4, 4), (5, 5), (8, 8), (10, 10), (20, 20), (1, 20), (7, 3)):
            self.assertEqual(least_p(n_a, n_b), min(1, 2 / math.comb(n_a + n_b, n_a)))
        for n_a, n_b in ((3, 5), (6, 6), (21, 21), (40, 8), (60, 60)):
            self.assertEqual(least_p(n_a, n_b), mann_whitney(range(n_a), range(n_a, n_a + n_b)))
            self.assertEqual(least_p(n_a, n_b), least_p(n_b, n_a))

    @with_scipy
    def test_without_ties_it_is_scipy_s_exact_test(self) -> None:
        random_ = random.Random(1)
        for case in range(INPUTS):
            a, b = distinct(random_, 12 if case % 10 else 20)
            self.near(mann_whitney(a, b), stats.mannwhitneyu(a, b, method="exact").pvalue, (a, b))

    @with_scipy
    def test_with_ties_it_is_the_exact_permutation_test(self) -> None:
        random_ = random.Random(2)
        for case in range(INPUTS):
            a, b = tied(random_, 5 if case % 10 else 7)
            self.near(mann_whitney(a, b), enumerated_p(a, b), (a, b))

    @with_scipy
    def test_large_sides_with_ties_are_exact(self) -> None:
        """At 20 a side with two levels the rank sum counts one level: Fisher's exact test knows its tails."""
        random_ = random.Random(4)
        for _ in range(40):
            n_a, n_b = random_.randint(10, 20), random_.randint(10, 20)
            ones_a, ones_b = random_.randint(0, n_a), random_.randint(0, n_b)
            a, b = [0] * (n_a - ones_a) + [1] * ones_a, [0] * (n_b - ones_b) + [1] * ones_b
            table = [[ones_a, n_a - ones_a], [ones_b, n_b - ones_b]]
            tails = [stats.fisher_exact(table, alternative=side)[1] for side in ("less", "greater")]
            self.near(mann_whitney(a, b), min(1, 2 * min(tails)), (a, b))

    @with_scipy
    def test_beyond_20_it_is_scipy_s_normal_approximation(self) -> None:
        random_ = random.Random(5)
        for case in range(INPUTS):
            a, b = (tied if case % 2 else distinct)(random_, 30)
            a += [random_.randrange(9) / 4 for _ in range(21 - len(a))]
            if len({*a, *b}) > 1:
                a, b = (a, b) if case % 4 < 2 else (b, a)
                self.near(mann_whitney(a, b), stats.mannwhitneyu(a, b, method="asymptotic").pvalue, (a, b))

    @level.only_all
    def test_where_nothing_changed_it_is_small_as_rarely_as_it_says(self) -> None:
        """With ties it is small no more often; without, the exact rate of p <= 0.05 for 8 and 8 is 0.0499."""
        random_ = random.Random(6)
        for levels, least in ((10**9, 0.044), (4, 0.03)):
            draw = [[random_.randrange(levels) for _ in range(16)] for _ in range(8000)]
            rate = sum(mann_whitney(values[:8], values[8:]) <= 0.05 for values in draw) / len(draw)
            self.assertTrue(least < rate < 0.056, rate)

    def test_sides_and_order_do_not_matter(self) -> None:
        random_ = random.Random(7)
        for case in range(INPUTS):
            a, b = (tied if case % 2 else distinct)(random_, 30 if case % 10 == 0 else 12)
            found = mann_whitney(a, b)
            self.assertEqual(found, mann_whitney(b, a))
            self.assertEqual(found, mann_whitney(random_.sample(a, len(a)), sorted(b)))
            self.assertTrue(0 < found <= 1)

    def test_a_monotone_transformation_changes_nothing(self) -> None:
        random_ = random.Random(8)
        for case in range(INPUTS):
            a, b = (tied if case % 2 else distinct)(random_)
            found = mann_whitney(a, b)
            for change in (lambda v: v / 16 + 3, lambda v: v**3, lambda v: -v, lambda v: 5 - v * v):
                self.assertEqual(found, mann_whitney([change(v) for v in a], [change(v) for v in b]))

    def test_further_apart_is_never_less_significant(self) -> None:
        random_ = random.Random(9)
        for case in range(200):
            a, b = (tied if case % 2 else distinct)(random_)
            above = [v - min(b) + max(a) for v in b]
            found = [mann_whitney(a, [v + step * (max(a) - min(a)) / 4 for v in above]) for step in range(5)]
            self.assertEqual(found, sorted(found, reverse=True))

    def test_no_values_and_values_that_are_not_finite_are_refused(self) -> None:
        for bad in ([], [1, math.nan], [math.inf, 1.0]):
            for test in (mann_whitney, shift):
                for sides in ((bad, [1.0]), ([1.0], bad)):
                    self.assertRaises(ValueError, test, *sides)
        self.assertRaises(ValueError, least_p, 0, 3)
        self.assertRaises(ValueError, shift, [1.7e308], [-1.7e308])  # the difference overflows
        self.assertRaises(ValueError, shift, [0.0], [1.7e308, 1.7e308])  # the sum for its median does


class Shift(unittest.TestCase):
    def test_known_answers(self) -> None:
        self.assertEqual(shift([1, 2, 3], [11, 12, 13]), (10, None, None))
        self.assertEqual(shift([1], [3]), (2, None, None))
        self.assertEqual(
            shift([1, 2, 3, 4], [11, 12, 13, 14]), (10, 7, 13)
        )  # 97.1 %: nothing but the extremes is left out
        # 3 and 3 reach 0.9 exactly: 1 - 2 / 20.
        self.assertEqual(shift([0, 10, 20], [100, 101, 102], 0.9), (91, 80, 102))
        self.assertEqual(shift([0, 10, 20], [100, 101, 102], 0.9001), (91, None, None))
        # 10 and 10, from tables: U up to 23 is rejected, so the ends are the 24th differences.
        a, b = [100 * i for i in range(10)], list(range(10))
        ordered = sorted(y - x for x in a for y in b)
        self.assertEqual(shift(a, b), (-445.5, ordered[23], ordered[-24]))

    @with_scipy
    def test_the_interval_is_what_scipy_s_exact_test_does_not_reject(self) -> None:
        random_ = random.Random(11)
        bounded = 0
        for case in range(INPUTS):
            a, b = distinct(random_, 12 if case % 10 else 20)
            estimate, low, high = shift(a, b)

            def p_at(moved: float) -> float:
                return stats.mannwhitneyu([v + moved for v in a], b, method="exact").pvalue

            if low is None:
                self.assertIsNone(high)
                self.assertGreater(least_p(len(a), len(b)), 0.05)
                continue
            bounded += 1
            inside = [low + 0.25, high - 0.25, random_.uniform(low + 0.25, high - 0.25)]
            for moved in inside if low < high else ():
                self.assertGreater(p_at(moved), 0.05, (a, b, moved))
            for moved in (low - 0.25, high + 0.25):
                self.assertLessEqual(p_at(moved), 0.05, (a, b, moved))
        self.assertGreater(bounded, INPUTS / 2)

    @with_scipy
    def test_the_interval_of_many_values_is_what_the_normal_approximation_does_not_reject(self) -> None:
        random_ = random.Random(12)
        for _ in range(INPUTS // 10):
            a, b = distinct(random_, 60, 21)
            _, low, high = shift(a, b)
            for moved, rejected in (
                (low + 0.25, False),
                (high - 0.25, False),
                (low - 0.25, True),
                (high + 0.25, True),
            ):
                found = stats.mannwhitneyu([v + moved for v in a], b, method="asymptotic").pvalue
                self.assertEqual(found <= 0.05, rejected, (a, b, moved))

    @with_scipy
    def test_moved_by_the_estimate_neither_side_is_above(self) -> None:
        random_ = random.Random(13)
        for case in range(INPUTS):
            a, b = (tied if case % 2 else distinct)(random_)
            estimate, low, high = shift(a, b)
            below, above = (
                stats.mannwhitneyu([v + estimate + step for v in a], b).statistic for step in (-0.25, 0.25)
            )
            self.assertTrue(below <= len(a) * len(b) / 2 <= above, (a, b))
            self.assertTrue(low is None or low <= estimate <= high)

    def test_it_holds_the_truth_as_often_as_it_says(self) -> None:
        """Lognormal values that are 5 % larger after."""
        random_ = random.Random(14)
        truth = math.log(1.05)
        for n, (_, rejected) in REJECTED.items():
            trials, held = level.seeds(6000, 20000, 60000) // n, 0
            for _ in range(trials):
                a, b = (
                    [math.log(scale * random_.lognormvariate(3, 0.1)) for _ in range(n)]
                    for scale in (1, 1.05)
                )
                _, low, high = shift(a, b)
                held += low <= truth <= high
            exact = 1 - 2 * rejected / math.comb(2 * n, n)
            self.assertAlmostEqual(held / trials, exact, delta=5 * math.sqrt(exact * (1 - exact) / trials))

    @with_scipy
    def test_the_confidence_by_enumeration(self) -> None:
        for n, (most, rejected) in REJECTED.items():
            u = deals(n, 2 * n).sum(axis=1) - n * (n - 1) // 2
            self.assertEqual((u <= most).sum(), rejected)
            self.assertLessEqual(2 * rejected, 0.05 * len(u))
            self.assertGreater(2 * (u <= most + 1).sum(), 0.05 * len(u))

    def test_coarse_values_are_held_no_less_often(self) -> None:
        random_ = random.Random(15)
        held = 0
        for _ in range(4000):
            a, b = ([round(random_.gauss(0, 2)) + moved for _ in range(8)] for moved in (0, 3))
            _, low, high = shift(a, b)
            held += low <= 3 <= high
        self.assertGreater(held / 4000, 0.95)

    def test_swapping_the_sides_negates_it_to_the_bit(self) -> None:
        random_ = random.Random(16)
        for case in range(INPUTS):
            n_a, n_b = (
                (random_.randint(1, 30), random_.randint(1, 30))
                if case % 10 == 0
                else (random_.randint(1, 12), random_.randint(1, 12))
            )
            a, b = (
                [random_.gauss(0.1, 1) * 10 ** random_.uniform(-3, 3) for _ in range(n)] for n in (n_a, n_b)
            )
            there, back = shift(a, b), shift(b, a)
            self.assertEqual(there[0], -back[0])
            self.assertEqual(there[1:], (None, None) if back[1] is None else (-back[2], -back[1]))
            self.assertEqual(there, shift(random_.sample(a, n_a), sorted(b)))

    def test_zero_has_no_sign(self) -> None:
        for sides in (([0.0] * 4, [-0.0] * 4), ([-0.0] * 4, [0.0] * 4)):
            self.assertEqual(str(shift(*sides)), "(0.0, 0.0, 0.0)")

    def test_what_is_added_to_a_side_is_added_to_the_shift(self) -> None:
        random_ = random.Random(17)
        for case in range(200):
            a, b = (tied if case % 2 else distinct)(random_)
            moved = shift(a, [v + 37 for v in b])
            self.assertEqual(moved, tuple(None if v is None else v + 37 for v in shift(a, b)))
            self.assertEqual(moved, shift([v - 37 for v in a], b))

    def test_more_confidence_is_wider(self) -> None:
        random_ = random.Random(18)
        for case in range(200):
            a, b = distinct(random_, 30 if case % 4 == 0 else 12)
            rows = [shift(a, b, confidence)[1:] for confidence in (0.5, 0.8, 0.9, 0.95, 0.99)]
            spans = [math.inf if low is None else high - low for low, high in rows]
            self.assertEqual(spans, sorted(spans))
        for bad in (0, 1, math.nan):
            self.assertRaises(ValueError, shift, [1.0], [2.0], bad)


class Adjusted(unittest.TestCase):
    def test_known_answers(self) -> None:
        self.assertEqual(adjusted([]), [])
        self.assertEqual(adjusted([0.04]), [0.04])
        for found, expected in zip(adjusted([0.01, 0.04, 0.03, 0.005]), [0.02, 0.04, 0.04, 0.02]):
            self.assertAlmostEqual(found, expected, delta=1e-16)
        self.assertEqual(adjusted([1.0, 0.5, 0.0]), [1.0, 0.75, 0.0])
        for bad in (-0.1, 1.1, math.nan):
            self.assertRaises(ValueError, adjusted, [0.5, bad])

    @with_statsmodels
    def test_it_is_statsmodels_fdr_bh(self) -> None:
        random_ = random.Random(21)
        for case in range(INPUTS):
            ps = [
                random_.random() ** random_.randint(1, 8)
                for _ in range(random_.randint(1, 12 if case % 10 else 60))
            ]
            ps += random_.sample(ps, len(ps) // 3) + [0.0, 1.0] * (case % 2)
            random_.shuffle(ps)
            for found, expected in zip(adjusted(ps), multipletests(ps, method="fdr_bh")[1]):
                self.assertTrue(math.isclose(found, expected, rel_tol=1e-12), ps)

    def test_the_order_of_the_tests_does_not_matter_and_none_gets_smaller(self) -> None:
        random_ = random.Random(22)
        for _ in range(INPUTS):
            ps = [random_.randint(0, 40) / 40 for _ in range(random_.randint(1, 30))]
            found = adjusted(ps)
            order = random_.sample(range(len(ps)), len(ps))
            self.assertEqual(adjusted([ps[i] for i in order]), [found[i] for i in order])
            self.assertTrue(all(p <= q <= 1 for p, q in zip(ps, found)))
            self.assertEqual([q for _, q in sorted(zip(ps, found))], sorted(found))

    def test_false_discoveries_are_as_rare_as_asked_for(self) -> None:
        """20 tests, 5 of real changes: the expected share of false ones among those rejected at 0.1 is 0.1 *
        15 / 20."""
        random_ = random.Random(23)
        shares = []
        for _ in range(4000):
            ps = [random_.random() * (1e-3 if i < 5 else 1) for i in range(20)]
            rejected = [i for i, q in enumerate(adjusted(ps)) if q <= 0.1]
            shares.append(sum(i >= 5 for i in rejected) / max(1, len(rejected)))
        self.assertAlmostEqual(sum(shares) / len(shares), 0.075, delta=0.01)


class BinomialInterval(unittest.TestCase):
    def test_known_answers(self) -> None:
        self.assertEqual(binomial_interval(0, 0), (0, 1))
        for n in (1, 3, 10, 200):
            low, high = binomial_interval(0, n)
            self.assertEqual(low, 0)
            self.assertAlmostEqual(high, 1 - 0.025 ** (1 / n), delta=1e-12)
        for found, expected in zip(binomial_interval(1, 10), (0.0025285785, 0.4450161170)):
            self.assertAlmostEqual(found, expected, delta=1e-9)
        for k, n in ((-1, 3), (4, 3)):
            self.assertRaises(ValueError, binomial_interval, k, n)
        self.assertRaises(ValueError, binomial_interval, 1, 3, 1.0)

    @with_statsmodels
    def test_it_is_statsmodels_interval(self) -> None:
        random_ = random.Random(31)
        for case in range(INPUTS):
            n = random_.randint(1, 2000 if case % 20 == 0 else 60)
            k, confidence = random_.randint(0, n), random_.choice((0.5, 0.9, 0.95, 0.999))
            expected = proportion_confint(k, n, 1 - confidence, method="beta")
            for ours, theirs in zip(binomial_interval(k, n, confidence), expected):
                self.assertAlmostEqual(ours, theirs, delta=1e-9, msg=(k, n, confidence))

    def test_either_outcome_may_be_the_one_that_is_counted(self) -> None:
        for n in (1, 7, 40):
            for k in range(n + 1):
                low, high = binomial_interval(k, n)
                self.assertTrue(low <= k / n <= high)
                for found, expected in zip(binomial_interval(n - k, n), (1 - high, 1 - low)):
                    self.assertAlmostEqual(found, expected, delta=1e-15)


class Quantile(unittest.TestCase):
    def test_known_answers(self) -> None:
        self.assertEqual(quantile([3, 1, 2, 4, 10, 9, 8, 7, 6, 5], 0.5), 5.5)
        self.assertEqual([quantile([30, 10, 20], share) for share in (0, 0.25, 0.5, 1)], [10, 15, 20, 30])
        self.assertEqual(quantile([7], 0.95), 7)
        for bad in (([], 0.5), ([1], -0.1), ([1], 1.1), ([1], math.nan), ([math.nan], 0.5)):
            self.assertRaises(ValueError, quantile, *bad)

    @with_scipy
    def test_it_is_numpy_s(self) -> None:
        random_ = random.Random(41)
        for case in range(INPUTS):
            values = [
                random_.gauss(0, 1) if case % 2 else random_.randrange(4)
                for _ in range(random_.randint(1, 30))
            ]
            share = random_.choice((0.0, 0.05, 0.5, 0.9, 0.95, 1.0, random_.random()))
            self.assertAlmostEqual(quantile(values, share), numpy.quantile(values, share), delta=1e-12)
            self.assertTrue(min(values) <= quantile(values, share) <= max(values))
