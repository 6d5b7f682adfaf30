# SPDX-License-Identifier: BSD-3-Clause
"""Costs of launches, blocks, events and calls: from runs on simulated machines of known costs, and from a
signature of a real one."""

from __future__ import annotations

import json
import random
import re
import unittest
from typing import Dict, Sequence

import simulated_run
import workplace

from reports.model import costs
from reports.model.key import Key, Missing
from reports.model.measured import Measured
from reports.records.jsonl import Json

SIM = "sim:quiet?data=none,"
PROGRAMS = ("micro/launch", "micro/occupancy")
TIMES = ("launch_ns", "block_ns", "event_ns", "value_ns", "host_call_ns", "host_sync_ns", "host_clock_ns")
NOISE = "jitter_sigma=0.01,block_jitter_sigma=0.02"


def drawn(seed: int) -> str:
    """Costs that have nothing to do with each other, of a machine of few large blocks."""
    draw = random.Random(seed)
    keys = {name: round(draw.uniform(100, 4000)) for name in TIMES[:6]}
    keys.update(host_clock_ns=draw.randint(10, 60), slots_per_unit=draw.randint(3, 12))
    keys.update(flops_f32=draw.uniform(2e11, 2e12))
    return SIM + ",".join("%s=%.6g" % item for item in keys.items())


def fitted(signature: Json) -> tuple[Dict[str, Key], Dict[str, str]]:
    """Keys by name, and why there is none."""
    found = list(costs.keys(Measured(signature), {}))
    keys = {key.name: key for key in found if isinstance(key, Key)}
    missing = {name: one.reason for one in found if isinstance(one, Missing) for name in one.names}
    return keys, missing


def without(signature: Json, words: str) -> Json:
    """The same machine, if the metrics that have these words had not been measured."""
    kept = {name: value for name, value in signature["metrics"].items() if not re.search(words, name)}
    return dict(signature, metrics=kept)


@unittest.skipUnless(simulated_run.BUILT, "needs the programs: make")
class OfSimulatedMachines(unittest.TestCase):
    def check(self, device: str, within: float, names: Sequence[str] = TIMES) -> None:
        signature = simulated_run.signature(device, PROGRAMS)
        truth, (keys, missing) = simulated_run.truth(signature), fitted(signature)
        for name in names:
            with self.subTest(device=device, key=name, why=missing.get(name)):
                self.assertLessEqual(abs(float(keys[name].value) / truth[name] - 1), within)

    def test_costs_of_machines_without_noise_are_found(self) -> None:
        for device in (SIM + "seed=1", "sim:h100", drawn(1), drawn(2), drawn(3)):
            self.check(device, 0.01, (*TIMES, "clock_hz"))

    def test_noise_moves_them_little(self) -> None:
        certain = [name for name in TIMES if name != "host_clock_ns"]
        self.check("sim:default?data=none", 0.05)
        self.check(drawn(4) + "," + NOISE, 0.05, certain)

    def test_how_sure_a_key_is_covers_its_miss(self) -> None:
        signature = simulated_run.signature("sim:default?data=none", PROGRAMS)
        truth, (keys, _) = simulated_run.truth(signature), fitted(signature)
        for name in ("launch_ns", "event_ns", "value_ns", "host_sync_ns"):
            miss, error = abs(float(keys[name].value) / truth[name] - 1), keys[name].error
            self.assertIsNotNone(error)
            self.assertLess(miss, 3 * (error or 0.0) + 0.002, name)

    def test_waves_of_the_load_tell_what_a_block_costs_where_no_launch_does(self) -> None:
        signature = without(simulated_run.signature(SIM + "seed=1", PROGRAMS), "variant=waves")
        keys, _ = fitted(signature)
        self.assertAlmostEqual(float(keys["block_ns"].value), 500, delta=5)
        self.assertIn("micro/occupancy", keys["block_ns"].source)

    def test_where_nothing_tells_the_sum_is_kept(self) -> None:
        signature = simulated_run.signature("sim:default?data=none", PROGRAMS)
        keys, _ = fitted(without(signature, "variant=waves"))
        self.assertEqual(keys["block_ns"].value, 0)
        self.assertAlmostEqual(float(keys["launch_ns"].value), 2500, delta=25)
        self.assertIn("with the start of a block", keys["launch_ns"].source)

    def test_what_was_not_measured_is_missing_with_the_program(self) -> None:
        signature = simulated_run.signature(SIM + "seed=1", PROGRAMS)
        for words, names in (
            ("behind_value", ("value_ns",)),
            ("idle_wait", ("event_ns",)),
            ("round_trip", ("host_sync_ns",)),
            ("variant=enqueue", ("host_call_ns", "host_sync_ns", "host_clock_ns")),
            ("variant=back_to_back", ("launch_ns", "block_ns", "event_ns", "value_ns", "host_sync_ns")),
        ):
            keys, missing = fitted(without(signature, words))
            for name in names:
                self.assertNotIn(name, keys)
                self.assertRegex(missing[name], "micro/(launch|occupancy)")

    def test_a_machine_of_these_costs_repeats_the_launches(self) -> None:
        """The closure of micro/launch: the fitted keys, run."""
        signature = simulated_run.signature(drawn(5), PROGRAMS)
        keys, _ = fitted(signature)
        changes = ["%s=%.9g" % (name, keys[name].value) for name in TIMES]
        again = simulated_run.signature(SIM + ",".join(changes), PROGRAMS)
        times = [name for name in signature["metrics"] if name.startswith("micro/launch/time{")]
        self.assertGreater(len(times), 7)
        for name in times:
            once, twice = signature["metrics"][name]["value"], again["metrics"][name]["value"]
            self.assertAlmostEqual(twice / once, 1, delta=0.01, msg=name)


class OfARealMachine(unittest.TestCase):
    """One H100: nothing of its own keys is known, but what cannot be."""

    def setUp(self) -> None:
        path = workplace.ROOT / "reports" / "reference" / "h100" / "signature.json"
        self.signature = json.loads(path.read_text(encoding="utf-8"))
        self.keys, self.missing = fitted(self.signature)

    def value(self, name: str) -> float:
        return float(self.keys[name].value)

    def test_a_launch_and_its_wait_take_what_was_measured(self) -> None:
        kernel = self.value("launch_ns") + self.value("block_ns")
        self.assertAlmostEqual(kernel, 1782, delta=100)
        trip = (
            self.value("host_call_ns") + max(self.value("host_call_ns"), kernel) + self.value("host_sync_ns")
        )
        self.assertAlmostEqual(trip, 8638, delta=100)

    def test_calls_of_different_costs_tell_no_clock(self) -> None:
        self.assertIn("not told", self.missing["host_clock_ns"])

    def test_nothing_is_taken_of_keys_that_only_simulated_devices_have(self) -> None:
        other = json.loads(json.dumps(self.signature))
        for device in other["devices"].values():
            device["model"] = {"keys": {name: 1e9 for name in TIMES}}
        self.assertEqual(fitted(other), (self.keys, self.missing))


if __name__ == "__main__":
    unittest.main()
