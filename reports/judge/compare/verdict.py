# SPDX-License-Identifier: BSD-3-Clause
"""Two sides of runs in, a verdict per metric and one about all out. Where the numbers come from does not
matter here.

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
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from reports.judge import statistics
from reports.judge.compare import few
from reports.judge.compare.numbers import RATIO, BadNumbers, Number, RunNumbers, first_of
from reports.records.jsonl import clean
from reports.records.moderated import Variance, pooled
from reports.records.quantity import listing, percent, plural

REGRESS, IMPROVE, EQUIVALENT, INCONCLUSIVE, INVALID = (
    "regress",
    "improve",
    "equivalent",
    "inconclusive",
    "invalid",
)
NO_DIRECTION = "nobody says whether higher or lower is better"
LIKELY_WORSE, LIKELY_BETTER = "likely worse", "likely better"  # confirm with more runs
LIKELY = (LIKELY_WORSE, LIKELY_BETTER)
# Reasons of metrics whose verdict is withheld.
WITHHELD = "a control moved, so this may not be the change"
DRIFTING = "numbers drift within a side, so this may be more of that"
MOST_MISSING = (
    0.25  # of the runs of a side may lack a value; of more than that nobody knows what they would have given
)
_TOO_FEW = "too few values"
MOST_UNEQUAL = 0.5  # between the shares of contended values: then the neighbours are compared
MOST_HIDDEN = 0.20  # "nothing found" is not said where more than this may be there, or than the least effect
MOST_NOISE = 0.20  # from run to run; of a metric that moves by more, few runs say nothing
MOST_CHANCE = 0.1  # of what is likely
MAX_REPEATS = 100  # the most that is advised
MAX_LOG = 700.0  # of a ratio; its logarithm fits into a number, it does not
_CONFIDENCE_Z = 1.9600  # standard normal, 97.5 %


@dataclass(frozen=True)
class Known:
    """What equal runs measured before say of a metric: its variance on the scale of its change, and whether
    its values come in two levels."""

    variance: Variance
    levels: Optional[bool] = None


@dataclass(frozen=True)
class Settings:
    """`noise`: the least effect that matters of single metrics, where that is more than `least_effect`; of 8
    runs a side and more. `known` and `chance_evidence` are for fewer: what equal runs say of a metric, and
    runs a side -> what evidence 95 % of their comparisons stay below. `brought_control`: what the runs
    brought along as a control is one; it is not where the factor can touch it."""

    rate: float = 0.05
    confidence: float = 0.95
    least_effect: float = 0.02
    noise: Mapping[str, float] = field(default_factory=dict)
    noise_file: Optional[str] = None
    known: Mapping[str, Known] = field(default_factory=dict)
    chance_evidence: Mapping[int, float] = field(default_factory=dict)
    factors: Tuple[str, ...] = ()
    controls: Tuple[str, ...] = ()
    only: Tuple[str, ...] = ()
    brought_control: bool = True
    by_node: bool = False  # what is called a run is a node

    def effect_of(self, name: str) -> float:
        return max(self.least_effect, self.noise.get(name, 0.0))

    def chance_evidence_of(self, runs: int) -> Optional[float]:
        """Of the nearest smaller number of runs a side; None where no equal runs tell."""
        fitting = [count for count in self.chance_evidence if count <= runs]
        return self.chance_evidence[max(fitting)] if fitting else None


@dataclass(frozen=True)
class Values:
    """Of a metric on one side, run by run; None where it is missing."""

    values: Tuple[Optional[float], ...]
    reasons: Tuple[str, ...]
    contended: int = 0  # how many of the values
    elsewhere: int = 0  # of the missing ones, left out because the cores were elsewhere

    @property
    def present(self) -> List[float]:
        return [value for value in self.values if value is not None]


@dataclass(frozen=True)
class Row:
    """A metric and what became of it. The change and its interval are on the scale that they are computed on:
    logarithms of a ratio, or differences."""

    name: str
    number: Number  # of any run that has it: unit, direction, words
    before: Values
    after: Values
    effect: float  # the least that matters, relative or in the unit
    invalid: str = ""  # why nothing can be said
    change: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    p: Optional[float] = None
    adjusted: Optional[float] = None
    detectable: Optional[float] = None  # as `effect`
    verdict: str = ""
    repeats: Optional[int] = None
    reason: str = ""
    deviation: Optional[float] = None  # of one run from another, on the scale of the change; of few runs
    levels: Optional[bool] = None
    known: Optional[Known] = None
    tries: Tuple[Variance, ...] = ()  # of single runs, by their own tries

    @property
    def is_few(self) -> bool:
        return few.is_few(len(self.before.values), len(self.after.values))

    @property
    def is_thin(self) -> bool:
        """Whether next to nothing tells how much runs of it differ: too little to call sides equivalent."""
        return self.known is None and len(self.before.present) + len(self.after.present) < 4

    @property
    def threshold(self) -> float:
        """The least effect on the scale of the change. A slow-down and the speed-up that undoes it are
        equally large there."""
        return math.log1p(self.effect) if self.number.scale == RATIO else self.effect

    def shown(self, change: float) -> float:
        """A change as a ratio or a difference."""
        return math.exp(max(-MAX_LOG, min(change, MAX_LOG))) if self.number.scale == RATIO else change

    @property
    def scaled(self) -> Tuple[List[float], List[float]]:
        of = math.log if self.number.scale == RATIO else float
        return [of(v) for v in self.before.present], [of(v) for v in self.after.present]

    @property
    def places(self) -> Tuple[List[Optional[float]], List[Optional[float]]]:
        """As `scaled`, a place for every run; None where a value is missing or has no logarithm."""

        def of(value: Optional[float]) -> Optional[float]:
            if value is None or self.number.scale != RATIO:
                return value
            return math.log(value) if value > 0 else None

        return [of(v) for v in self.before.values], [of(v) for v in self.after.values]

    @property
    def is_worse(self) -> bool:
        return (self.change or 0.0) * (1 if self.number.better == "higher" else -1) < 0


def most_hidden(least_effect: float) -> float:
    return max(MOST_HIDDEN, least_effect)


# ------------------------------------------------------------------ what is judged


def values_of(runs: Sequence[RunNumbers], name: str) -> Values:
    found = [run.numbers.get(name) for run in runs]
    reasons = tuple(
        "no such number in this run" if n is None else n.reason if n.value is None else "" for n in found
    )
    contended = sum(n is not None and n.value is not None and n.contended for n in found)
    elsewhere = sum(n is not None and n.elsewhere for n in found)
    return Values(tuple(None if n is None else n.value for n in found), reasons, contended, elsewhere)


def number_of(runs: Sequence[RunNumbers], name: str) -> Number:
    """One that has a value where there is one: only it knows its unit."""
    found = [run.numbers[name] for run in runs if name in run.numbers]
    return first_of([n for n in found if n.value is not None] or found[:1])


def differs(runs: Sequence[RunNumbers], name: str) -> str:
    """Why the values of these runs are not of one quantity; empty where they are."""
    own = [run.numbers[name] for run in runs if name in run.numbers and run.numbers[name].value is not None]
    for what, found in (
        ("unit", {n.unit for n in own}),
        ("direction", {n.better for n in own}),
        ("case", {n.case for n in own}),
    ):
        if len(found) > 1:
            return "its %s differs between runs: %s" % (
                what,
                " and ".join(sorted(str(f) or "none" for f in found)),
            )
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
        return "others used the machine during %s of its values before and %s after" % (
            percent(before),
            percent(after),
        )
    if needs_direction and row.number.better not in ("higher", "lower"):
        return NO_DIRECTION
    if row.number.scale == RATIO and min(row.before.present + row.after.present) <= 0:
        return "it has values that are not above 0, which have no ratio"
    return ""


def matches(name: str, patterns: Sequence[str]) -> bool:
    return any(
        fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern) for pattern in patterns
    )


def refuse_unmatched(runs: Sequence[RunNumbers], settings: Settings) -> None:
    """BadNumbers where a pattern of --only or --control matches none: "nothing found" would be said of
    nothing."""
    every = [(name, number.judged) for run in runs for name, number in run.numbers.items()]
    names, judged = {name for name, _ in every}, {name for name, is_judged in every if is_judged}
    for option, patterns, among in (
        ("--only", settings.only, judged),
        ("--control", settings.controls, names),
    ):
        for pattern in patterns:
            if among and not any(matches(name, (pattern,)) for name in among):
                raise BadNumbers(
                    "%s '%s' matches none of %s: %s"
                    % (option, clean(pattern)[:60], plural(len(among), "number"), listing(sorted(among), 3))
                )


def chosen(runs: Sequence[RunNumbers], settings: Settings) -> Tuple[List[str], List[str], List[str]]:
    """Names of what is judged, of the controls, and of the others. It depends on what the runs declare, never
    on the values. What no run of either side can measure is not of this machine."""
    numbers: Dict[str, List[Number]] = {}
    for run in runs:
        for name, number in run.numbers.items():
            numbers.setdefault(name, []).append(number)
    judged, controls, others = [], [], []
    for name, found in numbers.items():
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
    """With the change, its interval and its p."""
    if row.invalid:
        return replace(row, p=None)
    before, after = row.scaled
    change, low, high = statistics.shift(before, after, confidence)
    return replace(row, change=change, low=low, high=high, p=statistics.mann_whitney(before, after))


def _is_blind(row: Row, settings: Settings) -> bool:
    """Whether the noise is such that a change within it is no answer; what the user calls little is one."""
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
    """Runs a side with which ranks alone can call one metric among so many changed."""
    return next((n for n in range(2, MAX_REPEATS) if statistics.least_p(n, n) * metrics < rate), MAX_REPEATS)


def _detectable(row: Row, metrics: int, settings: Settings) -> Optional[float]:
    """The least effect that these runs find with 90 %, where no other metric changes: its interval at the
    confidence must lie beyond the least effect, and the one at the confidence of a single test among
    `metrics` beyond 0. Half an interval is taken for 1.96 standard errors."""
    if row.low is None or row.high is None:
        return None
    _, low, high = statistics.shift(*row.scaled, 1 - settings.rate / metrics)
    if low is None or high is None:
        return None
    half, strict = (row.high - row.low) / 2, (high - low) / 2
    found = max(row.threshold + half, strict) + few.POWER_Z / _CONFIDENCE_Z * half
    return math.expm1(min(found, MAX_LOG)) if row.number.scale == RATIO else found


def _repeats(row: Row, metrics: int, settings: Settings) -> Optional[int]:
    """So many a side would decide, if the change and the spread stay: the interval narrows with the root of
    the number."""
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
    """Why a metric is not judged as better, worse or equivalent."""
    if row.reason:
        return row.reason
    if row.verdict == INVALID:
        return row.invalid
    if row.verdict != INCONCLUSIVE:
        return ""
    if row.low is None or row.high is None:
        runs = (len(row.before.present), len(row.after.present))
        return "%d and %s give no interval" % (runs[0], plural(runs[1], "run"))
    limit = row.threshold
    if row.low > limit or row.high < -limit:
        return "the interval is beyond the least effect, but among so many metrics this may be chance"
    if _is_blind(row, settings):
        return "by the noise floor equal sides differ by so much that only a larger change would be seen"
    if row.low > 0 or row.high < 0:
        return "it changed, but perhaps by less than matters"
    return "the interval reaches beyond the least effect that matters, and does not exclude 0"


def _by_ranks(rows: Sequence[Row], settings: Settings) -> List[Row]:
    found = [measured(row, settings.confidence) for row in rows]
    ps = statistics.adjusted([1.0 if row.p is None else row.p for row in found])
    result = []
    for row, adjusted in zip(found, ps):
        row = replace(row, adjusted=None if row.p is None else adjusted)
        row = replace(row, verdict=_verdict(row, settings))
        if row.verdict == INCONCLUSIVE:
            row = replace(row, repeats=_repeats(row, len(rows), settings))
        if not row.invalid:
            row = replace(row, detectable=_detectable(row, len(rows), settings))
        result.append(row)
    return result


def judged(rows: Sequence[Row], settings: Settings) -> List[Row]:
    """The rows with their verdicts. An invalid one counts as a test that found nothing, so that no p depends
    on what is valid."""
    judge = _by_t if rows and rows[0].is_few else _by_ranks
    return [replace(row, reason=_reason(row, settings)) for row in judge(rows, settings)]


# ------------------------------------------------------------------ few runs


def _metric(row: Row, known: Optional[Known]) -> few.Metric:
    """What single runs know of themselves counts only where nothing else tells how much runs differ. Where
    values are missing the others count in the evidence, or it would depend on which run is dealt where."""
    if row.invalid and not row.invalid.startswith(_TOO_FEW):
        return few.Metric((), ())
    before, after = row.places
    single = len(row.before.present) == len(row.after.present) == 1
    variance = known.variance if known else pooled(row.tries) if single else few.NOTHING
    return few.Metric(before, after, variance, known.levels if known else None, row.threshold)


def _certain(settings: Settings, before: int, after: int) -> bool:
    """Whether dealing the runs out can tell a change from chance: there are enough ways, and enough runs on a
    side for a drift to be seen, which no dealing knows of."""
    drifts = min(before, after) >= few.SEES_DRIFT or max(before, after) >= few.KNOWS_LEVELS
    return drifts and few.deals(before, after) * settings.rate >= 1


def tells(settings: Settings, before: int, after: int) -> bool:
    """Whether anything tells a change from chance well enough to call it likely."""
    of_noise = settings.chance_evidence_of(min(before, after)) is not None
    return of_noise or few.deals(before, after) * MOST_CHANCE >= 1


def decides(settings: Settings, before: int, after: int) -> bool:
    """Whether dealing or the noise file can call one metric alone changed."""
    fewer = min(before, after)
    equal = max((one.variance.degrees + 1 for one in settings.known.values()), default=0.0)
    of_noise = settings.chance_evidence_of(fewer) is not None
    return of_noise and equal >= few.least_known(fewer, settings.rate) or _certain(settings, before, after)


def least_runs(
    before: int, after: int, settings: Settings, enough: Callable[[Settings, int, int], bool] = decides
) -> int:
    """Of the side that has fewer, with which `enough` holds."""
    more = max(before, after)
    return next(n for n in range(1, MAX_REPEATS) if enough(settings, max(n, more), n))


def _few_detectable(row: Row, one: few.Found, metrics: int, settings: Settings) -> float:
    """The change of which 9 of 10 are beyond the least effect and have a p small enough for a single test
    among `metrics`."""
    strict = one.half(1 - settings.rate / metrics)
    found = max(row.threshold, strict) + few.POWER_Z * one.error
    return math.expm1(min(found, MAX_LOG)) if row.number.scale == RATIO else found


def _few_repeats(row: Row, settings: Settings) -> Optional[int]:
    """So many runs of the side that has fewer would decide, if the change and the spread stay."""
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


@dataclass(frozen=True)
class _Judge:
    """What all runs together say: whether equal sides give as much evidence in one of 20 comparisons at most,
    None where nothing tells; from how many equal runs of a noise file, 0 where from these runs, dealt out
    otherwise; and the chance of as much, where dealing tells it."""

    is_rare: Optional[bool] = None
    least_known: int = 0
    chance: Optional[float] = None


def _judge(metrics: Sequence[few.Metric], before: int, after: int, settings: Settings) -> _Judge:
    by_deals = few.deals(before, after) * MOST_CHANCE >= 1
    own = few.evidence(metrics)
    chance = few.chance_of(own, few.dealt_evidence(metrics, before, after)) if by_deals else None
    if chance is not None and _certain(settings, before, after):
        return _Judge(chance <= settings.rate, 0, chance)
    usual = settings.chance_evidence_of(min(before, after))
    least_known = few.least_known(min(before, after), settings.rate)
    is_rare = None if usual is None else own > usual and (chance is None or chance <= MOST_CHANCE)
    return _Judge(is_rare, least_known, chance)


def _is_certain(row: Row, judge: _Judge) -> bool:
    known = row.known.variance.degrees + 1 if row.known else 0.0
    return bool(judge.is_rare) and known >= judge.least_known


def _few_reason(row: Row, judge: _Judge, settings: Settings) -> str:
    """Why a change beyond the least effect is none."""
    if row.levels:
        return "its equal runs come in two levels; %d runs a side can tell" % few.EXACT
    if row.number.scale == RATIO and row.deviation is not None and row.deviation > MOST_NOISE:
        return "cannot be judged here by so few runs: equal ones differ by %s" % percent(
            math.expm1(min(row.deviation, MAX_LOG))
        )
    if judge.is_rare is False and judge.least_known:
        return "equal runs of the noise file give as much evidence of a change, or drift"
    if judge.chance is not None and judge.chance > MOST_CHANCE:
        return "dealt out to two sides otherwise, these runs differ as much in %s of all ways" % percent(
            judge.chance
        )
    told = tells(settings, len(row.before.values), len(row.after.values))
    return "" if told else "so few runs cannot exclude chance"


def _few_verdict(row: Row, judge: _Judge, settings: Settings) -> Row:
    limit = row.threshold
    if row.invalid or row.low is None or row.high is None or row.change is None:
        return replace(row, verdict=INVALID if row.invalid else INCONCLUSIVE)
    said = _few_reason(row, judge, settings)
    if -limit <= row.low and row.high <= limit:
        thin = "so few runs do not tell how much equal ones differ"
        return replace(row, verdict=INCONCLUSIVE if row.is_thin else EQUIVALENT, reason=thin * row.is_thin)
    if abs(row.change) <= limit or row.adjusted is None or row.adjusted >= settings.rate:
        return replace(row, verdict=INCONCLUSIVE, reason=said * bool(row.levels or abs(row.change) > limit))
    is_certain = _is_certain(row, judge)
    if row.levels or said and not is_certain:
        return replace(row, verdict=INCONCLUSIVE, reason=said)
    words = (REGRESS, IMPROVE) if is_certain else LIKELY
    return replace(row, verdict=words[0] if row.is_worse else words[1])


def _tested(rows: Sequence[Row], metrics: Sequence[few.Metric], settings: Settings) -> List[Row]:
    """With change, interval and p."""
    result = []
    for row, metric, one in zip(rows, metrics, few.tested(metrics)):
        known = settings.known.get(row.name)
        row = replace(row, known=known, levels=few.levels_of(metric))
        if row.invalid or one is None:
            change = None if row.invalid else few.change_of(metric)
            result.append(replace(row, change=change, p=None if row.invalid else 1.0))
            continue
        half = one.half(settings.confidence)
        row = replace(row, change=one.change, low=one.change - half, high=one.change + half, p=one.p)
        row = replace(row, deviation=one.deviation)
        result.append(replace(row, detectable=_few_detectable(row, one, len(rows), settings)))
    return result


def _by_t(rows: Sequence[Row], settings: Settings) -> List[Row]:
    metrics = [_metric(row, settings.known.get(row.name)) for row in rows]
    found = _tested(rows, metrics, settings)
    counted = [1.0 if row.p is None or row.levels else row.p for row in found]
    adjusted = statistics.adjusted(counted)
    runs = len(rows[0].before.values), len(rows[0].after.values)
    open_ones = any(p < settings.rate for p in adjusted)
    judge = _judge(metrics, *runs, settings) if open_ones else _Judge()
    result = []
    for row, p in zip(found, adjusted):
        row = replace(row, adjusted=None if row.p is None else p)
        row = _few_verdict(row, judge, settings)
        if row.verdict in (INCONCLUSIVE, *LIKELY):
            row = replace(row, repeats=_few_repeats(row, settings))
        result.append(row)
    return result


def rows_of(
    before: Sequence[RunNumbers],
    after: Sequence[RunNumbers],
    names: Sequence[str],
    settings: Settings,
    needs_direction: bool = True,
) -> List[Row]:
    """Values of both sides, and why they cannot be compared; a description does without a direction."""
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


def described(
    before: Sequence[RunNumbers],
    after: Sequence[RunNumbers],
    names: Sequence[str],
    settings: Settings,
    most: int,
) -> List[Row]:
    """The others, by effect, the largest first, without a verdict. Those that cannot be compared come
    last."""

    def effect(row: Row) -> float:
        if row.invalid:
            return -1.0
        then, now = row.scaled
        return abs(statistics.quantile(now, 0.5) - statistics.quantile(then, 0.5))

    ordered = sorted(rows_of(before, after, names, settings, False), key=lambda row: -effect(row))[:most]
    return [replace(measured(row, settings.confidence), reason=row.invalid) for row in ordered]
