# SPDX-License-Identifier: BSD-3-Clause
"""What every derived quantity is, by docs/method and the formula that its record states: a row a quantity. The first row
that matches the program and the name counts. A quantity without a row is an error of recompute.py, so a new one needs a row
here, or one in NOT_IN_RECORD with the raw data that the record lacks. Where a program collected values itself, its record has
them (`observations`), and the quantity is their median: row `observed`."""
from __future__ import annotations

import fnmatch
import math
import re
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from records import Case, Summary, summarise

Compute = Callable[[Case, Optional[str], dict], Summary]  # of a case, a variant and the derived entry


class Definition(NamedTuple):
    programs: str  # patterns, with | between
    quantity: str  # a pattern
    compute: Compute


def rounds(formula: Callable[[dict, str, Case], float]) -> Compute:
    """The median over rounds and its interval; `formula` gets the seconds of a round by variant."""
    return lambda c, v, d: c.each_round(lambda t: formula(t, v or "", c))


def value(formula: Callable[[Case, str], float]) -> Compute:
    """One number that is no statistic of rounds."""
    return lambda c, v, d: Summary(formula(c, v or ""))


def ratio(numerator: str, denominator: str) -> Compute:
    """Seconds over seconds of two variants; {} is the variant that the quantity is of."""
    return rounds(lambda t, v, c: t[numerator.format(v)] / t[denominator.format(v)])


def injected_bytes(c: Case, v: str) -> float:
    """What one device sends or receives: everything, or its even part where all of them send."""
    return c.model(v, "bytes") / (c.devices if c.axes["route"] == "all>all" else 1)


def of_memory(name: str) -> Compute:
    """The quantity of the same variant under another name; there is none below 16 times the last-level cache."""
    def compute(c: Case, v: Optional[str], d: dict) -> Summary:
        beyond = c.axes["footprint"] >= 16 * c.device["llc_bytes"]
        return find(c.program, name).compute(c, v, d) if beyond else Summary(None)
    return compute


def observed(c: Case, v: Optional[str], d: dict) -> Summary:
    """The median of values that the program collected itself."""
    return summarise(d["observations"])


def time(c: Case, v: Optional[str], d: dict) -> Summary:
    return c.each_round(lambda t: t[v]) if c.samples.get(v) else Summary(None)


def rate(what: str) -> Compute:
    """Work over the median time; the ends of its interval are those of the time, exchanged."""
    def compute(c: Case, v: Optional[str], d: dict) -> Summary:
        t = time(c, v, d)
        work = c.model(v, what)
        return Summary(work / t.value, *(work / end if end else None for end in (t.high, t.low)), t.rounds)
    return compute


# ------------------------------------------------------------------ overlap


def ideal(*parts: str) -> Callable[[dict, str, Case], float]:
    return lambda t, v, c: sum(t[p] for p in parts) / max(t[p] for p in parts)


def width(s: Summary) -> float:
    return s.high - s.low if s.low is not None else 0.0


def above_noise_of_case(c: Case, serial: str, v: str, ideal_: Callable[[dict, str, Case], float]) -> bool:
    """S_ideal exceeds 1 by more than 4 %, than its own interval, and than that of S."""
    bound, gain = c.each_round(lambda t: ideal_(t, "", c)), c.each_round(lambda t: t[serial] / t[v])
    return bound.value > 1 + max(0.04, width(bound), width(gain))


def fraction(serial: str, ideal_: Callable[[dict, str, Case], float]) -> Compute:
    """(S - 1) / (S_ideal - 1), where S_ideal exceeds its noise."""
    def compute(c: Case, v: Optional[str], d: dict) -> Summary:
        if not above_noise_of_case(c, serial, v, ideal_):
            return Summary(None)
        return c.each_round(lambda t: (t[serial] / t[v] - 1) / (ideal_(t, v, c) - 1))
    return compute


def pair_cil(t: dict, v: str, c: Case) -> float:
    return t[v] / t["gemm_alone" if v.startswith("gemm_in") else "transfer_alone"]


def contention_cil(t: dict, v: str, c: Case) -> float:
    """"gemm_with_copy" over "gemm_alone"."""
    return t[v] / t[v.partition("_with_")[0] + "_alone"]


def of_pipeline(name: str, v: str) -> str:
    """The variant of the same exchange: the vendor's has serial and overlapped pipelines of its own."""
    return "library_" + name if v.startswith("library") else name


def median_s(c: Case, v: str) -> float:
    return c.each_round(lambda t: t[v]).value


def over_t3(numerator: str, denominator: str) -> Compute:
    """Of medians: overlap/t3 simulates, so its numbers are a model's and no statistics of rounds."""
    return value(lambda c, v: median_s(c, numerator) / median_s(c, denominator.format(v)))


def t3_ideal(c: Case, reduce_scatter: str) -> float:
    longer = max(median_s(c, "gemm_alone"), median_s(c, reduce_scatter))
    return median_s(c, "sequential") / (longer + median_s(c, "all_gather_alone"))


def t3_potential(c: Case, v: str) -> float:
    both = median_s(c, v), median_s(c, v.replace("gemm_without_", "all_reduce_on_"))
    return (median_s(c, "gemm_alone") + median_s(c, "all_reduce_alone")) / max(both)


def t3_communication_read(c: Case, v: str) -> float:
    """(2N-1)/N of a result by kernels, (N-2)/N with T3, (N-1)/N by copies that are added."""
    n, result = c.facts["devices"], c.facts["m"] * c.facts["n"] * 2
    kernels = v in ("reduce_scatter_alone", "sequential")
    chunks = 0 if v == "gemm_alone" else 2 * n - 1 if kernels else n - 1 if v == "reduce_scatter_adding" else n - 2
    return chunks * result / n


def out_of_core_ideal(t: dict, v: str, c: Case) -> float:
    return t["serial"] / max(t["gemm"], t["transfers"])


def best_speedup(c: Case, v: Optional[str], d: dict) -> Summary:
    """Of the schedule with the smallest median."""
    schedules = [name for name in c.samples if name not in (*c.run["references"], "serial", "serial-library")]
    fastest = min(schedules, key=c.median)
    return c.each_round(lambda t: t["serial"] / t[fastest])


OWN_GEMM = {"whole_then_send": "gemm_alone", "split": "gemm_alone", "whole_tiled_then_send": "gemm_tiled",
            "triggered": "gemm_counting", "triggered_staggered": "gemm_counting", "remote_store": "gemm_tiled",
            "remote_add": "gemm_tiled"}


# Variants of overlap/trigger that copy nothing: S_ideal, of a GEMM and a send, is no limit of theirs.
WITHOUT_COPY = ("remote_store", "remote_add")


def pipelined(t: dict, v: str, c: Case) -> float:
    i, g, k = c.axes["iterations"], t["gemm_alone"], t[v or "comm_alone"]
    return (g + (i - 1) * max(g, k) + k) / (i * (g + k))


def rate_pipelined(t: dict, v: str, c: Case) -> float:
    i, g, k = c.axes["iterations"], t["gemm_alone"], t[v or "comm_alone"]
    return (i - 1) * min(g, k) / (g + (i - 1) * max(g, k) + k)


# ------------------------------------------------------------------ the others


def fraction_of_peak(c: Case, v: Optional[str], d: dict) -> Summary:
    """The loop that is the peak is named by the formula of the record."""
    gemm, peak = re.match(r"flop_rate\((\w+)\) / flop_rate\((\w+)\)", d["formula"]).groups()
    return c.each_round(lambda t: c.model(gemm, "flops") / t[gemm] / (c.model(peak, "flops") / t[peak]))


def peak_flop_rate(c: Case, v: Optional[str], d: dict) -> Summary:
    return rate("flops")(c, re.match(r"flop_rate\((\w+)\)", d["formula"]).group(1), d)


def traffic_ratio(c: Case, v: str) -> float:
    m, n, k, cut, pieces = c.facts["m"], c.facts["n"], c.facts["k"], v[0], int(v[1:])
    elements = {"m": lambda p: m * k + p * k * n + m * n, "n": lambda p: p * m * k + k * n + m * n,
                "k": lambda p: m * k + k * n + (2 * p - 1) * m * n}[cut]
    return elements(pieces) / elements(1)


def moved_bytes(c: Case, v: str) -> float:
    """Added where it arrives, a chunk is read, and the sum is read and written; staged, it is also written and read. In an
    exchange each device adds so much, and a part of it, its own, is not staged. What a GEMM adds was not written before."""
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


def residents(c: Case, v: str) -> float:
    """The blocks that were seen are in the text of the mechanism."""
    text = next(m["detail"] for m in c.record["mechanism"] if m["name"] == "residents_follow_the_claim")
    blocks, units = map(int, re.match(r"(\d+) blocks resident on (\d+) units", text).groups())
    return blocks / units


def residents_by_formula(c: Case, v: str) -> float:
    claim = c.axes["shared"] + c.device["shared_reserved_bytes"]
    slots = c.device["slots_per_unit"]
    return min(slots, c.device["shared_per_unit_bytes"] // claim) if claim else slots


def bus_bandwidth(t: dict, v: str, c: Case) -> float:
    p = c.facts.get("ranks", c.facts.get("devices"))
    directions = 2 if "allreduce" in c.program else 1
    return directions * (p - 1) / p * c.facts.get("vector_bytes", c.axes["size"]) / t[v]


def seconds_of(text: str) -> float:
    number, unit = re.fullmatch(r"([0-9.]+)([a-z]*)", text).groups()
    return float(number) * {"": 1, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def torus(c: Case, name: str) -> float:
    return c.derived(name, None)["value"]


def torus_dims(c: Case) -> int:
    return c.axes["shape"].rpartition(":")[2].count("x") + 1


def torus_time(c: Case, v: str) -> float:
    wire = torus(c, "psi") * torus(c, "xi") * c.axes["size"] / torus_dims(c) / c.axes["bandwidth"]
    return (c.facts["steps"] * seconds_of(c.axes["step"]) + c.facts["links_on_longest_routes"] * seconds_of(c.axes["hop"]) + wire)


# ------------------------------------------------------------------ the table

DEFINITIONS: Tuple[Definition, ...] = (
    Definition("topology/torus", "lambda", value(lambda c, v: c.facts["steps"] / math.log2(c.facts["nodes"]))),
    Definition("topology/torus", "time", value(torus_time)),
    Definition("topology/torus", "goodput", value(lambda c, v: c.axes["size"] / torus_time(c, v))),
    Definition("topology/torus", "peak_fraction",
               value(lambda c, v: c.axes["size"] / torus_time(c, v) / torus_dims(c) / c.axes["bandwidth"])),

    Definition("*", "time", time),
    Definition("*", "bandwidth", rate("bytes")),
    Definition("*", "flop_rate", rate("flops")),
    Definition("*", "message_rate", rate("messages")),

    Definition("collectives/pairs", "round_time", rounds(lambda t, v, c: t[v] / c.facts["rounds"])),
    Definition("collectives/pairs", "*_latency*", observed),
    Definition("collectives/pairs", "*_bandwidth*", observed),
    Definition("collectives/*", "bus_bandwidth", rounds(bus_bandwidth)),
    Definition("collectives/*", "library_time_ratio", ratio("{}", "library")),
    Definition("collectives/allreduce", "indexing_time_ratio", ratio("swing-b-indexed", "swing-b")),

    Definition("gemm/efficiency", "fraction_of_peak", fraction_of_peak),
    Definition("gemm/efficiency", "peak_flop_rate", peak_flop_rate),
    Definition("gemm/efficiency", "cold_time_ratio", ratio("gemm_cold", "gemm")),
    Definition("gemm/split", "DIL", rounds(lambda t, v, c: t[v] / t["whole_cold" if v.endswith("_cold") else "whole"])),
    Definition("gemm/split", "cold_time_ratio", rounds(lambda t, v, c: t[v] / t[v[:-len("_cold")]])),
    Definition("gemm/split", "traffic_ratio", value(traffic_ratio)),

    Definition("micro/contention|micro/copy_contention", "CIL", rounds(contention_cil)),
    Definition("micro/copy_path", "blocks_to_saturate", value(blocks_to_saturate)),
    Definition("micro/peer_matrix", "injection_bandwidth", rounds(lambda t, v, c: injected_bytes(c, v) / t[v])),
    Definition("micro/copy_path", "kernel_time_ratio", ratio("{}", "engine")),
    Definition("micro/copy_path", "both_ways_time_ratio", ratio("both_ways", "engine")),
    Definition("micro/copy_path", "pageable_time_ratio", ratio("pageable", "engine")),
    Definition("micro/copy_path", "link_share", rounds(lambda t, v, c: c.model(v, "bytes") / t[v] / link_rate(c, v))),
    Definition("micro/copy_path", "DIL", ratio("{}", "engine")),
    Definition("micro/latency", "latency", rounds(lambda t, v, c: t[v] / c.facts["steps"])),
    Definition("micro/latency", "memory_latency", of_memory("latency")),
    Definition("micro/launch", "stream_hop_time", rounds(lambda t, v, c: t["stream_hop"] / 16)),
    Definition("micro/launch", "graph_kernel_interval", rounds(lambda t, v, c: t[v] / 64)),
    Definition("micro/launch", "graph_enqueue_per_kernel", rounds(lambda t, v, c: t[v] / 64)),
    Definition("micro/launch", "graph_round_trip_per_kernel", rounds(lambda t, v, c: t[v] / 64)),
    Definition("micro/memory", "memory_bandwidth", of_memory("bandwidth")),
    Definition("micro/memory", "nontemporal_time_ratio", ratio("nontemporal", "regular")),
    Definition("micro/occupancy", "residents_per_unit", value(residents)),
    Definition("micro/occupancy", "residents_by_formula", value(residents_by_formula)),
    Definition("micro/occupancy", "slot_wait", rounds(lambda t, v, c: t["foreign_wait"] - t["idle_wait"])),
    Definition("micro/priority", "wait_ratio", ratio("high", "equal")),
    Definition("micro/reduce|overlap/trigger", "moved_bytes", value(moved_bytes)),
    Definition("micro/reduce", "time_ratio", ratio("{}", "on_arrival")),

    Definition("overlap/ficco", "exposed", rounds(lambda t, v, c: t[v] - t["gemm"])),
    Definition("overlap/ficco", "DIL_gemm", ratio("{}-gemms", "gemm")),
    Definition("overlap/ficco", "DIL_comm", ratio("{}-transfers", "communication")),
    Definition("overlap/ficco", "CIL_gemm", ratio("{}-gemms-concurrent", "{}-gemms")),
    Definition("overlap/ficco", "CIL_comm", ratio("{}-transfers-concurrent", "{}-transfers")),
    Definition("overlap/ficco", "S", ratio("serial", "{}")),
    Definition("overlap/ficco", "S_library", ratio("serial-library", "{}")),
    Definition("overlap/ficco", "S_ideal", rounds(ideal("gemm", "communication"))),
    Definition("overlap/ficco", "best_speedup", best_speedup),
    Definition("overlap/ficco", "fraction_of_ideal", fraction("serial", ideal("gemm", "communication"))),

    Definition("overlap/out_of_core", "S", ratio("serial", "{}")),
    Definition("overlap/out_of_core", "S_ideal", rounds(out_of_core_ideal)),
    Definition("overlap/out_of_core", "fraction_of_ideal", fraction("serial", out_of_core_ideal)),

    Definition("overlap/pair", "S", ratio("serial", "{}")),
    Definition("overlap/pair", "S_ideal", rounds(ideal("gemm_alone", "transfer_alone"))),
    Definition("overlap/pair", "TimeRatio", ratio("{}", "serial")),
    Definition("overlap/pair", "exposed_tail", rounds(lambda t, v, c: t[v] - t["gemm_alone"])),
    Definition("overlap/pair", "fraction_of_bound",
               rounds(lambda t, v, c: max(t["gemm_alone"], t["transfer_alone"]) / t[v])),
    Definition("overlap/pair", "CIL", rounds(pair_cil)),
    Definition("overlap/pair", "fraction_of_ideal", fraction("serial", ideal("gemm_alone", "transfer_alone"))),

    Definition("overlap/shaping", "time_ratio", rounds(lambda t, v, c: t[v] / t[of_pipeline("serial", v)])),
    Definition("overlap/shaping", "normalised_time", rounds(lambda t, v, c: t[v] / t[of_pipeline("overlap", v)])),
    Definition("overlap/shaping", "time_ratio_min",
               rounds(lambda t, v, c: 1 / ideal("gemm_alone", v or "comm_alone")(t, v, c))),
    Definition("overlap/shaping", "time_ratio_pipelined", rounds(pipelined)),
    Definition("overlap/shaping", "overlap_rate_pipelined", rounds(rate_pipelined)),
    Definition("overlap/shaping", "overlap_rate", observed),
    Definition("overlap/shaping", "first_comm_block", observed),
    Definition("overlap/shaping", "gemm_CIL", observed),
    Definition("overlap/shaping", "comm_CIL", observed),
    Definition("overlap/shaping", "claim_cost", ratio("gemm_shaped", "gemm_alone")),

    Definition("overlap/trigger", "tracker_cost", ratio("gemm_counting", "gemm_tiled")),
    Definition("overlap/trigger", "tiling_cost", ratio("gemm_tiled", "gemm_alone")),
    Definition("overlap/trigger", "stagger_gain", ratio("triggered", "triggered_staggered")),
    Definition("overlap/trigger", "exposed_tail", rounds(lambda t, v, c: t[v] - t[OWN_GEMM[v]])),
    Definition("overlap/trigger", "remote_gain", ratio("triggered", "remote_store")),
    Definition("overlap/trigger", "add_gain", rounds(
        lambda t, v, c: t["triggered" if c.axes["direction"] == "ring" else "arrive_add"] / t["remote_add"])),
    Definition("overlap/trigger", "S", ratio("whole_then_send", "{}")),
    Definition("overlap/trigger", "S_tiled", ratio("whole_tiled_then_send", "{}")),
    Definition("overlap/trigger", "S_ideal", rounds(ideal("gemm_alone", "send_alone"))),
    Definition("overlap/trigger", "S_ideal_tiled", rounds(ideal("gemm_tiled", "send_alone"))),
    Definition("overlap/trigger", "fraction_of_ideal_tiled",
               fraction("whole_tiled_then_send", ideal("gemm_tiled", "send_alone"))),
    Definition("overlap/trigger", "overlap_bound", rounds(lambda t, v, c: max(t["gemm_alone"], t["send_alone"]))),
    Definition("overlap/trigger", "fraction_of_ideal",
               fraction("whole_then_send", ideal("gemm_alone", "send_alone"))),
    Definition("overlap/trigger", "time_to_first_byte", rounds(lambda t, v, c: t[v])),
    Definition("overlap/trigger", "staging_cost", ratio("copy_then_add", "arrive_add")),
    Definition("overlap/t3", "S", over_t3("sequential", "{}")),
    Definition("overlap/t3", "S_ideal", value(lambda c, v: t3_ideal(c, "reduce_scatter_alone"))),
    Definition("overlap/t3", "S_ideal_adding", value(lambda c, v: t3_ideal(c, "reduce_scatter_adding"))),
    Definition("overlap/t3", "stagger_gain", over_t3("t3_mca_unstaggered", "t3_mca")),
    Definition("overlap/t3", "adding_gain", over_t3("reduce_scatter_alone", "reduce_scatter_adding")),
    Definition("overlap/t3", "slowdown", value(
        lambda c, v: median_s(c, v) / median_s(c, "all_reduce_alone" if v.startswith("all") else "gemm_alone"))),
    Definition("overlap/t3", "S_potential", value(t3_potential)),
    Definition("overlap/t3", "communication_read_bytes", value(t3_communication_read)),
    Definition("overlap/trigger", "t3_model_read_ratio",
               value(lambda c, v: (2 * c.facts["t3_model_gpus"] - 1) / (c.facts["t3_model_gpus"] - 2))),
    Definition("overlap/trigger", "t3_model_write_ratio",
               value(lambda c, v: c.facts["t3_model_gpus"] / (c.facts["t3_model_gpus"] - 1))),
)

# (programs, quantity): what the record does not hold.
NOT_IN_RECORD: Dict[Tuple[str, str], str] = {
    ("collectives/*", "entry_skew"): "when each rank entered",
    ("collectives/*", "host_completion"): "the host's own times, beside the devices'",
    ("overlap/t3", "computing_read_bytes"): "what the devices' caches kept from memory",
    ("overlap/t3", "computing_written_bytes"): "what the devices' caches kept from memory",
    ("overlap/t3", "communication_written_bytes"): "what the devices' caches kept until then; its sum with what the GEMM wrote "
                                                   "is a mechanism of the case",
    ("overlap/t3", "tiles_overflowed"): "when each tile was written",
    ("overlap/t3", "tracker_most_used"): "when each tile was written",
    ("topology/torus", "psi"): "the schedule's messages; tests/unit/torus_figures.c counts them",
    ("topology/torus", "xi"): "the schedule's messages; tests/unit/torus_figures.c counts them",
    ("topology/torus", "time_over_best"): "the times of all other algorithms; tests/unit/torus_figures.c has them",
    ("topology/torus", "best_from"): "the lines of all other algorithms; tests/unit/torus_figures.c has them",
    ("topology/torus", "best_to"): "the lines of all other algorithms; tests/unit/torus_figures.c has them",
}


def applies(programs: str, program: str) -> bool:
    return any(p in ("*", program) or (p.endswith("/*") and program.startswith(p[:-1])) for p in programs.split("|"))


def find(program: str, quantity: str) -> Optional[Definition]:
    return next((d for d in DEFINITIONS if fnmatch.fnmatchcase(quantity, d.quantity) and applies(d.programs, program)), None)


def not_in_record(program: str, quantity: str) -> Optional[str]:
    return next((why for (p, q), why in NOT_IN_RECORD.items() if q == quantity and applies(p, program)), None)


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
    return min(measured, link_rate(c, v) if "link" in c.facts and "link_exceeded" not in c.facts else math.inf)


def memory_bound(c: Case, v: str) -> float:
    written = {"read": 1.0, "write": 1.0, "copy": 0.5, "triad": 1 / 3}[c.axes["op"]]
    return data_movement(c, v, 1 - written, written)


def ficco_bound(c: Case, v: str) -> float:
    return c.model(v, "flops") / max(c.best(v + "-gemms"), c.best(v + "-transfers"))


def peak_bound(c: Case, v: str) -> float:
    peak = re.match(r"flop_rate\(\w+\) / flop_rate\((\w+)\)", c.derived("fraction_of_peak", v)["formula"]).group(1)
    return c.model(peak, "flops") / c.best(peak)


BOUNDS: Dict[Tuple[str, str], Callable[[Case, str], float]] = {
    ("gemm/efficiency", "flop_rate"): peak_bound,
    ("micro/copy_path", "bandwidth"): copy_bound,
    ("micro/memory", "bandwidth"): memory_bound,
    ("micro/memory", "memory_bandwidth"): memory_bound,
    ("micro/reduce", "bandwidth"): lambda c, v: data_movement(c, v, 1, 1),
    ("overlap/ficco", "flop_rate"): ficco_bound,
    ("overlap/pair", "fraction_of_bound"): lambda c, v: 1.0,
}


def share_of_bound(c: Case, d: dict) -> Optional[float]:
    """Of the roofline none, for not every device can reach it; of a GEMM's peak and of a link the one formed round by round."""
    if "its reads and writes" in d["bound_name"]:
        return None
    name = {"gemm/efficiency": "fraction_of_peak", "micro/copy_path": "link_share"}.get(c.program)
    formed = c.derived(name, d["variant"]) if name else None
    return formed["value"] if formed else d["value"] / d["bound"]


# ------------------------------------------------------------------ facts that are figures


def pair_class(c: Case) -> str:
    g, t = c.median("gemm_alone"), c.median("transfer_alone")
    return "G-long" if g > 1.15 * t else "C-long" if t > 1.15 * g else "GC-equal"


def slowed_side(first: str) -> Callable[[Case], str]:
    def slowed(c: Case, side: str) -> bool:
        alone = side + "_alone"
        return c.median("%s_in_%s_first" % (side, first)) > (1 + c.noise(alone)) * c.median(alone)
    names = {(True, True): "both", (True, False): "gemm", (False, True): "transfer", (False, False): "neither"}
    return lambda c: names[slowed(c, "gemm"), slowed(c, "transfer")]


def fastest(c: Case, variants: Sequence[str]) -> List[str]:
    """The lowest median, and those that tie with it: the interval of their time over its time begins at no more than 1.01."""
    valid = [v for v in variants if c.samples.get(v) and (c.flagged(None) or not c.flagged(v))]
    best = min(valid, key=c.median, default="")

    def least(v: str) -> float:
        over = c.each_round(lambda t: t[v] / t[best])
        return over.value if over.low is None else over.low
    return [v for v in valid if least(v) <= 1.01]


def schedules(c: Case) -> List[str]:
    return fastest(c, [name for name in c.run["variants"] if name not in (*c.run["references"], "serial-library")])


def better_order(c: Case) -> str:
    names = fastest(c, ("gemm_first", "transfer_first"))
    return "tie" if len(names) == 2 else names[0]


FACTS: Dict[Tuple[str, str], Callable[[Case], object]] = {
    ("gemm/split", "cheaper_cut_by_traffic"): lambda c: "m" if c.facts["k"] < 2 * c.facts["m"] else "k",
    ("overlap/ficco", "best_schedules"): lambda c: ", ".join(schedules(c)) or "none is valid",
    ("overlap/ficco", "tie"): lambda c: "yes" if len(schedules(c)) > 1 else "no",
    ("overlap/pair", "better_order"): better_order,
    ("overlap/pair", "class"): pair_class,
    ("overlap/pair", "slowed_side_gemm_first"): slowed_side("gemm"),
    ("overlap/pair", "slowed_side_transfer_first"): slowed_side("transfer"),
    ("overlap/shaping", "overlap_rate_max"): lambda c: (c.axes["iterations"] - 1) / c.axes["iterations"],
}
