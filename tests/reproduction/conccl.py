# SPDX-License-Identifier: BSD-3-Clause
"""ConCCL (arXiv 2412.14335) and DMA-Latte (arXiv 2511.06605) against a simulated MI300X: cases in, Markdown
out."""

from __future__ import annotations

import statistics
from typing import Iterator

from program_runs import Case
from reports.signature.sections.copy_command import PAPER_OUTSIDE
from ficco_tables import near
from torus_model import KIB, MIB, size_text, table, time_text, verdict

# The paper's memory-bound shape is not public; this one writes its C at the rate of memory.
MEMORY_BOUND = "16384x16384x128"
COMPUTE_BOUND = ("g1", "g2", "g4", "g14")
PLAIN, FIRST, ENGINE, FEWER = "plain", "communication first", "DMA", "DMA, 8 units fewer"
PAPER_FRACTIONS = {PLAIN: 0.21, FIRST: 0.42, ENGINE: 0.66, FEWER: 0.72}
POINTS, ORDER_POINTS = 0.10, 0.02
CLASSES = ("G-long", "GC-equal", "C-long")
UNITS = 304
PAPER_SLOWER = {32: 0.17, 64: 0.27}  # units fewer -> a compute-bound GEMM takes this much longer
SLOWER_POINTS = 0.05
SATURATED = 1.05
PAPER_SATURATES = {"all-gather": 32, "all-to-all": 64}

LEAST_COPY = 4 * KIB  # of micro/copy_path
FACTOR = 2.0
ONE_ENGINE = {
    KIB: 2.6,
    MIB: 1.56,
    4 * MIB: 0.61,
    256 * MIB: 0.15,
    1024 * MIB: 0.15,
}  # all-gather: b2b over pcpy


# ------------------------------------------------------------------ fraction of ideal


def scenario(case: Case) -> tuple[str, str, str]:
    return case.axes["transfer"], case.id, case.axes["size"]


def fewer_units_fraction(whole: Case, fewer: Case) -> float:
    """With the baseline and the ideal of all units: the same bytes, but some units left out where both sides
    run."""
    gain = whole.times["serial"] / fewer.times["gemm_first"]
    return (gain - 1) / (whole.value("S_ideal") - 1)


def fractions(cases: list[Case], fewer: list[Case]) -> dict[tuple[str, str, str], dict[str, float]]:
    """Scenario -> how it was run -> fraction of ideal. `fewer`: the memory-bound GEMM by engine, sizes in
    bytes."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    less = {(c.axes["transfer"], c.id, c.facts["transfer_bytes"]): c for c in fewer}
    for case in cases:
        own = found.setdefault(scenario(case), {})
        if case.axes["copy-method"] != "engine":
            own[PLAIN] = case.value("fraction_of_ideal", "gemm_first")
            own[FIRST] = case.value("fraction_of_ideal", "transfer_first")
            continue
        own[ENGINE] = own[FEWER] = case.value("fraction_of_ideal", "gemm_first")
        other = less.get((case.axes["transfer"], case.id, case.facts["transfer_bytes"]))
        if other:
            own[FEWER] = fewer_units_fraction(case, other)
    return found


def class_of(cases: list[Case]) -> dict[tuple[str, str, str], str]:
    return {scenario(c): c.facts["class"] for c in cases if c.axes["copy-method"] == "engine"}


def mean(found: dict, how: str, keys: list) -> float:
    return statistics.fmean(found[key][how] for key in keys)


def fraction_rows(found: dict, classes: dict) -> list[list[str]]:
    rows, last = [], None
    for how, paper in PAPER_FRACTIONS.items():
        value = mean(found, how, list(found))
        shares = []
        for name in CLASSES:
            keys = [key for key, own in classes.items() if own == name]
            shares.append(f"{100 * mean(found, how, keys):.0f} % ({len(keys)})" if keys else "none")
        rows.append(
            [
                how,
                f"{100 * paper:.0f} %",
                f"{100 * value:.1f} %",
                *shares,
                f"{value / paper:.2f}",
                verdict(abs(value - paper) <= POINTS),
                "" if last is None else verdict(value > last + ORDER_POINTS),
            ]
        )
        last = value
    return rows


def overlap(cases: list[Case], fewer: list[Case]) -> Iterator[str]:
    found, classes = fractions(cases, fewer), class_of(cases)
    yield from [
        "## ConCCL: fraction of the ideal gain",
        "",
        f"Paper: means of 30 scenarios. Here: means of {len(found)}, {', '.join(COMPUTE_BOUND)} divided to "
        f"at most 2 "
        f"TFLOP and one GEMM that memory limits, {MEMORY_BOUND}, bf16, each next to an all-gather and an "
        f"all-to-all that "
        "take 0.5, 1 and 2 times its time (within a tenth). By overlap/pair: plain is a copy kernel of 32 "
        "blocks "
        "(all-to-all: 64, where the paper says that each saturates) behind the GEMM, communication first the "
        "same in "
        "front of it, DMA copy engines. The last row leaves 8 units of the machine out for the GEMM that "
        "memory limits, "
        "with the baseline of all. Each is relative to serial of its own copy method. Targets: within 10 "
        "points "
        "of the "
        "paper; and its order, each at least 2 points above the one before.",
        "",
    ]
    yield from table(
        [
            "how",
            "paper",
            "here",
            *(f"{name} (scenarios)" for name in CLASSES),
            "here / paper",
            "size reached",
            "order reached",
        ],
        fraction_rows(found, classes),
    )
    yield from [
        "Why: in the model a launch whose next block fits nowhere blocks all work behind it, so plain is "
        "nearly serial; the paper's number is near, but its reason may differ. Once its blocks "
        "are resident "
        "a copy kernel takes nothing from a GEMM except memory, its units' bandwidth and space in the cache; "
        "the model "
        "has no instruction issue, no power limit and no L2 for which both would compete. So first is nearly "
        "ideal here, unlike there, and an engine can improve little.",
        "",
        "Not covered: reserving compute units for communication (41 to 42 % in the paper) has no counterpart "
        "that leaves "
        "the units to both sides; power; RCCL itself.",
        "",
    ]


def unit_rows(times: dict[int, dict[str, float]]) -> list[list[str]]:
    """`times`: units -> shape -> seconds of the GEMM."""
    rows = []
    for fewer, paper in PAPER_SLOWER.items():
        slower = {name: times[UNITS - fewer][name] / whole - 1 for name, whole in times[UNITS].items()}
        value = statistics.fmean(slower.values())
        rows.append(
            [
                f"{fewer} of {UNITS} fewer",
                f"{100 * paper:.0f} %",
                f"{100 * value:.1f} %",
                f"{100 * min(slower.values()):.1f} to {100 * max(slower.values()):.1f} %",
                f"{100 * (UNITS / (UNITS - fewer) - 1):.1f} %",
                verdict(abs(value - paper) <= SLOWER_POINTS),
            ]
        )
    return rows


def gemm_units(times: dict[int, dict[str, float]], bound: tuple[float, float]) -> Iterator[str]:
    """`bound`: seconds of the GEMM that memory limits, on all units and on 8 fewer."""
    yield from [
        "### Fewer units for a GEMM",
        "",
        f"How much longer compute-bound GEMMs take: {', '.join(times[UNITS])} at full size, bf16, on models "
        f"with fewer "
        "units. Target: the mean within 5 points. The difference from the plain ratio of units is whole "
        "tiles in waves.",
        "",
    ]
    yield from table(
        ["units", "paper", "mean here", "from, to", "ratio of units", "reached"], unit_rows(times)
    )
    gain = bound[0] / bound[1] - 1
    yield from [
        f"The GEMM that memory limits on 8 units fewer: {time_text(bound[0])} to {time_text(bound[1])}, "
        f"{100 * gain:+.1f} % as fast; paper: up to 10 % faster, for the cache is thrashed less. Faster at "
        f"all: "
        f"{verdict(gain > 0)}.",
        "",
    ]


def saturation_rows(cases: list[Case]) -> list[list[str]]:
    rows = []
    for transfer, paper in PAPER_SATURATES.items():
        times = {
            int(c.axes["copy-method"].partition(":")[2]): c.times["transfer_alone"]
            for c in cases
            if c.axes["transfer"] == transfer
            and c.axes["copy-method"].startswith("kernel:")
            and c.axes["size"] == "512M"
        }
        least = min(n for n, t in times.items() if t <= SATURATED * min(times.values()))
        rows.append(
            [
                f"{transfer}: blocks within 5 % of the fastest",
                str(paper),
                str(least),
                f"{least / paper:.2f}",
                verdict(near(least, paper, 0.5)),
            ]
        )
    return rows


def small_rows(cases: list[Case]) -> list[list[str]]:
    rows = []
    for size in ("256K", "1M", "8M", "32M"):
        times = {
            c.axes["copy-method"]: c.times["transfer_alone"]
            for c in cases
            if c.axes["transfer"] == "all-gather" and c.axes["size"] == size
        }
        ratio = times["engine"] / times["kernel:32"]
        rows.append(
            [
                f"all-gather, engine over kernel, {size} sent",
                "about 4",
                f"{ratio:.2f}",
                f"{ratio / 4:.2f}",
                verdict(near(ratio, 4, 0.5)),
            ]
        )
    return rows


def alone(cases: list[Case]) -> Iterator[str]:
    yield from [
        "### Collectives alone",
        "",
        "Paper: an all-gather saturates at 32 CUs and an all-to-all at 64; DMA collectives are about 4 times "
        "slower than "
        "RCCL below 32 MB. Here blocks of copy kernels (one a unit), 512 MiB sent by every device, and both "
        "copy methods "
        "at small sizes. Target: within half of the paper.",
        "",
    ]
    yield from table(
        ["what", "paper", "here", "here / paper", "reached"], saturation_rows(cases) + small_rows(cases)
    )
    yield from [
        "A kernel of the model saturates seven links with as few blocks as `unit_bandwidth` allows. And its "
        "start costs little less than a copy's: both are driven by events that the host enqueued beforehand, "
        "so the time does not include what a DMA collective loses to host commands.",
        "",
    ]


# ------------------------------------------------------------------ DMA-Latte


def outside(seconds: float, size: int, link: float) -> float:
    return (seconds - size / link) / seconds


def outside_rows(cases: list[Case]) -> list[list[str]]:
    known = {c.axes["size"]: c for c in cases}
    rows = []
    for size, paper in PAPER_OUTSIDE.items():
        if size not in known:
            rows.append(
                [size_text(size), f"{100 * paper:g} %", f"not here: least {size_text(LEAST_COPY)}", *[""] * 4]
            )
            continue
        link = known[size].facts["link_limit_bytes_per_s"]
        single = outside(known[size].times["engine_round_trip"], size, link)
        queued = outside(known[size].times["engine"], size, link)
        last = size == max(PAPER_OUTSIDE)
        rows.append(
            [
                size_text(size),
                ("< " if last else "") + f"{100 * paper:g} %",
                time_text(known[size].times["engine_round_trip"]),
                f"{100 * single:.1f} %",
                f"{single / paper:.2f}",
                f"{100 * queued:.1f} %",
                verdict(single < paper if last else 1 / FACTOR <= single / paper <= FACTOR),
            ]
        )
    return rows


def falls(cases: list[Case]) -> bool:
    shares = [
        outside(c.times["engine_round_trip"], c.axes["size"], c.facts["link_limit_bytes_per_s"])
        for c in sorted(cases, key=lambda c: c.axes["size"])
    ]
    return all(a > b for a, b in zip(shares, shares[1:]))


def one_engine_rows(cases: list[Case]) -> list[list[str]]:
    rows = []
    for case in cases:
        size = case.facts["m"] * case.facts["k"] * 2
        if size not in ONE_ENGINE or case.reason:
            continue
        paper, ratio = ONE_ENGINE[size], case.times["communication"] / case.times["shard-transfers"]
        rows.append(
            [
                size_text(size),
                f"{paper:g}",
                f"{ratio:.3f}",
                f"{ratio / paper:.2f}",
                verdict(near(ratio, paper, 0.1)),
            ]
        )
    return rows


def copies(cases: list[Case], gathers: list[Case]) -> Iterator[str]:
    yield from [
        "## DMA-Latte: overhead of a copy",
        "",
        "One copy by an engine to a peer, from the call until the host has waited for it (micro/copy_path, "
        "engine_round_trip); the overhead is the time minus bytes over the link's bandwidth, over the time. "
        "Paper: "
        "measured "
        "phases of a copy on MI300X (control, schedule, copy, sync), and its copy may have its own start-up "
        "time, which "
        'makes its shares smaller for small copies. "Queued": the same of many copies enqueued '
        "beforehand, "
        f"without host and sync. Target: within a factor of {FACTOR:g}.",
        "",
    ]
    yield from table(
        ["size", "paper", "one copy here", "outside", "here / paper", "queued", "reached"],
        outside_rows(cases),
    )
    yield from [
        f"The share falls with every size: {verdict(falls(cases))}. The fixed part here is copy_ns, "
        f"peer_latency_ns, "
        "host_call_ns and host_sync_ns of the model; none is from that paper.",
        "",
        "### All-gather by one engine",
        "",
        "Paper: b2b (all copies on one engine, one sync) over pcpy (an engine a peer). Here shard-transfers "
        "and the "
        "communication of overlap/ficco on 8 devices: the same copies, in one stream and in seven, all "
        "enqueued "
        "beforehand. Size: of the whole vector. Target: within 10 %.",
        "",
    ]
    yield from table(["size", "paper", "here", "here / paper", "reached"], one_engine_rows(gathers))
    yield from [
        "Large sizes follow from one link at a time. For small ones b2b is faster in the paper because it "
        "saves six syncs; here a copy costs copy_ns on any stream, so one stream costs seven. Broadcast and "
        "swap packets have no counterpart in the suite: no program sends one. Prelaunched copies, and a copy "
        "beside the copy back, are in micro/copy_command.",
        "",
    ]
