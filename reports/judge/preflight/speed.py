# SPDX-License-Identifier: BSD-3-Clause
"""Headline numbers that are worse than the reference's noise allows. Better is never bad.

A number is worse by the logarithm of its ratio. It is bad where the better end of its interval, which holds
both tries, is worse than the reference by more than the largest of 2 %, the least effect of the noise floor,
what the worst run of the reference is worse by, and k standard deviations of a run (threshold.py). One try
alone is never bad, nor are two of which one is contended. It is ok where the number is within that, and the
worse end of its interval within MOST_ALLOWED; what is neither is unknown. Where the noise allows more than
MOST_ALLOWED, a number that is within it says nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Sequence

from reports.records.causes import NOT_RUN
from reports.judge.compare.numbers import BadNumbers
from reports.judge.compare.verdict import MOST_HIDDEN
from reports.judge.preflight.node import Measured, Node
from reports.judge.preflight.outcome import BAD, OK, UNKNOWN, Check
from reports.judge.preflight.reference import FROM_NOWHERE, Expected, Reference
from reports.judge.preflight.threshold import TRIES, factor
from reports.records.quantity import human, listing, percent, plural

NAME = "speed"
LEAST = math.log(1.02)
MOST_ALLOWED = math.log1p(MOST_HIDDEN)  # of noise; above it a number is bad or unknown
TOO_NOISY = "its noise would hide a node that is 20 % slower"
SPREAD = "its own values range from allowed to not allowed"
SHOWN, AGAIN = "shown", "again"  # nothing to compare with; not ok as far as one try goes


@dataclass(frozen=True)
class Row:
    measured: Measured
    expected: Expected | None
    outcome: str
    reason: str = ""
    worse: float | None = None  # by how much, as a logarithm: above 0 is worse
    allowed: float | None = None


def _worse(expected: Expected, value: float) -> float:
    ratio = math.log(value / expected.value) if value > 0 else -math.inf
    return -ratio if expected.better == "higher" else ratio


def allowed(expected: Expected, numbers: int) -> float:
    """As a logarithm, among so many numbers."""
    return max(
        LEAST,
        expected.effect,
        expected.worst,
        factor(numbers, expected.runs, expected.degrees) * expected.deviation,
    )


def judged(measured: Measured, expected: Expected | None, numbers: int, last: bool = True) -> Row:
    """With `last` no other try follows."""
    if expected is None:
        return Row(measured, None, SHOWN, measured.reason)
    limit = allowed(expected, numbers)
    row = Row(measured, expected, UNKNOWN, allowed=limit)
    if measured.value is None or measured.value <= 0:
        if not last and 0 < measured.tries < TRIES:
            return replace(row, outcome=AGAIN, reason=measured.reason)
        return replace(row, reason=measured.reason or "its value is not above 0")
    if expected.case and measured.case != expected.case:
        cases = measured.case, expected.case
        return replace(row, reason="it is of another case: %s, and in the reference %s" % cases)
    ends = [end for end in (measured.low, measured.high, measured.value) if end is not None]
    worse = [_worse(expected, end) for end in ends]
    row, is_beyond = replace(row, worse=worse[-1]), min(worse) > limit
    if not is_beyond and limit > MOST_ALLOWED:
        return replace(row, reason=TOO_NOISY)
    if worse[-1] <= limit and max(worse) <= MOST_ALLOWED:
        return replace(row, outcome=OK)
    if measured.tries < TRIES and not last:
        return replace(row, outcome=AGAIN)
    if not is_beyond:
        return replace(row, reason=SPREAD)
    if measured.tries < TRIES:
        return replace(row, reason="no time for a repeat")
    if measured.contended or measured.counted < TRIES:
        return replace(row, reason="worse, and contended: others used the node")
    return replace(row, outcome=BAD)


def rows_of(node: Node, reference: Reference | None, last: bool = True) -> list[Row]:
    """A device of several, measured alone, is compared with the one that the reference has."""
    expected = reference.expected if reference else {}
    compared = [one for one in node.measured if one.name in expected]
    for one in compared:
        own = expected[one.name]
        if one.value is not None and one.unit and (one.unit, one.better) != (own.unit, own.better):
            raise BadNumbers("%s is in %s here and in %s in the reference" % (one.name, one.unit, own.unit))
    return [judged(one, expected.get(one.name), len(compared), last) for one in node.measured]


def again(node: Node, reference: Reference | None) -> dict[str, dict[str, list[str]]]:
    """Program -> device -> keys of the cases that want a repeat, the worst first."""
    found: dict[str, dict[str, list[str]]] = {}
    wanted = [row for row in rows_of(node, reference, last=False) if row.outcome == AGAIN]
    for row in sorted(wanted, key=lambda row: -(row.worse or 0.0)):
        program = row.measured.name.rpartition("/")[0]
        keys = found.setdefault(program, {}).setdefault(row.measured.device, [])
        if row.measured.key not in keys:
            keys.append(row.measured.key)
    return found


def relative(better: str, logarithm: float) -> float:
    """Share by which a rate is lower, or a time higher, where it is worse by this."""
    return -math.expm1(-logarithm) if better == "higher" else math.expm1(logarithm)


def where(row: Row, node: Node) -> str:
    return row.measured.label + ("" if row.measured.device == node.spec else " of %s" % row.measured.device)


def _sentence(row: Row, node: Node) -> str:
    """ "GEMM f32 flop rate is 21 % lower: 40 TFLOP/s, and 51 TFLOP/s in the reference; noise explains 2.0
    %"."""
    expected = row.expected
    assert expected and row.worse is not None and row.allowed is not None and row.measured.value is not None
    return "%s is %s %s: %s, and %s in the reference; noise explains %s" % (
        where(row, node),
        percent(relative(expected.better, row.worse)),
        "lower" if expected.better == "higher" else "higher",
        human(row.measured.value, expected.unit),
        human(expected.value, expected.unit),
        percent(relative(expected.better, row.allowed)),
    )


def _unknown(check: Check, rows: Sequence[Row], node: Node) -> None:
    """Numbers without a verdict. What there was no time for is left out, unless that is most of them."""
    unmeasured = [row for row in rows if row.outcome == UNKNOWN and row.measured.cause == NOT_RUN]
    if unmeasured:
        are_most = 2 * len(unmeasured) > sum(row.expected is not None for row in rows)
        say = check.unknown if are_most else check.note
        say("no time for %s" % listing([where(row, node) for row in unmeasured], 3))
    rows = [row for row in rows if row.outcome == UNKNOWN and row.measured.cause != NOT_RUN]
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        by_reason.setdefault(row.reason, []).append(where(row, node))
    for reason, names in by_reason.items():
        check.unknown("%s: %s" % (listing(names, 3), reason or "no value"))


def _programs(check: Check, node: Node) -> None:
    """Those that did not end as they should, and have not said so in a record."""
    known = {(one.program, one.device) for one in node.failed}
    for one in node.evidence["programs"]:
        text = "%s on %s: %s" % (one.get("program"), one.get("device"), one.get("reason") or "failed")
        if one.get("status") == "failed" and (one.get("program"), one.get("device")) not in known:
            check.bad(text)
        elif one.get("status") in ("stopped", "skipped"):
            check.unknown(text)


def check(node: Node, reference: Reference | None, rows: Sequence[Row]) -> Check:
    found = Check(NAME)
    for one in node.failed:
        found.bad(one.text)
    _programs(found, node)
    bad = sorted((row for row in rows if row.outcome == BAD), key=lambda row: -(row.worse or 0.0))
    for row in bad:
        found.bad(_sentence(row, node))
    _unknown(found, rows, node)
    compared = [row for row in rows if row.outcome in (OK, BAD)]
    left_out = [str(name) for name in node.evidence["left_out"]]
    if left_out:
        found.note("no time for %s" % listing(left_out, 6))
    if reference is None:
        found.note("nothing to compare with: give --reference or --noise; numbers are only shown")
    elif not compared and not found.reasons:
        found.unknown("no number could be compared with the reference")
    if any(row.expected and row.expected.source == FROM_NOWHERE for row in compared):
        found.note(
            "the reference is a single run of unknown noise: a standard deviation of 5 % is "
            "assumed; give --noise, or a folder of several runs"
        )
    found.summary = "%s shown" % plural(len(rows), "headline number")
    if compared:
        of, most = plural(len(compared), "headline number"), max(row.allowed or 0.0 for row in compared)
        known = len(compared) - len(bad), of, percent(math.expm1(most))
        found.summary = "%d of %s within noise, which is %s at most" % known
    return found
