# SPDX-License-Identifier: BSD-3-Clause
"""overlap/shaping: the effect of residency and priority on a pipeline of GEMMs and communications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Optional, Tuple

from reports.page.charts import LineChart, Mark, Series
from reports.records.curves import axis_unit, by, point_of, valid_value, varying_axes
from reports.records.jsonl import Json, is_number
from reports.records.quantity import axis_value, human, percent
from reports.records.records import Case
from reports.signature.section import Figure, Section, SectionSpec, Table
from reports.signature.sections import generic
from reports.signature.sections.operands import with_operands

# Settings in words, and the lines of the curves that they are on.
_OWN = {
    "serial": "serial",
    "overlap": "plain overlap",
    "shaped": "shaped",
    "priority": "priority",
    "shaped_priority": "shaped and priority",
}
SETTINGS = {**_OWN, **{"library_" + name: "%s, by the library" % words for name, words in _OWN.items()}}
EQUAL, URGENT, IDEAL = "equal priority", "urgent", "ideal"
LINES = {"overlap": EQUAL, "shaped": EQUAL, "priority": URGENT, "shaped_priority": URGENT}
NOT_A_SETTING = ("tile", "grid", "shared", "blocks")


def _pipelines(section: Section) -> Dict[Tuple[str, ...], List[Case]]:
    """Cases of the same work, whose times compare."""
    return by(section.cases, lambda c: tuple(str(v) for k, v in c.axes.items() if k not in NOT_A_SETTING))


def _setting(case: Case, variant: str, time_s: float) -> Json:
    def value(name: str, of: Optional[str] = variant) -> Optional[float]:
        return valid_value(case, name, of)

    # The bound of the library's exchange is reported under a variant.
    bound_of = "library_comm_alone" if variant.startswith("library_") else None
    return {
        "scenario": with_operands(str(case.axes.get("scenario", "")), case),
        "setting": variant,
        "key": case.key,
        "shared_byte": case.axes.get("shared", 0) if "shaped" in variant else 0,
        "blocks": case.axes.get("blocks"),
        "time_s": time_s,
        "tile": str(case.axes.get("tile", "own")),
        "gemm_blocks": case.number("gemm_blocks"),
        "time_ratio": 1.0 if variant.endswith("serial") else value("time_ratio"),
        "normalised_time": 1.0 if variant.endswith("overlap") else value("normalised_time"),
        "time_ratio_pipelined": value("time_ratio_pipelined", bound_of),
        **{name: value(name) for name in ("overlap_rate", "gemm_CIL", "comm_CIL")},
        "first_comm_block_s": value("first_comm_block"),
    }


def results(section: Section) -> Json:
    """The fastest setting of each pipeline, serial and plain overlap included; its gain is over those of its
    own case."""
    best: List[Json] = []
    for cases in _pipelines(section).values():
        timed = [(valid_value(case, "time", name), case, name) for case in cases for name in SETTINGS]
        known = [one for one in timed if one[0] is not None]
        if known:
            time_s, case, variant = min(known, key=lambda k: k[0])
            best.append(_setting(case, variant, time_s))
    said = [str(case.facts["exchange"]) for case in section.cases if case.facts.get("exchange")]
    return {"best": best, "exchange": list(dict.fromkeys(said))}


def _gain(ratio: float) -> str:
    return "%s %s" % (percent(abs(1 - ratio)), "less" if ratio <= 1 else "more")


def _name(best: Json) -> str:
    claim = " with %s claimed" % axis_value(best["shared_byte"], "byte") if best["shared_byte"] else ""
    tile = ", %s tiles" % best["tile"] if best["tile"] != "own" else ""
    return SETTINGS[best["setting"]] + claim + tile


def summary(section: Section) -> str:
    known = [b for b in section.results["best"] if None not in (b["time_ratio"], b["normalised_time"])]
    serial = [b["scenario"] for b in section.results["best"] if b["setting"].endswith("serial")]
    if not known:
        slower = "Nothing is faster than serial in %s." % ", ".join(serial)
        return slower if serial else generic.nothing(section)
    best = min(known, key=lambda b: b["normalised_time"])
    if best["setting"].endswith("overlap"):
        text = "No setting is faster than plain overlap, which takes %s time than serial in %s" % (
            _gain(best["time_ratio"]),
            best["scenario"],
        )
    else:
        gains = best["normalised_time"] < 1
        text = "%s %s: %s takes %s time than plain overlap and %s than serial" % (
            "the largest gain is in" if gains else "the smallest loss is in",
            best["scenario"],
            _name(best),
            _gain(best["normalised_time"]),
            _gain(best["time_ratio"]),
        )
    if serial:
        text += "; nothing is faster than serial in " + ", ".join(serial)
    stand_in = any(e.startswith("stand-in") for e in section.results["exchange"])
    return text + ("; the communication is a stand-in that uses no link." if stand_in else ".")


@dataclass(frozen=True)
class Across:
    """The axis that a figure is drawn over."""

    name: str
    axes: Tuple[str, ...]  # not in a panel's title
    x: Callable[[Case], Optional[float]]  # None: the case is not in the figure
    on_line: Callable[[Case, str], bool]  # of a case and a variant
    text: str


def _claimed(case: Case) -> Optional[float]:
    claim = case.axes.get("shared")
    return float(claim) if is_number(claim) and not case.axes.get("grid") else None


def _gemm_blocks(case: Case) -> Optional[float]:
    blocks = case.facts.get("gemm_blocks")
    return float(blocks) if is_number(blocks) and not case.axes.get("shared") else None


OVER_CLAIM = Across(
    "shared memory claimed per block",
    ("shared", "grid"),
    _claimed,
    # False for the baselines that a case with a claim measures: they have no claim.
    lambda case, variant: bool(case.axes["shared"]) == variant.startswith("shaped"),
    "Time of the overlapped pipeline / serial time, over the shared memory that each block of a GEMM claims "
    "in addition to its tiles. Without a claim and with equal priority it is plain overlap.",
)
OVER_GRID = Across(
    "blocks of the GEMM",
    ("shared", "grid"),
    _gemm_blocks,
    lambda case, variant: not variant.startswith("shaped"),
    "Time of the overlapped pipeline / serial time, over the number of blocks that share the GEMM's tiles, "
    "without a claim of shared memory. Where equal priority takes as long as serial, the communication waits "
    "for the GEMM's blocks.",
)
ENDING = (
    " Urgent: communications are in the stream of the highest priority. Ideal: (g + (i-1) max(g, c) + c) / "
    "(i (g + c)), with i iterations, and g and c the times of a GEMM and a communication alone."
)


def _curves(section: Section, across: Across) -> Mapping[Tuple[Tuple[str, str], ...], Dict[str, List[Mark]]]:
    panels: Dict[Tuple[Tuple[str, str], ...], Dict[str, List[Mark]]] = {}
    for case in section.group.cases.values():
        x = across.x(case)
        if x is None:
            continue
        place = tuple((k, str(v)) for k, v in case.axes.items() if k not in across.axes)
        lines = panels.setdefault(place, {EQUAL: [], URGENT: [], IDEAL: []})
        for derived in case.derived:
            if derived.value is None:
                continue
            if derived.name == "time_ratio_pipelined" and derived.variant is None:
                lines[IDEAL].append(generic.mark_of(point_of(case, derived, x)))
            elif (
                derived.name == "time_ratio"
                and derived.variant in LINES
                and across.on_line(case, derived.variant)
            ):
                lines[LINES[derived.variant]].append(generic.mark_of(point_of(case, derived, x)))
    return panels


def _title(place: Tuple[Tuple[str, str], ...], panels: Mapping[Tuple[Tuple[str, str], ...], object]) -> str:
    """The axes that differ between panels; the scenario always."""
    varying = varying_axes(map(dict, panels))
    return ", ".join(
        v if k == "scenario" else "%s %s" % (k, v) for k, v in place if k == "scenario" or k in varying
    )


def _panels(section: Section, across: Across) -> List[Figure]:
    charts: List[LineChart] = []
    panels = _curves(section, across)
    shown = {p: lines for p, lines in panels.items() if len({m.x for m in lines[EQUAL]}) > 1}
    unit = axis_unit(section.group, "shared") if across is OVER_CLAIM else ""
    for place, lines in shown.items():
        series = [
            Series(name, sorted(marks, key=lambda m: m.x), colour, dashed=name == IDEAL)
            for colour, (name, marks) in enumerate(lines.items())
            if marks
        ]
        axes, lines_across = (across.name, unit, ""), [(1.0, "serial")]
        title = _title(place, shown)
        charts.append(LineChart(title, *axes, series, lines_across, y_name="time / serial time"))
    return generic.panels(charts, across.text + ENDING, "panel")


def figures(section: Section) -> List[Figure]:
    rows = [
        [
            b["scenario"],
            _name(b),
            human(b["gemm_blocks"]),
            str(b["blocks"]),
            *(human(b[name]) for name in ("time_ratio", "time_ratio_pipelined", "normalised_time")),
            percent(b["overlap_rate"]),
            *(human(b[name]) for name in ("gemm_CIL", "comm_CIL")),
            human(b["first_comm_block_s"], "s"),
        ]
        for b in section.results["best"]
    ]
    caption = (
        "The fastest setting of each pipeline, serial and plain overlap among the candidates; the times are "
        "relative to those of the same case. The best of many is slightly optimistic. CIL: time in the "
        "pipeline / time alone. Communication: %s." % ("; ".join(section.results["exchange"]) or "not said")
    )
    heads = [
        *("scenario", "fastest", "blocks of the GEMM", "of the communication", "time, serial = 1", "ideal"),
        *("plain overlap = 1", "both ran", "CIL of the GEMM", "of the communication", "first block waits"),
    ]
    shown: List[Figure] = [Table(heads, rows, caption, 2)] if rows else []
    return _panels(section, OVER_CLAIM) + _panels(section, OVER_GRID) + shown


SPEC = SectionSpec("Overlap: occupancy and priority", results, summary, figures)
