# SPDX-License-Identifier: BSD-3-Clause
"""The GEMMs of a signature: what ran, and how long it took."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

from reports.model.gemm_law import ELEMENT_BYTES, Machine, Part, Shape
from reports.model.measured import Measured
from reports.records.jsonl import is_number

_SIDES = re.compile(r"(\d{1,8})\D(\d{1,8})\D(\d{1,8})\Z")
_CUT = re.compile(r"([mnk])(\d{1,3})\Z")


class Sample(NamedTuple):
    name: str
    type: str
    parts: tuple[Part, ...]
    ns: float
    error: float  # relative: half its interval

    @property
    def flop(self) -> float:
        return sum(2.0 * p.times * p.shape.m * p.shape.n * p.shape.k for p in self.parts)


def _whole(s: Shape) -> Part:
    return Part(1, s, sum(s.operands()), s.operands()[2])


def _pieces(s: Shape, cut: str, count: int, machine: Machine) -> tuple[Part, ...]:
    """Those of gemm/split. Columns of a row-major matrix span all of it."""
    side = {"m": s.m, "n": s.n, "k": s.k}[cut]
    sizes = [side * (i + 1) // count - side * i // count for i in range(count)]
    whole = s.operands()
    cold = sum(whole) > machine.llc_bytes
    parts: dict[tuple[int, bool], Part] = {}
    for i, size in enumerate(sizes):
        adds = cut == "k" and i > 0
        piece = s._replace(**{cut: size}, adds=adds)
        a, b, c = piece.operands()
        span = {"m": (a, whole[1], c), "n": whole, "k": (whole[0], b, whole[2])}[cut]
        if not machine.llc_tracked:
            span = (a, b, c)
        missing = (
            a + (0 if machine.llc_through else c) if cold and machine.llc_tracked and cut == "m" else 0.0
        )
        before = parts.get((size, adds))
        parts[size, adds] = Part(before.times + 1 if before else 1, piece, sum(span), span[2], missing)
    return tuple(parts.values())


def _of_efficiency(measured: Measured) -> Iterator[Sample]:
    rates = measured.results("gemm/efficiency").get("rates")
    errors = {
        " ".join("%s=%s" % pair for pair in v.where.items() if pair[0] != "variant"): v.error
        for v in measured.all("gemm/efficiency/flop_rate", variant="gemm")
    }
    for row in rates if isinstance(rates, list) else []:
        sides = _SIDES.search(str(row.get("shape")))
        rate = row.get("value")
        if row.get("variant") != "gemm" or row.get("type") not in ELEMENT_BYTES:
            continue
        if sides is None or not is_number(rate) or rate <= 0:
            continue
        m, n, k = map(int, sides.groups())
        if min(m, n, k) > 0:
            s = Shape(m, n, k, row["type"])
            name = "%s %dx%dx%d" % (s.type, m, n, k)
            error = errors.get(str(row.get("key")), 0.0)
            yield Sample(name, s.type, (_whole(s),), 2e9 * m * n * k / rate, error)


def _of_split(measured: Measured, machine: Machine) -> Iterator[Sample]:
    facts = (measured.signature["programs"].get("gemm/split") or {}).get("facts") or {}
    for value in measured.all("gemm/split/flop_rate"):
        key = " ".join("%s=%s" % (name, value.where.get(name)) for name in ("type", "shape", "mflop"))
        sides = [(facts.get(key) or {}).get(name) for name in "mnk"]
        cut = _CUT.match(value.where.get("variant", ""))
        type_ = value.where.get("type")
        if type_ not in ELEMENT_BYTES or not all(is_number(x) and 1 <= x < 2**31 for x in sides):
            continue
        m, n, k = map(int, sides)
        s = Shape(m, n, k, type_)
        if value.value <= 0 or not (cut or value.where.get("variant") == "whole"):
            continue
        if cut and not 1 <= int(cut[2]) <= {"m": m, "n": n, "k": k}[cut[1]]:
            continue
        parts = _pieces(s, cut[1], int(cut[2]), machine) if cut else (_whole(s),)
        name = "%s %dx%dx%d %s" % (s.type, m, n, k, value.where["variant"])
        yield Sample(name, s.type, parts, 2e9 * m * n * k / value.value, value.error)


def samples_of(measured: Measured, machine: Machine) -> list[Sample]:
    return [*_of_efficiency(measured), *_of_split(measured, machine)]
