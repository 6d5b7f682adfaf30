# SPDX-License-Identifier: BSD-3-Clause
"""Scatter within a process and between processes: from runs on simulated machines of known noise."""

from __future__ import annotations

import copy
import unittest
from typing import Dict

import simulated_run

from reports.model import noise
from reports.model.key import Key, Missing
from reports.model.measured import Measured
from reports.records.jsonl import Json

SIM = "sim:quiet?data=none,"
PROGRAMS = ("micro/launch", "micro/occupancy", "micro/copy_path", "micro/latency")


def fitted(signature: Json) -> tuple[Dict[str, Key], Dict[str, str]]:
    """Keys by name, and why there is none."""
    found = list(noise.keys(Measured(signature), {}))
    keys = {key.name: key for key in found if isinstance(key, Key)}
    missing = {name: one.reason for one in found if isinstance(one, Missing) for name in one.names}
    return keys, missing


@unittest.skipUnless(simulated_run.BUILT, "needs the programs: make")
class OfSimulatedMachines(unittest.TestCase):
    def test_operations_scatter_as_the_model_says(self) -> None:
        for sigma in (0.003, 0.01, 0.03):
            for of_blocks in (0, 0.02):
                for seed in (1, 2, 3):
                    device = SIM + "jitter_sigma=%g,block_jitter_sigma=%g,seed=%d" % (
                        sigma,
                        of_blocks,
                        seed,
                    )
                    keys, _ = fitted(simulated_run.signature(device, PROGRAMS))
                    found = float(keys["jitter_sigma"].value)
                    self.assertAlmostEqual(found / sigma, 1, delta=0.3, msg=device)

    def test_copies_that_scatter_by_themselves_are_no_measure(self) -> None:
        """As on a processor, whose copies wait for cores: a model has one jitter, also of its GEMMs."""
        signature = copy.deepcopy(simulated_run.signature(SIM + "jitter_sigma=0.01,seed=1", PROGRAMS))
        for name, entry in signature["metrics"].items():
            if name.startswith("micro/copy_path/") and entry.get("deviation"):
                entry["deviation"] *= 20
        keys, _ = fitted(signature)
        self.assertAlmostEqual(float(keys["jitter_sigma"].value) / 0.01, 1, delta=0.5)
        self.assertIn("micro/occupancy", keys["jitter_sigma"].source)

    def test_blocks_scatter_by_themselves(self) -> None:
        for sigma, of_blocks in ((0.003, 0.02), (0.01, 0.05), (0, 0.01)):
            device = SIM + "jitter_sigma=%g,block_jitter_sigma=%g" % (sigma, of_blocks)
            keys, missing = fitted(simulated_run.signature(device, PROGRAMS))
            self.assertIn("block_jitter_sigma", keys, missing.get("block_jitter_sigma"))
            found = float(keys["block_jitter_sigma"].value)
            self.assertAlmostEqual(found / of_blocks, 1, delta=0.3, msg=device)

    def test_a_machine_without_noise_has_none(self) -> None:
        keys, missing = fitted(simulated_run.signature(SIM + "seed=1", PROGRAMS))
        self.assertEqual(keys["jitter_sigma"].value, 0)
        self.assertIn("chases", missing["block_jitter_sigma"])

    def test_blocks_that_scatter_no_more_than_operations_are_missing(self) -> None:
        device = SIM + "jitter_sigma=0.03,block_jitter_sigma=0"
        _, missing = fitted(simulated_run.signature(device, PROGRAMS))
        self.assertIn("no more than operations", missing["block_jitter_sigma"])

    def test_processes_scatter_as_their_tries_do(self) -> None:
        signature = simulated_run.signature(SIM + "seed=1", PROGRAMS)
        _, missing = fitted(dict(signature, run_spread=None))
        self.assertIn("tries", missing["open_sigma"])
        spread = {"relative": 0.0123, "metrics": 40, "degrees": 8.0, "families": {}, "half": None}
        keys, _ = fitted(dict(signature, run_spread=spread))
        self.assertEqual(keys["open_sigma"].value, 0.0123)
        self.assertAlmostEqual(keys["open_sigma"].error or 0, 0.25)

    def test_what_was_not_measured_is_missing_with_the_program(self) -> None:
        _, missing = fitted(simulated_run.signature(SIM + "seed=1", ("micro/launch",)))
        self.assertIn("micro/copy_path", missing["jitter_sigma"])
        self.assertIn("drift_per_s", missing)


if __name__ == "__main__":
    unittest.main()
