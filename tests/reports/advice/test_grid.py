# SPDX-License-Identifier: BSD-3-Clause
"""Tables of advice for runtimes."""

from __future__ import annotations

import re
import statistics
import unittest

import workplace

from reports.advice import grid
from reports.advice.ask import Adviser, AdviseError, NoAnswer, Way, Work

from tests.reports.advice import asked


class Values(unittest.TestCase):
    def test_lists_and_ranges(self) -> None:
        for text, values in (
            ("4096", (4096,)),
            ("4096,1024,1024", (1024, 4096)),
            ("256:1024", (256, 320, 384, 448, 512, 640, 768, 896, 1024)),
            ("256:1024:2", (256, 384, 512, 768, 1024)),
            ("100:300:1", (100, 128, 256, 300)),
            ("7:7,1", (1, 7)),
            ("1:4", (1, 2, 3, 4)),
            (str(1 << 24), (1 << 24,)),
        ):
            self.assertEqual(grid.values_of(text), values, text)

    def test_what_is_no_value_is_refused(self) -> None:
        for text in (
            "",
            "0",
            "-1",
            "x",
            "5:4",
            "1,",
            ":",
            "1:",
            str((1 << 24) + 1),
            "9" * 5000,
            "1.5",
            " ",
        ):
            with self.assertRaises(ValueError, msg=text):
                grid.values_of(text)

    def test_a_grid_is_bounded(self) -> None:
        sides = tuple(range(1, 200))
        grid.check(grid.Grid(sides, (1,), (1, 2)))
        for values in ((sides, sides, (1,)), (tuple(range(1, 258)), (1,), (1,))):
            with self.assertRaisesRegex(AdviseError, "at most 20000, and 256 values of a side"):
                grid.check(grid.Grid(*values))


@unittest.skipUnless(asked.BUILT, "needs the programs: make")
class Tables(workplace.Scratch):
    def test_points_are_in_order_and_their_times_those_of_the_question(self) -> None:
        adviser, asked_for = asked.adviser(self), grid.Grid((1024, 4096), (512, 4096), (4096, 8192))
        works = [Work("ag-gemm", "bf16", asked.DEVICES), Work("gemm-rs", "f32", asked.DEVICES)]
        note = "the signature has " + "many words " * 20
        lines = grid.table(adviser, asked_for, works, "./gpusig advise x\ny", [note]).splitlines()
        self.assertEqual(lines[0], "gpusig advice 1")
        self.assertEqual(lines[-1], "end")
        self.assertIn("error -", lines)
        remarks = " ".join(line[2:] for line in lines if line.startswith("# "))
        self.assertIn(note.strip(), remarks)
        self.assertIn("./gpusig advise x", remarks)
        body = [line for line in lines[1:-1] if not line.startswith(("#", "error", "chunk"))]
        for work in works:
            head, ways, *sides = body[:5]
            self.assertEqual(head, "grid %s %s %d" % work[:3])
            self.assertEqual(sides, ["m 1024 4096", "n 512 4096", "k 4096 8192"])
            names = [Way(*way.split("/")) for way in ways.split()[1:]]
            own = adviser.times(asked_for.points(), work)
            for point, row in zip(asked_for.points(), body[5:13]):
                told = dict(zip(names, row.split()))
                self.assertEqual(
                    {way: word for way, word in told.items() if word != "-"},
                    {way: "%.6g" % seconds for way, seconds in own[point].items()},
                )
            body = body[13:]
        self.assertEqual(body, [])

    def test_between_points_logarithms_are_interpolated(self) -> None:
        way, other = Way("serial", "engine"), Way("shard", "kernel")
        of = grid.Grid((100, 400), (10,), (10, 1000))
        times = {(m, 10, k): {way: 1e-9 * m * k**2, other: 1.0} for m in of.m for k in of.k}
        found = grid.interpolated(of, times, (200, 10, 300))
        self.assertAlmostEqual(found[way] / (1e-9 * 200 * 300**2), 1)
        self.assertAlmostEqual(found[other], 1)
        self.assertAlmostEqual(grid.interpolated(of, times, (400, 10, 1000))[way] / 0.4, 1)
        del times[400, 10, 10][other]
        self.assertEqual(set(grid.interpolated(of, times, (200, 10, 300))), {way})
        self.assertEqual(set(grid.interpolated(of, times, (100, 10, 300))), {way, other})

    def test_a_dense_table_is_less_off_between_its_points(self) -> None:
        adviser, work, off = asked.adviser(self), Work("ag-gemm", "bf16", asked.DEVICES), []
        for points in (1, 16):
            of = grid.Grid(grid.values_of("512:8192:%d" % points), (4096,), (4096,))
            off.append(grid.off_between(adviser, of, work, grid.times_at(adviser, of, work)))
        self.assertLess(statistics.median(off[1]), statistics.median(off[0]))
        self.assertGreater(min(map(min, off)), -1e-12)

    def test_what_is_impossible_is_a_dash(self) -> None:
        """Nothing of one row can be cut."""
        work = Work("ag-gemm", "bf16", asked.DEVICES)
        text = grid.table(asked.adviser(self), grid.Grid((2, 4096), (4096,), (512,)), [work], "", [])
        small, large = text.splitlines()[-3:-1]
        self.assertIn("-", small.split())
        self.assertNotIn("-", large.split())

    def test_what_has_no_answer_is_left_out_with_the_reason(self) -> None:
        works = [Work(op, kind, asked.DEVICES) for op in ("ag-gemm", "gemm-rs") for kind in ("f16", "f32")]
        text = grid.table(asked.adviser(self), grid.Grid((4096,), (4096,), (4096,)), works, "", [])
        self.assertEqual(
            re.findall("^grid (.*) 4$", text, re.M), ["ag-gemm f16", "ag-gemm f32", "gemm-rs f32"]
        )
        remarks = " ".join(line[2:] for line in text.splitlines() if line.startswith("# "))
        self.assertRegex(remarks, "No grid of gemm-rs f16: [^:]*not supported")

    def test_where_nothing_is_possible_it_is_refused_with_the_reason(self) -> None:
        adviser = asked.adviser(self)
        for kind, sides, said in (("i9", 4096, "choices: |values: "), ("bf16", (1 << 32) - 1, ".")):
            with self.assertRaisesRegex(AdviseError, said):
                works = [Work("ag-gemm", kind, asked.DEVICES)]
                grid.table(adviser, grid.Grid((sides,), (sides,), (sides,)), works, "", [])
        made_up = asked.signature(asked.without("micro/peer_matrix"))
        with self.assertRaisesRegex(NoAnswer, "depend on peer_bandwidth"):
            grid.table(
                Adviser(made_up, asked.stored(made_up, self.folder), asked.BIN, self.folder),
                grid.Grid((4096,), (4096,), (4096,)),
                [Work("ag-gemm", "bf16", asked.DEVICES)],
                "",
                [],
            )


if __name__ == "__main__":
    unittest.main()
