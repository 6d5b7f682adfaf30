# SPDX-License-Identifier: BSD-3-Clause
"""A prediction as JSON: measured, model and changed models side by side, and what is known of the error."""

from __future__ import annotations

import re
import statistics
from typing import Any, NamedTuple, Optional, Sequence

from reports.predict import keys, search
from reports.predict.change import AS_IT_IS, TOGETHER, Change, Sweep, check, points, refuse
from reports.predict.machine import Fitted, Machine
from reports.predict.outcome import Outcome, mean, mean_ratio, outcomes, ratios
from reports.predict.simulation import Failed, Simulated, Simulation, base_of
from reports.records.jsonl import Json, Refused, clean
from reports.records.quantity import listing, percent

SCHEMA, VERSION = "gpusig.predict", "1.0.0"
PAYS = 0.05  # a doubling that brings less does not pay
_NAMED = 6  # keys in a sentence
_MADE_UP = 0.25  # logarithm of a ratio of times: what a key that was not measured may move them
_LARGER = 4  # times what keys are at least


class Question(NamedTuple):
    alternatives: Sequence[Change]
    sweep: Optional[Sweep] = None
    tornado: bool = False


def lacking(machine: Machine, said: str) -> str:
    """The keys without a value that what a program said may be of, as flops_f8 of "f8 GEMM"; or nothing."""
    words = set(re.findall("[a-z0-9]+", said.lower())) - {"per", "bytes", "ns"}
    missing = machine.fitted.missing if machine.fitted else {}
    names = [name for name in missing if words.intersection(name.split("_"))]
    return "; the signature gives no value for: %s" % listing(names, _NAMED) if names else ""


def made_up(found: search.Doubts) -> list[str]:
    """Names of the keys without a measurement on which times depend so much, each or all together, that they
    would be made up."""
    alone = [one.name for one in found.matter if one.most > _MADE_UP]
    if alone or found.together <= _MADE_UP:
        return alone
    return [one.name for one in found.matter if one.most > _MADE_UP / len(found.matter)]


def _doubts(simulation: Simulation, few: search.Few, machine: Machine) -> Optional[search.Doubts]:
    if machine.fitted is None:
        return None
    found = search.doubts(simulation, few, machine.fitted.errors)
    worst = made_up(found)
    if worst:
        told = [
            "%s (%s: %+.0f %%)" % (one.name, one.change.text, 100 * ((one.ratio or 1) - 1))
            for one in found.matter
            if one.name in worst
        ]
        raise Refused(
            "predict: too little was measured: the times depend on %s; ./gpusig model says why it has none"
            % listing(told, _NAMED),
            3,
        )
    return found


def _changed(simulation: Simulation, base: Simulated, change: Change) -> Simulated:
    found = simulation.together([change])[0]
    if isinstance(found, Failed):
        raise refuse("--set %s: %s" % (change.label, found))
    lost = mean_ratio(base, found, outcomes(base))
    if lost is None:
        reasons = [case.reason for case in found.cases.values() if case.reason]
        raise Refused(
            "predict: --set %s: nothing to compare: %s"
            % (change.label, clean(reasons[0])[:200] if reasons else "no case is the same"),
            3,
        )
    return found


def _binding(simulation: Simulation, few: search.Few, change: Change) -> list[str]:
    """Remarks on what limits the rates of a change that brings nothing."""
    said = []
    looked = " (looked at in %d cases)" % few.count if few.only else ""
    for one in search.limits(simulation, few, change):
        if one.with_it:
            also = "it needs %s raised with it" % listing(one.with_it)
        elif one.instead:
            also = "of all rates, this work is limited by %s" % listing(one.instead)
        else:
            also = "no rate of memory, caches or links limits this work; --tornado shows what does"
        said.append("%s brings nothing alone: %s%s" % (one.name, also, looked))
    return said


def _loose(base: Simulated, change: Change, fitted: Optional[Fitted]) -> list[str]:
    """Other keys than those of a change that are known from below alone."""
    names = fitted.at_least if fitted else ()
    return [name for name in keys.numeric(base.keys) if name in names and name not in change.names()]


def _larger(base: Simulated, change: Change, loose: Sequence[str]) -> Change:
    return Change("", (*change.parts, *(keys.times(name, base.keys[name], _LARGER) for name in loose)))


def _with_more(
    simulation: Simulation, base: Simulated, change: Change, ratio: float, fitted: Optional[Fitted]
) -> tuple[Optional[float], list[str]]:
    """The ratio of a change, and a remark, if keys that are known from below alone were larger; None where
    that changes nothing."""
    loose = _loose(base, change, fitted)
    found = simulation.together([_larger(base, change, loose)])[0]
    more = mean_ratio(base, found, outcomes(base))
    if more is None or more > ratio * (1 - search.MATTERS):
        return None, []
    return more, [
        "it may bring more: %s %s known from below alone; with %g times as much it takes %s of this time"
        % (listing(loose, _NAMED), "is" if len(loose) == 1 else "are", _LARGER, percent(more / ratio))
    ]


def _alternative(
    simulation: Simulation,
    base: Simulated,
    few: search.Few,
    change: Change,
    asked: Sequence[Outcome],
    fitted: Optional[Fitted],
) -> Json:
    changed = _changed(simulation, base, change)
    each = ratios(base, changed, asked)
    remarks = []
    idle = all(ratio is not None and abs(ratio - 1) < search.MATTERS for ratio in each)
    if idle and change.label != TOGETHER:
        remarks += _binding(simulation, few, change)
    ratio = mean(each) or 1.0
    more, why = _with_more(simulation, base, change, ratio, fitted)
    remarks += why
    lost = [outcome.key for outcome, ratio in zip(asked, each) if ratio is None]
    if lost:
        reason = next((changed.cases[key].reason for key in lost if key in changed.cases), "")
        reason = clean(reason) or "the changed model has other cases, name them by their options"
        remarks.append("%d of %d are not on the changed model: %s" % (len(lost), len(asked), reason))
    return {
        "label": change.label,
        "change": change.text,
        "ratio": ratio,
        "with_more": more,
        "remarks": remarks,
    }


# ------------------------------------------------------------------ rows


def _row(
    name: str, seconds: Optional[float], model: Optional[float], changed: Sequence[Optional[float]]
) -> Json:
    return {
        "variant": name,
        "measured_s": seconds,
        "model_s": model,
        "model_error": None if seconds is None or model is None else model / seconds - 1,
        "changed_s": list(changed),
    }


def _cases(
    machine: Machine, program: str, base: Simulated, runs: Sequence[Simulated], asked: Sequence[Outcome]
) -> list[Json]:
    found = []
    for key, case in base.cases.items():
        if not case.times:
            found.append({"case": key, "reason": case.reason, "fastest": [], "variants": []})
            continue
        own = {v: machine.times[program, key, v] for v in case.times if (program, key, v) in machine.times}
        after = [run.cases[key].times if key in run.cases else {} for run in runs]
        fastest = []
        for outcome in (one for one in asked if one.key == key):
            best = [outcome.fastest(times) for times in (own, case.times, *after)]
            row = _row(
                best[1][1] if best[1] else "", *[b and b[0] for b in best[:2]], [b and b[0] for b in best[2:]]
            )
            fastest.append({**row, "of": list(outcome.variants), "ways": [b[1] if b else None for b in best]})
        variants = [
            _row(name, own.get(name), seconds, [times.get(name) for times in after])
            for name, seconds in case.times.items()
            if name not in base.references
        ]
        found.append({"case": key, "reason": "", "fastest": fastest, "variants": variants})
    return found


# ------------------------------------------------------------------ error


def _others_measured(machine: Machine, program: str, cases: Sequence[Json]) -> str:
    """Options of a case of the program that was measured, the nearest to those that were not; "" if there is
    none."""
    wanted = {word for case in cases for word in case["case"].split()}
    known = sorted({key for name, key, _ in machine.times if name == program})
    best = max(known, key=lambda key: len(wanted.intersection(key.split())), default="")
    return " ".join("--" + word.replace("=", " ", 1) for word in best.split())


def _error(machine: Machine, program: str, cases: Sequence[Json], doubts: Optional[search.Doubts]) -> Json:
    """All that is known of the error of the model: of its keys, where the same was measured, and of keys that
    nothing gave."""
    own = [
        abs(row["model_error"])
        for case in cases
        for row in case["variants"]
        if row["model_error"] is not None
    ]
    picked = [
        (row["ways"][0], row["ways"][1])
        for case in cases
        for row in case["fastest"]
        if row["ways"][0] and row["ways"][1] and len(row["of"]) > 1
    ]
    return {
        "compared": len(own),
        "measured_instead": "" if own else _others_measured(machine, program, cases),
        "median": statistics.median(own) if own else None,
        "largest": max(own) if own else None,
        "same_fastest": sum(a == b for a, b in picked),
        "fastest_compared": len(picked),
        "cases": doubts.cases if doubts else 0,
        "keys": [
            {"key": one.name, "error": machine.fitted.errors[one.name], "ratio": one.ratio}
            for one in doubts.unsure
        ]
        if doubts and machine.fitted
        else [],
        "unmeasured": {
            "count": doubts.unmeasured,
            "keys": [
                {"key": one.name, "change": one.change.text, "ratio": one.ratio} for one in doubts.matter
            ],
        }
        if doubts
        else None,
    }


# ------------------------------------------------------------------ sweep and tornado


def _sweep(simulation: Simulation, base: Simulated, sweep: Sweep, asked: Sequence[Outcome]) -> Json:
    wanted = points(sweep, base.keys)
    runs = simulation.together([change for _, change in wanted])
    failed = [run for run in runs if isinstance(run, Failed)]
    if len(failed) == len(runs):
        raise refuse("--sweep %s: %s" % (sweep.name, failed[0]))
    curve = [(value, mean_ratio(base, run, asked)) for (value, _), run in zip(wanted, runs)]
    verdict, at = search.knee(curve, PAYS)
    return {
        "key": sweep.name,
        "base": base.keys[sweep.name],
        "points": [
            {"value": value, "ratio": ratio, "reason": str(run) if isinstance(run, Failed) else ""}
            for (value, ratio), run in zip(curve, runs)
        ],
        "pays": verdict,
        "pays_to": at,
        "least": PAYS,
    }


def _tornado(simulation: Simulation, base: Simulated) -> Json:
    found, tried = search.tornado(simulation, base)
    return {
        "step": search.STEP,
        "tried": tried,
        "keys": [
            {
                "key": one.name,
                "change": one.change.text,
                "before": base.keys[one.name],
                "ratio": one.ratio,
                "reason": one.reason,
            }
            for one in found
        ],
    }


def answer(simulation: Simulation, machine: Machine, asked_for: Question, options: Sequence[str]) -> Json:
    """Raises Refused where nothing can be predicted."""
    base = base_of(simulation, lambda said: lacking(machine, said))
    for change in asked_for.alternatives:
        check(change, base.keys)
    asked = outcomes(base)
    with search.few_cases(simulation, base) as few:
        doubts = _doubts(simulation, few, machine)
        wanted = asked_for.alternatives
        larger = [_larger(base, change, _loose(base, change, machine.fitted)) for change in wanted]
        simulation.together([*wanted, *larger])  # at once; each is asked for again
        alternatives = [
            _alternative(simulation, base, few, change, asked, machine.fitted) for change in wanted
        ]
    runs = [simulation.run(change) for change in asked_for.alternatives]
    cases = _cases(machine, simulation.name, base, runs, asked)
    sweep = _sweep(simulation, base, asked_for.sweep, asked) if asked_for.sweep else None
    storm = _tornado(simulation, base) if asked_for.tornado else None
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "exit": 0,
        "machine": {
            "name": machine.name,
            "devices": simulation.spec(AS_IT_IS).rpartition(":")[2],
            "fitted": machine.fitted is not None,
            "simulated": machine.simulated,
        },
        "program": simulation.name,
        "options": list(options),
        "alternatives": alternatives,
        "cases": cases,
        "error": _error(machine, simulation.name, cases, doubts),
        "sweep": sweep,
        "tornado": storm,
    }
    return found
