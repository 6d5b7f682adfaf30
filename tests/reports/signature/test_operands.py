# SPDX-License-Identifier: BSD-3-Clause
"""Cold cases are counted by themselves, and the condition of a headline number is said."""

from __future__ import annotations

import copy
import unittest
from typing import Any, Callable

import synthetic
import workplace
from synthetic import axis, value

Json = dict


def with_cold(w: synthetic.Writer, change: Callable[[Json], None]) -> str:
    """Every case once more, with cold operands and changed values."""
    run, end = w.lines[0], w.lines[-1]
    run["axes"].append(axis("operands", "", ["warm", "cold"]))
    for primary in run["primary"]:
        primary["where"]["operands"] = "warm"
    warm = w.lines[1:-1]
    cold = copy.deepcopy(warm)
    for lines, word in ((warm, "warm"), (cold, "cold")):
        for line in lines:
            line["case"]["operands"] = word
            line["key"] += " operands=" + word
    for line in cold:
        for entry in line["derived"]:
            change(entry)
    w.lines = [run, *warm, *cold, end]
    return w.text()


def scaled(name: str, factor: float) -> Callable[[Json], None]:
    def change(entry: Json) -> None:
        if entry["name"] == name:
            entry.update(
                {k: entry[k] * factor for k in ("value", "ci_low", "ci_high") if entry[k] is not None}
            )

    return change


class Operands(workplace.Scratch):
    def program(self, text: str, name: str) -> Any:
        return self.signature(text).json["programs"][name]

    def test_a_median_joins_one_condition_and_names_the_other(self) -> None:
        alone = self.program(synthetic.pair().text(), "overlap/pair")["summary"]
        both = self.program(with_cold(synthetic.pair(), scaled("fraction_of_ideal", 0.5)), "overlap/pair")
        self.assertEqual(len(both["results"]["pairs"]), 16)
        self.assertEqual(both["summary"], alone + " With cold operands it gains 17 % (median).")

    def test_schedules_are_counted_in_one_condition(self) -> None:
        alone = self.program(synthetic.ficco().text(), "overlap/ficco")
        both = self.program(with_cold(synthetic.ficco(), scaled("S", 3.0)), "overlap/ficco")
        self.assertEqual(both["summary"], alone["summary"])
        self.assertEqual((len(both["results"]["cases"]), both["results"]["scenarios"]), (4, 2))
        self.assertEqual(
            {row["cold"] for row in both["results"]["cases"] if row["shape"].endswith(", cold operands")},
            {True},
        )

    def test_only_cold_cases_are_counted_too(self) -> None:
        w = synthetic.ficco()
        for line in w.lines[1:-1]:
            line["case"]["operands"] = "cold"
        self.assertEqual(self.program(w.text(), "overlap/ficco")["results"]["scenarios"], 2)

    def test_a_headline_number_says_its_condition(self) -> None:
        metrics = self.signature(with_cold(synthetic.pair(), scaled("S", 1.0))).json["metrics"]
        self.assertIn("warm operands", metrics["overlap/pair/overlap_efficiency_engine"]["condition"])

    def test_a_cold_gemm_is_no_rate_that_advises(self) -> None:
        w = synthetic.efficiency()
        for line in w.lines[1:-1]:
            line["derived"] += [
                value("flop_rate", "gemm_cold", 4e10, "flop/s"),
                value("fraction_of_peak", "gemm_cold", 0.4),
                value("cold_time_ratio", "gemm_cold", 1.25 if line["case"]["shape"] == "g1" else 2.0),
            ]
        found = self.program(w.text(), "gemm/efficiency")
        self.assertEqual({row["variant"] for row in found["results"]["rates"]}, {"gemm"})
        self.assertEqual([row["value"] for row in found["results"]["cold_time_ratio"]], [2.0, 1.25])
        self.assertIn(
            "warm operands; with cold ones a GEMM takes up to 2 times as long (f32 n256)", found["summary"]
        )


if __name__ == "__main__":
    unittest.main()
