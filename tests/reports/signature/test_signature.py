# SPDX-License-Identifier: BSD-3-Clause
"""The signature leaves out what is not valid, and is the same every time."""

from __future__ import annotations

import itertools
import json
import random
import unittest

import synthetic
import workplace
from synthetic import copies, everything, headline, launch, memory, unknown, unstarted, value

from reports.signature import left_out, machine
from reports.judge.compare import provenance
from reports.signature.signature import MixedMachines

try:
    import jsonschema
except ImportError:
    jsonschema = None


class Rules(workplace.Scratch):
    def test_same_records_same_bytes(self) -> None:
        self.assertEqual(self.signature(everything()).text(), self.signature(everything()).text())

    def test_numbers_that_identify_a_processor_make_a_kind_and_lscpu_names_it(self) -> None:
        writers = []
        for part, name in (("0xd0c", "Neoverse-N1"), ("0xd87/0xd85", None)):
            w = launch()
            cpu = "CPU implementer 0x41, CPU part %s, CPU variant 0x3, CPU revision 1" % part
            w.lines[0]["device"][0]["name"] = cpu
            w.lines[0]["provenance"].update({"cpu": cpu, "cpu_name": name})
            self.assertEqual(machine.name_of(self.signature(w.text()).json), name or cpu)
            writers.append(w)
        with self.assertRaisesRegex(MixedMachines, "different CPUs"):
            self.signature("".join(w.text() for w in writers))

    def test_an_unknown_program_needs_no_change_here(self) -> None:
        signature = self.signature(unknown().text()).json
        self.assertEqual(signature["metrics"]["overlap/novel/novel_speed"]["value"], 1000.0)
        self.assertEqual(len(signature["programs"]["overlap/novel"]["curves"]), 2)
        self.assertIn("overlap/novel/speed{variant=plain,colour=red,depth=4}", signature["metrics"])

    def test_what_only_bounds_others_is_no_result(self) -> None:
        w = synthetic.Writer("micro/x", [], [synthetic.axis("size", "byte", [])], references=["read_only"])
        for size in (4096, 65536, 1 << 20):
            w.case({"size": size}, [w.variant("copy", 1e-6, size), w.variant("read_only", 5e-7, size)])
        signature = self.signature(w.end().text())
        self.assertTrue([n for n in signature.json["metrics"] if "copy" in n])
        self.assertNotIn("read_only", json.dumps(signature.json))

    def test_invalid_values_are_listed_and_left_out(self) -> None:
        w = launch()
        w.lines[1]["derived"][2].update(valid=False)
        w.lines[1]["validity"] = {
            "valid": False,
            "flags": [{"flag": "noisy", "variant": "round_trip", "reason": "wide"}],
        }
        signature = self.signature(w.text()).json
        self.assertNotIn("micro/launch/launch_round_trip", signature["metrics"])
        self.assertEqual(
            [(e["variant"], e["flags"]) for e in signature["invalid"]], [("round_trip", ["noisy"])]
        )
        self.assertEqual(signature["primary_missing"][0]["metric"], "launch_round_trip")

    def test_a_flag_of_one_quantity_concerns_no_other(self) -> None:
        w = launch()
        w.lines[1]["derived"] += [
            synthetic.value("S", None, 3.0, valid=False),
            synthetic.value("S_ideal", None, 1.5),
        ]
        w.lines[1]["validity"] = {
            "valid": False,
            "flags": [
                {
                    "flag": "above_bound",
                    "variant": None,
                    "quantity": "S",
                    "reason": "S 3 is above S_ideal 1.5",
                }
            ],
        }
        signature = self.signature(w.text()).json
        self.assertEqual(
            [(e["derived"], e["reason"]) for e in signature["invalid"]],
            [("S", "above_bound: S 3 is above S_ideal 1.5")],
        )
        self.assertIn("micro/launch/S_ideal", signature["metrics"])
        self.assertIn("micro/launch/launch_round_trip", signature["metrics"])

    def test_a_headline_that_nobody_asked_for_is_not_missing(self) -> None:
        metrics = [
            headline("rate_" + kind, "bandwidth", {"type": kind}, "copy") for kind in ("f32", "f8", "f64")
        ]
        w = synthetic.Writer("micro/x", metrics, [synthetic.axis("type", "", ["f32", "f64"])])
        w.case({"type": "f32"}, [w.variant("copy", 1e-6, 4096)])
        missing = self.signature(w.end().text()).json["primary_missing"]
        self.assertEqual(
            [(e["metric"], e["reason"]) for e in missing], [("rate_f64", "its case did not run")]
        )

    def test_a_flag_on_the_whole_case_spoils_all_of_it(self) -> None:
        w = launch()
        w.lines[1]["validity"] = {
            "valid": False,
            "flags": [{"flag": "contended", "variant": None, "reason": "others ran"}],
        }
        self.assertEqual(self.signature(w.text()).json["metrics"], {})

    def test_wrong_result_is_never_a_metric(self) -> None:
        w = launch()
        w.lines[1]["check"] = {"status": "failed", "detail": "block 3 holds 7"}
        signature = self.signature(w.text())
        self.assertEqual(signature.json["metrics"], {})
        self.assertTrue(signature.failed)

    def test_a_time_that_a_rate_says_already_is_left_out(self) -> None:
        w = launch()
        w.lines[1]["derived"] += [
            value("bandwidth", "enqueue", 5e9, "byte/s"),
            value("bandwidth", "round_trip", None, "byte/s"),
        ]
        w.lines[1]["derived"][-1]["reason"] = "none"
        metrics = self.signature(w.text()).json["metrics"]
        self.assertIn("micro/launch/bandwidth{variant=enqueue}", metrics)
        self.assertNotIn("micro/launch/time{variant=enqueue}", metrics)
        self.assertIn("micro/launch/time{variant=round_trip}", metrics)  # its rate is no value
        self.assertIn("micro/launch/time{variant=back_to_back}", metrics)
        self.assertIn("micro/launch/launch_round_trip", metrics)
        self.assertEqual(
            {
                c["derived"]
                for c in self.signature(copies().text()).json["programs"]["micro/copy_path"]["curves"]
            },
            {"bandwidth"},
        )

    def test_null_value_keeps_its_reason(self) -> None:
        w = launch()
        w.lines[1]["derived"] = [
            value("time", "round_trip", None, "s", reason="no block gave a finite value")
        ]
        self.assertEqual(
            self.signature(w.text()).json["invalid"][0]["reason"], "no block gave a finite value"
        )

    def test_programs_without_a_record_are_listed_with_their_reason(self) -> None:
        text = launch().text() + unstarted("overlap/a", "skipped", "needs 2 devices")
        text += unstarted("overlap/b", "failed", "signal 11")
        signature = self.signature(text)
        self.assertEqual(
            [(e["program"], e["key"], e["status"], e["reason"]) for e in signature.json["not_measured"]],
            [("overlap/a", None, "skipped", "needs 2 devices"), ("overlap/b", None, "failed", "signal 11")],
        )
        self.assertTrue(signature.failed)
        heads = [(n.head, n.text) for n in left_out.skipped(signature.json)]
        self.assertEqual(
            heads, [("overlap/b: failed", "signal 11"), ("overlap/a: skipped", "needs 2 devices")]
        )
        self.assertIn("2 programs did not run", machine.counts(signature))

    def test_a_program_that_ran_later_is_no_longer_without_a_record(self) -> None:
        signature = self.signature(unstarted("micro/launch", "skipped", "needs a device") + launch().text())
        self.assertEqual(signature.json["not_measured"], [])

    def test_nothing_but_skips_is_a_signature_too(self) -> None:
        code, out, _ = self.run_build(unstarted("overlap/a", "skipped", "needs 2 devices"))
        self.assertEqual(code, 3)
        self.assertIn("overlap/a: skipped: needs 2 devices", out)

    def test_simulated_and_measured_do_not_mix(self) -> None:
        with self.assertRaises(MixedMachines):
            self.signature(launch().text() + memory(spec="sim", run="s", simulated=True).text())

    def test_two_machines_do_not_mix(self) -> None:
        with self.assertRaises(MixedMachines):
            self.signature(launch().text() + memory(run="r2", hostname="node2").text())

    def test_what_a_device_says_of_itself_is_in_its_object(self) -> None:
        device = self.signature(synthetic.gpu()).json["devices"]["cuda[0]"]
        self.assertEqual(device["state"], synthetic.GPU["state"])
        self.assertEqual(device["arch"], "sm_90")

    def test_a_state_that_is_none_is_a_line_that_cannot_be_used(self) -> None:
        for state in (
            [1],
            {"power": 3},
            {"power": {"value": [1], "unit": "W"}},
            {"power": {"value": 1, "unit": 2}},
        ):
            with self.subTest(state=state):
                w = launch()
                w.lines[0]["device"][0]["state"] = state
                signature = self.signature(w.text()).json
                self.assertEqual((signature["metrics"], signature["devices"]), ({}, {}))
                self.assertIn("device[].state", " ".join(e["reason"] for e in signature["bad_records"]))

    def test_the_cpus_that_a_launcher_gives_to_ranks_are_no_change(self) -> None:
        ranks, other = synthetic.allreduce(run="r2"), memory(run="r3")
        ranks.lines[0]["job"] = {"library": "Open MPI", "processes": 2, "hosts": 1}
        ranks.lines[0]["provenance"]["affinity"] = "1"
        origin = self.signature(launch().text() + ranks.text()).json["provenance"]
        self.assertEqual((origin["changed_between_runs"], origin["fields"]["affinity"]), ({}, "0-1"))
        other.lines[0]["provenance"]["affinity"] = "1"
        origin = self.signature(launch().text() + other.text()).json["provenance"]
        self.assertEqual(origin["changed_between_runs"], {"affinity": ["0-1", "1"]})

    def test_other_devices_carry_their_name(self) -> None:
        text = copies().text() + launch().text() + launch(spec="host:0,1", run="r2").text()
        metrics = self.signature(text).json["metrics"]
        self.assertIn("micro/launch/launch_round_trip", metrics)
        self.assertIn("micro/launch/launch_round_trip@host:0,1", metrics)

    def test_a_model_with_more_cases_is_not_the_machine(self) -> None:
        alone = self.signature(launch().text()).json
        both = self.signature(launch().text() + synthetic.torus(spec="sim:0-7", simulated=True).text()).json
        self.assertLess(len(launch().lines), len(synthetic.torus().lines))
        self.assertEqual((both["device"], both["metrics"]), (alone["device"], alone["metrics"]))
        self.assertIn("topology/torus@sim:0-7", both["programs"])

    def test_no_headline_number_is_cut_off(self) -> None:
        text = ""
        for i in range(8):
            primary = [headline("m%d" % j, "speed", {"depth": j}, "v") for j in range(5)]
            w = synthetic.Writer("overlap/p%d" % i, primary, [synthetic.axis("depth", "", list(range(5)))])
            for j in range(5):
                w.case({"depth": j}, [w.variant("v", 1e-3)], [value("speed", "v", 1.0 + j, "byte/s")])
            text += w.end().text()
        primary = self.signature(text).primary
        self.assertEqual(
            {name: m["value"] for name, m in primary.items()},
            {"overlap/p%d/m%d" % (i, j): 1.0 + j for i in range(8) for j in range(5)},
        )

    def test_a_headline_number_is_its_own_case_or_missing(self) -> None:
        """Whatever other cases say: a better one takes no place, and an invalid one is not replaced."""
        at = {"colour": "red", "depth": 2}
        w = unknown()
        w.lines[0]["primary"] = [headline("speed", "speed", at, "plain")]
        entry = self.signature(w.text()).json["metrics"]["overlap/novel/speed"]
        self.assertEqual(
            (entry["value"], entry["ci_low"], entry["condition"]), (500.0, 450.0, "red, depth 2")
        )
        spoilt = next(line for line in w.lines if line.get("case") == at)
        spoilt["derived"][0].update(valid=False)
        spoilt["validity"] = {
            "valid": False,
            "flags": [{"flag": "noisy", "variant": "plain", "reason": "wide"}],
        }
        signature = self.signature(w.text()).json
        self.assertNotIn("overlap/novel/speed", signature["metrics"])
        self.assertEqual([e["reason"] for e in signature["primary_missing"]], ["noisy: wide"])

    def test_a_headline_number_of_the_fastest_names_it(self) -> None:
        w = unknown()
        w.lines[0]["primary"] = [headline("speed", "best_speed", {"colour": "red", "depth": 1})]
        case = next(line for line in w.lines if line.get("case") == {"colour": "red", "depth": 1})
        case["derived"].append(value("best_speed", None, 5.0, "byte/s", kind="rate", of=["plain"], factor=1))
        entry = self.signature(w.text()).json["metrics"]["overlap/novel/speed"]
        self.assertEqual(
            (entry["value"], entry["variant"], entry["condition"]),
            (5.0, "plain", "red, depth 1, fastest: plain"),
        )

    def test_a_headline_number_of_two_cases_is_none(self) -> None:
        w = unknown()
        w.lines[0]["primary"] = [headline("speed", "speed", {"depth": 1}, "plain")]
        signature = self.signature(w.text()).json
        self.assertNotIn("overlap/novel/speed", signature["metrics"])
        self.assertEqual(
            [e["reason"] for e in signature["primary_missing"]],
            ["2 cases fit: colour=red depth=1; colour=blue depth=1"],
        )

    def test_a_headline_number_of_a_skipped_case_says_why(self) -> None:
        w = unknown()
        w.lines[0]["primary"] = [headline("speed", "speed", {"colour": "green", "depth": 1}, "plain")]
        w.lines[0]["axes"][0]["values"].append("green")
        w.lines.insert(1, dict(w.case({"colour": "green", "depth": 1}, status="skipped", reason="no paint")))
        del w.lines[-1]
        self.assertEqual(
            [e["reason"] for e in self.signature(w.text()).json["primary_missing"]],
            ["no paint"],
        )

    def test_a_headline_number_of_a_variant_that_the_device_cannot_have_says_why(self) -> None:
        names = ("engine", "engine_split", "kernel")
        w = synthetic.Writer("micro/x", [headline(name + "_rate", "bandwidth", None, name) for name in names])
        w.case({}, [w.variant("plain", 1e-6, 4096)])["facts"] = {
            "not_measured": "both_ways, engine: there are no engines"
        }
        missing = self.signature(w.end().text()).json["primary_missing"]
        self.assertEqual(
            [(e["metric"], e["reason"]) for e in missing],
            [("engine_rate", "there are no engines")],
        )

    def test_a_capacity_that_the_device_does_not_report_is_said(self) -> None:
        w = unknown()
        w.lines[0]["primary"] = [headline("speed", "speed", {"colour": "red", "depth": "16LLC"}, "plain")]
        self.assertEqual(
            [e["reason"] for e in self.signature(w.text()).json["primary_missing"]],
            ["this device does not report what 16LLC is"],
        )

    def test_a_level_that_a_model_lacks_is_not_there(self) -> None:
        w = unknown()
        w.lines[0]["primary"] = [headline("speed", "speed", {"colour": "red", "depth": "L1/2"}, "plain")]
        w.lines[0]["device"][0]["virtual_time"] = True
        self.assertEqual(
            [(e["cause"], e["reason"]) for e in self.signature(w.text()).json["primary_missing"]],
            [("not_supported", "the device has no first-level cache")],
        )

    def test_the_types_of_a_device_are_those_of_any_run(self) -> None:
        """A program without GEMMs records none."""
        without = unknown()
        without.lines[0]["device"][0]["gemm_types"] = []
        devices = self.signature(launch().text() + without.text()).json["devices"]
        self.assertEqual([device["gemm_types"] for device in devices.values()], [["f32", "f64"]])

    def test_the_device_is_the_same_in_every_order_of_programs(self) -> None:
        """A program that asks for no GEMMs opens the device without them, ranks are bound to some of its
        cores, and a program that was started by hand divides them."""
        has, lacks, divides, ranks = (
            make(device=device, **more)
            for make, device, more in (
                (copies, {"blas": "OpenBLAS", "capabilities": ["gemm", "copy_engine", "peer"]}, {}),
                (memory, {"capabilities": ["copy_engine", "peer"], "memory_bytes": 1 << 33}, {}),
                (launch, {"units": 1, "memory_bytes": 1 << 32}, {"spec": "host:0,1"}),
                (synthetic.allreduce, {"units": 1, "shares": "its core"}, {}),
            )
        )
        has.lines[0]["started"] = "2026-01-02T03:04:07+00:00"
        ranks.lines[0]["started"] = "2026-01-02T03:04:09+00:00"
        ranks.lines[0]["job"] = {"library": "Open MPI", "processes": 2, "hosts": 1}
        found = [
            self.signature("".join(w.text() for w in order)).json
            for order in itertools.permutations((has, lacks, divides, ranks))
        ]
        self.assertEqual(
            len({json.dumps([s[key] for key in ("device", "devices", "provenance")]) for s in found}), 1
        )
        self.assertEqual(
            [(name, d["units"], d["blas"], d["memory_bytes"]) for name, d in found[0]["devices"].items()],
            [("host[0]", 2, "OpenBLAS", 1 << 34), ("host:0,1[0]", 1, "", 1 << 32)],
        )
        self.assertEqual(found[0]["devices"]["host[0]"]["capabilities"], ["gemm", "copy_engine", "peer"])
        self.assertEqual(found[0]["provenance"]["changed_between_runs"], {})
        stated = [provenance.of_signature(s, {}) for s in found]
        self.assertTrue(all(fields == stated[0] for fields in stated))
        self.assertEqual((stated[0]["partition: device units"], stated[0]["machine: devices"]), ("2", "1"))

    def test_ranks_alone_describe_the_device_that_they_had(self) -> None:
        ranks = synthetic.allreduce(device={"units": 1})
        ranks.lines[0]["job"] = {"library": "Open MPI", "processes": 2, "hosts": 1}
        self.assertEqual(self.signature(ranks.text()).json["devices"]["host[0]"]["units"], 1)

    def test_a_device_that_changed_says_so_in_the_order_of_time(self) -> None:
        earlier, later = copies(), memory(device={"units": 1, "memory_bytes": 1 << 33})
        later.lines[0]["started"] = "2026-01-02T03:04:06+00:00"
        for order in itertools.permutations((earlier, later)):
            signature = self.signature("".join(w.text() for w in order)).json
            self.assertEqual(signature["provenance"]["changed_between_runs"], {"host[0] units": [2, 1]})
            self.assertEqual(signature["devices"]["host[0]"]["units"], 1)

    def test_models_are_no_metrics(self) -> None:
        w = unknown()
        w.lines[1]["derived"].append(value("foretold", "plain", 7.0, modelled=True))
        self.assertFalse([name for name in self.signature(w.text()).json["metrics"] if "foretold" in name])

    def test_cases_come_in_the_order_of_their_axes_however_they_were_measured(self) -> None:
        w = unknown()
        w.lines[1:-1] = random.Random(3).sample(w.lines[1:-1], len(w.lines) - 2)
        keys = list(self.records(w.text()).groups[("overlap/novel", "host")].cases)
        self.assertEqual(keys, ["colour=%s depth=%d" % (c, d) for c in ("red", "blue") for d in (1, 2, 4)])

    def test_flat_and_extreme_data_do_not_break_the_fits(self) -> None:
        for seconds in (1e-30, 1e-9, 1e30):
            w = synthetic.Writer("micro/copy_path", [], [synthetic.axis("size", "byte", [])])
            for size in (4096, 8192, 1 << 60):
                w.case(
                    {"size": size}, [w.variant("engine", seconds, size), w.variant("kernel", seconds, size)]
                )
            self.signature(w.end().text()).text()


@unittest.skipUnless(jsonschema, "jsonschema is not installed")
class Schema(workplace.Scratch):
    def test_own_records_and_signature_are_as_the_schemas_say(self) -> None:
        for text in (everything(), synthetic.gpu()):
            synthetic.store(self.folder, text)
            self.assertEqual(self.run_command("validate", str(self.folder / "records.jsonl")), (0, "", ""))
            self.run_command("build", str(self.folder))
            self.assertEqual(self.run_command("validate", str(self.folder / "signature.json")), (0, "", ""))

    def test_schema_catches_mistakes(self) -> None:
        line = json.loads(memory().text().splitlines()[1])
        for wrong in (
            {"status": "skipped"},
            {"status": "failed", "reason": ""},
            {"key": None},
            {"version": "1.0"},
            {"validity": {"valid": True}},
            {"case": {"a": None}},
            {"program": "Micro Memory"},
            {"elapsed_s": -1},
            {"derived": [value("x", None, None)]},
            {"state": None},
            {"state": {"power": {"value": None, "unit": "W"}}},
            {"state": {"power": synthetic.telemetry(1.0, "W", reason="but it is known")}},
        ):
            with self.subTest(wrong=wrong):
                (self.folder / "bad.jsonl").write_text(json.dumps(dict(line, **wrong)) + "\n")
                self.assertEqual(self.run_command("validate", str(self.folder / "bad.jsonl"))[0], 1)

    def test_schemas_are_schemas(self) -> None:
        from reports.records.validate import schema

        for name in ("record", "signature"):
            jsonschema.Draft7Validator.check_schema(schema(name))


if __name__ == "__main__":
    unittest.main()
