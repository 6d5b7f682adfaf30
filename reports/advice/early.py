# SPDX-License-Identifier: BSD-3-Clause
"""Gain of sending C before its GEMM ends: overlap/trigger on the model, an exchange among all devices."""

from __future__ import annotations

from typing import Optional

from reports.advice.ask import AdviseError, Adviser, Sides, Work, text_of
from reports.records.jsonl import Json
from reports.records.quantity import human, percent, ratio_text
from reports.records.records import axes_in
from reports.predict.simulation import Simulated

PROGRAM = "overlap/trigger"
OPS = ("gemm-rs", "gemm-ar")
_WHOLE = "whole_then_send"
_WAYS = {
    "triggered": "a trigger (software)",
    "triggered_staggered": "a staggered trigger (software)",
    "split": "a GEMM for each band",
    "remote_store": "remote stores",
}


def _best(found: Simulated, way: str, whole_s: float) -> Optional[Json]:
    """The fastest over copy methods and numbers of bands."""
    known = []
    for key, case in found.cases.items():
        if way in case.times:
            axes = axes_in(key)
            known.append((case.times[way], axes["copy-method"], int(axes["bands"])))
    if not known:
        return None
    seconds, method, bands = min(known)
    row = {"way": way, "copy_method": method, "bands": bands}
    return {**row, "predicted_s": seconds, "gain": whole_s / seconds}


def _clause(way: Json) -> str:
    return "%s %sx" % (_WAYS[way["way"]], ratio_text(way["gain"]))


def _told(ways: list[Json], best: Optional[Json], whole_s: float, error: float) -> str:
    if best is None:
        said = "nothing gains over the whole GEMM and then the send (%s) by more than the error, %s: %s"
        return said % (human(whole_s, "s"), percent(error), ", ".join(map(_clause, ways)))
    bands = "" if best["way"] == "remote_store" else " of %d bands" % best["bands"]
    said = "%s%s by %s: %sx over the whole GEMM and then the send (%s, without additions)" % (
        _WAYS[best["way"]],
        bands,
        best["copy_method"],
        ratio_text(best["gain"]),
        human(whole_s, "s"),
    )
    return "; ".join([said, *(_clause(way) for way in ways if way is not best)])


def early(adviser: Adviser, sides: Sides, work: Work) -> Optional[Json]:
    """None where C is not sent."""
    if work.op not in OPS:
        return None
    options = ["--shape", text_of(sides), "--type", work.type, "--mflop", "0", "--direction", "exchange"]
    options += ["--operands", work.operands, "--bands", "4,16,64", "--copy-method", "engine,kernel"]
    options += ["--variant", ",".join((_WHOLE, *_WAYS))]
    try:
        _, found = adviser.run(PROGRAM, work.devices, options, True, work.operands)
    except AdviseError as why:
        return {"text": "not predicted: %s" % why, "whole_s": None, "best": None, "ways": []}
    whole = [case.times[_WHOLE] for case in found.cases.values() if _WHOLE in case.times]
    if not whole:
        reasons = [case.reason for case in found.cases.values() if case.reason]
        return {"text": "not predicted: %s" % reasons[0], "whole_s": None, "best": None, "ways": []}
    whole_s, error = min(whole), adviser.expected_error(PROGRAM)
    ways = sorted(
        (row for row in (_best(found, way, whole_s) for way in _WAYS) if row), key=lambda row: -row["gain"]
    )
    best = ways[0] if ways and ways[0]["gain"] > 1 + error else None
    return {
        "text": _told(ways, best, whole_s, error),
        "whole_s": whole_s,
        "best": best["way"] if best else None,
        "ways": ways,
    }
