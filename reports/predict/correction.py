# SPDX-License-Identifier: BSD-3-Clause
"""Corrections of predicted schedules by how far the model was off in those that the run measured.

A model may lack what makes one schedule slower than another, such as cores that copies take from GEMMs. That
is much alike in all shapes, so the mean of measured over modelled times of a schedule with its copy method
corrects its predictions: apart for exchanges before the GEMM and after it, as C is sent in other pieces than
A. The mean is that of logarithms: then the ratio of two schedules is corrected by the mean of the same.
"""

from __future__ import annotations

import statistics
from typing import Mapping, NamedTuple, Sequence

from reports.records.jsonl import Json
from reports.records.records import axes_in

LEAST = 3  # shapes; fewer may be chance
_MOST = 1000  # times; what a model is off by more is no error of a schedule

_Alike = tuple[str, str, str]  # exchange, copy method and schedule


class Off(NamedTuple):
    """A time of one case: the measured one by that on the model."""

    key: str
    schedule: str
    ratio: float


def exchange_of(op: str) -> str:
    """The time of the exchange: "after" the GEMM that makes C, or "before" that which reads A."""
    return "after" if op.startswith("gemm-") else "before"


def is_ratio(ratio: float) -> bool:
    """True for one that a correction may have."""
    return 1 / _MOST <= ratio <= _MOST


def made_of(found: Sequence[Off]) -> list[Json]:
    """Rows of prediction.json, of the schedules that were measured in enough shapes."""
    alike: dict[_Alike, dict[str, list[float]]] = {}
    for off in found:
        axes = axes_in(off.key)
        kind = (exchange_of(axes.get("op", "")), axes.get("copy-method", ""), off.schedule)
        alike.setdefault(kind, {}).setdefault(axes.get("shape", ""), []).append(off.ratio)
    rows = [
        {
            "exchange": exchange,
            "copy_method": method,
            "schedule": schedule,
            "ratio": statistics.geometric_mean(ratio for own in shapes.values() for ratio in own),
            "shapes": len(shapes),
        }
        for (exchange, method, schedule), shapes in alike.items()
        if len(shapes) >= LEAST
    ]
    return rows if all(is_ratio(row["ratio"]) for row in rows) else []


class Corrections:
    """Those of rows of prediction.json. A schedule of which there is none takes the mean of its exchange;
    where there are none, nothing is corrected."""

    def __init__(self, rows: Sequence[Json]) -> None:
        self._of = {(row["exchange"], row["copy_method"], row["schedule"]): row["ratio"] for row in rows}
        self._all: dict[str, list[float]] = {}
        for row in rows:
            self._all.setdefault(row["exchange"], []).append(row["ratio"])

    @property
    def empty(self) -> bool:
        return not self._of

    def of(self, op: str, method: str, schedule: str) -> float:
        exchange = exchange_of(op)
        own = self._of.get((exchange, method, schedule))
        return own if own is not None else statistics.geometric_mean(self._all.get(exchange, [1.0]))

    def range_of(self, op: str) -> tuple[float, float]:
        """The least and the most of an exchange."""
        found = self._all.get(exchange_of(op), [1.0])
        return min(found), max(found)

    def corrected(self, key: str, times: Mapping[str, float]) -> dict[str, float]:
        """The times of a case by schedule."""
        axes = axes_in(key)
        op, method = axes.get("op", ""), axes.get("copy-method", "")
        return {name: seconds * self.of(op, method, name) for name, seconds in times.items()}
