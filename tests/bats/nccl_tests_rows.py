# SPDX-License-Identifier: BSD-3-Clause
"""nccl_tests_rows.py RECORDS TABLE: whether the table has every variant of every case, with the numbers that
follow from the median of its record by the definitions of nccl-tests' doc/PERFORMANCE.md."""

import json
import sys
from pathlib import Path

records = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
run, cases = records[0], [r for r in records if r["kind"] == "case"]
devices = len(run["device"])
reduces = run["program"].endswith(("allreduce", "reduce_scatter"))
allreduce = run["program"].endswith("allreduce")


def digits(value, width):
    """The most digits after the point, up to two, that fit."""
    return next(text for text in ("%.*f" % (places, value) for places in (2, 1, 0)) if len(text) <= width)


def expected(algorithm):
    rows, sum_gbs = [], 0.0
    for case in cases:
        variant = next((v for v in case["variants"] if v["name"] == algorithm), None)
        if variant is None:
            continue
        size, seconds = int(variant["model"]["bytes"]), variant["median_s"]
        algbw = size / seconds / 1e9
        busbw = algbw * (2 if allreduce else 1) * (devices - 1) / devices
        count = size // 4 if allreduce else size // 4 // devices
        rows.append(
            [
                str(size),
                str(count),
                "float",
                "sum" if reduces else "none",
                "-1",
                digits(seconds * 1e6, 7),
                digits(algbw, 6),
                digits(busbw, 6),
                "0",
                "N/A",
                "N/A",
                "N/A",
                "N/A",
            ]
        )
        sum_gbs += busbw
    return rows, sum_gbs / len(rows)


tables = Path(sys.argv[2]).read_text(encoding="utf-8").split("# Algorithm: ")[1:]
names = [table.split("\n")[0] for table in tables]
assert names == list(dict.fromkeys(v["name"] for c in cases for v in c["variants"])), names
for name, table in zip(names, tables):
    rows, average = expected(name)
    assert len(rows) > 3, rows
    found = [line.split() for line in table.split("\n")[1:] if line.strip() and not line.startswith("#")]
    assert found == rows, "%s\n%s\nnot\n%s" % (name, found, rows)
    line = next(line for line in table.split("\n") if line.startswith("# Avg bus bandwidth"))
    assert line == "# Avg bus bandwidth    : %g " % average, (line, average)
    assert "# Out of bounds values : 0 OK\n" in table
    assert " warmup iters: 1 iters: 7 agg iters: 1 validation: 1 " in table
