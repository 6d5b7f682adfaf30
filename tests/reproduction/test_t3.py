# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""The tables of docs/reproduction/t3.md, on results that are made up."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import t3_tables as tables
from program_runs import Case, Run
from t3_tables import Campaign
from torus_model import gain_error, near_gain

SUB_LAYERS = ("mega-gpt-2 op", "mega-gpt-2 fc-2", "t-nlg op", "t-nlg fc-2")
SIZES = ("op", "fc-2", "fc-1")
MISS = "**miss**"


def case(
    name: str,
    devices: int = 8,
    threshold: int = 0,
    t3: float = 1.2,
    mca: float = 1.3,
    ideal: float = 1.35,
    read: float = 70.0,
    **derived: float,
) -> Case:
    """A result of 100 bytes; sequential moves 200 + 200, T3-MCA what `read` says and 175."""
    model, layer = name.split()
    times = {v: 1.0 for v in ("gemm_alone", "reduce_scatter_alone", "all_gather_alone", "all_reduce_alone")}
    values = {
        ("S", "t3"): t3,
        ("S", "t3_mca"): mca,
        ("S_ideal", None): ideal,
        ("S_ideal_adding", None): ideal,
        ("adding_gain", "reduce_scatter_adding"): 1.07 if devices == 8 else 1.03,
        ("stagger_gain", "t3_mca_unstaggered"): 1.1,
        ("tracker_most_used", "t3_mca"): 9.0,
        ("tiles_overflowed", "t3_mca"): 0.25,
        ("computing_read_bytes", "gemm_alone"): 1.56 * read,
    }
    for units in (8, 16):
        values |= {
            ("slowdown", f"all_reduce_on_{units}"): 1.41,
            ("slowdown", f"gemm_without_{units}"): 1.1,
            ("S_potential", f"gemm_without_{units}"): 1.18,
        }
    n = devices
    for variant, parts in (
        ("sequential", (read, 100.0, 100.0 * (2 * n - 1) / n, 100.0)),
        ("t3", (read, 100.0 * (n - 1) / n, 100.0 * (n - 2) / n, 100.0 * (n - 1) / n)),
        ("t3_mca", (read, 100.0 * (n - 1) / n, 100.0 * (n - 2) / n, 100.0 * (n - 1) / n)),
    ):
        values |= {(part, variant): value for part, value in zip(tables.SUMS, parts)}
    facts = {
        "m": 10,
        "n": 5,
        "k": 3 + SIZES.index(layer),
        "devices": devices,
        "threshold_used": 0.25,
        "memory_intensity": 0.1,
    }
    seen = {f"{v}_bytes_as_counted": True for v in ("sequential", "t3", "t3_mca", "t3_mca_unstaggered")}
    return Case(
        "",
        {"model": model, "layer": layer, "threshold": threshold},
        "",
        times,
        values | {(k, None): v for k, v in derived.items()},
        facts,
        seen,
    )


def run(cases: list[Case]) -> Run:
    return Run(cases, 1.0, 2.0, 1 << 20, Path("nowhere"))


def campaign(**changes: Run) -> Campaign:
    layers = {n: run([case(name, n) for name in SUB_LAYERS]) for n in (8, 16, 32)}
    sweep = run([case("t-nlg op", threshold=p, mca=1.3 - abs(p - 40) / 100) for p in (0, 5, 40, 100)])
    of = {
        "layers": layers,
        "thresholds": sweep,
        "rings": {n: run([case("mega-gpt-2 op", n)]) for n in (3, 8)},
        "wide": {8: run([case("t-nlg op")])},
        "few": run([case("t-nlg op")]),
    }
    return Campaign(**{**of, **changes})


def rows(lines: list[str], what: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith(f"| {what}")
    ]


class Headline(unittest.TestCase):
    def test_what_is_as_the_paper_has_it_is_reached(self) -> None:
        found = rows(list(tables.headline(campaign())), "T3, geometric mean")
        self.assertEqual([r[1] for r in found], ["8 and 16", "8", "16"])
        self.assertEqual([r[5] for r in found], ["yes", "", ""])

    def test_the_bar_is_for_what_is_gained(self) -> None:
        for t3, verdict in ((1.219, "yes"), (1.221, MISS), (1.181, "yes"), (1.179, MISS)):
            layers = {n: run([case(name, n, t3=t3) for name in SUB_LAYERS]) for n in (8, 16, 32)}
            found = rows(list(tables.headline(campaign(layers=layers))), "T3, geometric mean")
            self.assertEqual(found[0][5], verdict, t3)

    def test_what_is_saved_is_gained(self) -> None:
        self.assertAlmostEqual(gain_error(0.7, 0.8), 0.5)

    def test_a_number_of_two_digits_may_be_met_to_its_last(self) -> None:
        self.assertTrue(near_gain(1.0349, 1.03))
        self.assertFalse(near_gain(1.0351, 1.03))

    def test_a_constant_does_not_pass_numbers_that_are_apart(self) -> None:
        self.assertEqual(tables.best_constant([1.2, 1.2, 1.5])[0], 2)
        self.assertEqual(tables.best_constant([1.2, 1.24, 1.9])[0], 2)

    def test_one_gemm_counts_once(self) -> None:
        layers = {n: run([case(name, n) for name in SUB_LAYERS]) for n in (8, 16, 32)}
        for slow in ("mega-gpt-2 fc-2", "mega-gpt-2 fc-1"):
            layers[8].cases.append(case(slow, t3=0.5))
            for side in "mnk":
                layers[8].cases[-1].facts[side] = 77
        cases = tables.cases_of(campaign(layers=layers), (8,))
        self.assertEqual(sorted(tables.name_of(c) for c in cases if c.facts["m"] == 77), ["mega-gpt-2 fc-2"])

    def test_bytes_are_those_of_all_classes(self) -> None:
        one = case("t-nlg op")
        self.assertAlmostEqual(tables.total(one, "t3_mca"), 70 + 87.5 + 75 + 87.5)
        self.assertAlmostEqual(tables.with_all_gather(one, "t3_mca"), 320 + 175)


class Order(unittest.TestCase):
    def judged(self, name: str, **gains: float) -> list[list[str]]:
        layers = {8: run([*(case(n) for n in SUB_LAYERS[:2]), case(name, **gains)])}
        return rows(list(tables.order(campaign(layers=layers))), "8")

    def test_what_beats_the_ideal_is_named(self) -> None:
        found = self.judged("t-nlg fc-2", mca=1.4)
        self.assertEqual([r[4] for r in found], ["yes", MISS])
        self.assertIn("t-nlg fc-2 (1.400 over 1.350)", found[1][3])

    def test_an_op_layer_may(self) -> None:
        self.assertEqual(
            [(r[2], r[4]) for r in self.judged("t-nlg op", mca=1.4)], [("3 of 3", "yes"), ("2 of 3", "yes")]
        )


class Others(unittest.TestCase):
    def test_traffic_is_compared_exactly(self) -> None:
        found = campaign()
        self.assertEqual({r[5] for r in rows(list(tables.traffic(found)), "8")}, {"yes"})
        wrong = case("mega-gpt-2 op", 8)
        wrong.derived["communication_read_bytes", "t3"] *= 1 + 1e-9
        self.assertEqual(
            [r[5] for r in rows(list(tables.traffic(campaign(rings={8: run([wrong])}))), "8")], [MISS]
        )

    def test_bytes_that_were_not_as_counted_are_a_miss(self) -> None:
        unseen = case("mega-gpt-2 op", 8)
        unseen.mechanism["t3_bytes_as_counted"] = False
        self.assertEqual(
            [r[6] for r in rows(list(tables.traffic(campaign(rings={8: run([unseen])}))), "8")], [MISS]
        )

    def test_the_best_threshold_is_inside(self) -> None:
        found = rows(list(tables.thresholds(campaign())), "t-nlg op")
        self.assertEqual(found[1][1:3] + found[1][5:], ["40 %", "1.300", "yes"])

    def test_a_best_threshold_at_the_end_is_a_miss(self) -> None:
        sweep = run([case("t-nlg op", threshold=p, mca=1 + p / 1000) for p in (0, 5, 40, 100)])
        self.assertEqual(rows(list(tables.thresholds(campaign(thresholds=sweep))), "t-nlg op")[1][5], MISS)

    def test_a_split_is_compared_with_what_the_paper_gives(self) -> None:
        found = rows(list(tables.split(campaign())), "8 of 80")
        expected = [("potential", "yes"), ("all-reduce slower", "yes"), ("GEMM slower", "")]
        self.assertEqual([(r[1], r[5]) for r in found], 2 * expected)

    def test_all_tables_are_written(self) -> None:
        found = campaign()
        for table in (
            tables.sub_layers,
            tables.bytes_moved,
            tables.stagger,
            tables.tracker,
            tables.readings,
            tables.cost,
        ):
            with self.subTest(table=table.__name__):
                lines = [line for line in table(found) if line.startswith("|")]
                self.assertGreater(len(lines), 2)
                self.assertEqual(len({line.count("|") for line in lines}), 1)


if __name__ == "__main__":
    unittest.main()
