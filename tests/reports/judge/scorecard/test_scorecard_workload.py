# SPDX-License-Identifier: BSD-3-Clause
"""A user's mix, and prices: times that are known, what is not answered, and files that are wrong."""

from __future__ import annotations

import json
import math
import unittest
from unittest import mock
from pathlib import Path
from typing import Any, Dict, List, Tuple

import synthetic
import workplace
from scorecard_example import Truth, machine
from tests.reports.advice import asked

from reports.advice.ask import read_signature
from reports.predict.simulation import Simulation
from reports.judge.compare.numbers import BadNumbers
from reports.judge.scorecard import metrics, predictions, price, workload, workload_file
from reports.judge.scorecard.price import BETTER, MIXED, Price, Prices
from reports.judge.scorecard.workload import Line, Mix, Time, judge, speed_of
from reports.judge.scorecard.workload_file import Item

MIX = """# a comment
gemm    4096x11008x4096 bf16  count=64   # and one behind
gemm-ar 4096x11008x4096 bf16  count=32 devices=4

memory  triad 12G
copy    up 1024M count=8
launch  10000
message allreduce 64M devices=4
"""
WRONG = {
    "gem 1x1x1 f32": "unknown kind of work 'gem'",
    "gemm 1x1 f32": "not a shape",
    "gemm 0x1x1 f32": "not a side",
    "gemm 1x1x1 f31": "unknown type 'f31'",
    "gemm 1x1x1": "gemm takes",
    "gemm 1x1x1 f32 devices=2": "unknown option 'devices'",
    "gemm-ar 1x1x1 f32": "needs devices=",
    "gemm-ar 1x1x1 f32 devices=1": "needs devices=",
    "gemm 1x1x1 f32 count=2 count=3": "given twice",
    "gemm 1x1x1 f32 count=0": "not a count",
    "gemm 1x1x1 f32 count=1e3": "not a count",
    "memory write 1G": "unknown operation 'write'",
    "memory triad 1Gi": "not a size",
    "memory triad -1": "not a size",
    "memory triad 0": "not a size",
    "memory triad 9999999T": "not a size",
    "copy sideways 1G": "unknown direction",
    "launch 0": "not a number",
    "launch ١": "not a number",
    "message gossip 1M devices=2": "unknown collective",
    "message allreduce 1M": "needs devices=",
    "\x1b[2J": "unknown kind of work",
}


def items(*lines: str) -> List[Item]:
    return [workload_file._item(line.split()) for line in lines]


class Files(workplace.Scratch):
    def write(self, text: Any) -> Path:
        path = self.folder / "mix"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def test_every_kind_of_line(self) -> None:
        found = workload_file.read(self.write(MIX), "mix")
        self.assertEqual(
            [(i.kind, i.what, i.sides, i.size, i.devices, i.count) for i in found],
            [
                ("gemm", "bf16", (4096, 11008, 4096), 0, 1, 64),
                ("gemm-ar", "bf16", (4096, 11008, 4096), 0, 4, 32),
                ("memory", "triad", (), 12 << 30, 1, 1),
                ("copy", "up", (), 1 << 30, 1, 8),
                ("launch", "", (), 10000, 1, 1),
                ("message", "allreduce", (), 64 << 20, 4, 1),
            ],
        )

    def test_the_examples_are_read(self) -> None:
        folder = workplace.ROOT / "docs" / "examples" / "scorecard"
        self.assertGreaterEqual(len(workload_file.read(folder / "training.mix", "mix")), 6)
        found, notes = price.read(folder / "prices.txt", "prices", ["machine-a", "machine-b", "machine-c"])
        self.assertEqual((len(found), notes), (3, []))

    def test_what_is_wrong_is_named_with_its_line(self) -> None:
        for line, why in WRONG.items():
            with self.subTest(line):
                with self.assertRaises(BadNumbers) as raised:
                    workload_file.read(self.write("launch 1\n" + line + "\n"), "mix")
                self.assertIn("mix, line 2: ", str(raised.exception))
                self.assertIn(why, str(raised.exception))
                self.assertNotIn("\x1b", str(raised.exception))

    def test_files_that_are_none(self) -> None:
        for text, why in (
            ("# nothing\n", "no work in it"),
            (b"\xff\xfe", "not UTF-8"),
            ("launch 1\n" * 1001, "more than 1000"),
            (b"#" * (2 << 20), "larger"),
        ):
            with self.assertRaisesRegex(BadNumbers, why):
                workload_file.read(self.write(text), "mix")
        with self.assertRaisesRegex(BadNumbers, "No such file"):
            workload_file.read(self.folder / "none", "mix")
        with self.assertRaises(BadNumbers):
            workload_file.read(self.folder, "mix")

    def test_prices(self) -> None:
        text = """a 100 EUR 2kW   # fine
b 0 EUR
c -5 EUR
nobody 1 EUR
d 3 EUR
d 4 EUR
two words 7.5 USD/h 700W
e 1 euros
f 1e999 EUR
g 1 EUR 0W
h
"""
        names = ["a", "b", "c", "d", "two words", "e", "f", "g", "h"]
        found, notes = price.read(self.write(text), "prices", names)
        self.assertEqual(set(found), {"a", "two words"})
        self.assertEqual((found["a"].power, found["two words"].currency), (2000.0, "USD/h"))
        for said in (
            "line 2: a price of 0",
            "line 3: a price of -5",
            "line 4: no machine here is called 'nobody'",
            "line 6: 'd' is there more than once",
            "line 8: 'euros' is not a currency",
            "line 9: '1e999' is not a price",
            "line 10: '0W' is not a power",
            "line 11: a line is",
            "no usable line for d",
        ):
            self.assertTrue(any(said in note for note in notes), (said, notes))

    def test_prices_of_other_machines(self) -> None:
        for text in ("nobody 1 EUR\nnone 2 EUR\n", "# nothing\n"):
            with self.assertRaisesRegex(BadNumbers, "^prices names no machine here; machines: a, two words$"):
                price.read(self.write(text), "prices", ["a", "two words"])

    def test_units_change_nothing(self) -> None:
        one = workload_file.read(self.write("copy up 1G\nmemory read 3072M\n"), "mix")
        other = workload_file.read(self.write("copy up 1048576K\nmemory read 3G\n"), "mix")
        self.assertEqual([item[1:] for item in one], [item[1:] for item in other])
        self.assertEqual(
            price.read(self.write("a 1 EUR 1.5kW\n"), "p", ["a"])[0]["a"],
            price.read(self.write("a 1.0 EUR 1500W\n"), "p", ["a"])[0]["a"],
        )


class Times(workplace.Scratch):
    """Times from records whose machine is known: an engine copy takes ALPHA_S + bytes / ENGINE_RATE."""

    def predict(self, text: str, line: str) -> predictions.Prediction:
        self.run_build(text)
        path, mix = self.folder / "signature.json", items(line)
        return predictions.Predictor(read_signature(path), path, mix, asked.BIN, self.folder).predict(mix[0])

    def test_copies(self) -> None:
        text = synthetic.copies().text()
        for size in (4096, 40000, 3 << 20, 64 << 20, 1 << 30):
            wanted = min(
                synthetic.ALPHA_S + size / synthetic.ENGINE_RATE,
                synthetic.KERNEL_ALPHA_S + size / synthetic.KERNEL_RATE,
            )
            found = self.predict(text, "copy up %d" % size)
            self.assertAlmostEqual(found.seconds / wanted, 1, delta=0.002 if size < 65 << 20 else 0.02)
            self.assertEqual(any("extrapolated" in note for note in found.notes), size > 64 << 20)

    def test_messages(self) -> None:
        points = [(1e3, 1e-6, 0.1), (1e6, 1e-3, 0.2)]
        at = predictions.at_size(points, 5e5)
        self.assertAlmostEqual(at.seconds, 1e-6 + (1e-3 - 1e-6) * (5e5 - 1e3) / (1e6 - 1e3), delta=1e-12)
        self.assertEqual((at.half, predictions.at_size(points, 10).seconds), (0.2, 1e-6))
        self.assertIsNone(predictions.at_size(points, 65e6))
        self.assertIsNone(predictions.at_size([], 1))

    def test_unanswered(self) -> None:
        text = synthetic.copies().text()
        for line, why in (
            ("copy down 1M", "no such case"),
            ("copy up 9G", "less than 1/64"),
            ("message allreduce 1M devices=2", "measured alone"),
            ("gemm 64x64x64 f32", "depend on|no value for|not built"),
            ("gemm-ar 64x64x64 f32 devices=2", "depend on|no value for|not built"),
        ):
            with self.subTest(line), self.assertRaisesRegex(predictions.Unanswered, why):
                self.predict(text, line)

    def predictor(self, *lines: str, change: Any = None) -> Tuple[List[Item], predictions.Predictor]:
        """The predictor of a simulated machine, whose run had no schedules unless a change adds them."""
        path, mix = asked.stored(asked.signature(change), self.folder), items(*lines)
        return mix, predictions.Predictor(asked.signature(change), path, mix, asked.BIN, self.folder)

    @unittest.skipUnless(asked.BUILT, "needs the programs: make")
    def test_gemms_that_are_alike_are_simulated_together(self) -> None:
        mix, predictor = self.predictor(
            "gemm 4096x4096x4096 bf16",
            "gemm 1024x4096x512 bf16",
            "a2a-gemm-uneven 4096x4096x4096 bf16 devices=4",
        )
        with mock.patch.object(Simulation, "_start", autospec=True, side_effect=Simulation._start) as start:
            whole, small, fused = (predictor.predict(item) for item in mix)
            programs = [call.args[0].name for call in start.call_args_list if "units" not in call.args[1]]
        self.assertTrue(0 < small.seconds < whole.seconds < fused.seconds)
        alone = predictor._adviser.gemm([(4096, 4096, 4096)], "bf16")
        self.assertAlmostEqual(whole.seconds / alone[4096, 4096, 4096], 1, delta=1e-9)
        self.assertLess(programs.count("gemm/efficiency"), 40)
        self.assertEqual(whole.notes, ())
        self.assertRegex(fused.notes[0], "^[a-z0-9-]+ by (engine|kernel)$")
        self.assertIn("the expected error is a lower limit: no schedules were measured", fused.notes)

    @unittest.skipUnless(asked.BUILT, "needs the programs: make")
    def test_where_one_has_no_answer_those_alike_have_theirs(self) -> None:
        far = (1 << 32) - 1
        mix, predictor = self.predictor(
            "gemm %dx%dx%d bf16" % (far, far, far),
            "gemm 1024x1024x1024 bf16",
            "gemm-rs 64x64x64 f16 devices=4",
        )
        self.assertGreater(predictor.predict(mix[1]).seconds, 0)
        for item in (mix[0], mix[2]):
            with self.assertRaises(predictions.Unanswered):
                predictor.predict(item)

    @unittest.skipUnless(asked.BUILT, "needs the programs: make")
    def test_what_was_measured_is_no_prediction(self) -> None:
        question = {"m": 4096, "n": 512, "k": 512, "devices": 4, "op": "ag-gemm", "type": "bf16"}
        times = {"serial": [9e-3, 8.9e-3, 9.1e-3], "shard": [7e-3, 6.99e-3, 7.01e-3]}
        mix, predictor = self.predictor(
            "ag-gemm 4096x512x512 bf16 devices=4",
            "ag-gemm 4096x512x512 bf16 devices=2",
            change=asked.measured_schedules(question, times),
        )
        found = predictor.predict(mix[0])
        self.assertEqual((found.seconds, found.notes), (7e-3, ("measured in this run: shard by engine",)))
        self.assertLess(found.half or 1, 0.01)
        self.assertLess(predictor.predict(mix[1]).seconds, 1e-3)

    def test_headline_numbers(self) -> None:
        one = machine(
            "a",
            {
                "micro/memory/memory_triad_bandwidth": Truth(1e12, 1e-9),
                "micro/launch/launch_back_to_back": Truth(2e-6, 1e-9, "lower", "s"),
            },
        )
        mix = workload.mix_of([one], items("memory triad 12G count=2", "launch 10000"), asked.BIN)
        self.assertAlmostEqual(mix.items[0].times["a"].seconds, 2 * (12 << 30) / 1e12, delta=1e-6)
        self.assertAlmostEqual(mix.items[1].times["a"].seconds, 0.02, delta=1e-6)
        self.assertAlmostEqual(mix.total.times["a"].seconds, 2 * (12 << 30) / 1e12 + 0.02, delta=1e-6)


class Mixes(unittest.TestCase):
    def machines(self, *values: Tuple[str, Dict[str, float]], **more: Any) -> List[Any]:
        metric = "micro/memory/memory_%s_bandwidth"
        return [
            machine(name, {metric % op: Truth(rate, 0.002) for op, rate in rates.items()}, 4, **more)
            for name, rates in values
        ]

    def test_a_part_is_never_compared_with_a_whole(self) -> None:
        made = self.machines(
            ("a", {"read": 1e12, "triad": 1e12}), ("b", {"triad": 5e12}), ("c", {"read": 2e12, "triad": 1e12})
        )
        mix = workload.mix_of(made, items("memory read 1G", "memory triad 1G"), asked.BIN)
        self.assertIsNone(mix.total.times["b"].seconds)
        self.assertEqual(mix.total.times["b"].reason, "1 of 2 items without an answer")
        self.assertEqual((mix.total.rank.best, mix.common_items, mix.common.rank.best), (["c"], 1, ["b"]))
        self.assertNotIn(("a", "b"), mix.total.speeds)

    def test_a_machine_against_itself(self) -> None:
        made = self.machines(("a", {"read": 1e12}), ("b", {"read": 1e12}))
        made[1] = machine("a", {"micro/memory/memory_read_bandwidth": Truth(1e12, 0.002)}, 4)
        made[1].name = "b"
        mix = workload.mix_of(made, items("memory read 1G"), asked.BIN)
        for line in (mix.items[0], mix.total):
            self.assertEqual((sorted(line.rank.best), line.speeds["a", "b"].value), (["a", "b"], 1.0))
            self.assertTrue(line.speeds["a", "b"].low <= 1 <= line.speeds["a", "b"].high)

    def test_speeds_are_inverted(self) -> None:
        there, back = speed_of(Time(1.0, 0.1), Time(3.0, 0.3)), speed_of(Time(3.0, 0.3), Time(1.0, 0.1))
        self.assertAlmostEqual(there.value * back.value, 1)
        self.assertAlmostEqual(there.low * back.high, 1)
        self.assertEqual(speed_of(Time(1.0, None), Time(2.0, 0.1))[1:3], (None, None))

    def test_what_has_no_error_is_not_ranked_unless_it_is_far_off(self) -> None:
        for times, wanted in (
            ({"a": (1.0, 0.01), "b": (1.9, None)}, (["a"], ["b"], [], "best")),
            ({"a": (1.0, 0.01), "b": (2.1, None)}, (["a"], [], ["b"], "best")),
            ({"a": (1.0, None), "b": (1.9, 0.01)}, ([], ["a"], [], "not ranked")),
            ({"a": (1.0, None), "b": (2.1, 0.01)}, (["a"], [], ["b"], "best")),
            ({"a": (1.0, None), "b": (1.5, None)}, ([], ["a", "b"], [], "not ranked")),
            (
                {"a": (1.0, 0.2), "b": (1.1, 0.2), "c": (1.05, None)},
                (["a", "b"], ["c"], [], "not told apart"),
            ),
            ({"a": (1.0, 0.01), "b": (1.5, 0.01), "c": (0.9, None)}, ([], ["c"], ["b"], "not ranked")),
        ):
            line = judge(Line("x", {name: Time(*time) for name, time in times.items()}))
            self.assertEqual(tuple(line.rank), wanted, times)

    def test_a_sum_has_the_ends_of_its_items(self) -> None:
        lines = [Line("x", {"a": Time(1.0, 0.2)}), Line("y", {"a": Time(3.0, 0.1)})]
        total = workload._sum("total", lines, ["a"]).times["a"]
        low, high = math.exp(-0.2) + 3 * math.exp(-0.1), math.exp(0.2) + 3 * math.exp(0.1)
        self.assertTrue(total.ends[0] <= low < 4 < high <= total.ends[1] * (1 + 1e-12))

    def test_a_host_launches_nothing_next_to_a_gpu(self) -> None:
        launches = {"micro/launch/launch_back_to_back": Truth(1e-6, 0.01, "lower", "s")}
        made = [machine("node", launches, backend="host"), machine("a", launches)]
        mix = workload.mix_of(made, items("launch 10"), asked.BIN)
        self.assertIn("own threads", mix.items[0].times["node"].reason)
        self.assertIsNotNone(
            workload.mix_of(made[:1], items("launch 10"), asked.BIN).items[0].times["node"].seconds
        )


class Unbeaten(unittest.TestCase):
    def judged(self, times: Dict[str, float], prices: Dict[str, Price]) -> Prices:
        line = judge(Line("total", {name: Time(seconds, 0.01) for name, seconds in times.items()}))
        return price.judge(Prices(prices, []), [], Mix([line], line, None, 1))

    def test_known_set(self) -> None:
        found = self.judged(
            {"fast": 1.0, "cheap": 2.0, "frugal": 2.0, "poor": 2.5},
            {
                "fast": Price(100, "EUR", 50, "stated"),
                "cheap": Price(50, "EUR", 50, "stated"),
                "frugal": Price(60, "EUR", 40, "stated"),
                "poor": Price(60, "EUR", 55, "stated"),
            },
        )
        self.assertEqual(found.best, ["cheap", "fast", "frugal"])
        self.assertEqual(
            (found.beaten["poor"], found.criteria), (["cheap", "frugal"], ["speed", "price", "power"])
        )

    def test_speed_alone_beats_nobody(self) -> None:
        found = self.judged({"a": 1.0, "b": 2.0}, {"a": Price(), "b": Price()})
        self.assertEqual((found.best, found.criteria), (["a", "b"], ["speed"]))

    def test_currencies_and_sources_are_not_mixed(self) -> None:
        for other in (Price(500, "USD", 90, "stated"), Price(500, "EUR/h", 90, "power limit")):
            found = self.judged({"a": 1.0, "b": 2.0}, {"a": Price(1, "EUR", 100, "stated"), "b": other})
            self.assertNotIn("price", found.criteria)
            self.assertEqual(found.best, ["a", "b"])

    def test_what_looks_slower_does_not_win_by_price(self) -> None:
        """The cheaper of two machines whose times are not told apart dominates only one that looks no
        faster."""
        line = judge(Line("total", {"a": Time(1.0, 0.5), "b": Time(1.5, 0.5)}))
        self.assertEqual(line.rank.verdict, "not told apart")
        bought = {"a": Price(200, "EUR"), "b": Price(100, "EUR")}
        self.assertEqual(price.judge(Prices(bought, []), [], Mix([line], line, None, 1)).best, ["a", "b"])
        bought = {"a": Price(100, "EUR"), "b": Price(200, "EUR")}
        self.assertEqual(price.judge(Prices(bought, []), [], Mix([line], line, None, 1)).best, ["a"])

    def test_without_a_mix_every_number_counts(self) -> None:
        def speeds(one: float, two: float) -> Any:
            rows = metrics.rows_of(
                [
                    machine(name, {"micro/memory/x": Truth(x, 1e-4), "micro/memory/y": Truth(y, 1e-4)}, 4)
                    for name, x, y in (("a", one, two), ("b", 1.0, 1.0))
                ]
            )[0]
            metrics.judge(rows)
            return price._speed(rows, None, "a", "b")

        self.assertEqual([speeds(2, 2), speeds(2, 0.5)], [BETTER, MIXED])

    def test_time_price_and_energy(self) -> None:
        time = Time(7200.0, 0.1)
        self.assertEqual(price.step_cost(Price(3.0, "EUR/h"), time), 6.0)
        self.assertEqual(price.step_cost(Price(26280.0, "EUR"), time), 2.0)  # 3 years have 26,280 hours
        self.assertAlmostEqual(price.steps(Price(3.0, "EUR/h"), time), 1000 / 6)
        self.assertEqual(price.steps(Price(2000.0, "EUR"), time), 6.0)
        self.assertEqual(price.energy(Price(power=100.0), time), 720000.0)
        self.assertIsNone(price.step_cost(Price(), time))


class Power(workplace.Scratch):
    def test_measured_then_limit_then_unknown(self) -> None:
        limit = {"power_limit": {"value": 700, "unit": "W"}}
        one = machine("a", {"micro/memory/x": Truth(1.0)}, 1, state=limit, count=2)
        one.paths = [self.folder / "signature.json"]
        found = price._telemetry(one)
        self.assertEqual((found.power, found.power_source), (1400, price.LIMIT))
        case = {
            "kind": "case",
            "program": "gemm/efficiency",
            "state": {"power": {"value": 600.0, "unit": "W"}},
        }
        lines = [json.dumps(case)] * 4 + ["{cut"] + [json.dumps(dict(case, program="micro/memory"))]
        (self.folder / "records.jsonl").write_text("\n".join(lines) + "\n")
        found = price._telemetry(one)
        self.assertEqual((found.power, found.power_source), (1200, price.MEASURED))
        self.assertIn("4 GEMMs", found.power_text)
        self.assertIsNone(price._telemetry(machine("b", {}, 1)).power)
        self.assertIsNone(price._telemetry(machine("b", {}, 1, state=limit, simulated=True)).power)


if __name__ == "__main__":
    unittest.main()
