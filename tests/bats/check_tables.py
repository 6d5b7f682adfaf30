# SPDX-License-Identifier: BSD-3-Clause
"""check_tables.py FILE...: helps and tables of programs. Lines that are too long, numbers of rows that do not
end below the names of their columns, and lines of FOLDER/table that FOLDER/tablev, the same with -v, does not
have in that order."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Iterator

COLUMNS = 80
_NAMES = re.compile(r"^  variant +median  \+- %     n\b")
_ROW = re.compile(r"^  (?:\S+| ) +(-?\d\S*|nan) (?:ns|us|ms|s ) +(\d+\.\d|\d+|-) +(\d+)(?:  |$)")


def _ends(line: str) -> list[int] | None:
    """Columns at which median, interval and number of samples of a row end; None for any other line."""
    row = _ROW.match(line)
    return [row.end(i) for i in (1, 2, 3)] if row else None


def _shifted(lines: list[str]) -> Iterator[str]:
    wanted, rows = None, 0
    for line in lines:
        if _NAMES.match(line):
            median = line.index("median") + len("median") - len(" us")
            wanted = [median, line.index("%") + 1, line.index("%") + 1 + len("     n")]
        elif _ends(line):
            rows += 1
            if _ends(line) != wanted:
                yield f"columns end at {_ends(line)}, not {wanted}: {line}"
    if wanted and not rows:
        yield "names of columns, and no row"


def _missing(lines: list[str], others: list[str]) -> Iterator[str]:
    left = iter(others)
    for line in lines:
        if not line.startswith("# -v ") and line not in left:
            yield f"not with -v, or not in this order: {line}"
            return


def _breaches(path: Path) -> Iterator[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    yield from (f"{len(line)} characters: {line}" for line in lines if len(line) > COLUMNS)
    yield from (f"blanks at the end: {line}" for line in lines if line != line.rstrip())
    yield from _shifted(lines)
    if path.name == "table":
        yield from _missing(lines, path.with_name("tablev").read_text(encoding="utf-8").splitlines())


def main(names: list[str]) -> int:
    found = [f"{name}: {breach}" for name in names for breach in _breaches(Path(name))]
    print("\n".join(found))
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
