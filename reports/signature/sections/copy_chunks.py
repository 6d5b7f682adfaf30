# SPDX-License-Identifier: BSD-3-Clause
"""micro/copy_chunks: in which chunks to copy, so that small copies do not wait?"""

from __future__ import annotations

import statistics
from typing import Dict, List, Optional, Tuple

from reports.records.curves import by, valid_value
from reports.records.jsonl import Json, is_number
from reports.records.quantity import human, percent, size, way
from reports.records.records import Case
from reports.signature.chunks import KEEP, advised, text_of
from reports.signature.section import Figure, Panels, Section, SectionSpec, table
from reports.signature.sections import generic

_VARIANTS = {
    "nothing": "chunks",
    "event": "chunks_event",
    "value": "chunks_value",
    "kernel": "chunks_kernel",
}
_PLACE = ("direction", "small", "bulk")


def _point(case: Case, name: str) -> Optional[Json]:
    kept = valid_value(case, "rate_kept", _VARIANTS[name])
    waits = [valid_value(case, "time", v) for v in ("wait_" + _VARIANTS[name], "wait_whole")]
    if not (kept and all(waits)):
        return None
    values = dict(zip(("wait_s", "whole_wait_s"), waits))
    return {"yield": name, "chunk_byte": case.axes["chunk"], "rate_kept": kept, **values}


def _typical(cases: List[Case], variant: str) -> Optional[float]:
    waits = [w for w in (valid_value(case, "time", variant) for case in cases) if w]
    return statistics.median(waits) if waits else None


def _way(place: Tuple[str, int, int], cases: List[Case]) -> Optional[Json]:
    """The waits do not depend on the chunk: behind the largest bulk, and behind none."""
    largest = max(int(c.number("bulk_bytes") or 0) for c in cases)
    whole = _typical([c for c in cases if c.number("bulk_bytes") == largest], "wait_whole")
    idle = _typical(cases, "wait_idle")
    if not (whole and idle and largest):
        return None
    points = [p for p in (_point(case, name) for name in _VARIANTS for case in cases) if p]
    points.sort(key=lambda p: (list(_VARIANTS).index(p["yield"]), p["chunk_byte"]))
    found = {"direction": place[0], "small_byte": place[1], "bulk_byte": largest}
    found.update(whole_wait_s=whole, idle_wait_s=idle, points=points)
    return dict(found, advice=advised(found))


def results(section: Section) -> Json:
    cases = [c for c in section.cases if all(is_number(c.axes.get(a)) for a in ("chunk", "small", "bulk"))]
    places = by(cases, lambda c: tuple(c.axes[a] for a in _PLACE))
    return {"ways": [w for w in (_way(place, own) for place, own in places.items()) if w], "keep": KEEP}


def summary(section: Section) -> str:
    ways = section.results["ways"]
    if not ways:
        return generic.nothing(section)
    small = min(w["small_byte"] for w in ways)
    told = [
        "%s: %s" % (way(w["direction"]), text_of(w, w["advice"])) for w in ways if w["small_byte"] == small
    ]
    return "; ".join(told) + "."


def _row(found: Json) -> Dict[str, str]:
    advice = found["advice"]
    row = {
        "direction": way(found["direction"]),
        "between chunks": advice.get("yield", "–"),
        "chunk": size(advice["chunk_byte"]) if "chunk_byte" in advice else "–",
        "small copy": size(found["small_byte"]),
        "waits": human(advice.get("wait_s"), "s"),
        "behind %s" % size(found["bulk_byte"]): human(advice["whole_wait_s"], "s"),
        "without a bulk": human(advice["idle_wait_s"], "s"),
    }
    return dict(row, **{"rate kept": percent(advice["rate_kept"]) if "rate_kept" in advice else "–"})


def figures(section: Section) -> List[Figure]:
    waits = generic.line_panels([c for c in section.curves_of("time") if c.variant.startswith("wait_")])
    rates = generic.line_panels(section.curves_of("rate_kept"))
    pairs = zip(*(figure.charts for figure in (*waits, *rates) if isinstance(figure, Panels)))
    charts = [chart for pair in pairs for chart in pair]  # both of a direction side by side
    caption = (
        "Wait of a small copy that becomes ready while the bulk runs, and rate of a bulk in chunks / rate of "
        "one copy, over the size of a chunk; %s is wanted." % percent(KEEP)
    )
    told = table(
        [_row(w) for w in section.results["ways"]],
        "The smallest chunks that keep %s of the rate, with what must stand between them." % percent(KEEP),
        2,
    )
    return [Panels(charts, caption), *told] if charts else told


SPEC = SectionSpec("Bulk copies in chunks", results, summary, figures)
