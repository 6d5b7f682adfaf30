# SPDX-License-Identifier: BSD-3-Clause
"""micro/occupancy: resident blocks as a step function of the shared memory that each block claims."""

from __future__ import annotations

from typing import List, Optional, Sequence

from reports.page.charts import LineChart, share_ranges
from reports.records.curves import Curve
from reports.records.jsonl import Json
from reports.records.quantity import axis_value, human, percent, plural
from reports.signature.section import Figure, Panels, Section, SectionSpec
from reports.signature.sections import generic


MEASURED, FORMULA = ("residents_per_unit", "residents"), ("residents_by_formula", "residents_formula")


def _curve(section: Section, names: Sequence[str], variant: str = "") -> Optional[Curve]:
    own = (c for name in names for c in section.curves_of(name))
    return next((c for c in own if len(c.points) > 1 and variant in ("", c.variant)), None)


def _throughput(section: Section) -> Optional[Curve]:
    return _curve(section, ("throughput", "flop_rate", "bandwidth"))


def _wait(section: Section) -> Optional[Curve]:
    return _curve(section, ("time",), "loaded_wait")


def results(section: Section) -> Json:
    measured, formula = _curve(section, MEASURED), _curve(section, FORMULA)
    throughput = _throughput(section)
    found: Json = {"steps": [], "formula_agrees": None, "throughput": []}
    if measured:
        found["steps"] = [{"shared_byte": p.x, "residents": p.value} for p in measured.valid]
    if measured and formula:
        expected = {p.x: p.value for p in formula.points}
        both = [(p.value, expected[p.x]) for p in measured.valid if p.x in expected]
        found["formula_agrees"] = {"same": sum(a == b for a, b in both), "of": len(both)}
    if throughput and throughput.valid:
        best = max(p.value for p in throughput.valid)
        found["throughput"] = [
            {"shared_byte": p.x, "value": p.value, "of_best": p.value / best if best else None}
            for p in throughput.valid
        ]
    return found


def summary(section: Section) -> str:
    found = section.results
    if len(found["steps"]) < 2:
        return generic.summary(section) if found.get("ranges") else generic.nothing(section)
    first, last = found["steps"][0], found["steps"][-1]
    text = "Resident blocks per unit go from %d to %d as a block claims %s to %s of shared memory" % (
        first["residents"],
        last["residents"],
        axis_value(first["shared_byte"], "byte"),
        axis_value(last["shared_byte"], "byte"),
    )
    agrees = found["formula_agrees"]
    if agrees and agrees["of"]:
        text += "; the formula is right at %d of %s" % (agrees["same"], plural(agrees["of"], "point"))
    shares = [t["of_best"] for t in found["throughput"] if t["of_best"] is not None]
    if shares:
        text += "; the lowest throughput is %s of the highest" % percent(min(shares))
    wait = _wait(section)
    if wait and len(wait.valid) > 1:
        first, best = wait.valid[0], min(wait.valid, key=lambda p: p.value)
        text += "; a block of another kernel waits %s where the running kernel claims %s" % (
            human(first.value, "s"),
            axis_value(first.x, "byte") if first.x else "no shared memory",
        )
        if best.value < first.value / 1.1:
            text += ", and %s where it claims %s" % (human(best.value, "s"), axis_value(best.x, "byte"))
    return text + "."


def figures(section: Section) -> List[Figure]:
    measured, formula = _curve(section, MEASURED), _curve(section, FORMULA)
    throughput, wait = _throughput(section), _wait(section)
    charts: List[LineChart] = []
    if measured:
        series = [generic.series_of(formula, "formula", 1, step=True, under=True)] if formula else []
        series.append(generic.series_of(measured, "measured", 0, step=True))
        charts.append(
            LineChart("Resident blocks per unit", "shared memory per block", measured.axis_unit, "", series)
        )
    for curve, title in ((throughput, "Throughput"), (wait, "Wait of another kernel's first block")):
        if curve:
            series = [generic.series_of(curve, "", 0)]
            charts.append(LineChart(title, "shared memory per block", curve.axis_unit, curve.unit, series))
    charts = [chart for chart in charts if chart.xs()]
    for chart in charts:
        share_ranges([chart])
        low, high = min(chart.xs()), max(chart.xs())
        chart.x_log, chart.x_range = False, (min(0.0, low), high if high > low else low + 1)
    caption = (
        "Over the shared memory that each block claims. The broad line is the formula min(slots, floor("
        "shared memory of a unit / claim)); where the measured line leaves it, the formula is wrong on this "
        "device."
    )
    return [Panels(charts, caption)] if charts else []


SPEC = SectionSpec("Occupancy shaping", results, summary, figures)
