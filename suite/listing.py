# SPDX-License-Identifier: BSD-3-Clause
"""`./gpusig list`: the question, the needs and the primary metrics of every program."""
from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path

from suite import programs
from suite.programs import Program

_HEAD = ("program", "question", "needs", "primary metrics")


def command(bin_dir: Path, sources: Path | None, markdown: bool) -> int:
    found = programs.find(bin_dir)
    if sources is not None:
        found = sorted(found + programs.unbuilt(sources, found), key=lambda p: p.name)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    print(_markdown(found) if markdown else _fitted(found, width))
    return 1 if any(p.error for p in found) else 0


def _row(program: Program) -> tuple[str, ...]:
    if program.error or program.unbuilt:
        return (program.name, program.error or program.unbuilt, "-", "-")
    return (program.name, program.question, " ".join(program.needs) or "-", ", ".join(program.primary) or "-")


def _markdown(found: list[Program]) -> str:
    rows = [_HEAD, ("---",) * len(_HEAD), *(_row(p) for p in found)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _table(found: list[Program]) -> str:
    rows = [_HEAD, *(_row(p) for p in found)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _fitted(found: list[Program], width: int) -> str:
    """The table, or where it is wider than a terminal a paragraph a program."""
    table = _table(found)
    if not width or max(len(line) for line in table.splitlines()) <= width:
        return table
    lines = []
    for name, *rest in map(_row, found):
        lines.append(name)
        for head, cell in zip(_HEAD[1:], rest):
            words = cell if head == "question" else f"{head}: {cell}"
            lines += textwrap.wrap(words, max(20, width), initial_indent="  ", subsequent_indent="    ") if cell != "-" else []
    return "\n".join(lines)
