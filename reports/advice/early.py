# SPDX-License-Identifier: BSD-3-Clause
"""Sending C before its GEMM ends: the points of overlap/trigger as lines of advise/advise.h."""

from __future__ import annotations

import math
import statistics

from reports.advice.contention import TYPES
from reports.advice.lines import Machine, program_of
from reports.records.jsonl import Json, is_number

PROGRAM = "overlap/trigger"
# Its variants, by the names that advise/advise.h has for them.
WAYS = {
    "triggered": "trigger",
    "triggered_staggered": "trigger-staggered",
    "split": "split",
    "remote_store": "remote-store",
}
# From what is most like a collective. Of each way and type the first that was measured is kept.
DIRECTIONS = ("exchange", "peer", "ring", "down", "local")
AMONG_DEVICES = ("exchange", "ring")


def points_of(signature: Json) -> list[Json]:
    """Those that the library takes."""
    return [
        p
        for p in program_of(signature, PROGRAM)["results"].get("early_sends", [])
        if p["way"] in WAYS.values()
        and p["copy_method"] in ("engine", "kernel")
        and p["type"] in TYPES
        and all(is_number(p[name]) and 0 < p[name] < math.inf for name in ("send_over_gemm", "gain"))
    ]


def add_early_sends(signature: Json, machine: Machine) -> None:
    """Shapes with the same ratio are one point, with the geometric mean of their gains."""
    curves: dict[tuple[str, str, str], dict[float, list[float]]] = {}
    for point in points_of(signature):
        place = point["way"], point["copy_method"], point["type"]
        curves.setdefault(place, {}).setdefault(float("%.9g" % point["send_over_gemm"]), []).append(
            float(point["gain"])
        )
    for place, gains in sorted(curves.items()):
        machine.curve(("early", *place), [(x, statistics.geometric_mean(same)) for x, same in gains.items()])
