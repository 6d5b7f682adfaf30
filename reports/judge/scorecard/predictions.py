# SPDX-License-Identifier: BSD-3-Clause
"""Time of a piece of work on a machine, from one run's signature. Nothing is measured.

GEMMs, alone or with their communication, run in virtual time on the model of the signature, as for advise;
copies and messages are read from the measured curve of the fastest way, time linear between two sizes.
"""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Callable, NamedTuple, Sequence, TypeVar

from reports.advice.answer import answers
from reports.advice.ask import PROGRAM, Adviser, AdviseError, NoAnswer, Sides, Work
from reports.advice.measured import half_interval, way_text
from reports.records.jsonl import Json, is_number
from reports.judge.scorecard.machines import devices_of
from reports.judge.scorecard.workload_file import FUSED, Item
from reports.signature.kept import curves_of, device_of, why_missing
from reports.signature.signature_file import in_words

MAX_EXTRAPOLATION = 64  # beyond the longest measured size
# A normal error in the logarithm exceeds 1.96 / 0.6745 times its median in 5 % of cases.
_OF_A_MEDIAN = 1.96 / 0.6745
_BEYOND = "extrapolated: outside the shapes or sizes that were measured, so its error is not known"
# Collective -> program, quantity, and the bytes a second per byte of the vector that it counts, among p
# devices.
_MESSAGES = {
    "allreduce": ("collectives/device_allreduce", lambda p: 2 * (p - 1) / p),
    "all-gather": ("collectives/device_allgather", lambda p: (p - 1) / p),
    "reduce-scatter": ("collectives/device_reduce_scatter", lambda p: (p - 1) / p),
    "all-to-all": ("collectives/device_all_to_all", lambda p: (p - 1) / p),
}


class Prediction(NamedTuple):
    """`half`: of the 95 % interval, in the logarithm, without what another run would add; None where nobody
    knows."""

    seconds: float
    half: float | None
    notes: tuple[str, ...] = ()


class Unanswered(ValueError):
    """The signature lacks what the work needs; the text says what. `can_be_measured`: by a run that asks for
    it."""

    def __init__(self, text: str, can_be_measured: bool = True) -> None:
        super().__init__(text)
        self.can_be_measured = can_be_measured


# ------------------------------------------------------------------ curves


def _half(point: Json) -> float:
    value, low, high = point["value"], point.get("ci_low"), point.get("ci_high")
    if not (is_number(low) and is_number(high) and 0 < low <= value <= high):
        return 0.0
    return max(math.log(value / low), math.log(high / value))


def _points(curve: Json, bytes_per_byte: float) -> list[tuple[float, float, float]]:
    """(bytes, seconds, half of the interval) by rising size."""
    return sorted(
        (float(p["x"]), p["x"] * bytes_per_byte / p["value"], _half(p))
        for p in curve["points"]
        if is_number(p["x"]) and is_number(p["value"]) and p["x"] > 0 and p["value"] > 0
    )


def at_size(points: Sequence[tuple[float, float, float]], size: float) -> Prediction | None:
    """Time at a size. Beyond the largest one its rate holds; a transfer below the smallest one takes as long
    as that. Nobody knows the error of either."""
    if not points or size > MAX_EXTRAPOLATION * points[-1][0]:
        return None
    if size > points[-1][0]:
        return Prediction(points[-1][1] * size / points[-1][0], None, (_BEYOND,))
    if size < points[0][0]:
        return Prediction(points[0][1], None, (_BEYOND,))
    if len(points) == 1:
        return Prediction(points[0][1], points[0][2])
    pairs = zip(points, points[1:])
    (x1, y1, h1), (x2, y2, h2) = next(pair for pair in pairs if pair[0][0] <= size <= pair[1][0])
    return Prediction(y1 + (y2 - y1) * (size - x1) / (x2 - x1), max(h1, h2))


def _fastest(
    found: dict[str, list[tuple[float, float, float]]], size: float, program: str, why: str
) -> Prediction:
    known = {way: at for way, points in found.items() for at in [at_size(points, size)] if at is not None}
    if not known and found:
        known_most = program, MAX_EXTRAPOLATION
        raise Unanswered("the largest size that %s measured is less than 1/%d of this" % known_most)
    if not known:
        raise Unanswered("%s has no value%s" % (program, why))
    way = min(known, key=lambda name: (known[name].seconds, name))
    return known[way]._replace(notes=("by %s" % way.replace("_", " "), *known[way].notes))


def _curves(signature: Json, program: str, quantity: str) -> list[Json]:
    return [c for c in curves_of(signature, program, quantity) if c["variant"] and c["axis"] == "size"]


def _copy(signature: Json, item: Item) -> Prediction:
    program = "micro/copy_path"
    curves = [c for c in _curves(signature, program, "bandwidth") if c["where"].get("direction") == item.what]
    ways = {c["variant"]: _points(c, 1.0) for c in curves}
    found = {way: points for way, points in ways.items() if way == "engine" or way.startswith("kernel")}
    why = why_missing(signature, program, "direction=" + item.what)
    return _fastest(found, item.size, program, why)


def _message(signature: Json, item: Item) -> Prediction:
    program, counted = _MESSAGES[item.what]
    there = devices_of(signature)
    if there < 2 and there != item.devices:
        raise Unanswered("one device was measured alone")
    if there != item.devices:
        measured = program, there, item.devices
        raise Unanswered("%s was measured among %d, not among %d devices" % measured)
    found = {c["variant"]: _points(c, counted(there)) for c in _curves(signature, program, "bus_bandwidth")}
    return _fastest(found, item.size, program, why_missing(signature, program))


def _has_type(signature: Json, kind: str) -> bool:
    supported = device_of(signature).get("gemm_types")
    return not isinstance(supported, list) or kind in supported


# ------------------------------------------------------------------ a signature

_Found = TypeVar("_Found")


class Predictor:
    """Predictions from the signature at `path`. The GEMMs of all `items` that share an operation are
    simulated in one process, when the first of them is asked for; the model lies in `folder` meanwhile."""

    def __init__(
        self, signature: Json, path: Path, items: Sequence[Item], programs: Path, folder: Path
    ) -> None:
        self._signature, self._path, self._items = signature, path, items
        self._programs, self._folder = programs, folder
        self._known: dict[tuple[str, str, int], dict[Sides, object]] = {}

    @cached_property
    def _adviser(self) -> Adviser:
        return Adviser(self._signature, self._path, self._programs, self._folder)

    def _of(self, item: Item, ask: Callable[[Sequence[Sides]], dict[Sides, _Found]]) -> _Found:
        """The answer on an item: of all that are alike at once, and where one has none, of this one alone."""
        place, own = item[1:3] + (item.devices,), _sides(item)
        alike = [_sides(o) for o in self._items if o[1:3] + (o.devices,) == place]
        if place not in self._known:
            try:
                self._known[place] = dict(ask(alike))
            except AdviseError:
                self._known[place] = {}
        if own not in self._known[place]:
            self._known[place].update(ask([own]))
        return self._known[place][own]  # type: ignore[return-value]

    def _fused(self, item: Item) -> Prediction:
        work = Work(item.kind, item.what, item.devices)
        advice = self._of(item, lambda shapes: answers(self._adviser, shapes, work))
        pick = advice["pick"]
        if pick["measured_s"] is not None:
            note = "measured in this run: %s" % way_text(pick)
            return Prediction(pick["measured_s"], math.log1p(half_interval(pick)), (note,))
        notes = [way_text(pick)]
        if PROGRAM not in self._adviser.checked:
            notes.append("the expected error is a lower limit: no schedules were measured")
        if advice["needs"]:
            keys = ", ".join(need["key"] for need in advice["needs"])
            notes.append("the schedule is not decided: not measured: %s" % keys)
        error = _OF_A_MEDIAN * math.log1p(advice["expected_error"])
        return Prediction(pick["predicted_s"], error, tuple(notes))

    def _gemm(self, item: Item) -> Prediction:
        seconds = self._of(item, lambda shapes: self._adviser.gemm(shapes, item.what))
        return Prediction(seconds, _OF_A_MEDIAN * math.log1p(self._adviser.gemm_error(item.what)))

    def predict(self, item: Item) -> Prediction:
        """The time of one of the item's `count`. Unanswered, with the reason."""
        try:
            if item.kind == "copy":
                return _copy(self._signature, item)
            if item.kind == "message":
                return _message(self._signature, item)
            return self._fused(item) if item.kind in FUSED else self._gemm(item)
        except NoAnswer as why:
            raise Unanswered(str(why), _has_type(self._signature, item.what)) from None
        except AdviseError as why:
            raise Unanswered(str(why), False) from None
        except (LookupError, TypeError, AttributeError, ArithmeticError) as why:
            raise Unanswered("the signature is malformed: %s" % in_words(why), False) from None


def _sides(item: Item) -> Sides:
    m, n, k = item.sides
    return m, n, k
