# SPDX-License-Identifier: BSD-3-Clause
"""The folded tables at the end of a section: the first values, timings, facts and cases, and where the others
are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

from reports.page.charts import draw_spark
from reports.records.csv_files import METRICS, TIMINGS
from reports.records.curves import flag_text, flags_of, samples_behind, why_invalid
from reports.records.quantity import digits, human, human_interval, percent, plural
from reports.records.records import Case, Derived, Variant
from reports.signature.section import Section, Table
from reports.signature.sections.node import fact_text
from reports.page.svg import markup

RECORDS = "records.jsonl"
MAX_SPARKS, MAX_SPARK_SAMPLES = 6, 48


@dataclass(frozen=True)
class Detail:
    """`more` says how many rows are left out, and `file` where they are."""

    summary: str
    table: Table
    more: str
    file: str


def _detail(
    title: str,
    heads: Sequence[str],
    rows: List[List[Any]],
    words: int,
    file: str,
    most: int,
    prose: bool = False,
) -> Optional[Detail]:
    if not rows or not most:
        return None
    hidden = len(rows) - most
    counted = "%d of %d" % (most, len(rows)) if hidden > 0 else "%d" % len(rows)
    return Detail(
        "%s (%s)" % (title, counted),
        Table(heads, rows[:most], "", words, prose),
        plural(hidden, "more row") if hidden > 0 else "",
        file,
    )


def _trust(case: Case, derived: Derived) -> str:
    """ "yes", "noisy, 2 tries", "no: throttled" """
    if why_invalid(case, derived):
        return "no: " + ", ".join(flags_of(case, derived))
    tries = ", %s" % plural(derived.tries, "try", "tries") if derived.tries > 1 else ""
    return (derived.grade or "yes") + tries


def _values(section: Section, most: int) -> Optional[Detail]:
    rows = []
    for case in section.group.cases.values():
        for d in case.derived:
            share = percent(d.share) if d.share is not None else ""
            value = d.value if d.value is not None else 0.0
            interval = human_interval(d.ci_low, d.ci_high, value, d.unit)
            told = [human(d.value, d.unit), interval, samples_behind(case, d), share, _trust(case, d)]
            rows.append([case.key or "–", d.variant or "–", d.name.replace("_", " "), *told])
    heads = ["case", "variant", "quantity", "value", "95 %", "n", "of bound", "valid"]
    return _detail("Values", heads, rows, 3, METRICS, most, True)


def _evenly(samples: Sequence[float]) -> Sequence[float]:
    return samples[:: -(-len(samples) // MAX_SPARK_SAMPLES)]


def _timing(key: str, v: Variant, spark: bool) -> List[Any]:
    return [
        key,
        v.name,
        human(v.median_s, "s"),
        human_interval(v.ci_low_s, v.ci_high_s, v.median_s or 0.0, "s"),
        human(v.min_s, "s"),
        human(v.p95_s, "s"),
        human(v.max_s, "s"),
        v.n,
        "–" if v.lag1 is None else digits(v.lag1),
        "–" if v.drift is None else percent(v.drift),
        {True: "yes", False: "no", None: "–"}[v.converged],
        markup(draw_spark(_evenly(v.samples_s))) if spark else "",
    ]


def _timings(section: Section, most: int) -> Optional[Detail]:
    """The first of those that missed the goal with their samples."""
    variants = [(case.key or "–", v) for case in section.group.cases.values() for v in case.variants]
    missed = [i for i, (_, v) in enumerate(variants[:most]) if v.converged is False][:MAX_SPARKS]
    rows = [_timing(key, v, i in missed) for i, (key, v) in enumerate(variants)]
    heads = ["case", "variant", "median", "95 %", "min", "p95", "max", "n", "lag 1", "drift", "in goal"]
    return _detail("Timings", [*heads, "samples in time order"], rows, 2, TIMINGS, most)


def _facts(section: Section, most: int) -> Optional[Detail]:
    """Those of all cases once, then those that differ between cases."""
    cases = [case for case in section.group.cases.values() if case.facts]
    shared = {
        name: value
        for name, value in (cases[0].facts.items() if cases else ())
        if len(cases) > 1 and all(name in c.facts and c.facts[name] == value for c in cases)
    }
    rows = [["all", name.replace("_", " "), fact_text(name, value)] for name, value in shared.items()]
    rows += [
        [case.key or "–", name.replace("_", " "), fact_text(name, value)]
        for case in cases
        for name, value in case.facts.items()
        if name not in shared
    ]
    return _detail("Facts", ["case", "fact", "value"], rows, 3, RECORDS, most)


def _cases(section: Section, most: int) -> Optional[Detail]:
    """Those that are not ok or have flags come first."""
    rows = []
    for case in sorted(section.group.cases.values(), key=lambda c: c.status == "ok" and not c.flags):
        seen = "; ".join(
            "%s %s%s" % (m.name, "seen" if m.observed else "not seen", ": " + m.detail if m.detail else "")
            for m in case.mechanism
        )
        check = case.check + (": " + case.check_detail if case.check_detail else "")
        flags = "; ".join(
            "%s%s" % (f.variant + " " if f.variant else "", flag_text(f.flag, f.reason)) for f in case.flags
        )
        took = human(case.elapsed_s, "s")
        rows.append(
            [case.key or "–", case.status, case.reason or "–", check, seen or "–", took, flags or "–"]
        )
    heads = ["case", "status", "reason", "check", "mechanism", "took", "flags"]
    return _detail("Cases: status, check, mechanism, flags", heads, rows, 5, RECORDS, most, True)


def details_of(section: Section, most: int) -> List[Dict[str, Any]]:
    found = [make(section, most) for make in (_values, _timings, _facts, _cases)]
    return [vars(detail) for detail in found if detail]
