# SPDX-License-Identifier: BSD-3-Clause
"""The sections of docs/reproduction/shaping.md, from rows."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

import shaping_rows as found
import shaping_words as words
from shaping_rows import (
    A_BLOCK_A_TILE,
    BOTH,
    GRIDS,
    HIGH,
    KIB,
    LAST,
    LOW,
    OVERLAP,
    PRIORITY,
    SCENARIOS,
    TILES,
)
from shaping_rows import Row, Sweep, lost, ms
from simulate import ROOT
from torus_model import near_gain, table, verdict

MACHINES = {
    "A40": ("a40", 4),
    "A100": ("a100", 4),
    "H100": ("h100", 4),
    "MI250X": ("mi250x", 8),
}  # model, devices
NVIDIA = ("A40", "A100", "H100")
ITERATIONS = (8, 20)
CLAIM = "SHARED/4"
HEADLINE, HEADLINE_RATE = 1 - 0.255, 0.9
# Blocks on a unit in the paper, by shared memory alone: tile, bytes of an element, by machine.
RESIDENTS = (("64x64x32", 2, (11, 18, 25, 8)), ("64x64x64", 2, (5, 9, 13, 4)), ("64x64x64", 4, (3, 4, 6, 2)))


def model(machine: str) -> dict[str, Any]:
    """The keys of its model file."""
    return found.model_of(
        (ROOT / "device" / "sim" / "model" / "machines" / f"{MACHINES[machine][0]}.model").read_text(
            encoding="utf-8"
        )
    )


def near(value: float, paper: float, by: float = 0.1) -> bool:
    return abs(value / paper - 1) <= by


def residents(counted: Mapping[str, Mapping[int, int]], rows: list[Row]) -> Iterator[str]:
    yield words.RESIDENTS
    lines = []
    for tile, element, paper in RESIDENTS:
        size = found.tile_bytes(tile, element)
        name = (
            TILES[tile] + f", {element} B" + (" (= opt1, 4 B)" if (tile, element) == ("64x64x64", 2) else "")
        )
        has = [counted[machine][size] for machine in MACHINES]
        lines.append(
            [name, f"{size // KIB}", *(f"{p}, {h}" for p, h in zip(paper, has)), verdict(list(paper) == has)]
        )
    yield from table(["tile, element", "KiB", *(f"{m}: paper, found" for m in MACHINES), "reached"], lines)
    yield words.LIMITS
    lines = []
    for machine in MACHINES:
        for tile, name in TILES.items():
            row = next(r for r in rows if (r.machine, r.tile) == (machine, tile))
            limits, shared = model(machine), counted[machine][found.tile_bytes(tile, 4)]
            by = (
                "shared memory"
                if row.residents == shared
                else "threads"
                if row.residents == limits["slots_per_unit"]
                else "registers"
            )
            lines.append(
                [
                    machine,
                    f"{name}, 4 B",
                    str(shared),
                    str(row.residents),
                    by,
                    str(found.room(limits, row.residents)),
                    str(row.shaped_residents),
                ]
            )
    yield from table(
        [
            "machine",
            "tile",
            "by shared memory",
            "by all",
            "limit",
            "room for blocks of a communication",
            f"with a claim of {CLAIM}",
        ],
        lines,
    )
    yield words.LIMITED


def cell(row: Row) -> str:
    texts = [f"{row.ratio[v]:.3f}" for v in (OVERLAP, PRIORITY, BOTH)]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def grids(rows: list[Row]) -> Iterator[str]:
    count = ITERATIONS[-1]
    yield words.GRIDS.format(iterations=count, claim=CLAIM)
    for machine in MACHINES:
        lines = []
        for scenario in SCENARIOS:
            for tile, name in TILES.items():
                place = (machine, scenario, tile, count)
                mine = {r.grid: r for r in rows if (r.machine, r.scenario, r.tile, r.iterations) == place}
                lines.append([scenario, name, *(cell(mine[g]) for g in (*GRIDS, A_BLOCK_A_TILE))])
        yield from [f"### {machine}", ""]
        yield from table(["scenario", "tile", *map(str, GRIDS), "all"], lines)


def why(sweep: Sweep) -> str:
    last, texts = sweep.last, []
    if not sweep.good_when_low():
        texts.append("low counts: not explained")
    if not sweep.decays():
        texts.append(found.why_no_decay(last))
    for variant in (PRIORITY, BOTH):
        if sweep.decays() and not sweep.cured(variant):
            texts.append(
                found.why_no_cure(last, model(last.machine))
                if variant == PRIORITY
                else "with a claim: not explained"
            )
    if sweep.decays() and lost(last, OVERLAP) > 1:
        texts.append("slower than serial: the last wave of blocks, below")
    return "; ".join(texts)


def shape(rows: list[Row]) -> Iterator[str]:
    yield words.SHAPE.format(low=LOW, last=LAST)
    lines, worst = [], [9.0, 0.0, 0.0]
    for sweep in found.sweeps(rows, ITERATIONS[-1]):
        last, decays = sweep.last, sweep.decays()
        lines.append(
            [
                last.machine,
                last.scenario,
                TILES[last.tile],
                found.two(sweep.low()),
                *(found.two(lost(last, v)) for v in (OVERLAP, PRIORITY, BOTH)),
                verdict(sweep.good_when_low()),
                verdict(decays),
                *(verdict(sweep.cured(v)) if decays else "-" for v in (PRIORITY, BOTH)),
                why(sweep),
            ]
        )
    for row in rows:
        if row.grid == A_BLOCK_A_TILE and row.iterations == ITERATIONS[-1]:
            losses = [lost(row, v) for v in (OVERLAP, PRIORITY, BOTH)]
            worst = [min(worst[0], losses[0]), max(worst[1], losses[1]), max(worst[2], losses[2])]
    yield from table(
        [
            "machine",
            "scenario",
            "tile",
            f"lost, up to {LOW}",
            f"{LAST}: overlap",
            "priority",
            "and claim",
            "good when low",
            "decays",
            "cured by priority",
            "and by a claim",
            "why",
        ],
        lines,
    )
    yield words.ALL.format(overlap=worst[0], priority=worst[1], both=worst[2])


def headline(rows: list[Row], equal: list[Row]) -> Iterator[str]:
    yield words.HEADLINE
    mine = [r for r in rows if (r.machine, r.scenario) == ("A40", "cb-ar") and r.grid in GRIDS]
    lines = []
    for count in ITERATIONS:
        for reading, variants in (("priority", (PRIORITY,)), ("priority and claim", (BOTH,))):
            for tile, name in TILES.items():
                value, row, _ = found.best(
                    [r for r in mine if (r.iterations, r.tile) == (count, tile)], variants
                )
                lines.append(
                    [
                        f"normalised time, {reading}, {name}",
                        str(count),
                        "0.745",
                        f"{value:.3f} at {row.grid} blocks",
                        verdict(near_gain(value, HEADLINE)),
                    ]
                )
    nvidia = [r for r in rows if r.machine in NVIDIA and r.grid in GRIDS]
    for count in ITERATIONS:
        for what, some in (("A40 cb-ar", mine), ("all of NVIDIA's", nvidia)):
            value, row, variant = found.best_rate(
                [r for r in some if r.iterations == count], (PRIORITY, BOTH)
            )
            lines.append(
                [
                    f"overlap rate, {what}",
                    str(count),
                    "up to 0.90",
                    f"{value:.3f} ({row.name}, {row.grid} blocks, {variant})",
                    verdict(value >= 0.9 * HEADLINE_RATE),
                ]
            )
    yield from table(["what", "iterations", "paper", "best of the sweep", "reached"], lines)
    rate, row, _ = found.best_rate([r for r in mine if r.iterations == ITERATIONS[-1]], (PRIORITY, BOTH))
    yield words.RATE.format(
        opt1=found.why_no_cure(row_at(mine, "64x64x32"), model("A40")),
        row=row,
        gemm=ms(row.gemm_s),
        comm=ms(row.comm_s),
        bound=found.rate_pipelined(row),
        rate=rate,
    )
    lines = []
    for row in equal:
        lines.append(
            [
                str(row.grid),
                str(row.iterations),
                ms(row.gemm_s),
                ms(row.comm_s),
                f"{(row.iterations - 1) / (row.iterations + 1):.2f}",
                *(f"{row.rate[v]:.3f}" for v in (OVERLAP, PRIORITY, BOTH)),
                *(f"{row.normalised[v]:.3f}" for v in (PRIORITY, BOTH)),
            ]
        )
    yield from table(
        [
            "blocks",
            "iterations",
            "GEMM",
            "allreduce",
            "(I-1)/(I+1)",
            "rate: overlap",
            "priority",
            "and claim",
            "normalised: priority",
            "and claim",
        ],
        lines,
    )


def row_at(rows: list[Row], tile: str, grid: int = LAST) -> Row:
    return next(r for r in rows if (r.tile, r.grid, r.iterations) == (tile, grid, ITERATIONS[-1]))


def high_counts(rows: list[Row], slow: list[Row]) -> Iterator[str]:
    yield words.HIGH.format(high=HIGH, last=LAST)
    lines = []
    for row in rows:
        if row.machine == "MI250X" and row.grid >= HIGH and row.iterations == ITERATIONS[-1]:
            lines.append(
                [
                    row.scenario,
                    TILES[row.tile],
                    str(row.grid),
                    *(f"{row.normalised[v]:.3f}" for v in (PRIORITY, BOTH)),
                    *(verdict(row.normalised[v] >= 0.95) for v in (PRIORITY, BOTH)),
                ]
            )
    yield from table(
        ["scenario", "tile", "blocks", "priority", "and claim", "reached with priority", "and claim"], lines
    )
    yield words.SHARE.format(
        cost=max(r.claim_cost for r in rows if r.machine == "MI250X" and r.grid in GRIDS)
    )
    lines = []
    plain = {row.grid: row.seconds[OVERLAP] for row in slow if TILES[row.tile] == "opt1"}
    for row in slow:
        lines.append(
            [
                TILES[row.tile],
                str(row.grid),
                f"{row.residents}, {row.shaped_residents}",
                f"{row.claim_cost:.2f}",
                *(f"{row.normalised[v]:.3f}" for v in (PRIORITY, BOTH)),
                f"{row.seconds[PRIORITY] / plain[row.grid]:.3f}",
            ]
        )
    yield from table(
        [
            "tile",
            "blocks",
            "residents, with a claim",
            "claim_cost",
            "priority",
            "and claim",
            "priority over plain overlap of opt1",
        ],
        lines,
    )
    losses = [row.normalised[BOTH] for row in slow]
    yield words.SHARED.format(least=min(losses), most=max(losses), last=LAST)


def two_bytes(rows: list[Row]) -> Iterator[str]:
    yield words.TWO_BYTES
    lines = []
    for row in rows:
        wait = ms(row.wait_s[PRIORITY]) if found.waits(row, PRIORITY) else "none"
        room = found.room(model(row.machine), row.residents)
        lines.append(
            [
                row.machine,
                TILES[row.tile],
                str(row.grid),
                str(row.residents),
                str(room),
                found.two(lost(row, OVERLAP)),
                wait,
                *(f"{row.normalised[v]:.3f}" for v in (PRIORITY, BOTH)),
            ]
        )
    yield from table(
        [
            "machine",
            "tile",
            "blocks",
            "residents",
            "room for blocks of a communication",
            "lost by plain overlap",
            "wait with priority",
            "priority",
            "and claim",
        ],
        lines,
    )
    yield words.TWO_BYTES_WHY


def tiles(rows: list[Row]) -> Iterator[str]:
    yield words.TILES.format(last=LAST)
    lines, count, shown = [], ITERATIONS[-1], (64, 128, 256, 512, LAST, A_BLOCK_A_TILE)
    at = {
        (r.machine, r.scenario, r.grid, TILES[r.tile]): r.seconds[PRIORITY]
        for r in rows
        if r.iterations == count
    }
    for machine in MACHINES:
        for scenario in SCENARIOS:
            over = {
                g: at[machine, scenario, g, "opt2"] / at[machine, scenario, g, "opt1"]
                for g in (*GRIDS, A_BLOCK_A_TILE)
            }
            better = verdict(min(over[g] for g in GRIDS) <= 0.98) if scenario.startswith("mb") else "-"
            lines.append(
                [
                    machine,
                    scenario,
                    *(f"{over[g]:.3f}" for g in shown),
                    better,
                    verdict(abs(over[LAST] - 1) <= 0.02),
                ]
            )
    yield from table(
        ["machine", "scenario", *map(str, shown[:-1]), "all", "better in mb", "equal when saturated"], lines
    )
    yield words.TILES_WHY


def bounds(rows: list[Row], noisy: Row, quiet: Row) -> Iterator[str]:
    kept = found.margins(rows)
    slower = max(
        (r.ratio[v] / r.ratio[OVERLAP], f"{r.name}, {r.grid or 'all'} blocks, {v}")
        for r in rows
        for v in (PRIORITY, BOTH)
    )
    above = [r for r in rows if r.ratio[OVERLAP] > 1.001]
    yield words.BOUNDS.format(cases=len(rows), iterations=" and ".join(map(str, ITERATIONS)))
    lines = [
        [
            "time ratio - max(t_g, t_c) / (t_g + t_c)",
            f"{kept['least'][0]:.2g}: {kept['least'][1]}",
            ">= 0",
            verdict(kept["least"][0] >= 0),
        ],
        [
            "time ratio - that of the best pipeline of I iterations",
            f"{kept['pipelined'][0]:.2g}: {kept['pipelined'][1]}",
            ">= -0.001",
            verdict(kept["pipelined"][0] >= -0.001),
        ],
        [
            "(I-1)/I - overlap rate",
            f"{kept['rate'][0]:.2g}: {kept['rate'][1]}",
            ">= 0",
            verdict(kept["rate"][0] >= 0),
        ],
        [
            "communications that start before their GEMM ends",
            f"{sum(not r.in_order for r in rows)} cases",
            "0",
            verdict(all(r.in_order for r in rows)),
        ],
        [
            "priority over plain overlap",
            f"{slower[0]:.3f}: {slower[1]}",
            "<= 1.01",
            verdict(slower[0] <= 1.01),
        ],
        [
            "plain overlap over serial",
            f"{max(r.ratio[OVERLAP] for r in rows):.3f}; {len(above)} cases above 1",
            "<= 1.001",
            verdict(not above),
        ],
    ]
    yield from table(["bound", "closest", "target", "reached"], lines)
    yield words.BOUNDS_WHY.format(
        row=quiet,
        noisy=ms(noisy.gemm_s),
        quiet=ms(quiet.gemm_s),
        noisy_ratio=noisy.ratio[OVERLAP],
        quiet_ratio=quiet.ratio[OVERLAP],
    )


def other_reasons(rows: list[Row], free: list[Row], wide: list[Row]) -> Iterator[str]:
    yield words.OTHER
    before = {
        (r.tile, r.grid): r
        for r in rows
        if (r.machine, r.scenario, r.iterations) == ("A40", "cb-ar", ITERATIONS[-1])
    }
    lines = []
    for change, changed in (
        ("registers limit nothing (registers_per_unit_bytes=0)", free),
        ("the cache is not full (llc_bandwidth=10x)", wide),
    ):
        for row in changed:
            pair = (before[row.tile, row.grid], row)
            lines.append(
                [
                    change,
                    TILES[row.tile],
                    str(row.grid),
                    *(ms(r.wait_s[PRIORITY]) for r in pair),
                    *(f"{r.comm_cil[PRIORITY]:.2f}" for r in pair),
                    *(f"{r.normalised[PRIORITY]:.3f}" for r in pair),
                ]
            )
    yield from table(
        [
            "change",
            "tile",
            "blocks",
            "wait of the first block",
            "changed",
            "comm_CIL",
            "changed",
            "normalised time",
            "changed",
        ],
        lines,
    )
    a40 = model("A40")
    cb = {
        m: row_at([r for r in rows if (r.machine, r.scenario) == (m, "cb-ar")], "64x64x64") for m in MACHINES
    }
    parts = ", ".join(f"{ms(r.gemm_s)} and {ms(r.comm_s)} on {m}" for m, r in cb.items())
    yield words.REASONS.format(
        need=a40["units"] * a40["flops_f32"] / 16e12,
        has=a40["llc_bandwidth"] / 1e12,
        parts=parts,
        last=LAST,
        cil=max(r.comm_cil[PRIORITY] for r in rows if r.grid in GRIDS),
    )
