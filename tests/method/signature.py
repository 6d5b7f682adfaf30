# SPDX-License-Identifier: BSD-3-Clause
"""Headline numbers and fitted lines of a signature once more, from the records that it was made of. Headline
numbers have nine digits there, lines six."""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import tries
from records import Case

MIN_FOR_LINE = 3
TOLERANCE, TOLERANCE_OF_LINES = 1e-8, 1e-5


class Line(NamedTuple):
    """seconds = alpha + bytes / bandwidth"""

    alpha: float
    bandwidth: float

    def values(self) -> Dict[str, Optional[float]]:
        return {
            "alpha_s": self.alpha,
            "bandwidth": self.bandwidth,
            "half_size_byte": self.alpha * self.bandwidth if self.alpha > 0 else None,
        }


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b))


def fit(points: Sequence[Tuple[float, float]]) -> Line:
    """Least squares of the relative residuals: 1 is approximated by alpha / t + (1 / bandwidth) x / t. By
    projection."""
    u, v = [1 / t for _, t in points], [x / t for x, t in points]
    apart = [b - dot(v, u) / dot(u, u) * a for a, b in zip(u, v)]
    slope = sum(apart) / dot(apart, apart)
    return Line((sum(u) - slope * dot(v, u)) / dot(u, u), 1 / slope)


def points_of(
    cases: Sequence[Case], variant: str, where: Dict[str, object], place: Optional[float] = None
) -> List[Tuple[float, float]]:
    """Bytes and median seconds of the valid bandwidths; of those without a grade where at least three have
    none."""
    found = []
    for own in tries.by_case(
        [c for c in cases if all(c.axes.get(name) == value for name, value in where.items())]
    ):
        settled = tries.settle(own, "bandwidth", variant, place)
        if settled:
            found.append((settled.grade, settled.case.model(variant, "bytes"), settled.case.median(variant)))
    quiet = [point for grade, *point in found if not grade]
    return quiet if len(quiet) >= MIN_FOR_LINE else [point for _, *point in found]


def values(signature: dict, program: str, quantity: str) -> Iterator[dict]:
    """Labels and fields of the values of a quantity that are no headline numbers."""
    for name, metric in signature["metrics"].items():
        head, _, labels = name.rstrip("}").partition("{")
        if head == f"{program}/{quantity}" and not metric["primary"]:
            words = dict(label.split("=") for label in labels.split(","))
            yield {**{key: int(word) if word.isdigit() else word for key, word in words.items()}, **metric}


def lines(signature: dict, cases: Sequence[Case]) -> Iterator[Tuple[str, Optional[float], Optional[float]]]:
    """Name, value of the signature, value of the records."""
    place = tries.usual_place(cases)
    for program, section in signature["programs"].items():
        own = [case for case in cases if case.program == program]
        for found in section["results"].get("fits", []):
            label = "%s fit of %s %s" % (program, found["variant"], found["where"])
            for name, value in fit(points_of(own, found["variant"], found["where"], place)).values().items():
                yield "%s: %s" % (label, name), found[name], value


def headlines(
    signature: dict, cases: Sequence[Case]
) -> Iterator[Tuple[str, Optional[float], Optional[float]]]:
    """Each is the value of the one case that its program names, of all tries of it."""
    place = tries.usual_place(cases)
    for own in tries.by_case(cases):
        case = own[-1]
        for primary in case.run["primary"]:
            metric = signature["metrics"].get("%s/%s" % (case.program, primary["metric"]))
            if (
                metric
                and metric["primary"]
                and all(case.axes.get(name) == value for name, value in primary["where"].items())
            ):
                settled = tries.settle(own, primary["derived"], primary["variant"], place)
                found = (settled.value, settled.low, settled.high) if settled else (None, None, None)
                for end, value in zip(("value", "ci_low", "ci_high"), found):
                    yield "%s/%s: %s" % (case.program, primary["metric"], end), metric[end], value
                grade = settled.grade if settled else None
                yield (
                    "%s/%s: grade" % (case.program, primary["metric"]),
                    1.0,
                    float(metric.get("grade") == grade),
                )
