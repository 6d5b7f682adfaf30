# SPDX-License-Identifier: BSD-3-Clause
"""How much headline numbers move from process to process, and whether the interval for another run holds
one."""

from __future__ import annotations

import math
import random
import unittest

import workplace
from test_grades import speeds

from reports.headline import headline
from reports.spread import LEAST, add_run_intervals, of_another_run, spread_of


def machine(seed: int, sigma: float, metrics: int = 40) -> "tuple":
    """Two tries of each number, and what another run of the same machine gives."""
    random_ = random.Random(seed)
    truth = [math.exp(random_.uniform(-3, 20)) for _ in range(metrics)]
    moved = [[t * (1 + random_.gauss(0, sigma)) for _ in range(3)] for t in truth]
    return {"m%d" % i: m[:2] for i, m in enumerate(moved)}, {"m%d" % i: m[2] for i, m in enumerate(moved)}


class Spread(unittest.TestCase):
    def test_it_is_the_standard_deviation_between_processes(self) -> None:
        for sigma in (0.005, 0.02, 0.1):
            found = [spread_of(machine(seed, sigma)[0])["relative"] for seed in range(60)]
            self.assertAlmostEqual(sum(found) / len(found) / sigma, 1, delta=0.1)

    def test_another_run_lies_in_the_interval_at_least_as_often_as_it_says(self) -> None:
        """Where all numbers move alike it is somewhat too wide, since it allows for some that move more."""
        covered = total = 0
        for seed in range(100):
            tries, later = machine(seed, 0.02)
            entries = {
                name: {"value": values[-1], "ci_low": values[-1], "ci_high": values[-1]}
                for name, values in tries.items()
            }
            add_run_intervals(entries, tries)
            covered += sum(e["run_low"] <= later[name] <= e["run_high"] for name, e in entries.items())
            total += len(entries)
        self.assertGreater(covered / total, 0.95)
        self.assertLess(covered / total, 0.995)

    def test_a_number_that_moves_more_than_the_others_has_a_wider_interval(self) -> None:
        spread = {"relative": 0.01, "metrics": 20}
        steady, wild = (
            of_another_run(100.0, (99.9, 100.1), tries, spread) for tries in ([100.1, 100.0], [140.0, 100.0])
        )
        self.assertLess(steady[1] - steady[0], 10)
        self.assertGreater(wild[1] - wild[0], 50)

    def test_it_holds_the_interval_of_the_samples(self) -> None:
        low, high = of_another_run(1.0, (0.5, 3.0), [1.0, 1.0], {"relative": 0.01, "metrics": 9})
        self.assertTrue(low <= 0.5 and high >= 3.0)

    def test_few_numbers_or_values_around_0_state_no_spread(self) -> None:
        tries, _ = machine(1, 0.02, LEAST - 1)
        self.assertIsNone(spread_of(tries))
        self.assertIsNone(spread_of({**tries, "around": [-0.1, 0.2], "nothing": [0.0, 0.0], "once": [1.0]}))
        self.assertEqual(spread_of({**tries, "one_more": [1.0, 1.1]})["metrics"], LEAST)


class Signature(workplace.Scratch):
    def test_headline_numbers_say_what_another_run_would_give(self) -> None:
        count = LEAST + 1
        once = speeds(*[None] * count)
        signature = self.signature(once)
        self.assertIsNone(signature.json["run_spread"])
        self.assertNotIn("run_low", next(iter(signature.primary.values())))
        twice = self.signature(once + speeds(*[None] * count, run="r2", scale=1.03))
        self.assertAlmostEqual(twice.json["run_spread"]["relative"], 0.0296 / 0.954, delta=1e-3)
        for entry in twice.primary.values():
            self.assertTrue(entry["run_low"] <= entry["ci_low"] and entry["run_high"] >= entry["ci_high"])
            self.assertGreater(entry["run_high"] - entry["run_low"], 2 * 0.03 * entry["value"])
        self.assertIn("of what another run of this machine would", " ".join(headline(twice).split()))


if __name__ == "__main__":
    unittest.main()
