# SPDX-License-Identifier: BSD-3-Clause
"""A scorecard in a terminal and as a page, which is fit to be printed and attached to a tender."""

from __future__ import annotations

from typing import Any, Sequence

from reports.page.blocks import PAGE, Cell, Column, Group, Head, Items, Page, Row, Table, Text
from reports.page.blocks import columns, html, plain_texts, row, terminal, terms
from reports.records.jsonl import Json
from reports.records.quantity import human, listing, percent, plural
from reports.judge.scorecard.drawing import draw, reach_of
from reports.judge.scorecard.metrics import DESCRIBED
from reports.judge.scorecard.price import LIFE_YEARS, MONEY
from reports.judge.scorecard.questions import QUESTIONS
from reports.judge.scorecard.ranking import BEST, EQUAL, FAR, OPEN, UNRANKED
from reports.judge.scorecard.rules import NO, UNKNOWN, YES
from reports.judge.scorecard.wording import bought_text, cost_text, price_text, ratio_text
from reports.judge.scorecard.wording import seconds_text, steps_text, value_text
from reports.page.svg import markup

_LEFT_OUT = (40, 400)  # numbers, in a terminal and on a page
_ARROWS = {"higher": " ↑", "lower": " ↓"}
_ICONS = {YES: "✓", NO: "!", UNKNOWN: "?"}
_WORDS = {BEST: "best", EQUAL: "equal", OPEN: "not told apart"}  # of those that no other beats
_RUNS, _FIELDS = (0, 30), 40  # of a machine
_METHOD = (
    (
        "Same number",
        "Machines are compared in a number only where it is of the same program, point and size, "
        "and of as many devices where those take part. Footprints of memory follow from each "
        "machine's own caches.",
    ),
    (
        "Value",
        "Of one run, with the 95 % interval of what another run would give, from its repeats; of "
        "several runs their mean, with Student's interval. An interval without width is left out: times of "
        "models repeat.",
    ),
    (
        "Ratio",
        "How many times as good as the reference, whether higher or lower is better: 1 is equal, below "
        "1 is worse. The interval is Welch's, 95 %.",
    ),
    (
        "Best",
        "No other machine is better. Better: the whole interval lies beyond the least effect, and "
        "Welch's p, adjusted by Benjamini and Hochberg over all pairs and numbers, is below the rate.",
    ),
    (
        "Tie",
        "Equal: every interval among the best lies within the least effect. Not told apart: more runs may "
        "decide.",
    ),
    (
        "Not ranked",
        "Its error is not known: it is never among the best, and behind only where its value is more than %g "
        "times worse." % FAR,
    ),
    (
        "Question",
        "Each has one vote, by its main number: several numbers of one thing would count it several times.",
    ),
    (
        "Describes",
        "A number without a unit is a ratio of a machine to itself, or a share of its own ideal. It improves "
        "if the other half gets worse, so no machine is best in it.",
    ),
    (
        "Mix",
        "GEMMs and their communication are simulated on each machine's model, copies and messages "
        "read from them, memory and launches from headline numbers. The errors within a machine are "
        "taken to be alike, those of two machines independent.",
    ),
    (
        "Cost of a step",
        "A step is the mix once. Rent: price times time; a bought machine is written off over %d years of "
        "continuous work. Steps: how often the mix runs for %g of rent, or in a day for %g of "
        "the price." % (LIFE_YEARS, MONEY, MONEY),
    ),
    (
        "Pareto front",
        "The machines that none dominates. One dominates another if it is better in one of speed, price "
        "and power, and worse in none of those known of both.",
    ),
)

# ------------------------------------------------------------------ blocks


def _verdict(number: Json, name: str) -> tuple[str, str]:
    """The class of a machine in a number or a line, and its word."""
    if name in number["behind"]:
        return "behind", ""
    if name in number["unranked"]:
        return "unranked", UNRANKED
    if name not in number["best"]:
        return "none", ""
    return "best" if number["verdict"] == BEST else "tie", _WORDS[number["verdict"]]


def _machine_row(
    number: Json,
    name: str,
    value: str,
    ratio: Json | None,
    reach: float,
    drawn: bool,
    notes: Sequence[str],
) -> Row:
    """Value of a machine, and its ratio to the reference."""
    css, word = _verdict(number, name)
    text = "1" if name == number["reference"] else ratio_text(ratio)
    graph = ""
    if ratio is not None and drawn:
        graph = markup(draw(ratio, reach, "%s: %s" % (name, text), "v-" + css))
    cells = name, value, Cell(drawing=graph), text, Cell(word, css="v-" + css)
    return row(*cells, notes=[note for note in notes if note], css="of " + css)


def _numbers(caption: str, value: str, ratio: str, rows: Sequence[Any]) -> Table:
    heads = [
        Column("machine", "word machine"),
        Column(value, "value"),
        Column("interval of the ratio", "word graph", drawn=True),
        Column(ratio, "word ratio"),
        Column("verdict", "word verdict"),
    ]
    return Table(caption, heads, rows, "numbers", scrolls=False, most=(10**6, 10**6))


def _metrics(metrics: Sequence[Json], drawn: bool) -> list[Any]:
    rows: list[Any] = []
    group = ""
    for number in metrics:
        rows += [Head(number["group"])] * (number["group"] != group)
        group = number["group"]
        label = number["label"] + _ARROWS.get(number["better"], "")
        below = [number["condition"], DESCRIBED if number["verdict"] == DESCRIBED else ""]
        if number["question"]:
            label, below = number["question"] + _ARROWS.get(number["better"], ""), [number["label"], *below]
        rows.append(Head(label, ", ".join(filter(None, below)), 1, number["name"]))
        reach = reach_of(list(number["ratios"].values()))
        lost = ["%s is not compared: %s" % pair for pair in number["not_compared"].items()]
        last = list(number["machines"])[-1]
        for name, held in number["machines"].items():
            value = value_text(held["value"], held["low"], held["high"], number["unit"])
            notes = [held["reason"], *lost * (name == last)]
            rows.append(_machine_row(number, name, value, number["ratios"][name], reach, drawn, notes))
    return rows


def _line(line: Json, label: str, drawn: bool) -> list[Any]:
    reach = reach_of([own["speed"] for own in line["machines"].values()])
    rows: list[Any] = [Head(label, level=1)]
    for name, own in line["machines"].items():
        notes = [own["reason"], *own["notes"]]
        rows.append(_machine_row(line, name, seconds_text(own), own["speed"], reach, drawn, notes))
    return rows


def _mix(mix: Json | None, drawn: bool) -> list[Any]:
    if mix is None:
        return []
    rows = _line(mix["total"], "All %s" % plural(len(mix["items"]), "item"), drawn)
    if mix["common"] is not None:
        rows += _line(mix["common"], "The %d that every machine answers" % mix["common_items"], drawn)
    said = "Predicted times with half of their 95 % interval, and the speed against the fastest."
    return [Text(said, "question"), _numbers("Times of the mix", "time", "speed", rows)]


def _items(mix: Json | None, drawn: bool) -> list[Any]:
    if mix is None:
        return []
    rows = [own for line in mix["items"] for own in _line(line, line["text"], drawn)]
    return [_numbers("Times of its pieces", "time", "speed", rows)]


def _prices(prices: Json | None) -> list[Any]:
    if prices is None:
        return []
    of = next((own["buys"]["of"] for own in prices["machines"].values() if own["buys"]), "")
    rows = [
        row(
            name,
            seconds_text(own),
            price_text(own),
            " ".join([human(own["power"], "W"), *["(%s)" % own["power_source"]] * bool(own["power_source"])]),
            cost_text(own),
            steps_text(own),
            human(own["energy"], "J"),
            bought_text(own),
            listing(own["beaten_by"]) or "none",
        )
        for name, own in prices["machines"].items()
    ]
    heads = [
        Column("machine"),
        Column("time", "time"),
        Column("price", "price"),
        Column("power", "power", under=True),
        Column("cost of a step", "cost"),
        Column("steps", "steps", under=True),
        Column("energy of a step", "energy"),
        Column("against %s" % of if of else "price for speed", "word bought"),
        Column("dominated by", "word beaten"),
    ]
    said = "Speed by %s. Weighed: %s. Never read one column alone."
    return [
        Text(said % (prices["speed"], ", ".join(prices["criteria"]) or "nothing"), "question"),
        Table("Speed, price and power of each machine", heads, rows, "prices", scrolls=False),
        Items(prices["notes"]),
    ]


def _counts(card: Json) -> list[Any]:
    """One row a machine, so that a narrow page shows all."""
    rows = [
        row(name, *("%d" % own[key] for key in ("best", "shared", "behind", "unranked")))
        for name, own in card["counts"]["machines"].items()
    ]
    heads = [Column("machine"), *columns("best", "tie", "behind", "not ranked", css="")]
    return [Table("Questions by machine, of %d" % card["counts"]["questions"], heads, rows, titled=True)]


def _questions(card: Json, drawn: bool) -> list[Any]:
    asked = [number for number in card["metrics"] if number["question"]]
    asked.sort(key=lambda number: list(QUESTIONS).index(number["question"]))
    return [
        Text(_how_to_read(card), "question"),
        _numbers("Every question", "value", "ratio", _metrics(asked, drawn)),
        *_counts(card),
    ] * bool(asked)


def _others(card: Json, drawn: bool) -> list[Any]:
    others = [number for number in card["metrics"] if not number["question"]]
    said = "Numbers without a unit compare a machine with itself: they describe it, and none is best in them."
    numbers = _numbers("Every other number", "value", "ratio", _metrics(others, drawn))
    return [Text(said, "question"), numbers] * bool(others)


def _how_to_read(card: Json) -> str:
    settings = card["settings"]
    return (
        "Each question by its main number: the value with half of its 95 %% interval, then how many times as "
        "good as that of %s, with its interval: below 1 is worse, whether higher (↑) or lower (↓) is better. "
        "Best: no other is better by an interval that lies whole beyond %s."
        % (settings["base"] or "the best value", percent(settings["least_effect"]))
    )


def _rules(card: Json) -> list[Any]:
    """Machines of which the same is said stand in one row, so that a narrow page shows all."""
    if all(machine["known"] for machine in card["machines"]):
        return []
    rows: list[Any] = []
    everywhere = []
    for entry in card["rules"]:
        said: dict[tuple[str, str], list[str]] = {}
        for name, own in entry["machines"].items():
            said.setdefault((own["holds"], own["text"]), []).append(name)
        if list(said) == [(YES, "")]:
            everywhere.append(entry["rule"])
            continue
        rows.append(Head(entry["rule"], level=1))
        rows += [
            row(listing(names, len(names)), Cell(holds, text, _ICONS[holds], css=holds))
            for (holds, text), names in said.items()
        ]
    stated = "To be stated by the seller, since no signature shows it: %s." % "; ".join(card["statements"])
    held = "These hold on every machine: %s." % "; ".join(everywhere)
    heads = columns("machine", "holds")
    return [
        Text(
            "What has to hold before these numbers count, as far as the signatures show it; known machines "
            "are no offers.",
            "question",
        ),
        *[Text(held)] * bool(everywhere),
        Table("Run rules by machine", heads, rows, "rules", scrolls=False),
        Text(stated),
    ]


def _left_out(card: Json) -> list[Any]:
    def held(name: str, own: Json, unit: str) -> str:
        return "%s %s%s" % (name, human(own["value"], unit), own["condition"] and " (%s)" % own["condition"])

    rows = []
    for lost in card["not_compared"]:
        present = [(name, own) for name, own in lost["machines"].items() if own["value"] is not None]
        values = "; ".join(held(name, own, lost["unit"]) for name, own in present)
        rows.append(row(Cell(lost["label"], lost["group"]), lost["why"], values))
    heads = [Column("number"), *columns("why", "values", css="word long")]
    return [Table("Numbers that could not be compared", heads, rows, most=_LEFT_OUT)] * bool(rows)


def _machine(machine: Json) -> Group:
    runs = [row(run["name"], run["started"].replace("T", " ") or "unknown") for run in machine["runs"]]
    parts = [
        Text("%s gpusig %s." % (machine["what"], listing(machine["versions"]))),
        *[Text("Known: %s." % machine["known"])] * bool(machine["known"]),
        Table("Runs of %s" % machine["name"], columns("run", "started (UTC)"), runs, most=_RUNS),
        *map(Text, machine["left_out"]),
        terms(list(machine["provenance"].items())[:_FIELDS], "fields"),
    ]
    return Group("part", "%s: %s" % (machine["name"], machine["device"]), parts)


def _about(machine: Json) -> str:
    started = sorted(run["started"] for run in machine["runs"] if run["started"])
    runs = plural(len(machine["runs"]), "run") + (" from %s" % started[0][:10] if started else "")
    of = "known, " * bool(machine["known"]) + runs
    return "%s: %s; %s; gpusig %s" % (machine["name"], machine["device"], of, listing(machine["versions"]))


def _asked(machines: Sequence[Json]) -> tuple[list[str], str]:
    """The machines, in a line each but for known ones next to a single other one, and the question."""
    names = [machine["name"] for machine in machines]
    own = [machine for machine in machines if not machine["known"]]
    if len(own) == 1 and len(names) > 3:
        known = listing([name for name in names if name != own[0]["name"]], len(names))
        return [_about(own[0]), known], "How good is %s next to known machines?" % own[0]["name"]
    question = "Which machine is better: %s?" % " or ".join([", ".join(names[:-1]), names[-1]])
    return list(map(_about, machines)), question


def _page(card: Json, drawn: bool) -> Page:
    settings, mix = card["settings"], card["workload"]
    method = (
        *_METHOD,
        ("Least effect", percent(settings["least_effect"])),
        ("Rate", "%s of the claims that a machine is better may be false" % percent(settings["rate"])),
        ("Reference", settings["base"] or "the best value of each number"),
    )
    machines = Group("columns", "", [_machine(machine) for machine in card["machines"]])
    parts = [
        Group("section", "The mix of %s" % mix["file"] if mix else "", _mix(mix, drawn), "mix"),
        Group("section", "Time, price and power", _prices(card["price"]), "price"),
        Group("section", "The pieces of the mix", _items(mix, drawn), "items"),
        Group("section", "Best at what", _questions(card, drawn), "questions"),
        Group("section", "Run rules", _rules(card), "rules"),
        Group("section", "Other numbers", _others(card, drawn), "numbers"),
        Group("section", "Could not be compared", _left_out(card), "left-out"),
        Group("section", "Machines", [machines], "machines", only=PAGE),
        Group("section", "How to read this", [terms(method)], "reading"),
    ]
    footer = "gpusig scorecard %s. The same signatures give the same page. Nothing was measured for it."
    footer %= card["version"]
    about, question = _asked(card["machines"])
    said, notes = card["sentences"], card["notes"]
    return Page("scorecard", "compare card", about, question, said, notes, parts, footer)


def table(card: Json) -> str:
    return terminal(_page(plain_texts(card), False))


def _running(card: Json) -> str:
    """Footer of every printed page."""
    last = max((run["started"] for machine in card["machines"] for run in machine["runs"]), default="")
    named = listing([machine["name"] for machine in card["machines"]], 4)
    return " · ".join(filter(None, ("gpusig scorecard", named, last[:10])))


def render(card: Json, line: str = "") -> str:
    """Raises template.MissingDependency where jinja2 is not installed."""
    known = plain_texts(card)
    return html(_page(known, True), ("compare.css", "scorecard.css"), _running(known), line)
