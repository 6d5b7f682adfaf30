# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the OSU micro-benchmarks, versions 5 to 7: '#' comments, a title, then the size and numbers in us
or MB/s (1e6).

Names are TEST/DATATYPE/…/SIZE/WHAT: mpi_allreduce_latency/MPI_CHAR/1024/avg_latency. What the table says of
itself (accelerator, buffers, datatype, window, synchronization, pairs, threads) is part of the name, for a
file may hold several. It does not say how many ranks there are, so a file with two tables of one name is
refused. The first number of a row is judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from reports.judge.compare.foreign.found import Column, Found, cell_in, check_cells
from reports.judge.compare.foreign.found import lines_in, number_in
from reports.records.jsonl import BadRecord, whole_in
from reports.records.quantity import bounded, size

SOURCE = "OSU micro-benchmarks"
MARK = re.compile(r"# OSU ")
_TITLE = "# OSU "
_ACCELERATORS = ("-CUDA MANAGED", "-MANAGED", "-CUDA", "-OPENACC", "-ROCM")
_UNITS: tuple[tuple[str, str, str, float], ...] = (
    ("(us)", "s", "lower", 1e-6),
    ("(MB/s)", "byte/s", "higher", 1e6),
    ("MB/s", "byte/s", "higher", 1e6),
    ("Messages/s", "1/s", "higher", 1.0),
    ("(%)", "fraction", "higher", 1e-2),
)
# Names of versions 5 and 7, and of a column that is only a unit.
_SAME_NAME = {"latency": "avg_latency", "": "bandwidth"}
_SET_BY_THE_TEST = ("compute",)
_PART_OF_NAME = {
    "Datatype": "",
    "Window creation": "",
    "Window": "",
    "Synchronization": "",
    "Pairs": "pairs ",
    "Partitions": "partitions ",
}
# Up to version 7 they stand above the title.
_PART_OF_NEXT = {
    "Number of Sender threads": "sender threads ",
    "Number of Receiver threads": "receiver threads ",
    "Number of forked processes in sender": "sender processes ",
    "Number of forked processes in receiver": "receiver processes ",
}
_BUFFERS = re.compile(
    r"# (?:Send Buffer|Rank 0 Memory) on [^()]{1,60}\((\w{1,20})\) and "
    r"(?:Receive Buffer|Rank 1 Memory) on [^()]{1,60}\((\w{1,20})\)"
)
_COMMENTS_MOST = 400  # characters
_BRACKETS = re.compile(r"\[ ([a-z ]{1,40}): ([A-Za-z0-9]{1,20}) \]")
_NOT_A_WORD = re.compile(r"[^a-z0-9%]+")
_COLUMNS = re.compile(r" {2,}")


@dataclass
class Table:
    """`columns` is empty between a title and the header. `last`: the size of the last row, 0 where rows have
    none. `of_next`: parts of the table whose title is to come."""

    test: str
    label: str
    parts: dict[str, str] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)
    sized: bool = False
    last: int = -1
    of_next: dict[str, str] = field(default_factory=dict)


def _word(text: str) -> str:
    return _NOT_A_WORD.sub("_", text.lower()).strip("_")


def _column(title: str) -> Column:
    for suffix, unit, better, factor in _UNITS:
        if title.endswith(suffix):
            name = "message_rate" if suffix == "Messages/s" else _word(title[: len(title) - len(suffix)])
            name = _SAME_NAME.get(name, name)
            return Column(title, name, unit, None if name in _SET_BY_THE_TEST else better, factor)
    return Column(title)


def _title(found: Found, above: Table, line: str) -> Table:
    """ "# OSU MPI-CUDA Allreduce Latency Test v7.4"."""
    words = line[len(_TITLE) :].split()
    if words and words[-1][:1] == "v" and words[-1][1:2].isdigit():
        found.state("library: OSU micro-benchmarks", words.pop()[1:])
    label = bounded(" ".join(words), 80)
    accelerator = next((a for a in _ACCELERATORS if a in label), "")
    if accelerator:
        label = label.replace(accelerator, "", 1)
        found.device = accelerator[1:]
        found.state("options: accelerator", found.device)
    label = label[: -len(" Test")] if label.endswith(" Test") else label
    parts = {"accelerator": accelerator[1:]} if accelerator else {}
    return Table(_word(label), label, {**parts, **above.of_next})


def _comment(found: Found, table: Table, line: str, number: int) -> None:
    """A header, or what the table says of itself."""
    text = line[1:].strip()
    columns = [_column(title) for title in _COLUMNS.split(text)]
    sized = columns[0].title == "Size"
    if columns[sized:] and columns[sized:][0].unit:
        table.columns, table.sized, table.last = columns[sized:], sized, -1
        found.metrics.table = number
        return
    key, _, value = text.partition(": ")
    if key in _PART_OF_NAME:
        table.parts[key] = _PART_OF_NAME[key] + bounded(value.rstrip("."), 60)
    elif key in _PART_OF_NEXT:
        parts = table.parts if table.test and not table.columns else table.of_next
        parts[key] = _PART_OF_NEXT[key] + bounded(value, 60)
    buffers = _BUFFERS.match(line)
    if buffers:
        table.parts["buffers"] = "%s %s" % buffers.groups()
    for key, value in _BRACKETS.findall(text):
        if value == "varied":
            raise BadRecord("a table of varied window sizes (-V) is not read; give one window size")
        table.parts[key] = "%s %s" % (key, value)
    if "Buffer on" in text:
        found.state("options: buffers", text)


def _begins_row(table: Table, word: str) -> bool:
    """Libraries print lines of their own in between."""
    return word[0] in "0123456789" if table.sized else number_in(word) is not None


def _row(found: Found, table: Table, words: list[str], number: int) -> None:
    check_cells(words, len(table.columns) + table.sized, number)
    bytes_ = whole_in(words[0]) if table.sized else None
    if table.sized and bytes_ is None:
        raise BadRecord("line %d has no size" % number)
    if (bytes_ or 0) <= table.last:
        said = "line %d has no larger size than the row above: tables are mixed; give each a file"
        raise BadRecord(said % number)
    table.last = bytes_ or 0
    test = [table.test] + [value.replace(" ", "_") for value in table.parts.values()]
    found.metrics.refuse_second_table("/".join(test))  # of other sizes, too
    path = test + ([words[0]] if table.sized else [])
    condition = ", ".join(list(table.parts.values()) + ([size(bytes_)] if bytes_ is not None else []))
    cells = list(zip(table.columns, words[table.sized :]))
    failed = any(column.title == "Validation" and cell == "Fail" for column, cell in cells)
    for column, cell in cells:
        _, name, unit, better, factor = column
        if unit:
            found.metrics.add(
                "/".join(path + [name]),
                cell_in(cell, number),
                unit,
                better,
                "the validation failed" if failed else "",
                factor,
                judged=column is table.columns[0],
                label=table.label + (", " + name.replace("_", " ") if len(cells) > 1 else ""),
                group=table.label,
                condition=condition,
            )


def read(text: str) -> Found:
    found, table, last = Found(SOURCE), Table("", ""), text.count("\n") + 1
    for number, line in lines_in(text):
        words = line.split()
        if line.startswith(_TITLE):
            table = _title(found, table, line)
        elif line.startswith("#"):
            _comment(found, table, line[:_COMMENTS_MOST], number)
        elif words and table.columns and _begins_row(table, words[0]):
            if number == last:  # the digits that follow may be missing
                raise BadRecord("cut off: the last line has no end")
            _row(found, table, words, number)
    return found
