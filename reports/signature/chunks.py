# SPDX-License-Identifier: BSD-3-Clause
"""Chunks of a bulk copy, as micro/copy_chunks measured them: which keep its rate and let small ones
pass."""

from __future__ import annotations

import math

from reports.records.jsonl import Json
from reports.records.quantity import human, percent, size
from reports.signature.kept import program_of

PROGRAM = "micro/copy_chunks"
KEEP = 0.95  # of the rate of a bulk that is one copy
# Things that stand between the chunks, the simplest first, in words.
YIELDS = {
    "nothing": "back to back",
    "event": "with an event between",
    "value": "with a wait for a value that is there between",
    "kernel": "with an empty kernel between",
}
NO_CHUNKS, CHUNKS, IN_VAIN = VERDICTS = ("no-chunks", "chunks", "in-vain")
# Limits: a small copy waits where it takes so many times as long while a bulk runs as alone; chunks help
# that leave at most so much of the wait behind a whole; of waits so near, the simpler thing is taken; so
# little is no loss of rate; the largest advised chunk is so many times the largest measured; chunks are
# multiples of a page.
_WAITS, _HELPS, _AS_SHORT, _NOTHING, _BEYOND, _GRANULE = 2.0, 0.5, 1.05, 1e-9, 4, 4096


def _interpolated(points: list[tuple[float, float]], x: float) -> float:
    if x <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x < x1:
            return y0 + (x - x0) * (y1 - y0) / (x1 - x0)
    return points[-1][1] * x / points[-1][0]


def _bytes_between(below: Json, above: Json, most: float) -> float:
    losses = 1 / below["rate_kept"] - 1, max(_NOTHING, 1 / above["rate_kept"] - 1)
    ratio = above["chunk_byte"] / below["chunk_byte"]
    slope = min(1.0, math.log(losses[0] / losses[1]) / math.log(ratio))
    return min(above["chunk_byte"], below["chunk_byte"] * (losses[0] / most) ** (1 / slope))


def _chunk_of(points: list[Json], keep: float) -> Json | None:
    """The smallest chunk with which, as with all larger ones, the bulk keeps enough; points by rising size.
    None: there is none, or small copies do not pass."""
    last = max((i for i, p in enumerate(points) if p["rate_kept"] < keep), default=-1)
    if not points or points[0]["wait_s"] >= _HELPS * points[0]["whole_wait_s"]:
        return None
    most, larger = 1 / keep - 1, last + 1 == len(points)
    above = points[min(last + 1, len(points) - 1)]
    exact = above["chunk_byte"]
    if larger:
        exact *= (1 / above["rate_kept"] - 1) / most
    elif last >= 0:
        exact = _bytes_between(points[last], above, most)
    chunk = math.ceil(exact / _GRANULE) * _GRANULE
    if chunk > _BEYOND * points[-1]["chunk_byte"]:
        return None
    waits = [(float(p["chunk_byte"]), p["wait_s"]) for p in points]
    kept_just = larger or (last >= 0 and chunk < above["chunk_byte"])
    return {
        "chunk_byte": chunk,
        "wait_s": _interpolated(waits, chunk),
        "rate_kept": keep if kept_just else min(1.0, above["rate_kept"]),
        "smallest": last < 0,
        "larger": larger,
    }


def advised(way: Json, keep: float = KEEP) -> Json:
    """The advice on one of the ways in the results of micro/copy_chunks."""
    waits = {key: way[key] for key in ("whole_wait_s", "idle_wait_s")}
    if way["whole_wait_s"] < _WAITS * way["idle_wait_s"]:
        return dict(waits, verdict=NO_CHUNKS)
    best: Json | None = None
    for name in YIELDS:
        points = sorted((p for p in way["points"] if p["yield"] == name), key=lambda p: p["chunk_byte"])
        found = _chunk_of(points, keep)
        if found is None or found["wait_s"] >= way["whole_wait_s"]:
            continue
        if best is None or found["wait_s"] * _AS_SHORT < best["wait_s"]:
            best = dict(found, **{"yield": name})
    return dict(waits, verdict=CHUNKS, **best) if best else dict(waits, verdict=IN_VAIN)


def text_of(way: Json, advice: Json) -> str:
    """A sentence on what to do in one direction, and why."""
    small, bulk = ("a copy of %s" % size(way[key]) for key in ("small_byte", "bulk_byte"))
    whole, idle = (human(advice[key], "s") for key in ("whole_wait_s", "idle_wait_s"))
    if advice["verdict"] == NO_CHUNKS:
        return "no need of chunks: %s takes %s while %s runs, and %s alone" % (small, whole, bulk, idle)
    if advice["verdict"] == IN_VAIN:
        return "no chunks that were measured keep the rate and let others pass: %s waits %s behind %s" % (
            small,
            whole,
            bulk,
        )
    return "copy in chunks of %s%s %s: %s waits %s instead of %s behind %s, and the bulk loses %s" % (
        size(advice["chunk_byte"]),
        " or less" if advice["smallest"] else " (extrapolated)" if advice["larger"] else "",
        YIELDS[advice["yield"]],
        small,
        human(advice["wait_s"], "s"),
        whole,
        bulk,
        percent(1 - advice["rate_kept"]),
    )


def ways_of(signature: Json) -> list[Json]:
    """The ways of a signature, of each direction the one with the smallest small copy, then the largest
    bulk."""
    found: dict[str, Json] = {}
    for way in program_of(signature, PROGRAM)["results"].get("ways", []):
        best = found.setdefault(way["direction"], way)
        if (way["small_byte"], -way["bulk_byte"]) < (best["small_byte"], -best["bulk_byte"]):
            found[way["direction"]] = way
    return list(found.values())
