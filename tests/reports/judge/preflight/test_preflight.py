# SPDX-License-Identifier: BSD-3-Clause
"""The judging of a preflight: nodes with a known fault, and how often healthy and slow ones are called
bad."""

from __future__ import annotations

import copy
import json
import math
import random
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, List

from reports.judge.compare.numbers import BadNumbers
from reports.records.jsonl import Json
from reports.judge.preflight import answer, devices, node, outcome, reference, speed, state, threshold, usage

ROOT = Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "tests" / "reproduction"))
import preflight as simulation
from tests import level

GIB = 1 << 30
LINK = "kind=PCIe to=host generation=5 generation_max=5 lanes=16 lanes_max=16 read=busy"
NVLINK = "kind=NVLink to=switch up=18 down=0 version=4.0 bytes_per_s=2.5e+10"


def gpu(place: int, **more: Any) -> Json:
    found = {
        "spec": "cuda:0-7",
        "backend": "cuda",
        "index": place,
        "name": "H100",
        "bus": "0000:%02x:00.0" % (place + 1),
        "uuid": "GPU-%d" % place,
        "memory_bytes": 70 * GIB,
        "state": {"throttle": {"value": "none", "unit": ""}},
    }
    return dict(found, **more)


def facts(count: int = 8) -> Json:
    found: Json = {}
    for place in range(count):
        found.update(
            {
                "device_%d" % place: "cuda:%d H100" % place,
                "link_%d_0" % place: LINK,
                "link_%d_1" % place: NVLINK,
                "memory_errors_%d" % place: "ecc_uncorrected=0 row_remap_pending=0",
            }
        )
    return found


PROVENANCE = {
    "driver: device 0 driver": "CUDA 12.4",
    "clocks: device 0 sm clock max": "1980000000",
    "ecc: device 0 ecc": "on",
    "power: device 0 power limit": "700",
    "machine: hostname": "a",
    "links: device 0 bus": "0000:01:00.0",
    "gpusig: version": "1",
    "library: device 0 blas": "cuBLASLt 12.4",
}


def usual() -> reference.Reference:
    return reference.Reference(
        "ref",
        "cuda:0-7",
        False,
        8,
        {},
        {},
        ["a"],
        "H100",
        dict(PROVENANCE),
        [gpu(i) for i in range(8)],
        facts(),
        1024.0 * GIB,
        {i: 70.0 * GIB for i in range(8)},
        kinds=["H100"] * 8,
    )


def found(**more: Any) -> node.Node:
    evidence: Json = {
        "node": "n17",
        "device": "cuda:0-7",
        "expect": None,
        "hang": None,
        "hang_is_sure": True,
        "why_none": "",
        "visible_by": "",
        "backends": [{"name": "cuda", "devices": 8, "why": ""}],
        "holders": [],
        "largest": [],
        "programs": [],
        "pci": [
            {"address": "0000:%02x:00.0" % (i + 1), "vendor": "NVIDIA", "class": "0302"} for i in range(8)
        ],
        "left_out": [],
        "host": {"memory_bytes": 1024 * GIB, "memory_available_bytes": 1000 * GIB},
        "busy": {"share": 0.01},
        "elapsed_s": 12.0,
    }
    evidence.update(more)
    return node.Node(
        evidence,
        [gpu(i) for i in range(8)],
        facts(),
        dict(PROVENANCE),
        1024.0 * GIB,
        kinds=["H100"] * 8,
    )


def texts(check: outcome.Check, of: str = outcome.BAD) -> List[str]:
    return [reason.text for reason in check.reasons if reason.outcome == of]


class Devices(unittest.TestCase):
    def test_all_there(self) -> None:
        self.assertEqual(devices.check(found(), usual()).outcome, outcome.OK)

    def test_seven_of_eight_names_the_missing_one(self) -> None:
        one = found()
        del one.devices[3]
        one.evidence["backends"][0]["devices"] = 7
        said = texts(devices.check(one, usual()))
        self.assertEqual(said[0], "7 of 8 devices: GPU-3 is missing")
        self.assertEqual(said[1], "7 of 8 NVIDIA devices on the bus can be opened: not 0000:04:00.0")

    def test_of_another_node_no_board_is_missing_by_name(self) -> None:
        one = found(pci=[])
        one.devices = [gpu(i, uuid="GPU-other-%d" % i) for i in range(7)]
        self.assertEqual(texts(devices.check(one, usual())), ["7 of 8 devices"])

    def test_expect_counts_more_than_the_reference(self) -> None:
        self.assertEqual(texts(devices.check(found(expect=9), usual())), ["8 of 9 devices"])
        self.assertEqual(texts(devices.check(found(expect=8), None)), [])

    def test_another_kind_a_replaced_board_and_less_memory(self) -> None:
        one = found()
        one.kinds[2] = "H100 PCIe"
        one.devices[5]["uuid"] = "GPU-new"
        one.memory_bytes = 960.0 * GIB
        said = devices.check(one, usual())
        self.assertEqual(
            texts(said), ["device 2 is H100 PCIe, and H100 in the reference", "host memory: 960 GiB of 1 TiB"]
        )
        self.assertEqual(said.notes, ["GPU-new is not in the reference: a board was replaced"])

    def test_without_a_reference_the_bus_is_compared_with_the_driver(self) -> None:
        one = found(backends=[{"name": "cuda", "devices": 0, "why": "no libcuda.so.1"}], device="host")
        one.devices = [dict(gpu(0), backend="host", bus="")]
        self.assertEqual(
            texts(devices.check(one, None)),
            ["0 of 8 NVIDIA devices on the bus can be opened: no libcuda.so.1"],
        )
        one.evidence["visible_by"] = "CUDA_VISIBLE_DEVICES=0"
        self.assertEqual(texts(devices.check(one, None)), [])
        display = found(backends=[], pci=[{"address": "0000:05:00.0", "vendor": "AMD", "class": "0300"}])
        self.assertEqual(
            devices.check(display, None).reasons, [], "nobody installs a driver for compute on a display"
        )

    def test_a_driver_that_hangs(self) -> None:
        one = found(hang="the driver does not answer within 10 s", pci=[])
        one.devices = []
        self.assertEqual(texts(devices.check(one, usual())), ["the driver does not answer within 10 s"])
        one.evidence["hang_is_sure"] = False
        self.assertEqual(devices.check(one, usual()).outcome, outcome.UNKNOWN)


class Leftovers(unittest.TestCase):
    def test_a_clean_node(self) -> None:
        self.assertEqual(usage.check(found(), usual()).outcome, outcome.OK)

    def test_who_has_a_device_open(self) -> None:
        one = found(
            holders=[
                {"pid": 4711, "name": "python3", "uid": 1000, "device": "/dev/nvidia3"},
                {"pid": 12, "name": "watcher", "uid": 0, "device": "/dev/nvidia0"},
            ]
        )
        said = usage.check(one, usual())
        self.assertEqual(texts(said), ["process 4711 (python3) has /dev/nvidia3 open"])
        self.assertEqual(texts(said, outcome.UNKNOWN), ["process 12 (watcher) has /dev/nvidia0 open"])

    def test_memory_of_a_device_that_is_in_use(self) -> None:
        one = found()
        one.devices[4]["memory_bytes"] = 30 * GIB
        one.evidence["pci"][0].update(memory_used_bytes=40 * GIB, memory_bytes=80 * GIB)
        self.assertEqual(
            texts(usage.check(one, usual())),
            [
                "device memory in use before the job: 40 GiB of 80 GiB at 0000:01:00.0",
                "device 4 has 30 GiB of free memory, and 70 GiB in the reference",
            ],
        )

    def test_memory_of_the_host_and_who_has_most(self) -> None:
        one = found(largest=[{"pid": 99, "name": "java", "memory_bytes": 300 * GIB}])
        one.evidence["host"].update(memory_available_bytes=400 * GIB, shared_memory_bytes=300 * GIB)
        self.assertEqual(
            texts(usage.check(one, None)),
            [
                "400 GiB of host memory free, at least 512 GiB expected: 300 GiB in files of shared memory "
                "and process 99 (java) "
                "with 300 GiB"
            ],
        )

    def test_a_busy_host_decides_nothing(self) -> None:
        said = usage.check(found(busy={"share": 0.9, "processes": [{"pid": 7, "name": "cc1"}]}), usual())
        self.assertEqual(
            (said.outcome, said.reason),
            (outcome.UNKNOWN, "others use 90 % of the host's cores: process 7 (cc1)"),
        )


class State(unittest.TestCase):
    def check(self, one: node.Node, *factors: str) -> outcome.Check:
        return state.check(one, usual(), factors)

    def test_as_the_reference(self) -> None:
        self.assertEqual(self.check(found()).outcome, outcome.OK)

    def test_a_narrow_link(self) -> None:
        one = found()
        one.links["link_5_0"] = LINK.replace("lanes=16", "lanes=8")
        self.assertEqual(texts(self.check(one)), ["PCIe below its maximum: cuda:5 has PCIe 5 x8 of x16"])
        same = usual()
        same.links = one.links
        self.assertEqual(state.check(one, same, ()).reasons, [], "the reference has the same")

    def test_links_between_devices_that_are_down(self) -> None:
        one = found()
        one.links["link_2_1"] = NVLINK.replace("up=18 down=0", "up=17 down=1")
        self.assertEqual(texts(self.check(one)), ["NVLink down: cuda:2 has 17 of 18 links up"])
        for place in range(8):
            one.links["link_%d_1" % place] = NVLINK.replace(
                "up=18", "up=17"
            )  # alike, and nobody calls one down
        self.assertIn("cuda:0 has 17 links to others up, and 18 in the reference", texts(self.check(one)))

    def test_memory_errors_and_heat(self) -> None:
        one = found()
        one.links["memory_errors_1"] = "ecc_uncorrected=2 row_remap_pending=1"
        one.devices[6]["state"] = {"throttle": {"value": "thermal slowdown", "unit": ""}}
        said = texts(state.check(one, None, ()))
        self.assertEqual(said[0], "device 6 is throttled: thermal slowdown")
        self.assertIn("cuda:1 has 2 uncorrected ECC errors", said[1])

    def test_what_differs(self) -> None:
        one = found()
        one.provenance.update(
            {
                "driver: device 0 driver": "CUDA 12.2",
                "clocks: device 0 sm clock max": "1410000000",
                "power: device 0 power limit": "750",
                "machine: hostname": "b",
                "links: device 0 bus": "0000:99:00.0",
                "gpusig: version": "2",
            }
        )
        del one.provenance["ecc: device 0 ecc"]
        said = self.check(one)
        self.assertEqual(
            sorted(texts(said)),
            [
                "device 0 driver is CUDA 12.2, and CUDA 12.4 in the reference",
                "device 0 sm clock max is 1.41 GHz, and 1.98 GHz in the reference",
            ],
        )
        self.assertEqual(texts(said, outcome.UNKNOWN), ["device 0 ecc is unknown, and on in the reference"])
        self.assertEqual(
            said.notes,
            [
                "device 0 power limit is 750 W, and 700 W in the reference",
                "also differs from the reference: version",
            ],
        )
        self.assertNotIn("driver", " ".join(texts(self.check(one, "driver"))), "it was meant to differ")

    def test_long_values_are_shown_where_they_differ(self) -> None:
        one, cores = found(), "0,2,4," * 20
        key = "driver: device 0 driver"
        reference = usual()
        one.provenance[key], reference.provenance[key] = cores + "6", cores + "8"
        self.assertRegex(
            texts(state.check(one, reference, ()))[0],
            "device 0 driver is ….*4,6, and ….*4,8 in the reference",
        )


RATE = reference.Expected(100.0, "byte/s", "higher", 8, 0.01, 11, reference.FROM_RUNS, label="copy")


def measured(value: float, **more: Any) -> node.Measured:
    return node.Measured(
        "micro/copy_path/up", "cuda:0-7", value, unit="byte/s", better="higher", key="k", **more
    )


class Speed(unittest.TestCase):
    def test_only_worse_is_bad_and_only_after_a_second_try(self) -> None:
        self.assertEqual(speed.judged(measured(150.0), RATE, 10).outcome, outcome.OK)
        self.assertEqual(speed.judged(measured(50.0), RATE, 10, last=False).outcome, speed.AGAIN)
        self.assertEqual(speed.judged(measured(50.0), RATE, 10).outcome, outcome.UNKNOWN)
        self.assertEqual(
            speed.judged(measured(50.0, low=49.0, high=51.0, tries=2, counted=2), RATE, 10).outcome,
            outcome.BAD,
        )

    def test_a_good_try_after_one_that_was_a_little_slow_is_enough(self) -> None:
        self.assertEqual(
            speed.judged(measured(99.5, low=92.0, high=99.5, tries=2, counted=2), RATE, 10).outcome,
            outcome.OK,
        )

    def test_a_number_whose_own_values_reach_from_healthy_to_slow_is_unknown_after_a_second_try(self) -> None:
        time = replace(RATE, unit="s", better="lower")
        for value, low, high, expected in (
            (50.0, 30.0, 99.0, RATE),  # as slow as that, and as fast as the reference
            (50.0, 45.0, 100.0, RATE),
            (99.5, 50.0, 100.0, RATE),  # healthy, and as slow as half
            (99.5, 0.0, 100.0, RATE),
            (200.0, 101.0, 300.0, time),
            (200.0, -5.0, 300.0, time),
            (100.5, 99.0, 125.0, time),
        ):
            one = measured(value, low=low, high=high)
            self.assertEqual(speed.judged(one, expected, 10, last=False).outcome, speed.AGAIN, one)
            for last in (one, replace(one, tries=2), replace(one, tries=2, counted=2)):
                row = speed.judged(last, expected, 10)
                self.assertEqual((row.outcome, row.reason), (outcome.UNKNOWN, speed.SPREAD), last)

    def test_what_spreads_within_a_fifth_is_ok(self) -> None:
        for low, high in ((84.0, 100.0), (84.0, 300.0)):
            self.assertEqual(
                speed.judged(measured(99.5, low=low, high=high), RATE, 10, last=False).outcome, outcome.OK
            )

    def test_a_contended_try_decides_nothing(self) -> None:
        for how in ({"counted": 1}, {"counted": 2, "contended": True}):
            row = speed.judged(measured(50.0, tries=2, **how), RATE, 10)
            self.assertEqual((row.outcome, "contended" in row.reason), (outcome.UNKNOWN, True))

    def test_a_number_whose_noise_hides_a_fifth_is_unknown_where_it_is_within_it(self) -> None:
        noisy = replace(RATE, effect=math.log(1.3))
        row = speed.judged(measured(95.0), noisy, 10)
        self.assertEqual((row.outcome, row.reason), (outcome.UNKNOWN, speed.TOO_NOISY))
        slow = measured(50.0, low=49.0, high=51.0, tries=2, counted=2)
        self.assertEqual(speed.judged(slow, noisy, 10).outcome, outcome.BAD)

    def test_healthy_is_said_with_what_would_have_been_found(self) -> None:
        one = found()
        one.measured = [measured(101.0)]
        expected = replace(usual(), expected={"micro/copy_path/up": replace(RATE, effect=math.log(1.1))})
        check = speed.check(one, expected, speed.rows_of(one, expected))
        self.assertEqual(check.summary, "1 of 1 headline number within noise, which is 10 % at most")

    def test_a_number_of_another_case_is_not_compared(self) -> None:
        row = speed.judged(measured(50.0, tries=2, counted=2, case="new"), replace(RATE, case="old"), 10)
        self.assertEqual(row.outcome, outcome.UNKNOWN)
        self.assertEqual(row.reason, "it is of another case: new, and in the reference old")
        self.assertEqual(speed.judged(measured(100.0, case="new"), RATE, 10).outcome, outcome.OK)

    def test_what_is_allowed_is_the_largest(self) -> None:
        exact = replace(RATE, deviation=0.0)
        self.assertAlmostEqual(speed.allowed(exact, 10), math.log(1.02))
        self.assertAlmostEqual(speed.allowed(replace(exact, effect=0.3), 10), 0.3)
        self.assertAlmostEqual(speed.allowed(replace(exact, worst=0.4), 10), 0.4)
        self.assertGreater(speed.allowed(RATE, 40), speed.allowed(RATE, 1))
        self.assertGreater(speed.allowed(replace(RATE, degrees=4), 10), speed.allowed(RATE, 10))

    def test_a_number_in_another_unit_is_refused(self) -> None:
        expected = usual()
        expected.expected = {"micro/copy_path/up": replace(RATE, unit="s", better="lower")}
        one = found()
        one.measured = [measured(1.0)]
        with self.assertRaises(BadNumbers):
            speed.rows_of(one, expected)

    def test_words(self) -> None:
        expected, one = usual(), found()
        expected.expected = {"micro/copy_path/up": RATE, "micro/copy_path/down": RATE}
        one.measured = [
            measured(80.0, tries=2, counted=2),
            node.Measured("micro/copy_path/down", "cuda:3", None, reason="few"),
        ]
        one.failed = [node.Failure("micro/memory", "cuda:1", "wrong result")]
        said = answer.answer(one, expected, ())
        self.assertEqual((said["outcome"], said["exit"]), ("bad", 1))
        lines = answer.text(said).splitlines()
        self.assertEqual(lines[0], "gpusig preflight: n17: micro/memory on cuda:1: wrong result")
        self.assertTrue(
            lines[1].startswith(
                "gpusig preflight: n17: up is 20 % lower: 80 B/s, and 100 B/s in the reference"
            )
        )
        self.assertEqual(lines[2], "gpusig preflight: n17: unknown: down of cuda:3: few")
        self.assertEqual(answer.text(answer.answer(found(), None, ()), quiet=True), "")

    def test_without_a_reference_nothing_is_judged(self) -> None:
        one = found()
        one.measured = [measured(1.0)]
        said = answer.answer(one, None, ())
        self.assertEqual((said["exit"], said["metrics"][0]["outcome"]), (0, "shown"))
        self.assertIn("only shown", said["checks"][3]["notes"][0])

    def test_the_answer_fits_its_schema(self) -> None:
        try:
            import jsonschema
        except ImportError:
            self.skipTest("skipped: no jsonschema")
        schema = json.loads((ROOT / "reports/schema/preflight.schema.json").read_text(encoding="utf-8"))
        expected, one = usual(), found(hang="the driver does not answer within 10 s")
        expected.expected = {"micro/copy_path/up": RATE}
        one.measured = [measured(80.0, tries=2, counted=2)]
        for value in (answer.answer(one, expected, ()), answer.answer(found(), None, ())):
            jsonschema.validate(json.loads(answer.as_json(value)), schema)


class Threshold(unittest.TestCase):
    def test_against_a_simulation_of_its_own_model(self) -> None:
        """Draws what the integral is over; nothing else of the module is used."""
        draw, trials, numbers = random.Random(7), level.seeds(1000, 4000, 4000), 6
        for runs, degrees in ((1, threshold.KNOWN), (8, 11)):
            k = threshold.factor(numbers, runs, degrees)
            hits = 0
            for _ in range(trials):
                for _ in range(numbers):
                    own = sorted(draw.gauss(0, 1) for _ in range(runs))
                    error = (own[(runs - 1) // 2] + own[runs // 2]) / 2
                    scale = math.sqrt(draw.gammavariate(degrees / 2, 2) / degrees)
                    if all(draw.gauss(0, 1) - error > k * scale for _ in range(threshold.TRIES)):
                        hits += 1
                        break
            self.assertTrue(
                level.least(trials, 0.01) <= hits <= level.most(trials, 0.01), (runs, degrees, hits)
            )

    def test_more_numbers_and_less_knowledge_allow_more(self) -> None:
        self.assertLess(threshold.factor(1, 8, 11), threshold.factor(40, 8, 11))
        self.assertLess(threshold.factor(10, 30, 11), threshold.factor(10, 1, 11))
        self.assertLess(threshold.factor(10, 8, 30), threshold.factor(10, 8, 4))


class Calibration(unittest.TestCase):
    """Nodes of known truth; tests/reproduction/preflight.py prints the whole table."""

    def test_healthy_nodes_are_seldom_bad_and_slow_ones_are_found(self) -> None:
        trials, few = level.seeds(60, 500, 1500), level.seeds(10, 40, 40)
        for noise in (simulation.normal, simulation.heavy):
            healthy, _ = simulation.rates(trials, 13, 8, noise, 1.0)
            self.assertLessEqual(healthy, level.most(trials, 0.012), noise.__name__)
            _, slow = simulation.rates(few, 13, 8, noise, 1.1)
            self.assertGreaterEqual(slow, level.least(few, 0.99), noise.__name__)


class Noise(unittest.TestCase):
    ENTRY = {
        "name": "micro/some/rate",
        "label": "rate",
        "unit": "byte/s",
        "better": "higher",
        "scale": "ratio",
        "runs": 30,
        "of": 30,
        "median": 50.0,
        "by_repeats": {
            "4": {"floor": 0.02, "effect": 0.04, "finds": None},
            "8": {"floor": 0.012, "effect": 0.024, "finds": None},
        },
    }
    FILE = {
        "schema": "gpusig.noise",
        "version": "1.0.0",
        "device": "cuda:0-7: H100",
        "machine": "H100",
        "runs": 30,
    }

    def read(self, value: Json) -> reference.Reference:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "noise.json").write_text(json.dumps(value), encoding="utf-8")
            return reference.read(Path(folder), None, "noise.json") or self.fail()

    def test_of_a_floor(self) -> None:
        got = self.read(dict(self.FILE, metrics=[self.ENTRY]))
        one = got.expected["micro/some/rate"]
        self.assertEqual(
            (got.spec, one.value, one.runs, one.source), ("cuda:0-7", 50.0, 30, reference.FROM_NOISE)
        )
        self.assertAlmostEqual(one.deviation, math.log(1.02) / 1.96 / math.sqrt(0.5))
        self.assertAlmostEqual(one.effect, math.log(1.04))
        self.assertEqual((one.worst, one.label), (0.0, "rate"))
        told = dict(self.ENTRY, deviation=0.003, degrees=29, levels=False)
        one = self.read(dict(self.FILE, metrics=[told])).expected["micro/some/rate"]
        self.assertEqual((one.deviation, one.degrees), (0.003, 29))

    def test_malformed(self) -> None:
        broken = copy.deepcopy(self.ENTRY)
        broken["by_repeats"] = {"four": {"floor": 1}}
        for value in (
            {},
            dict(self.FILE, metrics=3),
            dict(self.FILE, metrics=[broken]),
            dict(self.FILE, metrics=[{}]),
        ):
            with self.assertRaises(BadNumbers):
                self.read(value)


if __name__ == "__main__":
    unittest.main()
