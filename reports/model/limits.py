# SPDX-License-Identifier: BSD-3-Clause
"""Keys that the simulator would refuse (device/sim/model/model.c): a model without them says so."""

from __future__ import annotations

import math
from typing import Callable, Iterator, NamedTuple, Optional, Union

from reports.model.key import Key, Missing

Values = dict[str, Union[int, float, str]]

_RATE, _TIME, _BYTES = (1.0, 1e18), (0.0, 1e12), (0.0, 2.0**40)
_SIZED = {"memory_bytes": (4096.0, 2.0**50), "host_memory_bytes": (4096.0, 2.0**50)}
_SIZED["shared_granularity_bytes"] = (1.0, 2.0**40)
# Limits of whole numbers, and of others that are neither rates, times nor sizes.
_COUNTS = {
    "devices": (1, 64),
    "units": (1, 1024),
    "slots_per_unit": (1, 256),
    "copy_engines": (0, 64),
    "host_engines": (0, 64),
    "engine_priority": (0, 1),
    "engine_sticky": (0, 1),
    "priorities": (1, 3),
    "max_queued": (1, 1e6),
    "numa_nodes": (1, 64),
    "tenants": (1, 64),
    "uplink_devices": (0, 64),
    "uplink_peers": (0, 1),
    "llc_tracked": (0, 1),
    "l1_divided": (0, 1),
    "l2_units": (1, 1024),
    "gemm_tile": (1, 4096),
    "gemm_tile_columns": (0, 4096),
    "gemm_tile_min": (0, 4096),
}
_NUMBERS = {
    "host_clock_ns": (1.0, 1e12),
    "block_share": (1e-6, 1.0),
    "gemm_efficiency": (1e-6, 1.0),
    "gemm_traffic_share": (1e-6, 1.0),
    "engine_weight": (1e-6, 1e6),
    "clock_hz": (1.0, 1e12),
    "jitter_sigma": (0.0, 2.0),
    "block_jitter_sigma": (0.0, 2.0),
    "open_sigma": (0.0, 2.0),
}
# Values of BASE with which a key can be in contradiction.
_BASE: Values = {
    "memory_bytes": 1 << 30,
    "llc_bytes": 4 << 20,
    "shared_per_unit_bytes": 64 << 10,
    "shared_per_block_bytes": 48 << 10,
    "l1_bytes": 0,
    "l2_bytes": 0,
}


def limits_of(name: str) -> Optional[tuple[float, float]]:
    """Least and most of a key's number; None: it has no limits here."""
    for table in (_SIZED, _COUNTS, _NUMBERS):
        if name in table:
            return table[name]
    if name.endswith("_bandwidth") or name.startswith("flops_"):
        return _RATE
    return _TIME if name.endswith("_ns") else _BYTES if name.endswith("_bytes") else None


def _is_whole(name: str) -> bool:
    return name in _COUNTS or name.endswith("_bytes")


def refused(key: Key) -> Optional[str]:
    """The reason for which no model may have this value."""
    name, value = key.name.split(" ")[0], key.value
    if isinstance(value, str):
        return None
    limits = limits_of(name)
    if not math.isfinite(value):
        return "%g is no number" % value
    if limits and not limits[0] <= value <= limits[1]:
        return "%g is outside %g to %g, which a model may have" % (value, *limits)
    if _is_whole(name) and value != int(value):
        return "%g is no whole number" % value
    return None


class _Rule(NamedTuple):
    names: tuple[str, ...]  # those that go where it does not hold
    holds: Callable[[Values], bool]
    reason: str


def _needs(level: str, *names: str) -> Iterator[_Rule]:
    """A level of caches is known whole, or not at all."""
    size = level + "_bytes"
    why = "%s, %s are known only together" % (size, ", ".join(names))
    every = (size, *names, *(("l1_divided",) if level == "l1" else ()))
    yield _Rule(every, lambda v: bool(v.get(size)) == all(v.get(name) for name in names), why)
    yield _Rule(every[1:], lambda v: bool(v.get(size)) or not any(name in v for name in every[1:]), why)


def _at_most(less: str, more: str) -> _Rule:
    return _Rule(
        (less, more), lambda v: float(v[less]) <= float(v[more]), "%s would be more than %s" % (less, more)
    )


_RULES = (
    *_needs("l1", "l1_bandwidth", "l1_latency_ns"),
    *_needs("l2", "l2_units", "l2_latency_ns"),
    _Rule(
        ("l1_divided",),
        lambda v: not v.get("l1_divided") or v["shared_per_unit_bytes"] <= v["l1_bytes"],
        "shared memory would be more than the first-level cache that it is a part of",
    ),
    _Rule(
        ("uplink_devices", "uplink_bandwidth"),
        lambda v: bool(v.get("uplink_devices")) == bool(v.get("uplink_bandwidth")),
        "uplink_devices, uplink_bandwidth are known only together",
    ),
    _at_most("shared_per_block_bytes", "shared_per_unit_bytes"),
    _at_most("llc_bytes", "memory_bytes"),
    _Rule(("priorities",), lambda v: v.get("priorities") != 2, "a model has 1 or 3"),
)


def within(keys: list[Key]) -> tuple[list[Key], list[Missing]]:
    """The keys that a model may have together, each once, and those that it may not have."""
    kept: dict[str, Key] = {}
    gone: list[Missing] = []
    for key in keys:
        why = refused(key)
        if why:
            gone.append(Missing((key.name,), why))
        else:
            kept.setdefault(key.name, key)
    for rule in _RULES:
        if not rule.holds({**_BASE, **{name: key.value for name, key in kept.items()}}):
            names = tuple(name for name in rule.names if name in kept)
            gone.append(Missing(names, rule.reason))
            kept = {name: key for name, key in kept.items() if name not in names}
    return list(kept.values()), gone
