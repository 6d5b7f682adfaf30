# SPDX-License-Identifier: BSD-3-Clause
"""A derived quantity once more, from the raw samples, by the kind and the variants that its record states:
docs/RECORDS.md."""

from __future__ import annotations

from typing import Callable, Dict, Optional, Union

from records import Case, Summary, summarise

Term = Union[str, Dict[str, list]]
Compute = Callable[[Case, dict], Summary]  # of a case and the derived entry
NOT_IN_RECORD = (
    "value",
    "model",
)  # what the program counted or a model gave, of which the record has no samples


def seconds(term: Term, t: dict) -> float:
    """Seconds of a variant, or of several: their sum, the longest."""
    if isinstance(term, str):
        return t[term]
    return sum(t[v] for v in term.get("sum", ())) + max((t[v] for v in term.get("longest", ())), default=0.0)


def rounds(formula: Callable[..., float]) -> Compute:
    """The median over rounds and its interval; `formula` gets the factor and the seconds of each term."""
    return lambda c, d: c.each_round(
        lambda t: formula(d.get("factor", 1.0), *(seconds(term, t) for term in d["of"]))
    )


def time(c: Case, d: dict) -> Summary:
    """None where every sample was lost."""
    known = all(c.samples.get(term) for term in d["of"] if isinstance(term, str))
    return rounds(lambda factor, a: a / factor)(c, d) if known else Summary(None)


def rate_of(work: float, t: Summary) -> Summary:
    """Work over the median time; the ends of its interval are those of the time, exchanged."""
    return Summary(work / t.value, *(work / end if end else None for end in (t.high, t.low)), t.rounds)


def rate(c: Case, d: dict) -> Summary:
    return rate_of(d["factor"], rounds(lambda factor, a: a)(c, d))


def share_of_rate(c: Case, d: dict) -> Summary:
    a, b = d["of"]
    what = next(w for w in ("flops", "ops", "bytes", "messages") if c.model(a, w) and c.model(b, w))
    return c.each_round(lambda t: c.model(a, what) / t[a] / (c.model(b, what) / t[b]))


ratio = rounds(lambda factor, a, b: a / b)


def width(s: Summary) -> float:
    return s.high - s.low if s.low is not None else 0.0


def fraction_of_ideal(c: Case, d: dict) -> Summary:
    """(S - 1) / (S_ideal - 1), where S_ideal exceeds 1 by more than 4 %, than its own interval, and than that
    of S."""
    gain, ideal = (ratio(c, {"of": terms}) for terms in (d["of"][:2], d["of"][2:]))
    if ideal.value <= 1 + max(0.04, width(ideal), width(gain)):
        return Summary(None)
    return rounds(lambda factor, serial, own, sum_, longest: (serial / own - 1) / (sum_ / longest - 1))(c, d)


KINDS: Dict[str, Compute] = {
    "time": time,
    "rate": rate,
    "ratio": ratio,
    "difference": rounds(lambda factor, a, b: a - b),
    "share_of_rate": share_of_rate,
    "fraction_of_ideal": fraction_of_ideal,
    "observed": lambda c, d: summarise(d["observations"] or []),
}


def find(d: dict) -> Optional[Compute]:
    return KINDS.get(d.get("kind", ""))
