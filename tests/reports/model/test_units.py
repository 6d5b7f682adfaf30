# SPDX-License-Identifier: BSD-3-Clause
"""Units, priorities, capabilities and the weight of an engine: from runs on known simulated machines."""

from __future__ import annotations

import json
import math
import unittest
from typing import Any, Dict

import simulated_run
import workplace

from reports.model import costs, units
from reports.model.key import Key, Missing
from reports.model.measured import Measured
from reports.records.jsonl import Json

SIM = "sim:quiet?data=none,"
PROGRAMS = ("micro/launch", "micro/occupancy", "micro/priority", "micro/copy_path", "micro/contention")
WITHOUT_ENGINE = PROGRAMS[:3]
NOISE = "jitter_sigma=0.01,block_jitter_sigma=0.02"


def fitted(signature: Json) -> tuple[Dict[str, Key], Dict[str, str]]:
    """Keys by name, and why there is none; with the costs that the fits of units need."""
    measured = Measured(signature)
    known = {key.name: key.value for key in costs.keys(measured, {}) if isinstance(key, Key)}
    found = list(units.keys(measured, known))
    keys = {key.name: key for key in found if isinstance(key, Key)}
    missing = {name: one.reason for one in found if isinstance(one, Missing) for name in one.names}
    return keys, missing


@unittest.skipUnless(simulated_run.BUILT, "needs the programs: make")
class OfSimulatedMachines(unittest.TestCase):
    def value(self, device: str, name: str, programs: tuple[str, ...] = PROGRAMS) -> Any:
        keys, missing = fitted(simulated_run.signature(device, programs))
        self.assertIn(name, keys, missing.get(name))
        return keys[name].value

    def test_a_block_s_share_of_a_unit(self) -> None:
        for device, share, within in (
            (SIM + "seed=1", 0.25, 1e-6),
            ("sim:h100", 1, 1e-6),
            (SIM + "block_share=0.5,shared_per_block_bytes=64K", 0.5, 1e-6),
            (SIM + "block_share=0.3,slots_per_unit=6,block_ns=900", 0.3, 0.01),
            (SIM + "block_share=0.3,slots_per_unit=6,%s" % NOISE, 0.3, 0.05),
        ):
            found = self.value(device, "block_share", WITHOUT_ENGINE)
            self.assertAlmostEqual(found / share, 1, delta=within, msg=device)

    def test_a_share_that_no_number_of_blocks_shows_is_missing(self) -> None:
        """Blocks may claim only so much shared memory that two reside, and these fill the unit."""
        device = SIM + "block_share=0.7,shared_per_block_bytes=32K"
        keys, missing = fitted(simulated_run.signature(device, WITHOUT_ENGINE))
        self.assertNotIn("block_share", keys)
        self.assertIn("2 blocks use all of a unit", missing["block_share"])

    def test_blocks_that_keep_a_unit_busy_are_counted_as_the_device_does(self) -> None:
        """3.03 blocks are four, and so an engine shares memory with as many."""
        device = SIM + "block_share=0.33,engine_weight=12"
        keys, _ = fitted(simulated_run.signature(device, PROGRAMS))
        self.assertEqual(math.ceil(1 / float(keys["block_share"].value)), 4)
        self.assertAlmostEqual(float(keys["engine_weight"].value) / 12, 1, delta=0.05)

    def test_the_weight_of_an_engine_that_kernels_slow(self) -> None:
        for weight in (3, 8, 20):
            for noise in ("", "," + NOISE):
                device = SIM + "engine_weight=%d%s" % (weight, noise)
                self.assertAlmostEqual(
                    self.value(device, "engine_weight") / weight, 1, delta=0.05, msg=device
                )

    def test_an_engine_that_no_kernel_slows_has_a_weight_with_which_none_does(self) -> None:
        """128 is so much that the weight doesn't show."""
        device = SIM + "engine_weight=128,engine_bandwidth=40e9"
        measured = simulated_run.signature(device, PROGRAMS)
        keys, _ = fitted(measured)
        self.assertIn("kernels slow no engine", keys["engine_weight"].source)
        self.assertIsNone(keys["engine_weight"].error)
        again = simulated_run.signature(
            SIM + "engine_weight=%.6g,engine_bandwidth=40e9" % keys["engine_weight"].value, PROGRAMS
        )
        for name, entry in measured["metrics"].items():
            if name.startswith("micro/contention/CIL{"):
                self.assertAlmostEqual(again["metrics"][name]["value"], entry["value"], delta=0.02, msg=name)

    def test_kernels_that_lose_more_than_an_engine_takes_tell_no_weight(self) -> None:
        """Their traffic queues in a memory that serves it one by one."""
        device = SIM + "memory_control=1,queue_wait_ns_per_kib=3200,engine_bandwidth=20e9"
        keys, missing = fitted(simulated_run.signature(device, (*PROGRAMS, "micro/memory")))
        self.assertNotIn("engine_weight", keys)
        self.assertIn("another part of memory", missing["engine_weight"])
        self.assertIn("queue_wait_ns_per_kib", missing)
        keys, _ = fitted(simulated_run.signature(SIM + "seed=1", (*PROGRAMS, "micro/memory")))
        self.assertAlmostEqual(float(keys["engine_weight"].value), 8, delta=0.4)

    def test_priorities_are_those_that_have_an_effect(self) -> None:
        self.assertEqual(self.value(SIM + "seed=1", "priorities"), 3)
        self.assertEqual(self.value(SIM + "priorities=1", "priorities", ("micro/launch",)), 1)
        signature = simulated_run.signature(SIM + "seed=1", PROGRAMS)
        metrics = dict(signature["metrics"])
        for name in metrics:
            if name.startswith("micro/priority/wait_ratio"):
                metrics[name] = dict(metrics[name], value=0.97)
        keys, _ = fitted(dict(signature, metrics=metrics))
        self.assertEqual(keys["priorities"].value, 1)

    def test_what_the_device_lacks(self) -> None:
        self.assertNotIn("lacks", fitted(simulated_run.signature(SIM + "seed=1", PROGRAMS))[0])
        device = SIM + "copy_engines=0,priorities=1"
        found = self.value(device, "lacks", ("micro/launch",))
        self.assertEqual(found.split(), ["copy_engine", "priority", "copy_batch"])

    def test_the_grain_of_shared_memory(self) -> None:
        for device, grain in ((SIM + "seed=1", 1024), ("sim:mi300x", 512), ("sim:a100", 128)):
            self.assertEqual(self.value(device, "shared_granularity_bytes", WITHOUT_ENGINE), grain)
        even = SIM + "shared_per_unit_bytes=96K,shared_per_block_bytes=96K,slots_per_unit=5"
        keys, missing = fitted(simulated_run.signature(even, WITHOUT_ENGINE))
        self.assertNotIn("shared_granularity_bytes", keys)
        self.assertIn("alike", missing["shared_granularity_bytes"])

    def test_operations_that_a_stream_takes(self) -> None:
        for device, queued in ((SIM + "seed=1", 1024), (SIM + "max_queued=300", 300)):
            self.assertEqual(self.value(device, "max_queued", ("micro/launch",)), queued)

    def test_what_was_not_measured_is_missing_with_the_program(self) -> None:
        _, missing = fitted(simulated_run.signature(SIM + "seed=1", ("micro/launch",)))
        for name, program in (
            ("block_share", "micro/occupancy"),
            ("engine_weight", "micro/contention"),
            ("priorities", "micro/priority"),
            ("shared_granularity_bytes", "micro/occupancy"),
        ):
            self.assertIn(program, missing[name])


class OfARealMachine(unittest.TestCase):
    """One H100."""

    def test_one_block_uses_nearly_all_of_a_unit(self) -> None:
        path = workplace.ROOT / "reports" / "reference" / "h100" / "signature.json"
        keys, missing = fitted(json.loads(path.read_text(encoding="utf-8")))
        self.assertGreater(float(keys["block_share"].value), 0.9)
        self.assertEqual(keys["shared_granularity_bytes"].value, 128)
        self.assertEqual(keys["priorities"].value, 3)
        self.assertIn("peer", str(keys["lacks"].value).split())
        self.assertIn("micro/contention", missing["engine_weight"])


if __name__ == "__main__":
    unittest.main()
