# SPDX-License-Identifier: BSD-3-Clause
"""Cases as curves: one derived quantity over one numeric axis, everything else held fixed.

The axis is chosen from the data, so that a new program gets its curves without code here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional
from typing import Sequence, Tuple, Union

from reports.records import causes
from reports.records.causes import CONTENDED, GRADES
from reports.records.jsonl import is_number
from reports.records.records import Case, Derived, Flag, Group, Scalar

if TYPE_CHECKING:
    from reports.records.cliffs import Cliff

_NUMBERED = re.compile(
    r"([A-Za-z][A-Za-z_-]*?)[-_]?([0-9]{1,9})\Z"
)  # "k16": a variant that is a point of an axis


@dataclass(frozen=True)
class Point:
    x: float
    value: Optional[float]
    ci_low: Optional[float]
    ci_high: Optional[float]
    bound: Optional[float]
    bound_name: str
    n: int
    key: str
    why_invalid: str  # empty: valid
    grade: str = ""  # of a valid one
    grade_reason: str = ""
    tries: int = 1

    @property
    def valid(self) -> bool:
        return not self.why_invalid


@dataclass
class Curve:
    derived: str
    variant: str  # empty where the quantity belongs to no single variant
    fixed: Mapping[str, Scalar]
    axis: str
    axis_unit: str
    unit: str
    formula: str
    points: List[Point] = field(default_factory=list)
    cliffs: Sequence[Cliff] = ()

    @property
    def valid(self) -> List[Point]:
        return [p for p in self.points if p.valid]

    def best(self, least: int) -> List[Point]:
        """The valid points without a grade; all valid ones where fewer than `least` have none."""
        quiet = [p for p in self.valid if not p.grade]
        return quiet if len(quiet) >= least else self.valid


def _concerns(flag: Flag, derived: Derived) -> bool:
    return (flag.variant is None or derived.variant in (None, flag.variant)) and flag.quantity in (
        None,
        derived.name,
    )


def flags_concerning(case: Case, derived: Derived) -> List[Flag]:
    """The flags that make a value wrong, else those that may leave it out, else its other grade; all flags of
    the case if none is about this value alone."""
    own = [f for f in case.flags if _concerns(f, derived)]
    return (
        [f for f in own if f.flag not in GRADES]
        or [f for f in own if f.flag == CONTENDED]
        or own
        or list(case.flags)
    )


def why_invalid(case: Case, derived: Derived) -> str:
    """The reason why a value may not enter a signature; empty if it may."""
    if derived.value is None:
        return derived.reason or "no value, and no reason given"
    wrong = [
        f for f in case.flags if f.flag not in GRADES
    ] or case.flags  # older records are invalid where they are noisy
    if not derived.valid or not case.valid and any(f.variant is None and f.quantity is None for f in wrong):
        return derived.reason or _reasons(flags_concerning(case, derived)) or "flagged invalid"
    return ""


def cause_of(case: Case, derived: Derived) -> str:
    """The cause, in a word, why a value that why_invalid() refuses may not enter a signature."""
    return derived.cause or causes.of_flags(flags_of(case, derived))


def value_of(case: Case, name: str, variant: Optional[str] = None) -> Optional[Derived]:
    """The value of a quantity of a variant, valid or not; None if there is none."""
    found = (d for d in case.derived if (d.name, d.variant) == (name, variant) and d.value is not None)
    return next(found, None)


def valid_value(case: Case, name: str, variant: Optional[str] = None) -> Optional[float]:
    """The first valid value of a quantity of a variant."""
    found = (d for d in case.derived if (d.name, d.variant) == (name, variant) and not why_invalid(case, d))
    return next((d.value for d in found), None)


def interval_of(derived: Derived) -> Dict[str, Optional[float]]:
    """A value and its interval, as the results of a section have them."""
    return {"value": derived.value, "ci_low": derived.ci_low, "ci_high": derived.ci_high}


def why_graded(case: Case, derived: Derived) -> str:
    """The reason of its grade; that of another variant where the value is of several."""
    own = [f for f in case.flags if f.flag == derived.grade]
    return _reasons([f for f in own if _concerns(f, derived)] or own) or derived.grade


def _reasons(flags: Sequence[Flag]) -> str:
    return "; ".join(dict.fromkeys(flag_text(f.flag, f.reason) for f in flags))


def flag_text(flag: str, reason: str) -> str:
    return "%s: %s" % (flag, reason.replace("+-", "±")) if reason else flag


def flags_of(case: Case, derived: Derived) -> List[str]:
    """The flags that concern this value, as bare words. A grade is no reason why there is no value."""
    flags = [f.flag for f in flags_concerning(case, derived)]
    return list(dict.fromkeys(f for f in flags if derived.value is not None or f not in GRADES))


def marks(of: Union[Derived, Point]) -> Dict[str, Union[str, int]]:
    """Fields of a value in a signature: its grade, and its number of tries unless that is one."""
    found: Dict[str, Union[str, int]] = {"grade": of.grade} if of.grade else {}
    return dict(found, tries=of.tries) if of.tries > 1 else found


def samples_behind(case: Case, derived: Derived) -> int:
    """Samples a value rests on: the rounds of its statistic, else its variant's samples, or the fewest of all
    variants."""
    if derived.rounds:
        return derived.rounds
    variant = case.variant(derived.variant)
    if variant:
        return variant.n
    return min((v.n for v in case.variants), default=0)


def point_of(case: Case, derived: Derived, x: float) -> Point:
    return Point(
        x,
        derived.value,
        derived.ci_low,
        derived.ci_high,
        derived.bound,
        derived.bound_name,
        samples_behind(case, derived),
        case.key,
        why_invalid(case, derived),
        derived.grade,
        derived.grade_reason,
        derived.tries,
    )


def numeric_axis(group: Group) -> str:
    """The axis with the most distinct numbers, at least two; empty where there is none."""
    seen: Dict[str, set] = {}
    words = set()
    for case in group.cases.values():
        for name, value in case.axes.items():
            if is_number(value):
                seen.setdefault(name, set()).add(value)
            else:
                words.add(name)
    counts = [(len(values), name) for name, values in seen.items() if len(values) > 1 and name not in words]
    return min(counts, key=lambda c: (-c[0], c[1]))[1] if counts else ""


def axis_unit(group: Group, axis: str) -> str:
    return next((a.unit for a in group.run.axes if a.name == axis), "")


def split_number(name: Optional[str]) -> Optional[Tuple[str, float]]:
    match = _NUMBERED.match(name or "")
    return (match.group(1), float(match.group(2))) if match else None


def numbered_variants(names: Iterable[str]) -> Mapping[str, Tuple[str, float]]:
    """Variants that differ in a number only ("k2", "k4", "k8"): that number is an axis of its own."""
    split = {name: split_number(name) for name in sorted(set(names))}
    stems: Dict[str, int] = {}
    for found in split.values():
        if found:
            stems[found[0]] = stems.get(found[0], 0) + 1
    return {name: found for name, found in split.items() if found and stems[found[0]] > 1}


def curves_of(group: Group, by_variant: bool = False) -> List[Curve]:
    """Every derived quantity along the numeric axis; or, in its absence and on request, along numbered
    variants."""
    axis = "" if by_variant else numeric_axis(group)
    numbered = (
        {}
        if axis
        else numbered_variants(d.variant for c in group.cases.values() for d in c.derived if d.variant)
    )
    found: Dict[Tuple[object, ...], Curve] = {}
    for case in group.cases.values():
        for derived in case.derived:
            variant, along, unit = derived.variant or "", axis, axis_unit(group, axis)
            if axis and is_number(case.axes.get(axis)):
                x = float(case.axes[axis])
            elif variant in numbered:
                along, x = numbered[variant]
                variant, unit = "", ""
            else:
                continue
            fixed = {k: v for k, v in case.axes.items() if k != axis}
            identity = (derived.name, variant, along, tuple(sorted((k, str(v)) for k, v in fixed.items())))
            curve = found.setdefault(
                identity, Curve(derived.name, variant, fixed, along, unit, derived.unit, derived.formula)
            )
            curve.points.append(point_of(case, derived, x))
    for curve in found.values():
        curve.points.sort(key=lambda p: (p.x, p.key))
    return list(found.values())


def varying(curves: Sequence[Curve]) -> List[str]:
    """The fixed axes that are not fixed to the same value everywhere: the ones worth naming."""
    return varying_axes(curve.fixed for curve in curves)


def varying_axes(places: Iterable[Mapping[str, Scalar]]) -> List[str]:
    """The axes with several values among these places."""
    seen = by(((name, value) for place in places for name, value in place.items()), lambda pair: pair[0])
    return [name for name, pairs in seen.items() if len(set(pairs)) > 1]


def by(items: Iterable[Any], key: Callable[[Any], Any]) -> Dict[Any, List[Any]]:
    """Items by their key, in the order in which they come."""
    groups: Dict[Any, List[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def fixed_text(fixed: Mapping[str, Scalar]) -> str:
    return " ".join("%s=%s" % (k, v) for k, v in fixed.items())
