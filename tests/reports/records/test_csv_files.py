# SPDX-License-Identifier: BSD-3-Clause
"""metrics.csv and timings.csv lose nothing that the records have."""

from __future__ import annotations

import csv
import io
import json
import unittest

import synthetic
import workplace
from synthetic import everything, unknown, value

from reports.records import csv_files


class Tables(workplace.Scratch):
    def rows(self, name: str) -> list:
        text = (self.folder / name).read_bytes().decode("utf-8")
        self.assertTrue(text.endswith("\r\n"))
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

    def test_every_value_and_timing_of_the_records_is_there(self) -> None:
        text = everything()
        self.run_build(text)
        values, timings = {}, {}
        for line in map(json.loads, text.splitlines()):
            if line["kind"] == "case":
                place = line["program"], line["key"]
                values.update({(*place, d["variant"] or "", d["name"]): d for d in line["derived"]})
                timings.update({(*place, v["name"]): v for v in line["variants"]})
        found = {(r["program"], r["case"], r["variant"], r["quantity"]): r for r in self.rows("metrics.csv")}
        self.assertEqual(found.keys(), values.keys())
        for name, row in found.items():
            self.assertEqual(float(row["value"]) if row["value"] else None, values[name]["value"])
            self.assertEqual(row["unit"], values[name]["unit"])
        times = {(r["program"], r["case"], r["variant"]): r for r in self.rows("timings.csv")}
        self.assertEqual(times.keys(), timings.keys())
        for name, row in times.items():
            self.assertEqual(
                (float(row["median_s"]), int(row["n"])), (timings[name]["median_s"], timings[name]["n"])
            )

    def test_what_is_invalid_says_why(self) -> None:
        w = synthetic.launch()
        w.lines[1]["validity"] = {
            "valid": False,
            "flags": [{"flag": "throttled", "variant": None, "reason": 'by "heat", much'}],
        }
        self.run_build(w.text())
        rows = self.rows("metrics.csv")
        self.assertEqual(
            {(r["valid"], r["flags"], r["reason"]) for r in rows},
            {("no", "throttled", 'throttled: by "heat", much')},
        )

    def test_a_grade_has_its_reason(self) -> None:
        w = synthetic.launch()
        for entry in w.lines[1]["derived"]:
            entry["grades"] = ["noisy"]
        w.lines[1]["validity"] = {
            "valid": True,
            "flags": [{"flag": "noisy", "variant": None, "reason": "wide"}],
        }
        self.run_build(w.text())
        rows = self.rows("metrics.csv")
        self.assertEqual(
            {(r["valid"], r["grade"], r["flags"], r["reason"], r["tries"]) for r in rows},
            {("yes", "noisy", "", "noisy: wide", "1")},
        )

    def test_no_cell_is_a_formula(self) -> None:
        for text in (
            "=1+2",
            "+cmd|' /C calc'!A0",
            "-2+3",
            "@SUM(A1)",
            "\t=1",
            " =1",
            "＝1",
            "a\r\n=1",
            '"=1"',
        ):
            w = unknown()
            w.lines[1]["key"] = text
            w.lines[1]["derived"] = [value(text, text, -1.5, text, bound=1.0, bound_name=text)]
            w.lines[1]["variants"] = [dict(w.lines[1]["variants"][0], name=text)]
            self.run_build(w.text())
            with self.subTest(text=text):
                for name in ("metrics.csv", "timings.csv"):
                    for row in self.rows(name):
                        for key, cell in row.items():
                            self.assertFalse(cell.strip()[:1] in ("=", "+", "@", "＝"), (key, cell))
                            self.assertFalse(cell.startswith("-") and not cell[1:2].isdigit(), (key, cell))
                self.assertIn("-1.5", [row["value"] for row in self.rows("metrics.csv")])

    def test_a_text_that_looks_like_a_negative_number_is_text(self) -> None:
        self.assertEqual(
            (csv_files.cell("-1"), csv_files.cell(-1), csv_files.cell(None), csv_files.cell(True)),
            ("'-1", "-1", "", "yes"),
        )


if __name__ == "__main__":
    unittest.main()
