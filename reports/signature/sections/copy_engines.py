# SPDX-License-Identifier: BSD-3-Clause
"""micro/copy_engines: how many copy engines answer when streams copy at once, and who shares them."""

from __future__ import annotations

from typing import List, Optional

from reports.page.charts import LineChart
from reports.records.curves import interval_of, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import digits, listing, percent, way
from reports.records.records import Case, Derived
from reports.signature.section import Figure, Panels, Section, SectionSpec, table
from reports.signature.sections import generic

WAYS = {
    "up": way("up"),
    "down": way("down"),
    "both": "both ways at once",
    "local": way("local"),
    "peer": "to a peer (P2P)",
    "peers": "to several peers",
}
FORMULA = (
    "Engines that answer: 1 + the numbers K of bulk copies, each in a stream of its own, that a short copy "
    "in another stream does not wait for. In flight: K x seconds of the first of K equal copies to end / of "
    "the last; lower where K is no multiple of the engines."
)


def _value(case: Case, name: str, variant: Optional[str]) -> Optional[Derived]:
    found = [d for d in case.derived if d.name == name and (d.variant or None) == variant]
    return found[0] if found and found[0].value is not None and not why_invalid(case, found[0]) else None


def _entry(case: Case) -> Json:
    engines = _value(case, "engines_that_answer", None)
    independent = _value(case, "independent_streams", "others")
    entry: Json = {
        "direction": str(case.axes.get("direction", "")),
        "size": case.axes.get("size"),
        "stated": case.number("engines_stated"),
        "sticky": str(case.facts.get("sticky", "")),
        "at_least": "engines_limit" in case.facts,
        "engines": interval_of(engines) if engines else None,
        "independent": interval_of(independent) if independent else None,
    }
    return entry


def results(section: Section) -> Json:
    return {"formula": FORMULA, "ways": [_entry(c) for c in section.cases if c.derived]}


def _count(entry: Json) -> str:
    return ("at least " if entry["at_least"] else "") + digits(entry["engines"]["value"])


def summary(section: Section) -> str:
    ways = [e for e in section.results["ways"] if e["engines"]]
    if not ways:
        return generic.nothing(section)
    counts = ["%s %s" % (_count(e), WAYS.get(e["direction"], e["direction"])) for e in ways]
    text = "Copy engines that answer when streams copy at once: %s" % listing(counts, 6)
    if ways[0]["stated"]:
        text += "; the driver states %d" % ways[0]["stated"]
    shared = [
        "%s %s" % (percent(1 - e["independent"]["value"]), WAYS.get(e["direction"], e["direction"]))
        for e in ways
        if e["independent"]
        and e["independent"]["value"] < 1
        and e["engines"]["value"] > 1
        and e["sticky"] not in ("", "no", "not known")
    ]
    if shared:
        text += ". Streams share engines although others are free; with the bulk copy of one stream, "
        text += "others wait: "
        text += listing(shared, 6)
    return text + "."


def _chart(section: Section, name: str, title: str) -> LineChart:
    colours = generic.colours_of(list(WAYS))
    series = []
    for curve in section.curves_of(name):
        direction = str(curve.fixed.get("direction", ""))
        series.append(generic.series_of(curve, WAYS.get(direction, direction), colours.get(direction, 0)))
    return LineChart(title, "streams that copy at once", "", "", series, x_log=False)


def figures(section: Section) -> List[Figure]:
    charts = [
        _chart(section, "rate_share", "Rate of all streams / of one"),
        _chart(section, "in_flight", "Copies in flight"),
    ]
    charts = [chart for chart in charts if chart.xs()]
    rows = [
        {
            "copies": WAYS.get(e["direction"], e["direction"]),
            "engines that answer": _count(e) if e["engines"] else "–",
            "stated": "%d" % e["stated"] if e["stated"] else "–",
            "streams keep engines": e["sticky"] or "–",
            "independent streams": percent(e["independent"]["value"]) if e["independent"] else "–",
        }
        for e in section.results["ways"]
    ]
    caption = "Independent streams: those that the bulk copy of one stream does not hold up."
    return ([Panels(charts, FORMULA)] if charts else []) + table(rows, caption, 1)


SPEC = SectionSpec("Copy engines", results, summary, figures)
