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
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Sequence, Tuple

import workplace

from reports.records import cliffs, record_file
from reports.signature import answers
from reports.records.curves import Curve, Point
from reports.records.jsonl import Json
from reports.signature.signature import build
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

    def test_what_a_larger_footprint_regains_is_no_cache(self) -> None:
        """An H200's reads (reports/reference/h200), TB/s over KiB a unit: the first fall is of the kernel."""
        reads = {128: 31.9, 132: 14.9, 138: 15.6, 149: 16.8, 173: 19.4, 233: 24.9, 392: 22.3, 446: 20.7}
        reads |= {477: 9.5, 508: 7.8, 543: 5.6, 582: 5.1, 658: 4.8, 1862: 4.6, 7447: 4.67}
        curve = curve_of(list(reads.items()))
        curve.axis = "footprint"
        (cliff,) = cliffs.find(curve, "higher")
        self.assertTrue(392 <= cliff.low and cliff.high <= 543)
        capacity = [(x, 30.0 if x < 1e5 else 20.0 if x < 1e7 else 5.0) for x in spread(4096, 1e9, 1.1)]
        fast = [(x, 25.0 if 1e6 < x < 1.1e6 else y) for x, y in capacity]
        self.assertNotEqual(capacity, fast)
        ends = curve_of(fast)
        ends.axis = "footprint"
        self.assertEqual([c.after for c in cliffs.find(ends, "higher")], [20.0, 5.0])
        curve.axis = "size"  # as the squares of a GEMM, which gain until the next wave
        self.assertEqual([c.before for c in cliffs.find(curve, "higher")][0], 31.9)

    def test_two_steps_are_two(self) -> None:
        points = [(x, 9.0 if x < 1e5 else 4.0 if x < 1e7 else 1.0) for x in spread(4096, 1e9, 1.05)]
        first, second = found_in(points)
        self.assertTrue(first.low <= 1e5 <= first.high and second.low <= 1e7 <= second.high)
        self.assertEqual((first.before, first.after, second.after), (9.0, 4.0, 1.0))

    def test_two_steps_within_an_octave_are_two(self) -> None:
        """As of an L1 of all units and a last-level cache that is not much larger."""
        draw = random.Random(level.seeds(4, 5, 6))
        for _ in range(level.seeds(50, 500, 5000)):
            edge, apart = draw.uniform(2e4, 1e8), draw.uniform(1.3, 1.9)
            falls = [draw.uniform(1.4, 4), draw.uniform(1.4, 4)]

            def rate(x: float) -> float:
                below = [fall for fall, at in zip(falls, (edge, edge * apart)) if x >= at]
                return draw.uniform(0.99, 1.01) / math.prod(below)

            found = found_in([(x, rate(x)) for x in spread(4096, 1e9, 1.045)])
            self.assertEqual(len(found), 2, (edge, apart, falls))
            for cliff, at, fall in zip(found, (edge, edge * apart), falls):
                self.assertTrue(cliff.low <= at <= cliff.high)
                self.assertAlmostEqual(cliff.before / cliff.after, fall, delta=0.07 * fall)

    def test_an_even_slope_is_not_cut(self) -> None:
        for total in (1.6, 2.0, 4.0):
            for width in (1.3, 1.9):
                points = [
                    (x, total ** -min(1.0, max(0.0, math.log(x / 9e5, width))))
                    for x in spread(4096, 1e9, 1.045)
                ]
                self.assertEqual(len(found_in(points)), 1, (total, width))

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

    def test_what_scatters_from_case_to_case_is_none(self) -> None:
        """Each value is known well, and none is near its neighbours."""
        draw, found, curves = random.Random(level.seeds(5, 6, 7)), 0, level.seeds(200, 2000, 20000)
        for _ in range(curves):
            sigma = draw.uniform(0.03, 0.2)
            xs = spread(4096, 1e7, draw.choice([1.2, 1.4, 2.0]))
            found += bool(found_in([(x, math.exp(draw.gauss(0, sigma))) for x in xs], half_width=0.02))
        self.assertLessEqual(found, 0.03 * curves)

    def test_a_saw_has_several(self) -> None:
        """As GEMMs, which get better until a wave of blocks is full."""
        points = [(x, (x - 4e5 * (x > 5e5) - 6e5 * (x > 1.2e6)) / 1e5) for x in spread(3e5, 2e6, 1.04)]
        first, second = found_in(points)
        self.assertTrue(first.low <= 5e5 <= first.high and first.low <= first.at <= first.high)
        self.assertTrue(second.low <= 1.2e6 <= second.high and second.low <= second.at <= second.high)
        self.assertGreater(first.before, 4.5)

    def test_gaps_are_no_places(self) -> None:
        """Between neighbours that are further apart than an octave nobody knows whether it fell at once."""
        self.assertEqual(found_in([(1e4, 9.0), (1e5, 9.0), (1e6, 1.0), (1e7, 1.0)]), [])

    def test_few_points_are_none(self) -> None:
        for count in range(3):
            self.assertEqual(found_in([(1e6, 9.0), (1.05e6, 1.0), (1.1e6, 1.0)][:count]), [])


def told(*steps: Tuple[float, float, float, float, float]) -> str:
    """Clause about steps (low, at, high, before, after)."""
    words = ("low", "at", "high", "before", "after")
    fixed = {"where": {"op": "read"}, "derived": "bandwidth", "axis_unit": "byte", "unit": "byte/s"}
    return cliffs.clause([dict(fixed, **dict(zip(words, step))) for step in steps])


class Clauses(unittest.TestCase):
    def test_what_goes_on_is_said_once(self) -> None:
        text = told((32e6, 33e6, 34e6, 31e12, 9.8e12), (50e6, 51e6, 52e6, 9.7e12, 3.3e12))
        self.assertEqual(
            text, "read bandwidth falls from 31 TB/s to 9.80 TB/s at 31.5 MiB and to 3.30 TB/s at 48.6 MiB"
        )

    def test_what_got_better_before_begins_anew(self) -> None:
        text = told((32e6, 33e6, 34e6, 5e12, 4e12), (90e6, 99e6, 120e6, 6e12, 4e12))
        self.assertIn(" and from 6 TB/s to 4 TB/s between 85.8 MiB and 114 MiB", text)

    def test_the_deepest_four(self) -> None:
        text = told(*((0.98 * 10**i, 10.0**i, 1.02 * 10**i, 2.0 + i, 1.0) for i in range(3, 9)))
        self.assertEqual(text.count("from"), 4)
        self.assertNotIn("from 6 B", text)
        self.assertIn("from 10 B/s", text)


def rate_of(draw: random.Random, rate: float) -> float:
    """Rate of the level before: another one, or nearly the same, which is no cliff."""
    return rate * (draw.uniform(1.6, 4) if draw.random() < 0.75 else draw.uniform(1, 1.1))


@dataclass
class Model:
    device: str
    units: int
    l2_units: int
    sizes: List[int]  # of caches: all L1, all L2, the LLC; 0: none
    rates: List[float]  # of these and of memory
    latencies: List[float]

    def falls(self, sizes: Sequence[float], costs: Sequence[float]) -> List[Tuple[str, float]]:
        there = [i for i, size in enumerate(sizes) if size] + [3]
        return [
            (("L1", "L2", "LLC")[i], sizes[i]) for i, j in zip(there, there[1:]) if costs[j] > 1.25 * costs[i]
        ]

    def of_memory(self) -> List[Tuple[str, float]]:
        return self.falls(self.sizes, [1 / rate for rate in self.rates])

    def of_latency(self) -> List[Tuple[str, float]]:
        """One thread sees its own L1, and all of the L2 that some units share."""
        l1, l2, llc = self.sizes
        return self.falls([l1 / self.units, l2 / self.units * self.l2_units, llc], self.latencies)


def drawn(draw: random.Random) -> Model:
    base, units = draw.choice([("a100", 108), ("h100", 132), ("mi210", 104), ("mi300x", 304)])
    l2_units = draw.randint(2, units // 2)
    l1 = draw.randint(10, 40) * 4096 * units
    l2 = l1 * draw.uniform(1.4, 4)
    l2 = int(l2 / units) * units
    llc = int(l2 * draw.uniform(1.4, 4)) // 4096 * 4096
    l1, l2 = draw.choice([(l1, l2), (l1, 0), (0, l2), (0, 0)])
    memory = draw.uniform(5e11, 6e12)
    ns = [draw.uniform(10, 40)]
    rates = [memory]
    for _ in range(3):
        rates.insert(0, rate_of(draw, rates[0]))
        ns.append(rate_of(draw, ns[-1]))
    words = {
        "llc_bytes": llc,
        "llc_tracked": draw.choice([0, 1]),
        "memory_bandwidth": "%.0f" % memory,
        "llc_bandwidth": "%.0f" % rates[2],
        "unit_bandwidth": "%.0f" % (rates[1] / units),
        "llc_latency_ns": "%.2f" % ns[2],
        "memory_latency_ns": "%.2f" % ns[3],
        "l1_bytes": l1 // units,
        "l2_bytes": l2 // units * l2_units,
    }
    if l1:
        words.update(l1_divided=0, l1_bandwidth="%.0f" % (rates[0] / units), l1_latency_ns="%.2f" % ns[0])
    if l2:
        words.update(l2_units=l2_units, l2_latency_ns="%.2f" % ns[1])
    device = "sim:%s?%s" % (base, ",".join("%s=%s" % item for item in words.items()))
    return Model(device, units, l2_units, [l1, l2, llc], rates, ns)


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
        (text,) = texts
        if not found:
            self.assertEqual(text, "Nowhere in the curves of %s." % program)
        else:
            said = cliffs.clause(found)[1:]
            self.assertIn(said, text)
            self.assertIn(said, signature.json["programs"][program]["summary"])
            self.assertEqual(said.count(" to "), len(found))
        return found

    def test_caches_end_where_they_end(self) -> None:
        draw = random.Random(20261126)
        for _ in range(level.seeds(4, 20, 100)):
            model = drawn(draw)
            for program, options, levels in (
                ("micro/memory", ("--op", "read"), model.of_memory()),
                ("micro/latency", (), model.of_latency()),
            ):
                with self.subTest(program=program, device=model.device):
                    found = self.cliffs_of(program, model.device, *options)
                    self.assertEqual(len(found), len(levels), (levels, [c["text"] for c in found]))
                    for cliff, (name, size) in zip(found, levels):
                        self.assertLessEqual(abs(cliff["at"] / size - 1), WITHIN)
                        self.assertTrue(cliff["low"] <= size <= cliff["high"])
                        if (program, name) != ("micro/latency", "L2"):  # how many units share one is not told
                            self.assertEqual(cliff["name"], name)

    def test_built_in_machines(self) -> None:
        for device, *places in (
            ("h100", 33 * MIB, 50 * MIB),
            ("mi300x", 32 * MIB, 256 * MIB),  # the L1 is no quarter faster than the L2
        ):
            found = self.cliffs_of("micro/memory", "sim:" + device, "--op", "read")
            self.assertEqual(len(found), len(places))
            for cliff, place in zip(found, places):
                self.assertLessEqual(abs(cliff["at"] / place - 1), 0.03)

    @unittest.skipUnless(workplace.HAVE_JINJA2, "needs jinja2")
    def test_the_chart_shows_the_place(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            words = ["--device", "sim:h100", "--op", "read", "--out", folder + "/records.jsonl"]
            subprocess.run([str(BIN / "micro/memory"), *words], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(workplace.run_command("build", folder)[0], 0)
            page = (Path(folder) / "report.html").read_text(encoding="utf-8")
        l1, llc = re.findall(r'<rect class="fall f0"[^>]*><title>([^<]*)</title>', page)
        self.assertRegex(l1, r"read bandwidth falls from 30\.\d+ TB/s to 9\.\d+ TB/s between 33 MiB and 3")
        self.assertRegex(llc, r"read bandwidth falls from 9\.\d+ TB/s to 3\.\d+ TB/s between 50 MiB and 5")

    def test_nothing_is_found_where_nothing_is(self) -> None:
        no_llc = "sim:mi300x?l1_bytes=0,l2_bytes=0,llc_bytes=0,llc_tracked=0"
        for device in (no_llc, "sim:h100?l1_bytes=0,llc_latency_ns=348"):
            self.assertEqual(self.cliffs_of("micro/latency", device), [])
        for device in (
            "sim:a100?l1_bytes=0,llc_bandwidth=2.1e12",
            "sim:h100?l1_bytes=0,llc_bandwidth=3.4e12",
        ):
            self.assertEqual(self.cliffs_of("micro/memory", device, "--op", "read"), [])

    def test_copies_start_up_and_have_none(self) -> None:
        for device in ("sim:h100:0,1", "sim:mi300x:0,1", "sim:a100?jitter_sigma=0.1"):
            self.assertEqual(self.cliffs_of("micro/copy_path", device, "--path", "engine"), [], device)


if __name__ == "__main__":
    unittest.main()
