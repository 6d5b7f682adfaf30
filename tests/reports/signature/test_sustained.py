# SPDX-License-Identifier: BSD-3-Clause
"""Loads for minutes: the sentence, what the signature keeps of a course, and the charts."""

from __future__ import annotations

import json
import unittest

import synthetic
import workplace
from synthetic import axis, value

from reports.records.records import CourseRow
from reports.signature.sections import sustained

Json = dict
N = 300


def row(unit: str, values: list) -> Json:
    return {"unit": unit, "values": values}


def course() -> Json:
    fall = [2.0 * i > 124 for i in range(N)]
    return {
        "time": row("s", [2.0 * (i + 1) for i in range(N)]),
        "rate": row("flop/s", [6.4e14 if low else 6.7e14 for low in fall]),
        "clock": row("Hz", [1.5e9 if i % 2 else None for i in range(N)]),
        "power": row("W", [450.0 if low else 500.0 for low in fall]),
    }


def load(minutes: int = 10, throttles: bool = True, **more: object) -> str:
    w = synthetic.Writer("gemm/sustained", axes=[axis("type", "", ["bf16"]), axis("minutes", "", [minutes])])
    known = [
        value("sustained_flop_rate", "gemm", 6.4e14, "flop/s"),
        value("sustained_share", "gemm", 0.95),
        value("power", "gemm", 450.0, "W"),
        value("power_cap_share", "gemm", 0.9),
        value("energy_per_flop", "gemm", 7e-13, "J/flop"),
    ]
    if throttles:
        known += [
            value("time_to_throttle", "gemm", 125.0, "s"),
            value("rate_before", "gemm", 6.7e14, "flop/s"),
            value("rate_after", "gemm", 6.4e14, "flop/s"),
        ]
    w.case({"type": "bf16", "minutes": minutes}, [w.variant("gemm", 1e-3)], known, **more)
    return w.end().text()


class Sustained(workplace.Scratch):
    def program(self, text: str) -> Json:
        return self.signature(text).json["programs"]["gemm/sustained"]

    def test_the_sentence_has_rate_power_energy_and_when_it_throttles(self) -> None:
        self.assertEqual(
            self.program(load(course=course()))["summary"],
            "bf16: 640 TFLOP/s (95 % of the rate of short samples) at 450 W (90 % of the power cap) and "
            "0.700 pJ/FLOP; it throttles after 125 s, by 4.5 %.",
        )
        self.assertIn(
            "0.700 pJ/FLOP, without throttling in 10 min.",
            self.program(load(throttles=False, course=course()))["summary"],
        )
        self.assertNotIn("throttl", self.program(load(0, throttles=False))["summary"])

    def test_a_signature_keeps_a_hundred_points_and_no_other_rows(self) -> None:
        kept = self.program(load(course=course()))["results"]["loads"][0]
        self.assertEqual(sorted(kept["course"]), ["clock", "power", "rate", "time"])
        self.assertEqual({len(r["values"]) for r in kept["course"].values()}, {100})
        self.assertEqual(kept["course"]["time"]["values"][:2], [4.0, 10.0])
        self.assertEqual(kept["course"]["clock"]["values"][0], 1.5e9)
        self.assertEqual(kept["time_to_throttle"], 125.0)

    def test_gaps_stay_gaps(self) -> None:
        values = tuple([None] * 3 + [1.0] * (N - 3))
        self.assertEqual(sustained.thinned(CourseRow("Hz", values))[:2], [None, 1.0])
        self.assertEqual(sustained.thinned(CourseRow("Hz", (1.0, None))), [1.0, None])

    def test_rows_that_do_not_fit_are_dropped(self) -> None:
        for broken in (
            {"rate": row("flop/s", [1.0])},
            {**course(), "time": row("s", [None] * N)},
            {"time": row("s", [])},
            {"time": "x"},
        ):
            self.assertNotIn("course", json.dumps(self.program(load(course=broken))["results"]))
        mixed = {**course(), "power": row("W", [1.0])}
        self.assertNotIn("power", self.program(load(course=mixed))["results"]["loads"][0]["course"])

    def test_the_page_draws_what_the_device_has_sensors_for(self) -> None:
        self.assertEqual(self.run_build(load(course=course()))[0], 0)
        page = self.plain_page()
        for name in ("rate", "clock", "power"):
            self.assertIn("%s over time, s" % name, page)
        self.assertNotIn("temperature over time, s", page)
        self.assertEqual(page.count(">throttles<"), 3)


if __name__ == "__main__":
    unittest.main()
