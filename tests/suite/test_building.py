# SPDX-License-Identifier: BSD-3-Clause
"""The lock of builds, where file systems answer differently. shared_checkout.bats has builds that start
at once."""

from __future__ import annotations

import errno
import io
import os
import tempfile
import threading
import unittest
from contextlib import redirect_stderr
from unittest.mock import patch

from suite.setup import building
from suite.command_error import CommandError


class OfBuilds(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        change = patch.dict(os.environ, GPUSIG_BUILD=folder.name, SLURMD_NODENAME="node9")
        change.start()
        self.addCleanup(change.stop)

    def test_one_is_alone_and_the_next_is_not_until_it_ends(self) -> None:
        with building.Lock() as second:
            with building.Lock() as first:
                self.assertTrue(first.try_alone())
                self.assertFalse(second.try_alone())
                self.assertEqual(second._owner(), f"process {os.getpid()} of node9")
            self.assertTrue(second.try_alone())

    def test_several_look_at_once_and_nobody_builds_meanwhile(self) -> None:
        with redirect_stderr(io.StringIO()) as said:
            with building.Lock() as first, building.Lock() as second, building.Lock() as builder:
                self.assertTrue(first.after_others() and second.after_others())
                self.assertFalse(builder.try_alone())
        self.assertEqual(said.getvalue(), "")  # nobody waited

    def test_a_file_system_without_locks_is_said_and_one_that_fails_is_an_error(self) -> None:
        with building.Lock() as lock, redirect_stderr(io.StringIO()) as said:
            with patch("fcntl.flock", side_effect=OSError(errno.ENOLCK, "No locks available")):
                self.assertTrue(lock.try_alone())
            with (
                patch("fcntl.flock", side_effect=OSError(errno.EIO, "Input/output error")),
                self.assertRaisesRegex(CommandError, "cannot lock .*: Input/output error"),
            ):
                lock.try_alone()
        self.assertEqual(said.getvalue().count("no locks on this file system"), 1)

    def test_one_that_has_just_taken_the_lock_is_named_once_it_says_who_it_is(self) -> None:
        path = building.folder() / "lock"
        path.touch()
        with building.Lock() as lock:
            writes = threading.Timer(0.1, path.write_text, ['{"process": 7, "host": "node1"}'])
            writes.start()
            self.assertEqual(lock._owner(), "process 7 of node1")
            writes.join()

    @patch.object(building, "_LOOKS", 1)
    def test_words_in_a_lock_reach_no_terminal_as_they_are(self) -> None:
        for text in (
            "",
            "[]",
            "{",
            '{"process": "x", "host": "node1"}',
            "\udc80",
        ):
            (building.folder() / "lock").write_text(text, encoding="utf-8", errors="surrogateescape")
            with building.Lock() as lock:
                self.assertEqual(lock._owner(), "another process")
        (building.folder() / "lock").write_text('{"process": 7, "host": "a\\u001bb"}', encoding="utf-8")
        with building.Lock() as lock:
            self.assertRegex(lock._owner(), "^process 7 of a_b")


if __name__ == "__main__":
    unittest.main()
