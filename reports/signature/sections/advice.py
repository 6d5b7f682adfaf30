# SPDX-License-Identifier: BSD-3-Clause
"""A score of the advice: overlap/ficco measured every schedule, and this compares them with the prediction
from other curves.

A scenario is one case of overlap/ficco: a shape, an operation, a copy method. Its schedules ran interleaved,
so they compare. A hit: the interval of the median of the advised schedule reaches that of the fastest one.
Nothing of overlap/ficco is fitted; where the curves hold the whole GEMM itself, the case is counted apart as
seen. Where no schedule is slower than the fastest beyond noise, any advice would hit: the case is undecided
and is not counted.
"""

from __future__ import annotations

import dataclasses
import math
import random
import statistics
from typing import Any, Dict, List, Optional, Tuple

from reports.advice.library import Adviser, LibraryMissing
from reports.advice.machine import machine_of
from reports.records.curves import by
from reports.records.jsonl import Json, is_number
from reports.records.quantity import human, percent
from reports.records.records import Case, Variant
from reports.signature.section import Figure, Section, SectionSpec, table
from reports.signature.sections.ficco import valid_schedules, work_of
from reports.signature.sections.operands import is_cold

PROGRAM = "overlap/ficco"
FORMULA = (
    "hit: ci_low of the advised schedule <= ci_high of the fastest, or it is the fastest; good: a hit, or a "
    "loss of at most 2 %; loss: median of the advised / median of the fastest - 1, mean over what was no "
    "hit; 95 % interval of a share by Wilson"
)
DIFFERENCE_FORMULA = (
    "share of good ones by the advice - by the best constant choice, of the same scenarios; 95 % interval by "
    "10000 resamples of whole shapes, percentiles; p: exact McNemar test of the scenarios in which they "
    "differ"
)
_GOOD_LOSS = 0.02
_RESAMPLES = 10000
_MAX_ROWS = 80
_Z = 1.959964
_SIDES = {"m": "m", "n": "n", "k": "k", "devices": "ranks"}  # of a scenario, by facts of its case


def wilson(hits: int, of: int) -> Optional[Tuple[float, float]]:
    if of == 0:
        return None
    share, square = hits / of, _Z * _Z
    half = _Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    middle = share + square / (2 * of)
    return (middle - half) / (1 + square / of), (middle + half) / (1 + square / of)


def _is_hit(advised: Variant, best: Variant) -> bool:
    if advised is best:
        return True
    if advised.ci_low_s is None or best.ci_high_s is None:
        return False
    return advised.ci_low_s <= best.ci_high_s


def _verdict_of(pick: Variant, best: Variant) -> Json:
    hit, loss = _is_hit(pick, best), pick.median_s / best.median_s - 1
    return {"hit": hit, "loss": loss, "good": hit or loss <= _GOOD_LOSS}


def _operation(word: str, ops: List[str]) -> Optional[str]:
    """The operation to ask for. An uneven all-to-all counts as an even one: its sizes are not known
    beforehand."""
    return next((op for op in ops if word == op or word == op + "-uneven"), None)


def _scenario(case: Case, adviser: Adviser, seen: set) -> Optional[Json]:
    facts, axes = case.facts, case.axes
    sides = {name: facts.get(fact) for name, fact in _SIDES.items()}
    op, copy_method = _operation(str(axes.get("op", "")), adviser.ops), str(axes.get("copy-method", ""))
    if op is None or not all(map(is_number, sides.values())):
        return None
    sides = {name: int(side) for name, side in sides.items()}
    try:
        advice = adviser.ask(*sides.values(), op, str(axes.get("type", "")), copy_method)
    except ValueError:
        return None
    predicted = {c["schedule"]: c for c in advice["candidates"]}
    measured = valid_schedules(case, list(predicted))
    if len(measured) < 2:
        return None
    pick = min(measured, key=lambda s: list(predicted).index(s))
    best = min(measured.values(), key=lambda v: v.median_s)
    return {
        "key": case.key,
        "op": str(axes.get("op")),
        "copy_method": copy_method,
        "type": str(axes.get("type")),
        **sides,
        "pick": pick,
        "best": best.name,
        **_verdict_of(measured[pick], best),
        "decided": any(not _is_hit(v, best) for v in measured.values()),
        "told": advice["decided"] and pick == advice["pick"]["schedule"],
        "needs": advice["needs"],
        "unseen": (axes.get("type"), sides["m"], sides["n"], sides["k"]) not in seen,
        "extrapolated": predicted[pick]["extrapolated"],
        "schedules": [
            {"schedule": s, "predicted_s": c["predicted_s"], "measured_s": measured[s].median_s}
            for s, c in predicted.items()
            if s in measured
        ],
    }


def _seen(signature: Json) -> set:
    """Whole GEMMs among the curves that the advice was built from."""
    words = (line.split() for line in machine_of(signature).lines)
    return {(w[1], float(w[2]), float(w[3]), float(w[4])) for w in words if w[0] == "gemm"}


def _tally(scenarios: List[Json]) -> Json:
    losses, count = [s["loss"] for s in scenarios if not s["hit"]], len(scenarios)
    found: Json = {"scenarios": count}
    for name, counted in (("hit", "hits"), ("good", "good")):
        right = sum(s[name] for s in scenarios)
        found[counted], found[name + "_rate"] = right, right / count if count else None
        found[name + "_rate_ci"] = list(wilson(right, count) or ()) or None
    return {
        **found,
        "mean_loss_when_wrong": statistics.fmean(losses) if losses else None,
        "max_loss": max(losses, default=None),
        "mean_loss": statistics.fmean(s["loss"] for s in scenarios) if scenarios else None,
    }


def _constant(cases: List[Tuple[Case, Json]], name: str) -> Optional[List[Json]]:
    """The verdicts of always choosing one schedule, and serial where it is impossible; None where neither was
    measured."""
    own = []
    for case, scenario in cases:
        variants = {v.name: v for v in case.variants}
        measured = {s["schedule"] for s in scenario["schedules"]}
        taken = name if name in measured else "serial"
        if taken not in measured:
            return None
        own.append(_verdict_of(variants[taken], variants[scenario["best"]]))
    return own


def mcnemar(better: int, worse: int) -> float:
    """Two-sided exact p of so many differences in either direction, by the binomial distribution with 1/2."""
    n = better + worse
    tail = sum(math.comb(n, i) for i in range(min(better, worse) + 1)) / 2.0**n
    return min(1.0, 2.0 * tail)


def difference(scenarios: List[Json], constant: List[Json], name: str) -> Json:
    """The difference of the shares of good ones. Scenarios of one shape are alike, so whole shapes are drawn
    again."""
    shapes = by(zip(scenarios, constant), lambda pair: tuple(pair[0][side] for side in "mnk"))
    by_shape = [[int(one["good"]) - int(other["good"]) for one, other in own] for own in shapes.values()]
    groups = [(sum(group), len(group)) for group in by_shape]
    draw, means = random.Random(1), []
    for _ in range(_RESAMPLES):
        drawn = draw.choices(groups, k=len(groups))
        means.append(sum(d for d, _ in drawn) / sum(n for _, n in drawn))
    means.sort()
    all_of = [d for group in by_shape for d in group]
    return {
        "formula": DIFFERENCE_FORMULA,
        "schedule": name,
        "value": statistics.fmean(all_of),
        "shapes": len(groups),
        "ci": [means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]],
        "better": all_of.count(1),
        "worse": all_of.count(-1),
        "p": mcnemar(all_of.count(1), all_of.count(-1)),
    }


def _always(cases: List[Tuple[Case, Json]]) -> Tuple[List[Json], Optional[Json]]:
    """The score of every constant choice, which the advice has to beat, and the difference to the best of
    them."""
    names = sorted({s["schedule"] for _, scenario in cases for s in scenario["schedules"]})
    constants = {name: own for name in names for own in [_constant(cases, name)] if own}
    rows = [dict(_tally(own), schedule=name) for name, own in constants.items()]
    if not rows:
        return rows, None
    best = max(rows, key=lambda r: (r["good"], -r["mean_loss"], r["schedule"]))["schedule"]
    return rows, difference([scenario for _, scenario in cases], constants[best], best)


def score(section: Section, signature: Json) -> Json:
    """The score in the cases of overlap/ficco, by the curves of the same signature, which are of warm
    operands. `reason` replaces a score that is missing."""
    cases = [c for c in section.cases if c.status == "ok" and not is_cold(c)]
    advisers: Dict[Any, Adviser] = {}
    found: List[Tuple[Case, Json]] = []
    skipped = 0
    try:
        seen = _seen(signature)
        for case in cases:
            blocks = case.facts.get("copy_blocks")
            if blocks not in advisers:
                known = int(blocks) if is_number(blocks) and blocks > 0 else None
                advisers[blocks] = Adviser(machine_of(signature, known))
            scenario = _scenario(case, advisers[blocks], seen)
            skipped += scenario is None
            if scenario and all(
                work_of(c) != work_of(case) for c, _ in found
            ):  # the same work is one scenario
                found.append((case, scenario))
    except (LibraryMissing, ValueError) as why:  # no library, or curves that it does not take
        return {"formula": FORMULA, "reason": str(why)}
    scenarios = [s for _, s in found]
    errors = [abs(math.log(s["predicted_s"] / s["measured_s"])) for o in scenarios for s in o["schedules"]]
    decided = [(c, s) for c, s in found if s["decided"]]
    unseen = [(c, s) for c, s in decided if s["unseen"]]
    always, gain = _always(unseen)
    result = dict(
        _tally([s for _, s in unseen]),
        formula=FORMULA,
        seen=_tally([s for _, s in decided if not s["unseen"]]),
        table=scenarios,
        undecided=sum(not s["decided"] for s in scenarios),
        skipped=skipped,
        always=always,
        over_constant=gain,
        median_error=math.expm1(statistics.median(errors)) if errors else None,
    )
    if not unseen:
        result["reason"] = (
            "no case qualifies: its GEMM must be of a measured type and an unmeasured shape, with two valid "
            "schedules that differ by more than noise"
        )
    return result


# ------------------------------------------------------------------ what the report says


def summary(advice: Json) -> str:
    """One sentence, also where there is no score."""
    if advice.get("hit_rate") is None:
        return "The advice has no score: %s." % advice.get("reason", "no reason given")
    share = [percent(x) for x in (advice["hit_rate"], *advice["hit_rate_ci"])]
    text = (
        "Advice from the other programs' curves names a fastest schedule in %d of %d unseen scenarios (%s; "
        "95 %% interval %s to %s)"
    )
    text %= (advice["hits"], advice["scenarios"], *share)
    if advice["mean_loss_when_wrong"] is not None:
        text += "; where it does not, the advised one takes %s longer" % percent(
            advice["mean_loss_when_wrong"]
        )
    return text + "." + _gain_text(advice)


def _gain_text(advice: Json) -> str:
    gain = advice.get("over_constant")
    if not gain:
        return ""
    low, high = gain["ci"]
    verdict = "better than" if low > 0 else "worse than" if high < 0 else "not clearly better or worse than"
    shares = map(percent, (gain["value"], low, high))
    return (
        " In %s of them the advised one is at most 2 %% slower than the fastest; that is %s always %s "
        "(difference %s; 95 %% interval %s to %s)."
    ) % (percent(advice["good_rate"]), verdict, gain["schedule"], *shares)


def figures(advice: Json) -> List[Figure]:
    if not advice.get("table"):
        return []
    rows = [
        {
            "operation": s["op"],
            "M×N×K": "%d×%d×%d" % (s["m"], s["n"], s["k"]),
            "copy method, devices": "%s, %d" % (s["copy_method"], s["devices"]),
            "advised": s["pick"],
            "fastest": s["best"],
            "predicted": human(_time(s, s["pick"], "predicted_s"), "s"),
            "advised took": human(_time(s, s["pick"], "measured_s"), "s"),
            "fastest took": human(_time(s, s["best"], "measured_s"), "s"),
            "lost": percent(s["loss"]),
            "verdict": _verdict(s),
        }
        for s in advice["table"][:_MAX_ROWS]
    ]
    caption = "Predicted from curves, measured here. %s." % (FORMULA[:1].upper() + FORMULA[1:])
    if advice["median_error"] is not None:
        caption += " Half of all predictions are within %s." % percent(advice["median_error"])
    rules = {"advice": advice, **{"always " + a["schedule"]: a for a in advice["always"]}}
    scores = [{"rule": rule, **_scores(tally)} for rule, tally in rules.items()]
    always = "Unseen scenarios: by the advice, or always one schedule (serial where that one is impossible)."
    return table(scores, always) + table(rows, caption, 5, True)


def _verdict(scenario: Json) -> str:
    word = "undecided" if not scenario["decided"] else "hit" if scenario["hit"] else "miss"
    return word if scenario["unseen"] else word + ", seen"


def _scores(tally: Json) -> Dict[str, str]:
    return {
        "scenarios": str(tally["scenarios"]),
        "hits": str(tally["hits"]),
        "share": percent(tally["hit_rate"]),
        "within 2 %": percent(tally["good_rate"]),
        "mean loss when wrong": percent(tally["mean_loss_when_wrong"]),
        "mean loss": percent(tally["mean_loss"]),
    }


def _time(scenario: Json, schedule: str, which: str) -> float:
    return next(s[which] for s in scenario["schedules"] if s["schedule"] == schedule)


def scored(spec: SectionSpec) -> SectionSpec:
    """The section of overlap/ficco with the score, which Signature adds to its results."""

    def own_figures(section: Section) -> List[Figure]:
        return spec.figures(section) + figures(section.results.get("advice", {}))

    return dataclasses.replace(spec, figures=own_figures)
