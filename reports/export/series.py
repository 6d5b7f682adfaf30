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


def _whole(
    values: Sequence[dict[str, float]], names: Sequence[str], runs: Sequence[Run]
) -> tuple[list[int], list[str]]:
    """Which runs have every number, and which lack one."""
    kept = [i for i, own in enumerate(values) if all(name in own for name in names)]
    lack = [
        "%s (%s)" % (runs[i].name, next(name for name in names if name not in own))
        for i, own in enumerate(values)
        if i not in kept
    ]
    words = "%s left out, for want of a number: %s" % (
        plural(len(lack), "run is", "runs are"),
        listing(lack, 6),
    )
    return kept, [words] if lack else []


def _gaps(values: Sequence[dict[str, float]], names: Sequence[str]) -> list[str]:
    lack = [name for name in names if any(name not in own for own in values)]
    return (
        [
            "%s empty cells, which Otava refuses; export them by themselves with --only: %s"
            % (plural(len(lack), "column has", "columns have"), listing(lack, 6))
        ]
        if lack
        else []
    )


def export(runs: Sequence[Run], whole_lines: bool) -> tuple[str, list[str]]:
    ordered = of_one_machine(runs, "a series")
    if ordered[0].started is None:
        raise BadNumbers("%s: nothing says when it was measured" % ordered[0].name)
    names = list(dict.fromkeys(value.name for run in ordered for value in run.values))
    values = [{value.name: value.value for value in run.values} for run in ordered]
    if not names:
        raise BadNumbers("no headline number to export in %s" % listing([run.name for run in ordered], 3))
    kept, notes = (
        _whole(values, names, ordered) if whole_lines else (list(range(len(ordered))), _gaps(values, names))
    )
    if not kept:
        raise BadNumbers("no run has all %s; choose fewer with --only" % plural(len(names), "number"))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_ABOUT, *map(cell, names)])
    writer.writerows(
        [*map(cell, _about(ordered[i])), *(cell(values[i].get(name)) for name in names)] for i in kept
    )
    return stream.getvalue(), notes
