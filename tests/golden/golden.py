# SPDX-License-Identifier: BSD-3-Clause
"""Output of every program on the simulated device, where time is virtual and a seed decides all chance.

golden.py [PROGRAM...] writes tests/golden/FOLDER-NAME.txt anew; test_golden.py compares. A few cases of every
program found in bin/, spread over its axes; what may not change by accident: cases, names and units, what
each quantity is a ratio or difference of, and to three digits the values that the primary metrics are made
of. Of what is not in virtual time, as a look at the node or ranks that really run, only names are kept: the
values are this machine's. GPUSIG_BIN=DIR takes the programs of another build.
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
sys.path.insert(0, str(HERE))

import programs_table

BIN = Path(os.environ.get("GPUSIG_BIN") or HERE.parents[1] / "bin")
OPTIONS = ["--device", "sim", "--seed", "1", "--warm-up", "0", "--min-samples", "6", "--max-samples", "6"]
ACROSS_DEVICES = ("micro/peer_matrix",)  # they run on one device, too, but say more of several
MACHINES = {  # programs for what few models have
    "overlap/t3": "sim:t3-8:0-7",
    "micro/neighbour": "sim:default?tenants=2:0,1",
    "micro/storage": "sim:default?storage_bandwidth=5e9",
}
MOST_CASES = 3
MOST_VALUES = 4  # of a case
DIGITS = 3
DERIVED_BY_THE_HARNESS = ("time", "bandwidth", "flop_rate", "message_rate")
LIMIT_S = 600
_NUMBER = re.compile(r"(?<![\w.+-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")
# Ranks are no virtual device, and their values are not kept: one sample of each is enough.
_REAL = ["--device", "host", "--budget", "60s", "--warm-up", "0", "--min-samples", "1", "--max-samples", "1"]
_RANKS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


class Unable(Exception):
    """The program cannot run here; the text says why."""


def programs() -> list[str]:
    return sorted(
        f"{p.parent.name}/{p.name}" for p in BIN.glob("*/*") if p.is_file() and os.access(p, os.X_OK)
    )


def golden_of(name: str) -> Path:
    return HERE / (name.replace("/", "-") + ".txt")


@functools.lru_cache(maxsize=None)
def _about(name: str) -> dict:
    said = subprocess.run(
        [str(BIN / name), "--about"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return json.loads(said.stdout)


def _start(name: str, *more: str) -> str:
    real = "mpi" in _about(name)["needs"]  # ranks have time for all of their few cases
    ranks = ["mpirun", "-np", "2"] if real and "--list" not in more else []
    several = ["--device", "sim:0-3"] if _about(name)["min_devices"] > 1 or name in ACROSS_DEVICES else []
    several = ["--device", MACHINES[name]] if name in MACHINES else several
    options = [*OPTIONS, *_REAL] if real else [*OPTIONS, *several]
    done = subprocess.run(
        [*ranks, str(BIN / name), *options, *more],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={**os.environ, **_RANKS},
    )
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
        done = Path(folder) / "done"
        done.write_text(
            "".join(f"{key}\n" for key in _but_a_few(_start(name, "--list").splitlines())), encoding="utf-8"
        )
        out = _start(name, "--format", "json", "--done", str(done), *more)
    return [json.loads(line) for line in out.splitlines()]


def _words(*parts: object) -> str:
    return " ".join(
        "-" if part in (None, "") else "%.12g" % part if isinstance(part, float) else str(part)
        for part in parts
    )


def _named(case: dict) -> Iterator[str]:
    """A case whose values are those of this machine."""
    yield _words("case", case["key"])
    yield _words("  derived", *dict.fromkeys(_words(d["name"], d["unit"] or "1") for d in case["derived"]))


def _telling(case: dict, primary: list[dict]) -> list[dict]:
    """The values that the primary metrics are made of, else the first ones."""
    wanted = {(p["derived"], p["variant"]) for p in primary}
    found = [d for d in case["derived"] if (d["name"], d["variant"]) in wanted or (d["name"], None) in wanted]
    return (found or case["derived"])[:MOST_VALUES]


def _valued(case: dict, primary: list[dict]) -> Iterator[str]:
    yield _words("case", case["key"], case["status"], case.get("check", {}).get("status"))
    yield _words("  variants", *(v["name"] for v in case["variants"]))
    yield _words("  derived", *dict.fromkeys(_words(d["name"], d["unit"] or "1") for d in case["derived"]))
    for one in _telling(case, primary):
        yield _words(
            "  value", one["name"], one["variant"], one["value"], "valid" if one["valid"] else "invalid"
        )
    for mechanism in case["mechanism"]:
        yield _words("  mechanism", mechanism["name"], "seen" if mechanism["observed"] else "not seen")
    if case["validity"]["flags"]:
        yield _words(
            "  flags", *(_words(flag["flag"], flag["variant"]) for flag in case["validity"]["flags"])
        )
    if case["facts"]:
        yield _words("  facts", *case["facts"])


def _quantities(cases: list[dict], in_virtual_time: bool) -> list[str]:
    """Formula of each derived quantity: what it is, and of which variants; "." is the variant that it is
    reported under. The recomputation takes the record's word for it, so an inverted ratio is found here. The
    fastest variant, and so the subject of a "best_" number, depends on the machine if time is real."""

    def term(of: object, own: str | None) -> str:
        if isinstance(of, dict):
            return "+".join(f"{how}({','.join(names)})" for how, names in of.items() if names)
        return f".{of[len(own) :]}" if own and f"{of}-".startswith(f"{own}-") else str(of)

    lines = [
        _words(
            "quantity",
            d["name"],
            d["kind"],
            *(term(of, d["variant"]) for of in d["of"] if in_virtual_time or d["name"][:5] != "best_"),
        )
        for case in cases
        for d in case["derived"]
        if d["kind"] not in ("value", "model") and d["name"] not in DERIVED_BY_THE_HARNESS
    ]
    return list(dict.fromkeys(lines))


def reduced(rows: list[dict]) -> list[str]:
    """One line for everything that may not change by accident."""
    run, end, cases = rows[0], rows[-1], [row for row in rows if row["kind"] == "case"]
    in_virtual_time = any(device["virtual_time"] for device in run["device"]) and any(
        case["variants"] for case in cases
    )
    lines = [_words("program", run["program"])]
    lines += [_words("axis", axis["name"], axis["unit"], *axis["values"]) for axis in run["axes"]]
    for p in run["primary"]:
        where = ("%s=%s" % term for term in p["where"].items())
        lines.append(
            _words("primary", p["metric"], p["derived"], p["variant"], *where, p["unit"], p["better"])
        )
    for case in cases:
        lines += _valued(case, run["primary"]) if in_virtual_time else _named(case)
    return [
        *lines,
        *_quantities(cases, in_virtual_time),
        _words("end", end["status"] if in_virtual_time else "", "cases", end["cases"]["total"]),
    ]


def rounded(line: str) -> str:
    """Numbers of values to the digits that are kept; those of keys and axes are exact."""
    return (
        _NUMBER.sub(lambda n: "%.*g" % (DIGITS, float(n[0])), line) if line.startswith("  value ") else line
    )


def same(kept: str, found: str) -> bool:
    """Equal, but for digits of values that are not kept: half of the last one kept, and a trillionth for
    other compilers."""
    if not kept.startswith("  value "):
        return kept == found
    numbers, others = ([float(n) for n in _NUMBER.findall(line)] for line in (kept, found))
    return _NUMBER.sub("#", kept) == _NUMBER.sub("#", found) and all(
        abs(a - b) <= _half(a) for a, b in zip(numbers, others)
    )


def _half(number: float) -> float:
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(number or 1.0))) + 1 - DIGITS) * (1 + 1e-9)


def differences(expected: list[str], found: list[str]) -> list[str]:
    """The lines that differ, with the case they belong to."""
    told, case = [], ""
    for number in range(max(len(expected), len(found))):
        before = expected[number] if number < len(expected) else "(no line)"
        after = found[number] if number < len(found) else "(no line)"
        inside = (after if number >= len(expected) else before).startswith(" ")
        case = before if before.startswith("case ") else case if inside else ""
        if not same(before, after):
            told.append(
                f"line {number + 1}{case and ', '}{case}\n  - {before.strip()}\n  + {rounded(after).strip()}"
            )
    return told


def main(names: list[str]) -> int:
    for name in names or programs():
        try:
            lines = [rounded(line) for line in reduced(records(name))]
        except Unable as why:
            print(f"skip {name}: {why}", file=sys.stderr)
            continue
        golden_of(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {golden_of(name).name}, {len(lines)} lines")
    return programs_table.main(["--write"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
