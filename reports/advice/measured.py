# SPDX-License-Identifier: BSD-3-Clause
"""Measured advice: if overlap/ficco measured the very question in the same run, its times are the answer. The
fastest measured schedule is the pick, and the predictions are told with it."""

from __future__ import annotations

import math
from typing import Any

from reports.records.jsonl import Json, is_number

PROGRAM = "overlap/ficco"


def off(advice: Json, c: Json) -> float:
    """By how much a prediction may differ from the time of the first candidate though it is as fast: as in
    advise/advise_needs.c, or by its own error from one that was measured."""
    first = advice["candidates"][0]
    error = first["error"] if first["measured_s"] is None else 0.0
    return (1 + advice["expected_error"]) * (1 + math.hypot(error, c["error"])) - 1


def time_of(c: Json) -> float:
    return c["predicted_s"] if c["measured_s"] is None else c["measured_s"]


def half_interval(pick: Json) -> float:
    """The larger half of the interval of a measured time, relative."""
    low, high = pick["measured_ci_s"]
    return max(high / pick["measured_s"], pick["measured_s"] / low) - 1


def _times(signature: Json, question: Json) -> dict[tuple[str, str], list[float]]:
    """(schedule, copy method) -> seconds and their interval. Empty unless two schedules can be compared."""
    section = signature["programs"].get(PROGRAM)
    rows: list[Json] = section["results"].get("schedules", []) if section else []
    found = {
        (name, row["copy_method"]): times
        for row in rows
        if all(row[key] == value for key, value in question.items())
        for name, times in row["times_s"].items()
        if all(is_number(x) and x > 0 for x in times)
    }
    return found if len({schedule for schedule, _ in found}) > 1 else {}


def _is_tie(advice: Json, c: Json) -> bool:
    pick = advice["candidates"][0]
    if c["measured_s"] is None:
        return c["predicted_s"] <= pick["measured_s"] * (1 + off(advice, c))
    return c["measured_ci_s"][0] <= pick["measured_ci_s"][1]


def _compare_early(early: Json, pick: Json, expected_error: float) -> None:
    """The fastest way to send C early is predicted, and the pick measured."""
    way = next((way for way in early["ways"] if way["way"] == early["best"]), None)
    if way is None or not is_number(way["error"]):
        return
    ratio, error = pick["measured_s"] / way["predicted_s"], (1 + way["error"]) * (1 + expected_error) - 1
    beats = True if ratio > 1 + error else False if ratio < 1 / (1 + error) else None
    early.update(over_pick=ratio, over_pick_error=error, beats_pick=beats)


def prefer_measured(signature: Json, advice: Json, question: Json) -> None:
    """Adds what was measured to the candidates, and puts the measured ones first. Ties and `decided` are then
    by the intervals; of what was not measured, by its error."""
    times = _times(signature, question)
    for c in advice["candidates"]:
        found: list[Any] = times.get((c["schedule"], c["copy_method"]), [None, None, None])
        c["measured_s"], c["measured_ci_s"] = found[0], found[1:] if found[0] else None
    candidates: list[Json] = advice["candidates"]
    candidates.sort(key=lambda c: math.inf if c["measured_s"] is None else c["measured_s"])
    pick = candidates[0]
    advice["pick"].update(
        {key: pick[key] for key in ("schedule", "copy_method", "predicted_s", "measured_s", "measured_ci_s")}
    )
    if pick["measured_s"] is None:
        return
    of = sum(c["measured_s"] is not None for c in candidates), len(candidates)
    for c in candidates:
        c["tie"] = _is_tie(advice, c)
    advice.update(
        decided=not any(c["tie"] and c["schedule"] != pick["schedule"] for c in candidates),
        needs=[],
        extrapolated=False,
        # Measured schedules had no settings.
        shared_bytes=0,
        priority="normal",
        why="%s measured exactly this question in this run: %d of the %d rows below; predictions come from "
        "other curves" % (PROGRAM, *of),
    )
    if advice["early"]:
        _compare_early(advice["early"], pick, advice["expected_error"])
