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
from typing import Iterable, Mapping, NamedTuple, Sequence

from reports.export.runs import Run, Value
from reports.records.quantity import spell

_UNITS = {
    "s": "seconds",
    "byte": "bytes",
    "byte/s": "bytes_per_second",
    "flop": "flops",
    "flop/s": "flops_per_second",
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


def _labels(run: Run, more: Mapping[str, str]) -> Labels:
    """A label without a value is the same as none."""
    named = {"node": run.node, "device": run.device, "model": run.model, **more}
    return tuple((name, text) for name, text in named.items() if text)


def _of_value(run: Run, value: Value) -> Iterable[Sample]:
    place = {
        "device": value.device,
        "program": value.program,
        "metric": value.metric,
        "condition": value.condition,
    }
    better = ", %s is better" % value.better if value.better else ""
    yield Sample(
        family_of(value.metric, value.unit),
        "%s%s; the median of a run." % (spell(value.metric), better),
        _labels(run, {**place, "better": value.better or ""}),
        value.value,
    )
    for end, number in (("low", value.low), ("high", value.high)):
        if number is not None:
            text = (
                "%s: %s end of the 95 %% interval, of another run or, where kind is median, "
                "of the median alone."
            )
            words = text % (spell(value.metric), "lower" if end == "low" else "upper")
            labels = _labels(run, {**place, "kind": "run" if value.of_runs else "median"})
            yield Sample(family_of(value.metric, value.unit, end), words, labels, number)
    if value.grade:
        yield Sample(
            "gpusig_metric_graded",
            "1 for a headline number that is noisy or contended: mind its interval.",
            _labels(run, {**place, "grade": value.grade}),
            1,
        )


def _counts(run: Run) -> Iterable[Sample]:
    """Of each program: what went wrong in it."""
    wrong: dict[tuple[str, str], int] = {}
    invalid: dict[tuple[str, str], int] = {}
    for own in (own for own in run.failed if own.is_wrong):
        place = own.program, own.device
        wrong[place] = wrong.get(place, 0) + own.count
    for entry in run.signature["invalid"]:
        place = str(entry["program"]), str(entry["device"])
        invalid[place] = invalid.get(place, 0) + int(entry.get("count", 1))
    for section in run.signature["programs"].values():
        place = str(section["program"]), str(section["device"])
        labels = {"program": place[0], "device": place[1]}
        for status, count in sorted(section["cases"].items()):
            yield Sample(
                "gpusig_cases",
                "Cases of a program by status.",
                _labels(run, {**labels, "status": str(status)}),
                count,
            )
        yield Sample(
            "gpusig_wrong_results", "Cases whose result was wrong.", _labels(run, labels), wrong.get(place, 0)
        )
        yield Sample(
            "gpusig_invalid_values",
            "Values that are flagged and not used.",
            _labels(run, labels),
            invalid.get(place, 0),
        )
    for entry in run.signature["not_measured"]:
        if entry["key"] is None:
            yield Sample(
                "gpusig_program_not_run",
                "1 for a program that could not run at all; status says whether it failed.",
                _labels(
                    run,
                    {
                        "program": str(entry["program"]),
                        "device": str(entry["device"]),
                        "status": str(entry["status"]),
                    },
                ),
                1,
            )


def _of_run(run: Run) -> Iterable[Sample]:
    about = {"gpusig": run.field("version"), "kernel": run.field("kernel"), "driver": run.driver}
    yield Sample("gpusig_run_info", "What was measured, and with what.", _labels(run, about), 1)
    if run.started:
        yield Sample(
            "gpusig_run_timestamp_seconds",
            "When the run began, in seconds since 1970.",
            _labels(run, {}),
            run.started.timestamp(),
        )
    yield Sample(
        "gpusig_run_doubtful",
        "1 for a run that should not be kept as a baseline.",
        _labels(run, {}),
        run.doubtful,
    )
    yield Sample(
        "gpusig_run_simulated", "1 for numbers of a model, not of a machine.", _labels(run, {}), run.simulated
    )
    yield from _counts(run)
    for missing in run.missing:
        yield Sample(
            "gpusig_metric_missing",
            "1 for a headline number without a valid value.",
            _labels(
                run,
                {
                    "device": missing.device,
                    "program": missing.program,
                    "metric": missing.metric,
                    "cause": missing.cause,
                },
            ),
            1,
        )
    for value in run.values:
        yield from _of_value(run, value)


def _label_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _line(sample: Sample) -> str:
    labels = ",".join('%s="%s"' % (name, _label_text(text)) for name, text in sample.labels)
    return "%s{%s} %s" % (sample.family, labels, repr(float(sample.value)))


def newest(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """Of each node and device the latest run, and the others: Prometheus has one value of a series at a
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
        lines += [
            "# HELP %s %s" % (family, _label_text(help_text).replace('\\"', '"')),
            "# TYPE %s gauge" % family,
        ]
        lines += map(_line, samples.values())
    return "\n".join(lines) + "\n"


def export(runs: Sequence[Run]) -> tuple[str, list[str]]:
    kept, others = newest(runs)
    return text(kept), [
        "%s is left out: Prometheus takes the newest run of %s" % (run.name, run.node) for run in others
    ]
