# SPDX-License-Identifier: BSD-3-Clause
# level: lab
"""An emulator that breaks is a failure, and the process ends: amd.py on one that raises."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
EMULATOR = """
from types import SimpleNamespace
Device = {{"CPU": SimpleNamespace(renderer=SimpleNamespace(render=None))}}
def _decode_at(pc, arch):
    pass
def run_asm(*where):
    raise {said}
"""
# No code object: the kernels that have answers, or those named, on any device.
PROGRAM = """
import sys
import amd
class Code:
    def __init__(self, path):
        self.arch, names = path.name.split(":")
        self.kernels = names.split() if names != "all" else list(amd.answers.OF)
    def launch(self, *arguments):
        amd.emu.run_asm()
amd.Code = Code
sys.exit(amd.main())
"""


@unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not installed")
class Amd(unittest.TestCase):
    def run_with(self, said, *codes):
        with tempfile.TemporaryDirectory() as tinygrad:
            folder = Path(tinygrad)
            for name in ("test", "mockgpu", "amd"):
                folder /= name
                folder.mkdir()
                (folder / "__init__.py").touch()
            (folder / "emu.py").write_text(EMULATOR.format(said=said), encoding="utf-8")
            environment = {**os.environ, "TINYGRAD": tinygrad, "PYTHONPATH": str(HERE)}
            command = [sys.executable, "-c", PROGRAM, *codes]
            ran = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=60, check=False
            )
        self.assertEqual(ran.stderr, "")
        return ran.returncode, ran.stdout.splitlines()

    def test_an_emulator_that_breaks_fails_every_kernel(self):
        for said in ("RuntimeError('[emu] broken')", "NotImplementedError('new')", "KeyError('pc')"):
            code, lines = self.run_with(said, "gfx1100:all")
            tests = [line for line in lines if not line.startswith(("#", "1.."))]
            self.assertEqual(code, 1)
            self.assertGreater(len(tests), 20)
            self.assertEqual([line for line in tests if not line.startswith("not ok")], [])

    def test_a_kernel_is_skipped_on_the_device_for_which_it_is_not_emulated(self):
        code, lines = self.run_with("NotImplementedError('f8')", "gfx1201:mma_f8")
        self.assertEqual((code, lines), (0, ["ok 1 gfx1201 mma_f8 # SKIP f8", "1..1"]))
        code, lines = self.run_with("RuntimeError('[emu] broken')", "gfx1201:mma_f8")
        self.assertEqual(
            (code, lines), (1, ["# RuntimeError: [emu] broken", "not ok 1 gfx1201 mma_f8", "1..1"])
        )

    def test_a_file_without_kernels_is_a_failure(self):
        code, lines = self.run_with("KeyError()", "gfx942:")
        self.assertEqual((code, lines), (1, ["not ok 1 gfx942 has kernels", "1..1"]))


if __name__ == "__main__":
    unittest.main()
