# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as JSON (schema/comparison.schema.json), which table, page and JUnit show: the answer, and all
it follows from."""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Sequence, Tuple

from reports.compare import placement, provenance, statistics, verdict
from reports.compare.numbers import RATIO, BadNumbers, Failed, Number, failed_in
from reports.compare.sides import Side, notes_on
from reports.compare.verdict import (
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
    Values,
)
from reports.jsonl import Json
from reports.metrics import shortened
from reports.quantity import listing, percent, plural, spell

SCHEMA, VERSION = "gpusig.comparison", "1.1.0"
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
MAX_JUDGED = 1000  # among more, nothing but the largest run numbers would decide anything
MAX_OTHERS = 500
# Without --control: what a factor cannot touch. Runs on a GPU bring rates of the host along, which these
# factors change, too.
_OF_THE_HOST = {"kernel", "numa", "machine", "priority", "setting", "environment", "gpusig"}
_CONTROLS = {"library": ("gemm/efficiency/peak_*", "micro/memory/*_bandwidth", "micro/latency/*")}


def controls_of(settings: Settings) -> Sequence[str]:
    return settings.controls or [
        pattern for factor in settings.factors for pattern in _CONTROLS.get(factor, ())
    ]


# ------------------------------------------------------------------ parts


def label_text(name: str, number: Number) -> str:
    return number.label or spell(name.rpartition("/")[2].partition("{")[0]) or name


def label_of(row: Row) -> str:
    return label_text(row.name, row.number)


def _side_json(side: Side) -> Json:
    first = side.runs[0]
    machine = "" if first.machine in first.device else first.machine  # said once
    return {
        "name": side.name,
        "source": first.source,
        "machine": machine,
        "device": first.device,
        "runs": [{"name": run.name, "started": run.started} for run in side.runs],
    }


def _median(values: Values) -> Optional[float]:
    return statistics.quantile(values.present, 0.5) if values.present else None


def _change_json(row: Row) -> Optional[Json]:
    if row.change is None:
        return None
    ends = [None if end is None else row.shown(end) for end in (row.low, row.high)]
    return {"value": row.shown(row.change), "low": ends[0], "high": ends[1]}


def _row_json(row: Row) -> Json:
    number = row.number
    sides = {
        side: {"median": _median(values), "values": list(values.values), "reasons": list(values.reasons)}
        for side, values in (("before", row.before), ("after", row.after))
    }
    return shortened(
        {
            "name": row.name,
            "label": label_of(row),
            "group": number.group or "Others",
            "condition": number.condition,
            "unit": number.unit,
            "better": number.better,
            "scale": number.scale,
            **sides,
            "change": _change_json(row),
            "p": row.p,
            "p_adjusted": row.adjusted,
            "least_effect": row.effect,
            "detectable": row.detectable,
            "verdict": row.verdict,
            "repeats": row.repeats,
            "reason": row.reason,
        }
    )


# ------------------------------------------------------------------ the answer


def _size(row: Row) -> str:
    """How much better or worse: "GEMM f32 flop rate by 5.1 %"."""
    shown = row.shown(row.change or 0.0)
    if row.number.scale == RATIO:
        return "%s by %s" % (label_of(row), percent(abs(shown - 1)))
    return "%s by %.2f" % (label_of(row), abs(shown))


def _control(rows: List[Row]) -> Json:
    moved = [row for row in rows if row.verdict in (REGRESS, IMPROVE, *LIKELY)]
    if not rows:
        word, text = "none", "No control: nothing was measured that the change cannot touch."
    elif moved:
        word, text = (
            "moved",
            "What the change cannot touch moved, too: %s. Something else happened."
            % listing([_size(row) for row in moved]),
        )
    elif all(row.verdict == EQUIVALENT for row in rows):
        word, text = (
            "held",
            "%s that the change cannot touch did not move." % plural(len(rows), "quantity", "quantities"),
        )
    else:
        word, text = (
            "unknown",
            "It is not known whether %s that the change cannot touch moved: too few runs, or too noisy."
            % (plural(len(rows), "quantity", "quantities")),
        )
    return {"verdict": word, "text": text, "metrics": [_row_json(row) for row in rows]}


def _withheld(rows: List[Row]) -> List[Row]:
    """Where a control moved, nothing is known of any metric."""
    return [
        replace(row, verdict=INCONCLUSIVE, repeats=None, reason=verdict.WITHHELD)
        if row.verdict in (REGRESS, IMPROVE, EQUIVALENT, *LIKELY)
        else row
        for row in rows
    ]


def _word(rows: List[Row]) -> str:
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


def _sentence(word: str, rows: List[Row], moved: bool) -> str:
    metrics, worse, better = (
        plural(len(rows), "headline number"),
        _named(rows, REGRESS),
        _named(rows, IMPROVE),
    )
    counts = [(len(_named(rows, of)), of) for of in (INCONCLUSIVE, INVALID) if _named(rows, of)]
    if moved:
        return (
            "Inconclusive: a control moved, so the difference between the sides is not known to come from "
            "the change."
        )
    if word == REGRESS:
        return "%d of %s %s: %s." % (
            len(worse),
            metrics,
            "regresses" if len(worse) == 1 else "regress",
            listing([_size(row) for row in worse], 3),
        )
    if word == INVALID:
        return "Nothing can be judged: %s." % (
            "every headline number is invalid" if rows else "there is no headline number"
        )
    if word == INCONCLUSIVE:
        return "Inconclusive: %s, and of %s %s." % (
            _unseen(rows),
            metrics,
            " and ".join("%d %s" % (count, ("is " if count == 1 else "are ") + of) for count, of in counts),
        )
    if word == IMPROVE:
        return "No regression: %d of %s %s (%s), and the rest is equivalent%s." % (
            len(better),
            metrics,
            "improves" if len(better) == 1 else "improve",
            listing([_size(row) for row in better], 3),
            _within(rows),
        )
    return "No regression: each of %s is equivalent%s." % (metrics, _within(rows))


def _reasons(rows: List[Row], differing: Json, notes: List[str], settings: Settings) -> List[str]:
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
    repeats = [row.repeats for row in rows if row.repeats]
    undecided = [row for row in rows if row.verdict == INCONCLUSIVE]
    if repeats:
        found.append(
            "%d repeats a side would decide %d of the %d inconclusive ones, if the spread stays."
            % (max(repeats), len(repeats), len(undecided))
        )
    least = verdict.least_repeats(max(1, len(rows)), settings.rate)
    runs = max((min(len(row.before.values), len(row.after.values)) for row in rows), default=0)
    if rows and runs < least:
        found.append(
            "Among %s one that changed alone can only be seen with %d runs a side or more; there are %d."
            % (plural(len(rows), "headline number"), least, runs)
        )
    return found


def _wrong_by_run(side: Side, program: str) -> List[int]:
    """Of the runs that are known to have run it."""
    return [
        sum(own.count for own in run.failed if own.is_wrong and own.program == program)
        for run in side.runs
        if any(own.program == program for own in run.failed)
        or any(name.startswith(program + "/") for name in run.numbers)
    ]


def _p_of_wrong(then: List[int], now: List[int]) -> float:
    """That a program gives no more of them after; 1 where it gave fewer."""
    if not then or not now or sum(now) * len(then) <= sum(then) * len(now):
        return 1.0
    return statistics.mann_whitney(then, now)


def _wrong_results(before: Side, after: Side, rate: float) -> Tuple[List[str], List[str]]:
    """Those of the programs that have them after alone or have more of them, and those of the others."""

    def by_program(side: Side) -> Dict[str, List[Failed]]:
        found: Dict[str, List[Failed]] = {}
        for own in failed_in(side.runs):
            if own.is_wrong:
                found.setdefault(own.program, []).append(own)
        return found

    then, now = by_program(before), by_program(after)
    more, others = [], []
    programs = list(dict.fromkeys([*now, *then]))
    ps = [_p_of_wrong(*(_wrong_by_run(side, program) for side in (before, after))) for program in programs]
    for program, p in zip(programs, statistics.adjusted(ps)):
        counts = [sum(own.count for own in side.get(program, ())) for side in (then, now)]
        text = "%s gave %s before and %d after" % (program, plural(counts[0], "wrong result"), counts[1])
        first = [*now.get(program, ()), *then.get(program, ())][0]
        (more if not counts[0] or p < rate else others).append("%s (%s)" % (text, first.text))
    return more, others


def _outcome(rows: List[Row], control: Json, wrong: Tuple[List[str], List[str]], reasons: List[str]) -> Json:
    """Wrong results are of any case, so that no number need show them."""
    moved, (more, others) = control["verdict"] == "moved", wrong
    word = INCONCLUSIVE if moved and rows else _word(rows)
    sentence, said = _sentence(word, rows, moved and bool(rows)), [*more, *others]
    if more and word != REGRESS:
        word, sentence, said = REGRESS, "Regression: %s." % "; ".join(more), others
    elif others and word in (IMPROVE, NO_REGRESSION):
        word, sentence, said = INCONCLUSIVE, "Inconclusive: %s." % "; ".join(others), []
    return {
        "verdict": word,
        "exit": EXITS[word],
        "sentence": sentence,
        "reasons": ["%s." % text for text in said] + reasons,
    }


def compare(before: Side, after: Side, settings: Settings) -> Json:
    """Of sides that sides.check() accepted. BadNumbers where they have too many metrics to judge."""
    settings = replace(
        settings,
        controls=tuple(controls_of(settings)),
        brought_control=not _OF_THE_HOST & set(settings.factors),
    )
    then, now, moved = placement.of_one_place(before.runs, after.runs)
    names, controls, others = verdict.chosen([*then, *now], settings)
    if len(names) > MAX_JUDGED:
        raise BadNumbers(
            "%d metrics are too many to judge, at most %d; choose some with --only" % (len(names), MAX_JUDGED)
        )
    rows = verdict.judged(verdict.rows_of(then, now, names, settings), settings)
    control = _control(verdict.judged(verdict.rows_of(then, now, controls, settings), settings))
    rows = _withheld(rows) if control["verdict"] == "moved" else rows
    differing = provenance.difference(then, now, settings.factors)
    described = verdict.described(then, now, others, settings, MAX_OTHERS)
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "outcome": _outcome(
            rows,
            control,
            _wrong_results(before, after, settings.rate),
            _reasons(rows, differing, [*notes_on(before, after), *moved], settings),
        ),
        "settings": {
            "rate": settings.rate,
            "confidence": settings.confidence,
            "least_effect": settings.least_effect,
            "noise": settings.noise_file,
            "factor": list(settings.factors),
            "control": list(settings.controls),
            "only": list(settings.only),
            "nodes": settings.by_node,
        },
        "before": _side_json(before),
        "after": _side_json(after),
        "provenance": differing,
        "control": control,
        "metrics": [_row_json(row) for row in rows],
        "others": [_row_json(row) for row in described],
        "others_count": len(others),
    }
