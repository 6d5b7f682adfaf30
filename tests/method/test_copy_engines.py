# SPDX-License-Identifier: BSD-3-Clause
"""micro/copy_engines against simulated machines whose engines are known: how many answer, whether streams
keep them, and how many copies are in flight, whatever limits them and in whichever order they are taken."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import unittest
from pathlib import Path
from typing import Dict, List, Optional

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin") / "micro" / "copy_engines"
JITTER = 0.05
STREAMS = 8
# A link limits all copies together, or each engine its own.
SHARED, OWN = "engine_bandwidth=400e9", "engine_bandwidth=4e9"
ORDERS = ("ready_first", "enqueued_first", "stream_first", "round_robin")


def cases(
    *keys: str, directions: str = "up,down", devices: str = "0", seed: int = 1, size: str = "64M"
) -> List[dict]:
    """The cases on a machine with these keys, which simulates time alone."""
    big = ("data=none", "memory_bytes=64G", "host_memory_bytes=64G")
    device = "sim:default?%s:%s" % (",".join((*big, *keys)), devices)
    options = ["--device", device, "--direction", directions, "--size", size, "--seed", str(seed)]
    done = subprocess.run(
        [str(PROGRAM), *options, "--format", "json"], capture_output=True, text=True, timeout=60, check=False
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [row for row in rows if row["kind"] == "case"]


def values(case: dict, name: str) -> Dict[Optional[str], float]:
    return {d["variant"]: d["value"] for d in case["derived"] if d["name"] == name}


def engines(case: dict) -> float:
    (found,) = [d for d in case["derived"] if d["name"] == "engines_that_answer"]
    assert found["ci_low"] == found["ci_high"] == found["value"], found
    return found["value"]


class Engines(unittest.TestCase):
    def holds(self, case: dict, count: int, sticky: bool) -> None:
        self.assertEqual(engines(case), count)
        law = "one engine" if count == 1 else "yes" if sticky else "no"
        self.assertEqual(case["facts"]["sticky"], law)
        # Streams that keep engines: those whose number is a multiple of `count` have that of stream 0.
        share = 1 - ((STREAMS - 1) // count if sticky or count == 1 else 0) / STREAMS
        self.assertEqual(values(case, "independent_streams"), {"others": share, "others_rotated": share})

    def test_counts_limits_and_laws(self) -> None:
        for count, sticky, limit, of_host in itertools.product(
            (1, 2, 3, 5), (False, True), (SHARED, OWN), (False, True)
        ):
            of = ["copy_engines=12", "host_engines=%d" % count] if of_host else ["copy_engines=%d" % count]
            with self.subTest(count=count, sticky=sticky, limit=limit, of_host=of_host):
                found = cases(limit, *of, "engine_sticky=%d" % sticky, "jitter_sigma=%g" % JITTER)
                self.assertEqual([c["case"]["direction"] for c in found], ["up", "down"])
                for case in found:
                    self.holds(case, count, sticky)
                    self.assertEqual(case["facts"]["engines_stated"], 12 if of_host else count)

    def test_in_flight_and_rates(self) -> None:
        """Copies end in batches, as many at once as there are engines. Jitter makes the first end of a batch
        earlier and the last later, so that fewer seem to be in flight."""
        for count, limit in itertools.product((1, 2, 3, 5), (SHARED, OWN)):
            for jitter, lowest in ((0.0, 0.995), (JITTER, 0.86)):
                with self.subTest(count=count, limit=limit, jitter=jitter):
                    keys = (limit, "copy_engines=%d" % count, "jitter_sigma=%g" % jitter)
                    (case,) = cases(*keys, directions="up")
                    flights, rates = values(case, "in_flight"), values(case, "rate_share")
                    for k in range(1, STREAMS + 1):
                        batches = math.ceil(k / count)
                        want = min(k, count) if limit == SHARED else k / batches
                        found = flights["streams_%d" % k] / want
                        self.assertTrue(lowest < found < 1.005 + jitter, (k, found))
                        if k > 1:
                            rate = rates["streams_%d" % k] / (1 if limit == SHARED else k / batches)
                            self.assertTrue(lowest < rate < 1.005 + jitter, (k, rate))

    def test_orders(self) -> None:
        for order, sticky in itertools.product(ORDERS, (False, True)):
            with self.subTest(order=order, sticky=sticky):
                keys = ("engine_order=" + order, "engine_sticky=%d" % sticky, "engine_switch_ns=2000")
                for case in cases("copy_engines=3", "jitter_sigma=0.05", "engine_priority=1", *keys):
                    self.holds(case, 3, sticky)

    def test_directions(self) -> None:
        """One engine for each direction of the host's link is two for both directions."""
        keys = ("copy_engines=5", "host_engines=1")
        found = cases(*keys, directions="up,both,local,peer,peers", devices="0-3")
        self.assertEqual([engines(c) for c in found], [1, 2, 5, 5, 5])
        both = found[1]
        self.assertEqual(values(both, "independent_streams")["others"], 1 - 3 / 8)
        self.assertNotIn("sticky", both["facts"])
        self.assertEqual(values(both, "in_flight"), {})

    def test_more_engines_than_streams(self) -> None:
        (case,) = cases("copy_engines=14", directions="up")
        self.assertEqual(engines(case), STREAMS)
        self.assertIn("may be more", case["facts"]["engines_limit"])

    def test_seeds(self) -> None:
        for seed in range(20):
            with self.subTest(seed=seed):
                keys = ("copy_engines=5", "jitter_sigma=0.1", "open_sigma=0.1", "drift_per_s=0.5")
                (case,) = cases(*keys, "engine_sticky=%d" % (seed % 2), directions="down", seed=seed)
                self.holds(case, 5, bool(seed % 2))

    def test_short_copies_that_take_too_long(self) -> None:
        """Short copies that queue until the bulk copy ends: those that wait need not share its engine."""
        (case,) = cases("copy_engines=2", "copy_ns=3e6", directions="up")
        self.assertEqual(engines(case), 2)
        self.assertEqual(set(values(case, "independent_streams").values()), {None})
        self.assertNotIn("sticky", case["facts"])

    def test_what_cannot_be_measured(self) -> None:
        for reason, (case,) in {
            "no copy engines": cases("copy_engines=0", directions="up"),
            "two devices": cases(directions="peer"),
            "three devices": cases(directions="peers", devices="0,1"),
            "16 sources and targets": cases(directions="up", size="4G"),
        }.items():
            self.assertEqual(case["status"], "skipped")
            self.assertIn(reason, case["reason"])


if __name__ == "__main__":
    unittest.main()
