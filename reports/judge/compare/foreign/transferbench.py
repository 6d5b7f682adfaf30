# SPDX-License-Identifier: BSD-3-Clause
"""Text of TransferBench (1.48 to 1.66): the matrices of its preset p2p, and the tests of a file or of the
command line. The tables of other presets are not read.

Names of p2p are p2p/DIRECTION/EXECUTOR/READ/BYTES/FROM/TO, for example
p2p/unidirectional/GFX/local_read/67108864/CPU00/GPU01. Both ways have TO/there, TO/back and TO/total, of
which the total is judged. Names of tests are testN/TRANSFERS/WHAT, where TRANSFERS is what it copies and how
(G0->G0:4->G1), for those of one test run at once; the bandwidth of each transfer is judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Sequence

from reports.judge.compare.foreign.found import Found, cell_in, lines_in, number_in
from reports.records.jsonl import BadRecord, whole_in
from reports.records.quantity import bounded, size

SOURCE = "TransferBench"
MARK = re.compile(
    r"TransferBench v[0-9]|(?:Uni|Bi)directional copy peak bandwidth GB/s"
    r"|Executor: +(?:Rank [0-9]+ +)?[A-Z]{3} [0-9]+ "
)
_VERSION = re.compile(r"TransferBench v(\S{1,40})")
_BYTES = re.compile(r"Bytes Per Direction[ ,]([0-9]{1,18})")
_MATRIX = re.compile(
    r"(Uni|Bi)directional copy peak bandwidth GB/s \[(Local|Remote) read / (?:Local|Remote) write\] "
    r"\(GPU-Executor: ([A-Z]{2,10})\)"
)
_CORNER = re.compile(r"SRC(?:\+EXE)?\\(?:EXE\+)?DST")
_DEVICE = re.compile(r"(CPU|GPU) +([0-9]{1,4})")
_ROW = re.compile(r"(CPU|GPU) +([0-9]{1,4}) +(->|<-|<->|min|max|sd)(?: +|$)")
_END_OF_MATRIX = "Averages (During"
_TEST = re.compile(r"Test ([0-9]{1,6}):")
_CELLS = re.compile(r"\s*[|│]\s*|\s{2,}")
_TRANSFER = re.compile(r"Transfer +([0-9]{1,6})")
_AGGREGATE = "Aggregate (CPU)"
_BANDWIDTH = re.compile(r"([0-9.]{1,40}|nan|inf|-nan) GB/s")
_MOVED = re.compile(r"([0-9]{1,18}) bytes")
_VARIABLE = re.compile(r"([A-Z][A-Z0-9_]{2,40}) += +([^:\s]{1,60}) : ")
_GPU = re.compile(r"GPU ([0-9]{1,3}) \| ([A-Za-z].{1,100})")
_PARTS = {"->": "there", "<-": "back", "<->": "total"}
_ERROR = "[ERROR]"


@dataclass
class Matrix:
    ways: str  # unidirectional, bidirectional
    condition: list[str]
    path: list[str]
    columns: list[str] = field(default_factory=list)


@dataclass
class Test:
    number: str
    transfers: list[tuple[str, str, float | None]] = field(default_factory=list)  # what, bytes, GB/s


class _Log:
    """The state while lines are read."""

    def __init__(self) -> None:
        self.found, self.bytes, self.tests = Found(SOURCE), "", 0
        self.matrix: Matrix | None = None
        self.test: Test | None = None
        self.error = ""
        self.devices: list[str] = []
        self.ways: dict[str, int] = {}

    def line(self, line: str, number: int) -> None:
        matrix, test, bytes_, variable, version, gpu = (
            pattern.match(line) for pattern in (_MATRIX, _TEST, _BYTES, _VARIABLE, _VERSION, _GPU)
        )
        if _ERROR in line:
            self.error = self.error or bounded(line, 120)
        elif matrix or test:
            if self.matrix or self.test:
                raise BadRecord("line %d begins a table before the one above has ended" % number)
            self.found.metrics.table = number
            if matrix:
                self._begin(*matrix.groups())
            elif test:
                self.test = Test(test.group(1))
        elif self.matrix:
            self._matrix_line(self.matrix, line, number)
        elif self.test:
            self._test_line(self.test, line, number)
        elif bytes_:
            self.bytes = bytes_.group(1)
        elif version:
            self.found.state("library: TransferBench", version.group(1))
        elif variable:
            self.found.state("options: " + variable.group(1), variable.group(2))
        elif gpu:
            self.devices.append(gpu.group(2).strip())

    def _begin(self, ways: str, read: str, executor: str) -> None:
        name = ways.lower() + "directional"
        if not self.bytes:
            raise BadRecord("a matrix without 'Bytes Per Direction'")
        self.ways[name] = self.ways.get(name, 0) + 1
        self.matrix = Matrix(
            name,
            [executor, read.lower() + " read", size(int(self.bytes))],
            ["p2p", name, executor, read.lower() + "_read", self.bytes],
        )

    def _matrix_line(self, matrix: Matrix, line: str, number: int) -> None:
        row = _ROW.match(line)
        if line.startswith(_END_OF_MATRIX):
            self.matrix = None
        elif _CORNER.match(line):
            matrix.columns = ["%s%s" % match.groups() for match in _DEVICE.finditer(line)]
        elif row and row.group(3) in _PARTS:
            words, source, part = line[row.end() :].split(), row.group(1) + row.group(2), _PARTS[row.group(3)]
            if len(words) != len(matrix.columns) or not words:
                raise BadRecord("line %d is not a row of its matrix" % number)
            for column, word in zip(matrix.columns, words):
                self._element(matrix, source, column, part, word, number)

    def _element(self, matrix: Matrix, source: str, column: str, part: str, word: str, number: int) -> None:
        none, parts = word == "N/A", [] if matrix.ways == "unidirectional" else [part]
        self._add(
            matrix.path + [source, column] + parts,
            None if none else cell_in(word, number),
            "N/A" if none else "",
            judged=parts in ([], ["total"]),
            unavailable=none,
            label="p2p %s bandwidth" % matrix.ways,
            group="p2p",
            condition=", ".join(["%s to %s" % (source, column)] + parts + matrix.condition),
        )

    def _add(self, path: Sequence[str], value: float | None, reason: str = "", **more: Any) -> None:
        self.found.metrics.add("/".join(path), value, "byte/s", "higher", reason, 1e9, **more)

    def _test_line(self, test: Test, line: str, number: int) -> None:
        cells = [cell for cell in _CELLS.split(line.strip("|│ ")) if cell]
        if not cells or not (_TRANSFER.fullmatch(cells[0]) or cells[0] == _AGGREGATE):
            return
        bandwidth = _BANDWIDTH.fullmatch(cells[1]) if len(cells) > 4 else None
        moved = _MOVED.fullmatch(cells[3]) if len(cells) > 4 else None
        if not bandwidth or not moved or whole_in(moved.group(1)) is None:
            raise BadRecord("line %d is not a row of a test" % number)
        value = number_in(bandwidth.group(1).lstrip("-"))
        if cells[0] != _AGGREGATE:
            test.transfers.append(("".join(cells[4].split()), moved.group(1), value))
            return
        self._end_test(test, moved.group(1), value)
        self.test, self.tests = None, self.tests + 1

    def _end_test(self, test: Test, moved: str, aggregate: float | None) -> None:
        together = bounded("+".join(what for what, _, _ in test.transfers), 160)
        base = ["test" + test.number, together]
        for i, (what, bytes_, value) in enumerate(test.transfers):
            condition = "%s, %s" % (what.replace("->", " -> "), size(int(bytes_)))
            label = "test %s, transfer bandwidth" % test.number
            self._add(base + ["transfer%d" % i, bytes_], value, label=label, condition=condition)
        label = "test %s, aggregate bandwidth by the CPU's clock" % test.number
        path, condition = base + ["aggregate", moved], size(int(moved))
        self._add(path, aggregate, judged=False, label=label, condition=condition)


def read(text: str) -> Found:
    log = _Log()
    for number, line in lines_in(text):
        log.line(line, number)
    if log.error and (log.matrix or log.test or not log.found.metrics.kinds):
        raise BadRecord("TransferBench says: " + log.error)
    both = log.found.provenance.get("options: P2P_MODE") == "0" and len(log.ways) == 1
    if log.matrix or log.test or both:
        raise BadRecord("cut off, or TransferBench did not end")
    if not log.found.metrics.kinds:
        raise BadRecord("no test and no matrix of p2p: the tables of other presets are not read")
    if log.error:
        log.found.metrics.invalidate("TransferBench says: " + log.error)
    log.found.state_devices(log.devices)
    return log.found
