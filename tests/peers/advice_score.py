# SPDX-License-Identifier: BSD-3-Clause
"""Which predictor of the fastest schedule is the best, on machines and shapes that nobody has seen?

    advice_score.py --machines 808,809,810,811,812,813,814,815 --shapes 16 --keep DIR
    advice_score.py --device host:0,1 --signature FOLDER --shapes 40 --keep DIR     on an idle machine
    advice_score.py --machines 900,901,902,903 --fit-rule --keep DIR

--machines: seeds, each of a simulated machine of its own (drawn_machine.py) and of its shapes. A run of
./gpusig on the machine, with jitter and without overlap/*, gives the signature, and ./gpusig model of that
the fitted model. The truth is what overlap/ficco takes on the machine itself, without jitter. With --device
the truth is measured, --each seconds a scenario, and the signature is that of an earlier run, whose cases of
overlap/ficco correct ./gpusig advise and its tables.

Rivals: ./gpusig advise; a table that it makes for each layer, as a runtime reads it; FiCCO's static rule;
every constant choice; and, as an upper bound, overlap/ficco on the true model, which knows all but the uneven
router's sizes: these are drawn anew for predictions. A scenario is a shape, a type, an operation, and a copy
method; a rival names a schedule. Those of one drawn shape whose times are equal count once. Scenarios in
which any choice is good are left out. Good: a fastest one, or at most 2 % slower. Skill: share of good ones -
that of the best constant choice of each machine, which is known only afterwards; interval by bootstrap over
drawn shapes, p by McNemar's exact test over scenarios. Printed as Markdown. --keep has all records and
signatures, and what is there is not run again. Draw new seeds after every change of a predictor.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Iterable, NamedTuple

from advice_rivals import FINER, SCHEDULES, Rule, advised, always, fitted_rule, simulated, tabled
from advice_scenarios import (
    GATHERS,
    GPU,
    HOME,
    HOST,
    SUMS,
    Key,
    Scenario,
    Times,
    Work,
    drawn,
    measured,
    scenarios_of,
)
from drawn_machine import form_of, model

from reports.advice.ask import Adviser, read_signature
from reports.predict.skill import Pair, difference, wilson

# By --fit-rule with machines 900 to 907, six shapes each.
RULE = Rule(0.0625, 100.0, 1e7, 300.0, 2e8)
ADVISE, TABLE, STATIC, TRUE = "advise", "table", "FiCCO's rule", "true model"
CURVES = ("micro/*", "gemm/*", "collectives/*")  # no predictor sees overlap/*
NO_NOISE = "?jitter_sigma=0,block_jitter_sigma=0,open_sigma=0,outlier_probability=0"
RIVALS = (ADVISE, TABLE, STATIC, TRUE)
OPS = (*GATHERS, *SUMS)


class Score(NamedTuple):
    """`losses`: of the choices that are not good."""

    scenarios: int
    hits: int
    good: int
    losses: list[float]
    mean_loss: float  # over all

    @property
    def median_loss(self) -> float | None:
        return statistics.median(self.losses) if self.losses else None

    @property
    def high_loss(self) -> float | None:
        """Nine of ten of the losses are at most this."""
        return sorted(self.losses)[math.ceil(0.9 * len(self.losses)) - 1] if self.losses else None


def score(scenarios: list[Scenario], rival: str) -> Score:
    chosen = [(s, s.picks[rival]) for s in scenarios]
    losses = [s.loss(pick) for s, pick in chosen if not s.is_good(pick)]
    return Score(
        len(chosen),
        sum(s.is_hit(pick) for s, pick in chosen),
        len(chosen) - len(losses),
        losses,
        statistics.fmean(s.loss(pick) for s, pick in chosen) if chosen else 0.0,
    )


def constant(schedule: str) -> str:
    return f"always {schedule}"


def best_constant(scenarios: list[Scenario]) -> str:
    """Good most often, and of several the one that loses least."""
    scores = {name: score(scenarios, name) for name in map(constant, SCHEDULES)}
    return max(scores, key=lambda name: (scores[name].good, -scores[name].mean_loss))


def skill(scenarios: list[Scenario], rival: str, constants: dict[str, str]) -> dict:
    """Over the constant choice of each machine."""
    return difference(
        [
            Pair(
                (s.machine, s.draw, s.sharded),
                s.is_good(s.picks[rival]),
                s.is_good(s.picks[constants[s.machine]]),
            )
            for s in scenarios
        ]
    )


# ------------------------------------------------------------------ one machine


class Place(NamedTuple):
    """A machine to score on, and where its records are."""

    name: str
    form: str
    device: str  # exact, or measured
    each_s: float | None  # None: it is simulated, and its times are exact
    jittered: str | None  # the same with jitter, where the signature is still to be made
    signature: Path
    stem: Path  # of the names of files
    seed: int

    def file(self, what: str) -> Path:
        return self.stem.with_name(f"{self.stem.name}-{what}")


class Machine(NamedTuple):
    name: str
    form: str
    scenarios: list[Scenario]
    undecided: int  # left out, because any choice is good
    unanswered: dict[str, int]  # by rival; serial is taken there
    errors: dict[tuple[str, str], list[float]]  # op, part -> time on the fitted model / on the machine


def command(words: Iterable[str], out: Path | None = None) -> None:
    words = list(words)
    print("+", *words, file=sys.stderr, flush=True)
    with (out or Path("/dev/null")).open("w", encoding="utf-8") as file:
        done = subprocess.run(words, cwd=HOME, check=False, stdout=file)
    if done.returncode not in (0, 3):
        if out:
            out.unlink()
        sys.exit(f"advice_score: exit {done.returncode}")


def fitted_model(place: Place) -> Path:
    """The model of the signature, which is made first where it is not there."""
    path = place.file("fitted.model")
    if place.jittered and not (place.signature / "signature.json").exists():
        words = ["--device", place.jittered, "--seed", str(place.seed), "--out", str(place.signature)]
        command(["./gpusig", "run", *words, *(word for name in CURVES for word in ("--only", name))])
    if not path.exists():
        command(["./gpusig", "model", str(place.signature)], path)
    return path


def ratios(truth: dict[Key, Times], told: dict[Key, Times]) -> dict[tuple[str, str], list[float]]:
    """Times on a model over true ones, of whole schedules and of the parts that explain their errors."""
    found: dict[tuple[str, str], list[float]] = {}
    for key in truth.keys() & told.keys():
        for name in truth[key].keys() & told[key].keys():
            part = name if name in ("gemm", "communication") else "schedules" if name in SCHEDULES else ""
            ratio = told[key][name].seconds / truth[key][name].seconds
            if part:
                found.setdefault((key.op, part), []).append(ratio)
    return found


def times_of(place: Place, what: str, device: str, work: Work) -> dict[Key, Times]:
    """Times on the place itself or on a model."""
    truth = what == "truth"
    each_s, seed = (place.each_s, place.seed) if truth else (None, place.seed + 1)
    both = [
        measured(place.file(f"{what}-{name}.jsonl"), device, work, ops, seed, each_s)
        for name, ops in (("gathers", work.gathers), ("sums", SUMS))
    ]
    times = {**both[0].times, **both[1].times}
    cpu_s = sum(m.cpu_s for m in both)
    if cpu_s:
        each = cpu_s / max(1, len(times))
        print(f"{place.name}, {what}: {cpu_s:.1f} s of CPU, {each:.3f} s a scenario", file=sys.stderr)
    return times


def scored(place: Place, work: Work) -> Machine:
    truth = times_of(place, "truth", place.device, work)
    fitted = fitted_model(place)
    told = times_of(place, "fitted", f"sim:{fitted}{NO_NOISE}:0-{work.devices - 1}", work)
    folder = place.file("tables")
    folder.mkdir(exist_ok=True)
    ask = Adviser(read_signature(place.signature), place.signature, HOME / "bin", folder)
    rivals = {ADVISE: advised(ask, work), TABLE: tabled(ask, work, folder), STATIC: RULE.pick}
    rivals.update((constant(s), always(s)) for s in SCHEDULES)
    if place.each_s is None:
        file = place.file("router.jsonl")  # nothing else makes a difference
        uneven = measured(file, place.device, work, ("a2a-gemm-uneven",), place.seed + 1, None)
        rivals[TRUE] = simulated({**truth, **uneven.times})
    everything = scenarios_of(place.name, work, truth, SCHEDULES)
    decided = [s for s in everything if s.decided]
    unanswered = dict.fromkeys(rivals, 0)
    for s in decided:
        for name, pick in rivals.items():
            found = pick(s)
            unanswered[name] += found is None
            s.picks[name] = found if found in s.times else SCHEDULES[0]
    same = len(everything) - len(decided)
    return Machine(place.name, place.form, decided, same, unanswered, ratios(truth, told))


def drawn_place(seed: int, keep: Path) -> tuple[Place, int]:
    text, devices = model(seed)
    path, folder = keep / f"machine-{seed}.model", keep / f"machine-{seed}"
    path.write_text(text, encoding="utf-8")
    device, exact = (f"sim:{path}{change}:0-{devices - 1}" for change in ("", NO_NOISE))
    form = form_of(seed)
    words = f"{devices}, {form.links}"
    words += {"any": ", links differ", "islands": ", two islands"}.get(form.pairs, "")
    words += f"; {form.engine_order}; {'tracked' if form.llc_tracked else 'warm'} cache"
    return Place(str(seed), words, exact, None, device, folder, keep / folder.name, seed), devices


# ------------------------------------------------------------------ text


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def own_four(scenarios: list[Scenario]) -> str:
    """The static rule among the schedules that it knows, as its paper scores it."""
    finer = [
        dataclasses.replace(s, times={name: t for name, t in s.times.items() if name in FINER})
        for s in scenarios
        if s.picks[STATIC] in FINER
    ]
    found = score([s for s in finer if s.decided], STATIC)
    return (
        f"{STATIC} among its own four schedules: good in {found.good} of {found.scenarios}, mean loss of the "
        f"others {percent(statistics.fmean(found.losses) if found.losses else None)}."
    )


def share(scenarios: list[Scenario], rival: str) -> str:
    return percent(score(scenarios, rival).good / len(scenarios)) if scenarios else "-"


def ranking(scenarios: list[Scenario], names: list[str], constants: dict[str, str]) -> list[str]:
    rows = []
    for name in names:
        found, over = score(scenarios, name), skill(scenarios, name, constants)
        low, high = wilson(found.good, found.scenarios) or (0.0, 0.0)
        rows.append(
            [
                name,
                f"{found.good} of {found.scenarios}: {percent(found.good / found.scenarios)}, "
                f"{percent(low)} to {percent(high)}",
                str(found.hits),
                percent(found.median_loss),
                percent(found.high_loss),
                percent(found.mean_loss),
                f"{100 * over['value']:+.1f} %, {100 * over['ci'][0]:+.1f} to {100 * over['ci'][1]:+.1f} %",
                f"{over['better']} / {over['worse']}, {over['p']:.2g}",
            ]
        )
    head = ["predictor", "good", "hits", "loss where not good: median", "90 %", "mean loss over all"]
    return table([*head, "skill over the best constants", "better / worse, p"], rows)


def by_machine(machines: list[Machine], names: list[str], constants: dict[str, str]) -> list[str]:
    head = ["machine", "devices, links; engines; cache", "scenarios", "left out: undecided"]
    rows = [
        [
            m.name,
            m.form,
            str(len(m.scenarios)),
            str(m.undecided),
            f"{constants[m.name][len('always ') :]}: {share(m.scenarios, constants[m.name])}",
            *(share(m.scenarios, name) for name in names),
        ]
        for m in machines
    ]
    return table([*head, "best constant", *names], rows)


def by_kind(scenarios: list[Scenario], names: list[str]) -> list[str]:
    kinds = {
        **{op: [s for s in scenarios if s.key.op == op] for op in OPS},
        **{kind: [s for s in scenarios if s.key.type == kind] for kind in ("f32", "bf16")},
        **{f"by {way}": [s for s in scenarios if s.key.copy_method == way] for way in ("engine", "kernel")},
        "whole weights": [s for s in scenarios if not s.sharded],
        "divided weights": [s for s in scenarios if s.sharded],
    }
    rows = (
        [kind, str(len(own)), *(share(own, name) for name in names)] for kind, own in kinds.items() if own
    )
    return table(["scenarios", "", *names], rows)


def off(found: list[float]) -> str:
    """The median of time on a model / true time - 1, and within what half of them are."""
    if not found:
        return "-"
    within = math.expm1(statistics.median(abs(math.log(ratio)) for ratio in found))
    return f"{100 * (statistics.median(found) - 1):+.1f} %, {percent(within)}"


def errors(machines: list[Machine]) -> list[str]:
    """Errors of the fitted model by machine, operation and part."""
    rows = []
    for m in machines:
        for op in OPS:
            cells = []
            for part in ("gemm", "communication", "schedules"):
                found = m.errors.get((op, part), [])
                cells.append(off(found))
            rows.append([m.name, op, *cells, share([s for s in m.scenarios if s.key.op == op], ADVISE)])
    return table(["machine", "op", "GEMM", "communication", "schedules", "good"], rows)


def document(machines: list[Machine]) -> list[str]:
    everything = [s for m in machines for s in m.scenarios]
    constants = {m.name: best_constant(m.scenarios) for m in machines}
    rivals = [name for name in RIVALS if all(name in m.unanswered for m in machines)]
    lost = {name: sum(m.unanswered[name] for m in machines) for name in rivals}
    names = rivals + [constant(s) for s in SCHEDULES]
    return [
        *ranking(everything, names, constants),
        "No answer, where serial is taken: "
        + (", ".join(f"{n} of {name}" for name, n in lost.items() if n) or "none")
        + ". "
        + own_four(everything),
        "",
        *by_machine(machines, rivals, constants),
        *by_kind(everything, [*rivals, best_constant(everything)]),
        *errors(machines),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--machines", default="", help="seeds of machines to draw")
    parser.add_argument("--device", help="a machine to measure, such as host:0,1")
    parser.add_argument("--signature", type=Path, help="of the device: the folder of a run")
    parser.add_argument("--shapes", type=int, default=16, help="of each machine")
    parser.add_argument("--seed", type=int, default=1, help="of the device's shapes")
    parser.add_argument("--each", type=float, default=2, help="seconds for a measured scenario")
    parser.add_argument("--keep", type=Path, required=True, help="folder of records and signatures")
    parser.add_argument("--fit-rule", action="store_true", help="print thresholds for FiCCO's rule, and end")
    o = parser.parse_args()
    keep = o.keep.resolve()
    keep.mkdir(parents=True, exist_ok=True)
    machines = []
    for seed in filter(None, o.machines.split(",")):
        place, devices = drawn_place(int(seed), keep)
        machines.append((place, Work(drawn(o.shapes, int(seed), GPU), devices, ("f32", "bf16"))))
    if o.device:
        if not o.signature:
            sys.exit("advice_score: --device needs --signature")
        devices = len(read_signature(o.signature)["devices"])
        gathers = tuple(op for op in GATHERS if op != "a2a-gemm")  # measured times are never equal
        work = Work(drawn(o.shapes, o.seed, HOST), devices, ("f32",), gathers)
        stem = keep / f"device-{o.seed}"
        machines.append((Place(o.device, "", o.device, o.each, None, o.signature, stem, o.seed), work))
    if o.fit_rule:
        truths = [(p.name, w, times_of(p, "truth", p.device, w)) for p, w in machines]
        print(fitted_rule([s for truth in truths for s in scenarios_of(*truth, SCHEDULES) if s.decided]))
        return
    print("\n".join(document([scored(place, work) for place, work in machines])))


if __name__ == "__main__":
    main()
