# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""JUnit XML against the published schema of Apache Ant's report; junit/README.md has its source and
licence."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import simulated

SCHEMA = Path(__file__).resolve().parent / "junit/JUnit.xsd"


@unittest.skipUnless(shutil.which("xmllint"), "no xmllint")
class Schema(simulated.Scratch):
    def valid(self, text: str) -> Tuple[bool, str]:
        path = self.folder / "junit.xml"
        path.write_text(text, encoding="utf-8")
        ran = subprocess.run(
            ["xmllint", "--noout", "--nonet", "--schema", str(SCHEMA), str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        return ran.returncode == 0, ran.stdout

    def test_runs_good_and_bad_are_valid(self) -> None:
        good = self.simulate("good", "sim:h100")
        bad = json.loads((self.simulate("bad", "sim:h100") / "signature.json").read_text(encoding="utf-8"))
        entry = {"program": self.program, "device": "sim:h100", "key": "a=1", "count": 2, "where": {}}
        bad["not_measured"] = [
            dict(entry, status="failed", cause="wrong_result", reason="3 of 5 differ"),
            dict(entry, status="skipped", reason='not <here> & "now"\u0000'),
            dict(entry, program="micro/none", key=None, status="failed", reason=""),
        ]
        bad["invalid"] = [dict(entry, derived="bandwidth", variant=None, flags=["throttled"], reason="heat")]
        bad["primary_missing"] = [
            dict(program=self.program, metric="x", device="sim:h100", reason="its case did not run")
        ]
        bad["bad_records"] = [{"reason": "not JSON", "lines": 2, "first_line": 7}]
        bad["provenance"]["fields"]["hostname"] = "  \ufffe<&'\">\ud800 "
        (self.folder / "bad/signature.json").write_text(json.dumps(bad), encoding="utf-8")
        for words in ([good.name], ["bad"], ["good", "bad"]):
            text, _ = self.export("junit", *words)
            self.assertEqual(self.valid(text), (True, str(self.folder / "junit.xml") + " validates\n"))
        for tag in ("failure", "error", "skipped"):
            self.assertIn("<%s " % tag, text)

    def test_the_schema_refuses_what_it_does_not_have(self) -> None:
        self.simulate("good", "sim:h100")
        text, _ = self.export("junit", "good")
        self.assertFalse(self.valid(text.replace("<testsuites>", '<testsuites name="x">'))[0])
        self.assertFalse(self.valid(text.replace(' hostname="', ' host="'))[0])


if __name__ == "__main__":
    unittest.main()
