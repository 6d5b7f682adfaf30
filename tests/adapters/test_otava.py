# SPDX-License-Identifier: BSD-3-Clause
# level: lab
"""Apache Otava finds a step in months of exported nights, with the example's configuration, and none in the
same nights without; ./gpusig compare finds the same in their folder. The nights are simulated: a device with
noise, another seed each night, and a date that the test gives them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import simulated
import brought

NIGHTS, STEP = 60, 40
FIRST = datetime(2026, 1, 1, 2, tzinfo=timezone.utc)
NOISE = "jitter_sigma = 0.01"
FEW = (
    "--min-samples",
    "10",
    "--max-samples",
    "10",
    "--type",
    "f32,f64",
)  # so that nights differ by half a percent
LEAST = "0.02"  # as docs/ADAPTERS.md has it: without it two of 20 equal series have a change point
SINCE = "2025-12-01"


def otava() -> Dict[str, str]:
    """By itself, or the folder of pip, which has all that it needs: other versions of that may be
    installed."""
    return brought.environment("otava")


class Otava(simulated.Scratch):
    def analyze(self, test: str) -> List[Dict[str, object]]:
        """Its change points."""
        environment = otava()
        script = next(
            Path(place) / "otava"
            for place in environment["PATH"].split(":")
            if (Path(place) / "otava").is_file()
        )
        own = [sys.executable]
        if brought.TOOLS in script.parents:  # of pip, for its Python, and without what that has beside
            own = [script.read_text(encoding="utf-8").splitlines()[0][2:].split()[0], "-S"]
        options = ["--since", SINCE, "--magnitude", LEAST, "--output", "json"]
        ran = subprocess.run(
            [*own, str(script), "analyze", test, *options],
            cwd=self.folder,
            env={**os.environ, **environment, "OTAVA_CONFIG": str(self.folder / "otava.yaml")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return list(json.loads(ran.stdout)[test])

    def nights(self, name: str, first: int, last: int, *more: str) -> None:
        device = self.model("one.model", NOISE, *more)
        for night in range(first, last):
            self.simulate(
                "%s/night-%d" % (name, night), device, night + 1, FIRST + timedelta(days=night), *FEW
            )

    def compare(self, *parts: str) -> Tuple[int, List[Tuple[str, List[str]]]]:
        """Exit code, and of each step its day and its numbers, of a folder with the nights of these."""
        folder = self.folder / "-".join(parts)
        folder.mkdir()
        for night in (night for part in parts for night in (self.folder / part).iterdir()):
            (folder / night.name).symlink_to(night)
        ran = subprocess.run(
            [sys.executable, "-m", "suite", "compare", str(folder), "--format", "json", "--html", ""],
            cwd=simulated.ROOT,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        steps = json.loads(ran.stdout)["steps"]
        return ran.returncode, [
            (step["when"], sorted(number["name"] for number in step["numbers"])) for step in steps
        ]

    def test_a_step_is_found_on_its_night_and_nothing_without_it(self) -> None:
        otava()
        text = (simulated.ROOT / "docs/examples/otava/otava.yaml").read_text(encoding="utf-8")
        (self.folder / "otava.yaml").write_text(text, encoding="utf-8")
        self.nights("before", 0, STEP)
        self.nights("same", STEP, NIGHTS)
        self.nights("slower", STEP, NIGHTS, "slow_down = gemm 1.03")
        self.export("csv", "before", "same", "--only", "gemm_*", "--out", "gemm.csv")
        self.assertEqual(self.analyze("gemm"), [])
        self.export("csv", "before", "slower", "--only", "gemm_*", "--out", "gemm.csv")
        found = self.analyze("gemm")
        self.assertEqual(
            [point["time"] for point in found], [int((FIRST + timedelta(days=STEP)).timestamp())], found
        )
        changes = {
            change["metric"]: float(change["forward_change_percent"]) for change in found[0]["changes"]
        }  # type: ignore
        self.assertEqual(sorted(changes), ["gemm_f32_tflops", "gemm_f64_tflops"])
        self.assertTrue(all(-5 < change < -1 for change in changes.values()), changes)
        names = ["gemm/efficiency/gemm_%s_flop_rate" % of for of in ("f32", "f64")]
        self.assertEqual(self.compare("before", "same"), (0, []))
        day = (FIRST + timedelta(days=STEP)).date().isoformat()
        self.assertEqual(self.compare("before", "slower"), (1, [(day, names)]))


if __name__ == "__main__":
    unittest.main()
