# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of machines: equal machines are one kind whatever their drivers, and parts of one are another."""

from __future__ import annotations

import unittest
from typing import Any, Dict

from reports.signature.kind import family_of, kind_of, kinds_of_devices

H100: Dict[str, Any] = {"backend": "cuda", "name": "NVIDIA H100 80GB HBM3", "units": 132, "driver": "535.54"}


def signature(*devices: Dict[str, Any], spec: str = "cuda", **fields: Any) -> Dict[str, Any]:
    return {
        "device": spec,
        "devices": {"%s[%d]" % (spec, place): device for place, device in enumerate(devices)},
        "provenance": {"fields": fields},
    }


def simulated(spec: str, model: str, **keys: Any) -> Dict[str, Any]:
    own = {"name": model, "contents": "0" * 16, "keys": keys}
    name = "simulated device (%s)" % spec.partition(":")[2]
    return signature({"backend": "sim", "name": name, "units": keys.get("units", 1), "model": own}, spec=spec)


class Kinds(unittest.TestCase):
    def test_drivers_places_and_counts_make_no_kind(self) -> None:
        one = kind_of(signature(H100))
        self.assertEqual(one, "NVIDIA H100 80GB HBM3, 132 units")
        self.assertEqual(kind_of(signature(dict(H100, driver="580.65", uuid="GPU-2"), spec="cuda:3")), one)
        self.assertEqual(kind_of(signature(*[H100] * 8, spec="cuda:0-7")), one)
        self.assertEqual(len(kinds_of_devices(signature(*[H100] * 8, spec="cuda:0-7"))), 8)

    def test_another_model_and_a_part_of_one_are_others(self) -> None:
        kinds = {
            kind_of(signature(H100)),
            kind_of(signature(dict(H100, name="NVIDIA H200"))),
            kind_of(signature(dict(H100, units=66))),  # an AMD partition keeps the name
            kind_of(signature(H100, dict(H100, units=66), spec="cuda:0-1")),
        }
        self.assertEqual(len(kinds), 4)
        self.assertIn("NVIDIA H100 80GB HBM3, 132 units and NVIDIA H100 80GB HBM3, 66 units", kinds)

    def test_cores_that_are_online_make_no_kind(self) -> None:
        cpu = {"cpu": "Intel(R) Xeon(R) Processor", "cpu_family": "6", "cpu_model": "207"}
        host = {"backend": "host", "name": "host", "units": 8}
        one = kind_of(signature(host, spec="host", **cpu))
        self.assertEqual(one, "Intel(R) Xeon(R) Processor, cpu family 6, cpu model 207")
        self.assertEqual(kind_of(signature(dict(host, units=4), spec="host", **cpu)), one)
        self.assertNotEqual(kind_of(signature(host, spec="host", **dict(cpu, cpu_model="85"))), one)

    def test_a_changed_key_of_a_model_makes_no_kind(self) -> None:
        one = kind_of(simulated("sim:h100", "h100", units=132))
        self.assertEqual(one, "simulated device (h100)")
        self.assertEqual(kind_of(simulated("sim:h100?units=66", "h100", units=66)), one)
        self.assertNotEqual(kind_of(simulated("sim:h200", "h200", units=132)), one)

    def test_records_before_models_were_in_them(self) -> None:
        old = signature({"backend": "sim", "name": "simulated device (h100)", "units": 132}, spec="sim:h100")
        self.assertEqual(kind_of(old), "simulated device (h100)")

    def test_without_a_device_nothing_is_known(self) -> None:
        self.assertEqual(kind_of(signature()), "unknown")

    def test_families(self) -> None:
        found = [
            family_of(s) for s in (signature(H100), simulated("sim:h100", "h100"), signature(spec="host"))
        ]
        self.assertEqual(found, ["gpu", "sim", "host"])


if __name__ == "__main__":
    unittest.main()
