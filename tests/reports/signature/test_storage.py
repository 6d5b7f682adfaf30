# SPDX-License-Identifier: BSD-3-Clause
"""The section of micro/storage: what is slowed most, and at what rate storage was read meanwhile."""

from __future__ import annotations

import unittest
from typing import Any, Mapping

import workplace
from record_writer import value
from synthetic import Writer

LOSSES = {"gemm_with_read": 1.0, "read_with_gemm": 1.01, "copy_with_read": 1.3, "read_with_copy": 1.1}
CASE = {"into": "pinned", "type": "bf16", "readers": 8, "chunk": 1 << 20, "file": 1 << 27, "folder": "."}


def records(losses: Mapping[str, float] = LOSSES, **changed: object) -> str:
    w = Writer("micro/storage", spec="sim:0", simulated=True)
    names = ("read", "gemm", "copy", *losses)
    w.case(
        {**CASE, **changed},
        [w.variant(name, 0.01) for name in names],
        [
            *(
                value("CIL", name, loss, "", rounds=10, ci_low=0.99 * loss, ci_high=1.01 * loss)
                for name, loss in losses.items()
            ),
            *(value("read_bandwidth", name, 5e9, "byte/s") for name in ("gemm_with_read", "copy_with_read")),
        ],
    )
    return w.end().text()


class Sentence(workplace.Scratch):
    def section(self, *args: Any, **more: Any) -> Mapping[str, Any]:
        (program,) = self.signature(records(*args, **more)).json["programs"].values()
        return program

    def test_what_is_slowed_most_and_the_rate_of_reads(self) -> None:
        text = self.section()["summary"]
        self.assertIn("Slowed most is an H2D copy while reading storage goes on, which takes 1.3", text)
        self.assertIn("Reads ran at 5 GB/s meanwhile.", text)

    def test_no_loss(self) -> None:
        text = self.section({"gemm_with_read": 1.0})["summary"]
        self.assertIn("a GEMM of bf16 while reading storage goes on", text)
        self.assertIn("less than 5 %", text)

    def test_reads_by_the_device(self) -> None:
        self.assertIn("reading storage into the device goes on", self.section(into="device")["summary"])

    def test_results_have_every_loss_with_both_sides(self) -> None:
        results = self.section()["results"]
        pairs = [(row["of"], row["with"], row["value"]) for row in results["cil"]]
        self.assertEqual(
            pairs,
            [("gemm", "read", 1.0), ("read", "gemm", 1.01), ("copy", "read", 1.3), ("read", "copy", 1.1)],
        )
        self.assertEqual([row["value"] for row in results["read_bandwidth"]], [5e9, 5e9])


if __name__ == "__main__":
    unittest.main()
