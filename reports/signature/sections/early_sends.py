# SPDX-License-Identifier: BSD-3-Clause
"""The part of overlap/trigger that advice reads: the gain of each way to send C early, over how much there is
to hide."""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Tuple

from reports.advice.early import DIRECTIONS, WAYS
from reports.records.curves import valid_value, why_invalid
from reports.records.jsonl import Json
from reports.records.records import Case
from reports.signature.section import Section, SectionSpec
from reports.signature.sections.operands import is_cold

FORMULA = (
    "gain: seconds(whole_then_send) / seconds of the way, the best over the numbers of bands; "
    "send_over_gemm: seconds(send_alone) / seconds(gemm_alone) of the same case"
)


def _points(case: Case) -> List[Json]:
    """One for each way that has a valid gain; none for operands that are not warm, as for all advice."""
    send, gemm = (valid_value(case, "time", variant) or 0.0 for variant in ("send_alone", "gemm_alone"))
    if send <= 0 or gemm <= 0 or is_cold(case):
        return []
    place = {
        "type": str(case.axes.get("type", "")),
        "direction": str(case.axes.get("direction", "")),
        "copy_method": str(case.axes.get("copy-method", "")),
        "bands": case.number("bands_sent"),
        "devices": case.number("devices_that_send"),
        **{side: case.number(side) for side in "mnk"},
    }
    return [
        {
            **place,
            "way": WAYS[d.variant],
            "send_over_gemm": send / gemm,
            "gain": d.value,
            "ci_low": d.ci_low,
            "ci_high": d.ci_high,
        }
        for d in case.derived
        if d.name == "S" and d.variant in WAYS and not why_invalid(case, d) and d.value > 0
    ]


def early_sends(section: Section) -> List[Json]:
    """The best over bands of every shape, in the first of DIRECTIONS that its way and type were measured
    in."""
    best: Dict[Tuple[object, ...], Json] = {}
    names = ("type", "way", "direction", "copy_method", "devices", "m", "n", "k")
    points = [point for case in section.cases for point in _points(case)]
    for point in (p for p in points if p["direction"] in DIRECTIONS):
        place = tuple(point[name] for name in names)
        if place not in best or point["gain"] > best[place]["gain"]:
            best[place] = point
    nearest: Dict[Tuple[str, str], str] = {}
    for point in best.values():
        kind = point["type"], point["way"]
        nearest[kind] = min(nearest.get(kind, DIRECTIONS[-1]), point["direction"], key=DIRECTIONS.index)
    return [p for p in best.values() if p["direction"] == nearest[p["type"], p["way"]]]


def learned(spec: SectionSpec) -> SectionSpec:
    """The section of overlap/trigger with the points among its results."""

    def results(section: Section) -> Json:
        return dict(spec.results(section), early_sends=early_sends(section), early_sends_formula=FORMULA)

    return dataclasses.replace(spec, results=results)
