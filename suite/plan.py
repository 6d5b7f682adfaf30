# SPDX-License-Identifier: BSD-3-Clause
"""Which programs are started, and how the time is divided among them."""
from __future__ import annotations

from dataclasses import dataclass

from suite.programs import Program
from suite.records import Ledger

LEAST_S = 1.0
_GRACE_S = 15.0
_OVERRUN = 3.0
_VIRTUAL_LIMIT_S = 600.0


@dataclass
class Budget:
    """The time of a run, divided anew before each program, so that what one leaves the others get."""

    total_s: float
    started: float
    shares: float = 1.0  # of all programs together
    is_virtual: bool = False  # the programs count simulated seconds, and take as long as they need

    @property
    def deadline(self) -> float:
        """When everything, a program that overruns included, has to be over."""
        return self.started + self.total_s + max(5.0, 0.05 * self.total_s)

    def for_next(self, pending: list[Program], now: float) -> float:
        """Seconds for the first of the pending programs."""
        if self.is_virtual:
            return max(LEAST_S, self.total_s * pending[0].share / self.shares)
        remaining = self.started + self.total_s - now
        return max(LEAST_S, remaining * pending[0].share / sum(p.share for p in pending))

    def limit(self, budget_s: float, now: float) -> float:
        """Seconds after which a program with this budget is stopped."""
        if self.is_virtual:
            return _VIRTUAL_LIMIT_S
        return min(_OVERRUN * budget_s + _GRACE_S, max(budget_s + 5.0, self.deadline - now))


def pending(programs: list[Program], ledger: Ledger, with_left_out: bool) -> list[Program]:
    """The programs that still have something to do: not those that ended well, unless they left cases out
    for want of time and there is new time."""
    todo = []
    for program in programs:
        history = ledger.of(program.name)
        if history.finished and not (with_left_out and history.left_out):
            continue
        todo.append(program)
    return todo


def spent_s(ledger: Ledger) -> float:
    """Seconds that the records account for."""
    return sum(history.cases_s for history in ledger.programs.values())
