# SPDX-License-Identifier: BSD-3-Clause
"""One list of blocks in a terminal and on a page."""

from __future__ import annotations

import re
import unittest
from typing import Any, List

import workplace

from reports.page.blocks import (
    PAGE,
    TERMINAL,
    Cell,
    Column,
    Group,
    Head,
    Page,
    Table,
    Text,
    columns,
    html,
    markdown,
    names_of,
    row,
    terminal,
    terms,
)

NUMBERS = [Column("metric"), *columns("before", "after", css="")]


def page(*blocks: Any) -> Page:
    return Page("test", "compare", ["a: b"], "What?", ["An answer."], ["A reason."], blocks, "The end.")


def lines(*blocks: Any) -> List[str]:
    return terminal(page(*blocks)).splitlines()[4:]


class Terminal(unittest.TestCase):
    def test_short_rows_are_columns_and_a_long_name_stands_above(self) -> None:
        short, name = row(Cell("a", "64 MiB"), "1 s", "20 s"), "long " * 14
        self.assertEqual(
            lines(Table("t", NUMBERS, [short])), ["           before  after", "a, 64 MiB     1 s   20 s"]
        )
        self.assertEqual(
            lines(Table("t", NUMBERS, [short, row(name, "2 s", "30 s")]))[2:],
            [name.strip(), " " * 70 + "2 s   30 s"],
        )

    def test_what_is_wider_is_a_sentence_that_says_equal_cells_once(self) -> None:
        wide = "w" * 40
        self.assertEqual(
            lines(
                Table("t", columns("rule", "x", "y", "z"), [row("a", wide, wide, ""), row("b", "", "", "")])
            ),
            ["a: x and y " + wide, "b"],
        )

    def test_what_stands_aside_and_footnotes_of_notes_that_repeat(self) -> None:
        heads = [*NUMBERS, Column("verdict", aside=True), Column("picture", drawn=True)]
        rows = [row(name, "1", "2", Cell("worse", icon="!"), "", notes=["no limit"]) for name in "abc"]
        found = lines(Table("t", heads, [Head("Group"), *rows]))
        self.assertEqual(found[1:5], ["", "Group", "a" + "! worse [1]".rjust(79), "       1      2"])
        self.assertEqual(found[-2:], ["", "[1] no limit"])

    def test_rows_are_cut_and_counted(self) -> None:
        table = Table("t", columns("a", "b"), [row("x", str(i)) for i in range(9)], most=(2, 5), total=20)
        self.assertEqual(lines(table), ["x: 0", "x: 1", "and 18 more"])
        self.assertIn("and 15 more", html(page(table), (), "") if workplace.HAVE_JINJA2 else "and 15 more")

    def test_empty_groups_have_no_title_and_pages_have_their_own_blocks(self) -> None:
        self.assertEqual(
            lines(
                Group("section", "Nothing", []),
                Group("section", "Terms", [terms([("a", "b")])]),
                Text("seen", only=TERMINAL),
                Text("not seen", only=PAGE),
            ),
            ["seen"],
        )


class Markdown(unittest.TestCase):
    def test_a_page_is_its_answer_and_its_tables(self) -> None:
        heads = [Column("metric"), Column("picture", drawn=True), Column("value", "")]
        rows = [Head("Compute"), Head("speed", level=1), row("a|b", "", "1 s"), row("<c>", "", "2 s")]
        found = markdown(
            page(Text("not copied"), Group("section", "Numbers", [Table("t", heads, rows)])), "./gpusig x"
        )
        self.assertEqual(
            found,
            ["### What?", "", "An answer.", "", "A reason.", "", "a: b", "", "`./gpusig x`", ""]
            + ["#### Numbers", ""]
            + ["| metric | value |", "| --- | ---: |", "| speed, a\\|b | 1 s |", "| speed, \\<c> | 2 s |"],
        )

    def test_a_title_has_the_names_of_paths_and_what_tells_them_apart(self) -> None:
        for paths, names in (
            (["/data/night/before", "../after/"], ["before", "after"]),
            (["/data/a/run", "/data/b/run"], ["a/run", "b/run"]),
            (["/x/a and /x/b", "/x/c"], ["a and b", "c"]),
            (["/x/same", "/x/same"], ["same", "same"]),
            (["/"], ["/"]),
        ):
            self.assertEqual(names_of(*paths), names)


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Html(unittest.TestCase):
    def test_every_text_is_escaped_and_only_drawings_are_markup(self) -> None:
        bad = '<i>&"'
        table = Table(
            bad,
            [Column(bad), Column(bad), Column(bad, under=True)],
            [Head(bad, bad, 0, bad), row(Cell(bad, bad, bad, bad, bad, bad), bad, bad, notes=[bad])],
            titled=True,
        )
        text = html(
            page(
                Text(bad, bad, bad),
                terms([(bad, bad)]),
                Group("section", bad, [table], bad),
                Group("fold", bad, [Group("part", bad, [table])]),
            ),
            (),
            "",
        )
        self.assertNotIn("<i>", text)
        self.assertGreater(text.count("&lt;i&gt;&amp;"), 20)

    def test_every_row_has_an_id_and_a_link_to_itself(self) -> None:
        rows = [Head("speed", level=1, title="micro/x/speed"), row("a", "1"), row("a", "2")]
        named = [row(Cell("b", title="micro/x/b_rate"), "3"), row("c", "4")]
        heads = [Column("machine"), Column("value", "")]
        text = html(
            page(
                Group("section", "One", [Table("t", heads, rows), Table("u", heads, named)], "one"),
                Group("part", "node 7", [Table("t", heads, [row("c", "5")])]),
            ),
            (),
            "",
        )
        ids = ["micro-x-speed", "micro-x-speed-a", "micro-x-speed-a-2", "micro-x-b-rate", "one-c", "node-7-c"]
        self.assertEqual(re.findall(r'<tr[^>]* id="([^"]*)"', text), ids)
        self.assertEqual(re.findall(r'<a class="self" href="#([^"]*)"', text), ["one", *ids])

    def test_what_a_terminal_alone_shows_is_not_there(self) -> None:
        text = html(
            page(
                Text("seen", only=PAGE), Text("hidden text", only=TERMINAL), Group("section", "Nothing", [])
            ),
            (),
            "",
        )
        self.assertIn(">seen<", text)
        self.assertNotIn("hidden text", text)
        self.assertNotIn("Nothing", text)


if __name__ == "__main__":
    unittest.main()
