# SPDX-License-Identifier: BSD-3-Clause
"""Corrections of schedules: a model that lacks what slows one of them, by known factors."""

from __future__ import annotations

import math
import unittest

from reports.predict.correction import LEAST, Corrections, Off, exchange_of, made_of

FACTORS = {"serial": 1.1, "shard": 1.5}


def off(shapes: int, op: str = "ag-gemm", method: str = "engine") -> list[Off]:
    """Each schedule by its factor, times one of each shape whose mean is 1."""
    of_shapes = [2 ** (i - (shapes - 1) / 2) for i in range(shapes)]
    return [
        Off("op=%s shape=g%d copy-method=%s" % (op, i, method), name, factor * own)
        for i, own in enumerate(of_shapes)
        for name, factor in FACTORS.items()
    ]


class Correcting(unittest.TestCase):
    def test_known_factors_come_back(self) -> None:
        found = Corrections(made_of(off(LEAST) + off(LEAST + 1, "gemm-rs", "kernel")))
        for op, method in (("ag-gemm", "engine"), ("a2a-gemm-uneven", "engine"), ("gemm-ar", "kernel")):
            key = "op=%s shape=7x7x7 copy-method=%s" % (op, method)
            times = found.corrected(key, {"serial": 2.0, "shard": 1.0})
            self.assertAlmostEqual(times["serial"], 2.2)
            self.assertAlmostEqual(times["shard"], 1.5)

    def test_few_shapes_correct_nothing(self) -> None:
        self.assertEqual(made_of(off(LEAST - 1) * 3), [])
        absurd = [one._replace(ratio=one.ratio * 1e4) for one in off(LEAST)]
        self.assertEqual(made_of(absurd), [])
        none = Corrections([])
        self.assertTrue(none.empty)
        self.assertEqual(none.corrected("op=ag-gemm copy-method=engine", {"serial": 2.0}), {"serial": 2.0})
        self.assertEqual(none.range_of("ag-gemm"), (1.0, 1.0))

    def test_what_was_not_measured_takes_the_mean_of_its_exchange(self) -> None:
        """Never that of others: C is sent in other pieces than A."""
        found = Corrections(made_of(off(LEAST)))
        self.assertAlmostEqual(found.of("ag-gemm", "kernel", "shard"), math.sqrt(1.1 * 1.5))
        self.assertEqual(found.of("gemm-rs", "engine", "shard"), 1.0)
        low, high = found.range_of("a2a-gemm")
        self.assertAlmostEqual(low, 1.1)
        self.assertAlmostEqual(high, 1.5)

    def test_exchanges(self) -> None:
        for op in ("ag-gemm", "a2a-gemm", "a2a-gemm-uneven"):
            self.assertEqual(exchange_of(op), "before")
        for op in ("gemm-rs", "gemm-ar"):
            self.assertEqual(exchange_of(op), "after")


if __name__ == "__main__":
    unittest.main()
