# SPDX-License-Identifier: BSD-3-Clause
"""Folder and seed of a night's run."""

import tempfile
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path
from unittest import mock

from suite.run import history, resume
from suite.command_error import CommandError

NOW = datetime(2026, 11, 27, 3, 30, 0, 999, tzinfo=timezone.utc)


class Nights(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def test_folders_of_one_second_differ_and_are_in_order(self):
        made = [history.create_night(self.folder, NOW).name for _ in range(3)]
        self.assertEqual(made, ["20261127T033000Z", "20261127T033000Z-2", "20261127T033000Z-3"])

    def test_every_night_has_a_seed_of_its_own(self):
        seeds = [history.seed_of(history.create_night(self.folder, NOW)) for _ in range(3)]
        self.assertEqual(seeds, [2026112703300000, 2026112703300001, 2026112703300002])
        seeds.append(history.seed_of(history.create_night(self.folder, NOW + timedelta(seconds=1))))
        self.assertEqual(len(set(seeds)), 4)
        self.assertLess(history.seed_of(Path("99991231T235959Z-99")), resume.MAX_SEED)

    def test_a_run_is_no_history(self):
        options = resume.Options(None, None, None, [], None, None, None, False, [], False, None)
        for name in ("records.jsonl", "plan.json", "repeats.json"):
            (self.folder / name).touch()
            with self.assertRaisesRegex(CommandError, "is a run, or holds those of --repeats"):
                history.run(options, self.folder, None, self.folder)
            (self.folder / name).unlink()

    def test_nights_of_another_user_are_no_error(self):
        (self.folder / "own").mkdir()
        (self.folder / "own" / "signature.json").touch()
        self.assertEqual([night.name for night in history.others(self.folder)], ["own"])
        for asked in ("is_file", "iterdir"):
            with mock.patch.object(Path, asked, side_effect=PermissionError):
                self.assertEqual(history.others(self.folder), [])


if __name__ == "__main__":
    unittest.main()
