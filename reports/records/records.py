# SPDX-License-Identifier: BSD-3-Clause
"""Records (docs/RECORDS.md) as the signature reads them. The types, and what is checked of one JSON object;
record_file.py reads the file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from reports.records import causes
from reports.records.causes import GRADES
from reports.records.jsonl import Json, Reader, BadRecord, clean, is_number
from reports.records.state import checked

Scalar = Union[str, int, float]

SAMPLES_KEPT = 120
MOST_WINDOWS = 1000  # of a course
MOST_SINGLES = 1000  # that programs take

_BIG = re.compile(r"[0-9]{16,20}\Z")  # an integer above 2^53 comes as a string


@dataclass(frozen=True)
class Axis:
    name: str
    unit: str
    values: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Primary:
    """One headline number: a quantity of one variant in one case."""

    metric: str
    derived: str
    variant: Optional[str]
    where: Mapping[str, Scalar]
    unit: str
    better: str


@dataclass(frozen=True)
class CliffAxis:
    """The curves that may have cliffs: this quantity of this variant along this axis, in cases of `where`."""

    axis: str
    derived: str
    variant: str
    where: Mapping[str, Scalar]
    better: str


@dataclass(frozen=True)
class Variant:
    name: str
    n: int
    median_s: Optional[float]
    ci_low_s: Optional[float]
    ci_high_s: Optional[float]
    min_s: Optional[float]
    p95_s: Optional[float]
    max_s: Optional[float]
    lag1: Optional[float]
    drift: Optional[float]
    converged: Optional[bool]
    bytes: Optional[float]
    flops: Optional[float]
    messages: Optional[float]
    samples_s: Tuple[float, ...]  # at most SAMPLES_KEPT, evenly thinned, in time order
    singles_s: Tuple[float, ...] = ()  # of one operation each
    iterations: int = 0  # of a sample; 0: not known
    ops: Optional[float] = None  # on integers


@dataclass(frozen=True)
class Derived:
    name: str
    variant: Optional[str]
    value: Optional[float]
    ci_low: Optional[float]
    ci_high: Optional[float]
    unit: str
    formula: str
    bound: Optional[float]
    bound_name: str
    valid: bool
    reason: str
    rounds: Optional[int] = None  # that the statistic is of; None: it is none
    modelled: bool = False  # no measurement
    share: Optional[float] = None  # of the bound
    grade: str = ""  # the worst of its grades; empty: none
    grade_reason: str = ""
    tries: int = 1  # that the value is of (reports/records/tries.py)
    each: Tuple[float, ...] = ()  # the values of these, in the order of time
    half: Optional[float] = None  # the median of half their intervals' widths, relative
    core_latency_s: Optional[float] = None  # of the try that gives the value
    extremes: Optional[Tuple[float, float]] = None  # least and largest of what the program collected
    fastest: str = ""  # the variant that it is of, where that is the fastest of several
    cause: str = ""  # why the tries give no value; empty: its flags say it


@dataclass(frozen=True)
class Flag:
    flag: str
    variant: Optional[str]
    reason: str
    quantity: Optional[str] = None  # the derived quantity that it concerns; None: all


@dataclass(frozen=True)
class Mechanism:
    name: str
    observed: bool
    detail: str


@dataclass(frozen=True)
class CourseRow:
    """A row of a course: one value for each window; None: it was not read then."""

    unit: str
    values: Tuple[Optional[float], ...]


def axes_in(key: str) -> Dict[str, str]:
    """The axes of a case by its key, "op=ag-gemm shape=g1"."""
    return dict(word.split("=", 1) for word in key.split() if "=" in word)


@dataclass(frozen=True)
class Case:
    program: str
    run: str
    line: int
    axes: Mapping[str, Scalar]
    key: str
    status: str
    reason: str
    elapsed_s: Optional[float]
    variants: Tuple[Variant, ...]
    derived: Tuple[Derived, ...]
    check: str
    check_detail: str
    mechanism: Tuple[Mechanism, ...]
    facts: Mapping[str, Scalar]
    valid: bool
    flags: Tuple[Flag, ...]
    core_latency_s: Optional[float] = None  # of the placement that its rounds are of
    cause: str = ""  # unless it is ok
    variants_not_supported: Mapping[str, str] = field(default_factory=dict)  # name -> why
    clock_hz: Optional[float] = None  # of the device, after the last sample
    course: Mapping[str, CourseRow] = field(default_factory=dict)  # by name; "time" is one of them

    def variant(self, name: Optional[str]) -> Optional[Variant]:
        return next((v for v in self.variants if v.name == name), None)

    def number(self, fact: str) -> Optional[float]:
        """A fact; None if it is a text."""
        value = self.facts.get(fact)
        return value if is_number(value) else None


@dataclass(frozen=True)
class Run:
    id: str
    program: str
    line: int
    question: str
    formula: str
    timed: str
    limits: str
    started: Optional[str]
    argv: Tuple[str, ...]
    devices: Tuple[Json, ...]
    ranks: int  # 0: a program of one process
    options: Json
    axes: Tuple[Axis, ...]
    variants: Tuple[str, ...]
    references: Tuple[str, ...]  # variants that were measured to bound the others
    primary: Tuple[Primary, ...]
    provenance: Mapping[str, Optional[Scalar]]
    environment: Mapping[str, Scalar]
    cliff: Optional[CliffAxis] = None

    @property
    def device_spec(self) -> str:
        specs = [str(d.get("spec", "")) for d in self.devices if d.get("spec")]
        return ",".join(dict.fromkeys(specs)) or "none"

    @property
    def simulated(self) -> Optional[bool]:
        """True if a device has virtual time; None if no device took part, as for a look at the node."""
        return any(d.get("virtual_time") is True for d in self.devices) if self.devices else None


@dataclass(frozen=True)
class End:
    status: str
    reason: str
    elapsed_s: Optional[float]
    cases: Mapping[str, int]


@dataclass
class Group:
    """The records of one program on one device. `tries`: every record of a case, by its key, in the order of
    the file; `cases`: what follows from them."""

    program: str
    device: str
    runs: List[Run] = field(default_factory=list)
    tries: Dict[str, List[Case]] = field(default_factory=dict)
    cases: Dict[str, Case] = field(default_factory=dict)

    @property
    def run(self) -> Run:
        return self.runs[-1]

    @property
    def repeated(self) -> int:
        """Records of cases that were there already."""
        return sum(len(tries) - 1 for tries in self.tries.values())

    def sort(self) -> None:
        """Order cases by their axes; they are measured in random order. Values on no axis come last. A start
        that repeats a few cases has but their values."""
        listed: Dict[str, Dict[str, int]] = {}
        for axis in (axis for run in self.runs for axis in run.axes):
            order = listed.setdefault(axis.name, {})
            for word in axis.values:
                order.setdefault(word, len(order))
        places = [(axis.name, listed[axis.name]) for axis in self.run.axes]

        def place(case: Case) -> List[int]:
            return [order.get(str(case.axes.get(name, "")), len(order)) for name, order in places]

        self.cases = dict(sorted(self.cases.items(), key=lambda item: place(item[1])))


@dataclass
class Records:
    groups: Dict[Tuple[str, str], Group] = field(default_factory=dict)
    ends: Dict[Tuple[str, str], End] = field(default_factory=dict)
    unstarted: Dict[str, End] = field(
        default_factory=dict
    )  # by program, whose last start wrote no run record
    bad_records: Dict[str, List[int]] = field(default_factory=dict)  # reason -> line numbers
    lines: int = 0
    parts: int = 0  # cases with their timings and values

    def runs(self) -> List[Run]:
        return sorted((r for g in self.groups.values() for r in g.runs), key=lambda r: r.line)

    def cases(self) -> Iterator[Case]:
        for group in self.groups.values():
            yield from group.cases.values()

    def core_latencies(self) -> List[float]:
        """The latency of every try of a case that succeeded and knows where the cores were."""
        tries = (case for group in self.groups.values() for own in group.tries.values() for case in own)
        return [t.core_latency_s for t in tries if t.status == "ok" and t.core_latency_s is not None]


# ------------------------------------------------------------------ from JSON to records


def _numbers(values: Mapping[str, Scalar]) -> Dict[str, Scalar]:
    """Values, with integers above 2^53, which come as strings, as numbers."""
    return {k: int(v) if isinstance(v, str) and _BIG.match(v) else v for k, v in values.items()}


def _primary(reader: Reader) -> Primary:
    return Primary(
        reader.text("metric"),
        reader.text("derived"),
        reader.text_or("variant") or None,
        _numbers(reader.scalars("where")),
        reader.text_or("unit"),
        reader.text_or("better") or "higher",
    )


def _cliff(reader: Reader) -> Optional[CliffAxis]:
    if not reader.json:
        return None
    return CliffAxis(
        reader.text("axis"),
        reader.text("derived"),
        reader.text("variant"),
        _numbers(reader.scalars("where")),
        reader.text_or("better") or "higher",
    )


def _provenance(reader: Reader) -> Tuple[Dict[str, Optional[Scalar]], Dict[str, Scalar]]:
    """Flat; the value of an unknown key is shown as text."""
    flat: Dict[str, Optional[Scalar]] = {}
    for name, value in reader.object_or_empty("provenance").json.items():
        if name != "environment":
            is_flat = value is None or isinstance(value, str) or is_number(value)
            flat[name] = value if is_flat else clean(str(value))
    environment = reader.object_or_empty("provenance").scalars("environment", null=True)
    return flat, {k: v for k, v in environment.items() if v is not None}


def run_of(reader: Reader, line: int) -> Run:
    provenance, environment = _provenance(reader)
    return Run(
        id=reader.text("run"),
        program=reader.text("program"),
        line=line,
        **{name: reader.text_or(name) for name in ("question", "formula", "timed", "limits")},
        started=reader.text_or("started") or None,
        argv=tuple(map(str, reader.items("argv"))),
        devices=tuple(checked(d) for d in reader.objects("device")),
        ranks=reader.object_or_empty("job").count("processes"),
        options=reader.object_or_empty("options").json,
        axes=tuple(
            Axis(a.text("name"), a.text_or("unit"), tuple(map(str, a.items("values"))))
            for a in reader.objects("axes")
        ),
        variants=tuple(map(str, reader.items("variants"))),
        references=tuple(map(str, reader.items("references"))),
        primary=tuple(_primary(p) for p in reader.objects("primary")),
        provenance=provenance,
        environment=environment,
        cliff=_cliff(reader.object_or_empty("cliff")),
    )


def _samples(reader: Reader) -> Tuple[float, ...]:
    values = [float(v) for v in reader.items("samples_s") if is_number(v)]
    if len(values) <= SAMPLES_KEPT:
        return tuple(values)
    return tuple(values[i * len(values) // SAMPLES_KEPT] for i in range(SAMPLES_KEPT))


_OF_TIMES = ("median_s", "ci_low_s", "ci_high_s", "min_s", "p95_s", "max_s", "lag1", "drift")


def _variant(reader: Reader) -> Variant:
    model = reader.object_or_empty("model")
    converged, iterations = reader.json.get("converged"), reader.json.get("iterations")
    return Variant(
        name=reader.text("name"),
        n=reader.count("n"),
        **{name: reader.real(name) for name in _OF_TIMES},
        converged=converged if isinstance(converged, bool) else None,
        **{name: model.real(name) for name in ("bytes", "flops", "messages", "ops")},
        samples_s=_samples(reader),
        singles_s=tuple(float(v) for v in reader.items("singles_s")[:MOST_SINGLES] if is_number(v)),
        iterations=int(iterations) if is_number(iterations) else 0,
    )


def _fastest(reader: Reader) -> str:
    """The variant of a value of the case that bench_alias_fastest() recorded."""
    of, name = reader.items("of"), reader.text("name")
    alone = name.startswith("best_") and len(of) == 1 and not reader.text_or("variant")
    return of[0] if alone and isinstance(of[0], str) else ""


def _derived(reader: Reader) -> Derived:
    rounds = reader.real("rounds")
    grades = [grade for grade in GRADES if grade in reader.items("grades")]
    collected = [float(v) for v in reader.items("observations") if is_number(v)]
    return Derived(
        name=reader.text("name"),
        variant=reader.text_or("variant") or None,
        **{name: reader.real(name) for name in ("value", "ci_low", "ci_high", "bound", "share")},
        **{name: reader.text_or(name) for name in ("unit", "formula", "bound_name", "reason")},
        valid=reader.truth("valid"),
        rounds=int(rounds) if rounds else None,
        modelled=reader.json.get("modelled") is True,
        grade=grades[-1] if grades else "",
        extremes=(min(collected), max(collected)) if collected else None,
        fastest=_fastest(reader),
    )


def _course(reader: Reader) -> Dict[str, CourseRow]:
    """Rows of one length; one of another length than the time is dropped."""
    course, rows = reader.object_or_empty("course"), {}
    for name in course.json:
        own = course.object_or_empty(name)
        values = own.items("values")[:MOST_WINDOWS]
        rows[name] = CourseRow(own.text_or("unit"), tuple(float(v) if is_number(v) else None for v in values))
    time = rows.get("time")
    if time is None or not time.values or None in time.values:
        return {}
    return {name: row for name, row in rows.items() if len(row.values) == len(time.values)}


def case_of(reader: Reader, line: int, references: Sequence[str]) -> Case:
    """A case. Values of a reference variant are dropped: they are in the timings and in the bounds of the
    others. One that failed or was skipped has none, whatever the record states. A wrong result is a
    failure."""
    status = reader.text("status")
    if status not in ("ok", "failed", "skipped"):
        raise BadRecord("case.status is not ok, failed or skipped")
    check, validity = reader.object_or_empty("check"), reader.object_or_empty("validity")
    said, facts = reader.text_or("cause"), reader.scalars("facts", null=True)
    is_wrong = said == causes.WRONG_RESULT or check.text_or("status") == "failed"
    status = "failed" if is_wrong else status
    return Case(
        program=reader.text("program"),
        run=reader.text("run"),
        line=line,
        axes=_numbers(reader.scalars("case")),
        key=reader.text("key"),
        status=status,
        reason=reader.text_or("reason") or (check.text_or("detail") if is_wrong else ""),
        elapsed_s=reader.real("elapsed_s"),
        variants=tuple(v for v in map(_variant, reader.objects("variants")) if status == "ok"),
        derived=tuple(
            d
            for d in map(_derived, reader.objects("derived"))
            if status == "ok" and d.variant not in references
        ),
        check=check.text_or("status", "none"),
        check_detail=check.text_or("detail"),
        mechanism=tuple(
            Mechanism(m.text("name"), m.truth("observed"), m.text_or("detail"))
            for m in reader.objects("mechanism")
        ),
        facts=facts,
        valid=validity.json.get("valid", True) is True,
        flags=tuple(
            Flag(
                f.text("flag"),
                f.text_or("variant") or None,
                f.text_or("reason"),
                f.text_or("quantity") or None,
            )
            for f in validity.objects("flags")
        ),
        clock_hz=reader.object_or_empty("clock_hz").real("after") or None,
        course=_course(reader) if status == "ok" else {},
        core_latency_s=reader.object_or_empty("surroundings").real("core_latency_s") or None,
        cause=causes.of_case(said, status, is_wrong),
        variants_not_supported=causes.variants_not_supported(
            {v.text("name"): v.text_or("reason") for v in reader.objects("variants_not_supported")},
            facts.get("not_measured"),
        ),
    )


def end_of(reader: Reader) -> End:
    cases = reader.object_or_empty("cases")
    return End(
        reader.text("status"),
        reader.text_or("reason"),
        reader.real("elapsed_s"),
        {k: cases.count(k) for k in cases.json},
    )
