# SPDX-License-Identifier: BSD-3-Clause
"""Links between devices: which there are, their rates and latencies, and what a device sends to all.

The time of a copy over a way is a fixed part and the bytes at the least rate of its links
(device/sim/machine/links.c: LINKS); the fixed part is that of micro/copy_path to its peer. An engine or a
kernel may be slower than a link, so the faster of the two tells a link's rate. Where every way is one link,
those that differ from the usual pair have lines of their own.
"""

from __future__ import annotations

import statistics
from typing import Iterator, NamedTuple, Optional

from reports.model.copy_lines import BANDWIDTH
from reports.model.key import Key, Missing
from reports.model.measured import Measured
from reports.model.pairs import (
    VARIANTS,
    Ends,
    Estimate,
    Matrix,
    first_latency,
    fitted,
    fixed_ns,
    matrix,
    rate_of_bytes,
)
from reports.model.pairs import later as later_than_first

DIFFERENT = 0.02  # pairs whose rates are nearer to each other are alike
LATER = 0.1  # the same of latencies
_LIMITED = 0.96  # of what the links carry: less has another limit
_MOST_LINES = 500  # of single pairs, in a model of at most 64 KiB
_PEER = (
    "peer_bandwidth",
    "peer_latency_ns",
    "injection_bandwidth",
    "links",
)
_TRIP_NS = 1e4  # about


# ------------------------------------------------------------------ rates and latencies


def _rates(measured: Measured, size: float, latency: Optional[Estimate], later: dict[Ends, float]) -> Matrix:
    """The rate of each pair's way: of the faster method, without what a copy takes besides its bytes."""
    rates: dict[Ends, float] = {}
    errors = [0.0]
    for variant in VARIANTS:
        found, fixed = matrix(measured, variant, "bandwidth"), fixed_ns(measured, variant, latency)
        errors.append(found.error)
        for ends, rate in found.values.items():
            own = rate_of_bytes(rate, size, max(0.0, fixed + later.get(ends, 0.0)))
            rates[ends] = max(rates.get(ends, 0.0), own)
    return Matrix(rates, max(errors))


def _latencies(
    measured: Measured, latency: Optional[Estimate], later: dict[Ends, float], direct: set[Ends]
) -> Iterator[Key | Missing]:
    """The usual one of direct ways, and those that differ."""
    if latency is None:
        yield Missing(("peer_latency_ns",), "no program has engine copies to a peer and at home")
        return
    own = {ends: ns for ends, ns in sorted(later.items()) if ends in direct}
    half = max(latency.half, matrix(measured, "engine_round_trip", "time").error * _TRIP_NS)
    shift = statistics.median_low(own.values()) if own else 0.0
    usual = latency.value + (shift if abs(shift) > 3 * half else 0.0)
    source = "micro/copy_path, micro/copy_command, micro/peer_matrix: copies to a peer - copies at home"
    if usual <= latency.half:
        yield Key("peer_latency_ns", 0, "%s: %.3g ns, within %.3g" % (source, usual, latency.half))
        usual = 0.0
    else:
        yield Key("peer_latency_ns", usual, source, latency.half / usual)
    different = max(LATER * usual, 3 * half)
    odd = {
        ends: latency.value + ns for ends, ns in own.items() if abs(latency.value + ns - usual) > different
    }
    if len(odd) > _MOST_LINES:
        yield Missing(("peer_latency_ns of single pairs",), "%d pairs differ from the usual one" % len(odd))
        return
    for ends, ns in odd.items():
        source = "micro/peer_matrix engine_round_trip"
        yield Key("peer_latency_ns %d>%d" % ends, max(0.0, ns), source, half / ns if ns > 0 else None)


# ------------------------------------------------------------------ shapes


def _neighbours(sides: tuple[int, ...]) -> set[Ends]:
    """The links of a torus."""
    count = 1
    for side in sides:
        count *= side
    found, stride = set(), 1
    for side in sides:
        for at in range(count):
            x = at // stride % side
            for step in (1, side - 1):
                found.add((at, at + ((x + step) % side - x) * stride))
        stride *= side
    return {ends for ends in found if ends[0] != ends[1]}


def _shape(count: int, direct: set[Ends]) -> Optional[str]:
    """The word for these links; None: none of those known."""
    if direct == _neighbours((count,)):
        return "ring"
    shapes = [(a, count // a) for a in range(2, count) if count % a == 0]
    shapes += [
        (a, b, count // a // b) for a in range(2, count) for b in range(2, count) if count % (a * b) == 0
    ]
    for sides in shapes:
        if min(sides) > 1 and direct == _neighbours(sides):
            return "torus:" + "x".join(map(str, sides))
    return None


def _ways(count: int, direct: set[Ends]) -> dict[Ends, list[Ends]]:
    """Links on the way of each pair: of the fewest, over the lowest next device."""
    ways: dict[Ends, list[Ends]] = {}
    for to in range(count):
        hops, reached = {to: 0}, [to]
        for at in reached:
            for source in range(count):
                if (source, at) in direct and source not in hops:
                    hops[source] = hops[at] + 1
                    reached.append(source)
        for source in (s for s in hops if s != to):
            at, way = source, []
            while at != to:
                beyond = min(b for b in hops if (at, b) in direct and hops[b] == hops[at] - 1)
                way.append((at, beyond))
                at = beyond
            ways[source, to] = way
    return ways


# ------------------------------------------------------------------ injection


def _copies_of(route: str, count: int) -> list[Ends]:
    source, _, target = route.partition(">")
    return [
        (i, j)
        for i in range(count)
        for j in range(count)
        if i != j and source in ("all", str(i)) and target in ("all", str(j))
    ]


def _links_carry(route: str, count: int, rates: dict[Ends, float], ways: dict[Ends, list[Ends]]) -> float:
    """Byte/s that a device sends or receives in such a route if nothing but links takes time."""
    load: dict[Ends, float] = {}
    for ends in _copies_of(route, count):
        for link in ways.get(ends, ()):
            load[link] = load.get(link, 0.0) + 1 / (count - 1)
    times = [share / rates[link] for link, share in load.items() if rates.get(link)]
    return 1 / max(times) if times else 0.0


class Injection(NamedTuple):
    rate: float
    of_links: float  # the rate / what links alone would carry in that route
    route: str


def _injection(
    measured: Measured, latency: Optional[Estimate], links: dict[Ends, float], ways: dict[Ends, list[Ends]]
) -> Optional[Injection]:
    """The route in which a device sends or receives most, by engines or kernels."""
    size, found = float(fitted(measured)["size_byte"]), []
    for variant in VARIANTS:
        fixed = fixed_ns(measured, variant, latency)
        for route, rate in (fitted(measured).get("injection") or {}).get(variant, {}).items():
            of_bytes = rate_of_bytes(rate, size, fixed)
            carried = _links_carry(route, measured.devices, links, ways)
            if carried:
                found.append(Injection(of_bytes, of_bytes / carried, "%s by %s" % (route, variant)))
    return max(found, default=None, key=lambda injection: injection.rate)


def _memory(measured: Measured) -> float:
    """Bytes/s that a kernel reads and writes in a copy within memory; 0 where it was not measured."""
    curve = measured.curve(BANDWIDTH, "size", variant="kernel_nt", direction="local")
    return 2 * curve[-1][1].value if curve else 0.0


def _injection_key(measured: Measured, most: Injection, links: Matrix) -> Key:
    """No less than a single pair shows: one copy passes what limits a device, too."""
    rate, source = most.rate, "micro/peer_matrix " + most.route
    fastest = max(links.values.values())
    if fastest > rate:
        rate, source = fastest, source + ": less than one pair alone, which is taken"
    elif most.of_links > _LIMITED:
        source = "at least: the links of a device carry no more; " + source
    elif rate > _LIMITED / 2 * _memory(measured) > 0:
        source = "at least: memory may limit it; " + source
    return Key("injection_bandwidth", rate, source, links.error)


def _where_all_are_joined(
    measured: Measured, most: Optional[Injection], links: Matrix
) -> Iterator[Key | Missing]:
    """A switch is what limits a device to less than all of its links; with injection_bandwidth both words say
    the same."""
    if most is None:
        yield Key("links", "switch", "every way is one link; what a device sends to all was not measured")
        yield Missing(("injection_bandwidth",), "micro/peer_matrix has no route of several pairs")
        return
    mesh = measured.devices > 2 and most.of_links > _LIMITED
    source = "micro/peer_matrix %s: %.2g of what a link for each pair would carry"
    yield Key("links", "mesh" if mesh else "switch", source % (most.route, most.of_links))
    yield _injection_key(measured, most, links)


# ------------------------------------------------------------------ keys


def _pair_lines(rates: Matrix, usual: float, all_of_them: bool) -> Iterator[Key | Missing]:
    different = -1.0 if all_of_them else max(DIFFERENT, 3 * rates.error)
    odd = {ends: r for ends, r in sorted(rates.values.items()) if abs(r / usual - 1) > different}
    if len(odd) > _MOST_LINES:
        yield Missing(("peer_bandwidth of single pairs",), "%d pairs differ from the usual one" % len(odd))
        return
    for ends, rate in odd.items():
        yield Key("peer_bandwidth %d>%d" % ends, rate, "micro/peer_matrix", rates.error)


def _direct(measured: Measured, every: set[Ends]) -> tuple[set[Ends], Optional[str]]:
    """The pairs with a link of their own, and the word for them; no word where all have."""
    far = {tuple(map(int, route.split(">"))) for route in fitted(measured).get("hops") or ()}
    direct = every - far
    if len(direct) == len(every) or not set(_ways(measured.devices, direct)) >= every:
        return every, None  # also where some go over devices that were not measured
    return direct, _shape(measured.devices, direct) or "pairs"


def _of_several(measured: Measured, size: float) -> Iterator[Key | Missing]:
    latency, later = first_latency(measured), later_than_first(measured)
    rates = _rates(measured, size, latency, later)
    if not rates.values:
        yield Missing(_PEER, "micro/peer_matrix has no rates of pairs")
        return
    direct, word = _direct(measured, set(rates.values))
    links = Matrix({ends: rates.values[ends] for ends in direct}, rates.error)
    usual = statistics.median_low(links.values.values())
    source = "micro/peer_matrix: median of %d pairs, the faster of engine and kernel, without the fixed part"
    yield Key("peer_bandwidth", usual, source % len(direct), links.error)
    yield from _pair_lines(links, usual, word == "pairs")
    yield from _latencies(measured, latency, later, direct)
    most = _injection(measured, latency, links.values, _ways(measured.devices, direct))
    if not word:
        yield from _where_all_are_joined(measured, most, links)
    else:
        yield Key("links", word, "reported by the driver: the ways of one hop")
        if most and most.of_links < _LIMITED:
            yield _injection_key(measured, most, links)
    unjoined = measured.devices * (measured.devices - 1) - len(rates.values)
    if unjoined:
        yield Missing(("pairs without access",), "%d of them, which this model joins" % unjoined)


def keys(measured: Measured, _found: dict) -> Iterator[Key | Missing]:
    size = fitted(measured).get("size_byte")
    if measured.devices < 2:
        yield Missing(_PEER, "one device was measured, and links are between several")
    elif not size:
        yield Missing(_PEER, "micro/peer_matrix has no rates of pairs, or of several sizes")
    else:
        yield from _of_several(measured, float(size))
