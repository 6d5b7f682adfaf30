# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""The laws of fresh_models.py on a machine of round numbers, and what is drawn."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import fresh_models as fresh

ROUND = fresh.Model(
    "round",
    {
        "devices": 4,
        "units": 10,
        "slots_per_unit": 2,
        "block_share": 0.5,
        "copy_engines": 4,
        "memory_bandwidth": 1e12,
        "llc_bytes": 1 << 20,
        "llc_bandwidth": 4e12,
        "llc_tracked": 0,
        "unit_bandwidth": 1e12,
        "peer_bandwidth": 50e9,
        "injection_bandwidth": 200e9,
        "engine_bandwidth": 100e9,
        "peer_latency_ns": 0,
        "flops_f32": 1e12,
        "gemm_efficiency": 0.5,
        "gemm_tile": 64,
        "launch_ns": 1000,
        "block_ns": 500,
        "copy_ns": 0,
        "l1_bytes": 4096,
        "l1_bandwidth": 2e12,
        "l1_latency_ns": 20,
        "llc_latency_ns": 200,
        "memory_latency_ns": 400,
    },
    {(3, 0): 25e9},
)


class Laws(unittest.TestCase):
    def test_a_gemm_runs_in_waves_of_its_slowest_resource(self) -> None:
        # 4 tiles of 64 x 64 x 128, each with half of a unit.
        flops = 2 * 64 * 64 * 128
        self.assertAlmostEqual(fresh.gemm_s(ROUND, "f32", (128, 128, 128)), 1.5e-6 + 2 * flops / 0.5e12)
        # 256 tiles are 12 full waves and one of 16 tiles, two on some units.
        waves = 12 * (500e-9 + 2 * 2 * 64 * 64 * 16 / 0.5e12) + 500e-9 + 2 * 2 * 64 * 64 * 16 / 0.5e12
        self.assertGreaterEqual(fresh.gemm_s(ROUND, "f32", (1024, 1024, 16)), 1e-6 + waves)

    def test_groups_are_one_launch_of_all_tiles(self) -> None:
        # 8 x 2 tiles of 64 x 64 x 64 in one wave, two on some units; alone 2, each with half of a unit.
        flops, weights = 2 * 64 * 64 * 64, 64 * 128 * 4
        alone, together = 1.5e-6 + 2 * flops / 1e12 / 0.5, 1.5e-6 + 2 * flops / 0.5e12
        where = {"type": "f32", "rows": 4, "weights": "128x64", "experts": 8, "routing": "even"}
        self.assertAlmostEqual(fresh.gemm_s(ROUND, "f32", (4, 128, 64), groups=8), together)
        self.assertAlmostEqual(fresh.of_weights(ROUND, "grouped_gemm_speedup", where), 8 * alone / together)
        moved = 8 * (weights + 4 * 64 * 4 + 4 * 128 * 4)
        self.assertAlmostEqual(fresh.of_weights(ROUND, "grouped_gemm_bandwidth", where), moved / together, -3)
        self.assertIsNone(fresh.of_weights(ROUND, "x", {**where, "routing": "uneven"}))

    def test_attention_moves_keys_and_values_once_and_parts_twice(self) -> None:
        # 8 heads of 1024 keys; 20 blocks at once are two parts of each.
        cached, queries, partial = 8 * 2 * 1024 * 128 * 4, 32 * 128 * 4, 2 * 32 * 132 * 4
        read = 1.5e-6 + cached / 1e12
        fused = 1.5e-6 + (cached + queries + partial) / 1e12 + 1.5e-6 + (partial + queries) / 4e12
        where = {"type": "f32", "phase": "decode-1K", "mask": "causal"}
        self.assertAlmostEqual(fresh.of_attention(ROUND, "attention_decode_read_share", where), read / fused)
        # In prefill of 1024 queries, 5 GFLOP of half of the keys and the diagonal take longer than any byte.
        where = {"type": "f32", "phase": "prefill-1K", "mask": "causal"}
        merging = 1.5e-6 + 4 * 1024 * 8 * (128 + 132) * 4 / 1e12
        fused = 1.5e-6 + 4 * 128 * 8 * 4 * (1024 * 1025 / 2) / 10e12 + merging
        self.assertAlmostEqual(fresh.of_attention(ROUND, "attention_x_read_share", where), read / fused)
        # The smallest square, of 512 times a power of two, with 20 tiles of 128.
        self.assertEqual(fresh.large_side(ROUND), 1024)

    def test_a_level_is_the_first_that_holds_the_footprint(self) -> None:
        self.assertAlmostEqual(fresh.read_rate(ROUND, 40960), 20e12)
        self.assertAlmostEqual(fresh.read_rate(ROUND, 40961), 4e12)
        self.assertAlmostEqual(fresh.read_rate(ROUND, 2 << 20), 1e12)
        self.assertAlmostEqual(fresh.chase_s(ROUND, 4096), 20e-9)
        self.assertAlmostEqual(fresh.chase_s(ROUND, 8192), 200e-9)

    def test_a_slow_link_is_in_one_direction_of_the_ring(self) -> None:
        parts = 3 * (1 << 30) / 4
        self.assertAlmostEqual(fresh.ring_s(ROUND, 1 << 30, False, True), parts / 50e9)
        self.assertGreater(fresh.ring_s(ROUND, 1 << 30, True, False), parts / 25e9)

    def test_all_messages_of_a_device_share_its_engines(self) -> None:
        few = fresh.Model("few", {**ROUND.keys, "copy_engines": 1}, {})
        self.assertAlmostEqual(fresh.spread_s(few, 1e6, False), 3e6 / 50e9)
        self.assertAlmostEqual(fresh.spread_s(ROUND, 1e6, False), 1e6 / 25e9)
        self.assertFalse(
            fresh.spreads_alike(fresh.Model("odd", {**few.keys, "injection_bandwidth": 4e10}, {}))
        )

    def test_more_than_three_per_cent_and_nothing_are_misses(self) -> None:
        off = [fresh.Row("x", "s", 1.0, said).misses for said in (0.96, 0.98, 1.0, 1.02, 1.04, None)]
        self.assertEqual(off, [True, False, False, False, True, True])
        self.assertFalse(fresh.Row("x", "s", None, 2.0).misses)


class Draws(unittest.TestCase):
    def test_a_seed_gives_the_same_machines_and_another_one_others(self) -> None:
        self.assertEqual(fresh.drawn(3), fresh.drawn(3))
        self.assertNotEqual(fresh.drawn(3), fresh.drawn(4))

    def test_they_have_what_is_asked_for(self) -> None:
        for seed in range(20):
            machines = fresh.drawn(seed)
            self.assertEqual({m.devices for m in machines}, {1, 4, 8})
            self.assertEqual({m.keys["data"] for m in machines}, {"none", "real"})
            self.assertEqual({m.llc_tracked for m in machines}, {0, 1})
            self.assertEqual({"l1_bytes" in m.keys for m in machines}, {True, False})
            for m in machines:
                self.assertGreaterEqual(m.memory_bytes, 4 << 30)
                self.assertGreater(m.llc_bandwidth, m.memory_bandwidth)
                self.assertTrue(all(rate < m.peer_bandwidth for rate in m.links.values()))


if __name__ == "__main__":
    unittest.main()
