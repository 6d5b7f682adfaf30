# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""Rows of overlap/shaping, from small made-up records."""

from __future__ import annotations

import sys
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import shaping_rows as found
import shaping_tables as tables
from shaping_rows import BOTH, OVERLAP, PRIORITY, Row, Sweep

VARIANTS = (OVERLAP, PRIORITY, BOTH)
# 6 slots; registers for 8 blocks of a communication.
UNIT = {"slots_per_unit": 6, "registers_per_unit_bytes": 256 << 10, "block_register_bytes": 32 << 10}


def record(**changes: Any) -> dict[str, Any]:
    derived = [
        {"name": name, "variant": None, "value": value}
        for name, value in (("time_ratio_min", 0.6), ("time_ratio_pipelined", 0.65))
    ]
    for name, values in (
        ("time", (0.08, 0.064, 0.06)),
        ("time_ratio", (1.0, 0.8, 0.75)),
        ("overlap_rate", (0.0, 0.4, 0.5)),
        ("first_comm_block", (2e-3, 3e-6, 3e-6)),
        ("comm_CIL", (1.0, 1.2, 1.1)),
    ):
        derived += [{"name": name, "variant": v, "value": value} for v, value in zip(VARIANTS, values)]
    derived += [
        {"name": "normalised_time", "variant": v, "value": value}
        for v, value in ((PRIORITY, 0.8), (BOTH, 0.75))
    ]
    derived += [
        {"name": "time", "variant": v, "value": value}
        for v, value in (("gemm_alone", 0.048), ("comm_alone", 0.032))
    ]
    derived.append({"name": "claim_cost", "variant": "gemm_shaped", "value": 1.5})
    case = {"scenario": "cb-ar", "tile": "64x64x32", "grid": 1024, "iterations": 8, "message": 0}
    return {
        "case": case,
        "key": "a key",
        "status": "ok",
        "validity": {"valid": True, "flags": []},
        "derived": derived,
        "facts": {"residents": 5, "shaped_residents": 2, "residents_by_shared": 5},
        "mechanism": [{"name": "order_is_kept", "observed": True}, {"name": "other", "observed": False}],
        **changes,
    }


def row(**changes: Any) -> Row:
    return replace(found.row_of(record(), "A40"), **changes)


class Records(unittest.TestCase):
    def test_times_are_of_one_iteration(self) -> None:
        self.assertAlmostEqual(row().gemm_s, 6e-3)
        self.assertAlmostEqual(row().seconds[PRIORITY], 8e-3)
        self.assertEqual((row().normalised, row().in_order), ({PRIORITY: 0.8, BOTH: 0.75}, True))

    def test_nothing_is_left_out(self) -> None:
        for changes in ({"status": "skipped"}, {"validity": {"valid": False, "flags": ["gate"]}}):
            with self.assertRaisesRegex(ValueError, "A40: a key"):
                found.row_of(record(**changes), "A40")

    def test_an_order_that_was_not_seen_is_not_kept(self) -> None:
        for seen in (
            [],
            [{"name": "order_is_kept", "observed": True}, {"name": "order_is_kept", "observed": False}],
        ):
            self.assertFalse(found.row_of(record(mechanism=seen), "A40").in_order)


class Residents(unittest.TestCase):
    def test_the_papers_table(self) -> None:
        """KiB of a unit and of what is reserved for a block."""
        for at, (pool, reserved) in enumerate(((100, 1), (164, 1), (228, 1), (64, 0))):
            for tile, element, paper in tables.RESIDENTS:
                size = found.tile_bytes(tile, element)
                self.assertEqual(
                    found.residents(pool << 10, reserved << 10, size), paper[at], (pool, tile, element)
                )

    def test_a_pool_for_other_tiles(self) -> None:
        self.assertEqual(found.pool_for({16 << 10: 8, 32 << 10: 4}, 0), 128 << 10)
        self.assertEqual(found.pool_for({16 << 10: 11, 32 << 10: 5}, 1 << 10), 187 << 10)
        with self.assertRaises(ValueError):
            found.pool_for({16 << 10: 8, 32 << 10: 5}, 0)

    def test_room_is_slots_and_registers(self) -> None:
        self.assertEqual([found.room(UNIT, n) for n in (0, 3, 4, 5)], [6, 3, 2, 0])
        self.assertEqual(found.room({**UNIT, "registers_per_unit_bytes": 0}, 5), 1)
        self.assertEqual(found.room({**UNIT, "slots_per_unit": 4}, 4), 0)

    def test_keys_of_a_model(self) -> None:
        text = "# a = 1\nunits = 84\nshared = 100K  # why\nrate = 445.2e9\nlinks = switch\n"
        self.assertEqual(found.model_of(text), {"units": 84, "shared": 100 << 10, "rate": 445.2e9})


class Shape(unittest.TestCase):
    def test_lost_is_0_in_the_best_pipeline_and_1_in_the_serial_one(self) -> None:
        self.assertEqual([found.lost(row(ratio={OVERLAP: r}), OVERLAP) for r in (0.65, 1.0)], [0, 1])

    def test_a_sweep_decays_and_is_cured(self) -> None:
        low = row(grid=2, ratio={v: 0.65 for v in VARIANTS})
        sweep = Sweep((low, row()))
        self.assertTrue(sweep.good_when_low() and sweep.decays() and sweep.cured(PRIORITY))
        self.assertFalse(Sweep((low, row(ratio={OVERLAP: 1.0, PRIORITY: 0.9, BOTH: 0.7}))).cured(PRIORITY))
        self.assertFalse(Sweep((low, row(ratio={OVERLAP: 0.7}))).decays())
        self.assertFalse(Sweep((row(grid=32), row())).good_when_low())

    def test_sweeps_have_the_papers_grids_in_order(self) -> None:
        rows = [
            row(grid=1024),
            row(grid=2),
            row(grid=0),
            row(grid=4, iterations=20),
            row(grid=2, tile="64x64x64"),
        ]
        self.assertEqual([[r.grid for r in s.rows] for s in found.sweeps(rows, 8)], [[2, 1024], [2]])

    def test_why_nothing_decays(self) -> None:
        few = row(wait_s={OVERLAP: 1e-6})
        self.assertIn("resident at once", found.why_no_decay(few))
        hidden = row(wait_s={OVERLAP: 1e-3}, comm_s=4e-3)
        self.assertIn("takes 4 ms, less than the 5 ms that are left", found.why_no_decay(hidden))
        self.assertIn(
            "of which the 5 ms that are left of the GEMM hide a part",
            found.why_no_decay(replace(hidden, comm_s=6e-3)),
        )

    def test_why_priority_does_not_cure(self) -> None:
        self.assertIn("takes 1.20 times its time alone", found.why_no_cure(row(), UNIT))
        waits = row(wait_s={PRIORITY: 2e-3})
        full = "leave 16 of 256 KiB of a unit's registers, one of the communication needs 32"
        self.assertIn(full, found.why_no_cure(waits, UNIT))
        self.assertNotIn("registers", found.why_no_cure(replace(waits, residents=3), UNIT))


class Bests(unittest.TestCase):
    def test_the_best_has_its_row_and_variant(self) -> None:
        rows = [row(), row(grid=512, normalised={PRIORITY: 0.7, BOTH: 0.9}, rate={PRIORITY: 0.1, BOTH: 0.2})]
        self.assertEqual(found.best(rows, (PRIORITY, BOTH)), (0.7, rows[1], PRIORITY))
        self.assertEqual(found.best(rows, (BOTH,)), (0.75, rows[0], BOTH))
        self.assertEqual(found.best_rate(rows, (PRIORITY, BOTH)), (0.5, rows[0], BOTH))

    def test_equal_parts_overlap_for_i_minus_1_of_i_plus_1(self) -> None:
        self.assertAlmostEqual(found.rate_pipelined(row(gemm_s=1.0, comm_s=1.0, iterations=20)), 19 / 21)
        self.assertAlmostEqual(found.rate_pipelined(row(gemm_s=2.0, comm_s=1.0, iterations=2)), 1 / 5)

    def test_a_broken_bound_is_negative_and_has_its_place(self) -> None:
        kept = found.margins([row(), row(grid=0, ratio={PRIORITY: 0.59}, rate={PRIORITY: 0.9})])
        self.assertAlmostEqual(kept["least"][0], -0.01)
        self.assertAlmostEqual(kept["pipelined"][0], -0.06)
        self.assertAlmostEqual(kept["rate"][0], 7 / 8 - 0.9)
        self.assertEqual(kept["least"][1], "A40 cb-ar opt1, all blocks, 8 iterations, priority")


class Words(unittest.TestCase):
    def test_equal_ratios_are_said_once(self) -> None:
        self.assertEqual(tables.cell(row(ratio={v: 0.5 for v in VARIANTS})), "0.500")
        self.assertEqual(tables.cell(row()), "1.000 / 0.800 / 0.750")

    def test_there_is_no_negative_zero(self) -> None:
        self.assertEqual([found.two(x) for x in (-0.001, -0.01, 0.004)], ["0.00", "-0.01", "0.00"])


if __name__ == "__main__":
    unittest.main()
