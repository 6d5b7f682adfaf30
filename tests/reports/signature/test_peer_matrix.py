# SPDX-License-Identifier: BSD-3-Clause
"""The section of micro/peer_matrix: which pairs and devices are called slow, and by what names."""

from __future__ import annotations

import itertools
import unittest
from typing import Any, Callable, List, Sequence, Tuple

import workplace
from reports.signature import machine
from record_writer import headline, value
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


def measured(name: str, number: float) -> Any:
    near = {"ci_low": 0.998 * number, "ci_high": 1.002 * number}
    return value(name, "engine", number, "byte/s", rounds=6, **near)


def sweep(
    devices: int,
    rate: Callable[[int, int], float],
    way: Callable[[int, int], str] = lambda a, b: "",
    injection: float = 0.0,
    own: Sequence[Tuple[int, int]] = (),
) -> Writer:
    """Every ordered pair in one case; `own` have a case of their own, at twice the rate; and all to all."""
    w = Writer("micro/peer_matrix", spec="sim:0-7", simulated=True)
    one = w.lines[0]["device"][0]
    w.lines[0]["device"] = [dict(one, index=i) for i in range(devices)]
    pairs = list(itertools.permutations(range(devices), 2))
    line = w.case(
        {"route": "each", "size": int(BYTES)},
        [w.variant("engine", sum(BYTES / rate(a, b) for a, b in pairs), BYTES * len(pairs))],
        [measured("pair_bandwidth %d>%d" % (a, b), rate(a, b)) for a, b in pairs],
    )
    line["facts"] = {"way_%d_%d" % (a, b): way(a, b) for a, b in pairs if way(a, b)}
    for a, b in own:
        w.case(
            {"route": f"{a}>{b}", "size": int(BYTES)},
            [w.variant("engine", BYTES / rate(a, b) / 2, BYTES)],
        )
    if injection:
        w.case(
            {"route": "all>all", "size": int(BYTES)},
            [w.variant("engine", BYTES / injection, BYTES * devices)],
            [measured("injection_bandwidth", injection)],
        )
    return w


class SlowPairs(workplace.Scratch):
    def found(self, text: str) -> List[str]:
        return ["%(head)s %(text)s" % f for f in self.signature(text).json["findings"]]

    def test_one_slow_pair_is_named_with_its_ratio(self) -> None:
        found = self.found(matrix(8, lambda a, b: RATE / 4 if (a, b) == (0, 3) else RATE))
        self.assertEqual(len(found), 1)
        self.assertRegex(
            found[0],
            r"^Slow pair\. From device 0 to device 3: 12\.[45]\d* GB/s, 0\.25 of the usual rate between "
            r"these 8 devices \(by copy engine\)\.$",
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
        self.assertTrue(found[0].startswith("Slow pair. From device 4 to device 7: "), found)

    def test_two_devices_have_no_median(self) -> None:
        self.assertEqual(self.found(matrix(2, lambda a, b: RATE / 4 if a else RATE)), [])

    def test_a_contended_pair_is_not_accused(self) -> None:
        self.assertEqual(
            self.found(matrix(4, lambda a, b: RATE / 4 if (a, b) == (0, 3) else RATE, contended="0>3")), []
        )

    def test_a_slow_device_is_one_finding(self) -> None:
        found = self.found(matrix(8, lambda a, b: RATE / 2 if 5 in (a, b) else RATE))
        self.assertEqual(
            [f.split(":")[0] for f in found],
            ["Slow device. Everything that device 5 sends and receives"],
        )

    def test_many_slow_pairs_are_summarised(self) -> None:
        slow = {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)}
        found = self.found(matrix(8, lambda a, b: RATE / (3 + a) if (a, b) in slow else RATE))
        self.assertEqual(len(found), 1)
        self.assertRegex(
            found[0],
            r"^Slow pairs\. 6: from device 5 to device 6: .*, 0\.12 of .*; from device 4 to device 5: .*; "
            r"from device 2 to device 3: .*; 2 more\.$",
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
            r"\(median of 6 of 6 ordered pairs\), 12\.\d GB/s on the slowest pair \(2 to 0\); "
            r"1 pair is clearly slower than the others\.",
        )
        program = self.signature(matrix(3, lambda a, b: RATE)).json["programs"]["micro/peer_matrix"]
        self.assertIn("; no pair is clearly slower than the others.", program["summary"])


MESH = "bytes_per_s=5e+10 hops=1 link=link"


class Sweeps(workplace.Scratch):
    def found(self, w: Writer) -> List[str]:
        return ["%(head)s %(text)s" % f for f in self.signature(w.end().text()).json["findings"]]

    def test_slow_pairs_are_named_with_their_direction_and_share(self) -> None:
        rates = {(0, 3): RATE / 4, (3, 0): 0.75 * RATE, (2, 1): RATE / 2}
        self.assertEqual(
            [
                f.split(" between these")[0]
                for f in self.found(sweep(4, lambda a, b: rates.get((a, b), RATE)))
            ],
            [
                "Slow pair. From device 0 to device 3: 12.5 GB/s, 0.25 of the usual rate",
                "Slow pair. From device 2 to device 1: 25 GB/s, 0.50 of the usual rate",
                "Slow pair. From device 3 to device 0: 37.5 GB/s, 0.75 of the usual rate",
            ],
        )

    def test_a_pair_measured_alone_counts_before_the_sweep(self) -> None:
        w = sweep(4, lambda a, b: RATE / 2 if (a, b) == (0, 3) else RATE, own=[(0, 3)])
        results = self.signature(w.end().text()).json["programs"]["micro/peer_matrix"]["results"]
        self.assertEqual((results["slow"], results["pairs"][0]["pairs"]), ([], 12))
        self.assertAlmostEqual(results["pairs"][0]["lowest"], RATE, delta=0.01 * RATE)

    def test_what_models_are_fitted_to(self) -> None:
        w = sweep(
            3, lambda a, b: RATE / (1 + a), way=lambda a, b: "hops=%d" % (1 + (b == 2)), injection=1.5 * RATE
        )
        found = self.signature(w.end().text()).json["programs"]["micro/peer_matrix"]["results"]["fitted"]
        self.assertEqual((found["size_byte"], found["ways_known"]), (BYTES, 6))
        self.assertEqual(found["hops"], {"0>2": 2, "1>2": 2})
        (engine,) = found["matrices"]
        rows = [[None if a == b else RATE / (1 + a) for b in range(3)] for a in range(3)]
        for row, true in zip(engine["rows"], rows):
            for found_rate, rate in zip(row, true):
                self.assertEqual(found_rate, rate and float("%.5g" % rate))
        self.assertEqual((engine["variant"], engine["error"]), ("engine", 0.002))
        self.assertEqual(found["injection"]["engine"], {"all>all": 1.5 * RATE})

    def test_pairs_that_are_slower_by_design_are_compared_with_their_like(self) -> None:
        """As in a hybrid cube mesh: each has NVLink to four others, PCIe to three."""

        def across(a: int, b: int) -> bool:
            return a ^ b in (5, 6, 7)

        def way(a: int, b: int) -> str:
            return "bytes_per_s=1.575e+10 link=PCIe 3 x16" if across(a, b) else MESH

        def rate(a: int, b: int) -> float:
            return RATE / 5 if across(a, b) else RATE

        self.assertEqual(self.found(sweep(8, rate, way)), [])
        self.assertEqual(len(self.found(sweep(8, rate))), 1)  # not known to be another way
        slow = self.found(sweep(8, lambda a, b: rate(a, b) / (2 if (a, b) == (1, 6) else 1), way))
        self.assertEqual(len(slow), 1)
        self.assertTrue(slow[0].startswith("Slow pair. From device 1 to device 6: 5 GB/s, 0.50 of "), slow)

    def test_a_nominal_rate_of_some_links_alone_excuses_none(self) -> None:
        rates = {(0, 3): RATE / 4, (3, 0): RATE / 4}
        found = self.found(
            sweep(
                8,
                lambda a, b: rates.get((a, b), RATE),
                lambda a, b: MESH.replace("5e+10", "1.25e+10") if (a, b) in rates else MESH,
            )
        )
        self.assertEqual(
            [f.split(" between these")[0] for f in found],
            ["Slow pair. Between device 0 and device 3, both ways: 12.5 GB/s, 0.25 of the usual rate"],
        )

    def test_all_to_all_that_one_pair_explains_names_it(self) -> None:
        def rate(a: int, b: int) -> float:
            return RATE / 4 if (a, b) == (0, 3) else RATE

        found = self.found(sweep(4, rate, lambda a, b: MESH, injection=0.75 * RATE))
        self.assertEqual(
            found[1:],
            [
                "All to all. A device sends 37.5 GB/s while all send to all, less than to one device alone "
                "(50 GB/s): 3 times the 12.5 GB/s from device 0 to device 3, for which all others wait (by "
                "copy engine)."
            ],
        )
        found = self.found(sweep(8, rate, lambda a, b: MESH, injection=7 * RATE / 4))
        self.assertTrue(
            found[1].startswith(
                "All to all. A device sends 87.5 GB/s while all send to all: 7 times the 12.5 "
            )
        )

    def test_all_to_all_that_no_pair_explains_says_so_but_not_of_a_bus(self) -> None:
        def found(injection: float, way: str, devices: int = 4) -> List[str]:
            return self.found(sweep(devices, lambda a, b: RATE, lambda a, b: way, injection=injection))

        self.assertEqual(
            found(RATE / 2, MESH),
            [
                "All to all. A device sends 25 GB/s while all send to all, less than to one device alone (50 "
                "GB/s); no single pair explains it (by copy engine)."
            ],
        )
        for fine in (
            (0.85 * RATE, MESH),  # a switch
            (3 * RATE, MESH),
            (RATE / 2, "bytes_per_s=3.2e+10 link=PCIe 4 x16"),
            (RATE / 2, ""),
            (RATE / 2, MESH, 2),
        ):
            self.assertEqual(found(*fine), [], fine)

    def test_what_is_slow_is_no_baseline(self) -> None:
        for slow, says in ((1.0, "good enough"), (0.25, "what is wrong with the machine: slow pair.")):
            w = sweep(4, lambda a, b, slow=slow: slow * RATE if (a, b) == (0, 3) else RATE)
            w.lines[0]["primary"] = [
                headline("pair_min_bandwidth", "pair_bandwidth 0>1", {"route": "each"}, "engine")
            ]
            signature = self.signature(w.end().text())
            self.assertEqual([e["condition"] for e in signature.primary.values()], ["12 of 12 pairs"])
            self.assertIn(says, machine.verdict(signature).text)
            self.assertFalse(machine.verdict(signature).doubtful)


if __name__ == "__main__":
    unittest.main()
