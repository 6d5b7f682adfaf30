# SPDX-License-Identifier: BSD-3-Clause
"""suite/launch.py: what hangs is stopped at its limit, and what others keep from the processors is not."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from suite import launch


class Limit(unittest.TestCase):
    def launch(self, *command: str) -> launch.Ended:
        with tempfile.TemporaryDirectory() as folder, launch.StopSignals() as stop:
            return launch.launch(
                list(command), Path(folder, "log"), 0.01, stop, stop.wake, lambda _: None, lambda: None
            )

    def test_what_takes_longer_is_stopped(self) -> None:
        ended = self.launch("sleep", "600")
        self.assertLess(ended.code, 0)
        self.assertTrue(ended.overran)

    def test_what_waited_for_a_processor_goes_on(self) -> None:
        with mock.patch.object(launch, "_waited_s", lambda _: 600.0):
            ended = self.launch("sleep", "0.5")
        self.assertEqual((ended.code, ended.overran), (0, False))

    @unittest.skipUnless(os.path.exists("/proc/self/schedstat"), "the kernel keeps no account")
    def test_the_account_is_found(self) -> None:
        self.assertGreater(launch._waited_s(os.getpid()), 0.0)
        self.assertEqual(launch._waited_s(0), 0.0)


if __name__ == "__main__":
    unittest.main()
