# SPDX-License-Identifier: BSD-3-Clause
"""Predictions on small machines, of which it is known what limits a copy or a GEMM."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List

import workplace

try:
    import jsonschema
except ImportError:
    jsonschema = None

from reports.model.key import BASE
from reports.predict import keys, page
from reports.predict.answer import Question, answer
from reports.predict.change import alternatives, parse_sweep
from reports.predict.machine import Fitted, Machine
from reports.predict.simulation import Simulation, base_of
from reports.records.jsonl import Refused
from reports.records.validate import schema

BIN = Path(os.environ.get("GPUSIG_BIN") or workplace.ROOT / "bin")
# A copy between devices passes three rates, of which the engine's is the least.
MODEL = (
    "like = quiet\ndevices = 4\nlinks = mesh\npeer_bandwidth = 40e9\ninjection_bandwidth = 40e9\n"
    "engine_bandwidth = 40e9\nmemory_bandwidth = 8e11\nflops_bf16 = 1e12\njitter_sigma = 0.1\n"
)
COPY = ("micro/copy_path", "--direction", "peer", "--path", "engine", "--size", "64M")
GEMM = ("gemm/efficiency", "--shape", "n1024", "--type", "bf16")


class Predictions(unittest.TestCase):
    folder: Any

    @classmethod
    def setUpClass(cls) -> None:
        if not (BIN / "micro/copy_path").exists():
            raise unittest.SkipTest("nothing is built")
        cls.folder = tempfile.TemporaryDirectory()
        (Path(cls.folder.name) / "four.model").write_text(MODEL, encoding="utf-8")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def asked(self, program: Any, sets: List[str], sweep: str = "", tornado: bool = False, **of: Any) -> Dict:
        spec, devices = "./four.model" + of.pop("changes", ""), of.pop("devices", "0-1")
        machine = Machine("four", spec, devices, **of)
        simulation = Simulation(BIN / program[0], program[0], program[1:], machine, Path(self.folder.name))
        question = Question(alternatives(sets), parse_sweep(sweep) if sweep else None, tornado)
        found = answer(simulation, machine, question, program[1:])
        if jsonschema:
            jsonschema.Draft7Validator(schema("predict")).validate(found)
        for line in page.table(found).splitlines():
            self.assertLessEqual(len(line), 80, line)
        return found

    def test_a_rate_that_others_limit_brings_nothing_and_they_are_named(self) -> None:
        alone, all_three = self.asked(
            COPY,
            ["peer_bandwidth=2x", "peer_bandwidth=2x,injection_bandwidth=2x,engine_bandwidth=2x"],
        )["alternatives"]
        self.assertEqual(alone["ratio"], 1)
        self.assertIn("needs injection_bandwidth and engine_bandwidth raised with it", alone["remarks"][0])
        self.assertAlmostEqual(all_three["ratio"], 0.5, 2)
        self.assertEqual(all_three["remarks"], [])

    def test_a_rate_off_the_path_is_said_with_those_on_it(self) -> None:
        (found,) = self.asked(COPY, ["link_up_bandwidth=2x"], changes="?engine_bandwidth=10e9")[
            "alternatives"
        ]
        self.assertEqual(found["ratio"], 1)
        self.assertIn("this work is limited by engine_bandwidth", found["remarks"][0])

    def test_where_no_rate_limits_it_says_so(self) -> None:
        (found,) = self.asked(GEMM, ["link_up_bandwidth=2x"])["alternatives"]
        self.assertIn("no rate of memory, caches or links limits this work", found["remarks"][0])

    def test_twice_the_flops_and_the_point_where_more_do_not_pay(self) -> None:
        found = self.asked(GEMM, ["flops_bf16=2x"], "flops_bf16=1x:4x")
        self.assertLess(found["alternatives"][0]["ratio"], 0.6)
        curve = [point["ratio"] for point in found["sweep"]["points"]]
        self.assertEqual(curve, sorted(curve, reverse=True))
        self.assertAlmostEqual(curve[0], 1)
        self.assertEqual(found["sweep"]["points"][3]["value"], 2e12)
        self.assertEqual(self.asked(GEMM, [], "link_up_bandwidth=1x:4x")["sweep"]["pays"], "no")

    def test_the_tornado_finds_what_a_gemm_is_short_of_and_leaves_the_rest_out(self) -> None:
        found = self.asked(GEMM, [], tornado=True)["tornado"]
        names = [one["key"] for one in found["keys"]]
        self.assertIn(names[0], ("flops_bf16", "gemm_efficiency", "units"))
        self.assertGreater(found["tried"], 30)
        for name in ("peer_bandwidth", "link_up_bandwidth", "flops_f64", "copy_ns"):
            self.assertNotIn(name, names)
        best = found["keys"][0]["ratio"]
        self.assertAlmostEqual(best, 1 / 1.1, 1)

    def test_more_devices_take_part(self) -> None:
        program = ("overlap/ficco", "--op", "ag-gemm", "--shape", "512x512x512", "--type", "bf16")
        found = self.asked((*program, "--copy-method", "engine"), ["devices=4"])
        four = self.asked((*program, "--copy-method", "engine"), [], devices="0-3")
        self.assertEqual(
            found["cases"][0]["fastest"][0]["changed_s"][0], four["cases"][0]["fastest"][0]["model_s"]
        )
        self.assertEqual(found["machine"]["devices"], "0-1")

    def test_changes_of_the_machine_itself_may_be_changed_again(self) -> None:
        found = self.asked(GEMM, ["units=2x", "units=16"], changes="?units=4,outlier_probability=0.1")
        self.assertEqual(
            found["alternatives"][0]["ratio"],
            self.asked(GEMM, ["units=8"], changes="?units=4")["alternatives"][0]["ratio"],
        )

    def test_what_is_measured_stands_next_to_the_model(self) -> None:
        key = self.asked(COPY, [])["cases"][0]["case"]
        model = self.asked(COPY, [])["cases"][0]["variants"][0]
        times = {("micro/copy_path", key, model["variant"]): 2 * model["model_s"]}
        rates = dict.fromkeys(("engine_bandwidth", "peer_bandwidth", "injection_bandwidth"), 0.2)
        measured = Fitted(rates, ["copy_ns"], [])
        found = self.asked(COPY, [], fitted=measured, times=times)
        self.assertAlmostEqual(found["cases"][0]["variants"][0]["model_error"], -0.5)
        self.assertEqual(found["error"]["compared"], 1)
        self.assertAlmostEqual(found["error"]["median"], 0.5)

    def test_keys_that_nobody_measured_and_that_matter_are_named(self) -> None:
        small = (*COPY[:-1], "1M")
        fitted = Fitted({"engine_bandwidth": 0.1}, [], [])
        found = self.asked(small, [], changes="?engine_bandwidth=10e9", fitted=fitted)
        (key,) = found["error"]["unmeasured"]["keys"]
        self.assertEqual(key["key"], "copy_ns")
        self.assertGreater(found["error"]["unmeasured"]["count"], 30)
        self.assertIn("Assumed, as nobody measured it, and it matters here: copy_ns.", page.table(found))
        (key,) = found["error"]["keys"]
        self.assertEqual(key["key"], "engine_bandwidth")
        self.assertAlmostEqual(key["ratio"], 1 / 1.1, 1)

    def test_times_that_would_be_made_up_are_refused(self) -> None:
        with self.assertRaises(Refused) as why:
            self.asked(COPY, ["units=2x"], changes="?engine_bandwidth=10e9", fitted=Fitted({}, [], []))
        self.assertEqual(why.exception.code, 3)
        self.assertIn("the times depend on engine_bandwidth (engine_bandwidth=2x: -50 %)", str(why.exception))

    def test_a_key_that_is_known_from_below_alone_may_bring_more(self) -> None:
        fitted = Fitted({"peer_bandwidth": None}, [], ["peer_bandwidth"])
        change = "injection_bandwidth=4x,engine_bandwidth=4x"
        (found,) = self.asked(COPY, [change], fitted=fitted)["alternatives"]
        self.assertIn("it may bring more: peer_bandwidth is known from below alone", found["remarks"][-1])
        (found,) = self.asked(COPY, ["peer_bandwidth=4x," + change], fitted=fitted)["alternatives"]
        self.assertEqual(found["remarks"], [])

    def test_what_the_model_lacks_is_said_with_what_the_signature_lacks(self) -> None:
        with self.assertRaises(Refused) as why:
            self.asked((*GEMM[:4], "f8"), [], fitted=Fitted({}, ["flops_f8", "copy_ns"], []))
        self.assertIn("f8", str(why.exception))
        self.assertIn("the signature gives no value for: flops_f8", str(why.exception))

    def test_each_key_of_the_simulator_has_a_way_or_is_no_part(self) -> None:
        """A new key ends in a unit that says which way is better, or is in a list of keys.py."""
        machine = Machine("four", "quiet?memory_adds=1,memory_control=1", "0")
        simulation = Simulation(
            BIN / GEMM[0], GEMM[0], ["--type", "f32", "--shape", "n256"], machine, Path(".")
        )
        known = base_of(simulation, str).keys
        self.assertEqual(known["data"], "none")
        endings = ("_ns", "_bandwidth", "_bytes", "_hz")
        lists = (*keys._CHOICES, *keys._COUNTS, *keys._LESS, *keys._EITHER, *keys._AT_MOST_ONE)
        lists += keys.NOT_PREDICTED
        words = [name for name, value in known.items() if isinstance(value, str)]
        left = [
            name
            for name in known
            if not name.endswith(endings) and not name.startswith("flops_") and name not in (*lists, *words)
        ]
        self.assertEqual(left, [], "%s: which way is better (like = %s)?" % (left, BASE))


if __name__ == "__main__":
    unittest.main()
