# SPDX-License-Identifier: BSD-3-Clause
"""A fleet as JSON (schema/fleet.schema.json), which table and page show: the answer and its reasons."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Sequence

from reports.judge.compare.answer import label_text, moved_text, number_json
from reports.judge.compare.numbers import RATIO, failed_in
from reports.judge.compare.verdict import Settings, most_hidden
from reports.judge.compare.wording import values_text
from reports.judge.fleet import between, drift, families
from reports.judge.fleet.hostlist import compress, is_name
from reports.judge.fleet.judge import Call, Groups, Kind, Metric, kinds_of, unscaled
from reports.judge.fleet.nodes import MOST_NAMED, Node, clock_notes, first_of, machine_notes
from reports.records.jsonl import Json
from reports.records.metrics import shortened
from reports.records.quantity import listing, percent, plural

SCHEMA, VERSION = "gpusig.fleet", "1.4.0"
OFF, FAST, OK, UNKNOWN, MISSING = "outlier", "fast", "ok", "unknown", "missing"  # of a node
OUTLIERS, NONE_OFF, INCONCLUSIVE = "outliers", "no outlier", "inconclusive"  # of the fleet
EXITS = {OUTLIERS: 1, NONE_OFF: 0, INCONCLUSIVE: 3}
MOST_NAME = 60  # characters
_CALLS = ("off", "fast", "off_families", "fast_families")
_LISTS = (*_CALLS, "failed", "lacks", "hidden", "ahead", "drift", "values", "changes", "z")  # of a node


@dataclass(frozen=True)
class Asked:
    """The user's question besides the settings of the verdict. `expected`: the names of all nodes, if given.
    `network`: the result of between.read()."""

    name: str
    expected: list[str] | None = None
    now: datetime | None = None  # by the clock here
    network: Json | None = None


# ------------------------------------------------------------------ parts


def _ratio(metric: Metric, value: float, centre: float) -> float | None:
    """Value against centre: a ratio, or a difference."""
    if metric.number.scale != RATIO:
        return value - centre
    return value / centre if centre else None


def _call_json(kind: Kind, call: Call) -> Json:
    metric, cell = kind.metrics[call.metric], call.cell
    number = number_json(metric.name, metric.number)
    return {
        "metric": metric.name,
        **{key: number[key] for key in ("label", "condition", "unit", "better", "scale")},
        "value": cell.value,
        "of_others": cell.centre,
        "change": _ratio(metric, cell.value or 0.0, cell.centre),
        "z": cell.z,
        "p": cell.p,
        "p_adjusted": call.adjusted,
    }


def _metric_json(metric: Metric) -> Json:
    return {
        **number_json(metric.name, metric.number),
        "nodes": metric.count,
        "median": metric.centre,
        "spread": metric.spread,
        "least_effect": metric.effect,
        "finds": metric.finds,
        "bound": metric.bound,
        "reason": metric.reason,
    }


def _cells(kind: Kind, place: int) -> Json:
    """Values, changes and z of a node in every metric of the kind, as the page draws them."""
    cells = [(metric, metric.cells[place]) for metric in kind.metrics]
    judged = [None if metric.reason or cell.reason else (metric, cell) for metric, cell in cells]
    return {
        "values": [cell.value for _, cell in cells],
        "changes": [_ratio(one[0], one[1].value or 0.0, one[1].centre) if one else None for one in judged],
        "z": [one[1].z if one else None for one in judged],
    }


def _change_json(metric: Metric, loss: float) -> Json:
    return {
        "metric": metric.name,
        "label": label_text(metric.name, metric.number),
        "scale": metric.number.scale,
        "change": None if abs(loss) == math.inf else unscaled(metric.number, loss),
    }


def _node_json(kind: Kind, place: int, number: int, drifts: Sequence[drift.Drift]) -> Json:
    node = kind.nodes[place]
    lacks = [
        {"metric": metric.name, "label": label_text(metric.name, metric.number), "reason": reason}
        for metric, reason in kind.lacks(place)
    ]
    differs = [
        {"field": one.field, "value": value, "majority": one.majority, "nodes": one.count}
        for one in drifts
        for value, places in one.others.items()
        if place in places
    ]
    hidden = [_change_json(metric, loss) for metric, loss in kind.hidden(place)]
    failed = failed_in(node.runs)
    is_off = place in kind.slow or any(own.is_wrong for own in failed)
    is_unknown = kind.reason or failed or lacks or hidden
    state = OFF if is_off else UNKNOWN if is_unknown else FAST if place in kind.fast else OK
    return dict(
        _blank(node.name, node.path, state, kind.reason, node.notes),
        hostname=node.hostname,
        kind=number,
        started=first_of(node) or "",
        runs=len(node.runs),
        p_adjusted=kind.p_worse[place] if kind.p_worse else None,
        off=[_call_json(kind, call) for call in kind.slow.get(place, ())],
        fast=[_call_json(kind, call) for call in kind.fast.get(place, ())],
        off_families=[families.call_json(call, kind.names) for call in kind.slow_families.get(place, ())],
        fast_families=[families.call_json(call, kind.names) for call in kind.fast_families.get(place, ())],
        failed=[dict(asdict(own), text=own.text) for own in failed],
        lacks=lacks,
        hidden=hidden,
        ahead=[_change_json(metric, -lead) for metric, lead in kind.ahead(place)],
        drift=differs,
        **_cells(kind, place),
    )


def _blank(name: str, path: str, state: str, reason: str, notes: Sequence[str] = ()) -> Json:
    """A node without a run: all keys, of which only these are known."""
    known = {"name": name, "path": path, "hostname": "", "state": state, "kind": None, "reason": reason}
    rest = {"notes": list(notes), "started": "", "runs": 0, "p_adjusted": None}
    return {**known, **rest, **{key: [] for key in _LISTS}}


def _groups_json(kind: Kind, groups: Groups) -> Json:
    return {
        "slow": [kind.nodes[place].name for place in groups.slow],
        "others": len(kind.nodes) - len(groups.slow),
        "metrics": [_change_json(kind.metrics[at], loss) for at, loss in groups.metrics],
        "differs": [
            {"field": field, "slow": here, "others": there}
            for field, here, there in drift.separating(kind.nodes, groups.slow)
        ],
    }


def _kind_json(kind: Kind, drifts: Sequence[drift.Drift], splits: Sequence[drift.Split]) -> Json:
    return {
        "name": kind.name,
        "simulated": kind.nodes[0].runs[0].simulated,
        "nodes": len(kind.nodes),
        "reason": kind.reason,
        "metrics": [_metric_json(metric) for metric in kind.metrics],
        "families": [families.as_json(family, kind.names) for family in kind.families],
        "groups": [_groups_json(kind, groups) for groups in kind.groups],
        "drift": [
            {
                "field": one.field,
                "majority": one.majority,
                "nodes": one.count,
                "others": [
                    {"value": value, "nodes": [kind.nodes[place].name for place in places]}
                    for value, places in one.others.items()
                ],
            }
            for one in drifts
        ],
        "split": [
            {"field": one.field, "values": [{"value": value, "nodes": count} for value, count in one.values]}
            for one in splits
        ],
    }


# ------------------------------------------------------------------ names


def _name_notes(nodes: Sequence[Json], asked: Asked) -> list[str]:
    found = []
    expected = set(asked.expected or ())
    extra = [node["name"] for node in nodes if not {node["name"], node["hostname"]} & expected]
    if extra and asked.expected is not None:
        found.append("Not expected: %s." % listing(extra, MOST_NAMED))
    bad = [name for name in _names(nodes, OFF) if not is_name(name)]
    if bad:
        count = plural(len(bad), "node", "nodes") + " of such names" * (len(bad) > 1)
        found.append("Slurm can't be told to leave out %s: %s." % (count, listing(bad, MOST_NAMED)))
    return found


# ------------------------------------------------------------------ the answer


def hidden_text(hidden: Json) -> str:
    """ "GEMM f32 flop rate may be 51 % lower"."""
    if hidden["change"] is None:
        return "%s may deviate by any factor" % hidden["label"]
    return "%s may be %s" % (hidden["label"], off_text(hidden)[len(hidden["label"]) :].strip())


def off_text(call: Json) -> str:
    """ "GEMM f32 flop rate 5.1 % lower"."""
    change = call["change"]
    if change is None:
        return call["label"]
    if call["scale"] == RATIO and change >= 2:
        return "%s %.3g times" % (call["label"], change)
    return moved_text(call["label"], change, call["scale"])


def _calls_of(node: Json, key: str) -> list[Json]:
    """Families, and the metrics that are in none of them."""
    called = node[key + "_families"]
    together = {name for family in called for name in family["metrics"]}
    return called + [call for call in node[key] if call["metric"] not in together]


def _first(text: str, count: int) -> str:
    """The first of so many, and how many more."""
    return text + (", and %d more" % (count - 1) if count > 1 else "")


def _named(nodes: Sequence[Json], key: str) -> str:
    """ "node3 (6 GEMM rates 5.0 % lower, and 2 more)"."""
    texts = []
    for node in nodes:
        found = _wrong_texts(node) * (key == "off") + [off_text(call) for call in _calls_of(node, key)]
        texts.append("%s (%s)" % (node["name"], _first((found or ["between nodes"])[0], len(found))))
    return listing(texts, 3)


def _wrong_texts(node: Json) -> list[str]:
    """ "3 wrong results of micro/copy_path"."""
    return [
        "%s of %s" % (plural(own["count"], "wrong result"), own["program"])
        for own in node["failed"]
        if own["is_wrong"]
    ]


def _ahead_text(nodes: Sequence[Json]) -> str:
    """ "on node3 GEMM f32 flop rate may be 26 % higher, so the others may be the outliers"."""
    texts = ["on %s %s" % (node["name"], hidden_text(node["ahead"][0])) for node in nodes if node["ahead"]]
    return "%s, so the others may be the outliers" % listing(texts, 3)


def _groups_text(groups: Json) -> str:
    """ "5 of 12 nodes are slower than the other 7 (GEMM f32 flop rate 50 % lower, and 2 more)"."""
    count, others, metrics = len(groups["slow"]), groups["others"], groups["metrics"]
    slower = _first(off_text(metrics[0]), len(metrics))
    of = plural(count + others, "node")
    return "%d of %s are slower than the other %d (%s)" % (count, of, others, slower)


def _groups_reasons(kinds: Sequence[Json]) -> list[str]:
    """The nodes of the groups, and what tells them apart."""
    found = []
    for groups in [one for kind in kinds for one in kind["groups"]][:MOST_NAMED]:
        labels = listing([metric["label"] for metric in groups["metrics"]])
        found.append(
            "Slower than the other %d in %s: %s." % (groups["others"], labels, list_text(groups["slow"]))
        )
        differs = [
            "%s (%s; of the others %s)"
            % (one["field"], values_text(one["slow"], one["others"]), values_text(one["others"], one["slow"]))
            for one in groups["differs"]
        ]
        found.append(
            "They also differ in %s." % listing(differs, MOST_NAMED)
            if differs
            else "Nothing else in the records distinguishes them from the others."
        )
    if found:
        found.append(
            "The fleet alone cannot show which are right: compare a node of each with runs from before, or "
            "with ./gpusig preflight --reference."
        )
    return found


def list_text(names: Sequence[str]) -> str:
    """As Slurm writes them, and then those that it would not take."""
    odd = [name[:MOST_NAME] for name in names if not is_name(name)]
    return ", ".join(filter(None, (compress([name for name in names if is_name(name)]), listing(odd))))


def _hidden_text(nodes: Sequence[Json], most: float) -> str:
    """ "2 of 12 nodes may deviate by more than 20 % unseen: GEMM f32 flop rate may be 51 % lower, and 3
    more"."""
    unseen = [node for node in nodes if node["hidden"]]
    metrics = {own["metric"] for node in unseen for own in node["hidden"]}
    worst = _first(hidden_text(unseen[0]["hidden"][0]), len(metrics))
    of = plural(len(nodes), "node")
    return "%d of %s may deviate by more than %s unseen: %s" % (len(unseen), of, percent(most), worst)


def _undecided(nodes: Sequence[Json], kinds: Sequence[Json], most: float) -> list[str]:
    """Reasons for which an outlier may be hidden."""
    found = [_groups_text(groups) for kind in kinds for groups in kind["groups"]][:1]
    is_hidden = any(node["hidden"] for node in nodes)
    if not found and any(node["ahead"] and (_is_fast(node) or not is_hidden) for node in nodes):
        found.append(_ahead_text(nodes))
    if is_hidden and not found:
        found.append(_hidden_text(nodes, most))
    unknown = [node for node in nodes if node["state"] == UNKNOWN]
    counts = [
        (len(_names(nodes, MISSING)), "missing"),
        (
            sum(bool(node["lacks"] or node["failed"] or not node["hidden"]) for node in unknown),
            "not or not fully known",
        ),
    ]
    missing = " and ".join(
        "%d %s %s" % (number, "is" if number == 1 else "are", text) for number, text in counts if number
    )
    return found + ["of %s %s" % (plural(len(nodes), "node"), missing)] * bool(missing)


def _is_fast(node: Json) -> bool:
    return bool(node["fast"] or node["fast_families"])


def _largest_bound(kinds: Sequence[Json]) -> str:
    """ " by more than 3.1 %"."""
    found = [
        metric["bound"]
        for kind in kinds
        for metric in kind["metrics"]
        if not metric["reason"] and metric["scale"] == RATIO and metric["bound"] is not None
    ]
    return " by more than " + percent(max(found)) if found else ""


def _sentence(
    word: str, nodes: Sequence[Json], kinds: Sequence[Json], network: Json | None, most: float
) -> str:
    count, off = plural(len(nodes), "node"), [node for node in nodes if node["state"] == OFF]
    if word == OUTLIERS and not off:
        return "%s No node is an outlier in its own numbers." % _network_text(network)
    if word == OUTLIERS:
        are = "is an outlier" if len(off) == 1 else "are outliers"
        return "%d of %s %s: %s." % (len(off), count, are, _named(off, "off"))
    if word == NONE_OFF:
        found = "No outliers: none of %s is worse than the others" % count
        if len(kinds) < 2:
            return found + _largest_bound(kinds) + "."
        apart = "%d kinds are not compared with each other" % len(kinds)
        return "%s of its kind%s; %s." % (found, _largest_bound(kinds), apart)
    reasons = list(dict.fromkeys(kind["reason"] for kind in kinds))
    if "" not in reasons:
        why = listing(reasons) or "no node has a run that can be read"
        return "Inconclusive: nothing can be judged, since %s." % why
    unknown = "; ".join(_undecided(nodes, kinds, most))
    return "Inconclusive: no outlier in what was measured, but %s." % unknown


def _reasons(
    nodes: Sequence[Json], kinds: Sequence[Json], network: Json | None, notes: Sequence[str], most: float
) -> list[str]:
    is_off = bool(_names(nodes, OFF))
    found = [_network_text(network)] if _is_slow(network) and is_off else []
    if len(kinds) > 1:
        named = listing(["%s (%s)" % (kind["name"], plural(kind["nodes"], "node")) for kind in kinds])
        found.append("The fleet has %d kinds, each judged alone: %s." % (len(kinds), named))
    if len(kinds) > 1 or is_off:
        found += ["%s: %s." % (kind["name"], kind["reason"]) for kind in kinds if kind["reason"]]
    found += _groups_reasons(kinds)
    hidden = any(node["hidden"] for node in nodes)
    if (hidden or any(node["ahead"] for node in nodes)) and not any(kind["groups"] for kind in kinds):
        if hidden and is_off:
            found.append(_hidden_text(nodes, most) + ".")
        found.append(
            "Several runs of each node (--repeats) or more nodes show more; --only leaves out the numbers "
            "that spread so far."
        )
    fast = [node for node in nodes if _is_fast(node)]
    if fast:
        found.append("Unusually fast, a cooler place or a measurement error: %s." % _named(fast, "fast"))
    return found + list(notes)


def _is_slow(network: Json | None) -> bool:
    return network is not None and bool(between.slow_texts(network))


def _network_text(network: Json | None) -> str:
    return "Between nodes, %s." % listing(between.slow_texts(network or {}), MOST_NAMED)


def _call_off(nodes: Sequence[Json], network: Json) -> None:
    """A node is an outlier, too, where all that it sends or receives is slow; of a single slow link nobody
    knows which end it is."""
    for slow in network["slow_nodes"]:
        for node in nodes:
            if slow["node"] in (node["name"], node["hostname"]):
                node["state"] = OFF
                node["notes"] = [*node["notes"], between.node_text(slow)]


def _word(nodes: Sequence[Json], kinds: Sequence[Json], network: Json | None) -> str:
    states = {node["state"] for node in nodes}
    if OFF in states or _is_slow(network):
        return OUTLIERS
    split = any(kind["groups"] for kind in kinds) or any(node["ahead"] for node in nodes)
    unknown = states & {UNKNOWN, MISSING} or not nodes or split
    return INCONCLUSIVE if unknown else NONE_OFF


def _names(nodes: Sequence[Json], *states: str) -> list[str]:
    return [node["name"] for node in nodes if node["state"] in states]


def _all_nodes(nodes: Sequence[Node], kinds: Sequence[Kind], asked: Asked) -> tuple[list[Json], list[Json]]:
    """Nodes as they come and those that are missing, and kinds, as JSON."""
    rows, groups = {}, []
    for number, kind in enumerate(kinds):
        drifts, splits = drift.differences(kind.nodes)
        groups.append(_kind_json(kind, drifts, splits))
        for place, node in enumerate(kind.nodes):
            rows[id(node)] = _node_json(kind, place, number, drifts)
    found = [
        rows.get(id(node)) or _blank(node.name, node.path, UNKNOWN, node.unread, node.notes) for node in nodes
    ]
    there = {name for node in nodes for name in (node.name, node.hostname)}
    missing = [name for name in asked.expected or () if name not in there]
    found += [_blank(name, "", MISSING, "expected, and there is no folder of this name") for name in missing]
    return found, groups


def assess(nodes: list[Node], asked: Asked, settings: Settings) -> Json:
    """Everything about the nodes of a fleet."""
    found, groups = _all_nodes(nodes, kinds_of(nodes, settings), asked)
    notes = [*_name_notes(found, asked), *machine_notes(nodes), *clock_notes(nodes, asked.now)]
    network = between.without_good_links(asked.network) if asked.network else None
    if network:
        _call_off(found, network)
    most = most_hidden(settings.least_effect)
    word = _word(found, groups, network)
    off = [name for name in _names(found, OFF) if is_name(name)]
    return shortened(
        {
            "schema": SCHEMA,
            "version": VERSION,
            "name": asked.name,
            "outcome": {
                "verdict": word,
                "exit": EXITS[word],
                "sentence": _sentence(word, found, groups, network, most),
                "reasons": _reasons(found, groups, network, notes, most),
            },
            "settings": {
                "rate": settings.rate,
                "least_effect": settings.least_effect,
                "noise": settings.noise_file,
                "only": list(settings.only),
                "expected": None if asked.expected is None else len(asked.expected),
            },
            "exclude": compress(off),
            "unknown": compress([n for n in _names(found, UNKNOWN, MISSING) if is_name(n)]),
            "between": network,
            "kinds": groups,
            "nodes": found,
        }
    )


def counts_of(fleet: Json) -> list[tuple[str, int]]:
    return [(state, len(_names(fleet["nodes"], state))) for state in (OFF, FAST, OK, UNKNOWN, MISSING)]
