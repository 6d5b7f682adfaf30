# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig advise: which schedule for a GEMM with its communication, on which machine?"""

from __future__ import annotations

import argparse

from reports.advice.comparison import MachineAnswer, compare, labels
from reports.advice.table import chunks_table, comparison_table, table
from reports.judge.advise import (
    AdviseError,
    NoAnswer,
    answer,
    lines_of,
    machine_answer,
    measured_chunks,
    read_signature,
    trusting,
    wrong_results_in,
)
from reports.records.files import as_json
from reports.records.jsonl import Refused
from suite.command_error import OK
from suite.commands import Place, options
from suite.saying import say

FORMATS = ("table", "json", "machine")
_QUESTION = ("m", "n", "k", "devices", "op", "type")
_USAGE = "./gpusig advise SIGNATURE... --m M --n N --k K --devices G --op OP --type TYPE"


def parse(words: list[str]) -> argparse.Namespace:
    count = options.whole("a whole number", 1, (1 << 32) - 1)
    counts = {f"--{side}": count for side in ("m", "n", "k", "devices")}
    given = options.parse("advise", words, counts)
    if given.chunks and (given.format or any(getattr(given, name) is not None for name in _QUESTION)):
        raise AdviseError("--chunks takes no --format, and no option of a GEMM")
    given.format, given.kind = given.format or FORMATS[0], given.type
    if not given.names:
        raise AdviseError("needs a signature: " + _USAGE)
    if "" in given.names:
        raise AdviseError("an empty name is not a signature")
    if given.format not in FORMATS:
        raise AdviseError(f"unknown format '{given.format[:40]}'; formats: {' '.join(FORMATS)}")
    absent = [f"--{name}" for name in _QUESTION if getattr(given, name) is None]
    if absent and given.format != "machine" and not given.chunks:
        raise AdviseError(f"needs {' '.join(absent)}: {_USAGE}")
    if (given.format == "machine" or given.chunks) and len(given.names) > 1:
        option = "--chunks" if given.chunks else "--format machine"
        raise AdviseError(f"{option} takes one signature, not {len(given.names)}")
    return given


def _several(given: argparse.Namespace) -> str:
    machines = [machine_answer(given, name) for name in given.names]
    if not any(machine.advice for machine in machines):
        raise NoAnswer(*_reasons(machines))
    comparison = compare(machines)
    return comparison_table(comparison) if given.format == "table" else as_json(comparison)


def _reasons(machines: list[MachineAnswer]) -> tuple[str, list[str]]:
    """The reasons why no machine has an answer: the first line, and the others."""
    lines = [f"{label}: {m.reason}" for label, m in zip(labels([m.path for m in machines]), machines)]
    return lines[0], lines[1:]


def _text(given: argparse.Namespace) -> str:
    if len(given.names) > 1:
        return _several(given)
    path = given.cwd / given.names[0]
    with trusting(path):
        signature = read_signature(path)
        if given.chunks:
            return chunks_table(str(signature["device"]), *measured_chunks(signature))
        if given.format == "machine":
            if wrong_results_in(signature):  # what it writes has no place for notes
                say(f"advise: {wrong_results_in(signature)}")
            return lines_of(signature).text
        advice = answer(signature, given, path)
        return table(advice) if given.format == "table" else as_json(advice)


def command(words: list[str], place: Place) -> int:
    try:
        given = parse(words)
        given.cwd = place.cwd
        place.offer_library()
        if not place.check_only:
            print(_text(given), end="")
    except AdviseError as why:
        first, *more = (f"advise: {line}" for line in why.lines)
        raise Refused(first, why.code, more) from None
    return OK
