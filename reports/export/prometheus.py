# SPDX-License-Identifier: BSD-3-Clause
"""Prometheus' text format, as node_exporter's textfile collector takes it: base units in names, no
timestamps, no series twice.

A number is gpusig_METRIC_UNIT, and its interval gpusig_METRIC_interval_low_UNIT and ..._high_UNIT: they are
metrics of their own, because a sum over a label `end` would mean nothing. Labels are what stays the same from
run to run. Grades and reasons are series of their own: as labels of a number they would end its series and
begin another one whenever a run is noisy.
"""

from __future__ import annotations

import re
from typing import Iterable, NamedTuple, Sequence

from reports.export.runs import Run, Value
from reports.records.jsonl import Json
from reports.records.quantity import spell

_UNITS = {
    "s": "seconds",
    "byte": "bytes",
    "byte/s": "bytes_per_second",
    "flop": "flops",
    "flop/s": "flops_per_second",
    "op/s": "operations_per_second",
    "1/s": "per_second",
    "Hz": "hertz",
    "W": "watts",
    "J": "joules",
    "degC": "celsius",
    "": "ratio",
    "1": "ratio",
}
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_]+")
Labels = tuple[tuple[str, str], ...]


class Sample(NamedTuple):
    family: str
    help: str
    labels: Labels
    value: float


def _word(text: str) -> str:
    return _NOT_IN_A_NAME.sub("_", text).strip("_") or "unnamed"


def family_of(metric: str, unit: str, end: str = "") -> str:
    """ "gpusig_memory_read_bandwidth_bytes_per_second"; `end` is "low", "high" or empty."""
    base = _UNITS.get(unit) or _word(unit.replace("/", "_per_"))
    name = _word(metric)
    if name.endswith("_" + base):
        name = name[: -len(base) - 1]
    return "_".join(["gpusig", name] + ["interval_" + end] * bool(end) + [base])


def _sample(run: Run, family: str, text: str, value: float, **labels: str) -> Sample:
    """A sample with the labels of the run, too; one without a text is the same as none."""
    named = {"node": run.node, "device": run.device, "model": run.model, **labels}
    return Sample(family, text, tuple((name, label) for name, label in named.items() if label), value)


def _of_value(run: Run, value: Value) -> Iterable[Sample]:
    names = ("device", "program", "metric", "condition")
    place = {name: getattr(value, name) for name in names}
    text, family = spell(value.metric), family_of(value.metric, value.unit)
    better = ", %s is better" % value.better if value.better else ""
    said = "%s%s; the median of a run." % (text, better)
    yield _sample(run, family, said, value.value, **place, better=value.better or "")
    said = "%s: %s end of the 95 %% interval, of another run or, where kind is median, of the median alone."
    kind = "run" if value.of_runs else "median"
    for end, side, number in (("low", "lower", value.low), ("high", "upper", value.high)):
        if number is not None:
            family = family_of(value.metric, value.unit, end)
            yield _sample(run, family, said % (text, side), number, **place, kind=kind)
    if value.grade:
        said = "1 for a headline number that is noisy or contended: mind its interval."
        yield _sample(run, "gpusig_metric_graded", said, 1, **place, grade=value.grade)


def _place(entry: Json) -> dict[str, str]:
    return {"program": str(entry["program"]), "device": str(entry["device"])}


def _counts(run: Run) -> Iterable[Sample]:
    """Cases, wrong results and invalid values of each program, and the programs that did not run."""
    for section in run.signature["programs"].values():
        place = _place(section)
        for status, count in sorted(section["cases"].items()):
            said = "Cases of a program by status."
            yield _sample(run, "gpusig_cases", said, count, **place, status=str(status))
        wrong = [own for own in run.failed if own.is_wrong and _place(vars(own)) == place]
        invalid = [entry for entry in run.signature["invalid"] if _place(entry) == place]
        counts = sum(own.count for own in wrong), sum(int(entry.get("count", 1)) for entry in invalid)
        yield _sample(run, "gpusig_wrong_results", "Cases whose result was wrong.", counts[0], **place)
        said = "Values that are flagged and not used."
        yield _sample(run, "gpusig_invalid_values", said, counts[1], **place)
    for entry in run.signature["not_measured"]:
        if entry["key"] is None:
            said = "1 for a program that could not run at all; status says whether it failed."
            yield _sample(
                run, "gpusig_program_not_run", said, 1, **_place(entry), status=str(entry["status"])
            )


def _of_run(run: Run) -> Iterable[Sample]:
    about = {"gpusig": run.field("version"), "kernel": run.field("kernel"), "driver": run.driver}
    yield _sample(run, "gpusig_run_info", "What was measured, and with what.", 1, **about)
    if run.started:
        began, said = run.started.timestamp(), "When the run began, in seconds since 1970."
        yield _sample(run, "gpusig_run_timestamp_seconds", said, began)
    said = "1 for a run that should not be kept as a baseline."
    yield _sample(run, "gpusig_run_doubtful", said, run.doubtful)
    said = "1 for numbers of a model, not of a machine."
    yield _sample(run, "gpusig_run_simulated", said, run.simulated)
    yield from _counts(run)
    for missing in run.missing:
        said = "1 for a headline number without a valid value."
        place = {name: getattr(missing, name) for name in ("device", "program", "metric", "cause")}
        yield _sample(run, "gpusig_metric_missing", said, 1, **place)
    for value in run.values:
        yield from _of_value(run, value)


def _label_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _line(sample: Sample) -> str:
    labels = ",".join('%s="%s"' % (name, _label_text(text)) for name, text in sample.labels)
    return "%s{%s} %s" % (sample.family, labels, repr(float(sample.value)))


def newest(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The latest run of each node and device, and the others: Prometheus has one value of a series at a
    time."""
    found: dict[tuple[str, str, str], Run] = {}
    for run in sorted(runs, key=lambda run: run.started.timestamp() if run.started else float("-inf")):
        found[run.node, run.device, run.model] = run
    kept = list(found.values())
    return kept, [run for run in runs if not any(run is one for one in kept)]


def text(runs: Sequence[Run]) -> str:
    """Families in order of their names; the first of two samples with the same labels counts."""
    families: dict[str, tuple[str, dict[Labels, Sample]]] = {}
    for run in runs:
        for sample in _of_run(run):
            families.setdefault(sample.family, (sample.help, {}))[1].setdefault(sample.labels, sample)
    lines: list[str] = []
    for family, (help_text, samples) in sorted(families.items()):
        lines.append("# HELP %s %s" % (family, _label_text(help_text).replace('\\"', '"')))
        lines.append("# TYPE %s gauge" % family)
        lines += map(_line, samples.values())
    return "\n".join(lines) + "\n"


def export(runs: Sequence[Run]) -> tuple[str, list[str]]:
    kept, others = newest(runs)
    return text(kept), [
        "%s is left out: Prometheus takes the newest run of %s" % (run.name, run.node) for run in others
    ]
