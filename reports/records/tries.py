# SPDX-License-Identifier: BSD-3-Clause
"""One value from several tries of the same case, by one rule that was fixed beforehand
(docs/method/statistics.md, "Repeats").

Which tries count is decided by their flags and grades, never by their values: otherwise a measurement would
be repeated until it pleases.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from statistics import median
from typing import Dict, List, Optional, Sequence, Tuple

from reports.records.causes import CONTENDED, NOISY, WRONG_RESULT
from reports.records.curves import cause_of, flags_concerning, why_graded, why_invalid
from reports.records.placement import is_at
from reports.records.quantity import digits, scale_of
from reports.records.records import Case, Derived, Flag

SAME = 0.1  # of the larger value; between single runs on a shared machine smaller differences mean nothing
MOST = 50  # of one case, the latest; a run makes four, and the time to compare them grows with the square
_BEST_FIRST = ("", NOISY, CONTENDED)
_MEDIAN_HOLDS = 3  # a median of so many is not moved far by one that is noisy


@dataclass(frozen=True)
class Try:
    """One measurement of a value. `why_invalid`: empty where the value is right; then, with a `grade`,
    `reason` is that of it."""

    value: float
    low: Optional[float] = None
    high: Optional[float] = None
    why_invalid: str = ""
    grade: str = ""
    reason: str = ""
    elsewhere: bool = False  # the cores were not where they were for most of the run


@dataclass(frozen=True)
class Outcome:
    """`value`: the median of the tries that count. `place`: of the latest of these that has the best grade,
    whose samples are shown. `missing`: why there is none, although a try gave one."""

    value: float
    place: int
    low: Optional[float]
    high: Optional[float]
    tries: int = 1
    grade: str = ""
    reason: str = ""
    missing: str = ""
    values: Tuple[float, ...] = ()  # of the tries that count
    half: Optional[float] = None  # of their intervals' widths, relative, the median


def _holds(a: Try, value: float) -> bool:
    return a.low is not None and a.high is not None and a.low <= value <= a.high


def agree(a: Try, b: Try) -> bool:
    """A value lies in the other's interval, or the values are within SAME of each other."""
    return (
        _holds(a, b.value)
        or _holds(b, a.value)
        or abs(a.value - b.value) <= SAME * max(abs(a.value), abs(b.value))
    )


def hull(tries: Sequence[Try]) -> Tuple[Optional[float], Optional[float]]:
    """The least interval that holds every interval and every value; none where no try has one and the values
    are equal. One try has its own."""
    ends = [end for t in tries for end in (t.low, t.high) if end is not None]
    values = [t.value for t in tries]
    if not ends and min(values) == max(values):
        return None, None
    return (min(ends + values), max(ends + values)) if len(tries) > 1 else (tries[0].low, tries[0].high)


def _half(tries: Sequence[Try]) -> Optional[float]:
    halves = [
        (t.high - t.low) / 2 / abs(t.value)
        for t in tries
        if t.value and t.low is not None and t.high is not None
    ]
    return median(halves) if halves else None


def _two_values(a: Try, b: Try, unit: str) -> str:
    factor, shown = scale_of(max(abs(a.value), abs(b.value)), unit)
    return ("%s and %s %s" % (digits(a.value / factor), digits(b.value / factor), shown)).strip()


def outcome(tries: Sequence[Try], unit: str = "") -> Outcome:
    """`tries` in the order of time; at least one."""
    right = [i for i, t in enumerate(tries) if not t.why_invalid]
    if not right:
        return Outcome(tries[-1].value, len(tries) - 1, tries[-1].low, tries[-1].high)
    calm = [i for i in right if tries[i].grade != CONTENDED]
    first = min((tries[i].grade for i in right), key=_BEST_FIRST.index)
    usable = calm if len(calm) >= _MEDIAN_HOLDS else [i for i in right if tries[i].grade == first]
    places = [i for i in usable if not tries[i].elsewhere] or usable
    counted = [tries[i] for i in places]
    grade = min((t.grade for t in counted), key=_BEST_FIRST.index)
    best = [i for i in places if tries[i].grade == grade]
    values = tuple(t.value for t in counted)
    low, high = hull([tries[i] if i in best else Try(tries[i].value) for i in places])
    apart = next(
        ((a, b) for i, b in reversed(list(enumerate(counted))) for a in counted[:i] if not agree(a, b)), None
    )
    latest, half = best[-1], _half(counted)
    reason = tries[latest].reason
    found = Outcome(median(values), latest, low, high, len(counted), grade, reason, "", values, half)
    if grade == CONTENDED and len(counted) == 1:
        return replace(found, missing="contended, and no other try confirms it")
    if grade == CONTENDED and apart:
        return replace(found, missing="contended, and two tries differ: %s" % _two_values(*apart, unit))
    if apart:
        return replace(found, grade=NOISY, reason="two tries differ: %s" % _two_values(*apart, unit))
    return found


# ------------------------------------------------------------------ cases


def _failure(tries: Sequence[Case]) -> Optional[Case]:
    """A wrong result is not put right by another try; an operation that failed is, by a later one that a
    person asked for."""
    wrong = [t for t in tries if t.cause == WRONG_RESULT]
    if wrong:
        return wrong[-1]
    decided = [t for t in tries if t.status != "skipped"]
    return decided[-1] if decided and decided[-1].status == "failed" else None


def _values(case: Case) -> Dict[Tuple[str, Optional[str], int], Derived]:
    """Values by name, variant, and their place among those of that name."""
    seen: Counter = Counter()
    found = {}
    for derived in case.derived:
        name = derived.name, derived.variant
        found[(*name, seen[name])] = derived
        seen[name] += 1
    return found


def _try(case: Case, derived: Derived, place: Optional[float]) -> Try:
    return Try(
        derived.value or 0.0,
        derived.ci_low,
        derived.ci_high,
        why_invalid(case, derived),
        derived.grade,
        why_graded(case, derived),
        not is_at(case.core_latency_s, place),
    )


def _settled(found: Outcome, of: Try, case: Case, derived: Derived) -> Derived:
    """The value with what the tries make of it."""
    if of.why_invalid:
        return replace(derived, valid=False, reason=of.why_invalid, cause=cause_of(case, derived), grade="")
    if found.missing:
        return replace(
            derived, valid=False, reason=found.missing, cause=CONTENDED, each=found.values, grade=""
        )
    return replace(
        derived,
        value=found.value,
        ci_low=found.low,
        ci_high=found.high,
        tries=found.tries,
        each=found.values,
        half=found.half,
        grade=found.grade,
        valid=True,
        grade_reason=found.reason if found.grade else "",
        core_latency_s=case.core_latency_s,
    )


def merged(tries: Sequence[Case], place: Optional[float] = None) -> Case:
    """The case that a signature is of. Timings, facts and mechanisms are those of the latest try that counts
    for most values. `place`: the core-to-core latency of most of the run."""
    failure = _failure(tries)
    if failure and len(tries) > 1:
        reason = "1 of %d tries: %s" % (len(tries), failure.reason or "no reason given")
        return replace(failure, reason=reason)
    if failure:
        return failure
    ok = [t for t in tries if t.status == "ok"][-MOST:]
    if not ok:
        return tries[-1]
    values = [_values(t) for t in ok]
    settled: Dict[Tuple[str, Optional[str], int], Tuple[int, Derived]] = {}
    for name in dict.fromkeys(name for own in values for name in own):
        having = [i for i, own in enumerate(values) if name in own]
        attempts = [_try(ok[i], values[i][name], place) for i in having]
        found = outcome(attempts, values[having[-1]][name].unit)
        at = having[found.place]
        settled[name] = at, _settled(found, attempts[found.place], ok[at], values[at][name])
    gave = Counter(at for at, _ in settled.values())
    base = max(range(len(ok)), key=lambda i: (gave[i], i))
    flags: List[Flag] = list(ok[base].flags)
    for at, derived in settled.values():  # a value from another try brings its flags
        if at != base:
            flags += [
                replace(f, variant=derived.variant, quantity=derived.name)
                for f in flags_concerning(ok[at], derived)
            ]
    return replace(
        ok[base], derived=tuple(d for _, d in settled.values()), flags=tuple(dict.fromkeys(flags)), valid=True
    )
