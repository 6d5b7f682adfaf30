# SPDX-License-Identifier: BSD-3-Clause
"""Advice on one question: what was measured for it, what is told, and what is refused."""

from __future__ import annotations

import json
import os
import re
import unittest
from pathlib import Path
from typing import Any, Dict, List, Tuple
from unittest import mock

import workplace

from reports.advice import ask
from reports.advice.measured import off, prefer_measured
from reports.advice.table import wrapped
from reports.records import validate
from reports.records.jsonl import Json

from tests.reports.advice import asked

try:
    import jsonschema
except ImportError:
    jsonschema = None

OPTIONS = "--m 4096 --n 512 --k 512 --devices 4 --op ag-gemm --type bf16".split()
QUESTION = {"m": 4096, "n": 512, "k": 512, "devices": 4, "op": "ag-gemm", "type": "bf16", "operands": "warm"}


class Measured(unittest.TestCase):
    """Predictions of 1 s of serial, 2 s of shard and 3 s of a third one, whose ratios are off by a tenth, and
    whose times by a half."""

    def advice(self, times_s: Dict[str, List[float]], **question: Any) -> Json:
        candidates = [
            {"schedule": name, "copy_method": "engine", "cut": "rows", "predicted_s": seconds}
            for name, seconds in (("serial", 1.0), ("shard", 2.0), ("third", 3.0))
        ]
        advice = {"question": QUESTION, "candidates": candidates, "needs": [{}], "why": ""}
        advice.update(ratio_error=0.1, expected_error=0.5)
        found: Json = {"programs": {}}
        asked.measured_schedules({**QUESTION, **question}, times_s)(found)
        prefer_measured(found, advice)
        return advice

    def names(self, advice: Json) -> List[str]:
        return [c["schedule"] for c in advice["candidates"]]

    def test_what_was_measured_for_this_question_is_the_answer(self) -> None:
        advice = self.advice({"shard": [0.8, 0.79, 0.81], "third": [0.7, 0.69, 0.71]})
        self.assertEqual(self.names(advice), ["third", "shard", "serial"])
        self.assertEqual((advice["pick"]["schedule"], advice["pick"]["measured_s"]), ("third", 0.7))
        self.assertEqual(advice["pick"]["measured_ci_s"], [0.69, 0.71])
        self.assertEqual(advice["needs"], [])
        self.assertIn("measured exactly this question in this run: 2 of the 3 rows", advice["why"])

    def test_ties_are_by_intervals_and_of_others_by_the_error(self) -> None:
        for high, tie in ((0.69, False), (0.71, True)):
            advice = self.advice({"third": [0.6, 0.5, high], "shard": [0.8, 0.7, 0.9]})
            self.assertEqual(next(c["tie"] for c in advice["candidates"] if c["schedule"] == "shard"), tie)
        for seconds, tie in ((0.66, False), (0.67, True)):
            advice = self.advice({"third": [seconds] * 3, "shard": [0.9] * 3})
            self.assertEqual((off(advice), advice["candidates"][2]["tie"]), (0.5, tie))

    def test_predictions_tie_by_the_error_of_ratios(self) -> None:
        advice = self.advice({})
        self.assertEqual((self.names(advice)[0], off(advice)), ("serial", 0.1))
        self.assertEqual([c["tie"] for c in advice["candidates"]], [False] * 3)
        advice["candidates"][1]["predicted_s"] = 1.09
        prefer_measured({"programs": {}}, advice)
        self.assertEqual([c["tie"] for c in advice["candidates"]], [False, True, False])

    def test_only_the_very_question_counts(self) -> None:
        times = {"shard": [0.8, 0.79, 0.81], "third": [0.7, 0.69, 0.71]}
        for change in (
            {"m": 4095},
            {"devices": 3},
            {"op": "a2a-gemm"},
            {"type": "f32"},
            {"operands": "cold"},
        ):
            advice = self.advice(times, **change)
            self.assertEqual({c["measured_s"] for c in advice["candidates"]}, {None}, change)
            self.assertEqual(advice["needs"], [{}])
        self.assertIsNone(self.advice({"third": [0.7, 0.69, 0.71]})["pick"]["measured_s"])


@unittest.skipUnless(asked.BUILT, "needs the programs: make")
class Telling(workplace.Scratch):
    def advise(self, *words: str) -> Tuple[int, str, str]:
        return self.run_command("advise", *words)

    def good(self, *words: str) -> str:
        code, out, err = self.advise(str(asked.run()), *OPTIONS, *words)
        self.assertEqual((code, err), (0, ""))
        return out

    @unittest.skipUnless(jsonschema, "jsonschema is not installed")
    def test_json_is_as_the_schema_says(self) -> None:
        for words in ([], ["--op", "gemm-rs", "--type", "f32"], ["--op", "a2a-gemm-uneven"]):
            found = json.loads(self.good("--format", "json", *words))
            jsonschema.Draft7Validator(validate.schema("advice")).validate(found)
            times = [c["predicted_s"] for c in found["candidates"]]
            self.assertEqual(times, sorted(times))

    def test_the_table_fits_a_terminal_and_nothing_is_cut(self) -> None:
        for words in ([], ["--op", "gemm-ar", "--type", "f32"]):
            out = self.good(*words)
            self.assertLessEqual(max(map(len, out.splitlines())), 80, out)
            answer, told = json.loads(self.good(*words, "--format", "json")), " ".join(out.split())
            texts = [answer["why"], answer["score"], answer["expected_error_text"], *answer["notes"]]
            for text in texts + ([answer["early"]["text"]] if answer["early"] else []):
                self.assertIn(" ".join(text.split()), told)
            self.assertNotIn("...", out)
            self.assertTrue(out.endswith("\n\nwords: ./gpusig help words\n"))

    def test_a_number_stays_with_its_unit(self) -> None:
        for begin in range(60, 80):
            for line in wrapped("x" * begin + " hetero-unfused-1d 12 % of 1.7 ms and 3 s", "note: "):
                self.assertNotRegex(line, r"^ *(%|ms\b|s\b)|(12|1\.7|3|hetero-)$")

    def test_what_is_known_of_the_error_is_told(self) -> None:
        out = " ".join(self.good().split())
        self.assertRegex(out, r"expected error at least [\d.]+ %, by the errors of the fitted keys")
        self.assertIn("score none, so it is not known how often this advice is right here", out)
        row = {"program": "overlap/ficco", "median": 0.9, "times": 12, "choices": 0}
        with mock.patch.object(ask, "_checked", return_value={"overlap/ficco": row}):
            out = " ".join(self.good().split())
        self.assertIn("expected error 90 %: half of the times of overlap/ficco that the run measured", out)
        self.assertRegex(out, "decided not decided: .* and ratios of predictions may be off by 90 %")

    def test_what_was_measured_is_told(self) -> None:
        times = {"serial": [9e-6, 8.9e-6, 9.1e-6], "shard": [7e-6, 6.99e-6, 7.01e-6]}
        asked.stored(asked.signature(asked.measured_schedules(QUESTION, times)), self.folder)
        out = " ".join(self.advise(str(self.folder), *OPTIONS)[1].split())
        self.assertIn("measured in this run of", out)
        self.assertRegex(out, r"schedule shard copy method engine measured 7 µs in this run \(95 %: ")

    def test_wrong_results_are_said(self) -> None:
        def wrong(found: Json) -> None:
            entry = {
                "program": "micro/memory",
                "device": "host",
                "key": "a=1",
                "reason": "wrong result: word 7",
            }
            found["not_measured"] += [
                dict(entry, status="failed", cause="wrong_result", count=2, where={}),
                dict(entry, status="failed", cause="error", count=1, where={}),
            ]

        asked.stored(asked.signature(wrong), self.folder)
        said = "the signature has wrong results: micro/memory on host: wrong result: word 7, and 1 more case"
        for words in ([str(self.folder)], [str(self.folder)] * 2, [str(self.folder), "--compile"]):
            out = self.advise(*words, *OPTIONS)[1]
            self.assertIn(said, re.sub(r"\s+(# )?", " ", out))

    def test_only_a_regular_file_of_a_bounded_size_is_read(self) -> None:
        pipe, large, folder = (self.folder / name for name in ("pipe", "large", "folder"))
        os.mkfifo(pipe)
        (folder / "signature.json").mkdir(parents=True)
        with open(large, "wb") as stream:
            stream.truncate((64 << 20) + 1)
        other = "not a regular file"
        for path, text in (
            (large, "larger than 64 MiB"),
            (folder, other),
            (Path("/dev/zero"), other),
            (pipe, other),
        ):
            code, out, err = self.advise(str(path), *OPTIONS)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(text, err)

    def test_bad_input_is_one_line(self) -> None:
        good, broken, other, few, bare = (
            self.folder / name
            for name in ("signature.json", "broken.json", "other.json", "few.json", "bare.json")
        )
        asked.stored(asked.signature(), self.folder)
        broken.write_text("{", encoding="utf-8")
        other.write_text('{"schema": "gpusig.advice"}', encoding="utf-8")
        few.write_text(json.dumps(dict(asked.signature(), devices=3)), encoding="utf-8")
        bare.write_text(json.dumps(dict(asked.signature(), metrics={}, programs={})), encoding="utf-8")
        for path, words, code, text in (
            (self.folder / "none.json", [], 2, "No such file"),
            (broken, [], 1, "not JSON"),
            (other, [], 1, "not a signature"),
            (few, [], 1, "malformed"),
            (bare, [], 77, "bf16 GEMM is not supported"),
            (good, ["--m", "9" * 5000], 2, "9999' is not a whole number"),
            (good, ["--m", "-1"], 2, "whole number"),
            (good, ["--m", "1,2"], 2, "one number each without --compile"),
            (good, ["--op", "gemm"], 2, "unknown value 'gemm'; values: ag-gemm"),
            (good, ["--type", "i9"], 2, "--type"),
            (good, ["--op", "ag-gemm,gemm-rs"], 2, "one each without --compile"),
            (good, ["--op", "gemm-rs", "--type", "f16"], 77, "not supported"),
            (good, ["--devices", "1"], 2, "--devices"),
            (good, ["--devices", "65"], 2, "--devices"),
            (good, ["--format", "machine"], 2, "none of table, json"),
            (good, ["--compile", "--format", "json"], 2, "--compile takes no --format"),
            (good, ["--compile", "--m", "1:256000000"] * 3, 2, ""),
            (good, ["--chunks"], 2, "--chunks takes no --compile"),
        ):
            got, out, err = self.advise(str(path), *OPTIONS, *words)
            self.assertEqual((got, out, err.count("\n")), (code, "", 1), (words, err))
            self.assertIn(text, err)
        code, out, err = self.advise(str(good), "--chunks")
        self.assertEqual((code, out, err.count("\n")), (77, "", 1))
        self.assertIn("measure them with ./gpusig run --only micro/copy_chunks", err)


if __name__ == "__main__":
    unittest.main()
