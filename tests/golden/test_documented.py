# SPDX-License-Identifier: BSD-3-Clause
"""Every key that a program writes stands in docs/RECORDS.md and in the schema, and every line fits the
schema."""

from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path
from typing import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import golden

from reports.records.validate import schema

try:
    import jsonschema
except ImportError:
    jsonschema = None

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "RECORDS.md"
# Objects whose keys are names that programs or machines choose.
FREE = (
    "case.case",
    "case.facts",
    "case.state",
    "run.primary[].where",
    "run.cliff.where",
    "run.provenance.environment",
    "run.device[].model.keys",
    "run.device[].nominal.fma_flop_rate",
    "run.device[].nominal.gemm_flop_rate",
    "run.device[].state",
)
BY_DRIVER = {
    "schema": "gpusig.record",
    "version": "1.0.0",
    "kind": "end",
    "run": "none-1-2",
    "program": "a/b",
    "status": "skipped",
    "exit": 77,
    "reason": "needs 2 devices",
    "elapsed_s": 0.0,
    "by": "driver",
    "cases": dict.fromkeys(("total", "ok", "failed", "skipped", "already_done", "out_of_budget"), 0),
}


def keys(value: object, path: str) -> Iterator[str]:
    """ "case.variants[].name" for every key in a record."""
    for name, inner in value.items() if isinstance(value, dict) and path not in FREE else ():
        yield f"{path}.{name}"
        yield from keys(inner, f"{path}.{name}")
    for inner in value if isinstance(value, list) else ():
        yield from keys(inner, f"{path}[]")


def documented() -> set[str]:
    records, _, _ = DOCUMENT.read_text(encoding="utf-8").partition("\n# signature.json\n")
    return set(re.findall(r"`([a-z0-9_]+)`", records))


@unittest.skipUnless(golden.programs(), f"no programs in {golden.BIN}")
class Documented(unittest.TestCase):
    def rows(self) -> Iterator[dict]:
        for name in golden.programs():
            try:
                yield from golden.records(name)
            except golden.Unable:
                continue
        yield BY_DRIVER

    def test_every_key_is_in_the_document(self) -> None:
        known = documented()
        found = {path for row in self.rows() for path in keys(row, row["kind"])}
        unknown = sorted(
            path for path in found if path.rpartition(".")[2] not in known and ".cache_l" not in path
        )
        self.assertEqual(unknown, [])

    def test_every_key_of_the_schema_is_in_the_document(self) -> None:
        def properties(value: object) -> Iterator[str]:
            if isinstance(value, dict):
                yield from value.get("properties", {}) if isinstance(value.get("properties"), dict) else ()
            for inner in (
                value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            ):
                yield from properties(inner)

        self.assertEqual(sorted(set(properties(schema("record"))) - documented()), [])

    @unittest.skipUnless(jsonschema, "jsonschema is not installed")
    def test_every_line_fits_the_schema(self) -> None:
        validator = jsonschema.Draft7Validator(schema("record"))
        misfits = {
            f"{row['program']} {row['kind']}: {error.json_path}: {error.message[:200]}"
            for row in self.rows()
            for error in validator.iter_errors(row)
        }
        self.assertEqual(sorted(misfits), [])

    @unittest.skipUnless(jsonschema, "jsonschema is not installed")
    def test_a_key_that_nobody_knows_does_not_fit(self) -> None:
        validator = jsonschema.Draft7Validator(schema("record"))
        self.assertEqual(list(validator.iter_errors(BY_DRIVER)), [])
        self.assertNotEqual(list(validator.iter_errors(dict(BY_DRIVER, novel=1))), [])


if __name__ == "__main__":
    unittest.main()
