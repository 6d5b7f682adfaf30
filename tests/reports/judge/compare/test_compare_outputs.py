# SPDX-License-Identifier: BSD-3-Clause
"""A comparison in the terminal, as JUnit and as a page: all that was found is there, whatever the names hold,
and nothing else is claimed."""

from __future__ import annotations

import copy
import importlib.util
import json
import re
import subprocess
import sys
import unittest
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any, Dict, List
from xml.etree import ElementTree

import workplace
import comparison_example as example
from comparison_example import EXAMPLES, Json, hostile, many_others, row
from reports.records import validate
from reports.page.blocks import plain
from reports.judge.compare import dots, page
from reports.judge.compare.junit import junit
from reports.judge.compare.page import table
from reports.judge.compare.wording import change_text, values_text
from tests.reports.signature.test_report import HOSTILE, tags
from tests import level

MORE_HOSTILE = [
    *HOSTILE,
    "a\u2028b\u2029c",
    "\ufffe\uffff",
    "\n\n** regress\n",
    "\r\x08\x9b31m",
    "x" * 5000,
    "x y " * 2000,
    " ",
    "%s %(a)s {0}",
]
HAVE_JSONSCHEMA = importlib.util.find_spec("jsonschema") is not None
CLAIMS = re.compile(r"\b(the same|no change|unchanged|not changed|nothing changed|no difference)\b", re.I)


@lru_cache(maxsize=None)
def rendered(name: str) -> str:
    return page.render(EXAMPLES[name]())


class Words(HTMLParser):
    """The text of a page without its style, as one line."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts: List[str] = []
        self.feed(re.sub(r"<style>.*?</style>", "", text, flags=re.S))
        self.text = " ".join(" ".join(self.parts).replace("\u00a0", " ").split())

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def reasons_of(comparison: Json) -> List[str]:
    """Everything that the judged metrics say in sentences."""
    found = []
    for one in comparison["metrics"]:
        found += [one["reason"], *one["before"]["reasons"], *one["after"]["reasons"]]
    return [text for text in dict.fromkeys(found) if text]


def flat(text: str) -> str:
    return " ".join(text.split())


@unittest.skipUnless(HAVE_JSONSCHEMA, "jsonschema is not installed")
class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        import jsonschema

        cls.validator = jsonschema.Draft7Validator(validate.schema("comparison"))

    def errors(self, comparison: Json) -> list:
        return list(self.validator.iter_errors(json.loads(json.dumps(comparison))))

    def test_examples_hold(self) -> None:
        for name, make in EXAMPLES.items():
            self.assertEqual(self.errors(make()), [], name)

    def test_every_object_is_closed_and_every_key_is_required(self) -> None:
        """Drops each key of a comparison, and adds one to each of its objects."""

        def paths(value: Any, path: tuple) -> list:
            inner = (
                value.items()
                if isinstance(value, dict)
                else enumerate(value[:1])
                if isinstance(value, list)
                else ()
            )
            return [(path, isinstance(value, dict))] + [
                p for key, item in inner for p in paths(item, (*path, key))
            ]

        whole = example.invalid()
        whole.update(metrics=whole["metrics"][:1], others=whole["others"][:1])
        for path, is_object in paths(whole, ()):
            broken = copy.deepcopy(whole)
            place = broken
            for key in path:
                place = place[key]
            if is_object:
                place["surplus"] = 1
                self.assertTrue(self.errors(broken), path)
                for key in [key for key in place if key != "surplus"]:
                    lacking = copy.deepcopy(whole)
                    holder = lacking
                    for step in path:
                        holder = holder[step]
                    del holder[key]
                    self.assertTrue(self.errors(lacking), (*path, key))

    def test_contradictions_are_rejected(self) -> None:
        changes: Dict[str, Any] = {
            "verdict": ("metrics", 0, {"verdict": ""}),
            "p": ("metrics", 0, {"p": 1.5}),
            "scale": ("metrics", 0, {"scale": "log"}),
            "equivalent without a change": ("metrics", 3, {"change": None}),
            "repeats of a decided one": ("metrics", 0, {"repeats": 9}),
            "a text": ("metrics", 0, {"least_effect": "2 %"}),
            "judged other": ("others", 0, {"verdict": "regress"}),
            "adjusted other": ("others", 0, {"p_adjusted": 0.5}),
            "many repeats": ("metrics", 6, {"repeats": 101}),
            "direction": ("metrics", 0, {"better": None}),
        }
        for name, (part, place, fields) in changes.items():
            broken = example.regression()
            broken[part][place].update(fields)
            self.assertTrue(self.errors(broken), name)
        for part, key, value in (
            ("outcome", "exit", 2),
            ("outcome", "verdict", "equivalent"),
            ("control", "verdict", "fine"),
            ("settings", "rate", 0),
            ("before", "runs", []),
        ):
            broken = example.regression()
            broken[part][key] = value
            self.assertTrue(self.errors(broken), (part, key))


class Table(unittest.TestCase):
    def test_no_line_is_wider_than_a_terminal(self) -> None:
        for name, make in [
            *EXAMPLES.items(),
            *((repr(text[:20]), lambda text=text: hostile(text)) for text in MORE_HOSTILE),
        ]:
            for line in table(make()).splitlines():
                words = re.sub(r"^\[\d+\] ", "", line).strip()
                self.assertTrue(len(line) <= 80 or " " not in words, (name, line))

    def test_the_answer_comes_first_and_warnings_are_marked(self) -> None:
        lines = table(example.invalid()).splitlines()
        self.assertEqual(
            lines[:3],
            [
                "Invalid: before and after differ in more than the driver.",
                "  memory clock differs and is no factor.",
                "  BIOS version differs and is no factor.",
            ],
        )
        text = flat("\n".join(lines))
        for said in (
            "driver, declared to differ: before 535.1; after 550.2",
            "! memory clock, differs and was not declared: before 2619 MHz; after 1593 MHz",
            "! BIOS version, differs and was not declared: before 1.2; after unknown",
            "! SM clock, differs between runs of one side: before 1900 MHz, 1901 MHz, 1902 MHz and 6 more",
        ):
            self.assertIn(said, text)
        self.assertLess(text.index("Judged metrics"), text.index("Control Held:"))
        self.assertLess(text.index("Control Held:"), text.index("declared to differ"))

    def test_long_values_are_cut_where_they_begin_to_differ(self) -> None:
        old, new = "flags " * 40 + "nosmt tail", "flags " * 40 + "quiet tail"
        self.assertIn("nosmt", values_text([old], [new]))
        self.assertIn("quiet", values_text([new], [old]))
        self.assertLess(len(values_text([old], [new])), 50)
        self.assertEqual(values_text(["a"], ["b"]), "a")

    def test_a_moved_control_is_a_warning(self) -> None:
        self.assertIn("! Moved: timer overhead moved by 16 %", table(example.control_moved()))
        self.assertNotIn("!", table(example.equivalent()))

    def test_a_row_has_all_its_numbers(self) -> None:
        made = example.regression()
        made["metrics"][0].update(
            before=example.side_of([4.4e11] * 8),
            after=example.side_of([4.18e11] * 8),
            p_adjusted=0.004,
            change={"value": 0.949, "low": 0.94, "high": 0.958},
        )
        lines = table(made).splitlines()
        place = lines.index("Regressions")
        self.assertEqual(flat(lines[place + 3]), "GEMM f32 flop rate ↑, f32, 2048³ ! regress")
        self.assertEqual(flat(lines[place + 4]), "440 GFLOP/s 418 GFLOP/s -5.1 % (-6.0 to -4.2) 0.0040 3.1 %")
        self.assertEqual(len(re.findall(r"^  GEMM f32 flop rate ↑, ", "\n".join(lines), re.M)), 1)

    def test_inconclusive_says_why_and_what_would_decide(self) -> None:
        text = table(example.regression())
        self.assertRegex(
            text,
            r"memory triad bandwidth ↑, triad, 512 MiB +inconclusive, needs 12 runs a side\n.*\n"
            r"      the interval reaches",
        )
        self.assertIn("How many runs would decide: unknown, or more than 100.", text)

    def test_a_reason_of_many_metrics_is_told_once(self) -> None:
        text = table(example.single_run())
        self.assertEqual(text.count(example.ONE_RUN), 1)
        self.assertEqual(text.count("inconclusive, needs 7 runs a side [1]"), 8)
        self.assertIn("9 more inconclusive.", text)
        self.assertEqual(
            flat(table(example.missing())).count(example.NO_RUN), 2
        )  # of equivalent and of invalid ones

    def test_a_difference_is_in_its_unit_and_open_ends_are_open(self) -> None:
        text = flat(table(example.difference()))
        self.assertIn("-0.03 (-0.04 to -0.02)", text)
        self.assertIn("0 ms (-10 to +10)", text)
        self.assertIn(
            "1 is equivalent within 50 ms as a difference; the largest change: gain 0 ms (-10 to", text
        )
        one = row("a", [1.0], [0.9])
        for low, high, said in (
            (None, None, "(unbounded)"),
            (None, 0.95, "(up to -5.0)"),
            (0.85, None, "(-15.0 or more)"),
        ):
            one["change"] = {"value": 0.9, "low": low, "high": high}
            self.assertEqual(change_text(one), "-10.0 % " + said)

    def test_changes_from_tiny_to_huge(self) -> None:
        one = row("a", [1.0], [1.0])
        for change, said in (
            ((1.0004, 0.9996, 1.001), "+0.04 % (-0.04 to +0.10)"),
            ((1.0, 1.0, 1.0), "0.00 % (0.00 to 0.00)"),
            ((12.3, 11.0, 13.5), "12.3 times (11 to 13.5)"),
            ((3.0, 2.5, 3.5), "+200 % (+150 to +250)"),
        ):
            one["change"] = dict(zip(("value", "low", "high"), change))
            self.assertEqual(change_text(one), said)

        one = row("a", [1.0], [1.0], scale="difference", unit="")
        for change, said in (
            ((0.0103, 0.00265, 0.018), "+0.010 (+0.003 to +0.018)"),
            ((0.0, 0.0, 0.0), "0 (0 to 0)"),
            ((-1.5, -2.25, 1e-9), "-1.5 (-2.2 to 0.0)"),
            ((12345.0, 100.0, 2e5), "+12345 (+100 to +200000)"),
        ):
            one["change"] = dict(zip(("value", "low", "high"), change))
            self.assertEqual(change_text(one), said)

    def test_the_largest_change_comes_first_and_what_is_equivalent_is_a_line(self) -> None:
        made = example.regression()
        rows = {one["label"]: one for one in made["metrics"]}
        rows["memory triad bandwidth"]["change"]["value"] = 1.3
        rows["host to device latency"]["change"]["value"] = 1.2
        rows["launch and wait"]["change"] = {"value": 0.985, "low": 0.98, "high": 0.99}
        text = table(made)
        order = ["memory latency", "GEMM f32 flop rate", "launch interval", "host to device latency"]
        order += ["memory triad bandwidth", "45 are equivalent", "1 invalid", "Control", "What else differs"]
        places = [re.search(r"^ *%s" % re.escape(word), text, re.M).start() for word in order]
        self.assertEqual(places, sorted(places))
        self.assertIn(
            "45 are equivalent within 2.0 %; the largest change: launch and wait -1.5 % (-2.0 to -1.0).",
            flat(text),
        )
        self.assertNotIn("GEMM f64 flop rate", text)
        self.assertLess(text[: text.index("Other metrics")].count("\n"), 55)

    def test_what_is_likely_is_in_words_and_no_pass(self) -> None:
        made = example.regression()
        for one in made["metrics"]:
            likely = {"regress": "likely worse", "improve": "likely better"}.get(one["verdict"])
            one.update({"verdict": likely, "repeats": 5} if likely else {})
        text = flat(table(made))
        self.assertLess(
            text.index("Likely worse memory latency"), text.index("Likely better launch interval")
        )
        self.assertIn("likely worse, confirm with 5 runs a side", text)
        self.assertIn("51 judged metrics: 2 likely worse, 1 likely better, 45 equivalent", text)
        suite = ElementTree.fromstring(junit(made)).find("testsuite")
        self.assertEqual((suite.get("failures"), suite.get("skipped")), ("1", "5"))  # the outcome

    def test_others_are_said_to_be_described(self) -> None:
        made = many_others(1234)
        text = table(made)
        below = text[text.index("Described by effect, not judged") :]
        self.assertIn("The largest of 1234 metrics", below)
        self.assertEqual(below.count("GB/s"), 2 * 10)
        self.assertIn("and 1224 more", below)
        self.assertNotIn("Described", table(example.equivalent()))
        made["others"] = made["others"][:500]  # of a comparison that keeps no more
        self.assertIn("and 1224 more", table(made))


class JUnit(unittest.TestCase):
    def suite(self, made: Json) -> ElementTree.Element:
        return ElementTree.fromstring(junit(made).encode("utf-8")).find("testsuite")

    def test_a_case_for_every_metric_and_its_verdict(self) -> None:
        made = example.regression()
        suite = self.suite(made)
        cases = suite.findall("testcase")
        self.assertEqual(
            [case.get("name") for case in cases], [*(one["name"] for one in made["metrics"]), "control"]
        )
        self.assertEqual((cases[0].get("classname"), cases[0].get("time")), ("gpusig.compare.Compute", "0"))
        wanted = {"regress": "failure", "invalid": "error", "inconclusive": "skipped"}
        for one, case in zip(made["metrics"], cases):
            kinds = [child.tag for child in case if child.tag != "system-out"]
            self.assertEqual(kinds, [wanted[one["verdict"]]] if one["verdict"] in wanted else [], one["name"])
        self.assertEqual(
            [suite.get(key) for key in ("tests", "failures", "errors", "skipped")], ["52", "2", "1", "2"]
        )
        self.assertIn("needs 12 runs a side", cases[6].find("skipped").get("message"))
        self.assertIn("minimum detectable effect 3.1 %", junit(made))
        self.assertNotRegex(junit(made), r"timestamp|2026")

    def test_every_reason_and_the_sentence_are_there(self) -> None:
        for name, make in EXAMPLES.items():
            made = make()
            suite = self.suite(made)
            text = "\n".join([*suite.itertext(), *(element.get("message", "") for element in suite.iter())])
            for said in [*reasons_of(made), made["outcome"]["sentence"], *made["outcome"]["reasons"]]:
                self.assertIn(plain(said), text, name)
            properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
            self.assertEqual(properties["sentence"], plain(made["outcome"]["sentence"]))

    def test_what_is_no_pass_does_not_look_like_one(self) -> None:
        for made in (example.control_moved(), example.no_metric()):
            suite = self.suite(made)
            self.assertEqual(
                suite.find("testcase[@name='outcome']/error").get("message"), made["outcome"]["sentence"]
            )
        self.assertIn(
            "moved",
            self.suite(example.control_moved()).find("testcase[@name='control']/error").get("message"),
        )
        suite = self.suite(example.equivalent())
        self.assertEqual(
            [suite.get(key) for key in ("tests", "failures", "errors", "skipped")], ["18", "0", "0", "0"]
        )

    def test_hostile_text_adds_nothing(self) -> None:
        benign = [element.tag for element in self.suite(hostile("benign")).iter()]
        for text in MORE_HOSTILE:
            with self.subTest(text=text[:30]):
                suite = self.suite(hostile(text))
                self.assertEqual([element.tag for element in suite.iter()], benign)
                self.assertEqual(suite.find("testcase").get("classname"), "gpusig.compare." + plain(text))


class Plain(unittest.TestCase):
    def test_terminals_see_no_control_characters(self) -> None:
        for text in MORE_HOSTILE:
            for made in (table(hostile(text)), junit(hostile(text))):
                self.assertTrue(all(c == "\n" or c.isprintable() for c in made), repr(text[:30]))
        text = "\n\n** regress\n"
        self.assertEqual(table(hostile(text)), table(hostile(plain(text))))

    def test_inconclusive_is_never_said_to_be_the_same(self) -> None:
        for name in ("single_run", "unbounded"):
            made = EXAMPLES[name]()
            self.assertIsNone(CLAIMS.search(table(made)))
            self.assertIsNone(CLAIMS.search(junit(made)))
            self.assertNotIn("equivalent", table(made))
            if workplace.HAVE_JINJA2:
                self.assertIsNone(CLAIMS.search(Words(rendered(name)).text))

    def test_same_comparison_same_bytes_in_any_process(self) -> None:
        code = (
            "import sys; sys.path[:0] = %r\nimport comparison_example as e\nfrom reports.judge.compare "
            "import junit, page\n"
            "made = e.invalid()\nout = [page.table(made), junit.junit(made)] + ([page.render(made)] if %r "
            "else [])\n"
            "sys.stdout.buffer.write('\\0'.join(out).encode())"
        )
        paths = [str(workplace.ROOT), str(workplace.ROOT / "tests" / "reports")]
        found = {
            subprocess.run(
                [sys.executable, "-c", code % (paths, workplace.HAVE_JINJA2)],
                env={"PYTHONHASHSEED": seed},
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
            for seed in ("1", "2")
        }
        self.assertEqual(len(found), 1)
        self.assertGreater(len(found.pop()), 1000)


class Drawing(unittest.TestCase):
    """Positions follow from the numbers: half of the reach is half of the way."""

    def setUp(self) -> None:
        self.row = row(
            "a",
            [4.4e11, 4.4e11, 4.4e11, None],
            [4.18e11, 4.18e11, 4.18e11, 4.18e11],
            "regress",
            unit="flop/s",
        )
        self.row["change"] = {"value": 0.95, "low": 0.941, "high": 0.959}

    def runs(self) -> ElementTree.Element:
        axis = dots.axis_of(self.row)
        return ElementTree.fromstring(dots.draw_runs(self.row, axis, (["b"] * 4, ["a"] * 4)))

    def test_the_label_says_what_is_seen(self) -> None:
        self.row["before"] = example.side_of([4.4e11] * 8)
        self.row["after"] = example.side_of([4.18e11] * 8)
        self.assertEqual(
            dots.sentence_of(self.row),
            "8 runs before, median 440 GFLOP/s; 8 after, median 418 GFLOP/s, "
            "5.0 % lower, interval 4.1 to 5.9 % lower",
        )
        self.row["change"].update(value=0.998, low=0.994, high=1.003)
        self.assertTrue(
            dots.sentence_of(self.row).endswith("0.20 % lower, interval 0.60 % lower to 0.30 % higher")
        )
        self.row.update(change=None, after=example.side_of([None] * 8, "gone"))
        self.assertEqual(
            dots.sentence_of(self.row), "8 runs before, median 440 GFLOP/s; no value after; change unknown"
        )

    def test_a_dot_a_run_and_the_missing_are_said(self) -> None:
        drawn = self.runs()
        circles = drawn.findall("circle")
        self.assertEqual([c.get("class") for c in circles], ["run f0"] * 3 + ["run f1"] * 4)
        texts = [t.text for t in drawn.findall("text")]
        self.assertIn("3 of 4", texts)
        self.assertIn("n = 4", texts)
        zero = float(next(t for t in drawn.findall("text") if t.text == "0").get("x"))
        left, right = (
            float(next(t for t in drawn.findall("text") if t.text == text).get("x"))
            for text in ("-10 %", "+10 %")
        )
        self.assertAlmostEqual(float(circles[0].get("cx")), zero, delta=0.1)
        self.assertAlmostEqual(float(circles[5].get("cx")), (left + zero) / 2, delta=0.1)
        self.assertAlmostEqual(zero, (left + right) / 2, delta=0.1)
        self.assertEqual(circles[4].find("title").text, "a: 418 GFLOP/s")

    def test_the_interval_is_in_the_band_only_where_it_is_equivalent(self) -> None:
        for value, low, high, inside in (
            (0.95, 0.941, 0.959, False),
            (1.001, 0.985, 1.015, True),
            (1.015, 1.005, 1.025, False),
        ):
            self.row["change"] = {"value": value, "low": low, "high": high}
            drawn = ElementTree.fromstring(dots.draw_interval(self.row, dots.axis_of(self.row)))
            band = next(r for r in drawn.findall("rect") if r.get("class") == "least")
            start = float(band.get("x"))
            line = next(path.get("d") for path in drawn.findall("path") if "interval" in path.get("class"))
            numbers = re.match(r"M([\d.]+) [\d.]+H([\d.]+)", line)
            left, right = (float(v) for v in numbers.groups())
            self.assertEqual(start <= left and right <= start + float(band.get("width")), inside, value)
            self.assertLess(left, float(drawn.find("circle").get("cx")))

    def test_what_cannot_be_drawn_is_not(self) -> None:
        self.assertIsNone(dots.axis_of(row("a", [None], [None])))
        zero = row("a", [0.0, 0.0], [1.0, 2.0], "invalid", change=None)
        self.assertEqual(dots.draw_interval(zero, dots.axis_of(zero)), "")
        for value in (1e300, 1e-300, -5.0, 0.0):
            odd = row(
                "a",
                [value] * 2,
                [value * 2] * 2,
                "invalid",
                change={"value": 1e250, "low": None, "high": None},
            )
            drawn = dots.draw_runs(odd, dots.axis_of(odd), ([], [])) + dots.draw_interval(
                odd, dots.axis_of(odd)
            )
            self.assertIsNone(re.search(r"\b(nan|inf)\b", drawn))


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Page(unittest.TestCase):
    def assert_inert(self, text: str) -> None:
        found = tags(text)
        self.assertEqual(found.open, [])
        for tag, attributes in found.seen:
            self.assertNotIn(tag, ("script", "img", "link", "iframe", "object", "embed", "base", "form"))
            self.assertFalse(
                [name for name in attributes if name.startswith("on") or name in ("style", "src")]
            )
            self.assertRegex(attributes.get("href", "#a"), "^#[a-z0-9-]+$")
        self.assertNotIn("url(", text)
        self.assertNotIn("@import", text)

    def test_whole_and_accessible(self) -> None:
        for name in EXAMPLES:
            text = rendered(name)
            self.assert_inert(text)
            seen = tags(text).seen
            self.assertEqual(
                [tag for tag, attributes in seen if tag == "th" and "scope" not in attributes], []
            )
            self.assertEqual(sum(tag == "table" for tag, _ in seen), sum(tag == "caption" for tag, _ in seen))
            self.assertEqual(
                [
                    a
                    for tag, a in seen
                    if tag == "svg" and (a.get("role") != "img" or not a.get("aria-label"))
                ],
                [],
            )
            self.assertIsNone(re.search(r"\b(nan|inf|None)\b(?! of)", Words(text).text), name)

    def test_every_metric_verdict_and_reason_is_there_as_in_the_terminal(self) -> None:
        for name, make in EXAMPLES.items():
            made = make()
            labels = [one["label"] for one in made["metrics"]]
            changed = [one["label"] for one in made["metrics"] if one["verdict"] in ("regress", "improve")]
            for text, own in ((Words(rendered(name)).text, labels), (flat(table(made)), changed)):
                for said in [*reasons_of(made), made["outcome"]["sentence"], *own]:
                    self.assertIn(flat(plain(said)), text, name)
            rows = re.findall(r'<tr class="metric v-(\w+).*?</tr>', rendered(name), re.S)
            self.assertEqual(sorted(rows), sorted(one["verdict"] for one in made["metrics"]))
            for cell in re.findall(r'<td class="says">(.*?)</td>', rendered(name), re.S):
                self.assertRegex(
                    Words(cell).text, r"^[!+=?×] (regress|improve|equivalent within|inconclusive|invalid)"
                )

    def test_the_first_screen_answers(self) -> None:
        first = Words(rendered("invalid").split('<section class="section" id="judged">')[0]).text
        for said in (
            "AMD EPYC: has anything changed from driver-535 to driver-550?",
            "before and after differ in more than the driver",
            "memory clock differs and is no factor",
            "2 ! regress",
            "45 = equivalent",
        ):
            self.assertIn(said, first)

    def test_missing_runs_are_named_as_in_the_terminal(self) -> None:
        for text in (Words(rendered("missing")).text, flat(table(example.missing()))):
            for said in (
                "7 of 8 values before: gemm/efficiency did not run: time budget (driver-535/run-8)",
                "0 of 8 values after: above its bound (all runs)",
                "0 of 8 values before: no reason given",
            ):
                self.assertIn(said, text)
        self.assertNotIn("values before", table(example.equivalent()))

    def test_hostile_text_adds_no_tag(self) -> None:
        benign = [tag for tag, _ in tags(page.render(hostile("benign"))).seen]
        for text in level.seeds(("".join(HOSTILE),), ("".join(HOSTILE), *MORE_HOSTILE[::4]), MORE_HOSTILE):
            with self.subTest(text=text[:30]):
                made = page.render(hostile(text))
                self.assert_inert(made)
                self.assertEqual([tag for tag, _ in tags(made).seen], benign)
                self.assertTrue(all(c in "\n\u00a0" or c.isprintable() for c in made))

    def test_of_many_others_the_largest_are_shown(self) -> None:
        text = page.render(many_others(2000))
        self.assertLess(len(text.encode("utf-8")), 3_000_000)
        self.assertIn("The largest of 2000 metrics", text)
        self.assertIn("and 1800 more", text)
        self.assertEqual(text.count("<svg"), 2 * 51)
        self.assertEqual(text.count('class="run f'), 51 * 24)

    def test_without_jinja2_the_report_s_own_error_is_raised(self) -> None:
        code = (
            "import sys; sys.modules['jinja2'] = None; sys.path[:0] = %r\nimport comparison_example\n"
            "from reports.page import template\nfrom reports.judge.compare.page import render\n"
            "try:\n render(comparison_example.equivalent())\n"
            "except template.MissingDependency as why:\n print(why)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code % [str(workplace.ROOT), str(workplace.ROOT / "tests" / "reports")]],
            stdout=subprocess.PIPE,
            check=True,
        )
        self.assertIn(b"jinja2", done.stdout)


if __name__ == "__main__":
    unittest.main()
