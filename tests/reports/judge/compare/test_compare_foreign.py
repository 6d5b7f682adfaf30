# SPDX-License-Identifier: BSD-3-Clause
"""Other tools' files: what was read in them by eye, and whatever else a file may hold. foreign/README.md has
their origin."""

from __future__ import annotations

import json
import os
import random
import unittest
from pathlib import Path
from typing import Any, Dict, List, Tuple
from unittest import mock

import workplace

from reports.judge.compare.foreign import found as limits
from reports.judge.compare.foreign import read
from reports.judge.compare.numbers import BadNumbers, Number, RunNumbers
from reports.judge.compare.provenance import KINDS
from tests import level

FILES = workplace.ROOT / "tests" / "reports" / "foreign"
ALL = sorted(path for path in FILES.iterdir() if path.suffix != ".md")
REFUSED = ("osu_mbw_mr_varied.txt",)
TOKENS = [
    b"NaN",
    b"-inf",
    b"1e400",
    b"9" * 5000,
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"#",
    b"\n",
    b'"',
    b",",
    b"{",
    b"}",
    b"null",
    b"-1",
    b"\xe2\x80\xae",
    b"\t",
    b"N/A",
    b"[[]]",
    b"1e-400",
    b"true",
    b"\r",
    "٣".encode(),
    b"0",
    b" ",
]
MUTATIONS = level.seeds(20, 200, 200)


class Foreign(workplace.Scratch):
    def of(self, content: Any, name: str = "file") -> RunNumbers:
        """Numbers read from a text, bytes or an object of JSON."""
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        path = self.folder / "content"
        if path.exists():  # ext4 waits for the disk where a file is truncated and written again
            path.unlink()
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return read(path, name)

    def why_not(self, content: Any, name: str = "file") -> str:
        """The message, without the name."""
        with self.assertRaises(BadNumbers) as caught:
            self.of(content, name)
        text = str(caught.exception)
        self.assertTrue(text.startswith("file: ") and text.isprintable(), text)
        self.assertLess(len(text), 400)
        return text[len("file: ") :]

    def sound(self, run: RunNumbers) -> None:
        """Check the duties of every reader to the verdict, the table and the page."""
        self.assertTrue(run.numbers)
        for text in (
            run.source,
            run.started,
            run.machine,
            run.device,
            *run.provenance,
            *run.provenance.values(),
        ):
            self.assertTrue(text.isprintable(), text)
        for field in run.provenance:
            self.assertIn(field.partition(": ")[0], KINDS)
        for name, number in run.numbers.items():
            self.assertTrue(name.isprintable() and len(name) <= limits.MAX_NAME)
            self.assertTrue(
                (number.label + number.condition + number.group + number.reason + number.unit).isprintable()
            )
            self.assertEqual(number.value is None, bool(number.reason), name)
            self.assertTrue(number.value is None or abs(number.value) < 1e60)
            self.assertIn(number.better, ("higher", "lower", None))
            self.assertTrue(number.better or not number.judged, name)


def shown(number: Number) -> Tuple[Any, str, Any, bool]:
    value = None if number.value is None else float("%.9g" % number.value)
    return value, number.unit, number.better, number.judged


def recorded(name: str) -> RunNumbers:
    return read(FILES / name, name)


def content_of(name: str) -> Any:
    return json.loads((FILES / name).read_text(encoding="utf-8"))


def text_of(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


class TransferBench(Foreign):
    def test_the_matrices(self) -> None:
        run = recorded("transferbench_p2p.txt")
        self.sound(run)
        self.assertEqual(len(run.numbers), 36)
        path = "p2p/%s/GFX/local_read/67108864/%s"
        for name, expected in {
            path % ("unidirectional", "CPU00/GPU01"): (26.48e9, "byte/s", "higher", True),
            path % ("unidirectional", "GPU01/GPU00"): (76.31e9, "byte/s", "higher", True),
            path % ("bidirectional", "GPU00/GPU01/there"): (68.62e9, "byte/s", "higher", False),
            path % ("bidirectional", "GPU00/GPU01/back"): (68.68e9, "byte/s", "higher", False),
            path % ("bidirectional", "GPU00/GPU01/total"): (137.3e9, "byte/s", "higher", True),
        }.items():
            self.assertEqual(shown(run.numbers[name]), expected, name)
        self.assertTrue(run.numbers[path % ("bidirectional", "GPU01/GPU01/total")].unavailable)
        self.assertEqual(run.provenance["library: TransferBench"], "1.52")

    def test_tests_of_a_file(self) -> None:
        run = recorded("transferbench_tests.txt")
        self.sound(run)
        two = "test2/G0->GPU00:004->G1+G1->GPU01:004->G0/"
        self.assertEqual(
            {name: shown(n)[0] for name, n in run.numbers.items() if n.judged},
            {
                "test1/G0->GPU00:004->G1/transfer0/67108864": 33.52e9,
                two + "transfer0/67108864": 33.1e9,
                two + "transfer1/67108864": 32.9e9,
            },
        )
        borders = recorded("transferbench_borders.txt")
        self.assertEqual(shown(borders.numbers["test1/G0->G0:4->G1/transfer0/67108864"])[0], 1033.52e9)
        plain = text_of("transferbench_borders.txt").replace("│", " ")
        self.assertEqual(self.of(plain).numbers, borders.numbers)

    def test_what_fails_or_is_cut(self) -> None:
        text = text_of("transferbench_tests.txt")
        wrong = "\n[ERROR] Unexpected mismatch at index 12 of destination array 0:\n"
        self.assertEqual(
            {n.reason for n in self.of(text + wrong).numbers.values()},
            {"TransferBench says: " + wrong.strip()},
        )
        self.assertIn("TransferBench says", self.why_not(text.partition("Test 2")[0] + "Test 2:" + wrong))
        self.assertIn("before the one above has ended", self.why_not(text.replace(" Aggregate", " x")))
        p2p = text_of("transferbench_p2p.txt")
        self.assertIn("did not end", self.why_not(p2p.partition("Bidirectional")[0]))
        self.assertIn("is in two tables", self.why_not(p2p + p2p))
        self.assertIn("is not a row of its matrix", self.why_not(p2p.replace("27.10       661.20", "661.20")))
        self.assertIn("other presets are not read", self.why_not("TransferBench v1.52\nGPU-GFX Scaling\n"))


class Imb(Foreign):
    def test_the_tables(self) -> None:
        run = recorded("imb_mpi1.txt")
        self.sound(run)
        self.assertEqual((run.started, len(run.numbers)), ("2026-11-26T14:16:09", 30))
        for name, expected in {
            "PingPong/2processes_2waiting/1024/t": (4.15e-6, "s", "lower", True),
            "PingPong/2processes_2waiting/1024/bandwidth": (246.58e6, "byte/s", "higher", False),
            "Allreduce/2processes_2waiting/512/t_avg": (11.01e-6, "s", "lower", True),
            "Allreduce/4processes/512/t_avg": (22.65e-6, "s", "lower", True),
            "Allreduce/4processes/512/t_max": (24.67e-6, "s", "lower", False),
            "Barrier/2processes_2waiting/t_avg": (4.95e-6, "s", "lower", True),
        }.items():
            self.assertEqual(shown(run.numbers[name]), expected, name)
        self.assertEqual(run.provenance["library: Intel MPI Benchmarks"], "2021.11")

    def test_megabytes_of_old_versions(self) -> None:
        text, name = text_of("imb_mpi1.txt"), "PingPong/2processes_2waiting/1024/bandwidth"
        for version, factor in (("2018", 1e6), ("2019 Update 6", 1e6), ("2017", 1 << 20), ("4.1", 1 << 20)):
            run = self.of(text.replace("2021.11", version))
            self.assertAlmostEqual(run.numbers[name].value, 246.58 * factor, 3)
            self.assertEqual(run.provenance["library: Intel MPI Benchmarks"], version)

    def test_groups(self) -> None:
        run = recorded("imb_groups.txt")
        self.sound(run)
        self.assertEqual(
            run.numbers["Multi-PingPong/2groups_of_2processes/group1/1024/t"].condition,
            "1 KiB, 2 groups of 2 processes, group 1",
        )

    def test_defects_and_what_did_not_run(self) -> None:
        """Built with -DCHECK; the recorded run had no defects and ended one size by its time limit."""
        run = recorded("imb_check.txt")
        self.sound(run)
        bad = {name: n.reason for name, n in run.numbers.items() if n.reason}
        self.assertEqual(set(bad), {"Uniband/2processes/1024/" + w for w in ("bandwidth", "message_rate")})
        self.assertTrue(all(reason.startswith("time-out.; Time limit") for reason in bad.values()))
        failed = self.of(text_of("imb_check.txt").replace("0.97         0.00", "0.97         0.50"))
        self.assertEqual(
            {name for name, n in failed.numbers.items() if n.reason.startswith("the validation failed")},
            {"Allreduce/2processes/512/t_" + what for what in ("min", "max", "avg")},
        )

    def test_what_is_refused(self) -> None:
        text = text_of("imb_mpi1.txt")
        self.assertIn("is in two tables", self.why_not(text + text))
        self.assertIn("did not end", self.why_not(text.partition("# All processes")[0]))
        begun = text.partition("# Benchmarking Allreduce")[0]
        self.assertIn("before the one above has ended", self.why_not(begun + text))
        row = "         1024           50         4.15       246.58\n"
        self.assertIn("tables are mixed", self.why_not(text.replace(row, row + row)))


class GoogleBenchmark(Foreign):
    def test_one_run(self) -> None:
        run = recorded("google_benchmark.json")
        self.sound(run)
        for name, expected in {
            "copy/4096/real_time": (4.71171702e-08, "s", "lower", True),
            "copy/4096/cpu_time": (4.70071569e-08, "s", "lower", False),
            "copy/65536/real_time": (1.17036292e-06, "s", "lower", True),
            "copy/65536/bytes_per_second": (5.59901349e10, "byte/s", "higher", False),
            "copy/4096/items_per_second": (2.12733563e7, "1/s", "higher", False),
            "count/real_time": (4.13926294e-10, "s", "lower", True),
            "count/depth": (3.0, "1", None, False),
            "count/nothing": (None, "1", None, False),
            "broken/real_time": (None, "s", "lower", True),
        }.items():
            self.assertEqual(shown(run.numbers[name]), expected, name)
        self.assertEqual(run.numbers["broken/real_time"].reason, "error: no such device")
        self.assertEqual(run.numbers["count/endless"].reason, "not a finite number")
        self.assertEqual(
            (run.source, run.started, run.machine, run.numbers["count/depth"].condition),
            ("Google Benchmark", "2026-11-24T08:12:58+00:00", "host, 2 CPUs, 2596 MHz", "with counters"),
        )
        self.assertFalse(
            [field for field in run.provenance if "date" in field or "load" in field or "executable" in field]
        )

    def test_repetitions_are_one_run_with_their_median(self) -> None:
        run = recorded("google_benchmark_repetitions.json")
        self.sound(run)
        # 51.6, 49.8, 123.9, 108.7 and 98.2 ns in the file
        self.assertEqual(shown(run.numbers["copy/4096/real_time"])[0], 9.81946878e-08)
        self.assertEqual(len(run.numbers), 4)
        self.assertEqual(run.provenance["options: compiler"], "g++-12")
        content = content_of("google_benchmark_repetitions.json")
        aggregates = [entry for entry in content["benchmarks"] if entry["run_type"] == "aggregate"]
        for entry in aggregates:
            entry.update(real_time=1e9, time_unit="s")
        self.assertEqual(self.of(json.dumps(content, indent=2)).numbers, run.numbers)
        self.assertGreater(len(aggregates), 3)

    def test_aggregates_alone_give_their_median(self) -> None:
        run = recorded("google_benchmark_aggregates.json")
        self.assertEqual(shown(run.numbers["copy/65536/real_time"])[0], 1.16745412e-06)
        self.assertEqual(len(run.numbers), 4)

    def test_two_benchmarks_of_one_name_are_refused(self) -> None:
        def of(first: Dict[str, Any], second: Dict[str, Any]) -> Any:
            entries = [{"name": "a", "real_time": 100}, {"name": "a", "real_time": 900}]
            return {"context": {}, "benchmarks": [{**e, **own} for e, own in zip(entries, (first, second))]}

        one = {"family_index": 0, "per_family_instance_index": 0, "repetition_index": 0}
        for first, second in (
            (one, {**one, "family_index": 1}),
            (one, {**one, "per_family_instance_index": 1, "repetition_index": 1}),
            (one, {**one, "label": "unaligned"}),
            ({"repetition_index": 0}, {"repetition_index": 0}),
            ({"label": "aligned"}, {"label": "unaligned"}),
            ({"run_type": "aggregate", "aggregate_name": "median", "run_name": "a", "family_index": 0},)
            + ({"run_type": "aggregate", "aggregate_name": "median", "run_name": "a", "family_index": 1},),
        ):
            with self.subTest(first=first, second=second):
                self.assertEqual(
                    self.why_not(of(first, second)),
                    "two benchmarks have the name a: give each a name of its own",
                )
        for first, second in (({}, {}), (one, {**one, "repetition_index": 1, "label": "93 % hit"})):
            self.assertEqual(self.of(of(first, second)).numbers["a/real_time"].value, 500 * 1e-9)

    def test_an_error_in_one_repetition(self) -> None:
        content = content_of("google_benchmark_repetitions.json".replace("_repetitions", "_aggregates"))
        entry = dict(content["benchmarks"][0], name="b", run_name="b", run_type="iteration")
        content["benchmarks"] = [
            entry,
            dict(entry, error_occurred=True, error_message="lost\nit"),
            dict(entry),
        ]
        self.assertEqual(self.of(content).numbers["b/real_time"].reason, "error: lost it")
        content["benchmarks"] = [dict(entry, skipped=True, skip_message="one core")]
        number = self.of(content).numbers["b/real_time"]
        self.assertEqual((number.reason, number.unavailable), ("skipped: one core", True))

    def test_units_of_time_and_files_before_run_type(self) -> None:
        for unit, factor in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)):
            run = self.of(
                {
                    "context": {},
                    "benchmarks": [{"name": "a", "real_time": 2.5, "cpu_time": 2, "time_unit": unit}],
                }
            )
            self.assertAlmostEqual(run.numbers["a/real_time"].value / factor, 2.5, 9)
        entry = {"name": "a", "real_time": 1, "time_unit": "day"}
        self.assertIn(
            "the unit of time 'day' is unknown", self.why_not({"context": {}, "benchmarks": [entry]})
        )
        old = [
            {"name": "a" + suffix, "real_time": value}
            for suffix, value in (("_mean", 5), ("_median", 3), ("_stddev", 1))
        ]
        self.assertEqual(self.of({"context": {}, "benchmarks": old}).numbers["a/real_time"].value, 3 * 1e-9)


class Osu(Foreign):
    def test_what_each_table_says(self) -> None:
        for name, count, metric, expected in (
            ("osu_latency.txt", 7, "mpi_latency/MPI_CHAR/8/avg_latency", (0.15e-6, "s", "lower", True)),
            (
                "osu_bw.txt",
                7,
                "mpi_bandwidth/MPI_CHAR/65536/bandwidth",
                (4896.73e6, "byte/s", "higher", True),
            ),
            (
                "osu_allreduce.txt",
                5,
                "mpi_allreduce_latency/MPI_CHAR/4/avg_latency",
                (0.48e-6, "s", "lower", True),
            ),
            (
                "osu_allreduce_full.txt",
                9,
                "mpi_allreduce_latency/MPI_CHAR/2048/max_latency",
                (1.10e-6, "s", "lower", False),
            ),
            ("osu_barrier.txt", 1, "mpi_barrier_latency/avg_latency", (0.18e-6, "s", "lower", True)),
            (
                "osu_iallreduce.txt",
                8,
                "mpi_non_blocking_allreduce_latency/MPI_CHAR/1024/overlap",
                (0.0204, "fraction", "higher", False),
            ),
            (
                "osu_iallreduce.txt",
                8,
                "mpi_non_blocking_allreduce_latency/MPI_CHAR/2048/overall",
                (2.55e-6, "s", "lower", True),
            ),
            ("osu_latency_types.txt", 5, "mpi_latency/MPI_INT/4/avg_latency", (0.16e-6, "s", "lower", True)),
            (
                "osu_mbw_mr.txt",
                16,
                "mpi_multiple_bandwidth_message_rate/pairs_1/window_size_64/MPI_CHAR/1024/bandwidth",
                (5393.55e6, "byte/s", "higher", True),
            ),
            (
                "osu_mbw_mr.txt",
                16,
                "mpi_multiple_bandwidth_message_rate/pairs_1/window_size_64/MPI_CHAR/8/message_rate",
                (8286398.65, "1/s", "higher", False),
            ),
        ):
            with self.subTest(name=name):
                run = recorded(name)
                self.sound(run)
                self.assertEqual((shown(run.numbers[metric]), len(run.numbers)), (expected, count))
                self.assertEqual(
                    (run.source, run.provenance),
                    ("OSU micro-benchmarks", {"library: OSU micro-benchmarks": "7.4"}),
                )
        self.assertEqual(
            recorded("osu_bw.txt").numbers["mpi_bandwidth/MPI_CHAR/65536/bandwidth"].condition,
            "MPI_CHAR, 64 KiB",
        )

    def test_a_failed_validation(self) -> None:
        numbers = recorded("osu_allreduce_full_failed.txt").numbers
        self.assertEqual({n.reason for n in numbers.values()}, {"the validation failed"})
        self.assertEqual(len(numbers), 6)

    def test_varied_windows_are_refused(self) -> None:
        with self.assertRaises(BadNumbers) as caught:
            recorded("osu_mbw_mr_varied.txt")
        self.assertIn("window sizes (-V) is not read", str(caught.exception))

    def test_version_5_and_accelerators(self) -> None:
        run = self.of(
            "# OSU MPI-CUDA Latency Test v5.3.2\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE "
            "(D)\n"
            "# Size          Latency (us)\n0                       1.50\n8                       2.25\n"
        )
        self.assertEqual(
            [(name, n.value) for name, n in run.numbers.items()],
            [
                ("mpi_latency/CUDA/D_D/0/avg_latency", 1.5e-6),
                ("mpi_latency/CUDA/D_D/8/avg_latency", 2.25e-6),
            ],
        )
        self.assertEqual((run.device, run.provenance["library: OSU micro-benchmarks"]), ("CUDA", "5.3.2"))

    def test_tables_in_a_file(self) -> None:
        """No table says how many ranks it had, so the second of a name is not a repetition of the first."""
        self.assertEqual(len(self.of(text_of("osu_barrier.txt") + text_of("osu_bw.txt")).numbers), 8)
        twice = text_of("osu_allreduce.txt") + text_of("osu_allreduce.txt").replace("0.48", "0.74")
        self.assertEqual(
            self.why_not(twice),
            "mpi_allreduce_latency/MPI_CHAR is in two tables, from lines 4 and 13, whose conditions may "
            "differ: give a file a run",
        )
        table = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_%s.\n# Size  Avg Latency(us)\n%s  1.50\n"
        self.assertIn("is in two tables", self.why_not(table % ("CHAR", 8) + table % ("CHAR", 16)))
        self.assertEqual(len(self.of(table % ("CHAR", 8) + table % ("INT", 16)).numbers), 2)
        twice = text_of("osu_barrier.txt") + text_of("osu_barrier.txt").replace("0.18", "0.24")
        self.assertIn("is in two tables", self.why_not(twice))

    def test_buffers_threads_and_pairs_are_in_the_name(self) -> None:
        table = (
            "# OSU MPI-ROCM Latency Test v5.9\n# Send Buffer on DEVICE (D) and Receive Buffer on %s\n"
            "# Size          Latency (us)\n8                       %s\n"
        )
        run = self.of(table % ("DEVICE (D)", "2.25") + table % ("HOST (H)", "4.50"))
        self.assertEqual(
            {name: n.value for name, n in run.numbers.items()},
            {"mpi_latency/ROCM/D_D/8/avg_latency": 2.25e-6, "mpi_latency/ROCM/D_H/8/avg_latency": 4.5e-6},
        )

    def test_threads_processes_and_partitions_are_in_the_name(self) -> None:
        """By hand: osu_latency_mt.c and osu_latency_mp.c of 7.4, which say them above the title; a later
        version does below. What is above a title is of no other."""
        title = "\n# OSU MPI %s Latency Test v7.4\n"
        rows = "# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n8                       1.50\n"
        threads = "# Number of Sender threads: %d \n# Number of Receiver threads: 2\n"
        processes = (
            "# Number of forked processes in sender: %d\n# Number of forked processes in receiver: 2\n"
        )
        above = "".join((threads % n) + title % "Multi-threaded" + rows for n in (1, 2))
        below = "".join(title % "Multi-threaded" + (threads % n) + "\n" + rows for n in (1, 2))
        for content in (above, below):
            self.assertEqual(
                list(self.of(content + title % "" + rows).numbers),
                [
                    "mpi_multi_threaded_latency/sender_threads_%d/receiver_threads_2/MPI_CHAR/8/avg_latency"
                    % n
                    for n in (1, 2)
                ]
                + ["mpi_latency/MPI_CHAR/8/avg_latency"],
            )
        forked = "".join((processes % n) + title % "Multi-process" + rows for n in (1, 2))
        self.assertEqual(len(self.of(forked).numbers), 2)
        parted = "".join(title % "Partitioned" + "# Partitions: %d\t\n" % n + rows for n in (4, 8))
        self.assertEqual(len(self.of(parted).numbers), 2)
        self.assertIn("is in two tables", self.why_not(above + above))

    def test_mixed_tables_are_refused(self) -> None:
        lines = text_of("osu_latency.txt").split("\n")
        self.assertEqual(
            self.why_not("\n".join(lines[:7] + lines[5:])),
            "line 8 has no larger size than the row above: tables are mixed; give each a file",
        )
        barrier = text_of("osu_barrier.txt")
        self.assertIn("tables are mixed", self.why_not(barrier + "             0.19\n"))

    def test_an_error_that_the_log_says(self) -> None:
        """Those of MPICH are recorded (4.0.2: a rank that calls MPI_Abort, one that sends to no rank, one
        that is killed, MPIEXEC_TIMEOUT); KILLED BY SIGNAL is by hand, of Intel MPI."""
        for error in (
            "DATA VALIDATION ERROR: ./osu_allreduce exited with status 1 on message size 8",
            "Abort(1) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1) "
            "- process 1",
            "Abort(604654086) on node 1 (rank 1 in comm 0): Fatal error in internal_Send: Invalid rank, "
            "error stack:",
            "Abort(604654086) on node 1 (rank 1 in comm 0): ",  # another rank's line cut it
            "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
            "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
            "[mpiexec@node01] APPLICATION TIMED OUT, TIMEOUT = 2s",
            "=   KILLED BY SIGNAL: 9 (Killed)",
        ):
            with self.subTest(error=error):
                numbers = self.of(text_of("osu_allreduce.txt") + error + "\n").numbers
                self.assertEqual({n.reason for n in numbers.values()}, {"the log says: " + error.strip()})

    def test_a_last_line_without_end(self) -> None:
        self.assertIn("cut off", self.why_not(text_of("osu_latency.txt").rstrip("\n")))


class Csv(Foreign):
    HEADER = "metric,unit,better,value\n"

    def test_the_file(self) -> None:
        run = recorded("metrics.csv")
        self.sound(run)
        self.assertEqual(
            {name: shown(n) for name, n in run.numbers.items()},
            {
                'copy, "big"': (1250.5e9, "byte/s", "higher", True),
                "launch": (3.5e-6, "s", "lower", True),
                "offset": (-2.0, "s", "lower", False),
                "hole": (None, "1", "higher", True),
                "errors": (0.0, "count", "lower", True),
                "odd": (None, "s", "lower", True),
            },
        )
        self.assertEqual(
            [run.numbers[name].reason for name in ("hole", "odd")], ["no value", "not a finite number"]
        )

    def test_what_is_refused(self) -> None:
        for rows, why in (
            ("a,s,lower,1\na,s,lower,2\n", "row 3 has the metric 'a' again"),
            ("a,s,less,1\n", "better is higher or lower"),
            ("a,s,lower,fast\n", "not a number"),
            ("a,s,lower\n", "row 2 has 3 columns, not 4"),
            (",s,lower,1\n", "no metric"),
            ("", "no number in this output of CSV"),
            ('"a"b,s,lower,1\n', "is not CSV"),
            ('"a,s,lower,1\n', "is not CSV"),
            ("%s,s,lower,1\n" % ("n" * 500), "a name of 500 characters"),
            ("a,s,lower,1_000\n", "not a number"),
            ("a,s,lower,٣\n", "not a number"),
            ("a,s,lower,%s\n" % ("9" * 500), "not a number"),
        ):
            with self.subTest(why=why):
                self.assertIn(why, self.why_not(self.HEADER + rows))
        for cut in ("a,s,lower,101.26\nb,s,lower,1", "a,s,lower,1\nb,s,lower", 'a,s,lower,1\n"b'):
            self.assertIn("cut off: the last line has no end", self.why_not(self.HEADER + cut))
        self.assertIn("no column better", self.why_not("metric,value,unit\na,1,s\n"))
        self.assertIn("each once", self.why_not("metric,unit,better,value,value\n"))
        self.assertIn("each once", self.why_not("metric,unit,better,value,comment\n"))
        self.assertIn(
            "judged is yes or no", self.why_not("metric,unit,better,value,judged\na,s,lower,1,maybe\n")
        )
        with mock.patch.object(limits, "MAX_METRICS", 100):
            rows = ["m%d,s,lower,1\n" % i for i in range(101)]
            self.assertEqual(len(self.of(self.HEADER + "".join(rows[:100])).numbers), 100)
            self.assertEqual(self.why_not(self.HEADER + "".join(rows)), "more than 100 metrics")

    def test_a_byte_order_mark_and_values_at_the_ends(self) -> None:
        run = self.of(
            b"\xef\xbb\xbf" + self.HEADER.encode() + b"a,s,lower,1e-40\nb,s,lower,1e40\nc,s,lower,-Infinity\n"
            b"d,GB/s,higher,1e30\ne,s,lower,1e400\n"
        )
        self.assertEqual([n.value for n in run.numbers.values()], [None, None, None, None, None])


class Hostile(Foreign):
    def outcome(self, content: bytes) -> bool:
        """True if it was read; anything but BadNumbers fails the test."""
        try:
            run = self.of(content)
        except BadNumbers as why:
            self.assertTrue(str(why).isprintable() and len(str(why)) < 400, why)
            return False
        self.sound(run)
        return True

    def test_the_same_content_has_the_same_identity(self) -> None:
        runs = [recorded(path.name) for path in ALL if path.name not in REFUSED]
        self.assertEqual(len({run.identity for run in runs}), len(runs))
        self.assertEqual(
            self.of((FILES / "metrics.csv").read_bytes(), "other"),
            RunNumbers(**dict(vars(recorded("metrics.csv")), name="other")),
        )

    def test_cut_off_anywhere(self) -> None:
        """A part that is read gives the numbers of the whole. Only tables of OSU and tests of TransferBench
        and CSV, which have no end of their own, may be fewer."""
        for path in ALL:
            content = path.read_bytes()
            whole = {} if path.name in REFUSED else recorded(path.name).numbers
            step = level.seeds(13, 3, 1) * (1 if len(content) < 2500 else 29)
            for length in range(0, len(content), step):
                try:
                    numbers = self.of(content[:length]).numbers
                except BadNumbers as why:
                    self.assertTrue(str(why).isprintable() and len(str(why)) < 400, why)
                    continue
                with self.subTest(path=path.name, length=length):
                    if path.name.startswith(("osu", "metrics", "transferbench_tests")):
                        self.assertLessEqual(set(numbers.items()), set(whole.items()))
                    else:
                        self.assertEqual(numbers, whole)

    def test_changed_bytes(self) -> None:
        for path in ALL:
            content, read_anyway = path.read_bytes(), 0
            for seed in range(MUTATIONS):
                chance, changed = random.Random("%s %d" % (path.name, seed)), bytearray(content)
                for _ in range(chance.choice((1, 2, 8))):
                    at = chance.randrange(len(changed))
                    if chance.random() < 0.5:
                        changed[at] = chance.randrange(256)
                    else:
                        changed[at : at + chance.choice((0, 1, 6))] = chance.choice(TOKENS)
                with self.subTest(path=path.name, seed=seed):
                    read_anyway += self.outcome(bytes(changed))
            if level.ALL and path.name not in REFUSED:
                self.assertGreater(
                    read_anyway, 5, path.name
                )  # the changes reach what is behind the recognition

    def test_changed_values_of_json(self) -> None:
        strange: List[Any] = [
            None,
            True,
            0,
            -1,
            1e308,
            -1e308,
            10**19,
            2**63,
            "",
            "nan",
            "9" * 600,
            [],
            {},
            [[]],
            {"a": {}},
            "\ud800",
            "\u202e<b>",
            [None],
            1e-320,
        ]

        def places(value: Any, path: Tuple = ()) -> List[Tuple]:
            inner = (
                value.items()
                if isinstance(value, dict)
                else enumerate(value)
                if isinstance(value, list)
                else ()
            )
            return [path] + [place for key, v in inner for place in places(v, path + (key,))]

        for name in ("nccl_tests_all_reduce.json", "nvbandwidth.json", "google_benchmark_aggregates.json"):
            whole = text_of(name)
            found = places(json.loads(whole))[1:]
            for seed in range(MUTATIONS):
                chance, content = random.Random(seed), json.loads(whole)
                *path, last = chance.choice(found)
                value = content
                for key in path:
                    value = value[key]
                value[last] = chance.choice(strange)
                with self.subTest(name=name, seed=seed):
                    self.outcome(json.dumps(content).replace("Infinity", "1e999").encode())

    def test_names_are_shown_and_never_more(self) -> None:
        evil = "<script>alert(1)</script>\u202e\x1b[31m=cmd|' /C calc'!A0\n../../etc"
        csv = 'metric,unit,better,value\n"%s",<b>,lower,1\n' % evil
        entry = {"name": evil, "real_time": 1, evil: 2, "label": evil}
        benchmark = {"context": {"host_name": evil, evil: evil}, "benchmarks": [entry]}
        bandwidth = {
            "nvbandwidth": {
                "version": evil,
                "GPU Device list": ["0: %s (0:1): (h)" % evil],
                "testcases": [
                    {"name": evil, "status": evil, "bandwidth_description": evil, "bandwidth_matrix": [["1"]]}
                ],
            }
        }
        for content in (
            csv,
            benchmark,
            bandwidth,
            "# OSU %s\n# Size  Latency (us)\n1  2\n" % evil.replace("\n", " "),
        ):
            run = self.of(content)
            self.sound(run)
            self.assertEqual(
                [name for name in run.numbers if "\x1b" in name or "\u202e" in name or "\n" in name], []
            )
        self.assertEqual(self.why_not(b"", "file"), "empty")
        with self.assertRaises(BadNumbers) as caught:
            self.of(b"", "a\nb\x1b")
        self.assertEqual(str(caught.exception), "a b\ufffd: empty")

    def test_what_is_no_file_or_of_no_format(self) -> None:
        loop, pipe = self.folder / "loop", self.folder / "pipe"
        loop.symlink_to(loop)
        os.mkfifo(pipe)
        for path, why in (
            (self.folder, "not a regular file"),
            (pipe, "not a regular file"),
            (loop, "symbolic links"),
            (self.folder / "none", "No such file"),
            (Path("/dev/zero"), "not a regular file"),
            (Path("a\0b"), "null"),
        ):
            with self.subTest(path=path), self.assertRaises(BadNumbers) as caught:
                read(path, "file")
            self.assertIn(why, str(caught.exception))
        for content, why in (
            (b" \n\t", "empty"),
            (b"\xef\xbb\xbf", "empty"),
            (b"hello\n", "unknown format"),
            (b"[1, 2]", "unknown format"),
            (b"{}", "unknown format"),
            (b'{"a": 1', "not JSON"),
            (b"\x80\x81", "not UTF-8"),
            (b"\0" * 100, "unknown format"),
            ("# OSU\n".encode("utf-16"), "not UTF-8"),
            (b'{"context": {}, "benchmarks": []}', "no number"),
            (b'{"context": {}, "context": {}}', "same key twice"),
            (b'{"a":' * 5000, "nested too deeply"),
            (b'{"x": NaN}', "NaN or Infinity is not JSON"),
        ):
            with self.subTest(content=content[:20]):
                self.assertIn(why, self.why_not(content))

    def test_a_file_that_is_too_large(self) -> None:
        path = self.folder / "large"
        with open(path, "wb") as stream:
            stream.truncate((64 << 20) + 1)
        with self.assertRaises(BadNumbers) as caught:
            read(path, "file")
        self.assertEqual(str(caught.exception), "file: larger than 64 MiB")

    @level.only_all
    def test_a_hundred_thousand_metrics(self) -> None:
        """Takes seconds, and hours where time grows with the square."""
        count, few = level.seeds(0, 30000, 100000), level.seeds(0, 3000, 10000)
        rows = ["m%d,us,lower,%d.5\n" % (i, i) for i in range(count)]
        self.assertEqual(len(self.of("metric,unit,better,value\n" + "".join(rows)).numbers), count)
        header = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
        rows = ["%d 256 float sum -1 10.5 1 1.5 0 11.5 1 1.25 0\n" % i for i in range(count // 4)]
        self.assertEqual(len(self.of(header + "".join(rows) + "# Avg bus bandwidth : 1\n").numbers), count)
        rows = ["%d  %d.5\n" % (i, i) for i in range(few)]
        self.assertEqual(
            len(self.of("# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)\n" + "".join(rows)).numbers),
            few,
        )
        entries = [{"name": "b%d" % i, "real_time": i, "cpu_time": i} for i in range(few // 2)]
        self.assertEqual(len(self.of({"context": {}, "benchmarks": entries}).numbers), few)
        test = {
            "name": "t",
            "status": "Passed",
            "bandwidth_description": "x (GB/s)",
            "bandwidth_matrix": [["1.5"] * few],
        }
        self.assertEqual(len(self.of({"nvbandwidth": {"testcases": [test]}}).numbers), few)

    def test_long_lines(self) -> None:
        """As above, for patterns that go back."""
        for piece in (
            "a",
            " ",
            "on ",
            "# ",
            "GPU(row) ",
            '"',
            "\\",
            '\\"',
            "9",
            "[ a: ",
            "NaN",
            '": ',
            "0: a (",
            ",",
            "\t",
        ):
            long = piece * ((1 << level.seeds(18, 19, 20)) // len(piece))
            for content in (
                "# OSU " + long,
                "# OSU x\n# " + long + "\n1  2\n",
                "# size count type time busbw\n#  Rank 0 " + long + "\n" + long,
                "metric,value,unit,better\n" + long,
                piece * 80 + "# OSU x\n" + long,
                "1 " * 80 + "# OSU x\n" + long,
                '{"context": {}, "benchmarks": [], "x": "' + long,
                '{"benchmarks": [],\n"' + long + '": NaN\n}',
            ):
                self.outcome(content.encode())


if __name__ == "__main__":
    unittest.main()
