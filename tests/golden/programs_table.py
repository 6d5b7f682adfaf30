# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/PROGRAMS.md is what `./gpusig list --markdown` prints of those that are built.

programs_table.py [--write] [DOCUMENT]: name the rows that differ and exit 1, or with --write put them right.
Rows of programs that have a source but could not be built here stay as they are. GPUSIG_BIN=DIR takes the
programs of another build.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- programs: written by tests/golden/update -->", "<!-- end of programs -->"


def _program_of(row: str) -> str:
    return row.split("|")[1].strip()


def _listed() -> list[str]:
    bin_dir = str(Path(os.environ.get("GPUSIG_BIN") or ROOT / "bin").resolve())
    said = subprocess.run(
        [sys.executable, "-m", "suite", "list", "--markdown"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "GPUSIG_BIN": bin_dir},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [line for line in said.stdout.splitlines() if line.startswith("|")]


def fresh(present: list[str]) -> list[str]:
    """The table as it is to be, given the one that is there."""
    head, listed = _listed()[:2], {_program_of(row): row for row in _listed()[2:]}
    unbuilt = {_program_of(row): row for row in present[2:] if (ROOT / f"{_program_of(row)}.c").is_file()}
    rows = {**unbuilt, **listed}
    return [*head, *(rows[name] for name in sorted(rows))]


def main(words: list[str]) -> int:
    write = words[:1] == ["--write"]
    path = Path((words[1:] if write else words) and words[-1] or ROOT / "docs/PROGRAMS.md")
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN + "\n")
    table, end, after = rest.partition(END + "\n")
    if not begin or not end:
        print(f"{path} lacks the line {END if begin else BEGIN}", file=sys.stderr)
        return 1
    present = table.strip().splitlines()
    wanted = fresh(present)
    if write:
        path.write_text(
            "".join([before, begin, "\n", "\n".join(wanted), "\n\n", end, after]), encoding="utf-8"
        )
        return 0
    stale = [f"- {row}" for row in present if row not in wanted] + [
        f"+ {row}" for row in wanted if row not in present
    ]
    if stale or present != wanted:
        print(
            "\n".join(
                [
                    f"{path.name}'s table of programs is stale:",
                    *stale,
                    "to put it right: tests/golden/update PROGRAM",
                ]
            )
        )
    return int(bool(stale) or present != wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
