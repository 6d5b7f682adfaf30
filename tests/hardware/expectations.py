# SPDX-License-Identifier: BSD-3-Clause
"""Compare the results of a call with the expectations for this GPU in docs/BACKENDS.md.

    expectations.py FOLDER      of run/, aa/, programs/ and questions.tsv, as check.sh leaves them

The expectations are the Markdown table with the columns "metric" and "unit", a column a GPU, and "because". A
cell is "LOW to HIGH", one number, or in quotes what the answer or its remark begins with; empty: none for
this GPU. A metric is "questions/NAME", a headline number or a fact of a program, "PROGRAM/NAME", or any of
its values, "PROGRAM/QUANTITY{variant=V,AXIS=VALUE}". A run's value is taken before that of a program alone.
Where "because" begins with "one device:", records of several devices are passed over.

Printed: a line for each value outside, the expected values that are missing with the record's reason, and how
many were compared. Exit 0, also where some lie outside: they are surprises, not failures. 2: no such table.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from reports.records.curves import why_invalid
from reports.records.metrics import primary_of
from reports.records.quantity import human
from reports.records.record_file import read
from reports.records.records import Group, Records

UNITS = {
    "TB/s": (1e12, "byte/s"),
    "GB/s": (1e9, "byte/s"),
    "TFLOP/s": (1e12, "flop/s"),
    "TOP/s": (1e12, "op/s"),
    "us": (1e-6, "s"),
    "ns": (1e-9, "s"),
}
MAKERS = {"nvidia", "amd", "instinct", "simulated", "device"}
UNITLESS = ("", "-", "1", "ratio", "fraction", "count")
ELSEWHERE = "this device or these options leave it out"


@dataclass(frozen=True)
class Expectation:
    metric: str
    unit: str
    cell: str
    because: str

    def interval(self) -> tuple[float, float]:
        """In base units."""
        low, _, high = self.cell.partition(" to ")
        scale, _ = base_of(self.unit)
        return float(low) * scale, float(high or low) * scale

    @property
    def text(self) -> str:
        """Text that the answer or its remark has to begin with; empty where a number is expected."""
        return self.cell[1:-1] if self.cell.startswith('"') else ""

    @property
    def for_one_device(self) -> bool:
        return self.because.startswith("one device:")


class Found(NamedTuple):
    """A value with its unit and grade, or why there is none."""

    value: float | str | None = None
    unit: str = ""
    grade: str = ""
    why: str = ""
    source: str = ""


# ------------------------------------------------------------------ the table


def cells(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def base_of(unit: str) -> tuple[float, str]:
    """Its factor and base unit, which is empty for ratios and counts."""
    return (1.0, "") if unit in UNITLESS else UNITS.get(unit, (1.0, unit))


def words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", name.lower())) - MAKERS


def table(document: str) -> dict[str, list[Expectation]]:
    """By GPU, the table's columns between "unit" and "because"."""
    found: dict[str, list[Expectation]] = {}
    heads: list[str] = []
    for line in document.splitlines():
        row = cells(line) if line.startswith("|") else []
        if row[:2] == ["metric", "unit"] and row[-1] == "because":
            heads = row
            found = {gpu: [] for gpu in heads[2:-1]}
        elif not row:
            heads = []
        elif heads and not set(row[0]) <= {"-"}:
            if len(row) != len(heads):
                raise ValueError(f"{row[0]}: {len(row)} cells in a table of {len(heads)} columns")
            for gpu, cell in zip(heads[2:-1], row[2:-1]):
                if cell:
                    found[gpu].append(Expectation(row[0], row[1], cell, row[-1]))
    return found


# ------------------------------------------------------------------ what was measured


def number_or_fact(group: Group, name: str) -> Iterator[Found]:
    taken, missing, _ = primary_of(group, "")
    entry = taken.get(f"{group.program}/{name}")
    if entry:
        yield Found(entry["value"], entry["unit"], entry.get("grade") or "")
    yield from (Found(why=m["reason"]) for m in missing if m["metric"] == name)
    if any(primary.metric == name for primary in group.run.primary):
        yield Found(why=ELSEWHERE)
    for case in group.cases.values():
        if name in case.facts:
            yield Found(case.facts[name])
    yield Found(why="its case did not run, or does not say it")


def value_of_case(group: Group, name: str, labels: dict[str, str]) -> Iterator[Found]:
    axes = {key: value for key, value in labels.items() if key != "variant"}
    why = "its case did not run"
    for case in group.cases.values():
        if any(str(case.axes.get(axis)) != value for axis, value in axes.items()):
            continue
        why = case.reason or f"its case has no {name}"
        for derived in case.derived:
            if derived.name == name and derived.variant == labels.get("variant"):
                invalid = why_invalid(case, derived)
                yield Found(why=invalid) if invalid else Found(derived.value, derived.unit, derived.grade)
    yield Found(why=why)


def of_program(records: Records, expected: Expectation) -> Found:
    program, name = re.match(r"([^/]+/[^/]+)/(.+)", expected.metric).groups()  # type: ignore[union-attr]
    groups = [group for group in records.groups.values() if group.program == program]
    if not groups:
        end = records.unstarted.get(program)
        return Found(why=f"{program} left no record" + (f": {end.reason}" if end else ""))
    if expected.for_one_device:
        groups = [group for group in groups if len(group.run.devices) < 2]
        if not groups:
            return Found(why=ELSEWHERE)
    labelled = re.fullmatch(r"([^{]+)\{(.*)\}", name)
    if labelled:
        labels = dict(word.split("=", 1) for word in labelled[2].split(","))
        return next(value_of_case(groups[0], labelled[1], labels))
    return next(number_or_fact(groups[0], name))


def of_questions(answers: dict[str, list[str]], name: str, is_text: bool) -> Found:
    if name not in answers:
        return Found(why="not answered")
    answer, unit, remark = answers[name]
    if is_text:
        return Found(f"{answer}; {remark}")
    try:
        value = float(answer)
    except ValueError:
        return Found(why=f"{answer}, {unit}: {remark}")
    scale, base = base_of(unit)
    return Found(value * scale, base)


@dataclass(frozen=True)
class Measured:
    sources: dict[str, Records]  # what is most to be trusted first
    answers: dict[str, list[str]]

    @property
    def gpu(self) -> str:
        """As the driver names it."""
        names = (
            str(device["name"])
            for records in self.sources.values()
            for run in records.runs()
            for device in run.devices
            if device.get("name")
        )
        return next(names, self.answers.get("opening_the_device", [""] * 3)[2])

    def find(self, expected: Expectation) -> Found | None:
        """None: nothing was asked that would tell."""
        if expected.metric.startswith("questions/"):
            name = expected.metric.partition("/")[2]
            return of_questions(self.answers, name, bool(expected.text)) if self.answers else None
        found = [
            of_program(records, expected)._replace(source=source) for source, records in self.sources.items()
        ]
        best = next((f for f in found if f.value is not None), None)
        return best or next((f for f in found if " left no record" not in f.why), found[0] if found else None)


def measured(folder: Path) -> Measured:
    files = [*sorted(folder.glob("run/records.jsonl")), *sorted(folder.glob("aa/*/records.jsonl"))]
    sources = {str(path.parent.relative_to(folder)): read(path) for path in files}
    sources |= {f"programs/{path.stem}": read(path) for path in sorted(folder.glob("programs/*.jsonl"))}
    questions = folder / "questions.tsv"
    lines = questions.read_text(encoding="utf-8").splitlines() if questions.is_file() else []
    rows = [line.split("\t") for line in lines]
    return Measured(sources, {row[0]: row[1:] for row in rows if len(row) == 4})


# ------------------------------------------------------------------ what is said


def outside(expected: Expectation, found: Found) -> str:
    """Description of a surprise, or "" if there is none. Raises ValueError if the two can't be compared."""
    if expected.text:
        if any(part.startswith(expected.text) for part in str(found.value).split("; ")):
            return ""
        return f"{expected.metric} is '{found.value}', expected \"{expected.text}\": {expected.because}"
    if isinstance(found.value, str):
        raise ValueError(f"'{found.value}' is no number")
    if base_of(found.unit)[1] != base_of(expected.unit)[1]:
        raise ValueError(f"its unit is '{found.unit}', the table's '{expected.unit}'")
    low, high = expected.interval()
    if low <= found.value <= high:
        return ""
    notes = ", ".join(word for word in (found.grade, found.source) if word)
    wanted = f"{expected.cell} {expected.unit}".rstrip()
    said = f"{expected.metric} is {human(found.value, found.unit)}, expected {wanted}: {expected.because}"
    return f"{said} ({notes})" if notes else said


def compare(expectations: list[Expectation], got: Measured, gpu: str) -> Iterator[str]:
    compared = surprises = 0
    missing: dict[str, list[str]] = {}
    for expected in expectations:
        found = got.find(expected)
        if found is None:
            continue
        try:
            if found.value is None:
                raise ValueError(found.why)
            surprise = outside(expected, found)
            compared += 1
        except ValueError as why:
            missing.setdefault(str(why), []).append(expected.metric)
            continue
        if surprise:
            surprises += 1
            yield f"outside expectation: {surprise}"
    left_out = missing.pop(ELSEWHERE, [])
    yield from (f"no value: {', '.join(names)}: {why}" for why, names in missing.items())
    if left_out:
        yield f"not measured, as {ELSEWHERE}: {', '.join(left_out)}"
    lacking = sum(map(len, missing.values()))
    yield (
        f"{surprises or 'none'} outside of {compared} expectations that were compared ({gpu}); "
        f"{lacking} without a value"
    )


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: expectations.py FOLDER", file=sys.stderr)
        return 2
    expectations = table((ROOT / "docs/BACKENDS.md").read_text(encoding="utf-8"))
    if not expectations:
        print("expectations.py: docs/BACKENDS.md has no table of expectations", file=sys.stderr)
        return 2
    got = measured(Path(arguments[0]))
    if not got.sources and not got.answers:
        print("nothing was measured that could be compared")
        return 0
    gpu = next((name for name in expectations if words(name) == words(got.gpu)), None)
    if gpu is None:
        print(f"nothing is expected of '{got.gpu}'; the table has {', '.join(expectations)}")
        return 0
    for line in compare(expectations[gpu], got, gpu):
        print(line)
    return 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
