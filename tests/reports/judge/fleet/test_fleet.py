# SPDX-License-Identifier: BSD-3-Clause
"""Outliers of fleets whose truth is known, from values in memory and from folders, and all that is said of
them."""

from __future__ import annotations

import json
import random
import shutil
import unittest
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import fleets
import synthetic
import workplace
from fleets import fleet, judged, name_of
from pairs_records import RATE, pairs
from record_writer import Writer, axis, headline, value

from reports.records import validate
from reports.page import template
from reports.judge.compare.numbers import Failed
from reports.judge.compare.verdict import Settings
from reports.judge.fleet import fleet as answer
from reports.judge.fleet import page
from reports.judge.fleet.fleet import Asked, assess
from reports.judge.fleet.judge import kinds_of
from reports.judge.fleet.nodes import Node
from reports.records.jsonl import Json
from tests import level

try:
    import jsonschema
except ImportError:
    jsonschema = None

TRIALS = level.seeds(10, 25, 200)


def assessed(
    nodes: List[Node], expected: Optional[List[str]] = None, settings: Settings = Settings()
) -> Json:
    return assess(nodes, Asked("fleet", expected, datetime(2026, 5, 2, tzinfo=timezone.utc)), settings)


def state_of(found: Json) -> Dict[str, str]:
    return {node["name"]: node["state"] for node in found["nodes"]}


def changed(node: Node, metric: int, **changes: Any) -> None:
    node.runs = [
        replace(
            run, numbers={**run.numbers, name_of(metric): replace(run.numbers[name_of(metric)], **changes)}
        )
        for run in node.runs
    ]


class Judging(unittest.TestCase):
    def test_one_slow_mechanism_among_32_is_found_and_equal_ones_are_not_called(self) -> None:
        draw, found, wrong, alarms = random.Random(1), 0, 0, 0
        for _ in range(TRIALS):
            mechanism = draw.randrange(len(fleets.METRICS_OF))
            kind = judged(fleet(draw, 32, 0.005, [{mechanism: 1.05}]))
            found, wrong = found + (31 in kind.slow), wrong + any(place != 31 for place in kind.slow)
            alarms += bool(judged(fleet(draw, 32, 0.005)).slow)
        self.assertGreaterEqual(found, level.least(TRIALS, 0.95))
        self.assertLessEqual(wrong, level.most(TRIALS, 0.05))
        self.assertLessEqual(alarms, level.most(TRIALS, 0.05))

    def test_two_bad_nodes_do_not_hide_each_other(self) -> None:
        draw, trials = random.Random(2), level.seeds(5, 10, 20)
        slow = [judged(fleet(draw, 32, 0.005, [{2: 1.05}, {2: 1.06}])).slow for _ in range(trials)]
        found = sum(set(own) >= {30, 31} for own in slow)
        self.assertGreaterEqual(found, level.least(trials, 0.95))

    def test_a_third_of_the_fleet_is_found(self) -> None:
        kind = judged(fleet(random.Random(3), 32, 0.005, [{2: 1.1}] * 10))
        self.assertEqual(sorted(kind.slow), list(range(22, 32)))

    def test_four_nodes_find_only_what_is_far_off(self) -> None:
        draw = random.Random(4)
        self.assertTrue(all(judged(fleet(draw, 4, 0.003, [{6: 2.0}])).slow for _ in range(10)))
        finds = [metric.finds for metric in judged(fleet(draw, 4, 0.003)).metrics]
        self.assertGreater(min(f for f in finds if f), 0.02)

    def test_three_nodes_and_no_number_are_not_judged(self) -> None:
        self.assertIn("too few", judged(fleet(random.Random(5), 3, 0.005)).reason)
        found = assessed(fleet(random.Random(5), 3, 0.005, [{0: 9.0}]))
        self.assertEqual((found["outcome"]["exit"], found["outcome"]["verdict"]), (3, "inconclusive"))
        self.assertEqual(assessed([])["outcome"]["exit"], 3)
        nothing = judged(fleet(random.Random(5), 8, 0.005), Settings(only=("nothing",)))
        self.assertEqual(nothing.reason, "there is no headline number")

    def test_neither_units_nor_the_order_of_nodes_change_anything(self) -> None:
        nodes = fleet(random.Random(6), 16, 0.005, [{1: 1.2}, {4: 1.1}])
        expected = judged(nodes)
        shuffled = random.Random(7).sample(nodes, 16)
        other = judged(shuffled)
        self.assertEqual({nodes[p].name for p in expected.slow}, {shuffled[p].name for p in other.slow})
        for node in nodes:
            for metric in range(fleets.METRICS):
                own = node.runs[0].numbers[name_of(metric)].value or 0.0
                changed(node, metric, value=own * 1024, unit="other")
        scaled = judged(nodes)
        self.assertEqual(expected.slow.keys(), scaled.slow.keys())
        for place, calls in expected.slow.items():
            self.assertEqual([call.metric for call in calls], [call.metric for call in scaled.slow[place]])
            self.assertAlmostEqual(calls[0].cell.z / scaled.slow[place][0].cell.z, 1, 6)

    def test_unusually_fast_is_said_and_is_no_alarm(self) -> None:
        found = assessed(fleet(random.Random(8), 32, 0.005, [{2: 0.9}]))
        self.assertEqual(
            (found["outcome"]["exit"], state_of(found)["node31"], found["exclude"]), (0, "fast", "")
        )
        self.assertTrue(
            any("Unusually fast" in reason and "node31" in reason for reason in found["outcome"]["reasons"])
        )

    def test_a_node_can_be_off_both_ways(self) -> None:
        found = assessed(fleet(random.Random(9), 32, 0.005, [{2: 1.1, 6: 0.9}]))
        node = found["nodes"][-1]
        self.assertEqual(
            (node["state"], bool(node["off"]), bool(node["fast"]), found["exclude"]),
            ("outlier", True, True, "node31"),
        )

    def test_less_than_the_least_effect_is_not_off(self) -> None:
        nodes = fleet(random.Random(10), 32, 0.0005, [{2: 1.015}])
        self.assertEqual(judged(nodes).slow, {})
        self.assertEqual(list(judged(nodes, Settings(least_effect=0.01)).slow), [31])
        noise = {name_of(metric): 0.05 for metric in range(fleets.METRICS)}
        self.assertEqual(judged(nodes, Settings(least_effect=0.01, noise=noise)).slow, {})

    def test_equal_values_have_a_spread_all_the_same(self) -> None:
        nodes = fleet(random.Random(11), 8, 0.0)
        self.assertEqual(judged(nodes).slow, {})
        self.assertEqual(list(judged(fleet(random.Random(11), 8, 0.0, [{2: 1.05}])).slow), [7])

    def test_a_value_known_no_better_than_its_deviation_is_not_called(self) -> None:
        nodes = fleet(random.Random(12), 32, 0.003, [{1: 1.05}])  # mechanism 1 has metric 2 alone
        self.assertEqual(list(judged(nodes).slow), [31])
        own = nodes[-1].runs[0].numbers[name_of(2)].value or 0.0
        changed(nodes[-1], 2, low=own * 0.9, high=own * 1.1)
        self.assertEqual(judged(nodes).slow, {})

    def test_a_fraction_that_may_be_negative_is_a_difference(self) -> None:
        nodes = fleet(random.Random(13), 12, 0.003)
        draw = random.Random(14)
        for place, node in enumerate(nodes):
            changed(
                node,
                0,
                value=draw.gauss(0, 0.004) - 0.5 * (place == 3),
                unit="",
                better="higher",
                scale="difference",
            )
        call = assessed(nodes)["nodes"][3]["off"][0]
        self.assertEqual((call["scale"], round(call["change"], 1)), ("difference", -0.5))
        self.assertEqual(answer.off_text(call)[:13], "metric 0 0.50")


class Missing(unittest.TestCase):
    def test_a_value_that_most_have_is_missed(self) -> None:
        nodes = fleet(random.Random(20), 12, 0.005)
        changed(nodes[4], 7, value=None, reason="killed")
        found = assessed(nodes)
        self.assertEqual((found["outcome"]["exit"], state_of(found)["node4"]), (3, "unknown"))
        self.assertEqual(
            found["nodes"][4]["lacks"], [{"metric": name_of(7), "label": "metric 7", "reason": "killed"}]
        )

    def test_what_was_measured_on_no_node_is_said_to_be_just_that(self) -> None:
        nodes = fleet(random.Random(21), 12, 0.005)
        for node in nodes:
            changed(node, 7, value=None, unit="", better=None, neutral=True, reason="its case did not run")
        found = assessed(nodes)
        self.assertEqual(found["kinds"][0]["metrics"][7]["reason"], "no node has a value")

    def test_what_no_node_can_measure_is_not_missed(self) -> None:
        nodes = fleet(random.Random(21), 12, 0.005)
        for node in nodes:
            changed(node, 7, value=None, unavailable=True, reason="skipped")
        self.assertEqual(assessed(nodes)["outcome"]["exit"], 0)

    def test_what_was_tried_and_gave_nothing_is_missed_on_however_many_nodes(self) -> None:
        for bad in (1, 6, 9, 11, 12):
            nodes = fleet(random.Random(21), 12, 0.002)
            for node in nodes[:bad]:
                changed(node, 7, value=None, better=None, reason="no valid value: throttled")
            found = assessed(nodes)
            with self.subTest(bad=bad):
                self.assertEqual((found["outcome"]["exit"], found["exclude"]), (3, ""))
                self.assertEqual(
                    [bool(node["lacks"]) for node in found["nodes"]], [True] * bad + [False] * (12 - bad)
                )
                self.assertIn("not or not fully known", found["outcome"]["sentence"])

    def test_what_a_node_was_not_asked_for_or_cannot_have_is_missed_only_beside_others(self) -> None:
        cannot, did_not_run = {"unavailable": True}, {"neutral": True}
        for without, why, missed in (
            (12, did_not_run, False),
            (7, did_not_run, False),  # the budget was enough for it on 5 alone
            (6, did_not_run, True),
            (6, cannot, False),
            (5, cannot, True),
            (1, cannot, True),
            (6, None, False),  # another program on the others
            (5, None, True),
        ):
            nodes = fleet(random.Random(21), 12, 0.002)
            for node in nodes[:without]:
                changed(node, 7, value=None, better=None, reason="none", **(why or {}))
                if why is None:
                    del node.runs[0].numbers[name_of(7)]
            found = assessed(nodes)
            with self.subTest(without=without, why=why):
                self.assertEqual(found["outcome"]["exit"], 3 if missed else 0)
                self.assertEqual(bool(found["nodes"][0]["lacks"]), missed)
                self.assertEqual(found["nodes"][11]["lacks"], [])

    def test_the_worst_of_the_runs_says_why_a_value_is_missing(self) -> None:
        nodes = fleet(random.Random(21), 12, 0.002)
        for node in nodes:
            changed(node, 7, value=None, reason="its case did not run", neutral=True)
        node = nodes[0]
        other = Node("", "", list(node.runs))
        changed(other, 7, neutral=False, reason="no valid value: throttled")
        node.runs = [*node.runs, *other.runs]
        found = assessed(nodes)
        self.assertEqual([name for name, state in state_of(found).items() if state == "unknown"], ["node0"])

    def test_zero_has_no_ratio_and_another_unit_none_either(self) -> None:
        nodes = fleet(random.Random(22), 12, 0.005)
        changed(nodes[0], 0, value=0.0)
        changed(nodes[1], 1, unit="byte")
        reasons = [assessed(nodes)["nodes"][place]["lacks"][0]["reason"] for place in (0, 1)]
        self.assertIn("not above 0", reasons[0])
        self.assertIn("in byte", reasons[1])

    def test_neighbours_are_not_compared(self) -> None:
        nodes = fleet(random.Random(23), 12, 0.005, [{0: 2.0}])
        for metric in range(2):
            changed(nodes[-1], metric, contended=True)
        found = assessed(nodes)
        self.assertEqual(state_of(found)["node11"], "unknown")
        self.assertIn("others used the machine", found["nodes"][-1]["lacks"][0]["reason"])
        for node in nodes:
            for metric in range(2):
                changed(node, metric, contended=True)
        self.assertEqual(state_of(assessed(nodes))["node11"], "outlier")

    def test_a_wrong_result_is_off_and_another_failed_case_unknown(self) -> None:
        for count in (12, 2):  # of two nodes no number is judged
            nodes = fleet(random.Random(44), count, 0.003)
            wrong = Failed("micro/memory", "host", True, 2, "wrong result: word 7")
            error = Failed("micro/launch", "host", False, 1, "no memory")
            nodes[1].runs = [replace(run, failed=(error, wrong)) for run in nodes[1].runs * 2]
            found = assessed(nodes)
            self.assertEqual((found["outcome"]["exit"], found["exclude"]), (1, "node1"))
            self.assertEqual(
                found["outcome"]["sentence"],
                "1 of %d nodes is an outlier: node1 (4 wrong results of micro/memory)." % count,
            )
            said = page.table(found)
            self.assertIn("micro/memory on host: wrong result: word 7, and 3 more cases", said)
            self.assertIn("micro/launch on host: no memory, and 1 more case", said)
        self.assertIn("2 nodes are too few", " ".join(found["outcome"]["reasons"]))
        nodes = fleet(random.Random(44), 12, 0.003)
        nodes[1].runs = [replace(run, failed=(error,)) for run in nodes[1].runs]
        found = assessed(nodes)
        self.assertEqual((found["outcome"]["exit"], found["exclude"], found["unknown"]), (3, "", "node1"))
        self.assertIn("of 12 nodes 1 is not or not fully known", found["outcome"]["sentence"])
        self.assertIn("micro/launch on host: no memory", page.table(found))

    def test_expected_nodes_that_are_not_there(self) -> None:
        nodes = fleet(random.Random(24), 12, 0.005)
        found = assessed(nodes, ["node%d" % place for place in range(1, 15)])
        self.assertEqual(
            [node["name"] for node in found["nodes"] if node["state"] == "missing"],
            ["node12", "node13", "node14"],
        )
        self.assertEqual((found["outcome"]["exit"], found["unknown"]), (3, "node[12-14]"))
        self.assertIn("Not expected: node0.", found["outcome"]["reasons"])

    def test_kinds_are_judged_alone_and_said(self) -> None:
        nodes = fleet(random.Random(25), 20, 0.005, [{0: 3.0}] * 8)
        for node in nodes[12:]:
            node.runs = [replace(run, kind="another") for run in node.runs]
        found = assessed(nodes)
        self.assertEqual((found["outcome"]["exit"], [kind["nodes"] for kind in found["kinds"]]), (0, [12, 8]))
        self.assertIn("2 kinds", found["outcome"]["reasons"][0])
        self.assertRegex(
            found["outcome"]["sentence"],
            r"^No outliers: none of 20 nodes is worse than the others of its kind by more than [0-9.]+ %; "
            "2 kinds are not compared with each other.$",
        )
        self.assertEqual(len(kinds_of(nodes[:14], Settings())), 2)
        self.assertEqual(assessed(nodes[:14])["outcome"]["exit"], 3)  # two nodes of a kind are not judged


class Undecided(unittest.TestCase):
    """With many outliers none stands out, and that is no answer."""

    def halves(self, count: int, bad: int, slower: float, spread: float = 0.005) -> List[Node]:
        slow = dict.fromkeys(range(len(fleets.METRICS_OF)), slower)
        return fleet(random.Random(count + bad), count, spread, [slow] * bad)

    def test_up_to_half_of_a_fleet_is_named_or_undecided(self) -> None:
        for count, bad in ((8, 3), (8, 4), (12, 5), (12, 6), (17, 7), (17, 8), (32, 12), (32, 16)):
            for slower in (1.25, 2.0):
                found = assessed(self.halves(count, bad, slower))
                named = {name for name, state in state_of(found).items() if state == "outlier"}
                slow = {"node%d" % place for place in range(count - bad, count)}
                with self.subTest(count=count, bad=bad, slower=slower):
                    if found["outcome"]["exit"] == 1:
                        self.assertEqual(named, slow)
                        continue
                    self.assertEqual(found["outcome"]["exit"], 3)
                    group = found["kinds"][0]["groups"][0]
                    self.assertEqual((set(group["slow"]), group["others"]), (slow, count - bad))
                    said = found["outcome"]["sentence"]
                    self.assertIn(
                        "%d of %d nodes are slower than the other %d" % (bad, count, count - bad), said
                    )
                    self.assertNotIn("ok", state_of(found).values())

    def test_more_than_half_is_never_clean(self) -> None:
        for count in (8, 12, 17):
            for bad in range(count // 2 + 1, count):
                found = assessed(self.halves(count, bad, 1.5))
                self.assertEqual(found["outcome"]["exit"], 3, (count, bad))

    def test_what_else_the_groups_differ_in_is_named(self) -> None:
        nodes = self.halves(12, 5, 2.0)
        for place, node in enumerate(nodes):
            own = {
                **node.runs[0].provenance,
                "driver: device driver": "535" if place >= 7 else "550",
                "kernel: kernel": "6.8" if place % 2 else "6.1",
                "firmware: vbios": "96.%d" % place,  # of each its own, which tells nothing
            }
            node.runs = [replace(node.runs[0], provenance=own)]
        found = assessed(nodes)
        differs = found["kinds"][0]["groups"][0]["differs"]
        self.assertEqual(differs, [{"field": "driver: device driver", "slow": ["535"], "others": ["550"]}])
        said = " ".join(found["outcome"]["reasons"])
        self.assertIn("node[7-11]. They also differ in driver: device driver (535; of the others 550).", said)
        self.assertIn("The fleet alone cannot show which are right", said)

    def test_a_number_that_spreads_too_far_decides_nothing(self) -> None:
        found = assessed(fleet(random.Random(40), 12, 0.1))
        self.assertEqual((found["outcome"]["exit"], found["kinds"][0]["groups"]), (3, []))
        self.assertIn("may deviate by more than 20 % unseen: metric ", found["outcome"]["sentence"])
        self.assertTrue(all(node["hidden"] for node in found["nodes"]))
        quiet = assessed(fleet(random.Random(40), 12, 0.003))
        self.assertEqual((quiet["outcome"]["exit"], quiet["unknown"]), (0, ""))
        self.assertRegex(quiet["outcome"]["sentence"], r"none of 12 nodes is worse .* by more than [0-9.]+ %")

    def test_the_least_effect_is_what_may_be_hidden_where_it_is_more(self) -> None:
        asked = Settings(least_effect=0.3)
        found = assessed(fleet(random.Random(40), 12, 0.1), settings=asked)
        self.assertIn("may deviate by more than 30 % unseen: metric ", found["outcome"]["sentence"])
        self.assertIn("may be worse than the others by more than 30\u00a0%", page.render(found))

    def test_clean_is_not_said_of_a_node_that_is_20_percent_slow_in_one_number(self) -> None:
        draw, clean = random.Random(41), 0
        for count, bad in ((4, 1), (8, 1), (12, 2), (12, 6)):
            for spread in (0.01, 0.02, 0.03, 0.05):
                for _ in range(TRIALS):
                    nodes = fleet(draw, count, spread, [{1: 1.2}] * bad, metrics=(2,))
                    clean += assessed(nodes)["outcome"]["exit"] == 0
        self.assertEqual(clean, 0)

    def test_clean_is_not_said_of_a_node_that_is_fast_where_all_others_may_be_slow(self) -> None:
        draw, clean, trials = random.Random(46), 0, 0
        for count, bad in ((8, 7), (12, 10), (12, 11), (20, 19)):
            for spread in (0.001, 0.005, 0.02):
                for _ in range(TRIALS):
                    nodes = fleet(draw, count, spread, [{1: 1.2}] * bad, metrics=(2,))
                    found = assessed(nodes)
                    clean, trials = clean + (found["outcome"]["exit"] == 0), trials + 1
        self.assertLessEqual(clean, level.most(trials, 0.01))
        self.assertRegex(found["outcome"]["sentence"], "on node0 metric 2 may be [0-9]+ % higher, so the")

    def test_a_number_that_too_few_have_for_a_verdict_is_missed_on_all(self) -> None:
        nodes = fleet(random.Random(42), 4, 0.001)
        changed(nodes[0], 3, value=None, reason="killed")
        found = assessed(nodes)
        self.assertEqual((found["outcome"]["exit"], set(state_of(found).values())), (3, {"unknown"}))

    def test_numbers_of_two_versions_are_not_mixed(self) -> None:
        nodes = fleet(random.Random(43), 12, 0.003)
        for node in nodes[6:]:
            changed(node, 2, case="by kernel:units/8", value=1.0)
        found = assessed(nodes)
        self.assertEqual(found["outcome"]["exit"], 3)
        self.assertEqual([node["off"] for node in found["nodes"]], [[]] * 12)
        lacks = [node["lacks"] for node in found["nodes"]]
        self.assertEqual([len(own) for own in lacks], [0] * 6 + [1] * 6)
        self.assertIn("it is of another case: by kernel:units/8", lacks[6][0]["reason"])

    def test_runs_of_a_node_that_are_of_two_cases_have_no_common_value(self) -> None:
        nodes = fleet(random.Random(44), 12, 0.003)
        old = nodes[3].runs[0]
        changed(nodes[3], 2, case="by kernel:units/8")
        nodes[3].runs = [nodes[3].runs[0], replace(old, name="again")]
        self.assertIn("its case differs between runs", assessed(nodes)["nodes"][3]["lacks"][0]["reason"])


class Around(unittest.TestCase):
    def with_fields(self, count: int, fields: Dict[int, Dict[str, str]], usual: Dict[str, str]) -> List[Node]:
        nodes = fleet(random.Random(30), count, 0.005, [{2: 1.2}])
        for place, node in enumerate(nodes):
            own = {**node.runs[0].provenance, **usual, **fields.get(place, {})}
            node.runs = [replace(node.runs[0], provenance=own)]
        return nodes

    def test_what_differs_from_the_majority_stands_beside_the_outlier(self) -> None:
        nodes = self.with_fields(
            12,
            {11: {"driver: device driver": "535"}, 3: {"links: device PCIe width": "8"}},
            {"driver: device driver": "550", "links: device PCIe width": "16"},
        )
        for place, node in enumerate(nodes):  # what tells boards and jobs apart is no drift
            own = {
                **node.runs[0].provenance,
                "machine: device uuid": "GPU-%d" % place,
                "links: device bus": "%d" % (place // 7),
                "environment: SLURM_JOB_ID": "%d" % (place // 10),
                "machine: memory bytes": str(10**11 + place % 2 * 10**8),
            }
            node.runs = [replace(node.runs[0], provenance=own)]
        found = assessed(nodes)
        self.assertEqual(
            found["nodes"][11]["drift"],
            [{"field": "driver: device driver", "value": "535", "majority": "550", "nodes": 11}],
        )
        self.assertEqual(
            [(one["field"], one["others"][0]["nodes"]) for one in found["kinds"][0]["drift"]],
            [("driver: device driver", ["node11"]), ("links: device PCIe width", ["node3"])],
        )
        said = page.table(found)
        self.assertRegex(said, r"driver: device driver +535 +550 on 11\n")

    def test_a_device_that_is_missing_is_one_field(self) -> None:
        eight = {"driver: device %d driver" % device: "550" for device in range(8)}
        nodes = self.with_fields(12, {3: {"machine: devices": "7"}}, {"machine: devices": "8", **eight})
        del nodes[3].runs[0].provenance["driver: device 7 driver"]
        self.assertEqual([one["field"] for one in assessed(nodes)["kinds"][0]["drift"]], ["machine: devices"])
        del nodes[4].runs[0].provenance["driver: device 7 driver"]
        nodes[4].runs[0].provenance["machine: device 7 name"] = "a name"  # it is there, and tells no driver
        self.assertIn(
            "driver: device 7 driver", [one["field"] for one in assessed(nodes)["nodes"][4]["drift"]]
        )

    def test_a_field_without_a_majority_splits_the_fleet(self) -> None:
        nodes = self.with_fields(
            12, {place: {"kernel: kernel": "6.1"} for place in range(6)}, {"kernel: kernel": "6.8"}
        )
        self.assertEqual(
            assessed(nodes)["kinds"][0]["split"],
            [
                {
                    "field": "kernel: kernel",
                    "values": [{"value": "6.1", "nodes": 6}, {"value": "6.8", "nodes": 6}],
                }
            ],
        )

    def test_clocks_that_disagree_and_machines_that_are_there_twice(self) -> None:
        nodes = fleet(random.Random(31), 8, 0.005)
        for place, started in enumerate(
            ["2026-05-01T12:00:0%d+00:00" % place for place in range(6)]
            + ["2026-05-09T12:00:00.123456Z", "2026-03-01T12:00:00+02:00"]
        ):
            nodes[place].runs = [replace(nodes[place].runs[0], started=started)]
        nodes[1].runs = [replace(nodes[1].runs[0], provenance=nodes[0].runs[0].provenance)]
        said = " ".join(assessed(nodes)["outcome"]["reasons"])
        self.assertIn("1 node started in the future by the clock here: node6.", said)
        self.assertIn("2 nodes are more than a day from most: node7 and node6", said)
        self.assertIn("node0 and node1 are of the same machine by its host name, node0.", said)

    def test_names_that_slurm_would_not_take(self) -> None:
        nodes = fleet(random.Random(32), 12, 0.005, [{2: 1.2}, {2: 1.2}])
        nodes[-1].name = "x; rm -rf \x1b[2J<b>"
        found = assessed(nodes)
        self.assertEqual(found["exclude"], "node10")
        self.assertTrue(any("Slurm can't be told" in reason for reason in found["outcome"]["reasons"]))
        for text in (page.table(found), page.names(found)):
            self.assertNotIn("\x1b", text)
        try:
            html = page.render(found)
        except template.MissingDependency:
            self.skipTest("skipped: no jinja2")
        self.assertNotIn("<b>]", html)
        self.assertNotIn("\x1b", html)
        self.assertIn("&lt;b&gt;", html)


def run_of(name: str, speed: float, run: str) -> str:
    w = Writer(
        "overlap/novel",
        [headline("%s_%d" % (name, place), "speed", {"depth": place}, "plain") for place in range(4)],
        [axis("depth", "", list(range(4)))],
        run=run,
    )
    for place in range(4):
        own = speed * (1 + place)
        w.case(
            {"depth": place},
            [w.variant("plain", 1e-3)],
            [value("speed", "plain", own, "byte/s", ci_low=own * 0.999, ci_high=own * 1.001)],
        )
    return w.end().text()


class Folders(workplace.Scratch):
    def node(self, name: str, speed: float = 1e9) -> Path:
        folder = self.folder / "fleet" / name
        folder.mkdir(parents=True)
        synthetic.store(folder, run_of("rate", speed, "run of %s" % name))
        self.run_command("build", str(folder))
        return folder

    def nodes(self, count: int, slow: int = 0) -> None:
        draw = random.Random(count)
        for place in range(1, count + 1):
            self.node(
                "n%02d" % place, 1e9 * (1 + draw.uniform(-0.001, 0.001)) / (1.3 if place == slow else 1)
            )

    def fleet(self, *words: str):  # type: ignore[no-untyped-def]
        return self.run_command("--cwd", str(self.folder), "fleet", *words)

    def found(self, *words: str) -> Json:
        code, out, _ = self.fleet("--format", "json", "--html", "", *words)
        found = json.loads(out)
        self.assertEqual(found["outcome"]["exit"], code)
        if jsonschema:
            jsonschema.Draft7Validator(validate.schema("fleet")).validate(found)
        return found

    def test_every_format_and_exit_code(self) -> None:
        self.nodes(9, 7)
        code, out, _ = self.fleet("fleet", "--html", "")
        self.assertEqual((code, out.splitlines()[0][:32]), (1, "1 of 9 nodes is an outlier: n07 "))
        self.assertTrue(all(len(line) <= 80 for line in out.splitlines()))
        self.assertEqual(self.fleet("fleet", "--html", "", "--format", "nodes")[1], "n07\n")
        self.assertEqual(self.fleet("fleet", "--html", "", "--format", "exclude")[1], "--exclude=n07\n")
        (self.folder / "fleet" / "n07").rename(self.folder / "fleet" / "-w n07")
        code, out, err = self.fleet("fleet", "--html", "", "--format", "exclude")
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(
            err, "gpusig: fleet: outliers that are not left out, as Slurm takes no such names: '-w n07'\n"
        )
        shutil.rmtree(self.folder / "fleet" / "-w n07")
        self.assertEqual(self.fleet("fleet", "--html", "", "--format", "exclude")[:2], (0, ""))
        code, out, _ = self.fleet("fleet", "--html", "", "--expect", "n[01-09]")
        self.assertEqual(code, 3)
        self.assertIn("Missing, 1 node: n07", out)
        code, out, err = self.fleet("fleet", "--html", "", "--expect", "n[01-09]", "--format", "exclude")
        self.assertEqual((code, out, err[:29]), (3, "", "gpusig: fleet: Inconclusive: "))
        (self.folder / "names").write_text("n[01-06] # rack 1\nn08\n\nn09\n")
        self.assertEqual(self.fleet("fleet", "--html", "", "--expect", "names")[0], 0)

    def test_what_is_broken_is_named_and_the_rest_goes_on(self) -> None:
        self.nodes(8, 2)
        for name, files in (
            ("empty", {}),
            ("died", {"records.jsonl": "{}\n"}),
            ("cut", {"signature.json": '{"schema": "gpus'}),
            ("other", {"signature.json": '{"schema": "something"}'}),
            ("began", {"plan.json": "{}"}),
        ):
            (self.folder / "fleet" / name).mkdir()
            for file, text in files.items():
                (self.folder / "fleet" / name / file).write_text(text)
        shutil.copytree(self.folder / "fleet" / "n03", self.folder / "fleet" / "copy")
        plan = {"outcomes": {"gemm/efficiency": {"status": "killed"}}}
        (self.folder / "fleet" / "n04" / "plan.json").write_text(json.dumps(plan))
        found = self.found("fleet")
        states, reasons = state_of(found), {node["name"]: node["reason"] for node in found["nodes"]}
        self.assertEqual((found["outcome"]["exit"], found["exclude"]), (1, "n02"))
        self.assertEqual(
            {name for name, state in states.items() if state == "unknown"},
            {"empty", "died", "cut", "other", "began", "n03"},
        )
        for name, text in (
            ("empty", "no run in it"),
            ("died", "./gpusig report"),
            ("cut", "not JSON"),
            ("other", "not a signature of gpusig"),
            ("began", "before anything was measured"),
            ("n03", "the same measurement as copy"),
        ):
            self.assertIn(text, reasons[name], name)
        self.assertIn(
            "gemm/efficiency killed", " ".join(next(n for n in found["nodes"] if n["name"] == "n04")["notes"])
        )

    def test_runs_of_a_node_and_files_as_nodes(self) -> None:
        self.nodes(6)
        one = self.folder / "fleet" / "n01"
        for number in (1, 2, 3):
            shutil.copytree(self.folder / "fleet" / "n02", one / ("run-%d" % number))
            synthetic.store(one / ("run-%d" % number), run_of("rate", 1e9, "one-%d" % number))
            self.run_command("build", str(one / ("run-%d" % number)))
        for path in one.glob("*.*"):
            path.unlink()
        (one / "repeats.json").write_text(json.dumps({"repeats": 3, "done": ["run-1", "run-2"]}))
        found = self.found("fleet")
        self.assertEqual(found["nodes"][0]["runs"], 2)
        self.assertEqual(found["nodes"][0]["notes"], ["left out: fleet/n01/run-3 is not complete"])
        (self.folder / "files").mkdir()
        for place in range(2, 7):
            own = self.folder / "fleet" / ("n%02d" % place) / "signature.json"
            shutil.copy(own, self.folder / "files" / ("m%d.json" % place))
        self.assertEqual(list(state_of(self.found("files"))), ["m2", "m3", "m4", "m5", "m6"])
        self.assertEqual(
            list(state_of(self.found("fleet/n02", "fleet/n03/signature.json", "fleet/n04"))),
            ["n02", "n03", "n04"],
        )

    def between(self, rate: Callable[[int, int], float]) -> None:
        """The network of the nodes n01 to n06, with the report that makes the folder look like a node."""
        folder = self.folder / "fleet" / "between"
        folder.mkdir(exist_ok=True)
        synthetic.store(folder, pairs(6, rate, hosts=["n%02d" % place for place in range(1, 7)]).text())
        self.run_command("build", str(folder))

    def test_a_node_that_is_slow_between_nodes_is_off(self) -> None:
        self.nodes(6)
        self.between(lambda a, b: RATE)
        found = self.found("fleet")
        self.assertEqual(
            (
                found["outcome"]["verdict"],
                len(found["nodes"]),
                found["between"]["pairs"],
                found["between"]["links"],
            ),
            ("no outlier", 6, 15, []),
        )
        self.between(lambda a, b: RATE / 4 if 2 in (a, b) else RATE)
        found = self.found("fleet")
        self.assertEqual(
            (found["outcome"]["exit"], found["exclude"], state_of(found)["n03"]), (1, "n03", "outlier")
        )
        self.assertEqual(found["outcome"]["sentence"], "1 of 6 nodes is an outlier: n03 (between nodes).")
        self.assertEqual(
            found["outcome"]["reasons"][:1],
            ["Between nodes, everything that n03 sends and receives is slow."],
        )
        self.assertEqual((len(found["between"]["links"]), found["between"]["rounds"]), (5, 5))
        self.assertIn("everything that it sends and receives between nodes is slow", self.fleet("fleet")[1])
        self.assertIn(
            "Between nodes, everything that n03 sends and receives is slow.",
            (self.folder / "fleet.html").read_text(),
        )

    def test_a_slow_link_is_named_and_makes_no_node_off(self) -> None:
        self.nodes(6)
        self.between(lambda a, b: RATE / 4 if (a, b) == (0, 4) else RATE)
        found = self.found("fleet")
        self.assertEqual(
            (found["outcome"]["exit"], found["exclude"], set(state_of(found).values())), (1, "", {"ok"})
        )
        self.assertEqual(
            found["outcome"]["sentence"],
            "Between nodes, the link of n01 and n05 is slow (6.25 GB/s, 0.25 "
            "of the usual rate). No node is an outlier in its own numbers.",
        )
        code, out, _ = self.fleet("fleet", "--html", "")
        text = " ".join(out.split())
        self.assertEqual(code, 1)
        self.assertIn(
            "Between nodes 15 pairs of 6 nodes in 5 rounds; usual 25 GB/s one way and 1.50 µs.", text
        )
        self.assertEqual(text.count("the link of n01 and n05 is slow"), 1)

    def test_wrong_usage_is_one_line(self) -> None:
        (self.folder / "nothing").mkdir()
        for words in (
            (),
            ("gone",),
            ("nothing",),
            ("nothing", "--expect", "n[2-1]"),
            ("nothing", "--effect", "2"),
            ("nothing", "--format", "xml"),
            ("a\0b",),
            ("nothing", "--what"),
        ):
            code, out, err = self.fleet(*words)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), words)


class Page(unittest.TestCase):
    @level.only_all
    def test_a_thousand_nodes_fit(self) -> None:
        nodes = fleet(random.Random(40), 1000, 0.01, [{0: 1.5}] * 150)
        try:
            html = page.render(assessed(nodes))
        except template.MissingDependency:
            self.skipTest("skipped: no jinja2")
        self.assertLess(len(html.encode()), 3_000_000)
        self.assertIn("node850", html)
        self.assertNotIn("<script", html)


if __name__ == "__main__":
    unittest.main()
