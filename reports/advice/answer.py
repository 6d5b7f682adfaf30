# SPDX-License-Identifier: BSD-3-Clause
"""Advice on a question from a signature: which schedule, and what is not known."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from reports.advice.ask import (
    PROGRAM,
    SERIAL,
    Adviser,
    NoAnswer,
    Predicted,
    Sides,
    Work,
    corrected_by,
    measured_with,
)
from reports.advice.early import early
from reports.advice.measured import half_interval, prefer_measured, way_text
from reports.predict.skill import sentence
from reports.records.jsonl import Json
from reports.records.quantity import human, percent
from reports.signature.chunks import PROGRAM as CHUNKED, text_of, ways_of
from reports.signature.kept import why_missing

SCHEMA, VERSION = "gpusig.advice", "2.1.0"


class Question(NamedTuple):
    sides: Sides
    work: Work


# ------------------------------------------------------------------ what is told of an answer


def _score(adviser: Adviser) -> str:
    row = adviser.checked.get(PROGRAM)
    return (sentence(row) if row else "") or (
        "none, so it is not known how often this advice is right here: the run compared no schedules of %s "
        "with its model" % PROGRAM
    )


def _error_text(advice: Json) -> str:
    expected = percent(advice["expected_error"])
    if advice["pick"]["measured_s"] is not None:
        return "%s, half of the interval of the measured time; of predictions %s" % (
            percent(half_interval(advice["pick"])),
            expected,
        )
    if advice["scored"]:
        return "%s: half of the times of %s that the run measured are within that of its model" % (
            expected,
            PROGRAM,
        )
    return (
        "at least %s, by the errors of the fitted keys: no schedules were measured to compare with" % expected
    )


def _why(predicted: Predicted, schedule: str) -> str:
    """The bounds, and how far the pick is from them."""
    serial_s = min((s for way, s in predicted.times.items() if way.schedule == SERIAL), default=None)
    ideal_s = max(predicted.gemm_s, predicted.comm_s)
    parts = "GEMM alone %s, exchange alone %s" % tuple(
        human(seconds, "s") for seconds in (predicted.gemm_s, predicted.comm_s)
    )
    others = [(s, way) for way, s in predicted.times.items() if way.schedule != SERIAL]
    if serial_s is None or not others:
        return parts
    if schedule == SERIAL:
        best_s, best = min(others)
        more = percent(best_s / serial_s - 1)
        told = "%s; smaller parts cost more than they hide: %s takes %s longer than serial"
        return told % (parts, way_text(best._asdict()), more)
    pick_s = min(s for way, s in predicted.times.items() if way.schedule == schedule)
    return "%s; %s less than serial, of at most %s if the shorter were hidden whole" % (
        parts,
        percent(1 - pick_s / serial_s),
        percent(max(0.0, 1 - ideal_s / serial_s)),
    )


def _chunks(signature: Json) -> list[Json]:
    """Advice on each direction that micro/copy_chunks measured."""
    names = ("direction", "small_byte", "bulk_byte")
    return [
        {**{name: way[name] for name in names}, **way["advice"], "text": text_of(way, way["advice"])}
        for way in ways_of(signature)
    ]


def _simulated(signature: Json) -> list[str]:
    return ["simulated: the signature is of a model in virtual time"] if signature.get("simulated") else []


def measured_chunks(signature: Json) -> tuple[list[Json], list[str]]:
    """The same, and notes; NoAnswer where nothing was measured."""
    found = _chunks(signature)
    if not found:
        raise NoAnswer(
            "the signature lacks measurements: no copies in chunks were measured%s; measure them with "
            "./gpusig run --only %s" % (why_missing(signature, CHUNKED), CHUNKED)
        )
    return found, _simulated(signature)


# ------------------------------------------------------------------ the answer


def _candidates(predicted: Predicted) -> list[Json]:
    """The fastest first."""
    rows = sorted(predicted.times.items(), key=lambda one: one[1])
    return [{**way._asdict(), "predicted_s": seconds} for way, seconds in rows]


def answers(adviser: Adviser, shapes: Sequence[Sides], work: Work) -> dict[Sides, Json]:
    """Advice on several shapes from one simulation, without chunks, early sends and notes."""
    found = {}
    for sides, predicted in adviser.predict(shapes, work).items():
        candidates = _candidates(predicted)
        question = {**dict(zip("mnk", sides)), **work._asdict()}
        advice = {
            "schema": SCHEMA,
            "version": VERSION,
            "device": adviser.signature["device"],
            "question": question,
            "candidates": candidates,
            "gemm_s": predicted.gemm_s,
            "comm_s": predicted.comm_s,
            "expected_error": adviser.expected_error(),
            "ratio_error": adviser.ratio_error(),
            "scored": PROGRAM in adviser.checked,
            "needs": [need._asdict() for need in predicted.needs],
            "score": _score(adviser),
            "why": _why(predicted, candidates[0]["schedule"]),
        }
        prefer_measured(adviser.signature, advice)
        near = [c for c in candidates if c["tie"] and c["schedule"] != advice["pick"]["schedule"]]
        advice["decided"] = not near and not advice["needs"]
        advice["expected_error_text"] = _error_text(advice)
        found[sides] = advice
    return found


def answer(adviser: Adviser, question: Question, notes: Sequence[str]) -> Json:
    advice = answers(adviser, [question.sides], question.work)[question.sides]
    more = measured_with(adviser, question.work.devices), corrected_by(adviser, question.work.op)
    advice["notes"] = [*notes, *filter(None, more), *_simulated(adviser.signature)]
    advice["early"] = early(adviser, question.sides, question.work)
    advice["chunks"] = _chunks(adviser.signature)
    return advice
