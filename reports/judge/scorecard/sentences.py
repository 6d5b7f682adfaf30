# SPDX-License-Identifier: BSD-3-Clause
"""The answer of a scorecard in sentences: the user's mix, what its price buys, what to measure, and last who
is best in how many questions."""

from __future__ import annotations

from typing import Any, Sequence

from reports.judge.compare.provenance import HOSTNAME
from reports.records.jsonl import Json
from reports.records.quantity import listing, percent, plural
from reports.judge.scorecard import rules
from reports.judge.scorecard.machines import Machine
from reports.judge.scorecard.ranking import BEST, EQUAL, LEAST_EFFECT, UNRANKED
from reports.judge.scorecard.workload import NONE
from reports.judge.scorecard.wording import bought_text, price_text, ratio_text, seconds_text, slower_text

_MANY = 8  # of a list in a sentence


# ------------------------------------------------------------------ the mix


def _lead(line: Json) -> str:
    best = line["best"]
    if line["verdict"] == UNRANKED:
        return "which is fastest is not known"
    if line["verdict"] == BEST:
        return "%s is fastest" % best[0]
    how = "equal within %s" % percent(LEAST_EFFECT) if line["verdict"] == EQUAL else "not told apart"
    return "the fastest are %s, %s" % (listing(best, _MANY), how)


def _followers(names: Sequence[str], line: Json) -> list[str]:
    """Clauses on those that are none of the fastest."""
    reference = line["reference"]
    speeds = {name: line["machines"][name]["speed"] for name in names}
    told = [
        "%s %s" % (name, ratio_text(speed))
        for name, speed in speeds.items()
        if speed["low"] is not None and name != reference
    ]
    found = ["%s times the speed of %s" % (listing(told, _MANY), reference)] * bool(told)
    for name, speed in speeds.items():
        if name in line["unranked"]:
            compared = "" if name == reference else ", " + slower_text(speed)
            found.append("%s is not ranked, because its error is not known%s" % (name, compared))
        elif speed["low"] is None:
            found.append("%s is %s" % (name, slower_text(speed)))
    return found


def _line(line: Json, what: str) -> str:
    known = [name for name, own in line["machines"].items() if own["seconds"] is not None]
    known.sort(key=lambda name: (line["machines"][name]["seconds"], name))
    times = listing(["%s %s" % (name, seconds_text(line["machines"][name])) for name in known], _MANY)
    if len(known) < 2:
        return "%s: %s." % (what, times or "no machine has an answer")
    said = _followers([name for name in known if name not in line["best"]], line)
    return "%s: %s; %s." % (what, times, "; ".join([_lead(line), *said]))


def _mix(mix: Json | None) -> list[str]:
    if mix is None:
        return []
    totals = sorted(mix["total"]["machines"].items())
    lacking = ["%s (%s)" % (name, own["reason"]) for name, own in totals if own["seconds"] is None]
    if not lacking:
        return [_line(mix["total"], "The mix of %s" % mix["file"])]
    found = ["The mix of %s has no total on %s." % (mix["file"], listing(lacking, _MANY))]
    if mix["total"]["verdict"] != NONE:
        found.insert(0, _line(mix["total"], "The mix of %s" % mix["file"]))
    if mix["common"] is not None:
        what = "Of its %d items, the %d that all answer" % (len(mix["items"]), mix["common_items"])
        found.append(_line(mix["common"], what))
    return found + ["None of its items has an answer on every machine."] * (not mix["common_items"])


def _to_measure(mix: Json | None) -> list[str]:
    wanted = {} if mix is None else mix["to_measure"]
    return ["To measure what %s lacks: %s" % pair for pair in sorted(wanted.items())]


# ------------------------------------------------------------------ prices


def _bought(prices: Json) -> list[str]:
    found = {name: own for name, own in sorted(prices["machines"].items()) if own["buys"]}
    if not found:
        return []
    of = next(iter(found.values()))["buys"]["of"]
    said = ["%s %s" % (name, bought_text(own)) for name, own in found.items()]
    return ["Against %s (%s): %s." % (of, price_text(prices["machines"][of]), "; ".join(said[:_MANY]))]


def _prices(prices: Json | None) -> list[str]:
    if prices is None:
        return []
    found = _bought(prices)
    if "speed" not in prices["criteria"] or len(prices["criteria"]) < 2:
        why = "too little is known"
        if prices["criteria"]:
            why = "only %s is known of two machines" % listing(prices["criteria"])
        return [*found, "Speed, price and power could not be weighed against each other: %s." % why]
    beaten_by = {name: own["beaten_by"] for name, own in sorted(prices["machines"].items())}
    front = listing([name for name, others in beaten_by.items() if not others], _MANY)
    beaten = ["%s by %s" % (name, listing(others)) for name, others in beaten_by.items() if others]
    weighed = "Pareto front of %s (speed by %s): %s" % (listing(prices["criteria"]), prices["speed"], front)
    found.append(weighed + ("; dominated: %s." % listing(beaten, _MANY) if beaten else "."))
    lacking = [
        "the %s of %s" % (what, name)
        for name, own in sorted(prices["machines"].items())
        for what in ("price", "power")
        if own[what] is None
    ]
    return found + ["Not known, and so not weighed: %s." % listing(lacking, _MANY)] * bool(lacking)


# ------------------------------------------------------------------ counts


def _votes(counts: Json) -> str:
    won = [(own["best"], name) for name, own in counts["machines"].items() if own["best"]]
    parts = ["%s is best in %d" % (name, n) for n, name in sorted(won, key=lambda w: (-w[0], w[1]))]
    for name, words in (("equal", "equal within %s" % percent(LEAST_EFFECT)), ("open", "not told apart")):
        parts += ["the best are %s in %d" % (words, counts[name])] * bool(counts[name])
    parts += ["in %d it is not known which is" % counts["unranked"]] * bool(counts["unranked"])
    return "Of %s, one vote each: %s." % (plural(counts["questions"], "question"), "; ".join(parts))


def _standing(counts: Json, name: str, others: int) -> str:
    """Standing of the only machine that is not a known one."""
    own = counts["machines"][name]
    words = (("best", "best"), ("shared", "among the best"), ("behind", "behind"), ("unranked", "not ranked"))
    said = listing(["%s in %d" % (text, own[key]) for key, text in words if own[key] or key == "behind"])
    counted = plural(others, "known machine"), plural(own["questions"], "question")
    return "Next to %s, in %s with one vote each, %s is %s." % (*counted, name, said)


def _counts(card: Json) -> list[str]:
    counts, rows = card["counts"], card["metrics"]
    if not rows:
        return ["No headline number could be compared."]
    if not counts["questions"]:
        return ["None of these numbers is the main one of a question."]
    mine = [machine["name"] for machine in card["machines"] if not machine["known"]]
    alone = len(mine) == 1
    found = [_standing(counts, mine[0], len(card["machines"]) - 1) if alone else _votes(counts)]
    if card["workload"] is None:
        found.append("Counts give unequal things equal weight: describe your own work with --workload FILE.")
    lost = len(card["not_compared"])
    return found + ["%s could not be compared; the reasons are below." % plural(lost, "number")] * bool(lost)


# ------------------------------------------------------------------ what to know first


def same_machine(machines: Sequence[Machine]) -> str:
    """The command for two runs of one machine, as before and after an update; empty if there are two."""
    if len(machines) != 2 or any(machine.known for machine in machines):
        return ""
    one, other = ((m.runs[0].device, m.runs[0].provenance.get(HOSTNAME), m.devices, m.kind) for m in machines)
    if one != other:
        return ""
    sides = sorted(machines, key=lambda m: m.name)
    return (
        "Both are of one machine (%s): a scorecard ranks machines, and whether this one has changed is "
        "answered by ./gpusig compare %s %s."
        % (machines[0].runs[0].machine, sides[0].side.name, sides[1].side.name)
    )


def caution(found: Sequence[dict[str, Any]], machines: Sequence[Machine]) -> list[str]:
    offered = [machine for machine in machines if not machine.known]
    lacking = {m.name: rules.broken(found, m.name) for m in offered}
    bad = ["%s %d" % (name, len(said)) for name, said in lacking.items() if said]
    said = [
        "Simulated: these numbers come from models in virtual time, where times repeat, and say nothing "
        "about hardware."
    ] * machines[0].simulated
    if bad:
        text = "Run rules that do not hold, or are not shown to: %s of %d. Read them before you rely on this."
        return [*said, text % (listing(sorted(bad), _MANY), len(found))]
    return said + ["Every run rule that signatures can show holds."] * bool(offered)


def of(card: Json, machines: Sequence[Machine]) -> list[str]:
    """`card`: all but its sentences."""
    changed = same_machine(machines) if card["metrics"] else ""
    return [
        *filter(None, [changed]),
        *_mix(card["workload"]),
        *_prices(card["price"]),
        *_to_measure(card["workload"]),
        *([] if changed else _counts(card)),
        *caution(card["rules"], machines),
    ]
