# SPDX-License-Identifier: BSD-3-Clause
"""One key of a model: its value and where it is from, or why it has none."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union

# Keys that no measurement gives are as in this model of device/sim: the imaginary device without noise.
BASE = "quiet"


class Key(NamedTuple):
    """`name` and units are those of struct sim_model; of one link the name is "peer_bandwidth 0>1"."""

    name: str
    value: Union[int, float, str]
    source: str  # the metrics or attributes of the device that gave it, and how
    # Relative: half the interval of the value, or where a curve was fitted the median of its residuals. None:
    # it is a count or a word, or was reported by the device.
    error: Optional[float] = None


class Missing(NamedTuple):
    """Keys that stay as in BASE, which can make predictions wrong."""

    names: tuple[str, ...]
    reason: str  # what was not measured, why, and with which program


# By the end of a name: what a model accepts (device/sim/model/model.c).
_LIMITS = (
    ("_bandwidth", 1.0, 1e18),
    ("_ns", 0.0, 1e12),
    ("memory_bytes", 4096.0, 2.0**50),
    ("_bytes", 0.0, 2.0**40),
    ("devices", 1, 64),
    ("slots_per_unit", 1, 256),
    ("units", 1, 1024),
    ("copy_engines", 0, 64),
    ("engine_weight", 1e-6, 1e6),
)


def accepted(key: Key) -> Union[Key, Missing]:
    """Missing if no model accepts such a rate, time or size."""
    for end, low, high in _LIMITS:
        if not key.name.partition(" ")[0].endswith(end):
            continue
        if not low <= float(key.value) <= high:
            return Missing((key.name,), "%.3g, which no model accepts: %s" % (float(key.value), key.source))
        break
    return key
