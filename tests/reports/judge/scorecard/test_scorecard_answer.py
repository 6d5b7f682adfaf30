# SPDX-License-Identifier: BSD-3-Clause
"""First and last words of a scorecard: the mix with its price, what to measure, and one vote a question."""

from __future__ import annotations

import re
import unittest
from dataclasses import replace
from typing import Any, Dict, List, Optional, Tuple

import workplace
from scorecard_example import Truth, card_of, machine

from reports.judge.compare.numbers import Number
from reports.judge.scorecard import metrics, page, price, wording, workload, workload_file
from reports.judge.scorecard.machines import Held
from reports.judge.scorecard.metrics import DESCRIBED
from reports.judge.scorecard.price import STATED, Price, Prices
from reports.judge.scorecard.questions import QUESTIONS
from reports.judge.scorecard.workload import Line, Mix, Time, judge

MEMORY = "micro/memory/memory_%s_bandwidth"
GEMM = "gemm/efficiency/gemm_%s_flop_rate"


def items(*lines: str) -> List[Any]:
    return [workload_file._item(line.split()) for line in lines]


def mix_of(**times: Tuple[Optional[float], Optional[float]]) -> Mix:
    """A mix of one item."""
    line = judge(Line("item", {name: Time(*time) for name, time in times.items()}))
    return Mix([line], line, None, 1)


def sentences(mix: Optional[Mix], costs: Optional[Dict[str, Price]] = None) -> List[str]:
    names = sorted(mix.total.times) if mix else ["a", "b"]
    made = [machine(name, {MEMORY % "triad": Truth(1e12, 1e-4)}, 3) for name in names]
    prices = price.judge(Prices(costs, []), [], mix) if costs else None
    found: List[str] = card_of(made, mix=mix, mix_name="mix", prices=prices)["sentences"]
    return found


class Votes(unittest.TestCase):
    def test_each_question_has_one_vote_by_its_main_number(self) -> None:
        names = [MEMORY % op for op in ("read", "triad", "triad_nt")]
        names += [GEMM % kind for kind in ("bf16", "f16", "tf32")]
        names += ["micro/copy_path/up_%s_bandwidth" % method for method in ("engine", "kernel")]
        fast, slow = ({name: Truth(value, 1e-4) for name in names} for value in (2e12, 1e12))
        found = card_of([machine("a", fast), machine("b", slow)])
        asked = {row["question"]: row["name"] for row in found["metrics"] if row["question"]}
        self.assertEqual(
            asked,
            {
                "GEMM, 16 bits": GEMM % "bf16",
                "memory bandwidth": MEMORY % "triad",
                "copies from the host (H2D)": "micro/copy_path/up_engine_bandwidth",
            },
        )
        self.assertEqual((found["counts"]["questions"], found["counts"]["machines"]["a"]["best"]), (3, 3))
        self.assertEqual(len(found["metrics"]), len(names))

    def test_where_fewer_have_the_main_number_another_answers(self) -> None:
        both = {MEMORY % op: Truth(1e12, 1e-4) for op in ("read", "triad")}
        only = {MEMORY % "read": Truth(2e12, 1e-4)}
        found = card_of([machine("a", both), machine("b", both), machine("c", only)])
        asked = [row for row in found["metrics"] if row["question"]]
        self.assertEqual([(row["name"], row["best"]) for row in asked], [(MEMORY % "read", ["c"])])

    def test_a_ratio_of_a_machine_to_itself_makes_nobody_better(self) -> None:
        def numbers(value: float) -> Dict[str, Truth]:
            return {
                name: Truth(value, 1e-4, better, "", group="Overlap")
                for name, better in (
                    ("gemm/split/gemm_dil_m8", "lower"),
                    ("micro/reduce/staging_time_ratio", "lower"),
                    ("micro/occupancy/slot_wait_share", "lower"),
                    ("overlap/ficco/ficco_shard_speedup", "higher"),
                )
            }

        found = card_of([machine("a", numbers(1.0)), machine("b", numbers(9.0))])
        self.assertEqual(len(found["metrics"]), 4)
        for row in found["metrics"]:
            self.assertEqual((row["verdict"], row["best"], row["behind"]), (DESCRIBED, [], []))
            self.assertEqual(set(row["ratios"].values()), {None})
        self.assertEqual(found["counts"]["questions"], 0)
        self.assertIn(DESCRIBED, page.table(found))

    def test_what_describes_is_not_in_the_family(self) -> None:
        """A p of 0.03 is below the rate alone, and among fifty that only describe."""
        row_of = Number(1.0, "byte/s", "higher", group="Memory")
        describing = replace(row_of, unit="", better="lower")
        values = {"a": Held(1.0, 0.9, 1.1, 0.0, 0.04, 4.0, 5), "b": Held(1.2, 1.1, 1.3, 0.182, 0.04, 4.0, 5)}
        likeness = metrics.Likeness("byte/s", "higher", "ratio", "", 0, False)
        rows = [metrics.Row("x", row_of, likeness, values)]
        rows += [metrics.Row("y%d" % k, describing, likeness, values) for k in range(50)]
        metrics.judge(rows)
        self.assertTrue(0.005 < rows[0].ratios["b", "a"].p < 0.05)
        self.assertEqual((rows[0].rank.best, rows[1].rank.verdict), (["b"], DESCRIBED))

    def test_every_number_of_a_question_is_a_headline_number(self) -> None:
        for name in (name for names in QUESTIONS.values() for name in names):
            program, _, metric = name.rpartition("/")
            source = (workplace.ROOT / (program + ".c")).read_text()
            listed = re.fullmatch(r"gemm_(\w+)_flop_rate", metric) if program == "gemm/efficiency" else None
            self.assertTrue(listed or '"%s"' % metric in source, name)


class Order(unittest.TestCase):
    def test_the_mix_and_its_price_come_first_and_counts_last(self) -> None:
        costs = {"a": Price(100, "EUR", 10, STATED), "b": Price(236, "EUR", 10, STATED)}
        found = sentences(mix_of(a=(2.06, 0.01), b=(1.0, 0.01)), costs)
        self.assertEqual(
            found[:2],
            [
                "The mix of mix: b 1 s ±1.0 % and a 2.06 s ±1.0 %; b is fastest; "
                "a 0.49 (0.48 to 0.49) times the speed of b.",
                "Against a (100 EUR): b +136 % price for 2.06 times the speed (2.03 to 2.09).",
            ],
        )
        place = next(k for k, text in enumerate(found) if "one vote each" in text)
        self.assertGreater(place, 1)
        self.assertIn("Pareto front of speed, price and power (speed by the mix): a and b.", found)
        costs["a"] = Price(300, "EUR", 10, STATED)
        found = sentences(mix_of(a=(2.06, 0.01), b=(1.0, 0.01)), costs)
        self.assertIn(
            "Pareto front of speed, price and power (speed by the mix): b; dominated: a by b.", found
        )

    def test_an_unknown_error_is_never_a_tie_for_first(self) -> None:
        for seconds, said in (
            (1.5, "b is not ranked, because its error is not known, predicted 1.50 times slower"),
            (2.2, "b is predicted 2.20 times slower"),
        ):
            text = sentences(mix_of(a=(1.0, 0.01), b=(seconds, None)))[0]
            self.assertIn("; a is fastest; " + said, text)
        text = sentences(mix_of(a=(1.0, None), b=(1.5, 0.01)))[0]
        self.assertIn("which is fastest is not known; a is not ranked", text)

    def test_without_a_mix_it_says_that_counts_weigh_unequal_things(self) -> None:
        found = sentences(None)
        self.assertTrue(found[0].startswith("Of 1 question, one vote each: "))
        self.assertIn("--workload FILE", found[1])


class OneMachine(unittest.TestCase):
    """Before and after an update it is the same: compare answers."""

    def test_two_names_of_one_machine(self) -> None:
        one = machine("before", {MEMORY % "triad": Truth(1e12, 1e-4)}, 3)
        other = replace(one, name="after", side=replace(one.side, name="after"))
        found = card_of([one, other])["sentences"]
        self.assertIn("has changed is answered by ./gpusig compare after before", found[0])
        self.assertFalse(any("one vote each" in text for text in found))

    def test_machines_of_two_kinds(self) -> None:
        made = [machine(name, {MEMORY % "triad": Truth(1e12, 1e-4)}, 3) for name in "ab"]
        self.assertFalse(any("gpusig compare" in text for text in card_of(made)["sentences"]))


class ToMeasure(unittest.TestCase):
    ASKED = ("gemm-ar 4096x11008x4096 bf16 devices=4", "gemm 64x64x64 f32", "gemm 64x64x64 f32 count=2")

    def command(self, device: str, count: int, asked: Tuple[str, ...], unmeasured: bool = True) -> str:
        one = machine("a b", {}, 1, count=count)
        one.signatures[0]["device"] = device
        line = Line("x", {"a b": Time(None, unmeasured=unmeasured)})
        return workload.to_measure(one, items(*asked), Mix([line], line, None, 0))

    def test_the_command_has_every_shape_and_as_many_devices(self) -> None:
        shapes = "--shape 4096x11008x4096 --shape 64x64x64 --out a-b-mix"
        for device, count, wanted in (
            ("cuda", 1, "cuda:0-3"),
            ("cuda:0-7", 8, "cuda:0-3"),
            ("cuda:0,2,4,6", 4, "cuda:0,2,4,6"),
            ("sim:h100", 1, "sim:h100:0-3"),
        ):
            found = self.command(device, count, self.ASKED)
            self.assertEqual(found, "./gpusig run --device %s %s" % (wanted, shapes))
        self.assertIn("--device cuda:0-7 --shape 64x64x64", self.command("cuda:0-7", 8, self.ASKED[1:]))

    def test_what_no_run_can_answer_has_no_command(self) -> None:
        self.assertEqual(self.command("cuda", 1, self.ASKED, False), "")


class Bought(unittest.TestCase):
    def bought(self, base: Optional[str] = None, **costs: Price) -> Dict[str, Any]:
        mix = mix_of(**{name: (float(k + 1), 0.01) for k, name in enumerate(costs)})
        return price.bought(Prices(costs, []), mix, base)

    def test_against_the_cheapest_or_the_base(self) -> None:
        costs = {"a": Price(300, "EUR"), "b": Price(100, "EUR"), "c": Price(150, "EUR")}
        found = self.bought(**costs)
        self.assertEqual(
            {name: (own.of, own.price) for name, own in found.items()}, {"a": ("b", 3.0), "c": ("b", 1.5)}
        )
        self.assertAlmostEqual(found["a"].speed.value, 2.0)
        self.assertEqual(set(self.bought("a", **costs)), {"b", "c"})

    def test_currencies_are_not_mixed(self) -> None:
        self.assertEqual(self.bought(a=Price(300, "EUR"), b=Price(100, "USD")), {})
        self.assertEqual(self.bought("a", a=Price(300, "EUR"), b=Price(3, "EUR/h")), {})

    def test_a_part_of_the_mix_has_no_price(self) -> None:
        whole, part = (Line(text, {"a": Time(1.0, 0.1), "b": Time(2.0, 0.1)}) for text in ("x", "y"))
        lacking = Line("total", {"a": Time(2.0, 0.1), "b": Time(None)})
        mix = Mix([whole, part], judge(lacking), judge(part), 1)
        self.assertEqual(
            price.bought(Prices({"a": Price(1, "EUR"), "b": Price(2, "EUR")}, []), mix, None), {}
        )


class Words(unittest.TestCase):
    def test_an_interval_without_width_is_left_out(self) -> None:
        self.assertEqual(wording.value_text(764e12, 764e12, 764e12 * (1 + 1e-9), "flop/s"), "764 TFLOP/s")
        self.assertEqual(wording.value_text(764e12, 757e12, 771e12, "flop/s"), "764 TFLOP/s ±0.9 %")
        self.assertEqual(wording.ratio_text({"value": 0.37, "low": 0.37, "high": 0.3701}), "0.37")
        self.assertEqual(wording.ratio_text({"value": 0.37, "low": 0.3, "high": 0.4}), "0.37 (0.30 to 0.40)")
        self.assertEqual(
            wording.ratio_text({"value": 0.37, "low": None, "high": None}), "0.37 (error not known)"
        )

    def test_models_have_none(self) -> None:
        made = [
            machine(name, {MEMORY % "triad": Truth(value)}, 1, simulated=True, backend="sim")
            for name, value in (("a", 1e12), ("b", 2e12))
        ]
        said = page.table(card_of(made))
        self.assertNotRegex(said, r"±[0-9-]|\([0-9.]+ to [0-9.]+\)")

    def test_prices(self) -> None:
        own = {"step_cost": 6.08e-5, "steps": 4077.4, "currency": "EUR"}
        self.assertEqual(wording.cost_text(own), "0.0608 EUR for 1,000")
        self.assertEqual(wording.steps_text(own), "4,077 a day for 1,000 EUR")
        rented = {"step_cost": 6.0, "steps": 166.7, "currency": "EUR/h"}
        self.assertEqual(
            (wording.cost_text(rented), wording.steps_text(rented)), ("6 EUR", "167 for 1,000 EUR")
        )
        cheaper = {"buys": {"of": "a", "price": 0.8, "speed": {"value": 0.5, "low": None, "high": None}}}
        self.assertEqual(
            wording.bought_text(cheaper), "−20 % price for 0.50 times the speed (error not known)"
        )


if __name__ == "__main__":
    unittest.main()
