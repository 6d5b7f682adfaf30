# SPDX-License-Identifier: BSD-3-Clause
"""Sending C before its GEMM ends: what the signature keeps of overlap/trigger, and what is told of it."""

from __future__ import annotations

import contextlib
import io
import json
import re
import unittest
from typing import List, Mapping, Optional, Sequence, Tuple
from unittest import mock

import synthetic
import workplace
from record_writer import Json, Writer, axis, value

from suite import __main__ as driver
from reports.records import validate
from reports.advice.library import Adviser, library_path
from reports.advice.early import DIRECTIONS, WAYS
from reports.advice.early_text import early_text
from reports.advice.machine import machine_of
from reports.advice.measured import prefer_measured
from tests import level

try:
    import jsonschema
except ImportError:
    jsonschema = None

BUILT = library_path().exists()

GEMM_S = 1e-3
# (send / GEMM, direction, bands) -> variant -> gain
Gains = Mapping[Tuple[float, str, int], Mapping[str, Optional[float]]]


def trigger(gains: Gains, flags: Sequence[Json] = (), kind: str = "f32", **axes: str) -> Writer:
    """A send that takes so many times a GEMM of 1 ms, by two devices; a gain of None is invalid."""
    w = Writer(
        "overlap/trigger",
        [],
        [
            axis("type", "", [kind]),
            axis("shape", "", []),
            axis("direction", "", list(DIRECTIONS)),
            axis("bands", "", [4, 16]),
        ],
    )
    for (x, direction, bands), of_variant in gains.items():
        times = {"gemm_alone": GEMM_S, "send_alone": x * GEMM_S, "whole_then_send": (1 + x) * GEMM_S}
        times.update({name: times["whole_then_send"] / (gain or 1) for name, gain in of_variant.items()})
        derived = [value("time", name, seconds, "s") for name, seconds in times.items()]
        derived += [
            value("S", name, gain, ci_low=gain and 0.99 * gain, ci_high=gain and 1.01 * gain)
            for name, gain in of_variant.items()
        ]
        side = int(1000 / x)  # a long K has little to send
        line = w.case(
            {
                "type": kind,
                "shape": "64x64x%d" % side,
                "direction": direction,
                "bands": bands,
                "copy-method": "engine",
                **axes,
            },
            [w.variant(name, seconds) for name, seconds in times.items()],
            derived,
            flags=flags,
        )
        line["facts"] = {
            "m": 64,
            "n": 64,
            "k": side,
            "bands_sent": bands,
            "devices_that_send": 2 if direction == "exchange" else 1,
        }
    return w.end()


def ideal(direction: str = "exchange", **factors: float) -> Gains:
    """(1 + x) / max(1, x), what overlap gives at most, times a factor for each variant."""
    return {
        (x, direction, 4): {name: factor * (1 + x) / max(1, x) for name, factor in factors.items()}
        for x in (2.0**i for i in range(-8, 5))
    }


class Learning(workplace.Scratch):
    def points(self, *parts: Writer) -> List[Json]:
        signature = self.signature("".join(part.text() for part in parts))
        kept = json.loads(signature.text())["programs"]["overlap/trigger"]["results"]["early_sends"]
        self.assertEqual(
            len(kept), len(signature.json["programs"]["overlap/trigger"]["results"]["early_sends"])
        )
        return kept

    def test_the_best_number_of_bands_with_its_interval(self) -> None:
        points = self.points(
            trigger(
                {
                    (0.5, "peer", 4): {"triggered": 1.1, "split": 1.3},
                    (0.5, "peer", 16): {"triggered": 1.2, "split": 0.9},
                }
            )
        )
        found = {p["way"]: p for p in points}
        self.assertEqual({way: p["bands"] for way, p in found.items()}, {"trigger": 16, "split": 4})
        p = found["trigger"]
        for name, wanted in (("send_over_gemm", 0.5), ("gain", 1.2), ("ci_low", 1.188), ("ci_high", 1.212)):
            self.assertAlmostEqual(p[name], wanted, delta=1e-5)
        self.assertEqual(
            (p["direction"], p["type"], p["copy_method"], p["m"], p["k"]), ("peer", "f32", "engine", 64, 2000)
        )

    def test_between_devices_before_down_for_each_way(self) -> None:
        gains = {"triggered": 1.1, "remote_store": 1.0}
        for i, first in enumerate(DIRECTIONS):
            points = self.points(trigger({(0.5, d, 4): gains for d in reversed(DIRECTIONS[i:])}))
            self.assertEqual(
                {(p["way"], p["direction"]) for p in points}, {("trigger", first), ("remote-store", first)}
            )
        points = self.points(trigger({(0.5, "exchange", 4): {"triggered": 1.1}, (0.5, "peer", 4): gains}))
        self.assertEqual(
            {(p["way"], p["direction"]) for p in points}, {("trigger", "exchange"), ("remote-store", "peer")}
        )

    def test_every_way_has_the_name_of_the_library(self) -> None:
        points = self.points(
            trigger({(0.5, "exchange", 4): dict.fromkeys([*WAYS, "whole_tiled_then_send"], 1.5)})
        )
        self.assertEqual(sorted(p["way"] for p in points), sorted(WAYS.values()))
        header = (workplace.ROOT / "advise" / "advise.h").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r'WAY\([A-Z_]+, "([a-z-]+)"\)', header), list(WAYS.values()))

    def test_what_is_invalid_or_cold_is_not_kept(self) -> None:
        flag = {
            "flag": "above_bound",
            "variant": "triggered",
            "quantity": "S",
            "reason": "S is above S_ideal",
        }
        stuck = {"flag": "gate", "variant": None, "reason": "stuck"}
        gains = {(0.5, "peer", 4): {"triggered": 9.0, "split": 1.2}}
        points = self.points(trigger({(0.5, "peer", 4): {"triggered": None, "split": 1.2}}))
        self.assertEqual([p["way"] for p in points], ["split"])
        bad = trigger(gains, [flag])
        for entry in bad.lines[1]["derived"]:
            entry["valid"] = (entry["name"], entry["variant"]) != ("S", "triggered")
        self.assertEqual([p["way"] for p in self.points(bad)], ["split"])
        self.assertEqual(self.points(trigger(gains, [stuck])), [])
        self.assertEqual(self.points(trigger(gains, operands="cold")), [])
        without_send = trigger(gains)
        without_send.lines[1]["derived"] = [
            d for d in without_send.lines[1]["derived"] if d["variant"] != "send_alone"
        ]
        self.assertEqual(self.points(without_send), [])

    def test_the_lines_are_curves(self) -> None:
        """Two shapes of one ratio are one point: the mean of 1.6 and 2.5 is 2."""
        twice = trigger({(2.0, "peer", 4): {"split": 0.8}, (0.5, "peer", 4): {"split": 1.6}})
        other = trigger({(0.5, "peer", 4): {"split": 2.5}})
        for line in other.lines[1:-1]:
            line["facts"]["m"] = 128
            line["case"]["shape"] = "other"
            line["key"] = line["key"].replace("64x64x2000", "other")
        twice.lines[-1:-1] = other.lines[1:-1]
        lines = [
            line for line in machine_of(self.signature(twice.text()).json).lines if line.startswith("early")
        ]
        self.assertEqual(lines, ["early split engine f32 0.5 2", "early split engine f32 2 0.8"])

    @level.only_all
    def test_a_large_run_is_whole(self) -> None:
        gains = {
            (1.001**i, direction, bands): dict.fromkeys(WAYS, 1.1)
            for i in range(level.seeds(0, 40, 100))
            for direction in DIRECTIONS
            for bands in (4, 16)
        }
        signature = self.signature(trigger(gains).text() + synthetic.everything())
        machine = machine_of(json.loads(signature.text()))
        self.assertEqual(machine.lines, machine_of(signature.json).lines)
        if BUILT:
            Adviser(machine)
        self.assertGreater(sum(line.startswith("early") for line in machine.lines), 4)


def way(name: str, gain: Optional[float] = None, pays: Optional[bool] = None, **more: object) -> Json:
    """With a gain; else without points, or with points elsewhere where `measured` says so."""
    known = gain is not None or "measured" in more
    return {
        "way": name,
        "points": 5 if known else 0,
        "extrapolated": gain is None and known,
        "copy_method": "engine" if known else None,
        "send_over_gemm": 0.5 if known else None,
        "measured": [0.1, 2.0] if known else None,
        "gain": gain,
        "error": 0.05 if gain else None,
        "predicted_s": 1 / gain if gain else None,
        "pays": pays,
        **more,
    }


PICK = {"schedule": "shard", "copy_method": "kernel", "predicted_s": 1.0}


class Sentences(unittest.TestCase):
    def told(
        self,
        *ways: Json,
        best: Optional[str] = None,
        ratio: Optional[float] = None,
        beats: Optional[bool] = None,
    ) -> str:
        early = {
            "ways": list(ways),
            "best": best,
            "over_pick": ratio,
            "beats_pick": beats,
            "over_pick_error": 0.1 if best else None,
        }
        return early_text(early, PICK, " (a reason)")

    def test_what_pays_comes_first(self) -> None:
        ways = (
            way("trigger", 1.12, True),
            way("trigger-staggered", 1.04),
            way("split", 1.2),
            way("remote-store", 0.95, False),
        )
        self.assertEqual(
            self.told(*ways, best="trigger", ratio=1.3, beats=True),
            "A trigger (software) is expected to gain 1.12x over whole-then-send for this shape; a GEMM for "
            "each band 1.20x, "
            "within the error of 5.0 %; a staggered trigger (software) 1.04x, within the error of 5.0 %; "
            "remote stores 0.95x: "
            "they do not pay. A trigger (software) is predicted to be 1.30 times as fast as the pick, shard "
            "by kernel.",
        )

    def test_the_pick_may_be_faster_or_as_fast(self) -> None:
        stores = way("remote-store", 1.2, True)
        self.assertIn(
            "Remote stores are not distinguishable from the pick, shard by kernel: 1.03x, within the error "
            "of 10 %.",
            self.told(stores, best="remote-store", ratio=1.03),
        )
        self.assertIn(
            "The pick, shard by kernel, is predicted to be 1.25 times as fast as remote stores.",
            self.told(stores, best="remote-store", ratio=0.8, beats=False),
        )

    def test_nothing_pays(self) -> None:
        self.assertEqual(
            self.told(way("trigger", 0.8, False), way("split", 0.9, False)),
            "Nothing that overlap/trigger measures is expected to gain over whole-then-send for this "
            "shape: "
            "a GEMM for each band 0.90x, a trigger (software) 0.80x.",
        )
        self.assertEqual(
            self.told(way("split", 5.0, error=None)),
            "A GEMM for each band is expected to gain 5.00x over "
            "whole-then-send for this shape, within an error of unknown size.",
        )

    def test_why_nothing_is_said(self) -> None:
        self.assertEqual(
            self.told(way("trigger"), way("remote-store")),
            "The gain of a trigger or of remote stores is not known: "
            "overlap/trigger has no value for this type (a reason).",
        )
        far = [way(name, measured=[1.0, 2.0]) for name in ("trigger", "split")]
        self.assertEqual(
            self.told(*far, way("remote-store")),
            "No prediction for a trigger (software) and a GEMM for each "
            "band: scattering C takes 0.500 of the time of its GEMM, and 1 to 2 were measured. Not measured: "
            "remote stores.",
        )


OPTIONS = ["--m", "4096", "--n", "512", "--k", "512", "--type", "f32"]


def curves() -> str:
    return synthetic.gemms().text() + synthetic.copies().text()


@unittest.skipUnless(BUILT, "%s is not built" % library_path().name)
class Telling(workplace.Scratch):
    def advise(self, text: str, op: str, *words: str) -> str:
        path = self.folder / "signature.json"
        path.write_text(self.signature(text).text(), encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.assertEqual(
                driver.main(["advise", str(path), *OPTIONS, "--devices", "2", "--op", op, *words]), 0, err
            )
        return out.getvalue()

    def answer(self, text: str, op: str, *words: str) -> Json:
        answer = json.loads(self.advise(text, op, "--format", "json", *words))
        if jsonschema:
            jsonschema.Draft7Validator(validate.schema("advice")).validate(answer)
        return answer

    def test_gains_are_those_of_the_formula(self) -> None:
        text = curves() + trigger(ideal(triggered=0.9, split=0.6, remote_store=1.0)).text()
        for op in ("gemm-rs", "gemm-ar"):
            answer = self.answer(text, op)
            early, serial = (
                answer["early"],
                [
                    c
                    for c in answer["candidates"]
                    if (c["schedule"], c["copy_method"]) == ("serial", "engine")
                ][0],
            )
            x = early["send_over_gemm"]
            ways = {w["way"]: w for w in early["ways"]}
            for name, factor in (("trigger", 0.9), ("split", 0.6), ("remote-store", 1.0)):
                self.assertAlmostEqual(ways[name]["gain"] / (factor * (1 + x) / max(1, x)), 1, delta=0.05)
                self.assertEqual(
                    (ways[name]["direction"], ways[name]["devices"], ways[name]["points"]),
                    ("exchange", 2, 13),
                )
            self.assertEqual(ways["trigger-staggered"]["points"], 0)
            self.assertEqual(early["best"], "remote-store")
            self.assertAlmostEqual(
                early["over_pick"] * ways["remote-store"]["predicted_s"], answer["pick"]["predicted_s"]
            )
            if op == "gemm-rs":
                self.assertAlmostEqual(
                    ways["trigger"]["predicted_s"] * ways["trigger"]["gain"] / serial["predicted_s"], 1
                )
            self.assertTrue(
                early["text"].startswith(
                    "Remote stores are expected to gain %.2fx" % ways["remote-store"]["gain"]
                )
            )
            self.assertEqual([n for n in answer["notes"] if "sending C early" in n], [])

    def test_where_c_is_not_sent_nothing_is_told(self) -> None:
        text = curves() + trigger(ideal(triggered=0.9)).text()
        for op in ("ag-gemm", "a2a-gemm"):
            self.assertIsNone(self.answer(text, op)["early"])
            self.assertNotIn("trigger", self.advise(text, op))

    def test_the_table_has_the_sentence(self) -> None:
        text = curves() + trigger(ideal(triggered=1.0)).text()
        out = self.advise(text, "gemm-rs")
        self.assertIn("A trigger (software) is expected to gain", out)
        self.assertIn(self.answer(text, "gemm-rs")["early"]["text"], " ".join(out.split()))
        self.assertLessEqual(max(map(len, out.splitlines())), 80, out)

    def test_without_measurements_the_reason_is_told(self) -> None:
        early = self.answer(curves(), "gemm-rs")["early"]
        self.assertEqual((early["best"], [w["points"] for w in early["ways"]]), (None, [0] * 4))
        self.assertIn(
            "is not known: overlap/trigger has no value for this type (the program did not run)",
            early["text"],
        )
        skipped = synthetic.unstarted("overlap/trigger", "skipped", "this device lacks gemm_tiled")
        self.assertIn(
            "(skipped: this device lacks gemm_tiled)",
            self.answer(curves() + skipped, "gemm-ar")["early"]["text"],
        )
        other = trigger(ideal(triggered=0.9), kind="f64").text()
        self.assertIn("is not known", self.answer(curves() + other, "gemm-rs")["early"]["text"])

    def test_what_stands_for_the_devices_is_noted(self) -> None:
        for direction, devices, words in (
            ("exchange", "4", "among 2 devices, not among 4 (direction exchange)"),
            ("peer", "2", "from one device to another (direction peer), not among 2"),
            (
                "down",
                "2",
                "in the direction down, because overlap/trigger has no value between devices (no such case "
                "was "
                "asked for)",
            ),
        ):
            answer = self.answer(
                curves() + trigger(ideal(direction, triggered=0.9)).text(), "gemm-rs", "--devices", devices
            )
            notes = [note for note in answer["notes"] if "sending C early" in note]
            self.assertEqual(notes, ["the gain of sending C early was measured " + words])

    def test_comparisons_have_it_for_each_machine(self) -> None:
        text = curves() + trigger(ideal(triggered=0.9)).text()
        other = self.folder / "other.json"
        other.write_text(self.signature(curves()).text(), encoding="utf-8")
        for op, count in (("gemm-rs", 1), ("ag-gemm", 0)):
            out = " ".join(self.advise(text, op, str(other)).split())
            self.assertEqual(out.count("A trigger (software) is expected to gain"), count)
            self.assertEqual(out.count("The gain of a trigger or of remote stores is not known"), count)

    def test_a_way_is_compared_with_the_pick_that_was_measured(self) -> None:
        """It is predicted, so its error and the expected one count: together 32 %."""
        question = {"m": 8, "n": 8, "k": 8, "devices": 2, "op": "gemm-rs", "type": "f32"}
        for seconds, beats in ((1.4, True), (1.3, None), (0.77, None), (0.7, False)):
            times = {name: [x, x, x] for name, x in (("serial", 9.0), ("shard", seconds))}
            rows = [{**question, "copy_method": "engine", "times_s": times}]
            signature = {"programs": {"overlap/ficco": {"results": {"schedules": rows}}}}
            plain = {"copy_method": "engine", "predicted_s": 5.0, "error": 0.0}
            early = {
                "best": "split",
                "ways": [{"way": "split", "predicted_s": 1.0, "error": 0.1}],
                "over_pick": 5.0,
                "beats_pick": True,
            }
            answer = {
                "candidates": [dict(plain, schedule=name) for name in times],
                "pick": {},
                "expected_error": 0.2,
                "early": early,
            }
            prefer_measured(signature, answer, question)
            self.assertEqual((answer["pick"]["schedule"], early["over_pick"]), ("shard", seconds))
            self.assertEqual(early["beats_pick"], beats)
            self.assertAlmostEqual(early["over_pick_error"], 0.32)

    def test_a_malformed_point_is_one_line(self) -> None:
        with mock.patch("reports.advice.early.points_of", side_effect=KeyError("way")):
            err = io.StringIO()
            with contextlib.redirect_stderr(err):
                path = self.folder / "signature.json"
                path.write_text(self.signature(curves()).text(), encoding="utf-8")
                self.assertEqual(
                    driver.main(["advise", str(path), *OPTIONS, "--devices", "2", "--op", "gemm-rs"]), 1
                )
        self.assertIn("malformed", err.getvalue())


if __name__ == "__main__":
    unittest.main()
