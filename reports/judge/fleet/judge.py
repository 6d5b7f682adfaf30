# SPDX-License-Identifier: BSD-3-Clause
"""Outliers among the nodes of one kind, by how much and in what. docs/method/verdicts.md, "A fleet".

A node gives one value a metric, the median of its runs. It is held against all other nodes (outliers.py): its
distance in logarithms, or as a difference where a metric has no ratio; in units of the spread of the others;
and how rare that is. It is an outlier where Benjamini and Hochberg's test over the nodes calls it at the
rate, and in that metric by more than the least effect. Worse and better are two families, so that unusually
fast nodes take nothing from the search for slow ones. Numbers that move together are judged as one, too
(families.py), at a rate of their own: half of the rate is for single metrics, as each test has two sides of
which one counts, and half for families.

That a node is not called an outlier says nothing where it could not have been: it is known to be like the
others in a metric only if it is worse by no more than verdict.MOST_HIDDEN at the upper end of its interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from statistics import median
from typing import Callable, Mapping, NamedTuple, Sequence

from reports.judge.compare import verdict
from reports.judge.compare.numbers import RATIO, Number, RunNumbers, first_of
from reports.judge.compare.verdict import MOST_HIDDEN, MOST_MISSING, MOST_UNEQUAL, Settings, most_hidden
from reports.judge.fleet import clusters, families, outliers
from reports.judge.fleet.families import Family, FamilyCall, Standing
from reports.judge.fleet.nodes import Node
from reports.records.quantity import percent, plural

MIN_NODES = outliers.MIN_OTHERS + 1
_LEAST_SPREAD = 1 / 20  # of the least effect; numbers with few digits, or of simulated devices, have none
_BEYOND = 0.005  # the probability that a node is worse by more than its bound
_Z = 1.9600  # half a 95 % interval in standard errors
_POWER_Z = 1.2816  # 90 %
_MEDIAN_ERROR = 1.2533  # of a median against a mean, for normal values


class Missing(Enum):
    """The reason for which a node has no value."""

    FAILED = "it was tried, and what came is none"
    NEUTRAL = "no case ran that would have given it, or nothing is there to be measured"
    ABSENT = "the node cannot have it, or was not asked for it"


class Cell(NamedTuple):
    """One metric of one node. `loss`: how much worse it is than the others, on the scale of logarithms or
    differences."""

    value: float | None
    reason: str = ""  # why it is not judged; empty where it is
    loss: float = 0.0
    z: float = 0.0
    p: float = 1.0  # two-sided; 1 where it deviates by no more than the least effect
    centre: float = 0.0  # of the others
    missing: Missing | None = None  # there is no value, good or bad


class Call(NamedTuple):
    """A metric in which a node is an outlier."""

    metric: int  # its place among the metrics of the kind
    cell: Cell
    adjusted: float


@dataclass
class Metric:
    name: str
    number: Number
    effect: float  # the least that matters, relative or in the unit
    cells: list[Cell] = field(default_factory=list)
    reason: str = ""  # why it is judged on no node
    centre: float | None = None
    spread: float | None = None  # on the scale of the loss, as a standard deviation
    finds: float | None = None  # the least effect that 9 of 10 nodes are called for, if all else is usual
    # by node that is no outlier, by how much it may be worse than the others, and better, as losses
    bounds: dict[int, float] = field(default_factory=dict)
    leads: dict[int, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(cell.value is not None for cell in self.cells)

    @property
    def threshold(self) -> float:
        return self.scaled(self.effect)

    @property
    def bound(self) -> float | None:
        """The largest, as an effect."""
        return self.effect_of(max(self.bounds.values(), default=math.inf))

    def scaled(self, effect: float) -> float:
        return math.log1p(effect) if self.number.scale == RATIO else effect

    def effect_of(self, loss: float) -> float | None:
        """The inverse of scaled(); None where it is beyond any number."""
        if self.number.scale != RATIO:
            return loss if loss < math.inf else None
        return math.expm1(loss) if loss < verdict.MAX_LOG else None


@dataclass(frozen=True)
class Groups:
    """Nodes that are slower than all others of their kind in some metrics. `metrics`: the place of each, and
    how much worse the median of the slower ones is."""

    slow: tuple[int, ...]
    metrics: list[tuple[int, float]]


@dataclass
class Kind:
    """Nodes that should be alike."""

    name: str
    nodes: list[Node]
    metrics: list[Metric] = field(default_factory=list)
    reason: str = ""  # why none is judged
    # place of an outlier -> the single metrics in which it is one; none where only families are
    slow: dict[int, list[Call]] = field(default_factory=dict)
    fast: dict[int, list[Call]] = field(default_factory=dict)
    families: list[Family] = field(default_factory=list)
    slow_families: dict[int, list[FamilyCall]] = field(default_factory=dict)
    fast_families: dict[int, list[FamilyCall]] = field(default_factory=dict)
    p_worse: list[float] = field(default_factory=list)  # of every node, adjusted over all
    groups: list[Groups] = field(default_factory=list)  # those of most metrics first
    most_hidden: float = MOST_HIDDEN

    @property
    def names(self) -> list[str]:
        return [metric.name for metric in self.metrics]

    def lacks(self, place: int) -> list[tuple[Metric, str]]:
        """The metrics of which this node has no value, or none that can be judged, though it should: what was
        tried and failed, even where it failed on all; what is missing for a reason that is no sign of a bad
        machine, where half have it; and what the node cannot have or was not asked for, or what too few have
        for a verdict, where most have it."""
        found = []
        for metric in self.metrics:
            cell, have = metric.cells[place], sum(cell.missing is None for cell in metric.cells)
            reason = cell.reason or metric.reason
            if not reason or have and metric.number.better not in ("higher", "lower"):
                continue
            half, most = len(self.nodes) / 2, (len(self.nodes) + 1) / 2
            needed = {Missing.FAILED: 0, Missing.NEUTRAL: half, Missing.ABSENT: most, None: most}
            if have >= needed[cell.missing] or cell.reason and cell.missing is None:
                found.append((metric, reason))
        return found

    def hidden(self, place: int) -> list[tuple[Metric, float]]:
        """The metrics in which this node may be worse by more than may be hidden, and by how much, as a loss;
        the worst first."""
        return self._beyond([(metric, metric.bounds.get(place, 0.0)) for metric in self.metrics])

    def ahead(self, place: int) -> list[tuple[Metric, float]]:
        """As hidden(), in which it may be better; then the others may be the outliers."""
        return self._beyond([(metric, metric.leads.get(place, 0.0)) for metric in self.metrics])

    def _beyond(self, found: Sequence[tuple[Metric, float]]) -> list[tuple[Metric, float]]:
        return sorted(
            ((metric, loss) for metric, loss in found if loss > metric.scaled(self.most_hidden)),
            key=lambda one: -one[1],
        )


# ------------------------------------------------------------------ values


class _Value(NamedTuple):
    value: float | None
    reason: str
    error: float = 0.0  # standard error, on the scale of the loss
    contended: float = 0.0  # share of the runs
    missing: Missing | None = None


def _relative(number: Number, runs: Sequence[RunNumbers], present: Sequence[float]) -> float:
    """The standard error of a node's value: from run to run where it has several, else from its only run's
    interval."""
    scaled = [math.log(v) for v in present] if number.scale == RATIO else list(present)
    if len(scaled) > 1:
        mean = sum(scaled) / len(scaled)
        spread = math.sqrt(sum((v - mean) ** 2 for v in scaled) / (len(scaled) - 1))
        return _MEDIAN_ERROR * spread / math.sqrt(len(scaled))
    low, high = number.low, number.high
    if low is None or high is None or high <= low:
        return 0.0
    if number.scale != RATIO:
        return (high - low) / 2 / _Z
    return math.log(high / low) / 2 / _Z if low > 0 else math.inf


def _missing(node: Node, name: str) -> Missing:
    """The worst of its runs."""
    numbers = [run.numbers.get(name) for run in node.runs]
    lost = [number for number in numbers if number is not None and number.value is None]
    if any(not number.unavailable and not number.neutral for number in lost):
        return Missing.FAILED
    return Missing.NEUTRAL if any(number.neutral for number in lost) else Missing.ABSENT


def _value_of(node: Node, name: str, like: Number) -> _Value:
    found = verdict.values_of(node.runs, name)
    present, runs = found.present, len(node.runs)
    reasons = [reason for reason in found.reasons if reason]
    if not present:
        return _Value(None, reasons[0] if reasons else "no value", missing=_missing(node, name))
    if runs - len(present) > MOST_MISSING * runs:
        reason = "%d of %s: %s" % (len(present), plural(runs, "value"), reasons[0])
        return _Value(None, reason, missing=_missing(node, name))
    number = verdict.number_of(node.runs, name)
    why = verdict.differs(node.runs, name)
    if why:
        pass
    elif (number.unit, number.better) != (like.unit, like.better):
        why = "it is in %s, those of the others in %s" % (number.unit or "no unit", like.unit or "no unit")
    elif number.case != like.case:
        why = "it is of another case: %s, and of the others %s" % (number.case, like.case)
    elif like.scale == RATIO and min(present) <= 0:
        why = "%g is not above 0, so it has no ratio" % min(present)
    if why:
        return _Value(None, why)
    return _Value(median(present), "", _relative(number, node.runs, present), found.contended / len(present))


def _uncontended(values: Sequence[_Value]) -> list[_Value]:
    """Neighbours are not compared: what is contended on a node and on few others is no value of it."""
    shares = [v.contended for v in values if v.value is not None]
    usual = median(shares) if shares else 0.0
    why = "others used the machine during %s of its values, of most nodes during %s"
    return [
        v
        if v.value is None or abs(v.contended - usual) <= MOST_UNEQUAL
        else _Value(None, why % (percent(v.contended), percent(usual)))
        for v in values
    ]


def _most_common(nodes: Sequence[Node], name: str) -> Number:
    """Unit, direction and case of most nodes that have it."""
    found: dict[tuple[str, str | None, str], list[Number]] = {}
    for node in nodes:
        own = [run.numbers[name] for run in node.runs if name in run.numbers]
        for number in [n for n in own if n.value is not None][:1]:
            found.setdefault((number.unit, number.better, number.case), []).append(number)
    if not found:
        return verdict.number_of([run for node in nodes for run in node.runs], name)
    return first_of(max(found.values(), key=len))


# ------------------------------------------------------------------ one metric


def _scale(number: Number) -> Callable[[float], float]:
    """A value as a loss: larger is worse."""
    sign = -1.0 if number.better == "higher" else 1.0
    return (lambda v: sign * math.log(v)) if number.scale == RATIO else (lambda v: sign * v)


def unscaled(number: Number, loss: float) -> float:
    """The value that has this loss."""
    signed = -loss if number.better == "higher" else loss
    if number.scale != RATIO:
        return signed
    return math.exp(max(-verdict.MAX_LOG, min(signed, verdict.MAX_LOG)))


def _judge_metric(metric: Metric, values: Sequence[_Value]) -> None:
    metric.cells = [Cell(v.value, v.reason, missing=v.missing) for v in values]
    places = [place for place, v in enumerate(values) if v.value is not None]
    if not places:
        metric.reason = "no node has a value"
    elif len(places) < MIN_NODES:
        have = plural(len(places), "node has", "nodes have")
        metric.reason = "%s a value, and %d are needed" % (have, MIN_NODES)
    elif metric.number.better not in ("higher", "lower"):
        metric.reason = verdict.NO_DIRECTION
    if metric.reason:
        return
    losses = _losses(metric, places)
    least = _LEAST_SPREAD * metric.threshold
    for place, own, others in zip(places, losses, outliers.others_of(losses)):
        distance = own - others.centre
        z = distance / max(others.spread, values[place].error, least)
        p = min(1.0, 2 * outliers.tail(abs(z), others.count)) if abs(distance) > metric.threshold else 1.0
        centre = unscaled(metric.number, others.centre)
        metric.cells[place] = Cell(values[place].value, "", distance, z, p, centre)
    metric.centre = unscaled(metric.number, median(losses))
    metric.spread = outliers.spread_of(losses)


def _losses(metric: Metric, places: Sequence[int]) -> list[float]:
    loss = _scale(metric.number)
    return [loss(metric.cells[place].value or 0.0) for place in places]


def _set_bounds(metric: Metric, values: Sequence[_Value], off: Mapping[int, object]) -> None:
    """Set the bounds of nodes that are no outliers, among one another; infinite where too few are left."""
    places = [place for place, v in enumerate(values) if v.value is not None and place not in off]
    if len(places) < MIN_NODES:
        metric.bounds = metric.leads = dict.fromkeys(places, math.inf)
        return
    losses = _losses(metric, places)
    sure, least = outliers.critical(_BEYOND, len(places) - 1), _LEAST_SPREAD * metric.threshold
    for place, own, others in zip(places, losses, outliers.others_of(losses)):
        margin = sure * max(others.spread, values[place].error, least)
        metric.bounds[place] = own - others.centre + margin
        metric.leads[place] = others.centre - own + margin


def _groups(kind: Kind, judged: Sequence[Metric], rate: float) -> list[Groups]:
    """Groups of slower nodes, unless all of these are called outliers anyway."""
    found: dict[tuple[int, ...], list[tuple[int, float]]] = {}
    for at, metric in enumerate(kind.metrics):
        if metric.reason:
            continue
        places = [place for place, cell in enumerate(metric.cells) if cell.value is not None]
        least = _LEAST_SPREAD * metric.threshold
        cut = clusters.cut_of(_losses(metric, places), metric.threshold, least, rate / len(judged))
        slow = tuple(places[one] for one in cut.above) if cut else ()
        if cut and not set(slow) <= kind.slow.keys():
            found.setdefault(slow, []).append((at, cut.distance))
    return sorted((Groups(*one) for one in found.items()), key=lambda own: -len(own.metrics))


def _finds(metric: Metric, tests: int, rate: float) -> float | None:
    """For a lone metric of a lone node."""
    if metric.spread is None:
        return None
    spread = max(metric.spread, _LEAST_SPREAD * metric.threshold)
    limit = outliers.critical(rate / 2 / tests, metric.count - 1) * spread
    return metric.effect_of(max(limit, metric.threshold) + _POWER_Z * metric.spread)


# ------------------------------------------------------------------ all of them


def _families(kind: Kind, values_of: Sequence[Sequence[_Value]]) -> list[Family]:
    """Families of the metrics that are judged."""
    named = [("" if m.reason else m.name, m.number.unit, m.number.better) for m in kind.metrics]
    found = families.families_of(named)
    for family in found:
        members = []
        for at in family.metrics:
            metric, values = kind.metrics[at], values_of[at]
            places = [place for place, v in enumerate(values) if v.value is not None]
            losses = _losses(metric, places)
            middle, least = median(losses), _LEAST_SPREAD * metric.threshold
            members.append(
                families.Member(
                    {place: loss - middle for place, loss in zip(places, losses)},
                    {place: values[place].error for place in places},
                    max(metric.spread or 0.0, least),
                    metric.threshold,
                )
            )
        families.judge(family, members, _LEAST_SPREAD, MIN_NODES)
    return [family for family in found if family.nodes]


def _p_of(cell: Cell, worse: bool) -> float:
    return cell.p if (cell.loss > 0) == worse and not cell.reason else 1.0


def _p_of_family(standing: Standing | None, worse: bool) -> float:
    return standing.p if standing is not None and (standing.loss > 0) == worse else 1.0


def _calls(
    kind: Kind, rate: float, worse: bool
) -> tuple[list[float], dict[int, list[Call]], dict[int, list[FamilyCall]]]:
    """The adjusted p of every node, and the metrics and families in which it is an outlier. A deviation that
    does not matter counts as a test that found nothing, and so does a missing value."""
    places = range(len(kind.nodes))
    singles = [
        [1.0 if metric.reason else _p_of(metric.cells[place], worse) for metric in kind.metrics]
        for place in places
    ]
    together = [
        [_p_of_family(family.nodes.get(place), worse) for family in kind.families] for place in places
    ]
    of_nodes, (of_metrics, of_families) = outliers.selected([singles, together], rate)
    calls: dict[int, list[Call]] = {}
    family_calls: dict[int, list[FamilyCall]] = {}
    for place in places:
        if of_nodes[place] > rate:
            continue
        own = [Call(at, kind.metrics[at].cells[place], p) for at, p in enumerate(of_metrics[place])]
        calls[place] = sorted(
            (call for call in own if call.adjusted <= rate), key=lambda call: -abs(call.cell.z)
        )
        found = zip(kind.families, of_families[place])
        family_calls[place] = [FamilyCall(family, family.nodes[place], p) for family, p in found if p <= rate]
    return of_nodes, calls, family_calls


def judge(name: str, nodes: list[Node], settings: Settings) -> Kind:
    """Nodes of one kind."""
    kind = Kind(name, nodes, most_hidden=most_hidden(settings.least_effect))
    runs = [run for node in nodes for run in node.runs]
    names = verdict.chosen(runs, settings)[0]
    values_of: list[list[_Value]] = []
    for metric_name in names:
        metric = Metric(metric_name, _most_common(nodes, metric_name), settings.effect_of(metric_name))
        values = _uncontended([_value_of(node, metric_name, metric.number) for node in nodes])
        _judge_metric(metric, values)
        kind.metrics.append(metric)
        values_of.append(values)
    judged = [metric for metric in kind.metrics if not metric.reason]
    if len(nodes) < MIN_NODES:
        few = plural(len(nodes), "node is", "nodes are")
        kind.reason = "%s too few to tell an outlier: %d are needed" % (few, MIN_NODES)
    elif not kind.metrics:
        kind.reason = "there is no headline number"
    elif not judged:
        kind.reason = "no headline number has a value on %d nodes" % MIN_NODES
    if kind.reason:
        return kind
    for metric in judged:
        metric.finds = _finds(metric, len(nodes) * len(kind.metrics), settings.rate)
    kind.families = _families(kind, values_of)
    kind.p_worse, kind.slow, kind.slow_families = _calls(kind, settings.rate, True)
    _, kind.fast, kind.fast_families = _calls(kind, settings.rate, False)
    off = {*kind.slow, *kind.fast}
    for family in kind.families:
        families.set_finds(family, off, len(nodes) * len(kind.families), settings.rate)
    for metric, values in zip(kind.metrics, values_of):
        if not metric.reason:
            _set_bounds(metric, values, kind.slow)
    kind.groups = _groups(kind, judged, settings.rate)
    return kind


def kinds_of(nodes: Sequence[Node], settings: Settings) -> list[Kind]:
    """The largest first."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        if node.runs:
            found.setdefault(node.kind, []).append(node)
    return [
        judge(name, own, settings)
        for name, own in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
