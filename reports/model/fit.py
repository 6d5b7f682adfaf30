# SPDX-License-Identifier: BSD-3-Clause
"""All keys of a model from one signature, a module for each part of the machine."""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple, Union

from reports.model import (
    cache_use,
    copies,
    costs,
    device,
    engines,
    gemm,
    host_memory,
    limits,
    links,
    memory,
    noise,
    units,
)
from reports.model.key import Key, Missing
from reports.model.measured import Measured
from reports.records.jsonl import Json, clean

Found = dict[str, Union[int, float, str]]  # the keys that earlier parts gave
# Each yields its keys, in an order in which a part can use what those before it found.
PARTS: tuple[Callable[[Measured, Found], Iterator[Union[Key, Missing]]], ...] = (
    device.keys,
    costs.keys,
    units.keys,
    memory.keys,
    cache_use.keys,
    host_memory.keys,
    gemm.keys,
    copies.keys,
    links.keys,
    engines.keys,
    noise.keys,
)


class Fitted(NamedTuple):
    keys: list[Key]
    missing: list[Missing]

    def values(self) -> Found:
        return {key.name: key.value for key in self.keys}


class NoModel(ValueError):
    """A signature of which no one model can be made; the text says why."""


def check_one_kind(signature: Json) -> None:
    kinds = {(d.get("backend"), d.get("name")) for d in signature["devices"].values()}
    if not kinds:
        raise NoModel("no device was measured, so there is nothing to make a model of")
    if len(kinds) > 1:
        names = ", ".join(sorted(clean(str(name)) for _, name in kinds))
        raise NoModel("its devices are of several kinds, and a model is of one: %s" % names)


def _still(fitted: Fitted) -> Iterator[Missing]:
    """Those that no later part found either."""
    for missing in fitted.missing:
        names = tuple(name for name in missing.names if name not in fitted.values())
        if names:
            yield missing._replace(names=names)


def fit(signature: Json) -> Fitted:
    """The model of the machine of a signature. NoModel if it has no device, or devices of several
    kinds."""
    check_one_kind(signature)
    measured, fitted = Measured(signature), Fitted([], [])
    for part in PARTS:
        for found in part(measured, fitted.values()):
            (fitted.keys if isinstance(found, Key) else fitted.missing).append(found)
    keys, refused = limits.within(fitted.keys)
    return Fitted(keys, [*refused, *_still(fitted)])
