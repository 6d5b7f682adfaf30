# SPDX-License-Identifier: BSD-3-Clause
"""The score of choices: intervals and p by the book, and what a row says."""

import math
import unittest

from reports.predict import check
from reports.predict.check import Interval
from reports.predict.simulation import Case, Simulated
from reports.predict.skill import Pair, difference, mcnemar, sentence, wilson

WAYS = ("serial", "shard")


def row(
    cases: dict[str, tuple[dict[str, float], dict[str, float]]], noise: float = 0.001, correct: bool = False
) -> dict:
    """A row of own times and those of the model, by case and way."""
    own = {
        key: {way: Interval(t, t * (1 - noise), t * (1 + noise)) for way, t in times.items()}
        for key, (times, _) in cases.items()
    }
    model = {
        key: Case(dict(times), {way: (1.0, 1.0) for way in times}, chooses=True)
        for key, (_, times) in cases.items()
    }
    found = check._compared(Simulated({}, frozenset(), model), own, correct)
    return {"program": "overlap/ficco", "reason": "", **found}


class Skill(unittest.TestCase):
    def test_wilson_by_the_book(self) -> None:
        self.assertIsNone(wilson(0, 0))
        low, high = wilson(81, 100) or (0, 0)
        self.assertAlmostEqual(low, 0.7222, delta=5e-4)
        self.assertAlmostEqual(high, 0.8749, delta=5e-4)
        for of in range(1, 200):
            for right in (0, of):
                low, high = wilson(right, of) or (-1, 2)
                self.assertTrue(0 <= low < high <= 1, (low, high))

    def test_the_difference_to_a_constant_choice(self) -> None:
        """By hand: of four choices of two shapes ours are right in all, the constant one in one."""
        pairs = [Pair(m, True, other) for m, other in zip((1, 1, 2, 2), (True, False, False, False))]
        found = difference(pairs)
        self.assertEqual((found["value"], found["better"], found["worse"], found["shapes"]), (0.75, 3, 0, 2))
        self.assertEqual(found["ci"], [0.5, 1.0])
        self.assertEqual(found["p"], mcnemar(3, 0))
        worse = difference([Pair(1, False, True)])
        self.assertEqual((worse["value"], worse["ci"]), (-1, [-1, -1]))

    def test_mcnemar_by_the_book(self) -> None:
        self.assertEqual(mcnemar(3, 0), 0.25)
        self.assertEqual(mcnemar(0, 0), 1.0)
        self.assertAlmostEqual(mcnemar(1, 9), 2 * 11 / 1024)

    def test_choices_are_counted(self) -> None:
        cases = {
            "shape=a way=1": ({"serial": 1.0, "shard": 2.0}, {"serial": 1.0, "shard": 3.0}),
            "shape=a way=2": ({"serial": 1.0, "shard": 0.8}, {"serial": 1.0, "shard": 0.9}),
            "shape=b way=1": ({"serial": 1.0, "shard": 0.5}, {"serial": 1.0, "shard": 1.1}),
            "shape=c way=1": ({"serial": 1.0, "shard": 1.015}, {"serial": 1.0, "shard": 0.9}),
        }
        found = row(cases)
        self.assertEqual((found["choices"], found["right"], found["undecided"]), (3, 2, 1))
        self.assertEqual((found["constant"], found["constant_right"]), ("shard", 2))
        self.assertAlmostEqual(found["mean_loss"], 1.0 / 3)
        self.assertAlmostEqual(found["mean_loss_when_wrong"], 1.0)
        self.assertAlmostEqual(found["between"], (math.log(1.5) + math.log(1.015 / 0.9)) / 2)
        self.assertEqual(found["over_constant"]["shapes"], 2)
        said = sentence(found)
        self.assertIn(
            "a fastest way in 2 of 3 unseen cases of overlap/ficco (67 %, 95 %: 21 % to 94 %)", said
        )
        self.assertIn("always shard in 2; difference 0 %", said)

    def test_choices_are_corrected_by_other_shapes_alone(self) -> None:
        """The model hides a fifth of shard, in all shapes but one, which hence is wrong once corrected."""
        model = {"serial": 1.0, "shard": 0.9}
        own = {"serial": 1.0, "shard": 1.125}
        cases = {"op=ag-gemm shape=%s copy-method=engine" % shape: (own, model) for shape in "abcd"}
        self.assertEqual(row(cases)["right"], 0)
        self.assertEqual((row(cases)["corrections"], row(cases)["corrected"]), ([], None))
        found = row(cases, correct=True)
        self.assertEqual((found["right"], found["choices"]), (4, 4))
        self.assertAlmostEqual(found["median"], 0.1, delta=0.01)
        self.assertAlmostEqual(found["corrected"], 0)
        self.assertAlmostEqual(found["between"], 0)
        self.assertAlmostEqual({c["schedule"]: c["ratio"] for c in found["corrections"]}["shard"], 1.25)
        cases["op=ag-gemm shape=e copy-method=engine"] = ({"serial": 1.0, "shard": 0.9}, model)
        found = row(cases, correct=True)
        self.assertEqual((found["right"], found["choices"]), (4, 5))

    def test_noise_leaves_nothing_to_choose(self) -> None:
        found = row({"shape=a": ({"serial": 1.0, "shard": 1.2}, {"serial": 1.0, "shard": 1.1})}, 0.1)
        self.assertEqual((found["choices"], found["undecided"], found["right_ci"]), (0, 1, None))
        self.assertIsNotNone(found["between"])
        self.assertEqual(sentence(found), "")

    def test_where_a_constant_choice_is_impossible_the_first_way_takes_its_place(self) -> None:
        cases = {
            "shape=a": ({"serial": 2.0, "shard": 2.0, "cut": 1.0}, {"serial": 2.0, "shard": 2.0, "cut": 1.0}),
            "shape=b": ({"serial": 1.0, "shard": 2.0}, {"serial": 1.0, "shard": 2.0}),
        }
        self.assertEqual((row(cases)["constant"], row(cases)["constant_right"]), ("cut", 2))

    def test_a_way_without_others_is_no_choice(self) -> None:
        found = row({"shape=a": ({"serial": 1.0}, {"serial": 1.0})})
        self.assertEqual((found["times"], found["choices"], found["between"]), (1, 0, None))


if __name__ == "__main__":
    unittest.main()
