# SPDX-License-Identifier: BSD-3-Clause
"""JSON that the repository keeps: what fits in 100 columns is one line; of what does not, an object has a
line of its own, and words and numbers share lines. `python3 tests/lint/compact_json.py --write` rewrites the
files of FILES that are not so."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FILES = ("reports/schema/*.json", "docs/examples/grafana/*.json")
COLUMNS = 100


def compact(value: Any, depth: int = 0, before: int = 0, after: int = 0) -> str:
    """`before` and `after`: the columns of its first and of its last line that are taken."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or before + len(line) + after <= COLUMNS:
        return line
    named = value.items() if isinstance(value, dict) else ((None, each) for each in value)
    lines, shared = [], False
    for number, (name, each) in enumerate(named, 1):
        head = "" if name is None else json.dumps(name, ensure_ascii=False) + ": "
        rest = after + 1 if number == len(value) else 1
        text = head + compact(each, depth + 1, depth + 1 + len(head), rest)
        plain = "{" not in text and "\n" not in text
        if plain and shared and depth + 1 + len(lines[-1]) + 2 + len(text) + rest <= COLUMNS:
            lines[-1] += ", " + text
        else:
            lines.append(text)
        shared = plain
    inner = "\n" + " " * (depth + 1)
    text = inner + ("," + inner).join(lines)
    return "{%s}" % text if isinstance(value, dict) else "[%s]" % text


def breaches(write: bool = False) -> list[str]:
    found = []
    for path in sorted(path for pattern in FILES for path in ROOT.glob(pattern)):
        before = path.read_text(encoding="utf-8")
        after = compact(json.loads(before)) + "\n"
        if before != after:
            found.append(str(path.relative_to(ROOT)))
            if write:
                path.write_text(after, encoding="utf-8")
    return found


if __name__ == "__main__":
    print(*breaches(sys.argv[1:] == ["--write"]), sep="\n")
