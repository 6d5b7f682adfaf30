# SPDX-License-Identifier: BSD-3-Clause
"""However large the file: the report stays within half a gigabyte, and says what it left out."""

from __future__ import annotations

import json
import subprocess
import sys
import unittest
from typing import Tuple
from unittest import mock

import workplace
from synthetic import Json, everything, memory

from reports.records import jsonl, record_file
from tests import level

LIMIT_MIB = 512
SHARE = level.seeds(2, 2, 1)  # of the longest line, and of the memory beyond that of the program itself
LARGE = 31000000 // SHARE
PROGRAM_MIB = 60
BUILD = """
import re, sys
from pathlib import Path
from suite.commands.report import build_folder
code = build_folder(Path(sys.argv[1]), False)
status = open("/proc/self/status").read().replace("\\t", " ")
print(code, int(re.search("VmHWM: *(\\\\d+)", status).group(1)) >> 10)
"""


def filled(part: str, line: Json) -> Json:
    """A case of about 31 MB, or of a share of that: one part of it grows."""
    variant, derived = line["variants"][0], line["derived"][0]
    if part == "samples":
        many = LARGE // 26
        line["variants"] = [
            dict(variant, samples_s=[variant["median_s"]] * many, round=list(range(many)), n=many)
        ]
    elif part == "values":
        line["derived"] = [
            dict(derived, name="q%d" % i) for i in range(LARGE // (len(json.dumps(derived)) + 8))
        ]
    elif part == "facts":
        line["facts"] = {"fact%d" % i: "x" * 50 for i in range(LARGE // 70)}
    elif part == "parts":
        line["unknown"] = [[]] * (LARGE // 4)
    return line


class Memory(workplace.Scratch):
    def built(self) -> Tuple[int, int, str]:
        """Exit code, the most memory that was resident in MiB, and stderr."""
        done = subprocess.run(
            [sys.executable, "-c", BUILD, str(self.folder)],
            cwd=str(workplace.ROOT),
            capture_output=True,
            text=True,
        )
        code, most = map(int, done.stdout.splitlines()[-1].split())
        return code, most, done.stderr

    @level.only_all
    def test_a_long_line(self) -> None:
        run, case, *others = memory().lines
        for part, told in (
            ("samples", ""),
            ("facts", ""),
            ("values", "a case of more than 40000 timings and values (1)"),
            ("parts", "more than 500000 objects and arrays (1)"),
        ):
            with open(self.folder / "records.jsonl", "w", encoding="utf-8") as stream:
                stream.writelines(
                    json.dumps(line) + "\n"
                    for line in (run, filled(part, json.loads(json.dumps(case))), *others)
                )
            code, most, err = self.built()
            with self.subTest(part=part):
                self.assertEqual((code, err[:-1].rpartition("used: ")[2]), (0, told))
                self.assertLess(most, PROGRAM_MIB + (LIMIT_MIB - PROGRAM_MIB) // SHARE)

    @level.only_all
    def test_many_cases(self) -> None:
        """A tenth of what a file may hold of them, and the part of the memory beyond that of the program
        itself."""
        run, case, *others = memory().lines
        count = record_file.MAX_PARTS // 30
        with open(self.folder / "records.jsonl", "w", encoding="utf-8") as stream:
            for line in (
                run,
                *(dict(case, case=dict(case["case"], footprint=i), key="i=%d" % i) for i in range(count)),
                *others,
            ):
                stream.write(json.dumps(line) + "\n")
        code, most, err = self.built()
        self.assertEqual((code, err), (0, ""))
        self.assertLess(most, PROGRAM_MIB + (LIMIT_MIB - PROGRAM_MIB) // 10)

    def test_what_is_beyond_the_limit_is_refused_and_said(self) -> None:
        with mock.patch.object(record_file, "MAX_PARTS", 3 * 4):
            records = self.records(memory().text())
            self.assertEqual(records.bad_records, {"beyond the first 12 cases, timings and values": [6, 7]})
            self.assertEqual(len(list(records.cases())), 4)
        self.assertLess(self.records(everything()).parts, record_file.MAX_PARTS // 100)

    @level.only_all
    def test_a_line_that_is_too_long_is_not_held(self) -> None:
        path = self.folder / "records.jsonl"
        path.write_bytes(b"")
        with open(path, "r+b") as stream:  # a sparse file: one line of a quarter of a gigabyte
            stream.truncate(1 << 28)
            stream.seek(0, 2)
            stream.write(b"\n" + memory().text().encode())
        code, most, err = self.built()
        self.assertEqual((code, "longer than %d MiB (1)" % (jsonl.MAX_LINE_BYTES >> 20) in err), (0, True))
        self.assertLess(most, PROGRAM_MIB + 2 * (jsonl.MAX_LINE_BYTES >> 20))


if __name__ == "__main__":
    unittest.main()
