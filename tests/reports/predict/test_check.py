# SPDX-License-Identifier: BSD-3-Clause
"""The model of a run against what the run measured, where the truth is the machine's own model."""

import io
import json
import subprocess
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import workplace

from reports.model.measured import QUANTITIES
from reports.predict import check
from reports.records import validate
from reports.records.jsonl import Refused
from suite.commands.report import build_folder
from tests.reports.model.simulated import BIN, LARGE

TRUTH = LARGE + "devices = 2\npeer_bandwidth = 1e9\nengine_bandwidth = 40e9\nmemory_bandwidth = 900e9\n"
FICCO = ("overlap/ficco", "--op", "ag-gemm", "--shape", "2048x2048x2048,1024x4096x512,512x512x2048")
PROGRAMS = (FICCO, ("overlap/out_of_core",), ("micro/launch",))


@unittest.skipUnless(workplace.HAVE_JINJA2, "needs jinja2")
class Checked(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        (cls.folder / "truth.model").write_text(TRUTH, encoding="utf-8")
        words = ["--device", "sim:%s:0,1" % (cls.folder / "truth.model"), "--max-samples", "10", "--out"]
        for program, *options in PROGRAMS:
            command = [str(BIN / program), *words, str(cls.folder / "records.jsonl"), *options]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
        cls.build()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temporary.cleanup()

    @classmethod
    def build(cls, *programs: Path) -> str:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
            build_folder(cls.folder, False, *programs)
        return said.getvalue()

    def rows(self, model: str) -> dict:
        (self.folder / "machine.model").write_text(model, encoding="utf-8")
        found = check.check(self.folder, BIN)
        (self.folder / check.NAME).write_text(json.dumps(found), encoding="utf-8")
        return {row["program"]: row for row in found["programs"]}

    def test_the_machine_itself_is_right(self) -> None:
        rows = self.rows(TRUTH)
        self.assertEqual(sorted(rows), ["overlap/ficco", "overlap/out_of_core"])
        for row in rows.values():
            self.assertEqual(row["reason"], "")
            self.assertGreater(row["times"], 0)
            self.assertLess(row["most"], 0.02, row)
            self.assertEqual(row["right"], row["choices"])
            for correction in row["corrections"]:
                self.assertAlmostEqual(correction["ratio"], 1, delta=0.01)
        self.assertEqual(rows["overlap/ficco"]["choices"], 6)
        self.assertEqual(len(rows["overlap/ficco"]["corrections"]), 12)
        self.assertEqual(rows["overlap/out_of_core"]["corrections"], [])
        self.assertIn(rows["overlap/ficco"]["constant"], ("hetero-fused-1d", "hetero-unfused-1d", "shard"))

    def test_answers_are_as_the_schema_says(self) -> None:
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is not installed")
        schema = validate.schema("prediction")
        for model in (TRUTH, TRUTH + "lacks = gemm gemm_tiled\n"):
            self.rows(model)
            found = json.loads((self.folder / check.NAME).read_text(encoding="utf-8"))
            jsonschema.Draft7Validator(schema).validate(found)
        self.assertTrue(any(row["reason"] for row in found["programs"]))

    def test_another_machine_is_off_and_wrong(self) -> None:
        row = self.rows(TRUTH.replace("= 1e9", "= 400e9") + "launch_ns = 200000\n")["overlap/ficco"]
        self.assertGreater(row["median"], 0.3)
        self.assertLess(row["right"], row["choices"])
        self.assertGreater(row["mean_loss"], 0.02)

    def test_what_the_model_cannot_run_is_named(self) -> None:
        rows = self.rows(TRUTH + "lacks = gemm gemm_tiled\n")
        self.assertIn("gemm", rows["overlap/ficco"]["reason"])
        with self.assertRaises(Refused):
            (self.folder / "machine.model").write_text(TRUTH, encoding="utf-8")
            metrics = self.folder / "metrics.csv"
            kept = metrics.read_bytes()
            try:
                metrics.write_text("no table\nof times\n", encoding="utf-8")
                check.check(self.folder, BIN)
            finally:
                metrics.write_bytes(kept)

    def test_a_page_has_what_was_found_of_its_own_model(self) -> None:
        said = self.build(BIN)
        page = (self.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("of which it was not made", said)
        self.assertIn('id="model"', page)
        self.build()
        self.assertIn('id="model"', (self.folder / "report.html").read_text(encoding="utf-8"))
        found = json.loads((self.folder / check.NAME).read_text(encoding="utf-8"))
        (self.folder / check.NAME).write_text(json.dumps({**found, "model": "0"}), encoding="utf-8")
        self.build()
        self.assertNotIn('id="model"', (self.folder / "report.html").read_text(encoding="utf-8"))

    def test_a_page_is_made_without_a_prediction_that_is_none(self) -> None:
        self.build(BIN)
        whole = check.kept(self.folder)
        assert whole is not None
        row = whole["programs"][0]
        for wrong, text in (
            ({"version": "2.0.0"}, "is of version 2.0.0"),
            ({"programs": None}, "is malformed"),
            ({"programs": [[]]}, "is malformed"),
            ({"programs": [dict(row, median="x")]}, "is malformed"),
            ({"programs": [dict(row, mean_loss=None)]}, "is malformed"),
            (
                {"programs": [dict(row, corrections=[dict(row["corrections"][0], ratio=1e300)])]},
                "is malformed",
            ),
            ({"sentence": 1}, "is malformed"),
        ):
            (self.folder / check.NAME).write_text(json.dumps({**whole, **wrong}), encoding="utf-8")
            (self.folder / "report.html").unlink()
            self.assertIn("nothing is predicted: prediction.json " + text, self.build())
            self.assertTrue((self.folder / "report.html").is_file())

    def test_of_many_cases_some_are_spread_over_all_axes(self) -> None:
        keys = ["n=%d way=%s" % (n, way) for n in range(32) for way in ("engine", "kernel")]
        some = list(check._some({key: {} for key in keys}))
        self.assertEqual((len(some), some[0]), (check.MOST_CASES, keys[0]))
        self.assertEqual(some, sorted(some, key=keys.index))
        self.assertGreater(sum(key.endswith("kernel") for key in some), 10)
        self.assertEqual(list(check._some({key: {} for key in keys[:3]})), keys[:3])

    def test_no_program_of_a_fit_counts(self) -> None:
        self.assertTrue(check.unseen("overlap/ficco"))
        for name in (*QUANTITIES, "micro/launch", "gemm/split"):
            self.assertFalse(check.unseen(name), name)


if __name__ == "__main__":
    unittest.main()
