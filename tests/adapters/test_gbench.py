# SPDX-License-Identifier: BSD-3-Clause
# level: lab
"""Google Benchmark's own compare.py reads the export, and sees the change that was made."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import simulated
import brought

_PLACE = "usr/share/benchmark/compare.py"  # of Debian's libbenchmark-tools
REPETITIONS = 9  # from which compare.py's test of ranks has nothing to warn of


def tool() -> Path:
    found = [Path("/") / _PLACE, *brought.TOOLS.glob("*/" + _PLACE)]
    for path in found:
        if path.is_file():
            return path
    raise unittest.SkipTest("no compare.py of Google Benchmark; sh suite/setup/setup.sh lab brings it")


class Compare(simulated.Scratch):
    def compare(self, before: str, after: str) -> str:
        ran = subprocess.run(
            [sys.executable, str(tool()), "--no-color", "benchmarks", before, after],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        if "ModuleNotFoundError" in ran.stderr:
            self.skipTest(ran.stderr.splitlines()[-1])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_it_sees_a_slow_down_in_every_repetition_and_nothing_else(self) -> None:
        tool()
        for name, line in (("before", ""), ("after", "slow_down = gemm 1.10")):
            device = self.model("one.model", line, "jitter_sigma = 0.001")
            for i in range(1, REPETITIONS + 1):
                self.simulate("%s/run-%d" % (name, i), device, i + 100 * (name == "after"))
        for name in ("before", "after"):
            for i in range(1, REPETITIONS + 1):
                (self.folder / name / ("run-%d/plan.json" % i)).write_text(
                    '{"created": "2026-01-01T00:%02d:00+00:00"}' % i
                )
            self.export("gbench", name, "--out", name + ".json")
        lines = self.compare("before.json", "after.json").splitlines()
        changes = {"gemm": [], "peak": []}  # type: ignore[var-annotated]
        for line in lines:
            match = re.match(
                r"gemm/efficiency/(gemm|peak)_\w+_flop_rate +([+-][0-9.]+) +([+-][0-9.]+) ", line
            )
            if match:
                changes[match.group(1)].append(float(match.group(2)))
        self.assertGreaterEqual(len(changes["gemm"]), 2 * REPETITIONS, lines)
        self.assertEqual(len(changes["peak"]), 2 * REPETITIONS)
        self.assertTrue(all(0.09 < change < 0.11 for change in changes["gemm"]), changes["gemm"])
        self.assertTrue(all(abs(change) < 0.01 for change in changes["peak"]), changes["peak"])
        self.assertIn("U Test, Repetitions: %d vs %d" % (REPETITIONS, REPETITIONS), "\n".join(lines))


if __name__ == "__main__":
    unittest.main()
