# SPDX-License-Identifier: BSD-3-Clause
"""Questions that every machine is asked, each once, by its main number. Several numbers of one thing (read
and triad, engine and kernel, a type and its peak) would be several votes for it."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from reports.judge.scorecard.metrics import Row

# Question -> its numbers, the main one first. Ratios of a machine to itself answer none.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "GEMM, 16 bits": ("gemm/efficiency/gemm_bf16_flop_rate", "gemm/efficiency/gemm_f16_flop_rate"),
    "GEMM, 8 bits": ("gemm/efficiency/gemm_f8_flop_rate", "gemm/efficiency/gemm_f8_fast_flop_rate"),
    "GEMM, f32": ("gemm/efficiency/gemm_f32_flop_rate",),
    "GEMM, f64": ("gemm/efficiency/gemm_f64_flop_rate",),
    "memory bandwidth": ("micro/memory/memory_triad_bandwidth", "micro/memory/memory_read_bandwidth"),
    "cache bandwidth": ("micro/memory/llc_read_bandwidth",),
    "memory latency": ("micro/latency/memory_latency",),
    "copies from the host (H2D)": (
        "micro/copy_path/up_engine_bandwidth",
        "micro/copy_path/up_kernel_bandwidth",
    ),
    "copies to the host (D2H)": (
        "micro/copy_path/down_engine_bandwidth",
        "micro/copy_path/down_kernel_bandwidth",
    ),
    "concurrent copies from the host to all devices": ("micro/link_contention/all_devices_up_bandwidth",),
    "latency of a small copy": (
        "micro/copy_path/up_engine_latency_4k",
        "micro/copy_path/down_engine_latency_4k",
    ),
    "copies between two devices (P2P)": (
        "micro/peer_matrix/pair_median_bandwidth",
        "micro/copy_path/peer_engine_bandwidth",
        "collectives/pairs/pairs_median_bandwidth",
    ),
    "concurrent copies among all devices": (
        "micro/peer_matrix/all_to_all_engine_injection",
        "micro/peer_matrix/all_to_all_kernel_injection",
    ),
    "launch to completion": ("micro/launch/launch_round_trip",),
    "launches back to back": ("micro/launch/launch_back_to_back",),
    "allreduce bandwidth": (
        "collectives/device_allreduce/device_allreduce_busbw",
        "collectives/allreduce/allreduce_busbw",
    ),
    "allreduce latency": (
        "collectives/device_allreduce/device_allreduce_latency",
        "collectives/allreduce/allreduce_library_latency",
    ),
    "all-to-all bandwidth": (
        "collectives/device_all_to_all/device_all_to_all_library_busbw",
        "collectives/device_all_to_all/device_all_to_all_spread_out_busbw",
    ),
}


class Vote(NamedTuple):
    question: str
    row: Row


def _row(rows: Sequence[Row], names: Sequence[str]) -> Row | None:
    """The one of the most machines, of those the main number."""
    found = [row for name in names for row in rows if row.name == name]
    return max(found, key=lambda row: len(row.values), default=None)


def votes(rows: Sequence[Row]) -> list[Vote]:
    """Votes by rows that metrics.judge() judged; a question that none of them answers is left out."""
    found = ((question, _row(rows, names)) for question, names in QUESTIONS.items())
    return [Vote(question, row) for question, row in found if row is not None]
