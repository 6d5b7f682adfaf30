# SPDX-License-Identifier: BSD-3-Clause
"""Losses of concurrent GEMMs and transfers: the entries of micro/copy_contention for the copies that are
advised."""

from __future__ import annotations

import math
from typing import Iterator

from reports.advice.inputs import CONTENTION
from reports.advice.lines import LINKS, Machine, device_of, program_of, why_missing
from reports.records.jsonl import Json, is_number

MAX_BLOCK_COUNTS, MAX_TRAFFICS = 6, 2  # as in advise/advise.h
# Bytes of an element of A and B, and of C, as in advise/advise.h
TYPES = {"f32": (4, 4), "f64": (8, 8), "tf32": (4, 4), "f16": (2, 2), "bf16": (2, 2), "f8": (1, 2)}
# The copies that tell what a link's transfers cost. In a collective every device sends and receives at once.
_DIRECTIONS = {"peer": ("exchange", "peer"), "up": ("up",), "down": ("down",)}


def _traffic(entry: Json, cache_bytes: float) -> float | None:
    """Bytes of memory that the GEMM moves in a second alone: its matrices, or none where they fit in the
    cache."""
    if entry["type"] not in TYPES or not is_number(entry["gemm_s"]) or not entry["gemm_s"] > 0:
        return None
    (m, n, k), (element, result) = entry["mnk"], TYPES[entry["type"]]
    size = (m * k + k * n) * element + m * n * result
    return size / entry["gemm_s"] if size > cache_bytes else 0.0


def exchange_ratio(signature: Json, method: str, blocks: float) -> tuple[float, float] | None:
    """(bytes, time of a copy to a peer while the peer copies back / its time alone). Of kernels, the nearest
    number of blocks."""
    rates: dict[str, dict[str, Json]] = {}
    for entry in program_of(signature, CONTENTION)["results"].get("copies", []):
        same = (entry["copy_method"] == "engine") == (method == "engine")
        if same and is_number(entry["bandwidth"]) and entry["bandwidth"] > 0:
            rates.setdefault(entry["copy_method"], {}).setdefault(entry["direction"], entry)
    both = [own for own in rates.values() if "peer" in own and "exchange" in own]
    both = [own for own in both if is_number(own["peer"]["bytes"])]
    if not both:
        return None
    near = min(both, key=lambda pair: abs(math.log(max(1.0, float(pair["peer"]["blocks"] or 0)) / blocks)))
    return float(near["peer"]["bytes"]), 2 * near["peer"]["bandwidth"] / near["exchange"]["bandwidth"]


# blocks -> traffic -> (CIL of the GEMM, CIL of the copy)
Losses = dict[int, dict[float, tuple[float, float]]]


def _losses(signature: Json, direction: str, method: str, kind: str) -> Losses:
    cache = device_of(signature).get("llc_bytes")
    found: Losses = {}
    words: dict[int, str] = {}  # of copy methods with equally many blocks the first counts
    sides: dict[tuple[str, str], Json] = {}
    for entry in program_of(signature, CONTENTION)["results"].get("cil", []):
        is_same = (entry["copy_method"] == "engine") == (method == "engine")
        if (entry["direction"], entry["type"]) != (direction, kind) or not is_same:
            continue
        key = entry["copy_method"], entry["gemm"]
        other = sides.setdefault(key, entry)
        traffic = _traffic(entry, cache if is_number(cache) else 0.0)
        if other["of"] == entry["of"] or traffic is None:
            continue
        gemm, copy = (entry, other) if entry["of"] == "gemm" else (other, entry)
        blocks = int(entry["blocks"]) if is_number(entry["blocks"]) else 0
        if words.setdefault(blocks, entry["copy_method"]) != entry["copy_method"]:
            continue
        found.setdefault(blocks, {}).setdefault(traffic, (float(gemm["value"]), float(copy["value"])))
    return found


def _substitutes(link: str, kind: str, kinds: list[str]) -> Iterator[tuple[str, str, str]]:
    """(direction, type, what is assumed) from the nearest to the furthest. Other GEMMs lose as much by the
    memory that they move; other copies tell little."""
    for direction in _DIRECTIONS[link]:
        yield direction, kind, "" if direction == _DIRECTIONS[link][0] else "one copy at a time"
    for other in (k for k in kinds if k != kind):
        for direction in _DIRECTIONS[link]:
            yield direction, other, "GEMMs of %s" % other
    for far in (other for other in LINKS if other != link):
        for near in [kind] + [k for k in kinds if k != kind]:
            gemms = "" if near == kind else " and GEMMs of %s" % near
            for direction in _DIRECTIONS[far]:
                yield direction, near, "copies %s%s" % (far, gemms)


def _add_losses(machine: Machine, words: tuple[str, str, str], losses: Losses) -> None:
    for blocks, traffics in sorted(losses.items())[:MAX_BLOCK_COUNTS]:
        for traffic, (gemm, copy) in sorted(traffics.items())[:MAX_TRAFFICS]:
            machine.add("cil", *words, blocks, float(traffic), gemm, copy)


def add_contention(signature: Json, machine: Machine) -> None:
    """For every copy that has a curve and every type of GEMM: the losses measured for it, or the nearest
    ones, with a note."""
    words = [line.split() for line in machine.lines]
    kinds = list(dict.fromkeys(w[1] for w in words if w[0] == "gemm"))
    entries = program_of(signature, CONTENTION)["results"].get("cil", [])
    measured = list(dict.fromkeys(entry["type"] for entry in entries))
    for method, link in dict.fromkeys((w[1], w[2]) for w in words if w[0] == "copy"):
        for kind in kinds:
            name = "GEMMs of %s and %s copies over the link '%s'" % (kind, method, link)
            for direction, near, assumed in _substitutes(link, kind, measured):
                losses = _losses(signature, direction, method, near)
                if not losses:
                    continue
                _add_losses(machine, (method, link, kind), losses)
                if direction != _DIRECTIONS[link][0]:
                    machine.add("assumed", method, link, kind)
                if assumed:
                    case = "type=%s direction=%s" % (kind, _DIRECTIONS[link][0])
                    why = why_missing(signature, CONTENTION, case)
                    note = "%s are assumed to slow each other as much as with %s: %s has no value for them%s"
                    machine.pair_notes.append((link, kind, note % (name, assumed, CONTENTION, why)))
                break
            else:
                why = why_missing(signature, CONTENTION)
                note = "%s are assumed not to slow each other: %s has no value for such copies%s"
                machine.pair_notes.append((link, kind, note % (name, CONTENTION, why)))
