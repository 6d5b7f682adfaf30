# SPDX-License-Identifier: BSD-3-Clause
"""Keys of the host's memory (device/sim/machine/traffic.c FLOWS, pinned memory) and of what devices share on
their way to it (device/sim/machine/uplinks.c)."""

from __future__ import annotations

import re
import statistics
from typing import Iterator, NamedTuple, Optional, Union

from reports.model.key import Key, Missing
from reports.model.levels import AT_LEAST, COPY
from reports.model.measured import Measured
from reports.records.jsonl import Json, is_number

Found = Iterator[Union[Key, Missing]]
PAIRS = "micro/peer_matrix"
ALL_DEVICES = "micro/link_contention"
_NODE = re.compile(r"(?:numa(?P<from>\d+)>(?P<to>\d+)|(?P<source>\d+)>numa(?P<node>\d+))\Z")
_SLOWER = 0.97  # of the near node's rate
_HEADLINES = ("micro/copy_path/both_ways_engine_bandwidth", "micro/copy_path/up_engine_bandwidth")
_MOST_NODES = 64


class Route(NamedTuple):
    node: int
    device: int
    is_up: bool  # to the device
    value: float


def _rates(measured: Measured, method: str) -> dict[str, float]:
    """By route, between host memory of every node and every device."""
    fitted = measured.results(PAIRS).get("fitted") or {}
    rates = (fitted.get("host") or {}).get(method) or {}
    return {name: float(rate) for name, rate in rates.items() if is_number(rate) and rate > 0}


def _routes(measured: Measured) -> list[Route]:
    """Copies by engines."""
    routes = []
    for name, value in _rates(measured, "engine").items():
        match = _NODE.match(name)
        if match:
            is_up = match["to"] is not None
            node, device = (match["from"], match["to"]) if is_up else (match["node"], match["source"])
            routes.append(Route(int(node), int(device), is_up, value))
    return routes


def _provenance(measured: Measured, field: str) -> Optional[int]:
    """A number of the machine that ran the programs, also of simulated devices."""
    fields = (measured.signature.get("provenance") or {}).get("fields") or {}
    value = fields.get(field)
    return int(value) if is_number(value) and value > 0 else None


def _host_bandwidth(measured: Measured) -> Union[Key, Missing]:
    """The most that one device moves at once, up and down, or all of them."""
    points = [p for way in ("up", "down") for p in measured.curve(COPY, "size", direction=way)]
    largest = max((size for size, _ in points), default=0.0)
    found = [(v.value, v.error, "%s: %s" % (COPY, v.where.get("variant"))) for s, v in points if s == largest]
    found += [(v, 0.0, "%s: kernel_both_ways" % PAIRS) for v in _rates(measured, "kernel_both_ways").values()]
    headlines = map(measured.one, _HEADLINES) if not found else ()
    found += [(v.value, v.error, v.name) for v in headlines if v]
    several = [(d["bandwidth"], 0.0, ALL_DEVICES) for d in _directions(measured) if d["bandwidth"]]
    if not found + several:
        return Missing(("host_bandwidth",), "no copy to or from the host was measured (micro/copy_path)")
    value, error, source = max(found + several)
    who = "all devices" if source == ALL_DEVICES else "one device"
    return Key("host_bandwidth", value, AT_LEAST + "what %s moved at once: %s" % (who, source), error)


def _directions(measured: Measured) -> list[Json]:
    return measured.results(ALL_DEVICES).get("directions") or []


def _uplinks(measured: Measured) -> Found:
    """Devices of consecutive indices in groups of one size, in both directions."""
    groups = [d["groups"] for d in _directions(measured) if d["direction"] in ("up", "down")]
    if len(groups) < 2 or groups[0] != groups[1] or len(groups[0]) < 2:
        return
    size = len(groups[0][0])
    every = [str(i) for i in range(size * len(groups[0]))]
    rates = [d["bandwidth"] for d in _directions(measured) if d["direction"] in ("up", "down")]
    if sum(groups[0], []) != every or len(every) != measured.devices or not all(rates):
        return
    if any(len(group) != size for group in groups[0]):
        return
    yield Key("uplink_devices", size, "%s: devices that slow each other" % ALL_DEVICES)
    yield Key("uplink_bandwidth", max(rates) / len(groups[0]), "%s: all devices at once" % ALL_DEVICES)


def _far(routes: list[Route]) -> Key:
    """The model has one rate for all that is far."""
    near: dict[tuple[int, bool], float] = {}
    for r in routes:
        near[r.device, r.is_up] = max(r.value, near.get((r.device, r.is_up), 0.0))
    far = [r.value for r in routes if r.value < _SLOWER * near[r.device, r.is_up]]
    if not far:
        source = AT_LEAST + "no node is clearly slower than another: %s" % PAIRS
        return Key("far_bandwidth", max(near.values()), source)
    middle = statistics.median(far)
    error = statistics.median(abs(value / middle - 1) for value in far)
    return Key("far_bandwidth", middle, "%s: copies by engines to and from the far nodes" % PAIRS, error)


def keys(measured: Measured, _found: dict) -> Found:
    routes = _routes(measured)
    own = None if measured.signature.get("simulated") else _provenance(measured, "numa_nodes")
    nodes = len({r.node for r in routes}) or own or 0
    bytes_ = _provenance(measured, "memory_bytes")
    yield _host_bandwidth(measured)
    yield from _uplinks(measured)
    if bytes_:
        yield Key("host_memory_bytes", bytes_, "of the machine that ran the programs")
    else:
        yield Missing(("host_memory_bytes",), "the operating system does not report it")
    if 0 < nodes <= _MOST_NODES:
        yield Key("numa_nodes", nodes, "nodes of %s" % PAIRS if routes else "the system reports it")
    else:
        yield Missing(("numa_nodes",), "no copy from its nodes was measured (%s)" % PAIRS)
    if nodes > 1 and routes:
        yield _far(routes)
    else:
        why = "there is one node" if nodes == 1 else "no copy from a far node was measured (%s)" % PAIRS
        yield Missing(("far_bandwidth",), why)
