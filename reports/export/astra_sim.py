# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of ASTRA-sim 2 (its analytical network): network.yml, system.json and remote_memory.json of one run.

Keys, types and units are those of its parsers, not of its manuals: Sys.cc and CollectiveImplLookup.cc of
astra-sim 518bd51, NetworkParser.cpp and NetworkFunction.cpp of astra-network-analytical 599a047,
AnalyticalRemoteMemory of astra-memory-analytical 641cce8. GB/s of the network are 2^30 byte/s, those of
memory 1e9. Each value says what it is from: in YAML behind it, in system.json under "gpusig", because that
parser takes no comments but ignores keys that it does not know.

All is of the metrics of a run; nothing is nominal, and never the keys of a simulated device.
"""

from __future__ import annotations

import json
from statistics import median
from typing import Any, Mapping, NamedTuple, Optional, Sequence

from reports.export.runs import Run
from reports.judge.compare.numbers import BadNumbers
from reports.model.fit import NoModel, check_one_kind
from reports.model.measured import Measured, Value
from reports.records.jsonl import clean
from reports.records.quantity import human, percent, plural

NETWORK, SYSTEM, REMOTE = "network.yml", "system.json", "remote_memory.json"
_CANNOT = 77
_ALIKE = 0.15  # relative: as far as a topology explains what a device sends
_WIRE = 0.1  # share of the bytes in the time of the smallest allreduce, above which that is no latency
_GIB, _GB = float(1 << 30), 1e9
_ENDPOINT_NS = 10  # before each message, as in Sys.cc without the key; its event queue stops at 0
# Names that ASTRA-sim has for collectives, each with its counterparts of our algorithms.
_RING, _DIRECT, _HALVING = "ring", "direct", "halvingDoubling"
_THREE = {"ring": _RING, "direct": _DIRECT, "rd-b": _HALVING}
COLLECTIVES: dict[str, tuple[str, Mapping[str, str]]] = {
    "all-reduce": ("collectives/device_allreduce", _THREE),
    "reduce-scatter": ("collectives/device_reduce_scatter", _THREE),
    "all-gather": ("collectives/device_allgather", _THREE),
    # direct1: one message of a device at a time
    "all-to-all": ("collectives/device_all_to_all", {"spread-out": _DIRECT, "pairwise": "direct1"}),
}
_OF_ENGINES = (
    "copy engines reach %s between devices, and the measured collectives, which latency and algorithms are "
    "of, copy by them; bandwidth is that of kernels"
)
_PEAKS = ("bf16", "f16", "f32", "f64")  # of which the first that was measured is the compute rate


class Field(NamedTuple):
    name: str
    value: Any
    source: str  # begins with "measured", "derived", "assumed" or "default"


class Network(NamedTuple):
    topology: Field
    bandwidth: Field
    byte_per_s: float
    remark: str  # what about it is an approximation; "" where nothing is


def _lacks(what: str, program: str) -> BadNumbers:
    return BadNumbers("export: astra-sim needs %s: measure %s" % (what, program), _CANNOT)


def _shown(value: Value, unit: str) -> str:
    """ "micro/memory/memory_triad_bandwidth, 3.34 TB/s, ±1 %" """
    return "%s, %s, ±%s" % (clean(value.name), human(value.value, unit), percent(value.error))


def spreads(topology: str, devices: int) -> float:
    """Rate, in that of a pair, at which one device sends to all others evenly and at once. In a ring, half of
    them are behind each of its two links."""
    return {"Switch": 1.0, "FullyConnected": devices - 1.0, "Ring": (devices - 1) / (devices // 2)}[topology]


def _distances(algorithm: str, devices: int) -> list[int]:
    """Places of a ring that messages pass in each step of half an allreduce."""
    return {
        _RING: [1] * (devices - 1),
        _DIRECT: [devices // 2],
        _HALVING: [1 << k for k in range(max(devices.bit_length() - 1, 1))],
    }[algorithm]


def hops(topology: str, algorithm: str, devices: int) -> int:
    """Links that follow each other in an allreduce, over all its steps."""
    steps = _distances(algorithm, devices)
    if topology != "Ring":
        return 2 * len(steps) * (2 if topology == "Switch" else 1)
    return 2 * sum(min(distance, devices - distance) for distance in steps)


class Pairs(NamedTuple):
    method: str
    median: float  # byte/s
    lowest: float
    highest: float
    text: str
    remark: str  # where engines are slower, because the measured collectives copy by them


def _pairs(measured: Measured) -> Pairs:
    """Bandwidths of pairs by kernels, as collective libraries copy, or else by engines."""
    results = measured.results("micro/peer_matrix")
    of = {own["variant"]: own for own in results.get("pairs") or [] if own["quantity"] == "bandwidth"}
    good = [m for m in ("kernel", "engine") if m in of and 0 < of[m]["lowest"] <= of[m]["median"]]
    if not good:
        raise _lacks("the bandwidth between devices", "micro/peer_matrix")
    own, count = of[good[0]], measured.devices * (measured.devices - 1)
    middle, low, high = (float(own[name]) for name in ("median", "lowest", "highest"))
    shown = plural(own["pairs"], "pair"), good[0], human(low, "byte/s"), human(high, "byte/s")
    text = "%s by %s, %s to %s" % shown
    for matrix in (results.get("fitted") or {}).get("matrices", ()):
        if (matrix["variant"], matrix["quantity"]) == (good[0], "bandwidth"):
            text += ", each ±" + percent(matrix["error"])
    if own["pairs"] < count:
        what = "the bandwidth of all %d pairs of devices, not of %s" % (count, text)
        raise _lacks(what, "micro/peer_matrix")
    engine = float(of["engine"]["median"]) if len(good) > 1 else middle
    slower = engine < (1 - _ALIKE) * middle
    return Pairs(good[0], middle, low, high, text, _OF_ENGINES % human(engine, "byte/s") if slower else "")


def _matching(alone: float, to_all: float, at_once: float, devices: int) -> Optional[str]:
    """The topology that explains what a device sends, to all others alone and while all send."""
    for topology in ("Switch", "FullyConnected", "Ring"):
        expected = spreads(topology, devices)
        same = abs(to_all / alone / expected - 1) <= _ALIKE
        # On a ring messages of all devices meet, which is of no use to tell it.
        if same and (topology == "Ring" or abs(at_once / alone / expected - 1) <= _ALIKE):
            return topology
    return None


def _network(measured: Measured) -> Network:
    devices = measured.devices
    pairs = _pairs(measured)
    method, alone = pairs.method, pairs.median
    bandwidth = Field("bandwidth", alone / _GIB, "measured: micro/peer_matrix, median of %s" % pairs.text)
    if devices == 2:
        topology = Field("topology", "FullyConnected", "derived: two devices have one way each")
        return Network(topology, bandwidth, alone, pairs.remark)
    sent = (measured.results("micro/peer_matrix").get("fitted") or {}).get("injection", {}).get(method, {})
    own = [rate for route, rate in sent.items() if route.endswith(">all") and route != "all>all"]
    if not own or min(*own, sent.get("all>all", 0.0)) <= 0:
        raise _lacks(
            "what a device sends to all others by %s, alone and while all send" % method,
            "micro/peer_matrix --route each,spread,exchange",
        )
    at_once = sent["all>all"]
    to_all = median(own)
    rates = "a device sends %s to all others, and %s while all send to all" % (
        human(to_all, "byte/s"),
        human(at_once, "byte/s"),
    )
    alike = pairs.lowest >= (1 - _ALIKE) * pairs.highest
    known = _matching(alone, to_all, at_once, devices) if alike else None
    if known:
        topology = Field("topology", known, "derived: pairs are alike, and %s" % rates)
        return Network(topology, bandwidth, alone, pairs.remark)
    remark = (
        "its links are no Ring, FullyConnected or Switch, the only topologies of ASTRA-sim's analytical "
        "network: %s, and %s. It is approximated by a Switch of what each sends while all send to all, so a "
        "network with little traffic is too slow" % (pairs.text, rates)
    )
    topology = Field("topology", "Switch", "assumed, an approximation: " + remark)
    source = "measured: micro/peer_matrix all>all by %s, %s a device" % (method, human(at_once, "byte/s"))
    return Network(topology, Field("bandwidth", at_once / _GIB, source), at_once, remark)


def _times(measured: Measured, program: str, algorithm: str) -> dict[int, tuple[float, Value]]:
    """Seconds by bytes of the whole vector."""
    curve = measured.curve(program + "/bandwidth", "size", variant=algorithm)
    if not curve:  # collectives other than allreduce keep that of a bus
        devices = measured.devices
        share = (devices - 1) / devices if devices > 1 else 1.0
        bus = measured.curve(program + "/bus_bandwidth", "size", variant=algorithm)
        return {int(x): (x * share / v.value, v) for x, v in bus if v.value > 0}
    return {int(x): (x / v.value, v) for x, v in curve if v.value > 0}


class Chosen(NamedTuple):
    field: Field
    algorithm: str  # ours
    times: dict[int, tuple[float, Value]]


def _chosen(measured: Measured, name: str) -> Optional[Chosen]:
    """The counterpart that was fastest at the largest size that all have; None where none was measured."""
    program, counterparts = COLLECTIVES[name]
    found = {own: times for own in counterparts if (times := _times(measured, program, own))}
    if not found:
        return None
    sizes = set.intersection(*(set(times) for times in found.values())) or set(next(iter(found.values())))
    size = max(sizes)
    best = min((own for own in found if size in found[own]), key=lambda own: found[own][size][0])
    source = "measured: %s, %s is the fastest of %s at %d byte; ASTRA-sim has one for all sizes" % (
        program,
        best,
        ", ".join(sorted(found)),
        size,
    )
    return Chosen(Field(name + "-implementation", [counterparts[best]], source), best, found[best])


def _latency(measured: Measured, network: Network, chosen: Optional[Chosen]) -> Field:
    """Latency of a link: the time of the smallest allreduce, evenly over links that follow each other."""
    needs = "the time of a small allreduce by ring, direct or rd-b"
    if chosen is None:
        raise _lacks(needs, "collectives/device_allreduce")
    devices = measured.devices
    size = min(chosen.times)
    seconds, value = chosen.times[size]
    wire = 2 * size * (devices - 1) / devices / network.byte_per_s
    if wire > _WIRE * seconds:
        most = "%s; the smallest measured one, of %d byte, is bytes for %s of its time"
        raise _lacks(most % (needs, size, percent(wire / seconds)), "collectives/device_allreduce --size 32")
    algorithm = chosen.field.value[0]
    count = hops(network.topology.value, algorithm, devices)
    endpoints = 2 * len(_distances(algorithm, devices)) * _ENDPOINT_NS
    return Field(
        "latency",
        max((seconds - wire) * 1e9 - endpoints, 0.0) / count,
        "derived: %s: an allreduce of %d byte by %s takes %s, ±%s; without %d ns of endpoint-delay a step, "
        "/ %d links in a row"
        % (
            COLLECTIVES["all-reduce"][0],
            size,
            chosen.algorithm,
            human(seconds, "s"),
            percent(value.error),
            _ENDPOINT_NS,
            count,
        ),
    )


def _compute(measured: Measured) -> list[Field]:
    rates = {
        kind: value
        for kind in _PEAKS
        if (value := measured.one("gemm/efficiency/gemm_%s_flop_rate" % kind)) and value.value > 0
    }
    if not rates:
        return [
            Field(
                "roofline-enabled",
                0,
                "default: no GEMM was measured, so computing takes the times of a workload's trace",
            )
        ]
    kind = next(iter(rates))
    others = ["%s %s" % (own, human(rates[own].value, "flop/s")) for own in rates if own != kind]
    source = "measured in TFLOP/s: %s; of GEMMs in %s alone%s" % (
        _shown(rates[kind], "flop/s"),
        kind,
        ", others: " + ", ".join(others) if others else "",
    )
    return [
        Field("peak-perf", _short(rates[kind].value / 1e12), source),
        Field("roofline-enabled", 1, "assumed: computing takes what the two rates say"),
    ]


def _short(value: float) -> float:
    return float("%.6g" % value)


def _system(measured: Measured, topology: str, chosen: Mapping[str, Optional[Chosen]]) -> list[Field]:
    memory = measured.one("micro/memory/memory_triad_bandwidth")
    if memory is None or memory.value <= 0:
        raise _lacks("the bandwidth of memory", "micro/memory")
    chunks, why = 1, "derived: measured collectives are not cut into chunks"
    if topology == "Switch":
        chunks, why = 4, "assumed: as in its examples; its Switch stores all of a chunk before it forwards it"
    fields = [
        Field(
            "scheduling-policy", "LIFO", "assumed: as in its examples; one collective at a time has no order"
        ),
        Field("collective-optimization", "baseline", "assumed: it is for networks of several dimensions"),
        Field("endpoint-delay", _ENDPOINT_NS, "default, in ns: taken off the latency in %s" % NETWORK),
        Field("active-chunks-per-dimension", chunks, why),
        Field("preferred-dataset-splits", chunks, why),
    ]
    fields += [own.field for own in chosen.values() if own]
    fields.append(
        Field(
            "local-mem-bw",
            _short(memory.value / _GB),
            "measured in 1e9 byte/s: %s; two reads for a write, as ASTRA-sim counts a reduction"
            % _shown(memory, "byte/s"),
        )
    )
    return fields + _compute(measured)


def _remote(measured: Measured) -> list[Field]:
    """The host's memory, as each device reaches it alone. ASTRA-sim reads whole numbers."""
    rate = measured.one("micro/copy_path/up_engine_bandwidth")
    time = measured.one("micro/copy_path/up_engine_latency_4k")
    if rate is None or time is None or rate.value < _GB / 2:
        return [
            Field("memory-type", "NO_MEMORY_EXPANSION", "default: copies from the host were not measured")
        ]
    return [
        Field("memory-type", "PER_NPU_MEMORY_EXPANSION", "assumed: devices reach the host's memory alone"),
        Field(
            "remote-mem-latency",
            round(time.value * 1e9),
            "measured in ns: %s, with the call and the wait" % _shown(time, "s"),
        ),
        Field(
            "remote-mem-bw",
            round(rate.value / _GB),
            "measured in 1e9 byte/s, whole: %s; stores take as much" % _shown(rate, "byte/s"),
        ),
    ]


def _json(made: str, fields: Sequence[Field], more: Mapping[str, Any]) -> str:
    content = {field.name: field.value for field in fields}
    content["gpusig"] = {"made": made, "sources": {field.name: field.source for field in fields}, **more}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _yaml(made: str, fields: Sequence[Field]) -> str:
    lines = ["# " + made, "# GB/s are 2^30 byte/s here, and latencies ns a link."]
    for field in fields:
        lines.append("# %s: %s" % (field.name, field.source))
        value = "%.6g" % field.value if isinstance(field.value, float) else str(field.value)
        lines.append("%s: [ %s ]" % (field.name, value))
    return "\n".join(lines) + "\n"


def _notes(run: Run, network: Network, fields: Sequence[Field], missing: Sequence[str]) -> list[str]:
    of = "%s: " % run.name
    notes = [of + network.remark] if network.remark else []
    notes += [of + "not measured, so left out: " + ", ".join(missing)] if missing else []
    taken = [own.name for own in fields if own.source.startswith(("assumed", "default"))]
    notes.append(of + "not measured, but assumed or ASTRA-sim's default: " + ", ".join(taken))
    return notes + ([of + run.verdict] if run.doubtful else [])


def export(runs: Sequence[Run]) -> tuple[dict[str, str], list[str]]:
    """Files by name, and remarks. BadNumbers, with 77, where what ASTRA-sim needs was not measured."""
    if len(runs) > 1:
        raise BadNumbers("ASTRA-sim's inputs are of one run, not %d" % len(runs))
    (run,) = runs
    try:
        check_one_kind(run.signature)
    except NoModel as why:
        raise BadNumbers("export: astra-sim: %s: %s" % (run.name, why), _CANNOT) from None
    measured = Measured(run.signature)
    if measured.devices < 2:
        raise BadNumbers(
            "export: %s is of one device, but ASTRA-sim's networks have two or more: measure with --device "
            "KIND:0-7" % run.name,
            _CANNOT,
        )
    network = _network(measured)
    chosen = {name: _chosen(measured, name) for name in COLLECTIVES}
    links = [
        network.topology,
        Field("npus_count", measured.devices, "measured: devices of the run"),
        network.bandwidth,
        _latency(measured, network, chosen["all-reduce"]),
    ]
    system, remote = _system(measured, network.topology.value, chosen), _remote(measured)
    made = clean(
        "Made by ./gpusig export --to astra-sim from the run of %s on %s: %s%s"
        % (
            run.started.isoformat() if run.started else "an unknown time",
            run.node,
            run.model,
            ", simulated" if run.simulated else "",
        )
    )
    seconds = {
        "%s, %s" % (name, own.field.value[0]): {str(size): _short(own.times[size][0]) for size in own.times}
        for name, own in chosen.items()
        if own
    }
    missing = [name + "-implementation" for name, own in chosen.items() if own is None]
    files = {
        NETWORK: _yaml(made, links),
        SYSTEM: _json(made, system, {"measured seconds by bytes of the whole vector": seconds}),
        REMOTE: _json(made, remote, {}),
    }
    return files, _notes(run, network, [*links, *system, *remote], missing)
