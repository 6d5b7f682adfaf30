# SPDX-License-Identifier: BSD-3-Clause
"""Advice on chunks of a bulk copy: on simulated devices it is what a search over all chunks finds, whatever
the order in which engines take copies; and the page says what advise/advise.h says."""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Dict, Tuple

import workplace

from reports.signature.chunks import CHUNKS, IN_VAIN, KEEP, NO_CHUNKS, YIELDS, advised, text_of, ways_of
from reports.records.jsonl import Json

BIN = Path(os.environ.get("GPUSIG_BIN") or workplace.ROOT / "bin")
PROGRAM = BIN / "micro/copy_chunks"
NAMES = {"nothing": "chunks", "event": "chunks_event", "value": "chunks_value", "kernel": "chunks_kernel"}
ONCE = ("--min-samples", "1", "--max-samples", "1", "--warm-up", "0", "--check", "off")

ORDERS = ("ready_first", "enqueued_first", "stream_first", "round_robin")
# ns: of a copy, a launch, an event, a value.
COSTS = ((2500, 2000, 100, 200), (700, 5000, 900, 400), (6000, 300, 2000, 3000))
BLOCK_NS = 500
MODEL = """like = quiet
data = none
memory_bytes = 64G
host_memory_bytes = 64G
"""


def records(model: str, *options: str) -> str:
    """The records of copies up on a simulated device of this model."""
    with tempfile.NamedTemporaryFile("w", suffix=".sim") as file:
        file.write(MODEL + model)
        file.flush()
        words = [PROGRAM, "--device", "sim:" + file.name, "--direction", "up", "--format", "json", *options]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if done.returncode != (3 if options else 0):  # one sample is too few
        raise AssertionError("%s: %s" % (model, done.stderr.decode()))
    return done.stdout.decode()


def seconds_of(case: Json) -> Dict[str, float]:
    return {v["name"]: v["median_s"] for v in case["variants"]}


def searched(model: str) -> Dict[str, Tuple[int, float]]:
    """By yield the smallest of all chunks that keeps the rate, of bulks of 128 of them, and its wait, where a
    small copy passes before half of the bulk is through."""
    sizes = sorted({round(262144 * 1.05**i / 4096) * 4096 for i in range(80)})
    found: Dict[str, Tuple[int, float]] = {}
    text = records(model, *ONCE, "--bulk", "4G", "--chunk", ",".join(map(str, sizes)))
    rows = map(json.loads, text.splitlines())
    for case in sorted((row for row in rows if row["kind"] == "case"), key=lambda c: -c["case"]["chunk"]):
        t = seconds_of(case)
        for name, variant in NAMES.items():
            if t["whole"] / t[variant] >= KEEP and t["wait_" + variant] < t["wait_whole"] / 2:
                found[name] = case["case"]["chunk"], t["wait_" + variant]
    return found


@unittest.skipUnless(PROGRAM.exists(), "nothing is built")
class Searching(workplace.Scratch):
    def compares(self, model: str) -> Json:
        """The advice from a default run, after a comparison with the best of all chunks."""
        signature = self.signature(records(model)).json
        (way,) = ways_of(signature)
        advice = way["advice"]
        self.assertEqual(advice, advised(way))
        if advice["verdict"] == NO_CHUNKS:
            return advice
        best = searched(model)
        self.assertEqual(advice["verdict"], CHUNKS if best else IN_VAIN)
        if best:
            chunk, wait_s = best[advice["yield"]]
            self.assertAlmostEqual(advice["chunk_byte"] / chunk, 1, delta=0.1)
            self.assertAlmostEqual(advice["wait_s"] / wait_s, 1, delta=0.1)
            self.assertLess(advice["wait_s"], 1.1 * min(wait for _, wait in best.values()))
        return advice

    def test_one_engine_in_every_order_is_advised_what_a_search_finds(self) -> None:
        for order in ORDERS:
            for copy, launch, event, value in COSTS:
                with self.subTest(order=order, copy=copy, launch=launch):
                    times = "copy_ns = %d\nlaunch_ns = %d\nevent_ns = %d\nvalue_ns = %d\n" % (
                        copy,
                        launch,
                        event,
                        value,
                    )
                    advice = self.compares("copy_engines = 1\nengine_order = %s\n" % order + times)
                    self.assertEqual(advice["verdict"], CHUNKS)
                    if order in ("ready_first", "round_robin"):
                        self.assertEqual(advice["yield"], "nothing")
                    else:
                        takes = {"event": event, "value": value, "kernel": launch + BLOCK_NS}
                        self.assertEqual(advice["yield"], min(takes, key=lambda name: takes[name]))

    def test_several_engines_need_no_chunks_unless_streams_share_one(self) -> None:
        for engines in (2, 3, 5):
            for order in ORDERS:
                with self.subTest(engines=engines, order=order):
                    model = "copy_engines = %d\nengine_order = %s\n" % (engines, order)
                    self.assertEqual(self.compares(model)["verdict"], NO_CHUNKS)
        for engines in (2, 3, 5):
            with self.subTest(engines=engines):
                model = "copy_engines = %d\nengine_order = stream_first\n" % engines
                for shared in ("engine_sticky = 1\n", "host_engines = 1\n"):
                    self.assertEqual(self.compares(model + shared)["verdict"], CHUNKS)

    def test_a_switch_between_streams_costs_the_small_copy(self) -> None:
        model = "copy_engines = 1\nengine_order = stream_first\nengine_switch_ns = 9000\n"
        plain = self.compares(model.replace("9000", "0"))
        self.assertGreater(self.compares(model)["wait_s"], plain["wait_s"] + 8e-6)

    def test_waits_that_were_none_advise_nothing(self) -> None:
        """Kernels take so long to start that the bulk has ended when the small copy is ready."""
        signature = self.signature(records("copy_engines = 1\nlaunch_ns = 2e7\n")).json
        self.assertEqual(ways_of(signature), [])
        self.assertIn("flagged", signature["programs"]["micro/copy_chunks"]["summary"])


def random_way(rng: random.Random) -> Json:
    """Engines that no law describes."""
    points = []
    for name in YIELDS:
        chunk, gap_s = 65536 << rng.randrange(3), rng.uniform(1e-6, 2e-5)
        for _ in range(rng.randrange(6)):
            seconds = chunk / 2e10
            kept = rng.uniform(0.98, 1.02) * seconds / (seconds + gap_s)
            waits = {"wait_s": rng.uniform(0.5, 2) * seconds, "whole_wait_s": rng.uniform(1e-4, 1e-3)}
            points.append({"yield": name, "chunk_byte": chunk, "rate_kept": kept, **waits})
            chunk *= rng.choice((2, 4))
    ends = {"whole_wait_s": rng.choice((1e-5, 1e-3)), "idle_wait_s": 9e-6}
    return {"direction": "down", "small_byte": 4096, "bulk_byte": 1 << 28, **ends, "points": points}


class Random(unittest.TestCase):
    def test_whatever_was_measured_chunks_keep_the_rate_and_shorten_the_wait(self) -> None:
        rng, verdicts = random.Random(7), set()
        for _ in range(300):
            way, keep = random_way(rng), rng.choice((0.5, 0.9, KEEP))
            found = advised(way, keep)
            verdicts.add(found["verdict"])
            if found["verdict"] == CHUNKS:
                self.assertGreaterEqual(found["rate_kept"], keep)
                self.assertLess(found["wait_s"], way["whole_wait_s"])
                self.assertEqual(found["chunk_byte"] % 4096, 0)
                self.assertIn(found["yield"], YIELDS)
        self.assertEqual(verdicts, {NO_CHUNKS, CHUNKS, IN_VAIN})


class Telling(unittest.TestCase):
    WAY = {"small_byte": 4096, "bulk_byte": 1 << 30}
    WAITS = {"whole_wait_s": 0.041, "idle_wait_s": 5e-6}

    def test_what_to_do_is_a_sentence(self) -> None:
        best = {"chunk_byte": 8 << 20, "yield": "kernel", "wait_s": 2e-4, "rate_kept": 0.97}
        best.update(smallest=False, larger=False)
        self.assertEqual(
            text_of(self.WAY, dict(self.WAITS, verdict=CHUNKS, **best)),
            "copy in chunks of 8 MiB with an empty kernel between: a copy of 4 KiB waits 200 µs instead of "
            "41 ms behind a copy of 1 GiB, and the bulk loses 3.0 %",
        )
        far = dict(self.WAITS, verdict=CHUNKS, **dict(best, larger=True))
        self.assertIn("chunks of 8 MiB (extrapolated) with", text_of(self.WAY, far))
        best.update({"yield": "nothing", "smallest": True})
        text = text_of(self.WAY, dict(self.WAITS, verdict=CHUNKS, **best))
        self.assertIn("of 8 MiB or less back to back:", text)
        self.assertIn("no need of chunks", text_of(self.WAY, dict(self.WAITS, verdict=NO_CHUNKS)))
        self.assertIn("waits 41 ms behind", text_of(self.WAY, dict(self.WAITS, verdict=IN_VAIN)))


if __name__ == "__main__":
    unittest.main()
