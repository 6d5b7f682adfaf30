# SPDX-License-Identifier: BSD-3-Clause
"""Provenance in which a node differs from the majority of its kind: a driver, a link width, a clock. Often
the cause.

A field whose values differ on every node, such as a serial number, has no majority and is no drift; one with
few values of which none has a majority splits the fleet, and is said as that.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple, Sequence

from reports.judge.compare.provenance import is_own
from reports.judge.fleet.nodes import Node

UNKNOWN = "unknown"  # of a node that does not say what others do
_MOST_SPLIT = 4  # values of a field without a majority
_SAME_SIZE = 0.01  # of main memory: firmware reserves a little more on one node than on the next
_DEVICE = re.compile(r"(device(?: [0-9]+)?) ")


class Drift(NamedTuple):
    """A field, and the value of most nodes. `others`: value -> places of the nodes that have it."""

    field: str
    majority: str
    count: int  # nodes with it
    others: dict[str, list[int]]


class Split(NamedTuple):
    """A field without a majority: value -> number of nodes."""

    field: str
    values: list[tuple[str, int]]


def _fields(nodes: Sequence[Node]) -> list[str]:
    """Without what tells nodes apart."""
    return sorted(
        {field for node in nodes for run in node.runs for field in run.provenance if not is_own(field)}
    )


def _device(field: str) -> str:
    """ "device 3" of a field of the fourth of several devices, "device" of the only one, "" of what is of
    none."""
    found = _DEVICE.match(field.partition(": ")[2])
    return found.group(1) if found else ""


def _devices(nodes: Sequence[Node]) -> list[set[str]]:
    return [{_device(field) for run in node.runs for field in run.provenance} for node in nodes]


def _values(nodes: Sequence[Node], field: str, devices: Sequence[set[str]]) -> list[str]:
    """Values of every node; of one with several runs that differ, all of theirs. A device that is missing is
    one field, their number, so its driver is that of the others."""
    found = []
    for node, own in zip(nodes, devices):
        values = dict.fromkeys(run.provenance.get(field, UNKNOWN) for run in node.runs)
        found.append(" and ".join(values) if _device(field) in own | {""} else "")
    usual = Counter(value for value in found if value).most_common(1)[0][0]
    found = [value or usual for value in found]
    return _same_size(found) if field.partition(": ")[2] == "memory bytes" else found


def _same_size(values: list[str]) -> list[str]:
    """Values in which sizes that are nearly the most common one are that."""
    usual = Counter(values).most_common(1)[0][0]
    if not usual.isdigit():
        return values
    return [
        usual if v.isdigit() and abs(int(v) - int(usual)) <= _SAME_SIZE * int(usual) else v for v in values
    ]


def _of_field(
    nodes: Sequence[Node], field: str, devices: Sequence[set[str]]
) -> tuple[Drift | None, Split | None]:
    values = _values(nodes, field, devices)
    counted = Counter(values).most_common()
    if len(counted) == 1:
        return None, None
    majority, count = counted[0]
    if 2 * count > len(nodes):
        others: dict[str, list[int]] = {}
        for place, value in enumerate(values):
            if value != majority:
                others.setdefault(value, []).append(place)
        return Drift(field, majority, count, others), None
    return None, Split(field, counted) if len(counted) <= _MOST_SPLIT and len(counted) < len(nodes) else None


def differences(nodes: Sequence[Node]) -> tuple[list[Drift], list[Split]]:
    """Drifts and splits of nodes of one kind, by field."""
    devices = _devices(nodes)
    found = [_of_field(nodes, field, devices) for field in _fields(nodes)]
    return [drift for drift, _ in found if drift], [split for _, split in found if split]


def separating(nodes: Sequence[Node], places: Sequence[int]) -> list[tuple[str, list[str], list[str]]]:
    """Fields of which no value is on both the nodes at these places and the others: field, the values there,
    and those of the others."""
    devices, found, own = _devices(nodes), [], set(places)
    for field in _fields(nodes):
        values = _values(nodes, field, devices)
        here = list(dict.fromkeys(v for place, v in enumerate(values) if place in own))
        there = list(dict.fromkeys(v for place, v in enumerate(values) if place not in own))
        if not set(here) & set(there) and len(here) + len(there) <= _MOST_SPLIT:
            found.append((field, here, there))
    return found
