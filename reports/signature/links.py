# SPDX-License-Identifier: BSD-3-Clause
"""Links of the devices of a node, from the facts of topology/node (topology/node/link_facts.h), and what is
wrong with them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import Dict, List, Mapping, Optional, Tuple

from reports.records.jsonl import real_in, whole_in
from reports.records.quantity import human, listing, plural
from reports.signature.section import Finding

MAX_DEVICES = 64  # DEV_MAX in device/dev.h

_FACT = re.compile(r"(link|path)_([0-9]{1,3})_([0-9]{1,3})\Z")
_ERRORS = re.compile(r"memory_errors_([0-9]{1,3})\Z")
MEETING = {
    "device": "one board",
    "switch": "one PCIe switch",
    "switches": "PCIe switches",
    "host_bridge": "one host bridge",
    "numa_node": "one NUMA node",
    "system": "different NUMA nodes",
}


def fields(text: str) -> Dict[str, str]:
    """ "kind=PCIe lanes=8 unknown=rate: not supported" as a dict; `unknown` takes the rest of the line."""
    known, _, unknown = text.partition("unknown=")
    found = dict(word.split("=", 1) for word in known.split() if "=" in word)
    return dict(found, unknown=unknown) if unknown else found


@dataclass(frozen=True)
class Link:
    device: int
    kind: str
    to: str  # "host", "switch", "device_1", a PCI address or "unknown"
    fields: Mapping[str, str]

    def number(self, name: str) -> Optional[float]:
        return real_in(self.fields.get(name, ""))

    @property
    def text(self) -> str:
        """ "PCIe 5 x8 of x16", "4 × NVLink 3.0, 103 GB/s, 1 down" """
        if self.kind == "PCIe":
            return self._pcie()
        up, down, rate, out = (self.number(name) for name in ("up", "down", "bytes_per_s", "out_bytes_per_s"))
        if up is None:
            return "%s unknown" % self.kind
        text = " ".join(t for t in ("%d ×" % up, self.kind, self.fields.get("version", "")) if t)
        if rate and up:
            each = human(up * rate, "byte/s")
            text += (
                ", %s in and %s out" % (each, human(up * out, "byte/s")) if out else ", %s each way" % each
            )
        return text + (", %d down" % down if down else "")

    def _pcie(self) -> str:
        generation, lanes = self.number("generation"), self.number("lanes")
        if generation is None and lanes is None:
            return "PCIe unknown"
        text = "PCIe"
        for name, sign in (("generation", ""), ("lanes", "x")):
            now, most = self.number(name), self.number(name + "_max")
            text += "" if now is None else " %s%d" % (sign, now)
            text += " of %s%d" % (sign, most) if now is not None and most is not None and now < most else ""
        return text + ("" if self.fields.get("read") == "busy" or not self.is_below() else " when idle")

    def is_below(self, *names: str) -> bool:
        pairs = [(self.number(name), self.number(name + "_max")) for name in names or ("generation", "lanes")]
        return any(now is not None and most is not None and now < most for now, most in pairs)


@dataclass(frozen=True)
class Links:
    names: Mapping[int, str]  # place in --device -> "cuda:3"
    links: List[Link]
    paths: Mapping[Tuple[int, int], Mapping[str, str]]
    errors: Mapping[int, Mapping[str, str]]

    def name(self, device: int) -> str:
        return self.names.get(device, "device %d" % device)

    def of(self, device: int) -> List[Link]:
        return [link for link in self.links if link.device == device]

    @property
    def devices(self) -> List[int]:
        return sorted({link.device for link in self.links})


def links_of(facts: Mapping[str, object]) -> Links:
    links, paths, errors, names = [], {}, {}, {}
    for name, value in facts.items():
        place, of_memory = _FACT.match(name), _ERRORS.match(name)
        if place and int(place.group(2)) >= MAX_DEVICES:
            continue
        if place and place.group(1) == "link":
            found = fields(str(value))
            links.append(Link(int(place.group(2)), found.get("kind", ""), found.get("to", "unknown"), found))
        elif place:
            paths[int(place.group(2)), int(place.group(3))] = fields(str(value))
        elif of_memory:
            errors[int(of_memory.group(1))] = fields(str(value))
        elif re.match(r"device_[0-9]{1,3}\Z", name):
            names[int(name[7:])] = str(value).split(" ")[0][:40]
    return Links(names, links, paths, errors)


# ------------------------------------------------------------------ what joins two devices


def between(found: Links, one: int, other: int) -> str:
    """A cell of the matrix. A path that has no fact of its own is like the one back."""
    direct = [link for link in found.of(one) if link.to == "device_%d" % other]
    if direct:
        return "; ".join(link.text for link in direct)
    path = found.paths.get((one, other)) or found.paths.get((other, one), {})
    kind = path.get("kind", "")
    switch = next((link for link in found.of(one) if link.to == "switch" and link.kind == kind), None)
    if switch:
        return "%s through a switch" % switch.text
    where = MEETING.get(path.get("meet", ""), "")
    rate = real_in(path.get("bytes_per_s", ""))
    one_way = "%s one way" % human(rate, "byte/s") if rate else ""
    access = "no access" if path.get("access", "yes") != "yes" else ""
    return ", ".join(filter(None, (kind, where, one_way, access))) or "unknown"


def to_host(found: Links, device: int) -> str:
    return "; ".join(link.text for link in found.of(device) if link.to == "host") or "unknown"


# ------------------------------------------------------------------ findings


def _pcie_findings(found: Links) -> List[Finding]:
    """Lanes count whatever the link did when it was read; a generation only while it was busy, since idle
    links lower it."""
    below = []
    for link in found.links:
        names = ("lanes", "generation") if link.fields.get("read") == "busy" else ("lanes",)
        if link.kind == "PCIe" and link.is_below(*names):
            below.append("%s has %s" % (found.name(link.device), link.text))
    return [Finding("PCIe below its maximum.", "%s." % listing(below, 8))] if below else []


def _of_all(found: Links, kind: str) -> Dict[int, Tuple[int, int]]:
    """Links of a kind that are up and down, by device."""
    counted: Dict[int, Tuple[int, int]] = {}
    for link in found.links:
        if link.kind == kind and link.number("up") is not None:
            up, down = counted.get(link.device, (0, 0))
            counted[link.device] = (up + int(link.number("up") or 0), down + int(link.number("down") or 0))
    return counted


def _leads_somewhere(found: Links, kind: str) -> bool:
    """True if a link that is down is known to have another end. Otherwise it may be one that nothing was ever
    plugged into."""
    return any(link.kind == kind and link.to != "unknown" and link.number("down") for link in found.links)


def _device_link_findings(found: Links) -> List[Finding]:
    """A link is missing where the driver calls it down, or where most devices have more of them. Where no
    device has any and none has a known end, there is no bridge: cards without one have such links, too."""
    findings = []
    for kind in dict.fromkeys(link.kind for link in found.links if link.kind not in ("PCIe", "")):
        counted = _of_all(found, kind)
        if not any(up for up, _ in counted.values()) and not _leads_somewhere(found, kind):
            continue
        usual = int(median(up for up, _ in counted.values())) if counted else 0
        lacking = [
            "%s has %d of %d" % (found.name(device), up, max(up + down, usual))
            for device, (up, down) in sorted(counted.items())
            if down or up < usual
        ]
        if lacking:
            alike = len(set(counted.values())) == 1 and not _leads_somewhere(found, kind)
            bridge = "; a bridge that does not use the others looks the same" if alike else ""
            findings.append(Finding("%s down." % kind, "%s links up%s." % (listing(lacking, 8), bridge)))
    return findings


_BAD_MEMORY = {
    "ecc_uncorrected": "uncorrected ECC error%s since the driver was loaded",
    "row_remap_pending": "remapping of rows that waits for a reset",
    "row_remap_failed": "failed remapping of rows",
    "pages_pending": "memory page%s to be retired at the next reset",
    "pages_failed": "memory page%s that could not be retired",
}


def _memory_findings(found: Links) -> List[Finding]:
    """Corrected errors and rows replaced long ago are what ECC is for; they are in the table alone."""
    bad = []
    for device, counts in sorted(found.errors.items()):
        for name, noun in _BAD_MEMORY.items():
            count = whole_in(counts.get(name, "0"))
            if count:
                words = plural(count, noun.replace("%s", ""), noun.replace("%s", "s"))
                bad.append("%s has %s" % (found.name(device), words))
    return [Finding("Memory errors.", "%s." % listing(bad, 8))] if bad else []


def findings_of(facts: Mapping[str, object]) -> List[Finding]:
    found = links_of(facts)
    return _pcie_findings(found) + _device_link_findings(found) + _memory_findings(found)
