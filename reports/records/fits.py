# SPDX-License-Identifier: BSD-3-Clause
"""Few numbers for a whole curve, and how badly they describe it."""

from __future__ import annotations

import dataclasses
import math
import statistics
from dataclasses import asdict, dataclass
from typing import Dict, Mapping, Optional, Sequence, Tuple

from reports.records.curves import Curve, Point
from reports.records.student import quantile

MIN_FOR_LINE = 3  # sizes
POOR_FIT = 0.25  # a largest relative residual above this means that the straight line is no description

DIFFERENT = 1.02  # a smaller ratio is not a lead, whatever the intervals


@dataclass(frozen=True)
class LineFit:
    """t = alpha + bytes / bandwidth, by least squares on relative residuals: every size counts alike."""

    alpha_s: float
    alpha_ci: Tuple[float, float]
    bandwidth: float
    bandwidth_ci: Optional[Tuple[float, float]]
    half_size_byte: Optional[float]
    rms_residual: float
    max_residual: float
    points: int

    @property
    def poor(self) -> bool:
        return self.max_residual > POOR_FIT

    def as_json(self) -> Dict[str, object]:
        return dict(
            asdict(self),
            formula="t = alpha_s + bytes / bandwidth; half_size_byte = alpha_s * bandwidth; "
            "least squares on relative residuals",
            poor=self.poor,
        )


def fit_line(pairs: Sequence[Tuple[float, float]]) -> Optional[LineFit]:
    """`pairs` of bytes and seconds. None with fewer than three sizes, or where time does not grow with
    size."""
    pairs = [(x, t) for x, t in pairs if x > 0 and t > 0]
    if len({x for x, _ in pairs}) < MIN_FOR_LINE:
        return None
    # minimise sum ((alpha + beta x - t) / t)^2: ordinary least squares of 1 on u = 1/t and v = x/t
    u, v = [1 / t for _, t in pairs], [x / t for x, t in pairs]
    suu, svv = math.fsum(a * a for a in u), math.fsum(b * b for b in v)
    suv, su, sv = math.fsum(a * b for a, b in zip(u, v)), math.fsum(u), math.fsum(v)
    determinant = suu * svv - suv * suv
    if determinant <= 1e-12 * suu * svv:
        return None
    alpha, beta = (su * svv - sv * suv) / determinant, (sv * suu - su * suv) / determinant
    if beta <= 0:
        return None
    residuals = [alpha * a + beta * b - 1 for a, b in zip(u, v)]
    freedom = len(pairs) - 2
    square = math.fsum(r * r for r in residuals)
    spread = math.sqrt(square / freedom) * quantile(0.95, freedom)
    alpha_half, beta_half = spread * math.sqrt(svv / determinant), spread * math.sqrt(suu / determinant)
    bandwidth_ci = (1 / (beta + beta_half), 1 / (beta - beta_half)) if beta > beta_half else None
    return LineFit(
        alpha,
        (alpha - alpha_half, alpha + alpha_half),
        1 / beta,
        bandwidth_ci,
        alpha / beta if alpha > 0 else None,
        math.sqrt(square / len(pairs)),
        max(abs(r) for r in residuals),
        len(pairs),
    )


# ------------------------------------------------------------------ who is faster where


@dataclass(frozen=True)
class Crossing:
    """Between x `below` and x `above` the lead passes from `before` to `after`; `x` is interpolated on log
    axes."""

    x: float
    below: float
    above: float
    before: str
    after: str


@dataclass(frozen=True)
class RateComparison:
    wins: Mapping[str, int]  # sizes at which a side leads and the intervals do not overlap
    ties: int
    crossings: Tuple[Crossing, ...]
    points: int


def _leads(a: Point, b: Point) -> int:
    """1 where `a` is larger with intervals apart and by more than DIFFERENT, -1 where `b` is, 0 otherwise."""
    ratio = a.value / b.value
    if 1 / DIFFERENT <= ratio <= DIFFERENT:
        return 0
    if None in (a.ci_low, a.ci_high, b.ci_low, b.ci_high):
        return 1 if ratio > 1 else -1
    return 1 if a.ci_low > b.ci_high else -1 if b.ci_low > a.ci_high else 0


def _meeting(left: Tuple[Point, Point], right: Tuple[Point, Point]) -> float:
    """The x at which two curves meet between two x, straight lines on log axes assumed."""
    d0, d1 = (math.log(a.value / b.value) for a, b in (left, right))
    x0, x1 = math.log(left[0].x), math.log(right[0].x)
    return math.exp(x0 + (x1 - x0) * d0 / (d0 - d1)) if d0 != d1 else math.exp((x0 + x1) / 2)


def compare_rates(a: Curve, b: Curve, name_a: str, name_b: str) -> Optional[RateComparison]:
    """Compare two rates along the axis; None if they share no point."""
    others = {p.x: p for p in b.valid if p.value and p.value > 0}
    both = [(p, others[p.x]) for p in a.valid if p.x in others and p.value and p.value > 0 and p.x > 0]
    if not both:
        return None
    decided = [(pair, lead) for pair in both for lead in [_leads(*pair)] if lead]
    crossings = []
    names = {1: name_a, -1: name_b}
    for (left, before), (right, after) in zip(decided, decided[1:]):
        if before != after:
            at = _meeting(left, right)
            crossings.append(Crossing(at, left[0].x, right[0].x, names[before], names[after]))
    leads = [lead for _, lead in decided]
    wins = {name_a: leads.count(1), name_b: leads.count(-1)}
    return RateComparison(wins, len(both) - len(leads), tuple(crossings), len(both))


# ------------------------------------------------------------------ saturation


def saturation(curve: Curve, share: float = 0.95) -> Optional[Tuple[float, float]]:
    """The least x at which the curve reaches `share` of its maximum, and that maximum."""
    points = [p for p in curve.best(2) if p.value is not None]
    if len(points) < 2:
        return None
    peak = max(p.value for p in points)
    if peak <= 0:
        return None
    return next(p.x for p in points if p.value >= share * peak), peak


def envelope(curves: Sequence[Curve], name: str) -> Optional[Curve]:
    """The best valid point at every x, as one curve under a name of its own."""
    if not curves:
        return None
    best: Dict[float, Point] = {}
    for point in (p for c in curves for p in c.valid):
        if point.x not in best or point.value > best[point.x].value:
            best[point.x] = point
    return dataclasses.replace(curves[0], variant=name, points=[best[x] for x in sorted(best)])


def within(curve: Curve, above: float, upto: float) -> Optional[float]:
    """The median value of the points with above < x <= upto."""
    values = [p.value for p in curve.valid if above < p.x <= upto and p.value is not None]
    return statistics.median(values) if values else None
