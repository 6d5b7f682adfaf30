# SPDX-License-Identifier: BSD-3-Clause
# level: lab
"""ReFrame runs the test class as it is exported: values and references are in its perflog, and a slower
machine fails."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Dict, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import simulated
import brought


class ReFrame(simulated.Scratch):
    def reframe(self, *words: str) -> Tuple[int, str]:
        environment = {
            **os.environ,
            "RFM_PREFIX": str(self.folder / "reframe"),
            **self.tools,
            "GPUSIG_BIN": str(simulated.BIN),
            "GPUSIG_NO_INSTALL": "1",
            "GPUSIG_NICE": str(os.nice(0)),
            "HOME": str(self.folder),
        }
        ran = subprocess.run(
            ["reframe", "--nocolor", "-c", "gpusig_test.py", "-r", *words],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        return ran.returncode, ran.stdout

    def perflog(self) -> Dict[str, str]:
        """The last line of the only one."""
        (path,) = (self.folder / "reframe/perflogs").rglob("*.log")
        return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="|"))[-1]

    def test_it_passes_on_the_same_machine_and_fails_on_a_slower_one(self) -> None:
        self.tools = brought.environment("reframe")
        device = self.model("one.model")
        self.simulate("reference", device)
        self.export("reframe", "reference", "--out", "gpusig_test.py")
        code, said = self.reframe("-S", "budget=1s")
        self.assertEqual(code, 0, said)
        self.assertIn("PASSED", said)
        metrics = json.loads((self.folder / "reference/signature.json").read_text(encoding="utf-8"))[
            "metrics"
        ]
        logged = self.perflog()
        headline = {name: entry for name, entry in metrics.items() if entry["primary"]}
        self.assertTrue(headline)
        for name, entry in headline.items():
            variable = name.rpartition("/")[2]
            self.assertEqual(float(logged[variable + "_ref"]), entry["value"])
            self.assertAlmostEqual(float(logged[variable + "_value"]) / entry["value"], 1, delta=0.01)
            self.assertEqual(logged[variable + "_unit"], entry["unit"])
        self.model("one.model", "slow_down = gemm 1.25")
        code, said = self.reframe("-S", "budget=1s")
        self.assertNotEqual(code, 0, said)
        self.assertIn("gemm_f32_flop_rate", said)
        self.assertEqual(self.perflog()["result"], "fail")

    def test_it_fails_where_nothing_is_measured(self) -> None:
        self.tools = brought.environment("reframe")
        self.simulate("reference", "sim:h100")
        self.export("reframe", "reference", "--out", "gpusig_test.py")
        code, said = self.reframe("-S", "device=sim:nothing")
        self.assertNotEqual(code, 0)
        self.assertIn("gpusig wrote no signature.json", said)


if __name__ == "__main__":
    unittest.main()
