# SPDX-License-Identifier: BSD-3-Clause
"""Sentences of the programs that inference asks for, from records of a simulated machine."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAMS = {
    "gemm/small_batch": ["--rows", "1,64"],
    "gemm/grouped": ["--rows", "4"],
    "gemm/attention": [],
    "micro/neighbour": [],
}


class TestSentences(unittest.TestCase):
    """Each names what it rests on, in numbers of the records."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        records = Path(cls.folder.name, "records.jsonl")
        for program, options in PROGRAMS.items():
            device = "sim:h100?tenants=2:0,1" if program == "micro/neighbour" else "sim:h100"
            command = [str(ROOT / "bin" / program), "--device", device, *options, "--format", "json"]
            done = subprocess.run(command, capture_output=True, check=True)
            with open(records, "ab") as file:
                file.write(done.stdout)
        subprocess.run([str(ROOT / "gpusig"), "report", cls.folder.name], capture_output=True, check=True)
        signature = json.loads(Path(cls.folder.name, "signature.json").read_text(encoding="utf-8"))
        cls.cases = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
        cls.summaries = {p["program"]: p["summary"] for p in signature["programs"].values()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def value(self, name, variant, **axes):
        found = [
            d["value"]
            for case in self.cases
            if all(case.get("case", {}).get(k) == v for k, v in axes.items())
            for d in case.get("derived", ())
            if (d["name"], d["variant"]) == (name, variant)
        ]
        self.assertEqual(len(found), 1, (name, variant, axes))
        return found[0]

    def test_few_rows(self):
        text = self.summaries["gemm/small_batch"]
        self.assertTrue(text.startswith("bf16: 1 row reaches"), text)
        self.assertIn("64 rows reach", text)
        cost = self.value("rows_time_ratio", "gemm", type="bf16", rows=64)
        self.assertIn("%.2f times the time of one row" % cost, text)

    def test_experts(self):
        text = self.summaries["gemm/grouped"]
        for routing in ("even", "uneven"):
            speedup = self.value("speedup", "grouped", routing=routing)
            self.assertIn("(%s): one grouped GEMM is %.2f times as fast" % (routing, speedup), text)

    def test_attention_of_both_phases(self):
        text = self.summaries["gemm/attention"]
        for phase, keys in (("prefill-2K", "refill with 2K keys"), ("decode-64K", "ecode with 64K keys")):
            gain = self.value("fused_speedup", "fused", type="bf16", phase=phase)
            self.assertIn("%s (bf16): the fused kernel is %.2f times as fast" % (keys, gain), text)

    def test_the_worst_neighbour(self):
        text = self.summaries["micro/neighbour"]
        self.assertIn("while another process runs", text)
        self.assertIn("of 12 measured combinations", text)


if __name__ == "__main__":
    unittest.main()
