# SPDX-License-Identifier: BSD-3-Clause
"""overlap/ficco: what every schedule gains over serial, the ideal speedup, and what its pieces lose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from reports.page.bar_chart import Across, ChartBar, draw_bars
from reports.records.causes import GRADES
from reports.records.curves import value_of, varying_axes, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import TAGS, digits, human, in_brackets, listing, percent, plural, span, tag
from reports.records.records import Case, Derived, Variant
from reports.signature.section import Figure, Panels, Section, SectionSpec, table
from reports.signature.sections import generic
from reports.signature.sections.gemm import shape_text
from reports.signature.sections.operands import is_cold, one_condition, with_operands

SERIAL = "serial"
LIBRARY = "serial-library"  # serial with the vendor's collective, if the machine has the library
TIE = 1.01  # of medians, where a record does not say which schedules tie
LOSSES = {
    "DIL_gemm": "DIL GEMM",
    "DIL_comm": "DIL transfers",
    "CIL_gemm": "CIL GEMM",
    "CIL_comm": "CIL transfers",
}


@dataclass
class Comparison:
    """The schedules of one case, by name; `ideal` is what perfect overlap would gain."""

    case: Case
    times: Dict[str, Derived] = field(default_factory=dict)
    speedups: Dict[str, Derived] = field(default_factory=dict)
    fractions: Dict[str, Derived] = field(default_factory=dict)
    losses: Dict[str, Dict[str, Derived]] = field(default_factory=dict)
    library: Dict[str, Derived] = field(default_factory=dict)  # LIBRARY's time, the schedules' S_library
    ideal: Optional[Derived] = None

    def valid(self, derived: Derived) -> bool:
        return not why_invalid(self.case, derived)

    def known(self, derived: Optional[Derived]) -> Optional[float]:
        """The value if it is there and valid."""
        return derived.value if derived and self.valid(derived) else None

    def best(self) -> List[str]:
        """The fastest valid schedules, as the program found them round by round: several where they tie."""
        times = {n: d.value for n, d in self.times.items() if self.valid(d)}
        named = [n for n in str(self.case.facts.get("best_schedules", "")).split(", ") if n in times]
        return named or [n for n in times if times[n] <= TIE * min(times.values())]


def cut_of(case: Case) -> str:
    """Cut of C; that of records without the axis is rows."""
    return str(case.axes.get("cut", "rows"))


def work_of(case: Case) -> str:
    """The same for cases whose GEMMs and transfers are the same: an even all-to-all is an all-gather with
    other sources."""
    axes = dict(case.axes, op=case.facts.get("same_work_as", case.axes.get("op")))
    return " ".join("%s=%s" % (name, value) for name, value in axes.items())


def valid_schedules(case: Case, names: List[str]) -> Dict[str, Variant]:
    """The valid schedules of a case."""
    invalid = {d.variant for d in case.derived if d.name == "time" and why_invalid(case, d) and d.variant}
    flagged = {f.variant for f in case.flags if f.quantity is None and f.flag not in GRADES}
    if None in flagged or case.status != "ok":
        return {}
    return {
        v.name: v
        for v in case.variants
        if v.name in names and (v.median_s or 0) > 0 and v.name not in invalid | flagged
    }


def comparisons(section: Section) -> List[Comparison]:
    found: List[Comparison] = []
    for case in section.cases:
        entry = Comparison(case)
        for d in case.derived:
            if d.value is None:
                continue
            if d.name == "S_ideal":
                entry.ideal = d
            elif d.name == "S" and d.variant:
                entry.speedups[d.variant] = d
            elif d.variant and (d.name == "S_library" or (d.name, d.variant) == ("time", LIBRARY)):
                entry.library[d.variant] = d
            elif d.name == "fraction_of_ideal" and d.variant:
                entry.fractions[d.variant] = d
            elif d.name in LOSSES and d.variant:
                entry.losses.setdefault(d.variant, {})[d.name] = d
        names = [SERIAL, *entry.speedups]
        times = {name: value_of(case, "time", name) for name in names}
        entry.times = {name: derived for name, derived in times.items() if derived}
        if entry.speedups:
            found.append(entry)
    return found


def _row(section: Section, entry: Comparison) -> Optional[Json]:
    times = {n: d for n, d in entry.times.items() if entry.valid(d)}
    speedups = {n: d for n, d in entry.speedups.items() if entry.valid(d)}
    if SERIAL not in times or not speedups:
        return None
    best = max(speedups, key=lambda n: speedups[n].value)
    shape = with_operands(shape_text(section, entry.case.key), entry.case)
    shape += " by columns" if cut_of(entry.case) == "columns" else ""
    library = {n: d.value for n, d in entry.library.items() if n != LIBRARY and entry.valid(d)}
    row = {
        "key": entry.case.key,
        "op": str(entry.case.axes.get("op", "")),
        "shape": shape,
        "cold": is_cold(entry.case),
        "copy_method": str(entry.case.axes.get("copy-method", "")),
        "best_schedules": entry.best(),
        "best": best,
        "S": speedups[best].value,
        "low": speedups[best].ci_low,
        "S_ideal": entry.known(entry.ideal),
        "fraction_of_ideal": entry.known(entry.fractions.get(best)),
        "times_s": {n: d.value for n, d in times.items()},
        "work": work_of(entry.case),
    }
    return {**row, "library": entry.case.facts.get("library"), "S_library": library} if library else row


def _schedules(entry: Comparison) -> Optional[Json]:
    """The times of a case that is the very question of an advice, with their intervals: among devices, with
    the usual blocks of a copy kernel and warm operands."""
    case, facts = entry.case, entry.case.facts
    if is_cold(case) or facts.get("peers_are") != "devices" or str(case.axes.get("blocks")) != "0":
        return None
    return {
        **{side: case.number(side) for side in ("m", "n", "k")},
        "devices": case.number("ranks"),
        "op": str(case.axes.get("op")),
        "type": str(case.axes.get("type")),
        "copy_method": str(case.axes.get("copy-method")),
        "cut": cut_of(case),
        "times_s": {
            name: [v.median_s, v.ci_low_s, v.ci_high_s]
            for name, v in valid_schedules(case, [SERIAL, *entry.speedups]).items()
        },
    }


def results(section: Section) -> Json:
    """`same_work`: the cases that repeat the work of an earlier one, which count no second time. Counts are
    of one condition. `schedules`: what advice reads."""
    found = comparisons(section)
    rows = [row for row in (_row(section, entry) for entry in found) if row]
    joined = one_condition(rows)
    counted = list({row["work"]: row for row in reversed(joined)}.values())[::-1]
    return {
        "cases": rows,
        "schedules": [row for row in map(_schedules, found) if row],
        "scenarios": len(counted),
        "same_work": len(joined) - len(counted),
        "overlap_wins": sum(r["low"] is not None and r["low"] > 1 for r in counted),
        "fastest": {n: sum(n in r["best_schedules"] for r in counted) for n in _names(counted)},
        "ties": sum(len(r["best_schedules"]) > 1 for r in counted),
        "formula": "S = time of serial / time; S_ideal = (t_g + t_c) / max(t_g, t_c); not clamped",
    }


def _names(rows: List[Json]) -> List[str]:
    return list(dict.fromkeys(name for row in rows for name in row["best_schedules"]))


def summary(section: Section) -> str:
    found = section.results
    if not found["cases"]:
        return generic.nothing(section)
    best = max(one_condition(found["cases"]), key=lambda r: r["S"])
    wins, of = found["overlap_wins"], found["scenarios"]
    verb = "overlap is" if wins else "is overlap"
    text = "in %s of %s %s clearly faster than serial" % (wins or "none", plural(of, "scenario"), verb)
    by_method = " by " + best["copy_method"] if best["copy_method"] else ""
    tied = [n for n in best["best_schedules"] if n != best["best"]]
    text += "; the best is %s%s for %s, %s times as fast as serial" % (
        best["best"],
        " (a tie with %s)" % listing(tied) if tied else "",
        "%s %s%s" % (best["op"], best["shape"], by_method),
        digits(best["S"]),
    )
    if best["S_ideal"] is not None:
        text += " (ideal: %s times)" % digits(best["S_ideal"])
    most = max(found["fastest"].values())
    names = [n for n, count in found["fastest"].items() if count == most]
    tied = " or tied" if found["ties"] else ""
    text += "; fastest%s most often: %s (in %d of %d)" % (tied, listing(names, 3), most, of)
    text += _library_text(found["cases"])
    again = found["same_work"]
    nouns = "case that repeats another's work is", "cases that repeat another's work are"
    return text + ("; %s not counted." % plural(again, *nouns) if again else ".")


def _library_text(rows: List[Json]) -> str:
    """Serial, and the best schedules, compared with serial that uses the vendor's collective."""
    rows = [r for r in rows if SERIAL in r.get("S_library", {})]
    if not rows:
        return ""
    took = span(r["S_library"][SERIAL] for r in rows)
    text = "; serial with the collective of %s takes %s times as long as serial with copies" % (
        rows[0]["library"],
        took,
    )
    gains = [gain for r in rows for name, gain in r["S_library"].items() if name != SERIAL]
    return text + (", and overlap is at best %s times as fast as that" % digits(max(gains)) if gains else "")


# ------------------------------------------------------------------ figures


def _title(section: Section, entry: Comparison, named: List[str]) -> str:
    shape = shape_text(section, entry.case.key) if "shape" in named else ""
    words = [str(entry.case.axes[n]) for n in named if n != "shape" and n in entry.case.axes]
    return " ".join([*words[:1], shape, *words[1:]]).strip()


def _note(entry: Comparison, name: str) -> str:
    derived, time = entry.speedups[name], entry.times.get(name)
    interval = in_brackets(derived.ci_low, derived.ci_high, derived.value)
    took, why = ", " + human(time.value, "s") if time else "", why_invalid(entry.case, derived)
    said = "%s: %s× serial%s%s" % (name, digits(derived.value), interval, took)
    return said + ("; " + why if why else "")


def draw_comparison(title: str, entry: Comparison, max_speedup: float) -> str:
    """One bar for each schedule, from 0 to its speedup; a line at serial, a broken line at the ideal."""
    bars = [
        ChartBar(name, d.value, entry.valid(d), bool(d.grade), d.ci_low, d.ci_high, _note(entry, name))
        for name, d in entry.speedups.items()
    ]
    lines = [Across(1.0, SERIAL, "bound")]
    if entry.ideal and entry.valid(entry.ideal):
        lines.append(Across(entry.ideal.value, "ideal", "reference"))
    return draw_bars(title, "time of serial / time of the schedule", bars, max_speedup, lines)


def _cell(entry: Comparison, derived: Optional[Derived]) -> str:
    return digits(derived.value) + tag(entry.valid(derived), bool(derived.grade)) if derived else "–"


def _place(entry: Comparison, name: str) -> str:
    best = entry.best()
    return "" if name not in best else "tie" if len(best) > 1 else "yes"


def _table(section: Section, found: List[Comparison], named: List[str]) -> List[Figure]:
    rows: List[Dict[str, str]] = []
    baseline = any(entry.library for entry in found)
    for entry in found:
        title = _title(section, entry, named)
        names = [name for name in (LIBRARY, SERIAL) if baseline and name in {**entry.library, **entry.times}]
        for name in [*names, *entry.speedups]:
            losses, speedup = entry.losses.get(name, {}), entry.speedups.get(name)
            time = entry.library[LIBRARY] if name == LIBRARY else entry.times.get(name)
            over = "1" if name == LIBRARY else _cell(entry, entry.library.get(name))
            rows.append(
                {
                    "case": title,
                    "schedule": name,
                    "time": human(time.value if time else None, "s"),
                    "S": _cell(entry, speedup) if speedup else "–" if name == LIBRARY else "1",
                    **({"S over the library": over} if baseline else {}),
                    "fastest": _place(entry, name),
                    "of ideal": percent(entry.known(entry.fractions.get(name))),
                    **{head: _cell(entry, losses.get(loss)) for loss, head in LOSSES.items()},
                }
            )
    caption = (
        "DIL: time of the pieces alone / time of the whole alone. CIL: time of the pieces concurrent with "
        "the other side / time of the pieces alone. Of ideal: (S - 1) / (S_ideal - 1), not clamped; below 0 "
        "the "
        "schedule takes longer than serial. %s Fastest: among serial and all schedules; a tie is a time "
        "that, round by round, is within noise or 1 %% of the fastest." % TAGS
    )
    if baseline:
        caption += (
            " S is relative to serial with copies; S over the library to %s, serial with the vendor's "
            "collective." % LIBRARY
        )
    return table(rows[: generic.MAX_BARS], caption, 2)


def figures(section: Section) -> List[Figure]:
    found = comparisons(section)
    if not found:
        return []
    places = [entry.case.axes for entry in found]
    varying = varying_axes(places)
    axes = dict.fromkeys(name for place in places for name in place)
    named = [n for n in axes if n in ("op", "shape") or n in varying]
    ends = [d.value for e in found for d in (*e.speedups.values(), e.ideal) if d]
    full = 1.05 * max([1.1, *ends])
    shown = found[: generic.MAX_PANELS]
    charts = [draw_comparison(_title(section, entry, named), entry, full) for entry in shown]
    caption = (
        "S = time of serial / time of the schedule; serial uses the same copy method. Solid line: serial. "
        "Broken line: "
        "the ideal, with the shorter of GEMM and communication hidden completely behind the other."
    )
    caption += generic.hidden_text(len(found) - len(charts), "case")
    return [Panels(charts, caption), *_table(section, found, named)]


SPEC = SectionSpec("GEMM with communication: fastest schedule by shape", results, summary, figures)
