# SPDX-License-Identifier: BSD-3-Clause
"""micro/contention: which workload slows which. CIL(x | y) = t(x with y) / t(x alone), for both sides of every pair."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from reports.charts import Cell, draw_heat
from reports.curves import why_invalid
from reports.jsonl import Json
from reports.quantity import digits, human_interval
from reports.records import Case, Derived
from reports.section import Figure, Panels, Section, SectionSpec
from reports.sections import generic

FORMULA = "CIL(x | y) = time of x with y at once / time of x alone; 1 is no loss"

# The two copy methods: "engine" and "kernel" alone would be ambiguous here.
NAMES = {"engine": "engine copy", "kernel": "kernel copy"}

# The workloads in a sentence.
NOUNS = {"gemm": "a GEMM", "memory": "memory traffic", "compute": "a compute kernel", "engine copy": "an engine copy",
         "kernel copy": "a kernel copy"}

Matrix = Dict[Tuple[str, str], Cell]


def _pair(case: Case, derived: Derived) -> Optional[Tuple[str, str]]:
    """(victim, partner) of a loss. The two are axes "x" and "y", or one axis "x+y"; the variant says which one is the victim."""
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
    victim, partner = axes[sides[0]], axes["y" if sides[0] == "x" else "x"]
    return NAMES.get(victim, victim), NAMES.get(partner, partner)


def matrix(section: Section) -> Matrix:
    """(victim, partner) -> loss. Of two measurements of the same pair the valid one counts, then the first."""
    cells: Matrix = {}
    for case, derived in section.values():
        pair = _pair(case, derived)
        if not pair:
            continue
        why = why_invalid(case, derived)
        interval = human_interval(derived.ci_low, derived.ci_high, derived.value, "")
        note = "%s with %s: %s%s%s" % (pair[0], pair[1], digits(derived.value), " (%s)" % interval if interval else "",
                                         "; " + why if why else "")
        if pair not in cells or (not why and not cells[pair].valid):
            cells[pair] = Cell(derived.value, not why, note)
    return cells


def results(section: Section) -> Json:
    cells = matrix(section)
    return {"formula": FORMULA, "cil": [{"of": victim, "with": partner, "value": cell.value}
                                        for (victim, partner), cell in sorted(cells.items()) if cell.valid]}


def summary(section: Section) -> str:
    losses = sorted(section.results["cil"], key=lambda c: (-c["value"], c["of"], c["with"]))
    if not losses:
        return generic.nothing(section)
    worst = losses[0]
    if worst["value"] < 1.05:
        return "Nothing here slows anything else by more than 5 %% (worst: %s with %s, %s×)." % (
            *(NOUNS.get(worst[side], worst[side]) for side in ("of", "with")), digits(worst["value"]))
    partner = "another like it" if worst["with"] == worst["of"] else NOUNS.get(worst["with"], worst["with"])
    victim = NOUNS.get(worst["of"], worst["of"])
    text = "%s is slowed most: %s times as long next to %s" % (victim, digits(worst["value"]), partner)
    back = next((c for c in losses if c["of"] == worst["with"] and c["with"] == worst["of"]), None)
    if back and back is not worst:
        text += ", which itself takes %s times as long" % digits(back["value"])
    free = [c for c in losses if c["value"] < 1.05]
    if not free:
        return text + "; all %d measured combinations are slowed by 5 %% or more." % len(losses)
    return text + "; %d of %d measured combinations are slowed by less than 5 %%." % (len(free), len(losses))


def figures(section: Section) -> List[Figure]:
    cells = matrix(section)
    if not cells:
        return generic.figures(section)
    victims = list(dict.fromkeys(of for of, _ in cells))
    partners = [n for n in victims if any(partner == n for _, partner in cells)]
    partners += [b for b in dict.fromkeys(partner for _, partner in cells) if b not in partners]
    grid: List[List[Optional[Cell]]] = [[cells.get((victim, partner)) for partner in partners] for victim in victims]
    caption = FORMULA + (". A row shows how each partner slows one workload, a column how one partner slows each workload. "
                         "Warm: slower; \"?\": flagged invalid.")
    return [Panels([draw_heat(victims, partners, grid, "time of", "next to")], caption, wide=True)]


SPEC = SectionSpec("Contention: who slows whom?", results, summary, figures)
