# SPDX-License-Identifier: BSD-3-Clause
"""From a signature to a model and back: closure.py [PART...] makes the model of each measured machine, runs on it
what was run on the machine, compares, and writes docs/reproduction/model.md. Parts: builtin (the models of
device/sim), forms (simulated machines of laws that a fit may not have), host (this machine; only with --host or
--before, for it takes an idle machine). Runs are kept in --keep, and done again where the model has changed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple, Optional

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import closure_tables as tables
import closure_words as words
from closure_runs import ROOT, Side, case_runs, read, report, run_signature

FORMS_BASE = "like = a100"


class Machine(NamedTuple):
    name: str
    spec: str  # of --device, but for the numbers of its devices
    devices: int  # of a run that is made here
    text: str = ""  # of its model's file, where it is none of the built-in ones
    change: str = ""  # what sets it apart, for people


BUILT_IN = (
    ("quiet", 1),
    ("default", 1),
    ("a40", 4),
    ("a100", 4),
    ("h100", 8),
    ("h200", 8),
    ("mi210", 4),
    ("mi250x", 8),
    ("mi300x", 8),
    ("t3-8", 8),
)

# Keys that differ from FORMS_BASE; and what the law is.
FORMS = (
    ("as it is", (), "the built-in model a100"),
    ("cache always warm", ("llc_tracked = 0",), "data that fits is in the cache, whatever ran before"),
    ("jitter", ("jitter_sigma = 0.02",), "durations vary, by operation"),
    (
        "blocks jitter",
        ("block_jitter_sigma = 0.05",),
        "durations of blocks vary, so waves wait for the slowest",
    ),
    (
        "asymmetric links",
        ("peer_bandwidth 0>1 = 25e9", "peer_bandwidth 2>3 = 50e9", "peer_latency_ns 0>2 = 2000"),
        "three ordered pairs of devices differ",
    ),
    ("ready first", ("engine_order = ready_first",), "an engine takes the copy that became ready first"),
    (
        "sticky engines",
        ("engine_order = ready_first", "engine_sticky = 1"),
        "a stream keeps its engine",
    ),
    ("engines that switch", ("engine_switch_ns = 3000",), "an engine that changes streams takes longer"),
    (
        "a slow kernel",
        ("slow_down = reduce_add 1.5",),
        "one kind of kernel is slower than memory and units explain",
    ),
    ("slow GEMMs", ("slow_down = gemm 1.3",), "GEMMs are slower than units explain, at every size alike"),
    ("drift", ("drift_per_s = 0.02",), "durations grow as time passes"),
)


def built_in() -> list[Machine]:
    return [Machine(name, f"sim:{name}", count) for name, count in BUILT_IN]


def forms() -> list[Machine]:
    return [
        Machine(
            name, "", 4, "\n".join([FORMS_BASE, *keys]) + "\n", f"{law} ({', '.join(keys)})" if keys else law
        )
        for name, keys, law in FORMS
    ]


class Pair(NamedTuple):
    """A machine and its model, measured alike."""

    machine: Machine
    before: Side
    after: Optional[Side]  # None: there is no model, and `why` says why
    model: str = ""
    why: str = ""


def places(devices: int, spec: str) -> str:
    return f"{spec}:0-{devices - 1}" if devices > 1 else spec


def measured(machine: Machine, kept: Path, given: argparse.Namespace) -> Path:
    """The folder of a run of the machine, with a signature of this version where `given` asks for it."""
    folder, other = kept / "before", given.before and given.before / machine.name
    if other and (other / "records.jsonl").is_file() and not folder.is_dir():
        shutil.copytree(other, folder)
    if (folder / "signature.json").is_file() and given.report:
        report(folder)
    if not (folder / "signature.json").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        spec = machine.spec
        if machine.text:
            (kept / "machine.model").write_text(machine.text, encoding="utf-8")
            spec = "sim:./machine.model"
        run_signature(places(machine.devices, spec), folder, kept, ())
    return folder


def model_of(before: Path) -> tuple[str, str]:
    """Text of the model, and why there is none."""
    done = subprocess.run(
        [str(ROOT / "gpusig"), "model", str(before)], capture_output=True, text=True, check=False
    )
    return (done.stdout, "") if done.returncode == 0 else ("", (done.stderr.strip().splitlines() or [""])[-1])


def closed(machine: Machine, keep: Path, given: argparse.Namespace) -> Pair:
    """Measure, fit, and measure the model: its headline numbers by a run of its own where the machine has the cases
    of such a model, and else those of the machine."""
    kept = keep / machine.name.replace(" ", "-")
    kept.mkdir(parents=True, exist_ok=True)
    folder = measured(machine, kept, given)
    text, why = model_of(folder)
    before = read(folder)
    if why:
        return Pair(machine, before, None, text, why)
    path, own, cases = kept / "fitted.model", kept / "after", kept / "cases"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        shutil.rmtree(own, ignore_errors=True)
        shutil.rmtree(cases, ignore_errors=True)
        path.write_text(text, encoding="utf-8")
    spec = places(before.devices, "sim:./fitted.model")
    alike = before.truth.get("data") == "none"
    if alike and not (own / "signature.json").is_file():
        shutil.rmtree(own, ignore_errors=True)
        run_signature(spec, own, kept, ("--headline",))
    if not (cases / "signature.json").is_file():
        shutil.rmtree(cases, ignore_errors=True)
        case_runs(folder / "records.jsonl", spec, cases, kept, () if alike else before.headlines.values())
    after = read(cases)
    return Pair(machine, before, read(own).over(after) if alike else after, text)


def all_closed(machines: Iterable[Machine], keep: Path, given: argparse.Namespace) -> Iterator[Pair]:
    for machine in machines:
        pair = closed(machine, keep, given)
        print(tables.one_line(pair), flush=True)
        yield pair


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="builtin, forms, host (default: the first two)"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="machines of these names")
    parser.add_argument("--before", type=Path, help="folder with runs, each named as its machine")
    parser.add_argument("--report", action="store_true", help="make the signatures of kept runs again")
    parser.add_argument("--host", action="store_true", help="measure this machine, too")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "reproduction" / "closure")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "reproduction" / "model.md")
    given = parser.parse_args()
    parts = given.parts or ["builtin", "forms", *(["host"] if given.host else [])]
    found: dict[str, list[Pair]] = {}
    for part in parts:
        machines = {"builtin": built_in, "forms": forms, "host": lambda: [Machine("host", "host", 2)]}[part]()
        chosen = [m for m in machines if not given.only or m.name in given.only]
        found[part] = list(all_closed(chosen, given.keep.resolve(), given))
    text = "\n".join(words.document(found))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(text.rstrip() + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
