# SPDX-License-Identifier: BSD-3-Clause
"""Machines of known truth for scorecards, without records: what the reader would give of their runs."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from reports.judge.compare import gpusig
from reports.judge.compare.numbers import DIFFERENCE, RATIO, Number, RunNumbers
from reports.judge.compare.sides import Side
from reports.judge.scorecard import card, metrics, price, workload
from reports.judge.scorecard.card import Question
from reports.judge.scorecard.machines import Machine
from reports.judge.scorecard.price import STATED, Price, Prices
from reports.judge.scorecard.questions import QUESTIONS
from reports.judge.scorecard.workload import Line, Mix, Time

Json = Dict[str, Any]
T2 = 4.303  # of Student's distribution with 2 degrees of freedom, 95 %


def _spread(relative: Optional[float]) -> Optional[Json]:
    known = {"relative": relative, "metrics": 20, "degrees": 2.0, "families": {}}
    return None if relative is None else known


class Truth(NamedTuple):
    """True value of a number, and how it moves from run to run (relative; absolute if it is a difference)."""

    value: float
    noise: float = 0.01
    better: Optional[str] = "higher"
    unit: str = "byte/s"
    scale: str = RATIO
    condition: str = ""
    group: str = "Memory"


def drawn(truth: Truth, generator: random.Random) -> float:
    moved = generator.gauss(0, truth.noise)
    return truth.value + moved if truth.scale == DIFFERENCE else truth.value * math.exp(moved)


def _signature(
    name: str,
    values: Mapping[str, float],
    truths: Mapping[str, Truth],
    spread: Optional[float],
    simulated: bool,
    device: Mapping[str, Any],
) -> Json:
    entries = {}
    for key, value in values.items():
        truth = truths[key]
        entries[key] = {
            "value": value,
            "unit": truth.unit,
            "better": truth.better,
            "primary": True,
            "ci_low": value,
            "ci_high": value,
            "condition": truth.condition,
            "n": 20,
        }
        if spread is not None:
            half = T2 * math.sqrt(2) * spread * (abs(value) if truth.scale == RATIO else 1.0)
            entries[key].update(run_low=value - half, run_high=value + half, run_degrees=2.0)
    backend = str(device.get("backend", "cuda"))
    return {
        "device": backend,
        "simulated": simulated,
        "unverified": False,
        "metrics": entries,
        "primary_missing": [],
        "devices": {
            "%s[%d]" % (backend, k): dict(
                {"name": "GPU of " + name, "backend": backend, "driver": "1"}, **device
            )
            for k in range(int(device.get("count", 1)))
        },
        "provenance": {
            "fields": {"version": "abc", "hostname": name},
            "environment": {},
            "changed_between_runs": {},
        },
        "invalid": [],
        "not_measured": [],
        "runs": [{"program": "micro/memory", "status": "ok"}],
        "programs": {},
        "run_spread": _spread(spread),
    }


def machine(
    name: str,
    truths: Mapping[str, Truth],
    runs: int = 3,
    seed: int = 1,
    spread: Optional[float] = None,
    simulated: bool = False,
    **device: Any,
) -> Machine:
    """`spread`: that a run states of itself from repeats."""
    generator = random.Random("%s %d" % (name, seed))
    found: List[RunNumbers] = []
    signatures = []
    for k in range(runs):
        values = {key: drawn(truth, generator) for key, truth in truths.items()}
        numbers = {
            key: Number(
                value,
                truths[key].unit,
                truths[key].better,
                scale=truths[key].scale,
                label=key.rpartition("/")[2],
                group=truths[key].group,
                condition=truths[key].condition,
                case=gpusig.case_of(*key.partition("@")[0].rpartition("/")[::2], truths[key].condition),
            )
            for key, value in values.items()
        }
        found.append(
            RunNumbers(
                "%s/run-%d" % (name, k + 1),
                "gpusig",
                numbers,
                "%s %d %d" % (name, seed, k),
                "2026-01-0%dT00:00:00" % (k % 9 + 1),
                name,
                "cuda: GPU of " + name,
                simulated,
                {"driver: device driver": "1", "options: budget s": "600"},
            )
        )
        signatures.append(_signature(name, values, truths, spread, simulated, device))
    kind = str(device.get("backend", "cuda"))
    paths = [Path(name) / ("run-%d" % (k + 1)) / "signature.json" for k in range(runs)]
    kind = kind if kind in ("host", "sim") else "gpu"
    return Machine(
        name,
        Side(name, found),
        signatures,
        paths,
        kind,
        int(device.get("count", 1)),
        simulated,
        _spread(spread),
    )


def truths(count: int, seed: int, noises: Sequence[float] = (0.005, 0.01, 0.02, 0.05)) -> Dict[str, Truth]:
    """So many numbers of both directions, and one in five a difference around 0."""
    generator = random.Random(seed)
    found = {}
    for k in range(count):
        noise, better = generator.choice(list(noises)), generator.choice(["higher", "lower"])
        name = "micro/memory/number_%02d" % k
        if k % 5 == 4:
            found["overlap/pair/overlap_efficiency_%02d" % k] = Truth(
                generator.uniform(-0.5, 1), noise, better, "", DIFFERENCE, group="Overlap"
            )
        else:
            found[name] = Truth(
                10 ** generator.uniform(-6, 12), noise, better, "s" if better == "lower" else "byte/s"
            )
    return found


def card_of(machines: Sequence[Machine], base: Optional[str] = None, **more: Any) -> Json:
    rows = metrics.rows_of(machines)
    metrics.judge(rows[0])
    return card.card(machines, rows, Question(base, **more))


def wins(found: Json) -> int:
    """Pairs of which one is called better."""
    return sum(len(others) for row in found["metrics"] for others in row["better_than"].values())


def random_mix(names: List[str], seed: int) -> Mix:
    generator = random.Random(seed)
    items = [
        workload.judge(
            Line(
                "item %d" % k,
                {name: Time(10 ** generator.uniform(-3, 0), generator.uniform(0.01, 0.3)) for name in names},
            )
        )
        for k in range(5)
    ]
    return Mix(items, workload._sum("total", items, names), None, len(items))


def full(text: str = "", of: str = "abc") -> Json:
    """A card with everything on it, of machines with these letters, and `text` in every place that takes any
    text."""
    asked = {names[0]: Truth(1e12) for names in QUESTIONS.values()}
    made = [machine(name + text, {**asked, **truths(8, k % 2)}, 3) for k, name in enumerate(of)]
    for one in made:
        for run in one.runs:
            run.numbers.update(
                {name: replace(number, label=number.label + text) for name, number in run.numbers.items()}
            )
    lacking = list(made[2].runs[0].numbers)[-1]
    for run in made[2].runs:
        run.numbers[lacking] = Number(None, "", None, reason="its case did not run" + text)
    names = [one.name for one in made]
    mix = random_mix(names, 1)
    prices = Prices(
        {name: Price(10.0 + k, "EUR/h", 700.0, STATED, "stated") for k, name in enumerate(names)},
        ["a note" + text],
    )
    rows = metrics.rows_of(made)
    metrics.judge(rows[0])
    return card.card(
        made, rows, Question(None, mix, "mix" + text, price.judge(prices, rows[0], mix), "prices" + text)
    )
