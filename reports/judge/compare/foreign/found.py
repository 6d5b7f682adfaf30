# SPDX-License-Identifier: BSD-3-Clause
"""Results of another tool as its reader returns them: in base units, one value for each metric."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

from reports.judge.compare.numbers import Number
from reports.records.jsonl import LARGEST, SMALLEST, BadRecord, clean, is_number
from reports.records.quantity import bounded, plural

MAX_METRICS = 200000  # of a file
MAX_NAME = 400  # characters
_MAX_DIGITS = 400
_MAX_LISTED = 8  # names in one such text
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = ("nan", "inf", "infinity")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")

# Units as tools write them: the base unit, and how many of it one is.
UNITS: dict[str, tuple[str, float]] = {
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
    "us": ("s", 1e-6),
    "µs": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "B/s": ("byte/s", 1.0),
    "kB/s": ("byte/s", 1e3),
    "MB/s": ("byte/s", 1e6),
    "GB/s": ("byte/s", 1e9),
    "TB/s": ("byte/s", 1e12),
}


class Column(NamedTuple):
    """Column of a table; `unit` is empty if it has no measurement."""

    title: str
    name: str = ""
    unit: str = ""
    better: str | None = None
    factor: float = 1.0


def lines_in(text: str) -> Iterator[tuple[int, str]]:
    """Each line with its number, without spaces around it and characters that cannot be shown."""
    for number, line in enumerate(text.split("\n"), 1):
        yield number, clean(line).strip()


def number_in(text: str) -> float | None:
    """The number, or None. One that is not finite is a number here, and missing from its metric later."""
    text = text.strip(" ")
    if len(text) > _MAX_DIGITS:
        return None
    if text.lower().lstrip("+-") in _NOT_FINITE:
        return math.nan
    return float(text) if _NUMBER.fullmatch(text) else None


def cell_in(text: str, line: int) -> float:
    """The number in a cell of a table. BadRecord if it is none."""
    value = number_in(text)
    if value is None:
        raise BadRecord("line %d has a column that is not a number" % line)
    return value


def check_cells(cells: Sequence[str], count: int, line: int) -> None:
    """BadRecord if a row has another number of cells."""
    if len(cells) != count:
        raise BadRecord("line %d has %s, not %d" % (line, plural(len(cells), "column"), count))


def iso_date(text: str) -> str:
    """The date in the format of ISO 8601; empty if the text is no date."""
    match = _DATE.fullmatch(text)
    return "%sT%s%s" % (match[1], match[2], (match[3] or "").replace("Z", "+00:00")) if match else ""


def listed(names: Iterable[str]) -> str:
    """Each name once, in order."""
    once = list(dict.fromkeys(name for name in names if name))
    more = len(once) - _MAX_LISTED
    return bounded(", ".join(once[:_MAX_LISTED] + ["%d more" % more] * (more > 0)))


def counted(names: Iterable[str]) -> str:
    """ "8 × NVIDIA H100"."""
    counts = Counter(name for name in names if name)
    return listed("%d × %s" % (count, name) for name, count in counts.items())


@dataclass
class Metrics:
    """The values of each metric in a file. Several values of one are repetitions in one run: their median
    counts."""

    values: dict[str, list[float]] = field(default_factory=dict)
    kinds: dict[str, Number] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)  # the line where the table of a metric begins
    table: int = 0  # the one being read; stays 0 where a tool itself says what is a repetition

    def add(
        self,
        name: str,
        value: Any,
        unit: str,
        better: str | None,
        reason: str = "",
        factor: float = 1.0,
        **more: Any,
    ) -> None:
        """Add a value of a metric. `factor`: base units in one of the tool's. `more`: other fields of Number.
        The value of a metric of which one repetition has a reason is missing: it would be a median of those
        that went well."""
        name, kind = bounded(clean(name), MAX_NAME), Number(None, unit, better, **more)
        self.refuse_second_table(name)
        before = self.kinds.setdefault(name, kind)
        if (before.unit, before.better) != (kind.unit, kind.better):
            raise BadRecord("the metric '%s' has two units" % bounded(name, 80))
        if len(self.kinds) > MAX_METRICS:
            raise BadRecord("more than %s" % plural(MAX_METRICS, "metric"))
        value = value * factor if is_number(value) else None
        reason = reason or self._why_unusable(value)
        if reason:
            self.reasons[name] = bounded(clean(reason))
        elif value is not None:
            self.values.setdefault(name, []).append(value)

    def refuse_second_table(self, name: str) -> None:
        """BadRecord if another table has the metric. Two tables are no repetitions: ranks, environment and
        other conditions, which no table has, may differ."""
        first = self.tables.setdefault(name, self.table)
        if first != self.table:
            raise BadRecord(
                "%s is in two tables, from lines %d and %d, whose conditions may differ: give a file a run"
                % (bounded(name, 100), first, self.table)
            )

    def invalidate(self, reason: str, table: int | None = None) -> None:
        """Give every number, of the table or of the file, this reason for being missing."""
        for name in self.kinds:
            if table is None or self.tables[name] == table:
                self.reasons.setdefault(name, bounded(clean(reason)))

    @staticmethod
    def _why_unusable(value: float | None) -> str:
        if value is None:
            return "no value"
        if not math.isfinite(value):
            return "not a finite number"
        is_usual = value == 0 or SMALLEST <= abs(value) <= LARGEST
        return "" if is_usual else "too large or too small to be a measurement"

    def numbers(self) -> dict[str, Number]:
        return {
            name: replace(kind, reason=self.reasons[name])
            if name in self.reasons
            else replace(kind, value=median(self.values[name]))
            for name, kind in self.kinds.items()
        }


@dataclass
class Found:
    """One run."""

    source: str
    metrics: Metrics = field(default_factory=Metrics)
    started: str = ""
    machine: str = ""
    device: str = ""
    provenance: dict[str, str] = field(default_factory=dict)

    def state_devices(self, names: Sequence[str]) -> None:
        """Record the devices of the run; one name for each."""
        self.device, self.machine = listed(sorted(set(names))), counted(names)
        self.state("machine: devices", self.machine)

    def state(self, key: str, value: Any) -> None:
        """Record a fact of the run, "KIND: NAME" (judge/compare/provenance.py), unless it is unknown. Tables
        that differ in it make a list."""
        words = {None: "", True: "yes", False: "no"}
        text = words[value] if value is None or isinstance(value, bool) else clean(str(value)).strip()
        key = bounded(clean(key), 80)
        before = self.provenance.get(key, "")
        if text and text not in before.split(", "):
            self.provenance[key] = bounded(", ".join(t for t in (before, text) if t))
