# SPDX-License-Identifier: BSD-3-Clause
"""Results that must not be believed: a run's folder that others prepared, a fleet of which a part is slow,
and wrong results, here or in another tool's table."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from random import Random

from suite.commands.export import FORMATS

from tests.attack import judge
from tests.attack.workplace import Workplace

_NOBODY = 65534
_READ = ("run", "plan.json", "records.jsonl", "logs", "lock")
_TABLE = "-b 64K -e 4M -f 64 -n 6 -w 1 --algorithm ring --format nccl-tests".split()
_RATES = re.compile(r"\b[0-9]+\.[0-9]+\b")
# Evidence of a failure, and what stands in its place in a good table.
_EVIDENCE = (
    (r"# Out of bounds values : 0 OK", "# Out of bounds values : 3 FAILED"),
    (r"       0      N/A     N/A", "       7      N/A     N/A"),
    (r"\Z", "srun: error: node1: task 1: Exited with exit code 1\n"),
    (r"\Z", "Abort(1) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1)\n"),
    (r"\Z", "mpirun noticed that process rank 1 with PID 4 on node n1 exited on signal 9 (Killed).\n"),
)
_NAMED = r"run has wrong results: micro/copy_path on sim:"
# Commands that read the runs good and run, and what each prints about the wrong results of run.
_CONSUMERS = (
    *((f"export --to {name} run", _NAMED) for name in FORMATS),
    ("export --to prometheus run", r"(?m)^gpusig_wrong_results\{.*\} [1-9]"),
    ("export --to junit run", 'type="wrong result"'),
    ("report run", "wrong result"),
    ("fleet run", "[1-9][0-9]* wrong results? of micro/copy_path"),
    ("compare good run", r"gave 0 wrong\s+results\s+before\s+and\s+[1-9]"),
    ("compare --aa run", _NAMED),
    ("scorecard good run", r"! no, failed:\s+micro/copy_path"),
    ("preflight --device sim:quiet --reference run", _NAMED),
    ("model run", "the signature has wrong results: micro/copy_path on sim:"),
)


def attempt(chance: Random, place: Workplace) -> str | None:
    scene = chance.choice((_planted_command, _others_folder, _split_fleet, _split_fleet, _wrong, _foreign))
    return scene(chance, place)


def _planted_command(chance: Random, place: Workplace) -> str | None:
    """A plan's command is not run."""
    folder, planted = shutil.copytree(place.completed, place.folder / "run"), place.folder / "planted"
    plan = json.loads((folder / "plan.json").read_text("utf-8"))
    word = f"touch {planted}"
    plan["setting"] = chance.choice((word, ["sh", "-c", word]))
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    ran = place.run(place.driver("run", "--resume", "run"))
    if ran.code == 0 or planted.exists():
        return ran.says(f"a command of plan.json was {'run' if planted.exists() else 'passed over'}")
    return judge.ended(ran) or judge.brief(ran)


def _others_folder(chance: Random, place: Workplace) -> str | None:
    """Nothing is measured into what others may write, or left."""
    folder = shutil.copytree(place.completed, place.folder / "run")
    found = [path for path in (folder, *folder.rglob("*")) if path.name in _READ]
    at = chance.choice(found)
    if os.geteuid() == 0 and chance.random() < 0.5:
        os.chown(at, _NOBODY, -1)
    else:
        at.chmod(at.stat().st_mode | chance.choice((0o020, 0o002)))
    before = (folder / "records.jsonl").read_bytes()
    ran = place.run(place.driver("run", "--resume", "run"))
    if ran.code not in (1, 2) or (folder / "records.jsonl").read_bytes() != before:
        return ran.says(f"{at.relative_to(place.folder)} of others was gone on with")
    return judge.ended(ran) or judge.brief(ran)


def _lose(signature: dict, chosen: str, cause: str) -> None:
    """The headline numbers of a program have no valid value."""
    for name, own in list(signature["metrics"].items()):
        if own["primary"] and own["program"] == chosen:
            metric = name.partition("@")[0].rpartition("/")[2]
            entry = {"program": chosen, "device": own["device"], "metric": metric}
            signature["primary_missing"].append({**entry, "cause": cause, "reason": "lost"})
            del signature["metrics"][name]


def _split_fleet(chance: Random, place: Workplace) -> str | None:
    """No node is off is never said of a fleet of which a tenth to a half is slower by a fifth or more, nor of
    one of which any part lost numbers."""
    signature = json.loads((place.completed / "signature.json").read_text("utf-8"))
    cause = chance.choice(("", "", "throttled", "contended", "above_bound", "error", "not_run"))
    count, slow = chance.randint(4, 16), 1.0 if cause else chance.choice((0.5, 0.8))
    bad = chance.randint(1, count - 1 if cause else count // 2)
    program = chance.choice([own["program"] for own in signature["metrics"].values() if own["primary"]])
    for number in range(count):
        node = json.loads(json.dumps(signature))
        node["provenance"]["fields"]["hostname"] = f"node{number}"
        for metric in node["metrics"].values():
            rate = chance.uniform(0.995, 1.005) * (slow if number < bad else 1.0)
            factor = rate if metric.get("better") == "higher" else 1.0 / rate
            for end in ("value", "ci_low", "ci_high"):
                if isinstance(metric.get(end), (int, float)):
                    metric[end] *= factor
        if cause and number < bad:
            _lose(node, program, cause)
        (place.folder / "nodes" / f"node{number}").mkdir(parents=True)
        (place.folder / "nodes" / f"node{number}" / "signature.json").write_text(json.dumps(node), "utf-8")
    ran = place.run(place.driver("fleet", "nodes"))
    if ran.code not in (1, 3):
        return ran.says(f"{bad} of {count} nodes are at {slow} or lost {program}: {cause}")
    return judge.ended(ran)


def _wrong(chance: Random, place: Workplace) -> str | None:
    """Every consumer of a run with wrong results says so."""
    every, model = chance.randint(1, 40), place.folder / "a.model"
    for name, faults in (("good", ""), ("run", f"corrupt_copy_every = {every}\n")):
        model.write_text(f"like = quiet\n{faults}", encoding="utf-8")
        only = ["--only", "micro/copy_path", "--budget", "2s"]
        measured = place.run(place.driver("run", "--device", "sim:./a.model", *only, "--out", name))
    rows = judge.rows(place.folder / "run" / "records.jsonl")
    wrong = sum(row.get("cause") == "wrong_result" for row in rows)
    if measured.code != 1 or not wrong:
        return measured.says(f"a copy in {every} is wrong, and {wrong} cases are")
    for words, shown in _CONSUMERS:
        ran = place.run(place.driver(*words.split()))
        if not re.search(shown, ran.out + ran.err):
            return ran.says(f"{wrong} wrong results do not show")
        if problem := judge.ended(ran):
            return problem
    return None


def _foreign(chance: Random, place: Workplace) -> str | None:
    """A table with evidence of a failure is no better than one without."""
    made = place.run(place.program("collectives/device_allreduce", "sim:0,1", *_TABLE))
    old, new = chance.choice(_EVIDENCE)
    for side, factor in (("before", 1.0), ("after", chance.choice((1.0, 1.5)))):
        for number in range(6):
            rate = factor * chance.uniform(0.998, 1.002)
            text = _RATES.sub(lambda found: f"{float(found[0]) * rate:.2f}", made.out)
            if side == "after":
                text, count = re.subn(old, new, text)
                if not count:
                    return made.says(f"no '{old}'")
            path = Path(place.folder, side, f"{number}.txt")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    ran = place.run(place.driver("compare", "before", "after"))
    return ran.says(f"'{new}' passed") if ran.code not in (1, 3) else judge.ended(ran)
