# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""The pages as a browser shows them: on a telephone, a tablet and a desk, by day and by night, and on
paper."""

from __future__ import annotations

import atexit
import itertools
import json
import random
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock
from dataclasses import replace
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Sequence, Tuple

import workplace

import comparison_example as example
import fleets
import layout
import page_browser
import predict_example
import scorecard_example
from page_browser import LAYOUTS, PAPER, SCHEMES, Page
from reports.judge.compare import page as compare_page
from reports.judge.scorecard import page as scorecard_page
from reports.judge.compare.verdict import Settings
from reports.judge.fleet import page as fleet_page
from reports.judge.fleet.fleet import Asked, assess
from reports.predict import page as predict_page

WHY_NOT = page_browser.why_no_browser() or ("" if workplace.HAVE_JINJA2 else "jinja2 is not installed")
SHOWN = 12  # breaches in a message

_scratch: Path
_browser: page_browser.Browser
_papers: Dict[str, page_browser.Paper] = {}


def setUpModule() -> None:
    global _scratch, _browser
    if WHY_NOT:
        raise unittest.SkipTest(WHY_NOT)
    _scratch = Path(tempfile.mkdtemp(prefix="gpusig-pages."))
    atexit.register(shutil.rmtree, _scratch, ignore_errors=True)
    _browser = page_browser.Browser()


def tearDownModule() -> None:
    _browser.close()
    shutil.rmtree(_scratch, ignore_errors=True)


def _stored(name: str, page: str) -> Path:
    path = _scratch / (name + ".html")
    path.write_text(page, encoding="utf-8")
    return path


class Rules:
    """Rules that every page keeps; a class names its pages in `files`."""

    files: Dict[str, Path] = {}

    def none(self, breaches: Sequence[str], **where: str) -> None:
        with self.subTest(**where):
            if breaches:
                more = ["and %d more" % (len(breaches) - SHOWN)] if len(breaches) > SHOWN else []
                self.fail("\n".join(["%d breaches" % len(breaches), *breaches[:SHOWN], *more]))

    def laid_out(self, layouts: Iterable[str] = LAYOUTS) -> Iterator[Tuple[Page, Dict[str, str]]]:
        return self.laid_out_as(list(itertools.product(layouts, SCHEMES)))

    def laid_out_as(self, chosen: Sequence[Tuple[str, str]]) -> Iterator[Tuple[Page, Dict[str, str]]]:
        for name, path in self.files.items():
            page = _browser.open(path)
            for width, scheme in chosen:
                page.lay_out(width, scheme)
                yield page, {"page": name, "layout": width, "scheme": scheme}

    def test_it_is_read_at_each_width_by_day_by_night_and_on_paper(self) -> None:
        for page, where in self.laid_out():
            self.none(page.rule("sideways"), rule="does not scroll sideways", **where)
            page.rule("unfold", True)
            self.none(page.rule("sideways"), rule="does not scroll sideways, unfolded", **where)
            self.none(page.rule("contrast"), rule="contrast", **where)
            if where["layout"] != PAPER:
                self.none(
                    page.rule("scrolling"), rule="what scrolls has a name and is reached by keyboard", **where
                )
            page.rule("unfold", False)
            with self.subTest(rule="night is dark and paper is not", **where):
                self.assertEqual(
                    page.rule("paint") < 0.5, where["scheme"] == "dark" and where["layout"] != PAPER
                )
            self.none(page.console, rule="the console stays empty", **where)

    def test_its_markup_says_what_is_what(self) -> None:
        for name, path in self.files.items():
            for rule in ("language", "landmarks", "headings", "tables", "drawings", "links"):
                self.none(_browser.open(path).rule(rule), page=name, rule=rule)

    def test_axe_finds_nothing_serious(self) -> None:
        """In two layouts, for it takes seconds: page_rules.js asks of all what depends on the width."""
        for page, where in self.laid_out_as([("390", "light"), ("1280", "dark")]):
            self.none(page.violations(colours=True), **where)


class Printed(Rules):
    """Rules of a printed page: each sheet names its subject and its date."""

    on_every_sheet: Tuple[Tuple[str, ...], ...] = ()

    def test_each_sheet_says_of_what_and_of_when_it_is(self) -> None:
        for name in self.files:
            sheets = self.paper(name).pages
            self.assertGreater(len(sheets), 1)
            for texts in self.on_every_sheet:
                bare = [
                    number
                    for number, sheet in enumerate(sheets, 1)
                    if not any(text in sheet for text in texts)
                ]
                with self.subTest(page=name, says=" or ".join(texts)):
                    self.assertEqual(bare, [], "of %d sheets these do not say it" % len(sheets))

    def test_nothing_is_wider_than_the_sheet(self) -> None:
        for page, where in self.laid_out([PAPER]):
            self.none(page.rule("paper"), **where)
        for name in self.files:
            self.none(self.paper(name).outside(), page=name)

    def test_what_folds_is_open_everywhere_or_nowhere(self) -> None:
        for page, where in self.laid_out([PAPER]):
            self.none(page.rule("folds"), **where)

    def paper(self, name: str) -> page_browser.Paper:
        if not shutil.which("pdftotext"):
            self.skipTest("pdftotext is not installed")
        path = _scratch / (name + ".pdf")
        if name not in _papers:
            page = _browser.open(self.files[name])
            page.lay_out(PAPER, "light")
            _papers[name] = page.printed(path)
        return _papers[name]


class Report(Printed, unittest.TestCase):
    on_every_sheet = (("A CPU", "node1"), ("2026-01-02",))

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder, _ = workplace.example()
        cls.files = {"report": cls.folder / "report.html"}

    def conditions(self) -> List[str]:
        signature = json.loads((self.folder / "signature.json").read_text(encoding="utf-8"))
        return [
            one["condition"]
            for one in signature["metrics"].values()
            if one["primary"] and one["value"] is not None
        ]

    def test_each_headline_number_is_in_sight_with_its_unit_and_condition(self) -> None:
        self.assertGreater(len(self.conditions()), 8)
        for page, where in self.laid_out():
            self.none(page.rule("headline", self.conditions()), **where)

    def test_headline_numbers_are_on_the_first_two_sheets(self) -> None:
        numbers = _browser.open(self.files["report"]).rule("numbers")
        self.assertGreaterEqual(len(numbers), len(self.conditions()), "#headline tr .value")
        first = " ".join(self.paper("report").pages[:2])
        self.assertEqual([number for number in numbers if number not in first], [])


class Vendor(Printed, unittest.TestCase):
    """A run of eight devices of a model: the longest page that there is by default."""

    on_every_sheet = (("simulated device (mi300x)",),)

    @classmethod
    def setUpClass(cls) -> None:
        if not (page_browser.ROOT / "bin/micro/launch").exists():
            raise unittest.SkipTest("bin/ is not built")
        cls.folder = _scratch / "vendor"
        asked = ["--device", "sim:mi300x:0-7", "--budget", "30s", "--out", str(cls.folder)]
        done = subprocess.run(
            [str(page_browser.ROOT / "gpusig"), "run", "--no-install", *asked],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-2000:]
        cls.said = done.stdout.decode("utf-8", "replace")
        cls.files = {"vendor": cls.folder / "report.html"}

    def test_it_is_printed_on_at_most_20_sheets(self) -> None:
        sections = _browser.open(self.files["vendor"]).page.locator(".section").count()
        self.assertGreater(sections, 20)
        self.assertLessEqual(len(self.paper("vendor").pages), 20)

    def test_no_interval_is_told_of_what_repeats(self) -> None:
        """Some times of a model have one: a cache holds what is left of the variant before, which is drawn."""
        self.assertNotRegex(self.said, r"±0(\.0)? %")
        self.assertIn("± is half of", self.said)

    def test_the_labels_of_the_links_are_whole(self) -> None:
        page = _browser.open(self.files["vendor"]).page
        labels = page.locator("#topology-node-sim-mi300x-0-7 svg text").all_text_contents()
        self.assertIn("each way", labels)
        self.assertEqual([label for label in labels if "…" in label], [])

    def test_a_chart_is_preceded_by_two_lines_at_most(self) -> None:
        leads = _browser.open(self.files["vendor"]).page.locator(".summary").all_text_contents()
        self.assertEqual([text for text in leads if len(text) > 320], [])


class Comparison(Printed, unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        made = example.regression()
        cls.files = {"comparison": cls.stored("comparison", made)}
        sides = [made[side] for side in ("before", "after")]
        said = [
            text
            for side in sides
            for text in (side["name"], side["machine"], side["runs"][0]["started"][:10])
        ]
        cls.on_every_sheet = tuple((text,) for text in dict.fromkeys(said))

    def test_a_telephone_does_not_scroll_sideways_whatever_the_words(self) -> None:
        for name, made in (("invalid", example.invalid()), ("long_words", example.hostile("x" * 300))):
            page = _browser.open(self.stored(name, made))
            page.lay_out("390", "light")
            self.none(page.rule("sideways"), page=name)

    @staticmethod
    def stored(name: str, made: example.Json) -> Path:
        return _stored(name, compare_page.render(made))


class Scorecard(Printed, unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        made = scorecard_example.full()
        cls.files = {"scorecard": cls.stored("scorecard", made)}
        cls.on_every_sheet = tuple((machine["name"],) for machine in made["machines"])

    def test_a_telephone_does_not_scroll_sideways_whatever_the_words(self) -> None:
        page = _browser.open(self.stored("long_words_of_a_scorecard", scorecard_example.full("x" * 300)))
        page.lay_out("390", "light")
        self.none(page.rule("sideways"))

    def test_a_telephone_shows_every_machine(self) -> None:
        page = _browser.open(self.stored("six_machines", scorecard_example.full(of="abcdef")))
        page.lay_out("390", "light")
        self.none(page.rule("aside", "#mix, #price, #items, #questions, #rules, #numbers"))

    @staticmethod
    def stored(name: str, made: example.Json) -> Path:
        return _stored(name, scorecard_page.render(made))


class Prediction(Printed, unittest.TestCase):
    """With changes, a tornado, a sweep and what is known of the error."""

    on_every_sheet = (("A machine",),)

    @classmethod
    def setUpClass(cls) -> None:
        cls.files = {"prediction": cls.stored("prediction", predict_example.full())}

    def test_a_telephone_does_not_scroll_sideways_whatever_the_words(self) -> None:
        page = _browser.open(self.stored("long_words_of_a_prediction", predict_example.full("x" * 300)))
        page.lay_out("390", "light")
        self.none(page.rule("sideways"))

    @staticmethod
    def stored(name: str, made: predict_example.Json) -> Path:
        return _stored(name, predict_page.render(made))


class Fleet(Printed, unittest.TestCase):
    """One node off and different, one fast, one that lacks a value, one missing; and a fleet of which most
    have no row."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.files = {"fleet": cls.stored("fleet", 32), "large_fleet": cls.stored("large_fleet", 200)}
        cls.on_every_sheet = (("rack7: which node is an outlier?",),)

    @staticmethod
    def stored(name: str, count: int) -> Path:
        nodes = fleets.fleet(random.Random(1), count, 0.005, [{2: 0.9}, {2: 1.1, 5: 1.2}])
        run = nodes[-1].runs[0]
        nodes[-1].runs = [replace(run, provenance={**run.provenance, "driver: device driver": "535"})]
        del nodes[0].runs[0].numbers[fleets.name_of(3)]
        found = assess(nodes, Asked("rack7", ["node%d" % place for place in range(count + 1)]), Settings())
        return _stored(name, fleet_page.render(found))


class RulesThemselves(unittest.TestCase):
    """Each rule finds what it is for, and nothing on a page that keeps it."""

    def opened(self, name: str, text: str, width: str = "390") -> Page:
        page = _browser.open_anew(_stored(name, "<!DOCTYPE html>" + text))
        self.addCleanup(page.page.close)
        page.lay_out(width, "light")
        return page

    def test_a_page_that_keeps_them_has_no_breach(self) -> None:
        page = self.opened("good", GOOD)
        for rule in RULES:
            self.none(page, rule)
        self.assertEqual(page.rule("headline", ["f32, 2048³"]), [])
        self.assertEqual(page.rule("numbers"), ["80"])
        self.assertEqual(page.violations(colours=True), [])
        page.lay_out(PAPER, "light")
        self.none(page, "paper")
        self.assertEqual(page.page.viewport_size["width"], 794 - 151)  # 2 x 20 mm

    def none(self, page: Page, rule: str) -> None:
        self.assertEqual(page.rule(rule), [], rule)

    def test_each_breach_is_found(self) -> None:
        page = self.opened("bad", BAD)
        for rule, count in RULES.items():
            with self.subTest(rule=rule):
                self.assertEqual(len(page.rule(rule)), count, page.rule(rule))
        said = "\n".join(page.rule("contrast"))
        for words in (
            "#cccccc on #ffffff in 1 places",
            "#ffffff on #eeeeee in 1 places",
            "#888888 on #ffffff in 1 places",
        ):
            self.assertIn(words, said)
        headline = page.rule("headline", ["", "f64", "f32, 512³"])
        for words in (
            ".value is cut off by div.narrow",
            ".unit ends at",
            "has no .unit",
            "a condition is not visible",
            'says "f64"',
        ):
            self.assertTrue(any(words in breach for breach in headline), (words, headline))
        self.assertEqual(len(page.rule("headline", [""] * 9)), 1)
        self.assertTrue(
            any("image-alt" in one or "link-name" in one for one in page.violations(colours=False))
        )
        page.lay_out(PAPER, "light")
        self.assertTrue(any("is cut off" in one for one in page.rule("paper")))
        self.assertTrue(any("wider than the paper" in one for one in page.rule("paper")))

    def test_what_a_console_and_a_sheet_say_is_heard(self) -> None:
        page = self.opened(
            "loud",
            '<script>console.warn("heard")</script><p style="position: absolute; left: 780px">overflowing'
            '<p style="break-before: page">second',
            PAPER,
        )
        self.assertEqual(page.console, ["heard"])
        sheets = page.printed(_scratch / "loud.pdf")
        self.assertIn("second", sheets.pages[-1])


RULES = {
    "language": 1,
    "landmarks": 2,
    "headings": 2,
    "tables": 2,
    "drawings": 3,
    "links": 1,
    "sideways": 1,
    "scrolling": 2,
    "folds": 1,
    "contrast": 3,
}  # and how many breaches BAD has
GOOD = """<html lang="en"><title>t</title><style>@page { margin: 10mm 20mm; } .scroll { overflow-x: auto; }
svg rect { fill: #000; } svg text { fill: #fff; } @media print { .long { white-space: normal !important; } }</style>
<main><h1>Device</h1><section id="headline"><h2>Numbers</h2>
<table><caption>Headline numbers</caption><tr><th scope="col">name</th><th scope="col">median</th></tr>
<tr><th scope="row">rate<small>f32, 2048³</small></th>
<td><span class="value">80</span> <span class="unit">GFLOP/s</span></td></tr></table>
</section><h2>More</h2>
<div class="scroll" tabindex="0" role="region" aria-label="long line"><p class="long" style="white-space: nowrap">%s</p></div>
<svg role="img" aria-label="80 of 100" width="40" height="20"><rect width="40" height="20"/><text x="2" y="14">80</text></svg>
<details><summary>2 more</summary><p>one</p></details><a href="#headline">numbers</a></main>""" % (
    "word " * 200
)
BAD = """<html><h1>Device</h1><h1>Again</h1><h3>Deep</h3>
<div id="headline"><div class="narrow" style="width: 60px; overflow: hidden">
<table><tr><th>wordwordword</th><td class="value">1000</td><td class="unit">s</td></tr></table></div>
<table><caption>c</caption><tr><td class="value">2</td><td class="unit" style="position: absolute; left: 380px">GB/s</td></tr>
<tr><td class="value">3</td><td><small style="display: none">f32, 512³</small></td></tr></table></div>
<svg><text x="1" y="10" style="fill: #888">grey</text><rect width="100" height="40" y="20" fill="#eee"/>
<text x="1" y="40" style="fill: #fff">white</text></svg><svg role="img" aria-label="size"></svg><a href="#x"></a>
<p style="color: #ccc">pale</p>
<div style="overflow-x: auto; width: 100px"><p style="width: 1000px">wide</p></div><p style="width: 1000px">wider</p>
<details open><summary>a</summary><p>seen</p></details><details><summary>b</summary><p>hidden</p></details>"""


@unittest.skipIf(page_browser.why_no_layout(), page_browser.why_no_layout())
class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.page = _browser.open_anew(workplace.example()[0] / "report.html")

    def test_the_layout_is_the_kept_one(self) -> None:
        scratch = Path(tempfile.mkdtemp(prefix="gpusig-layout."))
        for name in layout.NAMES:
            with self.subTest(layout=name):
                breach = layout.breach(name, layout.taken(self.page, name), scratch)
                if breach:
                    self.fail(breach)
        if not any(scratch.iterdir()):
            scratch.rmdir()

    def test_a_word_may_change_and_a_layout_may_not(self) -> None:
        for name in ("768-light",):
            before = layout.taken(self.page, name)
            for what, style in WRONG.items():
                with self.subTest(layout=name, change=what):
                    self.assertGreater(
                        layout.changed(before, layout.taken(self.page, name, style)), layout.MOST
                    )
            for word in WORDS:
                with self.subTest(layout=name, word=word):
                    self.assertLess(
                        layout.changed(before, layout.taken(self.page, name, word=word)), layout.MOST
                    )

    def test_a_change_leaves_pictures_and_says_where(self) -> None:
        folder = _scratch / "kept"
        folder.mkdir()
        with (
            unittest.mock.patch.object(layout, "KEPT", folder),
            unittest.mock.patch.object(layout, "NAMES", ("768-light",)),
        ):
            layout.update(self.page)
            self.assertEqual([path.name for path in folder.iterdir()], ["768-light.png"])
            self.assertLess((folder / "768-light.png").stat().st_size, 20000)
            grid = layout.taken(self.page, "768-light")
            self.assertEqual(layout.breach("768-light", grid, folder), "")
            said = layout.breach(
                "768-light", layout.taken(self.page, "768-light", WRONG["a column is lost"]), folder
            )
            self.assertIn("%s/768-light-*.png, and if that is right: %s" % (folder, layout.UPDATE), said)
            self.assertEqual(len(list(folder.iterdir())), 3)
            self.assertIn(layout.UPDATE, layout.breach("390-dark", grid, folder))


WORDS = (("bandwidth", "bandwidht"), ("latency", "tardiness"))
WRONG = {
    "a column is lost": "td:nth-child(4), th:nth-child(4) { display: none; }",
    "a table lies over what follows": "table { position: absolute; }",
    "headings lie in their text": "h2, h3 { position: relative; top: 14px; }",
    "letters of tables are a pixel larger": ".bars td, .bars tbody th.name { font-size: 14.5px; }",
    "letters are smaller": "body, td { font-size: 12px; }",
}


if __name__ == "__main__":
    unittest.main()
