# SPDX-License-Identifier: BSD-3-Clause
"""JSON of nccl-tests (-J), versions 1 to 3. Names are those of the table (nccl_tests.py), so either
may be compared with the other."""

from __future__ import annotations

import re
from typing import Any

from reports.judge.compare.foreign.found import Found, iso_date, number_in
from reports.judge.compare.foreign.nccl_tests import MAX_RANKS, PLACES, SOURCE, Rank, Row, add_row
from reports.judge.compare.foreign.nccl_tests import collective_of, nccl_version, state_ranks, why_failed
from reports.judge.compare.foreign.nccl_tests import why_wrong
from reports.records.jsonl import BadRecord, Json, Reader, is_number

_TIMES = {"time": "time", "cpu_time": "cputime"}
_SETTINGS = {
    "threads per process": "nthreads",
    "GPUs per thread": "ngpus",
    "warmup iterations": "warmup_iters",
    "iterations": "iterations",
    "aggregated iterations": "aggregated_iterations",
    "validation": "validation",
    "graph launches": "graph",
    "largest size": "maximum_bytes",
}
_SWITCHES = {
    "blocking": "blocking_collectives",
    "per-iteration timing": "per_iter_timing",
    "parallel init": "parallel_init",
}
# Arguments that names and settings have, and the file.
_NOT_OF_ARGUMENTS = re.compile(
    r"\0(?:-[befiodrtgnmwcGIJ]|--(?:minbytes|maxbytes|stepbytes|stepfactor|op|datatype|root|nthreads|ngpus|iters"
    r"|agg_iters|warmup_iters|check|cudagraph|output_file)\b)[\0=]?[^\0]*"
)
# Variables that change how a collective runs. Those of _NOT_OF_ENVIRONMENT name files or jobs.
_ENVIRONMENT = ("NCCL_", "RCCL_", "CUDA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=")
_NOT_OF_ENVIRONMENT = ("_FILE", "_COMM_ID", "_HOSTID", "_DIR", "_DEBUG_SUBSYS")
_MAX_VARIABLES = 64


def is_mine(value: Json) -> bool:
    return "results" in value and "nccl_version" in value


def _value(reader: Reader, key: str) -> float | None:
    """NaN is the string "nan"."""
    value = reader.json.get(key)
    value = number_in(value) if isinstance(value, str) else value
    if value is not None and not is_number(value):
        raise reader.fail(key, "a number")
    return value


def _whole(reader: Reader, key: str) -> int:
    value = reader.json.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise reader.fail(key, "a count")
    return value


def _row(result: Reader, collective: str, ranks: str) -> Row:
    type_, redop, root = result.text("type"), result.text_or("redop"), result.text_or("root").strip()
    row = Row(collective, type_, redop, root, _whole(result, "size"), ranks)
    for place in PLACES:
        reader = result.object_or_empty(place)
        times = {name: _value(reader, key) for key, name in _TIMES.items() if key in reader.json}
        if reader.json:
            row.measured[place] = {**times, "busbw": _value(reader, "bus_bw")}
            row.wrong[place] = why_wrong(_value(reader, "nwrong"))
    return row


def _state(found: Found, reader: Reader) -> str:
    """The part of the ranks in the names."""
    config = reader.object_or_empty("config")
    found.state("library: NCCL", nccl_version("%d" % _whole(reader, "nccl_version")))
    for key, name in _SETTINGS.items():
        value = config.json.get(name)
        found.state("options: " + key, value if is_number(value) else None)
    for key, name in _SWITCHES.items():
        found.state("options: " + key, True if config.json.get(name) == "true" else None)
    arguments = "".join("\0%s" % argument for argument in reader.items("args")[1:])
    found.state("options: arguments", _NOT_OF_ARGUMENTS.sub("", arguments).replace("\0", " "))
    for name, value in _variables(reader.items("env")).items():
        found.state("environment: " + name, value)
    return state_ranks(found, _ranks(config))


def _ranks(config: Reader) -> list[Rank]:
    """The tool lists the first of a process. The others of the process have its host, and, we take it, such a
    device."""
    of_a_process = _whole(config, "nthreads") * _whole(config, "ngpus")
    listed = [
        Rank(process.text_or("hostname"), process.text_or("device_info"), str(process.json.get("group", "")))
        for process in config.objects("devices")
    ]
    if len(listed) * of_a_process > MAX_RANKS:
        raise BadRecord("more than %d ranks" % MAX_RANKS)
    return [rank for rank in listed for _ in range(of_a_process)]


def _variables(env: list[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in env:
        if isinstance(entry, str) and entry.startswith(_ENVIRONMENT) and len(found) < _MAX_VARIABLES:
            name, _, value = entry.partition("=")
            if not name.endswith(_NOT_OF_ENVIRONMENT):
                found[name] = value
    return dict(sorted(found.items()))


def read(value: Json) -> Found:
    reader, found = Reader(value, "result"), Found(SOURCE)
    if "average_bus_bandwidth" not in value:
        raise BadRecord("cut off, or the test did not end: no average_bus_bandwidth")
    args = reader.items("args")
    collective = collective_of(args[0] if args and isinstance(args[0], str) else "")
    ranks = _state(found, reader)
    right = [add_row(found.metrics, _row(result, collective, ranks)) for result in reader.objects("results")]
    bounds = reader.object_or_empty("out_of_bounds").json
    is_within = bounds.get("okay") in (None, True, "true") and bounds.get("count") in (None, 0)
    if all(right) and not is_within:
        found.metrics.invalidate(why_failed(bounds.get("count")))
    errors = [text for text in reader.items("errors") if text != ""] if "errors" in value else []
    if errors:
        found.metrics.invalidate("NCCL says: %s" % errors[0])
    found.started = iso_date(reader.text_or("start_time"))
    return found
