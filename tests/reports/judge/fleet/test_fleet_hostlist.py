# SPDX-License-Identifier: BSD-3-Clause
"""Lists of nodes as Slurm writes them: known answers, and Slurm's own where it is here."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import List

from reports.judge.fleet.hostlist import MAX_NAMES, BadHostlist, compress, expand, is_name
from tests import brought

KNOWN = (
    ("node3,node17,node18", "node[3,17-18]"),
    ("n08,n09,n10", "n[08-10]"),
    ("n9,n10,n11", "n[9-11]"),
    ("login", "login"),
    ("login,n1", "login,n1"),
    ("n1,n01,n001", "n1,n01,n001"),
    ("n1,n2,m1,m2", "m[1-2],n[1-2]"),
    ("b,a", "a,b"),
    ("rack1n2,rack1n3", "rack1n[2-3]"),
    ("node-a.example", "node-a.example"),
    ("gpu0", "gpu0"),
    ("n0,n00", "n0,n00"),
    ("n98,n99,n100", "n[98-100]"),
    ("n098,n099,n100", "n[098-100]"),
    ("7,8", "7,8"),
)


class Lists(unittest.TestCase):
    def test_known_answers(self) -> None:
        for names, listed in KNOWN:
            self.assertEqual(compress(names.split(",")), listed)
            self.assertEqual(sorted(expand(listed)), sorted(names.split(",")))

    def test_what_is_written_is_read(self) -> None:
        draw = random.Random(5)
        for _ in range(300):
            names = {
                "%s%0*d" % (draw.choice(("n", "node-", "a1b")), draw.randrange(1, 4), draw.randrange(130))
                for _ in range(draw.randrange(1, 60))
            }
            listed = compress(sorted(names))
            found = expand(listed)
            self.assertEqual(len(found), len(names), listed)
            self.assertEqual(set(found), names, listed)

    def test_several_brackets_and_repetition(self) -> None:
        self.assertEqual(expand("r[1-2]n[1,3]x"), ["r1n1x", "r1n3x", "r2n1x", "r2n3x"])
        self.assertEqual(expand("n1,n[1-2], n2"), ["n1", "n2"])

    def test_what_is_no_list(self) -> None:
        for text in (
            "",
            ",",
            "n[1-",
            "n1]",
            "n[[1]]",
            "n[a]",
            "n[3-1]",
            "n[]",
            "n[1-99999999]",
            "n[1-9999][1-9999]",
            "n m",
            "n;rm",
            "n[1-2",
            "$(x)",
            "n[1 2]",
            "ä1",
        ):
            self.assertRaises(BadHostlist, expand, text)
        self.assertEqual(len(expand("n[1-%d]" % MAX_NAMES)), MAX_NAMES)

    def test_names_that_slurm_can_be_told(self) -> None:
        self.assertTrue(all(map(is_name, ("n1", "a-b.c_d", "7"))))
        self.assertFalse(any(map(is_name, ("", "a b", "-x", "a,b", "a[1]", "a;b", "ä", "a\nb", "$(x)"))))


def scontrol(*words: str) -> List[str]:
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, **brought.environment("scontrol")}
        plugins = [
            path for path in variables.get("LD_LIBRARY_PATH", "").split(":") if path.endswith("slurm-wlm")
        ]
        config = Path(folder) / "slurm.conf"  # without one it asks the network
        config.write_text(
            "ClusterName=x\nSlurmctldHost=localhost\n"
            + "".join("PluginDir=%s\n" % path for path in plugins[:1])
        )
        done = subprocess.run(
            ["scontrol", "show", *words],
            env={**variables, "SLURM_CONF": str(config)},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
    return done.stdout.split()


class Slurm(unittest.TestCase):
    def test_slurm_reads_what_is_written(self) -> None:
        for names, listed in KNOWN:
            self.assertEqual(sorted(scontrol("hostnames", listed)), sorted(names.split(",")), listed)

    def test_slurm_writes_what_is_read(self) -> None:
        for names, _ in KNOWN:
            listed = scontrol("hostlist", names)[0]
            self.assertEqual(sorted(expand(listed)), sorted(names.split(",")), listed)


if __name__ == "__main__":
    unittest.main()
