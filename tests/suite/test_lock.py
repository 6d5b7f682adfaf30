# SPDX-License-Identifier: BSD-3-Clause
"""Access to the folder of a run whose driver was killed."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from suite.run import resume
from suite.command_error import CommandError

_SLEEPS = "import time; time.sleep(600)"


class OfAKilledDriver(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        (self.folder / "lock").write_text(json.dumps({"driver": ended.pid, "child": None}), encoding="ascii")

    def program(self, locks: bool, *words: str) -> "subprocess.Popen[bytes]":
        """Start a process as a driver does: a leader of a session that inherits the lock."""
        with open(self.folder / "lock", "rb") as lock:
            if locks:
                fcntl.flock(lock, fcntl.LOCK_EX)
            child = subprocess.Popen(
                [sys.executable, "-c", _SLEEPS, *words],
                start_new_session=True,
                stderr=subprocess.DEVNULL,
                pass_fds=(lock.fileno(),) if locks else (),
            )
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def records(self) -> str:
        return str(self.folder / "records.jsonl")

    def test_a_program_that_was_started_and_not_recorded_is_stopped(self) -> None:
        reader, left = self.program(False, self.records()), self.program(True, "--out", self.records())
        lock = resume.Lock(self.folder)
        self.addCleanup(os.close, lock.handle)
        left.wait(resume._GRACE_S)
        self.assertIsNone(reader.poll())  # it has the records in its arguments, but not the lock

    def test_another_program_that_has_the_lock_is_left_alone(self) -> None:
        other = self.program(True, "records.jsonl")
        with (
            patch.object(resume, "_GRACE_S", 0.1),
            self.assertRaisesRegex(
                CommandError, "is in use by a program of an earlier run; try again when it has ended"
            ),
        ):
            resume.Lock(self.folder)
        self.assertIsNone(other.poll())

    def test_a_process_of_another_node_means_nothing_here(self) -> None:
        """The driver's number is that of a process that has ended here, and of one that measures there."""
        owner = json.loads((self.folder / "lock").read_text(encoding="ascii"))
        self.program(True, "--out", self.records())
        (self.folder / "lock").write_text(
            json.dumps({**owner, "host": "node/9\n", "processes": "of node9"}), encoding="ascii"
        )
        words = "is in use by another run .process %d of node_9_-[0-9a-f]{8}.$" % owner["driver"]
        for use in (resume.Lock, resume.refuse_in_use):
            with self.assertRaisesRegex(CommandError, words):
                use(self.folder)

    def test_a_folder_of_a_killed_driver_is_not_in_use(self) -> None:
        self.program(True, "--out", self.records())
        resume.refuse_in_use(self.folder)

    def test_a_lock_names_its_node(self) -> None:
        with patch.dict(os.environ, SLURMD_NODENAME="node9"):
            lock = resume.Lock(self.folder)
        self.addCleanup(os.close, lock.handle)
        owner = json.loads((self.folder / "lock").read_text(encoding="ascii"))
        self.assertEqual(
            (owner["driver"], owner["host"], owner["processes"]), (os.getpid(), "node9", resume._processes())
        )
        with self.assertRaisesRegex(CommandError, "in use by another run .process %d.$" % os.getpid()):
            resume.refuse_in_use(self.folder)
