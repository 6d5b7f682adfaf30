# SPDX-License-Identifier: BSD-3-Clause
"""The section of overlap/collective: which method is called the fastest, for which collective and size."""

from __future__ import annotations

import unittest
from typing import Dict, Optional

import workplace
from record_writer import value
from synthetic import Writer
from reports.signature.sections import collective_overlap

PROGRAM = "overlap/collective"
MIB = 1 << 20
ALONE = 1e-3


class CollectiveOverlap(workplace.Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.writer = Writer(PROGRAM, spec="host:0,1", references=["gemm_alone"])

    def case(
        self,
        collective: str,
        bytes_: int,
        times: Dict[str, float],
        best: Optional[str] = None,
        shape: str = "n64",
        gain: float = 1.2,
    ) -> dict:
        w = self.writer
        derived = [value("time", name, seconds, "s") for name, seconds in times.items()]
        for name in times:
            derived += [
                value("S", name, gain),
                value("S_ideal", name, 2.0),
                value("fraction_of_ideal", name, gain - 1),
                value("CIL_gemm", name, 1.25),
                value("CIL_comm", name, 1.5),
                value("exposed_tail", name, 1e-4, "s"),
            ]
        line = w.case(
            {"shape": shape, "collective": collective, "size": bytes_},
            [w.variant("gemm_alone", ALONE), *(w.variant(name, s) for name, s in times.items())],
            derived,
        )
        line["facts"] = {"units_left_engine": 2, "class_engine": "G-long"}
        if best:
            line["facts"]["best_methods"] = best
        return line

    def program(self) -> dict:
        return self.signature(self.writer.end().text()).json["programs"][PROGRAM]

    def said(self, text: str) -> None:
        self.assertEqual(self.program()["summary"], text)

    def test_a_sentence_says_which_method_for_which_size(self) -> None:
        for size, best in ((MIB, "engine, kernel"), (4 * MIB, "kernel"), (16 * MIB, "kernel")):
            for collective in ("all-gather", "allreduce"):
                self.case(collective, size, {"engine": 2 * ALONE, "kernel": 1.5 * ALONE}, best)
        self.said(
            "Of engine and kernel, fastest together with a GEMM: at 1 MiB engine and kernel (a tie) for "
            "all-gather and allreduce; from 4 MiB to 16 MiB kernel for all-gather and allreduce."
        )

    def test_what_depends_on_the_collective_or_the_gemm_is_named(self) -> None:
        times = {"engine": 2 * ALONE, "kernel": 1.5 * ALONE, "library": 3 * ALONE}
        for shape, best in (("n64", "kernel"), ("16x64x64", "library")):
            self.case("all-gather", MIB, times, best, shape)
            self.case("allreduce", MIB, times, "engine", shape)
        self.said(
            "Of engine, kernel and library, fastest together with a GEMM: at 1 MiB kernel for "
            "all-gather with n64, engine for allreduce, library for all-gather with 16×64×64."
        )

    def test_with_one_method_nothing_is_called_the_best(self) -> None:
        self.case("all-gather", MIB, {"kernel": ALONE})
        self.said("No method is called the best: kernel alone was measured.")

    def test_an_invalid_method_does_not_compare(self) -> None:
        line = self.case("all-gather", MIB, {"engine": ALONE, "kernel": 2 * ALONE}, "kernel")
        line["validity"]["flags"].append(
            {"flag": "mechanism", "variant": "engine", "quantity": None, "reason": "no engine copied"}
        )
        for entry in line["derived"]:
            entry["valid"] = entry["variant"] != "engine"
        found = self.program()
        self.assertEqual([list(row["methods"]) for row in found["results"]["cases"]], [["kernel"]])
        self.assertEqual(found["results"]["cases"][0]["best"], [])
        self.assertEqual(found["summary"], "No method is called the best: kernel alone was measured.")

    def test_a_loss_is_said(self) -> None:
        self.case("all-gather", MIB, {"engine": 2 * ALONE, "kernel": 3 * ALONE}, "engine", gain=0.9)
        self.said(
            "Of engine and kernel, fastest together with a GEMM: at 1 MiB engine for all-gather. In "
            "1 of 1 case it is faster one after the other."
        )

    def test_results_have_both_sides(self) -> None:
        self.case("all-gather", MIB, {"engine": 2 * ALONE, "kernel": 3 * ALONE}, "engine")
        row = self.program()["results"]["cases"][0]
        engine = row["methods"]["engine"]
        self.assertEqual((engine["CIL_gemm"], engine["CIL_comm"], engine["S_ideal"]), (1.25, 1.5, 2.0))
        self.assertEqual((engine["units_left"], engine["class"]), (2, "G-long"))
        self.assertIsNone(row["methods"]["kernel"]["units_left"])
        self.assertAlmostEqual(engine["time_s"], 2 * ALONE)

    def test_the_figure_has_a_cell_for_every_method_and_the_table_a_row(self) -> None:
        self.case("all-gather", MIB, {"engine": 2 * ALONE, "kernel": 3 * ALONE}, "engine")
        self.case("allreduce", MIB, {"kernel": ALONE})
        section = self.signature(self.writer.end().text()).sections[0]
        panels, rows = collective_overlap.figures(section)
        self.assertIn("2 rows", panels.charts[0])
        for text in ("1.5", "2 ms", "not measured"):
            self.assertIn(text, panels.charts[0])
        self.assertEqual(
            [row[:3] for row in rows.rows],
            [
                ["all-gather 1 MiB, n64", "engine", "yes"],
                ["all-gather 1 MiB, n64", "kernel", ""],
                ["allreduce 1 MiB, n64", "kernel", ""],
            ],
        )
        self.assertNotIn("S over the library", rows.heads)


if __name__ == "__main__":
    unittest.main()
