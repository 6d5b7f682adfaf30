# SPDX-License-Identifier: BSD-3-Clause
"""Output of nvbandwidth, with -j and without. foreign/README.md has the files' origin."""

from __future__ import annotations

import unittest
from typing import Any

from tests.reports.judge.compare.test_compare_foreign import Foreign, content_of, recorded, shown, text_of

from reports.judge.compare.numbers import BadNumbers, RunNumbers


class NvBandwidth(Foreign):
    def test_a_metric_is_an_element(self) -> None:
        run = recorded("nvbandwidth.json")
        self.sound(run)
        for name, expected in {
            "host_to_device_memcpy_ce/0/1": (55.6352e9, "byte/s", "higher", True),
            "device_to_device_memcpy_read_ce/1/0": (276.19e9, "byte/s", "higher", True),
            "device_to_device_bidirectional_memcpy_read_ce/first/0/1": (190.5e9, "byte/s", "higher", False),
            "device_to_device_bidirectional_memcpy_read_ce/second/1/0": (191.75e9, "byte/s", "higher", False),
            "device_to_device_bidirectional_memcpy_read_ce/total/1/0": (382.125e9, "byte/s", "higher", True),
            "device_local_copy/0/1": (1263.8e9, "byte/s", "higher", True),
            "host_device_latency_sm/0/0": (772.477e-9, "s", "lower", True),
        }.items():
            self.assertEqual(shown(run.numbers[name]), expected, name)
        self.assertEqual(run.numbers["device_to_device_memcpy_read_ce/1/0"].condition, "GPU 1 -> GPU 0")
        self.assertEqual(run.numbers["device_local_copy/0/1"].condition, "GPU 1")
        self.assertEqual((run.device, run.machine), ("NVIDIA H100 80GB HBM3", "2 × NVIDIA H100 80GB HBM3"))
        self.assertEqual(
            (run.provenance["driver: driver"], run.provenance["driver: CUDA"]), ("570.86.15", "12.8")
        )

    def test_what_the_machine_cannot_do_is_no_loss(self) -> None:
        numbers = recorded("nvbandwidth.json").numbers
        self.assertEqual(
            [name for name, n in numbers.items() if n.value is None and not n.unavailable],
            ["one_to_all_read_sm"],
        )
        self.assertEqual(
            numbers["one_to_all_read_sm"].reason, "test error: ASSERT in expression h_errorFlag == 0"
        )
        self.assertEqual(numbers["multinode_device_to_device_memcpy_read_ce"].reason, "test waived")
        self.assertEqual(numbers["device_to_device_memcpy_read_ce/0/0"].reason, "N/A")

    def test_an_error_before_the_tests(self) -> None:
        self.assertEqual(
            self.why_not({"nvbandwidth": {"version": "v0.8", "error": "no device"}}),
            "nvbandwidth says: no device",
        )
        self.assertEqual(
            self.why_not({"nvbandwidth": {"testcases": []}}), "no number in this output of nvbandwidth"
        )

    def test_strange_matrices(self) -> None:
        def of(matrix: Any, name: str = "x_memcpy_ce", description: str = "GPU(row) (GB/s)") -> RunNumbers:
            return self.of(
                {
                    "nvbandwidth": {
                        "testcases": [
                            {
                                "name": name,
                                "status": "Passed",
                                "bandwidth_description": description,
                                "bandwidth_matrix": matrix,
                            }
                        ]
                    }
                }
            )

        numbers = of([["1.5", "nan", "-inf", 2, "0", "1e999", "1e40"], None, ["3"]]).numbers
        self.assertEqual([n.value for n in numbers.values()], [1.5e9, None, None, 2e9, 0.0, None, None, 3e9])
        for matrix in (
            [["many"]],
            [[True]],
            [[None]],
            [[["1"]]],
            ["1"],
            {"a": 1},
            [[""]],
            [["1_0"]],
            [["٣"]],
        ):
            with self.subTest(matrix=matrix), self.assertRaises(BadNumbers):
                of(matrix)
        self.assertEqual(shown(of([["1.5"]], "new", "speed").numbers["new/0/0"]), (1.5, "1", None, False))


class NvBandwidthText(Foreign):
    def test_the_text_is_the_json(self) -> None:
        """The file is the text of the same run: names, units and what is judged are equal, and numbers to the
        two decimals of the text. A waived test has no name there."""
        run, json_ = recorded("nvbandwidth.txt"), recorded("nvbandwidth.json")
        self.sound(run)
        self.assertEqual(set(json_.numbers) - set(run.numbers), {"multinode_device_to_device_memcpy_read_ce"})
        for name, number in run.numbers.items():
            other = json_.numbers[name]
            self.assertEqual(shown(number)[1:], shown(other)[1:], name)
            self.assertEqual((number.label, number.condition), (other.label, other.condition))
            self.assertEqual(number.value is None, other.value is None)
            if number.value is not None:
                self.assertLess(
                    abs(number.value - other.value), 0.0051 * (1e9 if number.unit != "s" else 1e-9)
                )
        self.assertEqual(run.numbers["one_to_all_read_sm"].reason, "test error: Insufficient devices")
        self.assertEqual((run.device, run.machine), (json_.device, json_.machine))
        self.assertEqual(run.provenance["driver: driver"], "570.86.15")
        self.assertEqual(run.provenance["machine: host"], "node01")

    def test_version_0_5_has_one_matrix_of_both_directions(self) -> None:
        matrix = "Running %s.\nmemcpy CE GPU(row) <-> GPU(column) bandwidth (GB/s)\n    0    1\n"
        matrix += " 0  N/A  382.00\n 1  382.12  N/A\n\nSUM %s 764.12\n"
        name = "device_to_device_bidirectional_memcpy_read_ce"
        run = self.of("nvbandwidth Version: v0.5\n\nDevice 0: NVIDIA H100\n\n" + matrix % (name, name))
        self.assertEqual(list(run.numbers), ["%s/%d/%d" % (name, i, j) for i in (0, 1) for j in (0, 1)])
        self.assertEqual(run.provenance.get("machine: host"), None)

    def test_several_nodes(self) -> None:
        """By hand: printGPUsMultinode() of output.cpp and MultinodeBisectWriteCE. Numbers of processes are
        padded, in rows of the matrix, too."""
        processes = range(12)
        text = "nvbandwidth Version: v0.8\n\nMPI version: Open MPI v4.1.4\nDriver Version: 570.86.15\n\n"
        text += "".join(
            "Process %2d (node%02d): device %d: NVIDIA GB200 (00000009:01:00)\n" % (i, i // 4, i % 4)
            for i in processes
        )
        text += "\nRunning multinode_bisect_write_ce.\nBisect benchmarking, simultaneous write CE BW\n"
        text += "               0\n"
        text += "".join("%2d->%2d    %6.2f\n" % (i, (i + 6) % 12, 100 + i) for i in processes)
        text += "\nSUM multinode_bisect_write_ce 1266.00\n\nNOTE: The reported results may not reflect\n"
        run = self.of(text)
        self.sound(run)
        self.assertEqual((run.device, run.machine), ("NVIDIA GB200", "12 × NVIDIA GB200"))
        self.assertEqual(run.provenance["machine: host"], "node00, node01, node02")
        self.assertEqual(
            [(name, number.value) for name, number in run.numbers.items()],
            [("multinode_bisect_write_ce/%d/0" % i, (100 + i) * 1e9) for i in processes],
        )
        self.assertIn("is not row 6", self.why_not(text.replace(" 6-> 0", " 7-> 0")))

    def test_what_is_refused(self) -> None:
        text = text_of("nvbandwidth.txt")
        for content, why in (
            (text.replace("276.19", "27.19"), "is not the sum of the matrix above"),
            (text.replace(" 1    276.19       N/A\n", ""), "is not the sum of the matrix above"),
            (text.replace(" 1    276.19       N/A", " 1    276.19"), "is not row 1 of 2 columns"),
            (text.replace("SUM host_to_device_memcpy_ce 111.27\n", ""), "before the one above has ended"),
            (text + text[text.index("Running") :], "has the test host_to_device_memcpy_ce again"),
            (text.replace("ce_read2 383.25", "ce_read2 380.75"), "is not the sum of the matrix above"),
            (text.partition("NOTE")[0], "did not end"),
            (text.replace("Error: Insufficient devices\n", ""), "did not end"),
        ):
            with self.subTest(why=why):
                self.assertIn(why, self.why_not(content))

    def test_a_wrong_byte_is_said_beside_the_matrix(self) -> None:
        """The kernel that compares prints it; with -j it stands before the object."""
        line = " Invalid value when checking the pattern at 0x7f5e2c000000\n"
        for name in ("nvbandwidth.txt", "nvbandwidth.json"):
            numbers = self.of(line + text_of(name)).numbers
            self.assertEqual([name for name, n in numbers.items() if not n.reason], [])
        content = content_of("nvbandwidth.json")
        content["nvbandwidth"]["testcases"] = content["nvbandwidth"]["testcases"][:2]
        self.assertEqual(
            {n.reason for n in self.of(content).numbers.values() if not n.unavailable},
            {"nvbandwidth says: ASSERT in expression h_errorFlag == 0"},
        )


if __name__ == "__main__":
    unittest.main()
