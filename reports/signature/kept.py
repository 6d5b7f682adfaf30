# SPDX-License-Identifier: BSD-3-Clause
"""Curves that signature.json keeps for who reads it, and the reason where a program has no value."""

from __future__ import annotations

from reports.records.jsonl import Json

# By program the quantities whose curves are kept. Fits read values: reports/model/measured.py.
QUANTITIES = {
    "micro/copy_path": ("bandwidth",),
    "collectives/device_allgather": ("bus_bandwidth",),
    "collectives/device_allreduce": ("bus_bandwidth",),
    "collectives/device_all_to_all": ("bus_bandwidth",),
    "collectives/device_reduce_scatter": ("bus_bandwidth",),
}


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
