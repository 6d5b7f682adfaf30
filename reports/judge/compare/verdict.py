# SPDX-License-Identifier: BSD-3-Clause
"""Judge two sides of runs: a verdict for every metric, wherever its numbers come from.

A run gives one value a metric. The change is the Hodges-Lehmann shift of logarithms, after against before;
a fraction that may be 0 or less is compared as it is. A metric regresses or improves where both hold: its
p (exact Mann-Whitney, adjusted by Benjamini-Hochberg over all judged metrics) is below `rate`, and the
whole interval of the change lies beyond the least effect that matters. It is equivalent where the whole
interval lies within that effect. All else is inconclusive.

Where a side has fewer than 8 runs the change is that of the means, and interval and p are of a moderated t
(few.py). There a change is one where its p is below `rate`, the change itself is beyond the
least effect, and dealing the runs out otherwise, or as many runs of the noise file, gives as much evidence in
one of 20 comparisons at most. Where one of 10 is all that they can say, it is likely worse or better.
docs/method/verdicts.md, "Has it changed?".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Callable, Mapping, NamedTuple, Sequence

from reports.judge import statistics
from reports.judge.compare import few
from reports.judge.compare.numbers import RATIO, BadNumbers, Number, RunNumbers, first_of
from reports.records.jsonl import clean
from reports.records.moderated import Variance, pooled
from reports.records.quantity import listing, percent, plural

REGRESS, IMPROVE, EQUIVALENT = "regress", "improve", "equivalent"
INCONCLUSIVE, INVALID = "inconclusive", "invalid"
NO_DIRECTION = "it is not known whether higher or lower is better"
LIKELY_WORSE, LIKELY_BETTER = "likely worse", "likely better"  # confirm with more runs
LIKELY = (LIKELY_WORSE, LIKELY_BETTER)
# Reasons of metrics whose verdict is withheld.
WITHHELD = "a control moved, so this may not be the change"
DRIFTING = "numbers drift within a side, so this may be part of that drift"
MOST_MISSING = 0.25  # of the runs of a side: if more lack a value, theirs may have been other ones
_TOO_FEW = "too few values"
MOST_UNEQUAL = 0.5  # between the shares of contended values: then the neighbours are compared
MOST_HIDDEN = 0.20  # "nothing found" is not said where more than this may be there, or than the least effect
MOST_NOISE = 0.20  # from run to run; of a metric that moves by more, few runs say nothing
MOST_CHANCE = 0.1  # of what is likely
MAX_REPEATS = 100  # the most that is advised
MAX_LOG = 700.0  # of a ratio; its logarithm fits into a number, it does not
_CONFIDENCE_Z = 1.9600  # standard normal, 97.5 %


def size_of_effect(effect: float, scale: str) -> float:
    """An effect on the scale of a change. A slowdown and the speedup that undoes it are equally large."""
    return math.log1p(effect) if scale == RATIO else effect


def effect_of_size(size: float, scale: str) -> float:
    """The inverse of `size_of_effect`."""
    return math.expm1(min(size, MAX_LOG)) if scale == RATIO else size


@dataclass(frozen=True)
class Known:
    """Variance of a metric among equal runs measured before, on the scale of its change, and whether its
    values come in two levels."""

    variance: Variance
    levels: bool | None = None


@dataclass(frozen=True)
class Settings:
    """Options of a comparison. `noise`: least effect that matters of single metrics, if more than
    `least_effect`; for 8 runs a side or more. For fewer: `known` of a metric, and `chance_evidence`, runs a
    side -> the evidence that 95 % of comparisons of equal runs stay below. `brought_control`: controls that
    the runs contain count; not if the factor can affect them."""

    rate: float = 0.05
    confidence: float = 0.95
    least_effect: float = 0.02
    noise: Mapping[str, float] = field(default_factory=dict)
    noise_file: str | None = None
    known: Mapping[str, Known] = field(default_factory=dict)
    chance_evidence: Mapping[int, float] = field(default_factory=dict)
    factors: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    brought_control: bool = True
    by_node: bool = False  # what is called a run is a node

    def effect_of(self, name: str) -> float:
        return max(self.least_effect, self.noise.get(name, 0.0))

    def chance_evidence_of(self, runs: int) -> float | None:
        """Chance evidence of the nearest smaller number of runs a side; None if unknown."""
        fitting = [count for count in self.chance_evidence if count <= runs]
        return self.chance_evidence[max(fitting)] if fitting else None


@dataclass(frozen=True)
class Values:
    """Values of a metric on one side, run by run; None where it is missing."""

    values: tuple[float | None, ...]
    reasons: tuple[str, ...]
    contended: int = 0  # how many of the values
    elsewhere: int = 0  # of the missing ones, left out because the cores were elsewhere

    @property
    def present(self) -> list[float]:
        return [value for value in self.values if value is not None]


@dataclass(frozen=True)
class Row:
    """A metric with its verdict. The change and its interval are logarithms of a ratio, or differences."""

    name: str
    number: Number  # of any run that has it: unit, direction, words
    before: Values
    after: Values
    effect: float  # the least that matters, relative or in the unit
    invalid: str = ""  # why nothing can be said
    change: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted: float | None = None
    detectable: float | None = None  # as `effect`
    verdict: str = ""
    repeats: int | None = None
    reason: str = ""
    deviation: float | None = None  # of one run from another, on the scale of the change; of few runs
    levels: bool | None = None
    known: Known | None = None
    tries: tuple[Variance, ...] = ()  # of single runs, by their own tries

    @property
    def is_few(self) -> bool:
        return few.is_few(len(self.before.values), len(self.after.values))

    @property
    def is_thin(self) -> bool:
        """True if too little is known of how much its runs differ to call sides equivalent."""
        return self.known is None and len(self.before.present) + len(self.after.present) < 4

    @property
    def threshold(self) -> float:
        """The least effect on the scale of the change."""
        return size_of_effect(self.effect, self.number.scale)

    def shown(self, change: float) -> float:
        """A change as a ratio or a difference."""
        return math.exp(max(-MAX_LOG, min(change, MAX_LOG))) if self.number.scale == RATIO else change

    @property
    def places(self) -> tuple[list[float | None], list[float | None]]:
        """Values on the scale of the change, one for each run; None if missing or without a logarithm."""

        def of(value: float | None) -> float | None:
            if value is None or self.number.scale != RATIO:
                return value
            return math.log(value) if value > 0 else None

        return [of(v) for v in self.before.values], [of(v) for v in self.after.values]

    @property
    def scaled(self) -> tuple[list[float], list[float]]:
        """As `places`, without the missing ones."""
        before, after = ([v for v in side if v is not None] for side in self.places)
        return before, after

    @property
    def is_noisy(self) -> bool:
        """True if few runs say nothing of it."""
        return self.number.scale == RATIO and self.deviation is not None and self.deviation > MOST_NOISE

    @property
    def is_worse(self) -> bool:
        return (self.change or 0.0) * (1 if self.number.better == "higher" else -1) < 0


def most_hidden(least_effect: float) -> float:
    return max(MOST_HIDDEN, least_effect)


# ------------------------------------------------------------------ values


def values_of(runs: Sequence[RunNumbers], name: str) -> Values:
    found = [run.numbers.get(name) for run in runs]
    reasons = tuple(
        "no such number in this run" if n is None else n.reason if n.value is None else "" for n in found
    )
    contended = sum(n is not None and n.value is not None and n.contended for n in found)
    elsewhere = sum(n is not None and n.elsewhere for n in found)
    return Values(tuple(None if n is None else n.value for n in found), reasons, contended, elsewhere)


def number_of(runs: Sequence[RunNumbers], name: str) -> Number:
    """The number of a run, if possible of one with a value, which knows its unit."""
    found = [run.numbers[name] for run in runs if name in run.numbers]
    return first_of([n for n in found if n.value is not None] or found[:1])


def differs(runs: Sequence[RunNumbers], name: str) -> str:
    """The reason why the values of these runs are not of one quantity; empty if they are."""
    own = [run.numbers[name] for run in runs if name in run.numbers and run.numbers[name].value is not None]
    for word, field_ in (("unit", "unit"), ("direction", "better"), ("case", "case")):
        found = sorted(str(value) or "none" for value in {getattr(n, field_) for n in own})
        if len(found) > 1:
            return "its %s differs between runs: %s" % (word, " and ".join(found))
    return ""


def _why_invalid(row: Row, runs: Sequence[RunNumbers], needs_direction: bool) -> str:
    differing = differs(runs, row.name)
    if differing:
        return differing
    if not row.before.present and not row.after.present:
        return "no run has a value"
    for side, values in (("before", row.before), ("after", row.after)):
        tried = len(values.values) - values.elsewhere
        missing = tried - len(values.present)
        if not values.present or missing > MOST_MISSING * tried:
            return "%s %s" % (_TOO_FEW, side)  # each missing one is shown with its reason
    before, after = (values.contended / len(values.present) for values in (row.before, row.after))
    if abs(before - after) > MOST_UNEQUAL:
        shares = percent(before), percent(after)
        return "others used the machine during %s of its values before and %s after" % shares
    if needs_direction and row.number.better not in ("higher", "lower"):
        return NO_DIRECTION
    if row.number.scale == RATIO and min(row.before.present + row.after.present) <= 0:
        return "it has values that are not above 0, which have no ratio"
    return ""


def matches(name: str, patterns: Sequence[str]) -> bool:
    """True if the name, or its last part, matches one of the patterns."""
    return any(fnmatchcase(n, pattern) for n in (name, name.rpartition("/")[2]) for pattern in patterns)


def refuse_unmatched(runs: Sequence[RunNumbers], settings: Settings) -> None:
    """BadNumbers if a pattern of --only or --control matches no number."""
    names = {name for run in runs for name in run.numbers}
    judged = {name for run in runs for name, number in run.numbers.items() if number.judged}
    for option, patterns, among in (("only", settings.only, judged), ("control", settings.controls, names)):
        for pattern in patterns:
            if among and not any(matches(name, (pattern,)) for name in among):
                raise BadNumbers(
                    "--%s '%s' matches none of %s: %s"
                    % (option, clean(pattern)[:60], plural(len(among), "number"), listing(sorted(among), 3))
                )


def chosen(runs: Sequence[RunNumbers], settings: Settings) -> tuple[list[str], list[str], list[str]]:
    """Names of the metrics to judge, of the controls, and of the others. They follow from what the runs
    declare, never from values. A number that no run of either side can measure is none of these."""
    judged, controls, others = [], [], []
    for name in dict.fromkeys(name for run in runs for name in run.numbers):
        found = [run.numbers[name] for run in runs if name in run.numbers]
        if all(n.unavailable for n in found):
            continue
        if settings.brought_control and any(n.control for n in found) or matches(name, settings.controls):
            controls.append(name)
        elif any(n.judged for n in found) and (not settings.only or matches(name, settings.only)):
            judged.append(name)
        else:
            others.append(name)
    return judged, controls, others


# ------------------------------------------------------------------ judging


def measured(row: Row, confidence: float) -> Row:
    """The row with the change, its interval and its p, by ranks."""
    if row.invalid:
        return row
    before, after = row.scaled
    change, low, high = statistics.shift(before, after, confidence)
    return replace(row, change=change, low=low, high=high, p=statistics.mann_whitney(before, after))


def _is_blind(row: Row, settings: Settings) -> bool:
    """True if the noise floor is so large that "equivalent" would say nothing."""
    return row.effect > most_hidden(settings.least_effect)


def _verdict(row: Row, settings: Settings) -> str:
    if row.invalid:
        return INVALID
    limit = row.threshold
    if row.low is None or row.high is None:
        return INCONCLUSIVE
    if (row.low > limit or row.high < -limit) and row.adjusted is not None and row.adjusted < settings.rate:
        return REGRESS if row.is_worse else IMPROVE
    is_within = -limit <= row.low and row.high <= limit and not _is_blind(row, settings)
    return EQUIVALENT if is_within else INCONCLUSIVE


def least_repeats(metrics: int, rate: float) -> int:
    """Runs a side from which ranks alone can call one metric among so many changed."""
    return next((n for n in range(2, MAX_REPEATS) if statistics.least_p(n, n) * metrics < rate), MAX_REPEATS)


def _detectable(row: Row, metrics: int, settings: Settings) -> float | None:
    """Minimum detectable effect, with 90 %, if no other metric changes: its interval must lie beyond the
    least effect, and the one at the confidence of a single test among `metrics` beyond 0. Half an interval
    is taken for 1.96 standard errors."""
    if row.low is None or row.high is None:
        return None
    _, low, high = statistics.shift(*row.scaled, 1 - settings.rate / metrics)
    if low is None or high is None:
        return None
    half, strict = (row.high - row.low) / 2, (high - low) / 2
    found = max(row.threshold + half, strict) + few.POWER_Z / _CONFIDENCE_Z * half
    return effect_of_size(found, row.number.scale)


def _repeats(row: Row, metrics: int, settings: Settings) -> int | None:
    """Runs a side that would decide, if change and spread stay: the interval narrows with their root."""
    if _is_blind(row, settings) and abs(row.change or 0.0) <= row.threshold:
        return None
    least = least_repeats(metrics, settings.rate)
    runs = min(len(row.before.values), len(row.after.values))
    if row.low is None or row.high is None or row.change is None:
        return max(least, runs + 1) if runs < MAX_REPEATS else None
    gap = abs(abs(row.change) - row.threshold)
    half = max(row.high - row.change, row.change - row.low)
    wanted = runs * (half / gap) ** 2 if gap else math.inf
    if abs(row.change) > row.threshold:
        wanted = max(wanted, least)
    return max(math.ceil(wanted), runs + 1) if max(wanted, runs + 1) <= MAX_REPEATS else None


def _reason(row: Row, settings: Settings) -> str:
    """The reason why a metric is not judged as better, worse or equivalent."""
    if row.reason:
        return row.reason
    if row.verdict == INVALID:
        return row.invalid
    if row.verdict != INCONCLUSIVE:
        return ""
    if row.low is None or row.high is None:
        return "%d and %s give no interval" % (len(row.before.present), plural(len(row.after.present), "run"))
    limit = row.threshold
    if row.low > limit or row.high < -limit:
        return "the interval is beyond the least effect, but among so many metrics this may be chance"
    if _is_blind(row, settings):
        return "by the noise floor equal sides differ by so much that only a larger change would be detected"
    if row.low > 0 or row.high < 0:
        return "it changed, but perhaps by less than matters"
    return "the interval reaches beyond the least effect that matters, and does not exclude 0"


def _ranked(rows: Sequence[Row], settings: Settings) -> list[Row]:
    """Rows with change, interval, p and minimum detectable effect."""
    found = [measured(row, settings.confidence) for row in rows]
    return [replace(row, detectable=_detectable(row, len(rows), settings)) for row in found]


def judged(rows: Sequence[Row], settings: Settings) -> list[Row]:
    """The rows with their verdicts. An invalid one counts as a test that found nothing, so that no p depends
    on what is valid."""
    if not rows:
        return []
    is_few = rows[0].is_few
    metrics = [_metric(row, settings.known.get(row.name)) for row in rows] if is_few else []
    found = _tested(rows, metrics, settings) if is_few else _ranked(rows, settings)
    ps = statistics.adjusted([1.0 if row.p is None or row.levels else row.p for row in found])
    runs = len(rows[0].before.values), len(rows[0].after.values)
    is_open = is_few and any(p < settings.rate for p in ps)
    judge = _judge(metrics, *runs, settings) if is_open else _Judge()
    result = []
    for row, p in zip(found, ps):
        row = replace(row, adjusted=None if row.p is None else p)
        row = _few_verdict(row, judge, settings) if is_few else replace(row, verdict=_verdict(row, settings))
        if row.verdict in (INCONCLUSIVE, *LIKELY):
            repeats = _few_repeats(row, settings) if is_few else _repeats(row, len(rows), settings)
            row = replace(row, repeats=repeats)
        result.append(replace(row, reason=_reason(row, settings)))
    return result


# ------------------------------------------------------------------ few runs


def _metric(row: Row, known: Known | None) -> few.Metric:
    """A row as the moderated t takes it. Variances of single runs count only if nothing else tells how much
    runs differ. A metric that lacks values counts in the evidence, which else depended on the dealing."""
    if row.invalid and not row.invalid.startswith(_TOO_FEW):
        return few.Metric((), ())
    before, after = row.places
    single = len(row.before.present) == len(row.after.present) == 1
    variance = known.variance if known else pooled(row.tries) if single else few.NOTHING
    return few.Metric(before, after, variance, known.levels if known else None, row.threshold)


def _has_chance(before: int, after: int) -> bool:
    """True if there are enough ways to deal the runs out for a chance to be known."""
    return few.deals(before, after) * MOST_CHANCE >= 1


def _certain(settings: Settings, before: int, after: int) -> bool:
    """True if dealing the runs out can tell a change from chance: there are enough ways, and enough runs on a
    side to see a drift, which dealing ignores."""
    drifts = min(before, after) >= few.SEES_DRIFT or max(before, after) >= few.KNOWS_LEVELS
    return drifts and few.deals(before, after) * settings.rate >= 1


def tells(settings: Settings, before: int, after: int) -> bool:
    """True if anything tells a change from chance well enough to call it likely."""
    return settings.chance_evidence_of(min(before, after)) is not None or _has_chance(before, after)


def decides(settings: Settings, before: int, after: int) -> bool:
    """True if dealing or the noise file can call a single metric changed."""
    fewer = min(before, after)
    equal = max((one.variance.degrees + 1 for one in settings.known.values()), default=0.0)
    of_noise = settings.chance_evidence_of(fewer) is not None
    return of_noise and equal >= few.least_known(fewer, settings.rate) or _certain(settings, before, after)


def least_runs(
    before: int, after: int, settings: Settings, enough: Callable[[Settings, int, int], bool] = decides
) -> int:
    """The least number of runs on the side that has fewer for which `enough` holds."""
    more = max(before, after)
    return next(n for n in range(1, MAX_REPEATS) if enough(settings, max(n, more), n))


def _few_repeats(row: Row, settings: Settings) -> int | None:
    """Runs on the side that has fewer that would decide, if change and spread stay."""
    before, after = len(row.before.values), len(row.after.values)
    runs = min(before, after)
    least = max(few.EXACT if row.levels else least_runs(before, after, settings), runs + 1)
    if row.low is None or row.high is None or row.change is None:
        return least
    size, half = abs(row.change), (row.high - row.low) / 2
    gap = size if size > row.threshold else row.threshold - size
    equal = 2 / (1 / before + 1 / after)  # runs a side that know as much
    wanted = equal * (half / gap) ** 2 if gap else math.inf
    return max(math.ceil(wanted), least) if wanted <= MAX_REPEATS else None


class _Judge(NamedTuple):
    """Evidence of all metrics together. `is_rare`: equal sides give as much in one of 20 comparisons at most;
    None if unknown. `least_known`: equal runs of a noise file that this takes; 0 if dealing these runs out
    tells it. `chance`: of as much evidence, by dealing."""

    is_rare: bool | None = None
    least_known: int = 0
    chance: float | None = None


def _judge(metrics: Sequence[few.Metric], before: int, after: int, settings: Settings) -> _Judge:
    own, fewer, chance = few.evidence(metrics), min(before, after), None
    if _has_chance(before, after):
        chance = few.chance_of(own, few.dealt_evidence(metrics, before, after))
        if _certain(settings, before, after):
            return _Judge(chance <= settings.rate, 0, chance)
    usual = settings.chance_evidence_of(fewer)
    is_rare = None if usual is None else own > usual and (chance is None or chance <= MOST_CHANCE)
    return _Judge(is_rare, few.least_known(fewer, settings.rate), chance)


def _is_certain(row: Row, judge: _Judge) -> bool:
    known = row.known.variance.degrees + 1 if row.known else 0.0
    return bool(judge.is_rare) and known >= judge.least_known


def _few_reason(row: Row, judge: _Judge, settings: Settings) -> str:
    """The reason why a change beyond the least effect is not called one."""
    if row.levels:
        return "its equal runs come in two levels; %d runs a side can tell" % few.EXACT
    if row.is_noisy:
        differ = percent(effect_of_size(row.deviation or 0.0, RATIO))
        return "cannot be judged here by so few runs: equal ones differ by %s" % differ
    if judge.is_rare is False and judge.least_known:
        return "equal runs of the noise file give as much evidence of a change, or drift"
    if judge.chance is not None and judge.chance > MOST_CHANCE:
        share = percent(judge.chance)
        return "divided into two sides at random, these runs differ as much in %s of all ways" % share
    told = tells(settings, len(row.before.values), len(row.after.values))
    return "" if told else "so few runs cannot exclude chance"


def _few_verdict(row: Row, judge: _Judge, settings: Settings) -> Row:
    limit = row.threshold
    if row.invalid or row.low is None or row.high is None or row.change is None:
        return replace(row, verdict=INVALID if row.invalid else INCONCLUSIVE)
    said = _few_reason(row, judge, settings)
    if -limit <= row.low and row.high <= limit:
        thin = "so few runs do not show how much equal ones differ"
        return replace(row, verdict=INCONCLUSIVE if row.is_thin else EQUIVALENT, reason=thin * row.is_thin)
    if abs(row.change) <= limit or row.adjusted is None or row.adjusted >= settings.rate:
        return replace(row, verdict=INCONCLUSIVE, reason=said * bool(row.levels or abs(row.change) > limit))
    is_certain = _is_certain(row, judge)
    if row.levels or said and not is_certain:
        return replace(row, verdict=INCONCLUSIVE, reason=said)
    words = (REGRESS, IMPROVE) if is_certain else LIKELY
    return replace(row, verdict=words[0] if row.is_worse else words[1])


def _tested(rows: Sequence[Row], metrics: Sequence[few.Metric], settings: Settings) -> list[Row]:
    """Rows with change, interval, p and minimum detectable effect, by the moderated t. 9 of 10 changes of
    that size are beyond the least effect and have a p small enough for a single test among all."""
    result = []
    for row, metric, one in zip(rows, metrics, few.tested(metrics)):
        row = replace(row, known=settings.known.get(row.name), levels=few.levels_of(metric))
        if row.invalid:
            result.append(row)
        elif one is None:
            result.append(replace(row, change=few.change_of(metric), p=1.0))
        else:
            low, high = (one.change + sign * one.half(settings.confidence) for sign in (-1, 1))
            size = max(row.threshold, one.half(1 - settings.rate / len(rows))) + few.POWER_Z * one.error
            detectable = effect_of_size(size, row.number.scale)
            row = replace(row, change=one.change, low=low, high=high, p=one.p, deviation=one.deviation)
            result.append(replace(row, detectable=detectable))
    return result


def rows_of(
    before: Sequence[RunNumbers],
    after: Sequence[RunNumbers],
    names: Sequence[str],
    settings: Settings,
    needs_direction: bool = True,
) -> list[Row]:
    """Metrics with their values on both sides, and why they cannot be compared. A description needs no
    direction."""
    both = [*before, *after]
    is_few = few.is_few(len(before), len(after))
    rows = [
        Row(
            name,
            number_of(both, name),
            values_of(before, name),
            values_of(after, name),
            settings.least_effect if is_few else settings.effect_of(name),
            tries=tuple(run.numbers[name].tries for run in both if name in run.numbers),
        )
        for name in names
    ]
    return [replace(row, invalid=_why_invalid(row, both, needs_direction)) for row in rows]


def described(rows: Sequence[Row], settings: Settings, most: int) -> list[Row]:
    """Rows without a verdict, the largest effects first; those that cannot be compared come last."""

    def effect(row: Row) -> float:
        if row.invalid:
            return -1.0
        then, now = row.scaled
        return abs(statistics.quantile(now, 0.5) - statistics.quantile(then, 0.5))

    ordered = sorted(rows, key=lambda row: -effect(row))[:most]
    return [replace(measured(row, settings.confidence), reason=row.invalid) for row in ordered]
