# SPDX-License-Identifier: BSD-3-Clause
"""Provenance of two sides: the fields of a signature by kind, and those that differ.

A field is "KIND: NAME". The kinds are those that --factor takes: the one that the user tests is expected to
differ, all others warn.
"""

from __future__ import annotations

import re
from typing import Any, Sequence

from reports.judge.compare.numbers import RunNumbers
from reports.records.jsonl import Json, clean, is_number
from reports.signature.machine import main_devices
from reports.records.quantity import spell
from reports.records.state import telemetry_of

# Kind -> fields of the provenance, of a device and of its telemetry. All others are of kind "machine".
_KINDS = {
    "driver": "driver runtime",
    "firmware": "vbios microcode bios",
    "library": "blas library libraries mpi nccl rccl collectives management compiler_library",
    "kernel": "kernel os clocksource huge_pages iommu_groups",
    "clocks": "sm_clock_max memory_clock_max clock_reason clock_hz governor persistence",
    "power": "power_limit",
    "ecc": "ecc",
    "links": "pcie_generation_max pcie_width pcie_width_max bus",
    "numa": "numa_nodes numa_node affinity smt cores_online cores_physical core_kinds cpu_quota",
    "partition": "mig compute_mode partition capabilities units slots_per_unit copy_engines",
    "gpusig": "version compiler flags hwloc nvcc",
    "priority": "nice",
    "model": "",
    "setting": "setting",
    "options": "options",
    "environment": "",
    "machine": "",
}
KINDS = tuple(_KINDS)
# Kinds that a factor may change besides its own.
_WITH: dict[str, tuple[str, ...]] = {
    "driver": ("library", "clocks"),  # its libraries come with it
    "kernel": ("driver",),  # of the host, the driver is the kernel
    "setting": ("environment", "library", "numa"),
}
# Live values, which differ between any two moments, and values that other fields contain.
_LIVE = {
    *"load_average load_1min power temperature sm_clock memory_clock pcie_generation throttle".split(),
    *"energy thermal_time ecc_errors ecc_corrected ecc_uncorrected timer_offset_error timer_step".split(),
    *"gemm_types index spec state links like busy_blocks memory_free_bytes".split(),
}
_LIVE_OF_DEVICES = _LIVE | {"memory_bytes"}  # what is free
# Time and place of a job: different in every job, and the node is in the host name.
_OF_A_JOB = {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURMD_NODENAME"}
_KIND_OF = {field: kind for kind, fields in _KINDS.items() for field in fields.split()}
HOSTNAME, DEVICES = "machine: hostname", "machine: devices"
# Fields that tell nodes, boards and jobs apart.
_OWN = re.compile(r"\b(hostname|uuid|serial|bus|index)$", re.ASCII)
_OWN_OF_JOB = re.compile(r"(^|_)(HOST|NODE|JOB|RANK|LOCALID|PROCID|TASK|PID)", re.ASCII)


def is_own(field: str) -> bool:
    """True if the field differs between any two nodes by nature."""
    kind, _, name = field.partition(": ")
    return bool((_OWN_OF_JOB if kind == "environment" else _OWN).search(name))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(v) for v in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return clean(str(value))


def _field(name: str, where: str = "") -> str:
    return "%s: %s%s" % (_KIND_OF.get(name, "machine"), where, spell(name))


def _of_model(model: Json) -> dict[str, str]:
    """Fields of a model, from which all else of a simulated device follows. `contents` are without what a
    spec changes."""
    found = {"model: %s" % key: _text(value) for key, value in model.get("keys", {}).items()}
    return {"model: contents": _text(model.get("contents")), **found}


def _of_devices(devices: Json) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, device in devices.items():
        if isinstance(device.get("model"), dict):
            found = {**_of_model(device["model"]), **found}
            continue
        where = "device %s " % place.rpartition("[")[2].rstrip("]") if len(devices) > 1 else "device "
        values = {
            name: value
            for name, value in device.items()
            if isinstance(value, (str, list)) or is_number(value)
        }
        values.update({sample.name: sample.value for sample in telemetry_of(device)})
        for name, value in values.items():
            if name not in _LIVE_OF_DEVICES and value not in (None, ""):
                found[_field(name, where)] = _text(value)
    return found


def of_signature(signature: Json, plan: Json) -> dict[str, str]:
    """Field -> text, of the known fields."""
    found = {
        _field(name): _text(value)
        for name, value in signature["provenance"]["fields"].items()
        if name not in _LIVE and value not in (None, "")
    }
    for name, value in signature["provenance"]["environment"].items():
        if value is not None and name not in _OF_A_JOB:
            found["environment: " + name] = _text(value)
    devices = main_devices(signature)  # others are what single programs were given
    found.update(_of_devices(devices))
    found[DEVICES] = str(len(devices))
    if plan.get("setting"):
        found["setting: setting"] = _text(plan["setting"])
    for name in ("full", "headline", "shapes", "only", "budget_s"):
        if plan.get(name) not in (None, False, []):
            found["options: %s" % spell(name)] = _text(plan[name])
    return found


def _values(runs: Sequence[RunNumbers], field: str) -> list[str]:
    """Values in the order of the runs; "unknown" of a run that has none."""
    return list(dict.fromkeys(run.provenance.get(field, "unknown") for run in runs))


def expected_kinds(factors: Sequence[str]) -> set[str]:
    return set(factors) | {kind for factor in factors for kind in _WITH.get(factor, ())}


def difference(before: Sequence[RunNumbers], after: Sequence[RunNumbers], factors: Sequence[str]) -> Json:
    """Fields that differ between the sides, expected or not, and fields that differ within one."""
    kinds = expected_kinds(factors)
    found: Json = {"expected": [], "unexpected": [], "within": []}
    for field in dict.fromkeys(name for run in [*before, *after] for name in sorted(run.provenance)):
        then, now = _values(before, field), _values(after, field)
        for side, values in (("before", then), ("after", now)):
            if len(values) > 1:
                found["within"].append({"field": field, "side": side, "values": values})
        if set(then) != set(now):
            outcome = "expected" if field.partition(":")[0] in kinds else "unexpected"
            found[outcome].append({"field": field, "before": then, "after": now})
    return found
