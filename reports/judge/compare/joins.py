# SPDX-License-Identifier: BSD-3-Clause
"""Refusal of a run as one more of a history, before it is measured: compare refuses runs of several machines,
or of several kinds or numbers of devices."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from reports.judge.compare import gpusig
from reports.judge.compare.numbers import RunNumbers
from reports.judge.compare.sides import read_each, runs_under, traits_of
from reports.records.jsonl import clean
from reports.records.records import Records
from reports.signature.signature import build


def _newest(history: Path) -> RunNumbers | None:
    """The newest of its runs that can be read."""
    places = reversed(runs_under(history, clean(str(history))))
    runs = read_each(places, partial(gpusig.read, values=False))
    return next((run for run, _ in runs if run), None)


def refusal(history: Path, records: Records) -> str:
    """The reason why a run whose records begin so may not be one more of a history; empty if it may."""
    then = _newest(history)
    before = traits_of(then) if then else {}
    for what, now in (traits_of(gpusig.run_of(build(records).json, "", {})) if then else {}).items():
        if now and before[what] and now != before[what]:
            return "another %s: %s before, %s now" % (what, before[what], now)
    return ""
