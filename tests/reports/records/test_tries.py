# SPDX-License-Identifier: BSD-3-Clause
"""The rule of reports/records/tries.py, by examples and by what must hold for any tries."""

from __future__ import annotations

import itertools
import json
import random
import unittest
from typing import Any, List, Optional

import synthetic
import workplace

from reports.records.causes import CONTENDED, NOISY
from reports.records.records import Case
from reports.records.tries import Try, agree, hull, outcome

GRADES = ("", NOISY, CONTENDED)


def clean(value: float, half: float = 0.01, **more: Any) -> Try:
    return Try(value, value * (1 - half), value * (1 + half), **more)


def graded(grade: str, value: float, half: float = 0.3) -> Try:
    return clean(value, half, grade=grade, reason=grade + ": why")


def wrong(value: float) -> Try:
    return clean(value, why_invalid="throttled: hot")


def any_try(chance: random.Random) -> Try:
    value = chance.choice([0.0, -1.0, 1.0, 1.05, 1.3, 2.0, 1e9]) * chance.choice(
        [1.0, chance.uniform(0.5, 1.5)]
    )
    half = chance.choice([None, 0.0, 0.005, 0.05, 0.4, 3.0])
    grade = chance.choice(GRADES)
    low, high = (None, None) if half is None else (value - half * abs(value), value + half * abs(value))
    return Try(
        value, low, high, chance.choice(["", "", "", "above_bound: x"]), grade, grade and grade + ": why"
    )


class Examples(unittest.TestCase):
    def test_one_try_is_itself(self) -> None:
        found = outcome([clean(3.0)])
        self.assertEqual(
            (found.place, found.low, found.high, found.tries, found.grade, found.missing),
            (0, 3.0 * 0.99, 3.0 * 1.01, 1, "", ""),
        )

    def test_a_better_grade_counts_alone_whichever_comes_first(self) -> None:
        for tries in itertools.permutations([clean(1.0), graded(NOISY, 2.0), graded(CONTENDED, 3.0)]):
            found = outcome(tries)
            self.assertEqual(
                (tries[found.place].value, found.low, found.high, found.tries, found.grade),
                (1.0, 0.99, 1.01, 1, ""),
            )
        found = outcome([graded(NOISY, 2.0), graded(CONTENDED, 3.0)])
        self.assertEqual((found.place, found.tries, found.grade, found.reason), (0, 1, NOISY, "noisy: why"))

    def test_the_median_is_the_value_and_all_give_the_interval(self) -> None:
        found = outcome([graded(CONTENDED, 1.0), clean(1.0), clean(1.02)])
        self.assertEqual(
            (found.value, found.place, found.low, found.high, found.tries, found.grade),
            (1.01, 2, 0.99, 1.02 * 1.01, 2, ""),
        )

    def test_among_three_or_more_a_noisy_one_counts_with_its_value_alone(self) -> None:
        found = outcome([clean(1.0), clean(1.02), graded(NOISY, 1.06)])
        self.assertEqual(
            (found.value, found.place, found.low, found.high, found.tries, found.grade),
            (1.02, 1, 0.99, 1.06, 3, ""),
        )
        self.assertEqual(outcome([clean(1.0), graded(NOISY, 1.06)]).tries, 1)

    def test_two_tries_that_differ_are_noisy(self) -> None:
        found = outcome([clean(41.2e9), clean(46.1e9)], "byte/s")
        self.assertEqual(
            (found.place, found.grade, found.reason, found.missing),
            (1, NOISY, "two tries differ: 41.2 and 46.1 GB/s", ""),
        )
        self.assertEqual((found.low, found.high), (41.2e9 * 0.99, 46.1e9 * 1.01))

    def test_less_than_runs_differ_anyway_is_no_difference(self) -> None:
        self.assertEqual(outcome([clean(1.0), clean(1.09)]).grade, "")
        self.assertEqual(outcome([clean(1.0), clean(1.13)]).grade, NOISY)
        self.assertEqual(outcome([clean(1.0, 0.2), clean(1.13)]).grade, "")

    def test_contended_needs_a_second_try_that_agrees(self) -> None:
        self.assertEqual(outcome([graded(CONTENDED, 1.0)]).missing, "contended, and no other try confirms it")
        found = outcome([graded(CONTENDED, 1.0), graded(CONTENDED, 2.0)], "s")
        self.assertEqual(found.missing, "contended, and two tries differ: 1 and 2 s")
        found = outcome([graded(CONTENDED, 1.0), graded(CONTENDED, 1.2)])
        self.assertEqual(
            (found.place, found.grade, found.reason, found.missing), (1, CONTENDED, "contended: why", "")
        )
        self.assertEqual((found.low, found.high), (0.7, 1.2 * 1.3))

    def test_more_tries_do_not_make_agreement_easier(self) -> None:
        """A measurement that is repeated until two agree agrees in the end."""
        tries = [graded(CONTENDED, x, 0.05) for x in (1.0, 2.0, 2.0)]
        self.assertIn("differ: 1 and 2", outcome(tries).missing)

    def test_what_is_wrong_does_not_count_while_something_is_right(self) -> None:
        found = outcome([clean(1.0), wrong(9.0)])
        self.assertEqual((found.place, found.high, found.tries), (0, 1.01, 1))
        self.assertEqual(outcome([wrong(1.0), graded(NOISY, 2.0)]).place, 1)
        self.assertEqual(outcome([wrong(1.0), wrong(2.0)]).place, 1)

    def test_values_without_intervals(self) -> None:
        self.assertEqual(hull([Try(4.0), Try(4.0)]), (None, None))
        self.assertEqual(hull([Try(4.0), Try(5.0)]), (4.0, 5.0))
        self.assertEqual(hull([Try(4.0), clean(5.0)]), (4.0, 5.05))


class Properties(unittest.TestCase):
    def each(self, rounds: int = 3000):
        chance = random.Random(16)
        for _ in range(rounds):
            yield chance, [any_try(chance) for _ in range(chance.randint(1, 5))]

    def test_the_interval_holds_value_and_interval_of_every_try_that_counts(self) -> None:
        for _, tries in self.each():
            found = outcome(tries)
            counted = self.counted(tries)
            if not counted:
                continue
            self.assertEqual(found.tries, len(counted))
            grade = min((t.grade for t in counted), key=GRADES.index)
            self.assertIs(tries[found.place], [t for t in counted if t.grade == grade][-1])
            if found.low is None:
                self.assertEqual(len({t.value for t in counted}), 1)
                continue
            for t in counted:
                self.assertTrue(found.low <= t.value <= found.high)
                if t.low is not None and t.grade == grade:
                    self.assertTrue(found.low <= t.low <= t.high <= found.high)

    @staticmethod
    def counted(tries: List[Try]) -> List[Try]:
        right = [t for t in tries if not t.why_invalid]
        calm = [t for t in right if t.grade != CONTENDED]
        if len(calm) > 2:
            return calm
        return next((own for g in GRADES for own in [[t for t in right if t.grade == g]] if own), [])

    def test_no_try_that_does_not_count_changes_anything(self) -> None:
        for _, tries in self.each():
            counted = self.counted(tries)
            if not counted:
                continue
            alone = outcome(counted)
            found = outcome(tries)
            self.assertEqual(
                (found.low, found.high, found.tries, found.grade, found.reason, found.missing),
                (alone.low, alone.high, alone.tries, alone.grade, alone.reason, alone.missing),
            )

    def test_the_order_changes_only_which_value_is_the_latest(self) -> None:
        for chance, tries in self.each():
            again = outcome(chance.sample(tries, len(tries)))
            found = outcome(tries)
            if self.counted(tries):
                self.assertEqual(
                    (found.low, found.high, found.tries, found.grade, bool(found.missing)),
                    (again.low, again.high, again.tries, again.grade, bool(again.missing)),
                )

    def test_another_try_of_the_same_kind_never_narrows_the_interval_nor_removes_a_doubt(self) -> None:
        for chance, tries in self.each():
            counted = self.counted(tries)
            if not counted:
                continue
            value = chance.uniform(0.5, 2.0)
            more = Try(value, value * 0.9, value * 1.1, "", counted[0].grade, counted[0].reason)
            before, after = outcome(tries), outcome([*tries, more])
            self.assertGreater(after.tries, before.tries)
            if before.low is not None:
                self.assertTrue(after.low <= before.low and before.high <= after.high)
            self.assertTrue(after.missing or not (before.missing and before.tries > 1))
            self.assertGreaterEqual(GRADES.index(after.grade), GRADES.index(before.grade))

    def test_a_value_is_missing_only_where_all_that_is_right_is_contended(self) -> None:
        for _, tries in self.each():
            counted = self.counted(tries)
            if outcome(tries).missing:
                self.assertEqual({t.grade for t in counted}, {CONTENDED})
                self.assertTrue(
                    len(counted) == 1 or not all(agree(*pair) for pair in itertools.combinations(counted, 2))
                )
            elif counted and counted[0].grade == CONTENDED:
                self.assertGreater(len(counted), 1)

    def test_units_do_not_matter(self) -> None:
        """In byte/s and in GB/s the same tries count, and agree."""
        for _, tries in self.each():

            def scaled(x: Optional[float]) -> Optional[float]:
                return None if x is None else x * 2.0**30

            large = [
                Try(t.value * 2.0**30, scaled(t.low), scaled(t.high), t.why_invalid, t.grade, t.reason)
                for t in tries
            ]
            a, b = outcome(tries), outcome(large)
            self.assertEqual(
                (a.place, a.tries, a.grade, bool(a.missing), scaled(a.low), scaled(a.high)),
                (b.place, b.tries, b.grade, bool(b.missing), b.low, b.high),
            )


class Oracle(unittest.TestCase):
    """Written a second time for tests/method/recompute.py, from the page alone."""

    class Case:
        def __init__(self, entry: dict) -> None:
            self.entry = entry

        def derived(self, name: str, variant: Optional[str]) -> dict:
            return self.entry

    def test_both_say_the_same(self) -> None:
        import tries as oracle

        chance = random.Random(4)
        for _ in range(5000):
            tries = [any_try(chance) for _ in range(chance.randint(1, 4))]
            found = outcome(tries)
            entries = [
                {
                    "value": t.value,
                    "ci_low": t.low,
                    "ci_high": t.high,
                    "valid": not t.why_invalid,
                    "grades": [t.grade] if t.grade else [],
                }
                for t in tries
            ]
            settled = oracle.settle([self.Case(e) for e in entries], "rate", "a")
            if settled is None:
                self.assertTrue(found.missing or all(t.why_invalid for t in tries))
                continue
            self.assertEqual((settled.value, settled.case.entry), (found.value, entries[found.place]))
            self.assertEqual(
                (settled.low, settled.high, settled.grade or "", ""),
                (found.low, found.high, found.grade, found.missing),
            )


class Cases(workplace.Scratch):
    """One case of one value, tried several times."""

    def case(self, *tries: dict) -> Case:
        text = ""
        for i, t in enumerate(tries):
            w = synthetic.Writer("micro/x", run="r%d" % i)
            seconds = 1.0 / t.get("value", 1.0)
            line = w.case(
                {"n": 1},
                [w.variant("a", seconds), w.variant("b", 1.0)],
                [
                    synthetic.value(
                        "rate",
                        "a",
                        t.get("value", 1.0),
                        "1/s",
                        ci_low=0.9 * t.get("value", 1.0),
                        ci_high=1.1 * t.get("value", 1.0),
                        **t.get("more", {}),
                    ),
                    synthetic.value("rate", "b", 1.0, "1/s"),
                ],
                t.get("status", "ok"),
                t.get("flags", ()),
            )
            line["facts"] = {"try": i}
            line.update(t.get("line", {}))
            text += w.end().text()
        return self.records(text).groups["micro/x", "host"].cases["n=1"]

    def rate(self, case: Case):
        return next(d for d in case.derived if (d.name, d.variant) == ("rate", "a"))

    NOISY = {
        "more": {"grades": ["noisy"]},
        "line": {
            "validity": {"valid": True, "flags": [{"flag": "noisy", "variant": "a", "reason": "+-18 %"}]}
        },
    }
    HOT = {"more": {"valid": False}, "flags": [{"flag": "throttled", "variant": "a", "reason": "hot"}]}
    WRONG = {
        "status": "failed",
        "line": {
            "reason": "wrong result",
            "derived": [],
            "variants": [],
            "check": {"status": "failed", "detail": "4 of 9"},
        },
    }
    BROKEN = {"status": "failed", "line": {"reason": "out of memory", "derived": [], "variants": []}}
    SKIPPED = {"status": "skipped", "line": {"reason": "no peer", "derived": [], "variants": []}}

    def test_a_quiet_try_replaces_a_noisy_one_of_that_value_alone(self) -> None:
        case = self.case(dict(self.NOISY, value=5.0), {"value": 4.0})
        found = self.rate(case)
        self.assertEqual((found.value, found.grade, found.tries, found.ci_low), (4.0, "", 1, 3.6))
        self.assertEqual([d.tries for d in case.derived], [1, 2])
        self.assertEqual(case.facts, {"try": 1})

    def test_a_grade_has_its_reason(self) -> None:
        found = self.rate(self.case(self.NOISY))
        self.assertEqual((found.grade, found.grade_reason, found.valid), ("noisy", "noisy: ±18 %", True))

    def test_the_reason_may_be_that_of_another_variant(self) -> None:
        flags = {"valid": True, "flags": [{"flag": "noisy", "variant": "b", "reason": "+-18 %"}]}
        found = self.rate(self.case({"more": {"grades": ["noisy"]}, "line": {"validity": flags}}))
        self.assertEqual(found.grade_reason, "noisy: ±18 %")

    def test_a_right_earlier_try_counts_and_the_wrong_one_stays_wrong_for_what_it_alone_has(self) -> None:
        later = dict(self.HOT, value=9.0)
        case = self.case({"value": 4.0}, later)
        found = self.rate(case)
        self.assertEqual((found.value, found.valid, found.tries), (4.0, True, 1))
        self.assertEqual([d.valid for d in case.derived], [True, True])

    def test_where_all_are_wrong_the_latest_says_why(self) -> None:
        signature = workplace.build(self.records(self.text_of(self.HOT, self.HOT)))
        self.assertEqual(
            [(e["flags"], e["reason"]) for e in signature.json["invalid"]],
            [(["throttled"], "throttled: hot")],
        )

    def text_of(self, *tries: dict) -> str:
        self.case(*tries)
        return (self.folder / "records.jsonl").read_text(encoding="utf-8")

    def test_a_failed_second_try_is_never_hidden(self) -> None:
        for failed, reason in (
            (self.WRONG, "1 of 2 tries: wrong result"),
            (self.BROKEN, "1 of 2 tries: out of memory"),
        ):
            case = self.case({}, failed)
            self.assertEqual((case.status, case.reason, case.derived), ("failed", reason, ()))

    def test_a_wrong_result_stays_one_and_a_failure_can_be_repaired(self) -> None:
        self.assertEqual(self.case(self.WRONG, {}).status, "failed")
        self.assertEqual(self.case({}, self.WRONG, {}).status, "failed")
        self.assertEqual(self.case(self.BROKEN, {}).status, "ok")
        self.assertEqual(self.case(self.BROKEN, self.SKIPPED).status, "failed")

    def test_a_skipped_second_try_takes_nothing_away(self) -> None:
        self.assertEqual(self.rate(self.case({"value": 4.0}, self.SKIPPED)).value, 4.0)
        self.assertEqual(self.case(self.SKIPPED, self.SKIPPED).reason, "no peer")

    def test_a_value_of_one_try_only_is_kept(self) -> None:
        case = self.case({"value": 4.0}, {"value": 4.0, "line": {"derived": []}})
        self.assertEqual(
            [(d.variant, d.value, d.tries) for d in case.derived], [("a", 4.0, 1), ("b", 1.0, 1)]
        )

    def test_older_records_are_as_invalid_as_they_were(self) -> None:
        flags = {
            "validity": {"valid": False, "flags": [{"flag": "noisy", "variant": None, "reason": "wide"}]}
        }
        found = self.rate(self.case({"line": flags}))
        self.assertEqual((found.valid, found.reason), (False, "noisy: wide"))

    def test_a_case_in_few_words(self) -> None:
        """Everything at once, as a line of the signature."""
        second = json.loads(json.dumps(self.NOISY))
        signature = workplace.build(
            self.records(self.text_of(dict(self.NOISY, value=1.0), dict(second, value=1.5)))
        )
        entry = signature.json["metrics"]["micro/x/rate{variant=a,n=1}"]
        self.assertEqual(
            (entry["value"], entry["ci_low"], entry["ci_high"], entry["grade"], entry["tries"]),
            (1.25, 0.9, 1.65, "noisy", 2),
        )


if __name__ == "__main__":
    unittest.main()
