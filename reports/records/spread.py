# SPDX-License-Identifier: BSD-3-Clause
"""The spread of a headline number between runs of the same machine.

Samples of one process share its memory layout and its minute, so the interval of their median says little
about another run. The tries of a number are processes of their own, over the time of a run, and its value is
their median: how much they differ tells what another such median would differ by. Few tries tell that
roughly, so the variance of each number is drawn towards those of its family, as far as these are alike
(moderated.py). Families are the groups of the page (groups.py), as memory, links and starting work move very
differently. What moves between runs and not within one is not in it, so of numbers that come in
levels it holds fewer than it says (docs/reproduction/verdict.md has counts).
"""

from __future__ import annotations

import math
from statistics import median
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from reports.records.groups import group_of
from reports.records.jsonl import Json
from reports.records.moderated import Variance, moderated, prior_of, variance_of
from reports.records.quantity import percent
from reports.records.student import quantile

LEAST = 8  # headline numbers with several tries, before a spread is stated
_FAMILY = 4  # so many of a group are a family of their own
ASSUMED = "assumed from others"
_MUCH = 2.0  # times as wide
_REPEATS = 1e-3  # of the value: in virtual time, a narrower interval is rounding
_EARLIER = 4.0
_OF_MEDIANS = (1.0, 0.5, 0.449, 0.298, 0.287, 0.215)  # variances, of 1, 2, ... normal values
_LEAST_HALF = 0.0005  # of the value: narrower ones are rounding, or of few samples
_BETWEEN = 1.15  # an allowance for what moves between runs and not within one
_OF_IDEAL = ("of_ideal", "overlap_efficiency")  # fractions that may be 0 or less, which have no ratio


class Tried(NamedTuple):
    """A headline number: its unit, the values of the tries that count, and half the width of the interval of
    their samples, relative, at the median of the tries; None where that is not known."""

    unit: str
    values: Sequence[float]
    half: Optional[float] = None


def variance_of_median(count: int) -> float:
    """The variance of the median of so many normal values of variance 1; of more than six within 3 % if their
    number is odd, and up to 10 % too large if it is even."""
    if count <= len(_OF_MEDIANS):
        return _OF_MEDIANS[count - 1]
    return math.pi / (2 * (count + math.pi / 2 - 1))


def is_difference(name: str, unit: str) -> bool:
    """True if changes of a number are differences, not ratios."""
    return any(words in name.partition("{")[0] for words in _OF_IDEAL) and not unit


def _family(name: str, unit: str) -> str:
    return "difference" if is_difference(name, unit) else group_of(name)


def own_variance(name: str, tried: Tried) -> Variance:
    """The variance of the logarithms, or of the values if changes are differences. No degrees if there is one
    value, or one that has no logarithm."""
    if is_difference(name, tried.unit):
        return variance_of(tried.values)
    if not tried.values or min(tried.values) <= 0:
        return Variance(0.0, 0.0)
    return variance_of([math.log(v) for v in tried.values])


def _scale_of(name: str, tried: Tried, half: Optional[float]) -> float:
    """The factor of the variance of a number to that of one whose samples have this half width: if samples
    scatter, tries do, too, though less than in proportion, about as the root."""
    if half is None or tried.half is None or is_difference(name, tried.unit):
        return 1.0
    return max(tried.half, _LEAST_HALF) / half


def _prior(found: Sequence[Variance]) -> Optional[Json]:
    prior = prior_of(found)
    if prior is None:
        return None
    metrics = sum(one.degrees > 0 for one in found)
    return {"relative": math.sqrt(prior.variance), "degrees": prior.degrees, "metrics": metrics}


def spread_of(tries: Mapping[str, Tried]) -> Optional[Json]:
    """The spread of numbers from process to process: `relative` standard deviation, for how many `degrees` of
    freedom it counts for a number, of so many `metrics`; the same of each family that is large enough. It is
    that of a number whose samples have an interval of +- `half`, the median, if that is known. None of few
    numbers."""
    halves = [max(tried.half, _LEAST_HALF) for tried in tries.values() if tried.half is not None]
    half = median(halves) if halves else None
    families: Dict[str, List[Variance]] = {}
    for name, tried in tries.items():
        own = own_variance(name, tried)
        family = families.setdefault(_family(name, tried.unit), [])
        family.append(own._replace(variance=own.variance / _scale_of(name, tried, half)))
    differences = families.pop("difference", [])
    known = _prior([one for own in families.values() for one in own])
    if known is None or known["metrics"] < LEAST:
        return None
    families["difference"] = differences
    of = {
        family: _prior(own) for family, own in families.items() if sum(v.degrees > 0 for v in own) >= _FAMILY
    }
    return dict(known, half=half, families={family: prior for family, prior in sorted(of.items()) if prior})


def variance_for(name: str, tried: Tried, spread: Optional[Json]) -> Variance:
    """The variance of a number with such tries. Differences have no family but their own."""
    own, family = own_variance(name, tried), _family(name, tried.unit)
    prior = (spread or {}).get("families", {}).get(family, None if family == "difference" else spread)
    if not prior:
        return own
    scale = _scale_of(name, tried, (spread or {}).get("half"))
    return moderated(own, Variance(prior["relative"] ** 2 * scale, prior["degrees"]))


def moved(name: str, unit: str, value: float, by: float) -> float:
    """The value after a change on the scale of its variance."""
    return value + by if is_difference(name, unit) else value * math.exp(max(-700.0, min(by, 700.0)))


def of_another_run(name: str, value: float, tried: Tried, spread: Optional[Json]) -> Optional[Json]:
    """The 95 % interval of another run's value, and its degrees of freedom. Two medians differ by twice the
    variance of one. None if nothing is known."""
    variance, degrees = variance_for(name, tried, spread)
    if not degrees:
        return None
    of_median = variance_of_median(max(1, len(tried.values)))
    half = quantile(0.95, degrees) * math.sqrt(2 * _BETWEEN * variance * of_median)
    ends = sorted(moved(name, tried.unit, value, by) for by in (-half, half))
    return {"run_low": ends[0], "run_high": ends[1], "run_degrees": degrees}


def add_run_intervals(entries: Dict[str, Json], tries: Mapping[str, Tried]) -> Optional[Json]:
    """Give each headline number the interval of another run where there is a spread, and return that."""
    spread = spread_of(tries)
    for name, entry in entries.items() if spread else ():
        entry.update(of_another_run(name, entry["value"], tries[name], spread) or {})
    return spread


def complete(signature: Json) -> None:
    """Add what files of before version 3.4 lack: there the spread of all numbers counted for four degrees."""
    spread, metrics = signature.get("run_spread"), signature.get("metrics")
    if isinstance(spread, dict):
        spread.setdefault("degrees", _EARLIER)
        spread.setdefault("families", {})
        spread.setdefault("half", None)
    for entry in metrics.values() if isinstance(metrics, dict) else ():
        if isinstance(entry, dict) and "run_low" in entry:
            entry.setdefault("run_degrees", _EARLIER + 1)


def deviation_of(entry: Json, name: str) -> Optional[Variance]:
    """The variance of a run's value, back from the interval in a signature; None if it has none, or one that
    reaches 0, as in files of before version 3.4, and so has no logarithms."""
    if "run_degrees" not in entry:
        return None
    low, high = entry["run_low"], entry["run_high"]
    if not is_difference(name, entry["unit"]) and low * high <= 0:
        return None
    width = high - low if is_difference(name, entry["unit"]) else abs(math.log(high / low))
    return Variance((width / 2 / quantile(0.95, entry["run_degrees"])) ** 2 / 2, entry["run_degrees"])


def shown_interval(entry: Json) -> Tuple[Optional[float], Optional[float]]:
    """The interval that page and terminal show of a headline number: what another run would give, where that
    is known."""
    return entry.get("run_low", entry["ci_low"]), entry.get("run_high", entry["ci_high"])


def told(low: Optional[float], high: Optional[float], value: float, virtual: bool) -> bool:
    """True if an interval says anything: times of a model repeat, so that no width is no certainty."""
    return not virtual or low is None or high is None or high - low > _REPEATS * abs(value)


def told_interval(entry: Json, virtual: bool) -> Tuple[Optional[float], Optional[float]]:
    """The shown interval of a headline number, if it says anything."""
    low, high = shown_interval(entry)
    return (low, high) if told(low, high, entry["value"], virtual) else (None, None)


def source_of(entry: Json) -> str:
    """The source of the width of another run's interval, "its 3 tries"; empty if there is none."""
    if "run_low" not in entry:
        return ""
    tries = entry.get("tries", 1)
    return "its %d tries" % tries if tries > 1 else ASSUMED


def differs_much(entry: Json) -> bool:
    """True if the number is known much better, or worse, than another run would repeat it."""
    own = (entry["ci_low"], entry["ci_high"])
    if "run_low" not in entry or None in own:
        return False
    widths = sorted((own[1] - own[0], entry["run_high"] - entry["run_low"]))
    return widths[1] > _MUCH * widths[0]


def sentence_of(spread: Optional[Json]) -> str:
    """A sentence on the intervals of the headline numbers."""
    if not spread:
        return "95 % confidence interval of the median; no distribution assumed."
    return (
        "95 %% interval of what another run of this machine would give, from the spread of the tries of a "
        "number and of others of its group (standard deviation between tries %s, %.1f degrees of freedom). "
        "It should contain 95 %% of other runs; about 90 %% if numbers come in levels."
    ) % (percent(spread["relative"]), spread["degrees"])
