# SPDX-License-Identifier: BSD-3-Clause
"""python -m reports advise SIGNATURE --m M --n N --k K --devices G --op OP --type TYPE [--format table|json|machine]"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, List, NoReturn, Optional, Tuple

from reports.advise import Adviser, NoData, LibraryMissing
from reports.advise_lines import Machine
from reports.advise_machine import machine_of
from reports.jsonl import Json, BadRecord, parse_line
from reports.quantity import human, size

OK, BAD, USAGE, CANNOT = 0, 1, 2, 77
SCHEMA, VERSION = "gpusig.advice", "1.0.0"
FORMATS = ("table", "json", "machine")
_MAX_BYTES = 256 << 20


class AdviseError(ValueError):
    """A question that cannot be answered, and the exit code."""

    def __init__(self, text: str, code: int = USAGE) -> None:
        super().__init__(text)
        self.code = code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise AdviseError(message + "; see ./gpusig help")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 32:
        raise argparse.ArgumentTypeError("'%s' is not a whole number from 1 to 2^32 - 1" % text[:40])
    return int(text)


def parse(arguments: List[str]) -> argparse.Namespace:
    parser = _Parser(prog="gpusig advise", add_help=False, allow_abbrev=False)
    parser.add_argument("signature", type=Path)
    for side in ("m", "n", "k", "devices"):
        parser.add_argument("--" + side, type=_count)
    parser.add_argument("--op")
    parser.add_argument("--type", dest="kind")
    parser.add_argument("--format", default="table")
    given = parser.parse_args(arguments)
    if given.format not in FORMATS:
        raise AdviseError("unknown format '%s'; formats: %s" % (given.format[:40], " ".join(FORMATS)))
    absent = [name for name, key in (("--m", "m"), ("--n", "n"), ("--k", "k"), ("--devices", "devices"), ("--op", "op"),
                                     ("--type", "kind")) if getattr(given, key) is None]
    if absent and given.format != "machine":
        raise AdviseError("advise needs %s: ./gpusig advise SIGNATURE --m M --n N --k K --devices G --op OP --type TYPE" %
                      " ".join(absent))
    return given


# ------------------------------------------------------------------ the signature


def read_signature(path: Path) -> Json:
    """`path` is a file, or the folder of a run."""
    path = path / "signature.json" if path.is_dir() else path
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise AdviseError("%s: too large for a signature" % path)
        signature = parse_line(path.read_bytes())
    except OSError as why:
        raise AdviseError("%s: %s" % (path, why.strerror)) from None
    except BadRecord as why:
        raise AdviseError("%s: %s" % (path, why), BAD) from None
    if signature.get("schema") != "gpusig.signature":
        raise AdviseError("%s: not a signature of ./gpusig run" % path, BAD)
    if not str(signature.get("version", "")).startswith("1."):
        raise AdviseError("%s: a signature of version %s; this program reads 1" % (path, str(signature.get("version"))[:20]), BAD)
    return signature


def _machine(signature: Json, path: Path) -> Machine:
    try:
        return machine_of(signature)
    except (KeyError, TypeError, AttributeError, ValueError) as why:
        raise AdviseError("%s: malformed: %s %s" % (path, type(why).__name__, str(why)[:80]), BAD) from None


def _lacking(signature: Json, kind: str, why: NoData) -> str:
    """The program that measures the missing curve, and why it may be missing."""
    program = "gemm/efficiency" if "GEMM" in str(why) else "micro/copy_path"
    flagged = sum(entry.get("program") == program for entry in signature.get("invalid", []))
    text = "the signature lacks measurements: %s; run %s" % (why, program)
    text += " --type %s" % kind if program == "gemm/efficiency" else ""
    return text + (" again, %d of its values were flagged invalid" % flagged if flagged else "")


# ------------------------------------------------------------------ the answer


def answer(signature: Json, given: Any, path: Path) -> Json:
    machine = _machine(signature, path)
    try:
        adviser = Adviser(machine)
    except LibraryMissing as why:
        raise AdviseError("no advice: %s; build it with make" % why, CANNOT) from None
    except ValueError as why:
        raise AdviseError("%s: malformed: %s" % (path, why), BAD) from None
    try:
        advice = adviser.ask(given.m, given.n, given.k, given.devices, given.op, given.kind)
    except NoData as why:
        raise AdviseError(_lacking(signature, given.kind, why), CANNOT) from None
    except ValueError as why:
        raise AdviseError(str(why)) from None
    question = {"m": given.m, "n": given.n, "k": given.k, "devices": given.devices, "op": given.op, "type": given.kind}
    notes = list(machine.notes)
    if advice["extrapolated"]:
        notes.append("the shapes or sizes of the pick are outside those measured: extrapolated")
    if signature.get("simulated"):
        notes.append("simulated: the signature is of a model in virtual time")
    head = {"schema": SCHEMA, "version": VERSION, "device": signature["device"], "question": question, "notes": notes}
    return dict(head, **advice)


def _rows(advice: Json) -> List[Tuple[str, ...]]:
    rows = [("schedule", "copy method", "predicted", "GEMMs", "transfers", "")]
    for c in advice["candidates"]:
        rows.append((c["schedule"], c["copy_method"], human(c["predicted_s"], "s"), human(c["gemm_s"], "s"),
                     human(c["comm_s"], "s"), "extrapolated" if c["extrapolated"] else ""))
    return rows


_PRIORITIES = {"high": "high for the transfers", "normal": "as it is", None: "not measured"}


def _shared(shared: Optional[int]) -> str:
    if shared is None:
        return "not measured"
    return "%s a block of the GEMM" % size(shared) if shared else "as it is"


def table(advice: Json) -> str:
    q, pick, best = advice["question"], advice["pick"], advice["allreduce"]
    summed = "not measured for this number of devices"
    if best:
        summed = "%s for %s: %s" % (best["algorithm"], size(advice["message_bytes"]), human(best["predicted_s"], "s"))
    facts = [("schedule", pick["schedule"]), ("copy method", pick["copy_method"]), ("predicted", human(pick["predicted_s"], "s")),
             ("shared memory", _shared(advice["shared_bytes"])), ("priority", _PRIORITIES[advice["priority"]]),
             ("allreduce", summed), ("why", advice["why"])]
    lines = ["%s of %d×%d×%d %s among %d devices, as measured on %s" % (
        q["op"], q["m"], q["n"], q["k"], q["type"], q["devices"], advice["device"]), ""]
    lines += ["%-16s  %s" % fact for fact in facts] + [""]
    rows = _rows(advice)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join(lines + [""] * bool(advice["notes"]) + ["note: " + note for note in advice["notes"]]) + "\n"


def main(arguments: List[str]) -> int:
    try:
        given = parse(arguments)
        signature = read_signature(given.signature)
        if given.format == "machine":
            print(_machine(signature, given.signature).text, end="")
            return OK
        advice = answer(signature, given, given.signature)
    except AdviseError as why:
        print("gpusig: advise: %s" % why, file=sys.stderr)
        return why.code
    print(json.dumps(advice, ensure_ascii=False, allow_nan=False, indent=1) if given.format == "json" else table(advice),
          end="" if given.format == "table" else "\n")
    return OK
