# SPDX-License-Identifier: BSD-3-Clause
"""collectives/allreduce@simgrid: the program on simulated ranks of a torus, and the time that topology/torus
predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from reports.page.charts import LineChart, Mark, Series
from reports.records.curves import why_invalid
from reports.records.jsonl import Json, is_number
from reports.records.quantity import human, plural, size
from reports.signature.section import Figure, Section, SectionSpec, Table
from reports.signature.sections import generic, torus

MODEL = "topology/torus"
_DRAWN = 7
_MAX_TABLES = 6

Place = Tuple[str, str]  # shape, ports


@dataclass(frozen=True)
class Twin:
    """One point: simulated seconds, and the model's with no time for a step, as the simulation has none."""

    algorithm: str
    size: float
    simulated_s: float
    model_s: Optional[float]
    flag_reason: str  # of the program; empty: valid

    @property
    def ratio(self) -> Optional[float]:
        return self.simulated_s / self.model_s if self.model_s else None


def _lines(section: Section) -> Dict[Tuple[str, str, str], Tuple[float, float]]:
    """(shape, ports, algorithm) -> the prediction of the model without step latency: (seconds, seconds a
    byte)."""
    group, found = section.others.get(MODEL), {}
    for (shape, ports, step, _, _), own in (torus.networks(group) if group else {}).items():
        for algorithm, cases in own.items():
            line, steps, each = torus.line_of(cases[-1]), cases[-1].facts.get("steps"), torus.seconds(step)
            if line and is_number(steps) and each is not None:
                found[shape, ports, algorithm] = line[0] - steps * each, line[1]
    return found


def twins(section: Section) -> Dict[Place, List[Twin]]:
    lines, found = _lines(section), {}
    for case, derived in section.values("time"):
        place = str(case.axes.get("shape", "")), str(case.axes.get("ports", ""))
        bytes_, variant = case.axes.get("size"), derived.variant
        if not is_number(bytes_) or not variant or not derived.value > 0:
            continue
        line = lines.get((*place, variant))
        model = line[0] + line[1] * bytes_ if line else None
        twin = Twin(variant, float(bytes_), derived.value, model, why_invalid(case, derived))
        found.setdefault(place, []).append(twin)
    return found


def results(section: Section) -> Json:
    """Points with a right result: the time of a wrong sum does not count."""
    found = [(shape, twin) for (shape, _), own in twins(section).items() for twin in own]
    names = ("algorithm", "size", "simulated_s", "model_s")
    points = [
        {"shape": shape, **{name: getattr(twin, name) for name in names}}
        for shape, twin in found
        if not twin.flag_reason
    ]
    return {
        "simulated": True,
        "points": points,
        "formula": "model_s = links on the longest routes * hop latency + bytes on the busiest links / "
        "bandwidth",
    }


def summary(section: Section) -> str:
    points = section.results["points"]
    if not points:
        return generic.nothing(section)
    both = [p for p in points if p["model_s"]]
    if not both:
        return "%s simulated at %s; there is no prediction, because topology/torus did not run." % (
            plural(len(points), "time was", "times were"),
            plural(len({p["size"] for p in points}), "size"),
        )
    worst = max(both, key=lambda p: abs(p["simulated_s"] / p["model_s"] - 1))
    off = worst["simulated_s"] / worst["model_s"] - 1
    return (
        "Simulated ranks and the model of topology/torus agree within %.2g %% at %s; they differ most for %s "
        "at %s on %s."
        % (
            100 * abs(off),
            plural(len(both), "point"),
            worst["algorithm"],
            size(worst["size"]),
            worst["shape"],
        )
    )


def _chart(section: Section, place: Place, own: List[Twin]) -> LineChart:
    """The model's lines, which bend on a logarithmic axis, and the simulated times as unconnected dots."""
    names = list(dict.fromkeys(t.algorithm for t in own))[:_DRAWN]
    lines, series = _lines(section), []
    for i, name in enumerate(names):
        twins_of = [t for t in own if t.algorithm == name]
        line = lines.get((*place, name))
        if line:
            marks = [Mark(x, line[0] + line[1] * x) for x in torus.grid([t.size for t in twins_of])]
            series.append(Series(name, marks, i, under=True, quiet=True))
        for t in twins_of:
            dot = Mark(t.size, t.simulated_s, valid=not t.flag_reason, note=t.flag_reason)
            series.append(Series(name, [dot], i, quiet=t is not twins_of[-1]))
    return LineChart(place[0], "size", "byte", "s", series, y_name="time")


def _table(place: Place, own: List[Twin]) -> Table:
    sizes = sorted({t.size for t in own})
    rows = []
    for name in dict.fromkeys(t.algorithm for t in own):
        row = [name]
        for x in sizes:
            twin = next((t for t in own if t.algorithm == name and t.size == x), None)
            flag = " ?" if twin and twin.flag_reason else ""
            row.append(human(twin.simulated_s, "s") + flag if twin else "–")
            row.append("%.4f" % twin.ratio if twin and twin.ratio is not None else "–")
        rows.append(row)
    why = next((t.flag_reason for t in own if t.flag_reason), "")
    caption = "%s: simulated time, and simulated / modelled time%s." % (
        place[0],
        "; ?: " + why if why else "",
    )
    return Table(["algorithm", *(h for x in sizes for h in (size(x), "/ model"))], rows, caption)


def figures(section: Section) -> List[Figure]:
    found = twins(section)
    charts = [_chart(section, place, own) for place, own in found.items()]
    caption = (
        "Not times of this machine. Dots: the program's ranks under SimGrid. Broad pale lines: predicted by "
        "topology/torus, for steps without a latency of their own."
    )
    tables = [_table(place, own) for place, own in list(found.items())[:_MAX_TABLES]]
    return [*generic.panels(charts, caption), *tables]


SPEC = SectionSpec("Simulated torus", results, summary, figures, measured=False)
