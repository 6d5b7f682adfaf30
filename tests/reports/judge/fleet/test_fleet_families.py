# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that move together, as one: what they find that none of them does alone, and how often that is
false."""

from __future__ import annotations

import math
import random
import unittest
from dataclasses import replace
from statistics import mean, stdev
from typing import Dict, List, Sequence

import fleets
from fleets import FAMILIES, rack

from reports.judge.compare.numbers import Number
from reports.judge.compare.verdict import Settings
from reports.judge.fleet import families
from reports.judge.fleet.fleet import Asked, assess
from reports.judge.fleet.judge import Kind, judge
from reports.judge.fleet.nodes import Node
from reports.records.jsonl import Json
from tests import level

TRIALS = level.seeds(20, 50, 300)
GEMM, LAUNCH = FAMILIES["GEMM rates"], FAMILIES["launch times"]


def judged(nodes: List[Node]) -> Kind:
    return judge("machine", nodes, Settings())


def assessed(nodes: List[Node]) -> Json:
    return assess(nodes, Asked("fleet"), Settings())


def slower(names: Sequence[str], times: float = 1.05) -> Dict[str, float]:
    return dict.fromkeys(names, times)


def without(node: Node, names: Sequence[str]) -> None:
    for name in names:
        node.runs[0].numbers[name] = Number(None, "", None, reason="killed")


class Named(unittest.TestCase):
    def test_what_moves_together(self) -> None:
        for name, unit, label in (
            ("gemm/efficiency/gemm_bf16_flop_rate", "flop/s", "GEMM rates"),
            ("gemm/sustained/gemm_sustained_f32_flop_rate", "flop/s", "GEMM rates"),
            ("gemm/efficiency/peak_f32_flop_rate", "flop/s", "peak rates"),
            ("gemm/split/gemm_dil_k8", "", ""),
            ("micro/memory/memory_triad_bandwidth", "byte/s", "memory bandwidths"),
            ("micro/memory/memory_read_bandwidth@host", "byte/s", "memory bandwidths of host"),
            ("micro/memory/llc_read_bandwidth", "byte/s", "cache bandwidths"),
            ("micro/copy_path/both_ways_engine_bandwidth", "byte/s", "host engine copy rates"),
            ("micro/copy_path/up_kernel_bandwidth", "byte/s", "host kernel copy rates"),
            ("micro/copy_path/local_engine_bandwidth", "byte/s", ""),
            ("micro/copy_path/up_engine_latency_4k", "s", ""),
            ("micro/copy_path/peer_engine_bandwidth", "byte/s", "peer link rates"),
            ("micro/peer_matrix/pair_min_bandwidth", "byte/s", "peer link rates"),
            ("micro/latency/memory_latency", "s", ""),
            ("overlap/trigger/trigger_speedup", "", ""),
        ):
            self.assertEqual(families.family_of(name, unit), label, name)

    def test_one_number_is_no_family(self) -> None:
        found = families.families_of(
            [(GEMM[0], "flop/s", "higher"), ("", "flop/s", "higher"), (LAUNCH[0], "s", "lower")]
            + [(LAUNCH[1], "s", "lower"), (LAUNCH[2], "s", None)]
        )
        self.assertEqual([(one.label, one.metrics) for one in found], [("launch times", (2, 3))])


class Found(unittest.TestCase):
    def test_a_node_of_eight_that_is_5_percent_slow_in_six_rates_is_named(self) -> None:
        for noise in (fleets.independent(fleets.normal), fleets.by_family(fleets.normal)):
            draw, found, others = random.Random(1), 0, 0
            for _ in range(TRIALS):
                kind = judged(rack(draw, 8, 0.005, noise, slower(GEMM)))
                found, others = found + (7 in kind.slow), others + bool(kind.slow.keys() - {7})
            self.assertGreaterEqual(found, level.least(TRIALS, 0.95))
            self.assertLessEqual(others, level.most(TRIALS, 0.05))

    def test_the_sentence_names_the_family_once(self) -> None:
        nodes = rack(random.Random(2), 8, 0.003, fleets.independent(fleets.normal), slower(GEMM, 1 / 0.9))
        found = assessed(nodes)
        off = found["nodes"][7]
        self.assertTrue(off["off"])  # some of the six are off alone, too
        self.assertEqual([call["label"] for call in off["off_families"]], ["6 GEMM rates"])
        self.assertRegex(
            found["outcome"]["sentence"],
            r"^1 of 8 nodes is an outlier: node7 \(6 GEMM rates [0-9.]+ % lower\)\.$",
        )
        self.assertAlmostEqual(off["off_families"][0]["change"], 0.9, 2)
        times = assessed(rack(random.Random(2), 8, 0.003, fleets.independent(fleets.normal), slower(LAUNCH)))
        self.assertRegex(times["outcome"]["sentence"], r"\(4 launch times [0-9.]+ % higher\)\.$")

    def test_one_number_far_off_is_no_family(self) -> None:
        nodes = rack(random.Random(3), 8, 0.003, fleets.independent(fleets.normal), slower(GEMM[:1], 1.5))
        off = assessed(nodes)["nodes"][7]
        self.assertEqual((off["off_families"], [call["metric"] for call in off["off"]]), ([], GEMM[:1]))

    def test_a_noisy_number_does_not_drown_the_others(self) -> None:
        draw, found = random.Random(4), 0
        for _ in range(TRIALS):
            nodes = rack(draw, 8, 0.005, fleets.independent(fleets.normal), slower(GEMM))
            for one in nodes:
                noisy = fleets.rack_numbers({GEMM[0]: 0.2 * draw.gauss(0, 1)})
                one.runs[0].numbers.update(noisy)
            found += 7 in judged(nodes).slow
        self.assertGreaterEqual(found, level.least(TRIALS, 0.95))

    def test_less_than_matters_and_better_are_not_off(self) -> None:
        noise = fleets.independent(fleets.normal)
        self.assertEqual(judged(rack(random.Random(5), 8, 0.0005, noise, slower(GEMM, 1.015))).slow, {})
        found = assessed(rack(random.Random(5), 8, 0.003, noise, slower(GEMM, 0.9)))
        self.assertEqual((found["outcome"]["exit"], found["nodes"][7]["state"]), (0, "fast"))
        self.assertIn("node7 (6 GEMM rates ", " ".join(found["outcome"]["reasons"]))

    def test_a_lone_number_is_found_as_if_there_were_no_families(self) -> None:
        draw, found = random.Random(9), 0
        for _ in range(level.seeds(10, 40, 200)):
            slow = {draw.choice([*GEMM, *fleets.LONE]): draw.choice((1.1, 1.3, 2.0))}
            nodes = rack(draw, 8, 0.005, fleets.mixed(fleets.normal), slow)
            with_families = judged(nodes).slow
            for node in nodes:  # of another program, none belongs to a family
                own = {"x" + name: number for name, number in node.runs[0].numbers.items()}
                node.runs = [replace(node.runs[0], numbers=own)]
            alone = judged(nodes)
            self.assertEqual(alone.families, [])
            for place, calls in alone.slow.items():
                names = {call.metric for call in with_families[place]}
                self.assertLessEqual({call.metric for call in calls}, names)
            found += len(alone.slow)
        self.assertGreater(found, 0)

    def test_finds_is_what_nine_of_ten_are_called_for(self) -> None:
        draw = random.Random(6)
        noise, hits, trials = fleets.by_family(fleets.normal), 0, level.seeds(40, 100, 400)
        kinds = [judged(rack(draw, 8, 0.005, noise)) for _ in range(trials)]
        finds = sorted(kind.families[0].finds or 0.0 for kind in kinds)[trials // 2]
        for _ in range(trials):
            hits += 7 in judged(rack(draw, 8, 0.005, noise, slower(GEMM, 1 + finds))).slow
        self.assertGreaterEqual(hits, level.least(trials, 0.85))
        self.assertLessEqual(hits, level.most(trials, 0.97))

    def test_what_is_missing_takes_no_part_and_is_no_alarm(self) -> None:
        nodes = rack(random.Random(7), 8, 0.003, fleets.independent(fleets.normal), slower(GEMM))
        without(nodes[7], GEMM[:2])
        off = assessed(nodes)["nodes"][7]
        self.assertEqual([call["label"] for call in off["off_families"]], ["4 GEMM rates"])
        without(nodes[7], GEMM[:4])
        self.assertNotIn(7, judged(nodes).families[0].nodes)
        for node in nodes[:5]:
            without(node, GEMM)
        self.assertNotIn("GEMM rates", [family.label for family in judged(nodes).families])

    def test_each_node_is_held_against_all_others(self) -> None:
        draw = random.Random(10)
        for count in (4, 7, 30):
            own = {place: draw.gauss(0, 0.01) + (place == 0) for place in range(count)}
            members = [families.Member(own, dict.fromkeys(own, 0.0), 0.01, 0.02)] * 2
            family = families.Family("launch times", "lower", (0, 1))
            families.judge(family, members, 0.05, 4)
            for place, standing in family.nodes.items():
                rest = [loss for other, loss in own.items() if other != place]
                scale = stdev(rest) * math.sqrt(1 + 1 / len(rest))
                self.assertAlmostEqual(standing.loss, own[place] - mean(rest), 12)
                self.assertAlmostEqual(standing.z * scale / standing.loss, 1, 6)


class FalseAlarms(unittest.TestCase):
    def families_called(self, count: int, noise: fleets.Noise, spread: float, missing: float = 0.0) -> int:
        """Fleets of equal nodes in which a family is called slow."""
        draw = random.Random("%d %g %g" % (count, spread, missing))
        return sum(
            any(judged(rack(draw, count, spread, noise, missing=missing)).slow_families.values())
            for _ in range(TRIALS)
        )

    def test_equal_nodes_whatever_they_have_in_common(self) -> None:
        for tail in (fleets.normal, fleets.student(5)):
            for noise in (fleets.independent(tail), fleets.by_family(tail), fleets.alike(tail)):
                for count in (4, 8, 16):
                    self.assertLessEqual(
                        self.families_called(count, noise, 0.01), level.most(TRIALS, 0.05), count
                    )

    def test_equal_nodes_with_missing_values(self) -> None:
        for count in (8, 16):
            called = self.families_called(count, fleets.independent(fleets.normal), 0.02, 0.2)
            self.assertLessEqual(called, level.most(TRIALS, 0.05))

    def test_p_of_a_family_is_uniform_however_alike_its_numbers_are(self) -> None:
        for alike in (0.0, 0.5, 1.0):
            draw, beyond, trials = random.Random(8), 0, 400
            for _ in range(trials):
                common = [math.sqrt(alike) * draw.gauss(0, 1) for _ in range(8)]
                members = []
                for _ in range(6):
                    own = {p: common[p] + math.sqrt(1 - alike) * draw.gauss(0, 1) for p in range(8)}
                    members.append(families.Member(own, dict.fromkeys(own, 0.0), 1.0, 1e-6))
                family = families.Family("GEMM rates", "higher", tuple(range(6)))
                families.judge(family, members, 0.05, 4)
                beyond += sum(one.p < 0.05 for one in family.nodes.values())
            share = beyond / trials / 8
            self.assertTrue(0.03 < share < 0.06, (alike, share))


if __name__ == "__main__":
    unittest.main()
