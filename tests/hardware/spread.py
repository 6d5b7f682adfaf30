# SPDX-License-Identifier: BSD-3-Clause
"""A against A: how far the primary metrics of equal runs lie apart.

    spread.py RUN/signature.json...     each of a run of its own, with the same options

Printed: runs that have it, median, least, most, and (most - least) / median: what two single runs on this
machine may differ by though nothing changed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median


def primary(path: Path) -> dict[str, tuple[float, str]]:
    metrics = json.loads(path.read_text(encoding="utf-8"))["metrics"]
    return {
        name: (m["value"], m["unit"])
        for name, m in metrics.items()
        if m["primary"] and m["value"] is not None
    }


def main(paths: list[str]) -> int:
    runs = [primary(Path(path)) for path in paths]
    names = sorted(set().union(*runs)) if runs else []
    print(f"| {len(runs)} runs | n | median | least | most | unit | spread |\n|---|---|---|---|---|---|---|")
    for name in names:
        values = [run[name][0] for run in runs if name in run]
        unit = next(run[name][1] for run in runs if name in run)
        middle = median(values)
        spread = f"{100 * (max(values) - min(values)) / middle:.2f} %" if middle else ""
        print(
            f"| {name} | {len(values)} | {middle:.5g} | {min(values):.5g} | {max(values):.5g} | {unit} | "
            f"{spread} |"
        )
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
