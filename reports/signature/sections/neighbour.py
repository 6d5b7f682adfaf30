# SPDX-License-Identifier: BSD-3-Clause
"""micro/neighbour: what another process takes from this one, by what each of them does."""

from __future__ import annotations

from typing import Dict, List, Tuple

from reports.page.charts import draw_heat
from reports.records.curves import interval_of, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import TAGS
from reports.records.records import Case, Derived
from reports.signature.section import Figure, Panels, Section, SectionSpec
from reports.signature.sections import generic
from reports.signature.sections.contention import NOUNS, WHAT, extremes_text

FORMULA = "CIL (contention inefficiency loss) = time while another process works / time alone; 1: no loss"

_SUFFIX = "_with_neighbour"
_OWN = {"memory": "memory traffic", "copy": "an H2D copy", "launch": "a launch"}
_PLAIN = ("same", "none", "")
_OTHER = {"engine": "H2D copies", "kernel": "H2D copies by kernel", "compute": "compute kernels"}


def _losses(section: Section) -> List[Tuple[Case, str, Derived]]:
    """A case, what this process does in it, and its loss."""
    return [
        (case, derived.variant.removesuffix(_SUFFIX), derived)
        for case, derived in section.values("CIL")
        if derived.variant and derived.variant.endswith(_SUFFIX)
    ]


def _place(case: Case) -> str:
    """Options other than the default: a control group, or devices of the other process's own."""
    return ", ".join(
        "%s %s" % (k, case.axes[k]) for k in ("sees", "group") if case.axes.get(k, "") not in _PLAIN
    )


def _sentence(own: str, case: Case) -> str:
    other = str(case.axes.get("neighbour", ""))
    place = _place(case)
    noun = "a GEMM of %s" % case.axes.get("type") if own == "gemm" else _OWN.get(own, own)
    partner = _OTHER.get(other, NOUNS.get(other, other).replace("a GEMM", "GEMMs"))
    return "%s while another process runs %s%s" % (noun, partner, " (%s)" % place if place else "")


def results(section: Section) -> Json:
    rows = [
        {"of": own, "with": str(case.axes.get("neighbour")), "key": case.key, **interval_of(derived)}
        for case, own, derived in _losses(section)
        if not why_invalid(case, derived)
    ]
    return {"formula": FORMULA, "cil": rows}


def summary(section: Section) -> str:
    losses = [
        (_sentence(own, case), d.value, d.ci_low, d.ci_high)
        for case, own, d in _losses(section)
        if not why_invalid(case, d)
    ]
    return extremes_text(losses) if losses else generic.nothing(section)


def figures(section: Section) -> List[Figure]:
    by_place: Dict[str, Dict[Tuple[str, str], Tuple[Case, Derived]]] = {}
    for case, own, derived in _losses(section):
        kind = "%s%s" % (case.axes.get("type", ""), ", " + _place(case) if _place(case) else "")
        by_place.setdefault(kind, {})[own, str(case.axes.get("neighbour"))] = case, derived
    charts = []
    for place, losses in by_place.items():
        rows, columns = (list(dict.fromkeys(pair[i] for pair in losses)) for i in (0, 1))
        grid = [
            [generic.cell_of(*losses[row, column]) if (row, column) in losses else None for column in columns]
            for row in rows
        ]
        charts.append(draw_heat(rows, columns, grid, place, "another process runs", what=WHAT))
    caption = FORMULA + ". A row is this process's work. Warm colours: slower. " + TAGS
    return [Panels(charts, caption)] if charts else []


SPEC = SectionSpec("What another process takes", results, summary, figures)
