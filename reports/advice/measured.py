# SPDX-License-Identifier: BSD-3-Clause
"""Measured advice: if overlap/ficco measured the very question in the same run, its times are the answer. The
fastest measured schedule is the pick, and the predictions are told with it."""

from __future__ import annotations

import math
from typing import Any

from reports.advice.ask import COLUMNS, PROGRAM, ROWS, WARM, Way
from reports.records.jsonl import Json, is_number


def off(advice: Json) -> float:
    """By how much the predicted time of a candidate may exceed that of the pick though it is as fast: of two
    predictions by the error of their ratio."""
    return advice["ratio_error" if advice["pick"]["measured_s"] is None else "expected_error"]


def time_of(c: Json) -> float:
    return c["predicted_s"] if c["measured_s"] is None else c["measured_s"]


def way_text(c: Json) -> str:
    cut = " of columns" if c["cut"] == COLUMNS else ""
    return "%s%s by %s" % (c["schedule"], cut, c["copy_method"])


def half_interval(pick: Json) -> float:
    """The larger half of the interval of a measured time, relative."""
    low, high = pick["measured_ci_s"]
    return max(high / pick["measured_s"], pick["measured_s"] / low) - 1


def _times(signature: Json, question: Json) -> dict[Way, list[float]]:
    """Way -> seconds and their interval. Empty unless two schedules can be compared."""
    section = signature["programs"].get(PROGRAM)
    rows: list[Json] = section["results"].get("schedules", []) if section else []
    found = {
        Way(name, row["copy_method"], row.get("cut", ROWS)): times
        for row in rows
        if all({"operands": WARM, **row}[key] == value for key, value in question.items())
        for name, times in row["times_s"].items()
        if all(is_number(x) and x > 0 for x in times)
    }
    return found if len({way.schedule for way in found}) > 1 else {}


def _is_tie(advice: Json, c: Json) -> bool:
    pick = advice["candidates"][0]
    if c["measured_s"] is not None:
        return c["measured_ci_s"][0] <= pick["measured_ci_s"][1]
    return c["predicted_s"] <= time_of(pick) * (1 + off(advice))


def prefer_measured(signature: Json, advice: Json) -> None:
    """Adds what was measured to the candidates, and puts the measured ones first. Ties are then by the
    intervals; of what was not measured, by its error."""
    times = _times(signature, advice["question"])
    candidates: list[Json] = advice["candidates"]
    for c in candidates:
        found: list[Any] = times.get(Way(c["schedule"], c["copy_method"], c["cut"]), [None, None, None])
        c["measured_s"], c["measured_ci_s"] = found[0], found[1:] if found[0] else None
    candidates.sort(key=lambda c: math.inf if c["measured_s"] is None else c["measured_s"])
    names = ("schedule", "copy_method", "cut", "predicted_s", "measured_s", "measured_ci_s")
    advice["pick"] = {name: candidates[0][name] for name in names}
    for c in candidates:
        c["tie"] = c is not candidates[0] and _is_tie(advice, c)
    if times:
        of = sum(c["measured_s"] is not None for c in candidates), len(candidates)
        advice["needs"] = []
        advice["why"] = "%s measured exactly this question in this run: %d of the %d rows below" % (
            PROGRAM,
            *of,
        )
