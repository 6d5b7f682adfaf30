# SPDX-License-Identifier: BSD-3-Clause
"""micro/storage: what reads of storage take from GEMMs and copies, and they from the reads."""

from __future__ import annotations

from typing import List, Tuple

from reports.records.curves import interval_of, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import TAGS, human, span
from reports.records.records import Case, Derived
from reports.signature.section import Figure, Section, SectionSpec
from reports.signature.sections import generic
from reports.signature.sections.contention import extremes_text

FORMULA = "CIL (contention inefficiency loss) = time concurrent with the other / time alone; 1: no loss"

_WITH = "_with_"
_NOUNS = {"copy": "an H2D copy", "read": "reading storage"}
_RATE = "read_bandwidth"


def _losses(section: Section) -> List[Tuple[Case, str, str, Derived]]:
    """A case, what is slowed in it, by what, and the loss; those that are valid."""
    return [
        (case, *derived.variant.split(_WITH), derived)
        for case, derived in section.values("CIL")
        if derived.variant and _WITH in derived.variant and not why_invalid(case, derived)
    ]


def _sentence(of: str, other: str, case: Case) -> str:
    nouns = {**_NOUNS, "gemm": "a GEMM of %s" % case.axes.get("type")}
    into = " into the device" if case.axes.get("into") == "device" else ""
    return "%s while %s%s goes on" % (nouns.get(of, of), nouns.get(other, other), into)


def _condition(section: Section) -> str:
    """The rates of reads while the rest was measured."""
    rates = [d.value for case, d in section.values(_RATE) if not why_invalid(case, d)]
    return " Reads ran at %s meanwhile." % span(rates, lambda rate: human(rate, "byte/s")) if rates else ""


def results(section: Section) -> Json:
    rows = [
        {"of": of, "with": other, "key": case.key, **interval_of(derived)}
        for case, of, other, derived in _losses(section)
    ]
    rates = [
        {"variant": derived.variant, "key": case.key, "value": derived.value}
        for case, derived in section.values(_RATE)
        if not why_invalid(case, derived)
    ]
    return {"formula": FORMULA, "cil": rows, _RATE: rates}


def summary(section: Section) -> str:
    losses = [
        (_sentence(of, other, case), d.value, d.ci_low, d.ci_high) for case, of, other, d in _losses(section)
    ]
    return extremes_text(losses) + _condition(section) if losses else generic.nothing(section)


def figures(section: Section) -> List[Figure]:
    found = generic.value_bars(section, skip=("time", "bandwidth", "flop_rate"))
    for figure in found[:1]:
        figure.caption = FORMULA + ". " + TAGS
    return found


SPEC = SectionSpec("What reading storage takes", results, summary, figures)
