# SPDX-License-Identifier: BSD-3-Clause
"""Base units for people: 1.08e11 byte/s is "108 GB/s", 65536 byte is "64 KiB"."""

from __future__ import annotations

from typing import Callable, Iterable, Optional, Sequence, Tuple, Union

_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_PARTS = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
_ENERGIES = {"J/flop": "J/FLOP", "J/op": "J/OP", "J/byte": "J/B"}
_RATES = {
    "byte/s": "B/s",
    "flop/s": "FLOP/s",
    "op/s": "OP/s",
    "Hz": "Hz",
    "W": "W",
    "1/s": "/s",
    "flop": "FLOP",
    "J": "J",
}


def scale_of(magnitude: float, unit: str) -> Tuple[float, str]:
    """The factor to divide by and the unit to show for a value of about this magnitude."""
    magnitude = abs(magnitude)
    if unit == "s":
        return (
            next(((f, u) for f, u in _SECONDS if magnitude >= f), _SECONDS[-1]) if magnitude else (1.0, "s")
        )
    if unit == "byte":
        return next(((float(f), u) for f, u in _BINARY if magnitude >= f), (1.0, "B"))
    if unit in _RATES:
        factor, prefix = next(((f, p) for f, p in _DECIMAL if magnitude >= f), (1.0, ""))
        return factor, prefix + _RATES[unit]
    if unit in _ENERGIES:
        factor, prefix = next(((f, p) for f, p in _PARTS if magnitude >= f), _PARTS[-1])
        return factor, prefix + _ENERGIES[unit]
    if unit == "degC":
        return 1.0, "°C"
    return 1.0, "" if unit in ("1", "ratio", "fraction", "count") else unit


def digits(value: float) -> str:
    """Three significant digits, in exponent form only for very large or small values."""
    size = abs(value)
    if value == int(value) and size < 1000:
        return "%d" % value
    if size >= 1e6 or 0 < size < 1e-4:
        return "%.2e" % value
    decimals = (
        0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3 if size >= 0.09995 else 4
    )
    return "{:,.{}f}".format(value, decimals)


def number_and_unit(value: float, unit: str) -> Tuple[str, str]:
    factor, shown = scale_of(value, unit)
    return digits(value / factor), shown


def human(value: Optional[float], unit: str = "") -> str:
    if value is None:
        return "–"
    number, shown = number_and_unit(value, unit)
    return (number + " " + shown).strip()


def human_interval(low: Optional[float], high: Optional[float], value: float, unit: str) -> str:
    """The interval in the unit that the value is shown in."""
    if low is None or high is None:
        return ""
    factor, _ = scale_of(value, unit)
    return "%s–%s" % (digits(low / factor), digits(high / factor))


def in_brackets(low: Optional[float], high: Optional[float], value: float, unit: str = "") -> str:
    """ " (1.2–1.4)", to follow a value; empty without an interval."""
    text = human_interval(low, high, value, unit)
    return " (%s)" % text if text else ""


def half_width(value: float, low: Optional[float], high: Optional[float], unit: str = "") -> str:
    """ "±18 %" of the value; of one near 0 as a number, unless it has a unit."""
    if not value or low is None or high is None:
        return ""
    half = (high - low) / 2
    if half < abs(value):
        return "±" + percent(half / abs(value))
    return "±" + digits(half) if half < 10 and not scale_of(value, unit)[1] else ">100 %"


NOMINAL = "nominal"  # the name of a bound that is a rate of the data sheet
BOUND = "the measured bound"  # of one without a name


def percent(fraction: Optional[float]) -> str:
    if fraction is None:
        return "–"
    return ("%.0f %%" if abs(fraction) >= 0.1 or fraction == 0 else "%.1f %%") % (100 * fraction)


def ratio_text(ratio: float) -> str:
    """Two decimals, "1.05", and of large ones three digits."""
    return "%.2f" % ratio if ratio < 9.995 else digits(ratio)


def size(value: Union[float, int]) -> str:
    """A byte count the way people write it: exact powers without decimals."""
    factor, unit = scale_of(value, "byte")
    return "%s %s" % (digits(value / factor), unit)


def axis_value(value: Union[str, int, float], unit: str) -> str:
    if isinstance(value, str):
        return value
    if unit == "byte":
        return size(value)
    return "%d" % value if value == int(value) and abs(value) < 1e15 else digits(value)


def tag(valid: bool, graded: bool) -> str:
    """The sign behind a number of a table or a heat map, where no colour can say it."""
    return " ?" if not valid else " ~" if graded else ""


TAGS = "?: flagged invalid. ~: noisy or contended."


def span(values: Iterable[float], show: Callable[[float], str] = digits) -> str:
    """ "2", or "2 to 3": the least and the largest value."""
    known = sorted(values)
    return show(known[0]) if known[0] == known[-1] else "%s to %s" % (show(known[0]), show(known[-1]))


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    return "%d %s" % (count, noun if count == 1 else plural_noun or noun + "s")


def bounded(text: str, most: int = 200) -> str:
    """The text; a longer one is cut and ends in an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def listing(words: Sequence[str], max_words: int = 4) -> str:
    """ "a, b and c", or "a, b, c and 7 more"."""
    words = list(words)
    if len(words) > max_words:
        words = words[:max_words] + ["%d more" % (len(words) - max_words)]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


_SPELLED = {
    "dil": "DIL",
    "cil": "CIL",
    "gemm": "GEMM",
    "llc": "LLC",
    "l1": "L1",
    "l2": "L2",
    "sm": "SM",
    "ecc": "ECC",
    "mig": "MIG",
    "pcie": "PCIe",
    "numa": "NUMA",
    "s": "(s)",
}


_SLOT_WAIT = "wait for a slot behind another kernel's blocks"
_NAMES = {
    "allreduce_sustained_engine_flop_rate": "sustained GEMM rate, allreduce by engine",
    "allreduce_sustained_library_flop_rate": "sustained GEMM rate, allreduce by the library",
    "batch_time_ratio_64k": "batch time ratio, 64 KiB",
    "both_engines_that_answer": "both ways, engines that answer",
    "cil_gemm_with_engine_peer": "CIL GEMM with peer (P2P) engine copy",
    "cil_gemm_with_engine_up": "CIL GEMM with up (H2D) engine copy",
    "cil_gemm_with_local_engine": "CIL GEMM with local (D2D) engine copy",
    "cil_gemm_with_local_kernel": "CIL GEMM with local (D2D) kernel copy",
    "collective_engine_overlap_efficiency": "overlap efficiency, all-gather by engine",
    "collective_kernel_overlap_efficiency": "overlap efficiency, all-gather by kernel",
    "collective_library_overlap_efficiency": "overlap efficiency, all-gather by the library",
    "collective_library_zero_cta_overlap_efficiency": "overlap efficiency, all-gather, zero-CTA library",
    "copy_bandwidth_few_units": "copy bandwidth on few units",
    "gemm_slowdown_fewer_units": "GEMM slowdown on fewer units",
    "load_latency_4k": "dependent-load latency, 4 KiB",
    "overlap_efficiency_engine": "overlap efficiency, engine copy",
    "overlap_efficiency_kernel": "overlap efficiency, kernel copy",
    "overlap_efficiency_out_of_core": "overlap efficiency, out of core",
    "reservation_speedup": "speedup by reserved units",
    "slot_wait": _SLOT_WAIT,
    "slot_wait_share": _SLOT_WAIT + ", as a share of one block",
    "swap_time_ratio_64k": "swap time ratio, 64 KiB",
    "tile_tracking_cost": "cost of tracking tiles",
}
_WAYS = {"up": "H2D", "down": "D2H", "local": "D2D", "peer": "P2P"}
_OF_COPIES = {"engine", "kernel", "engines", "streams", "wait", "turn", "chunks", "command"}


def way(direction: str) -> str:
    """The direction of a copy, and what the field calls it: "up (H2D)"."""
    return "%s (%s)" % (direction, _WAYS[direction]) if direction in _WAYS else direction


def spell(name: str) -> str:
    """An identifier as words: gemm_dil_m8 is "GEMM DIL m8", up_engine_latency_4k "up (H2D) engine latency,
    4 KiB"."""
    if name in _NAMES:
        return _NAMES[name]
    words = [word for word in name.removesuffix("_4k").split("_") if word]
    first = [way(words[0])] if _OF_COPIES.intersection(words) else []
    spelled = first + [_SPELLED.get(word, word) for word in words[len(first) :]]
    return " ".join(spelled) + ", 4 KiB" * name.endswith("_4k")
