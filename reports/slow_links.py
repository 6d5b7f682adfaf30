# SPDX-License-Identifier: BSD-3-Clause
"""Which links between nodes are slow, and which nodes: from the bandwidth and latency of pairs, as
collectives/pairs has them.

What is usual is the median over nodes of the median over the links of a node, sent and received. One node
whose links are all slow is in n - 1 of the n (n - 1) / 2 pairs, half of them with four nodes, so that a
median over all pairs would move with it; in the other nodes' medians it has one link of n - 1. Two nodes
can't tell which of them is slow: three are needed.

A direction of a link is slow where the whole interval of its bandwidth is below SLOW of what is usual; a link
is late where the whole interval of its latency is above LATE times it. Where everything that a node sends, or
receives, is slow, over two links or more, the node is named and its links are not."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Dict, List, Mapping, Optional, Set, Tuple

SLOW = 0.8
LATE = 3.0  # a switch more on the way takes up to twice as long
MIN_NODES = 3

Ends = Tuple[int, int]  # from, to


@dataclass(frozen=True)
class Measured:
    value: float
    low: float
    high: float


@dataclass
class Links:
    """Directed bandwidths, and the latency of pairs, the lower number first."""

    bandwidth: Dict[Ends, Measured] = field(default_factory=dict)
    latency: Dict[Ends, Measured] = field(default_factory=dict)


@dataclass(frozen=True)
class SlowNode:
    node: int
    sends: bool
    receives: bool
    ends: Tuple[Ends, ...]  # its slow directions


@dataclass(frozen=True)
class Found:
    usual_bandwidth: Optional[float]  # None: too few nodes
    usual_latency: Optional[float]
    slow: Tuple[Ends, ...]  # every slow direction, the slowest first
    late: Tuple[Ends, ...]
    nodes: Tuple[SlowNode, ...]

    @property
    def alone(self) -> Tuple[Ends, ...]:
        """Slow directions that no slow node explains."""
        explained = {ends for node in self.nodes for ends in node.ends}
        return tuple(ends for ends in self.slow if ends not in explained)


def usual(values: Mapping[Ends, Measured]) -> Optional[float]:
    of_node: Dict[int, List[float]] = {}
    for ends, measured in values.items():
        for end in ends:
            of_node.setdefault(end, []).append(measured.value)
    return median(median(found) for found in of_node.values()) if len(of_node) >= MIN_NODES else None


def _nodes_of(slow: Set[Ends], bandwidth: Mapping[Ends, Measured]) -> Tuple[SlowNode, ...]:
    found = []
    for node in sorted({end for ends in slow for end in ends}):
        sides = []
        for side in (0, 1):
            own = {ends for ends in bandwidth if ends[side] == node}
            sides.append(tuple(sorted(own)) if len(own) > 1 and own <= slow else ())
        if sides[0] or sides[1]:
            found.append(SlowNode(node, bool(sides[0]), bool(sides[1]), sides[0] + sides[1]))
    return tuple(found)


def find(links: Links) -> Found:
    bandwidth, latency = usual(links.bandwidth), usual(links.latency)
    slow = [
        ends for ends, m in links.bandwidth.items() if bandwidth is not None and m.high < SLOW * bandwidth
    ]
    late = [ends for ends, m in links.latency.items() if latency is not None and m.low > LATE * latency]
    return Found(
        bandwidth,
        latency,
        tuple(sorted(slow, key=lambda e: (links.bandwidth[e].value, e))),
        tuple(sorted(late, key=lambda e: (-links.latency[e].value, e))),
        _nodes_of(set(slow), links.bandwidth),
    )
