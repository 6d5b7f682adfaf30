# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of one run, of our own records or of another tool, as every reader returns them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Iterable, Mapping, Sequence

from reports.records.jsonl import Refused, clean
from reports.records.moderated import Variance
from reports.records.moment import moment
from reports.records.quantity import plural

RATIO, DIFFERENCE = "ratio", "difference"  # what a change is
_CONDITIONS = 3  # that are named


class BadNumbers(Refused):
    """A file or folder that cannot be compared; the text names it and says why."""


@dataclass(frozen=True)
class Number:
    """A metric of one run. `value` is None where it is missing, with the reason."""

    value: float | None
    unit: str
    better: str | None  # "higher", "lower"; None: unknown, and then it is never judged
    judged: bool = True  # a headline number; the others are described
    control: bool = False  # measured because a change of the machine's device cannot touch it
    unavailable: bool = False  # missing, because this machine cannot do it
    neutral: bool = False  # missing, for a reason that is no sign of a bad machine
    scale: str = RATIO
    reason: str = ""  # why it is missing
    contended: bool = False  # others used the machine meanwhile
    label: str = ""  # in words
    group: str = ""
    condition: str = ""  # what the number holds for: "f32, 2048³"
    case: str = ""  # the same without sizes that the machine's caches decide; those of others do not compare
    low: float | None = None  # 95 % confidence interval of the samples of this run
    high: float | None = None
    # of another run's value on the scale of a change, as far as this run's own tries tell
    tries: Variance = Variance(0.0, 0.0)
    core_latency_s: float | None = None  # where the cores were
    elsewhere: bool = False  # missing, because the cores were not where the other runs' were


def _conditions(texts: Sequence[str]) -> str:
    """ "2 MiB, fastest: ring or direct": shared parts are there once."""
    parts = [text.split(", ") for text in texts]
    if len({len(own) for own in parts}) != 1:
        return " or ".join(texts)
    found = []
    for own in zip(*parts):
        first, *others = dict.fromkeys(own)
        key, more = first.rpartition(": ")[0], len(others) + 1 - _CONDITIONS
        named = [first, *(text.removeprefix(key + ": ") for text in others)][:_CONDITIONS]
        found.append(" or ".join(named + ["%d more" % more] * (more > 0)))
    return ", ".join(found)


def first_of(numbers: Sequence[Number]) -> Number:
    """The first number, with the conditions of all."""
    conditions = dict.fromkeys(n.condition for n in numbers if n.condition)
    return replace(numbers[0], condition=_conditions(list(conditions)))


@dataclass(frozen=True)
class Failed:
    """Cases of a program that failed, with a headline number or without one."""

    program: str
    device: str
    is_wrong: bool  # a wrong result; else an operation failed
    count: int
    reason: str  # of the first

    @property
    def text(self) -> str:
        """ "micro/copy_path on sim: wrong result: word 7, and 2 more cases"."""
        more = ", and %s" % plural(self.count - 1, "more case") if self.count > 1 else ""
        return "%s on %s: %s%s" % (self.program, self.device, self.reason, more)


@dataclass(frozen=True)
class RunNumbers:
    """One run: the value of every metric by name, in the order in which they are shown."""

    name: str  # of the folder or file, as the user gave it
    source: str  # the tool
    numbers: dict[str, Number]
    identity: str = ""  # of this measurement: the same one counts once; empty: unknown
    started: str = ""  # ISO 8601
    machine: str = ""  # what it ran on, in words
    device: str = ""  # as --device has it, and its kind
    simulated: bool = False
    provenance: Mapping[str, str] = field(default_factory=dict)  # field -> text, of known fields
    failed: tuple[Failed, ...] = ()
    kind: str = ""  # of its devices: kinds that differ are not compared
    place: str = ""  # the file that it was read from; empty: none


def place_of(path: Path) -> str:
    """Identity of a file, whatever its name. OSError if there is none."""
    found = path.stat()
    return "file %d of %d" % (found.st_ino, found.st_dev)


def order_of(runs: Sequence[RunNumbers]) -> list[int]:
    """Places of the runs in the order of time; in the given order if start times are unknown."""
    starts = [moment(run.started) for run in runs]
    if None in starts or len({start.tzinfo is None for start in starts}) > 1:  # type: ignore[union-attr]
        return list(range(len(runs)))
    return sorted(range(len(runs)), key=lambda i: starts[i].timestamp())  # type: ignore[union-attr]


def in_order(runs: Sequence[RunNumbers]) -> list[RunNumbers]:
    return [runs[i] for i in order_of(runs)]


def failed_in(runs: Iterable[RunNumbers]) -> list[Failed]:
    """Failures of all runs together, one a program, device and kind; wrong results first."""
    found: dict[tuple[bool, str, str], Failed] = {}
    for own in (own for run in runs for own in run.failed):
        key = (not own.is_wrong, own.program, own.device)
        found[key] = replace(found[key], count=found[key].count + own.count) if key in found else own
    return [found[key] for key in sorted(found)]


def wrong_results(name: str, failed: Iterable[Failed]) -> str:
    """One line on the wrong results of a run; empty if it has none."""
    texts = [clean(own.text)[:200] for own in failed if own.is_wrong]
    more = ["%d more" % (len(texts) - 3)] if len(texts) > 3 else []
    return "%s has wrong results: %s" % (name, "; ".join(texts[:3] + more)) if texts else ""


def refuse_wrong_results(runs: Iterable[RunNumbers]) -> None:
    """BadNumbers names a run that has some."""
    for text in (wrong_results(run.name, run.failed) for run in runs):
        if text:
            raise BadNumbers("leave it out: %s" % text)
