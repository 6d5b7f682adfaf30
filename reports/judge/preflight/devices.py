# SPDX-License-Identifier: BSD-3-Clause
"""Devices that are missing, or of another kind than expected."""

from __future__ import annotations


from reports.records.jsonl import Json, clean
from reports.judge.preflight.node import Node, number_in
from reports.judge.preflight.outcome import Check
from reports.judge.preflight.reference import Reference
from reports.records.quantity import listing, plural, size

NAME = "devices"
_LEAST_MEMORY = 0.98  # of the reference: a kernel keeps a little more or less, a module is a larger part
# PCI classes: 3D controllers and processing accelerators compute; a display may be one that the driver does
# not open.
_ACCELERATORS, _DISPLAYS = ("0302", "1200"), ("0300", "0380")


def _uuids(devices: list[Json]) -> list[str]:
    return [str(device["uuid"]) for device in devices if device.get("uuid")]


def _count(check: Check, node: Node, reference: Reference | None) -> None:
    expected = number_in(node.evidence, "expect")
    there = len(node.devices)
    if expected is None and reference is not None and reference.devices:
        expected = len(reference.devices)
    if not there:
        why = str(node.evidence.get("why_none") or "")
        text = "0 of %d devices" % expected if expected else "no device of --device %s" % node.spec
        text += ": " + why if why else " could be opened"
        if not node.evidence.get("hang"):  # said already
            (check.bad if expected or why else check.unknown)(text)
        return
    if expected is None or there == expected:
        return
    if there > expected:
        check.note("%d devices, %d expected" % (there, expected))
        return
    known, here = _uuids(reference.devices) if reference else [], set(_uuids(node.devices))
    text = "%d of %d devices" % (there, expected)
    missing = [uuid for uuid in known if uuid not in here]
    if missing and here & set(known):  # on another node all differ
        text += ": %s %s missing" % (listing(missing), "is" if len(missing) == 1 else "are")
    check.bad(text)


def _kinds(check: Check, node: Node, reference: Reference) -> None:
    for place, (kind, usual) in enumerate(zip(node.kinds, reference.kinds)):
        if kind != usual:
            check.bad("device %d is %s, and %s in the reference" % (place, kind, usual))
    here, known = _uuids(node.devices), _uuids(reference.devices)
    if set(here) & set(known) and len(here) == len(known):
        swapped = ["%s is" % uuid for uuid in here if uuid not in known]
        if swapped:
            check.note("%s not in the reference: a board was replaced" % listing(swapped))
    if 0 < node.memory_bytes < _LEAST_MEMORY * reference.memory_bytes:
        check.bad("host memory: %s of %s" % (size(node.memory_bytes), size(reference.memory_bytes)))


def _on_the_bus(check: Check, node: Node) -> None:
    """Devices on the bus that the driver does not open."""
    counts = {str(b.get("name")): int(number_in(b, "devices") or 0) for b in node.evidence["backends"]}
    limit = str(node.evidence.get("visible_by") or "")
    for vendor, backend in (("NVIDIA", "cuda"), ("AMD", "hip")):
        seen: dict[str, list[str]] = {}
        for one in node.evidence["pci"]:
            if one.get("vendor") == vendor:
                seen.setdefault(str(one.get("class"))[:4], []).append(str(one.get("address")))
        accelerators = [a for kind in _ACCELERATORS for a in seen.get(kind, [])]
        every = accelerators + [a for kind in _DISPLAYS for a in seen.get(kind, [])]
        opened = counts.get(backend, 0)
        if opened >= len(every):
            continue
        text = "%d of %s on the bus can be opened" % (opened, plural(len(every), "%s device" % vendor))
        if limit:
            check.note("%s; %s limits what is visible" % (text, limit))
        elif opened < len(accelerators):
            opened_at = {str(d.get("bus")).lower() for d in node.devices}
            lost = [a for a in accelerators if a not in opened_at] if opened_at - {""} else []
            check.bad(text + (": not %s" % listing(lost) if lost else _why(node, backend)))
        elif opened:
            check.unknown("%s; a display may not be meant to" % text)


def _why(node: Node, backend: str) -> str:
    why = next((str(b.get("why") or "") for b in node.evidence["backends"] if b.get("name") == backend), "")
    return ": " + clean(why) if why else ""


def check(node: Node, reference: Reference | None) -> Check:
    found = Check(NAME)
    if node.evidence.get("hang"):
        (found.bad if node.evidence.get("hang_is_sure") else found.unknown)(str(node.evidence["hang"]))
    _count(found, node, reference)
    if reference is not None and reference.devices:
        _kinds(found, node, reference)
    if node.spec.partition(":")[0] != "sim":
        _on_the_bus(found, node)
    if number_in(node.evidence, "expect") is None and (reference is None or not reference.devices):
        found.note("no count of devices was expected: give --reference or --expect")
    found.summary = "%s of --device %s" % (plural(len(node.devices), "device"), node.spec)
    return found
