# SPDX-License-Identifier: BSD-3-Clause
"""Whether a run that is resumed is on the machine of its records, asked before anything is measured: records
of two machines in one file are no run of either."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from suite import command, damaged, report
from suite.command_error import BAD, OK, USAGE, CommandError
from suite.programs import Program

_ANSWER_LIMIT_S = 60  # a driver may take long to open many devices


def refuse_another(records: Path, device: str, chosen: list[Program]) -> None:
    """Refuse, too, where it cannot be told which machine this is; where nothing can be started, nothing is
    measured either."""
    if not records.is_file():
        return
    able = [program for program in chosen if not command.lacks(program, device) and not program.error]
    if not able:
        return
    able.sort(key=lambda program: "mpi" in program.needs)  # starting ranks takes seconds
    here = next(filter(None, (_run_record(program, device) for program in able)), b"")
    if not here:
        raise CommandError(
            f"{records.parent}: no program says which machine this is, so that nothing is measured", BAD
        )
    with tempfile.NamedTemporaryFile(prefix="gpusig.") as file:
        file.write(here)
        file.flush()
        done = report.ask("one-machine", str(records), file.name)
    if done.returncode != OK:
        words = (done.stderr.strip().splitlines() or ["reports/ failed"])[-1]
        code = USAGE if done.returncode == USAGE else BAD
        raise CommandError(f"{records.parent}: {words.removeprefix('gpusig: ')}", code)


def gemm_types(program: Program, device: str) -> list[str]:
    """Those that the device multiplies, as --type takes them."""
    record = _run_record(program, device)
    return damaged.parse(record)["device"][0]["gemm_types"] if record else []


def _run_record(program: Program, device: str) -> bytes:
    """Of a start without cases; empty where the program gives none that names a machine."""
    with tempfile.TemporaryFile() as said:
        try:
            subprocess.run(
                command.of_machine(program, device),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.DEVNULL,
                timeout=_ANSWER_LIMIT_S,
                check=False,
            )
        except OSError:
            return b""
        except subprocess.TimeoutExpired:
            raise CommandError(
                f"{program.name} does not say within {_ANSWER_LIMIT_S} s which machine this is", BAD
            ) from None
        said.seek(0)
        return next((line for _, line in damaged.lines(said) if _names_machine(line)), b"")


def _names_machine(line: bytes) -> bool:
    try:
        row = damaged.parse(line)
        return row["kind"] == "run" and bool(damaged.text(row["provenance"]["hostname"], "hostname"))
    except (ValueError, KeyError, TypeError):
        return False
