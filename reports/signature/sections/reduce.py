# SPDX-License-Identifier: BSD-3-Clause
"""micro/reduce: the cost of copying a chunk before adding it, over adding it on arrival."""

from __future__ import annotations

from typing import List

from reports.records.curves import by, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import digits, size, spell, way
from reports.signature.section import Figure, Section, SectionSpec, table
from reports.signature.sections import generic

_TRAFFIC = 5 / 3  # staged over on arrival, by the bytes that the methods name


def results(section: Section) -> Json:
    """The staged methods at the largest size of each direction."""
    ratios: List[Json] = []
    for case, derived in section.values("time_ratio"):
        bytes_ = case.axes.get("size")
        if isinstance(bytes_, int) and not why_invalid(case, derived):
            ratios.append(
                {
                    "direction": str(case.axes.get("direction", "")),
                    "size_byte": bytes_,
                    "method": derived.variant or "",
                    "time_ratio": derived.value,
                    "ci_low": derived.ci_low,
                    "ci_high": derived.ci_high,
                }
            )
    ways = by(ratios, lambda r: r["direction"])
    largest = {direction: max(r["size_byte"] for r in own) for direction, own in ways.items()}
    staged = [r for r in ratios if r["size_byte"] == largest[r["direction"]]]
    return {"staged": staged, "traffic_ratio": _TRAFFIC}


def summary(section: Section) -> str:
    staged = section.results["staged"]
    if not staged:
        return generic.nothing(section)
    best = min(staged, key=lambda r: r["time_ratio"])
    worst = max(staged, key=lambda r: r["time_ratio"])
    ends = [
        "%s times (%s, %s)" % (digits(r["time_ratio"]), spell(r["method"]), way(r["direction"]))
        for r in ([best] if worst is best else [best, worst])
    ]
    text = "Copying %s first and adding then takes %s as long as adding on arrival" % (
        size(best["size_byte"]),
        " to ".join(ends),
    )
    return text + "; the bytes moved alone would give %s times." % digits(_TRAFFIC)


def figures(section: Section) -> List[Figure]:
    rows = [
        {
            "direction": way(r["direction"]),
            "method": spell(r["method"]),
            "chunk": size(r["size_byte"]),
            "time, on arrival = 1": digits(r["time_ratio"]),
        }
        for r in section.results["staged"]
    ]
    staged = table(rows, "Time with the largest chunk of each direction / time of adding on arrival.", 2)
    caption = "Bandwidth over the size of the chunk: bytes that arrive / time."
    return generic.line_panels(section.curves_of("bandwidth"), caption) + staged


SPEC = SectionSpec("Reduction: on arrival and staged", results, summary, figures)
