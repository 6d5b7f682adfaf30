# SPDX-License-Identifier: BSD-3-Clause
"""The user's mix on every machine: the time of each piece of work, of all, and how many times as fast one
machine is as another.

Times come with 95 % intervals in the logarithm: what the prediction may be off by, and what another run
would give. Within a machine all pieces are taken to be off the same way, so the ends of a sum are the sums
of the ends; two machines are taken to be off independently. docs/method/verdicts.md, "Which machine is
better?".
"""

from __future__ import annotations

import math
import re
import tempfile
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, Sequence

from reports.records.moderated import Variance, moderated, variance_of
from reports.judge.scorecard.machines import CONFIDENCE, ONE_RUN, Machine, held
from reports.judge.scorecard.predictions import Predictor, Unanswered
from reports.judge.scorecard.ranking import Rank, Ratio, is_ahead, rank
from reports.judge.scorecard.workload_file import Item
from reports.records.student import quantile

# A CPU that plays a device does these to itself, so next to a GPU they are other work.
_NOT_OF_A_HOST = {
    "copy": "a copy on the host stays in its own memory and crosses no link",
    "launch": "a launch on the host goes to its own threads; no driver and no device is in between",
    "message": "the host's devices are parts of one CPU",
}
NONE = "no answer"  # in place of a verdict, where fewer than two machines have one
_WHICH = re.compile(r":[0-9]+([-,][0-9]+)*$")  # of several devices, at the end of what --device took


class Time(NamedTuple):
    """Time of all of an item's count. Without `half` its uncertainty is not known. `unmeasured`: a run that
    asks for it would tell."""

    seconds: float | None
    half: float | None = None  # of the interval, in the logarithm
    reason: str = ""
    notes: tuple[str, ...] = ()
    unmeasured: bool = False

    @property
    def ends(self) -> tuple[float | None, float | None]:
        if self.seconds is None or self.half is None:
            return None, None
        return self.seconds * math.exp(-self.half), self.seconds * math.exp(self.half)


@dataclass
class Line:
    """An item, or all, on every machine. `speeds`: how many times as fast the first is as the second."""

    text: str
    times: dict[str, Time]
    speeds: dict[tuple[str, str], Ratio] = field(default_factory=dict)
    rank: Rank = Rank([], [], [], NONE)


@dataclass
class Mix:
    """`common`: the items that every machine answers, where that are not all."""

    items: list[Line]
    total: Line
    common: Line | None
    common_items: int


# ------------------------------------------------------------------ one machine


def _half_of_runs(machine: Machine, logs: Sequence[float]) -> float | None:
    """Half interval that another run would add; None where it is not known."""
    known = machine.run_spread
    if len(logs) == 1 and known is None:
        return 0.0 if machine.simulated else None
    prior = Variance(known["relative"] ** 2, known["degrees"]) if known else None
    variance, degrees = moderated(variance_of(logs), prior)
    return quantile(CONFIDENCE, degrees) * math.sqrt(variance * (2.0 if len(logs) == 1 else 1 / len(logs)))


def _predicted(machine: Machine, item: Item, predictors: Sequence[Predictor]) -> Time:
    answers = []
    for predictor, path in zip(predictors, machine.paths):
        try:
            answers.append(predictor.predict(item))
        except Unanswered as why:
            of = "%s: " % path.parent.name if len(machine.paths) > 1 else ""
            return Time(None, reason=of + str(why), unmeasured=why.can_be_measured)
    logs = [math.log(answer.seconds) for answer in answers]
    runs = _half_of_runs(machine, logs)
    halves = [answer.half for answer in answers]
    half = None if runs is None or None in halves else math.hypot(fmean(halves), runs)  # type: ignore[type-var]
    notes = tuple(dict.fromkeys(note for answer in answers for note in answer.notes))
    seconds, reason = math.exp(fmean(logs)) * item.count, ONE_RUN if runs is None else ""
    return Time(seconds, half, reason, notes, unmeasured=None in halves)


def _from_metric(machine: Machine, name: str, size: float, is_rate: bool) -> Time:
    found = held(machine, name)
    if found.value is None:
        return Time(None, reason="%s: %s" % (name, found.reason), unmeasured=True)
    half = None if found.error is None else quantile(CONFIDENCE, found.degrees) * found.error
    return Time(size / found.value if is_rate else size * found.value, half, found.reason)


def _time(machine: Machine, item: Item, mixed: bool, predictors: Sequence[Predictor]) -> Time:
    if mixed and machine.kind == "host" and item.kind in _NOT_OF_A_HOST:
        return Time(None, reason=_NOT_OF_A_HOST[item.kind])
    size = float(item.size) * item.count
    if item.kind == "memory":
        return _from_metric(machine, "micro/memory/memory_%s_bandwidth" % item.what, size, True)
    if item.kind == "launch":
        return _from_metric(machine, "micro/launch/launch_back_to_back", size, False)
    if machine.known:
        return Time(None, reason="a known machine has only headline numbers")
    return _predicted(machine, item, predictors)


# ------------------------------------------------------------------ all machines


def speed_of(mine: Time, other: Time) -> Ratio:
    """Exchanging both gives the inverse, and its ends exchanged. Both have an answer."""
    change = math.log(other.seconds) - math.log(mine.seconds)  # type: ignore[arg-type]
    if mine.half is None or other.half is None:
        return Ratio(math.exp(change), None, None)
    half = math.hypot(*sorted((mine.half, other.half)))
    return Ratio(math.exp(change), math.exp(change - half), math.exp(change + half))


def judge(line: Line) -> Line:
    known = sorted(name for name, time in line.times.items() if time.seconds is not None)
    line.speeds = {pair: speed_of(*(line.times[name] for name in pair)) for pair in permutations(known, 2)}
    if len(known) < 2:
        return line
    unknown = [name for name in known if line.times[name].half is None]
    line.rank = rank(known, unknown, line.speeds, lambda pair: is_ahead(line.speeds[pair]))
    return line


def _sum(text: str, lines: Sequence[Line], names: Sequence[str]) -> Line:
    """A machine that lacks an answer has no sum: a part is never compared with a whole."""
    times: dict[str, Time] = {}
    for name in names:
        own = [line.times[name] for line in lines]
        lacking = sum(time.seconds is None for time in own)
        if lacking or not own:
            times[name] = Time(None, reason="%d of %d items without an answer" % (lacking, len(own)))
            continue
        total = math.fsum(time.seconds or 0.0 for time in own)
        ends = [time.ends for time in own]
        unknown = sum(low is None for low, _ in ends)
        if unknown:
            times[name] = Time(total, None, "the error of %d of its items is not known" % unknown)
            continue
        low, high = (math.fsum(sorted(end[k] or 0.0 for end in ends)) for k in (0, 1))
        times[name] = Time(total, max(math.log(total / low), math.log(high / total)))
    return judge(Line(text, times))


def _times(machine: Machine, items: Sequence[Item], mixed: bool, programs: Path) -> list[Time]:
    with tempfile.TemporaryDirectory(prefix="gpusig-scorecard-") as made:
        folders = [Path(made) / str(number) for number in range(len(machine.signatures))]
        for folder in folders:
            folder.mkdir()
        pairs = zip(machine.signatures, machine.paths, folders)
        predictors = [
            Predictor(signature, path, items, programs, folder) for signature, path, folder in pairs
        ]
        return [_time(machine, item, mixed, predictors) for item in items]


def mix_of(machines: Sequence[Machine], items: Sequence[Item], programs: Path) -> Mix:
    """`programs`: the folder of those that are simulated."""
    mixed = len({machine.kind == "host" for machine in machines}) > 1
    times = {machine.name: _times(machine, items, mixed, programs) for machine in machines}
    lines = [
        judge(Line(item.text, {name: own[number] for name, own in times.items()}))
        for number, item in enumerate(items)
    ]
    names = [machine.name for machine in machines]
    answered = [line for line in lines if all(line.times[name].seconds is not None for name in names)]
    common = _sum("common items", answered, names) if 0 < len(answered) < len(lines) else None
    return Mix(lines, _sum("total", lines, names), common, len(answered))


def to_measure(machine: Machine, items: Sequence[Item], mix: Mix) -> str:
    """The run that answers what this machine's signature does not; "" where it answers all that a run can."""
    if not any(line.times[machine.name].unmeasured for line in mix.items):
        return ""
    device, most = str(machine.signatures[0]["device"]), max(item.devices for item in items)
    if most > 1 and machine.devices != most:
        device = "%s:0-%d" % (_WHICH.sub("", device), most - 1)
    shapes = dict.fromkeys("x".join(map(str, item.sides)) for item in items if item.sides)
    options = "".join("--shape %s " % shape for shape in shapes)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", machine.name).lstrip("-") or "machine"
    return "./gpusig run --device %s %s--out %s-mix" % (device, options, name)


def wanted(machines: Sequence[Machine], items: Sequence[Item], mix: Mix) -> dict[str, str]:
    """to_measure() of each machine that lacks something."""
    found = {machine.name: to_measure(machine, items, mix) for machine in machines if not machine.known}
    return {name: command for name, command in found.items() if command}
