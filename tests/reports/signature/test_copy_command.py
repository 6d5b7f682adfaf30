# SPDX-License-Identifier: BSD-3-Clause
"""Results of micro/copy_command are the truth that its times were made of."""

from __future__ import annotations

import unittest
from typing import Optional, Sequence

import workplace
from record_writer import Writer, axis
from synthetic import value

from reports.signature.section import Table
from reports.signature.sections import copy_command, spec_of
from reports.signature.sections.copy_command import PAYS, meeting, stops_paying

SIZES = [4096 << (2 * i) for i in range(8)]
COPIES = 16


def ratio(size: float, fixed: float, batch: float, rate: float) -> float:
    """Time over that back to back, of a batch that pays `fixed` once and `batch` for every further copy."""
    return (fixed + (COPIES - 1) * batch + COPIES * size / rate) / (COPIES * (fixed + size / rate))


def records(
    fixed: float, rate: float, batch: Optional[float], bends: float = 1.0, sizes: Sequence[int] = tuple(SIZES)
) -> str:
    w = Writer("micro/copy_command", [], [axis("direction", "", ["up"]), axis("size", "byte", list(sizes))])
    for size in sizes:
        seconds = (fixed + size / rate) * (bends if size == 1 << 20 else 1)
        variants, derived = [w.variant("each", seconds, size)], []
        if batch is not None:
            together = ratio(size, fixed, batch, rate)
            variants.append(w.variant("batch", COPIES * (fixed + size / rate) * together, COPIES * size))
            derived.append(value("batch_time_ratio", "batch", together, ""))
        w.case({"direction": "up", "size": size}, variants, derived)
    return w.end().text()


class Truth(workplace.Scratch):
    def section(self, text: str) -> dict:
        return self.signature(text).json["programs"]["micro/copy_command"]

    def test_fixed_time_rate_and_shares_are_recovered(self) -> None:
        for fixed, rate in ((3e-6, 25e9), (9e-6, 60e9), (4e-5, 5e9)):
            found = self.section(records(fixed, rate, None))["results"]
            (line,) = found["fits"]
            self.assertAlmostEqual(line["alpha_s"] / fixed, 1, delta=1e-3)
            self.assertAlmostEqual(line["bandwidth"] / rate, 1, delta=1e-3)
            self.assertEqual(len(found["outside"]), len(SIZES))
            for share in found["outside"]:
                truth = fixed / (fixed + share["size_byte"] / rate)
                self.assertAlmostEqual(share["share"], truth, delta=1e-3)
            self.assertEqual(found["paying"], [])

    def test_a_curve_that_is_no_line_has_no_shares(self) -> None:
        found = self.section(records(3e-6, 25e9, None, bends=4))["results"]
        self.assertTrue(found["fits"][0]["poor"])
        self.assertEqual(found["outside"], [])

    def test_the_size_at_which_a_batch_stops_paying_is_that_of_the_law(self) -> None:
        for fixed, batch, rate in ((2.5e-6, 5e-7, 25e9), (2.5e-6, 0, 25e9), (2e-5, 5e-6, 10e9)):
            (found,) = self.section(records(fixed, rate, batch))["results"]["paying"]
            self.assertAlmostEqual(ratio(found["pays_up_to_byte"], fixed, batch, rate), PAYS, delta=1e-4)

    def test_a_batch_that_never_pays_or_always_does_is_told(self) -> None:
        never = self.section(records(2.5e-6, 25e9, 2.5e-6))
        self.assertEqual(never["results"]["paying"][0]["pays_up_to_byte"], 0)
        self.assertIn("a batch pays at no size from 4 KiB on", never["summary"])
        always = self.section(records(1e-2, 25e9, 0.0))
        self.assertIsNone(always["results"]["paying"][0]["pays_up_to_byte"])
        self.assertIn("a batch pays at every size up to 64 MiB", always["summary"])

    def test_the_largest_size_that_pays_counts(self) -> None:
        points = [(1.0, 0.5), (2.0, 0.97), (4.0, 0.6), (8.0, 1.01), (16.0, 0.99)]
        found = stops_paying(points)
        self.assertTrue(found is not None and 4 < found < 8)
        self.assertEqual(found, meeting(points[2], points[3]))
        self.assertEqual(stops_paying([(1.0, 0.95), (2.0, 1.2)]), 0)

    def test_the_page_has_the_papers_shares_where_it_has_the_size(self) -> None:
        text = records(3e-6, 25e9, 5e-7)
        tables = [f for f in self.figures(text) if isinstance(f, Table)]
        (shares,) = [t for t in tables if "DMA-Latte, MI300X" in t.heads]
        rows = {row[0]: row[-1] for row in shares.rows}
        self.assertEqual(rows["64 KiB"], "54 %")
        self.assertEqual(rows["64 MiB"], "< 1.0 %")
        self.assertEqual(rows["4 KiB"], "–")
        self.assertTrue(any("pays" in t.heads for t in tables))

    def figures(self, text: str) -> list:
        signature = self.signature(text)
        (section,) = [s for s in signature.sections if s.group.program == "micro/copy_command"]
        return spec_of("micro/copy_command").figures(section)

    def test_the_papers_shares_fall(self) -> None:
        shares = list(copy_command.PAPER_OUTSIDE.values())
        self.assertEqual(shares, sorted(shares, reverse=True))


if __name__ == "__main__":
    unittest.main()
