# SPDX-License-Identifier: BSD-3-Clause
"""The library's GEMM: its tiles, and what a unit computes of each type.

All tilings of a grid are tried with the law of the simulator (gemm_law.py), over all GEMMs that were
measured. For each one a type has the rate that explains its GEMMs best, and the tiling with the least squares
of log(predicted / measured) over all of them is the machine's. A real library has many tiles, so there the
tiling is the one that resembles it most, and the residual says how much."""

from __future__ import annotations

import math
from statistics import median
from typing import Iterator, NamedTuple, Optional, Union

from reports.model.gemm_law import ELEMENT_BYTES, Machine, Tiling, Wave, gemm_ns, waves
from reports.model.gemm_samples import Sample, samples_of
from reports.model.key import Key, Missing
from reports.model.measured import Measured
from reports.records.quantity import percent

Found = dict[str, Union[int, float, str]]
_Samples = dict[str, "_Gemms"]  # by type
_Model = tuple[Tiling, Machine]
_Costs = list[tuple[int, list[Wave]]]  # how many GEMMs, and the waves of one

EFFICIENCY = "gemm/efficiency/flop_rate"
_FROM = "gemm/efficiency, gemm/split"
_SIDES = (512, 256, 128, 64, 32, 16, 8)
_OBLONG = 4  # the longer side, of the shorter one
_TILES = sorted(
    ((rows, columns) for rows in _SIDES for columns in _SIDES if 1 / _OBLONG <= rows / columns <= _OBLONG),
    key=lambda t: max(t) / min(t),
)
_LEAST = (0, 64, 32, 128, 256, 16)
_CUTS = [(t, least) for t in _TILES for least in _LEAST if max(t) >= 2 * least]
_SUM_BYTES = 4  # of an element of C in f32
_CLAIMS = (8, 6, 5, 4, 3, 2, 1)
_TELLS_REGISTERS = 3  # GEMMs of f64, whose tiles they limit first
_CLAIMS_FEW = (256, 1)
_SMALL_BLOCKS = 32  # that registers hold, where a block without sums has few
_REGISTER_BYTES = (0, 256 << 10, 512 << 10, 128 << 10)
# Tried where tiles alone leave more than _EXPLAINED (rms), and kept if less than _BETTER of that is left.
_START_NS, _TILE_NS, _TRAFFIC_SHARES = (0.0, 3e3, 4e4), (0.0, 300.0, 5e3), (1.0, 0.4, 0.1)
_EXPLAINED, _BETTER = 0.03, 0.9
_SHARES = (1.0, 0.5, 0.25, 0.125)
# Rates of the last cache that are tried where no program tells it, and the factor to which they are refined.
_CACHE_RATES, _CACHE_STEP = 7, 1.01
# Relative to the fastest GEMM of a type; if a loop of multiply-adds was measured, to the faster one, as GEMMs
# may use other units; and where none was.
_LEAST_RATE, _MOST_OF_LOOP, _MOST_RATE = 0.93, 1.1, 10.0
_QUANTILES = (0.5, 0.75, 0.9, 1.0)
_CLIPPED = math.log(2)  # what is off by more counts as so much
_MANY = 10  # GEMMs of a type; more say no more of it
_FEW = 10  # GEMMs of a type in the first round
_BEST, _REFINED = 24, 8  # tilings in the second round, and in the third
# Residuals (rms) that are so close are equal: then the tiling that comes first.
_SAME, _EXACT = 1.02, 2e-4
_NOISE = 5e-3  # differences that noise explains, where there is so much
_UNEXPLAINED = 2  # times the noise
_AS_WELL = 2  # of squares, which a rate that is too high changes by far more
_RATE_LIMITS = (1.0, 1e18)  # of device/sim/model/model.c


class _Gemms(NamedTuple):
    """Those of one type, and between which rates of a unit its own is."""

    samples: list[Sample]
    least: float
    most: float


class _Fit(NamedTuple):
    rms: float
    tiling: Tiling
    machine: Machine
    flops: dict[str, float]  # by type, of a unit
    off: dict[str, list[float]]  # log(predicted / measured), by type


# ------------------------------------------------------------------ one tiling


class _Times(NamedTuple):
    """The GEMMs of one type with one tiling."""

    costs: list[tuple[_Costs, float]]  # of each, and what it took
    tiling: Tiling
    machine: Machine

    def ns(self, costs: _Costs, flops: float) -> float:
        return sum(times * gemm_ns(found, flops, self.tiling, self.machine) for times, found in costs)

    def off(self, flops: float) -> list[float]:
        return [math.log(self.ns(costs, flops) / ns) for costs, ns in self.costs]

    def flops_of(self, costs: _Costs, ns: float) -> Optional[float]:
        """The rate with which this GEMM takes so long; None: computing does not decide its time."""
        start_ns = self.machine.launch_ns + self.tiling.start_ns
        left = ns - sum(
            times * (start_ns + sum(w.times * w.block_ns for w in found)) for times, found in costs
        )
        flat = [w._replace(times=times * w.times) for times, found in costs for w in found]
        while flat and left > 0:
            ns_per_flop = left / sum(w.times * w.flop for w in flat)
            hidden = [w for w in flat if w.flop * ns_per_flop < w.other_ns]
            if not hidden:
                return 1e9 / ns_per_flop
            left -= sum(w.times * w.other_ns for w in hidden)
            flat = [w for w in flat if w.flop * ns_per_flop >= w.other_ns]
        return None


def _times(of_type: list[Sample], tiling: Tiling, machine: Machine) -> _Times:
    found = [([(p.times, waves(p, tiling, machine)) for p in s.parts], s.ns) for s in of_type]
    return _Times(found, tiling, machine)


def _squares(off: list[float]) -> float:
    return sum(min(x * x, _CLIPPED * _CLIPPED) for x in off)


def _refined(times: _Times, flops: float) -> float:
    """Least squares near `flops`, by golden section."""
    low, high, golden = math.log(flops / 1.25), math.log(flops * 1.25), (math.sqrt(5) - 1) / 2
    for _ in range(16):
        a, b = high - golden * (high - low), low + golden * (high - low)
        if _squares(times.off(math.exp(a))) <= _squares(times.off(math.exp(b))):
            high = b
        else:
            low = a
    return math.exp((low + high) / 2)


def _rate_of(gemms: _Gemms, times: _Times, exact: bool) -> float:
    """A GEMM that traffic limits, and not computing, gives a rate that is too low, if any."""
    known = sorted(rate for c, ns in times.costs if (rate := times.flops_of(c, ns)) is not None)
    if not known:
        return gemms.least / _LEAST_RATE
    tried = {known[math.ceil(q * (len(known) - 1))] for q in (_QUANTILES if exact else _QUANTILES[::2])}
    best = min(sorted(tried), key=lambda flops: _squares(times.off(flops)))
    rate = _refined(times, best) if exact else best
    return min(max(rate, gemms.least), gemms.most)


def _fit(samples: _Samples, tiling: Tiling, machine: Machine, exact: bool) -> _Fit:
    flops: dict[str, float] = {}
    off: dict[str, list[float]] = {}
    for type_, gemms in samples.items():
        times = _times(gemms.samples, tiling, machine)
        flops[type_] = _rate_of(gemms, times, exact)
        off[type_] = times.off(flops[type_])
    weights = {type_: min(len(of_type), _MANY) for type_, of_type in off.items()}
    square = sum(weights[t] * _squares(off[t]) / len(off[t]) for t in off) / sum(weights.values())
    return _Fit(math.sqrt(square), tiling, machine, flops, off)


# ------------------------------------------------------------------ all tilings


def _tilings(machine: Machine, found: Found, of_f64: int) -> Iterator[Tiling]:
    """All that are tried: what needs fewer keys comes first, and then square tiles."""
    known = found.get("registers_per_unit_bytes")
    tried = _REGISTER_BYTES if of_f64 >= _TELLS_REGISTERS else (0,)
    for registers in tried if known is None else (int(known),):
        of_blocks = (registers // machine.slots, registers // _SMALL_BLOCKS)
        if "block_register_bytes" in found:
            of_blocks = (int(found["block_register_bytes"]),)
        claims = (256, *(c for c in _CLAIMS if c < machine.slots))
        for of_block, claim in sorted({(-bytes_, -claim) for bytes_ in of_blocks for claim in claims}):
            for (rows, columns), least in _CUTS:
                if registers == 0 or rows * columns * _SUM_BYTES <= registers:
                    yield Tiling(rows, columns, least, -claim, registers, -of_block)


def _few(gemms: _Gemms) -> _Gemms:
    """Some of all sizes."""
    ordered = sorted(gemms.samples, key=lambda s: s.ns)
    count = min(_FEW, len(ordered))
    return gemms._replace(samples=[ordered[(2 * i + 1) * len(ordered) // (2 * count)] for i in range(count)])


def _ranked(samples: _Samples, tried: list[_Model]) -> list[int]:
    """Those tried, by how well they explain some GEMMs."""
    few = {type_: _few(of_type) for type_, of_type in samples.items()}
    rms = [_fit(few, *model, exact=False).rms for model in tried]
    return sorted(range(len(tried)), key=lambda i: rms[i])


def _fine(samples: _Samples, tried: list[_Model]) -> list[_Fit]:
    """Those that explain some GEMMs best, in their order, for all GEMMs."""
    return [_fit(samples, *tried[i], exact=True) for i in sorted(_ranked(samples, tried)[:_BEST])]


def _first(fits: list[_Fit], noise: float) -> _Fit:
    """The first of those that explain all GEMMs about as well as the best does."""
    least = min(f.rms for f in fits)
    return next(f for f in fits if f.rms <= least * _SAME + max(_EXACT, min(noise, _NOISE)))


def _near(fit: _Fit, samples: _Samples) -> _Fit:
    """The best costs near those of a fit, one changed after the other."""
    step = 2.0
    while step > 1.05:
        before = fit.rms
        for name, most in (("start_ns", math.inf), ("tile_ns", math.inf), ("traffic_share", 1.0)):
            value = getattr(fit.tiling, name)
            tried = [fit.tiling._replace(**{name: v}) for v in (value / step, min(most, value * step))]
            found = [
                f for t in tried if t != fit.tiling and (f := _fit(samples, t, fit.machine, exact=False))
            ]
            fit = min([fit, *found], key=lambda f: f.rms)
        if fit.rms >= before:
            step = math.sqrt(step)
    return fit


def _with_cache(fits: list[_Fit], samples: _Samples) -> _Fit:
    """The best rate of the last cache, between those of memory and of all units, and its tiling. What bounds
    reads shows in GEMMs of small tiles, of types that compute fast."""
    machine = fits[0].machine
    low, high = machine.memory_bandwidth, machine.units * machine.unit_bandwidth
    step = (high / low) ** (1 / (_CACHE_RATES + 1))
    rates = [low * step**i for i in range(1, _CACHE_RATES + 1)]

    def at(fit: _Fit, rate: float) -> _Fit:
        return _fit(samples, fit.tiling, fit.machine._replace(llc_bandwidth=rate), exact=False)

    best = min((at(fit, rate) for fit in fits for rate in rates), key=lambda f: f.rms)
    while step > _CACHE_STEP:
        step = math.sqrt(step)
        rate = best.machine.llc_bandwidth
        best = min([best, at(best, rate * step), at(best, rate / step)], key=lambda f: f.rms)
    return _fit(samples, best.tiling, best.machine, exact=True)


def _knows_no_cache(machine: Machine) -> bool:
    """No program told the rate of the last cache, and there is one between those of memory and all units."""
    most = machine.units * machine.unit_bandwidth
    return machine.llc_bandwidth == math.inf and machine.memory_bandwidth < most < math.inf


def _model(samples: _Samples, machine: Machine, found: Found) -> _Fit:
    shares = _SHARES if "block_share" not in found else (machine.block_share,)
    noise = median(s.error for of_type in samples.values() for s in of_type.samples)
    of_f64 = len(samples["f64"].samples) if "f64" in samples else 0
    tilings = list(_tilings(machine, found, of_f64))
    plain = [t for t in tilings if t.claims in _CLAIMS_FEW]
    tried = [(t, machine._replace(block_share=share)) for t in plain for share in shares]
    tiles = {tried[i][0][:3] for i in _ranked(samples, tried)[:_BEST]}
    tried = [(t, machine._replace(block_share=share)) for t in tilings if t[:3] in tiles for share in shares]
    fine = _fine(samples, tried)
    fit = _first(fine, noise)
    if fit.rms > _UNEXPLAINED * noise and _knows_no_cache(machine):
        cached = _with_cache(sorted(fine, key=lambda f: f.rms)[:_REFINED], samples)
        if cached.rms < _BETTER * fit.rms:
            rate = cached.machine.llc_bandwidth
            tried = [(tiling, other._replace(llc_bandwidth=rate)) for tiling, other in tried]
            fit = _first(_fine(samples, tried), noise)
    if fit.rms < _EXPLAINED:
        return fit
    costs = [(start, tile, share) for start in _START_NS for tile in _TILE_NS for share in _TRAFFIC_SHARES]
    tried = [
        (t._replace(start_ns=start_ns, tile_ns=tile_ns, traffic_share=share), fit.machine)
        for start_ns, tile_ns, share in costs
        for t in plain
        if t.register_bytes == fit.tiling.register_bytes
    ]
    near = [_near(f, samples) for f in sorted(_fine(samples, tried), key=lambda f: f.rms)[:_REFINED]]
    other = _first([_fit(samples, n.tiling, n.machine, exact=True) for n in near], noise)
    return other if other.rms < _BETTER * fit.rms else fit


# ------------------------------------------------------------------ keys


def _machine(found: Found) -> Machine:
    def rate(name: str) -> float:
        return float(found.get(name, math.inf))

    def number(name: str) -> float:
        return float(found.get(name, 0))

    return Machine(
        units=int(found.get("units", 0)),
        slots=int(found.get("slots_per_unit", 8)),
        launch_ns=number("launch_ns"),
        block_ns=number("block_ns"),
        host_call_ns=number("host_call_ns"),
        unit_bandwidth=rate("unit_bandwidth"),
        llc_bandwidth=rate("llc_bandwidth"),
        memory_bandwidth=rate("memory_bandwidth"),
        llc_bytes=rate("llc_bytes"),
        llc_tracked=bool(found.get("llc_tracked", 0)),
        llc_through=found.get("llc_writes") == "through",
        block_share=float(found.get("block_share", 1)),
    )


def _loops(measured: Measured, type_: str, units: int, *variants: str) -> list[float]:
    """Rates of a unit in gemm/efficiency's loops of multiply-adds."""
    values = [v for name in variants for v in measured.all(EFFICIENCY, variant=name, type=type_)]
    return [v.value / units for v in values if v.value > 0]


def _gemms(measured: Measured, machine: Machine) -> _Samples:
    samples: dict[str, list[Sample]] = {}
    for sample in samples_of(measured, machine):
        samples.setdefault(sample.type, []).append(sample)
    found: _Samples = {}
    for type_, of_type in samples.items():
        fastest = max(s.flop / s.ns * 1e9 for s in of_type) / machine.units
        loops = _loops(measured, type_, machine.units, "peak", "mma_peak", "wgmma_peak")
        most = _MOST_OF_LOOP * max([fastest, *loops]) if loops else _MOST_RATE * fastest
        found[type_] = _Gemms(of_type, _LEAST_RATE * fastest, most)
    return found


def _efficiency(fit: _Fit, peaks: dict[str, float]) -> tuple[float, str]:
    """By the first type whose peak is known: that of f32 is what kernels compute with."""
    for type_, peak in peaks.items():
        ratio = fit.flops[type_] / peak
        if ratio <= 1:
            return ratio, "%s GEMMs by gemm/efficiency's loop of multiply-adds" % type_
        return 1.0, "%s GEMMs exceed gemm/efficiency's loop of multiply-adds, %s of it" % (
            type_,
            percent(ratio),
        )
    return 1.0, "no peak of multiply-adds was measured: flops_* are what GEMMs reach"


def _shared_bytes(fit: _Fit, found: Found) -> Key | Missing:
    name, claims = "gemm_tile_shared_bytes", fit.tiling.claims
    per_unit, per_block = found.get("shared_per_unit_bytes"), found.get("shared_per_block_bytes")
    if claims >= fit.machine.slots:
        return Key(name, 0, "fitted: shared memory does not limit how many GEMM blocks a unit holds")
    if per_unit is None or per_block is None:
        return Missing((name,), "the device does not report how much shared memory a unit has")
    grain = int(found.get("shared_granularity_bytes", 1024))
    # The most would leave nothing for a block of another kernel, which on machines runs with a GEMM's.
    least = (int(per_unit) // (claims + 1) // grain + 1) * grain - int(found.get("shared_reserved_bytes", 0))
    text = "fitted: the least with which a unit holds %d of its blocks, and others, too" % claims
    return Key(name, max(min(least, int(per_block)), 0), text)


def _registers(fit: _Fit, found: Found) -> Iterator[Key]:
    if not fit.tiling.register_bytes or "registers_per_unit_bytes" in found:
        return
    text = "fitted, of 128K, 256K and 512K: f64's tiles are smaller, or fewer resident"
    yield Key("registers_per_unit_bytes", fit.tiling.register_bytes, text)
    if "block_register_bytes" not in found:
        yield Key("block_register_bytes", fit.tiling.block_register_bytes, "a part of them for every slot")


def _cache_rate(fit: _Fit, machine: Machine, error: float) -> Iterator[Key]:
    """The rate of the last cache, where no program told it."""
    most = machine.units * machine.unit_bandwidth
    if fit.machine.llc_bandwidth != machine.llc_bandwidth:
        yield Key("llc_bandwidth", fit.machine.llc_bandwidth, "fitted with the tiles of GEMMs", error)
    elif machine.llc_bandwidth == math.inf and most < math.inf:
        yield Key("llc_bandwidth", most, "at least: what all units read, as it limits no GEMM", error)


def _costs_of_tiles(fit: _Fit) -> Iterator[Key]:
    t, text = fit.tiling, "fitted with the tiles, which explain the times of GEMMs less well alone"
    if t.start_ns > 0:
        yield Key("gemm_ns", t.start_ns, text)
    if t.tile_ns > 0:
        yield Key("gemm_block_ns", t.tile_ns, text)
    if t.traffic_share < 1:
        yield Key("gemm_traffic_share", t.traffic_share, text)


def _rate(fit: _Fit, type_: str, gemms: _Gemms, efficiency: float) -> Key | Missing:
    off = [abs(x) for x in fit.off[type_]]
    name, value = "flops_" + type_, fit.flops[type_] / efficiency
    if not _RATE_LIMITS[0] <= value <= _RATE_LIMITS[1]:
        return Missing((name,), "%g flop/s of a unit is no rate that a model may have" % value)
    faster = _times(gemms.samples, fit.tiling, fit.machine).off(2 * fit.flops[type_])
    is_bound = _squares(faster) < _AS_WELL * _squares(fit.off[type_])
    bound = "at least: twice as much explains as well; " if is_bound else ""
    text = "%s: %s%d GEMMs, whose times are off by %s in the median, %s at most" % (
        _FROM,
        bound,
        len(off),
        percent(median(off)),
        percent(math.expm1(max(off))),
    )
    return Key(name, value, text, median(off))


def keys(measured: Measured, found: Found) -> Iterator[Key | Missing]:
    names = ("gemm_tile", "gemm_tile_columns", "gemm_tile_min", "gemm_tile_shared_bytes", "gemm_efficiency")
    machine = _machine(found)
    rates = tuple("flops_" + type_ for type_ in ELEMENT_BYTES)
    if not machine.units:
        yield Missing((*names, *rates), "the device does not report how many units it has")
        return
    samples = _gemms(measured, machine)
    if not samples:
        yield Missing((*names, *rates), "no GEMM was measured: gemm/efficiency")
        return
    fit = _model(samples, machine, found)
    loops = {t: _loops(measured, t, machine.units, "peak") for t in ("f32", "f64") if t in samples}
    efficiency, why = _efficiency(fit, {t: median(rates) for t, rates in loops.items() if rates})
    off = [abs(x) for of_type in fit.off.values() for x in of_type]
    text = "%s: the best of a grid of tiles for %d GEMMs" % (_FROM, len(off))
    for name, value in zip(names, (fit.tiling.rows, fit.tiling.columns, fit.tiling.least)):
        yield Key(name, value, text, median(off))
    yield _shared_bytes(fit, found)
    yield from _registers(fit, found)
    yield from _costs_of_tiles(fit)
    if "block_share" not in found:
        yield Key("block_share", fit.machine.block_share, "fitted with the tiles of GEMMs", median(off))
    yield from _cache_rate(fit, machine, median(off))
    yield Key("gemm_efficiency", efficiency, why)
    for type_, gemms in samples.items():
        yield _rate(fit, type_, gemms, efficiency)
    absent = tuple("flops_" + type_ for type_ in ELEMENT_BYTES if type_ not in samples)
    if absent:
        yield Missing(absent, "no GEMM of this type was measured: gemm/efficiency")
