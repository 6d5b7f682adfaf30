# SPDX-License-Identifier: BSD-3-Clause
"""The section of overlap/t3: gains, order, bytes and sweeps of a simulation that is no measurement."""

from __future__ import annotations

import json
import random
import re
import statistics
import unittest
from typing import Any, Callable, Dict, List, Tuple

import synthetic
import t3_records
import workplace
from t3_records import LAYERS, t3, times_of

from reports.signature import left_out, machine
from reports.signature.section import Panels, Table
from reports.signature.sections import spec_of
from reports.signature.sections.t3 import SIMULATION
from reports.page.stacked_bars import Part, Stack, draw_stacks
from tests import level

Json = Dict[str, Any]
PROGRAM = "overlap/t3"
VARIANTS = list(times_of(LAYERS["t-nlg", "op"]))
HOSTILE = '</text><script>alert("x")</script>\u202e' + "w" * 400


def changed(w: synthetic.Writer, change: Callable[[Json, Json], None]) -> str:
    """With every derived value of every case, and its case, changed."""
    for line in w.lines[1:-1]:
        for entry in line["derived"]:
            change(line, entry)
    return w.text()


def one(name: Tuple[str, str] = ("mega-gpt-2", "op")) -> synthetic.Writer:
    return t3({name: LAYERS[name]}, {})


class T3(workplace.Scratch):
    def section(self, text: str) -> Any:
        return next(s for s in self.signature(text).sections if s.group.program == PROGRAM)

    def figures(self, text: str) -> List[Any]:
        section = self.section(text)
        return spec_of(PROGRAM).figures(section)

    def table(self, text: str, head: str) -> Table:
        return next(f for f in self.figures(text) if isinstance(f, Table) and head in f.heads)

    def charts(self, text: str, words: str) -> List[str]:
        return [
            svg
            for f in self.figures(text)
            if isinstance(f, Panels) and words in f.caption
            for svg in f.drawn()
        ]


class Reading(T3):
    def test_the_means_are_those_of_the_sub_layers(self) -> None:
        found = self.section(t3().text()).results["geometric_means"]
        self.assertEqual(found["layers"], 4)
        for index, name in ((1, "t3"), (2, "t3_mca")):
            self.assertAlmostEqual(
                found["S"][name], statistics.geometric_mean(v[index] for v in LAYERS.values())
            )
        for name, alone in (("ideal", "reduce_scatter_alone"), ("ideal_adding", "reduce_scatter_adding")):
            self.assertAlmostEqual(
                found["S"][name],
                statistics.geometric_mean(t3_records.ideal(times_of(v), alone) for v in LAYERS.values()),
            )

    def test_it_is_read_in_one_sentence_that_begins_with_what_it_is(self) -> None:
        self.assertEqual(
            self.section(t3().text()).summary,
            (
                "A simulation of hardware that no device has: against one after the other, T3 is 1.19 times "
                "as fast, T3-MCA 1.36 "
                "times, the ideal 1.52 times and the ideal with adding memory 1.55 times (geometric means of "
                "4 sub-layers on 8 "
                "devices); T3 ≤ T3-MCA ≤ ideal holds in 3 of 4, not in t-nlg fc-2 (T3-MCA gains more than "
                "the ideal); without the "
                "all-gather, T3-MCA moves 30 % fewer bytes through memory (geometric mean)."
            ),
        )

    def test_one_sub_layer_has_no_mean(self) -> None:
        text = one().text()
        self.assertEqual(
            self.section(text).summary,
            (
                "A simulation of hardware that no device has: against one after the other, T3 is 1.10 times "
                "as fast, T3-MCA 1.20 "
                "times, the ideal 1.50 times and the ideal with adding memory 1.60 times (in mega-gpt-2 op "
                "on 8 devices); T3 ≤ "
                "T3-MCA ≤ ideal holds; without the all-gather, T3-MCA moves 30 % fewer bytes through memory."
            ),
        )
        self.assertEqual([row[0] for row in self.table(text, "T3-MCA / T3").rows], ["mega-gpt-2 op"])
        self.assertIn(
            "; T3 ≤ T3-MCA ≤ ideal does not hold: T3-MCA gains more than the ideal; ",
            self.section(one(("t-nlg", "fc-2")).text()).summary,
        )

    def test_a_loss_is_a_loss(self) -> None:
        slow = {("m", "op"): (4e-3, 0.8, 0.7)}
        text = t3(slow, {}).text()
        self.assertIn("T3 is 0.800 times as fast, T3-MCA 0.700 times", self.section(text).summary)
        self.assertIn("does not hold: T3 gains more than T3-MCA", self.section(text).summary)

        def triple(_: Json, entry: Json) -> None:
            entry["value"] *= 3 if (entry["variant"], entry["unit"]) == ("t3_mca", "byte") else 1

        self.assertIn("T3-MCA moves 109 % more bytes", self.section(changed(one(), triple)).summary)

    def test_a_variant_that_was_left_out_is_in_no_sentence(self) -> None:
        def keep(*variants: str) -> str:
            w = t3()
            for line in w.lines[1:-1]:
                line["derived"] = [e for e in line["derived"] if e["variant"] in variants]
            return w.text()

        self.assertTrue(
            self.section(keep("t3")).summary.endswith(
                "against one after the other, T3 is 1.19 times as fast (geometric means of 4 sub-layers on 8 "
                "devices)."
            )
        )
        self.assertIn("; T3 ≤ T3-MCA holds in all 4.", self.section(keep("t3", "t3_mca")).summary)
        self.assertEqual(
            self.section(keep("gemm_alone")).summary, SIMULATION + ". No gain was derived from 7 cases."
        )

    def test_means_are_of_sub_layers_that_have_every_value(self) -> None:
        def drop(line: Json, entry: Json) -> None:
            if line["case"]["layer"] == "op" and (entry["name"], entry["variant"]) == ("S", "t3"):
                entry.update(value=None, valid=False)

        section = self.section(changed(t3(), drop))
        self.assertIn("(geometric means of 2 of 4 sub-layers on 8 devices)", section.summary)
        self.assertAlmostEqual(section.results["geometric_means"]["S"]["t3_mca"], (1.3 * 1.75) ** 0.5)

    def test_a_modelled_value_of_a_flagged_variant_is_drawn_pale_and_in_no_mean(self) -> None:
        w = t3(sweep={})
        flag = {"flag": "mechanism_not_observed", "variant": "t3_mca", "reason": "bytes are not as counted"}
        line = w.lines[1]
        line["validity"] = {"valid": False, "flags": [flag]}
        text = w.text()
        self.assertEqual(self.section(text).results["geometric_means"]["layers"], 3)
        row = self.section(text).results["layers"][0]
        self.assertEqual(set(row["S"]), {"t3", "ideal", "ideal_adding"})
        self.assertEqual(
            (row["stagger_gain"], "t3_mca" in row["bytes"], "t3" in row["bytes"]), (None, False, True)
        )
        self.assertIn('class="track"', self.charts(text, "Ideal: the longer of")[0])
        self.assertIn("bytes are not as counted", self.charts(text, "Ideal: the longer of")[0])

    def test_without_what_all_is_compared_with_there_is_no_gain(self) -> None:
        w = one()
        for variant in ("sequential", None):
            flag = {"flag": "mechanism", "variant": variant, "reason": "not observed"}
            w.lines[1]["validity"] = {"valid": False, "flags": [flag]}
            self.assertEqual(
                self.section(w.text()).summary, SIMULATION + ". No gain can be used: mechanism: not observed."
            )

    def test_a_noisy_variant_is_used(self) -> None:
        w = one()
        w.lines[1]["validity"] = {
            "valid": True,
            "flags": [{"flag": "noisy", "variant": "t3_mca", "reason": "wide"}],
        }
        self.assertEqual(self.section(w.text()).summary, self.section(one().text()).summary)

    def test_an_equal_gain_keeps_the_order(self) -> None:
        self.assertEqual(
            self.section(one(("t-nlg", "op")).text()).results["order"], {"of": 1, "kept": 1, "broken": []}
        )

    def test_without_the_rule_the_lowest_threshold_is_read_and_named(self) -> None:
        section = self.section(t3(sweep={40: 1.0, 10: 0.9}, rule=False).text())
        self.assertEqual(
            [row["place"] for row in section.results["layers"]], ["mega-gpt-2 op, threshold 10 %"]
        )
        self.assertIn("(in mega-gpt-2 op, threshold 10 % on 8 devices)", section.summary)

    def test_types_are_told_apart_where_there_are_several(self) -> None:
        w, other = one(), one()
        other.lines[1]["case"]["type"] = "bf16"
        other.lines[1]["key"] = other.lines[1]["key"].replace("f16", "bf16")
        w.lines.insert(2, other.lines[1])
        self.assertEqual(
            [row["place"] for row in self.section(w.text()).results["layers"]],
            ["mega-gpt-2 op f16", "mega-gpt-2 op bf16"],
        )

    def test_nothing_is_said_to_be_a_simulation_too(self) -> None:
        w = t3()
        for line in w.lines[1:-1]:
            line.update(
                status="skipped", reason="this device has no GEMM of f16 that adds", derived=[], variants=[]
            )
        self.assertEqual(
            self.section(w.text()).summary,
            SIMULATION + ". Skipped: this device has no GEMM of f16 that adds.",
        )
        self.assertEqual(self.section(t3({}, {}).text()).summary, SIMULATION + ". No case was recorded.")


class Figures(T3):
    def test_every_sub_layer_has_its_bars(self) -> None:
        charts = self.charts(t3().text(), "Ideal: the longer of")
        self.assertEqual(len(charts), 4)
        self.assertEqual(
            re.findall(r'aria-label="([^"]*)"', charts[0]),
            [
                "mega-gpt-2 op: time of one after the other / time: T3 1.10; T3-MCA 1.20; ideal 1.50; ideal "
                "with adding memory 1.60"
            ],
        )

    def test_the_table_of_bytes_has_the_ratios_of_the_paper_s_count(self) -> None:
        rows = self.table(t3().text(), "communication reads").rows
        self.assertEqual([row[1:5] for row in rows], 5 * [["1.20", "2.50", "1.14", "1.43"]])
        self.assertEqual(rows[0][5:], ["688 MiB", "480 MiB"])
        self.assertEqual(rows[-1][0], "geometric mean")

    def test_bytes_below_zero_or_unknown_are_not_drawn(self) -> None:
        for number in (-1.0, None):

            def break_one(line: Json, entry: Json, number: Any = number) -> None:
                if (entry["name"], entry["variant"]) == ("computing_read_bytes", "t3_mca"):
                    entry.update(value=number, valid=number is not None)

            text = changed(one(), break_one)
            self.assertNotIn("fewer bytes", self.section(text).summary)
            chart = self.charts(text, "which is the same in both")[0]
            self.assertIn(">sequential<", chart)
            self.assertNotIn(">T3-MCA<", chart)

    def test_a_sweep_marks_what_the_rule_chose(self) -> None:
        (chart,) = self.charts(t3().text(), "Rule: what the program chooses")
        self.assertIn(">rule<", chart)
        self.assertEqual(len(re.findall(r'class="dot f0"', chart)), len(t3_records.SWEEP))
        self.assertIn("rule, 35: 1.20", chart)
        self.assertIn(">T3<", chart)

    def test_a_choice_of_the_whole_queue_is_marked_too(self) -> None:
        w = t3()
        w.lines[1]["facts"]["threshold_used"] = 1.0
        self.assertIn("rule, 100: 1.20", self.charts(w.text(), "Rule: what the program chooses")[0])

    def test_one_given_threshold_is_no_sweep(self) -> None:
        self.assertEqual(self.charts(t3(sweep={40: 1.0}).text(), "Rule: what the program chooses"), [])

    def test_the_split_has_both_sides_and_what_is_possible(self) -> None:
        table = self.table(one().text(), "S, undivided")
        self.assertEqual(
            table.heads[1:],
            [
                "S, undivided",
                *(
                    head % units
                    for units in (8, 16)
                    for head in ("allreduce on %d", "GEMM without %d", "S with %d units")
                ),
            ],
        )
        self.assertEqual(
            table.rows[0][1:],
            ["1.50", "1.41", "1.10", "%.2f" % (12 / (8 * 1.41)), "1.07", "1.21", "%.2f" % (12 / (8 * 1.07))],
        )

    def test_the_stagger_and_the_tracker_are_in_a_table(self) -> None:
        row = self.table(one().text(), "S, not staggered").rows[0]
        self.assertEqual(row[1:], ["1.20", "1.09", "1.10", "1.11", "12 %", "200"])

    def test_many_sub_layers_are_counted_where_they_are_not_drawn(self) -> None:
        many = {("model %d" % i, layer): (4e-3, 1.1, 1.2) for i in range(30) for layer in ("op", "ip")}
        figures = self.figures(t3(many, {}).text())
        self.assertIn("48 more sub-layers are in the tables.", figures[0].caption)
        self.assertEqual(len(figures[0].charts), 12)
        self.assertEqual(len(figures[1].rows), 41)

    def test_segments_are_as_long_as_their_values(self) -> None:
        parts = [Part("a", 0), Part("b", 1, 0.5)]
        svg = draw_stacks(
            "t", parts, [Stack("g", "one", [30.0, 10.0]), Stack("g", "two", [0.0, 40.0])], "byte", 40.0
        )
        found = re.findall(r'<rect class="f\d" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"[^>]*><title', svg)
        bars = [(float(x), float(width)) for x, width in found]
        self.assertEqual([round(w / 190.0, 3) for _, w in bars], [0.75, 0.25, 0.0, 1.0])
        self.assertAlmostEqual(bars[0][0] + bars[0][1], bars[1][0], delta=0.11)
        self.assertIn('aria-label="t: B: g, one 40; g, two 40"', svg)

    def test_hostile_names_stay_text(self) -> None:
        svg = draw_stacks(HOSTILE, [Part(HOSTILE, 0)], [Stack(HOSTILE, HOSTILE, [1.0])], HOSTILE, 1.0)
        self.assertNotIn("<script", svg)


class NoMeasurement(T3):
    def test_no_value_enters_the_signature(self) -> None:
        signature = self.signature(t3().text())
        self.assertEqual(signature.json["metrics"], {})
        self.assertEqual(json.loads(signature.text())["metrics"], {})
        section = signature.json["programs"][PROGRAM]
        self.assertEqual((section["curves"], section["facts"], section["mechanism"]), ([], {}, []))
        self.assertTrue(section["results"]["simulated"])

    def test_it_changes_nothing_of_a_measured_machine(self) -> None:
        alone, both = (self.signature(synthetic.launch().text() + more) for more in ("", t3().text()))
        for name in (
            "metrics",
            "simulated",
            "devices",
            "primary_missing",
            "not_measured",
            "invalid",
            "findings",
        ):
            self.assertEqual(both.json[name], alone.json[name], name)
        self.assertEqual(machine.verdict(both), machine.verdict(alone))
        self.assertEqual(machine.warnings(both.json), machine.warnings(alone.json))

    @unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
    def test_the_page_says_it_in_the_first_sentence_of_the_section(self) -> None:
        self.run_build(t3().text())
        page = self.plain_page()
        self.assertIn(
            '<p class="summary">A simulation of hardware that no device has: against one after the other, T3',
            page,
        )
        for text in re.findall(
            r"<figcaption>(.*?)</figcaption>", page.split('id="overlap-t3')[1].split('id="provenance"')[0]
        ):
            self.assertTrue(text.startswith("Simulated, not measured: "), text)

    def test_where_it_cannot_run_it_is_one_line_like_any_other(self) -> None:
        reasons = {
            PROGRAM: "cuda:0-7 does not support memory_adds",
            "micro/priority": "cuda:0-7 does not support priority",
        }
        without = self.signature(synthetic.launch().text())
        skipped = self.signature(
            synthetic.launch().text()
            + "".join(synthetic.unstarted(name, "skipped", why) for name, why in reasons.items())
        )
        self.assertEqual(
            [
                (n.kind, n.head, n.text)
                for n in left_out.skipped(skipped.json)
                if n not in left_out.skipped(without.json)
            ],
            [("skipped", "%s: skipped" % name, why) for name, why in sorted(reasons.items())],
        )
        self.assertNotIn(PROGRAM, skipped.json["programs"])
        self.assertEqual(machine.verdict(skipped), machine.verdict(without))


class Property(T3):
    def test_whatever_is_missing_null_or_flagged_the_means_are_those_of_what_is_left(self) -> None:
        for seed in range(level.seeds(10, 20, 100)):
            draw = random.Random(seed)
            w = t3()
            for line in w.lines[1:-1]:
                kept = []
                for entry in line["derived"]:
                    fate = draw.random()
                    if fate < 0.05:
                        entry.update(value=None, valid=False)
                    elif fate < 0.1:
                        entry.update(valid=False, reason="flagged")
                    if fate < 0.9:
                        kept.append(entry)
                line["derived"] = kept
                if draw.random() < 0.3:
                    flag = {
                        "flag": draw.choice(["mechanism", "noisy"]),
                        "variant": draw.choice(VARIANTS),
                        "reason": "a reason",
                    }
                    line["validity"] = {"valid": flag["flag"] == "noisy", "flags": [flag]}
                for fact in [f for f in line["facts"] if draw.random() < 0.2]:
                    line["facts"][fact] = draw.choice([None, "text", 0, -1.5])
            with self.subTest(seed=seed):
                self.holds(w)

    def holds(self, w: synthetic.Writer) -> None:
        section = self.section(w.text())
        self.assertRegex(section.summary, r"\A%s.*\.\Z" % SIMULATION)
        for bad in ("None", "nan", "inf "):
            self.assertNotIn(bad, section.summary)
        self.assertTrue(spec_of(PROGRAM).figures(section))
        wanted = {
            "t3": ("S", "t3"),
            "t3_mca": ("S", "t3_mca"),
            "ideal": ("S_ideal", None),
            "ideal_adding": ("S_ideal_adding", None),
        }
        alone = {
            "t3": {"t3"},
            "t3_mca": {"t3_mca"},
            "ideal": {"gemm_alone", "all_gather_alone", "reduce_scatter_alone"},
            "ideal_adding": {"gemm_alone", "all_gather_alone", "reduce_scatter_adding"},
        }
        rows = []
        for line in w.lines[1:-1]:
            if line["case"]["threshold"] == 0:
                wrong = {f["variant"] for f in line["validity"]["flags"] if f["flag"] == "mechanism"}
                valid = {(e["name"], e["variant"]): e["value"] for e in line["derived"] if e["valid"]}
                rows.append(
                    {
                        name: valid[key]
                        for name, key in wanted.items()
                        if key in valid and not wrong & (alone[name] | {"sequential"})
                    }
                )
        names = {name for row in rows for name in row}
        whole = [row for row in rows if set(row) == names]
        means = section.results["geometric_means"]
        self.assertEqual(means["layers"], len(whole))
        for name in names if whole else ():
            self.assertAlmostEqual(means["S"][name], statistics.geometric_mean(row[name] for row in whole))
        gains = [[row[name] for name in ("t3", "t3_mca", "ideal") if name in row] for row in rows]
        judged = [own for own in gains if len(own) > 1]
        kept = [own for own in judged if all(a <= 1.001 * b for a, b in zip(own, own[1:]))]
        self.assertEqual(
            (section.results["order"]["of"], section.results["order"]["kept"]), (len(judged), len(kept))
        )


if __name__ == "__main__":
    unittest.main()
