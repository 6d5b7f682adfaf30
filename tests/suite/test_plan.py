# SPDX-License-Identifier: BSD-3-Clause
"""Dividing the time, choosing the device, reading durations."""

import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

from suite import duration
from suite.commands import list as listing
from suite.run import command, devices, launch, plan, programs, resume, run
from suite.command_error import CANNOT_RUN, USAGE, CommandError
from suite.run.programs import Backend, Program, select


def program(name, share=1.0):
    return Program(name, Path("/bin") / name, share=share)


class Time(unittest.TestCase):
    def test_shares(self):
        self.assertAlmostEqual(plan.share_s([1.0, 3.0], 60.0), 15.0)
        self.assertAlmostEqual(plan.share_s([3.0], 58.0), 58.0)
        self.assertAlmostEqual(plan.Budget(60.0, 5.0).at(0.5), 35.0)

    def test_never_below_the_least(self):
        self.assertEqual(plan.share_s([1.0] * 9, 0.5), plan.MIN_S)
        self.assertEqual(plan.share_s([1.0], -39.0), plan.MIN_S)
        self.assertEqual(plan.share_s([0.0], 9.0), plan.MIN_S)

    def test_a_limit_is_above_the_budget_and_ends_with_the_run(self):
        budget = plan.Budget(60.0, 0.0)
        self.assertEqual(budget.limit(4.0, 0.0), 27.0)
        self.assertEqual(budget.limit(4.0, 50.0), 25.0)
        self.assertEqual(budget.limit(4.0, 58.0), 19.0)
        self.assertEqual(budget.limit(4.0, 80.0), 19.0)

    def test_what_is_simulated_has_longer_for_the_case_that_it_began(self):
        budget = plan.Budget(10.0, 0.0, grace_s=plan.VIRTUAL_GRACE_S)
        self.assertEqual(budget.limit(1.0, 0.0), 93.0)
        self.assertEqual(budget.limit(1.0, 60.0), 91.0)

    def test_a_device_that_takes_long_to_open_is_waited_for(self):
        self.assertEqual(plan.Budget(1.0, 0.0, 10.0).limit(1.0, 16.0), 16.0 + 4 * 10.0)

    def test_a_short_budget_leaves_time_to_begin_whatever_others_took(self):
        for now in (0.0, 16.0, 99.0):
            self.assertGreaterEqual(plan.Budget(1.0, 0.0).limit(1.0, now), 16.0)

    def test_so_many_programs_take_at_least_so_long(self):
        self.assertAlmostEqual(plan.least_s(22, 0.01), 33.0)
        self.assertAlmostEqual(
            plan.least_s(22, 3.0), 77.0
        )  # opening the device is a part of a program's time
        self.assertAlmostEqual(plan.least_s(2, 0.0, plan.HEADLINE_MIN_S), 1.2)
        self.assertAlmostEqual(plan.least_s(20, 0.0, simulated=1), 20.6)
        self.assertAlmostEqual(plan.least_s(20, 0.0, simulated=4), 29.6)

    def test_what_a_program_lacks_is_known_before_it_is_started(self):
        ranks = Program("c/e", Path("/bin/c/e"), needs=("mpi",))
        with patch.object(command.shutil, "which", lambda name: name):
            self.assertEqual(command.lacks(ranks, "host"), "")
            self.assertEqual(
                command.lacks(ranks, "sim:quiet"), "MPI ranks are not supported on a simulated device"
            )
        with patch.object(command.shutil, "which", lambda name: None):
            self.assertIn("mpirun", command.lacks(ranks, "host"))
        self.assertEqual(command.lacks(program("a/b"), "sim"), "")
        self.assertEqual(command.lacks(Program("a/b", Path("/a"), unbuilt="not built"), "host"), "not built")

    def test_simulated_devices_are_known(self):
        self.assertTrue(devices.is_virtual("sim:quiet:0") and not devices.is_virtual("host:0"))

    def test_the_file_of_a_model_is_found_from_the_users_folder(self):
        there = {
            "sim:a.sim": "sim:/home/u/a.sim",
            "sim:b/a:0-3": "sim:/home/u/b/a:0-3",
            "sim:/x/a.sim": "sim:/x/a.sim",
            "sim:../a.sim?units=2x:0": "sim:/home/u/../a.sim?units=2x:0",
            "sim": "sim",
            None: None,
            "host:0": "host:0",
            "sim:h100?flops_f32=1.5x:0,1": "sim:h100?flops_f32=1.5x:0,1",
            "sim:h100:0-3": "sim:h100:0-3",
        }
        self.assertEqual({device: devices.of_user(device, Path("/home/u")) for device in there}, there)

    def test_devices_of_a_list_are_counted(self):
        lists = {
            "host": 1,
            "cuda:3": 1,
            "host:0,1": 2,
            "cuda:0-7": 8,
            "sim:quiet": 1,
            "sim:quiet:0-3": 4,
            "sim:a/b-1.model": 1,
            "sim:mi300x?peer_bandwidth=2x": 1,
            "sim:mi300x?peer_bandwidth=2x,units=3:0-7": 8,
            "sim:q?links=torus:2x4:0,1": 2,
            "sim:q?links=torus:2x4": 1,
        }
        self.assertEqual({name: devices.count(name) for name in lists}, lists)

    def test_what_needs_several_devices_is_left_out_of_a_run_on_one(self):
        several = Program("a/d", Path("/bin/a/d"), min_devices=2)
        self.assertEqual(devices.kept([program("a/b"), several], "host"), [program("a/b")])
        self.assertEqual(devices.kept([program("a/b"), several], "host:0,1"), [program("a/b"), several])
        with self.assertRaises(CommandError) as refused:
            devices.kept([several], "sim:quiet:0")
        self.assertEqual(refused.exception.code, CANNOT_RUN)
        self.assertIn("a/d needs 2 devices", str(refused.exception))

    def test_ranks_take_a_device_each_where_devices_have_memory(self):
        ranks = Program("c/e", Path("/bin/c/e"), needs=("mpi",))
        self.assertEqual(devices.kept([program("a/b"), ranks], "cuda"), [program("a/b")])
        self.assertEqual(devices.kept([ranks], "cuda:0-3"), [ranks])
        self.assertEqual(devices.kept([ranks], "host"), [ranks])
        settings = command.Settings("cuda:0-3", 1, False, (), Path("records.jsonl"))
        self.assertEqual(
            command.build(ranks, settings, 1.0, command.How(Path("done")))[:3], ["mpirun", "-np", "4"]
        )

    def test_a_start_says_which_variants_and_how_many_samples_it_wants(self):
        settings, one = command.Settings("host", 1, False, (), Path("r")), Program("a/b", Path("/bin/a/b"))
        words = command.build(one, settings, 1.0, command.How(Path("done"), headline=True, needed=True))
        self.assertEqual(words[-4:], ["--done", "done", "--headline", "--headline-variants"])
        words = command.build(one, settings, 1.0, command.How(Path("done"), quick=True))
        self.assertEqual(words[-len(command.OF_CHOICES) :], command.OF_CHOICES)

    def test_ranks_on_the_host_are_as_many_as_compute_at_once(self):
        settings = command.Settings("host", 1, False, (), Path("records.jsonl"))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "e"
            path.write_text("""#!/bin/sh\necho '{"name":"host","devices":64,"why":"","cores":3}'\n""")
            path.chmod(0o755)
            ranks = Program("c/e", path, needs=("mpi",))
            words = command.build(ranks, settings, 1.0, command.How(Path("done")))
        self.assertEqual(words[:3], ["mpirun", "-np", "3"])

    def test_estimates_have_whole_seconds(self):
        self.assertEqual([duration.about(seconds) for seconds in (24.6, 125.0)], ["25 s", "2 min 05 s"])

    def test_durations(self):
        for text, seconds in (("90", 90), ("90s", 90), ("2m", 120), ("1h", 3600), ("0.5", 0.5), ("1.5m", 90)):
            self.assertEqual(duration.parse(text), seconds)
        for text in ("", "s", "-1", "1e3", " 1", "1 s", "1d", "0", "nan", "١"):
            with self.assertRaises(CommandError):
                duration.parse(text)
        self.assertEqual(duration.show(4.21), "4.2 s")
        self.assertEqual(duration.show(125), "2 min 05 s")
        self.assertEqual(duration.show(7300), "2 h 01 min")


class Priority(unittest.TestCase):
    @staticmethod
    def permitting(code):
        return patch("suite.run.launch.subprocess.run", lambda *_, **__: SimpleNamespace(returncode=code))

    def test_the_default_is_what_is_permitted(self):
        with self.permitting(0):
            self.assertEqual(
                (run._nice(None, "host"), run._nice(None, "cuda:0"), run._nice(5, "host")), (-20, -20, 5)
            )
        with self.permitting(1):
            self.assertIsNone(run._nice(None, "host"))
            self.assertIsNone(run._nice(os.getpriority(os.PRIO_PROCESS, 0), "host"))

    def test_a_simulated_device_has_a_priority_of_its_own_only_when_asked(self):
        with self.permitting(0):
            self.assertEqual((run._nice(None, "sim:h100:0-7"), run._nice(-3, "sim")), (None, -3))

    def test_what_is_asked_for_and_not_permitted_is_said(self):
        with self.permitting(1), self.assertRaises(CommandError) as refused:
            run._nice(-5, "host")
        self.assertEqual(refused.exception.code, CANNOT_RUN)
        self.assertEqual(str(refused.exception), "--nice -5 is not permitted to this user")

    def test_what_times_nothing_may_be_lowered_but_is_never_raised(self):
        with patch("suite.run.launch.os.getpriority", lambda *_: 3):
            asked = (-20, 3, 7, None)
            self.assertEqual([launch.nice_of(nice, False) for nice in asked], [3, 3, 7, None])
            self.assertEqual([launch.nice_of(nice, True) for nice in asked], list(asked))
        about = '{"question": "q?", "timed": "%s"}'
        for timed, times in (("nothing: a model", False), ("a copy; nothing else", True)):
            with patch.object(programs, "_ask", lambda *_, timed=timed: about % timed):
                self.assertIs(programs._describe("a/b", Path("/a")).times, times)

    def test_root_in_a_container_is_told_whom_it_disturbs(self):
        cases = (
            (0, {"container": "podman"}, "", "", True),
            (0, {}, "/.dockerenv", "", True),
            (0, {}, "/run/.containerenv", "", True),
            (0, {}, "", "4:cpu:/kubepods/burstable/pod1", True),
            (0, {}, "", "0::/init.scope", False),
            (1000, {"container": "podman"}, "/.dockerenv", "", False),
        )
        for user, variables, file, groups, said in cases:
            with (
                self.subTest(user=user, variables=variables, file=file, groups=groups),
                patch("suite.run.launch.os.geteuid", lambda user=user: user),
                patch.dict("suite.run.launch.os.environ", variables, clear=True),
                patch("suite.run.launch.os.path.exists", lambda path, file=file: path == file),
                patch.object(Path, "read_text", lambda *_, groups=groups, **__: groups),
                patch.object(run, "say") as say,
            ):
                why = "always available; no cuda: no driver"
                for nice in (None, 0, 7, -20):
                    run.say_device(resume.Plan("host", why, 1, False, [], 60.0, [], nice), "seed 1")
                told = [call.args[0] for call in say.call_args_list]
                self.assertEqual(told[:2], ["device host (always available), seed 1", "no cuda: no driver"])
                self.assertEqual(
                    told[8:],
                    [
                        "root in a container: other work here waits while programs run with nice -20; "
                        "--nice 0 shares the cores"
                    ]
                    * said,
                )

    def test_whether_a_child_may(self):
        now = os.getpriority(os.PRIO_PROCESS, 0)
        self.assertIsNone(launch.permitted_nice(now))
        self.assertEqual(launch.permitted_nice(now + 1), now + 1)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, 0), now)


class Listing(unittest.TestCase):
    FOUND = [
        Program("a/b", Path("/a"), "what is it? " * 9, ("gemm",), ("x", "y")),
        Program("c/d", Path("/c"), unbuilt="not built: needs MPI"),
    ]

    def test_a_table_of_80_columns_with_the_needs_below(self):
        lines = listing._table(self.FOUND, 80, False).splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(lines[0], "program  question")
        self.assertEqual(
            [line for line in lines if line[0] != " "][1:], [lines[1], "c/d      not built: needs MPI"]
        )
        self.assertEqual(lines[-2], "           needs: gemm")
        self.assertNotIn("x, y", "".join(lines))

    def test_headline_metrics_when_asked_for(self):
        self.assertIn("           headline metrics: x, y", listing._table(self.FOUND, 80, True).splitlines())

    def test_a_narrow_terminal_leaves_some_columns_to_the_question(self):
        self.assertLessEqual(max(map(len, listing._table(self.FOUND, 10, True).splitlines())), 9 + 24)

    def test_programs_are_chosen_by_name_or_glob(self):
        self.assertEqual([p.name for p in listing._chosen(self.FOUND, ["a/*", "b"])], ["a/b"])
        self.assertEqual(listing._chosen(self.FOUND, []), self.FOUND)
        with self.assertRaises(CommandError) as refused:
            listing._chosen(self.FOUND, ["a/b", "e"])
        self.assertEqual(str(refused.exception), "unknown program 'e'; programs: a/b c/d")

    def test_markdown_is_a_table_that_no_cell_breaks(self):
        rows = listing._markdown([Program("a/b", Path("/a"), "one | two?")]).splitlines()
        self.assertEqual(rows[1], "| --- | --- | --- | --- |")
        self.assertEqual(rows[2], "| a/b | one \\| two? | - | - |")


class Device(unittest.TestCase):
    KNOWN = [Backend("host", 1), Backend("sim", 1), Backend("cuda", 0, "no driver"), Backend("hip", 2)]

    def test_the_first_gpu_that_is_here(self):
        name, why = devices.choose(None, self.KNOWN)
        self.assertEqual(name, "hip")
        self.assertIn("no cuda: no driver", why)

    def test_else_the_host(self):
        self.assertEqual(devices.choose(None, self.KNOWN[:3])[0], "host")
        self.assertEqual(devices.choose(None, [])[0], "host")

    def test_never_another_than_asked_for(self):
        self.assertEqual(devices.choose("sim:a:0-7", self.KNOWN)[0], "sim:a:0-7")
        for spec, code in (("cuda:0", CANNOT_RUN), ("metal", USAGE)):
            with self.assertRaises(CommandError) as caught:
                devices.choose(spec, self.KNOWN)
            self.assertEqual(caught.exception.code, code)
            self.assertIn("host sim hip", str(caught.exception))


class Selection(unittest.TestCase):
    ALL = [program("gemm/split"), program("micro/memory"), program("micro/launch")]

    def test_globs(self):
        names = lambda globs: [p.name for p in select(self.ALL, globs)]
        self.assertEqual(names([]), [p.name for p in self.ALL])
        self.assertEqual(names(["micro/*"]), ["micro/memory", "micro/launch"])
        self.assertEqual(names(["l*", "split"]), ["gemm/split", "micro/launch"])
        with self.assertRaises(CommandError):
            names(["micro/*", "none"])


if __name__ == "__main__":
    unittest.main()
