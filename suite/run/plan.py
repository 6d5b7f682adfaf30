# SPDX-License-Identifier: BSD-3-Clause
"""Divide the time of a run among its programs."""

from __future__ import annotations

from dataclasses import dataclass

from suite.run.programs import Program
from suite.run.records import RecordFile

MIN_S = 1.0  # of a program
HEADLINE_MIN_S = 0.1  # with --headline, where a program takes what its least samples take
REPORT_S = 2.0  # to build the report
# A program ends the case that it began, and one case is always begun: CASE_SECONDS of bench/bench.c. What is
# simulated takes what it takes, which grows as what devices send to each other: measured as 0.03 s a program
# on one, 0.5 s on four, 1.4 s on eight.
_LAST_CASE_S, _SIMULATED_CASE_S = 0.5, 0.03
# a busy machine takes long to compile kernels and to check large results, and only what hangs is to be
# stopped
GRACE_S = 15.0
# One case is always simulated, and takes what it takes: overlap/shaping on four simulated devices 11 s of an
# idle core.
VIRTUAL_GRACE_S = 90.0
_OVERRUN = 3.0
_OPENINGS = 4.0  # the first may be quicker than others on a busy machine


@dataclass
class Budget:
    """The time of a run. It is divided again before each program, so that unused time goes to the others."""

    total_s: float
    started: float
    opening_s: float = 0.0  # to start a program and open the device
    grace_s: float = GRACE_S  # that a program may take beyond its share

    @property
    def deadline(self) -> float:
        """The end of the run, even if a program overruns its share."""
        return self.started + self.total_s + max(self.grace_s, 0.05 * self.total_s)

    def at(self, share: float) -> float:
        """The moment when this share of the time is spent."""
        return self.started + share * self.total_s

    def limit(self, budget_s: float, now: float) -> float:
        """Seconds after which a program with this budget is stopped."""
        spare_s = _OPENINGS * self.opening_s
        return (
            min(_OVERRUN * budget_s + self.grace_s, max(budget_s + self.grace_s, self.deadline - now))
            + spare_s
        )


def least_s(programs: int, opening_s: float, program_s: float = MIN_S, simulated: int = 0) -> float:
    """Estimated seconds of so many programs if each gets no more than `program_s`, on so many simulated
    devices (0: real ones)."""
    return programs * (max(program_s, opening_s) + (_SIMULATED_CASE_S * simulated**2 or _LAST_CASE_S))


def share_s(weights: list[float], left_s: float) -> float:
    """Seconds for the first of the pending programs, by weight."""
    return max(MIN_S, left_s * weights[0] / (sum(weights) or 1.0))


def pending(
    programs: list[Program], record_file: RecordFile, include_out_of_budget: bool, headline: bool = False
) -> list[Program]:
    """The programs that are not finished, or, with `headline`, whose headline cases are not. With
    `include_out_of_budget` also those with cases that did not fit into the budget."""
    todo = []
    for program in programs:
        program_status = record_file.of(program.name)
        finished = program_status.completed if headline else program_status.finished
        if finished and not (include_out_of_budget and program_status.out_of_budget):
            continue
        todo.append(program)
    return todo


def spent_s(record_file: RecordFile) -> float:
    """Seconds that the records account for."""
    return sum(program_status.cases_s for program_status in record_file.programs.values())
