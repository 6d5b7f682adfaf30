# SPDX-License-Identifier: BSD-3-Clause
"""Any value anywhere in any record may turn into anything: the page still comes out, or a reason why not."""

from __future__ import annotations

import json
import os
import random
import unittest

import workplace
from synthetic import everything

from reports.headline import headline
from reports.report import render
from reports.signature import MixedMachines

ROUNDS = 120 if os.environ.get("GPUSIG_TEST_ALL") == "1" else 40
STRANGE = [None, True, False, 0, -1, 1e30, -1e30, 1e-30, 1.5, 2**63, "", "x", "18446744073709551616", "NaN", [], [[]], {},
           {"a": {}}, ["a", 1], "+", "a+b+c", "=", "k99999999999"]


def places(value: object, path: tuple = ()) -> list:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, path + (key,))
    return found


def change(record: dict, path: tuple, value: object) -> None:
    target = record
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Fuzz(workplace.Scratch):
    def test_random_changes(self) -> None:
        self.survives([json.loads(line) for line in everything().splitlines()])

    def test_random_changes_of_graded_values_and_second_tries(self) -> None:
        chance = random.Random(7)
        lines = [json.loads(line) for run in ("r1", "r2") for line in everything(run=run).splitlines()]
        for record in lines:
            for entry in record.get("derived", ()):
                grades = [grade for grade in ("noisy", "contended") if chance.random() < 0.3]
                if grades:
                    entry["grades"] = grades
        self.survives(lines)

    def survives(self, lines: list) -> None:
        used = 0
        for seed in range(ROUNDS):
            chance = random.Random(seed)
            changed = json.loads(json.dumps(lines))
            for record in chance.sample(changed, 6):
                change(record, chance.choice(places(record)), chance.choice(STRANGE))
            with self.subTest(seed=seed):
                try:
                    signature = self.signature("".join(json.dumps(line) + "\n" for line in changed))
                except MixedMachines:
                    continue
                used += 1
                signature.text()
                render(signature)
                headline(signature)
        self.assertGreater(used, ROUNDS * 0.8)


if __name__ == "__main__":
    unittest.main()
