# SPDX-License-Identifier: BSD-3-Clause
"""Simulated ranks are offered where they can be, and told why not elsewhere."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from suite.run import command, simgrid
from suite.command_error import CANNOT_RUN, CommandError
from suite.run.programs import Program

REAL = Program(simgrid.REAL, Path("bin/collectives/allreduce"), needs=("mpi",))
OTHER = Program("micro/memory", Path("bin/micro/memory"))


class Offer(unittest.TestCase):
    def test_only_where_the_real_program_is_built(self) -> None:
        self.assertEqual([p.name for p in simgrid.offered([OTHER, REAL])], [simgrid.NAME])
        self.assertEqual(simgrid.offered([OTHER]), [])
        self.assertEqual(
            simgrid.offered([Program(simgrid.REAL, Path("x"), unbuilt="not built: needs MPI")]), []
        )

    def test_ranks_run_on_the_host_alone(self) -> None:
        both = [OTHER, *simgrid.offered([REAL])]
        self.assertEqual(simgrid.kept(both, "host:0"), both)
        self.assertEqual(simgrid.kept(both, "sim"), [OTHER])
        with self.assertRaises(CommandError):
            simgrid.kept(both[1:], "sim")

    def test_what_is_missing_is_one_line(self) -> None:
        program = simgrid.offered([REAL])[0]
        with mock.patch("shutil.which", return_value=None):
            self.assertIn("needs SimGrid's smpirun", command.lacks(program, "host"))
        with mock.patch("shutil.which", return_value="/usr/bin/smpirun"):
            self.assertEqual(command.lacks(program, "host"), "")

    def test_a_budget_without_room_is_a_reason(self) -> None:
        with self.assertRaises(CommandError) as refused:
            simgrid.command(simgrid.offered([REAL])[0], Path("logs"), [], False, 1.0)
        self.assertEqual(refused.exception.code, CANNOT_RUN)
        self.assertIn("its share of the budget is 1.0 s", str(refused.exception))


class Words(unittest.TestCase):
    def test_every_rank_has_a_host_and_globals_of_its_own(self) -> None:
        words = simgrid.launcher("4x2", Path("/p.xml"), Path("/p.hosts"))
        self.assertEqual(words[:7], ["smpirun", "-np", "8", "-platform", "/p.xml", "-hostfile", "/p.hosts"])
        self.assertNotIn("-no-privatize", words)

    def test_times_are_read_between_what_the_launcher_says(self) -> None:
        case = {
            "kind": "case",
            "status": "ok",
            "case": {"size": 32},
            "variants": [{"name": "ring", "median_s": 2.5e-6}],
        }
        text = "\n".join(
            ["some words", json.dumps({"kind": "run"}), json.dumps(case), "Execution failed with code 3."]
        )
        self.assertEqual(simgrid.times(text), {("ring", 32): 2.5e-6})


if __name__ == "__main__":
    unittest.main()
