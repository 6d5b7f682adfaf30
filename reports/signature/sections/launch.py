# SPDX-License-Identifier: BSD-3-Clause
"""micro/launch: the cost of starting work, cheapest first."""

from __future__ import annotations

from typing import List, Optional, Tuple

from reports.records.curves import interval_of, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import human
from reports.records.records import Case, Derived
from reports.signature.section import Bars, Figure, Section, SectionSpec
from reports.signature.sections import generic

# Variants that other values are derived from: their own time is not the cost of a start.
PARTS = ("waves", "behind_value", "stream_hop", "graph_launch", "graph_enqueue", "graph_round_trip")


def _name(case: Case, derived: Derived) -> str:
    what = (derived.variant or "") if derived.name == "time" else derived.name
    return " ".join(dict.fromkeys([str(v) for v in case.axes.values()] + [what.replace("_", " ")])).strip()


def _costs(section: Section) -> List[Tuple[Case, Derived]]:
    return [
        (c, d) for c, d in section.values() if d.unit == "s" and not (d.name == "time" and d.variant in PARTS)
    ]


def results(section: Section) -> Json:
    costs = [
        {"what": _name(c, d), **interval_of(d), "key": c.key, "formula": d.formula}
        for c, d in _costs(section)
        if not why_invalid(c, d)
    ]
    return {"costs": sorted(costs, key=lambda c: (c["value"], c["what"]))}


def _cost(section: Section, what: str) -> Optional[str]:
    return next((human(c["value"], "s") for c in section.results["costs"] if c["what"] == what), None)


def summary(section: Section) -> str:
    costs = section.results["costs"]
    if not costs:
        return generic.nothing(section)
    enqueue, again, trip = (_cost(section, w) for w in ("enqueue", "back to back", "round trip"))
    said = (
        again and "back-to-back kernels start every %s" % again,
        trip and "a launch and the wait for its end take %s" % trip,
        enqueue and "enqueueing a kernel takes the caller %s" % enqueue,
    )
    ends = ["%s (%s)" % (human(cost["value"], "s"), cost["what"]) for cost in (costs[0], costs[-1])]
    text = "; ".join(filter(None, said)) or "from %s to %s" % (ends[0], ends[1])
    return text[0].upper() + text[1:] + "."


def figures(section: Section) -> List[Figure]:
    costs = sorted(_costs(section), key=lambda f: f[1].value)
    shown: List[Figure] = []
    if costs:
        rows = [generic.bar_of(c, d, _name(c, d)) for c, d in costs]
        for row in rows:
            row.of, row.of_name = max(d.value for _, d in costs), ""
        shown.append(Bars(rows, "Bars are relative to the longest.", "time of a launch", "relative"))
    return shown + generic.value_bars(section, sorted({d.name for _, d in section.values() if d.unit == "s"}))


SPEC = SectionSpec("Kernel launches", results, summary, figures)
