# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""Updates that change how copy engines are scheduled, on simulated machines: compare names what changed in 20
of 20, and none where nothing changed. The driver states the same number of engines before and after."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Set, Tuple

from reports.judge.compare import gpusig
from reports.judge.compare.comparison import compare
from reports.judge.compare.sides import Side
from reports.judge.compare.verdict import Settings
from reports.records import record_file
from reports.records.jsonl import Json
from reports.signature.signature import build

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin") / "micro"
UPDATES, RUNS = 20, 5
_HOST = ("up", "down")


def _of(ways: Iterable[str], *names: str) -> Set[str]:
    return {"%s_%s" % (way, name) for way in ways for name in names}


class Law(NamedTuple):
    """Keys before and after an update, and the program's headline numbers that are worse then."""

    program: str
    before: str
    after: str
    worse: Set[str]


LAWS: Tuple[Law, ...] = (
    Law(
        "copy_engines",
        "host_engines=2",
        "host_engines=2,engine_sticky=1",
        _of((*_HOST, "peer"), "independent_streams"),
    ),
    Law(
        "copy_queue",
        "host_engines=1,engine_order=ready_first",
        "host_engines=1,engine_order=stream_first",
        _of(_HOST, "wait_share_behind_chunks", "wait_share_with_priority")
        | _of((*_HOST, "peer"), "turn_of_first_ready"),
    ),
    Law(
        "copy_engines",
        "host_engines=3",
        "host_engines=2",
        _of((*_HOST, "both"), "engines_that_answer"),
    ),
    Law(
        "copy_queue",
        "host_engines=1,engine_priority=1",
        "host_engines=1,engine_priority=0",
        _of(_HOST, "wait_share_with_priority"),
    ),
    Law(
        "copy_engines",
        "host_engines=2",
        "host_engines=1",
        _of((*_HOST, "both"), "engines_that_answer") | _of(_HOST, "independent_streams"),
    ),
    Law(
        "copy_queue",
        "host_engines=1,engine_order=ready_first",
        "host_engines=1,engine_order=round_robin",
        _of((*_HOST, "peer"), "turn_of_first_ready"),
    ),
    Law(
        "copy_engines",
        "host_engines=3,engine_sticky=1",
        "host_engines=2,engine_sticky=1",
        _of((*_HOST, "both"), "engines_that_answer") | _of(_HOST, "independent_streams"),
    ),
)


class Updates(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.count = Path(folder.name), 0

    def signature(self, program: str, keys: str, draw: random.Random) -> Json:
        self.count += 1
        path = self.folder / ("%d.jsonl" % self.count)
        noise = "jitter_sigma=%g,open_sigma=0.02,drift_per_s=0.02" % draw.uniform(0.002, 0.05)
        spec = "sim:h100?copy_engines=6,%s,%s,seed=%d:0,1" % (keys, noise, self.count)
        options = ["--device", spec, "--headline", "--seed", str(self.count), "--max-samples", "10"]
        subprocess.run(
            [str(PROGRAMS / program), *options, "--out", str(path)],
            stdout=subprocess.DEVNULL,
            timeout=60,
            check=True,
        )
        return build(record_file.read(path)).json

    def side(self, program: str, keys: str, draw: random.Random) -> Side:
        runs = [gpusig.run_of(self.signature(program, keys, draw), "run-%d" % k, {}) for k in range(RUNS)]
        return Side(keys, runs)

    def answers(self) -> Iterator[Tuple[Law, Json, Json]]:
        """Headline numbers that an update lowers, and the comparisons of it and of equal machines."""
        settings = Settings(factors=("model",))
        for update in range(UPDATES):
            draw = random.Random(update)
            law = LAWS[update % len(LAWS)]
            then = self.side(law.program, law.before, draw)
            yield (
                law,
                compare(then, self.side(law.program, law.after, draw), settings),
                compare(then, self.side(law.program, law.before, draw), settings),
            )

    def test_compare_names_the_changed_law(self) -> None:
        for update, (law, answer, equal) in enumerate(self.answers()):
            with self.subTest(update=update):
                self.assertEqual(set(worse(answer)), law.worse)
                self.assertEqual(answer["outcome"]["verdict"], "regress")
                self.assertEqual(worse(equal), [])
                if law.program == "copy_engines":  # counts; times vary
                    self.assertEqual(equal["outcome"]["verdict"], "no regression")


def worse(answer: Json) -> List[str]:
    found = [row for row in answer["metrics"] if row["verdict"] == "regress"]
    return [row["name"].rpartition("/")[2] for row in found]


if __name__ == "__main__":
    unittest.main()
