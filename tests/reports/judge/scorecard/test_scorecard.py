# SPDX-License-Identifier: BSD-3-Clause
"""Ranking of machines by question: properties that hold for any machines, how often equal ones are told
apart, and which numbers may be compared."""

from __future__ import annotations

import itertools
import json
import math
import random
import unittest
from dataclasses import replace
from typing import Any, Dict

import scorecard_example as example
import synthetic
import workplace
from scorecard_example import Truth, card_of, machine, truths

from reports.records import student, validate
from reports.page import template
from reports.judge.compare.numbers import DIFFERENCE, Number
from reports.judge.scorecard import metrics, page, price
from reports.judge.scorecard.price import Price, Prices
from tests import level

Json = Dict[str, Any]


def sorted_json(card: Json) -> str:
    """Up to the order of the machines."""
    return json.dumps(dict(card, machines=sorted(card["machines"], key=lambda m: m["name"])), sort_keys=True)


class Student(unittest.TestCase):
    def test_known_values(self) -> None:
        # With one degree it is Cauchy's distribution, with two t / sqrt(2 + t^2); the others are from printed
        # tables.
        for t in (0.01, 0.5, 3.0, 1e3):
            self.assertAlmostEqual(student.two_sided_p(t, 1), 2 * math.atan(1 / t) / math.pi, delta=1e-12)
            self.assertAlmostEqual(student.two_sided_p(-t, 2), 1 - t / math.sqrt(2 + t * t), delta=1e-12)
        for degrees, wanted in ((4, 2.776), (10, 2.228), (1e6, 1.960)):
            self.assertAlmostEqual(student.quantile(0.95, degrees), wanted, delta=6e-4)
        self.assertEqual(student.two_sided_p(0.0, 3), 1.0)
        self.assertEqual(student.two_sided_p(math.inf, 3), 0.0)

    def test_against_scipy(self) -> None:
        try:
            from scipy import stats
        except ImportError:
            self.skipTest("skipped: no scipy")
        for degrees in (0.7, 2, 2.3, 7, 40, 1e4):
            for t in (1e-6, 0.3, 2.0, 9.0, 60.0):
                wanted = 2 * stats.t.sf(t, degrees)
                self.assertAlmostEqual(
                    student.two_sided_p(t, degrees) / wanted if wanted > 1e-280 else 1.0, 1, delta=1e-9
                )
            self.assertAlmostEqual(
                student.two_sided_p(student.quantile(0.99, degrees), degrees), 0.01, delta=1e-12
            )

    def test_refuses(self) -> None:
        for t, degrees in ((math.nan, 3.0), (1.0, 0.0)):
            self.assertRaises(ValueError, student.two_sided_p, t, degrees)
        self.assertRaises(ValueError, student.quantile, 1.0, 3.0)


class Properties(unittest.TestCase):
    """Properties of random machines, with numbers of both directions and differences."""

    def test_a_machine_against_itself_is_1(self) -> None:
        for runs, spread in ((1, 0.02), (1, None), (2, 0.02), (4, None)):
            one = machine("a", truths(20, runs), runs, spread=spread)
            found = card_of([one, replace(one, name="b")])
            self.assertEqual(example.wins(found), 0)
            self.assertEqual(len(found["metrics"]), 20)
            for row in found["metrics"]:
                if row["verdict"] == metrics.DESCRIBED:
                    continue
                for ratio in row["ratios"].values():
                    self.assertAlmostEqual(ratio["value"], 1, delta=1e-12)
                    self.assertTrue(ratio["low"] is None or ratio["low"] <= 1 <= ratio["high"])
                self.assertEqual(row["unranked" if (runs, spread) == (1, None) else "best"], ["a", "b"])

    def test_order_changes_nothing(self) -> None:
        for seed in range(6):
            made = [machine(name, truths(12, seed + k % 2), 3) for k, name in enumerate(("a", "b", "c", "d"))]
            names = [m.name for m in made]
            mix = example.random_mix(names, seed)
            bought = {
                name: Price(100.0 + k, "EUR", 10.0 * (k % 3 + 1), price.STATED, "")
                for k, name in enumerate(names)
            }
            seen = set()
            for order in itertools.islice(itertools.permutations(made), seed, 24, 5):
                rows = metrics.rows_of(order)
                metrics.judge(rows[0])
                prices = price.judge(Prices({m.name: bought[m.name] for m in order}, []), rows[0], mix)
                seen.add(
                    sorted_json(example.card.card(order, rows, example.Question(None, mix, "m", prices, "p")))
                )
            self.assertEqual(len(seen), 1)

    def test_exchanging_two_inverts_their_ratio(self) -> None:
        made = [machine(name, truths(25, k), 3) for k, name in enumerate(("a", "b"))]
        rows = metrics.rows_of(made)[0]
        metrics.judge(rows)
        ranked = [row for row in rows if row.ratios]
        self.assertGreater(len(ranked), 5)
        for row in ranked:
            there, back = row.ratios["a", "b"], row.ratios["b", "a"]
            for one, other in zip(there[:3], (back.value, back.high, back.low)):
                self.assertAlmostEqual(one, 1 / other, delta=1e-9 * abs(one))
            self.assertEqual(there.p, back.p)

    def test_better_in_everything_is_never_behind(self) -> None:
        """Every size of the lead is tried, also one that noise could make."""
        for seed in range(level.seeds(5, 12, 30)):
            generator = random.Random(seed)
            others = [machine(name, truths(15, seed), 3, seed) for name in ("b", "c", "d")]
            gain = 10 ** generator.uniform(-4, 1)
            best = machine("a", truths(15, seed), 3, seed)
            for k, run in enumerate(best.runs):
                for name, number in run.numbers.items():
                    rivals = [m.runs[j].numbers[name].value or 0.0 for m in others for j in range(3)]
                    ahead = max(rivals) if number.better == "higher" else min(rivals)
                    sign = 1 if number.better == "higher" else -1
                    value = ahead + sign * gain if number.scale == DIFFERENCE else ahead * (1 + gain) ** sign
                    run.numbers[name] = replace(
                        number, value=value * (1.0 if number.scale == DIFFERENCE else 1 + 1e-9 * k)
                    )
            found = card_of([others[0], best, *others[1:]])
            for row in found["metrics"]:
                if row["verdict"] != metrics.DESCRIBED:
                    self.assertIn("a", row["best"], (seed, row["name"]))
                self.assertFalse(any("a" in beaten for beaten in row["better_than"].values()))
            prices = Prices({m.name: Price(100.0, "EUR", 10.0, price.STATED) for m in (best, *others)}, [])
            rows = metrics.rows_of([best, *others])
            metrics.judge(rows[0])
            self.assertIn("a", price.judge(prices, rows[0], None).best)

    def test_better_is_never_a_circle(self) -> None:
        for seed in range(10):
            made = [
                machine(name, truths(10, generator_seed), 3)
                for name, generator_seed in zip("abcde", range(seed, seed + 5))
            ]
            for row in card_of(made)["metrics"]:
                self.assertEqual(bool(row["best"]), row["verdict"] != metrics.DESCRIBED)
                better = row["better_than"]
                for one, beaten in better.items():
                    self.assertFalse(any(one in better[other] for other in beaten))

    def test_a_true_difference_is_found(self) -> None:
        found = card_of(
            [
                machine("a", {"micro/memory/x": Truth(100.0, 0.005)}, 4),
                machine("b", {"micro/memory/x": Truth(150.0, 0.005)}, 4),
            ]
        )
        row = found["metrics"][0]
        self.assertEqual((row["best"], row["verdict"], row["reference"]), (["b"], "best", "b"))
        self.assertAlmostEqual(row["ratios"]["a"]["value"], 100 / 150, delta=0.01)

    def test_a_cost_is_turned(self) -> None:
        found = card_of(
            [
                machine("a", {"micro/latency/x": Truth(1e-6, 0.001, "lower", "s")}, 4),
                machine("b", {"micro/latency/x": Truth(2e-6, 0.001, "lower", "s")}, 4),
            ]
        )
        row = found["metrics"][0]
        self.assertEqual(row["best"], ["a"])
        self.assertAlmostEqual(row["ratios"]["b"]["value"], 0.5, delta=0.01)

    def test_ratios_to_a_base(self) -> None:
        made = [
            machine(name, {"micro/memory/x": Truth(value, 0.001)}, 3)
            for name, value in (("a", 1.0), ("b", 2.0))
        ]
        self.assertAlmostEqual(card_of(made, "a")["metrics"][0]["ratios"]["b"]["value"], 2.0, delta=0.02)


class Chance(unittest.TestCase):
    def alarms(
        self,
        trials: int,
        runs: int,
        machines: int,
        spread: Any = None,
        noises: Any = (0.005, 0.01, 0.02, 0.05),
    ) -> int:
        count = 0
        for seed in range(trials):
            rows = metrics.rows_of(
                [machine("m%d" % k, truths(40, seed, noises), runs, seed, spread) for k in range(machines)]
            )[0]
            metrics.judge(rows)
            count += any(any(row.better.values()) for row in rows)
        return count

    def test_equal_machines_are_seldom_told_apart(self) -> None:
        """40 numbers that differ by noise alone: at most 5 % of the cards call any machine better in any."""
        trials = level.seeds(30, 40, 300)
        for runs, machines in itertools.product((3, 5, 8), (2, 3)) if level.ALL else ((3, 2),):
            count = self.alarms(trials, runs, machines, noises=(0.005, 0.01, 0.02, 0.05, 0.1))
            self.assertLessEqual(count, level.most(trials, 0.05), (runs, machines))

    def test_one_run_tells_little(self) -> None:
        """A single run states the spread that its numbers share, here half of what the worst of them have."""
        trials = level.seeds(20, 60, 200)
        count = self.alarms(trials, 1, 2, 0.02)
        self.assertLessEqual(count, level.most(trials, 0.05))

    def test_without_a_spread_one_run_is_not_ranked_unless_it_is_far_off(self) -> None:
        for value, verdict, wins in ((1.9, "not ranked", 0), (2.1, "best", 1)):
            found = card_of(
                [
                    machine(name, {"micro/memory/x": Truth(v, 0.0)}, 1)
                    for name, v in (("a", 1.0), ("b", value))
                ]
            )
            self.assertEqual((found["metrics"][0]["verdict"], example.wins(found)), (verdict, wins))

    def test_the_interval_holds_the_truth(self) -> None:
        inside, trials = 0, level.seeds(40, 100, 200)
        for seed in range(trials):
            made = [
                machine(name, {"micro/memory/x": Truth(value, 0.03)}, 4, seed)
                for name, value in (("a", 1.0), ("b", 1.3))
            ]
            rows = metrics.rows_of(made)[0]
            metrics.judge(rows)
            ratio = rows[0].ratios["b", "a"]
            inside += (ratio.low or 0.0) <= 1.3 <= (ratio.high or 9.0)
        self.assertGreaterEqual(inside, level.least(trials, 0.95))


class SideBySide(unittest.TestCase):
    def test_other_conditions_are_not_compared(self) -> None:
        made = [
            machine(
                name,
                {
                    "gemm/efficiency/gemm_f32_flop_rate": Truth(
                        1e12, condition="f32, " + shape, group="Compute"
                    )
                },
            )
            for name, shape in (("a", "8192³"), ("b", "1024³"))
        ]
        found = card_of(made)
        self.assertEqual((found["metrics"], found["exit"]), ([], 3))
        self.assertIn("its condition differs: 8192³, not 1024³", found["not_compared"][0]["why"])

    def test_footprints_follow_from_caches(self) -> None:
        made = [
            machine(
                name,
                {
                    "micro/memory/memory_triad_bandwidth": Truth(1e12, condition="triad, " + size),
                    "micro/latency/load_latency_4k": Truth(1e-7, better="lower", unit="s", condition=fixed),
                },
            )
            for name, size, fixed in (("a", "800 MiB", "4 KiB"), ("b", "4 GiB", "8 KiB"))
        ]
        found = card_of(made)
        self.assertEqual([row["name"] for row in found["metrics"]], ["micro/memory/memory_triad_bandwidth"])

    def test_a_host_is_compared_where_it_does_the_same(self) -> None:
        both = {
            "gemm/efficiency/gemm_f32_flop_rate": Truth(1e12, group="Compute", unit="flop/s"),
            "micro/launch/launch_round_trip": Truth(1e-6, 0.01, "lower", "s", group="Starting work"),
            "micro/copy_path/up_engine_bandwidth": Truth(1e10, group="Links"),
        }
        found = card_of([machine("node", both, backend="host"), machine("a", both), machine("b", both)])
        rows = {row["name"]: row for row in found["metrics"]}
        self.assertEqual(set(rows["gemm/efficiency/gemm_f32_flop_rate"]["machines"]), {"node", "a", "b"})
        self.assertEqual(set(rows["micro/launch/launch_round_trip"]["machines"]), {"a", "b"})
        self.assertIn("no driver", rows["micro/launch/launch_round_trip"]["not_compared"]["node"])
        self.assertEqual(len([note for note in found["notes"] if "CPU" in note]), 1)

    def test_other_numbers_of_devices_are_not_compared(self) -> None:
        name = "collectives/device_allreduce/device_allreduce_busbw"
        found = card_of(
            [machine("a", {name: Truth(1e11)}, count=4), machine("b", {name: Truth(1e11)}, count=8)]
        )
        self.assertEqual(found["metrics"], [])
        self.assertEqual("among 8 devices, not 4", found["not_compared"][0]["why"])
        self.assertIn("different numbers of devices: a 4 and b 8", found["notes"][0])

    def test_a_reason_that_several_machines_share_is_said_once(self) -> None:
        made = [machine(name, truths(3, 1)) for name in "abcd"]
        name = next(iter(made[0].runs[0].numbers))
        for other, reason in zip(made[1:], ("not asked for", "no such link", "not asked for")):
            for run in other.runs:
                run.numbers[name] = Number(None, "", None, reason=reason, label="lost")
        (lost,) = card_of(made)["not_compared"]
        self.assertEqual(lost["why"], "b and d: not asked for; c: no such link")

    def test_what_is_missing_is_said(self) -> None:
        made = [machine(name, truths(3, 1)) for name in ("a", "b")]
        name = next(iter(made[1].runs[0].numbers))
        for run in made[1].runs:
            run.numbers[name] = Number(None, "", None, reason="its case did not run", label="lost")
        found = card_of(made)
        self.assertEqual([row["why"] for row in found["not_compared"]], ["b: its case did not run"])
        made[1].runs[0].numbers[name] = Number(1.0, "byte/s", "higher")
        self.assertIn(
            "2 of 3 runs without a value: its case did not run", card_of(made)["not_compared"][0]["why"]
        )

    def test_a_value_without_ratio_is_not_compared(self) -> None:
        made = [machine(name, {"micro/memory/x": Truth(1.0)}) for name in ("a", "b")]
        made[0].runs[1].numbers["micro/memory/x"] = Number(0.0, "byte/s", "higher")
        self.assertIn("no ratio", card_of(made)["not_compared"][0]["why"])


class Outputs(unittest.TestCase):
    def test_schema(self) -> None:
        try:
            import jsonschema
        except ImportError:
            self.skipTest("skipped: no jsonschema")
        for card in (example.full(), card_of([machine("a", {}), machine("b", {})])):
            self.assertEqual(
                [
                    e.message
                    for e in jsonschema.Draft7Validator(validate.schema("scorecard")).iter_errors(card)
                ],
                [],
            )

    def test_table_has_80_columns(self) -> None:
        for text in ("", "-of-a-name-that-is-longer-than-the-column-for-it", "ß" * 30):
            text = page.table(example.full(text))
            lines = [line for line in text.splitlines() if len(line.split()) > 1]  # a long word stays whole
            self.assertLessEqual(max(map(len, lines)), 80)

    def test_a_hostile_text_is_only_text(self) -> None:
        hostile = "</style><script>alert(1)</script>\x1b[2J\u202e" + "x" * 5000
        card = example.full(hostile)
        self.assertNotIn("\x1b", page.table(card))
        try:
            html = page.render(card)
        except template.MissingDependency as why:
            self.skipTest("skipped: %s" % why)
        self.assertNotIn("<script", html)
        self.assertNotIn("\x1b", html)

    def test_the_page_needs_nothing_else(self) -> None:
        try:
            html = page.render(example.full())
        except template.MissingDependency as why:
            self.skipTest("skipped: %s" % why)
        self.assertNotRegex(html, r"src=|href=[^#]{2}|https?://|<script|@import|url\(")
        self.assertIn("default-src 'none'", html)
        self.assertIn("Run rules", html)


class Hostile(workplace.Scratch):
    def test_a_changed_signature_is_read_or_refused_with_one_line(self) -> None:
        self.run_build(synthetic.everything())
        whole = (self.folder / "signature.json").read_bytes()
        (self.folder / "other.json").write_bytes(whole)
        changed, refused = self.folder / "changed.json", 0
        for seed in range(level.seeds(15, 25, 400)):
            generator = random.Random(seed)
            known = json.loads(whole)
            for _ in range(generator.randint(1, 3)):
                mutate(known, generator)
            changed.write_text(json.dumps(known))
            code, out, err = self.run_command(
                "--cwd", str(self.folder), "scorecard", "other.json", "changed.json", "--html", ""
            )
            self.assertIn(code, (0, 2, 3), (seed, err))
            refused += code == 2
            self.assertEqual(
                (len(err.splitlines()), out == ""), (1, True) if code == 2 else (0, False), (seed, err)
            )
        self.assertGreater(refused, 0)

    def test_a_changed_workload_is_read_or_refused_with_one_line(self) -> None:
        self.run_build(synthetic.memory().text())
        text = (workplace.ROOT / "docs" / "examples" / "scorecard" / "training.mix").read_bytes()
        for seed in range(level.seeds(12, 40, 100)):
            generator, changed = random.Random(seed), bytearray(text)
            for _ in range(3):
                changed[generator.randrange(len(changed))] = generator.randrange(256)
            (self.folder / "mix").write_bytes(changed)
            code, _, err = self.run_command(
                "--cwd",
                str(self.folder),
                "scorecard",
                "a=signature.json",
                "b=signature.json",
                "--workload",
                "mix",
                "--html",
                "",
            )
            self.assertTrue(code == 0 and not err or code == 2 and len(err.splitlines()) == 1, (seed, err))


def mutate(value: Any, generator: random.Random) -> None:
    """Go down to a random place, and put something else there."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = generator.choice(keys)
        if isinstance(value[key], (dict, list)) and generator.random() < 0.85:
            value = value[key]
            continue
        value[key] = generator.choice([None, -1, 0, 1e29, "text", [], {}, [1], {"a": None}, True])
        return


class Rules(unittest.TestCase):
    def holds(self, rule: str, one: Any) -> str:
        found = {
            entry["rule"]: entry["machines"]["a"]["holds"]
            for entry in card_of([one, machine("b", truths(2, 1))])["rules"]
        }
        return next(holds for name, holds in found.items() if rule in name)

    def test_each_is_broken_by_what_breaks_it(self) -> None:
        def broken(change: Any) -> Any:
            made = machine(
                "a",
                truths(2, 1),
                gemm_types=["f32"],
                state={
                    name: {"value": 1.0, "unit": "Hz"}
                    for name in ("sm_clock_max", "memory_clock_max", "power_limit")
                },
            )
            change(made, made.signatures[1])
            return made

        missing = {"program": "p", "metric": "m", "device": "cuda", "cause": "not_run"}
        cases = {
            "three runs": lambda m, s: m.runs.pop() and m.signatures.pop() and m.paths.pop(),
            "complete": lambda m, s: s["runs"].append({"program": "p", "status": "killed"}),
            "headline": lambda m, s: s["primary_missing"].append(missing),
            "soak": lambda m, s: s["primary_missing"].append(dict(missing, cause="soak")),
            "nobody else": lambda m, s: s["primary_missing"].append(dict(missing, cause="contended")),
            "throttled": lambda m, s: s["invalid"].append(
                {"flags": ["throttled"], "program": "p", "count": 2}
            ),
            "failed": lambda m, s: s["not_measured"].append({"status": "failed", "program": "p"}),
            "nothing changed": lambda m, s: s["provenance"]["changed_between_runs"].update(driver=["1", "2"]),
            "options": lambda m, s: m.side.runs.__setitem__(
                1, replace(m.runs[1], provenance={"options: budget s": "5"})
            ),
            "clocks": lambda m, s: m.signatures[0]["devices"]["cuda[0]"].update(state={}),
            "driver": lambda m, s: m.signatures[0]["devices"]["cuda[0]"].update(driver=""),
            "one version": lambda m, s: s["provenance"]["fields"].update(version="other"),
        }
        for rule, change in cases.items():
            with self.subTest(rule):
                self.assertEqual(self.holds(rule, broken(lambda m, s: None)), "yes")
                self.assertEqual(self.holds(rule, broken(change)), "no")

    def test_a_model_is_no_machine(self) -> None:
        made = [machine(name, truths(2, 1), simulated=True, backend="sim") for name in ("a", "b")]
        found = card_of(made)
        self.assertTrue(any("Simulated" in sentence for sentence in found["sentences"]))
        self.assertEqual(found["rules"][1]["machines"]["a"]["holds"], "no")


if __name__ == "__main__":
    unittest.main()
