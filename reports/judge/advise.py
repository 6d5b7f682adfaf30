# SPDX-License-Identifier: BSD-3-Clause
"""Advice on a question from a signature: which schedule, and what is not known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Callable, ContextManager, List, Sequence, Tuple

from reports.advice.library import Adviser, NoData, LibraryMissing
from reports.advice.chunks import PROGRAM as CHUNKED, text_of, ways_of
from reports.advice.comparison import MachineAnswer
from reports.advice.early_text import complete
from reports.advice.inputs import need
from reports.advice.lines import Machine, device_of, why_missing
from reports.advice.machine import machine_of
from reports.advice.measured import half_interval, prefer_measured
from reports.advice.uncertainty import uncertainty
from reports.judge.compare.gpusig import failed_of
from reports.judge.compare.numbers import wrong_results
from reports.records.jsonl import Json, BadRecord, Refused, is_number
from reports.signature import signature_file
from reports.signature.machine import name_of
from reports.records.quantity import percent

BAD, CANNOT = 1, 77
SCHEMA, VERSION = "gpusig.advice", "1.4.0"
SCORED = "overlap/ficco"


class AdviseError(Refused):
    """A question about advice that cannot be answered."""


class NoAnswer(AdviseError):
    """A signature lacks what the question needs; others may have it."""

    def __init__(self, text: str, more: Sequence[str] = ()) -> None:
        super().__init__(text, CANNOT, more)


# ------------------------------------------------------------------ the signature


def trusting(path: Path) -> ContextManager[None]:
    return signature_file.trusting(str(path), AdviseError, BAD)


def read_signature(path: Path) -> Json:
    """The signature in a file, or in the folder of a run."""
    path = path / signature_file.NAME if path.is_dir() else path
    try:
        return signature_file.read(path)
    except OSError as why:
        raise AdviseError("%s: %s" % (path, why.strerror)) from None
    except BadRecord as why:
        raise AdviseError("%s: %s" % (path, why), BAD) from None


def _score(signature: Json) -> Json:
    """The score of earlier advice on this machine, by overlap/ficco."""
    program = signature["programs"].get(SCORED)
    return program["results"].get("advice", {}) if program else {}


def lines_of(signature: Json) -> Machine:
    machine = machine_of(signature)
    error, unsure = _score(signature).get("median_error"), uncertainty(signature)
    if is_number(error) or unsure.graded:
        machine.add("error", (float(error) if is_number(error) else 0.0) + unsure.share)
    if unsure.graded:
        machine.notes.append(unsure.note)
    machine.notes += filter(None, [wrong_results_in(signature)])
    return machine


def wrong_results_in(signature: Json) -> str:
    return wrong_results("the signature", failed_of(signature))


def _lacking(signature: Json, kind: str, why: NoData) -> str:
    """Missing measurements with the reason that the signature gives, and how to make them where they can be
    made."""
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
    return "none, so it is not known how often this advice is right here: " + (
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
        "at least %s: half of the measured GEMMs are predicted from the others within that; schedules were "
        "not compared" % (percent(advice["expected_error"]))
    )


# ------------------------------------------------------------------ the answer


def _ask(signature: Json, machine: Machine, kind: str, path: Path, question: Callable[[Adviser], Any]) -> Any:
    try:
        adviser = Adviser(machine)
    except LibraryMissing as why:
        raise AdviseError("no advice: %s; build it with make" % why, CANNOT) from None
    except ValueError as why:
        raise AdviseError("%s is malformed: %s" % (path, why), BAD) from None
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


def _chunks(signature: Json, adviser: Adviser) -> List[Json]:
    """Advice on each direction that micro/copy_chunks measured."""
    return [_told(way, adviser.copy_chunk(way["direction"])) for way in ways_of(signature)]


def _told(way: Json, advice: Json) -> Json:
    place = {key: way[key] for key in ("direction", "small_byte", "bulk_byte")}
    return {**place, **advice, "text": text_of(way, advice)}


def _simulated(signature: Json) -> List[str]:
    return ["simulated: the signature is of a model in virtual time"] if signature.get("simulated") else []


def measured_chunks(signature: Json) -> Tuple[List[Json], List[str]]:
    """The same by the signature alone, and notes; raises NoAnswer where nothing was measured."""
    ways = ways_of(signature)
    if not ways:
        raise NoAnswer(
            "the signature lacks measurements: no copies in chunks were measured%s; measure them with "
            "./gpusig run --only %s" % (why_missing(signature, CHUNKED), CHUNKED)
        )
    notes = [*filter(None, [wrong_results_in(signature)]), *_simulated(signature)]
    return [_told(way, way["advice"]) for way in ways], notes


def answer(signature: Json, given: Any, path: Path) -> Json:
    machine = lines_of(signature)

    def ask(adviser: Adviser) -> Json:
        advice = adviser.ask(given.m, given.n, given.k, given.devices, given.op, given.kind)
        return dict(advice, chunks=_chunks(signature, adviser))

    advice = _ask(signature, machine, given.kind, path, ask)
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
    notes += _simulated(signature)
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


def machine_answer(given: Any, name: str) -> MachineAnswer:
    """The answer of one of several signatures."""
    path = given.cwd / name
    with trusting(path):
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
