# SPDX-License-Identifier: BSD-3-Clause
"""Text of nvbandwidth (v0.2 to v0.8), turned into the value that -j would have written, so names are
those of nvbandwidth.py and either may be compared with the other.

Every matrix ends with its sum, by which a cut or torn one is known. "Waived: " has no name and counts for
nothing.
"""

from __future__ import annotations

import re
from typing import Any

from reports.judge.compare.foreign import nvbandwidth
from reports.judge.compare.foreign.found import Found, lines_in, number_in
from reports.records.jsonl import BadRecord, Json, whole_in
from reports.records.quantity import bounded, plural

MARK = re.compile(r"nvbandwidth Version: |Running [a-z0-9_]{1,80}_(?:ce|sm|local_copy)\.")
_RUNNING = re.compile(r"Running ([A-Za-z0-9_]{1,80})\.")
_WAIVING = re.compile(r"Waiving ([A-Za-z0-9_]{1,80})\.")
_FAILED = re.compile(r"(?:ERROR|Error): (.*)")
# From v0.6 on the three matrices of a bidirectional test have names of their own there.
_SUM = re.compile(
    r"(?:SUM|&&&& PERF) ([A-Za-z0-9_]{1,80}?)(?:_(?:(?:read|write)[12]|total))? "
    r"([0-9.e+]{1,40}|nan|inf)(?:\S{0,10})"
)
_ROW = re.compile(r"([0-9]{1,6})(?:-> *[0-9]{1,6})? +(.*)")  # multinode_bisect_write_ce names both ends
_DEVICE = re.compile(
    r"(?:Device ([0-9]{1,6})|Process +([0-9]{1,6}) \((\S{1,100})\): device [0-9]{1,6}): "
    r"(.{1,200}?)(?: \(([0-9a-f:]{1,40})\))?"
)
_FACTS = {"nvbandwidth Version": "version", "Built from Git version": "git_version"}
_DRIVER, _CUDA = "Driver Version", "CUDA Runtime Version"
_END_SINCE, _END = 6, "NOTE: The reported results may not reflect"  # from v0.6 on it is the last it says
_VERSION = re.compile(r"v?0\.([0-9]{1,3})\b.*")
_SMALL = "NOTE: You have chosen a buffer size"
_ROUNDING = 0.005  # of a number with two decimals
_UNFINISHED = ("Read1", "Write1", "Read2", "Write2")  # the first two of three matrices


class _Matrix:
    def __init__(self, description: str, columns: int) -> None:
        self.description, self.columns = description, columns
        self.rows: list[list[str]] = []

    def add(self, line: str, number: int) -> None:
        row = _ROW.fullmatch(line)
        cells = row.group(2).split() if row and row.group(1) == "%d" % len(self.rows) else []
        if len(cells) != self.columns:
            columns = plural(self.columns, "column")
            raise BadRecord("line %d is not row %d of %s" % (number, len(self.rows), columns))
        self.rows.append(cells)

    def adds_up(self, total: float | None) -> bool:
        values = [number_in(cell) or 0.0 for row in self.rows for cell in row]
        return total is None or abs(sum(values) - total) <= _ROUNDING * (len(values) + 1.5)


def _begin(value: Json, name: str, status: str, number: int) -> dict[str, Any]:
    if any(test["name"] == name for test in value["testcases"]):
        raise BadRecord("line %d has the test %s again: give a file a run" % (number, name))
    test = {"name": name, "status": status, "bandwidth_description": "", "bandwidth_matrix": []}
    value["testcases"].append(test)
    return test


def _is_columns(words: list[str]) -> bool:
    return words == ["%d" % i for i in range(len(words))]


def _fact(value: Json, line: str, above: str) -> None:
    key, _, text = line.partition(": ")
    device = _DEVICE.fullmatch(line[:300])
    if key in _FACTS:
        value[_FACTS[key]] = text
    elif key == _DRIVER:
        value[_DRIVER] = text
    elif key == _CUDA:
        value[_CUDA] = whole_in(text)
    elif line.startswith(_SMALL):
        value["warning"] = _SMALL[len("NOTE: ") :] + " that is smaller than the default"
    elif device:
        index, process, host, name, bus = device.groups()
        if not process and not value["GPU Device list"] and " " not in above:
            value["host"] = above  # from v0.8 on
        shown = "%s: %s (%s): (%s)" % (index or process, name, bus or "0", host or value["host"])
        value["GPU Device list"].append(shown)


def _value(text: str) -> Json:
    value: Json = {"testcases": [], "GPU Device list": [], "host": ""}
    test: dict[str, Any] | None = None
    matrix: _Matrix | None = None
    above, ended = "", False
    for number, line in lines_in(text):
        words = line.split()
        running, waiving, failed, total = (
            pattern.fullmatch(line[:400]) for pattern in (_RUNNING, _WAIVING, _FAILED, _SUM)
        )
        if (running or waiving) and (matrix or (test and test["status"] == "Running")):
            raise BadRecord("line %d begins a test before the one above has ended" % number)
        if running:
            test = _begin(value, running.group(1), "Running", number)
        elif waiving:
            _begin(value, waiving.group(1), "Waived", number)
        elif failed and test and test["status"] == "Running":
            test["status"], test["error"], matrix = "Error", failed.group(1), None
        elif total and matrix and test:
            if total.group(1) != test["name"] or not matrix.adds_up(number_in(total.group(2))):
                raise BadRecord("line %d is not the sum of the matrix above: cut or mixed" % number)
            test["bandwidth_matrix"] += matrix.rows
            test["bandwidth_description"] = matrix.description
            unfinished = any(part in matrix.description for part in _UNFINISHED)
            test["status"], matrix = "Running" if unfinished else "Passed", None
        elif matrix and words:
            matrix.add(line, number)
        elif test and not matrix and words and _is_columns(words):
            matrix = _Matrix(bounded(above), len(words))
        elif not test:
            _fact(value, line, above)
        above, ended = line or above, ended or line.startswith(_END)
    version = _VERSION.fullmatch(value.get("version", ""))
    ended = ended or not version or int(version.group(1)) < _END_SINCE
    if matrix or not ended or (test and test["status"] == "Running"):
        raise BadRecord("cut off, or nvbandwidth did not end")
    return value


def read(text: str) -> Found:
    return nvbandwidth.read({"nvbandwidth": _value(text)})
