# SPDX-License-Identifier: BSD-3-Clause
"""The answer of a comparison: one verdict about all metrics, the sentence that says it, and what else the
reader has to know before using it."""

from __future__ import annotations

from statistics import median
from typing import List, Optional, Tuple

from reports.judge.compare import few, verdict
from reports.judge.compare.drift import Drift
from reports.judge.compare.numbers import RATIO, Number
from reports.judge.compare.verdict import (
    EQUIVALENT,
    IMPROVE,
    INCONCLUSIVE,
    INVALID,
    LIKELY,
    LIKELY_BETTER,
    LIKELY_WORSE,
    REGRESS,
    Row,
    Settings,
)
from reports.records.jsonl import Json
from reports.records.quantity import listing, percent, plural, spell

NO_REGRESSION = "no regression"
EXITS = {
    REGRESS: 1,
    LIKELY_WORSE: 3,
    LIKELY_BETTER: 3,
    IMPROVE: 0,
    NO_REGRESSION: 0,
    INCONCLUSIVE: 3,
    INVALID: 3,
}
_NAMED = 3  # changes in a sentence


def label_text(name: str, number: Number) -> str:
    return number.label or spell(name.rpartition("/")[2].partition("{")[0]) or name


def number_json(name: str, number: Number) -> Json:
    """What a metric is, as comparison, history and fleet have it in front of its values."""
    return {
        "name": name,
        "label": label_text(name, number),
        "group": number.group or "Others",
        "condition": number.condition,
        "unit": number.unit,
        "better": number.better,
        "scale": number.scale,
    }


def label_of(row: Row) -> str:
    return label_text(row.name, row.number)


def _change_text(row: Row) -> str:
    """How large a change is: "5.1 %"."""
    shown = row.shown(row.change or 0.0)
    return percent(abs(shown - 1)) if row.number.scale == RATIO else "%.2f" % abs(shown)


def size_of(row: Row) -> str:
    """How much better or worse: "GEMM f32 flop rate by 5.1 %"."""
    return "%s by %s" % (label_of(row), _change_text(row))


def _moved_text(row: Row) -> str:
    """ "GEMM f32 flop rate 5.1 % lower"."""
    return "%s %s %s" % (label_of(row), _change_text(row), "lower" if (row.change or 0.0) < 0 else "higher")


def word_of(rows: List[Row]) -> str:
    found = {row.verdict for row in rows}
    if REGRESS in found:
        return REGRESS
    if LIKELY_WORSE in found:
        return LIKELY_WORSE
    if not rows or found == {INVALID}:
        return INVALID
    if LIKELY_BETTER in found:
        return LIKELY_BETTER
    if found & {INCONCLUSIVE, INVALID}:
        return INCONCLUSIVE
    return IMPROVE if IMPROVE in found else NO_REGRESSION


def why_withheld(moved: bool, drift: Optional[Drift]) -> str:
    """The sentence where no metric has a verdict; empty where they have."""
    if moved:
        return (
            "Inconclusive: a control moved, so the difference between the sides is not known to come from "
            "the change."
        )
    if drift is None:
        return ""
    return (
        "Inconclusive: numbers drift by %s a run within %s, so that a difference may be more of that; "
        "measure in turn: ./gpusig ab."
    ) % (percent(drift.per_run), drift.side)


# ------------------------------------------------------------------ the sentence


def _named(rows: List[Row], of: str) -> List[Row]:
    """The largest first."""
    return sorted((row for row in rows if row.verdict == of), key=lambda row: -abs(row.change or 0.0))


def _within(rows: List[Row]) -> str:
    """ ", its whole interval within 2.0 %", the largest of the least effects."""
    found = [row.effect for row in rows if row.number.scale == RATIO and row.verdict == EQUIVALENT]
    return ", its whole interval within %s" % percent(max(found)) if found else ""


def _unseen(rows: List[Row]) -> str:
    """What was looked for where no regression was found."""
    open_ones = [row for row in rows if row.verdict == INCONCLUSIVE]
    blind = sum(row.detectable is None for row in open_ones)
    if open_ones and blind == len(open_ones):
        return "so few runs find no regression, however large"
    found = [row.detectable for row in open_ones if row.detectable is not None and row.number.scale == RATIO]
    if not found:
        return "no regression was found"
    text = "no regression was found, but one of less than %s would not have been" % percent(max(found))
    return text + (", nor any in %s" % plural(blind, "number")) * bool(blind)


def _runs_of(rows: List[Row]) -> Tuple[int, int]:
    return len(rows[0].before.values), len(rows[0].after.values)


def runs_text(wanted: int, before: int, after: int, of: str = "run") -> str:
    """So many on the side that has fewer, and on the other where it has fewer, too: "5 runs a side"."""
    where = (
        "a side"
        if wanted > max(before, after) or before == after
        else "after"
        if after < before
        else "before"
    )
    return "%s %s" % (plural(wanted, of), where)


def _of(settings: Settings) -> str:
    return "node" if settings.by_node else "run"


def _likely(word: str, rows: List[Row], settings: Settings) -> str:
    """Equal sides give such an answer as often as it says: docs/reproduction/verdict.md."""
    found, runs = _named(rows, word), _runs_of(rows)
    wanted = max([row.repeats or 0 for row in found] + [min(runs) + 1])
    return (
        "%s: %s, of %s. Confirm with %s, %d more: equal sides say so in 1 of 10 comparisons at most, where "
        "nothing drifts."
    ) % (
        word.capitalize(),
        listing([_moved_text(row) for row in found], _NAMED),
        plural(len(rows), "headline number"),
        runs_text(wanted, *runs, _of(settings)),
        wanted - min(runs),
    )


def _is_noisy(row: Row) -> bool:
    return row.deviation is not None and row.number.scale == RATIO and row.deviation > verdict.MOST_NOISE


def _untold(rows: List[Row], settings: Settings) -> str:
    """Where the runs are too few for anything to be likely: what changed most, which may be chance."""
    valid = [row for row in rows if row.change is not None]
    noisy = [row for row in valid if _is_noisy(row)]
    if 2 * len(noisy) > len(valid):
        return (
            "Inconclusive: so few runs cannot be judged here: equal ones differ by %s in the median of %s."
        ) % (percent(median(row.deviation or 0.0 for row in noisy)), plural(len(noisy), "number"))
    beyond = [row for row in valid if abs(row.change or 0.0) > row.threshold and not _is_noisy(row)]
    told = [row for row in beyond if row.p is None or row.low is None or row.p < 0.05]
    told.sort(key=lambda row: -abs(row.change or 0.0))
    runs, of = _runs_of(rows), _of(settings)
    more = "%s cannot exclude chance: %s tell what is likely, %d can decide" % (
        runs_text(min(runs), *runs, of),
        runs_text(verdict.least_runs(*runs, settings, verdict.tells), *runs, of),
        verdict.least_runs(*runs, settings),
    )
    if not told:
        return "Inconclusive: no change stands out among %s, and %s." % (
            plural(len(rows), "headline number"),
            more,
        )
    worse = [_moved_text(row) for row in told if row.is_worse]
    better = [_moved_text(row) for row in told if not row.is_worse]
    moved = ["%s (worse)" % listing(worse, _NAMED)] * bool(worse)
    moved += ["%s (better)" % listing(better, _NAMED)] * bool(better)
    return "Inconclusive: %s; %s." % (", ".join(moved), more)


def _counted(rows: List[Row], of: str) -> str:
    return "%d %s %s" % (len(_named(rows, of)), "is" if len(_named(rows, of)) == 1 else "are", of)


def _inconclusive(rows: List[Row], settings: Settings) -> str:
    if rows[0].is_few and not verdict.tells(settings, *_runs_of(rows)):
        return _untold(rows, settings)
    return "Inconclusive: %s, and of %s %s." % (
        _unseen(rows),
        plural(len(rows), "headline number"),
        " and ".join(_counted(rows, of) for of in (INCONCLUSIVE, INVALID) if _named(rows, of)),
    )


def sentence_of(word: str, rows: List[Row], settings: Settings) -> str:
    metrics = plural(len(rows), "headline number")
    if word == REGRESS:
        worse, likely = _named(rows, REGRESS), _named(rows, LIKELY_WORSE)
        return "%d of %s %s: %s%s." % (
            len(worse),
            metrics,
            "regresses" if len(worse) == 1 else "regress",
            listing([size_of(row) for row in worse], _NAMED),
            "; %s" % _counted(rows, LIKELY_WORSE) if likely else "",
        )
    if word in LIKELY:
        return _likely(word, rows, settings)
    if word == INVALID:
        return "Nothing can be judged: %s." % (
            "every headline number is invalid" if rows else "there is no headline number"
        )
    if word == INCONCLUSIVE:
        return _inconclusive(rows, settings)
    if word == IMPROVE:
        better = _named(rows, IMPROVE)
        return "No regression: %d of %s %s (%s), and the rest is equivalent%s." % (
            len(better),
            metrics,
            "improves" if len(better) == 1 else "improve",
            listing([size_of(row) for row in better], _NAMED),
            _within(rows),
        )
    return "No regression: each of %s is equivalent%s." % (metrics, _within(rows))


# ------------------------------------------------------------------ reasons


def _wants_more(rows: List[Row], settings: Settings) -> List[str]:
    if not rows:
        return []
    fewer, more = sorted(_runs_of(rows))
    if rows[0].is_few:
        is_open = any(row.verdict in (INCONCLUSIVE, *LIKELY) for row in rows)
        least = verdict.least_runs(fewer, more, settings)
        if not is_open or settings.chance_evidence_of(fewer) is not None or fewer >= least:
            return []
        equal = few.least_known(fewer, settings.rate)
        no_floor = settings.by_node or more >= few.KNOWS_LEVELS
        return [
            "Fewer than %s say at most what is likely%s."
            % (
                runs_text(least, *_runs_of(rows), _of(settings)),
                "" if no_floor else ", but with a noise floor of %d equal runs or more (--noise)" % equal,
            )
        ]
    least = verdict.least_repeats(len(rows), settings.rate)
    if fewer >= least:
        return []
    return [
        "Among %s one that changed alone can only be seen with %d runs a side or more; there are %d."
        % (plural(len(rows), "headline number"), least, fewer)
    ]


def reasons_of(rows: List[Row], differing: Json, notes: List[str], settings: Settings) -> List[str]:
    """What else the reader has to know before using the answer."""
    found = list(notes)
    if settings.by_node:
        found.append(
            "Each node counts once, with the median of its runs; that nodes differ without any change is in "
            "the spread."
        )
    unexpected = [entry["field"] for entry in differing["unexpected"]]
    if unexpected:
        found.append(
            "Besides what was to change, the sides differ in %s; the verdict may be about that."
            % listing(unexpected)
        )
    known = [row for row in rows if row.low is not None or not row.is_few]
    repeats = [row.repeats for row in known if row.repeats and row.verdict == INCONCLUSIVE]
    undecided = [row for row in rows if row.verdict == INCONCLUSIVE]
    if repeats:
        found.append(
            "%s would decide %d of the %d inconclusive ones, if the spread stays."
            % (runs_text(max(repeats), *_runs_of(rows), _of(settings)), len(repeats), len(undecided))
        )
    return found + _wants_more(rows, settings)
