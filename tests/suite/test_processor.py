# SPDX-License-Identifier: BSD-3-Clause
"""Names by lscpu of processors that /proc/cpuinfo lists as numbers."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from suite.run import processor

_LSCPU = """#!/bin/sh
echo 'Architecture:          aarch64'
echo 'Vendor ID:             ARM'
echo 'BIOS Model name:       GB10'
echo '  Model name:          Cortex-X925'
echo '  Model name:          Cortex-A725'
"""


class Names(unittest.TestCase):
    def test_both_kinds_of_cores_are_named(self) -> None:
        machine = mock.Mock(machine="aarch64")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "lscpu")
            path.write_text(_LSCPU, encoding="utf-8")
            path.chmod(0o700)
            with mock.patch.dict(os.environ, {"PATH": folder}), mock.patch("os.uname", return_value=machine):
                processor.offer()
                self.assertEqual(os.environ["GPUSIG_CPU_NAME"], "Cortex-X925/Cortex-A725")

    def test_a_number_without_a_name_and_no_lscpu_are_none(self) -> None:
        self.assertEqual(processor.names_in("Vendor ID: 0x99\nModel name: -\nModel: 1\n"), [])
        with (
            mock.patch.dict(os.environ, {"PATH": "/dev/null/none"}),
            mock.patch("os.uname", return_value=mock.Mock(machine="riscv64")),
        ):
            processor.offer()
            self.assertNotIn("GPUSIG_CPU_NAME", os.environ)


if __name__ == "__main__":
    unittest.main()
