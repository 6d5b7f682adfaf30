# SPDX-License-Identifier: BSD-3-Clause
"""Error rates of a preflight's verdict on the speed of nodes whose truth is known: preflight.py [NODES]
prints a table in Markdown.

Each trial draws a machine whose numbers scatter unequally, the runs of its reference, and one node; the
node's tries go through the same functions as those of a real one. What is slow is one number of all.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from reports.judge.compare.numbers import Number, RunNumbers
from reports.judge.statistics import binomial_interval
from reports.judge.preflight.node import Measured
from reports.judge.preflight.outcome import BAD
from reports.judge.preflight.reference import Expected, expected_of
from reports.judge.preflight.speed import AGAIN, judged

Noise = Callable[[random.Random], float]  # of standard deviation 1
TYPICAL, UNEQUAL = (
    0.01,
    0.6,
)  # deviation of a run; standard deviation of the logarithm of a number's deviation


def normal(draw: random.Random) -> float:
    return draw.gauss(0, 1)


def heavy(draw: random.Random) -> float:
    """Student's t with 4 degrees."""
    return draw.gauss(0, 1) / math.sqrt(draw.gammavariate(2, 1) / 2) / math.sqrt(2)


def two_levels(draw: random.Random) -> float:
    """One run of five is on a level that is worse by 2.2 standard deviations: layouts of memory that last for
    a process."""
    return (2.0 if draw.random() < 0.2 else -0.5) + draw.gauss(0, 0.2)


def reference(draw: random.Random, deviations: list[float], runs: int, noise: Noise) -> dict[str, Expected]:
    """Reference of times that are 100 without noise, so that more is worse."""
    made = [
        RunNumbers(
            f"run-{run}",
            "gpusig",
            {
                f"micro/some/time_{i}": Number(100 * math.exp(deviation * noise(draw)), "s", "lower")
                for i, deviation in enumerate(deviations)
            },
        )
        for run in range(runs)
    ]
    return expected_of(made, [])


def is_called_bad(
    draw: random.Random, deviation: float, slower: float, expected: Expected, numbers: int, noise: Noise
) -> bool:
    def value() -> float:
        return 100 * slower * math.exp(deviation * noise(draw))

    one = value()
    measured = Measured("micro/some/time", "host", one, unit="s", better="lower", key="k")
    if judged(measured, expected, numbers, last=False).outcome != AGAIN:
        return False
    other = value()
    both = replace(measured, value=other, low=min(one, other), high=max(one, other), tries=2, counted=2)
    return judged(both, expected, numbers).outcome == BAD


def trial(
    seed: str, numbers: int, runs: int, noise: Noise, slower: float, deviation: float = TYPICAL
) -> tuple[bool, bool]:
    """Two answers: is any healthy number called bad, and is the slow one, which scatters as usual."""
    draw = random.Random(seed)
    deviations = [deviation] + [deviation * math.exp(draw.gauss(0, UNEQUAL)) for _ in range(numbers - 1)]
    expected = list(reference(draw, deviations, runs, noise).values())
    called = [
        is_called_bad(draw, own, slower if i == 0 else 1.0, expected[i], numbers, noise)
        for i, own in enumerate(deviations)
    ]
    return any(called[1:] if slower > 1 else called), called[0]


def rates(
    trials: int, numbers: int, runs: int, noise: Noise, slower: float, deviation: float = TYPICAL
) -> tuple[int, int]:
    found = [
        trial(
            f"{n} {numbers} {runs} {noise.__name__} {slower} {deviation}",
            numbers,
            runs,
            noise,
            slower,
            deviation,
        )
        for n in range(trials)
    ]
    return sum(any_healthy for any_healthy, _ in found), sum(slow for _, slow in found)


def _rate(hits: int, trials: int) -> str:
    low, high = binomial_interval(hits, trials)
    return f"{hits / trials:.2%} ({low:.2%} to {high:.2%})"


def _shares(hits: list[int], trials: int) -> str:
    return " | ".join(f"{one / trials:.0%}" for one in hits)


def main(trials: int) -> None:
    print(
        f"{trials} nodes a cell; numbers scatter by 1 % from run to run at the median, unequally (0.5 % to 2 "
        f"%).\n"
    )
    print(
        "| noise | numbers | runs of the reference | healthy nodes called bad | 5 % slower found | 10 % | 20 "
        "% |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for noise in (normal, heavy, two_levels):
        for numbers in (13, 36):
            for runs in (3, 8, 30):
                healthy, _ = rates(trials, numbers, runs, noise, 1.0)
                found = [rates(trials // 10, numbers, runs, noise, slower)[1] for slower in (1.05, 1.1, 1.2)]
                name = noise.__name__.replace("_", " ")
                print(
                    f"| {name} | {numbers} | {runs} | {_rate(healthy, trials)} | "
                    f"{_shares(found, trials // 10)} |",
                    flush=True,
                )
    print("\nNumbers that scatter by 3.5 % at the median, as on a shared virtual machine, normal noise:\n")
    print("| numbers | runs | healthy nodes called bad | 10 % slower found | 20 % | 40 % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for runs in (3, 8, 30):
        healthy, _ = rates(trials, 13, runs, normal, 1.0, 0.035)
        found = [rates(trials // 10, 13, runs, normal, slower, 0.035)[1] for slower in (1.1, 1.2, 1.4)]
        print(f"| 13 | {runs} | {_rate(healthy, trials)} | {_shares(found, trials // 10)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
