# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a history in a terminal and as a page, on which each number that steps has a strip of its
nights."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from reports.page.blocks import (
    PAGE,
    Cell,
    Column,
    Group,
    Head,
    Items,
    Page,
    Row,
    Table,
    columns,
    html,
    plain_texts,
    row,
    terminal,
    terms,
)
from reports.judge.compare.changes import CHANGED, NO_STEP, OVER, news_text
from reports.judge.compare.numbers import RATIO
from reports.judge.compare.verdict import IMPROVE, INCONCLUSIVE, REGRESS
from reports.judge.compare.wording import difference_text
from reports.records.jsonl import Json
from reports.records.quantity import human, listing, percent, plural
from reports.page.svg import Canvas, markup

_MOST = (20, 400)  # rows in a terminal and on a page
_OF_EVENT = (6, 200)  # numbers of a step
_UNSEARCHED = 6
_WIDTH, _HEIGHT, _EDGE = 300, 44, 6
_BEYOND = 2  # times what the levels differ by, as far as which values are drawn in their place
_ICONS = {REGRESS: "!", IMPROVE: "+", CHANGED: "?", OVER: "=", NO_STEP: "✓", INCONCLUSIVE: "?"}
_LOOKS = {CHANGED: INCONCLUSIVE, OVER: "equivalent", NO_STEP: "no-regression"}
_ARROWS = {"higher": " ↑", "lower": " ↓"}
_METHOD = (
    (
        "Step",
        "A number's nights are split where the rank sums of both parts differ most; its p is Mann and "
        "Whitney's times the number of places, adjusted by Benjamini and Hochberg over all numbers. Of "
        "equal nights at most %s of histories show a step, whatever the distribution.",
    ),
    (
        "Night",
        "The first night of the new level: where the values are nearest to the medians of both levels. "
        "Numbers that step at about the same night step in the one that most of them tell.",
    ),
    (
        "Levels",
        "Medians of the nights before and after, up to the number's other steps. A night that is further off "
        "than twice what they differ by is drawn at the edge.",
    ),
    (
        "New then",
        "What all nights of the new level have recorded and none of the old one. It may be the cause.",
    ),
)


def _strip(number: Json, known: Json) -> Any:
    """Every night as a dot, and the levels as lines."""
    values = [value for value in number["values"] if value is not None]
    levels = [level["value"] for level in number["levels"]]
    beyond = _BEYOND * (max(levels) - min(levels))
    low, high = max(min(values), min(levels) - beyond), min(max(values), max(levels) + beyond)
    nights = len(number["values"])
    label = "%s, %s: %s before, %s after" % (
        number["label"],
        plural(nights, known["noun"]),
        human(number["before"], number["unit"]),
        human(number["after"], number["unit"]),
    )
    canvas = Canvas(_WIDTH, _HEIGHT, label)

    def x(night: float) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * (night + 0.5) / nights

    def y(value: float) -> float:
        value = min(max(value, low), high)
        return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * ((value - low) / (high - low) if high > low else 0.5)

    last = max(night for night, value in enumerate(number["values"]) if value is not None)
    ends = [level["night"] for level in number["levels"][1:]] + [last + 1]
    for place, (level, end) in enumerate(zip(number["levels"], ends)):
        canvas.line(
            x(level["night"] - 0.5),
            y(level["value"]),
            x(end - 0.5),
            y(level["value"]),
            "median s%d" % min(place, 1),
        )
    for night, value in enumerate(number["values"]):
        if value is not None:
            title = "%s: %s" % (known["nights"][night]["when"], human(value, number["unit"]))
            canvas.dot(x(night), y(value), "run f%d" % (night >= ends[0]), title, 2.4)
    return markup(canvas.render())


def _change(number: Json) -> str:
    if number["scale"] != RATIO:
        return "%s%s" % (
            "+" if number["change"] > 0 else "",
            difference_text(number["change"], number["unit"]),
        )
    return "%+.1f %%" % (100 * (number["change"] - 1))


def _row(number: Json, event: Json, known: Json, drawn: bool) -> Row:
    return row(
        Cell(
            number["label"] + _ARROWS.get(number["better"], ""),
            number["condition"] if drawn else "",
            title=number["name"],
        ),
        *(Cell(human(number[level], number["unit"]), css="median") for level in ("before", "after")),
        Cell(_change(number), "over" if number["verdict"] == OVER != event["verdict"] else "", css="says"),
        Cell(drawing=_strip(number, known) if drawn else "", css="drawing"),
        css="metric",
    )


def _rows(known: Json, drawn: bool) -> List[Any]:
    rows: List[Any] = []
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


def _steps(known: Json, drawn: bool) -> List[Any]:
    heads = [
        Column("number"),
        *columns("before", "after", css=""),
        Column("change", "says"),
        Column("every " + known["noun"], "word drawing", drawn=True),
    ]
    return (
        [Table("Steps, the worst first", heads, _rows(known, drawn), "judged", _MOST)]
        if known["steps"]
        else []
    )


def _about(known: Json) -> str:
    where = ", ".join(text for text in (known["machine"], known["device"]) if text)
    nights = known["nights"]
    return "%s: %s of %s%s, %s to %s" % (
        known["name"],
        plural(len(nights), known["noun"]),
        known["source"],
        " on " + where if where else "",
        nights[0]["when"],
        nights[-1]["when"],
    )


def _whys(numbers: Sequence[Json]) -> str:
    """Which numbers, by the reason why there is nothing of them."""
    names: Dict[str, List[str]] = {}
    for number in numbers:
        names.setdefault(number["reason"], []).append(number["name"])
    return "; ".join("%s (%s)" % (listing(own, _UNSEARCHED), why) for why, own in names.items())


def _left(known: Json) -> List[str]:
    """What was not looked at, and why there is nothing."""
    unsearched = plural(len(known["unsearched"]), "number")
    return [
        *["No value any more: %s." % _whys(known["gone"])] * bool(known["gone"]),
        *["No step is looked for in %s: %s." % (unsearched, _whys(known["unsearched"]))]
        * bool(known["unsearched"]),
    ]


def _page(history: Json, drawn: bool) -> Page:
    known = plain_texts(history)
    outcome = known["outcome"]
    method = [
        (term, text % percent(known["settings"]["rate"]) if "%s" in text else text) for term, text in _METHOD
    ]
    parts = [
        *[Group("section", "Steps, the worst first", _steps(known, drawn), "steps")] * bool(known["steps"]),
        *[Items(_left(known))] * bool(_left(known)),
        Group("section", "How to read this", [terms(method)], "reading", only=PAGE),
        Group("section", "Every " + known["noun"], [_nights(known)], "runs", only=PAGE),
    ]
    return Page(
        "history",
        "compare",
        [_about(known)],
        "Since when is %s different?" % known["name"],
        [outcome["sentence"]],
        outcome["reasons"],
        parts,
        "gpusig.history %s. This file needs no network, and the same runs always give these bytes."
        % known["version"],
        Cell("", icon=_ICONS[outcome["verdict"]], look=_LOOKS.get(outcome["verdict"], outcome["verdict"])),
    )


def _nights(known: Json) -> Table:
    rows = [row(night["name"], night["when"]) for night in known["nights"]]
    return Table("Every " + known["noun"], columns("run", "when"), rows)


def table(history: Json) -> str:
    return terminal(_page(history, False))


def render(history: Json) -> str:
    """Raises template.MissingDependency where jinja2 is not installed."""
    return html(_page(history, True), ("compare.css",), "gpusig · " + _about(history))
