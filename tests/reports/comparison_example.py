# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons as reports/judge/compare gives them, but made up: numbers are drawn, not measured, and verdicts
stated, not computed."""

from __future__ import annotations

import random
from statistics import median
from typing import Any, Callable, Dict, List, Optional, Sequence

Json = Dict[str, Any]

CONTENDED = "contended, and two tries differ"
NO_RUN = "gemm/efficiency did not run: time budget"
_COMMAND_LINE = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 " * 3
ONE_RUN = "one run a side: two runs differ anyway"

# program, metric, group, condition, unit, better, typical value
_METRICS = [
    ("gemm/efficiency", "GEMM f32 flop rate", "Compute", "f32, 2048³", "flop/s", "higher", 4.43e11),
    ("gemm/efficiency", "GEMM f64 flop rate", "Compute", "f64, 2048³", "flop/s", "higher", 1.96e11),
    ("gemm/efficiency", "peak f32 flop rate", "Compute", "f32, 2048³", "flop/s", "higher", 4.87e11),
    ("gemm/split", "GEMM DIL m8", "Compute", "f32, 512³", "1", "lower", 1.26),
    ("gemm/split", "GEMM DIL k8", "Compute", "f32, 512³", "1", "lower", 1.70),
    ("micro/memory", "memory read bandwidth", "Memory", "read, 512 MiB", "byte/s", "higher", 4.91e10),
    ("micro/memory", "memory triad bandwidth", "Memory", "triad, 512 MiB", "byte/s", "higher", 4.58e10),
    ("micro/memory", "memory triad nt bandwidth", "Memory", "triad, 512 MiB", "byte/s", "higher", 5.93e10),
    ("micro/memory", "LLC read bandwidth", "Memory", "read, 16 MiB", "byte/s", "higher", 2.18e11),
    ("micro/latency", "memory latency", "Memory", "512 MiB", "s", "lower", 1.65e-7),
    ("micro/copy_path", "host to device bandwidth", "Links", "256 MiB, engine", "byte/s", "higher", 5.4e10),
    ("micro/copy_path", "host to device latency", "Links", "8 B, engine", "s", "lower", 2.1e-6),
    ("micro/launch", "launch interval", "Starting work", "", "s", "lower", 1.44e-7),
    ("micro/launch", "launch and wait", "Starting work", "", "s", "lower", 4.93e-7),
    ("overlap/pair", "fraction of ideal", "Overlap", "f32, 4096³, up, engine", "1", "higher", 0.818),
    (
        "overlap/shaping",
        "shaping time ratio",
        "Overlap",
        "f32, 65536×4096×4096, up, engine",
        "1",
        "lower",
        0.93,
    ),
    (
        "collectives/device_allreduce",
        "allreduce bus bandwidth",
        "Collectives",
        "64 MiB, 8 devices",
        "byte/s",
        "higher",
        3.3e11,
    ),
]


def side_of(values: Sequence[Optional[float]], reason: str = "") -> Json:
    known = [v for v in values if v is not None]
    return {
        "median": median(known) if known else None,
        "values": list(values),
        "reasons": [reason if v is None else "" for v in values],
    }


def row(
    name: str,
    before: Sequence[Optional[float]],
    after: Sequence[Optional[float]],
    verdict: str = "equivalent",
    **fields: Any,
) -> Json:
    """Change and interval are those of the ratios of all pairs, as far as the picture needs them."""
    made = {
        "name": name,
        "label": "",
        "group": "",
        "condition": "",
        "unit": "1",
        "better": "higher",
        "scale": "ratio",
        "before": side_of(before),
        "after": side_of(after),
        "change": None,
        "p": None,
        "p_adjusted": None,
        "deviation": None,
        "least_effect": 0.02,
        "detectable": None,
        "verdict": verdict,
        "repeats": None,
        "reason": "",
    }
    difference = fields.get("scale") == "difference"
    known = [[v for v in values if v is not None] for values in (before, after)]
    pairs = sorted(a - b if difference else a / b for a in known[1] for b in known[0] if b or difference)
    if pairs:
        cut = len(pairs) // 5
        made["change"] = {"value": median(pairs), "low": pairs[cut], "high": pairs[-1 - cut]}
        made["p"] = made["p_adjusted"] = 0.41
        made["detectable"] = 0.031
    if not verdict:
        made.update(p_adjusted=None, detectable=None)
    return {**made, **fields}


def metrics(
    runs: int, changes: Dict[str, float], count: int = len(_METRICS), noise: float = 0.004
) -> List[Json]:
    """So many judged metrics; those that `changes` names are after / before times it, and regress or
    improve."""
    draw, rows = random.Random(7), []
    for i in range(count):
        program, label, group, condition, unit, better, value = _METRICS[i % len(_METRICS)]
        again = i // len(_METRICS)
        name = "%s/%s%s" % (program, label.lower().replace(" ", "_"), "_%d" % again if again else "")
        factor = 1.0 if again else changes.get(label, 1.0)
        before, after = ([value * f * (1 + draw.gauss(0, noise)) for _ in range(runs)] for f in (1.0, factor))
        worse = (factor > 1) == (better == "lower")
        verdict = "equivalent" if factor == 1 else "regress" if worse else "improve"
        made = row(
            name,
            before,
            after,
            verdict,
            label=label + (" %d" % again if again else ""),
            group=group,
            condition=condition,
            unit=unit,
            better=better,
        )
        if factor != 1:
            made.update(p=0.00016, p_adjusted=0.0041)
        rows.append(made)
    return rows


def side(name: str, runs: int, device: str = "host") -> Json:
    return {
        "name": name,
        "source": "gpusig",
        "machine": "AMD EPYC",
        "device": device,
        "runs": [
            {"name": "%s/run-%d" % (name, i + 1), "started": "2026-11-24T%02d:00:00+00:00" % (8 + i % 12)}
            for i in range(runs)
        ],
    }


def comparison(
    verdict: str, exit_code: int, sentence: str, runs: int, rows: List[Json], **parts: Any
) -> Json:
    made = {
        "schema": "gpusig.comparison",
        "version": "1.1.0",
        "outcome": {"verdict": verdict, "exit": exit_code, "sentence": sentence, "reasons": []},
        "settings": {
            "rate": 0.05,
            "confidence": 0.95,
            "least_effect": 0.02,
            "noise": None,
            "factor": ["driver"],
            "control": ["micro/clock"],
            "only": [],
            "nodes": False,
        },
        "before": side("driver-535", runs),
        "after": side("driver-550", runs),
        "drift": None,
        "provenance": {
            "expected": [{"field": "driver", "before": ["535.1"], "after": ["550.2"]}],
            "unexpected": [],
            "within": [],
        },
        "control": {
            "verdict": "held",
            "text": "timer overhead moved by 0.1 %, within 2.0 %.",
            "metrics": [
                row(
                    "micro/clock/timer_overhead",
                    [2.51e-8] * runs,
                    [2.512e-8] * runs,
                    "",
                    label="timer overhead",
                    unit="s",
                    better="lower",
                )
            ],
        },
        "metrics": rows,
        "others": [],
    }
    made.update(parts)
    return {**made, "others_count": len(made["others"])}


def regression() -> Json:
    rows = metrics(8, {"GEMM f32 flop rate": 0.949, "memory latency": 1.062, "launch interval": 0.93}, 51)
    rows[6].update(
        verdict="inconclusive",
        repeats=12,
        reason="the interval reaches from -2.9 % to +0.8 %, beyond the least effect",
    )
    rows[11].update(verdict="inconclusive", reason="the values of a side lie in two clusters")
    rows[15]["after"] = side_of([*rows[15]["after"]["values"][:2], *[None] * 6], CONTENDED)
    rows[15].update(
        verdict="invalid",
        reason="2 of 8 values after; at least 4 are needed",
        change=None,
        p=None,
        p_adjusted=None,
        detectable=None,
    )
    others = [
        row(
            "micro/memory/read/%dM/bandwidth" % (1 << i),
            [4e10 + i] * 8,
            [4e10 * (1.2 - i / 100)] * 8,
            "",
            unit="byte/s",
            label="bandwidth",
            condition="read, %d MiB" % (1 << i),
        )
        for i in range(14)
    ]
    return comparison(
        "regress",
        1,
        "2 of 51 headline numbers regress: GEMM f32 flop rate by 5.1 %, memory latency by 6.2 %.",
        8,
        rows,
        others=others,
    )


def equivalent() -> Json:
    sentence = "None of 17 headline numbers regresses: 17 are equivalent within 2.0 %."
    made = comparison("no regression", 0, sentence, 8, metrics(8, {}))
    made["provenance"]["expected"] = []
    return made


def single_run() -> Json:
    rows = metrics(1, {})
    for made in rows:
        made["change"].update(low=None, high=None)
        made.update(verdict="inconclusive", detectable=None, p=1.0, p_adjusted=1.0, repeats=7, reason=ONE_RUN)
    return comparison(
        "inconclusive", 3, "Inconclusive: a single run before and after is not enough.", 1, rows
    )


def invalid() -> Json:
    made = regression()
    made["outcome"] = {
        "verdict": "invalid",
        "exit": 3,
        "sentence": "Invalid: before and after differ in more than the driver.",
        "reasons": ["memory clock differs and is no factor.", "BIOS version differs and is no factor."],
    }
    made["provenance"]["unexpected"] = [
        {"field": "memory clock", "before": ["2619 MHz"], "after": ["1593 MHz"]},
        {"field": "BIOS version", "before": ["1.2"], "after": []},
        {
            "field": "kernel command line",
            "before": [_COMMAND_LINE + "nosmt"],
            "after": [_COMMAND_LINE + "quiet"],
        },
    ]
    made["provenance"]["within"] = [
        {"field": "SM clock", "side": "before", "values": ["%d MHz" % (1900 + i) for i in range(9)]}
    ]
    return made


def control_moved() -> Json:
    moved = row(
        "micro/clock/timer_overhead",
        [2.5e-8] * 8,
        [2.9e-8] * 8,
        "regress",
        label="timer overhead",
        unit="s",
        better="lower",
    )
    return comparison(
        "invalid",
        3,
        "Invalid: the control moved.",
        8,
        metrics(8, {}),
        control={
            "verdict": "moved",
            "text": "timer overhead moved by 16 %, so the machine itself differs.",
            "metrics": [moved],
        },
    )


def missing() -> Json:
    rows = metrics(8, {})
    for i, made in enumerate(rows):
        made["before"] = side_of([*made["before"]["values"][:7], None], NO_RUN)
        if i == 3:
            made["after"] = side_of([None] * 8, "above its bound")
            made.update(
                change=None,
                p=None,
                p_adjusted=None,
                detectable=None,
                verdict="invalid",
                reason="no value after",
            )
        if i == 4:
            made["before"], made["after"] = side_of([None] * 8, ""), side_of([None] * 8, "no counter")
            made.update(
                change=None,
                p=None,
                p_adjusted=None,
                detectable=None,
                verdict="invalid",
                reason="no value on either side",
            )
    return comparison("inconclusive", 3, "Inconclusive: 2 of 17 headline numbers are invalid.", 8, rows)


def difference() -> Json:
    rows = [
        row(
            "overlap/pair/fraction_of_ideal",
            [0.81, 0.82, 0.80, 0.81, 0.83, 0.82],
            [0.78, 0.79, 0.77, 0.78, 0.80, 0.79],
            "regress",
            label="fraction of ideal",
            group="Overlap",
            scale="difference",
            p=0.002,
            p_adjusted=0.004,
        ),
        row(
            "overlap/pair/gain",
            [-0.01, 0.0, 0.01, 0.0, 0.02, -0.02],
            [0.0, 0.01, -0.01, 0.0, 0.01, 0.0],
            "equivalent",
            label="gain",
            group="Overlap",
            scale="difference",
            unit="s",
            least_effect=0.05,
        ),
    ]
    return comparison("regress", 1, "1 of 2 headline numbers regresses: fraction of ideal by 0.03.", 6, rows)


def hostile(text: str) -> Json:
    """The text in every place that takes any."""

    def poisoned(made: Json) -> Json:
        made.update(name=text + made["name"], label=text, group=text, condition=text, unit=text, reason=text)
        for part in ("before", "after"):
            made[part] = side_of([*made[part]["values"][:-1], None], text)
        return made

    made = regression()
    for rows in (made["metrics"], made["others"], made["control"]["metrics"]):
        rows[:] = [poisoned(one) for one in rows[:12]]
    made["metrics"][1]["scale"] = made["others"][1]["scale"] = (
        "difference"  # so that the unit is in the change, too
    )
    made["outcome"].update(sentence=text, reasons=[text])
    made["settings"].update(noise=text, factor=[text], control=[text], only=[text])
    for part in ("before", "after"):
        made[part].update(
            name=text, source=text, machine=text, device=text, runs=[{"name": text, "started": text}] * 8
        )
    both = {"field": text, "before": [text, text], "after": [text]}
    made["provenance"] = {
        "expected": [both],
        "unexpected": [both] * 20,
        "within": [{"field": text, "side": "after", "values": [text] * 9}],
    }
    made["control"]["text"] = text
    return made


def many_others(count: int = 100000) -> Json:
    made = metrics(12, {"GEMM f32 flop rate": 0.949}, 51)
    one = regression()["others"][0]
    return comparison(
        "regress",
        1,
        "1 of 51 headline numbers regresses: GEMM f32 flop rate by 5.1 %.",
        12,
        made,
        others=[dict(one, name="%s/%d" % (one["name"], i)) for i in range(count)],
    )


def unbounded() -> Json:
    rows = metrics(3, {})
    for i, made in enumerate(rows):
        made["change"]["low" if i % 3 else "high"] = None
        if i % 3 == 2:
            made["change"]["high"] = None
        made.update(
            verdict="inconclusive",
            detectable=None,
            repeats=None,
            reason="3 runs a side cannot give a 95 % interval",
        )
    return comparison("inconclusive", 3, "Inconclusive: 3 runs a side are too few.", 3, rows)


def no_metric() -> Json:
    return comparison(
        "invalid",
        3,
        "Invalid: before and after have no headline number in common.",
        2,
        [],
        control={"verdict": "none", "text": "", "metrics": []},
    )


EXAMPLES: Dict[str, Callable[[], Json]] = {
    "regression": regression,
    "equivalent": equivalent,
    "single_run": single_run,
    "invalid": invalid,
    "control_moved": control_moved,
    "missing": missing,
    "difference": difference,
    "hostile": lambda: hostile("<b>&\x1b[2J"),
    "many_others": lambda: many_others(1000),
    "unbounded": unbounded,
    "no_metric": no_metric,
}
