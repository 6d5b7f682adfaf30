# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""The tables of docs/reproduction/ficco.md from made-up cases whose answers are known."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import conccl
import ficco
import ficco_runs
import ficco_tables as tables
from ficco_runs import SHAPES
from program_runs import Case, Run

MISS = "**miss**"


def case(
    id_: str,
    times: dict,
    method: str = "engine",
    derived: dict | None = None,
    reason: str = "",
    **facts: object,
) -> Case:
    axes = {
        "shape": id_,
        "copy-method": method,
        "mflop": 0,
        **{k: facts.pop(k) for k in ("transfer", "size") if k in facts},
    }
    return Case(id_, axes, reason, times, derived or {}, facts)


def schedule_case(
    id_: str,
    method: str = "engine",
    m: int = 64,
    n: int = 32,
    k: int = 16,
    ideal: float = 1.5,
    dil: float = 1.1,
    **seconds: float,
) -> Case:
    """Schedules take what `seconds` says, serial 12, the GEMM 8 and communication 4."""
    times = {
        "serial": 12.0,
        "gemm": 8.0,
        "communication": 4.0,
        "shard-transfers": 28.0,
        "shard-gemms": 8.0,
        **{name.replace("_", "-"): s for name, s in seconds.items()},
    }
    derived = {("S_ideal", None): ideal, **{("DIL_gemm", s): dil for s in tables.FINER}}
    return case(id_, times, method, derived, m=m, n=n, k=k)


class Records(unittest.TestCase):
    def record(self, **more: object) -> dict:
        return {
            "kind": "case",
            "status": "ok",
            "case": {"shape": "8x8x8", "mflop": 0},
            "facts": {"m": 8, "n": 8, "k": 8},
            "variants": [{"name": "serial", "median_s": 2.0}],
            **more,
            "derived": [
                {"name": "S", "variant": "shard", "value": 1.5},
                {"name": "S_ideal", "variant": None, "value": None},
            ],
        }

    def test_shapes_have_their_names_and_other_records_are_left_out(self) -> None:
        lines = [json.dumps(r) for r in ({"kind": "run"}, self.record(), {"kind": "end"})]
        found = ficco_runs.cases_of(lines, {"8x8x8": "g1"})
        self.assertEqual(
            [(c.id, c.times, c.value("S", "shard"), c.reason) for c in found],
            [("g1", {"serial": 2.0}, 1.5, "")],
        )
        self.assertNotIn(("S_ideal", None), found[0].derived)

    def test_a_skipped_case_has_its_reason(self) -> None:
        record = self.record(status="skipped", reason="needs 9 GB", variants=[], facts={})
        self.assertEqual(ficco_runs.cases_of([json.dumps({**record, "derived": []})])[0].reason, "needs 9 GB")

    def test_a_shape_that_is_not_what_the_programs_have_is_refused(self) -> None:
        record = self.record(case={"shape": "g1", "mflop": 0})
        with self.assertRaisesRegex(ValueError, "g1 is .*131072.* here and .8, 8, 8. in the programs"):
            ficco_runs.cases_of([json.dumps(record)])

    def test_sharding_divides_columns_of_b_or_rows(self) -> None:
        self.assertEqual(ficco_runs.sharded("ag-gemm")["g5"], "8192x1024x262144")
        self.assertEqual(ficco_runs.sharded("gemm-rs")["g5"], "8192x8192x32768")
        self.assertEqual(ficco_runs.rows_per_rank()["g5"], "65536x8192x262144")

    def test_constants_that_cite_a_paper(self) -> None:
        text = "# X (arXiv 1.2): why\n# and more\na = 1\nb = 2  # data sheet\nc = 3  # arXiv 1.2, too\n# arXiv 1.2\n\nd = 4\n"
        self.assertEqual(
            ficco_runs.cited(text, ["1.2"]), [("a", "X (arXiv 1.2): why and more"), ("c", "arXiv 1.2, too")]
        )


class Links(unittest.TestCase):
    def test_the_ratio_is_held_against_the_expected_one(self) -> None:
        def of(shard: float) -> Case:
            return case(
                "g1",
                {
                    "shard-transfers": shard,
                    "uniform-fused-1d-transfers": 1.0,
                    "uniform-fused-2d-transfers": 1.0,
                },
            )

        rows = tables.link_rows("mesh", [of(6.9), of(6.8), case("g2", {}, reason="no memory")], 7)
        self.assertEqual([row[-1] for row in rows], ["yes", MISS, ""])
        self.assertEqual(rows[0][6:9], ["7", "6.900", "0.9857"])
        self.assertEqual(rows[2][3], "no memory")
        self.assertEqual({len(row) for row in rows}, {10})


class Schedules(unittest.TestCase):
    def rows(self, *cases: Case) -> list[list[str]]:
        return tables.schedule_rows(list(cases))

    def test_a_finer_schedule_wins_and_the_kernels_best_is_beside_it(self) -> None:
        (row,) = self.rows(
            schedule_case("a", shard=11.0, hetero_fused_1d=8.0), schedule_case("a", "kernel", shard=10.0)
        )
        self.assertEqual(row[4:10], ["1.500", "1.091", "", "1.500", "", ""])
        self.assertEqual(row[10:], ["hetero-fused-1d", "1.200 shard", "yes", ""])

    def test_what_is_above_the_ideal_is_marked(self) -> None:
        (row,) = self.rows(schedule_case("a", shard=10.0, uniform_fused_1d=7.0))
        self.assertEqual(row[6], "1.714!")

    def test_a_miss_says_why(self) -> None:
        hidden = schedule_case("a", shard=8.0, uniform_fused_1d=9.0)
        hidden.times["shard-transfers"] = 7.0
        serial = schedule_case("b", shard=13.0, uniform_fused_1d=14.0, dil=1.4)
        rows = self.rows(hidden, serial)
        self.assertEqual([row[-2] for row in rows], [MISS, MISS])
        self.assertIn(
            "shards on one link are hidden, too; the GEMMs of uniform-fused-1d alone take 1.100", rows[0][-1]
        )
        self.assertIn("take 1.400 of the whole one, more than there is to hide", rows[1][-1])

    def test_a_skipped_shape_has_its_reason(self) -> None:
        rows = self.rows(
            case("a", {}, reason="needs 9 GB"), schedule_case("b", shard=8.0, uniform_fused_1d=7.0)
        )
        self.assertEqual(rows[0][2], "skipped: needs 9 GB")
        self.assertEqual(len(rows[0]), len(rows[1]))

    def test_largest_numbers_do_not_count_speedups_above_their_ideal(self) -> None:
        above = schedule_case("a", ideal=1.2, uniform_fused_1d=7.0, shard=10.0)
        within = schedule_case("b", ideal=1.65, uniform_fused_1d=7.7, shard=10.0)
        text = "\n".join(tables.extremes([("x", [above, within])]))
        self.assertIn("| up to 1.7 | 1.650, b | 0.971 | yes |", text)
        self.assertIn("| up to 1.6 | 1.558, b, uniform-fused-1d by engine | 0.974 | yes |", text)

    def test_the_constant_of_the_times(self) -> None:
        self.assertEqual(
            tables.time_constant([schedule_case("a", n=10), case("b", {}, reason="none")], "n"), 5.0
        )

    def test_same_work_counts_the_furthest_time(self) -> None:
        gather = [schedule_case("a", shard=10.0)]
        exchange = [schedule_case("a", shard=11.0), case("b", {}, reason="needs 9 GB")]
        exchange[0].facts["same_work_as"] = "ag-gemm"
        text = "\n".join(tables.same_work(*([c for c in cases] for cases in (gather, exchange))))
        self.assertIn("1 of 1 cases", text)
        self.assertIn("at most 10.000 %", text)
        self.assertIn("b, needs 9 GB", text)


class Contention(unittest.TestCase):
    def test_the_engine_is_lower_on_one_side_and_above_on_none(self) -> None:
        for cil, good in (
            ([[1.0, 1.0], [1.0, 1.5]], True),
            ([[1.1, 1.0], [1.0, 1.5]], False),
            ([[1.0, 1.0], [1.5, 1.5]], False),
            ([[1.0, 1.2], [1.0, 1.0]], True),
        ):
            self.assertEqual(tables.engine_is_lower(cil), good, cil)

    def test_rows_need_both_methods_and_the_summary_names_misses(self) -> None:
        def of(id_: str, method: str, comm: float) -> Case:
            return case(id_, {}, method, {("CIL_gemm", "x"): 1.0, ("CIL_comm", "x"): comm})

        values = (
            ("a", "engine", 1.0),
            ("a", "kernel", 2.0),
            ("b", "engine", 2.0),
            ("b", "kernel", 1.0),
            ("c", "engine", 1.0),
        )
        cases = [of(*value) for value in values]
        text = "\n".join(tables.contention("op", [("plain", cases)], "x"))
        self.assertIn("| plain | a | 1.000 | 1.000 | 1.000 | 2.000 | yes |", text)
        self.assertIn("Reached in 1 of 2. Not: b (plain).", text)


class Choices(unittest.TestCase):
    def test_the_rule_cuts_k_where_it_is_twice_m_and_can_be_cut(self) -> None:
        for m, k, able, pick in (
            (10, 19, tables.FINER, "hetero-fused-1d"),
            (10, 20, tables.FINER, "uniform-fused-2d"),
            (10, 20, tables.FINER[:3], "hetero-fused-1d"),
        ):
            self.assertEqual(tables.rule_pick(m, k, able), pick)

    def test_the_score_has_what_is_right_and_the_loss_of_the_others(self) -> None:
        hit = schedule_case("a", hetero_fused_1d=8.0, uniform_fused_2d=9.0)
        near = schedule_case(
            "b", hetero_fused_1d=8.08, uniform_fused_1d=8.0, shard=1.0
        )  # shard is none of the four
        far = schedule_case("c", hetero_fused_1d=8.8, uniform_fused_1d=8.0)
        score = tables.rule_score([hit, near, far, case("d", {}, reason="none")])
        self.assertEqual((score["choices"], score["right"]), (3, 2))
        self.assertAlmostEqual(score["mean_loss_when_wrong"], 0.1)

    def test_verdicts_of_a_choice(self) -> None:
        score = {"choices": 100, "right": 81, "mean_loss_when_wrong": 0.15}
        self.assertEqual(tables.choice_row("x", score), ["x", "100", "81, 81 %", "yes", "15.0 %", MISS])
        self.assertEqual(
            tables.choice_row("x", {**score, "right": 80, "mean_loss_when_wrong": 0.14})[3:],
            [MISS, "14.0 %", "yes"],
        )
        self.assertEqual(tables.choice_row("x", score, judged=False)[3:], ["", "", ""])
        self.assertIn("no curves", tables.choice_row("x", {"reason": "no curves"}))


class Concurrent(unittest.TestCase):
    def pair(self, method: str, first: float, second: float, size: str = "1x", bytes_: int = 7) -> Case:
        derived = {
            ("fraction_of_ideal", "gemm_first"): first,
            ("fraction_of_ideal", "transfer_first"): second,
            ("S_ideal", None): 2.0,
        }
        facts = {"transfer": "all-gather", "size": size, "class": "GC-equal", "transfer_bytes": bytes_}
        return case(conccl.MEMORY_BOUND, {"serial": 12.0, "gemm_first": 8.0}, method, derived, **facts)

    def test_the_four_ways(self) -> None:
        fewer = self.pair("engine", 0, 0)
        fewer.times["gemm_first"] = 7.5
        found = conccl.fractions([self.pair("kernel:32", 0.2, 0.4), self.pair("engine", 0.5, 0.9)], [fewer])
        (values,) = found.values()
        self.assertEqual(
            {k: round(v, 9) for k, v in values.items()},
            {conccl.PLAIN: 0.2, conccl.FIRST: 0.4, conccl.ENGINE: 0.5, conccl.FEWER: 0.6},
        )

    def test_a_size_that_did_not_run_on_fewer_units_keeps_the_engines(self) -> None:
        cases = [self.pair("kernel:32", 0.2, 0.4), self.pair("engine", 0.5, 0.9)]
        found = conccl.fractions(cases, [self.pair("engine", 0, 0, bytes_=8)])
        self.assertEqual(next(iter(found.values()))[conccl.FEWER], 0.5)

    def test_size_and_order_are_judged_apart(self) -> None:
        cases = [self.pair("kernel:32", 0.25, 0.95), self.pair("engine", 0.75, 0.75)]
        small_step = conccl.fraction_rows(
            conccl.fractions([self.pair("kernel:32", 0.4, 0.41), cases[1]], []), {}
        )
        self.assertEqual(small_step[1][-1], MISS)
        rows = conccl.fraction_rows(conccl.fractions(cases, []), conccl.class_of(cases))
        self.assertEqual(
            [row[-2:] for row in rows], [["yes", ""], [MISS, "yes"], ["yes", MISS], ["yes", MISS]]
        )
        self.assertEqual(rows[0][3:6], ["none", "25 % (1)", "none"])

    def test_units(self) -> None:
        times = {304: {"a": 1.0, "b": 1.0}, 272: {"a": 1.2, "b": 1.1}, 240: {"a": 1.4, "b": 1.3}}
        rows = conccl.unit_rows(times)
        self.assertEqual(
            [(row[2], row[3], row[-1]) for row in rows],
            [("15.0 %", "10.0 to 20.0 %", "yes"), ("35.0 %", "30.0 to 40.0 %", MISS)],
        )

    def test_the_fewest_blocks_that_saturate(self) -> None:
        cases = [
            case("n1", {"transfer_alone": t}, f"kernel:{n}", transfer=transfer, size="512M")
            for transfer in conccl.PAPER_SATURATES
            for n, t in ((16, 2.0), (32, 1.04), (64, 1.0))
        ]
        self.assertEqual(
            [row[2:] for row in conccl.saturation_rows(cases)], [["32", "1.00", "yes"], ["32", "0.50", "yes"]]
        )


class Copies(unittest.TestCase):
    def copy(self, size: int, seconds: float) -> Case:
        return case(
            "", {"engine_round_trip": seconds, "engine": seconds / 2}, size=size, link_limit_bytes_per_s=1e9
        )

    def test_what_is_outside_the_copy(self) -> None:
        self.assertAlmostEqual(conccl.outside(4e-6, 1000, 1e9), 0.75)
        copies = [self.copy(1 << 20, 1.5 * (1 << 20) / 1e9), self.copy(64 << 20, 0.0672)]
        rows = {row[0]: row for row in conccl.outside_rows(copies)}
        self.assertEqual(rows["1 MiB"][3:5] + rows["1 MiB"][6:], ["33.3 %", "1.59", "yes"])
        self.assertEqual(rows["64 MiB"][-1], "yes")
        self.assertTrue(rows["2 KiB"][2].startswith("not here"))

    def test_a_share_beyond_the_factor_is_missed(self) -> None:
        rows = {
            row[0]: row
            for row in conccl.outside_rows(
                [self.copy(1 << 20, 2 * (1 << 20) / 1e9), self.copy(64 << 20, 0.07)]
            )
        }
        self.assertEqual((rows["1 MiB"][-1], rows["64 MiB"][-1]), (MISS, MISS))

    def test_shares_that_rise_are_seen(self) -> None:
        self.assertTrue(conccl.falls([self.copy(2000, 4e-6), self.copy(1000, 3e-6)]))
        self.assertFalse(conccl.falls([self.copy(2000, 8e-6), self.copy(1000, 3e-6)]))

    def test_one_engine(self) -> None:
        known = case("x", {"communication": 1.0, "shard-transfers": 6.5}, m=1024, k=131072)
        rows = conccl.one_engine_rows(
            [known, case("y", {"communication": 1.0, "shard-transfers": 7.0}, m=1024, k=512)]
        )
        self.assertEqual([row[-1] for row in rows], ["yes", MISS])
        self.assertEqual(rows[1][:2], ["1 MiB", "1.56"])


class Costs(unittest.TestCase):
    def test_pieces_of_a_schedule(self) -> None:
        self.assertEqual(
            [ficco.pieces(8, s) for s in tables.SCHEDULES],
            [
                "56 transfers, 8 GEMMs",
                "56 transfers, 64 GEMMs",
                "448 transfers, 64 GEMMs",
                "448 transfers, 72 GEMMs",
                "448 transfers, 456 GEMMs",
                "448 transfers, 64 GEMMs",
            ],
        )

    def test_runs_one_after_the_other(self) -> None:
        path = Path("x")
        both = ficco.whole([Run([], 100.0, 9.0, 5 << 20, path), Run([], 250.0, 8.0, 3 << 20, path)])
        self.assertEqual(
            ficco.cost_row("a", both, 300), ["a", "", "350.00 s", "17.00 s", "5 MiB", "300 s", MISS]
        )
        self.assertEqual(
            ficco.cost_row("a", Run([], 1.0, None, None, path), None), ["a", "", "1.00 s", "", "", "", ""]
        )

    def test_the_shapes_are_what_pairs_of_them_say(self) -> None:
        """g2 is g1 with M and K exchanged, and g6 is g5."""
        for one, other in (("g1", "g2"), ("g5", "g6")):
            self.assertEqual(SHAPES[one], SHAPES[other][::-1])


if __name__ == "__main__":
    unittest.main()
