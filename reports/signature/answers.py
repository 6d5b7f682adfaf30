# SPDX-License-Identifier: BSD-3-Clause
"""The first answers of the first screen, each in one sentence: how good is this machine, at what, where are
its cliffs, and which link is slow? The last one, how far this run can be trusted, is machine.verdict()."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, List, Optional, Tuple

from reports.records import cliffs
from reports.records.jsonl import Json
from reports.signature.machine import main_devices
from reports.records.quantity import BOUND, NOMINAL, human, listing, percent, spell
from reports.signature.signature import Signature
from reports.records.spread import shown_interval

QUESTIONS = ("How good is this machine?", "What is it good at, and what not?")
CLIFFS = "Where does it fall off a cliff?"
LINKS = "Which link between devices is slow?"  # asked where there are several devices
TRUST = "How far can this run be trusted?"
_AT_MOST = 2  # strong points, and weak ones
_STRONG_SHARE, _WEAK_SHARE = 0.8, 0.5  # of a bound, or of the ideal gain
_NEAR = 0.95  # of a bound: nothing to say
_CLIFFS = 4
_MATTERS = 1.05  # a ratio nearer to 1 says nothing

# A device is bought for the first of these types that it has a nominal rate for, else for the first that it
# multiplies.
_TYPES = ("bf16", "f16", "f32", "f64", "tf32", "f8")

_GEMM = r"gemm_(\w+)_(?:flop|op)_rate"

# Parts of the first sentence, in order: the names of their numbers, and the text. Of several it says the
# one of the device's type, or else the best one.
_CLAIMS = (
    (_GEMM, "GEMMs of %s reach %s"),
    (r"memory_read_bandwidth", "memory reads reach %s"),
    (r"up_(engine|kernel)_bandwidth", "H2D copies reach %s"),
    (r"peer_(engine|kernel)_bandwidth", "P2P copies reach %s"),
    (r"launch_round_trip", "launch to completion takes %s"),
    (r"device_allreduce_(library_)?busbw", "allreduce across devices reaches a bus bandwidth of %s"),
)


_Found = Tuple[float, str, Json]  # value, name, entry


def _bare(name: str) -> str:
    return name.rpartition("/")[2].partition("@")[0]


def _claim(signature: Signature, pattern: str, text: str) -> str:
    found = [
        (entry["value"], _bare(name), entry)
        for name, entry in signature.primary.items()
        if re.fullmatch(pattern, _bare(name))
    ]
    if not found:
        return ""
    best = min if found[0][2]["better"] == "lower" else max
    value, name, entry = _of_type(found, pattern) or best(found, key=lambda f: f[0])
    number = human(value, entry["unit"])
    if entry["share"] is not None and entry["bound_name"]:
        number += " (%s of %s)" % (percent(entry["share"]), entry["bound_name"])
    if name.startswith("peer_"):
        number = _of_pairs(signature, number)
    return text % ((name.split("_")[1], number) if text.count("%s") > 1 else number)


def _of_type(found: List[_Found], pattern: str) -> Optional[_Found]:
    """The number of the type that the device is bought for; None: these are not numbers of types."""
    by_type = {match.group(1): f for f in found for match in [re.fullmatch(pattern, f[1])] if match.groups()}
    order = [by_type[name] for name in _TYPES if name in by_type]
    return next((f for f in order if f[2]["bound_name"] == NOMINAL), order[0] if order else None)


@dataclass(frozen=True)
class _Pairs:
    """Copies between two devices, by the method of the headline."""

    measured: int  # ordered pairs
    possible: int
    median: float
    lowest: float
    highest: float
    slowest: str  # "0 to 3"


def _pairs(signature: Signature) -> Optional[_Pairs]:
    """None where there are no two devices, or no program measured any."""
    devices = len(main_devices(signature.json))
    results = signature.json["programs"].get("micro/peer_matrix", {}).get("results", {})
    found = [e for e in results.get("pairs", ()) if e["variant"] in ("engine", "kernel")]
    if devices < 2 or not found:
        return None
    numbers = {_bare(name): entry["value"] for name, entry in signature.primary.items()}
    low, middle = (
        numbers.get("pair_%s_bandwidth" % which, found[0][key])
        for which, key in (("min", "lowest"), ("median", "median"))
    )
    highest = max(found[0]["highest"], middle)
    return _Pairs(
        found[0]["pairs"], devices * (devices - 1), middle, low, highest, found[0]["lowest_devices"]
    )


def _slow(signature: Signature) -> List[str]:
    """Sentences of the section on slow pairs."""
    return [f.text for s in signature.sections if s.group.program == "micro/peer_matrix" for f in s.findings]


def _of_pairs(signature: Signature, of_the_first: str) -> str:
    """A number of the first pair, or the median where there are several."""
    pairs, devices = _pairs(signature), len(main_devices(signature.json))
    if devices <= 2:
        return of_the_first
    if not pairs:
        return "%s (1 of %d pairs measured)" % (of_the_first, devices * (devices - 1))
    if pairs.lowest > _NEAR * pairs.highest:
        return of_the_first
    return "%s (median of %d pairs)" % (human(pairs.median, "byte/s"), pairs.measured)


def which_link(signature: Signature) -> str:
    """Empty where there is one device."""
    pairs, devices = _pairs(signature), len(main_devices(signature.json))
    if not pairs:
        return "Not known: no pair of devices was measured." if devices > 1 else ""
    if _slow(signature):
        return " ".join(_slow(signature))
    low, high = (human(v, "byte/s") for v in (pairs.lowest, pairs.highest))
    rates = low if low == high else "%s to %s" % (low, high)
    if pairs.measured < pairs.possible:
        return "Not known: %d of %d pairs were measured, at %s." % (pairs.measured, pairs.possible, rates)
    return "None of all %d directions is slower than others of its kind: %s." % (pairs.measured, rates)


def good(signature: Signature) -> str:
    """Empty where no headline number says it."""
    claims = [claim for pattern, text in _CLAIMS for claim in [_claim(signature, pattern, text)] if claim]
    if not claims:
        return ""
    said = listing(claims, len(claims)) + "."
    return "By this model, " + said if signature.json["simulated"] else _sentence(said)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# ------------------------------------------------------------------ at what


@dataclass(frozen=True)
class _Point:
    """Something that the machine may be good or bad at; the larger the degree, the more so. None: the
    interval leaves it open."""

    text: str
    strong: Optional[float]
    weak: Optional[float]


_CONCURRENT = {
    "engine_up": "an H2D engine copy",
    "engine_peer": "a P2P engine copy",
    "local_engine": "a D2D engine copy",
    "local_kernel": "a D2D kernel copy",
}
_METHOD = {"engine": "an engine copy", "kernel": "a kernel copy"}
_WAYS = {
    "up": "H2D",
    "down": "D2H",
    "peer": "P2P",
    "local": "D2D",
    "both_ways": "bidirectional (H2D and D2H)",
    "peer_both_ways": "bidirectional P2P",
    "local_both_ways": "bidirectional D2D",
}


def _what(name: str) -> str:
    gemm, copies = (
        re.fullmatch(_GEMM, name),
        re.fullmatch(r"(\w+)_(engine|kernel)_bandwidth", name),
    )
    if gemm:
        return "GEMMs of %s" % gemm.group(1)
    if copies and copies.group(1) in _WAYS:
        return "%s %s copies" % (_WAYS[copies.group(1)], copies.group(2))
    return spell(name)


def _of_bound(name: str, entry: Json) -> str:
    what = _what(name)
    reach = "reach" if what.endswith("copies") or what.startswith("GEMMs") else "reaches"
    return "%s %s %s of %s" % (what, reach, percent(entry["share"]), entry["bound_name"] or BOUND)


def _share(name: str, entry: Json, low: float, high: float) -> Optional[_Point]:
    if entry["share"] is None or not entry["value"]:
        return None
    share, least, most = entry["share"], *(entry["share"] * end / entry["value"] for end in (low, high))
    return _Point(
        _of_bound(name, entry),
        share if least >= _STRONG_SHARE else None,
        1 / max(share, 0.01) if most < _WEAK_SHARE else None,
    )


def _of_ideal(name: str, entry: Json, low: float, high: float) -> Optional[_Point]:
    pair, value = re.fullmatch(r"overlap_efficiency_(engine|kernel)", name), entry["value"]
    if not pair and name != "overlap_efficiency_out_of_core":
        return None
    what = (
        "overlapping a GEMM with " + _METHOD[pair.group(1)] if pair else "a GEMM with inputs in host memory"
    )
    most = "at most " + percent(high) if value < 0 else percent(value)
    gains = "loses time" if high < 0 else "reaches %s of the ideal gain" % most
    return _Point(
        "%s %s" % (what, gains),
        value if low >= _STRONG_SHARE else None,
        1 / max(value, 0.1) if high < _WEAK_SHARE else None,
    )


def _cil(name: str, entry: Json, low: float, high: float) -> Optional[_Point]:
    found, value = re.fullmatch(r"cil_gemm_with_(\w+)", name), entry["value"]
    if not found:
        return None
    other = _CONCURRENT.get(found.group(1), spell(found.group(1)))
    effect = "is not slowed" if high < _MATTERS else "takes %.2f times as long as alone" % value
    return _Point(
        "a GEMM concurrent with %s %s" % (other, effect),
        1.0 if high < _MATTERS else None,
        value if low > _MATTERS else None,
    )


def _speedup(name: str, entry: Json, low: float, high: float) -> Optional[_Point]:
    found, value = re.fullmatch(r"ficco_\w+_speedup", name), entry["value"]
    if not found and name != "trigger_speedup":
        return None
    what = "the schedule %s" % entry["variant"] if found else "sending each part of a result when it is ready"
    return _Point(
        "%s takes %.2f times as long as GEMM and communication one after the other" % (what, 1 / value),
        value if low > _MATTERS else None,
        1 / max(value, 0.01) if high < 1 / _MATTERS else None,
    )


_KINDS: Tuple[Callable[[str, Json, float, float], Optional[_Point]], ...] = (
    _share,
    _of_ideal,
    _cil,
    _speedup,
)


def _points(signature: Signature) -> Tuple[List[str], List[str]]:
    """The strongest and the weakest point of each kind, the worst first."""
    strong: List[str] = []
    weak: List[Tuple[float, str]] = []
    known = [(_bare(name), entry, *shown_interval(entry)) for name, entry in signature.primary.items()]
    for kind in _KINDS:
        told = [kind(*each) for each in known if None not in each[2:]]
        points = [point for point in told if point]
        strong += [text for _, text in sorted((p.strong, p.text) for p in points if p.strong)[-1:]]
        weak += sorted((p.weak, p.text) for p in points if p.weak)[-1:]
    return strong[:_AT_MOST], [text for _, text in sorted(weak, reverse=True)[:_AT_MOST]]


def _slow_pair(signature: Signature) -> List[str]:
    pairs = _pairs(signature)
    if not pairs or not _slow(signature):
        return []
    share = percent(pairs.lowest / pairs.median)
    return ["copies from %s reach %s of the median pair" % (pairs.slowest, share)]


def _farthest(signature: Signature) -> str:
    """The lowest share of a bound, where none is a weakness; empty where all are near it."""
    shares = {n: e for n, e in signature.primary.items() if e["share"] is not None and e["bound_name"]}
    name = min(shares, key=lambda n: shares[n]["share"], default=None)
    if name is None or shares[name]["share"] >= _NEAR:
        return ""
    return "farthest from its limit: %s" % _of_bound(_bare(name), shares[name])


def at_what(signature: Signature) -> str:
    strong, weak = _points(signature)
    weak = (_slow_pair(signature) + weak)[:_AT_MOST]
    if not strong and not weak:
        return "No headline number is clearly near its limit or clearly far from it."
    parts = ["best: " + "; ".join(strong)] if strong else []
    far = "worst: " + "; ".join(weak) if weak else _farthest(signature)
    parts.append(far or "nothing is far from its limit")
    return " ".join(_sentence(part) + "." for part in parts)


def where_it_falls(signature: Signature) -> str:
    """The curve of each program with the deepest cliff, the deepest first, or where none was found."""

    def deepest(found: List[Json]) -> float:
        return max(map(cliffs.depth, found))

    sections = [s for s in signature.sections if s.group.run.cliff]
    found = [s.results["cliffs"] for s in sections if s.results.get("cliffs")]
    each = [max(cliffs.by_curve(own), key=deepest) for own in found]
    chosen = sorted(each, key=deepest, reverse=True)[:_CLIFFS]
    if chosen:
        return ". ".join(text[:1].upper() + text[1:] for text in map(cliffs.clause, chosen)) + "."
    looked = [s.group.program for s in sections if cliffs.was_looked_for(s.group, s.curves)]
    if looked:
        return "Nowhere in the curves of %s." % listing(looked)
    return "Not known: that takes curves, and this run has none." if sections else ""


def answers(signature: Signature) -> List[Tuple[str, str]]:
    """Questions and answers; without a valid headline number only what is known: the verdict says so."""
    more = ((CLIFFS, where_it_falls(signature)), (LINKS, which_link(signature)))
    if not signature.primary:
        return [pair for pair in more if pair[1] and not pair[1].startswith("Not known")]
    first = zip(QUESTIONS, (good(signature), at_what(signature)))
    return [pair for pair in (*first, *more) if pair[1]]
