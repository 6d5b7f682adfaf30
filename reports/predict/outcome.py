# SPDX-License-Identifier: BSD-3-Clause
"""Outcomes of a program: a time for each piece of work, that of its fastest way."""

from __future__ import annotations

import math
import statistics
from typing import Mapping, NamedTuple, Optional, Sequence

from reports.predict.simulation import Failed, Simulated


class Outcome(NamedTuple):
    """The work of one case. Where its program names the best of its variants, those that move the same bytes
    and compute the same flops are ways to do it, of which the fastest counts; others stand for themselves."""

    key: str
    variants: tuple[str, ...]

    def fastest(self, times: Mapping[str, float]) -> Optional[tuple[float, str]]:
        return min(((times[v], v) for v in self.variants if v in times), default=None)


def outcomes(base: Simulated) -> list[Outcome]:
    """Those of the variants that are no references, or of all where there are no others."""
    found: dict[tuple[str, object], list[str]] = {}
    for key, case in base.cases.items():
        own = [name for name in case.times if name not in base.references] or list(case.times)
        for name in own:
            work = case.work[name]
            found.setdefault((key, work if case.chooses and any(work) else name), []).append(name)
    return [Outcome(key, tuple(names)) for (key, _), names in found.items()]


def ratios(base: Simulated, changed: Simulated, asked: Sequence[Outcome]) -> list[Optional[float]]:
    """Time on the changed model / time on the model; None where the changed model gives none."""
    found = []
    for outcome in asked:
        before = outcome.fastest(base.cases[outcome.key].times)
        case = changed.cases.get(outcome.key)
        after = outcome.fastest(case.times) if case else None
        found.append(after[0] / before[0] if before and after else None)
    return found


def mean(found: Sequence[Optional[float]]) -> Optional[float]:
    """The geometric mean of the ratios that are known."""
    known = [ratio for ratio in found if ratio is not None]
    return math.exp(statistics.fmean(map(math.log, known))) if known else None


def mean_ratio(base: Simulated, changed: Simulated | Failed, asked: Sequence[Outcome]) -> Optional[float]:
    return None if isinstance(changed, Failed) else mean(ratios(base, changed, asked))


def moved(base: Simulated, changed: Simulated, asked: Sequence[Outcome]) -> float:
    """The largest relative change of one outcome, either way."""
    return max((abs(math.log(r)) for r in ratios(base, changed, asked) if r is not None), default=0.0)
