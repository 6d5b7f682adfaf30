# SPDX-License-Identifier: BSD-3-Clause
"""The stages of `./gpusig test`, in order. A stage is a function from Tools to an Outcome; what is missing is a
skip with its name."""
from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Callable

from suite.outcome import Outcome, failed, of_tap, of_unittest, passed, skipped
from suite.tooling import Output, Tools, python

_BUILD_LIMIT_S = 900
# What the sanitizers find must end the program. Leaks of libraries that stay open are not ours.
_SANITIZED = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=99",
    "LSAN_OPTIONS": "suppressions=tests/lint/leaks.txt:print_suppressions=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=99:suppressions=tests/lint/races.txt",
    # hwloc's plugins are closed before leaks are looked for, and then have no name that could be passed over.
    "HWLOC_PLUGINS_PATH": "/nonexistent",
}
# What is enough of a program for a sanitizer: on the simulated device no clock ends it.
_FIRST_CASES = 3
_SMOKE = ["--budget", "0.3s", "--min-samples", "6", "--max-samples", "6"]
# Every other backend is one of GPUs, and has devices on fake drivers (tests/fakes).
_WITHOUT_DRIVER = ("sim", "host")
_FOUND_BY_SANITIZER = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:")


@dataclass(frozen=True)
class Variant:
    """A way to build everything, and what is worth running of it."""

    name: str
    make: tuple[str, ...] = ()
    needs: str = "cc"
    devices: tuple[str, ...] = _WITHOUT_DRIVER  # {0} is the first backend of GPUs
    without: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()  # what conformance is run on


# gpu_faults starts some hundred programs: where memory is watched. gpu_compile is the work of compilers that no sanitizer sees.
RELEASE = Variant("release", without=("gpu_faults",), gpus=("{0}", "{0}:0,1", "{1}", "{1}:0,1"))
DEBUG = Variant("debug", ("VARIANT=debug",))
ADDRESS = Variant("address", ("SAN=address",), devices=("sim", "host", "{0}"), without=("gpu_compile",),
                  gpus=("{0}:0,1", "{1}:0,1"))
UNDEFINED = Variant("undefined", ("SAN=undefined",), devices=("sim", "host", "{1}"), without=("gpu_faults", "gpu_compile"),
                    gpus=("{0}:0,1", "{1}:0,1"))
# Only the host, and fake drivers over it, run threads; a test of statistics on one thread takes minutes under this sanitizer, as
# does the arithmetic of fake kernels, and shows nothing.
_ARITHMETIC = tuple(f"conformance_{what} on fakes" for what in ("gemm", "kernels", "tiled"))
THREAD = Variant("thread", ("SAN=thread",), devices=("host",), without=("bench_aa", "gpu_faults", "gpu_compile", *_ARITHMETIC),
                 gpus=("{0}:0,1",))
CLANG = Variant("clang", ("CC=clang",), "clang")
ALONE = Variant("alone", ("HAVE_MPI=0", "HAVE_HWLOC=0", "HAVE_NVCC=0"))


def build(variant: Variant, tools: Tools) -> Outcome:
    if not tools.has("make", variant.needs):
        return skipped(f"build {variant.name}: no {variant.needs}")
    made = tools.start(f"build-{variant.name}", ["make", f"-j{tools.jobs}", *variant.make, "all", "units", "fakes"],
                       _BUILD_LIMIT_S)
    return passed() if made.code == 0 else failed(f"build {variant.name}: exit {made.code}\n{made.tail(25)}")


def units(variant: Variant, tools: Tools) -> Outcome:
    """The C tests, conformance among them, one after the other: they time things."""
    total = Outcome()
    for path in _built(variant, tools, "tests/unit/*"):
        name = f"{variant.name}/{path.name}"
        if path.name in variant.without:
            total += skipped(f"{name}: of no use in this variant")
            continue
        ran = tools.start(f"unit-{name}", [*_layout(variant, tools), str(path)], 300, **_SANITIZED)
        if ran.code == 77:
            total += skipped(f"{name}: {ran.tail(1)}")
        else:
            total += _sanitized(name, ran, of_tap(name, ran.out, ran.code))
    return total if total != Outcome() else skipped(f"units {variant.name}: none are built")


def gpu(variant: Variant, tools: Tools) -> Outcome:
    """Conformance of the GPU backends, on fake drivers."""
    total, backends = Outcome(), _gpu_backends(variant, tools)
    for path in _built(variant, tools, "tests/unit/conformance*"):
        if f"{path.name} on fakes" in variant.without:
            total += skipped(f"{variant.name}/{path.name} on fakes: of no use in this variant")
            continue
        name = f"{variant.name}/{path.name} on fakes"
        command = [*_layout(variant, tools), str(path), *(spec.format(*backends) for spec in variant.gpus)]
        ran = tools.start(f"gpu-{name}", command, 600, **_on_fakes(path), **_SANITIZED)
        total += _sanitized(name, ran, of_tap(name, ran.out, ran.code))
        if "# SKIP no device" in ran.out:
            total += failed(f"{name}: a fake driver gives no device\n{ran.tail()}")
    return total if total != Outcome() else skipped(f"gpu {variant.name}: no tests are built")


def programs(variant: Variant, tools: Tools) -> Outcome:
    """The first cases of every program on each device."""
    about = {path: _about(variant, tools, path) for path in _built(variant, tools, "bin/*/*")}
    # MPI libraries keep memory and race by design: programs of ranks are left to their own tests.
    built = {path: said for path, said in about.items() if "mpi" not in said["needs"]}
    backends = _gpu_backends(variant, tools)
    jobs = []
    for path, said in built.items():
        several = f":0-{said['min_devices'] - 1}" if said["min_devices"] > 1 else ""
        # A fake library's products, sanitized, take minutes; conformance has them.
        kinds = [kind for kind in variant.devices if kind in _WITHOUT_DRIVER or "gemm" not in said["needs"]]
        jobs += [(path, f"{kind.format(*backends)}{several}") for kind in kinds]
    if not jobs:
        return skipped(f"programs {variant.name}: none are built")
    return tools.each(jobs, lambda job: _first_cases(variant, tools, *job))


def _first_cases(variant: Variant, tools: Tools, path: Path, device: str) -> Outcome:
    name = f"{variant.name}/{path.parent.name}/{path.name} on {device}"
    program = [*_layout(variant, tools), str(path), "--device", device]
    on_fakes = not device.startswith(_WITHOUT_DRIVER)
    environment = {**_SANITIZED, **(_on_fakes(path) if on_fakes else {})}
    done = tools.logs / f"done-{variant.name}-{path.parent.name}-{path.name}-{device}"
    cases = tools.start(f"cases-{name}", [*program, "--list"], 60, **environment).out.splitlines()
    done.write_text("".join(f"{key}\n" for key in cases[1 if on_fakes else _FIRST_CASES:]), encoding="utf-8")
    ran = tools.start(f"program-{name}", [*program, *_SMOKE, "--done", str(done)], 180, **environment)
    if ran.code == 77:
        return skipped(f"{name}: {ran.tail(1)}")
    good = ran.code in (0, 3)
    return _sanitized(name, ran, passed() if good else failed(f"{name}: exit {ran.code}\n{ran.tail()}"))


def bats(tools: Tools) -> Outcome:
    if not tools.has("bats"):
        return skipped("command-line tests: no bats")

    def one(name: str) -> Outcome:
        ran = tools.start(name, ["bats", "--tap", name], 600, BATS_TEST_TIMEOUT="240")
        return of_tap(name, ran.out, ran.code)

    # They wait nearly as much as they work.
    return tools.each(tools.sources("tests/*.bats"), one, more=1)


def python_tests(tools: Tools) -> Outcome:
    folders = sorted({str(Path(name).parent) for name in tools.sources("tests/*/test_*.py")})

    def one(folder: str) -> Outcome:
        command = [python(), "-m", "unittest", "discover", "-v", "-s", folder]
        if (tools.home / folder / "__init__.py").exists():
            command += ["-t", "."]
        ran = tools.start(f"unittest-{folder}", command, 600, PYTHONPATH=str(tools.home))
        return of_unittest(folder, ran.err, ran.code)

    return tools.each(folders, one) if folders else skipped("Python tests: there are none")


def shell(tools: Tools) -> Outcome:
    names = tools.sources("gpusig", ".ci/run", "tests/golden/update", "**/*.sh", "**/*.bats", "**/*.bash")
    if not tools.has("shellcheck"):
        return skipped("shell scripts: no shellcheck")

    def one(name: str) -> Outcome:
        ran = tools.start(f"shellcheck-{name}", ["shellcheck", name])
        return passed() if ran.code == 0 else failed(f"shellcheck {name}\n{ran.tail(20)}")

    return tools.each(names, one)


def headers(tools: Tools) -> Outcome:
    ran = tools.start("headers", ["make", "check-headers"])
    return passed() if ran.code == 0 else failed(f"make check-headers\n{ran.tail()}")


def c_checks(tools: Tools) -> Outcome:
    """clang-tidy with .clang-tidy where it is, else cppcheck."""
    names = tools.sources("lib/*.c", "device/*.c", "micro/**/*.c", "gemm/**/*.c", "overlap/**/*.c", "collectives/**/*.c",
                          "topology/**/*.c")
    if tools.has("clang-tidy"):
        command = ["clang-tidy", "--quiet", "--warnings-as-errors=*"]
        end = ["--", "-std=c11", "-I.", "-D_GNU_SOURCE", "-DHAVE_HWLOC=0", '-DBUILD_CONFIG="tests/lint/config.inc"',
               '-DGPU_KERNELS_SOURCE="/dev/null"', '-DCUDA_KERNELS_PTX="/dev/null"']
    elif tools.has("cppcheck"):
        command = ["cppcheck", "-q", "--std=c11", "--error-exitcode=1", "--inline-suppr", "-I.", "-D_GNU_SOURCE"]
        command, end = [*command, "--enable=warning,portability"], []
    else:
        return skipped("C sources: no clang-tidy and no cppcheck")

    def one(name: str) -> Outcome:
        known = ["-include", "tests/lint/known_results.h"] if end and name != "lib/err.c" else []
        ran = tools.start(f"{command[0]}-{name}", [*command, name, *end, *known], 120)
        if ran.code == 0:
            return passed()
        found = [line for line in ran.text.splitlines() if re.search(r": (error|warning|portability): ", line)]
        return failed("\n".join([f"{command[0]} {name}", *(found or [ran.tail()])]))

    return tools.each([name for name in names if not _needs_foreign_headers(tools, name)], one)


def abi(tools: Tools) -> Outcome:
    """Our declarations of the vendors' libraries against those headers that are installed."""
    ran = tools.start("abi", ["make", "check-abi"])
    if ran.code != 0:
        return failed(f"make check-abi\n{ran.tail(20)}")
    return Outcome(len(re.findall(r"^ +ABI ", ran.out, re.MULTILINE)), [], re.findall(r"^skip: (.*)$", ran.out, re.MULTILINE))


def gpu_kernels(tools: Tools) -> Outcome:
    """What the run-time compilers of the C tests are too old for."""
    if not tools.has("clang-19"):
        return skipped("gpu kernels: no clang-19")
    ran = tools.start("gpu-kernels", ["make", "check-kernels"])
    return passed() if ran.code == 0 else failed(f"make check-kernels\n{ran.tail()}")


def gpu_loops(tools: Tools) -> Outcome:
    """The machine code of NVIDIA's kernels, where the assembler and the disassembler are installed."""
    ran = tools.start("gpu-loops", ["make", "check-sass"])
    if ran.code != 0:
        return failed(f"make check-sass\n{ran.tail(20)}")
    return Outcome(len(re.findall(r"^ +SASS ", ran.out, re.MULTILINE)), [], re.findall(r"^skip: (.*)$", ran.out, re.MULTILINE))


def _built(variant: Variant, tools: Tools, glob: str) -> list[Path]:
    """Executables of a variant; make says where it put them."""
    said = tools.start(f"config-{variant.name}", ["make", "--no-print-directory", *variant.make, "config"])
    folder = re.search(r"^build (\S+)$", said.out, re.MULTILINE)
    if not folder:
        return []
    found = sorted((tools.home / folder[1]).glob(glob))
    return [path for path in found if path.is_file() and path.stat().st_mode & 0o100 and not path.suffix]


def _on_fakes(path: Path) -> dict[str, str]:
    """What lets a built program find the fake drivers of its build, which have the first of the names that are looked for."""
    others = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{path.parents[2] / 'fakes'}{':' if others else ''}{others or ''}"}


def _gpu_backends(variant: Variant, tools: Tools) -> list[str]:
    """As the programs name those that have devices on the fakes."""
    names: list[str] = []
    for path in _built(variant, tools, "bin/*/*")[:1]:
        command = [*_layout(variant, tools), str(path), "--devices"]
        said = tools.start(f"devices-{variant.name}", command, 60, **_on_fakes(path), **_SANITIZED)
        rows = [json.loads(line) for line in said.out.splitlines()]
        names = [row["name"] for row in rows if row["devices"] and row["name"] not in _WITHOUT_DRIVER]
    if len(names) < 2:
        raise OSError(f"the fake drivers of {variant.name} have devices for {names or 'no backend'}: make fakes")
    return names


def _about(variant: Variant, tools: Tools, path: Path) -> dict:
    """What a program says of itself; that it can't is for the command-line tests to find."""
    said = tools.start(f"about-{variant.name}/{path.name}", [*_layout(variant, tools), str(path), "--about"], 60, **_SANITIZED)
    try:
        return {"needs": [], "min_devices": 1, **json.loads(said.out)}
    except ValueError:
        return {"needs": [], "min_devices": 1}


def _layout(variant: Variant, tools: Tools) -> list[str]:
    """ThreadSanitizer of GCC 12 does not start where addresses are more random than it expects."""
    if variant == THREAD and tools.has("setarch") and tools.start("setarch", ["setarch", "-R", "true"]).code == 0:
        return ["setarch", "-R"]
    return []


def _sanitized(name: str, ran: Output, outcome: Outcome) -> Outcome:
    """A report of a sanitizer is a failure however the program ended."""
    found = _FOUND_BY_SANITIZER.search(ran.text)
    return failed(f"{name}: {ran.text[found.start():][:1500]}") if found else outcome


def _needs_foreign_headers(tools: Tools, name: str) -> bool:
    text = (tools.home / name).read_text(encoding="utf-8", errors="replace")
    return bool(re.search(r'#include (<(mpi|hwloc)|"collectives/ranks/)', text))


STAGES: dict[str, Callable[[Tools], Outcome]] = {
    "build release": partial(build, RELEASE),
    "units release": partial(units, RELEASE),
    "gpu release": partial(gpu, RELEASE),
    "bats": bats,
    "python": python_tests,
    "shellcheck": shell,
    "headers": headers,
    "build debug": partial(build, DEBUG),
    "build address": partial(build, ADDRESS),
    "units address": partial(units, ADDRESS),
    "gpu address": partial(gpu, ADDRESS),
    "programs address": partial(programs, ADDRESS),
    "build undefined": partial(build, UNDEFINED),
    "units undefined": partial(units, UNDEFINED),
    "gpu undefined": partial(gpu, UNDEFINED),
    "programs undefined": partial(programs, UNDEFINED),
    "build thread": partial(build, THREAD),
    "units thread": partial(units, THREAD),
    "gpu thread": partial(gpu, THREAD),
    "programs thread": partial(programs, THREAD),
    "build clang": partial(build, CLANG),
    "build alone": partial(build, ALONE),
    "c checks": c_checks,
    "abi": abi,
    "gpu kernels": gpu_kernels,
    "gpu loops": gpu_loops,
}
