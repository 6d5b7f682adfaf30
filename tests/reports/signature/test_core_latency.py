# SPDX-License-Identifier: BSD-3-Clause
"""Latencies from core to core of topology/node: levels, groups, and the page of a large node."""

from __future__ import annotations

import itertools
import random
import unittest
from typing import Callable, Iterable, List

import workplace
from record_writer import Json, value
from synthetic import Writer, node

NS = 1e-9


def two_sockets(a: int, b: int) -> float:
    """64 processors: of cores of two threads, 8 threads a complex, 4 complexes a socket; threads of a core
    are 32 apart, as Linux numbers them."""
    core_a, core_b = a % 32, b % 32
    if core_a == core_b:
        return 12 * NS
    if core_a // 4 == core_b // 4:
        return 25 * NS
    return (90 if core_a // 16 == core_b // 16 else 210) * NS


def latencies(
    latency: Callable[[int, int], float],
    processors: Iterable[int],
    spread: float = 0.04,
    visits: Callable[[int, int], List[float]] = lambda a, b: [0.99, 1.01],
) -> List[Json]:
    chance = random.Random(1)
    found = []
    for a, b in itertools.combinations(processors, 2):
        middle = latency(a, b) * (1 + spread * chance.uniform(-1, 1))
        seen = [middle * factor for factor in visits(a, b)]
        found.append(
            value("core_latency %d-%d" % (a, b), None, middle, "s", rounds=len(seen), observations=seen)
        )
    return found


def record(derived: List[Json], virtual: bool = False, missing: str = "") -> Writer:
    w = node()
    w.lines[0]["provenance"]["virtual_machine"] = virtual
    w.lines[1]["derived"] = derived
    if missing:
        w.lines[1]["facts"]["core_latency_not_measured"] = missing
    return w


class CoreLatency(workplace.Scratch):
    def said(self, derived: List[Json], **more: bool) -> str:
        program = self.signature(record(derived, **more).text()).json["programs"]["topology/node"]
        return str(program["summary"]).partition("The node has 2 cores.")[2].strip()

    def test_siblings_complexes_and_sockets(self) -> None:
        signature = self.signature(record(latencies(two_sockets, range(64))).text())
        program = signature.json["programs"]["topology/node"]
        self.assertRegex(
            program["summary"],
            r"From one of 64 processors to another, a cache line takes 1[12]\.?\d? ns within 32 groups of 2, "
            r"2[45]\.?\d? ns within 8 groups of 8, (89|90)\.?\d? ns within 2 groups of 32 and 2\d\d ns "
            r"elsewhere\.$",
        )
        levels = program["results"]["core_latency"]["levels"]
        self.assertEqual([level["pairs"] for level in levels], [32, 192, 768, 1024])
        self.assertEqual(levels[1]["groups"][:2], ["0-3,32-35", "4-7,36-39"])
        self.assertEqual(levels[2]["groups"], ["0-15,32-47", "16-31,48-63"])
        self.assertNotIn("core_latency 0-1", signature.text())
        self.assertLess(len(signature.text()), 10000)

    def test_one_level_is_no_group(self) -> None:
        said = self.said(latencies(lambda a, b: 33 * NS, (3, 5), 0.0))
        self.assertEqual(said, "From one of 2 processors to another, a cache line takes 33 ns.")

    def test_a_chain_of_neighbours_is_no_group(self) -> None:
        said = self.said(latencies(lambda a, b: (40 if b - a == 1 else 80) * NS, range(4), 0.0))
        self.assertEqual(
            said,
            "From one of 4 processors to another, a cache line takes 40 ns in 3 pairs and 80 ns elsewhere.",
        )

    def test_a_hypervisor_that_moves_processors_is_told(self) -> None:
        moving = latencies(
            lambda a, b: 50 * NS, range(3), 0.0, lambda a, b: [0.7, 1, 4.5] if b == 2 else [1, 1.02]
        )
        self.assertEqual(
            self.said(moving, virtual=True),
            "From one of 3 processors to another, a cache line takes 50 ns. Of 3 pairs, 2 changed by more "
            "than 1.3 times while they were measured. "
            "A virtual machine's processors may be moved at any time.",
        )

    def test_without_a_matrix_the_page_says_nothing_of_it(self) -> None:
        self.assertEqual(self.said([]), "")
        too_many = [value("core_latency 0-%d" % i, None, i * NS, "s") for i in range(1, 100)]
        self.assertEqual(self.said(too_many), "")

    @unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
    def test_the_page_of_few_has_numbers_and_of_many_colours(self) -> None:
        self.run_build(record(latencies(two_sockets, range(4))).text())
        few = self.page()
        self.assertIn("latency from core to core, ns", few)
        self.assertRegex(few, r"<title>2\d[\d.]* ns, visits 2\d[\d.]*–2\d[\d.]*</title>")
        missing = "64 of 128; the 64 that were measured are spread evenly"
        self.run_build(record(latencies(two_sockets, range(64)), missing=missing).text())
        page = self.page()
        self.assertRegex(page, r"<title>0 with 4-15: 8\d[\d.]* to 9\d[\d.]* ns</title>")
        self.assertIn("Not measured: %s." % missing, page)
        self.assertIn("32 groups of 2: 0,32; 1,33; ", page)
        self.assertLess(page.count("<rect"), 64 * 20)


if __name__ == "__main__":
    unittest.main()
