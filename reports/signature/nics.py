# SPDX-License-Identifier: BSD-3-Clause
"""Network adapters of a node and the devices near them, from the facts of topology/node
(topology/node/nic_facts.h)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, Tuple

from reports.records.jsonl import real_in, whole_in
from reports.records.quantity import human, listing
from reports.signature.links import MAX_DEVICES, MEETING, fields
from reports.signature.section import Figure, Finding, Table

MAX_NICS = 64  # NICS_MAX in topology/node/nic_facts.c
LONGEST = 40

_FACT = re.compile(r"(nic|nearest_nics|dma_buf|device)_([0-9]{1,3})\Z")
_PATH = re.compile(r"nic_path_([0-9]{1,3})_([0-9]{1,3})\Z")
_WORDS = {
    **MEETING,
    "device": "one PCI device",
    "package": "one package",
    "system": "across sockets",
    "unknown": "unknown",
}
_NEAREST = {
    "device": "on the PCI device of",
    "switch": "behind one PCIe switch with",
    "switches": "behind PCIe switches with",
    "host_bridge": "at the host bridge of",
    "numa_node": "at the NUMA node of",
    "package": "at the package of",
    "system": "across sockets from",
}


@dataclass(frozen=True)
class Nics:
    devices: Mapping[int, str]  # place in --device -> "cuda:3"
    nics: Mapping[int, Mapping[str, str]]
    paths: Mapping[Tuple[int, int], str]  # device and adapter -> where they meet
    nearest: Mapping[int, Mapping[str, str]]
    dma_buf: Mapping[int, str]
    peer_memory: Mapping[str, str]

    def name(self, nic: int) -> str:
        found = self.nics.get(nic, {})
        name = found.get("rdma") or found.get("interface") or found.get("bus") or "adapter %d" % nic
        return name[:LONGEST]

    def device(self, device: int) -> str:
        return self.devices.get(device, "device %d" % device)

    def nearest_of(self, device: int) -> List[int]:
        numbers = [whole_in(word) for word in self.nearest.get(device, {}).get("nics", "").split(",")]
        return [n for n in numbers if n is not None and n in self.nics]

    def with_paths(self) -> List[int]:
        return sorted({device for device, _ in self.paths})


def nics_of(facts: Mapping[str, object]) -> Nics:
    of: Dict[str, Dict[int, str]] = {"nic": {}, "nearest_nics": {}, "dma_buf": {}, "device": {}}
    paths = {}
    for name, value in facts.items():
        fact, path = _FACT.match(name), _PATH.match(name)
        if fact and int(fact.group(2)) < max(MAX_NICS, MAX_DEVICES):
            of[fact.group(1)][int(fact.group(2))] = str(value)
        elif path and int(path.group(1)) < MAX_DEVICES and int(path.group(2)) < MAX_NICS:
            paths[int(path.group(1)), int(path.group(2))] = fields(str(value)).get("meet", "unknown")
    return Nics(
        {place: value.split(" ")[0][:LONGEST] for place, value in of["device"].items()},
        {place: fields(value) for place, value in of["nic"].items()},
        paths,
        {place: fields(value) for place, value in of["nearest_nics"].items()},
        of["dma_buf"],
        fields(str(facts.get("peer_memory", ""))),
    )


# ------------------------------------------------------------------ words


def sentence(facts: Mapping[str, object]) -> str:
    """The devices that have an adapter so near; "" where there is nothing to say."""
    found = nics_of(facts)
    devices: Dict[str, List[str]] = {}
    for device, nearest in sorted(found.nearest.items()):
        if nearest.get("meet") in _NEAREST:
            devices.setdefault(nearest["meet"], []).append(found.device(device))
    if not devices:
        return ""
    if len(devices) == 1 and len(found.nearest) > 1:
        return "The nearest network adapter is %s each device." % _NEAREST[next(iter(devices))]
    parts = ["%s %s" % (_NEAREST[meet], listing(devices[meet], 8)) for meet in _NEAREST if meet in devices]
    return "The nearest network adapter is %s." % listing(parts, len(_NEAREST))


def direct(found: Nics) -> str:
    """Signs that adapters may reach the devices' memory themselves, and what was looked for."""
    parts = []
    module, exported = found.peer_memory.get("found", ""), set(found.dma_buf.values())
    if module == "none":
        parts.append("no module for peer memory was found (%s)" % listing(_looked_for(found), 8))
    elif module:
        parts.append("a module for peer memory was found (%s)" % module)
    if exported:
        word = {frozenset(["yes"]): "exports", frozenset(["no"]): "does not export"}
        parts.append(
            "the driver %s device memory as dma-buf" % word.get(frozenset(exported), "partly exports")
        )
    return "Direct access of adapters to the devices: %s." % "; ".join(parts) if parts else ""


def _looked_for(found: Nics) -> List[str]:
    files = found.peer_memory.get("looked_for", "").split(",")
    return ["no " + file for file in files if file]


# ------------------------------------------------------------------ figures


def _rate(nic: Mapping[str, str]) -> str:
    rate = real_in(nic.get("bytes_per_s", ""))
    return human(rate, "byte/s") if rate else "–"


def figures(facts: Mapping[str, object]) -> List[Figure]:
    """A row an adapter; and a row a device, with how far each adapter is."""
    found = nics_of(facts)
    if not found.nics:
        return []
    keys = ("interface", "bus", "numa_node", "link")
    rows = [
        [found.name(nic), *(says.get(key, "–")[:LONGEST] for key in keys), _rate(says)]
        for nic, says in sorted(found.nics.items())
    ]
    heads = ["adapter", "interface", "PCI address", "NUMA node", "link", "rate each way"]
    shown: List[Figure] = [
        Table(heads, rows, "Network adapters, with the nominal rate of a link that is up.", len(keys) + 1)
    ]
    devices, nics = found.with_paths(), sorted(found.nics)
    if devices:
        rows = [
            [found.device(d), listing([found.name(n) for n in found.nearest_of(d)], 8) or "unknown"]
            + [_WORDS.get(found.paths.get((d, n), ""), "unknown") for n in nics]
            for d in devices
        ]
        heads = ["device", "nearest", *(found.name(n) for n in nics)]
        caption = (
            "What the ways of a device and of an adapter to memory have in common first. Nearest: among "
            "the fastest adapters whose link is not down. " + direct(found)
        )
        shown.append(Table(heads, rows, caption.strip(), len(heads)))
    return shown


def findings(facts: Mapping[str, object]) -> List[Finding]:
    """A device without an adapter at its socket, where another socket has several cards: one of them could be
    moved. With one card, or with a slower one nearby, nothing is wrong for sure."""
    found = nics_of(facts)
    far = []
    for device, nearest in sorted(found.nearest.items()):
        cards = {found.nics[n].get("bus", "").partition(".")[0] for n in found.nearest_of(device)}
        if nearest.get("meet") == "system" and len(cards) > 1:
            far.append(found.device(device))
    if not far:
        return []
    verb = "reaches" if len(far) == 1 else "reach"
    text = "%s %s the nearest of the fastest network adapters across sockets." % (listing(far, 8), verb)
    return [Finding("No adapter at the socket.", text)]
