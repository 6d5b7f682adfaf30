# SPDX-License-Identifier: BSD-3-Clause
"""What others put around a tool's output, and what a log says of failures."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
from test_compare_foreign import Foreign, recorded, text_of


class Logs(Foreign):
    """What launchers and log collectors put before every line."""

    TEXTS = (
        "nccl_tests_broadcast_timestamps.txt",
        "osu_bw.txt",
        "imb_mpi1.txt",
        "nvbandwidth.txt",
        "transferbench_p2p.txt",
        "transferbench_tests.txt",
    )
    JSON = ("nccl_tests_all_reduce.json", "nvbandwidth.json", "google_benchmark.json")
    # As the line's number makes them.
    PREFIXES: Tuple[Tuple[str, Any], ...] = (
        ("mpirun --tag-output", lambda i: "[1,0]<stdout>:"),
        ("mpirun of Open MPI 5", lambda i: "[prterun-node01-41230@1,0]<stdout>: "),
        ("mpirun --timestamp-output", lambda i: "Thu Nov 26 14:06:%02d 2026[1,0]<stdout>:" % (i % 60)),
        ("srun --label", lambda i: " 0: "),
        ("mpiexec -prepend-rank", lambda i: "[0] "),
        ("pdsh, clush", lambda i: "node01: "),
        ("docker compose", lambda i: "bench-1  | "),
        ("kubectl logs --prefix", lambda i: "[pod/bench-x7k2v/main] "),
        ("kubectl logs --timestamps", lambda i: "2026-11-26T14:06:%02d.%09dZ " % (i % 60, i * 997)),
        ("containerd", lambda i: "2026-11-26T14:06:%02d.%09d+01:00 stdout F " % (i % 60, i * 997)),
        ("journalctl", lambda i: "Nov 26 14:06:%02d node01 bench[41230]: " % (i % 60)),
        ("ts", lambda i: "Nov 26 14:06:%02d " % (i % 60)),
        ("cat -n", lambda i: "%6d\t" % (i + 1)),
    )

    def same(self, name: str, content: str) -> None:
        run, whole = self.of(content), recorded(name)
        self.assertEqual((run.numbers, run.provenance), (whole.numbers, whole.provenance))

    def test_prefixes_are_taken_off(self) -> None:
        for name in self.TEXTS + self.JSON:
            lines = text_of(name).rstrip("\n").split("\n")
            for launcher, prefix in self.PREFIXES:
                with self.subTest(name=name, launcher=launcher):
                    self.same(name, "".join("%s%s\n" % (prefix(i), line) for i, line in enumerate(lines)))

    def test_what_open_mpi_recorded(self) -> None:
        numbers = recorded("imb_tagged.txt").numbers
        self.assertEqual(len(numbers), 6)
        self.assertIn("Uniband/2processes/1024/bandwidth", numbers)

    def test_colours_line_ends_and_lines_of_others(self) -> None:
        for name in self.TEXTS + self.JSON:
            text = text_of(name)
            with self.subTest(name=name):
                self.same(name, "\x1b]0;title\x07" + text.replace("\n", "\x1b[0m\r\n\x1b[1;32m"))
        for name in ("imb_mpi1.txt", "nvbandwidth.json"):
            tagged = "".join("[1,0]<stdout>:%s\n" % line for line in text_of(name).rstrip("\n").split("\n"))
            self.same(name, "--- a warning of mpirun ---\n" + tagged + "[1,1]<stderr>:another\n")

    def test_text_around_json(self) -> None:
        for name in self.JSON:
            text = text_of(name)
            with self.subTest(name=name):
                self.same(name, "***WARNING*** CPU scaling is enabled\n" + text + "\ndone in 3 s\n")
                failed = self.of(text + "\nmpirun: process exited on signal 11\n").numbers
                self.assertEqual([n for n in failed.values() if n.value is not None], [])
        self.assertIn("unknown format", self.why_not("hello {\nworld }\n"))

    def test_the_one_line_says_how(self) -> None:
        text = text_of("osu_bw.txt")
        self.assertEqual(
            self.why_not(
                "".join("%s %s\n" % (word, line) for word, line in zip("abcdefghijk", text.split("\n")))
            ),
            "line 2 has 'b' before what OSU prints, which most lines have not: take it off (cut -c 3- FILE)",
        )
        collected = "".join(
            json.dumps({"log": line + "\n", "stream": "stdout"}) + "\n" for line in text.split("\n")
        )
        self.assertEqual(
            self.why_not(collected),
            "a log collector's JSON, an object a line: take out its text (jq -rj .log FILE)",
        )
        self.assertIn("output of several tools", self.why_not(text + text_of("imb_mpi1.txt")))

    def test_a_line_that_only_names_the_tool(self) -> None:
        name = "transferbench_p2p.txt"
        lines = text_of(name).rstrip("\n").split("\n")
        self.same(name, "Running TransferBench v1.52\n" + text_of(name))
        self.same(name, "Running TransferBench v1.52\n" + "".join("0: %s\n" % line for line in lines))

    def test_two_hosts_in_one_log_are_refused(self) -> None:
        lines = text_of("nccl_tests_broadcast_timestamps.txt").rstrip("\n").split("\n")
        both = "".join("%s: %s\n" % (host, line) for line in lines for host in ("node1", "node2"))
        self.assertIn("give each process a file", self.why_not(both))
        both = "".join("%s: %s\n" % (host, line) for line in lines for host in ("alpha", "beta"))
        self.assertIn("has 'beta:' before what nccl-tests prints", self.why_not(both))


if __name__ == "__main__":
    unittest.main()
