# SPDX-License-Identifier: BSD-3-Clause
"""A program that hangs is stopped at its limit, which does not count the time that others had."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from suite.run import launch, starvation


class Limit(unittest.TestCase):
    def launch(self, share: float, patience: float, *command: str) -> launch.Ended:
        """With a limit of 10 ms, where others have this share of the program's time."""
        with (
            mock.patch.object(starvation, "share_of_others", lambda *_: share),
            mock.patch.object(launch, "_PATIENCE", patience),
            tempfile.TemporaryDirectory() as folder,
            launch.StopSignals() as stop,
        ):
            return launch.launch(
                list(command), Path(folder, "log"), 0.01, stop, stop.wake, lambda _: None, lambda: None
            )

    def test_what_takes_longer_is_stopped(self) -> None:
        ended = self.launch(0.0, 4.0, "sleep", "600")
        self.assertLess(ended.code, 0)
        self.assertEqual((ended.overran, ended.others), (True, 0.0))

    def test_what_waited_for_a_processor_goes_on(self) -> None:
        ended = self.launch(1.0, float("inf"), "sleep", "0.5")
        self.assertEqual((ended.code, ended.overran, ended.others), (0, False, 0.0))

    def test_but_not_for_ever(self) -> None:
        ended = self.launch(0.9, 4.0, "sleep", "600")
        self.assertLess(ended.code, 0)
        self.assertEqual((ended.overran, ended.others), (True, 0.9))


if __name__ == "__main__":
    unittest.main()
