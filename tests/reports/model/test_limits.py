# SPDX-License-Identifier: BSD-3-Clause
"""Limits of fitted keys: those of device/sim/model/model.c."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from reports.model.key import Key
from reports.model.limits import limits_of, refused, within

ROOT = Path(__file__).resolve().parents[3]
_ROW = re.compile(r"(KEY|RATE|TIME)\((?:(REAL|U32|BYTES), )?(\w+)(?:, (\S+), (\S+))?\)[,}]")
_NAMED = {"DEV_MAX": 64, "SIM_UNITS": 1024, "SIM_ENGINES": 64, "DEV_NUMA_NODES": 64}
# Keys of T3's hardware, faults and noise that no program measures.
_NOT_FITTED = ("tracker", "memory_", "add_cost", "drift", "outlier", "queue_wait")


def key(name: str, value) -> Key:
    return Key(name, value, "test")


class Limits(unittest.TestCase):
    def test_they_are_those_of_the_simulator(self) -> None:
        text = (ROOT / "device" / "sim" / "model" / "model.c").read_text(encoding="utf-8")
        table = text[text.index("sim_keys[] = {") : text.index("sim_key_count")]
        rows = _ROW.findall(table)
        self.assertGreater(len(rows), 60)
        for macro, kind, name, low, high in rows:
            if name == "stamp_error_ns" or (name.startswith(_NOT_FITTED) and limits_of(name) is None):
                continue
            ends = {"RATE": ("1", "1e18"), "TIME": ("0", "1e12")}.get(macro, (low, high))
            wanted = tuple(
                float(_NAMED[end]) if end in _NAMED else float.fromhex(end) if "x" in end else float(end)
                for end in ends
            )
            with self.subTest(key=name):
                self.assertEqual(limits_of(name), wanted)
                self.assertIsNone(refused(key(name, int(wanted[1]) if kind != "REAL" else wanted[1])))
                self.assertIsNotNone(refused(key(name, wanted[1] * 2)))
                self.assertEqual(bool(refused(key(name, 1.5))), kind in ("U32", "BYTES") or wanted[1] < 1.5)


class Together(unittest.TestCase):
    def of(self, **values) -> tuple[set[str], set[str]]:
        keys, gone = within([key(name, value) for name, value in values.items()])
        return {own.name for own in keys}, {name for missing in gone for name in missing.names}

    def test_a_level_of_which_something_is_not_known_is_left_out(self) -> None:
        whole = {"l1_bytes": 65536, "l1_bandwidth": 1e11, "l1_latency_ns": 20.0}
        self.assertEqual(self.of(**whole), (set(whole), set()))
        for name in whole:
            others = {other: value for other, value in whole.items() if other != name}
            self.assertEqual(self.of(**others, launch_ns=1.0), ({"launch_ns"}, set(others)))

    def test_sizes_that_contradict_each_other_or_the_base_are_left_out(self) -> None:
        self.assertEqual(self.of(shared_per_block_bytes=1 << 20), (set(), {"shared_per_block_bytes"}))
        self.assertEqual(self.of(llc_bytes=1 << 34), (set(), {"llc_bytes"}))
        self.assertEqual(self.of(llc_bytes=1 << 34, memory_bytes=1 << 35)[1], set())

    def test_a_key_is_there_once(self) -> None:
        keys, _ = within([key("units", 4), key("units", 5)])
        self.assertEqual([own.value for own in keys], [4])

    def test_what_is_no_number_is_left_out(self) -> None:
        for value in (float("nan"), float("inf"), -1.0, 1e300):
            self.assertEqual(self.of(**{"launch_ns": value}), (set(), {"launch_ns"}))
        keys, gone = within([key("peer_bandwidth 0>1", 0.0)])
        self.assertEqual((keys, gone[0].names), ([], ("peer_bandwidth 0>1",)))


if __name__ == "__main__":
    unittest.main()
