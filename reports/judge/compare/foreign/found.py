# SPDX-License-Identifier: BSD-3-Clause
"""What a reader of another tool's output hands back, and how its values become numbers: base units, one value
a metric."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from reports.judge.compare.numbers import Number
from reports.records.jsonl import LARGEST, SMALLEST, BadRecord, clean, is_number
from reports.records.quantity import plural

MAX_METRICS = 200000  # of a file
MAX_NAME = 400  # characters
_MAX_DIGITS = 400
_MAX_FACT = 200  # characters of a text about the run
_MAX_LISTED = 8  # names in one such text
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = ("nan", "inf", "infinity")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")

# Units as tools write them: the base unit, and how many of it one is.
UNITS: Dict[str, Tuple[str, float]] = {
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


def lines_in(text: str) -> Iterator[Tuple[int, str]]:
    """Each line by its number, without what surrounds it and what cannot be shown."""
    for number, line in enumerate(text.split("\n"), 1):
        yield number, clean(line).strip()


def number_in(text: str) -> Optional[float]:
    """None where the text is no number. What is not finite is one, and is missing from its metric later."""
    text = text.strip(" ")
    if len(text) > _MAX_DIGITS:
        return None
    if text.lower().lstrip("+-") in _NOT_FINITE:
        return math.nan
    return float(text) if _NUMBER.fullmatch(text) else None


def iso_date(text: str) -> str:
    """Empty where it is no date."""
    match = _DATE.fullmatch(text)
    return (
        "%sT%s%s" % (match.group(1), match.group(2), (match.group(3) or "").replace("Z", "+00:00"))
        if match
        else ""
    )


def bounded(text: str, most: int = _MAX_FACT) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """Each name once, in order."""
    once = list(dict.fromkeys(name for name in names if name))
    return bounded(
        ", ".join(
            once[:_MAX_LISTED] + (["%d more" % (len(once) - _MAX_LISTED)] if len(once) > _MAX_LISTED else [])
        )
    )


def counted(names: Iterable[str]) -> str:
    """ "8 × NVIDIA H100"."""
    counts = Counter(name for name in names if name)
    return listed("%d × %s" % (count, name) for name, count in counts.items())


@dataclass
class Metrics:
    """The values of each metric in a file. Several values of one are repetitions in one run: their median
    counts."""

    values: Dict[str, List[float]] = field(default_factory=dict)
    kinds: Dict[str, Number] = field(default_factory=dict)
    reasons: Dict[str, str] = field(default_factory=dict)
    tables: Dict[str, int] = field(default_factory=dict)  # the line where the table of a metric begins
    table: int = 0  # the one being read; stays 0 where a tool itself says what is a repetition

    def add(self, name: str, value: Any, kind: Number, reason: str = "", factor: float = 1.0) -> None:
        """`kind` is the number without a value, and `factor` how many of its unit one of the tool's is. One
        repetition with a reason, and the value is missing: it would be a median of those that went well."""
        name = bounded(clean(name), MAX_NAME)
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
        """Two tables are no repetitions: ranks, variables of the environment and others are in no table, and
        may differ."""
        first = self.tables.setdefault(name, self.table)
        if first != self.table:
            raise BadRecord(
                "%s is in two tables, from lines %d and %d, whose conditions may differ: give a file a run"
                % (bounded(name, 100), first, self.table)
            )

    def invalidate(self, reason: str, table: Optional[int] = None) -> None:
        """No number counts, of the table or of the file."""
        for name in self.kinds:
            if table is None or self.tables[name] == table:
                self.reasons.setdefault(name, bounded(clean(reason)))

    @staticmethod
    def _why_unusable(value: Optional[float]) -> str:
        if value is None:
            return "no value"
        if not math.isfinite(value):
            return "not a finite number"
        return (
            ""
            if value == 0 or SMALLEST <= abs(value) <= LARGEST
            else "too large or too small to be a measurement"
        )

    def numbers(self) -> Dict[str, Number]:
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
    provenance: Dict[str, str] = field(default_factory=dict)

    def state(self, key: str, value: Any) -> None:
        """A fact of the run, "KIND: NAME" (judge/compare/provenance.py); what is not known is left out.
        Tables that differ in it have a list of what each says."""
        text = (
            ""
            if value is None
            else "yes"
            if value is True
            else "no"
            if value is False
            else clean(str(value)).strip()
        )
        key = bounded(clean(key), 80)
        before = self.provenance.get(key, "")
        if text and text not in before.split(", "):
            self.provenance[key] = bounded(", ".join(t for t in (before, text) if t))
