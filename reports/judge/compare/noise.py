# SPDX-License-Identifier: BSD-3-Clause
"""The noise floor, from many equal runs: how far equal sides differ, how often that raises an alarm, and the
effect that n runs would find.

The runs are split into two sides again and again, in two ways. At random, as the test assumes: then runs are
exchangeable by construction, and the rate of alarms tests the verdict and not the machine. In the order of
time, n runs and the n that follow, as before and after an update: then what drifts from hour to hour counts.
The interval of a rate at random is about these runs, from which is drawn. Neighbours in the order of time
share runs, so there the interval is narrower than that of as many fresh comparisons; `disjoint` says how many
share none.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Iterator, Mapping, Sequence, TypeVar

from reports.judge import statistics
from reports.judge.compare import drift, few, verdict
from reports.judge.compare.answer import label_of
from reports.judge.compare.numbers import RATIO, BadNumbers, RunNumbers, in_order, refuse_wrong_results
from reports.judge.compare.sides import Side
from reports.judge.compare.verdict import IMPROVE, INVALID, REGRESS, Known, Row, Settings
from reports.judge.compare.verdict import effect_of_size, size_of_effect
from reports.records.moderated import Variance, moderated, prior_of, variance_of
from reports.records.jsonl import Json, is_number, is_version, read_object
from reports.records.metrics import shortened
from reports.records.quantity import bounded, percent, plural
from reports.signature.signature_file import trusting

SCHEMA, VERSION, READS = "gpusig.noise", "1.1.0", 1
COUNTS = (4, 6, 8, 12)  # runs a side
REPEATS = 8  # of the alarms, unless asked for others
_FEW = (1, 2, 3, 4, 6)  # runs a side that a t judges
_USUAL = 0.975
_DRIFTS = 1e6  # evidence that no comparison has
_DRAWS = 400
_FLOOR, _POWER = 0.95, 0.9
# the least effect that matters is so many floors (practice of gating: a floor alone is exceeded in 5 %)
_TIMES_FLOOR = 2.0

_Run = TypeVar("_Run")


def _at_random(runs: Sequence[_Run], count: int) -> Iterator[tuple[Sequence[_Run], Sequence[_Run]]]:
    """Random splits, the same ones each time."""
    draw = random.Random(count)
    for _ in range(_DRAWS):
        drawn = draw.sample(range(len(runs)), 2 * count)
        yield [runs[i] for i in drawn[:count]], [runs[i] for i in drawn[count:]]


def _in_order(runs: Sequence[_Run], count: int) -> Iterator[tuple[Sequence[_Run], Sequence[_Run]]]:
    for first in range(len(runs) - 2 * count + 1):
        yield runs[first : first + count], runs[first + count : first + 2 * count]


_SPLITS = {"random": _at_random, "in order": _in_order}


# ------------------------------------------------------------------ of one metric


def _rows(runs: Sequence[RunNumbers], name: str, count: int, settings: Settings) -> dict[str, list[Row]]:
    """Rows with change and interval, of every split."""
    found: dict[str, list[Row]] = {}
    for word, splits in _SPLITS.items():
        rows = [verdict.rows_of(before, after, [name], settings)[0] for before, after in splits(runs, count)]
        found[word] = [verdict.measured(row, settings.confidence) for row in rows if not row.invalid]
    return found


def _found_at(row: Row, metrics: int, settings: Settings) -> float | None:
    """The least slowdown that this split would call a regression, on the scale of the change: a slowdown
    moves the interval and leaves its width. None: none is large enough."""
    _, low, high = statistics.shift(*row.scaled, 1 - settings.rate / metrics)
    if low is None or high is None or row.low is None or row.high is None:
        return None
    worse = (row.high, high) if row.number.better == "higher" else (-row.low, -low)
    return max(row.threshold + worse[0], worse[1])


def _largest(rows: Mapping[str, list[Row]], share: float, of_row: dict[int, float]) -> float | None:
    """The larger of the quantiles over each way of splitting."""
    found = [statistics.quantile([of_row[id(row)] for row in own], share) for own in rows.values() if own]
    return max(found) if found else None


def _of_count(runs: Sequence[RunNumbers], name: str, count: int, metrics: int, settings: Settings) -> Json:
    """The floor, the least effect that follows from it, and the effect found with it."""
    rows = _rows(runs, name, count, settings)
    every = [row for own in rows.values() for row in own]
    floor = _largest(rows, _FLOOR, {id(row): abs(row.change or 0.0) for row in every})
    if floor is None:
        return {"floor": None, "effect": None, "finds": None}
    scale = every[0].number.scale
    floor = effect_of_size(floor, scale)
    effect = max(settings.least_effect, _TIMES_FLOOR * floor)
    by_row = [(row, _found_at(replace(row, effect=effect), metrics, settings)) for row in every]
    of_row = {id(row): value for row, value in by_row if value is not None}
    found = _largest(rows, _POWER, of_row) if len(of_row) == len(every) else None
    finds = None if found is None else effect_of_size(found, scale)
    return {"floor": floor, "effect": effect, "finds": finds}


def _metric(
    runs: Sequence[RunNumbers], name: str, counts: Sequence[int], metrics: int, settings: Settings
) -> Json:
    row = verdict.rows_of(runs, runs[:1], [name], settings)[0]
    values = row.before.present
    return {
        "name": name,
        "label": label_of(row),
        "unit": row.number.unit,
        "better": row.number.better,
        "scale": row.number.scale,
        "runs": len(values),
        "of": len(runs),
        "median": statistics.quantile(values, 0.5) if values else None,
        "by_repeats": {str(count): _of_count(runs, name, count, metrics, settings) for count in counts},
    }


# ------------------------------------------------------------------ for fewer runs a side


def _chance_evidence(values: Sequence[few.Values], runs: int, count: int) -> float:
    """Evidence that 97.5 % of comparisons of equal sides stay below, with variances from the other runs, as
    from a noise file; the larger one of both ways of splitting. It is to hold for 95 % of later comparisons:
    a quantile of few runs, which share their splits, is too small if outliers are large."""
    found = []
    for splits in _SPLITS.values():
        own = []
        for before, after in splits(range(runs), count):
            rest = [place for place in range(runs) if place not in (*before, *after)]
            metrics = []
            for line in values:
                others = variance_of([value for value in (line[i] for i in rest) if value is not None])
                metrics.append(few.Metric([line[i] for i in before], [line[i] for i in after], others, False))
            own.append(few.evidence(metrics))
        found.append(statistics.quantile(own, _USUAL))
    return max(found)


def of_few(
    runs: Sequence[RunNumbers], names: Sequence[str], settings: Settings, counts: Sequence[int] = _FEW
) -> tuple[dict[str, Known], dict[int, float]]:
    """Variances, and chance evidence by runs a side, for fewer than 8 runs a side, from equal runs in the
    order of time. If they drift, no evidence is more than usual: few runs before and after may be at
    different places of it."""
    known: dict[str, Known] = {}
    values = []
    rows = verdict.rows_of(runs, runs[:1], names, settings)
    for row in rows:
        if row.invalid:
            continue
        own = row.scaled[0]
        known[row.name] = Known(variance_of(own), few.has_levels(own, row.threshold))
        if known[row.name].levels is False:
            values.append(row.places[0])
    least = {n: max(few.least_known(n, verdict.MOST_CHANCE), 2 * n + 4) for n in counts}
    enough = [n for n in counts if len(runs) >= least[n]]
    if all(run.started for run in runs) and drift.within(rows, (runs, runs[:1])) is not None:
        return known, dict.fromkeys(enough, _DRIFTS)
    return known, {n: _chance_evidence(values, len(runs), n) for n in enough}


def _known_json(known: Known | None) -> Json:
    """Deviation of one run from another, on the scale of the change, with its degrees of freedom; and whether
    runs come in two levels, null if they are too few to say."""
    if known is None or not known.variance.degrees:
        return {"deviation": None, "degrees": 0, "levels": None}
    deviation = math.sqrt(known.variance.variance)
    return {"deviation": deviation, "degrees": int(known.variance.degrees), "levels": known.levels}


def _few_find(
    known: Known | None, prior: Variance | None, entry: Json, count: int, strict: float
) -> float | None:
    """Minimum detectable effect; None if so few runs do not judge the metric, or its levels are unknown."""
    if known is None or known.levels is not False:
        return None
    least = size_of_effect(Settings.least_effect, entry["scale"])
    return effect_of_size(few.finds(moderated(known.variance, prior), count, strict, least), entry["scale"])


# ------------------------------------------------------------------ of the verdict


def _alarms(runs: Sequence[RunNumbers], names: Sequence[str], count: int, settings: Settings) -> Json:
    """Counts of the comparisons of equal sides that call anything changed, by way of splitting."""
    found = {}
    for word, splits in _SPLITS.items():
        comparisons = alarms = false_ones = judged = 0
        for before, after in splits(runs, count):
            rows = verdict.judged(verdict.rows_of(before, after, names, settings), settings)
            wrong = sum(row.verdict in (REGRESS, IMPROVE) for row in rows)
            comparisons, alarms, false_ones = comparisons + 1, alarms + bool(wrong), false_ones + wrong
            judged += sum(row.verdict != INVALID for row in rows)
        low, high = statistics.binomial_interval(alarms, comparisons) if comparisons else (0.0, 1.0)
        found[word] = {
            "comparisons": comparisons,
            "alarms": alarms,
            "rate": alarms / comparisons if comparisons else None,
            "low": low,
            "high": high,
            "disjoint": len(runs) // (2 * count),
            "metrics_called": false_ones,
            "metrics_judged": judged,
        }
    return found


def calibrate(pool: Side, settings: Settings, repeats: int | None) -> Json:
    """The noise file of equal runs. BadNumbers if they are too few to be split, or have wrong results."""
    runs = in_order(pool.runs)
    refuse_wrong_results(runs)
    count = repeats or min(REPEATS, len(runs) // 2)
    if count < 2 or 2 * count > len(runs):
        said = "%s has %s; to split them into sides of %d takes %d or more"
        raise BadNumbers(said % (pool.name, plural(len(runs), "run"), max(count, 2), 2 * max(count, 2)))
    verdict.refuse_unmatched(runs, settings)
    names = verdict.chosen(runs, settings)[0]
    counts = [n for n in sorted({*COUNTS, count}) if 2 * n <= len(runs)]
    metrics = [_metric(runs, name, counts, len(names), settings) for name in names]
    effects = {entry["name"]: entry["by_repeats"][str(count)]["effect"] or 0.0 for entry in metrics}
    known, chance_evidence = of_few(runs, names, settings)
    prior = prior_of(one.variance for one in known.values())
    for entry in metrics:
        own = known.get(entry["name"])
        entry.update(_known_json(own))
        for n, found in entry["by_repeats"].items():
            if int(n) < few.EXACT:
                found["finds"] = _few_find(own, prior, entry, int(n), 1 - settings.rate / len(names))
    options = {name: getattr(settings, name) for name in ("rate", "confidence", "least_effect")}
    return shortened(
        {
            "schema": SCHEMA,
            "version": VERSION,
            "name": pool.name,
            "source": runs[0].source,
            "machine": runs[0].machine,
            "device": runs[0].device,
            "runs": len(runs),
            "first": runs[0].started,
            "last": runs[-1].started,
            "repeats": count,
            "settings": options,
            "alarms": _alarms(runs, names, count, settings),
            "alarms_with_floor": _alarms(runs, names, count, replace(settings, noise=effects)),
            "chance_evidence": {str(n): t for n, t in chance_evidence.items()},
            "metrics": metrics,
        }
    )


def load(path: Path, name: str) -> Json:
    """The file of calibrate(). BadNumbers if it is none."""
    try:
        with trusting(name, BadNumbers):
            found = read_object(path)
    except OSError as why:
        raise BadNumbers("%s: %s" % (name, why.strerror)) from None
    if found.get("schema") != SCHEMA or not is_version(found.get("version"), READS):
        raise BadNumbers("%s is not a noise floor that this reads: ./gpusig compare --aa makes one" % name)
    return found


def read(path: Path, name: str, repeats: int) -> dict[str, float]:
    """The least effect that matters of each metric, for so many runs a side: of the nearest smaller number of
    runs, which has the larger floor, else of the smallest one."""
    found = load(path, name)
    effects: dict[str, float] = {}
    with trusting(name, BadNumbers):
        for entry in found["metrics"]:
            by_count = {int(n): own["effect"] for n, own in entry["by_repeats"].items()}
            counts = [n for n, effect in by_count.items() if is_number(effect)]
            if counts:
                nearest = max((n for n in counts if n <= repeats), default=min(counts))
                effects[str(entry["name"])] = float(by_count[nearest])
    return effects


def known_of(entry: Json) -> Known:
    """Variance and levels of a metric in a noise file that has its deviation."""
    return Known(Variance(float(entry["deviation"]) ** 2, float(entry["degrees"])), entry["levels"])


def known(path: Path, name: str) -> tuple[dict[str, Known], dict[int, float]]:
    """As of_few() has it, from a noise file; empty from a file of version 1.0."""
    found = load(path, name)
    with trusting(name, BadNumbers):
        entries = [entry for entry in found["metrics"] if is_number(entry.get("deviation"))]
        metrics = {str(entry["name"]): known_of(entry) for entry in entries}
        return metrics, {int(n): float(own) for n, own in found.get("chance_evidence", {}).items()}


# ------------------------------------------------------------------ for people


def _rate_line(word: str, found: Json) -> str:
    if not found["comparisons"]:
        return "  %-9s too few runs for any" % word
    rate, low, high = (percent(found[name]) for name in ("rate", "low", "high"))
    said = "  %-9s %d of %d raise an alarm: %s (%s to %s)"
    return said % (word, found["alarms"], found["comparisons"], rate, low, high)


def effect_text(effect: float | None, scale: str, none: str = "none") -> str:
    """ "5.1 %", or "0.051" of a difference."""
    return none if effect is None else percent(effect) if scale == RATIO else "%.3f" % effect


def table(found: Json) -> str:
    """For a terminal of 80 columns."""
    counts = list(found["metrics"][0]["by_repeats"]) if found["metrics"] else []
    count = str(found["repeats"])
    lines = [
        "%s of %s, split into sides of %s." % (plural(found["runs"], "equal run"), found["name"][:50], count),
        "",
        "False-alarm rate, least effect that matters %s:" % percent(found["settings"]["least_effect"]),
    ]
    lines += [_rate_line(word, own) for word, own in found["alarms"].items()]
    lines += ["and with twice the floor of each metric as its least effect:"]
    lines += [_rate_line(word, own) for word, own in found["alarms_with_floor"].items()]
    lines += [
        "Splits share runs; comparisons that share none: %d." % found["alarms"]["random"]["disjoint"],
        "",
        "%-34s %7s  minimum detectable slowdown" % ("", "floor"),
        "%-34s %7s" % ("", "n=" + count) + "".join("%8s" % ("n=" + n) for n in counts),
    ]
    for entry in found["metrics"]:
        own = entry["by_repeats"]
        label = bounded(entry["label"], 34)
        row = "%-34s %7s" % (label, effect_text(own[count]["floor"], entry["scale"]))
        lines.append(row + "".join("%8s" % effect_text(own[n]["finds"], entry["scale"]) for n in counts))
    lines += [
        "",
        "floor: what 95 % of comparisons of equal sides stay below. A slowdown is found",
        "where 9 of 10 comparisons call it a regression and no other metric changed; from",
        "8 runs a side on with twice the floor as least effect.",
    ]
    return "\n".join(lines) + "\n"
