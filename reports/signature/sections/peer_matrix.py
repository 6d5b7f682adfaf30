# SPDX-License-Identifier: BSD-3-Clause
"""micro/peer_matrix: every ordered pair of devices as a matrix, what each device can inject, host memory of
every NUMA node, and which pairs are slow.

A pair's bandwidth is that of its own case, or else of the sweep over all pairs. slow_links.py says
which pairs are slow, by copy engine and by kernel; where other work was in the way ("contended") nothing is
said. What each device sends while all send to all is told where a single pair contradicts it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import Dict, List, Optional, Sequence, Tuple

from reports.page.charts import Cell, draw_heat
from reports.records.curves import why_invalid
from reports.records.jsonl import Json, is_number, whole_in
from reports.records.quantity import human, human_interval, plural, scale_of
from reports.records.records import Derived
from reports.signature.section import Figure, Finding, Section, SectionSpec, Table
from reports.signature.sections import generic, matrices
from reports.signature.sections.matrices import Matrix
from reports.signature.slow_links import MIN_NODES, SLOW, Links, Measured, View, find, findings_of

SAME = 0.1  # relative: as far as one slow pair explains what a device sends to all
_WAY = re.compile(r"way_([0-9]{1,3})_([0-9]{1,3})\Z")
METHODS = {"engine": "copy engine", "kernel": "kernel"}

# variant, quantity, heading of a matrix of pairs
MATRICES = (
    ("engine", "bandwidth", "copy engine, one way"),
    ("engine_both_ways", "bandwidth", "copy engine, bidirectional"),
    ("engine_round_trip", "time", "copy engine, round trip of 4 KiB"),
    ("kernel", "bandwidth", "kernel, one way"),
    ("kernel_both_ways", "bandwidth", "kernel, bidirectional"),
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
    def low(self) -> float:
        return self.value if self.derived.ci_low is None else self.derived.ci_low

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
    """Values by pair, from the sweep too, unless the pair has a valid value of its own."""
    swept: Values = {}
    own: Values = {}
    for case, derived in section.values():
        if derived.variant != variant or not derived.value:
            continue
        value = Value(derived, why_invalid(case, derived))
        if derived.name == quantity:
            own[_ends(case.axes.get("route", ""))] = value
        elif derived.name.startswith("pair_%s " % quantity):
            swept[_ends(derived.name.partition(" ")[2])] = value
    return {**own, **swept, **{ends: v for ends, v in own.items() if not v.why}}


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


def _ways(section: Section) -> Dict[Tuple[int, int], str]:
    facts = {name: fact for case in section.group.cases.values() for name, fact in case.facts.items()}
    matches = filter(None, map(_WAY.match, facts))
    return {(int(match[1]), int(match[2])): str(facts[match[0]]) for match in matches}


def _views(section: Section) -> Dict[str, View]:
    """Links and slow ones by method."""
    ways = _ways(section)
    where = "between these %s (by %%s)" % plural(len(section.group.run.devices), "device")
    views = {}

    def label(place: int) -> str:
        return "device " + _name(section, str(place))

    for method, noun in METHODS.items():
        bandwidth = {
            (int(source), int(target)): Measured(v.value, v.low, v.high)
            for (source, target), v in _pairs(_values(section, method, "bandwidth")).items()
            if not v.why and v.derived.grade != "contended"
        }
        links = Links(bandwidth, ways=ways)
        views[method] = View(links, find(links), label, where % noun)
    return views


# ------------------------------------------------------------------ all to all


def _all_to_all(section: Section, view: View, method: str) -> List[Finding]:
    """If every pair has links of its own, all of them at once are about as fast as one, unless devices share
    a bus. A slow pair for which all others wait is named; one that a device serves in its turn, by an
    engine for all, is part of what it sends."""
    sends = _values(section, method, "injection_bandwidth").get(("all", "all"))
    bandwidth, others = view.links.bandwidth, len(section.group.run.devices) - 1
    if sends is None or sends.why or sends.derived.grade == "contended" or not view.found.usual_bandwidth:
        return []
    usual_pair = view.found.usual_bandwidth
    slowest = min(bandwidth, key=lambda ends: bandwidth[ends].value)
    of_slowest = others * bandwidth[slowest].value
    bound = slowest in view.found.slow and abs(sends.value / of_slowest - 1) < SAME
    less = sends.high < SLOW * usual_pair and _have_links(view)
    if not bound and (view.found.slow or not less):
        return []
    text = "A device sends %s while all send to all" % human(sends.value, "byte/s")
    if less:
        text += ", less than to one device alone (%s)" % human(usual_pair, "byte/s")
    if bound:
        pair = (human(bandwidth[slowest].value, "byte/s"), *map(view.label, slowest))
        text += ": %d times the %s from %s to %s, for which all others wait" % (others, *pair)
    else:
        text += "; no single pair explains it"
    return [Finding("All to all.", "%s (by %s)." % (text, METHODS[method]))]


def _have_links(view: View) -> bool:
    """Known to be joined by more than PCIe, which several share."""
    ways = [view.links.ways.get(ends, "") for ends in view.links.bandwidth]
    return all("link=" in way and "PCIe" not in way for way in ways)


def findings(section: Section) -> List[Finding]:
    views = _views(section)
    found = findings_of(list(views.values()), "device", "pair")
    to_all = [f for method, view in views.items() for f in _all_to_all(section, view, method)]
    return found + to_all[:1]


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
        "lowest_devices": " to ".join(_name(section, end) for end in low),
        "highest": pairs[high].value,
        "highest_route": "%s>%s" % high,
    }


# ------------------------------------------------------------------ what models are fitted to


def _short(value: float) -> float:
    """Enough for a fit, and a third of the bytes."""
    return float("%.5g" % value)


def _relative_half(value: Value) -> float:
    return (value.high - value.low) / 2 / value.value if value.value else 0.0


def _matrix(section: Section, variant: str, quantity: str) -> Optional[Json]:
    """The values of all pairs, a row for each source by its place in --device; null where there is none."""
    pairs = {ends: v for ends, v in _pairs(_values(section, variant, quantity)).items() if not v.why}
    if not pairs:
        return None
    places = range(len(section.group.run.devices))
    rows = [[pairs.get((str(source), str(target))) for target in places] for source in places]
    return {
        "variant": variant,
        "quantity": quantity,
        "error": _short(median(map(_relative_half, pairs.values()))),
        "rows": [[v and _short(v.value) for v in row] for row in rows],
    }


def _routes(section: Section, variant: str, quantity: str, end: str) -> Json:
    """Those with this word at an end."""
    values = _values(section, variant, quantity)
    return {
        "%s>%s" % ends: _short(v.value)
        for ends, v in values.items()
        if any(end in e for e in ends) and not v.why
    }


def _fitted(section: Section) -> Json:
    """`size_byte`: of what a device sends, null where there were several; `injection` and `host`: by variant
    and route; `hops`: of the ways of more than one."""
    sizes = {case.axes["size"] for case in section.cases if case.derived and is_number(case.axes.get("size"))}
    found = [_matrix(section, v, quantity) for v, quantity, _ in MATRICES if "both" not in v]
    words = {ends: re.search(r"\bhops=([0-9]{1,3})\b", way) for ends, way in _ways(section).items()}
    hops = {ends: int(word[1]) for ends, word in words.items() if word}
    return {
        "size_byte": sizes.pop() if len(sizes) == 1 else None,
        "matrices": [matrix for matrix in found if matrix],
        "injection": {v: _routes(section, v, "injection_bandwidth", "all") for v in METHODS},
        "host": {v: _routes(section, v, "bandwidth", "numa") for v in (*METHODS, "kernel_both_ways")},
        "ways_known": len(hops),
        "hops": {"%d>%d" % ends: count for ends, count in hops.items() if count > 1},
    }


def results(section: Section) -> Json:
    slow: Dict[str, Json] = {}  # by the method by which the pair falls furthest behind
    for method, view in _views(section).items():
        for a, b in view.found.slow:
            route, ratio = "%d>%d" % (a, b), view.found.ratios[a, b]
            if route not in slow or ratio < slow[route]["of_usual"]:
                value = view.links.bandwidth[a, b].value
                slow[route] = {"route": route, "variant": method, "value": value, "of_usual": ratio}
    devices = len(section.group.run.devices)
    extents = [_extent(section, variant, quantity) for variant, quantity, _ in MATRICES]
    return {
        "pairs_possible": devices * (devices - 1),
        "pairs": [e for e in extents if e],
        "slow": sorted(slow.values(), key=lambda s: s["of_usual"]),
        "fitted": _fitted(section),
        "rule": "slow: the whole interval of the bandwidth is below %g of the usual value of such pairs, the "
        "median over devices of the median of a device's pairs by the same method, of %d devices or more"
        % (SLOW, MIN_NODES),
    }


def summary(section: Section) -> str:
    found = {e["variant"]: e for e in section.results["pairs"]}
    one_way = found.get("engine") or found.get("kernel")
    parts: List[str] = []
    if one_way:
        parts.append(
            "a copy from one device to another by %s reaches %s (median of %d of %s), "
            "%s on the slowest pair (%s)"
            % (
                METHODS[one_way["variant"]],
                human(one_way["median"], "byte/s"),
                one_way["pairs"],
                plural(section.results["pairs_possible"], "ordered pair"),
                human(one_way["lowest"], "byte/s"),
                one_way["lowest_devices"],
            )
        )
        slow = len(section.results["slow"])
        which = plural(slow, "pair is", "pairs are") if slow else "no pair is"
        parts.append("%s clearly slower than the others" % which)
    everybody = _values(section, "engine", "injection_bandwidth").get(("all", "all"))
    if everybody and not everybody.why:
        parts.append("each device sends %s while all send to all" % human(everybody.value, "byte/s"))
    engine = _values(section, "engine", "bandwidth")
    host = [v.value for ends, v in engine.items() if ends[0].startswith("numa") and not v.why]
    if host:
        ends = dict.fromkeys(human(end, "byte/s") for end in (min(host), max(host)))
        parts.append("a copy from host memory to a device reaches %s" % " to ".join(ends))
    return "; ".join(parts) + "." if parts else generic.nothing(section)


# ------------------------------------------------------------------ drawing


def _cell(value: Optional[Value], factor: float) -> Optional[Cell]:
    if value is None:
        return None
    return matrices.cell_of(value.derived, value.why, factor)


def _draw(
    section: Section,
    values: Values,
    rows: Sequence[str],
    columns: Sequence[str],
    side: str,
    heading: str,
    name: str,
) -> Optional[Matrix]:
    middle = _median(values)
    if middle is None:
        return None
    unit = next(iter(values.values())).derived.unit
    factor, shown = scale_of(middle, unit)
    heat = matrices.slow_is_warm(middle / factor, unit)
    cells = [[_cell(values.get((row, column)), factor) for column in columns] for row in rows]
    row_names, column_names = ([_name(section, end) for end in ends] for ends in (rows, columns))

    what = "time" if unit == "s" else "bandwidth"

    def draw(joined: str) -> str:
        return draw_heat(
            row_names, column_names, cells, side, heading % (joined, shown), heat=heat, what=what
        )

    return Matrix(name, side, row_names, column_names, cells, shown, draw)


def _by_number(ends: Sequence[str]) -> List[str]:
    return sorted(dict.fromkeys(ends), key=lambda end: whole_in(re.sub("[^0-9]", "", end)) or 0)


def _pair_panels(section: Section) -> List[Figure]:
    charts = []
    for variant, quantity, heading in MATRICES:
        pairs = _pairs(_values(section, variant, quantity))
        devices = _by_number([end for ends in pairs for end in ends])
        charts.append(_draw(section, pairs, devices, devices, "from", "to, by %s, %s", heading))
    caption = (
        "A row's device sends, a column's receives. Both ways: the bytes of both directions count. A round "
        "trip is timed by the host. Warm colours: slower than the median. ?: flagged invalid."
    )
    return matrices.figures([c for c in charts if c], caption, "pairs")


def _injection_table(section: Section) -> List[Figure]:
    by = {method: _values(section, method, "injection_bandwidth") for method in METHODS}
    routes = list(dict.fromkeys(ends for values in by.values() for ends in values))
    rows = []
    for ends in routes:
        to_all = "all to all, each device" if ends == ("all", "all") else ""
        row = [to_all or " to ".join(_name(section, end) for end in ends)]
        for method in METHODS:
            value = by[method].get(ends)
            d = value.derived if value else None
            row.append(human(value.value, "byte/s") + (" ?" if value.why else "") if value else "–")
            row.append(human_interval(d.ci_low, d.ci_high, value.value, "byte/s") if d else "")
        rows.append(row)
    heads = ["concurrent copies"] + [h for method in METHODS.values() for h in ("by " + method, "95 %")]
    caption = (
        "Injection bandwidth: what one device sends or receives / the time of the slowest of the concurrent "
        "copies."
    )
    return [Table(heads, rows, caption)] if rows else []


def _node_panels(section: Section) -> List[Figure]:
    charts = []
    for method, noun in METHODS.items():
        values = _values(section, method, "bandwidth")
        up = {ends: v for ends, v in values.items() if ends[0].startswith("numa")}
        down = {(ends[1], ends[0]): v for ends, v in values.items() if ends[1].startswith("numa")}
        for found, side, back, way in ((up, "from", "to", "H2D"), (down, "to", "from", "D2H")):
            heading = back + ", by %s, %s"
            nodes, devices = (_by_number([ends[k] for ends in found]) for k in (0, 1))
            charts.append(_draw(section, found, nodes, devices, side, heading, "%s, %s" % (noun, way)))
    caption = (
        "Copies to and from pinned host memory of every NUMA node, for every device; the device does the "
        "copying."
    )
    return matrices.figures([c for c in charts if c], caption, "ways")


def figures(section: Section) -> List[Figure]:
    return _pair_panels(section) + _injection_table(section) + _node_panels(section)


SPEC = SectionSpec("Bandwidth between devices", results, summary, figures, findings)
