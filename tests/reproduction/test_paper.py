# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""The two readings of the paper, and which misses are whose."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import paper
from simulate import TORUS
from torus_model import ALL_PORTS, FITTED, KIB, MIB, ONE, ONE_PORT, Model


class Words(unittest.TestCase):
    def test_neighbours_are_ranges(self) -> None:
        self.assertEqual(paper.span([32, 64, 128, 512, MIB, 2 * MIB]), "32 B to 128 B, 512 B, 1 MiB to 2 MiB")

    def test_a_miss_is_ours_where_the_papers_reading_reaches_the_bar(self) -> None:
        found = paper.Rows()
        for what, one, all_ in (
            ("a", True, False),
            ("b", False, True),
            ("c", False, False),
            ("d", True, True),
        ):
            found.add(
                what, "", "", lambda swing, one=one, all_=all_: ("", one if swing is ONE_PORT else all_)
            )
        text = "\n".join(paper.misses_of(found))
        self.assertIn("| a | all ports | ours: L on all ports |", text)
        self.assertIn("| b | one port | not explained |", text)
        self.assertIn("| c | both readings | not explained |", text)
        self.assertNotIn("| d |", text)
        self.assertIn(
            "3 rows are missed in some reading: 1 on all ports alone, 1 on one port alone, 1 in both.", text
        )


@unittest.skipUnless(TORUS.is_file(), "topology/torus is not built")
class Readings(unittest.TestCase):
    def setUp(self) -> None:
        self.model = Model(*FITTED)

    def test_deficiencies_of_the_latency_variant(self) -> None:
        """Psi of the paper's table is D log2 p: 24 on 64x64, and a quarter of it on four ports."""
        for algorithm, psi in (("swing-l" + ONE, 24), ("swing-l", 6), ("rd-l" + ONE, 24), ("rd-l", 24)):
            self.assertAlmostEqual(self.model.of("64x64", algorithm, 2 * KIB)["psi"], psi, msg=algorithm)

    def test_one_port_never_gains_more(self) -> None:
        gains = [
            [paper.gain(self.model, "8x8", s, swing) for s in paper.SWEEP] for swing in (ONE_PORT, ALL_PORTS)
        ]
        self.assertTrue(all(one <= all_ + 1e-12 for one, all_ in zip(*gains)))
        self.assertTrue(any(one < all_ - 0.1 for one, all_ in zip(*gains)))

    def test_equal_times_are_a_tie_of_all(self) -> None:
        self.assertEqual(
            self.model.best("hyperx:64x64", ("rd-l", "bucket", "swing-l" + ONE), 32)[1],
            "tie of rd-l and swing-l",
        )
        self.assertEqual(self.model.best("64x64", ("rd-l", "bucket"), 32)[1], "rd-l")


if __name__ == "__main__":
    unittest.main()
