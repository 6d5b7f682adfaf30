# SPDX-License-Identifier: BSD-3-Clause
"""What a device said of itself, for people: "power 121 W of 700 W", "ECC unknown" and why.

Names are the device's; one that is called like another with _limit or _max behind it is what that one is out of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List

from reports.jsonl import Json, Reader, is_number
from reports.quantity import human, spell

_OUT_OF = ("_limit", "_max")
_SHOWN_UNITS = {"degC": "°C"}


@dataclass(frozen=True)
class Reading:
    name: str
    value: object  # number, text or None
    unit: str
    reason: str  # why it is not known

    @property
    def text(self) -> str:
        if self.value is None:
            return "unknown"
        return human(float(self.value), _SHOWN_UNITS.get(self.unit, self.unit)) if is_number(self.value) else str(self.value)


def checked(device: Reader) -> Json:
    """The device of a run record, or Unusable where its state is none."""
    _readings(device)
    return device.json


def _readings(device: Reader) -> List[Reading]:
    state, found = device.object_or_empty("state"), []
    for name, entry in state.json.items():
        reader = Reader(entry, state.path + ".reading")
        value = reader.json.get("value")
        if not (value is None or isinstance(value, str) or is_number(value)):
            raise reader.fail("value", "a number, a string or null")
        found.append(Reading(name, value, reader.text_or("unit"), reader.text_or("reason")))
    return found


def readings(device: Json) -> List[Reading]:
    return _readings(Reader(device, "device"))


@dataclass(frozen=True)
class Item:
    label: str
    text: str
    hint: str  # the reason where it is unknown


def items(device: Json) -> List[Item]:
    """One for each reading, with what it is out of; in the order that the device gave."""
    own = {reading.name: reading for reading in readings(device)}
    shown = []
    for name, reading in own.items():
        if any(name.endswith(end) and name[:-len(end)] in own for end in _OUT_OF):
            continue
        outer = next((own[name + end] for end in _OUT_OF if name + end in own), None)
        text = reading.text + (" of %s" % outer.text if outer is not None and outer.value is not None else "")
        shown.append(Item(spell(name), text, reading.reason))
    return shown
