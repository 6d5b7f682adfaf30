# SPDX-License-Identifier: BSD-3-Clause
"""micro/contention: who slows whom. CIL(x | y) = t(x beside y) / t(x alone), for both sides of every pair."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from reports.charts import Cell, draw_heat
from reports.curves import why_invalid
from reports.effects import generic
from reports.jsonl import Json
from reports.quantity import digits, human_interval
from reports.records import Case, Derived
from reports.section import Effect, Figure, Panels, Section

FORMULA = "CIL(x | y) = time of x beside y / time of x alone; 1 is no loss"

# The two ways to copy, which as bare words are taken for a machine's engine and any kernel.
NAMES = {"engine": "engine copy", "kernel": "kernel copy"}

Matrix = Dict[Tuple[str, str], Cell]


def _pair(case: Case, derived: Derived) -> Optional[Tuple[str, str]]:
    """(victim, partner) of a loss. The two are axes "x" and "y", or one axis "x+y"; the variant says who is meant."""
    words = re.split(r"[^a-z]+", (derived.name + " " + (derived.variant or "")).lower())
    if "cil" not in words:
        return None
    sides = [w for w in words if w in ("x", "y")]
    axes = {k: str(v) for k, v in case.axes.items()}
    joined = next((v.split("+") for v in axes.values() if v.count("+") == 1), None)
    if "x" not in axes and joined:
        axes["x"], axes["y"] = joined
    if not sides or "x" not in axes or "y" not in axes:
        return None
    of, beside = axes[sides[0]], axes["y" if sides[0] == "x" else "x"]
    return NAMES.get(of, of), NAMES.get(beside, beside)


def matrix(section: Section) -> Matrix:
    """(victim, partner) -> loss. Of two measurements of the same pair the valid one counts, then the first."""
    cells: Matrix = {}
    for case, derived in section.values():
        pair = _pair(case, derived)
        if not pair:
            continue
        why = why_invalid(case, derived)
        interval = human_interval(derived.ci_low, derived.ci_high, derived.value, "")
        note = "%s beside %s: %s%s%s" % (pair[0], pair[1], digits(derived.value), " (%s)" % interval if interval else "",
                                         "; " + why if why else "")
        if pair not in cells or (not why and not cells[pair].valid):
            cells[pair] = Cell(derived.value, not why, note)
    return cells


def findings(section: Section) -> Json:
    cells = matrix(section)
    return {"formula": FORMULA, "cil": [{"of": of, "beside": beside, "value": cell.value}
                                        for (of, beside), cell in sorted(cells.items()) if cell.valid]}


def reading(section: Section) -> str:
    losses = sorted(section.findings["cil"], key=lambda c: (-c["value"], c["of"], c["beside"]))
    if not losses:
        return generic.nothing(section)
    worst = losses[0]
    if worst["value"] < 1.05:
        return "Nothing here slows anything else by more than 5 %% (worst: %s beside %s, %s×)." % (
            worst["of"], worst["beside"], digits(worst["value"]))
    beside = "another like it" if worst["beside"] == worst["of"] else worst["beside"]
    text = "%s suffers most: %s× its time beside %s" % (worst["of"], digits(worst["value"]), beside)
    back = next((c for c in losses if c["of"] == worst["beside"] and c["beside"] == worst["of"]), None)
    if back and back is not worst:
        text += ", which pays %s× itself" % digits(back["value"])
    free = [c for c in losses if c["value"] < 1.05]
    return text + "; %d of %d sides pay less than 5 %%." % (len(free), len(losses))


def figures(section: Section) -> List[Figure]:
    cells = matrix(section)
    if not cells:
        return generic.figures(section)
    victims = list(dict.fromkeys(of for of, _ in cells))
    partners = [n for n in victims if any(beside == n for _, beside in cells)]
    partners += [b for b in dict.fromkeys(beside for _, beside in cells) if b not in partners]
    grid: List[List[Optional[Cell]]] = [[cells.get((of, beside)) for beside in partners] for of in victims]
    caption = FORMULA + (". A row shows what its effect pays beside each partner, a column what that partner costs the others. "
                         "Warm: slower; \"?\": flagged invalid.")
    return [Panels([draw_heat(victims, partners, grid, "time of", "beside")], caption, wide=True)]


EFFECT = Effect("Contention: who slows whom?", findings, reading, figures)
