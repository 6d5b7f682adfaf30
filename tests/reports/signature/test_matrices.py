# SPDX-License-Identifier: BSD-3-Clause
"""Heat maps of a section: alike ones are drawn once, and one of a single value is a sentence."""

from __future__ import annotations

import unittest
from typing import List, Optional

import workplace  # noqa: F401

from reports.page.charts import Cell
from reports.signature.section import Panels, Table
from reports.signature.sections.matrices import Matrix, figures

Values = List[List[Optional[float]]]
FLAT: Values = [[None, 64.0], [64.1, None]]
UNEVEN: Values = [[None, 64.0], [16.0, None]]


def matrix(name: str, values: Values, side: str = "from", valid: bool = True) -> Matrix:
    cells = [[None if v is None else Cell(v, valid) for v in row] for row in values]
    return Matrix(name, side, ["0", "1"], ["0", "1"], cells, "GB/s", lambda text: "<svg>%s" % text)


class Matrices(unittest.TestCase):
    def test_one_value_is_a_row_and_its_drawing_is_folded(self) -> None:
        table, panels = figures([matrix("kernel, one way", FLAT)], "c", "pairs")
        assert isinstance(table, Table) and isinstance(panels, Panels)
        self.assertEqual(table.rows, [["kernel, one way", "64.0 GB/s", "each of 2 pairs"]])
        self.assertEqual((panels.folded, panels.charts), (True, ["<svg>kernel, one way"]))

    def test_alike_ones_are_drawn_once_under_both_names(self) -> None:
        for names, joined in (
            (("copy engine, one way", "kernel, one way"), "copy engine and kernel, one way"),
            (("a GEMM, f32", "a GEMM, bf16"), "a GEMM, f32 and bf16"),
            (("a, b", "c, d"), "a, b; c, d"),
        ):
            for values in (FLAT, UNEVEN):
                with self.subTest(joined):
                    panels = figures([matrix(name, values) for name in names], "", "pairs")[-1]
                    assert isinstance(panels, Panels)
                    self.assertEqual(panels.charts, ["<svg>" + joined])

    def test_uneven_ones_are_drawn_and_flat_ones_are_told_below(self) -> None:
        shown, folded = figures([matrix("a", UNEVEN), matrix("b", FLAT)], "Caption.", "pairs")
        assert isinstance(shown, Panels) and isinstance(folded, Panels)
        self.assertEqual((shown.charts, shown.folded), (["<svg>a"], False))
        self.assertEqual(shown.caption, "Caption. All the same, to 1 %: b: 64.0 GB/s in each of 2 pairs.")
        self.assertEqual(folded.charts, ["<svg>b"])

    def test_a_slow_or_invalid_value_or_another_side_is_not_folded_away(self) -> None:
        for other in (
            matrix("b", [[None, 64.0], [65.0, None]]),
            matrix("b", FLAT, valid=False),
        ):
            self.assertEqual(figures([other], "", "pairs"), [Panels(["<svg>b"], "", True)])
        two = figures([matrix("a", FLAT), matrix("b", FLAT, "to")], "", "pairs")[-1]
        assert isinstance(two, Panels)
        self.assertEqual(len(two.charts), 2)


if __name__ == "__main__":
    unittest.main()
