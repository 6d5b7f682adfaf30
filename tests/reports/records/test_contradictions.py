# SPDX-License-Identifier: BSD-3-Clause
"""Records that contradict themselves are refused by name; records of programs never are."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from pathlib import Path
from typing import Any, Callable, Dict

import synthetic
import workplace
from synthetic import Json, everything, memory, value

from reports.records.contradictions import contradiction_of
from reports.records.jsonl import Reader
from reports.signature.signature import MixedMachines
from tests import level

BIN = Path(os.environ.get("GPUSIG_BIN") or workplace.ROOT / "bin")


def case_with(change: Callable[[Json], None]) -> Json:
    """The first case of micro/memory, changed."""
    line = json.loads(memory().text().splitlines()[1])
    change(line)
    return line


def of_variant(**more: Any) -> Callable[[Json], None]:
    return lambda line: line["variants"][0].update(more)


def of_value(**more: Any) -> Callable[[Json], None]:
    return lambda line: line["derived"][0].update(more)


def another(*words: Any, **more: Any) -> Callable[[Json], None]:
    return lambda line: line["derived"].append(value(*words, **more))


def flagged(valid: bool, **more: Any) -> Callable[[Json], None]:
    flag = {"flag": "gate", "variant": None, "reason": "stuck", **more}
    return lambda line: line.update(validity={"valid": valid, "flags": [flag]})


TIME, ORDER, COUNT = (
    "a time that is 0 or negative",
    "times that are not in the order",
    "more samples kept or disturbed",
)
MEDIAN, OUTSIDE, NEGATIVE = (
    "samples without a median",
    "a value outside its interval",
    "a rate, a time or a ratio that is 0",
)
BOUND, RATE, FLAG, CASE = (
    "above its bound",
    "not work / time",
    "a value that has a flag",
    "a case that has a flag",
)

BROKEN: Dict[str, Dict[str, Callable[[Json], None]]] = {
    TIME: {
        "median": of_variant(median_s=0, min_s=0),
        "least": of_variant(min_s=-1e-9),
        "end": of_variant(ci_low_s=-1.0),
        "sample": lambda line: line["variants"][0]["samples_s"].append(-1e-9),
    },
    ORDER: {
        "least": of_variant(min_s=1.0),
        "most": of_variant(max_s=1e-12),
        "95 %": of_variant(p95_s=1.0),
        "interval": of_variant(ci_low_s=1.0),
        "its end": of_variant(ci_high_s=1e-12),
        "samples": lambda line: line["variants"][0]["samples_s"].__setitem__(0, 1.0),
    },
    COUNT: {"kept": of_variant(n=19), "disturbed": of_variant(disturbed=21)},
    MEDIAN: {"no median": of_variant(median_s=None), "no samples": of_variant(n=0, samples_s=[])},
    OUTSIDE: {"below": of_value(ci_low=1e12), "above": of_value(ci_high=1.0)},
    NEGATIVE: {
        "rate": another("goodput", None, -1.0, "byte/s"),
        "no rate": another("goodput", None, 0, "byte/s"),
        "time": another("time", None, -1.0, "s"),
        "ratio": another("time_ratio", None, -1.0),
        "speedup": another("S", None, -2.0),
        "loss": another("CIL_gemm", None, 0.0),
    },
    BOUND: {
        "value": another("x", None, 1.03, bound=1.0),
        "interval": another("x", None, 1.5, ci_low=1.03, ci_high=2.0, bound=1.0),
    },
    RATE: {
        "bandwidth": of_value(value=4.1e11, ci_low=None, ci_high=None),
        "time": another("time", "regular", 1e-3, "s"),
        "flop rate": lambda line: (
            of_variant(model={"bytes": None, "flops": 2.0, "messages": None})(line),
            another("flop_rate", "regular", 1e9, "flop/s")(line),
        ),
        "operation rate": lambda line: (
            of_variant(model={"bytes": None, "flops": None, "messages": None, "ops": 2.0})(line),
            another("op_rate", "regular", 1e9, "op/s")(line),
        ),
        "message rate": lambda line: (
            of_variant(model={"bytes": None, "flops": None, "messages": 1.0})(line),
            another("message_rate", "regular", 1.0, "1/s")(line),
        ),
    },
    FLAG: {
        "of its variant": flagged(True, variant="regular"),
        "its own": flagged(True, variant="regular", quantity="bandwidth"),
    },
    CASE: {"flag": flagged(True)},
}

SOUND: Dict[str, Callable[[Json], None]] = {
    "nothing": lambda line: None,
    "a clock too coarse for the shortest": of_variant(min_s=0),
    "no interval": of_variant(ci_low_s=None, ci_high_s=None),
    "a negative difference": another("exposed_tail", None, -1e-6, "s"),
    "a loss where overlap is slower": another("fraction_of_ideal", None, -0.2),
    "within the tolerance": another("x", None, 1.019, bound=1.0),
    "an interval down to the bound": another("x", None, 1.5, ci_low=1.01, ci_high=2.0, bound=1.0),
    "above its bound and flagged": another("x", None, 3.0, bound=1.0, valid=False),
    "a flag of another": flagged(True, variant="nontemporal"),
    "a grade": flagged(True, flag="noisy"),
    "no value": another("time", "x", None, "s", reason="-"),
}


class Rules(workplace.Scratch):
    def test_every_rule_is_broken_by_what_it_names_and_by_nothing_else(self) -> None:
        for rule, cases in BROKEN.items():
            for name, change in cases.items():
                with self.subTest(rule=rule, case=name):
                    self.assertIn(rule, contradiction_of(Reader(case_with(change), "case")) or "none")
        for name, change in SOUND.items():
            with self.subTest(case=name):
                self.assertIsNone(contradiction_of(Reader(case_with(change), "case")))

    def test_the_record_is_refused_by_name_and_said(self) -> None:
        lines = memory().lines
        whole = self.signature(memory().text()).json["metrics"]
        for rule, cases in BROKEN.items():
            for change in cases.values():
                text = "".join(json.dumps(line) + "\n" for line in (lines[0], case_with(change), *lines[2:]))
                signature = self.signature(text).json
                (bad,) = signature["bad_records"]
                self.assertIn("contradicts itself: ", bad["reason"])
                self.assertIn(rule, bad["reason"])
                self.assertEqual((bad["first_line"], len(signature["metrics"])), (2, len(whole) - 1))
        _, out, err = self.run_build(text)
        for told in (out, err, *([self.page()] if workplace.HAVE_JINJA2 else [])):
            self.assertIn("contradicts itself", " ".join(told.split()))

    def test_a_failed_or_skipped_case_has_no_value_and_stays_failed(self) -> None:
        for status in ("failed", "skipped"):
            w = memory()
            w.lines[1].update(status=status, reason="why")
            signature = self.signature(w.text())
            self.assertEqual(len([m for m in signature.json["metrics"].values() if not m["primary"]]), 5)
            self.assertEqual([e["reason"] for e in signature.json["not_measured"]], ["why"])
            self.assertEqual(signature.failed, status == "failed")
        w = memory()
        w.lines[1]["check"]["status"] = "failed"
        w.lines[1]["variants"][0]["median_s"] = -1.0
        self.assertTrue(self.signature(w.text()).failed)

    def test_another_try_of_a_refused_one_counts(self) -> None:
        w, second = memory(), memory(run="r2")
        w.lines[1] = case_with(of_value(value=1.0))
        signature = self.signature(w.text() + second.text()).json
        self.assertEqual((len(signature["metrics"]), len(signature["bad_records"])), (7, 1))


class Machines(workplace.Scratch):
    def refusal(self, change: Callable[[Json], None]) -> str:
        first, second = memory(), synthetic.launch(run="r2")
        change(second.lines[0])
        try:
            self.signature(first.text() + second.text())
        except MixedMachines as why:
            return str(why)
        return ""

    def provenance(self, **more: Any) -> str:
        return self.refusal(lambda run: run["provenance"].update(more))

    def device(self, **more: Any) -> str:
        return self.refusal(lambda run: run["device"][0].update(more))

    def test_what_makes_it_another_machine_is_refused(self) -> None:
        self.assertEqual(
            self.provenance(cpu="B CPU"),
            "records of different CPUs do not mix: A (R) CPU and B CPU; measure into a new folder",
        )
        self.assertIn("versions of gpusig do not mix: abc and def", self.provenance(version="def"))
        self.assertIn("machines do not mix: node1 and node2", self.provenance(hostname="node2"))
        self.assertIn("memories do not mix: 16 GiB and 32 GiB", self.provenance(memory_bytes=1 << 35))
        self.assertIn("devices do not mix: A (R) CPU and Another", self.device(name="Another"))
        one = memory()
        one.lines[0]["device"][0]["uuid"] = "GPU-1"
        other = synthetic.launch(run="r2")
        other.lines[0]["device"][0]["uuid"] = "GPU-2"
        code, _, err = self.run_build(one.text() + other.text())
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("devices do not mix: GPU-1 and GPU-2; measure into a new folder", err)

    def test_what_changes_on_one_machine_is_a_warning(self) -> None:
        for more in (
            {"kernel": "6.2"},
            {"microcode": "0x2"},
            {"cpu": None},
            {"memory_bytes": (1 << 34) + (1 << 28)},
        ):
            self.assertEqual(self.provenance(**more), "")
        self.assertEqual((self.device(driver="2"), self.device(index=1, name="Another")), ("", ""))


class Real(workplace.Scratch):
    def test_records_as_programs_write_them_have_none(self) -> None:
        self.assertEqual(self.records(everything()).bad_records, {})
        self.assertEqual(self.records(synthetic.gpu()).bad_records, {})

    @unittest.skipUnless((BIN / "micro/launch").exists(), "no programs in %s" % BIN)
    @level.only_all
    def test_a_program_on_this_machine_has_none(self) -> None:
        """tests/method/test_lacks.py looks at the records of every program on simulated devices."""
        path = self.folder / "records.jsonl"
        options = [
            "--device",
            "host",
            "--min-samples",
            "6",
            "--max-samples",
            "12",
            "--budget",
            "30s",
            "--out",
            str(path),
        ]
        subprocess.run([str(BIN / "micro/launch"), *options], capture_output=True, check=False)
        records = workplace.read(path)
        self.assertEqual((records.bad_records, len(list(records.cases()))), ({}, 1))


if __name__ == "__main__":
    unittest.main()
