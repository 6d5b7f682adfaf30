# SPDX-License-Identifier: BSD-3-Clause
"""Results of tests: counts, failure messages, reasons of skips; read from TAP and from unittest."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TAP = re.compile(r"(not )?ok\b\s*(\d+)?\s*(.*)")
_TAP_PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*skip\s*(.*))?", re.IGNORECASE)
_TAP_SKIP = re.compile(r"(.*?)\s*#\s*skip\S*\s*(.*)", re.IGNORECASE)
_UNITTEST_COUNT = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
_UNITTEST_SKIP = re.compile(r"\.\.\. skipped ['\"](.*)['\"]$", re.MULTILINE)


@dataclass
class Outcome:
    """Counts of individual tests. Outcomes add up."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Outcome") -> "Outcome":
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips
        return self

    def __str__(self) -> str:
        return f"{self.passed} passed, {len(self.failures)} failed, {len(self.skips)} skipped"


def passed(count: int = 1) -> Outcome:
    return Outcome(passed=count)


def failed(words: str) -> Outcome:
    return Outcome(failures=[words])


def skipped(reason: str) -> Outcome:
    return Outcome(skips=[reason])


def of_tap(name: str, text: str, code: int) -> Outcome:
    """Counts of a TAP stream. One that ends early, or fails without saying which test, is a failure more."""
    result, planned, seen, bad, before = Outcome(), None, 0, False, ""
    for line in text.splitlines():
        if line.startswith("#"):
            # The notes on a test stand after it where the plan is first (bats), before it where the plan is
            # last (test.h).
            note = "\n" + line[1:].strip()
            if planned is None:
                before += note
            elif bad:
                result.failures[-1] += note
            continue
        plan, test = _TAP_PLAN.match(line), _TAP.match(line)
        if plan:
            planned = int(plan[1])
            if planned == 0:
                result.skips.append(f"{name}: {plan[2] or 'no tests'}")
        elif test:
            seen += 1
            bad = bool(test[1])
            _enter_test(result, name, bad, test[3], before)
            before = ""
    if planned is None or seen < planned:
        result.failures.append(
            f"{name}: ended after {seen} tests of {planned or 'an unknown number'}, exit {code}"
        )
    elif code != 0 and not result.failures:
        result.failures.append(f"{name}: exit {code}, though no test failed")
    return result


def _enter_test(result: Outcome, name: str, bad: bool, words: str, notes: str) -> None:
    skip = _TAP_SKIP.fullmatch(words)
    if bad:
        result.failures.append(f"{name}: {words}{notes}")
    elif skip:
        result.skips.append(f"{name}: {skip[1]}: {skip[2]}")
    else:
        result.passed += 1


def of_unittest(name: str, text: str, code: int) -> Outcome:
    """Counts of `python -m unittest -v`, from its stderr."""
    count = _UNITTEST_COUNT.search(text)
    failures = re.findall(r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.*)$", text, re.MULTILINE)
    skips = _UNITTEST_SKIP.findall(text)
    result = Outcome(failures=[f"{name}: {f}" for f in failures], skips=[f"{name}: {s}" for s in skips])
    if count is None:
        result.failures.append(f"{name}: ended without a count, exit {code}")
        return result
    result.passed = max(0, int(count[1]) - len(failures) - len(skips))
    if int(count[1]) == 0:
        result.failures.append(f"{name}: ran no test")
    elif code != 0 and not failures:
        result.failures.append(f"{name}: exit {code}, though no test failed")
    return result
