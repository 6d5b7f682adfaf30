# SPDX-License-Identifier: BSD-3-Clause
"""Find the programs, and ask each for its description."""

from __future__ import annotations

import fnmatch
import functools
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from suite.command_error import CANNOT_RUN, CommandError

_ANSWER_LIMIT_S = 20
# Requirements of a folder's programs besides a C compiler (Makefile); other folders have none.
_BUILT_WITH = {"collectives": "MPI", "topology": "hwloc"}
FOLDERS = ("micro", "gemm", "overlap", "collectives", "topology")


@dataclass(frozen=True)
class Program:
    """One binary. `error` is set when it could not describe itself, `unbuilt` where there is only its
    source."""

    name: str
    path: Path
    question: str = ""
    needs: tuple[str, ...] = ()
    primary: tuple[str, ...] = ()
    share: float = 1.0
    min_devices: int = 1
    gemm_shapes: bool = False  # takes --shape MxNxK
    gemm_types: bool = False  # takes --type, of its GEMMs
    times: bool = True  # else it computes a model
    error: str = ""
    unbuilt: str = ""


@dataclass(frozen=True)
class Backend:
    """A kind of device of this build, the number of devices found, and the reason if there are none."""

    name: str
    devices: int = 0
    why: str = ""
    extra: dict = field(default_factory=dict, compare=False)


def find(bin_dir: Path) -> list[Program]:
    """Every executable FOLDER/NAME under bin_dir, by name."""
    paths = sorted(p for p in bin_dir.glob("*/*") if p.is_file() and os.access(p, os.X_OK))
    if not paths:
        raise CommandError(f"no programs in {bin_dir}: build them with make", CANNOT_RUN)
    return [_describe(f"{p.parent.name}/{p.name}", p) for p in paths]


def unbuilt(sources: Path, found: list[Program]) -> list[Program]:
    """Programs that have a source under `sources` but are not in `found`, each with the reason if it is
    known."""
    names = {program.name for program in found}
    missing = []
    for path in sorted(path for folder in FOLDERS for path in sources.glob(f"{folder}/*.c")):
        name = f"{path.parent.name}/{path.stem}"
        if name not in names:
            needs = _BUILT_WITH.get(path.parent.name)
            missing.append(Program(name, path, unbuilt=f"not built: needs {needs}" if needs else "not built"))
    return missing


def select(programs: list[Program], globs: list[str]) -> list[Program]:
    """The programs matched by any glob, by full name or by the part after the slash."""
    if not globs:
        return programs
    for glob in globs:
        if not matching(programs, glob):
            names = " ".join(p.name for p in programs)
            raise CommandError(f"--only '{glob}' matches no program; programs: {names}")
    return [p for p in programs if any(_matches(p, glob) for glob in globs)]


def matching(programs: list[Program], glob: str) -> list[Program]:
    return [p for p in programs if _matches(p, glob)]


def backends(program: Program) -> list[Backend]:
    """The backends a program was built with, in its order; empty when it does not say."""
    return backends_in(_ask(program.path, "--devices"))


def backends_in(text: str) -> list[Backend]:
    """The backends in an answer to --devices."""
    found = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
            devices = row["devices"]
            count = len(devices) if isinstance(devices, list) else int(devices)
            found.append(Backend(str(row["name"]), count, str(row.get("why") or ""), row))
        except (ValueError, KeyError, TypeError):
            continue
    return found


@functools.lru_cache(maxsize=None)
def cores_at_once(path: Path) -> int:
    """Number of ranks that can compute at once here: threads of a core count as one, and a CPU quota may
    allow fewer."""
    counts = [backend.extra.get("cores") for backend in backends_in(_ask(path, "--devices"))]
    return next((count for count in counts if isinstance(count, int)), 1)


def keys(program: Program, device: str, full: bool) -> list[str]:
    """The keys of all its cases on a device."""
    return _ask(program.path, "--device", device, *["--full"] * full, "--list").splitlines()


def try_device(program: Program, device: str) -> tuple[int, str]:
    """Exit code of listing the program's cases on a device, and the last line on stderr."""
    try:
        done = _start(program.path, "--device", device, "--list")
    except (OSError, subprocess.TimeoutExpired):
        return -1, ""
    words = (done.stderr.strip().splitlines() or [""])[-1]
    return done.returncode, words.removeprefix("gpusig: ").removeprefix(f"{program.name}: ")


def _matches(program: Program, glob: str) -> bool:
    return fnmatch.fnmatchcase(program.name, glob) or fnmatch.fnmatchcase(program.name.split("/")[1], glob)


def _describe(name: str, path: Path) -> Program:
    try:
        about = json.loads(_ask(path, "--about"))
        return Program(
            name=name,
            path=path,
            question=str(about["question"]),
            needs=tuple(str(word) for word in about.get("needs", [])),
            primary=tuple(_metric(entry) for entry in about.get("primary", [])),
            share=max(0.0, float(about.get("share", 1.0))) or 1.0,
            min_devices=int(about.get("min_devices", 1)),
            gemm_shapes=about.get("gemm_shapes") is True,
            gemm_types=about.get("gemm_types") is True,
            times=not str(about.get("timed")).startswith("nothing"),
        )
    except (ValueError, KeyError, TypeError) as error:
        return Program(name=name, path=path, error=f"--about is not understood: {error!r}")


def _metric(entry: object) -> str:
    return str(entry.get("metric", "?")) if isinstance(entry, dict) else str(entry)


def _ask(path: Path, *options: str) -> str:
    try:
        return _start(path, *options).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _start(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(path), *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_ANSWER_LIMIT_S,
        check=False,
    )
