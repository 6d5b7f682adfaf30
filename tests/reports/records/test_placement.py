# SPDX-License-Identifier: BSD-3-Clause
"""Cores that a hypervisor moves: which tries count, what the page says, and what is compared with what."""

from __future__ import annotations

import random
import unittest
from typing import List, Optional, Sequence

import workplace
from record_writer import Writer, axis, headline, value
from reports.signature import machine
from reports.judge.compare import placement
from reports.judge.compare.gpusig import number_of
from reports.judge.compare.numbers import Number, RunNumbers
from reports.records.placement import LEVEL, is_at, levels_of, usual

SIBLINGS, NEAR, FAR = 32e-9, 50e-9, 230e-9


def tries(*speeds_at: Sequence[float]) -> str:
    """One headline number, tried once for each (speed, latency)."""
    text = ""
    for i, (speed, latency) in enumerate(speeds_at):
        heads = [headline("speed", "speed", {"depth": 1}, "plain", "byte/s")]
        w = Writer("overlap/novel", heads, [axis("depth", "", [1])], run="r%d" % i)
        w.case(
            {"depth": 1},
            [w.variant("plain", 1e-3)],
            [value("speed", "plain", speed, "byte/s", ci_low=0.99 * speed, ci_high=1.01 * speed)],
            surroundings={
                "others": 0.0,
                "stolen": 0.0,
                "core_latency_s": latency,
                "core_latency_min_s": latency,
                "core_latency_max_s": latency,
                "rounds_left_out": 0,
            },
        )
        text += w.end().text()
    return text


class Levels(unittest.TestCase):
    def test_every_latency_is_in_one_level_and_gaps_part_them(self) -> None:
        chance = random.Random(5)
        for _ in range(200):
            latencies = [10 ** chance.uniform(-8, -6) for _ in range(chance.randint(1, 30))]
            levels = levels_of(latencies)
            self.assertEqual(sorted(latencies), [each for level in levels for each in level])
            for level, further in zip(levels, levels[1:]):
                self.assertGreater(further[0], LEVEL * level[-1])

    def test_the_usual_place_is_that_of_most(self) -> None:
        self.assertEqual(usual([NEAR, FAR, NEAR * 1.1, SIBLINGS]), NEAR * 1.05)
        self.assertIsNone(usual([]))
        self.assertTrue(is_at(None, NEAR) and is_at(NEAR, None) and is_at(NEAR, NEAR * 1.2))
        self.assertFalse(is_at(NEAR, SIBLINGS) or is_at(SIBLINGS, NEAR))


class Signature(workplace.Scratch):
    def test_the_try_of_the_usual_place_counts_whichever_came_last(self) -> None:
        for order in ([(2e9, NEAR), (2.02e9, NEAR), (1e9, FAR)], [(1e9, FAR), (2.02e9, NEAR), (2e9, NEAR)]):
            signature = self.signature(tries(*order)).json
            entry = signature["metrics"]["overlap/novel/speed"]
            self.assertAlmostEqual(entry["value"] / 2e9, 1.0, delta=0.011)
            self.assertEqual((entry["tries"], entry["core_latency_s"]), (2, NEAR))
            self.assertNotIn("grade", entry)

    def test_the_page_says_between_which_places_the_machine_changed(self) -> None:
        signature = self.signature(tries((2e9, NEAR), (2e9, SIBLINGS), (2e9, NEAR))).json
        self.assertEqual(
            signature["placements"],
            [{"core_latency_s": SIBLINGS, "tries": 1}, {"core_latency_s": NEAR, "tries": 2}],
        )
        (note,) = [note for note in machine.warnings(signature) if note.head == "Moved."]
        self.assertIn(
            "in 2 places while it was measured, 32 and 50 ns from core to core (in 1 and 2", note.text
        )
        stayed = self.signature(tries((2e9, NEAR), (2e9, NEAR))).json
        self.assertEqual(len(stayed["placements"]), 1)
        self.assertFalse([note for note in machine.warnings(stayed) if note.head == "Moved."])


def side(*values: Sequence[Optional[float]]) -> List[RunNumbers]:
    """Runs with one number each: its value, and where the cores were."""
    return [
        RunNumbers("run", "gpusig", {"speed": Number(speed, "byte/s", "higher", core_latency_s=latency)})
        for speed, latency in values
    ]


def kept(runs: Sequence[RunNumbers]) -> List[Optional[float]]:
    return [run.numbers["speed"].value for run in runs]


class Compared(unittest.TestCase):
    def test_sides_are_compared_in_the_place_that_both_have(self) -> None:
        before = side((1, NEAR), (2, NEAR), (9, FAR), (3, NEAR))
        after = side((8, FAR), (7, FAR), (4, NEAR), (5, NEAR))
        then, now, said = placement.of_one_place(before, after)
        self.assertEqual((kept(then), kept(now)), ([1, 2, None, 3], [None, None, 4, 5]))
        self.assertIn("50 and 230 ns from core to core", said[0])
        self.assertIn("3 values of others are left out", said[0])
        left = then[2].numbers["speed"]
        self.assertEqual((left.reason, left.elsewhere), ("its cores were at 230 ns", True))

    def test_machines_that_stay_and_runs_that_do_not_know_lose_nothing(self) -> None:
        for latency in (NEAR, None):
            sides = side((1, latency), (2, latency)), side((3, NEAR), (None, None))
            self.assertEqual(placement.of_one_place(*sides), (*sides, []))

    def test_a_latency_that_is_none_is_unknown(self) -> None:
        entry = {"value": 1.0, "unit": "s", "better": "lower", "primary": True}
        for latency in ("near", None, True, 0, -1e-9, [NEAR]):
            number = number_of("micro/x/time", {**entry, "core_latency_s": latency})
            self.assertIsNone(number.core_latency_s, latency)
        self.assertEqual(number_of("micro/x/time", {**entry, "core_latency_s": NEAR}).core_latency_s, NEAR)

    def test_sides_in_different_places_have_nothing_to_compare(self) -> None:
        then, now, _ = placement.of_one_place(side((1, NEAR), (2, NEAR)), side((8, FAR), (7, FAR)))
        self.assertEqual((kept(then) + kept(now)).count(None), 2)


if __name__ == "__main__":
    unittest.main()
