# SPDX-License-Identifier: BSD-3-Clause
"""The section of collectives/pairs and what a fleet reads of it: which links and nodes are called slow, and
by what names."""

from __future__ import annotations

import random
import re
import unittest
from typing import Any, List

import workplace
from pairs_records import LATENCY, RATE, pairs
from record_writer import Writer
from reports.judge.fleet import between
from reports.signature.slow_links import Links, Measured, find
from synthetic import store


def slow_node(node: int) -> Writer:
    return pairs(4, lambda a, b: RATE / 4 if node in (a, b) else RATE)


class Sections(workplace.Scratch):
    def found(self, w: Writer) -> List[str]:
        return ["%(head)s %(text)s" % f for f in self.signature(w.text()).json["findings"]]

    def test_equal_links_and_one_a_little_slower_are_no_finding(self) -> None:
        for nodes in (2, 3, 4, 9):
            self.assertEqual(self.found(pairs(nodes)), [])
        self.assertEqual(self.found(pairs(6, lambda a, b: 0.83 * RATE if (a, b) == (0, 3) else RATE)), [])
        self.assertEqual(
            self.found(pairs(6, lambda a, b: 0.75 * RATE if (a, b) == (0, 3) else RATE, noise=0.2)), []
        )

    def test_one_slow_direction_is_named(self) -> None:
        for nodes in (3, 4, 8, 33):
            self.assertEqual(
                self.found(pairs(nodes, lambda a, b: RATE / 4 if (a, b) == (2, 0) else RATE)),
                [
                    "Slow link. From n3 to n1: 6.25 GB/s, 0.25 of the usual rate between these %d nodes "
                    "(messages of 1 MiB)." % nodes
                ],
            )

    def test_one_link_that_is_slow_both_ways_is_one_finding(self) -> None:
        found = self.found(pairs(5, lambda a, b: RATE / 2 if {a, b} == {1, 4} else RATE))
        self.assertEqual(len(found), 1)
        self.assertTrue(
            found[0].startswith("Slow link. Between n2 and n5, both ways: 12.5 GB/s, 0.50 of"), found
        )

    def test_a_slow_node_is_one_finding_also_of_three_and_four(self) -> None:
        for nodes in (3, 4, 5, 16):
            found = self.found(pairs(nodes, lambda a, b: RATE / 4 if 2 in (a, b) else RATE))
            self.assertEqual(
                [f.split(":")[0] for f in found], ["Slow node. Everything that n3 sends and receives"]
            )

    def test_a_node_that_only_receives_slowly(self) -> None:
        found = self.found(pairs(4, lambda a, b: RATE / 4 if b == 1 else RATE))
        self.assertEqual([f.split(":")[0] for f in found], ["Slow node. Everything that n2 receives"])

    def test_two_nodes_have_nothing_to_compare_with(self) -> None:
        w = pairs(2, lambda a, b: RATE / 4 if a else RATE)
        self.assertEqual(self.found(w), [])
        self.assertIn("with 2 nodes there is nothing to compare a link with", self.summary(w))

    def summary(self, *writers: Writer) -> str:
        text = "".join(w.text() for w in writers)
        return self.signature(text).json["programs"]["collectives/pairs"]["summary"]

    def test_rails_are_compared_where_they_differ_in_nothing_else(self) -> None:
        def rail(scope: str, rate: float, **own: Any) -> Writer:
            places = {"same": "on the same rail", "cross": "across rails"}
            place = "between nodes, " + places[scope.split("-", maxsplit=1)[0]]
            return pairs(4, lambda a, b: rate, place=place, own={"scope": scope, **own})

        same, cross = rail("same-rail:2", RATE), rail("cross-rail:2", 0.6 * RATE)
        said = "across rails 0.60 of the bandwidth on the same rail (medians)"
        self.assertIn(said, self.summary(same, cross))
        for one, other in (
            (same, rail("cross-rail", 0.6 * RATE)),
            (same, rail("cross-rail:2", 0.6 * RATE, size=1 << 16)),
            (same, pairs(4)),
        ):
            self.assertNotIn("the same rail (medians)", self.summary(one, other))

    def test_adapters_of_a_name_are_compared_over_nodes(self) -> None:
        adapters = [("0/mlx5_0:1", 20e9), ("1/mlx5_0:1", 24e9), ("2/mlx5_0:1", 22e9), ("2/eth0", 1e6)]
        records = pairs(3, adapters=adapters).text()
        program = self.signature(records).json["programs"]["collectives/pairs"]
        self.assertEqual(
            [(a["name"], a["node"], a["sends"]) for a in program["results"]["cases"][0]["adapters"]],
            [
                ("eth0", "n3", 1e6),
                ("mlx5_0:1", "n1", 20e9),
                ("mlx5_0:1", "n3", 22e9),
                ("mlx5_0:1", "n2", 24e9),
            ],
        )
        self.run_build(records)
        if workplace.HAVE_JINJA2:
            row = re.sub(r"<[^>]*>|\s", "", self.plain_page().split("mlx5_0:1", 1)[1])
            self.assertTrue(row.startswith("320GB/sn122GB/sscope"), row[:40])

    def test_a_slow_node_is_found_on_its_rail(self) -> None:
        w = pairs(
            4,
            lambda a, b: RATE / 4 if 2 in (a, b) else RATE,
            place="between nodes, on the same rail",
            own={"scope": "same-rail"},
        )
        self.assertEqual(
            [f[f.index("between") :] for f in self.found(w)],
            ["between these 4 nodes, on the same rail (messages of 1 MiB)."],
        )

    def test_many_slow_links_are_summarised(self) -> None:
        slow = {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)}
        found = self.found(pairs(12, lambda a, b: RATE / (3 + a) if (a, b) in slow else RATE))
        self.assertEqual(len(found), 1)
        self.assertRegex(
            found[0],
            r"^Slow links\. 6: from n6 to n7: 3\.12 GB/s, 0\.12 of the usual rate between these 12 nodes "
            r"\(messages of 1 MiB\); from n5 to n6: .*; from n4 to n5: .*; from n3 to n4: .*; 2 more\.$",
        )

    def test_pairs_within_a_node_accuse_nobody(self) -> None:
        w = pairs(4, lambda a, b: RATE / 4 if a == 0 else RATE, place="within a node", hosts=["n1"] * 4)
        self.assertEqual(self.found(w), [])
        self.assertIn("6 pairs within a node in 3 rounds", self.summary(w))

    def test_ranks_of_one_host_have_the_rank_in_their_name(self) -> None:
        w = pairs(4, lambda a, b: RATE / 4 if (a, b) == (0, 2) else RATE, hosts=["x", "x", "y", "y"])
        self.assertTrue(self.found(w)[0].startswith("Slow link. From x/0 to y/2: "))

    def test_names_that_were_cut_off_or_are_markup(self) -> None:
        def slow(a: int, b: int) -> float:
            return RATE / 4 if (a, b) == (0, 2) else RATE

        self.assertTrue(
            self.found(pairs(4, slow, hosts=["a", "b"]))[0].startswith("Slow link. From rank 0 to rank 2: ")
        )
        self.run_build(pairs(4, slow, hosts=["<script>x</script>", "\"&'", "c", "d"]).text())
        if workplace.HAVE_JINJA2:
            self.assertNotIn("<script>x", self.page())
            self.assertIn("&lt;script&gt;x", self.page())

    def test_contended_cases_still_tell_links_apart_and_invalid_ones_do_not(self) -> None:
        for flag, count in (("contended", 1), ("oversubscribed", 0)):
            flags = [{"flag": flag, "variant": None, "quantity": None, "reason": "others"}]
            w = pairs(5, lambda a, b: RATE / 4 if (a, b) == (0, 2) else RATE, flags=flags)
            if flag != "contended":
                for derived in w.lines[1]["derived"]:
                    derived["valid"] = False
            self.assertEqual(len(self.found(w)), count, flag)

    def test_results_and_summary(self) -> None:
        w = pairs(
            5,
            lambda a, b: RATE / 4 if (a, b) == (2, 0) else RATE,
            lambda a, b: 9e-6 if (a, b) == (1, 3) else LATENCY,
        )
        program = self.signature(w.text()).json["programs"]["collectives/pairs"]
        case = program["results"]["cases"][0]
        self.assertEqual([(s["from"], s["to"]) for s in case["slow"]], [("n3", "n1")])
        self.assertEqual([(s["a"], s["b"]) for s in case["late"]], [("n2", "n4")])
        self.assertEqual(
            (case["nodes"], case["rounds"], case["slow_nodes"]), (["n1", "n2", "n3", "n4", "n5"], 5, [])
        )
        self.assertEqual(
            program["summary"],
            "10 pairs between nodes in 5 rounds (all pairs need 5); 25 GB/s one way (median); "
            "6.25 GB/s on the slowest pair; 1 direction is clearly slower than usual.",
        )

    @unittest.skipUnless(workplace.HAVE_JINJA2, "no jinja2")
    def test_the_page_has_the_matrix_and_the_table_of_the_slowest(self) -> None:
        self.run_build(pairs(5, lambda a, b: RATE / 4 if (a, b) == (2, 0) else RATE).text())
        self.assertIn("Slow link.", self.first_screen(self.page()))
        self.assertIn("to, one way, GB/s", self.plain_page())
        self.assertIn("16 of 20 directions, the slowest first", self.plain_page())


class SlowLinks(unittest.TestCase):
    def test_one_slow_node_is_found_and_noise_alone_accuses_nobody(self) -> None:
        """Links that differ by 5 % from one to the next, each known within 3 %."""
        draw = random.Random(1)
        alarms = 0
        for trial in range(300):
            nodes = draw.choice((3, 4, 5, 8, 16, 32))
            rates = {(a, b): draw.gauss(1, 0.05) for a in range(nodes) for b in range(nodes) if a != b}
            links = Links({ends: Measured(r, 0.97 * r, 1.03 * r) for ends, r in rates.items()})
            found = find(links)
            alarms += bool(found.slow)
            bad = trial % nodes
            share = (
                0.4 if nodes == 3 else 0.6
            )  # each of the other two has but two links, of which one is slow
            slow = Links(
                {
                    ends: Measured(m.value * share, m.low * share, m.high * share) if bad in ends else m
                    for ends, m in links.bandwidth.items()
                }
            )
            named = [n.node for n in find(slow).nodes]
            self.assertEqual(named, [bad], "of %d nodes" % nodes)
        self.assertLess(alarms, 3)

    def test_few_random_rounds_are_enough_where_a_node_has_two_links(self) -> None:
        ways = ((0, 1), (2, 0), (0, 3), (1, 2), (2, 1), (3, 1))
        links = Links({ends: Measured(*(3 * [0.2 if 0 in ends else 1.0])) for ends in ways})
        found = find(links)
        self.assertEqual([(n.node, n.sends, n.receives) for n in found.nodes], [(0, True, False)])
        self.assertEqual(found.alone, ((2, 0),))

    def test_nothing_measured_is_nothing_found(self) -> None:
        self.assertEqual(find(Links()).slow, ())
        self.assertIsNone(find(Links()).usual_bandwidth)


class Between(workplace.Scratch):
    def test_the_folder_between_and_any_other(self) -> None:
        for name in ("between", "monday"):
            store_in = self.folder / name
            store_in.mkdir()
            store(store_in, slow_node(2).text())
            found = between.read(self.folder)
            self.assertIsNotNone(found)
            assert found is not None
            self.assertEqual(found["records"], name + "/records.jsonl")
            self.assertEqual(found["nodes"], ["n1", "n2", "n3", "n4"])
            self.assertEqual(found["rounds"], 3)
            self.assertEqual(found["slow_nodes"], [{"node": "n3", "sends": True, "receives": True}])
            self.assertEqual(found["slow_links"], [])
            self.assertEqual(len(found["links"]), 6)
            self.assertEqual(
                {(k["a"], k["b"]) for k in found["links"] if k["slow"]},
                {("n1", "n3"), ("n2", "n3"), ("n3", "n4")},
            )
            worst = next(k for k in found["links"] if k["slow"])
            self.assertAlmostEqual(worst["ratio"], 0.25)
            self.assertAlmostEqual(worst["latency_s"], LATENCY)
            (store_in / "records.jsonl").unlink()

    def test_one_slow_link(self) -> None:
        (self.folder / "between").mkdir()
        store(self.folder / "between", pairs(4, lambda a, b: RATE / 4 if (a, b) == (3, 1) else RATE).text())
        found = between.read(self.folder)
        assert found is not None
        self.assertEqual((found["slow_nodes"], found["slow_links"]), ([], [{"a": "n2", "b": "n4"}]))
        link = next(k for k in found["links"] if k["slow"])
        self.assertEqual((link["a_to_b"], link["b_to_a"], link["bandwidth"]), (RATE, RATE / 4, RATE / 4))

    def test_the_latest_run_counts(self) -> None:
        (self.folder / "between").mkdir()
        for name, day, writer in (("b", "01", slow_node(1)), ("a", "09", pairs(4))):
            writer.lines[0]["started"] = "2026-01-%sT00:00:00+00:00" % day
            (self.folder / "between" / (name + ".jsonl")).write_text(writer.text(), encoding="utf-8")
        found = between.read(self.folder)
        assert found is not None
        self.assertEqual((found["records"], found["slow_nodes"]), ("between/a.jsonl", []))

    def test_where_nobody_measured_between_nodes(self) -> None:
        self.assertIsNone(between.read(self.folder))
        self.assertIsNone(between.read(self.folder / "nowhere"))
        (self.folder / "between").mkdir()
        (self.folder / "n1").mkdir()
        (self.folder / "n1" / "records.jsonl").write_text(
            workplace.synthetic.memory().text(), encoding="utf-8"
        )
        one = pairs(2)
        one.lines[0]["job"]["hosts"] = 1
        for text in (
            "",
            "\n",
            "nonsense\n",
            "[]\n",
            '{"program": 5}\n',
            '{"program": "collectives/pairs", "job": 7}\n',
            one.text(),
            slow_node(1).text()[:-200].splitlines()[0] + "\n",
        ):
            (self.folder / "between" / "records.jsonl").write_text(text, encoding="utf-8")
            self.assertIsNone(between.read(self.folder), text[:60])


if __name__ == "__main__":
    unittest.main()
