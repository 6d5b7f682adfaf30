# SPDX-License-Identifier: BSD-3-Clause
"""The machine that is predicted to be the fastest for one question, and whether the predictions are good
enough to say so.

Half of the predictions for a machine are off by more than its expected error. So a machine counts as
slower than the fastest only if its time is longer by more than both expected errors together: ratio > (1 +
e_fastest) (1 + e_other). docs/method/advice.md says how often that can be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Sequence

from reports.advice.measured import half_interval, time_of
from reports.records.jsonl import Json, clean
from reports.records.quantity import listing, percent, ratio_text

SCHEMA, VERSION = "gpusig.advice_comparison", "2.1.0"
FASTEST, SLOWER, EQUAL, NO_ANSWER = "fastest", "slower", "no difference", "no answer"
_FILE = "signature.json"
_LEAST_ERROR = 0.01  # of a measured time, as ties of overlap/ficco
_NUMBERS = "predicted_s measured_s gemm_s comm_s serial_s ratio".split()
_NUMBERS += ("expected_error", "expected_error_scored", "combined_error")


@dataclass(frozen=True)
class MachineAnswer:
    """The answer of one signature: advice, or the reason why there is none."""

    path: str  # as the user named it
    name: str  # of the device
    simulated: bool
    advice: Json | None
    reason: str | None = None
    scored: bool = False  # whether the expected error is that of measured schedules; else it is a lower limit


def labels(paths: Sequence[str]) -> list[str]:
    """Short names: the last parts of each path, as many as tell them apart, without "/signature.json". What
    was named twice is numbered."""
    places = [PurePath(clean(path)) for path in paths]
    places = [place.parent if place.name == _FILE and len(place.parts) > 1 else place for place in places]
    for depth in range(1, 2 + max(len(place.parts) for place in places)):
        names = [str(PurePath(*place.parts[-depth:])) for place in places]
        if len(set(names)) == len(set(places)):
            break
    count: dict[str, int] = {}
    found = []
    for name in names:
        count[name] = count.get(name, 0) + 1
        found.append("%s (%d)" % (name, count[name]) if names.count(name) > 1 else name)
    return found


def _serial_s(advice: Json) -> float:
    return min(time_of(c) for c in advice["candidates"] if c["schedule"] == "serial")


def _row(machine: MachineAnswer, label: str) -> Json:
    row = {
        "label": label,
        "signature": clean(machine.path),
        "name": machine.name,
        "simulated": machine.simulated,
        "verdict": NO_ANSWER,
        "reason": machine.reason,
        **dict.fromkeys(_NUMBERS),
    }
    advice = machine.advice
    if advice:
        row.update(
            predicted_s=advice["pick"]["predicted_s"],
            gemm_s=advice["gemm_s"],
            comm_s=advice["comm_s"],
            serial_s=_serial_s(advice),
            expected_error=advice["expected_error"],
            expected_error_scored=machine.scored,
        )
        if advice["pick"]["measured_s"] is not None:
            row.update(
                measured_s=advice["pick"]["measured_s"],
                expected_error=max(_LEAST_ERROR, half_interval(advice["pick"])),
                expected_error_scored=True,
            )
    return row


def _judge(row: Json, fastest: Json) -> None:
    row["ratio"] = time_of(row) / time_of(fastest)
    if row is fastest:
        row["verdict"] = FASTEST
        return
    allowed = (1 + fastest["expected_error"]) * (1 + row["expected_error"])
    row["combined_error"] = allowed - 1
    row["verdict"] = SLOWER if row["ratio"] > allowed else EQUAL


def _at_least(*rows: Json) -> str:
    return "" if all(row["expected_error_scored"] for row in rows) else "at least "


def error_text(row: Json) -> str:
    return _at_least(row) + percent(row["expected_error"])


def _sentence(row: Json, fastest: Json) -> str:
    ratio, errors = ratio_text(row["ratio"]), "%s and %s" % (error_text(fastest), error_text(row))
    at_least = _at_least(fastest, row)
    measured = row["measured_s"] is not None and fastest["measured_s"] is not None
    verb = "was measured" if measured else "is predicted"
    if row["verdict"] == SLOWER:
        least = at_least + ratio_text(1 + row["combined_error"])
        faster = "%s %s to be %s times as fast as %s." % (fastest["label"], verb, ratio, row["label"])
        explained = "This is more than the expected errors (%s) explain together: %s times." % (errors, least)
        return "%s %s" % (faster, explained)
    times = "their %s times are equal" % verb.split()[1]
    if row["ratio"] > 1:
        times = "%s %s to take %s times as long" % (row["label"], verb, ratio)
    return (
        "No difference between %s and %s beyond the expected error (%s%s): %s. The expected errors are %s."
        % (fastest["label"], row["label"], at_least, percent(row["combined_error"]), times, errors)
    )


def _labels(rows: Sequence[Json]) -> str:
    return listing([row["label"] for row in rows], len(rows))


def _notes(rows: list[Json]) -> list[str]:
    models, machines = ([row for row in rows if row["simulated"] is simulated] for simulated in (True, False))
    notes = []
    if models and machines:
        notes.append(
            "a model is compared with a machine (simulated: %s; measured: %s). Times of a model say nothing "
            "about hardware, so this comparison cannot tell which machine is faster"
            % (_labels(models), _labels(machines))
        )
    return notes


def compare(machines: Sequence[MachineAnswer]) -> Json:
    """The answers, the fastest first, and how they compare. The rows are in the same order; those without an
    answer come last. At least one machine has an answer."""
    pairs = [(_row(*pair), pair[0]) for pair in zip(machines, labels([m.path for m in machines]))]
    pairs.sort(key=lambda pair: (pair[0]["predicted_s"] is None, time_of(pair[0]) or 0.0))
    rows = [row for row, _ in pairs]
    answers = [machine.advice for _, machine in pairs if machine.advice]
    known = rows[: len(answers)]
    for row in known:
        _judge(row, known[0])
    sentences = [_sentence(row, known[0]) for row in known[1:]]
    if not sentences:
        sentences = ["Only %s has an answer, so there is nothing to compare it with." % known[0]["label"]]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "question": answers[0]["question"],
        "answers": answers,
        "comparison": {"machines": rows, "sentences": sentences, "notes": _notes(known)},
    }
