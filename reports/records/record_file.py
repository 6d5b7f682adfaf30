# SPDX-License-Identifier: BSD-3-Clause
"""Read records.jsonl (docs/RECORDS.md), also when it is damaged.

A line is used whole or not at all, and every line that is not used is counted under a reason. The file may
come from a crashed run or from another machine, so neither its size nor its types nor its text are trusted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Tuple

from reports.records.contradictions import contradiction_of
from reports.records.jsonl import (
    BadRecord,
    Json,
    Reader,
    clean,
    is_version,
    open_regular,
    parse_line,
    read_lines,
)
from reports.records.placement import usual
from reports.records.records import Group, Records, Run, case_of, end_of, run_of
from reports.records.tries import merged

MAX_OF_A_CASE = 40000  # measured are up to some hundred, and of all pairs of 128 nodes 32 600,
MAX_PARTS = 100000  # and in a file some ten thousand


def _known_schema(reader: Reader) -> None:
    if reader.json.get("schema") != "gpusig.record":
        raise BadRecord("not a gpusig.record")
    if not is_version(reader.text("version"), 1):
        raise BadRecord("its record version is not 1.x")


def _bound(records: Records, case: Reader) -> None:
    """Refuse what no run measures before it takes the memory."""
    parts = sum(len(case.items(name)) for name in ("variants", "derived", "mechanism"))
    if parts > MAX_OF_A_CASE:
        raise BadRecord("a case of more than %d timings and values" % MAX_OF_A_CASE)
    records.parts += 1 + parts
    if records.parts > MAX_PARTS:
        raise BadRecord("beyond the first %d cases, timings and values" % MAX_PARTS)


def _take(records: Records, runs: Dict[Tuple[str, str], Run], value: Json, line: int) -> None:
    """Enter one record. A case belongs to the latest run record of its id: simulated ids repeat."""
    reader = Reader(value, clean(str(value.get("kind", "record")))[:20])
    _known_schema(reader)
    kind, identity = reader.text("kind"), (reader.text("run"), reader.text("program"))
    if kind == "run":
        run = runs[identity] = run_of(reader, line)
        group = records.groups.setdefault((run.program, run.device_spec), Group(run.program, run.device_spec))
        group.runs.append(run)
        records.ends.pop(identity, None)
        records.unstarted.pop(run.program, None)
    elif kind == "case":
        if identity not in runs:
            raise BadRecord("a case without its run record before it")
        run = runs[identity]
        _bound(records, reader)
        case = case_of(reader, line, run.references)
        why = contradiction_of(reader) if case.status == "ok" else None
        if why:
            raise BadRecord("contradicts itself: " + why)
        records.groups[(run.program, run.device_spec)].tries.setdefault(case.key, []).append(case)
    elif kind == "end":
        end = end_of(reader)
        if identity in runs:
            records.ends[identity] = end
        elif end.status in ("failed", "skipped"):
            records.unstarted[identity[1]] = end
    else:
        raise BadRecord("its kind is not run, case or end")


def read(path: Path) -> Records:
    """Raises OSError when the file cannot be opened; everything else ends up in Records.bad_records."""
    records = Records()
    runs: Dict[Tuple[str, str], Run] = {}
    with open_regular(path) as stream:
        for number, line in read_lines(stream):
            records.lines = number
            try:
                if isinstance(line, BadRecord):
                    raise line
                _take(records, runs, parse_line(line), number)
            except BadRecord as why:
                records.bad_records.setdefault(str(why), []).append(number)
    place = usual(records.core_latencies())
    for group in records.groups.values():
        group.cases = {key: merged(tries, place) for key, tries in group.tries.items()}
        group.sort()
    return records
