# SPDX-License-Identifier: BSD-3-Clause
"""The answer of a comparison: one verdict about all metrics, its sentence, and notes for the reader."""

from __future__ import annotations

from statistics import median
from typing import Iterable, Sequence

from reports.judge.compare import few, verdict
from reports.judge.compare.drift import Drift
from reports.judge.compare.numbers import RATIO, Number, RunNumbers
from reports.judge.compare.verdict import EQUIVALENT, IMPROVE, INCONCLUSIVE, INVALID, LIKELY, REGRESS
from reports.judge.compare.verdict import LIKELY_BETTER, LIKELY_WORSE, Row, Settings
from reports.records.jsonl import Json
from reports.records.quantity import listing, percent, plural, spell

NO_REGRESSION = "no regression"
EXITS = {REGRESS: 1, IMPROVE: 0, NO_REGRESSION: 0, **dict.fromkeys((*LIKELY, INCONCLUSIVE, INVALID), 3)}
_NAMED = 3  # changes in a sentence


def label_text(name: str, number: Number) -> str:
    return number.label or spell(name.rpartition("/")[2].partition("{")[0]) or name


def number_json(name: str, number: Number) -> Json:
    """A metric without its values, as comparison, history and fleet have it."""
    return {
        "name": name,
        "label": label_text(name, number),
        "group": number.group or "Others",
        "condition": number.condition,
        "unit": number.unit,
        "better": number.better,
        "scale": number.scale,
    }


def origin_json(run: RunNumbers) -> Json:
    """Tool, machine and device of a run; a machine that the device contains is not repeated."""
    machine = "" if run.machine in run.device else run.machine
    return {"source": run.source, "machine": machine, "device": run.device}


def label_of(row: Row) -> str:
    return label_text(row.name, row.number)


def distance_text(change: float, scale: str) -> str:
    """ "5.1 %": how far a ratio is from 1, or a difference from 0."""
    return percent(abs(change - 1)) if scale == RATIO else "%.3g" % abs(change)


def moved_text(label: str, change: float, scale: str) -> str:
    """ "GEMM f32 flop rate 5.1 % lower"; `change` is a ratio or a difference."""
    is_lower = change < (1 if scale == RATIO else 0)
    return "%s %s %s" % (label, distance_text(change, scale), "lower" if is_lower else "higher")


def size_of(row: Row) -> str:
    """ "GEMM f32 flop rate by 5.1 %"."""
    return "%s by %s" % (label_of(row), distance_text(row.shown(row.change or 0.0), row.number.scale))


def _moved(rows: Sequence[Row]) -> str:
    texts = [moved_text(label_of(row), row.shown(row.change or 0.0), row.number.scale) for row in rows]
    return listing(texts, _NAMED)


def word_of(rows: list[Row]) -> str:
    """The verdict about all metrics."""
    found = {row.verdict for row in rows}
    if not rows or found == {INVALID}:
        return INVALID
    for word in (REGRESS, LIKELY_WORSE, LIKELY_BETTER):
        if word in found:
            return word
    if found & {INCONCLUSIVE, INVALID}:
        return INCONCLUSIVE
    return IMPROVE if IMPROVE in found else NO_REGRESSION


def why_withheld(moved: bool, drift: Drift | None) -> str:
    """The sentence that withholds all verdicts; empty if they stand."""
    if moved:
        return (
            "Inconclusive: a control moved, so the difference between the sides is not known to come from "
            "the change."
        )
    if drift is None:
        return ""
    return (
        "Inconclusive: numbers drift by %s a run within %s, so a difference may be part of that drift; "
        "measure in turn: ./gpusig ab."
    ) % (percent(drift.per_run), drift.side)


# ------------------------------------------------------------------ the sentence


def _largest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -abs(row.change or 0.0))


def _named(rows: list[Row], of: str) -> list[Row]:
    return _largest_first(row for row in rows if row.verdict == of)


def _within(rows: list[Row]) -> str:
    """ ", its whole interval within 2.0 %", the largest of the least effects."""
    found = [row.effect for row in rows if row.number.scale == RATIO and row.verdict == EQUIVALENT]
    return ", its whole interval within %s" % percent(max(found)) if found else ""


def _unseen(rows: list[Row]) -> str:
    """The regression that would have been missed, if none was found."""
    open_ones = [row for row in rows if row.verdict == INCONCLUSIVE]
    blind = sum(row.detectable is None for row in open_ones)
    if open_ones and blind == len(open_ones):
        return "so few runs cannot show a regression, however large"
    found = [row.detectable for row in open_ones if row.detectable is not None and row.number.scale == RATIO]
    if not found:
        return "no regression was found"
    text = "no regression was found, but one of less than %s would not have been" % percent(max(found))
    return text + (", nor any in %s" % plural(blind, "number")) * bool(blind)


def _runs_of(rows: list[Row]) -> tuple[int, int]:
    return len(rows[0].before.values), len(rows[0].after.values)


def runs_text(wanted: int, before: int, after: int, of: str = "run") -> str:
    """ "5 runs a side", or only on the side that has fewer: "5 runs after"."""
    both = wanted > max(before, after) or before == after
    return "%s %s" % (plural(wanted, of), "a side" if both else "after" if after < before else "before")


def _of(settings: Settings) -> str:
    return "node" if settings.by_node else "run"


def _likely(word: str, rows: list[Row], settings: Settings) -> str:
    """Equal sides give such an answer as often as it says: docs/reproduction/verdict.md."""
    found, runs = _named(rows, word), _runs_of(rows)
    wanted = max([row.repeats or 0 for row in found] + [min(runs) + 1])
    confirmed = "Confirm with %s, %d more" % (runs_text(wanted, *runs, _of(settings)), wanted - min(runs))
    metrics = plural(len(rows), "headline number")
    often = "equal sides give this in at most 1 of 10 comparisons, if nothing drifts"
    return "%s: %s, of %s. %s: %s." % (word.capitalize(), _moved(found), metrics, confirmed, often)


def _untold(rows: list[Row], settings: Settings) -> str:
    """The sentence if the runs are too few for anything to be likely: the largest changes, perhaps chance."""
    valid = [row for row in rows if row.change is not None]
    noisy = [row.deviation or 0.0 for row in valid if row.is_noisy]
    if 2 * len(noisy) > len(valid):
        return (
            "Inconclusive: so few runs cannot be judged here: equal ones differ by %s in the median of %s."
        ) % (percent(median(noisy)), plural(len(noisy), "number"))
    beyond = [row for row in valid if abs(row.change or 0.0) > row.threshold and not row.is_noisy]
    told = _largest_first(row for row in beyond if row.p is None or row.low is None or row.p < 0.05)
    runs, of = _runs_of(rows), _of(settings)
    more = "%s cannot exclude chance: %s tell what is likely, %d can decide" % (
        runs_text(min(runs), *runs, of),
        runs_text(verdict.least_runs(*runs, settings, verdict.tells), *runs, of),
        verdict.least_runs(*runs, settings),
    )
    if not told:
        metrics = plural(len(rows), "headline number")
        return "Inconclusive: no change stands out among %s, and %s." % (metrics, more)
    worse, better = [row for row in told if row.is_worse], [row for row in told if not row.is_worse]
    moved = ["%s (%s)" % (_moved(own), word) for own, word in ((worse, "worse"), (better, "better")) if own]
    return "Inconclusive: %s; %s." % (", ".join(moved), more)


def _counted(rows: list[Row], of: str) -> str:
    return plural(len(_named(rows, of)), "is", "are") + " " + of


def _inconclusive(rows: list[Row], settings: Settings) -> str:
    if rows[0].is_few and not verdict.tells(settings, *_runs_of(rows)):
        return _untold(rows, settings)
    counts = " and ".join(_counted(rows, of) for of in (INCONCLUSIVE, INVALID) if _named(rows, of))
    metrics = plural(len(rows), "headline number")
    return "Inconclusive: %s, and of %s %s." % (_unseen(rows), metrics, counts)


def sentence_of(word: str, rows: list[Row], settings: Settings) -> str:
    """The answer in one sentence."""
    metrics, changed = plural(len(rows), "headline number"), _named(rows, word)
    listed = listing([size_of(row) for row in changed], _NAMED)
    if word == REGRESS:
        likely = "; " + _counted(rows, LIKELY_WORSE) if _named(rows, LIKELY_WORSE) else ""
        says = "regresses" if len(changed) == 1 else "regress"
        return "%d of %s %s: %s%s." % (len(changed), metrics, says, listed, likely)
    if word in LIKELY:
        return _likely(word, rows, settings)
    if word == INVALID:
        why = "every headline number is invalid" if rows else "there is no headline number"
        return "Nothing can be judged: %s." % why
    if word == INCONCLUSIVE:
        return _inconclusive(rows, settings)
    if word == IMPROVE:
        says = "improves" if len(changed) == 1 else "improve"
        improved = "%d of %s %s (%s), and the rest" % (len(changed), metrics, says, listed)
    else:
        improved = "each of %s" % metrics
    return "No regression: %s is equivalent%s." % (improved, _within(rows))


# ------------------------------------------------------------------ reasons


def _wants_more(rows: list[Row], settings: Settings) -> list[str]:
    if not rows:
        return []
    fewer, more = sorted(_runs_of(rows))
    if not rows[0].is_few:
        least, metrics = verdict.least_repeats(len(rows), settings.rate), plural(len(rows), "headline number")
        said = "Among %s a single change can only be detected with %d runs a side or more; there are %d."
        return [said % (metrics, least, fewer)] * (fewer < least)
    is_open = any(row.verdict in (INCONCLUSIVE, *LIKELY) for row in rows)
    least = verdict.least_runs(fewer, more, settings)
    if not is_open or settings.chance_evidence_of(fewer) is not None or fewer >= least:
        return []
    floor = ", unless --noise has the noise floor of %d equal runs"
    floor = floor % few.least_known(fewer, settings.rate)
    floor = "" if settings.by_node or more >= few.KNOWS_LEVELS else floor
    wanted = runs_text(least, *_runs_of(rows), _of(settings))
    return ["Fewer than %s show at most what is likely%s." % (wanted, floor)]


def reasons_of(rows: list[Row], differing: Json, notes: list[str], settings: Settings) -> list[str]:
    """Notes that the reader needs before using the answer."""
    found = list(notes)
    if settings.by_node:
        found.append(
            "Each node counts once, with the median of its runs; the spread includes that nodes differ "
            "without any change."
        )
    if differing["unexpected"]:
        fields = listing([entry["field"] for entry in differing["unexpected"]])
        said = "The sides also differ in %s, which may explain the verdict."
        found.append(said % fields)
    undecided = [row for row in rows if row.verdict == INCONCLUSIVE]
    known = [row for row in undecided if row.low is not None or not row.is_few]
    repeats = [row.repeats for row in known if row.repeats]
    if repeats:
        wanted = runs_text(max(repeats), *_runs_of(rows), _of(settings))
        said = "%s would decide %d of the %d inconclusive ones, if the spread stays."
        found.append(said % (wanted, len(repeats), len(undecided)))
    return found + _wants_more(rows, settings)
