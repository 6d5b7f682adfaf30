# SPDX-License-Identifier: BSD-3-Clause
"""python -m reports advise SIGNATURE... --m M --n N --k K --devices G --op OP --type TYPE [--format
table|json|machine]"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, List, NoReturn, Sequence, Tuple

from reports.advice.library import Adviser, NoData, LibraryMissing
from reports.advice.comparison import MachineAnswer, compare, labels
from reports.advice.early_text import complete
from reports.advice.inputs import need
from reports.advice.lines import Machine, device_of, why_missing
from reports.advice.machine import machine_of
from reports.advice.measured import half_interval, prefer_measured
from reports.advice.table import comparison_table, table
from reports.advice.uncertainty import uncertainty
from reports.records.causes import completed
from reports.judge.compare.gpusig import failed_of
from reports.judge.compare.numbers import wrong_results
from reports.records.jsonl import Json, BadRecord, clean, is_number, is_version, read_object, whole_in
from reports.signature.machine import name_of
from reports.records.quantity import percent
from reports.signature.signature_file import MALFORMED, READS

OK, BAD, USAGE, CANNOT = 0, 1, 2, 77
SCHEMA, VERSION = "gpusig.advice", "1.3.0"
SCORED = "overlap/ficco"
FORMATS = ("table", "json", "machine")


_USAGE = "./gpusig advise SIGNATURE... --m M --n N --k K --devices G --op OP --type TYPE"


class AdviseError(ValueError):
    """A question that cannot be answered, and the exit code; `more` has further lines, of further
    signatures."""

    def __init__(self, text: str, code: int = USAGE, more: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.code, self.lines = code, [text, *more]


class NoAnswer(AdviseError):
    """A signature lacks what the question needs; others may have it."""

    def __init__(self, text: str, more: Sequence[str] = ()) -> None:
        super().__init__(text, CANNOT, more)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise AdviseError(message + "; see ./gpusig help advise")


def _count(text: str) -> int:
    number = whole_in(text)
    if number is None or not 0 < number < 1 << 32:
        raise argparse.ArgumentTypeError("'%s' is not a whole number from 1 to 2^32 - 1" % text[:40])
    return number


def parse(arguments: List[str]) -> argparse.Namespace:
    parser = _Parser(prog="gpusig advise", add_help=False, allow_abbrev=False)
    parser.add_argument("signatures", nargs="*")
    parser.add_argument("--cwd", type=Path, default=Path.cwd())
    for side in ("m", "n", "k", "devices"):
        parser.add_argument("--" + side, type=_count)
    parser.add_argument("--op")
    parser.add_argument("--type", dest="kind")
    parser.add_argument("--format", default="table")
    given = parser.parse_intermixed_args(arguments)
    if not given.signatures:
        raise AdviseError("needs a signature: " + _USAGE)
    if "" in given.signatures:
        raise AdviseError("an empty name is no signature")
    if given.format not in FORMATS:
        raise AdviseError("unknown format '%s'; formats: %s" % (given.format[:40], " ".join(FORMATS)))
    absent = [
        name
        for name, key in (
            ("--m", "m"),
            ("--n", "n"),
            ("--k", "k"),
            ("--devices", "devices"),
            ("--op", "op"),
            ("--type", "kind"),
        )
        if getattr(given, key) is None
    ]
    if absent and given.format != "machine":
        raise AdviseError("needs %s: %s" % (" ".join(absent), _USAGE))
    if given.format == "machine" and len(given.signatures) > 1:
        raise AdviseError("--format machine takes one signature, not %d" % len(given.signatures))
    return given


# ------------------------------------------------------------------ the signature


@contextlib.contextmanager
def _trusting(path: Path) -> Iterator[None]:
    """What fails because the signature is malformed is an AdviseError that says so."""
    try:
        yield
    except AdviseError:
        raise
    except MALFORMED as why:
        raise AdviseError("%s: malformed: %s %s" % (path, type(why).__name__, str(why)[:80]), BAD) from None


def read_signature(path: Path) -> Json:
    """`path` is a file, or the folder of a run."""
    path = path / "signature.json" if path.is_dir() else path
    try:
        signature = read_object(path)
    except OSError as why:
        raise AdviseError("%s: %s" % (path, why.strerror)) from None
    except BadRecord as why:
        raise AdviseError("%s: %s" % (path, why), BAD) from None
    if signature.get("schema") != "gpusig.signature":
        raise AdviseError("%s: not a signature of ./gpusig run" % path, BAD)
    if not is_version(signature.get("version"), READS):
        raise AdviseError(
            "%s: a signature of version %s; this program reads %d.x"
            % (path, str(signature.get("version"))[:20], READS),
            BAD,
        )
    return completed(signature)


def _score(signature: Json) -> Json:
    """The score of earlier advice on this machine, by overlap/ficco."""
    program = signature["programs"].get(SCORED)
    return program["results"].get("advice", {}) if program else {}


def _machine(signature: Json) -> Machine:
    machine = machine_of(signature)
    error, unsure = _score(signature).get("median_error"), uncertainty(signature)
    if is_number(error) or unsure.graded:
        machine.add("error", (float(error) if is_number(error) else 0.0) + unsure.share)
    if unsure.graded:
        machine.notes.append(unsure.note)
    machine.notes += filter(None, [_wrong_results(signature)])
    return machine


def _wrong_results(signature: Json) -> str:
    return wrong_results("the signature", failed_of(signature))


def _lacking(signature: Json, kind: str, why: NoData) -> str:
    """What is missing, and the reason that the signature gives; how to measure it only where it can be
    measured."""
    if "GEMM" not in str(why):
        return (
            "the signature lacks measurements: %s%s; measure copies with ./gpusig run --only micro/copy_path"
            % (why, why_missing(signature, "micro/copy_path"))
        )
    supported = device_of(signature).get("gemm_types")
    if isinstance(supported, list) and kind not in supported:
        return "%s has no GEMM of %s, so there is nothing to advise; its types: %s" % (
            signature["device"],
            kind,
            " ".join(str(t) for t in supported) or "none",
        )
    return "the signature lacks measurements: %s%s; run gemm/efficiency --type %s" % (
        why,
        why_missing(signature, "gemm/efficiency", "type=" + kind),
        kind,
    )


def _score_text(signature: Json) -> str:
    score = _score(signature)
    if score.get("hit_rate") is not None:
        low, high = score["hit_rate_ci"]
        return "named a fastest schedule in %d of %d unseen cases of %s (%s; 95 %%: %s to %s)" % (
            score["hits"],
            score["scenarios"],
            SCORED,
            percent(score["hit_rate"]),
            percent(low),
            percent(high),
        )
    reason = score.get("reason")
    return "none, so nobody knows how often this advice is right here: " + (
        reason if reason else "%s has no value%s" % (SCORED, why_missing(signature, SCORED))
    )


def _error_text(signature: Json, advice: Json) -> str:
    if advice["pick"]["measured_s"] is not None:
        return "%s, half of the interval of the measured time; of predictions %s" % (
            percent(half_interval(advice["pick"])),
            percent(advice["expected_error"]),
        )
    if is_number(_score(signature).get("median_error")):
        unsure = uncertainty(signature)
        added = ", %s of it for noisy or contended values" % percent(unsure.share) if unsure.graded else ""
        return "%s%s: half of the earlier predictions for %s were closer" % (
            percent(advice["expected_error"]),
            added,
            SCORED,
        )
    return (
        "at least %s: half of the measured GEMMs are predicted from the others to that; schedules were not "
        "compared" % (percent(advice["expected_error"]))
    )


# ------------------------------------------------------------------ the answer


def _ask(signature: Json, machine: Machine, kind: str, path: Path, question: Callable[[Adviser], Any]) -> Any:
    try:
        adviser = Adviser(machine)
    except LibraryMissing as why:
        raise AdviseError("no advice: %s; build it with make" % why, CANNOT) from None
    except ValueError as why:
        raise AdviseError("%s: malformed: %s" % (path, why), BAD) from None
    try:
        return question(adviser)
    except NoData as why:
        raise NoAnswer(_lacking(signature, kind, why)) from None
    except ValueError as why:
        raise AdviseError(str(why)) from None


def gemm_alone(
    signature: Json, sides: Tuple[int, int, int], kind: str, path: Path
) -> Tuple[float, bool, float]:
    """Seconds of one GEMM without communication, whether its shape is outside those measured, and the
    expected error. Raises as answer()."""

    def question(adviser: Adviser) -> Tuple[float, bool, float]:
        return (*adviser.gemm(*sides, kind), adviser.gemm_error(kind))

    seconds, extrapolated, error = _ask(signature, machine_of(signature), kind, path, question)
    return seconds, extrapolated, error + uncertainty(signature).share


def answer(signature: Json, given: Any, path: Path) -> Json:
    machine = _machine(signature)
    advice = _ask(
        signature,
        machine,
        given.kind,
        path,
        lambda adviser: adviser.ask(given.m, given.n, given.k, given.devices, given.op, given.kind),
    )
    question = {
        "m": given.m,
        "n": given.n,
        "k": given.k,
        "devices": given.devices,
        "op": given.op,
        "type": given.kind,
    }
    prefer_measured(signature, advice, question)
    notes = machine.notes + [
        note for link, kind, note in machine.pair_notes if (link, kind) == (advice["link"], given.kind)
    ]
    notes += complete(signature, advice, question)
    advice["needs"] = [need(signature, name, advice["link"], given.kind, path) for name in advice["needs"]]
    if advice["extrapolated"]:
        notes.append("the shapes or sizes of the pick are outside those measured: extrapolated")
    if signature.get("simulated"):
        notes.append("simulated: the signature is of a model in virtual time")
    head = {
        "schema": SCHEMA,
        "version": VERSION,
        "device": signature["device"],
        "question": question,
        "notes": notes,
        "score": _score_text(signature),
        "expected_error_text": _error_text(signature, advice),
    }
    return dict(head, **advice)


def _machine_answer(given: argparse.Namespace, name: str) -> MachineAnswer:
    """The answer of one of several signatures."""
    path = given.cwd / name
    with _trusting(path):
        signature = read_signature(path)
        device, simulated = name_of(signature), bool(signature.get("simulated"))
        try:
            advice = answer(signature, given, path)
        except NoAnswer as why:
            return MachineAnswer(name, device, simulated, None, str(why))
        times = [advice["gemm_s"], advice["comm_s"], *(c["predicted_s"] for c in advice["candidates"])]
        if (
            not all(0 < seconds < math.inf for seconds in times)
            or not 0 <= advice["expected_error"] < math.inf
        ):
            raise ValueError("a predicted time or an expected error out of range")
        return MachineAnswer(
            name, device, simulated, advice, scored=is_number(_score(signature).get("median_error"))
        )


def _several(given: argparse.Namespace) -> str:
    machines = [_machine_answer(given, name) for name in given.signatures]
    if not any(machine.advice for machine in machines):
        raise NoAnswer(*_reasons(machines))
    comparison = compare(machines)
    return comparison_table(comparison) if given.format == "table" else _json(comparison)


def _reasons(machines: Sequence[MachineAnswer]) -> Any:
    """Why no machine has an answer: the first line, and the others."""
    lines = ["%s: %s" % (label, m.reason) for label, m in zip(labels([m.path for m in machines]), machines)]
    return lines[0], lines[1:]


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _text(given: argparse.Namespace) -> str:
    if len(given.signatures) > 1:
        return _several(given)
    path = given.cwd / given.signatures[0]
    with _trusting(path):
        signature = read_signature(path)
        if given.format == "machine":
            if _wrong_results(signature):  # what it writes has no place for notes
                print("gpusig: advise: %s" % _wrong_results(signature), file=sys.stderr)
            return _machine(signature).text
        advice = answer(signature, given, path)
        return table(advice) if given.format == "table" else _json(advice)


def main(arguments: List[str], check_only: bool = False) -> int:
    """With `check_only` the options are checked, and nothing is read."""
    try:
        given = parse(arguments)
        text = "" if check_only else _text(given)
    except AdviseError as why:
        for line in why.lines:
            print("gpusig: advise: %s" % clean(line), file=sys.stderr)
        return why.code
    print(text, end="")
    return OK
