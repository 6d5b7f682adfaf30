# SPDX-License-Identifier: BSD-3-Clause
"""The rate of one unit (unit_bandwidth): all that it reads and writes.

One block may not use all of its unit (block_share), so its rate alone does not tell. In order: reads that an
L2 before the last level serves, which pass nothing else; a copy on a few units of its own, whose bytes pass
them twice; one block's rate and a block_share that was found; and else a bound."""

from __future__ import annotations

from typing import Optional, Union

from reports.model.key import Key, Missing
from reports.model.levels import ABOVE, AT_LEAST, BELOW, COPY, MEMORY, Curves, Levels, copy_line

UNITS = "overlap/units/bandwidth"
_LONG_S = 200e-6  # a launch's start is no part of it, even if not known
_NOT_ALL = 0.8  # of what all units reach: below it the units limit


def is_bound(key: Key) -> bool:
    return key.source.startswith(AT_LEAST)


def _on_few_units(curves: Curves) -> Optional[tuple[float, int]]:
    """The rate of a unit, and how many there were."""
    whole = curves.measured.all(UNITS, variant="copy", gemm="compute")
    for count, value in curves.measured.curve(UNITS, "units", variant="copy_on_given", gemm="compute"):
        size = value.where.get("size", "")
        most = max((w.value for w in whole), default=0.0)
        if not size.isdecimal() or not 0 < value.value < _NOT_ALL * most:
            continue
        seconds = float(size) / value.value - curves.start
        if seconds > 0 and (curves.start > 0 or seconds > _LONG_S):
            return 2 * float(size) / seconds / count, int(count)
    return None


def unit_rate(curves: Curves, levels: Levels, all_units: float, share: object) -> Union[Key, Missing]:
    """`all_units`: the fastest that they read what is in no cache of theirs."""
    name = "unit_bandwidth"
    l2 = curves.rate(
        "regular",
        ABOVE * levels.units * levels.l1,
        BELOW * levels.units * levels.part_of_l2,
        "read",
        again=True,
    )
    if l2 and levels.part_of_l2 * levels.units < levels.last:
        return Key(name, l2.value / levels.units, "%s: the L2 of all units" % l2.source, l2.error)
    block = copy_line(curves.measured, "kernel_1")
    few = _on_few_units(curves)
    known = share if isinstance(share, (int, float)) and share > 0 else None
    if few:
        # Too few blocks may fit a unit to use all of it.
        filled = min(1.0, known * (curves.measured.attribute("slots_per_unit") or 1)) if known else 1.0
        source = "%s: copy_on_given, of %d units" % (UNITS, few[1])
        return Key(name, few[0] / filled, source, block.rms_residual if block else None)
    if not block:
        return Missing(
            (name,), "no copy by few blocks was measured (micro/copy_path, kernel_1; overlap/units)"
        )
    rate = 2 * block.bandwidth
    if known:
        return Key(
            name, rate / known, "%s: kernel_1, line over sizes, / block_share" % COPY, block.rms_residual
        )
    least = max(rate, all_units / levels.units)
    source = "%s: kernel_1" % COPY if least == rate else "%s/bandwidth: all units" % MEMORY
    return Key(name, least, AT_LEAST + source, block.rms_residual)
