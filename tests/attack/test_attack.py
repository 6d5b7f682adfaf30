# SPDX-License-Identifier: BSD-3-Clause
"""The attack finds faults that are planted: in programs, in a driver, and in what they leave."""

import contextlib
import io
import json
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from random import Random
from unittest import mock

from suite.testing import stages
from tests import level
from tests.attack import __main__ as command
from tests.attack import descriptors, faults, full_disk, judge, kills, kinds, mutations, options, workplace
from tests.attack.workplace import How, Ran, Workplace

END = {
    "schema": "gpusig.record",
    "version": "1.0.0",
    "kind": "end",
    "run": "r1",
    "program": "micro/launch",
    "status": "ok",
    "exit": 0,
    "reason": "",
    "elapsed_s": 0.1,
    "cases": {"total": 1, "ok": 1, "failed": 0, "skipped": 0, "already_done": 0, "out_of_budget": 0},
}
STREAMS = {0: "null", 1: "file", 2: "file"}
# A program with two cases; "$out" is its record file.
PLANTED = """#!/bin/sh
case $* in
*--about*) echo '{"needs": [], "min_devices": 1}'; exit ;;
*--help*) printf '  --size  bytes\\n   default 4K\\n'; exit ;;
*--list*) printf 'size=1\\nsize=2\\n'; exit ;;
esac
out=/dev/null
while [ $# -gt 0 ]; do [ "$1" = --out ] && out=$2; shift; done
"""


class Planted(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name).resolve()
        self.place = Workplace(self.folder, self.folder / "bin", self.folder / "completed")
        self.addCleanup(self.place.kill_all)

    def plant(self, script):
        """Every program that is attacked, with this behaviour."""
        for name in {*kills.PROGRAMS, *faults._CHECKED}:
            path = self.folder / "bin" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(PLANTED + script, encoding="utf-8")
            path.chmod(0o755)

    def plant_driver(self, source):
        self.place.driver = lambda *words: [sys.executable, "-I", "-S", "-c", source, *words]
        (self.folder / "completed" / "logs").mkdir(parents=True)
        for name in (
            "records.jsonl",
            "plan.json",
            "signature.json",
            "lock",
            "logs/progress.json",
            "logs/micro-latency.done",
        ):
            (self.folder / "completed" / name).write_text(json.dumps(END) + "\n", encoding="utf-8")

    def finds(self, what, attempt, seeds=range(3)):
        for seed in seeds:
            found = attempt(Random(seed), self.place)
            self.assertRegex(found or "nothing", what, f"seed {seed}")
            for path in (self.folder / "run", self.folder / "disk"):
                command.remove(path)
            (self.folder / "records.jsonl").unlink(missing_ok=True)

    def test_torn_records(self):
        self.plant('printf \'{"schema": "gpusig\' >>"$out"\n')
        self.finds("incomplete last line|measured 0 times", kills._of_program)
        self.finds(
            "incomplete last line",
            lambda chance, place: descriptors._of_program(chance, place, How(streams=STREAMS)),
        )

    def test_records_that_are_none(self):
        self.plant('echo table >>"$out"\n')
        self.finds("line 1 is no record", kills._of_program)

    def test_records_that_do_not_fit_the_schema(self):
        self.plant('echo "{}" >>"$out"\n')
        self.finds("required property", kills._of_program)

    def test_cases_that_are_lost(self):
        self.plant("")
        self.finds("measured 0 times", kills._of_program)

    def test_a_traceback(self):
        self.plant_driver("raise ValueError")
        self.finds("Traceback", mutations._of_run)
        self.finds("Traceback", mutations._of_report)
        self.finds("Traceback", mutations._of_advice)

    def test_a_crash(self):
        self.plant("kill -SEGV $$\n")
        self.finds(
            "ended by a signal",
            lambda chance, place: judge.ended(place.run(options._of_program(chance, place))),
        )
        self.finds("ended by a signal|does not go on", kills._of_program)

    def test_a_usage_error_of_two_lines(self):
        self.plant("echo a >&2; echo b >&2; exit 2\n")
        command_line = self.place.program("micro/launch", "sim")
        self.finds("a usage error of 2 lines", lambda chance, place: judge.brief(place.run(command_line)))

    def test_a_full_disk_without_a_word(self):
        self.plant("exit 1\n")
        limit = How(limits={workplace.resource.RLIMIT_FSIZE: 4096}, ignored=(signal.SIGXFSZ,))
        self.finds(
            "0 lines say that the disk is full",
            lambda chance, place: full_disk._of_program(chance, place, limit),
        )

    def test_lost_output_that_is_a_success(self):
        self.plant("")
        full = How(streams={**STREAMS, 1: "full"})
        self.finds(
            "success, though stdout is full",
            lambda chance, place: descriptors._of_program(chance, place, full),
        )

    def test_wrong_results_that_count(self):
        self.plant("")
        self.finds("every result is wrong", faults._wrong_results)

    def test_an_unreadable_file_that_is_no_error(self):
        self.plant("")
        self.plant_driver("")
        found = []
        for seed in range(12):
            found.append(faults._folders(Random(seed), self.place) or "")
            command.remove(self.folder / "disk")
        self.assertRegex("\n".join(found), "--out .* is no error")

    def test_a_run_that_cannot_be_resumed(self):
        self.plant("")
        self.plant_driver("import sys; sys.exit(1)")
        self.finds("does not go on", kills._of_run)

    def test_a_hang(self):
        with mock.patch.object(workplace, "HANGS_S", 0.1):
            ran = self.place.run(["sleep", "60"])
        self.assertRegex(judge.ended(ran), "hung")
        self.assertEqual(self.place.left(), [])

    def test_a_program_that_outlives_its_driver(self):
        self.place.run(["sh", "-c", "setsid sh -c 'sleep 60; true' x --out records & exit 0"])
        self.assertRegex(judge.nothing_left(self.place), "left over: .*--out records")
        self.place.kill_all()
        self.assertIsNone(judge.nothing_left(self.place))

    def test_a_process_is_found_while_it_becomes_another_program(self):
        again = 'exec sh -c "$0" "$0" --out records'
        self.place.start(["sh", "-c", again, again])
        for _ in range(level.seeds(60, 300, 300)):
            left = self.place.left()
            self.assertEqual(len(left), 1)
            self.assertRegex(judge.command(left[0]), "^sh -c exec")

    def test_an_empty_environment_is_one(self):
        with subprocess.Popen(["sleep", "60"], env={}) as child:
            self.assertEqual(workplace.given(Path(f"/proc/{child.pid}"), "environ"), b"")
            self.assertEqual(workplace.given(Path(f"/proc/{child.pid}"), "cmdline"), b"sleep\x0060\0")
            child.kill()

    def test_a_case_that_is_repeated(self):
        records = self.folder / "records.jsonl"
        run = {"kind": "run", "run": "r1", "argv": [], "program": "a"}
        case = {"kind": "case", "run": "r1", "program": "a", "key": "k", "status": "ok"}
        second_try = [{**run, "run": "r2", "argv": ["--cases", "x"]}, {**case, "run": "r2"}]
        for rows, holds in (
            ([run, case], True),
            ([run, case, *second_try], True),
            ([run, case, case], False),
            ([run], False),
        ):
            records.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
            self.assertEqual(judge.complete(records, {"a": ("k",)}) is None, holds, rows)

    def test_what_is_right_is_no_fault(self):
        records = self.folder / "records.jsonl"
        records.write_text(json.dumps(END) + "\n", encoding="utf-8")
        self.assertIsNone(judge.whole(records))
        self.assertIsNone(judge.ended(Ran(["a"], -signal.SIGTERM), signal.SIGTERM))
        self.assertIsNone(judge.brief(Ran(["a"], 2, "", "one line\n")))
        records.write_text(json.dumps(END) + "\n{", encoding="utf-8")
        self.assertIsNone(judge.whole(records, cut=True))


class Counts(unittest.TestCase):
    def main(self, attempt, *words):
        """Exit code and output of the command with this attempt as the only kind."""
        out = io.StringIO()
        with (
            mock.patch.dict(command.KINDS, {"planted": kinds.Kind(attempt, 5)}),
            mock.patch.object(command.Shop, "prepare"),
            contextlib.redirect_stdout(out),
        ):
            code = command.main(["planted", *words])
        return code, out.getvalue()

    def test_tried_held_and_failed(self):
        code, said = self.main(lambda chance, place: None)
        self.assertEqual((code, said), (0, "planted      5 tried, 5 held, 0 failed\n"))
        code, said = self.main(lambda chance, place: "two\nlines", "--seed", "7")
        self.assertEqual(
            (code, said),
            (
                1,
                "failed: python3 -m tests.attack planted --seed 7\n  two\n  lines\n"
                "planted      1 tried, 0 held, 1 failed\n",
            ),
        )

    def test_an_attempt_that_breaks_is_a_failure(self):
        code, said = self.main(lambda chance, place: 1 / 0, "--count", "1")
        self.assertEqual(code, 1)
        self.assertIn("ZeroDivisionError", said)

    def test_a_seed_repeats_an_attempt(self):
        drawn = [
            self.main(lambda chance, place: str(chance.random()), "--seed", seed)[1]
            for seed in ("3", "3", "4")
        ]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0].split("\n")[1], drawn[2].split("\n")[1])

    def test_minutes_go_on_with_other_seeds(self):
        given = mock.Mock(kinds=[], minutes=1e-4, seed=None, count=None)
        self.assertEqual(len({task for task, _ in zip(command.tasks_of(given), range(12))}), 12)

    def test_every_kind_is_a_stage(self):
        self.assertEqual(stages.ATTACKS, tuple(kinds.KINDS))


if __name__ == "__main__":
    unittest.main()
