# SPDX-License-Identifier: BSD-3-Clause
"""The flat map of a signature: name -> one valid number with its unit, interval and formula."""

from __future__ import annotations

import statistics
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from reports.curves import samples_behind, why_invalid
from reports.jsonl import Json, is_number
from reports.records import Case, Derived, Group, Primary, Scalar

MAX_PRIMARY = 20
_SUFFIX = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_COSTS = ("cil", "dil", "latency", "time_ratio", "slowdown")

Found = Tuple[Case, Derived]


def better_of(name: str, unit: str) -> Optional[str]:
    """Whether higher or lower is better, where the unit or the name tells."""
    if unit == "s" or any(word in name.lower() for word in _COSTS):
        return "lower"
    return "higher" if unit.endswith("/s") or "fraction" in name else None


def metric_name(program: str, quantity: str, labels: Mapping[str, Scalar], suffix: str = "") -> str:
    text = ",".join("%s=%s" % (k, v) for k, v in labels.items() if v not in ("", None))
    return "%s/%s%s%s" % (program, quantity, "{%s}" % text if text else "", suffix)


# Fields of headline numbers only; for the others, the entry of their program has formula and case.
_WITH_PRIMARY = ("formula", "program", "device", "key")
NO_CASE = "no case ran"  # of a headline number
_DIGITS = 9  # of a number in a signature; no measurement has more


def metric(group: Group, value: float, unit: str, formula: str, **rest: Any) -> Json:
    """One entry; whatever is not given is null."""
    entry: Json = {"value": value, "unit": unit, "formula": formula, "program": group.program, "device": group.device,
                   "ci_low": None, "ci_high": None, "n": 0, "better": None, "primary": False, "key": "",
                   "bound": None, "bound_name": None}
    entry.update(rest)
    return entry


def _of_case(group: Group, case: Case, derived: Derived) -> Json:
    return metric(group, derived.value, derived.unit, derived.formula or group.run.formula, ci_low=derived.ci_low,
                  ci_high=derived.ci_high, n=samples_behind(case, derived), key=case.key, bound=derived.bound,
                  bound_name=derived.bound_name or None, better=better_of(derived.name, derived.unit))


def _same(value: Scalar, wanted: str) -> bool:
    if is_number(value) and wanted[-1:] in _SUFFIX and wanted[:-1].isdigit():
        return value == int(wanted[:-1]) * _SUFFIX[wanted[-1]]
    return str(value) == wanted


def matching(group: Group, primary: Primary) -> List[Found]:
    """The derived values that a headline number may be taken from, valid or not."""
    return [(case, derived) for case in group.cases.values() for derived in case.derived
            if derived.name == primary.derived and primary.variant in (None, derived.variant)
            and all(_same(case.axes.get(name, ""), wanted) for name, wanted in primary.where.items())]


def reduce(found: Sequence[Found], how: str) -> Optional[Found]:
    """One of the values, never a mean, so that its interval and its case belong to it."""
    if not found:
        return None
    if how == "median":
        middle = statistics.median_low([d.value for _, d in found])
        return next(f for f in found if f[1].value == middle)
    if how in ("max", "min"):
        return (max if how == "max" else min)(found, key=lambda f: f[1].value)
    return found[-1]


def _asked(group: Group, primary: Primary) -> bool:
    """Whether the options selected a case of it: without f8 in the list of types, f8 is not missing."""
    lists = {axis.name: [int(v) if v.isdigit() else v for v in axis.values] for axis in group.run.axes}
    return all(any(_same(value, wanted) for value in lists[name]) for name, wanted in primary.where.items() if lists.get(name))


def primary_of(group: Group, suffix: str) -> Tuple[Dict[str, Json], List[Json]]:
    """Headline numbers in the program's order, and the missing ones with their reasons."""
    taken, missing = {}, []
    for primary in group.run.primary:
        found = matching(group, primary)
        valid = [f for f in found if not why_invalid(*f)]
        best = reduce(valid, primary.reduce)
        if best is None and not _asked(group, primary):
            continue
        if best is None:
            reason = why_invalid(*found[0]) if found else NO_CASE
            missing.append({"program": group.program, "device": group.device, "metric": primary.metric, "reason": reason})
            continue
        entry = _of_case(group, *best)
        where = " ".join("%s=%s" % t for t in primary.where.items())
        entry.update(primary=True, better=primary.better, variant=best[1].variant,
                     formula="%s of %s over %s; %s" % (primary.reduce, primary.derived,
                                                       "cases with " + where if where else "all cases", entry["formula"]))
        name = primary.metric if "/" in primary.metric else "%s/%s" % (group.program, primary.metric)
        taken[name + suffix] = entry
    return taken, missing


def formulas_of(group: Group) -> Dict[str, str]:
    """The formula of each quantity; all of them where there are several."""
    found: Dict[str, List[str]] = {}
    for case in group.cases.values():
        for derived in case.derived:
            formulas = found.setdefault(derived.name, [])
            if derived.formula and derived.formula not in formulas:
                formulas.append(derived.formula)
    return {name: "; ".join(formulas) or group.run.formula for name, formulas in sorted(found.items())}


def shortened(value: Any) -> Any:
    """Numbers of a signature's part with the digits that are worth keeping."""
    if isinstance(value, float):
        return float("%.*g" % (_DIGITS, value))
    if isinstance(value, dict):
        return {name: shortened(inner) for name, inner in value.items()}
    return [shortened(inner) for inner in value] if isinstance(value, list) else value


def brief(entry: Json) -> Json:
    """A metric as it is written down."""
    if entry["primary"]:
        return shortened(entry)
    unbound = ("bound", "bound_name") if entry["bound"] is None else ()
    return shortened({name: value for name, value in entry.items() if name not in _WITH_PRIMARY + unbound})


def is_stated_by_rate(case: Case, derived: Derived) -> bool:
    """A time is redundant where the same variant has a valid rate: the rate is bytes or flops / that time."""
    return derived.name == "time" and derived.unit == "s" and any(
        d.variant == derived.variant and d.unit.endswith("/s") and not why_invalid(case, d) for d in case.derived)


def all_of(group: Group, suffix: str) -> Dict[str, Json]:
    """Every valid measured value that a rate does not state already, named by program, quantity, variant and case."""
    found = {}
    for case in group.cases.values():
        for derived in case.derived:
            if not derived.modelled and not why_invalid(case, derived) and not is_stated_by_rate(case, derived):
                labels = dict({"variant": derived.variant or ""}, **case.axes)
                found[metric_name(group.program, derived.name, labels, suffix)] = _of_case(group, case, derived)
    return found


def choose_primary(by_group: Sequence[Dict[str, Json]]) -> Dict[str, Json]:
    """At most MAX_PRIMARY stay primary. Programs take turns, so that each has some."""
    chosen: Dict[str, Json] = {}
    longest = max((len(g) for g in by_group), default=0)
    for turn in range(longest):
        for group in by_group:
            if turn < len(group):
                name = list(group)[turn]
                chosen[name] = dict(group[name], primary=len(chosen) < MAX_PRIMARY)
    return chosen
