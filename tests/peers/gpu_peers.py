# SPDX-License-Identifier: BSD-3-Clause
"""Our programs and the vendor's interface on one NVIDIA GPU, in alternating launches; prints the ratios as a
table.

    gpu_peers.py --bin bin --peers DIR               everything: about a minute a round
    gpu_peers.py ... --only copies --rounds 9        part of it

DIR holds tests/peers/cuda/*.cu as nvcc built them, and nvbandwidth where it could be built
(tests/hardware/README.md). Every round launches ours, then the peers, and the next round the other way round.
A number is compared with the best of its peers; the ratio is formed inside the round and is turned so that
above 1 ours is better: rate / rate, or their time / our time. Printed: its median over the rounds with the
order-statistic interval (up to 5 rounds: least and most). What a side cannot measure is a row that says so.
Exit 1 when a row lies below 0.95.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Callable

from peers import median_interval

BAR, NEAR = 0.98, 0.95
Numbers = dict[str, float]


@dataclass(frozen=True)
class Side:
    """A command and how the numbers are read from its stdout."""

    name: str
    command: tuple[str, ...]
    read: Callable[[str], Numbers]

    def run(self) -> tuple[Numbers, str]:
        """The numbers, and why there are none or not all."""
        try:
            done = subprocess.run(self.command, capture_output=True, text=True, timeout=120, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return {}, f"{self.name}: {error}"
        words = done.stderr.strip().splitlines()
        why = (
            ""
            if done.returncode == 0
            else f"{self.name}: exit {done.returncode}: {words[-1] if words else ''}"
        )
        try:
            return {what: value for what, value in self.read(done.stdout).items() if value}, why
        except (ValueError, KeyError, TypeError, IndexError) as error:
            return {}, why or f"{self.name}: its output can't be read: {error!r}"


@dataclass(frozen=True)
class Group:
    ours: tuple[Side, ...]
    peers: tuple[Side, ...]


# ------------------------------------------------------------------ how numbers are read


def json_lines(text: str) -> Numbers:
    return {line["what"]: float(line["value"]) for line in map(json.loads, text.splitlines())}


def cases(text: str) -> list[dict]:
    return [
        record
        for record in map(json.loads, text.splitlines())
        if record["kind"] == "case" and record.get("derived")
    ]


def rate(record: dict, name: str, *variants: str) -> float:
    """The best of the variants that gave the rate, 0 when none did; a flagged one counts."""
    return max(
        (float(q["value"] or 0) for q in record["derived"] if q["name"] == name and q["variant"] in variants),
        default=0.0,
    )


def our_copies(text: str) -> Numbers:
    numbers = {}
    for record in cases(text):
        direction = record["case"]["direction"]
        numbers[f"copy {direction}, engine"] = rate(record, "bandwidth", "engine")
        numbers[f"copy {direction}, kernel"] = rate(record, "bandwidth", "kernel", "kernel_nt")
        if direction == "up":
            numbers["copy up and down at once, engine"] = rate(record, "bandwidth", "both_ways")
    return numbers


def our_memory(text: str) -> Numbers:
    return {
        f"memory {record['case']['op']}": rate(record, "bandwidth", "regular", "nontemporal")
        for record in cases(text)
    }


def our_launches(text: str) -> Numbers:
    (record,) = cases(text)
    of = {v["name"]: v for v in record["variants"]}
    numbers = {
        "launch, back to back": of["back_to_back"]["median_s"],
        "launch, the host's call": of["enqueue"]["median_s"],
    }
    for what, variant in (
        ("wait for nothing", "sync_idle"),
        ("launch and wait", "round_trip"),
        ("event and wait", "event_round_trip"),
    ):
        numbers |= {f"{what}, least": of[variant]["min_s"], f"{what}, median": of[variant]["median_s"]}
    return numbers


def gemm_of(record: dict) -> str:
    return f"{record['case']['type']} " + "x".join(str(record["facts"][side]) for side in "mnk")


def our_gemms(text: str) -> Numbers:
    return {f"gemm {gemm_of(record)}": rate(record, "flop_rate", "gemm") for record in cases(text)}


def our_sustained(text: str) -> Numbers:
    return {
        f"gemm sustained {gemm_of(record)}": rate(record, "sustained_flop_rate", "gemm")
        for record in cases(text)
    }


NVBANDWIDTH = {
    "host_to_device_memcpy_ce": "copy up, engine",
    "device_to_host_memcpy_ce": "copy down, engine",
    "host_to_device_memcpy_sm": "copy up, kernel",
    "device_to_host_memcpy_sm": "copy down, kernel",
    "device_local_copy": "copy local, engine",
}
BOTH = ("host_to_device_bidirectional_memcpy_ce", "device_to_host_bidirectional_memcpy_ce")


def nvbandwidth(text: str) -> Numbers:
    """Numbers of the first GPU. For copies both ways each test gives one side only: "at once" is the sum of
    two tests."""
    tests = json.loads(text[text.index("{") :])["nvbandwidth"]["testcases"]
    found = {t["name"]: 1e9 * float(t["bandwidth_matrix"][0][0]) for t in tests if t.get("bandwidth_matrix")}
    numbers = {NVBANDWIDTH[name]: value for name, value in found.items() if name in NVBANDWIDTH}
    if all(name in found for name in BOTH):
        numbers["copy up and down at once, engine"] = sum(found[name] for name in BOTH)
    return numbers


# ------------------------------------------------------------------ what is compared

TYPES = ("f32", "bf16")
SUSTAINED = "8192x8192x8192"
SHAPES = ("4096x4096x4096", "8192x8192x8192", "16384x1024x4096")


def groups(binaries: Path, peers: Path, device: str, mib: int, shapes: tuple[str, ...]) -> dict[str, Group]:
    def ours(program: str, seconds: float, read: Callable[[str], Numbers], *options: str) -> Side:
        command = (
            str(binaries / program),
            "--device",
            device,
            "--budget",
            f"{seconds}s",
            "--format",
            "json",
            *options,
        )
        return Side(program, command, read)

    def theirs(name: str, *options: str) -> Side:
        return Side(name, (str(peers / name), *options), json_lines)

    tests = [word for name in (*NVBANDWIDTH, *BOTH) for word in ("-t", name)]
    nvidia = Side("nvbandwidth", (str(peers / "nvbandwidth"), "-j", "-b", str(mib), *tests), nvbandwidth)
    found = {
        "copies": Group(
            (
                ours(
                    "micro/copy_path",
                    9,
                    our_copies,
                    "--direction",
                    "up,down,local",
                    "--size",
                    f"{mib}M",
                    "--path",
                    "engine,both_ways,kernel,kernel_nt",
                ),
            ),
            (theirs("copies", str(mib)), nvidia),
        ),
        "memory": Group(
            (ours("micro/memory", 3, our_memory, "--op", "read,copy,triad", "--footprint", f"{6 * mib}M"),),
            (theirs("stream", str(2 * mib)),),
        ),
        "launches": Group(
            (
                ours(
                    "micro/launch",
                    4,
                    our_launches,
                    "--variant",
                    "enqueue,back_to_back,round_trip,sync_idle,event_round_trip",
                ),
            ),
            (theirs("launches"),),
        ),
    }
    for kind in TYPES:
        found[f"gemm {kind}"] = Group(
            (
                # With all variants, as in a run.
                ours("gemm/efficiency", 8, our_gemms, "--type", kind, "--shape", ",".join(shapes)),
                ours("gemm/sustained", 3, our_sustained, "--type", kind, "--shape", SUSTAINED),
            ),
            (theirs("gemms", kind, *shapes, "sustained", SUSTAINED),),
        )
    return found


# ------------------------------------------------------------------ running and printing


def measure(group: Group, rounds: int) -> tuple[list[Numbers], dict[str, list[Numbers]], list[str]]:
    """Our numbers of each round, those of every peer, and what went wrong, each once."""
    ours: list[Numbers] = []
    theirs: dict[str, list[Numbers]] = {side.name: [] for side in group.peers}
    troubles: list[str] = []

    def run(sides: tuple[Side, ...]) -> dict[str, Numbers]:
        got = {}
        for side in sides:
            got[side.name], why = side.run()
            if why and why not in troubles:
                troubles.append(why)
        return got

    for number in range(rounds):
        first, second = (group.ours, group.peers) if number % 2 == 0 else (group.peers, group.ours)
        got = {**run(first), **run(second)}
        ours.append({key: value for side in group.ours for key, value in got[side.name].items()})
        for side in group.peers:
            theirs[side.name].append(got[side.name])
    return ours, theirs, troubles


def is_time(what: str) -> bool:
    return what.startswith(("launch", "event", "wait"))


def compare(what: str, ours: list[Numbers], theirs: dict[str, list[Numbers]]) -> dict | None:
    """Against the best peer, in the rounds in which both gave the number."""
    given = {name: [r[what] for r in rounds if what in r] for name, rounds in theirs.items()}
    medians = {name: median(values) for name, values in given.items() if values}
    if not medians:
        return None
    best = min(medians, key=medians.__getitem__) if is_time(what) else max(medians, key=medians.__getitem__)
    pairs = [(a[what], b[what]) for a, b in zip(ours, theirs[best]) if what in a and what in b]
    if not pairs:
        return None
    ratio, low, high = median_interval([b / a if is_time(what) else a / b for a, b in pairs])
    return {
        "what": what,
        "ours": median(a for a, _ in pairs),
        "peer": best,
        "theirs": median(b for _, b in pairs),
        "ratio": ratio,
        "low": low,
        "high": high,
        "rounds": len(pairs),
        "unit": "s" if is_time(what) else "flop/s" if what.startswith("gemm") else "byte/s",
    }


def mark(ratio: float) -> str:
    return (
        "below 0.95"
        if ratio < NEAR
        else "below 0.98"
        if ratio < BAR
        else "above 1.02"
        if ratio > 1.02
        else "level"
    )


def show(value: float, unit: str) -> str:
    return f"{1e6 * value:.3f} us" if unit == "s" else f"{value:.4g}"


def table(group: Group, rounds: int) -> list[dict]:
    ours, theirs, troubles = measure(group, rounds)
    rows = []
    for what in dict.fromkeys(
        key for got in (*ours, *(r for peer in theirs.values() for r in peer)) for key in got
    ):
        row = compare(what, ours, theirs)
        if row:
            rows.append(row)
            print(
                f"| {what} | {show(row['ours'], row['unit'])} | {row['peer']} | "
                f"{show(row['theirs'], row['unit'])} | "
                f"{row['ratio']:.3f} | {row['low']:.3f} .. {row['high']:.3f} | {mark(row['ratio'])} |",
                flush=True,
            )
        else:
            alone = [
                (side, r[what]) for side, got in (("ours", ours), *theirs.items()) for r in got if what in r
            ]
            side, value = alone[0]
            cells = (show(value, ""), "none", "") if side == "ours" else ("none", side, show(value, ""))
            print(f"| {what} | {' | '.join(cells)} | | | |", flush=True)
    for trouble in troubles:
        print(f"| {re.sub(r'[|]', '/', trouble)} | | | | | | |", flush=True)
    return rows


def main() -> int:
    names = ("copies", "memory", "launches", *(f"gemm {kind}" for kind in TYPES))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=512, help="of one copy; an array of memory is twice that")
    parser.add_argument("--shape", action="append", help="MxNxK of GEMMs; may be repeated")
    parser.add_argument("--only", choices=names, action="append")
    parser.add_argument("--json", type=Path, help="write the rows here as well")
    o = parser.parse_args()
    print(
        "| what | ours | peer | theirs | ratio, above 1 ours is better | interval | "
        "|\n|---|---|---|---|---|---|---|"
    )
    rows: list[dict] = []
    for name, group in groups(o.bin, o.peers, o.device, o.mib, tuple(o.shape or SHAPES)).items():
        if not o.only or name in o.only:
            rows += table(group, o.rounds)
            if o.json:
                o.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if not rows or any(row["ratio"] < NEAR for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
