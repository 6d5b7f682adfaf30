# SPDX-License-Identifier: BSD-3-Clause
"""Runs as JSON of Google Benchmark, a repetition for each run of one machine, for its compare.py and whatever
else reads that.

A benchmark there is a time. A headline number that is a time is one; a rate becomes the time of so much work,
with the rate as a counter. A ratio has no time, so it is left out, and named. CPU time is not measured:
cpu_time is 0.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Sequence

from reports.judge.compare.numbers import BadNumbers
from reports.export.runs import Run, Value, of_one_machine
from reports.records.jsonl import Json, is_number
from reports.records.quantity import listing, plural

_NS = 1e9
# Work whose time stands for a rate, in words, and the counter. Their tools print whole nanoseconds.
_RATES = {
    "byte/s": (1e9, "1e9 bytes", "bytes_per_second"),
    "flop/s": (1e12, "1e12 flop", "items_per_second"),
    "op/s": (1e12, "1e12 operations", "items_per_second"),
    "1/s": (1.0, "one", "items_per_second"),
}


class _Timed(NamedTuple):
    seconds: float
    label: str
    counters: dict[str, float]


def _timed(value: Value) -> Any:
    """None for a number that is no time and has none."""
    label = "; ".join(filter(None, (value.condition, value.grade)))
    if value.unit == "s":
        return _Timed(value.value, label, {})
    if value.unit in _RATES and value.value > 0:
        work, words, counter = _RATES[value.unit]
        return _Timed(
            work / value.value, "; ".join(filter(None, ("time of " + words, label))), {counter: value.value}
        )
    return None


def _entry(value: Value, timed: _Timed, place: tuple[int, int, int]) -> Json:
    family, repetition, repetitions = place
    entry: Json = {
        "name": value.name,
        "family_index": family,
        "per_family_instance_index": 0,
        "run_name": value.name,
        "run_type": "iteration",
        "repetitions": repetitions,
        "repetition_index": repetition,
        "threads": 1,
        "iterations": value.n,
        "real_time": timed.seconds * _NS,
        "cpu_time": 0.0,
        "time_unit": "ns",
        **timed.counters,
    }
    return dict(entry, label=timed.label) if timed.label else entry


def _caches(fields: Json) -> list[Json]:
    found = []
    for name, size in fields.items():
        words = name.split("_")  # cache_l1_Data
        if len(words) == 3 and words[0] == "cache" and words[1][1:].isdigit() and is_number(size):
            found.append({"type": words[2], "level": int(words[1][1:]), "size": size, "num_sharing": 0})
    return found


def _context(runs: Sequence[Run]) -> Json:
    run = runs[0]
    fields = run.signature["provenance"]["fields"]
    cores = fields.get("cores_online")
    return {
        "date": run.started.isoformat() if run.started else "",
        "host_name": run.node,
        "executable": "gpusig",
        "num_cpus": cores if is_number(cores) else 0,
        "mhz_per_cpu": 0,
        "cpu_scaling_enabled": bool(fields.get("governor")),
        "caches": _caches(fields),
        "load_avg": [],
        "library_build_type": "release",
        "gpusig_version": run.field("version"),
        "device": run.device,
        "model": run.model,
        "driver": run.driver,
        "kernel": run.field("kernel"),
        "simulated": "yes" if run.simulated else "no",
        "cpu_time": "not measured",
        "wrong_results": str(sum(one.wrong_results for one in runs)),
    }


def export(runs: Sequence[Run]) -> tuple[str, list[str]]:
    ordered = of_one_machine(runs, "Google Benchmark's JSON")
    benchmarks: list[Json] = []
    without: list[str] = []
    names = list(dict.fromkeys(value.name for run in ordered for value in run.values))
    for family, name in enumerate(names):
        found = [value for run in ordered for value in run.values if value.name == name]
        timed = [_timed(value) for value in found]
        if None in timed:
            without.append(name)
            continue
        benchmarks += [
            _entry(value, time, (family, i, len(found))) for i, (value, time) in enumerate(zip(found, timed))
        ]
    if not benchmarks:
        raise BadNumbers("no time and no rate to export in %s" % listing([run.name for run in ordered], 3))
    said = "%s left out, because Google Benchmark has only times: %s"
    are = plural(len(without), "ratio is", "ratios are")
    whole = {"context": _context(ordered), "benchmarks": benchmarks}
    text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return text, [said % (are, listing(without, 6))] * bool(without)
