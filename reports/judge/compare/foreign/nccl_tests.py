# SPDX-License-Identifier: BSD-3-Clause
"""The table that nccl-tests and rccl-tests print (all_reduce_perf and the others).

Names are COLLECTIVE/RANKS/TYPE/REDOP/SIZE/WHERE_WHAT, with rootN before the size where there is a root.
RANKS is 8ranks, or 16ranks_2hosts, where the table says it. With NCCL_TESTS_SPLIT groups of ranks run the
collective at once, and busbw is that of a group: 8ranks_2groups are two of 8 each. The size is in bytes,
WHERE is out_of_place or in_place, WHAT is time or busbw. One of the two is judged, as they say the same: the
time below 1 MiB, where busbw has lost its digits ("0.00"), and busbw from there on. doc/PERFORMANCE.md of
nccl-tests advises the same.

#wrong says which rows have wrong results. Tables before version 2.13 have the largest error instead, in one
digit, and their line "Out of bounds values" counts the errors above a limit of the type times the ranks less
one. A table that was checked and has no such line is refused; where it says that the validation failed no
number of the table counts; and whatever it says, a row does not count whose error is above the limit however
the digit was rounded. Where no ranks are listed the limit is that of the most a table may have. sendrecv does
not count its errors in place, and its table is that of all_gather: without redop, errors in place are left
to the line.

The programs of collectives/ print this table, too (--format nccl-tests), one algorithm a table, which is part
of the name of the collective there. A line at the end says how many tables there are; what was not measured
is N/A. They time in another way, so their numbers are those of another tool. As in their records, none counts
where results were not checked (-c 0), and a line below the rows says which are contended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Sequence

from reports.judge.compare.foreign.found import Found, Metrics, cell_in, check_cells
from reports.judge.compare.foreign.found import counted, listed
from reports.records.jsonl import BadRecord, clean, whole_in
from reports.records.quantity import bounded, plural, size

SOURCE = "nccl-tests"
OWN_SOURCE = "gpusig --format nccl-tests"
BUSBW_FROM = 1 << 20  # bytes
PLACES = ("out_of_place", "in_place")
TIMES = ("time", "cputime")  # the second with -C
MAX_RANKS = 1 << 16
_APART = "give each process a file (or build nccl-tests with MPI=1)"
_MAX_FACT = 1000  # characters of a line about the run
_NOT_CHECKED = _NOT_MEASURED = "N/A"
_NOBODY_CHECKED = "not checked"  # at the end of our own tables, whose numbers do not count then
# DeltaMaxValue() of src/common.cu at 8274cb4. Of integers 1e-200: none.
_LARGEST_ERROR = {"half": 1e-2, "bfloat16": 1e-2, "float": 1e-5, "double": 1e-12}

# A case of our own tables that has no row. If none has one there is no header.
_UNMEASURED = re.compile(r"# ([0-9]+ B [^:\n]{1,80}: (?:skipped|failed): .*)")
MARK = re.compile(r"# *size +count +type\b|" + _UNMEASURED.pattern)
_RANK = re.compile(
    r"# *Rank +([0-9]+) +(?:Group +([0-9]+) )?.*?on +(\S+) +device +[0-9]+ \[[0-9a-fx:.]*\](.*)"
)
_OUT_OF_BOUNDS = re.compile(r"# *Out of bounds values *: *(\S+) *(.*)")
_SPELLED = re.compile(r"([0-9]+)([a-z]+)")
# A note of our own tables. Cases that failed or are invalid have no row.
_NOTE = re.compile(r"# ([0-9]+) B (\S+?)(?: (\S+?))?: (failed|contended): ")
_VERSION = re.compile(r"# nccl-tests version (\S+) nccl-headers=([0-9]+) nccl-library=([0-9]+)")
# Warm-up and iterations are numbers, or "auto" of a program that decides as it goes.
_SETTINGS = {
    "threads per process": re.compile(r"nThread ([0-9]+)"),
    "GPUs per thread": re.compile(r"nGpus ([0-9]+)"),
    "warmup iterations": re.compile(r"warmup iters: ([0-9]+)"),
    "iterations": re.compile(r"[0-9o] iters: ([0-9]+)"),
    "aggregated iterations": re.compile(r"agg iters: ([0-9]+)"),
    "validation": re.compile(r"validation: ([0-9]+)"),
    "graph launches": re.compile(r"graph: ([0-9]+)"),
    "unaligned by": re.compile(r"unalign: ([1-9][0-9]*)"),
    "largest size": re.compile(r"maxBytes ([0-9]+)"),  # that of the buffers, which calls use in turn
}
_OWN = re.compile(r"# gpusig (\S+), in the format of nccl-tests")
_ALGORITHM, _INTERRUPTED = "# Algorithm:", "# Interrupted:"
_ALL = re.compile(r"# All tables: ([0-9]{1,6})")
_PROGRAM, _DEVICES, _RCCL = "# Collective test starting:", "# Using devices", "rccl-tests: Version"
_AVERAGE, _ERROR, _BLOCKING = "# Avg bus bandwidth", "# error:", "# Blocking Enabled:"
_SWITCHES = {
    "# Simulated:": "machine: simulated",
    "# Per-Iteration Report:": "options: per-iteration timing",
    "# Parallel Init Enabled:": "options: parallel init",
}


class Rank(NamedTuple):
    host: str
    device: str  # may be empty: HIP has no names without amdgpu.ids
    group: str = ""


@dataclass
class Row:
    """A size of a collective. `measured`: place -> quantity -> value in the tool's units (us, GB/s); `wrong`:
    place -> reason, empty if it is right; `ranks`: as in the name."""

    collective: str
    type: str
    redop: str
    root: str
    bytes: int
    ranks: str = ""
    measured: dict[str, dict[str, Any]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    def root_name(self) -> list[str]:
        return [] if self.root in ("-1", "") else ["root" + self.root]

    def name(self, place: str, what: str) -> str:
        where = [self.collective] + ([self.ranks] if self.ranks else [])
        data = [self.type, self.redop or "none"] + self.root_name() + ["%d" % self.bytes]
        return "/".join(where + data + ["%s_%s" % (place, what)])


def collective_of(program: str) -> str:
    """all_reduce of ./build/all_reduce_perf or all_reduce_perf_mpi."""
    name = program.strip().rpartition("/")[2].rpartition("\\")[2].partition("_perf")[0]
    return bounded(clean(name), 80) or "collective"


def nccl_version(code: str) -> str:
    """22703 is "2.27.3"; up to 2.8 it was 2708."""
    number = whole_in(code) or 0
    most, least = (10000, 100) if number >= 10000 else (1000, 100)
    return "%d.%d.%d" % (number // most, number % most // least, number % least) if number >= 1000 else code


def why_wrong(wrong: Any) -> str:
    """The reason why a row does not count; empty without wrong results, or if nobody has checked."""
    if wrong is None or wrong == 0:
        return ""
    known = 0 < wrong < 1e18
    return plural(int(wrong), "wrong result") if known else "the number of wrong results is not known"


def _why_error(text: str, error: float, type_: str, ranks: int) -> str:
    """`text`: as printed, in one digit, so that three quarters of it were measured at the least."""
    limit = _LARGEST_ERROR.get(type_, 0.0) * (ranks - 1)
    return "" if 0.75 * error <= limit else "the validation failed: error " + bounded(text, 20)


def why_failed(out_of_bounds: Any) -> str:
    """The reason why a table does not count whose rows do not say where it is wrong."""
    return "the validation failed: %s out of bounds" % bounded(clean(str(out_of_bounds)), 20)


def add_row(metrics: Metrics, row: Row) -> bool:
    """Add the metrics of a row. False if a result of it is wrong."""
    redop = [] if row.redop in ("none", "") else [row.redop]
    data, ranks = " ".join([row.type] + redop + row.root_name()), row.ranks.replace("_", ", ")
    condition = ", ".join(t for t in (data, size(row.bytes), _SPELLED.sub(r"\1 \2", ranks)) if t)
    right = True
    for place, values in row.measured.items():
        why = row.wrong.get(place, "")
        right = right and not why
        # one rank moves nothing between ranks, and its busbw is 0
        timed = (row.bytes < BUSBW_FROM or row.ranks == "1rank") and "time" in values
        for what, value in values.items():
            unit, better, factor = ("byte/s", "higher", 1e9) if what == "busbw" else ("s", "lower", 1e-6)
            metrics.add(
                row.name(place, what),
                value,
                unit,
                better,
                why,
                factor,
                judged=row.bytes > 0 and what == ("time" if timed else "busbw"),
                label="%s %s, %s" % (row.collective.replace("_", " "), what, place.replace("_", " ")),
                group=row.collective,
                condition=condition,
            )
    return right


def state_ranks(found: Found, ranks: Sequence[Rank], count: int = 0) -> str:
    """Record the ranks, and return their part of a metric's name. `count` of them, if lines may be lost."""
    if not ranks:
        return ""
    devices = [rank.device.strip() or "unknown device" for rank in ranks]
    found.device = listed(sorted(set(found.device.split(", ") + devices)))
    found.state("machine: devices", counted(devices))
    found.machine = found.provenance.get("machine: devices", "")
    found.state("machine: host", listed(sorted({rank.host for rank in ranks})))
    groups: dict[str, list[Rank]] = {}
    for rank in ranks:
        groups.setdefault(rank.group, []).append(rank)
    largest = max(groups.values(), key=len)
    count = (count or len(ranks)) if len(groups) == 1 else len(largest)
    hosts = len({rank.host for rank in largest})
    name = ["%d%s" % (count, "ranks" if count > 1 else "rank")] + ["%dhosts" % hosts] * (hosts > 1)
    return "_".join(name + ["%dgroups" % len(groups)] * (len(groups) > 1))


class Columns(NamedTuple):
    """Columns of a table: those before the places, and those of each place."""

    first: list[str]
    places: list[tuple[str, list[str]]]
    width: int


def _columns(words: list[str], above: str) -> Columns:
    """`above`: the line that says which columns are in place."""
    dated = words[-1] == "timestamp"
    words = words[:-1] if dated else words
    starts = [i for i, word in enumerate(words) if word in TIMES]
    at = {place: above.find(place.replace("_", "-")) for place in PLACES}
    named = sorted((place for place in PLACES if at[place] >= 0), key=lambda place: at[place])
    if not 0 < len(starts) <= 2 or len(named) not in (0, len(starts)):
        raise BadRecord("a table whose columns are not those of nccl-tests")
    ends = starts[1:] + [len(words)]
    groups = [words[a:b] for a, b in zip(starts, ends)]
    if any("busbw" not in group for group in groups):
        raise BadRecord("a table without busbw")
    return Columns(words[: starts[0]], list(zip(named or PLACES, groups)), len(words) + 2 * dated)


def _is_header(words: Sequence[str]) -> bool:
    return list(words[:4]) == ["#", "size", "count", "type"]


class _Table:
    """The state while lines are read."""

    def __init__(self) -> None:
        self.found = Found(SOURCE)
        self.columns: Columns | None = None
        self.collective, self.tests, self.ends, self.above = "", 0, 0, ""
        self.stated = 0  # tables, by the lines at the ends of our own
        self.ranks: dict[int, Rank] = {}
        self.ranks_name, self.blamed, self.error = "", False, ""
        self.errors_unjudged = False  # the line that counts the rows' errors out of bounds is to come

    def comment(self, line: str, number: int) -> None:
        words = line.split()
        bounds, note = _OUT_OF_BOUNDS.match(line[:_MAX_FACT]), _NOTE.match(line[:_MAX_FACT])
        if self.columns is not None and (_is_header(words) or _RANK.match(line[:_MAX_FACT])):
            raise BadRecord("line %d begins a test before the one above has ended; %s" % (number, _APART))
        if _is_header(words):
            if self.tests and not self.collective:
                raise BadRecord("several tests in one file, and the names of their programs are not in it")
            self.columns, self.tests = _columns(words[1:], self.above), self.tests + 1
            self.found.metrics.table, self.blamed = number, False
            ranks = [self.ranks[rank] for rank in sorted(self.ranks)]
            self.ranks_name = state_ranks(self.found, ranks, max(self.ranks, default=-1) + 1)
        elif bounds:
            if bounds.group(1) not in ("0", _NOT_CHECKED) or "FAILED" in bounds.group(2):
                if self.errors_unjudged or not self.blamed:
                    self.found.metrics.invalidate(why_failed(bounds.group(1)), self.found.metrics.table)
            elif bounds.group(2) == _NOBODY_CHECKED:
                self.found.metrics.invalidate(_NOBODY_CHECKED, self.found.metrics.table)
            self.errors_unjudged = False
        elif line.startswith(_AVERAGE):
            if self.errors_unjudged:
                raise BadRecord("cut off: no line '# Out of bounds values' before line %d" % number)
            self.ends, self.columns = self.ends + 1, None
        elif line.startswith(_ERROR):
            self.error = "NCCL says:" + line[len(_ERROR) :]
        elif line.startswith(_DEVICES):
            self.ranks = {}
        elif note:
            self._note(*note.groups())
        elif line.startswith(_PROGRAM):
            self.collective = collective_of(line[len(_PROGRAM) :])
        elif line.startswith(_INTERRUPTED):
            raise BadRecord("the run was interrupted")
        elif line.startswith(_ALGORITHM):
            words = [self.collective, *clean(line[len(_ALGORITHM) :]).split()]
            self.collective = bounded("_".join(words), 80)
        else:
            self._fact(line, number)
        self.above = line

    def _note(self, size_: str, type_: str, redop: str | None, what: str) -> None:
        if what == "failed":
            self.blamed = True
            return
        row = Row(self.collective, type_, redop or "", "", whole_in(size_) or 0, self.ranks_name)
        kinds = self.found.metrics.kinds
        for name in [row.name(place, value) for place in PLACES for value in ("time", "busbw")]:
            if name in kinds:
                kinds[name] = replace(kinds[name], contended=True)

    def _fact(self, line: str, number: int) -> None:
        line = line[:_MAX_FACT]
        version, rank, own = (pattern.match(line) for pattern in (_VERSION, _RANK, _OWN))
        stated, switch = _ALL.fullmatch(line), next((key for key in _SWITCHES if line.startswith(key)), "")
        if version:
            for key, text in zip(("nccl-tests", "NCCL headers", "NCCL"), version.groups()):
                self.found.state("library: " + key, text if key == "nccl-tests" else nccl_version(text))
        elif own:
            self.found.source = OWN_SOURCE
            self.found.state("gpusig: version", own.group(1))
        elif stated:
            self.stated += int(stated.group(1))
        elif switch:
            self.found.state(_SWITCHES[switch], True)
        elif rank:
            index = whole_in(rank.group(1)) or 0
            if index in self.ranks:
                raise BadRecord("line %d has rank %d of one test again; %s" % (number, index, _APART))
            if len(self.ranks) >= MAX_RANKS:
                raise BadRecord("more than %d ranks" % MAX_RANKS)
            self.ranks[index] = Rank(rank.group(3), rank.group(4), rank.group(2) or "")
        elif line.startswith("# nThread "):
            for key, pattern in _SETTINGS.items():
                setting = pattern.search(line)
                self.found.state("options: " + key, setting.group(1) if setting else None)
        elif line.startswith(_BLOCKING):
            self.found.state("options: blocking", line[len(_BLOCKING) :])

    def row(self, words: list[str], number: int) -> None:
        columns = self.columns
        if columns is None:
            return
        check_cells(words, columns.width, number)
        first = dict(zip(columns.first, words))
        redop, root, bytes_ = first.get("redop", ""), first.get("root", ""), whole_in(first["size"]) or 0
        row = Row(self.collective or "collective", first["type"], redop, root, bytes_, self.ranks_name)
        at = len(columns.first)
        for place, names in columns.places:
            cells = dict(zip(names, words[at : at + len(names)]))
            at += len(names)
            if cells[names[0]] == _NOT_MEASURED:
                continue
            row.measured[place] = {what: cell_in(cells[what], number) for what in (names[0], "busbw")}
            if cells.get("#wrong", _NOT_CHECKED) != _NOT_CHECKED:
                row.wrong[place] = why_wrong(cell_in(cells["#wrong"], number))
            if cells.get("error", _NOT_CHECKED) != _NOT_CHECKED:
                self.errors_unjudged = True
                if place == "out_of_place" or "redop" in first:
                    error = cell_in(cells["error"], number)
                    ranks = max(self.ranks, default=MAX_RANKS - 1) + 1
                    row.wrong[place] = _why_error(cells["error"], error, row.type, ranks)
        self.blamed = not add_row(self.found.metrics, row) or self.blamed


def read(text: str) -> Found:
    table = _Table()
    for number, raw in enumerate(text.split("\n"), 1):
        line = clean(raw).strip()
        words = line.split()
        if line.startswith("#"):
            table.comment(line, number)
        elif line.startswith(_RCCL):
            table.found.state("library: rccl-tests", line[len(_RCCL) :])
        elif len(words) > 1 and whole_in(words[0]) is not None and whole_in(words[1]) is not None:
            table.row(words, number)
    unmeasured = _UNMEASURED.search(text)
    if unmeasured and not table.tests:
        raise BadRecord("no case was measured: " + bounded(clean(unmeasured.group(1)), 120))
    if table.ends != table.tests:
        raise BadRecord("cut off, or the test did not end: no line '%s'" % _AVERAGE)
    if table.found.source == OWN_SOURCE and table.stated != table.tests:
        said = "cut off: %s, and its end is not there or counts %d"
        raise BadRecord(said % (plural(table.tests, "table"), table.stated))
    if table.error:
        table.found.metrics.invalidate(table.error)
    return table.found
