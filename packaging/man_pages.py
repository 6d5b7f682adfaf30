# SPDX-License-Identifier: BSD-3-Clause
"""man_pages.py --version V [--bin DIR] FOLDER: write the manual pages of gpusig, of each command and of each
program into FOLDER.

Their source is what --help prints: suite/help/*.txt for commands, and `PROGRAM --help` for every program
under --bin. No word is added but headings and references. A help text has paragraphs, headings that end in a
colon, items (two blanks, what is explained, two or more blanks, the explanation) and, below Examples, lines
to be typed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple

HELP = Path(__file__).resolve().parent.parent / "suite" / "help"
PURPOSE = "measure how a machine computes, moves data, and does both at once"
_SECTIONS = {
    "Examples": "EXAMPLES",
    "Exit codes": "EXIT STATUS",
    "Exit": "EXIT STATUS",
    "Environment variables": "ENVIRONMENT",
    "More": "SEE ALSO",
    "All commands": "COMMANDS",
    "Options of every command": "OPTIONS",
}
_HEADING = re.compile(r"([A-Z][\w ]*):")
_ITEM = re.compile(r"  (\S+(?: \S+)*)(?:  +(\S.*))?")
_PROSE = re.compile(r"(Exit|Formula|Timed|Limits): (.*)")  # of a program, without a line of its own
_VALUE = re.compile(r"[A-Z][A-Zx]*(\.\.\.)?|\.\.\.")
_SHORT_GAP = re.compile(r"^(  --[\w-]+ [A-Z]+) (?=[a-z])")  # an option as long as its column
_VALUED = re.compile(r"  (--[\w-]+) +([A-Z]+(?=  )|\S+\|\S+) +(\S.*)")
_ROFF = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}


class Page(NamedTuple):
    """A page before it has a form: the lines are those of a help text without its usage."""

    name: str
    purpose: str
    usage: list[str]
    lines: list[str]


class Block(NamedTuple):
    """A heading, an item with what it explains in `tag`, a paragraph, or lines to be kept as they are, such
    as examples."""

    kind: str
    lines: list[str]
    tag: str = ""


def blocks(lines: Iterable[str]) -> Iterator[Block]:
    """The parts of a help text, in its order."""
    now, until_heading = Block("paragraph", []), False
    for line in lines:
        line = _SHORT_GAP.sub(r"\1  ", line)
        heading, prose, item = _HEADING.fullmatch(line), _PROSE.fullmatch(line), _ITEM.fullmatch(line)
        if heading or prose and prose[1] in _SECTIONS:
            yield now
            title = (heading or prose)[1]
            yield Block("heading", [title])
            until_heading = title == "Examples"
            now = Block("kept" if until_heading else "paragraph", [] if heading else [prose[2]])
        elif until_heading or now.kind == "kept" and line.startswith("  "):
            now.lines.append(line[2:] if line.startswith("  ") else line)
        elif _announces(now) and line.startswith("  "):
            yield now
            now = Block("kept", [line[2:]])
        elif item and (now.kind == "item" or not now.lines):
            yield now
            now = Block("item", [item[2]] if item[2] else [], item[1])
        elif not line or prose or now.kind == "kept" or (now.kind == "item" and not line.startswith(" ")):
            yield now
            now = Block("paragraph", [line] if line else [])
        else:
            now.lines.append(line.strip())
    yield now


def _announces(block: Block) -> bool:
    """Indented lines after it are a list or an example, and stay as they are."""
    return (
        block.kind == "paragraph"
        and bool(block.lines)
        and block.lines[-1].endswith(":")
        and not _PROSE.match(block.lines[0])
    )


def escaped(text: str) -> str:
    """Text that roff prints as it is, so that every - can be copied and searched for."""
    text = "".join(_ROFF.get(char, char) for char in text)
    return r"\&" + text if text.startswith(".") else text


def marked(text: str) -> str:
    """Text in which options and names are bold and placeholders of values italic."""
    words = re.split(r"([ ,=\[\]|:?]+)", text)
    return "".join(
        r"\fI%s\fP" % escaped(word)
        if _VALUE.fullmatch(word)
        else r"\fB%s\fP" % escaped(word)
        if re.match(r"[\w./-]", word)
        else escaped(word)
        for word in words
    )


def _explained(line: str) -> str:
    """A program's defaults stand on a line of their own."""
    return (".br\n" if line.startswith("default ") else "") + escaped(line)


def body(page: Page) -> Iterator[str]:
    """The blocks as roff. A heading that has no section of its own is one below OPTIONS where options follow
    it."""
    yield ".SH DESCRIPTION"
    section = "DESCRIPTION"
    found = [block for block in blocks(page.lines) if block.lines or block.tag]
    for block, following in zip(found, [*found[1:], Block("paragraph", [])]):
        first = following if block.kind == "heading" else block
        if (
            section == "DESCRIPTION"
            and first.tag.startswith("-")
            and block.lines[:1] != ["Options of every command"]
        ):
            section = "OPTIONS"
            yield ".SH OPTIONS"
        if block.kind == "heading":
            section = _SECTIONS.get(block.lines[0], section)
            yield ".SH " + section if block.lines[0] in _SECTIONS else '.SS "%s"' % escaped(block.lines[0])
        elif block.kind == "item":
            yield from (".TP", marked(block.tag), *map(_explained, block.lines))
        elif block.kind == "kept":
            yield from (".EX", *map(escaped, filter(None, block.lines)), ".EE")
        else:
            yield from (".PP", *map(escaped, block.lines))


def roff(page: Page, also: list[str], version: str, day: str) -> str:
    """The whole page, adjusted to the left and without hyphenation, for options are no words."""
    begun = [
        r".\" made of --help by packaging/man_pages.py",
        '.TH "%s" 1 "%s" "gpusig %s" "gpusig"' % (escaped(page.name.upper()), day, escaped(version)),
        ".nh",
        ".ad l",
        ".SH NAME",
        r"%s \- %s" % (escaped(page.name), escaped(page.purpose)),
        ".SH SYNOPSIS",
    ]
    for number, words in enumerate(page.usage):
        begun += [".br"] * (number > 0) + [marked(words)]
    text = list(body(page))
    if ".SH SEE ALSO" not in text:
        text.append(".SH SEE ALSO")
    names = [name for name in also if name != page.name]
    text += [".PP"] + [r"\fB%s\fP(1)%s" % (escaped(name), "," if name != names[-1] else "") for name in names]
    if text[1].startswith(".SH "):
        del text[0]
    kept = [
        line
        for before, line in zip(["", *text], text)
        if not (line == ".PP" and before.startswith((".SH ", ".SS ")))
    ]
    return "\n".join([*begun, *kept]) + "\n"


def usage_of(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines of the usage, and all others."""
    at = next(i for i, line in enumerate(lines) if line.startswith("usage: "))
    end = next((i for i in range(at, len(lines)) if not lines[i]), len(lines))
    words = [line.removeprefix("usage: ").strip().replace("./gpusig", "gpusig") for line in lines[at:end]]
    return words, lines[:at] + lines[end:]


def purposes() -> dict[str, str]:
    """command -> what it does, from the overview."""
    listed = (
        (HELP / "overview.txt")
        .read_text(encoding="utf-8")
        .partition("All commands:\n")[2]
        .partition("\n\n")[0]
    )
    return dict(line.split(None, 1) for line in listed.splitlines())


def of_commands() -> Iterator[Page]:
    """gpusig(1), and a page for each command, which also has what is true of all of them: options and
    environment."""
    general = _lines((HELP / "general.txt").read_text(encoding="utf-8"))
    usage, rest = usage_of(_lines((HELP / "overview.txt").read_text(encoding="utf-8")))
    more = rest.index("More:")
    yield Page("gpusig", PURPOSE, usage, [*rest[:more], *general, "", *rest[more:]])
    environment, exits = general.index("Environment variables:"), general.index("Exit codes:")
    for name, purpose in purposes().items():
        usage, rest = usage_of(_lines((HELP / (name + ".txt")).read_text(encoding="utf-8")))
        examples, cut = rest.index("Examples:"), rest.index("Exit codes:")
        own = {line.split()[0] for line in rest if line.startswith("  --")}
        shared = [
            line for line in general[:environment] if line.startswith("  ") and line.split()[0] not in own
        ]
        options = [*rest[:examples], "Of every command:", *shared, ""]
        yield Page(
            "gpusig-" + name,
            purpose,
            usage,
            [*options, *rest[examples:cut], *general[environment:exits], *rest[cut:]],
        )


def of_program(path: Path) -> Page:
    """Manual page of a program, from its --help; its name contains its folder, such as
    gpusig-micro-memory."""
    said = subprocess.run(
        [str(path), "--help"], capture_output=True, encoding="utf-8", check=True, timeout=60
    ).stdout
    # The value of an option has a column of its own there.
    usage, rest = usage_of([_VALUED.sub(r"  \1 \2  \3", line) for line in _lines(said)])
    name, _, question = rest[0].partition(": ")
    started = [words.replace(name, '"$(gpusig --bindir)"/' + name, 1) for words in usage]
    return Page("gpusig-" + name.replace("/", "-"), question, started, rest[1:])


def _lines(text: str) -> list[str]:
    return [line.replace("./gpusig", "gpusig") for line in text.splitlines()]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Write the manual pages.")
    parser.add_argument("--version", required=True)
    parser.add_argument("--bin", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    commands = list(of_commands())
    paths = sorted(p for p in given.bin.glob("*/*") if os.access(p, os.X_OK)) if given.bin else []
    programs = [of_program(path) for path in paths]
    newest = max(path.stat().st_mtime for path in HELP.glob("*.txt"))
    day = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or newest)))
    given.folder.mkdir(parents=True, exist_ok=True)
    names = [page.name for page in commands]
    for page in commands + programs:
        also = names if page.name == "gpusig" or page in commands else ["gpusig", "gpusig-list", "gpusig-run"]
        (given.folder / (page.name + ".1")).write_text(roff(page, also, given.version, day), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
