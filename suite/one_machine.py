# SPDX-License-Identifier: BSD-3-Clause
"""Whether a run that is resumed is on the machine of its records, asked before anything is measured: records
of two machines in one file are no run of either."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import IO

from suite import command, report
from suite.command_error import BAD, USAGE, CommandError
from suite.programs import Program

_ANSWER_LIMIT_S = 60  # a driver may take long to open many devices


def refuse_another(records: Path, device: str, chosen: list[Program]) -> None:
    """Where no program says which machine this is, none measures either."""
    if not records.is_file():
        return
    able = [program for program in chosen if not command.lacks(program, device) and not program.error]
    able.sort(key=lambda program: "mpi" in program.needs)  # starting ranks takes seconds
    with tempfile.NamedTemporaryFile(prefix="gpusig.") as here:
        if any(_say(program, device, here) for program in able):
            done = report.ask("one-machine", str(records), here.name)
            if done.returncode == USAGE:
                words = (done.stderr.strip().splitlines() or ["reports/ failed"])[-1]
                raise CommandError(f"{records.parent}: {words.removeprefix('gpusig: ')}")


def _say(program: Program, device: str, here: IO[bytes]) -> bool:
    """Start a program without cases, for its run record."""
    try:
        subprocess.run(
            command.of_machine(program, device),
            stdin=subprocess.DEVNULL,
            stdout=here,
            stderr=subprocess.DEVNULL,
            timeout=_ANSWER_LIMIT_S,
            check=False,
        )
    except OSError:
        return False
    except subprocess.TimeoutExpired:
        raise CommandError(
            f"{program.name} does not say within {_ANSWER_LIMIT_S} s which machine this is", BAD
        ) from None
    return here.seek(0, 2) > 0
