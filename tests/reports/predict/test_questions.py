# SPDX-License-Identifier: BSD-3-Clause
"""Changes, keys, outcomes and knees of predictions, without a program."""

from __future__ import annotations

import unittest

import workplace  # noqa: F401

from reports.predict import keys
from reports.predict.change import TOGETHER, Change, alternatives, check, parse, parse_sweep, points
from reports.predict.machine import fitted_in, simulated
from reports.predict.outcome import mean, outcomes, ratios
from reports.predict.search import knee
from reports.predict.simulation import Case, Simulated
from reports.records.jsonl import Refused

KNOWN = {
    "units": 8,
    "peer_bandwidth": 5e10,
    "data": "none",
    "copy_ns": 1000,
    "tracker_ns": 0,
    "copy_engines": 2,
}


def refused(of: object, *given: object) -> str:
    try:
        of(*given)  # type: ignore[operator]
    except Refused as why:
        return str(why)
    return ""


class Changes(unittest.TestCase):
    def test_a_change_has_several_keys_and_may_have_a_name(self) -> None:
        self.assertEqual(parse("units = 2x , copy_ns=5").parts, ("units=2x", "copy_ns=5"))
        self.assertEqual(
            parse("a second engine: copy_engines=2x"), Change("a second engine", ("copy_engines=2x",))
        )
        self.assertEqual(parse("links=torus:2x4").parts, ("links=torus:2x4",))
        self.assertEqual(parse("peer_bandwidth 0>3=2x").names(), ["peer_bandwidth 0>3"])

    def test_several_are_alone_and_then_together_unless_they_contradict(self) -> None:
        found = alternatives(["units=2x", "copy_ns=5"])
        self.assertEqual([one.label for one in found], ["units=2x", "copy_ns=5", TOGETHER])
        self.assertEqual(found[2].parts, ("units=2x", "copy_ns=5"))
        self.assertEqual(len(alternatives(["units=2x", "units=4x"])), 2)
        self.assertEqual(len(alternatives(["units=2x"])), 1)

    def test_what_is_no_change_is_refused_with_what_is(self) -> None:
        for text in ("", "units", "=2x", "units=", "units=2x,", "a?b=2"):
            self.assertIn("is not KEY=VALUE", refused(parse, text), text)
        self.assertIn("twice", refused(parse, "units=1,units=2"))
        for name in ("jitter_sigma", "seed", "data", "fail_copy_at"):
            self.assertIn("without noise", refused(parse, name + "=1"))
        self.assertIn("perhaps peer_bandwidth", refused(check, parse("peer_bandwith=2x"), KNOWN))
        self.assertEqual(refused(check, parse("peer_bandwidth 0>1=2x,links=ring"), KNOWN), "")

    def test_a_sweep_has_equal_ratios_and_whole_numbers_once(self) -> None:
        found = points(parse_sweep("peer_bandwidth=1x:4x"), KNOWN)
        self.assertEqual(len(found), 7)
        self.assertAlmostEqual(found[3][0], 1e11)
        self.assertAlmostEqual(found[6][0] / found[5][0], found[1][0] / found[0][0])
        whole = [value for value, _ in points(parse_sweep("copy_engines=1:4"), KNOWN)]
        self.assertEqual(whole, [1, 2, 3, 4])
        self.assertEqual(len(points(parse_sweep("copy_ns=1x:0.25x"), KNOWN)), 7)
        for text in ("units", "units=1x:4", "units=1x:1x", "units=0x:2x", "units=a:b", "units=1..2x:3x"):
            self.assertIn("--sweep", refused(parse_sweep, text), text)
        self.assertIn("is 0", refused(points, parse_sweep("tracker_ns=1x:4x"), KNOWN))
        self.assertIn("unknown key", refused(points, parse_sweep("unit=1x:4x"), KNOWN))


class Keys(unittest.TestCase):
    def test_a_tenth_of_a_count_is_at_least_one(self) -> None:
        self.assertEqual(keys.times("copy_engines", 2, 1.1), "copy_engines=3")
        self.assertEqual(keys.times("units", 132, 1.1), "units=145")
        self.assertEqual(keys.times("copy_ns", 100, 0.9), "copy_ns=0.9x")
        self.assertEqual(keys.times("gemm_efficiency", 0.95, 1.1), "gemm_efficiency=1")

    def test_choices_noise_and_what_is_0_are_no_part_of_a_tornado(self) -> None:
        known = {**KNOWN, "gemm_tile": 64, "jitter_sigma": 0.1, "add_cost": 1, "memory_adds": 0, "seed": 1}
        self.assertEqual(keys.numeric(known), ["units", "peer_bandwidth", "copy_ns", "copy_engines"])

    def test_probes_that_make_times_longer_are_known(self) -> None:
        longer = {name: keys.lengthens(name, keys.probe_factor(name)) for name in (*KNOWN, "flops_f32")}
        self.assertEqual([name for name in longer if longer[name]], ["copy_ns", "tracker_ns"])
        self.assertTrue(keys.lengthens("gemm_efficiency", keys.probe_factor("gemm_efficiency")))

    def test_latencies_are_better_if_less_and_rates_if_more(self) -> None:
        self.assertEqual(keys.ways("copy_ns"), (keys.LESS,))
        self.assertEqual(keys.ways("peer_bandwidth"), (keys.MORE,))
        self.assertEqual(len(keys.ways("engine_weight")), 2)


def _simulated(times: dict, work: dict, references: tuple = (), chooses: bool = True) -> Simulated:
    return Simulated({}, frozenset(references), {"a": Case(times, work, chooses=chooses)})


class Outcomes(unittest.TestCase):
    def test_variants_of_one_work_are_ways_and_others_stand_alone(self) -> None:
        work = {
            "ring": (8, None),
            "direct": (8, None),
            "half": (4, None),
            "wait": (None, None),
            "bound": (8, 0),
        }
        base = _simulated(
            {"ring": 2.0, "direct": 1.0, "half": 3.0, "wait": 5.0, "bound": 0.1}, work, ("bound",)
        )
        found = outcomes(base)
        self.assertEqual([one.variants for one in found], [("ring", "direct"), ("half",), ("wait",)])
        apart = _simulated(base.cases["a"].times, work, ("bound",), False)
        self.assertEqual(
            [one.variants for one in outcomes(apart)], [("ring",), ("direct",), ("half",), ("wait",)]
        )
        after = _simulated({"ring": 0.5, "direct": 1.0, "half": 3.0}, work)
        self.assertEqual(ratios(base, after, found), [0.5, 1.0, None])
        self.assertAlmostEqual(mean([0.5, 2.0, None]) or 0, 1.0)
        self.assertIsNone(mean([None]))


class Knees(unittest.TestCase):
    def test_the_first_value_whose_next_doubling_brings_too_little(self) -> None:
        half = [(2.0**i, 1 / min(2.0**i, 4)) for i in range(5)]  # limited from 4 on
        self.assertEqual(knee(half, 0.05), ("at", 4.0))
        self.assertEqual(knee(half[:3], 0.05), ("yes", None))
        self.assertEqual(knee([(1.0, 1.0), (2.0, 1.0)], 0.05), ("no", None))
        self.assertEqual(knee([(1.0, 1.0), (1.5, 0.7)], 0.05), ("short", None))
        self.assertEqual(knee([(1.0, None), (2.0, None)], 0.05), ("short", None))

    def test_a_sweep_that_goes_down_stops_at_a_half(self) -> None:
        down = [(8.0, 2.0), (4.0, 1.5), (2.0, 1.49), (1.0, 1.48)]
        self.assertEqual(knee(down, 0.05), ("at", 4.0))

    def test_values_between_points_are_on_straight_lines(self) -> None:
        wide = [(4.0**i, 4.0**-i) for i in range(3)]
        self.assertEqual(knee(wide, 0.05), ("yes", None))


class Machines(unittest.TestCase):
    def test_a_machine_as_device_names_it(self) -> None:
        self.assertEqual(simulated("sim:h100:0-7")[1:3], ("h100", "0-7"))
        self.assertEqual(simulated("sim:h100")[1:3], ("h100", "0"))
        self.assertEqual(
            simulated("sim:./a.model?links=torus:2x4:0,3")[1:3], ("./a.model?links=torus:2x4", "0,3")
        )
        self.assertIn("names no simulated machine", refused(simulated, "sim:"))

    def test_keys_of_a_fitted_model_with_their_errors(self) -> None:
        text = (
            "# Model of X, fitted by ./gpusig model to its signature.\nlike = quiet\n"
            "units = 132  # reported by the device\ncopy_ns = 3550.5  # micro/copy_path: a line, ±1.5 %\n"
            "peer_bandwidth 0>1 = 9e9  # at least: micro/peer_matrix\n"
            "# As in quiet: value_ns, clock_hz: nothing that was measured: at all, waits for\n# a value\n"
        )
        found = fitted_in(text)
        self.assertEqual(list(found.errors), ["units", "copy_ns", "peer_bandwidth 0>1"])
        self.assertAlmostEqual(found.errors["copy_ns"] or 0, 0.015)
        self.assertIsNone(found.errors["units"])
        self.assertEqual(found.at_least, ["peer_bandwidth 0>1"])
        self.assertEqual(list(found.missing), ["value_ns", "clock_hz"])


if __name__ == "__main__":
    unittest.main()
