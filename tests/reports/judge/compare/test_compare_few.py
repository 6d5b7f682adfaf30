# SPDX-License-Identifier: BSD-3-Clause
"""Fewer than 8 runs on a side: what is called changed, what is likely, and what takes more runs."""

from __future__ import annotations

import math
import random
import unittest
from dataclasses import replace
from statistics import fmean, variance
from typing import Callable, Dict, List, Mapping

import workplace  # noqa: F401

from machines import Machine, judged, name_of, verdicts
from reports.records import student
from reports.judge.compare import few, noise, verdict
from reports.judge.compare.gpusig import number_of
from reports.judge.compare.numbers import Number, RunNumbers
from reports.judge.compare.verdict import Known, Settings
from reports.records.moderated import Variance, variance_of
from tests import level

CHANGED = {"regress", "improve"}
LIKELY = {"likely worse", "likely better"}
METRICS = 24
Draw = Callable[[random.Random], float]


def t2(draw: random.Random) -> float:
    return 0.01 * draw.gauss(0, 1) / math.sqrt(draw.expovariate(1))


def normal(draw: random.Random) -> float:
    return draw.gauss(0, 0.01)


def outliers(draw: random.Random) -> float:
    return draw.gauss(0, 0.01) + (math.log(8) if draw.random() < 0.01 else 0.0)


def levels(draw: random.Random) -> float:
    return draw.gauss(0, 0.005) + (0.08 if draw.random() < 0.5 else 0.0)


def runs_of(draw: random.Random, count: int, of: Draw, slower: Mapping[int, float] = {}) -> List[RunNumbers]:
    """Runs of times whose metrics are independent."""
    return [
        RunNumbers(
            "run-%d" % i,
            "test",
            {
                name_of(m): Number(math.exp(of(draw)) * slower.get(m, 1.0), "s", "lower")
                for m in range(METRICS)
            },
            "%d of %r" % (i, draw.random()),
        )
        for i in range(count)
    ]


def counted(trials: int, before: int, after: int, of: Draw) -> Dict[str, int]:
    """Comparisons of equal sides that call anything changed, and likely."""
    found = {"changed": 0, "likely": 0}
    for seed in range(trials):
        draw = random.Random(seed)
        words = set(verdicts(judged(runs_of(draw, before, of), runs_of(draw, after, of))).values())
        found["changed"] += bool(words & CHANGED)
        found["likely"] += bool(words & LIKELY)
    return found


def known_of(draw: random.Random, of: Draw, runs: int = 16) -> Settings:
    """As of a noise file of so many equal runs."""
    known = {}
    for metric in range(METRICS):
        values = [of(draw) for _ in range(runs)]
        known[name_of(metric)] = Known(variance_of(values), few.has_levels(values, 0.02))
    return Settings(known=known, chance_evidence={1: 3.0, 2: 3.0, 3: 3.0})


class Levels(unittest.TestCase):
    def share(self, of: Draw, count: int, trials: int) -> float:
        draw = random.Random(count)
        return sum(bool(few.has_levels([of(draw) for _ in range(count)])) for _ in range(trials)) / trials

    def test_two_levels_are_seen_and_one_is_none(self) -> None:
        for count in (12, 16, 30):
            self.assertGreater(self.share(levels, count, 100), 0.95)
            self.assertLess(self.share(normal, count, 400), 0.04)
            self.assertLess(self.share(t2, count, 400), 0.15)
            self.assertLess(self.share(outliers, count, 400), 0.07)

    def test_few_values_tell_nothing_and_equal_ones_have_none(self) -> None:
        self.assertIsNone(few.has_levels([0.0] * 5 + [1.0] * 6))
        self.assertFalse(few.has_levels([1.0] * 12))
        self.assertFalse(few.has_levels([0.0] * 11 + [1.0]))  # one alone is no level
        self.assertTrue(few.has_levels([0.0] * 10 + [1.0, 1.0]))


class Test(unittest.TestCase):
    def test_of_one_metric_it_is_student_s(self) -> None:
        before, after = [1.0, 2.0, 4.0], [5.0, 3.0, 9.0, 6.0]
        (found,) = few.tested([few.Metric(before, after)])
        pooled = (2 * variance(before) + 3 * variance(after)) / 5
        error = math.sqrt(pooled * (1 / 3 + 1 / 4))
        self.assertAlmostEqual(found.change, fmean(after) - fmean(before))
        self.assertAlmostEqual(found.error, error)
        self.assertAlmostEqual(found.p, student.two_sided_p(found.change / error, 5))

    def test_one_against_many_is_a_prediction_interval(self) -> None:
        draw, held, trials = random.Random(1), 0, level.seeds(400, 1000, 4000)
        for _ in range(trials):
            (found,) = few.tested([few.Metric([draw.gauss(0, 1) for _ in range(30)], [draw.gauss(0, 1)])])
            held += abs(found.change) <= found.half(0.9)
        self.assertGreaterEqual(held, level.least(trials, 0.9))
        self.assertLessEqual(held, level.most(trials, 0.9))

    def test_what_a_noise_file_knows_counts_with_its_degrees(self) -> None:
        (found,) = few.tested([few.Metric([1.0], [2.0], Variance(0.5, 15.0))])
        self.assertAlmostEqual(found.error, 1.0)
        self.assertEqual(found.degrees, 15.0)
        self.assertEqual(few.tested([few.Metric([1.0], [2.0])]), [None])
        self.assertEqual(few.tested([few.Metric([None], [2.0], Variance(0.5, 15.0))]), [None])

    def test_ways_to_deal_runs_out(self) -> None:
        self.assertEqual([few.deals(*n) for n in ((3, 3), (4, 4), (30, 1), (5, 3))], [10, 35, 31, 56])
        metrics = [few.Metric([0.0, 0.1, 0.2, 0.1], [1.0, 1.1, 1.2, 1.3])]
        others = few.dealt_evidence(metrics, 4, 4)
        self.assertEqual(len(others), 34)
        self.assertEqual(few.chance_of(few.evidence(metrics), others), 1 / 35)


class EqualSides(unittest.TestCase):
    def test_they_are_hardly_ever_called_changed(self) -> None:
        """Permutations of the runs decide, whatever the noise."""
        trials = level.seeds(25, 60, 300)
        for before, after in ((5, 5), (30, 1)):
            for of in (normal, t2, outliers, levels):
                found = counted(trials, before, after, of)
                with self.subTest(sides=(before, after), of=of.__name__):
                    self.assertLessEqual(found["changed"], level.most(trials, 0.05))

    def test_three_a_side_of_which_nothing_is_known_are_at_most_likely(self) -> None:
        trials = level.seeds(40, 100, 400)
        for of in (normal, t2, outliers, levels):
            found = counted(trials, 3, 3, of)
            self.assertEqual(found["changed"], 0)
            self.assertLessEqual(found["likely"], level.most(trials, 0.1), of.__name__)

    def test_which_runs_lack_a_value_says_nothing(self) -> None:
        """Among one run against all others at most one in N can be the rarest, whatever values it lacks."""
        for seed in range(level.seeds(3, 10, 40)):
            draw = random.Random(seed)
            runs = runs_of(draw, 14, t2)
            for run in runs:
                for m in draw.sample(range(METRICS), 4):
                    number = run.numbers[name_of(m)]
                    run.numbers[name_of(m)] = replace(number, value=None, reason="gone")
            called = 0
            for place in range(len(runs)):
                words = verdicts(judged(runs[:place] + runs[place + 1 :], [runs[place]]))
                called += bool(set(words.values()) & (LIKELY | CHANGED))
            self.assertLessEqual(called, 1)


class SlowDowns(unittest.TestCase):
    def found(self, before: int, after: int, slower: float, settings: bool, of: Draw = normal) -> List[str]:
        words = []
        for seed in range(level.seeds(12, 30, 100)):
            draw = random.Random(seed)
            known = known_of(draw, of) if settings else Settings()
            sides = runs_of(draw, before, of), runs_of(draw, after, of, {0: slower, 1: slower})
            made = verdicts(judged(*sides, known))
            words += [made[name_of(0)], made[name_of(1)]]
        return words

    def test_one_against_thirty_and_three_against_three_with_a_noise_file(self) -> None:
        for before, after, settings, slower in (
            (30, 1, False, 1.06),
            (3, 3, True, 1.05),
            (5, 5, False, 1.05),
        ):
            words = self.found(before, after, slower, settings)
            with self.subTest(sides=(before, after)):
                self.assertGreaterEqual(words.count("regress"), level.least(len(words), 0.9))

    def test_three_against_three_alone_are_likely(self) -> None:
        words = self.found(3, 3, 1.10, False)
        self.assertEqual(set(words) - LIKELY - {"inconclusive"}, set())
        self.assertGreaterEqual(words.count("likely worse"), level.least(len(words), 0.8))

    def test_a_metric_with_levels_takes_eight_runs(self) -> None:
        for before, after, settings in ((3, 3, True), (30, 1, False)):
            self.assertEqual(set(self.found(before, after, 1.5, settings, levels)), {"inconclusive"})
        draw = random.Random(1)
        sides = runs_of(draw, 30, levels), runs_of(draw, 1, levels, {0: 1.5})
        row = judged(*sides)["metrics"][0]
        self.assertEqual(row["reason"], "its equal runs come in two levels; 8 runs a side can tell")
        self.assertEqual(row["repeats"], 8)

    def test_one_run_against_noise_of_a_third_is_not_judged(self) -> None:
        draw = random.Random(2)
        sides = runs_of(draw, 1, normal), runs_of(draw, 1, normal, {0: 1 / 40.0})
        known = {name_of(m): Known(Variance(0.3**2, 15.0), False) for m in range(METRICS)}
        row = judged(*sides, Settings(known=known))["metrics"][0]
        self.assertEqual(row["verdict"], "inconclusive")
        self.assertIn("cannot be judged here by so few runs: equal ones differ by 3", row["reason"])

    def test_how_many_runs_decide_is_counted_with_the_noise_file(self) -> None:
        draw = random.Random(3)
        for equal, few_ones, enough in ((16, 2, True), (11, 2, False), (16, 1, False), (40, 1, True)):
            settings = known_of(draw, normal, equal)
            asked = verdict.decides(settings, few_ones, few_ones)
            self.assertEqual((equal, few_ones, asked), (equal, few_ones, enough))
        settings = replace(known_of(draw, normal, 16), chance_evidence={2: 3.0})
        self.assertEqual(verdict.least_runs(1, 1, settings), 2)
        self.assertEqual(verdict.least_runs(1, 1, Settings()), 5)

    def test_one_against_one_with_a_noise_file(self) -> None:
        draw = random.Random(3)
        for count, word, code in ((40, "regress", 1), (20, "likely worse", 3)):  # runs of the file
            settings = known_of(draw, normal, count)
            found = judged(runs_of(draw, 1, normal), runs_of(draw, 1, normal, {0: 1.15}), settings)
            self.assertEqual((verdicts(found)[name_of(0)], found["outcome"]["exit"]), (word, code))

    def test_a_machine_of_which_all_that_is_known_are_its_own_tries(self) -> None:
        entry = {"unit": "s", "better": "lower", "primary": True}
        sides = []
        for factor in (1.0, 1.3):
            numbers = {}
            for m in range(METRICS):
                value = factor if not m else 1.0 + m / 1000
                ends = {"run_low": value * 0.97, "run_high": value * 1.03, "run_degrees": 4.0}
                numbers[name_of(m)] = number_of(name_of(m), {**entry, "value": value, **ends})
            sides.append([RunNumbers("r", "test", numbers, str(factor))])
        found = judged(*sides)
        self.assertEqual(
            found["outcome"]["sentence"],
            "Inconclusive: metric 0 30 % higher (worse); 1 run a side cannot exclude chance: 3 runs a side "
            "tell what is likely, 5 can decide.",
        )
        self.assertEqual(set(verdicts(found).values()), {"inconclusive"})
        self.assertLess(found["metrics"][0]["change"]["high"], 1.5)


class Noise(unittest.TestCase):
    def test_how_many_equal_runs_know_how_much_evidence_is_usual(self) -> None:
        """Among two new runs and 38 equal ones one of the two is the most extreme of all in 1 of 20 cases."""
        self.assertEqual(
            [few.least_known(*asked) for asked in ((1, 0.05), (1, 0.1), (3, 0.05))], [38, 18, 12]
        )
        machine = Machine(4, 0.002, 0.0)
        for runs, sides in ((11, []), (12, [2, 3, 4]), (18, [1, 2, 3, 4])):
            found = noise.of_few(machine.runs(runs), [name_of(0)], Settings(), (1, 2, 3, 4))[1]
            self.assertEqual(sorted(found), sides)

    def test_equal_runs_that_drift_make_no_evidence_enough(self) -> None:
        names = [name_of(m) for m in range(METRICS)]
        for by, drifts in ((0.0, False), (0.006, True)):
            draw, equal = random.Random(4), []
            for place in range(16):
                (run,) = runs_of(draw, 1, lambda own, place=place: normal(own) + by * place)
                equal.append(replace(run, started="2026-01-01T00:%02d:00" % place))
            known, chance_evidence = noise.of_few(equal, names, Settings(), (3,))
            self.assertEqual(chance_evidence[3] > 1000, drifts)
            settings = Settings(known=known, chance_evidence=chance_evidence)
            sides = runs_of(draw, 3, normal), runs_of(draw, 3, normal, {0: 1.3})
            row = judged(*sides, settings)["metrics"][0]
            self.assertEqual(row["verdict"], "inconclusive" if drifts else "regress")


class Equivalent(unittest.TestCase):
    def test_what_no_dealing_tells_is_not_likely(self) -> None:
        machine = Machine(4, 0.002, 0.0)
        for counts, words in (
            ((2, 2), "2 runs a side cannot exclude chance: 3 runs a side tell what is likely, 5 can decide."),
            ((6, 1), "1 run after cannot exclude chance: 2 runs after tell what is likely, 5 can decide."),
        ):
            sides = machine.runs(counts[0]), machine.runs(counts[1], {0: 1.3})
            found = judged(*sides)
            self.assertEqual((found["outcome"]["verdict"], found["outcome"]["exit"]), ("inconclusive", 3))
            self.assertRegex(
                found["outcome"]["sentence"],
                r"^Inconclusive: metric 0 .* lower( and .*)? \(worse\).*; " + words,
            )
            self.assertEqual(found["metrics"][0]["reason"], "so few runs cannot exclude chance")

    def test_three_quiet_runs_a_side_are_and_two_are_too_few(self) -> None:
        machine = Machine(4, 0.002, 0.0)
        self.assertEqual(judged(machine.runs(3), machine.runs(3))["outcome"]["exit"], 0)
        row = judged(machine.runs(1), machine.runs(2))["metrics"][0]
        self.assertEqual(row["verdict"], "inconclusive")


if __name__ == "__main__":
    unittest.main()
