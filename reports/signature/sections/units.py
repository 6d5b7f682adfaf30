# SPDX-License-Identifier: BSD-3-Clause
"""overlap/units: what units buy a copy, what they cost a GEMM, and whether giving them away pays."""

from __future__ import annotations

from typing import Dict, List, Optional

from reports.records.curves import by, interval_of, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import digits, percent, plural
from reports.signature.section import Figure, Section, SectionSpec
from reports.signature.sections import generic

_ENOUGH = 0.95  # of a copy's bandwidth on all units
_ALONE = {"gemm_on_rest": "gemm_slowdown", "copy_on_given": "copy_slowdown"}


def _values(section: Section) -> List[Json]:
    """The valid slowdowns of both sides alone and the gain of a reservation, of each case."""
    rows = []
    for case in section.cases:
        row: Dict[str, object] = {name: case.axes.get(name) for name in ("type", "gemm", "units", "size")}
        for derived in case.derived:
            if derived.value is None or why_invalid(case, derived):
                continue
            if derived.name == "slowdown" and derived.variant in _ALONE:
                row[_ALONE[derived.variant]] = interval_of(derived)
            if derived.name == "reservation_speedup":
                row["reserved"] = interval_of(derived)
        rows.append(row)
    return rows


def _enough(rows: List[Json]) -> Optional[Json]:
    """The case with the fewest units whose copy reaches _ENOUGH of the bandwidth on all units."""
    found = [r for r in rows if "copy_slowdown" in r and r["copy_slowdown"]["value"] * _ENOUGH <= 1]
    return min(found, key=lambda r: r["units"], default=None)


def results(section: Section) -> Json:
    rows = _values(section)
    kinds = [
        {"type": kind[0], "gemm": kind[1], "size_byte": kind[2], "enough": _enough(own), "cases": own}
        for kind, own in by(rows, lambda r: (r["type"], r["gemm"], r["size"])).items()
    ]
    return {"kinds": kinds, "share_that_is_enough": _ENOUGH}


def _costs(kind: Json) -> str:
    """A clause: the slowdown of this kind of GEMM without the units that are enough for a copy."""
    own = kind["enough"]
    if own is None or "gemm_slowdown" not in own:
        return ""
    slowdown = own["gemm_slowdown"]
    faster = slowdown["ci_high"] is not None and slowdown["ci_high"] < 1
    return "a %s-bound GEMM (%s) takes %s as long without them%s" % (
        kind["gemm"],
        kind["type"],
        digits(slowdown["value"]) + " times",
        ", so it is faster on fewer units" if faster else "",
    )


def _gain(kinds: List[Json]) -> str:
    gains = [(k, r) for k in kinds for r in k["cases"] if "reserved" in r]
    if not gains:
        return ""
    kind, best = max(gains, key=lambda g: g[1]["reserved"]["value"])
    text = (
        ". With units of its own for the copy, both at once are at best %s times as fast (%s-bound GEMM, %s)"
    )
    return text % (
        digits(best["reserved"]["value"]),
        kind["gemm"],
        plural(best["units"], "unit"),
    )


def summary(section: Section) -> str:
    kinds = section.results["kinds"]
    enough = next((k["enough"] for k in kinds if k["enough"]), None)
    share = percent(_ENOUGH)
    if not any("copy_slowdown" in r or "reserved" in r for k in kinds for r in k["cases"]):
        return generic.nothing(section)
    if enough is None:
        return "No number of units tried gives a copy %s of its bandwidth on all%s." % (share, _gain(kinds))
    parts = ["%s are enough for %s of a copy's bandwidth" % (plural(enough["units"], "unit"), share)]
    return "; ".join(parts + [cost for cost in map(_costs, kinds) if cost]) + _gain(kinds) + "."


def figures(section: Section) -> List[Figure]:
    curves = [c for c in section.curves_of("slowdown") if c.variant in _ALONE]
    caption = (
        "Time on some units / time on all, each side alone, over the units given to the copy: of the copy on "
        "those, of the GEMM on the rest. Below 1, fewer units are faster."
    )
    return generic.line_panels(curves, caption) or generic.figures(section)


SPEC = SectionSpec("Overlap: units given to a copy", results, summary, figures)
