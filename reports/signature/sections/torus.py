# SPDX-License-Identifier: BSD-3-Clause
"""topology/torus: modelled goodput over size on torus networks. A model gives no metric of this machine."""

from __future__ import annotations

import math
import re
from typing import Dict, List, Optional, Sequence, Tuple

from reports.page.charts import LineChart, Mark, Series
from reports.records.jsonl import Json, is_number, real_in
from reports.records.quantity import human, listing, size
from reports.records.records import Case, Group
from reports.signature.section import Figure, Section, SectionSpec, table
from reports.signature.sections import generic
from reports.signature.sections.copies import round_size

_DRAWN = 7
_FAMILIAR = ("swing-b", "bucket", "swing-l", "rd-l", "rd-b", "ring")  # drawn after the best ones
_MAX_TABLES = 6
_FEW = 2  # up to this number of panels are drawn large
# sizes closer than this factor have no space for a name between them
_LABEL_GAP_LARGE, _LABEL_GAP_SMALL = 11, 45
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

Network = Tuple[str, str, str, str, str]  # shape, ports, step, hop, bandwidth


def networks(group: Group) -> Dict[Network, Dict[str, List[Case]]]:
    """network -> algorithm -> its cases by size, as far as they were modelled."""
    found: Dict[Network, Dict[str, List[Case]]] = {}
    for case in group.cases.values():
        place = tuple(str(case.axes.get(name, "")) for name in ("shape", "ports", "step", "hop", "bandwidth"))
        bytes_ = case.axes.get("size")
        if is_number(bytes_) and bytes_ > 0 and value(case, "time") is not None:
            found.setdefault(place, {}).setdefault(str(case.axes.get("algorithm", "")), []).append(case)
    for own in found.values():
        for cases in own.values():
            cases.sort(key=lambda c: c.axes["size"])
    return found


def value(case: Case, name: str) -> Optional[float]:
    return next((d.value for d in case.derived if d.name == name), None)


def seconds(text: str) -> Optional[float]:
    """ "0.4us" in seconds."""
    match = re.fullmatch(r"([0-9.]{1,20})\s*(s|ms|us|ns|)", text)
    number = real_in(match.group(1)) if match else None
    return number * _SECONDS[match.group(2)] if match and number is not None else None


def line_of(case: Case) -> Optional[Tuple[float, float]]:
    """(seconds whatever the size, seconds a byte): the model is a line in the size."""
    step, hop = seconds(str(case.axes.get("step", ""))), seconds(str(case.axes.get("hop", "")))
    steps, links = case.facts.get("steps"), case.facts.get("links_on_longest_routes")
    time, bytes_ = value(case, "time"), case.axes.get("size")
    if None in (step, hop, time) or not all(map(is_number, (steps, links, bytes_))) or bytes_ <= 0:
        return None
    fixed = steps * step + links * hop
    return fixed, max(0.0, time - fixed) / bytes_


def name_of(network: Network) -> str:
    shape = network[0]
    return shape if network[1] == "all" else "%s, %s port" % (shape, network[1])


def costs_of(network: Network) -> str:
    bandwidth = human(float(network[4]), "byte/s") if re.fullmatch(r"[0-9]{1,20}", network[4]) else network[4]
    step, hop = (text if seconds(text) is None else human(seconds(text), "s") for text in network[2:4])
    return "%s a step, %s a hop, %s a link" % (step, hop, bandwidth)


def best_of(cases: Dict[str, List[Case]]) -> List[Json]:
    """The fastest algorithm of all, those that take as long, and from which size, as the program found
    them."""
    facts = (case.facts.get("best_by_bytes") for own in cases.values() for case in own)
    found = []
    for part in filter(None, str(next(filter(None, facts), "")).split(", ")):
        match = re.fullmatch(
            r"(?:from ([0-9.e+]{1,24}) )?(?:tie of )?([a-z0-9-]{1,40}(?: and [a-z0-9-]{1,40}){0,31})", part
        )
        if match:
            first, *ties = match.group(2).split(" and ")
            start = real_in(match.group(1) or "0") or 0.0
            found.append({"algorithm": first, "ties": ties, "from_byte": start})
    return found


def winner(best: Json) -> str:
    """ "swing-b", or "ring and bucket (tie)"."""
    return listing([best["algorithm"], *best["ties"]], 32) + (" (tie)" if best["ties"] else "")


def _deficiencies(case: Case) -> List[Optional[float]]:
    return [value(case, name) for name in ("lambda", "psi", "xi")]


def results(section: Section) -> Json:
    found = []
    for network, own in networks(section.group).items():
        found.append(
            {
                "network": name_of(network),
                "costs": costs_of(network),
                "best": best_of(own),
                "lambda_psi_xi": {name: _deficiencies(cases[-1]) for name, cases in own.items()},
            }
        )
    return {"model": True, "networks": found, "formula": section.group.run.formula}


def _span(best: Sequence[Json]) -> str:
    parts = ["%s up to %s" % (winner(a), size(round_size(b["from_byte"]))) for a, b in zip(best, best[1:])]
    last = winner(best[-1])
    return listing([*parts, "%s above" % last], 6) if parts else "%s at every size" % last


def summary(section: Section) -> str:
    found = [n for n in section.results["networks"] if n["best"]]
    if not found:
        return generic.nothing(section)

    def nodes(entry: Json) -> int:
        return math.prod(map(int, re.findall(r"[0-9]{1,6}", entry["network"].split(":")[-1])[:4]))

    largest = max(found, key=nodes)
    names = largest["costs"], largest["network"], _span(largest["best"])
    text = "By this model (%s) the fastest on %s is %s" % names
    others = [n["network"] for n in found if n is not largest]
    if others and len({tuple(map(winner, n["best"])) for n in found}) == 1:
        where = "the %d other networks" % len(others) if others[1:] else others[0]
        text += "; the order is the same on %s" % where
    return text + "."


# ------------------------------------------------------------------ figures


def grid(sizes: Sequence[float]) -> List[float]:
    """Powers of two between the sizes, and these."""
    low, high = math.floor(math.log2(min(sizes))), math.ceil(math.log2(max(sizes)))
    return sorted(
        {float(s) for s in sizes}
        | {2.0**k for k in range(low, high + 1) if min(sizes) <= 2.0**k <= max(sizes)}
    )


def _share(cases: Sequence[Case], bytes_: float) -> Optional[float]:
    """Goodput over its peak at any size, from the case with the largest one, where the bandwidth counts
    most."""
    line, peak_share, time = line_of(cases[-1]), value(cases[-1], "peak_fraction"), value(cases[-1], "time")
    if not line or not peak_share or not time:
        return None
    peak, seconds = cases[-1].axes["size"] / time / peak_share, line[0] + line[1] * bytes_
    return bytes_ / seconds / peak if seconds and peak else None


def _drawn(section: Section, found: Dict[Network, Dict[str, List[Case]]]) -> List[str]:
    """Algorithms, as many as there are colours, the same on all networks: those that are best somewhere, then
    the familiar ones."""
    there = {name: None for own in found.values() for name in own}
    won = [b for n in section.results["networks"] for b in n["best"]]
    best = [name for b in won for name in (b["algorithm"], *b["ties"]) if name in there]
    often = sorted(dict.fromkeys(best), key=lambda name: -best.count(name))
    return list(dict.fromkeys([*often, *(n for n in _FAMILIAR if n in there), *there]))[:_DRAWN]


def _chart(network: Network, own: Dict[str, List[Case]], drawn: Sequence[str], label_gap: float) -> LineChart:
    sizes = sorted({float(c.axes["size"]) for cases in own.values() for c in cases})
    series = []
    for colour, name in ((i, n) for i, n in enumerate(drawn) if n in own):
        marks = [Mark(x, y) for x, y in ((x, _share(own[name], x)) for x in grid(sizes)) if y is not None]
        if marks:
            series.append(Series(name, marks, colour))
    chart = LineChart(name_of(network), "size", "byte", "", series, y_name="goodput / peak")
    best = [b for b in best_of(own)[1:] if b["from_byte"] > 0]
    for mark, after in zip(best, [*best[1:], None]):
        alone = after is None or after["from_byte"] > label_gap * mark["from_byte"]
        chart.up.append((mark["from_byte"], winner(mark) if alone else ""))
    return chart


def _table(network: Network, own: Dict[str, List[Case]]) -> List[Figure]:
    facts = {"steps": "steps", "hops": "links_on_longest_routes", "at once": "collectives_at_once"}
    rows = []
    for name, cases in own.items():
        case = cases[-1]
        low, high = (size(next(iter(own.values()))[i].axes["size"]) for i in (0, -1))
        counts = {head: case.facts.get(fact) for head, fact in facts.items()}
        rows.append(
            {
                "algorithm": name,
                **dict(zip("ΛΨΞ", map(human, _deficiencies(case)))),
                **{head: "%d" % n if is_number(n) else "–" for head, n in counts.items()},
                "at " + low: human(value(cases[0], "time"), "s"),
                "at " + high: human(value(case, "time"), "s"),
                "messages on the busiest link": str(case.facts.get("messages_on_worst_link", "–")).replace(
                    "x", "×"
                ),
            }
        )
    caption = (
        "%s. Λ: latency deficiency, steps / log2(nodes). Ψ: bandwidth deficiency. Ξ: congestion (1 is the "
        "optimum). Hops: links on the longest routes. At once: concurrent collectives. Then the "
        "modelled times at two sizes, and steps × messages on the busiest link." % name_of(network)
    )
    return table(rows, caption, 1, True)


def figures(section: Section) -> List[Figure]:
    found = networks(section.group)
    drawn, label_gap = _drawn(section, found), _LABEL_GAP_LARGE if len(found) <= _FEW else _LABEL_GAP_SMALL
    charts = [_chart(network, own, drawn, label_gap) for network, own in found.items()]
    if not any(chart.xs() for chart in charts):
        return []
    caption = (
        "A model, not a measurement (%s): goodput / its peak, which is dimensions × link bandwidth. Dotted "
        "lines: the "
        "size from which another algorithm, drawn or not, is the fastest." % costs_of(next(iter(found)))
    )
    shown = generic.panels(charts, caption, "network")
    for chart in charts:
        chart.y_log, chart.y_range = False, (0.0, 1.05)
    return shown + [t for n, own in list(found.items())[:_MAX_TABLES] for t in _table(n, own)]


SPEC = SectionSpec("Model: allreduce on a torus", results, summary, figures, measured=False)
