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

from reports.compare.numbers import Number, RunNumbers
from reports.fleet.judge import Kind, judge
from reports.compare.verdict import Settings
from reports.fleet.nodes import Node

METRICS_OF = (2, 1, 5, 3, 2, 1, 4, 2, 3, 1, 2, 4, 1, 3, 2, 4)  # metrics of each mechanism, 40 together
METRICS = sum(METRICS_OF)
_PARTS = (
    0.4,
    0.7,
    0.6,
)  # of the spread: what all metrics of a node share, what those of a mechanism do, and noise; squares: 1
Draw = Callable[[random.Random], float]


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
