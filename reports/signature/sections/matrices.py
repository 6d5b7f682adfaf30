# SPDX-License-Identifier: BSD-3-Clause
"""Heat maps of one section. Those alike are drawn once; one that holds a single value is a sentence, and its
drawing is folded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Callable, List, Optional, Sequence, Tuple

from reports.page.charts import Cell
from reports.records.quantity import digits, human, in_brackets, listing
from reports.records.records import Derived
from reports.signature.section import Figure, Panels, Table

ALIKE = 1.01  # the largest over the smallest of values that are told as one


def cell_of(derived: Derived, why: str, factor: float) -> Cell:
    """A value in a unit of `factor`; its tooltip has the interval and why it is not valid."""
    interval = in_brackets(derived.ci_low, derived.ci_high, derived.value, derived.unit)
    note = human(derived.value, derived.unit) + interval + ("; " + why if why else "")
    return Cell(derived.value / factor, not why, note)


def slow_is_warm(middle: float, unit: str) -> Callable[[float], float]:
    """Colours of a heat map: half of the middle one's rate, or twice its time, is as warm as it gets."""
    sign = 1.0 if unit == "s" else -1.0
    return lambda value: max(-1.0, min(1.0, sign * math.log2(value / middle)))


@dataclass(frozen=True)
class Matrix:
    """`draw` takes the name that stands above the columns. `side`: what a row is. Names are "kernel, one
    way": the parts that differ are joined."""

    name: str
    side: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Optional[Cell]]]
    unit: str
    draw: Callable[[str], str]

    def known(self) -> List[Cell]:
        return [c for row in self.cells for c in row if c and c.value is not None]

    def flat(self) -> bool:
        return len(self.known()) > 1 and _alike(self.known())

    def frame(self) -> Tuple[object, ...]:
        return self.side, self.rows, self.columns, self.unit

    def like(self, other: "Matrix") -> bool:
        """True if each value has its equal at the same place."""
        if self.frame() != other.frame():
            return False
        pairs = [pair for rows in zip(self.cells, other.cells) for pair in zip(*rows)]
        return all(a is b is None or (a and b and _alike([a, b])) for a, b in pairs)


def _alike(cells: Sequence[Cell]) -> bool:
    values = [c.value for c in cells if c.value is not None and c.valid and not c.graded]
    return len(values) == len(cells) and 0 < max(values) <= ALIKE * min(values)


def _joined(names: Sequence[str]) -> str:
    heads, tails = (list(dict.fromkeys(part)) for part in zip(*(n.partition(", ")[::2] for n in names)))
    if len(heads) > 1 and len(tails) > 1:
        return "; ".join(names)
    return ", ".join(t for t in (listing(heads, len(heads)), listing(tails, len(tails))) if t)


def _said(name: str, matrix: Matrix, noun: str) -> List[str]:
    known = matrix.known()
    value = " ".join(t for t in (digits(median(c.value or 0.0 for c in known)), matrix.unit) if t)
    return [name, value, "each of %d %s" % (len(known), noun)]


def figures(matrices: Sequence[Matrix], caption: str, noun: str) -> List[Figure]:
    """`noun`: what a cell is, as "pairs"."""
    groups: List[List[Matrix]] = []
    for matrix in matrices:
        group = next((g for g in groups if g[0].like(matrix)), None)
        if group:
            group.append(matrix)
        else:
            groups.append([matrix])
    named = [(_joined([m.name for m in group]), group[0]) for group in groups]
    uneven = [m.draw(name) for name, m in named if not m.flat()]
    flat = [(name, m) for name, m in named if m.flat()]
    rows = [_said(name, m, noun) for name, m in flat]
    shown: List[Figure] = []
    if uneven:
        alike = "; ".join("%s: %s in %s" % (row[0], row[1], row[2]) for row in rows)
        shown.append(Panels(uneven, caption + (" All the same, to 1 %%: %s." % alike if alike else ""), True))
    elif rows:
        shown.append(Table(["all the same, to 1 %", "value", "of"], rows, "", 1, True))
    if flat:
        shown.append(Panels([m.draw(name) for name, m in flat], caption, True, folded=True))
    return shown
