# SPDX-License-Identifier: BSD-3-Clause
"""GEMMs of few rows, experts and attention, as inference has them. Curves and bars are as of any program."""

from __future__ import annotations

from typing import List, Optional

from reports.records.curves import valid_value
from reports.records.quantity import digits, human, percent, ratio_text
from reports.records.records import Case
from reports.signature.section import Section, SectionSpec
from reports.signature.sections import generic


def _sentences(section: Section, told: List[Optional[str]]) -> str:
    known = [text for text in told if text]
    return "; ".join(known) + "." if known else generic.nothing(section)


def _by_rows(section: Section) -> List[Case]:
    """The cases of the first type and weights, from few rows to many."""
    first = section.cases[0].axes if section.cases else {}
    alike = [c for c in section.cases if all(c.axes.get(k) == first.get(k) for k in ("type", "weights"))]
    return sorted(alike, key=lambda c: float(c.axes["rows"]))


def _few_rows(case: Case) -> Optional[str]:
    rate, share = (valid_value(case, name, "gemm") for name in ("bandwidth", "share_of_read"))
    if rate is None or share is None:
        return None
    rows = "1 row reaches" if case.axes["rows"] == 1 else "%s rows reach" % case.axes["rows"]
    cost = valid_value(case, "rows_time_ratio", "gemm")
    text = "%s %s, %s of a read's rate" % (rows, human(rate, "byte/s"), percent(share))
    return text + (" and %s times the time of one row" % digits(cost) if cost is not None else "")


def _small_batch(section: Section) -> str:
    cases = _by_rows(section)
    ends = cases[:1] + cases[1:][-1:]
    text = _sentences(section, [_few_rows(case) for case in ends])
    return "%s: %s" % (ends[0].axes["type"], text) if any(map(_few_rows, ends)) else text


def _experts(case: Case) -> Optional[str]:
    speedup, share = (valid_value(case, name, "grouped") for name in ("speedup", "share_of_bound"))
    if speedup is None:
        return None
    text = "%s experts of %s rows (%s): one grouped GEMM is %s times as fast as one GEMM each" % (
        case.axes["experts"],
        case.axes["rows"],
        case.axes["routing"],
        ratio_text(speedup),
    )
    return text + (", %s of its bound" % percent(share) if share is not None else "")


def _grouped(section: Section) -> str:
    return _sentences(section, [_experts(case) for case in section.cases][:2])


def _attention(case: Case) -> Optional[str]:
    phase, _, keys = str(case.axes.get("phase")).partition("-")
    gain = valid_value(case, "fused_speedup", "fused")
    share = valid_value(case, "read_share" if phase == "decode" else "gemm_share", "fused")
    if gain is None or share is None:
        return None
    return "%s with %s keys (%s): the fused kernel is %s times as fast as the chain and reaches %s of %s" % (
        phase,
        keys,
        case.axes.get("type"),
        ratio_text(gain),
        percent(share),
        "reading K and V" if phase == "decode" else "a GEMM's rate",
    )


def _of_phases(section: Section) -> List[Case]:
    """Of the narrowest type, the longest case of each phase that has values."""
    narrow = [c for c in section.cases if c.axes.get("type") == "bf16"] or section.cases
    told = [c for c in sorted(narrow, key=lambda c: c.number("kv_bytes") or 0) if _attention(c)]
    return list({str(c.axes["phase"]).partition("-")[0]: c for c in told}.values())


def _both_phases(section: Section) -> str:
    return _sentences(section, [_attention(case) for case in _of_phases(section)])


SMALL_BATCH = SectionSpec("GEMMs of few rows", generic.results, _small_batch, generic.figures)
GROUPED = SectionSpec("Grouped GEMMs", generic.results, _grouped, generic.figures)
ATTENTION = SectionSpec("Attention", generic.results, _both_phases, generic.figures)
