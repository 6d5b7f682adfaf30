# SPDX-License-Identifier: BSD-3-Clause
"""What the label of a drawing says, against data whose course is known."""

from __future__ import annotations

import html
import re
import unittest
from typing import Any, List, Optional, Sequence, Tuple
from xml.dom import minidom

import synthetic
import workplace

from reports import chart_labels
from reports.charts import Cell, LineChart, Mark, Series, draw_heat, draw_lines, draw_share, draw_spark
from reports.svg import LONGEST_TEXT
from reports.topology_drawing import draw_tree

KIB, MIB = 1 << 10, 1 << 20
HOSTILE = '"><script>alert(1)</script>&\n' * 4


def label(svg: str) -> str:
    """As the document has it, once it parsed."""
    root = minidom.parseString(svg).documentElement
    assert root.getAttribute("role") == "img"
    return root.getAttribute("aria-label")


def chart(*series: Series, title: str = "read", y_unit: str = "byte/s", y_name: str = "bandwidth", **more: Any) -> str:
    return label(draw_lines(LineChart(title, "footprint", "byte", y_unit, list(series), y_name=y_name, **more)))


def curve(name: str, *values: float, first: float = 32 * KIB, **style: Any) -> Series:
    return Series(name, [Mark(first * 4 ** i, v) for i, v in enumerate(values)], **style)


HEAD = "read: bandwidth over footprint from 32 KiB to 2 MiB, "


class Courses(unittest.TestCase):
    def test_one_curve_of_each_course(self) -> None:
        for values, course in (((361e9, 200e9, 90e9, 31e9), "falls from 361 GB/s to 31 GB/s"),
                               ((31e9, 90e9, 200e9, 361e9), "rises from 31 GB/s to 361 GB/s"),
                               ((100e9, 102e9, 98.5e9, 101e9), "stays about 100 GB/s (within 5 %)"),
                               ((10e9, 40e9, 30e9, 20e9), "rises from 10 GB/s to 40 GB/s at 128 KiB, then falls to 20 GB/s"),
                               ((40e9, 20e9, 10e9, 30e9), "falls from 40 GB/s to 10 GB/s at 512 KiB, then rises to 30 GB/s"),
                               ((20e9, 40e9, 10e9, 20e9), "varies between 10 GB/s at 512 KiB and 40 GB/s at 128 KiB"),
                               ((10e9, 30e9, 20e9, 40e9), "rises from 10 GB/s to 40 GB/s, not steadily"),
                               ((40e9, 20e9, 30e9, 10e9), "falls from 40 GB/s to 10 GB/s, not steadily")):
            with self.subTest(course=course):
                self.assertEqual(chart(curve("plain", *values)), HEAD + "1 curve: plain " + course)

    def test_a_difference_counts_from_5_percent_of_the_smaller_value(self) -> None:
        for values, expected in (((100, 105), "same"), ((100, 105.1), "rise"), ((105.1, 100), "fall"),
                                 ((100, 105.1, 100), "peak"), ((100, 94.9, 100), "dip"), ((1.0, 0.94, 174.0), "dip"),
                                 ((1.0, 0.96, 174.0), "rise"),
                                 ((7,), "point"), ((0, 0), "same"), ((0, 0.01, 1), "rise"), ((100, 104.9, 99.9, 97), "vary")):
            with self.subTest(values=values):
                self.assertEqual(chart_labels.shape(values), expected)

    def test_around_0_it_counts_against_the_largest(self) -> None:
        for values, expected in (((-0.01, 0.01, 1.0), "rise"), ((0.01, -0.01, 1.0), "rise"), ((0.0, -0.06, 1.0), "dip"),
                                 ((-0.425, -0.728), "fall"), ((-0.5, -0.51), "same")):
            with self.subTest(values=values):
                self.assertEqual(chart_labels.shape(values), expected)

    def test_curves_of_a_logarithmic_axis_have_values_far_apart(self) -> None:
        text = chart(curve("chase", 1.1e-9, 3.8e-9, 84e-9, 174e-9), y_unit="s", y_name="latency", title="", y_log=True)
        self.assertEqual(text, "latency over footprint from 32 KiB to 2 MiB, 1 curve: chase rises from 1.10 ns to 174 ns")

    def test_points_that_a_logarithmic_axis_cannot_hold_are_not_told(self) -> None:
        series = Series("s", [Mark(0, 5), Mark(1 * KIB, 0), Mark(2 * KIB, 1), Mark(4 * KIB, 9)])
        self.assertEqual(chart(series, y_unit="", y_log=True),
                         "read: bandwidth over footprint from 2 KiB to 4 KiB, 1 curve: s rises from 1 to 9")
        self.assertIn("from 0 B to 4 KiB, 1 curve: s falls from 5 to 0 at 1 KiB, then rises to 9",
                      chart(series, y_unit="", x_log=False))


class Curves(unittest.TestCase):
    def test_several_are_told_one_by_one_with_the_range_of_x_once(self) -> None:
        self.assertEqual(chart(curve("plain", 361e9, 31e9), curve("non-temporal", 50e9, 50.1e9)),
                         "read: bandwidth over footprint from 32 KiB to 128 KiB, 2 curves: plain falls from 361 GB/s to 31 GB/s; "
                         "non-temporal stays about 50.0 GB/s (within 5 %)")

    def test_where_their_ends_differ_each_has_its_own(self) -> None:
        self.assertEqual(chart(curve("plain", 361e9, 31e9), curve("late", 4e9, 9e9, first=MIB)),
                         "read: bandwidth over footprint, 2 curves: plain falls from 361 GB/s at 32 KiB to 31 GB/s at 128 KiB; "
                         "late rises from 4 GB/s at 1 MiB to 9 GB/s at 4 MiB")

    def test_a_single_point_is_one(self) -> None:
        self.assertEqual(chart(curve("plain", 361e9)), "read: bandwidth over footprint at 32 KiB, 1 curve: plain is 361 GB/s")
        self.assertEqual(chart(curve("", 361e9), title=""), "bandwidth over footprint at 32 KiB, 1 curve: it is 361 GB/s")

    def test_no_points(self) -> None:
        self.assertEqual(chart(), "read: bandwidth over footprint: no points")
        self.assertEqual(chart(Series("plain", [])), "read: bandwidth over footprint: no points")

    def test_invalid_points_are_counted_and_not_told(self) -> None:
        wrong = [Mark(2 * KIB, 900e9, valid=False), Mark(512 * MIB, 1.0, valid=False)]
        mixed = Series("plain", [wrong[0], *curve("", 361e9, 31e9).marks, wrong[1]])
        self.assertEqual(chart(mixed), "read: bandwidth over footprint from 32 KiB to 128 KiB, 1 curve: "
                                       "plain falls from 361 GB/s to 31 GB/s; 2 points invalid")
        self.assertEqual(chart(Series("plain", wrong[:1])), "read: bandwidth over footprint: no valid points; 1 point invalid")

    def test_graded_points_are_told_and_counted(self) -> None:
        series = Series("plain", [Mark(KIB, 1e9), Mark(2 * KIB, 2e9, graded=True), Mark(4 * KIB, 3e9, valid=False, graded=True)])
        self.assertTrue(chart(series).endswith("plain rises from 1 GB/s to 2 GB/s; 1 point invalid; 1 noisy or contended"))

    def test_many_are_told_together_with_the_ends_of_all(self) -> None:
        falling = [curve("c%d" % i, 9e9, 1e9) for i in range(7)]
        many = [curve("c%d" % i, (i + 1) * 1e9, (i + 2) * 2e9) for i in range(6)] + [curve("flat", 30e9, 30e9)]
        self.assertEqual(chart(*many), "read: bandwidth over footprint from 32 KiB to 128 KiB, "
                                       "7 curves (c0, c1, c2, c3, c4, c5 and flat): 6 rise, 1 stays about the same; "
                                       "from 1 GB/s (c0 at 32 KiB) to 30 GB/s (flat at 128 KiB)")
        self.assertIn("7 curves (c0, c1, c2, c3, c4, c5 and c6): all fall; from", chart(*falling))

    def test_many_long_names_are_cut_and_then_left_out(self) -> None:
        many = [curve("%d %s" % (i, "a long name of a curve" * 2), 1e9 + i, 2e9 + i) for i in range(7)]
        text = chart(*many)
        self.assertLessEqual(len(text), LONGEST_TEXT)
        self.assertIn("7 curves", text)
        self.assertIn("all rise; from 1 GB/s", text)
        self.assertLessEqual(len(chart(*many[:4])), LONGEST_TEXT)

    def test_dots_and_lines_of_one_name_are_a_curve_and_what_was_expected(self) -> None:
        dots = [Series("ring", [Mark(32 * KIB * 4 ** i, 1e9 * (i + 1))], quiet=i == 0) for i in range(2)]
        self.assertEqual(chart(curve("ring", 1e9, 1e9, under=True), *dots),
                         "read: bandwidth over footprint from 32 KiB to 128 KiB, 2 curves: ring, expected stays about 1 GB/s "
                         "(within 5 %); ring rises from 1 GB/s to 2 GB/s")

    def test_measured_curves_come_before_those_that_are_broken(self) -> None:
        solid = [curve(n, 1e9, 2e9) for n in "MNK"]
        text = chart(*solid, *(curve(n + " traffic", 1e9, 3e9, dashed=True) for n in "MNK"))
        self.assertTrue(text.endswith("3 curves: M rises from 1 GB/s to 2 GB/s; N rises from 1 GB/s to 2 GB/s; K rises from "
                                      "1 GB/s to 2 GB/s; broken or pale: M traffic, N traffic and K traffic"), text)

    def test_reference_lines_are_named_where_they_are_drawn(self) -> None:
        text = chart(curve("plain", 361e9, 31e9), across=[(50e9, "half")],
                     up=[(64 * KIB, "L1"), (1 << 40, "LLC"), (70 * KIB, "")])
        self.assertTrue(text.endswith("31 GB/s; dotted: L1 at 64 KiB, half at 50 GB/s"), text)

    def test_hostile_names_stay_text(self) -> None:
        series = [Series(HOSTILE, [Mark(1, 2), Mark(4, 8)])]
        svg = draw_lines(LineChart(HOSTILE, HOSTILE, HOSTILE, HOSTILE, series, y_name=HOSTILE, up=[(2, HOSTILE)]))
        self.assertNotIn("<script", svg)
        self.assertLessEqual(len(label(svg)), LONGEST_TEXT + 1)
        self.assertIn("<script", label(svg))


class Cells(unittest.TestCase):
    def heat(self, cells: Sequence[Sequence[Optional[Cell]]], rows: Sequence[str] = ("gemm", "memory"),
             columns: Sequence[str] = ("up\nengine", "down"), what: str = "CIL") -> str:
        return label(draw_heat(rows, columns, cells, "time of", "next to", what=what))

    def test_ends_have_their_places_and_the_empty_are_counted(self) -> None:
        self.assertEqual(self.heat([[Cell(1.05), Cell(2.71)], [None, Cell(1.5)]]),
                         "CIL, 2 rows (time of) by 2 columns (next to): smallest 1.05 (gemm, up engine), "
                         "largest 2.71 (gemm, down); 4 cells, 1 empty")

    def test_invalid_cells_are_no_ends(self) -> None:
        self.assertEqual(self.heat([[Cell(1.05), Cell(9.0, False)], [Cell(None, False), Cell(1.5, graded=True)]]),
                         "CIL, 2 rows (time of) by 2 columns (next to): smallest 1.05 (gemm, up engine), "
                         "largest 1.50 (memory, down); 4 cells, 1 empty, 1 invalid, 1 noisy or contended")

    def test_one_value_or_none(self) -> None:
        self.assertEqual(self.heat([[Cell(26.5)]], ["0"], ["1"], ""),
                         "1 row (time of) by 1 column (next to): only value 26.5 (0, 1); 1 cell")
        self.assertEqual(self.heat([[None, Cell(3.0, False)]], ["0"]),
                         "CIL, 1 row (time of) by 2 columns (next to): no valid value; 2 cells, 1 empty, 1 invalid")

    def test_hostile_names_stay_text(self) -> None:
        svg = draw_heat([HOSTILE], [HOSTILE], [[Cell(1.0)]], HOSTILE, HOSTILE, what=HOSTILE)
        self.assertNotIn("<script", svg)
        self.assertIn("only value 1 (", label(svg))


class Bars(unittest.TestCase):
    def test_a_share_has_its_interval_and_the_name_of_a_full_bar(self) -> None:
        self.assertEqual(label(draw_share(0.88, 0.7, 1.06, "measured peak")),
                         "88 % of the measured peak, 95 % interval 70 to 106 %")
        self.assertEqual(label(draw_share(0.88, None, 1.06, True)), "88 % of a full bar")
        self.assertEqual(label(draw_share(0.041, 0.039, 0.043, False)), "4.1 % of a full bar, 95 % interval 3.9 to 4.3 %")
        self.assertEqual(label(draw_share(0, 0, 0, "")), "0 % of a full bar, 95 % interval 0 to 0 %")

    def test_a_name_draws_the_line_of_the_bound_and_none_draws_none(self) -> None:
        self.assertEqual([draw_share(0.5, None, None, b).count('class="bound"') for b in ("peak", True, "", False)], [1, 1, 0, 0])

    def test_bars_are_told_longest_first(self) -> None:
        self.assertEqual(chart_labels.of_bars("g1", "speed", {"a": 0.5, "b": 1.5}, 1, {"ideal": 1.7}),
                         "g1: speed, 2 bars: b 1.50, a 0.500; ideal 1.70; 1 bar invalid")
        self.assertEqual(chart_labels.of_bars("g1", "speed", {}, 2, {}), "g1: speed, 0 bars; 2 bars invalid")
        many = chart_labels.of_bars("g1", "speed", {"schedule %d %s" % (i, "x" * 20): i + 1 for i in range(30)}, 0, {})
        self.assertRegex(many, r"\Ag1: speed, 30 bars: from schedule 29 x+ 30 to schedule 0 x+ 1\Z")

    def test_samples_have_their_range_and_their_ends(self) -> None:
        self.assertEqual(label(draw_spark([2e-3, 4e-3, 1e-3, 3e-3])),
                         "4 samples in time order: median 2.50 ms, from 1 ms to 4 ms; the first 2 ms, the last 3 ms")

    def test_a_tree_counts_its_kinds_from_the_outside(self) -> None:
        tree = "Machine#0[Package#0[L3(32MB)[Core#0[PU#0] Core#1[PU#1]]] Package#1[L3(32MB)[Core#2[PU#2] Core#3[PU#3]]]]"
        self.assertEqual(label(draw_tree(tree)), "The machine as nested boxes, from the outside: Machine, 2 × Package, "
                                                 "2 × L3 32 MiB, 4 × Core and 4 × PU")
        wide = "Machine#0[%s]" % " ".join("Kind%s%d#0" % ("y" * 60, i) for i in range(40))
        self.assertLessEqual(len(label(draw_tree(wide))), LONGEST_TEXT + 1)


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Page(workplace.Scratch):
    def labels(self, text: str) -> List[Tuple[str, str]]:
        """Role and label of every drawing."""
        self.run_build(text)
        return [(m[1], html.unescape(m[2])) for m in re.finditer(r'<svg [^>]*?role="([^"]*)" aria-label="([^"]*)"', self.page())]

    def test_every_drawing_of_a_page_has_a_role_and_a_sentence(self) -> None:
        found = self.labels(synthetic.everything())
        self.assertEqual(self.page().count("<svg"), len(found))
        self.assertGreater(len(found), 30)
        for role, text in found:
            self.assertEqual(role, "img")
            self.assertRegex(text, r"[0-9]")
            self.assertGreater(len(text.split(" ")), 3, text)
            self.assertLessEqual(len(text), LONGEST_TEXT, text)
            self.assertNotIn("  ", text)

    def test_known_curves_are_told_as_they_are(self) -> None:
        texts = [text for _, text in self.labels(synthetic.memory().text() + synthetic.latency().text())]
        for start in (r"bandwidth over footprint from [^,]*, 1 curve: regular falls from 400 GB/s to 20 GB/s; dotted: L1 ",
                      r"latency over footprint from [^,]*, 1 curve: chase rises from 1 ns to 100 ns; dotted: L1 "):
            self.assertTrue(any(re.match(start, text) for text in texts), texts)


if __name__ == "__main__":
    unittest.main()
