# SPDX-License-Identifier: BSD-3-Clause
"""A fleet as one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from reports import report
from reports.compare.table import p_text, values_text
from reports.fleet import between, heat_map
from reports.fleet.fleet import FAST, INCONCLUSIVE, MISSING, NONE_OFF, OFF, OK, OUTLIERS, UNKNOWN, counts_of, off_text
from reports.fleet.table import lacks_texts, list_text, plain_texts, size_text, title_of, z_text
from reports.jsonl import Json
from reports.quantity import human, listing, percent, plural
from reports.svg import markup

# The most rows of the map, and nodes of each list. The first pair that keeps the limit is taken.
_LEVELS = ((heat_map.MAX_ROWS, 60), (60, 40), (30, 20), (0, 10))
_CALLS, _FIELDS, _VALUE = 12, 60, 90
# As compare.css has colours for verdicts.
_LOOKS = {OFF: "regress", FAST: "improve", OK: "equivalent", UNKNOWN: "inconclusive", MISSING: "invalid",
          OUTLIERS: "regress", NONE_OFF: "no-regression", INCONCLUSIVE: "inconclusive"}
_ICONS = {OFF: "!", FAST: "+", OK: "=", UNKNOWN: "?", MISSING: "×", OUTLIERS: "!", NONE_OFF: "✓", INCONCLUSIVE: "?"}
_MEANING = (
    (OFF, "Worse than all other nodes of its kind, by more than the least effect, and so far out that of the nodes called off at "
          "most %s are expected to be false."),
    (FAST, "Better, and both hold. A cooler place, another clock, or an error of measuring; no reason to leave it out."),
    (OK, "Every headline number was measured, and none is off. It does not say that the node is equal to the others: see finds."),
    (UNKNOWN, "It has no run, or lacks a value that most nodes have, so it may be off in what was not measured."),
    (MISSING, "It was expected, and there is nothing of it."))
_METHOD = (
    ("Value", "A node gives one value for each metric, the median of its runs."),
    ("z", "How far the value is from the median of all other nodes, in units of their spread, which is a quantile of the "
          "absolute deviations from that median: the MAD in a large fleet."),
    ("p", "How rare such a distance is, by a reference that knows how uncertain the spread of few nodes is; adjusted over nodes "
          "by Benjamini and Hochberg, and within a node."),
    ("Finds", "The least deviation of one metric alone that 9 of 10 such nodes are called off for."))


def _calls(node: Json, key: str) -> List[Dict[str, str]]:
    return [{"label": call["label"], "condition": call["condition"], "value": human(call["value"], call["unit"]),
             "others": human(call["of_others"], call["unit"]), "change": off_text(call)[len(call["label"]):].strip(),
             "z": z_text(call["z"]), "p": p_text(call["p_adjusted"])} for call in node[key][:_CALLS]]


def _differs(node: Json) -> List[Tuple[str, str, str]]:
    return [(own["field"], values_text([own["value"]], [own["majority"]], _VALUE), "%s on %d" % (
        values_text([own["majority"]], [own["value"]], _VALUE), own["nodes"])) for own in node["drift"][:_FIELDS]]


def _node(node: Json, key: str) -> Dict[str, Any]:
    return {"title": title_of(node), "state": node["state"], "calls": _calls(node, key), "more": len(node[key]) - _CALLS,
            "differs": _differs(node), "notes": [report.hold(text) for text in (*lacks_texts(node), *node["notes"])]}


def _known(nodes: Sequence[Json], most: int) -> Tuple[List[Tuple[str, str]], int]:
    rows = [(title_of(node), report.hold("; ".join(dict.fromkeys(
        text for text in (node["reason"], *node["notes"], *lacks_texts(node)) if text)))) for node in nodes[:most]]
    return rows, max(0, len(nodes) - most)


def _drift(kind: Json) -> List[Tuple[str, str, str, str]]:
    rows = [(one["field"], values_text([other["value"]], [one["majority"]], _VALUE), list_text(other["nodes"]),
             "%s on %d" % (values_text([one["majority"]], [other["value"]], _VALUE), one["nodes"]))
            for one in kind["drift"] for other in one["others"]]
    rows += [(one["field"], "no majority", listing(["%s on %d" % (values_text([own["value"]], (), 40), own["nodes"])
                                                    for own in one["values"]], 4), "") for one in kind["split"]]
    return rows[:_FIELDS]


def _kind(fleet: Json, number: int, most: int) -> Dict[str, Any]:
    kind = fleet["kinds"][number]
    labels, rows, rest = ([], [], 0) if kind["reason"] else heat_map.rows_of(fleet, number, most)
    metrics = [(m["label"], m["condition"], human(m["median"], m["unit"]), size_text(m["spread"], m), size_text(m["finds"], m),
                m["nodes"], m["reason"]) for m in kind["metrics"]]
    return {"name": kind["name"], "count": plural(kind["nodes"], "node"), "reason": kind["reason"], "labels": labels,
            "rows": rows, "rest": rest, "strip": markup(heat_map.strip(fleet, number)) if rest else "",
            "metrics": metrics, "drift": _drift(kind)}


def _context(fleet: Json, rows: int, most: int) -> Dict[str, Any]:
    known = plain_texts(fleet)
    outcome, nodes, settings = known["outcome"], known["nodes"], known["settings"]
    off = [_node(node, "off") for node in nodes if node["state"] == OFF]
    fast = [_node(node, "fast") for node in nodes if node["fast"]]
    unknown, more_unknown = _known([node for node in nodes if node["state"] == UNKNOWN], most)
    word = outcome["verdict"]
    return {"title": "gpusig fleet: " + _question(known), "question": _question(known), "looks": _LOOKS, "icons": _ICONS,
            "word": word, "sentence": report.hold(outcome["sentence"]),
            "reasons": [report.hold(reason) for reason in outcome["reasons"]], "counts": counts_of(known),
            "exclude": known["exclude"], "count": plural(len(nodes), "node"),
            "kinds": [_kind(known, number, rows) for number in range(len(known["kinds"]))],
            "off": off[:most], "more_off": max(0, len(off) - most), "fast": fast[:most], "more_fast": max(0, len(fast) - most),
            "between": _between(known["between"], most), "unknown": unknown, "more_unknown": more_unknown,
            "missing": list_text([node["name"] for node in nodes if node["state"] == MISSING]),
            "meaning": [(state, text % percent(settings["rate"]) if "%s" in text else text) for state, text in _MEANING],
            "method": _METHOD, "settings": [
                ("Least effect", percent(settings["least_effect"])), ("Rate", percent(settings["rate"])),
                ("Only", listing(settings["only"], 20) or "every headline number"),
                ("Noise", settings["noise"] or "no file of earlier comparisons"),
                ("Expected", "not stated" if settings["expected"] is None else plural(settings["expected"], "node"))],
            "version": known["version"]}


def _between(network: Optional[Json], most: int) -> Dict[str, Any]:
    if not network:
        return {}
    links = [(link["a"], link["b"], *(human(link[name], unit) if link[name] is not None else "" for name, unit in (
        ("a_to_b", "byte/s"), ("b_to_a", "byte/s"), ("latency_s", "s"))),
        "" if link["ratio"] is None else "%.2f" % link["ratio"]) for link in network["links"]]
    texts = [text[:1].upper() + text[1:] for text in between.slow_texts(network)[:most]]
    return {"summary": between.summary(network), "slow": [report.hold(text) for text in texts], "links": links[:most],
            "more": max(0, len(links) - most)}


def _question(known: Json) -> str:
    return "%s: which node is off?" % known["name"]


def render(fleet: Json) -> str:
    """At most report.LIMIT bytes; of a large fleet with less detail. Raises report.MissingDependency where jinja2 is not
    installed."""
    template, page = report.page_template("fleet.html"), ""
    style, style_hash = report.style_of("report.css", "compare.css", "fleet.css",
                                        running="gpusig · " + _question(plain_texts(fleet)))
    for level in _LEVELS:
        page = template.render(_context(fleet, *level), style=style, style_hash=style_hash) + "\n"
        if len(page.encode("utf-8")) <= report.LIMIT:
            break
    return page
