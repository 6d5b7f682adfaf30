# SPDX-License-Identifier: BSD-3-Clause
"""Warm and cold operands: the axis `operands` of programs whose cases find their data in a cache, if it fits,
or in none."""

from __future__ import annotations

from typing import List, Sequence

from reports.records.jsonl import Json
from reports.records.records import Case

COLD = "cold operands"


def is_cold(case: Case) -> bool:
    return case.axes.get("operands") == "cold"


def with_operands(text: str, case: Case) -> str:
    """The name of a case, with the condition if it is not the usual one."""
    return "%s, %s" % (text, COLD) if is_cold(case) else text


def one_condition(rows: Sequence[Json]) -> List[Json]:
    """Rows that a count or a median may join: the warm ones, or all where every one is cold."""
    return [r for r in rows if not r["cold"]] or list(rows)
