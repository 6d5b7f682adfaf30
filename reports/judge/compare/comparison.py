# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as JSON (schema/comparison.schema.json), which table, page and JUnit show."""

from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from reports.judge import statistics
from reports.judge.compare import answer, placement, provenance, verdict
from reports.judge.compare.answer import EXITS, NO_REGRESSION
from reports.judge.compare.drift import drift_of
from reports.judge.compare.numbers import BadNumbers, Failed, RunNumbers, failed_in
from reports.judge.compare.sides import Side, notes_on
from reports.judge.compare.verdict import EQUIVALENT, IMPROVE, INCONCLUSIVE, LIKELY, REGRESS, Row, Settings
from reports.records.jsonl import Json
from reports.records.metrics import shortened
from reports.records.quantity import listing, plural

SCHEMA, VERSION = "gpusig.comparison", "1.1.0"
MAX_JUDGED = 1000  # among more, nothing but the largest run numbers would decide anything
MAX_OTHERS = 500
# Without --control: what a factor cannot touch. Runs on a GPU bring rates of the host along, which these
# factors change, too.
_OF_THE_HOST = {"kernel", "numa", "machine", "priority", "setting", "environment", "gpusig"}
_CONTROLS = {"library": ("gemm/efficiency/peak_*", "micro/memory/*_bandwidth", "micro/latency/*")}


def controls_of(settings: Settings) -> Sequence[str]:
    patterns = [pattern for factor in settings.factors for pattern in _CONTROLS.get(factor, ())]
    return settings.controls or patterns


# ------------------------------------------------------------------ parts


def _side_json(side: Side) -> Json:
    runs = [{"name": run.name, "started": run.started} for run in side.runs]
    return {"name": side.name, **answer.origin_json(side.runs[0]), "runs": runs}


def _change_json(row: Row) -> Json | None:
    if row.change is None:
        return None
    ends = [None if end is None else row.shown(end) for end in (row.low, row.high)]
    return {"value": row.shown(row.change), "low": ends[0], "high": ends[1]}


def _row_json(row: Row) -> Json:
    sides = {}
    for side, values in (("before", row.before), ("after", row.after)):
        median = statistics.quantile(values.present, 0.5) if values.present else None
        sides[side] = {"median": median, "values": list(values.values), "reasons": list(values.reasons)}
    return shortened(
        {
            **answer.number_json(row.name, row.number),
            **sides,
            "change": _change_json(row),
            "p": row.p,
            "deviation": row.deviation,
            "p_adjusted": row.adjusted,
            "least_effect": row.effect,
            "detectable": row.detectable,
            "verdict": row.verdict,
            "repeats": row.repeats,
            "reason": row.reason,
        }
    )


# ------------------------------------------------------------------ the answer


def _measured(runs: list[RunNumbers], names: list[str]) -> tuple[list[str], list[str]]:
    """Names of the metrics that a run tried to measure, and a sentence about the others."""
    found = [(name, [run.numbers[name] for run in runs if name in run.numbers]) for name in names]
    without = {name: own for name, own in found if all(n.value is None and n.neutral for n in own)}
    if not without:
        return names, []
    labels = [answer.label_text(name, own[0]) for name, own in without.items()]
    said = "No run measured %s (%s)." % (listing(labels), next(iter(without.values()))[0].reason)
    return [name for name in names if name not in without], [said]


def _control(rows: list[Row]) -> Json:
    moved = [row for row in rows if row.verdict in (REGRESS, IMPROVE, *LIKELY)]
    quantities = plural(len(rows), "quantity", "quantities") + " that the change cannot affect"
    if not rows:
        word, text = "none", "No control: nothing was measured that the change cannot affect."
    elif moved:
        word, text = "moved", "What the change cannot affect moved, too: %s. Something else happened."
        text %= listing([answer.size_of(row) for row in moved])
    elif all(row.verdict == EQUIVALENT for row in rows):
        word, text = "held", "%s did not move." % quantities
    else:
        word, text = "unknown", "It is not known whether %s moved: too few runs, or too noisy." % quantities
    return {"verdict": word, "text": text, "metrics": [_row_json(row) for row in rows]}


def _withheld(rows: list[Row], reason: str) -> list[Row]:
    """Rows without verdicts, if a control moved or numbers drift within a side."""
    return [
        replace(row, verdict=INCONCLUSIVE, repeats=None, reason=reason)
        if row.verdict in (REGRESS, IMPROVE, EQUIVALENT, *LIKELY)
        else row
        for row in rows
    ]


def _wrong_by_run(side: Side, program: str) -> list[int]:
    """Counts of wrong results of the runs that are known to have run the program."""
    return [
        sum(own.count for own in run.failed if own.is_wrong and own.program == program)
        for run in side.runs
        if any(own.program == program for own in run.failed)
        or any(name.startswith(program + "/") for name in run.numbers)
    ]


def _p_of_wrong(then: list[int], now: list[int]) -> float:
    """That a program gives no more of them after; 1 where it gave fewer."""
    if not then or not now or sum(now) * len(then) <= sum(then) * len(now):
        return 1.0
    return statistics.mann_whitney(then, now)


def _wrong_results(before: Side, after: Side, rate: float) -> tuple[list[str], list[str]]:
    """Wrong results of programs that have them only after, or more of them after; and of the others."""

    def by_program(side: Side) -> dict[str, list[Failed]]:
        found: dict[str, list[Failed]] = {}
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


def _outcome(
    rows: list[Row], withheld: str, settings: Settings, wrong: tuple[list[str], list[str]], reasons: list[str]
) -> Json:
    """The answer. Wrong results may be of cases without a number."""
    more, others = wrong
    word = INCONCLUSIVE if withheld else answer.word_of(rows)
    sentence, said = withheld or answer.sentence_of(word, rows, settings), [*more, *others]
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
    """The comparison of sides that sides.check() accepted. BadNumbers if they have too many metrics to judge,
    or none that is asked for."""
    verdict.refuse_unmatched([*before.runs, *after.runs], settings)
    settings = replace(
        settings,
        controls=tuple(controls_of(settings)),
        brought_control=not _OF_THE_HOST & set(settings.factors),
    )
    then, now, places = placement.of_one_place(before.runs, after.runs)
    names, controls, others = verdict.chosen([*then, *now], settings)
    names, unmeasured = _measured([*then, *now], names)
    if len(names) > MAX_JUDGED:
        said = "%d metrics are too many to judge, at most %d; choose some with --only"
        raise BadNumbers(said % (len(names), MAX_JUDGED))
    rows = verdict.judged(verdict.rows_of(then, now, names, settings), settings)
    control = _control(verdict.judged(verdict.rows_of(then, now, controls, settings), settings))
    drift = None if settings.by_node else drift_of(rows, then, now)
    moved = control["verdict"] == "moved"
    rows = _withheld(rows, verdict.WITHHELD if moved else verdict.DRIFTING) if moved or drift else rows
    withheld = answer.why_withheld(moved, drift) if rows else ""
    differing = provenance.difference(then, now, settings.factors)
    notes = [*notes_on(before, after), *unmeasured, *places]
    described = verdict.described(verdict.rows_of(then, now, others, settings, False), settings, MAX_OTHERS)
    wrong = _wrong_results(before, after, settings.rate)
    reasons = answer.reasons_of([] if withheld else rows, differing, notes, settings)
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "outcome": _outcome(rows, withheld, settings, wrong, reasons),
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
        "drift": vars(drift) if drift else None,
        "provenance": differing,
        "control": control,
        "metrics": [_row_json(row) for row in rows],
        "others": [_row_json(row) for row in described],
        "others_count": len(others),
    }
