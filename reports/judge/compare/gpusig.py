# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of a run of gpusig, from its signature.json, and of the control next to it (runs on GPUs)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from reports.records.causes import CONTENDED, NEUTRAL, UNAVAILABLE, WRONG_RESULT
from reports.judge.compare import provenance
from reports.judge.compare.numbers import DIFFERENCE, RATIO, BadNumbers, Failed, Number, RunNumbers, place_of
from reports.records.groups import GROUPS, group_of
from reports.records.jsonl import BadRecord, Json, is_number, read_object
from reports.signature import signature_file
from reports.signature.kind import kind_of
from reports.signature.machine import name_of
from reports.records.metrics import FASTEST
from reports.records.moderated import Variance
from reports.records.quantity import spell
from reports.signature.signature_file import SCHEMA, trusting
from reports.records.spread import deviation_of, is_difference

SOURCE = "gpusig"
_CONTROL = "control"  # the folder that suite/run/repeats.py writes
_OWN_SIZES = (
    "micro/memory",
    "micro/latency",
    "micro/sustained",
)  # their footprints follow from the caches of the machine
_SIZE = re.compile(r"(?:, )?[0-9.,]+ [KMGT]?i?B\b")


def is_signature(value: Json) -> bool:
    return value.get("schema") == SCHEMA


def case_of(program: str, metric: str, condition: str) -> str:
    """The condition without what may differ between two values that are compared."""
    condition = condition.partition(FASTEST)[0].rstrip(", ")
    own = program in _OWN_SIZES and not re.search(r"_[0-9]+[kMG]?$", metric)
    return _SIZE.sub("", condition) if own else condition


def number_of(name: str, entry: Json) -> Number:
    """The number of an entry of a signature. ValueError or KeyError if it is none."""
    program, _, metric = name.partition("@")[0].rpartition("/")
    value, unit, better = entry["value"], entry["unit"], entry["better"]
    if not is_number(value) or not isinstance(unit, str) or better not in (None, "higher", "lower"):
        raise ValueError("%s is not a number with a unit and a direction" % name)
    metric = metric.partition("{")[0]
    scale = DIFFERENCE if is_difference(metric, unit) else RATIO
    if not entry["primary"]:
        return Number(float(value), unit, better, False, scale=scale)
    condition, latency = str(entry.get("condition") or ""), entry.get("core_latency_s")
    low, high = (float(entry[end]) if is_number(entry.get(end)) else None for end in ("ci_low", "ci_high"))
    return Number(
        float(value),
        unit,
        better,
        True,
        scale=scale,
        label=spell(metric),
        group=group_of(name),
        condition=condition,
        case=case_of(program, metric, condition),
        contended=entry.get("grade") == CONTENDED,
        low=low,
        high=high,
        tries=deviation_of(entry, name) or Variance(0.0, 0.0),
        core_latency_s=latency if is_number(latency) and latency > 0 else None,
    )


def name_of_missing(signature: Json, entry: Json) -> str:
    """The name that a headline number without a value would have among the metrics."""
    suffix = "" if entry["device"] in (signature["device"], "none") else "@%s" % entry["device"]
    return "%s/%s%s" % (entry["program"], entry["metric"], suffix)


def _missing(signature: Json) -> dict[str, Number]:
    found = {}
    for entry in signature["primary_missing"]:
        program, metric, reason = (str(entry[name]) for name in ("program", "metric", "reason"))
        name = name_of_missing(signature, entry)
        if "once" in entry:  # one contended try is no value of a run, but the other runs are its repeats
            found[name] = replace(number_of(name, dict(entry["once"], primary=True)), contended=True)
            continue
        found[name] = Number(
            None,
            "",
            None,
            unavailable=entry["cause"] in UNAVAILABLE,
            neutral=entry["cause"] in NEUTRAL,
            reason=reason,
            label=spell(metric),
            group=group_of(name),
        )
    return found


def _ordered(numbers: dict[str, Number]) -> dict[str, Number]:
    """The numbers group by group, as on the page of a run."""
    places = {title: place for place, title in enumerate(GROUPS)}
    return dict(sorted(numbers.items(), key=lambda item: places.get(item[1].group, len(places))))


def _identity(signature: Json) -> tuple[str, str]:
    """A hash of its measurements, and when they began."""
    keys = ("run", "program", "started")
    runs = sorted(tuple(str(run.get(key) or "") for key in keys) for run in signature["runs"])
    started = min((when for _, _, when in runs if when), default="")
    return hashlib.sha256(repr(runs).encode("utf-8", "replace")).hexdigest() if runs else "", started


def failed_of(signature: Json) -> tuple[Failed, ...]:
    return tuple(
        Failed(
            str(entry["program"]),
            str(entry["device"]),
            entry["cause"] == WRONG_RESULT,
            int(entry.get("count", 1)),
            str(entry["reason"]),
        )
        for entry in signature["not_measured"]
        if entry["status"] == "failed" or entry["cause"] == WRONG_RESULT
    )


def run_of(signature: Json, name: str, plan: Json, values: bool = True) -> RunNumbers:
    entries = signature["metrics"].items()
    named = {key: number_of(key, entry) for key, entry in entries if values or entry["primary"]}
    judged = {key: number for key, number in named.items() if number.judged}
    numbers = _ordered({**judged, **_missing(signature)})
    numbers.update((key, number) for key, number in named.items() if not number.judged)
    (identity, started), kind = _identity(signature), kind_of(signature)
    return RunNumbers(
        name,
        SOURCE,
        numbers,
        identity,
        started or str(plan.get("created") or ""),  # in virtual time nothing has a clock
        kind if signature["simulated"] else name_of(signature),
        "%s: %s" % (signature["device"], kind),
        signature["simulated"] is True,
        provenance.of_signature(signature, plan),
        failed_of(signature),
        kind,
    )


def read_signature(path: Path, name: str) -> Json:
    """A signature as it is in the file. BadNumbers if it is none."""
    try:
        return signature_file.read(path)
    except FileNotFoundError:
        raise BadNumbers("%s has no signature.json; make it: ./gpusig report %s" % (name, name)) from None
    except OSError as why:
        raise BadNumbers("%s: %s" % (name, why.strerror)) from None
    except BadRecord as why:
        raise BadNumbers("%s: signature.json: %s" % (name, why)) from None


def read_plan(folder: Path) -> Json:
    """The plan of the driver; empty if there is none, as of a program that ran alone."""
    try:
        return read_object(folder / "plan.json")
    except (OSError, BadRecord):
        return {}


def read(path: Path, name: str, values: bool = True) -> RunNumbers:
    """The run of a signature.json; without `values` only its headline numbers. BadNumbers if it is none, or
    malformed."""
    with trusting("%s: signature.json" % name, BadNumbers):
        run = run_of(read_signature(path, name), name, read_plan(path.parent), values)
        run = replace(run, place=place_of(path))
        control = path.parent / _CONTROL / path.name
        if not values or not control.is_file():
            return run
        concurrent = run_of(read_signature(control, "%s/%s" % (name, _CONTROL)), name, {})
    found: dict[str, Any] = dict(run.numbers)
    for key, number in concurrent.numbers.items():
        if number.judged and not number.unavailable:
            found["%s@%s" % (key, _CONTROL)] = replace(number, judged=False, control=True, group="Control")
    return replace(run, numbers=found, failed=run.failed + concurrent.failed)
