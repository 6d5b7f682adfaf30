# SPDX-License-Identifier: BSD-3-Clause
"""Whether a run may be one more of a history, asked before it is measured: compare refuses runs of several
machines, or of several kinds or numbers of devices."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from reports.judge.compare import gpusig
from reports.judge.compare.numbers import BadNumbers, RunNumbers
from reports.judge.compare.sides import runs_under, traits_of
from reports.records.jsonl import clean
from reports.records.records import Records
from reports.signature.signature import build


def _newest(history: Path) -> Optional[RunNumbers]:
    """Of its runs that can be read."""
    for place in reversed(runs_under(history, clean(str(history)))):
        try:
            if not place.unread:
                return gpusig.read(place.signature, place.name, values=False)
        except BadNumbers:
            continue
    return None


def refusal(history: Path, records: Records) -> str:
    """Why a run whose records begin so may not be one more of a history; empty: it may."""
    then = _newest(history)
    before = traits_of(then) if then else {}
    for what, now in (traits_of(gpusig.run_of(build(records).json, "", {})) if then else {}).items():
        if now and before[what] and now != before[what]:
            return "another %s: %s before, %s now" % (what, before[what], now)
    return ""
