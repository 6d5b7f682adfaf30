# SPDX-License-Identifier: BSD-3-Clause
"""compare --plan: the effects that so many runs a side would find, before anybody measures them.

A noise file, a folder of equal runs, or the tries of a single run tell how much a metric moves between equal
runs. Fewer than 8 runs a side are judged by a moderated t, as if that was their noise file; from 8 on a noise
file has counted what ranks find, which may need more, and of runs it is what a t would find.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Mapping, Sequence

from reports.records import student
from reports.judge.compare import few, noise, verdict
from reports.judge.compare.answer import label_of
from reports.judge.compare.numbers import BadNumbers, RunNumbers
from reports.judge.compare.verdict import Known, Settings, effect_of_size, size_of_effect
from reports.records.jsonl import Json, clean, is_number
from reports.records.moderated import moderated, prior_of
from reports.records.quantity import bounded, listing, plural
from reports.signature.signature_file import trusting

COUNTS = (1, 3, 4, 6, 8, 12)
_LABEL = 32
_MOST = 40  # lines


@dataclass(frozen=True)
class Metric:
    """`finds`: runs a side -> what a noise file has counted."""

    label: str
    scale: str
    known: Known
    finds: Mapping[int, float]


def _of_entry(entry: Json) -> Metric:
    counts = entry["by_repeats"].items()
    finds = {int(n): float(own["finds"]) for n, own in counts if is_number(own["finds"])}
    return Metric(str(entry["label"]), str(entry["scale"]), noise.known_of(entry), finds)


def of_noise(found: Json, name: str, only: Sequence[str] = ()) -> list[Metric]:
    """BadNumbers if the file is malformed, or older than this takes, or has none of `only`."""
    with trusting(name, BadNumbers):
        metrics = [
            _of_entry(entry)
            for entry in found["metrics"]
            if is_number(entry.get("deviation")) and (not only or verdict.matches(entry["name"], only))
        ]
    if not metrics and only:
        raise BadNumbers("%s has no number that matches %s" % (name, listing([clean(p)[:60] for p in only])))
    if not metrics:
        raise BadNumbers("%s does not say how much metrics move; make it again: ./gpusig compare --aa" % name)
    return metrics


def of_runs(runs: Sequence[RunNumbers], settings: Settings) -> list[Metric]:
    """BadNumbers if nothing tells how much a single run moves."""
    verdict.refuse_unmatched(runs, settings)
    names = verdict.chosen(runs, settings)[0]
    known = noise.of_few(runs, names, settings, ())[0] if len(runs) > 1 else {}
    metrics = []
    for row in verdict.rows_of(runs, runs[:1], names, settings):
        own = known.get(row.name) or Known(row.tries[0] if row.tries else few.NOTHING)
        if own.variance.degrees and not row.invalid:
            metrics.append(Metric(label_of(row), row.number.scale, own, {}))
    if not metrics:
        said = "none has a value that can be judged" if len(runs) > 1 else "give several"
        raise BadNumbers("%s does not say how much equal runs differ; %s" % (runs[0].name, said))
    return metrics


def _finds(metric: Metric, count: int, metrics: int, settings: Settings, whole: Known) -> float | None:
    """Minimum detectable effect; None if few runs do not judge the metric."""
    if count in metric.finds and count >= few.EXACT:
        return metric.finds[count]
    least, strict = size_of_effect(settings.least_effect, metric.scale), 1 - settings.rate / metrics
    if count < few.EXACT:
        if metric.known.levels:
            return None
        found = few.finds(whole.variance, count, strict, least)
    else:
        error, degrees = math.sqrt(whole.variance.variance * 2 / count), 2.0 * count - 2
        half = student.quantile(settings.confidence, degrees) * error
        found = max(least + half, student.quantile(strict, degrees) * error) + few.POWER_Z * error
    return effect_of_size(found, metric.scale)


def rows_of(metrics: Sequence[Metric], settings: Settings) -> list[tuple[str, list[str]]]:
    """Label of each metric, and texts of what COUNTS runs a side find; the best found metric first."""
    prior = prior_of(metric.known.variance for metric in metrics)
    found = []
    for metric in metrics:
        whole = Known(moderated(metric.known.variance, prior), metric.known.levels)
        sizes = [_finds(metric, count, len(metrics), settings, whole) for count in COUNTS]
        texts = [noise.effect_text(size, metric.scale, "levels") for size in sizes]
        found.append((sizes[COUNTS.index(few.EXACT)] or 0.0, metric.label, texts))
    return [(label, texts) for _, label, texts in sorted(found, key=lambda one: one[:2])]


def table(where: str, metrics: Sequence[Metric], settings: Settings) -> str:
    """For a terminal of 80 columns; metrics that are found alike share a line."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for label, texts in rows_of(metrics, settings):
        alike.setdefault(tuple(texts), []).append(label)
    lines = [
        "Minimum detectable effect of so many runs a side, in 9 of 10 comparisons, where",
        "one of %s changes. How much equal runs differ is known of" % plural(len(metrics), "metric"),
        where[:80],
        "",
        "%-*s" % (_LABEL, "") + "".join("%8s" % ("n=%d" % count) for count in COUNTS),
    ]
    for texts, labels in list(alike.items())[:_MOST]:
        more = " and %d more" % (len(labels) - 1) if len(labels) > 1 else ""
        named = bounded(labels[0], _LABEL - len(more) - 1) + more
        lines.append("%-*s" % (_LABEL, named) + "".join("%8s" % text for text in texts))
    lines += ["and %d more" % (len(alike) - _MOST)] * (len(alike) > _MOST)
    lines += ["", "Of 3 or 4 runs a side with a noise file of 12 equal runs, of 1 with one of 38"]
    lines += ["(compare --aa); without such a file a change is likely at most."]
    if any(metric.finds for metric in metrics):
        lines.append("From 8 on a rank test judges; it assumes no distribution, and may need more.")
    if any("levels" in texts for texts in alike):
        lines.append("levels: equal runs come in two levels; fewer than 8 runs do not judge it.")
    return "\n".join(lines) + "\n"
