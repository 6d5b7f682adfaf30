# SPDX-License-Identifier: BSD-3-Clause
"""Loads for seconds or minutes: rate, power, when it throttles, and the course of a load of minutes."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from reports.page.charts import LineChart, Mark, Series
from reports.records.curves import why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import human, percent, size
from reports.records.records import Case, CourseRow, Derived
from reports.signature.section import Figure, Panels, Section, SectionSpec
from reports.signature.sections import generic

KEPT = 100  # points of a course
_BYTES = ("size", "footprint")  # axes
_RATES = ("sustained_flop_rate", "sustained_op_rate", "sustained_bandwidth")
_ENERGIES = ("energy_per_flop", "energy_per_op", "energy_per_byte")
_NAMES = (
    *_RATES,
    *_ENERGIES,
    *"sustained_share power power_cap_share idle_power sustained_clock temperature_end".split(),
    *"time_to_throttle rate_before rate_after clock_before clock_after thermal_time_constant".split(),
)


def _values(case: Case) -> Dict[str, Derived]:
    """The valid ones of a load."""
    return {
        d.name: d
        for d in case.derived
        if d.name in _NAMES and d.value is not None and not why_invalid(case, d)
    }


def thinned(row: CourseRow) -> List[Optional[float]]:
    """At most KEPT means of neighbours, with four digits; None where there is no reading."""
    width = -(-len(row.values) // KEPT)
    parts = [row.values[i : i + width] for i in range(0, len(row.values), width)]
    known = [[v for v in part if v is not None] for part in parts]
    return [float("%.4g" % (sum(values) / len(values))) if values else None for values in known]


def results(section: Section) -> Json:
    """Loads, with the ends of what is known of them, and their courses."""
    loads = []
    for case in section.cases:
        values = _values(case)
        if not values:
            continue
        load: Json = {"key": case.key, **{name: values[name].value for name in _NAMES if name in values}}
        if case.course:
            load["course"] = {
                name: {"unit": row.unit, "values": thinned(row)} for name, row in case.course.items()
            }
        loads.append(load)
    return {"loads": loads}


def _power(values: Dict[str, Derived]) -> str:
    """ " at 690 W (98 % of the cap) and 0.84 pJ/FLOP"."""
    if "power" not in values:
        return ""
    share, energy = values.get("power_cap_share"), next((values[n] for n in _ENERGIES if n in values), None)
    return " at %s%s%s" % (
        human(values["power"].value, "W"),
        " (%s of the power cap)" % percent(share.value) if share else "",
        " and %s" % human(energy.value, energy.unit) if energy else "",
    )


def _throttling(case: Case, values: Dict[str, Derived]) -> str:
    if not case.course:
        return ""
    begins = values.get("time_to_throttle")
    if begins is None:
        return ", without throttling in %s min" % _minutes(case)
    before, after = values.get("rate_before"), values.get("rate_after")
    fall = ", by %s" % percent(1 - after.value / before.value) if before and after and before.value else ""
    return "; it throttles after %s%s" % (human(begins.value, "s"), fall)


def _minutes(case: Case) -> str:
    return "%.3g" % ((case.course["time"].values[-1] or 0.0) / 60)


def _label(case: Case) -> str:
    shown = [
        size(float(v)) if name in _BYTES else str(v)
        for name, v in case.axes.items()
        if name not in ("mflop", "minutes")
    ]
    return " ".join(shown) or case.key


def summary(section: Section) -> str:
    parts = []
    for case in section.cases:
        values = _values(case)
        rate = next((values[n] for n in _RATES if n in values), None)
        if rate:
            share = values.get("sustained_share")
            parts.append(
                "%s: %s%s%s%s"
                % (
                    _label(case),
                    human(rate.value, rate.unit),
                    " (%s of the rate of short samples)" % percent(share.value) if share else "",
                    _power(values),
                    _throttling(case, values),
                )
            )
    return "; ".join(parts) + "." if parts else generic.nothing(section)


# ------------------------------------------------------------------ the courses


def _points(row: CourseRow, time: CourseRow) -> List[Tuple[float, float]]:
    return [(t, v) for t, v in zip(thinned(time), thinned(row)) if t is not None and v is not None]


def course_figures(section: Section) -> List[Figure]:
    """Rate, clock, power and temperature over time, a panel each, with one line for each load."""
    cases = [case for case in section.cases if case.course]
    charts = []
    for name in ("rate", "clock", "power", "temperature"):
        own = [(i, case) for i, case in enumerate(cases) if name in case.course]
        series = [
            Series(_label(c), [Mark(t, v) for t, v in _points(c.course[name], c.course["time"])], i)
            for i, c in own
        ]
        falls = [d.value for _, c in own for n, d in _values(c).items() if n == "time_to_throttle"]
        if series and any(s.marks for s in series):
            unit = own[0][1].course[name].unit
            up = [(at, "throttles") for at in falls if at]
            charts.append(LineChart(name, "time, s", "", unit, series, up=up, x_log=False))
    caption = "Course of the load: means over equal windows; clock and temperature are read at their ends. %s"
    remark = "Power is energy / time where the device counts energy."
    return [Panels(charts, caption % remark)] if charts else []


def figures(section: Section) -> List[Figure]:
    return course_figures(section) + generic.figures(section)


GEMM = SectionSpec("GEMM rate under sustained load", results, summary, figures)
ALLREDUCE = SectionSpec("GEMM rate under sustained load with an allreduce", results, summary, figures)
MEMORY = SectionSpec("Memory bandwidth under sustained load", results, summary, figures)
