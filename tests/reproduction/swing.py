# SPDX-License-Identifier: BSD-3-Clause
"""Compares Swing (arXiv 2401.09356) in the paper, the model and the simulator: writes docs/reproduction/swing.md.

swing.py [--out FILE] [--keep DIR] [--shapes 8x8,4x16,16x16,32x32] [--memory SHAPE|none]

Needs bin/topology/torus, and for the simulated columns SimGrid and build/smpi (make smpi). Simulation results
are kept in DIR (build/reproduction) and reused. Without SimGrid and without DIR those columns say "not simulated".
"""
from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent))

import simulate  # noqa: E402
from simulate import ROOT, TORUS  # noqa: E402

from suite import simgrid  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
FITTED = ("0.455us", "0.4us")  # a step, a hop: fitted to the run times that the paper prints for 32 B
SIZES = (32, 2 * KIB, 128 * KIB, 2 * MIB, 32 * MIB)
SMALL = SIZES[:3]
SIMULATED = {"swing-b": SIZES, "swing-l": SMALL, "rd-l": SIZES, "rd-b": SIZES, "bucket": SIZES}
SWEEP = tuple(32 * 2**k for k in range(25))  # 32 B to 512 MiB
CLOSE = 0.02
LINK_RATE = 50e9  # byte/s in one direction, the 400 Gb/s of the paper
ALGORITHMS = "ring,bucket,rd-l,rd-b,rd-mirrored,swing-l,swing-b"

# (shape, Swing, recursive doubling): the paper's equation at finite sizes; 1.19, 1.03 and 1.008 are what Table 2 prints.
XI = (("4x4", 0.9375, 1.125), ("8x8", 1.0781, 1.3125), ("16x16", 1.1367, 1.4062), ("32x32", 1.1689, 1.4531),
      ("64x64", 1.1843, 1.4766), ("128x128", 1.1922, None), ("8x8x8", 1.0254, 1.1484), ("16x16x16", 1.0339, 1.1621),
      ("8x8x8x8", 1.0071, 1.0693), ("64", 2.109, 3.0))
# Seconds at 32 B as printed in the figures: Swing, recursive doubling, bucket, ring; and the shape as the model writes it.
SMALLEST = (("64x64", 40e-6, 57e-6, 230e-6, 7e-3), ("64x16", 26e-6, 36e-6, 230e-6, 2e-3), ("128x8", 41e-6, 59e-6, 464e-6, 2e-3),
            ("256x4", 74e-6, 109e-6, 932e-6, 2e-3), ("8x8", 7e-6, 8.7e-6, 25e-6, 120e-6), ("8x8x8", 10e-6, 13e-6, 38e-6, None),
            ("8x8x8x8", 14e-6, 17e-6, 51e-6, None), ("hyperx:64x64", 11e-6, 11e-6, 230e-6, 7e-3))


# ------------------------------------------------------------------ the model


class Model:
    """topology/torus, asked once for each network."""

    def __init__(self, step: str, hop: str) -> None:
        self._costs = ["--step", step, "--hop", hop]
        self._known: dict[tuple[str, str, int], dict[str, float]] = {}

    def learn(self, shape: str, algorithms: str, sizes: tuple[int, ...]) -> None:
        words = [str(TORUS), "--shape", shape, "--algorithm", algorithms, "--size", ",".join(map(str, sizes)), *self._costs]
        done = subprocess.run([*words, "--format", "json"], capture_output=True, text=True, check=True)
        for record in map(json.loads, done.stdout.splitlines()):
            if record["kind"] == "case" and record["status"] == "ok":
                place = record["case"]
                self._known[shape, place["algorithm"], place["size"]] = {d["name"]: d["value"] for d in record["derived"]}

    def of(self, shape: str, algorithm: str, size: int) -> dict[str, float]:
        if (shape, algorithm, size) not in self._known:
            names = ALGORITHMS if "x" in shape and shape.count("x") == 1 or ":" in shape else ALGORITHMS.partition(",")[2]
            self.learn(shape, names, tuple({*SWEEP, *SIZES}))
        return self._known[shape, algorithm, size]

    def time(self, shape: str, algorithm: str, size: int) -> float:
        return self.of(shape, algorithm, size)["time"]

    def best(self, shape: str, algorithms: tuple[str, ...], size: int) -> tuple[float, str]:
        times = []
        for name in algorithms:
            try:
                times.append((self.time(shape, name, size), name))
            except KeyError:
                continue
        return min(times)


SWING, DOUBLING = ("swing-l", "swing-b"), ("rd-l", "rd-b")
KNOWN = ("ring", "bucket", *DOUBLING)


def gain(model: Model, shape: str, size: int, others: tuple[str, ...] = KNOWN) -> float:
    """How many times longer the best of the others takes than Swing."""
    return model.best(shape, others, size)[0] / model.best(shape, SWING, size)[0]


# ------------------------------------------------------------------ words


def time_text(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.4g} us"


def size_text(size: int) -> str:
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB" if size >= KIB else f"{size} B"


def verdict(good: bool) -> str:
    return "yes" if good else "**miss**"


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *rows)] + [""]


# ------------------------------------------------------------------ sections


def slope(found: dict | None, dims: int, psi: float) -> str:
    """Xi as simulated ranks have it: what a byte more costs between the two largest sizes, over the optimum."""
    if found is None:
        return "not simulated"
    low, high = SIZES[-2:]
    seconds = found["seconds"]
    return f"{(seconds[str(high)] - seconds[str(low)]) / (high - low) * dims * LINK_RATE / psi:.4f}"


def congestion(model: Model, keep: Path, shapes: list[str]) -> Iterator[str]:
    yield from ["## Congestion: how many times the optimum the worst links carry", "",
                "Xi = sum over steps of bytes on the worst link, over the optimum, all ports in use. Paper: the sum of "
                "delta(sigma(s)) / 2^(s+1) at these sizes, which for large tori its Table 2 rounds to 1.19, 1.03 and 1.008. "
                "Model: messages counted on every link. SMPI: from the times of simulated ranks at 2 and 32 MiB. Bar: model and "
                "paper the same to 4 decimals.", ""]
    rows = []
    for shape, *paper in XI:
        for name, algorithm, printed in zip(("Swing", "recursive doubling"), ("swing-b", "rd-b"), paper):
            if printed is None:
                continue
            found = model.of(shape, algorithm, 2 * MIB)
            ran = known(keep, shape, algorithm, SIZES) if shape in shapes else None
            simulated_xi = slope(ran, shape.count("x") + 1, found["psi"]) if shape in shapes else ""
            # The paper's equation has 2.109375 for a ring of 64, and 4 decimals elsewhere.
            good = abs(found["xi"] - printed) < (0.0005 if shape == "64" else 0.00006)
            rows.append([shape, name, f"{printed:g}", f"{found['xi']:.4f}", simulated_xi, f"{found['xi'] / printed:.4f}",
                         verdict(good)])
    yield from table(["torus", "algorithm", "paper", "model", "SMPI", "model / paper", "reached"], rows)


def smallest(model: Model) -> Iterator[str]:
    yield from ["## Run times at 32 B", "",
                f"Paper: as printed in its figures, from a packet simulator. Model: {FITTED[0]} a step and {FITTED[1]} a hop, "
                "two numbers fitted to all of these, so this shows how well two numbers describe them, and no more. No SMPI "
                "here: SimGrid has a latency a message, not one a step. Bar: within 10 % where the paper prints two digits; "
                "\"2 ms\" has one, and \"120 us\" is read as having two.", ""]
    rows = []
    for shape, *paper in SMALLEST:
        names = (("Swing", "swing-l"), ("recursive doubling", "rd-l"), ("bucket", "bucket"), ("ring", "ring"))
        for (name, algorithm), printed in zip(names, paper):
            if printed is None:
                continue
            found = model.time(shape, algorithm, 32)
            # One digit of 2 ms stands for anything from 1.5 to 2.5.
            good = abs(found / printed - 1) <= 0.1 or (printed == 2e-3 and 1.5e-3 <= found < 2.5e-3)
            rows.append([shape, name, time_text(printed), time_text(found), f"{found / printed:.3f}", verdict(good)])
    yield from table(["network", "algorithm", "paper", "model", "ratio", "reached"], rows)


def _row(what: str, paper: str, found: str, bar: str, good: bool) -> list[str]:
    return [what, paper, found, bar, verdict(good)]


def middle(model: Model) -> Iterator[str]:
    shape, two = "64x64", 2 * MIB
    known, mirrored = gain(model, shape, two), gain(model, shape, two, ("rd-mirrored",))
    small = max(gain(model, shape, s) for s in SWEEP if s <= 32 * KIB)
    crossing = next((s for s in SWEEP if gain(model, shape, s) < 1), None)
    goodput = 512 * MIB / model.best(shape, SWING, 512 * MIB)[0] / 100e9
    large = gain(model, shape, 512 * MIB, ("bucket",))
    yield from ["## 64x64, middle and large vectors", "",
                "Gain: time of the best of ring, bucket and recursive doubling (one port, as the paper has it) over that of "
                "Swing. Mirrored recursive doubling is the paper's own variant on all ports.", ""]
    rows = [
        _row("gain at 2 MiB", "2.2 (+120 %)", f"{known:.3f}, against {model.best(shape, KNOWN, two)[1]}", ">= 2.0", known >= 2),
        _row("gain at 2 MiB over mirrored recursive doubling", "not printed", f"{mirrored:.3f}", "about 1.5",
             abs(mirrored - 1.5) < 0.1),
        _row("largest gain up to 32 KiB", "up to 1.5", f"{small:.3f}", "within 10 %", abs(small / 1.5 - 1) <= 0.1),
        _fastest(model, shape, "32 B to 32 MiB", 32 * MIB),
        _row("another is faster from", "128 MiB (bucket)", f"{size_text(crossing)} ({model.best(shape, KNOWN, crossing)[1]})"
             if crossing else "nowhere", "the same power of two", crossing == 128 * MIB),
        _row("bucket over Swing at 512 MiB", "below 1", f"{large:.3f}", "< 1", large < 1),
        _row("Swing's share of peak goodput at 512 MiB", "about 0.77", f"{goodput:.3f}", "within 10 %",
             abs(goodput / 0.77 - 1) <= 0.1)]
    yield from table(["what", "paper", "model", "bar", "reached"], rows)


def _most(model: Model, shape: str) -> tuple[float, int]:
    return max((gain(model, shape, s), s) for s in SWEEP)


def _fastest(model: Model, shape: str, paper: str, last: int) -> list[str]:
    """Whether Swing is the fastest at every size up to `last`, and where not by how much."""
    gains = {s: gain(model, shape, s) for s in SWEEP if s <= last}
    lost = [s for s, g in gains.items() if g < 1 - 1e-9]
    found = f"at every size up to {size_text(last)}"
    if lost:
        runs = f"{size_text(lost[0])} to {size_text(lost[-1])}" if len(lost) > 1 else size_text(lost[0])
        split = [s for s in gains if lost[0] < s < lost[-1] and s not in lost]
        if split:
            runs = f"{size_text(lost[0])} to {size_text(max(s for s in lost if s < split[0]))}, {size_text(lost[-1])}"
        found = f"not at {runs}: others take down to {min(gains.values()):.3f} of its time"
    return _row(f"Swing is fastest on {shape}", paper, found, "the same", not lost)


def rectangles(model: Model) -> Iterator[str]:
    yield from ["## Rectangles", "",
                "Once the short side is done only the ports of the long side work. Paper: this adds about log2(d_max / d_min) / "
                "(6 d_min^(D-1)) to Xi. The count of the model adds four times as much, and it is the count that explains the "
                "paper's own figure: 256x4 loses about 60 % to the ring at 512 MiB.", ""]
    rows = []
    for shape, square, low, high in (("64x16", "16x16", 16, 64), ("128x8", "8x8", 8, 128), ("256x4", "4x4", 4, 256)):
        extra = model.of(shape, "swing-b", 2 * MIB)["xi"] - model.of(square, "swing-b", 2 * MIB)["xi"]
        paper = math.log2(high / low) / (6 * low)
        rows.append(_row(f"Xi of Swing on {shape} above {square}", f"{paper:.4f}", f"{extra:.4f}, {extra / paper:.2f} times",
                         "within 10 %", abs(extra / paper - 1) <= 0.1))
        flat = model.time(shape, "bucket", 32) / model.time(f"{high}x{high}", "bucket", 32)
        rows.append(_row(f"bucket on {shape} over {high}x{high} at 32 B", "1 (d_max alone counts)", f"{flat:.4f}", "within 1 %",
                         abs(flat - 1) < 0.01))
    loss = model.best("256x4", SWING, 512 * MIB)[0] / model.time("256x4", "ring", 512 * MIB)
    best, at = _most(model, "128x8")
    rows.append(_row("256x4 at 512 MiB, Swing over ring", "about 1.6", f"{loss:.3f}", "within 10 %", abs(loss / 1.6 - 1) <= 0.1))
    rows.append(_row("largest gain on 128x8", "3 (text), 3.09 (figure)", f"{best:.3f} at {size_text(at)}", "within 10 %",
                     abs(best / 3 - 1) <= 0.1))
    yield from table(["what", "paper", "model", "bar", "reached"], rows)


def other_networks(model: Model) -> Iterator[str]:
    yield from ["## HammingMesh, HyperX and more dimensions", "", "Gain as above.", ""]
    rows = []
    for shape, paper in (("hx2mesh:64x64", 2.5), ("hx4mesh:64x64", 2.5), ("hyperx:64x64", 3.0), ("8x8x8", 2.0), ("8x8x8x8", 2.0)):
        best, at = _most(model, shape)
        two = gain(model, shape, 2 * MIB)
        found = f"{best:.3f} at {size_text(at)}; {two:.3f} at 2 MiB"
        rows.append(_row(f"largest gain on {shape}", f"{paper:g}", found, "within 10 %", abs(best / paper - 1) <= 0.1))
    for shape, paper, last in (("hx2mesh:64x64", "every size", 512 * MIB), ("hx4mesh:64x64", "below 128 MiB", 64 * MIB),
                               ("hyperx:64x64", "every size", 512 * MIB), ("8x8x8", "32 B to 2 GiB", 512 * MIB)):
        rows.append(_fastest(model, shape, paper, last))
    yield from table(["what", "paper", "model", "bar", "reached"], rows)


def simulated(keep: Path, shapes: list[str]) -> Iterator[str]:
    yield from ["## The model against simulated ranks", "",
                "bin/topology/torus and the unmodified collectives/allreduce on the ranks of SimGrid's SMPI: 400 Gb/s a "
                "link, 400 ns a hop, no latency of a step in both, all ports. Bar: ratios within 2 %. The wall time of the "
                "simulator is for all sizes of a row together.", ""]
    model, rows, worst = Model("0", "0.4us"), [], (0.0, "nothing")
    for shape in shapes:
        for algorithm, sizes in SIMULATED.items():
            found = known(keep, shape, algorithm, sizes)
            if found is None:
                rows.append([shape, algorithm, "not simulated", *[""] * (len(SIZES) + 1)])
                continue
            model.learn(shape, algorithm, sizes)
            cells = []
            for size in sizes:
                seconds = found["seconds"][str(size)]
                ratio = seconds / model.time(shape, algorithm, size)
                worst = max(worst, (abs(ratio - 1), f"{algorithm} on {shape} at {size_text(size)}"))
                cells.append(f"{time_text(seconds)} ({ratio:.4f})")
            good = all(abs(found["seconds"][str(s)] / model.time(shape, algorithm, s) - 1) <= CLOSE for s in sizes)
            rows.append([shape, algorithm, *cells, *[""] * (len(SIZES) - len(sizes)), f"{found['wall_s']:.1f} s", verdict(good)])
    yield from table(["torus", "algorithm", *map(size_text, SIZES), "wall", "reached"], rows)
    yield from [f"Cells: simulated time (over the model's). Furthest apart: {100 * worst[0]:.2f} %, {worst[1]}. Sends wait for "
                "their receiver here, as the model's steps do. With SimGrid's default, which buffers messages below 64 KiB, a "
                "rank may run ahead: bucket on 4x16 at 32 B, where 8 elements leave most messages empty, then takes 0.968 of "
                "the model's time, and all else stays within 0.4 %.", ""]


def known(keep: Path, shape: str, algorithm: str, sizes: tuple[int, ...]) -> dict | None:
    """The kept result, or a new simulation where SimGrid is installed; else None."""
    there = (keep / f"{shape}-{algorithm}-{sizes[0]}-{sizes[-1]}.json").is_file()
    return simulate.kept(keep, shape, algorithm, list(sizes)) if there or simgrid.installed() else None


def memory(keep: Path, shape: str) -> Iterator[str]:
    found = known(keep, shape, "swing-b", (2 * MIB,))
    yield from [f"## What simulating {shape} takes", ""]
    if found is None:
        yield from ["Not simulated.", ""]
        return
    gib = found["anonymous_bytes"] / 2**30
    model = Model("0", "0.4us")
    model.learn(shape, "swing-b", (2 * MIB,))
    seconds = found["seconds"][str(2 * MIB)]
    yield from table(["what", "found", "bar", "reached"], [
        ["peak anonymous memory", f"{gib:.2f} GiB", "1 GiB", verdict(gib <= 1)],
        ["swing-b at 2 MiB, simulated over model", f"{time_text(seconds)}, {seconds / model.time(shape, 'swing-b', 2 * MIB):.4f}",
         "within 2 %", verdict(abs(seconds / model.time(shape, "swing-b", 2 * MIB) - 1) <= CLOSE)],
        ["wall time", f"{found['wall_s']:.0f} s", "", ""]])


HEAD = """# Swing, reproduced

Swing: Short-cutting Rings for Higher Bandwidth Allreduce (arXiv 2401.09356) against bin/topology/torus, an exact count of link
loads with a time model on top, and against SimGrid. Written by

    make reproduction

(tests/reproduction/swing.py; minutes the first time, for 32x32 and 64x64 under the simulator). One point by hand, with SimGrid
(libsimgrid-dev) installed:

    make smpi
    bin/topology/torus --shape 8x8 --algorithm swing-b --size 32,2M --step 0 --emit simgrid
    smpirun -np 64 -platform torus-8x8.xml -hostfile torus-8x8.hosts --cfg=network/model:CM02 \\
      --cfg=network/crosstraffic:no --cfg=network/TCP-gamma:0 --cfg=smpi/send-is-detached-thresh:0 \\
      --cfg=smpi/simulate-computation:no --cfg=smpi/host-speed:1Gf --log=root.thres:error \\
      build/smpi/collectives/allreduce --shape 8x8 --ports all --algorithm swing-b --size 32,2M --check off \\
      --min-samples 1 --max-samples 1 --warm-up 0

Of the numbers below those under the simulator have `--cfg=smpi/shared-malloc:global --cfg=smpi/auto-shared-malloc-thresh:65536`
too, so that ranks share their vectors (tests/reproduction/simulate.py).

With `--check off` no data is touched, so every number is flagged unverified and the exit code is 3; without it sums are exact or
the program fails. Each rank needs globals of its own: no `-no-privatize`. The comparison of ./gpusig run is checked, on 8x8.

"reached" says whether the result meets the bar; a **miss** is reported as such. The bars are this project's; the paper has none.
"""


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "reproduction" / "swing.md")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "reproduction")
    parser.add_argument("--shapes", default="8x8,4x16,16x16,32x32")
    parser.add_argument("--memory", default="64x64")
    given = parser.parse_args()
    if not TORUS.is_file():
        print(f"swing.py: {TORUS} is not built: make", file=sys.stderr)
        return 77
    fitted = Model(*FITTED)
    lines = [HEAD]
    lines += congestion(fitted, given.keep, given.shapes.split(","))
    for section in (smallest, middle, rectangles, other_networks):
        lines += section(fitted)
    lines += simulated(given.keep, given.shapes.split(","))
    if given.memory != "none":
        lines += memory(given.keep, given.memory)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    misses = sum(line.startswith("|") and "**miss**" in line for line in lines)
    print(f"wrote {given.out}, {misses} misses")
    return 0


if __name__ == "__main__":
    sys.exit(main())
