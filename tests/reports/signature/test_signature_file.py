# SPDX-License-Identifier: BSD-3-Clause
"""signature.json has what its readers ask for, whatever the size of the run, and is read as it stands
there."""

from __future__ import annotations

import json
import math
import re
import unittest

import synthetic
import workplace
from synthetic import everything, memory, unknown

from reports.signature import report
from reports.model import text as model
from reports.signature.kept import curves_of
from reports.judge.preflight import reference
from reports.signature.signature import Signature
from reports.signature.signature_file import trusting
from tests import level

MANY, VERY_MANY = 5, 30  # times the records of every program: of a large machine, and of more than that
ASKED = ("--m", "4096", "--n", "4096", "--k", "4096", "--devices", "4", "--op", "ag-gemm", "--type", "f32")


def repeated(times: int) -> str:
    """Every program's records with one more axis of so many values."""
    text = ""
    for make in synthetic.ALL:
        w = make()
        run, *cases, end = w.lines
        lines = [run]
        for i in range(times):
            for case in (c for c in cases if c["kind"] == "case"):
                lines.append(
                    dict(
                        case,
                        case=dict(case["case"], copy="c%d" % i),
                        key=("%s copy=c%d" % (case["key"], i)).strip(),
                    )
                )
        w.lines = lines + [end]
        text += w.text()
    return text


class BadFile(ValueError):
    pass


def written(signature: Signature) -> dict:
    return json.loads(signature.text())


class Malformed(unittest.TestCase):
    def test_the_reason_is_of_the_file_and_not_of_python(self) -> None:
        for block, reason in (
            (lambda: {}["device"], "no field 'device'"),
            (lambda: next(iter([1]))[0], "a field has the wrong type"),
            (lambda: [].items(), "a field has the wrong type"),  # type: ignore[attr-defined]
            (lambda: math.log(0), "a number is out of range"),
            (lambda: 1 / 0, "a number is out of range"),
            (lambda: int("x\n"), "invalid literal for int() with base 10: 'x\\n'"),
        ):
            with self.assertRaises(BadFile) as found, trusting("a.json", BadFile):
                block()
            self.assertEqual(str(found.exception), "a.json is malformed: " + reason)


class Read(workplace.Scratch):
    def test_the_model_is_the_same_from_the_file_and_from_the_records(self) -> None:
        """Nothing that a model is made from, and advice with it, is thinned."""
        for text in (everything(), repeated(level.seeds(MANY, 12, VERY_MANY)), synthetic.gpu()):
            signature = self.signature(text)
            self.assertEqual(model.of(written(signature), "a"), model.of(signature.json, "a"))

    def test_only_curves_that_are_written_can_be_read(self) -> None:
        whole = self.signature(everything()).json
        self.assertTrue(curves_of(whole, "micro/copy_path", "bandwidth"))
        with self.assertRaisesRegex(KeyError, "is not written"):
            curves_of(whole, "micro/copy_path", "time")

    def test_every_headline_number_is_in_the_file_in_full(self) -> None:
        signature = self.signature(everything())
        self.assertEqual(
            {name: m for name, m in written(signature)["metrics"].items() if m["primary"]}, signature.primary
        )

    def test_a_metric_and_a_row_have_a_line_of_their_own(self) -> None:
        signature = self.signature(everything())
        lines = signature.text().splitlines()
        self.assertEqual(
            len([line for line in lines if line.startswith('"micro/launch/launch_round_trip": {')]), 1
        )
        for row in written(signature)["programs"]["micro/copy_path"]["results"]["fits"]:
            text = json.dumps(row, separators=(",", ":"))
            self.assertTrue(any(line.startswith(text) for line in lines), text)

    def test_devices_keep_their_order(self) -> None:
        w = memory(spec="sim:0-11", simulated=True)
        w.lines[0]["device"] = [dict(w.lines[0]["device"][0], index=i, uuid="u%d" % i) for i in range(12)]
        self.assertEqual(
            list(written(self.signature(w.text()))["devices"]), ["sim:0-11[%d]" % i for i in range(12)]
        )

    def test_a_reference_of_preflight_has_the_links_of_its_node(self) -> None:
        signature = self.signature(synthetic.node().text())
        links = reference.links_of_node(written(signature))
        self.assertTrue(links)
        self.assertEqual(links, reference.links_of_node(signature.json))

    def test_the_first_of_alike_skips_is_kept_with_their_count(self) -> None:
        w = memory()
        for line in w.lines[1:5]:
            line.update(status="skipped", reason="no such cache", variants=[], derived=[])
        content = written(self.signature(w.text()))
        self.assertEqual(
            [(e["count"], e["reason"], e["key"] == w.lines[1]["key"]) for e in content["not_measured"]],
            [(4, "no such cache", True)],
        )
        self.assertEqual(len(content["not_measured"][0]["where"]["footprint"]), 4)

    def test_one_of_another_version_is_one_line(self) -> None:
        path, good = self.folder / "signature.json", written(self.signature(everything()))
        for version in ("2.2.0", "3.", "3.x", "3.2", "3.2.0.1", "3.2.0\n", "33.2.0", "", 3):
            path.write_text(json.dumps(dict(good, version=version)), encoding="utf-8")
            for words in (("advise", str(path), *ASKED), ("compare", str(path), str(path))):
                code, out, err = self.run_command(*words)
                self.assertNotEqual(code, 0, words)
                self.assertEqual((out, err.count("\n")), ("", 1), words)
                self.assertRegex(err, "version %s.* reads 3.x" % re.escape(str(version).rstrip("\n")))


class Sizes(workplace.Scratch):
    def test_a_large_run_stays_below_the_limits(self) -> None:
        signature = self.signature(repeated(MANY))
        self.assertLess(len(signature.text().encode("utf-8")), 1_000_000)
        if workplace.HAVE_JINJA2:
            self.assertLess(len(report.render(signature).encode("utf-8")), 3_000_000)

    @unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
    @level.only_all
    def test_long_texts_and_many_programs_are_told(self) -> None:
        from tests.reports.signature.test_report import poison

        many = "".join(
            unknown(run="r%d" % i).text().replace("overlap/novel", "overlap/novel%d" % i)
            for i in range(level.seeds(0, 100, 300))
        )
        for text in ("".join(w.text() for w in poison("long " * 4000)), many):
            signature = self.signature(text)
            self.assertTrue(written(signature)["metrics"])
            self.assertLess(len(report.render(signature)), 20_000_000)

    @unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
    def test_the_page_shows_the_first_rows_and_says_where_the_others_are(self) -> None:
        self.run_build(repeated(MANY))
        page = self.page()
        self.assertIn('more rows in <a href="metrics.csv">metrics.csv</a>', page)
        self.assertIn('more rows in <a href="timings.csv">timings.csv</a>', page)
        for table in page.split("<tbody>")[1:]:
            self.assertLessEqual(table.split("</tbody>")[0].count("<tr"), 200)


if __name__ == "__main__":
    unittest.main()
