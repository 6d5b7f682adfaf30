# SPDX-License-Identifier: BSD-3-Clause
"""Error rates of `./gpusig compare` with fewer than 8 runs a side: verdict_few.py [OPTION]... [POOL]...

Without a pool the noise is made up, of seven kinds. A pool is a folder of equal runs or a CSV file with the
columns run, metric, unit, better and value; --slow NAME FOLDER are runs of the same machine of which something
is slower, and --direct the names of the numbers that this slows down: docs/reproduction/verdict.md.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from reports.judge.compare import answer, drift, history, noise, sides, verdict
from reports.judge.compare.numbers import Number, RunNumbers
from reports.judge.statistics import binomial_interval

Runs = list[RunNumbers]
CHANGED = (verdict.REGRESS, verdict.IMPROVE)
METRICS = 40
NOISE_RUNS, NOISE_RUNS_OF_ONE = 16, 40
DRAWS = 100  # of the t of equal runs; compare --aa draws 400


def noise_runs(after: int) -> int:
    """One run a side takes more of them."""
    return NOISE_RUNS_OF_ONE if after == 1 else NOISE_RUNS


def design_name(before: int, after: int, with_noise: bool) -> str:
    return f"{after} against {before}" + (f", noise file of {noise_runs(after)}" if with_noise else "")


# runs before, after, and whether a noise file is there
DESIGNS = (
    (30, 1, False),
    (30, 3, False),
    (3, 3, True),
    (1, 1, True),
    (3, 3, False),
    (5, 5, False),
    (2, 2, False),
    (1, 1, False),
)


# ------------------------------------------------------------------ made-up noise


def _t2(draw: random.Random) -> float:
    return draw.gauss(0, 1) / math.sqrt(draw.expovariate(1))


def made_up(kind: str, draw: random.Random, count: int, state: dict[int, float]) -> list[list[float]]:
    """Logarithms of METRICS metrics in so many runs; `state` goes on from side to side."""
    found = []
    for _ in range(count):
        state[-1] = state.get(-1, -1) + 1
        upper = draw.random() < 0.5
        run = []
        for metric in range(METRICS):
            value = draw.gauss(0, 0.01)
            if kind == "iid, 3 %":
                value *= 3
            elif kind == "t with 2 degrees":
                value = 0.01 * _t2(draw)
            elif kind == "rare outliers" and draw.random() < 0.01:
                value += math.log(8)
            elif kind == "process at two levels":
                value += 0.08 * upper
            elif kind == "each metric at two levels":
                value += 0.08 * (draw.random() < 0.5)
            elif kind == "drift of 0.4 % a run":
                value += 0.004 * state[-1]
            elif kind == "AR(1) of 0.8, 3 %":
                state[metric] = 0.8 * state.get(metric, draw.gauss(0, 0.03)) + draw.gauss(0, 0.018)
                value = state[metric]
            run.append(value)
        found.append(run)
    return found


KINDS = (
    "iid, 1 %",
    "iid, 3 %",
    "t with 2 degrees",
    "rare outliers",
    "process at two levels",
    "each metric at two levels",
    "drift of 0.4 % a run",
    "AR(1) of 0.8, 3 %",
)


def runs_of(rows: list[list[float]], first: int, slower: tuple[int, ...] = ()) -> Runs:
    """Rates, a run a minute; 5 % slower in some metrics."""
    return [
        RunNumbers(
            f"run-{first + place}",
            "made up",
            {
                f"m/m/{metric}": Number(math.exp(v) / (1.05 if metric in slower else 1.0), "byte/s", "higher")
                for metric, v in enumerate(row)
            },
            started=f"2026-01-01T{(first + place) // 60:02d}:{(first + place) % 60:02d}:00",
        )
        for place, row in enumerate(rows)
    ]


# ------------------------------------------------------------------ judging


def settings_of(equal: Runs, names: list[str], count: int) -> verdict.Settings:
    held = [name for name in names if any(name in run.numbers for run in equal)]
    known, chance_evidence = noise.of_few(equal, held, verdict.Settings(), (count,))
    return verdict.Settings(known=known, chance_evidence=chance_evidence)


def judged(
    before: Runs, after: Runs, names: list[str], settings: verdict.Settings
) -> tuple[str, dict[str, str]]:
    """The word of the comparison, and of each number; nothing of them where they drift. Many runs before are
    a history."""
    before = history.baseline(sides.Side("before", before), sides.Side("after", after), settings).runs
    held = [name for name in names if any(name in run.numbers for run in [*before, *after])]
    rows = verdict.judged(verdict.rows_of(before, after, held, settings), settings)
    if drift.drift_of(rows, before, after) is not None:
        return "drift", {}
    return answer.word_of(rows), {row.name: row.verdict for row in rows}


def share(hits: int, trials: int) -> str:
    low, high = binomial_interval(hits, trials)
    return f"{hits} of {trials}: {hits / trials:.1%} ({low:.1%} to {high:.1%})"


class Counter:
    """Counts of the verdicts on equal sides, and of slowdowns of 5 % that are found in the metrics they
    slow."""

    def __init__(self) -> None:
        self.trials = self.changed = self.likely = self.drifted = 0
        self.found = self.found_likely = self.slowed = 0

    def equal(self, word: str, words: dict[str, str]) -> None:
        self.trials += 1
        self.drifted += word == "drift"
        changed = any(one in CHANGED for one in words.values())
        self.changed += changed
        self.likely += not changed and any(one in verdict.LIKELY for one in words.values())

    def slow(self, words: dict[str, str], direct: list[str]) -> None:
        self.slowed += len(direct)
        self.found += sum(words.get(name) == verdict.REGRESS for name in direct)
        self.found_likely += sum(words.get(name) == verdict.LIKELY_WORSE for name in direct)

    def row(self, first: str, second: str) -> str:
        found = (
            f"{self.found / self.slowed:.0%}, likely {self.found_likely / self.slowed:.0%}"
            if self.slowed
            else ""
        )
        return (
            f"| {first} | {second} | {share(self.changed, self.trials)} | {share(self.likely, self.trials)} | "
            f"{self.drifted} | {found} |"
        )


HEAD = (
    "| noise | sides | called changed | likely at most | drift | 5 % slower found |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def of_made_up(kind: str, design: tuple[int, int, bool], trials: int, seed: int) -> Counter:
    before, after, with_noise = design
    found, names = Counter(), [f"m/m/{metric}" for metric in range(METRICS)]
    for trial in range(trials):
        draw, state = random.Random(f"{seed} {kind} {design} {trial}"), {}
        settings = verdict.Settings()
        if with_noise:
            settings = settings_of(runs_of(made_up(kind, draw, noise_runs(after), {}), 0), names, after)
        then = runs_of(made_up(kind, draw, before, state), 0)
        rows = made_up(kind, draw, after, state)
        found.equal(*judged(then, runs_of(rows, before), names, settings))
        slower = (3, 17)
        found.slow(
            judged(then, runs_of(rows, before, slower), names, settings)[1], [f"m/m/{one}" for one in slower]
        )
    return found


# ------------------------------------------------------------------ pools


def of_csv(path: Path) -> Runs:
    runs: dict[str, dict[str, Number]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            number = Number(float(row["value"]), row["unit"], row["better"])
            runs.setdefault(row["run"], {})[row["metric"]] = number
    return [RunNumbers(name, "csv", numbers) for name, numbers in runs.items()]


def pool_of(path: Path) -> Runs:
    return of_csv(path) if path.is_file() else sides.read(path.parent, [path.name]).runs


def whole(runs: Runs) -> list[str]:
    """Headline numbers that nearly all runs have."""
    names = verdict.chosen(runs, verdict.Settings())[0]
    held = {
        name: sum(name in run.numbers and run.numbers[name].value is not None for run in runs)
        for name in names
    }
    return [name for name, count in held.items() if count >= 0.75 * len(runs)]


def draws(
    runs: Runs, design: tuple[int, int, bool], trials: int, seed: int
) -> Iterator[tuple[Runs, Runs, Runs]]:
    """Equal runs for a noise file, before and after; of few runs many share some."""
    before, after, with_noise = design
    draw = random.Random(f"{seed} {design}")
    for _ in range(trials):
        drawn = draw.sample(range(len(runs)), before + after)
        rest = [place for place in range(len(runs)) if place not in drawn]
        known = sorted(draw.sample(rest, min(noise_runs(after), len(rest)))) if with_noise else []
        yield (
            [runs[i] for i in known],
            [runs[i] for i in drawn[:before]],
            [runs[i] for i in drawn[before:]],
        )


def in_order(runs: Runs, design: tuple[int, int, bool]) -> Iterator[tuple[Runs, Runs, Runs]]:
    before, after, with_noise = design
    first = noise_runs(after) if with_noise else 0
    for start in range(first, len(runs) - before - after + 1):
        middle = start + before
        yield runs[start - first : start], runs[start:middle], runs[middle : middle + after]


def of_pool(
    runs: Runs, comparisons: Iterator[tuple[Runs, Runs, Runs]], slow: tuple[Runs, list[str]] | None
) -> Counter:
    names, found = whole(runs), Counter()
    for place, (known, then, now) in enumerate(comparisons):
        settings = settings_of(known, names, len(now)) if known else verdict.Settings()
        found.equal(*judged(then, now, names, settings))
        if slow:
            runs_slow = random.Random(place).sample(slow[0], len(now))
            found.slow(judged(then, runs_slow, names, settings)[1], [one for one in slow[1] if one in names])
    return found


def enough(runs: Runs, design: tuple[int, int, bool]) -> tuple[int, int, bool] | None:
    """A design of one run against all others of a small pool; None if there are too few."""
    before, after, with_noise = design
    if with_noise and len(runs) < before + after + noise_runs(after):
        return None
    before = min(before, len(runs) - after) if before == 30 else before
    return (before, after, with_noise) if before >= after else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pools", nargs="*", type=Path)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--kind", default="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", type=Path)
    parser.add_argument("--direct", nargs="*", default=[])
    given = parser.parse_args()
    noise._DRAWS = DRAWS
    print(HEAD)
    for kind in () if given.pools else [one for one in KINDS if fnmatchcase(one, given.kind)]:
        for design in DESIGNS:
            print(
                of_made_up(kind, design, given.trials, given.seed).row(kind, design_name(*design)), flush=True
            )
    for path in given.pools:
        runs = pool_of(path)
        slow = None
        if given.slow:
            names = [n for n in whole(runs) if any(fnmatchcase(n, one) for one in given.direct)]
            slow = pool_of(given.slow), names
        for wanted in DESIGNS:
            design = enough(runs, wanted)
            if design is None:
                continue
            drawn = of_pool(runs, draws(runs, design, given.trials, given.seed), slow)
            print(drawn.row(f"{path.stem}, {len(runs)} runs, at random", design_name(*design)), flush=True)
            ordered = of_pool(runs, in_order(runs, design), None)
            if ordered.trials:
                print(ordered.row(f"{path.stem}, in order", design_name(*design)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
