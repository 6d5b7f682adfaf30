# SPDX-License-Identifier: BSD-3-Clause
"""Fleets of nodes whose truth is known, without files: nodes differ from each other in every mechanism and in
all at once, runs by noise, and some are slow.

A mechanism has one to five metrics, which have its offset in common, as the bandwidths of one engine have.
The spread that is given is that of a metric from node to node, of all its parts together.
"""

from __future__ import annotations

import math
import random
from typing import Callable, Dict, List, Mapping, Optional, Sequence

from reports.judge.compare.numbers import Number, RunNumbers
from reports.judge.fleet.judge import Kind, judge
from reports.judge.compare.verdict import Settings
from reports.judge.fleet.nodes import Node

METRICS_OF = (2, 1, 5, 3, 2, 1, 4, 2, 3, 1, 2, 4, 1, 3, 2, 4)  # metrics of each mechanism, 40 together
METRICS = sum(METRICS_OF)
_PARTS = (
    0.4,
    0.7,
    0.6,
)  # of the spread: what all metrics of a node share, what those of a mechanism do, and noise; squares: 1
Draw = Callable[[random.Random], float]
# Numbers of a rack as a GPU has them: families of one name, and those that move alone.
FAMILIES = {
    "GEMM rates": ["gemm/efficiency/gemm_%s_flop_rate" % kind for kind in "bf16 f16 f32 f64 f8 tf32".split()],
    "peak rates": ["gemm/efficiency/peak_%s_flop_rate" % kind for kind in ("f32", "f64")],
    "memory bandwidths": [
        "micro/memory/memory_%s_bandwidth" % what for what in ("read", "triad", "triad_nt")
    ],
    "cache bandwidths": ["micro/memory/%s_read_bandwidth" % what for what in ("l1", "llc")],
    "host engine copy rates": [
        "micro/copy_path/%s_engine_bandwidth" % what for what in ("down", "up", "both_ways")
    ],
    "host kernel copy rates": ["micro/copy_path/%s_kernel_bandwidth" % what for what in ("down", "up")],
    "launch times": [
        "micro/launch/launch_%s" % what for what in ("enqueue", "trigger", "round_trip", "back_to_back")
    ],
}
LONE = ["overlap/program_%d/time_ratio" % place for place in range(18)]
_UNITS = {"GEMM rates": "flop/s", "peak rates": "flop/s", "launch times": "s"}  # the others: byte/s
Noise = Callable[[random.Random], Callable[[str], float]]  # of a node, and then of each of its numbers


def normal(draw: random.Random) -> float:
    return draw.gauss(0, 1)


def student(freedom: int) -> Draw:
    """Heavy tails, with a standard deviation of 1."""
    scale = math.sqrt((freedom - 2) / freedom)

    def one(draw: random.Random) -> float:
        return scale * draw.gauss(0, 1) / math.sqrt(draw.gammavariate(freedom / 2, 2) / freedom)

    return one


def skewed(draw: random.Random) -> float:
    """A long tail towards slow: an exponential distribution with a mean of 0 and a standard deviation of
    1."""
    return draw.expovariate(1) - 1


def independent(tail: Draw) -> Noise:
    """Every number of a node by itself."""
    return lambda draw: lambda name: tail(draw)


def by_family(tail: Draw) -> Noise:
    """All of a family by the same, and each lone number by itself."""
    family_of = {name: family for family, names in FAMILIES.items() for name in names}

    def node(draw: random.Random) -> Callable[[str], float]:
        own: Dict[str, float] = {}

        def noise(name: str) -> float:
            key = family_of.get(name, name)
            if key not in own:
                own[key] = tail(draw)
            return own[key]

        return noise

    return node


def alike(tail: Draw) -> Noise:
    """Every number of a node by the same."""

    def node(draw: random.Random) -> Callable[[str], float]:
        own = tail(draw)
        return lambda name: own

    return node


def mixed(tail: Draw) -> Noise:
    """A part of each, as _PARTS says."""
    kinds = [kind(tail) for kind in (alike, by_family, independent)]

    def node(draw: random.Random) -> Callable[[str], float]:
        parts = [kind(draw) for kind in kinds]
        return lambda name: sum(share * part(name) for share, part in zip(_PARTS, parts))

    return node


def rack_numbers(losses: Mapping[str, float]) -> Dict[str, Number]:
    """By name, of what is lost of a truth of 1."""
    units = {name: _UNITS.get(family, "byte/s") for family, names in FAMILIES.items() for name in names}
    found = {}
    for name, loss in losses.items():
        unit = units.get(name, "")
        better = "higher" if unit.endswith("/s") else "lower"
        found[name] = Number(math.exp(-loss if better == "higher" else loss), unit, better, label=name)
    return found


def rack(
    draw: random.Random,
    count: int,
    spread: float,
    noise: Noise,
    slow: Mapping[str, float] = {},
    missing: float = 0.0,
) -> List[Node]:
    """The last node takes so many times as long in the numbers of these names. `missing`: the share of
    numbers that fail."""
    names = [name for own in FAMILIES.values() for name in own] + LONE
    found = []
    for place in range(count):
        own = noise(draw)
        bad = slow if place == count - 1 else {}
        numbers = rack_numbers({name: spread * own(name) + math.log(bad.get(name, 1.0)) for name in names})
        for name in names if missing else ():
            if draw.random() < missing:
                numbers[name] = Number(None, "", None, reason="killed")
        run = RunNumbers("node%d" % place, "test", numbers, device="test: machine")
        found.append(Node("node%d" % place, "node%d" % place, [run]))
    return found


def name_of(metric: int) -> str:
    return "folder/program/metric_%d" % metric


def node(
    draw: random.Random,
    name: str,
    spread: float,
    slow: Mapping[int, float] = {},
    tail: Draw = normal,
    metrics: Sequence[int] = range(METRICS),
) -> Node:
    """`slow`: mechanism -> how many times as slow it is on this node. Metrics with an odd number are times,
    the others rates."""
    common, metric = _PARTS[0] * tail(draw), 0
    numbers: Dict[str, Number] = {}
    for mechanism, count in enumerate(METRICS_OF):
        own = _PARTS[1] * tail(draw)
        for _ in range(count):
            loss = spread * (common + own + _PARTS[2] * tail(draw)) + math.log(slow.get(mechanism, 1.0))
            truth, is_time = math.exp(metric - 20), metric % 2 == 1
            if metric in metrics:
                numbers[name_of(metric)] = Number(
                    truth * math.exp(loss if is_time else -loss),
                    "s" if is_time else "byte/s",
                    "lower" if is_time else "higher",
                    label="metric %d" % metric,
                )
            metric += 1
    run = RunNumbers(
        name, "test", numbers, "", "", "machine", "test: machine", False, {"machine: hostname": name}
    )
    return Node(name, name, [run])


def fleet(
    draw: random.Random,
    count: int,
    spread: float,
    slow: Sequence[Mapping[int, float]] = (),
    tail: Draw = normal,
    metrics: Sequence[int] = range(METRICS),
) -> List[Node]:
    """The last nodes are those that are slow."""
    return [
        node(
            draw,
            "node%d" % place,
            spread,
            slow[place - count + len(slow)] if place >= count - len(slow) else {},
            tail,
            metrics,
        )
        for place in range(count)
    ]


def judged(nodes: List[Node], settings: Optional[Settings] = None) -> Kind:
    return judge("machine", nodes, settings or Settings())
