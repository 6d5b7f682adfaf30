# SPDX-License-Identifier: BSD-3-Clause
"""Links, clocks, memory errors, driver and firmware that are not as in the reference.

Errors of memory, links that are down or below their maximum, and clocks that heat or the supply holds back
are bad without a reference, too, unless the reference has the same.
"""

from __future__ import annotations

from typing import Sequence

from reports.judge.compare.wording import values_text
from reports.records.jsonl import Json, real_in
from reports.signature.links import findings_of, links_of
from reports.judge.preflight.node import Node
from reports.judge.preflight.outcome import Check
from reports.judge.preflight.reference import Reference
from reports.records.quantity import human, listing
from reports.records.state import telemetry_of

NAME = "state"
# Kinds of reports/judge/compare/provenance.py. A difference in another kind is reported, and decides nothing.
JUDGED = ("driver", "firmware", "kernel", "clocks", "power", "ecc", "links", "numa", "partition")
_ORDERED = ("links", "clocks", "power")  # less is worse, and more is not
_OF_A_BOARD = ("bus", "uuid", "serial", "hostname", "memory bytes")  # compared or counted in devices.py
_NOT_THROTTLED = ("none", "idle", "")
_VALUE = 80  # characters of a value
_SHOWN = {"sm clock max": "Hz", "memory clock max": "Hz", "power limit": "W"}


def _is_of_a_board(field: str) -> bool:
    return any(field == name or field.endswith(" " + name) for name in _OF_A_BOARD)


def _text(field: str, value: str) -> str:
    unit = next((unit for end, unit in _SHOWN.items() if field.endswith(end)), "")
    number = real_in(value) if unit else None
    return human(number, unit) if number is not None else value or "unknown"


def _provenance(check: Check, node: Node, reference: Reference, factors: Sequence[str]) -> None:
    others: list[str] = []
    count = min(len(node.devices), len(reference.devices))
    for key, usual in sorted(reference.provenance.items()):
        kind, _, field = key.partition(": ")
        place = field.split(" ")[1] if field.startswith("device ") else ""
        if place.isdigit() and int(place) >= count:
            continue  # of a device that is missing, which another check says
        now = node.provenance.get(key, "")
        if now == usual or not usual or kind in factors or _is_of_a_board(field):
            continue
        is_alone = len(node.devices) != len(reference.devices) and field.startswith("device ")
        if is_alone and key not in node.provenance:
            continue  # of one device alone the field has another name
        here, there = _text(field, now), _text(field, usual)
        shown = field, values_text([here], [there], _VALUE), values_text([there], [here], _VALUE)
        text = "%s is %s, and %s in the reference" % shown
        numbers = real_in(now), real_in(usual)
        is_more = kind in _ORDERED and None not in numbers and numbers[0] > numbers[1]
        if kind not in JUDGED:
            others += [field]
        elif not now:
            check.unknown(text)
        elif is_more:
            check.note(text)
        else:
            check.bad(text)
    if others:
        check.note("also differs from the reference: %s" % listing(others, 8))


def _links(check: Check, node: Node, reference: Reference | None) -> None:
    usual = {(f.head, f.text) for f in findings_of(reference.links)} if reference else set()
    for finding in findings_of(node.links):
        if (finding.head, finding.text) not in usual:
            check.bad("%s: %s" % (finding.head.rstrip("."), finding.text.rstrip(".")))
    if reference is None or not reference.links:
        return
    if not node.links:
        check.unknown("links: topology/node gave no facts, which the reference has")
        return
    here, there = links_of(node.links), links_of(reference.links)
    for device in there.devices:
        up, before = (
            sum(int(link.number("up") or 0) for link in found.of(device)) for found in (here, there)
        )
        if device < len(node.devices) and up < before:
            text = "%s has %d links to others up, and %d in the reference" % (there.name(device), up, before)
            if not any("down" in reason.text for reason in check.reasons):
                check.bad(text)


def _throttle(check: Check, devices: list[Json]) -> None:
    for place, device in enumerate(devices):
        for name, value in ((sample.name, sample.value) for sample in telemetry_of(device)):
            if name == "throttle" and value is not None and str(value) not in _NOT_THROTTLED:
                check.bad("device %d is throttled: %s" % (place, value))
            if name == "ecc_errors" and isinstance(value, (int, float)) and value > 0:
                said = "device %d has %d uncorrected ECC errors since the driver was loaded"
                check.bad(said % (place, value))


def check(node: Node, reference: Reference | None, factors: Sequence[str]) -> Check:
    found = Check(NAME, "links, clocks, memory errors and driver are as expected")
    if node.unreadable:
        found.unknown(node.unreadable)
    elif node.devices:
        _throttle(found, node.devices)
        _links(found, node, reference)
        if reference is not None and reference.provenance:
            _provenance(found, node, reference, factors)
    else:
        found.unknown("no device was opened")
    if reference is None or not reference.provenance:
        found.note("without a --reference only errors are found, not what differs")
    return found
