# SPDX-License-Identifier: BSD-3-Clause
"""micro/copy_queue: who waits for whom at a copy engine?"""

from __future__ import annotations

from typing import Dict, List, Optional

from reports.page.bar_chart import Across, ChartBar, draw_bars
from reports.records.curves import by, valid_value, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import digits, human, in_brackets, listing, percent, way
from reports.records.records import Case
from reports.signature.section import Figure, Panels, Section, SectionSpec, table
from reports.signature.sections import generic

_WAITS = {
    "behind_bulk": "behind one copy",
    "behind_bulk_priority": "the same, of high priority",
    "behind_bulk_kernel": "the same, by a kernel",
    "behind_bulk_opposite": "the same, in the other direction",
    "behind_chunks": "behind 16 chunks",
    "behind_chunks_priority": "the same, of high priority",
}
_TURNS = ("first_ready", "first_enqueued", "high_first_ready", "high_first_enqueued")
_ORDERS = {
    "ready_first": "engines take what became ready first",
    "enqueued_first": "engines take what was enqueued first",
    "stream_first": "engines go on with the stream of their last copy, else take what became ready first",
    "round_robin": "engines take streams in turn",
}
_ALL, _NONE = 0.9, 0.2  # of the bulk's rest


def _of(case: Case) -> Json:
    shares = {v: valid_value(case, "wait_share", v) for v in _WAITS}
    turns = {v: valid_value(case, "turn", v) for v in _TURNS}
    return {
        "direction": case.axes.get("direction"),
        "bulk_byte": case.axes.get("size"),
        "small_byte": case.axes.get("small"),
        "wait_s": valid_value(case, "time", "behind_bulk"),
        "alone_s": valid_value(case, "time", "alone"),
        "wait_share": {v: share for v, share in shares.items() if share is not None},
        "turn": {v: turn for v, turn in turns.items() if turn is not None},
        "switch_s": valid_value(case, "switch_time", "switch"),
        "order": case.facts.get("engine_order"),
        "priority": case.facts.get("priority_effect"),
    }


def results(section: Section) -> Json:
    found = [_of(case) for case in section.cases if case.derived]
    return {"ways": [w for w in found if w["wait_share"]]}


def _wait_text(share: Optional[float]) -> str:
    if share is None:
        return "a wait that was not measured"
    return "all of" if share >= _ALL else "next to nothing of" if share <= _NONE else percent(share) + " of"


def _way_text(found: Json, times: str = "") -> str:
    share: Dict[str, float] = found["wait_share"]
    text = "a small copy waits for %s a bulk copy%s" % (_wait_text(share.get("behind_bulk")), times)
    if share.get("behind_bulk", 0.0) > _NONE and "behind_chunks" in share:
        text += ", and for %s one that is made in 16 chunks" % _wait_text(share["behind_chunks"])
    if found["order"] in _ORDERS:
        text += "; " + _ORDERS[found["order"]]
    if found["priority"] in ("yes", "no effect here"):
        text += "; priority %s" % ("counts" if found["priority"] == "yes" else "has no effect")
    return text


def summary(section: Section) -> str:
    ways = section.results["ways"]
    if not ways:
        return generic.nothing(section)
    small = min(w["small_byte"] for w in ways)
    told = by([w for w in ways if w["small_byte"] == small], _way_text)
    parts = []
    for alike in told.values():
        longest = max(alike, key=lambda w: w["wait_s"] or 0.0)
        times = ""
        if longest["wait_s"] and longest["alone_s"]:
            times = " (%s, alone %s)" % (human(longest["wait_s"], "s"), human(longest["alone_s"], "s"))
        ways_text = listing([way(str(w["direction"])) for w in alike])
        parts.append("%s: %s" % (ways_text, _way_text(longest, times)))
    return ". ".join(parts) + "."


def _bars(case: Case) -> str:
    bars = []
    for derived in (d for d in case.derived if d.name == "wait_share" and d.value is not None):
        why = why_invalid(case, derived)
        note = digits(derived.value) + in_brackets(derived.ci_low, derived.ci_high, derived.value)
        note += "; " + (why or derived.grade_reason) if why or derived.grade_reason else ""
        name = _WAITS.get(derived.variant or "", derived.variant or "")
        bars.append(
            ChartBar(name, derived.value, not why, bool(derived.grade), derived.ci_low, derived.ci_high, note)
        )
    title = "%s, %s" % (way(str(case.axes.get("direction"))), human(case.axes.get("small"), "byte"))
    full = max([1.0] + [bar.value for bar in bars if bar.valid])
    return draw_bars(title, "wait / rest of the bulk", bars, full, [Across(1.0, "all of it", "bound")])


def figures(section: Section) -> List[Figure]:
    cases = [c for c in section.cases if any(d.name == "wait_share" for d in c.derived)]
    if not cases:
        return generic.figures(section)
    rows = []
    for found in section.results["ways"]:
        row = {
            "direction": way(str(found["direction"])),
            "order": str(found["order"] or "–"),
            "priority": str(found["priority"] or "–"),
            "small copy": human(found["small_byte"], "byte"),
        }
        row.update({name.replace("_", " "): human(found["turn"].get(name)) for name in _TURNS})
        row["change of streams"] = human(found["switch_s"], "s")
        rows.append(row)
    caption = (
        "Wait of a small copy that becomes ready while another stream copies in bulk / rest of the bulk; a "
        "wait of 1 is for all of it."
    )
    return [Panels([_bars(case) for case in cases[: generic.MAX_PANELS]], caption)] + table(
        rows,
        "The turns in which an engine takes two chunks that become ready while the first of four in another "
        "stream is copied, in units of a chunk, tell its order; high: in a stream of the highest priority.",
        3,
    )


SPEC = SectionSpec("Copies that wait for copies", results, summary, figures)
