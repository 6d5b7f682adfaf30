# SPDX-License-Identifier: BSD-3-Clause
"""Headline numbers and fitted lines of a signature once more, from the records that it was made of. It has nine digits."""
from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from records import Case

TOLERANCE = 1e-8


class Line(NamedTuple):
    """seconds = alpha + bytes / bandwidth"""

    alpha: float
    bandwidth: float

    def values(self) -> Dict[str, Optional[float]]:
        return {"alpha_s": self.alpha, "bandwidth": self.bandwidth,
                "half_size_byte": self.alpha * self.bandwidth if self.alpha > 0 else None}


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b))


def fit(points: Sequence[Tuple[float, float]]) -> Line:
    """Least squares of the relative residuals: 1 is approximated by alpha / t + (1 / bandwidth) x / t. By projection."""
    u, v = [1 / t for _, t in points], [x / t for x, t in points]
    apart = [b - dot(v, u) / dot(u, u) * a for a, b in zip(u, v)]
    slope = sum(apart) / dot(apart, apart)
    return Line((sum(u) - slope * dot(v, u)) / dot(u, u), 1 / slope)


def points_of(cases: Sequence[Case], variant: str, where: Dict[str, object]) -> List[Tuple[float, float]]:
    """Bytes and median seconds of the valid bandwidths."""
    found = []
    for case in cases:
        entry = case.derived("bandwidth", variant)
        if entry and entry["valid"] and all(case.axes.get(name) == value for name, value in where.items()):
            found.append((case.model(variant, "bytes"), case.median(variant)))
    return found


def lines(signature: dict, cases: Sequence[Case]) -> Iterator[Tuple[str, Optional[float], Optional[float]]]:
    """Name, value of the signature, value of the records."""
    for program, section in signature["programs"].items():
        own = [case for case in cases if case.program == program]
        for found in section["results"].get("fits", []):
            label = "%s fit of %s %s" % (program, found["variant"], found["where"])
            for name, value in fit(points_of(own, found["variant"], found["where"])).values().items():
                yield "%s: %s" % (label, name), found[name], value


def headlines(signature: dict, cases: Sequence[Case]) -> Iterator[Tuple[str, Optional[float], Optional[float]]]:
    """Each is the value of the one case that its program names."""
    for case in cases:
        for primary in case.run["primary"]:
            metric = signature["metrics"].get("%s/%s" % (case.program, primary["metric"]))
            if metric and metric["primary"] and all(case.axes.get(name) == value for name, value in primary["where"].items()):
                entry = case.derived(primary["derived"], primary["variant"])
                for end in ("value", "ci_low", "ci_high"):
                    yield "%s/%s: %s" % (case.program, primary["metric"], end), metric[end], entry[end] if entry else None
