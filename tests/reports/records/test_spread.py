# SPDX-License-Identifier: BSD-3-Clause
"""Spread of headline numbers from process to process, and whether the interval for another run contains
one."""

from __future__ import annotations

import math
import random
import unittest
from statistics import median
from typing import Dict, List, Sequence, Tuple

import workplace
from tests.reports.signature.test_grades import speeds

from reports.signature.headline import headline
from reports.records.spread import (
    LEAST,
    Tried,
    add_run_intervals,
    deviation_of,
    of_another_run,
    source_of,
    spread_of,
    variance_of_median,
)

Tries = Dict[str, Sequence[float]]


def machine(seed: int, sigmas: Sequence[float], tries: int = 4) -> Tuple[Tries, Dict[str, float]]:
    """Tries of each number, and what another run of the same machine gives, which has as many."""
    draw = random.Random(seed)
    found, later = {}, {}
    for i, sigma in enumerate(sigmas):
        truth = math.exp(draw.uniform(-3, 20))
        moved = [truth * math.exp(draw.gauss(0, sigma)) for _ in range(2 * tries)]
        found["m%d" % i], later["m%d" % i] = moved[:tries], median(moved[tries:])
    return found, later


def entries_of(tries: Tries, unit: str = "s") -> Dict[str, dict]:
    return {
        name: {"value": median(own), "unit": unit, "ci_low": min(own), "ci_high": max(own)}
        for name, own in tries.items()
    }


def shares(sigmas: Sequence[float], seeds: int = 150) -> Tuple[List[float], List[float]]:
    """Share of seeds in which each number's interval contains the other run, and the mean half width in the
    number's standard deviations between runs."""
    held, widths = [0.0] * len(sigmas), [0.0] * len(sigmas)
    for seed in range(seeds):
        tries, later = machine(seed, sigmas)
        entries = entries_of(tries)
        add_run_intervals(entries, {name: Tried("s", own) for name, own in tries.items()})
        for i, sigma in enumerate(sigmas):
            own = entries["m%d" % i]
            held[i] += (own["run_low"] <= later["m%d" % i] <= own["run_high"]) / seeds
            deviation = sigma * math.sqrt(variance_of_median(4))
            widths[i] += math.log(own["run_high"] / own["run_low"]) / 2 / deviation / seeds
    return held, widths


class Spread(unittest.TestCase):
    def test_another_run_lies_in_the_interval_where_all_numbers_move_alike(self) -> None:
        held, widths = shares([0.02] * 40)
        self.assertAlmostEqual(sum(held) / 40, 0.95, delta=0.025)
        self.assertLess(sum(widths) / 40, 1.3 * 1.96 * math.sqrt(2))

    def test_and_where_they_move_by_amounts_that_differ_twentyfold(self) -> None:
        sigmas = [0.01, 0.03, 0.1, 0.2] * 10
        held, widths = shares(sigmas)
        for sigma in sorted(set(sigmas)):
            of = [share for share, own in zip(held, sigmas) if own == sigma]
            self.assertGreater(sum(of) / len(of), 0.90, sigma)
        quiet = [width for width, own in zip(widths, sigmas) if own == 0.01]
        self.assertLess(sum(quiet) / len(quiet), 2.3 * 1.96 * math.sqrt(2))

    def test_a_group_is_not_widened_by_another(self) -> None:
        drawn, _ = machine(3, [0.2] * 20 + [0.001] * 6)
        groups = ["gemm/split/"] * 20 + ["micro/memory/"] * 6
        tries = {of + name: Tried("s", own) for of, (name, own) in zip(groups, drawn.items())}
        spread = spread_of(tries)
        assert spread is not None
        self.assertAlmostEqual(spread["families"]["Memory"]["relative"], 0.001, delta=0.0005)
        self.assertAlmostEqual(spread["families"]["Compute"]["relative"], 0.2, delta=0.1)
        ends = of_another_run("micro/memory/x@sim", 100.0, Tried("s", [100.0]), spread)
        assert ends is not None
        self.assertLess(ends["run_high"] - ends["run_low"], 2)

    def test_a_number_that_moves_more_than_the_others_has_a_wider_interval(self) -> None:
        tries, _ = machine(1, [0.01] * 20)
        spread = spread_of({name: Tried("s", own) for name, own in tries.items()})
        steady, wild = (
            of_another_run("x", 100.0, Tried("s", own), spread)
            for own in ([100.1, 100.0, 99.9], [140.0, 100.0, 95.0])
        )
        assert steady is not None and wild is not None
        self.assertLess(steady["run_high"] - steady["run_low"], 6)
        self.assertGreater(wild["run_high"] - wild["run_low"], 20)

    def test_a_number_with_one_try_is_taken_to_move_as_its_samples_scatter(self) -> None:
        drawn, _ = machine(5, [0.005, 0.02] * 12)
        tries = {n: Tried("s", own, (0.002, 0.08)[i % 2]) for i, (n, own) in enumerate(drawn.items())}
        spread = spread_of(tries)
        ends = [of_another_run("x", 1.0, Tried("s", [1.0], half), spread) for half in (0.002, 0.08)]
        narrow, wide = (math.log(end["run_high"] / end["run_low"]) for end in ends if end)
        self.assertAlmostEqual(wide / narrow, math.sqrt(40), delta=0.01)

    def test_few_numbers_or_values_without_logarithms_state_no_spread(self) -> None:
        tries, _ = machine(1, [0.02] * (LEAST - 1))
        known = {name: Tried("s", own) for name, own in tries.items()}
        self.assertIsNone(spread_of(known))
        none = {
            "around": Tried("s", [-0.1, 0.2]),
            "nothing": Tried("s", [0.0, 0.0]),
            "once": Tried("s", [1.0]),
        }
        self.assertIsNone(spread_of({**known, **none}))
        found = spread_of({**known, "one_more": Tried("s", [1.0, 1.1])})
        assert found is not None
        self.assertEqual(found["metrics"], LEAST)

    def test_a_fraction_that_may_be_0_has_an_interval_of_differences(self) -> None:
        ends = of_another_run("a/b/overlap_efficiency", 0.01, Tried("", [-0.01, 0.01, 0.02]), None)
        assert ends is not None
        self.assertTrue(-0.2 < ends["run_low"] < -0.005 and 0.02 < ends["run_high"] < 0.2)
        self.assertIsNone(of_another_run("a/b/overlap_efficiency", 0.5, Tried("", [0.5]), None))

    def test_the_deviation_is_found_again_in_the_entry(self) -> None:
        tries, _ = machine(1, [0.01] * 20)
        entries = entries_of(tries)
        add_run_intervals(entries, {name: Tried("s", own) for name, own in tries.items()})
        for name, entry in entries.items():
            found = deviation_of(entry, name)
            assert found is not None
            self.assertTrue(0.001 < math.sqrt(found.variance) < 0.02)
            self.assertEqual(found.degrees, entry["run_degrees"])
        early = {"value": 1.0, "unit": "s", "run_low": -0.2, "run_high": 2.2, "run_degrees": 5.0}
        self.assertIsNone(deviation_of(early, "x"))


class Signature(workplace.Scratch):
    def test_headline_numbers_say_what_another_run_would_give(self) -> None:
        count = LEAST + 1
        once = speeds(*[None] * count)
        signature = self.signature(once)
        self.assertIsNone(signature.json["run_spread"])
        self.assertNotIn("run_low", next(iter(signature.primary.values())))
        scales = [1.03, 0.98]
        again = "".join(speeds(*[None] * count, run="r%d" % i, scale=s) for i, s in enumerate(scales))
        tried = self.signature(once + again)
        self.assertAlmostEqual(tried.json["run_spread"]["relative"], 0.025, delta=0.01)
        for entry in tried.primary.values():
            self.assertTrue(entry["run_low"] < entry["value"] < entry["run_high"])
            self.assertEqual(source_of(entry), "its 3 tries")
        self.assertIn("of what another run of this machine would", " ".join(headline(tried).split()))


if __name__ == "__main__":
    unittest.main()
