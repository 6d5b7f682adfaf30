# SPDX-License-Identifier: BSD-3-Clause
"""JSON of nvbandwidth (-j, v0.5 to v0.8). A metric is an element of a matrix: TEST/ROW/COLUMN.

Bidirectional tests between devices append three matrices to one: both directions and their sum. Those are
TEST/first/…, TEST/second/… and TEST/total/…; the total is judged. A test that ends with an error comes twice,
as Running and as Error.
"""

from __future__ import annotations

import re
from typing import Any

from reports.judge.compare.foreign.found import Found, listed, number_in
from reports.records.jsonl import BadRecord, Json, Reader, is_number
from reports.records.quantity import bounded, spell

SOURCE = "nvbandwidth"
_NOT_MEASURED = "N/A"  # a device with itself, or two without peer access
_PARTS = ("first", "second", "total")
_DEVICE = re.compile(r"[0-9]+: (.+) \([0-9a-f:]+\)(?:: \((.*)\))?")
_BETWEEN = re.compile(r"(CPU|GPU)\(row\) (<->|->|<-) (CPU|GPU)\(column\)")
_MAX_TESTS = 10000


def is_mine(value: Json) -> bool:
    return isinstance(value.get("nvbandwidth"), dict)


def _unit(name: str, description: str) -> tuple[str, str | None, float]:
    """Latencies are in ns and all others in GB/s (1e9). Not every description says so; without a matrix there
    is none."""
    if "(ns)" in description or "latency" in name:
        return "s", "lower", 1e-9
    known = not description or "(GB/s)" in description or description.endswith(" BW")
    return ("byte/s", "higher", 1e9) if known else ("1", None, 1.0)


def _condition(description: str, row: int, column: int) -> str:
    between = _BETWEEN.search(description)
    if between:
        return "%s %d %s %s %d" % (between[1], row, between[2], between[3], column)
    of_gpu = row == 0 and "GPU(column)" in description
    return "GPU %d" % column if of_gpu else "row %d, column %d" % (row, column)


def _element(value: Any) -> Any:
    number = number_in(value) if isinstance(value, str) else value
    if not is_number(number):
        raise BadRecord("an element of a matrix is not a number")
    return number


def _matrix(test: Reader) -> list[list[Any]]:
    rows = test.items("bandwidth_matrix")
    if not all(row is None or isinstance(row, list) for row in rows):
        raise test.fail("bandwidth_matrix", "an array of arrays")
    return [row or [] for row in rows]


def _add_test(found: Found, test: Reader, why_not: str) -> None:
    name, status = test.text("name"), test.text_or("status")
    description = bounded(test.text_or("bandwidth_description"))
    rows, (unit, better, factor) = _matrix(test), _unit(name, description)
    words: dict[str, Any] = {"label": spell(name), "group": "Latency" if unit == "s" else "Bandwidth"}
    said = "test " + (status or "without status").lower(), why_not
    reason = "" if status == "Passed" else ": ".join(t for t in said if t)
    if not rows:
        unavailable = status == "Waived"
        found.metrics.add(name, None, unit, better, reason or "no matrix", unavailable=unavailable, **words)
    split = "Total" in description and len(rows) % len(_PARTS) == 0
    height = len(rows) // len(_PARTS) if split else len(rows)
    for i, row in enumerate(rows):
        part = _PARTS[i // height] if split else ""
        for column, value in enumerate(row):
            none = value == _NOT_MEASURED
            path = [name, part, "%d" % (i % height), "%d" % column]
            found.metrics.add(
                "/".join(text for text in path if text),
                None if none else _element(value),
                unit,
                better,
                reason or (value if none else ""),
                factor,
                judged=part in ("", "total") and better is not None,
                unavailable=none,
                condition=", ".join(t for t in (_condition(description, i % height, column), part) if t),
                **words,
            )


def _state(found: Found, reader: Reader) -> None:
    found.state("library: nvbandwidth", reader.text_or("version"))
    found.state("library: nvbandwidth commit", reader.text_or("git_version"))
    found.state("driver: driver", reader.text_or("Driver Version"))
    cuda = reader.json.get("CUDA Runtime Version")  # the program puts the driver's version here
    if isinstance(cuda, int) and 0 < cuda < 10**6:
        found.state("driver: CUDA", "%d.%d" % (cuda // 1000, cuda % 1000 // 10))
    found.state("options: warning", reader.text_or("warning"))
    texts = [text for text in reader.items("GPU Device list") if isinstance(text, str) and len(text) < 1000]
    devices = [match for match in map(_DEVICE.fullmatch, texts) if match]
    found.state_devices([match[1] for match in devices])
    found.state("machine: host", listed(sorted({match[2] or "" for match in devices})))


def read(value: Json) -> Found:
    reader, found = Reader(value["nvbandwidth"], "nvbandwidth"), Found(SOURCE)
    tests, error = reader.objects("testcases"), reader.text_or("error")
    if error and not tests:
        raise BadRecord("nvbandwidth says: %s" % bounded(error))
    if len(tests) > _MAX_TESTS:
        raise BadRecord("more than %d tests" % _MAX_TESTS)
    failed = [test.text_or("status") in ("Error", "Running") for test in tests]
    for test, has_failed in zip(tests, failed):
        _add_test(found, test, test.text_or("error") or error * has_failed)
    if error and not any(failed):
        found.metrics.invalidate("nvbandwidth says: " + error)
    _state(found, reader)
    return found
