# SPDX-License-Identifier: BSD-3-Clause
"""The first screen: three questions answered, what is left out by reason, and the words that a reader may not
know."""

from __future__ import annotations

import re
import unittest
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

import synthetic
import workplace
from reports.page import glossary
from reports.records import causes
from reports.signature import answers, left_out
from reports.signature.headline import headline as headline_of
from reports.signature.machine import unknown_nominal, warnings
from reports.signature.section import Finding
from reports.signature.signature import Signature


def headline(
    name: str, value: float, unit: str = "1", better: str = "higher", width: float = 0.0, **more: Any
) -> Dict[str, Any]:
    program = more.pop("program", "gemm/efficiency")
    return {
        "%s/%s" % (program, name): dict(
            {
                "program": program,
                "value": value,
                "unit": unit,
                "better": better,
                "ci_low": value * (1 - width),
                "share": None,
                "ci_high": value * (1 + width),
                "bound_name": None,
                "condition": "",
                "variant": "hetero-fused-1d",
            },
            **more,
        )
    }


def machine(*entries: Dict[str, Any], simulated: bool = False, devices: int = 1) -> Signature:
    found: Signature = Signature.__new__(Signature)
    found.__dict__.update(
        sections=[],
        json={
            "simulated": simulated,
            "device": "cuda",
            "devices": {"cuda[%d]" % i: {} for i in range(devices)},
            "programs": {},
            "metrics": {name: dict(e, primary=True) for entry in entries for name, e in entry.items()},
        },
    )
    return found


PEAK = {"share": 0.94, "bound_name": "measured peak"}


class Answers(unittest.TestCase):
    def test_the_best_number_of_each_kind_is_in_the_first_sentence(self) -> None:
        self.assertEqual(
            answers.good(
                machine(
                    headline("gemm_f64_flop_rate", 1e12, "flop/s"),
                    headline("gemm_f32_flop_rate", 2e12, "flop/s", **PEAK),
                    headline("memory_read_bandwidth", 2e11, "byte/s"),
                    headline("up_engine_bandwidth", 2e10, "byte/s"),
                    headline("up_kernel_bandwidth", 1e10, "byte/s"),
                    headline("launch_round_trip", 5e-7, "s", "lower"),
                )
            ),
            "GEMMs of f32 reach 2 TFLOP/s (94 % of measured peak), memory reads reach 200 GB/s, H2D "
            "copies reach 20 GB/s and launch to completion takes 500 ns.",
        )

    def test_the_first_sentence_is_of_the_type_that_the_device_is_bought_for(self) -> None:
        types = {
            name: headline("gemm_%s_flop_rate" % name, value, "flop/s", share=0.5, bound_name="nominal")
            for name, value in (("f8", 2e15), ("bf16", 1e15), ("f16", 1.1e15), ("f32", 1e14), ("f64", 2e14))
        }
        bf16_unknown = headline("gemm_bf16_flop_rate", 1e13, "flop/s", **PEAK)
        for entries, said in (
            (types.values(), "bf16 reach 1,000 TFLOP/s (50 % of nominal)"),
            ((bf16_unknown, types["f16"], types["f32"]), "f16 reach 1,100 TFLOP/s (50 % of nominal)"),
            ((types["f32"], types["f64"]), "f32 reach 100 TFLOP/s (50 % of nominal)"),
            ((bf16_unknown, headline("gemm_f8_flop_rate", 2e13, "flop/s")), "bf16 reach 10"),
            ((headline("gemm_f8_fast_flop_rate", 2e13, "flop/s"),), "f8 reach 20"),
        ):
            with self.subTest(said=said):
                self.assertIn("GEMMs of " + said, answers.good(machine(*entries)))

    def test_unknown_nominal_rates_have_their_reason(self) -> None:
        def device(**fields: Any) -> Dict[str, Any]:
            return {"device": "cuda", "devices": {"cuda[0]": fields}}

        self.assertEqual(unknown_nominal(device()), "")  # of an older record
        self.assertEqual(unknown_nominal(device(nominal={"unknown": None})), "")
        self.assertEqual(unknown_nominal(device(nominal="?")), "")
        self.assertEqual(
            unknown_nominal(device(nominal={"unknown": "no row"})), "Nominal rates are unknown: no row."
        )

    def test_a_model_says_so_and_nothing_says_nothing(self) -> None:
        self.assertTrue(
            answers.good(
                machine(headline("memory_read_bandwidth", 1e9, "byte/s"), simulated=True)
            ).startswith("By this model, memory reads")
        )
        self.assertEqual(answers.good(machine()), "")
        self.assertEqual(answers.answers(machine(devices=2)), [])
        self.assertEqual(
            [question for question, _ in answers.answers(machine(headline("novel_speed", 1.0)))],
            ["What is it good at, and what not?"],
        )

    def pairs(self, devices: int, measured: int, lowest: float, *findings: str) -> Signature:
        """A peer copy of 52 GB/s is 100 % of nominal; the median of all pairs is 51."""
        entry = headline("peer_engine_bandwidth", 5.2e10, "byte/s", share=1.0, bound_name="nominal")
        signature = machine(entry, devices=devices)
        pairs = {
            "variant": "engine",
            "pairs": measured,
            "median": 5.1e10,
            "lowest": lowest,
            "highest": 5.2e10,
            "lowest_devices": "0 to 3",
        }
        signature.json["programs"] = {"micro/peer_matrix": {"results": {"pairs": [pairs] * bool(measured)}}}
        section = SimpleNamespace(
            group=SimpleNamespace(program="micro/peer_matrix", run=SimpleNamespace(cliff=None)),
            findings=[Finding("Slow pair.", text) for text in findings],
        )
        signature.__dict__["sections"] = [section]
        return signature

    def test_copies_to_another_device_are_those_of_all_pairs(self) -> None:
        for signature, said in (
            (self.pairs(4, 0, 0), "52 GB/s (100 % of nominal) (1 of 12 pairs measured)."),
            (self.pairs(4, 12, 5.1e10), "52 GB/s (100 % of nominal)."),
            (self.pairs(4, 12, 1.3e10), "51 GB/s (median of 12 pairs)."),
            (self.pairs(2, 2, 1.3e10), "52 GB/s (100 % of nominal)."),
        ):
            with self.subTest(said):
                self.assertEqual(answers.good(signature), "P2P copies reach " + said)

    def test_the_slow_link_is_named_and_is_a_weakness(self) -> None:
        slow = "From device 0 to device 3: 13 GB/s, 0.25 of the usual rate."
        signature = self.pairs(4, 12, 1.3e10, slow)
        self.assertIn((answers.LINKS, slow), answers.answers(signature))
        self.assertIn("Worst: copies from 0 to 3 reach 25 % of", answers.at_what(signature))

    def test_that_no_link_is_slow_is_said_of_all_pairs_alone(self) -> None:
        for signature, said in (
            (self.pairs(4, 12, 5.1e10), "None of all 12 directions is slower than others of its kind: 51 "),
            (self.pairs(4, 1, 5.1e10), "Not known: 1 of 12 pairs were measured, at 51 GB/s to 52 GB/s."),
            (self.pairs(4, 0, 0), "Not known: no pair of devices was measured."),
        ):
            with self.subTest(said):
                self.assertTrue(answers.which_link(signature).startswith(said), answers.which_link(signature))
        self.assertEqual(answers.which_link(machine()), "")

    def test_strong_and_weak_points_are_told_apart(self) -> None:
        text = answers.at_what(
            machine(
                headline("gemm_bf16_flop_rate", 9e14, "flop/s", **PEAK),
                headline("cil_gemm_with_engine_up", 2.5, better="lower", width=0.1),
            )
        )
        self.assertEqual(
            text,
            "Best: GEMMs of bf16 reach 94 % of measured peak. Worst: a GEMM concurrent with an H2D engine "
            "copy takes 2.50 times as long as alone.",
        )

    def test_what_an_interval_leaves_open_is_neither(self) -> None:
        for entry in (
            headline("cil_gemm_with_engine_up", 1.3, better="lower", width=0.3),
            headline("gemm_f32_flop_rate", 1e12, "flop/s", width=0.3, **PEAK),
            headline("ficco_shard_speedup", 1.1, width=0.2),
            headline("overlap_efficiency_engine", 0.4, width=0.5),
            dict(headline("ficco_shard_speedup", 9.0, ci_low=None, ci_high=None)),
        ):
            with self.subTest(entry=list(entry)):
                self.assertEqual(
                    answers.at_what(machine(entry)),
                    "No headline number is clearly near its limit or clearly far from it.",
                )

    def test_a_loss_that_may_be_a_gain_is_not_called_a_loss(self) -> None:
        entry = headline("overlap_efficiency_engine", -0.01, ci_low=-0.4, ci_high=0.3)
        self.assertEqual(
            answers.at_what(machine(entry)),
            "Worst: overlapping a GEMM with an engine copy reaches at most 30 % of the ideal gain.",
        )

    def test_a_loss_is_called_a_loss(self) -> None:
        entry = headline("overlap_efficiency_engine", -0.5, ci_low=-0.6, ci_high=-0.4)
        text = answers.at_what(machine(entry))
        self.assertEqual(
            text,
            "Worst: overlapping a GEMM with an engine copy loses time.",
        )
        self.assertIn(
            "the schedule hetero-fused-1d takes 2.00 times as long as",
            answers.at_what(machine(headline("ficco_shard_speedup", 0.5))),
        )

    def test_without_a_weakness_it_says_so(self) -> None:
        self.assertTrue(
            answers.at_what(machine(headline("overlap_efficiency_kernel", 0.95))).endswith(
                "Nothing is far from its limit."
            )
        )
        half = headline("gemm_f32_flop_rate", 1e12, "flop/s", share=0.6, bound_name="nominal")
        self.assertTrue(
            answers.at_what(machine(headline("overlap_efficiency_kernel", 0.95), half)).endswith(
                "Farthest from its limit: GEMMs of f32 reach 60 % of nominal."
            )
        )


class LeftOut(workplace.Scratch):
    def heads(self, *flags: List[str]) -> List[str]:
        entries = [
            {
                "program": "micro/%d" % (i % 8),
                "flags": list(f),
                "cause": causes.of_flags(f),
                "reason": "; ".join("%s: so" % x for x in f) or "no",
            }
            for i, f in enumerate(flags)
        ]
        return ["%s | %s" % (note.head, note.text) for note in left_out._invalid({"invalid": entries})]

    def test_values_are_counted_by_what_is_wrong_with_them_and_wrong_ones_come_first(self) -> None:
        self.assertEqual(
            self.heads(["contended"], ["noisy", "contended"], ["above_bound", "noisy"], []),
            [
                "1 value invalid: above bound | micro/2 1; for example: so; so",
                "1 value invalid: without a value | micro/3 1; for example: no",
                "2 values invalid: contended | micro/0 1 and micro/1 1; for example: so",
            ],
        )

    def test_many_programs_are_counted(self) -> None:
        (found,) = self.heads(*[["contended"]] * 8)
        self.assertIn("micro/5 1 and 2 more programs", found)

    def test_cases_that_time_did_not_reach_are_one_note(self) -> None:
        first, second = synthetic.launch(), synthetic.memory()
        for writer, count in ((first, 3), (second, 1)):
            writer.lines[-1]["cases"]["out_of_budget"] = count
        notes = left_out.skipped(self.signature(first.text() + second.text()).json)
        self.assertEqual(
            [(n.head, n.text) for n in notes if "not reached" in n.head],
            [("4 cases not reached before the run ended", "micro/launch 3 and micro/memory 1")],
        )

    def test_cases_of_a_program_whose_headline_cases_alone_were_started_were_not_reached(self) -> None:
        for words, expected in (
            (["--done", "f", "--headline"], ["9 cases not reached before the run ended"]),
            (
                ["--done", "f", "--headline", "--headline-variants"],
                ["9 cases not reached before the run ended"],
            ),
            (["--done", "f", "--headline", "--min-samples", "6", "--headline-variants"], []),
            (["--headline"], []),
        ):
            one = synthetic.launch()
            one.lines[0]["argv"] += words
            counts = one.lines[-1]["cases"]
            counts["total"] = sum(counts[name] for name in ("ok", "failed", "skipped", "already_done")) + 9
            notes = left_out.skipped(self.signature(one.text()).json)
            self.assertEqual([n.head for n in notes if "not reached" in n.head], expected)


class State(workplace.Scratch):
    def test_telemetry_of_more_than_four_lines_ends_in_an_ellipsis(self) -> None:
        state = {"state_%02d" % i: synthetic.telemetry("x" * 20) for i in range(20)}
        text = headline_of(self.signature(synthetic.launch(device={"state": state}).text()))
        lines = [line for line in text.splitlines() if "x" * 20 in line]
        self.assertEqual(len(lines), 4, text)
        self.assertTrue(lines[-1].endswith(" …") and len(lines[-1]) <= 80, lines)


class HardwareOfAModel(workplace.Scratch):
    TEXT = (
        "The model has hardware that no device has: memory that adds, a tracker and a memory controller that "
        "distinguishes computing from communication."
    )

    def test_page_and_terminal_say_what_no_device_has(self) -> None:
        device = {"capabilities": ["gemm", "memory_adds", "tracker", "memory_control"]}
        signature = self.signature(synthetic.launch(simulated=True, device=device).text())
        self.assertTrue(
            warnings(signature.json)[0].text.endswith("nothing about a real machine. " + self.TEXT)
        )
        self.assertIn(self.TEXT, " ".join(headline_of(signature).split()))

    def test_any_other_simulated_device_has_nothing_of_it(self) -> None:
        for capabilities in (["gemm", "unit_mask"], None, [1, None]):
            signature = self.signature(
                synthetic.launch(simulated=True, device={"capabilities": capabilities}).text()
            )
            self.assertNotIn("no device has", headline_of(signature))


class OutOfCore(workplace.Scratch):
    def summary(self, speedup: float, fraction: Optional[float]) -> str:
        axes = [
            synthetic.axis(name, "", [value])
            for name, value in (("type", "f32"), ("shape", "n512"), ("pieces", "16"))
        ]
        w = synthetic.Writer("overlap/out_of_core", [], axes)
        w.case(
            {"type": "f32", "shape": "n512", "pieces": 16},
            [w.variant("serial", 2e-3), w.variant("pipelined", 2e-3 / speedup)],
            [
                synthetic.value("S_ideal", None, 1.6),
                synthetic.value("S", "pipelined", speedup),
                synthetic.value("fraction_of_ideal", "pipelined", fraction),
            ],
        )
        w.end()
        return self.signature(w.text()).sections[0].summary

    def test_the_best_case_is_told_with_its_ideal(self) -> None:
        self.assertEqual(
            self.summary(1.5, 0.83),
            (
                "With A and C in host memory and the transfers cut into pieces, a GEMM is at best 1.50 times "
                "as fast as after whole "
                "transfers (f32, n512, 16 pieces); the ideal is 1.60 times, of which it gains 83 %."
            ),
        )
        self.assertTrue(
            self.summary(0.9, -0.17).endswith(
                "the ideal is 1.60 times, and cutting costs more than it hides."
            )
        )


class Glossary(unittest.TestCase):
    def test_every_word_has_one_line_and_an_anchor_of_its_own(self) -> None:
        words = glossary.words()
        self.assertGreater(len(words), 60)
        self.assertEqual(len({w.anchor for w in words}), len(words))
        spellings = [s for w in words for s in w.linked]
        self.assertEqual(len(set(spellings)), len(spellings))
        for word in words:
            with self.subTest(word.term):
                self.assertRegex(word.anchor, r"^word-[a-z0-9-]+$")
                self.assertTrue(20 <= len(word.text) <= 200 and word.text.endswith("."), word.text)

    def test_what_a_reader_would_look_up_is_there(self) -> None:
        spellings = {s for w in glossary.words() for s in (w.term, *w.linked)}
        for term in (
            "DIL",
            "CIL",
            "copy method",
            "rd-l",
            "bine",
            "g5",
            "normalised time",
            "S_ideal",
            "busbw",
            "copy engine",
        ):
            self.assertIn(term, spellings)

    def test_a_word_is_linked_once_and_only_as_a_whole_word(self) -> None:
        linked = glossary.Linker()
        text = linked("DIL and DIL; XDIL, swing-b/x, a swing-b, copy engines")
        self.assertEqual(re.findall(r">([^<]+)</a>", text), ["DIL", "swing-b", "copy engine"])
        self.assertNotIn("<a", linked("DIL"))
        self.assertIn("<a", glossary.Linker()("DIL"))

    def test_text_is_escaped_whatever_it_holds(self) -> None:
        text = glossary.Linker()('<b>DIL</b> & "x" &lt;GEMM')
        self.assertEqual(
            re.sub(r"</?a[^>]*>", "", text), "&lt;b&gt;DIL&lt;/b&gt; &amp; &#34;x&#34; &amp;lt;GEMM"
        )

    def test_a_text_that_is_a_link_gets_a_mark_with_a_name(self) -> None:
        self.assertRegex(glossary.Linker().marks("GEMM DIL m8"), r'aria-label="what DIL means">\?</a>$')

    def test_lines_are_parsed(self) -> None:
        word, other = glossary.parse("# no\n\nα, alpha, [A] = Start = time.\n[up] = Host to device.\n")
        self.assertEqual(
            (word.term, word.linked, word.text, word.anchor),
            ("α", ("α", "alpha"), "Start = time.", "word-alpha"),
        )
        self.assertEqual((other.term, other.linked), ("up", ()))


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Page(workplace.Scratch):
    def test_every_link_within_the_page_leads_somewhere(self) -> None:
        self.example()
        page = self.page()
        anchors = re.findall(r' id="([^"]+)"', page)
        self.assertEqual(len(anchors), len(set(anchors)))
        for target in re.findall(r'href="#([^"]+)"', page):
            self.assertIn(target, anchors)

    def test_the_three_questions_come_before_everything_else_in_page_and_terminal(self) -> None:
        _, out, _ = self.example()
        for text in (re.sub(r"<[^>]*>", "\n", self.page().split("<body>")[1]), out):
            places = [text.index(q) for q in (*answers.QUESTIONS, "How far can this run be trusted?")]
            self.assertTrue(all(place >= 0 for place in places))
            self.assertLess(places[0], places[1])
        self.assertLess(
            self.page().index("How far can this run be trusted?"), self.page().index('id="headline"')
        )

    def test_long_sections_show_one_figure_and_fold_the_others(self) -> None:
        self.example()
        self.assertRegex(self.page(), r"<summary>\d+ more charts and tables</summary>")

    def test_the_foot_of_paper_is_a_string_whatever_the_name(self) -> None:
        writer = synthetic.launch()
        writer.lines[0]["device"][0]["name"] = 'x"; } body { display: none } </style>\\'
        self.run_build(writer.text())
        foot = re.search(r'@bottom-left \{ content: "([^"]*)"', self.page()).group(1)
        self.assertNotRegex(foot, r"[{}<>;]")
        self.assertEqual(self.page().count("</style>"), 1)


if __name__ == "__main__":
    unittest.main()
