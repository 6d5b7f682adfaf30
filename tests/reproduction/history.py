# SPDX-License-Identifier: BSD-3-Clause
"""Error rates of `./gpusig compare HISTORY`: history.py FOLDER [EQUAL SLOW JOBS] makes up histories of 30
nights of known noise, measures pools of nights on a simulated H100, and prints tables in Markdown, with the
answers of Apache Otava on the same series where suite/setup/setup.sh lab has brought it:
docs/reproduction/verdict.md.
"""

from __future__ import annotations

import math
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Callable, Iterable

from verdict import rate, read
from verdict_few import judged, runs_of
from verdict_pools import ROOT, measure

from reports.judge.compare import changes, steps, verdict
from reports.judge.compare.numbers import RunNumbers
from reports.judge.compare.sides import Side
from reports.judge.compare.steps import Series

sys.path.append(str(ROOT / "build/tools/apache-otava"))
try:
    from otava.analysis import compute_change_points
except ImportError:
    compute_change_points = None

NIGHTS, NUMBERS, TRIALS, LEAST = 30, 50, 400, 0.02
SETTINGS = verdict.Settings()
Values = dict[str, list[float]]
H100 = """like = h100
open_sigma = 0.005
jitter_sigma = 0.01
outlier_probability = 0.002
outlier_factor = 5
"""
POOLS = {"equal": "", "gemm": "slow_down = gemm 1.05\n", "engine": "slow_down = engine 1.05\n"}


# ------------------------------------------------------------------ made up


def t2(draw: random.Random) -> float:
    return draw.gauss(0, 1) / math.sqrt(draw.expovariate(1))


def outliers(draw: random.Random) -> float:
    return draw.gauss(0, 1) + 8 * draw.choice((-1, 1)) * (draw.random() < 0.05)


def noise(kind: str, draw: random.Random) -> Values:
    """Logarithms, of 1 % where the distribution has a spread; levels are 8 % apart."""
    of = {"t2": t2, "outliers": outliers}.get(kind, lambda d: d.gauss(0, 1))
    nights = [0.08 * (draw.random() < 0.5) * (kind == "levels of all") for _ in range(NIGHTS)]
    found = {}
    for number in range(NUMBERS):
        share = draw.uniform(0.2, 0.8) if kind == "levels of each" else 0.0
        found[f"{number}"] = [level + 0.01 * of(draw) + 0.08 * (draw.random() < share) for level in nights]
    return found


KINDS = ("normal", "t2", "outliers", "levels of all", "levels of each")


def ours(values: Values) -> list[tuple[str, int]]:
    events = steps.events(
        {name: Series(own, math.log1p(LEAST)) for name, own in values.items()}, SETTINGS.rate
    )
    return [(name, event.at) for event in events for name in event.steps]


def otavas(values: Values) -> list[tuple[str, int]]:
    """With the least magnitude of docs/ADAPTERS.md."""
    found = []
    for name, own in values.items():
        points, _ = compute_change_points([math.exp(v) for v in own], min_magnitude=LEAST)
        found += [(name, point.index) for point in points]
    return found


Finder = Callable[[Values], list[tuple[str, int]]]
FINDERS: dict[str, Finder] = {"gpusig": ours, **({"Otava": otavas} if compute_change_points else {})}


def alarm_table() -> None:
    print(f"| {NUMBERS} equal numbers | " + " | ".join(FINDERS) + " |\n|---" + "|---" * len(FINDERS) + "|")
    for kind in KINDS:
        cells = []
        for finder in FINDERS.values():
            draw = random.Random(kind)
            cells.append(rate(sum(bool(finder(noise(kind, draw))) for _ in range(TRIALS)), TRIALS))
        print(f"| {kind} | " + " | ".join(cells) + " |")
    print()


def found_table(trials: int = 200) -> None:
    print(
        "| 5 % lower since | numbers | "
        + " | ".join(f"{name}: on its night, all of them" for name in FINDERS)
        + " |"
    )
    print("|---|---" + "|---" * len(FINDERS) + "|")
    for slow in (6, 1):
        for after in (3, 4, 5, 6, 8, 10, 15):
            cells = []
            for finder in FINDERS.values():
                draw = random.Random(after)
                found = [
                    _near(finder(_slower(noise("normal", draw), slow, after)), NIGHTS - after)
                    for _ in range(trials)
                ]
                cells.append(
                    f"{sum(bool(own) for own in found)}, {sum(len(own) == slow for own in found)} of {trials}"
                )
            print(f"| {after} nights | {slow} | " + " | ".join(cells) + " |")
    print()


def named_table() -> None:
    """Print how often other numbers, or other nights, are named when some numbers step by a fifth."""
    print("| noise | one of 50: others named | other nights | six of 50: others named | other nights |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        cells = []
        for slow in (1, 6):
            draw, named, elsewhere = random.Random(kind), 0, 0
            for _ in range(TRIALS):
                after = draw.randint(5, NIGHTS - 5)
                found = ours(_slower(noise(kind, draw), slow, after, 0.8))
                near = _near(found, NIGHTS - after)
                named += any(int(name) >= slow for name in near)
                elsewhere += any(abs(at - NIGHTS + after) > 1 for _, at in found)
            cells += [rate(named, TRIALS), rate(elsewhere, TRIALS)]
        print(f"| {kind} | " + " | ".join(cells) + " |")
    print()


def _slower(values: Values, numbers: int, after: int, factor: float = 0.95) -> Values:
    return {
        name: [
            v + math.log(factor) * (int(name) < numbers and night >= NIGHTS - after)
            for night, v in enumerate(own)
        ]
        for name, own in values.items()
    }


def _near(found: Iterable[tuple[str, int]], night: int) -> set[str]:
    """Names of the numbers that step in this night or an adjacent one."""
    return {name for name, at in found if abs(at - night) <= 1}


# ------------------------------------------------------------------ a night by itself


def night_table(trials: int = 100) -> None:
    """Each bad night against 30 good ones and the bad ones before it."""
    bad = range(1, 9)
    print(f"| 5 % slower, noise | numbers | {' | '.join(f'night {night}' for night in bad)} |")
    print("|---|---" + "|---" * len(bad) + "|")
    for spread in (0.007, 0.01):
        for slow in (6, 1):
            found = [_named_at_night(spread, slow, trials, night) for night in bad]
            print(f"| {spread:.1%} | {slow} | {' | '.join(found)} |", flush=True)
    print()


def _named_at_night(spread: float, slow: int, trials: int, night: int) -> str:
    """In how many any of the numbers that are slower regresses, and in how many all of them."""
    names, slower, words = [f"m/m/{number}" for number in range(NUMBERS)], tuple(range(slow)), []
    for trial in range(trials):
        draw = random.Random(f"{spread} {slow} {trial}")
        rows = [[draw.gauss(0, spread) for _ in names] for _ in range(NIGHTS + night)]
        before = runs_of(rows[:NIGHTS], 0) + runs_of(rows[NIGHTS:-1], NIGHTS, slower)
        found = judged(before, runs_of(rows[-1:], NIGHTS + night - 1, slower), names, SETTINGS)[1]
        words.append({found.get(names[number]) for number in slower})
    return f"{sum(verdict.REGRESS in own for own in words)}, {sum(own == {verdict.REGRESS} for own in words)}"


# ------------------------------------------------------------------ simulated nights


def make(folder: Path, equal: int, slow: int, jobs: int) -> list[str]:
    todo = [(pool, n) for pool in POOLS for n in range(1, (equal if pool == "equal" else slow) + 1)]
    with ThreadPoolExecutor(jobs) as threads:
        said = threads.map(lambda one: measure(folder, one[0], H100 + POOLS[one[0]], one[1]), todo)
        return [words for words in said if words]


def history(runs: list[RunNumbers]) -> Side:
    first = datetime(2026, 10, 16, 3, 30, tzinfo=timezone.utc)
    dated = [
        replace(run, started=(first + timedelta(days=night)).isoformat()) for night, run in enumerate(runs)
    ]
    return Side("nights", dated)


def simulated_table(folder: Path, trials: int = 200) -> None:
    pools = {pool: read(folder / pool) for pool in POOLS}
    print("| 30 simulated nights | any step | a step on its night | other steps |\n|---|---|---|---|")
    draw = random.Random(1)
    found = [
        changes.judge(history(draw.sample(pools["equal"], NIGHTS)), SETTINGS)["steps"] for _ in range(trials)
    ]
    print(f"| equal | {rate(sum(bool(own) for own in found), trials)} | - | - |")
    for pool in ("gemm", "engine"):
        for after in (5, 10):
            near = other = 0
            for _ in range(trials):
                runs = draw.sample(pools["equal"], NIGHTS - after) + draw.sample(pools[pool], after)
                at = [step["night"] for step in changes.judge(history(runs), SETTINGS)["steps"]]
                near += any(abs(night - NIGHTS + after) <= 1 for night in at)
                other += any(abs(night - NIGHTS + after) > 1 for night in at)
            print(f"| {pool} 5 % slower, {after} nights after | | {rate(near, trials)} | {other} |")
    print()


def main(given: list[str]) -> int:
    alarm_table()
    found_table()
    named_table()
    night_table()
    wrong = make(Path(given[0]), *([int(word) for word in given[1:4]] or [60, 20, 2]))
    if wrong:
        print("\n".join(wrong[:5]), file=sys.stderr)
        return 1
    simulated_table(Path(given[0]))
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {__doc__}")
    sys.exit(main(sys.argv[1:]))
