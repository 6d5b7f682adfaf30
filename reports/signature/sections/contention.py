# SPDX-License-Identifier: BSD-3-Clause
"""micro/contention: which workload slows which. CIL(x | y) = t(x with y) / t(x alone), for both sides of
every pair."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from reports.page.charts import Cell, draw_heat
from reports.records.curves import interval_of, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import TAGS, digits, in_brackets, listing, plural
from reports.records.records import Case, Derived
from reports.signature.section import Figure, Panels, Section, SectionSpec
from reports.signature.sections import generic

FORMULA = "CIL(x | y) (contention inefficiency loss) = time of x while y runs / time of x alone; 1: no loss"

WHAT = "CIL (concurrent time / time alone)"

# The two copy methods: "engine" and "kernel" alone would be ambiguous here.
NAMES = {"engine": "engine copy", "kernel": "kernel copy"}

# The workloads in a sentence.
NOUNS = {
    "gemm": "a GEMM",
    "memory": "memory traffic",
    "compute": "a compute kernel",
    "engine copy": "an engine copy",
    "kernel copy": "a kernel copy",
}


def _noun(name: str) -> str:
    kind, _, word = name.rpartition(" ")
    return "a GEMM of %s" % kind if word == "gemm" and kind else NOUNS.get(name, name)


def _name(word: str, case: Case) -> str:
    kind = case.axes.get("type") if word == "gemm" else None
    return "%s gemm" % kind if kind else NAMES.get(word, word)


Matrix = Dict[Tuple[str, str], Cell]


def _pair(case: Case, derived: Derived) -> Optional[Tuple[str, str]]:
    """(victim, partner) of a loss. The two are axes "x" and "y", or one axis "x+y"; the variant says which
    one is the victim."""
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
    return _name(victim, case), _name(partner, case)


def _chosen(section: Section) -> Dict[Tuple[str, str], Tuple[Case, Derived]]:
    """(victim, partner) -> loss. Of two measurements of the same pair the valid one counts, then the
    first."""
    found: Dict[Tuple[str, str], Tuple[Case, Derived]] = {}
    for case, derived in section.values():
        pair = _pair(case, derived)
        if pair and (pair not in found or (why_invalid(*found[pair]) and not why_invalid(case, derived))):
            found[pair] = case, derived
    return found


def matrix(section: Section) -> Matrix:
    cells: Matrix = {}
    for pair, (case, derived) in _chosen(section).items():
        cells[pair] = generic.cell_of(case, derived, "%s with %s: " % pair)
    return cells


def results(section: Section) -> Json:
    losses = {pair: found[1] for pair, found in _chosen(section).items() if not why_invalid(*found)}
    rows = [{"of": of, "with": by, **interval_of(losses[of, by])} for of, by in sorted(losses)]
    return {"formula": FORMULA, "cil": rows}


# A name, and its loss with the 95 % interval.
Loss = Tuple[str, float, Optional[float], Optional[float]]


def _low(loss: Loss) -> float:
    return loss[1] if loss[2] is None else loss[2]


def _high(loss: Loss) -> float:
    return loss[1] if loss[3] is None else loss[3]


def slowed_most(losses: List[Loss]) -> List[Loss]:
    """All whose interval reaches that of the largest median, which comes first."""
    worst = max(losses, key=lambda loss: loss[1])
    return [worst] + [loss for loss in losses if loss is not worst and _high(loss) >= _low(worst)]


def _interval(loss: Loss) -> str:
    return "%s times as long%s" % (digits(loss[1]), in_brackets(loss[2], loss[3], loss[1]))


def extremes_text(losses: List[Loss]) -> str:
    """The workload that is slowed most, and how many are slowed; those whose intervals overlap are a tie."""
    most = slowed_most(losses)
    text = "slowed most is %s, which takes %s" % (most[0][0], _interval(most[0]))
    if _high(most[0]) < 1.05:
        return "All measured combinations are slowed by less than 5 %; " + text + "."
    if len(most) > 1:
        text += "; a tie with %s, because their intervals overlap" % listing([loss[0] for loss in most[1:]])
    return text + "; " + _counts_text(losses) + "."


def _counts_text(losses: List[Loss]) -> str:
    slow, free = sum(_low(x) > 1.05 for x in losses), sum(_high(x) < 1.05 for x in losses)
    if slow == len(losses) > 1:
        return "all %d measured combinations are slowed by more than 5 %%" % slow
    unclear = len(losses) - slow - free
    said = ["%s slowed by more than 5 %%" % generic.plural_is(slow)] + (["%d by less" % free] if free else [])
    text = "of %s, %s" % (plural(len(losses), "measured combination"), " and ".join(said))
    return text + ("; for %d the interval contains 5 %%" % unclear if unclear else "")


def _sentence(of: str, partner: str) -> str:
    return "%s next to %s" % (_noun(of), "another like it" if of == partner else _noun(partner))


def summary(section: Section) -> str:
    losses = section.results["cil"]
    if not losses:
        return generic.nothing(section)
    return extremes_text(
        [(_sentence(c["of"], c["with"]), c["value"], c["ci_low"], c["ci_high"]) for c in losses]
    )


def figures(section: Section) -> List[Figure]:
    cells = matrix(section)
    if not cells:
        return []
    victims = list(dict.fromkeys(of for of, _ in cells))
    others = list(dict.fromkeys(partner for _, partner in cells))
    partners = list(dict.fromkeys([*(n for n in victims if n in others), *others]))
    grid = [[cells.get((victim, partner)) for partner in partners] for victim in victims]
    caption = (
        FORMULA
        + ". A row is the workload that is slowed, a column what runs next to it. Warm colours: slower. "
        + TAGS
    )
    return [Panels([draw_heat(victims, partners, grid, "time of", "next to", what=WHAT)], caption, wide=True)]


SPEC = SectionSpec("Contention of concurrent workloads", results, summary, figures)
