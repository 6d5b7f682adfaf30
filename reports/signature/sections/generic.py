# SPDX-License-Identifier: BSD-3-Clause
"""Any program: its curves in small panels, its single values as bars, and the extremes in one sentence."""

from __future__ import annotations

from typing import Dict, List, Mapping, Sequence

from reports.records import cliffs
from reports.page.charts import Cell, LineChart, Mark, Series, share_ranges
from reports.records.curves import Curve, Point, by, fixed_text, samples_behind, varying, why_invalid
from reports.records.jsonl import Json, is_number
from reports.records.quantity import digits, human, in_brackets, plural, spell, way
from reports.records.records import Case, Derived
from reports.signature.section import Bar, Bars, Figure, Panels, Section, SectionSpec

MAX_PANELS = 12
MAX_BARS = 40


def mark_of(point: Point) -> Mark:
    why = point.why_invalid or point.grade_reason
    return Mark(point.x, point.value, point.ci_low, point.ci_high, point.valid, why, bool(point.grade))


def cell_of(case: Case, derived: Derived, before: str = "", after: str = "") -> Cell:
    """A value of a heat map; its tooltip has the interval and what is wrong, between these texts."""
    why = why_invalid(case, derived)
    remark = why or derived.grade_reason
    interval = in_brackets(derived.ci_low, derived.ci_high, derived.value)
    note = before + digits(derived.value) + interval + after + ("; " + remark if remark else "")
    return Cell(derived.value, not why, note, bool(derived.grade))


def series_of(curve: Curve, name: str, colour: int, **style: bool) -> Series:
    falls = [(cliff.low, cliff.high, cliffs.text_of(cliff, curve)) for cliff in curve.cliffs]
    return Series(
        name, [mark_of(p) for p in curve.points if p.value is not None], colour, falls=falls, **style
    )


def grouped(curves: Sequence[Curve]) -> List[List[Curve]]:
    """Curves that belong into one panel: the same quantity at the same place, for different variants."""
    return list(by(curves, lambda c: (c.derived, c.axis, fixed_text(c.fixed))).values())


def place(fixed: Mapping[str, object], named: Sequence[str]) -> str:
    """Axis values as a panel's title."""
    return ", ".join(
        "%s %s" % (k, v) if is_number(v) else way(str(v)) for k, v in fixed.items() if k in named
    )


def colours_of(names: Sequence[str]) -> Dict[str, int]:
    """The same name has the same colour in all panels of a section."""
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def plural_is(count: int) -> str:
    return "%d %s" % (count, "is" if count == 1 else "are")


def hidden_text(count: int, noun: str, where: str = "the tables") -> str:
    """A sentence for what a figure leaves out; empty if that is nothing."""
    more = "more " + noun
    return " %s in %s." % (plural(count, more + " is", more + "s are"), where) if count > 0 else ""


def formulas(curves: Sequence[Curve]) -> str:
    return "; ".join(list(dict.fromkeys(c.formula for c in curves if c.formula))[:3]) or "formula not given"


def panels(charts: Sequence[LineChart], caption: str, noun: str = "", zero: bool = True) -> List[Figure]:
    """Charts with common axes, as many as a page shows; with a noun, the caption counts the others."""
    charts = [chart for chart in charts if chart.xs()]
    if not charts:
        return []
    shown = charts[:MAX_PANELS]
    share_ranges(shown, zero=zero)
    return [Panels(shown, caption + (hidden_text(len(charts) - len(shown), noun) if noun else ""))]


def line_panels(curves: Sequence[Curve], caption: str = "", **options: object) -> List[Figure]:
    """One figure for each derived quantity, panels with common axes."""
    figures: List[Figure] = []
    for derived in dict.fromkeys(c.derived for c in curves):
        own = [c for c in curves if c.derived == derived]
        colours = colours_of([c.variant for c in own])
        charts, named = [], varying(own)
        for panel in grouped(own):
            first = panel[0]
            series = [series_of(c, c.variant, colours[c.variant]) for c in panel]
            title, axes = place(first.fixed, named), (first.axis, first.axis_unit, first.unit)
            charts.append(LineChart(title, *axes, series, y_name=spell(derived), **options))
        text = caption or "%s over %s: %s." % (spell(derived), own[0].axis, formulas(own))
        figures += panels(charts, text, "panel")
    return figures


def bar_of(case: Case, derived: Derived, label: str) -> Bar:
    """The bar is the share of the bound, if a device can reach it."""
    full = derived.value / derived.share if derived.value and derived.share else None
    return Bar(
        label,
        derived.value,
        derived.unit,
        derived.ci_low,
        derived.ci_high,
        samples_behind(case, derived),
        full,
        derived.bound_name,
        why_invalid(case, derived),
        derived.grade,
        derived.grade_reason,
    )


def value_bars(section: Section, skip: Sequence[str] = ()) -> List[Figure]:
    """Values that lie on no curve, one line each; quantities with a single value share one table."""
    figures: List[Figure] = []
    alone: List[Bar] = []
    for name in dict.fromkeys(d.name for _, d in section.values()):
        if name in skip:
            continue
        found = section.values(name)
        title, formula = spell(name), found[0][1].formula or "formula not given"
        if len(found) == 1:
            alone.append(bar_of(*found[0], "%s: %s" % (title, formula)))
            continue
        rows = [bar_of(c, d, " ".join(filter(None, (d.variant, c.key))) or title) for c, d in found]
        caption = "%s: %s." % (title, formula)
        if len(rows) > MAX_BARS:
            caption += " The first %d of %d are drawn; all are in the table below." % (MAX_BARS, len(rows))
        figures.append(Bars(rows[:MAX_BARS], caption, title))
    return figures + ([Bars(alone, "", "single values")] if alone else [])


def results(section: Section) -> Json:
    """The range of every quantity, and where its ends lie."""
    ranges = []
    for name in dict.fromkeys(d.name for _, d in section.values()):
        valid = [(c, d) for c, d in section.values(name) if not why_invalid(c, d)]
        if not valid:
            continue
        low, high = min(valid, key=lambda v: v[1].value), max(valid, key=lambda v: v[1].value)
        ends = [{"value": d.value, "variant": d.variant, "key": c.key} for c, d in (low, high)]
        one = {"derived": name, "unit": low[1].unit, "n": len(valid), "lowest": ends[0], "highest": ends[1]}
        ranges.append(one)
    return {"ranges": ranges}


def nothing(section: Section) -> str:
    """Return the reason for an empty section."""
    cases = section.cases
    if not cases:
        return "No case was recorded."
    if all(c.status == "skipped" for c in cases):
        return "Skipped: %s." % (cases[0].reason or "no reason given").rstrip(".")
    if any(c.status == "failed" for c in cases):
        failed = next(c for c in cases if c.status == "failed")
        why = failed.reason or failed.check_detail or "no reason given"
        return "No valid value: %s failed (%s)." % (failed.key or "the case", why)
    reasons = [why_invalid(case, derived) for case, derived in section.values()]
    flagged = [r for r in reasons if r]
    if flagged and len(flagged) == len(reasons):
        every = "all %d were flagged, the first" % len(reasons) if reasons[1:] else "the only one was flagged"
        return "No valid value: %s as %s." % (every, flagged[0].rstrip("."))
    if reasons:
        return "The value that this summary needs is missing; flagged: %d of %s." % (
            len(flagged),
            plural(len(reasons), "value"),
        )
    if any(c.facts for c in cases):
        return "%s of the machine; nothing is timed here." % plural(sum(len(c.facts) for c in cases), "fact")
    return "No value was derived from %s." % plural(len(cases), "case")


def summary(section: Section) -> str:
    ranges = section.results.get("ranges", [])
    if not ranges:
        return nothing(section)
    first = ranges[0]

    def end(which: str) -> str:
        where = " ".join(filter(None, (first[which]["variant"], first[which]["key"])))
        return "%s%s" % (human(first[which]["value"], first["unit"]), " (%s)" % where if where else "")

    name = spell(first["derived"])
    if first["n"] == 1:
        return "%s: %s." % (name, end("highest"))
    return "%s ranges from %s to %s." % (name, end("lowest"), end("highest"))


def figures(section: Section) -> List[Figure]:
    rates = any(d.unit.endswith("/s") for _, d in section.values())
    hidden = ["time"] if rates else []  # a rate states it already
    long_enough = [c for c in section.curves if len(c.points) > 1 and c.derived not in hidden]
    return line_panels(long_enough) + value_bars(section, [c.derived for c in long_enough] + hidden)


SPEC = SectionSpec("", results, summary, figures)
