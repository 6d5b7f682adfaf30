# SPDX-License-Identifier: BSD-3-Clause
"""Sentences of the page about GEMMs of few rows and of experts."""

from __future__ import annotations

import unittest

import synthetic
import workplace
from synthetic import value


class SmallGemms(workplace.Scratch):
    def program(self, w: synthetic.Writer, name: str) -> dict:
        return self.signature(w.end().text()).json["programs"][name]

    def test_rows_that_cost_nothing_are_counted_and_the_fewest_are_compared_with_reading(self) -> None:
        axes = [synthetic.axis(name, "", []) for name in ("type", "rows", "weights")]
        w = synthetic.Writer("gemm/small_batch", [], axes)
        for weights, free in (("64x64", 64), ("128x64", 8)):
            for rows in (1, 8, 64):
                ratio = [] if rows == 1 else [value("rows_time_ratio", "gemm", 1.05 if rows <= free else 3.0)]
                w.case(
                    {"type": "bf16", "rows": rows, "weights": weights},
                    [w.variant(name, 1e-3) for name in ("gemm", "fewest_rows", "read")],
                    [
                        value("bandwidth", "gemm", 2e12 + rows * 1e9 + free * 1e9, "byte/s"),
                        value("share_of_read", "gemm", 0.5),
                        *ratio,
                    ],
                )
        found = self.program(w, "gemm/small_batch")
        self.assertEqual(
            found["summary"],
            "bf16: 1 row at 2.01 TB/s to 2.06 TB/s, 50 % of reading the weights; "
            "up to 8 to 64 rows take at most 10 % longer.",
        )
        self.assertEqual(
            [(c["rows"], c["weights"], c["rows_time_ratio"]) for c in found["results"]["cases"]][:2],
            [(1, "64x64", None), (8, "64x64", 1.05)],
        )

    def test_the_ways_of_experts_are_compared(self) -> None:
        names = ("type", "experts", "rows", "routing", "weights")
        w = synthetic.Writer("gemm/grouped", [], [synthetic.axis(name, "", []) for name in names])
        for routing, grouped in (("even", 2.0), ("uneven", 3.0)):
            w.case(
                {"type": "bf16", "experts": 8, "rows": 4, "routing": routing, "weights": "64x64"},
                [w.variant(name, 1e-3) for name in ("serial", "streams", "grouped", "read", "whole")],
                [value("speedup", "grouped", grouped), value("speedup", "streams", 1.5)],
            )
        self.assertEqual(
            self.program(w, "gemm/grouped")["summary"],
            "One grouped GEMM is 2 to 3 times as fast as one GEMM after the other, best with 8 experts of "
            "4 rows, uneven; GEMMs on several streams are 1.50 times as fast as one GEMM after the other, "
            "best with 8 experts of 4 rows, even.",
        )

    def test_without_a_valid_value_it_says_so(self) -> None:
        w = synthetic.Writer("gemm/grouped", [], [synthetic.axis("type", "", [])])
        w.case({"type": "f32"}, [w.variant("serial", 1e-3)], [])
        found = self.program(w, "gemm/grouped")
        self.assertEqual(found["results"]["cases"], [])
        self.assertTrue(found["summary"])


if __name__ == "__main__":
    unittest.main()
