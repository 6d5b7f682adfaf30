# SPDX-License-Identifier: BSD-3-Clause
"""Runs of one machine as CSV, a line a run in the order of their starts, for Apache Otava and other detectors
of change points.

Columns: time (ISO 8601), what may explain a change, then the headline numbers by name, in base units. A
number that a run lacks is an empty cell. Otava refuses a column with one, and must: NaN there hides every
change, and a number that nobody measured would be a lie. With patterns (--only) a run that lacks one of the
chosen numbers is left out, so that every column is whole.
"""

from __future__ import annotations

import csv
import io
from typing import Sequence

from reports.judge.compare.numbers import BadNumbers
from reports.records.csv_files import cell
from reports.export.runs import Run, of_one_machine
from reports.records.quantity import listing, plural

_ABOUT = ("time", "node", "device", "model", "gpusig", "driver", "kernel", "doubtful", "wrong_results")


def _about(run: Run) -> list[str]:
    return [
        run.started.isoformat() if run.started else "",
        run.node,
        run.device,
        run.model,
        run.field("version"),
        run.driver,
        run.field("kernel"),
        "yes" if run.doubtful else "no",
        str(run.wrong_results),
    ]


Line = tuple[Run, dict[str, float]]


def _whole(lines: Sequence[Line], names: Sequence[str]) -> tuple[list[Line], list[str]]:
    """The runs that have every number, and a note on those that lack one."""
    kept, lack = [], []
    for run, own in lines:
        absent = [name for name in names if name not in own]
        if absent:
            lack.append("%s (%s)" % (run.name, absent[0]))
        else:
            kept.append((run, own))
    are = plural(len(lack), "run is", "runs are")
    return kept, ["%s left out, because a number is missing: %s" % (are, listing(lack, 6))] * bool(lack)


def _gaps(lines: Sequence[Line], names: Sequence[str]) -> list[str]:
    lack = [name for name in names if any(name not in own for _, own in lines)]
    said = "%s empty cells, which Otava refuses; export them by themselves with --only: %s"
    have = plural(len(lack), "column has", "columns have")
    return [said % (have, listing(lack, 6))] * bool(lack)


def export(runs: Sequence[Run], whole_lines: bool) -> tuple[str, list[str]]:
    ordered = of_one_machine(runs, "a series")
    if ordered[0].started is None:
        raise BadNumbers("%s: nothing says when it was measured" % ordered[0].name)
    names = list(dict.fromkeys(value.name for run in ordered for value in run.values))
    lines = [(run, {value.name: value.value for value in run.values}) for run in ordered]
    if not names:
        raise BadNumbers("no headline number to export in %s" % listing([run.name for run in ordered], 3))
    kept, notes = _whole(lines, names) if whole_lines else (lines, _gaps(lines, names))
    if not kept:
        raise BadNumbers("no run has all %s; choose fewer with --only" % plural(len(names), "number"))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_ABOUT, *map(cell, names)])
    writer.writerows([*map(cell, _about(run)), *(cell(own.get(name)) for name in names)] for run, own in kept)
    return stream.getvalue(), notes
