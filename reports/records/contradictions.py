# SPDX-License-Identifier: BSD-3-Clause
"""Statements of a case that cannot be true together. No program writes such a case, so nothing of it is used
(docs/method/statistics.md)."""

from __future__ import annotations

import re
from typing import Callable, NamedTuple, Optional, Tuple

from reports.records.causes import GRADES
from reports.records.jsonl import Reader, is_number

BOUND_TOLERANCE = 1.02  # BENCH_BOUND_TOLERANCE of bench/quantities/quantities.h
_ROUNDING = 1e-6  # relative; far above that of the arithmetic, far below what a measurement tells
_RATES = {"bandwidth": "bytes", "flop_rate": "flops", "op_rate": "ops", "message_rate": "messages"}
_RATIO = re.compile(r"TimeRatio\Z|(.*_)?(ratio|S|DIL|CIL)(_.*)?\Z")
# Each no less than the one before.
_ORDERED = (("min_s", "median_s", "p95_s", "max_s"), ("min_s", "ci_low_s", "median_s", "ci_high_s", "max_s"))


class Rule(NamedTuple):
    name: str
    broken: Callable[..., bool]


def _ascends(*values: Optional[float]) -> bool:
    """Unknown ones aside, and as far as rounding goes."""
    known = [v for v in values if v is not None]
    return all(a <= b + _ROUNDING * abs(b) for a, b in zip(known, known[1:]))


# ------------------------------------------------------------------ of the times of a variant


def _impossible_time(variant: Reader) -> bool:
    """A clock may show that the shortest sample took no time, but not that half of them did."""
    times = [variant.real(name) for names in _ORDERED for name in names] + [
        s for s in variant.items("samples_s") if is_number(s)
    ]
    median = variant.real("median_s")
    return any(t is not None and t < 0 for t in times) or median == 0


def _out_of_order(variant: Reader) -> bool:
    samples = [s for s in variant.items("samples_s") if is_number(s)]
    around = [min(samples), max(samples)] if samples else []
    return not (
        all(_ascends(*map(variant.real, names)) for names in _ORDERED)
        and _ascends(variant.real("min_s"), *around, variant.real("max_s"))
    )


def _miscounted(variant: Reader) -> bool:
    return variant.count("n") < max(len(variant.items("samples_s")), variant.count("disturbed"))


def _no_median(variant: Reader) -> bool:
    return (variant.count("n") > 0) != (variant.real("median_s") is not None)


_OF_A_VARIANT = (
    Rule("a time that is 0 or negative", _impossible_time),
    Rule(
        "times that are not in the order of their names (minimum, interval, median, 95 %, maximum)",
        _out_of_order,
    ),
    Rule("more samples kept or disturbed than were measured", _miscounted),
    Rule("samples without a median, or a median without samples", _no_median),
)


# ------------------------------------------------------------------ of a value


def _outside_its_interval(value: Reader, case: Reader) -> bool:
    return not _ascends(value.real("ci_low"), value.real("value"), value.real("ci_high"))


def _impossible_value(value: Reader, case: Reader) -> bool:
    name, number = value.text("name"), value.real("value")
    positive = name == "time" or value.text_or("unit").endswith("/s") or _RATIO.match(name)
    return bool(positive and number is not None and number <= 0)


def _above_its_bound(value: Reader, case: Reader) -> bool:
    least = value.real("value") if value.real("ci_low") is None else value.real("ci_low")
    bound = value.real("bound")
    return (
        value.truth("valid") and None not in (least, bound) and not _ascends(least, BOUND_TOLERANCE * bound)
    )


def _other_than_work_over_time(value: Reader, case: Reader) -> bool:
    """True if a rate is not the variant's work / median, or a time not its median."""
    name, number = value.text("name"), value.real("value")
    of = next((v for v in case.objects("variants") if v.text("name") == value.json.get("variant")), None)
    median = of.real("median_s") if of else None
    if number is None or of is None or not median:
        return False
    work = of.object_or_empty("model").real(_RATES[name]) if name in _RATES else None
    expected = median if name == "time" else work / median if work else number
    return not (_ascends(number, expected) and _ascends(expected, number))


def _flagged_but_valid(value: Reader, case: Reader) -> bool:
    """A flag of the whole case needs no word at each value."""
    variant, name = value.text_or("variant"), value.text("name")
    concern = [
        (f.text_or("variant"), f.text_or("quantity")) for f in _flags(case) if f.text("flag") not in GRADES
    ]
    return (
        value.truth("valid")
        and value.json.get("modelled") is not True
        and bool({(variant, ""), (variant, name), ("", name)}.intersection(concern) - {("", "")})
    )


_OF_A_VALUE = (
    Rule("a value outside its interval", _outside_its_interval),
    Rule("a rate, a time or a ratio that is 0 or negative", _impossible_value),
    Rule("a value that is above its bound and called valid", _above_its_bound),
    Rule("a rate that is not work / time, or a time that is not the median", _other_than_work_over_time),
    Rule("a value that has a flag and is called valid", _flagged_but_valid),
)


# ------------------------------------------------------------------ of a case


def _flags(case: Reader) -> Tuple[Reader, ...]:
    return tuple(case.object_or_empty("validity").objects("flags"))


def _case_flagged_but_valid(case: Reader) -> bool:
    return case.object_or_empty("validity").json.get("valid") is True and any(
        f.text("flag") not in GRADES and not f.text_or("variant") and not f.text_or("quantity")
        for f in _flags(case)
    )


_OF_A_CASE = (Rule("a case that has a flag and is called valid", _case_flagged_but_valid),)


def contradiction_of(case: Reader) -> Optional[str]:
    """The name of the first rule that a case breaks. Its types are those that records.case_of() accepts."""
    found = [rule.name for rule in _OF_A_CASE if rule.broken(case)]
    found += [
        rule.name for variant in case.objects("variants") for rule in _OF_A_VARIANT if rule.broken(variant)
    ]
    found += [
        rule.name for value in case.objects("derived") for rule in _OF_A_VALUE if rule.broken(value, case)
    ]
    return found[0] if found else None
