# SPDX-License-Identifier: BSD-3-Clause
"""Results outside the expectations, from records with known numbers."""

import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "reports")]
import expectations  # pylint: disable=wrong-import-position
from record_writer import Writer, axis, headline, unstarted, value  # pylint: disable=wrong-import-position

TABLE = """
| metric | unit | H200 | MI300X | because |
|---|---|---|---|---|
| `micro/launch/launch_round_trip` | us | 5 to 8 | | the doorbell |
| `micro/launch/launches_queued_max` | | 504 | 504 | the queue |
| `micro/launch/time{variant=graph_launch,size=64}` | us | 40 to 90 | | the gap |
| `micro/memory/memory_read_bandwidth` | TB/s | 4.3 to 4.6 | 3.9 to 4.7 | the datasheet |
| `questions/timer_step` | ns | 30 to 1100 | | others' |
| `questions/pcie_link` | | "5 x16" | | the slot |
| `questions/copy` | | "ended meanwhile" | | an engine |
"""


def launches(round_trip_s=6e-6, queued=504, graph_s=5e-5, name="NVIDIA H200", more=(), devices=1, **case):
    w = Writer(
        "micro/launch",
        [headline("launch_round_trip", "time", {"size": 64}, "round_trip", "s", "lower"), *more],
        [axis("size", "", [64])],
        device={"name": name},
    )
    w.lines[0]["device"] *= devices
    derived = [value("time", "round_trip", round_trip_s, "s"), value("time", "graph_launch", graph_s, "s")]
    variants = [w.variant("round_trip", round_trip_s or 1), w.variant("graph_launch", graph_s)]
    w.case({"size": 64}, variants, derived, **case)["facts"]["launches_queued_max"] = queued
    return w.end().text()


class Expectations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def said(self, gpu="H200", table=TABLE):
        got = expectations.measured(self.folder)
        return list(expectations.compare(expectations.table(table)[gpu], got, gpu))

    def test_nothing_outside_says_how_many_were_compared(self):
        self.write("run/records.jsonl", launches())
        self.assertEqual(
            self.said(),
            [
                "no value: micro/memory/memory_read_bandwidth: micro/memory left no record",
                "none outside of 3 expectations that were compared (H200); 1 without a value",
            ],
        )

    def test_a_number_outside_is_said_with_its_reason_and_source(self):
        self.write("run/records.jsonl", launches(round_trip_s=9.5e-6, queued=500, graph_s=2e-5))
        said = self.said()
        self.assertEqual(
            said[:3],
            [
                "outside expectation: micro/launch/launch_round_trip is 9.50 µs, "
                "expected 5 to 8 us: the doorbell (run)",
                "outside expectation: micro/launch/launches_queued_max is 500, expected 504: the queue (run)",
                "outside expectation: micro/launch/time{variant=graph_launch,size=64} is 20.0 µs, "
                "expected 40 to 90 us: the gap (run)",
            ],
        )
        self.assertEqual(said[-1], "3 outside of 3 expectations that were compared (H200); 1 without a value")

    def test_what_is_flagged_is_missing_with_the_flag(self):
        flags = [{"flag": "mechanism", "variant": None, "reason": "no engine"}]
        self.write(
            "run/records.jsonl", launches(flags=flags) + unstarted("micro/memory", "failed", "it crashed")
        )
        self.assertEqual(
            self.said(),
            [
                "no value: micro/launch/launch_round_trip, micro/launch/time{variant=graph_launch,size=64}: "
                "mechanism: no engine",
                "no value: micro/memory/memory_read_bandwidth: micro/memory left no record: it crashed",
                "none outside of 1 expectations that were compared (H200); 3 without a value",
            ],
        )

    def test_a_program_alone_stands_in_where_the_run_has_no_value(self):
        flags = [{"flag": "mechanism", "variant": None, "reason": "no engine"}]
        self.write("run/records.jsonl", launches(flags=flags))
        self.write("programs/micro-launch.jsonl", launches(round_trip_s=9.5e-6))
        self.assertIn(
            "launch_round_trip is 9.50 µs, expected 5 to 8 us: the doorbell (programs/micro-launch)",
            self.said()[0],
        )
        self.write("run/records.jsonl", launches())
        self.assertIn("none outside of 3 expectations", self.said()[-1])

    def test_what_holds_for_one_device_is_not_expected_of_several(self):
        table = TABLE.split("| `micro/launch/launches")[0].replace("the doorbell", "one device: the doorbell")
        self.write("run/records.jsonl", launches(round_trip_s=9.5e-6, devices=2))
        self.assertEqual(
            self.said(table=table),
            [
                "not measured, as this device or these options leave it out: micro/launch/launch_round_trip",
                "none outside of 0 expectations that were compared (H200); 0 without a value",
            ],
        )
        self.write("programs/micro-launch.jsonl", launches(round_trip_s=9.5e-6))
        self.assertIn(
            "expected 5 to 8 us: one device: the doorbell (programs/micro-launch)", self.said(table=table)[0]
        )

    def test_answers_are_compared_as_numbers_and_as_words(self):
        link, copy = (
            "pcie_link\t5 x16\tgeneration, lanes\tof 5 x16, NUMA node 0\n",
            "copy\t12.5\tus\tended meanwhile\n",
        )
        self.write("questions.tsv", "timer_step\t3.2e-08\ts\t\n" + link + copy)
        self.assertEqual(
            self.said(), ["none outside of 3 expectations that were compared (H200); 0 without a value"]
        )
        link, copy = link.replace("5", "4", 1), copy.replace("ended", "did not end")
        self.write("questions.tsv", "timer_step\tnone\terror\tthe device is lost\n" + link + copy)
        self.assertEqual(
            self.said(),
            [
                "outside expectation: questions/pcie_link is '4 x16; of 5 x16, NUMA node 0', "
                'expected "5 x16": the slot',
                "outside expectation: questions/copy is '12.5; did not end meanwhile', "
                'expected "ended meanwhile": an engine',
                "no value: questions/timer_step: none, error: the device is lost",
                "2 outside of 2 expectations that were compared (H200); 1 without a value",
            ],
        )
        self.write("questions.tsv", link)
        self.assertIn("no value: questions/timer_step, questions/copy: not answered", self.said())

    def test_units_that_differ_are_no_comparison(self):
        self.write("questions.tsv", "timer_step\t32\tcycles\t\n")
        self.assertIn("no value: questions/timer_step: its unit is 'cycles', the table's 'ns'", self.said())

    def test_the_column_is_the_gpu_that_the_driver_names(self):
        for name, column in (
            ("NVIDIA H200", "H200"),
            ("AMD Instinct MI300X", "MI300X"),
            ("simulated device (h200)", "H200"),
            ("NVIDIA H200 NVL", ""),
            ("NVIDIA H100 PCIe", ""),
        ):
            self.write("run/records.jsonl", launches(name=name))
            gpu = expectations.words(expectations.measured(self.folder).gpu)
            found = [c for c in expectations.table(TABLE) if expectations.words(c) == gpu]
            self.assertEqual(found, [column] if column else [])
        self.write("run/records.jsonl", "")
        self.write("questions.tsv", "opening_the_device\t0.5\ts\tNVIDIA H200\n")
        self.assertEqual(expectations.measured(self.folder).gpu, "NVIDIA H200")

    def test_the_table_of_the_documents_can_be_read(self):
        found = expectations.table((expectations.ROOT / "docs/BACKENDS.md").read_text(encoding="utf-8"))
        self.assertEqual(list(found), ["H200", "H100 80GB HBM3", "MI300X"])
        for gpu, expected in found.items():
            self.assertGreater(len(expected), 20, gpu)
            for one in (e for e in expected if not e.text):
                low, high = one.interval()
                self.assertLessEqual(low, high, one)
            self.assertTrue(
                all(one.because and one.metric.partition("{")[0].count("/") in (1, 2) for one in expected)
            )
            self.assertEqual(len({one.metric for one in expected}), len(expected))
            on_all = [e for e in expected if e.metric.startswith(("overlap/ficco/", "overlap/shaping/"))]
            self.assertTrue(all(one.for_one_device for one in on_all))


if __name__ == "__main__":
    unittest.main()
