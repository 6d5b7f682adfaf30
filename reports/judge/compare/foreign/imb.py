# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the Intel MPI Benchmarks (IMB-MPI1, -NBC, -RMA and others).

Names are BENCHMARK/PROCESSES/…/SIZE/WHAT: Allreduce/4processes/1024/t_avg. PROCESSES has what else the table
says of them: 2processes_2waiting, or 2groups_of_2processes. Judged is the average time, or what comes first
of the time, the time with overlap and the bandwidth. Its Mbytes are 1e6 bytes from version 2018 on, and 2^20
before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from reports.judge.compare.foreign.found import Column, Found, cell_in, check_cells
from reports.judge.compare.foreign.found import lines_in, number_in
from reports.records.jsonl import BadRecord, clean, whole_in
from reports.records.quantity import bounded, size

SOURCE = "Intel MPI Benchmarks"
MARK = re.compile(r"#\s{1,8}Intel ?\(R\) MPI Benchmark|# Benchmarking ")
_BEGIN = re.compile(r"#\s+Intel ?\(R\) MPI Benchmarks? (?:Suite V)?([^,]{1,40}), ")
_BENCHMARK = re.compile(r"# Benchmarking (\S{1,80})")
_PROCESSES = re.compile(r"# #processes = ([0-9]{1,9})")
_GROUPS = re.compile(r"# \( ([0-9]{1,9}) groups of ([0-9]{1,9}) processes each running simultaneous \)")
_WAITING = re.compile(r"# \( ?([0-9]{1,9}) additional process(?:es)? waiting in MPI_Barrier\)")
_MODE = re.compile(r"# +MODE: (\S{1,40})")
_FACT = re.compile(r"# ([A-Za-z_ ]{1,40}?) *: +(\S.{0,300})")
_DECIMAL_SINCE = 2018
_END = "# All processes entering MPI_Finalize"
_FACTS = {
    "Release": "kernel: kernel",
    "MPI Version": "library: MPI standard",
    "MPI_Datatype": "options: datatype",
    "MPI_Datatype for reductions": "options: datatype of reductions",
    "MPI_Op": "options: operation",
}
_SIZE, _REPETITIONS, _GROUP, _DEFECTS = "#bytes", "#repetitions", "Group", "defects"
_COLUMN = re.compile(r"(t_[A-Za-z]+|t)\[usec\]|(Mbytes/sec)|(Msg/sec)|(overlap)\[%\]")
_OVERLAP = Column("overlap[%]", "overlap", "fraction", "higher", 1e-2)
_JUDGED = ("t_avg", "t", "t_ovrl", "bandwidth")


@dataclass
class Table:
    benchmark: str
    processes: str = ""
    waiting: str = ""
    mode: str = ""
    columns: list[Column] = field(default_factory=list)
    rows: set[tuple[int, int]] = field(default_factory=set)  # size and group

    def judged(self) -> str:
        names = [column.name for column in self.columns]
        return next((name for name in _JUDGED if name in names), "")


def _megabyte(version: str) -> float:
    """Bytes in a Mbyte of version 3.2, 4.1, 2017, 2018 or 2021.11."""
    year = whole_in(version.replace(".", " ").partition(" ")[0]) or 0
    return 1e6 if year >= _DECIMAL_SINCE else float(1 << 20)


def _column(word: str, megabyte: float) -> Column:
    match = _COLUMN.fullmatch(word)
    if not match:
        return Column(word)
    time, bandwidth, rate, _ = match.groups()
    if time:
        return Column(word, time, "s", None if time == "t_CPU" else "lower", 1e-6)
    if bandwidth:
        return Column(word, "bandwidth", "byte/s", "higher", megabyte)
    return Column(word, "message_rate", "1/s", "higher") if rate else _OVERLAP


def _comment(found: Found, table: Table, line: str) -> Table:
    benchmark, processes, groups, waiting, mode, fact = (
        pattern.match(line) for pattern in (_BENCHMARK, _PROCESSES, _GROUPS, _WAITING, _MODE, _FACT)
    )
    if benchmark:
        return Table(clean(benchmark.group(1)))
    if processes:
        table.processes = "%sprocesses" % processes.group(1)
    elif groups:
        table.processes = "%sgroups_of_%sprocesses" % groups.groups()
    elif waiting:
        table.waiting = "_%swaiting" % waiting.group(1)
    elif mode:
        table.mode = mode.group(1).lower()
    elif fact and fact.group(1) in _FACTS:
        found.state(_FACTS[fact.group(1)], fact.group(2))
    elif fact and fact.group(1) == "Date":
        try:
            when = datetime.strptime(fact.group(2).strip(), "%a %b %d %H:%M:%S %Y")
            found.started = found.started or when.isoformat()
        except ValueError:
            pass
    return table


def _row(found: Found, table: Table, words: list[str], number: int) -> None:
    titles = [column.title for column in table.columns]
    first = titles.index(_REPETITIONS)
    failed = len(words) > first and whole_in(words[first]) is None  # out-of-mem., time-out., int-overflow
    if not failed:
        check_cells(words, len(titles), number)
    cells = dict(zip(titles, words))
    bytes_, group = whole_in(cells.get(_SIZE, "0")), whole_in(cells.get(_GROUP, "0"))
    if bytes_ is None or group is None:
        raise BadRecord("line %d has no size" % number)
    if (bytes_, group) in table.rows:
        raise BadRecord("line %d has a row of this table again: tables are mixed; give each a file" % number)
    table.rows.add((bytes_, group))
    sized, grouped = _SIZE in cells, _GROUP in cells
    path = [table.benchmark, table.processes + table.waiting, table.mode]
    path += ["group%d" % group if grouped else "", "%d" % bytes_ if sized else ""]
    processes = re.sub("(processes|groups)", r" \1", table.processes).replace("_", " ")
    condition = [size(bytes_) if sized else "", processes]
    condition += ["%s waiting" % table.waiting[1:-7] if table.waiting else "", table.mode]
    condition += ["group %d" % group if grouped else ""]
    if failed:
        why = bounded(" ".join(words[first:]), 80)
    else:
        defects = cells.get(_DEFECTS, "0")
        why = "" if number_in(defects) == 0 else "the validation failed: defects %s" % defects
    for title, name, unit, better, factor in table.columns:
        if unit:
            found.metrics.add(
                "/".join(part for part in path + [name] if part),
                None if failed else cell_in(cells[title], number),
                unit,
                better,
                why,
                factor,
                judged=name == table.judged() and (bytes_ > 0 or unit == "s"),
                label="%s, %s" % (table.benchmark, name.replace("_", " ")),
                group=table.benchmark,
                condition=", ".join(text for text in condition if text),
            )


def read(text: str) -> Found:
    found, table, begun, ended = Found(SOURCE), Table(""), 0, 0
    megabyte = 1e6
    for number, line in lines_in(text):
        words = line.split()
        begin = _BEGIN.match(line[:400])
        if begin:
            if begun > ended:
                raise BadRecord("line %d begins a run before the one above has ended" % number)
            found.state("library: Intel MPI Benchmarks", begin.group(1))
            begun, table, megabyte = begun + 1, Table(""), _megabyte(begin.group(1))
        elif line.startswith(_END):
            ended, table = ended + 1, Table("")
        elif _REPETITIONS in words and set(words[: words.index(_REPETITIONS)]) <= {_SIZE, _GROUP}:
            if not (table.benchmark and table.processes):
                raise BadRecord("line %d: a table of which benchmark, and of how many processes?" % number)
            table.columns, table.rows = [_column(word, megabyte) for word in words], set()
            found.metrics.table = number
        elif line.startswith("#"):
            table = _comment(found, table, line[:400])
        elif table.columns and words and whole_in(words[0]) is not None:
            _row(found, table, words, number)
    if ended < max(begun, 1):
        raise BadRecord("cut off, or the run did not end: no line '%s'" % _END)
    return found
