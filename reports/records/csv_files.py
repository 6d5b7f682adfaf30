# SPDX-License-Identifier: BSD-3-Clause
"""metrics.csv and timings.csv: every value and every timing of the records, valid or not.

RFC 4180 with a header line; docs/RECORDS.md has the columns. Numbers are as exact as in the records.
"""

from __future__ import annotations

import csv
import io
from typing import Any, Iterable, List, Sequence

from reports.records.curves import flags_of, samples_behind, why_invalid
from reports.records.records import Case, Derived, Group

METRICS, TIMINGS = "metrics.csv", "timings.csv"

_WHERE = "program device case variant"
_METRIC_COLUMNS = (
    _WHERE
    + " quantity value unit ci_low ci_high n tries valid grade flags reason bound bound_name share modelled"
).split()
_TIMING_COLUMNS = (
    _WHERE + " n median_s ci_low_s ci_high_s min_s p95_s max_s lag1 drift in_goal bytes flops messages ops"
).split()
_FORMULA_SIGNS = "=+-@＝＋－＠"  # a spreadsheet takes what begins so for a formula


def cell(value: Any) -> str:
    """Text that no spreadsheet evaluates: what begins like a formula gets an apostrophe in front."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + value if value.strip()[:1] in tuple(_FORMULA_SIGNS) else value


def _text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _metric_row(group: Group, case: Case, derived: Derived) -> List[Any]:
    reason = why_invalid(case, derived)
    return [
        group.program,
        group.device,
        case.key,
        derived.variant,
        derived.name,
        derived.value,
        derived.unit,
        derived.ci_low,
        derived.ci_high,
        samples_behind(case, derived),
        derived.tries,
        not reason,
        "" if reason else derived.grade,
        " ".join(flags_of(case, derived)) if reason else "",
        reason or derived.grade_reason,
        derived.bound,
        derived.bound_name,
        derived.share,
        derived.modelled,
    ]


def metrics_text(groups: Sequence[Group]) -> str:
    cases = ((group, case) for group in groups for case in group.cases.values())
    return _text(_METRIC_COLUMNS, (_metric_row(*place, d) for place in cases for d in place[1].derived))


def timings_text(groups: Sequence[Group]) -> str:
    names = ["converged" if name == "in_goal" else name for name in _TIMING_COLUMNS[4:]]
    cases = ((group, case) for group in groups for case in group.cases.values())
    rows = (
        [group.program, group.device, case.key, v.name, *(getattr(v, name) for name in names)]
        for group, case in cases
        for v in case.variants
    )
    return _text(_TIMING_COLUMNS, rows)
