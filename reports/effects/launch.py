# SPDX-License-Identifier: BSD-3-Clause
"""micro/launch: what starting work costs, cheapest first, and the taxes paid for cutting work up."""

from __future__ import annotations

from typing import List, Optional, Tuple

from reports.curves import why_invalid
from reports.effects import generic
from reports.jsonl import Json
from reports.quantity import digits, human, listing, spell
from reports.records import Case, Derived
from reports.section import Bars, Effect, Figure, Section

# Variants that only serve to form a tax or to divide by: their own time is no cost of a start.
PARTS = ("one_launch", "many_launches", "staged_free", "staged_barrier", "producer_first", "tile_by_tile", "stream_hop",
         "graph_launch", "graph_enqueue", "graph_round_trip")


def _name(case: Case, derived: Derived) -> str:
    what = (derived.variant or "") if derived.name == "time" else derived.name
    return " ".join(dict.fromkeys([str(v) for v in case.axes.values()] + [what.replace("_", " ")])).strip()


def _costs(section: Section) -> List[Tuple[Case, Derived]]:
    return [(c, d) for c, d in section.values() if d.unit == "s" and not (d.name == "time" and d.variant in PARTS)]


def findings(section: Section) -> Json:
    costs = [{"what": _name(c, d), "value": d.value, "ci_low": d.ci_low, "ci_high": d.ci_high, "key": c.key,
              "formula": d.formula} for c, d in _costs(section) if not why_invalid(c, d)]
    taxes = [{"what": d.name, "value": d.value, "ci_low": d.ci_low, "ci_high": d.ci_high, "formula": d.formula}
             for c, d in section.values() if d.name.endswith("_tax") and d.unit == "" and not why_invalid(c, d)]
    return {"costs": sorted(costs, key=lambda c: (c["value"], c["what"])), "taxes": taxes}


def _cost(section: Section, what: str) -> Optional[str]:
    return next((human(c["value"], "s") for c in section.findings["costs"] if c["what"] == what), None)


def reading(section: Section) -> str:
    costs = section.findings["costs"]
    if not costs:
        return generic.nothing(section)
    enqueue, again, trip = (_cost(section, w) for w in ("enqueue", "back to back", "round trip"))
    said = [text for text in (enqueue and "the caller pays %s to enqueue a kernel" % enqueue,
                              again and "one follows another after %s" % again,
                              trip and "start to known end takes %s" % trip) if text]
    if not said:
        low, high = costs[0], costs[-1]
        said = ["from %s (%s) to %s (%s)" % (human(low["value"], "s"), low["what"], human(high["value"], "s"), high["what"])]
    text = listing(said)
    taxes = ["%s× for %s" % (digits(t["value"]), spell(t["what"].replace("_tax", ""))) for t in section.findings["taxes"]]
    return text[0].upper() + text[1:] + ("; taxes: " + listing(taxes) if taxes else "") + "."


def figures(section: Section) -> List[Figure]:
    costs = sorted(_costs(section), key=lambda f: f[1].value)
    shown: List[Figure] = []
    if costs:
        rows = [generic.bar_of(section, c, d, _name(c, d)) for c, d in costs]
        for row in rows:
            row.of, row.of_name = max(d.value for _, d in costs), ""
        shown.append(Bars(rows, "Bars are relative to the longest.", "cost of a start", "relative"))
    return shown + generic.value_bars(section, sorted({d.name for _, d in section.values() if d.unit == "s"}))


EFFECT = Effect("Starting work", findings, reading, figures)
