# SPDX-License-Identifier: BSD-3-Clause
"""The cause of what has no result or no value: one list, in records and signatures, and read from the
sentences of older ones in one place."""

from __future__ import annotations

import ast
import copy
import json
import lzma
import tempfile
import unittest
from pathlib import Path

import synthetic
import workplace

from reports.records import causes
from reports.records.record_file import read
from reports.signature.signature import build
from reports.records.validate import schema

REPORTS = Path(causes.__file__).parents[1]
REFERENCE = REPORTS / "reference" / "h100"


class OneList(unittest.TestCase):
    def test_the_schemas_have_the_same_words(self) -> None:
        record = schema("record")["definitions"]["case"]["properties"]
        self.assertEqual(record["cause"]["enum"], list(causes.OF_CASES))
        flags = record["validity"]["properties"]["flags"]["items"]["properties"]["flag"]["enum"]
        self.assertEqual(sorted(flags), sorted(causes.FLAGS))
        self.assertEqual(schema("signature")["definitions"]["cause"]["enum"], list(causes.CAUSES))

    def test_no_reason_is_looked_into_anywhere_else(self) -> None:
        """Sentences that begin with something, or have it in them, decide nothing."""
        found = []
        for path in sorted(REPORTS.rglob("*.py")):
            if path.name == "causes.py":
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                looked = (
                    node.func.value
                    if isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr in ("startswith", "partition")
                    else node.comparators[0]
                    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn))
                    else None
                )
                text = ast.unparse(looked) if looked is not None else ""
                if "['reason']" in text or text.endswith(".reason") or text == "reason":
                    found.append("%s:%d: %s" % (path.name, node.lineno, ast.unparse(node)))
        self.assertEqual(found, [])

    def test_of_several_flags_the_heaviest_counts(self) -> None:
        for flags, cause in (
            (["noisy", "mechanism", "few_samples"], "few_samples"),
            (["throttled", "soak"], "soak"),
            (["noisy", "contended"], "contended"),
            (["contended", "above_bound", "throttled"], "above_bound"),
            (["contended", "of tomorrow"], "other"),
            ([], "no_value"),
        ):
            self.assertEqual(causes.of_flags(flags), cause)


class Older(workplace.Scratch):
    def test_a_case_whose_check_failed_is_a_wrong_result_whatever_its_status_and_words(self) -> None:
        for status, more in (
            ("ok", {}),
            ("failed", {"reason": "whatever"}),
            ("failed", {"reason": "x", "cause": "y"}),
        ):
            w = synthetic.memory()
            w.lines[1].update(status=status, **more)
            w.lines[1]["check"]["status"] = "failed"
            (entry,) = self.signature(w.text()).json["not_measured"]
            self.assertEqual((entry["status"], entry["cause"]), ("failed", "wrong_result"))

    def test_other_cases_are_errors_or_not_supported(self) -> None:
        for status, cause in (("failed", "error"), ("skipped", "not_supported")):
            w = synthetic.memory()
            w.lines[1].update(status=status, reason="wrong result: nobody checked it")
            (entry,) = self.signature(w.text()).json["not_measured"]
            self.assertEqual((entry["status"], entry["cause"]), (status, cause))

    def test_an_unknown_cause_never_says_that_the_machine_cannot_have_it(self) -> None:
        for status, cause in (("failed", "error"), ("skipped", "other")):
            w = synthetic.memory()
            w.lines[1].update(status=status, cause="of tomorrow", reason="x")
            made = self.signature(w.text()).json
            self.assertEqual([entry["cause"] for entry in made["not_measured"]], [cause])
            made["not_measured"][0]["cause"] = "of tomorrow"
            self.assertEqual(causes.completed(made)["not_measured"][0]["cause"], cause)

    def test_what_a_signature_says_in_sentences_is_read_as_what_it_says_in_words(self) -> None:
        """Signature of an H100's records, from which every cause is removed."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "records.jsonl"
            path.write_bytes(lzma.decompress((REFERENCE / "records.jsonl.xz").read_bytes()))
            made = json.loads(build(read(path)).text())
        old = copy.deepcopy(made)
        parts = ("not_measured", "primary_missing", "invalid")
        for entry in (entry for part in parts for entry in old[part]):
            del entry["cause"]
        causes.completed(old)
        for part in parts:
            self.assertEqual(
                [(entry["reason"], entry["cause"]) for entry in old[part]],
                [(entry["reason"], entry["cause"]) for entry in made[part]],
            )
        self.assertTrue(made["invalid"])

    def test_missing_headline_numbers_of_older_signatures(self) -> None:
        for reason, cause in (
            ("its case was skipped: peer needs two devices", "not_supported"),
            ("its variant was skipped: the device has no copy engines", "not_supported"),
            ("its case did not run", "not_run"),
            ("few_samples: 3 samples; noisy: \u00b120 %", "few_samples"),
            ("contended, and no other try confirms it", "contended"),
            ("this device does not report what llc is", "not_reported"),
            ("no round gave a finite value", "no_value"),
        ):
            entry = {"reason": reason}
            causes.completed({"primary_missing": [entry]})
            self.assertEqual(entry["cause"], cause, reason)

    def test_wrong_results_of_older_signatures(self) -> None:
        for reason, cause in (
            ("wrong result: engine, sample 1: word 513", "wrong_result"),
            ("1 of 2 tries: wrong result: engine", "wrong_result"),
            ("check: 3 of 5 differ", "wrong_result"),
            ("time limit: stopped after 5 s", "error"),
        ):
            unmeasured = {"status": "failed", "key": "a=1", "reason": reason}
            missing = {"reason": "its case failed: " + reason}
            causes.completed({"not_measured": [unmeasured], "primary_missing": [missing], "invalid": None})
            self.assertEqual((unmeasured["cause"], missing["cause"]), (cause, cause))


if __name__ == "__main__":
    unittest.main()
