# SPDX-License-Identifier: BSD-3-Clause
"""Percentiles of single operations, their intervals, and two levels."""

from __future__ import annotations

import json
import math
import random
import unittest
from typing import Callable, Dict, List

import synthetic
import workplace
from reports.signature import tails
from reports.signature.section import Panels, Table

UNIMODAL: Dict[str, Callable[[random.Random], float]] = {
    "normal": lambda r: r.gauss(10, 1),
    "log-normal": lambda r: math.exp(r.gauss(0, 1)),
    "exponential": lambda r: 1 + r.expovariate(1),
    "Pareto": lambda r: r.paretovariate(1.5),
    "uniform": lambda r: r.uniform(1, 3),
    "ticks": lambda r: float(round(r.gauss(2.5, 0.3))),
}


def two(r: random.Random, share: float) -> float:
    return r.gauss(120 if r.random() < share else 100, 1)


class Percentiles(unittest.TestCase):
    def test_it_is_an_order_statistic_and_none_of_too_few(self) -> None:
        times = [float(i) for i in range(1, 1001)]
        found = tails.percentile(times, 0.99)
        assert found and found.high
        self.assertEqual((found.value, found.low < 990 < found.high), (990.0, True))
        self.assertIsNone(tails.percentile(times[:99], 0.99))
        self.assertIsNone(tails.percentile(times[:19], 0.95))
        few = tails.percentile(times[:100], 0.99)
        assert few
        self.assertIsNone(few.high)

    def test_the_interval_holds_the_truth_in_95_of_100(self) -> None:
        r = random.Random(7)
        for p, n in ((0.95, 200), (0.99, 1000)):
            truth, held = -math.log(1 - p), 0
            for _ in range(400):
                found = tails.percentile([r.expovariate(1) for _ in range(n)], p)
                assert found and found.high
                held += found.low <= truth <= found.high
            self.assertGreater(held, 400 * 0.93)


class Levels(unittest.TestCase):
    def test_of_one_level_under_1_in_100_passes(self) -> None:
        r = random.Random(5)
        for name, draw in UNIMODAL.items():
            with self.subTest(name):
                told = sum(bool(tails.levels([draw(r) for _ in range(200)])) for _ in range(300))
                self.assertLess(told, 3)

    def test_two_are_found_with_their_shares(self) -> None:
        r = random.Random(6)
        for share in (0.2, 0.5, 0.8):
            low, high = tails.levels([two(r, share) for _ in range(500)])
            self.assertAlmostEqual(low.value, 100, delta=1)
            self.assertAlmostEqual(high.value, 120, delta=1)
            self.assertAlmostEqual(high.share, share, delta=0.08)

    def test_few_rare_or_near_ones_are_not_told(self) -> None:
        r = random.Random(8)
        self.assertEqual(tails.levels([two(r, 0.5) for _ in range(199)]), [])
        self.assertEqual(tails.levels([two(r, 0.03) for _ in range(500)]), [])
        self.assertEqual(tails.levels([100.0, 104.0] * 200), [])
        self.assertEqual(tails.levels([1.0] * 400), [])


class Told(workplace.Scratch):
    def signature_of(self, times: List[float]) -> object:
        lines = [json.loads(line) for line in synthetic.launch().text().splitlines()]
        case = next(line for line in lines if line["kind"] == "case")
        self.name = case["variants"][0]["name"]
        case["variants"][0]["singles_s"] = times
        return self.signature("".join(json.dumps(line) + "\n" for line in lines))

    def test_signature_and_section_say_percentiles_with_their_count(self) -> None:
        r = random.Random(9)
        signature = self.signature_of([1e-6 * two(r, 0.5) for _ in range(1000)])
        (tail,) = signature.json["tails"]
        self.assertEqual((tail["variant"], tail["n"], len(tail["levels"])), (self.name, 1000, 2))
        self.assertTrue(tail["p95_low"] <= tail["p95"] <= tail["p95_high"] <= tail["p99_high"])
        section = signature.sections[0]
        table, panels = tails.figures(section)
        assert isinstance(table, Table) and isinstance(panels, Panels)
        self.assertEqual(table.rows[0][1], "1000")
        self.assertIn("Two levels: ", section.summary)
        self.assertIn("1000 values at", panels.drawn()[0])

    def test_too_few_are_counted_and_none_is_no_table(self) -> None:
        signature = self.signature_of([1e-6] * 30)
        (tail,) = signature.json["tails"]
        self.assertNotIn("p99", tail)
        (table,) = tails.figures(signature.sections[0])
        assert isinstance(table, Table)
        self.assertEqual(table.rows[0][4:], ["not enough samples: 30 of 100", "one"])
        signature = self.signature_of([])
        self.assertNotIn("tails", signature.json)
        self.assertEqual(tails.figures(signature.sections[0]), [])


if __name__ == "__main__":
    unittest.main()
