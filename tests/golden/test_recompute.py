# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""Numbers of records are what tests/method/recompute.py computes from their raw samples: on the simulated
device for every program, and on the host for some. And it notices what is wrong."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "method"), str(HERE.parents[1])]

import golden
import recompute
import records
from tests import level

SHOWN = 8
SHORT = ("--warm-up", "0", "--check", "end")  # a record has its samples and numbers all the same
# Cases that the golden ones lack: several devices, and quantities that only some cases have.
MORE = (
    (
        "overlap/trigger",
        "--device",
        "sim:0-2",
        "--direction",
        "exchange,ring",
        "--shape",
        "n256",
        "--bands",
        "4",
    ),
    ("overlap/pair", "--device", "sim:0,1", "--transfer", "peer", "--shape", "n256"),
    ("micro/copy_path", "--device", "sim:0,1", "--direction", "peer", "--size", "64K,1M"),
    ("micro/link_contention", "--device", "sim:0-2", "--direction", "up"),
    ("micro/peer_matrix", "--device", "sim:0-2", "--route", "0>1,0>all,all>1,all>all,2>numa0"),
    (
        "micro/memory",
        "--op",
        "copy,triad",
        "--footprint",
        "4LLC,16LLC",
        "--min-samples",
        "20",
        "--max-samples",
        "25",
    ),
)
ON_HOST = (
    ("micro/launch",),
    ("micro/memory", "--op", "copy", "--footprint", "L2/2,2M"),
    ("micro/latency", "--footprint", "64K"),
    ("micro/reduce", "--direction", "local", "--size", "64K"),
)


def run(name: str, *options: str) -> list[str]:
    budget = (
        ["--budget", "1s"] if "host" in options else []
    )  # it is wall time: a simulation would lack cases on a busy machine
    words = [
        str(golden.BIN / name),
        "--seed",
        "1",
        *([] if level.LAB else SHORT),
        *budget,
        "--min-samples",
        "6",
        "--max-samples",
        "60",
        *options,
    ]
    done = subprocess.run(
        [*words, "--format", "json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=golden.LIMIT_S,
    )
    if done.returncode not in (0, 3):
        raise RuntimeError("%s: exit %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout.splitlines()


@unittest.skipUnless(golden.programs(), f"no programs in {golden.BIN}")
class Recomputed(unittest.TestCase):
    def holds(self, lines: list[str]) -> recompute.Result:
        result = recompute.check(lines)
        self.assertEqual(result.problems[:SHOWN], [])
        return result

    def test_every_number_of_every_program_on_the_simulated_device(self) -> None:
        compared, least = 0, 100 if len(golden.programs()) > 1 else 0
        for name in golden.programs():
            with self.subTest(program=name):
                try:
                    rows = golden.records(name)
                except golden.Unable:
                    continue
                compared += len(self.holds([json.dumps(row) for row in rows]).rows)
        self.assertGreaterEqual(compared, least)

    def test_what_the_golden_cases_leave_out(self) -> None:
        for name, *options in MORE:
            with self.subTest(program=name, options=options):
                device = [] if "--device" in options else ["--device", "sim"]
                self.assertGreater(len(self.holds(run(name, *device, *options)).rows), 10)

    def test_numbers_of_this_machine(self) -> None:
        for name, *options in ON_HOST:
            with self.subTest(program=name):
                self.assertGreater(len(self.holds(run(name, "--device", "host", *options)).rows), 10)


@unittest.skipUnless("overlap/pair" in golden.programs(), "overlap/pair is not built")
class Noticed(unittest.TestCase):
    """One thing is altered in a record of which all numbers hold."""

    def setUp(self) -> None:
        self.rows = copy.deepcopy(golden.records("overlap/pair"))
        self.case = next(row for row in self.rows if row["kind"] == "case")
        self.assertEqual(self.problems(), [])

    def problems(self) -> list[str]:
        return recompute.check([json.dumps(row) for row in self.rows]).problems

    def expect(self, *words: str) -> None:
        text = "\n".join(self.problems())
        for word in words:
            self.assertIn(word, text)

    def derived(self, name: str) -> dict:
        return next(d for d in self.case["derived"] if d["name"] == name)

    def test_a_sample(self) -> None:
        self.case["variants"][0]["samples_s"][2] *= 1.5
        self.expect("gemm_alone: max_s is", "S_ideal is", "exposed_tail is")

    def test_rounds_that_were_exchanged(self) -> None:
        samples = self.case["variants"][2]["samples_s"]
        samples[0], samples[-1] = samples[-1], samples[0]
        self.expect("TimeRatio is")

    def test_every_derived_value_and_both_ends_of_its_interval(self) -> None:
        for entry in self.case["derived"]:
            for key in ("value", "ci_low", "ci_high"):
                if entry[key] is not None:
                    kept, entry[key] = entry[key], entry[key] * (1 + 3e-9)
                    self.assertNotEqual(self.problems(), [], (entry["name"], key))
                    entry[key] = kept
        self.assertEqual(self.problems(), [])

    def test_a_value_where_there_is_none(self) -> None:
        self.derived("S_ideal")["value"] = None
        self.expect("S_ideal is None in the record")

    def test_a_formula_without_a_row(self) -> None:
        self.derived("S").update(name="S_of_tomorrow", kind="formula")
        self.expect("S_of_tomorrow has no definition")

    def test_another_kind_or_other_variants(self) -> None:
        self.derived("S")["of"].reverse()
        self.derived("TimeRatio")["kind"] = "difference"
        self.derived("S_ideal")["of"][0]["sum"].pop()
        self.derived("fraction_of_ideal")["of"][2]["sum"].pop()
        self.derived("exposed_tail")["of"][1] = "a_variant_of_tomorrow"
        self.expect(
            "S is",
            "TimeRatio is",
            "S_ideal is",
            "fraction_of_ideal is",
            "exposed_tail of gemm_first: the record lacks",
        )

    def test_a_rate_and_its_work(self) -> None:
        self.derived("flop_rate")["factor"] *= 2
        self.expect("flop_rate is")

    def test_a_bound_a_fact_and_flags(self) -> None:
        self.derived("fraction_of_bound")["bound"] = 0.5
        self.expect(
            "bound of fraction_of_bound is",
            "flag above_bound is",
            "share of the bound of fraction_of_bound is",
        )
        self.case["facts"]["class"] = "G-longest"
        self.expect("class is G-longest")
        self.case["facts"]["better_order"] = "neither"
        self.expect("better_order is neither")
        self.case["validity"]["flags"].append({"flag": "noisy", "variant": "serial", "reason": ""})
        self.expect("flag noisy is")
        flag = {"flag": "above_bound", "variant": "gemm_first", "quantity": "S", "reason": ""}
        self.case["validity"]["flags"].append(flag)
        self.expect("gemm_first: flag above_bound of S is")

    def test_a_missing_rate(self) -> None:
        self.case["derived"] = [d for d in self.case["derived"] if d["name"] != "flop_rate"]
        self.expect("gemm_alone has samples and no flop_rate")

    def test_the_program_ends_with_1_and_prints_a_table(self) -> None:
        for scale, code in ((1.0, 0), (1.01, 1)):
            self.derived("S")["value"] *= scale
            text = "".join(json.dumps(row) + "\n" for row in self.rows)
            done = subprocess.run(
                [sys.executable, str(HERE.parent / "method" / "recompute.py"), "/dev/stdin"],
                input=text,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertRegex(done.stdout, r"(?m)^overlap/pair S +\d+  ")
            self.assertEqual("by definition" in done.stderr, code == 1)


@unittest.skipUnless("micro/copy_path" in golden.programs(), "micro/copy_path is not built")
class Signature(unittest.TestCase):
    def test_headline_numbers_and_fitted_lines_are_those_of_the_records(self) -> None:
        lines = run(
            "micro/copy_path",
            "--device",
            "sim",
            "--direction",
            "up,local",
            "--size",
            "4K,64K,1M,64M",
            "--path",
            "engine,kernel,kernel_nt",
            "--max-samples",
            "8",
        )
        with tempfile.TemporaryDirectory() as folder:
            of = self.signature(Path(folder), lines)
        self.assertEqual(self.problems(of, lines), [])
        results = of["programs"]["micro/copy_path"]["results"]
        fitted = results["fits"][0]
        headline = next(metric for metric in of["metrics"].values() if metric["primary"])
        for holder, key in (
            (fitted, "alpha_s"),
            (fitted, "bandwidth"),
            (headline, "value"),
            (headline, "ci_low"),
        ):
            kept, holder[key] = holder[key], holder[key] * (1 + (1e-4 if holder is fitted else 1e-7))
            self.assertEqual(len(self.problems(of, lines)), 1, key)
            holder[key] = kept

    def test_of_several_tries_it_is_what_the_page_says(self) -> None:
        """One case noisy first and quiet then, one contended twice, one contended once."""
        options = (
            "--device",
            "sim",
            "--direction",
            "up",
            "--size",
            "4K,64K,1M,64M",
            "--path",
            "engine,kernel",
            "--max-samples",
            "8",
        )
        graded = [
            [json.loads(line) for line in run("micro/copy_path", *options, "--seed", seed)]
            for seed in ("1", "2")
        ]
        of_sizes = (
            {4096: "noisy", 65536: "contended", 64 << 20: "noisy"},
            {65536: "contended", 1 << 20: "noisy"},
        )
        for rows, grades in zip(graded, of_sizes):
            for row in (row for row in rows if row["kind"] == "case"):
                grade = grades.get(row["case"]["size"])
                for entry in row["derived"] if grade else ():
                    entry["grades"] = [grade]
        for rows, count in ((graded[0], 1), (graded[0] + graded[1], 2)):
            with tempfile.TemporaryDirectory() as folder, self.subTest(starts=count):
                text = [json.dumps(row) for row in rows]
                of = self.signature(Path(folder), text)
                self.assertEqual(self.problems(of, text), [])
                rates = {
                    value["size"]: (value.get("grade"), value.get("tries"))
                    for value in recompute.signature.values(of, "micro/copy_path", "bandwidth")
                    if value["variant"] == "engine"
                }
                self.assertEqual(
                    rates,
                    [
                        {},
                        {4096: ("noisy", None), 1 << 20: (None, None), 64 << 20: ("noisy", None)},
                        {
                            4096: (None, None),
                            65536: ("contended", 2),
                            1 << 20: (None, None),
                            64 << 20: (None, None),
                        },
                    ][count],
                )

    @staticmethod
    def signature(folder: Path, lines: list[str]) -> dict:
        (folder / "records.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        subprocess.run(
            [sys.executable, "-m", "suite", "report", str(folder)],
            cwd=HERE.parents[1],
            capture_output=True,
            check=False,
        )
        return json.loads((folder / "signature.json").read_text(encoding="utf-8"))

    def problems(self, of: dict, lines: list[str]) -> list[str]:
        result = recompute.Result({}, [], {})
        recompute.check_signature(result, of, lines)
        self.assertTrue(all(row.values for row in result.rows.values()), "nothing was compared")
        return result.problems


class Definitions(unittest.TestCase):
    def test_ranks_of_the_median_are_those_of_the_books(self) -> None:
        """Lower ranks, 1-based, for n samples, from tables of the sign test at 5 %."""
        for n, rank in ((6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (30, 10), (50, 18), (100, 40)):
            self.assertEqual(records.low_rank(n), rank - 1, n)
        self.assertIsNone(records.low_rank(5))


if __name__ == "__main__":
    unittest.main()
