# SPDX-License-Identifier: BSD-3-Clause
"""A scorecard in a terminal and as a page, which is fit to be printed and attached to a tender."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence

from reports.blocks import (
    PAGE,
    Cell,
    Column,
    Group,
    Head,
    Items,
    Page,
    Row,
    Table,
    Text,
    columns,
    html,
    plain_texts,
    row,
    terminal,
    terms,
)
from reports.compare.numbers import DIFFERENCE
from reports.compare.wording import difference_text
from reports.jsonl import Json
from reports.quantity import digits, half_width, human, listing, percent, plural
from reports.scorecard.drawing import draw, reach_of
from reports.scorecard.metrics import BEST, DESCRIBED, EQUAL, OPEN
from reports.scorecard.rules import NO, UNKNOWN, YES
from reports.svg import markup

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
        "Of one run, with the 95 % interval of what another run would give, from its second tries; of "
        "several runs their mean, with Student's interval.",
    ),
    (
        "Ratio",
        "How many times as good as the reference, whether higher or lower is better: 1 is equal, below "
        "1 is worse. Where a value may be 0 or less it is a difference, below 0 is worse. The interval "
        "is Welch's, 95 %.",
    ),
    (
        "Best",
        "No other machine is better. Better: the whole interval lies beyond the least effect, and "
        "Welch's p, adjusted by Benjamini and Hochberg over all pairs and numbers, is below the rate.",
    ),
    (
        "Tie",
        "Equal: every interval among the best lies within the least effect. Not told apart: more runs may "
        "tell.",
    ),
    (
        "Mix",
        "GEMMs and their communication are predicted from each machine's curves, copies and messages "
        "read from them, memory and launches from headline numbers. The errors within a machine are "
        "taken to be alike, those of two machines independent.",
    ),
    (
        "Unbeaten",
        "One machine beats another if it is better in one of speed, price and power, and worse in "
        "none of those known of both.",
    ),
)

# ------------------------------------------------------------------ wording


def _value_text(held: Json, unit: str) -> str:
    width = half_width(held["value"], held["low"], held["high"], unit)
    return "%s%s" % (human(held["value"], unit), " " + width if width else "")


def _ratio_format(value: float) -> Callable[[float], str]:
    """Of a value and its ends."""
    return (
        (lambda v: "%.3f" % v) if 0.9 <= value < 1.1 else (lambda v: "%.2f" % v) if value < 9.995 else digits
    )


def _ratio_text(ratio: Optional[Json], scale: str, unit: str) -> str:
    """ "0.86 (0.84 to 0.88)"; nothing of a machine against itself."""
    if ratio is None:
        return "–"
    number = (lambda v: difference_text(v, unit)) if scale == DIFFERENCE else _ratio_format(ratio["value"])
    if ratio["low"] is None or ratio["high"] is None:
        return "%s (interval not known)" % number(ratio["value"])
    return "%s (%s to %s)" % (number(ratio["value"]), number(ratio["low"]), number(ratio["high"]))


def _seconds_text(own: Json) -> str:
    if own["seconds"] is None:
        return "no answer"
    return _value_text({"value": own["seconds"], "low": own["low"], "high": own["high"]}, "s")


def _money_text(own: Json) -> str:
    return "–" if own["price"] is None else "%s %s" % ("{:,.10g}".format(own["price"]), own["currency"])


def _cost_text(own: Json) -> str:
    """Of what is rented, money; of what is bought, money times seconds: it only compares."""
    if own["time_price"] is None:
        return "–"
    unit = own["currency"][:-2] if own["currency"].endswith("/h") else own["currency"] + " s"
    return "%s %s" % (digits(own["time_price"]), unit)


# ------------------------------------------------------------------ blocks


def _machine_row(
    number: Json,
    name: str,
    value: str,
    ratio: Optional[Json],
    reach: float,
    drawn: bool,
    notes: Sequence[str],
) -> Row:
    """What a machine has, and its ratio to the reference."""
    scale, verdict = number.get("scale", ""), number["verdict"]
    text = "–"
    if ratio is not None or "scale" in number:
        same = "0" if scale == DIFFERENCE else "1"
        text = same if name == number["reference"] else _ratio_text(ratio, scale, number.get("unit", ""))
    css = (
        "none"
        if verdict not in _WORDS
        else "behind"
        if name not in number["best"]
        else ("best" if verdict == BEST else "tie")
    )
    graph = ""
    if ratio is not None and drawn:
        graph = markup(draw(ratio, scale, reach, "%s: %s" % (name, text), "v-" + css))
    word = _WORDS[verdict] if css in ("best", "tie") else ""
    return row(
        name,
        value,
        Cell(drawing=graph),
        text,
        Cell(word, css="v-" + css),
        notes=[note for note in notes if note],
        css="of " + css,
    )


def _numbers(caption: str, value: str, ratio: str, rows: Sequence[Any]) -> Table:
    heads = [
        Column("machine", "word machine"),
        Column(value, "value"),
        Column("interval of the ratio", "word graph", drawn=True),
        Column(ratio, "word ratio"),
        Column("verdict", "word verdict"),
    ]
    return Table(caption, heads, rows, "numbers", scrolls=False, most=(10**6, 10**6))


def _metrics(card: Json, drawn: bool) -> List[Any]:
    rows: List[Any] = []
    group = ""
    for number in card["metrics"]:
        rows += [Head(number["group"])] * (number["group"] != group)
        group = number["group"]
        below = [number["condition"], "neither is better" if number["verdict"] == DESCRIBED else ""]
        label = number["label"] + _ARROWS.get(number["better"], "")
        rows.append(Head(label, ", ".join(filter(None, below)), 1, number["name"]))
        reach = reach_of(list(number["ratios"].values()), number["scale"])
        lost = ["%s is not compared: %s" % pair for pair in number["not_compared"].items()]
        last = list(number["machines"])[-1]
        for name, held in number["machines"].items():
            value, notes = _value_text(held, number["unit"]), [held["reason"], *lost * (name == last)]
            rows.append(_machine_row(number, name, value, number["ratios"][name], reach, drawn, notes))
    return rows


def _line(line: Json, label: str, drawn: bool) -> List[Any]:
    reach = reach_of([own["speed"] for own in line["machines"].values()], "")
    return [
        Head(label, level=1),
        *(
            _machine_row(
                line, name, _seconds_text(own), own["speed"], reach, drawn, [own["reason"], *own["notes"]]
            )
            for name, own in line["machines"].items()
        ),
    ]


def _mix(mix: Optional[Json], drawn: bool) -> List[Any]:
    if mix is None:
        return []
    rows = [Head("Total"), *_line(mix["total"], "All %s" % plural(len(mix["items"]), "item"), drawn)]
    if mix["common"] is not None:
        rows += _line(mix["common"], "The %d that every machine answers" % mix["common_items"], drawn)
    rows += [Head("Items"), *(own for line in mix["items"] for own in _line(line, line["text"], drawn))]
    return [
        Text(
            "Predicted times with half of their 95 % interval, and the speed against the fastest. A total is "
            "only of "
            "machines that answer every item.",
            "question",
        ),
        _numbers("Times of the mix", "time", "speed", rows),
    ]


def _scores(card: Json, names: Sequence[str]) -> List[Any]:
    def score(own: Json, of: int) -> Cell:
        if not own["numbers"]:
            return Cell("–")
        less = "; of %d" % own["numbers"] if own["numbers"] < of else ""
        return Cell(
            "%d best" % own["best"],
            "%d tie, %d behind%s" % (own["shared"], own["behind"], less),
            css="leads" if own["best"] else "",
        )

    rows = [
        row(
            entry["group"],
            "%d" % entry["numbers"],
            *(score(entry["machines"][name], entry["numbers"]) for name in names),
        )
        for entry in card["counts"]
    ]
    heads = [Column("question"), Column("numbers", ""), *columns(*names, css="machine")]
    return (
        [
            Text(
                "Numbers in which a machine is the best alone, ties with the best, and is behind.", "question"
            ),
            Table("Numbers by question and machine", heads, rows, "scores"),
        ]
        if card["metrics"]
        else []
    )


def _prices(prices: Optional[Json]) -> List[Any]:
    if prices is None:
        return []
    rows = [
        row(
            name,
            human(own["seconds"], "s"),
            _money_text(own),
            Cell(human(own["power"], "W"), own["power_source"]),
            _cost_text(own),
            human(own["energy"], "J"),
            Cell(listing(own["beaten_by"]) or "none", css="says"),
        )
        for name, own in prices["machines"].items()
    ]
    heads = columns("time", "price", "power", "time × price", "energy", css="")
    said = "Speed by %s. Compared: %s. Never read one column alone."
    return [
        Text(said % (prices["speed"], ", ".join(prices["criteria"]) or "nothing"), "question"),
        Table(
            "Speed, price and power of each machine", [Column("machine"), *heads, Column("beaten by")], rows
        ),
        Items(prices["notes"]),
    ]


def _rules(card: Json, names: Sequence[str]) -> List[Any]:
    def cell(own: Json) -> Cell:
        return Cell(own["holds"], own["text"], _ICONS[own["holds"]], css=own["holds"])

    rows = [row(entry["rule"], *(cell(entry["machines"][name]) for name in names)) for entry in card["rules"]]
    stated = "To be stated by the seller, since no signature shows it: %s." % "; ".join(card["statements"])
    return [
        Text("What has to hold before these numbers count, as far as the signatures show it.", "question"),
        Table("Run rules by machine", columns("rule", *names), rows, "rules"),
        Text(stated),
    ]


def _left_out(card: Json) -> List[Any]:
    def held(name: str, own: Json, unit: str) -> str:
        return "%s %s%s" % (name, human(own["value"], unit), own["condition"] and " (%s)" % own["condition"])

    rows = [
        row(
            Cell(lost["label"], lost["group"]),
            lost["why"],
            "; ".join(
                held(name, own, lost["unit"])
                for name, own in lost["machines"].items()
                if own["value"] is not None
            ),
        )
        for lost in card["not_compared"]
    ]
    heads = [Column("number"), *columns("why", "values", css="word long")]
    return [Table("Numbers that could not be compared", heads, rows, most=_LEFT_OUT)] * bool(rows)


def _machine(machine: Json) -> Group:
    runs = [row(run["name"], run["started"].replace("T", " ") or "unknown") for run in machine["runs"]]
    return Group(
        "part",
        "%s: %s" % (machine["name"], machine["device"]),
        [
            Text("%s gpusig %s." % (machine["what"], listing(machine["versions"]))),
            Table("Runs of %s" % machine["name"], columns("run", "started (UTC)"), runs, most=_RUNS),
            *map(Text, machine["left_out"]),
            terms(list(machine["provenance"].items())[:_FIELDS], "fields"),
        ],
    )


def _about(machine: Json) -> str:
    started = sorted(run["started"] for run in machine["runs"] if run["started"])
    runs = plural(len(machine["runs"]), "run") + (" from %s" % started[0][:10] if started else "")
    return "%s: %s; %s; gpusig %s" % (machine["name"], machine["device"], runs, listing(machine["versions"]))


def _every(card: Json, drawn: bool) -> List[Any]:
    settings = card["settings"]
    said = (
        "Values with half of their 95 %% interval, then how many times as good as that of %s, with its "
        "interval: below 1 "
        "is worse, whether higher (↑) or lower (↓) is better. Where a value may be 0 or less it is the "
        "difference. Best: "
        "no other is better by an interval that lies whole beyond %s."
        % (settings["base"] or "the best value", percent(settings["least_effect"]))
    )
    return [
        Text(said, "question"),
        _numbers("Every compared number", "value", "ratio", _metrics(card, drawn)),
    ] * bool(card["metrics"])


def _page(card: Json, drawn: bool) -> Page:
    names, settings, mix = (
        [machine["name"] for machine in card["machines"]],
        card["settings"],
        card["workload"],
    )
    method = (
        *_METHOD,
        ("Least effect", percent(settings["least_effect"])),
        ("Rate", "%s of the claims that a machine is better may be false" % percent(settings["rate"])),
        ("Reference", settings["base"] or "the best value of each number"),
    )
    machines = Group("columns", "", [_machine(machine) for machine in card["machines"]])
    parts = [
        Group("section", "Best at what", _scores(card, names), "scores"),
        Group("section", "The mix of %s" % mix["file"] if mix else "", _mix(mix, drawn), "mix"),
        Group("section", "Speed, price and power", _prices(card["price"]), "price"),
        Group("section", "Run rules", _rules(card, names), "rules"),
        Group("section", "Every number", _every(card, drawn), "numbers"),
        Group("section", "Could not be compared", _left_out(card), "left-out"),
        Group("section", "Machines", [machines], "machines", only=PAGE),
        Group("section", "How to read this", [terms(method)], "reading"),
    ]
    footer = "gpusig scorecard %s. The same signatures give the same page. Nothing was measured for it."
    question = "Which machine is better: %s?" % " or ".join([", ".join(names[:-1]), names[-1]])
    return Page(
        "scorecard",
        "compare card",
        list(map(_about, card["machines"])),
        question,
        card["sentences"],
        card["notes"],
        parts,
        footer % card["version"],
    )


def table(card: Json) -> str:
    return terminal(_page(plain_texts(card), False))


def _running(card: Json) -> str:
    """What stands on every printed page."""
    last = max((run["started"] for machine in card["machines"] for run in machine["runs"]), default="")
    return " · ".join(
        t for t in ("gpusig scorecard", listing([m["name"] for m in card["machines"]], 4), last[:10]) if t
    )


def render(card: Json) -> str:
    """Raises report.MissingDependency where jinja2 is not installed."""
    known = plain_texts(card)
    return html(_page(known, True), ("compare.css", "scorecard.css"), _running(known))
