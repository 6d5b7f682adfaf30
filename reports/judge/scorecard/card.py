# SPDX-License-Identifier: BSD-3-Clause
"""A scorecard as JSON (schema/scorecard.schema.json), which table and page show: the time of the user's mix,
what prices buy, who is best at what, and all it follows from."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from reports.records.jsonl import Json
from reports.signature.machine import name_of, sentence_of
from reports.records.metrics import shortened
from reports.records.quantity import listing, spell
from reports.judge.scorecard import metrics, price, rules, sentences, workload
from reports.judge.scorecard.machines import CONFIDENCE, Machine
from reports.judge.scorecard.metrics import RATE, Row
from reports.judge.scorecard.price import Prices
from reports.judge.scorecard.questions import Vote, votes
from reports.judge.scorecard.ranking import EQUAL, LEAST_EFFECT, OPEN, UNRANKED, Pair, Ratio
from reports.judge.scorecard.workload import Line, Mix, Time

SCHEMA, VERSION = "gpusig.scorecard", "2.0.0"
OK, NOTHING = 0, 3
_FIELDS = "driver firmware library kernel clocks power ecc partition gpusig setting options".split()


class Question(NamedTuple):
    """The user's question besides the machines. `to_measure`: by machine, the run that answers what it does
    not."""

    base: str | None = None
    mix: Mix | None = None
    mix_name: str = ""
    prices: Prices | None = None
    price_name: str = ""
    to_measure: dict[str, str] = {}


# ------------------------------------------------------------------ machines


def _machine_json(machine: Machine) -> Json:
    first = machine.runs[0]
    stated = {f: v for f, v in sorted(first.provenance.items()) if f.partition(":")[0] in _FIELDS}
    return {
        "name": machine.name,
        "device": name_of(machine.signatures[0]),
        "what": sentence_of(machine.signatures[0]),
        "kind": machine.kind,
        "devices": machine.devices,
        "simulated": machine.simulated,
        "known": machine.known,
        "versions": rules.versions(machine),
        "run_spread": machine.run_spread["relative"] if machine.run_spread else None,
        "runs": [{"name": run.name, "started": run.started} for run in machine.runs],
        "left_out": list(machine.side.left_out),
        "provenance": stated,
    }


# ------------------------------------------------------------------ numbers


def _parts(held: Any, *names: str) -> Json:
    return {name: getattr(held, name) for name in names}


def _label(row: Row) -> str:
    name = row.name.rpartition("/")[2].partition("{")[0].partition("@")[0]
    return row.number.label or spell(name) or row.name


def _ratio_json(name: str, reference: str | None, ratios: Mapping[Pair, Ratio]) -> Json | None:
    """The ratio of a machine to the reference, which is 1 to itself."""
    if reference is None:
        return None
    return (Ratio(1.0, 1.0, 1.0) if name == reference else ratios[name, reference])._asdict()


def _row_json(row: Row, base: str | None, question: str) -> Json:
    reference = metrics.reference_of(row, base)
    return {
        "name": row.name,
        "label": _label(row),
        "question": question,
        "group": row.number.group or "Others",
        "condition": row.likeness.condition,
        "unit": row.number.unit,
        "better": row.number.better,
        "reference": reference,
        "machines": {
            name: _parts(held, "value", "low", "high", "runs", "reason") for name, held in row.values.items()
        },
        "ratios": {name: _ratio_json(name, reference, row.ratios) for name in row.values},
        "better_than": {
            name: sorted(o for o in row.values if row.better.get((name, o))) for name in row.values
        },
        **row.rank._asdict(),
        "not_compared": row.others,
    }


def _alone_json(alone: Sequence[Row], compared: Sequence[Row]) -> list[Json]:
    """A number once, where no two machines can be compared in it."""
    known: set[str] = {row.name for row in compared}
    found: dict[str, Json] = {}
    for row in alone:
        if row.name in known:
            continue
        entry = {"name": row.name, "label": _label(row), "group": row.number.group or "Others"}
        entry = found.setdefault(row.name, {**entry, "unit": row.number.unit, "machines": {}})
        for name, held in row.values.items():
            entry["machines"][name] = {"value": held.value, "condition": row.likeness.condition, "reason": ""}
        for name, reason in row.others.items():
            entry["machines"].setdefault(name, {"value": None, "condition": "", "reason": reason})
    for entry in found.values():  # of what has a value, the reason is on the other's side
        if sum(m["value"] is not None for m in entry["machines"].values()) > 1:
            reasons = [r for row in alone if row.name == entry["name"] for r in row.others.values()]
            entry["why"] = reasons[0]
        else:
            by_reason: dict[str, list[str]] = {}
            for name, own in sorted(entry["machines"].items()):
                by_reason.setdefault(own["reason"], []).append(name)
            by_reason.pop("", None)
            entry["why"] = "; ".join("%s: %s" % (listing(who), why) for why, who in by_reason.items())
    return list(found.values())


def _counts(voted: Sequence[Vote], names: Sequence[str]) -> Json:
    """Number of questions in which each machine is alone the best, among the best, behind, or not ranked."""
    machines = {}
    for name in names:
        own = [row.rank for _, row in voted if name in row.values]
        counted = {
            "best": sum(rank.best == [name] for rank in own),
            "shared": sum(name in rank.best and len(rank.best) > 1 for rank in own),
            "behind": sum(name in rank.behind for rank in own),
        }
        machines[name] = {"questions": len(own), **counted, "unranked": len(own) - sum(counted.values())}
    verdicts = [row.rank.verdict for _, row in voted]
    return {
        "questions": len(voted),
        "equal": verdicts.count(EQUAL),
        "open": verdicts.count(OPEN),
        "unranked": verdicts.count(UNRANKED),
        "machines": machines,
    }


# ------------------------------------------------------------------ mix and prices


def _line_json(line: Line) -> Json:
    known = [name for name in sorted(line.times) if line.times[name].seconds is not None]
    quickest = min(line.rank.best or known, key=lambda n: line.times[n].seconds or 0.0, default=None)
    machines = {}
    for name, time in line.times.items():
        speed = _ratio_json(name, quickest, line.speeds) if name in known else None
        if speed:
            del speed["p"]
        machines[name] = {
            **_time_json(time),
            "speed": speed,
            "reason": time.reason,
            "notes": list(time.notes),
        }
    return {"text": line.text, "machines": machines, **line.rank._asdict(), "reference": quickest}


def _time_json(time: Time) -> Json:
    return {"seconds": time.seconds, "low": time.ends[0], "high": time.ends[1]}


def _mix_json(question: Question) -> Json | None:
    mix = question.mix
    if mix is None:
        return None
    return {
        "file": question.mix_name,
        "items": [_line_json(line) for line in mix.items],
        "total": _line_json(mix.total),
        "common": None if mix.common is None else _line_json(mix.common),
        "common_items": mix.common_items,
        "to_measure": question.to_measure,
    }


def _price_json(question: Question) -> Json | None:
    prices, mix = question.prices, question.mix
    if prices is None:
        return None
    buys = price.bought(prices, mix, question.base)
    machines = {}
    for who, own in prices.machines.items():
        time = Time(None) if mix is None else mix.total.times[who]
        found = buys.get(who)
        machines[who] = {
            **_parts(own, "price", "currency", "power"),
            "power_source": own.power_text,
            **_time_json(time),
            "step_cost": price.step_cost(own, time),
            "steps": price.steps(own, time),
            "energy": price.energy(own, time),
            "buys": found and dict(found._asdict(), speed=_parts(found.speed, "value", "low", "high")),
            "beaten_by": prices.beaten.get(who, []),
        }
    return {
        "file": question.price_name,
        "notes": prices.notes,
        "criteria": prices.criteria,
        "speed": "the main number of every question" if mix is None else "the mix",
        "machines": machines,
        "unbeaten": prices.best,
    }


def _notes(machines: Sequence[Machine]) -> list[str]:
    found = []
    seen: dict[tuple[str, str], str] = {}
    for machine in sorted(machines, key=lambda m: m.name):
        for run in machine.runs:
            own = (run.identity, run.device)  # runs of models with the same seed have the same name
            if run.identity and seen.get(own, machine.name) != machine.name:
                said = "%s and %s have a run in common: they are one machine, measured once."
                found.append(said % (seen[own], machine.name))
            seen.setdefault(own, machine.name)
    counts = {machine.devices for machine in machines}
    if len(counts) > 1:
        named = ["%s %d" % (m.name, m.devices) for m in sorted(machines, key=lambda m: m.name)]
        said = "The machines were measured with different numbers of devices: %s."
        found.append(said % listing(named, 8))
    if len({m.kind == "host" for m in machines}) > 1:
        found.append(
            "CPU nodes and accelerators are mixed: what a CPU does to itself (links, starting work, overlap, "
            "collectives among its parts) is compared among CPU nodes only."
        )
    return list(dict.fromkeys(found))


def card(machines: Sequence[Machine], rows: tuple[list[Row], list[Row]], question: Question) -> Json:
    """The scorecard of rows that metrics.judge() judged."""
    compared, alone = rows
    voted = votes(compared)
    asked = {id(vote.row): vote.question for vote in voted}
    mix = _mix_json(question)
    answered = mix is not None and any(item["verdict"] != workload.NONE for item in mix["items"])
    found = {
        "schema": SCHEMA,
        "version": VERSION,
        "exit": OK if compared or answered else NOTHING,
        "notes": _notes(machines),
        "settings": dict(rate=RATE, confidence=CONFIDENCE, least_effect=LEAST_EFFECT, base=question.base),
        "machines": [_machine_json(machine) for machine in machines],
        "counts": _counts(voted, [m.name for m in machines]),
        "metrics": [_row_json(row, question.base, asked.get(id(row), "")) for row in compared],
        "not_compared": _alone_json(alone, compared),
        "workload": mix,
        "price": _price_json(question),
        "rules": rules.check([machine for machine in machines if not machine.known]),
        "statements": list(rules.STATEMENTS),
    }
    return shortened(dict(found, sentences=sentences.of(found, machines)))
