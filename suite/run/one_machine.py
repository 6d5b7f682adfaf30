# SPDX-License-Identifier: BSD-3-Clause
"""Check, before anything is measured, that a resumed run is on the machine of its records, and a new run of a
history on that of the others. Records of two machines are not a run of either, nor their runs a history."""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from reports.judge.compare import joins
from reports.records.record_file import read
from reports.signature.signature import MixedMachines, check_one_machine
from reports.records import damaged, jsonl
from suite.run import command
from suite.command_error import BAD, CommandError
from suite.run.programs import Program

_ANSWER_LIMIT_S = 60  # a driver may take long to open many devices


def refuse_another(records: Path, device: str, chosen: list[Program]) -> None:
    """Refuse a machine other than that of the records, and one that no program can name. Where nothing can be
    started, nothing is checked."""
    if not records.is_file():
        return
    able = _able(device, chosen)
    if not able:
        return
    here = _here(device, able)
    if not here:
        raise CommandError(
            f"{records.parent}: no program says which machine this is, so that nothing is measured", BAD
        )
    try:
        with _file_of(here) as now:
            check_one_machine([*read(records).runs(), *read(now).runs()])
    except (OSError, MixedMachines) as why:
        raise CommandError(f"{records.parent}: {why}") from None


def refuse_in_history(history: Path, device: str, chosen: list[Program]) -> None:
    """Refuse a run that compare could not place in the history, where a program can tell."""
    here = _here(device, _able(device, chosen))
    if here:
        with _file_of(here) as now:
            words = joins.refusal(history, read(now))
        if words:
            raise CommandError(f"{history}: {words}; --history takes another folder for this run")


def _able(device: str, chosen: list[Program]) -> list[Program]:
    able = [program for program in chosen if not command.lacks(program, device) and not program.error]
    return sorted(able, key=lambda program: "mpi" in program.needs)  # starting ranks takes seconds


def _here(device: str, able: list[Program]) -> bytes:
    """A record that names this machine; empty where no program gives one."""
    return next(filter(None, (_run_record(program, device) for program in able)), b"")


@contextmanager
def _file_of(record: bytes) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(prefix="gpusig.") as file:
        file.write(record)
        file.flush()
        yield Path(file.name)


def gemm_types(program: Program, device: str) -> list[str]:
    """Types that the device multiplies, as --type takes them."""
    record = _run_record(program, device)
    return jsonl.parse_line(record)["device"][0]["gemm_types"] if record else []


def _run_record(program: Program, device: str) -> bytes:
    """The record of a start without cases; empty where it names no machine."""
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
        return next((line for _, line in jsonl.read_lines(said) if _names_machine(line)), b"")


def _names_machine(line: bytes | jsonl.BadRecord) -> bool:
    if isinstance(line, jsonl.BadRecord):
        return False
    try:
        row = jsonl.parse_line(line)
        return row["kind"] == "run" and bool(damaged.text(row["provenance"]["hostname"], "hostname"))
    except (ValueError, KeyError, TypeError):
        return False
