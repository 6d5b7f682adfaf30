# SPDX-License-Identifier: BSD-3-Clause
"""CSV (RFC 4180) for every other tool: columns metric, unit, better and value in any order, and judged where
wanted.

RFC 4180 asks for no end of the last line; here it must have one, for a value that was cut is a number, too.
One metric a row and one run a file. better is higher or lower; judged is yes or no. An empty value, NaN or
Infinity is missing.
"""

from __future__ import annotations

import csv
import io
from typing import Iterator

from reports.judge.compare.foreign.found import UNITS, Found, number_in
from reports.records.jsonl import BadRecord, clean
from reports.records.quantity import bounded, listing, plural

SOURCE = "CSV"
NEEDED, OPTIONAL = ("metric", "unit", "better", "value"), ("judged",)
_BETTER, _JUDGED = ("higher", "lower"), {"yes": True, "no": False, "": True}
_MOST_IN_HEADER = 1000  # characters, by which the format is recognised


def _header(line: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([line], strict=True), [])]
    except csv.Error:
        return []


def is_mine(text: str) -> bool:
    line = text.lstrip("\r\n")[:_MOST_IN_HEADER].replace("\r", "\n").partition("\n")[0]
    names = _header(line)
    return "metric" in names and "value" in names


def _rows(text: str) -> Iterator[list[str]]:
    """The cells of each line that has some; the csv module's errors as ours."""
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in rows:
            if row:
                yield row
    except csv.Error:
        raise BadRecord("line %d is not CSV" % rows.line_num) from None


def _choice(row: dict[str, str], key: str, choices: list[str], number: int) -> str:
    if row[key] not in choices:
        known = " or ".join(c for c in choices if c)
        raise BadRecord("row %d: %s is %s, not '%s'" % (number, key, known, bounded(clean(row[key]), 20)))
    return row[key]


def _add(found: Found, row: dict[str, str], number: int) -> None:
    name, text = clean(row["metric"]), row["value"]
    if not name:
        raise BadRecord("row %d has no metric" % number)
    if bounded(name) != name:
        raise BadRecord("row %d has a metric with a name of %d characters" % (number, len(name)))
    if name in found.metrics.kinds:
        raise BadRecord("row %d has the metric '%s' again" % (number, bounded(name, 80)))
    value = number_in(text) if text else None
    if text and value is None:
        raise BadRecord("row %d has a value that is not a number" % number)
    unit, factor = UNITS.get(row["unit"], (bounded(clean(row["unit"]), 40), 1.0))
    better = _choice(row, "better", list(_BETTER), number)
    judged = _JUDGED[_choice(row, "judged", list(_JUDGED), number)]
    found.metrics.add(name, value, unit, better, "", factor, judged=judged, label=name)


def read(text: str) -> Found:
    if not text.endswith(("\n", "\r")):  # the digits that follow may be missing
        raise BadRecord("cut off: the last line has no end; where it is whole, add one (echo >>FILE)")
    found, rows = Found(SOURCE), _rows(text)
    header = [name.strip() for name in next(rows, [])]
    missing = [name for name in NEEDED if name not in header]
    unknown = [name for name in header if name not in NEEDED + OPTIONAL]
    if missing:
        raise BadRecord("the header has no column %s" % listing(missing))
    if unknown or len(set(header)) < len(header):
        raise BadRecord("the columns are %s, each once, and %s" % (listing(NEEDED), listing(OPTIONAL)))
    for number, cells in enumerate(rows, 2):
        if len(cells) != len(header):
            raise BadRecord("row %d has %s, not %d" % (number, plural(len(cells), "column"), len(header)))
        _add(found, {"judged": "", **dict(zip(header, map(str.strip, cells)))}, number)
    return found
