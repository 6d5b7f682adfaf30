# SPDX-License-Identifier: BSD-3-Clause
"""Value of a case that was measured several times, by docs/method/statistics.md ("Repeats") alone. Nothing
here is shared with reports/."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from records import Case, median

SAME = 0.1  # of the larger value


class Settled(NamedTuple):
    """The latest try that counts, the median and the interval of all that do, and the grade."""

    case: Case
    value: float
    low: Optional[float]
    high: Optional[float]
    grade: Optional[str]


def grade_of(entry: dict) -> Optional[str]:
    grades = entry.get("grades", [])
    return "contended" if "contended" in grades else "noisy" if "noisy" in grades else None


def differ(a: dict, b: dict) -> bool:
    for one, other in ((a, b), (b, a)):
        if one["ci_low"] is not None and one["ci_low"] <= other["value"] <= one["ci_high"]:
            return False
    return abs(a["value"] - b["value"]) > SAME * max(abs(a["value"]), abs(b["value"]))


def latency(case: Case) -> Optional[float]:
    return case.record.get("surroundings", {}).get("core_latency_s")


def usual_place(cases: Sequence[Case]) -> Optional[float]:
    """The middle latency of the longest row in which none is over 1.3 times the one before."""
    rows: List[List[float]] = [[]]
    for value in sorted(value for value in map(latency, cases) if value):
        if rows[-1] and value > 1.3 * rows[-1][-1]:
            rows.append([])
        rows[-1].append(value)
    longest = max(rows, key=len)
    return median(longest) if longest else None


def settle(
    tries: Sequence[Case], name: str, variant: Optional[str], place: Optional[float] = None
) -> Optional[Settled]:
    """None where there is no value, or none that may be used. `tries` in the order of time, all ok. `place`:
    usual_place() of the whole run."""
    found = [(case, case.derived(name, variant)) for case in tries]
    right = [(case, entry) for case, entry in found if entry and entry["valid"]]
    if not right:
        return None
    counted = [one for one in right if grade_of(one[1]) != "contended"]
    if len(counted) < 3:
        first = next(g for g in (None, "noisy", "contended") if any(grade_of(e) == g for _, e in right))
        counted = [one for one in right if grade_of(one[1]) == first]
    if place:
        here = [
            (case, entry)
            for case, entry in counted
            if not latency(case) or 1 / 1.3 <= latency(case) / place <= 1.3
        ]
        counted = here or counted
    entries = [entry for _, entry in counted]
    grade = next(g for g in (None, "noisy", "contended") if any(grade_of(e) == g for e in entries))
    best = [(case, entry) for case, entry in counted if grade_of(entry) == grade]
    apart = any(differ(a, b) for i, a in enumerate(entries) for b in entries[:i])
    if grade == "contended" and (apart or len(entries) == 1):
        return None
    if len(entries) == 1:
        low, high = entries[0]["ci_low"], entries[0]["ci_high"]
    else:
        ends = [e[end] for _, e in best for end in ("ci_low", "ci_high") if e[end] is not None]
        values = [e["value"] for e in entries]
        low, high = min(ends + values), max(ends + values)
        if low == high and not ends:
            low = high = None
    middle = median(sorted(e["value"] for e in entries))
    return Settled(best[-1][0], middle, low, high, "noisy" if apart else grade)


def by_case(cases: Sequence[Case]) -> List[List[Case]]:
    """The tries of every case of every program, in the order of the file."""
    found: Dict[Tuple[str, str, str], List[Case]] = {}
    for case in cases:
        found.setdefault((case.record["program"], case.record["device"], case.key), []).append(case)
    return list(found.values())
