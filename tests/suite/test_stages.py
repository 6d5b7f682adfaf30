# SPDX-License-Identifier: BSD-3-Clause
"""Stages: their order, and what those say whose tools are made up."""

import contextlib
import fnmatch
import io
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from dataclasses import dataclass, field
from pathlib import Path

from suite.run import programs
from suite.testing import checks, one_program, stages, variants
from suite.__main__ import main
from suite.command_error import CommandError
from suite.testing.outcome import failed, passed, skipped
from suite.testing.stages import Stage
from suite.testing.tooling import Output, Slots, Stopped, Tools

HOME = Path(__file__).resolve().parents[2]
_UNIT_SOURCES = sorted((path.stem, path) for path in (HOME / "tests" / "unit").rglob("*.c"))
UNITS = {name: path.read_text(encoding="utf-8") for name, path in _UNIT_SOURCES}
PROGRAMS = sorted(
    f"{path.parent.name}/{path.stem}" for folder in programs.FOLDERS for path in (HOME / folder).glob("*.c")
)
VARIANTS = [value for value in vars(variants).values() if isinstance(value, variants.Variant)]

DEVICES = (
    '{"name":"a","devices":2,"why":""}\n{"name":"b","devices":2,"why":""}\n'
    '{"name":"host","devices":1,"why":""}\n{"name":"sim","devices":64,"why":""}\n'
)


class Attack(unittest.TestCase):
    def test_it_runs_nothing_else_for_a_number_of_minutes(self):
        for words in (
            ["--attack", "1", "--all"],
            ["--attack", "1", "--lab"],
            ["--attack", "1", "--only", "bats"],
            ["--attack", "1", "--stages"],
            ["--attack", "1", "--program", "micro/memory"],
            ["--attack", "0"],
            ["--attack", "nan"],
            ["--attack", "-1"],
        ):
            said = io.StringIO()
            with self.subTest(words), contextlib.redirect_stderr(said):
                self.assertEqual(main(["--check-options", "test", *words]), 2)
                self.assertIn("--attack", said.getvalue())
        self.assertEqual(main(["--check-options", "test", "--attack", "0.5"]), 0)


@dataclass(frozen=True)
class FakeTools(Tools):
    """Answers by the last words of a command; keeps what was started."""

    answers: dict[str, Output] = field(default_factory=dict)
    started: list[tuple[list[str], dict[str, str]]] = field(default_factory=list)

    def start(self, log: str, command: list[str], limit_s: float = 300, **environment: str) -> Output:
        self.started.append((command, environment))
        return next(
            (said for words, said in self.answers.items() if " ".join(command).endswith(words)),
            Output(0, "", ""),
        )


class Order(unittest.TestCase):
    def test_a_variant_is_built_before_it_is_used(self):
        names = list(stages.STAGES)
        for name, stage in stages.STAGES.items():
            for other in (*stage.needs, *stage.after):
                self.assertLess(names.index(other), names.index(name))
            if name.partition(" ")[0] in ("units", "programs", "timed"):
                self.assertTrue(any(other.startswith("build ") for other in stage.needs), name)

    def test_nothing_needs_what_its_level_does_not_have(self):
        for level in stages.LEVELS:
            there = checks.chosen([], level)
            for name, stage in there.items():
                self.assertEqual(
                    [other for other in stage.needs if other not in there], [], f"{level}: {name}"
                )

    def test_what_calls_make_on_a_build_comes_after_it(self):
        self.assertIn("build programs", stages.STAGES["bats"].needs)

    def test_what_gpus_a_variant_names_is_run(self):
        for variant in VARIANTS:
            self.assertEqual(bool(variant.gpus), f"gpu {variant.name}" in stages.STAGES, variant.name)

    def test_only_finds_stages_of_every_level(self):
        self.assertEqual(
            {name for level in stages.LEVELS for name in checks.chosen([], level)}, set(stages.STAGES)
        )
        self.assertEqual(list(checks.chosen(["c checks"], stages.QUICK)), ["c checks"])
        self.assertEqual(list(checks.chosen(["bats"], stages.QUICK)), ["build programs", "bats"])
        self.assertNotIn("c checks", checks.chosen([], stages.QUICK))
        with self.assertRaisesRegex(CommandError, "build programs"):
            checks.chosen(["nothing"], stages.ALL)

    def test_a_file_of_tests_is_run_by_the_level_that_it_names(self):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            (home / "tests" / "run").mkdir(parents=True)
            for name, line in (("a", ""), ("b", "# bats file_tags=all\n"), ("c", "# bats file_tags=lab\n")):
                (home / "tests" / "run" / f"{name}.bats").write_text(
                    f"{line}@test x {{ true; }}\n", encoding="utf-8"
                )
            for level, wanted in (("quick", "a"), ("all", "ab"), ("lab", "c")):
                tools = FakeTools(
                    home, home, 1, level=level, answers={".bats": Output(0, "1..1\nok 1 x\n", "")}
                )
                self.assertEqual(stages.bats(tools).passed, len(wanted))
                self.assertEqual(
                    sorted(command[-1] for command, _ in tools.started),
                    [f"tests/run/{name}.bats" for name in wanted],
                )
            (home / "tests" / "run" / "d.bats").write_text("# bats file_tags=rarely\n", encoding="utf-8")
            with self.assertRaisesRegex(OSError, "'rarely' is not a level"):
                stages.bats(FakeTools(home, home, 1))

    def test_python_tests_of_folders_below_are_run_with_those_of_the_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            (home / "tests/a/b").mkdir(parents=True)
            for name in ("a/test_x.py", "a/b/test_y.py"):
                (home / "tests" / name).touch()
            tools = FakeTools(home, home, 1)
            stages.python_tests(tools)
            self.assertEqual(
                [(command[-2:], said["PYTHONPATH"]) for command, said in tools.started],
                [(["tests.a.b.test_y", "tests.a.test_x"], f"{home}:{home}/tests/a")],
            )


class Lists(unittest.TestCase):
    """An entry that names nothing would leave something out unseen."""

    def test_globs_of_variants_match_units_and_programs(self):
        for variant in VARIANTS:
            globs = [*variant.units, *variant.programs, *(glob.split(" ")[0] for glob in variant.without)]
            for glob in globs:
                self.assertTrue(fnmatch.filter([*UNITS, *PROGRAMS], glob), f"{variant.name}: {glob}")

    def test_every_unit_is_run_without_and_with_a_sanitizer(self):
        for variant in (variants.RELEASE, variants.MEMORY):
            alone = [unit for unit in variant.without if not unit.endswith(" on fakes")]
            self.assertEqual(
                (variant.units, alone),
                (("*",), ["gpu_compile"] + ["gpu_faults"] * (variant is variants.RELEASE)),
                "the stage gpu compilers has it",
            )
        self.assertEqual(list(variants.MEMORY.without), ["gpu_compile"])

    def test_units_that_draw_more_with_all_are_run_so(self):
        self.assertEqual(
            [unit for unit, text in UNITS.items() if "test_all()" in text], list(variants.LONG.units)
        )

    def test_units_of_all_folders_have_names_of_their_own(self):
        self.assertEqual(list(UNITS), [name for name, _ in _UNIT_SOURCES])

    def test_parts_of_units_have_tests(self):
        for variant in VARIANTS:
            for unit, word in variant.parts.items():
                self.assertRegex(UNITS[unit], rf"(test|RULE)\(\w*{word}\w*\)")

    def test_bin_is_of_the_release_build_alone(self):
        movers = {
            variant.make
            for variant in VARIANTS
            if not any(word.startswith(("SAN=", "LINK=")) for word in variant.make)
        }
        self.assertEqual(movers, {variants.RELEASE.make})

    def test_units_that_start_threads_meet_the_thread_sanitizer(self):
        starts = re.compile(r'pthread_create|"tests/unit/device/gpu/(with_)?fakes\.h"|"host[":]')
        for unit, text in UNITS.items():
            if starts.search(text):
                self.assertTrue(any(fnmatch.fnmatchcase(unit, glob) for glob in variants.THREAD.units), unit)


class Running(unittest.TestCase):
    """checks.run() with made-up stages."""

    def run_stages(self, made, slots=2):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            tools = Tools(Path(folder), Path(folder), 1, slots=Slots(slots))
            return checks.run(made, tools), said.getvalue(), tools

    def test_a_stage_begins_after_those_it_names(self):
        begun = []
        note = lambda name: Stage(lambda tools: begun.append(name) or passed())
        made = {
            "a": note("a"),
            "b": Stage(note("b").run, needs=("a",)),
            "c": Stage(note("c").run, after=("b",)),
        }
        self.assertEqual(str(self.run_stages(made)[0]), "3 passed, 0 failed, 0 skipped")
        self.assertEqual(begun, ["a", "b", "c"])

    def test_what_needs_a_failed_stage_is_a_skip_that_says_so(self):
        for bad in (failed("no"), skipped("no compiler")):
            made = {
                "a": Stage(lambda tools, bad=bad: bad),
                "b": Stage(lambda tools: passed(), needs=("a",)),
                "c": Stage(lambda tools: passed(), after=("a",)),
            }
            outcome, said, _ = self.run_stages(made)
            self.assertEqual(outcome.passed, 1)
            self.assertIn("skipped: b: a did not pass", said)

    def test_stages_run_concurrently(self):
        both = threading.Barrier(2, timeout=120)

        def concurrent(tools):
            both.wait()
            return passed()

        self.assertEqual(self.run_stages({"a": Stage(concurrent), "b": Stage(concurrent)})[0].passed, 2)

    def test_an_error_of_a_stage_is_its_failure(self):
        def broken(tools):
            raise FileNotFoundError("no such tool")

        self.assertEqual(self.run_stages({"a": Stage(broken)})[0].failures, ["a: no such tool"])

    def test_slots_are_never_more_than_there_are_and_the_lowest_rank_is_next(self):
        slots, order, lock = Slots(1), [], threading.Lock()

        def work(rank):
            with slots.taken(rank), lock:
                order.append(rank)

        with slots.taken(0):
            waiting = [threading.Thread(target=work, args=(rank,)) for rank in (3, 1, 2)]
            for thread in waiting:
                thread.start()
            while len(slots._waiting) < 3:
                pass
            self.assertEqual(order, [])
        for thread in waiting:
            thread.join()
        self.assertEqual(order, [1, 2, 3])


class Starting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tools = Tools(Path(folder.name), Path(folder.name), 1)

    def test_output_code_and_time_of_cores(self):
        burn = "import sys, time\nwhile time.process_time() < 0.2: pass\n"
        burn += "print('a'); print('b', file=sys.stderr); sys.exit(3)"
        ran = self.tools.start("x/y", [sys.executable, "-c", burn])
        self.assertEqual((ran.code, ran.out, ran.err), (3, "a\n", "b\n"))
        self.assertGreaterEqual(self.tools.spent[0].cpu_s, 0.2)
        self.assertIn("a\nb\n", (self.tools.logs / "x-y.log").read_text())

    def test_each_tool_has_a_folder_for_temporary_files_that_is_gone_afterwards(self):
        made = [
            self.tools.start("x", ["sh", "-c", 'touch "$TMPDIR/file" && echo "$TMPDIR"']).out.strip()
            for _ in range(2)
        ]
        self.assertNotEqual(made[0], made[1])
        self.assertFalse(
            any(Path(folder).exists() or Path(folder) == Path(tempfile.gettempdir()) for folder in made)
        )

    def test_at_its_limit_a_tool_is_stopped_with_what_it_started(self):
        ran = self.tools.start("x", ["sh", "-c", "sleep 600 & wait"], 0.2)
        self.assertEqual(ran.code, 124)
        self.assertIn("stopped after", ran.err)

    def test_after_the_end_nothing_is_started(self):
        self.tools.stop()
        with self.assertRaises(Stopped):
            self.tools.start("x", ["true"])

    def test_what_the_end_kills_has_not_failed(self):
        timer = threading.Timer(0.2, self.tools.stop)
        timer.start()
        with self.assertRaises(Stopped):
            self.tools.start("x", ["sh", "-c", "sleep 600"])


class FrontDoor(unittest.TestCase):
    """./gpusig itself, with a set-up that leaves a mark."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        shutil.copy(HOME / "gpusig", self.home)
        for package in ("suite", "reports"):
            shutil.copytree(HOME / package, self.home / package, ignore=shutil.ignore_patterns("reference"))
        (self.home / "Makefile").touch()  # without one it is an installed copy
        (self.home / "micro").mkdir()
        (self.home / "micro" / "memory.c").touch()
        (self.home / "collectives").mkdir()
        (self.home / "collectives" / "allreduce.c").touch()
        (self.home / "suite" / "setup" / "setup.sh").write_text(
            'echo "$*" >installed; exit 77\n', encoding="utf-8"
        )

    def started(self, *words):
        return subprocess.run(
            ["./gpusig", "test", *words], cwd=self.home, capture_output=True, text=True, check=False
        )

    def test_stages_are_listed_and_mistakes_told_without_installing(self):
        told = self.started("--stages")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertEqual(told.stdout, f"{checks.list_stages()}\n")
        for words, wanted in (
            (["--program", "micro/none"], "unknown program 'micro/none'; programs: "),
            (["--program", "micro/memory", "--all"], "--program runs stages of its own"),
            (["--only", "none"], "'none' matches no stage; stages: build programs"),
        ):
            told = self.started(*words)
            self.assertEqual((told.returncode, told.stdout), (2, ""))
            self.assertIn(wanted, told.stderr)
        self.assertFalse((self.home / "installed").exists())
        self.started("--only", "abi")
        self.assertTrue((self.home / "installed").exists())

    def test_each_level_sets_up_its_own(self):
        for words, level in (
            ([], "test"),
            (["--only", "abi"], "test"),
            (["--attack", "1"], "test"),
            (["--all"], "all"),
            (["--lab"], "lab"),
            (["--lab", "--all"], "lab"),
            (["--only", "abi", "--lab"], "lab"),
            (["--program", "micro/memory"], "program"),
            (["--program=micro/memory"], "program"),
            (["--program", "collectives/allreduce"], "program part"),
            (["--no-install"], "--no-install test"),
        ):
            with self.subTest(words):
                self.started(*words)
                self.assertEqual((self.home / "installed").read_text(encoding="utf-8"), f"{level}\n")


class OneProgram(unittest.TestCase):
    def test_an_unknown_program_is_refused_with_those_that_exist(self):
        with self.assertRaisesRegex(CommandError, "micro/memory"):
            one_program.stages_of(HOME, "micro/none")

    def test_every_program_has_stages(self):
        for name in PROGRAMS:
            self.assertIn("first cases", one_program.stages_of(HOME, name))

    def test_files_that_stages_start_exist(self):
        for module in (one_program, stages):
            text = Path(module.__file__).read_text(encoding="utf-8")
            for name in re.findall(r'"(tests/[\w/]+\.(?:py|bats))"', text):
                self.assertTrue((HOME / name).is_file(), f"{module.__name__}: {name}")


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
        outcome = stages.gpu(stages.RELEASE, tools)
        self.assertEqual(str(outcome), "1 passed, 0 failed, 0 skipped")
        command, environment = tools.started[-1]
        self.assertEqual(command[-2:], ["a", "b:0,1"])
        self.assertEqual(environment["LD_LIBRARY_PATH"].split(":")[0], str(self.home / "build/x/fakes"))

    def test_a_fake_without_a_device_is_no_skip(self):
        outcome = stages.gpu(
            stages.MEMORY, self.tools(**{"a:0,1": Output(0, "ok 1 a:0,1 # SKIP no device\n1..1\n", "")})
        )
        self.assertEqual(len(outcome.failures), 1)
        with self.assertRaisesRegex(OSError, "make fakes"):
            stages.gpu(stages.MEMORY, self.tools(**{"--devices": Output(0, "", "")}))

    def test_a_build_without_ranks_for_a_broken_source_is_a_failure(self):
        told = Output(0, "skip: collectives/pairs (they do not build with mpicc: error)\n", "")
        outcome = stages.build(stages.RELEASE, ("all",), self.tools(all=told))
        self.assertIn("skip: collectives/pairs", outcome.failures[0])
        absent = Output(0, "skip: collectives/pairs (no working mpicc, or HAVE_MPI=0)\n", "")
        self.assertEqual(stages.build(stages.RELEASE, ("all",), self.tools(all=absent)).failures, [])

    def test_what_a_sanitizer_finds_is_a_failure(self):
        found = Output(0, "ok 1 x\n1..1\n", "WARNING: ThreadSanitizer: data race")
        self.assertEqual(len(stages.gpu(stages.MEMORY, self.tools(**{"a:0,1": found})).failures), 1)

    def test_what_a_variant_goes_without_is_a_skip(self):
        variant = stages.Variant(
            "x", gpus=("{0}",), without={"conformance on fakes": "why not", "conformance": "nor here"}
        )
        self.assertEqual(stages.gpu(variant, self.tools()).skips, ["x/conformance on fakes: why not"])
        self.assertEqual(stages.units(variant, self.tools()).skips, ["x/conformance: nor here"])

    def test_attempts_that_held_pass_and_others_fail_with_their_words(self):
        said = "failed: python3 -m tests.attack kills --seed 2\n  torn\n  records\n"
        said += "kills        8 tried, 7 held, 1 failed\n"
        found = {"jsonschema": Output(0, "python3\n", "")}
        outcome = stages.attack("kills", self.tools(**found, kills=Output(1, said, "")))
        self.assertEqual(
            (outcome.passed, outcome.failures),
            (7, ["python3 -m tests.attack kills --seed 2\n  torn\n  records"]),
        )
        for bad in (
            Output(1, "", "error"),
            Output(0, said, ""),
            Output(1, said.replace("1 failed", "2 failed"), ""),
        ):
            self.assertIn(
                "ended without a count", stages.attack("kills", self.tools(**found, kills=bad)).failures[0]
            )
        self.assertEqual(
            stages.attack("kills", self.tools(jsonschema=Output(1, "", ""))).skips,
            ["attack kills: no Python with jsonschema"],
        )

    def test_headers_that_are_missing_are_skips(self):
        said = Output(0, "  ABI   tests/abi/a.c\nskip: tests/abi/b.c (not found: b.h)\n", "")
        outcome = stages.abi(self.tools(**{"check-abi": said}))
        self.assertEqual((outcome.passed, outcome.skips), (1, ["tests/abi/b.c (not found: b.h)"]))
        self.assertEqual(len(stages.abi(self.tools(**{"check-abi": Output(2, "", "error")})).failures), 1)


if __name__ == "__main__":
    unittest.main()
