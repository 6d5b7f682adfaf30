# SPDX-License-Identifier: BSD-3-Clause
"""Every number of a record once more, from its raw samples and by docs/method alone.

recompute.py [--signature FILE] RECORDS... prints a table: quantity, values, largest relative difference. Exit
1 where one differs by more than 1e-9, has no definition, or is not recorded where it should be. What a record
cannot show is listed, with what it lacks. With a signature also its headline numbers, to 1e-8, and fitted
lines, to 1e-5, for it has nine and six digits.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parent))

import definitions
import kinds
import records
import signature
from records import GRADES, Case, Summary

TOLERANCE = 1e-9
BOUND_TOLERANCE = 1.02
NOISY_ABOVE = 0.1
MIN_FOR_INTERVAL = 6
DRIFT_PAIRS = 64  # above so many samples the record's drift is of a part of them
RATES = (("bandwidth", "bytes"), ("flop_rate", "flops"), ("op_rate", "ops"), ("message_rate", "messages"))
SHARED = (
    "time",
    *(rate for rate, _ in RATES),
    "rounds of a derived value",
)  # a row of the table of all programs together


# Variants of overlap/trigger that copy nothing: S_ideal, of a GEMM and a send, is no limit of theirs.
WITHOUT_COPY = ("remote_store", "remote_add")


class Row:
    """A quantity of a program over all cases."""

    def __init__(self) -> None:
        self.values, self.off, self.where = 0, 0.0, ""

    def add(self, off: float, where: str) -> None:
        self.values += 1
        if off > self.off:
            self.off, self.where = off, where


class Result(NamedTuple):
    rows: Dict[str, Row]
    problems: List[str]
    skipped: Dict[str, int]  # what no record shows -> how many values of it there were


def difference(a: Optional[float], b: Optional[float]) -> float:
    """Relative; infinite where one of them is unknown."""
    if a is None or b is None:
        return 0.0 if a is b else float("inf")
    return abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0


class Check:
    def __init__(self) -> None:
        self.result = Result({}, [], {})

    def add(
        self, case: Case, name: str, where: str, recorded: Optional[float], computed: Optional[float]
    ) -> None:
        off = difference(recorded, computed)
        place = "%s %s%s" % (case.program, case.key, where and ", " + where)
        own = " of " in where and name not in SHARED
        self.result.rows.setdefault("%s %s" % (case.program, name) if own else name, Row()).add(off, place)
        if off > TOLERANCE:
            self.result.problems.append(
                "%s: %s is %r in the record, %r by definition" % (place, name, recorded, computed)
            )

    def wrong(self, case: Case, text: str) -> None:
        self.result.problems.append("%s %s: %s" % (case.program, case.key, text))

    def skip(self, what: str) -> None:
        self.result.skipped[what] = self.result.skipped.get(what, 0) + 1

    # ---- a variant's own statistics

    def statistics(self, case: Case, name: str) -> None:
        variant, in_order = case.variants[name], list(case.samples[name].values())
        if not in_order:
            return
        ordered = sorted(in_order)
        found = records.summarise(ordered)
        expected = {
            "n": len(ordered),
            "median_s": found.value,
            "ci_low_s": found.low,
            "ci_high_s": found.high,
            "min_s": ordered[0],
            "p95_s": records.quantile(ordered, 0.95),
            "max_s": ordered[-1],
        }
        for key, computed in expected.items():
            self.add(case, key, name, variant[key], computed)
        # A sum of signed parts: as exact as the parts, so its difference is absolute. The parts are
        # differences from the mean, which are inexact where samples hardly differ.
        if (ordered[-1] - ordered[0]) * TOLERANCE > 16 * sys.float_info.epsilon * ordered[-1]:
            self.add(case, "lag1", name, 1 + variant["lag1"], 1 + records.lag1(in_order))
        if len(in_order) <= DRIFT_PAIRS:
            self.add(case, "drift", name, 1 + variant["drift"], 1 + records.drift(in_order))
        else:
            self.skip("drift of more than %d samples: of a part of their pairs" % DRIFT_PAIRS)
        self.grades(case, name, found, ordered[0] == ordered[-1])

    def grades(self, case: Case, name: str, found: Summary, constant: bool) -> None:
        """Compare whether the goal was reached, and the flags that follow from the samples alone."""
        width = 0.5 * (found.high - found.low) / found.value if found.low is not None else float("inf")
        options = case.run["options"]
        converged = constant or width <= options["goal"]
        self.add(case, "converged", name, case.variants[name]["converged"], converged)
        few = found.rounds < MIN_FOR_INTERVAL and not case.device.get("virtual_time")
        noisy = found.rounds < options["min_samples"] or (width > NOISY_ABOVE and not converged)
        self.add(case, "flag few_samples", name, self.flagged(case, name, "few_samples"), few)
        self.add(case, "flag noisy", name, self.flagged(case, name, "noisy"), noisy and not few)

    def graded(self, case: Case, entry: dict) -> None:
        """A value has the grades of its variant and of the whole case, and others only of variants that it
        may be of."""
        flags = [
            f for f in case.record["validity"]["flags"] if f["flag"] in GRADES and f.get("quantity") is None
        ]
        own, given = (
            {f["flag"] for f in flags if f["variant"] in (None, entry["variant"])},
            set(entry.get("grades", [])),
        )
        if not entry["modelled"] and not own <= given <= {f["flag"] for f in flags}:
            self.wrong(
                case,
                "%s of %s has the grades %s, and its flags are %s"
                % (entry["name"], entry["variant"], sorted(given), sorted(f["flag"] for f in flags)),
            )

    @staticmethod
    def flagged(case: Case, variant: Optional[str], flag: str) -> bool:
        return any(
            f["flag"] == flag and f["variant"] == variant and f.get("quantity") is None
            for f in case.record["validity"]["flags"]
        )

    # ---- derived values

    def derived(self, case: Case, entry: dict) -> None:
        """By the row of definitions.py, and by the kind that the record states."""
        name, variant, kind = entry["name"], entry["variant"], kinds.find(entry)
        row = definitions.find(case.program, name)
        if not row and not kind:
            if entry.get("kind") in kinds.NOT_IN_RECORD:
                self.skip(
                    "%s %s: a %s, of which the record has no samples" % (case.program, name, entry["kind"])
                )
            else:
                self.wrong(case, "%s has no definition: add a row to tests/method/definitions.py" % name)
            return
        if entry["observations"] is not None and len(entry["observations"]) != entry["rounds"]:
            self.skip("quantities of more than 1000 observations: the record keeps 1000")
            return
        try:
            found = [kind(case, entry)] if kind else []
            found = [Summary(one.value) for one in found] if entry["modelled"] else found  # no statistic
            found += [row(case, variant or "", entry)] if row else []
        except (KeyError, AttributeError, StopIteration, TypeError, ValueError) as problem:
            self.wrong(case, "%s of %s: the record lacks %s" % (name, variant, problem))
            return
        for one in found:
            for key, computed in (("value", one.value), ("ci_low", one.low), ("ci_high", one.high)):
                self.add(case, name, "%s of %s" % (key, variant), entry[key], computed)
            self.add(
                case, "rounds of a derived value", "%s of %s" % (name, variant), entry["rounds"], one.rounds
            )

    def bound(self, case: Case, entry: dict) -> None:
        if entry["bound"] is None:
            return
        formula = definitions.BOUNDS.get((case.program, entry["name"]))
        where = entry["variant"] or ""
        if formula is None:
            self.skip(
                "%s %s: the bound, for which tests/method/definitions.py has no row"
                % (case.program, entry["name"])
            )
        else:
            self.add(
                case, "bound of " + entry["name"], where, entry["bound"], formula(case, entry["variant"])
            )
        self.add(
            case, "share of the bound of " + entry["name"], where, entry["share"], self.share(case, entry)
        )

    @staticmethod
    def share(case: Case, entry: dict) -> Optional[float]:
        """Share of the bound: None of the roofline, which not every device can reach; of a GEMM's measured
        peak the share formed round by round."""
        if "its reads and writes" in entry["bound_name"]:
            return None
        formed = entry["bound_name"] != "nominal" and case.derived("fraction_of_peak", entry["variant"])
        return formed["value"] if formed else entry["value"] / entry["bound"]

    def above_bound(self, case: Case) -> None:
        """A variant is flagged where the whole interval of one of its values exceeds the bound by 2 %."""
        over = {
            d["variant"]
            for d in case.record["derived"]
            if d["bound"] is not None
            and d["value"] is not None
            and (d["value"] if d["ci_low"] is None else d["ci_low"]) > BOUND_TOLERANCE * d["bound"]
        }
        for variant in {d["variant"] for d in case.record["derived"] if d["bound"] is not None}:
            self.add(
                case,
                "flag above_bound",
                str(variant),
                self.flagged(case, variant, "above_bound"),
                variant in over,
            )

    def above_ideal(self, case: Case) -> None:
        """S alone is flagged where its whole interval exceeds that of S_ideal by 2 %."""
        for entry in case.record["derived"]:
            name = {"S": "S_ideal", "S_tiled": "S_ideal_tiled"}.get(entry["name"])
            ideal = (case.derived(name, None) or case.derived(name, entry["variant"])) if name else None
            if (
                not ideal
                or ideal["value"] is None
                or entry["value"] is None
                or entry["variant"] in WITHOUT_COPY
            ):
                continue
            low, high = (
                d["value"] if d[end] is None else d[end] for d, end in ((entry, "ci_low"), (ideal, "ci_high"))
            )
            flagged = any(
                f["flag"] == "above_bound"
                and f.get("quantity") == entry["name"]
                and f["variant"] == entry["variant"]
                for f in case.record["validity"]["flags"]
            )
            self.add(
                case,
                "flag above_bound of " + entry["name"],
                entry["variant"],
                flagged,
                low > BOUND_TOLERANCE * high,
            )

    def complete(self, case: Case) -> None:
        """A variant with samples has a time, and a rate for every count of its model."""
        for name in (n for n, kept in case.samples.items() if kept):
            wanted = ["time", *(rate for rate, what in RATES if case.model(name, what))]
            for quantity in (q for q in wanted if case.derived(q, name) is None):
                self.wrong(case, "%s has samples and no %s" % (name, quantity))

    def facts(self, case: Case) -> None:
        for (program, name), formula in definitions.FACTS.items():
            if program == case.program and name in case.facts:
                recorded, computed = case.facts[name], formula(case)
                if isinstance(recorded, str) and recorded != computed:
                    self.wrong(case, "%s is %s in the record, %s by definition" % (name, recorded, computed))
                numbers = (recorded, computed) if not isinstance(recorded, str) else (1.0, 1.0)
                self.add(case, "fact " + name, "", *numbers)

    def case(self, case: Case) -> None:
        if case.thinned:
            self.skip("cases of more than 1000 samples a variant: the record keeps 1000")
            return
        for name in case.variants:
            self.statistics(case, name)
        self.complete(case)
        self.above_bound(case)
        self.above_ideal(case)
        self.facts(case)
        for entry in case.record["derived"]:
            self.derived(case, entry)
            self.graded(case, entry)
            self.bound(case, entry)


def check(lines: Sequence[str]) -> Result:
    checked = Check()
    for case in records.cases_of(lines):
        checked.case(case)
    return checked.result


def check_signature(result: Result, of: dict, lines: Sequence[str]) -> None:
    cases = list(records.cases_of(lines))
    for kind, values, tolerance in (
        ("headline numbers", signature.headlines(of, cases), signature.TOLERANCE),
        ("fitted lines", signature.lines(of, cases), signature.TOLERANCE_OF_LINES),
    ):
        row = result.rows.setdefault("signature: " + kind, Row())
        for name, given, computed in values:
            off = difference(given, computed)
            row.add(off if off > tolerance else 0.0, name)
            if off > tolerance:
                result.problems.append(
                    "%s is %r in the signature, %r by the records" % (name, given, computed)
                )


def show(result: Result) -> None:
    width = max(map(len, result.rows), default=8)
    print("%-*s  %8s  %s" % (width, "quantity", "values", "largest relative difference"))
    for name, row in sorted(result.rows.items()):
        print(
            "%-*s  %8d  %.2g%s"
            % (width, name, row.values, row.off, row.off > TOLERANCE and "  " + row.where or "")
        )
    for what, values in sorted(result.skipped.items()):
        print("not recomputed: %s (%d values)" % (what, values))
    for problem in result.problems:
        print("recompute.py: " + problem, file=sys.stderr)


def main(paths: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--signature", type=Path)
    parser.add_argument("records", nargs="+", type=Path)
    given = parser.parse_args(paths)
    lines = [line for path in given.records for line in path.read_text(encoding="utf-8").splitlines()]
    result = check(lines)
    if given.signature:
        check_signature(result, json.loads(given.signature.read_text(encoding="utf-8")), lines)
    show(result)
    if not result.rows:
        print("recompute.py: no case in these records", file=sys.stderr)
    return 0 if result.rows and not result.problems else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
