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

from reports.model.copies import Line, copy_line
from reports.model.key import Key, Missing
from reports.model.measured import Measured

Ends = tuple[int, int]
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
_VARIANTS = {"engine": "engine", "kernel": "kernel_nt"}  # of micro/peer_matrix, and alike of micro/copy_path


class Pairs(NamedTuple):
    """Values by ordered pair, and the usual relative half of their intervals."""

    values: dict[Ends, float]
    error: float


def _pairs(measured: Measured, variant: str, quantity: str) -> Optional[Pairs]:
    fitted = measured.results("micro/peer_matrix").get("fitted") or {}
    for matrix in fitted.get("matrices", ()):
        if (matrix["variant"], matrix["quantity"]) == (variant, quantity):
            rows = enumerate(matrix["rows"])
            found = {(i, j): float(v) for i, row in rows for j, v in enumerate(row) if v}
            return Pairs(found, float(matrix["error"]))
    return None


# ------------------------------------------------------------------ latencies


def _latency(measured: Measured, lines: dict[str, Line]) -> Iterator[Key | Missing]:
    """The peer's fixed part less that of copies which stay at home."""
    peer, own = lines.get("peer"), [found for d, found in lines.items() if d != "peer"]
    if not peer or not own:
        yield Missing(("peer_latency_ns",), "micro/copy_path has no engine copies to a peer and others")
        return
    alphas = [found.alpha_ns for found in own]
    home = statistics.median(alphas)
    value = peer.alpha_ns - home
    half = peer.error * peer.alpha_ns + (max(alphas) - min(alphas)) / 2
    if value <= half:
        why = "a copy to a peer takes %.4g ns without its bytes, others %.4g: no more than they differ"
        yield Missing(("peer_latency_ns",), why % (peer.alpha_ns, home))
        return
    source = "micro/copy_path engine: time without bytes, peer - others"
    yield Key("peer_latency_ns", value, source, half / value)


def _later(measured: Measured) -> dict[Ends, float]:
    """By pair: ns that its round trip is longer than the usual one."""
    by: list[dict[Ends, float]] = []
    for variant in ("engine_round_trip", "kernel_round_trip"):
        found = _pairs(measured, variant, "time")
        if found:
            usual = statistics.median(found.values.values())
            by.append({ends: (v - usual) * 1e9 for ends, v in found.values.items()})
    ends = set.intersection(*map(set, by)) if by else set()
    return {e: statistics.fmean(found[e] for found in by) for e in ends}


# ------------------------------------------------------------------ rates


def _rates(measured: Measured, size: float, later: dict[Ends, float]) -> Pairs:
    """The rate of each pair's way: of the faster method, without what a copy costs besides its bytes."""
    rates: dict[Ends, float] = {}
    errors = []
    for variant, alike in _VARIANTS.items():
        found, fixed = _pairs(measured, variant, "bandwidth"), copy_line(measured, alike, "peer")
        if not found:
            continue
        errors.append(found.error)
        for ends, bandwidth in found.values.items():
            all_ns = size / bandwidth * 1e9
            fixed_ns = (fixed.alpha_ns if fixed else 0.0) + later.get(ends, 0.0) - later.get((0, 1), 0.0)
            bytes_ns = all_ns - fixed_ns if fixed_ns < all_ns / 2 else all_ns
            rates[ends] = max(rates.get(ends, 0.0), size / bytes_ns * 1e9)
    return Pairs(rates, max(errors, default=0.0))


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
    measured: Measured, count: int, rates: dict[Ends, float], ways: dict[Ends, list[Ends]]
) -> Optional[Injection]:
    """The route in which a device sends or receives most, by engines or kernels."""
    fitted = measured.results("micro/peer_matrix").get("fitted") or {}
    found = []
    for variant, alike in _VARIANTS.items():
        fixed = copy_line(measured, alike, "peer")
        for route, rate in (fitted.get("injection") or {}).get(variant, {}).items():
            all_ns = fitted["size_byte"] / rate * 1e9
            fixed_ns = fixed.alpha_ns if fixed else 0.0
            bytes_ns = all_ns - fixed_ns if fixed_ns < all_ns / 2 else all_ns
            of_bytes, carried = rate * all_ns / bytes_ns, _links_carry(route, count, rates, ways)
            if carried:
                found.append(Injection(of_bytes, of_bytes / carried, "%s by %s" % (route, variant)))
    return max(found, default=None, key=lambda injection: injection.rate)


def _injection_and_word(
    measured: Measured, count: int, usual: float, most: Optional[Injection], error: float
) -> Iterator[Key | Missing]:
    """A switch is what limits a device to the rate of one link. With injection_bandwidth, switch and mesh say
    the same."""
    if most is None:
        yield Key("links", "switch", "every way is one link; what a device sends to all was not measured")
        yield Missing(("injection_bandwidth",), "micro/peer_matrix has no route of several pairs")
        return
    source = "micro/peer_matrix %s" % most.route
    free = most.of_links > _LIMITED
    if count == 2 or most.rate < (1 + (count - 2) / 10) * usual:
        yield Key("links", "switch", source + ": a device sends no more to all than to one")
        yield Key("injection_bandwidth", most.rate, source, error)
    elif free:
        words = "%s: %.2g of what the links carry, so nothing else limits it" % (source, most.of_links)
        yield Key("links", "mesh", words)
        yield Key("injection_bandwidth", most.rate, source + ": what all links of a device carry", error)
    else:
        yield Key("links", "switch", "%s: %.2g of what single links would carry" % (source, most.of_links))
        yield Key("injection_bandwidth", most.rate, source, error)


# ------------------------------------------------------------------ keys


def _pair_lines(rates: Pairs, usual: float, all_of_them: bool) -> Iterator[Key | Missing]:
    different = -1.0 if all_of_them else max(DIFFERENT, 3 * rates.error)
    odd = {ends: r for ends, r in sorted(rates.values.items()) if abs(r / usual - 1) > different}
    if len(odd) > _MOST_LINES:
        yield Missing(("peer_bandwidth of single pairs",), "%d pairs differ from the usual one" % len(odd))
        return
    for ends, rate in odd.items():
        yield Key("peer_bandwidth %d>%d" % ends, rate, "micro/peer_matrix", rates.error)


def keys(measured: Measured, found: dict) -> Iterator[Key | Missing]:
    count = measured.devices
    fitted = measured.results("micro/peer_matrix").get("fitted") or {}
    if count < 2:
        yield Missing(_PEER, "one device was measured, and links are between several")
        return
    size = fitted.get("size_byte")
    every = {d: copy_line(measured, "engine", d) for d in ("up", "down", "local", "peer")}
    later = _later(measured)
    rates = _rates(measured, float(size), later) if size else Pairs({}, 0.0)
    if not rates.values:
        yield Missing(_PEER, "micro/peer_matrix has no rates of pairs, or of several sizes")
        return
    yield from _latency(measured, {d: own for d, own in every.items() if own})
    hops = {tuple(map(int, route.split(">"))): n for route, n in (fitted.get("hops") or {}).items()}
    direct = {ends for ends in rates.values if hops.get(ends, 1) == 1}
    usual = statistics.median_low(rates.values[ends] for ends in direct)
    word = _shape(count, direct) or "pairs" if hops else None
    links = Pairs({e: r for e, r in rates.values.items() if e in direct}, rates.error) if word else rates
    direct = set(links.values)
    most = _injection(measured, count, links.values, _ways(count, direct))
    source = "micro/peer_matrix: median of %d pairs, the faster of engine and kernel, without the fixed part"
    yield Key("peer_bandwidth", usual, source % len(links.values), rates.error)
    yield from _pair_lines(links, usual, word == "pairs")
    if word:
        yield Key("links", word, "reported by the driver: the ways of one hop")
        if most and most.of_links < _LIMITED:
            yield Key("injection_bandwidth", most.rate, "micro/peer_matrix %s" % most.route, rates.error)
        return
    yield from _injection_and_word(measured, count, usual, most, rates.error)
