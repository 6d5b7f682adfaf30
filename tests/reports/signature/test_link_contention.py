# SPDX-License-Identifier: BSD-3-Clause
"""The section of micro/link_contention: who shares a port, and whether topology agrees, in a sentence."""

from __future__ import annotations

import itertools
import unittest
from typing import Any, Dict, Mapping, Tuple

import workplace
from record_writer import value
from synthetic import Writer

BYTES, RATE = float(1 << 25), 50e9
Pairs = Mapping[Tuple[int, int], Tuple[float, str]]  # what they keep, and the words of the fact
APART = (1.0, "measured=apart topology=apart")


def kept(name: str, variant: str, number: float) -> Any:
    return value(name, variant, number, "", rounds=10, ci_low=0.99 * number, ci_high=1.01 * number)


def records(devices: int, pairs: Pairs, all_kept: float = 1.0, first_index: int = 0) -> str:
    """Pairs that are not given are apart, by measurement and by topology."""
    w = Writer("micro/link_contention", spec="sim:0-7", simulated=True)
    one = w.lines[0]["device"][0]
    w.lines[0]["device"] = [dict(one, index=first_index + i) for i in range(devices)]
    seconds: Dict[str, float] = {
        "alone": BYTES / RATE,
        "all": BYTES / RATE / all_kept,
        "pairs": BYTES / RATE,
        "ring": BYTES / RATE,
        "all_with_ring": BYTES / RATE / 0.5,
        "ring_with_all": BYTES / RATE / 0.8,
    }
    variants = [w.variant(name, s, devices * BYTES if name == "all" else 0.0) for name, s in seconds.items()]
    every = {ends: pairs.get(ends, APART) for ends in itertools.combinations(range(devices), 2)}
    line = w.case(
        {"direction": "up", "size": int(BYTES)},
        variants,
        [
            kept("rate_kept", "all", all_kept),
            kept("rate_kept", "all_with_ring", 0.5),
            kept("rate_kept", "ring_with_all", 0.8),
            *(kept("rate_kept %d" % i, "all", all_kept) for i in range(devices)),
            *(kept("rate_kept %d+%d" % ends, "pairs", number) for ends, (number, _) in every.items()),
        ],
    )
    line["facts"] = {"pair_%d_%d" % ends: words for ends, (_, words) in every.items()}
    return w.end().text()


class Sentence(workplace.Scratch):
    def told(self, *args: Any, **more: Any) -> str:
        signature = self.signature(records(*args, **more)).json
        (program,) = signature["programs"].values()
        self.results = program["results"]["directions"][0]
        return str(program["summary"])

    def test_ports_that_devices_share(self) -> None:
        told = self.told(
            4,
            {
                (0, 1): (0.51, "measured=shared topology=shared port=0000:c1:00.0"),
                (2, 3): (0.53, "measured=shared topology=shared port=0000:41:00.0"),
            },
            all_kept=0.52,
        )
        self.assertIn("4 devices copy at once at ", told)
        self.assertIn("(H2D), 52 % of what they reach where none slows another; ", told)
        self.assertIn(
            "; devices 0+1 (port 0000:c1:00.0) and 2+3 (port 0000:41:00.0) share an upstream port: two "
            "together keep 52 % each; topology agrees; ",
            told,
        )
        self.assertTrue(told.endswith("they keep 50 % of that, and the ring keeps 80 %."), told)
        self.assertEqual(self.results["groups"], [["0", "1"], ["2", "3"]])
        self.assertEqual((self.results["pairs"], self.results["pairs_compared"]), (6, 6))

    def test_what_all_share_is_no_port(self) -> None:
        apart = (0.6, "measured=shared topology=apart")
        port = (0.6, "measured=shared topology=shared port=0000:c1:00.0")
        told = self.told(3, {(0, 1): port, (0, 2): apart, (1, 2): apart}, first_index=4)
        self.assertIn("; devices 4+5+6 share something on their way to the host: ", told)
        self.assertIn("; but 4+6 share no port by topology and 5+6 share no port by topology; ", told)

    def test_a_port_that_carries_both(self) -> None:
        told = self.told(2, {(0, 1): (0.99, "measured=apart topology=shared port=0000:c1:00.0")})
        self.assertIn("; no two devices slow each other; but 0+1 share a port that carries both; ", told)
        self.assertEqual(self.results["groups"], [])

    def test_what_carries_two_but_not_all(self) -> None:
        told = self.told(4, {}, all_kept=0.5)
        self.assertIn("; no two devices slow each other, but all of them at once do; topology agrees; ", told)
        self.assertIn("; no two devices slow each other; topology agrees; ", self.told(4, {}))

    def test_what_is_not_known(self) -> None:
        told = self.told(2, {(0, 1): (0.8, "measured=undecided topology=unknown")})
        self.assertIn("; undecided for 1 of 1 pair; which ports they share by topology is unknown; ", told)
        self.assertEqual(self.results["pairs_compared"], 0)


if __name__ == "__main__":
    unittest.main()
