# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig list: the question, the needs and the headline metrics of every program."""

from __future__ import annotations

import shutil
import sys
import textwrap

from suite.run import programs
from suite.command_error import BAD, OK, CommandError
from suite.commands import Place, options
from suite.run.programs import Program

_HEAD = ("program", "question", "needs", "primary metrics")
_WIDTH, _MIN_TEXT = 80, 24  # columns, and the fewest of a question on a narrow terminal
_GAP = 2


def command(words: list[str], place: Place) -> int:
    given = options.parse("list", words, {})
    sources = place.sources()
    if sources is not None:
        _chosen(programs.unbuilt(sources, []), given.names)  # refused before anything is built
    if place.check_only:
        return OK
    found = programs.find(place.programs())
    if sources is not None:
        found = sorted(found + programs.unbuilt(sources, found), key=lambda p: p.name)
    found = _chosen(found, given.names)
    width = min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH
    print(_markdown(found) if given.markdown else _table(found, width, given.verbose or bool(given.names)))
    if not given.markdown and not given.names:
        print(*_models(found, width), sep="\n", end="")
    return BAD if any(p.error for p in found) else OK


def _chosen(found: list[Program], names: list[str]) -> list[Program]:
    for name in names:
        if not programs.matching(found, name):
            raise CommandError(f"unknown program '{name}'; programs: {' '.join(p.name for p in found)}")
    return programs.select(found, names)


def _models(found: list[Program], width: int) -> list[str]:
    """A line with the built-in models of the simulated device, from the first program that lists them."""
    for program in found:
        for backend in [] if program.error or program.unbuilt else programs.backends(program):
            if backend.extra.get("models"):
                said = f"models for --device {backend.name}:MODEL: {backend.extra['models']}, or a file"
                return ["", *textwrap.wrap(said, width, subsequent_indent="  "), ""]
    return []


def _row(program: Program) -> tuple[str, ...]:
    if program.error or program.unbuilt:
        return (program.name, program.error or program.unbuilt, "-", "-")
    return (program.name, program.question, " ".join(program.needs) or "-", ", ".join(program.primary) or "-")


def _markdown(found: list[Program]) -> str:
    rows = [_HEAD, ("---",) * len(_HEAD), *(_row(p) for p in found)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _table(found: list[Program], width: int, verbose: bool) -> str:
    """Two columns: the programs and their questions, with their needs, and if `verbose` their headline
    metrics, in lines below."""
    names = max(len(text) for text in (_HEAD[0], *(p.name for p in found))) + _GAP
    text_width = max(_MIN_TEXT, width - names)
    lines = [_HEAD[0].ljust(names) + _HEAD[1]]
    for name, question, needs, metrics in map(_row, found):
        texts = textwrap.wrap(question, text_width)
        for label, cell in (("needs", needs), *((("headline metrics", metrics),) if verbose else ())):
            if cell != "-":
                texts += textwrap.wrap(
                    f"{label}: {cell}", text_width, initial_indent="  ", subsequent_indent="    "
                )
        lines += [first.ljust(names) + text for first, text in zip([name] + [""] * len(texts), texts)]
    return "\n".join(lines)
