# SPDX-License-Identifier: BSD-3-Clause
"""Links between devices, fitted to what the programs measure of simulated machines."""

from __future__ import annotations

import itertools
import random
import unittest
from typing import Dict, List, Union

import workplace
from tests.reports.model.simulated import LARGE, far_off, keys_of, measured

from reports.model import copies, links
from reports.model.key import Key
from tests.reproduction import fresh_models

PROGRAMS = ("micro/copy_path", "micro/copy_command", "micro/peer_matrix")
LINKS = workplace.ROOT / "device/sim/model/machines/mi250x.links"  # of eight devices
PARTS = (copies.keys, links.keys)
# Memory, units and engines are faster than links.
FAST = LARGE + "units = 100\nunit_bandwidth = 1e11\nllc_bandwidth = 8e12\nmemory_bandwidth = 4e12\n"
FAST += "engine_bandwidth = 4e11\ncopy_engines = 8\n"


def lines(keys: Dict[str, Key]) -> List[str]:
    """Those of single pairs."""
    return sorted(name for name in keys if ">" in name)


class Links(unittest.TestCase):
    def fitted(self, model: str, devices: Union[int, str]) -> Dict[str, Key]:
        keys, _ = keys_of(measured(model, devices, PROGRAMS), *PARTS)
        return keys

    def test_machines_with_odd_links(self) -> None:
        for seed in (2, 3):
            draw = random.Random(seed)
            devices = draw.choice((4, 8))
            model = fresh_models.draw_gpu(draw, devices, False, False, draw.randrange(5))
            truth = {n: model.keys[n] for n in ("peer_bandwidth", "peer_latency_ns")}
            of_links = (devices - 1) * truth["peer_bandwidth"]
            truth["injection_bandwidth"] = min(of_links, model.injection_bandwidth)
            truth.update(("peer_bandwidth %d>%d" % ends, rate) for ends, rate in model.links.items())
            with self.subTest(seed=seed):
                keys = self.fitted(model.text(), devices)
                self.assertEqual(far_off(keys, truth), [])
                self.assertEqual(lines(keys), sorted(name for name in truth if ">" in name))
                limited = model.injection_bandwidth < of_links
                self.assertEqual(keys["links"].value, "switch" if limited else "mesh")

    def test_words(self) -> None:
        for links_of, devices, word, injection in (
            ("links = switch\npeer_bandwidth = 1e11\n", 4, "switch", 1e11),
            ("links = mesh\npeer_bandwidth = 5e10\n", 4, "mesh", 1.5e11),
            ("links = mesh\npeer_bandwidth = 5e10\ninjection_bandwidth = 5e10\n", 4, "switch", 5e10),
            ("links = ring\npeer_bandwidth = 7e10\n", 6, "ring", None),
            ("links = ring\npeer_bandwidth = 7e10\ninjection_bandwidth = 8e10\n", 6, "ring", 8e10),
            ("links = torus:4x2\npeer_bandwidth = 7e10\n", 8, "torus:4x2", None),
            ("links = torus:3x3\npeer_bandwidth = 7e10\n", 9, "torus:3x3", None),
        ):
            with self.subTest(links=links_of):
                keys = self.fitted(
                    FAST + "devices = %d\npeer_latency_ns = 700\n" % devices + links_of, devices
                )
                self.assertEqual(keys["links"].value, word)
                self.assertEqual(far_off(keys, {"peer_latency_ns": 700.0}), [])
                self.assertEqual(lines(keys), [])
                if injection is None:
                    self.assertNotIn("injection_bandwidth", keys)
                else:
                    self.assertEqual(far_off(keys, {"injection_bandwidth": injection}), [])

    def test_every_link_has_a_rate_and_a_latency_of_its_own(self) -> None:
        """Both directions of a pair differ, too."""
        draw, truth = random.Random(5), {}
        for ends in itertools.permutations(range(4), 2):
            truth["peer_bandwidth %d>%d" % ends] = draw.uniform(1e10, 2e11)
            truth["peer_latency_ns %d>%d" % ends] = draw.uniform(300, 3000)
        own = "".join("%s = %.6g\n" % item for item in truth.items())
        keys = self.fitted(FAST + "links = mesh\ndevices = 4\njitter_sigma = 0.002\n" + own, 4)
        usual = {name: keys[name.split()[0]] for name in truth}
        self.assertEqual(far_off({**usual, **keys}, truth), [])

    def test_links_of_a_file(self) -> None:
        """Devices that are not all joined: what several ways share is shared in the fitted model, too."""
        base = FAST + "devices = 8\n"
        true = base + "links = %s\npeer_latency_ns = 411\npeer_bandwidth = 5e10\n" % LINKS
        keys = self.fitted(true, 8)
        self.assertEqual(keys["links"].value, "pairs")
        rates = {"0>1": 2e11, "0>6": 1e11, "0>2": 5e10, "7>5": 5e10}
        truth = {"peer_bandwidth " + ends: rate for ends, rate in rates.items()}
        self.assertEqual(far_off(keys, {**truth, "peer_bandwidth": 5e10, "peer_latency_ns": 411.0}), [])
        self.assertEqual(len(lines(keys)), 24)
        self.assertNotIn("injection_bandwidth", keys)
        of_links = (key for key in keys.values() if key.name.startswith(("peer", "links")))
        fitted = base + "".join("%s = %s\n" % (key.name, key.value) for key in of_links)
        sent = [
            measured(model, 8, ("micro/peer_matrix",), "--route", "all>all").results("micro/peer_matrix")
            for model in (fitted, true)
        ]
        for variant in ("engine", "kernel"):
            one, other = (found["fitted"]["injection"][variant]["all>all"] for found in sent)
            self.assertAlmostEqual(one / other, 1, delta=0.01)

    def test_devices_between_which_are_others(self) -> None:
        """Every other device of a ring: a way of two links is then as good as a link."""
        keys = self.fitted(
            FAST + "devices = 6\nlinks = ring\npeer_bandwidth = 7e10\npeer_latency_ns = 400\n", "0,2,4"
        )
        self.assertIn(keys["links"].value, ("switch", "mesh"))
        self.assertEqual(far_off(keys, {"peer_bandwidth": 7e10, "peer_latency_ns": 800.0}), [])
        self.assertEqual(lines(keys), [])

    def test_one_device_has_no_links(self) -> None:
        of = measured(FAST, 1, ("micro/copy_path",))
        keys, missing = keys_of(of, links.keys)
        self.assertEqual(keys, {})
        self.assertIn("one device", missing["peer_bandwidth"])


if __name__ == "__main__":
    unittest.main()
