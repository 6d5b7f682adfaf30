# SPDX-License-Identifier: BSD-3-Clause
"""topology/torus: modelled goodput over size on torus networks. A model gives no metric of this machine."""

from __future__ import annotations

import math
import re
from typing import Dict, List, Optional, Sequence, Tuple

from reports.page.charts import LineChart, Mark, Series, share_ranges
from reports.records.jsonl import Json, is_number, real_in
from reports.records.quantity import digits, human, listing, size
from reports.records.records import Case, Group
from reports.signature.section import Figure, Panels, Section, SectionSpec, Table
from reports.signature.sections import generic
from reports.signature.sections.copies import round_size

_DRAWN = 7
_FAMILIAR = (
    "swing-b",
    "bucket",
    "swing-l",
    "rd-l",
    "rd-b",
    "ring",
)  # drawn after those that are best somewhere
_MAX_TABLES = 6
_FEW = 2  # up to this number of panels are drawn large
_LABEL_GAP_LARGE, _LABEL_GAP_SMALL = (
    11,
    45,
)  # sizes closer than this factor have no space for a name between them
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
    if (
        None in (step, hop, time)
        or not (is_number(steps) and is_number(links) and is_number(bytes_))
        or bytes_ <= 0
    ):
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
    text = next(
        (
            str(c.facts["best_by_bytes"])
            for own in cases.values()
            for c in own
            if c.facts.get("best_by_bytes")
        ),
        "",
    )
    found = []
    for part in filter(None, text.split(", ")):
        match = re.fullmatch(
            r"(?:from ([0-9.e+]{1,24}) )?(?:tie of )?([a-z0-9-]{1,40}(?: and [a-z0-9-]{1,40}){0,31})", part
        )
        if match:
            names = match.group(2).split(" and ")
            found.append(
                {"algorithm": names[0], "ties": names[1:], "from_byte": real_in(match.group(1) or "0") or 0.0}
            )
    return found


def winner(best: Json) -> str:
    """ "swing-b", or "ring and bucket (tie)"."""
    return listing([best["algorithm"], *best["ties"]], 32) + (" (tie)" if best["ties"] else "")


def results(section: Section) -> Json:
    found = []
    for network, own in networks(section.group).items():
        last = {name: cases[-1] for name, cases in own.items()}
        found.append(
            {
                "network": name_of(network),
                "costs": costs_of(network),
                "best": best_of(own),
                "lambda_psi_xi": {
                    name: [value(c, n) for n in ("lambda", "psi", "xi")] for name, c in last.items()
                },
            }
        )
    return {"model": True, "networks": found, "formula": section.group.run.formula}


def _span(best: Sequence[Json]) -> str:
    parts = ["%s up to %s" % (winner(a), size(round_size(b["from_byte"]))) for a, b in zip(best, best[1:])]
    return (
        listing([*parts, "%s above" % winner(best[-1])], 6)
        if parts
        else "%s at every size" % winner(best[-1])
    )


def summary(section: Section) -> str:
    found = [n for n in section.results["networks"] if n["best"]]
    if not found:
        return generic.nothing(section)
    largest = max(
        found,
        key=lambda n: math.prod(int(d) for d in re.findall(r"[0-9]{1,6}", n["network"].split(":")[-1])[:4]),
    )
    text = "By this model (%s) the fastest on %s is %s" % (
        largest["costs"],
        largest["network"],
        _span(largest["best"]),
    )
    orders = {tuple(map(winner, n["best"])) for n in found}
    if len(found) > 1 and len(orders) == 1:
        text += (
            "; the order is the same on the %d other networks" % (len(found) - 1)
            if len(found) > 2
            else "; the order is the same on %s" % next(n["network"] for n in found if n is not largest)
        )
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
    """As many as there are colours, the same on all networks: those that are best somewhere, then the
    familiar ones."""
    there = {name: None for own in found.values() for name in own}
    won = [b for n in section.results["networks"] for b in n["best"]]
    best = [name for b in won for name in (b["algorithm"], *b["ties"]) if name in there]
    often = sorted(dict.fromkeys(best), key=lambda name: -best.count(name))
    return list(dict.fromkeys([*often, *(n for n in _FAMILIAR if n in there), *there]))[:_DRAWN]


def _chart(
    network: Network, own: Dict[str, List[Case]], drawn: Sequence[str], label_gap: float
) -> Optional[LineChart]:
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
    return chart if chart.xs() else None


def _table(network: Network, own: Dict[str, List[Case]]) -> Table:
    rows = []
    for name, cases in own.items():
        case = cases[-1]
        numbers = [value(case, n) for n in ("lambda", "psi", "xi")]
        rows.append(
            [
                name,
                *("–" if v is None else digits(v) for v in numbers),
                *(
                    "%d" % case.facts[n] if is_number(case.facts.get(n)) else "–"
                    for n in ("steps", "links_on_longest_routes", "collectives_at_once")
                ),
                *(human(value(c, "time"), "s") for c in (cases[0], case)),
                str(case.facts.get("messages_on_worst_link", "–")).replace("x", "×"),
            ]
        )
    low, high = (size(next(iter(own.values()))[i].axes["size"]) for i in (0, -1))
    heads = [
        "algorithm",
        "Λ",
        "Ψ",
        "Ξ",
        "steps",
        "hops",
        "at once",
        "at " + low,
        "at " + high,
        "messages on the worst link",
    ]
    return Table(
        heads,
        rows,
        "%s. Λ: latency deficiency, steps / log2(nodes). Ψ: bandwidth deficiency. Ξ: congestion (1 is the "
        "optimum). Hops: links on the longest routes. At once: collectives that run at once. Then the "
        "modelled times at two sizes, and steps × messages on the busiest link." % name_of(network),
        1,
        True,
    )


def figures(section: Section) -> List[Figure]:
    found = networks(section.group)
    drawn, label_gap = _drawn(section, found), _LABEL_GAP_LARGE if len(found) <= _FEW else _LABEL_GAP_SMALL
    charts = [
        c
        for c in (_chart(n, own, drawn, label_gap) for n, own in list(found.items())[: generic.MAX_PANELS])
        if c
    ]
    if not charts:
        return generic.figures(section)
    share_ranges(charts)
    for chart in charts:
        chart.y_log, chart.y_range = False, (0.0, 1.05)
    caption = (
        "A model, not a measurement (%s): goodput / its peak, which is dimensions × link bandwidth. Dotted "
        "lines: the "
        "size from which another algorithm, drawn or not, is the fastest." % costs_of(next(iter(found)))
    )
    caption += generic.hidden_text(len(found) - generic.MAX_PANELS, "network")
    return [Panels(charts, caption)] + [_table(n, own) for n, own in list(found.items())[:_MAX_TABLES]]


SPEC = SectionSpec("Model: an allreduce on tori", results, summary, figures, measured=False)
