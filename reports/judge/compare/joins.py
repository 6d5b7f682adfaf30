# SPDX-License-Identifier: BSD-3-Clause
"""python -m reports joins HISTORY RECORDS   may a run whose records begin so be one more of a history?

Asked before it is measured: compare refuses runs of several machines, or of several kinds or numbers of
devices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import List, Optional

from reports.judge.compare import gpusig
from reports.judge.compare.numbers import BadNumbers, RunNumbers
from reports.judge.compare.sides import runs_under, traits_of
from reports.records.jsonl import clean
from reports.records.record_file import read
from reports.signature.signature import build

OK, USAGE = 0, 2


def _newest(history: Path) -> Optional[RunNumbers]:
    """Of its runs that can be read."""
    for place in reversed(runs_under(history, clean(str(history)))):
        try:
            if not place.unread:
                return gpusig.read(place.signature, place.name, values=False)
        except BadNumbers:
            continue
    return None


def main(arguments: List[str]) -> int:
    """USAGE, after a line that names both, where it may not."""
    history, records = map(Path, arguments)
    then = _newest(history)
    if then is None:
        return OK
    before = traits_of(then)
    for what, now in traits_of(gpusig.run_of(build(read(records)).json, "", {})).items():
        if now and before[what] and now != before[what]:
            print("another %s: %s before, %s now" % (what, before[what], now), file=sys.stderr)
            return USAGE
    return OK
