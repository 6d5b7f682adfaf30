# SPDX-License-Identifier: BSD-3-Clause
"""Error rates of the verdict of `./gpusig compare`: verdict.py FOLDER [EQUAL SLOW JOBS] measures pools of
runs on a simulated device, which takes half an hour, and prints tables in Markdown; verdict.py --host EQUAL
[SLOW...] judges pools that were measured on a host: docs/reproduction/verdict.md.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

from verdict_pools import FACTORS, MECHANISMS, ROOT, make, name_of

sys.path.insert(0, str(ROOT))

from reports.judge.compare import sides, verdict
from reports.judge.compare.numbers import RunNumbers
from reports.judge.statistics import binomial_interval

REPEATS = 8
COMPARISONS = 400
SETTINGS = verdict.Settings()
CALLED = (verdict.REGRESS, verdict.IMPROVE)
Runs = list[RunNumbers]


def read(folder: Path) -> Runs:
    return sides.read(folder.parent, [folder.name]).runs


def rate(hits: int, trials: int) -> str:
    low, high = binomial_interval(hits, trials)
    return f"{hits} of {trials}: {hits / trials:.1%} ({low:.1%} to {high:.1%})"


def words(
    before: Runs, after: Runs, names: list[str], settings: verdict.Settings = SETTINGS
) -> dict[str, str]:
    return {
        row.name: row.verdict
        for row in verdict.judged(verdict.rows_of(before, after, names, settings), settings)
    }


def draws(runs: Runs, seed: int, count: int) -> list[tuple[Runs, Runs]]:
    draw = random.Random(seed)
    drawn = [draw.sample(runs, 2 * REPEATS) for _ in range(count)]
    return [(d[:REPEATS], d[REPEATS:]) for d in drawn]


def alarms(splits: list[tuple[Runs, Runs]], names: list[str], settings: verdict.Settings = SETTINGS) -> int:
    return sum(
        any(word in CALLED for word in words(before, after, names, settings).values())
        for before, after in splits
    )


def equal_table(runs: Runs, names: list[str]) -> None:
    print(f"{len(runs)} equal runs, {len(names)} headline numbers, {REPEATS} runs a side.\n")
    print("| comparisons | any alarm |\n| --- | --- |")
    print(f"| drawn from all runs | {rate(alarms(draws(runs, 1, COMPARISONS), names), COMPARISONS)} |")
    tests_alone = replace(SETTINGS, least_effect=1e-9)
    print(
        f"| the same, without a least effect | "
        f"{rate(alarms(draws(runs, 1, COMPARISONS), names, tests_alone), COMPARISONS)} |"
    )
    quarter = len(runs) // 4
    for part in range(4):
        first, last = part * quarter, (part + 1) * quarter
        found = alarms(draws(runs[first:last], 2, 100), names)
        print(f"| drawn from runs {first + 1} to {last} | {rate(found, 100)} |")
    print()


def touched(truth: Runs, slow: Runs, names: list[str]) -> dict[str, float]:
    """Without noise, what a slowdown does to each metric; what it cannot affect is absent."""
    found = {}
    for name in names:
        then, now = truth[0].numbers[name], slow[0].numbers[name]
        if then.value is not None and now.value is not None and then.value != now.value:
            found[name] = (
                abs(now.value / then.value - 1)
                if then.scale == verdict.RATIO
                else abs(now.value - then.value)
            )
    return found


def slow_table(folder: Path, equal: Runs, names: list[str]) -> None:
    truth = read(folder / "truth")
    print(
        "| slowdown | metric | without noise | called a regression | called an improvement |\n| --- | --- | "
        "--- | --- | --- |"
    )
    for mechanism in MECHANISMS:
        moved = touched(truth, read(folder / f"truth-{mechanism}"), names)
        for factor in FACTORS:
            _slow_rows(
                f"{mechanism} {factor - 1:.0%}",
                equal,
                read(folder / name_of(mechanism, factor)),
                names,
                moved,
            )


def _slow_rows(title: str, equal: Runs, slow: Runs, names: list[str], moved: dict[str, float]) -> None:
    draw = random.Random(title)
    found = [
        words(draw.sample(equal, REPEATS), draw.sample(slow, REPEATS), names) for _ in range(COMPARISONS)
    ]
    direct = [
        name for name, effect in moved.items() if effect > 0.04
    ]  # all but a small part of it is the mechanism
    for name in direct:
        hits, better = (
            sum(one[name] == word for one in found) for word in (verdict.REGRESS, verdict.IMPROVE)
        )
        print(
            f"| {title} | {name} | {moved[name]:.1%} at {FACTORS[0] - 1:.0%} | {rate(hits, COMPARISONS)} | "
            f"{better} |"
        )
    others = [name for name in names if name not in moved]
    worst = max(others, key=lambda name: sum(one[name] == verdict.REGRESS for one in found))
    hits = sum(one[worst] == verdict.REGRESS for one in found)
    print(
        f"| {title} | what it cannot affect, {len(others)} metrics; most often {worst} | 0 | "
        f"{rate(hits, COMPARISONS)} | |"
    )


def simulated(folder: Path, equal: int, slow: int, jobs: int) -> int:
    wrong = make(folder, equal, slow, jobs)
    if wrong:
        print("\n".join(wrong[:5]), file=sys.stderr)
        return 1
    runs = read(folder / "equal")
    names = verdict.chosen(runs, SETTINGS)[0]
    equal_table(runs, names)
    slow_table(folder, runs, names)
    return 0


def on_host(folders: list[Path]) -> int:
    """The first pool has equal runs; of the others how often each metric is called slower."""
    equal = read(folders[0])
    for folder in folders[1:]:
        slow = read(folder)
        names = verdict.chosen([*equal, *slow], SETTINGS)[0]
        draw = random.Random(folder.name)
        found = [
            words(draw.sample(equal, REPEATS), draw.sample(slow, REPEATS), names) for _ in range(COMPARISONS)
        ]
        for name in names:
            hits = sum(one[name] == verdict.REGRESS for one in found)
            row = verdict.measured(verdict.rows_of(equal, slow, [name], SETTINGS)[0], 0.95)
            change = "-" if row.change is None else f"{row.shown(row.change) - 1:+.1%}"
            print(f"| {folder.name} | {name} | {change} | {rate(hits, COMPARISONS)} |")
    return 0


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--host"] and len(given) > 2:
        sys.exit(on_host([Path(word) for word in given[1:]]))
    if not given or given[0].startswith("-"):
        sys.exit(f"usage: {__doc__}")
    sys.exit(simulated(Path(given[0]), *([int(word) for word in given[1:4]] or [88, 20, 2])))
