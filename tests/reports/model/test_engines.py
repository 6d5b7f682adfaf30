# SPDX-License-Identifier: BSD-3-Clause
"""Copy engines and their laws, recovered from what the programs say of simulated machines."""

from __future__ import annotations

import itertools
import unittest

from tests.reports.model.simulated import LARGE, far_off, keys_of, measured

from reports.model import engines
from reports.model.measured import Measured

PROGRAMS = ("micro/copy_engines", "micro/copy_queue")
ORDERS = ("ready_first", "enqueued_first", "stream_first", "round_robin")
COUNTS = (1, 2, 3, 5)


def of_machine(**keys: object) -> Measured:
    words = dict({"copy_ns": 2500, "engine_bandwidth": 4e9}, **keys)
    return measured(LARGE + "".join("%s = %s\n" % item for item in words.items()), 1, PROGRAMS)


class Engines(unittest.TestCase):
    def test_laws(self) -> None:
        for number, (count, order) in enumerate(itertools.product(COUNTS, ORDERS)):
            sticky, priority = number // 2 % 2, (number + number // 4) % 2
            switch = (0, 700)[number % 3 == 0]
            with self.subTest(count=count, order=order, sticky=sticky, priority=priority, switch=switch):
                of = of_machine(
                    copy_engines=count,
                    engine_order=order,
                    engine_sticky=sticky,
                    engine_priority=priority,
                    engine_switch_ns=switch,
                    jitter_sigma=0.002,
                )
                keys, missing = keys_of(of, engines.keys, copy_ns=2500)
                found = {name: key.value for name, key in keys.items()}
                self.assertEqual(found.get("engine_order"), order, missing)
                self.assertEqual(found.get("engine_priority"), priority, missing)
                self.assertEqual((found["copy_engines"], found["host_engines"]), (count, 0))
                self.assertEqual(far_off(keys, {"engine_switch_ns": switch}), [])
                if count == 1:
                    self.assertIn("one engine", missing["engine_sticky"])
                else:
                    self.assertEqual(found.get("engine_sticky"), sticky)

    def test_engines_of_the_hosts_link(self) -> None:
        for count in (1, 2, 3):
            of = of_machine(copy_engines=7, host_engines=count, engine_sticky=1)
            keys, _ = keys_of(of, engines.keys)
            found = [keys[name].value for name in ("copy_engines", "host_engines", "engine_sticky")]
            self.assertEqual(found, [7, count, 1])

    def test_engines_that_no_device_reports_are_counted(self) -> None:
        for count in (1, 3):
            of = of_machine(copy_engines=count)
            del of.device["copy_engines"]
            keys, _ = keys_of(of, engines.keys)
            self.assertEqual((keys["copy_engines"].value, keys["host_engines"].value), (count, 0))
            self.assertIn("micro/copy_engines", keys["copy_engines"].source)

    def test_more_engines_than_streams_hide_their_laws(self) -> None:
        keys, missing = keys_of(of_machine(copy_engines=14), engines.keys)
        self.assertEqual({n: k.value for n, k in keys.items()}, {"copy_engines": 14, "host_engines": 0})
        self.assertIn("not known", missing["engine_sticky"])
        self.assertIn("not measured", missing["engine_order"])
        self.assertIn("not measured", missing["engine_priority"])
        self.assertIn("switch_time", missing["engine_switch_ns"])

    def test_no_engines(self) -> None:
        of = measured(LARGE + "copy_engines = 0\n", 1, ("micro/copy_path",))
        keys, missing = keys_of(of, engines.keys)
        self.assertEqual({n: k.value for n, k in keys.items()}, {"copy_engines": 0})
        self.assertEqual(set(missing.values()), {"the device has no copy engines"})

    def test_nothing_measured(self) -> None:
        keys, missing = keys_of(measured(LARGE, 1, ("micro/copy_path",)), engines.keys)
        self.assertEqual(set(keys), {"copy_engines"})
        self.assertEqual(len(missing), 5)


if __name__ == "__main__":
    unittest.main()
