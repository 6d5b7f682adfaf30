# SPDX-License-Identifier: BSD-3-Clause
"""Keys of memory and its caches: fitted to what the programs measure of simulated machines, whose keys are
known."""

from __future__ import annotations

import copy
import random
import subprocess
import tempfile
import unittest
from typing import Dict, Union

from tests.reports.model.simulated import BIN, LARGE, WITHIN, far_off, keys_of, measured

from reports.model import cache_use, host_memory, memory, text
from reports.model.fit import fit
from reports.model.key import Key
from reports.model.measured import Measured
from reports.records.jsonl import Json

PROGRAMS = ("micro/memory", "micro/latency", "micro/copy_path", "micro/reduce", "overlap/units")
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
Keys = Dict[str, Union[int, float, str]]


def drawn(draw: random.Random, **given: Union[int, float, str]) -> Keys:
    """A machine with a cache that tracks, other keys as given."""
    units, bandwidth = draw.randrange(20, 200), draw.uniform(4e11, 5e12)
    cache = bandwidth * draw.uniform(2, 4)
    keys: Keys = {
        "slots_per_unit": 8,
        "units": units,
        "block_share": draw.choice((0.25, 0.5, 1)),
        "memory_bandwidth": bandwidth,
        "llc_bytes": draw.randrange(8, 100) * MIB,
        "llc_bandwidth": cache,
        "llc_tracked": 1,
        "unit_bandwidth": cache / units * draw.uniform(1.2, 3),
        "engine_bandwidth": bandwidth * draw.uniform(0.1, 0.4),
        "launch_ns": draw.uniform(1000, 6000),
        "block_ns": draw.uniform(200, 900),
        "copy_ns": draw.uniform(1000, 6000),
        "memory_latency_ns": draw.uniform(300, 700),
        "llc_latency_ns": draw.uniform(120, 280),
        "jitter_sigma": draw.choice((0, 0.005)),
        "seed": draw.randrange(1 << 20),
    }
    return {**keys, **given}


def first_level(draw: random.Random, keys: Keys) -> Keys:
    rate = float(keys["unit_bandwidth"]) * draw.uniform(1.3, 3)
    return {
        "l1_bytes": draw.choice((64, 128)) * KIB,
        "l1_bandwidth": rate,
        "l1_latency_ns": draw.uniform(15, 80),
    }


def text_of(keys: Keys) -> str:
    return LARGE + "".join("%s = %s\n" % item for item in keys.items())


class Fitted(unittest.TestCase):
    def measured(self, keys: Keys) -> Measured:
        return measured(text_of(keys), 1, PROGRAMS)

    def fit(self, of: Measured, **known: float) -> Dict[str, Key]:
        """`known`: keys of other parts."""
        found, self.missing = keys_of(of, memory.keys, cache_use.keys, host_memory.keys, **known)
        return found

    def check(self, found: Dict[str, Key], truth: Keys, *bounds: str) -> None:
        """Each key that was found is true, but `bounds`, which say so."""
        for name, key in found.items():
            value, true = key.value, truth.get(name)
            if name == "host_memory_bytes":  # of the machine that simulates
                continue
            if key.source.startswith(("at least", "at most")):
                self.assertIn(name, bounds, key)
                if true is not None and key.source.startswith("at least"):
                    self.assertLess(float(value), float(true) * (1 + WITHIN), key)
            elif isinstance(true, str) or true == 0:
                self.assertEqual(value, true, key)
            elif true is not None:
                self.assertLess(abs(float(value) / float(true) - 1), WITHIN, (name, key, true))


BOUNDS = ("host_bandwidth", "far_bandwidth")
LAST = (
    "memory_bandwidth",
    "llc_bytes",
    "llc_bandwidth",
    "memory_latency_ns",
    "llc_latency_ns",
    "llc_tracked",
)
FIRST = ("l1_bytes", "l1_bandwidth", "l1_latency_ns", "l1_divided")


class Machines(Fitted):
    def test_drawn_machines(self) -> None:
        draw = random.Random(31)
        for laws in (
            {"llc_writes": "back", "engine_cache": "bypass"},
            {"llc_writes": "back", "engine_cache": "through"},
            {"llc_writes": "through", "engine_cache": "bypass"},
            {"llc_tracked": 0},
        ):
            keys = drawn(draw, **laws)
            for level in ({}, first_level(draw, keys)):
                with self.subTest(**{**keys, **level}):
                    of = self.measured({**keys, **level})
                    self.check(self.fit(of), {**keys, **level}, *BOUNDS, "unit_bandwidth")
                    found = self.fit(of, block_share=float(keys["block_share"]))
                    self.check(found, {**keys, **level}, *BOUNDS)
                    self.assertLessEqual({*LAST, *(FIRST if level else ())}, {*found})
                    self.assertIn("unit_bandwidth", found)
                    self.assertEqual("llc_writes" in found, keys["llc_tracked"] == 1)

    def test_a_launch_that_starts_late(self) -> None:
        """Few threads move little in one launch, so its start is a part of what it takes."""
        keys = drawn(random.Random(7), units=40, slots_per_unit=2, launch_ns=9000, memory_bandwidth=4e12)
        keys.update(llc_bandwidth=9e12, unit_bandwidth=5e11, block_share=0.25)
        found = self.fit(self.measured(keys), block_share=0.25)
        self.check(found, keys, *BOUNDS)

    def test_levels(self) -> None:
        """An L2 of some units, and a first level that shared memory has a part of."""
        for name in ("mi300x", "h100"):
            with self.subTest(name):
                of = measured(name, 1, PROGRAMS)
                truth = of.device["model"]["keys"]
                found = self.fit(of)
                self.check(found, truth, *BOUNDS)
                self.assertLessEqual({*LAST, *FIRST, "unit_bandwidth"}, {*found})
                self.assertEqual("l2_units" in found, name == "mi300x")

    def test_no_cache(self) -> None:
        keys = drawn(random.Random(3), llc_bytes=0, llc_tracked=0)
        # Without a size of a cache micro/memory has no footprints.
        found = self.fit(measured(text_of(keys), 1, PROGRAMS[1:]))
        self.check(found, keys, *BOUNDS)
        self.assertEqual(found["llc_bytes"].value, 0)
        self.assertIn("memory_bandwidth", found)
        self.assertLessEqual({"llc_bandwidth", "llc_tracked", "engine_cache"}, {*self.missing})

    def test_units_that_limit(self) -> None:
        """The cache is faster than all units read: how fast is not known."""
        keys = drawn(random.Random(5), block_share=1)
        keys["unit_bandwidth"] = float(keys["llc_bandwidth"]) / float(keys["units"]) * 0.7
        found = self.fit(self.measured(keys))
        self.check(found, keys, *BOUNDS, "llc_bandwidth")
        self.assertTrue(found["llc_bandwidth"].source.startswith("at least"))

    def test_only_some_of_it_measured(self) -> None:
        """A level of which only the bandwidth is known is not in the model, which would refuse it."""
        found = self.fit(measured("mi300x", 1, ["micro/memory"]))
        self.assertLessEqual(
            {*FIRST, "l2_bytes", "l2_units", "l2_latency_ns", "memory_latency_ns"}, {*self.missing}
        )
        self.assertIn("memory_bandwidth", found)

    def test_headline_numbers_alone(self) -> None:
        """As of a known machine: whether a unit divides its memory is not among them."""
        metrics = {
            "micro/memory/memory_read_bandwidth": 3e12,
            "micro/memory/l1_read_bandwidth": 14e12,
            "micro/latency/load_latency_4k": 16e-9,
            "micro/copy_path/both_ways_engine_bandwidth": 90e9,
        }
        device = {"units": 100, "l1_bytes": 256 * KIB, "llc_bytes": 50 * MIB}
        signature = {"devices": {"cuda[0]": device}, "metrics": {}, "programs": {}}
        signature["metrics"] = {name: {"value": value} for name, value in metrics.items()}
        values = {key.name: key.value for key in self.fit(Measured(signature)).values()}
        self.assertEqual(values["memory_bandwidth"], 3e12)
        self.assertAlmostEqual(float(values["l1_bandwidth"]), 14e10)
        self.assertAlmostEqual(float(values["l1_latency_ns"]), 16)
        self.assertEqual(values["host_bandwidth"], 90e9)
        self.assertIn("l1_divided", self.missing)

    def test_nothing_measured(self) -> None:
        empty: Json = {"devices": {"sim[0]": {"units": 4}}, "metrics": {}, "programs": {}}
        self.assertEqual(self.fit(Measured(empty)), {})

    def test_numbers_that_no_model_accepts(self) -> None:
        """One refused key of a level takes the others with it, and the file remains one that is read."""
        signature = measured("mi300x", 1, ["micro/memory", "micro/latency"]).signature
        for metric, names in (("micro/memory", {*FIRST, "memory_bandwidth"}), ("micro/latency", {*FIRST})):
            for value in (1e300, -1.0):
                with self.subTest(metric=metric, value=value):
                    wrong = copy.deepcopy(signature)
                    for name, entry in wrong["metrics"].items():
                        if name.startswith(metric):
                            entry["value"] = value
                    self.assertEqual({key.name for key in fit(wrong).keys} & names, set())
                    with tempfile.NamedTemporaryFile("w", suffix=".model") as file:
                        file.write(text.of(wrong, "wrong"))
                        file.flush()
                        words = [
                            str(BIN / "micro/launch"),
                            "--device",
                            "sim:" + file.name,
                            "--variant",
                            "enqueue",
                        ]
                        self.assertEqual(subprocess.run(words, stdout=subprocess.DEVNULL).returncode, 0)


class Host(unittest.TestCase):
    def keys(self, engine: Json, **more: object) -> Dict[str, Key]:
        fitted = {"fitted": {"host": {"engine": engine}}}
        programs = {"micro/peer_matrix": {"results": fitted, "facts": {}}}
        signature = {"devices": {"cuda[0]": {}}, "metrics": {}, "programs": programs, **more}
        found = host_memory.keys(Measured(signature), {})
        return {each.name: each for each in found if isinstance(each, Key)}

    def test_a_far_node(self) -> None:
        rates = {"numa0>0": 50e9, "numa1>0": 31e9, "0>numa0": 52e9, "0>numa1": 29e9, "numa1>1": 50e9}
        found = self.keys({**rates, "numa0>1": 30e9})
        self.assertEqual(found["numa_nodes"].value, 2)
        self.assertEqual(found["far_bandwidth"].value, 30e9)

    def test_nodes_alike(self) -> None:
        found = self.keys({"numa0>0": 50e9, "numa1>0": 50.2e9})
        self.assertTrue(found["far_bandwidth"].source.startswith("at least"))

    def test_one_engine(self) -> None:
        """It copies one way at a time, kernels both: what the host's memory can do, they show."""
        both = {"engine": {"numa0>0": 20e9}, "kernel_both_ways": {"numa0>0": 38e9}}
        programs = {"micro/peer_matrix": {"results": {"fitted": {"host": both}}, "facts": {}}}
        metrics = {
            "micro/copy_path/bandwidth{variant=both_ways,direction=up,size=%d}" % size: {"value": value}
            for size, value in ((4096, 90e9), (1 << 26, 20e9))
        }
        signature = {"devices": {"cuda[0]": {}}, "metrics": metrics, "programs": programs}
        found = [each for each in host_memory.keys(Measured(signature), {}) if isinstance(each, Key)]
        self.assertEqual({k.name: k.value for k in found}["host_bandwidth"], 38e9)

    def test_what_devices_share(self) -> None:
        """Groups that indices name, and what all move at once; no group where all or none share."""
        truth = {"uplink_devices": 2, "uplink_bandwidth": 30e9}
        for keys, wanted in (
            (truth, truth),
            ({"host_bandwidth": 40e9}, {}),
            ({"host_bandwidth": 200e9}, {}),
        ):
            machine = measured(text_of({"devices": 4, **keys}), 4, ["micro/link_contention"], "--size", "16M")
            found, _ = keys_of(machine, host_memory.keys)
            with self.subTest(keys=keys):
                self.assertEqual(far_off(found, wanted), [])
                self.assertEqual(set(found) & set(truth), set(wanted))
                # Links of 25 GB/s in each direction, of four devices.
                most = min(120e9 if wanted else 200e9, keys.get("host_bandwidth", 100e9))
                self.assertEqual(far_off(found, {"host_bandwidth": most}), [])

    def test_the_host_of_a_simulated_machine(self) -> None:
        fields = {"fields": {"memory_bytes": 1 << 34, "numa_nodes": 1}}
        simulated = self.keys({}, provenance=fields, simulated=True)
        self.assertEqual(simulated["host_memory_bytes"].value, 1 << 34)
        self.assertNotIn("numa_nodes", simulated)
        found = self.keys({}, provenance=fields, simulated=False)
        self.assertEqual((found["host_memory_bytes"].value, found["numa_nodes"].value), (1 << 34, 1))


if __name__ == "__main__":
    unittest.main()
