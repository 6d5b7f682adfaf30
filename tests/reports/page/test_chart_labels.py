# SPDX-License-Identifier: BSD-3-Clause
"""Labels of drawings, against data whose range is known."""

from __future__ import annotations

import html
import re
import unittest
from typing import Any, Optional, Sequence
from xml.dom import minidom

import synthetic
import workplace

from reports.page.bar_chart import ChartBar, draw_bars
from reports.page.charts import Cell, LineChart, Mark, Series, draw_heat, draw_lines, draw_share, draw_spark
from reports.page.svg import LONGEST_TEXT
from reports.page.topology_drawing import draw_tree

KIB = 1 << 10
HOSTILE = '"><script>alert(1)</script>&\n' * 4


def label(svg: str) -> str:
    """As the document has it, once it parsed."""
    root = minidom.parseString(svg).documentElement
    assert root.getAttribute("role") == "img"
    return root.getAttribute("aria-label")


def chart(*series: Series, title: str = "read", **more: Any) -> str:
    return label(
        draw_lines(LineChart(title, "footprint", "byte", "byte/s", list(series), y_name="bandwidth", **more))
    )


def curve(name: str, *values: float, **style: Any) -> Series:
    return Series(name, [Mark(32 * KIB * 4**i, v) for i, v in enumerate(values)], **style)


class Curves(unittest.TestCase):
    def test_quantity_axes_series_and_range(self) -> None:
        self.assertEqual(
            chart(curve("plain", 361e9, 31e9), curve("non-temporal", 50e9, 50e9)),
            "read: bandwidth over footprint from 32 KiB to 128 KiB: plain and non-temporal; "
            "values from 31 GB/s to 361 GB/s",
        )
        self.assertEqual(
            chart(curve("", 361e9), title=""),
            "bandwidth over footprint from 32 KiB to 32 KiB; values from 361 GB/s to 361 GB/s",
        )

    def test_dots_and_lines_of_one_name_are_named_once(self) -> None:
        self.assertIn(": ring; values", chart(curve("ring", 1e9, 1e9, under=True), curve("ring", 1e9, 2e9)))

    def test_a_line_without_dots_shows_its_values_on_hover(self) -> None:
        one = LineChart("t", "x", "byte", "s", [curve("formula", 1e-3, 2e-3, under=True)])
        self.assertEqual(
            re.findall(r'"dot bare" [^>]*><title>([^<]*)<', draw_lines(one)),
            ["formula, 32 KiB: 1 ms", "formula, 128 KiB: 2 ms"],
        )

    def test_only_valid_points_that_are_drawn_count(self) -> None:
        wrong = Mark(2 * KIB, 900e9, valid=False)
        self.assertEqual(
            chart(Series("plain", [wrong])), "read: bandwidth over footprint, no valid points: plain"
        )
        self.assertEqual(chart(), "read: bandwidth over footprint, no valid points")
        text = chart(
            Series("s", [wrong, Mark(0, 5), Mark(KIB, 0), Mark(2 * KIB, 1), Mark(4 * KIB, 9)]), y_log=True
        )
        self.assertIn("from 2 KiB to 4 KiB: s; values from 1 B/s to 9 B/s", text)

    def test_hostile_names_stay_text(self) -> None:
        series = [Series(HOSTILE, [Mark(1, 2), Mark(4, 8)])]
        svg = draw_lines(
            LineChart(HOSTILE, HOSTILE, HOSTILE, HOSTILE, series, y_name=HOSTILE, up=[(2, HOSTILE)])
        )
        self.assertNotIn("<script", svg)
        self.assertLessEqual(len(label(svg)), LONGEST_TEXT + 1)
        self.assertIn("<script", label(svg))


class Cells(unittest.TestCase):
    def heat(self, cells: Sequence[Sequence[Optional[Cell]]]) -> str:
        return label(
            draw_heat(("gemm", "memory"), ("up\nengine", "down"), cells, "time of", "next to", what="CIL")
        )

    def test_axes_and_range_of_the_valid(self) -> None:
        head = "CIL, 2 rows (time of) by 2 columns (next to): "
        self.assertEqual(
            self.heat([[Cell(1.05), Cell(2.71)], [None, Cell(9.0, False)]]), head + "from 1.05 to 2.71"
        )
        self.assertEqual(self.heat([[None, Cell(None)], [None, Cell(9.0, False)]]), head + "no valid value")

    def test_hostile_names_stay_text(self) -> None:
        svg = draw_heat([HOSTILE], [HOSTILE], [[Cell(1.0)]], HOSTILE, HOSTILE, what=HOSTILE)
        self.assertNotIn("<script", svg)
        self.assertIn("from 1 to 1", label(svg))


class Bars(unittest.TestCase):
    def test_a_share_names_a_full_bar(self) -> None:
        self.assertEqual(
            label(draw_share(0.88, 0.7, 1.06, "measured peak")),
            "88 % of measured peak, 95 % interval 70 % to 106 %",
        )
        self.assertEqual(label(draw_share(0.041, None, None, False)), "4.1 % of a full bar")

    def test_a_name_draws_the_line_of_the_bound_and_none_draws_none(self) -> None:
        self.assertEqual(
            [draw_share(0.5, None, None, b).count('class="bound"') for b in ("peak", True, "", False)],
            [1, 1, 0, 0],
        )

    def test_bars_have_their_values(self) -> None:
        bars = [ChartBar("a", 0.5), ChartBar("b", 1.5, valid=False)]
        self.assertEqual(label(draw_bars("g1", "speed", bars, 2.0, [])), "g1: speed: a 0.500; b 1.50 ?")

    def test_samples_have_their_median(self) -> None:
        self.assertEqual(
            label(draw_spark([2e-3, 4e-3, 1e-3, 3e-3])),
            "4 samples in time order, 1 ms to 4 ms, median 2.50 ms",
        )

    def test_a_tree_counts_its_kinds_from_the_outside(self) -> None:
        tree = (
            "Machine#0[Package#0[L3(32MB)[Core#0[PU#0] Core#1[PU#1]]] "
            "Package#1[L3(32MB)[Core#2[PU#2] Core#3[PU#3]]]]"
        )
        self.assertEqual(
            label(draw_tree(tree)),
            "The machine as nested boxes, from the outside: Machine, 2 × Package, "
            "2 × L3 32 MiB, 4 × Core and 4 × PU",
        )
        wide = "Machine#0[%s]" % " ".join("Kind%s%d#0" % ("y" * 60, i) for i in range(40))
        self.assertLessEqual(len(label(draw_tree(wide))), LONGEST_TEXT + 1)


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Page(workplace.Scratch):
    def test_every_drawing_of_a_page_has_a_role_and_a_sentence(self) -> None:
        self.run_build(synthetic.everything())
        found = [
            (m[1], html.unescape(m[2]))
            for m in re.finditer(r'<svg [^>]*?role="([^"]*)" aria-label="([^"]*)"', self.page())
        ]
        self.assertEqual(self.page().count("<svg"), len(found))
        self.assertGreater(len(found), 30)
        for role, text in found:
            self.assertEqual(role, "img")
            self.assertRegex(text, r"[0-9]")
            self.assertGreater(len(text.split(" ")), 3, text)
            self.assertNotIn("  ", text)

    def test_every_point_bar_and_cell_shows_its_value_on_hover(self) -> None:
        self.run_build(synthetic.everything())
        drawings, shapes = re.findall(r"<svg.*?</svg>", self.page(), re.S), 0
        for drawing in drawings:
            if re.match(r"<svg [^>]*><title>[^<]", drawing):  # one for all of it
                continue
            for shape in re.findall(
                r'<(?:rect|circle) class="(?:dot|bar|cell|run)[ "].*?>(?=<)(.{8})', drawing
            ):
                self.assertTrue(shape.startswith("<title>"), drawing)
                shapes += 1
        self.assertGreater(shapes, 100)

    def test_charts_are_described_by_the_table_below(self) -> None:
        self.run_build(synthetic.memory().text())
        page = self.page()
        (table,) = set(re.findall(r'<figure aria-describedby="([^"]+)"', page))
        self.assertRegex(page, r'<caption class="hidden" id="%s">[^<]*: Values \(' % table)


if __name__ == "__main__":
    unittest.main()
