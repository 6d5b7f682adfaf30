# SPDX-License-Identifier: BSD-3-Clause
"""Steps of a history as JSON (schema/history.schema.json): since when a number has another level, and what
else changed in that night. Terminal and page show it."""

from __future__ import annotations

import math
from typing import Sequence

from reports.judge.compare import provenance, steps
from reports.judge.compare.answer import label_of, moved_text, number_json, origin_json
from reports.judge.compare.history import LEAST_NIGHTS, History
from reports.judge.compare.numbers import RATIO, failed_in
from reports.judge.compare.sides import Side, notes_on
from reports.judge.compare.steps import Step
from reports.judge.compare.verdict import IMPROVE, INCONCLUSIVE, REGRESS, Row, Settings
from reports.judge.compare.wording import differs_text
from reports.records.jsonl import Json
from reports.records.metrics import shortened
from reports.records.quantity import listing, percent, plural

SCHEMA, VERSION = "gpusig.history", "1.1.0"
Levels = list[tuple[int, float]]  # of a number, each with its first night
OVER, CHANGED, NO_STEP = "over", "changed", "no step"
_WORST_FIRST = (REGRESS, IMPROVE, CHANGED, OVER)
_SHOWN = 2  # numbers named in a sentence
_FIELDS = 4  # of provenance
_RARELY = 0.25  # values a night


# ------------------------------------------------------------------ events as JSON


def _news(known: History, place: int) -> list[Json]:
    """Provenance that changes rarely and differs between all nights of one level and all of the other, with
    the night in which it changed; the nights at the step itself may be of either."""
    first, at, end = [0, *(event.at for event in known.events), len(known.runs)][place : place + 3]
    before = known.runs[first : at - 1] or known.runs[at - 1 : at]
    after = known.runs[at + 1 : end] or known.runs[at : at + 1]
    found = []
    for entry in provenance.difference(before, after, ())["unexpected"]:
        then, now = set(entry["before"]), set(entry["after"])
        values = [run.provenance.get(entry["field"], "unknown") for run in known.runs]
        if not then & now and len(set(values)) <= _RARELY * len(values):
            night = first + next(i for i, value in enumerate(values[first:end]) if value in now)
            found.append(dict(entry, night=known.dates[night]))
    return found


def _is_worse(row: Row, change: float) -> bool:
    return row.number.better in ("higher", "lower") and (change < 0) == (row.number.better == "higher")


def _levels(known: History, name: str) -> Levels:
    own = [(event.at, event.steps[name]) for event in known.events if name in event.steps]
    return [(0, own[0][1].before), *((at, step.after) for at, step in own)]


def _verdict(row: Row, step: Step, later: Levels, over: int | None) -> tuple[str, int | None]:
    """Verdict on a step of a number, and the night from which the number has another level again."""
    change = step.after - step.before

    def is_back(level: float) -> bool:
        left = level - step.before
        return abs(left) < row.threshold or (left < 0) != (change < 0)

    if over is None and later and is_back(later[-1][1]):
        over = next(night for night, level in later if is_back(level))
    if over is not None:
        return OVER, over
    ends = later[0][0] if later else None
    if row.number.better not in ("higher", "lower"):
        return CHANGED, ends
    return REGRESS if _is_worse(row, change) else IMPROVE, ends


def _step_json(row: Row, step: Step, levels: Levels, word: str) -> Json:
    number = row.number
    of = math.exp if number.scale == RATIO else float
    return shortened(
        {
            **number_json(row.name, row.number),
            "before": of(step.before),
            "after": of(step.after),
            "now": of(step.now),
            "change": row.shown(step.after - step.before),
            "p": step.p,
            "verdict": word,
            "levels": [{"night": night, "value": of(level)} for night, level in levels],
            "values": list(row.before.values),
        }
    )


def _event_json(known: History, place: int) -> Json | None:
    """None if all of it is the end of what an earlier event began."""
    event = known.events[place]
    found = []
    for name, step in event.steps.items():
        row, levels = known.rows[name], _levels(known, name)
        spells = steps.spells(levels, row.threshold)
        if event.at in spells.values():
            continue
        later = [(night, level) for night, level in levels if night > event.at]
        word, ends = _verdict(row, step, later, spells.get(event.at))
        change = step.after - step.before
        worst_first = _WORST_FIRST.index(word), not _is_worse(row, change), -abs(change)
        found.append((worst_first, ends, _step_json(row, step, levels, word)))
    if not found:
        return None
    found.sort(key=lambda one: one[0])
    _, ends, first = found[0]
    return {
        "verdict": first["verdict"],
        "night": event.at,
        "when": known.dates[event.at],
        "lasts": (ends or len(known.runs)) - event.at,
        "until": known.dates[ends] if ends else None,
        "provenance": _news(known, place),
        "numbers": [number for _, _, number in found],
    }


# ------------------------------------------------------------------ the answer


def news_text(event: Json) -> str:
    """ "driver: device driver 535 -> 550", with its own night if that is another one."""
    texts = []
    for entry in event["provenance"][:_FIELDS]:
        night = "" if entry["night"] == event["when"] else " (in %s)" % entry["night"]
        texts.append("%s %s%s" % (entry["field"], differs_text(entry), night))
    return "; ".join(texts)


def event_text(event: Json, nights: int, noun: str) -> str:
    numbers, since = event["numbers"], nights - event["night"]
    alike = [number for number in numbers if number["verdict"] == event["verdict"]]
    sizes = [moved_text(number["label"], number["change"], number["scale"]) for number in alike]
    said = listing(sizes, _SHOWN)
    if event["verdict"] == OVER:
        lasted = plural(event["lasts"], noun)
        return "For %s from %s, and over since %s: %s." % (lasted, event["when"], event["until"], said)
    word = {REGRESS: "Worse", IMPROVE: "Better", CHANGED: "Different"}[event["verdict"]]
    return "%s since %s (%d of %s): %s." % (word, event["when"], since, plural(nights, noun), said)


def _texts(event: Json, nights: int, noun: str) -> list[str]:
    news = news_text(event)
    return [event_text(event, nights, noun)] + ["New then: %s." % news] * bool(news)


def _wrong_results(known: History) -> str:
    nights = [date for run, date in zip(known.runs, known.dates) if any(own.is_wrong for own in run.failed)]
    if not nights:
        return ""
    first = next(own for own in failed_in(known.runs) if own.is_wrong)
    count, of = len(nights), plural(len(known.runs), known.noun)
    return "Wrong results in %d of %s, %s: %s." % (count, of, listing(nights, 3), first.text)


def _gone(known: History) -> list[str]:
    """Sentences about numbers that are no longer measured."""
    labels: dict[int, list[str]] = {}
    for row, since in known.gone:
        labels.setdefault(since, []).append(label_of(row))
    nights = len(known.runs)
    return [
        "No value since %s (%d of %s): %s."
        % (known.dates[since], nights - since, plural(nights, known.noun), listing(labels[since], _SHOWN))
        for since in sorted(labels)
    ]


def _too_few(known: History) -> str:
    numbers, nights = max(1, len(known.rows) + len(known.unsearched)), plural(len(known.runs), known.noun)
    least = steps.least_nights(numbers, known.settings.rate)
    said = "%s, and steps are only searched for in %d or more; a step of one number of %d shows from %d on."
    return said % (nights.capitalize(), LEAST_NIGHTS, numbers, least)


def _none(known: History, events: Sequence[Json]) -> str:
    if not known.rows:
        return "No number has enough values."
    return "No step%s of %s or more shows in %s over %s, %s to %s." % (
        " for the worse" if events else "",
        percent(known.settings.least_effect),
        plural(len(known.rows), "number"),
        plural(len(known.runs), known.noun),
        known.dates[0],
        known.dates[-1],
    )


def _seen(known: History) -> str:
    """Sentence on how soon a step is seen."""
    numbers, rate = max(1, len(known.rows)), known.settings.rate
    nights = steps.least_after(len(known.runs), numbers, rate)
    if nights is None:
        least = steps.least_nights(numbers, rate)
        return "A step of a single number is not detected in fewer than %s." % plural(least, known.noun)
    said = "A step of a single number is detected after %s; ./gpusig compare %s RUN judges a single run."
    return said % (plural(nights, known.noun), known.side.name)


def _outcome(known: History, events: Sequence[Json]) -> Json:
    """The answer; events are worst first."""
    nights, noun = len(known.runs), known.noun
    said, gone = [text for event in events for text in _texts(event, nights, noun)], _gone(known)
    word, code = NO_STEP, 0
    if events and events[0]["verdict"] == REGRESS:
        word, code, said = REGRESS, 1, [*said, *gone]
    elif nights < LEAST_NIGHTS:
        word, code, said = INCONCLUSIVE, 3, [_too_few(known), *gone]
    elif gone or not known.rows:
        word, code, said = INCONCLUSIVE, 3, [*gone, *(said or [_none(known, events)])]
    elif not events or events[0]["verdict"] == OVER:
        said.insert(0, _none(known, events))
    else:
        word = str(events[0]["verdict"])
    wrong = _wrong_results(known)
    if wrong:
        word, code, said = REGRESS, 1, [wrong, *said]
    reasons = [*said[1:], *notes_on(known.side), *known.notes]
    reasons += [_seen(known)] * bool(known.rows and nights >= LEAST_NIGHTS)
    return {"verdict": word, "exit": code, "sentence": said[0], "reasons": reasons}


def _worst_first(event: Json) -> tuple[int, float]:
    number = event["numbers"][0]
    change = math.log(number["change"]) if number["scale"] == RATIO else number["change"]
    return _WORST_FIRST.index(event["verdict"]), -abs(change)


def _gone_json(known: History, row: Row, since: int) -> Json:
    reason = row.before.reasons[since] or "not above 0"
    return {"name": row.name, "label": label_of(row), "since": known.dates[since], "reason": reason}


def judge(side: Side, settings: Settings) -> Json:
    """The steps of a side that sides.check() accepted."""
    known = History(side, settings)
    found = [_event_json(known, place) for place in range(len(known.events))]
    events = sorted((event for event in found if event), key=_worst_first)
    options = {"rate": settings.rate, "least_effect": settings.least_effect, "only": list(settings.only)}
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "outcome": _outcome(known, events),
        "settings": options,
        "name": side.name,
        **origin_json(known.runs[0]),
        "noun": known.noun,
        "nights": [{"name": run.name, "when": date} for run, date in zip(known.runs, known.dates)],
        "left_out": list(side.left_out),
        "searched": len(known.rows),
        "unsearched": [{"name": name, "reason": reason} for name, reason in known.unsearched.items()],
        "gone": [_gone_json(known, row, since) for row, since in known.gone],
        "steps": events,
    }
