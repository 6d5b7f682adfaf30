# SPDX-License-Identifier: BSD-3-Clause
"""Records in, signature out: what a machine can do, in a small JSON that another machine's can be compared
with.

The same records give the same bytes. Only valid values enter; every skipped one is listed with its reason.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from reports.records import cliffs
from reports.records.causes import ERROR, NOT_STARTED
from reports.records.curves import (
    Curve,
    axis_unit,
    by,
    cause_of,
    curves_of,
    flags_of,
    marks,
    numeric_axis,
    why_invalid,
)
from reports.records.jsonl import Json, is_number
from reports.records.quantity import listing, size
from reports.signature.machine import latest
from reports.signature.section import Section
from reports.signature.sections import rank, section_of, spec_of
from reports.records.metrics import (
    all_of,
    brief,
    formulas_of,
    metric,
    metric_name,
    of_many,
    primary_of,
    shortened,
)
from reports.records.placement import levels_of
from reports.records.records import Group, Records, Run
from reports.signature.signature_file import text_of
from reports.records.spread import Tried, add_run_intervals
from reports.signature.tails import tails_of

_OF_A_RANK = ("affinity",)  # a launcher binds every rank as it likes
# Fields that make it another machine, or its numbers others by definition; of the rest a change is a warning.
_OF_A_MACHINE = (
    ("hostname", "machines"),
    ("cpu", "CPUs"),
    ("cpu_family", "CPUs"),
    ("cpu_model", "CPUs"),
    ("architecture", "CPUs"),
    ("version", "versions of gpusig"),
)
_SAME_MEMORY = 1.1  # times as much: a kernel keeps more or less of it for itself
_VOLATILE = ("load_average", "load_1min")  # differ between any two runs; not worth a line
_FREE = ("memory_bytes",)  # of a device; what others leave of it


def _is_time_only(device: Mapping[str, Any]) -> bool:
    """A device without data, which has no results to check."""
    return isinstance(device.get("capabilities"), list) and "time_only" in device["capabilities"]


class MixedMachines(ValueError):
    """The records cannot be one machine's signature."""


@dataclass
class Signature:
    """Everything as JSON, of which signature.json has a part, and the sections it was made from, which the
    report draws."""

    json: Json
    sections: List[Section] = field(default_factory=list)
    command: str = ""  # that measures the same
    prediction: Optional[Json] = None  # of its model (reports/predict/check.py)

    def text(self) -> str:
        """The content of signature.json."""
        return text_of(
            self.json, {(s.group.program, p.derived) for s in self.sections for p in s.group.run.primary}
        )

    @property
    def failed(self) -> bool:
        return bool(self.crashed) or any(e["status"] == "failed" for e in self.json["not_measured"])

    @property
    def crashed(self) -> List[str]:
        """Programs whose last start ended by a signal, also where cases were measured before."""
        return sorted(
            {
                r["program"]
                for r in latest(self.json["runs"])
                if str(r.get("reason") or "").startswith("ended by signal")
            }
        )

    @property
    def primary(self) -> Dict[str, Json]:
        return {name: m for name, m in self.json["metrics"].items() if m["primary"]}


def _check_equal(what: str, values: Iterable[object]) -> None:
    """Raise MixedMachines if values differ; one that a run does not know is taken for that of the others."""
    distinct = sorted({str(v)[:80] for v in values if v not in (None, "")})
    if len(distinct) > 1:
        raise MixedMachines(
            "records of different %s do not mix: %s; measure into a new folder" % (what, listing(distinct))
        )


def check_one_machine(runs: List[Run]) -> None:
    """Raises MixedMachines when they are not."""
    simulated = [r for r in runs if r.simulated is True and _measured(r)]
    measured = [r for r in runs if r.simulated is False and _measured(r)]
    if simulated and measured:
        raise MixedMachines(
            "simulated and measured records do not mix: %s ran on %s, %s on %s"
            % (simulated[0].program, simulated[0].device_spec, measured[0].program, measured[0].device_spec)
        )
    for name, what in _OF_A_MACHINE:
        _check_equal(what, [r.provenance.get(name) for r in runs])
    memory = [r.provenance.get("memory_bytes") for r in runs]
    sizes = [float(found) for found in memory if is_number(found)]
    if sizes and max(sizes) > _SAME_MEMORY * min(sizes):
        _check_equal("memories", map(size, (min(sizes), max(sizes))))
    devices = [(r.device_spec, d) for r in runs if _measured(r) for d in r.devices]
    for same in by(devices, lambda found: (found[0], str(found[1].get("index")))).values():
        for name in ("name", "uuid"):
            _check_equal("devices", (device.get(name) for _, device in same))


def _main_device(records: Records) -> str:
    """The device most cases ran on, measured ones before others; metrics of any other device carry its
    name."""
    cases = Counter({g.device: 0 for g in records.groups.values()})
    measured: Counter = Counter()
    for group in records.groups.values():
        count = len(group.cases) if group.run.devices else 0
        cases[group.device] += count
        measured[group.device] += count if _measured(group) else 0
    return min(cases, key=lambda d: (-measured[d], -cases[d], d)) if cases else "none"


def _changed(values: Mapping[str, List[Any]]) -> Json:
    distinct = {k: list(dict.fromkeys(v)) for k, v in values.items()}
    return {k: v[:20] for k, v in distinct.items() if len(v) > 1 and k not in _VOLATILE}


def _provenance(runs: List[Run]) -> Json:
    """Fields that are equal in all runs, and those that changed between them."""
    values: Dict[str, List[Any]] = {}
    environment: Dict[str, List[Any]] = {}
    for run in runs:
        for key, value in run.provenance.items():
            if run.ranks and key in _OF_A_RANK:
                continue
            values.setdefault(key, []).append(value)
        for key, value in run.environment.items():
            environment.setdefault(key, []).append(value)
    return {
        "fields": {k: v[-1] for k, v in values.items()},
        "changed_between_runs": _changed(values),
        "environment": {k: v[-1] for k, v in environment.items()},
    }


def _run_json(records: Records, run: Run) -> Json:
    end = records.ends.get((run.id, run.program))
    return {
        "run": run.id,
        "program": run.program,
        "device": run.device_spec,
        "started": run.started,
        "argv": list(run.argv),
        "options": run.options,
        "status": end.status if end else "killed",
        "reason": end.reason if end else "no end record: killed, or still running",
        "elapsed_s": end.elapsed_s if end else None,
        "cases": dict(end.cases) if end else {},
    }


_OF_A_POINT = ("value", "ci_low", "ci_high", "n", "bound")


def _curve_json(curve: Curve) -> Json:
    return {
        "derived": curve.derived,
        "variant": curve.variant or None,
        "where": dict(curve.fixed),
        "axis": curve.axis,
        "axis_unit": curve.axis_unit,
        "unit": curve.unit,
        "formula": curve.formula,
        "points": [
            dict(of_many({**{name: getattr(p, name) for name in _OF_A_POINT}, **marks(p)}), x=p.x)
            for p in curve.valid
        ],
    }


def _without_rate_times(curves: List[Curve]) -> List[Curve]:
    """Drop time curves that a rate over the same points states already; see metrics.is_stated_by_rate."""

    def place(curve: Curve) -> Tuple[Any, ...]:
        return curve.variant, curve.axis, tuple(sorted(curve.fixed.items())), tuple(p.x for p in curve.valid)

    rates = {place(c) for c in curves if c.unit.endswith("/s")}
    return [c for c in curves if c.valid and not (c.derived == "time" and place(c) in rates)]


def _not_measured(group: Group) -> List[Json]:
    """Cases that failed or were skipped. A case that a model has no answer for does not count as skipped."""
    statuses = ("failed", "skipped") if _measured(group) else ("failed",)
    cases = (c for c in group.cases.values() if c.status in statuses)
    return [_unmeasured(c.program, group.device, c.key, c.status, c.cause, c.reason) for c in cases]


def _unmeasured(program: str, device: str, key: Optional[str], status: str, cause: str, reason: str) -> Json:
    names = {"program": program, "device": device, "key": key}
    return {**names, "status": status, "cause": cause, "reason": reason or "no reason given"}


def _unstarted(records: Records, main: str) -> List[Json]:
    """Whole programs that could not be built or run, or died before their first record; their key is null."""
    words = {True: ("failed", ERROR), False: ("skipped", NOT_STARTED)}
    return [
        _unmeasured(program, main, None, *words[end.status == "failed"], end.reason)
        for program, end in sorted(records.unstarted.items())
    ]


def _invalid(group: Group) -> List[Json]:
    return [
        {
            "program": c.program,
            "device": group.device,
            "key": c.key,
            "derived": d.name,
            "variant": d.variant,
            "flags": flags_of(c, d),
            "cause": cause_of(c, d),
            "reason": why_invalid(c, d),
        }
        for c in group.cases.values()
        for d in c.derived
        if why_invalid(c, d)
    ]


def _measured(what: Union[Section, Group, Run]) -> bool:
    """False for models and simulated ranks: they do not measure this machine, and only their results are
    kept."""
    return spec_of((what.group if isinstance(what, Section) else what).program).measured


def _section_json(section: Section) -> Json:
    group = section.group
    status = Counter(c.status for c in group.cases.values())
    cases = list(group.cases.values()) if _measured(group) else []
    facts = {c.key: dict(c.facts) for c in cases if c.facts}
    mechanism = [
        {"key": c.key, "name": m.name, "observed": m.observed, "detail": m.detail}
        for c in cases
        for m in c.mechanism
    ]
    return {
        **_names_of(section),
        "question": group.run.question,
        "formula": group.run.formula,
        "formulas": formulas_of(group),
        "timed": group.run.timed,
        "limits": group.run.limits,
        "axis": {"name": numeric_axis(group), "unit": axis_unit(group, numeric_axis(group))},
        "cases": {s: status.get(s, 0) for s in ("ok", "failed", "skipped")},
        "repeated": group.repeated,
        "curves": [_curve_json(c) for c in _without_rate_times(section.curves if cases else [])],
        "facts": facts,
        "mechanism": mechanism,
        "results": shortened(section.results),
        "summary": section.summary,
    }


def _fit_metrics(section: Section, suffix: str) -> Dict[str, Json]:
    """The numbers of every fitted line, as metrics of their own. A line that does not describe its curve
    gives none."""
    found = {}
    for fit in section.results.get("fits", []):
        if fit["poor"]:
            continue
        labels = dict(fit["where"], variant=fit["variant"] or "")
        for name, unit, interval in (
            ("alpha_s", "s", "alpha_ci"),
            ("bandwidth", "byte/s", "bandwidth_ci"),
            ("half_size_byte", "byte", ""),
        ):
            if fit[name] is None or fit[name] <= 0:
                continue
            low, high = fit.get(interval) or (None, None)
            found[metric_name(section.group.program, "fit_" + name, labels, suffix)] = metric(
                section.group,
                fit[name],
                unit,
                fit["formula"],
                ci_low=low,
                ci_high=high,
                n=fit["points"],
                better="higher" if name == "bandwidth" else "lower",
                quantity="fit_" + name,
            )
    return found


def _metrics(sections: List[Section], main: str) -> Tuple[Dict[str, Json], List[Json], Optional[Json]]:
    """Every number, the headline numbers that are missing, and how much those that are there move between
    processes."""
    metrics: Dict[str, Json] = {}
    missing: List[Json] = []
    primary: Dict[str, Json] = {}
    tries: Dict[str, Tried] = {}
    for section in filter(_measured, sections):
        suffix = "" if section.group.device in (main, "none") else "@" + section.group.device
        metrics.update(all_of(section.group, suffix))
        metrics.update(_fit_metrics(section, suffix))
        metrics.update(cliffs.metrics(section.group, section.results.get("cliffs", ()), suffix))
        taken, absent, tried = primary_of(section.group, suffix)
        primary.update(taken)
        tries.update(tried)
        missing += absent
    spread = add_run_intervals(primary, tries)
    metrics.update(primary)
    return {name: brief(entry) for name, entry in metrics.items()}, missing, shortened(spread)


def _placements(records: Records) -> List[Json]:
    """The places of the cores, the least core-to-core latency first, with the number of tries in each."""
    levels = levels_of(records.core_latencies())
    return [{"core_latency_s": median(level), "tries": len(level)} for level in levels]


def _known_to_some(device: Mapping[str, Any], earlier: Mapping[str, Any]) -> Json:
    """Fields that only a program knows that opened the device for GEMMs: whichever ran last, the device is
    the same."""
    names = [name for name in ("gemm_types", "blas") if earlier.get(name)]
    known: Json = {name: device.get(name) or earlier[name] for name in names}
    own, others = (
        d["capabilities"] if isinstance(d.get("capabilities"), list) else [] for d in (device, earlier)
    )
    if others:
        more, fewer = (own, others) if len(own) >= len(others) else (others, own)
        known["capabilities"] = more + [word for word in fewer if word not in more]
    return known


def _devices(runs: List[Run], main: str) -> Tuple[Dict[str, Json], Json]:
    """Devices by name, those of the main --device first, and fields of them that changed between runs. Ranks,
    to which a launcher gives some of the cores, describe only what nothing else opened."""
    devices: Dict[str, Json] = {}
    facts: Dict[str, List[Any]] = {}
    whole = {run.device_spec for run in runs if not run.ranks}
    for run in sorted(runs, key=lambda r: r.device_spec != main):
        for device in () if run.ranks and run.device_spec in whole else run.devices:
            name = "%s[%s]" % (run.device_spec, device.get("index", 0))
            devices[name] = {**device, **_known_to_some(device, devices.get(name, {}))}
            for key, value in device.items():
                if value and key not in _FREE and (isinstance(value, str) or is_number(value)):
                    facts.setdefault("%s %s" % (name, key), []).append(value)
    return devices, _changed(facts)


def _names_of(section: Section) -> Json:
    return {"program": section.group.program, "device": section.group.device}


def _clock(groups: List[Group], main: str) -> Optional[float]:
    """The median of what the device's clock ran at after cases; None where it can't be read."""
    rates = [c.clock_hz for g in groups if g.device == main for c in g.cases.values() if c.clock_hz]
    return median(rates) if rates else None


def build(records: Records) -> Signature:
    """Raises MixedMachines when the records are not of one machine."""
    runs = records.runs()
    check_one_machine(runs)
    here = [r for r in runs if _measured(r)] or [r for r in runs if not r.simulated] or runs
    here = sorted(here, key=lambda r: (r.started or "", r.program, r.id))  # in whatever order they were put
    main = _main_device(records)
    groups = sorted(
        records.groups.values(), key=lambda g: (g.device != main, g.device, rank(g.program), g.program)
    )
    sections = [
        section_of(group, curves_of(group), {g.program: g for g in groups if g.device == group.device})
        for group in groups
    ]
    metrics, missing, spread = _metrics(sections, main)
    provenance = _provenance(here)
    devices, changed = _devices(here, main)
    provenance["changed_between_runs"].update(changed)
    bad_records = [
        {"reason": reason, "lines": len(numbers), "first_line": numbers[0]}
        for reason, numbers in sorted(records.bad_records.items())
    ]
    result = {
        "simulated": any(r.simulated for r in here),
        "unverified": any(map(_is_time_only, devices.values())),
        "device": main,
        "devices": devices,
        "provenance": provenance,
        "runs": [_run_json(records, r) for r in runs],
        "programs": {_section_name(s, main): _section_json(s) for s in sections},
        "metrics": metrics,
        "run_spread": spread,
        "placements": shortened(_placements(records)),
        "primary_missing": missing,
        "findings": [{**_names_of(s), "head": f.head, "text": f.text} for s in sections for f in s.findings],
        "not_measured": [e for g in groups for e in _not_measured(g)] + _unstarted(records, main),
        "invalid": [e for g in groups if _measured(g) for e in _invalid(g)],
        "bad_records": bad_records,
    }
    clock = _clock(groups, main)
    if clock:
        result["clock_hz"] = shortened(clock)
    found = [{**_names_of(s), **tail} for s in sections for tail in tails_of(s)]
    if found:
        result["tails"] = shortened(found)
    return Signature(result, sections)


def _section_name(section: Section, main: str) -> str:
    group = section.group
    return group.program if group.device in (main, "none") else "%s@%s" % (group.program, group.device)
