# SPDX-License-Identifier: BSD-3-Clause
"""--headline-variants measures only what the headline numbers of a case need: they are the same as with all
variants, for every program that runs on a simulated device."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Dict, Iterator, List, Set

BIN = Path(os.environ.get("GPUSIG_BIN") or Path(__file__).resolve().parents[2] / "bin")
MODEL = "like = quiet\ndata = none\nmemory_bytes = 192G\n"
OPTIONS = ["--headline", "--min-samples", "6", "--max-samples", "6", "--warm-up", "0", "--format", "json"]
VALUES = ("value", "ci_low", "ci_high", "bound", "share")
FACT = "not_measured_for_headline"


def rows(program: str, *options: str) -> List[dict]:
    done = subprocess.run(
        [str(BIN / program), *options], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def numbers(found: List[dict]) -> Iterator[dict]:
    """The headline numbers, each with its name and its case."""
    primary = [p for row in found if row["kind"] == "run" for p in row["primary"]]
    for case in (row for row in found if row["kind"] == "case"):
        for p in primary:
            if all(case["case"].get(axis) == value for axis, value in p["where"].items()):
                of = (d for d in case["derived"] if (d["name"], d["variant"]) == (p["derived"], p["variant"]))
                yield from ({"metric": p["metric"], "key": case["key"], **d} for d in of)


def variants(case: dict) -> List[str]:
    return [v["name"] for v in case["variants"]]


def left_out(case: dict) -> List[str]:
    return case["facts"][FACT].split(", ") if FACT in case["facts"] else []


def named(of: object) -> Set[str]:
    """All variants in what a value is of."""
    if isinstance(of, dict):
        of = list(of.values())
    return {of} if isinstance(of, str) else {name for one in of for name in named(one)}  # type: ignore


class HeadlineVariants(unittest.TestCase):
    programs: Dict[str, List[List[dict]]]

    @classmethod
    def setUpClass(cls) -> None:
        """Measure each program with all variants, and with those that its headline numbers need."""
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "a.model")
            model.write_text(MODEL, encoding="ascii")
            options = ["--device", f"sim:{model}:0,1", *OPTIONS]
            found = (p for p in sorted(BIN.glob("*/*")) if p.is_file() and os.access(p, os.X_OK))
            names = [f"{p.parent.name}/{p.name}" for p in found]
            names = [name for name in names if "mpi" not in rows(name, "--about")[0]["needs"]]
            cls.programs = {
                name: [rows(name, *options), rows(name, *options, "--headline-variants")] for name in names
            }

    def test_the_headline_numbers_are_the_same(self) -> None:
        for name, found in self.programs.items():
            whole, few = (list(numbers(one)) for one in found)
            with self.subTest(program=name):
                self.assertEqual(len(whole), len(few))
            for a, b in zip(whole, few):
                with self.subTest(program=name, metric=a["metric"]):
                    for value in VALUES:
                        x, y = a.pop(value), b.pop(value)
                        self.assertEqual(x is None, y is None, value)
                        if x is not None:
                            self.assertLess(abs(x - y), 1e-4 * abs(x) + 1e-15, value)
                    for x, y in zip(a["observations"] or (), b["observations"] or ()):
                        self.assertLess(abs(x - y), 1e-4 * abs(x))
                    self.assertEqual(len(a.pop("observations") or ()), len(b.pop("observations") or ()))
                    self.assertEqual(a, b)

    def test_what_none_of_them_needs_is_not_measured_and_named(self) -> None:
        for name, (whole, few) in self.programs.items():
            cases = [[row for row in found if row["kind"] == "case"] for found in (whole, few)]
            for a, b in zip(*cases):
                with self.subTest(program=name, key=a["key"]):
                    self.assertNotIn(FACT, a["facts"])
                    self.assertEqual(sorted(variants(a)), sorted(variants(b) + left_out(b)))
                    self.assertTrue(all(m["observed"] for m in b["mechanism"]))
                    of = (named(n["of"]) for n in numbers(whole) if n["key"] == a["key"])
                    self.assertFalse(set().union(*of) & set(left_out(b)))
        if "gemm/split" in self.programs:
            (split,) = (row for row in self.programs["gemm/split"][1] if row["kind"] == "case")
            self.assertEqual(variants(split), ["whole", "m8", "k8"])

    def test_a_bound_keeps_what_it_is_made_of(self) -> None:
        kept = {
            "micro/reduce": {"read_only", "write_only", "write_only_nt"},
            "overlap/ficco": {"gemm", "communication", "shard-gemms", "shard-transfers"},
        }
        for name in kept.keys() & self.programs.keys():
            (case,) = (row for row in self.programs[name][1] if row["kind"] == "case")
            self.assertLessEqual(kept[name], set(variants(case)), name)


if __name__ == "__main__":
    unittest.main()
