# SPDX-License-Identifier: BSD-3-Clause
"""Nights of machines whose truth is known: which step is found, on which night, with what else changed; what
is no step; and what a new run is held against."""

from __future__ import annotations

import json
import math
import random
import re
import unittest
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import combinations
from typing import Callable, Dict, Mapping, Sequence, Tuple

import workplace  # noqa: F401

from machines import Machine, name_of, with_number
from reports.judge.compare import changes, history, history_page, rank_sums, steps
from reports.judge.compare.comparison import compare
from reports.judge.compare.numbers import BadNumbers, Failed, RunNumbers
from reports.judge.compare.sides import Side
from reports.judge.compare.steps import Series
from reports.judge.compare.verdict import Settings
from tests import level

FIRST = datetime(2026, 10, 16, 3, 30, tzinfo=timezone.utc)
NIGHTS, STEP = 30, 18
SIX = {metric: 1.05 for metric in range(6)}


def nights(runs: Sequence[RunNumbers], driver: Callable[[int], str] = lambda _: "535") -> Side:
    return Side(
        "nights",
        [
            replace(
                run,
                started=(FIRST + timedelta(days=night)).isoformat(),
                provenance={"driver: device driver": driver(night), "machine: boot": str(night)},
            )
            for night, run in enumerate(runs)
        ],
    )


def date(night: int) -> str:
    return (FIRST + timedelta(days=night)).date().isoformat()


def stepping(
    seed: int = 1, slower: Mapping[int, float] = SIX, shared: float = 0.0, last: int = NIGHTS
) -> Side:
    """Slower from night STEP to night `last`."""
    machine = Machine(seed, 0.01, shared, metrics=50)
    runs = machine.runs(STEP) + machine.runs(last - STEP, slower) + machine.runs(NIGHTS - last)
    return nights(runs, lambda night: "535" if night < STEP else "550")


def levels(draw: random.Random, path: Sequence[Tuple[float, int]], sigma: float) -> Series:
    """Logarithms of levels, each of so many nights."""
    values = [math.log(value) + sigma * draw.gauss(0, 1) for value, count in path for _ in range(count)]
    return Series(values, 0.02)


def vanishing(runs: Sequence[RunNumbers], names: Sequence[str], first: int) -> Side:
    """These numbers are in no run from night `first` on."""
    side = nights(runs)
    for night in range(first, len(runs)):
        kept = {name: own for name, own in side.runs[night].numbers.items() if name not in names}
        side.runs[night] = replace(side.runs[night], numbers=kept)
    return side


class Steps(unittest.TestCase):
    def test_the_p_of_a_split_is_exact(self) -> None:
        """Against all choices of a few nights among ten."""
        for inside in range(1, 10):
            sums = [sum(chosen) for chosen in combinations(range(10), inside)]
            least = inside * (inside - 1) // 2
            for u in range(inside * (10 - inside) // 2 + 1):
                share = sum(total - least <= u for total in sums) / len(sums)
                self.assertAlmostEqual(
                    rank_sums.two_sided_p(inside, 10 - inside, 2 * u), min(1.0, 2 * share), 12
                )

    def test_a_step_of_many_numbers_is_found_on_its_night(self) -> None:
        trials = level.seeds(5, 20, 100)
        hits = 0
        for seed in range(trials):
            found = changes.judge(stepping(seed), Settings())
            first = found["steps"][0]
            named = {number["name"] for number in first["numbers"]}
            hits += abs(first["night"] - STEP) <= 1 and {name_of(metric) for metric in SIX} <= named
            self.assertEqual((found["outcome"]["verdict"], found["outcome"]["exit"]), ("regress", 1))
        self.assertGreaterEqual(hits, 0.9 * trials)

    def test_equal_nights_show_none(self) -> None:
        """Five kinds of noise. The rate is 5 %; 15 % of so many trials would be much."""
        trials = level.seeds(20, 40, 200)
        for kind, noise in NOISE.items():
            draw = random.Random(kind)
            alarms = sum(bool(steps.events(noise(draw), 0.05)) for _ in range(trials))
            self.assertLessEqual(alarms, 0.15 * trials, kind)

    def test_a_level_that_ended_is_one_event_and_no_alarm(self) -> None:
        """Nor is its end, which is for the worse where the level was better."""
        for factor in (1.05, 1 / 1.05):
            found = changes.judge(stepping(3, {metric: factor for metric in range(6)}, last=24), Settings())
            self.assertEqual(found["outcome"]["exit"], 0)
            self.assertEqual(
                [(step["verdict"], step["night"], step["lasts"], step["until"]) for step in found["steps"]],
                [("over", STEP, 6, date(24))],
            )
            said = "For 6 nights from %s, and over since %s: " % (date(STEP), date(24))
            self.assertTrue(found["outcome"]["reasons"][0].startswith(said), found["outcome"])

    def test_the_end_of_a_level_is_a_step_unless_that_was_shorter_than_the_one_before(self) -> None:
        """Levels in logarithms, each with its first night: which are spells, and when they ended."""
        for levels, spells in (
            ([(0, 0.0), (12, -0.2), (16, 0.01)], {12: 16}),
            ([(0, 0.0), (12, -0.2), (16, 0.05)], {}),
            ([(0, 0.0), (5, -0.2), (25, 0.0)], {}),
            ([(0, 0.0), (40, -0.2), (71, 0.0)], {}),
            ([(0, 0.0), (12, -0.1), (16, -0.2), (20, 0.0)], {12: 20, 16: 20}),
            ([(0, 0.0), (12, -0.2), (16, 0.0), (20, -0.2)], {12: 16}),
            ([(0, 0.0), (5, -0.2), (21, 0.0), (24, -0.2)], {21: 24}),
        ):
            self.assertEqual(steps.spells(levels, 0.02), spells, levels)

    def test_steps_of_different_nights_keep_their_own(self) -> None:
        """Also where a number steps twice the same way, and where values do not scatter at all."""
        twice = ((1.0, 12), (0.8, 5), (0.64, 13))
        once, back = ((1.0, 14), (0.8, 16)), ((1.0, 12), (0.8, 5), (1.0, 13))
        for first, second, count, nights in (
            (twice, once, 12, {12: 6, 14: 12, 17: 6}),
            (twice, back, 6, {12: 12, 17: 12}),
            (twice, ((1.0, 14), (0.8, 5), (1.0, 11)), 12, {12: 6, 14: 12, 17: 6, 19: 12}),
            (twice, once, 1, {12: 6, 14: 1, 17: 6}),
            (((1.0, 12), (0.8, 18)), ((1.0, 17), (0.8, 13)), 6, {12: 6, 17: 6}),
        ):
            for seed, sigma in ((1, 0.0), (2, 0.002), (3, 0.002)):
                draw = random.Random(seed)
                paths = {"first": (first, 6), "second": (second, count), "none": (((1.0, 30),), 45 - count)}
                series = {
                    "%s %d" % (kind, number): levels(draw, path, sigma)
                    for kind, (path, numbers) in paths.items()
                    for number in range(numbers)
                }
                found = steps.events(series, 0.05)
                told = {event.at: len(event.steps) for event in found}
                self.assertEqual(told, nights, (first, second, sigma))

    def test_a_lone_number_is_no_surer_beside_others_that_step(self) -> None:
        draw = random.Random(3)
        series = {str(number): levels(draw, ((1.0, 15), (0.8, 15)), 0.01) for number in range(20)}
        series.update({"quiet %d" % number: levels(draw, ((1.0, 30),), 0.01) for number in range(30)})
        series["late"] = Series([math.sin(night) + 100 * (night >= 26) for night in range(NIGHTS)], 0.02)
        self.assertEqual([event.at for event in steps.events(series, 0.05)], [15])

    def test_both_ends_of_a_level_are_steps_or_neither(self) -> None:
        """One of them alone may be told with others."""
        draw = random.Random(0)
        series = {str(n): levels(draw, ((1.0, 15), (0.8, 4), (0.64, 11)), 0.002) for n in range(20)}
        series.update(
            {"back %d" % n: levels(draw, ((1.0, 15), (0.8, 4), (1.0, 11)), 0.002) for n in range(20)}
        )
        series.update({"quiet %d" % n: levels(draw, ((1.0, 30),), 0.002) for n in range(11)})
        for event in steps.events(series, 0.05):
            for step in event.steps.values():
                self.assertGreater(abs(step.after - step.before), 0.1)

    def test_numbers_that_do_not_step_are_seldom_named(self) -> None:
        trials, draw, named = level.seeds(10, 60, 300), random.Random(1), 0
        for _ in range(trials):
            series = {str(n): levels(draw, ((1.0, 30),), 0.02) for n in range(50)}
            series["one"] = levels(draw, ((1.0, 12), (0.8, 18)), 0.02)
            found = {name for event in steps.events(series, 0.05) for name in event.steps}
            self.assertIn("one", found)
            named += len(found) > 1
        self.assertLessEqual(named, level.most(trials, 0.05))

    def test_a_step_that_matters_less_than_asked_is_none(self) -> None:
        side = stepping(4, {metric: 1.05 for metric in range(50)})
        self.assertEqual(len(changes.judge(side, Settings())["steps"]), 1)
        self.assertEqual(changes.judge(side, Settings(least_effect=0.1))["steps"], [])

    def test_a_single_bad_night_is_no_step(self) -> None:
        machine = Machine(5, 0.01, 0.0, metrics=50)
        runs = machine.runs(20) + machine.runs(1, {metric: 2.0 for metric in range(50)}) + machine.runs(9)
        self.assertEqual(changes.judge(nights(runs), Settings())["steps"], [])

    def test_accidents_move_no_step(self) -> None:
        """Two of the first three nights are far off, and no level."""
        draw = random.Random(9)
        values = [0.01 * draw.gauss(0, 1) - 0.05 * (night >= STEP) for night in range(NIGHTS)]
        values[0], values[2] = -1.6, -1.7
        self.assertEqual([event.at for event in steps.events({"one": Series(values, 0.02)}, 0.05)], [STEP])

    def test_missing_values_move_no_night(self) -> None:
        side = stepping(6)
        name = name_of(0)
        for night in (2, 5, 19):
            number = replace(side.runs[night].numbers[name], value=None, reason="contended")
            side.runs[night] = replace(side.runs[night], numbers={**side.runs[night].numbers, name: number})
        step = changes.judge(side, Settings())["steps"][0]
        self.assertEqual(step["night"], STEP)
        values = next(number["values"] for number in step["numbers"] if number["name"] == name)
        self.assertEqual([night for night, value in enumerate(values) if value is None], [2, 5, 19])

    def test_a_number_that_few_nights_have_is_named(self) -> None:
        side = stepping(7)
        for night in range(10):
            numbers = dict(side.runs[night].numbers)
            del numbers[name_of(9)]
            side.runs[night] = replace(side.runs[night], numbers=numbers)
        found = changes.judge(side, Settings())
        self.assertEqual(
            found["unsearched"], [{"name": name_of(9), "reason": "only 20 of 30 nights have a value"}]
        )
        self.assertEqual(found["searched"], 49)

    def test_a_value_of_0_is_missing_on_its_night_alone(self) -> None:
        side = stepping(7)
        side.runs[2] = with_number(side.runs[2], name_of(0), value=0.0)
        found = changes.judge(side, Settings())
        self.assertEqual((found["unsearched"], found["searched"]), ([], 50))
        self.assertIn(name_of(0), [number["name"] for number in found["steps"][0]["numbers"]])
        for night in range(10):
            side.runs[night] = with_number(side.runs[night], name_of(9), value=0.0)
        self.assertEqual(
            changes.judge(side, Settings())["unsearched"],
            [{"name": name_of(9), "reason": "only 20 of 30 nights have a value above 0"}],
        )

    def test_how_soon_a_lone_number_is_seen(self) -> None:
        """The answer says it, so it has to be so."""
        after = steps.least_after(NIGHTS, 50, 0.05)
        assert after is not None
        for count in (after - 1, after):
            values = [math.sin(night) + 100 * (night >= NIGHTS - count) for night in range(NIGHTS)]
            series = {"quiet %d" % n: Series([0.0] * NIGHTS, 0.02) for n in range(49)}
            found = steps.events({"one": Series(values, 0.02), **series}, 0.05)
            self.assertEqual([event.at for event in found], [NIGHTS - count] if count == after else [])
        least = steps.least_nights(50, 0.05)
        self.assertIsNone(steps.least_after(least - 1, 50, 0.05))
        self.assertIsNotNone(steps.least_after(least, 50, 0.05))


def _made(draw: random.Random, value: Callable[[int, int], float]) -> Dict[str, Series]:
    return {str(m): Series([value(m, night) for night in range(NIGHTS)], 0.02) for m in range(50)}


def _outlier(draw: random.Random) -> float:
    return 8.0 * draw.choice((-1, 1)) * (draw.random() < 0.05)


def _levels_of_all(draw: random.Random) -> Dict[str, Series]:
    offsets = [0.08 * (draw.random() < 0.5) for _ in range(NIGHTS)]
    return _made(draw, lambda _, night: offsets[night] + draw.gauss(0, 0.01))


def _levels_of_each(draw: random.Random) -> Dict[str, Series]:
    shares = [draw.uniform(0.2, 0.8) for _ in range(50)]
    return _made(draw, lambda m, _: 0.08 * (draw.random() < shares[m]) + draw.gauss(0, 0.01))


NOISE: Dict[str, Callable[[random.Random], Dict[str, Series]]] = {
    "iid": lambda draw: _made(draw, lambda *_: draw.gauss(0, 0.01)),
    "t2": lambda draw: _made(draw, lambda *_: 0.01 * draw.gauss(0, 1) / math.sqrt(draw.expovariate(1))),
    "outliers": lambda draw: _made(draw, lambda *_: 0.01 * (draw.gauss(0, 1) + _outlier(draw))),
    "levels of all": _levels_of_all,
    "levels of each": _levels_of_each,
}


class Answers(unittest.TestCase):
    def test_the_first_lines_say_what_since_when_and_what_else_changed(self) -> None:
        found = changes.judge(stepping(), Settings())
        sentence, reasons = found["outcome"]["sentence"], found["outcome"]["reasons"]
        self.assertRegex(sentence, r"^Worse since %s \(12 of 30 nights\): .* %% .*and 4 more\.$" % date(STEP))
        self.assertEqual(reasons[0], "New then: driver: device driver 535 -> 550.")
        self.assertEqual(
            [entry["field"] for entry in found["steps"][0]["provenance"]], ["driver: device driver"]
        )
        table = history_page.table(found)
        self.assertLessEqual(len(table.splitlines()), 24)
        self.assertIn(sentence.split(":")[0], table)

    def test_it_lasts_until_its_own_numbers_step_again(self) -> None:
        """The steps of others in between end nothing."""
        machine = Machine(11, 0.01, 0.0, metrics=50)
        first = {metric: 1.1 for metric in range(0, 6)}
        both = {**first, **{metric: 1.1 for metric in range(10, 16)}}
        runs = machine.runs(12) + machine.runs(6, first) + machine.runs(4, both)
        found = changes.judge(nights(runs + machine.runs(8, dict(list(both.items())[6:]))), Settings())
        self.assertEqual(
            [(step["verdict"], step["night"], step["lasts"]) for step in found["steps"]],
            [("regress", 18, 12), ("over", 12, 10)],
        )
        self.assertIn("12, 10 nights", history_page.table(found).replace(date(12), "12"))

    def test_a_sentence_names_the_numbers_that_it_is_true_of(self) -> None:
        machine = Machine(12, 0.01, 0.0, metrics=50)
        slower = {**{metric: 1.1 for metric in range(4)}, **{metric: 1 / 1.2 for metric in range(4, 8)}}
        found = changes.judge(nights(machine.runs(15) + machine.runs(15, slower)), Settings())
        self.assertRegex(found["outcome"]["sentence"], r"^Worse since .* and 2 more\.$")

    def test_what_changed_in_the_night_before_is_named_with_its_night(self) -> None:
        side = stepping()
        runs = nights(side.runs, lambda night: "535" if night < STEP - 1 else "550")
        found = changes.judge(runs, Settings())
        self.assertEqual(
            found["outcome"]["reasons"][0],
            "New then: driver: device driver 535 -> 550 (in %s)." % date(STEP - 1),
        )

    def test_better_is_no_alarm(self) -> None:
        found = changes.judge(stepping(2, {metric: 1 / 1.05 for metric in range(6)}), Settings())
        self.assertEqual((found["outcome"]["verdict"], found["outcome"]["exit"]), ("improve", 0))
        self.assertTrue(
            found["outcome"]["sentence"].startswith("Better since %s" % date(STEP)), found["outcome"]
        )

    def test_no_step_and_too_few_nights(self) -> None:
        machine = Machine(8, 0.01, 0.0, metrics=50)
        found = changes.judge(nights(machine.runs(30)), Settings())["outcome"]
        self.assertEqual((found["verdict"], found["exit"]), ("no step", 0))
        self.assertEqual(
            found["sentence"],
            "No step of 2.0 %% or more shows in 50 numbers over 30 nights, %s to %s." % (date(0), date(29)),
        )
        found = changes.judge(nights(machine.runs(11)), Settings())["outcome"]
        self.assertEqual((found["verdict"], found["exit"]), ("inconclusive", 3))
        self.assertEqual(
            found["sentence"],
            "11 nights, and steps are only searched for in 12 or more; a step of one "
            "number of 50 shows from 19 on.",
        )

    def test_numbers_that_vanish_are_told(self) -> None:
        equal = Machine(8, 0.01, 0.0, metrics=50).runs(30)
        gone = [name_of(metric) for metric in range(46, 50)]
        for first, names in ((20, gone), (27, gone), (28, [])):
            found = changes.judge(vanishing(equal, gone, first), Settings())
            outcome = found["outcome"]
            self.assertEqual([own["name"] for own in found["gone"]], names)
            self.assertEqual(
                (outcome["verdict"], outcome["exit"]), ("inconclusive", 3) if names else ("no step", 0)
            )
            text = r"^No value since %s \(%d of 30 nights\): .* and 2 more\.$" % (date(first), NIGHTS - first)
            (self.assertRegex if names else self.assertNotRegex)(outcome["sentence"], text)
            self.assertRegex(
                [outcome["sentence"], *outcome["reasons"]][bool(names)], "^No step of 2.0 % or more shows"
            )
            self.assertEqual("no such number" in history_page.table(found), bool(names))

    def test_a_step_for_the_worse_is_told_before_numbers_that_vanish(self) -> None:
        found = changes.judge(vanishing(stepping(8).runs, [name_of(49)], 25), Settings())["outcome"]
        self.assertEqual((found["verdict"], found["exit"]), ("regress", 1))
        self.assertTrue(any(text.startswith("No value since %s" % date(25)) for text in found["reasons"]))

    def test_what_few_nights_have_or_whose_cores_are_elsewhere_does_not_vanish(self) -> None:
        equal = nights(Machine(8, 0.01, 0.0, metrics=50).runs(30)).runs
        for night in range(NIGHTS):
            rare, moved = name_of(48), name_of(49)
            if night not in (3, 9, 15):
                equal[night] = with_number(equal[night], rare, value=None, reason="skipped")
            if night >= 26:
                equal[night] = with_number(equal[night], moved, value=None, reason="cores", elsewhere=True)
        found = changes.judge(Side("nights", equal), Settings())
        self.assertEqual((found["gone"], found["outcome"]["exit"]), ([], 0))

    def test_wrong_results_come_first(self) -> None:
        side = nights(Machine(8, 0.01, 0.0, metrics=50).runs(30))
        wrong = Failed("micro/memory", "host", True, 1, "wrong result: word 7")
        side.runs[4] = replace(side.runs[4], failed=(wrong,))
        found = changes.judge(side, Settings())["outcome"]
        self.assertEqual(found["exit"], 1)
        self.assertTrue(
            found["sentence"].startswith("Wrong results in 1 of 30 nights, %s: " % date(4)), found
        )

    def test_a_neighbour_is_no_step(self) -> None:
        side = stepping()
        for night in range(STEP, NIGHTS):
            numbers = {name: replace(n, contended=True) for name, n in side.runs[night].numbers.items()}
            side.runs[night] = replace(side.runs[night], numbers=numbers)
        found = changes.judge(side, Settings())
        self.assertEqual(found["steps"], [])
        self.assertIn("others used the machine during 0 % of its values", found["unsearched"][0]["reason"])

    def test_the_json_fits_its_schema_and_the_order_of_names_changes_nothing(self) -> None:
        side = stepping()
        found = changes.judge(side, Settings())
        shuffled = changes.judge(
            Side(side.name, random.Random(1).sample(side.runs, len(side.runs))), Settings()
        )
        self.assertEqual(json.dumps(found), json.dumps(shuffled))
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is not installed")
        from reports.records import validate

        jsonschema.Draft7Validator(validate.schema("history")).validate(found)

    def test_the_page_draws_every_night(self) -> None:
        found = changes.judge(stepping(), Settings())
        try:
            page = history_page.render(found)
        except Exception as why:  # without jinja2
            if type(why).__name__ != "MissingDependency":
                raise
            self.skipTest(str(why))
        numbers = sum(len(step["numbers"]) for step in found["steps"])
        self.assertEqual(page.count("<circle"), numbers * NIGHTS)
        self.assertIn("driver: device driver 535 -&gt; 550", page)

    def test_a_strip_shows_its_step_beside_a_night_that_is_far_off_and_ends_with_the_values(self) -> None:
        machine = Machine(1, 0.01, 0.0, metrics=50)
        runs = machine.runs(4) + machine.runs(1, {0: 100.0}) + machine.runs(10) + machine.runs(15, SIX)
        found = changes.judge(vanishing(runs, [name_of(0)], 27), Settings())
        number = next(own for own in found["steps"][0]["numbers"] if own["name"] == name_of(0))
        drawn = str(history_page._strip(number, found))
        lines = re.findall(r'd="M(\S+) (\S+?)H(\S+?)"', drawn)
        (_, before, _), (_, after, end) = [tuple(map(float, line)) for line in lines]
        self.assertGreater(after - before, history_page._HEIGHT / 8)
        self.assertAlmostEqual(end, max(float(x) for x in re.findall('cx="(.*?)"', drawn)), delta=6)


class Baseline(unittest.TestCase):
    def after(self, side: Side, count: int = 1) -> Side:
        return Side("after", Machine(99, 0.01, 0.0, metrics=50).runs(count))

    def test_it_begins_with_the_last_step(self) -> None:
        side = stepping()
        found = history.baseline(side, self.after(side), Settings())
        self.assertEqual([run.name for run in found.runs], [run.name for run in side.runs[STEP:]])
        self.assertEqual(
            found.notes, ["Of 30 nights the 12 since the step of %s are the baseline." % date(STEP)]
        )

    def test_bad_nights_are_no_baseline_for_the_next(self) -> None:
        """A loss of 5 % is named in each of its first nights, whether one number has it or six."""
        for slower in ({4: 1.05}, SIX):
            for seed in range(level.seeds(1, 5, 50)):
                machine = Machine(seed, 0.007, 0.0, metrics=50)
                runs = nights(machine.runs(NIGHTS) + machine.runs(7, slower)).runs
                for bad in (1, 2, 3, 4, 5, 7):
                    known = Side("nights", runs[: NIGHTS + bad - 1])
                    after = Side("after", [runs[NIGHTS + bad - 1]])
                    found = compare(history.baseline(known, after, Settings()), after, Settings())
                    named = {row["name"] for row in found["metrics"] if row["verdict"] == "regress"}
                    with self.subTest(numbers=len(slower), seed=seed, bad=bad):
                        self.assertEqual(found["outcome"]["verdict"], "regress", found["outcome"])
                        self.assertIn(name_of(4), named)

    def test_it_says_what_is_set_aside_and_why(self) -> None:
        machine = Machine(1, 0.007, 0.0, metrics=50)
        runs = nights(machine.runs(NIGHTS) + machine.runs(3, SIX)).runs
        for bad, last in ((1, "last of 31 nights is"), (3, "last 3 of 33 nights are")):
            side = Side("nights", runs[: NIGHTS + bad], notes=["Before."])
            found = history.baseline(side, self.after(side), Settings())
            self.assertEqual(found.runs, runs[:NIGHTS])
            self.assertRegex(
                " ".join(found.notes),
                r"^Before\. The %s set aside: metric \d and \d more had another level\.$" % last,
            )

    def test_an_accident_sets_no_other_night_aside(self) -> None:
        machine = Machine(2, 0.007, 0.0, metrics=50)
        runs = nights(machine.runs(NIGHTS) + machine.runs(1, {4: 1.15}) + machine.runs(2)).runs
        for count, kept in ((NIGHTS + 1, NIGHTS), (NIGHTS + 2, NIGHTS + 2), (NIGHTS + 3, NIGHTS + 3)):
            side = Side("nights", runs[:count])
            self.assertEqual(len(history.baseline(side, self.after(side), Settings()).runs), kept)

    def test_after_a_step_in_the_past_the_last_nights_are_set_aside_too(self) -> None:
        side = stepping()
        more = Machine(1, 0.01, 0.0, metrics=50)
        slow = {**SIX, 10: 1.2}
        runs = nights([*side.runs, *more.runs(8, SIX), *more.runs(2, slow)]).runs
        found = history.baseline(Side("nights", runs), self.after(side), Settings())
        self.assertEqual(found.runs, runs[STEP:38])
        self.assertEqual(
            found.notes,
            [
                "Of 40 nights the 20 since the step of %s are the baseline." % date(STEP),
                "The last 2 of 40 nights are set aside: metric 10 had another level.",
            ],
        )

    def test_a_young_level_is_the_baseline_where_there_is_no_other(self) -> None:
        """Six bad nights in a month that ended six nights ago: what was before them is known no better."""
        side = stepping(3, last=24)
        found = history.baseline(side, self.after(side), Settings())
        self.assertEqual([run.name for run in found.runs], [run.name for run in side.runs[24:]])

    def test_equal_nights_are_kept(self) -> None:
        trials = level.seeds(10, 40, 200)
        cut = 0
        for seed in range(trials):
            side = nights(Machine(seed, 0.01, 0.0, metrics=50).runs(NIGHTS))
            cut += history.baseline(side, self.after(side), Settings()) is not side
        self.assertLessEqual(cut, 0.2 * trials)

    def test_many_against_many_are_two_sides(self) -> None:
        side = stepping()
        self.assertIs(history.baseline(side, self.after(side, 8), Settings()), side)

    def test_a_few_runs_are_no_history(self) -> None:
        side = Side("few", stepping().runs[STEP - 5 : STEP + 6])
        self.assertIs(history.baseline(side, self.after(side), Settings()), side)

    def test_a_night_is_no_part_of_its_own_history(self) -> None:
        runs = [replace(run, place="/nights/%d" % night) for night, run in enumerate(stepping().runs)]
        side = Side("nights", runs)
        self.assertEqual(history.before(side, Side("nights/20", [runs[20]])).runs, runs[:20])
        self.assertEqual(history.before(side, Side("two", [runs[21], runs[9]])).runs, runs[:9])
        self.assertIs(history.before(side, Side("other", [replace(runs[20], place="/other")])), side)
        self.assertIs(history.before(side, side), side)  # refused where sides are checked
        with self.assertRaisesRegex(
            BadNumbers, "^nights/0 is the first run of nights: there is none before it$"
        ):
            history.before(side, Side("nights/0", [runs[0]]))


if __name__ == "__main__":
    unittest.main()
