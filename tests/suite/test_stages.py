# SPDX-License-Identifier: BSD-3-Clause
"""Stages: their order, and what those say whose tools are made up."""
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path

from suite import stages
from suite.tooling import Output, Tools

DEVICES = ('{"name":"a","devices":2,"why":""}\n{"name":"b","devices":2,"why":""}\n'
           '{"name":"host","devices":1,"why":""}\n{"name":"sim","devices":64,"why":""}\n')


@dataclass(frozen=True)
class FakeTools(Tools):
    """Answers by the last words of a command; keeps what was started."""

    answers: dict[str, Output] = field(default_factory=dict)
    started: list[tuple[list[str], dict[str, str]]] = field(default_factory=list)

    def start(self, log: str, command: list[str], limit_s: float = 300, **environment: str) -> Output:
        self.started.append((command, environment))
        return next((said for words, said in self.answers.items() if " ".join(command).endswith(words)), Output(0, "", ""))


class Order(unittest.TestCase):
    def test_a_variant_is_built_before_it_is_used(self):
        names = list(stages.STAGES)
        for name in names:
            kind, _, variant = name.partition(" ")
            if kind in ("units", "gpu", "programs") and f"build {variant}" in names:
                self.assertLess(names.index(f"build {variant}"), names.index(name))

    def test_what_gpus_a_variant_names_is_run(self):
        for variant in (stages.RELEASE, stages.ADDRESS, stages.UNDEFINED, stages.THREAD):
            self.assertTrue(variant.gpus)
            self.assertIn(f"gpu {variant.name}", stages.STAGES)


class Made(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        for name in ("build/x/tests/unit/conformance", "build/x/bin/micro/memory"):
            (self.home / name).parent.mkdir(parents=True)
            (self.home / name).touch(0o755)

    def tools(self, **answers):
        said = {"config": Output(0, "build build/x\n", ""), "--devices": Output(0, DEVICES, "")}
        return FakeTools(self.home, self.home, 1, answers={**said, **answers})

    def test_conformance_runs_on_the_fakes(self):
        tools = self.tools(**{"b:0,1": Output(0, "ok 1 x\n1..1\n", "")})
        outcome = stages.gpu(stages.ADDRESS, tools)
        self.assertEqual(str(outcome), "1 passed, 0 failed, 0 skipped")
        command, environment = tools.started[-1]
        self.assertEqual(command[-2:], ["a:0,1", "b:0,1"])
        self.assertEqual(environment["LD_LIBRARY_PATH"].split(":")[0], str(self.home / "build/x/fakes"))

    def test_a_fake_without_a_device_is_no_skip(self):
        outcome = stages.gpu(stages.ADDRESS, self.tools(**{"b:0,1": Output(0, "ok 1 a:0,1 # SKIP no device\n1..1\n", "")}))
        self.assertEqual(len(outcome.failures), 1)
        with self.assertRaisesRegex(OSError, "make fakes"):
            stages.gpu(stages.ADDRESS, self.tools(**{"--devices": Output(0, "", "")}))

    def test_what_a_sanitizer_finds_is_a_failure(self):
        found = Output(0, "ok 1 x\n1..1\n", "WARNING: ThreadSanitizer: data race")
        self.assertEqual(len(stages.gpu(stages.ADDRESS, self.tools(**{"b:0,1": found})).failures), 1)

    def test_what_a_variant_goes_without_is_a_skip(self):
        variant = stages.Variant("x", gpus=("{0}",), without=("conformance on fakes",))
        self.assertEqual(str(stages.gpu(variant, self.tools())), "0 passed, 0 failed, 1 skipped")

    def test_headers_that_are_missing_are_skips(self):
        said = Output(0, "  ABI   tests/abi/a.c\nskip: tests/abi/b.c (not found: b.h)\n", "")
        outcome = stages.abi(self.tools(**{"check-abi": said}))
        self.assertEqual((outcome.passed, outcome.skips), (1, ["tests/abi/b.c (not found: b.h)"]))
        self.assertEqual(len(stages.abi(self.tools(**{"check-abi": Output(2, "", "error")})).failures), 1)


if __name__ == "__main__":
    unittest.main()
