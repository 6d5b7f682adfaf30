# SPDX-License-Identifier: BSD-3-Clause
"""Telemetry of a device for people: "power 121 W of 700 W", or "ECC unknown" with the reason.

Names come from the device. NAME_limit or NAME_max is the upper limit of NAME.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List

from reports.records.jsonl import Json, Reader, is_number
from reports.records.quantity import human, spell

_OUT_OF = ("_limit", "_max")
_COUNTERS = ("energy",)  # only its growth says something


@dataclass(frozen=True)
class TelemetrySample:
    name: str
    value: object  # number, text or None
    unit: str
    reason: str  # why it is not known

    @property
    def text(self) -> str:
        if is_number(self.value):
            return human(float(self.value), self.unit)
        return "unknown" if self.value is None else str(self.value)


def checked(device: Reader) -> Json:
    """The device of a run record; raises BadRecord where its telemetry is malformed."""
    _samples(device)
    return device.json


def _samples(device: Reader) -> List[TelemetrySample]:
    state, found = device.object_or_empty("state"), []
    for name, entry in state.json.items():
        reader = Reader(entry, state.path + ".sample")
        value = reader.json.get("value")
        if not (value is None or isinstance(value, str) or is_number(value)):
            raise reader.fail("value", "a number, a string or null")
        found.append(TelemetrySample(name, value, reader.text_or("unit"), reader.text_or("reason")))
    return found


def telemetry_of(device: Json) -> List[TelemetrySample]:
    return _samples(Reader(device, "device"))


@dataclass(frozen=True)
class Item:
    label: str
    text: str
    hint: str  # the reason where it is unknown


def items(device: Json) -> List[Item]:
    """One for each sample, with its limit; in the order of the device."""
    own = {sample.name: sample for sample in telemetry_of(device)}
    shown = []
    for name, sample in own.items():
        if name in _COUNTERS:
            continue
        if any(name.endswith(end) and name[: -len(end)] in own for end in _OUT_OF):
            continue
        outer = next((own[name + end] for end in _OUT_OF if name + end in own), None)
        text = sample.text + (" of %s" % outer.text if outer is not None and outer.value is not None else "")
        shown.append(Item(spell(name), text, sample.reason))
    return shown
