# SPDX-License-Identifier: BSD-3-Clause
"""Sentences of gemm/attention and micro/neighbour, from records of a simulated machine."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[3]
DEVICES = {"gemm/attention": "sim:h100", "micro/neighbour": "sim:h100?tenants=2:0,1"}


class TestSentences(unittest.TestCase):
    """Each names what it rests on, in numbers of the records."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        records = Path(cls.folder.name, "records.jsonl")
        for program, device in DEVICES.items():
            command = [str(ROOT / "bin" / program), "--device", device, "--format", "json"]
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
