# SPDX-License-Identifier: BSD-3-Clause
"""Build variants: how each is made, which tests it runs, and how its executables are started."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable

from suite.testing.outcome import Outcome, failed
from suite.testing.tooling import Output, Tools

# A finding of a sanitizer ends the program. Leaks of libraries that stay open are ignored.
SANITIZED = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=99",
    "LSAN_OPTIONS": "suppressions=tests/lint/leaks.txt:print_suppressions=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=99:suppressions=tests/lint/races.txt",
    # hwloc's plugins are closed before leaks are looked for, and then have no name that could be passed over.
    "HWLOC_PLUGINS_PATH": "/dev/null/none",
}
_FOUND_BY_SANITIZER = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:")
# Every other backend is one of GPUs, and has devices on fake drivers (tests/fakes).
WITHOUT_DRIVER = ("sim", "host")


@dataclass(frozen=True)
class Variant:
    """One way to build, and the tests to run of it. Names are globs; `without` has the reasons for skips."""

    name: str
    make: tuple[str, ...] = ()
    needs: str = "cc"
    units: tuple[str, ...] = ("*",)
    long: bool = False  # units draw all that they can
    without: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(
        default_factory=dict
    )  # of these units only tests with this word in their name
    # Devices of the conformance tests, checked up to the word "unchecked"; empty: all kinds that need no
    # driver. `gpus` are those with the fake drivers, {0} being the first backend of GPUs.
    conformance: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    programs: tuple[str, ...] = ("*",)
    devices: tuple[str, ...] = WITHOUT_DRIVER  # of programs

    def goals(self) -> list[str]:
        """Arguments for make, which then builds only what is run."""
        words = [f"UNITS={' '.join(self.units)}"] if self.units != ("*",) else []
        words += [f"PROGRAMS={' '.join(self.programs)}"] if self.programs != ("*",) else []
        return [*self.make, *words]

    def reason_without(self, unit: str) -> str:
        return next((why for glob, why in self.without.items() if fnmatch.fnmatchcase(unit, glob)), "")


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


_COMPILERS = "stage gpu compilers has it: no sanitizer sees into the vendors' compilers"
_SAME_THREADS = "conformance and its launches, events, signals, units and collectives start the same threads"
_FAULTS = "every driver's call fails once, under the address sanitizer: --all"
_TILES = "arithmetic of kernels on emulated devices, but for conformance of gemm and kernels: --all"
# The variant of the quick run. A test that fails in it fails with a sanitizer, too, so that --all has the
# sanitizers alone.
RELEASE = Variant(
    "release",
    gpus=("{0}", "{1}:0,1"),
    devices=("host",),  # tests/golden runs each on the simulated device
    without={
        "gpu_compile": _COMPILERS,
        "gpu_faults": _FAULTS,
        "conformance_adding on fakes": _TILES,
        "conformance_tiled on fakes": _TILES,
    },
)
# Units that try more than every change needs, in the lab: without a sanitizer, as that needs no more.
LONG = Variant(
    "release long",
    long=True,
    units=(
        "advise_read",
        "gpu_compile",
        "gpu_faults",
        "schedule_once",
        "t3_ring",
        "trigger_delays",
    ),
    without={"gpu_compile": _COMPILERS},
)
MEMORY = Variant(
    "address,undefined",
    ("SAN=address,undefined",),
    gpus=("{0}:0,1", "{1}:0,1"),
    devices=(*WITHOUT_DRIVER, "{0}"),
    without={"gpu_compile": _COMPILERS},
)
# Units that start threads, of the host or of the fake drivers, and programs that use several streams or
# devices at once. The other programs use threads of the host backend, which the units test harder; the
# arithmetic of kernels does not depend on threads, and takes minutes.
THREAD = Variant(
    "thread",
    ("SAN=thread",),
    units=(
        "advise",
        "schedule_graph",
        "bench",
        "bench_check",
        "bench_contended",
        "bench_gate",
        "bench_placement",
        "bench_telemetry",
        "conformance",
        "conformance_collectives",
        "conformance_events",
        "conformance_launches",
        "conformance_memory",
        "conformance_signals",
        "conformance_track*",
        "conformance_units",
        "core_latency",
        "dev",
        "dynlib",
        "equal_streams",
        "fakes",
        "fakes_*",
        "gpu_lost",
        "host_gemm",
        "host_memory",
        "host_onednn",
        "host_queue",
        "host_waiters",
        "run_delay",
        "trigger_delays",
        "trigger_order",
        "work_graph*",
    ),
    without={f"conformance_{name} on fakes": _SAME_THREADS for name in ("memory", "track*")},
    parts={
        "conformance_memory": "any_thread",
        "schedule_graph": "on_the_host",
        "host_gemm": "at_once",
        "trigger_delays": "host",
        "trigger_order": "host",
    },
    conformance=("host", "host:0,1", "unchecked", "host:0,1"),
    gpus=("{0}:0,1", "unchecked", "{0}:0,1"),
    devices=("host",),
    programs=(
        "overlap/*",
        "collectives/device_*",
        "micro/contention",
        "micro/copy_contention",
        "micro/launch",
        "micro/priority",
    ),
)


def built(variant: Variant, tools: Tools, glob: str) -> list[Path]:
    """Executables of a variant, in the folder that make names."""
    if variant.make not in tools.folders:
        said = tools.start(
            f"config-{variant.name}", ["make", "--no-print-directory", *variant.make, "config"]
        )
        folder = re.search(r"^build (\S+)$", said.out, re.MULTILINE)
        if not folder:
            raise OSError(f"make {' '.join(variant.make)} config: exit {said.code}\n{said.tail()}")
        tools.folders[variant.make] = folder[1]
    found = sorted((tools.home / tools.folders[variant.make]).glob(glob))
    return [path for path in found if path.is_file() and path.stat().st_mode & 0o100 and not path.suffix]


def built_units(variant: Variant, tools: Tools, glob: str = "*") -> list[Path]:
    return [
        path for path in built(variant, tools, f"tests/unit/{glob}") if _matches(path.name, variant.units)
    ]


def built_programs(variant: Variant, tools: Tools) -> list[Path]:
    return [
        path
        for path in built(variant, tools, "bin/*/*")
        if _matches(f"{path.parent.name}/{path.name}", variant.programs)
    ]


def on_fakes(path: Path) -> dict[str, str]:
    """The environment in which a program loads the fake drivers of its build."""
    others = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{path.parents[2] / 'fakes'}{':' if others else ''}{others or ''}"}


def gpu_backends(variant: Variant, tools: Tools) -> list[str]:
    """Names of the backends that have devices on the fake drivers."""
    names: list[str] = []
    for path in built_programs(variant, tools)[:1]:
        command = [*layout(variant, tools), str(path), "--devices"]
        said = tools.start(f"devices-{variant.name}", command, **on_fakes(path), **SANITIZED)
        rows = [json.loads(line) for line in said.out.splitlines()]
        names = [row["name"] for row in rows if row["devices"] and row["name"] not in WITHOUT_DRIVER]
    if len(names) < 2:
        raise OSError(
            f"the fake drivers of {variant.name} have devices for {names or 'no backend'}: make fakes"
        )
    return names


def about(variant: Variant, tools: Tools, path: Path) -> dict:
    """The --about of a program. The command-line tests find programs where it fails."""
    said = tools.start(
        f"about-{variant.name}/{path.name}", [*layout(variant, tools), str(path), "--about"], **SANITIZED
    )
    try:
        return {"needs": [], "min_devices": 1, **json.loads(said.out)}
    except ValueError:
        return {"needs": [], "min_devices": 1}


def layout(variant: Variant, tools: Tools) -> list[str]:
    """ThreadSanitizer of GCC 12 does not start where addresses are more random than it expects."""
    if (
        variant.make == THREAD.make
        and tools.has("setarch")
        and tools.start("setarch", ["setarch", "-R", "true"]).code == 0
    ):
        return ["setarch", "-R"]
    return []


def sanitized(name: str, ran: Output, outcome: Outcome) -> Outcome:
    """A report of a sanitizer is a failure however the program ended."""
    found = _FOUND_BY_SANITIZER.search(ran.text)
    return failed(f"{name}: {ran.text[found.start() :][:1500]}") if found else outcome
