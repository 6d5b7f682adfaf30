# SPDX-License-Identifier: BSD-3-Clause
"""Sending C before its GEMM ends: what the signature keeps of overlap/trigger, and what is told of it."""

from __future__ import annotations

import json
import re
import unittest
from typing import List, Mapping, Optional, Sequence, Tuple

import synthetic
import workplace
from record_writer import Json, Writer, axis, value

from reports.advise import Adviser, library_path
from reports.advise_early import DIRECTIONS, WAYS
from reports.advise_machine import machine_of
from reports.signature_file import LIMIT, restored

BUILT = library_path().exists()

GEMM_S = 1e-3
# (send / GEMM, direction, bands) -> variant -> gain
Gains = Mapping[Tuple[float, str, int], Mapping[str, Optional[float]]]


def trigger(gains: Gains, flags: Sequence[Json] = (), kind: str = "f32", **axes: str) -> Writer:
    """A send that takes so many times a GEMM of 1 ms, by two devices; a gain of None is invalid."""
    w = Writer("overlap/trigger", [], [axis("type", "", [kind]), axis("shape", "", []), axis("direction", "", list(DIRECTIONS)),
                                       axis("bands", "", [4, 16])])
    for (x, direction, bands), of_variant in gains.items():
        times = {"gemm_alone": GEMM_S, "send_alone": x * GEMM_S, "whole_then_send": (1 + x) * GEMM_S}
        times.update({name: times["whole_then_send"] / (gain or 1) for name, gain in of_variant.items()})
        derived = [value("time", name, seconds, "s") for name, seconds in times.items()]
        derived += [value("S", name, gain, ci_low=gain and 0.99 * gain, ci_high=gain and 1.01 * gain)
                    for name, gain in of_variant.items()]
        side = int(1000 / x)  # a long K has little to send
        line = w.case({"type": kind, "shape": "64x64x%d" % side, "direction": direction, "bands": bands, "copy-method": "engine",
                       **axes}, [w.variant(name, seconds) for name, seconds in times.items()], derived, flags=flags)
        line["facts"] = {"m": 64, "n": 64, "k": side, "bands_sent": bands,
                         "devices_that_send": 2 if direction == "exchange" else 1}
    return w.end()


def ideal(direction: str = "exchange", **factors: float) -> Gains:
    """(1 + x) / max(1, x), what overlap gives at most, times a factor for each variant."""
    return {(x, direction, 4): {name: factor * (1 + x) / max(1, x) for name, factor in factors.items()}
            for x in (2.0 ** i for i in range(-8, 5))}


class Learning(workplace.Scratch):
    def points(self, *parts: Writer) -> List[Json]:
        signature = self.signature("".join(part.text() for part in parts))
        kept = restored(json.loads(signature.text()))["programs"]["overlap/trigger"]["results"]["early_sends"]
        self.assertEqual(len(kept), len(signature.json["programs"]["overlap/trigger"]["results"]["early_sends"]))
        return kept

    def test_the_best_number_of_bands_with_its_interval(self) -> None:
        points = self.points(trigger({(0.5, "peer", 4): {"triggered": 1.1, "split": 1.3},
                                      (0.5, "peer", 16): {"triggered": 1.2, "split": 0.9}}))
        found = {p["way"]: p for p in points}
        self.assertEqual({way: p["bands"] for way, p in found.items()}, {"trigger": 16, "split": 4})
        p = found["trigger"]
        for name, wanted in (("send_over_gemm", 0.5), ("gain", 1.2), ("ci_low", 1.188), ("ci_high", 1.212)):
            self.assertAlmostEqual(p[name], wanted, delta=1e-5)
        self.assertEqual((p["direction"], p["type"], p["copy_method"], p["m"], p["k"]), ("peer", "f32", "engine", 64, 2000))

    def test_between_devices_before_down_for_each_way(self) -> None:
        gains = {"triggered": 1.1, "remote_store": 1.0}
        for i, first in enumerate(DIRECTIONS):
            points = self.points(trigger({(0.5, d, 4): gains for d in reversed(DIRECTIONS[i:])}))
            self.assertEqual({(p["way"], p["direction"]) for p in points}, {("trigger", first), ("remote-store", first)})
        points = self.points(trigger({(0.5, "exchange", 4): {"triggered": 1.1}, (0.5, "peer", 4): gains}))
        self.assertEqual({(p["way"], p["direction"]) for p in points}, {("trigger", "exchange"), ("remote-store", "peer")})

    def test_every_way_has_the_name_of_the_library(self) -> None:
        points = self.points(trigger({(0.5, "exchange", 4): dict.fromkeys([*WAYS, "whole_tiled_then_send"], 1.5)}))
        self.assertEqual(sorted(p["way"] for p in points), sorted(WAYS.values()))
        header = (workplace.ROOT / "advise" / "advise.h").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r'WAY\([A-Z_]+, "([a-z-]+)"\)', header), list(WAYS.values()))

    def test_what_is_invalid_or_cold_is_not_kept(self) -> None:
        flag = {"flag": "above_bound", "variant": "triggered", "quantity": "S", "reason": "S is above S_ideal"}
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
        without_send.lines[1]["derived"] = [d for d in without_send.lines[1]["derived"] if d["variant"] != "send_alone"]
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
        lines = [line for line in machine_of(self.signature(twice.text()).json).lines if line.startswith("early")]
        self.assertEqual(lines, ["early split engine f32 0.5 2", "early split engine f32 2 0.8"])

    def test_a_large_run_stays_small(self) -> None:
        gains = {(1.001 ** i, direction, bands): dict.fromkeys(WAYS, 1.1)
                 for i in range(100) for direction in DIRECTIONS for bands in (4, 16)}
        text = self.signature(trigger(gains).text() + synthetic.everything()).text()
        self.assertLessEqual(len(text.encode("utf-8")), LIMIT)
        machine = machine_of(restored(json.loads(text)))
        if BUILT:
            Adviser(machine)
        self.assertGreater(sum(line.startswith("early") for line in machine.lines), 4)


if __name__ == "__main__":
    unittest.main()
