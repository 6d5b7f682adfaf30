# SPDX-License-Identifier: BSD-3-Clause
"""overlap/ficco: what every schedule gains over serial, beside what could be gained at all, and what its pieces lose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from reports.curves import why_invalid
from reports.effects import generic
from reports.effects.gemm import shape_text
from reports.jsonl import Json
from reports.quantity import digits, human, human_interval, percent
from reports.records import Case, Derived
from reports.section import Effect, Figure, Panels, Section, Table
from reports.svg import Canvas, Scale, text_width

SERIAL = "serial"
LOSSES = ("DIL_gemm", "DIL_comm", "CIL_gemm", "CIL_comm")
_ROW, _WIDTH = 20.0, 190.0


@dataclass
class Race:
    """The schedules of one case, by name; `ideal` is what perfect overlap would gain."""

    case: Case
    times: Dict[str, Derived] = field(default_factory=dict)
    speedups: Dict[str, Derived] = field(default_factory=dict)
    fractions: Dict[str, Derived] = field(default_factory=dict)
    losses: Dict[str, Dict[str, Derived]] = field(default_factory=dict)
    ideal: Optional[Derived] = None

    def valid(self, derived: Derived) -> bool:
        return not why_invalid(self.case, derived)


def races(section: Section) -> List[Race]:
    found: List[Race] = []
    for case in section.group.cases.values():
        race = Race(case)
        for d in case.derived:
            if d.value is None:
                continue
            if d.name == "ideal_speedup":
                race.ideal = d
            elif d.name == "speedup" and d.variant:
                race.speedups[d.variant] = d
            elif d.name == "fraction_of_ideal" and d.variant:
                race.fractions[d.variant] = d
            elif d.name in LOSSES and d.variant:
                race.losses.setdefault(d.variant, {})[d.name] = d
        names = [SERIAL, *race.speedups]
        race.times = {d.variant: d for d in case.derived if d.name == "time" and d.variant in names and d.value is not None}
        if race.speedups:
            found.append(race)
    return found


def findings(section: Section) -> Json:
    rows = []
    for race in races(section):
        times = {n: d for n, d in race.times.items() if race.valid(d)}
        speedups = {n: d for n, d in race.speedups.items() if race.valid(d)}
        if SERIAL not in times or not speedups:
            continue
        winner = min(times, key=lambda n: times[n].value)
        best = max(speedups, key=lambda n: speedups[n].value)
        fraction = race.fractions.get(best)
        rows.append({"key": race.case.key, "op": str(race.case.axes.get("op", "")), "shape": shape_text(section, race.case.key),
                     "mover": str(race.case.axes.get("mover", "")), "winner": winner, "best": best,
                     "speedup": speedups[best].value, "low": speedups[best].ci_low,
                     "ideal": race.ideal.value if race.ideal and race.valid(race.ideal) else None,
                     "fraction_of_ideal": fraction.value if fraction and race.valid(fraction) else None,
                     "times_s": {n: d.value for n, d in times.items()}})
    return {"cases": rows, "overlap_wins": sum(r["low"] is not None and r["low"] > 1 for r in rows),
            "formula": "speedup = time of serial / time; ideal = (t_g + t_c) / max(t_g, t_c); not clamped"}


def reading(section: Section) -> str:
    rows = section.findings["cases"]
    if not rows:
        return generic.nothing(section)
    best = max(rows, key=lambda r: r["speedup"])
    text = "overlap beats serial beyond doubt in %d of %d cases" % (section.findings["overlap_wins"], len(rows))
    where = " ".join((best["op"], best["shape"])) + (" by " + best["mover"] if best["mover"] else "")
    text += "; the best is %s for %s, %s×" % (best["best"], where, digits(best["speedup"]))
    if best["ideal"] is not None:
        text += " of an ideal %s×" % digits(best["ideal"])
    wins: Dict[str, int] = {}
    for row in rows:
        wins[row["winner"]] = wins.get(row["winner"], 0) + 1
    most = max(wins, key=lambda n: wins[n])
    return text + "; fastest most often: %s (%d of %d)." % (most, wins[most], len(rows))


# ------------------------------------------------------------------ figures


def _title(section: Section, race: Race, named: List[str]) -> str:
    shape = shape_text(section, race.case.key) if "shape" in named else ""
    words = [str(race.case.axes[n]) for n in named if n != "shape" and n in race.case.axes]
    return " ".join([*words[:1], shape, *words[1:]]).strip()


def _note(race: Race, name: str) -> str:
    derived, time = race.speedups[name], race.times.get(name)
    interval = human_interval(derived.ci_low, derived.ci_high, derived.value, "")
    why = why_invalid(race.case, derived)
    return "%s: %s× serial%s%s%s" % (name, digits(derived.value), " (%s)" % interval if interval else "",
                                     ", " + human(time.value, "s") if time else "", "; " + why if why else "")


def draw_race(title: str, race: Race, most: float) -> str:
    """A bar a schedule from nothing to its speedup; a line at serial, a broken one at the ideal."""
    names = list(race.speedups)
    left = max(text_width(n) for n in names) + 10
    canvas = Canvas(left + _WIDTH + 46, 40 + _ROW * len(names), title)
    scale = Scale(0.0, most, left, left + _WIDTH, False)
    bottom = 24 + _ROW * len(names)
    canvas.text(0, 12, title, "name")
    for i, name in enumerate(names):
        derived, top = race.speedups[name], 22 + _ROW * i
        valid = race.valid(derived)
        canvas.text(left - 6, top + 13, name, "tick", "end")
        length = scale(max(0.0, derived.value)) - left
        canvas.rect(left, top + 3, length, _ROW - 6, "bar" if valid else "track", _note(race, name))
        if valid and derived.ci_low is not None and derived.ci_high is not None:
            canvas.line(scale(min(most, derived.ci_low)), top + _ROW / 2, scale(min(most, derived.ci_high)), top + _ROW / 2,
                        "whisker ink")
        canvas.text(left + _WIDTH + 6, top + 13, digits(derived.value) + ("" if valid else " ?"), "tick")
    canvas.line(scale(1.0), 20, scale(1.0), bottom, "bound")
    canvas.text(scale(1.0), bottom + 12, SERIAL, "tick", "middle")
    if race.ideal and race.valid(race.ideal):
        canvas.line(scale(race.ideal.value), 20, scale(race.ideal.value), bottom, "reference")
        if scale(race.ideal.value) - scale(1.0) > text_width(SERIAL):
            canvas.text(scale(race.ideal.value), bottom + 12, "ideal", "tick", "middle")
    return canvas.render()


def _cell(race: Race, derived: Optional[Derived]) -> str:
    return digits(derived.value) + ("" if race.valid(derived) else " ?") if derived else "–"


def _table(section: Section, found: List[Race], named: List[str]) -> Table:
    rows = []
    for race in found:
        for name in race.speedups:
            losses, fraction = race.losses.get(name, {}), race.fractions.get(name)
            time = race.times.get(name)
            rows.append([_title(section, race, named), name, human(time.value, "s") if time else "–",
                         _cell(race, race.speedups[name]),
                         percent(fraction.value) if fraction and race.valid(fraction) else "–",
                         *(_cell(race, losses.get(loss)) for loss in LOSSES)])
    heads = ["case", "schedule", "time", "speedup", "of ideal", "DIL product", "DIL transfers", "CIL product", "CIL transfers"]
    caption = ("DIL: its pieces alone over the whole alone. CIL: its pieces beside each other over alone. Of ideal: "
               "(speedup - 1) / (ideal - 1), not clamped: below 0 overlap costs time. ?: flagged invalid.")
    return Table(heads, rows[:generic.MAX_BARS], caption, 2)


def figures(section: Section) -> List[Figure]:
    found = races(section)
    if not found:
        return generic.figures(section)
    values: Dict[str, set] = {}
    for race in found:
        for name, value in race.case.axes.items():
            values.setdefault(name, set()).add(value)
    named = [n for n in values if n in ("op", "shape") or len(values[n]) > 1]
    ends = [d.value for race in found for d in (*race.speedups.values(), *([race.ideal] if race.ideal else []))]
    most = 1.05 * max([1.1, *ends])
    charts = [draw_race(_title(section, race, named), race, most) for race in found[:generic.MAX_PANELS]]
    caption = ("Speedup = time of serial / time of the schedule. The line is serial; the broken line is what hiding all of the "
               "shorter of product and communication behind the other would give.")
    if len(found) > len(charts):
        caption += " %d more cases are in the tables." % (len(found) - len(charts))
    return [Panels(charts, caption), _table(section, found, named)]


EFFECT = Effect("A product and its communication: which schedule, for which shape?", findings, reading, figures)
