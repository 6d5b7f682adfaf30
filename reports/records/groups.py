# SPDX-License-Identifier: BSD-3-Clause
"""The headline numbers in groups, in a fixed order of importance."""

from __future__ import annotations

from typing import Dict, List, Mapping, Tuple

from reports.records.jsonl import Json

GROUPS: Dict[str, Tuple[str, ...]] = {
    "Compute": (
        "gemm/efficiency",
        "gemm/sustained",
        "gemm/split",
        "gemm/small_batch",
        "gemm/grouped",
        "gemm/attention",
    ),
    "Memory": ("micro/memory", "micro/latency", "micro/sustained"),
    "Links": ("micro/copy_path", "micro/peer_matrix", "micro/link_contention"),
    "Copy engines": ("micro/copy_engines", "micro/copy_queue", "micro/copy_chunks", "micro/copy_command"),
    "Starting work": ("micro/launch", "micro/priority", "micro/occupancy"),
    "Overlap": (
        "overlap/pair",
        "micro/copy_contention",
        "micro/contention",
        "micro/neighbour",
        "micro/storage",
        "overlap/ficco",
        "overlap/collective",
        "overlap/sustained",
        "overlap/shaping",
        "overlap/trigger",
        "micro/reduce",
        "overlap/out_of_core",
        "overlap/units",
    ),
    "Collectives": (
        "collectives/device_allreduce",
        "collectives/device_allgather",
        "collectives/device_reduce_scatter",
        "collectives/device_all_to_all",
        "collectives/allreduce",
        "collectives/reduce_scatter",
        "collectives/allgather",
        "collectives/pairs",
    ),
}
_OTHERS = "Others"
_GROUP_OF = {program: title for title, programs in GROUPS.items() for program in programs}


def group_of(name: str) -> str:
    """The group of a number of a signature, "PROGRAM/METRIC" with or without "@DEVICE"."""
    return _GROUP_OF.get(name.partition("@")[0].rpartition("/")[0], _OTHERS)


def grouped(primary: Mapping[str, Json]) -> List[Tuple[str, List[Tuple[str, Json]]]]:
    """Headline numbers of a signature, each once: (group, [(name, entry)])."""
    places = {
        program: (title, place)
        for title, programs in GROUPS.items()
        for place, program in enumerate(programs)
    }
    found: Dict[str, List[Tuple[int, str, Json]]] = {title: [] for title in (*GROUPS, _OTHERS)}
    for name, entry in primary.items():
        title, place = places.get(entry["program"], (_OTHERS, 0))
        found[title].append((place, name, entry))
    return [
        (title, [(name, entry) for _, name, entry in sorted(rows, key=lambda r: r[0])])
        for title, rows in found.items()
        if rows
    ]
