# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files of a run that is resumed: one line or none, and what is whole is used."""

import contextlib
import fcntl
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from reports.records import jsonl
from suite.run import passes, plan, resume, run
from suite.command_error import CommandError
from suite.run.programs import Program
from suite.run.records import CannotWrite, RecordFile
from tests import level

HOME = Path(__file__).resolve().parents[2]
PROGRAM = Program("micro/a", Path("/bin/a"), primary=("rate",))
NEW = resume.Options(None, 60.0, None, [], None, Path("x"), None, False, [], False, None)
OUTCOME = {
    "status": "ok",
    "exit": 0,
    "reason": "",
    "cases": 2,
    "elapsed_s": 1.5,
    "budget_s": 2.0,
    "out_of_budget": 1,
}
DEEP = "[" * 100_000 + "]" * 100_000
BAD_TEXTS = [
    "true",
    "null",
    "-1",
    "0",
    "1",
    "1" + "0" * 400,
    "1e999",
    "NaN",
    "-Infinity",
    '"\\ud800"',
    '"a\\nb"',
    '""',
    "[]",
    "{}",
    "[[[1]]]",
    '{"a": {"b": [null]}}',
    '[{"where": 3}]',
    '[{"flag": []}]',
    '{"total": "x"}',
    '{"driver": true, "child": 0}',
    DEEP,
    "[" * 4000,
    "1" * 5000,
]


def record(kind, **more):
    return {
        "schema": "gpusig.record",
        "version": "1.0.0",
        "kind": kind,
        "run": "r1",
        "program": "micro/a",
        **more,
    }


def records():
    derived = [{"name": "bandwidth", "variant": "read", "valid": True, "grades": ["noisy"]}]
    yield record(
        "run",
        argv=["a", "--budget", "2s"],
        primary=[{"derived": "bandwidth", "variant": "read", "where": {"size": 1}}],
    )
    for size in (1, 2):
        yield record(
            "case",
            key=f"size={size}",
            case={"size": size},
            status="ok",
            elapsed_s=0.5,
            derived=derived,
            validity={"valid": True, "flags": [{"flag": "noisy", "variant": None}]},
        )
    yield record("end", status="ok", cases={"total": 3, "out_of_budget": 1}, elapsed_s=1.5)


def decided():
    made = resume.Plan(
        "host", "asked for", 1, False, ["micro/*"], 60.0, ["64x64x64"], 5, False, "2026", {"micro/a": OUTCOME}
    )
    return {"schema": "gpusig.plan", "version": "1.0.0", **vars(made)}


def places(value, at=()):
    yield at
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(inner, (*at, key))


def damaged_value(draw, value):
    """JSON text of the value with one place of it replaced or missing."""
    value = json.loads(json.dumps(value))
    *way, last = draw.choice(list(places(value))[1:])
    inner = value
    for key in way:
        inner = inner[key]
    if draw.random() < 0.2:
        del inner[last]
        return json.dumps(value)
    inner[last] = "@here@"
    return json.dumps(value).replace('"@here@"', draw.choice(BAD_TEXTS), 1)


def damaged_bytes(draw, text):
    data = bytearray(text.encode())
    for _ in range(draw.randrange(1, 4)):
        place = draw.randrange(len(data) + 1)
        how = draw.randrange(3)
        if how == 0:
            data[place : place + 1] = bytes([draw.randrange(256)])
        elif how == 1:
            data[place:] = b""
        else:
            data[place:place] = draw.choice(BAD_TEXTS[:-3]).encode()
    return bytes(data)


class Damaged(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, draw, name, text, values):
        """One of its values, its bytes, or nothing is damaged."""
        how = draw.randrange(3)
        if how == 0:
            damage = draw.randrange(len(values))
            lines = [damaged_value(draw, v) if i == damage else json.dumps(v) for i, v in enumerate(values)]
            text = "\n".join(lines) + "\n"
        data = damaged_bytes(draw, text) if how == 1 else text.encode()
        (self.folder / name).write_bytes(data)

    def resumed(self):
        """Do what the driver does with these files before and after it starts programs."""
        lock = resume.Lock(self.folder)
        try:
            going = run.Run(self.folder, resume.load(self.folder / "plan.json"), lock, [PROGRAM], False)
        finally:
            os.close(lock.handle)
        try:
            going.record_file.truncate_partial()
            going.record_file.update()
            for options in (NEW, None):
                total_s, todo = going._todo(options)
            budget, file = plan.Budget(total_s, 0.0), going.record_file
            c = passes.Conditions(todo, file, going._gave_up, budget, False, lambda p: [], lambda: 0.0)
            list(passes.passes(c))
            going.starter._prepare(passes.Start(PROGRAM, 1.0), 1.0, going.record_file.of(PROGRAM.name))
            going._summary(1.0)
            going._judge(0)
            going.plan.save(self.folder / "plan.json")
        finally:
            os.close(going.stop.wake)
            os.close(going.stop._wake_in)

    def test_no_damage_of_records_plan_or_lock_is_more_than_one_line(self):
        lines, owner = list(records()), {"driver": os.getpid(), "child": None}
        refused = 0
        for seed in range(200):
            draw = random.Random(seed)
            self.write(draw, "records.jsonl", "".join(json.dumps(r) + "\n" for r in lines), lines)
            self.write(draw, "plan.json", json.dumps(decided()), [decided()])
            self.write(draw, "lock", json.dumps(owner), [owner])
            with self.subTest(seed=seed), contextlib.redirect_stderr(io.StringIO()):
                try:
                    self.resumed()
                except (CommandError, CannotWrite) as error:
                    refused += 1
                    self.assertEqual(len(str(error).splitlines()), 1)
        self.assertLess(refused, 150)  # the others went on

    def test_of_a_damaged_lock_the_owner_is_unknown_and_nothing_is_stopped(self):
        path = self.folder / "lock"
        with open(path, "wb") as held, patch("os.killpg", side_effect=AssertionError), patch("os.kill"):
            fcntl.flock(held, fcntl.LOCK_EX)
            for text in (
                *BAD_TEXTS,
                '{"driver": 0, "child": 1}',
                '{"driver": -1, "child": -1}',
                '{"driver": true}',
                '{"driver": "1"}',
                '{"driver": 1.5}',
                '{"driver": %s}' % 10**30,
                "\xff",
                "",
            ):
                path.write_text(text, encoding="latin-1")
                with self.assertRaisesRegex(CommandError, "in use by another run .process unknown"):
                    resume.Lock(self.folder)

    def test_a_damaged_record_changes_nothing_and_is_counted(self):
        file = RecordFile(self.folder / "records.jsonl")
        for bad in (
            record("case", key="k", status="ok", elapsed_s=10**400),
            record("case", key="k", status="ok", elapsed_s=float("nan")),
            record("case", key="k", status="ok", elapsed_s=-1),
            record("end", status="ok", cases=[]),
            record("end", status="ok", cases={"total": "3"}),
            record("case", key="k", status="ok", check=[]),
            record("case", key="k", status="ok", check={"timed": -1}),
            record("run", primary=[{"where": [1]}]),
            {**record("run"), "run": None},
        ):
            file.path.write_text(json.dumps(bad) + "\n" + '{"kind": ' + DEEP + "}\n", encoding="utf-8")
            file = RecordFile(file.path)
            file.update()
            self.assertEqual((file.unreadable, file.programs), (2, {}), str(bad)[:99])

    def test_what_cannot_be_written_is_replaced(self):
        path = self.folder / "records.jsonl"
        path.write_text(json.dumps(record("case", key="a\nb\ud800", status="ok")) + "\n", encoding="utf-8")
        file = RecordFile(path)
        file.update()
        self.assertEqual(file.programs["micro/a"].done, ["a b\ufffd"])

    def test_a_plan_of_a_run_before_there_were_soaks_is_none(self):
        path = self.folder / "plan.json"
        path.write_text(
            json.dumps({name: value for name, value in decided().items() if name != "soak"}), encoding="utf-8"
        )
        self.assertFalse(resume.load(path).soak)

    def test_a_plan_that_is_whole_is_loaded_and_one_that_lacks_something_names_it(self):
        path = self.folder / "plan.json"
        path.write_text(json.dumps(decided()), encoding="utf-8")
        self.assertEqual({"schema": "gpusig.plan", "version": "1.0.0", **vars(resume.load(path))}, decided())
        for left_out in ("schema", "device"):
            lacking = {name: value for name, value in decided().items() if name != left_out}
            path.write_text(json.dumps(lacking), encoding="utf-8")
            with self.assertRaisesRegex(
                CommandError, f"plan.json cannot be read as the plan of a run: '{left_out}' is missing"
            ):
                resume.load(path)

    def test_a_plan_of_a_version_that_may_mean_something_else_is_refused(self):
        path = self.folder / "plan.json"
        for change in (
            {"version": "9.0.0"},
            {"version": "1"},
            {"version": "10.0.0"},
            {"version": 1},
            {"schema": "x"},
        ):
            path.write_text(json.dumps({**decided(), **change}), encoding="utf-8")
            with self.assertRaisesRegex(CommandError, "plan.json cannot be read as the plan of a run: "):
                resume.load(path)
        path.write_text(json.dumps({**decided(), "version": "1.7.0"}), encoding="utf-8")
        resume.load(path)

    def test_a_folder_where_a_file_is_first_written_is_one_line(self):
        path = self.folder / "plan.json"
        (self.folder / "plan.json.new").mkdir()
        with self.assertRaisesRegex(CannotWrite, "^cannot write [^\n]*/plan.json.new: Is a directory$"):
            resume.write_json(path, {})


@level.only_all
class Long(unittest.TestCase):
    LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
from pathlib import Path
from suite.run.records import RecordFile
file = RecordFile(Path(sys.argv[1]))
print(file.truncate_partial())
file.update()
print(len(file.of("micro/a").done), file.unreadable, file.of("micro/a").ended)"""

    def test_long_lines_and_many_cases_fit_into_half_a_gibibyte(self):
        many = level.seeds(0, 50_000, 200_000)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "records.jsonl"
            start, case, _, end = records()
            with open(path, "w", encoding="utf-8") as out:
                out.write(json.dumps(start) + "\n")
                samples = "0.00012345678901, " * (31 * 1000 * 1000 // 18)
                out.write(json.dumps({**case, "samples": "@"}).replace('"@"', f"[{samples}1]") + "\n")
                out.write(
                    json.dumps({**case, "key": "too long", "padding": "x" * jsonl.MAX_LINE_BYTES}) + "\n"
                )
                for number in range(many):
                    out.write(
                        json.dumps({**case, "key": f"op=triad footprint={number}", "derived": []}) + "\n"
                    )
                out.write(json.dumps(end) + "\n" + "x" * 40_000_000)
            done = subprocess.run(
                [sys.executable, "-c", self.LIMITED, str(path)],
                cwd=HOME,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(
                done.stdout.split(), ["40000000", str(many + 1), "1", "True"], done.stderr[-500:]
            )


if __name__ == "__main__":
    unittest.main()
