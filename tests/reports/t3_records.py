# SPDX-License-Identifier: BSD-3-Clause
"""Records of overlap/t3 with a known truth."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence

from record_writer import Json, Writer, axis, value

# (model, layer) -> seconds of a GEMM alone, and of sequential / T3, / T3-MCA: in the last one T3-MCA gains
# more than the ideal.
LAYERS = {
    ("mega-gpt-2", "op"): (4e-3, 1.1, 1.2),
    ("mega-gpt-2", "fc-2"): (9e-3, 1.2, 1.3),
    ("t-nlg", "op"): (5e-3, 1.25, 1.25),
    ("t-nlg", "fc-2"): (6e-3, 1.2, 1.75),
}
REDUCE_SCATTER_S, ADDING_S, ALL_GATHER_S, ALL_REDUCE_S = 5e-3, 4.5e-3, 3e-3, 8e-3
STAGGER_GAIN = 1.1
SPLITS = {8: (1.41, 1.1), 16: (1.07, 1.21)}  # units -> how much longer an allreduce and a GEMM take
DEVICES, RULE_THRESHOLD = 8, 0.35
SWEEP = {10: 0.9, 40: 1.0, 80: 0.95}  # threshold in per cent -> S, of that of T3-MCA
# variant -> bytes of a device that a GEMM and communication read and write, of a chunk of N
TRAFFIC = {
    "sequential": (12.0, 8.0, 15.0, 8.0),
    "t3": (10.0, 1.0, 6.0, 13.0),
    "t3_mca": (10.0, 1.0, 6.0, 13.0),
}
CHUNK_BYTES = float(1 << 24)
HARDWARE = [
    "gemm",
    "gemm_tiled",
    "peer",
    "virtual_time",
    "unit_mask",
    "memory_adds",
    "tracker",
    "memory_control",
]


def times_of(layer: Sequence[float], scale: float = 1.0) -> Dict[str, float]:
    """Seconds of every variant; `scale`: of the gain of T3-MCA."""
    gemm, t3, mca = layer
    sequential = gemm + REDUCE_SCATTER_S + ALL_GATHER_S
    times = {
        "gemm_alone": gemm,
        "reduce_scatter_alone": REDUCE_SCATTER_S,
        "reduce_scatter_adding": ADDING_S,
        "all_gather_alone": ALL_GATHER_S,
        "all_reduce_alone": ALL_REDUCE_S,
        "sequential": sequential,
        "t3": sequential / t3,
        "t3_mca": sequential / (mca * scale),
        "t3_mca_unstaggered": STAGGER_GAIN * sequential / (mca * scale),
    }
    for units, (all_reduce, gemm_loss) in SPLITS.items():
        times.update(
            {
                "all_reduce_on_%d" % units: all_reduce * ALL_REDUCE_S,
                "gemm_without_%d" % units: gemm_loss * gemm,
            }
        )
    return times


def ideal(t: Mapping[str, float], reduce_scatter: str) -> float:
    return t["sequential"] / (max(t["gemm_alone"], t[reduce_scatter]) + t["all_gather_alone"])


def _gains(t: Mapping[str, float]) -> Sequence[Json]:
    found = [model("S", name, t["sequential"] / t[name]) for name in ("t3", "t3_mca", "t3_mca_unstaggered")]
    found += [
        model("S_ideal", None, ideal(t, "reduce_scatter_alone")),
        model("S_ideal_adding", None, ideal(t, "reduce_scatter_adding")),
        model("stagger_gain", "t3_mca_unstaggered", t["t3_mca_unstaggered"] / t["t3_mca"]),
        model("adding_gain", "reduce_scatter_adding", t["reduce_scatter_alone"] / t["reduce_scatter_adding"]),
    ]
    for units in SPLITS:
        parts = ["all_reduce_on_%d" % units, "gemm_without_%d" % units]
        whole = t["gemm_alone"] + t["all_reduce_alone"]
        found += [
            model("slowdown", n, t[n] / t[a]) for n, a in zip(parts, ("all_reduce_alone", "gemm_alone"))
        ]
        found.append(model("S_potential", parts[1], whole / max(t[n] for n in parts)))
    return found


def model(name: str, variant: Optional[str], number: Optional[float], unit: str = "") -> Json:
    return value(name, variant, number, unit, modelled=True)


def _moved() -> Sequence[Json]:
    names = ("computing_read", "computing_written", "communication_read", "communication_written")
    found = [
        model(name + "_bytes", variant, chunks * CHUNK_BYTES, "byte")
        for variant, moved in TRAFFIC.items()
        for name, chunks in zip(names, moved)
    ]
    return found + [model("tiles_overflowed", "t3_mca", 0.125), model("tracker_most_used", "t3_mca", 200)]


def t3(
    layers: Mapping[Any, Sequence[float]] = LAYERS,
    sweep: Mapping[int, float] = SWEEP,
    rule: bool = True,
    **more: Any,
) -> Writer:
    """The thresholds of `sweep` for the first sub-layer alone; `rule`: the cases whose threshold is
    chosen."""
    given = {"name": "simulated device (t3)", "capabilities": HARDWARE, "units": 80}
    w = Writer(
        "overlap/t3",
        [],
        [
            axis("model", "", ["mega-gpt-2", "t-nlg"]),
            axis("layer", "", ["op", "fc-2"]),
            axis("type", "", ["f16"]),
            axis("threshold", "", [0, *sweep]),
        ],
        **{"spec": "sim:t3:0-7", "run": "sim-t3", "device": given, **more, "simulated": True},
    )
    one = w.lines[0]["device"][0]
    w.lines[0]["device"] = [dict(one, index=i) for i in range(DEVICES)]
    for number, ((name, layer), numbers) in enumerate(layers.items()):
        thresholds = {**({0: 1.0} if rule else {}), **(sweep if number == 0 else {})}
        for threshold, scale in thresholds.items():
            t = times_of(numbers, scale)
            line = w.case(
                {"model": name, "layer": layer, "type": "f16", "threshold": threshold},
                [w.variant(n, s, noise=0) for n, s in t.items()],
                [*_gains(t), *_moved()],
            )
            line["facts"] = {
                "hardware": "simulated: no device has it",
                "devices": DEVICES,
                "m": 16384,
                "n": 3072,
                "k": 384,
                "threshold_used": threshold / 100 if threshold else RULE_THRESHOLD,
                "memory_intensity": 0.2,
            }
    return w.end()


def few(**more: Any) -> Writer:
    """Two sub-layers, one with a sweep."""
    return t3(dict(list(LAYERS.items())[:2]), {10: 0.9, 80: 0.95}, **more)
