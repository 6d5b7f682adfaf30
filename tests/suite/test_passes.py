# SPDX-License-Identifier: BSD-3-Clause
"""The passes of a run: what is measured when."""

import json
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from reports.predict import check
from suite.run import run
from suite.run.passes import INPUTS, SCORED, Conditions, headline, passes, second_tries, soak
from suite.run.plan import Budget
from suite.run.programs import Program
from suite.run.records import RecordFile

HEAD = {"metric": "rate", "derived": "bandwidth", "variant": "read", "where": {"size": 1}}


def program(name, primary=("rate",), share=1.0):
    return Program(name, Path("/bin") / name, primary=primary, share=share)


def line(kind, of, **more):
    return json.dumps({"kind": kind, "run": "r", "program": of, **more}) + "\n"


def begin(of, argv=()):
    return line("run", of, primary=[HEAD], argv=list(argv))


def case(of, size, grades=(), status="ok", elapsed_s=1.0, variant="read", flags=()):
    value = {
        "name": "bandwidth",
        "variant": variant,
        "valid": not flags,
        **({"grades": list(grades)} if grades else {}),
    }
    return line(
        "case",
        of,
        key=f"size={size}",
        case={"size": size},
        status=status,
        elapsed_s=elapsed_s,
        derived=[value],
        validity={"valid": not flags, "flags": [{"flag": flag, "variant": variant} for flag in flags]},
    )


def end(of, total, out_of_budget=0, status="ok"):
    return line("end", of, status=status, cases={"total": total, "out_of_budget": out_of_budget})


class Passes(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.file = RecordFile(Path(holder.name) / "records.jsonl")
        self.gave_up = set()
        self.keys = []

    def write(self, *lines):
        with open(self.file.path, "a", encoding="utf-8") as out:
            out.write("".join(lines))
        self.file.update()

    def conditions(self, total_s=120.0, opening_s=0.01, is_virtual=False):
        budget = Budget(total_s, 0.0, opening_s)
        return Conditions(
            [],
            self.file,
            lambda p: p.name in self.gave_up,
            budget,
            is_virtual,
            lambda p: self.keys,
            lambda: 0.0,
        )

    def run_of(self, todo, now, conditions):
        return passes(replace(conditions, todo=todo, now=now))

    def tries(self, todo, left_s, opening_s=0.0):
        starts = second_tries(replace(self.conditions(opening_s=opening_s), todo=todo), left_s)
        return {s.program.name: s.cases for s in starts}

    def test_first_the_headline_cases_of_all_programs(self):
        todo = [program("a/b", ("x", "y")), program("a/c", ()), program("a/d")]
        first = next(self.run_of(todo, lambda: 0.0, self.conditions()))
        self.assertEqual(
            (first.name, [(s.program.name, s.weight, s.headline) for s in first.starts]),
            ("headline", [("a/b", 2.0, True), ("a/d", 1.0, True)]),
        )
        self.assertAlmostEqual(first.until, 14.4)

    def test_then_what_is_left_of_those_that_did_not_give_up(self):
        todo = [program("a/b"), program("a/c"), program("a/d", share=3.0)]
        going = self.run_of(todo, lambda: 0.0, self.conditions())
        next(going)
        self.write(begin("a/b"), case("a/b", 1), end("a/b", 1), begin("a/d"), case("a/d", 1), end("a/d", 9))
        self.gave_up = {"a/c"}
        curves = next(going)
        self.assertEqual(
            (curves.name, [(s.program.name, s.weight, s.headline) for s in curves.starts]),
            ("curves", [("a/d", 3.0, False)]),
        )

    def test_what_fits_read_comes_before_curves_that_nothing_reads(self):
        names = ("a/b", "gemm/efficiency", "micro/copy_path")
        todo = [program(name) for name in names]
        going = self.run_of(todo, lambda: 0.0, self.conditions())
        next(going)
        for name in names:
            self.write(begin(name), case(name, 1), end(name, 9))
        inputs = next(going)
        self.assertEqual(
            (inputs.name, [s.program.name for s in inputs.starts]),
            ("inputs", ["micro/copy_path", "gemm/efficiency"]),
        )
        self.write(begin(names[1]), end(names[1], 9, 8))
        self.write(begin(names[2]), case(names[2], 2), end(names[2], 9, 7))
        again, curves = next(going), next(going)
        self.assertEqual((again.name, {s.program.name for s in again.starts}), ("again", set(names)))
        self.assertLess(inputs.until, curves.until)
        self.assertEqual((curves.name, [s.program.name for s in curves.starts]), ("curves", ["a/b"]))

    def test_every_program_that_fits_read_is_one_and_is_read(self):
        known = "".join(path.read_text(encoding="utf-8") for path in Path("reports/model").glob("*.py"))
        for name in (*INPUTS, SCORED):
            self.assertTrue(Path(name + ".c").is_file(), name)
        for name in INPUTS:
            self.assertIn('"%s' % name, known)
        self.assertTrue(check.unseen(SCORED))
        self.assertEqual(SCORED, check.SCORED)

    def choices_of(self, conditions, now=40.0):
        todo = [program("a/b"), program(SCORED)]
        going = self.run_of(todo, lambda: now, conditions)
        next(going)
        self.write(begin("a/b"), case("a/b", 1), end("a/b", 1), begin(SCORED), case(SCORED, 1))
        self.write(end(SCORED, 21, 3))
        one = next(going)
        start = one.starts[0]
        self.assertEqual((one.name, start.program.name, start.headline), ("choices", SCORED, False))
        self.write(begin(SCORED), *(case(SCORED, n) for n in range(2, 19)), end(SCORED, 21, 3))
        self.assertNotEqual(next(going).name, "more")
        return start.quick, start.max_s, one.until

    def test_choices_come_before_headline_cases_that_did_not_fit_and_are_quick(self):
        self.assertEqual(self.choices_of(self.conditions()), (True, 30.0, 70.0))

    def test_choices_have_a_quarter_of_a_long_run_and_all_variants(self):
        self.assertEqual(self.choices_of(self.conditions(400.0)), (False, float("inf"), 140.0))

    def test_simulated_choices_have_all_variants(self):
        conditions = self.conditions(is_virtual=True)
        self.assertEqual(self.choices_of(conditions), (False, float("inf"), 70.0))

    def test_choices_end_with_the_run(self):
        self.assertEqual(self.choices_of(self.conditions(), 110.0)[2], 120.0)

    def test_time_that_is_left_goes_to_those_that_had_too_little(self):
        todo = [program("a/b"), program("a/c")]
        going = self.run_of(todo, lambda: 40.0, self.conditions())
        next(going), next(going)
        self.write(
            begin("a/b"),
            case("a/b", 1),
            end("a/b", 9, out_of_budget=8),
            begin("a/c"),
            case("a/c", 1),
            end("a/c", 1),
        )
        again = next(going)
        self.assertEqual((again.name, [s.cases for s in again.starts]), ("again", [("size=1",)] * 2))
        more = next(going)
        self.assertEqual((more.name, [s.program.name for s in more.starts]), ("more", ["a/b"]))
        self.write(begin("a/b"), case("a/b", 2), end("a/b", 9, out_of_budget=7))
        self.assertEqual(next(going).name, "more")
        self.write(begin("a/b"), *(case("a/b", n) for n in range(3, 10)), end("a/b", 9))
        again = next(going)
        self.assertEqual((again.name, [s.cases for s in again.starts]), ("again", [("size=1",)] * 2))
        self.write(
            *(line for of in ("a/b", "a/c") for line in (begin(of, ["x", "--cases", "f"]), case(of, 1)))
        )
        self.assertEqual(list(going), [])

    def test_contended_headline_numbers_have_their_second_try_before_all_others(self):
        clock = [0.0]
        going = self.run_of([program("a/b"), program("a/c")], lambda: clock[0], self.conditions())
        next(going), next(going)
        self.write(
            *(begin("a/b"), case("a/b", 2, ["noisy"]), case("a/b", 1, ["contended"]), end("a/b", 2)),
            *(begin("a/c"), case("a/c", 1), end("a/c", 1)),
        )
        clock[0] = 118.5
        cases = {s.program.name: s.cases for s in next(going).starts}
        self.assertEqual(cases, {"a/b": ("size=1",)})
        self.write(begin("a/b", ["x", "--cases", "f"]), case("a/b", 1, ["contended"]))
        clock[0] = 110.0
        cases = {s.program.name: s.cases for s in next(going).starts}
        self.assertEqual(cases, {"a/b": ("size=1", "size=2"), "a/c": ("size=1",)})

    def test_headline_numbers_that_wait_for_a_second_try_keep_time_for_it(self):
        todo = [program("a/b"), program("a/c")]
        going = self.run_of(todo, lambda: 0.0, self.conditions())
        next(going)
        self.write(
            begin("a/b"),
            case("a/b", 1, ["contended"], elapsed_s=20.0),
            end("a/b", 9),
            begin("a/c"),
            case("a/c", 1, elapsed_s=20.0),
            case("a/c", 2, ["noisy"], elapsed_s=20.0),
            end("a/c", 9),
        )
        self.assertAlmostEqual(next(going).until, 30.0)  # a quarter, as they would need 96 s
        going = self.run_of(todo, lambda: 0.0, self.conditions(total_s=160.0))
        next(going)
        self.assertAlmostEqual(next(going).until, 64.0)
        going = self.run_of(todo, lambda: 0.0, self.conditions(total_s=600.0))
        next(going)
        self.assertAlmostEqual(next(going).until, 420.0)

    def test_missing_headline_numbers_come_before_curves(self):
        """As a run of 240 s left them after 108 s: fixed costs exceeded many shares."""
        todo = [program(n) for n in ("gemm/sustained", "micro/copy_path", "overlap/ficco", "overlap/shaping")]
        clock = [108.0]
        going = self.run_of(todo, lambda: clock[0], self.conditions(total_s=240.0, opening_s=1.0))
        next(going)
        self.write(
            *(begin("gemm/sustained"), case("gemm/sustained", 1, elapsed_s=4.0), end("gemm/sustained", 2, 1)),
            *(begin("micro/copy_path"), case("micro/copy_path", 2, elapsed_s=2.5)),
            *(case("micro/copy_path", 1, elapsed_s=19.7), end("micro/copy_path", 18, 3)),
            *(begin("overlap/ficco"), case("overlap/ficco", 1, ["noisy"], elapsed_s=11.0)),
            end("overlap/ficco", 40),
            *(begin("overlap/shaping"), case("overlap/shaping", 1, flags=["few_samples"], elapsed_s=7.0)),
            end("overlap/shaping", 8, status="invalid"),
        )
        self.assertEqual(next(going).name, "choices")
        more = next(going)
        self.assertEqual(
            (more.name, [(s.program.name, s.headline, s.needed, round(s.max_s, 1)) for s in more.starts]),
            ("more", [("gemm/sustained", True, False, 5.0), ("micro/copy_path", True, True, 34.3)]),
        )
        self.assertAlmostEqual(more.until, 240.0)
        self.write(
            *(begin("gemm/sustained"), case("gemm/sustained", 3, elapsed_s=4.0), end("gemm/sustained", 2)),
            *(begin("micro/copy_path"), case("micro/copy_path", 3, elapsed_s=20.0)),
            end("micro/copy_path", 18, 2),
        )
        more = next(going)
        self.assertEqual([(s.program.name, s.headline) for s in more.starts], [("micro/copy_path", True)])
        self.write(begin("micro/copy_path"), end("micro/copy_path", 18))
        clock[0] = 160.0
        again = next(going)
        self.assertEqual(
            (again.name, [(s.program.name, s.cases, s.max_s) for s in again.starts]),
            ("again", [("overlap/shaping", ("size=1",), 8.0)]),
        )
        self.write(begin("overlap/shaping", ["x", "--cases", "f"]))
        self.write(case("overlap/shaping", 1, flags=["few_samples"], elapsed_s=9.0))
        names = [next(going) for _ in range(3)]
        self.assertEqual([one.name for one in names], ["inputs", "again", "curves"])
        self.assertAlmostEqual(
            names[2].until, 180.0
        )  # a quarter of what is left: headline tries need the rest

    def test_second_tries_leave_a_quarter_of_the_time_to_curves(self):
        clock = [120.0]
        going = self.run_of(
            [program("a/b"), program("a/c")], lambda: clock[0], self.conditions(total_s=240.0)
        )
        next(going)
        self.write(begin("a/b"), case("a/b", 1, ["contended"], elapsed_s=200.0), end("a/b", 4))
        self.write(begin("a/c"), case("a/c", 1), end("a/c", 4))
        curves = next(going)
        self.assertEqual((curves.name, curves.until), ("curves", 150.0))

    def test_what_was_not_started_for_its_curves_is_part_of_the_last_more(self):
        clock = [0.0]
        going = self.run_of([program("a/b")], lambda: clock[0], self.conditions())
        next(going)
        self.write(begin("a/b"), case("a/b", 1), end("a/b", 9))
        self.assertEqual(next(going).name, "curves")
        clock[0] = 85.0
        for _ in range(2):
            self.assertEqual(next(going).name, "again")
            self.write(begin("a/b", ["x", "--cases", "f"]), case("a/b", 1))
        more = next(going)
        self.assertEqual(
            (more.name, [(s.program.name, s.headline, s.weight) for s in more.starts]),
            ("more", [("a/b", False, 8.0)]),
        )

    def test_when_the_time_of_a_pass_is_over_nothing_is_started_again(self):
        started, todo = [], [program("a/b"), program("a/c", ())]
        going = SimpleNamespace(part=None, started={}, record_file=self.file, stop=SimpleNamespace(signum=0))
        going.starter = SimpleNamespace(progress=None)
        going.plan = SimpleNamespace(device="host", full=False, soak=False, headline=False)
        going._gave_up = lambda p: False

        def start(one, *_):
            going.started[one.program.name] = {}
            started.append((one.program.name, one.headline))

        going._start = start
        with mock.patch("suite.run.run.progress.choose"):
            run.Run._measure(going, todo, Budget(100.0, time.monotonic() - 200.0))
        self.assertEqual(started, [("a/b", True), ("a/c", False)])

    def test_one_pass_where_starting_costs_too_much_or_time_is_short(self):
        todo = [program("a/b"), program("a/c")]
        for conditions in (self.conditions(opening_s=10.0), self.conditions(total_s=3.0)):
            self.assertEqual(next(self.run_of(todo, lambda: 0.0, conditions)).name, "curves")

    def test_simulated_results_are_not_tried_again_and_the_curves_have_all_the_time(self):
        todo = [program("a/b")]
        self.write(begin("a/b"), case("a/b", 1, ["noisy"]), end("a/b", 1))
        found = list(self.run_of(todo, lambda: 0.0, self.conditions(is_virtual=True)))
        self.assertEqual([one.name for one in found], ["headline", "curves"])
        self.assertAlmostEqual(found[1].until, 120.0)

    def headlines(self, todo, clock, total_s=60.0):
        return headline(replace(self.conditions(total_s), todo=todo, now=lambda: clock[0]))

    def test_headline_numbers_of_programs_that_are_all_skipped_have_no_pass(self):
        self.assertEqual(list(self.headlines([], lambda: 0.0)), [])

    def test_headline_numbers_alone_have_their_tries_in_the_same_order(self):
        todo, clock = [program("a/b", ("x", "y")), program("a/c")], [0.0]
        going = self.headlines(todo, clock)
        first = next(going)
        self.assertEqual(
            [(s.program.name, s.fixed_s, s.headline) for s in first.starts],
            [("a/b", 0.01 + 6 * 2 / 3, True), ("a/c", 0.01 + 6 / 3, True)],
        )
        self.write(
            begin("a/b"),
            case("a/b", 1, ["contended"]),
            end("a/b", 9),
            begin("a/c"),
            case("a/c", 1, ["noisy"]),
            end("a/c", 9, out_of_budget=2),
        )
        more = next(going)
        self.assertEqual((more.name, more.starts), ("more", first.starts[1:]))
        self.write(begin("a/c"), case("a/c", 2), end("a/c", 9))
        clock[0] = 30.0
        again = next(going)
        self.assertEqual(
            (again.name, [(s.program.name, s.cases, s.fixed_s, s.headline) for s in again.starts]),
            ("again", [(s.program.name, ("size=1",), s.fixed_s, False) for s in first.starts]),
        )
        self.write(begin("a/b", ["--cases", "f"]), case("a/b", 1), end("a/b", 9))
        for _ in range(3):
            again = next(going)
            self.assertEqual((again.name, [s.program.name for s in again.starts][-1]), ("again", "a/c"))
            for of in ("a/b", "a/c"):
                self.write(begin(of, ["--cases", "f"]), case(of, 1), end(of, 9))
        self.assertEqual({self.file.of(of).cases["size=1"].tries for of in ("a/b", "a/c")}, {4, 5})
        self.assertEqual(list(going), [])

    def test_contended_headline_numbers_alone_come_first_where_second_tries_do_not_all_fit(self):
        todo, clock = [program("a/b"), program("a/c"), program("a/d")], [0.0]
        going = self.headlines(todo, clock)
        next(going)
        self.write(
            *(begin("a/b"), case("a/b", 1, elapsed_s=2.0), end("a/b", 1)),
            *(begin("a/c"), case("a/c", 1, ["contended"], elapsed_s=5.0), end("a/c", 1)),
            *(begin("a/d"), case("a/d", 1, ["noisy"]), end("a/d", 1)),
        )
        clock[0] = 53.0
        self.assertEqual([s.program.name for s in next(going).starts], ["a/c", "a/d"])

    def test_headline_numbers_alone_with_too_few_samples_have_a_longer_second_try_first(self):
        todo, clock = [program("a/b"), program("a/c")], [0.0]
        going = self.headlines(todo, clock)
        next(going)
        self.write(
            *(begin("a/b"), case("a/b", 1, ["contended"]), end("a/b", 1)),
            *(begin("a/c"), case("a/c", 1, flags=["few_samples"], elapsed_s=7.0), end("a/c", 1)),
        )
        (start,) = next(going).starts
        self.assertEqual((start.program.name, start.cases, start.fixed_s), ("a/c", ("size=1",), None))
        self.assertAlmostEqual(start.max_s, 7.01)
        self.write(begin("a/c", ["--cases", "f"]), case("a/c", 1, flags=["few_samples"], elapsed_s=7.0))
        for _ in range(3):
            self.assertEqual([s.program.name for s in next(going).starts], ["a/b"])
            self.write(begin("a/b", ["--cases", "f"]), case("a/b", 1))
        self.assertEqual(list(going), [])

    def test_what_does_not_fit_is_given_up_when_the_time_is_over(self):
        todo, clock = [program("a/b")], [0.0]
        going = self.headlines(todo, clock)
        next(going)
        self.write(begin("a/b"), case("a/b", 1), end("a/b", 9, out_of_budget=2))
        self.assertEqual(next(going).name, "more")
        clock[0] = 61.0
        self.assertEqual(list(going), [])

    def test_simulated_headline_numbers_alone_are_measured_once(self):
        todo = [program("a/b")]
        self.write(begin("a/b"), case("a/b", 1, ["contended"]), end("a/b", 1))
        found = list(headline(replace(self.conditions(is_virtual=True), todo=todo)))
        self.assertEqual([one.name for one in found], ["headline"])

    def test_second_tries_by_urgency(self):
        todo = [program("a/b"), program("a/c")]
        self.write(
            begin("a/b"),
            case("a/b", 1),
            case("a/b", 2, ["noisy"]),
            case("a/b", 3),
            end("a/b", 3),
            begin("a/c"),
            case("a/c", 1, ["contended"]),
            end("a/c", 1),
        )
        self.assertEqual(self.tries(todo, 1.0), {"a/c": ("size=1",)})
        self.assertEqual(self.tries(todo, 2.0), {"a/c": ("size=1",), "a/b": ("size=1",)})
        self.assertEqual(self.tries(todo, 99.0), {"a/c": ("size=1",), "a/b": ("size=1", "size=2")})
        self.assertEqual(self.tries(todo, 3.0, opening_s=0.7), {"a/c": ("size=1",)})

    def test_another_variant_that_is_noisy_makes_a_headline_number_no_more_urgent(self):
        todo = [program("a/b"), program("a/c")]
        self.write(
            begin("a/b"), case("a/b", 1, ["noisy"], variant="write"), begin("a/c"), case("a/c", 1, ["noisy"])
        )
        self.assertEqual(self.tries(todo, 1.0), {"a/c": ("size=1",)})

    def test_tries_are_counted_and_what_failed_is_not_tried_again(self):
        todo, few = [program("a/b"), program("a/c"), program("a/d")], ["few_samples"]
        self.write(begin("a/b"), case("a/b", 1, ["noisy"]), case("a/b", 2, ["noisy"]))
        self.write(begin("a/c"), case("a/c", 1, status="failed"), begin("a/d"), case("a/d", 1, flags=few))
        tried = [self.tries(todo, 99.0)]
        for _ in range(3):
            self.write(begin("a/b", ["--cases", "f"]), *(case("a/b", n, ["noisy"]) for n in (1, 2)))
            self.write(begin("a/d", ["--cases", "f"]), case("a/d", 1, flags=few))
            tried.append(self.tries(todo, 99.0))
        first, then = {"a/d": ("size=1",), "a/b": ("size=1", "size=2")}, {"a/b": ("size=1",)}
        self.assertEqual(tried, [first, then, then, {}])

    def test_a_second_try_takes_at_most_three_times_as_long(self):
        self.write(begin("a/b"), case("a/b", 1, elapsed_s=2.0))
        (start,) = second_tries(replace(self.conditions(opening_s=0.5), todo=[program("a/b")]), 99.0)
        self.assertAlmostEqual(start.max_s, 6.5)

    def test_a_second_try_that_was_killed_leaves_the_program_finished(self):
        self.write(begin("a/b"), case("a/b", 1), case("a/b", 2), end("a/b", 5, out_of_budget=3))
        status = self.file.of("a/b")
        self.assertTrue(status.finished)
        self.write(begin("a/b", ["x", "--cases", "f"]), case("a/b", 1))
        self.assertTrue(status.finished and not status.ended and status.out_of_budget == 3)
        self.write(end("a/b", 5))
        self.assertTrue(status.finished and status.ended and status.out_of_budget == 3)
        self.write(
            begin("a/b", ["x", "--cases", "f"]),
            case("a/b", 1, status="failed"),
            end("a/b", 5, status="failed"),
        )
        self.assertFalse(status.finished)

    def soaking(self, todo, clock, total_s=120.0):
        return soak(replace(self.conditions(total_s), todo=todo, now=lambda: clock[0]))

    def test_a_soak_repeats_what_was_measured_least_until_the_time_is_over(self):
        clock, todo = [0.0], [program("a/b"), program("a/c", share=3.0)]
        going = self.soaking(todo, clock)
        first = next(going)
        self.assertEqual(
            [(s.program.name, s.weight, s.cases) for s in first.starts], [("a/b", 1.0, ()), ("a/c", 3.0, ())]
        )
        self.assertEqual((first.name, first.until), ("soak", 20.0))
        self.write(
            begin("a/b"),
            case("a/b", 1),
            case("a/b", 2, status="failed"),
            end("a/b", 2, status="failed"),
            begin("a/c"),
            case("a/c", 1),
            end("a/c", 9, out_of_budget=8),
        )
        clock[0] = 20.0
        second = next(going)
        self.assertEqual([s.cases for s in second.starts], [("size=1", "size=2"), ()])
        self.assertEqual(second.until, 40.0)
        self.write(
            begin("a/b", ["--cases", "f"]),
            case("a/b", 1),
            end("a/b", 2, out_of_budget=1),
            begin("a/c"),
            case("a/c", 2),
            case("a/c", 3, status="skipped"),
            end("a/c", 3),
        )
        clock[0] = 95.0
        third = next(going)
        self.assertEqual([s.cases for s in third.starts], [("size=2",), ("size=1", "size=2")])
        self.assertEqual(third.until, 120.0)
        self.write(case("a/b", 2), case("a/c", 1))
        clock[0] = 120.0
        self.assertEqual(list(going), [])

    def test_what_measures_nothing_is_not_started_again_nor_what_gave_up(self):
        going = self.soaking([program("a/b"), program("a/c"), program("a/d")], [0.0])
        next(going)
        self.gave_up = {"a/d"}
        self.write(begin("a/c"), case("a/c", 1), end("a/c", 1), begin("a/d"), case("a/d", 1), end("a/d", 1))
        self.assertEqual([s.program.name for s in next(going).starts], ["a/c"])
        self.assertEqual(list(going), [])

    def test_a_soak_starts_every_program_once_though_the_time_is_over(self):
        self.assertEqual(
            [len(one.starts) for one in self.soaking([program("a/b"), program("a/c")], [2.0], total_s=1.0)],
            [2],
        )


if __name__ == "__main__":
    unittest.main()
