# SPDX-License-Identifier: BSD-3-Clause
"""micro/peer_matrix: every ordered pair of devices as a matrix, what each device can inject, host memory of
every NUMA node, and which pairs are slow.

A pair is slow where the whole interval of its one-way bandwidth, by copy engine or by kernel, lies below SLOW
of the median of all pairs by the same method. The median holds as long as less than half of the pairs are
slow; of two devices it would be the mean of the two directions, so at least three are needed. Where other
work was in the way ("contended") nothing is said."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import median
from typing import Dict, List, Optional, Sequence, Tuple

from reports.charts import Cell, draw_heat
from reports.curves import why_invalid
from reports.jsonl import Json, whole_in
from reports.quantity import human, human_interval, listing, plural, scale_of
from reports.records import Derived
from reports.section import Figure, Finding, Panels, Section, SectionSpec, Table
from reports.sections import generic

SLOW = 0.8
MIN_PAIRS = 6  # those of three devices
NAMED = 4  # more slow pairs are summarised
METHODS = {"engine": "copy engine", "kernel": "kernel"}

# variant, quantity, heading of a matrix of pairs
MATRICES = (
    ("engine", "bandwidth", "copy engine, one way"),
    ("engine_both_ways", "bandwidth", "copy engine, both ways at once"),
    ("engine_round_trip", "time", "copy engine, round trip of 4 KiB"),
    ("kernel", "bandwidth", "kernel, one way"),
    ("kernel_both_ways", "bandwidth", "kernel, both ways at once"),
    ("kernel_round_trip", "time", "kernel, round trip of 4 KiB"),
)


@dataclass(frozen=True)
class Value:
    derived: Derived
    why: str  # it may not enter a signature

    @property
    def value(self) -> float:
        return self.derived.value or 0.0

    @property
    def high(self) -> float:
        return self.value if self.derived.ci_high is None else self.derived.ci_high


# (from, to) as in the route: "0", "all", "numa1"
Ends = Tuple[str, str]
Values = Dict[Ends, Value]


def _ends(route: object) -> Ends:
    source, _, target = str(route).partition(">")
    return source, target


def _values(section: Section, variant: str, quantity: str) -> Values:
    return {
        _ends(case.axes.get("route", "")): Value(derived, why_invalid(case, derived))
        for case, derived in section.values(quantity)
        if derived.variant == variant and derived.value
    }


def _pairs(values: Values) -> Values:
    return {ends: v for ends, v in values.items() if None not in map(whole_in, ends)}


def _name(section: Section, end: str) -> str:
    """A device by its index, which its driver's tools use; the route has its place in --device."""
    devices = section.group.run.devices
    place = whole_in(end)
    if place is not None and place < len(devices):
        return str(devices[place].get("index", end))
    return end.replace("numa", "NUMA node ") if end.startswith("numa") else end


def _median(values: Values) -> Optional[float]:
    known = [v.value for v in values.values() if not v.why]
    return median(known) if known else None


# ------------------------------------------------------------------ slow pairs


@dataclass(frozen=True)
class Slow:
    ends: Ends
    method: str
    value: float
    ratio: float
    of: int


def _slow_pairs(section: Section) -> List[Slow]:
    """Each pair once, by the method by which it falls furthest behind; the slowest first."""
    found: Dict[Ends, Slow] = {}
    for method in METHODS:
        pairs = {
            ends: v
            for ends, v in _pairs(_values(section, method, "bandwidth")).items()
            if not v.why and v.derived.grade != "contended"
        }
        middle = _median(pairs)
        if middle is None or len(pairs) < MIN_PAIRS:
            continue
        for ends, v in pairs.items():
            slow = Slow(ends, method, v.value, v.value / middle, len(pairs))
            if v.high < SLOW * middle and (ends not in found or slow.ratio < found[ends].ratio):
                found[ends] = slow
    return sorted(found.values(), key=lambda s: s.ratio)


def _slow_device(slow: Sequence[Slow], side: int, others: int) -> Dict[str, List[Slow]]:
    """Devices of which every pair in this direction is slow."""
    by_device: Dict[str, List[Slow]] = {}
    for pair in slow:
        by_device.setdefault(pair.ends[side], []).append(pair)
    return {device: pairs for device, pairs in by_device.items() if len(pairs) == others}


def _span(slow: Sequence[Slow]) -> str:
    low, high = min(s.value for s in slow), max(s.value for s in slow)
    rates = (
        human(low, "byte/s")
        if high < 1.02 * low
        else "%s to %s" % (human(low, "byte/s"), human(high, "byte/s"))
    )
    ratios = sorted({"%.2f" % s.ratio for s in slow})
    return "%s, %s of the median of %d pairs" % (
        rates,
        ratios[0] if len(ratios) == 1 else "%s to %s" % (ratios[0], ratios[-1]),
        slow[0].of,
    )


def _pair_text(section: Section, slow: Slow) -> str:
    return "%s to %s: %s, %.2f of the median of %d pairs (by %s)" % (
        _name(section, slow.ends[0]),
        _name(section, slow.ends[1]),
        human(slow.value, "byte/s"),
        slow.ratio,
        slow.of,
        METHODS[slow.method],
    )


def findings(section: Section) -> List[Finding]:
    slow = _slow_pairs(section)
    others = len(section.group.run.devices) - 1
    shown: List[Finding] = []
    explained: List[Slow] = []
    for side, what in ((0, "Everything that device %s sends"), (1, "Everything that device %s receives")):
        for device, pairs in _slow_device(slow, side, others).items():
            shown.append(Finding("Slow device.", "%s: %s." % (what % _name(section, device), _span(pairs))))
            explained += pairs
    left = [s for s in slow if s not in explained]
    if len(left) <= NAMED:
        return shown + [Finding("Slow pair.", "From device %s." % _pair_text(section, s)) for s in left]
    named = listing([_pair_text(section, s) for s in left[:NAMED]], NAMED)
    text = "%d of %d: from device %s, and %d more." % (len(left), left[0].of, named, len(left) - NAMED)
    return shown + [Finding("Slow pairs.", text)]


# ------------------------------------------------------------------ results


def _extent(section: Section, variant: str, quantity: str) -> Optional[Json]:
    pairs = {ends: v for ends, v in _pairs(_values(section, variant, quantity)).items() if not v.why}
    middle = _median(pairs)
    if middle is None:
        return None
    low, high = min(pairs, key=lambda e: pairs[e].value), max(pairs, key=lambda e: pairs[e].value)
    return {
        "variant": variant,
        "quantity": quantity,
        "pairs": len(pairs),
        "median": middle,
        "lowest": pairs[low].value,
        "lowest_route": "%s>%s" % low,
        "highest": pairs[high].value,
        "highest_route": "%s>%s" % high,
    }


def results(section: Section) -> Json:
    slow = [
        {"route": "%s>%s" % s.ends, "variant": s.method, "value": s.value, "of_median": s.ratio}
        for s in _slow_pairs(section)
    ]
    extents = [_extent(section, variant, quantity) for variant, quantity, _ in MATRICES]
    return {
        "pairs": [e for e in extents if e],
        "slow": slow,
        "rule": "slow: the whole interval of the bandwidth is below %g of the median of the pairs by the "
        "same method, "
        "of %d pairs or more" % (SLOW, MIN_PAIRS),
    }


def summary(section: Section) -> str:
    found = {e["variant"]: e for e in section.results["pairs"]}
    one_way = found.get("engine") or found.get("kernel")
    parts: List[str] = []
    if one_way:
        method = METHODS[one_way["variant"]]
        parts.append(
            "a copy from one device to another by %s reaches %s (median of %s), %s on the slowest pair (%s)"
            % (
                method,
                human(one_way["median"], "byte/s"),
                plural(one_way["pairs"], "ordered pair"),
                human(one_way["lowest"], "byte/s"),
                " to ".join(_name(section, e) for e in _ends(one_way["lowest_route"])),
            )
        )
        slow = len(section.results["slow"])
        parts.append(
            "%s clearly slower than the others"
            % (plural(slow, "pair is", "pairs are") if slow else "no pair is")
        )
    everybody = _values(section, "engine", "injection_bandwidth").get(("all", "all"))
    if everybody and not everybody.why:
        parts.append("each device sends %s while all send to all" % human(everybody.value, "byte/s"))
    host = [
        v.value
        for ends, v in _values(section, "engine", "bandwidth").items()
        if ends[0].startswith("numa") and not v.why
    ]
    if host:
        low, high = human(min(host), "byte/s"), human(max(host), "byte/s")
        parts.append(
            "a copy from host memory to a device reaches %s"
            % (low if low == high else "%s to %s" % (low, high))
        )
    return "; ".join(parts) + "." if parts else generic.nothing(section)


# ------------------------------------------------------------------ drawing


def _cell(value: Optional[Value], factor: float) -> Optional[Cell]:
    if value is None:
        return None
    d = value.derived
    interval = human_interval(d.ci_low, d.ci_high, value.value, d.unit)
    note = "%s%s%s" % (
        human(value.value, d.unit),
        " (%s)" % interval if interval else "",
        "; " + value.why if value.why else "",
    )
    return Cell(value.value / factor, not value.why, note)


def _draw(
    section: Section, values: Values, rows: Sequence[str], columns: Sequence[str], side: str, heading: str
) -> Optional[str]:
    """Warm is slow: half of the median's rate, or twice its time, is as warm as it gets."""
    middle = _median(values)
    if middle is None:
        return None
    unit = next(iter(values.values())).derived.unit
    factor, shown = scale_of(middle, unit)
    sign = 1.0 if unit == "s" else -1.0

    def heat(value: float) -> float:
        return max(-1.0, min(1.0, sign * math.log2(value * factor / middle)))

    cells = [[_cell(values.get((row, column)), factor) for column in columns] for row in rows]
    return draw_heat(
        [_name(section, r) for r in rows],
        [_name(section, c) for c in columns],
        cells,
        side,
        heading % shown,
        heat=heat,
        what="time" if unit == "s" else "bandwidth",
    )


def _by_number(ends: Sequence[str]) -> List[str]:
    return sorted(dict.fromkeys(ends), key=lambda end: whole_in(re.sub("[^0-9]", "", end)) or 0)


def _pair_panels(section: Section) -> List[Figure]:
    charts = []
    for variant, quantity, heading in MATRICES:
        pairs = _pairs(_values(section, variant, quantity))
        devices = _by_number([end for ends in pairs for end in ends])
        charts.append(_draw(section, pairs, devices, devices, "from", "to, by %s, %%s" % heading))
    caption = (
        "A row's device sends, a column's receives. Both ways: the bytes of both directions count. A round "
        "trip is timed "
        "by the host. Warm colours: slower than the median. ?: flagged invalid."
    )
    drawn = [c for c in charts if c]
    return [Panels(drawn, caption, wide=True)] if drawn else []


def _injection_table(section: Section) -> List[Figure]:
    by = {method: _values(section, method, "injection_bandwidth") for method in METHODS}
    routes = list(dict.fromkeys(ends for values in by.values() for ends in values))
    rows = []
    for ends in routes:
        row = [
            "all to all, each device"
            if ends == ("all", "all")
            else " to ".join(_name(section, e) for e in ends)
        ]
        for method in METHODS:
            value = by[method].get(ends)
            row += (
                [
                    human(value.value, "byte/s") + (" ?" if value.why else ""),
                    human_interval(value.derived.ci_low, value.derived.ci_high, value.value, "byte/s"),
                ]
                if value
                else ["–", ""]
            )
        rows.append(row)
    heads = ["copies at once"] + [h for method in METHODS.values() for h in ("by " + method, "95 %")]
    caption = (
        "Injection bandwidth: what one device sends or receives / the time of the slowest of the copies "
        "that run at once."
    )
    return [Table(heads, rows, caption)] if rows else []


def _node_panels(section: Section) -> List[Figure]:
    charts = []
    for method, noun in METHODS.items():
        values = _values(section, method, "bandwidth")
        up = {ends: v for ends, v in values.items() if ends[0].startswith("numa")}
        down = {(ends[1], ends[0]): v for ends, v in values.items() if ends[1].startswith("numa")}
        for found, side, heading in (
            (up, "from", "to, by %s, %%s" % noun),
            (down, "to", "from, by %s, %%s" % noun),
        ):
            nodes, devices = (_by_number([ends[k] for ends in found]) for k in (0, 1))
            charts.append(_draw(section, found, nodes, devices, side, heading))
    drawn = [c for c in charts if c]
    caption = (
        "Copies to and from pinned host memory of every NUMA node, for every device; the device does the "
        "copying."
    )
    return [Panels(drawn, caption, wide=True)] if drawn else []


def figures(section: Section) -> List[Figure]:
    return _pair_panels(section) + _injection_table(section) + _node_panels(section) or generic.figures(
        section
    )


SPEC = SectionSpec("Pairs of devices, and what each can send", results, summary, figures, findings)
