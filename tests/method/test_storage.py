# SPDX-License-Identifier: BSD-3-Clause
"""micro/storage against simulated machines of which it is known what reads, copies and GEMMs share: what each
keeps is that of max-min fair rates, computed here."""

from __future__ import annotations

import json
import os
import random
import subprocess
import unittest
from pathlib import Path
from typing import Dict, List, Set

from tests.method.test_link_contention import EXACT, GB, rates

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin") / "micro" / "storage"
COPY = "copy"


def losses(keys: Dict[str, float], into: str, readers: int) -> Dict[str, float]:
    """CIL of the copy and of the reads, of one copy and so many reads that never end."""
    capacity = {
        "storage": keys["storage_bandwidth"],
        "host": keys["host_bandwidth"],
        "down": keys["link_down_bandwidth"],
    }
    copy: Set[str] = {"host", "down"}
    read: Set[str] = {"storage", "host" if into == "pinned" else "down"}
    alone = rates([copy], capacity)[0], sum(rates([read] * readers, capacity))
    both: List[float] = rates([copy] + [read] * readers, capacity)
    return {"copy_with_read": alone[0] / both[0], "read_with_copy": alone[1] / sum(both[1:])}


def measured(keys: Dict[str, float], into: str, readers: int) -> Dict[str, float]:
    changes = ",".join([EXACT, *("%s=%.17g" % item for item in keys.items())])
    done = subprocess.run(
        [
            PROGRAM,
            *("--device", "sim:default?" + changes, "--into", into, "--readers", str(readers)),
            *("--type", "f32", "--chunk", "1M", "--file", "16M"),
            *("--warm-up", "0", "--min-samples", "3", "--max-samples", "3", "--format", "json"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    cases = [r for r in map(json.loads, done.stdout.splitlines()) if r["kind"] == "case"]
    assert cases, done.stderr
    return {d["variant"]: d["value"] for case in cases for d in case["derived"] if d["name"] == "CIL"}


class Storage(unittest.TestCase):
    def test_what_reads_and_copies_keep_is_their_fair_share(self) -> None:
        draw = random.Random(7)
        for number in range(8):
            into = ("pinned", "device")[number % 2]
            readers = draw.randint(1, 6)
            keys = {
                "storage_bandwidth": draw.uniform(2, 30) * GB,
                "host_bandwidth": draw.uniform(10, 40) * GB,
                "link_down_bandwidth": draw.uniform(8, 40) * GB,
            }
            with self.subTest(keys=keys, into=into, readers=readers):
                found = measured(keys, into, readers)
                self.assertAlmostEqual(found["gemm_with_read"], 1.0, delta=0.005)
                self.assertAlmostEqual(found["read_with_gemm"], 1.0, delta=0.005)
                for variant, loss in losses(keys, into, readers).items():
                    self.assertAlmostEqual(found[variant] / loss, 1.0, delta=0.02, msg=variant)


if __name__ == "__main__":
    unittest.main()
