# SPDX-License-Identifier: BSD-3-Clause
"""State that a preflight reads of the kernel, from made-up /sys and /proc, and the devices that it opens."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from suite.run import devices, preflight_facts
from suite.run.preflight_start import Children, Hidden
from suite.run.programs import Backend


class Kernel(unittest.TestCase):
    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.root = Path(held.name)

    def pci(self, address: str, **files: str) -> None:
        folder = self.root / "bus/pci/devices" / address
        folder.mkdir(parents=True)
        for name, text in files.items():
            (folder / name).write_text(text + "\n", encoding="utf-8")

    def process(self, pid: int, name: str, *opened: str) -> None:
        folder = self.root / str(pid) / "fd"
        folder.mkdir(parents=True)
        (folder.parent / "comm").write_text(name + "\n", encoding="utf-8")
        for number, target in enumerate(opened):
            os.symlink(target, folder / str(number))

    def test_devices_on_the_bus(self) -> None:
        self.pci("0000:01:00.0", vendor="0x10de", **{"class": "0x030200"})
        self.pci(
            "0000:02:00.0",
            vendor="0x1002",
            **{"class": "0x120000"},
            mem_info_vram_used="4096",
            mem_info_vram_total="8192",
        )
        self.pci("0000:03:00.0", vendor="0x10de", **{"class": "0x040300"})  # sound
        self.pci("0000:04:00.0", vendor="0x8086", **{"class": "0x030000"})
        self.assertEqual(
            preflight_facts.pci_devices(self.root),
            [
                {"address": "0000:01:00.0", "vendor": "NVIDIA", "class": "0302"},
                {
                    "address": "0000:02:00.0",
                    "vendor": "AMD",
                    "class": "1200",
                    "memory_used_bytes": 4096,
                    "memory_bytes": 8192,
                },
            ],
        )
        self.assertEqual(preflight_facts.pci_devices(self.root / "nothing"), [])

    def test_who_has_a_device_open(self) -> None:
        self.process(10, "python3", "/dev/null", "/dev/nvidia0", "/dev/nvidia1")
        self.process(11, "nvidia-persiste", "/dev/nvidia0")
        self.process(12, "sh", "/dev/nvidiactl", "socket:[1]")
        self.process(13, "hostile\n\x1b[31m", "/dev/kfd")
        found, unseen = preflight_facts.holders(self.root)
        self.assertEqual(
            sorted((one["pid"], one["device"]) for one in found),
            [(10, "/dev/nvidia0 /dev/nvidia1"), (13, "/dev/kfd")],
        )
        self.assertFalse(unseen)

    def test_memory_and_load_of_this_machine(self) -> None:
        host, busy = preflight_facts.host(), preflight_facts.busy(0.05)
        self.assertTrue(0 < host["memory_available_bytes"] <= host["memory_bytes"])
        self.assertTrue(busy["share"] is None or 0 <= busy["share"] <= 1)
        self.assertTrue(all(one["memory_bytes"] >= 0 for one in preflight_facts.largest()))

    def test_what_narrows_the_view(self) -> None:
        self.assertEqual(preflight_facts.visible_by({"NVIDIA_VISIBLE_DEVICES": "all"}), "")
        self.assertEqual(
            preflight_facts.visible_by({"CUDA_VISIBLE_DEVICES": "0,1"}), "CUDA_VISIBLE_DEVICES=0,1"
        )


class Lists(unittest.TestCase):
    KNOWN = [Backend("cuda", 7), Backend("hip", 0, "no driver"), Backend("host", 64)]

    def test_the_list_of_the_reference_as_far_as_it_is_there(self) -> None:
        for device, wanted, there in (
            ("cuda:0-7", 8, "cuda:0-6"),
            ("cuda:0-3", 4, "cuda:0-3"),
            ("cuda", 1, "cuda"),
            ("hip:0-7", 8, "hip:0-7"),
            ("host", 1, "host"),
            ("sim:h100:0-7", 8, "sim:h100:0-7"),
        ):
            self.assertEqual(devices.as_there(device, self.KNOWN, wanted), there)

    def test_all_devices_of_a_kind_and_each_alone(self) -> None:
        self.assertEqual(devices.all_of("cuda", self.KNOWN), "cuda:0-6")
        self.assertEqual(devices.all_of("host", self.KNOWN), "host")
        self.assertEqual(devices.each_but_first("cuda:0-2,5"), ["cuda:1", "cuda:2", "cuda:5"])
        self.assertEqual(devices.each_but_first("cuda"), [])


class Start(unittest.TestCase):
    def test_several_at_once_their_output_and_codes(self) -> None:
        given = Hidden("given").write(b"some text")
        commands = [["cat", given.path], ["sh", "-c", "echo gpusig: no >&2; exit 77"], ["/dev/null/none"]]
        found = Children().together(commands, 300, (given,))
        self.assertEqual([one.code for one in found], [0, 77, 126])
        self.assertEqual((found[0].out, found[1].last_words), (b"some text", "no"))

    def test_what_takes_too_long_is_stopped_with_what_it_started(self) -> None:
        one = Children().one(["sh", "-c", "echo begun; sleep 299 & wait"], 0.5)
        self.assertEqual((one.code, one.is_left), (None, False))
        self.assertIn(one.out, (b"begun\n", b""))  # a busy machine may not have begun it


if __name__ == "__main__":
    unittest.main()
