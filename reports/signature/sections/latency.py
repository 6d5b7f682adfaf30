# SPDX-License-Identifier: BSD-3-Clause
"""micro/latency: the time of one dependent load, by cache levels of one unit."""

from __future__ import annotations

from typing import List

from reports.page.charts import LineChart
from reports.records.fits import within
from reports.records.jsonl import Json
from reports.records.quantity import human, listing, size
from reports.signature.section import Figure, Panels, Section, SectionSpec
from reports.signature.sections import generic


def results(section: Section) -> Json:
    levels: List[Json] = []
    for curve in (c for c in section.curves_of("latency") if "min_l1" not in (c.variant or "")):
        below = 0.0
        last = [("memory", 0.0)] if section.capacity("llc_bytes") else []
        for name, capacity in section.caches() + last:
            ends = (below * 1.5, capacity * 0.75) if capacity else (below * 8, float("inf"))
            value = within(curve, *ends)
            if value is not None and curve.axis_unit == "byte":
                size_ = {"level": name, "capacity_byte": capacity or None}
                levels.append({**size_, "value": value, "unit": curve.unit})
            below = capacity or below
    return {
        "levels": levels,
        "formula": "median latency over the footprints between 1.5 times the level before and 3/4 of the "
        "level; memory: from 8 times the last level",
    }


def summary(section: Section) -> str:
    levels = section.results["levels"]
    points = [p for c in section.curves_of("latency") for p in c.valid]
    if levels:
        return "One dependent load takes %s." % listing(
            ["%s from %s" % (human(e["value"], e["unit"]), e["level"]) for e in levels]
        )
    if points:
        low, high = min(points, key=lambda p: p.value), max(points, key=lambda p: p.value)
        return "One dependent load takes from %s (%s) to %s (%s)." % (
            human(low.value, "s"),
            size(low.x),
            human(high.value, "s"),
            size(high.x),
        )
    return generic.nothing(section)


def figures(section: Section) -> List[Figure]:
    curves = [c for c in section.curves_of("latency") if c.points]
    if not curves:
        return generic.figures(section)
    first = curves[0]
    series = [generic.series_of(c, c.variant or "latency", i) for i, c in enumerate(curves)]
    marks = [(capacity, name) for name, capacity in section.caches()]
    chart = LineChart("", first.axis, first.axis_unit, first.unit, series, up=marks, y_name="latency")
    return [
        Panels(
            [chart],
            "Latency over footprint: %s. Dotted lines: the capacity of the caches of one unit, and "
            "of the last-level cache (LLC)." % (first.formula or section.group.run.formula),
        )
    ]


SPEC = SectionSpec("Latency of one load", results, summary, figures)
