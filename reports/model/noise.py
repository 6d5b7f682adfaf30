# SPDX-License-Identifier: BSD-3-Clause
"""Scatter of times: within a process, and between processes.

In the model each operation has a factor of its own, lognormal with jitter_sigma, so a sample of n operations
in a row scatters by jitter_sigma / sqrt(n). On a real machine operations that follow each other are slow
together, and scatter that lasts longer than a sample doesn't get less with n. So samples of many operations
say nothing of one, and only those of few are used.
"""

from __future__ import annotations

import math
from statistics import median
from typing import Iterator

from reports.model.key import Key, Missing
from reports.model.measured import Measured, Value

_FEW = 8  # operations of a sample
_LEAST = 2  # values of at least ten samples each
_NONE = 1e-6  # a scatter below is rounding
# Copies of engines have no blocks. A load (micro/occupancy) has so many that theirs nearly average out.
_COPY, _LOAD = ("micro/copy_path/bandwidth", "engine"), ("micro/occupancy/flop_rate", "load")
_ENOUGH = 4  # values of copies, with which loads are not needed
_COPIES_ALONE = 2  # times as much scatter of copies as of loads, which is that of copies alone
_MORE = 1.25  # times as much scatter of one block, that is not chance


def _of_one(values: list[Value]) -> list[float]:
    """The scatter of one operation by each value whose samples are of few."""
    return [
        v.deviation * math.sqrt(v.iterations)
        for v in values
        if v.deviation is not None and v.iterations and v.iterations <= _FEW
    ]


def _block(measured: Measured, jitter: float) -> Key | Missing:
    """A chase is one block, which has the factor of its launch and its own."""
    found = _of_one(measured.all("micro/latency/latency", variant="chase"))
    name = "block_jitter_sigma"
    if len(found) < _LEAST:
        return Missing((name,), "micro/latency has too few samples of single chases, kernels of one block")
    both = median(found)
    if both <= max(_MORE * jitter, _NONE):
        return Missing((name,), "chases, kernels of one block, scatter no more than operations do")
    sigma, error = math.sqrt(both**2 - jitter**2), 1.25 / math.sqrt(2 * 9 * len(found))
    how = "scatter of %d chases (micro/latency) beyond that of operations" % len(found)
    return Key(name, sigma, how, error * (both / sigma) ** 2)


def _within(measured: Measured) -> Iterator[Key | Missing]:
    found, loads = (_of_one(measured.all(name, variant=variant)) for name, variant in (_COPY, _LOAD))
    how = "scatter of samples of %d engine copies (micro/copy_path)" % len(found)
    if len(found) < _ENOUGH and loads:
        found, how = found + loads, how + " and %d loads (micro/occupancy)" % len(loads)
    if len(found) < _LEAST:
        why = "micro/copy_path and micro/occupancy have too few samples of single copies and kernels"
        yield Missing(("jitter_sigma", "block_jitter_sigma"), why)
        return
    if loads and median(found) > _COPIES_ALONE * median(loads):
        found, how = loads, "scatter of a load (micro/occupancy), as engine copies scatter by themselves"
    jitter = median(found)
    jitter = jitter if jitter > _NONE else 0.0
    # Each has ten samples or more; a median of such deviations is known 1.25 times worse than their mean.
    error = 1.25 / math.sqrt(2 * 9 * len(found)) if jitter else 0.0
    yield Key("jitter_sigma", jitter, how, error)
    yield _block(measured, jitter)


def _between(measured: Measured) -> Key | Missing:
    spread = measured.signature.get("run_spread")
    if not spread:
        return Missing(("open_sigma",), "too few headline numbers have several tries, processes of their own")
    degrees = spread.get("degrees") or 1.0
    how = "spread between the tries of %d headline numbers, processes of their own" % spread["metrics"]
    return Key("open_sigma", spread["relative"], how, 1 / math.sqrt(2 * max(degrees, 1.0)))


def keys(measured: Measured, _found: dict) -> Iterator[Key | Missing]:
    yield from _within(measured)
    yield _between(measured)
    yield Missing(
        ("outlier_probability", "outlier_factor", "drift_per_s"),
        "a signature has no times of single device operations over time",
    )
