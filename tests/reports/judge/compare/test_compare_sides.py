# SPDX-License-Identifier: BSD-3-Clause
"""From folders to sides: what is read, what differs in provenance, and what is refused with one line."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import unittest
from pathlib import Path
from typing import Any, Optional, Sequence
from unittest import mock

import synthetic
import workplace
from record_writer import Writer, axis, headline, value

from reports.judge.compare import gpusig, joins, provenance, sides
from reports.judge.compare.numbers import DIFFERENCE, BadNumbers
from reports.records.record_file import read


def speeds(
    run: str, speed: float = 1e9, grade: Optional[str] = None, spec: str = "host", depth: int = 1, **more: Any
) -> str:
    """A program with two headline numbers: a rate, and a fraction of the ideal."""
    w = Writer(
        "overlap/novel",
        [
            headline("speed", "speed", {"depth": depth}, "plain"),
            headline("novel_of_ideal", "fraction", {"depth": depth}, "plain"),
        ],
        [axis("depth", "", [depth])],
        run=run,
        spec=spec,
        **more,
    )
    line = w.case(
        {"depth": depth},
        [w.variant("plain", 1e-3)],
        [
            value("speed", "plain", speed, "byte/s", ci_low=speed, ci_high=speed),
            value("fraction", "plain", -0.1),
        ],
    )
    if grade:
        line["validity"]["flags"] = [{"flag": grade, "variant": "plain", "reason": "others took the cores"}]
        line["derived"][0]["grades"] = [grade]
    return w.end().text()


class Folders(workplace.Scratch):
    def run_in(self, name: str, text: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        synthetic.store(folder, text)
        self.run_command("build", str(folder))
        return folder

    def runs(self, name: str, count: int = 3, **more: Any) -> None:
        for number in range(1, count + 1):
            self.run_in("%s/run-%d" % (name, number), speeds("%s-%d" % (name, number), 1e9 + number, **more))

    def read(self, *names: str) -> sides.Side:
        return sides.read(self.folder, names)

    def compare(self, *words: str):  # type: ignore[no-untyped-def]
        return self.run_command("--cwd", str(self.folder), "compare", *words)


class Reading(Folders):
    def test_the_runs_of_a_folder_in_their_order(self) -> None:
        self.runs("before", 11)
        side = self.read("before")
        self.assertEqual([run.name for run in side.runs], ["before/run-%d" % n for n in range(1, 12)])
        numbers = side.runs[1].numbers
        self.assertEqual(
            (
                numbers["overlap/novel/speed"].value,
                numbers["overlap/novel/speed"].unit,
                numbers["overlap/novel/speed"].better,
            ),
            (1e9 + 2, "byte/s", "higher"),
        )
        self.assertEqual(numbers["overlap/novel/novel_of_ideal"].scale, DIFFERENCE)
        self.assertTrue(
            all(
                n.judged == (name in ("overlap/novel/speed", "overlap/novel/novel_of_ideal"))
                for name, n in numbers.items()
            )
        )

    def test_one_run_a_signature_and_several_folders(self) -> None:
        self.runs("before", 2)
        self.runs("later", 1)
        for names, count in (
            (("before/run-1",), 1),
            (("before/run-1/signature.json",), 1),
            (("before", "later"), 3),
        ):
            self.assertEqual(len(self.read(*names).runs), count, names)

    def test_a_run_that_is_not_complete_is_left_out_and_named(self) -> None:
        self.runs("before", 3)
        (self.folder / "before" / "repeats.json").write_text(
            json.dumps({"repeats": 4, "done": ["run-1", "run-2"]})
        )
        side = self.read("before")
        self.assertEqual((len(side.runs), side.left_out), (2, ["before/run-3 is not complete"]))
        self.runs("after", 3)
        code, out, _ = self.compare("before", "after", "--html", "")
        self.assertEqual(code, 0)
        self.assertIn("1 run is left out: before/run-3 is not complete", " ".join(out.split()))

    def test_a_side_of_ab_and_both_at_once(self) -> None:
        self.runs("ab/A", 2)
        self.runs("ab/B", 2)
        (self.folder / "ab" / "repeats.json").write_text(
            json.dumps({"repeats": 2, "done": ["A/run-1", "B/run-1", "B/run-2"]})
        )
        self.assertEqual(self.read("ab/A").left_out, ["ab/A/run-2 is not complete"])
        self.assertEqual(len(self.read("ab/B").runs), 2)
        with self.assertRaisesRegex(BadNumbers, "^ab holds both sides: ./gpusig compare ab/A ab/B$"):
            self.read("ab")

    def test_a_single_contended_try_counts_in_a_comparison(self) -> None:
        self.run_in("one", speeds("r1", 2e9, "contended"))
        number = self.read("one").runs[0].numbers["overlap/novel/speed"]
        self.assertEqual(
            (number.value, number.contended, number.unit, number.better), (2e9, True, "byte/s", "higher")
        )
        self.run_in("two", speeds("r1", 2e9, "contended") + speeds("r2", 1e9, "contended"))
        number = self.read("two").runs[0].numbers["overlap/novel/speed"]
        self.assertIsNone(number.value)
        self.assertIn("two tries differ", number.reason)

    def test_a_headline_number_of_another_case_does_not_compare(self) -> None:
        self.runs("before")
        self.runs("after", depth=2)
        _, out, _ = self.compare("before", "after", "--format", "json")
        rows = json.loads(out)["metrics"]
        self.assertEqual(
            {(row["verdict"], row["reason"]) for row in rows},
            {("invalid", "its case differs between runs: depth 1 and depth 2")},
        )

    def test_a_control_is_none_of_the_headline_numbers(self) -> None:
        self.run_in("one", speeds("r1"))
        self.run_in("one/control", speeds("r2"))
        numbers = self.read("one").runs[0].numbers
        self.assertEqual(
            sorted((name, n.control, n.judged) for name, n in numbers.items() if "@" in name),
            [
                ("overlap/novel/novel_of_ideal@control", True, False),
                ("overlap/novel/speed@control", True, False),
            ],
        )

    def test_files_of_other_tools_and_several_sides(self) -> None:
        for side in ("old", "new"):
            (self.folder / side).mkdir()
            for number in range(8):
                rate = (1.0 if side == "old" else 0.8) * (100 + number)
                (self.folder / side / ("%d.csv" % number)).write_text(
                    "metric,unit,better,value\nrate,byte/s,higher,%g\n" % rate
                )
        code, out, _ = self.compare("old", "new", "--html", "")
        self.assertEqual(code, 1)
        self.assertIn("1 of 1 headline number regresses", out)
        halves = [["%s/%d.csv" % (side, number) for number in range(8)] for side in ("old", "new")]
        code, listed, _ = self.compare(*halves[0], "vs", *halves[1], "--html", "")
        self.assertEqual((code, listed.splitlines()[0]), (1, out.splitlines()[0]))


class Provenance(Folders):
    def device(self, **more: Any) -> dict:
        return {**synthetic.GPU, "driver": more.pop("driver", synthetic.GPU["driver"]), **more}

    def difference(self, then: dict, now: dict, factors: Sequence[str] = ()) -> dict:
        self.run_in("then", speeds("r1", spec="cuda", device=then))
        self.run_in("now", speeds("r2", spec="cuda", device=now))
        return provenance.difference(self.read("then").runs, self.read("now").runs, factors)

    def test_what_is_named_is_expected_and_all_else_warns(self) -> None:
        later = self.device(
            driver="590.1 (CUDA 13.1)",
            blas="cuBLASLt 13.1",
            vbios="97",
            state={
                **synthetic.GPU["state"],
                "power_limit": synthetic.telemetry(600, "W"),
                "pcie_width": synthetic.telemetry(8),
                "ecc": synthetic.telemetry("on"),
                "temperature": synthetic.telemetry(80, "degC"),
                "sm_clock": synthetic.telemetry(1e9, "Hz"),
                "power": synthetic.telemetry(600, "W"),
            },
        )
        found = self.difference(self.device(), later, ["driver"])
        self.assertEqual(
            [entry["field"] for entry in found["expected"]], ["driver: device driver", "library: device blas"]
        )
        self.assertEqual(
            {entry["field"] for entry in found["unexpected"]},
            {
                "firmware: device vbios",
                "power: device power limit",
                "links: device PCIe width",
                "ecc: device ECC",
            },
        )
        self.assertEqual(found["expected"][0]["before"], ["580.65.06 (CUDA 13.0)"])
        self.assertEqual(
            [entry for entry in found["unexpected"] if "ECC" in entry["field"]][0]["before"], ["unknown"]
        )

    def test_equal_machines_differ_in_nothing(self) -> None:
        later = self.device(memory_bytes=synthetic.GPU["memory_bytes"] - 4096)  # what others leave of it
        self.assertEqual(
            self.difference(self.device(), later), {"expected": [], "unexpected": [], "within": []}
        )

    def test_values_that_differ_behind_many_equal_characters(self) -> None:
        then, now = ("%s,%d" % (",".join(map(str, range(0, 400, 2))), last) for last in (500, 502))
        found = self.difference(self.device(blas=then), self.device(blas=now))
        self.assertEqual([(e["before"], e["after"]) for e in found["unexpected"]], [([then], [now])])

    def test_a_side_that_changed_within_says_so(self) -> None:
        for number, driver in enumerate(("1", "1", "2")):
            self.run_in(
                "side/run-%d" % number, speeds("r%d" % number, spec="cuda", device=self.device(driver=driver))
            )
        runs = self.read("side").runs
        found = provenance.difference(runs, runs[:1], [])
        self.assertEqual(
            found["within"], [{"field": "driver: device driver", "side": "before", "values": ["1", "2"]}]
        )


class Nodes(Folders):
    def fleet(self, side: str, first: int, speed: float, count: int = 8, runs: int = 2) -> None:
        """Nodes that differ by up to 1 %, and their runs by nothing to speak of."""
        for number in range(first, first + count):
            host, own = "n%d" % number, speed * (1 + 0.01 * (number * 7 % 8) / 8)
            for run in range(1, runs + 1):
                self.run_in(
                    "%s/%s/run-%d" % (side, host, run),
                    speeds("%s-%s-%d" % (side, host, run), own + run, hostname=host),
                )

    def sides(self, *words: str):  # type: ignore[no-untyped-def]
        old, new = (
            sorted("%s/%s" % (side, path.name) for path in (self.folder / side).iterdir())
            for side in ("old", "new")
        )
        return self.compare(*old, "vs", *new, "--html", "", *words)

    def test_a_change_that_some_nodes_have_is_found_and_equal_nodes_are_equal(self) -> None:
        self.fleet("old", 1, 1e9)
        self.fleet("new", 11, 0.9e9)
        self.assertEqual(self.sides()[0], 2)  # a side of several machines
        code, out, _ = self.sides("--nodes")
        self.assertEqual(code, 1)
        self.assertIn("1 of 2 headline numbers regresses: speed by 10.0 %.", out)
        self.assertNotIn("hostname", out)
        found = json.loads(self.sides("--nodes", "--format", "json")[1])
        self.assertEqual(
            ([run["name"] for run in found["before"]["runs"]][:2], found["settings"]["nodes"]),
            (["n1", "n2"], True),
        )
        shutil.rmtree(self.folder / "new")
        self.fleet("new", 11, 1e9)
        self.assertEqual(self.sides("--nodes")[1].splitlines()[0][:14], "No regression:")

    def test_runs_of_one_node_are_one_observation(self) -> None:
        """Many runs of few nodes prove nothing about other nodes."""
        self.fleet("old", 1, 1e9, count=2, runs=8)
        self.fleet("new", 11, 0.9e9, count=2, runs=8)
        code, out, _ = self.sides("--nodes")
        self.assertEqual(code, 3)
        self.assertIn("Fewer than 5 nodes a side show at most what is likely.", " ".join(out.split()))

    def test_a_node_on_both_sides_is_refused(self) -> None:
        self.fleet("old", 1, 1e9)
        self.fleet("new", 8, 0.9e9)
        code, _, err = self.sides("--nodes")
        self.assertEqual(
            (code, err),
            (
                2,
                "gpusig: n8 is on both sides: compare runs of the same nodes without --nodes, each node "
                "alone\n",
            ),
        )


class Interrupted(Folders):
    """Runs that no driver counted: one in which it was stopped is left out."""

    def test_it_is_left_out_and_named(self) -> None:
        self.runs("nights", 3)
        stopped = {"outcomes": {"overlap/novel": {"status": "interrupted"}}}
        (self.folder / "nights/run-2/plan.json").write_text(json.dumps(stopped), encoding="utf-8")
        ended = {"outcomes": {"overlap/novel": {"status": "failed"}}}
        (self.folder / "nights/run-3/plan.json").write_text(json.dumps(ended), encoding="utf-8")
        begun = self.folder / "nights/run-4"
        begun.mkdir()
        (begun / "plan.json").write_text(json.dumps({"outcomes": {}}), encoding="utf-8")
        side = self.read("nights")
        self.assertEqual([run.name for run in side.runs], ["nights/run-1", "nights/run-3"])
        self.assertEqual(side.left_out, ["nights/run-2 is not complete", "nights/run-4 is not complete"])

    def test_a_run_without_a_clock_began_when_it_was_planned(self) -> None:
        folder = self.run_in("simulated", speeds("simulated", simulated=True))
        plan = {"created": "2026-11-27T03:30:00+00:00"}
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        self.assertEqual(self.read("simulated").runs[0].started, plan["created"])


class Unreadable(Folders):
    """A run among others of a folder is left out with the reason; one that is named itself is refused."""

    HOSTILE = {
        "is empty": b"",
        "is cut off": b'{"schema": "gpusig.signature", "version": "3.4.0", "metr',
        "has NaN": b'{"schema": "gpusig.signature", "version": NaN}',
        "is of something else": b'{"schema": "other"}',
        "lacks all": b'{"schema": "gpusig.signature", "version": "3.4.0"}',
        "has other types": b'{"schema": "gpusig.signature", "version": "3.4.0", "metrics": 1, "runs": "x"}',
        "nests": b'{"schema": ' + b"[" * 10000,
        "is no text": b"\xff\xfe\x00",
    }

    def test_it_is_left_out_and_named_with_the_reason(self) -> None:
        self.runs("nights", 4)
        night = self.folder / "nights/run-2/signature.json"
        for what, text in self.HOSTILE.items():
            night.write_bytes(text)
            with self.subTest(what):
                side = self.read("nights")
                self.assertEqual(len(side.runs), 3)
                self.assertRegex(" ".join(side.left_out), "^nights/run-2: signature.json[ :].+$")
                with self.assertRaisesRegex(BadNumbers, "^nights/run-2: signature.json"):
                    self.read("nights/run-2")
                with self.assertRaisesRegex(BadNumbers, "signature.json: signature.json"):
                    self.read("nights/run-2/signature.json")
        code, out, err = self.compare("nights", "--html", "")
        self.assertEqual((code, err), (3, ""))
        self.assertIn("1 run is left out: nights/run-2: signature.json: not UTF-8.", " ".join(out.split()))
        (self.folder / "nights/repeats.json").write_text(
            json.dumps({"repeats": 4, "done": ["run-1", "run-2", "run-3"]})
        )
        self.assertEqual(
            self.read("nights").left_out,
            ["nights/run-2: signature.json: not UTF-8", "nights/run-4 is not complete"],
        )

    def test_a_night_without_files_is_named_and_another_folder_is_none(self) -> None:
        self.runs("nights", 2)
        for name in ("20261127T033000Z", "20261127T033000Z-2", "logs"):
            (self.folder / "nights" / name).mkdir()
        self.assertEqual(
            self.read("nights").left_out,
            ["nights/20261127T033000Z holds no run", "nights/20261127T033000Z-2 holds no run"],
        )

    def test_where_none_is_left_the_reasons_are_said(self) -> None:
        self.runs("nights", 1)
        (self.folder / "nights/run-1/signature.json").write_text("")
        with self.assertRaisesRegex(
            BadNumbers, "^nights has no complete run; nights/run-1: signature.json: not JSON$"
        ):
            self.read("nights")

    def test_a_folder_of_another_user(self) -> None:
        self.runs("nights", 2)
        asked = Path.is_file

        def refused(path: Path) -> bool:
            if path.parent.name == "run-2":
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return asked(path)

        with mock.patch.object(Path, "is_file", refused):
            side = self.read("nights")
        self.assertEqual((len(side.runs), side.left_out), (1, ["nights/run-2: Permission denied"]))


class Joins(Folders):
    """Joining a history: the answer to a run with this first record."""

    def refusal(self, text: str) -> str:
        first = self.folder / "first.jsonl"
        first.write_text(text.splitlines()[0] + "\n")
        return joins.refusal(self.folder / "nights", read(first))

    def test_what_compare_would_refuse(self) -> None:
        gpu = dict(synthetic.GPU, name="NVIDIA H100", units=132)
        (self.folder / "nights").mkdir()
        self.assertEqual(self.refusal(speeds("now")), "")  # there is none yet
        for night in ("2026-1", "2026-2"):
            self.run_in("nights/" + night, speeds(night, spec="cuda:0", device=gpu))
        same = speeds("now", spec="cuda:0", device=dict(gpu, driver="590.1"))
        self.assertEqual(self.refusal(same), "")
        (self.folder / "nights/2026-2/signature.json").write_text("")  # the newest that can be read tells
        for text, words in (
            (speeds("now"), "kind of device: NVIDIA H100, 132 units before, A .*CPU.* now"),
            (
                speeds("now", spec="cuda:0", device=dict(gpu, units=16)),
                "kind of device: NVIDIA H100, 132 units before, NVIDIA H100, 16 units now",
            ),
            (speeds("now", spec="cuda:0", device=gpu, hostname="node2"), "machine: node1 before, node2 now"),
        ):
            err = self.refusal(text)
            self.assertRegex(err, "^another %s$" % words)
        shutil.rmtree(self.folder / "nights/2026-1")
        self.assertEqual(self.refusal(speeds("now")), "")


class Refused(Folders):
    def refused(self, words: str, *arguments: str) -> None:
        code, out, err = self.compare(*arguments)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        self.assertRegex(err, words)
        self.assertFalse((self.folder / "compare.html").exists())

    def test_sides_that_do_not_compare(self) -> None:
        self.runs("host", 2)
        self.run_in("cuda/run-1", speeds("c", spec="cuda", device=synthetic.GPU))
        self.run_in("sim/run-1", speeds("s", spec="host", simulated=True))
        self.run_in("other/run-1", speeds("o", hostname="node2"))
        self.refused(
            "different kinds of device cannot be compared: host: A .* CPU and cuda: NVIDIA H200",
            "host",
            "cuda",
        )
        self.refused("a simulated and a measured machine cannot be compared", "host", "sim")
        self.refused("mixes runs of more than one kind of device", "host", "cuda", "vs", "other")
        self.refused("mixes runs of more than one machine: node1 and node2", "host", "other", "vs", "cuda")
        (self.folder / "x.csv").write_text("metric,unit,better,value\na,s,lower,1\n")
        self.refused("numbers of different tools cannot be compared: gpusig and CSV", "host", "x.csv")

    def test_gpus_of_other_kinds(self) -> None:
        gpu = dict(synthetic.GPU, name="NVIDIA H100 80GB HBM3", units=132)
        others = {"h200": {"name": "NVIDIA H200"}, "part": {"units": 16}, "newer": {"driver": "590.1"}}
        for name, changes in {"h100": {}, **others}.items():
            device = {**gpu, **changes}
            self.run_in("%s/run-1" % name, speeds(name, spec="cuda:0", device=device))
        self.refused("H100 80GB HBM3, 132 units and cuda:0: NVIDIA H200, 132 units", "h100", "h200")
        self.refused("H100 80GB HBM3, 132 units and .* H100 80GB HBM3, 16 units", "h100", "part")
        lines = [json.loads(line) for line in speeds("two", spec="cuda:0-1", device=gpu).splitlines()]
        lines[0]["device"].append(dict(lines[0]["device"][0], index=1))
        self.run_in("two/run-1", "".join(json.dumps(line) + "\n" for line in lines))
        self.refused("different numbers of devices cannot be compared: 1 and 2", "h100", "two")
        self.refused("mixes runs of more than one number of devices: 1 and 2", "h100", "two", "vs", "newer")
        code, out, _ = self.compare("h100", "newer", "--factor", "driver")
        self.assertNotEqual(code, 2)
        self.assertRegex(" ".join(out.split()), "device driver, declared to differ.* 580.65.06 .* 590.1")

    def simulated(self, name: str, model: str, contents: str = "0", **keys: Any) -> None:
        own = {"name": model, "contents": contents * 16, "keys": {"units": 4, "links": "switch", **keys}}
        device = {"name": "simulated device (%s)" % name, "model": own, "units": own["keys"]["units"]}
        self.run_in("%s/run-1" % name, speeds(name, spec="sim:" + name, simulated=True, device=device))

    def test_changed_keys_of_a_model_are_listed(self) -> None:
        self.simulated("h100", "h100")
        self.simulated("slow", "h100", units=3)
        self.simulated("edited", "h100", contents="1")
        self.simulated("h200", "h200")
        sides_of = {name: sides.read(self.folder, [name]) for name in ("h100", "slow", "edited")}
        differing = provenance.difference(sides_of["h100"].runs, sides_of["slow"].runs, [])
        self.assertEqual(
            differing["unexpected"], [{"field": "model: units", "before": ["4"], "after": ["3"]}]
        )
        declared = provenance.difference(sides_of["h100"].runs, sides_of["slow"].runs, ["model"])
        self.assertEqual((len(declared["expected"]), declared["unexpected"]), (1, []))
        edited = provenance.difference(sides_of["h100"].runs, sides_of["edited"].runs, [])
        self.assertEqual([entry["field"] for entry in edited["unexpected"]], ["model: contents"])
        sides.check([sides_of["h100"], sides_of["slow"]])
        self.refused("different kinds of device cannot be compared: .*h100.* and .*h200", "h100", "h200")

    def processor(self, name: str, **fields: Any) -> None:
        """A run of a machine whose processor is known by these fields; None: the field is absent."""
        lines = [json.loads(line) for line in speeds(name).splitlines()]
        lines[0]["provenance"].update(fields)
        self.run_in("%s/run-1" % name, "".join(json.dumps(line) + "\n" for line in lines))

    def test_processors_of_one_name_that_are_two(self) -> None:
        hidden = {"cpu": "Intel(R) Xeon(R) Processor", "cpu_family": "6"}
        self.processor("skylake", cpu_model="85", **hidden)
        self.processor("sapphire", cpu_model="207", cores_physical=16, **hidden)
        self.processor("smaller", cpu_model="207", cores_physical=8, **hidden)
        self.refused(
            r"Processor, cpu family 6, cpu model 85 and host: .* cpu model 207", "skylake", "sapphire"
        )
        arm = {"cpu": "CPU implementer 0x41, CPU part 0xd4f", "cpu_family": None, "cpu_model": None}
        self.processor("grace", cache_l2_Unified=1 << 20, cache_l3_Unified=114 << 20, **arm)
        self.processor("graviton", cache_l2_Unified=2 << 20, cache_l3_Unified=36 << 20, **arm)
        self.refused("different kinds of device", "grace", "graviton")
        found = [
            gpusig.read(self.folder / name / "run-1" / "signature.json", name).device
            for name in ("sapphire", "smaller")
        ]
        self.assertEqual(found[0], found[1])

    def test_the_same_run_twice(self) -> None:
        self.runs("host", 2)
        self.refused("host/run-1 and host/run-1 are the same run; each counts once", "host", "host")
        shutil.copytree(self.folder / "host" / "run-1", self.folder / "copy")
        self.refused("are the same run; each counts once", "host", "copy")
        self.refused("are the same run; each counts once", "host", "copy", "vs", "host/run-2")

    def test_the_same_simulated_run_twice_and_two_of_one_seed(self) -> None:
        """Simulated runs of one seed have one identity, whatever was changed."""
        for name, spec, speed in (("sim", "sim:a", 1e9), ("other", "sim:a", 2e9)):
            self.run_in("%s/run-1" % name, speeds("sim-1", speed, spec=spec, simulated=True))
        self.refused("sim/run-1 and sim/run-1 are the same run; each counts once", "sim", "sim")
        self.assertEqual(self.compare("sim", "other", "--html", "")[0], 3)

    def test_files_of_equal_content_are_two_runs_and_one_file_is_one(self) -> None:
        for name in ("a.csv", "b.csv"):
            (self.folder / name).write_text("metric,unit,better,value\nx,s,lower,1\n")
        self.assertEqual(self.compare("a.csv", "b.csv", "--html", "")[0], 3)
        self.refused("a.csv and a.csv are the same run", "a.csv", "a.csv")

    def test_two_machines_are_compared_and_the_difference_is_named(self) -> None:
        self.runs("host", 2)
        self.run_in("other/run-1", speeds("o", hostname="node2"))
        code, out, _ = self.compare("host", "other", "--html", "")
        self.assertEqual(code, 3)
        self.assertIn("hostname", out)

    def test_where_and_when_a_job_ran_is_no_difference(self) -> None:
        job = {
            "SLURM_JOB_ID": "7",
            "SLURM_JOB_NODELIST": "n[1-2]",
            "SLURM_NODELIST": "n[1-2]",
            "SLURMD_NODENAME": "n1",
            "SLURM_JOB_PARTITION": "big",
            "OMP_NUM_THREADS": "2",
        }
        found = provenance.of_signature({"provenance": {"fields": {}, "environment": job}, "devices": {}}, {})
        self.assertEqual(
            sorted(found),
            ["environment: OMP_NUM_THREADS", "environment: SLURM_JOB_PARTITION", "machine: devices"],
        )

    def test_folders_and_files_that_hold_no_run(self) -> None:
        self.runs("host", 2)
        (self.folder / "empty").mkdir()
        (self.folder / "records").mkdir()
        (self.folder / "records" / "records.jsonl").write_text("")
        (self.folder / "loop").symlink_to("loop")
        self.refused("^gpusig: nothing is not there$", "host", "nothing")
        self.refused("^gpusig: an empty name is no run$", "host", "")  # and not the folder of the command
        self.refused("^gpusig: empty holds no run", "host", "empty")
        self.refused(
            "^gpusig: records has no signature.json; make it: ./gpusig report records$", "host", "records"
        )
        self.refused("^gpusig: loop", "host", "loop")
        self.refused("^gpusig: ", "host", "a\0b")

    def test_damaged_signatures(self) -> None:
        self.runs("host", 2)
        good = (self.folder / "host" / "run-1" / "signature.json").read_text(encoding="utf-8")
        (self.folder / "bad").mkdir()
        path = self.folder / "bad" / "signature.json"
        for text, words in (
            ("", "not JSON"),
            ("{}", "not a signature of gpusig"),
            (good[:-100], "not JSON"),
            (good.replace('"version": "3.', '"version": "7.'), "signature.json: version 7"),
            (good.replace('"value":', '"values":'), "malformed"),
            ("[" * 100000, "nested too deeply|not JSON|objects"),
        ):
            path.write_text(text, encoding="utf-8")
            self.refused(words, "host", "bad")
        random_ = random.Random(1)
        data = good.encode("utf-8")
        for _ in range(60):
            changed = bytearray(data)
            for _ in range(random_.randint(1, 8)):
                changed[random_.randrange(len(changed))] = random_.randrange(256)
            path.write_bytes(bytes(changed))
            code, _, err = self.compare("host", "bad", "--html", "")
            self.assertIn(code, (0, 1, 2, 3))
            self.assertLessEqual(err.count("\n"), 1, err)

    def test_wrong_options_are_one_line(self) -> None:
        self.runs("host", 2)
        for words, arguments in (
            ("needs two sides", ()),
            ("needs two sides, or a history", ("host/run-1",)),
            ("--factor goes with two sides", ("host", "--factor", "driver")),
            ("--format junit goes with two sides", ("host", "--format", "junit")),
            ("several a side are: BEFORE... vs AFTER...", ("host",) * 3),
            ("needs two sides", ("vs", "host")),
            ("needs two sides", ("host", "vs")),
            ("unknown factor 'drivers'; factors: driver firmware", ("host", "host", "--factor", "drivers")),
            ("'x' is not an effect between 0 and 1", ("host", "host", "--effect", "x")),
            ("'200%' is not an effect", ("host", "host", "--effect", "200%")),
            ("'xml' is none of", ("host", "host", "--format", "xml")),
            ("noise: No such file", ("host/run-1", "host/run-2", "--noise", "noise")),
            ("--repeats goes with --aa", ("host", "host", "--repeats", "8")),
            ("--aa compares equal runs: leave out", ("--aa", "host", "--factor", "driver")),
            ("has 2 runs; to split them", ("--aa", "host")),
            ("needs the folders", ("--aa",)),
            ("unknown option '--what'", ("host", "host", "--what")),
        ):
            self.refused(words, *arguments)

    def test_a_page_that_cannot_be_written_is_1_and_the_answer_is_there(self) -> None:
        self.runs("host", 1)
        self.runs("later", 1)
        (self.folder / "compare.html").mkdir()
        code, out, err = self.compare("host", "later")
        self.assertEqual(code, 1)
        self.assertIn("Inconclusive", out)
        self.assertIn("cannot write", err)


class Hostile(Folders):
    def test_names_from_files_reach_no_terminal_or_page_as_they_are(self) -> None:
        evil = "\x1b[31m<script>alert(1)</script>=cmd()\u202e"
        for side in ("old", "new"):
            (self.folder / side).mkdir()
            (self.folder / side / "1.csv").write_text(
                'metric,unit,better,value\n"%s",s,lower,1\n' % evil, encoding="utf-8"
            )
        for format_ in ("table", "json", "junit"):
            _, out, _ = self.compare("old", "new", "--format", format_)
            self.assertNotIn("\x1b", out)
            self.assertNotIn("\u202e", out)
        if workplace.HAVE_JINJA2:
            page = (self.folder / "compare.html").read_text(encoding="utf-8")
            self.assertNotIn("<script>alert", page)

    def test_the_same_input_gives_the_same_bytes(self) -> None:
        self.runs("host", 3)
        self.runs("later", 3)
        outs = set()
        for format_ in ("table", "json", "junit") * 2:
            _, out, _ = self.compare("host", "later", "--format", format_)
            outs.add(out)
        self.assertEqual(len(outs), 3)


if __name__ == "__main__":
    unittest.main()
