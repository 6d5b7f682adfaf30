# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig advise: which schedule for a GEMM with its communication, on which machine?"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Callable, TypeVar

from reports.advice import grid
from reports.advice.answer import Question, answer, measured_chunks
from reports.advice.ask import (
    COLD,
    PROGRAM,
    WARM,
    Adviser,
    AdviseError,
    NoAnswer,
    Work,
    read_signature,
    trusting,
)
from reports.advice.comparison import MachineAnswer, compare, labels
from reports.advice.table import chunks_table, comparison_table, table
from reports.judge.compare.gpusig import failed_of
from reports.judge.compare.numbers import wrong_results
from reports.predict.simulation import MOST_DEVICES
from reports.records.files import as_json
from reports.records.jsonl import Json, Refused
from reports.signature.machine import name_of
from suite.command_error import OK
from suite.commands import Place, options

FORMATS = ("table", "json")
_QUESTION = ("m", "n", "k", "devices", "op", "type")
_USAGE = "./gpusig advise SIGNATURE... --m M --n N --k K --devices G --op OP --type TYPE"
_Found = TypeVar("_Found")


def parse(words: list[str]) -> argparse.Namespace:
    types = {
        "--devices": options.whole("a whole number", 2, MOST_DEVICES),
        "--format": options.one_of(*FORMATS),
        "--operands": options.one_of(WARM, COLD),
    }
    given = options.parse("advise", words, {**types, **{f"--{side}": _values for side in "mnk"}})
    given.kind = given.type
    given.of_gemm = any(getattr(given, name) is not None for name in (*_QUESTION, "operands"))
    given.operands = given.operands or WARM
    alone = "--chunks" if given.chunks else "--compile" if given.compile else ""
    if given.chunks and (given.compile or given.of_gemm):
        raise AdviseError("--chunks takes no --compile, and no option of a GEMM")
    if alone and given.format:
        raise AdviseError("%s takes no --format" % alone)
    if not given.names:
        raise AdviseError("needs a signature: " + _USAGE)
    if "" in given.names:
        raise AdviseError("an empty name is not a signature")
    if alone and len(given.names) > 1:
        raise AdviseError(f"{alone} takes one signature, not {len(given.names)}")
    absent = [f"--{name}" for name in _QUESTION if getattr(given, name) is None]
    if absent and not given.chunks:
        raise AdviseError(f"needs {' '.join(absent)}: {_USAGE}")
    if not alone and any(len(getattr(given, side)) > 1 for side in "mnk"):
        raise AdviseError("--m, --n and --k are one number each without --compile")
    if not alone and "," in given.op + given.kind:
        raise AdviseError("--op and --type are one each without --compile")
    if given.compile:
        grid.check(grid.Grid(given.m, given.n, given.k))
    return given


def _values(text: str) -> tuple[int, ...]:
    try:
        return grid.values_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text[:40]}' is not a whole number from 1 to 2^24, several as 1024,4096, or a range as "
            "256:16384"
        ) from None


# ------------------------------------------------------------------ one signature


def _wrong(signature: Json) -> list[str]:
    return list(filter(None, [wrong_results("the signature", failed_of(signature))]))


def _with_adviser(place: Place, name: str, ask: Callable[[Adviser], _Found]) -> _Found:
    """`ask` of the adviser on a signature, whose model lies in a folder meanwhile."""
    path = place.cwd / name
    with trusting(path), tempfile.TemporaryDirectory(prefix="gpusig-advise-") as folder:
        return ask(Adviser(read_signature(path), path, place.programs(), Path(folder)))


def _question(given: argparse.Namespace) -> Question:
    work = Work(given.op, given.kind, given.devices, given.operands)
    return Question((given.m[0], given.n[0], given.k[0]), work)


def _answer(given: argparse.Namespace, place: Place, name: str) -> Json:
    return _with_adviser(place, name, lambda a: answer(a, _question(given), _wrong(a.signature)))


def _compiled(given: argparse.Namespace, place: Place) -> str:
    ops, kinds = (dict.fromkeys(text.split(",")) for text in (given.op, given.kind))
    works = [Work(op, kind, given.devices, given.operands) for op in ops for kind in kinds]

    def ask(adviser: Adviser) -> str:
        asked = grid.Grid(given.m, given.n, given.k)
        return grid.table(adviser, asked, works, given.line, _wrong(adviser.signature))

    return _with_adviser(place, given.names[0], ask)


def _chunks(given: argparse.Namespace, place: Place) -> str:
    path = place.cwd / given.names[0]
    with trusting(path):
        signature = read_signature(path)
        found, notes = measured_chunks(signature)
        return chunks_table(str(signature["device"]), found, [*_wrong(signature), *notes])


# ------------------------------------------------------------------ several


def _machine(given: argparse.Namespace, place: Place, name: str) -> MachineAnswer:
    def ask(adviser: Adviser) -> MachineAnswer:
        machine = name_of(adviser.signature), bool(adviser.signature.get("simulated"))
        advice = answer(adviser, _question(given), _wrong(adviser.signature))
        return MachineAnswer(name, *machine, advice, scored=PROGRAM in adviser.checked)

    try:
        return _with_adviser(place, name, ask)
    except NoAnswer as why:
        signature = read_signature(place.cwd / name)
        return MachineAnswer(name, name_of(signature), bool(signature.get("simulated")), None, str(why))


def _several(given: argparse.Namespace, place: Place) -> Json:
    machines = [_machine(given, place, name) for name in given.names]
    if not any(machine.advice for machine in machines):
        reasons = [f"{label}: {m.reason}" for label, m in zip(labels([m.path for m in machines]), machines)]
        raise NoAnswer(reasons[0], reasons[1:])
    return compare(machines)


def _text(given: argparse.Namespace, place: Place) -> str:
    if given.chunks:
        return _chunks(given, place)
    if given.compile:
        return _compiled(given, place)
    several = len(given.names) > 1
    found = _several(given, place) if several else _answer(given, place, given.names[0])
    if given.format == "json":
        return as_json(found)
    return comparison_table(found) if several else table(found)


def command(words: list[str], place: Place) -> int:
    try:
        given = parse(words)
        if not place.check_only:
            print(_text(given, place), end="")
    except AdviseError as why:
        first, *more = (f"advise: {line}" for line in why.lines)
        raise Refused(first, why.code, more) from None
    return OK
