# SPDX-License-Identifier: BSD-3-Clause
"""Values that parsers of nccl-tests' table find in a file, as one JSON object. Each parser is that of a
public tool, written anew:

average        the last word of the line "# Avg bus bandwidth", as FlagPerf's scripts take it by grep and awk
out_of_bounds  the line that sanity checks look for
from_the_end   SuperBench's nccl-bw: from a row of more than ten words the sixth from the end
by_heading     the column "busbw" of the first line that names size, time and busbw
first_columns  the eighth of the leading columns, by a pattern
devices, settings  hosts of the lines "#  Rank", and of "# nThread" threads, GPUs, minBytes and maxBytes
"""

import json
import re
import sys

LINES = open(sys.argv[1], encoding="utf-8").read().splitlines()
TEXT = "\n".join(LINES)
ROW = re.compile(r"^\s*(\d+)\s+(\d+)\s+(\w+)\s+(\w+)\s+(-?\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\S+)")


def from_the_end():
    rows = (line.split() for line in LINES if not line.startswith("#"))
    return [float(words[-6]) for words in rows if len(words) > 10]


def by_heading():
    heading = next(line for line in LINES if {"size", "time", "busbw"} <= set(line.split()))
    names = heading.lstrip("#").split()
    rows = (line.split() for line in LINES if re.match(r"\s*\d", line))
    return [(int(words[names.index("size")]), float(words[names.index("busbw")])) for words in rows]


average = next(line for line in LINES if line.startswith("# Avg bus bandwidth")).split()[-1]
out_of_bounds = re.search(r"^# Out of bounds values\s*:\s*(\d+)\s+(OK|FAILED)\s*$", TEXT, re.M)
settings = re.search(r"nThread\s+(\d+)\s+nGpus\s+(\d+)\s+minBytes\s+(\d+)\s+maxBytes\s+(\d+)", TEXT)
print(
    json.dumps(
        {
            "average": float(average),
            "out_of_bounds": out_of_bounds and [int(out_of_bounds[1]), out_of_bounds[2]],
            "from_the_end": from_the_end(),
            "by_heading": by_heading(),
            "first_columns": [float(match[8]) for match in map(ROW.match, LINES) if match],
            "devices": re.findall(r"^#\s+Rank\s+\d+.*on\s+(\S+)\s+device\s+\d+", TEXT, re.M),
            "settings": [int(value) for value in settings.groups()],
        }
    )
)
