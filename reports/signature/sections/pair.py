# SPDX-License-Identifier: BSD-3-Clause
"""overlap/pair: the gain of overlapping a GEMM with a transfer, as a fraction of the ideal gain, and
which side slows."""

from __future__ import annotations

import statistics
from typing import Dict, List, Optional, Sequence, Tuple

from reports.page.charts import Cell, draw_heat
from reports.records.curves import valid_value, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import TAGS, human, percent, plural, way
from reports.records.records import Case, Derived
from reports.signature.section import Figure, Panels, Section, SectionSpec, table
from reports.signature.sections import generic
from reports.signature.sections.operands import is_cold, one_condition

FORMULA = (
    "fraction of ideal = (S - 1) / (S_ideal - 1); S = serial / overlapped; "
    "S_ideal = (t_g + t_c) / max(t_g, t_c)"
)
ORDERS = {"gemm_first": "GEMM first", "transfer_first": "transfer first"}
MAX_ROWS = 60

Columns = Tuple[str, str]


def _pair(case: Case, derived: Derived) -> Json:
    order = derived.variant or ""
    return {
        "key": case.key,
        "transfer": str(case.axes.get("transfer", "")),
        "copy_method": str(case.axes.get("copy-method", "")),
        "cold": is_cold(case),
        "order": order,
        "class": case.facts.get("class"),
        "fraction_of_ideal": derived.value,
        "ci_low": derived.ci_low,
        "ci_high": derived.ci_high,
        "S": valid_value(case, "S", order),
        "S_ideal": valid_value(case, "S_ideal", None),
        "cil_gemm": valid_value(case, "CIL", "gemm_in_" + order),
        "cil_transfer": valid_value(case, "CIL", "transfer_in_" + order),
        "exposed_tail_s": valid_value(case, "exposed_tail", order),
        "slowed_side": case.facts.get("slowed_side_" + order),
        "better_order": case.facts.get("better_order"),
    }


def results(section: Section) -> Json:
    pairs = [
        _pair(c, d)
        for c, d in section.values("fraction_of_ideal")
        if d.variant in ORDERS and not why_invalid(c, d)
    ]
    return {"formula": FORMULA, "pairs": pairs}


def _share(value: float) -> str:
    """A fraction of ideal in words; below 0 overlapping takes longer than one after the other."""
    return "loses %s" % percent(-value) if value < 0 else "gains %s" % percent(value)


def _median(pairs: Sequence[Json]) -> Optional[float]:
    return statistics.median(p["fraction_of_ideal"] for p in pairs) if pairs else None


def summary(section: Section) -> str:
    every = section.results["pairs"]
    if not every:
        return generic.nothing(section)
    pairs = one_condition(every)
    sides = []
    for method in ("engine", "kernel"):
        median = _median([p for p in pairs if p["copy_method"].startswith(method)])
        if median is not None:
            sides.append("%s with a copy %s" % (_share(median), method))
    said = " and ".join(sides).replace(" %", " % of the ideal gain", 1)
    text = "Medians: overlapping a GEMM with a transfer " + said
    first, other = (_median([p for p in pairs if p["order"] == order]) for order in ORDERS)
    if first is not None and other is not None:
        shares = _share(other), _share(first)
        text += "; it %s with the transfer enqueued first and %s with the GEMM first" % shares
    lost = sum(p["fraction_of_ideal"] < 0 for p in pairs)
    if lost:
        of = plural(len(pairs), "combination is", "combinations are")
        text += ". Overlapped, %d of %s slower than one after the other" % (lost, of)
    text += _better_order(pairs)
    cold = _median([p for p in every if p["cold"]])
    return text + (". With cold operands it %s (median)." % _share(cold) if cold is not None else ".")


def _better_order(pairs: Sequence[Json]) -> str:
    """The faster order, counted by case; orders that do not differ tie."""
    of_case = {p["key"]: p["better_order"] for p in pairs if p["better_order"]}
    if not of_case:
        return ""
    gemm, transfer, ties = (list(of_case.values()).count(word) for word in (*ORDERS, "tie"))
    if ties == len(of_case):
        return ". Neither order is clearly faster in any of %s" % plural(ties, "case")
    return ". Of %s, GEMM first is faster in %d, transfer first in %d, and neither in %d" % (
        plural(len(of_case), "case"),
        gemm,
        transfer,
        ties,
    )


# ------------------------------------------------------------------ the matrix


def _cell(options: Sequence[Tuple[Case, Derived]]) -> Cell:
    """The better of both orders; a flagged one only where there is no valid one."""
    known = [(c, d) for c, d in options if d.value is not None]
    if not known:
        case, derived = options[0]
        return Cell(None, False, derived.reason or "no value")
    case, best = max(known, key=lambda o: (not why_invalid(*o), o[1].value))
    notes = [generic.cell_of(c, d, ORDERS[d.variant] + ": ").note for c, d in known]
    if case.facts.get("better_order") == "tie":
        notes.append("the orders tie")
    return Cell(best.value, not why_invalid(case, best), "; ".join(notes), bool(best.grade))


def matrix(section: Section) -> Tuple[List[str], List[Columns], Dict[Tuple[str, Columns], Cell]]:
    """Shapes, with what else varies, by transfer and copy method."""
    cases = section.cases
    axes = ("type", "shape", "mflop", "size")
    rows = [a for a in axes if a == "shape" or len({c.axes.get(a) for c in cases}) > 1]
    options: Dict[Tuple[str, Columns], List[Tuple[Case, Derived]]] = {}
    for case in cases:
        row = " ".join(str(case.axes[a]) for a in rows if a in case.axes)
        column = (str(case.axes.get("transfer", "")), str(case.axes.get("copy-method", "")))
        for derived in case.derived:
            if derived.name == "fraction_of_ideal" and derived.variant in ORDERS:
                options.setdefault((row, column), []).append((case, derived))
    names = list(dict.fromkeys(row for row, _ in options))
    columns = list(dict.fromkeys(column for _, column in options))
    return names, columns, {place: _cell(found) for place, found in options.items()}


def _who_pays(pairs: Sequence[Json]) -> List[Figure]:
    rows = [
        {
            "case": p["key"],
            "order": ORDERS[p["order"]],
            "class": str(p["class"] or "–"),
            "slowed side": str(p["slowed_side"] or "–"),
            "S": human(p["S"]),
            "S ideal": human(p["S_ideal"]),
            "fraction": human(p["fraction_of_ideal"]),
            "CIL GEMM": human(p["cil_gemm"]),
            "CIL transfer": human(p["cil_transfer"]),
        }
        for p in pairs[:MAX_ROWS]
    ]
    caption = (
        "CIL: time of one side while the other runs / its time alone. G-long, C-long: alone, the GEMM or the "
        "transfer takes over 1.15 times as long as the other."
    )
    return table(rows, caption + generic.hidden_text(len(pairs) - len(rows), "row", "the records"), 4)


def figures(section: Section) -> List[Figure]:
    rows, columns, cells = matrix(section)
    if not cells:
        return []
    grid: List[List[Optional[Cell]]] = [[cells.get((row, column)) for column in columns] for row in rows]
    caption = FORMULA + (
        ", with t_g and t_c the times of the GEMM and of the transfer alone. Each cell has the better order "
        "of enqueueing, its tooltip both. 1: the shorter side is hidden completely. 0: overlapped takes as "
        "long as one after the other; below 0 (warm colours): longer. –: nothing to gain, or not measured. "
        + TAGS
    )
    heat = draw_heat(
        rows,
        ["%s\n%s" % (way(transfer), method) for transfer, method in columns],
        grid,
        "shape",
        "transfer and copy method",
        heat=lambda v: -v,
        what="fraction of ideal",
    )
    return [Panels([heat], caption, wide=True), *_who_pays(section.results["pairs"])]


SPEC = SectionSpec("Overlap of a GEMM with a transfer", results, summary, figures)
