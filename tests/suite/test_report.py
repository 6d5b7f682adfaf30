# SPDX-License-Identifier: BSD-3-Clause
"""The child that makes the report."""

from __future__ import annotations

import sys
import tempfile
import time
import unittest
from pathlib import Path

from suite.run import report

# Starts a program, writes its process id, and waits for it.
_CHILD = """import os, subprocess, sys
program = subprocess.Popen(["sleep", "1000"])
open(sys.argv[1] + ".new", "w").write(str(program.pid))
os.rename(sys.argv[1] + ".new", sys.argv[1])
program.wait()"""


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class ReportChild(unittest.TestCase):
    def test_a_report_that_is_given_up_ends_with_the_programs_that_it_simulates(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "pid"
            code = report._pass_on([sys.executable, "-c", _CHILD, str(file)], file.exists, False)
            pid = int(file.read_text(encoding="ascii"))
            self.assertLess(code, 0)
            looks = 6000  # the signal was sent, and takes no time
            while _runs(pid) and looks:
                time.sleep(0.01)
                looks -= 1
            self.assertTrue(looks, "its program still runs")

    def test_a_report_that_ends_by_itself_has_its_own_exit_code(self) -> None:
        self.assertEqual(
            report._pass_on([sys.executable, "-c", "raise SystemExit(3)"], lambda: False, False), 3
        )


if __name__ == "__main__":
    unittest.main()
