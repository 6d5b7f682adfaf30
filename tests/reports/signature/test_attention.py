# SPDX-License-Identifier: BSD-3-Clause
"""The section of gemm/attention says what its records have."""

from __future__ import annotations

import unittest

import workplace
from record_writer import Writer, axis
from synthetic import value

from reports.signature.sections import method_of, spec_of


def records(fused: float) -> str:
    w = Writer(
        "gemm/attention",
        [],
        [
            axis("type", "", ["bf16"]),
            axis("phase", "", ["decode-4K", "prefill-1K"]),
            axis("mask", "", ["causal", "none"]),
        ],
    )
    for phase, mask, share, speedup in (
        ("decode-4K", "causal", fused, 3.0),
        ("prefill-1K", "causal", 0.01, 0.5),
        ("prefill-1K", "none", 0.01, 0.25),
    ):
        variants = [w.variant("fused", 1e-4, 1e6), w.variant("chain", speedup * 1e-4, 1e6)]
        derived = [
            value("read_share", "fused", share, ""),
            value("read_share", "chain", share / speedup, ""),
            value("fused_speedup", "fused", speedup, ""),
        ]
        key = {"type": "bf16", "phase": phase, "mask": mask, "heads": 8, "batch": 1}
        w.case(key, variants, derived)
    return w.end().text()


class Attention(workplace.Scratch):
    def test_the_sentence_and_the_table_have_both_phases(self) -> None:
        found = self.signature(records(0.8)).json["programs"]["gemm/attention"]
        self.assertIn("at up to 80 % of the rate of reading alone (bf16, decode-4K); in", found["summary"])
        self.assertIn("0.500 times as long as the fused kernel (bf16, prefill-1K, causal)", found["summary"])
        decode, causal, unmasked = found["results"]["cases"]
        self.assertEqual([row["fused_speedup"] for row in (decode, causal, unmasked)], [3.0, 0.5, 0.25])
        self.assertEqual((causal["mask"], unmasked["mask"]), ("causal", "none"))
        self.assertAlmostEqual(decode["chain"]["read_share"], 0.8 / 3)

    def test_its_heading_is_in_the_method(self) -> None:
        page, _, heading = method_of("gemm/attention").partition("#")
        text = (workplace.ROOT / page).read_text(encoding="utf-8")
        self.assertIn("## gemm/attention", text)
        self.assertEqual(heading, "gemmattention")
        self.assertIn("Attention", spec_of("gemm/attention").title)


if __name__ == "__main__":
    unittest.main()
