# SPDX-License-Identifier: BSD-3-Clause
"""gemm/efficiency and gemm/split: how near to peak a GEMM comes, and what cutting it costs."""

from __future__ import annotations

import re
import statistics
from typing import List, Optional, Tuple

from reports.page.charts import LineChart
from reports.records.curves import Curve, by, curves_of, fixed_text, value_of, varying, why_invalid
from reports.records.jsonl import Json, is_number
from reports.records.quantity import NOMINAL, digits, human, listing, percent, plural
from reports.signature.section import Bars, Figure, Section, SectionSpec, table
from reports.signature.sections import generic

_LOOPS = ("peak", "mma_peak", "wgmma_peak")  # what GEMMs are compared with
PEAK = "measured peak"
COLD = "gemm_cold"  # compared with the warm one alone
_SHAPE = re.compile(r"([0-9]{1,9})x([0-9]{1,9})x([0-9]{1,9})\Z")

Sides = Tuple[int, int, int]


def sides_of(section: Section, key: str) -> Optional[Sides]:
    """M, N and K of a case, from its facts or else from a shape written "MxNxK"."""
    case = section.group.cases[key]
    facts = [case.facts.get(name) for name in ("m", "n", "k")]
    if all(is_number(f) for f in facts):
        return int(facts[0]), int(facts[1]), int(facts[2])
    match = _SHAPE.match(str(case.axes.get("shape", "")))
    return (int(match.group(1)), int(match.group(2)), int(match.group(3))) if match else None


def shape_text(section: Section, key: str) -> str:
    sides, word = sides_of(section, key), str(section.group.cases[key].axes.get("shape", ""))
    if sides is None:
        return word or key
    text = "%d×%d×%d" % sides
    return text if word in ("n%d" % sides[0], text.replace("×", "x")) else "%s %s" % (word, text)


# ------------------------------------------------------------------ efficiency


def _rates(section: Section, valid_only: bool) -> List[Json]:
    rows = []
    for case, derived in section.values("flop_rate", "op_rate"):
        if derived.variant in _LOOPS or derived.variant == COLD:
            continue
        why = why_invalid(case, derived)
        if why and valid_only:
            continue
        share = value_of(case, "fraction_of_peak", derived.variant) or value_of(case, "fraction_of_peak")
        kind = str(case.axes.get("type", "")) + (" fast" if derived.variant == "gemm_fast" else "")
        rows.append(
            {
                "key": case.key,
                "type": kind,
                "shape": shape_text(section, case.key),
                "variant": derived.variant,
                "value": derived.value,
                "unit": derived.unit,
                "why": why,
                "of_nominal": derived.share if derived.bound_name == NOMINAL else None,
                "of_peak": share.value if share else None,
                "derived": derived,
            }
        )
    return rows


def efficiency_results(section: Section) -> Json:
    rows = [{k: v for k, v in row.items() if k not in ("derived", "why")} for row in _rates(section, True)]
    cold = [
        {"type": str(c.axes.get("type", "")), "shape": shape_text(section, c.key), "value": d.value}
        for c, d in section.values("cold_time_ratio")
        if not why_invalid(c, d)
    ]
    return {
        "rates": rows,
        "cold_time_ratio": cold,
        "formula": "flop_rate = flops / median_s, of integers op_rate = ops / median_s; of_nominal = "
        "rate / nominal rate; of_peak = fraction_of_peak, formed round by round",
    }


def _shares(row: Json) -> str:
    return "".join(
        ", %s of %s" % (percent(row[key]), name)
        for key, name in (("of_nominal", NOMINAL), ("of_peak", PEAK))
        if row[key]
    )


def efficiency_summary(section: Section) -> str:
    rates = section.results["rates"]
    if not rates:
        return generic.nothing(section)
    parts = []
    for kind, own in by(rates, lambda r: r["type"]).items():
        best, worst = max(own, key=lambda r: r["value"]), min(own, key=lambda r: r["value"])
        text = "%s: at best %s with %s%s" % (
            kind or "all types",
            human(best["value"], best["unit"]),
            best["shape"],
            _shares(best),
        )
        if worst is not best:
            share = percent(worst["value"] / best["value"])
            text += "; the slowest shape, %s, has %s of that rate" % (worst["shape"], share)
        parts.append(text)
    worst_cold = max(section.results["cold_time_ratio"], key=lambda r: r["value"], default=None)
    if worst_cold:
        parts.append(
            "all with warm operands; with cold ones a GEMM takes up to %s times as long (%s %s)"
            % (digits(worst_cold["value"]), worst_cold["type"], worst_cold["shape"])
        )
    return "; ".join(parts) + "."


def efficiency_figures(section: Section) -> List[Figure]:
    rows = _rates(section, False)
    shown: List[Figure] = []
    for kind, own in by(rows, lambda r: r["type"]).items():
        best = max(r["value"] for r in own)
        bars = []
        for row in own:
            bar = generic.bar_of(section.group.cases[row["key"]], row["derived"], row["shape"])
            if not row["of_nominal"]:
                bar.of, bar.of_name = (
                    (row["value"] / row["of_peak"], PEAK) if row["of_peak"] else (best, "the best of these")
                )
            bars.append(bar)
        caption = "%s: %s. A full bar is 100 %% of %s." % (
            kind or "all types",
            own[0]["derived"].formula or "flops / time",
            bars[0].of_name,
        )
        shown.append(Bars(bars, caption, (kind + " " if kind else "") + "shape M×N×K"))
    return _best_table(rows) + shown


def _best_table(rows: List[Json]) -> List[Figure]:
    """The fastest shape of every type, with what it is a share of."""
    valid = by((row for row in rows if not row["why"] and row["value"] > 0), lambda row: row["type"])
    best = {kind: max(own, key=lambda row: row["value"]) for kind, own in valid.items()}
    cells = [
        {
            "type": kind,
            "fastest shape": row["shape"],
            "rate": human(row["value"], row["unit"]),
            "% of nominal": percent(row["of_nominal"] or None),
            "% of measured peak": percent(row["of_peak"] or None),
        }
        for kind, row in best.items()
    ]
    return table(cells, "The fastest GEMM of each type.", 2)


EFFICIENCY = SectionSpec("GEMM: rate and peak", efficiency_results, efficiency_summary, efficiency_figures)


# ------------------------------------------------------------------ split


def _is_loss(curve: Curve) -> bool:
    return "dil" in curve.derived.lower()


def _is_model(curve: Curve) -> bool:
    return "traffic" in curve.derived.lower() or "model" in curve.derived.lower()


def _split_curves(section: Section) -> List[Curve]:
    return [c for c in curves_of(section.group, by_variant=True) if _is_loss(c) or _is_model(c)]


def split_results(section: Section) -> Json:
    losses = []
    for curve in _split_curves(section):
        if _is_loss(curve) and curve.valid:
            losses.append(
                {
                    "where": dict(curve.fixed),
                    "cut": curve.axis,
                    "key": curve.points[0].key,
                    "pieces": [p.x for p in curve.valid],
                    "dil": [p.value for p in curve.valid],
                    "formula": curve.formula,
                }
            )
    return {"dil": losses, "rule": _rule(section, losses)}


def _rule(section: Section, losses: List[Json]) -> Json:
    """K < 2M says that cutting rows costs less than cutting K; asked only well away from the border."""
    asked = []
    for rows in (e for e in losses if e["cut"] == "m"):
        depth = next((e for e in losses if e["cut"] == "k" and e["where"] == rows["where"]), None)
        sides = sides_of(section, rows["key"])
        if depth is None or sides is None or sides[0] / 2 < sides[2] < 8 * sides[0]:
            continue
        common = [
            (m, k)
            for x, m in zip(rows["pieces"], rows["dil"])
            for y, k in zip(depth["pieces"], depth["dil"])
            if x == y
        ]
        if common:
            predicted, measured = sides[2] < 2 * sides[0], common[-1][0] < common[-1][1]
            found = {"predicted": "m" if predicted else "k", "measured": "m" if measured else "k"}
            asked.append({"where": rows["where"], **found})
    return {
        "formula": "cutting along M moves fewer bytes than along K iff K < 2M; asked where K <= M/2 or K >= "
        "8M, at the largest common number of pieces",
        "asked": asked,
        "right": sum(a["predicted"] == a["measured"] for a in asked),
    }


def split_summary(section: Section) -> str:
    losses = section.results["dil"]
    if not losses:
        return generic.nothing(section)

    worst = max(losses, key=lambda e: max(e["dil"]))
    text = (
        "Cut into pieces, a GEMM takes up to %s times as long as in one piece (%s cut along %s into %d)"
        % (
            digits(max(worst["dil"])),
            worst["where"].get("shape", fixed_text(worst["where"])),
            worst["cut"].upper(),
            worst["pieces"][worst["dil"].index(max(worst["dil"]))],
        )
    )
    medians = []
    for cut, own in by(losses, lambda e: e["cut"]).items():
        values = [v for e in own for p, v in zip(e["pieces"], e["dil"]) if p == 8]
        if values:
            medians.append("%s times along %s" % (digits(statistics.median(values)), cut.upper()))
    if medians:
        text += "; with 8 pieces, the median is %s" % listing(medians)
    rule = section.results["rule"]
    if rule["asked"]:
        text += "; the rule of thumb K < 2M picks the cheaper cut for %d of %s" % (
            rule["right"],
            plural(len(rule["asked"]), "shape"),
        )
    return text + "."


def split_figures(section: Section) -> List[Figure]:
    curves = _split_curves(section)
    named = [n for n in varying(curves) if n != "shape"]

    def title_of(curve: Curve) -> str:
        shape = shape_text(section, curve.points[0].key)
        return ", ".join(filter(None, (shape, generic.place(curve.fixed, named))))

    cuts = {cut: i for i, cut in enumerate(("m", "k", "n"))}
    charts = []
    for title, own in by(curves, title_of).items():
        series = []
        for c in own:
            model, colour = _is_model(c), cuts.get(c.axis, 3)
            name = c.axis.upper() + (" traffic" if model else "")
            series.append(generic.series_of(c, name, colour, dashed=model, quiet=model))
        charts.append(
            LineChart(title, "pieces", "", "", series, across=[(1.0, "")], y_name="time / time of the whole")
        )
    caption = (
        "DIL (decomposition inefficiency loss) = time of the pieces one after another / time of the whole, "
        "by the direction of the cut. Broken lines: the traffic model, bytes of the pieces / bytes of the "
        "whole on a machine without caches."
    )
    return generic.panels(charts, caption, zero=False) + _split_table(section, curves)


def _split_table(section: Section, curves: List[Curve]) -> List[Figure]:
    """One row for each cut: the loss and, in brackets, the prediction of the traffic model."""
    losses, models = [c for c in curves if _is_loss(c)], [c for c in curves if _is_model(c)]
    pieces = sorted({p.x for c in losses for p in c.points})[:8]
    rows = []
    for loss in losses:
        model = next((m for m in models if (m.axis, m.fixed) == (loss.axis, loss.fixed)), None)
        expected = {p.x: p.value for p in model.points} if model else {}
        cells = {
            p.x: (digits(p.value) if p.valid else "invalid")
            + (" (%s)" % digits(expected[p.x]) if expected.get(p.x) else "")
            for p in loss.points
            if p.value is not None
        }
        rows.append(
            {
                "case": generic.place(loss.fixed, [n for n in loss.fixed if n != "shape"]),
                "shape M×N×K": shape_text(section, loss.points[0].key),
                "cut along": loss.axis.upper(),
                **{"%d" % x: cells.get(x, "–") for x in pieces},
            }
        )
    caption = "DIL by the number of pieces; in brackets what the traffic model predicts."
    return table(rows[: generic.MAX_BARS], caption, 3)


SPLIT = SectionSpec("GEMM: cost of cutting", split_results, split_summary, split_figures)
