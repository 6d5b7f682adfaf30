# SPDX-License-Identifier: BSD-3-Clause
"""Schedules on the model of a signature against the same schedules on the machine that was measured."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from typing import Callable, Optional, Sequence

import workplace

from reports.advice.answer import Question, answer
from reports.advice.ask import Adviser, AdviseError, NoAnswer, Sides, Times, Way, Work, measured_with
from reports.advice.table import table
from reports.model import text
from reports.predict import check
from reports.records.jsonl import Json

from tests.reports.advice import asked

SHAPES = [(4096, 4096, 4096), (1024, 4096, 512)]
WITHIN = 0.05


def true_times(work: Work, folder: Path, shapes: Sequence[Sides] = SHAPES) -> dict[Sides, Times]:
    """Those of overlap/ficco on the machine itself."""
    (folder / "truth.model").write_text(asked.MODEL, encoding="utf-8")
    words = [str(asked.BIN / "overlap" / "ficco"), "--device", "sim:%s:0-3" % (folder / "truth.model")]
    words += [
        "--op",
        work.op,
        "--cut",
        "rows,columns" if work.op.startswith("gemm") else "rows",
        "--type",
        work.type,
        "--mflop",
        "0",
        "--max-samples",
        "1",
        "--min-samples",
        "1",
    ]
    words += ["--shape", ",".join("%dx%dx%d" % sides for sides in shapes), "--format", "json"]
    words += ["--operands", work.operands]
    out = subprocess.run(words, capture_output=True, check=True, timeout=300).stdout
    found: dict[Sides, Times] = {}
    for record in map(json.loads, out.splitlines()):
        if record["kind"] == "case":
            case = record["case"]
            m, n, k = (int(side) for side in case["shape"].split("x"))
            for variant in record.get("variants", []):
                way = Way(variant["name"], case["copy-method"], case["cut"])
                found.setdefault((m, n, k), {})[way] = variant["median_s"]
    return found


@unittest.skipUnless(asked.BUILT, "needs the programs: make")
class Asking(workplace.Scratch):
    def adviser(self, change: Optional[Callable[[Json], None]] = None) -> Adviser:
        folder = asked.run() if change is None else asked.stored(asked.signature(change), self.folder)
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return Adviser(asked.signature(change), folder, asked.BIN, Path(made.name))

    def test_times_and_picks_are_those_of_the_machine(self) -> None:
        adviser = self.adviser()
        for op, kind in (("ag-gemm", "bf16"), ("gemm-rs", "f32"), ("a2a-gemm-uneven", "bf16")):
            work = Work(op, kind, asked.DEVICES)
            truth, found = true_times(work, self.folder), adviser.predict(SHAPES, work)
            for sides in SHAPES:
                own, times = truth[sides], found[sides].times
                self.assertLessEqual(set(times), set(own))
                self.assertGreaterEqual(len({way.schedule for way in times}), 4)
                for way, seconds in times.items():
                    self.assertAlmostEqual(seconds / own[way], 1, delta=WITHIN, msg=str((op, sides, way)))
                pick = min(times, key=lambda way: times[way])
                self.assertLessEqual(own[pick], (1 + WITHIN) * min(own[way] for way in times))
                serial_s = min(s for way, s in times.items() if way.schedule == "serial")
                self.assertLess(max(found[sides].gemm_s, found[sides].comm_s), serial_s)

    def test_few_rows_are_cut_by_columns(self) -> None:
        shapes = [(1, 8192, 4096), (8, 8192, 4096), (64, 8192, 4096), (4096, 4096, 4096)]
        adviser, work = self.adviser(), Work("gemm-ar", "f32", asked.DEVICES)
        truth = true_times(work, self.folder, shapes)
        for sides in shapes:
            advice = answer(adviser, Question(sides, work), [])
            told = {Way(*(c[name] for name in Way._fields)): c["predicted_s"] for c in advice["candidates"]}
            own = truth[sides]
            for way, seconds in told.items():
                self.assertAlmostEqual(seconds / own[way], 1, delta=WITHIN, msg=str((sides, way)))
            fastest = min(s for way, s in own.items() if way.schedule in {way.schedule for way in told})
            self.assertLessEqual(own[min(told, key=lambda way: told[way])], (1 + WITHIN) * fastest)
            cuts = {way.schedule: {w.cut for w in told if w.schedule == way.schedule} for way in told}
            self.assertEqual(cuts["serial"], {"columns" if sides[0] < asked.DEVICES else "rows"})
            for schedule in ("shard", "hetero-fused-1d"):
                self.assertIn("columns", cuts[schedule])
                ways = [Way(schedule, "engine", cut) for cut in sorted(cuts[schedule])]
                if len(ways) > 1 and sides[0] <= 64:
                    self.assertLess(told[ways[0]], told[ways[1]])
            text = table(advice)
            self.assertIn(
                " columns of C, which is then column-major"
                if advice["pick"]["cut"] == "columns"
                else " rows of C",
                text,
            )
            self.assertLess(max(map(len, text.splitlines())), 81)
        refused = (
            (work, (1, 11000, 4096), "a transfer has 11000 bytes; kernels copy and add multiples of 256"),
            (work._replace(type="f8"), shapes[1], "8x8192x4096: the sides of a f8 GEMM must be multiples of"),
        )
        for of, sides, why in refused:
            with self.assertRaisesRegex(AdviseError, why):
                adviser.predict([sides], of)
        with self.assertRaisesRegex(
            NoAnswer, "M = 1 cannot be cut into 4 parts with a row in each; only gemm-rs"
        ):
            adviser.predict(shapes[:1], Work("ag-gemm", "f32", asked.DEVICES))

    def test_whether_a_cache_holds_what_was_not_read_decides_for_few_rows(self) -> None:
        question = Question((1, 8192, 4096), Work("gemm-ar", "f32", asked.DEVICES))
        known = answer(self.adviser(), question, [])
        guessed = answer(self.adviser(asked.without("micro/reduce")), question, [])
        self.assertNotIn("llc_tracked", [need["key"] for need in known["needs"]])
        self.assertNotEqual(guessed["pick"], known["pick"])
        self.assertIn(("llc_tracked", "llc_tracked=1"), [(n["key"], n["change"]) for n in guessed["needs"]])
        self.assertFalse(guessed["decided"])

    def test_cold_operands_are_those_of_the_machine(self) -> None:
        shapes, cold = [(8, 8192, 1024), (64, 8192, 1024)], Work("gemm-rs", "bf16", asked.DEVICES, "cold")
        adviser, truth = self.adviser(), true_times(cold, self.folder, shapes)
        warm, told = adviser.times(shapes, cold._replace(operands="warm")), adviser.times(shapes, cold)
        for sides in shapes:
            for way, seconds in told[sides].items():
                self.assertAlmostEqual(seconds / truth[sides][way], 1, delta=WITHIN, msg=str((sides, way)))
            serial = Way("serial", "engine")
            self.assertLess(1.02 * warm[sides][serial], told[sides][serial])
        text = table(answer(adviser, Question(shapes[0], cold), []))
        self.assertIn("among 4 devices, cold operands", text)

    def test_several_shapes_at_once_are_each_alone(self) -> None:
        adviser, work = self.adviser(), Work("ag-gemm", "bf16", asked.DEVICES)
        together = adviser.predict(SHAPES, work)
        for sides in SHAPES:
            self.assertEqual(adviser.predict([sides], work)[sides].times, together[sides].times)
            self.assertEqual(adviser.times([sides], work)[sides], together[sides].times)

    def test_a_key_that_nothing_gave_and_on_which_times_depend_is_no_answer(self) -> None:
        """Both rate and efficiency of GEMMs, whose doubts once cancelled, too."""
        for program, op, kind, said in (
            ("micro/peer_matrix", "ag-gemm", "bf16", "depend on peer_bandwidth (micro/peer_matrix has no"),
            ("gemm/efficiency", "gemm-rs", "f32", "(no GEMM was measured: gemm/efficiency)"),
            ("gemm/efficiency", "ag-gemm", "bf16", "no value for: gemm_tile"),
        ):
            with self.assertRaises(NoAnswer) as caught:
                self.adviser(asked.without(program)).predict(SHAPES, Work(op, kind, asked.DEVICES))
            self.assertIn(said, str(caught.exception))
            self.assertEqual(caught.exception.code, 77)

    def test_keys_that_only_together_move_times_are_found(self) -> None:
        """A device's links and its injection limit the same bytes: faster alone, neither shortens them."""

        def change(found: Json) -> None:
            asked.without("micro/peer_matrix", "micro/copy_path")(found)

        with self.assertRaisesRegex(NoAnswer, "depend on .*peer_bandwidth"):
            self.adviser(change).predict([(4096, 512, 4096)], Work("ag-gemm", "bf16", asked.DEVICES))

    def test_a_key_that_chooses_another_schedule_is_needed(self) -> None:
        adviser = self.adviser(asked.without("micro/launch"))
        question = Question((1024, 4096, 512), Work("ag-gemm", "bf16", asked.DEVICES))
        advice = answer(adviser, question, [])
        self.assertEqual([need["key"] for need in advice["needs"]], ["launch_ns"])
        self.assertIn("launch_ns (", advice["needs"][0]["reason"])
        self.assertFalse(advice["decided"])
        self.assertEqual(answer(self.adviser(), question, [])["needs"], [])

    def test_more_devices_than_were_measured_are_noted(self) -> None:
        adviser = self.adviser()
        self.assertIsNone(measured_with(adviser, asked.DEVICES))
        advice = answer(adviser, Question((4096, 4096, 4096), Work("ag-gemm", "bf16", 8)), [])
        self.assertIn("4 devices were measured; the others are taken to be like them", advice["notes"])

    def test_what_the_program_refuses_is_its_own_line(self) -> None:
        for work in (Work("gather", "f32", 2), Work("ag-gemm", "i9", 2)):
            with self.assertRaises(AdviseError) as caught:
                self.adviser().predict(SHAPES, work)
            self.assertEqual(caught.exception.code, 2)
            self.assertRegex(str(caught.exception), "unknown value .*; values: |choices: ")
        with self.assertRaises(NoAnswer) as none:
            self.adviser().predict(SHAPES, Work("gemm-rs", "f16", 2))
        self.assertIn("not supported", str(none.exception))
        with self.assertRaisesRegex(AdviseError, "overlap/ficco is not built; build it with make"):
            Adviser(asked.signature(), asked.run(), self.folder, self.folder).times(
                SHAPES, Work("ag-gemm", "f32", 2)
            )

    def test_the_error_is_what_the_run_found(self) -> None:
        """And of a run that found none nobody says how often the advice is right."""
        adviser = self.adviser()
        self.assertEqual((adviser.checked, adviser.expected_error()), ({}, 0.0))
        asked.stored(asked.signature(), self.folder)
        row = {"program": "overlap/ficco", "times": 12, "median": 0.07}
        with unittest.mock.patch.object(check, "kept", return_value={"programs": [row]}):
            checked = Adviser(asked.signature(), self.folder, asked.BIN, self.folder)
        self.assertEqual((checked.expected_error(), checked.ratio_error()), (0.07, 0.07))

    def test_what_the_run_measured_corrects_schedules(self) -> None:
        adviser, work = self.adviser(), Work("ag-gemm", "bf16", asked.DEVICES)
        advice = answer(adviser, Question(SHAPES[0], work), [])
        fastest = advice["pick"]["schedule"]
        self.assertNotEqual(fastest, "serial")
        corrections = [
            {"exchange": "before", "copy_method": method, "schedule": name, "ratio": ratio, "shapes": 5}
            for method in ("engine", "kernel")
            for name, ratio in (("serial", 1.1), (fastest, 4.0))
        ]
        row = {"program": "overlap/ficco", "times": 12, "median": 0.5, "corrected": 0.03, "between": 0.02}
        kept = {"programs": [{**row, "corrections": corrections}]}
        asked.stored(asked.signature(), self.folder)
        with unittest.mock.patch.object(check, "kept", return_value=kept):
            checked = Adviser(asked.signature(), self.folder, asked.BIN, self.folder)
        after = answer(checked, Question(SHAPES[0], work), [])
        before_s, after_s = (
            {Way(c["schedule"], c["copy_method"], c["cut"]): c["predicted_s"] for c in one["candidates"]}
            for one in (advice, after)
        )
        for way, ratio in ((Way("serial", "engine"), 1.1), (Way(fastest, "kernel"), 4.0)):
            self.assertAlmostEqual(after_s[way] / before_s[way], ratio)
        self.assertNotEqual(after["pick"]["schedule"], fastest)
        self.assertEqual((after["expected_error"], after["ratio_error"]), (0.03, 0.02))
        self.assertIn(
            "the model's times 1.10 to 4.00, as the run measured each schedule that sends A before",
            " ".join(after["notes"]),
        )
        self.assertNotIn("as the run", " ".join(advice["notes"]))
        self.assertEqual(checked.times(SHAPES, work)[SHAPES[0]], after_s)

    def test_a_gemm_alone(self) -> None:
        found = self.adviser().gemm(SHAPES, "bf16")
        whole = self.adviser().predict(SHAPES, Work("ag-gemm", "bf16", asked.DEVICES))
        for sides in SHAPES:
            self.assertAlmostEqual(found[sides] / whole[sides].gemm_s, 1, delta=WITHIN)

    def test_the_model_of_the_report_is_used_while_it_is_as_new(self) -> None:
        asked.stored(asked.signature(), self.folder)
        model = self.folder / text.NAME
        kept = model.read_text(encoding="utf-8")
        made = self.folder / "made"
        made.mkdir()
        Adviser(asked.signature(), self.folder, asked.BIN, made)
        self.assertEqual((made / text.NAME).read_text(encoding="utf-8"), kept)


if __name__ == "__main__":
    unittest.main()
