# SPDX-License-Identifier: BSD-3-Clause
"""One question to several signatures: the order, the differences that count, and machines without an
answer."""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import json
import re
import shutil
import tempfile
import unittest
from typing import Any, List, Optional, Tuple
from pathlib import Path
from unittest import mock

import workplace

from suite import __main__ as driver
from reports.records import validate
from reports.advice import ask
from reports.advice.comparison import MachineAnswer, compare, labels
from reports.advice.table import comparison_table
from reports.records.jsonl import Json

from tests.reports.advice import asked
from tests.reports.model.simulated import measured

try:
    import jsonschema
except ImportError:
    jsonschema = None

QUESTION = {"m": 8, "n": 8, "k": 8, "devices": 2, "op": "ag-gemm", "type": "f32", "operands": "warm"}
OPTIONS = ["--m", "4096", "--n", "512", "--k", "512", "--devices", "4", "--op", "ag-gemm", "--type", "bf16"]


def advice(seconds: float, error: float, measured: Optional[List[float]] = None) -> Json:
    """`measured`: the time of the pick and its interval."""
    plain = {"measured_s": None, "measured_ci_s": None}
    serial = {
        "schedule": "serial",
        "copy_method": "engine",
        "cut": "rows",
        "predicted_s": 3 * seconds,
        **plain,
    }
    pick = {"schedule": "shard", "copy_method": "kernel", "cut": "columns", "predicted_s": seconds, **plain}
    if measured:
        pick.update(measured_s=measured[0], measured_ci_s=measured[1:])
    return {
        "question": QUESTION,
        "candidates": [pick, serial, dict(serial, predicted_s=4 * seconds)],
        "pick": pick,
        "gemm_s": seconds,
        "comm_s": 2 * seconds,
        "expected_error": error,
        "notes": [],
    }


def machine(path: str, seconds: float, error: float, **more: Any) -> MachineAnswer:
    given = dict({"simulated": False, "scored": True}, **more)
    answer = advice(seconds, error, given.pop("measured", None))
    return MachineAnswer(path, "device of " + path, advice=answer, **given)


def rows(*machines: MachineAnswer) -> List[Json]:
    return compare(machines)["comparison"]["machines"]


class Judging(unittest.TestCase):
    def test_slower_only_beyond_both_expected_errors(self) -> None:
        for seconds, verdict in (
            (1.01, "no difference"),
            (1.31, "no difference"),
            (1.33, "slower"),
            (20.0, "slower"),
        ):
            first, second = rows(machine("b", seconds, 0.2), machine("a", 1.0, 0.1))
            self.assertEqual((first["label"], first["verdict"], first["ratio"]), ("a", "fastest", 1.0))
            self.assertIsNone(first["combined_error"])
            self.assertEqual((second["label"], second["verdict"], second["ratio"]), ("b", verdict, seconds))
            self.assertAlmostEqual(second["combined_error"], 0.32)

    def test_sentences_name_the_difference_and_the_errors(self) -> None:
        def sentence(seconds: float, **more: Any) -> str:
            return compare([machine("a", 1.0, 0.06), machine("b", seconds, 0.08, **more)])["comparison"][
                "sentences"
            ][0]

        self.assertEqual(
            sentence(1.42),
            "a is predicted to be 1.42 times as fast as b. This is more than the expected errors "
            "(6.0 % and 8.0 %) explain together: 1.14 times.",
        )
        self.assertEqual(
            sentence(1.1),
            "No difference between a and b beyond the expected error (14 %): b is predicted to take "
            "1.10 times as long. The expected errors are 6.0 % and 8.0 %.",
        )
        self.assertIn("their predicted times are equal", sentence(1.0))
        self.assertIn(
            "(6.0 % and at least 8.0 %) explain together: at least 1.14 times", sentence(1.42, scored=False)
        )
        self.assertIn("expected error (at least 14 %): ", sentence(1.1, scored=False))

    def test_measured_times_are_compared_by_their_intervals(self) -> None:
        """Both are predicted to be equal, by predictions that tell nothing."""
        slow, fast = (machine(name, 1.0, 9.0, measured=[x, x * 0.97, x * 1.03], scored=False)
                      for name, x in (("b", 2.2), ("a", 2.0)))  # fmt: skip
        found = compare([slow, fast])["comparison"]
        self.assertEqual([row["label"] for row in found["machines"]], ["a", "b"])
        self.assertEqual([row["measured_s"] for row in found["machines"]], [2.0, 2.2])
        self.assertAlmostEqual(found["machines"][1]["combined_error"], (1 / 0.97) ** 2 - 1)
        self.assertEqual(
            found["sentences"],
            ["a was measured to be 1.10 times as fast as b. This is more than the expected errors "
             "(3.1 % and 3.1 %) explain together: 1.06 times."],
        )  # fmt: skip
        exact = [machine(name, 1.0, 9.0, measured=[x] * 3) for name, x in (("b", 2.01), ("a", 2.0))]
        self.assertEqual(rows(*exact)[1]["verdict"], "no difference")
        self.assertIn("predicted", compare([exact[0], machine("c", 5.0, 0.1)])["comparison"]["sentences"][0])

    def test_each_is_compared_with_the_fastest(self) -> None:
        found = compare(
            [
                MachineAnswer("e", "x", False, None, "no GEMM"),
                machine("c", 3.0, 0.1),
                machine("a", 1.0, 0.1),
                machine("d", 1.1, 0.1),
            ]
        )
        told = [(row["label"], row["verdict"]) for row in found["comparison"]["machines"]]
        self.assertEqual(
            told, [("a", "fastest"), ("d", "no difference"), ("c", "slower"), ("e", "no answer")]
        )
        self.assertEqual([a["pick"]["predicted_s"] for a in found["answers"]], [1.0, 1.1, 3.0])
        self.assertEqual(len(found["comparison"]["sentences"]), 2)
        self.assertEqual(
            [row["serial_s"] for row in found["comparison"]["machines"]], [3.0, 3 * 1.1, 9.0, None]
        )

    def test_equal_times_keep_the_order_in_which_they_were_given(self) -> None:
        self.assertEqual(
            [row["label"] for row in rows(machine("b", 1.0, 0.1), machine("a", 1.0, 0.1))], ["b", "a"]
        )

    def test_one_answer_is_no_comparison(self) -> None:
        found = compare([MachineAnswer("a", "x", False, None, "no GEMM"), machine("b", 1.0, 0.1)])[
            "comparison"
        ]
        self.assertEqual(
            found["sentences"], ["Only b has an answer, so there is nothing to compare it with."]
        )
        self.assertEqual([row["reason"] for row in found["machines"]], [None, "no GEMM"])

    def test_a_model_and_a_machine_do_not_compare_silently(self) -> None:
        for simulated, notes in (
            ((False, False), 0),
            ((True, True), 0),
            ((True, False), 1),
            ((False, True), 1),
        ):
            found = compare([machine(name, 1.0, 0.1, simulated=s) for name, s in zip("ab", simulated)])[
                "comparison"
            ]["notes"]
            self.assertEqual(len(found), notes)
        self.assertIn("(simulated: b; measured: a)", found[0])


class Labels(unittest.TestCase):
    def test_short_and_different(self) -> None:
        for paths, expected in (
            (["offers/a/signature.json", "offers/b"], ["a", "b"]),
            (["a.json", "b.json"], ["a.json", "b.json"]),
            (["/x/y/a/run", "/x/y/b/run/"], ["a/run", "b/run"]),
            (["/x/a", "b"], ["a", "b"]),
            (["a", "a/b"], ["a", "b"]),
            (["a", "a/signature.json", "b"], ["a (1)", "a (2)", "b"]),
            (["x/a", "x/a"], ["a (1)", "a (2)"]),
            ([".", "b"], [".", "b"]),
            (["signature.json", "../b/signature.json"], ["signature.json", "b"]),
            (["/", "/a"], ["/", "a"]),
            (["a\n\x1b", "b"], ["a \ufffd", "b"]),
        ):
            self.assertEqual(labels(paths), expected)


@functools.lru_cache(maxsize=None)
def machines() -> str:
    """A folder with the runs of a machine, `fast`, of one whose links have a quarter of its rate, `slow`, and
    of one that lacks what a model needs, `empty`."""
    holder = tempfile.TemporaryDirectory()
    atexit.register(holder.cleanup)
    slow = asked.MODEL.replace("peer_bandwidth = 61e9", "peer_bandwidth = 15e9")
    for name, found in (
        ("fast", asked.signature()),
        ("slow", measured(slow, asked.DEVICES, asked.NEEDED).signature),
        ("empty", asked.signature(asked.without("micro/peer_matrix"))),
    ):
        folder = Path(holder.name) / name
        folder.mkdir()
        asked.stored(found, folder)
    return holder.name


def errors(median: float) -> Any:
    """Every run found this error of its model."""
    row = {"program": "overlap/ficco", "median": median, "times": 9, "choices": 0}
    return mock.patch.object(ask, "_checked", return_value={"overlap/ficco": row})


@unittest.skipUnless(asked.BUILT, "needs the programs: make")
class Telling(workplace.Scratch):
    slow, fast, empty = "slow", "fast", "empty"

    def setUp(self) -> None:
        super().setUp()
        shutil.copytree(machines(), self.folder, dirs_exist_ok=True)

    def stored(self, name: str) -> str:
        """One more name of the fast machine."""
        shutil.copytree(self.folder / self.fast, self.folder / name)
        return name

    def advise(self, *words: str) -> Tuple[int, str, str]:
        return self.run_command("--cwd", str(self.folder), "advise", *words)

    def json(self, *words: str) -> Json:
        code, out, err = self.advise(*words, *OPTIONS, "--format", "json")
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def test_the_fastest_comes_first_wherever_the_names_stand(self) -> None:
        for words in (
            (self.slow, self.fast, *OPTIONS),
            (self.fast, *OPTIONS, self.slow),
            (*OPTIONS, self.slow, self.fast),
        ):
            code, out, err = self.advise(*words)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(
                " ".join(out.split()),
                r"fast is predicted to be [\d.]+ times as fast as slow\. This is more than",
            )
            self.assertLess(out.index("\nfast: "), out.index("\nslow: "))
            self.assertLess(out.index("\nnotes on fast:\n- "), out.index("\nnotes on slow:\n- "))
            self.assertTrue(out.endswith("\n\nwords: ./gpusig help words\n"))

    def test_answers_are_those_of_each_alone(self) -> None:
        found = self.json(self.slow, self.fast)
        self.assertEqual(found["answers"], [self.json(self.fast), self.json(self.slow)])
        for row, answer in zip(found["comparison"]["machines"], found["answers"]):
            self.assertEqual(
                [row[key] for key in ("predicted_s", "gemm_s", "comm_s", "expected_error")],
                [
                    answer["pick"]["predicted_s"],
                    *(answer[key] for key in ("gemm_s", "comm_s", "expected_error")),
                ],
            )

    @unittest.skipUnless(jsonschema, "jsonschema is not installed")
    def test_json_is_as_the_schema_says(self) -> None:
        path = self.folder / "advice.json"
        for names in (
            (self.slow, self.fast),
            (self.slow, self.empty, self.fast),
            (self.slow,) * 2,
            (self.empty, self.slow),
        ):
            path.write_text(json.dumps(self.json(*names)), encoding="utf-8")
            self.assertEqual(validate.validate_file(path), 0)
        found = self.json(self.slow, self.fast)
        del found["answers"][1]["why"]
        found["comparison"]["machines"][0]["ratio"] = None
        path.write_text(json.dumps(found), encoding="utf-8")
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(validate.validate_file(path), 1)
        self.assertIn("answers/1: record: 'why' is a required property", err.getvalue())
        self.assertIn("comparison/machines/0/ratio", err.getvalue())

    def test_the_same_signature_twice_is_equal(self) -> None:
        found = self.json(self.slow, self.slow + "/signature.json")["comparison"]
        self.assertEqual(
            [(r["label"], r["ratio"], r["verdict"]) for r in found["machines"]],
            [("slow (1)", 1.0, "fastest"), ("slow (2)", 1.0, "no difference")],
        )
        self.assertIn("their predicted times are equal", found["sentences"][0])

    def test_what_is_not_decided_is_said_of_each(self) -> None:
        """Though nothing needs to be measured."""
        with errors(0.5):
            answers = [dict(answer, needs=[]) for answer in self.json(self.slow, self.fast)["answers"]]
        self.assertEqual([a["decided"] for a in answers], [False, False])
        out = comparison_table(
            compare([MachineAnswer(name, "x", False, a) for name, a in zip("ab", answers)])
        )
        self.assertEqual(len(re.findall(r"(?m)^    not decided: \S+ by ", out)), 2, out)

    def test_a_large_error_leaves_no_difference(self) -> None:
        with errors(50.0):
            found = self.json(self.slow, self.fast)["comparison"]
        self.assertEqual(found["machines"][1]["verdict"], "no difference")
        self.assertIs(found["machines"][1]["expected_error_scored"], True)

    def test_a_machine_without_an_answer_is_listed_with_its_reason(self) -> None:
        code, out, err = self.advise(self.empty, self.slow, self.fast, *OPTIONS)
        self.assertEqual((code, err), (0, ""))
        told = " ".join(out.split())
        self.assertIn("no answer: too little was measured: the times depend on peer_bandwidth", told)
        self.assertRegex(told, "fast is predicted to be .* as fast as slow")
        self.assertIn("Only slow has an answer", self.advise(self.slow, self.empty, *OPTIONS)[1])

    def test_all_without_an_answer_end_as_one_does(self) -> None:
        for form in ("table", "json"):
            code, out, err = self.advise(
                self.empty, self.slow, *OPTIONS, "--op", "gemm-rs", "--type", "f16", "--format", form
            )
            self.assertEqual((code, out), (77, ""))
            lines = err.splitlines()
            self.assertEqual(len(lines), 2)
            self.assertTrue(lines[0].startswith("gpusig: advise: empty: "), err)
            self.assertTrue(lines[1].startswith("gpusig: advise: slow: "), err)
            self.assertEqual(code, self.advise(self.slow, *OPTIONS, "--op", "gemm-rs", "--type", "f16")[0])

    def test_what_cannot_be_read_ends_all_with_one_line(self) -> None:
        (self.folder / "broken.json").write_text("{", encoding="utf-8")
        content = json.loads((self.folder / self.slow / "signature.json").read_text(encoding="utf-8"))
        for name, change in (
            ("few.json", {"devices": 3}),
            ("nameless.json", {"provenance": 3}),
        ):
            (self.folder / name).write_text(json.dumps(dict(content, **change)), encoding="utf-8")
        for names, words, code, text in (
            (["none.json"], [], 2, "none.json: No such file"),
            (["broken.json"], [], 1, "broken.json: not JSON"),
            (["few.json"], [], 1, "few.json is malformed"),
            (["nameless.json"], [], 1, "nameless.json is malformed"),
            ([""], [], 2, "empty name"),
            ([], ["--type", "i9"], 2, "--type: "),
            ([], ["--devices", "1"], 2, "--devices"),
            ([], ["--compile"], 2, "--compile takes one signature, not 2"),
            ([], ["--chunks"], 2, "--chunks takes no"),
            ([], ["--format", "xml"], 2, "none of table, json"),
            ([], ["--sides", "3"], 2, "unknown option '--sides'"),
        ):
            got, out, err = self.advise(self.slow, *names, self.fast, *OPTIONS, *words)
            self.assertEqual((got, out, err.count("\n")), (code, "", 1), err)
            self.assertIn(text, err)

    def test_no_line_is_wider_than_a_terminal(self) -> None:
        far = "16384"
        long = [self.stored("%s/%s" % (word * 50, "of a long name" * 8)) for word in ("ab", "c d")]
        for names in ((self.slow, self.fast), (self.slow, self.empty, *long)):
            for words in ((), ("--m", "65536", "--n", far, "--k", "1000", "--devices", "8")):
                code, out, err = self.advise(*names, *OPTIONS, *words)
                self.assertEqual((code, err), (0, ""))
                self.assertLessEqual(max(map(len, out.splitlines())), 80, out)
                self.assertNotIn("...", out)

    def test_checking_the_options_reads_nothing(self) -> None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            codes = [
                driver.main(["--check-options", "advise", *words])
                for words in (
                    ["none", "nowhere", *OPTIONS],
                    ["none", "--chunks"],
                    ["none", "none", "--chunks"],
                    OPTIONS,
                )
            ]
        self.assertEqual((codes, out.getvalue()), ([0, 0, 2, 2], ""))


if __name__ == "__main__":
    unittest.main()
