# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a history in a terminal and as a page, on which each number that steps has a strip of its
nights."""

from __future__ import annotations

from typing import Any, Sequence

from reports.judge.compare.changes import CHANGED, NO_STEP, OVER, news_text
from reports.judge.compare.numbers import RATIO
from reports.judge.compare.verdict import IMPROVE, INCONCLUSIVE, REGRESS
from reports.judge.compare.wording import ARROWS, difference_text, side_text
from reports.page.blocks import PAGE, Cell, Column, Group, Head, Items, Page, Row, Table, columns, html
from reports.page.blocks import names_of, plain_texts, row, terminal, terms
from reports.page.svg import Canvas, markup
from reports.records.jsonl import Json
from reports.records.quantity import human, listing, percent, plural

_MOST = (20, 400)  # rows in a terminal and on a page
_OF_EVENT = (6, 200)  # numbers of a step
_UNSEARCHED = 6
_WIDTH, _HEIGHT, _EDGE = 300, 44, 6
_BEYOND = 2  # times what the levels differ by, as far as which values are drawn in their place
_ICONS = {REGRESS: "!", IMPROVE: "+", CHANGED: "?", OVER: "=", NO_STEP: "✓", INCONCLUSIVE: "?"}
_LOOKS = {CHANGED: INCONCLUSIVE, OVER: "equivalent", NO_STEP: "no-regression"}
_METHOD = {
    "Step": "A number's nights are split where the rank sums of both parts differ most; its p is Mann and "
    "Whitney's times the number of places, adjusted by Benjamini and Hochberg over all numbers. Of equal "
    "nights at most %s of histories show a step, whatever the distribution.",
    "Night": "The first night of the new level: where the values are nearest to the medians of both levels. "
    "Numbers that step at about the same time share the night that most of them have.",
    "Levels": "Medians of the nights before and after, up to the number's other steps. A night that is "
    "farther off than twice their difference is drawn at the edge.",
    "New then": "Provenance of all nights of the new level and of none of the old one. It may be the cause.",
}


def _strip(number: Json, known: Json) -> Any:
    """Every night as a dot, and the levels as lines."""
    values = [value for value in number["values"] if value is not None]
    levels = [level["value"] for level in number["levels"]]
    beyond = _BEYOND * (max(levels) - min(levels))
    low, high = max(min(values), min(levels) - beyond), min(max(values), max(levels) + beyond)
    nights = len(number["values"])
    before, after = (human(number[side], number["unit"]) for side in ("before", "after"))
    shown = plural(nights, known["noun"])
    canvas = Canvas(_WIDTH, _HEIGHT, "%s, %s: %s before, %s after" % (number["label"], shown, before, after))

    def x(night: float) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * (night + 0.5) / nights

    def y(value: float) -> float:
        value = min(max(value, low), high)
        return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * ((value - low) / (high - low) if high > low else 0.5)

    last = max(night for night, value in enumerate(number["values"]) if value is not None)
    ends = [level["night"] for level in number["levels"][1:]] + [last + 1]
    for place, (level, end) in enumerate(zip(number["levels"], ends)):
        at = y(level["value"])
        canvas.line(x(level["night"] - 0.5), at, x(end - 0.5), at, "median s%d" % min(place, 1))
    for night, value in enumerate(number["values"]):
        if value is not None:
            title = "%s: %s" % (known["nights"][night]["when"], human(value, number["unit"]))
            canvas.dot(x(night), y(value), "run f%d" % (night >= ends[0]), title, 2.4)
    return markup(canvas.render())


def _change(number: Json) -> str:
    change, sign = number["change"], "+" if number["change"] > 0 else ""
    if number["scale"] != RATIO:
        return sign + difference_text(change, number["unit"])
    return "%+.1f %%" % (100 * (change - 1))


def _row(number: Json, event: Json, known: Json, drawn: bool) -> Row:
    name = number["label"] + ARROWS.get(number["better"], "")
    over = "over" if number["verdict"] == OVER != event["verdict"] else ""
    return row(
        Cell(name, number["condition"] if drawn else "", title=number["name"]),
        *(Cell(human(number[level], number["unit"]), css="median") for level in ("before", "after")),
        Cell(_change(number), over, css="says"),
        Cell(drawing=_strip(number, known) if drawn else "", css="drawing"),
        css="metric",
    )


def _rows(known: Json, drawn: bool) -> list[Any]:
    rows: list[Any] = []
    for event in known["steps"]:
        news = news_text(event)
        lasts = plural(event["lasts"], known["noun"])
        over = " and over since %s" % event["until"] if event["verdict"] == OVER else ""
        rows.append(Head("%s, %s%s" % (event["when"], lasts, over), "new then: " + news if news else ""))
        most = _OF_EVENT[drawn]
        rows += [_row(number, event, known, drawn) for number in event["numbers"][:most]]
        more = len(event["numbers"]) - most
        rows += [row("and %d more" % more, "", "", "", "")] * (more > 0)
    return rows


def _steps(known: Json, drawn: bool) -> list[Any]:
    heads = [
        Column("number"),
        *columns("before", "after", css=""),
        Column("change", "says"),
        Column("every " + known["noun"], "word drawing", drawn=True),
    ]
    return [Table("Steps, the worst first", heads, _rows(known, drawn), "judged", _MOST)]


def _about(known: Json) -> str:
    nights = known["nights"]
    return "%s, %s to %s" % (side_text(known, known["noun"]), nights[0]["when"], nights[-1]["when"])


def _whys(numbers: Sequence[Json]) -> str:
    """Names of numbers, by the reason why they have nothing."""
    names: dict[str, list[str]] = {}
    for number in numbers:
        names.setdefault(number["reason"], []).append(number["name"])
    return "; ".join("%s (%s)" % (listing(own, _UNSEARCHED), why) for why, own in names.items())


def _left(known: Json) -> list[str]:
    """Sentences about numbers that were not searched."""
    gone, unsearched = known["gone"], known["unsearched"]
    said = ["No value any more: %s." % _whys(gone)] * bool(gone)
    count = plural(len(unsearched), "number")
    return said + ["No step is searched for in %s: %s." % (count, _whys(unsearched))] * bool(unsearched)


def _page(history: Json, drawn: bool) -> Page:
    known = plain_texts(history)
    outcome, left, every = known["outcome"], _left(known), "Every " + known["noun"]
    rate = percent(known["settings"]["rate"])
    method = terms((term, text.replace("%s", rate)) for term, text in _METHOD.items())
    nights = [row(night["name"], night["when"]) for night in known["nights"]]
    steps = known["steps"]
    parts = [
        *[Group("section", "Steps, the worst first", _steps(known, drawn), "steps")] * bool(steps),
        *[Items(left)] * bool(left),
        Group("section", "How to read this", [method], "reading", only=PAGE),
        Group("section", every, [Table(every, columns("run", "when"), nights)], "runs", only=PAGE),
    ]
    word, question = outcome["verdict"], "Since when is %s different?" % names_of(known["name"])[0]
    footer = "gpusig.history %s. This file needs no network, and the same runs always give these bytes."
    badge = Cell("", icon=_ICONS[word], look=_LOOKS.get(word, word))
    told = [_about(known)], question, [outcome["sentence"]], outcome["reasons"]
    return Page("history", "compare", *told, parts, footer % known["version"], badge)


def table(history: Json) -> str:
    return terminal(_page(history, False))


def render(history: Json, line: str = "") -> str:
    """Raises template.MissingDependency where jinja2 is not installed."""
    return html(_page(history, True), ("compare.css",), "gpusig · " + _about(history), line)
