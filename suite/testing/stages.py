# SPDX-License-Identifier: BSD-3-Clause
"""The stages of `./gpusig test`. A stage is a function from Tools to an Outcome; a missing tool gives a skip
with its name. Stages run concurrently, earlier ones first. None depends on how fast the machine is."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Callable

from suite.testing import variants
from suite.testing.outcome import Outcome, failed, of_tap, of_unittest, passed, skipped
from suite.testing.tooling import ALL, LAB, LEVELS, QUICK, Tools, python
from suite.testing.variants import (
    LONG,
    MEMORY,
    RELEASE,
    SANITIZED,
    THREAD,
    WITHOUT_DRIVER,
    Variant,
    layout,
    on_fakes,
    sanitized,
)

_TEST_LIMIT_S = 600  # for a command-line test that hangs, so that the others of its file still run
# These limits end a program early; on the simulated device the budget does not.
_FIRST_CASES = 3
_SMOKE = ["--budget", "0.3s", "--warm-up", "0", "--min-samples", "2", "--max-samples", "2"]
# Besides what needs a GEMM.
_COMPUTING = ("micro/contention", "micro/neighbour", "micro/storage", "overlap/shaping")
_ARITHMETIC = ("conformance_kernels", "conformance_tiled", "conformance_textbook", "conformance_adding")
ATTACKS = (
    "kills",
    "full-disk",
    "descriptors",
    "mutations",
    "options",
    "faults",
    "verdicts",
)  # of tests/attack
_CLANG = [
    "-std=c11",
    "-I.",
    *(f"-W{name}" for name in ("all", "extra", "pedantic", "shadow", "strict-prototypes", "conversion")),
    "-D_GNU_SOURCE",
    "-DHAVE_HWLOC=0",
    '-DBUILD_CONFIG="tests/lint/config.inc"',
    '-DGPU_KERNELS_SOURCE="/dev/null"',
    '-DCUDA_KERNELS_PTX="/dev/null"',
    '-DSIM_MODEL_TEXTS="/dev/null"',
    '-DSIM_MODEL_NAMES=""',
]
# States after which the analyzer gives a function up. Its own 225,000 take five times as long: the lab's.
_NODES = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=30000"]


@dataclass(frozen=True)
class Stage:
    """A function, the stages that must pass first (`needs`) or only end first (`after`), and the levels that
    have it."""

    run: Callable[[Tools], Outcome]
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    levels: tuple[str, ...] = (QUICK, ALL)


def build(variant: Variant, goals: tuple[str, ...], tools: Tools) -> Outcome:
    if not tools.has("make", variant.needs):
        return skipped(f"build {variant.name}: no {variant.needs}")
    made = tools.start(
        f"build-{variant.name}-{goals[0]}", ["make", f"-j{tools.jobs}", *variant.goals(), *goals]
    )
    if made.code != 0:
        return failed(f"build {variant.name}: exit {made.code}\n{made.tail(25)}")
    # make goes on without ranks where an MPI is broken, and a source that breaks looks the same.
    lost = re.search(r"^skip: .*do not build.*$", made.out, re.MULTILINE)
    return failed(f"build {variant.name}: {lost[0]}") if lost else passed()


def units(variant: Variant, tools: Tools) -> Outcome:
    """The C tests, conformance among them."""
    found = variants.built_units(variant, tools)
    if not found:
        return skipped(f"units {variant.name}: none are built")
    total = Outcome()
    for path in found:
        if variant.reason_without(path.name):
            total += skipped(f"{variant.name}/{path.name}: {variant.reason_without(path.name)}")
    chosen = [path for path in found if not variant.reason_without(path.name)]
    total += tools.each(chosen, lambda path: _unit(variant, tools, path, variant.parts.get(path.name)))
    return total


def _unit(variant: Variant, tools: Tools, path: Path, part: str | None = None) -> Outcome:
    """One C test, or the part of it whose names have this word."""
    name = "/".join([variant.name, path.name, *([part] if part else [])])
    environment = {**SANITIZED, **({"GPUSIG_TEST": part} if part else {})}
    environment["GPUSIG_TEST_ALL"] = str(int(variant.long))
    specs = variant.conformance if path.name.startswith("conformance") else ()
    ran = tools.start(f"unit-{name}", [*layout(variant, tools), str(path), *specs], **environment)
    if ran.code == 77:
        return skipped(f"{name}: {ran.tail(1)}")
    return sanitized(name, ran, of_tap(name, ran.out, ran.code))


def gpu(variant: Variant, tools: Tools) -> Outcome:
    """Conformance of the GPU backends, on fake drivers."""
    found = variants.built_units(variant, tools, "conformance*")
    if not found:
        return skipped(f"gpu {variant.name}: no tests are built")
    backends = variants.gpu_backends(variant, tools)
    return tools.each(found, lambda path: _on_fake_gpus(variant, tools, path, backends))


def _on_fake_gpus(variant: Variant, tools: Tools, path: Path, backends: list[str]) -> Outcome:
    name = f"{variant.name}/{path.name} on fakes"
    if variant.reason_without(f"{path.name} on fakes"):
        return skipped(f"{name}: {variant.reason_without(f'{path.name} on fakes')}")
    command = [*layout(variant, tools), str(path), *(spec.format(*backends) for spec in variant.gpus)]
    ran = tools.start(f"gpu-{name}", command, **on_fakes(path), **SANITIZED)
    total = sanitized(name, ran, of_tap(name, ran.out, ran.code))
    if "# SKIP no device" in ran.out:
        total += failed(f"{name}: a fake driver gives no device\n{ran.tail()}")
    return total


def gpu_compilers(tools: Tools) -> Outcome:
    """The vendors' run-time compilers on the kernels, in the lab for every architecture that they know."""
    made = tools.start("build-gpu-compile", ["make", "UNITS=gpu_compile", "units"])
    variant = LONG if tools.level == LAB else RELEASE
    found = variants.built_units(variant, tools, "gpu_compile")
    if made.code != 0 or not found:
        return failed(f"gpu compilers: make: exit {made.code}\n{made.tail()}")
    return _unit(variant, tools, found[0])


def programs(variant: Variant, tools: Tools) -> Outcome:
    """The first cases of every program on each device."""
    backends, jobs, total = variants.gpu_backends(variant, tools), [], Outcome()
    for path in variants.built_programs(variant, tools):
        devices = devices_of(variant, variants.about(variant, tools, path), backends)
        jobs += [(path, device) for device in devices]
        if not devices:
            total += skipped(
                f"{variant.name}/{path.parent.name}/{path.name}: MPI libraries keep memory and race by "
                f"design; "
                "collectives.bats has it"
            )
    if not jobs:
        return skipped(f"programs {variant.name}: none are built")
    total += tools.each(jobs, lambda job: first_cases(variant, tools, *job))
    return total


def devices_of(variant: Variant, said: dict, backends: list[str]) -> list[str]:
    """Devices to run a program on. What computes runs on no fake GPU: there a GEMM takes minutes, and
    conformance has the kernels."""
    if "mpi" in said["needs"]:
        return []
    several = f":0-{said['min_devices'] - 1}" if said["min_devices"] > 1 else ""
    computes = "gemm" in said["needs"] or said.get("name") in _COMPUTING
    kinds = [kind for kind in variant.devices if kind in WITHOUT_DRIVER or not computes]
    return [f"{kind.format(*backends)}{several}" for kind in kinds]


def first_cases(variant: Variant, tools: Tools, path: Path, device: str) -> Outcome:
    name = f"{variant.name}/{path.parent.name}/{path.name} on {device}"
    program = [*layout(variant, tools), str(path), "--device", device]
    is_fake = not device.startswith(WITHOUT_DRIVER)
    environment = {**SANITIZED, **(on_fakes(path) if is_fake else {})}
    done = tools.logs / f"done-{variant.name}-{path.parent.name}-{path.name}-{device}"
    cases = tools.start(f"cases-{name}", [*program, "--list"], **environment).out.splitlines()
    done.write_text("".join(f"{key}\n" for key in cases[1 if is_fake else _FIRST_CASES :]), encoding="utf-8")
    ran = tools.start(f"program-{name}", [*program, *_SMOKE, "--done", str(done)], **environment)
    if ran.code == 77:
        return skipped(f"{name}: {ran.tail(1)}")
    good = ran.code in (0, 3)
    return sanitized(name, ran, passed() if good else failed(f"{name}: exit {ran.code}\n{ran.tail()}"))


def level_of(path: Path) -> str:
    """The level that runs a file of tests: what its line "# bats file_tags=" or "# level:" says, else
    quick."""
    said = re.search(r"^# (?:bats file_tags=|level: )(\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    level = said[1] if said else QUICK
    if level not in LEVELS:
        raise OSError(f"{path}: '{level}' is not a level; levels: {' '.join(LEVELS)}")
    return level


def _of_level(names: list[str], tools: Tools) -> list[str]:
    """Files of tests that the level runs. --all has the quick ones, too; the lab its own alone."""
    levels = (QUICK, ALL) if tools.level == ALL else (tools.level,)
    return [name for name in names if level_of(tools.home / name) in levels]


def bats(tools: Tools) -> Outcome:
    if not tools.has("bats"):
        return skipped("command-line tests: no bats")

    def one(name: str) -> Outcome:
        ran = tools.start(name, ["bats", "--tap", name], BATS_TEST_TIMEOUT=str(_TEST_LIMIT_S))
        return of_tap(name, ran.out, ran.code)

    return tools.each(_of_level(tools.sources("tests/**/*.bats"), tools), one, more=1)


def python_tests(tools: Tools) -> Outcome:
    """The modules of the level, a process a folder. In the lab all modules look longer than with --all."""
    names = tools.sources("tests/*/**/test_*.py")
    chosen = names if tools.level == LAB else _of_level(names, tools)
    folders = sorted({"/".join(name.split("/")[:2]) for name in chosen})

    def one(folder: str) -> Outcome:
        modules = [name[: -len(".py")].replace("/", ".") for name in chosen if name.startswith(f"{folder}/")]
        path = f"{tools.home}:{tools.home / folder}"
        ran = tools.start(f"unittest-{folder}", [python(), "-m", "unittest", "-v", *modules], PYTHONPATH=path)
        return of_unittest(folder, ran.err, ran.code)

    return tools.each(folders, one) if folders else skipped("Python tests: there are none")


def attack(kind: str, tools: Tools) -> Outcome:
    """Attempts of one kind to lose records, to crash, to hang or to get a wrong number; what passes are those
    that held."""
    found = tools.start("find-python", ["sh", "suite/setup/find_python.sh", "jsonschema"])
    if found.code != 0:
        return skipped(f"attack {kind}: no Python with jsonschema")
    ran = tools.start(f"attack-{kind}", [found.out.strip(), "-m", "tests.attack", "--jobs", "1", kind])
    failures = re.findall(r"^failed: (.*(?:\n  .*)*)", ran.out, re.MULTILINE)
    counted = re.search(r"^\S+ +\d+ tried, (\d+) held, (\d+) failed$", ran.out, re.MULTILINE)
    if counted is None or int(counted[2]) != len(failures) or ran.code != bool(failures):
        return failed(f"attack {kind}: ended without a count, exit {ran.code}\n{ran.tail()}")
    return Outcome(int(counted[1]), failures)


def mutants(tools: Tools) -> Outcome:
    """Faults put in on purpose: every one must be found by the test that is named for it."""
    ran = tools.start("mutants", [python(), "tests/mutants.py"])
    return of_tap("mutants", ran.out, ran.code)


def shell(tools: Tools) -> Outcome:
    names = tools.sources("gpusig", ".ci/run", "tests/golden/update", "**/*.sh", "**/*.bats", "**/*.bash")
    if not tools.has("shellcheck"):
        return skipped("shell scripts: no shellcheck")

    def one(name: str) -> Outcome:
        ran = tools.start(f"shellcheck-{name}", ["shellcheck", name])
        return passed() if ran.code == 0 else failed(f"shellcheck {name}\n{ran.tail(20)}")

    return tools.each(names, one)


def python_form(tools: Tools) -> Outcome:
    """ruff.toml: the format of Python, and what is found without running it."""
    brought = tools.home / "build" / "tools" / "ruff" / "bin"  # where suite/setup/setup.sh puts it
    ruff = shutil.which("ruff", path=f"{brought}:{os.environ.get('PATH', '')}")
    if ruff is None:
        return skipped("form of Python: no ruff")
    total = Outcome()
    for words in (["format", "--diff", "--quiet"], ["check", "--quiet"]):
        ran = tools.start(f"ruff-{words[0]}", [ruff, *words])
        total += passed() if ran.code == 0 else failed(f"ruff {words[0]}\n{ran.tail(20)}")
    return total


def headers(tools: Tools) -> Outcome:
    ran = tools.start("headers", ["make", "check-headers"])
    return passed() if ran.code == 0 else failed(f"make check-headers\n{ran.tail()}")


def alone(tools: Tools) -> Outcome:
    """The build without MPI, hwloc and nvcc, as far as it differs."""
    ran = tools.start("alone", ["make", "check-alone"])
    return passed() if ran.code == 0 else failed(f"make check-alone\n{ran.tail()}")


def c_checks(tools: Tools) -> Outcome:
    names = tools.sources(
        "lib/*.c",
        "bench/*.c",
        "advise/*.c",
        "device/**/*.c",
        "micro/**/*.c",
        "gemm/**/*.c",
        "overlap/**/*.c",
        "collectives/**/*.c",
        "topology/**/*.c",
    )
    return tools.each(names, lambda name: c_check(name, tools))


def c_check(name: str, tools: Tools) -> Outcome:
    """clang's warnings, and clang-tidy with its analyzer, by .clang-tidy."""
    if _needs_foreign_headers(tools, name):
        return skipped(f"{name}: needs headers of MPI or hwloc")
    if not tools.has("clang-tidy"):
        return skipped(f"{name}: no clang-tidy")
    command = ["clang-tidy", "--quiet", "--warnings-as-errors=*", name, "--", *_CLANG]
    command += _NODES if tools.level != LAB else []
    command += ["-include", "tests/lint/known_results.h"] if name != "lib/err.c" else []
    ran = tools.start(f"clang-tidy-{name}", command)
    if ran.code == 0:
        return passed()
    found = [line for line in ran.text.splitlines() if re.search(r": (error|warning): ", line)]
    return failed("\n".join([f"clang-tidy {name}", *(found or [ran.tail()])]))


def _listed(tools: Tools, name: str, goal: str, word: str) -> Outcome:
    """A goal of make that prints a line for each of its checks, and why it leaves one out."""
    ran = tools.start(name, ["make", goal])
    if ran.code != 0:
        return failed(f"make {goal}\n{ran.tail(20)}")
    found = re.findall(rf"^ +{word} ", ran.out, re.MULTILINE)
    return Outcome(len(found), [], re.findall(r"^skip: (.*)$", ran.out, re.MULTILINE))


def abi(tools: Tools) -> Outcome:
    """Our declarations of the vendors' libraries against those headers that are installed."""
    return _listed(tools, "abi", "check-abi", "ABI")


def gpu_kernels(tools: Tools) -> Outcome:
    """Kernels for architectures that the run-time compilers of the C tests are too old for."""
    if not tools.has("clang-19"):
        return skipped("gpu kernels: no clang-19")
    ran = tools.start("gpu-kernels", ["make", "check-kernels"])
    return passed() if ran.code == 0 else failed(f"make check-kernels\n{ran.tail()}")


def gpu_loops(tools: Tools) -> Outcome:
    """The machine code of NVIDIA's kernels, where the assembler and the disassembler are installed."""
    return _listed(tools, "gpu-loops", "check-sass", "SASS")


def on_opencl(tools: Tools) -> Outcome:
    """Conformance of the kernels, with a fake driver that runs them through OpenCL."""
    runtime = next((tools.home / "build" / "tools").glob("intel-opencl-rt/**/libintelocl.so"), None)
    lacking = [name for name in ("clang-14", "llvm-spirv-14") if not tools.has(name)]
    lacking += [] if Path("/usr/include/CL/cl.h").is_file() else ["CL/cl.h"]
    lacking += [] if runtime else ["intel-opencl-rt in build/tools"]
    if lacking:
        return skipped(f"kernels on OpenCL: no {', '.join(lacking)}")
    made = tools.start("build-on-opencl", ["make", f"UNITS={' '.join(_ARITHMETIC)}", "units", "on-opencl"])
    if made.code != 0:
        return failed(f"kernels on OpenCL: make: exit {made.code}\n{made.tail()}")

    def one(path: Path) -> Outcome:
        name, folder = f"{path.name} on OpenCL", path.parents[2] / "emulators"
        environment = {
            "LD_PRELOAD": str(folder / "libamdhip64.so.7"),
            "GPUSIG_SPIRV": str(folder / "kernels.spv"),
            "OCL_ICD_VENDORS": str(runtime),
        }
        ran = tools.start(name, [str(path), "hip"], **environment, **on_fakes(path))
        if "# SKIP no device" in ran.out:
            return failed(f"{name}: no device\n{ran.tail()}")
        return of_tap(name, ran.out, ran.code)

    return tools.each(
        [path for path in variants.built_units(RELEASE, tools) if path.name in _ARITHMETIC], one
    )


def on_emulator(tools: Tools) -> Outcome:
    """The machine code of AMD's kernels, on tinygrad's emulator of instructions."""
    if not Path(os.environ.get("TINYGRAD", ""), "test/mockgpu/amd/emu.py").is_file():
        return skipped("kernels on an emulator: TINYGRAD names no checkout of tinygrad")
    for name in ("clang-14", "clang-19", "ld.lld-19"):
        if not tools.has(name):
            return skipped(f"kernels on an emulator: no {name}")
    found = tools.start("find-python", ["sh", "suite/setup/find_python.sh", "numpy"])
    if found.code != 0:
        return skipped("kernels on an emulator: no Python with numpy")
    made = tools.start("build-for-amd", ["make", "for-amd"])
    if made.code != 0:
        return failed(f"kernels on an emulator: make: exit {made.code}\n{made.tail()}")

    def one(path: Path) -> Outcome:
        command = [found.out.strip(), "tests/emulators/amd.py", str(path)]
        cache = {"CACHEDB": str(tools.logs / "tinygrad" / "cache.db"), "CC": "clang-14"}
        ran = tools.start(f"{path.name} on an emulator", command, **cache)
        if ran.code == 77:
            return skipped(f"kernels on an emulator: {ran.tail(1)}")
        return of_tap(f"{path.name} on an emulator", ran.out, ran.code)

    folder = variants.built_programs(RELEASE, tools)[0].parents[2] / "emulators"
    return tools.each(sorted(folder.glob("*.hsaco")), one)


def _needs_foreign_headers(tools: Tools, name: str) -> bool:
    text = (tools.home / name).read_text(encoding="utf-8", errors="replace")
    return bool(re.search(r'#include (<(mpi|hwloc)|"collectives/ranks/)', text))


def _of(variant: Variant, levels: tuple[str, ...]) -> dict[str, Stage]:
    """The stages of a build variant, by name."""
    name, needs = variant.name, (f"build {variant.name}",)
    return {
        f"units {name}": Stage(partial(units, variant), needs, levels=levels),
        f"gpu {name}": Stage(partial(gpu, variant), needs, levels=levels),
        f"programs {name}": Stage(partial(programs, variant), needs, levels=levels),
    }


_PROGRAMS = ("build programs",)
_RELEASE, _MEMORY, _THREAD = (f"build {variant.name}" for variant in (RELEASE, MEMORY, THREAD))
_EVERYTHING = ("all", "units", "fakes")
STAGES: dict[str, Stage] = {
    "build programs": Stage(partial(build, RELEASE, ("all", "fakes")), levels=LEVELS),
    _RELEASE: Stage(partial(build, RELEASE, ("units",)), after=_PROGRAMS, levels=(QUICK,)),
    _MEMORY: Stage(partial(build, MEMORY, _EVERYTHING), after=_PROGRAMS, levels=(ALL,)),
    _THREAD: Stage(partial(build, THREAD, _EVERYTHING), after=(_MEMORY,), levels=(ALL,)),
    "python": Stage(python_tests, _PROGRAMS, levels=LEVELS),
    "bats": Stage(bats, _PROGRAMS, levels=LEVELS),
    "mutants": Stage(mutants, _PROGRAMS, levels=(LAB,)),
    **{f"attack {kind}": Stage(partial(attack, kind), _PROGRAMS, levels=(ALL,)) for kind in ATTACKS},
    **_of(RELEASE, (QUICK,)),
    "build release long": Stage(partial(build, LONG, ("units",)), after=_PROGRAMS, levels=(LAB,)),
    "units release long": Stage(partial(units, LONG), ("build release long",), levels=(LAB,)),
    **_of(MEMORY, (ALL,)),
    **_of(THREAD, (ALL,)),
    "gpu compilers": Stage(gpu_compilers, _PROGRAMS, levels=(ALL, LAB)),
    "shellcheck": Stage(shell, levels=(ALL,)),
    "form of Python": Stage(python_form),
    "headers": Stage(headers),
    "alone": Stage(alone, _PROGRAMS),
    "abi": Stage(abi),
    "c checks": Stage(c_checks, levels=(ALL, LAB)),
    "gpu kernels": Stage(gpu_kernels, levels=(ALL,)),
    "gpu loops": Stage(gpu_loops, levels=(LAB,)),
    "kernels on OpenCL": Stage(on_opencl, _PROGRAMS, levels=(LAB,)),
    "kernels on an emulator": Stage(on_emulator, _PROGRAMS, levels=(LAB,)),
}
