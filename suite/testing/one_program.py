# SPDX-License-Identifier: BSD-3-Clause
"""`./gpusig test --program FOLDER/NAME`: the tests that concern one program, in seconds."""

from __future__ import annotations

import dataclasses
import shutil
from functools import partial
from pathlib import Path

from suite.run import programs
from suite.testing import stages, variants
from suite.command_error import CommandError
from suite.testing.outcome import Outcome, failed, of_tap, of_unittest, passed, skipped
from suite.testing.stages import Stage
from suite.testing.tooling import Tools, python
from suite.testing.variants import RELEASE, Variant

# The tests of tests/programs/programs.bats that measure nothing.
_WORDS = (
    "--help is|--about is|--devices is|unknown option|malformed value of a common|unknown device is|"
    "beyond those"
)


def stages_of(home: Path, name: str) -> dict[str, Stage]:
    """The stages for a program that has a source."""
    there = [program.name for program in programs.unbuilt(home, [])]
    if name not in there:
        raise CommandError(f"unknown program '{name}'; programs: {' '.join(there)}")
    variant = dataclasses.replace(RELEASE, programs=(name,), devices=("sim", "host", "{0}", "{1}"))
    needs = ("build",)
    return {
        "rules": Stage(partial(_rules, name)),
        "format": Stage(partial(_format, name)),
        "build": Stage(partial(_build, variant)),
        "first cases": Stage(partial(_first_cases, variant), needs),
        "golden, recomputation": Stage(partial(_golden, variant), needs),
        "table of programs": Stage(partial(_table, variant), needs),
        "command line": Stage(partial(_command_line, variant), needs),
        "c checks": Stage(partial(_c_checks, name)),
    }


def _sources(name: str, tools: Tools, *endings: str) -> list[str]:
    """The program's file, and those of a folder of its name."""
    return tools.sources(f"{name}.c", *(f"{name}/*.{ending}" for ending in endings))


def _build(variant: Variant, tools: Tools) -> Outcome:
    if not tools.has("make", variant.needs):
        return skipped(f"build: no make or no {variant.needs}")
    made = tools.start("build-program", ["make", f"-j{tools.jobs}", *variant.goals(), "all", "fakes"])
    return passed() if made.code == 0 else failed(f"build: exit {made.code}\n{made.tail(25)}")


def _first_cases(variant: Variant, tools: Tools) -> Outcome:
    built = variants.built_programs(variant, tools)
    if not built:
        return skipped(f"{variant.programs[0]}: not built here, make says why")
    backends = variants.gpu_backends(variant, tools)
    devices = stages.devices_of(variant, variants.about(variant, tools, built[0]), backends)
    if not devices:
        return skipped(
            f"{variant.programs[0]}: collectives.bats and ranks_on_devices.bats have what runs on ranks"
        )
    return tools.each(devices, lambda device: stages.first_cases(variant, tools, built[0], device))


def _folder_of(variant: Variant, tools: Tools, name: str) -> Path:
    """A folder like bin/ that holds this program alone."""
    folder = tools.logs / f"program-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    for path in variants.built_programs(variant, tools):
        target = folder / path.parent.name / path.name
        target.parent.mkdir(parents=True)
        shutil.copy2(path, target)
    return folder


def _golden(variant: Variant, tools: Tools) -> Outcome:
    """Its results are the expected ones, are what follows from the samples, and fit the schema of records."""
    name = variant.programs[0]
    if not variants.built_programs(variant, tools):
        return skipped(f"{name}: not built here, make says why")
    command = [
        python(),
        "-m",
        "unittest",
        "discover",
        "-v",
        "-s",
        "tests/golden",
        "-k",
        "of_every_program",
        "-k",
        "every_program_says",
        "-k",
        "every_key_is_in",
        "-k",
        "every_line_fits",
    ]
    ran = tools.start(
        "golden-program",
        command,
        PYTHONPATH=str(tools.home),
        GPUSIG_BIN=str(_folder_of(variant, tools, "golden")),
    )
    return of_unittest(f"golden output of {name}", ran.err, ran.code)


def _table(variant: Variant, tools: Tools) -> Outcome:
    if not variants.built_programs(variant, tools):
        return skipped(f"{variant.programs[0]}: not built here, make says why")
    ran = tools.start(
        "table-program",
        [python(), "tests/golden/programs_table.py"],
        PYTHONPATH=str(tools.home),
        GPUSIG_BIN=str(_folder_of(variant, tools, "table")),
    )
    return passed() if ran.code == 0 else failed(ran.tail())


def _command_line(variant: Variant, tools: Tools) -> Outcome:
    if not tools.has("bats"):
        return skipped("command line: no bats")
    if not variants.built_programs(variant, tools):
        return skipped(f"{variant.programs[0]}: not built here, make says why")
    ran = tools.start(
        "command-line-program",
        ["bats", "--tap", "--filter", _WORDS, "tests/programs/programs.bats"],
        GPUSIG_BIN=str(_folder_of(variant, tools, "words")),
    )
    return of_tap("tests/programs/programs.bats", ran.out, ran.code)


def _rules(name: str, tools: Tools) -> Outcome:
    """Findings of tests/lint/layers.py in its files."""
    ran = tools.start("rules-program", [python(), "tests/lint/layers.py"])
    found = [line for line in ran.out.splitlines() if line.startswith((f"{name}.c:", f"{name}/"))]
    if ran.code not in (0, 1):
        return failed(f"tests/lint/layers.py: exit {ran.code}\n{ran.tail()}")
    return failed("\n".join(found)) if found else passed()


def _format(name: str, tools: Tools) -> Outcome:
    if not tools.has("clang-format"):
        return skipped("format: no clang-format")
    ran = tools.start(
        "format-program", ["clang-format", "--dry-run", "-Werror", *_sources(name, tools, "c", "h")]
    )
    return passed() if ran.code == 0 else failed(f"{ran.tail(3)}\nmake format fixes it")


def _c_checks(name: str, tools: Tools) -> Outcome:
    return tools.each(_sources(name, tools, "c"), lambda source: stages.c_check(source, tools))
