# SPDX-License-Identifier: BSD-3-Clause
"""Cliffs of curves whose truth is known: of drawn numbers, and of simulated devices with drawn caches."""

from __future__ import annotations

import math
import os
import random
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Callable, List, Sequence, Tuple

import workplace

from reports import answers, cliffs, record_file
from reports.curves import Curve, Point
from reports.jsonl import Json
from reports.signature import build
from tests import level

BIN = Path(os.environ.get("GPUSIG_BIN") or workplace.ROOT / "bin")
MIB = 1 << 20
WITHIN = 0.1  # of the true place


def curve_of(points: Sequence[Tuple[float, float]], half_width: float = 0.01, **more: object) -> Curve:
    made = [
        Point(x, y, y * (1 - half_width), y * (1 + half_width), None, "", 10, "size=%d" % x, "")
        for x, y in points
    ]
    return Curve("bandwidth", "only", {}, "size", "byte", "byte/s", "", made)


def spread(low: float, high: float, each: float) -> List[float]:
    return [low * each**i for i in range(int(math.log(high / low, each)) + 1)]


def found_in(points: Sequence[Tuple[float, float]], half_width: float = 0.01) -> List[cliffs.Cliff]:
    return cliffs.find(curve_of(points, half_width), "higher")


class Curves(unittest.TestCase):
    def test_a_step_is_where_it_is(self) -> None:
        draw = random.Random(level.seeds(1, 2, 3))
        for _ in range(level.seeds(50, 500, 5000)):
            edge, fall = draw.uniform(2e4, 1e8), draw.uniform(1.4, 20)
            xs = spread(4096, 1e9, draw.choice([1.05, 1.1, 1.2]))
            noisy = [(x, (1.0 if x < edge else 1 / fall) * draw.uniform(0.97, 1.03)) for x in xs]
            (cliff,) = found_in(noisy)
            self.assertLessEqual(abs(cliff.at / edge - 1), WITHIN)
            self.assertTrue(cliff.low <= edge <= cliff.high)
            self.assertAlmostEqual(cliff.before / cliff.after, fall, delta=0.07 * fall)

    def test_two_steps_are_two(self) -> None:
        points = [(x, 9.0 if x < 1e5 else 4.0 if x < 1e7 else 1.0) for x in spread(4096, 1e9, 1.05)]
        first, second = found_in(points)
        self.assertTrue(first.low <= 1e5 <= first.high and second.low <= 1e7 <= second.high)
        self.assertEqual((first.before, first.after, second.after), (9.0, 4.0, 1.0))

    def test_a_soft_step_is_its_middle(self) -> None:
        """As of a cache that replaces at random: it falls over a third of an octave."""

        def rate(x: float) -> float:
            return 10.0 ** -min(1.0, max(0.0, math.log(x / 9e5, 1.25)))

        (cliff,) = found_in([(x, rate(x)) for x in spread(4096, 1e9, 1.05)])
        self.assertAlmostEqual(cliff.at, 9e5 * math.sqrt(1.25), delta=0.05 * 9e5)
        self.assertTrue(cliff.low < cliff.at < cliff.high)

    def test_what_has_none(self) -> None:
        xs = spread(4096, 1e9, 1.3)
        laws: Sequence[Callable[[float], float]] = (
            lambda x: x / (1e-5 + x * 1e-11),  # start-up
            lambda x: x**-0.1,
            lambda x: 1.0 if x < 1e6 else 5.0,  # it gets better
            lambda x: 2.0,
            lambda x: 1.0 if x < 1e6 else 0.85,
        )
        for law in laws:
            self.assertEqual(found_in([(x, law(x)) for x in xs]), [])

    def test_noise_is_none(self) -> None:
        xs = spread(4096, 1e9, 1.1)
        for i in range(len(xs)):  # one slow value, wherever it is
            self.assertEqual(found_in([(x, 0.3 if x == xs[i] else 1.0) for x in xs]), [])
        step = [(x, 1.5 if x < 1e6 else 1.0) for x in xs]
        self.assertEqual(len(found_in(step)), 1)
        self.assertEqual(found_in(step, half_width=0.24), [])
        wild = [Point(x, 9.0, 1.0, 20.0, None, "", 10, "", "") for x in (1.05e6, 2e6)]  # what nobody knows
        curve = curve_of(step)
        curve.points = sorted(curve.points + wild, key=lambda p: p.x)
        self.assertEqual(cliffs.find(curve, "higher"), found_in(step))

    def test_a_saw_has_several(self) -> None:
        """As GEMMs, which get better until a wave of blocks is full."""
        points = [(x, (x - 4e5 * (x > 5e5) - 6e5 * (x > 1.2e6)) / 1e5) for x in spread(3e5, 2e6, 1.04)]
        first, second = found_in(points)
        self.assertTrue(first.low <= 5e5 <= first.high and first.low <= first.at <= first.high)
        self.assertTrue(second.low <= 1.2e6 <= second.high and second.low <= second.at <= second.high)
        self.assertGreater(first.before, 4.5)

    def test_gaps_are_no_places(self) -> None:
        """Of neighbours that are further apart than an octave nobody knows whether it fell at once."""
        self.assertEqual(found_in([(1e4, 9.0), (1e5, 9.0), (1e6, 1.0), (1e7, 1.0)]), [])

    def test_few_points_are_none(self) -> None:
        for count in range(3):
            self.assertEqual(found_in([(1e6, 9.0), (1.05e6, 1.0), (1.1e6, 1.0)][:count]), [])


class Simulated(unittest.TestCase):
    """Models that nobody used before."""

    def cliffs_of(self, program: str, device: str, *options: str) -> List[Json]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "records.jsonl"
            words = [str(BIN / program), "--device", device, "--out", str(path), *options]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            signature = build(record_file.read(path))
        found = signature.json["programs"][program]["results"]["cliffs"]
        metrics = [name for name in signature.json["metrics"] if "_cliff{" in name]
        self.assertEqual(len(metrics), len(found))
        texts = [answer for question, answer in answers.answers(signature) if question == answers.CLIFFS]
        self.assertEqual(len(texts), min(1, len(found)))
        for cliff in found:
            self.assertIn(cliff["text"][1:], texts[0])
            self.assertIn(cliff["text"][1:], signature.json["programs"][program]["summary"])
        return found

    def drawn(self, draw: random.Random) -> Tuple[str, float]:
        """A device, and the bytes of its last-level cache."""
        base = draw.choice(["a100", "h100", "mi210", "mi300x"])
        llc = int(math.exp(draw.uniform(math.log(24 * MIB), math.log(500 * MIB)))) // 4096 * 4096
        times = draw.uniform(1.6, 5)
        rate = draw.uniform(5e11, 6e12)
        near = draw.uniform(80, 200)
        words = {
            "llc_bytes": llc,
            "llc_tracked": draw.choice([0, 1]),
            "memory_bandwidth": "%.0f" % rate,
            "llc_bandwidth": "%.0f" % (rate * times),
            "unit_bandwidth": "%.0f" % rate,
            "llc_latency_ns": "%.0f" % near,
            "memory_latency_ns": "%.0f" % (near * times),
        }
        return "sim:%s?%s" % (base, ",".join("%s=%s" % item for item in words.items())), llc

    def test_caches_end_where_they_end(self) -> None:
        draw = random.Random(20261126)
        for _ in range(level.seeds(3, 10, 60)):
            device, llc = self.drawn(draw)
            for program, options in (("micro/memory", ("--op", "read")), ("micro/latency", ())):
                with self.subTest(program=program, device=device):
                    (cliff,) = self.cliffs_of(program, device, *options)
                    self.assertLessEqual(abs(cliff["at"] / llc - 1), WITHIN)
                    self.assertTrue(cliff["low"] <= llc <= cliff["high"])
                    self.assertEqual(cliff["name"], "LLC")
                    self.assertIn(" between ", cliff["text"])

    @unittest.skipUnless(workplace.HAVE_JINJA2, "needs jinja2")
    def test_the_chart_shows_the_place(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            words = ["--device", "sim:h100", "--op", "read", "--out", folder + "/records.jsonl"]
            subprocess.run([str(BIN / "micro/memory"), *words], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(workplace.run_command("build", folder)[0], 0)
            page = (Path(folder) / "report.html").read_text(encoding="utf-8")
        (mark,) = re.findall(r'<rect class="fall f0"[^>]*><title>([^<]*)</title>', page)
        self.assertRegex(mark, r"read bandwidth falls from 9\.\d+ TB/s to 3\.\d+ TB/s between 4\S+ MiB and 5")

    def test_nothing_is_found_where_nothing_is(self) -> None:
        for device in ("sim:mi300x?llc_bytes=0,llc_tracked=0", "sim:h100?llc_latency_ns=348"):
            self.assertEqual(self.cliffs_of("micro/latency", device), [])
        for device in ("sim:mi300x?llc_bytes=0,llc_tracked=0", "sim:h100?llc_bandwidth=3.4e12"):
            self.assertEqual(self.cliffs_of("micro/memory", device, "--op", "read"), [])

    def test_copies_start_up_and_have_none(self) -> None:
        for device in ("sim:h100:0,1", "sim:mi300x:0,1", "sim:a100?jitter_sigma=0.3"):
            self.assertEqual(self.cliffs_of("micro/copy_path", device, "--path", "engine"), [], device)


if __name__ == "__main__":
    unittest.main()
