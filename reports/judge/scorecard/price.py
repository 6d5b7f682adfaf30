# SPDX-License-Identifier: BSD-3-Clause
"""Price and power of machines, what the dearer ones buy, and which are dominated in speed, price and power.

A file with a line a machine: NAME PRICE CURRENCY[/h] [POWER], such as "node-a 250000 EUR 10.2kW" or "node-b
31.2 USD/h". What is wrong in it is named, and the rest is used.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple, Sequence

from reports.judge.compare.numbers import BadNumbers
from reports.records.jsonl import BadRecord, Json, is_number, open_regular, parse_line, read_lines, real_in
from reports.signature.machine import main_devices
from reports.judge.scorecard.machines import Machine
from reports.judge.scorecard.metrics import Row
from reports.judge.scorecard.ranking import NO_MATTER, Ratio, is_ahead
from reports.judge.scorecard.workload import Mix, Time
from reports.judge.scorecard.workload_file import lines_of
from reports.records.state import telemetry_of

STATED, MEASURED, LIMIT = "stated", "measured", "power limit"
LEAST_SAMPLES = 3  # of telemetry, before power counts as measured
LIFE_YEARS = 3  # over which the price of what is bought is written off
MONEY = 1000.0  # for which steps are counted
_HOUR_S, _DAY_S = 3600.0, 86400.0
_POWER = re.compile(r"([0-9.]{1,12})(k?)W", re.ASCII)
_CURRENCY = re.compile(r"([A-Z]{3})(/h)?", re.ASCII)
BETTER, TIE, WORSE, MIXED, UNKNOWN = "better", "tie", "worse", "mixed", "unknown"


class Price(NamedTuple):
    """`currency`: "EUR", or "EUR/h" of what is rented."""

    price: float | None = None
    currency: str = ""
    power: float | None = None
    power_source: str = ""
    power_text: str = ""

    @property
    def rented(self) -> bool:
        return self.currency.endswith("/h")


@dataclass
class Prices:
    """`beaten`: machine -> those that beat it; `compared`: what could be compared of the three."""

    machines: dict[str, Price]
    notes: list[str]
    beaten: dict[str, list[str]] = field(default_factory=dict)
    criteria: list[str] = field(default_factory=list)

    @property
    def best(self) -> list[str]:
        return sorted(name for name in self.machines if not self.beaten.get(name))


# ------------------------------------------------------------------ the file


def _price(words: list[str]) -> Price:
    if len(words) not in (2, 3):
        raise ValueError("a line is: NAME PRICE CURRENCY[/h] [POWER], such as node-a 250000 EUR 10.2kW")
    price, currency = real_in(words[0]), _CURRENCY.fullmatch(words[1])
    if price is None:
        raise ValueError("'%s' is not a price" % words[0][:40])
    if not currency:
        raise ValueError("'%s' is not a currency, such as EUR, or EUR/h for rent" % words[1][:40])
    if not price > 0:
        raise ValueError("a price of %s is not above 0" % words[0][:40])
    if len(words) == 2:
        return Price(price, words[1])
    match = _POWER.fullmatch(words[2])
    power = real_in(match.group(1)) if match else None
    if match is None or power is None or not power > 0:
        raise ValueError("'%s' is not a power above 0, such as 700W or 10.2kW" % words[2][:40])
    return Price(price, words[1], power * (1000 if match.group(2) else 1), STATED, "stated in the price file")


def read(path: Path, name: str, known: Sequence[str]) -> tuple[dict[str, Price], list[str]]:
    """Prices of the `known` machines, and a note for each line that is not used. BadNumbers where the file
    cannot be read, or no line names a machine."""
    found: dict[str, Price] = {}
    notes, twice, named = [], set(), False
    longest = sorted(known, key=len, reverse=True)  # a machine's name may have spaces in it
    for number, words in lines_of(path, name):
        who = next((k for k in longest if words[: len(k.split())] == k.split()), "")
        try:
            if not who:
                said = words[0][:40], ", ".join(known)
                raise ValueError("no machine here is called '%s'; machines: %s" % said)
            named = True
            if who in found or who in twice:
                twice.add(who)
                found.pop(who, None)
                raise ValueError("'%s' is there more than once, so none of its lines is used" % who)
            found[who] = _price(words[len(who.split()) :])
        except ValueError as why:
            notes.append("%s, line %d: %s" % (name, number, why))
    if not named:
        raise BadNumbers("%s names no machine here; machines: %s" % (name, ", ".join(known)))
    return found, notes + ["%s has no usable line for %s" % (name, who) for who in known if who not in found]


# ------------------------------------------------------------------ power


def _samples(path: Path) -> list[float]:
    """Power of the first device right after each GEMM of the records next to a signature."""
    found: list[float] = []
    with suppress(OSError, BadRecord), open_regular(path.parent / "records.jsonl") as stream:
        for _, line in read_lines(stream):
            if isinstance(line, BadRecord) or b'"gemm/efficiency"' not in line or b'"power"' not in line:
                continue
            with suppress(BadRecord):
                record = parse_line(line)
                if record.get("kind") == "case" and isinstance(record.get("state"), dict):
                    found += _above_0(record, "power")
    return found


def _above_0(record: Json, name: str) -> list[float]:
    """Values of this telemetry of a record or a device that are above 0."""
    values = [sample.value for sample in telemetry_of(record) if sample.name == name]
    return [float(value) for value in values if is_number(value) and value > 0]


def _telemetry(machine: Machine) -> Price:
    """Power of the devices alone: measured after GEMMs, else at most their limit. Without either nothing is
    known."""
    if machine.simulated:
        return Price()
    samples = [value for path in machine.paths for value in _samples(path)]
    several = machine.devices > 1
    if len(samples) >= LEAST_SAMPLES:
        times = " of the first device times %d" % machine.devices * several
        said = "telemetry after %d GEMMs, the median%s, without the host" % (len(samples), times)
        return Price(None, "", median(samples) * machine.devices, MEASURED, said)
    devices = list(main_devices(machine.signatures[0]).values())
    limits = [limit for device in devices for limit in _above_0(device, "power_limit")]
    if devices and len(limits) == len(devices):
        of = " of %d devices" % machine.devices * several
        return Price(None, "", sum(limits), LIMIT, "the power limit%s, without the host; not measured" % of)
    return Price()


# ------------------------------------------------------------------ who beats whom


def _speed(rows: Sequence[Row], mix: Mix | None, one: str, other: str) -> str:
    """By the mix where there is one; else by the main number of every question (`rows`). What is not told
    apart is a tie only for a machine that does not look slower."""
    if mix is not None:
        ahead = mix.total.speeds.get((one, other))
        if ahead is None:
            return UNKNOWN
        if is_ahead(ahead):
            return BETTER
        if is_ahead(mix.total.speeds[other, one]):
            return WORSE
        return UNKNOWN if ahead.low is None else TIE if ahead.value >= NO_MATTER[0] else MIXED
    pairs = [row for row in rows if (one, other) in row.ratios]
    if not pairs or any(row.ratios[one, other].low is None for row in pairs):
        return UNKNOWN
    if any(row.ratios[one, other].value < NO_MATTER[0] for row in pairs):
        return MIXED
    return BETTER if any(row.better[one, other] for row in pairs) else TIE


def _less(mine: float | None, other: float | None, same: bool) -> str:
    if mine is None or other is None or not same:
        return UNKNOWN
    return BETTER if mine < other else WORSE if mine > other else TIE


def judge(prices: Prices, rows: Sequence[Row], mix: Mix | None) -> Prices:
    """One machine beats another where it is better in one of the three that are known of both, and worse in
    none. With fewer than speed and one more, nobody beats anybody."""
    known = set()
    for other, theirs in prices.machines.items():
        for one, mine in prices.machines.items():
            if one == other:
                continue
            found = {
                "speed": _speed(rows, mix, one, other),
                "price": _less(mine.price, theirs.price, mine.currency == theirs.currency),
                "power": _less(mine.power, theirs.power, mine.power_source == theirs.power_source),
            }
            said = {name: verdict for name, verdict in found.items() if verdict != UNKNOWN}
            known |= set(said)
            verdicts = set(said.values())
            if "speed" in said and len(said) > 1 and BETTER in verdicts and not {WORSE, MIXED} & verdicts:
                prices.beaten.setdefault(other, []).append(one)
    prices.beaten = {name: sorted(by) for name, by in prices.beaten.items()}
    prices.criteria = [name for name in ("speed", "price", "power") if name in known]
    return prices


def of(machines: Sequence[Machine], path: Path, name: str, rows: Sequence[Row], mix: Mix | None) -> Prices:
    stated, notes = read(path, name, [machine.name for machine in machines])
    found = {}
    for machine in machines:
        own, telemetry = stated.get(machine.name, Price()), _telemetry(machine)
        if own.power is None:
            own = telemetry._replace(price=own.price, currency=own.currency)
        found[machine.name] = own
    currencies = {p.currency for p in found.values() if p.price is not None}
    sources = {p.power_source for p in found.values() if p.power is not None}
    for what, values in (("prices in", currencies), ("power", sources)):
        if len(values) > 1:
            notes.append("%s %s: not compared with each other" % (what, " and ".join(sorted(values))))
    return judge(Prices(found, notes), rows, mix)


# ------------------------------------------------------------------ what money buys


def step_cost(price: Price, time: Time) -> float | None:
    """Money for the mix once. What is bought works without a pause until it is written off."""
    if price.price is None or time.seconds is None:
        return None
    life = _HOUR_S if price.rented else LIFE_YEARS * 365 * _DAY_S
    return price.price * time.seconds / life


def steps(price: Price, time: Time) -> float | None:
    """Runs of the mix for MONEY of rent, or in a day for MONEY of the price."""
    if price.price is None or time.seconds is None:
        return None
    return MONEY / price.price * (_HOUR_S if price.rented else _DAY_S) / time.seconds


def energy(price: Price, time: Time) -> float | None:
    return None if price.power is None or time.seconds is None else price.power * time.seconds


class Bought(NamedTuple):
    """Compared with the machine `of`: how many times its price, for how many times its speed."""

    of: str
    price: float
    speed: Ratio


def bought(prices: Prices, mix: Mix | None, base: str | None) -> dict[str, Bought]:
    """By machine whose price and time are known, what its price buys: against the base, or the cheapest of
    them. Empty where the base is none of them, or several currencies are known."""
    if mix is None:
        return {}
    speeds = mix.total.speeds
    priced = {
        name: own.price
        for name, own in sorted(prices.machines.items())
        if own.price is not None and any(name in pair for pair in speeds)
    }
    of = base or min(priced, key=lambda name: priced[name], default="")
    if of not in priced or len({prices.machines[name].currency for name in priced}) > 1:
        return {}
    others = [name for name in priced if name != of]
    return {name: Bought(of, priced[name] / priced[of], speeds[name, of]) for name in others}
