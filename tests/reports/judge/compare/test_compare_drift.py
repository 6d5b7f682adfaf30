# SPDX-License-Identifier: BSD-3-Clause
"""A drift within a side is no verdict; noise of other kinds is no drift."""

from __future__ import annotations

import math
import random
import unittest
from dataclasses import replace
from typing import List, Sequence

import workplace  # noqa: F401

from machines import Machine, judged, name_of, verdicts
from reports.judge.compare import drift, verdict
from reports.judge.compare.numbers import RunNumbers
from reports.judge.compare.verdict import Settings
from tests import level


def timed(runs: Sequence[RunNumbers], minute: int = 0) -> List[RunNumbers]:
    """One a minute."""
    return [
        replace(run, started="2026-01-01T%02d:%02d:00" % divmod(minute + place, 60))
        for place, run in enumerate(runs)
    ]


def drifting(seed: int, by: float, count: int = 16, metrics: int = 20) -> List[RunNumbers]:
    machine = Machine(seed, 0.01, 0.0, metrics=metrics)
    return timed([machine.run({m: (1 + by) ** k for m in range(metrics)}) for k in range(count)])


def found(before: Sequence[RunNumbers], after: Sequence[RunNumbers]) -> "drift.Drift | None":
    names = [name for name in before[0].numbers]
    return drift.drift_of(verdict.rows_of(before, after, names, Settings()), before, after)


class Drifts(unittest.TestCase):
    def test_a_drift_is_found_and_its_size_said(self) -> None:
        trials = level.seeds(5, 20, 100)
        told = [found(runs[:8], runs[8:]) for runs in (drifting(seed, 0.004) for seed in range(trials))]
        self.assertEqual(sum(one is not None for one in told), trials)
        sizes = sorted(one.per_run for one in told if one)
        self.assertAlmostEqual(sizes[trials // 2], 0.006, delta=0.003)
        steady = timed(Machine(3, 0.01, 0.0, metrics=20).runs(8), 30)
        runs = drifting(1, 0.02, 8)
        self.assertEqual([found(runs, steady).side, found(steady, timed(runs, 50)).side], ["before", "after"])

    def test_neighbours_that_are_alike_are_a_drift(self) -> None:
        """AR(1): what a run has of its own passes slowly."""
        tripped, trials = 0, level.seeds(5, 20, 100)
        for seed in range(trials):
            draw, machine = random.Random(seed), Machine(seed, 0.0, 0.0, metrics=40)
            state, runs = [draw.gauss(0, 0.03) for _ in range(40)], []
            for _ in range(16):
                state = [0.8 * s + 0.6 * draw.gauss(0, 0.03) for s in state]
                runs.append(machine.run({m: math.exp(s) for m, s in enumerate(state)}))
            timed_runs = timed(runs)
            tripped += found(timed_runs[:8], timed_runs[8:]) is not None
        self.assertGreaterEqual(tripped, level.least(trials, 0.9))

    def test_noise_without_an_order_is_none(self) -> None:
        trials = level.seeds(15, 60, 400)
        for sigma, shared, outliers in ((0.01, 0.0, 0.0), (0.01, 0.05, 0.0), (0.01, 0.0, 0.05)):
            tripped = 0
            for seed in range(trials):
                runs = timed(Machine(seed, sigma, shared, metrics=12, outliers=outliers).runs(16))
                tripped += found(runs[:8], runs[8:]) is not None
            self.assertLessEqual(tripped, level.most(trials, 0.01), (sigma, shared, outliers))

    def test_in_turn_few_or_without_times_nobody_asks(self) -> None:
        runs = drifting(1, 0.02)
        self.assertIsNotNone(found(runs[:8], runs[8:]))
        self.assertIsNone(found(runs[::2], runs[1::2]))
        self.assertIsNone(found(runs[:4], runs[4:8]))
        self.assertIsNone(found([replace(run, started="") for run in runs[:8]], runs[8:]))

    def test_missing_values_leave_the_others_in_their_order(self) -> None:
        runs = drifting(1, 0.02)
        gone = replace(runs[3].numbers[name_of(0)], value=None, reason="gone")
        runs[3] = replace(runs[3], numbers={**runs[3].numbers, name_of(0): gone})
        self.assertIsNotNone(found(runs[:8], runs[8:]))

    def test_where_it_drifts_the_verdict_is_inconclusive_and_names_the_cure(self) -> None:
        runs = drifting(2, 0.02)
        made = judged(runs[:8], runs[8:])
        self.assertEqual((made["outcome"]["verdict"], made["outcome"]["exit"]), ("inconclusive", 3))
        self.assertRegex(
            made["outcome"]["sentence"],
            r"^Inconclusive: numbers drift by 2\.\d % a run within (before|after), so a difference may "
            r"be part of that drift; measure in turn: \./gpusig ab\.$",
        )
        self.assertEqual(set(verdicts(made).values()), {"inconclusive"})
        untimed = judged(*[[replace(r, started="") for r in side] for side in (runs[:8], runs[8:])])
        self.assertNotEqual(untimed["outcome"]["verdict"], "inconclusive")


if __name__ == "__main__":
    unittest.main()
