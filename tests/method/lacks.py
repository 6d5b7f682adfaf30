# SPDX-License-Identifier: BSD-3-Clause
"""Simulated devices that lack one mechanism each, and which values and headline numbers need it: a row a kind
of value."""

from __future__ import annotations

import fnmatch
import re
from typing import Dict, Iterator, Mapping, NamedTuple, Optional, Tuple

# Capability -> the line of a model. Two devices are opened, so that there are peers.
MODELS: Dict[str, str] = {
    "copy_engine": "copy_engines = 0",
    "copy_batch": "lacks = copy_batch",
    "priority": "priorities = 1",
    "gemm": "lacks = gemm",
    "gemm_tiled": "lacks = gemm_tiled",
    "gemm_grouped": "lacks = gemm_grouped",
    "wait_value": "lacks = wait_value",
    "occupancy": "lacks = occupancy",
    "peer": "lacks = peer",
    "clock_rate": "lacks = clock_rate",
    "unit_mask": "lacks = unit_mask",
}

# Headline numbers that no simulated device has: its GEMMs are f32 and f64, and it has no vendor's
# collectives.
NOT_SIMULATED = r".*_(tf32|f16|bf16|f8|i8|mxf8|mxf4|nvf4)_.*|.*_library_.*"


class Need(NamedTuple):
    """Values of these programs, in cases with one of these axis values ("name=value") and of these variants;
    "": any."""

    capability: str
    programs: str  # a pattern
    axis: str = ""  # regular expressions
    variant: str = ""


NEEDS: Tuple[Need, ...] = (
    Need("copy_engine", "*", variant=r"engine.*|both_ways.*"),
    Need("copy_engine", "*", axis=r"(copy-method|path|method)=engine", variant=r"(?!gemm|skinny_alone).*"),
    Need("copy_engine", "micro/*contention", axis=r".*=(.*\+)?engine(\+.*)?"),
    Need("copy_engine", "micro/copy_engines"),
    Need("copy_engine", "overlap/out_of_core"),
    Need("copy_engine", "overlap/collective", variant=r".*engine.*"),
    Need("unit_mask", "overlap/units"),
    Need("copy_engine", "micro/copy_chunks"),
    Need("copy_engine", "micro/copy_command"),
    Need("copy_engine", "micro/copy_engines"),
    Need("copy_engine", "micro/copy_queue"),
    Need("copy_engine", "micro/link_contention"),
    Need("copy_engine", "micro/storage", variant=r".*copy.*"),
    Need("gemm", "micro/storage", variant=r".*gemm.*"),
    Need("copy_batch", "micro/copy_command", variant=r"batch"),
    Need("priority", "micro/copy_queue", variant=r"high_.*|.*_priority"),
    Need("priority", "micro/priority"),
    Need("priority", "overlap/shaping", variant=r".*priority.*"),
    Need("gemm", "gemm/*", variant=r"(?!peak|mma_peak|wgmma_peak).*"),
    Need("gemm", "overlap/*"),
    Need("gemm", "*", axis=r".*=(.*\+)?gemm(\+.*)?"),
    Need("gemm_grouped", "gemm/grouped", variant=r"grouped"),
    Need("gemm_tiled", "overlap/trigger"),
    Need("gemm_tiled", "overlap/shaping", variant=r".*shaped.*"),
    Need("wait_value", "overlap/trigger", variant=r"triggered.*"),
    Need("wait_value", "micro/launch", variant=r"trigger"),
    Need("occupancy", "micro/occupancy"),
    Need("occupancy", "overlap/shaping", variant=r".*shaped.*"),
    Need("peer", "collectives/device_*"),
    Need(
        "peer",
        "*",
        axis=r"(direction|transfer|way)=(peers?|exchange|ring|.*gather|.*scatter|.*to-all|allreduce)",
    ),
    Need("peer", "micro/link_contention"),
    Need("peer", "micro/peer_matrix", axis=r"route=(each|(\d+|all)>(\d+|all))"),
    Need("peer", "overlap/collective"),
    Need("peer", "overlap/ficco"),
    Need("peer", "overlap/shaping"),
)


def possible(program: str, axes: Mapping[str, object]) -> Iterator[Need]:
    """Needs of some variant of this case."""
    words = ["%s=%s" % item for item in axes.items()]
    for need in NEEDS:
        if fnmatch.fnmatch(program, need.programs) and (
            not need.axis or any(re.fullmatch(need.axis, w) for w in words)
        ):
            yield need


def needed(program: str, axes: Mapping[str, object], variant: Optional[str]) -> Iterator[Need]:
    """Needs of a value of this variant in this case. Values of a whole case have no variant: the needs of all
    variants."""
    return (
        need
        for need in possible(program, axes)
        if not need.variant or re.fullmatch(need.variant, variant or "")
    )


def axes_of(key: str) -> Dict[str, str]:
    return dict(word.split("=", 1) for word in key.split() if "=" in word)
