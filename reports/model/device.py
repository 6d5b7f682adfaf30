# SPDX-License-Identifier: BSD-3-Clause
"""Keys that the device reports of itself: counts and sizes."""

from __future__ import annotations

from typing import Iterator

from reports.model.key import Key, Missing
from reports.model.measured import Measured

# Key and attribute are of one name, and in one unit.
_REPORTED = (
    "units",
    "slots_per_unit",
    "memory_bytes",
    "shared_per_unit_bytes",
    "shared_per_block_bytes",
    "shared_reserved_bytes",
)


def keys(measured: Measured, _found: dict) -> Iterator[Key | Missing]:
    yield Key("data", "none", "a model of times alone")
    yield Key("devices", measured.devices, "devices of the run")
    for name in _REPORTED:
        value = measured.attribute(name)
        if value is not None:
            yield Key(name, int(value), "reported by the device")
        else:
            yield Missing((name,), "the device does not report it")
