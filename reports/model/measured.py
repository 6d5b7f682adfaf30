# SPDX-License-Identifier: BSD-3-Clause
"""A signature as the fits read it."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from reports.records.jsonl import Json, is_number

_NAME = re.compile(r"([^{]*)(?:\{(.*)\})?\Z", re.DOTALL)
_NO_PROGRAM: Json = {"curves": [], "results": {}, "facts": {}}

# Quantities by program whose values a signature keeps for the fits, besides headline numbers.
QUANTITIES: dict[str, tuple[str, ...]] = {
    "gemm/efficiency": ("flop_rate",),
    "gemm/split": ("flop_rate",),
    "micro/copy_path": ("bandwidth",),
    "micro/copy_queue": ("switch_time",),
    "micro/latency": ("latency",),
    "micro/launch": ("time",),
    "micro/memory": ("bandwidth",),
    "micro/occupancy": ("flop_rate", "time"),
    "micro/priority": ("wait_ratio",),
    "micro/reduce": ("bandwidth",),
    "overlap/units": ("bandwidth",),
}
# Facts of cases by program that it keeps for them.
FACTS: dict[str, tuple[str, ...]] = {
    "gemm/split": ("m", "n", "k"),
    "micro/latency": ("steps",),
    "micro/launch": ("launches_queued_max",),
    "micro/memory": ("passes",),
}
# Variants by program of whose values it keeps how many operations a sample was of, and how samples scatter.
SAMPLED: dict[str, tuple[str, ...]] = {
    "micro/copy_path": ("engine",),
    "micro/latency": ("chase",),
    "micro/launch": (
        "back_to_back",
        "behind_value",
        "enqueue",
        "event_round_trip",
        "round_trip",
        "sync_idle",
        "trigger",
        "waves",
    ),
    "micro/occupancy": ("idle_wait", "load"),
}


class Value(NamedTuple):
    value: float
    error: float  # relative: half its interval
    name: str  # of the metric
    where: dict[str, str]  # its axes, and `variant`
    iterations: Optional[int] = None  # of SAMPLED: operations of one sample
    deviation: Optional[float] = None  # and the standard deviation of its samples, relative


def _of(name: str, entry: Json) -> Optional[Value]:
    value = entry.get("value")
    match = _NAME.match(name)
    if not is_number(value) or match is None:
        return None
    low, high = entry.get("ci_low"), entry.get("ci_high")
    known = is_number(low) and is_number(high) and value != 0
    where = dict(word.split("=", 1) for word in (match.group(2) or "").split(",") if "=" in word)
    error = abs((high - low) / 2 / value) if known else 0.0
    return Value(float(value), error, name, where, entry.get("iterations"), entry.get("deviation"))


class Measured:
    """The values of a signature. Its types are trusted (reports/signature/signature_file.py: trusting)."""

    def __init__(self, signature: Json) -> None:
        self.signature = signature
        self.device: Json = next(iter(signature["devices"].values()), {})
        self.devices = len(signature["devices"])
        self._families: dict[str, list[Value]] = {}
        for name, entry in signature["metrics"].items():
            found = _of(name, entry)
            if found:
                self._families.setdefault(name.split("{")[0], []).append(found)

    def attribute(self, name: str) -> Optional[float]:
        """A number above 0 that the device reports of itself, by its name in the records."""
        value = self.device.get(name)
        return value if is_number(value) and value > 0 else None

    def all(self, quantity: str, **where: object) -> list[Value]:
        """Values of a quantity such as micro/launch/time, of the cases with these axes (and `variant`)."""
        words = {name.replace("_", "-"): str(value) for name, value in where.items()}
        return [
            v
            for v in self._families.get(quantity, [])
            if all(
                v.where.get(name, v.where.get(name.replace("-", "_"))) == word for name, word in words.items()
            )
        ]

    def one(self, quantity: str, **where: object) -> Optional[Value]:
        """The only value of these axes, or the headline number of this name; None where there is none."""
        found = self.all(quantity, **where)
        return found[0] if len(found) == 1 else None

    def curve(self, quantity: str, axis: str, **where: object) -> list[tuple[float, Value]]:
        """The values over an axis whose values are numbers, sorted."""
        found = self.all(quantity, **where)
        numbers = [(v.where[axis], v) for v in found if re.fullmatch(r"\d{1,15}", v.where.get(axis, ""))]
        return sorted(((float(x), v) for x, v in numbers), key=lambda point: point[0])

    def fact(self, value: Value, name: str) -> float:
        """A number above 0 of the case of a value; 0: it has none."""
        axes = " ".join("%s=%s" % axis for axis in value.where.items() if axis[0] != "variant")
        program = value.name.partition("{")[0].rpartition("/")[0]
        facts = (self.signature["programs"].get(program) or _NO_PROGRAM)["facts"]
        number = (facts.get(axes) or {}).get(name)
        return float(number) if is_number(number) and number > 0 else 0.0

    def results(self, program: str) -> Json:
        """Results of a program that are not metrics, such as fits (reports/signature/sections)."""
        return (self.signature["programs"].get(program) or _NO_PROGRAM)["results"]
