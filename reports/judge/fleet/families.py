# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that move together, as all GEMM rates do with a clock, and what they say of a node as one.

The number of a family on a node is the mean of what its metrics lose there, each weighed by 1 / its spread,
so that a noisy one does not drown the others. That mean is judged as one more metric: against the same mean
on all other nodes. What the metrics of a node have in common is in the spread of it, however much that is;
adding up their z would take them for independent.

The spread is the standard deviation of the others, which of few is better known than the quantile that
outliers.py takes: of 7 others it has 6 degrees of freedom instead of 4.5. In it outliers hide each other; for
those there are the single metrics. It never counts for more than 6, for what nodes differ by has longer tails
than normal values, and of many nodes the longest is looked at.

O'Brien, Biometrics 40 (1984), of the mean of standardised endpoints as one test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from statistics import median, stdev
from typing import Container, Mapping, NamedTuple, Sequence

from reports.judge.compare.numbers import RATIO
from reports.records.jsonl import Json
from reports.records.student import quantile, two_sided_p

# Names, unit, and what the numbers are called, if they move together; the first that fits counts. Copies by
# engines and by kernels end at the same link, and each at limits of their own.
_FAMILIES = (
    ("gemm/*/gemm_*", "flop/s", "GEMM rates"),
    ("gemm/*/gemm_*", "op/s", "GEMM rates"),
    ("gemm/*/peak_*", "flop/s", "peak rates"),
    ("micro/memory/memory_*", "byte/s", "memory bandwidths"),
    ("micro/sustained/*", "byte/s", "memory bandwidths"),
    ("micro/memory/*", "byte/s", "cache bandwidths"),
    ("micro/copy_path/local_*", "byte/s", ""),
    ("micro/copy_path/peer_*", "byte/s", "peer link rates"),
    ("micro/peer_matrix/*", "byte/s", "peer link rates"),
    ("micro/copy_path/*_engine_*", "byte/s", "host engine copy rates"),
    ("micro/copy_path/*_kernel_*", "byte/s", "host kernel copy rates"),
    ("micro/launch/*", "s", "launch times"),
    ("collectives/*", "byte/s", "collective rates"),
)
_MOST_FREEDOM = 6
_POWER_Z = 1.2816  # 90 %
_LEAST_SHARE = 0.5  # of the metrics of a family must a node have


def family_of(name: str, unit: str) -> str:
    """Name of the numbers that move together with this one; empty where it moves alone. Those of another
    device are another family."""
    own, _, device = name.partition("@")
    found = next((label for names, of, label in _FAMILIES if of == unit and fnmatchcase(own, names)), "")
    return "%s of %s" % (found, device) if found and device else found


class Member(NamedTuple):
    """A metric of a family: by node its distance from the median of all, and the error of that."""

    losses: Mapping[int, float]
    errors: Mapping[int, float]
    spread: float
    threshold: float


class Standing(NamedTuple):
    """A node in a family; `p` is two-sided, and 1 where the distance is no more than matters."""

    loss: float
    z: float
    p: float
    count: int  # of its numbers
    own: float  # as `loss`, from the median of all instead of the others


@dataclass
class Family:
    """`metrics`: their places among those of the kind."""

    label: str
    better: str
    metrics: tuple[int, ...]
    threshold: float = 0.0
    least_spread: float = 0.0
    spread: float | None = None
    finds: float | None = None  # as a ratio less 1
    nodes: dict[int, Standing] = field(default_factory=dict)

    def ratio_of(self, loss: float) -> float:
        """Ratio of the numbers to those of the others."""
        return math.exp(-loss if self.better == "higher" else loss)


class FamilyCall(NamedTuple):
    """Numbers that move together in which a node is an outlier."""

    family: Family
    standing: Standing
    adjusted: float


class _Mean(NamedTuple):
    loss: float
    error: float
    count: int
    usual: float  # the median of the losses


def _means(members: Sequence[Member]) -> dict[int, _Mean]:
    """The mean of every node that has enough of the metrics."""
    found = {}
    for place in sorted({place for member in members for place in member.losses}):
        own = [member for member in members if place in member.losses]
        if len(own) < _LEAST_SHARE * len(members):
            continue
        weights = [1 / member.spread for member in own]
        losses = [member.losses[place] for member in own]
        errors = [weight * member.errors[place] for weight, member in zip(weights, own)]
        found[place] = _Mean(
            math.fsum(w * loss for w, loss in zip(weights, losses)) / math.fsum(weights),
            math.sqrt(math.fsum(error * error for error in errors)) / math.fsum(weights),
            len(own),
            median(losses),
        )
    return found


def _freedom(others: int) -> int:
    return min(others - 1, _MOST_FREEDOM)


def _others(values: Sequence[float]) -> list[tuple[float, float]]:
    """Mean of all others, and standard deviation of a value from it, of each value. In one pass: without a
    value d from the mean the squares are less by d^2 n / (n - 1)."""
    count = len(values)
    mean = math.fsum(values) / count
    squares = math.fsum((v - mean) ** 2 for v in values)
    found = []
    for value in values:
        off = value - mean
        rest = max(squares - off * off * count / (count - 1), 0.0)
        found.append((mean - off / (count - 1), math.sqrt(rest / (count - 2) * count / (count - 1))))
    return found


def judge(family: Family, members: Sequence[Member], least_share: float, least_nodes: int) -> None:
    """Set the standing of each node, if at least `least_nodes` have one. No spread is less than `least_share`
    of the least effect.

    A node is an outlier only if most of its metrics deviate by more than matters: one that is far away is no
    family. Of fewer metrics the mean spreads more, at most by the root of how many fewer."""
    weights = [1 / member.spread for member in members]
    family.threshold = math.fsum(w * m.threshold for w, m in zip(weights, members)) / math.fsum(weights)
    means = _means(members)
    if len(means) < least_nodes:
        return
    family.least_spread = least_share * family.threshold
    others = _others([mean.loss for mean in means.values()])
    for (place, own), (centre, spread) in zip(means.items(), others):
        scale = max(math.sqrt(len(members) / own.count) * max(spread, family.least_spread), own.error)
        distance = own.loss - centre
        z = distance / scale
        is_off = min(abs(distance), abs(own.usual - centre)) > family.threshold
        same = (own.usual - centre) * distance > 0
        p = two_sided_p(z, _freedom(len(others) - 1)) if is_off and same else 1.0
        family.nodes[place] = Standing(distance, z, p, own.count, own.loss)


def set_finds(family: Family, off: Container[int], tests: int, rate: float) -> None:
    """Set the spread, and the deviation of a lone node that is found, from nodes that are no outliers."""
    losses = [own.own for place, own in family.nodes.items() if place not in off]
    if len(losses) < 2:
        return
    family.spread = stdev(losses)
    others = len(family.nodes) - 1
    limit, freedom = quantile(1 - rate / tests, _freedom(others)), others - 1
    # The distance and the spread of the others that it is held against both vary.
    power = limit * (1 - 0.25 / freedom) + _POWER_Z * math.sqrt(1 + limit * limit / 2 / freedom)
    scale = max(family.spread, family.least_spread) * math.sqrt(1 + 1 / others)
    family.finds = math.expm1(max(power * scale, family.threshold + _POWER_Z * family.spread))


def families_of(names: Sequence[tuple[str, str, str | None]]) -> list[Family]:
    """Families of metrics by name, unit and direction, in the order of the metrics; an empty name belongs to
    none."""
    found: dict[tuple[str, str], list[int]] = {}
    for at, (name, unit, better) in enumerate(names):
        label = family_of(name, unit)
        if label and better:
            found.setdefault((label, better), []).append(at)
    return [
        Family(label, better, tuple(metrics))
        for (label, better), metrics in found.items()
        if len(metrics) > 1
    ]


# ------------------------------------------------------------------ as JSON


def as_json(family: Family, names: Sequence[str]) -> Json:
    """`names`: of all metrics of the kind."""
    return {
        "name": family.label,
        "metrics": [names[at] for at in family.metrics],
        "better": family.better,
        "nodes": len(family.nodes),
        "spread": family.spread,
        "least_effect": math.expm1(family.threshold),
        "finds": family.finds,
    }


def call_json(call: FamilyCall, names: Sequence[str]) -> Json:
    family, standing = call.family, call.standing
    return {
        "family": family.label,
        "label": "%d %s" % (standing.count, family.label),
        "metrics": [names[at] for at in family.metrics],
        "better": family.better,
        "scale": RATIO,
        "change": family.ratio_of(standing.loss),
        "z": standing.z,
        "p": standing.p,
        "p_adjusted": call.adjusted,
    }
