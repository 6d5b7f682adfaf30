# SPDX-License-Identifier: BSD-3-Clause
"""overlap/ficco: what every schedule gains over serial, the ideal gain, and what its pieces lose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from reports.curves import why_invalid
from reports.jsonl import Json
from reports.quantity import digits, human, human_interval, percent, plural
from reports.records import Case, Derived
from reports.section import Figure, Panels, Section, SectionSpec, Table
from reports.sections import generic
from reports.sections.gemm import shape_text
from reports.svg import Canvas, Scale, text_width

SERIAL = "serial"
LOSSES = ("DIL_gemm", "DIL_comm", "CIL_gemm", "CIL_comm")
_ROW, _WIDTH = 20.0, 190.0


@dataclass
class Comparison:
    """The schedules of one case, by name; `ideal` is what perfect overlap would gain."""

    case: Case
    times: Dict[str, Derived] = field(default_factory=dict)
    speedups: Dict[str, Derived] = field(default_factory=dict)
    fractions: Dict[str, Derived] = field(default_factory=dict)
    losses: Dict[str, Dict[str, Derived]] = field(default_factory=dict)
    ideal: Optional[Derived] = None

    def valid(self, derived: Derived) -> bool:
        return not why_invalid(self.case, derived)


def comparisons(section: Section) -> List[Comparison]:
    found: List[Comparison] = []
    for case in section.group.cases.values():
        entry = Comparison(case)
        for d in case.derived:
            if d.value is None:
                continue
            if d.name == "ideal_speedup":
                entry.ideal = d
            elif d.name == "speedup" and d.variant:
                entry.speedups[d.variant] = d
            elif d.name == "fraction_of_ideal" and d.variant:
                entry.fractions[d.variant] = d
            elif d.name in LOSSES and d.variant:
                entry.losses.setdefault(d.variant, {})[d.name] = d
        names = [SERIAL, *entry.speedups]
        entry.times = {d.variant: d for d in case.derived if d.name == "time" and d.variant in names and d.value is not None}
        if entry.speedups:
            found.append(entry)
    return found


def results(section: Section) -> Json:
    rows = []
    for entry in comparisons(section):
        times = {n: d for n, d in entry.times.items() if entry.valid(d)}
        speedups = {n: d for n, d in entry.speedups.items() if entry.valid(d)}
        if SERIAL not in times or not speedups:
            continue
        winner = min(times, key=lambda n: times[n].value)
        best = max(speedups, key=lambda n: speedups[n].value)
        fraction = entry.fractions.get(best)
        rows.append({"key": entry.case.key, "op": str(entry.case.axes.get("op", "")),
                     "shape": shape_text(section, entry.case.key),
                     "copy_method": str(entry.case.axes.get("copy-method", "")), "winner": winner, "best": best,
                     "speedup": speedups[best].value, "low": speedups[best].ci_low,
                     "ideal": entry.ideal.value if entry.ideal and entry.valid(entry.ideal) else None,
                     "fraction_of_ideal": fraction.value if fraction and entry.valid(fraction) else None,
                     "times_s": {n: d.value for n, d in times.items()}})
    return {"cases": rows, "overlap_wins": sum(r["low"] is not None and r["low"] > 1 for r in rows),
            "formula": "speedup = time of serial / time; ideal = (t_g + t_c) / max(t_g, t_c); not clamped"}


def summary(section: Section) -> str:
    rows = section.results["cases"]
    if not rows:
        return generic.nothing(section)
    best = max(rows, key=lambda r: r["speedup"])
    wins, of = section.results["overlap_wins"], len(rows)
    verb = "overlap is" if wins else "is overlap"
    text = "in %s of %s %s clearly faster than serial" % (wins or "none", plural(of, "case"), verb)
    where = " ".join((best["op"], best["shape"])) + (" by " + best["copy_method"] if best["copy_method"] else "")
    text += "; the best is %s for %s, %s×" % (best["best"], where, digits(best["speedup"]))
    if best["ideal"] is not None:
        text += " of an ideal %s×" % digits(best["ideal"])
    counts: Dict[str, int] = {}
    for row in rows:
        counts[row["winner"]] = counts.get(row["winner"], 0) + 1
    winner = max(counts, key=lambda n: counts[n])
    return text + "; fastest most often: %s (%d of %d)." % (winner, counts[winner], len(rows))


# ------------------------------------------------------------------ figures


def _title(section: Section, entry: Comparison, named: List[str]) -> str:
    shape = shape_text(section, entry.case.key) if "shape" in named else ""
    words = [str(entry.case.axes[n]) for n in named if n != "shape" and n in entry.case.axes]
    return " ".join([*words[:1], shape, *words[1:]]).strip()


def _note(entry: Comparison, name: str) -> str:
    derived, time = entry.speedups[name], entry.times.get(name)
    interval = human_interval(derived.ci_low, derived.ci_high, derived.value, "")
    why = why_invalid(entry.case, derived)
    return "%s: %s× serial%s%s%s" % (name, digits(derived.value), " (%s)" % interval if interval else "",
                                     ", " + human(time.value, "s") if time else "", "; " + why if why else "")


def draw_comparison(title: str, entry: Comparison, max_speedup: float) -> str:
    """One bar for each schedule, from 0 to its speedup; a line at serial, a broken line at the ideal."""
    names = list(entry.speedups)
    left = max(text_width(n) for n in names) + 10
    canvas = Canvas(left + _WIDTH + 46, 40 + _ROW * len(names), title)
    scale = Scale(0.0, max_speedup, left, left + _WIDTH, False)
    bottom = 24 + _ROW * len(names)
    canvas.text(0, 12, title, "name")
    for i, name in enumerate(names):
        derived, top = entry.speedups[name], 22 + _ROW * i
        valid = entry.valid(derived)
        canvas.text(left - 6, top + 13, name, "tick", "end")
        length = scale(max(0.0, derived.value)) - left
        canvas.rect(left, top + 3, length, _ROW - 6, "bar" if valid else "track", _note(entry, name))
        if valid and derived.ci_low is not None and derived.ci_high is not None:
            low, high = (scale(min(max_speedup, end)) for end in (derived.ci_low, derived.ci_high))
            canvas.line(low, top + _ROW / 2, high, top + _ROW / 2, "whisker ink")
        canvas.text(left + _WIDTH + 6, top + 13, digits(derived.value) + ("" if valid else " ?"), "tick")
    canvas.line(scale(1.0), 20, scale(1.0), bottom, "bound")
    canvas.text(scale(1.0), bottom + 12, SERIAL, "tick", "middle")
    if entry.ideal and entry.valid(entry.ideal):
        canvas.line(scale(entry.ideal.value), 20, scale(entry.ideal.value), bottom, "reference")
        if scale(entry.ideal.value) - scale(1.0) > text_width(SERIAL):
            canvas.text(scale(entry.ideal.value), bottom + 12, "ideal", "tick", "middle")
    return canvas.render()


def _cell(entry: Comparison, derived: Optional[Derived]) -> str:
    return digits(derived.value) + ("" if entry.valid(derived) else " ?") if derived else "–"


def _table(section: Section, found: List[Comparison], named: List[str]) -> Table:
    rows = []
    for entry in found:
        for name in entry.speedups:
            losses, fraction = entry.losses.get(name, {}), entry.fractions.get(name)
            time = entry.times.get(name)
            rows.append([_title(section, entry, named), name, human(time.value, "s") if time else "–",
                         _cell(entry, entry.speedups[name]),
                         percent(fraction.value) if fraction and entry.valid(fraction) else "–",
                         *(_cell(entry, losses.get(loss)) for loss in LOSSES)])
    heads = ["case", "schedule", "time", "speedup", "of ideal", "DIL GEMM", "DIL transfers", "CIL GEMM", "CIL transfers"]
    caption = ("DIL: its pieces alone over the whole alone. CIL: its pieces at the same time over alone. Of ideal: "
               "(speedup - 1) / (ideal - 1), not clamped: below 0 overlap costs time. ?: flagged invalid.")
    return Table(heads, rows[:generic.MAX_BARS], caption, 2)


def figures(section: Section) -> List[Figure]:
    found = comparisons(section)
    if not found:
        return generic.figures(section)
    values: Dict[str, set] = {}
    for entry in found:
        for name, value in entry.case.axes.items():
            values.setdefault(name, set()).add(value)
    named = [n for n in values if n in ("op", "shape") or len(values[n]) > 1]
    ends = [d.value for entry in found for d in (*entry.speedups.values(), *([entry.ideal] if entry.ideal else []))]
    max_speedup = 1.05 * max([1.1, *ends])
    charts = [draw_comparison(_title(section, entry, named), entry, max_speedup) for entry in found[:generic.MAX_PANELS]]
    caption = ("Speedup = time of serial / time of the schedule. The line is serial; the broken line is what hiding all of the "
               "shorter of GEMM and communication behind the other would give.")
    if len(found) > len(charts):
        caption += " %d more cases are in the tables." % (len(found) - len(charts))
    return [Panels(charts, caption), _table(section, found, named)]


SPEC = SectionSpec("A GEMM and its communication: which schedule, for which shape?", results, summary, figures)
