# SPDX-License-Identifier: BSD-3-Clause
"""overlap/pair: what a product and a transfer gain from running at once, as a share of what there is to gain, and who pays."""

from __future__ import annotations

import statistics
from typing import Dict, List, Optional, Sequence, Tuple

from reports.charts import Cell, draw_heat
from reports.curves import why_invalid
from reports.effects import generic
from reports.jsonl import Json
from reports.quantity import digits, human_interval, plural
from reports.records import Case, Derived
from reports.section import Effect, Figure, Panels, Section, Table

FORMULA = "fraction of ideal = (S - 1) / (S_ideal - 1); S = serial / both at once; S_ideal = (t_g + t_c) / max(t_g, t_c)"
ORDERS = {"gemm_first": "product first", "transfer_first": "transfer first"}
MAX_ROWS = 60

Columns = Tuple[str, str]


def _value(case: Case, name: str, variant: Optional[str]) -> Optional[float]:
    """A valid value of the case, or nothing."""
    return next((d.value for d in case.derived if d.name == name and d.variant == variant and not why_invalid(case, d)), None)


def _pair(case: Case, derived: Derived) -> Json:
    order = derived.variant or ""
    return {"key": case.key, "transfer": str(case.axes.get("transfer", "")), "mover": str(case.axes.get("mover", "")),
            "order": order, "class": case.facts.get("class"), "fraction_of_ideal": derived.value, "ci_low": derived.ci_low,
            "ci_high": derived.ci_high, "S": _value(case, "S", order), "S_ideal": _value(case, "S_ideal", None),
            "cil_gemm": _value(case, "CIL", "gemm_in_" + order), "cil_transfer": _value(case, "CIL", "transfer_in_" + order),
            "exposed_tail_s": _value(case, "exposed_tail", order), "who_paid": case.facts.get("who_paid_" + order)}


def findings(section: Section) -> Json:
    pairs = [_pair(c, d) for c, d in section.values("fraction_of_ideal") if d.variant in ORDERS and not why_invalid(c, d)]
    return {"formula": FORMULA, "pairs": pairs}


def _median(pairs: Sequence[Json]) -> Optional[float]:
    return statistics.median(p["fraction_of_ideal"] for p in pairs) if pairs else None


def reading(section: Section) -> str:
    pairs = section.findings["pairs"]
    if not pairs:
        return generic.nothing(section)
    engine = _median([p for p in pairs if p["mover"] == "engine"])
    kernel = _median([p for p in pairs if p["mover"].startswith("kernel")])
    sides = ["%s %s" % (name, digits(value)) for name, value in (("an engine moves the bytes", engine), ("a kernel does", kernel))
             if value is not None]
    text = "Of what running a product beside a transfer could gain it gains, where " + " and where ".join(sides)
    first, other = (_median([p for p in pairs if p["order"] == order]) for order in ORDERS)
    if first is not None and other is not None:
        text += "; enqueueing the transfer first gives %s, the product first %s" % (digits(other), digits(first))
    lost = [p for p in pairs if p["fraction_of_ideal"] < 0]
    if lost:
        text += "; %s of %d would be better one after the other" % (len(lost), len(pairs))
    return text + " (1 is all, medians)."


# ------------------------------------------------------------------ the matrix


def _cell(options: Sequence[Tuple[Case, Derived]]) -> Cell:
    """The better of both orders counts; a flagged one only where there is no other."""
    known = [(c, d) for c, d in options if d.value is not None]
    if not known:
        case, derived = options[0]
        return Cell(None, False, str(case.facts.get("no_fraction_of_ideal") or derived.reason or "no value"))
    case, best = max(known, key=lambda o: (not why_invalid(*o), o[1].value))
    notes = []
    for one, derived in known:
        interval = human_interval(derived.ci_low, derived.ci_high, derived.value, "")
        why = why_invalid(one, derived)
        notes.append("%s: %s%s%s" % (ORDERS[derived.variant], digits(derived.value), " (%s)" % interval if interval else "",
                                     "; " + why if why else ""))
    return Cell(best.value, not why_invalid(case, best), "; ".join(notes))


def matrix(section: Section) -> Tuple[List[str], List[Columns], Dict[Tuple[str, Columns], Cell]]:
    """Shapes, with what else varies, by transfer and mover."""
    cases = section.group.cases.values()
    rows = [a for a in ("type", "shape", "mflop", "size") if a == "shape" or len({c.axes.get(a) for c in cases}) > 1]
    options: Dict[Tuple[str, Columns], List[Tuple[Case, Derived]]] = {}
    for case in cases:
        for derived in case.derived:
            if derived.name == "fraction_of_ideal" and derived.variant in ORDERS:
                row = " ".join(str(case.axes[a]) for a in rows if a in case.axes)
                column = (str(case.axes.get("transfer", "")), str(case.axes.get("mover", "")))
                options.setdefault((row, column), []).append((case, derived))
    names = list(dict.fromkeys(row for row, _ in options))
    columns = list(dict.fromkeys(column for _, column in options))
    return names, columns, {place: _cell(found) for place, found in options.items()}


def _number(value: Optional[float]) -> str:
    return "–" if value is None else digits(value)


def _who_pays(pairs: Sequence[Json]) -> Table:
    rows = [[p["key"], ORDERS[p["order"]], str(p["class"] or "–"), str(p["who_paid"] or "–"), _number(p["S"]),
             _number(p["S_ideal"]), _number(p["fraction_of_ideal"]), _number(p["cil_gemm"]), _number(p["cil_transfer"])]
            for p in pairs[:MAX_ROWS]]
    hidden = len(pairs) - len(rows)
    caption = "CIL: a side's time beside the other / its time alone. G-long, C-long: a side takes over 1.15× the other's time."
    return Table(["case", "order", "class", "who paid", "S", "S ideal", "fraction", "CIL product", "CIL transfer"], rows,
                 caption + (" %s more in the records." % plural(hidden, "row") if hidden > 0 else ""), 4)


def figures(section: Section) -> List[Figure]:
    rows, columns, cells = matrix(section)
    if not cells:
        return generic.figures(section)
    grid: List[List[Optional[Cell]]] = [[cells.get((row, column)) for column in columns] for row in rows]
    caption = FORMULA + (". Each cell is the better order of enqueueing, the other one shows on demand. 1: the shorter side is "
                         "hidden whole; 0 and warm below: one after the other is as fast, or faster; \"–\": nothing to gain, or "
                         "not measured; \"?\": flagged invalid.")
    heat = draw_heat(rows, ["\n".join(column) for column in columns], grid, "shape", "transfer and mover", heat=lambda v: -v)
    shown: List[Figure] = [Panels([heat], caption, wide=True)]
    return shown + ([_who_pays(section.findings["pairs"])] if section.findings["pairs"] else [])


EFFECT = Effect("Overlap: a product beside a transfer", findings, reading, figures)
