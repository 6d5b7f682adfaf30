# SPDX-License-Identifier: BSD-3-Clause
"""Exports for other tools: every headline number is there with its value, whatever the names hold, and
nothing twice. What the tools themselves say of them is in tests/adapters."""

from __future__ import annotations

import ast
import csv
import io
import itertools
import json
import re
import tempfile
import unittest
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List
from xml.etree import ElementTree

import workplace
import synthetic
from reports.judge.compare import foreign
from reports.judge.compare.numbers import BadNumbers
from suite.commands.export import FORMATS
from reports.export import gbench, junit, prometheus, reframe, runs, series
from reports.records.jsonl import clean
from tests.reports.signature.test_report import HOSTILE
from tests import level

Json = Dict[str, Any]
_SAMPLE = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (\S+)')


def samples(text: str) -> Dict[str, float]:
    """Series -> value; fails on a line that the format does not have, and on a series that is there twice."""
    found: Dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        match = _SAMPLE.fullmatch(line)
        if match is None:
            raise AssertionError("no line of Prometheus: %r" % line)
        if line.rpartition(" ")[0] in found:
            raise AssertionError("twice: %r" % line)
        found[line.rpartition(" ")[0]] = float(match.group(3))
    return found


@lru_cache(maxsize=None)
def of_everything() -> str:
    with tempfile.TemporaryDirectory() as folder:
        return workplace.build(workplace.read(synthetic.store(Path(folder), synthetic.everything()))).text()


class Exported(workplace.Scratch):
    def stored(self, name: str = "run", text: str = "", **plan: str) -> Path:
        """A run of every program, as a folder."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        signature = self.signature(text).text() if text else of_everything()
        (folder / "signature.json").write_text(signature, encoding="utf-8")
        if plan:
            (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        return folder

    def changed(self, folder: Path, change: Any) -> Path:
        path = folder / "signature.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8", errors="surrogatepass")
        return folder

    def run_of(self, folder: Path) -> runs.Run:
        return runs.collect(self.folder, [str(folder)])[0][0]

    def series(self, count: int, change: Any = lambda content, i: None) -> List[runs.Run]:
        """Runs whose memory gets slower by 1 % each, an hour apart, in folders whose names have another
        order."""
        for i in range(count):

            def scaled(content: Json, i: int = i) -> None:
                content["metrics"]["micro/memory/memory_triad_bandwidth"]["value"] *= 0.99**i
                content["runs"] = []  # so that the plan says when it began
                change(content, i)

            self.changed(
                self.stored("nights/n-%d" % (count - i), created="2026-01-02T%02d:00:00+00:00" % i), scaled
            )
        return runs.collect(self.folder, ["nights"])[0]


class Prometheus(Exported):
    def test_every_number_once_with_its_base_unit_and_interval(self) -> None:
        run = self.run_of(self.stored())
        found = samples(prometheus.export([run])[0])
        self.assertGreater(len(run.values), 10)
        for value in run.values:
            family = prometheus.family_of(value.metric, value.unit)
            own = [
                number
                for name, number in found.items()
                if name.startswith(family + "{") and 'program="%s"' % value.program in name
            ]
            self.assertEqual(own, [value.value])
        self.assertEqual(
            prometheus.family_of("memory_read_bandwidth", "byte/s"),
            "gpusig_memory_read_bandwidth_bytes_per_second",
        )
        self.assertEqual(
            prometheus.family_of("staging_time_ratio", "", "low"), "gpusig_staging_time_interval_low_ratio"
        )
        self.assertEqual(prometheus.family_of("memory_latency", "s"), "gpusig_memory_latency_seconds")
        ends = {
            end: next(
                number
                for name, number in found.items()
                if name.startswith("gpusig_memory_triad_bandwidth_interval_%s_bytes_per_second{" % end)
            )
            for end in ("low", "high")
        }
        self.assertLessEqual(ends["low"], 20e9)
        self.assertLessEqual(20e9, ends["high"])
        self.assertEqual(
            found[next(n for n in found if n.startswith("gpusig_run_timestamp_seconds"))], 1767323045
        )

    def test_each_family_has_one_help_and_type_in_front_of_its_samples(self) -> None:
        lines = prometheus.export([self.run_of(self.stored())])[0].splitlines()
        named = [line.split()[2] for line in lines if line.startswith("# TYPE")]
        self.assertEqual(named, sorted(set(named)))
        self.assertEqual(named, [line.split()[2] for line in lines if line.startswith("# HELP")])
        current = ""
        for line in lines:
            current = line.split()[2] if line.startswith("#") else current
            self.assertTrue(line.startswith("#") or line.startswith(current + "{"), line)

    def test_missing_wrong_and_doubtful_are_series(self) -> None:
        folder = self.stored()

        def wrong(content: Json) -> None:
            content["primary_missing"] = [
                {
                    "program": "micro/memory",
                    "metric": "x",
                    "device": "host",
                    "cause": "out_of_memory",
                    "reason": "no room",
                }
            ]
            content["not_measured"].append(
                {
                    "program": "micro/memory",
                    "device": "host",
                    "key": "a=1",
                    "status": "failed",
                    "cause": "wrong_result",
                    "reason": "3 of 5 differ",
                    "count": 2,
                    "where": {},
                }
            )

        found = samples(prometheus.export([self.run_of(self.changed(folder, wrong))])[0])

        def one(start: str, *parts: str) -> float:
            (number,) = [
                v
                for name, v in found.items()
                if name.startswith(start + "{") and all(part in name for part in parts)
            ]
            return number

        self.assertEqual(one("gpusig_metric_missing", 'metric="x"', 'cause="out_of_memory"'), 1)
        self.assertEqual(one("gpusig_wrong_results", 'program="micro/memory"'), 2)
        self.assertEqual(one("gpusig_run_doubtful"), 1)

    def test_the_newest_run_of_a_node_counts_and_the_other_is_named(self) -> None:
        found = self.series(3)
        text, notes = prometheus.export(found)
        values = [
            v
            for name, v in samples(text).items()
            if name.startswith("gpusig_memory_triad_bandwidth_bytes_per_second")
        ]
        self.assertEqual(values, [20e9 * 0.99**2])
        self.assertEqual([note.split()[0] for note in notes], ["nights/n-2", "nights/n-3"])

    def test_hostile_names_stay_labels(self) -> None:
        for text in [*HOSTILE, "a\\", 'say "no"', "a\nb", '\\\n"', "", "} 7 9"]:
            folder = self.stored("hostile-%d" % len(list(self.folder.iterdir())))
            run = self.run_of(
                self.changed(folder, lambda content: content["provenance"]["fields"].update(hostname=text))
            )
            value = run.values[0]
            run = replace(run, values=(*run.values, value._replace(metric=text, condition=text, unit=text)))
            self.assertEqual(
                len(samples(prometheus.export([run])[0])),
                len(prometheus.export([run])[0].splitlines())
                - 2 * prometheus.export([run])[0].count("# TYPE"),
            )


class Doubtful(Exported):
    def test_what_the_report_calls_doubtful_is_but_for_the_share_of_invalid_values(self) -> None:
        def grouped(content: Json) -> None:
            content["invalid"] = [
                {
                    "program": "micro/memory",
                    "device": "host",
                    "key": "a=2",
                    "derived": "bandwidth",
                    "flags": [],
                    "variant": "regular",
                    "reason": "heat",
                    "count": 10**6,
                    "where": {},
                }
            ]

        run = self.run_of(self.stored("good", synthetic.memory().text()))
        self.assertFalse(run.doubtful)
        run = self.run_of(self.changed(self.stored("flagged", synthetic.memory().text()), grouped))
        self.assertEqual((run.doubtful, "values are invalid" in run.verdict), (False, False))
        for status, doubtful in (("failed", True), ("skipped", False)):
            run = self.run_of(
                self.stored(status, synthetic.memory().text() + synthetic.unstarted("micro/x", status, "why"))
            )
            self.assertEqual(run.doubtful, doubtful)


class JUnit(Exported):
    def suites(self, run: runs.Run) -> ElementTree.Element:
        return ElementTree.fromstring(junit.export([run])[0])

    def test_a_failed_check_is_a_failure_and_a_flagged_value_is_skipped_with_its_reason(self) -> None:
        def wrong(content: Json) -> None:
            content["not_measured"] = [
                {
                    "program": "micro/memory",
                    "device": "host",
                    "key": "a=1",
                    "status": "failed",
                    "cause": "wrong_result",
                    "reason": "3 of 5 differ",
                    "count": 2,
                    "where": {},
                }
            ]
            content["invalid"] = [
                {
                    "program": "micro/memory",
                    "device": "host",
                    "key": "a=2",
                    "derived": "bandwidth",
                    "variant": "regular",
                    "flags": ["throttled"],
                    "reason": "throttled by heat",
                    "count": 3,
                    "where": {},
                }
            ]

        run = self.run_of(self.changed(self.stored(), wrong))
        (suite,) = [s for s in self.suites(run).iter("testsuite") if s.get("name") == "micro/memory"]
        self.assertEqual((suite.get("failures"), suite.get("skipped"), suite.get("errors")), ("1", "1", "0"))
        failure, skipped = suite.find("testcase/failure"), suite.find("testcase/skipped")
        assert failure is not None and skipped is not None
        self.assertEqual((failure.get("type"), failure.get("message")), ("wrong result", "3 of 5 differ"))
        self.assertEqual(skipped.get("message"), "throttled by heat")
        self.assertIn("memory_triad_bandwidth", [case.get("name") for case in suite.iter("testcase")])
        self.assertEqual(
            suite.find("properties/property[@name='memory_triad_bandwidth']").get("value"), "20000000000.0"
        )

    def test_counts_are_those_of_the_cases_and_every_number_is_a_property(self) -> None:
        run = self.run_of(self.stored())
        root = self.suites(run)
        for suite in root.iter("testsuite"):
            for attribute, path in (
                ("tests", "testcase"),
                ("failures", "testcase/failure"),
                ("errors", "testcase/error"),
                ("skipped", "testcase/skipped"),
            ):
                self.assertEqual(suite.get(attribute), str(len(suite.findall(path))), suite.get("name"))
        self.assertEqual(
            [s.get("id") for s in root.iter("testsuite")], [str(i) for i in range(len(list(root)))]
        )
        names = {p.get("name") for p in root.iter("property")}
        self.assertLessEqual({value.metric for value in run.values}, names)

    def test_a_killed_program_is_an_error_and_one_that_did_not_start_is_skipped(self) -> None:
        text = synthetic.memory().text()
        text = "".join(text.splitlines(keepends=True)[:-1]) + synthetic.unstarted(
            "collectives/x", "skipped", "no mpirun"
        )
        root = self.suites(self.run_of(self.stored(text=text)))
        kinds = {s.get("name"): [e.tag for e in s.findall("testcase/*")] for s in root.iter("testsuite")}
        self.assertEqual(kinds, {"micro/memory": ["error"], "collectives/x": ["skipped"]})

    def test_any_text_is_xml(self) -> None:
        for text in [*HOSTILE, "\ufffe\uffff", "\x00\x1b", "]]>", "\ud800"]:
            run = replace(
                self.run_of(self.stored("x%d" % len(list(self.folder.iterdir())))),
                node=text or "n",
                verdict=text,
            )
            value = run.values[0]._replace(metric=text, condition=text)
            self.suites(replace(run, values=(value,)))


class GoogleBenchmark(Exported):
    def test_our_own_reader_gets_the_same_values(self) -> None:
        found = self.series(3)
        text, notes = gbench.export(found)
        path = self.folder / "gbench.json"
        path.write_text(text, encoding="utf-8")
        read = foreign.read(path, "gbench.json").numbers
        ratios = 0
        for value in found[1].values:
            counter = {"byte/s": "bytes_per_second", "flop/s": "items_per_second"}.get(value.unit)
            if value.unit == "s":
                self.assertAlmostEqual(
                    read[value.name + "/real_time"].value, value.value, delta=1e-12 * value.value
                )
            elif counter:
                self.assertEqual(read["%s/%s" % (value.name, counter)].value, value.value)
                work = {"byte/s": 1e9, "flop/s": 1e12}[value.unit]
                self.assertAlmostEqual(
                    read[value.name + "/real_time"].value * value.value / work, 1, delta=1e-12
                )
            else:
                ratios += 1
        self.assertRegex(notes[0], "^%d ratios? (is|are) left out" % ratios)
        self.assertEqual({b["repetitions"] for b in json.loads(text)["benchmarks"]}, {3})

    def test_runs_of_two_nodes_are_no_repetitions(self) -> None:
        one = self.run_of(self.stored("one"))
        with self.assertRaisesRegex(BadNumbers, "n1 and n2|node1 and n2"):
            gbench.export([one, replace(one, name="two", node="n2")])


class Series(Exported):
    def test_a_line_a_run_in_order_of_their_starts(self) -> None:
        rows = list(csv.DictReader(io.StringIO(series.export(self.series(4), False)[0])))
        self.assertEqual([row["time"] for row in rows], ["2026-01-02T%02d:00:00+00:00" % i for i in range(4)])
        values = [float(row["micro/memory/memory_triad_bandwidth"]) for row in rows]
        self.assertEqual(values, [20e9 * 0.99**i for i in range(4)])

    def test_a_missing_number_is_an_empty_cell_or_takes_its_line(self) -> None:
        def without(content: Json, i: int) -> None:
            if i == 1:
                content["metrics"].pop("micro/memory/memory_triad_bandwidth", None)

        found = self.series(3, without)
        text, notes = series.export(found, False)
        self.assertEqual(
            [row["micro/memory/memory_triad_bandwidth"] == "" for row in csv.DictReader(io.StringIO(text))],
            [False, True, False],
        )
        self.assertIn("memory_triad_bandwidth", notes[0])
        only = [runs.chosen(run, ["memory_triad*"]) for run in found]
        text, notes = series.export(only, True)
        self.assertEqual(len(text.splitlines()), 3)
        self.assertIn("nights/n-2", notes[0])

    def test_a_series_is_of_one_kind_and_number_of_devices(self) -> None:
        one, other = self.series(2)
        renamed = replace(other, model="as a later driver calls it", device=other.device + ":0")
        self.assertEqual(len(series.export([one, renamed], False)[0].splitlines()), 3)
        with self.assertRaisesRegex(BadNumbers, "differ: .* and another"):
            series.export([one, replace(other, kind="another")], False)
        devices = other.signature["devices"]
        twice = {**devices, other.device + "[1]": devices[other.device + "[0]"]}
        with self.assertRaisesRegex(BadNumbers, "differ: 1 device and 2 devices"):
            series.export([one, replace(other, signature=dict(other.signature, devices=twice))], False)

    def test_runs_without_a_time_have_no_place(self) -> None:
        with self.assertRaisesRegex(BadNumbers, "no record says when"):
            series.export([replace(run, started=None) for run in self.series(2)], False)


class ReFrame(Exported):
    def literals(self, run: runs.Run) -> Dict[str, Any]:
        tree = ast.parse(reframe.export([run])[0])
        body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
        return {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in body  # type: ignore[attr-defined]
            if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call)
        }

    def test_references_are_the_run_s_and_only_worse_is_bounded(self) -> None:
        run = self.run_of(self.stored())
        found = self.literals(run)
        self.assertEqual(len(found["reference"]["*"]), len(run.values))
        for variable, (value, low, high, unit) in found["reference"]["*"].items():
            (own,) = [v for v in run.values if v.name == found["numbers"][variable][0]]
            self.assertEqual((value, unit), (own.value, own.unit or "1"))
            self.assertEqual((low is None, high is None), (own.better == "lower", own.better == "higher"))
            self.assertTrue((low is None or -1 <= low < 0) and (high is None or high > 0))

    def test_bounds_hold_the_interval_of_another_run_widened_for_their_number(self) -> None:
        value = (
            self.run_of(self.stored())
            .values[0]
            ._replace(value=100.0, low=90.0, high=115.0, of_runs=True, better=None)
        )
        self.assertEqual(reframe.reference_of(value, 1.0)[:3], (100.0, -0.1, 0.15))
        self.assertEqual(reframe.reference_of(value, 2.0)[:3], (100.0, -0.2, 0.3))
        alone = value._replace(low=99.9, high=100.1, of_runs=False)
        self.assertEqual(reframe.reference_of(alone, 1.0)[:3], (100.0, -0.05, 0.05))
        self.assertEqual(reframe.reference_of(alone._replace(of_runs=True), 1.0)[:3], (100.0, -0.02, 0.02))
        zero = value._replace(value=0.0, low=-0.3, high=0.4)
        self.assertEqual(reframe.reference_of(zero, 1.0)[:3], (0.0, -0.3, 0.4))
        self.assertEqual(reframe.widening(1), 1.0)
        self.assertAlmostEqual(reframe.widening(50), 3.2905 / 1.95996, places=3)  # 1 - 0.001 / 2

    def test_hostile_names_are_literals(self) -> None:
        for text in [*HOSTILE, "'''", '"""', "{x}", "\\", "a\nimport os", "class"]:
            run = self.run_of(self.stored("h%d" % len(list(self.folder.iterdir()))))
            value = run.values[0]._replace(metric=text, name="p/" + text)
            run = replace(run, node=clean(text), model=clean(text), device=text, values=(value, *run.values))
            tree = ast.parse(reframe.export([run])[0])
            self.assertEqual(
                [type(node).__name__ for node in tree.body], ["Import"] * 4 + ["ImportFrom", "ClassDef"]
            )


class Reading(Exported):
    def test_what_cannot_be_read_is_named_and_the_others_go_on(self) -> None:
        self.series(2)
        (self.folder / "nights/n-3").mkdir()
        (self.folder / "nights/n-3/records.jsonl").write_text("")
        (self.folder / "nights/n-4").mkdir()
        (self.folder / "nights/n-4/signature.json").write_text(
            '{"schema": "gpusig.signature", "version": "3.'
        )
        found, left_out = runs.collect(self.folder, ["nights"])
        self.assertEqual(len(found), 2)
        self.assertEqual(len(left_out), 2)
        self.assertIn("nights/n-3 has no signature.json", left_out[0])
        self.assertIn("nights/n-4: signature.json: not JSON", left_out[1])

    def test_malformed_signatures_are_one_line(self) -> None:
        good = json.loads((self.stored() / "signature.json").read_text(encoding="utf-8"))
        path = self.folder / "signature.json"
        wrong = list(itertools.product(good, (None, [7], {"a": 7}), FORMATS))
        for key, value, name in wrong[:: level.seeds(7, 3, 1)]:
            path.write_text(json.dumps(dict(good, **{key: value})))
            code, out, err = self.run_command("--cwd", str(self.folder), "export", "--to", name, str(path))
            self.assertIn(code, (0, 2), err)
            self.assertEqual(out == "", code == 2, (key, value, err))
            self.assertLessEqual(err.count("\n"), 1, err)


if __name__ == "__main__":
    unittest.main()
