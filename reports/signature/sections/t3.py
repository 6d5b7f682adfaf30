# SPDX-License-Identifier: BSD-3-Clause
"""overlap/t3: what T3's hardware would bring to sub-layers of transformers. No device has it; its simulation
gives no metric."""

from __future__ import annotations

import statistics
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from reports.records.causes import GRADES
from reports.records.curves import by, flag_text, split_number, why_invalid
from reports.records.jsonl import Json, is_number
from reports.records.quantity import digits, listing, percent, plural
from reports.records.records import Case, Derived
from reports.signature.section import Section
from reports.signature.sections import generic

SIMULATION = "A simulation of hardware that no device has"
# name -> how it is called, the quantity and its variant; each should gain at least as much as the one before
# it.
GAINS: Dict[str, Tuple[str, str, Optional[str]]] = {
    "t3": ("T3", "S", "t3"),
    "t3_mca": ("T3-MCA", "S", "t3_mca"),
    "ideal": ("ideal", "S_ideal", None),
    "ideal_adding": ("ideal with adding memory", "S_ideal_adding", None),
}
ORDER = ("t3", "t3_mca", "ideal")
SEQUENTIAL, BEST = "sequential", "t3_mca"
COUNTED = (
    "gemm_alone",
    "reduce_scatter_alone",
    "reduce_scatter_adding",
    SEQUENTIAL,
    "t3",
    BEST,
    "t3_mca_unstaggered",
)
TRAFFIC = ("computing_read", "computing_written", "communication_read", "communication_written")
# quantity -> the variants that it is of besides its own
_IDEAL = (SEQUENTIAL, "gemm_alone", "all_gather_alone")
_OTHERS = {
    "S": (SEQUENTIAL,),
    "S_ideal": (*_IDEAL, "reduce_scatter_alone"),
    "S_ideal_adding": (*_IDEAL, "reduce_scatter_adding"),
    "stagger_gain": (BEST,),
    "adding_gain": ("reduce_scatter_alone",),
    "slowdown": ("gemm_alone", "all_reduce_alone"),
    "S_potential": ("gemm_alone", "all_reduce_alone"),
    **{name + "_bytes": ("all_gather_alone",) for name in TRAFFIC},
}
_TIE = 1.001  # a gain that is larger by up to this factor is not larger
_NAMED = 3  # sub-layers in a sentence

Means = Tuple[int, Dict[str, float]]  # of how many rows, and of each column


def why_unused(case: Case, derived: Derived) -> str:
    """A modelled value is valid whatever befell its variants (bench/bench.h); here what is wrong with one
    counts. Empty: used."""
    variants = (None, derived.variant, *_OTHERS.get(derived.name, ()))
    flags = [
        f
        for f in case.flags
        if f.flag not in GRADES and f.variant in variants and f.quantity in (None, derived.name)
    ]
    return why_invalid(case, derived) or next((flag_text(f.flag, f.reason) for f in flags), "")


def used_value(case: Case, name: str, variant: Optional[str]) -> Optional[float]:
    found = (d for d in case.derived if (d.name, d.variant) == (name, variant))
    return next((d.value for d in found if not why_unused(case, d)), None)


class SubLayer(NamedTuple):
    """`case` is the one whose threshold the program's rule chose, else the one with the lowest; `sweep` are
    those with a given threshold, from the lowest."""

    place: str
    group: str  # the place without the layer
    name: str  # the place without the group
    case: Case
    sweep: Sequence[Case]


def threshold_of(case: Case) -> float:
    """A threshold in per cent; 0: chosen by the rule."""
    threshold = case.axes.get("threshold")
    return float(threshold) if is_number(threshold) else 0.0


def sub_layers(section: Section) -> List[SubLayer]:
    places = ("model", "layer", "type")
    known = [case for case in section.cases if case.derived]
    found = by(known, lambda case: tuple(str(case.axes.get(name, "")) for name in places))
    several = len({kind for _, _, kind in found}) > 1
    layers = []
    for (model, layer, kind), cases in found.items():
        cases.sort(key=threshold_of)
        given = ", threshold %s %%" % digits(threshold_of(cases[0])) if threshold_of(cases[0]) else ""
        group = " ".join(filter(None, (model, kind * several)))
        place = " ".join(filter(None, (model, layer, kind * several))) + given
        layers.append(SubLayer(place, group, layer + given, cases[0], [c for c in cases if threshold_of(c)]))
    return layers


# ------------------------------------------------------------------ results


def _traffic(case: Case, variant: str) -> Optional[Json]:
    """Bytes of one device by class and direction; nothing where one is unknown."""
    values = {name: used_value(case, name + "_bytes", variant) for name in TRAFFIC}
    return values if all(v is not None and v >= 0 for v in values.values()) else None


def _split(case: Case) -> Json:
    """Units of communication -> what each side loses and what overlap could gain; 0: no units are divided."""
    found: Dict[int, Dict[str, float]] = {}
    for derived in case.derived:
        stem, units = split_number(derived.variant) or ("", 0.0)
        if derived.name in ("slowdown", "S_potential") and units and not why_unused(case, derived):
            side = "all_reduce" if stem.startswith("all_reduce") else "gemm"
            name = "potential" if derived.name == "S_potential" else side + "_slowdown"
            found.setdefault(int(units), {})[name] = derived.value
    alone = [v.median_s for v in map(case.variant, ("gemm_alone", "all_reduce_alone")) if v and v.median_s]
    if found and len(alone) == 2 and min(alone) > 0:
        found[0] = {"potential": sum(alone) / max(alone)}
    return {str(units): found[units] for units in sorted(found)}


def _row(layer: SubLayer) -> Json:
    case = layer.case
    gains = {name: used_value(case, *GAINS[name][1:]) for name in GAINS}
    traffic = {variant: _traffic(case, variant) for variant in COUNTED}
    sweep = [(threshold_of(c), used_value(c, "S", BEST)) for c in layer.sweep]
    facts = ("devices", "m", "n", "k", "threshold_used", "memory_intensity")
    return {
        "place": layer.place,
        "key": case.key,
        **{name: case.number(name) for name in facts},
        "S": {n: v for n, v in gains.items() if v is not None},
        "S_unstaggered": used_value(case, "S", "t3_mca_unstaggered"),
        "stagger_gain": used_value(case, "stagger_gain", "t3_mca_unstaggered"),
        "adding_gain": used_value(case, "adding_gain", "reduce_scatter_adding"),
        "bytes": {variant: bytes_ for variant, bytes_ in traffic.items() if bytes_},
        "split": _split(case),
        "tiles_overflowed": used_value(case, "tiles_overflowed", BEST),
        "tracker_most_used": used_value(case, "tracker_most_used", BEST),
        "sweep": [{"threshold_percent": at, "S": gain} for at, gain in sweep if gain is not None],
    }


def geometric_means(rows: Sequence[Mapping[str, Optional[float]]]) -> Means:
    """Over the rows that have every column that any row has: means of different rows do not compare."""
    positive = [{name: value for name, value in row.items() if (value or 0) > 0} for row in rows]
    names = list(dict.fromkeys(name for row in positive for name in row))
    whole = [row for row in positive if len(row) == len(names)]
    return len(whole), {n: statistics.geometric_mean(row[n] for row in whole) for n in names} if whole else {}


def traffic_ratios(row: Json) -> Dict[str, Optional[float]]:
    """Bytes of sequential / those of T3-MCA: of what the GEMM reads, of what communication reads, of what
    both write, of all."""
    before, after = (row["bytes"].get(variant) for variant in (SEQUENTIAL, BEST))
    if not before or not after:
        return {}
    parts = {
        "gemm_read": TRAFFIC[:1],
        "communication_read": TRAFFIC[2:3],
        "written": TRAFFIC[1::2],
        "all": TRAFFIC,
    }
    sums = {name: [sum(moved[n] for n in of) for moved in (before, after)] for name, of in parts.items()}
    return {name: one / other if other > 0 else None for name, (one, other) in sums.items()}


def _broken(gains: Mapping[str, float]) -> List[str]:
    """The first two neighbours of ORDER of which the earlier one gains more; empty where there are none."""
    known = [name for name in ORDER if name in gains]
    return next(([a, b] for a, b in zip(known, known[1:]) if gains[a] > _TIE * gains[b]), [])


def _order(rows: Sequence[Json]) -> Json:
    judged = [row for row in rows if len(set(ORDER) & set(row["S"])) > 1]
    broken = [
        {"place": row["place"], "above": pair[0], "below": pair[1]}
        for row in judged
        for pair in [_broken(row["S"])]
        if pair
    ]
    return {"of": len(judged), "kept": len(judged) - len(broken), "broken": broken}


def results(section: Section) -> Json:
    rows = [_row(layer) for layer in sub_layers(section)]
    (layers, gains), (counted, ratios) = (
        geometric_means(list(of)) for of in ((row["S"] for row in rows), map(traffic_ratios, rows))
    )
    return {
        "simulated": True,
        "layers": rows,
        "geometric_means": {"layers": layers, "S": gains},
        "order": _order(rows),
        "sequential_bytes_over_t3_mca": {"layers": counted, **ratios},
        "formula": section.group.run.formula,
    }


# ------------------------------------------------------------------ in words


def _called(name: str) -> str:
    return ("the " if name.startswith("ideal") else "") + GAINS[name][0]


def _gains_text(section: Section) -> str:
    means = section.results["geometric_means"]
    known = [row for row in section.results["layers"] if row["S"]]
    if not means["layers"]:
        return "; no sub-layer has the gain of every variant"
    said = ["%s %s times" % (_called(name), digits(means["S"][name])) for name in GAINS if name in means["S"]]
    said[0] = "%s is %s times as fast" % tuple(said[0].rsplit(" ", 2)[:2])
    of = "%s of %d" % (means["layers"], len(known)) if means["layers"] < len(known) else "%d" % len(known)
    devices = {row["devices"] for row in known}
    where = "geometric means of %s sub-layers" % of if len(known) > 1 else "in %s" % known[0]["place"]
    if len(devices) == 1 and None not in devices:
        where += " on %s" % plural(int(max(devices)), "device")
    return ": against one after the other, %s (%s)" % (listing(said, len(said)), where)


def _order_text(section: Section) -> str:
    found, names = section.results["order"], {name for row in section.results["layers"] for name in row["S"]}
    if not found["of"]:
        return ""
    order = "; " + " ≤ ".join(GAINS[name][0] for name in ORDER if name in names)
    why = ["%s gains more than %s" % (_called(b["above"]), _called(b["below"])) for b in found["broken"]]
    if not why:
        return order + " holds" + (" in all %d" % found["of"] if found["of"] > 1 else "")
    if found["of"] == 1:
        return "%s does not hold: %s" % (order, why[0])
    places = ["%s (%s)" % (b["place"], text) for b, text in zip(found["broken"], why)]
    return "%s holds in %s of %d, not in %s" % (
        order,
        found["kept"] or "none",
        found["of"],
        listing(places, _NAMED),
    )


def _traffic_text(section: Section) -> str:
    found = section.results["sequential_bytes_over_t3_mca"]
    if not found.get("all"):
        return ""
    share = 1 / found["all"]
    often = " (geometric mean)" if found["layers"] > 1 else ""
    return "; without the all-gather, %s moves %s %s bytes through memory%s" % (
        _called(BEST),
        percent(abs(1 - share)),
        "fewer" if share <= 1 else "more",
        often,
    )


def _nothing(section: Section) -> str:
    """Return the reason why there is no gain."""
    cases = section.cases
    if not any(case.status == "ok" for case in cases) or any(case.status == "failed" for case in cases):
        return generic.nothing(section)
    values = section.values(*(name for _, name, _ in GAINS.values()))
    why = next(filter(None, (why_unused(*value) for value in values)), "")
    if why:
        return "No gain can be used: %s." % why.rstrip(".")
    return "No gain was derived from %s." % plural(len(cases), "case")


def summary(section: Section) -> str:
    if not any(row["S"] for row in section.results["layers"]):
        return "%s. %s" % (SIMULATION, _nothing(section))
    return SIMULATION + _gains_text(section) + _order_text(section) + _traffic_text(section) + "."
