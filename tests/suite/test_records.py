# SPDX-License-Identifier: BSD-3-Clause
"""The record file: mended after a crash, read once, never half written."""

import json
import tempfile
import unittest
from pathlib import Path

from suite.run import plan
from suite.run.programs import Program
from suite.run.records import CannotWrite, RecordFile


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

    def record_file(self, text):
        self.path.write_text(text, encoding="utf-8")
        record_file = RecordFile(self.path)
        record_file.truncate_partial()
        record_file.update()
        return record_file

    def pending(self, text, include_out_of_budget=False):
        return len(
            plan.pending([Program("micro/a", Path("/a"))], self.record_file(text), include_out_of_budget)
        )

    def test_a_cut_off_line_is_taken_out_and_kept(self):
        whole = line("run") + case("k")
        self.record_file(whole + '{"kind": "ca')
        self.assertEqual(self.path.read_text(encoding="utf-8"), whole)
        self.assertEqual(self.path.with_suffix(".cut").read_text(encoding="utf-8"), '{"kind": "ca\n')

    def test_a_cut_off_line_longer_than_a_block(self):
        whole = line("run")
        self.record_file(whole + "x" * 3_000_000)
        self.assertEqual(self.path.read_text(encoding="utf-8"), whole)
        self.record_file("x" * 3_000_000)
        self.assertEqual(self.path.read_text(encoding="utf-8"), "")

    def test_no_file_and_an_empty_one(self):
        record_file = RecordFile(self.path)
        self.assertEqual(record_file.truncate_partial(), 0)
        record_file.update()
        self.assertEqual(self.record_file("").programs, {})

    def test_only_ok_and_skipped_cases_are_done(self):
        record_file = self.record_file(
            line("run") + case("a") + case("b", "failed") + case("c", "skipped") + end("failed")
        )
        self.assertEqual(record_file.of("micro/a").done, ["a", "c"])

    def test_the_last_word_on_a_case_counts(self):
        record_file = self.record_file(
            line("run") + case("a", "failed") + end("failed") + line("run") + case("a") + end()
        )
        self.assertEqual(record_file.of("micro/a").done, ["a"])
        self.assertTrue(record_file.of("micro/a").finished)

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
        record_file = self.record_file("not json\n[]\n{}\n" + line("run") + line("other") + case("a"))
        self.assertEqual(record_file.unreadable, 4)
        self.assertEqual(record_file.of("micro/a").done, ["a"])

    def test_append_is_a_whole_line_or_nothing(self):
        record_file = self.record_file(line("run"))
        record_file.append({"kind": "end", "run": "r1", "program": "micro/a", "status": "failed"})
        last = json.loads(self.path.read_text(encoding="utf-8").splitlines()[-1])
        self.assertEqual((last["schema"], last["status"]), ("gpusig.record", "failed"))
        with self.assertRaises(CannotWrite):
            RecordFile(Path("/dev/full")).append({"kind": "end", "program": "micro/a"})

    def test_the_value_on_the_curve_with_cliffs_is_told(self):
        def of(value, low, high, variant="a", valid=True):
            return dict(name="rate", variant=variant, value=value, ci_low=low, ci_high=high, valid=valid)

        text = line("run", cliff={"derived": "rate", "variant": "a"})
        text += case("both", derived=[of(9.0, 1.0, 20.0, variant="b"), of(2.5, 2.4, 2.6)])
        text += case("alone", derived=[of(2.5, None, None)])
        text += case("wrong", derived=[of(2.5, 2.4, 2.6, valid=False)]) + case("none")
        status = self.record_file(text).of("micro/a")
        self.assertEqual(
            [status.line(key) for key in status.cases],
            ["both\t2.4 2.6", "alone\t2.5 2.5", "wrong", "none"],
        )
        self.assertEqual(self.record_file(line("run") + case("k")).of("micro/a").line("k"), "k")

    def test_a_case_with_one_good_number_counts_as_valid(self):
        flagged = {"valid": False, "flags": [{"flag": "noisy", "variant": "one"}]}
        good, bad = ({"name": "time", "variant": v, "valid": v == "two"} for v in ("two", "one"))
        records = (
            line("run")
            + case("a", validity=flagged, derived=[bad, good])
            + case("b", validity=flagged, derived=[bad])
        )
        self.assertEqual(self.record_file(records).of("micro/a").valid, {"a"})

    def test_only_valid_cases_count_as_valid(self):
        noisy = {"valid": False, "flags": [{"flag": "noisy"}, {"flag": "noisy"}]}
        program_status = self.record_file(line("run") + case("a") + case("b", validity=noisy)).of("micro/a")
        self.assertEqual(program_status.valid, {"a"})
        self.assertEqual(program_status.flags["noisy"], 1)


if __name__ == "__main__":
    unittest.main()
