# SPDX-License-Identifier: BSD-3-Clause
"""Definitions that the kind in a record (kinds.py) does not contain: the odd quantities, by docs/method and
facts of the case, a row each; bounds; and facts that are figures. A quantity with a row is computed by it
and, where it has such a kind, by that too."""

from __future__ import annotations

import math
import re
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from kinds import KINDS, rate_of
from records import Case, Summary

Compute = Callable[[Case, str, dict], Summary]  # of a case, a variant and the derived entry


def rounds(formula: Callable[[dict, str, Case], float]) -> Compute:
    """The median over rounds and its interval; `formula` gets the seconds of a round by variant."""
    return lambda c, v, d: c.each_round(lambda t: formula(t, v, c))


def value(formula: Callable[[Case, str], float]) -> Compute:
    """One number that is no statistic of rounds."""
    return lambda c, v, d: Summary(formula(c, v))


def rate(work: Callable[[Case, str], float]) -> Compute:
    return lambda c, v, d: rate_of(work(c, v), c.each_round(lambda t: t[v]))


def of_memory(c: Case, v: str, d: dict) -> Summary:
    """A rate of memory; no value below 16 times the last-level cache, which would be a rate of caches."""
    return KINDS[d["kind"]](c, d) if c.axes["footprint"] >= 16 * c.device["llc_bytes"] else Summary(None)


def injected_bytes(c: Case, v: str) -> float:
    """Bytes that one device sends or receives: everything, or its equal part if all of them send."""
    return c.model(v, "bytes") / (c.devices if c.axes["route"] == "all>all" else 1)


def bus_bytes(c: Case, v: str) -> float:
    p = c.facts.get("ranks", c.facts.get("devices"))
    directions = 2 if "allreduce" in c.program else 1
    return directions * (p - 1) / p * c.facts.get("vector_bytes", c.axes["size"])


def best_speedup(c: Case, v: str, d: dict) -> Summary:
    """Speedup of the schedule with the smallest median."""
    schedules = [name for name in c.samples if name not in (*c.run["references"], "serial", "serial-library")]
    fastest = min(schedules, key=c.median)
    return c.each_round(lambda t: t["serial"] / t[fastest])


def of_fastest(compute: Compute) -> Compute:
    """`compute` for the algorithm with the smallest median, excluding the library's."""

    def of(c: Case, v: str, d: dict) -> Summary:
        algorithms = [name for name in c.samples if not name.startswith("library")]
        return compute(c, min(algorithms, key=c.median), d)

    return of


def pipelined(formula: Callable[[float, float, float], float]) -> Compute:
    """`formula` of the seconds of all iterations, of those hidden in them, and of one after the other."""

    def of(t: dict, v: str, c: Case) -> float:
        i, g, k = c.axes["iterations"], t["gemm_alone"], t[v or "comm_alone"]
        return formula(g + (i - 1) * max(g, k) + k, (i - 1) * min(g, k), i * (g + k))

    return rounds(of)


def of_gpus(formula: Callable[[float], float]) -> Compute:
    return value(lambda c, v: formula(c.facts["t3_model_gpus"]))


def traffic_ratio(c: Case, v: str) -> float:
    m, n, k, cut, pieces = c.facts["m"], c.facts["n"], c.facts["k"], v[0], int(v[1:])
    elements = {
        "m": lambda p: m * k + p * k * n + m * n,
        "n": lambda p: p * m * k + k * n + m * n,
        "k": lambda p: m * k + k * n + (2 * p - 1) * m * n,
    }[cut]
    return elements(pieces) / elements(1)


def least_seconds(t: dict, c: Case) -> Tuple[float, float]:
    """A GEMM's bytes at the rate of reading, and its flops at that of a square one."""
    return (
        t["read"] * c.model("gemm", "bytes") / c.model("read", "bytes"),
        t["square"] * operations(c, "gemm") / operations(c, "square"),
    )


def moved_bytes(c: Case, v: str) -> float:
    """Added where it arrives, a chunk is read, and the sum is read and written; staged, it is also written
    and read. In an exchange each device adds so much, and a part of it, its own, is not staged. What a GEMM
    adds was not written before."""
    if v == "remote_add":
        return 2 * c.facts["band_bytes"] * c.facts["bands_sent"]
    bytes_ = c.axes["size"] if "size" in c.axes else c.facts["band_bytes"] * c.facts["bands_sent"]
    devices = c.facts.get("devices_that_send", 1)
    staged = (devices - 1) / devices if devices > 1 else 1
    return (3 if v in ("on_arrival", "arrive_add") else 3 + 2 * staged) * bytes_


def blocks_to_saturate(c: Case, v: str) -> float:
    sizes = {int(name[7:]): c.median(name) for name in c.samples if re.fullmatch(r"kernel_[0-9]+", name)}
    best = min([*sizes.values(), c.median("kernel")])
    return min((n for n, t in sizes.items() if t <= best / 0.95), default=c.device["busy_blocks"])


def residents_by_formula(c: Case, v: str) -> float:
    claim = c.axes["shared"] + c.device["shared_reserved_bytes"]
    slots = c.device["slots_per_unit"]
    return min(slots, c.device["shared_per_unit_bytes"] // claim) if claim else slots


def rate_kept(t: dict, v: str, c: Case) -> float:
    """n chunks have n - 1 gaps."""
    n = c.facts["chunks"]
    return 1 / (1 + (t[v] / t["whole"] - 1) * n / (n - 1))


def slot_wait_share(t: dict, v: str, c: Case) -> float:
    """Blocks of the load take turns in the slots, in as many waves as it has blocks for every slot."""
    return (t["loaded_wait"] - t["idle_wait"]) * c.facts["load_waves"] / t["load"]


def t3_communication_read(c: Case, v: str) -> float:
    """(2N-1)/N of a result by kernels, (N-2)/N with T3, (N-1)/N by copies that are added."""
    n, result = c.facts["devices"], c.facts["m"] * c.facts["n"] * 2
    kernels = v in ("reduce_scatter_alone", "sequential")
    chunks = (
        0 if v == "gemm_alone" else 2 * n - 1 if kernels else n - 1 if v == "reduce_scatter_adding" else n - 2
    )
    return chunks * result / n


def seconds_of(text: str) -> float:
    number, unit = re.fullmatch(r"([0-9.]+)([a-z]*)", text).groups()
    return float(number) * {"": 1, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def torus_dims(c: Case) -> int:
    return c.axes["shape"].rpartition(":")[2].count("x") + 1


def torus_time(c: Case, v: str) -> float:
    psi, xi = (c.derived(name, None)["value"] for name in ("psi", "xi"))
    wire = psi * xi * c.axes["size"] / torus_dims(c) / c.axes["bandwidth"]
    return (
        c.facts["steps"] * seconds_of(c.axes["step"])
        + c.facts["links_on_longest_routes"] * seconds_of(c.axes["hop"])
        + wire
    )


DEFINITIONS: Dict[Tuple[str, str], Compute] = {
    ("*", "bandwidth"): rate(lambda c, v: c.model(v, "bytes")),
    ("*", "flop_rate"): rate(lambda c, v: c.model(v, "flops")),
    ("*", "op_rate"): rate(lambda c, v: c.model(v, "ops")),
    ("*", "message_rate"): rate(lambda c, v: c.model(v, "messages")),
    ("collectives/*", "bus_bandwidth"): rate(bus_bytes),
    ("collectives/*", "best_bus_bandwidth"): of_fastest(rate(bus_bytes)),
    ("collectives/*", "best_time"): of_fastest(rounds(lambda t, v, c: t[v])),
    ("collectives/pairs", "round_time"): rounds(lambda t, v, c: t[v] / c.facts["rounds"]),
    ("gemm/attention", "roofline_share"): rounds(
        lambda t, v, c: max(t["read"], t["gemm"] * c.model(v, "flops") / c.model("gemm", "flops")) / t[v]
    ),
    ("gemm/efficiency", "fraction_of_nominal"): rate(lambda c, v: operations(c, v) / nominal_flops(c, v)),
    ("gemm/grouped", "share_of_bound"): rounds(
        lambda t, v, c: max(t["read"] * c.model(v, "bytes") / c.model("read", "bytes"), t["whole"]) / t[v]
    ),
    ("gemm/small_batch", "share_of_bound"): rounds(lambda t, v, c: max(least_seconds(t, c)) / t["gemm"]),
    ("gemm/split", "traffic_ratio"): value(traffic_ratio),
    ("micro/copy_chunks", "chunks_waited"): rounds(
        lambda t, v, c: t[v] * c.facts["chunks"] / t[v.removeprefix("wait_")]
    ),
    ("micro/copy_chunks", "rate_kept"): rounds(rate_kept),
    ("micro/copy_path", "blocks_to_saturate"): value(blocks_to_saturate),
    ("micro/copy_path", "link_share"): rate(lambda c, v: c.model(v, "bytes") / link_rate(c, v)),
    ("micro/latency", "memory_latency"): of_memory,
    ("micro/memory", "memory_bandwidth"): of_memory,
    ("micro/occupancy", "residents_by_formula"): value(residents_by_formula),
    ("micro/occupancy", "slot_wait_share"): rounds(slot_wait_share),
    ("micro/peer_matrix", "injection_bandwidth"): rate(injected_bytes),
    ("micro/peer_matrix", "pair_time"): rounds(lambda t, v, c: t[v] * c.axes["size"] / c.model(v, "bytes")),
    ("micro/reduce", "moved_bytes"): value(moved_bytes),
    ("overlap/ficco", "best_speedup"): best_speedup,
    ("overlap/shaping", "overlap_rate_pipelined"): pipelined(lambda all_, hidden, serial: hidden / all_),
    ("overlap/shaping", "time_ratio_pipelined"): pipelined(lambda all_, hidden, serial: all_ / serial),
    ("overlap/t3", "communication_read_bytes"): value(t3_communication_read),
    ("overlap/trigger", "moved_bytes"): value(moved_bytes),
    ("overlap/trigger", "t3_model_read_ratio"): of_gpus(lambda n: (2 * n - 1) / (n - 2)),
    ("overlap/trigger", "t3_model_write_ratio"): of_gpus(lambda n: n / (n - 1)),
    ("topology/torus", "goodput"): value(lambda c, v: c.axes["size"] / torus_time(c, v)),
    ("topology/torus", "lambda"): value(lambda c, v: c.facts["steps"] / math.log2(c.facts["nodes"])),
    ("topology/torus", "peak_fraction"): value(
        lambda c, v: c.axes["size"] / torus_time(c, v) / torus_dims(c) / c.axes["bandwidth"]
    ),
    ("topology/torus", "time"): value(torus_time),
}


def find(program: str, quantity: str) -> Optional[Compute]:
    places = program, program.partition("/")[0] + "/*", "*"
    return next((DEFINITIONS[p, quantity] for p in places if (p, quantity) in DEFINITIONS), None)


# ------------------------------------------------------------------ bounds


def data_movement(c: Case, v: str, reads: float, writes: float) -> float:
    """max(r / R, w / W) of a byte, with the best sample of reading and of writing alone."""

    def best(name: str) -> float:
        return c.model(name, "bytes") / c.best(name) if c.samples.get(name) else 0.0

    return 1 / max(reads / best("read_only"), writes / max(best("write_only"), best("write_only_nt")))


def link_rate(c: Case, v: str) -> float:
    """The nominal rate of the link; where copies go both ways, twice that of the slower one."""
    return c.facts["link_limit_both_ways_bytes_per_s" if v == "both_ways" else "link_limit_bytes_per_s"]


def copy_bound(c: Case, v: str) -> float:
    """The tighter one of what was measured and of the link."""
    measured = data_movement(c, v, 1, 1) if c.samples.get("read_only") else math.inf
    return min(
        measured, link_rate(c, v) if "link" in c.facts and "link_exceeded" not in c.facts else math.inf
    )


def nominal_memory(c: Case, v: str) -> float:
    """Nominal bandwidth of memory if the device tells it; else the bound is that of the bandwidth."""
    return c.device.get("nominal", {}).get("memory_bandwidth") or memory_bound(c, v)


def memory_bound(c: Case, v: str) -> float:
    written = {"read": 1.0, "write": 1.0, "copy": 0.5, "triad": 1 / 3}[c.axes["op"]]
    return data_movement(c, v, 1 - written, written)


def ficco_bound(c: Case, v: str) -> float:
    return c.model(v, "flops") / max(c.best(v + "-gemms"), c.best(v + "-transfers"))


def nominal_flops(c: Case, v: str) -> float:
    """flop/s by the device's data sheet, of the units that the variant uses; 0: unknown."""
    rates = c.device.get("nominal", {}).get("fma_flop_rate" if v == "peak" else "gemm_flop_rate", {})
    return rates.get(c.axes["type"], 0)


def operations(c: Case, v: str) -> float:
    """flops, of i8 ops."""
    return c.model(v, "flops") or c.model(v, "ops")


def peak_bound(c: Case, v: str) -> float:
    if nominal_flops(c, v):
        return nominal_flops(c, v)
    peak = c.derived("fraction_of_peak", v)["of"][1]
    return operations(c, peak) / c.best(peak)


def weights_bound(c: Case, v: str) -> float:
    """Nominal bandwidth of memory if the device tells it; else A and B at the best rate of reading B. C is
    of bf16 where operands are f8, and of i32 where they are i8."""
    rows = c.facts["fewest_rows"] if v == "fewest_rows" else c.facts["m"]
    written = rows * c.facts["n"] * {"f64": 8, "f32": 4, "tf32": 4, "i8": 4}.get(c.axes["type"], 2)
    measured = c.model("read", "bytes") / c.best("read")
    bound = measured * c.model(v, "bytes") / (c.model(v, "bytes") - written)
    return c.device.get("nominal", {}).get("memory_bandwidth") or bound


BOUNDS: Dict[Tuple[str, str], Callable[[Case, str], float]] = {
    ("gemm/attention", "bandwidth"): lambda c, v: c.model(v, "bytes") / c.best("read"),
    ("gemm/efficiency", "flop_rate"): peak_bound,
    ("gemm/efficiency", "op_rate"): peak_bound,
    ("gemm/grouped", "bandwidth"): weights_bound,
    ("gemm/small_batch", "bandwidth"): weights_bound,
    ("gemm/sustained", "sustained_flop_rate"): nominal_flops,
    ("gemm/sustained", "sustained_op_rate"): nominal_flops,
    ("micro/copy_path", "bandwidth"): copy_bound,
    ("micro/memory", "bandwidth"): memory_bound,
    ("micro/memory", "memory_bandwidth"): nominal_memory,
    ("micro/sustained", "sustained_bandwidth"): nominal_memory,
    ("overlap/sustained", "sustained_flop_rate"): nominal_flops,
    ("micro/reduce", "bandwidth"): lambda c, v: data_movement(c, v, 1, 1),
    ("overlap/ficco", "flop_rate"): ficco_bound,
    ("overlap/pair", "fraction_of_bound"): lambda c, v: 1.0,
}


# ------------------------------------------------------------------ facts that are figures


def limited_by(c: Case) -> str:
    of_bytes, of_flops = least_seconds({name: c.median(name) for name in ("read", "square")}, c)
    return "memory" if of_bytes > of_flops else "arithmetic"


def longer_side(other: str) -> Callable[[Case], str]:
    def of(c: Case) -> str:
        g, t = c.median("gemm_alone"), c.median(other + "_alone")
        return "G-long" if g > 1.15 * t else "C-long" if t > 1.15 * g else "GC-equal"

    return of


def best_methods(c: Case) -> str:
    names = fastest(c, [name for name in c.run["variants"] if name not in c.run["references"]])
    return ", ".join(names) or "none is valid"


def slowed_side(first: str) -> Callable[[Case], str]:
    def slowed(c: Case, side: str) -> bool:
        alone = side + "_alone"
        return c.median("%s_in_%s_first" % (side, first)) > (1 + c.noise(alone)) * c.median(alone)

    names = {
        (True, True): "both",
        (True, False): "gemm",
        (False, True): "transfer",
        (False, False): "neither",
    }
    return lambda c: names[slowed(c, "gemm"), slowed(c, "transfer")]


def fastest(c: Case, variants: Sequence[str]) -> List[str]:
    """The lowest median, and those that tie with it: the interval of their time over its time begins at no
    more than 1.01."""
    valid = [v for v in variants if c.samples.get(v) and (c.flagged(None) or not c.flagged(v))]
    best = min(valid, key=c.median, default="")

    def least(v: str) -> float:
        over = c.each_round(lambda t: t[v] / t[best])
        return over.value if over.low is None else over.low

    return [v for v in valid if least(v) <= 1.01]


def schedules(c: Case) -> List[str]:
    return fastest(
        c, [name for name in c.run["variants"] if name not in (*c.run["references"], "serial-library")]
    )


def better_order(c: Case) -> str:
    names = fastest(c, ("gemm_first", "transfer_first"))
    return "tie" if len(names) == 2 else names[0]


FACTS: Dict[Tuple[str, str], Callable[[Case], object]] = {
    ("gemm/small_batch", "limited_by"): limited_by,
    ("gemm/split", "cheaper_cut_by_traffic"): lambda c: "m" if c.facts["k"] < 2 * c.facts["m"] else "k",
    ("overlap/collective", "best_methods"): best_methods,
    **{
        ("overlap/collective", "class_" + method): longer_side(method)
        for method in ("engine", "kernel", "library", "library-efficiency", "library-zero-cta")
    },
    ("overlap/ficco", "best_schedules"): lambda c: ", ".join(schedules(c)) or "none is valid",
    ("overlap/ficco", "tie"): lambda c: "yes" if len(schedules(c)) > 1 else "no",
    ("overlap/pair", "better_order"): better_order,
    ("overlap/pair", "class"): longer_side("transfer"),
    ("overlap/pair", "slowed_side_gemm_first"): slowed_side("gemm"),
    ("overlap/pair", "slowed_side_transfer_first"): slowed_side("transfer"),
    ("overlap/shaping", "overlap_rate_max"): lambda c: (c.axes["iterations"] - 1) / c.axes["iterations"],
}
