# SPDX-License-Identifier: BSD-3-Clause
"""A fleet as JSON (schema/fleet.schema.json), which table and page show: the answer, and all it follows
from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Dict, List, Optional, Sequence, Tuple

from reports.compare.comparison import label_text
from reports.compare.numbers import RATIO
from reports.compare.verdict import Settings
from reports.fleet import between, drift
from reports.fleet.hostlist import compress, is_name
from reports.fleet.judge import Call, Kind, Metric, kinds_of
from reports.fleet.nodes import Node, first_of
from reports.jsonl import Json
from reports.metrics import shortened
from reports.moment import moment
from reports.quantity import listing, percent, plural

SCHEMA, VERSION = "gpusig.fleet", "1.0.0"
OFF, FAST, OK, UNKNOWN, MISSING = "off", "fast", "ok", "unknown", "missing"  # of a node
OUTLIERS, NONE_OFF, INCONCLUSIVE = "outliers", "no outlier", "inconclusive"  # of the fleet
EXITS = {OUTLIERS: 1, NONE_OFF: 0, INCONCLUSIVE: 3}
_DAY, _SLACK = timedelta(days=1), timedelta(minutes=10)
MOST_NAMED = 4


@dataclass(frozen=True)
class Asked:
    """What the user asked for besides the settings of the verdict. `expected`: the names of all nodes, if the
    user gave them. `network`: what between.read() found."""

    name: str
    expected: Optional[List[str]] = None
    now: Optional[datetime] = None  # of the clock here
    network: Optional[Json] = None


# ------------------------------------------------------------------ parts


def _ratio(metric: Metric, value: float, centre: float) -> Optional[float]:
    """How the value lies to the centre: a ratio, or a difference."""
    if metric.number.scale != RATIO:
        return value - centre
    return value / centre if centre else None


def _call_json(kind: Kind, call: Call) -> Json:
    metric, cell = kind.metrics[call.metric], call.cell
    return {
        "metric": metric.name,
        "label": label_text(metric.name, metric.number),
        "condition": metric.number.condition,
        "unit": metric.number.unit,
        "better": metric.number.better,
        "scale": metric.number.scale,
        "value": cell.value,
        "of_others": cell.centre,
        "change": _ratio(metric, cell.value or 0.0, cell.centre),
        "z": cell.z,
        "p": cell.p,
        "p_adjusted": call.adjusted,
    }


def _metric_json(metric: Metric) -> Json:
    number = metric.number
    return {
        "name": metric.name,
        "label": label_text(metric.name, number),
        "group": number.group or "Others",
        "condition": number.condition,
        "unit": number.unit,
        "better": number.better,
        "scale": number.scale,
        "nodes": metric.count,
        "median": metric.centre,
        "spread": metric.spread,
        "least_effect": metric.effect,
        "finds": metric.finds,
        "reason": metric.reason,
    }


def _cells(kind: Kind, place: int) -> Json:
    """Of every metric of the kind: what the page draws."""
    cells = [(metric, metric.cells[place]) for metric in kind.metrics]
    judged = [None if metric.reason or cell.reason else (metric, cell) for metric, cell in cells]
    return {
        "values": [cell.value for _, cell in cells],
        "changes": [_ratio(one[0], one[1].value or 0.0, one[1].centre) if one else None for one in judged],
        "z": [one[1].z if one else None for one in judged],
    }


def _node_json(kind: Kind, place: int, number: int, drifts: Sequence[drift.Drift]) -> Json:
    node = kind.nodes[place]
    slow, fast = (
        [_call_json(kind, call) for call in calls.get(place, ())] for calls in (kind.slow, kind.fast)
    )
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
    state = OFF if slow else UNKNOWN if kind.reason or lacks else FAST if fast else OK
    return {
        "name": node.name,
        "path": node.path,
        "hostname": node.hostname,
        "state": state,
        "kind": number,
        "reason": kind.reason,
        "notes": node.notes,
        "started": first_of(node) or "",
        "runs": len(node.runs),
        "p_adjusted": kind.p_worse[place] if kind.p_worse else None,
        "off": slow,
        "fast": fast,
        "lacks": lacks,
        "drift": differs,
        **_cells(kind, place),
    }


def _unread_json(name: str, path: str, state: str, reason: str, notes: Sequence[str] = ()) -> Json:
    return {
        "name": name,
        "path": path,
        "hostname": "",
        "state": state,
        "kind": None,
        "reason": reason,
        "notes": list(notes),
        "started": "",
        "runs": 0,
        "p_adjusted": None,
        "off": [],
        "fast": [],
        "lacks": [],
        "drift": [],
        "values": [],
        "changes": [],
        "z": [],
    }


def _kind_json(kind: Kind, drifts: Sequence[drift.Drift], splits: Sequence[drift.Split]) -> Json:
    return {
        "name": kind.name,
        "simulated": kind.nodes[0].runs[0].simulated,
        "nodes": len(kind.nodes),
        "reason": kind.reason,
        "metrics": [_metric_json(metric) for metric in kind.metrics],
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


# ------------------------------------------------------------------ what else is to be known


def _time_of(started: Optional[str]) -> Optional[datetime]:
    found = moment(started or "")
    return found.replace(tzinfo=timezone.utc) if found and not found.tzinfo else found


def _clock_notes(nodes: Sequence[Node], now: Optional[datetime]) -> List[str]:
    known = [(when, node.name) for node in nodes for when in [_time_of(first_of(node))] if when]
    if not known:
        return []
    found = []
    ahead = [name for when, name in known if now and when > now + _SLACK]
    if ahead:
        found.append(
            "%s in the future by the clock here: %s."
            % (plural(len(ahead), "node started", "nodes started"), listing(ahead, MOST_NAMED))
        )
    known.sort()
    (first, first_name), (last, last_name) = known[0], known[-1]
    if last - first > _DAY:
        middle = known[len(known) // 2][0]
        far = [name for when, name in known if abs(when - middle) > _DAY]
        found.append(
            "The runs began over %.1f days, from %s (%s) to %s (%s); %s more than a day from most: %s."
            % (
                (last - first) / _DAY,
                first.isoformat()[:16],
                first_name,
                last.isoformat()[:16],
                last_name,
                plural(len(far), "node is", "nodes are"),
                listing(far, MOST_NAMED),
            )
        )
    return found


def _machine_notes(nodes: Sequence[Node]) -> List[str]:
    """Several folders of one machine. Simulated devices are all on one."""
    owners: Dict[str, List[str]] = {}
    for node in nodes:
        if node.hostname and not node.runs[0].simulated:
            owners.setdefault(node.hostname, []).append(node.name)
    return [
        "%s are of the same machine by its host name, %s." % (listing(names, MOST_NAMED), host)
        for host, names in owners.items()
        if len(names) > 1
    ]


def _name_notes(nodes: Sequence[Json], asked: Asked) -> List[str]:
    found = []
    if asked.expected is not None:
        expected = set(asked.expected)
        extra = [
            node["name"]
            for node in nodes
            if node["name"] not in expected and node["hostname"] not in expected
        ]
        if extra:
            found.append("Not expected: %s." % listing(extra, MOST_NAMED))
    bad = [node["name"] for node in nodes if node["state"] == OFF and not is_name(node["name"])]
    if bad:
        found.append(
            "Slurm can't be told to leave out %s: %s."
            % (
                plural(len(bad), "node", "nodes") + " of such names" * (len(bad) > 1),
                listing(bad, MOST_NAMED),
            )
        )
    return found


# ------------------------------------------------------------------ the answer


def off_text(call: Json) -> str:
    """ "GEMM f32 flop rate 5.1 % lower"."""
    change = call["change"]
    if change is None:
        return call["label"]
    if call["scale"] != RATIO:
        return "%s %.3g %s" % (call["label"], abs(change), "higher" if change > 0 else "lower")
    if change >= 2:
        return "%s %.3g times" % (call["label"], change)
    return "%s %s %s" % (call["label"], percent(abs(change - 1)), "higher" if change > 1 else "lower")


def _named(nodes: Sequence[Json], key: str) -> str:
    """ "node3 (GEMM f32 flop rate 5.1 % lower, and 2 more)"."""
    texts = []
    for node in nodes:
        more = len(node[key]) - 1
        if more < 0:
            texts.append("%s (between nodes)" % node["name"])
            continue
        texts.append(
            "%s (%s%s)" % (node["name"], off_text(node[key][0]), ", and %d more" % more if more else "")
        )
    return listing(texts, 3)


def _sentence(word: str, nodes: Sequence[Json], kinds: Sequence[Json], network: Optional[Json]) -> str:
    count, off = len(nodes), [node for node in nodes if node["state"] == OFF]
    if word == OUTLIERS and not off:
        return "%s No node is off in its own numbers." % _network_text(network)
    if word == OUTLIERS:
        return "%d of %s %s off: %s." % (
            len(off),
            plural(count, "node"),
            "is" if len(off) == 1 else "are",
            _named(off, "off"),
        )
    if word == NONE_OFF:
        return "No node is off: %s by less than this fleet's spread and the least effect allow." % (
            plural(count, "node differs", "nodes differ")
        )
    judged = [kind for kind in kinds if not kind["reason"]]
    if not judged:
        why = (
            listing(list(dict.fromkeys(kind["reason"] for kind in kinds)))
            or "no node has a run that can be read"
        )
        return "Inconclusive: nothing can be judged, since %s." % why
    counts = [
        (sum(node["state"] == state for node in nodes), text)
        for state, text in ((MISSING, "missing"), (UNKNOWN, "not or not fully known"))
    ]
    return "Inconclusive: no node is off in what was measured, but of %s %s." % (
        plural(count, "node"),
        " and ".join(
            "%d %s %s" % (number, "is" if number == 1 else "are", text) for number, text in counts if number
        ),
    )


def _reasons(
    nodes: Sequence[Json], kinds: Sequence[Json], network: Optional[Json], notes: Sequence[str]
) -> List[str]:
    found = (
        [_network_text(network)] if _is_slow(network) and any(node["state"] == OFF for node in nodes) else []
    )
    if len(kinds) > 1:
        found.append(
            "The fleet has %d kinds, each judged alone: %s."
            % (
                len(kinds),
                listing(["%s (%s)" % (kind["name"], plural(kind["nodes"], "node")) for kind in kinds]),
            )
        )
        found += ["%s: %s." % (kind["name"], kind["reason"]) for kind in kinds if kind["reason"]]
    fast = [node for node in nodes if node["fast"]]
    if fast:
        found.append("Unusually fast, a cooler place or an error of measuring: %s." % _named(fast, "fast"))
    return found + list(notes)


def _is_slow(network: Optional[Json]) -> bool:
    return network is not None and bool(between.slow_texts(network))


def _network_text(network: Optional[Json]) -> str:
    return "Between nodes, %s." % listing(between.slow_texts(network or {}), MOST_NAMED)


def _call_off(nodes: Sequence[Json], network: Json) -> None:
    """A node is off, too, where all that it sends or receives is slow; of a single slow link nobody knows
    which end it is."""
    for slow in network["slow_nodes"]:
        for node in nodes:
            if slow["node"] in (node["name"], node["hostname"]):
                node["state"] = OFF
                node["notes"] = [*node["notes"], between.node_text(slow)]


def _word(nodes: Sequence[Json], network: Optional[Json]) -> str:
    states = {node["state"] for node in nodes}
    if OFF in states or _is_slow(network):
        return OUTLIERS
    return INCONCLUSIVE if states & {UNKNOWN, MISSING} or not nodes else NONE_OFF


def _names(nodes: Sequence[Json], *states: str) -> List[str]:
    return [node["name"] for node in nodes if node["state"] in states]


def _missing(nodes: Sequence[Node], asked: Asked) -> List[str]:
    there = {name for node in nodes for name in (node.name, node.hostname)}
    return [name for name in asked.expected or () if name not in there]


def assess(nodes: List[Node], asked: Asked, settings: Settings) -> Json:
    """Everything about the nodes of a fleet."""
    kinds = kinds_of(nodes, settings)
    rows, groups = {}, []
    for number, kind in enumerate(kinds):
        drifts, splits = drift.differences(kind.nodes)
        groups.append(_kind_json(kind, drifts, splits))
        rows.update(
            (id(node), _node_json(kind, place, number, drifts)) for place, node in enumerate(kind.nodes)
        )
    found = [
        rows.get(id(node)) or _unread_json(node.name, node.path, UNKNOWN, node.unread, node.notes)
        for node in nodes
    ]
    found += [
        _unread_json(name, "", MISSING, "expected, and there is no folder of this name")
        for name in _missing(nodes, asked)
    ]
    notes = [*_name_notes(found, asked), *_machine_notes(nodes), *_clock_notes(nodes, asked.now)]
    network = between.without_good_links(asked.network) if asked.network else None
    if network:
        _call_off(found, network)
    word = _word(found, network)
    off = [name for name in _names(found, OFF) if is_name(name)]
    return shortened(
        {
            "schema": SCHEMA,
            "version": VERSION,
            "name": asked.name,
            "outcome": {
                "verdict": word,
                "exit": EXITS[word],
                "sentence": _sentence(word, found, groups, network),
                "reasons": _reasons(found, groups, network, notes),
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


def counts_of(fleet: Json) -> List[Tuple[str, int]]:
    return [
        (state, sum(node["state"] == state for node in fleet["nodes"]))
        for state in (OFF, FAST, OK, UNKNOWN, MISSING)
    ]
