# SPDX-License-Identifier: BSD-3-Clause
"""micro/link_contention against simulated machines of which it is known what their devices share: what each
keeps is that of max-min fair rates, computed here, and pairs are called shared or apart as they are."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import subprocess
import unittest
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin") / "micro" / "link_contention"
# Nothing takes time but bytes, and nothing limits them but links.
EXACT = (
    "data=none,copy_engines=4,copy_ns=0,event_ns=0,value_ns=0,jitter_sigma=0,block_jitter_sigma=0,"
    "memory_bandwidth=1e15,engine_bandwidth=1e15"
)
GB = 1e9

Flow = Tuple[float, Set[str]]  # bytes, and what they pass


def rates(flows: Sequence[Set[str]], capacity: Dict[str, float]) -> List[float]:
    """Max-min fair: the resource that leaves its flows the least is filled first."""
    found: List[Optional[float]] = [None] * len(flows)
    left = dict(capacity)
    while None in found:
        open_ = {r: [i for i, f in enumerate(flows) if r in f and found[i] is None] for r in left}
        share, tightest = min((left[r] / len(users), r) for r, users in open_.items() if users)
        for i in open_[tightest]:
            found[i] = share
            for r in flows[i]:
                left[r] -= share
    return [rate or 0.0 for rate in found]


def ends(flows: Sequence[Flow], capacity: Dict[str, float]) -> List[float]:
    """When each flow is done, if all start at once; those of infinitely many bytes never are."""
    left = [volume for volume, _ in flows]
    done = [math.inf] * len(flows)
    now = 0.0
    while True:
        going = [i for i, volume in enumerate(left) if volume > 0]
        if all(math.isinf(left[i]) for i in going):
            return done
        rate = dict(zip(going, rates([flows[i][1] for i in going], capacity)))
        step = min(left[i] / rate[i] for i in going)
        now += step
        for i in going:
            left[i] -= step * rate[i]
            if left[i] < 1e-9:
                left[i], done[i] = 0.0, now


class Machine:
    def __init__(self, devices: int, **keys: float) -> None:
        self.devices = devices
        self.keys = keys
        k = keys
        self.capacity = {"host": k["host_bandwidth"]}
        for i in range(devices):
            self.capacity["in %d" % i] = k["link_down_bandwidth"]
            self.capacity["out %d" % i] = k["link_up_bandwidth"]
            self.capacity["peer %d" % i] = k["peer_bandwidth"]
        for i in range(devices if self.uplinks else 0):
            for way in ("in", "out"):
                self.capacity["uplink %s %d" % (way, self.group(i))] = k["uplink_bandwidth"]

    @property
    def uplinks(self) -> bool:
        return "uplink_devices" in self.keys

    def group(self, device: int) -> int:
        return device // int(self.keys["uplink_devices"])

    def passes(self, device: int, way: str) -> Set[str]:
        uplink = {"uplink %s %d" % (way, self.group(device))} if self.uplinks else set()
        return {"host", "%s %d" % (way, device)} | uplink

    def ring(self, device: int) -> Set[str]:
        to = (device + 1) % self.devices
        across = self.keys.get("uplink_peers") and self.group(device) != self.group(to)
        uplinks = {"uplink out %d" % self.group(device), "uplink in %d" % self.group(to)} if across else set()
        return {"peer %d" % device} | uplinks

    def copies(self, who: Sequence[int], direction: str, volume: float = 1.0) -> List[Flow]:
        ways = {"up": ["in"], "down": ["out"], "both": ["in", "out"]}[direction]
        return [(volume, self.passes(i, way)) for i in who for way in ways]

    def seconds(self, who: Sequence[int], direction: str, ring: float = 0.0) -> List[float]:
        """Seconds of each device that copies, until both directions are done."""
        flows = self.copies(who, direction)
        of_ring = [(ring, self.ring(i)) for i in range(self.devices)] if ring else []
        done = ends([*flows, *of_ring], self.capacity)[: len(flows)]
        ways = len(flows) // len(who)
        return [max(done[i * ways : (i + 1) * ways]) for i in range(len(who))]

    def ring_seconds(self, direction: str) -> List[float]:
        """Seconds of each copy of the ring; direction "": alone."""
        others = self.copies(range(self.devices), direction, math.inf) if direction else []
        ring = [(1.0, self.ring(i)) for i in range(self.devices)]
        return ends([*ring, *others], self.capacity)[: self.devices]

    def measure(self, *more: str, seed: int = 1, size: str = "16M", directions: str = "up,down,both") -> dict:
        text = ",".join([EXACT, *("%s=%.9g" % item for item in self.keys.items())])
        keys = dict(pair.split("=") for pair in [*text.split(","), *more])
        spec = "sim:default?%s:0-%d" % (",".join("%s=%s" % item for item in keys.items()), self.devices - 1)
        options = ["--device", spec, "--size", size, "--direction", directions, "--seed", str(seed)]
        done = subprocess.run(
            [str(PROGRAM), *options, "--format", "json"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return {row["case"]["direction"]: row for row in rows if row["kind"] == "case"}


def machine(devices: int, **changed: float) -> Machine:
    keys = {
        "host_bandwidth": 400 * GB,
        "link_down_bandwidth": 25 * GB,
        "link_up_bandwidth": 20 * GB,
        "peer_bandwidth": 50 * GB,
    }
    return Machine(devices, **{**keys, **changed})


def kept(case: dict, variant: str) -> Dict[str, float]:
    values = [d for d in case["derived"] if d["variant"] == variant and d["name"].startswith("rate_kept")]
    return {d["name"].partition(" ")[2]: d["value"] for d in values}


def verdicts(case: dict, which: str) -> Dict[str, str]:
    found = {}
    for name, text in case["facts"].items():
        if name.startswith("pair_"):
            words = dict(word.split("=") for word in text.split())
            found["+".join(name.split("_")[1:])] = words[which]
    return found


class Shares(unittest.TestCase):
    def near(self, found: float, wanted: float, what: object) -> None:
        self.assertLess(abs(found / wanted - 1), 0.01, (what, found, wanted))

    def holds(self, m: Machine, direction: str, case: dict) -> None:
        everybody = range(m.devices)
        (alone,) = {m.seconds([i], direction)[0] for i in everybody}
        together = m.seconds(everybody, direction)
        with_ring = m.seconds(everybody, direction, math.inf)
        ring, ring_with = m.ring_seconds(""), m.ring_seconds(direction)
        wanted = {
            "all": ([alone] * m.devices, together),
            "all_with_ring": (together, with_ring),
            "ring_with_all": (ring, ring_with),
        }
        for variant, (without, with_) in wanted.items():
            found = kept(case, variant)
            self.near(found[""], max(without) / max(with_), (variant, direction, m.keys))
            for i in everybody:
                self.near(found[str(i)], without[i] / with_[i], (variant, i, direction, m.keys))
        pairs = kept(case, "pairs")
        for i, j in itertools.combinations(everybody, 2):
            a, b = m.seconds([i, j], direction)
            self.near(pairs["%d+%d" % (i, j)], (alone / a + alone / b) / 2, (i, j, direction, m.keys))

    def test_what_devices_share(self) -> None:
        draw = random.Random(50)
        for number in range(12):
            keys: Dict[str, float] = {"host_bandwidth": draw.uniform(60, 300) * GB}
            if number % 4:
                keys["uplink_devices"] = draw.choice((2, 3))
                keys["uplink_bandwidth"] = draw.uniform(20, 60) * GB
                keys["uplink_peers"] = number % 2
            m = machine(draw.choice((2, 3, 5)), **keys)
            with self.subTest(number=number, devices=m.devices, keys=keys):
                for direction, case in m.measure().items():
                    self.assertEqual(case["status"], "ok", case.get("reason"))
                    self.holds(m, direction, case)

    def test_rate_of_all(self) -> None:
        m = machine(4, uplink_devices=2, uplink_bandwidth=30 * GB)
        for direction, bandwidth in (("up", 60 * GB), ("down", 60 * GB), ("both", 120 * GB)):
            (found,) = [
                d
                for d in m.measure(directions=direction)[direction]["derived"]
                if (d["variant"], d["name"]) == ("all", "bandwidth")
            ]
            self.near(found["value"], bandwidth, direction)
            links = {"up": 25, "down": 20, "both": 45}[direction]
            self.near(found["bound"], 4 * links * GB, "links")


class Pairs(unittest.TestCase):
    def test_measurement_and_topology_agree(self) -> None:
        """Jitter and drift leave pairs undecided where there is enough of them, but change no verdict."""
        m = machine(6, uplink_devices=2, uplink_bandwidth=30 * GB)
        wanted = {
            "%d+%d" % (i, j): "shared" if i // 2 == j // 2 else "apart"
            for i, j in itertools.combinations(range(6), 2)
        }
        for seed, jitter in itertools.product(range(10), (0.02, 0.06)):
            noise = ("jitter_sigma=%g" % jitter, "open_sigma=0.05", "drift_per_s=0.5")
            (case,) = m.measure(*noise, seed=seed, directions="up").values()
            with self.subTest(seed=seed, jitter=jitter):
                found = verdicts(case, "measured")
                self.assertEqual(verdicts(case, "topology"), wanted)
                self.assertNotIn("pairs_that_differ", case["facts"])
                self.assertTrue(jitter > 0.02 or found == wanted, found)
                self.assertTrue(all(found[p] in (wanted[p], "undecided") for p in wanted), found)

    def test_they_disagree(self) -> None:
        """Ports with room for both, and memory of the host that all share: 1 / 3 of what two links take."""
        wide = machine(3, uplink_devices=2, uplink_bandwidth=60 * GB)
        narrow = machine(3, uplink_devices=2, uplink_bandwidth=60 * GB, host_bandwidth=30 * GB)
        (case,) = wide.measure(directions="up").values()
        self.assertEqual(case["status"], "ok")
        self.assertEqual(case["facts"]["pairs_that_differ"], "0+1: measured apart, by topology shared")
        (case,) = narrow.measure(directions="up").values()
        self.assertEqual(set(verdicts(case, "measured").values()), {"shared"})
        self.assertEqual(
            case["facts"]["pairs_that_differ"],
            "0+2: measured shared, by topology apart; 1+2: measured shared, by topology apart",
        )

    def test_topology_is_unknown(self) -> None:
        (case,) = machine(2).measure(directions="up").values()
        self.assertEqual(case["facts"]["pair_0_1"], "measured=apart topology=unknown")
        self.assertIn("neither the system nor the driver", case["facts"]["topology_not_known"])
        self.assertNotIn("pairs_that_differ", case["facts"])

    def test_near_the_limit_nothing_is_decided(self) -> None:
        """Both keep 0.9: whatever is called shared or apart is wrong as often as right."""
        m = machine(2, uplink_devices=2, uplink_bandwidth=45 * GB)
        found = [
            verdicts(case, "measured")["0+1"]
            for seed in range(40)
            for case in m.measure("jitter_sigma=0.05", seed=seed, directions="up").values()
        ]
        self.assertLess(len(found) - found.count("undecided"), 8, found)


if __name__ == "__main__":
    unittest.main()
