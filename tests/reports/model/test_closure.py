# SPDX-License-Identifier: BSD-3-Clause
"""A simulated machine is measured, its model is measured, and both say the same."""

from __future__ import annotations

import unittest

import workplace  # noqa: F401  the root on the path

from reports.model import text

from tests.reports.model.simulated import PROGRAMS, measured

ALL = (*PROGRAMS, "gemm/efficiency", "gemm/split")

# Numbers in no proportion to those of the base.
MACHINE = """like = quiet
data = none
devices = 2
units = 40
memory_bytes = 16G
host_memory_bytes = 16G
memory_bandwidth = 7e11
llc_bytes = 12M
llc_bandwidth = 1.9e12
unit_bandwidth = 6.1e10
memory_latency_ns = 430
llc_latency_ns = 170
link_up_bandwidth = 21e9
link_down_bandwidth = 33e9
peer_bandwidth = 41e9
peer_latency_ns = 320
engine_bandwidth = 70e9
flops_f32 = 3.1e11
flops_bf16 = 2.3e12
gemm_efficiency = 0.77
gemm_tile = 128
launch_ns = 3100
block_ns = 420
copy_ns = 5200
host_call_ns = 900
host_sync_ns = 1700
"""
OFF = 0.05
# A number of each program that would show that its fit is broken, and some of what no fit reads.
SHOWN = (
    "micro/launch/launch_back_to_back",
    "micro/launch/launch_round_trip",
    "micro/memory/memory_read_bandwidth",
    "micro/memory/llc_read_bandwidth",
    "micro/latency/memory_latency",
    "micro/copy_path/up_engine_bandwidth",
    "micro/copy_path/down_engine_latency_4k",
    "micro/copy_path/peer_kernel_bandwidth",
    "micro/peer_matrix/all_to_all_engine_injection",
    "gemm/efficiency/gemm_f32_flop_rate",
    "gemm/efficiency/gemm_bf16_flop_rate",
    "gemm/split/gemm_dil_m8",
    "collectives/device_allreduce/device_allreduce_busbw",
    "overlap/ficco/ficco_shard_speedup",
)


def headline(of) -> dict[str, float]:
    return {name: own["value"] for name, own in of.signature["metrics"].items() if own["primary"]}


class Closure(unittest.TestCase):
    def test_a_machine_and_its_model_say_the_same(self) -> None:
        machine = measured(MACHINE, 2, ALL)
        model = text.of(machine.signature, "a machine")
        both = (*ALL, "collectives/device_allreduce", "overlap/ficco")
        before, after = (headline(measured(own, 2, both, "--headline")) for own in (MACHINE, model))
        off = {name: abs(after.get(name, 0.0) / before[name] - 1) for name in SHOWN}
        self.assertEqual({name: value for name, value in off.items() if value > OFF}, {}, model)


if __name__ == "__main__":
    unittest.main()
