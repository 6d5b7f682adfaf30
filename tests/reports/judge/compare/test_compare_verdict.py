# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts of regression and of none: machines with known truth, properties, and what is missing or wrong."""

from __future__ import annotations

import json
import math
import random
import unittest
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Dict

import workplace  # noqa: F401

from machines import METRICS, Machine, judged, name_of, verdicts, with_number
from reports.judge.compare import verdict
from reports.judge.compare.gpusig import number_of
from reports.judge.compare.nodes import of_nodes
from reports.judge.compare.numbers import DIFFERENCE, BadNumbers, Failed, Number, first_of
from reports.judge.compare.provenance import HOSTNAME
from reports.judge.compare.sides import Side
from reports.judge.compare.verdict import Settings
from tests import level

SWAPPED = {
    "regress": "improve",
    "improve": "regress",
    "likely worse": "likely better",
    "likely better": "likely worse",
}


class TheFastest(unittest.TestCase):
    def test_another_fastest_algorithm_is_no_other_case(self) -> None:
        name = "collectives/device_allreduce/device_allreduce_busbw"
        entry = {"value": 1e11, "unit": "byte/s", "better": "higher", "primary": True}
        runs: Any = [
            SimpleNamespace(
                numbers={name: number_of(name, {**entry, "condition": "2 MiB, fastest: " + word})}
            )
            for word in ("ring", "direct", "ring")
        ]
        self.assertEqual(verdict.differs(runs, name), "")
        self.assertEqual(runs[0].numbers[name].case, "2 MiB")
        self.assertEqual(verdict.number_of(runs, name).condition, "2 MiB, fastest: ring or direct")


class KnownTruth(unittest.TestCase):
    def test_equal_machines_raise_few_alarms(self) -> None:
        """Family-wise, with offsets that all metrics of a run share, and with outliers. The spread is such
        that 2 % is little."""
        for sigma, shared, outliers in (
            (0.01, 0.01, 0.0),
            (0.03, 0.0, 0.02),
            (0.005, 0.05, 0.0),
            (0.1, 0.1, 0.1),
        ):
            alarms, trials = 0, level.seeds(20, 40, 200)
            for seed in range(trials):
                machine = Machine(seed, sigma, shared, outliers=outliers)
                found = set(verdicts(judged(machine.runs(8), machine.runs(8))).values())
                alarms += bool(found & {"regress", "improve"})
            self.assertLessEqual(alarms, level.most(trials, 0.05), (sigma, shared, outliers, alarms))

    def test_without_a_least_effect_the_test_alone_keeps_the_rate(self) -> None:
        alarms, trials = 0, level.seeds(30, 60, 300)
        for seed in range(trials):
            machine = Machine(seed, 0.01, 0.01)
            found = set(
                verdicts(judged(machine.runs(8), machine.runs(8), Settings(least_effect=1e-9))).values()
            )
            alarms += bool(found & {"regress", "improve"})
        self.assertLessEqual(alarms, level.most(trials, 0.05))

    def test_a_slow_down_is_found_and_attributed_to_what_is_slower(self) -> None:
        for slow_down, share in ((1.05, 0.9), (1.10, 0.99)):
            found, called, trials = 0, 0, level.seeds(12, 30, 100)
            for seed in range(trials):
                machine = Machine(seed, 0.01, 0.005)
                words = verdicts(
                    judged(machine.runs(8), machine.runs(8, {0: slow_down, 1: slow_down, 2: slow_down}))
                )
                found += all(words[name_of(metric)] == "regress" for metric in (0, 1, 2))
                called += sum(
                    word == "regress" for name, word in words.items() if name not in map(name_of, (0, 1, 2))
                )
            self.assertGreaterEqual(found, level.least(trials, share), slow_down)
            self.assertLessEqual(called, level.most(trials * (METRICS - 3), 0.05))

    def test_a_speed_up_is_an_improvement_and_no_regression(self) -> None:
        machine = Machine(3)
        found = judged(machine.runs(8), machine.runs(8, {0: 0.9}))
        self.assertEqual(verdicts(found)[name_of(0)], "improve")
        self.assertIn(found["outcome"]["verdict"], ("improve", "inconclusive"))
        self.assertNotEqual(found["outcome"]["exit"], 1)

    def test_quiet_machines_are_equivalent_and_that_is_0(self) -> None:
        machine = Machine(4, 0.002, 0.001)
        found = judged(machine.runs(8), machine.runs(8))
        self.assertEqual(set(verdicts(found).values()), {"equivalent"})
        self.assertEqual((found["outcome"]["verdict"], found["outcome"]["exit"]), ("no regression", 0))

    def test_noisy_machines_are_inconclusive_and_that_is_3(self) -> None:
        machine = Machine(5, 0.2, 0.0)
        found = judged(machine.runs(8), machine.runs(8))
        self.assertEqual(set(verdicts(found).values()), {"inconclusive"})
        self.assertEqual(found["outcome"]["exit"], 3)

    @level.only_all
    def test_what_is_said_to_be_detectable_is_detected(self) -> None:
        """Slow-downs of that size are called regressions in about 9 of 10 comparisons, in another one by that
        one's own words."""
        for runs in (8, 12):
            said = []
            trials = level.seeds(0, 70, 200)
            for seed in range(trials // 5):
                machine = Machine(seed, 0.01, 0.0)
                said += [
                    row["detectable"] for row in judged(machine.runs(runs), machine.runs(runs))["metrics"]
                ]
            effect = sorted(said)[len(said) // 2]
            found = 0
            for seed in range(trials):
                machine = Machine(seed + 1000, 0.01, 0.0)
                found += (
                    verdicts(judged(machine.runs(runs), machine.runs(runs, {0: 1 + effect})))[name_of(0)]
                    == "regress"
                )
            self.assertGreater(found / trials, 0.8, (runs, effect))
            self.assertLess(found / trials, 0.99, (runs, effect))

    @level.only_all
    def test_with_as_many_repeats_as_advised_it_is_mostly_decided(self) -> None:
        """The same machines are measured that often, from the start. An estimate that is off cannot be right
        each time."""
        decided = advised = 0
        for seed in range(60):
            machine = Machine(seed, 0.06, 0.0, metrics=20)
            row = judged(machine.runs(8), machine.runs(8, {0: 1.15}))["metrics"][0]
            if row["verdict"] != "inconclusive" or row["repeats"] is None:
                continue
            advised += 1
            again = judged(machine.runs(row["repeats"]), machine.runs(row["repeats"], {0: 1.15}))
            decided += verdicts(again)[name_of(0)] == "regress"
        self.assertGreater(advised, 20)
        self.assertGreaterEqual(decided, level.least(advised, 0.75))


class WrongResults(unittest.TestCase):
    """They are of any case, so that no number shows them."""

    def judged(self, *wrong: str, **slower: float) -> Dict[str, Any]:
        """With wrong results of one run of each side named."""
        machine = Machine(7, sigma=0.001, shared=0.0)
        sides = {side: machine.runs(8) for side in ("before", "after")}
        sides["after"] = machine.runs(8, {0: 1.2}) if slower else sides["after"]
        for side in wrong:
            found = Failed("micro/memory", "host", True, 2, "wrong result: word 7")
            error = Failed("micro/launch", "host", False, 1, "no memory")
            sides[side][3] = replace(sides[side][3], failed=(error, found))
        outcome: Dict[str, Any] = judged(sides["before"], sides["after"])["outcome"]
        return outcome

    def test_after_alone_they_are_a_regression(self) -> None:
        self.assertEqual(self.judged()["exit"], 0)
        found = self.judged("after")
        self.assertEqual((found["verdict"], found["exit"]), ("regress", 1))
        self.assertEqual(
            found["sentence"],
            "Regression: micro/memory gave 0 wrong results before and 2 after (micro/memory on host: wrong "
            "result: word 7, and 1 more case).",
        )

    def test_before_or_on_both_sides_they_leave_it_open(self) -> None:
        for sides, counts in (
            (("before",), "2 wrong results before and 0 after"),
            (("before", "after"), "2 wrong results before and 2 after"),
        ):
            found = self.judged(*sides)
            self.assertEqual((found["verdict"], found["exit"]), ("inconclusive", 3))
            self.assertIn("Inconclusive: micro/memory gave %s" % counts, found["sentence"])

    def test_more_of_them_are_a_regression_where_this_is_no_chance(self) -> None:
        machine, failed = (
            Machine(7, sigma=0.001, shared=0.0),
            Failed("folder/program", "host", True, 1, "wrong"),
        )
        for then, now, exit_code in ((1, 8, 1), (1, 7, 1), (1, 5, 3), (3, 5, 3), (8, 8, 3), (8, 1, 3)):
            before, after = (
                [
                    replace(run, failed=(failed,) * (place < count))
                    for place, run in enumerate(machine.runs(8))
                ]
                for count in (then, now)
            )
            found = judged(before, after)["outcome"]
            with self.subTest(then=then, now=now):
                self.assertEqual(found["exit"], exit_code)
                self.assertIn("folder/program gave %d wrong result" % then, found["sentence"])

    def test_a_regression_of_numbers_stays_one_and_both_are_said(self) -> None:
        for sides in (("after",), ("before",)):
            found = self.judged(*sides, slower=1.2)
            self.assertEqual(found["exit"], 1)
            self.assertIn("1 of 40 headline numbers regresses: ", found["sentence"])
            self.assertIn(" after (micro/memory on host: ", found["reasons"][0])

    def test_of_a_node_with_several_runs_all_count(self) -> None:
        runs = [replace(r, provenance={HOSTNAME: "n1"}) for r in Machine(7).runs(3)]
        failed = Failed("micro/memory", "host", True, 2, "wrong result: word 7")
        (node,) = of_nodes(Side("a", [replace(r, failed=(failed,)) for r in runs])).runs
        self.assertEqual(node.failed, (replace(failed, count=6),))


class Properties(unittest.TestCase):
    SEEDS = level.seeds(8, 15, 60)

    def random_sides(self, seed: int):  # type: ignore[no-untyped-def]
        draw = random.Random(seed)
        sigma, shared, outliers = (
            draw.choice((0.002, 0.01, 0.05)),
            draw.choice((0, 0.01)),
            draw.choice((0, 0.1)),
        )
        machine = Machine(seed, sigma, shared, metrics=12, outliers=outliers)
        slower = {metric: draw.choice((0.9, 0.97, 1.0, 1.03, 1.1, 1.5)) for metric in range(12)}
        return machine.runs(draw.randint(1, 12)), machine.runs(draw.randint(1, 12), slower)

    def test_swapping_the_sides_swaps_the_verdicts(self) -> None:
        for seed in range(self.SEEDS):
            before, after = self.random_sides(seed)
            one, other = judged(before, after), judged(after, before)
            self.assertEqual(
                {name: SWAPPED.get(word, word) for name, word in verdicts(one).items()}, verdicts(other)
            )
            for mine, theirs in zip(one["metrics"], other["metrics"]):
                self.assertAlmostEqual(mine["change"]["value"] * theirs["change"]["value"], 1, places=7)
                self.assertEqual(
                    (mine["p"], mine["p_adjusted"], mine["detectable"]),
                    (theirs["p"], theirs["p_adjusted"], theirs["detectable"]),
                )

    def test_another_unit_changes_nothing_but_the_values(self) -> None:
        def scaled(run, factor):  # type: ignore[no-untyped-def]
            return replace(
                run, numbers={n: replace(v, value=v.value * factor) for n, v in run.numbers.items()}
            )

        for seed in range(self.SEEDS):
            before, after = self.random_sides(seed)
            factor = 2.0 ** random.Random(seed).randint(-20, 20)
            one, other = (
                judged(before, after),
                judged([scaled(r, factor) for r in before], [scaled(r, factor) for r in after]),
            )
            for mine, theirs in zip(one["metrics"], other["metrics"]):
                self.assertEqual(mine["verdict"], theirs["verdict"])
                self.assertTrue(math.isclose(mine["p"], theirs["p"], rel_tol=1e-6))
                self.assertAlmostEqual(mine["change"]["value"], theirs["change"]["value"], places=7)

    def test_the_order_of_runs_changes_no_verdict(self) -> None:
        for seed in range(self.SEEDS // 2):
            before, after = self.random_sides(seed)
            mixed = random.Random(seed).sample(after, len(after))
            self.assertEqual(verdicts(judged(before, after)), verdicts(judged(before[::-1], mixed)))

    def test_the_same_input_gives_the_same_bytes(self) -> None:
        before, after = self.random_sides(7)
        self.assertEqual(json.dumps(judged(before, after)), json.dumps(judged(before, after)))

    def test_more_repeats_hardly_ever_turn_a_right_regression_into_equivalent(self) -> None:
        turned = regressions = 0
        trials = level.seeds(10, 25, 150)
        for seed in range(trials):
            machine = Machine(seed, 0.015, 0.005, metrics=20)
            slower = {metric: 1.05 for metric in range(5)}
            before, after = machine.runs(16), machine.runs(16, slower)
            first = verdicts(judged(before[:8], after[:8]))
            for more in (10, 12, 16):
                later = verdicts(judged(before[:more], after[:more]))
                for metric in range(5):
                    if first[name_of(metric)] == "regress":
                        regressions += 1
                        turned += later[name_of(metric)] == "equivalent"
        self.assertGreater(regressions, trials * 3)
        self.assertLessEqual(turned, level.most(regressions, 0.01))

    def test_nothing_that_a_run_declares_is_dropped(self) -> None:
        for seed in range(self.SEEDS):
            draw = random.Random(seed)
            before, after = self.random_sides(seed)
            sides = []
            for side in (before, after):
                changed = []
                for run in side:
                    numbers = dict(run.numbers)
                    for name in list(numbers):
                        what = draw.random()
                        if what < 0.1:
                            numbers[name] = replace(numbers[name], value=None, reason="was not measured")
                        elif what < 0.15:
                            numbers[name] = replace(numbers[name], judged=False)
                        elif what < 0.2:
                            del numbers[name]
                    changed.append(replace(run, numbers=numbers))
                sides.append(changed)
            found = judged(*sides)
            shown = [row["name"] for place in ("metrics", "others") for row in found[place]] + [
                row["name"] for row in found["control"]["metrics"]
            ]
            self.assertEqual(
                sorted(shown), sorted({name for side in sides for run in side for name in run.numbers})
            )
            for row in found["metrics"]:
                missing = [side for side in ("before", "after") if None in row[side]["values"]]
                for side in missing:
                    self.assertTrue(
                        all(
                            bool(reason) == (value is None)
                            for value, reason in zip(row[side]["values"], row[side]["reasons"])
                        )
                    )
                if all(value is None for value in row["after"]["values"]):
                    self.assertEqual(row["verdict"], "invalid")


class WrongInput(unittest.TestCase):
    def setUp(self) -> None:
        machine = Machine(1, 0.003, 0.0, metrics=6)
        self.before, self.after = machine.runs(8), machine.runs(8)
        self.name = name_of(0)

    def row(self, before=None, after=None, settings: Settings = Settings()):  # type: ignore[no-untyped-def]
        found = judged(before or self.before, after or self.after, settings)
        return next(row for row in found["metrics"] if row["name"] == self.name), found

    def changed(self, runs, count, **changes):  # type: ignore[no-untyped-def]
        return [
            with_number(run, self.name, **changes) if place < count else run for place, run in enumerate(runs)
        ]

    def test_a_value_that_has_no_ratio_is_invalid(self) -> None:
        for value in (0.0, -1.0):
            row, found = self.row(after=self.changed(self.after, 1, value=value))
            self.assertEqual(row["verdict"], "invalid")
            self.assertIn("not above 0", row["reason"])
            self.assertEqual(found["outcome"]["exit"], 3)

    def test_a_fraction_around_0_is_compared_as_a_difference(self) -> None:
        draw = random.Random(1)
        sides = [
            [
                with_number(
                    run,
                    self.name,
                    value=shift + draw.gauss(0, 0.005),
                    scale=DIFFERENCE,
                    unit="",
                    better="higher",
                )
                for run in runs
            ]
            for runs, shift in ((self.before, 0.01), (self.after, -0.09))
        ]
        row, _ = self.row(*sides)
        self.assertEqual(row["verdict"], "regress")
        self.assertAlmostEqual(row["change"]["value"], -0.1, delta=0.01)

    def test_a_unit_or_a_direction_that_differs_is_invalid(self) -> None:
        for changes in ({"unit": "flop/s"}, {"better": "lower"}, {"better": None}):
            row, _ = self.row(after=self.changed(self.after, 8, **changes))
            self.assertEqual(row["verdict"], "invalid", changes)
        self.assertIn("unit differs", self.row(after=self.changed(self.after, 1, unit="s"))[0]["reason"])

    def test_a_case_that_differs_is_invalid(self) -> None:
        row, found = self.row(
            self.changed(self.before, 8, case="f32, by kernel"),
            self.changed(self.after, 8, case="f32, by kernel:units/8"),
        )
        self.assertEqual((row["verdict"], found["outcome"]["exit"]), ("invalid", 3))
        self.assertEqual(
            row["reason"], "its case differs between runs: f32, by kernel and f32, by kernel:units/8"
        )

    def test_runs_of_one_node_that_are_of_two_cases_have_no_common_value(self) -> None:
        runs = self.changed(self.before, 1, case="f32, by kernel")
        runs = [replace(run, provenance={HOSTNAME: "n1"}) for run in runs]
        node = of_nodes(Side("side", runs)).runs[0]
        number = next(number for number in node.numbers.values() if "case differs" in number.reason)
        self.assertIsNone(number.value)

    def test_no_regression_is_said_with_what_would_have_been_found(self) -> None:
        machine = Machine(1, 0.05)
        few = judged(machine.runs(1), machine.runs(1, {4: 2.0}))["outcome"]["sentence"]
        self.assertRegex(
            few,
            r"^Inconclusive: metric 4 \d\d % lower.* \(worse\), metric .* \(better\); 1 run a side cannot "
            r"exclude chance: 3 runs a side tell what is likely, 5 can decide\.$",
        )
        more = judged(machine.runs(8), machine.runs(8))["outcome"]["sentence"]
        self.assertRegex(more, r"but one of less than [0-9.]+ % would not have been")
        quiet = Machine(1, 0.0001)
        equal = judged(quiet.runs(8), quiet.runs(8))["outcome"]["sentence"]
        self.assertIn("its whole interval within 2.0 %.", equal)

    def test_a_metric_without_a_direction_is_never_judged(self) -> None:
        row, _ = self.row(self.changed(self.before, 8, better=None), self.changed(self.after, 8, better=None))
        self.assertEqual((row["verdict"], row["p"]), ("invalid", None))

    def test_a_few_missing_values_are_named_and_many_make_it_invalid(self) -> None:
        row, _ = self.row(after=self.changed(self.after, 2, value=None, reason="was contended"))
        self.assertEqual((row["verdict"], row["after"]["values"][:2]), ("equivalent", [None, None]))
        row, _ = self.row(after=self.changed(self.after, 3, value=None, reason="was contended"))
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("too few values after", row["reason"])
        self.assertEqual(row["after"]["reasons"][:4], ["was contended"] * 3 + [""])

    def test_what_no_run_has_a_value_of_is_not_said_to_lack_anything_else(self) -> None:
        before, after = (
            self.changed(runs, 8, value=None, better=None, reason="did not run")
            for runs in (self.before, self.after)
        )
        row, _ = self.row(before, after)
        self.assertEqual((row["verdict"], row["reason"]), ("invalid", "no run has a value"))

    def test_contended_values_count_unless_they_are_of_one_side(self) -> None:
        """A program that competes with itself for the cores is contended on both sides; a neighbour of one
        side is no regression."""
        contended = self.changed(self.after, 5, contended=True)
        row, _ = self.row(after=contended)
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("others used the machine during 0 % of its values before and 62 % after", row["reason"])
        self.assertEqual(
            self.row(self.changed(self.before, 2, contended=True), contended)[0]["verdict"], "equivalent"
        )
        self.assertEqual(
            self.row(
                self.changed(self.before, 8, contended=True), self.changed(self.after, 8, contended=True)
            )[0]["verdict"],
            "equivalent",
        )

    def test_what_only_one_side_can_do_is_invalid_and_what_none_can_do_is_left_out(self) -> None:
        gone = {
            "value": None,
            "reason": "its case was skipped: no f8",
            "unavailable": True,
            "better": None,
            "unit": "",
        }
        row, _ = self.row(after=self.changed(self.after, 8, **gone))
        self.assertEqual(row["verdict"], "invalid")
        found = judged(self.changed(self.before, 8, **gone), self.changed(self.after, 8, **gone))
        self.assertNotIn(self.name, verdicts(found))

    def test_an_invalid_metric_counts_in_the_family(self) -> None:
        """Else a run with many invalid metrics would call more of the others changed."""
        one = judged(self.before, self.after)["metrics"][1]
        missing = [with_number(run, self.name, value=None, reason="was contended") for run in self.after]
        other = judged(self.before, missing)["metrics"][1]
        self.assertGreaterEqual(other["p_adjusted"], one["p_adjusted"])

    def test_what_no_run_tried_to_measure_is_said_and_judges_nothing(self) -> None:
        for neutral, words, code in ((True, "No run measured", 0), (False, "", 3)):
            sides = [
                [with_number(run, self.name, value=None, reason="no time", neutral=neutral) for run in runs]
                for runs in (self.before, self.before)
            ]
            found = judged(*sides)
            self.assertEqual(found["outcome"]["exit"], code)
            self.assertEqual(len(found["metrics"]), len(self.before[0].numbers) - neutral)
            said = [text for text in found["outcome"]["reasons"] if "No run measured" in text]
            self.assertEqual(len(said), bool(words))
        one_sided = judged(self.before, sides[0])
        self.assertEqual(len(one_sided["metrics"]), len(self.before[0].numbers))

    def test_one_run_a_side_decides_nothing(self) -> None:
        row, found = self.row(self.before[:1], self.after[:1])
        self.assertEqual(
            (row["verdict"], row["change"]["low"], row["detectable"]), ("inconclusive", None, None)
        )
        self.assertEqual(found["outcome"]["exit"], 3)
        self.assertEqual(row["repeats"], 5)  # fewer see no drift
        self.assertEqual(
            [text for text in found["outcome"]["reasons"] if "likely" in text],
            [
                "Fewer than 5 runs a side show at most what is likely, unless --noise has the noise floor "
                "of 38 equal runs."
            ],
        )

    def test_conditions_of_several_runs_are_said_once(self) -> None:
        of = ["2 MiB, fastest: %s" % name for name in ("ring", "direct", "ring", "bruck", "swing")]
        for count, text in (
            (1, "2 MiB, fastest: ring"),
            (3, "2 MiB, fastest: ring or direct"),
            (5, "2 MiB, fastest: ring or direct or bruck or 1 more"),
        ):
            numbers = [Number(1.0, "byte/s", "higher", condition=condition) for condition in of[:count]]
            self.assertEqual(first_of(numbers).condition, text)
        numbers = [Number(1.0, "s", "lower", condition=condition) for condition in ("f32", "f32, ring")]
        self.assertEqual(first_of(numbers).condition, "f32 or f32, ring")

    def test_what_no_pattern_matches_is_no_answer(self) -> None:
        for option, settings in (
            ("--only", Settings(only=("*", "nonsense"))),
            ("--control", Settings(controls=("nonsense",))),
        ):
            with self.assertRaisesRegex(
                BadNumbers, "^%s 'nonsense' matches none of [0-9]+ numbers: " % option
            ):
                judged(self.before, self.after, settings)

    def test_the_repeats_that_one_metric_needs_follow_from_their_number(self) -> None:
        """The floor of p is 2 / C(2n, n): practice has the table."""
        self.assertEqual([verdict.least_repeats(m, 0.05) for m in (1, 50, 200, 500)], [4, 7, 8, 9])

    def test_a_control_that_moved_leaves_nothing_judged(self) -> None:
        def sides(slower):  # type: ignore[no-untyped-def]
            machine = Machine(9, 0.003, 0.0, metrics=8)
            return machine.runs(8), machine.runs(8, slower)

        control = Settings(controls=("metric_7",))
        found = judged(*sides({0: 1.2, 7: 1.1}), control)
        self.assertEqual(
            (found["control"]["verdict"], found["outcome"]["verdict"], found["outcome"]["exit"]),
            ("moved", "inconclusive", 3),
        )
        self.assertEqual(set(verdicts(found).values()), {"inconclusive"})
        self.assertTrue(all("control moved" in row["reason"] for row in found["metrics"]))
        found = judged(*sides({0: 1.2}), control)
        self.assertEqual((found["control"]["verdict"], found["outcome"]["exit"]), ("held", 1))
        self.assertNotIn(name_of(7), verdicts(found))

    def test_what_a_factor_of_the_host_can_touch_is_no_control(self) -> None:
        machine = Machine(9, 0.003, 0.0, metrics=8)
        sides = [
            [with_number(run, name_of(7), control=True, judged=False) for run in runs]
            for runs in (machine.runs(8), machine.runs(8, {7: 1.2}))
        ]
        for factor, word in (("driver", "moved"), ("kernel", "none")):
            self.assertEqual(judged(*sides, Settings(factors=(factor,)))["control"]["verdict"], word)

    def test_only_what_is_named_is_judged_and_the_rest_described(self) -> None:
        found = judged(self.before, self.after, Settings(only=("*metric_[12]",)))
        self.assertEqual(list(verdicts(found)), [name_of(1), name_of(2)])
        self.assertEqual(len(found["others"]), 4)
        self.assertEqual({row["verdict"] for row in found["others"]}, {""})

    def test_the_least_effect_of_a_metric_is_that_of_its_noise(self) -> None:
        machine = Machine(2, 0.003, 0.0, metrics=4)
        sides = machine.runs(8), machine.runs(8, {0: 1.08, 1: 1.08})
        found = verdicts(judged(*sides, Settings(noise={name_of(0): 0.12, name_of(1): 0.001})))
        self.assertEqual((found[name_of(0)], found[name_of(1)]), ("equivalent", "regress"))

    def test_a_noise_that_hides_more_than_a_fifth_is_no_answer(self) -> None:
        machine = Machine(2, 0.003, 0.0, metrics=2)
        noise = {name_of(0): 1.8, name_of(1): 1.8}
        for slow_down, settings, words in (
            (1.6, Settings(noise=noise), ["inconclusive"] * 2),
            (1.6, Settings(noise=noise, least_effect=1.8), ["equivalent"] * 2),
            (1.6, Settings(least_effect=0.8), ["equivalent"] * 2),
            (4.0, Settings(noise=noise), ["regress", "inconclusive"]),
        ):
            found = judged(machine.runs(8), machine.runs(8, {0: slow_down}), settings)
            with self.subTest(slow_down=slow_down, settings=settings):
                self.assertEqual(list(verdicts(found).values()), words)
                if words == ["inconclusive"] * 2:
                    self.assertEqual(found["outcome"]["exit"], 3)
                    self.assertEqual({row["repeats"] for row in found["metrics"]}, {None})
                    self.assertIn("only a larger change would be detected", found["metrics"][0]["reason"])
                    self.assertIn("would not have been", found["outcome"]["sentence"])

    def test_too_many_metrics_to_judge_is_one_line(self) -> None:
        numbers = {"m%d" % i: Number(1.0, "s", "lower") for i in range(3000)}
        runs = [replace(self.before[0], numbers=numbers, identity=str(i)) for i in range(4)]
        with self.assertRaisesRegex(
            BadNumbers, "^3000 metrics are too many to judge, at most 1000; choose some with --only$"
        ):
            judged(runs[:2], runs[2:])
        described = [
            replace(run, numbers={n: replace(v, judged=False) for n, v in numbers.items()}) for run in runs
        ]
        found = judged(described[:2], described[2:])
        self.assertEqual(
            (found["others_count"], len(found["others"]), found["outcome"]["verdict"]), (3000, 500, "invalid")
        )

    def test_huge_and_tiny_values_are_compared(self) -> None:
        for value in (1e300, 1e-300):
            sides = [
                [
                    with_number(run, self.name, value=value * (1 + place / 1e4))
                    for place, run in enumerate(runs)
                ]
                for runs in (self.before, self.after)
            ]
            self.assertEqual(self.row(*sides)[0]["verdict"], "equivalent")
        apart = [
            [with_number(run, self.name, value=value, better="lower", unit="s") for run in runs]
            for runs, value in ((self.before, 1e-300), (self.after, 1e300))
        ]
        row, found = self.row(*apart)
        self.assertEqual(row["verdict"], "regress")
        self.assertTrue(
            all(math.isfinite(x) for x in (row["change"]["value"], row["change"]["low"], row["detectable"]))
        )
        json.dumps(found, allow_nan=False)


if __name__ == "__main__":
    unittest.main()
