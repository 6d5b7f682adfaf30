# SPDX-License-Identifier: BSD-3-Clause
"""Files are written whole, and nothing else is replaced by one."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

import workplace

from reports.records.files import write_whole


class Written(workplace.Scratch):
    def test_a_file_and_a_link_are_replaced(self) -> None:
        (self.folder / "kept").write_text("old")
        (self.folder / "link").symlink_to("kept")
        for name in ("link", "fresh"):
            write_whole(self.folder / name, "new")
            self.assertEqual((self.folder / name).read_text(), "new")
        self.assertEqual((self.folder / "kept").read_text(), "old")

    def test_a_pipe_or_a_device_stays_what_it_is(self) -> None:
        pipe, link = self.folder / "pipe", self.folder / "link"
        os.mkfifo(pipe)
        link.symlink_to("/dev/null")
        for path in (pipe, link, Path("/dev/gpusig-test")):
            with self.assertRaisesRegex(OSError, "it is not a regular file"):
                write_whole(path, "text")
        self.assertTrue(pipe.is_fifo() and link.is_symlink())
        self.assertEqual(len(os.listdir(self.folder)), 2)

    def test_a_folder_is_no_file_the_root_included(self) -> None:
        for path in (self.folder, Path("/"), Path(".")):
            with self.assertRaisesRegex(IsADirectoryError, "Is a directory"):
                write_whole(path, "text")


if __name__ == "__main__":
    unittest.main()
