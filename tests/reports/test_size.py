# SPDX-License-Identifier: BSD-3-Clause
"""What a run leaves stays small whatever was measured, loses nothing that the records have, and reads back as it was."""

from __future__ import annotations

import csv
import io
import json
import unittest

import synthetic
import workplace
from synthetic import copies, everything, memory, unknown, value

from reports import csv_files, packing, report, signature_file
from reports.advise_machine import machine_of
from reports.signature import Signature
from reports.signature_file import restored

MANY, VERY_MANY = 5, 30  # times the records of every program: of a large machine, and of more than that


def repeated(times: int) -> str:
    """Every program's records with one more axis of so many values."""
    text = ""
    for make in synthetic.ALL:
        w = make()
        run, *cases, end = w.lines
        lines = [run]
        for i in range(times):
            for case in (c for c in cases if c["kind"] == "case"):
                lines.append(dict(case, case=dict(case["case"], copy="c%d" % i), key=("%s copy=c%d" % (case["key"], i)).strip()))
        w.lines = lines + [end]
        text += w.text()
    return text


def curves() -> str:
    parts = (synthetic.gemms, synthetic.split, synthetic.copies, synthetic.copy_contention, synthetic.launch, synthetic.memory,
             synthetic.occupancy, synthetic.shaping, synthetic.device_allreduce, synthetic.allreduce)
    return "".join(part().text() for part in parts)


def written(signature: Signature) -> dict:
    return json.loads(signature.text())


class Packing(unittest.TestCase):
    def test_what_is_packed_comes_back(self) -> None:
        for given in ([], {}, [1, 2], [{"a": 1}], [{"a": 1, "b": 2}, {"a": 1, "b": 3}], [{"a": 1}, {"b": 1}], [{}, {}],
                      {"x": [{"y": [{"z": 1}, {"z": 2}]}, {"y": []}]}, [{"a": 1}, {"a": True}], [{"a": 1}, {"a": 1}],
                      {"rows_of": 3, "rows": [1]}, [{"a": None, "b": [1]}, {"a": None, "b": [1]}], [[{"a": 1}, {"a": 2}]]):
            with self.subTest(given=given):
                packed = packing.pack(given, 100)
                back = packing.unpack(json.loads(json.dumps(packed)))
                self.assertEqual(json.dumps(back, sort_keys=True), json.dumps(given, sort_keys=True))

    def test_a_key_and_a_common_value_are_stated_once(self) -> None:
        self.assertEqual(packing.pack([{"a": 1, "b": i} for i in range(3)], 100),
                         {"rows_of": ["b"], "rows": [[0], [1], [2]], "same": {"a": 1}})

    def test_what_is_left_of_a_long_list_says_how_long_it_was(self) -> None:
        packed = packing.pack([{"b": i} for i in range(100)], 3)
        self.assertEqual(packed, {"rows_of": ["b"], "rows": [[0], [50], [99]], "of": 100})
        self.assertEqual(packing.pack(list(range(9)), 2), {"list": [0, 8], "of": 9})
        self.assertEqual(packing.unpack(packing.pack(list(range(9)), 2)), [0, 8])
        self.assertEqual(packing.pack({str(i): i for i in range(9)}, 1)["…"], "7 more")


class Reading(workplace.Scratch):
    def test_a_signature_read_back_has_the_same_values_and_curves(self) -> None:
        for text in (everything(), curves(), synthetic.gpu(), copies().text() + copies(spec="host:0,1", run="r2").text()):
            signature = self.signature(text)
            back = restored(written(signature))
            kept = {name: entry for name, entry in signature.json["metrics"].items() if name in back["metrics"]}
            self.assertEqual(len(kept), len(back["metrics"]))
            for name, entry in back["metrics"].items():
                for key in ("value", "unit", "ci_low", "ci_high", "n", "better", "primary"):
                    self.assertEqual(entry[key], kept[name][key], name)
            for name, program in back["programs"].items():
                own = {(c["derived"], c["variant"], c["axis"], str(sorted(c["where"].items()))): c
                       for c in signature.json["programs"][name]["curves"]}
                for curve in program["curves"]:
                    whole = own[curve["derived"], curve["variant"], curve["axis"], str(sorted(curve["where"].items()))]
                    self.assertEqual((curve["axis_unit"], curve["unit"]), (whole["axis_unit"], whole["unit"]))
                    self.assertEqual([(p["x"], p["value"], p["n"]) for p in curve["points"]],
                                     [(p["x"], p["value"], p["n"]) for p in whole["points"]])

    def test_every_headline_number_is_in_the_file_in_full(self) -> None:
        signature = self.signature(everything())
        self.assertEqual(written(signature)["metrics"], signature.primary)

    def test_advice_is_the_same_from_the_file(self) -> None:
        """All lines for the library, each number to five digits, and the same assumptions."""
        signature = self.signature(curves())
        whole, back = machine_of(signature.json), machine_of(restored(written(signature)))
        self.assertEqual((back.notes, back.pair_notes), (whole.notes, whole.pair_notes))
        self.assertEqual(len(back.lines), len(whole.lines))
        for ours, theirs in zip(back.lines, whole.lines):
            for word, expected in zip(ours.split(), theirs.split()):
                if word != expected:
                    self.assertAlmostEqual(float(word) / float(expected), 1, delta=1e-5)

    def test_values_of_a_wrong_length_are_malformed(self) -> None:
        content = written(self.signature(everything()))
        content["values"][0]["rows"][0].append(1)
        with self.assertRaises(ValueError):
            restored(content)

    def test_devices_that_are_alike_are_stated_once(self) -> None:
        w = memory(spec="sim:0-1", simulated=True)
        first = w.lines[0]["device"][0]
        first["state"] = {"power": synthetic.telemetry(100.0, "W"), "ecc": synthetic.telemetry("on", "")}
        state = dict(first["state"], power=synthetic.telemetry(90.0, "W"))
        w.lines[0]["device"].append(dict(first, index=1, uuid="u1", state=state))
        first["uuid"] = "u0"
        signature = self.signature(w.text())
        content = written(signature)
        self.assertEqual(content["devices"]["sim:0-1[1]"],
                         {"like": "sim:0-1[0]", "index": 1, "uuid": "u1", "state": {"power": {"value": 90, "unit": "W"}}})
        self.assertEqual(restored(content)["devices"], signature.json["devices"])

    def test_the_first_of_alike_skips_and_flags_is_kept_with_their_count(self) -> None:
        w = memory()
        for line in w.lines[1:5]:
            line.update(status="skipped", reason="no such cache", variants=[], derived=[])
        content = written(self.signature(w.text()))
        self.assertEqual([(e["count"], e["reason"], e["key"] == w.lines[1]["key"]) for e in content["not_measured"]],
                         [(4, "no such cache", True)])
        self.assertEqual(len(content["not_measured"][0]["where"]["footprint"]), 4)


class Limits(workplace.Scratch):
    def assert_small(self, text: str) -> dict:
        signature = self.signature(text)
        content = signature.text()
        self.assertLessEqual(len(content.encode("utf-8")), signature_file.LIMIT)
        restored(json.loads(content))
        if workplace.HAVE_JINJA2:
            self.assertLessEqual(len(report.render(signature).encode("utf-8")), report.LIMIT)
        return json.loads(content)

    def test_a_large_run_is_whole(self) -> None:
        content = self.assert_small(repeated(MANY))
        self.assertFalse([t["quantity"] for t in content["values"] if "of" in t])
        self.assertEqual(content["left_out"], {})

    def test_of_a_larger_one_the_headline_numbers_and_an_even_part_of_the_values_are_left(self) -> None:
        text = repeated(VERY_MANY)
        content = self.assert_small(text)
        self.assertEqual(content["metrics"], self.signature(text).primary)
        cut = [t for t in content["values"] if "of" in t]
        self.assertTrue(cut)
        self.assertTrue(all(len(t["rows"]) < t["of"] for t in cut))

    def test_long_texts_many_programs_and_many_quantities_keep_the_limits(self) -> None:
        from test_report import poison

        self.assert_small("".join(w.text() for w in poison("long " * 4000)))
        many = "".join(unknown(run="r%d" % i).text().replace("overlap/novel", "overlap/novel%d" % i) for i in range(400))
        self.assertGreater(self.assert_small(many)["left_out"]["programs"], 0)
        w = unknown()
        for line in w.lines[1:-1]:
            line["derived"] = [dict(line["derived"][0], name="q%d" % i) for i in range(800)]
        self.assert_small(w.text())

    @unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
    def test_the_page_shows_the_first_rows_and_says_where_the_others_are(self) -> None:
        self.run_build(repeated(MANY))
        page = self.page()
        self.assertIn('more rows in <a href="metrics.csv">metrics.csv</a>', page)
        self.assertIn('more rows in <a href="timings.csv">timings.csv</a>', page)
        for table in page.split("<tbody>")[1:]:
            self.assertLessEqual(table.split("</tbody>")[0].count("<tr"), 200)


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
            self.assertEqual((float(row["median_s"]), int(row["n"])), (timings[name]["median_s"], timings[name]["n"]))

    def test_what_is_invalid_says_why(self) -> None:
        w = synthetic.launch()
        w.lines[1]["validity"] = {"valid": False, "flags": [{"flag": "throttled", "variant": None, "reason": 'by "heat", much'}]}
        self.run_build(w.text())
        rows = self.rows("metrics.csv")
        self.assertEqual({(r["valid"], r["flags"], r["reason"]) for r in rows},
                         {("no", "throttled", 'throttled: by "heat", much')})

    def test_a_grade_has_its_reason(self) -> None:
        w = synthetic.launch()
        for entry in w.lines[1]["derived"]:
            entry["grades"] = ["noisy"]
        w.lines[1]["validity"] = {"valid": True, "flags": [{"flag": "noisy", "variant": None, "reason": "wide"}]}
        self.run_build(w.text())
        rows = self.rows("metrics.csv")
        self.assertEqual({(r["valid"], r["grade"], r["flags"], r["reason"], r["tries"]) for r in rows},
                         {("yes", "noisy", "", "noisy: wide", "1")})

    def test_no_cell_is_a_formula(self) -> None:
        for text in ("=1+2", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", " =1", "＝1", "a\r\n=1", '"=1"'):
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
        self.assertEqual((csv_files.cell("-1"), csv_files.cell(-1), csv_files.cell(None), csv_files.cell(True)),
                         ("'-1", "-1", "", "yes"))


if __name__ == "__main__":
    unittest.main()
