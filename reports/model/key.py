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
