# SPDX-License-Identifier: BSD-3-Clause
"""micro/link_contention: what devices keep of their rate to and from the host while all copy, and with a ring
of copies; and which pairs share a part of their way, as measured and by topology."""

from __future__ import annotations

import re
from statistics import median
from typing import Any, Dict, Iterator, List, Optional, Tuple

from reports.page.charts import Cell, draw_heat
from reports.records.curves import valid_value, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import digits, human, listing, percent, plural
from reports.records.records import Case
from reports.signature.section import Figure, Section, SectionSpec, table
from reports.signature.sections import generic, matrices

_PAIR = re.compile(r"pair_(\d{1,3})_(\d{1,3})\Z")
_KEPT_BY = (
    ("all", "all at once / alone"),
    ("all_with_ring", "all at once, with a ring / without"),
    ("ring_with_all", "the ring, with all copies / without"),
)
_SHARED, _APART, _UNDECIDED, _UNKNOWN = "shared", "apart", "undecided", "unknown"
_SHARED_BELOW = 0.9  # micro/link_contention/shared_links.h
_WAYS = {"up": "H2D", "down": "D2H", "both": "both ways"}

Ends = Tuple[int, int]


def _name(section: Section, place: int) -> str:
    """A device by its index, which its driver's tools use."""
    devices = section.group.run.devices
    return str(devices[place].get("index", place)) if place < len(devices) else str(place)


def _way(direction: object) -> str:
    return _WAYS.get(str(direction), str(direction))


def _pairs(case: Case) -> Dict[Ends, Dict[str, str]]:
    """Words of the fact of each pair: measured, topology, port."""
    found = {}
    for name, fact in case.facts.items():
        match = _PAIR.match(name)
        if match:
            words = dict(word.partition("=")[::2] for word in str(fact).split())
            found[int(match[1]), int(match[2])] = {"measured": _UNDECIDED, "topology": _UNKNOWN, **words}
    return found


def _groups(pairs: Dict[Ends, Dict[str, str]]) -> List[List[int]]:
    """Devices that share something with one another, directly or by others."""
    groups: List[List[int]] = []
    for (a, b), words in sorted(pairs.items()):
        if words["measured"] != _SHARED:
            continue
        joined = [g for g in groups if a in g or b in g]
        groups = [g for g in groups if g not in joined] + [sorted({a, b}.union(*joined))]
    return sorted(groups)


def _of_case(section: Section, case: Case) -> Json:
    """Pairs that are shared neither way, which are most, are counted."""
    pairs = sorted(_pairs(case).items())
    decided = [w for _, w in pairs if w["measured"] != _UNDECIDED]
    return {
        "direction": case.axes.get("direction"),
        "bandwidth": valid_value(case, "bandwidth", "all"),
        **{"%s_kept" % variant: valid_value(case, "rate_kept", variant) for variant, _ in _KEPT_BY},
        "pairs": len(pairs),
        "pairs_undecided": len(pairs) - len(decided),
        "pairs_compared": sum(w["topology"] != _UNKNOWN for w in decided),
        "shared": [
            {
                "devices": [_name(section, place) for place in ends],
                "kept": valid_value(case, "rate_kept %d+%d" % ends, "pairs"),
                "measured": words["measured"],
                "topology": words["topology"],
                "port": words.get("port", ""),
            }
            for ends, words in pairs
            if _SHARED in (words["measured"], words["topology"])
        ],
        "groups": [[_name(section, place) for place in group] for group in _groups(dict(pairs))],
    }


def results(section: Section) -> Json:
    return {"directions": [_of_case(section, case) for case in section.cases if case.derived]}


# ------------------------------------------------------------------ in words


def _label(found: Json, group: List[str]) -> str:
    """Devices, and the port that all of them share."""
    ports = {p["port"] for p in found["shared"] if set(p["devices"]) <= set(group)}
    return "+".join(group) + (" (port %s)" % ports.pop() if len(ports) == 1 and all(ports) else "")


def _sharing(found: Json) -> Iterator[str]:
    """ "devices 0+1 (port 0000:c1:00.0) and 2+3 share an upstream port: ..."."""
    shared = [p for p in found["shared"] if p["measured"] == _SHARED]
    names = [_label(found, group) for group in found["groups"]]
    if shared:
        known = {p["topology"] for p in shared} == {_SHARED}
        what = "an upstream port" if known else "something on their way to the host"
        kept = [p["kept"] for p in shared if p["kept"]]
        together = ": two together keep %s each" % percent(median(kept)) if kept else ""
        yield "devices %s share %s%s" % (listing(names), what, together)
    elif found["pairs_undecided"] < found["pairs"]:
        more = found["pairs"] > 1 and found["all_kept"] < _SHARED_BELOW
        yield "no two devices slow each other" + (", but all of them at once do" if more else "")
    if found["pairs_undecided"]:
        yield "undecided for %d of %s" % (found["pairs_undecided"], plural(found["pairs"], "pair"))


def _agreement(found: Json) -> str:
    if not found["pairs_compared"]:
        return "which ports they share by topology is unknown" if found["pairs"] else ""
    told = {_SHARED: "%s share no port by topology", _APART: "%s share a port that carries both"}
    differ = [
        told[p["measured"]] % "+".join(p["devices"])
        for p in found["shared"]
        if {p["measured"], p["topology"]} == {_SHARED, _APART}
    ]
    return "but " + listing(differ) if differ else "topology agrees"


def summary(section: Section) -> str:
    found = next((d for d in section.results["directions"] if d["all_kept"]), None)
    if not found:
        return generic.nothing(section)
    parts = [
        "%s copy at once at %s (%s), %s of what they reach where none slows another"
        % (
            plural(len(section.group.run.devices), "device"),
            human(found["bandwidth"], "byte/s"),
            _way(found["direction"]),
            percent(found["all_kept"]),
        )
    ]
    parts += [part for part in (*_sharing(found), _agreement(found)) if part]
    if found["all_with_ring_kept"] and found["ring_with_all_kept"]:
        parts.append(
            "with a ring of copies between devices they keep %s of that, and the ring keeps %s"
            % (percent(found["all_with_ring_kept"]), percent(found["ring_with_all_kept"]))
        )
    return "; ".join(parts) + "."


# ------------------------------------------------------------------ drawing


def _cell(case: Case, name: str) -> Optional[Cell]:
    for d in case.derived:
        if (d.variant, d.name) == ("pairs", name) and d.value is not None:
            return matrices.cell_of(d, why_invalid(case, d), 1.0)
    return None


def _matrix(section: Section, case: Case) -> matrices.Matrix:
    places = range(len(section.group.run.devices))
    cells = [
        [_cell(case, "rate_kept %d+%d" % (min(a, b), max(a, b))) if a != b else None for b in places]
        for a in places
    ]
    names = [_name(section, place) for place in places]
    heat = matrices.slow_is_warm(1.0, "")

    def draw(joined: str) -> str:
        return draw_heat(names, names, cells, "device", "with, %s" % joined, heat=heat, what="rate kept")

    return matrices.Matrix(_way(case.axes["direction"]), "device", names, names, cells, "", draw)


def _devices_table(section: Section) -> List[Figure]:
    rows = []
    for case in section.cases:
        for variant, text in _KEPT_BY:
            kept: Dict[str, Any] = {"direction": _way(case.axes["direction"]), "rate of a device": text}
            values = {d.name: d for d in case.derived if d.variant == variant and d.value is not None}
            for place in range(len(section.group.run.devices)):
                d = values.get("rate_kept %d" % place)
                if d:
                    mark = " ?" if why_invalid(case, d) else ""
                    kept["device " + _name(section, place)] = digits(d.value or 0.0) + mark
            rows += [kept] if len(kept) > 2 else []
    caption = "What each device keeps of its rate. 1: it loses nothing. ?: flagged invalid."
    return table(rows, caption, 2)


def _pairs_table(section: Section) -> List[Figure]:
    rows = [
        {
            "direction": _way(found["direction"]),
            "devices": "+".join(pair["devices"]),
            "measured": pair["measured"],
            "by topology": pair["topology"],
            "port": pair["port"] or "–",
            "rate kept": digits(pair["kept"]) if pair["kept"] else "–",
        }
        for found in section.results["directions"]
        for pair in found["shared"]
    ]
    caption = (
        "Pairs that share a part of their way to the host, as measured or by topology. Shared: the median "
        "of what both keep is below 0.9. The probability that any pair of a direction is called the wrong "
        "one is at most 5 %."
    )
    return table(rows, caption, 5)


def figures(section: Section) -> List[Figure]:
    drawn = [_matrix(section, case) for case in section.cases if _pairs(case)]
    caption = (
        "What two devices keep of their rates while both copy: the mean of both. Warm colours: they slow "
        "each other."
    )
    heats = matrices.figures([m for m in drawn if m.known()], caption, "cells")
    return heats + _pairs_table(section) + _devices_table(section)


SPEC = SectionSpec("Host links of all devices at once", results, summary, figures)
