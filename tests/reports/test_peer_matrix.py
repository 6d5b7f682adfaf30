# SPDX-License-Identifier: BSD-3-Clause
"""The section of micro/peer_matrix: which pairs and devices are called slow, and by what names."""

from __future__ import annotations

import itertools
import unittest
from typing import Callable, List

import workplace
from synthetic import Writer

RATE, BYTES = 50e9, float(1 << 26)


def matrix(
    devices: int,
    rate: Callable[[int, int], float],
    noise: Callable[[int, int], float] = lambda a, b: 0.002,
    first_index: int = 0,
    contended: str = "",
) -> str:
    """Every ordered pair; rate(from, to) by copy engine, and the same by kernel."""
    w = Writer("micro/peer_matrix", spec="sim:0-7", simulated=True)
    one = w.lines[0]["device"][0]
    w.lines[0]["device"] = [dict(one, index=first_index + i) for i in range(devices)]
    for a, b in itertools.permutations(range(devices), 2):
        variants = [w.variant(name, BYTES / rate(a, b), BYTES, noise(a, b)) for name in ("engine", "kernel")]
        flags = (
            [{"flag": "contended", "variant": None, "quantity": None, "reason": "others"}]
            if contended == f"{a}>{b}"
            else []
        )
        w.case({"route": f"{a}>{b}", "size": int(BYTES)}, variants, flags=flags)
    return w.end().text()


class SlowPairs(workplace.Scratch):
    def found(self, text: str) -> List[str]:
        return ["%(head)s %(text)s" % f for f in self.signature(text).json["findings"]]

    def test_one_slow_pair_is_named_with_its_ratio(self) -> None:
        found = self.found(matrix(8, lambda a, b: RATE / 4 if (a, b) == (0, 3) else RATE))
        self.assertEqual(len(found), 1)
        self.assertRegex(
            found[0],
            r"^Slow pair\. From device 0 to 3: 12\.[45]\d* GB/s, 0\.25 of the median of 56 pairs "
            r"\(by (copy engine|kernel)\)\.$",
        )

    def test_equal_pairs_and_one_a_little_slower_are_no_finding(self) -> None:
        self.assertEqual(self.found(matrix(8, lambda a, b: RATE)), [])
        self.assertEqual(self.found(matrix(8, lambda a, b: 0.83 * RATE if (a, b) == (0, 3) else RATE)), [])

    def test_a_pair_whose_interval_reaches_the_limit_is_none(self) -> None:
        self.assertEqual(
            self.found(
                matrix(
                    4,
                    lambda a, b: 0.75 * RATE if (a, b) == (0, 3) else RATE,
                    lambda a, b: 0.4 if (a, b) == (0, 3) else 0.002,
                )
            ),
            [],
        )

    def test_devices_have_their_own_index(self) -> None:
        found = self.found(matrix(4, lambda a, b: RATE / 4 if (a, b) == (0, 3) else RATE, first_index=4))
        self.assertTrue(found[0].startswith("Slow pair. From device 4 to 7: "), found)

    def test_two_devices_have_no_median(self) -> None:
        self.assertEqual(self.found(matrix(2, lambda a, b: RATE / 4 if a else RATE)), [])

    def test_a_contended_pair_is_not_accused(self) -> None:
        self.assertEqual(
            self.found(matrix(4, lambda a, b: RATE / 4 if (a, b) == (0, 3) else RATE, contended="0>3")), []
        )

    def test_a_slow_device_is_one_finding_a_direction(self) -> None:
        found = self.found(matrix(8, lambda a, b: RATE / 2 if 5 in (a, b) else RATE))
        self.assertEqual(
            [f.split(":")[0] for f in found],
            ["Slow device. Everything that device 5 sends", "Slow device. Everything that device 5 receives"],
        )

    def test_many_slow_pairs_are_summarised(self) -> None:
        slow = {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)}
        found = self.found(matrix(8, lambda a, b: RATE / (3 + a) if (a, b) in slow else RATE))
        self.assertEqual(len(found), 1)
        self.assertRegex(
            found[0],
            r"^Slow pairs\. 6 of 56: from device 5 to 6: .*, 4 to 5: .* and 2 to 3: .*, and 2 more\.$",
        )

    def test_ends_that_are_no_device_are_none(self) -> None:
        for end in ("²", "9" * 5000, "٣"):
            text = matrix(3, lambda a, b: RATE / 4 if (a, b) == (0, 1) else RATE).replace("0>", end + ">")
            self.assertEqual(self.found(text), [])

    def test_results_and_summary(self) -> None:
        text = matrix(3, lambda a, b: RATE / 4 if (a, b) == (2, 0) else RATE)
        program = self.signature(text).json["programs"]["micro/peer_matrix"]
        self.assertEqual([s["route"] for s in program["results"]["slow"]], ["2>0"])
        engine = next(e for e in program["results"]["pairs"] if e["variant"] == "engine")
        self.assertEqual((engine["pairs"], engine["lowest_route"]), (6, "2>0"))
        self.assertAlmostEqual(engine["median"] / RATE, 1, delta=0.01)
        self.assertRegex(
            program["summary"],
            r"^A copy from one device to another by copy engine reaches (50|49)(\.\d)? GB/s "
            r"\(median of 6 ordered pairs\), 12\.\d GB/s on the slowest pair \(2 to 0\); "
            r"1 pair is clearly slower than the others\.",
        )
        program = self.signature(matrix(3, lambda a, b: RATE)).json["programs"]["micro/peer_matrix"]
        self.assertIn("; no pair is clearly slower than the others.", program["summary"])


if __name__ == "__main__":
    unittest.main()
