# SPDX-License-Identifier: BSD-3-Clause
"""Text of drawings can be read: its contrast, by WCAG 2's formula, to what is behind it, by day and by
night."""

from __future__ import annotations

import re
import unittest
from typing import Dict, List, Set, Tuple
from xml.dom import minidom

import workplace

from reports.page import template
from reports.page.charts import Cell, LineChart, Mark, Series, draw_heat, draw_lines
from reports.signature.link_drawing import draw_links
from reports.signature.links import links_of
from reports.page.topology_drawing import draw_tree

LEAST = 4.5

Colour = Tuple[float, float, float]


def colour(text: str) -> Colour:
    digits = text[1:] if len(text) == 7 else "".join(2 * c for c in text[1:])
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def luminance(of: Colour) -> float:
    red, green, blue = (
        v / 255 / 12.92 if v / 255 <= 0.04045 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in of
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def over(top: Colour, below: Colour, opacity: float) -> Colour:
    red, green, blue = (opacity * t + (1 - opacity) * b for t, b in zip(top, below))
    return red, green, blue


def style(*names: str) -> str:
    return "".join(
        (template.TEMPLATES / name).read_text(encoding="utf-8")
        for name in names or ("report.css", "compare.css")
    )


def themes() -> Dict[str, Dict[str, Colour]]:
    """The variables by day, and by night where those of the day hold unless there is another."""
    screen = style("report.css").split("@media print")[0]
    blocks = re.findall(r"(@media screen and \(prefers-color-scheme: dark\) \{\s*)?:root \{([^}]*)\}", screen)
    day: Dict[str, Colour] = {}
    night: Dict[str, Colour] = {}
    for is_dark, block in blocks:
        found = {
            name: colour(text) for name, text in re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6})\b", block)
        }
        (night if is_dark else day).update(found)
    return {"day": day, "night": {**day, **night}}


def fills() -> Dict[str, str]:
    """Class -> the variable that its text is filled with, or its shape."""
    found = re.findall(r"svg (?:text)?\.([a-z0-9-]+) \{[^}]*?\bfill: var\(--([a-z0-9]+)\)", style())
    return {**dict(found), "tint": "wash"}


def of_text(classes: str) -> str:
    """The variable; text without a class that fills is ink."""
    return next((fills()[name] for name in classes.split() if name in fills()), "ink")


def texts(svg: str) -> List[str]:
    return [t.getAttribute("class") for t in minidom.parseString(svg).getElementsByTagName("text")]


def heat() -> str:
    values = [2.0 ** (k / 10) for k in range(-20, 21)]
    cells = [[Cell(v) for v in values], [Cell(v, False) for v in values], [None for _ in values]]
    return draw_heat(["valid", "invalid", "none"], ["%d" % k for k in range(41)], cells, "row", "column")


class Contrast(unittest.TestCase):
    def test_the_formula(self) -> None:
        self.assertAlmostEqual(contrast((0, 0, 0), (255, 255, 255)), 21.0)
        self.assertAlmostEqual(contrast(colour("#777"), colour("#ffffff")), 4.48, 2)
        self.assertEqual(over((200, 100, 0), (0, 100, 200), 0.25), (50, 100, 150))

    def test_the_style_is_understood(self) -> None:
        day, night = themes()["day"], themes()["night"]
        for name in (
            "paper",
            "ink",
            "soft",
            "wash",
            "hot",
            "cold",
            "caution",
            *("c%d" % i for i in range(7)),
        ):
            self.assertIn(name, day)
            self.assertNotEqual(day[name], night[name], name)
        self.assertEqual(
            [of_text(c) for c in ("", "tick", "name f4", "panel", "cellvalue", "hot", "lost")],
            ["ink", "soft", "c4", "ink", "ink", "hot", "caution"],
        )

    def test_cells_of_a_heat_map(self) -> None:
        root = minidom.parseString(heat()).documentElement
        shapes = [node for node in root.childNodes if node.tagName in ("rect", "text")]
        seen: Set[Tuple[str, str]] = set()
        for shape, text in zip(shapes, shapes[1:]):
            if shape.tagName != "rect":
                continue
            behind = fills()[shape.getAttribute("class").split()[-1]]
            opacity = float(shape.getAttribute("fill-opacity") or 1)
            for name, theme in themes().items():
                got = contrast(
                    theme[of_text(text.getAttribute("class"))], over(theme[behind], theme["paper"], opacity)
                )
                self.assertGreaterEqual(got, LEAST, (name, behind, opacity))
                seen.add((name, behind))
        self.assertEqual(len(seen), 6)

    def test_a_warm_cell_is_still_told_from_a_pale_one(self) -> None:
        opacities = [float(o) for o in re.findall('fill-opacity="([0-9.]+)"', heat())]
        self.assertGreaterEqual(max(opacities) - min(opacities), 0.4)

    def test_text_on_paper_and_on_boxes(self) -> None:
        series = [Series("s%d" % i, [Mark(1, i + 1), Mark(8, i + 2)], i) for i in range(7)]
        facts = {"link_0_0": "kind=PCIe to=host generation=5 generation_max=5 lanes=8 lanes_max=16 read=busy"}
        drawn = [
            draw_lines(LineChart("t", "x", "", "", series, up=[(2, "L1")])),
            heat(),
            draw_links(links_of(facts), {0: 0}),
            draw_tree("Machine#0[Package#0[Core#0[PU#0] Core#1[PU#1]]]"),
        ]
        pale = set()
        classes = {c for svg in drawn for c in texts(svg)} | {"lost"}
        self.assertEqual(
            classes,
            {"panel", "tick", "name", "cellvalue", "hot", "lost", *("name f%d" % i for i in range(7))},
        )
        for theme in themes().values():
            for name in classes:
                behind = [theme["paper"]] + ([theme["wash"]] if name in ("tick", "name") else [])
                pale |= {name.split()[-1] for b in behind if contrast(theme[of_text(name)], b) < LEAST}
        self.assertEqual(pale, set())

    def test_names_of_reference_lines_on_the_band_of_a_curve(self) -> None:
        opacity = re.search(r"svg \.band \{ fill-opacity: ([0-9.]+)", style())
        assert opacity
        for theme in themes().values():
            for i in range(7):
                behind = over(theme["c%d" % i], theme["paper"], float(opacity[1]))
                self.assertGreaterEqual(contrast(theme["soft"], behind), LEAST, i)


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Page(workplace.Scratch):
    def test_no_page_has_text_of_another_class(self) -> None:
        self.example()
        found = {c for svg in re.findall(r"<svg.*?</svg>", self.page(), re.S) for c in texts(svg)}
        self.assertLessEqual({c.split()[0] for c in found}, {"panel", "tick", "name", "cellvalue", "hot"})


if __name__ == "__main__":
    unittest.main()
