# SPDX-License-Identifier: BSD-3-Clause
"""A signature's measured curves as the lines that advise/advise.h reads, and what is missing for better
advice."""

from __future__ import annotations

import math
import re
import statistics

from reports.advice.chunks import add_chunks
from reports.advice.contention import add_contention, exchange_ratio
from reports.advice.early import add_early_sends
from reports.advice.lines import (
    LINKS,
    MAX_GEMMS,
    MAX_POINTS,
    Machine,
    curves_of,
    device_of,
    program_of,
    why_missing,
)
from reports.records.jsonl import Json, is_number

_SIDES = re.compile(r"(\d{1,9})×(\d{1,9})×(\d{1,9})\Z")
_SHAPED = re.compile(
    r"overlap/shaping/normalised_time\{variant=(shaped|priority|shaped_priority),.*?shared=(\d+)"
)
_KERNELS = ("kernel_nt", "kernel")  # of as many blocks as keep the device busy


def _points(curve: Json) -> list[tuple[float, float]]:
    return [(p["x"], p["value"]) for p in curve["points"] if is_number(p["x"]) and is_number(p["value"])]


def _metric(signature: Json, name: str) -> float | None:
    entry = signature["metrics"].get(name)
    return entry["value"] if entry and is_number(entry["value"]) else None


# ------------------------------------------------------------------ GEMMs


def _sides_of(program: Json, where: Json) -> tuple[float, float, float] | None:
    wanted = {k: str(v) for k, v in where.items()}
    for key, facts in program["facts"].items():
        own = dict(word.split("=", 1) for word in key.split() if "=" in word)
        if own == wanted and all(is_number(facts.get(s)) for s in "mnk"):
            return float(facts["m"]), float(facts["n"]), float(facts["k"])
    return None


def _gemms(signature: Json) -> dict[str, list[tuple[float, ...]]]:
    """type -> (m, n, k, adds, seconds): whole ones first, then pieces of cut ones, the fewest pieces
    first."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for row in program_of(signature, "gemm/efficiency")["results"].get("rates", []):
        match = _SIDES.search(str(row["shape"]))
        if match and row["variant"] == "gemm" and row["value"] > 0:  # not with fast accumulation
            m, n, k = (float(g) for g in match.groups())
            found.setdefault(row["type"], []).append((m, n, k, 0.0, 2 * m * n * k / row["value"]))
    split = program_of(signature, "gemm/split")
    pieces = []
    for curve in curves_of(signature, "gemm/split", "flop_rate"):
        sides = _sides_of(split, curve["where"])
        if sides is None or curve["axis"] not in ("m", "n", "k"):
            continue
        cut, kind = "mnk".index(curve["axis"]), str(curve["where"].get("type", ""))
        for count, rate in _points(curve):
            if not (count >= 1 and rate > 0):
                continue
            seconds = 2 * sides[0] * sides[1] * sides[2] / rate / count
            part = [s / count if i == cut else s for i, s in enumerate(sides)]
            pieces.append((count, kind, (*part, (count - 1) / count if cut == 2 else 0.0, seconds)))
    for _, kind, piece in sorted(pieces):
        if min(piece[:3]) >= 1:
            found.setdefault(kind, []).append(piece)
    return found


def _add_gemms(signature: Json, machine: Machine) -> None:
    for kind, rows in _gemms(signature).items():
        for row in rows[:MAX_GEMMS]:
            machine.add("gemm", kind, *(float(x) for x in row))
    if not curves_of(signature, "gemm/split", "flop_rate"):
        machine.notes.append(
            "the cost of cutting is taken from whole GEMMs of other shapes, because gemm/split has no value%s"
            % why_missing(signature, "gemm/split")
        )


# ------------------------------------------------------------------ copies


def _blocks_to_saturate(signature: Json, link: str) -> float | None:
    """More blocks copy no faster, and leave less of the device to the GEMM."""

    def size(row: Json) -> float:
        value = row["where"].get("size")
        return value if is_number(value) else 0

    rows = [
        r
        for r in program_of(signature, "micro/copy_path")["results"].get("saturation", [])
        if r["copy_method"] == "kernel" and r["where"].get("direction") == link and is_number(r["blocks"])
    ]
    return max(rows, key=size)["blocks"] if rows else None


def _kernel_of(rates: dict[str, Json], blocks: float | None) -> str | None:
    """The measured kernel whose number of blocks is nearest."""
    counted = {int(name[7:]): name for name in rates if re.fullmatch(r"kernel_\d{1,6}", name)}
    if blocks and counted:
        return counted[min(counted, key=lambda b: (abs(math.log(b / blocks)), b))]
    return next((k for k in _KERNELS if k in rates), None)


def _blocks_of(signature: Json, kernel: str) -> int:
    """Blocks of a variant of micro/copy_path; without a number in its name it is one wave."""
    if re.fullmatch(r"kernel_\d{1,6}", kernel):
        return int(kernel[7:])
    wave = device_of(signature).get("busy_blocks")
    return int(wave) if is_number(wave) and wave >= 1 else 1


def _add_both_ways(signature: Json, machine: Machine, link: str, blocks: float) -> None:
    """Between peers every device sends by its own engine or units, as in micro/copy_contention; one device
    that copies in both directions shares its engines between them."""
    known = set()
    for method in ("engine", "kernel"):
        found = exchange_ratio(signature, method, blocks) if link == "peer" else None
        if found:
            machine.curve(("bothways", method, link), [found])
            known.add(method)
    for curve in [] if "engine" in known else curves_of(signature, "micro/copy_path", "both_ways_time_ratio"):
        if curve["where"].get("direction") == link and curve["variant"] == "both_ways":
            machine.curve(("bothways", "engine", link), _points(curve))
            if link == "peer":
                machine.add("onedevice", "engine", link)


def _add_copies(signature: Json, machine: Machine, blocks: int | None) -> None:
    known = set()
    for link in LINKS:
        # A curve over numbers of blocks is of no one variant.
        rates = {
            c["variant"]: c
            for c in curves_of(signature, "micro/copy_path", "bandwidth")
            if c["variant"] and c["where"].get("direction") == link
        }
        kernel = _kernel_of(rates, blocks or _blocks_to_saturate(signature, link))
        for method, variant in (("engine", "engine"), ("kernel", kernel)):
            if variant in rates:
                points = [(x, x / rate) for x, rate in _points(rates[variant]) if rate > 0]
                machine.curve(("copy", method, link), points)
                known.add(link)
        count = blocks or (_blocks_of(signature, kernel) if kernel else 1)
        if kernel:
            machine.add("blocks", link, count)
        _add_both_ways(signature, machine, link, float(count))
    if known and "peer" not in known:
        machine.notes.append(
            "copies between devices are assumed to be as fast as those between host and device, because peer "
            "copies were not measured by micro/copy_path --direction peer%s"
            % why_missing(signature, "micro/copy_path", "direction=peer")
        )


def _add_device(signature: Json, machine: Machine) -> None:
    device = device_of(signature)
    for word, name in (("cache", "llc_bytes"), ("units", "units"), ("engines", "copy_engines")):
        if is_number(device.get(name)) and device[name] > 0:
            machine.add(word, int(device[name]))
    curves = curves_of(signature, "collectives/device_allreduce", "bus_bandwidth")
    rates = [y for c in curves for _, y in _points(c) if y > 0]
    if rates:
        machine.add("ingress", float(max(rates)))
    else:
        machine.notes.append(
            "all peers together are assumed to send as fast as one, because collectives/device_allreduce has "
            "no value%s" % why_missing(signature, "collectives/device_allreduce")
        )


# ------------------------------------------------------------------ the rest


def _add_costs(signature: Json, machine: Machine) -> None:
    hop = _metric(signature, "micro/launch/stream_hop_time{variant=stream_hop}")
    launch = _metric(signature, "micro/launch/time{variant=back_to_back}")
    if hop is None or launch is None:
        machine.notes.append(
            "waiting for another stream is assumed to cost nothing, because micro/launch has no value%s"
            % why_missing(signature, "micro/launch")
        )
    else:
        machine.add("hop", max(0.0, hop - launch))
    curves = [c for c in curves_of(signature, "micro/memory", "bandwidth") if c["variant"] == "regular"]
    triad = [c for c in curves if c["where"].get("op") == "triad"]
    if not triad:
        machine.notes.append(
            "adding received data is assumed to cost nothing, because micro/memory has no value%s"
            % why_missing(signature, "micro/memory")
        )
    else:  # two operands read, one written: a third of the footprint each
        points = [(x / 3, x / rate + (launch or 0.0)) for x, rate in _points(triad[0]) if rate > 0]
        machine.curve(("reduce",), points)


def _add_shaped(signature: Json, machine: Machine) -> None:
    """The setting of overlap/shaping that gains most over plain overlap, by the median over its scenarios."""
    ratios: dict[tuple[float, int], list[float]] = {}
    for name, entry in signature["metrics"].items():
        match = _SHAPED.match(name)
        few_blocks = re.search(r",grid=[1-9]", name)  # a GEMM that leaves slots free by itself
        if match and not few_blocks and is_number(entry["value"]):
            shared = float(match.group(2)) if match.group(1) != "priority" else 0.0
            ratios.setdefault((shared, int(match.group(1) != "shaped")), []).append(entry["value"])
    if ratios:
        (shared, high), values = min(ratios.items(), key=lambda r: (statistics.median(r[1]), r[0]))
        machine.add("shaped", shared, high, float(statistics.median(values)))


def _add_shaping(signature: Json, machine: Machine) -> None:
    def values(derived: str, variant: str) -> dict[float, float]:
        curves = curves_of(signature, "micro/occupancy", derived)
        return next((dict(_points(c)) for c in curves if c["variant"] == variant), {})

    rates, waits = values("flop_rate", "load"), values("time", "loaded_wait")
    for shared in sorted(s for s in set(rates) & set(waits) if rates[s] > 0 and waits[s] > 0)[:MAX_POINTS]:
        machine.add("occupancy", float(shared), float(rates[shared]), float(waits[shared]))
    ratios = [
        m["value"]
        for name, m in sorted(signature["metrics"].items())
        if name.startswith("micro/priority/wait_ratio{variant=high") and is_number(m["value"])
    ]
    if ratios:
        machine.add("priority", float(ratios[-1]))


def _ranks(shape: str) -> int:
    is_shape = re.fullmatch(r"\d{1,6}(x\d{1,6})*", shape)
    return math.prod(int(side) for side in shape.split("x")) if is_shape else 0


def _add_allreduce(signature: Json, machine: Machine) -> None:
    """Among devices; where there are none, among ranks."""
    for name in ("collectives/device_allreduce", "collectives/allreduce"):
        program = program_of(signature, name)
        counts = {f.get("devices") for f in program["facts"].values() if is_number(f.get("devices"))}
        count, found = int(counts.pop()) if len(counts) == 1 else 0, False
        for curve in curves_of(signature, name, "bandwidth"):
            devices = _ranks(str(curve["where"].get("shape", ""))) or count
            is_named = re.fullmatch(r"[\w.-]{1,23}", str(curve["variant"]))
            if devices < 2 or curve["axis"] != "size" or not is_named:
                continue
            points = [(x, x / rate) for x, rate in _points(curve) if rate > 0]
            machine.curve(("allreduce", curve["variant"], devices), points)
            found = True
        if found:
            return


def machine_of(signature: Json, blocks: int | None = None) -> Machine:
    """`blocks`: of a kernel that copies; None: the smallest number that saturates the link."""
    machine = Machine()
    machine.lines.append("# %s" % signature["device"])
    _add_gemms(signature, machine)
    _add_copies(signature, machine, blocks)
    _add_device(signature, machine)
    add_contention(signature, machine)
    _add_costs(signature, machine)
    _add_shaping(signature, machine)
    _add_shaped(signature, machine)
    _add_allreduce(signature, machine)
    add_early_sends(signature, machine)
    add_chunks(signature, machine)
    return machine
