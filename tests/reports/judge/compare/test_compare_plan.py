# SPDX-License-Identifier: BSD-3-Clause
"""Minimum detectable effect of so many runs a side, before they are measured."""

from __future__ import annotations

import json
import random
import tempfile
import unittest
from pathlib import Path
from typing import Tuple

import workplace

from machines import Machine, judged, name_of, verdicts
from reports.judge.compare import noise, plan
from reports.judge.compare.numbers import BadNumbers
from reports.judge.compare.sides import Side
from reports.judge.compare.verdict import Settings
from tests import level


class Plan(unittest.TestCase):
    def test_what_it_says_is_found_is_found(self) -> None:
        """By three runs a side, with a noise file of 16."""
        machine = Machine(1, 0.01, 0.0, metrics=20)
        equal = machine.runs(16)
        rows = dict(plan.rows_of(plan.of_runs(equal, Settings()), Settings()))
        self.assertEqual(len(rows), 20)
        sizes = [float(text.split()[0]) / 100 for text in rows["metric 0"]]
        self.assertEqual(sizes[:4], sorted(sizes[:4], reverse=True))
        self.assertGreater(sizes[4], sizes[5])
        known, chance_evidence = noise.of_few(equal, [name_of(m) for m in range(20)], Settings(), (3,))
        settings = Settings(known=known, chance_evidence=chance_evidence)
        for share, least, most in ((1.0, 0.7, 1.0), (0.5, 0.0, 0.4)):
            found, trials = 0, level.seeds(30, 60, 200)
            for _ in range(trials):
                sides = machine.runs(3), machine.runs(3, {0: 1 + share * sizes[plan.COUNTS.index(3)]})
                found += verdicts(judged(*sides, settings))[name_of(0)] == "regress"
            self.assertGreaterEqual(found, level.least(trials, least) if least else 0)
            self.assertLessEqual(found, level.most(trials, most) if most < 1 else trials)

    def test_metrics_in_levels_take_eight_runs(self) -> None:
        draw, machine = random.Random(3), Machine(2, 0.002, 0.0, metrics=4)
        equal = [machine.run({1: 1.1 if draw.random() < 0.5 else 1.0}) for _ in range(16)]
        text = plan.table("equal", plan.of_runs(equal, Settings()), Settings())
        self.assertRegex(text, r"metric 1 +levels  levels  levels  levels +\d+")
        self.assertIn("levels: equal runs come in two levels", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))

    def test_runs_that_tell_nothing_are_one_line(self) -> None:
        with self.assertRaisesRegex(
            BadNumbers, "^run-1 does not say how much equal runs differ; give several$"
        ):
            plan.of_runs(Machine(2).runs(1), Settings())
        with self.assertRaisesRegex(BadNumbers, "does not say how much metrics move; make it again"):
            plan.of_noise({"metrics": []}, "noise.json")


class Command(unittest.TestCase):
    def run_command(self, *words: str) -> Tuple[int, str, str]:
        return workplace.run_command("compare", "--plan", *words)

    def test_of_a_noise_file_what_it_has_counted_is_said_of_eight_runs(self) -> None:
        found = noise.calibrate(Side("equal", Machine(3, 0.01, 0.0, metrics=3).runs(16)), Settings(), 8)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "noise.json"
            path.write_text(json.dumps(found), encoding="utf-8")
            code, out, _ = self.run_command("--noise", str(path))
            self.assertEqual(self.run_command("--noise", str(path), folder)[0], 2)
            self.assertEqual(self.run_command("--noise", str(path), "--only", "nonsense")[0], 2)
            self.assertNotIn("metric 1", self.run_command("--noise", str(path), "--only", "*metric_0")[1])
        self.assertEqual(code, 0)
        self.assertIn("From 8 on a rank test judges", out)
        self.assertTrue(all(len(line) <= 80 for line in out.splitlines()))
        counted = 100 * found["metrics"][0]["by_repeats"]["8"]["finds"]
        line = next(line for line in out.splitlines() if line.startswith("metric 0"))
        self.assertAlmostEqual(float(line.split()[10]), counted, delta=0.06)

    def test_what_does_not_go_with_it(self) -> None:
        self.assertEqual(self.run_command()[0], 2)
        self.assertEqual(self.run_command("a", "--aa")[0], 2)
        self.assertEqual(self.run_command("a", "--factor", "driver")[0], 2)
        self.assertEqual(self.run_command("nowhere")[0], 2)


if __name__ == "__main__":
    unittest.main()
