# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of a scorecard in words. An interval that has no width in the digits that are shown, as those of
models in virtual time, is left out."""

from __future__ import annotations

from typing import Callable

from reports.records.jsonl import Json
from reports.records.quantity import digits, half_width, human, percent
from reports.judge.scorecard.price import MONEY

_NO_WIDTH = 0.0005  # of a value: "±0.0 %"
_LITTLE = 0.01  # of money
NOT_KNOWN = "error not known"


def value_text(value: float, low: float | None, high: float | None, unit: str) -> str:
    """ "764 TFLOP/s ±1.2 %" """
    if low is None or high is None or abs(high - low) / 2 < _NO_WIDTH * abs(value):
        return human(value, unit)
    return "%s %s" % (human(value, unit), half_width(value, low, high, unit))


def seconds_text(own: Json) -> str:
    if own["seconds"] is None:
        return "no answer"
    return value_text(own["seconds"], own["low"], own["high"], "s")


def _format(value: float) -> Callable[[float], str]:
    """Format of a ratio and its ends."""
    if 0.9 <= value < 1.1:
        return lambda v: "%.3f" % v
    return (lambda v: "%.2f" % v) if value < 9.995 else digits


def ratio_text(ratio: Json | None, words: str = "") -> str:
    """ "0.86 (0.84 to 0.88)", with `words` behind the value; a dash where there is none."""
    if ratio is None:
        return "–"
    number = _format(ratio["value"])
    text = number(ratio["value"]) + words
    if ratio["low"] is None or ratio["high"] is None:
        return "%s (%s)" % (text, NOT_KNOWN)
    ends = number(ratio["low"]), number(ratio["high"])
    return text if ends[0] == ends[1] else "%s (%s to %s)" % (text, *ends)


def slower_text(speed: Json) -> str:
    """ "predicted 2.2 times slower", of a speed whose error is not known."""
    value = speed["value"]
    return "predicted %s times %s" % (digits(max(value, 1 / value)), "slower" if value < 1 else "faster")


def price_text(own: Json) -> str:
    return "–" if own["price"] is None else "%s %s" % ("{:,.10g}".format(own["price"]), own["currency"])


def cost_text(own: Json) -> str:
    """Cost of a step; of a thousand where it is little."""
    if own["step_cost"] is None:
        return "–"
    currency = own["currency"].partition("/")[0]
    if own["step_cost"] < _LITTLE:
        return "%s %s for 1,000" % (digits(1000 * own["step_cost"]), currency)
    return "%s %s" % (digits(own["step_cost"]), currency)


def steps_text(own: Json) -> str:
    """ "4,077 a day for 1,000 EUR"; of what is rented there is no day."""
    if own["steps"] is None:
        return "–"
    currency, _, hour = own["currency"].partition("/")
    day = "" if hour else " a day"
    return "%s%s for %s %s" % (digits(own["steps"]), day, "{:,.0f}".format(MONEY), currency)


def bought_text(own: Json) -> str:
    """ "+136 % price for 2.06 times the speed (1.9 to 2.2)"; "" of the reference."""
    found = own["buys"]
    if found is None:
        return ""
    change, price = found["price"] - 1, "the same price"
    if abs(change) >= _NO_WIDTH:
        price = "%s%s price" % ("+" if change > 0 else "−", percent(abs(change)))
    return "%s for %s" % (price, ratio_text(found["speed"], " times the speed"))
