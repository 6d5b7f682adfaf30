# SPDX-License-Identifier: BSD-3-Clause
"""Lines and prefixes of others around a tool's output, and failures that a log reports."""

from __future__ import annotations

import json
import unittest
from typing import Any, Tuple

from tests.reports.judge.compare.test_compare_foreign import Foreign, recorded, text_of


class Logs(Foreign):
    """Prefixes that launchers and log collectors put before every line."""

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
            "line 2 has 'b' before the output of OSU, and most lines have not: remove it (cut -c 3- FILE)",
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
        self.assertIn("has 'beta:' before the output of nccl-tests", self.why_not(both))


class Failures(Foreign):
    """The table is whole, and a line of the log says that the run was not well."""

    # None was seen here: they are from the programs' sources and from public logs.
    LINES = (
        "[osu_util_mpi.h:20] MPI call failed with 5",
        "[osu_util.h:137] CUDA call 'cudaMemcpy(a, b, n, cudaMemcpyDefault)' failed with 700: unknown",
        "[CUDA_ERROR_NO_DEVICE] no device in expression cuInit(0) in int main(int, char**)() : a.cpp:1",
        "CUDA error: unspecified launch failure",
        "HIP error: hipErrorLaunchFailure",
        "CUDA error at bench.cu:12 code=700(cudaErrorIllegalAddress)",
        "Memory access fault by GPU node-4 (Agent handle: 0x1) on address 0x7f. Reason: Page not present or "
        "supervisor privilege.",
        "HW Exception by GPU node-1 (Agent handle: 0x1b0fc990) reason :GPU Hang",
        ":0:rocdevice.cpp :2984: Callback: Queue 0x7d aborting with error : HSA_STATUS_ERROR_EXCEPTION",
        "NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus.",
        "amdgpu 0000:0d:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32783)",
        "[1.5] Memory cgroup out of memory: Killed process 4388 (osu_latency) total-vm:12kB",
        "node01:1:1 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<4242> with error 12, opcode 0",
        "node01:1:1 [0] NCCL WARN NET/OFI Request 0x7f12 completed with error. RC: 5",
        "[1780000000.1] [node01:1:0] ib_mlx5_log.c:171 Transport retry count exceeded on mlx5_0:1/IB",
        "mpirun was unable to launch the specified application as it could not access",
        "PRTE has lost communication with a remote daemon.",
        "[node01:08475] *** Process received signal ***",
        "[mpispawn_0][child_handler] MPI process (rank: 1, pid: 12) terminated with signal 9 -> abort job",
        "[mpispawn_0][child_handler] MPI process (rank: 1, pid: 12) exited with status 1",
        "node01: rank 0 died from signal 9",
        "slurmstepd-node01: error: *** STEP 12.0 ON node01 CANCELLED AT 2026-07-10T11:20:05 ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "=>> PBS: job killed: walltime 60 exceeded limit 30",
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
        "Exited with exit code 137.",
        "command terminated with exit code 137",
        "    Reason:       OOMKilled",
        "      Exit Code:    137",
        "Killed",
        "[1,0]<stderr>:Killed",
        "/var/spool/x: line 3: 1234 Killed                  mpirun -n 2 osu_latency",
        "Aborted (core dumped)",
        "osu_latency: a.c:12: main: Assertion `n > 0' failed.",
    )
    HARMLESS = (
        "x.sh: line 5: 1234 Terminated              nvidia-smi dmon > power.txt",
        "Terminated",
        "node01:1:1 [0] NCCL WARN NET/Socket : NCCL_SOCKET_NTHREADS is greater than the maximum allowed, "
        "setting to 16",
        "node01:1:1 [0] NCCL INFO Cuda failure 'peer access is already enabled'",
        "node01:1:1 [0] NCCL INFO Call to connect returned Connection refused, retrying",
        "node01:1:1 [0] NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system.",
        "WARNING: There was an error initializing an OpenFabrics device.",
        "[1780000000.1] [node01:1:0] parser.c:2036 UCX WARN unused environment variable: UCX_HOME",
        "srun: error: ioctl(TIOCGWINSZ): Inappropriate ioctl for device",
        "srun: job 12 has been allocated resources",
        "command terminated with exit code 0",
        "\tExit status: 0",
        "Exit_status=0 resources_used.walltime=00:01:00",
        "Successfully completed.",
        "export CUDA_LAUNCH_BLOCKING=1; trap 'echo Killed by us' TERM",
        "No CUDA errors; checks of HIP errors are on",
        "amdgpu 0000:0d:00.0: amdgpu: SMU is initialized successfully!",
    )

    def test_lines_of_failures(self) -> None:
        for line in self.LINES:
            with self.subTest(line=line):
                numbers = self.of(text_of("osu_allreduce.txt") + line + "\n").numbers
                (reason,) = {number.reason for number in numbers.values()}
                self.assertTrue(reason.startswith("the log says: " + line.strip()[:60]), reason)

    def test_lines_that_tell_of_no_failure(self) -> None:
        numbers = self.of(text_of("osu_allreduce.txt") + "\n".join(self.HARMLESS) + "\n").numbers
        self.assertEqual({number.reason for number in numbers.values()}, {""})

    def test_a_log_that_is_refused_says_why(self) -> None:
        line = "Invalid value when checking the pattern at 0x7f5e2c000000"
        begun = "Running device_to_device_memcpy_read_ce.\n"
        text = "".join(text_of("nvbandwidth.txt").partition(begun)[:2]) + line + "\n"
        self.assertEqual(self.why_not(text), "cut off, or nvbandwidth did not end; the log says: " + line)
        said = "mpirun was unable to launch the specified application as it could not access"
        self.assertEqual(self.why_not(said + "\n").partition("; the log says: ")[2], said)
        self.assertEqual(
            self.why_not('{"nvbandwidth": {"testcases": 1}}\nx.sh: line 1: 7 Killed   nvbandwidth -j\n'),
            "nvbandwidth.testcases is a number, not an array; the log says: "
            "x.sh: line 1: 7 Killed   nvbandwidth -j",
        )

    def test_our_own_table_without_a_row(self) -> None:
        """Output of device_allgather of four devices for 8 bytes: no header comes before the first row."""
        skipped = "# 8 B float: skipped: 8 bytes are too few for 4 equal parts\n"
        end = "# Out of bounds values : N/A not checked\n# Avg bus bandwidth    : N/A no valid result\n#\n"
        self.assertEqual(
            self.why_not(skipped + end),
            "no case was measured: 8 B float: skipped: 8 bytes are too few for 4 equal parts",
        )

    def test_two_results_of_json_in_a_file(self) -> None:
        for name in Logs.JSON:
            for between in ("\n", "\n$ again\n"):
                with self.subTest(name=name, between=between):
                    self.assertEqual(
                        self.why_not(text_of(name).rstrip("\n") + between + text_of(name)),
                        "several JSON objects where one belongs",
                    )


if __name__ == "__main__":
    unittest.main()
