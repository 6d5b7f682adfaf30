# SPDX-License-Identifier: BSD-3-Clause
"""The keys of a model (device/sim/model/model.h) as a prediction changes them."""

from __future__ import annotations

from reports.records.jsonl import Json, is_number

# Predictions are made without noise and faults, so that one sample is exact, and without data.
_QUIET = (
    "jitter_sigma",
    "block_jitter_sigma",
    "open_sigma",
    "drift_per_s",
    "outlier_probability",
    "fail_alloc_at",
    "fail_launch_at",
    "fail_copy_at",
    "corrupt_copy_every",
    "corrupt_launch_every",
)
QUIET = ",".join(["data=none", *("%s=0" % name for name in _QUIET)])
NOT_PREDICTED = ("data", "seed", "outlier_factor", *_QUIET)
DEVICES = "devices"

# Keys that are choices or switches: a tenth more of them means nothing.
_CHOICES = (
    DEVICES,
    "engine_priority",
    "engine_sticky",
    "priorities",
    "numa_nodes",
    "tenants",
    "uplink_devices",
    "uplink_peers",
    "shared_granularity_bytes",
    "shared_reserved_bytes",
    "llc_tracked",
    "memory_adds",
    "memory_control",
    "l1_divided",
    "gemm_tile",
    "gemm_tile_columns",
    "gemm_tile_min",
    "gemm_traffic_share",
    "stamp_error_ns",
    "clock_hz",
)
_COUNTS = (
    "units",
    "slots_per_unit",
    "copy_engines",
    "host_engines",
    "max_queued",
    "tracker_entries",
    "l2_units",
    "numa_nodes",
    "tenants",
    "uplink_devices",
    "priorities",
    DEVICES,
    "gemm_tile",
    "gemm_tile_columns",
    "gemm_tile_min",
)
_LESS = ("add_cost", "queue_wait_ns_per_kib", "block_register_bytes", "gemm_tile_shared_bytes")
_EITHER = ("engine_weight", "gemm_traffic_share", "memory_threshold", "memory_starvation")
_AT_MOST_ONE = (
    "block_share",
    "gemm_traffic_share",
    "gemm_efficiency",
    "memory_threshold",
    "memory_starvation",
)
# Keys that hold only with another one.
_NEED = {
    "add_cost": "memory_adds",
    "memory_threshold": "memory_control",
    "memory_starvation": "memory_control",
    "storage_ns": "storage_bandwidth",
}
LESS, MORE = "less", "more"
LIMITS = "_bandwidth"  # rates of which the least one on a path limits it


def numeric(keys: Json) -> list[str]:
    """Keys above 0 of which a prediction can depend smoothly; those of single links go with their sort."""
    return [
        name
        for name, value in keys.items()
        if is_number(value)
        and value > 0
        and name not in (*NOT_PREDICTED, *_CHOICES)
        and " " not in name
        and (name not in _NEED or keys.get(_NEED[name]))
    ]


def ways(name: str) -> tuple[str, ...]:
    """The directions that may be better."""
    if name in _EITHER:
        return MORE, LESS
    return (LESS,) if name.endswith("_ns") or name in _LESS else (MORE,)


def is_whole(name: str) -> bool:
    return name in _COUNTS or name.endswith("_bytes")


def as_it_is(name: str, value: float) -> str:
    return "%s=%.9g" % (name, value)


def times(name: str, value: float, factor: float) -> str:
    """The change "KEY=..." by a factor: of a whole number the nearest other one."""
    if name in _AT_MOST_ONE:
        return as_it_is(name, min(1.0, value * factor))
    if not is_whole(name):
        return "%s=%.9gx" % (name, factor)
    nearest = round(value * factor)
    if nearest == value and factor != 1:
        nearest += 1 if factor > 1 else -1
    return "%s=%d" % (name, nearest)


def probe_factor(name: str) -> float:
    """The factor of a change large enough to show whether a prediction depends on a key."""
    return 0.5 if name in _AT_MOST_ONE else 2


def lengthens(name: str, factor: float) -> bool:
    """True if times are longer with so many times the value, else they are shorter, if they depend on it."""
    return (factor > 1) is (LESS in ways(name))
