# SPDX-License-Identifier: BSD-3-Clause
"""The stages of `./gpusig test`, in order. A stage is a function from Tools to an Outcome; what is missing is a
skip with its name."""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Callable

from suite.outcome import Outcome, failed, of_tap, of_unittest, passed, skipped
from suite.tooling import Tools, python

_BUILD_LIMIT_S = 900
# What the sanitizers find must end the program. Leaks of libraries that stay open are not ours.
_SANITIZED = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=99",
    "LSAN_OPTIONS": "suppressions=tests/lint/leaks.txt:print_suppressions=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=99",
}
_FOUND_BY_SANITIZER = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:")


@dataclass(frozen=True)
class Variant:
    """A way to build everything."""

    name: str
    make: tuple[str, ...] = ()
    needs: str = "cc"


RELEASE = Variant("release")
DEBUG = Variant("debug", ("VARIANT=debug",))
ADDRESS = Variant("address", ("SAN=address",))
UNDEFINED = Variant("undefined", ("SAN=undefined",))
THREAD = Variant("thread", ("SAN=thread",))
CLANG = Variant("clang", ("CC=clang",), "clang")
ALONE = Variant("alone", ("HAVE_MPI=0", "HAVE_HWLOC=0"))


def build(variant: Variant, tools: Tools) -> Outcome:
    if not tools.has("make", variant.needs):
        return skipped(f"build {variant.name}: no {variant.needs}")
    made = tools.start(f"build-{variant.name}", ["make", f"-j{tools.jobs}", *variant.make, "all", "units"], _BUILD_LIMIT_S)
    return passed() if made.code == 0 else failed(f"build {variant.name}: exit {made.code}\n{made.tail(25)}")


def units(variant: Variant, tools: Tools) -> Outcome:
    """The C tests, conformance among them, one after the other: they time things."""
    total = Outcome()
    for path in _built(variant, tools, "tests/unit/*"):
        name = f"{variant.name}/{path.name}"
        ran = tools.start(f"unit-{name}", [*_layout(variant, tools), str(path)], 300, **_SANITIZED)
        total += skipped(f"{name}: {ran.tail(1)}") if ran.code == 77 else _sanitized(name, ran.text, of_tap(name, ran.out, ran.code))
    return total if total != Outcome() else skipped(f"units {variant.name}: none are built")


def programs(variant: Variant, tools: Tools) -> Outcome:
    """Every program, shortly, on the host and on the simulated device."""
    total = Outcome()
    for path in _built(variant, tools, "bin/*/*"):
        folder = path.parent.name
        if folder == "collectives":
            continue  # MPI libraries keep memory and race by design; their own tests sanitize the modules
        for device in ("sim", "host"):
            name = f"{variant.name}/{folder}/{path.name} on {device}"
            words = [str(path), "--device", device, "--budget", "0.3s", "--min-samples", "6", "--max-samples", "6"]
            ran = tools.start(f"program-{name}", [*_layout(variant, tools), *words], 120, **_SANITIZED)
            if ran.code == 77:
                total += skipped(f"{name}: {ran.tail(1)}")
            elif ran.code in (0, 3):
                total += _sanitized(name, ran.text, passed())
            else:
                total += failed(f"{name}: exit {ran.code}\n{ran.tail()}")
    return total if total != Outcome() else skipped(f"programs {variant.name}: none are built")


def bats(tools: Tools) -> Outcome:
    if not tools.has("bats"):
        return skipped("command-line tests: no bats")

    def one(name: str) -> Outcome:
        ran = tools.start(name, ["bats", "--tap", name], 600, BATS_TEST_TIMEOUT="240")
        return of_tap(name, ran.out, ran.code)

    return tools.each(tools.sources("tests/*.bats"), one)


def python_tests(tools: Tools) -> Outcome:
    folders = sorted({str(Path(name).parent) for name in tools.sources("tests/*/test_*.py")})

    def one(folder: str) -> Outcome:
        command = [python(), "-m", "unittest", "discover", "-v", "-s", folder, *(["-t", "."] if _is_package(tools, folder) else [])]
        ran = tools.start(f"unittest-{folder}", command, 600, PYTHONPATH=str(tools.home))
        return of_unittest(folder, ran.err, ran.code)

    return tools.each(folders, one) if folders else skipped("Python tests: there are none")


def shell(tools: Tools) -> Outcome:
    names = tools.sources("gpusig", ".ci/run", "**/*.sh", "**/*.bats", "**/*.bash")
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
    names = tools.sources("lib/*.c", "device/*.c", "micro/**/*.c", "gemm/**/*.c", "overlap/**/*.c", "topology/**/*.c")
    if tools.has("clang-tidy"):
        command = ["clang-tidy", "--quiet", "--warnings-as-errors=*"]
        end = ["--", "-std=c11", "-I.", "-D_GNU_SOURCE", "-DHAVE_HWLOC=0"]
    elif tools.has("cppcheck"):
        command = ["cppcheck", "-q", "--std=c11", "--error-exitcode=1", "--inline-suppr", "-I.", "-D_GNU_SOURCE"]
        command, end = [*command, "--enable=warning,portability"], []
    else:
        return skipped("C sources: no clang-tidy and no cppcheck")

    def one(name: str) -> Outcome:
        ran = tools.start(f"{command[0]}-{name}", [*command, name, *end], 120)
        return passed() if ran.code == 0 else failed(f"{command[0]} {name}\n{ran.tail(30)}")

    return tools.each([name for name in names if not _needs_foreign_headers(tools, name)], one)


def _built(variant: Variant, tools: Tools, glob: str) -> list[Path]:
    """Executables of a variant; make says where it put them."""
    said = tools.start(f"config-{variant.name}", ["make", "--no-print-directory", *variant.make, "config"])
    folder = re.search(r"^build (\S+)$", said.out, re.MULTILINE)
    if not folder:
        return []
    found = sorted((tools.home / folder[1]).glob(glob))
    return [path for path in found if path.is_file() and path.stat().st_mode & 0o100 and not path.suffix]


def _layout(variant: Variant, tools: Tools) -> list[str]:
    """ThreadSanitizer of GCC 12 does not start where addresses are more random than it expects."""
    if variant == THREAD and tools.has("setarch") and tools.start("setarch", ["setarch", "-R", "true"]).code == 0:
        return ["setarch", "-R"]
    return []


def _sanitized(name: str, text: str, outcome: Outcome) -> Outcome:
    """A report of a sanitizer is a failure however the program ended."""
    found = _FOUND_BY_SANITIZER.search(text)
    if found:
        outcome += failed(f"{name}: {text[found.start():][:1500]}")
    return outcome


def _is_package(tools: Tools, folder: str) -> bool:
    return (tools.home / folder / "__init__.py").exists()


def _needs_foreign_headers(tools: Tools, name: str) -> bool:
    text = (tools.home / name).read_text(encoding="utf-8", errors="replace")
    return bool(re.search(r"#include <(mpi|hwloc|cuda|hip/)", text))


STAGES: dict[str, Callable[[Tools], Outcome]] = {
    "build release": partial(build, RELEASE),
    "units release": partial(units, RELEASE),
    "bats": bats,
    "python": python_tests,
    "shellcheck": shell,
    "headers": headers,
    "build debug": partial(build, DEBUG),
    "units debug": partial(units, DEBUG),
    "build address": partial(build, ADDRESS),
    "units address": partial(units, ADDRESS),
    "programs address": partial(programs, ADDRESS),
    "build undefined": partial(build, UNDEFINED),
    "units undefined": partial(units, UNDEFINED),
    "programs undefined": partial(programs, UNDEFINED),
    "build thread": partial(build, THREAD),
    "units thread": partial(units, THREAD),
    "programs thread": partial(programs, THREAD),
    "build clang": partial(build, CLANG),
    "build alone": partial(build, ALONE),
    "c checks": c_checks,
}
