# SPDX-License-Identifier: BSD-3-Clause
"""Advice from a signature: what is learned of it, what is asked, how it is told, and how it is scored."""

from __future__ import annotations

import json
import os
import re
import unittest
from pathlib import Path
from typing import Any, Dict, List, Tuple
from unittest import mock

import synthetic
import workplace

from reports.judge.advise import SCORED, read_signature
from reports.records import validate
from reports.advice.library import Adviser, NoData, LibraryMissing, library_path
from reports.advice.contention import exchange_ratio
from reports.advice.inputs import INPUTS, need
from reports.advice.lines import LINKS, MAX_GEMMS, MAX_POINTS, Machine
from reports.advice.machine import machine_of
from reports.advice.measured import off
from reports.advice.table import table, wrapped
from reports.records.quantity import percent
from reports.signature.sections import advice

try:
    import jsonschema
except ImportError:
    jsonschema = None

BUILT = library_path().exists()
OPTIONS = ["--m", "4096", "--n", "512", "--k", "512", "--devices", "4", "--op", "ag-gemm", "--type", "f32"]


def curves() -> str:
    parts = (
        synthetic.gemms,
        synthetic.copies,
        synthetic.copy_contention,
        synthetic.launch,
        synthetic.memory,
        synthetic.occupancy,
        synthetic.device_allreduce,
    )
    return "".join(part().text() for part in parts)


class Learning(workplace.Scratch):
    def lines(self, text: str) -> List[List[str]]:
        return [line.split() for line in machine_of(self.signature(text).json).lines]

    def test_a_signature_of_a_gpu(self) -> None:
        """Its f8 products have two accumulations, of which schedules have the ordinary one."""
        of_h100 = json.loads((workplace.ROOT / "reports/reference/h100/signature.json").read_text())
        gemms = [w.split() for w in machine_of(of_h100).lines if w.startswith("gemm ")]
        self.assertEqual({w[1] for w in gemms}, {"f32", "f64", "tf32", "f16", "bf16", "f8"})
        self.assertEqual({len(w) for w in gemms}, {7})
        (seconds,) = [float(w[6]) for w in gemms if w[1] == "f8"]
        rate = of_h100["metrics"]["gemm/efficiency/gemm_f8_flop_rate"]["value"]
        self.assertAlmostEqual(seconds * rate / (2 * 8192**3), 1, delta=1e-6)

    def test_products_keep_their_seconds(self) -> None:
        found = {
            tuple(map(float, w[2:5])): float(w[6])
            for w in self.lines(synthetic.gemms().text())
            if w[0] == "gemm"
        }
        self.assertEqual(len(found), 27)
        for (m, n, k), seconds in found.items():
            self.assertAlmostEqual(seconds / (2e-6 + 2 * m * n * k / synthetic.PRODUCT_RATE), 1, delta=1e-6)

    def test_a_gemm_of_few_blocks_advises_no_setting(self) -> None:
        found = [
            [float(x) for x in w[1:]]
            for w in self.lines(synthetic.shaping_grids().text())
            if w[0] == "shaped"
        ]
        self.assertEqual(found, [[0.0, 1.0, 0.65]])

    def test_pieces_of_a_cut_product(self) -> None:
        split = synthetic.split()
        case = split.lines[1]
        whole = 2 * 128 * 128 * 2048 / 1e-3
        case["derived"] = [synthetic.value("flop_rate", "k%d" % n, whole / 1.1, "flop/s") for n in (2, 4, 8)]
        found = {w[4]: w for w in self.lines(split.text()) if w[0] == "gemm"}
        self.assertEqual(sorted(found), ["1024", "256", "512"])
        self.assertEqual(found["256"][2:6], ["128", "128", "256", "0.875"])
        self.assertAlmostEqual(float(found["256"][6]), 1.1e-3 / 8, delta=1e-9)

    def test_copies_keep_start_and_bandwidth(self) -> None:
        points = [
            (float(w[3]), float(w[4]))
            for w in self.lines(synthetic.copies().text())
            if w[:3] == ["copy", "engine", "up"]
        ]
        self.assertEqual(len(points), 8)
        for size, seconds in points:
            self.assertAlmostEqual(
                seconds / (synthetic.ALPHA_S + size / synthetic.ENGINE_RATE), 1, delta=0.003
            )

    def test_a_kernel_of_so_many_blocks(self) -> None:
        signature = self.signature(synthetic.copies().text()).json
        for blocks, rate in ((1, 0.25), (4, 1.0)):
            last = [
                line.split()
                for line in machine_of(signature, blocks).lines
                if line.startswith("copy kernel up")
            ][-1]
            moving = float(last[3]) / (synthetic.KERNEL_RATE * rate)
            self.assertAlmostEqual(float(last[4]) / (synthetic.KERNEL_ALPHA_S + moving), 1, delta=0.01)

    def test_copies_of_one_size_alone(self) -> None:
        """Their curve is over the number of blocks, and of no single variant."""
        copies = synthetic.copies()
        lines = [
            line
            for line in copies.text().splitlines(True)
            if '"case":' not in line or '"size": 4096}' in line
        ]
        self.assertEqual(len(lines), 3)
        self.assertEqual([w for w in self.lines("".join(lines)) if w[0] == "copy"], [])

    def test_what_is_missing_is_noted_with_its_program(self) -> None:
        notes = " ".join(machine_of(self.signature(synthetic.copies().text()).json).notes)
        for program in (
            "gemm/split",
            "collectives/device_allreduce",
            "micro/launch",
            "micro/memory",
            "--direction peer",
        ):
            self.assertIn(program, notes)

    def losses(self, *entries: Tuple[str, str, str, int, float, float], alone: str = "") -> Machine:
        """A machine with GEMMs of f32, copies up, and these entries of micro/copy_contention."""
        text = synthetic.gemms().text() + synthetic.copies().text() + alone
        return machine_of(
            self.signature(text + (synthetic.copy_contention(entries).text() if entries else "")).json
        )

    def test_losses_are_those_of_the_copies_that_are_advised(self) -> None:
        machine = self.losses(
            ("f32", "local", "kernel", 32, 6.58, 1.1),
            ("f32", "local", "engine", 0, 1.4, 1.3),
            ("f32", "up", "kernel:1", 1, 1.2, 1.05),
            ("f32", "up", "kernel", 32, 1.5, 1.06),
            ("f32", "up", "kernel:units/8", 1, 9.9, 9.9),
            ("f32", "up", "engine", 0, 1.01, 1.0),
            ("f32", "down", "engine", 0, 3.0, 3.0),
        )
        found = [line.split()[1:] for line in machine.lines if line.startswith("cil")]
        self.assertEqual(
            [(w[0], w[1], w[2], w[3], w[5], w[6]) for w in found],
            [
                ("engine", "up", "f32", "0", "1.01", "1"),
                ("kernel", "up", "f32", "1", "1.2", "1.05"),
                ("kernel", "up", "f32", "32", "1.5", "1.06"),
            ],
        )
        self.assertEqual(machine.pair_notes, [])
        self.assertIn("blocks up 4", machine.lines)

    def test_an_exchange_is_what_two_devices_measured(self) -> None:
        """One device with one engine takes twice as long in both directions; two devices with an engine each
        do not."""
        signature = self.signature(synthetic.copies().text()).json
        copies = [
            {
                "type": "f32",
                "direction": d,
                "copy_method": m,
                "blocks": b,
                "bytes": 1 << 20,
                "bandwidth": rate,
            }
            for d, m, b, rate in (
                ("peer", "engine", 0, 1e10),
                ("exchange", "engine", 0, 2e10),
                ("peer", "kernel:1", 1, 1e10),
                ("exchange", "kernel:1", 1, 1e10),
                ("peer", "kernel", 32, 1e10),
                ("local", "kernel", 4, 9e9),
            )
        ]
        self.assertIsNone(exchange_ratio(signature, "engine", 1))
        signature["programs"]["micro/copy_contention"] = {
            "curves": [],
            "facts": {},
            "results": {"copies": copies},
        }
        self.assertEqual(exchange_ratio(signature, "engine", 1), (1 << 20, 1.0))
        self.assertEqual(exchange_ratio(signature, "kernel", 8), (1 << 20, 2.0))

    def test_traffic_is_what_does_not_fit_in_the_cache(self) -> None:
        line = next(x for x in self.losses(("f32", "up", "engine", 0, 1.5, 1.0)).lines if x.startswith("cil"))
        side, seconds = synthetic.CONTENTION_SIDE, synthetic.CONTENTION_GEMM_S
        self.assertGreater(3 * 4 * side**2, synthetic.LLC)
        self.assertAlmostEqual(float(line.split()[5]) / (3 * 4 * side**2 / seconds), 1, delta=1e-6)

    def test_other_types_and_links_stand_in_with_a_note(self) -> None:
        machine = self.losses(
            ("bf16", "up", "engine", 0, 1.5, 1.2),
            ("f32", "down", "kernel", 8, 1.3, 1.1),
            ("f32", "local", "kernel", 8, 7.0, 1.1),
        )
        found = {(w[1], w[5 + 1], w[7]) for w in (line.split() for line in machine.lines) if w[0] == "cil"}
        self.assertEqual(found, {("engine", "1.5", "1.2"), ("kernel", "1.3", "1.1")})
        notes = [note for _, _, note in machine.pair_notes]
        self.assertEqual(len(notes), 2)
        self.assertIn("GEMMs of bf16", notes[0])
        self.assertIn("copies down", notes[1])

    def test_no_loss_is_assumed_only_with_the_true_reason(self) -> None:
        skipped = synthetic.unstarted("micro/copy_contention", "skipped", "this device lacks wait_value")
        for alone, reason in (("", "did not run"), (skipped, "lacks wait_value")):
            machine = self.losses(alone=alone)
            self.assertFalse([line for line in machine.lines if line.startswith("cil")])
            self.assertEqual(len(machine.pair_notes), 2)
            for _, _, note in machine.pair_notes:
                self.assertIn("assumed not to slow each other", note)
                self.assertIn(reason, note)

    def test_curves_are_thinned_to_the_room_there_is(self) -> None:
        machine = Machine()
        machine.curve(("reduce",), [(float(i), float(i)) for i in range(1, 100)])
        self.assertEqual(len(machine.lines), MAX_POINTS)
        self.assertEqual((machine.lines[0], machine.lines[-1]), ("reduce 1 1", "reduce 99 99"))


@unittest.skipUnless(BUILT, "%s is not built" % library_path().name)
class Asking(workplace.Scratch):
    def test_every_line_is_understood(self) -> None:
        machine = machine_of(self.signature(curves()).json)
        words = {line.split()[0] for line in machine.lines}
        self.assertEqual(
            words,
            {
                "#",
                "gemm",
                "copy",
                "engines",
                "ingress",
                "reduce",
                "occupancy",
                "allreduce",
                "cache",
                "blocks",
                "units",
                "cil",
            },
        )
        Adviser(machine)

    def test_capacities_match_the_header(self) -> None:
        header = (workplace.ROOT / "advise" / "advise.h").read_text(encoding="utf-8")
        self.assertRegex(header, r"#define ADVISE_GEMMS %d\n" % MAX_GEMMS)
        self.assertIn("#define ADVISE_POINTS %d\n" % MAX_POINTS, header)

    def test_the_library_knows_the_schema(self) -> None:
        adviser = Adviser(machine_of(self.signature(curves()).json))
        schema = validate.schema("advice")
        question, named = schema["properties"]["question"]["properties"], schema["definitions"]
        self.assertEqual(adviser.ops, question["op"]["enum"])
        self.assertEqual(adviser.schedules, named["schedule"]["enum"])
        self.assertEqual(adviser.copy_methods, named["copy_method"]["enum"])
        self.assertEqual(adviser.links, schema["properties"]["link"]["enum"])
        self.assertEqual(adviser.links, list(LINKS))
        needs = schema["properties"]["needs"]["items"]["properties"]
        self.assertEqual(adviser.inputs, needs["input"]["enum"])
        self.assertEqual(adviser.inputs, list(INPUTS))
        for kind in adviser.types:
            self.assertRegex(kind, question["type"]["pattern"])

    def test_sides_that_dominate(self) -> None:
        adviser = Adviser(machine_of(self.signature(curves()).json))
        answer = adviser.ask(4096, 4096, 4096, 4, "ag-gemm", "f32")
        self.assertAlmostEqual(answer["gemm_s"] / (2 * 4096**3 / synthetic.PRODUCT_RATE), 1, delta=0.02)
        self.assertGreaterEqual(answer["pick"]["predicted_s"], max(answer["gemm_s"], answer["comm_s"]) * 0.98)
        predicted = [c["predicted_s"] for c in answer["candidates"]]
        self.assertEqual(predicted, sorted(predicted))
        self.assertIn("serial", [c["schedule"] for c in answer["candidates"]])

    def test_refusals(self) -> None:
        adviser = Adviser(machine_of(self.signature(curves()).json))
        for question, text in (
            ((0, 1, 1, 2, "ag-gemm", "f32"), "--m 0"),
            ((64, 64, 64, 1, "ag-gemm", "f32"), "needs 2"),
            ((64, 64, 64, 2, "gemm", "f32"), "ag-gemm gemm-rs"),
            ((64, 64, 64, 2, "ag-gemm", "i8"), "f32 f64"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                adviser.ask(*question)
        with self.assertRaises(NoData):
            adviser.ask(64, 64, 64, 2, "ag-gemm", "bf16")

    def test_without_the_library(self) -> None:
        with self.assertRaises(LibraryMissing):
            Adviser(Machine(), self.folder / "libnone.so")


@unittest.skipUnless(BUILT, "%s is not built" % library_path().name)
class Telling(workplace.Scratch):
    def advise(self, *words: str) -> Tuple[int, str, str]:
        return self.run_command("advise", *words)

    def stored(self, text: str) -> Path:
        path = self.folder / "signature.json"
        path.write_text(self.signature(text).text(), encoding="utf-8")
        return path

    @unittest.skipUnless(jsonschema, "jsonschema is not installed")
    def test_json_is_as_the_schema_says(self) -> None:
        path = self.stored(curves())
        for op in ("ag-gemm", "gemm-rs", "a2a-gemm", "gemm-ar"):
            code, out, err = self.advise(str(path), *OPTIONS, "--op", op, "--format", "json")
            self.assertEqual((code, err), (0, ""))
            jsonschema.Draft7Validator(validate.schema("advice")).validate(json.loads(out))

    def test_the_table_names_pick_and_reason(self) -> None:
        code, out, err = self.advise(str(self.folder if self.stored(curves()) else ""), *OPTIONS)
        self.assertEqual((code, err), (0, ""))
        for word in ("schedule", "copy method", "serial", "hetero-unfused-1d", "why", "note: "):
            self.assertIn(word, out)

    def table(self, text: str, *words: str) -> Dict[str, str]:
        code, out, err = self.advise(str(self.stored(text)), *OPTIONS, *words)
        self.assertEqual((code, err), (0, ""))
        facts = re.sub(r"\n {18}", " ", out)  # a fact of several lines
        rows = (line.split("  ", 1) for line in facts.splitlines() if "  " in line)
        return {key: rest.strip() for key, rest in rows}

    def test_the_table_fits_a_terminal_and_nothing_is_cut(self) -> None:
        path = self.stored(curves())
        for words in (("--op", "ag-gemm"), ("--op", "gemm-ar"), ("--m", "999999", "--n", str((1 << 32) - 1))):
            out = self.advise(str(path), *OPTIONS, *words)[1]
            self.assertLessEqual(max(map(len, out.splitlines())), 80, out)
            answer = json.loads(self.advise(str(path), *OPTIONS, *words, "--format", "json")[1])
            told = " ".join(out.split())
            for text in (answer["why"], answer["score"], answer["expected_error_text"], *answer["notes"]):
                self.assertIn(" ".join(text.split()), told)
            self.assertNotIn("...", out)
            self.assertTrue(out.endswith("\n\nwords: ./gpusig help words\n"))

    def test_the_rate_of_long_copies_does_not_follow_from_short_ones(self) -> None:
        path = self.stored(curves())
        code, out, err = self.advise(str(path), *OPTIONS, "--m", str((1 << 32) - 1), "--k", "4096")
        self.assertEqual((code, out), (77, ""))
        self.assertIn("the longest copy over link up has 64 MiB, and this needs 1.678e+07 (", err)
        self.assertEqual(self.advise(str(path), *OPTIONS, "--format", "machine")[0], 0)

    def test_a_number_stays_with_its_unit(self) -> None:
        for begin in range(60, 80):
            lines = wrapped("x" * begin + " hetero-unfused-1d 12 % of 1.7 ms and 3 s", "note: ")
            for line in lines:
                self.assertNotRegex(line, r"^ *(%|ms\b|s\b)|(12|1\.7|3|hetero-)$")

    def test_expected_error_score_and_reason(self) -> None:
        rows = self.table(curves())
        self.assertRegex(rows["expected error"], r"^at least [\d.]+ %")
        self.assertIn("overlap/ficco has no value (the program did not run)", rows["score"])
        scored = curves() + synthetic.schedules({(1024, 256, 300): {"serial": 1e-3, "shard": 2e-3}}).text()
        rows = self.table(scored)
        self.assertRegex(rows["expected error"], r"^[\d.]+ %: half of the earlier predictions")
        self.assertRegex(rows["score"], r"in \d of 1 unseen cases")

    def test_ties_are_named_as_ties(self) -> None:
        path = self.stored(curves())
        with mock.patch("reports.judge.advise._score", return_value={"median_error": 0.0}):
            near = self.table(curves())["as fast"]
        with mock.patch("reports.judge.advise._score", return_value={"median_error": 50.0}):
            far = self.table(curves())["as fast"]
            answer = json.loads(self.advise(str(path), *OPTIONS, "--format", "json")[1])
        self.assertNotIn("all 12", near)
        self.assertIn("all 12 rows", far)
        self.assertEqual((sum(c["tie"] for c in answer["candidates"]), answer["expected_error"]), (12, 50.0))

    def test_a_tie_is_told_with_what_is_compared(self) -> None:
        """By the numbers of the answer, which are those of the decision."""
        path = self.stored(curves())
        with mock.patch("reports.judge.advise._score", return_value={"median_error": 0.2}):
            answer = json.loads(self.advise(str(path), *OPTIONS, "--format", "json")[1])
        told = " ".join(table({**answer, "needs": []}).partition("\nschedule ")[0].split())
        first, *others = answer["candidates"]
        near = [c for c in others if c["tie"] and c["schedule"] != first["schedule"]]
        for c in others:
            allowed = (1 + off(answer, c)) * first["predicted_s"]
            self.assertEqual(c["tie"], c["predicted_s"] <= allowed)
        ratio = near[0]["predicted_s"] / first["predicted_s"] - 1
        self.assertIn(
            "not decided: %s by %s is predicted to take %s longer, and the errors of both together are %s"
            % (near[0]["schedule"], near[0]["copy_method"], percent(ratio), percent(off(answer, near[0]))),
            told,
        )

    def measured(self, times: Dict[str, float], *words: str) -> Dict[str, Any]:
        """The answer where these schedules by engine were measured for the very question."""
        path = self.stored(curves() + synthetic.schedules({(4096, 512, 512): times}).text())
        code, out, err = self.advise(str(path), *OPTIONS, *words, "--format", "json")
        self.assertEqual((code, err), (0, ""))
        if jsonschema:
            jsonschema.Draft7Validator(validate.schema("advice")).validate(json.loads(out))
        return json.loads(out)

    def test_what_was_measured_for_this_question_is_the_answer(self) -> None:
        """Two schedules that are predicted to be slow."""
        best = self.measured({})["pick"]["predicted_s"]
        slow = ("hetero-unfused-1d", "uniform-fused-1d")
        answer = self.measured(dict(zip(("serial", *slow), (0.9 * best, 0.6 * best, 0.3 * best))))
        first, second, third = answer["candidates"][:3]
        self.assertEqual([c["schedule"] for c in (first, second, third)], [slow[1], slow[0], "serial"])
        self.assertEqual((answer["pick"]["schedule"], answer["pick"]["copy_method"]), (slow[1], "engine"))
        self.assertAlmostEqual(answer["pick"]["measured_s"] / (0.3 * best), 1, delta=0.01)
        self.assertLess(first["measured_ci_s"][1], second["measured_ci_s"][0])
        self.assertTrue(answer["decided"])
        self.assertIn("measured exactly this question in this run: 3 of the 12 rows", answer["why"])
        rows = self.table(
            curves() + synthetic.schedules({(4096, 512, 512): {"serial": best, slow[0]: 0.3 * best}}).text()
        )
        self.assertTrue(rows["decided"].startswith("yes, measured in this run: every other"), rows["decided"])
        self.assertIn("in this run (95 %: ", rows["measured"])

    def test_measured_schedules_tie_by_their_intervals_and_others_by_their_errors(self) -> None:
        best = self.measured({})["pick"]["predicted_s"]
        close = self.measured({"serial": 0.3 * best, "shard": 0.3001 * best})
        self.assertFalse(close["decided"])
        known = [c for c in close["candidates"] if c["measured_s"]]
        self.assertEqual([(c["schedule"], c["tie"]) for c in known], [("serial", True), ("shard", True)])
        for c in close["candidates"][2:]:
            allowed = (1 + off(close, c)) * close["pick"]["measured_s"]
            self.assertEqual(c["tie"], c["predicted_s"] <= allowed)
        late = self.measured({"serial": 3 * best, "shard": 4 * best})
        self.assertEqual((late["pick"]["schedule"], late["decided"]), ("serial", False))
        told = self.table(
            curves() + synthetic.schedules({(4096, 512, 512): {"serial": 3 * best, "shard": 4 * best}}).text()
        )["decided"]
        self.assertRegex(told, r"^not decided: .* less than the measured pick, and may be off by ")

    def test_only_the_very_question_counts_as_measured(self) -> None:
        times = {"serial": 1e-9, "shard": 2e-9}
        for words in (("--m", "4095"), ("--devices", "3"), ("--op", "gemm-rs"), ("--op", "a2a-gemm")):
            answer = self.measured(times, *words)
            self.assertEqual({c["measured_s"] for c in answer["candidates"]}, {None}, words)
            self.assertIsNone(answer["pick"]["measured_s"])
        self.assertIsNone(self.measured({"serial": 1e-9})["pick"]["measured_s"])
        for change in ({"peers_are": "pinned host memory"}, {"blocks": 8}, {"operands": "cold"}):
            ficco = synthetic.schedules({(4096, 512, 512): times})
            for record in ficco.lines:
                if record["kind"] == "case":
                    if "peers_are" in change:
                        record["facts"].update(change)
                    else:
                        record["case"].update(change)
            signature = self.signature(curves() + ficco.text()).json
            self.assertEqual(signature["programs"]["overlap/ficco"]["results"]["schedules"], [], change)

    def test_a_type_that_the_device_lacks_is_no_circle(self) -> None:
        """Not "run gemm/efficiency", which would say that the device cannot do it."""
        path = self.stored(curves())
        signature = json.loads(path.read_text(encoding="utf-8"))
        signature["devices"] = {"x[0]": {"gemm_types": ["f32", "f64"]}}
        path.write_text(json.dumps(signature), encoding="utf-8")
        code, out, err = self.advise(str(path), *OPTIONS[:-1], "bf16")
        self.assertEqual((code, out), (77, ""))
        self.assertIn("has no GEMM of bf16, so there is nothing to advise; its types: f32 f64", err)
        self.assertNotIn("run ", err)
        signature["devices"]["x[0]"]["gemm_types"].append("bf16")
        signature["invalid"] = [
            {"program": "gemm/efficiency", "key": "type=bf16 shape=n512", "reason": "noisy"}
        ]
        path.write_text(json.dumps(signature), encoding="utf-8")
        err = self.advise(str(path), *OPTIONS[:-1], "bf16")[2]
        self.assertIn("1 values were flagged invalid: noisy", err)
        self.assertIn("run gemm/efficiency --type bf16", err)

    def test_notes_are_those_of_the_question(self) -> None:
        notes = json.loads(self.advise(str(self.stored(curves())), *OPTIONS, "--format", "json")[1])["notes"]
        self.assertFalse([n for n in notes if "copy_contention" in n], notes)

    def test_what_is_missing_and_decides_is_named_with_its_cost(self) -> None:
        """Its copies are between host and device, and nothing tells what GEMMs lose to them."""
        parts = (synthetic.gemms, synthetic.copies, synthetic.launch, synthetic.memory)
        path = self.stored("".join(part().text() for part in parts))
        balanced = ("--n", "256", "--k", "4096")
        answer = json.loads(self.advise(str(path), *OPTIONS, *balanced, "--format", "json")[1])
        needs = {need["input"]: need for need in answer["needs"]}
        self.assertFalse(answer["decided"])
        self.assertEqual(set(needs), {"contention-engine", "peer-copies"})
        engine = needs["contention-engine"]
        self.assertEqual(engine["options"], "--type f32 --direction up --copy-method engine")
        self.assertIn("bin/micro/copy_contention --device ", engine["command"])
        self.assertIn("--out %s" % (self.folder / "records.jsonl"), engine["command"])
        self.assertGreater(engine["cost_s"], 0)
        decided = self.table("".join(part().text() for part in parts), *balanced)["decided"]
        self.assertTrue(
            decided.startswith("not decided: needs the contention of GEMMs and engine copies, by"), decided
        )

    def test_the_command_has_the_priority_of_the_run(self) -> None:
        """Else the report would say that it changed while measuring."""
        signature = self.signature(curves()).json
        for nice, begin in ((-20, "nice -n -20 bin/"), (0, "bin/"), (None, "bin/")):
            signature["provenance"]["fields"]["nice"] = nice
            command = need(signature, "contention-engine", "peer", "f32", self.folder)["command"]
            self.assertTrue(command.startswith(begin), command)

    def test_another_type_stands_in_and_another_direction_is_assumed(self) -> None:
        def assumed(change: Dict[str, str]) -> bool:
            signature = self.signature(curves()).json
            losses = signature["programs"]["micro/copy_contention"]["results"]["cil"]
            signature["programs"]["micro/copy_contention"]["results"]["cil"] = [
                dict(entry, **change) for entry in losses
            ]
            return any(line.startswith("assumed ") for line in machine_of(signature).lines)

        self.assertEqual(
            [assumed({}), assumed({"type": "f64"}), assumed({"direction": "peer"})], [False, False, True]
        )

    def test_wrong_results_are_said(self) -> None:
        path = self.stored(curves())
        signature = json.loads(path.read_text(encoding="utf-8"))
        entry = {"program": "micro/memory", "device": "host", "key": "a=1", "reason": "wrong result: word 7"}
        signature["not_measured"] += [
            dict(entry, status="failed", cause="wrong_result", count=2, where={}),
            dict(entry, status="failed", cause="error", count=1, where={}),
        ]
        path.write_text(json.dumps(signature), encoding="utf-8")
        said = "the signature has wrong results: micro/memory on host: wrong result: word 7, and 1 more case"
        self.assertIn(said, json.loads(self.advise(str(path), *OPTIONS, "--format", "json")[1])["notes"])
        for names in ([str(path)], [str(path), str(path)]):
            out = self.advise(*names, *OPTIONS)[1]
            self.assertIn(said, " ".join(out.split()))
        code, out, err = self.advise(str(path), "--format", "machine")
        self.assertEqual((code, err), (0, "gpusig: advise: %s\n" % said))

    def test_the_machine_is_what_the_library_reads(self) -> None:
        path = self.stored(curves())
        code, out, _ = self.advise(str(path), "--format", "machine")
        self.assertEqual(code, 0)
        machine = Machine(out.splitlines())
        self.assertEqual(
            Adviser(machine).ask(512, 512, 512, 4, "ag-gemm", "f32"),
            Adviser(machine_of(read_signature(path))).ask(512, 512, 512, 4, "ag-gemm", "f32"),
        )

    def test_only_a_regular_file_of_a_bounded_size_is_read(self) -> None:
        pipe, large, folder = (self.folder / name for name in ("pipe", "large", "folder"))
        os.mkfifo(pipe)
        (folder / "signature.json").mkdir(parents=True)
        with open(large, "wb") as stream:
            stream.truncate((64 << 20) + 1)
        other = "not a regular file"
        for path, text in (
            (large, "larger than 64 MiB"),
            (folder, other),
            (Path("/dev/zero"), other),
            (pipe, other),
        ):
            code, out, err = self.advise(str(path), *OPTIONS)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(text, err)

    def test_bad_input_is_one_line(self) -> None:
        good = self.stored(curves())
        broken, other, few = (self.folder / name for name in ("broken.json", "other.json", "few.json"))
        broken.write_text("{", encoding="utf-8")
        other.write_text('{"schema": "gpusig.advice"}', encoding="utf-8")
        signature = json.loads(good.read_text(encoding="utf-8"))
        few.write_text(json.dumps(dict(signature, programs={"gemm/efficiency": 3})), encoding="utf-8")
        score = {
            **signature["programs"]["micro/launch"],
            "program": SCORED,
            "results": {"advice": {"hit_rate": 1}},
        }
        unscored = self.folder / "unscored.json"
        unscored.write_text(
            json.dumps(dict(signature, programs={**signature["programs"], SCORED: score})),
            encoding="utf-8",
        )
        bare = self.folder / "bare.json"
        bare.write_text(json.dumps(dict(signature, programs={})), encoding="utf-8")
        for path, words, code, text in (
            (self.folder / "none.json", OPTIONS, 2, "No such file"),
            (broken, OPTIONS, 1, "not JSON"),
            (other, OPTIONS, 1, "not a signature"),
            (few, OPTIONS, 1, "malformed"),
            (unscored, OPTIONS, 1, "malformed"),
            (good, OPTIONS + ["--m", "9" * 5000], 2, "9999' is not a whole number"),
            (bare, OPTIONS, 77, "run gemm/efficiency --type f32"),
            (good, OPTIONS[:-1] + ["bf16"], 77, "has no GEMM of bf16"),
            (good, OPTIONS[:-1] + ["i8"], 2, "choices: f32"),
            (good, OPTIONS + ["--op", "gemm"], 2, "choices: ag-gemm"),
            (good, OPTIONS + ["--m", "-1"], 2, "whole number"),
            (good, OPTIONS[:-2], 2, "needs --type"),
            (good, OPTIONS + ["--devices", "65"], 2, "exceed"),
            (good, OPTIONS + ["--format", "xml"], 2, "unknown format"),
        ):
            got, out, err = self.advise(str(path), *words)
            self.assertEqual((got, out, err.count("\n")), (code, "", 1), err)
            self.assertIn(text, err)


@unittest.skipUnless(BUILT, "%s is not built" % library_path().name)
class Scoring(workplace.Scratch):
    SHAPES = ((1024, 256, 300), (2048, 128, 512), (640, 96, 2048), (4096, 512, 4096))

    def times(self, slower: Dict[int, float]) -> Dict[Tuple[int, int, int], Dict[str, float]]:
        """All schedules take twice what the advised one takes; at some shapes another one takes less than
        that."""
        adviser = Adviser(machine_of(self.signature(curves()).json))
        found = {}
        for i, (m, n, k) in enumerate(self.SHAPES):
            candidates = [
                c
                for c in adviser.ask(m, n, k, 4, "ag-gemm", "f32")["candidates"]
                if c["copy_method"] == "engine"
            ]
            found[m, n, k] = {c["schedule"]: 2e-3 for c in candidates}
            found[m, n, k][candidates[0]["schedule"]] = 1e-3
            if i in slower:
                found[m, n, k][candidates[-1]["schedule"]] = 1e-3 / (1 + slower[i])
        return found

    def score(self, slower: Dict[int, float]) -> dict:
        text = curves() + synthetic.schedules(self.times(slower)).text()
        return self.signature(text).json["programs"]["overlap/ficco"]["results"]["advice"]

    def test_hits_and_losses_are_counted(self) -> None:
        score = self.score({1: 0.10})
        self.assertEqual((score["scenarios"], score["hits"], score["seen"]["scenarios"]), (3, 2, 1))
        self.assertAlmostEqual(score["mean_loss_when_wrong"], 0.10, delta=0.003)
        self.assertAlmostEqual(score["mean_loss"], 0.10 / 3, delta=0.001)
        self.assertEqual([t["hit"] for t in score["table"]].count(False), 1)
        self.assertEqual([t["unseen"] for t in score["table"]].count(False), 1)

    def test_what_the_noise_hides_is_a_hit(self) -> None:
        score = self.score({1: 0.0005})
        self.assertEqual(score["hits"], 3)
        self.assertIsNone(score["mean_loss_when_wrong"])

    def test_where_noise_hides_all_nothing_is_scored(self) -> None:
        times = {shape: {name: 1e-3 for name in own} for shape, own in self.times({}).items()}
        programs = self.signature(curves() + synthetic.schedules(times).text()).json["programs"]
        score = programs["overlap/ficco"]["results"]["advice"]
        self.assertEqual((score["scenarios"], score["seen"]["scenarios"], score["undecided"]), (0, 0, 4))

    def test_invalid_schedules_do_not_compete(self) -> None:
        ficco = synthetic.schedules(self.times({1: 0.10}))
        case = ficco.lines[2]
        best = min(case["variants"], key=lambda v: v["median_s"])["name"]
        case["validity"]["flags"] = [{"flag": "gate", "variant": best, "reason": "stuck"}]
        for entry in case["derived"]:
            entry["valid"] = entry["variant"] != best
        score = self.signature(curves() + ficco.text()).json["programs"]["overlap/ficco"]["results"]["advice"]
        self.assertEqual((score["scenarios"], score["hits"]), (3, 3))

    def test_the_same_work_is_one_scenario(self) -> None:
        ficco = synthetic.schedules(self.times({1: 0.10}))
        for line in ficco.lines[1:-1]:
            case = dict(line["case"], op="a2a-gemm")
            ficco.lines.insert(
                -1,
                dict(
                    line,
                    case=case,
                    key=" ".join("%s=%s" % entry for entry in case.items()),
                    facts=dict(line["facts"], same_work_as="ag-gemm"),
                ),
            )
        score = self.signature(curves() + ficco.text()).json["programs"]["overlap/ficco"]["results"]["advice"]
        self.assertEqual((score["scenarios"], score["hits"], score["seen"]["scenarios"]), (3, 2, 1))

    def test_a_value_that_is_missing_beside_the_time_takes_no_schedule_out(self) -> None:
        ficco = synthetic.schedules(self.times({1: 0.10}))
        for line in ficco.lines[1:-1]:
            for name in self.times({})[self.SHAPES[0]]:
                line["derived"].append(
                    synthetic.value("fraction_of_ideal", name, None, reason="S_ideal is within noise of 1")
                )
                flag = {
                    "flag": "above_bound",
                    "variant": name,
                    "quantity": "S",
                    "reason": "S is above S_ideal",
                }
                line["validity"]["flags"].append(flag)
            for entry in line["derived"]:
                entry["valid"] = entry["name"] == "time"
        score = self.signature(curves() + ficco.text()).json["programs"]["overlap/ficco"]["results"]["advice"]
        self.assertEqual((score["scenarios"], score["hits"]), (3, 2))

    def test_without_curves_there_is_a_reason(self) -> None:
        text = synthetic.schedules({(64, 64, 64): {"serial": 1e-3, "shard": 2e-3}}).text()
        section = self.signature(text).json["programs"]["overlap/ficco"]
        self.assertEqual(
            (section["results"]["advice"]["scenarios"], section["results"]["advice"]["skipped"]), (0, 1)
        )
        self.assertIn("no case", section["results"]["advice"]["reason"])
        self.assertIn("The advice has no score: no case", section["summary"])

    def test_without_the_library_there_is_a_reason(self) -> None:
        with mock.patch.dict("os.environ", {"GPUSIG_BIN": str(self.folder)}):
            section = self.signature(
                curves() + synthetic.schedules({(64, 64, 64): {"serial": 1e-3}}).text()
            ).json
        self.assertIn("cannot load", section["programs"]["overlap/ficco"]["results"]["advice"]["reason"])

    def test_the_difference_to_the_best_constant_choice(self) -> None:
        """By hand: of four scenarios of two shapes the advice is good in all, the constant choice in one."""
        ours = [{"good": True, "m": m, "n": 1, "k": 1} for m in (1, 1, 2, 2)]
        theirs = [{"good": good} for good in (True, False, False, False)]
        found = advice.difference(ours, theirs, "serial")
        self.assertEqual((found["value"], found["better"], found["worse"], found["shapes"]), (0.75, 3, 0, 2))
        self.assertEqual(found["ci"], [0.5, 1.0])
        self.assertEqual(advice.mcnemar(3, 0), 0.25)
        self.assertEqual(advice.mcnemar(0, 0), 1.0)
        self.assertAlmostEqual(advice.mcnemar(1, 9), 2 * 11 / 1024)
        worse = advice.difference([{"good": False, "m": 1, "n": 1, "k": 1}], [{"good": True}], "serial")
        self.assertEqual((worse["value"], worse["ci"]), (-1, [-1, -1]))

    def test_up_to_two_percent_is_good(self) -> None:
        score = self.score({1: 0.015})
        self.assertEqual((score["scenarios"], score["hits"], score["good"]), (3, 2, 3))

    def test_wilson_by_the_book(self) -> None:
        self.assertIsNone(advice.wilson(0, 0))
        low, high = advice.wilson(81, 100) or (0, 0)
        self.assertAlmostEqual(low, 0.7222, delta=5e-4)
        self.assertAlmostEqual(high, 0.8749, delta=5e-4)

    @unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
    def test_the_report_shows_the_score(self) -> None:
        from reports.signature.report import render

        page = render(self.signature(curves() + synthetic.schedules(self.times({1: 0.10})).text()))
        for words in ("2 of 3 unseen", "always serial", "advised took"):
            self.assertIn(words, page)


if __name__ == "__main__":
    unittest.main()
