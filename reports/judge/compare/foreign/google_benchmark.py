# SPDX-License-Identifier: BSD-3-Clause
"""JSON of Google Benchmark (--benchmark_out_format=json). Names are BENCHMARK/real_time, /cpu_time and
/COUNTER.

Repetitions in one process are one run: their median, or the tool's own where only aggregates are in the file.
Two benchmarks of one name (the tool allows it) are no repetitions, and are refused.
The real time is judged; bytes_per_second and items_per_second follow from it.
"""

from __future__ import annotations

import re
from typing import Any

from reports.judge.compare.foreign.found import UNITS, Found, iso_date
from reports.records.jsonl import BadRecord, Json, Reader, is_number
from reports.records.quantity import bounded, plural, size

SOURCE = "Google Benchmark"
_TIMES = ("real_time", "cpu_time")
_NOT_COUNTERS = {
    *_TIMES,
    *"name family_index per_family_instance_index run_name run_type repetitions repetition_index".split(),
    *"threads aggregate_name aggregate_unit error_occurred error_message skipped skip_message".split(),
    *"iterations time_unit cpu_coefficient real_coefficient big_o rms label".split(),
}
_COUNTERS: dict[str, tuple[str, str | None]] = {
    "bytes_per_second": ("byte/s", "higher"),
    "items_per_second": ("1/s", "higher"),
    "allocs_per_iter": ("1", "lower"),
    "max_bytes_used": ("byte", "lower"),
    "total_allocated_bytes": ("byte", "lower"),
    "net_heap_growth": ("byte", "lower"),
}
_AGGREGATES = ("_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS")  # of names, before there was a run_type
_NOT_FACTS = set("date load_avg json_schema_version executable caches host_name mhz_per_cpu num_cpus".split())
_KIND_OF = {
    "library_version": "library",
    "library_build_type": "library",
    "cpu_scaling_enabled": "clocks",
    "aslr_enabled": "kernel",
}
_OF_A_BENCHMARK = ("family_index", "per_family_instance_index")  # from version 1.5.5 on
_REPETITION = "repetition_index"  # of what is no aggregate, from version 1.5 on
_MAX_FACTS = 64
# The tool writes a key a line, and what is not finite as JavaScript has it. A string of JSON holds no end of
# a line.
_CONSTANT = re.compile(rb'^([ \t]{0,40}"[^"\r\n]{1,400}": )-?(?:NaN|Infinity)(,?\r?)$', re.MULTILINE)


def without_constants(content: bytes) -> bytes:
    """null in place of NaN and Infinity, which are not JSON."""
    return _CONSTANT.sub(rb"\1null\2", content) if b": NaN" in content or b"Infinity" in content else content


def is_mine(value: Json) -> bool:
    return isinstance(value.get("context"), dict) and isinstance(value.get("benchmarks"), list)


def _role(entry: Reader) -> tuple[str, str]:
    """The benchmark, and "iteration", "median" or another aggregate."""
    name = entry.text("name")
    kind = entry.text_or("run_type")
    if not kind:
        suffix = next((s for s in _AGGREGATES if name.endswith(s)), "")
        return name[: len(name) - len(suffix)], suffix[1:] or "iteration"
    role = "iteration" if kind == "iteration" else entry.text_or("aggregate_name") or "aggregate"
    return entry.text_or("run_name") or name, role


def _why_skipped(entry: Reader) -> str:
    for key, message, word in (
        ("error_occurred", "error_message", "error"),
        ("skipped", "skip_message", "skipped"),
    ):
        if entry.json.get(key) is True:
            return ": ".join(text for text in (word, entry.text_or(message)) if text)
    return ""


def _add(found: Found, name: str, entry: Reader) -> None:
    why, unit, skipped = _why_skipped(entry), entry.text_or("time_unit", "ns"), entry.json.get("skipped")
    if UNITS.get(unit, ("",))[0] != "s":
        raise BadRecord("the unit of time '%s' is unknown" % bounded(unit, 20))

    def add(key: str, value: Any, unit: str, better: str | None, *other: Any, **more: Any) -> None:
        label = "%s %s" % (name, key.replace("_", " "))
        condition = bounded(entry.text_or("label"), 80)
        path = "%s/%s" % (name, key)
        found.metrics.add(path, value, unit, better, *other, label=label, condition=condition, **more)

    for key in _TIMES:
        judged, factor = key == _TIMES[0], UNITS[unit][1]
        add(key, entry.real(key), "s", "lower", why, factor, judged=judged, unavailable=skipped is True)
    for key, value in entry.json.items():
        if key not in _NOT_COUNTERS and (value is None or is_number(value)):
            reason = why or "not a finite number" * (value is None)
            add(key, value, *_COUNTERS.get(key, ("1", None)), reason, judged=False)


def _caches(context: Reader) -> str:
    words = []
    for cache in context.objects("caches")[:16]:
        bytes_ = cache.json.get("size")
        if is_number(bytes_) and 0 <= bytes_ < 1 << 62:
            words.append("%s %s" % (cache.text_or("type"), size(bytes_)))
    return ", ".join(words)


def _state(found: Found, context: Reader) -> None:
    found.started = iso_date(context.text_or("date"))
    cpus, clock = context.json.get("num_cpus"), context.json.get("mhz_per_cpu")
    cpus_words = plural(cpus, "CPU") if isinstance(cpus, int) and not isinstance(cpus, bool) else ""
    clock_words = "%d MHz" % clock if isinstance(clock, int) and not isinstance(clock, bool) else ""
    found.machine = ", ".join(
        text for text in (bounded(context.text_or("host_name"), 80), cpus_words, clock_words) if text
    )
    found.state("machine: host", context.text_or("host_name"))
    found.state("machine: CPUs", cpus_words)
    found.state("clocks: CPU clock", clock_words)
    found.state("machine: caches", _caches(context))
    facts = {
        key: value
        for key, value in context.json.items()
        if key not in _NOT_FACTS and isinstance(value, (str, int, float))
    }
    for key, value in list(facts.items())[:_MAX_FACTS]:
        found.state("%s: %s" % (_KIND_OF.get(key, "options"), key.replace("_", " ")), value)


def _repeats(first: Json, entry: Json) -> bool:
    """True if two iterations of one name are of one benchmark, which has every index of a repetition once.
    Files before version 1.5 have no index; there only the label tells."""
    if _REPETITION not in entry:
        return first.get("label") == entry.get("label")
    return first.get(_REPETITION) != entry[_REPETITION] and all(
        first.get(key) == entry.get(key) for key in _OF_A_BENCHMARK
    )


def read(value: Json) -> Found:
    found, entries = Found(SOURCE), Reader(value, "result").objects("benchmarks")
    roles = [(*_role(entry), entry) for entry in entries]
    measured = {name for name, role, _ in roles if role == "iteration"}
    seen: dict[str, Json] = {}
    for name, role, entry in roles:
        if role == "iteration" or (role == "median" and name not in measured):
            if name in seen and not (role == "iteration" and _repeats(seen[name], entry.json)):
                raise BadRecord(
                    "two benchmarks have the name %s: give each a name of its own" % bounded(name, 100)
                )
            seen.setdefault(name, entry.json)
            _add(found, name, entry)
    _state(found, Reader(value["context"], "context"))
    return found
