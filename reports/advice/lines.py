# SPDX-License-Identifier: BSD-3-Clause
"""The lines that advise/advise.h reads, with the assumptions made, and what they are taken from in a
signature."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reports.records.jsonl import Json

MAX_GEMMS, MAX_POINTS = 256, 24  # as in advise/advise.h
LINKS = ("peer", "up", "down")  # as in advise/advise.c
# Read of a signature by advice and predictions, as curves or values, and facts of cases: signature_file.py
# writes them because they are here, and curves_of() reads no others.
QUANTITIES = {
    "gemm/efficiency": ("flop_rate",),
    "gemm/split": ("flop_rate",),
    "micro/copy_contention": ("CIL",),
    "micro/copy_path": ("bandwidth", "both_ways_time_ratio"),
    "micro/launch": ("stream_hop_time", "time"),
    "micro/memory": ("bandwidth",),
    "micro/occupancy": ("flop_rate", "time"),
    "micro/priority": ("wait_ratio",),
    "overlap/shaping": ("normalised_time",),
    "collectives/allreduce": ("bandwidth",),
    "collectives/device_allgather": ("bus_bandwidth",),
    "collectives/device_allreduce": ("bandwidth", "bus_bandwidth"),
    "collectives/device_all_to_all": ("bus_bandwidth",),
    "collectives/device_reduce_scatter": ("bus_bandwidth",),
}
FACTS = {
    "gemm/split": ("m", "n", "k"),
    "collectives/allreduce": ("devices",),
    "collectives/device_allreduce": ("devices",),
}


@dataclass
class Machine:
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # assumptions, and the program that would measure
    pair_notes: list[tuple[str, str, str]] = field(default_factory=list)  # those about a link and a type

    def add(self, *words: Any) -> None:
        self.lines.append(" ".join("%.9g" % w if isinstance(w, float) else str(w) for w in words))

    def curve(self, words: tuple[Any, ...], points: list[tuple[float, float]]) -> None:
        """Add at most MAX_POINTS points, thinned evenly; the ends are kept."""
        points = sorted(p for p in points if p[0] > 0 and p[1] > 0)
        if len(points) > MAX_POINTS:
            points = [points[round(i * (len(points) - 1) / (MAX_POINTS - 1))] for i in range(MAX_POINTS)]
        for x, y in points:
            self.add(*words, float(x), float(y))

    @property
    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines)


def program_of(signature: Json, name: str) -> Json:
    return signature["programs"].get(name) or {"curves": [], "results": {}, "facts": {}}


def curves_of(signature: Json, program: str, quantity: str) -> list[Json]:
    """Curves of one of QUANTITIES; KeyError for another."""
    if quantity not in QUANTITIES[program]:
        raise KeyError("%s of %s is not written" % (quantity, program))
    return [curve for curve in program_of(signature, program)["curves"] if curve["derived"] == quantity]


def device_of(signature: Json) -> Json:
    return next(iter(signature["devices"].values()), {})


def why_missing(signature: Json, program: str, case: str = "") -> str:
    """The reason, in brackets, for which a program has no value in the cases whose key has these words."""

    def concerns(entry: Json) -> bool:
        """An entry may stand for several cases: `where` has the values of their axes."""
        words = set(str(entry.get("key")).split())
        words.update(
            "%s=%s" % (name, value) for name, values in entry.get("where", {}).items() for value in values
        )
        return entry.get("program") == program and (
            entry.get("key") is None or words.issuperset(case.split())
        )

    lost = [e for e in signature.get("not_measured", []) if concerns(e)]
    flagged = [e for e in signature.get("invalid", []) if concerns(e)]
    runs = [r for r in signature.get("runs", []) if r.get("program") == program]
    if lost:
        reason = "%s: %s" % (lost[0].get("status", "skipped"), lost[0].get("reason", "no reason given"))
    elif flagged:
        count = sum(int(entry.get("count", 1)) for entry in flagged)
        reason = "%d values were flagged invalid: %s" % (count, flagged[0].get("reason", "no reason given"))
    elif not runs:
        reason = "the program did not run"
    elif sum(int(r.get("cases", {}).get("out_of_budget") or 0) for r in runs):
        reason = "the time budget ended before its cases"
    else:
        reason = "no such case was asked for"
    return " (%s)" % reason
