# SPDX-License-Identifier: BSD-3-Clause
"""Costs and rates of copies by engines, fitted to what the programs measure of simulated machines."""

from __future__ import annotations

import random
import unittest
from typing import Dict

from tests.reports.model.simulated import LARGE, far_off, keys_of, measured

from reports.model import copies
from reports.model.copy_lines import line

PROGRAMS = ("micro/copy_path", "micro/copy_command", "micro/peer_matrix")


def model(**keys: float) -> str:
    return LARGE + "".join("%s = %.6g\n" % item for item in keys.items())


class Copies(unittest.TestCase):
    def fitted(self, text: str, devices: int = 1, *options: str):
        return keys_of(measured(text, devices, PROGRAMS, *options), copies.keys)

    def test_drawn_machines(self) -> None:
        for seed in range(6):
            draw = random.Random(seed)
            memory, link = draw.uniform(8e11, 5e12), draw.uniform(1e10, 6e10)
            truth: Dict[str, float] = {
                "copy_ns": draw.uniform(1000, 9000),
                "batch_copy_ns": draw.uniform(200, 900),
                "engine_bandwidth": memory * draw.uniform(0.05, 0.45),
                "link_down_bandwidth": link,
                "link_up_bandwidth": link * draw.uniform(0.4, 2),
            }
            others = {
                "memory_bandwidth": memory,
                "unit_bandwidth": memory / 2,
                "llc_bandwidth": 2 * memory,
                "host_bandwidth": 1e12,
                "host_call_ns": draw.uniform(100, 5000),
                "jitter_sigma": draw.choice((0, 0.005)),
                "peer_latency_ns": draw.uniform(100, 900),
            }
            with self.subTest(seed=seed):
                of = measured(model(**truth, **others), draw.choice((1, 2)), PROGRAMS)
                for known in ({}, {"host_call_ns": others["host_call_ns"]}):
                    keys, _ = keys_of(of, copies.keys, **known)
                    self.assertEqual(far_off(keys, truth), [])
                    self.assertFalse(keys["engine_bandwidth"].source.startswith("at least"))

    def test_an_engine_that_memory_limits_is_known_to_be_as_fast(self) -> None:
        keys, _ = self.fitted(model(memory_bandwidth=2e11, engine_bandwidth=4e11))
        found = keys["engine_bandwidth"]
        self.assertTrue(found.source.startswith("at least"), found)
        self.assertAlmostEqual(float(found.value), 1e11, delta=3e9)

    def test_the_fastest_pair_tells_what_an_engine_does_at_least(self) -> None:
        given = model(memory_bandwidth=4e12, engine_bandwidth=4e11, peer_bandwidth=3e11)
        of = measured(given, 2, PROGRAMS, "--budget", "1000s")
        keys, _ = keys_of(of, copies.keys)
        self.assertEqual(far_off(keys, {"engine_bandwidth": 4e11}), [])

    def test_an_engine_slower_than_the_link_leaves_the_link_to_kernels(self) -> None:
        truth = {"engine_bandwidth": 2e10, "link_down_bandwidth": 5e10, "link_up_bandwidth": 3e10}
        keys, _ = self.fitted(model(**truth))
        self.assertEqual(far_off(keys, truth), [])

    def test_what_no_program_measured_is_missing(self) -> None:
        of = measured(model(copy_engines=0), 1, ("micro/copy_path",))
        keys, missing = keys_of(of, copies.keys)
        self.assertEqual(set(keys), {"link_down_bandwidth", "link_up_bandwidth"})
        self.assertIn("copies by an engine", missing["copy_ns"])
        self.assertIn("micro/copy_command", missing["batch_copy_ns"])
        self.assertIn("chases pointers", missing["link_latency_ns"])


class Lines(unittest.TestCase):
    def test_two_sizes(self) -> None:
        found = line([(4096, 1000 + 4096 / 10, 0.0), (1 << 26, 1000 + (1 << 26) / 10, 0.0)])
        assert found
        self.assertAlmostEqual(found.alpha_ns, 1000, places=3)
        self.assertAlmostEqual(found.rate, 10e9, delta=1e3)

    def test_a_curve_that_falls_below_zero_has_no_fixed_part(self) -> None:
        """Copies of 4 KiB of a cache, at 27 GB/s, and large ones, at 10.8 GB/s."""
        found = line([(4096, 148.0, 0.01), (1 << 26, 6.2e6, 0.01)])
        assert found
        self.assertEqual(found.alpha_ns, 0)
        self.assertAlmostEqual(found.rate, (1 << 26) / 6.2e-3, delta=1e6)
        self.assertGreater(found.error, 0.1)

    def test_one_size_is_a_rate(self) -> None:
        found = line([(1 << 20, 1e5, 0.02)])
        assert found
        self.assertEqual((found.alpha_ns, found.sizes, found.error), (0, 1, 0.02))


if __name__ == "__main__":
    unittest.main()
