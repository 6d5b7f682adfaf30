# SPDX-License-Identifier: BSD-3-Clause
"""Compares T3 (arXiv 2401.16677) with its simulated hardware: writes docs/reproduction/t3.md.

t3.py [--out FILE] [--keep DIR]

Needs bin/overlap/t3. Its records are left in DIR (build/reproduction).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent))

import t3_tables as tables
from program_runs import ONE_RUN, Run, run, write_document
from t3_tables import Campaign

PROGRAM = "overlap/t3"
OF_THE_PAPER = {8: "mega-gpt-2,t-nlg", 16: "mega-gpt-2,t-nlg", 32: "gpt-3,palm,mt-nlg"}
SWEEP = (2, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 90, 100)
SWEPT = ("--model", "t-nlg", "--layer", "op,fc-2,ip", "--variant", "sequential,t3,t3_mca")
RINGS = (3, 4, 5, 6, 7, 8, 16, 32, 64)
COUNTED = (
    "--model",
    "mega-gpt-2",
    "--layer",
    "op",
    "--variant",
    "all_gather_alone,sequential,t3,t3_mca,t3_mca_unstaggered",
)


def device(count: int, change: str = "") -> str:
    return f"sim:t3?devices={count}{',' if change else ''}{change}:0-{count - 1}"


def campaign(keep: Path) -> Campaign:
    def ran(name: str, count: int, *options: str, change: str = "") -> Run:
        return run(
            keep / "t3" / f"{name}.jsonl",
            PROGRAM,
            ["--device", device(count, change), *options, *ONE_RUN, "--budget", "60m"],
        )

    layers = {
        count: ran(f"devices-{count}", count, "--model", models) for count, models in OF_THE_PAPER.items()
    }
    thresholds = ran("thresholds", 8, *SWEPT, "--threshold", ",".join(map(str, (0, *SWEEP))))
    rings = {count: ran(f"ring-{count}", count, *COUNTED) for count in RINGS}
    wide = {
        count: ran(f"wide-{count}", count, "--model", models, change="peer_bandwidth=2x")
        for count, models in OF_THE_PAPER.items()
        if count == 8
    }
    few = ran("few-entries", 8, "--model", "t-nlg", "--layer", "op,fc-2", change="tracker_entries=32")
    return Campaign(layers, thresholds, rings, wide, few)


def written(found: Campaign) -> Iterator[str]:
    yield tables.words.HEAD
    yield from tables.headline(found)
    yield from tables.order(found)
    yield from tables.sub_layers(found)
    yield from tables.traffic(found)
    yield from tables.bytes_moved(found)
    yield from tables.thresholds(found)
    yield from tables.split(found)
    yield from tables.stagger(found)
    yield from tables.tracker(found)
    yield from tables.readings(found)
    yield from tables.cost(found)


if __name__ == "__main__":
    sys.exit(write_document("t3", PROGRAM, lambda keep: written(campaign(keep))))
