# SPDX-License-Identifier: BSD-3-Clause
"""Gains of sending C early, on the model of a signature and on the machine itself."""

from __future__ import annotations

import json
import subprocess
import unittest

import workplace

from reports.advice.ask import Work
from reports.advice.early import early

from tests.reports.advice import asked

SIDES = (4096, 4096, 512)


@unittest.skipUnless(asked.BUILT, "needs the programs: make")
class Early(workplace.Scratch):
    def test_gains_are_those_of_the_machine(self) -> None:
        (self.folder / "truth.model").write_text(asked.MODEL, encoding="utf-8")
        words = [str(asked.BIN / "overlap/trigger"), "--device", "sim:%s:0-3" % (self.folder / "truth.model")]
        words += ["--type", "f32", "--direction", "exchange", "--bands", "4,16,64", "--mflop", "0"]
        words += [
            "--shape",
            "%dx%dx%d" % SIDES,
            "--max-samples",
            "1",
            "--min-samples",
            "1",
            "--format",
            "json",
        ]
        out = subprocess.run(words, capture_output=True, check=True, timeout=300).stdout
        times: dict[str, list[float]] = {}
        for record in map(json.loads, out.splitlines()):
            for variant in record.get("variants", ()) if record["kind"] == "case" else ():
                if variant["median_s"]:
                    times.setdefault(variant["name"], []).append(variant["median_s"])
        found = early(asked.adviser(self), SIDES, Work("gemm-rs", "f32", asked.DEVICES))
        assert found is not None
        self.assertAlmostEqual(found["whole_s"] / min(times["whole_then_send"]), 1, delta=0.05)
        self.assertGreaterEqual(len(found["ways"]), 3)
        for way in found["ways"]:
            self.assertAlmostEqual(way["predicted_s"] / min(times[way["way"]]), 1, delta=0.05, msg=str(way))
            self.assertAlmostEqual(way["gain"], found["whole_s"] / way["predicted_s"])
        self.assertEqual(found["best"], found["ways"][0]["way"])
        self.assertGreater(found["ways"][0]["gain"], 1)
        self.assertIn("over the whole GEMM and then the send", found["text"])

    def test_a_gain_within_the_error_is_none(self) -> None:
        adviser = asked.adviser(self)
        adviser.checked["overlap/trigger"] = {"median": 9.0}
        found = early(adviser, SIDES, Work("gemm-ar", "f32", asked.DEVICES))
        assert found is not None
        self.assertIsNone(found["best"])
        self.assertTrue(found["text"].startswith("nothing gains over the whole GEMM"), found["text"])

    def test_where_c_is_not_sent_nothing_is_told(self) -> None:
        self.assertIsNone(early(asked.adviser(self), SIDES, Work("ag-gemm", "f32", asked.DEVICES)))

    def test_what_cannot_be_predicted_is_told_with_its_reason(self) -> None:
        found = early(asked.adviser(self), ((1 << 32) - 1,) * 3, Work("gemm-rs", "f32", asked.DEVICES))
        assert found is not None
        self.assertEqual((found["whole_s"], found["best"], found["ways"]), (None, None, []))
        self.assertRegex(found["text"], "^not predicted: .")


if __name__ == "__main__":
    unittest.main()
