# SPDX-License-Identifier: BSD-3-Clause
"""The flat map of a signature: name -> one valid number with its unit, interval and formula."""

from __future__ import annotations

from statistics import median
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from reports.records.causes import (
    AMBIGUOUS,
    CONTENDED,
    ERROR,
    NO_VALUE,
    NOT_REPORTED,
    NOT_RUN,
    NOT_SUPPORTED,
    WRONG_RESULT,
)
from reports.records.curves import cause_of, marks, samples_behind, why_invalid
from reports.records.jsonl import Json, is_number
from reports.records.quantity import axis_value, plural
from reports.records.records import Case, Derived, Group, Primary, Scalar
from reports.records.spread import Tried

_COSTS = ("cil", "dil", "latency", "time_ratio", "slowdown")


def better_of(name: str, unit: str) -> Optional[str]:
    """Return "higher" or "lower" if the unit or the name tells which is better."""
    if unit == "s" or any(word in name.lower() for word in _COSTS):
        return "lower"
    return "higher" if unit.endswith("/s") or "fraction" in name else None


def metric_name(program: str, quantity: str, labels: Mapping[str, Scalar], suffix: str = "") -> str:
    text = ",".join("%s=%s" % (k, v) for k, v in labels.items() if v not in ("", None))
    return "%s/%s%s%s" % (program, quantity, "{%s}" % text if text else "", suffix)


# Fields of headline numbers only; for the others, the entry of their program has the formula, and their names
# the case.
_WITH_PRIMARY = ("formula", "key")
_NOT_WITH_PRIMARY = ("quantity",)
_SIZES = ("size", "footprint")  # axes that go without saying
FASTEST = "fastest: "  # in a condition; which variant it is may differ between runs and machines
_WAYS = ("direction", "transfer")
_WAY_WORDS = {
    "up": "host to device",
    "down": "device to host",
    "local": "within the device",
    "peer": "device to device",
}
_DIGITS, _DIGITS_OF_MANY = 9, 6  # of a number in a signature, and of one that is no headline
_DIGITS_OF_DEVIATION = 3
_WHOLE = 1e15  # up to here a float counts exactly


def metric(group: Group, value: float, unit: str, formula: str, **rest: Any) -> Json:
    """One entry; whatever is not given is null."""
    entry: Json = {
        "value": value,
        "unit": unit,
        "formula": formula,
        "program": group.program,
        "device": group.device,
        "ci_low": None,
        "ci_high": None,
        "n": 0,
        "better": None,
        "primary": False,
        "key": "",
        "bound": None,
        "bound_name": None,
        "share": None,
        "quantity": "",
    }
    entry.update(rest)
    return entry


def _of_case(group: Group, case: Case, derived: Derived) -> Json:
    return metric(
        group,
        derived.value,
        derived.unit,
        derived.formula or group.run.formula,
        ci_low=derived.ci_low,
        ci_high=derived.ci_high,
        n=samples_behind(case, derived),
        key=case.key,
        bound=derived.bound,
        bound_name=derived.bound_name or None,
        share=derived.share,
        better=better_of(derived.name, derived.unit),
        **marks(derived),
    )


def _cases_of(group: Group, primary: Primary) -> List[Case]:
    where = primary.where.items()
    return [c for c in group.cases.values() if all(c.axes.get(name) == value for name, value in where)]


class _Found(NamedTuple):
    """The case and the value of a headline number, or the cause and the reason why there is none; all empty
    where the device or the options leave it out."""

    case: Optional[Case] = None
    derived: Optional[Derived] = None
    cause: str = ""
    why: str = ""


_LEVELS = {"L1": "first-level cache", "L2": "second-level cache", "LLC": "last-level cache"}


def _without_capacity(group: Group, sizes: List[str]) -> _Found:
    """A model says all that its device has; elsewhere a capacity may be there and not be reported."""
    lacks = [what for name, what in _LEVELS.items() if all(name in size for size in sizes)]
    if group.run.simulated and lacks:
        return _Found(cause=NOT_SUPPORTED, why="the device has no %s" % lacks[0])
    return _Found(cause=NOT_REPORTED, why="this device does not report what %s is" % " and ".join(sizes))


def _without_case(group: Group, primary: Primary) -> _Found:
    """Empty where the options or the device leave it out: without f8 in the list of types, f8 is not
    missing."""
    listed: Dict[str, set] = {}
    for run in group.runs:
        for axis in run.axes:
            listed.setdefault(axis.name, set()).update(axis.values)
    terms = [(value, listed[name]) for name, value in primary.where.items() if listed.get(name)]
    unknown = [
        str(value) for value, values in terms if isinstance(value, str) and all(v.isdigit() for v in values)
    ]
    if unknown:
        return _without_capacity(group, unknown)
    if all(str(value) in values for value, values in terms):
        return _Found(cause=NOT_RUN, why="its case did not run")
    return _Found()


def _without_value(case: Case, primary: Primary) -> _Found:
    """Empty where the options left its variant out."""
    if case.variant(primary.variant) is not None:
        return _Found(cause=NO_VALUE, why="no value in " + case.key)
    why = case.variants_not_supported.get(primary.variant or "")
    return _Found() if why is None else _Found(cause=NOT_SUPPORTED, why=why or "no reason given")


def _value_of(group: Group, primary: Primary) -> _Found:
    cases = _cases_of(group, primary)
    if not cases:
        return _without_case(group, primary)
    if len(cases) > 1:
        why = "%d cases fit: %s" % (len(cases), "; ".join(c.key for c in cases[:3]))
        return _Found(cause=AMBIGUOUS, why=why)
    case = cases[0]
    if case.status == "failed":
        cause = case.cause if case.cause == WRONG_RESULT else ERROR  # the others are of what cannot be had
        return _Found(cause=cause, why="its case failed: " + case.reason)
    if case.status != "ok":
        return _Found(cause=case.cause, why=case.reason or "no reason given")
    found = [d for d in case.derived if d.name == primary.derived and d.variant == primary.variant]
    if not found:
        return _without_value(case, primary)
    derived, why = found[-1], why_invalid(case, found[-1])
    return _Found(case, derived, cause_of(case, derived) if why else "", why)


def condition_of(group: Group, case: Case, primary: Primary, derived: Derived) -> str:
    """The condition that the number holds for, "f32, 2048³", with the variant if that is the fastest:
    "256 MiB, fastest: direct"."""
    units = {axis.name: axis.unit for axis in group.run.axes}
    words = []
    for name, value in primary.where.items():
        if name == "shape" and all(is_number(case.facts.get(side)) for side in "mnk"):
            sides = ["%d" % case.facts[side] for side in "mnk"]
            words.append(sides[0] + "³" if len(set(sides)) == 1 else "×".join(sides))
        elif name == "operands":
            words.append("%s operands" % value)
        elif name in _WAYS and value in _WAY_WORDS:
            words.append(_WAY_WORDS[value])
        elif name == "ports":
            words.append("one port" if value == "one" else "%s ports" % value)
        elif name == "concurrent":
            words.append("all pairs at once" if value == "yes" else "one pair at a time")
        elif name == "copy-method":
            words.append("by %s" % value)
        elif name == "route" and value == "each":
            measured = {d.name for d in case.derived if d.name.startswith("pair_bandwidth ") and d.value}
            devices = len(group.run.devices)
            words.append("%d of %s" % (len(measured), plural(devices * (devices - 1), "pair")))
        elif isinstance(value, str) or name in _SIZES:
            words.append(axis_value(value, units.get(name, "")))
        else:
            words.append("%s %s" % (name, axis_value(value, units.get(name, ""))))
    if derived.fastest:
        words.append(FASTEST + derived.fastest)
    return ", ".join(words)


def primary_of(group: Group, suffix: str) -> Tuple[Dict[str, Json], List[Json], Dict[str, Tried]]:
    """Headline numbers in the program's order, the missing ones with their reasons, and the tries of each."""
    taken, missing, tries = {}, [], {}
    for primary in group.run.primary:
        case, derived, cause, why = _value_of(group, primary)
        if why:
            names = {"program": group.program, "device": group.device, "metric": primary.metric}
            entry = {**names, "cause": cause, "reason": why}
            once = derived if cause == CONTENDED and derived and len(derived.each) == 1 else None
            if (
                case is not None and once is not None and once.value is not None
            ):  # repeats are its other tries
                condition = condition_of(group, case, primary, once)
                entry["once"] = {"value": once.value, "unit": once.unit, "better": primary.better}
                entry["once"]["condition"] = condition
            missing.append(entry)
        if why or case is None or derived is None:
            continue
        entry = _of_case(group, case, derived)
        if derived.grade:
            entry["grade_reason"] = derived.grade_reason
        if derived.core_latency_s is not None:
            entry["core_latency_s"] = derived.core_latency_s
        entry.update(
            primary=True,
            better=primary.better,
            variant=derived.variant or derived.fastest or None,
            condition=condition_of(group, case, primary, derived),
        )
        name = "%s/%s%s" % (group.program, primary.metric, suffix)
        taken[name], tries[name] = entry, Tried(derived.unit, derived.each, derived.half)
    return taken, missing, tries


def formulas_of(group: Group) -> Dict[str, str]:
    """The formula of each quantity; all of them where there are several."""
    found: Dict[str, List[str]] = {}
    for case in group.cases.values():
        for derived in case.derived:
            formulas = found.setdefault(derived.name, [])
            if derived.formula and derived.formula not in formulas:
                formulas.append(derived.formula)
    return {name: "; ".join(formulas) or group.run.formula for name, formulas in sorted(found.items())}


def shortened(value: Any, digits: int = _DIGITS) -> Any:
    """Numbers of a signature's part with the digits that are worth keeping. Whole ones, such as sizes, keep
    all."""
    if isinstance(value, float):
        return value if value.is_integer() and abs(value) < _WHOLE else float("%.*g" % (digits, value))
    if isinstance(value, dict):
        return {name: shortened(inner, digits) for name, inner in value.items()}
    return [shortened(inner, digits) for inner in value] if isinstance(value, list) else value


def of_many(value: Any) -> Any:
    """A value as of shortened(), with fewer digits, if there are many of its kind."""
    return shortened(value, _DIGITS_OF_MANY)


def brief(entry: Json) -> Json:
    """A metric without what is stated elsewhere."""
    if entry["primary"]:
        return shortened({name: value for name, value in entry.items() if name not in _NOT_WITH_PRIMARY})
    unbound = ("bound", "bound_name", "share") if entry["bound"] is None else ()
    return of_many({name: value for name, value in entry.items() if name not in _WITH_PRIMARY + unbound})


def is_stated_by_rate(case: Case, derived: Derived) -> bool:
    """A time is redundant where the same variant has a valid rate: the rate is bytes or flops / that time."""
    rates = [d for d in case.derived if d.variant == derived.variant and d.unit.endswith("/s")]
    is_time = derived.name == "time" and derived.unit == "s"
    return is_time and any(not why_invalid(case, rate) for rate in rates)


def _deviation(samples: Sequence[float]) -> Optional[float]:
    """The standard deviation, relative, from the middle 68 % of the samples: stragglers don't matter."""
    ordered = sorted(samples)

    def quantile(p: float) -> float:
        at = min(max(p * len(ordered) - 0.5, 0.0), len(ordered) - 1.0)
        low = min(int(at), len(ordered) - 2)
        return ordered[low] + (at - low) * (ordered[low + 1] - ordered[low])

    if len(ordered) < 2 or median(ordered) <= 0:
        return None
    return (quantile(0.84134) - quantile(0.15866)) / 2 / median(ordered)


def _sampling(case: Case, derived: Derived) -> Json:
    """Operations of a sample behind a value of one variant, and the scatter of the samples."""
    variant = case.variant(derived.variant)
    if variant is None or not variant.iterations:
        return {}
    deviation = shortened(_deviation(variant.samples_s), _DIGITS_OF_DEVIATION)
    return {"variant": variant.name, "iterations": variant.iterations, "deviation": deviation}


def all_of(group: Group, suffix: str) -> Dict[str, Json]:
    """Every valid measured value that a rate does not state already, named by program, quantity, variant and
    case."""
    found = {}
    for case in group.cases.values():
        for derived in case.derived:
            if derived.modelled or why_invalid(case, derived) or is_stated_by_rate(case, derived):
                continue
            labels = dict({"variant": derived.variant or ""}, **case.axes)
            name = metric_name(group.program, derived.name, labels, suffix)
            entry = _of_case(group, case, derived)
            found[name] = dict(entry, quantity=derived.name, **_sampling(case, derived))
    return found
