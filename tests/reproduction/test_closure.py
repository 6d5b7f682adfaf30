# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""Tables of closure.py for a machine and a model whose differences are known."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import closure_tables as tables
from closure_runs import Headline, Side, Value

PAIR, CASE = "overlap/pair", "shape=n512"


def exact(value: float) -> Value:
    return Value(value, value, value)


def side(times: dict[str, Value], headline: float = 1.0) -> Side:
    values = {(PAIR, CASE, variant, "time"): value for variant, value in times.items()}
    own = Headline("micro/launch/x", "micro/launch", "s", exact(headline), None)
    return Side(1, {}, {own.name: own}, {}, values)


class Headlines(unittest.TestCase):
    def test_a_number_that_is_off_or_missing_is_no_success(self) -> None:
        (row,) = tables.rows(side({}, 2.0), side({}, 2.08))
        self.assertAlmostEqual(row.off, 0.04)
        self.assertEqual([row.within(bar) for bar in (0.03, 0.05)], [False, True])
        (row,) = tables.rows(side({}, 2.0), Side(1, {}, {}, {"micro/launch/x": "too little memory"}, {}))
        self.assertEqual((row.within(10.0), row.why), (False, "too little memory"))

    def test_nothing_is_only_nothing(self) -> None:
        self.assertTrue(tables.rows(side({}, 0.0), side({}, 0.0))[0].within(0.05))
        self.assertFalse(tables.rows(side({}, 0.0), side({}, 1.0))[0].within(0.05))


class Fastest(unittest.TestCase):
    def of(self, before: dict[str, Value], after: dict[str, float]) -> list[tables.Choice]:
        return tables.choices(side(before), side({name: exact(value) for name, value in after.items()}))

    def test_the_loss_is_what_the_machine_loses(self) -> None:
        before = {"serial": exact(1.0), "gemm_first": exact(0.8)}
        (choice,) = self.of(before, {"serial": 1.0, "gemm_first": 1.1})
        self.assertEqual((choice.fastest, choice.chosen, choice.good), ("gemm_first", "serial", False))
        self.assertAlmostEqual(choice.loss, 0.25)
        self.assertTrue(self.of(before, {"serial": 2.0, "gemm_first": 1.9})[0].good)

    def test_what_the_machine_cannot_tell_apart_is_a_tie(self) -> None:
        before = {"serial": Value(1.0, 0.85, 1.1), "gemm_first": Value(0.8, 0.7, 0.9)}
        self.assertTrue(self.of(before, {"serial": 1.0, "gemm_first": 1.1})[0].good)

    def test_a_part_of_the_work_is_no_way_to_do_it(self) -> None:
        before = {"serial": exact(1.0), "gemm_first": exact(0.9), "gemm_alone": exact(0.5)}
        (choice,) = self.of(before, {"serial": 1.0, "gemm_first": 0.9, "gemm_alone": 0.5})
        self.assertEqual(choice.fastest, "gemm_first")
        self.assertEqual(self.of({"serial": exact(1.0), "gemm_alone": exact(0.5)}, {"serial": 1.0}), [])


class Keys(unittest.TestCase):
    MODEL = "like = quiet\nlaunch_ns = 2010  # micro/launch\nengine_order = stream_first\n# As in quiet: units: no\n"

    def test_a_key_is_right_within_the_bar_and_words_alike(self) -> None:
        truth = {"launch_ns": 2000, "engine_order": "ready_first", "units": 8, "data": "real", "add_cost": 1}
        found = {name: (value, said) for name, value, said in tables.keys(truth, self.MODEL)}
        self.assertEqual(set(found), {"launch_ns", "engine_order", "units"})
        self.assertEqual([tables.same_key(*found[name]) for name in sorted(found)], [False, True, False])


if __name__ == "__main__":
    unittest.main()
