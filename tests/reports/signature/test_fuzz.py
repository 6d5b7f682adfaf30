# SPDX-License-Identifier: BSD-3-Clause
"""Whatever a file holds: page, tables and advice still come out, or a reason why not."""

from __future__ import annotations

import importlib.util
import json
import random
import unittest
from pathlib import Path
from typing import Any, Callable, List

import synthetic
from tests.reports.advice import asked
from tests.reports.signature import test_peer_matrix
import workplace
from synthetic import everything

from reports.advice.ask import read_signature
from reports.records import csv_files
from reports.signature.headline import headline
from reports.signature.report import render
from reports.signature.signature import MixedMachines, Signature
from tests import level

HAVE_JSONSCHEMA = importlib.util.find_spec("jsonschema") is not None
ROUNDS = level.seeds(4, 12, 150)
STRANGE = [
    None,
    True,
    False,
    0,
    -1,
    1e30,
    -1e30,
    1e-30,
    1.5,
    2**63,
    10**19,
    -0.0,
    "",
    "x",
    "18446744073709551616",
    "NaN",
    [],
    [[]],
    {},
    {"a": {}},
    ["a", 1],
    "+",
    "a+b+c",
    "=",
    "k99999999999",
    "²",
    "٣",
    "9" * 5000,
    "1" * 17,
    "²>³",
    "²x²x²",
    "0x0x0",
    "kernel_²",
    "\ud800",
    "\u202e",
    "from e+ ring",
    "kind=PCIe lanes=1e400 lanes_max=NaN",
    "kind=NVLink up=Infinity down=1",
    "ecc_uncorrected=² pages_failed=" + "9" * 5000,
]
TOKENS = [
    b"1e400",
    b"-1e400",
    b"NaN",
    b"-Infinity",
    b"9" * 5000,
    b"[" * 100000,
    b'{"a":' * 500,
    b'"\\ud800"',
    b"\xff\xfe",
    b"\x00",
    b"}",
    b'"',
    b"[]",
    b"1e-400",
    b"\n",
    b"\xed\xa0\x80",
]
PARTS: List[Callable[[], str]] = [
    *(lambda make=make: make().text() for make in synthetic.ALL),
    synthetic.gpu,
    lambda: synthetic.shaping_grids().text(),
    lambda: test_peer_matrix.matrix(3, lambda a, b: 1e9 * (1 + a)),
]
ADVICE = ["--m", "4096", "--n", "512", "--k", "512", "--devices", "4", "--op", "ag-gemm", "--type", "bf16"]


def places(value: object, path: tuple = ()) -> list:
    found = [path] if path else []
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    )
    for key, inner in items:
        found += places(inner, path + (key,))
    return found


def change(record: Any, path: tuple, value: object) -> None:
    for key in path[:-1]:
        record = record[key]
    record[path[-1]] = value


def delete(record: Any, path: tuple) -> None:
    for key in path[:-1]:
        record = record[key]
    del record[path[-1]]


def copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


def everywhere(value: Any, key: str, to: object) -> None:
    """Give this key one value wherever it is."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in list(inner):
        everywhere(item, key, to)
    if isinstance(value, dict) and key in value:
        value[key] = to


def lines_of(text: str) -> list:
    return [json.loads(line) for line in text.splitlines()]


# ------------------------------------------------------------------ what may happen to the lines of a file


def one_value(chance: random.Random, lines: list) -> None:
    for record in chance.sample(lines, min(3, len(lines))):
        change(record, chance.choice(places(record)), copied(chance.choice(STRANGE)))


def one_key(chance: random.Random, lines: list) -> None:
    record = chance.choice(lines)
    delete(record, chance.choice(places(record)))


def a_key_everywhere(chance: random.Random, lines: list) -> None:
    key = chance.choice(places(chance.choice(lines)))[-1]
    if isinstance(key, str):
        everywhere(lines, key, copied(chance.choice(STRANGE)))


def no_value(chance: random.Random, lines: list) -> None:
    for line in lines:
        for entry in line.get("derived", ()):
            entry.update(value=None, ci_low=None, ci_high=None, valid=False, reason="none")


def an_axis(chance: random.Random, lines: list) -> None:
    """The values of one axis, in the cases and in the run."""
    names = sorted({name for line in lines for name in line.get("case", ())})
    name, words = chance.choice(names or [""]), [chance.choice(STRANGE[6:]) for _ in range(2)]
    for line in lines:
        if name in line.get("case", ()):
            line["case"][name] = chance.choice(words)
        for axis in line.get("axes", ()):
            axis["values"] = words if axis["name"] == name else axis["values"]


def facts(chance: random.Random, lines: list) -> None:
    for line in lines:
        for name in line.get("facts", ()):
            if chance.random() < 0.3:
                line["facts"][name] = chance.choice(STRANGE)


def order(chance: random.Random, lines: list) -> None:
    chance.shuffle(lines)
    lines += copied(chance.sample(lines, len(lines) // 3))


CHANGES = [one_value, one_key, a_key_everywhere, no_value, an_axis, facts, order]


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Fuzz(workplace.Scratch):
    def survives(self, text: str) -> bool:
        """False where the records are refused as those of different machines."""
        try:
            signature = self.signature(text)
        except MixedMachines:
            return False
        self.told(signature)
        return True

    def told(self, signature: Signature) -> None:
        groups = [section.group for section in signature.sections]
        text = signature.text()
        for told in (
            text,
            render(signature),
            headline(signature),
            csv_files.metrics_text(groups),
            csv_files.timings_text(groups),
        ):
            told.encode("utf-8")
        path = self.folder / "signature.json"
        path.write_text(text, encoding="utf-8")
        self.assertIn(read_signature(path)["device"], text)
        self.advised()

    def advised(self) -> int:
        """The exit code of the last; what goes wrong is one line."""
        code = 0
        code, out, err = self.run_command("advise", str(self.folder), *ADVICE, "--format", "json")
        self.assertEqual((bool(out), err.count("\n")), (code == 0, int(code != 0)), err)
        both, out, err = self.run_command("advise", str(self.folder), str(self.folder), *ADVICE)
        self.assertEqual((bool(out), err.count("\n")), (both == 0, {0: 0, 77: 2}.get(both, 1)), err)
        return code

    def validated(self, path: Path) -> None:
        if HAVE_JSONSCHEMA:
            self.assertIn(self.run_command("validate", str(path))[0], (0, 1, 2))

    def test_of_each_program(self) -> None:
        for what in CHANGES:
            for seed in range(ROUNDS):
                chance = random.Random("%s %d" % (what.__name__, seed))
                lines = lines_of(chance.choice(PARTS)())
                with self.subTest(what=what.__name__, seed=seed):
                    what(chance, lines)
                    self.survives(
                        "".join(json.dumps(line, ensure_ascii=chance.random() < 0.5) + "\n" for line in lines)
                    )

    def test_graded_values_and_second_tries(self) -> None:
        chance, used, rounds = random.Random(7), 0, ROUNDS // 4
        lines = [record for run in ("r1", "r2") for record in lines_of(everything(run=run))]
        for record in lines:
            for entry in record.get("derived", ()):
                grades = [grade for grade in ("noisy", "contended") if chance.random() < 0.3]
                if grades:
                    entry["grades"] = grades
        for seed in range(rounds):
            chance, changed = random.Random(seed), copied(lines)
            one_value(chance, changed)
            with self.subTest(seed=seed):
                used += self.survives("".join(json.dumps(line) + "\n" for line in changed))
        self.assertGreater(used, rounds * 0.8)

    def test_bytes(self) -> None:
        """Cut off, with something strange in the middle, or with lines in another order; validate says so as
        well."""
        for seed in range(ROUNDS):
            chance = random.Random(seed)
            text = chance.choice(PARTS)().encode()
            for _ in range(chance.choice((1, 3))):
                at = chance.randrange(len(text))
                text = text[:at] + chance.choice(TOKENS) + text[at + chance.choice((0, 1, 40)) :]
            if chance.random() < 0.3:
                text = text[: chance.randrange(len(text))]
            path = self.folder / "records.jsonl"
            path.write_bytes(text)
            with self.subTest(seed=seed):
                self.validated(path)
                code, out, err = self.run_command("build", str(self.folder))
                self.assertIn(code, (0, 1, 2, 3))
                self.assertLessEqual(err.count("\n"), 1)

    @unittest.skipUnless(asked.BUILT, "needs the programs: make")
    def test_a_damaged_signature(self) -> None:
        asked.stored(asked.signature(), self.folder)
        path, codes = self.folder / "signature.json", []
        whole = path.read_text(encoding="utf-8")
        found = places(json.loads(whole))
        for seed in range(2 * ROUNDS):
            chance, content = random.Random(seed), json.loads(whole)
            place = chance.choice(found)
            delete(content, place) if chance.random() < 0.3 else change(
                content, place, chance.choice(STRANGE)
            )
            path.write_text(json.dumps(content), encoding="utf-8")
            with self.subTest(seed=seed):
                codes.append(self.advised())
                self.validated(path)
        for token in TOKENS[:: level.seeds(4, 2, 1)]:
            at = random.Random(token).randrange(len(whole))
            path.write_bytes(whole[:at].encode() + token + whole[at:].encode())
            with self.subTest(token=token[:10]):
                codes.append(self.advised())
                self.validated(path)
        self.assertGreater(codes.count(0), ROUNDS // 4)


if __name__ == "__main__":
    unittest.main()
