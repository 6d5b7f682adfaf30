# SPDX-License-Identifier: BSD-3-Clause
"""micro/copy_contention: how much a GEMM and a transfer slow each other, by direction, copy method, blocks
and type."""

from __future__ import annotations

from functools import partial
from typing import Dict, List, Optional, Tuple

from reports.page.charts import Cell, draw_heat
from reports.records.curves import interval_of, valid_value, why_invalid
from reports.records.jsonl import Json, is_number
from reports.records.quantity import TAGS, plural, way
from reports.records.records import Case, Derived
from reports.signature.section import Figure, Section, SectionSpec
from reports.signature.sections import generic, matrices
from reports.signature.sections.contention import WHAT, extremes_text
from reports.signature.sections.matrices import Matrix

FORMULA = (
    "CIL (contention inefficiency loss) = time of one side while the other runs / its time alone; 1: no loss"
)

# variant -> which side it times, which GEMM it is about, and that GEMM alone
SIDES = {
    "gemm_with_copy": ("gemm", "square", "gemm_alone"),
    "copy_with_gemm": ("copy", "square", "gemm_alone"),
    "skinny_with_copy": ("gemm", "skinny", "skinny_alone"),
    "copy_with_skinny": ("copy", "skinny", "skinny_alone"),
}
NOUNS = {
    ("gemm", "square"): "a GEMM",
    ("gemm", "skinny"): "a skinny GEMM",
    ("copy", "square"): "a copy next to a GEMM",
    ("copy", "skinny"): "a copy next to a skinny GEMM",
}
DIRECTIONS = {
    "up": way("up"),
    "down": way("down"),
    "local": "within the device (D2D)",
    "peer": "to a peer (P2P)",
    "exchange": "to and from a peer",
}


def _entry(section: Section, case: Case, derived: Derived) -> Json:
    side, gemm, alone = SIDES[derived.variant or ""]
    prefix = "" if gemm == "square" else "skinny_"
    sides = [case.facts.get(prefix + s) for s in "mnk"]
    rate = valid_value(case, "flop_rate", alone)
    known = rate and all(map(is_number, sides))
    seconds = 2.0 * sides[0] * sides[1] * sides[2] / rate if known else None
    place = _place(case)
    return {"of": side, "gemm": gemm, **place, "mnk": sides, "gemm_s": seconds, **interval_of(derived)}


def _place(case: Case) -> Json:
    return {
        "type": str(case.axes.get("type", "")),
        "direction": str(case.axes.get("direction", "")),
        "copy_method": str(case.axes.get("copy-method", "")),
        "blocks": case.number("copy_blocks"),
    }


def _copies(section: Section) -> List[Json]:
    """The copies alone; the bytes of an exchange count in both directions."""
    return [
        {**_place(c), "bytes": c.number("copy_bytes"), "bandwidth": d.value}
        for c, d in section.values("bandwidth")
        if d.variant == "copy_alone" and not why_invalid(c, d)
    ]


def results(section: Section) -> Json:
    return {
        "formula": FORMULA,
        "copies": _copies(section),
        "cil": [
            _entry(section, case, derived)
            for case, derived in section.values("CIL")
            if derived.variant in SIDES and not why_invalid(case, derived)
        ],
    }


def _name(entry: Json) -> str:
    method, direction = "an engine copy", DIRECTIONS.get(entry["direction"], entry["direction"])
    if entry["copy_method"] != "engine":
        method = "a kernel copy" + (" of %s" % plural(entry["blocks"], "block") if entry["blocks"] else "")
    noun = NOUNS[entry["of"], entry["gemm"]]
    return "%s with %s %s (%s)" % (noun, method, direction, entry["type"])


def summary(section: Section) -> str:
    losses = section.results["cil"]
    if not losses:
        return generic.nothing(section)
    return extremes_text([(_name(e), e["value"], e["ci_low"], e["ci_high"]) for e in losses])


Place = Tuple[str, str]


def _cells(section: Section, kind: str, side: str, gemm: str) -> Dict[Place, Cell]:
    cells: Dict[Place, Cell] = {}
    for case, derived in section.values("CIL"):
        of, place = SIDES.get(derived.variant or "", ("", ""))[:2], _place(case)
        if of == (side, gemm) and place["type"] == kind:
            blocks = "; %s" % plural(place["blocks"], "block") if place["blocks"] else ""
            cell = generic.cell_of(case, derived, after=blocks)
            cells[place["direction"], place["copy_method"]] = cell
    return cells


def _draw(rows: List[str], columns: List[str], grid: List[List[Optional[Cell]]], title: str) -> str:
    return draw_heat(rows, columns, grid, title, "copy by", what=WHAT)


def figures(section: Section) -> List[Figure]:
    charts = []
    for kind in dict.fromkeys(str(c.axes.get("type", "")) for c in section.cases):
        for side, gemm in NOUNS:
            cells = _cells(section, kind, side, gemm)
            rows = list(dict.fromkeys(place[0] for place in cells))
            columns = list(dict.fromkeys(place[1] for place in cells))
            grid = [[cells.get((row, column)) for column in columns] for row in rows]
            if cells:
                title = "%s, %s" % (NOUNS[side, gemm], kind)
                rows = [way(row) for row in rows]
                draw = partial(_draw, rows, columns, grid)
                charts.append(Matrix(title, side, rows, columns, grid, "", draw))
    caption = FORMULA + (
        ". A row is a direction of the copy, a column a copy method; first the CIL of the GEMM, then that "
        "of the copy. Warm colours: slower. " + TAGS
    )
    return matrices.figures(charts, caption, "combinations")


SPEC = SectionSpec("Contention of GEMMs and transfers", results, summary, figures)
