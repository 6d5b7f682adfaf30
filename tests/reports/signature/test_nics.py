# SPDX-License-Identifier: BSD-3-Clause
"""Network adapters near the devices of a node: facts in, sentences, tables and findings out."""

from __future__ import annotations

import unittest
from typing import Dict, List, Sequence

from reports.signature.nics import direct, figures, findings, nics_of, sentence


def node(
    nearest: Sequence[str], buses: Sequence[str] = ("0000:0c:00.0", "0000:0d:00.0"), **more: object
) -> Dict[str, object]:
    facts: Dict[str, object] = {
        "nic_%d" % i: "rdma=mlx5_%d bus=%s link=up" % (i, bus) for i, bus in enumerate(buses)
    }
    for place, words in enumerate(nearest):
        facts["device_%d" % place] = "cuda:%d Some GPU, not seen by hwloc" % (place + 4)
        facts["nearest_nics_%d" % place] = words
    return {**facts, **more}


def found(facts: Dict[str, object]) -> List[str]:
    return [finding.text for finding in findings(facts)]


class Sentences(unittest.TestCase):
    def test_alike_and_different(self) -> None:
        self.assertEqual(sentence({}), "")
        self.assertEqual(sentence(node([])), "")
        near, far = "nics=0 meet=switch", "nics=0,1 meet=system"
        self.assertEqual(
            sentence(node([near, near])),
            "The nearest network adapter is behind one PCIe switch with each device.",
        )
        self.assertEqual(
            sentence(node([near, far, near])),
            "The nearest network adapter is behind one PCIe switch with cuda:4 and cuda:6 "
            "and across sockets from cuda:5.",
        )

    def test_direct_access(self) -> None:
        self.assertEqual(direct(nics_of({})), "")
        self.assertEqual(
            direct(nics_of({"peer_memory": "found=/sys/a", "dma_buf_0": "no", "dma_buf_1": "no"})),
            "Direct access of adapters to the devices: a module for peer memory was found (/sys/a); "
            "the driver does not export device memory as dma-buf.",
        )
        self.assertEqual(
            direct(
                nics_of(
                    {
                        "peer_memory": "found=none looked_for=/sys/a,/sys/b",
                        "dma_buf_0": "no",
                        "dma_buf_1": "yes",
                    }
                )
            ),
            "Direct access of adapters to the devices: no module for peer memory was found "
            "(no /sys/a and no /sys/b); "
            "the driver partly exports device memory as dma-buf.",
        )


class Findings(unittest.TestCase):
    def test_only_where_a_card_could_be_moved(self) -> None:
        far = "nics=0,1 meet=system"
        self.assertEqual(len(found(node([far]))), 1)
        self.assertEqual(found(node([far], ["0000:0c:00.0", "0000:0c:00.1"])), [])
        self.assertEqual(found(node(["nics=0 meet=system"])), [])
        self.assertEqual(found(node(["nics=0,1 meet=package"])), [])
        text = "cuda:4 and cuda:5 reach the nearest of the fastest network adapters across sockets."
        self.assertEqual(found(node([far, far])), [text])


class Tables(unittest.TestCase):
    def test_a_cell_a_pair_and_unknown_is_said(self) -> None:
        facts = node(
            ["nics=1 meet=switch"],
            nic_path_0_0="meet=numa_node",
            nic_path_0_1="meet=switch port=0000:0b:00.0",
        )
        adapters, matrix = figures(facts)
        self.assertEqual(adapters.rows[0], ["mlx5_0", "–", "0000:0c:00.0", "–", "up", "–"])
        self.assertEqual(matrix.heads, ["device", "nearest", "mlx5_0", "mlx5_1"])
        self.assertEqual(matrix.rows, [["cuda:4", "mlx5_1", "one NUMA node", "one PCIe switch"]])
        del facts["nearest_nics_0"], facts["nic_path_0_0"]
        self.assertEqual(figures(facts)[1].rows, [["cuda:4", "unknown", "unknown", "one PCIe switch"]])
        self.assertEqual(figures({}), [])

    def test_facts_of_a_foreign_file(self) -> None:
        for words in ("", "nics=", "nics=99", "nics=x,0 meet=nowhere", "nics=0 meet=\u00b2", "\u00b2=\u00b2"):
            facts = node(
                [words], nic_path_0_0=words, nic_path_99_99="meet=switch", peer_memory=words, dma_buf_0=words
            )
            self.assertEqual(found(facts), [])
            self.assertEqual(sentence(facts), "")
            self.assertEqual(len(figures(facts)), 2)
        self.assertEqual(
            found({"nearest_nics_0": "nics=\u00b2 meet=system", "nic_path_0_0": None, "nic_0": 3}), []
        )


if __name__ == "__main__":
    unittest.main()
