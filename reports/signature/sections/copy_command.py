# SPDX-License-Identifier: BSD-3-Clause
"""micro/copy_command: what of a copy's time is fixed, and up to which size fewer commands pay."""

from __future__ import annotations

import math
from typing import List, Optional, Sequence, Tuple

from reports.records.curves import Curve, by
from reports.records.jsonl import Json
from reports.records.quantity import digits, human, listing, percent, size, spell
from reports.signature.section import Figure, Section, SectionSpec, table
from reports.signature.sections import generic
from reports.signature.sections.copies import fit_table, fits, listing_sentences, place_text, round_size

KIB, MIB = 1 << 10, 1 << 20
# Bytes -> share of a copy's time outside the copy: DMA-Latte (arXiv 2511.06605), of the phases that it
# measured on an MI300X. The last one is "less than".
PAPER_OUTSIDE = {
    2 * KIB: 0.71,
    16 * KIB: 0.67,
    64 * KIB: 0.54,
    128 * KIB: 0.49,
    256 * KIB: 0.38,
    512 * KIB: 0.28,
    1 * MIB: 0.21,
    2 * MIB: 0.11,
    4 * MIB: 0.07,
    8 * MIB: 0.03,
    16 * MIB: 0.02,
    64 * MIB: 0.01,
}
PAYS = 0.95  # of the time back to back: above it, fewer commands gain nothing to speak of
RATIOS = ("batch_time_ratio", "graph_time_ratio", "prelaunched_time_ratio")


def _outside(section: Section, lines: Sequence[Json]) -> List[Json]:
    """At every size, of each line that describes its curve."""
    found = []
    for line in lines:
        curves = [
            c
            for c in section.curves_of("bandwidth")
            if c.variant == line["variant"] and dict(c.fixed) == line["where"] and not line["poor"]
        ]
        for point in (p for c in curves for p in c.valid):
            found.append(
                {
                    "where": line["where"],
                    "size_byte": point.x,
                    "share": 1 - point.value / line["bandwidth"],
                    "paper": PAPER_OUTSIDE.get(int(point.x)),
                    "formula": "1 - bytes / (bandwidth of the line) / time of a copy",
                }
            )
    return found


def meeting(left: Tuple[float, float], right: Tuple[float, float]) -> float:
    """The size at which the ratio is PAYS, between two sizes with ratios below it and not below it. Where
    both times are a fixed part and one by bytes, 1 / (1 - ratio) is a straight line over the size; where the
    larger size has no gain left the ratio is taken to be one over the logarithm of the size."""
    (x0, r0), (x1, r1) = left, right
    if r1 < 1:
        u0, u1, wanted = (1 / (1 - r) for r in (r0, r1, PAYS))
        return x0 + (x1 - x0) * (wanted - u0) / (u1 - u0)
    return math.exp(math.log(x0) + math.log(x1 / x0) * (PAYS - r0) / (r1 - r0))


def stops_paying(points: Sequence[Tuple[float, float]]) -> Optional[float]:
    """The size from which on all ratios are at least PAYS; None where that of the largest size is not; 0
    where those of all sizes are."""
    last = max((i for i, (_, ratio) in enumerate(points) if ratio < PAYS), default=-1)
    if last == len(points) - 1:
        return None
    return meeting(points[last], points[last + 1]) if last >= 0 else 0.0


def _paying(section: Section) -> List[Json]:
    found = []
    for curve in section.curves_of(*RATIOS):
        points = [(p.x, p.value) for p in curve.best(2)]
        if len(points) < 2:
            continue
        found.append(
            {
                "where": dict(curve.fixed),
                "variant": curve.variant,
                "pays_up_to_byte": stops_paying(points),
                "least_ratio": min(ratio for _, ratio in points),
                "least_byte": points[0][0],
                "most_byte": points[-1][0],
                "formula": "size from which on seconds / seconds(back_to_back) is at least 0.95, by a line "
                "through 1 / (1 - ratio)",
            }
        )
    return found


def results(section: Section) -> Json:
    lines = fits(section, "each")
    return {"fits": lines, "outside": _outside(section, lines), "paying": _paying(section)}


def _pays(row: Json) -> str:
    at = row["pays_up_to_byte"]
    if at is None:
        return "at every size up to %s" % size(row["most_byte"])
    if at == 0:
        return "at no size from %s on" % size(row["least_byte"])
    return "up to about %s" % size(round_size(at))


def summary(section: Section) -> str:
    found = section.results
    lines = [f for f in found["fits"] if not f["poor"] and f["alpha_s"] > 0]
    costs = ["%s %s" % (human(f["alpha_s"], "s"), place_text(f["where"])) for f in lines]
    parts = ["A copy and the wait for it cost %s besides the bytes" % listing(costs)] if costs else []
    for said, rows in by([r for r in found["paying"] if r["variant"] == "batch"], _pays).items():
        parts.append("%s: a batch pays %s" % (listing([place_text(r["where"]) for r in rows]), said))
    return listing_sentences(parts) if parts else generic.nothing(section)


def _outside_rows(shares: Sequence[Json]) -> List[Json]:
    """A row for each size, a column for each direction, and the paper's."""
    rows = []
    for at in sorted({s["size_byte"] for s in shares}):
        own = [s for s in shares if s["size_byte"] == at]
        paper = own[0]["paper"]
        row = {"size of a copy": size(at)}
        row.update((place_text(s["where"]), percent(s["share"])) for s in own)
        row["DMA-Latte, MI300X"] = "–" if paper is None else ("< " if paper <= 0.01 else "") + percent(paper)
        rows.append(row)
    return rows


def _paying_rows(paying: Sequence[Json]) -> List[Json]:
    return [
        {
            "where": place_text(row["where"]),
            "sent": spell(row["variant"]),
            "pays": _pays(row),
            "least time, back to back = 1": digits(row["least_ratio"]),
        }
        for row in paying
    ]


def _time_curves(section: Section) -> List[Curve]:
    return [c for c in section.curves_of("copy_time") if len(c.points) > 1]


def figures(section: Section) -> List[Figure]:
    found = section.results
    shown = generic.line_panels(_time_curves(section), "Time of one copy, by the way in which it was sent.")
    if found["fits"]:
        shown.append(fit_table(found["fits"]))
    shown += table(
        _outside_rows(found["outside"]),
        "Share of the time of a copy and the wait for it that is not the bytes at the line's bandwidth. The "
        "paper measured its phases, of copies between devices; compare how the share falls.",
    )
    shown += table(
        _paying_rows(found["paying"]),
        "Up to which size the same copies sent otherwise take less than 0.95 of their time back to back.",
        3,
    )
    return shown + generic.line_panels(section.curves_of("swap_time_ratio"))


SPEC = SectionSpec("What a copy command costs", results, summary, figures)
