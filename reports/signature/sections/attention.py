# SPDX-License-Identifier: BSD-3-Clause
"""gemm/attention: what fusing brings in either phase, and how near to its bound the fused kernel comes."""

from __future__ import annotations

from typing import List, Optional

from reports.records.curves import valid_value
from reports.records.quantity import percent, ratio_text
from reports.records.records import Case
from reports.signature.section import Section, SectionSpec
from reports.signature.sections import generic

# A share of each phase, and what it is of.
_SHARES = {"decode": ("read_share", "reading K and V"), "prefill": ("gemm_share", "a GEMM's rate")}


def _phase(case: Case) -> str:
    return str(case.axes.get("phase")).partition("-")[0]


def _sentence(case: Case) -> Optional[str]:
    name, of = _SHARES.get(_phase(case), ("", ""))
    gain, share = valid_value(case, "fused_speedup", "fused"), valid_value(case, name, "fused")
    if gain is None or share is None:
        return None
    return "%s with %s keys (%s): the fused kernel is %s times as fast as the chain and reaches %s of %s" % (
        _phase(case),
        str(case.axes.get("phase")).partition("-")[2],
        case.axes.get("type"),
        ratio_text(gain),
        percent(share),
        of,
    )


def _longest(section: Section) -> List[Case]:
    """The case with the most keys of each phase, of bf16 if there are any."""
    narrow = [c for c in section.cases if c.axes.get("type") == "bf16"] or section.cases
    told = [c for c in sorted(narrow, key=lambda c: c.number("kv_bytes") or 0) if _sentence(c)]
    return list({_phase(c): c for c in told}.values())


def summary(section: Section) -> str:
    told = [text for text in map(_sentence, _longest(section)) if text]
    return "; ".join(told) + "." if told else generic.nothing(section)


SPEC = SectionSpec("Attention", generic.results, summary, generic.figures)
