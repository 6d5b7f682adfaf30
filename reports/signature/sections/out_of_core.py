# SPDX-License-Identifier: BSD-3-Clause
"""overlap/out_of_core: a GEMM with A and C in host memory; how much of the transfers does it hide?"""

from __future__ import annotations

from reports.records.curves import why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import digits, percent, plural
from reports.records.records import axes_in
from reports.signature.section import Section, SectionSpec
from reports.signature.sections import generic


def results(section: Section) -> Json:
    rows = []
    for case in section.cases:
        found = {d.name: d.value for d in case.derived if not why_invalid(case, d)}
        if "S" in found:
            gains = {"speedup": found["S"], "ideal": found.get("S_ideal")}
            rows.append({"key": case.key, **gains, "fraction_of_ideal": found.get("fraction_of_ideal")})
    return {"cases": rows}


def _where(found: Json) -> str:
    axes = axes_in(found["key"])
    named = [axes[name] for name in ("type", "shape") if name in axes]
    return ", ".join(named + ([plural(int(axes["pieces"]), "piece")] if "pieces" in axes else []))


def summary(section: Section) -> str:
    found = section.results["cases"]
    if not found:
        return generic.nothing(section)
    best = max(found, key=lambda f: f["speedup"])
    text = (
        "With A and C in host memory and the transfers cut into pieces, a GEMM is at best %s times as fast "
        "as after whole transfers (%s)" % (digits(best["speedup"]), _where(best))
    )
    if best["ideal"] is not None:
        text += "; the ideal is %s times" % digits(best["ideal"])
    if best["fraction_of_ideal"] is not None:
        text += (
            ", of which it gains %s" % percent(best["fraction_of_ideal"])
            if best["fraction_of_ideal"] >= 0
            else ", and cutting costs more than it hides"
        )
    return text + "."


SPEC = SectionSpec("Overlap: out-of-core GEMM", results, summary, generic.figures)
