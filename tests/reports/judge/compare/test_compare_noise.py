# SPDX-License-Identifier: BSD-3-Clause
"""The noise floor of machines whose spread is known, and the file that keeps it."""

from __future__ import annotations

import json
import math
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

import workplace  # noqa: F401

from machines import Machine, judged, name_of, verdicts
from reports.records import validate
from reports.judge.compare import noise
from reports.judge.compare.numbers import BadNumbers, Failed
from reports.judge.compare.sides import Side
from reports.judge.compare.verdict import Settings
from tests import level

try:
    import jsonschema
except ImportError:
    jsonschema = None


_DRAWS = mock.patch.object(noise, "_DRAWS", level.seeds(40, 80, noise._DRAWS))


def setUpModule() -> None:
    _DRAWS.start()


def tearDownModule() -> None:
    _DRAWS.stop()


def pool(runs) -> Side:  # type: ignore[no-untyped-def]
    return Side("pool", list(runs))


class Floor(unittest.TestCase):
    def test_it_is_what_95_of_100_equal_sides_stay_below(self) -> None:
        """The shift of two sides of 8 normal values has 1.02 sigma sqrt(2 / 8) as its standard deviation."""
        sigma = 0.02
        with mock.patch.object(noise, "COUNTS", ()):
            found = noise.calibrate(pool(Machine(1, sigma, 0.0, metrics=30).runs(60)), Settings(), 8)
        floors = sorted(entry["by_repeats"]["8"]["floor"] for entry in found["metrics"])
        self.assertAlmostEqual(floors[15] / (1.96 * 1.02 * sigma * math.sqrt(2 / 8)), 1, delta=0.25)

    @level.only_all
    def test_what_it_finds_is_found_and_less_is_not(self) -> None:
        trials = level.seeds(0, 30, 150)
        with mock.patch.object(noise, "COUNTS", ()):
            found = noise.calibrate(pool(Machine(2, 0.01, 0.0, metrics=20).runs(60)), Settings(), 8)
        entry = found["metrics"][0]["by_repeats"]["8"]
        settings = Settings(noise={name_of(0): entry["effect"]})
        hits = {1.0: 0, 0.6: 0}
        for seed in range(trials):
            machine = Machine(seed + 5000, 0.01, 0.0, metrics=20)
            before = machine.runs(8)
            for share in hits:
                after = machine.runs(8, {0: 1 + share * entry["finds"]})
                hits[share] += verdicts(judged(before, after, settings))[name_of(0)] == "regress"
        self.assertGreaterEqual(hits[1.0], level.least(trials, 0.85))  # the floor is known to a tenth
        self.assertLess(hits[0.6] / trials, 0.6)

    @level.only_all
    def test_fewer_runs_find_less_or_nothing(self) -> None:
        found = noise.calibrate(pool(Machine(3, 0.01, 0.0, metrics=25).runs(60)), Settings(), None)
        self.assertEqual(
            (found["repeats"], list(found["metrics"][0]["by_repeats"])), (8, ["4", "6", "8", "12"])
        )
        for entry in found["metrics"]:
            own = entry["by_repeats"]
            self.assertLess(own["6"]["finds"], own["4"]["finds"])
            self.assertLess(own["12"]["finds"], own["8"]["finds"] * 1.1)

    def test_a_drift_raises_alarms_in_the_order_of_time_alone(self) -> None:
        machine = Machine(4, 0.003, 0.0, metrics=4)
        drifting = [machine.run({metric: 1.004**number for metric in range(4)}) for number in range(40)]
        shuffled = [drifting[i] for i in sorted(range(40), key=lambda i: (i * 17) % 40)]
        for runs, in_order in ((drifting, True), (shuffled, False)):
            alarms = noise.calibrate(pool(runs), Settings(), 8)["alarms"]
            self.assertLessEqual(
                alarms["random"]["alarms"], level.most(alarms["random"]["comparisons"], 0.05)
            )
            self.assertEqual(alarms["in order"]["rate"] > 0.5, in_order)
            self.assertEqual(alarms["in order"]["comparisons"], 25)

    def test_the_runs_are_put_in_the_order_of_time(self) -> None:
        machine = Machine(4, 0.003, 0.0, metrics=4)
        drifting = [
            replace(
                machine.run({metric: 1.004**number for metric in range(4)}),
                started="2026-01-01T%02d:00:00" % (number // 2 + 1)
                if number % 2
                else "2026-01-01T%02d:30:00" % (number // 2),
            )
            for number in range(40)
        ]
        mixed = [drifting[i] for i in sorted(range(40), key=lambda i: (i * 17) % 40)]
        self.assertGreater(noise.calibrate(pool(mixed), Settings(), 8)["alarms"]["in order"]["rate"], 0.5)

    def test_too_few_runs_are_one_line(self) -> None:
        runs = Machine(5).runs(15)
        for count, repeats, words in (
            (15, 8, "15 runs; to split them into sides of 8 takes 16 or more"),
            (1, None, "1 run; to split them into sides of 2 takes 4 or more"),
        ):
            with self.assertRaisesRegex(BadNumbers, "^pool has %s$" % words):
                noise.calibrate(pool(runs[:count]), Settings(), repeats)

    def test_a_run_with_wrong_results_is_none_of_equal_ones(self) -> None:
        runs = Machine(5).runs(16)
        failed = [Failed("micro/reduce", "sim", is_wrong, 2, "why") for is_wrong in (False, True)]
        noise.calibrate(pool([*runs[:15], replace(runs[15], failed=(failed[0],))]), Settings(), 8)
        text = "leave it out: %s has wrong results: micro/reduce on sim: why, and 1 more case"
        with self.assertRaises(BadNumbers) as caught:
            noise.calibrate(pool([*runs[:15], replace(runs[15], failed=tuple(failed))]), Settings(), 8)
        self.assertEqual(str(caught.exception), text % runs[15].name)

    def test_metrics_with_missing_values_have_no_floor_where_too_many_are_missing(self) -> None:
        runs = [
            replace(
                run,
                numbers={**run.numbers, name_of(0): replace(run.numbers[name_of(0)], value=None, reason="x")},
            )
            for run in Machine(6, metrics=3).runs(20)
        ]
        found = noise.calibrate(pool(runs), Settings(), 8)
        self.assertEqual(
            found["metrics"][0]["by_repeats"]["8"], {"floor": None, "effect": None, "finds": None}
        )
        self.assertEqual((found["metrics"][0]["runs"], found["metrics"][0]["of"]), (0, 20))
        self.assertTrue(all(len(line) <= 80 for line in noise.table(found).splitlines()))
        found["metrics"][0]["label"] = "BM_of_one_word/" + "x" * 60
        (row,) = [line for line in noise.table(found).splitlines() if line.startswith("BM_of_one_word/xx")]
        self.assertIn("… ", row)
        self.assertLessEqual(len(row), 80)


class Kept(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.found = noise.calibrate(pool(Machine(7, 0.03, 0.0, metrics=5).runs(26)), Settings(), None)

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.path = Path(holder.name) / "noise.json"
        self.path.write_text(json.dumps(self.found), encoding="utf-8")

    def test_it_gives_the_effect_of_the_nearest_smaller_number_of_runs(self) -> None:
        own = self.found["metrics"][2]["by_repeats"]
        for repeats, count in ((2, "4"), (4, "4"), (5, "4"), (8, "8"), (9, "8"), (50, "12")):
            self.assertEqual(noise.read(self.path, "noise.json", repeats)[name_of(2)], own[count]["effect"])

    @unittest.skipIf(jsonschema is None, "needs the Python package jsonschema")
    def test_it_is_as_its_schema_says(self) -> None:
        self.assertEqual(validate.validate_file(self.path), 0)
        self.path.write_text(json.dumps({**self.found, "extra": 1}), encoding="utf-8")
        self.assertEqual(validate.validate_file(self.path), 1)

    def test_what_is_no_such_file_is_one_line(self) -> None:
        head = '{"schema": "gpusig.noise", "version": "%s"'
        for text in (
            "",
            "{}",
            "[]",
            '{"schema": "gpusig.noise"}',
            head % "2.0.0" + ', "metrics": []}',
            head % "1." + ', "metrics": []}',
            "\xff",
            '{"schema": NaN}',
            head % "1.0.0" + ', "metrics": [1]}',
            head % "1.0.0" + ', "metrics": [{"name": "x", "by_repeats": {"x": {"effect": 1}}}]}',
        ):
            self.path.write_text(text, encoding="latin-1")
            with self.assertRaisesRegex(BadNumbers, "^noise.json[^\n]*$", msg=text):
                noise.read(self.path, "noise.json", 8)
        with self.assertRaisesRegex(BadNumbers, "^noise.json: No such file or directory$"):
            noise.read(self.path.with_name("nothing"), "noise.json", 8)

    def test_the_same_runs_give_the_same_bytes(self) -> None:
        again = noise.calibrate(pool(Machine(7, 0.03, 0.0, metrics=5).runs(26)), Settings(), None)
        self.assertEqual(json.dumps(again), json.dumps(self.found))


if __name__ == "__main__":
    unittest.main()
