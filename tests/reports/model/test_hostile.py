# SPDX-License-Identifier: BSD-3-Clause
"""Signatures with holes and with numbers that no measurement gives: a model that the simulator reads, or one
line that says why there is none."""

from __future__ import annotations

import json
import math
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

import workplace  # noqa: F401  the root on the path

from reports.model import text
from reports.model.fit import NoModel
from reports.signature.signature_file import trusting

from tests.reports.model.simulated import BIN, LARGE, PROGRAMS, measured

NUMBERS = (0, -1, 1, 1e308, -1e308, 1e-300, 2**64, None, float("nan"), "x", True)
TRIES = 60


def family(name: str) -> str:
    return name.split("{")[0]


def changed(draw: random.Random, signature: dict) -> None:
    """A family of values is removed or replaced, all or some, or an attribute of every device."""
    metrics = signature["metrics"]
    kind, strange = draw.random(), draw.choice(NUMBERS)
    if kind < 0.25:
        for own in signature["devices"].values():
            own[draw.choice(sorted(own))] = strange
        return
    chosen = draw.choice(sorted({family(name) for name in metrics}))
    for name in [name for name in metrics if family(name) == chosen]:
        if kind < 0.5:
            del metrics[name]
        elif draw.random() < 0.7:
            metrics[name][draw.choice(("value", "value", "ci_low"))] = strange


class Hostile(unittest.TestCase):
    def test_a_model_that_is_read_or_one_line(self) -> None:
        whole = json.dumps(measured(LARGE, 2, PROGRAMS).signature)
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "a.model")
            for seed in range(TRIES):
                draw, signature = random.Random(seed), json.loads(whole)
                for _ in range(draw.choice((1, 3, 10))):
                    changed(draw, signature)
                with self.subTest(seed=seed):
                    try:
                        with trusting("the signature", NoModel):
                            model.write_text(text.of(signature, "x"), encoding="utf-8")
                    except NoModel as why:
                        self.assertEqual(len(str(why).splitlines()), 1)
                        continue
                    words = [str(BIN / "micro/latency"), "--device", f"sim:{model}", "--list"]
                    done = subprocess.run(words, capture_output=True, text=True)
                    self.assertNotIn(f"{model}:", done.stderr, model.read_text(encoding="utf-8"))

    def test_what_was_removed_is_missing_by_name(self) -> None:
        signature = measured(LARGE, 1, ("micro/launch", "micro/memory")).signature
        for name in [name for name in signature["metrics"] if name.startswith("micro/memory")]:
            del signature["metrics"][name]
        found = text.of(signature, "x")
        self.assertRegex(found, r"# As in \w+: .*memory_bandwidth.*: ")
        self.assertNotRegex(found, r"(?m)^memory_bandwidth")
        self.assertFalse(any(math.isnan(float(word)) for word in found.split() if word in ("nan", "inf")))


if __name__ == "__main__":
    unittest.main()
