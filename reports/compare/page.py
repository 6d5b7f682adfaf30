# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from reports import report
from reports.compare.dots import axis_of, draw_interval, draw_runs
from reports.compare.table import (DIFFERS, SIDES, blocks, change_text, control_text, counts_of, finds_text, label_of,
                                   least_effects, medians, missing_of, p_text, plain, present, repeats_text, shown, values_text,
                                   verdict_text)
from reports.compare.verdict import EQUIVALENT, IMPROVE, INCONCLUSIVE, INVALID, REGRESS
from reports.jsonl import Json
from reports.quantity import listing, percent, plural
from reports.svg import markup

# The most rows of others, and whether every run is drawn and has a tooltip. The first that keeps the limit is taken.
_LEVELS = ((200, True, True), (200, True, False), (50, True, False), (0, False, False))
_RUNS = 100  # of a side that are listed
_FIELDS, _VALUE = 100, 90  # of provenance: rows, and characters of a value
_CONTROLS = 20
_ARROWS = {"higher": "\u00a0↑", "lower": "\u00a0↓"}
_NAME = 60  # characters of a run's name in a tooltip
ICONS = {REGRESS: "!", IMPROVE: "+", EQUIVALENT: "=", INCONCLUSIVE: "?", INVALID: "×", "no regression": "✓"}
_MEANING = (
    (REGRESS, "Worse, and both hold: the adjusted p is below the rate, and the whole interval is beyond the least effect that "
              "matters."),
    (IMPROVE, "Better, and both hold."),
    (EQUIVALENT, "The whole interval is within the least effect that matters. Only this verdict says that nothing moved."),
    (INCONCLUSIVE, "These runs decide neither. It does not say that nothing moved: more runs may find a change."),
    (INVALID, "It cannot be compared: too few runs have a value, or the values have no ratio. The reason is below the row."))
_METHOD = (
    ("Value", "Each run gives one value for each metric, so the number of runs is the number of observations."),
    ("Change", "After / before by the Hodges-Lehmann estimate: the median of the ratios of all pairs of runs, on logarithms. "
               "Where a metric has no ratio it is after - before, in the metric's unit."),
    ("Interval", "The %s interval of that estimate, from the exact distribution of the Mann-Whitney statistic; no distribution "
                 "of the values is assumed. An arrow or \"unbounded\": so few runs give no limit."),
    ("p", "Exact two-sided Mann-Whitney test, adjusted by Benjamini and Hochberg over the judged metrics, so that of the changes "
          "reported at most %s are expected to be false."),
    ("Finds", "The least effect that so many runs would find in 90 % of such comparisons. \"none\": so few runs find no effect, "
              "however large."))


# ------------------------------------------------------------------ judged metrics


def _lost(row: Json, names: Tuple[List[str], List[str]]) -> List[str]:
    """Which runs have no value, and why."""
    said = []
    for side, runs in zip(SIDES, names):
        for reason, places in missing_of(row[side]).items():
            named = [runs[i] for i in places if i < len(runs)]
            listed = "all runs" if len(places) == len(row[side]["values"]) else listing(named)
            said.append("No value %s of %s: %s" % (side, listed or plural(len(places), "run"), reason))
    return said


def _row(row: Json, names: Tuple[List[str], List[str]], drawn: bool, titles: bool) -> Dict[str, Any]:
    before, after, unit = medians(row)
    change, _, between = change_text(row).partition(" (")
    axis = axis_of(row) if drawn else None
    repeats = repeats_text(row)
    counts = ["%d of %s" % (present(row[side]), plural(len(row[side]["values"]), "value")) if missing_of(row[side]) else ""
              for side in SIDES]
    return {"label": label_of(row), "name": row["name"], "condition": row["condition"], "arrow": _ARROWS.get(row["better"], ""),
            "before": before, "after": after, "unit": unit, "counts": counts,
            "change": change, "between": "(" + between if between else "",
            "p": p_text(row["p_adjusted"]), "raw_p": p_text(row["p"]), "finds": finds_text(row),
            "runs": markup(draw_runs(row, axis, names, titles)) if axis else "", "undrawn": "no value" if drawn else "",
            "interval": markup(draw_interval(row, axis)) if axis else "",
            "verdict": row["verdict"], "within": verdict_text(row)[len(row["verdict"]):], "icon": ICONS.get(row["verdict"], ""),
            "notes": [report.hold(note) for note in (row["reason"], repeats[:1].upper() + repeats[1:]) if note],
            "lost": _lost(row, names)}


# ------------------------------------------------------------------ what else differs, and how it was compared


def _provenance(provenance: Json) -> Tuple[List[Dict[str, Any]], int]:
    rows = []
    for kind, said in DIFFERS.items():
        for entry in provenance[kind]:
            values = {side: entry.get(side) for side in SIDES}
            if "side" in entry:
                values[entry["side"]] = entry["values"]
            cells = [values_text(mine, others or (), _VALUE) if mine is not None else ""
                     for mine, others in ((values["before"], values["after"]), (values["after"], values["before"]))]
            rows.append({"field": entry["field"], "cells": cells, "said": said, "alarm": kind != "expected"})
    return rows[:_FIELDS], max(0, len(rows) - _FIELDS)


def _settings(known: Json) -> List[Tuple[str, str]]:
    settings = known["settings"]
    return [("Least effect", least_effects(known["metrics"]) or percent(settings["least_effect"])),
            ("Rate", "%s of the reported changes may be false" % percent(settings["rate"])),
            ("Interval", percent(settings["confidence"])),
            ("Factor", listing(settings["factor"], 20) or "none: nothing was declared to differ"),
            ("Control", listing(settings["control"], 20) or "none"),
            ("Only", listing(settings["only"], 20) or "every headline number"),
            ("Noise", settings["noise"] or "no file of earlier comparisons"),
            ("Counted", "nodes, each with the median of its runs" if settings["nodes"] else "runs")]


def _side(known: Json, side: str) -> Dict[str, Any]:
    """Every run with how many judged metrics it has a value of."""
    about = known[side]
    held = [sum(i < len(row[side]["values"]) and row[side]["values"][i] is not None for row in known["metrics"])
            for i in range(len(about["runs"][:_RUNS]))]
    rows = [(run["name"], run["started"].replace("T", " ") or "unknown", "%d of %d" % (count, len(known["metrics"])))
            for run, count in zip(about["runs"], held)]
    where = ", ".join(t for t in (about["machine"], about["device"], about["source"]) if t)
    return {"title": "%s: %s" % (side.capitalize(), about["name"]), "where": where, "rows": rows,
            "hidden": max(0, len(about["runs"]) - _RUNS), "runs": plural(len(about["runs"]), "run")}


def _question(known: Json) -> str:
    before, after = known["before"], known["after"]
    machine = before["machine"] + ": has" if before["machine"] and before["machine"] == after["machine"] else "Has"
    return "%s anything changed from %s to %s?" % (machine, before["name"], after["name"])


def _context(comparison: Json, others: int, drawn: bool, titles: bool) -> Dict[str, Any]:
    known, hidden = shown(comparison, others)
    names = tuple([plain(run["name"], _NAME) for run in known[side]["runs"]] for side in SIDES)
    provenance, more_fields = _provenance(known["provenance"])
    control, settings, outcome = known["control"], known["settings"], known["outcome"]
    word, _, text = control_text(control).partition(":")
    method = [(term, text % percent({"Interval": settings["confidence"], "p": settings["rate"]}[term]) if "%s" in text else text)
              for term, text in _METHOD]
    return {"title": "gpusig compare: " + _question(known), "question": _question(known), "outcome": outcome,
            "sentence": report.hold(outcome["sentence"]), "reasons": [report.hold(reason) for reason in outcome["reasons"]],
            "control_word": word.rstrip("."), "control_text": report.hold(text.strip()),
            "word": "" if outcome["sentence"].lower().startswith(outcome["verdict"]) else outcome["verdict"],
            "icon": ICONS[outcome["verdict"]], "icons": ICONS, "counts": counts_of(known["metrics"]),
            "judged": len(known["metrics"]),
            "provenance": provenance, "more_fields": more_fields, "control": control,
            "controls": [(label_of(row), change_text(row)) for row in control["metrics"][:_CONTROLS]],
            "more_controls": max(0, len(control["metrics"]) - _CONTROLS),
            "blocks": [(title, [_row(row, names, drawn, titles) for row in rows]) for title, rows in blocks(known["metrics"])],
            "undrawn": not drawn, "others": [_row(row, names, False, False) for row in known["others"]], "hidden": hidden,
            "all_others": known["others_count"], "settings": _settings(known), "method": method, "meaning": _MEANING,
            "sides": [_side(known, side) for side in SIDES], "version": known["version"]}


def _running(known: Json) -> str:
    """What stands on every printed page: both sides, and when the last run began."""
    last = max((run["started"] for side in SIDES for run in known[side]["runs"]), default="")
    return " · ".join(t for t in ("gpusig", _question(known), last[:10]) if t)


def render(comparison: Json) -> str:
    """At most report.LIMIT bytes for some ten runs a side; with less detail where there are more. Raises report.MissingDependency
    where jinja2 is not installed."""
    template, page = report.page_template("compare.html"), ""
    style, style_hash = report.style_of("report.css", "compare.css", running=_running(shown(comparison, 0)[0]))
    for level in _LEVELS:
        page = template.render(_context(comparison, *level), style=style, style_hash=style_hash) + "\n"
        if len(page.encode("utf-8")) <= report.LIMIT:
            break
    return page
