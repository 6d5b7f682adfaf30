# SPDX-License-Identifier: BSD-3-Clause
"""collectives/: which algorithm for which size, where the lead changes, and how the library compares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from reports.page.charts import LineChart
from reports.records.curves import Curve, Point, fixed_text, point_of, varying_axes, why_invalid
from reports.records.fits import DIFFERENT, compare_rates
from reports.records.jsonl import Json, is_number
from reports.records.quantity import TAGS, digits, human, listing, percent, plural, size, tag
from reports.records.records import Case, Scalar
from reports.signature import tails
from reports.signature.section import Figure, Panels, Section, SectionSpec, Table
from reports.signature.sections import generic
from reports.signature.sections.copies import round_size

LIBRARY = "library"
# The library's too: as nccl-tests times it, and with a policy.
_OTHERS = ("library-calls", "library-efficiency", "library-zero-cta")
_DRAWN = 7
_FAMILIAR = (LIBRARY, "ring", "swing-b", "swing-l", "rd-b", "rd-l", "bucket")  # drawn after the leaders
_MAX_TABLES = 6
_TAIL = ("median", "p95", "p99")
_TOLD_TAIL = 4096  # bytes; from here on a sentence tells p99
_AGAINST = ("library_time_ratio", "indexing_time_ratio")

Place = Tuple[Tuple[str, Scalar], ...]  # the axes but the size


@dataclass(frozen=True)
class Stretch:
    """The sizes, `low` to `high`, at which no algorithm is clearly faster than `name`; those in `alike` are
    as fast."""

    name: str
    low: float
    high: float
    alike: Tuple[str, ...]


def curves(section: Section, quantity: str) -> Dict[Place, Dict[str, Curve]]:
    """place -> algorithm -> a quantity over the size, also where there is a single size."""
    found: Dict[Place, Dict[str, Curve]] = {}
    for case, derived in section.values(quantity):
        bytes_ = case.axes.get("size")
        if not is_number(bytes_) or bytes_ <= 0 or not derived.variant:
            continue
        place = _place(case)
        curve = found.setdefault(place, {}).setdefault(
            derived.variant,
            Curve(quantity, derived.variant, dict(place), "size", "byte", derived.unit, derived.formula),
        )
        curve.points.append(point_of(case, derived, float(bytes_)))
    for own in found.values():
        for curve in own.values():
            curve.points.sort(key=lambda p: p.x)
    return found


def _at(curve: Optional[Curve], x: float) -> Optional[Point]:
    return next((p for p in curve.valid if p.x == x), None) if curve else None


# ------------------------------------------------------------------ who leads


def _fastest(times: Dict[str, Curve], x: float) -> Dict[str, Point]:
    """The algorithms at a size that none other beats: within 2 % of the least time, or with its interval
    overlapping."""
    known = {name: _at(curve, x) for name, curve in times.items() if name not in (LIBRARY, *_OTHERS)}
    points = {name: point for name, point in known.items() if point and point.value > 0}
    if not points:
        return {}
    best = min(points.values(), key=lambda p: p.value)

    def beaten(p: Point) -> bool:
        sure = None in (p.ci_low, best.ci_high) or p.ci_low > best.ci_high
        return p.value > DIFFERENT * best.value and sure

    return {name: p for name, p in points.items() if not beaten(p)}


def leaders(times: Dict[str, Curve]) -> List[Stretch]:
    """Stretches, as few as possible, each for as many sizes as its algorithm is not beaten at; of equals the
    one that is faster more clearly."""
    sizes = sorted({p.x for c in times.values() for p in c.valid})
    ahead = [(x, names) for x, names in ((x, _fastest(times, x)) for x in sizes) if names]
    found: List[Stretch] = []
    at = 0

    def reach(name: str) -> int:
        end = at
        while end < len(ahead) and name in ahead[end][1]:
            end += 1
        return end

    def rank(name: str) -> Tuple[int, float, str]:
        ratios = (
            names[name].value / min(p.value for p in names.values()) for _, names in ahead[at : reach(name)]
        )
        return -reach(name), sum(ratios), name

    while at < len(ahead):
        name = min(ahead[at][1], key=rank)
        end = reach(name)
        alike = tuple(n for n in ahead[at][1] if n != name and reach(n) == end)
        found.append(Stretch(name, ahead[at][0], ahead[end - 1][0], alike))
        at = end
    return found


def _crossings(rates: Dict[str, Curve], stretches: Sequence[Stretch]) -> List[Json]:
    """The sizes at which one leader passes the lead on, interpolated between the two sizes measured."""
    found = []
    for before, after in zip(stretches, stretches[1:]):
        result = compare_rates(rates[before.name], rates[after.name], before.name, after.name)
        crossings = result.crossings if result else ()
        near = [c.x for c in crossings if c.before == before.name and c.above > before.high]
        at = near[0] if near and near[0] <= after.low else (before.high * after.low) ** 0.5
        ends = {"below": before.high, "above": after.low, "size_byte": at}
        found.append({"from": before.name, "to": after.name, **ends})
    return found


# ------------------------------------------------------------------ results


def _place(case: Case) -> Place:
    return tuple((k, v) for k, v in case.axes.items() if k != "size")


def _recorded(section: Section) -> Dict[Place, Dict[float, str]]:
    """place -> size -> the fastest algorithm, where the record has it."""
    found: Dict[Place, Dict[float, str]] = {}
    for case, derived in section.values("best_bus_bandwidth"):
        bytes_ = case.axes.get("size")
        if is_number(bytes_) and not why_invalid(case, derived):
            found.setdefault(_place(case), {})[float(bytes_)] = derived.fastest
    return found


def _best(recorded: Dict[float, str], times: Dict[str, Curve], *others: Dict[str, Curve]) -> List[Json]:
    """The fastest algorithm at each size, excluding the library's: as recorded, else the one with the least
    time of those that are valid."""

    def value(curves: Dict[str, Curve], name: str, x: float) -> Optional[float]:
        point = _at(curves.get(name), x)
        return point.value if point else None

    rows, (rates, bus, ratios) = [], others
    for x in sorted({p.x for c in times.values() for p in c.valid}):
        fastest = _fastest(times, x)
        if fastest:
            least = min(fastest, key=lambda n: fastest[n].value)
            name = recorded[x] if _at(times.get(recorded.get(x, "")), x) else least
            rows.append(
                {
                    "size": x,
                    "algorithm": name,
                    "time_s": value(times, name, x),
                    "bandwidth": value(rates, name, x),
                    "bus_bandwidth": value(bus, name, x),
                    "library_time_ratio": value(ratios, name, x),
                    "library_bus_bandwidth": value(bus, LIBRARY, x),
                }
            )
    return rows


def _tails(section: Section, place: Place, best: Sequence[Json]) -> List[Json]:
    """Single operations of the fastest algorithm at each size and of the library, where they were timed: the
    median, p95 and p99, each None of too few."""
    rows = []
    for case in section.group.cases.values():
        fastest = next((b["algorithm"] for b in best if b["size"] == case.axes.get("size")), None)
        if _place(case) != place or not case.valid or fastest is None:
            continue
        timed = {v.name: tails.tail_of(v, case.key) for v in case.variants if v.singles_s}
        found = [
            {"algorithm": name, **{key: timed[name].get(key) for key in ("n", *_TAIL)}}
            for name in (fastest, LIBRARY)
            if name in timed
        ]
        rows += [{"size": case.axes["size"], **one} for one in found]
    return sorted(rows, key=lambda row: float(row["size"]))


def best_table(place: Json) -> Tuple[List[str], List[List[str]]]:
    """Heads and rows, with the names of nccl-tests."""
    best = place["best"]
    columns = {"size": [size(b["size"]) for b in best], "time": [human(b["time_s"], "s") for b in best]}
    rates = {"algbw": "bandwidth", "busbw": "bus_bandwidth", "library's": "library_bus_bandwidth"}
    if not any(b["library_bus_bandwidth"] for b in best):
        del rates["library's"]
    columns.update({head: [human(b[name], "byte/s") for b in best] for head, name in rates.items()})
    columns["algorithm"] = [b["algorithm"] for b in best]
    return list(columns), [list(row) for row in zip(*columns.values())]


def results(section: Section) -> Json:
    times, rates, bus = (curves(section, n) for n in ("time", "bandwidth", "bus_bandwidth"))
    ratios, indexing = (curves(section, name) for name in _AGAINST)
    recorded = _recorded(section)
    found = []
    for place, own in times.items():
        stretches = leaders(own)
        if not stretches:
            continue
        lead = [{"algorithm": s.name, "from": s.low, "to": s.high, "alike": list(s.alike)} for s in stretches]
        others = [c.get(place, {}) for c in (times, rates, bus, ratios)]
        best = _best(recorded.get(place, {}), *others)
        cost = [p for c in indexing.get(place, {}).values() for p in c.valid]
        found.append(
            {
                "where": dict(place),
                "leaders": lead,
                "crossovers": _crossings(others[1], stretches),
                "best": best,
                "tails": _tails(section, place, best),
                "indexing": [{"size": p.x, "time_ratio": p.value} for p in cost],
            }
        )
    return {
        "places": found,
        "oversubscribed": len(oversubscribed(section)),
        "formula": "none is faster than a leader by 2 % with intervals apart; crossovers log-log between "
        "measured sizes",
    }


def oversubscribed(section: Section) -> List[Case]:
    """Cases with more ranks than cores: flagged by the program and not used."""
    return [c for c in section.cases if any(f.flag == "oversubscribed" for f in c.flags)]


# ------------------------------------------------------------------ one sentence


def _lead_text(place: Json) -> str:
    names = [lead["algorithm"] for lead in place["leaders"]]
    if len(names) == 1:
        alike = place["leaders"][0]["alike"]
        verb = "is" if len(alike) == 1 else "are"
        as_fast = "; %s %s as fast" % (listing(alike, 6), verb) if alike else ""
        return "the algorithm %s is the fastest or equal at every size%s" % (names[0], as_fast)
    upto = ["%s up to about %s" % (c["from"], size(round_size(c["size_byte"]))) for c in place["crossovers"]]
    return "the fastest is %s" % listing([*upto, "%s above" % names[-1]], 6)


def _library_text(place: Json) -> str:
    ratios = [b["library_time_ratio"] for b in place["best"] if b["library_time_ratio"]]
    if not ratios:
        return ""
    low, high = min(ratios), max(ratios)
    span = digits(low) if high < DIFFERENT * low else "%s to %s" % (digits(low), digits(high))
    return "the fastest takes %s times as long as the library's own" % span


def _indexing_text(place: Json) -> str:
    worst = max(place["indexing"], key=lambda p: p["time_ratio"], default=None)
    if worst is None:
        return ""
    if worst["time_ratio"] < DIFFERENT:
        return "Swing with indexed copies is as fast as without"
    slower = percent(worst["time_ratio"] - 1)
    return "indexed copies slow Swing by up to %s (%s)" % (slower, size(worst["size"]))


def _tail_text(place: Json) -> str:
    rows = [row for row in place["tails"] if row["p99"] and row["size"] > _TOLD_TAIL]
    library = {row["size"]: row["p99"] for row in rows if row["algorithm"] == LIBRARY}
    parts = [
        "%s at %s" % (human(row["p99"], "s"), size(row["size"]))
        + (" (library %s)" % human(library[row["size"]], "s") if row["size"] in library else "")
        for row in rows
        if row["algorithm"] != LIBRARY
    ]
    return "p99 of one at a time: %s" % listing(parts, 8) if parts else ""


def summary(section: Section) -> str:
    places = section.results["places"]
    many = section.results["oversubscribed"]
    note = ""
    if many:
        text = next(f.reason for f in oversubscribed(section)[0].flags if f.flag == "oversubscribed")
        total = len(section.group.cases)
        which = "every case is" if many == total else "%s of %d are" % (plural(many, "case"), total)
        note = "%s flagged oversubscribed (%s) and not used" % (which, text.rstrip("."))
    if not places:
        return note + "." if note else generic.nothing(section)
    first = places[0]
    where = " ".join(str(v) for k, v in first["where"].items()) + ": " if len(places) > 1 else ""
    parts = [where + _lead_text(first), _library_text(first), _indexing_text(first), _tail_text(first), note]
    return "; ".join(p for p in parts if p) + "."


# ------------------------------------------------------------------ figures


def drawn(section: Section, times: Dict[Place, Dict[str, Curve]]) -> List[str]:
    """Algorithms, at most as many as there are colours: those that lead somewhere, then the familiar ones."""
    there = {name for own in times.values() for name in own}
    lead = [entry["algorithm"] for place in section.results["places"] for entry in place["leaders"]]
    order = dict.fromkeys([*lead[: _DRAWN - 1], *(n for n in _FAMILIAR if n in there), *sorted(there)])
    return list(order)[:_DRAWN]


def _panels(
    section: Section, times: Dict[Place, Dict[str, Curve]], quantity: str, what: str, caption: str
) -> List[Figure]:
    names, charts = drawn(section, times), []
    named = varying_axes(map(dict, times))
    for place, own in curves(section, quantity).items():
        series = [generic.series_of(own[n], n, i) for i, n in enumerate(names) if n in own]
        unit = next(iter(own.values())).unit
        told = {
            k: "%s ports" % v if (k, v) == ("ports", "all") else "%s port" % v if k == "ports" else v
            for k, v in place
        }
        charts.append(LineChart(generic.place(told, named), "size", "byte", unit, series, y_name=what))
    return generic.panels(charts, caption)


def _cell(curve: Curve, x: float, unit: str = "") -> str:
    point = next((p for p in curve.points if p.x == x and p.value is not None), None)
    return human(point.value, unit) + tag(point.valid, bool(point.grade)) if point else "–"


def _best_tables(section: Section) -> List[Figure]:
    caption = "The fastest algorithm at each size, and the bus bandwidth of the library's own."
    return [
        Table(*best_table(place), _caption(place["where"], caption), prose=True)
        for place in section.results["places"][:_MAX_TABLES]
    ]


def _tail_tables(section: Section) -> List[Figure]:
    """One operation at a time, as a step of inference waits for it."""
    caption = (
        "One operation at a time: the fastest algorithm at each size, and the library's own. p99 needs %d "
        "operations." % tails.LEAST[0.99]
    )
    heads = ["size", "algorithm", "n", *_TAIL]
    return [
        Table(
            heads,
            [
                [size(row["size"]), row["algorithm"], str(row["n"]), *(human(row[k], "s") for k in _TAIL)]
                for row in place["tails"]
            ],
            _caption(place["where"], caption),
        )
        for place in section.results["places"][:_MAX_TABLES]
        if place["tails"]
    ]


def _caption(where: Mapping[str, Scalar], text: str) -> str:
    return "%s. %s" % (fixed_text(where), text) if where else text


def _ratio_table(section: Section, place: Place, times: Dict[str, Curve]) -> Table:
    """Every algorithm against the library, size by size; the time of the library on top."""
    ratios, indexing = (curves(section, n).get(place, {}) for n in _AGAINST)
    sizes = sorted({p.x for c in times.values() for p in c.points})
    rows: List[List[str]] = []
    if LIBRARY in times:
        rows.append(["time of the library", *(_cell(times[LIBRARY], x, "s") for x in sizes)])
    for name in times:
        if name in ratios:
            rows.append([name, *(_cell(ratios[name], x) for x in sizes)])
        elif LIBRARY not in times:
            rows.append([name, *(_cell(times[name], x, "s") for x in sizes)])
    rows += [["%s / swing-b" % name, *(_cell(c, x) for x in sizes)] for name, c in indexing.items()]
    what = (
        "Time / time of the library, round by round; below 1: faster than the library."
        if LIBRARY in times
        else "Times; no library was measured for comparison."
    )
    last = " Last row: time of Swing with indexed copies / time without." if indexing else ""
    flagged = " " + TAGS if any(sign in cell for row in rows for cell in row for sign in "?~") else ""
    return Table(["algorithm", *map(size, sizes)], rows, _caption(dict(place), what + last + flagged))


def figures(
    section: Section, timed: str = "from the last rank's entry to the last rank's return"
) -> List[Figure]:
    times = curves(section, "time")
    all_names = {name for own in times.values() for name in own}
    rest = sorted(all_names - set(drawn(section, times)))
    others = " Only in the table: %s." % listing(rest, 8) if rest else ""
    formula = next((d.formula for _, d in section.values("bus_bandwidth") if d.formula), "formula not given")
    shown = _panels(section, times, "time", "time", "Time over size, %s.%s" % (timed, others))
    caption = "Bus bandwidth = %s, so that different numbers of ranks can be compared." % formula
    bus = _panels(section, times, "bus_bandwidth", "bus bandwidth", caption)
    if len(times) == 1 and shown and bus:
        shown = [Panels(shown[0].charts + bus[0].charts, shown[0].caption + " " + bus[0].caption)]
    else:
        shown += bus
    return [
        *_best_tables(section),
        *_tail_tables(section),
        *shown,
        *(_ratio_table(section, place, own) for place, own in list(times.items())[:_MAX_TABLES]),
    ]


ALLREDUCE = SectionSpec("Allreduce: fastest algorithm by size", results, summary, figures)
REDUCE_SCATTER = SectionSpec("Reduce-scatter: fastest algorithm by size", results, summary, figures)
ALLGATHER = SectionSpec("All-gather: fastest algorithm by size", results, summary, figures)


def _devices(name: str) -> SectionSpec:
    return SectionSpec(
        "%s among devices: fastest algorithm by size" % name,
        results,
        summary,
        partial(figures, timed="one %s alone, the longest of the devices' own durations" % name.lower()),
    )


DEVICE_ALLREDUCE = _devices("Allreduce")
DEVICE_ALLGATHER = _devices("All-gather")
DEVICE_REDUCE_SCATTER = _devices("Reduce-scatter")
DEVICE_ALL_TO_ALL = _devices("All-to-all")
