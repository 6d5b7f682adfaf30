# SPDX-License-Identifier: BSD-3-Clause
# level: lab
"""ASTRA-sim reads the export of simulated machines, and its times are theirs: of a large allreduce, of a
GEMM and of a load from the host. Its binary of the analytical network is on PATH or in
build/tools/astra-sim/bin, built from its repository; no package has it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import simulated
import brought
from reports.export import astra_sim
from reports.records.record_file import read
from reports.signature.signature import build

_BINARY = "AstraSim_Analytical_Congestion_Aware"
_PROGRAMS = (
    ("micro/peer_matrix", "--route", "each,spread,exchange"),
    ("collectives/device_allreduce", "--algorithm", "ring,direct,rd-b", "--size", "32,16M,256M"),
    ("micro/memory", "--headline"),
    ("micro/copy_path", "--headline"),
    ("gemm/efficiency", "--headline", "--type", "f16"),
)
# of et_def.proto: NodeType and CollectiveCommType
_LOAD, _COMPUTE, _COLLECTIVE, _ALL_REDUCE = 2, 4, 7, 0
SIZE = 256 << 20


def binary() -> str:
    found = shutil.which(_BINARY) or str(brought.TOOLS / "astra-sim/bin" / _BINARY)
    if not Path(found).is_file():
        raise unittest.SkipTest("no %s; build it from github.com/astra-sim/astra-sim" % _BINARY)
    return found


def varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def _number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def _text(tag: int, value: bytes) -> bytes:
    return varint(tag << 3 | 2) + varint(len(value)) + value


def trace(kind: int, **attributes: int) -> bytes:
    """A Chakra execution trace of one node: its messages, each after its length."""
    node = _text(2, b"node") + _number(3, kind)
    for name, value in dict(attributes, is_cpu_op=0).items():
        tag = 27 if name == "is_cpu_op" else 9  # bool_val, int64_val
        node += _text(10, _text(1, name.encode()) + _number(tag, value))
    metadata = _text(1, b"0.0.4")
    return b"".join(varint(len(message)) + message for message in (metadata, node))


class AstraSim(simulated.Scratch):
    program = _PROGRAMS[1][0]

    def machine(self, device: str) -> None:
        """Export of a simulated machine, in the folder `astra`."""
        folder = self.folder / "run"
        folder.mkdir()
        with open(folder / "records.jsonl", "wb") as stream:
            for program, *options in _PROGRAMS:
                words = ["--device", device, "--budget", "10m", "--format", "json", *options]
                subprocess.run(
                    [simulated.BIN / program, *words],
                    stdout=stream,
                    stderr=subprocess.PIPE,
                    check=True,
                    timeout=300,
                )
        (folder / "signature.json").write_text(build(read(folder / "records.jsonl")).text(), encoding="utf-8")
        self.export("astra-sim", "run", "--out", "astra")
        self.system = json.loads((self.folder / "astra" / astra_sim.SYSTEM).read_text(encoding="utf-8"))
        self.network = (self.folder / "astra" / astra_sim.NETWORK).read_text(encoding="utf-8")
        self.devices = int(re.search(r"npus_count: \[ (\d+) \]", self.network)[1])  # type: ignore[index]

    def seconds(self, kind: int, **attributes: int) -> float:
        for npu in range(self.devices):
            (self.folder / ("workload.%d.et" % npu)).write_bytes(trace(kind, **attributes))
        ran = subprocess.run(
            [
                binary(),
                "--workload-configuration=workload",
                "--system-configuration=astra/" + astra_sim.SYSTEM,
                "--remote-memory-configuration=astra/" + astra_sim.REMOTE,
                "--network-configuration=astra/" + astra_sim.NETWORK,
            ],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stdout[-2000:])
        ends = re.findall(r"sys\[\d+\] finished, (\d+) cycles", ran.stdout)
        self.assertEqual(len(ends), self.devices)
        return max(map(int, ends)) * 1e-9  # a cycle is 1 ns (CLOCK_PERIOD)

    def allreduce_ratio(self) -> float:
        measured = self.system["gpusig"]["measured seconds by bytes of the whole vector"]
        times = next(own for name, own in measured.items() if name.startswith("all-reduce"))
        return self.seconds(_COLLECTIVE, comm_type=_ALL_REDUCE, comm_size=SIZE) / times[str(SIZE)]

    def check(self, device: str, topology: str, least: float, most: float) -> None:
        binary()
        self.machine(device)
        self.assertIn("topology: [ %s ]" % topology, self.network)
        ratio = self.allreduce_ratio()
        self.assertTrue(least < ratio < most, ratio)

    def test_a_mesh(self) -> None:
        self.check("sim:mi300x:0-7", "FullyConnected", 0.9, 1.05)
        flops = 2 * 8192**3
        compute = self.seconds(_COMPUTE, num_ops=flops, tensor_size=3 * 2 * 8192**2)
        self.assertAlmostEqual(compute * self.system["peak-perf"] * 1e12 / flops, 1, delta=1e-4)
        remote = json.loads((self.folder / "astra" / astra_sim.REMOTE).read_text(encoding="utf-8"))
        load = self.seconds(_LOAD, tensor_size=1 << 30)
        expected = remote["remote-mem-latency"] * 1e-9 + (1 << 30) / (remote["remote-mem-bw"] * 1e9)
        self.assertAlmostEqual(load / expected, 1, delta=1e-4)

    def test_a_switch(self) -> None:
        self.check("sim:h100:0-7", "Switch", 0.8, 1.1)

    def test_a_ring(self) -> None:
        self.check("sim:t3-8:0-7", "Ring", 0.9, 1.15)


if __name__ == "__main__":
    unittest.main()
