# SPDX-License-Identifier: BSD-3-Clause
"""gemm/small_batch and gemm/grouped: GEMMs of few rows, whose weights come from memory."""

from __future__ import annotations

from typing import Dict, List, Tuple

from reports.records.curves import by, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import digits, human, percent, plural
from reports.records.records import Case
from reports.signature.section import Section, SectionSpec
from reports.signature.sections import generic

_NAMES = ("bandwidth", "share_of_read", "share_of_bound", "rows_time_ratio", "speedup")
NO_LONGER = 1.1
Found = Dict[Tuple[str, str], float]  # by quantity and variant


def _valid(case: Case) -> Found:
    return {
        (d.name, d.variant or ""): d.value
        for d in case.derived
        if d.name in _NAMES and d.value is not None and not why_invalid(case, d)
    }


def _axes(case: Case, *names: str) -> Json:
    return {name: case.axes[name] for name in names if name in case.axes}


# ------------------------------------------------------------------ few rows


def few_rows_results(section: Section) -> Json:
    rows = []
    for case in section.cases:
        found = _valid(case)
        if ("bandwidth", "gemm") in found:
            values = {name: found.get((name, "gemm")) for name in _NAMES[:4]}
            where = _axes(case, "type", "rows", "weights")
            rows.append({"key": case.key, **where, **values, "limited_by": case.facts.get("limited_by")})
    return {"cases": rows}


def _range(texts: List[str]) -> str:
    """The first and the last, once where they are the same."""
    return texts[0] if texts[0] == texts[-1] else "%s to %s" % (texts[0], texts[-1])


def _free_rows(own: List[Json]) -> int:
    """The most rows that take at most 10 % longer than the fewest; 0: none do."""
    return max(
        (r["rows"] for r in own if r["rows_time_ratio"] and r["rows_time_ratio"] <= NO_LONGER), default=0
    )


def _sentence(kind: str, own: List[Json]) -> str:
    fewest = min(r["rows"] for r in own)
    first = [r for r in own if r["rows"] == fewest]
    shares = sorted(r["share_of_read"] for r in first if r["share_of_read"])
    text = "%s: %s at %s" % (
        kind or "all types",
        plural(fewest, "row"),
        _range([human(rate, "byte/s") for rate in sorted(r["bandwidth"] for r in first)]),
    )
    if shares:
        text += ", %s of reading the weights" % _range([percent(share) for share in shares])
    free = sorted(_free_rows(rows) for rows in by(own, lambda r: r.get("weights")).values())
    if free[0]:
        text += "; up to %s rows take at most 10 %% longer" % _range(["%d" % rows for rows in free])
    return text


def few_rows_summary(section: Section) -> str:
    cases = section.results["cases"]
    if not cases:
        return generic.nothing(section)
    return ". ".join(_sentence(kind, own) for kind, own in by(cases, lambda r: r.get("type")).items()) + "."


FEW_ROWS = SectionSpec("GEMM: few rows", few_rows_results, few_rows_summary, generic.figures)


# ------------------------------------------------------------------ experts

_WAYS = {"grouped": "One grouped GEMM is", "streams": "GEMMs on several streams are"}


def experts_results(section: Section) -> Json:
    rows = []
    for case in section.cases:
        found = _valid(case)
        where = _axes(case, "type", "experts", "rows", "routing", "weights")
        for way in _WAYS:
            if ("speedup", way) in found:
                values = {
                    name: found.get((name, way)) for name in ("speedup", "share_of_read", "share_of_bound")
                }
                rows.append({"key": case.key, **where, "variant": way, **values})
    return {"cases": rows}


def experts_summary(section: Section) -> str:
    parts: List[str] = []
    for way, own in by(section.results["cases"], lambda r: r["variant"]).items():
        best = max(own, key=lambda r: r["speedup"])
        text = "%s %s times as fast as one GEMM after the other, best with %s of %s, %s"
        parts.append(
            text
            % (
                _WAYS[way],
                _range([digits(speedup) for speedup in sorted(r["speedup"] for r in own)]),
                plural(int(best["experts"]), "expert"),
                plural(int(best["rows"]), "row"),
                best["routing"],
            )
        )
    return "; ".join(parts) + "." if parts else generic.nothing(section)


EXPERTS = SectionSpec("GEMM: experts", experts_results, experts_summary, generic.figures)
