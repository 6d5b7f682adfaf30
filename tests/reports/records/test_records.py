# SPDX-License-Identifier: BSD-3-Clause
"""The reader survives whatever a file holds, and says what it could not use."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import unittest

import synthetic
import workplace
from synthetic import copies, everything, launch, memory

from reports.records import jsonl, validate
from reports.signature.signature import MixedMachines
from suite.run.programs import FOLDERS
from tests import level


class Flags(unittest.TestCase):
    def test_the_schema_has_those_that_are_raised(self) -> None:
        sources = [path for folder in ("bench", *FOLDERS) for path in (workplace.ROOT / folder).rglob("*.c")]
        raised = {
            flag
            for path in sources
            for flag in re.findall(
                r'\bbench_flag(?:_variant|_value)?\(\s*[\w>&.-]+,(?:[^;"]*,)?\s*"(\w+)"',
                path.read_text(encoding="utf-8"),
            )
        }
        case = validate.schema("record")["definitions"]["case"]["properties"]
        flag = case["validity"]["properties"]["flags"]["items"]["properties"]["flag"]
        self.assertEqual(raised, set(flag["enum"]))


class Validate(workplace.Scratch):
    def test_a_file_that_cannot_be_read_is_one_line_and_2(self) -> None:
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(validate.validate_file(self.folder / "none"), 2)
        name = "%s/none" % self.folder
        self.assertEqual(err.getvalue(), "gpusig: validate %s: No such file or directory\n" % name)


class Reading(workplace.Scratch):
    def reasons(self, text: str) -> dict:
        return {reason: len(lines) for reason, lines in self.records(text).bad_records.items()}

    def test_good_file_is_used_whole(self) -> None:
        records = self.records(everything())
        self.assertEqual(records.bad_records, {})
        self.assertEqual(len(records.groups), len(synthetic.ALL))

    def test_cut_off_last_line_is_dropped_and_counted(self) -> None:
        text = copies().text()
        whole = len(self.records(text).groups[("micro/copy_path", "host")].cases)
        lines = text.splitlines(True)[:-1]
        records = self.records("".join(lines)[:-40])
        self.assertEqual(len(records.groups[("micro/copy_path", "host")].cases), whole - 1)
        self.assertEqual(list(records.bad_records), ["cut off at the end of the file"])

    def test_every_truncation_is_survived(self) -> None:
        text = launch().text()
        for length in range(0, len(text), 97):
            self.records(text[:length])

    def test_hostile_lines_are_counted_by_reason(self) -> None:
        bad = {
            "not JSON": ["{", "hello", "{'a': 1}", '{"a": 01}'],
            "not a JSON object": ["[1]", "3", '"text"', "null"],
            "NaN or Infinity is not JSON": ['{"a": NaN}', '{"a": -Infinity}'],
            "a number is too large": ['{"a": 1e999}', '{"a": %s}' % ("9" * 5000), '{"a": -1e31}'],
            "a number is too small": ['{"a": 1e-300}'],
            "an object has the same key twice": ['{"a": 1, "a": 2}'],
            "nested too deeply": [
                "[" * 200000,
                '{"a": %s1%s}' % ("[" * 100, "]" * 100),
                '{"a": ' * 100 + "1" + "}" * 100,
            ],
            "not a gpusig.record": ["{}", '{"schema": "other"}'],
        }
        for reason, lines in bad.items():
            for line in lines:
                with self.subTest(line=line[:40]):
                    records = self.records(launch().text() + line + "\n" + memory().text())
                    self.assertEqual({r: len(n) for r, n in records.bad_records.items()}, {reason: 1})
                    self.assertEqual(len(records.groups), 2)

    def test_not_utf8(self) -> None:
        path = self.folder / "records.jsonl"
        path.write_bytes(launch().text().encode() + b'{"a": "\xff\xfe"}\n')
        self.assertEqual(list(workplace.read(path).bad_records), ["not UTF-8"])

    def test_wrong_types_spoil_one_line_only(self) -> None:
        base = json.loads(memory().text().splitlines()[1])
        wrong = [
            ("key", 5),
            ("status", "maybe"),
            ("status", None),
            ("case", []),
            ("case", {"a": [1]}),
            ("variants", {}),
            ("variants", [3]),
            ("derived", [{"name": 1}]),
            ("derived", "x"),
            ("elapsed_s", "soon"),
            ("facts", {"a": {}}),
            ("check", 1),
            ("validity", {"valid": True, "flags": [1]}),
            ("mechanism", [{"name": "a", "observed": "yes"}]),
            ("version", "2.0.0"),
            ("version", 1),
            ("kind", "other"),
            ("kind", 3),
            ("run", 7),
            ("program", None),
        ]
        for key, bad in wrong:
            with self.subTest(key=key, bad=bad):
                records = self.records(memory().text() + json.dumps(dict(base, **{key: bad})) + "\n")
                self.assertEqual(sum(len(n) for n in records.bad_records.values()), 1)
                self.assertEqual(len(records.groups[("micro/memory", "host")].cases), 6)

    def test_every_key_of_every_record_may_have_any_type(self) -> None:
        lines = [json.loads(line) for line in everything().splitlines()]
        # A case of each program; records that begin and end are alike in all of them.
        kinds = {(line["kind"] == "case" and line["program"], line["kind"]): line for line in lines}
        wrong = itertools.product(kinds.values(), (None, True, -1, 1.5, "x", [], [[]], {}, {"a": None}))
        changes = [{**line, "run": "r1", key: bad} for line, bad in wrong for key in line]
        good = launch().text()
        for changed in changes[:: level.seeds(10, 5, 1)]:
            with contextlib.suppress(
                MixedMachines
            ):  # simulated ranks under another name are refused, and rightly so
                workplace.build(self.records(good + json.dumps(changed) + "\n"))

    def test_megabyte_strings_are_bounded(self) -> None:
        w = launch()
        w.lines[1]["reason"] = "x" * (3 << 20)
        w.lines[1]["status"] = "failed"
        case = next(iter(self.records(w.text()).cases()))
        self.assertLess(len(case.reason), jsonl.MAX_TEXT + 100)

    def test_overlong_line_is_skipped(self) -> None:
        path = self.folder / "records.jsonl"
        good = launch().text().encode()
        path.write_bytes(
            good + b'{"a": "' + b"x" * (jsonl.MAX_LINE_BYTES + 10) + b'"}\n' + memory().text().encode()
        )
        records = workplace.read(path)
        self.assertEqual(list(records.bad_records), ["longer than 32 MiB"])
        self.assertEqual(len(records.groups), 2)

    def test_text_is_made_safe(self) -> None:
        self.assertEqual(jsonl.clean("a\x00b\ud800c\u202ed"), "a\ufffdb\ufffdc\ufffdd")
        self.assertEqual(jsonl.clean("two\nlines"), "two lines")

    def test_every_record_of_a_case_is_kept(self) -> None:
        first, second = launch(run="r1"), launch(run="r2")
        synthetic.retimed(second.lines[1], "enqueue", 2.1e-7)
        second.lines[1]["derived"] = second.lines[1]["derived"][:1]
        group = self.records(first.text() + second.text()).groups[("micro/launch", "host")]
        self.assertEqual(group.repeated, 1)
        self.assertEqual([case.run for tries in group.tries.values() for case in tries], ["r1", "r2"])
        self.assertEqual(
            {d.variant: (d.value, d.tries) for c in group.cases.values() for d in c.derived},
            {"enqueue": ((2.0e-7 + 2.1e-7) / 2, 2), "back_to_back": (2.5e-6, 1), "round_trip": (8e-6, 1)},
        )

    def test_case_without_run_is_not_used(self) -> None:
        text = "".join(launch().text().splitlines(True)[1:])
        self.assertEqual(self.reasons(text), {"a case without its run record before it": 1})

    def test_repeated_simulated_ids_keep_their_devices_apart(self) -> None:
        text = (
            launch(spec="sim:a", run="sim-1", simulated=True).text()
            + launch(spec="sim:b", run="sim-1", simulated=True).text()
        )
        self.assertEqual({device for _, device in self.records(text).groups}, {"sim:a", "sim:b"})

    def test_unknown_keys_are_ignored(self) -> None:
        w = launch()
        for line in w.lines:
            line["novelty"] = {"deep": [1, {"er": None}]}
        self.assertEqual(self.reasons(w.text()), {})


if __name__ == "__main__":
    unittest.main()
