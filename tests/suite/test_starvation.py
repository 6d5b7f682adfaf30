# SPDX-License-Identifier: BSD-3-Clause
"""suite/run/starvation.py: who waited for a processor is told from who hangs, whatever else runs."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from suite.run import starvation
from suite.run.starvation import Cores, Session

_TWO = Cores(2, 100.0, 50.0)


def share(program: Session, busy_s: float, stolen_s: float = 0.0) -> float:
    """Starved share of 16 s, on two cores that were busy for so long."""
    now = Cores(2, _TWO.busy_s + busy_s, _TWO.stolen_s + stolen_s)
    return starvation.share(program, _TWO, now, 16.0)


class Share(unittest.TestCase):
    def test_a_thread_that_seldom_had_a_core_was_starved(self) -> None:
        self.assertAlmostEqual(share(Session(1.6, 14.4, 14.4), 32.0), 0.9)

    def test_threads_that_waited_in_turns_were_starved_together(self) -> None:
        self.assertAlmostEqual(share(Session(1.6, 14.4, 3.6), 32.0), 0.9)

    def test_one_that_waits_while_its_like_spins_was_starved(self) -> None:
        self.assertAlmostEqual(share(Session(16.0, 14.4, 14.4), 32.0), 0.9)

    def test_what_hangs_in_a_wait_was_not_though_others_had_all_cores(self) -> None:
        self.assertLess(share(Session(0.05, 1.0, 1.0), 32.0, 10.0), 0.1)

    def test_threads_that_spin_and_wait_for_each_other_were_not(self) -> None:
        self.assertEqual(share(Session(32.0, 48.0, 16.0), 32.0), 0.0)

    def test_many_threads_that_waited_a_little_each_were_not(self) -> None:
        many, now = Session(243.2, 12.8, 0.8), Cores(16, 243.2)
        self.assertAlmostEqual(starvation.share(many, Cores(16), now, 16.0), 0.05)

    def test_what_the_hypervisor_took_counts_for_the_part_of_what_ran(self) -> None:
        self.assertAlmostEqual(share(Session(4.0), 4.0, 12.0), 0.75)
        self.assertAlmostEqual(share(Session(4.0), 16.0, 12.0), 3.0 / 16.0)

    def test_no_time_and_no_account_are_no_starvation(self) -> None:
        self.assertEqual(starvation.share(Session(), _TWO, _TWO, 0.0), 0.0)
        self.assertEqual(share(Session(), 0.0), 0.0)


class Account(unittest.TestCase):
    def test_of_the_processes_of_a_session_alone(self) -> None:
        tick = os.sysconf("SC_CLK_TCK")
        with tempfile.TemporaryDirectory() as folder:
            for pid, name, session in ((7, "a", 7), (8, "b) S 1 (c", 7), (9, "d", 9)):
                threads = Path(folder, str(pid), "task")
                ticks = f"{2 * tick} {tick} 0 {tick}"
                (threads.parent).mkdir()
                (threads.parent / "stat").write_text(
                    f"{pid} ({name}) R 1 {pid} {session} 0 0 0 0 0 0 0 {ticks} 20"
                )
                for thread, waited_ns in ((pid, 3_000_000_000), (pid + 100, 500_000_000)):
                    (threads / str(thread)).mkdir(parents=True)
                    (threads / str(thread) / "schedstat").write_text(f"1 {waited_ns} 1\n")
            found = starvation.of_session(7, Path(folder))
        self.assertEqual(found, Session(8.0, 7.0, 3.0))

    def test_of_the_cores_that_we_may_use(self) -> None:
        tick, mine = os.sysconf("SC_CLK_TCK"), sorted(os.sched_getaffinity(0))
        columns = " ".join(str(n * tick) for n in (1, 2, 4, 100, 200, 8, 16, 32, 3, 3))
        with tempfile.TemporaryDirectory() as folder:
            rows = [
                "cpu " + columns,
                *(f"cpu{core} {columns}" for core in (*mine, max(mine) + 1)),
                "intr 1 2",
            ]
            Path(folder, "stat").write_text("\n".join(rows))
            found = starvation.of_cores(Path(folder))
        self.assertEqual(found, Cores(len(mine), 31.0 * len(mine), 32.0 * len(mine)))

    def test_none_is_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(starvation.of_session(7, Path(folder)), Session())
            self.assertEqual(starvation.of_cores(Path(folder)), Cores(len(os.sched_getaffinity(0))))

    @unittest.skipUnless(os.path.exists("/proc/self/schedstat"), "the kernel keeps no account")
    def test_ours_is_found(self) -> None:
        found = starvation.of_session(os.getsid(0))
        self.assertGreater(min(found.own_s, found.waited_s, found.longest_s), 0.0)
        self.assertGreater(starvation.of_cores().busy_s, 0.0)


if __name__ == "__main__":
    unittest.main()
