# SPDX-License-Identifier: BSD-3-Clause
"""The command line that starts a program."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from suite import duration
from suite.run import devices, simgrid
from suite.command_error import CommandError
from suite.run.programs import Program, cores_at_once

# Repeats compare the median of each run and its spread between runs, so that a narrow interval within a run
# is not worth its time. Six samples are the fewest that give an interval. Other variants of the cases are
# left out, as a further repeat is worth more.
OF_HEADLINES = ["--min-samples", "6", "--headline-variants"]
# Ways to do the same work, compared in all cases rather than in a few that are precise.
OF_CHOICES = ["--warm-up", "2", "--max-samples", "10", "--no-references"]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_MIN_RANKS, _MAX_RANKS = 2, 16


@dataclass(frozen=True)
class Settings:
    """Options of all programs of a run."""

    device: str
    seed: int
    full: bool
    shapes: tuple[str, ...]  # GEMMs in addition to the default ones
    records: Path
    nice: int | None = None  # priority of the programs; None: that of the driver
    soak: bool = False
    headline: bool = False
    setting: str = ""  # words in front of every program: NAME=VALUE, then a command
    types: tuple[str, ...] = ()  # of all GEMMs; empty: those of the programs


@dataclass(frozen=True)
class How:
    """The cases of one start of a program, and how they are measured."""

    keys: Path  # a file of cases
    only_these: bool = False  # measure them, though they are done; else they are done
    headline: bool = False
    needed: bool = False  # of headline cases only the variants that headline numbers need
    quick: bool = False
    progress: Path | None = None

    def words(self) -> list[str]:
        words = ["--cases" if self.only_these else "--done", str(self.keys)]
        words += ["--headline"] if self.headline else []
        words += ["--headline-variants"] if self.needed else []
        words += OF_CHOICES if self.quick else []
        return words + (["--progress", str(self.progress)] if self.progress else [])


def lacks(program: Program, device: str) -> str:
    """The reason why the program cannot be started at all, or "". Other reasons the program reports
    itself."""
    if program.unbuilt or program.error:
        return program.unbuilt
    if "mpi" in program.needs and devices.is_virtual(device):
        return "MPI ranks are not supported on a simulated device"  # to hear that from ranks takes seconds
    if "mpi" in program.needs and not shutil.which("mpirun"):
        return "needs mpirun, which is not installed"
    if simgrid.NEEDS in program.needs and not simgrid.installed():
        return "needs SimGrid's smpirun, which is not installed (libsimgrid-dev)"
    return ""


def build(program: Program, settings: Settings, budget_s: float, how: How) -> list[str]:
    words = [str(program.path), "--device", settings.device, "--budget", duration.option(budget_s)]
    words += ["--seed", str(settings.seed), "--out", str(settings.records), *how.words()]
    if settings.soak:
        words += ["--check", "every"]
    if settings.headline:
        words += OF_HEADLINES
    prefix = split_setting(settings.setting)[1]
    if simgrid.NEEDS in program.needs:
        return prefix + simgrid.command(program, how.keys.parent, words[1:], settings.full, budget_s)
    if settings.full:
        words.append("--full")
    if settings.shapes and program.gemm_shapes:
        words += ["--shape", ",".join(("default", *settings.shapes))]
    if settings.types and program.gemm_types:
        words += ["--type", ",".join(settings.types)]
    return prefix + _launcher(program, settings.device) + words


def of_machine(program: Program, device: str) -> list[str]:
    """A start without cases, whose record names the machine and its devices."""
    words = [str(program.path), "--device", device, "--cases", os.devnull, "--format", "json"]
    return _launcher(program, device) + words


def split_setting(text: str) -> tuple[dict[str, str], list[str]]:
    """The environment and the command of a setting such as "OMP_NUM_THREADS=1 taskset -c 0"."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CommandError(f"setting '{text}': {str(error).lower()}") from error
    named = list(itertools.takewhile(_VARIABLE.match, words))
    prefix = words[len(named) :]
    if prefix and shutil.which(prefix[0]) is None:
        raise CommandError(f"setting '{text}': '{prefix[0]}' is not a command here")
    return dict(word.split("=", 1) for word in named), prefix


def _launcher(program: Program, device: str) -> list[str]:
    if "mpi" not in program.needs:
        return []
    # One rank a core, or a device.
    max_useful = devices.count(device) if devices.one_rank_each(device) else cores_at_once(program.path)
    ranks = min(_MAX_RANKS, max(_MIN_RANKS, max_useful))
    return ["mpirun", "-np", str(ranks)]
