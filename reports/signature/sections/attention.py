# SPDX-License-Identifier: BSD-3-Clause
"""gemm/attention: how near attention comes to reading K and V and to a large GEMM, and what fusing brings."""

from __future__ import annotations

from typing import Dict, List

from reports.records.curves import why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import digits, percent
from reports.signature.section import Figure, Section, SectionSpec, table
from reports.signature.sections import generic

_SHARES = ("read_share", "gemm_share", "roofline_share")
_AXES = ("type", "phase", "mask", "heads", "batch")


def _phase(row: Json) -> str:
    """Phase, and in prefill the mask: from the one query of decode it hides nothing."""
    if str(row["phase"]).startswith("decode"):
        return str(row["phase"])
    return "%s, %s" % (row["phase"], "causal" if row["mask"] == "causal" else "no mask")


def _label(row: Json) -> str:
    several = ", batch %s" % row["batch"] if row["batch"] > 1 else ""
    return "%s, %s%s" % (row["type"], _phase(row), several)


def results(section: Section) -> Json:
    """Every case: the shares of fused and chain, and the time of the chain over that of fused."""
    rows: Dict[str, Json] = {}
    for case, derived in section.values("fused_speedup", *_SHARES):
        if why_invalid(case, derived):
            continue
        row = rows.setdefault(case.key, {name: case.axes.get(name) for name in _AXES})
        if derived.name == "fused_speedup":
            row["fused_speedup"] = derived.value
        else:
            row.setdefault(derived.variant, {})[derived.name] = derived.value
    return {"cases": list(rows.values())}


def summary(section: Section) -> str:
    rows = section.results["cases"]
    decode = [r for r in rows if str(r["phase"]).startswith("decode") and "read_share" in r.get("fused", {})]
    prefill = [r for r in rows if str(r["phase"]).startswith("prefill") and "fused_speedup" in r]
    parts = []
    if decode:
        best = max(decode, key=lambda r: r["fused"]["read_share"])
        parts.append(
            "Decode reads K and V at up to %s of the rate of reading alone (%s)"
            % (percent(best["fused"]["read_share"]), _label(best))
        )
    if prefill:
        best = max(prefill, key=lambda r: r["fused_speedup"])
        parts.append(
            "in prefill the chain of GEMMs takes up to %s times as long as the fused kernel (%s), "
            "which has no matrix units" % (digits(best["fused_speedup"]), _label(best))
        )
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "." if parts else generic.nothing(section)


def figures(section: Section) -> List[Figure]:
    def shown(row: Json, variant: str, name: str) -> str:
        value = row.get(variant, {}).get(name)
        return "–" if value is None else percent(value)

    rows = [
        {
            "type": str(row["type"]),
            "phase": _phase(row),
            "sequences": str(row["batch"]),
            "fused, of reading K and V": shown(row, "fused", "read_share"),
            "chain, of reading K and V": shown(row, "chain", "read_share"),
            "fused, of a large GEMM": shown(row, "fused", "gemm_share"),
            "chain, of a large GEMM": shown(row, "chain", "gemm_share"),
            "time of chain / fused": digits(row["fused_speedup"]) if "fused_speedup" in row else "–",
        }
        for row in section.results["cases"]
    ]
    heads = "/".join(sorted({str(row["heads"]) for row in section.results["cases"]}))
    caption = (
        "Attention of queries to %s KV heads of depth 128: time of reading K and V / time, and flop rate / "
        "that of a large GEMM, in the same rounds. Operations are those of keys that queries see." % heads
    )
    return table(rows, caption, 2)


SPEC = SectionSpec("Attention: fused, and as a chain of GEMMs", results, summary, figures)
