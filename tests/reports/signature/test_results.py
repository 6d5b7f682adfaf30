# SPDX-License-Identifier: BSD-3-Clause
"""Results that follow from the curves of each program have the truth that it was given."""

from __future__ import annotations

import json
import random
import unittest
from dataclasses import replace
from unittest.mock import patch

import synthetic
import workplace
from record_writer import L1, UNITS, Writer, axis
from synthetic import copies, everything, launch, memory, split, value

from reports.signature import machine, sections
from reports.records.fits import fit_line
from reports.signature.headline import headline as headline_of
from reports.signature.section import Finding, Table
from reports.signature.sections import generic, spec_of


class Findings(workplace.Scratch):
    def test_what_is_wrong_with_the_machine_is_on_the_first_screen(self) -> None:
        found = [Finding("Slow pair.", "0 to 3: a quarter of the others.")]
        spec = replace(spec_of("micro/launch"), findings=lambda section: found)
        with patch.dict(sections.SPECS, {"micro/launch": spec}):
            signature = self.signature(launch().text())
            self.assertEqual(
                signature.json["findings"],
                [
                    {
                        "program": "micro/launch",
                        "device": "host",
                        "head": "Slow pair.",
                        "text": "0 to 3: a quarter of the others.",
                    }
                ],
            )
            self.assertIn(
                ("Slow pair.", "0 to 3: a quarter of the others."),
                [(note.head, note.text) for note in machine.warnings(signature.json)],
            )
            self.assertIn("! Slow pair. 0 to 3: a quarter of the others.", headline_of(signature))


class Truth(workplace.Scratch):
    def results(self, text: str, program: str) -> dict:
        return self.signature(text).json["programs"][program]["results"]

    def test_alpha_and_beta_are_recovered(self) -> None:
        fits = {f["variant"]: f for f in self.results(copies().text(), "micro/copy_path")["fits"]}
        for variant, alpha, rate in (
            ("engine", synthetic.ALPHA_S, synthetic.ENGINE_RATE),
            ("kernel", synthetic.KERNEL_ALPHA_S, synthetic.KERNEL_RATE),
        ):
            fit = fits[variant]
            self.assertAlmostEqual(fit["alpha_s"] / alpha, 1, delta=0.01)
            self.assertAlmostEqual(fit["bandwidth"] / rate, 1, delta=0.01)
            self.assertAlmostEqual(fit["half_size_byte"] / (alpha * rate), 1, delta=0.02)
            self.assertFalse(fit["poor"])

    def test_the_interval_of_alpha_covers_it_as_often_as_it_says(self) -> None:
        covered = 0
        for seed in range(100):
            noise = random.Random(seed)
            fit = fit_line(
                [
                    (x, (1e-5 + x / 1e10) * (1 + 0.02 * noise.gauss(0, 1)))
                    for x in (4096 << i for i in range(12))
                ]
            )
            covered += fit.alpha_ci[0] <= 1e-5 <= fit.alpha_ci[1]
        self.assertGreaterEqual(covered, 88)
        self.assertLessEqual(covered, 99)

    def test_a_curve_that_is_no_line_says_so(self) -> None:
        w = synthetic.Writer("micro/copy_path", [], [synthetic.axis("size", "byte", [])])
        for i, size in enumerate([4096, 65536, 1 << 20, 1 << 24]):
            w.case({"size": size}, [w.variant("engine", (3 if i == 2 else 1) * (1e-6 + size / 1e10), size)])
        signature = self.signature(w.end().text())
        self.assertTrue(signature.json["programs"]["micro/copy_path"]["results"]["fits"][0]["poor"])
        self.assertFalse([n for n in signature.json["metrics"] if "fit_" in n])

    def test_products_with_fast_accumulation_are_told_apart(self) -> None:
        w = synthetic.Writer(
            "gemm/efficiency", [], [synthetic.axis("type", "", []), synthetic.axis("shape", "", [])]
        )
        w.case(
            {"type": "f8", "shape": "n64"},
            [w.variant("gemm", 2e-3), w.variant("gemm_fast", 1e-3)],
            [value("flop_rate", "gemm", 1e11, "flop/s"), value("flop_rate", "gemm_fast", 2e11, "flop/s")],
        )
        found = self.results(w.end().text(), "gemm/efficiency")
        self.assertEqual({r["type"]: r["value"] for r in found["rates"]}, {"f8": 1e11, "f8 fast": 2e11})

    def test_operations_on_integers_are_no_flops(self) -> None:
        w = synthetic.Writer(
            "gemm/efficiency", [], [synthetic.axis("type", "", []), synthetic.axis("shape", "", [])]
        )
        for kind, rate, unit in (("f8", "flop_rate", "flop/s"), ("i8", "op_rate", "op/s")):
            w.case(
                {"type": kind, "shape": "n64"}, [w.variant("gemm", 2e-3)], [value(rate, "gemm", 1e11, unit)]
            )
        text = w.end().text()
        found = self.results(text, "gemm/efficiency")
        self.assertEqual({r["type"]: r["unit"] for r in found["rates"]}, {"f8": "flop/s", "i8": "op/s"})
        summary = self.signature(text).json["programs"]["gemm/efficiency"]["summary"]
        self.assertRegex(summary, r"f8: at best 100 GFLOP/s .*; i8: at best 100 GOP/s ")

    def test_peaks_of_matrix_units_are_no_products_and_bound_them(self) -> None:
        peaks = [
            synthetic.headline(
                "wgmma_peak_f16_flop_rate", "flop_rate", {"type": "f16"}, "wgmma_peak", "flop/s"
            ),
            synthetic.headline("gemm_f16_flop_rate", "flop_rate", {"type": "f16"}, "gemm", "flop/s"),
        ]
        w = synthetic.Writer(
            "gemm/efficiency", peaks, [synthetic.axis("type", "", []), synthetic.axis("shape", "", [])]
        )
        w.case(
            {"type": "f16", "shape": "n64"},
            [w.variant(name, 1e-3) for name in ("gemm", "mma_peak", "wgmma_peak")],
            [
                value("flop_rate", "gemm", 1e11, "flop/s", bound=4e11, bound_name="measured wgmma peak"),
                value("fraction_of_peak", "gemm", 0.25),
                value("flop_rate", "mma_peak", 2e11, "flop/s"),
                value("flop_rate", "wgmma_peak", 4e11, "flop/s"),
                value("peak_flop_rate", "wgmma_peak", 4e11, "flop/s"),
            ],
        )
        text = w.end().text()
        found = self.results(text, "gemm/efficiency")
        self.assertEqual([(r["variant"], r["of_peak"]) for r in found["rates"]], [("gemm", 0.25)])
        primary = self.signature(text).primary
        self.assertEqual(
            {name.rpartition("/")[2]: (entry["value"], entry["bound"]) for name, entry in primary.items()},
            {"wgmma_peak_f16_flop_rate": (4e11, None), "gemm_f16_flop_rate": (1e11, 4e11)},
        )

    def test_crossover_is_recovered(self) -> None:
        duel = self.results(copies().text(), "micro/copy_path")["crossovers"][0]
        self.assertEqual(len(duel["crossings"]), 1)
        crossing = duel["crossings"][0]
        self.assertEqual((crossing["from"], crossing["to"]), ("kernel", "engine"))
        self.assertAlmostEqual(crossing["size_byte"] / synthetic.CROSSOVER, 1, delta=0.15)
        self.assertLess(crossing["below"], synthetic.CROSSOVER)
        self.assertGreater(crossing["above"], synthetic.CROSSOVER)

    def test_blocks_to_saturate(self) -> None:
        found = self.results(copies().text(), "micro/copy_path")["saturation"][0]
        self.assertEqual(found["blocks"], 4)

    def test_latency_levels(self) -> None:
        levels = self.results(synthetic.latency().text(), "micro/latency")["levels"]
        self.assertEqual({e["level"]: e["value"] for e in levels}, synthetic.LEVEL_LATENCIES)
        self.assertIn(
            "from L1", self.signature(synthetic.latency().text()).json["programs"]["micro/latency"]["summary"]
        )

    def test_cache_levels(self) -> None:
        levels = self.results(memory().text(), "micro/memory")["levels"][0]["levels"]
        self.assertEqual([e["level"] for e in levels], ["L1", "L2", "LLC", "memory"])
        for entry in levels:
            self.assertAlmostEqual(entry["value"] / synthetic.LEVEL_RATES[entry["level"]], 1, delta=0.01)

    def test_least_l1_is_no_l1(self) -> None:
        """On a device whose units divide memory, a footprint of almost a unit's L1 comes from the next level
        without most of it."""
        w = Writer("micro/memory", [], [axis("footprint", "byte", [])], device={"l2_bytes": 0})
        for footprint, regular, least in ((L1 * UNITS * 5 // 8, 20e12, 7e12), (L1 * UNITS * 2, 6e12, 7e12)):
            w.case(
                {"footprint": footprint},
                [
                    w.variant(name, footprint / rate, footprint)
                    for name, rate in (("regular", regular), ("regular_min_l1", least))
                ],
            )
        found = self.results(w.end().text(), "micro/memory")["levels"]
        self.assertEqual(
            {e["variant"]: {f["level"]: round(f["value"] / 1e12) for f in e["levels"]} for e in found},
            {"regular": {"L1": 20, "LLC": 6}, "regular_min_l1": {"LLC": 7}},
        )

    def test_dil_and_the_rule(self) -> None:
        found = self.results(split().text(), "gemm/split")
        rows = next(e for e in found["dil"] if e["cut"] == "m")
        self.assertEqual(rows["pieces"], [2, 4, 8])
        self.assertEqual(rows["dil"], [1.2, 1.4, 1.8])
        self.assertEqual(found["rule"]["asked"][0]["predicted"], "k")
        self.assertEqual(found["rule"]["right"], 1)

    def test_a_trigger_is_read_at_its_best_case(self) -> None:
        found = self.results(synthetic.trigger().text(), "overlap/trigger")
        self.assertEqual(
            (found["trigger"], found["best"]["variant"], found["best"]["bands"]),
            ("software", "triggered", 16),
        )
        self.assertAlmostEqual(found["best"]["value"], 1.01 * 1.8 / 1.1)
        self.assertEqual(
            {(r["variant"], r["bands"]) for r in found["library"]},
            {(v, b) for v in ("split", "triggered") for b in (4, 16)},
        )
        text = self.signature(synthetic.trigger().text()).json["programs"]["overlap/trigger"]["summary"]
        for part in (
            "software trigger gains in 2 of 2 cases: at best, GEMM and send are 1.65 times as fast as the "
            "same GEMM",
            "16 bands); they are 1.64 times as fast as the library's GEMM, a different one, followed by the "
            "send",
            "; one library GEMM for each band, each sent when it ends, is 1.12 times as fast as that",
            "; the first byte arrives after 6.2 % of the time that it takes when the whole is sent at the "
            "end",
            "1.01",
        ):
            self.assertIn(part, text)

    def test_remote_stores_are_compared_where_the_trigger_is_fastest(self) -> None:
        signature = self.signature(synthetic.trigger().text())
        remote = signature.json["programs"]["overlap/trigger"]["results"]["remote"]
        self.assertEqual(
            [(r["against"], r["bands"]) for r in remote], [("the trigger", 16), ("GEMM, then send", 16)]
        )
        self.assertAlmostEqual(remote[0]["value"], 1.1 / 1.2)
        (section,) = signature.sections
        (figure,) = [f for f in spec_of("overlap/trigger").figures(section) if "Without a copy" in f.caption]
        self.assertEqual(len(figure.rows), 2)
        for part in (
            "Remote stores gain over the trigger in 0 of 1 cases and lose in 1 (0.917, ",
            "; remote stores gain over GEMM, then send in 1 of 1 cases and lose in 0 (1.52, ",
        ):
            self.assertIn(part, figure.caption)

    def test_what_a_model_gives_is_no_metric_and_is_shown(self) -> None:
        signature = self.signature(synthetic.trigger().text() + synthetic.split().text())
        self.assertTrue(signature.json["metrics"])
        self.assertFalse(
            [name for name in signature.json["metrics"] if "t3_model" in name or "traffic_ratio" in name]
        )
        shown = [
            figure
            for section in signature.sections
            for figure in spec_of(section.group.program).figures(section)
        ]
        self.assertTrue(any("MODEL of T3's hardware" in repr(figure) for figure in shown))
        self.assertTrue(
            any("in brackets what the traffic model predicts" in repr(figure) for figure in shown)
        )

    def trigger_of(self, tiled: float, library: float) -> str:
        """The summary where every S_tiled and S is this, and an S above 1.5 is flagged."""
        w = synthetic.trigger()
        for line in w.lines[1:-1]:
            for entry in line["derived"]:
                if entry["name"] == "S_tiled":
                    entry.update(value=tiled, ci_low=tiled - 0.01, ci_high=tiled + 0.01)
                if entry["name"] == "S":
                    entry.update(value=library, valid=library < 1.5)
            if library >= 1.5:
                line["validity"] = {
                    "valid": False,
                    "flags": [
                        {
                            "flag": "above_bound",
                            "variant": "triggered",
                            "quantity": "S",
                            "reason": "S is above S_ideal 1.02",
                        }
                    ],
                }
        return self.signature(w.text()).json["programs"]["overlap/trigger"]["summary"]

    def test_a_trigger_that_loses_says_so_whatever_the_library_takes(self) -> None:
        for library in (2.99, 1.2, 0.5):
            text = self.trigger_of(0.845, library)
            self.assertIn(
                "software trigger loses in 2 of 2 cases: at best, GEMM and send are 0.845 times as fast", text
            )
            self.assertNotIn("2.99", text)
        self.assertIn(
            "software trigger makes no clear difference in 2 of 2 cases: at best", self.trigger_of(1.005, 1.0)
        )

    def test_contention_has_both_sides(self) -> None:
        cells = self.results(synthetic.contention().text(), "micro/contention")["cil"]
        self.assertEqual(
            {(c["of"], c["with"]): c["value"] for c in cells},
            {("compute", "memory"): 1.02, ("memory", "compute"): 1.9},
        )

    def test_contention_of_gemms_is_by_type(self) -> None:
        types = axis("type", "", ["bf16", "f32"])
        w = synthetic.Writer("micro/contention", [], [axis("pair", "", ["gemm+memory"]), types])
        variants = [w.variant(n, 1e-3) for n in ("x_alone", "y_alone", "x_with_y", "y_with_x")]
        for kind, loss in (("bf16", 1.5), ("f32", 1.1)):
            w.case(
                {"pair": "gemm+memory", "type": kind},
                variants,
                [value("CIL", "x_with_y", loss), value("CIL", "y_with_x", loss + 1)],
            )
        text = w.end().text()
        cells = self.results(text, "micro/contention")["cil"]
        self.assertEqual(
            {(c["of"], c["with"]): c["value"] for c in cells},
            {
                ("bf16 gemm", "memory"): 1.5,
                ("memory", "bf16 gemm"): 2.5,
                ("f32 gemm", "memory"): 1.1,
                ("memory", "f32 gemm"): 2.1,
            },
        )
        summary = self.signature(text).json["programs"]["micro/contention"]["summary"]
        self.assertIn("memory traffic next to a GEMM of bf16", summary)

    def worst(self, intervals: dict[str, tuple[float, float, float]]) -> str:
        w = synthetic.contention()
        for entry in w.lines[1]["derived"]:
            entry["value"], entry["ci_low"], entry["ci_high"] = intervals[entry["variant"]]
        return self.signature(w.text()).json["programs"]["micro/contention"]["summary"]

    def test_equal_contention_is_a_tie(self) -> None:
        text = self.worst({"x_with_y": (1.88, 1.80, 1.92), "y_with_x": (1.90, 1.86, 1.94)})
        self.assertIn("memory traffic next to a compute kernel", text)
        self.assertIn("a tie with a compute kernel next to memory traffic", text)
        text = self.worst({"x_with_y": (1.80, 1.79, 1.81), "y_with_x": (1.90, 1.86, 1.94)})
        self.assertNotIn("tie", text)
        text = self.worst({"x_with_y": (1.04, 1.02, 1.06), "y_with_x": (1.90, 1.86, 1.94)})
        self.assertIn(
            "; of 2 measured combinations, 1 is slowed by more than 5 %; for 1 the interval contains 5 %.",
            text,
        )
        text = self.worst({"x_with_y": (1.01, 1.00, 1.02), "y_with_x": (1.90, 1.86, 1.94)})
        self.assertIn(
            "which takes 1.90 times as long (1.86–1.94); of 2 measured combinations, 1 is slowed by more "
            "than 5 % and "
            "1 by less.",
            text,
        )
        text = self.worst({"x_with_y": (1.50, 1.49, 1.51), "y_with_x": (1.90, 1.86, 1.94)})
        self.assertIn("; all 2 measured combinations are slowed by more than 5 %.", text)

    def test_one_and_many_are_told_apart(self) -> None:
        self.assertEqual(
            [generic.hidden_text(n, "panel") for n in (-1, 0, 1, 2)],
            ["", "", " 1 more panel is in the tables.", " 2 more panels are in the tables."],
        )
        self.assertEqual([generic.plural_is(n) for n in (0, 1, 2)], ["0 are", "1 is", "2 are"])

    def test_copy_engines_says_who_shares_them(self) -> None:
        entries = [("up", 2.0, 0.625, "yes"), ("both", 2.0, 0.625, ""), ("local", 3.0, 1.0, "no")]
        made = self.signature(synthetic.copy_engines(entries).text())
        section = made.json["programs"]["micro/copy_engines"]
        self.assertEqual(
            section["summary"],
            "Copy engines that answer when streams copy at once: 2 up (H2D), 2 both ways at once and 3 local "
            "(D2D); the driver states 3. Streams share engines although others are free; with the bulk copy "
            "of one stream, others wait: 38 % up (H2D).",
        )
        ways = {w["direction"]: (w["engines"]["value"], w["sticky"]) for w in section["results"]["ways"]}
        self.assertEqual(ways, {"up": (2.0, "yes"), "both": (2.0, ""), "local": (3.0, "no")})

    def test_copy_contention_has_every_way(self) -> None:
        section = self.signature(synthetic.copy_contention().text()).json["programs"]["micro/copy_contention"]
        found = {
            (c["of"], c["direction"], c["copy_method"], c["blocks"]): (c["value"], c["ci_low"] is not None)
            for c in section["results"]["cil"]
        }
        self.assertEqual(found["gemm", "up", "kernel:units/8", 2], (1.3, True))
        self.assertEqual(len(found), 4)
        self.assertIn("a GEMM with a kernel copy of 2", section["summary"])

    def test_no_contention_is_a_finding_too(self) -> None:
        w = synthetic.contention()
        for entry in w.lines[1]["derived"]:
            entry["value"] = 1.01
        self.assertIn(
            "All measured combinations are slowed by less than 5 %; slowed most is ",
            self.signature(w.text()).json["programs"]["micro/contention"]["summary"],
        )

    def test_pair_has_both_orders_and_both_sides_and_slowed_side(self) -> None:
        pairs = self.results(synthetic.pair().text(), "overlap/pair")["pairs"]
        self.assertEqual(len(pairs), 8)
        found = {(p["copy_method"], p["order"]): p for p in pairs if "shape=g5" in p["key"]}
        first = found["engine", "transfer_first"]
        self.assertAlmostEqual(first["cil_transfer"], 1.05)
        self.assertAlmostEqual(first["cil_gemm"], 1.10)
        self.assertAlmostEqual(first["fraction_of_ideal"], 2 / 1.1 - 1)
        self.assertEqual((first["class"], first["slowed_side"], first["S_ideal"]), ("GC-equal", "both", 2.0))
        summary = self.signature(synthetic.pair().text()).json["programs"]["overlap/pair"]["summary"]
        self.assertEqual(
            summary,
            "Medians: overlapping a GEMM with a transfer gains 78 % of the ideal gain with a copy "
            "engine and loses 9.0 % with a copy kernel; it gains 37 % with the transfer enqueued first and "
            "gains 31 % with the GEMM first. Overlapped, 4 of 8 combinations are slower than one after the "
            "other. Of 4 cases, GEMM first is faster in 0, transfer first in 2, and neither in 2.",
        )

    def test_orders_that_all_tie_are_said_once(self) -> None:
        w = synthetic.pair()
        for line in w.lines[1:-1]:
            line["facts"]["better_order"] = "tie"
        self.assertIn(
            ". Neither order is clearly faster in any of 4 cases.",
            self.signature(w.text()).json["programs"]["overlap/pair"]["summary"],
        )

    def test_a_pair_with_nothing_to_gain_has_no_fraction_and_a_flagged_one_does_not_count(self) -> None:
        w = synthetic.pair()
        for line in w.lines:
            for entry in line.get("derived", ()):
                if entry["name"] == "fraction_of_ideal" and line["case"]["copy-method"] == "kernel":
                    entry.update(value=None, valid=False, reason="no block gave a finite value")
                elif line["case"]["shape"] == "g5":
                    entry.update(valid=False)
        pairs = self.results(w.text(), "overlap/pair")["pairs"]
        self.assertEqual({(p["copy_method"], "g5" in p["key"]) for p in pairs}, {("engine", False)})
        for line in w.lines:
            for entry in line.get("derived", ()):
                entry.update(valid=False)
        self.assertEqual(self.results(w.text(), "overlap/pair")["pairs"], [])

    def test_schedules_are_held_against_serial_and_the_ideal(self) -> None:
        found = self.results(synthetic.ficco().text(), "overlap/ficco")
        won, lost = found["cases"]
        self.assertEqual(
            (won["best_schedules"], won["best"], lost["best_schedules"]),
            (["hetero-fused-1d"], "hetero-fused-1d", ["serial"]),
        )
        self.assertEqual(found["overlap_wins"], 1)
        self.assertAlmostEqual(won["S"], 1.5)
        self.assertAlmostEqual(won["S_ideal"], 5 / 3)
        self.assertAlmostEqual(won["fraction_of_ideal"], 0.75)
        self.assertLess(lost["fraction_of_ideal"], 0)  # never clamped
        summary = self.signature(synthetic.ficco().text()).json["programs"]["overlap/ficco"]["summary"]
        self.assertEqual(
            summary,
            "In 1 of 2 scenarios overlap is clearly faster than serial; the best is hetero-fused-1d for "
            "ag-gemm g5 64×64×2048 by engine, 1.50 times as fast as serial (ideal: 1.67 times); "
            "fastest most often: hetero-fused-1d and serial (in 1 of 2).",
        )

    def test_serial_with_the_library_is_a_second_baseline(self) -> None:
        text = synthetic.ficco(library=2.4e-3).text()
        won, lost = self.results(text, "overlap/ficco")["cases"]
        self.assertAlmostEqual(won["S"], 1.5)  # still over serial with copies
        self.assertEqual(
            (won["library"], set(won["times_s"])), ("NCCL 2.28.9", {"serial", "shard", "hetero-fused-1d"})
        )
        self.assertAlmostEqual(won["S_library"]["hetero-fused-1d"], 1.2)
        self.assertAlmostEqual(lost["S_library"]["serial"], 0.8)
        summary = self.signature(text).json["programs"]["overlap/ficco"]["summary"]
        self.assertIn(
            "hetero-fused-1d for ag-gemm g5 64×64×2048 by engine, 1.50 times as fast as serial", summary
        )
        self.assertIn(
            "serial with the collective of NCCL 2.28.9 takes 0.800 times as long as serial with copies, and "
            "overlap is "
            "at best 1.20 times as fast as that",
            summary,
        )
        self.assertNotIn("S_library", self.results(synthetic.ficco().text(), "overlap/ficco")["cases"][0])

    def test_schedules_that_tie_are_all_named(self) -> None:
        w = synthetic.ficco()
        w.lines[1]["facts"].update(best_schedules="shard, hetero-fused-1d", tie="yes")
        found = self.results(w.text(), "overlap/ficco")
        self.assertEqual(found["cases"][0]["best_schedules"], ["shard", "hetero-fused-1d"])
        self.assertEqual(
            (found["ties"], found["fastest"]), (1, {"shard": 1, "hetero-fused-1d": 1, "serial": 1})
        )
        summary = self.signature(w.text()).json["programs"]["overlap/ficco"]["summary"]
        self.assertIn("the best is hetero-fused-1d (a tie with shard) for ag-gemm g5", summary)
        self.assertIn("fastest or tied most often: shard, hetero-fused-1d and serial (in 1 of 2)", summary)

    def test_a_tied_schedule_that_was_flagged_is_not_named(self) -> None:
        w = synthetic.ficco()
        w.lines[1]["facts"].update(best_schedules="shard, hetero-fused-1d", tie="yes")
        for entry in w.lines[1]["derived"]:
            entry["valid"] = entry["variant"] != "shard"
        self.assertEqual(
            self.results(w.text(), "overlap/ficco")["cases"][0]["best_schedules"], ["hetero-fused-1d"]
        )

    def test_the_same_work_counts_once(self) -> None:
        w = synthetic.ficco()
        for line in w.lines[1:3]:
            case = dict(line["case"], op="a2a-gemm")
            again = dict(
                line,
                case=case,
                key=" ".join("%s=%s" % entry for entry in case.items()),
                facts=dict(line["facts"], same_work_as="ag-gemm"),
            )
            w.lines.insert(-1, again)
        found = self.results(w.text(), "overlap/ficco")
        self.assertEqual((len(found["cases"]), found["scenarios"], found["same_work"]), (4, 2, 2))
        self.assertEqual((found["overlap_wins"], found["fastest"]), (1, {"hetero-fused-1d": 1, "serial": 1}))
        self.assertIn(
            "; 2 cases that repeat another's work are not counted.",
            self.signature(w.text()).json["programs"]["overlap/ficco"]["summary"],
        )

    def test_schedules_that_were_flagged_are_in_no_finding(self) -> None:
        w = synthetic.ficco()
        for line in w.lines[1:3]:
            for entry in line["derived"]:
                if entry["variant"] == "hetero-fused-1d":
                    entry["valid"] = False
        found = self.results(w.text(), "overlap/ficco")
        self.assertEqual([c["best"] for c in found["cases"]], ["shard", "shard"])
        self.assertNotIn("hetero-fused-1d", found["cases"][0]["times_s"])

    def test_units_that_are_enough_for_a_copy_and_what_they_cost(self) -> None:
        units = [1, 2, 4]
        axes = [axis("type", "", ["f32"]), axis("gemm", "", ["memory"]), axis("units", "", units)]
        w = Writer("overlap/units", [], axes + [axis("size", "byte", [1 << 20])])
        for n in units:
            own = [w.variant(name, 1e-3) for name in ("gemm_on_rest", "copy_on_given", "reserved")]
            slowdowns = {"gemm_on_rest": 0.9 if n == 2 else 1.0 + n / 10, "copy_on_given": max(1.0, 2 / n)}
            values = [value("slowdown", name, slowdown, "") for name, slowdown in slowdowns.items()]
            values.append(value("reservation_speedup", "reserved", 1.0 + n / 100, ""))
            w.case({"type": "f32", "gemm": "memory", "units": n, "size": 1 << 20}, own, values)
        signature = self.signature(w.end().text()).json["programs"]["overlap/units"]
        (kind,) = signature["results"]["kinds"]
        self.assertEqual(kind["enough"]["units"], 2)
        self.assertEqual(kind["enough"]["gemm_slowdown"]["value"], 0.9)
        self.assertIn("2 units are enough for 95 %", signature["summary"])
        self.assertIn("memory-bound GEMM (f32) takes 0.900 times as long without them", signature["summary"])
        self.assertIn("at best 1.04 times as fast (memory-bound GEMM, 4 units)", signature["summary"])

    def test_occupancy_agrees_with_its_formula(self) -> None:
        found = self.results(synthetic.occupancy().text(), "micro/occupancy")
        self.assertEqual(found["formula_agrees"], {"same": 3, "of": 3})
        self.assertEqual([s["residents"] for s in found["steps"]], [4, 4, 2])

    def test_the_best_setting_of_a_loop_is_against_serial_and_plain_overlap(self) -> None:
        section = self.signature(synthetic.shaping().text()).json["programs"]["overlap/shaping"]
        best, other = section["results"]["best"]
        self.assertEqual((best["scenario"], best["setting"]), ("mb-ar", "shaped_priority"))
        self.assertEqual((best["shared_byte"], best["blocks"]), (16384, 8))
        self.assertAlmostEqual(best["time_ratio"], 0.7)
        self.assertAlmostEqual(best["normalised_time"], 7 / 9)
        self.assertEqual((other["scenario"], other["setting"], other["time_ratio"]), ("cb-ar", "serial", 1.0))
        self.assertEqual(
            section["summary"],
            "The largest gain is in mb-ar: shaped and priority with 16 KiB claimed takes "
            "22 % less time than plain overlap and 30 % less than serial; nothing is faster than serial in "
            "cb-ar; the communication is a stand-in that uses no link.",
        )

    def test_plain_overlap_may_be_best(self) -> None:
        w = synthetic.shaping()
        for line in w.lines[1:-1]:
            synthetic.retimed(line, "overlap", 1e-3)
        summary = self.signature(w.text()).json["programs"]["overlap/shaping"]["summary"]
        self.assertIn("No setting is faster than plain overlap", summary)

    def test_the_best_setting_may_be_slower_than_plain_overlap_where_that_was_flagged(self) -> None:
        w = synthetic.shaping()
        for line in w.lines[1:-1]:
            for entry in line["derived"]:
                if entry["name"] == "normalised_time":
                    entry.update(value=1.09, ci_low=1.08, ci_high=1.10)
        summary = self.signature(w.text()).json["programs"]["overlap/shaping"]["summary"]
        self.assertIn(
            "The smallest loss is in mb-ar: shaped and priority with 16 KiB claimed takes 9.0 % more time",
            summary,
        )

    def test_a_flagged_loop_is_no_finding(self) -> None:
        flag = {"flag": "contended", "variant": None, "reason": "other processes took 80 % of the cores"}
        section = self.signature(synthetic.shaping(flags=[flag]).text()).json["programs"]["overlap/shaping"]
        self.assertEqual(section["results"]["best"], [])
        self.assertIn("contended", section["summary"])

    def test_the_lead_of_an_allreduce_changes_where_the_lines_meet(self) -> None:
        found = self.results(synthetic.allreduce().text(), "collectives/allreduce")["places"][0]
        self.assertEqual([lead["algorithm"] for lead in found["leaders"]], ["rd-l", "swing-b"])
        crossover = found["crossovers"][0]
        self.assertEqual((crossover["below"], crossover["above"]), (2048, 131072))
        self.assertAlmostEqual(crossover["size_byte"] / synthetic.ALLREDUCE_CROSSOVER, 1, delta=0.3)
        self.assertAlmostEqual(found["best"][0]["library_time_ratio"], 0.5, delta=0.01)
        self.assertEqual([b["algorithm"] for b in found["best"]], ["rd-l"] * 2 + ["swing-b"] * 2)
        self.assertEqual({p["time_ratio"] for p in found["indexing"]}, {synthetic.INDEXING})

    def test_single_ones_of_the_fastest_and_of_the_library_have_percentiles(self) -> None:
        lines = [json.loads(line) for line in synthetic.allreduce().text().splitlines()]
        for case in (line for line in lines if line["kind"] == "case"):
            few = "size=131072" in case["key"]
            for variant in case["variants"]:
                times = [variant["median_s"]] * (90 if few else 390) + [3 * variant["median_s"]] * 10
                variant["singles_s"] = times[: 99 if few else 400]
        signature = self.signature("".join(json.dumps(line) + "\n" for line in lines))
        section = signature.sections[0]
        rows = section.results["places"][0]["tails"]
        self.assertEqual(
            [(r["size"], r["algorithm"]) for r in rows],
            [
                (s, n)
                for s in (32, 2048, 131072, 2097152)
                for n in ("rd-l" if s < 4096 else "swing-b", "library")
            ],
        )
        for row in rows:
            of = next(
                v
                for c in section.cases
                if c.axes["size"] == row["size"]
                for v in c.variants
                if v.name == row["algorithm"]
            )
            self.assertAlmostEqual(row["median"], of.median_s)
            self.assertEqual(row["p99"], None if row["size"] == 131072 else max(of.singles_s))
        self.assertRegex(section.summary, r"p99 of one at a time: [0-9.]+ .s at 2 MiB \(library [0-9.]+ .s\)")
        self.assertNotIn("s at 128 KiB", section.summary)
        table = next(
            f
            for f in spec_of(section.group.program).figures(section)
            if isinstance(f, Table) and "p99" in f.heads
        )
        self.assertEqual([len(table.rows), table.rows[4][5]], [8, "–"])

    def test_a_policy_of_the_library_is_no_algorithm_that_leads(self) -> None:
        writer = synthetic.allreduce(policies=("library-efficiency", "library-zero-cta"))
        found = self.results(writer.text(), "collectives/allreduce")["places"][0]
        self.assertEqual([lead["algorithm"] for lead in found["leaders"]], ["rd-l", "swing-b"])

    def test_page_and_terminal_have_the_table_that_users_of_nccl_tests_expect(self) -> None:
        for writer, heads, name in (
            (synthetic.device_allreduce(), ["size", "time", "algbw", "busbw", "algorithm"], "swing-b"),
            (
                synthetic.device_allgather(),
                ["size", "time", "algbw", "busbw", "library's", "algorithm"],
                "ring",
            ),
        ):
            signature = self.signature(writer.text())
            terminal = headline_of(signature)
            table = terminal.partition(" among devices, the fastest algorithm at each size\n")[2]
            lines = table.partition("\n\n")[0].splitlines()
            self.assertEqual(lines[0].split(), heads)
            self.assertTrue(lines[-1].strip().startswith("2 MiB") and lines[-1].endswith("  " + name), lines)
            self.assertLess(max(map(len, lines)), 81)
            section = signature.sections[0]
            figures = spec_of(section.group.program).figures(section)
            on_the_page = next(f for f in figures if isinstance(f, Table))
            self.assertEqual(list(on_the_page.heads), heads)
            self.assertEqual(len(on_the_page.rows), len(lines) - 1)

    def test_more_ranks_than_cores_are_said_and_in_no_number(self) -> None:
        flag = {
            "flag": "oversubscribed",
            "variant": None,
            "reason": "4 ranks share 2 cores: most of the time is scheduling",
        }
        signature = self.signature(synthetic.allreduce(flags=[flag]).text()).json
        section = signature["programs"]["collectives/allreduce"]
        self.assertIn("very case is flagged oversubscribed (4 ranks share 2 cores", section["summary"])
        self.assertEqual((section["results"]["places"], signature["metrics"]), ([], {}))

    def test_a_model_and_simulated_ranks_are_findings_and_no_metrics(self) -> None:
        signature = self.signature(
            synthetic.launch().text() + synthetic.torus().text() + synthetic.simgrid().text()
        ).json
        self.assertEqual({m.split("/")[1] for m in signature["metrics"]}, {"launch"})
        self.assertFalse(signature["simulated"])
        self.assertFalse(signature["devices"]["host[0]"]["virtual_time"])
        self.assertEqual(signature["primary_missing"], [])
        for name in ("topology/torus", "collectives/allreduce@simgrid"):
            section = signature["programs"][name]
            self.assertEqual((section["curves"], section["facts"], section["mechanism"]), ([], {}, []))
        self.assertLess(len(json.dumps(signature["programs"]["topology/torus"])), 3000)

    def test_algorithms_that_take_equally_long_are_a_tie_of_all_of_them(self) -> None:
        text = (
            synthetic.torus()
            .text()
            .replace("swing-b, from 11178667 bucket", "swing-b, from 11178667 tie of ring and bucket")
        )
        section = self.signature(text).json["programs"]["topology/torus"]
        self.assertEqual(
            [(b["algorithm"], b["ties"]) for b in section["results"]["networks"][0]["best"]],
            [("swing-b", []), ("ring", ["bucket"])],
        )
        self.assertIn("ring and bucket (tie) above", section["summary"])

    def test_simulated_ranks_are_held_against_the_model_without_its_step_latency(self) -> None:
        text = synthetic.torus().text() + synthetic.simgrid().text()
        section = self.signature(text).json["programs"]["collectives/allreduce@simgrid"]
        for point in section["results"]["points"]:
            self.assertAlmostEqual(point["simulated_s"] / point["model_s"], synthetic.SIMGRID_OFF, delta=1e-6)
        self.assertIn("agree within 0.4 % at 4 points", section["summary"])
        alone = self.signature(synthetic.simgrid().text()).json["programs"]["collectives/allreduce@simgrid"]
        self.assertIn("topology/torus did not run", alone["summary"])

    def test_readings_are_sentences_with_numbers(self) -> None:
        for name, section in self.signature(everything()).json["programs"].items():
            with self.subTest(program=name):
                self.assertRegex(section["summary"], r"[0-9].*\.$")
                self.assertNotIn("None", section["summary"])


if __name__ == "__main__":
    unittest.main()
