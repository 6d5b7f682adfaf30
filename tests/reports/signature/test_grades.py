# SPDX-License-Identifier: BSD-3-Clause
"""Noisy and contended values: what the signature holds, what page and terminal show, what advice makes of
them."""

from __future__ import annotations

import json
import re
import unittest
from typing import Optional

import synthetic
import workplace
from synthetic import everything, headline, value

from reports.records import validate
from reports.signature import machine
from reports.page.charts import LineChart, Mark, Series, draw_lines
from reports.signature.headline import headline as headline_of
from reports.records.quantity import half_width, tag
from reports.signature.report import render

try:
    import jsonschema
except ImportError:
    jsonschema = None

REASON = {
    "noisy": "the interval of the median is +-18 % after 9 samples",
    "contended": "other processes took 50 % of the cores",
}


def speeds(*grades: Optional[str], run: str = "r1", scale: float = 1.0) -> str:
    """A headline number and a point of a curve for each."""
    depths = list(range(1, len(grades) + 1))
    names = [
        headline("speed_%d" % (depth - 1), "speed", {"depth": depth}, "plain", "byte/s") for depth in depths
    ]
    w = synthetic.Writer("overlap/novel", names, [synthetic.axis("depth", "", depths)], run=run)
    for i, grade in enumerate(grades):
        more = {"grades": [grade]} if grade else {}
        speed = scale * 1e9 * (i + 1)
        line = w.case(
            {"depth": i + 1},
            [w.variant("plain", 1e-3)],
            [value("speed", "plain", speed, "byte/s", ci_low=0.8 * speed, ci_high=1.2 * speed, **more)],
        )
        if grade:
            line["validity"]["flags"] = [{"flag": grade, "variant": "plain", "reason": REASON[grade]}]
    return w.end().text()


class Written(workplace.Scratch):
    def test_a_noisy_value_stays_with_its_interval_and_the_reason(self) -> None:
        signature = self.signature(speeds("noisy", None, None)).json
        entry = signature["metrics"]["overlap/novel/speed_0"]
        self.assertEqual(
            (entry["value"], entry["ci_low"], entry["ci_high"], entry["grade"]), (1e9, 0.8e9, 1.2e9, "noisy")
        )
        self.assertEqual(entry["grade_reason"], "noisy: the interval of the median is ±18 % after 9 samples")
        points = signature["programs"]["overlap/novel"]["curves"][0]["points"]
        self.assertEqual([p.get("grade") for p in points], ["noisy", None, None])
        self.assertEqual((signature["invalid"], signature["primary_missing"]), ([], []))
        brief = signature["metrics"]["overlap/novel/speed{variant=plain,depth=1}"]
        self.assertEqual((brief["grade"], "grade_reason" in brief, "tries" in brief), ("noisy", False, False))
        other = signature["metrics"]["overlap/novel/speed_1"]
        self.assertFalse({"grade", "grade_reason", "tries"} & set(other))

    def test_a_contended_value_needs_a_second_try(self) -> None:
        once = self.signature(speeds("contended")).json
        self.assertEqual(
            [e["reason"] for e in once["primary_missing"]], ["contended, and no other try confirms it"]
        )
        self.assertEqual([e["flags"] for e in once["invalid"]], [["contended"]])
        twice = self.signature(speeds("contended") + speeds("contended", run="r2", scale=1.1)).json
        entry = twice["metrics"]["overlap/novel/speed_0"]
        self.assertEqual(
            (entry["value"], entry["ci_low"], entry["ci_high"], entry["grade"], entry["tries"]),
            (1.05e9, 0.8e9, 1.32e9, "contended", 2),
        )
        self.assertEqual(twice["programs"]["overlap/novel"]["repeated"], 1)
        apart = self.signature(speeds("contended") + speeds("contended", run="r2", scale=2)).json
        self.assertEqual(
            [e["reason"] for e in apart["primary_missing"]], ["contended, and two tries differ: 1 and 2 GB/s"]
        )

    def test_a_sentence_about_many_graded_values_says_so(self) -> None:
        def summary(*grades: Optional[str]) -> str:
            return self.signature(speeds(*grades)).json["programs"]["overlap/novel"]["summary"]

        quiet = "Speed ranges from 1 GB/s (plain depth=1) to 2 GB/s (plain depth=2)."
        self.assertEqual(
            (summary(None, None), summary("noisy", None)), (quiet, quiet + " Of the 2 values, 1 is noisy.")
        )
        self.assertNotIn("noisy", summary("noisy", *[None] * 10))

    def test_noise_is_no_reason_why_there_is_no_value(self) -> None:
        w = synthetic.Writer("overlap/novel", [], [synthetic.axis("depth", "", [1])])
        flags = [{"flag": "noisy", "variant": "plain", "reason": "wide"}]
        w.case(
            {"depth": 1},
            [w.variant("plain", 1e-3)],
            [dict(value("fraction", "plain", None, ""), reason="S_ideal is within noise of 1")],
            flags=flags,
        )
        (entry,) = self.signature(w.end().text()).json["invalid"]
        self.assertEqual((entry["flags"], entry["reason"]), ([], "S_ideal is within noise of 1"))

    def test_both_grades_are_the_worse_one(self) -> None:
        lines = [json.loads(line) for line in speeds("noisy").splitlines()]
        lines[1]["derived"][0]["grades"] = ["noisy", "contended"]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self.assertEqual(self.signature(text).json["metrics"], {})

    def test_a_second_start_with_one_case_keeps_the_order_of_the_first(self) -> None:
        w = synthetic.Writer("overlap/novel", [], [synthetic.axis("depth", "", [2])], run="r2")
        w.case({"depth": 2}, [w.variant("plain", 1e-3)], [value("speed", "plain", 2e9, "byte/s")])
        group = self.records(speeds(None, "noisy", None) + w.end().text()).groups["overlap/novel", "host"]
        self.assertEqual(list(group.cases), ["depth=1", "depth=2", "depth=3"])

    @unittest.skipUnless(jsonschema, "jsonschema is not installed")
    def test_records_and_signature_are_as_the_schemas_say(self) -> None:
        synthetic.store(
            self.folder, speeds("noisy", "contended", None) + speeds("noisy", "contended", None, run="r2")
        )
        self.assertEqual(self.run_command("validate", str(self.folder / "records.jsonl")), (0, "", ""))
        self.run_command("build", str(self.folder))
        self.assertEqual(self.run_command("validate", str(self.folder / "signature.json")), (0, "", ""))
        signature = json.loads((self.folder / "signature.json").read_text(encoding="utf-8"))
        for wrong in ({"grade": "fine"}, {"tries": 1}, {"grade_reason": "of nothing"}):
            entry = signature["metrics"]["overlap/novel/speed_2"]
            kept = dict(entry)
            entry.pop("grade", None)
            entry.pop("tries", None)
            entry.update(wrong)
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(signature, validate.schema("signature"))
            signature["metrics"]["overlap/novel/speed_2"] = kept


class FirstScreen(workplace.Scratch):
    def verdict(self, *grades: Optional[str], more: str = ""):
        return machine.verdict(self.signature(speeds(*grades) + more))

    def test_few_graded_numbers_are_counted_and_do_not_make_a_run_doubtful(self) -> None:
        found = self.verdict("noisy", *[None] * 10)
        self.assertEqual(
            (found.doubtful, found.text),
            (
                False,
                "This run is good enough to keep as a baseline: 11 headline numbers are valid, and nothing "
                "failed (1 noisy: "
                "mind their intervals); a verdict on a later change needs several such runs (--repeats 8).",
            ),
        )

    def test_many_do(self) -> None:
        second = speeds("noisy", "contended", *[None] * 8, run="r2")
        found = self.verdict("noisy", "contended", *[None] * 8, more=second)
        self.assertEqual(
            (found.doubtful, found.text),
            (
                True,
                "Use this run with care, and do not keep it as a baseline: 2 of 10 headline numbers are "
                "noisy or contended "
                "(1 noisy, 1 contended); repeat it on an idle machine.",
            ),
        )

    def test_a_program_that_crashed_is_named_though_it_measured_something(self) -> None:
        lines = [json.loads(line) for line in speeds(None, None, None).splitlines()]
        lines[-1].update(
            status="failed", exit=139, reason="ended by signal 11 (Segmentation fault)", by="driver"
        )
        found = machine.verdict(self.signature("".join(json.dumps(line) + "\n" for line in lines)))
        self.assertEqual(
            (found.doubtful, found.text),
            (True, "overlap/novel crashed: do not use this run until that is understood."),
        )

    def test_missing_ones_are_counted_before(self) -> None:
        found = self.verdict("noisy", "contended", None)
        self.assertEqual(
            (found.doubtful, found.text),
            (
                True,
                "Use this run with care, and do not keep it as a baseline: 2 of 3 headline numbers are valid "
                "(1 noisy or "
                "contended; of the others 1 noisy) and 1 of 5 values are invalid; repeat it on an idle "
                "machine.",
            ),
        )

    def test_that_nothing_is_known_is_said_once(self) -> None:
        signature = self.signature(speeds("contended", "contended"))
        self.assertEqual(
            machine.verdict(signature).text,
            "Nothing is known about this machine: 0 of 2 headline numbers are valid (2 noisy or contended); "
            "repeat it on an idle machine.",
        )
        shown = headline_of(signature)
        self.assertEqual(shown.count("?\n"), 1)  # how far it can be trusted
        self.assertEqual(re.findall("(?i)no .*headline number|not known", shown), [])
        self.assertNotIn('id="headline"', render(signature))

    def test_too_few_samples_ask_for_time(self) -> None:
        lines = [json.loads(line) for line in speeds(None, None).splitlines()]
        lines[1]["derived"][0]["valid"] = False
        lines[1]["validity"] = {
            "valid": False,
            "flags": [{"flag": "few_samples", "variant": "plain", "reason": "4 samples"}],
        }
        found = machine.verdict(self.signature("".join(json.dumps(line) + "\n" for line in lines)))
        self.assertIn("(1 too few samples)", found.text)
        self.assertIn("give it a larger --budget", found.text)
        self.assertNotIn("idle", found.text)

    def test_a_soak_is_no_bad_measurement(self) -> None:
        lines = [json.loads(line) for line in speeds(None, None).splitlines()]
        lines[1]["derived"][0]["valid"] = False
        lines[1]["validity"] = {
            "valid": False,
            "flags": [{"flag": "soak", "variant": None, "reason": "--check every"}],
        }
        found = machine.verdict(self.signature("".join(json.dumps(line) + "\n" for line in lines)))
        self.assertEqual(
            (found.doubtful, found.text),
            (
                True,
                "This run is a soak: it looked for wrong results and found none. Its timings are not used.",
            ),
        )

    def test_the_warning_tells_what_became_of_contended_values(self) -> None:
        def warning(text: str) -> str:
            return " ".join(
                note.text for note in machine.warnings(self.signature(text).json) if note.head == "Contended."
            )

        both = speeds("contended", "contended", None)
        taken = "Something else used this machine while 2 values of overlap/novel were taken. "
        self.assertEqual(
            warning(both),
            taken + "2 are not used, for lack of a repeat that agrees. Repeat on an idle machine.",
        )
        self.assertEqual(
            warning(both + speeds("contended", run="r2")),
            taken + "1 is kept, marked, because a repeat agrees; 1 is not used, for lack of one. Repeat on "
            "an idle machine.",
        )
        self.assertEqual(warning(speeds("noisy", None)), "")

    def test_the_terminal_has_interval_and_word(self) -> None:
        text = headline_of(
            self.signature(
                speeds("noisy", "contended", None) + speeds(None, "contended", run="r2", scale=1.05)
            )
        )
        rows = {line.split()[1]: line for line in text.splitlines() if line.startswith("  speed")}
        self.assertRegex(rows["0"], r"1.05 GB/s +±20 % +depth 1")
        self.assertRegex(rows["1"], r"2.05 GB/s +±22 % +contended; depth 2")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertIn(
            "1 contended", machine.counts(self.signature(speeds("contended") + speeds("contended", run="r2")))
        )


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Page(workplace.Scratch):
    def build(self, text: str) -> str:
        self.run_build(text)
        return self.plain_page()

    def test_a_headline_number_carries_its_grade(self) -> None:
        page = self.build(speeds("noisy", "contended", None) + speeds("noisy", "contended", None, run="r2"))
        rows = re.findall(
            r"<tr[^>]*>\n<th scope=\"row\" class=\"word name\">.*?</tr>", self.first_screen(page), flags=re.S
        )
        self.assertEqual(len(rows), 3)
        self.assertIn(
            'depth 1; <span class="grade" title="noisy: the interval of the median is ±18 % after 9 '
            'samples">noisy, '
            "±20 %</span>",
            rows[0],
        )
        self.assertNotIn("faded", rows[0])
        self.assertRegex(rows[1], '<tr [^>]*class="faded"')
        self.assertIn(">contended, ±20 %</span>", rows[1])
        self.assertNotIn("grade", rows[2])
        self.assertIn("Noisy: the interval is wide", page)
        self.assertIn("Pale: other programs used the machine", page)
        self.assertIn('<td class="word">contended, 2 tries</td>', page)

    def test_a_quiet_run_says_nothing_of_grades(self) -> None:
        page = self.build(speeds(None, None))
        for text in ('class="grade"', 'class="faded"', "dot graded", "Pale", "Noisy"):
            self.assertNotIn(text, page)

    def test_points_of_curves_differ_by_grade(self) -> None:
        page = self.build(speeds("noisy", None, None))
        self.assertEqual(page.count('"dot graded'), 1)
        self.assertIn("Pale points are noisy or contended", page)
        self.assertIn("noisy: the interval of the median is ±18 %", page)

    def test_colours_are_those_of_the_theme(self) -> None:
        """By day and by night: no rule of a grade names a colour."""
        css = (workplace.ROOT / "reports/page/templates/report.css").read_text(encoding="utf-8")
        rules = re.findall(r"^[^{}\n]*(?:grade|faded)[^{}]*\{[^}]*\}", css, flags=re.M)
        self.assertGreaterEqual(len(rules), 4)
        for rule in rules:
            self.assertNotIn("#", rule)


class Drawing(unittest.TestCase):
    def chart(self, *marks: Mark) -> str:
        return draw_lines(LineChart("t", "x", "", "byte/s", [Series("s", list(marks))]))

    def test_one_wide_interval_does_not_flatten_the_others(self) -> None:
        wide = Mark(2, 1.0, 0.01, 90.0, graded=True)
        chart = LineChart("t", "x", "", "", [Series("s", [Mark(1, 1.0, 0.9, 1.1), wide])])
        self.assertEqual((min(chart.values()), max(chart.values())), (0.5, 2.0))
        self.assertEqual(Mark(2, -1.0, -9.0, 9.0, graded=True).ends, (-1.0, -2.0, -0.5))
        self.assertEqual(Mark(2, 1.0, None, None, graded=True).ends, (1.0,))
        self.assertEqual(Mark(2, 1.0, 0.1, 9.0, valid=False).ends, (1.0,))

    def test_pale_with_a_bar_and_the_reason(self) -> None:
        svg = self.chart(Mark(1, 1.0, 0.9, 1.1), Mark(2, 1.2, 0.7, 1.9, True, "noisy: wide", True))
        bars = re.findall(r'class="whisker s0" d="([^"]*)"', svg)
        self.assertEqual(
            (svg.count('"dot graded f0"'), svg.count('"dot f0"'), [bar.count("M") for bar in bars]),
            (1, 1, [2]),
        )
        self.assertIn("noisy: wide", svg)
        self.assertNotIn("graded", self.chart(Mark(1, 1.0), Mark(2, 1.2)))

    def test_words_and_signs(self) -> None:
        self.assertEqual(
            [tag(True, False), tag(True, True), tag(False, True), tag(False, False)], ["", " ~", " ?", " ?"]
        )
        self.assertEqual(half_width(1.7e-6, 1e-7, 5e-6, "s"), ">100 %")
        self.assertEqual(
            [
                half_width(*of)
                for of in ((2.0, 1.5, 2.5), (0.0, -1.0, 1.0), (0.01, -1.0, 1.0), (0.01, -90, 90))
            ],
            ["±25 %", "", "±1", ">100 %"],
        )


class Everything(workplace.Scratch):
    def test_any_program_with_all_values_graded_and_tried_twice(self) -> None:
        """Nothing is lost between a quiet run and a noisy one but the quiet."""
        quiet = self.signature(everything())
        for grade in ("noisy", "contended"):
            text = ""
            for run in ("r1", "r2"):
                for line in map(json.loads, everything(run=run).splitlines()):
                    for entry in line.get("derived", ()):
                        if entry["valid"]:
                            entry["grades"] = [grade]
                    text += json.dumps(line) + "\n"
            signature = self.signature(text)
            self.assertEqual(set(signature.primary), set(quiet.primary))
            self.assertEqual(
                {m.get("grade") for name, m in signature.json["metrics"].items() if "fit_" not in name},
                {grade},
            )
            self.assertEqual(
                {m.get("tries") for name, m in signature.json["metrics"].items() if "fit_" not in name}, {2}
            )
            headline_of(signature)


if __name__ == "__main__":
    unittest.main()
