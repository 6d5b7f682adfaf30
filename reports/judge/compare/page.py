# SPDX-License-Identifier: BSD-3-Clause
"""A comparison in a terminal and as a page: the answer, what else differs, the control, and a verdict for
every judged metric."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Sequence

from reports.judge.compare import few, wording
from reports.judge.compare.dots import axis_of, draw_interval, draw_runs
from reports.judge.compare.verdict import EQUIVALENT, IMPROVE, INCONCLUSIVE, INVALID, REGRESS
from reports.judge.compare.verdict import LIKELY_BETTER, LIKELY_WORSE
from reports.judge.compare.wording import ARROWS, DIFFERS, SIDES, change_text, label_of, least_effects, shown
from reports.page.blocks import PAGE, TERMINAL, Cell, Column, Counts, Group, Head, Items, Page, Row, Table
from reports.page.blocks import Text, columns, html, names_of, plain, row, terminal, terms
from reports.page.svg import markup
from reports.records.jsonl import Json
from reports.records.quantity import listing, percent, plural

# Rows in a terminal and on a page.
_OTHERS, _FIELDS, _CONTROLS, _RUNS = (10, 200), (24, 100), (5, 20), (0, 100)
_OPEN = 8  # inconclusive metrics; the others are folded
_MISSING = 3  # texts on missing values of equivalent metrics
_VALUE = 90  # characters of a value of provenance
_NAME = 60  # characters of a run's name
_ICONS = {
    REGRESS: "!",
    LIKELY_WORSE: "▼",
    LIKELY_BETTER: "▲",
    IMPROVE: "+",
    EQUIVALENT: "=",
    INCONCLUSIVE: "?",
    INVALID: "×",
    "no regression": "✓",
}
_MEANING = {
    REGRESS: "Worse: the adjusted p is below the rate, and the whole interval is beyond the "
    "least effect that matters.",
    IMPROVE: "Better, by both conditions.",
    EQUIVALENT: "The whole interval is within the least effect that matters. Only this verdict says that "
    "nothing moved.",
    INCONCLUSIVE: "These runs decide neither. It does not say that nothing moved: more runs may find a "
    "change.",
    INVALID: "It cannot be compared: too few runs have a value, or the values have no ratio. The reason is "
    "below the row.",
}
_METHOD = {
    "Value": "Each run gives one value for each metric, so the number of runs is the number of observations.",
    "Change": "After / before by the Hodges-Lehmann estimate: the median of the ratios of all pairs of runs, "
    "on logarithms. Where a metric has no ratio it is after - before, in the metric's unit.",
    "Interval": "The %s interval of that estimate, from the exact distribution of the Mann-Whitney "
    'statistic; no distribution of the values is assumed. An arrow or "unbounded": so few runs give no '
    "limit.",
    "p": "Exact two-sided Mann-Whitney test, adjusted by Benjamini and Hochberg over the judged metrics: the "
    "false-discovery rate is at most %s.",
    "Minimum detectable effect": 'So many runs find it in 90 % of such comparisons. "none": so few '
    "runs find no effect, however large.",
}
# If a side has fewer than 8 runs.
_FEW_MEANING = {
    REGRESS: "Worse: the adjusted p is below the rate, the change is beyond the least effect "
    "that matters, and equal runs give as much evidence in at most one of 20 comparisons.",
    LIKELY_WORSE: "Worse by p and change, but so few runs cannot exclude that their values come in levels: "
    "confirm it with more.",
    LIKELY_BETTER: "As for likely worse, of an improvement.",
}
_FEW_METHOD = {
    "Value": _METHOD["Value"],
    "Change": "After / before, of the geometric means. Where a metric has no ratio it is after - before.",
    "Interval": "The %s interval by Student's t on logarithms. The variance is that of both sides and of a "
    "noise file, shrunk towards the other metrics (a moderated t). One run against many: a prediction "
    "interval.",
    "p": "Of that t, adjusted by Benjamini and Hochberg over the judged metrics: the false-discovery rate is "
    "%s.",
    "Evidence": "All p together, compared with permutations of these runs, or with equal runs of a noise "
    "file. Valid for any noise without a drift.",
    "Minimum detectable effect": "So many runs find it in 90 % of such comparisons.",
}
_DRAWN = (
    "Dots are runs, the lines through them medians. Both drawings of a row have one axis, relative to "
    "the median before. Shaded: ± the least effect that matters."
)


def _badge(verdict: str) -> Cell:
    return Cell(verdict, icon=_ICONS[verdict], look=verdict.replace(" ", "-"))


def _row(metric: Json, names: Sequence[list[str]], drawn: bool) -> Row:
    """Cells of a judged metric; of another the first four."""
    before, after, unit = wording.medians(metric)
    values = [Cell(("%s %s" % (value, unit)).strip(), css="median") for value in (before, after)]
    name = label_of(metric) + ARROWS.get(metric["better"], "")
    missing = wording.missing_texts(metric, names)
    if not metric["verdict"]:  # "bandwidth" alone may be any
        condition = metric["condition"] or metric["name"]
        title = metric["name"] if metric["condition"] else ""
        return row(Cell(name, condition, title=title), *values, change_text(metric), notes=missing)
    axis = axis_of(metric) if drawn else None
    runs = markup(draw_runs(metric, axis, (names[0], names[1]))) if axis else ""
    repeats = wording.repeats_text(metric)
    within = wording.verdict_text(metric)[len(metric["verdict"]) :].strip()
    below, note = (within, repeats) if metric["repeats"] is None else (repeats, "")
    return row(
        Cell(name, metric["condition"], title=metric["name"]),
        *values,
        Cell("no value" if drawn and not axis else "", drawing=runs),
        Cell(drawing=markup(draw_interval(metric, axis)) if axis else ""),
        change_text(metric),
        Cell(wording.p_text(metric["p_adjusted"]), title="unadjusted p " + wording.p_text(metric["p"])),
        Cell(wording.detectable_text(metric), title="minimum detectable effect, in 90 % of comparisons"),
        replace(_badge(metric["verdict"]), below=below),
        notes=[text for text in (metric["reason"], *missing, note) if text],
        css="metric v-" + metric["verdict"].replace(" ", "-"),
    )


def _heads() -> list[Column]:
    return [
        Column("metric"),
        *columns("before", "after", css=""),
        Column("every run", "word drawing", drawn=True),
        Column("interval of the change", "word interval", drawn=True),
        Column("change", "word change"),
        Column("adjusted p", under=True),
        Column("detectable", under=True),
        Column("verdict", "word says", aside=True),
    ]


def _table(name: str, rows: Sequence[Any]) -> Table:
    return Table(name, _heads(), rows, "judged", (1000, 1000), scrolls=False)


def _folded(title: str, rows: Sequence[Json], names: Sequence[list[str]], drawn: bool) -> list[Any]:
    """A line of a terminal, which a page opens."""
    table = _table(title, [_row(metric, names, drawn) for metric in rows])
    return [Text(title + ".", "", only=TERMINAL), Group("fold", title, [table], only=PAGE)]


def _judged(known: Json, names: Sequence[list[str]], drawn: bool) -> list[Any]:
    metrics = known["metrics"]
    if not metrics:
        return [Text("No metric was judged.", "summary")]
    rows: list[Any] = []
    more: list[Json] = []
    for title, own in wording.blocks(metrics):
        most = _OPEN if own[0]["verdict"] == INCONCLUSIVE else len(own)
        rows += [Head(title), *(_row(metric, names, drawn) for metric in own[:most])]
        more += own[most:]
    equal, line = wording.equivalents(metrics)
    name = "Medians before and after, every run, the change with its interval, and the verdict of each metric"
    found: list[Any] = [Text(_DRAWN, "question", only=PAGE)]
    found += [_table(name, rows)] * bool(rows)
    found += _folded("%d more inconclusive" % len(more), more, names, drawn) if more else []
    found += _folded(line, equal, names, drawn) if equal else []
    found += [Items(wording.missing_among(equal, names, _MISSING), only=TERMINAL)] * bool(equal)
    for own, why in wording.invalids(metrics, names):
        found += _folded(why, own, names, drawn)
    return [*found, _legend(known)]


def _legend(known: Json) -> Text:
    return Text(
        "Medians of the runs, and the change with its interval. p is adjusted over the judged metrics "
        "(false-discovery rate %s). Detectable: the minimum detectable effect, with 90 %%. Least effect that "
        "matters: %s. ↑ more is better, ↓ less."
        % (percent(known["settings"]["rate"]), least_effects(known["metrics"]))
    )


def _others(known: Json, names: Sequence[list[str]]) -> list[Any]:
    count = known["others_count"]
    heads = [Column("metric"), *columns("before", "after", css=""), Column("change and interval")]
    rows = [_row(metric, names, False) for metric in known["others"]]
    table = Table("Other metrics, the largest effect first", heads, rows, most=_OTHERS, total=count)
    said = Text("Described by effect, not judged: among so many numbers some differ by chance.", "question")
    return [said, Group("fold", "The largest of %s" % plural(count, "metric"), [table])] if count else []


def _provenance(provenance: Json) -> list[Any]:
    rows = []
    for kind, said in DIFFERS.items():
        alarm = kind != "expected"
        for entry in provenance[kind]:
            sides = {entry["side"]: entry["values"]} if "side" in entry else entry
            before, after = (sides.get(side) for side in SIDES)
            cells = [
                "" if mine is None else wording.values_text(mine, others or (), _VALUE)
                for mine, others in ((before, after), (after, before))
            ]
            field = Cell(entry["field"], said[:1].lower() + said[1:], "!" if alarm else "")
            rows.append(row(field, *cells, css="alarm" if alarm else ""))
    if not rows:
        return [Text("No recorded provenance differs.", "")]
    heads = [Column("field"), *columns("before", "after", css="word long")]
    return [Table("What else differs", heads, rows, "provenance", _FIELDS)]


def _control(control: Json) -> list[Any]:
    word, _, text = wording.control_text(control).partition(": ")
    lead = word.replace("Control ", "").capitalize() + (":" if text else "")
    rows = [row(label_of(metric), change_text(metric)) for metric in control["metrics"]]
    return [
        Text(text, "control c-" + control["verdict"], lead, control["verdict"] == "moved"),
        Table("Metrics of the control", columns("metric", "change"), rows, most=_CONTROLS),
    ]


def _settings(known: Json) -> list[tuple[str, str]]:
    settings = known["settings"]
    return [
        ("Least effect", least_effects(known["metrics"]) or percent(settings["least_effect"])),
        ("Rate", "%s of the reported changes may be false" % percent(settings["rate"])),
        ("Interval", percent(settings["confidence"])),
        ("Factor", listing(settings["factor"], 20) or "none: nothing was declared to differ"),
        ("Control", listing(settings["control"], 20) or "none"),
        ("Only", listing(settings["only"], 20) or "every headline number"),
        ("Noise", settings["noise"] or "no file of earlier comparisons"),
        ("Counted", "nodes, each with the median of its runs" if settings["nodes"] else "runs"),
    ]


def _titled(side: str, known: Json) -> str:
    """ "before DIR: 8 runs of gpusig"; a folder called before is not named twice."""
    text = wording.side_text(known[side])
    return text if known[side]["name"] == side else "%s %s" % (side, text)


def _runs(known: Json, side: str) -> Table:
    """Every run, with how many judged metrics it has a value of."""
    values = [metric[side]["values"] for metric in known["metrics"]]
    rows = []
    for i, run in enumerate(known[side]["runs"]):
        held = "%d of %d" % (sum(i < len(own) and own[i] is not None for own in values), len(values))
        rows.append(row(run["name"], run["started"].replace("T", " ") or "unknown", held))
    heads = [*columns("run", "started"), Column("judged values", "")]
    title = _titled(side, known)
    title = title[0].upper() + title[1:]
    return Table(title, heads, rows, most=_RUNS, titled=True)


def _reading(known: Json, is_few: bool) -> Group:
    rate, confidence = (percent(known["settings"][name]) for name in ("rate", "confidence"))
    method = [
        (term, text.replace("%s", confidence if term == "Interval" else rate))
        for term, text in (_FEW_METHOD if is_few else _METHOD).items()
    ]
    texts = {**_MEANING, **_FEW_MEANING} if is_few else _MEANING
    meaning = [(_badge(verdict), texts[verdict]) for verdict in wording.VERDICTS if verdict in texts]
    columns_ = Group("columns", "", [terms(meaning), terms(method)])
    return Group("section", "How to read this", [columns_], "reading")


def _question(known: Json) -> str:
    before, after = known["before"], known["after"]
    has = before["machine"] + ": has" if before["machine"] == after["machine"] != "" else "Has"
    return "%s anything changed from %s to %s?" % (has, *names_of(before["name"], after["name"]))


def _page(comparison: Json, others: int, drawn: bool) -> Page:
    known = shown(comparison, others)
    names = [[plain(run["name"], _NAME) for run in known[side]["runs"]] for side in SIDES]
    outcome, judged = known["outcome"], known["metrics"]
    badge = _badge(outcome["verdict"])
    counts = [(_badge(verdict), count) for verdict, count in wording.counts_of(judged)]
    control = Group("part", "Control", _control(known["control"]))
    differs = Group("part", "What else differs", _provenance(known["provenance"]))
    runs = [Group("columns", "", [_runs(known, side) for side in SIDES])]
    parts = [
        *[Counts(plural(len(judged), "judged metric"), counts)] * bool(judged),
        Group("section", "Judged metrics", _judged(known, names, drawn), "judged"),
        Group("columns", "", [control, differs], css="first"),
        Group("section", "Other metrics", _others(known, names), "others"),
        _reading(known, few.is_few(*map(len, names))),
        Group("section", "Settings", [terms(_settings(known))], "settings"),
        Group("section", "Runs", runs, "runs", only=PAGE),
    ]
    footer = "gpusig.comparison %s. This file needs no network, and a comparison always gives these bytes."
    about = [_titled(side, known) for side in SIDES]
    told = [outcome["sentence"]], outcome["reasons"]
    question = _question(known)
    footer %= known["version"]
    return Page("comparison", "compare", about, question, *told, parts, footer, badge)


def table(comparison: Json) -> str:
    return terminal(_page(comparison, _OTHERS[0], False))


def _running(known: Json) -> str:
    """Footer of every printed page: both sides, and the date of the last run."""
    last = max((run["started"] for side in SIDES for run in known[side]["runs"]), default="")
    return " · ".join(t for t in ("gpusig", _question(known), last[:10]) if t)


def render(comparison: Json, line: str = "") -> str:
    """Raises template.MissingDependency where jinja2 is not installed."""
    return html(_page(comparison, _OTHERS[1], True), ("compare.css",), _running(shown(comparison, 0)), line)
