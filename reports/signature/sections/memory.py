# SPDX-License-Identifier: BSD-3-Clause
"""micro/memory: bandwidth by footprint, read as cache levels."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from reports.page.charts import LineChart
from reports.records.curves import Curve, fixed_text, varying
from reports.records.fits import within
from reports.records.jsonl import Json
from reports.records.quantity import NOMINAL, digits, human, percent, size
from reports.signature.section import Figure, Section, SectionSpec, table
from reports.signature.sections import generic

_FORMULA = (
    "median over the footprints that fit in 3/4 of the level and not in the one before; memory: over those "
    "above three times the last level; with the smallest L1, half of L1 counts as the level before"
)


def capacities(section: Section) -> List[Tuple[str, float]]:
    """Name and bytes of every level that the device states, all units together, growing."""
    return section.caches(section.capacity("units") or 1.0)


def _has_little_l1(variant: Optional[str]) -> bool:
    """True if at most half of the memory that a unit divides is cache, next to the most shared memory."""
    return "min_l1" in (variant or "")


def _levels(section: Section, curve: Curve) -> List[Json]:
    """The median of the points well inside every level, and of those well outside the last."""
    if curve.axis_unit != "byte":
        return []
    found, below = [], 0.0
    for name, capacity in capacities(section) + [("memory", 0.0)]:
        if name == "L1" and _has_little_l1(curve.variant):
            below = capacity / 2
            continue
        lower, upper = (below, capacity * 0.75) if capacity else (below * 3, float("inf"))
        value = within(curve, lower, upper)
        if value is not None:
            size_ = {"level": name, "capacity_byte": capacity or None}
            found.append({**size_, "value": value, "unit": curve.unit})
        below = capacity or below
    return found


def results(section: Section) -> Json:
    curves = [c for c in section.curves_of("bandwidth") if c.valid]
    entries = [
        {"where": dict(c.fixed), "variant": c.variant, "levels": _levels(section, c), "formula": _FORMULA}
        for c in curves
    ]
    return {"levels": entries}


def _value(entry: Json, level: str) -> float:
    return next((found["value"] for found in entry["levels"] if found["level"] == level), 0.0)


def summary(section: Section) -> str:
    entries = section.results["levels"]
    if not entries:
        return generic.nothing(section)
    reached = [e for e in entries if _value(e, "memory") > 0]
    if not reached:
        best = max((p for c in section.curves_of("bandwidth") for p in c.valid), key=lambda p: p.value)
        return "No valid footprint lies beyond the caches; the fastest value is %s at %s." % (
            human(best.value, "byte/s"),
            size(best.x),
        )
    best = max(reached, key=lambda e: _value(e, "memory"))
    memory = _value(best, "memory")
    share = _of_nominal(section, memory)
    text = "Memory delivers at most %s (%s%s)" % (
        human(memory, "byte/s"),
        _label(best),
        ", %s of %s" % (share, NOMINAL) if share else "",
    )
    levels = [name for name in _names(entries) if name != "memory"]
    if levels:
        times = ["%s times" % digits(max(_value(e, level) for e in entries) / memory) for level in levels]
        text += "; %s delivers up to %s as much" % (levels[0], times[0])
        text += "".join(", %s up to %s" % other for other in zip(levels[1:], times[1:]))
    return text + _nontemporal(reached) + "."


def _names(entries: List[Json]) -> List[str]:
    return list(dict.fromkeys(found["level"] for e in entries for found in e["levels"]))


def _nontemporal(entries: List[Json]) -> str:
    """The gain of stores past the cache, where footprints are larger than it."""
    plain: Dict[str, float] = {}
    for entry in entries:
        if "nontemporal" not in (entry["variant"] or "") and not _has_little_l1(entry["variant"]):
            plain.setdefault(fixed_text(entry["where"]), _value(entry, "memory"))
    gains = [
        (_value(entry, "memory") / plain[fixed_text(entry["where"])], entry["where"].get("op", ""))
        for entry in entries
        if "nontemporal" in (entry["variant"] or "") and fixed_text(entry["where"]) in plain
    ]
    if not gains:
        return ""
    gain, operation = max(gains)
    if gain < 1.02:
        return "; non-temporal stores do not help"
    return "; non-temporal stores are up to %s times as fast (%s)" % (digits(gain), operation)


def _label(entry: Json) -> str:
    return " ".join([str(v) for v in entry["where"].values()] + [entry["variant"] or ""]).strip()


def figures(section: Section) -> List[Figure]:
    marks = [(capacity, name) for name, capacity in capacities(section)]
    curves = [c for c in section.curves_of("bandwidth") if c.points]
    colours = generic.colours_of([c.variant for c in curves])
    charts, named = [], varying(curves)
    for panel in generic.grouped(curves):
        series = [generic.series_of(c, c.variant or "bandwidth", colours[c.variant]) for c in panel]
        first = panel[0]
        title, axes = generic.place(first.fixed, named), (first.axis, first.axis_unit, first.unit)
        charts.append(LineChart(title, *axes, series, up=marks, y_name="bandwidth"))
    if not charts:
        return []
    formula = curves[0].formula or section.group.run.formula
    caption = (
        "Bandwidth over footprint: %s. Dotted lines: the capacity of all caches of that level together."
        % formula
    )
    return generic.panels(charts, caption, "panel") + _level_table(section)


def _nominal(section: Section) -> Optional[float]:
    """byte/s of the device's memory by its data sheet."""
    found = (d.bound for _, d in section.values("memory_bandwidth") if d.bound_name == NOMINAL)
    return next(found, None)


def _of_nominal(section: Section, memory: float) -> str:
    nominal = _nominal(section)
    return percent(memory / nominal) if nominal and memory else ""


def _level_table(section: Section) -> List[Figure]:
    entries = [e for e in section.results["levels"] if e["levels"]]
    rows = []
    for entry in entries:
        row = {"operation": _label(entry)}
        row.update({name: human(_value(entry, name) or None, "byte/s") for name in _names(entries)})
        if _nominal(section):
            row["memory, % of nominal"] = _of_nominal(section, _value(entry, "memory")) or "–"
        rows.append(row)
    return table(rows, _FORMULA + ".")


SPEC = SectionSpec("Memory and caches", results, summary, figures)
