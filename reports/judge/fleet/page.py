# SPDX-License-Identifier: BSD-3-Clause
"""A fleet in a terminal and as a page: the answer, every outlier with what else is different about
it, what is missing, and drift."""

from __future__ import annotations

from typing import Any, Sequence

from reports.page.blocks import PAGE, TERMINAL, Cell, Column, Counts, Drawing, Group, Items, Page, Table, Text
from reports.page.blocks import columns, html, names_of, plain, plain_texts, row, terminal, terms
from reports.judge.compare.numbers import RATIO
from reports.judge.compare.verdict import most_hidden
from reports.judge.compare.wording import difference_text, p_text, values_text
from reports.judge.fleet import between, heat_map
from reports.judge.fleet.fleet import FAST, INCONCLUSIVE, MISSING, NONE_OFF, OFF, OK, OUTLIERS, UNKNOWN
from reports.judge.fleet.fleet import MOST_NAME, counts_of, list_text, off_text
from reports.judge.fleet.nodes import MOST_NAMED
from reports.records.jsonl import Json
from reports.records.quantity import human, listing, percent, plural
from reports.page.svg import markup

_ON_PAGE = 60  # nodes of a list
_NODES = 20  # of each list in a terminal
_CALLS, _FIELDS = (6, 12), (12, 60)  # of a node, and of drift: in a terminal and on a page
_LACKS = 3
_VALUE = 90  # characters of a value of provenance
# Icon, and class of compare.css, by state of a node or of the fleet.
_LOOKS = {
    OFF: ("!", "regress"),
    FAST: ("+", "improve"),
    OK: ("=", "equivalent"),
    UNKNOWN: ("?", "inconclusive"),
    MISSING: ("×", "invalid"),
    OUTLIERS: ("!", "regress"),
    NONE_OFF: ("✓", "no-regression"),
    INCONCLUSIVE: ("?", "inconclusive"),
}
_MEANING = (
    (
        OFF,
        "Worse than all other nodes of its kind, by more than the least effect, and so far out that of the "
        "outliers at most %s are expected to be false; or with a wrong result in any case.",
    ),
    (
        FAST,
        "Better, by the same conditions. A cooler place, another clock, or a measurement error; no reason to "
        "leave it out.",
    ),
    (
        OK,
        "Every headline number was measured, none is an outlier, none may be worse than the others by more "
        "than %h, and no case failed. It does not say that the node is equal to the others: see at most.",
    ),
    (
        UNKNOWN,
        "It has no run or a case that failed, lacks a value that it should have, or may be worse than the "
        "others by more than %h in a number that spreads so far: it may be an outlier.",
    ),
    (MISSING, "It was expected, and has no run."),
)
_METHOD = (
    ("Value", "A node gives one value for each metric, the median of its runs."),
    (
        "z",
        "How far the value is from the median of all other nodes, in units of their spread, which is a "
        "quantile of the absolute deviations from that median: the MAD in a large fleet.",
    ),
    (
        "p",
        "How rare such a distance is, by a reference distribution for the uncertain spread of few nodes; "
        "adjusted over nodes by Benjamini and Hochberg, and within a node.",
    ),
    (
        "Family",
        "Numbers that move together are judged as one, too: their mean loss, each in units of its spread. "
        "Single numbers and families take half of the rate each.",
    ),
    (
        "Detectable",
        "Minimum detectable deviation, in one metric alone or in all of a family: 9 of 10 such nodes are "
        "called outliers.",
    ),
    ("At most", "The most by which a node that is not an outlier may be worse than the others, with 99.5 %."),
)

# ------------------------------------------------------------------ wording


def _z_text(z: float) -> str:
    return "%.1f" % z if abs(z) < 100 else "%.0f" % z if abs(z) < 1e4 else ">9999"


def _size_text(effect: Any, metric: Json) -> str:
    """A spread or a least effect: "2.0 %", or in the unit where the metric has no ratio."""
    if effect is None:
        return "none"
    return percent(effect) if metric["scale"] == RATIO else difference_text(effect, metric["unit"])


def _title_of(node: Json) -> str:
    """The name, and the host name where it is another."""
    host = node["hostname"]
    return node["name"][:MOST_NAME] + " (host %s)" % host[:MOST_NAME] * (host not in ("", node["name"]))


def _notes_of(node: Json) -> list[str]:
    """Failures, missing values, and other notes."""
    texts = [own["text"] for own in node["failed"]]
    texts += ["no value of %s: %s" % (own["label"], own["reason"]) for own in node["lacks"][:_LACKS]]
    more = len(node["lacks"]) - _LACKS
    return texts + ["and no value of %d more" % more] * (more > 0) + node["notes"]


def _badge(state: str) -> Cell:
    icon, look = _LOOKS[state]
    return Cell(state, icon=icon, look=look)


# ------------------------------------------------------------------ blocks


def _both(value: str, majority: str) -> list[str]:
    return [values_text([value], [majority], _VALUE), values_text([majority], [value], _VALUE)]


def _node(node: Json, key: str) -> Group:
    title = _title_of(node)
    calls = []
    for call in node[key + "_families"] + node[key]:  # a family has no value of its own
        values = [human(call[name], call["unit"]) if name in call else "" for name in ("value", "of_others")]
        deviation = off_text(call)[len(call["label"]) :].strip()
        name = Cell(call["label"], call.get("condition", ""))
        calls.append(row(name, deviation, *values, _z_text(call["z"]), p_text(call["p_adjusted"])))
    drift = []
    for one in node["drift"]:
        own, usual = _both(one["value"], one["majority"])
        drift.append(row(one["field"], own, "%s on %d" % (usual, one["nodes"]), css="alarm"))
    heads = columns("metric", "deviation") + columns("this node", "the others", "z", "adjusted p", css="")
    differs = [Column("field"), *columns("this node", "majority", css="word long")]
    parts: list[Any] = [
        Table("Metrics in which %s is far from the others" % title, heads, calls, most=_CALLS)
    ]
    if drift:
        name = "What else differs from the majority"
        parts.append(Table(name, differs, drift, "provenance", _FIELDS, titled=True))
    else:
        parts.append(Text("No recorded provenance differs from the majority.", only=PAGE))
    parts += [Text(note, "note lost") for note in _notes_of(node)]
    return Group("part", title, parts, css="node v-" + _LOOKS[node["state"]][1])


def _nodes(title: str, nodes: Sequence[Json], key: str, most: int) -> Group:
    more = len(nodes) - most
    rest = [Text("and %s" % plural(more, "more node"))] * (more > 0)
    return Group("section", title, [*(_node(node, key) for node in nodes[:most]), *rest], key)


def _map(fleet: Json, number: int) -> Group:
    kind = fleet["kinds"][number]
    if kind["reason"]:
        return Group("section", kind["name"], [Text("Not judged: %s." % kind["reason"], "summary")])
    labels, found, rest = heat_map.rows_of(fleet, number)
    rows = []
    for node, cells in found:
        icon, look = _LOOKS[node["state"]]
        rows.append(row(Cell(node["name"], icon=icon, title=node["state"]), *cells, css="v-" + look))
    strip: list[Any] = [
        Text(
            "Every node as a square in the order of names, coloured by its farthest metric; framed where it "
            "is an outlier.",
            "question",
        ),
        Drawing(markup(heat_map.strip(fleet, number)), "All nodes of %s" % kind["name"], "strip"),
    ]
    said = "Every node is like the others."
    if rows:
        said = (
            "A number is z, how many spreads a node is from the others: red worse, blue better, blank below "
            "2, · no value. Framed: called."
        ) + " %d nodes have no row, as they are like the others." % rest * bool(rest)
    name = "z of every node in every judged metric of %s" % kind["name"]
    table = Table(name, [Column("node"), *columns(*labels, css="")], rows, "map")
    title = "%s, %s" % (kind["name"], plural(kind["nodes"], "node"))
    return Group("section", title, [*strip * bool(rest), Text(said, "question"), table], only=PAGE)


def _between(network: Json | None, most: int) -> list[Any]:
    if not network:
        return []
    units = (("a_to_b", "byte/s"), ("b_to_a", "byte/s"), ("latency_s", "s"))
    rows = [
        row(
            link["a"],
            link["b"],
            *("" if link[name] is None else human(link[name], unit) for name, unit in units),
            "" if link["ratio"] is None else "%.2f" % link["ratio"],
        )
        for link in network["links"]
    ]
    heads = columns("node", "node") + columns("there", "back", "latency", "of the usual rate", css="")
    slow = between.slow_texts(network)[MOST_NAMED:most]  # the first are in the answer
    return [
        Text("%s.%s" % (between.summary(network), "" if rows else " No link is slow."), "summary"),
        Items([text[:1].upper() + text[1:] + "." for text in slow]),
        Table("Links that are slow or late", heads, rows, most=(_NODES, most)),
    ]


def _unknown(fleet: Json, most: int) -> list[Any]:
    missing = [node["name"] for node in fleet["nodes"] if node["state"] == MISSING]
    said = Text("Missing, %s: %s" % (plural(len(missing), "node"), list_text(missing)), "summary")
    unknown = [
        (node, "; ".join(dict.fromkeys(filter(None, (node["reason"], *_notes_of(node))))))
        for node in fleet["nodes"]
        if node["state"] == UNKNOWN
    ]
    rows = [row(_title_of(node), why) for node, why in unknown if why]  # what is hidden is said of all
    heads = [Column("node"), Column("why", "word long")]
    table = Table("Nodes that are not, or not fully, known", heads, rows, most=(_NODES, most))
    return [said] * bool(missing) + [table] * bool(rows)


def _families(kind: Json) -> list[Any]:
    rows = [
        row(
            "%d %s" % (len(one["metrics"]), one["name"]),
            *("none" if one[key] is None else percent(one[key]) for key in ("spread", "finds")),
            "%d" % one["nodes"],
        )
        for one in kind["families"]
    ]
    heads = [Column("family"), *columns("spread", "detectable", "nodes", css="")]
    table = Table("Numbers that move together", heads, rows, "families", titled=True)
    return [table] * bool(rows)


def _usual(kind: Json) -> Group:
    """Provenance and numbers of the nodes of a kind."""
    rows = []
    for one in kind["drift"]:
        for other in one["others"]:
            own, usual = _both(other["value"], one["majority"])
            rows.append(row(one["field"], own, list_text(other["nodes"]), "%s on %d" % (usual, one["nodes"])))
    for one in kind["split"]:
        values = ["%s on %d" % (values_text([own["value"]], (), 40), own["nodes"]) for own in one["values"]]
        rows.append(row(one["field"], "no majority", listing(values, 4), ""))
    heads = [Column("field"), *columns("differs", "on", "majority", css="word long")]
    name = "Provenance that differs from the majority"
    drift: Any = Text("No recorded provenance differs.", "")
    if rows:
        drift = Table(name, heads, rows, "provenance", _FIELDS, titled=True)
    numbers = [
        row(
            Cell(m["label"], m["condition"]),
            human(m["median"], m["unit"]),
            *("" if m["reason"] else _size_text(m[key], m) for key in ("spread", "finds", "bound")),
            "%d" % m["nodes"],
            notes=["not judged: " + m["reason"]] * bool(m["reason"]),
        )
        for m in kind["metrics"]
    ]
    heads = [Column("metric"), *columns("median", "spread", "detectable", "at most", "nodes", css="")]
    table = Table("Headline numbers of %s" % kind["name"], heads, numbers)
    fold = Group("fold", plural(len(numbers), "headline number"), [table])
    parts = [drift, *_families(kind), *[fold] * bool(numbers)]
    return Group("section", "What is usual: %s" % kind["name"], parts)


def _reading(settings: Json) -> list[Any]:
    rate, least = percent(settings["rate"]), percent(settings["least_effect"])
    hidden = percent(most_hidden(settings["least_effect"]))
    meaning = [(_badge(state), text.replace("%s", rate).replace("%h", hidden)) for state, text in _MEANING]
    asked = (
        ("Least effect", least),
        ("Rate", rate),
        ("Only", listing(settings["only"], 20) or "every headline number"),
        ("Noise", settings["noise"] or "no file of earlier comparisons"),
        ("Expected", "not stated" if settings["expected"] is None else plural(settings["expected"], "node")),
    )
    return [
        Group("columns", "", [terms(meaning), terms((*_METHOD, *asked))]),
        Text(
            "z: how far a node is from the median of all others, in units of their spread. p is adjusted "
            "over nodes and metrics (rate %s). Detectable: the deviation of a single metric with which 9 of "
            "10 nodes are called outliers. At most: by how much a node that is not an outlier may be worse. "
            "Least effect "
            "that matters: %s." % (rate, least),
            only=TERMINAL,
        ),
    ]


def _page(fleet: Json, most: int) -> Page:
    known = plain_texts(fleet)
    outcome, nodes, kinds = known["outcome"], known["nodes"], known["kinds"]
    counts = [(_badge(state), number) for state, number in counts_of(known)]
    parts = [
        *[Text("--exclude=" + known["exclude"], "exclude", "Leave out:")] * bool(known["exclude"]),
        *[Text(known["unknown"], "exclude", "Not fully known:")] * bool(known["unknown"]),
        Counts(plural(len(nodes), "node"), counts),
        *(_map(known, number) for number in range(len(kinds))),
        _nodes("Outliers", [node for node in nodes if node["state"] == OFF], "off", most),
        _nodes("Unusually fast", [n for n in nodes if n["fast"] or n["fast_families"]], "fast", most),
        Group("section", "Between nodes", _between(known["between"], most), "between"),
        Group("section", "Not, or not fully, known", _unknown(known, most), "unknown"),
        *map(_usual, kinds),
        Group("section", "How to read this", _reading(known["settings"]), "reading"),
    ]
    about = ["%s, %s" % (kind["name"], plural(kind["nodes"], "node")) for kind in kinds]
    said, footer = [outcome["sentence"]], "gpusig.fleet %s. This file needs no network." % known["version"]
    css, badge = "compare fleet", _badge(outcome["verdict"])
    return Page("fleet", css, about, _question(known), said, outcome["reasons"], parts, footer, badge)


def _question(known: Json) -> str:
    return "%s: which node is an outlier?" % names_of(known["name"])[0]


def table(fleet: Json) -> str:
    return terminal(_page(fleet, _NODES))


def names(fleet: Json) -> str:
    """The outliers, one a line, for scripts."""
    return "".join(plain(node["name"]) + "\n" for node in fleet["nodes"] if node["state"] == OFF)


def option(fleet: Json) -> str:
    """The option for Slurm; nothing where there is no outlier."""
    return "--exclude=%s\n" % fleet["exclude"] if fleet["exclude"] else ""


def render(fleet: Json, line: str = "") -> str:
    """Raises template.MissingDependency where jinja2 is not installed."""
    running = "gpusig · " + _question(plain_texts(fleet))
    return html(_page(fleet, _ON_PAGE), ("compare.css", "fleet.css"), running, line)
