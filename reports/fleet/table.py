# SPDX-License-Identifier: BSD-3-Clause
"""A fleet in a terminal: the answer, every node that is off with what else is different about it, what is missing, and drift."""

from __future__ import annotations

from typing import Any, List, Sequence

from reports.compare.numbers import RATIO
from reports.compare.table import difference_text, p_text, plain, values_text, wrapped
from reports.fleet import between
from reports.fleet.fleet import MISSING, MOST_NAMED, OFF, UNKNOWN, counts_of, off_text
from reports.fleet.hostlist import compress, is_name
from reports.jsonl import Json
from reports.quantity import human, listing, percent, plural

_NODES = 20  # of each state that are shown
_CALLS = 6  # metrics of a node
_FIELDS = 12  # of provenance
_LACKS = 3
_NAME = 60  # characters of a name


def plain_texts(value: Any) -> Any:
    """With no text that a terminal or a page could take for anything else."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {key: plain_texts(inner) for key, inner in value.items()}
    return [plain_texts(inner) for inner in value] if isinstance(value, list) else value


def z_text(z: float) -> str:
    return "%.1f" % z if abs(z) < 100 else "%.0f" % z if abs(z) < 1e4 else ">9999"


def size_text(effect: Any, metric: Json) -> str:
    """A spread or a least effect: "2.0 %", or in the unit where the metric has no ratio."""
    if effect is None:
        return "none"
    return percent(effect) if metric["scale"] == RATIO else difference_text(effect, metric["unit"])


def drift_text(differs: Json) -> str:
    """"driver: device driver is 535; of 31 nodes 550"."""
    value, majority = differs["value"], differs["majority"]
    return "%s is %s, and of %s %s" % (differs["field"], values_text([value], [majority]), plural(differs["nodes"], "node"),
                                       values_text([majority], [value]))


def title_of(node: Json) -> str:
    """The name, and the host name where it is another."""
    host = node["hostname"]
    return node["name"][:_NAME] + (" (host %s)" % host[:_NAME] if host and host != node["name"] else "")


def list_text(names: Sequence[str]) -> str:
    """As Slurm writes them, and then those that it would not take."""
    odd = [name[:_NAME] for name in names if not is_name(name)]
    fine = [name for name in names if is_name(name)]
    return ", ".join([compress(fine)] * bool(fine) + [listing(odd)] * bool(odd))


def lacks_texts(node: Json) -> List[str]:
    texts = ["no value of %s: %s" % (own["label"], own["reason"]) for own in node["lacks"][:_LACKS]]
    more = len(node["lacks"]) - _LACKS
    return texts + ["and no value of %d more" % more] * (more > 0)


# ------------------------------------------------------------------ layout


def _calls(calls: Sequence[Json]) -> List[str]:
    lines = []
    for call in calls[:_CALLS]:
        name = off_text(call) + (", " + call["condition"] if call["condition"] else "")
        right = "z %s, p %s" % (z_text(call["z"]), p_text(call["p_adjusted"]))
        numbers = "%s, others %s" % (human(call["value"], call["unit"]), human(call["of_others"], call["unit"]))
        lines += wrapped(name, "    ", "      ") + wrapped("%s; %s" % (numbers, right), "      ")
    return lines + ["    and %d more" % (len(calls) - _CALLS)] * (len(calls) > _CALLS)


def _node(node: Json, key: str) -> List[str]:
    lines = wrapped(title_of(node), "  ", "    ") + _calls(node[key])
    for differs in node["drift"][:_FIELDS]:
        lines += wrapped("differs: " + drift_text(differs), "    ", "      ")
    return lines + [line for text in (*lacks_texts(node), *node["notes"]) for line in wrapped(text, "    ", "      ")]


def _listed(title: str, nodes: Sequence[Json], key: str) -> List[str]:
    if not nodes:
        return []
    lines = ["", *wrapped(title)] + [line for node in nodes[:_NODES] for line in _node(node, key)]
    return lines + ["  and %s" % plural(len(nodes) - _NODES, "more node")] * (len(nodes) > _NODES)


def _unknown(nodes: Sequence[Json]) -> List[str]:
    if not nodes:
        return []
    lines = ["", *wrapped("Not, or not fully, known: %s" % plural(len(nodes), "node"))]
    for node in nodes[:_NODES]:
        texts = [text for text in (node["reason"], *node["notes"], *lacks_texts(node)) if text]
        lines += wrapped("%s: %s" % (title_of(node), "; ".join(dict.fromkeys(texts))), "  ", "    ")
    return lines + ["  and %s" % plural(len(nodes) - _NODES, "more node")] * (len(nodes) > _NODES)


def _missing(nodes: Sequence[Json]) -> List[str]:
    return ["", *wrapped("Missing, %s: %s" % (plural(len(nodes), "node"), list_text([node["name"] for node in nodes])))]


def _kind(kind: Json) -> List[str]:
    why = ": " + kind["reason"] if kind["reason"] else ""
    lines = ["", *wrapped("%s, %s%s" % (kind["name"], plural(kind["nodes"], "node"), why))]
    if not kind["reason"]:
        lines.append("  %-39s %12s %8s %7s %7s" % ("", "median", "spread", "finds", "nodes"))
    for metric in kind["metrics"] if not kind["reason"] else ():
        if metric["reason"]:
            lines += wrapped("%s: not judged: %s" % (metric["label"], metric["reason"]), "  ", "    ")
            continue
        lines.append("  %-39s %12s %8s %7s %7d" % (metric["label"][:39], human(metric["median"], metric["unit"]), size_text(
            metric["spread"], metric), size_text(metric["finds"], metric), metric["nodes"]))
    return lines


def _drift(kind: Json, alone: bool) -> List[str]:
    where = "" if alone else " of %s" % kind["name"]
    lines = ["", *wrapped("Drift%s: what differs from the majority" % where)] if kind["drift"] else []
    for one in kind["drift"][:_FIELDS]:
        for other in one["others"][:_LACKS]:
            both = (other["value"], one["majority"])
            own, usual = values_text(both[:1], both[1:]), values_text(both[1:], both[:1])
            lines += wrapped("%s: %s on %s; %s on %d" % (one["field"], own, list_text(other["nodes"]), usual, one["nodes"]), "  ",
                             "    ")
    lines += ["  and %s" % plural(len(kind["drift"]) - _FIELDS, "more field")] * (len(kind["drift"]) > _FIELDS)
    for one in kind["split"][:_FIELDS]:
        lines += wrapped("No majority%s: %s: %s" % (where, one["field"], listing(["%s (%d)" % (plain(
            own["value"], 40), own["nodes"]) for own in one["values"]])))
    return lines


def table(fleet: Json) -> str:
    """Plain text of lines up to 80 columns; only a single longer word makes a longer one."""
    known = plain_texts(fleet)
    outcome, nodes = known["outcome"], known["nodes"]
    of = {state: [node for node in nodes if node["state"] == state] for state in (OFF, UNKNOWN, MISSING)}
    lines = wrapped(outcome["sentence"]) + [line for reason in outcome["reasons"] for line in wrapped(reason, "  ")]
    if known["exclude"]:
        lines += ["", "Leave out: --exclude=%s" % known["exclude"]]
    lines += ["Not fully known: %s" % known["unknown"]] * bool(known["unknown"])
    lines += _listed("Off:", of[OFF], "off")
    lines += _listed("Unusually fast:", [node for node in nodes if node["fast"]], "fast")
    lines += _unknown(of[UNKNOWN]) + (_missing(of[MISSING]) if of[MISSING] else [])
    if known["between"]:
        lines += ["", *wrapped("Between nodes: %s." % between.summary(known["between"]))]
        rest = between.slow_texts(known["between"])[MOST_NAMED:_NODES]  # the first are in the answer
        lines += [line for text in rest for line in wrapped(text, "  ", "    ")]
    kinds = known["kinds"]
    lines += [line for kind in kinds for line in _drift(kind, len(kinds) == 1) + _kind(kind)]
    lines += ["", *wrapped(
        "z: how far a node is from the median of all others, in units of their spread. p is adjusted over nodes and metrics "
        "(rate %s). \"finds\": a lone deviation that 9 of 10 such nodes are called for. Least effect that matters: %s." % (
            percent(known["settings"]["rate"]), percent(known["settings"]["least_effect"])))]
    said = ", ".join("%d %s" % (count, state) for state, count in counts_of(known) if count)
    return "\n".join(lines + ["", *wrapped("%s: %s" % (plural(len(nodes), "node"), said))]) + "\n"


def names(fleet: Json) -> str:
    """The nodes that are off, one a line, for scripts."""
    return "".join(plain(node["name"]) + "\n" for node in fleet["nodes"] if node["state"] == OFF)


def option(fleet: Json) -> str:
    """What Slurm is told: nothing where no node is off."""
    return "--exclude=%s\n" % fleet["exclude"] if fleet["exclude"] else ""
