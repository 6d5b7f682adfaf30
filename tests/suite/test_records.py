# SPDX-License-Identifier: BSD-3-Clause
"""The record file: mended after a crash, read once, never half written."""
import json
import tempfile
import unittest
from pathlib import Path

from suite import plan
from suite.programs import Program
from suite.records import Full, Ledger


def line(kind, program="micro/a", **more):
    return json.dumps({"kind": kind, "run": "r1", "program": program, **more}) + "\n"


def case(key, status="ok", **more):
    return line("case", key=key, status=status, elapsed_s=1.0, **more)


def end(status="ok", out_of_budget=0):
    return line("end", status=status, cases={"out_of_budget": out_of_budget})


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "records.jsonl"

    def ledger(self, text):
        self.path.write_text(text, encoding="utf-8")
        ledger = Ledger(self.path)
        ledger.mend()
        ledger.update()
        return ledger

    def pending(self, text, with_left_out=False):
        return len(plan.pending([Program("micro/a", Path("/a"))], self.ledger(text), with_left_out))

    def test_a_cut_off_line_is_taken_out_and_kept(self):
        whole = line("run") + case("k")
        self.ledger(whole + '{"kind": "ca')
        self.assertEqual(self.path.read_text(encoding="utf-8"), whole)
        self.assertEqual(self.path.with_suffix(".cut").read_text(encoding="utf-8"), '{"kind": "ca\n')

    def test_a_cut_off_line_longer_than_a_block(self):
        whole = line("run")
        self.ledger(whole + "x" * 3_000_000)
        self.assertEqual(self.path.read_text(encoding="utf-8"), whole)
        self.ledger("x" * 3_000_000)
        self.assertEqual(self.path.read_text(encoding="utf-8"), "")

    def test_no_file_and_an_empty_one(self):
        ledger = Ledger(self.path)
        self.assertEqual(ledger.mend(), 0)
        ledger.update()
        self.assertEqual(self.ledger("").programs, {})

    def test_only_ok_and_skipped_cases_are_done(self):
        ledger = self.ledger(line("run") + case("a") + case("b", "failed") + case("c", "skipped") + end("failed"))
        self.assertEqual(ledger.of("micro/a").done, ["a", "c"])

    def test_the_last_word_on_a_case_counts(self):
        ledger = self.ledger(line("run") + case("a", "failed") + end("failed") + line("run") + case("a") + end())
        self.assertEqual(ledger.of("micro/a").done, ["a"])
        self.assertTrue(ledger.of("micro/a").finished)

    def test_what_is_pending(self):
        self.assertEqual(self.pending(""), 1)
        self.assertEqual(self.pending(line("run") + case("a")), 1)
        self.assertEqual(self.pending(line("run") + case("a") + end()), 0)
        self.assertEqual(self.pending(line("run") + case("a") + end("invalid")), 0)
        self.assertEqual(self.pending(line("run") + case("a") + end("interrupted")), 1)
        self.assertEqual(self.pending(line("run") + case("a", "failed") + end("failed")), 1)
        self.assertEqual(self.pending(line("run") + case("a") + end(out_of_budget=2)), 0)
        self.assertEqual(self.pending(line("run") + case("a") + end(out_of_budget=2), True), 1)
        self.assertEqual(self.pending(line("run") + case("a") + end() + line("run")), 1)

    def test_lines_that_are_no_records_are_counted_and_passed_over(self):
        ledger = self.ledger("not json\n[]\n{}\n" + line("run") + line("other") + case("a"))
        self.assertEqual(ledger.unreadable, 4)
        self.assertEqual(ledger.of("micro/a").done, ["a"])

    def test_append_is_a_whole_line_or_nothing(self):
        ledger = self.ledger(line("run"))
        ledger.append({"kind": "end", "run": "r1", "program": "micro/a", "status": "failed"})
        last = json.loads(self.path.read_text(encoding="utf-8").splitlines()[-1])
        self.assertEqual((last["schema"], last["status"]), ("gpusig.record", "failed"))
        with self.assertRaises(Full):
            Ledger(Path("/dev/full")).append({"kind": "end", "program": "micro/a"})

    def test_a_case_with_one_good_number_counts_as_valid(self):
        flagged = {"valid": False, "flags": [{"flag": "noisy", "variant": "one"}]}
        good, bad = ({"name": "time", "variant": v, "valid": v == "two"} for v in ("two", "one"))
        records = line("run") + case("a", validity=flagged, derived=[bad, good]) + case("b", validity=flagged, derived=[bad])
        self.assertEqual(self.ledger(records).of("micro/a").valid, {"a"})

    def test_only_valid_cases_count_as_valid(self):
        noisy = {"valid": False, "flags": [{"flag": "noisy"}, {"flag": "noisy"}]}
        history = self.ledger(line("run") + case("a") + case("b", validity=noisy)).of("micro/a")
        self.assertEqual(history.valid, {"a"})
        self.assertEqual(history.flags["noisy"], 1)


if __name__ == "__main__":
    unittest.main()
