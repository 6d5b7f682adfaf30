# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of ASTRA-sim: what its parsers ask for, in their types and units, from machines whose links are
known. What ASTRA-sim itself says of them is in tests/adapters."""

from __future__ import annotations

import json
import re
import unittest
from typing import Any, Dict, Optional

from reports.export import astra_sim, runs
from reports.judge.compare.numbers import BadNumbers

Json = Dict[str, Any]
TOPOLOGIES = ("Ring", "FullyConnected", "Switch")
# Keys that we write, and what Sys.cc and CollectiveImplLookup.cc convert them to.
KEYS = {
    "scheduling-policy": "LIFO|FIFO|EXPLICIT",
    "collective-optimization": "baseline|localBWAware",
    "endpoint-delay": int,
    "active-chunks-per-dimension": int,
    "preferred-dataset-splits": int,
    "local-mem-bw": float,
    "peak-perf": float,
    "roofline-enabled": int,
    **{
        "%s-implementation" % name: "(ring|doubleBinaryTree|direct[0-9]{0,5}|halvingDoubling)"
        for name in astra_sim.COLLECTIVES
    },
}


def machine(
    devices: int = 8,
    sends: float = 1.0,
    at_once: Optional[float] = None,
    lowest: float = 1.0,
    step: float = 2e-6,
) -> Json:
    """Signature of devices whose pairs reach 100 GiB/s; `sends`, `at_once`: to all others, in that of a
    pair."""
    rate = 100.0 * (1 << 30)
    value = lambda v, unit: {"value": v, "unit": unit, "ci_low": 0.99 * v, "ci_high": 1.01 * v}
    metrics = {
        "micro/memory/memory_triad_bandwidth": value(2e12, "byte/s"),
        "micro/copy_path/up_engine_bandwidth": value(5.4e10, "byte/s"),
        "micro/copy_path/up_engine_latency_4k": value(8e-6, "s"),
        "gemm/efficiency/gemm_f32_flop_rate": value(5e13, "flop/s"),
        "gemm/efficiency/gemm_bf16_flop_rate": value(7e14, "flop/s"),
    }
    steps = {"ring": 2 * (devices - 1), "direct": 2} if devices > 1 else {}
    for size in (1024, 1 << 28):
        for name, count in steps.items():
            seconds = count * step + 2 * size * (devices - 1) / devices / rate
            key = "collectives/device_allreduce/bandwidth{variant=%s,size=%d}" % (name, size)
            metrics[key] = value(size / seconds, "byte/s")
    pairs = {"pairs": devices * (devices - 1), "median": rate, "lowest": lowest * rate, "highest": rate}
    at_once = sends if at_once is None else at_once
    return {
        "devices": {"a:%d" % i: {"backend": "sim", "name": "a"} for i in range(devices)},
        "metrics": metrics,
        "programs": {
            "micro/peer_matrix": {
                "results": {
                    "pairs": [dict(pairs, variant="kernel", quantity="bandwidth")],
                    "fitted": {
                        "injection": {
                            "kernel": {"0>all": sends * rate, "all>0": rate, "all>all": at_once * rate}
                        }
                    },
                }
            }
        },
    }


def run_of(signature: Json) -> runs.Run:
    return runs.Run(
        "run",
        "node\n1",
        "sim",
        "a",
        "",
        False,
        None,
        (),
        (),
        False,
        "",
        signature,
        (),  # type: ignore[arg-type]
    )


def exported(signature: Json) -> Dict[str, Any]:
    """Values by key, of all files."""
    files, _ = astra_sim.export([run_of(signature)])
    found: Dict[str, Any] = {}
    for line in files[astra_sim.NETWORK].splitlines():
        match = re.fullmatch(r"([a-z_]+): \[ ([A-Za-z]+|[0-9.e+]+) \]", line)
        if match:
            found[match[1]] = match[2]
        elif not line.startswith("# "):
            raise AssertionError("no line of NetworkParser: %r" % line)
    for name in (astra_sim.SYSTEM, astra_sim.REMOTE):
        found.update(json.loads(files[name]))
    return found


class Format(unittest.TestCase):
    def test_keys_and_types_are_those_of_its_parsers(self) -> None:
        files, _ = astra_sim.export([run_of(machine(4))])
        system = json.loads(files[astra_sim.SYSTEM])
        sources = system.pop("gpusig")["sources"]
        self.assertEqual(set(system), set(sources))
        for key, value in system.items():
            kind = KEYS[key]
            if key.endswith("-implementation"):
                self.assertEqual(len(value), 1)
                self.assertRegex(value[0], "^%s$" % kind)
            elif isinstance(kind, str):
                self.assertRegex(value, "^(%s)$" % kind)
            else:
                self.assertIsInstance(value, kind)
        self.assertNotIn(system["preferred-dataset-splits"], (0, None))  # it divides by that
        found = exported(machine(4))
        self.assertIn(found["topology"], TOPOLOGIES)
        self.assertEqual(found["npus_count"], "4")

    def test_units_are_those_of_its_sources(self) -> None:
        found = exported(machine(4, 1.0, step=2e-6))
        self.assertAlmostEqual(float(found["bandwidth"]), 100.0)  # 2^30 byte/s
        self.assertEqual(found["local-mem-bw"], 2000.0)  # 1e9 byte/s
        self.assertEqual(found["peak-perf"], 700.0)  # of bf16, TFLOP/s
        # Whole; 1e9 byte/s and ns.
        self.assertEqual((found["remote-mem-bw"], found["remote-mem-latency"]), (54, 8000))
        # The fastest of large ones is direct, two steps of 2 us, each of two links and an endpoint-delay.
        self.assertEqual(found["endpoint-delay"], 10)
        self.assertAlmostEqual(float(found["latency"]), 995.0, delta=1)

    def test_every_value_says_what_it_is_from(self) -> None:
        files, notes = astra_sim.export([run_of(machine())])
        comments = re.findall(r"^# ([a-z_]+): (\w+)", files[astra_sim.NETWORK], re.M)
        self.assertEqual([name for name, _ in comments], ["topology", "npus_count", "bandwidth", "latency"])
        sources = [word for _, word in comments]
        for name in (astra_sim.SYSTEM, astra_sim.REMOTE):
            sources += [own.split()[0] for own in json.loads(files[name])["gpusig"]["sources"].values()]
        words = {word.rstrip(":,") for word in sources}
        self.assertLessEqual(words, {"measured", "derived", "assumed", "default"})
        self.assertIn("micro/memory/memory_triad_bandwidth", files[astra_sim.SYSTEM])
        self.assertIn("±1.0 %", files[astra_sim.SYSTEM])
        self.assertIn("reduce-scatter-implementation", notes[0])  # that was not measured

    def test_a_name_with_a_line_break_stays_in_its_comment(self) -> None:
        exported(machine())


class Topology(unittest.TestCase):
    def test_it_is_what_explains_the_rates(self) -> None:
        for devices in (3, 4, 8, 16):
            for topology in ("Switch", "FullyConnected"):
                sends = astra_sim.spreads(topology, devices)
                self.assertEqual(exported(machine(devices, sends))["topology"], topology)
        for devices in (4, 8, 16):  # three in a ring are a mesh
            found = exported(machine(devices, astra_sim.spreads("Ring", devices), 0.5))
            self.assertEqual(found["topology"], "Ring")
        self.assertEqual(exported(machine(2))["topology"], "FullyConnected")

    def test_links_that_are_none_are_approximated_and_named(self) -> None:
        for signature in (machine(8, 1.0, lowest=0.25), machine(8, 4.0), machine(8, 1.0, 0.5)):
            files, notes = astra_sim.export([run_of(signature)])
            self.assertIn("topology: [ Switch ]", files[astra_sim.NETWORK])
            self.assertIn("approximated by a Switch", notes[0])
        self.assertIn("bandwidth: [ 50 ]", files[astra_sim.NETWORK])  # while all send

    def test_slower_engines_are_named(self) -> None:
        signature = machine(2)
        pairs = signature["programs"]["micro/peer_matrix"]["results"]["pairs"]
        rate = 30.0 * (1 << 30)
        pairs.append(dict(pairs[0], variant="engine", median=rate, lowest=rate, highest=rate))
        files, notes = astra_sim.export([run_of(signature)])
        self.assertIn("bandwidth: [ 100 ]", files[astra_sim.NETWORK])
        self.assertIn("copy engines reach 32.2 GB/s between devices", notes[0])

    def test_hops_are_those_of_its_algorithms(self) -> None:
        self.assertEqual(astra_sim.hops("Ring", "ring", 8), 14)
        self.assertEqual(astra_sim.hops("Switch", "ring", 8), 28)
        self.assertEqual(astra_sim.hops("Ring", "direct", 8), 8)
        self.assertEqual(astra_sim.hops("Ring", "halvingDoubling", 8), 2 * (1 + 2 + 4))
        self.assertEqual(astra_sim.hops("FullyConnected", "halvingDoubling", 8), 6)


class Missing(unittest.TestCase):
    def refused(self, signature: Json, words: str) -> None:
        with self.assertRaises(BadNumbers) as told:
            astra_sim.export([run_of(signature)])
        self.assertEqual(told.exception.code, 77)
        self.assertIn(words, str(told.exception))

    def test_what_it_cannot_do_without_is_one_line(self) -> None:
        self.refused(machine(1), "is of one device")
        for gone, words in (
            ("micro/memory/memory_triad_bandwidth", "measure micro/memory"),
            ("collectives/", "measure collectives/device_allreduce"),
        ):
            signature = machine()
            signature["metrics"] = {k: v for k, v in signature["metrics"].items() if not k.startswith(gone)}
            self.refused(signature, words)
        for key in ("pairs", "fitted"):
            signature = machine()
            del signature["programs"]["micro/peer_matrix"]["results"][key]
            self.refused(signature, "measure micro/peer_matrix")
        signature = machine()
        signature["programs"]["micro/peer_matrix"]["results"]["pairs"][0]["pairs"] = 20
        self.refused(signature, "all 56 pairs")
        signature = machine()
        signature["devices"]["a:0"]["name"] = "another"
        self.refused(signature, "several kinds")

    def test_a_large_allreduce_is_no_latency(self) -> None:
        signature = machine()
        signature["metrics"] = {k: v for k, v in signature["metrics"].items() if "size=1024" not in k}
        self.refused(signature, "--size 32")

    def test_without_gemms_and_copies_from_the_host_its_defaults_are_taken_and_named(self) -> None:
        signature = machine()
        signature["metrics"] = {
            k: v for k, v in signature["metrics"].items() if not k.startswith(("gemm/", "micro/copy_path"))
        }
        found = exported(signature)
        self.assertEqual((found["roofline-enabled"], found["memory-type"]), (0, "NO_MEMORY_EXPANSION"))
        self.assertNotIn("peak-perf", found)
        _, notes = astra_sim.export([run_of(signature)])
        self.assertIn("roofline-enabled", notes[-1])

    def test_several_runs_are_refused(self) -> None:
        with self.assertRaises(BadNumbers) as told:
            astra_sim.export([run_of(machine())] * 2)
        self.assertEqual(told.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
