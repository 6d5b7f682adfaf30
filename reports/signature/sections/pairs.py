# SPDX-License-Identifier: BSD-3-Clause
"""collectives/pairs: every pair of nodes as a matrix by the names of their hosts, and which links and nodes
are slow.

A case has all pairs of one size, and slow_links.py judges it. Where several cases accuse the same
link, the one in which it is slowest is shown. Cases of ranks within one node are shown and accuse nobody.
Links are compared with others of the same try: the latest that is not contended, else the latest. That other
work took the leader's cores meanwhile moves a headline number, so it needs a repeat; what sets one link
apart from all others is seen without one."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from reports.records.causes import CONTENDED
from reports.page.charts import Cell, draw_heat
from reports.records.curves import why_invalid
from reports.records.jsonl import Json, is_number
from reports.records.quantity import axis_value, human, human_interval, plural, scale_of
from reports.records.records import Case, Derived, Group
from reports.signature.section import Figure, Finding, Panels, Section, SectionSpec, table
from reports.signature.sections import generic, matrices
from reports.signature.slow_links import LATE, MIN_NODES, SLOW
from reports.signature.slow_links import Ends, Found, Links, Measured, View, find, findings_of

PROGRAM = "collectives/pairs"
MATRIX_NODES = 32  # of more nodes only the table of the slowest is shown
LISTED = 16  # links of that table
BETWEEN = "between nodes"  # with ", on the same rail" or ", across rails"
_LINK = re.compile(r"link_(bandwidth|latency) ([0-9]{1,6})-([0-9]{1,6})\Z")
_ADAPTER = re.compile(r"adapter_rate ([0-9]{1,6})/(\S+)\Z")


def _is_between(case: Case) -> bool:
    return str(case.facts.get("place")).startswith(BETWEEN)


@dataclass(frozen=True)
class PairCase:
    case: Case
    labels: Tuple[str, ...]  # of ranks
    derived: Dict[Tuple[str, Ends], Derived]  # by variant; of directions, from and to
    links: Links  # valid values alone
    found: Found

    @property
    def between(self) -> bool:
        return _is_between(self.case)

    def label(self, rank: int) -> str:
        return self.labels[rank] if rank < len(self.labels) else "rank %d" % rank

    @property
    def ranks(self) -> List[int]:
        return sorted({end for _, ends in self.derived for end in ends})


def _labels(case: Case) -> Tuple[str, ...]:
    """Host names; with the rank where ranks share one. Empty where they were cut off."""
    hosts = str(case.facts.get("hosts", "")).split()
    if len(hosts) != case.number("ranks"):
        return ()
    times = Counter(hosts)
    return tuple(host if times[host] == 1 else "%s/%d" % (host, rank) for rank, host in enumerate(hosts))


def _measured(derived: Derived) -> Measured:
    value = derived.value or 0.0
    return Measured(value, *(value if end is None else end for end in (derived.ci_low, derived.ci_high)))


def pair_case(case: Case) -> PairCase:
    derived: Dict[Tuple[str, Ends], Derived] = {}
    links = Links()
    for d in case.derived:
        match = _LINK.match(d.name)
        if not match or d.value is None or d.value <= 0 or d.variant is None:
            continue
        first, second = int(match[2]), int(match[3])
        ends = (second, first) if d.variant == "backward" else (first, second)
        derived[d.variant, ends] = d
        if why_invalid(case, d):
            continue
        if d.variant in ("forward", "backward"):
            links.bandwidth[ends] = _measured(d)
        elif match[1] == "latency":
            links.latency[ends] = _measured(d)
    return PairCase(case, _labels(case), derived, links, find(links if _is_between(case) else Links()))


def _one_try(tries: List[Case]) -> Optional[Case]:
    good = [case for case in tries if case.status == "ok" and case.check != "failed"]
    quiet = [case for case in good if all(flag.flag != CONTENDED for flag in case.flags)]
    return (quiet or good)[-1] if good else None


def cases_of(group: Group) -> List[PairCase]:
    """Those with values: between nodes first, all pairs at once first, the largest messages first."""
    found = [pair_case(case) for case in map(_one_try, group.tries.values()) if case]

    def place(pairs: PairCase) -> Tuple[bool, bool, float]:
        axes = pairs.case.axes
        size = axes.get("size")
        return not pairs.between, axes.get("concurrent") != "yes", -float(size) if is_number(size) else 0.0

    return sorted((pairs for pairs in found if pairs.derived), key=place)


# ------------------------------------------------------------------ findings


def _ratio(pairs: PairCase, ends: Ends) -> float:
    return pairs.found.ratios.get(ends, math.nan)


def _where(pairs: PairCase) -> str:
    axes = pairs.case.axes
    return "between these %s%s (messages of %s%s)" % (
        plural(len(pairs.ranks), "node"),
        str(pairs.case.facts.get("place", "")).removeprefix(BETWEEN),
        axis_value(axes.get("size", ""), "byte"),
        "" if axes.get("concurrent") == "yes" else ", one pair at a time",
    )


def findings(section: Section) -> List[Finding]:
    views = [View(pairs.links, pairs.found, pairs.label, _where(pairs)) for pairs in cases_of(section.group)]
    return findings_of(views, "node", "link")


# ------------------------------------------------------------------ results


def _case_json(pairs: PairCase) -> Json:
    facts, label = pairs.case.facts, pairs.label
    return {
        "key": pairs.case.key,
        "place": facts.get("place"),
        "nodes": [label(r) for r in pairs.ranks],
        **{name: facts.get(name) for name in ("rounds", "rounds_of_all_pairs", "pairs", "transport")},
        "usual_bandwidth": pairs.found.usual_bandwidth,
        "usual_latency": pairs.found.usual_latency,
        "slow": [
            {
                "from": label(a),
                "to": label(b),
                "value": pairs.links.bandwidth[a, b].value,
                "of_usual": _ratio(pairs, (a, b)),
            }
            for a, b in pairs.found.slow
        ],
        "late": [
            {"a": label(a), "b": label(b), "value": pairs.links.latency[a, b].value}
            for a, b in pairs.found.late
        ],
        "slow_nodes": [
            {"node": label(n.node), "sends": n.sends, "receives": n.receives} for n in pairs.found.nodes
        ],
        "adapters": [
            {"name": name, "node": node, "sends": rate}
            for name, rates in adapter_rates(pairs).items()
            for rate, node in rates
        ],
        "adapters_not_counted": facts.get("adapters_not_counted"),
    }


def results(section: Section) -> Json:
    return {
        "cases": [_case_json(pairs) for pairs in cases_of(section.group)],
        "rule": "usual: the median over nodes of the median of a node's links, of %d nodes or more; slow: "
        "the whole interval of the bandwidth is below %g of that; late: that of the latency is above %g "
        "times the usual; a node is slow if everything that it sends, or receives, is"
        % (MIN_NODES, SLOW, LATE),
    }


def _valid(case: Case, name: str) -> Optional[Derived]:
    own = (d for d in case.derived if d.name == name)
    return next((d for d in own if not why_invalid(case, d)), None)


def _median_by_scope(cases: List[PairCase], scope: str) -> Dict[Tuple[Tuple[str, str], ...], float]:
    """Median bandwidth of the cases of a scope ("same-rail", "same-rail:4"), by the other axes."""
    found = {}
    for pairs in cases:
        word, _, rails = str(pairs.case.axes.get("scope")).partition(":")
        median = _valid(pairs.case, "median_bandwidth")
        if word == scope and median and median.value:
            others = {**pairs.case.axes, "scope": rails}
            found[tuple(sorted((name, str(value)) for name, value in others.items()))] = median.value
    return found


def across_rails(cases: List[PairCase]) -> Optional[float]:
    """Median bandwidth of pairs across rails over that of pairs on one rail, of the first cases that differ
    in nothing else."""
    same, across = (_median_by_scope(cases, scope) for scope in ("same-rail", "cross-rail"))
    return next((across[axes] / same[axes] for axes in same if axes in across), None)


def summary(section: Section) -> str:
    cases = cases_of(section.group)
    if not cases:
        return generic.nothing(section)
    pairs = cases[0]
    facts = pairs.case.facts
    parts = [
        "%s %s in %s (all pairs need %s)"
        % (
            plural(int(pairs.case.number("pairs") or 0), "pair"),
            facts.get("place", ""),
            plural(int(pairs.case.number("rounds") or 0), "round"),
            facts.get("rounds_of_all_pairs", "?"),
        )
    ]
    for name, what in (
        ("median_bandwidth", "%s one way (median)"),
        ("min_bandwidth", "%s on the slowest pair"),
        ("median_latency", "%s latency (median)"),
        ("max_latency", "%s on the slowest"),
    ):
        found = _valid(pairs.case, name)
        if found and found.value:
            parts.append(what % human(found.value, found.unit))
    if pairs.between:
        slow = len(pairs.found.slow)
        if pairs.found.usual_bandwidth is None:
            nodes = plural(len(pairs.ranks), "node")
            parts.append("with %s there is nothing to compare a link with" % nodes)
        else:
            which = plural(slow, "direction is", "directions are") if slow else "no link is"
            parts.append("%s clearly slower than usual" % which)
    rails = across_rails(cases)
    if rails is not None:
        parts.append("across rails %.2f of the bandwidth on the same rail (medians)" % rails)
    return "; ".join(parts) + "."


# ------------------------------------------------------------------ drawing


def _cell(case: Case, derived: Optional[Derived], factor: float) -> Optional[Cell]:
    if derived is None or derived.value is None:
        return None
    return matrices.cell_of(derived, why_invalid(case, derived), factor)


def _matrix(pairs: PairCase, variants: Tuple[str, ...], heading: str) -> Optional[str]:
    found = {ends: d for (variant, ends), d in pairs.derived.items() if variant in variants}
    if not found or len(pairs.ranks) > MATRIX_NODES:
        return None
    unit = next(iter(found.values())).unit
    values = sorted(d.value or 0.0 for d in found.values())
    middle = values[len(values) // 2]
    factor, shown = scale_of(middle, unit)
    symmetric = variants[0] not in ("forward", "backward")
    if symmetric:
        found = {**{(b, a): d for (a, b), d in found.items()}, **found}
    names = [pairs.label(r) for r in pairs.ranks]
    cells = [[_cell(pairs.case, found.get((a, b)), factor) for b in pairs.ranks] for a in pairs.ranks]
    side, what = "node" if symmetric else "from", "latency" if unit == "s" else "bandwidth"
    heat = matrices.slow_is_warm(middle / factor, unit)
    return draw_heat(names, names, cells, side, heading % shown, heat=heat, what=what)


def _panels(pairs: PairCase) -> List[Figure]:
    charts = [
        _matrix(pairs, ("forward", "backward"), "to, one way, %s"),
        _matrix(pairs, ("both_ways",), "bidirectional, %s"),
        _matrix(pairs, ("round_trip",), "latency, half a round trip, %s"),
    ]
    axes = pairs.case.axes
    caption = "%s: %s %s. Warm colours: slower than the middle one. ?: flagged invalid." % (
        pairs.case.key,
        "all pairs of a round at once," if axes.get("concurrent") == "yes" else "one pair at a time,",
        pairs.case.facts.get("place", ""),
    )
    drawn = [c for c in charts if c]
    return [Panels(drawn, caption, wide=True)] if drawn else []


def _table(pairs: PairCase) -> List[Figure]:
    """The slowest links."""
    rows = []
    worst = sorted(pairs.links.bandwidth, key=lambda ends: pairs.links.bandwidth[ends].value)
    for a, b in worst[:LISTED]:
        m, latency = pairs.links.bandwidth[a, b], pairs.links.latency.get((min(a, b), max(a, b)))
        rows.append(
            {
                "from": pairs.label(a),
                "to": pairs.label(b),
                "bandwidth": human(m.value, "byte/s"),
                "95 %": human_interval(m.low, m.high, m.value, "byte/s"),
                "of the usual": "%.2f" % _ratio(pairs, (a, b)) if pairs.found.usual_bandwidth else "–",
                "latency": human(latency.value if latency else None, "s"),
                "verdict": "slow" if (a, b) in pairs.found.slow else "",
            }
        )
    count = plural(len(pairs.links.bandwidth), "direction")
    caption = "%s: %d of %s, the slowest first." % (pairs.case.key, len(rows), count)
    return table(rows, caption, words=2, prose=True)


def adapter_rates(pairs: PairCase) -> Dict[str, List[Tuple[float, str]]]:
    """Bytes per second and node of the adapters of each name, the slowest first."""
    found: Dict[str, List[Tuple[float, str]]] = {}
    for d in pairs.case.derived:
        match = _ADAPTER.match(d.name)
        if match and d.value is not None and not why_invalid(pairs.case, d):
            found.setdefault(match[2], []).append((d.value, pairs.label(int(match[1]))))
    return {name: sorted(rates) for name, rates in sorted(found.items())}


def _adapters(pairs: PairCase) -> List[Figure]:
    rows = [
        {
            "adapter": name,
            "nodes": len(rates),
            "least": human(rates[0][0], "byte/s"),
            "on": rates[0][1],
            "median": human(statistics.median(rate for rate, _ in rates), "byte/s"),
        }
        for name, rates in adapter_rates(pairs).items()
    ]
    caption = "%s: what the ports of adapters send while the pairs exchange both ways, with headers." % (
        pairs.case.key
    )
    return table(rows, caption, words=1) if rows else []


def figures(section: Section) -> List[Figure]:
    found: List[Figure] = []
    for pairs in cases_of(section.group)[:4]:
        found += _panels(pairs) + _table(pairs) + _adapters(pairs)
    return found


SPEC = SectionSpec("Links between nodes", results, summary, figures, findings)
