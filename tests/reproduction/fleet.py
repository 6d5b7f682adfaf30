# SPDX-License-Identifier: BSD-3-Clause
"""Error rates of `./gpusig fleet`: fleet.py [--out FILE] [--pools FOLDER] [--trials N] writes
docs/reproduction/fleet.md from fleets that are drawn and fleets of simulated devices, in some minutes;
fleet.py --large SIGNATURE FOLDER measures what a thousand signatures of full size take.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Callable, Iterator

import fleet_pools
from fleet_pools import ROOT

sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "reports")]

import fleets
from reports.judge.compare.numbers import RATIO, Number
from reports.judge.statistics import binomial_interval
from reports.judge.compare.verdict import Settings
from reports.judge.fleet import judge, nodes, outliers
from reports.judge.fleet.fleet import INCONCLUSIVE, NONE_OFF, OFF, Asked, assess

SPREADS = (0.003, 0.005, 0.0065, 0.0075, 0.01)
SIZES = (4, 8, 16, 32, 128)
SLOWER = (1.02, 1.03, 1.05, 1.1, 1.2, 1.5)
TAILS = (
    ("normal", fleets.normal),
    ("Student, 8 degrees of freedom", fleets.student(8)),
    ("Student, 5 degrees of freedom", fleets.student(5)),
    ("Student, 3 degrees of freedom", fleets.student(3)),
    ("exponential towards slow", fleets.skewed),
)
NOISES = (
    ("each number by itself", fleets.independent),
    ("a part of each", fleets.mixed),
    ("a family alike", fleets.by_family),
    ("all numbers alike", fleets.alike),
)
EQUAL, SLOW = 48, 8  # nodes of each pool
RACK, RACK_SLOW = 8, 24  # nodes of a rack, and of each pool that is slow
QUIET = 10  # numbers of a real machine that spread least

HEAD = """# How often `fleet` names the right node

`./gpusig fleet` compares each node with all others ([how](../method/verdicts.md#a-fleet)). Here it is tried where the truth is
known: fleets of equal nodes, where each node that is called an outlier is a false alarm, and fleets with nodes that were slowed down.
Least effect 2 %, rate 5 %; intervals are Clopper and Pearson's, 95 %. `make reproduction` writes this file.
"""
DRAWN = """## Random fleets

40 headline numbers of 16 mechanisms ([fleets.py](../../tests/reports/fleets.py)). Every node is off by a draw of its own in all
numbers, in each mechanism, and in each number; the *spread* is the standard deviation of all three together, from node to node
and from run to run. One node is slow in one mechanism, which has one to five numbers.
"""


def rate(hits: int, trials: int) -> str:
    low, high = binomial_interval(hits, trials)
    return f"{hits} of {trials}: {hits / trials:.1%} ({low:.1%} to {high:.1%})"


def equal(trials: int, count: int, spread: float, tail: fleets.Draw = fleets.normal) -> int:
    """In how many fleets of equal nodes one is called an outlier."""
    draw = random.Random(f"equal {count} {spread}")
    return sum(bool(fleets.judged(fleets.fleet(draw, count, spread, (), tail)).slow) for _ in range(trials))


def found(
    trials: int, count: int, spread: float, slower: float, bad: int = 1, alike: bool = False
) -> tuple[int, int]:
    """In how many fleets all slow nodes are called outliers, and in how many any other is."""
    draw = random.Random(f"slow {count} {spread} {slower} {bad}")
    hits = wrong = 0
    for _ in range(trials):
        mechanisms = [draw.randrange(len(fleets.METRICS_OF)) for _ in range(bad)]
        slow = [{mechanisms[0] if alike else mechanism: slower} for mechanism in mechanisms]
        called = set(fleets.judged(fleets.fleet(draw, count, spread, slow)).slow)
        bad_ones = set(range(count - bad, count))
        hits, wrong = hits + (bad_ones <= called), wrong + bool(called - bad_ones)
    return hits, wrong


def by_spread(trials: int) -> Iterator[str]:
    yield (
        "| 32 nodes, spread | one 5 % slow is found | another is called | equal ones, any "
        "alarm |\n| --- | --- | --- | --- |"
    )
    for spread in SPREADS:
        hits, wrong = found(trials, 32, spread, 1.05)
        alarms = equal(2 * trials, 32, spread)
        yield f"| {spread:.2%} | {rate(hits, trials)} | {rate(wrong, trials)} | {rate(alarms, 2 * trials)} |"


def by_size(trials: int) -> Iterator[str]:
    yield (
        "\nBy number of nodes, at a spread of 0.5 %. Of 2, 3, 5, 10, 20 and 50 %, the "
        "third column has the first that is found in"
    )
    yield "9 of 10 fleets.\n"
    yield (
        "| nodes | one 5 % slow is found | found in 9 of 10 fleets | equal ones of a "
        "spread of 1 %, any alarm |\n| --- | --- | --- | --- |"
    )
    for count in SIZES:
        few = trials if count < 100 else trials // 2  # the cost is that of nodes
        hits, _ = found(few, count, 0.005, 1.05)
        enough = next(
            (slower for slower in SLOWER if found(few // 4, count, 0.005, slower)[0] >= 0.9 * (few // 4)),
            None,
        )
        alarms = rate(equal(2 * few, count, 0.01), 2 * few)
        yield f"| {count} | {rate(hits, few)} | {f'{enough - 1:.0%} slow' if enough else 'none'} | {alarms} |"


def worse_cases(trials: int) -> Iterator[str]:
    yield (
        "\nSeveral bad nodes of 32, each 5 % slow, at a spread of 0.5 %: their effect on the spread must not "
        "hide them.\n"
    )
    yield "| bad nodes | all are found | another is called |\n| --- | --- | --- |"
    for bad, alike in ((2, False), (2, True), (4, True), (8, True), (12, True)):
        hits, wrong = found(trials, 32, 0.005, 1.05, bad, alike)
        yield (
            f"| {bad}, {'in one mechanism' if alike else 'each in its own'} | "
            f"{rate(hits, trials)} | {rate(wrong, trials)} |"
        )


WORDS = ("named", "some named", "undecided", "clean")


def answer_of(fleet: list[nodes.Node], bad: set[int], only: tuple[str, ...] = ()) -> tuple[str, bool]:
    """Verdict on a fleet in which these places are slow, and whether another node is called an outlier."""
    found = assess(fleet, Asked("fleet"), Settings(only=only))
    off = {place for place, node in enumerate(found["nodes"]) if node["state"] == OFF}
    verdict = found["outcome"]["verdict"]
    said = "clean" if verdict == NONE_OFF else "undecided" if verdict == INCONCLUSIVE else "some named"
    return "named" if bad and bad <= off else said, bool(off - bad)


def _row(label: str, answers: list[tuple[str, bool]]) -> str:
    said = [sum(word == own for own, _ in answers) for word in WORDS]
    others = sum(wrong for _, wrong in answers)
    return f"| {label} | {' | '.join(f'{count / len(answers):.1%}' for count in (*said, others))} |"


_SAID = "| all are named | some are | undecided | **clean** | another is called |"


def drawn_slow(draw: random.Random, count: int, bad: int, spread: float, slower: float, all_of: bool) -> list:
    """The last ones are slow in one mechanism, or in everything."""
    mechanisms = range(len(fleets.METRICS_OF)) if all_of else [draw.randrange(len(fleets.METRICS_OF))]
    return fleets.fleet(draw, count, spread, [dict.fromkeys(mechanisms, slower)] * bad)


def many_slow(trials: int) -> Iterator[str]:
    yield "\n## Up to half of a fleet\n"
    yield (
        "k of n nodes are equally slow in one mechanism, or in every number. *Named*: all k are called "
        "outliers. *Undecided*: exit 3."
    )
    yield "*Clean*: exit 0, which must not be said where more than a tenth is slow by 20 % or more.\n"
    yield f"| n | spread | slow | k {_SAID}\n| --- | --- | --- |{' --- |' * 6}"
    draw = random.Random("many slow")
    for count, spread in ((4, 0.005), (8, 0.005), (12, 0.005), (12, 0.02), (17, 0.01), (32, 0.01)):
        few = max(20, trials * 4 // count)
        for slower, all_of in ((1.2, False), (2.0, True)):
            for bad in sorted({max(1, count // 8), count // 4, count // 3, 5 * count // 12, count // 2}):
                bad_ones = set(range(count - bad, count))
                answers = [
                    answer_of(drawn_slow(draw, count, bad, spread, slower, all_of), bad_ones)
                    for _ in range(few)
                ]
                what = f"{slower - 1:.0%} more time{' in all' if all_of else ''}"
                yield _row(f"{count} | {spread:.1%} | {what} | {bad}", answers)


_SPREADS = (0.01, 0.02, 0.03, 0.04, 0.06)


def one_number(trials: int) -> Iterator[str]:
    yield (
        "\nThe worst case: a single number, whose spread is such that a node 20 % slow is nearly found. In "
        "how "
        "many fleets clean is said"
    )
    yield (
        "where k nodes are slow, and where none is. Where more than half are slow the others look fast; "
        "clean is "
        "not said where one"
    )
    yield "may be faster by 20 %, which its bound tells in 99.5 % of cases.\n"
    yield "| n | k | spread | clean though k are 20 % slow | clean of equal ones |\n|" + " --- |" * 5
    draw, only = random.Random("one number"), (fleets.name_of(2),)
    of_few = [(cell, spread) for cell in ((4, 1), (8, 1), (12, 2), (12, 6), (32, 4)) for spread in _SPREADS]
    of_most = [
        (cell, spread) for cell in ((8, 7), (12, 10), (20, 19)) for spread in (0.001, 0.005, *_SPREADS)
    ]
    for (count, bad), spread in of_few + of_most:
        said = [
            [
                answer_of(fleets.fleet(draw, count, spread, [{1: 1.2}] * slow, metrics=(2,)), set(), only)
                for _ in range(trials)
            ]
            for slow in (bad, 0)
        ]
        clean = [rate(sum(word == "clean" for word, _ in own), trials) for own in said]
        yield f"| {count} | {bad} | {spread:.1%} | {clean[0]} | {clean[1]} |"


def groups_of_equal(trials: int) -> Iterator[str]:
    """Rows of the shares of fleets of equal nodes in which two groups are found, and which are called
    clean."""
    yield "\nEqual nodes: in how many fleets two groups are found, and clean is said.\n"
    yield "| nodes | distribution | spread | two groups | clean | undecided |\n|" + " --- |" * 6
    for count in (4, 8, 12, 32):
        for name, tail in (TAILS[0], TAILS[2], TAILS[4]):
            for spread in (0.005, 0.02):
                draw = random.Random(f"groups {count} {name} {spread}")
                said = [
                    assess(fleets.fleet(draw, count, spread, (), tail), Asked("fleet"), Settings())
                    for _ in range(max(20, trials * 4 // count))
                ]
                split = sum(bool(one["kinds"][0]["groups"]) for one in said)
                verdicts = [one["outcome"]["verdict"] for one in said]
                shares = (split, verdicts.count(NONE_OFF), verdicts.count(INCONCLUSIVE))
                yield (
                    f"| {count} | {name} | {spread:.1%} | "
                    + " | ".join(f"{share / len(said):.1%}" for share in shares)
                    + " |"
                )


def slowed(node: nodes.Node, slower: float) -> nodes.Node:
    """The same measurement on a node on which all takes so many times as long."""

    def number(own: Number) -> Number:
        if own.value is None or own.better is None or not own.judged:
            return own
        if own.scale != RATIO:
            return replace(own, value=own.value - (slower - 1))
        factor = slower if own.better == "lower" else 1 / slower
        ends = [None if end is None else end * factor for end in (own.low, own.high)]
        return replace(own, value=own.value * factor, low=ends[0], high=ends[1])

    runs = [
        replace(run, numbers={name: number(own) for name, own in run.numbers.items()}) for run in node.runs
    ]
    return replace(node, runs=runs)


def quietest(pool: list[nodes.Node]) -> tuple[str, ...]:
    """The headline numbers that spread least from node to node."""
    spreads = {}
    for metric in judge.judge("", pool, Settings()).metrics:
        if not metric.reason and metric.count == len(pool) and metric.number.scale == RATIO:
            spreads[metric.name] = metric.spread
    return tuple(sorted(spreads, key=spreads.__getitem__)[:QUIET])


def on_host(folder: Path, trials: int) -> Iterator[str]:
    """Fleets whose nodes are equal runs of one real machine, with the noise that it has."""
    pool = nodes.read(folder, [path.name for path in sorted(folder.glob("run-*"))])
    draw, quiet = random.Random("host"), quietest(pool)
    yield "\n## Fleets with the noise of a real machine\n"
    yield (
        f"Every node is one of {len(pool)} equal runs of one machine ({pool[0].kind}), drawn without "
        "repetition; k of them have every number"
    )
    yield (
        f"slowed down. Some of its numbers spread so far that nothing is known about a node; of the "
        f"{len(quiet)} that spread least (`--only`)"
    )
    yield "more is. The runs are not kept here: `fleet.py --host FOLDER` takes those of `run --repeats`.\n"
    yield f"| judged | n | slow | k {_SAID}\n| --- | --- | --- |{' --- |' * 6}"
    for label, only in (("all numbers", ()), (f"{len(quiet)} numbers", quiet)):
        for count in (8, 12):
            for slower in (1.0, 1.25, 2.0):
                some = {count // 8, count // 4, count // 3, 5 * count // 12, count // 2}
                for bad in sorted(some) if slower > 1 else (0,):
                    answers = []
                    for _ in range(trials // 4):
                        drawn = draw.sample(pool, count)
                        made = [
                            slowed(node, slower) if place >= count - bad else node
                            for place, node in enumerate(drawn)
                        ]
                        answers.append(answer_of(made, set(range(count - bad, count)), only))
                    yield _row(f"{label} | {count} | {slower - 1:.0%} more time | {bad}", answers)


def heavy_tails(trials: int) -> Iterator[str]:
    yield (
        "\n32 equal nodes whose numbers have heavier tails than the normal distribution "
        "that p assumes, with the same standard"
    )
    yield (
        "deviation. The target of 5 % is **missed** wherever the tail reaches beyond the "
        "least effect: a node in the tail is far from all"
    )
    yield "others, and is called. For such a fleet set `--effect`.\n"
    yield "| distribution | any alarm, spread 0.2 % | 0.5 % | 1 % |\n| --- | --- | --- | --- |"
    for name, tail in TAILS:
        rates = [rate(equal(trials, 32, spread, tail), trials) for spread in (0.002, 0.005, 0.01)]
        yield f"| {name} | {' | '.join(rates)} |"


def on_pools(folder: Path, trials: int) -> Iterator[str]:
    """Fleets put together from nodes that were measured on a simulated device."""
    wrong = fleet_pools.make(fleet_pools.MANY, folder, EQUAL, SLOW, 2)
    if wrong:
        raise RuntimeError("\n".join(wrong[:5]))
    pools = {pool: nodes.read(folder, [pool]) for pool in ("equal", *fleet_pools.SLOW)}
    draw, count = random.Random(1), len(judge.judge("", pools["equal"], Settings()).metrics)
    yield "\n## Fleets of simulated devices\n"
    yield (
        "Whole runs in their own processes "
        f"([fleet_pools.py](../../tests/reproduction/fleet_pools.py)): {count} headline numbers of"
    )
    yield (
        f"{len(fleet_pools.PROGRAMS)} programs. Each device is off by "
        f"{fleet_pools.SPREAD:.1%} in every mechanism, and by 0.3 % in every"
    )
    yield (
        "program; operations have 1 % of jitter, blocks 2 %, and there are outliers of "
        "five times the time. Fleets of 32 are drawn from"
    )
    yield f"{EQUAL} equal nodes and {SLOW} of each slow kind, so trials share nodes.\n"
    yield "| fleet | the slow one is called | another is called |\n| --- | --- | --- |"
    alarms = sum(
        bool(judge.judge("", draw.sample(pools["equal"], 32), Settings()).slow) for _ in range(2 * trials)
    )
    yield f"| 32 equal | | {rate(alarms, 2 * trials)} |"
    for pool in fleet_pools.SLOW:
        hits = others = 0
        for _ in range(trials):
            called = set(
                judge.judge("", [*draw.sample(pools["equal"], 31), draw.choice(pools[pool])], Settings()).slow
            )
            hits, others = hits + (31 in called), others + bool(called - {31})
        miss = "" if hits >= 0.9 * trials else ", **miss** of 90 %"
        yield (
            f"| 31 and one {fleet_pools.FACTOR - 1:.0%} slow in {pool} | {rate(hits, trials)}{miss} | "
            f"{rate(others, trials)} |"
        )


def rack_equal(
    count: int, noise: fleets.Noise, spread: float, missing: float, trials: int, seed: str = "rack"
) -> list[int]:
    """In how many racks of equal nodes a family is called slow, and anything is."""
    draw, found = random.Random(f"{seed} {count} {spread} {missing}"), [0, 0]
    for _ in range(trials):
        kind = judge.judge("", fleets.rack(draw, count, spread, noise, missing=missing), Settings())
        found[0] += any(kind.slow_families.values())
        found[1] += bool(kind.slow)
    return found


def racks(trials: int) -> Iterator[str]:
    """One node slow in one family of numbers that move together."""
    yield "\n## Numbers that move together\n"
    numbers = sum(map(len, fleets.FAMILIES.values()))
    yield (
        f"{RACK} nodes with {numbers + len(fleets.LONE)} numbers, {numbers} of them in "
        f"{len(fleets.FAMILIES)} families of 2 to 6; one node is 5 % slow in all of one family,"
    )
    yield "drawn anew each time. What nodes differ by is drawn for each number, each family or each node.\n"
    yield (
        "| what differs | spread | the node is named | with its family | another is called |\n|"
        + " --- |" * 5
    )
    for name, noise in NOISES:
        for spread in (0.003, 0.005, 0.008):
            draw, hits, families, wrong = random.Random(f"rack {name} {spread}"), 0, 0, 0
            for _ in range(trials):
                family = draw.choice(list(fleets.FAMILIES))
                slow = dict.fromkeys(fleets.FAMILIES[family], 1.05)
                kind = judge.judge(
                    "", fleets.rack(draw, RACK, spread, noise(fleets.normal), slow), Settings()
                )
                called = [call.family.label for call in kind.slow_families.get(RACK - 1, ())]
                hits, wrong = hits + (RACK - 1 in kind.slow), wrong + bool(kind.slow.keys() - {RACK - 1})
                families += family in called
            cells = " | ".join(rate(own, trials) for own in (hits, families, wrong))
            yield f"| {name} | {spread:.1%} | {cells} |"


def racks_of_equal(count: int, trials: int) -> list[str]:
    """Rows of a table."""
    lines = []
    cases = [(tail, noise, 0.0) for tail in (TAILS[0], TAILS[2], TAILS[3], TAILS[4]) for noise in NOISES[::2]]
    cases += [(TAILS[0], NOISES[3], 0.0), (TAILS[2], NOISES[3], 0.0), (TAILS[0], NOISES[1], 0.1)]
    for (tail_name, tail), (name, noise), missing in cases:
        found = [rack_equal(count, noise(tail), spread, missing, trials) for spread in (0.005, 0.01)]
        what = f"{name}{', a tenth missing' if missing else ''}"
        cells = " | ".join(rate(own, trials) for pair in found for own in pair)
        lines.append(f"| {count} | {tail_name} | {what} | {cells} |")
    return lines


def equal_racks(trials: int) -> Iterator[str]:
    yield RACKS_OF_EQUAL
    for count in (4, 8, 16, 64):
        yield from racks_of_equal(count, trials if count < 60 else trials // 4)
    yield "\nThe two normal kinds with most alarms above, 8 nodes with a spread of 1 %, in new random fleets: anything is called in"
    for (name, noise), missing in ((NOISES[2], 0.0), (NOISES[1], 0.1)):
        _, alarms = rack_equal(RACK, noise(fleets.normal), 0.01, missing, 5 * trials, "again")
        yield f"{rate(alarms, 5 * trials)} ({name}{', a tenth missing' if missing else ''}){'.' if missing else ','}"


RACKS_OF_EQUAL = """
Racks and fleets of equal nodes: in how many a family is called an outlier, and anything, be it a family or a single number. The target of
5 % is kept with normal values, however alike the numbers of a node are, and if some are missing. With long tails it is
**missed** by single numbers, as above, and by families, too: from 8 nodes on, and on 4 with an exponential one.

| nodes | distribution | what differs | spread 0.5 %, a family | anything | spread 1 %, a family | anything |
| --- | --- | --- | --- | --- | --- | --- |"""


def on_racks(folder: Path, trials: int) -> Iterator[str]:
    """Racks of nodes that were measured on a simulated H100, with every headline number."""
    wrong = fleet_pools.make(fleet_pools.RACK, folder, EQUAL, RACK_SLOW, 2)
    if wrong:
        raise RuntimeError("\n".join(wrong[:5]))
    pools = {pool: nodes.read(folder, [pool]) for pool in ("equal", *fleet_pools.RACK.slow)}
    draw, all_equal = random.Random(2), judge.judge("", pools["equal"], Settings())
    gemm = all_equal.families[0]
    spreads = [all_equal.metrics[at].spread or 0.0 for at in gemm.metrics]
    yield "\n## Racks of eight simulated H100s\n"
    yield (
        f"Whole runs of `--headline` as above, with {len(all_equal.metrics)} numbers. The "
        f"{len(gemm.metrics)} {gemm.label} spread by {min(spreads):.2%} to {max(spreads):.2%}"
    )
    yield (
        f"from node to node, their mean by {gemm.spread:.2%}. Racks are drawn from {EQUAL} equal nodes and "
        f"{RACK_SLOW} of each slow kind. Before numbers"
    )
    yield "were judged together, only the last column was found.\n"
    yield "| rack | the slow one is named | another is called | by single numbers |\n| --- | --- | --- | --- |"
    drawn = [draw.sample(pools["equal"], RACK) for _ in range(2 * trials)]
    alarms = sum(bool(judge.judge("", one, Settings()).slow) for one in drawn)
    yield f"| {RACK} equal | | {rate(alarms, 2 * trials)} | |"
    for pool in fleet_pools.RACK.slow:
        hits = others = single = 0
        for _ in range(trials):
            rack = [*draw.sample(pools["equal"], RACK - 1), draw.choice(pools[pool])]
            kind = judge.judge("", rack, Settings())
            hits, single = hits + (RACK - 1 in kind.slow), single + bool(kind.slow.get(RACK - 1))
            others += bool(kind.slow.keys() - {RACK - 1})
        cells = " | ".join(rate(own, trials) for own in (hits, others, single))
        yield f"| {RACK - 1} and one {fleet_pools.FACTOR - 1:.0%} slow in {pool} | {cells} |"


def reference() -> Iterator[str]:
    yield "\n## Few nodes\n"
    yield (
        "The z at which a single number of a single node among 40 numbers is called an outlier. "
        "The spread of few nodes is uncertain.\n"
    )
    yield "| nodes | " + " | ".join(map(str, SIZES + (1000,))) + " |\n|" + " --- |" * (len(SIZES) + 2)
    yield (
        "| z | "
        + " | ".join(f"{outliers.critical(0.025 / (40 * n), n - 1):.1f}" for n in SIZES + (1000,))
        + " |"
    )


def large(signature: Path, folder: Path, count: int = 1000) -> int:
    """Time and memory of a thousand signatures made from one; the values of each differ."""
    text, draw = signature.read_text(encoding="utf-8"), random.Random(1)
    for number in range(count):
        made = json.loads(text)
        for entry in made["metrics"].values():
            keys, factor = ("value", "ci_low", "ci_high"), 1 + draw.gauss(0, 0.005)
            entry.update({key: entry[key] * factor for key in keys if isinstance(entry.get(key), float)})
        made["provenance"]["fields"]["hostname"] = f"node{number:04d}"
        place = folder / f"node{number:04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "signature.json").write_text(json.dumps(made), encoding="utf-8")
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "suite", "fleet", str(folder), "--html", str(folder / "fleet.html")],
        cwd=ROOT,
        check=False,
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{count} signatures of {(folder / 'node0000/signature.json').stat().st_size / 1e3:.0f} kB: exit "
        f"{done.returncode}, "
        f"{time.monotonic() - began:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of a core, at most "
        f"{used.ru_maxrss / 1024:.0f} MiB in each process; page of "
        f"{(folder / 'fleet.html').stat().st_size / 1e3:.0f} kB"
    )
    return 0


def _lines(part: Callable[..., Iterator[str]], *more: object) -> list[str]:
    return list(part(*more))


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "reproduction" / "fleet.md")
    parser.add_argument("--pools", type=Path, default=ROOT / "build" / "reproduction" / "fleet")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--host", type=Path, help="the folder of equal runs of one real machine")
    parser.add_argument("--large", type=Path, nargs=2)
    given = parser.parse_args()
    if given.large:
        return large(*given.large)
    with ProcessPoolExecutor(2) as pool:
        parts = [
            pool.submit(_lines, part, *more)
            for part, *more in (
                (by_spread, given.trials),
                (by_size, given.trials),
                (worse_cases, given.trials),
                (heavy_tails, given.trials),
                (racks, given.trials),
                (equal_racks, given.trials),
                (many_slow, given.trials),
                (one_number, given.trials),
                (groups_of_equal, given.trials),
                (on_pools, given.pools, given.trials),
                (on_racks, given.pools / "rack", given.trials),
                (reference,),
                *[(on_host, given.host, given.trials)] * bool(given.host),
            )
        ]
        lines = [HEAD, DRAWN] + [line for part in parts for line in part.result()]
    given.out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
