# SPDX-License-Identifier: BSD-3-Clause
"""A scorecard as JSON (schema/scorecard.schema.json), which table and page show: who is best at what, and all
it follows from."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from reports.groups import GROUPS
from reports.jsonl import Json
from reports.machine import name_of, sentence_of
from reports.metrics import shortened
from reports.quantity import listing, percent, plural, spell
from reports.scorecard import metrics, price, rules, workload
from reports.scorecard.machines import CONFIDENCE, Held, Machine
from reports.scorecard.metrics import BEST, DESCRIBED, EQUAL, LEAST_EFFECT, OPEN, RATE, Row
from reports.scorecard.price import Prices
from reports.scorecard.workload import Line, Mix

SCHEMA, VERSION = "gpusig.scorecard", "1.0.0"
OK, NOTHING = 0, 3
_FIELDS = (
    "driver",
    "firmware",
    "library",
    "kernel",
    "clocks",
    "power",
    "ecc",
    "partition",
    "gpusig",
    "setting",
    "options",
)


class Question(NamedTuple):
    """What the user asks besides the machines."""

    base: Optional[str] = None
    mix: Optional[Mix] = None
    mix_name: str = ""
    prices: Optional[Prices] = None
    price_name: str = ""


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
        "versions": rules.versions(machine),
        "run_spread": machine.run_spread["relative"] if machine.run_spread else None,
        "runs": [{"name": run.name, "started": run.started} for run in machine.runs],
        "left_out": list(machine.side.left_out),
        "provenance": stated,
    }


# ------------------------------------------------------------------ numbers


def _held_json(held: Held) -> Json:
    return {"value": held.value, "low": held.low, "high": held.high, "runs": held.runs, "reason": held.reason}


def _label(row: Row) -> str:
    return (
        row.number.label or spell(row.name.rpartition("/")[2].partition("{")[0].partition("@")[0]) or row.name
    )


def _row_json(row: Row, base: Optional[str]) -> Json:
    reference = metrics.reference_of(row, base)
    ratios = {
        name: None
        if reference is None
        else {"value": _same(row), "low": _same(row), "high": _same(row), "p": None}
        if name == reference
        else row.ratios[name, reference]._asdict()
        for name in row.values
    }
    return {
        "name": row.name,
        "label": _label(row),
        "group": row.number.group or "Others",
        "condition": row.likeness.condition,
        "unit": row.number.unit,
        "better": row.number.better,
        "scale": row.number.scale,
        "reference": reference,
        "machines": {name: _held_json(held) for name, held in row.values.items()},
        "ratios": ratios,
        "better_than": {
            name: sorted(o for o in row.values if row.better.get((name, o))) for name in row.values
        },
        "best": row.best,
        "verdict": row.verdict,
        "not_compared": row.others,
    }


def _same(row: Row) -> float:
    """A machine against itself."""
    return 0.0 if row.number.scale == metrics.DIFFERENCE else 1.0


def _alone_json(alone: Sequence[Row], compared: Sequence[Row]) -> List[Json]:
    """A number once, where no two machines can be compared in it."""
    known, found = {row.name for row in compared}, {}
    for row in alone:
        if row.name in known:
            continue
        entry = found.setdefault(
            row.name,
            {
                "name": row.name,
                "label": _label(row),
                "group": row.number.group or "Others",
                "unit": row.number.unit,
                "machines": {},
            },
        )
        for name, held in row.values.items():
            entry["machines"][name] = {"value": held.value, "condition": row.likeness.condition, "reason": ""}
        for name, reason in row.others.items():
            entry["machines"].setdefault(name, {"value": None, "condition": "", "reason": reason})
    for entry in found.values():  # of what has a value, the reason is on the other's side
        if sum(m["value"] is not None for m in entry["machines"].values()) > 1:
            reasons = [r for row in alone if row.name == entry["name"] for r in row.others.values()]
            entry["why"] = reasons[0]
        else:
            entry["why"] = "; ".join(
                "%s: %s" % (n, m["reason"]) for n, m in sorted(entry["machines"].items()) if m["reason"]
            )
    return list(found.values())


def groups_of(rows: Sequence[Row]) -> List[str]:
    found = {row.number.group or "Others" for row in rows}
    return [title for title in (*GROUPS, "Others") if title in found] + sorted(found - {*GROUPS, "Others"})


def _counts(rows: Sequence[Row], names: Sequence[str]) -> List[Json]:
    """By group and in all, of each machine: alone the best, among the best, behind; of how many numbers."""
    found = []
    judged = [row for row in rows if row.verdict != DESCRIBED]
    for title in [*groups_of(judged), "All"]:
        own = [row for row in judged if title in ("All", row.number.group or "Others")]
        machines = {}
        for name in names:
            mine = [row for row in own if name in row.values]
            machines[name] = {
                "numbers": len(mine),
                "best": sum(row.best == [name] for row in mine),
                "shared": sum(name in row.best and len(row.best) > 1 for row in mine),
                "behind": sum(name not in row.best for row in mine),
            }
        found.append(
            {
                "group": title,
                "numbers": len(own),
                "equal": sum(row.verdict == EQUAL for row in own),
                "open": sum(row.verdict == OPEN for row in own),
                "machines": machines,
            }
        )
    return found


# ------------------------------------------------------------------ mix and prices


def _line_json(line: Line) -> Json:
    quickest = min(
        (n for n in sorted(line.times) if line.times[n].seconds is not None),
        key=lambda n: line.times[n].seconds or 0.0,
        default=None,
    )
    machines = {}
    for name, time in line.times.items():
        speed = None
        if time.seconds is not None and quickest is not None:
            speed = (
                {"value": 1.0, "low": 1.0, "high": 1.0}
                if name == quickest
                else line.speeds[name, quickest]._asdict()
            )
        machines[name] = {
            "seconds": time.seconds,
            "low": time.ends[0],
            "high": time.ends[1],
            "speed": speed,
            "reason": time.reason,
            "notes": list(time.notes),
        }
    return {
        "text": line.text,
        "machines": machines,
        "best": line.best if line.verdict != workload.NONE else [],
        "verdict": line.verdict,
        "reference": quickest,
    }


def _mix_json(mix: Optional[Mix], name: str) -> Optional[Json]:
    if mix is None:
        return None
    return {
        "file": name,
        "items": [_line_json(line) for line in mix.items],
        "total": _line_json(mix.total),
        "common": None if mix.common is None else _line_json(mix.common),
        "common_items": mix.common_items,
    }


def _price_json(prices: Optional[Prices], name: str, mix: Optional[Mix]) -> Optional[Json]:
    if prices is None:
        return None
    line = None if mix is None else mix.common or mix.total
    machines = {}
    for who, own in prices.machines.items():
        time = workload.Time(None) if line is None else line.times[who]
        machines[who] = {
            "price": own.price,
            "currency": own.currency,
            "power": own.power,
            "power_source": own.power_text,
            "seconds": time.seconds,
            "time_price": price.cost(own, time),
            "energy": price.energy(own, time),
            "beaten_by": prices.beaten.get(who, []),
        }
    basis = (
        "every compared number"
        if mix is None
        else "the mix"
        if mix.common is None
        else "the items that all answer"
    )
    return {
        "file": name,
        "notes": prices.notes,
        "criteria": prices.criteria,
        "speed": basis,
        "machines": machines,
        "unbeaten": prices.best,
    }


# ------------------------------------------------------------------ sentences


def _of_group(entry: Json) -> str:
    """ "Compute: A (5 of 8)", where one leads; else the ties."""
    title, numbers = entry["group"], entry["numbers"]
    won = sorted(
        ((own["best"], name) for name, own in entry["machines"].items() if own["best"]),
        key=lambda w: (-w[0], w[1]),
    )
    ties = entry["equal"] + entry["open"]
    parts = ["%s in %d" % (name, count) for count, name in won]
    parts += ["a tie in %d" % ties] if ties else []
    return "%s: %s of %s" % (title, listing(parts, 6), plural(numbers, "number"))


def _numbers_sentences(counts: Sequence[Json], rows: Sequence[Row], alone: int) -> List[str]:
    judged = counts[-1]["numbers"]
    if not rows:
        return ["No headline number could be compared."]
    if not judged:
        return ["No number of these says whether higher or lower is better."]
    found = [
        "Best in %s compared: %s."
        % (plural(judged, "headline number"), _of_group(counts[-1]).partition(": ")[2])
    ]
    total = counts[-1]["machines"]
    every = [
        name for name, own in total.items() if own["numbers"] == judged and not own["behind"] and own["best"]
    ]
    if len(every) == 1:
        found.append("No other machine is better than %s in any of them." % every[0])
    if len(counts) > 2:
        found.append("By question: %s." % "; ".join(_of_group(entry) for entry in counts[:-1]))
    if counts[-1]["equal"] + counts[-1]["open"]:
        found.append(
            "Of the ties, %d are equal within %s; in %d these runs do not tell the best apart."
            % (counts[-1]["equal"], percent(LEAST_EFFECT), counts[-1]["open"])
        )
    if alone:
        found.append("%s could not be compared; the reasons are below." % plural(alone, "other number"))
    return found


def _speed_text(speed: Json) -> str:
    if speed["low"] is None:
        return "%.2f times (interval not known)" % speed["value"]
    return "%.2f times (%.2f to %.2f)" % (speed["value"], speed["low"], speed["high"])


def _line_sentence(line: Json, what: str) -> str:
    known = {name: own for name, own in line["machines"].items() if own["seconds"] is not None}
    if len(known) < 2:
        return "%s: no two machines have an answer." % what
    if line["verdict"] == BEST:
        return "%s: fastest on %s; %s of its speed." % (
            what,
            line["best"][0],
            listing(
                [
                    "%s reaches %s" % (name, _speed_text(own["speed"]))
                    for name, own in sorted(known.items())
                    if name != line["reference"]
                ],
                6,
            ),
        )
    said = "equal within %s" % percent(LEAST_EFFECT) if line["verdict"] == EQUAL else "not told apart"
    return "%s: the fastest are %s, %s." % (what, listing(line["best"], 6), said)


def _mix_sentences(mix: Optional[Json]) -> List[str]:
    if mix is None:
        return []
    lacking = [
        "%s (%s)" % (name, own["reason"])
        for name, own in sorted(mix["total"]["machines"].items())
        if own["seconds"] is None
    ]
    if not lacking:
        return [_line_sentence(mix["total"], "The mix of %s" % mix["file"])]
    found = ["The mix of %s has no total on %s." % (mix["file"], listing(lacking, 6))]
    if mix["common"] is not None:
        found.append(
            _line_sentence(
                mix["common"],
                "Of its %d items, the %d that all answer" % (len(mix["items"]), mix["common_items"]),
            )
        )
    elif not mix["common_items"]:
        found.append("None of its items has an answer on every machine.")
    return found


def _price_sentences(prices: Optional[Json]) -> List[str]:
    if prices is None:
        return []
    if "speed" not in prices["criteria"] or len(prices["criteria"]) < 2:
        return [
            "Speed, price and power could not be weighed against each other: %s."
            % (
                "only %s is known of two machines" % listing(prices["criteria"])
                if prices["criteria"]
                else "too little is known"
            )
        ]
    beaten = [
        "%s by %s" % (name, listing(own["beaten_by"]))
        for name, own in sorted(prices["machines"].items())
        if own["beaten_by"]
    ]
    found = [
        "No other machine beats %s in %s at once (speed by %s)%s."
        % (
            listing(prices["unbeaten"], 8),
            listing(prices["criteria"]),
            prices["speed"],
            "; beaten: %s" % listing(beaten, 6) if beaten else "",
        )
    ]
    lacking = [
        "the %s of %s" % (what, name)
        for name, own in sorted(prices["machines"].items())
        for what in ("price", "power")
        if own[what] is None
    ]
    return found + (["Not known, and so not weighed: %s." % listing(lacking, 8)] if lacking else [])


def _caution(found: Sequence[Dict[str, Any]], machines: Sequence[Machine]) -> List[str]:
    lacking = {m.name: rules.broken(found, m.name) for m in machines}
    bad = ["%s %d" % (name, len(said)) for name, said in lacking.items() if said]
    said = [
        "Simulated: these numbers come from models in virtual time and say nothing about hardware."
    ] * machines[0].simulated
    return said + (
        [
            "Run rules that do not hold, or are not shown to: %s of %d. Read them before you rely on this."
            % (listing(sorted(bad), 8), len(found))
        ]
        if bad
        else ["Every run rule that signatures can show holds."]
    )


def _notes(machines: Sequence[Machine]) -> List[str]:
    found = []
    seen: Dict[Tuple[str, str], str] = {}
    for machine in sorted(machines, key=lambda m: m.name):
        for run in machine.runs:
            own = (run.identity, run.device)  # runs of models with the same seed have the same name
            if run.identity and seen.get(own, machine.name) != machine.name:
                found.append(
                    "%s and %s have a run in common: they are one machine, measured once."
                    % (seen[own], machine.name)
                )
            seen.setdefault(own, machine.name)
    counts = {machine.devices for machine in machines}
    if len(counts) > 1:
        found.append(
            "The machines were measured with different numbers of devices: %s."
            % listing(["%s %d" % (m.name, m.devices) for m in sorted(machines, key=lambda m: m.name)], 8)
        )
    if len({m.kind == "host" for m in machines}) > 1:
        found.append(
            "CPU nodes and accelerators are mixed: what a CPU does to itself (links, starting work, overlap, "
            "collectives among its parts) is compared among CPU nodes only."
        )
    return list(dict.fromkeys(found))


def card(machines: Sequence[Machine], rows: Tuple[List[Row], List[Row]], question: Question) -> Json:
    """Of rows that metrics.judge() judged."""
    compared, alone = rows
    counts = _counts(compared, [m.name for m in machines])
    lone, mix = _alone_json(alone, compared), _mix_json(question.mix, question.mix_name)
    prices, checked = _price_json(question.prices, question.price_name, question.mix), rules.check(machines)
    answered = mix is not None and any(item["verdict"] != workload.NONE for item in mix["items"])
    sentences = [
        *_numbers_sentences(counts, compared, len(lone)),
        *_mix_sentences(mix),
        *_price_sentences(prices),
        *_caution(checked, machines),
    ]
    return shortened(
        {
            "schema": SCHEMA,
            "version": VERSION,
            "exit": OK if compared or answered else NOTHING,
            "sentences": sentences,
            "notes": _notes(machines),
            "settings": {
                "rate": RATE,
                "confidence": CONFIDENCE,
                "least_effect": LEAST_EFFECT,
                "base": question.base,
            },
            "machines": [_machine_json(machine) for machine in machines],
            "counts": counts,
            "metrics": [_row_json(row, question.base) for row in compared],
            "not_compared": lone,
            "workload": mix,
            "price": prices,
            "rules": checked,
            "statements": list(rules.STATEMENTS),
        }
    )
