# SPDX-License-Identifier: BSD-3-Clause
"""Output of nccl-tests and rccl-tests, printed and with -J, and our own table in their format.
foreign/README.md has the files' origin."""

from __future__ import annotations

import unittest
from typing import Any, Dict

from tests.reports.judge.compare.test_compare_foreign import Foreign, content_of, recorded, shown, text_of


class Nccl(Foreign):
    def test_the_table(self) -> None:
        run = recorded("nccl_tests_all_reduce.txt")
        self.sound(run)
        self.assertEqual(
            (run.source, run.device, run.machine, run.started, len(run.numbers)),
            ("nccl-tests", "NVIDIA H100 80GB HBM3", "8 × NVIDIA H100 80GB HBM3", "", 16),
        )
        path = "all_reduce/8ranks/float/sum/"
        for name, expected in {
            "1024/out_of_place_time": (26.37e-6, "s", "lower", True),
            "1024/out_of_place_busbw": (0.07e9, "byte/s", "higher", False),
            "65536/in_place_time": (29.65e-6, "s", "lower", True),
            "1048576/in_place_time": (40.98e-6, "s", "lower", False),
            "1048576/out_of_place_busbw": (44.20e9, "byte/s", "higher", True),
            "67108864/out_of_place_busbw": (284.57e9, "byte/s", "higher", True),
            "67108864/in_place_busbw": (None, "byte/s", "higher", True),
        }.items():
            self.assertEqual(shown(run.numbers[path + name]), expected, name)
        wrong = run.numbers[path + "67108864/in_place_busbw"]
        self.assertEqual(
            (wrong.reason, wrong.condition, wrong.label),
            ("3 wrong results", "float sum, 64 MiB, 8 ranks", "all reduce busbw, in place"),
        )
        self.assertEqual(
            {
                k: run.provenance[k]
                for k in (
                    "library: NCCL",
                    "library: nccl-tests",
                    "options: iterations",
                    "options: warmup iterations",
                    "machine: host",
                )
            },
            {
                "library: NCCL": "2.27.3",
                "library: nccl-tests": "2.19.6",
                "options: iterations": "20",
                "options: warmup iterations": "5",
                "machine: host": "node01",
            },
        )

    def test_one_of_time_and_busbw_is_judged(self) -> None:
        for name in ("nccl_tests_all_reduce.txt", "nccl_tests_all_reduce.json", "rccl_tests_all_reduce.txt"):
            judged: Dict[str, int] = {}
            for metric, number in recorded(name).numbers.items():
                row = metric.rpartition("_")[0]
                judged[row] = judged.get(row, 0) + number.judged
            self.assertEqual(set(judged.values()), {1}, name)

    def test_a_root_timestamps_and_no_check(self) -> None:
        run = recorded("nccl_tests_broadcast_timestamps.txt")
        self.sound(run)
        self.assertEqual(
            shown(run.numbers["broadcast/2ranks/half/none/root1/1024/in_place_time"]),
            (12.25e-6, "s", "lower", True),
        )
        self.assertEqual(
            shown(run.numbers["broadcast/2ranks/half/none/root1/16777216/in_place_busbw"]),
            (167.35e9, "byte/s", "higher", True),
        )
        self.assertEqual(len(run.numbers), 8)

    def test_the_same_table_of_this_suite(self) -> None:
        """Algorithms are apart, what was not measured is no metric, and its numbers are those of another
        tool."""
        name = "gpusig_device_allreduce.txt"
        run = recorded(name)
        self.sound(run)
        self.assertEqual(
            (run.source, run.machine, len(run.numbers)),
            ("gpusig --format nccl-tests", "2 × simulated device (default)", 8),
        )
        self.assertEqual(
            shown(run.numbers["device_allreduce_ring/2ranks/float/sum/65536/in_place_time"]),
            (9.59e-6, "s", "lower", True),
        )
        self.assertEqual(
            shown(run.numbers["device_allreduce_rd-l/2ranks/float/sum/4194304/in_place_busbw"]),
            (27.36e9, "byte/s", "higher", True),
        )
        self.assertEqual(
            {
                k: run.provenance[k]
                for k in (
                    "gpusig: version",
                    "machine: simulated",
                    "options: iterations",
                    "options: warmup iterations",
                )
            },
            {
                "gpusig: version": "1.0",
                "machine: simulated": "yes",
                "options: iterations": "20",
                "options: warmup iterations": "1",
            },
        )
        auto = self.of(text_of(name).replace("warmup iters: 1 ", "warmup iters: auto ")).provenance
        self.assertEqual((auto["options: iterations"], auto.get("options: warmup iterations")), ("20", None))
        half = text_of(name).replace("6.84       0      N/A", "6.84       0     1.00")
        self.assertIn("column that is not a number", self.why_not(half))
        self.assertIn("cut off", self.why_not(text_of(name).rpartition("# Avg")[0]))
        interrupted = text_of(name).replace("# Avg", "# Interrupted: 2 of the cases did not run\n# Avg")
        self.assertIn("was interrupted", self.why_not(interrupted))

    def test_rccl_does_not_name_its_program(self) -> None:
        run = recorded("rccl_tests_all_reduce.txt")
        self.sound(run)
        self.assertEqual(
            (run.device, run.provenance["library: rccl-tests"]), ("AMD Instinct MI250X", "develop:ae3e635")
        )
        self.assertEqual(
            shown(run.numbers["collective/2ranks/float/sum/8/out_of_place_busbw"]),
            (0.0, "byte/s", "higher", False),
        )
        self.assertEqual(
            shown(run.numbers["collective/2ranks/float/sum/134217728/out_of_place_time"]),
            (12192e-6, "s", "lower", False),
        )
        self.assertIn("names of their programs", self.why_not(2 * text_of("rccl_tests_all_reduce.txt")))

    def test_json_has_the_names_of_the_table_and_more_digits(self) -> None:
        run, table = recorded("nccl_tests_all_reduce.json"), recorded("nccl_tests_all_reduce.txt")
        self.sound(run)
        self.assertEqual(run.started, "2026-07-10T11:20:05")
        self.assertEqual(
            set(table.numbers) - set(run.numbers),
            {"all_reduce/8ranks/float/sum/1048576/out_of_place_" + what for what in ("time", "busbw")},
        )  # null in the file
        self.assertLess(set(run.numbers), set(table.numbers))
        path = "all_reduce/8ranks/float/sum/"
        self.assertEqual(
            shown(run.numbers[path + "1024/out_of_place_busbw"]), (0.067956e9, "byte/s", "higher", False)
        )
        self.assertEqual(run.numbers[path + "65536/in_place_busbw"].reason, "not a finite number")
        self.assertEqual(run.numbers[path + "67108864/in_place_time"].reason, "3 wrong results")
        self.assertEqual(
            (run.device, run.machine, run.provenance["library: NCCL"]),
            (table.device, table.machine, table.provenance["library: NCCL"]),
        )
        self.assertEqual(
            [field for field in run.provenance if field.startswith("environment")],
            ["environment: CUDA_VISIBLE_DEVICES", "environment: NCCL_ALGO"],
        )

    def test_json_lists_a_process_once(self) -> None:
        """Whatever -t and -g are."""
        content = content_of("nccl_tests_all_reduce.json")
        config = content["config"]
        for threads, gpus, hosts, ranks, devices in (
            (1, 1, ("node01",), "1rank", "1 × NVIDIA H100 80GB HBM3"),
            (1, 2, ("node01",), "2ranks", "2 × NVIDIA H100 80GB HBM3"),
            (2, 4, ("node01", "node01"), "16ranks", "16 × NVIDIA H100 80GB HBM3"),
            (1, 8, ("node01", "node02"), "16ranks_2hosts", "16 × NVIDIA H100 80GB HBM3"),
        ):
            with self.subTest(ranks=ranks):
                config["nthreads"], config["ngpus"] = threads, gpus
                config["devices"] = [dict(config["devices"][0], hostname=host) for host in hosts]
                run = self.of(content)
                self.assertEqual({name.split("/")[1] for name in run.numbers}, {ranks})
                self.assertEqual((run.machine, run.provenance["machine: devices"]), (devices, devices))
        config["ngpus"] = 10**18
        self.assertIn("more than 65536 ranks", self.why_not(content))
        del config["ngpus"]
        self.assertIn("ngpus is missing", self.why_not(content))

    def test_a_test_that_did_not_end(self) -> None:
        text = text_of("nccl_tests_all_reduce.txt")
        self.assertIn("did not end", self.why_not(text[: text.index("# Out of bounds")]))
        content = content_of("nccl_tests_all_reduce.json")
        del content["average_bus_bandwidth"]
        self.assertIn("did not end", self.why_not(content))

    def test_cycles_are_one_run(self) -> None:
        lines = text_of("nccl_tests_all_reduce.txt").split("\n")
        at = next(i for i, line in enumerate(lines) if line.split()[:1] == ["1024"])
        more = [lines[at].replace("26.37", value) for value in ("30.00", "28.50")]
        run = self.of("\n".join(lines[: at + 1] + more + lines[at + 1 :]))
        self.assertEqual(shown(run.numbers["all_reduce/8ranks/float/sum/1024/out_of_place_time"])[0], 28.5e-6)
        self.assertEqual(len(run.numbers), 16)

    def test_two_collectives_in_a_file(self) -> None:
        run = self.of(text_of("nccl_tests_all_reduce.txt") + text_of("nccl_tests_broadcast_timestamps.txt"))
        self.assertEqual(len(run.numbers), 24)

    def test_columns_per_iteration_and_in_place_only(self) -> None:
        header = "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv%"
        end = "# Avg bus bandwidth : 1\n"
        two = header + header[header.index(" time") :] + "\n"
        row = "1024 256 float sum -1 10.5 1 1.5 0 1 2 3 4 11.5 1 1.25 2 1 2 3 4\n"
        run = self.of(
            "# Collective test starting: x/sendrecv_perf_mpi\n# out-of-place in-place\n" + two + row + end
        )
        self.assertEqual(shown(run.numbers["sendrecv/float/sum/1024/out_of_place_time"])[0], 10.5e-6)
        self.assertEqual(run.numbers["sendrecv/float/sum/1024/in_place_time"].reason, "2 wrong results")
        run = self.of(
            "#   in-place\n"
            + header[: header.index(" i_min")]
            + "\n1024 256 float sum -1 11.5 1 1.25 0\n"
            + end
        )
        self.assertEqual(
            list(run.numbers), ["collective/float/sum/1024/in_place_" + what for what in ("time", "busbw")]
        )
        cpu = (
            header[: header.index(" i_min")].replace(" time", " cputime")
            + "\n1024 256 float sum -1 11.5 1 1.25 0\n"
            + end
        )
        self.assertEqual(
            [name for name, n in self.of("# in-place\n" + cpu).numbers.items() if n.judged],
            ["collective/float/sum/1024/in_place_busbw"],
        )

    def test_a_row_that_another_line_cut(self) -> None:
        text = text_of("nccl_tests_all_reduce.txt")
        self.assertEqual(
            self.why_not(text.replace("     sum      -1   412.70", "node01:41230 NCCL WARN\n")),
            "line 21 has 5 columns, not 13",
        )
        self.assertIn(
            "line 21 has a column that is not a number", self.why_not(text.replace("412.70", "41x.70"))
        )
        self.of("node01:41230:41230 [0] NCCL INFO Bootstrap\n[node01] 3 more processes\n" + text)


class NcclFailures(Foreign):
    """Every way in which the format says that results were wrong."""

    def reasons(self, content: Any) -> set:
        return {number.reason for number in self.of(content).numbers.values()}

    def test_a_column_of_errors(self) -> None:
        text = text_of("nccl_tests_error_column.txt")
        row, end = "the validation failed: error 1e+00", "the validation failed: 2 out of bounds"
        self.assertEqual(self.reasons(text), {row, end})
        good = text.replace("1e+00", "5e-07").replace("2 FAILED", "0 OK")
        self.assertEqual(self.reasons(good), {""})
        self.assertEqual(self.reasons(good.replace("5e-07", "1e-05")), {""})  # may be below 1e-05
        self.assertEqual(self.reasons(text.replace("1e+00", "1e-05")), {end})
        self.assertEqual(self.reasons(text.replace("2 FAILED", "0 OK")), {"", row})
        self.assertEqual(
            self.reasons(text.replace("2 FAILED", "0 OK").replace("1e+00", "inf")),
            {"", "the validation failed: error inf"},
        )

    def test_errors_and_no_line_that_counts_them(self) -> None:
        text = text_of("nccl_tests_error_column.txt")
        for errors in ("1e+00", "0e+00"):
            cut = text.replace("1e+00", errors).replace("# Out of bounds values : 2 FAILED\n", "")
            self.assertIn("no line '# Out of bounds values'", self.why_not(cut))
        unchecked = text.replace("1e+00", "N/A").replace("0e+00", "N/A")
        self.assertEqual(self.reasons(unchecked.replace("# Out of bounds values : 2 FAILED\n", "")), {""})

    def test_the_limit_of_an_error(self) -> None:
        """It is that of the type, times the ranks less one."""
        text = text_of("nccl_tests_error_column.txt").replace("2 FAILED", "0 OK")
        unlisted = "\n".join(line for line in text.split("\n") if "#   Rank" not in line)
        for table, type_, error, right in (
            (text, "float", "2e-05", False),
            (unlisted, "float", "6e-01", True),
            (unlisted, "float", "1e+00", False),
            (text, " half", "1e-02", True),
            (text, " half", "2e-02", False),
            (text, "double", "2e-12", False),
            (text, "int32", "1e+00", False),
            (text, "int32", "0e+00", True),
        ):
            with self.subTest(type=type_, error=error, ranks_listed=table is text):
                changed = table.replace("float", type_).replace("1e+00", error)
                self.assertEqual(self.reasons(changed) == {""}, right)

    def test_errors_in_place_that_the_program_does_not_count(self) -> None:
        """sendrecv, whose table has no redop."""
        text = text_of("nccl_tests_error_column.txt").replace("2 FAILED", "0 OK")
        text = text.replace("   redop ", " ").replace("     sum ", " ")
        wrong = {name for name, number in self.of(text).numbers.items() if number.reason}
        self.assertEqual({name.rpartition("/")[2].rpartition("_")[0] for name in wrong}, {"out_of_place"})

    def test_the_end_says_it_and_no_row_does(self) -> None:
        text = text_of("nccl_tests_all_reduce.txt").replace("286.93       3", "286.93       0")
        self.assertEqual(self.reasons(text), {"the validation failed: 1 out of bounds"})
        other = text_of("nccl_tests_broadcast_timestamps.txt")
        numbers = self.of(text + other).numbers
        self.assertEqual({n.reason for name, n in numbers.items() if name.startswith("broadcast")}, {""})

    def test_a_case_of_this_suite_that_failed_has_no_row(self) -> None:
        """The others of its table have rows, and were checked."""
        failed = (
            "# 8388608 B float sum: failed: wrong result: ring, sample 6\n# Out of bounds values : 1 FAILED\n"
        )
        text = text_of("gpusig_device_allreduce.txt").replace("# Out of bounds values : 0 OK\n", failed)
        self.assertEqual(self.reasons(text), {""})

    def test_a_table_of_this_suite_that_nobody_checked(self) -> None:
        """With -c 0. What a simulated device without data computes cannot be checked, and its times count."""
        text = text_of("gpusig_device_allreduce.txt").replace("       0      N/A", "     N/A      N/A")
        first, _, second = text.partition("# All")[0].partition("# Out of bounds values : 0 OK\n")
        unchecked = (
            first + "# Out of bounds values : N/A %s\n" + second + "# All" + text.partition("# All")[2]
        )
        numbers = self.of(unchecked % "not checked").numbers
        self.assertEqual(
            {name.split("/")[0]: n.reason for name, n in numbers.items()},
            {"device_allreduce_ring": "not checked", "device_allreduce_rd-l": ""},
        )
        self.assertEqual(self.reasons(unchecked % "no data to check"), {""})

    def test_what_our_table_says_of_a_row(self) -> None:
        """A contended number stays one, as in a record."""
        note = "# 65536 B float sum: %s\n# Out of bounds values"
        text = text_of("gpusig_device_allreduce.txt")
        plain = self.of(text).numbers
        for what in ("contended: others took 80 % of the cores", "noisy: the interval is 9 %"):
            numbers = self.of(text.replace("# Out of bounds values", note % what, 1)).numbers
            self.assertEqual(
                {name for name, n in numbers.items() if n != plain[name]},
                {
                    "device_allreduce_ring/2ranks/float/sum/65536/in_place_" + value
                    for value in ("time", "busbw")
                    if what.startswith("contended")
                },
            )
            self.assertEqual(
                [n.contended for name, n in numbers.items() if n != plain[name]],
                [True, True] if what.startswith("contended") else [],
            )

    def test_json(self) -> None:
        def of(**changes: Any) -> set:
            content = content_of("nccl_tests_all_reduce.json")
            for result in content["results"]:
                for place in ("in_place", "out_of_place"):
                    result[place] = (
                        dict(result[place] or {}, nwrong=0.0, bus_bw=1.0) if result[place] else None
                    )
            return self.reasons(dict(content, **changes))

        self.assertEqual(of(out_of_bounds={"count": 0, "okay": "true"}, errors=[""]), {""})
        for changes, why in (
            ({"out_of_bounds": {"count": 2, "okay": "false"}}, "the validation failed: 2 out of bounds"),
            ({"out_of_bounds": {"count": 2, "okay": False}}, "the validation failed: 2 out of bounds"),
            ({"out_of_bounds": {"count": 1}}, "the validation failed: 1 out of bounds"),
            (
                {"out_of_bounds": {"count": 0, "okay": "true"}, "errors": ["unhandled system error"]},
                "NCCL says: unhandled system error",
            ),
        ):
            with self.subTest(changes=changes):
                self.assertEqual(of(**changes), {why})

    def test_what_else_a_log_says(self) -> None:
        text = text_of("nccl_tests_broadcast_timestamps.txt")
        for line in (
            " .. node01 pid 41230: Test failure common.cu:942",
            "node01: Test NCCL failure all_reduce.cu:44 'unhandled system error'",
            "mpirun noticed that process rank 1 with PID 0 on node node01 exited on signal 9 (Killed).",
            "srun: error: node01: task 1: Exited with exit code 3",
            "slurmstepd: error: *** STEP 17.0 ON node01 CANCELLED AT 2026-07-10T11:22 DUE TO TIME LIMIT ***",
        ):
            with self.subTest(line=line):
                self.assertEqual(self.reasons(text + line + "\n"), {"the log says: " + line.strip()})
        harmless = "srun: error: ioctl(TIOCGWINSZ): Inappropriate ioctl for device\n"
        self.assertEqual(self.reasons(harmless + text), {""})
        self.assertEqual(self.reasons(text + "# error: internal error\n"), {"NCCL says: internal error"})


class NcclConditions(Foreign):
    """The conditions of a number are in its name, or the file is refused."""

    def table(self, ranks: int, hosts: int = 1, more: str = "") -> str:
        text = text_of("nccl_tests_broadcast_timestamps.txt")
        lines = text.split("\n")
        first = next(i for i, line in enumerate(lines) if line.startswith("#  Rank"))
        rank = "#  Rank %2d Group  0 Pid  41230 on     node%02d device %2d [0000:0f:00] NVIDIA H100 80GB HBM3"
        rows = [rank % (i, i % hosts, i // hosts) for i in range(ranks)]
        return "\n".join(lines[:first] + rows + lines[first + 2 :]) + more

    def test_numbers_of_ranks_are_apart(self) -> None:
        run = self.of(self.table(2) + self.table(4).replace("167.35", "334.70") + self.table(4, hosts=2))
        self.assertEqual(
            {
                name: shown(number)[0]
                for name, number in run.numbers.items()
                if name.endswith("16777216/in_place_busbw")
            },
            {
                "broadcast/%s/half/none/root1/16777216/in_place_busbw" % ranks: value
                for ranks, value in (("2ranks", 167.35e9), ("4ranks", 334.7e9), ("4ranks_2hosts", 167.35e9))
            },
        )
        self.assertEqual(run.machine, "2 × NVIDIA H100 80GB HBM3, 4 × NVIDIA H100 80GB HBM3")

    def test_a_rank_whose_line_another_process_cut(self) -> None:
        """The number of ranks is that of the last; a line of NCCL_DEBUG=INFO may cut one."""
        cut = self.table(4).replace("#  Rank  2 Group", "#  Ran node01:41230 NCCL INFO\n k  2 Group")
        self.assertEqual(set(self.of(cut).numbers), set(self.of(self.table(4)).numbers))
        header = self.table(4).replace("#       size", "node01:41230 NCCL INFO #       size")
        self.assertIn("before the output of nccl-tests", self.why_not(header))
        self.assertIn("did not end", self.why_not(self.table(4) + header))

    def test_groups_of_a_split_run_are_apart(self) -> None:
        """NCCL_TESTS_SPLIT: a number is that of one of them, which may be on one host or on several."""
        for split, ranks, condition in (
            (lambda rank: rank % 2, "4ranks_2groups", "4 ranks, 2 groups"),
            (lambda rank: rank // 2, "2ranks_2hosts_4groups", "2 ranks, 2 hosts, 4 groups"),
            (lambda rank: rank // 3, "3ranks_2hosts_3groups", "3 ranks, 2 hosts, 3 groups"),
            (lambda rank: 0, "8ranks_2hosts", "8 ranks, 2 hosts"),
        ):
            with self.subTest(ranks=ranks):
                text = self.table(8, hosts=2)
                for rank in range(8):
                    line = "Rank %2d Group %2d " % (rank, 0)
                    text = text.replace(line, "Rank %2d Group %2d " % (rank, split(rank)))
                run = self.of(text)
                self.assertEqual({name.split("/")[1] for name in run.numbers}, {ranks})
                self.assertEqual({n.condition.partition("B, ")[2] for n in run.numbers.values()}, {condition})
                self.assertEqual(run.machine, "8 × NVIDIA H100 80GB HBM3")
                content = content_of("nccl_tests_all_reduce.json")
                process = dict(content["config"]["devices"][0])
                content["config"].update(ngpus=1)
                content["config"]["devices"] = [
                    dict(process, hostname="node%02d" % (rank % 2), rank=rank, group=split(rank))
                    for rank in range(8)
                ]
                run = self.of(content)
                self.assertEqual({name.split("/")[1] for name in run.numbers}, {ranks})
                self.assertEqual(run.machine, "8 × NVIDIA H100 80GB HBM3")

    def test_ranks_whose_device_has_no_name(self) -> None:
        """As HIP has it where amdgpu.ids is missing."""
        text = text_of("rccl_tests_all_reduce.txt").replace(" AMD Instinct MI250X", " ")
        for content in (text, text.replace("] \n", "]\n")):
            run = self.of(content)
            self.assertEqual({name.split("/")[1] for name in run.numbers}, {"2ranks"})
            self.assertEqual((run.machine, run.provenance["machine: host"]), ("2 × unknown device", "node02"))

    def test_one_rank_is_judged_by_its_time(self) -> None:
        self.assertEqual(
            {name.rpartition("_")[2] for name, n in self.of(self.table(1)).numbers.items() if n.judged},
            {"time"},
        )

    def test_options_that_the_file_states(self) -> None:
        text = text_of("nccl_tests_all_reduce.txt")
        plain = self.of(text).provenance
        self.assertEqual(plain["options: largest size"], "67108864")
        self.assertNotIn("options: unaligned by", plain)
        end = text.index("#\n# Using devices")
        for line, fact in (
            (
                "# Per-Iteration Report: CUDA event timing; i_* uses max over process rows \n",
                {"options: per-iteration timing": "yes"},
            ),
            (
                "# Parallel Init Enabled: threads call into NcclInitRank concurrently \n",
                {"options: parallel init": "yes"},
            ),
        ):
            self.assertEqual(self.of(text[:end] + line + text[end:]).provenance, {**plain, **fact})
        unaligned = self.of(text.replace("unalign: 0", "unalign: 4")).provenance
        self.assertEqual(unaligned, {**plain, "options: unaligned by": "4"})

    def test_options_that_json_states(self) -> None:
        content = content_of("nccl_tests_all_reduce.json")

        def options(*args: str, **config: str) -> Dict[str, str]:
            changed = dict(content, config=dict(content["config"], **config), args=["all_reduce_perf", *args])
            return {
                name[len("options: ") :]: value
                for name, value in self.of(changed).provenance.items()
                if name.startswith("options: ")
            }

        sizes = ["-b", "1K", "-e64M", "-f", "16", "--stepbytes=8", "--maxbytes", "1G", "-J", "a file.json"]
        self.assertEqual(options(*sizes)["largest size"], "67108864")
        self.assertNotIn("arguments", options(*sizes))
        self.assertEqual(options(*sizes, "-D", "1", "-R", "2")["arguments"], "-D 1 -R 2")
        self.assertEqual(options("-z", "3", *sizes, "-x1")["arguments"], "-z 3 -x1")
        self.assertEqual(options("--unalign", "4")["arguments"], "--unalign 4")
        stated = ["-g", "8", "-I1", "--ngpus=8", "-n", "20", "-w5", "-dfloat", "--op", "sum"]
        self.assertNotIn("arguments", options(*sizes, *stated))
        for key, name in (
            ("per_iter_timing", "per-iteration timing"),
            ("parallel_init", "parallel init"),
            ("blocking_collectives", "blocking"),
        ):
            with self.subTest(key=key):
                self.assertNotIn(name, options(**{key: "false"}))
                self.assertEqual(options(**{key: "true"})[name], "yes")

    def test_the_same_test_twice_is_refused(self) -> None:
        self.assertIn("is in two tables, from lines 12 and 33", self.why_not(self.table(4) + self.table(4)))

    def test_processes_that_do_not_know_each_other(self) -> None:
        """nccl-tests without MPI=1 under mpirun: every process is rank 0 of a test of its own."""
        lines = self.table(1).split("\n")
        for content in (
            "\n".join(line for line in lines for _ in range(2)),
            "\n".join(lines[:12] + lines),
            "\n".join(lines[:6] + lines[5:]),
        ):
            self.assertIn("give each process a file (or build nccl-tests with MPI=1)", self.why_not(content))


if __name__ == "__main__":
    unittest.main()
