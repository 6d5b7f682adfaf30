# SPDX-License-Identifier: BSD-3-Clause
"""One program on one device, as the signature holds it and the report shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, List, Mapping, Optional, Sequence, Tuple, Union

from reports.page.charts import LineChart, drawn_to_width
from reports.records.curves import Curve
from reports.records.jsonl import Json
from reports.records.records import Case, Derived, Group


@dataclass(frozen=True)
class Finding:
    """Something wrong with the machine that its owner should know first: "Slow pair.", "3 to 5 copies at a
    quarter of ..."."""

    head: str
    text: str


@dataclass
class Section:
    group: Group
    curves: List[Curve]
    title: str = ""
    results: Json = field(default_factory=dict)
    summary: str = ""
    findings: List[Finding] = field(default_factory=list)
    others: Mapping[str, Group] = field(default_factory=dict)  # every program on this device, by name

    @property
    def device(self) -> Mapping[str, object]:
        return self.group.run.devices[0] if self.group.run.devices else {}

    def capacity(self, key: str) -> float:
        """A number of the device; 0 where it is unknown."""
        value = self.device.get(key)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0

    def caches(self, units: float = 1.0) -> List[Tuple[str, float]]:
        """Name and bytes of each level that the device states, of so many units, as far as they grow."""
        levels: List[Tuple[str, float]] = []
        for name, key, count in (
            ("L1", "l1_bytes", units),
            ("L2", "l2_bytes", units),
            ("LLC", "llc_bytes", 1.0),
        ):
            if self.capacity(key) * count > (levels[-1][1] if levels else 0.0):
                levels.append((name, self.capacity(key) * count))
        return levels

    def curves_of(self, *derived: str) -> List[Curve]:
        return [c for c in self.curves if c.derived in derived]

    @property
    def cases(self) -> List[Case]:
        return list(self.group.cases.values())

    def values(self, *names: str) -> List[Tuple[Case, Derived]]:
        """Every value of these quantities, valid or not."""
        return [
            (c, d)
            for c in self.group.cases.values()
            for d in c.derived
            if d.value is not None and (not names or d.name in names)
        ]


# ------------------------------------------------------------------ what the report draws


@dataclass
class Panels:
    """Charts side by side; those that are drawn already are SVG."""

    charts: Sequence[Union[LineChart, str]]
    caption: str = ""
    wide: bool = False
    folded: bool = False  # on demand: what it shows is said elsewhere

    @property
    def columns(self) -> str:
        """The number of line charts side by side, in a word, if it is known: drawings keep their own
        width."""
        lines = not any(isinstance(c, str) for c in self.charts)
        return {1: "one", 2: "two", 4: "two"}.get(len(self.charts), "") if lines else ""

    def drawn(self) -> List[str]:
        """The charts as SVG; line charts share the width of the page."""
        return [c if isinstance(c, str) else drawn_to_width(c, len(self.charts)) for c in self.charts]


@dataclass
class Bar:
    label: str
    value: float
    unit: str
    low: Optional[float] = None
    high: Optional[float] = None
    n: int = 0
    of: Optional[float] = None  # the value of a full bar
    of_name: str = ""
    why_invalid: str = ""
    grade: str = ""  # "noisy", "contended"
    grade_reason: str = ""
    hint: str = ""  # a tooltip: how the number was derived
    source: str = ""  # where the width of the interval comes from


@dataclass
class Bars:
    rows: List[Bar]
    caption: str = ""
    head: str = ""
    graph_head: str = "of its limit"


@dataclass
class Table:
    """Cells are ready text. The first `words` columns, and the last one if `prose`, are text; the others are
    numbers."""

    heads: Sequence[str]
    rows: List[Sequence[str]]
    caption: str = ""
    words: int = 1
    prose: bool = False


Figure = Union[Panels, Bars, Table]


def table(
    rows: Sequence[Mapping[str, str]], caption: str = "", words: int = 1, prose: bool = False
) -> List[Figure]:
    """A table of rows that name their columns, "–" where a row lacks one; nothing without rows."""
    heads = list(dict.fromkeys(head for row in rows for head in row))
    cells = [[row.get(head, "–") for head in heads] for row in rows]
    return [Table(heads, cells, caption, words, prose)] if rows else []


@dataclass(frozen=True)
class SectionSpec:
    """A section of one program: its results, a summary in a sentence, its figures."""

    title: str
    results: Callable[[Section], Json]
    summary: Callable[[Section], str]
    figures: Callable[[Section], List[Figure]]
    findings: Callable[[Section], List[Finding]] = lambda section: []  # for the first screen
    measured: bool = True  # False: a model or a simulation; its numbers are in its results and in no metric
