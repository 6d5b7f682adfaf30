# SPDX-License-Identifier: BSD-3-Clause
"""Outcome of a check: ok, bad or unknown, each reason in one line."""

from __future__ import annotations

from dataclasses import dataclass, field

from reports.records.jsonl import clean

OK, BAD, UNKNOWN = "ok", "bad", "unknown"
HEALTHY = "healthy"  # all checks together
EXITS = {HEALTHY: 0, BAD: 1, UNKNOWN: 3}
_MOST_TEXT = 300  # Slurm keeps the reason of a drained node in one line


@dataclass(frozen=True)
class Reason:
    outcome: str
    text: str


@dataclass
class Check:
    """`summary`: the reason where nothing is wrong."""

    name: str
    summary: str = ""
    reasons: list[Reason] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what to know, and no reason

    def bad(self, text: str) -> None:
        self.reasons.append(Reason(BAD, _line(text)))

    def unknown(self, text: str) -> None:
        self.reasons.append(Reason(UNKNOWN, _line(text)))

    def note(self, text: str) -> None:
        self.notes.append(_line(text))

    @property
    def outcome(self) -> str:
        found = {reason.outcome for reason in self.reasons}
        return BAD if BAD in found else UNKNOWN if UNKNOWN in found else OK

    @property
    def reason(self) -> str:
        """The first that made the outcome."""
        return next((r.text for r in self.reasons if r.outcome == self.outcome), self.summary)


def _line(text: str) -> str:
    return " ".join(clean(text).split())[:_MOST_TEXT]


def of_all(checks: list[Check]) -> str:
    found = {check.outcome for check in checks}
    return BAD if BAD in found else UNKNOWN if UNKNOWN in found else HEALTHY
