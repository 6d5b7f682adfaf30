# SPDX-License-Identifier: BSD-3-Clause
"""The order of measurements. A run goes over its programs several times:

headline  the cases of headline numbers, of every program
choices   the other cases of the program by which a run checks how well its model chooses
          (reports/predict/check.py), for a quarter of the time at most; where that is little with the least
          samples, and without the references, which say why a way is fast
more      headline cases that did not fit into a program's share, because its fixed costs (set-up, checks,
          tuning) exceed that: as long as its other cases took, the quickest first; where that is over a
          twentieth of the run, only the variants that headline numbers need
again     repeats of those with too few samples, which are no value: as long as the first, because a case
          takes up to five times its time for its least samples (bench/sampling/rounds.c)
inputs    the curves that the fits of a model read (reports/model), before those that nothing reads
again     headline numbers for the second time
curves    the other cases, coarse ones first (bench/cases/case_list.h)
again     headline numbers for the third time, those first that are contended, as they may be missing without
more      what did not fit into a program's share, with the time that others left
again     headline numbers for the fourth time; and others that are noisy or contended, for the second

So the tries of a headline number are short processes of their own, over the whole time of a run: how much
they differ is what another run would differ by. A headline case is tried TRIES times at most and another one
twice, whatever came out, so that no number is repeated until it pleases.

When the time of a pass is over, no program is started that was started before. What was not started for its
curves then is part of the last "more".

A soak looks for wrong results and not for numbers, so it has one kind of pass, "soak": every program in turn
for some seconds, first the cases that were not measured yet, then those that were measured least often, until
the time is over.

With --headline there are headline numbers alone: "headline" over all programs, "more" for what did not fit,
then "again" over all programs in the same order, up to TRIES tries of each. Numbers with too few samples have
their second one before that, as above. Where the time is too short for a whole pass, contended numbers come
first, which may be missing without, then those of fewest tries.

Where starting the programs would cost too much of the time, headline, inputs and curves are one pass, first
of the programs that fits read; a program measures its headline cases first, and longer, anyway. What is
simulated is not tried again: it comes out the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Callable, Iterator

from suite.run.plan import HEADLINE_MIN_S, MIN_S, Budget
from suite.run.programs import Program
from suite.run.records import CaseStatus, ProgramStatus, RecordFile

# Programs whose curves the fits of a model read, the cheapest and most needed first. Others that they read
# have hardly a case that is no headline number.
INPUTS = (
    "micro/launch",
    "micro/copy_path",
    "micro/peer_matrix",
    "gemm/split",
    "micro/occupancy",
    "micro/latency",
    "micro/memory",
    "micro/copy_command",
    "micro/reduce",
    "gemm/efficiency",
)
SCORED = "overlap/ficco"
_INPUTS_UNTIL = 2 / 3  # of the time for curves
_CHOICES = 0.25  # of the whole time at most
_CHOICE_S, _WHOLE_CHOICE_S = 1.5, 4.0  # a case with the least samples at most, and with all
_WHOLE = 0.05  # of the whole time, for all variants of the headline cases that did not fit
_HEADLINE_UNTIL, _CURVES_UNTIL = 0.12, 0.7  # shares of the whole time
_ALONE = 0.1  # of each try without curves; starting programs and their least samples take the rest
_MAX_STARTING = 0.15  # a share of the whole time
_MIN_FOR_TWO_PASSES_S = 2 * MIN_S  # a program
_RESERVE = 1.2  # repeats take a little longer than the first
_LONGER = 3.0  # a repeat of a value takes at most so many times the first
TRIES = 4  # of a headline case at most, and of another one 2
_MORE_AT_MOST = 4
_SOAK_S = 10.0  # a program in a pass


@dataclass(frozen=True)
class Start:
    """One start of a program."""

    program: Program
    weight: float  # its part of the time, among the others of a pass
    headline: bool = False  # only its headline cases
    needed: bool = False  # of these only the variants that headline numbers need
    quick: bool = False  # with the least samples, and without the variants that bound others
    cases: tuple[str, ...] = ()  # only these, though they are done; empty: all that are not done
    max_s: float = float("inf")
    fixed_s: float | None = None  # its time, whatever the others left


@dataclass(frozen=True)
class Pass:
    name: str
    starts: list[Start]
    until: float  # the moment when it should have ended; later no program is started again


@dataclass(frozen=True)
class Conditions:
    """All that the passes of a run depend on: each is made when its turn comes, from what was measured until
    then."""

    todo: list[Program]
    records: RecordFile
    gave_up: Callable[[Program], bool]  # true if it failed or cannot run
    budget: Budget
    is_virtual: bool
    keys_of: Callable[[Program], list[str]]  # of all cases of a program
    now: Callable[[], float] = time.monotonic

    def waits(self, program: Program) -> bool:
        return not self.gave_up(program) and not self.records.of(program.name).finished


def passes(c: Conditions) -> Iterator[Pass]:
    """The passes of a run without --headline and --soak."""
    end = c.budget.at(1.0)
    if _affords_two(c):
        heads = [Start(p, float(len(p.primary)), headline=True) for p in c.todo if p.primary]
        yield Pass("headline", heads, c.budget.at(_HEADLINE_UNTIL))
        yield from _choices(c)
        yield from _more([s for s in heads if s.program.name != SCORED], end, c)
        yield from _again(c, _TOO_FEW)
    curves_until = end if c.is_virtual else _curves_until(c)
    going = list(filter(c.waits, c.todo))
    first = [p for name in INPUTS for p in going if p.name == name]
    if _affords_two(c) and 0 < len(first) < len(going):
        inputs = [Start(program, program.share) for program in first]
        yield Pass("inputs", inputs, c.now() + _INPUTS_UNTIL * (curves_until - c.now()))
        if not c.is_virtual:
            yield from _again(c, _HEADLINE)
        going = list(filter(c.waits, going))
    curves = [Start(p, p.share) for p in sorted(going, key=lambda p: p.name not in INPUTS)]
    yield Pass("curves", curves, curves_until)
    rest = [Start(p, 0.0) for p in c.todo]
    if not c.is_virtual:
        yield from _again(c, _HEADLINE)
    yield from _more(rest, curves_until, c)
    if not c.is_virtual:
        yield from _again(c, _OTHER)
        yield from _more(rest, end, c)


def _choices(c: Conditions) -> Iterator[Pass]:
    for program in (p for p in c.todo if p.name == SCORED and c.waits(p)):
        left = c.records.of(program.name).left or len(c.keys_of(program))
        pass_s = min(_CHOICES * c.budget.total_s, c.budget.at(1.0) - c.now())
        whole = c.is_virtual or pass_s >= _WHOLE_CHOICE_S * left
        most_s = float("inf") if whole else _CHOICE_S * left
        start = Start(program, 1.0, quick=not whole, max_s=most_s)
        yield Pass("choices", [start], c.now() + max(0.0, pass_s))


def headline(c: Conditions) -> Iterator[Pass]:
    """The passes of --headline. A program's time does not depend on its place among the others, as otherwise
    each order would be another measurement."""
    if not c.todo:  # every program was skipped
        return
    share_s = (1.0 if c.is_virtual else _ALONE) * c.budget.total_s / sum(len(p.primary) or 1 for p in c.todo)
    heads = [
        Start(
            p,
            1.0,
            headline=True,
            fixed_s=c.budget.opening_s + max(HEADLINE_MIN_S, share_s * len(p.primary)),
        )
        for p in c.todo
    ]
    end = c.budget.at(1.0)
    yield Pass("headline", heads, end)
    yield from _more(heads, end, c)
    yield from _again(c, _TOO_FEW)
    for _ in range(0 if c.is_virtual else 2 * TRIES):  # what did not fit into a pass is a pass of its own
        cases = _of_fewest_tries(second_tries(c, end - c.now()), c.records)
        if not cases:
            break
        again = [replace(s, headline=False, cases=cases.get(s.program.name, ())) for s in heads]
        yield Pass("again", [s for s in again if s.cases], end)


def _of_fewest_tries(chosen: list[Start], records: RecordFile) -> dict[str, tuple[str, ...]]:
    """The chosen cases with the fewest tries, by program, so that no case is two tries ahead of another."""
    tries = {
        (s.program.name, key): records.of(s.program.name).cases[key].tries for s in chosen for key in s.cases
    }
    fewest = min(tries.values(), default=0)
    return {
        s.program.name: tuple(key for key in s.cases if tries[s.program.name, key] == fewest) for s in chosen
    }


def soak(c: Conditions) -> Iterator[Pass]:
    """The passes of --soak. Every program is started at least once, and not again after a start that measured
    nothing."""
    end, going, of = c.budget.at(1.0), c.todo, c.records.of
    while going and (going is c.todo or c.now() < end):
        pass_s, left_s = _SOAK_S * len(going), end - c.now()
        until = end if left_s < 1.5 * pass_s else end - left_s + pass_s
        before = {p.name: of(p.name).measured for p in going}
        yield Pass("soak", [_soaking(p, of(p.name)) for p in going], until)
        going = [p for p in going if not c.gave_up(p) and of(p.name).measured > before[p.name]]


def _soaking(program: Program, status: ProgramStatus) -> Start:
    if status.end is None or status.out_of_budget:
        return Start(program, program.share)
    kept = {key: case.measured for key, case in status.cases.items() if case.status != "skipped"}
    return Start(
        program, program.share, cases=tuple(key for key, count in kept.items() if count == min(kept.values()))
    )


def _affords_two(c: Conditions) -> bool:
    enough = c.budget.total_s >= _MIN_FOR_TWO_PASSES_S * len(c.todo)
    return enough and c.budget.opening_s * len(c.todo) <= _MAX_STARTING * c.budget.total_s


def _curves_until(c: Conditions) -> float:
    """End of the curves: half of the time that the headline left, if it took long; earlier where headline
    numbers need more for their other tries, but not before a quarter."""
    end = c.budget.at(1.0)
    left_s = end - c.now()
    tries = [t for p in c.todo for t in _candidates(p, c.records.of(p.name))]
    waiting = [t.took_s for t in tries if t.urgency <= _HEADLINE]
    until = min(
        max(c.budget.at(_CURVES_UNTIL), end - left_s / 2.0), end - _RESERVE * (TRIES - 2) * sum(waiting)
    )
    return max(until, end - 0.75 * left_s)


def _more(starts: list[Start], until: float, c: Conditions) -> Iterator[Pass]:
    """Further passes with those of `starts` whose cases did not all fit."""
    for _ in range(_MORE_AT_MOST):
        left = [s for s in starts if not c.gave_up(s.program) and _cases_left(s, c)]
        if not left or until - c.now() <= sum(MIN_S for s in left if s.fixed_s is None):
            return
        rest = [_for_the_rest(s, c) for s in left]
        yield Pass("more", sorted(rest, key=lambda s: s.max_s), until)


def _cases_left(start: Start, c: Conditions) -> int:
    status = c.records.of(start.program.name)
    return status.out_of_budget if start.headline else status.left


def _for_the_rest(start: Start, c: Conditions) -> Start:
    if start.fixed_s is not None:
        return start
    left, status = _cases_left(start, c), c.records.of(start.program.name)
    if c.is_virtual or not start.headline:
        return replace(start, weight=float(left))
    needed_s = max(MIN_S, left * status.cases_s / max(1, status.measured))
    long = needed_s > _WHOLE * c.budget.total_s
    return replace(start, weight=needed_s, max_s=needed_s + c.budget.opening_s, needed=long)


def _again(c: Conditions, least: int) -> Iterator[Pass]:
    end = c.budget.at(1.0)
    chosen = second_tries(c, end - c.now(), least)
    if chosen:
        yield Pass("again", chosen, end)


@dataclass(frozen=True)
class _Try:
    urgency: int
    tries: int  # before it
    took_s: float
    program: Program
    key: str


_TOO_FEW, _CONTENDED, _NOISY, _HEADLINE, _OTHER = range(5)  # the most urgent first


def _urgency(case: CaseStatus) -> int:
    if not case.headline:
        return _OTHER
    if case.too_few:
        return _TOO_FEW
    return _CONTENDED if case.headline_contended else _NOISY if case.headline_graded else _HEADLINE


def _candidates(program: Program, status: ProgramStatus) -> Iterator[_Try]:
    for key, case in status.cases.items():
        most = 0 if not (case.headline or case.graded) else TRIES if case.headline and not case.too_few else 2
        if case.status == "ok" and case.tries < most:
            yield _Try(_urgency(case), case.tries, case.elapsed_s, program, key)


def second_tries(c: Conditions, left_s: float, least: int = _OTHER) -> list[Start]:
    """Starts, one a program, of the most urgent cases that fit into the time left, none less urgent than
    `least`: those of fewest tries first, then the quickest."""
    opening_s = c.budget.opening_s
    all_tries = [t for p in c.todo if not c.gave_up(p) for t in _candidates(p, c.records.of(p.name))]
    wanted = [t for t in all_tries if t.urgency <= least]
    chosen: dict[str, list[_Try]] = {}
    spent_s = 0.0
    for one in sorted(wanted, key=lambda t: (t.urgency, t.tries, t.took_s)):
        cost_s = one.took_s + (0.0 if one.program.name in chosen else opening_s)
        if spent_s + cost_s > left_s:
            continue
        spent_s += cost_s
        chosen.setdefault(one.program.name, []).append(one)
    starts = []
    for tries in chosen.values():
        took_s = sum(t.took_s for t in tries)
        starts.append(
            Start(
                tries[0].program,
                took_s,
                cases=tuple(t.key for t in tries),
                max_s=sum(t.took_s * (1.0 if t.urgency == _TOO_FEW else _LONGER) for t in tries) + opening_s,
            )
        )
    return starts
