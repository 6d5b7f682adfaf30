# SPDX-License-Identifier: BSD-3-Clause
"""Records with a known truth, of every program."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from record_writer import L1, L2, LLC, Json, Writer, axis, headline, retimed, unstarted, value
import t3_records

__all__ = ["retimed", "unstarted"]  # for the tests, which have all of it from here

ALPHA_S, ENGINE_RATE = 20e-6, 40e9  # an engine copy takes ALPHA_S + bytes / ENGINE_RATE
KERNEL_ALPHA_S, KERNEL_RATE = 5e-6, 20e9  # and a kernel copy this, so they meet at 600 kB
CROSSOVER = (ALPHA_S - KERNEL_ALPHA_S) / (1 / KERNEL_RATE - 1 / ENGINE_RATE)
LEVEL_RATES = {"L1": 400e9, "L2": 200e9, "LLC": 80e9, "memory": 20e9}
LEVEL_LATENCIES = {"L1": 1e-9, "L2": 4e-9, "LLC": 20e-9, "memory": 100e-9}  # of one load


def copies(**more: Any) -> Writer:
    sizes = [4096 << (2 * i) for i in range(8)]
    where = {"direction": "up", "size": 4096 << 14}
    w = Writer(
        "micro/copy_path",
        [headline("engine_copy_bandwidth", "bandwidth", where, "engine")],
        [axis("direction", "", ["up"]), axis("size", "byte", sizes)],
        **more,
    )
    for size in sizes:
        blocks = [
            w.variant("kernel_%d" % b, KERNEL_ALPHA_S + size / min(KERNEL_RATE, b * KERNEL_RATE / 4), size)
            for b in (1, 2, 4, 8)
        ]
        w.case(
            {"direction": "up", "size": size},
            [
                w.variant("engine", ALPHA_S + size / ENGINE_RATE, size),
                w.variant("kernel", KERNEL_ALPHA_S + size / KERNEL_RATE, size),
            ]
            + blocks,
        )
    return w.end()


def memory(**more: Any) -> Writer:
    w = Writer(
        "micro/memory",
        [headline("memory_triad_bandwidth", "bandwidth", {"op": "triad", "footprint": 16 * LLC}, "regular")],
        [axis("op", "", ["triad"]), axis("footprint", "byte", [L1, L2])],
        **more,
    )
    for level, size in (
        ("L1", L1),
        ("L2", L2),
        ("LLC", LLC // 4),
        ("LLC", LLC // 2),
        ("memory", 4 * LLC),
        ("memory", 16 * LLC),
    ):
        w.case({"op": "triad", "footprint": size}, [w.variant("regular", size / LEVEL_RATES[level], size)])
    return w.end()


def latency(**more: Any) -> Writer:
    """L1 and L2 are one unit's: a thread sees no other's."""
    w = Writer(
        "micro/latency",
        [headline("memory_latency", "latency", {"footprint": 16 * LLC}, "chase", "s", "lower")],
        [axis("footprint", "byte", [L1 // 2, L2 // 2, LLC // 2, 16 * LLC])],
        **more,
    )
    for level, size in (("L1", L1 // 2), ("L2", L2 // 2), ("LLC", LLC // 2), ("memory", 16 * LLC)):
        seconds = LEVEL_LATENCIES[level]
        w.case(
            {"footprint": size},
            [w.variant("chase", seconds * 65536)],
            [value("latency", "chase", seconds, "s")],
        )
    return w.end()


def split(**more: Any) -> Writer:
    """M < K everywhere, so cutting K should be cheaper; and it is."""
    w = Writer(
        "gemm/split",
        [headline("gemm_dil_m8", "DIL", {"type": "f32", "shape": "g1"}, "m8", "", "lower")],
        [axis("type", "", ["f32"]), axis("shape", "", ["g1"])],
        **more,
    )
    losses = [("m", k, 1 + 0.1 * k) for k in (2, 4, 8)] + [("k", k, 1 + 0.01 * k) for k in (2, 4, 8)]
    derived = [
        value("DIL", "%s%d" % (cut, k), loss, ci_low=loss * 0.99, ci_high=loss * 1.01)
        for cut, k, loss in losses
    ]
    derived += [
        value("traffic_ratio", "%s%d" % (cut, k), 1 + 0.05 * k, modelled=True) for cut, k, _ in losses
    ]
    line = w.case({"type": "f32", "shape": "g1"}, [w.variant("whole", 1e-3)], derived)
    line["facts"] = {"m": 128, "n": 128, "k": 2048}
    return w.end()


def contention(**more: Any) -> Writer:
    w = Writer("micro/contention", [], [axis("pair", "", ["compute+memory"])], **more)
    w.case(
        {"pair": "compute+memory"},
        [w.variant(n, 1e-3) for n in ("x_alone", "y_alone", "x_with_y", "y_with_x")],
        [value("CIL", "x_with_y", 1.02), value("CIL", "y_with_x", 1.9)],
    )
    return w.end()


CONTENTION_SIDE, CONTENTION_GEMM_S = 4096, 1e-2
SOME_LOSSES = (("f32", "up", "engine", 0, 1.02, 1.01), ("f32", "up", "kernel:units/8", 2, 1.3, 1.1))


def copy_engines(entries: Sequence[Tuple[str, float, float, str]]) -> Writer:
    """Direction, engines that answer, share of independent streams, and the fact `sticky`, "" for none."""
    w = Writer("micro/copy_engines", [], [axis("direction", "", ["up"]), axis("size", "byte", [1 << 20])])
    for direction, engines, independent, sticky in entries:
        streams = range(1, 9)
        line = w.case(
            {"direction": direction, "size": 1 << 20},
            [w.variant("streams_%d" % k, 1e-3 * k, 1e6 * k) for k in streams] + [w.variant("others", 1e-3)],
            [
                value("engines_that_answer", None, engines, ci_low=engines, ci_high=engines),
                value("independent_streams", "others", independent, ci_low=independent, ci_high=independent),
                *[value("rate_share", "streams_%d" % k, min(k, engines)) for k in streams if k > 1],
                *[value("in_flight", "streams_%d" % k, min(k, engines)) for k in streams],
            ],
        )
        line["facts"] = {"engines_stated": 3, **({"sticky": sticky} if sticky else {})}
    return w.end()


def copy_contention(
    entries: Sequence[Tuple[str, str, str, int, float, float]] = SOME_LOSSES, **more: Any
) -> Writer:
    """Type, direction, copy method, blocks, CIL of a square GEMM and of the copy."""
    w = Writer(
        "micro/copy_contention",
        [],
        [axis("type", "", ["f32"]), axis("direction", "", ["up"]), axis("copy-method", "", ["engine"])],
        **more,
    )
    for kind, direction, method, blocks, gemm, copy in entries:
        names = ("gemm_alone", "copy_alone", "gemm_with_copy", "copy_with_gemm")
        rate = 2.0 * CONTENTION_SIDE**3 / CONTENTION_GEMM_S
        line = w.case(
            {"type": kind, "direction": direction, "copy-method": method},
            [w.variant(n, 1e-3) for n in names],
            [
                value("flop_rate", "gemm_alone", rate, "flop/s"),
                value("CIL", "gemm_with_copy", gemm, ci_low=gemm * 0.99, ci_high=gemm * 1.01),
                value("CIL", "copy_with_gemm", copy, ci_low=copy * 0.99, ci_high=copy * 1.01),
            ],
        )
        line["facts"] = {
            "m": CONTENTION_SIDE,
            "n": CONTENTION_SIDE,
            "k": CONTENTION_SIDE,
            "copy_blocks": blocks,
        }
    return w.end()


FICCO_TIMES = {"serial": 3e-3, "shard": 2.5e-3, "hetero-fused-1d": 2e-3}
FICCO_GEMM, FICCO_COMM = 1.8e-3, 1.2e-3  # so that the ideal speedup is 5/3


def ficco(times: Optional[Dict[str, float]] = None, library: Optional[float] = None, **more: Any) -> Writer:
    """Two shapes: one that overlap makes faster, and one where every schedule loses. `library`: time of
    serial with it."""
    w = Writer(
        "overlap/ficco",
        [headline("ficco_shard_speedup", "S", {"shape": "g5"}, "shard", "")],
        [axis("op", "", ["ag-gemm"]), axis("shape", "", ["g5", "g6"]), axis("copy-method", "", ["engine"])],
        references=["gemm", "communication"],
        **more,
    )
    ideal = (FICCO_GEMM + FICCO_COMM) / FICCO_GEMM
    for shape, slower in (("g5", 1.0), ("g6", 2.0)):
        own = {n: t * (slower if n != "serial" else 1.0) for n, t in (times or FICCO_TIMES).items()}
        derived = [value("S_ideal", None, ideal, ci_low=ideal, ci_high=ideal)]
        for name, seconds in own.items():
            gain = own["serial"] / seconds
            derived.append(value("time", name, seconds, "s"))
            if name != "serial":
                derived += [
                    value("S", name, gain, ci_low=gain * 0.99, ci_high=gain * 1.01),
                    value("fraction_of_ideal", name, (gain - 1) / (ideal - 1)),
                    value("DIL_gemm", name, 1.1),
                    value("DIL_comm", name, 1.3),
                    value("CIL_gemm", name, 1.05),
                ]
        if library:
            derived.append(value("time", "serial-library", library, "s"))
            derived += [value("S_library", n, library / t) for n, t in own.items()]
        best = max(own["serial"] / t for n, t in own.items() if n != "serial")
        derived.append(value("best_speedup", min(own, key=lambda n: own[n] if n != "serial" else 1.0), best))
        measured = {**own, "serial-library": library} if library else own
        line = w.case(
            {"op": "ag-gemm", "shape": shape, "copy-method": "engine"},
            [w.variant(n, t) for n, t in measured.items()],
            derived,
        )
        line["facts"] = {
            "m": 64,
            "n": 64,
            "k": 2048,
            "best_schedules": min(own, key=lambda n: own[n]),
            "tie": "no",
        }
        if library:
            line["facts"]["library"] = "NCCL 2.28.9"
    return w.end()


def occupancy(**more: Any) -> Writer:
    w = Writer("micro/occupancy", [], [axis("shared", "byte", [0, 16384])], **more)
    for shared in (0, 16384, 32768):
        residents = min(4, 65536 // shared) if shared else 4
        w.case(
            {"shared": shared},
            [w.variant("loaded_wait", 1e-4 / residents)],
            [
                value("residents_per_unit", None, residents),
                value("residents_by_formula", None, residents),
                value("flop_rate", "load", residents * 1e9, "flop/s"),
                value("time", "loaded_wait", 1e-4 / residents, "s"),
            ],
        )
    return w.end()


def launch(**more: Any) -> Writer:
    w = Writer(
        "micro/launch", [headline("launch_round_trip", "time", None, "round_trip", "s", "lower")], **more
    )
    costs = {"enqueue": 2e-7, "back_to_back": 2.5e-6, "round_trip": 8e-6}
    w.case(
        {}, [w.variant(n, t) for n, t in costs.items()], [value("time", n, t, "s") for n, t in costs.items()]
    )
    return w.end()


def efficiency(**more: Any) -> Writer:
    w = Writer(
        "gemm/efficiency",
        [headline("gemm_f32_flop_rate", "flop_rate", {"type": "f32", "shape": "g1"}, "gemm", "flop/s")],
        [axis("type", "", ["f32"]), axis("shape", "", ["n256", "g1"])],
        **more,
    )
    for shape, share in (("n256", 0.5), ("g1", 0.8)):
        w.case(
            {"type": "f32", "shape": shape},
            [w.variant("gemm", 1e-3)],
            [
                value(
                    "flop_rate",
                    "gemm",
                    share * 1e11,
                    "flop/s",
                    bound=1e11,
                    bound_name="measured peak",
                    share=share,
                ),
                value("fraction_of_peak", "gemm", share),
            ],
        )
    return w.end()


def gemms(**more: Any) -> Writer:
    """gemm/efficiency as the program writes it: with the sides among the facts."""
    w = Writer("gemm/efficiency", [], [axis("type", "", ["f32"]), axis("shape", "", [])], **more)
    for m in (64, 512, 4096):
        for n in (64, 512, 4096):
            for k in (64, 512, 4096):
                seconds = 2e-6 + 2 * m * n * k / PRODUCT_RATE
                line = w.case(
                    {"type": "f32", "shape": "%dx%dx%d" % (m, n, k)},
                    [w.variant("gemm", seconds)],
                    [value("flop_rate", "gemm", 2 * m * n * k / seconds, "flop/s")],
                )
                line["facts"] = {"m": m, "n": n, "k": k}
    return w.end()


def schedules(
    seconds_of: Mapping[Tuple[int, int, int], Mapping[str, float]], members: int = 4, **more: Any
) -> Writer:
    """overlap/ficco: shape -> schedule -> seconds."""
    w = Writer("overlap/ficco", [], [axis("op", "", ["ag-gemm"]), axis("shape", "", [])], **more)
    for (m, n, k), times in seconds_of.items():
        axes = {
            "op": "ag-gemm",
            "shape": "%dx%dx%d" % (m, n, k),
            "type": "f32",
            "copy-method": "engine",
            "blocks": 0,
            "peers": 0,
        }
        variants = [w.variant(name, seconds) for name, seconds in times.items()]
        line = w.case(
            axes, variants, [value("S", v["name"], times["serial"] / v["median_s"]) for v in variants]
        )
        line["facts"] = {"m": m, "n": n, "k": k, "ranks": members, "copy_blocks": 0, "peers_are": "devices"}
    return w.end()


def node(**more: Any) -> Writer:
    w = Writer("topology/node", **more)
    w.case({})["facts"] = {
        "tree": "Machine#0[NUMANode(5594MB) L3(32MB)[Core#0[PU#0] Core#1[PU#1]]]",
        "cores": 2,
    }
    return w.end()


def telemetry(value: Any, unit: str = "", **more: Any) -> Json:
    return dict({"value": value, "unit": unit}, **more)


GPU = {
    "backend": "cuda",
    "name": "NVIDIA H200",
    "bus": "0000:1b:00.0",
    "uuid": "GPU-01234567-89ab-cdef-0123-456789abcdef",
    "serial": "1654720001001",
    "vbios": "96.00.00.00.01",
    "driver": "580.65.06 (CUDA 13.0)",
    "arch": "sm_90",
    "blas": "cuBLASLt 13.0",
    "capabilities": ["gemm", "copy_engine", "priority", "peer"],
    "units": 132,
    "slots_per_unit": 32,
    "copy_engines": 3,
    "memory_bytes": 140 << 30,
    "shared_per_unit_bytes": 233472,
    "shared_per_block_bytes": 232448,
    "shared_reserved_bytes": 1024,
    "l1_bytes": 0,
    "l2_bytes": 0,
    "llc_bytes": 50 << 20,
    "gemm_types": ["f32", "f64", "tf32", "f16", "bf16", "f8"],
    "state": {
        "sm_clock": telemetry(1.98e9, "Hz"),
        "sm_clock_max": telemetry(1.98e9, "Hz"),
        "memory_clock": telemetry(3.201e9, "Hz"),
        "power": telemetry(121.4, "W"),
        "power_limit": telemetry(700, "W"),
        "temperature": telemetry(34, "degC"),
        "throttle": telemetry("none"),
        "ecc": telemetry(None, reason="the driver does not say: no permission"),
        "mig": telemetry("off"),
        "pcie_generation": telemetry(5),
        "pcie_generation_max": telemetry(5),
        "pcie_width": telemetry(16),
        "numa_node": telemetry(1),
    },
}


def gpu(**more: Any) -> str:
    """A run on a GPU, throttled in the last case of its copies."""
    parts = [make(spec="cuda", device=GPU, **more) for make in (memory, copies, launch, efficiency, split)]
    case = parts[1].lines[-2]
    case["validity"] = {
        "valid": False,
        "flags": [{"flag": "throttled", "variant": None, "reason": "thermal slowdown"}],
    }
    case["state"] = dict(case["state"], throttle=telemetry("thermal slowdown"))
    for derived in case["derived"]:
        derived["valid"] = False
    return "".join(part.text() for part in parts)


# algorithm -> (seconds whatever the size, bytes a second); rd-l and swing-b meet where ALLREDUCE_CROSSOVER
# says.
ALLREDUCE = {"rd-l": (1e-6, 5e9), "swing-b": (3e-6, 20e9), "ring": (9e-6, 20e9), "library": (2e-6, 10e9)}
ALLREDUCE_CROSSOVER = (3e-6 - 1e-6) / (1 / 5e9 - 1 / 20e9)
INDEXING = 1.25


def allreduce(
    program: str = "collectives/allreduce",
    flags: Sequence[Json] = (),
    policies: Sequence[str] = (),
    **more: Any,
) -> Writer:
    """With policies of the library that take a tenth of its time."""
    sizes = [32, 2048, 131072, 2097152]
    w = Writer(
        program,
        [headline("allreduce_ring_latency", "time", {"size": 32}, "ring", "s", "lower")],
        [axis("shape", "", ["2"]), axis("size", "byte", sizes)],
        **more,
    )
    for size in sizes:
        seconds = {name: alpha + size / rate for name, (alpha, rate) in ALLREDUCE.items()}
        seconds["swing-b-indexed"] = INDEXING * seconds["swing-b"]
        seconds.update((name, seconds["library"] / 10) for name in policies)
        variants = [w.variant(name, t, size) for name, t in seconds.items()]
        derived = [
            value("time", v["name"], v["median_s"], "s", ci_low=v["ci_low_s"], ci_high=v["ci_high_s"])
            for v in variants
        ]
        derived += [value("bus_bandwidth", v["name"], size / v["median_s"], "byte/s") for v in variants]
        derived += [
            value("library_time_ratio", n, t / seconds["library"])
            for n, t in seconds.items()
            if n != "library"
        ]
        derived.append(value("indexing_time_ratio", "swing-b-indexed", INDEXING))
        if flags:
            derived = [dict(d, valid=False) for d in derived]
        w.case({"shape": "2", "size": size}, variants, derived, flags=flags)
    return w.end()


# of a GEMM that takes 1 ms and a send that takes 0.8 ms: bands -> (split, triggered)
TRIGGER = {4: (1.4e-3, 1.25e-3), 16: (1.6e-3, 1.1e-3)}
TRIGGER_WHOLE_S = 1.8e-3
TRIGGER_STORED_S = 1.2e-3


def trigger(**more: Any) -> Writer:
    w = Writer(
        "overlap/trigger",
        [headline("trigger_speedup", "S", {"direction": "down", "bands": 4}, "triggered", "")],
        [axis("shape", "", ["n256"]), axis("direction", "", ["down"]), axis("bands", "", list(TRIGGER))],
        **more,
    )
    for bands, (split_s, triggered_s) in TRIGGER.items():
        times = {
            "gemm_alone": 1e-3,
            "gemm_tiled": 1e-3,
            "gemm_counting": 1.01e-3,
            "send_alone": 0.8e-3,
            "whole_then_send": TRIGGER_WHOLE_S,
            "split": split_s,
            "triggered": triggered_s,
            "first_of_whole": TRIGGER_WHOLE_S,
            "first_of_split": split_s / bands,
            "remote_store": TRIGGER_STORED_S,
            "first_of_triggered": TRIGGER_WHOLE_S / bands,
        }
        derived = [value("time", n, t, "s") for n, t in times.items()]
        derived += [value("S", n, TRIGGER_WHOLE_S / times[n]) for n in ("split", "triggered")]
        derived += [value("S_tiled", "triggered", 1.01 * TRIGGER_WHOLE_S / triggered_s)]
        derived += [
            value("S_tiled", "remote_store", 1.01 * TRIGGER_WHOLE_S / TRIGGER_STORED_S),
            value("remote_gain", "remote_store", triggered_s / TRIGGER_STORED_S),
        ]
        derived += [
            value("exposed_tail", n, times[n] - 1e-3, "s") for n in ("whole_then_send", "split", "triggered")
        ]
        derived += [value("time_to_first_byte", n, t, "s") for n, t in times.items() if n.startswith("first")]
        derived += [
            value("tracking_cost", "gemm_counting", 1.01),
            value("t3_model_read_ratio", None, 2.5, modelled=True, formula="MODEL of T3's hardware: reads"),
        ]
        variants = [w.variant(n, t) for n, t in times.items()]
        line = w.case({"shape": "n256", "direction": "down", "bands": bands}, variants, derived)
        line["facts"] = {"m": 256, "n": 256, "k": 256, "bands_sent": bands}
    return w.end()


def device_allreduce(**more: Any) -> Writer:
    """Among devices that have no library of their own."""
    sizes = [32, 2048, 131072, 2097152]
    w = Writer("collectives/device_allreduce", [], [axis("size", "byte", sizes)], **more)
    for size in sizes:
        variants = [
            w.variant(name, alpha + size / rate, size)
            for name, (alpha, rate) in ALLREDUCE.items()
            if name != "library"
        ]
        derived = [
            value("time", v["name"], v["median_s"], "s", ci_low=v["ci_low_s"], ci_high=v["ci_high_s"])
            for v in variants
        ]
        derived += [value("bus_bandwidth", v["name"], 1.5 * size / v["median_s"], "byte/s") for v in variants]
        w.case({"size": size}, variants, derived)["facts"] = {"devices": 4}
    return w.end()


def device_allgather(**more: Any) -> Writer:
    """Among devices with a library, which is the fastest above 2 MB and far from it below."""
    sizes = [2048, 131072, 2097152]
    w = Writer(
        "collectives/device_allgather",
        [
            headline(
                "device_allgather_library_busbw", "bus_bandwidth", {"size": sizes[-1]}, "library", "byte/s"
            )
        ],
        [axis("size", "byte", sizes)],
        **more,
    )
    for size in sizes:
        variants = [
            w.variant(name, alpha + size / rate, size)
            for name, alpha, rate in (("ring", 4e-6, 1e11), ("bine", 3e-6, 8e10), ("library", 2e-5, 4e11))
        ]
        derived = [
            value("time", v["name"], v["median_s"], "s", ci_low=v["ci_low_s"], ci_high=v["ci_high_s"])
            for v in variants
        ]
        derived += [
            value(
                "bus_bandwidth",
                v["name"],
                0.75 * size / v["median_s"],
                "byte/s",
                formula="(p-1)/p bytes / time",
            )
            for v in variants
        ]
        derived += [
            value("library_time_ratio", v["name"], v["median_s"] / variants[-1]["median_s"])
            for v in variants[:-1]
        ]
        w.case({"size": size}, variants, derived)["facts"] = {
            "devices": 4,
            "vector_bytes": size,
            "library": "NCCL 2.28.9",
        }
    return w.end()


# algorithm -> (steps, links on the longest ways, seconds a byte) of the model, on 8x8
TORUS = {"swing-b": (12, 20, 1.078125 / 100e9), "bucket": (28, 28, 0.984375 / 100e9)}
STEP_S, HOP_S = 0.455e-6, 0.4e-6


def torus(**more: Any) -> Writer:
    sizes = [32, 2097152, 536870912]
    axes = [axis("shape", "", ["8x8"]), axis("algorithm", "", list(TORUS)), axis("size", "byte", sizes)]
    w = Writer("topology/torus", [], axes, **more)
    for name, (steps, links, per_byte) in TORUS.items():
        for size in sizes:
            time = steps * STEP_S + links * HOP_S + size * per_byte
            line = w.case(
                {
                    "shape": "8x8",
                    "algorithm": name,
                    "ports": "all",
                    "size": size,
                    "step": "0.455us",
                    "hop": "0.4us",
                    "bandwidth": 50000000000,
                    "emit": "none",
                },
                [],
                [
                    value("lambda", None, steps / 6),
                    value("psi", None, 1.0),
                    value("xi", None, per_byte * 100e9),
                    value("time", None, time, "s"),
                    value("goodput", None, size / time, "byte/s"),
                    value("peak_fraction", None, size / time / 100e9),
                ],
            )
            line["facts"] = {
                "steps": steps,
                "links_on_longest_routes": links,
                "collectives_at_once": 4,
                "messages_on_worst_link": "4x1 4x3 4x1",
                "best_by_bytes": "swing-b, from 11178667 bucket",
            }
    return w.end()


PRODUCT_RATE = 1e12
SIMGRID_OFF = 1.004  # simulated over modelled


def simgrid(**more: Any) -> Writer:
    """The simulated ranks' device is the host in virtual time, next to measured records."""
    w = Writer(
        "collectives/allreduce@simgrid",
        [headline("allreduce_ring_latency", "time", {"size": 32}, "ring", "s", "lower")],
        **{"run": "sim-1", **more, "simulated": True},
    )
    for size in (32, 131072):
        variants = [
            w.variant(name, SIMGRID_OFF * (links * HOP_S + size * per_byte), noise=0)
            for name, (_, links, per_byte) in TORUS.items()
        ]
        w.case(
            {"shape": "8x8", "ports": "all", "size": size},
            variants,
            [value("time", v["name"], v["median_s"], "s") for v in variants],
        )
    return w.end()


# claim -> seconds of {plain overlap, shaped, priority, both} in a loop that takes 10 ms serially. Shaping
# alone costs; with priority half of the shared memory is best.
SHAPING = {0: (9e-3, None, 8e-3, None), 16384: (9e-3, 9.5e-3, 8e-3, 7e-3), 32768: (9e-3, 9.8e-3, 8e-3, 9e-3)}
SHAPING_BOUND = 0.6


def shaping(flags: Sequence[Json] = (), **more: Any) -> Writer:
    """In the second scenario nothing is faster than serial."""
    names = ("overlap", "shaped", "priority", "shaped_priority")
    w = Writer(
        "overlap/shaping",
        [
            headline(
                "shaping_time_ratio",
                "time_ratio",
                {"scenario": "mb-ar", "shared": 16384},
                "shaped_priority",
                "",
                "lower",
            )
        ],
        [
            axis("scenario", "", ["mb-ar", "cb-ar"]),
            axis("shared", "byte", list(SHAPING)),
            axis("blocks", "", [8]),
        ],
        **more,
    )
    for scenario, factor in (("mb-ar", 1.0), ("cb-ar", 1.5)):
        for shared, times in SHAPING.items():
            seconds = {"serial": 10e-3, **{n: factor * t for n, t in zip(names, times) if t is not None}}
            derived = [value("time", n, t, "s") for n, t in seconds.items()]
            derived.append(value("time_ratio_pipelined", None, SHAPING_BOUND))
            for name in [n for n in names if n in seconds]:
                derived += [
                    value("time_ratio", name, seconds[name] / 10e-3),
                    value("overlap_rate", name, 0.5),
                    value("first_comm_block", name, 1e-5, "s"),
                ]
                if name != "overlap":
                    derived.append(value("normalised_time", name, seconds[name] / seconds["overlap"]))
            if flags:
                derived = [dict(d, valid=False) for d in derived]
            line = w.case(
                {"scenario": scenario, "shared": shared, "blocks": 8},
                [w.variant(n, t) for n, t in seconds.items()],
                derived,
                flags=flags,
            )
            line["facts"] = {"exchange": "stand-in: kernels within the memory of one device, no link"}
    return w.end()


# blocks of the GEMM -> seconds of {plain overlap, priority} in a pipeline that takes 10 ms serially: plain
# overlap decays.
GRIDS = {2: (6e-3, 6e-3), 16: (9e-3, 7e-3), 112: (10e-3, 6.5e-3)}


def shaping_grids() -> Writer:
    w = Writer(
        "overlap/shaping",
        [],
        [
            axis("scenario", "", ["mb-ar"]),
            axis("tile", "", ["64x64x32"]),
            axis("grid", "", [2, 16, 0]),
            axis("shared", "byte", [0]),
            axis("blocks", "", [8]),
        ],
    )
    for blocks, times in GRIDS.items():
        seconds = {"serial": 10e-3, **dict(zip(("overlap", "priority"), times))}
        derived = [value("time", n, t, "s") for n, t in seconds.items()] + [
            value("time_ratio_pipelined", None, SHAPING_BOUND)
        ]
        for name in ("overlap", "priority"):
            derived += [
                value("time_ratio", name, seconds[name] / 10e-3),
                value("gemm_CIL", name, 1.25),
                value("comm_CIL", name, 1.5),
            ]
            if name != "overlap":
                derived.append(value("normalised_time", name, seconds[name] / seconds["overlap"]))
        line = w.case(
            {
                "scenario": "mb-ar",
                "tile": "64x64x32",
                "grid": 0 if blocks == 112 else blocks,
                "shared": 0,
                "blocks": 8,
            },
            [w.variant(n, t) for n, t in seconds.items()],
            derived,
        )
        line["facts"] = {"exchange": "allreduce on all devices: by kernels", "gemm_blocks": blocks}
    return w.end()


# copy method -> (CIL of the GEMM, CIL of the transfer); each side takes a millisecond alone
PAIR = {"engine": (1.05, 1.1), "kernel": (1.6, 2.2)}
PAIR_ORDER = 0.05  # what the transfer gains by being enqueued first, and the GEMM loses


def pair(**more: Any) -> Writer:
    """A kernel next to a GEMM takes longer than one after the other; among devices nothing is measured."""
    axes = [
        axis("type", "", ["f32"]),
        axis("shape", "", ["n512", "g5"]),
        axis("transfer", "", ["up", "peer"]),
        axis("copy-method", "", list(PAIR)),
        axis("size", "", ["1x"]),
    ]
    where = {"shape": "n512", "transfer": "up", "copy-method": "engine"}
    w = Writer(
        "overlap/pair",
        [headline("overlap_efficiency_engine", "fraction_of_ideal", where, "transfer_first", "")],
        axes,
        **more,
    )
    alone = 1e-3
    for shape in ("n512", "g5"):
        for method, (gemm, transfer) in PAIR.items():
            derived = [value("S_ideal", None, 2.0)]
            facts = {
                "transfer_bytes": 1 << 20,
                "class": "GC-equal",
                "better_order": "transfer_first" if method == "engine" else "tie",
            }
            for order, sign in (("gemm_first", 1), ("transfer_first", -1)):
                sides = {"gemm": gemm - sign * PAIR_ORDER, "transfer": transfer + sign * PAIR_ORDER}
                gain = 2 / max(sides.values())
                derived.append(value("S", order, gain))
                derived.append(
                    value("fraction_of_ideal", order, gain - 1, ci_low=gain - 1.01, ci_high=gain - 0.99)
                )
                derived += [value("CIL", "%s_in_%s" % (side, order), loss) for side, loss in sides.items()]
                derived.append(value("exposed_tail", order, alone * (max(sides.values()) - 1), "s"))
                facts["slowed_side_" + order] = "both"
            line = w.case(
                {"type": "f32", "shape": shape, "transfer": "up", "copy-method": method, "size": "1x"},
                [w.variant("gemm_alone", alone), w.variant("transfer_alone", alone)],
                derived,
            )
            line["facts"] = facts
            w.case(
                {"type": "f32", "shape": shape, "transfer": "peer", "copy-method": method, "size": "1x"},
                status="skipped",
                cause="not_supported",
                reason="peer needs two devices",
            )
    return w.end()


def unknown(**more: Any) -> Writer:
    """A program that nothing in reports/ has ever heard of."""
    w = Writer(
        "overlap/novel",
        [headline("novel_speed", "speed", {"colour": "red", "depth": 1}, "plain", "widget/s")],
        [axis("colour", "", ["red", "blue"]), axis("depth", "", [1, 2, 4])],
        **more,
    )
    for colour in ("red", "blue"):
        for depth in (1, 2, 4):
            w.case(
                {"colour": colour, "depth": depth},
                [w.variant("plain", 1e-3 * depth)],
                [
                    value(
                        "speed",
                        "plain",
                        1000.0 / depth,
                        "widget/s",
                        ci_low=900.0 / depth,
                        ci_high=1100.0 / depth,
                    )
                ],
            )
    return w.end()


ALL: Sequence[Callable[..., Writer]] = (
    node,
    memory,
    latency,
    copies,
    launch,
    efficiency,
    split,
    contention,
    copy_contention,
    occupancy,
    pair,
    shaping,
    ficco,
    trigger,
    t3_records.few,
    allreduce,
    device_allreduce,
    device_allgather,
    torus,
    simgrid,
    unknown,
)


def everything(**more: Any) -> str:
    return "".join(make(**more).text() for make in ALL)


def store(folder: Path, text: str) -> Path:
    path = folder / "records.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path
