# SPDX-License-Identifier: BSD-3-Clause
"""Several runs in one folder: which, in which order, with what, and what of a damaged plan is refused."""

import json
import shlex
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from suite.commands import ab
from suite.run import command, repeats, resume
from suite.command_error import CommandError

PLAN = resume.Plan("sim", "asked for", 7, False, [], 15.0, [], headline=True)
NEW = resume.Options(None, None, None, [], None, None, None, False, [], False, None, repeats=4)


def series(settings, count=3, done=()):
    return repeats.Series(count, settings, PLAN, list(done))


class Order(unittest.TestCase):
    def test_equal_runs_are_numbered(self):
        self.assertEqual([name for _, name, _ in series({"": ""}).names()], ["run-1", "run-2", "run-3"])

    def test_two_settings_are_measured_a_b_b_a(self):
        names = [name for _, name, _ in series({"A": "", "B": "nice"}, 4).names()]
        self.assertEqual(
            names, ["A/run-1", "B/run-1", "B/run-2", "A/run-2", "A/run-3", "B/run-3", "B/run-4", "A/run-4"]
        )

    def test_both_sides_have_the_same_seeds_and_each_its_setting(self):
        both = series({"A": "", "B": "X=1 nice"})
        for number in (1, 2, 3):
            a, b = both.plan_of("A", number), both.plan_of("B", number)
            self.assertEqual((a.seed, b.seed), (6 + number, 6 + number))
            self.assertEqual((a.setting, b.setting), ("", "X=1 nice"))

    def test_a_seed_wraps_where_it_ends(self):
        last = repeats.Series(2, {"": ""}, resume.Plan("sim", "", resume.MAX_SEED, False, [], 1.0, []), [])
        self.assertEqual(last.plan_of("", 2).seed, 0)


class Settings(unittest.TestCase):
    def test_variables_come_first_then_a_command(self):
        self.assertEqual(
            command.split_setting("A=1 B='x y' env C=2 nice"),
            ({"A": "1", "B": "x y"}, ["env", "C=2", "nice"]),
        )
        self.assertEqual(command.split_setting(""), ({}, []))

    def test_what_is_no_setting_is_refused(self):
        for text, words in (("no-such-command-here", "is not a command here"), ("'", "no closing quotation")):
            with self.assertRaisesRegex(CommandError, words):
                command.split_setting(text)

    def test_ab_takes_two_settings_and_a_number_of_runs(self):
        self.assertEqual(ab.settings(["", "X=1"], NEW), {"A": "", "B": "X=1"})
        for words, options in (
            (["X=1"], NEW),
            (["1=", "2", "3"], NEW),
            (["", "X=1"], replace(NEW, repeats=None)),
            (["", "X=\x1b[31m"], NEW),
            (["X=1"], replace(NEW, resume=Path("x"))),
        ):
            with self.assertRaises(CommandError):
                ab.settings(words, options)

    def test_a_stored_setting_is_shown_and_is_that_of_the_command_line(self):
        both, folder = series({"A": "", "B": "X='a b' nice"}), Path("/x/50%")
        given = ab.settings(["", "X='a b' nice"], replace(NEW, resume=folder, repeats=None))
        repeats._agree_settings(both, given, folder)
        for given in ({}, {"A": "", "B": "nice"}, repeats.NO_SETTING):
            with self.assertRaises(CommandError) as refused:
                repeats._agree_settings(both, given, folder)
            command_line = str(refused.exception).rpartition(": ")[2]
            self.assertEqual(
                shlex.split(command_line),
                ["./gpusig", "ab", "--resume", "/x/50%%", "", "X='a b' nice"],
            )
        repeats._agree_settings(series(repeats.NO_SETTING), repeats.NO_SETTING, folder)
        with self.assertRaisesRegex(CommandError, "/x/50% holds equal runs; .* run --resume /x/50%%$"):
            repeats._agree_settings(series(repeats.NO_SETTING), {"A": "", "B": ""}, folder)


class Saved(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def test_what_is_saved_is_loaded(self):
        for settings in ({"": ""}, {"A": "", "B": "X=1"}):
            both = series(settings, done=["run-1"])
            both.save(self.folder)
            self.assertEqual(repeats.load(self.folder), both)

    def test_a_damaged_plan_is_one_line(self):
        series({"": ""}).save(self.folder)
        path = self.folder / repeats.WHOLE
        good = json.loads(path.read_text())
        bad = [
            {**good, name: value}
            for name in ("repeats", "settings", "plan", "done", "schema", "version")
            for value in (None, -1, 0, 10**9, [1], {"C": ""}, "x", {"": "a\nb"}, {"": "nice"}, True, "9.0.0")
        ]
        bad += [
            {name: value for name, value in good.items() if name != left_out}
            for left_out in ("repeats", "settings", "plan", "done")
        ]
        for damaged in bad:
            path.write_text(json.dumps(damaged))
            with self.assertRaisesRegex(
                CommandError, "^[^\n]*cannot be read as the plan of several runs[^\n]*$", msg=damaged
            ):
                repeats.load(self.folder)

    def test_options_that_contradict_are_refused(self):
        one = series({"": ""})
        for options in (
            replace(NEW, repeats=4),
            replace(NEW, repeats=3, budget_s=16.0),
            replace(NEW, repeats=None, seed=8),
            replace(NEW, repeats=None, device="host"),
        ):
            with self.assertRaisesRegex(CommandError, "contradicts"):
                repeats._agree(one, options)
        repeats._agree(one, replace(NEW, repeats=3, budget_s=15.0, seed=7, headline=True))


if __name__ == "__main__":
    unittest.main()
