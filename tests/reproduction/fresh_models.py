# SPDX-License-Identifier: BSD-3-Clause
"""Errors of headline numbers against the truth: fresh_models.py [--seed N] [--out FILE] draws simulated
machines that nobody has used, runs `./gpusig run --headline` on each, computes every number that has a closed
form from the model's keys by the laws of device/sim/README.md, and writes docs/reproduction/models.md. A miss is
more than 3 % off, or missing.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[2]
WITHIN = 0.03
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
BYTES = {"f32": (4, 4), "f64": (8, 8), "bf16": (2, 2)}  # of an element of A and B, and of C

HEAD = """# Headline numbers against the truth

Simulated machines whose keys are drawn from a seed, each run with `./gpusig run --headline`. The *truth* is
computed from the keys by the laws of [device/sim](../../device/sim/README.md), in Python, with nothing of the programs
or the simulator. More than 3 % off is a miss. Numbers without a closed form, mostly ratios of what shares a
device in parts of the time, are listed below each table. <!-- not run: minutes -->
`python3 tests/reproduction/fresh_models.py` writes
this file, in some minutes.
"""


class Model(NamedTuple):
    """One machine: its keys as the file has them, and links that differ, by pair."""

    name: str
    keys: dict
    links: dict[tuple[int, int], float]

    def __getattr__(self, key: str) -> float:
        return self.keys[key]

    def link(self, source: int, target: int) -> float:
        return self.links.get((source, target), self.keys["peer_bandwidth"])

    def text(self) -> str:
        words = [f"{key} = {value}" for key, value in self.keys.items()]
        words += [f"peer_bandwidth {a}>{b} = {rate:.6g}" for (a, b), rate in self.links.items()]
        return "\n".join(["like = quiet", *words]) + "\n"


# ------------------------------------------------------------------ drawing


def draw_gpu(draw: random.Random, devices: int, tracked: bool, level_1: bool, odd_links: int) -> Model:
    """A GPU: gigabytes of memory, times alone. Rates stand in proportions that a machine may have."""

    def number(low: float, high: float) -> float:
        return float(f"{draw.uniform(low, high):.4g}")

    units, memory = draw.randrange(40, 200), number(0.6e12, 5e12)
    cache = float(f"{memory * draw.uniform(2, 4):.4g}")
    through_unit = float(f"{cache / units * draw.uniform(1.15, 1.9):.4g}")
    f32, peer = number(150e9, 600e9), number(25e9, 300e9)
    keys = {
        "data": "none",
        "devices": devices,
        "units": units,
        "slots_per_unit": draw.choice([4, 6, 8, 12]),
        "block_share": draw.choice([0.25, 0.5, 1]),
        "copy_engines": draw.randrange(2, 8),
        "memory_bytes": draw.choice([24, 48, 80, 128]) * GIB,
        "host_memory_bytes": 512 * GIB,
        "memory_bandwidth": memory,
        "llc_bytes": draw.randrange(8, 100) * MIB,
        "llc_bandwidth": cache,
        "llc_tracked": int(tracked),
        "unit_bandwidth": through_unit,
        "host_bandwidth": 600e9,
        "link_down_bandwidth": number(12e9, 64e9),
        "link_up_bandwidth": number(12e9, 64e9),
        "peer_bandwidth": peer,
        # Memory can read and write what a device sends and receives.
        "injection_bandwidth": float(f"{min(peer * draw.uniform(1.5, 7), 0.4 * memory):.4g}"),
        "peer_latency_ns": number(100, 900),
        "engine_bandwidth": float(f"{peer * draw.uniform(1.1, 2):.4g}"),
        "flops_f32": f32,
        "flops_f64": float(f"{f32 * draw.uniform(0.3, 1):.4g}"),
        "flops_bf16": float(f"{f32 * draw.uniform(6, 14):.4g}"),
        "gemm_efficiency": number(0.6, 0.92),
        "gemm_tile": draw.choice([128, 256]),
        "memory_latency_ns": number(300, 700),
        "llc_latency_ns": number(120, 280),
        "launch_ns": number(1500, 5000),
        "block_ns": number(200, 800),
        "copy_ns": number(2000, 9000),
        "host_call_ns": number(150, 2000),
        "host_sync_ns": number(400, 4000),
        "jitter_sigma": number(0.002, 0.01),
        "seed": draw.randrange(1 << 20),
    }
    if level_1:
        keys["l1_bytes"] = draw.choice([64, 128, 192]) * KIB
        keys["l1_bandwidth"] = float(f"{through_unit * draw.uniform(1.4, 3):.4g}")
        keys["l1_latency_ns"] = number(15, 80)
    pairs = [(a, b) for a in range(devices) for b in range(devices) if a != b]
    odd = draw.sample(pairs, odd_links)
    slow = {pair: float(f"{peer * draw.choice([0.25, 0.5, 0.75]):.4g}") for pair in odd}
    return Model("", keys, slow)


def draw_small(draw: random.Random, devices: int) -> Model:
    """With data, so that the host computes what the device would: few units; blocks jitter, too."""
    model = draw_gpu(draw, devices, True, False, 1)
    units = draw.randrange(5, 16)
    memory, peer = float(f"{draw.uniform(200e9, 400e9):.4g}"), float(f"{draw.uniform(10e9, 30e9):.4g}")
    cache = float(f"{memory * draw.uniform(2, 4):.4g}")
    slower = peer / model.peer_bandwidth
    model.keys.update(
        peer_bandwidth=peer,
        engine_bandwidth=float(f"{peer * 1.5:.4g}"),
        injection_bandwidth=peer * 3,
        data="real",
        units=units,
        memory_bytes=4 * GIB,
        host_memory_bytes=4 * GIB,
        memory_bandwidth=memory,
        llc_bandwidth=cache,
        unit_bandwidth=float(f"{cache / units * 1.6:.4g}"),
        llc_bytes=draw.randrange(2, 6) * MIB,
        gemm_tile=64,
        block_jitter_sigma=0.01,
    )
    return model._replace(links={pair: rate * slower for pair, rate in model.links.items()})


def drawn(seed: int) -> list[Model]:
    draw = random.Random(seed)
    machines = [
        ("one", draw_gpu(draw, 1, False, False, 0)),
        ("one, tracked cache, L1", draw_gpu(draw, 1, True, True, 0)),
        ("four, odd links, L1", draw_gpu(draw, 4, False, True, 3)),
        ("four, small, with data", draw_small(draw, 4)),
        ("eight, tracked cache, L1", draw_gpu(draw, 8, True, True, 0)),
        ("eight, odd links", draw_gpu(draw, 8, False, False, 4)),
    ]
    return [model._replace(name=name) for name, model in machines]


# ------------------------------------------------------------------ laws


def ns(value: float) -> float:
    return value * 1e-9


def unit_rate(m: Model) -> float:
    return m.units * m.unit_bandwidth


def wave_s(m: Model, blocks: int, flops: float, rate: float, bytes_: float, memory: float) -> float:
    """Blocks that begin together, by what each computes and moves."""
    most = math.ceil(blocks / m.units)
    at_once = max(most, 1 / m.block_share)
    return max(
        at_once * flops / rate,
        at_once * bytes_ / m.unit_bandwidth,
        blocks * bytes_ / m.llc_bandwidth,
        blocks * memory / m.memory_bandwidth,
    )


def gemm_s(m: Model, kind: str, sides: tuple[int, int, int], beta: int = 0, groups: int = 1) -> float:
    """One launch of so many GEMMs alike, each by its own B."""
    rows, columns, k = sides
    size, c_size = BYTES[kind]
    tile = m.gemm_tile
    down, across = groups * math.ceil(rows / tile), math.ceil(columns / tile)
    resident = m.units * m.slots_per_unit
    a, b, c = groups * rows * k * size, k * columns * size, groups * rows * columns * c_size
    memory = 0.0
    if a + groups * b + c > m.llc_bytes:
        a_passes = b_passes = 1
        if m.llc_tracked:
            w = min(resident, down * across)
            high = min(math.isqrt(w), down)
            wide = min(w // high, across)
            high = min(w // wide, down)
            if k * size * min(high * tile, groups * rows) > m.llc_bytes / 2:
                a_passes = math.ceil(columns / (wide * tile))
            if b > m.llc_bytes / 2:
                b_passes = math.ceil(rows / (high * tile))
        memory = a_passes * a + b_passes * groups * b + (1 + beta) * c
    tiles = down * across
    moved = 2 * tile * k * size + (1 + beta) * tile * tile * c_size
    rate = m.gemm_efficiency * m.keys["flops_" + kind]
    seconds = ns(m.launch_ns)
    while tiles > 0:
        now = min(tiles, resident)
        part = memory / (down * across)
        seconds += ns(m.block_ns) + wave_s(m, now, 2.0 * tile * tile * k, rate, moved, part)
        tiles -= now
    return seconds


def kernel_start_s(m: Model) -> float:
    return ns(m.launch_ns + m.block_ns)


def copy_rate(m: Model, source: int, target: int) -> float:
    return min(m.link(source, target), m.injection_bandwidth, m.engine_bandwidth, m.memory_bandwidth)


def add_s(m: Model, size: float) -> float:
    """dst += src, of which the cache that is always warm may hold both."""
    cached = 2 * size <= m.llc_bytes and not m.llc_tracked
    fabric = m.llc_bandwidth if cached else m.memory_bandwidth
    return kernel_start_s(m) + max(3 * size / fabric, 3 * size / unit_rate(m))


def ring_s(m: Model, size: int, adds: bool, gathers: bool) -> float:
    """Reduce-scatter passes parts upwards, the gather downwards; a step starts when its part is there."""
    p = m.devices
    part = size / p
    ready = [0.0] * p
    for way, computes in ((1, True),) * adds + ((-1, False),) * gathers:
        for _ in range(p - 1):
            sent = [
                ready[i] + ns(m.copy_ns + m.peer_latency_ns) + part / copy_rate(m, i, (i + way) % p)
                for i in range(p)
            ]
            arrived = [sent[(i - way) % p] for i in range(p)]
            ready = [
                max(arrived[i], ready[i], sent[i]) + (add_s(m, part) if computes else 0) for i in range(p)
            ]
    return max(ready)


def spread_s(m: Model, parts: float, own: bool) -> float:
    """Every device sends a part to every other one, as many at once as it has engines."""
    p, longest = m.devices, 0.0
    for i in range(p):
        engines = [0.0] * m.copy_engines
        for j in range(p):
            if i == j and not own:
                continue
            rate = min(m.engine_bandwidth, m.memory_bandwidth / 2) if i == j else copy_rate(m, i, j)
            engines.sort()
            engines[0] += ns(m.copy_ns + m.peer_latency_ns * (i != j)) + parts / rate
        longest = max(longest, *engines)
    return max(longest, (p - 1) * parts / m.injection_bandwidth)


def spreads_alike(m: Model) -> bool:
    """Else rounds of an engine, odd links and what a device injects hold each other up, and no formula says
    how much."""
    at_once = min(m.copy_engines, m.devices)
    if m.links and at_once < m.devices - 1:
        return False
    return at_once * m.peer_bandwidth <= m.injection_bandwidth or (at_once == m.devices and not m.links)


def chase_s(m: Model, footprint: int) -> float:
    if footprint <= m.keys.get("l1_bytes", 0):
        return ns(m.l1_latency_ns)
    return ns(m.llc_latency_ns if footprint <= m.llc_bytes else m.memory_latency_ns)


def read_rate(m: Model, footprint: int) -> float:
    if footprint / m.units <= m.keys.get("l1_bytes", 0):
        return m.units * m.l1_bandwidth
    return min(m.llc_bandwidth if footprint <= m.llc_bytes else m.memory_bandwidth, unit_rate(m))


def sides_of(shape: str, m: Model) -> Optional[tuple[int, int, int]]:
    words = {"square": 8192}
    side = words.get(shape) or (int(shape[1:]) if shape[:1] == "n" and shape[1:].isdigit() else 0)
    return (side, side, side) if side else None


# ------------------------------------------------------------------ truths by name


def of_memory(m: Model, name: str, where: dict) -> Optional[float]:
    if name == "memory_triad_nt_bandwidth" or name.startswith("memory_"):
        return min(m.memory_bandwidth, unit_rate(m))
    return read_rate(m, where["footprint"])


def of_copy_path(m: Model, name: str, where: dict) -> Optional[float]:
    size = where["size"]
    up, down = min(m.link_down_bandwidth, m.host_bandwidth), min(m.link_up_bandwidth, m.host_bandwidth)
    of_engine = {
        "up": min(up, m.engine_bandwidth),
        "down": min(down, m.engine_bandwidth),
        "local": min(m.engine_bandwidth, m.memory_bandwidth / 2),
        "peer": copy_rate(m, 0, 1) if m.devices > 1 else 0,
    }
    back = copy_rate(m, 1, 0) if m.devices > 1 else 0
    units = unit_rate(m) / 2  # a copy is read and written
    way = where["direction"]
    alpha = ns(m.copy_ns + (m.peer_latency_ns if way == "peer" else 0))
    if name.endswith("latency_4k"):
        return ns(m.host_call_ns + m.host_sync_ns) + alpha + size / of_engine[way]
    if name == "both_ways_engine_bandwidth":
        return 2 * size / (alpha + size / min(of_engine["up"], of_engine["down"]))
    if name == "peer_both_ways_engine_bandwidth":
        return 2 * size / (alpha + size / min(of_engine["peer"], back))
    if name == "local_both_ways_engine_bandwidth":
        return 2 * size / (alpha + size / min(m.engine_bandwidth, m.memory_bandwidth / 4))
    if "kernel" in name:
        of_kernel = {
            "up": up,
            "down": down,
            "local": m.memory_bandwidth / 2,
            "peer": min(m.link(0, 1), m.injection_bandwidth) if m.devices > 1 else 0,
        }
        start = kernel_start_s(m) + ns(m.peer_latency_ns if way == "peer" else 0)
        return size / (start + size / min(of_kernel[way], units))
    return size / (alpha + size / of_engine[way])


def of_launch(m: Model, name: str, where: dict) -> Optional[float]:
    return {
        "launch_back_to_back": kernel_start_s(m),
        "launch_enqueue": ns(m.host_call_ns),
        "launch_round_trip": ns(m.host_call_ns + m.host_sync_ns) + kernel_start_s(m),
    }.get(name)


def of_gemm(m: Model, name: str, where: dict) -> Optional[float]:
    sides, kind = sides_of(where["shape"], m), where["type"]
    if "peak" in name:
        return m.units * m.keys["flops_" + kind]
    if sides is None or "block_jitter_sigma" in m.keys:
        return None  # the slowest block of each wave is in the time
    rows, columns, k = sides
    if name.startswith("gemm_dil"):
        whole = gemm_s(m, kind, sides)
        if name.endswith("m8"):
            return 8 * gemm_s(m, kind, (rows // 8, columns, k)) / whole
        first, later = (gemm_s(m, kind, (rows, columns, k // 8), beta) for beta in (0, 1))
        return (first + 7 * later) / whole
    return 2.0 * rows * columns * k / gemm_s(m, kind, sides)


def stream_s(m: Model, bytes_: float, flops: float = 0, passes: float = 1) -> float:
    """A kernel whose blocks share what it moves, from the cache that is always warm if that holds it."""
    fabric = m.llc_bandwidth if bytes_ <= m.llc_bytes else m.memory_bandwidth
    moving = passes * bytes_ / min(fabric, unit_rate(m))
    return kernel_start_s(m) + max(moving, flops / (m.units * m.flops_f32))


def of_attention(m: Model, name: str, where: dict) -> Optional[float]:
    """8 KV heads of one sequence, each of 4 query heads of depth 128; K and V are read in any case."""
    if m.llc_tracked or "block_jitter_sigma" in m.keys:
        return None
    phase, _, length = where["phase"].partition("-")
    keys, kind = 1024 * int(length.rstrip("K")), where["type"]
    size, depth, heads, rows = BYTES[kind][0], 128, 8, 4 * (keys if phase == "prefill" else 1)
    queries, cached, scores = (heads * n * size for n in (rows * depth, 2 * keys * depth, rows * keys))
    seen = (keys + 1) / 2 / keys if phase == "prefill" and where["mask"] == "causal" else 1
    results, flops = 4 * heads * rows * depth, 4 * heads * rows * keys * depth * seen
    parts = max(1, min(m.units * m.slots_per_unit // (heads * math.ceil(rows / 16)), keys // 64))
    partial = 4 * heads * rows * parts * (depth + 4)
    fused = stream_s(m, cached + queries + partial, flops) + stream_s(m, partial + results)
    chain = stream_s(m, scores, passes=1 + seen) + heads * (
        gemm_s(m, kind, (rows, keys, depth)) + gemm_s(m, kind, (rows, depth, keys))
    )
    read, large = stream_s(m, cached), 2.0 * large_side(m) ** 3
    if name.endswith("read_share"):
        return read / fused
    if name.endswith("fused_speedup"):
        return chain / fused
    return max(read, flops / large * gemm_s(m, kind, (large_side(m),) * 3)) / chain


def large_side(m: Model) -> int:
    """Side of a square of at least two tiles of 128 for every unit."""
    side = 512
    while (side // 128) ** 2 < 2 * m.units:
        side *= 2
    return side


def of_weights(m: Model, name: str, where: dict) -> Optional[float]:
    """Cold GEMMs of few rows, one or a group; an expert of uneven ones may have none."""
    kind, rows, groups = where["type"], where["rows"], where.get("experts", 1)
    columns, k = (int(side) for side in where["weights"].split("x"))
    if "block_jitter_sigma" in m.keys or where.get("routing") == "uneven":
        return None
    seconds = gemm_s(m, kind, (rows, columns, k), groups=groups)
    if name.endswith("speedup"):
        return groups * gemm_s(m, kind, (rows, columns, k)) / seconds
    size, c_size = BYTES[kind]
    return groups * (rows * k * size + k * columns * size + rows * columns * c_size) / seconds


def of_peers(m: Model, name: str, where: dict) -> Optional[float]:
    p, size = m.devices, where["size"]
    alpha = ns(m.copy_ns + m.peer_latency_ns)
    if name == "pair_engine_bandwidth":
        return size / (alpha + size / copy_rate(m, 0, 1))
    if name in ("pair_min_bandwidth", "pair_median_bandwidth"):
        pairs = [(a, b) for a in range(p) for b in range(p) if a != b]
        rates = [size / (alpha + size / copy_rate(m, a, b)) for a, b in pairs]
        return min(rates) if "min" in name else statistics.median(rates)
    if name == "pair_engine_latency_4k":
        return ns(m.host_call_ns + m.host_sync_ns) + alpha + 4096 / copy_rate(m, 0, 1)
    if name == "all_to_all_engine_injection":
        return size / spread_s(m, size / (p - 1), False) if spreads_alike(m) else None
    pairs = [m.link(a, b) for a in range(p) for b in range(p) if a != b]
    start = kernel_start_s(m) + ns(m.peer_latency_ns)
    return size / (start + size / min((p - 1) * min(pairs), m.injection_bandwidth))


def of_collectives(m: Model, name: str, where: dict) -> Optional[float]:
    p, size = m.devices, where["size"]
    share = (p - 1) / p
    if "library" in name:
        return None
    if "all_to_all" in name:
        return share * size / spread_s(m, size / p, True) if spreads_alike(m) else None
    if not where["condition"].endswith("fastest: ring"):
        return None  # another algorithm was the fastest
    adds, gathers = "allgather" not in name, "reduce_scatter" not in name
    if adds and m.llc_tracked and not name.endswith("latency"):
        return None  # the cache has some of what is added, in an order that no formula gives
    seconds = ring_s(m, size, adds, gathers)
    return seconds if name.endswith("latency") else (adds + gathers) * share * size / seconds


def of_reduce(m: Model, name: str, where: dict) -> Optional[float]:
    size = where["size"]
    if m.llc_tracked or 2 * size <= m.llc_bytes:
        return None
    add = kernel_start_s(m) + max(3 * size / m.memory_bandwidth, 3 * size / unit_rate(m))
    by_kernel = kernel_start_s(m) + max(2 * size / m.memory_bandwidth, 2 * size / unit_rate(m))
    by_engine = ns(m.copy_ns) + size / min(m.engine_bandwidth, m.memory_bandwidth / 2)
    return ((by_kernel if "kernel" in name else by_engine) + add) / add


def of_latency(m: Model, name: str, where: dict) -> Optional[float]:
    return chase_s(m, where["footprint"])


# Not of waits beside other work: they begin when the host notices that it runs.
LAWS = {
    "micro/memory": of_memory,
    "micro/sustained": of_memory,
    "micro/latency": of_latency,
    "micro/copy_path": of_copy_path,
    "micro/launch": of_launch,
    "micro/peer_matrix": of_peers,
    "micro/reduce": of_reduce,
    "gemm/efficiency": of_gemm,
    "gemm/split": of_gemm,
    "gemm/sustained": of_gemm,
    "gemm/small_batch": of_weights,
    "gemm/grouped": of_weights,
    "gemm/attention": of_attention,
    "collectives/device_allgather": of_collectives,
    "collectives/device_allreduce": of_collectives,
    "collectives/device_reduce_scatter": of_collectives,
    "collectives/device_all_to_all": of_collectives,
}


# ------------------------------------------------------------------ runs


class Row(NamedTuple):
    name: str
    unit: str
    truth: Optional[float]
    said: Optional[float]
    why: str = ""

    @property
    def off(self) -> float:
        return self.said / self.truth - 1

    @property
    def misses(self) -> bool:
        return self.said is None or (self.truth is not None and abs(self.off) > WITHIN)


def measured(model: Model, folder: Path, number: int) -> dict:
    """The signature."""
    path, out = folder / f"{number}.model", folder / f"run-{number}"
    path.write_text(model.text(), encoding="utf-8")
    spec = f"sim:{path}:0-{model.devices - 1}" if model.devices > 1 else f"sim:{path}"
    words = [str(ROOT / "gpusig"), "run", "--device", spec, "--headline", "--budget", "60"]
    words += ["--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if not (out / "signature.json").is_file():
        sys.exit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr[-800:]}")
    return json.loads((out / "signature.json").read_text(encoding="utf-8"))


def case_of(key: str) -> dict:
    """The axes of a case by its key."""
    pairs = (word.partition("=") for word in key.split())
    return {axis: int(value) if value.isdigit() else value for axis, _, value in pairs}


def rows_of(model: Model, signature: dict) -> Iterator[Row]:
    for name, entry in signature["metrics"].items():
        if not entry.get("primary"):
            continue
        program, _, metric = name.rpartition("/")
        law, where = LAWS.get(program), {**case_of(entry["key"]), "condition": entry["condition"]}
        truth = law(model, metric, where) if law else None
        yield Row(name, entry["unit"], truth, entry["value"])
    for entry in signature["primary_missing"]:
        if entry["cause"] != "not_supported":
            yield Row(f"{entry['program']}/{entry['metric']}", "", None, None, entry["reason"])


def section(model: Model, rows: list[Row]) -> Iterator[str]:
    yield f"## {model.name}\n"
    shown = ", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}" for k, v in model.keys.items())
    odd = "".join(f", {a}>{b} {rate:.4g}" for (a, b), rate in model.links.items())
    yield f"{shown}{odd}.\n"
    yield "| number | unit | truth | said | off | |\n| --- | --- | --- | --- | --- | --- |"
    for row in rows:
        if row.said is None:
            yield f"| {row.name} | | | missing: {row.why} | | **miss** |"
        elif row.truth is not None:
            miss = "**miss**" if row.misses else ""
            yield f"| {row.name} | {row.unit} | {row.truth:.4g} | {row.said:.4g} | {row.off:+.2%} | {miss} |"
    open_ones = [row.name for row in rows if row.said is not None and row.truth is None]
    yield f"\nNo closed form ({len(open_ones)}): {', '.join(open_ones)}.\n"


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=44)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "reproduction" / "models.md")
    given = parser.parse_args()
    parts, all_rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, model in enumerate(drawn(given.seed)):
            rows = list(rows_of(model, measured(model, Path(folder), number)))
            parts += section(model, rows)
            all_rows += rows
            print(f"{model.name}: {sum(row.misses for row in rows)} of {len(rows)} missed", flush=True)
    known = [row for row in all_rows if row.truth is not None and row.said is not None]
    misses = [row for row in all_rows if row.misses]
    worst = max(known, key=lambda row: abs(row.off))
    total = (
        f"Seed {given.seed}: {len(all_rows)} numbers, {len(known)} with a closed form, {len(misses)} missed; "
        f"the farthest is {worst.name}, {worst.off:+.2%}.\n"
    )
    given.out.write_text("\n".join([HEAD, total, *parts]).rstrip() + "\n", encoding="utf-8")
    print(total, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
