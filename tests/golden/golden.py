# SPDX-License-Identifier: BSD-3-Clause
"""What every program says on the simulated device, where time is virtual and a seed decides all chance.

golden.py [PROGRAM...] writes tests/golden/FOLDER-NAME.txt anew; test_golden.py compares. A few cases of every program
found in bin/, spread over its axes; what may not change by accident: cases, names, units and values. Of what is not in
virtual time, as a look at the node or ranks that really run, only names are kept: the values are this machine's.
GPUSIG_BIN=DIR takes the programs of another build.
"""
from __future__ import annotations

import functools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator

HERE = Path(__file__).resolve().parent
BIN = Path(os.environ.get("GPUSIG_BIN") or HERE.parents[1] / "bin")
OPTIONS = ["--device", "sim", "--seed", "1", "--budget", "2s", "--min-samples", "6", "--max-samples", "12"]
MOST_CASES = 5
LIMIT_S = 120
CLOSE = 1e-9
_NUMBER = re.compile(r"(?<![\w.+-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")
_RANKS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class Unable(Exception):
    """The program cannot run here; the text says why."""


def programs() -> list[str]:
    return sorted(f"{p.parent.name}/{p.name}" for p in BIN.glob("*/*") if p.is_file() and os.access(p, os.X_OK))


def golden_of(name: str) -> Path:
    return HERE / (name.replace("/", "-") + ".txt")


@functools.lru_cache(maxsize=None)
def _about(name: str) -> dict:
    said = subprocess.run([str(BIN / name), "--about"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                          check=True)
    return json.loads(said.stdout)


def _start(name: str, *more: str) -> str:
    real = "mpi" in _about(name)["needs"]  # ranks have time for all of their few cases
    ranks = ["mpirun", "-np", "2"] if real and "--list" not in more else []
    several = ["--device", "sim:0-3"] if _about(name)["min_devices"] > 1 else []
    options = [*OPTIONS, "--device", "host", "--budget", "60s"] if real else [*OPTIONS, *several]
    done = subprocess.run([*ranks, str(BIN / name), *options, *more], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False, env={**os.environ, **_RANKS})
    if done.returncode == 77:
        raise Unable(done.stderr.strip())
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{name} {' '.join(more)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _but_a_few(keys: list[str]) -> list[str]:
    """The cases to leave out: all but the first, the last and some between."""
    step = max(1.0, (len(keys) - 1) / (MOST_CASES - 1))
    kept = {keys[min(len(keys) - 1, round(i * step))] for i in range(MOST_CASES)} if keys else set()
    return [key for key in keys if key not in kept]


@functools.lru_cache(maxsize=None)
def records(name: str, *more: str) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        left_out = Path(folder) / "done"
        left_out.write_text("".join(f"{key}\n" for key in _but_a_few(_start(name, "--list").splitlines())), encoding="utf-8")
        out = _start(name, "--format", "json", "--done", str(left_out), *more)
    return [json.loads(line) for line in out.splitlines()]


def _words(*parts: object) -> str:
    return " ".join("-" if part in (None, "") else "%.12g" % part if isinstance(part, float) else str(part) for part in parts)


def _named(case: dict) -> Iterator[str]:
    """A case whose values are those of this machine."""
    yield _words("case", case["key"])
    for derived in case["derived"]:
        yield _words("  derived", derived["name"], derived["variant"], derived["unit"])


def _valued(case: dict) -> Iterator[str]:
    yield _words("case", case["key"], case["status"], case.get("check", {}).get("status"))
    for variant in case["variants"]:
        model = variant["model"]
        yield _words("  variant", variant["name"], "n", variant["n"], "median", variant["median_s"], "interval",
                     variant["ci_low_s"], variant["ci_high_s"], "model", model["bytes"], model["flops"], model["messages"])
    for derived in case["derived"]:
        yield _words("  derived", derived["name"], derived["variant"], derived["unit"], derived["value"], derived["ci_low"],
                     derived["ci_high"], derived["bound"], derived["bound_name"], "valid" if derived["valid"] else "invalid")
    for mechanism in case["mechanism"]:
        yield _words("  mechanism", mechanism["name"], "seen" if mechanism["realised"] else "not seen")
    for flag in case["validity"]["flags"]:
        yield _words("  flag", flag["flag"], flag["variant"])
    for fact, value in case["facts"].items():
        yield _words("  fact", fact, value)


def reduced(rows: list[dict]) -> list[str]:
    """One line for everything that may not change by accident."""
    run, end, cases = rows[0], rows[-1], [row for row in rows if row["kind"] == "case"]
    in_virtual_time = any(device["virtual_time"] for device in run["device"]) and any(case["variants"] for case in cases)
    lines = [_words("program", run["program"])]
    lines += [_words("axis", axis["name"], axis["unit"], *axis["values"]) for axis in run["axes"]]
    lines += [_words("primary", p["metric"], p["derived"], p["variant"], p["where"], p["reduce"], p["unit"], p["better"])
              for p in run["primary"]]
    for case in cases:
        lines += _valued(case) if in_virtual_time else _named(case)
    return [*lines, _words("end", end["status"] if in_virtual_time else "", "cases", end["cases"]["total"])]


def _parts(line: str) -> tuple[str, list[float]]:
    return _NUMBER.sub("#", line), [float(number) for number in _NUMBER.findall(line)]


def same(one: str, other: str) -> bool:
    """Equal but for the last digits of numbers."""
    (words, numbers), (others, other_numbers) = _parts(one), _parts(other)
    return words == others and all(math.isclose(a, b, rel_tol=CLOSE) for a, b in zip(numbers, other_numbers))


def differences(expected: list[str], found: list[str]) -> list[str]:
    """The lines that differ, with the case they belong to."""
    told, case = [], ""
    for number in range(max(len(expected), len(found))):
        before = expected[number] if number < len(expected) else "(no line)"
        after = found[number] if number < len(found) else "(no line)"
        case = before if before.startswith("case ") else case
        if not same(before, after):
            told.append(f"line {number + 1}{case and ', '}{case}\n  - {before.strip()}\n  + {after.strip()}")
    return told


def main(names: list[str]) -> int:
    for name in names or programs():
        try:
            lines = reduced(records(name))
        except Unable as why:
            print(f"skip {name}: {why}", file=sys.stderr)
            continue
        golden_of(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {golden_of(name).name}, {len(lines)} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
