# SPDX-License-Identifier: BSD-3-Clause
"""Keys of GEMMs: fitted to what the programs measure of simulated machines, whose keys are known, and checked
by what they measure of the fitted machine; and fitted to real GPUs, whose laws are others."""

from __future__ import annotations

import json
import math
import unittest
from statistics import median
from typing import Dict, List, Sequence, Tuple

import workplace

from reports.model import gemm
from reports.model.fit import fit
from reports.model.key import Key
from reports.model.measured import Measured
from reports.records.jsonl import Json
from tests.peers import drawn_machine
from tests.reports.model import simulated

PROGRAMS = ("gemm/efficiency", "gemm/split")
# Keys that other parts fit.
OTHERS = (
    *("units", "slots_per_unit", "shared_per_unit_bytes", "shared_per_block_bytes", "shared_reserved_bytes"),
    *("llc_bytes", "llc_tracked", "llc_writes", "llc_bandwidth", "memory_bandwidth", "unit_bandwidth"),
    *("launch_ns", "block_ns", "host_call_ns", "block_share"),
)
TILES = ("gemm_tile", "gemm_tile_columns", "gemm_tile_min")
RATES = ("gemm/efficiency/flop_rate", "gemm/split/flop_rate")
RATE_WITHIN = 0.02


def truth_of(measured: Measured) -> Json:
    keys: Json = measured.device["model"]["keys"]
    return keys


def fitted(measured: Measured, *without: str) -> Tuple[Dict[str, Key], Dict[str, str]]:
    known = {name: truth_of(measured)[name] for name in OTHERS if name not in without}
    return simulated.keys_of(measured, gemm.keys, **known)


def again(measured: Measured, keys: Dict[str, Key], programs: Sequence[str]) -> Measured:
    """Measurements of a machine with these keys instead of its own."""
    same = {name: truth_of(measured)[name] for name in (*OTHERS, "data", "memory_bytes", "host_memory_bytes")}
    lines = {**same, **{name: key.value for name, key in keys.items()}}
    text = "like = quiet\n" + "".join("%s = %s\n" % item for item in lines.items())
    return simulated.measured(text, 1, programs)


def ratios(measured: Measured, model: Measured) -> List[float]:
    """Times of the model over measured ones, as logarithms."""
    return [
        math.log(v.value / found.value)
        for name in RATES
        for v in measured.all(name)
        if v.where["variant"] != "peak" and not v.where["variant"].endswith("_cold")
        for found in model.all(name, **v.where)
    ]


class Keys(unittest.TestCase):
    def check_rates(self, keys: Dict[str, Key], truth: Json) -> None:
        for name, key in keys.items():
            if name.startswith("flops_"):
                with self.subTest(key=name):
                    of_gemms = float(key.value) * float(keys["gemm_efficiency"].value)
                    true = truth[name] * truth["gemm_efficiency"]
                    self.assertLess(abs(of_gemms / true - 1), RATE_WITHIN)

    def check_times(
        self, measured: Measured, keys: Dict[str, Key], programs: Sequence[str] = PROGRAMS
    ) -> None:
        off = [abs(x) for x in ratios(measured, again(measured, keys, programs))]
        self.assertGreater(len(off), 20)
        self.assertLess(median(off), 0.01)
        self.assertLess(max(off), 0.05)

    def check_machine(self, model: str, programs: Sequence[str] = PROGRAMS) -> Dict[str, Key]:
        measured = simulated.measured(model, 1, programs)
        truth, (keys, _) = truth_of(measured), fitted(measured)
        with self.subTest(model=model):
            expected = [
                truth["gemm_tile"],
                truth["gemm_tile_columns"] or truth["gemm_tile"],
                truth["gemm_tile_min"],
            ]
            self.assertEqual([keys[name].value for name in TILES], expected)
            self.check_rates(keys, truth)
            self.check_times(measured, keys, programs)
        return keys

    def test_machines_that_are_built_in(self) -> None:
        self.check_machine("h100")
        self.check_machine("quiet")
        self.check_machine("mi250x", PROGRAMS[:1])

    def test_f64_tells_how_many_registers_a_unit_has(self) -> None:
        keys = self.check_machine("mi300x", PROGRAMS[:1])
        self.assertEqual(keys["registers_per_unit_bytes"].value, 512 << 10)

    def test_a_cache_that_only_gemms_tell_of(self) -> None:
        """One that is always warm and has no size limits reads, and chases through memory do not show it."""
        measured = simulated.measured(drawn_machine.model(825)[0], 1, PROGRAMS, "--seed", "1")
        truth, (keys, _) = truth_of(measured), fitted(measured, "llc_bandwidth")
        self.assertEqual([keys[name].value for name in TILES], [truth[name] for name in TILES])
        self.assertEqual(simulated.far_off(keys, {"llc_bandwidth": truth["llc_bandwidth"]}), [])
        self.check_rates(keys, truth)

    def test_a_cache_that_limits_no_gemm_is_as_fast_as_all_units(self) -> None:
        model = simulated.LARGE + "llc_bandwidth = 1e14\n"
        measured = simulated.measured(model, 1, PROGRAMS[:1])
        truth, (keys, _) = truth_of(measured), fitted(measured, "llc_bandwidth")
        self.assertAlmostEqual(keys["llc_bandwidth"].value / (truth["units"] * truth["unit_bandwidth"]), 1)
        self.assertTrue(keys["llc_bandwidth"].source.startswith("at least: "))

    def test_drawn_machines(self) -> None:
        """Tiles and rates where GEMMs tell them, and times in any case."""
        for seed in (2, 4, 12):
            measured = simulated.measured(drawn_machine.model(seed)[0], 1, PROGRAMS, "--seed", "1")
            keys, _ = fitted(measured)
            with self.subTest(seed=seed):
                self.check_times(measured, keys)
                for name, key in keys.items():
                    if name.startswith("flops_") and "at least" not in key.source:
                        true = truth_of(measured)[name] * truth_of(measured)["gemm_efficiency"]
                        of_gemms = float(key.value) * float(keys["gemm_efficiency"].value)
                        self.assertLess(abs(of_gemms / true - 1), RATE_WITHIN, name)

    def test_a_rate_that_nothing_reaches_is_said_to_be_a_bound(self) -> None:
        measured = simulated.measured(simulated.LARGE + "units = 64\nflops_f32 = 9e12\n", 1, PROGRAMS[:1])
        keys, _ = fitted(measured)
        self.assertIn("at least", keys["flops_f32"].source)
        self.check_times(measured, keys, PROGRAMS[:1])

    def test_block_share_is_fitted_where_nothing_else_gives_it(self) -> None:
        measured = simulated.measured("quiet", 1, PROGRAMS)
        keys, _ = fitted(measured, "block_share")
        self.assertEqual(keys["block_share"].value, 0.25)

    def test_costs_of_gemms_and_tiles(self) -> None:
        """A library whose calls and tiles cost something whatever their size, and which shares operands."""
        costs = "gemm_ns = 9000\ngemm_block_ns = 2500\ngemm_traffic_share = 0.3\nblock_share = 1\n"
        tiles = "gemm_tile = 128\ngemm_tile_min = 32\nflops_f32 = 4e11\nunits = 96\nunit_bandwidth = 40e9\n"
        measured = simulated.measured(simulated.LARGE + tiles + costs, 1, PROGRAMS)
        keys, _ = fitted(measured)
        off = [abs(x) for x in ratios(measured, again(measured, keys, PROGRAMS))]
        self.assertLess(median(off), 0.03)
        self.assertLess(max(off), 0.2)

    def test_real_libraries_are_resembled(self) -> None:
        """Off by a few per cent in the median, with rates between the fastest GEMM and the units' own."""
        for name, of_bf16 in (("h100", (0.93 * 812e12, 1.1 * 937e12)), ("h200", (0.93 * 828e12, 1100e12))):
            path = workplace.ROOT / "reports" / "reference" / name / "signature.json"
            model = fit(json.loads(path.read_text(encoding="utf-8")))
            found, errors = model.values(), {key.name: key.error for key in model.keys}
            with self.subTest(machine=name):
                self.assertLess(errors["gemm_tile"] or 1.0, 0.06)
                rate = float(found["units"]) * float(found["flops_bf16"]) * float(found["gemm_efficiency"])
                self.assertTrue(of_bf16[0] <= rate <= of_bf16[1], rate)

    def test_what_was_not_measured_is_missing(self) -> None:
        measured = simulated.measured(
            "quiet", 1, ("gemm/efficiency",), "--type", "f32", "--shape", "n512,n1024"
        )
        keys, reasons = fitted(measured)
        self.assertIn("flops_f32", keys)
        self.assertIn("gemm/efficiency", reasons["flops_f64"])
        empty = Measured({**measured.signature, "metrics": {}, "programs": {}})
        keys, reasons = fitted(empty)
        self.assertEqual(keys, {})
        self.assertIn("gemm/efficiency", reasons["gemm_tile"])
        keys, reasons = fitted(measured, "units")
        self.assertEqual(keys, {})
        self.assertIn("units", reasons["flops_f32"])


if __name__ == "__main__":
    unittest.main()
