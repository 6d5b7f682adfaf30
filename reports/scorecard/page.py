# SPDX-License-Identifier: BSD-3-Clause
"""A scorecard as one HTML file that needs no network, no script and no other file, fit to be printed and attached to a tender."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from reports import report
from reports.compare.numbers import DIFFERENCE
from reports.jsonl import Json
from reports.quantity import human, listing, percent, plural
from reports.scorecard.drawing import draw, reach_of
from reports.scorecard.metrics import BEST, DESCRIBED
from reports.scorecard.rules import NO, UNKNOWN, YES
from reports.scorecard.table import cost_text, money_text, ratio_text, seconds_text, shown, value_text
from reports.scorecard.workload import NONE
from reports.svg import markup

_LEVELS = ((True, 400), (True, 100), (False, 40))  # whether ratios are drawn, and how many numbers are listed as left out
_ARROWS = {"higher": "\u00a0↑", "lower": "\u00a0↓"}
_ICONS = {YES: "✓", NO: "!", UNKNOWN: "?"}
_RUNS, _FIELDS = 30, 40  # of a machine
_METHOD = (
    ("Same number", "Machines are compared in a number only where it is of the same program, point and size, and of as many "
                    "devices where those take part. Footprints of memory follow from each machine's own caches."),
    ("Value", "Of one run, with the 95 % interval of what another run would give, from its second tries; of several runs their "
              "mean, with Student's interval."),
    ("Ratio", "How many times as good as the reference, whether higher or lower is better: 1 is equal, below 1 is worse. Where a "
              "value may be 0 or less it is a difference, below 0 is worse. The interval is Welch's, 95 %."),
    ("Best", "No other machine is better. Better: the whole interval lies beyond the least effect, and Welch's p, adjusted by "
             "Benjamini and Hochberg over all pairs and numbers, is below the rate."),
    ("Tie", "Equal: every interval among the best lies within the least effect. Not told apart: more runs may tell."),
    ("Mix", "GEMMs and their communication are predicted from each machine's curves, copies and messages read from them, memory "
            "and launches from headline numbers. The errors within a machine are taken to be alike, those of two machines "
            "independent."),
    ("Unbeaten", "One machine beats another if it is better in one of speed, price and power, and worse in none of those known "
                 "of both."))


def _short_verdict(row: Json, name: str) -> Tuple[str, str]:
    """Class and word of a machine in a row."""
    if row["verdict"] in (DESCRIBED, NONE):
        return "none", ""
    if row["verdict"] == BEST:
        return ("best", "best") if name in row["best"] else ("behind", "")
    return ("tie", row["verdict"]) if name in row["best"] else ("behind", "")


def _ratio_cells(row: Json, ratio: Optional[Json], name: str, reach: float, drawn: bool, text: str) -> Dict[str, Any]:
    css, word = _short_verdict(row, name)
    graph = ""
    if ratio is not None and drawn:
        graph = markup(draw(ratio, row.get("scale", ""), reach, "%s: %s" % (name, text), "v-" + css))
    return {"css": css, "word": word, "graph": graph, "ratio": text, "name": name}


def _metric(row: Json, drawn: bool) -> Dict[str, Any]:
    reach, rows = reach_of(list(row["ratios"].values()), row["scale"]), []
    for name, held in row["machines"].items():
        ratio = row["ratios"][name]
        same = "0" if row["scale"] == DIFFERENCE else "1"
        text = same if name == row["reference"] else ratio_text(ratio, row["scale"], row["unit"])
        rows.append(dict(_ratio_cells(row, ratio, name, reach, drawn, text), value=value_text(held, row["unit"]),
                         note=held["reason"]))
    return {"label": row["label"] + _ARROWS.get(row["better"], ""), "name": row["name"], "condition": row["condition"],
            "rows": rows, "lost": ["%s: %s" % pair for pair in row["not_compared"].items()]}


def _groups(card: Json, drawn: bool) -> List[Tuple[str, List[Dict[str, Any]]]]:
    found: Dict[str, List[Dict[str, Any]]] = {}
    for row in card["metrics"]:
        found.setdefault(row["group"], []).append(_metric(row, drawn))
    return list(found.items())


def _line(line: Json, label: str, drawn: bool) -> Dict[str, Any]:
    reach, rows = reach_of([own["speed"] for own in line["machines"].values()], ""), []
    for name, own in line["machines"].items():
        text = "–" if own["speed"] is None else "1" if name == line["reference"] else ratio_text(own["speed"], "", "")
        rows.append(dict(_ratio_cells(line, own["speed"], name, reach, drawn, text), value=seconds_text(own),
                         note="; ".join([own["reason"]] * bool(own["reason"]) + own["notes"])))
    return {"label": label, "name": "", "condition": "", "rows": rows, "lost": []}


def _mix(mix: Optional[Json], drawn: bool) -> List[Tuple[str, List[Dict[str, Any]]]]:
    if mix is None:
        return []
    totals = [_line(mix["total"], "All %s" % plural(len(mix["items"]), "item"), drawn)]
    if mix["common"] is not None:
        totals.append(_line(mix["common"], "The %d that every machine answers" % mix["common_items"], drawn))
    return [("Total", totals), ("Items", [_line(line, line["text"], drawn) for line in mix["items"]])]


def _prices(prices: Optional[Json]) -> List[Dict[str, Any]]:
    return [] if prices is None else [
        {"name": name, "price": money_text(own), "power": human(own["power"], "W"), "source": own["power_source"],
         "time": human(own["seconds"], "s"), "cost": cost_text(own), "energy": human(own["energy"], "J"),
         "beaten": listing(own["beaten_by"])} for name, own in prices["machines"].items()]


def _rules(card: Json, names: List[str]) -> List[Dict[str, Any]]:
    return [{"rule": entry["rule"], "cells": [dict(entry["machines"][name], icon=_ICONS[entry["machines"][name]["holds"]])
                                              for name in names]} for entry in card["rules"]]


def _machine(machine: Json) -> Dict[str, Any]:
    fields = list(machine["provenance"].items())
    return {"name": machine["name"], "device": machine["device"], "what": report.hold(machine["what"]),
            "runs": [(run["name"], run["started"].replace("T", " ") or "unknown") for run in machine["runs"][:_RUNS]],
            "more": max(0, len(machine["runs"]) - _RUNS), "count": plural(len(machine["runs"]), "run"),
            "left_out": machine["left_out"], "versions": listing(machine["versions"]), "fields": fields[:_FIELDS]}


def _left_out(card: Json, most: int) -> Tuple[List[Dict[str, str]], int]:
    def held(name: str, own: Json, unit: str) -> str:
        return "%s %s%s" % (name, human(own["value"], unit), own["condition"] and " (%s)" % own["condition"])

    rows = [{"label": row["label"], "group": row["group"], "why": row["why"],
             "held": "; ".join(held(name, own, row["unit"]) for name, own in row["machines"].items() if own["value"] is not None)}
            for row in card["not_compared"]]
    return rows[:most], max(0, len(rows) - most)


def _context(card: Json, drawn: bool, most: int) -> Dict[str, Any]:
    names = [machine["name"] for machine in card["machines"]]
    rows, hidden = _left_out(card, most)
    settings = card["settings"]
    method = [*_METHOD, ("Least effect", percent(settings["least_effect"])),
              ("Rate", "%s of the claims that a machine is better may be false" % percent(settings["rate"])),
              ("Reference", settings["base"] or "the best value of each number")]
    return {"title": "gpusig scorecard: " + listing(names, 8), "question": "Which machine is better: %s?" % (
                " or ".join([", ".join(names[:-1]), names[-1]])), "names": names,
            "sentences": [report.hold(text) for text in card["sentences"]], "notes": card["notes"],
            "counts": card["counts"] if card["metrics"] else [], "mix": _mix(card["workload"], drawn),
            "mix_file": card["workload"]["file"] if card["workload"] else "", "prices": _prices(card["price"]),
            "price": card["price"], "groups": _groups(card, drawn), "left_out": rows, "hidden": hidden,
            "rules": _rules(card, names), "statements": card["statements"], "machines": [_machine(m) for m in card["machines"]],
            "method": method, "icons": _ICONS, "version": card["version"]}


def _running(card: Json) -> str:
    """What stands on every printed page."""
    last = max((run["started"] for machine in card["machines"] for run in machine["runs"]), default="")
    return " · ".join(t for t in ("gpusig scorecard", listing([m["name"] for m in card["machines"]], 4), last[:10]) if t)


def render(card: Json) -> str:
    """At most report.LIMIT bytes, with less detail where there is much. Raises report.MissingDependency where jinja2 is not
    installed."""
    template, page, known = report.page_template("scorecard.html"), "", shown(card)
    style, style_hash = report.style_of("report.css", "compare.css", "scorecard.css", running=_running(known))
    for level in _LEVELS:
        page = template.render(_context(known, *level), style=style, style_hash=style_hash) + "\n"
        if len(page.encode("utf-8")) <= report.LIMIT:
            break
    return page
