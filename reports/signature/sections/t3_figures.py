# SPDX-License-Identifier: BSD-3-Clause
"""overlap/t3: its charts and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Sequence

from reports.page.bar_chart import Across, ChartBar, draw_bars
from reports.page.charts import LineChart, Mark, Series
from reports.records.curves import value_of
from reports.records.jsonl import Json
from reports.records.quantity import digits, human, percent, plural
from reports.signature.section import Figure, Panels, Section, SectionSpec, Table
from reports.signature.sections import generic, t3
from reports.page.stacked_bars import Part, Stack, draw_stacks

_WHAT = "time of one after the other / time"
_PARTS = (
    Part("GEMM reads", 0),
    Part("GEMM writes", 0, 0.5),
    Part("communication reads", 1),
    Part("communication writes", 1, 0.5),
)
_STACKS = {t3.SEQUENTIAL: "sequential", t3.BEST: "T3-MCA"}


# ------------------------------------------------------------------ charts


def _bars(layer: t3.SubLayer) -> List[ChartBar]:
    bars = []
    for words, quantity, variant in t3.GAINS.values():
        derived = value_of(layer.case, quantity, variant)
        if derived:
            why = t3.why_unused(layer.case, derived)
            note = "%s: %s×%s" % (words, digits(derived.value), "; " + why if why else "")
            ends = derived.ci_low, derived.ci_high
            bars.append(ChartBar(words, derived.value, not why, bool(derived.grade), *ends, note))
    return bars


def _gain_panels(layers: Sequence[t3.SubLayer]) -> List[Figure]:
    shown = [(layer.place, bars) for layer in layers for bars in [_bars(layer)] if bars]
    if not shown:
        return []
    full = 1.05 * max([1.1, *(bar.value for _, bars in shown for bar in bars)])
    line = [Across(1.0, "sequential", "bound")]
    caption = (
        "Simulated, not measured: %s, where one after the other is a GEMM, a reduce-scatter and an "
        "all-gather by kernels. T3: a tracker sends the GEMM's tiles on while it runs, and memory adds them. "
        "T3-MCA: memory also serves computing first. Ideal: the longer of GEMM and reduce-scatter alone, "
        "then the all-gather; with adding memory: the same with a reduce-scatter that memory adds." % _WHAT
    )
    caption += generic.hidden_text(len(shown) - generic.MAX_PANELS, "sub-layer")
    drawn = [draw_bars(place, _WHAT, bars, full, line) for place, bars in shown[: generic.MAX_PANELS]]
    return [Panels(drawn, caption)]


def _traffic_panels(layers: Sequence[t3.SubLayer], rows: Sequence[Json]) -> List[Figure]:
    """A panel for each model."""
    groups: Dict[str, List[Stack]] = {}
    for layer, row in zip(layers, rows):
        for variant, words in _STACKS.items():
            moved = row["bytes"].get(variant)
            if moved:
                stack = Stack(layer.name, words, [moved[name] for name in t3.TRAFFIC])
                groups.setdefault(layer.group, []).append(stack)
    full = max((sum(stack.values) for stacks in groups.values() for stack in stacks), default=0.0)
    if not full > 0:
        return []
    charts = [
        draw_stacks(group, _PARTS, stacks, "byte", full)
        for group, stacks in list(groups.items())[: generic.MAX_PANELS]
    ]
    caption = (
        "Simulated, not measured: bytes that the memory of one device reads and writes, without those of the "
        "all-gather, which is the same in both."
    ) + generic.hidden_text(len(groups) - len(charts), "model")
    return [Panels(charts, caption)]


def _sweep_chart(layer: t3.SubLayer) -> Optional[LineChart]:
    """S over the threshold; the rule's own choice is a dot."""
    marks = []
    for case in layer.sweep:
        derived = value_of(case, "S", t3.BEST)
        if derived:
            why, ends = t3.why_unused(case, derived), (derived.ci_low, derived.ci_high)
            marks.append(Mark(t3.threshold_of(case), derived.value, *ends, not why, why, bool(derived.grade)))
    if len(marks) < 2:
        return None
    chart = LineChart(
        layer.place, "threshold, % of the queue", "", "", [Series("T3-MCA", marks, 0)], y_name="S"
    )
    used, rule = layer.case.number("threshold_used"), value_of(layer.case, "S", t3.BEST)
    if not t3.threshold_of(layer.case) and used is not None and rule and not t3.why_unused(layer.case, rule):
        chart.series.append(Series("rule", [Mark(100 * used, rule.value, rule.ci_low, rule.ci_high)], 1))
    without = value_of(layer.case, "S", "t3")
    if without and not t3.why_unused(layer.case, without):
        chart.across.append((without.value, "T3"))
    return chart


def _sweep_panels(layers: Sequence[t3.SubLayer]) -> List[Figure]:
    charts = [chart for layer in layers for chart in [_sweep_chart(layer)] if chart]
    caption = (
        "Simulated, not measured: S of T3-MCA over the threshold, the part of the memory's queue up to which "
        "communication is let in. Rule: what the program chooses from the GEMM's memory intensity. Dotted: "
        "T3, whose memory treats both alike."
    )
    shown = charts[: generic.MAX_PANELS]
    figures = generic.panels(charts, caption, "sub-layer", zero=False)
    for chart in shown:
        chart.x_log, chart.x_range = False, (0.0, max([100.0, *(x for c in shown for x in c.xs())]))
    return figures


# ------------------------------------------------------------------ tables


@dataclass(frozen=True)
class Column:
    head: str
    value: Callable[[Json], Optional[float]]
    show: Callable[[float], str] = digits
    mean: bool = True  # whether it has a geometric mean


def _table(section: Section, columns: Sequence[Column], caption: str) -> List[Figure]:
    """A row for each sub-layer, then the geometric means; without the columns that nothing is in."""
    layers = [(row, [column.value(row) for column in columns]) for row in section.results["layers"]]
    kept = [i for i in range(len(columns)) if any(values[i] is not None for _, values in layers)]
    layers = [(row, values) for row, values in layers if any(v is not None for v in values)]
    if not kept:
        return []
    rows = [
        [row["place"], *("–" if values[i] is None else columns[i].show(values[i]) for i in kept)]
        for row, values in layers[: generic.MAX_BARS]
    ]
    count, means = t3.geometric_means(
        [{str(i): values[i] for i in kept if columns[i].mean} for _, values in layers]
    )
    if len(layers) > 1 and count:
        of = "geometric mean" + (" of %d" % count if count < len(layers) else "")
        rows.append([of, *(columns[i].show(means[str(i)]) if str(i) in means else "–" for i in kept)])
    caption += generic.hidden_text(len(layers) - generic.MAX_BARS, "sub-layer")
    return [Table(["sub-layer", *(columns[i].head for i in kept)], rows, caption)]


def _of(*keys: str) -> Callable[[Json], Optional[float]]:
    def value(row: Json) -> Optional[float]:
        for key in keys:
            row = row.get(key) if row else None
        return row

    return value


def _mca_gain(row: Json) -> Optional[float]:
    slow, fast = (row["S"].get(name) for name in ("t3", t3.BEST))
    return fast / slow if fast is not None and slow else None


def _gain_table(section: Section) -> List[Figure]:
    columns = [Column(words, _of("S", name)) for name, (words, _, _) in t3.GAINS.items()]
    columns.append(Column("T3-MCA / T3", _mca_gain))
    columns.append(Column("threshold", _of("threshold_used"), percent, False))
    columns.append(Column("memory intensity", _of("memory_intensity"), percent, False))
    caption = (
        "Simulated, not measured: S = %s. Memory intensity: the part of the memory's bandwidth that the GEMM "
        "alone uses. A threshold is in per cent of the memory's queue." % _WHAT
    )
    return _table(section, columns, caption)


def _traffic_table(section: Section) -> List[Figure]:
    def ratio(name: str) -> Callable[[Json], Optional[float]]:
        return lambda row: t3.traffic_ratios(row).get(name)

    def total(variant: str) -> Callable[[Json], Optional[float]]:
        return lambda row: sum(row["bytes"][variant].values()) if variant in row["bytes"] else None

    columns = [
        Column("GEMM reads", ratio("gemm_read")),
        Column("communication reads", ratio("communication_read")),
        Column("writes of both", ratio("written")),
        Column("all", ratio("all")),
    ]
    for variant, words in _STACKS.items():
        columns.append(Column("bytes, %s" % words, total(variant), lambda v: human(v, "byte"), False))
    caption = (
        "Simulated, not measured: bytes of one after the other / bytes of T3-MCA, of the memory of one "
        "device and without the all-gather. 2 means half as many bytes with T3-MCA."
    )
    return _table(section, columns, caption)


def _split_table(section: Section) -> List[Figure]:
    units = sorted({int(n) for row in section.results["layers"] for n in row["split"]})
    columns = []
    for n in units:
        if n:
            columns.append(Column("allreduce on %d" % n, _of("split", str(n), "all_reduce_slowdown")))
            columns.append(Column("GEMM without %d" % n, _of("split", str(n), "gemm_slowdown")))
        head = "S with %s" % plural(n, "unit") if n else "S, undivided"
        columns.append(Column(head, _of("split", str(n), "potential")))
    caption = (
        "Simulated, not measured: the units divided between an allreduce and the GEMM. Time on a part of the "
        "units / time alone on all, and S = both alone / the longer of both on their parts, as if neither "
        "slowed the other. Undivided: as if both had all units."
    )
    return _table(section, columns, caption)


def _parts_table(section: Section) -> List[Figure]:
    columns = [
        Column("S, staggered", _of("S", t3.BEST)),
        Column("S, not staggered", _of("S_unstaggered")),
        Column("gain of the stagger", _of("stagger_gain")),
        Column("gain of adding memory", _of("adding_gain")),
        Column("tiles without an entry", _of("tiles_overflowed"), percent, False),
        Column("entries in use", _of("tracker_most_used"), digits, False),
    ]
    if not any(row["S_unstaggered"] or row["adding_gain"] for row in section.results["layers"]):
        columns = columns[4:]
    caption = (
        "Simulated, not measured: T3-MCA where each device begins with another chunk (staggered) and where "
        "all begin with the same. Adding memory: time of the reduce-scatter alone by kernels / by copies "
        "that memory adds. Then the tiles that found the tracker full, and the largest number of its entries "
        "in use."
    )
    return _table(section, columns, caption)


def figures(section: Section) -> List[Figure]:
    layers = t3.sub_layers(section)
    shown = _gain_panels(layers) + _gain_table(section)
    shown += _traffic_panels(layers, section.results["layers"]) + _traffic_table(section)
    return shown + _sweep_panels(layers) + _split_table(section) + _parts_table(section)


_TITLE = "Simulated: T3's tracker, adding memory and memory controller"
SPEC = SectionSpec(_TITLE, t3.results, t3.summary, figures, measured=False)
