# SPDX-License-Identifier: BSD-3-Clause
"""Searches for the keys that matter: the tornado, keys that were not measured, limits of a key that brings
nothing, and the knee of a sweep."""

from __future__ import annotations

import contextlib
import math
import tempfile
from pathlib import Path
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from reports.predict import keys
from reports.predict.change import AS_IT_IS, Change
from reports.predict.outcome import mean_ratio, moved, outcomes
from reports.predict.simulation import Failed, Simulated, Simulation
from reports.records.jsonl import Json

STEP = 0.1  # of the tornado
MATTERS = 0.01  # a smaller change of a time is none
_SAME = 1e-9
_GROUP = 8  # keys that are changed together at first
_CASES = 3  # looked at where many keys are tried


class Moved(NamedTuple):
    name: str
    change: Change
    ratio: Optional[float]  # of the times; None: the model or the program refuses the change
    most: float  # largest change of one outcome, as the absolute logarithm of the ratio
    reason: str = ""


def keys_that_move(
    simulation: Simulation, base: Simulated, apart: Sequence[Sequence[Change]], least: float, only: str = ""
) -> list[Moved]:
    """The changes of one key each that move a time by more than `least`. Several of a list are made at once,
    and those that move nothing are out together: they move times the same way, so none hides another. Those
    that move them the other way are `apart`, in another list."""
    asked, found = outcomes(base), []
    pending = [list(own[i : i + _GROUP]) for own in apart for i in range(0, len(own), _GROUP)]
    while pending:
        joint = [Change("", tuple(part for change in group for part in change.parts)) for group in pending]
        halves = []
        for group, changed in zip(pending, simulation.together(joint, only)):
            refused = isinstance(changed, Failed)
            most = 0.0 if isinstance(changed, Failed) else moved(base, changed, asked)
            if len(group) == 1 and (refused or most > least):
                ratio = mean_ratio(base, changed, asked)
                reason = str(changed) if refused else ""
                found.append(Moved(group[0].names()[0], group[0], ratio, most, reason))
            elif refused or most > least:
                halves += [group[: len(group) // 2], group[len(group) // 2 :]]
        pending = halves
    return found


def tornado(simulation: Simulation, base: Simulated) -> tuple[list[Moved], int]:
    """Every key changed by a tenth in the direction that may be better, sorted by what that brings; and how
    many keys were tried. Keys on which nothing depends are not in it."""
    names = keys.numeric(base.keys)
    apart = []
    for way, factor in ((keys.MORE, 1 + STEP), (keys.LESS, 1 - STEP)):
        own = [name for name in names if way in keys.ways(name)]
        changes = [Change(name, (keys.times(name, base.keys[name], factor),)) for name in own]
        apart.append([c for c in changes if c.parts[0] != keys.as_it_is(c.label, base.keys[c.label])])
    found = keys_that_move(simulation, base, apart, _SAME)
    return sorted(found, key=lambda one: (one.ratio is None, one.ratio or 0, one.name)), len(names)


class Doubts(NamedTuple):
    """All that the keys of a fitted model leave open. `unmeasured`: how many no measurement gave; `matter`:
    those of them on which the times depend, and `together` by how much on all that make times shorter, as the
    absolute logarithm of the largest ratio; `unsure`: fitted keys whose own errors move the times."""

    unmeasured: int
    matter: list[Moved]
    together: float
    unsure: list[Moved]
    cases: int  # that were looked at


class Few(NamedTuple):
    """A few cases for questions that take many runs: the program on them alone, and the file that names them,
    which is "" for all."""

    base: Simulated
    only: str
    count: int


@contextlib.contextmanager
def few_cases(simulation: Simulation, base: Simulated) -> Iterator[Few]:
    """Those in equal steps, so that the first and the last ones of a list of shapes are in it."""
    known = [key for key, case in base.cases.items() if case.times]
    few = known[:: max(1, math.ceil(len(known) / _CASES))]
    if len(few) == len(base.cases):
        yield Few(base, "", len(few))
        return
    with tempfile.TemporaryDirectory(prefix="gpusig-predict-") as folder:
        file = Path(folder) / "cases"
        file.write_text("".join(key + "\n" for key in few), encoding="utf-8")
        yield Few(simulation.run(AS_IT_IS, str(file)), str(file), len(few))


def doubts(simulation: Simulation, few: Few, errors: Mapping[str, Optional[float]]) -> Doubts:
    """`errors`: those of the fitted keys, relative."""
    names = keys.numeric(few.base.keys)
    probes = {name: keys.probe_factor(name) for name in names if name not in errors}
    wider = {name: 1 + (errors[name] or 0.0) for name in names if (errors.get(name) or 0.0) >= MATTERS / 2}
    of_probes, of_wider = _directions(few, probes), _directions(few, wider)
    moving = keys_that_move(simulation, few.base, [*of_probes, *of_wider], MATTERS / 2, few.only)
    matter = [one for one in moving if one.name in probes and (one.ratio is None or one.most > MATTERS)]
    known = {one.name for one in matter}
    for changes in of_probes:
        rest = [change for change in changes if change.label not in known]
        matter += _only_together(simulation, few, rest, MATTERS)
    together = _together(simulation, few, [one for one in matter if (one.ratio or 1) < 1])
    unsure = [one for one in moving if one.name in wider]
    return Doubts(len(probes), _sorted(matter), together, _sorted(unsure), few.count)


def _together(simulation: Simulation, few: Few, found: Sequence[Moved]) -> float:
    parts = tuple(dict.fromkeys(part for one in found for part in one.change.parts))
    run = simulation.together([Change("", parts)], few.only)[0] if parts else few.base
    return 0.0 if isinstance(run, Failed) else moved(few.base, run, outcomes(few.base))


def _directions(few: Few, factors: Mapping[str, float]) -> list[list[Change]]:
    """Those that make times longer, and those that make them shorter: flops and half the gemm_efficiency
    cancel."""
    return [
        [
            Change(name, (keys.times(name, few.base.keys[name], factor),))
            for name, factor in factors.items()
            if keys.lengthens(name, factor) is longer
        ]
        for longer in (True, False)
    ]


def _only_together(
    simulation: Simulation, few: Few, changes: Sequence[Change], least: float
) -> Iterator[Moved]:
    """One for keys none of which moves a time alone, as each of two links in a row hides the other: as few of
    them as do together."""

    def moved_by(tried: Sequence[Change]) -> Moved:
        change = Change("", tuple(part for one in tried for part in one.parts))
        run = simulation.together([change], few.only)[0]
        most = 0.0 if isinstance(run, Failed) else moved(few.base, run, outcomes(few.base))
        ratio = mean_ratio(few.base, run, outcomes(few.base))
        return Moved(" and ".join(change.names()), change, ratio, most)

    kept, size = list(changes), len(changes)
    if len(kept) < 2 or moved_by(kept).most <= least:
        return
    while size > 1:
        size //= 2
        for start in range(len(kept) - size, -1, -size):
            fewer = kept[:start] + kept[start + size :]
            if fewer and moved_by(fewer).most > least:
                kept = fewer
    yield moved_by(kept)


def _sorted(found: Iterable[Moved]) -> list[Moved]:
    """The most first; without those that cannot be changed."""
    return sorted((one for one in found if one.ratio is not None), key=lambda one: -one.most)


# ------------------------------------------------------------------ limits


def _raised(names: Sequence[str], change: Change, factor: float, base: Json) -> Change:
    own = tuple(keys.times(name, base[name], factor) for name in names)
    return Change("", (*change.parts, *own))


class Limited(NamedTuple):
    """A rate that brings nothing alone. `with_it`: others that it needs to be raised with it; none: it brings
    nothing with them either, and `instead` are those that limit this work."""

    name: str
    with_it: list[str]
    instead: list[str]


def limits(simulation: Simulation, few: Few, change: Change) -> Iterator[Limited]:
    """Limits of each rate of a change that brings nothing.

    All other rates are raised with it; then each in turn is left out, and where the effect of the rate goes
    with it, it limits."""
    base = few.base
    rates = [name for name in keys.numeric(base.keys) if name.endswith(keys.LIMITS)]
    asked = outcomes(base)
    for name in change.names():
        factor = _factor(change.value(name) or "", base.keys.get(name))
        if name not in rates or factor is None or factor <= 1:
            continue
        others = [one for one in rates if one not in change.names()]
        alone = Change("", tuple(part for part in change.parts if not part.startswith(name + "=")))

        def times(sets: Sequence[Sequence[str]], *of: Change) -> list[Optional[float]]:
            raised = [_raised(one, each, factor, base.keys) for each in of for one in sets]
            return [mean_ratio(base, run, asked) for run in simulation.together(raised, few.only)]

        before, after = times([others], alone, change)
        if before is None or after is None:
            continue
        left_out = [[o for o in others if o != left] for left in others]
        brings = math.log(before / after)
        if brings < MATTERS and before > 1 - MATTERS:
            yield Limited(name, [], [])
        elif brings < MATTERS:
            slower = [
                one for one, t in zip(others, times(left_out, alone)) if t and t > before * (1 + MATTERS)
            ]
            yield Limited(name, [], slower)
        else:
            both = times(left_out, alone, change)
            pairs = zip(others, both, both[len(others) :])
            needed = [one for one, t, u in pairs if t and u and math.log(t / u) < brings / 2]
            yield Limited(name, needed, [])


def _factor(value: str, base: object) -> Optional[float]:
    try:
        return float(value[:-1]) if value.endswith("x") else float(value) / float(base)  # type: ignore
    except (ValueError, TypeError, ZeroDivisionError):
        return None


# ------------------------------------------------------------------ sweeps


def knee(curve: Sequence[tuple[float, Optional[float]]], least: float) -> tuple[str, Optional[float]]:
    """The point where a sweep stops paying: the first value from which the next doubling, or halving where
    the sweep goes down, brings less than `least`. "at" a value; "no": from the start; "yes": it pays to the
    end; "short": the range has no doubling. Values between points are read from straight lines of the
    logarithms."""
    known = [(abs(math.log2(x / curve[0][0])), math.log(t)) for x, t in curve if t is not None]
    if len(known) < 2 or known[-1][0] < 1 - 1e-9:
        return "short", None
    down = curve[-1][0] < curve[0][0]
    for x, time in known:
        if x + 1 > known[-1][0] + 1e-9:
            break
        if math.exp(_between(known, x + 1) - time) > 1 - least:
            return ("no", None) if x == 0 else ("at", curve[0][0] * 2 ** (-x if down else x))
    return "yes", None


def _between(points: Sequence[tuple[float, float]], x: float) -> float:
    for (left, low), (right, high) in zip(points, points[1:]):
        if x <= right + 1e-9:
            return low + (high - low) * (x - left) / (right - left)
    return points[-1][1]
