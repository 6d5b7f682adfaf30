# SPDX-License-Identifier: BSD-3-Clause
"""Leftovers of earlier jobs: processes, memory of devices, memory of the host, its cores.

Seen before anything of ours opened a device. A process of a user that has a device open is of a job that
should have ended. Daemons that watch devices are left out by name; another process of root may be one of
them, so it decides nothing.
"""

from __future__ import annotations


from reports.records.jsonl import Json
from reports.judge.preflight.node import Node, number_in
from reports.judge.preflight.outcome import Check
from reports.judge.preflight.reference import Reference
from reports.records.quantity import listing, percent, size

NAME = "leftovers"
_FREE_DEVICE = 0.95  # of what the reference could allocate on the device
_HELD_DEVICE_BYTES, _HELD_DEVICE = 1 << 30, 0.05  # a driver that is idle holds less
_FREE_HOST, _FREE_HOST_ALONE = 0.75, 0.5  # of the reference's free memory; of all memory
_BUSY = 0.5  # of all cores


def _process(one: Json) -> str:
    return "process %d (%s)" % (number_in(one, "pid") or 0, str(one.get("name") or "?")[:32])


def _holders(check: Check, node: Node) -> None:
    for is_root, say in ((False, check.bad), (True, check.unknown)):
        found = [one for one in node.evidence["holders"] if is_root is not bool(number_in(one, "uid"))]
        if found:
            say(listing(["%s has %s open" % (_process(one), one.get("device")) for one in found]))


def _device_memory(check: Check, node: Node, reference: Reference | None) -> None:
    for one in node.evidence["pci"]:
        used, of = number_in(one, "memory_used_bytes"), number_in(one, "memory_bytes")
        if used and of and used > max(_HELD_DEVICE_BYTES, _HELD_DEVICE * of):
            place = size(used), size(of), one.get("address")
            check.bad("device memory in use before the job: %s of %s at %s" % place)
    for place, device in enumerate(node.devices):
        free = number_in(device, "memory_bytes")
        usual = reference.free_bytes.get(place) if reference else None
        if device.get("backend") == "host" or free is None or not usual or free >= _FREE_DEVICE * usual:
            continue
        known = place, size(free), size(usual)
        check.bad("device %d has %s of free memory, and %s in the reference" % known)


def _host_memory(check: Check, node: Node, reference: Reference | None) -> None:
    host = node.evidence["host"]
    available, of = number_in(host, "memory_available_bytes"), number_in(host, "memory_bytes")
    if available is None or not of:
        check.unknown("the host's free memory is not known")
        return
    least = _FREE_HOST_ALONE * of
    if reference and 0 in reference.free_bytes and any(d.get("backend") == "host" for d in reference.devices):
        least = _FREE_HOST * reference.free_bytes[0]
    if available >= least:
        return
    shared = number_in(host, "shared_memory_bytes") or 0.0
    holding = ["%s in files of shared memory" % size(shared)] * (shared > 0.1 * of)
    for one in node.evidence["largest"][:2]:
        holding.append("%s with %s" % (_process(one), size(number_in(one, "memory_bytes") or 0)))
    known = size(available), size(least), listing(holding)
    check.bad("%s of host memory free, at least %s expected: %s" % known)


def _cores(check: Check, node: Node) -> None:
    share = number_in(node.evidence["busy"], "share")
    if share is not None and share > _BUSY:
        processes = node.evidence["busy"].get("processes") or []
        busiest = listing([_process(one) for one in processes if isinstance(one, dict)], 3)
        check.unknown("others use %s of the host's cores%s" % (percent(share), busiest and ": " + busiest))


def check(node: Node, reference: Reference | None) -> Check:
    found = Check(NAME, "nothing holds devices or memory")
    if node.simulated:
        found.note("the device is simulated: the host does not matter")
        _device_memory(found, node, reference)
        return found
    _holders(found, node)
    _device_memory(found, node, reference)
    _host_memory(found, node, reference)
    _cores(found, node)
    if node.evidence.get("holders_unseen"):
        found.note("not all processes could be inspected: only root can")
    return found
