# SPDX-License-Identifier: BSD-3-Clause
"""Names of nodes in names of folders."""

from __future__ import annotations

import os
import random
import re
import unittest
from pathlib import Path
from unittest.mock import patch

from suite import naming
from suite.run import mpi
from suite.command_error import CommandError

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,62}")


class Names(unittest.TestCase):
    def test_a_usual_name_stays(self) -> None:
        for name in ("node1", "gpu-17", "a.b", "n" * 63):
            self.assertEqual(naming.safe(name), name)

    def test_any_name_is_safe_and_keeps_its_own_folder(self) -> None:
        draw = random.Random(1)
        alphabet = "ab/.-\\ \n\0%$*ü\udc80"
        names = {"".join(draw.choices(alphabet, k=draw.randrange(12))) for _ in range(2000)}
        names |= {"x" * 300, "x" * 301, "", "..", "-"}
        made = [naming.safe(name) for name in names]
        self.assertEqual([name for name in made if not _SAFE.fullmatch(name)], [])
        self.assertEqual(len(set(made)), len(names))

    def test_the_node_is_what_slurm_calls_it_else_the_host_up_to_the_first_dot(self) -> None:
        with patch.dict(os.environ, SLURMD_NODENAME="n.3"):
            self.assertEqual(naming.node(), "n.3")
        os_name = os.uname_result(("Linux", "node7.cluster.example", "6.1", "", "x86_64"))
        with patch.dict(os.environ), patch.object(os, "uname", return_value=os_name):
            os.environ.pop("SLURMD_NODENAME", None)
            self.assertEqual(naming.node(), "node7")

    def test_what_a_message_says_is_the_folder_it_means(self) -> None:
        for path in ("a", "50%", "%h/%%p", "100%%"):
            self.assertEqual(naming.expand(naming.unexpanded(Path(path)), "--resume"), path)
        with self.assertRaisesRegex(CommandError, "--out '%z': unknown '%z'"):
            naming.expand("%z", "--out")


class OfAJob(unittest.TestCase):
    def test_what_makes_a_process_a_rank_is_taken_out_and_what_says_where_it_ran_stays(self) -> None:
        of_a_rank = {
            "PMI_RANK": "1",
            "PMIX_RANK": "0",
            "OMPI_COMM_WORLD_SIZE": "4",
            "OMPI_MCA_ess": "x",
            "SLURM_PROCID": "3",
            "SLURM_STEP_ID": "0",
            "SLURM_NTASKS": "4",
            "SLURM_NODELIST": "n[1-4]",
        }
        stays = {
            "SLURM_JOB_ID": "7",
            "SLURM_JOB_NODELIST": "n[1-4]",
            "SLURMD_NODENAME": "n1",
            "OMPI_MCA_btl": "self,tcp",
            "CUDA_VISIBLE_DEVICES": "0",
            "OMPI_MCA_plm": "rsh",
        }
        with patch.dict(os.environ, {**of_a_rank, **stays}):
            mpi.leave_outer_job()
            self.assertEqual([name for name in of_a_rank if name in os.environ], [])
            self.assertEqual({name: os.environ.get(name) for name in stays}, stays)
            self.assertIn("slurm", os.environ["OMPI_MCA_ras"])


if __name__ == "__main__":
    unittest.main()
