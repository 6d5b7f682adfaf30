# SPDX-License-Identifier: BSD-3-Clause
"""micro/copy_path: a line for every path (start-up cost and bandwidth), and the size at which the faster path
changes."""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from reports.records.curves import Curve, axis_unit, by, curves_of, fixed_text, numeric_axis, split_number
from reports.records.fits import MIN_FOR_LINE, LineFit, envelope, fit_line, compare_rates, saturation
from reports.records.jsonl import Json, is_number
from reports.records.quantity import human, human_interval, listing, percent, size, way
from reports.records.records import Scalar
from reports.signature.section import Figure, Section, SectionSpec, Table
from reports.signature.sections import generic


def _pairs(section: Section, curve: Curve) -> List[Tuple[float, float]]:
    """Bytes moved and median seconds of the curve's best points."""
    pairs = []
    for point in curve.best(MIN_FOR_LINE):
        variant = section.group.cases[point.key].variant(curve.variant)
        if variant and variant.bytes and point.value:
            pairs.append((variant.bytes, variant.bytes / point.value))
    return pairs


def fits(section: Section, only: str = "") -> List[Json]:
    """The line of every variant, or of one."""
    found = []
    for curve in section.curves_of("bandwidth"):
        if only and curve.variant != only:
            continue
        fit: Optional[LineFit] = fit_line(_pairs(section, curve)) if curve.axis_unit == "byte" else None
        if fit:
            found.append(dict(fit.as_json(), variant=curve.variant, where=dict(curve.fixed)))
    return found


def _path_pairs(section: Section) -> List[Tuple[Curve, Curve]]:
    """Per place the engine, and the best of all kernels without a fixed number of blocks."""
    pairs = []
    sized = [c for c in section.curves_of("bandwidth") if c.axis_unit == "byte"]
    for curves in by(sized, lambda c: fixed_text(c.fixed)).values():
        engine = [c for c in curves if c.variant == "engine"]
        kernel = envelope(
            [c for c in curves if c.variant.startswith("kernel") and not split_number(c.variant)], "kernel"
        )
        if engine and kernel:
            pairs.append((engine[0], kernel))
    return pairs


def _crossovers(section: Section) -> List[Json]:
    found = []
    for engine, kernel in _path_pairs(section):
        result = compare_rates(engine, kernel, engine.variant, kernel.variant)
        if result:
            found.append(
                {
                    "where": dict(engine.fixed),
                    "sides": [engine.variant, kernel.variant],
                    "wins": dict(result.wins),
                    "ties": result.ties,
                    "points": result.points,
                    "crossings": [
                        {
                            "size_byte": c.x,
                            "below": c.below,
                            "above": c.above,
                            "from": c.before,
                            "to": c.after,
                        }
                        for c in result.crossings
                    ],
                    "formula": "size at which the bandwidths meet, log-log between the last and the first "
                    "size with intervals apart",
                }
            )
    return found


def block_curves(section: Section) -> List[Curve]:
    """Bandwidth over the number of blocks, at the largest size of every place."""
    every = curves_of(section.group, by_variant=True)
    curves = [c for c in every if c.derived == "bandwidth" and len(c.points) > 2]
    largest: Dict[str, Curve] = {}
    size_axis = numeric_axis(section.group)
    for curve in curves:
        where = fixed_text({k: v for k, v in curve.fixed.items() if k != size_axis}) + "/" + curve.axis
        if where not in largest or curve.fixed.get(size_axis, 0) > largest[where].fixed.get(size_axis, 0):
            largest[where] = dataclasses.replace(curve, variant=curve.axis, axis="blocks")
    return list(largest.values())


def _saturation(section: Section) -> List[Json]:
    found = []
    for curve in block_curves(section):
        result = saturation(curve)
        if result:
            place = {"where": dict(curve.fixed), "copy_method": curve.variant}
            most = {"blocks": result[0], "maximum": result[1], "unit": curve.unit}
            formula = "smallest number of blocks with 95 % of the maximum"
            found.append({**place, **most, "formula": formula})
    return found


def _peaks(section: Section) -> List[Json]:
    found = []
    for curve in section.curves_of("bandwidth"):
        if curve.valid:
            best = max(curve.best(1), key=lambda p: p.value)
            peak = {"value": best.value, "at": best.x, "ci_low": best.ci_low, "ci_high": best.ci_high}
            place = {"where": dict(curve.fixed), "variant": curve.variant}
            found.append({**place, **peak, "bound": best.bound})
    return found


def results(section: Section) -> Json:
    return {
        "fits": fits(section),
        "crossovers": _crossovers(section),
        "saturation": _saturation(section),
        "peaks": _peaks(section),
    }


def _shown(section: Section, fixed: Mapping[str, Scalar]) -> Dict[str, Scalar]:
    return {
        name: size(v) if axis_unit(section.group, name) == "byte" and is_number(v) else v
        for name, v in fixed.items()
    }


def place_text(fixed: Json) -> str:
    return " ".join(way(str(v)) for v in fixed.values())


def _verdict(pair: Json) -> str:
    engine, kernel = pair["sides"]
    crossings = pair["crossings"]
    if len(crossings) == 1:
        crossing = crossings[0]
        at = size(round_size(crossing["size_byte"]))
        return "%s copies are faster up to about %s, %s copies above" % (crossing["from"], at, crossing["to"])
    both = "%s and %s copies" % (engine, kernel)
    if crossings:
        return "the faster of %s changes %d times with the size" % (both, len(crossings))
    leader = max((engine, kernel), key=lambda n: pair["wins"][n])
    wins, points = pair["wins"][leader], pair["points"]
    if wins == 0:
        return "%s are equally fast at every size (within 2 %% or within noise)" % both
    if wins == points:
        return "%s copies are faster at every size" % leader
    return "%s copies are faster at %d of %d sizes and never slower" % (leader, wins, points)


def _verdicts(pairs: Sequence[Json]) -> List[str]:
    """Directions with the same verdict share a sentence."""
    said = by(pairs, _verdict).items()
    return ["%s: %s" % (listing([place_text(p["where"]) for p in own]), verdict) for verdict, own in said]


def round_size(value: float) -> float:
    """Two significant digits: an interpolated size is no more precise."""
    return float("%.2g" % (value / 1024)) * 1024 if value >= 1024 else float("%.2g" % value)


def summary(section: Section) -> str:
    found = section.results
    parts = _verdicts(found["crossovers"])
    if not parts and found["peaks"]:
        best = max(found["peaks"], key=lambda p: p["value"])
        parts = [
            "The fastest path is %s (%s), %s at %s"
            % (best["variant"], place_text(best["where"]), human(best["value"], "byte/s"), size(best["at"]))
        ]
    at = sorted({s["blocks"] for s in found["saturation"]})
    if at:
        span = "%d" % at[0] if len(at) == 1 else "%d to %d" % (at[0], at[-1])
        parts.append(
            "%s enough for 95 %% of a kernel copy's bandwidth"
            % ("1 block is" if span == "1" else span + " blocks are")
        )
    return listing_sentences(parts) if parts else generic.nothing(section)


def listing_sentences(parts: List[str]) -> str:
    return "; ".join(parts[:4]) + (" (and %d more)" % (len(parts) - 4) if len(parts) > 4 else "") + "."


def fit_table(lines: List[Json]) -> Table:
    rows = [
        [
            place_text(fit["where"]),
            fit["variant"],
            human(fit["alpha_s"], "s") if fit["alpha_s"] > 0 else "none seen",
            human_interval(*fit["alpha_ci"], fit["alpha_s"], "s"),
            human(fit["bandwidth"], "byte/s"),
            human_interval(*(fit["bandwidth_ci"] or (None, None)), fit["bandwidth"], "byte/s"),
            size(round_size(fit["half_size_byte"])) if fit["half_size_byte"] else "–",
            percent(fit["rms_residual"]),
            percent(fit["max_residual"]),
            "no" if fit["poor"] else "yes",
        ]
        for fit in lines
    ]
    return Table(
        [
            *("where", "path", "start-up α", "95 %", "bandwidth 1/β", "95 %", "half size α/β"),
            *("residual rms", "worst", "straight line?"),
        ],
        rows,
        "A line t(bytes) = α + β·bytes for each path, by least squares on relative residuals: every size "
        "counts equally. If the worst residual is above 25 %, the curve is not a straight line and its fit "
        "gives no metric.",
        2,
    )


def figures(section: Section) -> List[Figure]:
    """The paths by size, the fitted lines, the number of blocks, and what cutting costs."""
    free = [c for c in section.curves_of("bandwidth") if not split_number(c.variant)]
    shown = generic.line_panels(free)
    lines = [f for f in section.results["fits"] if not split_number(f["variant"])]
    if lines:
        shown.append(fit_table(lines))
    by_blocks = [dataclasses.replace(c, fixed=_shown(section, c.fixed)) for c in block_curves(section)]
    shown += generic.line_panels(
        by_blocks, "Bandwidth over the number of blocks of the kernel, at the largest size of each direction."
    )
    others = [c for c in section.curves if c.derived not in ("bandwidth", "time") and len(c.points) > 1]
    return shown + generic.line_panels(others)


SPEC = SectionSpec("Copies by engine and by kernel", results, summary, figures)
