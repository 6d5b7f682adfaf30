# SPDX-License-Identifier: BSD-3-Clause
"""Slow links and slow nodes, from the bandwidth and latency of pairs of nodes, as collectives/pairs has them,
or of devices, as micro/peer_matrix does.

The usual value is the median over nodes of the median over the links of a node, sent and received. One node
whose links are all slow is in n - 1 of the n (n - 1) / 2 pairs, half of them with four nodes, so that a
median over all pairs would move with it; in the other nodes' medians it has one link of n - 1. Two nodes
can't tell which of them is slow: three are needed.

Where links differ by design, each is compared with those of its kind: with the same way, where every node
sends and receives over equally many such links, as over the two NVLinks of a mesh that has one elsewhere, or
across the sockets. A way that only some nodes have may be what is broken, so its nominal rate explains
nothing.

A direction of a link is slow where the whole interval of its bandwidth is below SLOW of the usual rate; a
link is late where the whole interval of its latency is above LATE times the usual. Where everything that a
node sends, or receives, is slow, over two links or more, the node is named and its links are not."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from reports.records.curves import by
from reports.records.quantity import human, span
from reports.signature.section import Finding

SLOW = 0.8
LATE = 3.0  # a switch more on the way takes up to twice as long
MIN_NODES = 3
ALIKE = 0.95  # ratios nearer to each other are told as one
NAMED = 4  # more slow links are summarised

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
    ways: Dict[Ends, str] = field(default_factory=dict)  # "bytes_per_s=5e+10 hops=1 link=NVLink", if known


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
    ratios: Mapping[Ends, float]  # of a bandwidth to what is usual of its kind

    @property
    def alone(self) -> Tuple[Ends, ...]:
        """Slow directions that no slow node explains."""
        explained = {ends for node in self.nodes for ends in node.ends}
        return tuple(ends for ends in self.slow if ends not in explained)


def usual(values: Mapping[Ends, Measured]) -> Optional[float]:
    of_node = by(((end, m.value) for ends, m in values.items() for end in ends), lambda pair: pair[0])
    if len(of_node) < MIN_NODES:
        return None
    return median(median(value for _, value in found) for found in of_node.values())


def _is_regular(ends: Sequence[Ends], nodes: int) -> bool:
    """Every node sends, and receives, over equally many."""
    counts = [Counter(pair[side] for pair in ends) for side in (0, 1)]
    return all(len(count) == nodes and len(set(count.values())) == 1 for count in counts)


def _kinds(links: Links) -> List[Dict[Ends, Measured]]:
    """The links by kind, each once: those of one way, else of one way whatever its nominal rate, else all."""
    nodes = len({end for ends in links.bandwidth for end in ends})
    left = dict(links.bandwidth)
    kinds = []
    for name in (lambda way: way, lambda way: re.sub(r"bytes_per_s=\S*", "", way)):
        groups: Dict[str, Dict[Ends, Measured]] = {}
        for ends, measured in left.items():
            groups.setdefault(name(links.ways.get(ends, "")), {})[ends] = measured
        for group in groups.values():
            if _is_regular(list(group), nodes):
                kinds.append(group)
                left = {ends: m for ends, m in left.items() if ends not in group}
    return kinds + ([left] if left else [])


def _usual_of_each(links: Links) -> Dict[Ends, float]:
    found = {}
    for kind in _kinds(links):
        middle = usual(kind)
        found.update(dict.fromkeys(kind, middle) if middle is not None else {})
    return found


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
    of_each = _usual_of_each(links)
    slow = [ends for ends, m in links.bandwidth.items() if ends in of_each and m.high < SLOW * of_each[ends]]
    late = [ends for ends, m in links.latency.items() if latency is not None and m.low > LATE * latency]
    return Found(
        bandwidth,
        latency,
        tuple(sorted(slow, key=lambda e: (links.bandwidth[e].value, e))),
        tuple(sorted(late, key=lambda e: (-links.latency[e].value, e))),
        _nodes_of(set(slow), links.bandwidth),
        {ends: links.bandwidth[ends].value / value for ends, value in of_each.items()},
    )


# ------------------------------------------------------------------ findings


@dataclass(frozen=True)
class View:
    """The links of one case, or by one method."""

    links: Links
    found: Found
    label: Callable[[int], str]  # of a node
    where: str  # "between these 8 nodes (messages of 1 MiB)"


def _rates(view: View, slow: Sequence[Ends]) -> str:
    """ "12.4 GB/s, 0.25 of the usual rate"."""
    values = sorted(view.links.bandwidth[ends].value for ends in slow)
    ratios = sorted(view.found.ratios[ends] for ends in slow)
    same = values[-1] < 1.02 * values[0]
    rates = span(values[:1] if same else values, lambda value: human(value, "byte/s"))
    shown = dict.fromkeys("%.2f" % ratio for ratio in (ratios[0], ratios[-1]))
    return "%s, %s of the usual rate" % (rates, " to ".join(shown))


def _node_text(view: View, node: SlowNode) -> str:
    does = "sends and receives" if node.sends and node.receives else "sends" if node.sends else "receives"
    name, rates = view.label(node.node), _rates(view, node.ends)
    return "Everything that %s %s: %s %s." % (name, does, rates, view.where)


def _worst(views: Sequence[View]) -> Dict[Ends, View]:
    """Every slow direction that no slow node explains, with the view in which it is slowest, or the first of
    those where it is about so."""
    found: Dict[Ends, View] = {}
    for view in views:
        for ends in view.found.alone:
            if ends not in found or view.found.ratios[ends] < ALIKE * found[ends].found.ratios[ends]:
                found[ends] = view
    return dict(sorted(found.items(), key=lambda item: item[1].found.ratios[item[0]]))


def _link_texts(slow: Dict[Ends, View]) -> List[Tuple[str, View]]:
    """A link that is alike slow both ways is one text."""
    texts = []
    done: Set[Ends] = set()
    for ends, view in slow.items():
        back = (ends[1], ends[0])
        if ends in done:
            continue
        ratios = view.found.ratios
        both = back not in done and slow.get(back) is view and ratios[ends] > ALIKE * ratios[back]
        told = (ends, back) if both else (ends,)
        done.update(told)
        form = "between %s and %s, both ways: %s" if both else "from %s to %s: %s"
        texts.append((form % (*map(view.label, ends), _rates(view, told)), view))
    return texts


def findings_of(views: Sequence[View], node_noun: str, link_noun: str) -> List[Finding]:
    """Slow nodes, then the slow links of others, the slowest first."""
    nodes: Dict[Tuple[int, bool, bool], Tuple[View, SlowNode]] = {}
    for view in views:
        for node in view.found.nodes:
            nodes.setdefault((node.node, node.sends, node.receives), (view, node))
    shown = [Finding("Slow %s." % node_noun, _node_text(view, node)) for view, node in nodes.values()]
    texts = _link_texts(_worst(views))
    if len(texts) <= NAMED:
        return shown + [
            Finding("Slow %s." % link_noun, "%s%s %s." % (text[:1].upper(), text[1:], view.where))
            for text, view in texts
        ]
    named = ["%s %s" % (text, view.where) if i == 0 else text for i, (text, view) in enumerate(texts[:NAMED])]
    text = "%d: %s; %d more." % (len(texts), "; ".join(named), len(texts) - NAMED)
    return shown + [Finding("Slow %ss." % link_noun, text)]
