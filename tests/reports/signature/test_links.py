# SPDX-License-Identifier: BSD-3-Clause
"""Links between the devices of a node: facts in, sentences and findings out."""

from __future__ import annotations

import unittest
from typing import List

from reports.signature.links import between, fields, findings_of, links_of, to_host

PCIE = "kind=PCIe to=host generation=5 generation_max=5 lanes=16 lanes_max=16 read=idle"


def nvlink(to: str, up: int = 9, down: int = 0) -> str:
    return "kind=NVLink to=%s up=%d down=%d version=4.0 bytes_per_s=2.5e+10 errors=0" % (to, up, down)


def node(*devices: List[str], **more: str) -> dict:
    facts = {"link_%d_%d" % (d, i): text for d, links in enumerate(devices) for i, text in enumerate(links)}
    return {
        **facts,
        **{"device_%d" % d: "cuda:%d Some GPU, not seen by hwloc" % (d + 4) for d in range(len(devices))},
        **more,
    }


def heads(facts: dict) -> List[str]:
    return ["%s %s" % (f.head, f.text) for f in findings_of(facts)]


class Sentences(unittest.TestCase):
    def test_a_reason_may_have_anything_in_it(self) -> None:
        self.assertEqual(
            fields("kind=PCIe lanes=8 unknown=rate: a=b c"),
            {"kind": "PCIe", "lanes": "8", "unknown": "rate: a=b c"},
        )
        self.assertEqual(fields("nonsense ="), {"": ""})

    def test_what_joins_two_devices(self) -> None:
        found = links_of(
            node(
                [PCIE, nvlink("device_1")],
                [PCIE, nvlink("device_0")],
                [PCIE, nvlink("switch", 18)],
                [PCIE],
                path_0_2="kind=NVLink meet=system",
                path_2_3="kind=PCIe meet=host_bridge access=not_supported",
                path_1_3="unknown=access: no function",
            )
        )
        self.assertEqual(between(found, 0, 1), "9 × NVLink 4.0, 225 GB/s each way")
        self.assertEqual(between(found, 2, 0), "18 × NVLink 4.0, 450 GB/s each way through a switch")
        self.assertEqual(between(found, 2, 3), "PCIe, one host bridge, no access")
        self.assertEqual((between(found, 3, 1), between(found, 0, 3)), ("unknown", "unknown"))
        self.assertEqual(to_host(found, 0), "PCIe 5 x16")
        self.assertEqual(found.name(2), "cuda:6")

    def test_both_ways_of_a_link_have_their_rates(self) -> None:
        link = "kind=link to=host up=1 down=0 bytes_per_s=2.5e+10 errors=0"
        found = links_of(
            node(
                [link],
                [link.replace(" errors", " out_bytes_per_s=2e+10 errors")],
                path_0_1="kind=link access=yes hops=1 bytes_per_s=5e+10",
            )
        )
        self.assertEqual(to_host(found, 0), "1 × link, 25 GB/s each way")
        self.assertEqual(to_host(found, 1), "1 × link, 25 GB/s in and 20 GB/s out")
        self.assertEqual(between(found, 1, 0), "link, 50 GB/s one way")

    def test_a_path_back_that_differs_is_told(self) -> None:
        path = "kind=link access=yes hops=1 bytes_per_s=%g"
        found = links_of(node([], [], path_0_1=path % 13e9, path_1_0=path % 39e9))
        self.assertEqual(between(found, 0, 1), "link, 13 GB/s one way")
        self.assertEqual(between(found, 1, 0), "link, 39 GB/s one way")

    def test_pcie_says_how_it_was_read(self) -> None:
        def text(words: str) -> str:
            return to_host(links_of(node(["kind=PCIe to=host " + words])), 0)

        self.assertEqual(
            text("generation=1 generation_max=5 lanes=16 lanes_max=16 read=idle"), "PCIe 1 of 5 x16 when idle"
        )
        self.assertEqual(
            text("generation=4 generation_max=5 lanes=8 lanes_max=16 read=busy"), "PCIe 4 of 5 x8 of x16"
        )
        self.assertEqual(text("read=idle unknown=no library"), "PCIe unknown")
        self.assertEqual(text("lanes=8 read=idle"), "PCIe x8")


class Findings(unittest.TestCase):
    def test_nothing_is_wrong(self) -> None:
        memory = "ecc_uncorrected=0 ecc_corrected=70000 rows_remapped_corrected=3 unknown=x"
        self.assertEqual(
            heads(node([PCIE, nvlink("device_1")], [PCIE, nvlink("device_0")], memory_errors_0=memory)), []
        )
        self.assertEqual(heads({}), [])

    def test_the_generation_of_an_idle_link_is_no_finding_and_its_lanes_are(self) -> None:
        idle = "kind=PCIe to=host generation=1 generation_max=5 lanes=%d lanes_max=16 read=idle"
        self.assertEqual(heads(node([idle % 16])), [])
        self.assertEqual(
            heads(node([idle % 4])), ["PCIe below its maximum. cuda:4 has PCIe 1 of 5 x4 of x16 when idle."]
        )

    def test_a_link_is_missing_where_others_have_it(self) -> None:
        eight = [[PCIE, nvlink("switch", 17 if d == 5 else 18)] for d in range(8)]
        self.assertEqual(heads(node(*eight)), ["NVLink down. cuda:9 has 17 of 18 links up."])
        self.assertEqual(
            heads(node([nvlink("device_1", 3, 1)], [nvlink("device_0", 4)])),
            ["NVLink down. cuda:4 has 3 of 4 links up."],
        )

    def test_cards_without_a_bridge_have_links_that_lead_nowhere(self) -> None:
        unused = nvlink("unknown", 0, 12)
        self.assertEqual(heads(node([PCIE, unused], [PCIE, unused])), [])
        self.assertEqual(to_host(links_of(node([PCIE, unused])), 0), "PCIe 5 x16")
        self.assertEqual(
            heads(node(*([nvlink("device_%d" % other, 12), nvlink("unknown", 0, 6)] for other in (1, 0)))),
            [
                "NVLink down. cuda:4 has 12 of 18 and cuda:5 has 12 of 18 links up; "
                "a bridge that does not use the others looks the same."
            ],
        )
        self.assertEqual(
            heads(node([nvlink("device_1", 12)], [unused])), ["NVLink down. cuda:5 has 0 of 12 links up."]
        )
        self.assertEqual(
            heads(node(["kind=xGMI to=device_1 up=0 down=1"], ["kind=xGMI to=device_0 up=0 down=1"])),
            ["xGMI down. cuda:4 has 0 of 1 and cuda:5 has 0 of 1 links up."],
        )

    def test_links_that_no_device_has_are_not_missed(self) -> None:
        self.assertEqual(heads(node([PCIE, "kind=NVLink to=unknown unknown=no function"], [PCIE])), [])

    def test_memory(self) -> None:
        self.assertEqual(
            heads({"memory_errors_0": "row_remap_failed=1 pages_failed=0", "device_0": "hip:3 x"}),
            ["Memory errors. hip:3 has 1 failed remapping of rows."],
        )
        self.assertEqual(
            heads({"memory_errors_0": "ecc_uncorrected=x", "memory_errors_9999": "ecc_uncorrected=1"}), []
        )

    def test_what_is_no_number_is_unknown(self) -> None:
        self.assertEqual(heads({"memory_errors_0": "ecc_uncorrected=² pages_failed=" + "9" * 5000}), [])
        self.assertEqual(
            heads(node([PCIE.replace("16", "1e400")], ["kind=NVLink to=device_0 up=NaN down=1e31"])), []
        )


if __name__ == "__main__":
    unittest.main()
