# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""A device that lacks a mechanism has no valid value and no headline number that needs it: every program on
simulated devices that lack each capability in turn, and on one that lacks none, where these values are
there."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

import lacks
from tests import level

BIN = Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin")
NONE = "nothing"  # the device that lacks nothing
OPTIONS = ["--seed", "1", "--min-samples", "6", "--max-samples", "6"]
OPTIONS += [] if level.LAB else ["--warm-up", "0", "--check", "end"]
# The lab also has kernels of every count of blocks: none of them needs what another does not.
PATHS = "engine,both_ways,engine_split_4,engine_round_trip,pageable,kernel,kernel_nt,kernel_1,write_only"
OF_PROGRAM = {} if level.LAB else {"micro/copy_path": ["--path", PATHS]}
LIMIT_S = 600
# The rest only with ./gpusig test --all.
MODELS = {
    capability: line
    for capability, line in lacks.MODELS.items()
    if level.ALL or capability in ("copy_engine", "priority", "gemm", "peer")
}


class Run(NamedTuple):
    code: int
    message: str
    rows: List[dict]

    def cases(self) -> List[dict]:
        return [row for row in self.rows if row["kind"] == "case"]


def start(program: str, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(BIN / program), *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@functools.lru_cache(maxsize=None)
def programs() -> List[str]:
    """Ranks bring no simulated device, and are left out."""
    found = sorted(
        f"{p.parent.name}/{p.name}" for p in BIN.glob("*/*") if p.is_file() and os.access(p, os.X_OK)
    )
    return [name for name in found if "mpi" not in json.loads(start(name, "--about").stdout)["needs"]]


def left_out(program: str, device: List[str], capability: str) -> Set[str]:
    """All cases but the first, and those that may need the capability: of headline numbers, and one for every
    set of needs."""
    listed = [
        json.loads(line) for line in start(program, *device, "--list", "--format", "json").stdout.splitlines()
    ]
    kept, seen = {line["key"] for line in listed[:1]}, set()
    for line in listed:
        needs = frozenset(lacks.possible(program, lacks.axes_of(line["key"])))
        if any(capability in (NONE, need.capability) for need in needs) and (
            line["headlines"] or needs not in seen
        ):
            kept.add(line["key"])
            seen.add(needs)
    return {line["key"] for line in listed} - kept


def measure(program: str, model: Path, capability: str) -> Run:
    device = ["--device", f"sim:{model}:0,1"]
    done = model.with_suffix(".done")
    done.write_text(
        "".join(key + "\n" for key in sorted(left_out(program, device, capability))), encoding="utf-8"
    )
    ended = start(
        program, *device, *OPTIONS, *OF_PROGRAM.get(program, []), "--done", str(done), "--format", "json"
    )
    return Run(
        ended.returncode, ended.stderr.strip(), [json.loads(line) for line in ended.stdout.splitlines()]
    )


def valid_values(runs: Dict[str, Run]) -> Iterator[Tuple[str, dict, dict]]:
    for program, run in runs.items():
        for case in run.cases():
            if case["status"] == "ok":
                yield from (
                    (program, case, entry)
                    for entry in case["derived"]
                    if entry["valid"] and not entry["modelled"]
                )


@unittest.skipUnless(BIN.is_dir() and programs(), f"no programs in {BIN}")
class Lacking(unittest.TestCase):
    runs: Dict[str, Dict[str, Run]] = {}
    signatures: Dict[str, dict] = {}

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as name:
            for capability, line in {NONE: "", **MODELS}.items():
                model = Path(name) / f"{capability}.model"
                model.write_text(f"like = quiet\nstorage_bandwidth = 5e9\n{line}\n", encoding="utf-8")
                cls.runs[capability] = {
                    program: measure(program, model, capability) for program in programs()
                }
                cls.signatures[capability] = cls.signature(Path(name) / capability, cls.runs[capability])

    @staticmethod
    def signature(folder: Path, runs: Dict[str, Run]) -> dict:
        folder.mkdir()
        (folder / "records.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for run in runs.values() for row in run.rows), encoding="utf-8"
        )
        subprocess.run(
            [sys.executable, "-m", "suite", "report", str(folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return json.loads((folder / "signature.json").read_text(encoding="utf-8"))

    def headlines(self, capability: str) -> Iterator[Tuple[str, bool]]:
        """Headline numbers that need the capability, by the programs that name them, and whether there is a
        value without it."""
        primary = {
            name for name, metric in self.signatures[capability]["metrics"].items() if metric["primary"]
        }
        lacking = NONE if capability == NONE else capability
        for program, run in self.runs[NONE].items():
            for entry in run.rows[0]["primary"] if run.rows else ():
                needs = {n.capability for n in lacks.needed(program, entry["where"], entry["variant"])}
                if lacking == NONE and needs or lacking in needs:
                    yield f"{program}/{entry['metric']}", f"{program}/{entry['metric']}" in primary

    def test_every_program_ends_well_and_says_why_not(self) -> None:
        for capability, runs in self.runs.items():
            for program, run in runs.items():
                with self.subTest(lacks=capability, program=program):
                    self.assertIn(run.code, (0, 3, 77), run.message)
                    if run.code == 77:
                        self.assertRegex(
                            run.message,
                            r"\Agpusig: ([^\n]*: every case was skipped\ngpusig: )?"
                            r"[^\n]*\b(not support|no |lack|cannot|needs )[^\n]*\Z",
                        )
                    for case in run.cases():
                        self.assertIn(case["status"], ("ok", "skipped"), case.get("reason"))
                        self.assertTrue(case["status"] == "ok" or case["reason"])

    def test_no_record_contradicts_itself(self) -> None:
        """By reports/records/contradictions.py, which the signature refuses."""
        for capability, signature in self.signatures.items():
            self.assertEqual(signature["bad_records"], [], capability)

    def test_the_record_of_a_run_says_what_the_device_lacks(self) -> None:
        for capability in MODELS:
            for program, run in self.runs[capability].items():
                for device in (d for row in run.rows if row["kind"] == "run" for d in row["device"]):
                    self.assertNotIn(capability, device["capabilities"], program)

    def test_no_valid_value_needs_what_the_device_lacks(self) -> None:
        for capability in MODELS:
            found = {
                "%s: %s, %s" % (program, entry["variant"], case["key"])
                for program, case, entry in valid_values(self.runs[capability])
                if any(
                    n.capability == capability for n in lacks.needed(program, case["case"], entry["variant"])
                )
            }
            with self.subTest(lacks=capability):
                self.assertEqual(sorted(found), [])

    def test_no_headline_number_needs_what_the_device_lacks(self) -> None:
        for capability in MODELS:
            with self.subTest(lacks=capability):
                self.assertEqual([name for name, value in self.headlines(capability) if value], [])

    def test_a_missing_headline_number_has_a_reason(self) -> None:
        for capability, signature in self.signatures.items():
            for missing in signature["primary_missing"]:
                self.assertTrue(missing["reason"], (capability, missing))

    @unittest.skipUnless("clock_rate" in MODELS, "only in ./gpusig test --all")
    def test_the_core_clock_is_unknown_where_it_cannot_be_had(self) -> None:
        for case in (
            case for run in self.runs["clock_rate"].values() for case in run.cases() if case["status"] == "ok"
        ):
            self.assertEqual(set(case["clock_hz"].values()), {None}, case["key"])

    def test_a_device_that_lacks_nothing_has_all_of_them(self) -> None:
        """Else the tests above could not fail."""
        missing = [name for name, value in self.headlines(NONE) if not value]
        self.assertEqual([name for name in missing if not re.fullmatch(lacks.NOT_SIMULATED, name)], [])
        used = {
            need
            for program, case, entry in valid_values(self.runs[NONE])
            for need in lacks.needed(program, case["case"], entry["variant"])
        }
        self.assertEqual([need for need in lacks.NEEDS if need not in used], [])


if __name__ == "__main__":
    unittest.main()
