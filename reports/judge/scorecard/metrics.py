# SPDX-License-Identifier: BSD-3-Clause
"""Headline numbers of several machines: what may stand side by side, the ratios, and who is best.

A machine is called better than another in a number where both hold: the whole interval of their ratio lies
beyond the least effect that matters, and the p of Welch's test, adjusted by Benjamini-Hochberg over all pairs
and numbers, is below the rate; or where an error is not known, by a value that is far ahead. The best are
those that no other is better than. A number without a unit is a ratio of a machine to itself, or a share of
its own ideal: it describes the machine, and makes none better.
docs/method/verdicts.md, "Which machine is better?".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple, Sequence

from reports.judge import statistics
from reports.judge.compare.numbers import RATIO, Number
from reports.records.groups import GROUPS
from reports.records.quantity import plural
from reports.judge.scorecard.machines import CONFIDENCE, Held, Machine, held, number_of, shown
from reports.judge.scorecard.ranking import Rank, Ratio, is_ahead, rank
from reports.records.student import quantile, two_sided_p

RATE = 0.05
DESCRIBED = "describes the machine"  # in place of a verdict, where nobody is better
_DEGREES, _ALMOST_NORMAL = 10, 1000.0  # steps of the degrees of freedom, rounded down, and the most of them
_AMONG_DEVICES = ("collectives/device_", "micro/peer_matrix", "micro/link_contention", "overlap/ficco")
# Groups whose numbers are of another thing on a CPU that plays a device, and why.
_HOST_DIFFERS = {
    "Links": "a copy on the host stays in its own memory and crosses no link",
    "Starting work": "the host hands work to its own threads; no driver and no device is in between",
    "Overlap": "the host's copy engines are threads of the same cores",
    "Collectives": "the host's devices are parts of one CPU",
}


class Likeness(NamedTuple):
    """Properties that must be the same for numbers of two machines to be compared."""

    unit: str
    better: str | None
    scale: str
    condition: str
    devices: int  # 0: does not matter
    played: bool  # by a CPU, where that matters


@dataclass
class Row:
    """A number of the machines where it means the same, by name of the machine. Without a `rank` it describes
    them."""

    name: str
    number: Number
    likeness: Likeness
    values: dict[str, Held]
    others: dict[str, str] = field(default_factory=dict)  # machine -> why it is not here
    ratios: dict[tuple[str, str], Ratio] = field(default_factory=dict)
    better: dict[tuple[str, str], bool] = field(default_factory=dict)  # the first than the second
    rank: Rank = Rank([], [], [], DESCRIBED)


# ------------------------------------------------------------------ what may stand side by side


def program_of(name: str) -> str:
    return name.partition("@")[0].rpartition("/")[0]


def meaning_of(name: str, machine: Machine) -> str:
    """The name, with what is after its @ in words that hold for any machine."""
    metric, at, device = name.partition("@")
    if not at:
        return name
    backend, _, which = device.partition(":")
    main = machine.signatures[0]["device"].partition(":")[0]
    if backend == "host" and main != "host":
        return metric + "@host"
    return metric + "@part" + (" " + which if which else "")


def _likeness(number: Number, name: str, machine: Machine) -> Likeness:
    among = machine.devices if program_of(name).startswith(_AMONG_DEVICES) else 0
    is_played = machine.kind == "host" and number.group in _HOST_DIFFERS
    return Likeness(number.unit, number.better, number.scale, number.case, among, is_played)


def _difference(number: Number, own: Likeness, other: Likeness) -> str:
    """The reason for which a machine's number is not that of the others."""
    if own.played != other.played:
        return _HOST_DIFFERS[number.group]
    if own.devices != other.devices:
        return "among %s, not %d" % (plural(own.devices, "device"), other.devices)
    if own.condition != other.condition:
        mine, theirs = own.condition.split(", "), other.condition.split(", ")
        return "its condition differs: %s, not %s" % (
            ", ".join(w for w in mine if w not in theirs) or "none",
            ", ".join(w for w in theirs if w not in mine) or "none",
        )
    return "its unit or direction differs"


def rows_of(machines: Sequence[Machine], of: str = "") -> tuple[list[Row], list[Row]]:
    """Rows of two machines or more, and what stands alone. In one row are those for which a number means the
    same, so a number may have several. `of`: only what this machine has."""
    found: dict[str, dict[str, tuple[Number, Likeness, Held]]] = {}
    lost: dict[str, dict[str, tuple[Number, str]]] = {}
    for machine in machines:
        numbers = (pair for run in machine.runs for pair in run.numbers.items())
        for name in dict.fromkeys(name for name, number in numbers if number.judged):
            number, meaning, value = number_of(machine, name), meaning_of(name, machine), held(machine, name)
            if number is None:
                continue
            if value.value is None:
                lost.setdefault(meaning, {})[machine.name] = (number, value.reason)
            else:
                like = _likeness(number, name, machine)
                found.setdefault(meaning, {})[machine.name] = (number, like, value)
    compared, alone = [], []
    for name in sorted({*found, *lost}, key=_place):
        own, gone = found.get(name, {}), lost.get(name, {})
        others = [machine.name for machine in machines if machine.name not in own]
        absent = {who: gone[who][1] if who in gone else "not measured" for who in others}
        likes = sorted({likeness for _, likeness, _ in own.values()}, key=repr)
        for likeness in likes:
            within = {who: held_ for who, (_, like, held_) in own.items() if like == likeness}
            number = own[min(within)][0]
            others = dict(absent)
            for who, (other, like, _) in own.items():
                if like != likeness:
                    others[who] = _difference(other, like, likeness)
            (compared if len(within) > 1 else alone).append(Row(name, number, likeness, within, others))
        if not likes:
            number = min(gone.items())[1][0]
            alone.append(Row(name, number, Likeness("", None, number.scale, "", 0, False), {}, absent))
    if of:
        compared, alone = ([row for row in rows if of in row.values] for rows in (compared, alone))
    return compared, alone


_PLACES = {
    program: place for place, program in enumerate(p for programs in GROUPS.values() for p in programs)
}


def _place(name: str) -> tuple[int, str]:
    return _PLACES.get(program_of(name), len(_PLACES)), name


# ------------------------------------------------------------------ ratios


def ratio_of(mine: Held, other: Held, better: str | None) -> Ratio:
    """Welch's interval and p. Exchanging both gives the inverse, and its ends exchanged."""
    sign = -1.0 if better == "lower" else 1.0
    change = sign * (mine.center - other.center)
    if mine.error is None or other.error is None:
        return Ratio(shown(change, RATIO), None, None)
    error = math.sqrt(mine.error**2 + other.error**2)
    if not error:
        value = shown(change, RATIO)
        return Ratio(value, value, value, 0.0 if change else 1.0)
    tail = mine.error**4 / mine.degrees + other.error**4 / other.degrees
    degrees = max(min(mine.degrees, other.degrees), error**4 / tail if tail else mine.degrees)
    degrees = math.floor(degrees * _DEGREES) / _DEGREES if degrees < _ALMOST_NORMAL else _ALMOST_NORMAL
    half = quantile(CONFIDENCE, degrees) * error
    value, low, high = (shown(place, RATIO) for place in (change, change - half, change + half))
    return Ratio(value, low, high, two_sided_p(change / error, degrees))


def is_judged(number: Number) -> bool:
    """Users want it high, or low."""
    return bool(number.unit) and number.scale == RATIO and number.better in ("higher", "lower")


def _compare(row: Row) -> None:
    for one, other in combinations(sorted(row.values), 2):
        for pair in ((one, other), (other, one)):
            row.ratios[pair] = ratio_of(row.values[pair[0]], row.values[pair[1]], row.number.better)


def _judge(row: Row, adjusted: dict[tuple[str, str], float]) -> None:
    for pair, ratio in row.ratios.items():
        by_chance = ratio.p is not None and adjusted[tuple(sorted(pair))] >= RATE  # type: ignore[index]
        row.better[pair] = is_ahead(ratio) and not by_chance
    unknown = [name for name, own in row.values.items() if own.error is None]
    row.rank = rank(list(row.values), unknown, row.ratios, row.better.__getitem__)


def judge(rows: Sequence[Row]) -> None:
    """The family is every pair of machines in every number that users want high or low. What has no p counts
    as a test that found nothing."""
    judged = [row for row in rows if is_judged(row.number)]
    for row in judged:
        _compare(row)
    pairs = [
        (index, pair) for index, row in enumerate(judged) for pair in sorted(row.ratios) if pair[0] < pair[1]
    ]
    ps = [judged[index].ratios[pair].p for index, pair in pairs]
    adjusted: list[dict[Any, float]] = [{} for _ in judged]
    for (index, pair), p in zip(pairs, statistics.adjusted([1.0 if p is None else p for p in ps])):
        adjusted[index][pair] = p
    for row, own in zip(judged, adjusted):
        _judge(row, own)


def reference_of(row: Row, base: str | None) -> str | None:
    """The machine that ratios of the row are shown against: the base, or the best. None where there are no
    ratios, or the base is not in the row."""
    if row.rank.verdict == DESCRIBED:
        return None
    if base is not None:
        return base if base in row.values else None
    sign = -1.0 if row.number.better == "lower" else 1.0
    return max(sorted(row.values), key=lambda name: (sign * row.values[name].center, name in row.rank.best))
