# SPDX-License-Identifier: BSD-3-Clause
"""Records of overlap/shaping as rows, and what they say about the claims of "Resource-aware overlap" (arXiv
2606.09200)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

KIB, MIB = 1 << 10, 1 << 20
TILES = {"64x64x32": "opt1", "64x64x64": "opt2"}
SCENARIOS = ("cb-ar", "mb-ar", "cb-a2a", "mb-a2a")
GRIDS = tuple(2**k for k in range(1, 11))  # of the paper
A_BLOCK_A_TILE = 0
LAST = GRIDS[-1]
LOW, HIGH = 32, 512  # block counts up to the one are called low, from the other on high
OVERLAP, PRIORITY, BOTH = "overlap", "priority", "shaped_priority"
RAW = {
    "time_ratio": "ratio",
    "normalised_time": "normalised",
    "overlap_rate": "rate",
    "first_comm_block": "wait_s",
    "comm_CIL": "comm_cil",
}


@dataclass(frozen=True)
class Row:
    """A case. Times are those of one iteration; what variants have is by variant."""

    machine: str
    scenario: str
    tile: str
    grid: int
    iterations: int
    gemm_s: float
    comm_s: float
    least: float  # of the time ratio: max(g, c) / (g + c)
    pipelined: float  # the time ratio of the best pipeline
    seconds: Mapping[str, float]
    ratio: Mapping[str, float]
    normalised: Mapping[str, float]
    rate: Mapping[str, float]
    wait_s: Mapping[str, float]
    comm_cil: Mapping[str, float]
    residents: int
    shaped_residents: int
    residents_by_shared: int
    claim_cost: float
    in_order: bool

    @property
    def name(self) -> str:
        return f"{self.machine} {self.scenario} {TILES[self.tile]}"


def row_of(record: Mapping[str, Any], machine: str) -> Row:
    """Row of a case with a claim of shared memory. A case that is not valid is an error: nothing is left
    out."""
    place, facts = record["case"], record.get("facts", {})
    if record["status"] != "ok" or not record["validity"]["valid"]:
        raise ValueError(f"{machine}: {record['key']}: {record['status']}, {record['validity']['flags']}")
    values = {(d["name"], d["variant"]): d["value"] for d in record["derived"]}
    count = place["iterations"]
    seconds = {
        variant: value / count for (name, variant), value in values.items() if name == "time" and variant
    }
    by_variant = {
        field: {variant: value for (name, variant), value in values.items() if name == raw and variant}
        for raw, field in RAW.items()
    }
    ordered = [m["observed"] for m in record["mechanism"] if m["name"] == "order_is_kept"]
    return Row(
        machine,
        place["scenario"],
        place["tile"],
        place["grid"],
        count,
        seconds["gemm_alone"],
        seconds["comm_alone"],
        values["time_ratio_min", None],
        values["time_ratio_pipelined", None],
        seconds,
        **by_variant,
        residents=facts["residents"],
        shaped_residents=facts["shaped_residents"],
        residents_by_shared=facts["residents_by_shared"],
        claim_cost=values["claim_cost", "gemm_shaped"],
        in_order=bool(ordered) and all(ordered),
    )


# ------------------------------------------------------------------ residents


def tile_bytes(tile: str, element_bytes: int) -> int:
    m, n, k = map(int, tile.split("x"))
    return (m * k + k * n) * element_bytes


def residents(pool_bytes: int, reserved_bytes: int, claim_bytes: int) -> int:
    return pool_bytes // (reserved_bytes + claim_bytes)


def pool_for(wanted: Mapping[int, int], reserved_bytes: int) -> int:
    """The least shared memory of a unit, in whole KiB, in which as many blocks of each claim fit as are
    wanted."""
    least = max(count * (reserved_bytes + claim) for claim, count in wanted.items())
    pool = (least + KIB - 1) // KIB * KIB
    if any(residents(pool, reserved_bytes, claim) != count for claim, count in wanted.items()):
        raise ValueError(f"no pool fits {wanted}")
    return pool


def room(model: Mapping[str, Any], residents: int) -> int:
    """Blocks without shared memory that fit on a unit next to so many blocks of a GEMM with textbook
    tiles."""
    slots = model["slots_per_unit"] - residents
    free, block = free_registers(model, residents), model["block_register_bytes"]
    return max(0, min(slots, free // block if model["registers_per_unit_bytes"] else slots))


def free_registers(model: Mapping[str, Any], residents: int) -> int:
    return model["registers_per_unit_bytes"] - residents * gemm_registers(model)


def gemm_registers(model: Mapping[str, Any]) -> int:
    """Those of any block, and the sums of a tile."""
    return model["block_register_bytes"] + 64 * 64 * 4


def model_of(text: str) -> dict[str, Any]:
    """The keys of a model file whose values are numbers."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("#")[0].partition("=")
        number = re.fullmatch(r"([0-9.e+-]+)([KMG]?)", value.strip())
        if equals and number:
            word, factor = number[1], {"": 1, "K": KIB, "M": MIB, "G": KIB * MIB}[number[2]]
            found[key.strip()] = int(word) * factor if word.isdigit() else float(word) * factor
    return found


# ------------------------------------------------------------------ the sweep


def lost(row: Row, variant: str) -> float:
    """The share of the time that the best pipeline hides, which this one does not: 0 is that pipeline, 1 is
    serial."""
    return (row.ratio[variant] - row.pipelined) / (1 - row.pipelined)


@dataclass(frozen=True)
class Sweep:
    """The rows of one machine, scenario and tile over the paper's grids."""

    rows: tuple[Row, ...]

    @property
    def last(self) -> Row:
        return self.rows[-1]

    def low(self) -> float:
        """The worst at low block counts."""
        return max(lost(row, OVERLAP) for row in self.rows if row.grid <= LOW)

    def good_when_low(self) -> bool:
        return self.low() <= 0.1

    def decays(self) -> bool:
        return lost(self.last, OVERLAP) >= 0.5

    def cured(self, variant: str) -> bool:
        return lost(self.last, variant) <= 0.5 * lost(self.last, OVERLAP)


def sweeps(rows: Iterable[Row], iterations: int) -> list[Sweep]:
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.iterations == iterations and row.grid in GRIDS:
            found.setdefault((row.machine, row.scenario, row.tile), []).append(row)
    return [Sweep(tuple(sorted(group, key=lambda row: row.grid))) for group in found.values()]


def two(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text


def ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


def waits(row: Row, variant: str) -> bool:
    """Starting takes some microseconds; a wait for blocks of a GEMM is a part of its time."""
    return row.wait_s[variant] > 0.01 * row.gemm_s


def why_no_decay(row: Row) -> str:
    comm = row.comm_s * row.comm_cil[OVERLAP]
    if not waits(row, OVERLAP):
        return "all blocks of the GEMM and of the communication are resident at once, so nothing waits"
    left = row.gemm_s - row.wait_s[OVERLAP]
    text = f"the communication waits {ms(row.wait_s[OVERLAP])} for the blocks that are resident first and then takes {ms(comm)}, "
    return text + (
        f"less than the {ms(left)} that are left of the GEMM"
        if comm <= left
        else f"of which the {ms(left)} that are left of the GEMM hide a part"
    )


def why_no_cure(row: Row, model: Mapping[str, Any]) -> str:
    if not waits(row, PRIORITY):
        return f"the first block does not wait, but the communication takes {row.comm_cil[PRIORITY]:.2f} times its time alone"
    text = f"with priority the first block still waits {ms(row.wait_s[PRIORITY])}"
    if room(model, row.residents):
        return text
    return (
        f"{text}: {row.residents} blocks of the GEMM leave {free_registers(model, row.residents) // KIB} of "
        f"{model['registers_per_unit_bytes'] // KIB} KiB of a unit's registers, one of the communication "
        f"needs "
        f"{model['block_register_bytes'] // KIB}"
    )


def best(rows: Iterable[Row], variants: tuple[str, ...]) -> tuple[float, Row, str]:
    """The smallest normalised time."""
    return min(((row.normalised[v], row, v) for row in rows for v in variants), key=lambda found: found[0])


def best_rate(rows: Iterable[Row], variants: tuple[str, ...]) -> tuple[float, Row, str]:
    return max(((row.rate[v], row, v) for row in rows for v in variants), key=lambda found: found[0])


def rate_pipelined(row: Row) -> float:
    """The overlap rate of the best pipeline."""
    low, high, more = min(row.gemm_s, row.comm_s), max(row.gemm_s, row.comm_s), row.iterations - 1
    return more * low / (low + high + more * high)


# ------------------------------------------------------------------ bounds


def margins(rows: Iterable[Row]) -> dict[str, tuple[float, str]]:
    """The least by which a bound is kept, and where; what is negative breaks it."""
    found: dict[str, tuple[float, str]] = {}
    for row in rows:
        where = f"{row.name}, {row.grid or 'all'} blocks, {row.iterations} iterations"
        for variant in row.ratio:
            for bound, margin in (
                ("least", row.ratio[variant] - row.least),
                ("pipelined", row.ratio[variant] - row.pipelined),
                ("rate", (row.iterations - 1) / row.iterations - row.rate[variant]),
            ):
                found[bound] = min(found.get(bound, (margin, "")), (margin, f"{where}, {variant}"))
    return found
