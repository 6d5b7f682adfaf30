# SPDX-License-Identifier: BSD-3-Clause
"""Keys that matter, on a law that is known: two links in a row, and work next to them."""

from __future__ import annotations

import unittest
from typing import Sequence

from reports.predict import search
from reports.predict.change import Change
from reports.predict.simulation import Case, Failed, Simulated

KEYS = {
    "peer_bandwidth": 1.0,
    "injection_bandwidth": 1.0,
    "flops_f32": 1.0,
    "launch_ns": 1.0,
    "memory_bytes": 100,
    "engine_bandwidth": 5.0,
}
REFUSED = "memory_bytes"


class Law:
    """Seconds: the longer one of two links, a GEMM, and a thousandth of a launch."""

    def __init__(self) -> None:
        self.runs = 0

    def together(self, changes: Sequence[Change], _only: str = "") -> list[Simulated | Failed]:
        return [self.run(change) for change in changes]

    def run(self, change: Change) -> Simulated | Failed:
        self.runs += 1
        keys = dict(KEYS)
        for part in change.parts:
            name, _, value = part.partition("=")
            if name == REFUSED:
                return Failed("too much memory", 2)
            keys[name] *= float(value[:-1])
        seconds = 1 / min(keys["peer_bandwidth"], keys["injection_bandwidth"])
        seconds += 1 / keys["flops_f32"] + keys["launch_ns"] / 1000
        return Simulated(dict(KEYS), frozenset(), {"case": Case({"way": seconds}, {"way": (1.0, 1.0)})})


def doubts(**errors: float) -> tuple[search.Doubts, Law]:
    law = Law()
    base = law.run(Change(""))
    assert isinstance(base, Simulated)
    return search.doubts(law, search.Few(base, "", 1), errors), law  # type: ignore[arg-type]


class Doubting(unittest.TestCase):
    def test_keys_that_hide_each_other_are_found_also_where_another_is_refused(self) -> None:
        found, _ = doubts(flops_f32=0.0, launch_ns=0.0)
        self.assertEqual([one.name for one in found.matter], ["peer_bandwidth and injection_bandwidth"])
        self.assertEqual((found.unmeasured, found.unsure), (4, []))
        self.assertAlmostEqual(found.matter[0].ratio or 0, 1.501 / 2.001)
        self.assertAlmostEqual(found.together, found.matter[0].most)

    def test_a_key_that_matters_alone_and_one_that_moves_too_little(self) -> None:
        found, _ = doubts(peer_bandwidth=0.0, injection_bandwidth=0.0)
        self.assertEqual([one.name for one in found.matter], ["flops_f32"])
        self.assertAlmostEqual(found.matter[0].ratio or 0, 1.501 / 2.001)

    def test_errors_of_fitted_keys_move_times_by_themselves(self) -> None:
        found, law = doubts(
            flops_f32=0.2, launch_ns=0.3, peer_bandwidth=0.0, injection_bandwidth=0.0, engine_bandwidth=0.9
        )
        self.assertEqual([one.name for one in found.unsure], ["flops_f32"])
        self.assertAlmostEqual(found.unsure[0].ratio or 0, (1.001 + 1 / 1.2) / 2.001)
        self.assertEqual((found.matter, found.together, found.unmeasured), ([], 0.0, 1))
        self.assertLess(law.runs, 12)


if __name__ == "__main__":
    unittest.main()
