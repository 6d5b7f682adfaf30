# SPDX-License-Identifier: BSD-3-Clause
"""A machine's tree is read and folded, and nothing else is taken for one."""

from __future__ import annotations

import unittest

import workplace  # noqa: F401

from reports.page.topology_drawing import draw_tree, parse


class Boxes(unittest.TestCase):
    def test_a_tree_is_read(self) -> None:
        root = parse("Machine#0[NUMANode(5594MB) L3(32MB)[Core#0[PU#0] Core#1[PU#1]]]")
        self.assertEqual([c.kind for c in root.children], ["NUMANode", "L3"])
        self.assertEqual([c.label() for c in root.children[1].children], ["Core 0", "Core 1"])
        self.assertEqual(root.children[1].size, "32 MiB")

    def test_many_alike_are_drawn_once(self) -> None:
        drawn = draw_tree(
            "Machine#0[%s]" % " ".join("Core#%d[PU#%d PU#%d]" % (i, i, i + 64) for i in range(64))
        )
        self.assertIn("64 × Core", drawn)
        self.assertNotIn("PU 0", drawn)
        self.assertLess(len(drawn), 3000)

    def test_what_is_no_tree_is_not_drawn(self) -> None:
        for text in (
            "",
            "[",
            "]",
            "a]",
            "[a]",
            "a[b",
            "a b",
            "<b>[c]",
            "a[" * 1000,
            "a" * 100000,
            "#0",
            "(1MB)",
        ):
            with self.subTest(text=text[:20]):
                self.assertEqual(draw_tree(text) if not text.isalpha() else "", "")


if __name__ == "__main__":
    unittest.main()
