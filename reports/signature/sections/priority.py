# SPDX-License-Identifier: BSD-3-Clause
"""micro/priority: does a stream priority change how long a block waits?"""

from __future__ import annotations

from typing import List

from reports.records.curves import interval_of, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import span
from reports.signature.section import Figure, Section, SectionSpec, table
from reports.signature.sections import generic


def results(section: Section) -> Json:
    cases = section.cases
    seen = [
        {"key": c.key, "name": m.name, "observed": m.observed, "detail": m.detail}
        for c in cases
        for m in c.mechanism
    ]
    ratios = [
        {"key": c.key, **interval_of(d)} for c, d in section.values("wait_ratio") if not why_invalid(c, d)
    ]
    return {
        "mechanisms": seen,
        "wait_ratio": ratios,
        "effect": {c.key: c.facts["effect"] for c in cases if "effect" in c.facts},
    }


def summary(section: Section) -> str:
    found = section.results
    effects = [str(e) for e in found["effect"].values()]
    ratios = [r["value"] for r in found["wait_ratio"]]
    if effects:
        yes = effects.count("yes")
        text = "Priority has %s effect here" % ("an" if yes else "no")
        if 0 < yes < len(effects):
            text = "Priority has an effect in %d of %d cases" % (yes, len(effects))
    elif ratios:
        text = "Priority shortens the wait" if max(ratios) < 0.9 else "Priority changes little or nothing"
    else:
        return generic.nothing(section)
    if ratios:
        text += ": a block of the highest priority waits %s times as long as one of equal priority" % span(
            ratios
        )
    elif section.values("wait_ratio"):
        text += " according to the program, but the ratio of the waits is invalid"
    return text + "."


def figures(section: Section) -> List[Figure]:
    rows = [
        {
            "case": m["key"] or "–",
            "mechanism": m["name"],
            "observed": "yes" if m["observed"] else "no",
            "detail": m["detail"],
        }
        for m in section.results["mechanisms"]
    ]
    return generic.figures(section) + table(rows, "What was asked for, and whether it happened.", 4)


SPEC = SectionSpec("Stream priority", results, summary, figures)
