# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a program on a simulated device, as folders that ./gpusig export reads: its own records, with the
test's time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime
from pathlib import Path
from typing import Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "tests"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
BIN = Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin")

from reports.records.record_file import read
from reports.signature.signature import build


class Scratch(unittest.TestCase):
    """A folder, and what needs programs is skipped without them."""

    program = "gemm/efficiency"

    def setUp(self) -> None:
        if not os.access(BIN / self.program, os.X_OK):
            self.skipTest("%s is not built" % self.program)
        holder = tempfile.TemporaryDirectory(prefix="gpusig-adapters.")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def model(self, name: str, *lines: str) -> str:
        """A model as --device takes it."""
        path = self.folder / name
        path.write_text("like = h100\n" + "".join(line + "\n" for line in lines), encoding="utf-8")
        return "sim:%s" % path

    def simulate(
        self, name: str, device: str, seed: int = 1, started: Optional[datetime] = None, *options: str
    ) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True)
        with open(folder / "records.jsonl", "wb") as stream:
            subprocess.run(
                [
                    BIN / self.program,
                    "--device",
                    device,
                    "--headline",
                    "--budget",
                    "10m",
                    "--format",
                    "json",
                    "--seed",
                    str(seed),
                    *options,
                ],
                stdout=stream,
                stderr=subprocess.PIPE,
                check=True,
                timeout=300,
            )
        (folder / "signature.json").write_text(build(read(folder / "records.jsonl")).text(), encoding="utf-8")
        if started:
            (folder / "plan.json").write_text(json.dumps({"created": started.isoformat()}), encoding="utf-8")
        return folder

    def export(self, name: str, *words: str) -> Tuple[str, str]:
        """stdout and stderr of a good export."""
        ran = subprocess.run(
            [sys.executable, "-m", "suite", "--cwd", str(self.folder), "export", "--to", name, *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout, ran.stderr
