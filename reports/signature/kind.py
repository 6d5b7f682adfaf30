# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of machines: runs are compared only within a kind, in compare, fleet, preflight, export, and within a
machine of a scorecard.

The kind of a GPU is its name and its number of units, so that a part of one (MIG, an AMD partition) is
another kind; that of a processor is its name and what tells apart those of one name; that of a simulated
device the name of its model, whatever keys a spec changes. Drivers, the number of devices, and which ones,
make no kind: they differ, and provenance says so.
"""

from __future__ import annotations

from typing import List

from reports.records.jsonl import Json, clean, is_number
from reports.signature.machine import main_device, main_devices
from reports.records.quantity import plural, spell

HOST, SIM, GPU = "host", "sim", "gpu"
UNKNOWN = "unknown"
_LONGEST = 200  # characters


def _processor(fields: Json) -> str:
    """Its name, and what tells apart those of one name, which virtual machines give to several, and those of
    numbers alone. Not what nodes of one kind may differ in, such as how many cores are online."""
    also = (
        ("cpu_family", "cpu_model") if fields.get("cpu_family") else ("cache_l2_Unified", "cache_l3_Unified")
    )
    named = ["%s %s" % (spell(name), fields[name]) for name in also if fields.get(name)]
    return ", ".join([str(fields.get("cpu") or UNKNOWN)] + named)


def _of_device(device: Json, fields: Json) -> str:
    name, model, units = str(device.get("name") or UNKNOWN), device.get("model"), device.get("units")
    if device.get("backend") == HOST:
        return _processor(fields)
    if isinstance(model, dict) and model.get("name"):
        return "simulated device (%s)" % model["name"]
    if device.get("backend") == SIM or not is_number(units) or units <= 0:
        return name
    return "%s, %s" % (name, plural(int(units), "unit"))


def kinds_of_devices(signature: Json) -> List[str]:
    """The kind of each device of the main --device, in its order."""
    fields = signature["provenance"]["fields"]
    return [clean(_of_device(device, fields))[:_LONGEST] for device in main_devices(signature).values()]


def kind_of(signature: Json) -> str:
    """The kind in words; of several devices that differ, all. Equal texts are one kind."""
    return " and ".join(dict.fromkeys(kinds_of_devices(signature))) or UNKNOWN


def family_of(signature: Json) -> str:
    """HOST, SIM or GPU."""
    backend = str(main_device(signature).get("backend") or signature["device"].partition(":")[0])
    return backend if backend in (HOST, SIM) else GPU
