# SPDX-License-Identifier: BSD-3-Clause
"""The sentence of micro/neighbour, from records of partitions of a simulated device."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[3]


class TestSentence(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        records = Path(cls.folder.name, "records.jsonl")
        command = [
            str(ROOT / "bin/micro/neighbour"),
            "--device",
            "sim:h100?tenants=2:0,1",
            "--format",
            "json",
        ]
        records.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
        subprocess.run([str(ROOT / "gpusig"), "report", cls.folder.name], capture_output=True, check=True)
        signature = json.loads(Path(cls.folder.name, "signature.json").read_text(encoding="utf-8"))
        cls.summaries = {p["program"]: p["summary"] for p in signature["programs"].values()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_worst_neighbour(self):
        text = self.summaries["micro/neighbour"]
        self.assertIn("while another process runs", text)
        self.assertIn("of 12 measured combinations", text)


if __name__ == "__main__":
    unittest.main()
