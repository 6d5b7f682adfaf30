# SPDX-License-Identifier: BSD-3-Clause
"""A history: many runs of one machine in the order of time, such as one a night, and the steps in it. A few
new runs are held against its runs since the last step, as one in the past is no noise, and not against the
last ones that have just become different."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Sequence

from reports.judge.compare import placement, steps, verdict
from reports.judge.compare.answer import label_of
from reports.judge.compare.numbers import BadNumbers, RunNumbers, in_order
from reports.judge.compare.sides import Side
from reports.judge.compare.steps import Event, Series
from reports.judge.compare.verdict import Row, Settings
from reports.records.quantity import listing, percent, plural

LEAST_NIGHTS = 12  # in fewer no step is looked for
FEW = 7  # runs that are held against a history; with more both are sides of a comparison
MAX_NUMBERS = 1000
_APART = 0.9  # of the values before
_CHANGED = (verdict.REGRESS, verdict.IMPROVE, *verdict.LIKELY)


# ------------------------------------------------------------------ nights


def _dates(runs: Sequence[RunNumbers]) -> tuple[list[str], str]:
    """Names of the runs, and the noun for them: nights, if each has a date of its own."""
    for characters, noun in ((10, "night"), (16, "run")):
        names = [run.started[:characters].replace("T", " ") for run in runs]
        if all(names) and len(set(names)) == len(names):
            return names, noun
    return [run.name for run in runs], "run"


class History:
    """The runs of a side in the order of time, their numbers, and the events in them."""

    def __init__(self, side: Side, settings: Settings) -> None:
        self.side, self.settings = side, settings
        self.runs, _, self.notes = placement.of_one_place(in_order(side.runs), [])
        self.dates, self.noun = _dates(self.runs)
        verdict.refuse_unmatched(self.runs, settings)
        names = verdict.chosen(self.runs, settings)[0]
        if len(names) > MAX_NUMBERS:
            said = "%d numbers are too many, at most %d; choose some with --only"
            raise BadNumbers(said % (len(names), MAX_NUMBERS))
        rows = verdict.rows_of(self.runs, [], names, settings, False)
        self.unsearched = {row.name: reason for row in rows for reason in [self._why_not(row)] if reason}
        self.rows = {row.name: row for row in rows if row.name not in self.unsearched}
        self.gone = [(row, since) for row in rows for since in [self._gone_since(row)] if since]
        self.events = self._events() if len(self.runs) >= LEAST_NIGHTS else []

    def _why_not(self, row: Row) -> str:
        has = sum(value is not None for value in row.places[0])
        missing = len(self.runs) - has - row.before.elsewhere
        if missing > verdict.MOST_MISSING * len(self.runs) or has < min(LEAST_NIGHTS, len(self.runs)):
            above = " above 0" if has < len(row.before.present) else ""
            count = "only %d of" % has if has else "none of"
            return "%s %s have a value%s" % (count, plural(len(self.runs), self.noun), above)
        return verdict.differs(self.runs, row.name)

    def _gone_since(self, row: Row) -> int:
        """The first of the last nights in which a number that most nights before had has no value; else 0."""
        elsewhere = [row.name in run.numbers and run.numbers[row.name].elsewhere for run in self.runs]
        has = [one or value is not None for one, value in zip(elsewhere, row.places[0])]
        since = max((night + 1 for night, one in enumerate(has) if one), default=0)
        was_usual = sum(has) >= max(steps.LEAST, since / 2)
        return since if was_usual and len(has) - since >= steps.LEAST else 0

    def _events(self) -> list[Event]:
        """Events, without steps that came with a neighbour."""
        series = {name: Series(row.places[0], row.threshold) for name, row in self.rows.items()}
        result = []
        for at, found in steps.events(series, self.settings.rate):
            own = {name: step for name, step in found.items() if not self._by_neighbour(name, at)}
            result += [Event(at, own)] * bool(own)
        return result

    def _by_neighbour(self, name: str, at: int) -> bool:
        shares = []
        for runs in (self.runs[:at], self.runs[at:]):
            values = verdict.values_of(runs, name)
            shares.append(values.contended / max(1, len(values.present)))
        if abs(shares[1] - shares[0]) <= verdict.MOST_UNEQUAL:
            return False
        said = "others used the machine during %s of its values before %s and %s since"
        self.unsearched[name] = said % (percent(shares[0]), self.dates[at], percent(shares[1]))
        return True


# ------------------------------------------------------------------ baseline


def before(before: Side, after: Side) -> Side:
    """The runs before those of `after`, if it is some of them: a night is no part of its own history.
    BadNumbers if there are none."""
    few = {run.place for run in after.runs}
    if "" in few or not few < {run.place for run in before.runs}:
        return before
    runs = in_order(before.runs)
    first = min(place for place, run in enumerate(runs) if run.place in few)
    if not first:
        raise BadNumbers("%s is the first run of %s: there is none before it" % (after.name, before.name))
    return replace(before, runs=runs[:first])


def baseline(before: Side, after: Side, settings: Settings) -> Side:
    """The runs that few new ones are compared with: those since the last step, without the last ones if these
    have another level that is too young to be a baseline."""
    runs = in_order(before.runs)
    if len(after.runs) > FEW or len(runs) < LEAST_NIGHTS:
        return before
    known = History(before, settings)
    first = max((event.at for event in known.events if len(runs) - event.at > FEW), default=0)
    young = [event for event in known.events if event.at > first]
    if young and young[0].at - first < LEAST_NIGHTS:  # there is no other baseline
        first, young = young[-1].at, []
    recent = _recent(known, first, young, settings)
    aside = max(recent.values(), default=0)
    if not first and not aside:
        return before
    said, count = [], plural(len(runs), known.noun)
    if first:
        since = len(runs) - first - aside, known.dates[first]
        said.append("Of %s the %d since the step of %s are the baseline." % (count, *since))
    if aside:
        names = [label_of(known.rows[name]) for name in recent]
        last = "last %d of %s are" % (aside, count) if aside > 1 else "last of %s is" % count
        said.append("The %s set aside: %s had another level." % (last, listing(names, 1)))
    return replace(before, runs=runs[first : len(runs) - aside], notes=[*before.notes, *said])


def _recent(known: History, first: int, young: Sequence[Event], settings: Settings) -> dict[str, int]:
    """Numbers that had another level in the last 1 to FEW runs, and in how many, the largest change first: by
    a step, or because the verdict on such a side is a change, in each of them, with a p for FEW places.
    LEAST_NIGHTS are left."""
    count = len(known.runs)
    found = {name: (0.0, count - event.at) for event in young for name in event.steps}
    for last in range(1, min(FEW, count - first - LEAST_NIGHTS) + 1):
        sides = known.runs[first:-last], known.runs[-last:]
        for row in verdict.judged(verdict.rows_of(*sides, list(known.rows), settings), settings):
            if row.verdict in _CHANGED and (row.adjusted or 0.0) < settings.rate / FEW and _is_apart(row):
                half = abs((row.change or 0.0) - (row.low or 0.0))
                told = abs(row.change or 0.0) / half if half else math.inf
                found[row.name] = max(found.get(row.name, (0.0, last)), (told, last))
    return {name: found[name][1] for name in sorted(found, key=lambda name: -found[name][0])}


def _is_apart(row: Row) -> bool:
    """True if each value after is beyond nearly all before: an accident among a few runs is no level."""
    before, after = row.scaled
    is_up = (row.change or 0.0) > 0
    beyond = sum(value < min(after) if is_up else value > max(after) for value in before)
    return beyond >= _APART * len(before)
