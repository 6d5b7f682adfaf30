# SPDX-License-Identifier: BSD-3-Clause
"""Drawing of the devices and of what joins them."""

from __future__ import annotations

import unittest
from typing import List
from xml.dom import minidom

import workplace  # noqa: F401

from reports.signature.link_drawing import draw_links
from reports.signature.links import links_of

PCIE = "kind=PCIe to=host generation=5 generation_max=5 lanes=%d lanes_max=16 read=busy"


def xgmi(to: int) -> str:
    return "kind=xGMI to=device_%d up=1 down=0 bytes_per_s=5e+10 errors=0" % to


def drawn(devices: List[List[str]], **nodes: int) -> str:
    facts = {"link_%d_%d" % (d, i): text for d, links in enumerate(devices) for i, text in enumerate(links)}
    facts.update({"device_%d" % d: "cuda:%d Some GPU" % d for d in range(len(devices))})
    return draw_links(links_of(facts), {int(name[1:]): node for name, node in nodes.items()})


def texts(svg: str) -> List[str]:
    return [t.firstChild.data for t in minidom.parseString(svg).getElementsByTagName("text")]


class Drawing(unittest.TestCase):
    def test_memory_nodes_are_above_their_devices(self) -> None:
        svg = drawn([[PCIE % 16], [PCIE % 8], [PCIE % 16]], d0=1, d1=0, d2=1)
        self.assertEqual(
            texts(svg),
            [
                "NUMA node 0",
                "NUMA node 1",
                "PCIe 5 x8 of x16",
                "cuda:1",
                "PCIe 5 x16",
                "cuda:0",
                "PCIe 5 x16",
                "cuda:2",
            ],
        )
        self.assertEqual(svg.count('class="hot"'), 1)
        self.assertEqual(texts(drawn([[PCIE % 16]])), ["host", "PCIe 5 x16", "cuda:0"])

    def test_links_to_a_switch_end_there(self) -> None:
        link = "kind=NVLink to=switch up=%d down=0 version=4.0 errors=0"
        svg = drawn([[PCIE % 16, link % 18], [PCIE % 16, link % 17]])
        self.assertEqual(texts(svg)[-3:], ["18 × NVLink 4.0", "17 × NVLink 4.0", "switch"])

    def test_direct_links_are_brackets_and_one_bar_where_every_pair_has_the_same(self) -> None:
        ring = drawn([[PCIE % 16, xgmi((d + 1) % 4), xgmi((d + 3) % 4)] for d in range(4)])
        self.assertEqual(texts(ring).count("1 × xGMI"), 4)
        mesh = drawn([[PCIE % 16] + [xgmi(o) for o in range(8) if o != d] for d in range(8)])
        self.assertEqual(texts(mesh)[-1], "every pair: 1 × xGMI, 50 GB/s each way")

    def test_the_label_says_what_leads_to_the_host_and_from_one_to_another(self) -> None:
        link = "kind=NVLink to=switch up=18 down=0 version=4.0 errors=0"
        for devices, nodes, label in (
            (
                [[PCIE % 16], [PCIE % 8], [PCIE % 16]],
                {"d0": 1, "d1": 0, "d2": 1},
                "3 devices and what joins them: cuda:1 to NUMA node 0 by PCIe 5 x8 of x16; "
                "cuda:0 and cuda:2 to NUMA node 1 by PCIe 5 x16",
            ),
            (
                [[PCIE % 16, link], [PCIE % 16, link]],
                {},
                "2 devices and what joins them: cuda:0 and cuda:1 to the host by "
                "PCIe 5 x16; cuda:0 and cuda:1 to a switch by 18 × NVLink 4.0",
            ),
            (
                [[PCIE % 16, xgmi(1)], [xgmi(0)]],
                {},
                "2 devices and what joins them: cuda:0 to the host by PCIe 5 x16; "
                "cuda:1 to the host by an unknown link; cuda:0–cuda:1 to each other by 1 × xGMI",
            ),
        ):
            with self.subTest(label=label):
                self.assertEqual(
                    minidom.parseString(drawn(devices, **nodes)).documentElement.getAttribute("aria-label"),
                    label,
                )
        mesh = drawn([[PCIE % 16] + [xgmi(o) for o in range(16) if o != d] for d in range(16)])
        label = minidom.parseString(mesh).documentElement.getAttribute("aria-label")
        self.assertLessEqual(len(label), 300)
        self.assertTrue(label.endswith("; every pair to each other by 1 × xGMI"), label)

    def test_what_cannot_be_drawn_is_not(self) -> None:
        self.assertEqual(draw_links(links_of({}), {}), "")
        self.assertEqual(drawn([[PCIE % 16]] * 17), "")
        self.assertEqual(links_of({"link_999_0": PCIE % 16, "link_63_0": PCIE % 16}).devices, [63])
        self.assertIn("&lt;b&gt;", drawn([["kind=<b> to=host up=1"]]))


if __name__ == "__main__":
    unittest.main()
